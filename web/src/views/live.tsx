// SPDX-License-Identifier: MIT
// A program while it runs: how it allocates, what it no longer touches, what may be lost.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { CanvasView, type Item, type Painter } from "../lib/canvas";
import { able } from "../lib/catalogue";
import { category, dark, ink, inkOn } from "../lib/colour";
import { type Maybe, bytes, count, ns, share } from "../lib/format";
import { Growth } from "../lib/growth";
import { AGES, type Feed, STATES, type Tick, type TopPoint, beat, connect, disconnect, feed, growing, newest, ring } from "../lib/live";
import type { Subject } from "../lib/menu";
import { Bar, Choice, Delta, Keys, oneOf } from "../lib/parts";
import { copy, say } from "../lib/say";
import { select, selectedPoint } from "../lib/select";
import { sorted } from "../lib/sort";
import { source } from "../lib/source";
import { cursor, go, key, linkTo, set } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { TwinButton, useTwin } from "../lib/twin";
import type { Owners, Status, TraceInfo } from "../lib/types";
import { traces } from "../shell";

const GUTTER = 74; // for the names of rows
const AXIS = 16;
const MIN_SPAN = 30e9;
const NARROW = 4; // pixels of a column at least

const ageWords = ["< 1 s", "1–2 s", "2–4 s", "4–8 s", "8–16 s", "16–32 s", "≥ 32 s"];
const UNKNOWN = "unknown";
const ageRows = [UNKNOWN, ...ageWords]; // from below
const spans = [["1", "1 minute"], ["5", "5 minutes"], ["15", "15 minutes"], ["60", "1 hour"], ["all", "All"]] as const;
const units = [["areas", "Areas"], ["bytes", "Bytes"]] as const;

/** A time of the run to the second, however long that takes. */
function clock(time: Maybe): string {
	const seconds = Math.floor((time ?? 0) / 1e9);
	const two = (value: number) => String(value).padStart(2, "0");
	if (seconds < 120) return ns(time);
	return seconds < 3600 ? `${Math.floor(seconds / 60)}:${two(seconds % 60)} min` : `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)} h`;
}

const known = (value: number): Maybe => (Number.isNaN(value) ? null : value);

/** What is shown: the ticks up to the newest, or up to the one at which the screen was stopped. */
interface Window {
	from: number; // ns
	to: number;
	first: number; // numbers of the ring
	end: number;
	chosen: number; // at the cursor
	version: string;
}

interface Slot {
	x: number;
	w: number;
	at: number; // tick
	since: number; // first tick that it stands for
}

/** One column for each tick, or for several where they would be too thin. */
function slots(shown: Window, width: number): Slot[] {
	const list: Slot[] = [];
	const scale = (width - GUTTER) / Math.max(1, shown.to - shown.from);
	let x = GUTTER;
	let since = shown.first;
	for (let at = shown.first; at < shown.end; at++) {
		const right = Math.round(GUTTER + (ring.value("t", at) - shown.from) * scale);
		if (ring.hole(at)) x = Math.max(x, right - 2 * NARROW);
		if (right - x < NARROW && at < shown.end - 1) continue;
		list.push({ x, w: Math.max(1, right - x), at, since });
		x = right;
		since = at + 1;
	}
	return list;
}

/** Times below the chart, and the moment that is looked at. */
function axis(context: CanvasRenderingContext2D, shown: Window, width: number, height: number): void {
	const { quiet } = ink();
	context.fillStyle = quiet;
	context.font = "11px system-ui, sans-serif";
	context.textBaseline = "alphabetic";
	context.textAlign = "left";
	context.fillText(clock(Math.max(0, shown.from)), GUTTER, height - 3);
	context.textAlign = "right";
	context.fillText(clock(shown.to), width, height - 3);
	if (width > 480) {
		context.textAlign = "center";
		context.fillText(clock((shown.from + shown.to) / 2), (GUTTER + width) / 2, height - 3);
	}
}

function mark(context: CanvasRenderingContext2D, shown: Window, width: number, height: number): void {
	if (cursor.value == null || shown.chosen < 0) return;
	const x = GUTTER + ((ring.value("t", shown.chosen) - shown.from) / Math.max(1, shown.to - shown.from)) * (width - GUTTER);
	if (x < GUTTER) return;
	context.fillStyle = ink().text;
	context.fillRect(Math.min(width - 1, x) - 1, 0, 2, height - AXIS);
}

/** The tick that came as that number; -1 = it is gone. */
function tickOf(item: Item): number {
	for (let at = ring.size - 1; at >= 0; at--) if (ring.number(at) === Math.floor(item.id / STATES)) return at;
	return -1;
}

/** Some thousand are made with each tick, and hardly one is ever asked what it is. */
class Cell implements Item {
	constructor(readonly id: number, readonly x: number, readonly y: number, readonly w: number, readonly h: number, readonly colour: string, private readonly words: (at: number) => string) {}
	get label(): string {
		const at = tickOf(this);
		return at < 0 ? "" : `${clock(ring.value("t", at))}: ${this.words(at)}`;
	}
}

/** What a row of ages has: areas, or bytes. */
function ageValue(at: number, row: number, ofBytes: boolean): number {
	return row === 0 ? ring.ageUnknown(at, ofBytes) : ring.age(at, row - 1, ofBytes);
}

function ageSaid(at: number, row: number, ofBytes: boolean): string {
	const value = ageValue(at, row, ofBytes);
	return `${ofBytes ? bytes(value) : `${count(value)} areas`} ${row === 0 ? "not monitored for long enough: their last use is unknown" : `untouched for ${ageRows[row]}`}`;
}

interface Heat {
	rows: string[]; // from below
	plain?: number; // this row without the colour of the others
	value(at: number, row: number): number;
	words(at: number, row: number): string;
}

/** Time to the right, rows from below upwards, the more the fuller. */
function heatPainter(shown: Window, heat: Heat): Painter {
	const many = heat.rows.length;
	const words = heat.rows.map((_, row) => (at: number) => heat.words(at, row));
	return {
		paint(context, width, height) {
			const { accent, quiet, text } = ink();
			const tall = (height - AXIS) / many;
			const items: Item[] = [];
			const list = slots(shown, width);
			let most = 1;
			for (const slot of list) for (let row = 0; row < many; row++) most = Math.max(most, heat.value(slot.at, row));
			context.font = "11px system-ui, sans-serif";
			context.textBaseline = "middle";
			context.textAlign = "right";
			context.fillStyle = quiet;
			heat.rows.forEach((name, row) => context.fillText(name, GUTTER - 8, height - AXIS - (row + 0.5) * tall));
			for (const slot of list)
				for (let row = 0; row < many; row++) {
					const colour = row === heat.plain ? quiet : accent;
					const value = heat.value(slot.at, row);
					const y = Math.round(height - AXIS - (row + 1) * tall);
					const h = Math.round(height - AXIS - row * tall) - y;
					const strength = value > 0 ? 0.08 + 0.92 * Math.sqrt(value / most) : 0;
					if (strength > 0) {
						context.globalAlpha = strength;
						context.fillStyle = colour;
						context.fillRect(slot.x, y, slot.w, h - 1);
						context.globalAlpha = 1;
						if (slot.w > 44) {
							context.fillStyle = strength > 0.55 ? inkOn(colour) : text;
							context.fillText(count(value), slot.x + slot.w - 6, y + h / 2);
						}
					}
					items.push(new Cell(ring.number(slot.at) * STATES + row, slot.x, y, slot.w, h, colour, words[row] ?? told));
				}
			axis(context, shown, width, height);
			mark(context, shown, width, height);
			return items.reverse(); // the keyboard begins with what is new
		},
		speak: (item) => item.label,
	};
}

const lines = [
	{ name: "malloc_s", words: "malloc/s", colour: 0, dash: [] },
	{ name: "free_s", words: "free/s", colour: 1, dash: [5, 3] },
	{ name: "realloc_s", words: "realloc/s", colour: 2, dash: [2, 3] },
] as const;

function told(at: number): string {
	return `${lines.map(({ name, words }) => `${count(ring.value(name, at))} ${words}`).join(", ")}, ${count(ring.value("live", at))} areas live, ${bytes(ring.value("live_bytes", at))}`;
}

/** Rates above, how much lives below. */
function ratePainter(shown: Window): Painter {
	return {
		paint(context, width, height) {
			const { quiet, accent, line } = ink();
			const list = slots(shown, width);
			const split = Math.round((height - AXIS) * 0.58);
			const peak = (name: (typeof lines)[number]["name"] | "live", slot: Slot) => {
				let high = 0;
				for (let at = slot.since; at <= slot.at; at++) high = Math.max(high, ring.value(name, at) || 0);
				return high;
			};
			let fastest = 1;
			let most = 1;
			for (const slot of list) {
				for (const { name } of lines) fastest = Math.max(fastest, peak(name, slot));
				most = Math.max(most, peak("live", slot));
			}
			context.font = "11px system-ui, sans-serif";
			context.textAlign = "right";
			context.textBaseline = "top";
			context.fillStyle = quiet;
			context.fillText(`${count(fastest)}/s`, GUTTER - 8, 2);
			context.fillText(count(most), GUTTER - 8, split + 6);
			context.fillText("areas", GUTTER - 8, split + 20);
			context.fillStyle = line;
			context.fillRect(GUTTER, split, width - GUTTER, 1);
			context.fillRect(GUTTER, height - AXIS, width - GUTTER, 1);
			context.fillStyle = accent;
			context.globalAlpha = 0.35;
			for (const slot of list) {
				const tall = (peak("live", slot) / most) * (height - AXIS - split - 6);
				context.fillRect(slot.x, height - AXIS - tall, slot.w, tall);
			}
			context.globalAlpha = 1;
			for (const { name, colour, dash } of lines) {
				context.strokeStyle = category(colour);
				context.lineWidth = 1.6;
				context.setLineDash([...dash]);
				context.beginPath();
				list.forEach((slot, index) => {
					const y = split - 3 - (peak(name, slot) / fastest) * (split - 8);
					if (index === 0 || ring.hole(slot.at)) context.moveTo(slot.x + slot.w, y);
					else context.lineTo(slot.x + slot.w, y);
				});
				context.stroke();
			}
			context.setLineDash([]);
			axis(context, shown, width, height);
			mark(context, shown, width, height);
			return list.reverse().map((slot) => new Cell(ring.number(slot.at) * STATES, slot.x, 0, slot.w, height - AXIS, accent, told));
		},
		speak: (item) => item.label,
	};
}

function Chart({ name, label, description, height, painter, version }: { name: string; label: string; description: string; height: number; painter: Painter; version: string }) {
	return (
		<CanvasView
			name={name}
			label={label}
			description={description}
			height={height}
			painter={painter}
			version={`${version} ${dark.value}`}
			selected={null}
			onSelect={(item) => {
				const at = tickOf(item);
				if (at >= 0) set({ at: Math.round(ring.value("t", at)) }, true);
			}}
			onKey={(event) => {
				if (event.key !== "Escape" || cursor.value == null) return false;
				event.stopPropagation();
				set({ at: null }, true);
				return true;
			}}
			tooltip={(item) => <>{item.label}</>}
		/>
	);
}

/** How many were not touched for at least so long, of all. */
function idleShare(at: number, bucket: number, ofBytes: boolean): number {
	let part = 0;
	let all = ring.ageUnknown(at, ofBytes);
	for (let row = 0; row < AGES; row++) {
		const value = ring.age(at, row, ofBytes);
		all += value;
		if (row >= bucket) part += value;
	}
	return all ? part / all : 0;
}

/** The ages in a sentence. */
function AgesSaid({ at, ofBytes }: { at: number; ofBytes: boolean }) {
	const idle = idleShare(at, 5, ofBytes);
	const aged = idleShare(at, 0, ofBytes);
	const fresh = aged - idleShare(at, 2, ofBytes);
	const unknown = ring.ageUnknown(at, ofBytes) > 0;
	return (
		<p data-t="idle-sentence">
			{share(idle)} idle over 16 s, {share(fresh)} touched in the last 2 s{unknown && <>, {share(1 - aged)} unknown: not monitored for long enough</>}.
		</p>
	);
}

/** The ages at one moment. */
function CrossSection({ at, ofBytes }: { at: number; ofBytes: boolean }) {
	const values = ageRows.map((_, row) => ageValue(at, row, ofBytes));
	const most = Math.max(1, ...values);
	const all = values.reduce((sum, value) => sum + value, 0);
	return (
		<table class="bars" data-t="cross-section">
			<caption>At {clock(ring.value("t", at))}</caption>
			<tbody>
				{values.map((value, row) => ({ value, row })).reverse().map(({ value, row }) => (
					<tr>
						<th scope="row">{ageRows[row]}</th>
						<td><Bar share={value / most} /></td>
						<td class="number">{ofBytes ? bytes(value) : count(value)}, {share(all ? value / all : 0)}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

/** Ends of the program, in words. */
function ending(state: Extract<Feed, { kind: "ended" }>): string {
	if (state.signal) return `The program was ended by signal ${state.signal}.`;
	return `The program has ended${state.exit == null ? "" : ` with status ${state.exit}`}.`;
}

function State({ lag }: { lag: number | null }) {
	const state = feed.value;
	if (state.kind === "ended")
		return (
			<div class="note" role="status" data-t="state">
				<p>{ending(state)} What was seen stays here.</p>
				{state.trace == null ? <p>No trace of it was kept; with --trace FILE there is one.</p> : <p><a class="button" href={linkTo("", { trace: state.trace, at: null, sel: null })}>Open its trace</a></p>}
			</div>
		);
	if (state.kind === "lost")
		return (
			<div class="problem" role="alert" data-t="state">
				The connection is lost; it is tried again in {state.wait} s. What happens meanwhile is fetched then. <button onClick={() => void connect()}>Try now</button>
			</div>
		);
	if (state.kind === "waiting" && ring.size === 0) return <p class="empty" role="status" data-t="state">Waiting for the process …</p>;
	return lag == null ? null : <span class="sr-only" role="status">The screen is paused; the program goes on.</span>;
}

interface Config {
	tl_ns: number;
	overhead_pct: number;
	tick_ms: number;
}

/** What the watcher does; what is in force now comes back. */
function Settings() {
	const [config, setConfig] = useState<Config | null>(null);
	const [problem, setProblem] = useState("");
	const [typed, setTyped] = useState<Partial<Record<keyof Config, string>>>({}); // stays whatever is answered to earlier changes
	const ask = (change: Partial<Config> | null) =>
		(change ? source.post<Config>("/live/config", change) : source.get<Config>("/live/config", {}))
			.then((reply) => {
				setConfig(reply.data);
				setTyped((all) => Object.fromEntries(Object.entries(all).filter(([name]) => !change || !(name in change))));
				setProblem("");
			})
			.catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
	const field = (name: keyof Config, label: string, title: string, scale: number, least: number, most: number) => (
		<label title={title}>
			{label}{" "}
			<input type="number" min={least} max={most} step="any" value={typed[name] ?? (config ? config[name] / scale : "")} onInput={({ currentTarget: { value } }) => setTyped((all) => ({ ...all, [name]: value }))} onChange={(event) => event.currentTarget.value !== "" && void ask({ [name]: Math.min(most, Math.max(least, Number(event.currentTarget.value))) * scale })} />
		</label>
	);
	return (
		<details class="chooser" onToggle={(event) => event.currentTarget.open && void ask(null)}>
			<summary>Settings</summary>
			{field("overhead_pct", "Overhead, %", "What monitoring may cost, as a share of the program's CPU time", 1, 0.01, 100)}
			{field("tick_ms", "Tick, ms", "Time from one report to the next", 1, 250, 5000)}
			{field("tl_ns", "Unused after, s", "Memory that was not touched for at least this time counts as unused in the ticks", 1e9, 0.5, 86400)}
			{problem && <p class="problem" role="alert">{problem}</p>}
		</details>
	);
}

function Snapshot() {
	const [busy, setBusy] = useState(false);
	const take = async () => {
		setBusy(true);
		try {
			const made = (await source.post<{ id: string; name: string }>("/live/snapshot", {})).data;
			traces.value = (await source.get<Status>("/status", {})).data.traces;
			say(`${made.name} is what was recorded so far; Back returns to the running program.`);
			go("", { trace: made.id, at: null, sel: null });
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
			setBusy(false);
		}
	};
	return <button disabled={busy || feed.value.kind !== "on"} onClick={() => void take()} title="A recording of all up to now, in all views">{busy ? "Snapshot …" : "Snapshot"}</button>;
}

interface Suspect {
	chunk: number;
	point: number | null;
	fn: string | null;
	file: string | null;
	line: number | null;
	type: string | null;
	size: number;
	age: number;
	idle: number;
	threshold: Maybe;
	hits: number;
	state: string;
}

interface Suspects {
	rows: Suspect[];
	n: number; // of all, not only of the rows
	bytes: number;
}

const bounds = [1, 2, 4, 8, 16, 32, 60, 120, 300, 600]; // seconds
const stateWords: Record<string, string> = { lost: "lost", reachable: "reachable", unknown: "not searched yet" };
const RENEW_MS = 3000;
const MOST_ROWS = 500; // that one answer may have
const TICK_MS = 1000;

function nameOf(row: { fn: string | null; file: string | null; line: number | null }) {
	return <span title={`${row.fn ?? "unknown"}\n${row.file ?? ""}:${row.line ?? ""}`}>{row.fn || "unknown"} <span class="quiet">{row.file ? `${row.file.replace(/^.*\//, "")}:${row.line}` : ""}</span></span>;
}

const suspectColumns: Column<Suspect>[] = [
	{ name: "fn", label: "Allocated by", fixed: true, width: "minmax(18ch, 3fr)", cell: nameOf, text: (row) => row.fn ?? "" },
	{ name: "size", label: "Size", number: true, width: "10ch", cell: (row) => bytes(row.size), text: (row) => String(row.size) },
	{ name: "idle", label: "Untouched for", number: true, width: "13ch", cell: (row) => ns(row.idle), text: (row) => String(row.idle) },
	{ name: "age", label: "Lives for", number: true, width: "10ch", cell: (row) => ns(row.age), text: (row) => String(row.age) },
	{ name: "hits", label: "Hits", title: "Accesses that were noticed", number: true, width: "8ch", cell: (row) => count(row.hits), text: (row) => String(row.hits) },
	{ name: "threshold", label: "Threshold", title: "Its monitoring threshold", fixed: true, number: true, width: "10ch", cell: (row) => (row.threshold == null ? "" : ns(row.threshold)), text: (row) => String(row.threshold ?? "") },
	{ name: "state", label: "State", title: "Whether anything still points to it", fixed: true, width: "minmax(9ch, 1fr)", cell: (row) => stateWords[row.state] ?? row.state, text: (row) => row.state },
	{ name: "type", label: "Type", fixed: true, width: "minmax(8ch, 1fr)", cell: (row) => row.type ?? "", text: (row) => row.type ?? "" },
];

function subjectOf(row: { fn: string | null; file: string | null; line: number | null; point: number | null }): Subject {
	return { title: row.fn || "unknown", fn: row.fn, file: row.file, line: row.line, point: row.point };
}

/** For how long memory must not be touched to count as unused: the number of the bound. */
function boundAt(): number {
	return Math.max(0, key("tl") === "" ? 4 : bounds.findIndex((seconds) => `${seconds}s` === key("tl")));
}

type SuspectsAnswer = ReturnType<typeof useAnswer<Suspects>>;

/** What was not touched for so long: all real leaks that were watched, and more. */
function useSuspects(paused: boolean, sort: string, limit: number): SuspectsAnswer {
	const answer = useAnswer<Suspects>(ring.size ? "/live/suspects" : null, { tl: `${bounds[boundAt()] ?? 16}s`, sort, limit });
	useEffect(() => {
		if (paused || feed.value.kind !== "on") return;
		const timer = setInterval(answer.retry, RENEW_MS);
		return () => clearInterval(timer);
	}, [paused, feed.value.kind]);
	return answer;
}

interface Said {
	row: { fn: string | null; file: string | null; line: number | null; point: number | null };
	words: string;
}

/** One of the questions, with up to three answers. */
function Answer({ name, question, list, otherwise, total = "" }: { name: string; question: string; list: Said[]; otherwise: string; total?: string }) {
	return (
		<section class="answer" aria-label={question} data-t={`answer-${name}`}>
			<h2>{question}</h2>
			{list.length === 0 ? <p class="quiet">{otherwise}</p> : total && <p>{total}</p>}
			<ol>
				{list.slice(0, 3).map(({ row, words }) => (
					<li><button class="link" disabled={row.point == null} onClick={() => row.point != null && select("p", row.point)}>{nameOf(row)}</button> <b>{words}</b></li>
				))}
			</ol>
		</section>
	);
}

const areas = (n: number) => `${count(n)} area${n === 1 ? "" : "s"}`;

/** Unused bytes by the place that allocated them, the most first. */
function unusedByPlace({ rows, n }: Suspects): Said[] {
	const places = new Map<string, { row: Suspect; bytes: number; n: number }>();
	for (const row of rows) {
		const place = `${row.fn} ${row.file} ${row.line}`;
		const known = places.get(place) ?? { row, bytes: 0, n: 0 };
		places.set(place, { row: known.row, bytes: known.bytes + row.size, n: known.n + 1 });
	}
	return [...places.values()].sort((a, b) => b.bytes - a.bytes).map((place) => ({ row: place.row, words: `${n > rows.length ? "at least " : ""}${bytes(place.bytes)} in ${areas(place.n)}` }));
}

/** What one wants to know of a program that runs, before any chart. */
function Answers({ tick, paused }: { tick: Tick; paused: boolean }) {
	const bound = ns((bounds[boundAt()] ?? 16) * 1e9);
	const unused = useSuspects(paused, "-size", MOST_ROWS).reply?.data;
	return (
		<div class="answers">
			<Answer name="grows" question="What grows?" otherwise="Nothing has grown within the last minute." list={growing.list().map((row) => ({ row, words: `+${bytes(row.by)} in ${ns(row.over)}` }))} />
			<Answer name="holds" question="Who holds most?" otherwise="Nothing is live." list={[...tick.top].sort((a, b) => b.own - a.own).map((row) => ({ row, words: `${bytes(row.own)}, ${share(tick.live_bytes ? row.own / tick.live_bytes : 0)}` }))} />
			<Answer name="unused" question={`What was not used for ${bound}?`} otherwise={unused ? "Nothing that was watched for so long." : "Not known yet."} list={unused ? unusedByPlace(unused) : []} total={unused ? `${bytes(unused.bytes)} in ${areas(unused.n)}, most of it from:` : ""} />
		</div>
	);
}

/** Containers that grew between the scans that somebody asked for, as in Owners. It takes a new copy of the trace: on request only. */
function Holders() {
	const info = useAnswer<TraceInfo>("/trace", {});
	const answer = useAnswer<Owners>(info.reply?.data.caps.owners ? "/owners" : null, {});
	const rows = answer.reply?.data.growth;
	const ask = () => {
		info.retry();
		answer.retry();
	};
	const look = () => {
		ask();
		setTimeout(ask, RENEW_MS); // the first answer may come from an older copy, the next from the one that it asked for
	};
	return (
		<section aria-label="What grows, and who holds it" data-t="holders">
			<h2>What grows, and who holds it</h2>
			<div class="controls"><button disabled={feed.value.kind !== "on"} onClick={look}>Look again</button></div>
			{rows == null || rows.length === 0 ? (
				<p class="quiet">{rows ? "Nothing grew between the scans." : "Two scans show it, a while apart. The program stands still for each:"} {!rows && <code>heapwise ctl PID scan --owners</code>}</p>
			) : (
				<Growth rows={rows} />
			)}
		</section>
	);
}

function Unused({ paused }: { paused: boolean }) {
	const at = boundAt();
	const bound = bounds[at] ?? 16;
	const sort = oneOf("leaks", ["idle", "size", "age", "hits"].flatMap((name) => [[name, ""], [`-${name}`, ""]] as const), "-idle");
	const answer = useSuspects(paused, sort, 200);
	const tick = newest;
	return (
		<section aria-label="Unused memory">
			<h2>Unused memory</h2>
			<p class="quiet" data-t="bounded-words">Memory that the program has not touched for at least the time that you choose here: lost, or kept without use (a bounded leak in the words of the Memcov paper). Memory that was not watched for so long is not among it.</p>
			<div class="controls">
				<label>
					Untouched for at least <input type="range" min={0} max={bounds.length - 1} value={at} aria-valuetext={`${bound} seconds`} aria-label="Untouched for at least" onInput={(event) => set({ tl: `${bounds[Number(event.currentTarget.value)]}s` }, true)} /> {ns(bound * 1e9)}
				</label>
				<span class="quiet">the longer, the fewer</span>
			</div>
			<Panel answer={answer} label="Unused memory">
				{(data) => (
					<>
						<p data-t="suspects">
							<b>{count(data.n)} areas, {bytes(data.bytes)}</b>, untouched for {ns(bound * 1e9)} or more: possible leaks, a superset of the real ones.
							{tick?.suspects.lost != null && ` Nothing points to ${count(tick.suspects.lost)} of them any more${tick.suspects.lost_bytes == null ? "" : ` (${bytes(tick.suspects.lost_bytes)})`}.`}
						</p>
						{data.rows.length > 0 && (
							<Table<Suspect> label="Possible leaks" columns={suspectColumns} rows={data.rows} rowKey={(row) => row.chunk} height={260} rowHeight={26} sort={sort} onSort={(name) => set({ leaks: name })} selected={data.rows.find((row) => row.point != null && row.point === selectedPoint())?.chunk ?? null} onSelect={(row) => row.point != null && select("p", row.point)} menu={subjectOf} />
						)}
						{data.n > data.rows.length && <p class="quiet">The first {count(data.rows.length)}.</p>}
					</>
				)}
			</Panel>
		</section>
	);
}

const topColumns: Column<TopPoint>[] = [
	{ name: "fn", label: "Point", width: "minmax(18ch, 3fr)", cell: nameOf, text: (row) => row.fn ?? "" },
	{ name: "own", label: "Own", title: "Live bytes of the point", number: true, width: "10ch", cell: (row) => bytes(row.own), text: (row) => String(row.own) },
	{ name: "total", label: "Total", title: "Live bytes of all points in its line", number: true, width: "10ch", cell: (row) => bytes(row.total), text: (row) => String(row.total) },
	{ name: "n", label: "Areas", number: true, width: "9ch", cell: (row) => count(row.n), text: (row) => String(row.n) },
	{ name: "delta", label: "Change", title: "Since the tick before", number: true, width: "12ch", cell: (row) => (row.delta == null ? "" : <Delta value={row.delta} unit="bytes" />), text: (row) => String(row.delta ?? "") },
];

interface ThreadTop {
	t: number;
	threads: { thread: number; tid: number | null; name: string; n: number; bytes: number }[];
	rows: Omit<TopPoint, "delta">[];
}

/** Points of a thread that are asked for; of one that was not among them it is not known what it held. */
const topLimit = 50;

/** What the points of one thread have changed by since the answer before. */
function useChanges(data: ThreadTop | null, thread: string): TopPoint[] {
	const before = useRef<{ thread: string; data: ThreadTop | null; older: Map<number, number> | null }>({ thread, data: null, older: null });
	if (before.current.thread !== thread) before.current = { thread, data: null, older: null };
	if (data && before.current.data !== data) before.current = { thread, data, older: before.current.data && new Map(before.current.data.rows.map((row) => [row.point, row.own])) };
	const older = before.current.older;
	return (data?.rows ?? []).map((row) => ({ ...row, delta: older && (older.has(row.point) || older.size < topLimit) ? row.own - (older.get(row.point) ?? 0) : null }));
}

/** Of all threads they come with the ticks; those of one thread are asked for. */
function TopPoints({ tick, paused }: { tick: Tick; paused: boolean }) {
	const sort = oneOf("sort", topColumns.flatMap(({ name }) => [[name, ""], [`-${name}`, ""]] as const), "-own");
	const thread = /^\d+$/.test(key("thread")) ? key("thread") : "";
	const answer = useAnswer<ThreadTop>(able("/live/top") ? "/live/top" : null, { thread, limit: thread === "" ? 1 : topLimit });
	useEffect(() => {
		if (paused || feed.value.kind !== "on") return;
		const timer = setInterval(answer.retry, thread === "" ? 5 * RENEW_MS : TICK_MS);
		return () => clearInterval(timer);
	}, [paused, thread, feed.value.kind]);
	const data = answer.reply?.data ?? null;
	const changes = useChanges(answer.asked.thread === thread ? data : null, thread);
	const rows = thread === "" ? tick.top : changes;
	const known = data?.threads ?? [];
	const words = (row: ThreadTop["threads"][number]) => `${row.thread} ${row.name}${row.tid == null ? "" : ` (${row.tid})`}: ${bytes(row.bytes)}`;
	const options = [["", "all"], ...known.map((row) => [String(row.thread), words(row)] as const), ...(thread !== "" && !known.some((row) => String(row.thread) === thread) ? [[thread, `${thread}: nothing lives`] as const] : [])] as const;
	return (
		<section aria-label="Top points">
			<h2>Top points</h2>
			{(known.length > 1 || thread !== "") && <div class="controls"><Choice label="Allocated by thread" value={thread} options={options} onChange={(value) => set({ thread: value || null })} /></div>}
			{answer.error && thread !== "" && <p class="problem" role="alert">{answer.error.message}</p>}
			<Table<TopPoint> label="Top points" columns={topColumns} rows={sorted(rows, sort)} rowKey={(row) => row.point} height={320} rowHeight={28} sort={sort} onSort={(name) => set({ sort: name })} selected={selectedPoint()} onSelect={(row) => select("p", row.point)} onOpen={(row) => go(`point/${row.point}`)} menu={subjectOf} />
		</section>
	);
}

/** All that the charts show, newest first. */
function Twin({ shown, states }: { shown: Window; states: number[] }) {
	const rows = useMemo(() => ({ length: shown.end - shown.first, at: (index: number) => shown.end - 1 - index }), [shown]);
	const column = (name: string, label: string, value: (at: number) => number, show: (value: Maybe) => string): Column<number> => ({ name, label, number: true, width: `${Math.max(9, label.length + 2)}ch`, cell: (at) => show(known(value(at))), text: (at) => String(known(value(at)) ?? "") });
	const columns = [
		column("t", "Time", (at) => ring.value("t", at), clock),
		...lines.map(({ name, words }) => column(name, words, (at) => ring.value(name, at), count)),
		column("live", "Areas", (at) => ring.value("live", at), count),
		column("live_bytes", "Live bytes", (at) => ring.value("live_bytes", at), bytes),
		column("working_set", "Touched", (at) => ring.value("working_set", at), bytes),
		column("working_unknown", "Perhaps touched", (at) => ring.value("working_unknown", at), bytes),
		column("monitored", "Monitored", (at) => ring.value("monitored", at), count),
		column("overhead_pct", "Overhead", (at) => ring.value("overhead_pct", at) / 100, share),
		column("n", "Suspects", (at) => ring.value("n", at), count),
		...ageWords.map((words, row) => column(`age${row}`, words, (at) => ring.age(at, row), count)),
		column("age_unknown", "Age unknown", (at) => ring.ageUnknown(at), count),
		...states.map((seconds, row) => column(`thr${row}`, `τ ${seconds} s`, (at) => ring.state(at, row), count)),
	];
	const all = () => Array.from({ length: rows.length }, (_, index) => rows.at(index));
	return (
		<Table label="Ticks" columns={columns} rows={rows} rowKey={(at) => ring.number(at)} height={520} rowHeight={26} copied={all} />
	);
}

function Numbers({ at }: { at: number }) {
	const value = (name: Parameters<typeof ring.value>[0]) => known(ring.value(name, at));
	const perhaps = value("working_unknown");
	return (
		<dl class="totals" data-t="numbers">
			{lines.map(({ name, words }) => <div><dt>{words}</dt><dd data-t={name}>{count(value(name))}</dd></div>)}
			<div><dt>Areas</dt><dd data-t="live">{count(value("live"))}</dd></div>
			<div><dt>Live bytes</dt><dd data-t="live-bytes">{bytes(value("live_bytes"))}</dd></div>
			<div><dt>Recently touched</dt><dd data-t="working-set">{bytes(value("working_set"))} {perhaps ? <span class="quiet small" title="Not monitored all the time since the last tick: perhaps touched, perhaps not">{bytes(perhaps)} unknown</span> : null}</dd></div>
			<div><dt>Monitored</dt><dd data-t="monitored">{count(value("monitored"))} <span class="quiet small">{bytes(value("monitored_bytes"))}</span></dd></div>
			<div><dt>Overhead</dt><dd data-t="overhead">{share(value("overhead_pct") == null ? null : (value("overhead_pct") ?? 0) / 100)}</dd></div>
		</dl>
	);
}

/** Where the screen stands still, and the tick that it then shows; null = it follows. */
interface Stop {
	t: number;
	tick: Tick;
}

function usePause(): [Stop | null, () => void] {
	const [stop, setStop] = useState<Stop | null>(null);
	const toggle = () => setStop((old) => (old || !newest ? null : { t: ring.last, tick: newest }));
	useEffect(() => {
		const down = (event: KeyboardEvent) => {
			if (event.key !== " " || event.ctrlKey || (event.target instanceof HTMLElement && event.target.closest("button, a, input, select, textarea, summary, dialog"))) return;
			event.preventDefault();
			toggle();
		};
		window.addEventListener("keydown", down);
		return () => window.removeEventListener("keydown", down);
	}, []);
	return [stop, toggle];
}

function windowOf(stop: Stop | null): Window {
	const span = oneOf("span", spans, "5");
	const to = stop?.t ?? ring.last;
	const end = ring.before(to) + 1;
	const begin = Math.max(0, ring.value("t", 0) || 0);
	const long = Math.max(MIN_SPAN, Math.min(span === "all" ? Infinity : Number(span) * 60e9, to - begin));
	const from = to - long;
	const first = Math.max(0, ring.before(from) + 1);
	const at = cursor.value == null ? end - 1 : Math.min(end - 1, Math.max(0, ring.before(cursor.value)));
	return { from, to, first, end, chosen: at, version: `${from} ${to} ${ring.size} ${at} ${cursor.value}` };
}

/** How long the last paint took, and what is kept: for tests. */
const measured = { redraw: 0, worst: 0, rounds: 0 };

export function Live() {
	const begun = performance.now();
	const [stop, pause] = usePause();
	const [table, toggleTable] = useTwin();
	const runs = useAnswer<TraceInfo>("/trace", {}).reply?.data.caps.live; // the first trace of the server is the program's
	useEffect(() => {
		if (!runs) return;
		void connect();
		return disconnect;
	}, [runs]);
	useEffect(() => {
		if (window.__hw) window.__hw.live = () => ({ ...measured, ticks: ring.size, last: ring.last, state: feed.value.kind });
	}, []);
	void beat.value; // paints again with each tick
	const ofBytes = oneOf("by", units, "areas") === "bytes";
	const tick = stop?.tick ?? newest;
	const shown = windowOf(stop);
	const states = (tick?.thr_states ?? []).slice(0, STATES);
	const held = `${shown.version} ${ofBytes}`;
	const rates = useMemo(() => ratePainter(shown), [held]);
	const ageing = useMemo(() => heatPainter(shown, { rows: ageRows, plain: 0, value: (at, row) => ageValue(at, row, ofBytes), words: (at, row) => ageSaid(at, row, ofBytes) }), [held]);
	const thresholds = useMemo(() => heatPainter(shown, { rows: states.map((seconds) => `${seconds} s`), value: (at, row) => ring.state(at, row), words: (at, row) => `${count(ring.state(at, row))} units with the threshold ${states[row]} s` }), [`${held} ${states.join()}`]);
	useLayoutEffect(() => {
		measured.redraw = performance.now() - begun;
		measured.worst = ++measured.rounds > 5 ? Math.max(measured.worst, measured.redraw) : 0;
	});
	if (ring.size === 0 && (runs === false || feed.value.kind === "none"))
		return (
			<div class="empty">
				<p>No program runs behind this page: it shows recordings. To look at one while it runs:</p>
				<pre>heapwise watch --web --open -- PROGRAM</pre>
				<button onClick={() => void copy("heapwise watch --web --open -- ", "the command")}>Copy command</button>
			</div>
		);
	const lag = stop ? Math.max(0, ring.last - stop.t) : null;
	if (ring.size === 0 || !tick) return <div class="view"><State lag={lag} /></div>;
	return (
		<div class="view live">
			<div class="controls">
				<button aria-pressed={stop != null} onClick={pause} title="Space">{stop ? "Go on" : "Pause"}</button>
				{stop ? <span class="chip" data-t="paused">paused, +{Math.round((lag ?? 0) / 1e9)} s</span> : <span class={`chip ${feed.value.kind}`} data-t="feed">{{ on: "live", waiting: "waiting", lost: "lost", ended: "ended", none: "no program" }[feed.value.kind]}</span>}
				<span data-t="clock">{clock(shown.to)}{cursor.value == null ? "" : <>, looking at {clock(ring.value("t", shown.chosen))} <button onClick={() => set({ at: null })}>Now</button></>}</span>
				<Choice label="Shown" value={key("span") || "5"} options={spans} onChange={(value) => set({ span: value === "5" ? null : value })} />
				<Choice label="Ages of" value={ofBytes ? "bytes" : "areas"} options={units} onChange={(value) => set({ by: value === "areas" ? null : value })} />
				<Snapshot />
				<Settings />
				<TwinButton on={table} toggle={toggleTable} />
			</div>
			<State lag={lag} />
			<Answers tick={tick} paused={stop != null} />
			<Numbers at={shown.chosen} />
			<Holders />
			{table ? (
				<Twin shown={shown} states={states} />
			) : (
				<>
					<section aria-label="Rates">
						<h2>Rates</h2>
						<Chart name="live-rates" label="Allocations and frees per second, and live areas" description="line chart" height={170} painter={rates} version={shown.version} />
						<div class="legend" aria-label="Colours">{lines.map(({ words, colour, dash }) => <span class="size-step"><svg width="24" height="8" aria-hidden="true"><line x1="0" y1="4" x2="24" y2="4" stroke={category(colour)} stroke-width="2" stroke-dasharray={dash.join(" ")} /></svg> {words}</span>)}<span class="quiet">below: live areas</span></div>
					</section>
					<section aria-label="Ageing">
						<h2>Ageing</h2>
						<AgesSaid at={shown.chosen} ofBytes={ofBytes} />
						<div class="pair wide">
							<Chart name="live-ages" label={`${ofBytes ? "Bytes" : "Areas"} by the time for which they were not touched`} description="heat map" height={ageRows.length * 22 + AXIS} painter={ageing} version={held} />
							<CrossSection at={shown.chosen} ofBytes={ofBytes} />
						</div>
						<p class="quiet">Rows: not touched for so long; the fuller, the more. Unknown: Heapwise watches only part of the memory at a time, to keep the program fast; an area that it did not watch for most of the time since its last known access may have been touched meanwhile.</p>
						<Keys>Click, or ← and →, for the ages at another moment, Esc for now. Space stops the screen, not the program.</Keys>
					</section>
				</>
			)}
			<Unused paused={stop != null} />
			<TopPoints tick={tick} paused={stop != null} />
			{!table && (
				<details class="method" aria-label="Monitoring thresholds">
					<summary>How memory is watched</summary>
					<section aria-label="Monitoring thresholds">
						<p class="quiet">An area that is touched often is watched seldom. Its monitoring threshold is the time for which it is left alone after a touch.</p>
						{states.length > 0 ? (
							<Chart name="live-thresholds" label="Units by their monitoring threshold" description="heat map" height={states.length * 22 + AXIS} painter={thresholds} version={`${held} ${states.join()}`} />
						) : (
							<p class="quiet">This policy has none: what is monitored follows from what it is worth and costs. With --policy ladder each unit has one.</p>
						)}
					</section>
				</details>
			)}
		</div>
	);
}

