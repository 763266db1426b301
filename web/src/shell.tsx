// SPDX-License-Identifier: MIT
// What is around every view: the rail of views, the filter, the line of the heap over time, what is selected,
// and one line of status.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { renewed, useAnswer } from "./lib/answer";
import { type ThemeChoice, chooseTheme, themeChoice } from "./lib/colour";
import { bytes, count, ns, share } from "./lib/format";
import { able, learn, learned } from "./lib/catalogue";
import { Menu } from "./lib/menu";
import { copy, say, toast } from "./lib/say";
import { embedded, lastTook, offline, source } from "./lib/source";
import { common, go, key, linkTo, namedQuery, place, set, view } from "./lib/state";
import type { Status, TraceInfo } from "./lib/types";
import { Drawer } from "./drawer";
import { FilterBar } from "./filter";
import { Strip } from "./strip";

export interface View {
	name: string; // in the address
	label: string;
	letter: string; // after g
	needs?: string; // a capability of the recording
	why?: string; // what is said without it
	endpoint?: string; // without which there is no such view
	missing?(): string; // why there is nothing to be seen in it; "" = there is
	component: ComponentType;
}

export const trace = signal<TraceInfo | null>(null);
export const traces = signal<Status["traces"]>([]);
let nowhere = location.hash.length < 3; // the address names no view: that of a program that runs is the live one
const watched = signal(false); // a program runs behind the server, or did

/** Why there is nothing live to be seen. */
export function notLive(): string {
	return watched.value ? "" : "No program runs behind this page.";
}

/** A trace by its id or its file name. */
export function traceBy(name: string): Status["traces"][number] | undefined {
	return traces.value.find((item) => item.id === name) ?? traces.value.find((item) => item.name === name);
}

function ThemePicker() {
	return (
		<label class="theme">
			<span class="sr-only">Theme</span>
			<select value={themeChoice.value} onChange={(event) => chooseTheme(event.currentTarget.value as ThemeChoice)}>
				<option value="auto">Auto</option>
				<option value="light">Light</option>
				<option value="dark">Dark</option>
			</select>
		</label>
	);
}

function TracePicker() {
	const list = traces.value;
	if (list.length < 2) return <span class="program" title={trace.value?.cmdline}>{trace.value?.program.replace(/^.*\//, "") ?? "…"}</span>;
	const mine = traceBy(key("trace")) ?? list[0];
	return (
		<>
			<label class="program">
				<span class="sr-only">Trace</span>
				<select value={mine?.id} title={trace.value?.cmdline} onChange={(event) => set({ trace: event.currentTarget.value, base: traceBy(key("base"))?.id === event.currentTarget.value ? null : key("base"), sel: null, at: null, t: null })}>
					{list.map((item) => <option value={item.id}>{item.name}</option>)}
				</select>
			</label>
			<label class="against">
				<span class="sr-only">Compared with</span>
				<select value={traceBy(key("base"))?.id ?? ""} title="Every view shows what changed since this trace" onChange={(event) => set({ base: event.currentTarget.value || null })}>
					<option value="">compare …</option>
					{list.filter((item) => item.id !== mine?.id).map((item) => <option value={item.id}>against {item.name}</option>)}
				</select>
			</label>
		</>
	);
}

function Rail({ views }: { views: View[] }) {
	const caps = trace.value?.caps ?? {};
	const [open, setOpen] = useState(false); // where there is little room it is a menu
	useEffect(() => setOpen(false), [view.value]);
	const current = view.value === "point" ? "points" : view.value; // one point is below all of them
	return (
		<nav class={open ? "rail open" : "rail"} aria-label="Views">
			<a class="brand" href={linkTo("")}>Heapwise</a>
			<button aria-expanded={open} onClick={() => setOpen(!open)}>☰ {views.find((item) => item.name === current)?.label ?? "Views"}</button>
			<ul>
				{views.map((item) => {
					const why = item.missing?.() || (item.needs != null && trace.value != null && !caps[item.needs] ? item.why : "");
					return (
						<li>
							<a href={linkTo(item.name)} class={why ? "missing" : ""} aria-current={current === item.name ? "page" : undefined} title={why || `g ${item.letter}`}>
								{item.label}
							</a>
						</li>
					);
				})}
			</ul>
		</nav>
	);
}

function StatusLine() {
	const { reply } = useAnswer<unknown>("/timeline", { ...common(), bins: 1 });
	const whole = reply?.total;
	const part = reply?.matched;
	return (
		<footer class="status" aria-label="Status">
			{whole && part && whole.chunks !== part.chunks ? (
				<span data-t="matched">{count(part.chunks)} of {count(whole.chunks)} chunks, {share(whole.bytes ? part.bytes / whole.bytes : 0)} of bytes</span>
			) : (
				<span data-t="matched">{count(whole?.chunks)} chunks, {bytes(whole?.bytes)}</span>
			)}
			{trace.value && <span>{ns(trace.value.duration_ns)} run{trace.value.complete === false ? ", incomplete" : ""}</span>}
			{trace.value?.caps.live && <span><span class="chip">live</span> <button class="plain" onClick={() => renewed.value++}>Refresh</button></span>}
			{lastTook.value != null && <span class="quiet">{Math.round(lastTook.value)} ms</span>}
			<span class="quiet">? for keys</span>
		</footer>
	);
}

const help: [string, string][] = [
	["?", "this help"],
	["/", "search in this view"],
	["f", "filter"],
	["g, then a letter", "another view"],
	["T", "the chart as a table"],
	["t", "the time strip: ← and → move the cursor, with Shift by ten, p to the peak, Esc without it"],
	["menu key, Shift F10", "what can be done with the thing that is chosen"],
	["y", "copy a link to what is shown"],
	["[ ]", "back and forward"],
	["Esc", "close, or one level up"],
	["↑ ↓ Enter Space", "in tables: walk, open, pin"],
	["m i r h v c s n N + − 0", "in the flame graph: metric, invert, recursion, hide, turn around, copy, source, hits, zoom"],
	["o l + − 0 , .", "in chunks: order, rows, zoom, move"],
	["a, Ctrl C, Ctrl V, Ctrl Z", "in the filter graph: add, copy, paste, undo"],
	["x", "in the comparison: swap"],
	["Space", "in the live view: stop the screen, not the program"],
];

function Help({ views, close }: { views: View[]; close(): void }) {
	const dialog = useRef<HTMLDialogElement>(null);
	useEffect(() => dialog.current?.showModal(), []);
	return (
		<dialog ref={dialog} onClose={close} aria-labelledby="help-title">
			<h2 id="help-title">Keys</h2>
			<dl>
				{help.map(([keys, words]) => [<dt>{keys}</dt>, <dd>{words}</dd>])}
				{views.map((item) => [<dt>g {item.letter}</dt>, <dd>{item.label}</dd>])}
			</dl>
			<button onClick={() => dialog.current?.close()}>Close</button>
		</dialog>
	);
}

function typing(target: EventTarget | null): boolean {
	return target instanceof HTMLElement && (target.matches("input, select, textarea") || target.isContentEditable);
}

function useKeys(views: View[], showHelp: () => void): void {
	useEffect(() => {
		let leader = -Infinity; // when g was pressed, if it was the last key
		const down = (event: KeyboardEvent) => {
			if (typing(event.target) || document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
			const target = performance.now() - leader < 1500 ? views.find((item) => item.letter === event.key) : undefined;
			leader = -Infinity;
			if (target) go(target.name);
			else if (event.key === "?") showHelp();
			else if (event.key === "g") leader = performance.now();
			else if (event.key === "f") document.getElementById("query")?.focus();
			else if (event.key === "/") document.getElementById("search")?.focus();
			else if (event.key === "t") document.querySelector<HTMLElement>('[data-t="chart-strip"]')?.focus();
			else if (event.key === "y") void copy(location.href, "the link");
			else if (event.key === "[") history.back();
			else if (event.key === "]") history.forward();
			else if (event.key === "Escape" && key("sel") !== "") set({ sel: null });
			else return;
			event.preventDefault();
		};
		window.addEventListener("keydown", down);
		return () => window.removeEventListener("keydown", down);
	}, [views.length]);
}

/** What an address may say: a value that means nothing is dropped, with a word. */
const forms: Record<string, RegExp> = {
	t: /^[\d.]+(ns|us|µs|ms|s|min)?\.\.[\d.]+(ns|us|µs|ms|s|min)?$/,
	at: /^[\d.]+(ns|us|µs|ms|s|min)?$/,
	tm: /^(overlap|alloc|free)$/,
	sel: /^(p|c|th|o):\d+$|^(f|ty):/,
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

function dropNonsense(): void {
	const wrong = [...place.value.keys].filter(([name, value]) => Object.hasOwn(forms, name) && !forms[name]?.test(value)).map(([name]) => name);
	if (wrong.length === 0) return;
	say(`The address has an invalid value for ${wrong.join(", ")}, which is ignored.`);
	set(Object.fromEntries(wrong.map((name) => [name, null])), true);
}

/** The text of the saved query that the address names. */
function useNamedQuery(): boolean {
	const name = key("g");
	useEffect(() => {
		if (name === "" || namedQuery.value.name === name) return;
		source
			.get<{ text: string }>(`/graphs/${encodeURIComponent(name)}`, {})
			.then((reply) => (namedQuery.value = { name, text: reply.data.text }))
			.catch(() => {
				say(`There is no saved query “${name}”.`);
				set({ g: null }, true);
			});
	}, [name]);
	return name === "" || namedQuery.value.name === name;
}

export function Shell({ views: all }: { views: View[] }) {
	const named = useNamedQuery();
	useEffect(dropNonsense, [place.value]);
	const views = all.filter((item) => item.endpoint === undefined || able(item.endpoint));
	const status = useAnswer<Status>("/status", {});
	const info = useAnswer<TraceInfo>("/trace", { trace: key("trace") });
	const [helping, setHelping] = useState(false);
	useKeys(views, () => setHelping(true));
	useEffect(() => void (learned() || learn()), []);
	useEffect(() => void (traces.value = status.reply?.data.traces ?? []), [status.reply]);
	useEffect(() => {
		if (!info.reply) return;
		trace.value = info.reply.data;
		if (trace.value.caps.live) watched.value = true;
		if (trace.value.caps.live && nowhere && location.hash.length < 3) go("live", {}, true);
		nowhere = false;
		document.title = `${info.reply.data.program.replace(/^.*\//, "")} · Heapwise`;
	}, [info.reply]);
	useEffect(() => {
		if (!offline.value) return;
		let wait = 1000;
		let timer = 0;
		const again = () => {
			status.retry();
			wait = Math.min(30000, wait * 2);
			timer = window.setTimeout(again, wait);
		};
		timer = window.setTimeout(again, wait);
		return () => clearTimeout(timer);
	}, [offline.value]);
	const shown = views.find((item) => item.name === view.value || (view.value === "point" && item.name === "points")) ?? null;
	const missing = shown?.needs != null && trace.value != null && !trace.value.caps[shown.needs];
	return (
		<div class="shell">
			<a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the view</a>
			<Rail views={views} />
			<header class="top">
				<TracePicker />
				{embedded ? <span class="quiet filter">A report in one file. For filters, any moment and single chunks: heapwise serve --open TRACE</span> : <FilterBar />}
				<ThemePicker />
				<button onClick={() => setHelping(true)} aria-label="Help">?</button>
			</header>
			{offline.value && <div class="banner" role="alert">{offline.value.message} <button onClick={status.retry}>Retry</button></div>}
			<Strip />
			<main id="main" tabIndex={-1}>
				<h1 class="sr-only">{shown?.label ?? "Heapwise"}</h1>
				{!learned() || !named ? (
					<p class="quiet" role="status" aria-busy="true">…</p>
				) : !shown ? (
					<p class="empty">There is no view “{view.value}”. <a href={linkTo("")}>Overview</a></p>
				) : missing ? (
					<p class="empty">{shown.why}</p>
				) : (
					<shown.component key={shown.name + (place.value.keys.get("trace") ?? "")} />
				)}
			</main>
			<Drawer />
			<StatusLine />
			{helping && <Help views={views} close={() => setHelping(false)} />}
			<Menu />
			<div class="toast" role="status" aria-live="polite">{toast.value}</div>
		</div>
	);
}
