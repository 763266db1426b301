// SPDX-License-Identifier: MIT
// The heap over the whole run: drag for a time window, click for the time cursor. Above most views it is a thin strip;
// the summary has it tall, with axes, the largest functions and resident memory.

import type { ComponentChildren } from "preact";
import { batch } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "./lib/answer";
import { CanvasView, type Item, type Painter } from "./lib/canvas";
import { category, dark, ink } from "./lib/colour";
import { bytes, ns, tick } from "./lib/format";
import { select } from "./lib/select";
import { momentAt, moments, whenRoom } from "./lib/source";
import { cursor, dragged, go, key, linkTo, set, timeWindow, view, whole } from "./lib/state";
import { shortName } from "./lib/names";
import type { Timeline } from "./lib/types";

const THIN = { height: 60, left: 16, right: 16, top: 4, bottom: 16 }; // as far from the edges as the view below
const TALL = { height: 200, left: 68, right: 12, top: 22, bottom: 22 };
type Room = typeof THIN;

const OFF_SCALE = 3; // resident memory so many times above the heap would press it flat

export function peakBin(line: Timeline): number {
	let best = 0;
	line.total.max.forEach((value, bin) => {
		if (value > (line.total.max[best] ?? 0)) best = bin;
	});
	return best;
}

function lineEnd(line: Timeline): number {
	return Math.max(1, line.t1);
}

/** Resident memory, if it was looked at often enough for a line. */
function residentOf(line: Timeline): (number | null)[] | null {
	const values = line.rss as (number | null)[] | null;
	return values && values.filter((value) => value != null).length > 2 ? values : null;
}

export function highest(values: readonly (number | null)[] | null | undefined): number {
	return (values ?? []).reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
}

/** Resident memory as a line beside the heap, or how far it is above that scale. */
export function residentIn(line: Timeline): { resident: (number | null)[] | null; above: number } {
	const resident = residentOf(line);
	const most = highest(resident);
	return most <= Math.max(1, highest(line.total.max)) * OFF_SCALE ? { resident, above: 0 } : { resident: null, above: most };
}

/** The highest value on the axis. */
function topOf(line: Timeline, tall: boolean): number {
	const heap = Math.max(1, highest(line.total.max));
	const resident = highest(residentOf(line));
	return tall && resident > heap && resident <= heap * OFF_SCALE ? resident : heap;
}

/** Round steps of an axis: of bytes by powers of two. */
function steps(top: number, most: number, base: number): number[] {
	const round = base === 2 ? Array.from({ length: 50 }, (_, at) => 2 ** at) : Array.from({ length: 16 }, (_, at) => [1, 2, 5].map((n) => n * 10 ** at)).flat();
	const step = round.find((size) => top / size <= most) ?? top;
	return Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => at * step);
}

/** Layers from below: the largest functions, then the rest. */
function layersOf(line: Timeline): { label: string; colour: string; values: number[] }[] {
	const layers = line.series.map((series, at) => ({ label: series.label ?? "unknown", colour: category(at), values: series.last }));
	if (line.other) layers.push({ label: "all others", colour: "", values: line.other.last });
	return layers;
}

function axes(context: CanvasRenderingContext2D, line: Timeline, top: number, width: number, room: Room): void {
	const { quiet, line: rule } = ink();
	const floor = room.height - room.bottom;
	const high = floor - room.top;
	context.font = "11px system-ui, sans-serif";
	context.fillStyle = quiet;
	context.textBaseline = "middle";
	context.textAlign = "right";
	for (const value of room === TALL ? steps(top, 4, 2) : []) {
		const y = Math.round(floor - (value / top) * high) + 0.5;
		context.fillStyle = rule;
		context.fillRect(room.left, y, width - room.left - room.right, 1);
		context.fillStyle = quiet;
		context.fillText(tick(value, "bytes"), room.left - 8, y);
	}
	context.textBaseline = "alphabetic";
	const end = lineEnd(line);
	const wide = width - room.left - room.right;
	for (const time of steps(end, Math.max(3, Math.floor(wide / 130)), 10)) {
		context.textAlign = time === 0 ? "left" : time > end * 0.97 ? "right" : "center";
		context.fillText(tick(time, "ns"), room.left + (time / end) * wide, room.height - (room === TALL ? 6 : 4));
	}
}

function painter(line: Timeline, room: Room): Painter {
	const tall = room === TALL;
	const top = topOf(line, tall);
	return {
		paint(context, width, height) {
			const { accent, text, ground, quiet } = ink();
			const bins = line.t.length;
			const floor = height - room.bottom;
			const high = floor - room.top;
			const wide = width - room.left - room.right;
			const xOf = (bin: number) => room.left + (bin / bins) * wide;
			const yOf = (value: number) => floor - (Math.min(value, top) / top) * high;
			const items: Item[] = [];
			axes(context, line, top, width, room);
			const area = (from: readonly number[], to: readonly number[], colour: string, alpha: number) => {
				context.beginPath();
				for (let bin = 0; bin < bins; bin++) for (const edge of [bin, bin + 1]) context.lineTo(xOf(edge), yOf(to[bin] ?? 0));
				for (let bin = bins - 1; bin >= 0; bin--) for (const edge of [bin + 1, bin]) context.lineTo(xOf(edge), yOf(from[bin] ?? 0));
				context.globalAlpha = alpha;
				context.fillStyle = colour;
				context.fill();
				context.globalAlpha = 1;
			};
			const trace = (values: readonly (number | null | undefined)[], colour: string, thick: number, dash: number[] = []) => {
				context.beginPath();
				values.forEach((value, bin) => value != null && [bin, bin + 1].forEach((edge) => context.lineTo(xOf(edge), yOf(value))));
				context.strokeStyle = colour;
				context.lineWidth = thick;
				context.setLineDash(dash);
				context.stroke();
				context.setLineDash([]);
			};
			if (tall) {
				let below = new Array<number>(bins).fill(0);
				for (const layer of layersOf(line)) {
					const above = below.map((value, bin) => value + (layer.values[bin] ?? 0));
					area(below, above, layer.colour || quiet, layer.colour ? 0.78 : 0.28);
					below = above;
				}
				trace(line.total.max, text, 1);
				if (highest(residentOf(line)) <= top) trace(residentOf(line) ?? [], text, 1.5, [5, 4]);
			} else {
				area(new Array<number>(bins).fill(0), line.total.max, accent, 0.45);
				context.globalAlpha = 0.45;
				context.fillRect(room.left, floor, wide, 1);
				context.globalAlpha = 1;
				for (const mark of line.marks) {
					context.fillStyle = quiet;
					context.fillRect(room.left + (mark.t / lineEnd(line)) * wide, 0, 1, floor);
				}
				const peak = xOf(peakBin(line) + 0.5);
				const words = `Peak ${bytes(highest(line.total.max))}`;
				const left = peak > width - 110;
				context.font = "11px system-ui, sans-serif";
				context.textAlign = left ? "right" : "left";
				const size = context.measureText(words).width + 8;
				context.fillStyle = ground;
				context.globalAlpha = 0.8;
				context.fillRect(left ? peak - 2 - size : peak + 2, 2, size, 15);
				context.globalAlpha = 1;
				context.fillStyle = text;
				context.fillText(words, peak + (left ? -6 : 6), 13);
				context.fillRect(peak, 0, 1, 16);
			}
			for (let bin = 0; bin < bins; bin++) items.push({ id: bin, x: xOf(bin), y: 0, w: wide / bins, h: height, colour: accent, label: ns(line.t[bin]) });
			return items;
		},
		speak: (item) => `${ns(line.t[item.id])}: at most ${bytes(line.total.max[item.id])}`,
	};
}

/** At a time: where it is from the left. */
function placeAt(room: Room, part: number): string {
	return `calc(${room.left}px + (100% - ${room.left + room.right}px) * ${part})`;
}

/** What stands over the chart at a moment, and leads somewhere. */
function Flag({ at, end, lane, words, title, onClick }: { at: number; end: number; lane: number; words: string; title: string; onClick(): void }) {
	const part = at / end;
	return (
		<div class={(1 - part) * (window.innerWidth - 230) < 130 ? "flag left" : "flag"} style={{ left: placeAt(TALL, part), top: `${lane * 20}px` }}>
			<button title={title} onPointerDown={(event) => event.stopPropagation()} onClick={(event) => { event.stopPropagation(); onClick(); }}>{words}</button>
		</div>
	);
}

const MARKS = 12; // with a name; of more, lines alone would be a fence

function Flags({ line }: { line: Timeline }) {
	const end = lineEnd(line);
	const peak = ((peakBin(line) + 0.5) / line.t.length) * end;
	return (
		<>
			<Flag at={peak} end={end} lane={0} words={`Peak ${bytes(highest(line.total.max))}`} title="The flame graph of the peak" onClick={() => go("flame", { metric: "peak" })} />
			{line.marks.length <= MARKS && line.marks.map((mark) => <Flag at={mark.t} end={end} lane={1} words={mark.label} title={`${mark.label} at ${ns(mark.t)}: what was live`} onClick={() => go("flame", { metric: "live", at: Math.round(mark.t) })} />)}
		</>
	);
}

function TallTip({ line, bin }: { line: Timeline; bin: number }) {
	const layers = layersOf(line);
	return (
		<>
			<b>{bytes(line.total.max[bin])}</b> at {ns(line.t[bin])}
			<table>
				<tbody>
					{layers.map((layer) => <tr><td><span class="swatch" style={{ background: layer.colour || "currentColor" }} />{shortName(layer.label, 34)}</td><td class="number">{bytes(layer.values[bin])}</td></tr>).reverse()}
					{line.rss?.[bin] != null && <tr><td>resident memory</td><td class="number">{bytes(line.rss[bin])}</td></tr>}
				</tbody>
			</table>
		</>
	);
}

function Key({ line, own }: { line: Timeline; own: number }) {
	const resident = highest(residentOf(line));
	return (
		<div class="key" aria-label="Colours">
			{layersOf(line).map((layer) => (
				<span>
					<span class="swatch" style={{ background: layer.colour || "var(--edge)" }} />
					{layer.colour ? <button class="plain" title={layer.label} onClick={() => select("f", layer.label)}>{shortName(layer.label, 36)}</button> : layer.label}
				</span>
			))}
			{resident > 0 && <a href={linkTo("resident")}>{resident <= topOf(line, true) ? `- - resident memory${own ? `, ${bytes(own)} of it Heapwise's own` : ""}` : `resident memory, up to ${bytes(resident)}, is above this scale`}</a>}
			{cursor.value != null && <a href={linkTo("flame", { metric: "live" })}>What was live at {ns(cursor.value)}</a>}
		</div>
	);
}

/** own: bytes of the resident memory that are Heapwise's. */
export function Strip({ tall = false, own = 0 }: { tall?: boolean; own?: number }) {
	const answer = useAnswer<Timeline>("/timeline", { ...whole(), metric: "live", ...(tall ? { bins: 400, by: "fn", top: 5 } : { bins: 800, by: "none" }) });
	const line = answer.reply?.data ?? null;
	const room = tall ? TALL : THIN;
	const shape = useMemo(() => (line ? painter(line, room) : null), [line, tall]);
	const begun = useRef(0);
	const wide = useRef(1); // the chart: not measured at each move of a drag, which would lay the page out
	const wanted = useRef<number | null>(null); // where the cursor is to be, while the picture of an earlier place is awaited
	useEffect(() => () => void (dragged.value = null), []);
	const [brush, setBrush] = useState<{ from: number; to: number } | null>(null);
	if (!line || !shape || line.t.length === 0) return <div class={tall ? "" : "strip"} style={{ height: `${room.height}px` }} />;
	const end = lineEnd(line);
	const element = () => document.querySelector<HTMLElement>('[data-t="chart-strip"]');
	const timeAt = (x: number) => Math.min(end, Math.max(0, ((x - room.left) / Math.max(1, wide.current - room.left - room.right)) * end));
	// with what is live at the cursor on screen, a drag moves it: the picture follows
	const follows = !tall && ["flame", "tree"].includes(view.value) && (key("metric") || (cursor.value == null ? "" : "live")) === "live";
	// two questions at a time, the newest: if each ended the one before, none would be answered
	const follow = () => {
		if (wanted.current !== null) dragged.value = wanted.current;
		wanted.current = null;
	};
	const drag = (phase: "begin" | "move" | "end", x: number) => {
		if (phase === "begin") {
			begun.current = x;
			wide.current = element()?.clientWidth ?? 1;
		}
		if (follows) {
			const time = Math.round(timeAt(x));
			const awaited = wanted.current !== null;
			wanted.current = phase === "move" ? time : null;
			if (phase === "move" && !awaited) whenRoom(follow);
			if (phase !== "move")
				batch(() => {
					dragged.value = null;
					set({ at: time }, phase === "end");
				});
			return;
		}
		if (phase === "move") setBrush({ from: timeAt(Math.min(x, begun.current)), to: timeAt(Math.max(x, begun.current)) });
		if (phase !== "end") return;
		setBrush(null);
		if (Math.abs(x - begun.current) < 4) set({ at: Math.round(timeAt(x)) });
		else set({ t: `${Math.round(timeAt(Math.min(x, begun.current)))}..${Math.round(timeAt(Math.max(x, begun.current)))}` });
	};
	const moveCursor = (bins: number) => set(moments.length > 0 ? { at: momentAt(cursor.value ?? 0, bins) } : { at: Math.round(Math.min(end, Math.max(0, (cursor.value ?? 0) + (bins * end) / line.t.length))) }, true);
	const shown = brush ?? timeWindow.value;
	const width = (from: number, to: number) => `calc((100% - ${room.left + room.right}px) * ${(to - from) / end})`;
	const over: ComponentChildren = (
		<>
			{shown && <div class="brush" style={{ left: placeAt(room, shown.from / end), width: width(shown.from, shown.to) }} />}
			{cursor.value != null && <div class="cursor" data-t="cursor" style={{ left: placeAt(room, cursor.value / end) }} />}
			{tall && <Flags line={line} />}
		</>
	);
	return (
		<div class={tall ? "heap-chart" : "strip"}>
			<CanvasView
				name="strip"
				label="Live bytes over the run"
				description={tall ? "chart of the heap" : "time strip"}
				height={room.height}
				painter={shape}
				version={`${dark.value}`}
				selected={null}
				onSelect={() => undefined}
				onDrag={drag}
				onKey={(event) => {
					const step = event.shiftKey ? 10 : 1;
					if (event.key === "ArrowLeft" || event.key === ",") moveCursor(-step);
					else if (event.key === "ArrowRight" || event.key === ".") moveCursor(step);
					else if (event.key === "p") set({ at: Math.round(((peakBin(line) + 0.5) / line.t.length) * end) });
					else if (event.key === "Escape") set({ t: null, at: null });
					else return false;
					return true;
				}}
				tooltip={(item) => (
					<>
						{tall ? <TallTip line={line} bin={item.id} /> : `${ns(line.t[item.id])}: ${bytes(line.total.min[item.id])} to ${bytes(line.total.max[item.id])}`}
						{brush && <div>{ns(brush.from)} to {ns(brush.to)}, {ns(brush.to - brush.from)}</div>}
					</>
				)}
			>
				{over}
			</CanvasView>
			{tall && <Key line={line} own={own} />}
		</div>
	);
}
