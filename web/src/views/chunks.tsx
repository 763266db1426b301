// SPDX-License-Identifier: MIT
// The pattern of single blocks: loops, growth, late frees. One bar a chunk, from its allocation to its free;
// two ticks are the first and the last access. Where bars would be too thin, how many there are.

import { useMemo, useRef, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { CanvasView, type Item, type Painter } from "../lib/canvas";
import { dark, ink, inkOn, severity } from "../lib/colour";
import { type Maybe, bytes, count, ns, score, share, tick } from "../lib/format";
import type { Subject } from "../lib/menu";
import { Choice, Keys, TimeAxis, oneOf } from "../lib/parts";
import { say } from "../lib/say";
import { select, selection } from "../lib/select";
import { embedded, source } from "../lib/source";
import { addWhere, common, go, key, query, set, trace, whole } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { TwinButton, useTwin } from "../lib/twin";
import type { Columns, Frame } from "../lib/types";
import { type PointDetail, stackText } from "../drawer";

export const FLAG = { alive: 1, multi: 2, neverRead: 4, neverWritten: 8, realloc: 16, unmeasured: 32 } as const;

interface Reply extends Partial<Columns> {
	mode: "rows" | "density";
	chunks: number; // in the selection
	rows_all: number; // that they take
	w?: number; // of the grid of a density
	h?: number;
	palette?: string[]; // that the query gives
}

export interface Bars {
	mode: "bars";
	total: number;
	id: number[];
	row: number[];
	t0: number[];
	t1: number[];
	first: Maybe[];
	last: Maybe[];
	size: number[];
	flags: number[];
	sev: number[];
	color: number[]; // numbers of the palette, from 1; 0 = none
	palette: string[];
}

interface Span {
	from: number;
	to: number;
}

interface Density {
	mode: "density";
	total: number;
	w: number;
	h: number;
	n: number[];
	bytes: number[];
}

type Data = Bars | Density;

function unpack(reply: Reply): Data {
	const column = (name: string) => reply.columns?.[name] ?? [];
	if (reply.mode === "density") return { mode: "density", total: reply.chunks, w: reply.w ?? 1, h: reply.h ?? 1, n: column("n"), bytes: column("bytes") };
	return {
		mode: "bars",
		total: reply.chunks,
		id: column("id"),
		row: column("row"),
		t0: column("t0"),
		t1: column("t1"),
		first: column("first"),
		last: column("last"),
		size: column("size"),
		flags: column("flags"),
		sev: column("sev"),
		color: column("color"),
		palette: reply.palette ?? [],
	};
}

const orders = [["time", "Time of allocation"], ["size", "Size"], ["life", "Life"], ["addr", "Address"], ["last", "Last access"]] as const;
const lanes = [["row", "One per chunk"], ["packed", "Packed"], ["thread", "By thread"]] as const;
const paints = [["size", "Size"], ["sev", "Severity"], ["query", "Colour of the query"]] as const;
const HEIGHT = 520;
const THICK = 18; // of a row, at most
const ROWS = 60; // that are told apart easily

/** Small is pale, large is full: by the logarithm of the size. */
function shade(size: number, largest: number): number {
	return 0.25 + 0.75 * (Math.log2(size + 1) / Math.log2(largest + 2));
}

/** Lines for what was never touched: not by colour alone. */
function hatch(context: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
	const tile = document.createElement("canvas");
	const paint = tile.getContext("2d");
	tile.width = tile.height = 6;
	if (!paint) return colour;
	paint.strokeStyle = colour;
	paint.lineWidth = 1.5;
	paint.beginPath();
	for (const shift of [-6, 0, 6]) {
		paint.moveTo(shift, 6);
		paint.lineTo(shift + 6, 0);
	}
	paint.stroke();
	return context.createPattern(tile, "repeat") ?? colour;
}

function isUntouched(flags: number): boolean {
	return (flags & FLAG.unmeasured) === 0 && (flags & FLAG.neverRead) !== 0 && (flags & FLAG.neverWritten) !== 0;
}

function barPainter(data: Bars, from: number, to: number, by: string): Painter {
	let largest = 1;
	let first = Infinity;
	let last = 0;
	for (const size of data.size) largest = Math.max(largest, size);
	for (const row of data.row) {
		first = Math.min(first, row);
		last = Math.max(last, row);
	}
	const rows = Math.max(1, last + 1 - first);
	return {
		paint(context, width, height) {
			const { accent, text, quiet } = ink();
			const rowHeight = Math.min(THICK, height / rows);
			const scale = width / Math.max(1, to - from);
			const lines = hatch(context, quiet);
			return data.id.map((id, at) => {
				const flags = data.flags[at] ?? 0;
				const x = ((data.t0[at] ?? 0) - from) * scale;
				const end = flags & FLAG.alive ? width : ((data.t1[at] ?? 0) - from) * scale;
				const w = Math.max(3, end - x);
				const y = ((data.row[at] ?? 0) - first) * rowHeight;
				const h = Math.max(1, rowHeight - (rowHeight > 4 ? 2 : rowHeight > 2 ? 0.5 : 0));
				const colour = by === "sev" ? severity(data.sev[at] ?? 1) : by === "query" ? (data.palette[(data.color[at] ?? 0) - 1] ?? "#999999") : accent;
				const untouched = isUntouched(flags);
				context.globalAlpha = untouched || by !== "size" ? 1 : shade(data.size[at] ?? 0, largest);
				context.fillStyle = untouched ? lines : colour;
				context.fillRect(x, y, w, h);
				context.globalAlpha = 1;
				const begun = data.first[at];
				const ended = data.last[at];
				if (begun != null && ended != null) {
					const fx = (begun - from) * scale;
					const lx = (ended - from) * scale;
					context.fillStyle = text;
					context.fillRect(fx, y, 1.5, h);
					context.fillRect(lx, y, 1.5, h);
					context.fillRect(fx, y + h / 2 - 0.5, Math.max(0, lx - fx), 1);
				}
				if (!(flags & FLAG.alive)) {
					context.fillStyle = text;
					context.fillRect(x + w - 1, y, 1, h);
				}
				return { id, x, y, w, h: Math.max(1, rowHeight), colour, label: bytes(data.size[at]) };
			});
		},
		speak: (item) => {
			const at = data.id.indexOf(item.id);
			const alive = ((data.flags[at] ?? 0) & FLAG.alive) !== 0;
			return `chunk ${item.id}, ${item.label}, from ${ns(data.t0[at])} ${alive ? "and never freed" : `for ${ns((data.t1[at] ?? 0) - (data.t0[at] ?? 0))}`}${isUntouched(data.flags[at] ?? 0) ? ", never used" : ""}`;
		},
	};
}

/** As high as its rows, if they are few. */
function heightOf(data: Data): number {
	if (data.mode === "density") return HEIGHT;
	const first = data.row.reduce((least, row) => Math.min(least, row), Infinity);
	const last = data.row.reduce((most, row) => Math.max(most, row), 0);
	return Math.min(HEIGHT, Math.max(180, (last + 1 - first) * THICK));
}

/** Few are pale, many are full. By the root of how many: with the logarithm, rows of which hardly any chunk is left look full. */
function depth(n: number, most: number): number {
	return 0.08 + 0.92 * Math.sqrt(n / most);
}

function densityPainter(data: Density, seen: Span, from: number, to: number): Painter {
	const most = data.n.reduce((high, n) => Math.max(high, n), 1);
	return {
		paint(context, width, height) {
			const { accent } = ink();
			// while one drags, what was asked for last is where it belongs
			const shift = ((seen.from - from) / Math.max(1, to - from)) * width;
			const w = (width / data.w) * ((seen.to - seen.from) / Math.max(1, to - from));
			const h = height / data.h;
			context.fillStyle = accent;
			const items: Item[] = [];
			data.n.forEach((n, at) => {
				if (n === 0) return;
				// whole pixels: seams between cells would look like something
				const x = Math.floor(shift + (at % data.w) * w);
				const y = Math.floor(Math.floor(at / data.w) * h);
				context.globalAlpha = depth(n, most);
				context.fillRect(x, y, Math.floor(shift + ((at % data.w) + 1) * w) - x, Math.floor((Math.floor(at / data.w) + 1) * h) - y);
				items.push({ id: at, x, y, w, h, colour: accent, label: `${count(n)} chunks` });
			});
			context.globalAlpha = 1;
			return items;
		},
		speak: (item) => `${item.label}, ${bytes(data.bytes[item.id])}`,
	};
}

interface Line {
	at: number;
}

function useOf(flags: number): string {
	const words = [flags & FLAG.neverRead ? "never read" : "", flags & FLAG.neverWritten ? "never written" : "", flags & FLAG.multi ? "several threads" : "", flags & FLAG.realloc ? "from realloc" : ""];
	return flags & FLAG.unmeasured ? "not measured" : words.filter((word) => word !== "").join(", ");
}

function subjectOf(id: number): Subject {
	return {
		title: `chunk ${id}`,
		chunk: id,
		stack: () => source.get<{ alloc_stack: Frame[] }>(`/chunks/${id}`, whole()).then((reply) => stackText(reply.data.alloc_stack)),
	};
}

function DensityTwin({ data, seen }: { data: Density; seen: Span }) {
	const cells: Line[] = data.n.flatMap((n, at) => (n ? [{ at }] : []));
	const time = (at: number) => seen.from + ((at % data.w) / data.w) * (seen.to - seen.from);
	const columns: Column<Line>[] = [
		{ name: "t", label: "From", number: true, width: "12ch", cell: ({ at }) => ns(time(at)), text: ({ at }) => String(Math.round(time(at))) },
		{ name: "row", label: "Row of the picture", number: true, width: "18ch", cell: ({ at }) => String(Math.floor(at / data.w)) },
		{ name: "n", label: "Chunks", number: true, width: "12ch", cell: ({ at }) => count(data.n[at]), text: ({ at }) => String(data.n[at]) },
		{ name: "bytes", label: "Bytes", number: true, width: "12ch", cell: ({ at }) => bytes(data.bytes[at]), text: ({ at }) => String(data.bytes[at]) },
	];
	return <Table label="Chunks by time" columns={columns} rows={cells} rowKey={({ at }) => at} height={HEIGHT} rowHeight={26} />;
}

function Twin({ data }: { data: Bars }) {
	const rows: Line[] = data.id.map((_, at) => ({ at }));
	const columns: Column<Line>[] = [
		{ name: "id", label: "Chunk", number: true, width: "11ch", cell: ({ at }) => String(data.id[at]) },
		{ name: "size", label: "Size", number: true, width: "11ch", cell: ({ at }) => bytes(data.size[at]), text: ({ at }) => String(data.size[at]) },
		{ name: "t0", label: "Allocated", number: true, width: "12ch", cell: ({ at }) => ns(data.t0[at]), text: ({ at }) => String(data.t0[at]) },
		{ name: "t1", label: "Freed", number: true, width: "12ch", cell: ({ at }) => ((data.flags[at] ?? 0) & FLAG.alive ? "never" : ns(data.t1[at])), text: ({ at }) => String(data.t1[at]) },
		{ name: "first", label: "First access", number: true, width: "13ch", cell: ({ at }) => ns(data.first[at]), text: ({ at }) => String(data.first[at] ?? "") },
		{ name: "use", label: "Use", width: "minmax(10ch, 1fr)", cell: ({ at }) => useOf(data.flags[at] ?? 0), text: ({ at }) => useOf(data.flags[at] ?? 0) },
		{ name: "last", label: "Last access", number: true, width: "13ch", cell: ({ at }) => ns(data.last[at]), text: ({ at }) => String(data.last[at] ?? "") },
	];
	return (
		<Table copied={() => rows} label="Chunks" columns={columns} rows={rows} rowKey={({ at }) => data.id[at] ?? at} height={HEIGHT} rowHeight={26} selected={selection.value?.kind === "c" ? Number(selection.value.id) : null} onSelect={({ at }) => select("c", data.id[at] ?? 0)} menu={({ at }) => subjectOf(data.id[at] ?? 0)} />
	);
}

const MANY = 100; // chunks that a condition names one by one

/** What a rectangle holds: the chunks themselves, or, if they are too many, their time and order. */
function conditionFor(data: Bars, items: Item[], order: string, from: number, to: number): string {
	const inside = new Set(items.map((item) => item.id));
	const span = `alloc <= ${Math.round(to)}ns and (not freed or free >= ${Math.round(from)}ns)`;
	if (inside.size <= MANY) return `chunk in (${[...inside].join(", ")})`;
	const values = data.id.flatMap((id, at) => (inside.has(id) ? [order === "size" ? (data.size[at] ?? 0) : order === "life" ? (data.t1[at] ?? 0) - (data.t0[at] ?? 0) : (data.t0[at] ?? 0)] : []));
	const low = values.reduce((least, value) => Math.min(least, value), Infinity);
	const high = values.reduce((most, value) => Math.max(most, value), 0);
	if (order === "size") return `${span} and size >= ${low} and size <= ${high}`;
	if (order === "life") return `${span} and life >= ${Math.floor(low)}ns and life <= ${Math.ceil(high)}ns`;
	return order === "time" ? `${span} and alloc >= ${Math.floor(low)}ns and alloc <= ${Math.ceil(high)}ns` : span;
}

function SizeLegend({ data, by }: { data: Bars; by: string }) {
	const largest = data.size.reduce((most, size) => Math.max(most, size), 1);
	const steps = [0, 0.34, 0.67, 1].map((part) => Math.round(2 ** (part * Math.log2(largest + 1)) - 1) || 1);
	return (
		<div class="legend" aria-label="Colours">
			{by === "query" ? (
				<>colours of the query {data.palette.map((colour) => <span class="swatch" style={{ background: colour }} title={colour} />)}</>
			) : by === "sev" ? (
				<>severity of the point {Array.from({ length: 12 }, (_, step) => <span class="swatch" style={{ background: severity(step + 1), color: inkOn(severity(step + 1)) }}>{step + 1}</span>)}</>
			) : (
				<>size {steps.map((size) => <span class="size-step"><span class="swatch" style={{ background: "var(--accent)", opacity: shade(size, largest) }} /> {bytes(size)}</span>)}</>
			)}
			<span class="quiet">ticks: first and last access; hatched: never used; no edge on the right: never freed</span>
		</div>
	);
}

function DensityLegend({ data }: { data: Density }) {
	const most = data.n.reduce((high, n) => Math.max(high, n), 1);
	const steps = [...new Set([0, 0.1, 0.4, 1].map((part) => Math.max(1, Math.round(part * most))))];
	return (
		<div class="legend" aria-label="Colours">
			chunks at a time {steps.map((n) => <span class="size-step"><span class="swatch" style={{ background: "var(--accent)", opacity: depth(n, most) }} /> {count(n)}</span>)}
		</div>
	);
}

/** How many chunks of the selection meet a condition. */
function useMatched(condition: string): number | undefined {
	return useAnswer<unknown>(embedded ? null : "/timeline", { ...common(), q: `${query() || "all"} | where ${condition}`, g: null, bins: 1 }).reply?.matched?.chunks;
}

/** Most live so briefly that the picture does not show them. */
function Lives({ total }: { total: number }) {
	const kept = useMatched("not freed");
	const brief = useMatched("freed and life < 1ms");
	return kept == null || brief == null ? null : <span data-t="lives">; {share(brief / total)} lived less than 1 ms, {share(kept / total)} were never freed</span>;
}

export function Chunks() {
	const order = oneOf("order", orders, "time");
	const lane = oneOf("lane", lanes, "row");
	const by = oneOf("c", paints, "size");
	const point = key("point");
	const run = trace.value?.duration_ns ?? 0;
	const from = Math.max(0, Number(key("x0")) || 0);
	const to = Math.max(from + 1, Number(key("x1")) || run);
	const row = key("y") === "" ? null : Math.max(0, Math.floor(Number(key("y"))) || 0); // the first that is shown; null = all rows
	const [table, toggleTable] = useTwin();
	const [frame, setFrame] = useState<{ x0: number; y0: number; x1: number; y1: number } | null>(null);
	const held = useRef({ x: 0, y: 0, from: 0, to: 0, row: 0, shift: false });
	const answer = useAnswer<Reply>(run ? "/chunks" : null, { ...common(), point, order, lane, x0: Math.round(from), x1: Math.round(to), px: 1200, y0: row, rows: row == null ? null : ROWS });
	const reply = answer.reply;
	const data = useMemo(() => (reply ? unpack(reply.data) : null), [reply]);
	const seen: Span = { from: Number(answer.asked.x0 ?? from), to: Number(answer.asked.x1 ?? to) };
	const painter = useMemo(() => (data ? (data.mode === "bars" ? barPainter(data, from, to, by) : densityPainter(data, seen, from, to)) : null), [data, from, to, by]);
	const scores = useAnswer<PointDetail>(point !== "" && key("groups") === "1" ? `/points/${encodeURIComponent(point)}` : null, common()).reply?.data.scores;
	const groups = (key("groups") === "1" && scores?.worst_groups?.filter((group) => group.t1 > from && group.t0 < to)) || [];
	const at = (time: number) => Math.min(100, Math.max(0, ((time - from) / (to - from)) * 100));
	const rowsAll = reply?.data.rows_all ?? 0;
	const width = () => document.querySelector('[data-t="chart-chunks"]')?.clientWidth ?? 1;
	const timeAt = (x: number) => from + (x / width()) * (to - from);
	const look = (start: number, span: number, replace = true) => {
		const first = Math.min(Math.max(0, run - span), Math.max(0, start));
		set({ x0: first <= 0 ? null : Math.round(first), x1: first + span >= run ? null : Math.round(first + span) }, replace);
	};
	const zoom = (factor: number, middle: number) => {
		const span = Math.min(run, Math.max(1000, (to - from) * factor));
		look(middle - (middle - from) * (span / (to - from)), span);
	};
	const scroll = (by: number) => set({ y: Math.min(Math.max(0, rowsAll - ROWS), Math.max(0, (row ?? 0) + by)) }, true);
	const next = (list: readonly (readonly [string, string])[], now: string) => list[(list.findIndex(([name]) => name === now) + 1) % list.length]?.[0];
	const filterBy = (rect: { x0: number; y0: number; x1: number; y1: number }) => {
		if (data?.mode !== "bars") {
			const [left, right] = [timeAt(Math.min(rect.x0, rect.x1)), timeAt(Math.max(rect.x0, rect.x1))];
			addWhere(`alloc <= ${Math.round(right)}ns and (not freed or free >= ${Math.round(left)}ns)`);
			return;
		}
		const [left, right, top, bottom] = [Math.min(rect.x0, rect.x1), Math.max(rect.x0, rect.x1), Math.min(rect.y0, rect.y1), Math.max(rect.y0, rect.y1)];
		const inside = (window.__hw?.items("chunks") ?? []).filter((item) => item.x < right && item.x + item.w > left && item.y < bottom && item.y + item.h > top);
		if (inside.length) addWhere(conditionFor(data, inside, order, timeAt(left), timeAt(right)));
		else say("No chunk is inside.");
	};
	const drag = (phase: "begin" | "move" | "end", x: number, y: number, shift: boolean) => {
		const start = held.current;
		if (phase === "begin") held.current = { x, y, from, to, row: row ?? 0, shift };
		else if (start.shift) {
			const rect = { x0: start.x, y0: start.y, x1: x, y1: y };
			setFrame(phase === "end" ? null : rect);
			if (phase === "end" && Math.hypot(x - start.x, y - start.y) > 4) filterBy(rect);
		} else if (phase === "move" && start.to - start.from < run) look(start.from - ((x - start.x) / width()) * (start.to - start.from), start.to - start.from);
	};
	const keys = (event: KeyboardEvent): boolean => {
		if (event.key === "o") set({ order: next(orders, order) });
		else if (event.key === "l") set({ lane: next(lanes, lane) });
		else if (event.key === "+") zoom(0.5, (from + to) / 2);
		else if (event.key === "-") zoom(2, (from + to) / 2);
		else if (event.key === "0") set({ x0: null, x1: null });
		else if (event.key === ",") look(from - (to - from) / 4, to - from);
		else if (event.key === ".") look(from + (to - from) / 4, to - from);
		else if (event.key === "PageDown") scroll(ROWS);
		else if (event.key === "PageUp") scroll(-ROWS);
		else return false;
		return true;
	};
	return (
		<div class="view">
			<div class="controls">
				{point !== "" && <button class="chip" onClick={() => set({ point: null })}>point {point} ✕</button>}
				<Choice label="Order" value={order} options={orders} onChange={(value) => set({ order: value })} />
				<Choice label="Rows" value={lane} options={lanes} onChange={(value) => set({ lane: value })} />
				{data?.mode !== "density" && <Choice label="Colour" value={by} options={reply?.data.palette?.length ? paints : paints.slice(0, 2)} onChange={(value) => set({ c: value === "size" ? null : value })} />}
				<span class="buttons">
					<button aria-label="Zoom in" title="Zoom in" onClick={() => zoom(0.5, (from + to) / 2)}>+</button>
					<button aria-label="Zoom out" title="Zoom out" onClick={() => zoom(2, (from + to) / 2)}>−</button>
				</span>
				{(key("x0") !== "" || key("x1") !== "") && <button onClick={() => set({ x0: null, x1: null })}>Whole run</button>}
				{point !== "" && <button aria-pressed={key("groups") === "1"} title="Allocations close to each other are a group of the lifetime score" onClick={() => set({ groups: key("groups") === "1" ? null : 1 })}>Lifetime groups</button>}
				<button aria-pressed={row != null} onClick={() => set({ y: row == null ? 0 : null })} title="Bars of readable height, a page of rows at a time">Page by page</button>
				{row != null && <button disabled={row === 0} onClick={() => scroll(-ROWS)}>Previous</button>}
				{row != null && <button disabled={row + ROWS >= rowsAll} onClick={() => scroll(ROWS)}>Next</button>}
				<TwinButton on={table} toggle={toggleTable} />
			</div>
			<Panel answer={answer} label="Chunks" empty={(shown) => (trace.value?.caps.chunks === false ? "This trace holds totals only." : shown.chunks === 0 ? "No chunk lives here." : null)}>
				{() => data && body(data)}
			</Panel>
		</div>
	);

	/** What is on the other axis, read from the top. */
	function yWords(): string {
		const ordered = (orders.find(([name]) => name === order)?.[1] ?? order).toLowerCase();
		return lane === "row" ? `chunks by ${ordered}` : lane === "thread" ? "threads" : "chunks, as few rows as there can be";
	}

	function body(shown: Data) {
		return (
			<>
				<p class="quiet">
					{count(shown.total)} chunks, {tick(from, "ns")} to {ns(to)}{row != null ? `, rows ${count(row + 1)} to ${count(Math.min(rowsAll, row + ROWS))} of ${count(rowsAll)}` : ""}
					{shown.mode === "density" && <><Lives total={shown.total} />. Too many for bars: the stronger the colour, the more of them are live.</>}
				</p>
				{table ? (
					shown.mode === "bars" ? <Twin data={shown} /> : <DensityTwin data={shown} seen={seen} />
				) : (
					painter && (
						<div class="with-y">
							<span class="y-label" aria-hidden="true">← {yWords()}</span>
							<CanvasView
								name="chunks"
								label="Chunks over time"
								description="lifetime chart"
								height={heightOf(shown)}
								painter={painter}
								version={`${dark.value}`}
								selected={selection.value?.kind === "c" ? Number(selection.value.id) : null}
								onSelect={(item) => shown.mode === "bars" && select("c", item.id)}
								onOpen={(item) => (shown.mode === "density" ? zoom(0.25, timeAt(item.x)) : select("c", item.id))}
								onDrag={drag}
								onKey={keys}
								onWheel={(event, x) => {
									if (event.ctrlKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(x));
									else if (row != null) scroll(Math.round(event.deltaY / 18));
									else return false;
									return true;
								}}
								menu={(item) => (shown.mode === "bars" ? subjectOf(item.id) : null)}
								tooltip={(item) => (shown.mode === "bars" ? <BarTip data={shown} at={shown.id.indexOf(item.id)} /> : <>{item.label}, {bytes(shown.bytes[item.id])}</>)}
							>
								{groups.map((group) => <div class="group" data-t="group" style={{ left: `${at(group.t0)}%`, width: `${at(group.t1) - at(group.t0)}%` }}><span>{score(group.score)}</span></div>)}
								{frame && <div class="rect" style={{ left: `${Math.min(frame.x0, frame.x1)}px`, top: `${Math.min(frame.y0, frame.y1)}px`, width: `${Math.abs(frame.x1 - frame.x0)}px`, height: `${Math.abs(frame.y1 - frame.y0)}px` }} />}
							</CanvasView>
							<span />
							<TimeAxis from={from} to={to} />
						</div>
					)
				)}
				{key("groups") === "1" && scores && <p class="quiet" role="status">{count(scores.groups)} {scores.groups === 1 ? "group" : "groups"} of allocations close to each other; dashed: {(scores.groups ?? 0) > (scores.worst_groups?.length ?? 0) ? `the ${count(scores.worst_groups?.length)} with the lowest lifetime scores` : "each with its lifetime score"}{groups.length === 0 ? ", none of them here" : ""}.</p>}
				{!table && (shown.mode === "bars" ? <SizeLegend data={shown} by={by} /> : <DensityLegend data={shown} />)}
				<Keys>Ctrl and the wheel zoom in time, a drag moves it, Shift and a drag filter by a rectangle. o changes the order, l the rows; + and − zoom, 0 shows the whole run.</Keys>
			</>
		);
	}
}

/** The chunks of one point, small: their pattern. */
export function Preview({ point }: { point: string }) {
	const run = trace.value?.duration_ns ?? 0;
	const answer = useAnswer<Reply>(run ? "/chunks" : null, { ...common(), point, order: "time", lane: "row", x0: 0, x1: Math.round(run), px: 1200 });
	const data = useMemo(() => (answer.reply ? unpack(answer.reply.data) : null), [answer.reply]);
	const painter = useMemo(() => (data ? (data.mode === "bars" ? barPainter(data, 0, run, "size") : densityPainter(data, { from: 0, to: run }, 0, run)) : null), [data]);
	if (!data || !painter || data.total === 0) return null;
	const rows = data.mode === "bars" ? data.id.length : 40;
	return (
		<CanvasView
			name="preview"
			label="Chunks of this point over time"
			description="lifetime chart"
			height={Math.min(180, Math.max(24, rows * 14))}
			painter={painter}
			version={`${dark.value}`}
			selected={null}
			onSelect={(item) => data.mode === "bars" && select("c", item.id)}
			onOpen={() => go("chunks", { point })}
			menu={(item) => (data.mode === "bars" ? subjectOf(item.id) : null)}
			tooltip={(item) => (data.mode === "bars" ? <BarTip data={data} at={data.id.indexOf(item.id)} /> : <>{item.label}</>)}
		/>
	);
}

function BarTip({ data, at }: { data: Bars; at: number }) {
	const alive = ((data.flags[at] ?? 0) & FLAG.alive) !== 0;
	return (
		<>
			<b>{bytes(data.size[at])}</b>, chunk {data.id[at]}
			<div>{ns(data.t0[at])} to {alive ? "the end" : ns(data.t1[at])}, {ns((data.t1[at] ?? 0) - (data.t0[at] ?? 0))}</div>
			{(data.flags[at] ?? 0) !== 0 && <div>{useOf((data.flags[at] ?? 0) & ~FLAG.alive)}</div>}
			{data.first[at] != null && <div>idle {ns((data.first[at] ?? 0) - (data.t0[at] ?? 0))} before the first access, {ns((data.t1[at] ?? 0) - (data.last[at] ?? 0))} after the last</div>}
		</>
	);
}
