// SPDX-License-Identifier: MIT
// All state of the page is in the fragment of its address, so that a link shows what its sender saw and
// nothing of it reaches a server's log:  #/flame?metric=live&at=812345678&q=…&t=100ms..2s&sel=p:42

import { computed, signal } from "@preact/signals";
import { parseTime } from "./format";
import { momentAt } from "./source";
import type { TraceInfo } from "./types";

/** The trace that is shown, once the server has told of it. */
export const trace = signal<TraceInfo | null>(null);

export interface Place {
	path: string[]; // "/point/42" is ["point", "42"]
	keys: ReadonlyMap<string, string>;
	wrong?: readonly string[]; // names of keys that were left out
}

/** What an address may say: a value that means nothing is left out, before anything is asked with it. */
const forms: Record<string, RegExp> = {
	t: /^[\d.]+(ns|us|µs|ms|s|min)?\.\.[\d.]+(ns|us|µs|ms|s|min)?$/,
	at: /^[\d.]+(ns|us|µs|ms|s|min)?$/,
	tm: /^(overlap|alloc|free)$/,
	sel: /^(p|c|th|ow?):\d+$|^pg:0x[0-9a-f]{1,16}$|^(f|ty):/,
	sort: /^-?[\w(),-]+$/,
	point: /^\d+$/,
	k: /^([2-9]|[1-5]\d|6[0-4])$/,
	seed: /^\d+$/,
	depth: /^\d{1,3}$/,
	page: /^\d+$/,
	rec: /^[01]$/,
	dir: /^(down|up|pivot)$/,
	mu: /^(auto|[\d.]+)$/,
	up: /^[0-9]$/,
	down: /^[0-9]$/,
	min: /^0?\.?\d+$/,
	z: /^(n:)?\d+$/,
	x0: /^\d+$/,
	x1: /^\d+$/,
	y: /^(\d+|own)$/,
	bpp: /^\d+$/,
	mem: /^0x[0-9a-f]+$/i,
};

export function parsePlace(hash: string): Place {
	const [path = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
	const given = [...new URLSearchParams(query)];
	const isWrong = ([name, value]: readonly [string, string]) => Object.hasOwn(forms, name) && !forms[name]?.test(value);
	return {
		path: path.split("/").filter((part) => part !== "").map(decodeSafely),
		keys: new Map(given.filter((item) => !isWrong(item))),
		wrong: given.filter(isWrong).map(([name]) => name),
	};
}

function decodeSafely(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

export function formatPlace(place: Place): string {
	const query = new URLSearchParams([...place.keys].filter(([, value]) => value !== "")).toString();
	return `#/${place.path.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

export const place = signal<Place>(parsePlace(location.hash));
export const view = computed(() => place.value.path[0] ?? "");

window.addEventListener("popstate", () => (place.value = parsePlace(location.hash)));
window.addEventListener("hashchange", () => (place.value = parsePlace(location.hash)));

export function key(name: string): string {
	return place.value.keys.get(name) ?? "";
}

export type Change = Record<string, string | number | null | undefined>;

function changed(keys: ReadonlyMap<string, string>, change: Change): Map<string, string> {
	const next = new Map(keys);
	for (const [name, value] of Object.entries(change))
		if (value == null || value === "") next.delete(name);
		else next.set(name, String(value));
	return next;
}

function move(next: Place, replace: boolean): void {
	const text = formatPlace(next);
	if (text === formatPlace(place.value)) return;
	if (replace) history.replaceState(null, "", text);
	else history.pushState(null, "", text);
	place.value = next;
}

/** Sets keys of the view that is shown. replace: while dragging, so that "back" skips it. */
export function set(change: Change, replace = false): void {
	move({ path: place.value.path, keys: changed(place.value.keys, change) }, replace);
}

/** Keys that every view has; the rest belongs to one view and is left behind on the way to another. */
const shared = ["trace", "q", "g", "t", "tm", "at", "sel", "base"];

/** One picture and its table: between them nothing is left behind. */
const twins: Record<string, string> = { flame: "tree", tree: "flame" };

/** path: "point/42", or its parts, which may hold anything. */
export function linkTo(path: string | readonly string[], change: Change = {}): string {
	const kept = new Map([...place.value.keys].filter(([name]) => shared.includes(name) || twins[view.value] === path));
	return formatPlace({ path: typeof path === "string" ? path.split("/").filter((part) => part !== "") : [...path], keys: changed(kept, change) });
}

/** A line of a source file. */
export function lineOf(file: string, line: number | null | undefined): readonly string[] {
	return ["src", `${file}:${line ?? 1}`];
}

export function go(path: string | readonly string[], change: Change = {}, replace = false): void {
	move(parsePlace(linkTo(path, change)), replace);
}

/** The brushed time window, in ns. */
export const timeWindow = computed<{ from: number; to: number } | null>(() => {
	const [from, to] = key("t").split("..").map(parseTime);
	return from != null && to != null && to > from ? { from, to } : null;
});

/** Where the cursor is while it is dragged; null = it is not. What follows it may be coarse, and the address comes when the drag ends: writing it takes longer than a picture. */
export const dragged = signal<number | null>(null);

/** The time cursor; in a report it stands at one of the moments that are inside. */
export const cursor = computed<number | null>(() => {
	if (dragged.value !== null) return momentAt(dragged.value);
	const time = key("at") === "" ? null : parseTime(key("at"));
	return time == null ? null : momentAt(time);
});

/** Text of the saved query that the key g names; long queries do not fit into an address. */
export const namedQuery = signal<{ name: string; text: string }>({ name: "", text: "" });

/** The filter, wherever it is written. */
export function query(): string {
	return key("q") || (key("g") !== "" && namedQuery.value.name === key("g") ? namedQuery.value.text : "");
}

/** What every question to the server says. */
export function common(): Record<string, string> {
	const asked: Record<string, string> = {};
	const window = timeWindow.value;
	for (const name of ["trace", "tm"]) if (key(name) !== "") asked[name] = key(name);
	if (query() !== "") asked.q = query();
	if (window) {
		asked.t0 = String(Math.round(window.from));
		asked.t1 = String(Math.round(window.to));
	}
	return asked;
}

/** What questions say that are about the whole run, whatever the filter. */
export function whole(): Record<string, string> {
	return key("trace") === "" ? {} : { trace: key("trace") };
}

/** Adds a condition to the query: "all | where X" becomes "all | where X and Y". */
export function addWhere(condition: string): void {
	const old = query().trim();
	set({ q: old === "" || old === "all" ? `all | where ${condition}` : `${old} | where ${condition}`, g: null });
}

/** A text as the query language writes it. */
export function quote(text: string): string {
	return `"${text.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
}

function escaped(text: string): string {
	return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** That a module is meant, named by its path or, as most lists do, by its file alone. */
export function moduleIs(field: string, name: string): string {
	return name.includes("/") ? `${field} == ${quote(name)}` : `${field} ~ /(^|\\/)${escaped(name)}$/`;
}

/** A regular expression, as the query language writes it, that matches a text and nothing else. */
export function exactly(text: string): string {
	return `/^${escaped(text)}$/`;
}

/** The stages of a query, one by one: a bar inside quotes, an expression or brackets parts nothing. */
export function stages(text: string): string[] {
	const found: string[] = [];
	let from = 0;
	let depth = 0;
	for (let at = 0; at < text.length; at++) {
		const char = text[at] ?? "";
		if (char === '"' || (char === "/" && /(~|\bhide)\s*$/.test(text.slice(from, at)))) {
			for (at++; at < text.length && text[at] !== char; at++) if (text[at] === "\\") at++;
		} else if (char === "(") depth++;
		else if (char === ")") depth--;
		else if (char === "|" && depth === 0) {
			found.push(text.slice(from, at).trim());
			from = at + 1;
		}
	}
	return [...found, text.slice(from).trim()].filter((part) => part !== "");
}
