// SPDX-License-Identifier: MIT
// What is around every view: the rail of views, the filter, the line of the heap over time, what is selected,
// and one line of status.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { renewed, useAnswer } from "./lib/answer";
import { type ThemeChoice, chooseTheme, themeChoice } from "./lib/colour";
import { bytes, count, ns, share } from "./lib/format";
import { able, learn, learned } from "./lib/catalogue";
import { Menu } from "./lib/menu";
import { Empty, Skeleton, useChosenSeen } from "./lib/controls";
import { Icon, type IconName, Logo } from "./lib/icons";
import { copy, say, toast } from "./lib/say";
import { allocsOf, bytesOf, embedded, offline, source } from "./lib/source";
import { common, formatPlace, go, key, linkTo, namedQuery, place, set, trace, view } from "./lib/state";
import type { Status, TraceInfo } from "./lib/types";
import { Drawer } from "./drawer";
import { Drop } from "./drop";
import { FilterBar } from "./filter";
import { Strip } from "./strip";

export interface View {
	name: string; // in the address
	label: string;
	letter: string; // after g
	endpoint?: string; // without which there is no such view
	missing?(): string; // why there is nothing to be seen in it, and how to get it; "" = there is
	alone?: boolean; // it shows one trace, whatever that is compared with
	component: ComponentType;
}

/** A question that people have, and the views that answer it. */
export interface Group {
	label: string;
	icon: IconName;
	hint: string;
	views: View[];
}

export const traces = signal<Status["traces"]>([]);
let nowhere = location.hash.length < 3; // the address names no view: that of a program that runs is the live one
const watched = signal(false); // a program runs behind the server, or did

/** Why there is nothing live to be seen. */
export function notLive(): string {
	return watched.value ? "" : "No program runs behind this page. To watch one: heapwise watch --web PROGRAM";
}

/** A trace by its id or its file name. */
export function traceBy(name: string): Status["traces"][number] | undefined {
	return traces.value.find((item) => item.id === name) ?? traces.value.find((item) => item.name === name);
}

/** Two traces as the keys of a comparison: the older one is before, of two of the same second the one that was named first. */
export function compared(a: string, b: string): { trace: string; base: string } {
	const [first, second] = [traceBy(a), traceBy(b)];
	const later = (second?.written ?? 0) - (first?.written ?? 0) || (first && second ? traces.value.indexOf(second) - traces.value.indexOf(first) : 0);
	return later > 0 ? { trace: b, base: a } : { trace: a, base: b };
}

function ThemePicker() {
	return (
		<label class="theme">
			<span class="sr-only">Theme</span>
			<select value={themeChoice.value} onChange={(event) => chooseTheme(event.currentTarget.value as ThemeChoice)}>
				<option value="auto">System</option>
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
					{list.map((item) => <option value={item.id}>{item.name.replace(/\.hwt$/, "")}</option>)}
				</select>
			</label>
			<label class="against">
				<span class="sr-only">Compared with</span>
				<select value={traceBy(key("base"))?.id ?? ""} title="Views show what changed since this trace" onChange={(event) => {
						const keys = event.currentTarget.value && mine ? { ...compared(mine.id, event.currentTarget.value), sel: null } : { base: null };
						if (keys.base && nameOfView() === "") go("compare", keys);
						else set(keys);
					}}>
					<option value="">compare …</option>
					{list.filter((item) => item.id !== mine?.id).map((item) => <option value={item.id}>with {item.name.replace(/\.hwt$/, "")}</option>)}
				</select>
			</label>
		</>
	);
}

/** The view that the address names; one point is below all of them. */
function nameOfView(): string {
	return view.value === "point" ? "points" : view.value;
}

function groupOf(groups: Group[]): Group | undefined {
	return groups.find((group) => group.views.some((item) => item.name === nameOfView()));
}

/** What the trace cannot feed is absent, unless one looks at it. */
function isThere(item: View): boolean {
	return nameOfView() === item.name || !item.missing?.();
}

function Rail({ groups, help }: { groups: Group[]; help(): void }) {
	const [open, setOpen] = useState(false); // where there is little room it is a menu
	useEffect(() => setOpen(false), [view.value]);
	const current = groupOf(groups);
	return (
		<nav class={open ? "rail open" : "rail"} aria-label="Views">
			<a class="brand" href={linkTo("")}><Logo /> Heapwise</a>
			<button aria-expanded={open} onClick={() => setOpen(!open)}><Icon name="menu" /> {current?.label ?? "Views"}</button>
			<ul>
				{groups.filter((group) => group.views.some(isThere)).map((group) => (
					<li>
						<a href={linkTo(group.views.find(isThere)?.name ?? "")} aria-current={group === current ? "page" : undefined} title={group.hint}>
							<Icon name={group.icon} size={18} /> {group.label}
						</a>
					</li>
				))}
			</ul>
			<div class="foot">
				<ThemePicker />
				<button class="ghost" onClick={help} aria-label="Help" title="Keys: ?">?</button>
			</div>
		</nav>
	);
}

/** The views of one question. */
function Tabs({ group }: { group: Group | undefined }) {
	const there = group?.views.filter(isThere) ?? [];
	const row = useChosenSeen(`${nameOfView()} ${there.length}`);
	if (!group || there.length < 2) return null;
	return (
		<nav ref={row} class="tabs" aria-label={group.label}>
			{there.map((item) => <a href={linkTo(item.name)} aria-current={item.name === nameOfView() ? "page" : undefined} title={`g ${item.letter}`}>{item.label}</a>)}
		</nav>
	);
}

function StatusLine() {
	const { reply } = useAnswer<unknown>("/timeline", { ...common(), bins: 1 });
	const whole = reply?.total;
	const part = reply?.matched;
	return (
		<footer class="status" aria-label="Status">
			<span data-t="matched">
				{trace.value?.caps.sampled && "about "}
				{whole && part && whole.chunks !== part.chunks
					? <>{count(allocsOf(part))} of {count(allocsOf(whole))} allocations, {share(bytesOf(part) / (bytesOf(whole) || 1))} of bytes</>
					: <>{count(allocsOf(whole))} allocations, {bytes(bytesOf(whole))} in all</>}
			</span>
			{trace.value && <span>{ns(trace.value.duration_ns)} run{trace.value.complete === false ? ", incomplete" : ""}</span>}
			{trace.value?.caps.live && <span><span class="chip">live</span> <button class="plain" onClick={() => renewed.value++}>Refresh</button></span>}
			<span><kbd>?</kbd> keys</span>
		</footer>
	);
}

const help: [string, string][] = [
	["?", "this help"],
	["/", "search in this view"],
	["f", "filter"],
	["T", "the chart as a table"],
	["t", "the time strip: ← and → move the cursor, with Shift by ten, p to the peak, Esc without it"],
	["menu key, Shift F10", "what can be done with the thing that is chosen"],
	["y", "copy a link to what is shown"],
	["[ ]", "back and forward"],
	["Esc", "close, or one level up"],
	["↑ ↓ Enter Space", "in tables: walk, open, pin"],
	["m i r h v d c s n N + − 0", "in the flame graph: metric, invert, recursion, hide, sandwich, inspect, copy the stack, source, hits, zoom"],
	["Backspace", "in the flame graph: back to the zoom before; Ctrl and the wheel zoom at the pointer"],
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
			<div class="head"><h2 id="help-title">Keys</h2><button class="ghost" aria-label="Close" onClick={() => dialog.current?.close()}><Icon name="x" /></button></div>
			<dl>
				{help.map(([keys, words]) => [<dt><kbd>{keys}</kbd></dt>, <dd>{words}</dd>])}
				<dt><kbd>g, then a letter</kbd></dt>
				<dd>{views.map((item) => `${item.letter} ${item.label}`).join(", ")}</dd>
			</dl>
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

/** Of an address only what was understood stays, with a word about the rest. */
function dropNonsense(): void {
	const { wrong } = place.value;
	if (!wrong?.length) return;
	say(`The address has an invalid value for ${wrong.join(", ")}, which is ignored.`);
	history.replaceState(null, "", formatPlace(place.value));
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

/** Views where the strip is: those of what was there at a time. Elsewhere a window of time is shown, but not chosen. */
const withStrip = new Set(["flame", "tree", "points", "point", "types", "chunks", "threads", "map"]);

export function Shell({ groups: all }: { groups: Group[] }) {
	const named = useNamedQuery();
	useLayoutEffect(dropNonsense, [place.value]);
	const groups = all.map((group) => ({ ...group, views: group.views.filter((item) => embedded || item.endpoint === undefined || able(item.endpoint)) })).filter((group) => group.views.length > 0);
	const views = groups.flatMap((group) => group.views);
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
	const shown = views.find((item) => item.name === nameOfView()) ?? null;
	const missing = trace.value ? (shown?.missing?.() ?? "") : "";
	return (
		<div class="shell">
			<a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the view</a>
			<Rail groups={groups} help={() => setHelping(true)} />
			<header class="top">
				<TracePicker />
				{embedded ? <span class="quiet filter">A report in one file. For filters, any moment and single chunks: heapwise serve --open TRACE</span> : <FilterBar />}
			</header>
			{offline.value && <div class="banner" role="alert">{offline.value.message} <button onClick={status.retry}>Retry</button></div>}
			{(withStrip.has(nameOfView()) || (key("t") !== "" && nameOfView() !== "")) && <Strip />}
			<main id="main" tabIndex={-1}>
				<h1 class="sr-only">{shown?.label ?? "Heapwise"}</h1>
				<Tabs group={groupOf(groups)} />
				{shown?.alone && key("base") !== "" && <p class="note" role="note">The comparison does not change this view: it shows one run.</p>}
				{!learned() || !named ? (
					<Skeleton block />
				) : !shown ? (
					<Empty><p>There is no view “{view.value}”. <a href={linkTo("")}>Summary</a></p></Empty>
				) : missing ? (
					<Empty icon={groupOf(groups)?.icon ?? "search"}><p>{missing}</p></Empty>
				) : (
					<shown.component key={shown.name + (place.value.keys.get("trace") ?? "")} />
				)}
			</main>
			<Drawer />
			<StatusLine />
			{helping && <Help views={views} close={() => setHelping(false)} />}
			<Menu />
			<Drop />
			<div class="toast" role="status" aria-live="polite">{toast.value}</div>
		</div>
	);
}
