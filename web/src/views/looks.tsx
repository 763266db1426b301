// SPDX-License-Identifier: MIT
// What the resident memory consisted of at every look, as a stacked chart, with what was resident and live between them.
// A click, an arrow key or a button chooses a look, which the rest of the page follows.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { useAnswer } from "../lib/answer";
import { account, dark, ink } from "../lib/colour";
import { Segment } from "../lib/controls";
import { type Maybe, bytes, ns, parseTime, tick } from "../lib/format";
import { noteScale, powers } from "../lib/plot";
import { type ResultRow, ResultTable, type SchemaColumn, type TableReply } from "../lib/result";
import { billed } from "../lib/source";
import { key, set, whole } from "../lib/state";
import { TwinButton, useTwin } from "../lib/twin";

/** From the bottom of the stack: what the program wants comes first. */
const parts = [["requested_bytes", "live"], ["slack_bytes", "slack"], ["pinned_bytes", "pinned"], ["cached_bytes", "cached"], ["thread_caches_bytes", "thread_caches"], ["other_bytes", "other"], ["recorder_bytes", "recorder"]] as const;
const labels: Record<string, string> = { live: "Live", slack: "Rounding", pinned: "Pinned", cached: "Cached", thread_caches: "Thread caches", other: "Code, stacks, other mappings", recorder: "Heapwise itself" };
/** Why Heapwise looked; of these the one with most memory is the peak. */
const kinds: Record<string, string> = { periodic: "periodic look", mark: "mark", snapshot: "snapshot", end: "end", peak: "peak" };
const TALL = 300;
const NAMED = 12; // marks with their names; of more, lines would be a fence
const number = (row: ResultRow | undefined, name: string) => Number(row?.[name] ?? 0);

/** The number of the look nearest to a time, of those that `known` has. */
function nearest(times: readonly number[], time: number, known: ReadonlySet<number> | null): number {
	let best = -1;
	times.forEach((one, at) => {
		if ((known === null || known.has(one)) && (best < 0 || Math.abs(one - time) < Math.abs((times[best] ?? 0) - time))) best = at;
	});
	return Math.max(0, best);
}

export interface Series {
	t: readonly number[];
	rss: readonly Maybe[] | null;
	live: readonly Maybe[];
}

export interface Choice {
	rows: readonly ResultRow[];
	schema: readonly SchemaColumn[];
	times: number[];
	most: number; // the look with most resident memory
	chosen: number;
	time: number | undefined; // of the chosen one; none: the answers are of the look with most
	pick(look: number): void;
}

/** The looks, and the one that the address names: without one that with most resident memory, as for the bill. */
export function useLooks(): Choice {
	const reply = useAnswer<TableReply>("/resident/looks", whole()).reply?.data;
	const rows = reply?.rows ?? [];
	const times = rows.map((row) => number(row, "time_ns"));
	const most = rows.reduce((best, row, at) => (number(row, "rss_bytes") > number(rows[best], "rss_bytes") ? at : best), 0);
	const at = key("at") === "" ? null : parseTime(key("at"));
	const chosen = at == null ? most : nearest(times, at, billed);
	return { rows, schema: reply?.columns ?? [], times, most, chosen, time: at == null ? undefined : times[chosen], pick: (look) => set({ at: times[nearest(times, times[Math.min(times.length - 1, Math.max(0, look))] ?? 0, billed)] }) };
}

const kindOf = ({ rows }: Choice, look: number) => String(rows[look]?.kind ?? "periodic");

/** A sign for each kind of look, so that it can be told without its colour. */
function sign(context: CanvasRenderingContext2D, kind: string, x: number, y: number, size: number): void {
	context.beginPath();
	if (kind === "mark") for (const [dx, dy] of [[0, -1.5], [1.5, 0], [0, 1.5], [-1.5, 0]] as const) context.lineTo(x + dx * size, y + dy * size);
	else if (kind === "snapshot") context.rect(x - size, y - size, 2 * size, 2 * size);
	else if (kind === "peak") for (const [dx, dy] of [[0, -1.6], [1.6, 1.3], [-1.6, 1.3]] as const) context.lineTo(x + dx * size, y + dy * size);
	else if (kind === "end") context.rect(x - size * 0.6, y - size * 2, size * 1.2, size * 4);
	else context.arc(x, y, size * 0.7, 0, 7);
	context.closePath();
	context.fill();
	context.stroke();
}

function draw(element: HTMLElement, now: { current: Choice }, series: Series, hover: (look: number | null, x: number) => void): uPlot {
	const { times, rows } = now.current;
	const { text, line, ground, quiet } = ink();
	const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
	const sums = rows.map(() => 0);
	const layers = parts.map(([name]) => rows.map((row, at) => (sums[at] = (sums[at] ?? 0) + number(row, name))));
	const heights = rows.map((row, at) => Math.max(sums[at] ?? 0, number(row, "rss_bytes")));
	const top = Math.max(1, ...heights, ...(series.rss ?? []).map((value) => value ?? 0), ...series.live.map((value) => value ?? 0));
	const end = Math.max(1, times.at(-1) ?? 1, series.t.at(-1) ?? 1);
	const over = (self: uPlot, values: readonly Maybe[], colour: string, dash: number[]) => {
		self.ctx.beginPath();
		values.forEach((value, at) => value != null && self.ctx.lineTo(self.valToPos(series.t[at] ?? 0, "x", true), self.valToPos(value, "y", true)));
		self.ctx.strokeStyle = colour;
		self.ctx.lineWidth = 1.5 * devicePixelRatio;
		self.ctx.setLineDash(dash.map((part) => part * devicePixelRatio));
		self.ctx.stroke();
		self.ctx.setLineDash([]);
	};
	const signs = (self: uPlot) => {
		const { ctx } = self;
		const size = 3.5 * devicePixelRatio;
		let right = 0;
		ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
		ctx.textAlign = "left";
		const named = rows.filter((row) => row.mark).length <= NAMED;
		rows.forEach((row, look) => {
			const x = self.valToPos(times[look] ?? 0, "x", true);
			const chosen = look === now.current.chosen;
			ctx.fillStyle = chosen ? text : ground;
			ctx.strokeStyle = text;
			ctx.lineWidth = devicePixelRatio;
			if (chosen) ctx.fillRect(x - devicePixelRatio / 2, self.bbox.top, devicePixelRatio, self.bbox.height);
			const y = self.valToPos(heights[look] ?? 0, "y", true);
			sign(ctx, kindOf(now.current, look), x, y, size);
			if (look === now.current.most) sign(ctx, "peak", x, y - 3.5 * size, size);
			if (!row.mark || !named || x < right) return;
			const words = String(row.mark).slice(0, 24);
			ctx.fillStyle = quiet;
			ctx.fillText(words, x, self.bbox.top - 5 * devicePixelRatio);
			right = x + ctx.measureText(words).width + 8 * devicePixelRatio;
		});
	};
	const plot = new uPlot(
		{
			width: Math.max(200, element.clientWidth),
			height: TALL,
			padding: [18, 12, 0, 0],
			legend: { show: false },
			cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
			scales: { x: { time: false, range: [0, end] }, y: { range: [0, top * 1.12] } },
			series: [{}, ...parts.map(([, name]) => ({ stroke: account(name), fill: `${account(name)}d9`, width: 1, points: { show: false } }))],
			bands: parts.slice(1).map((_, at) => ({ series: [at + 2, at + 1] as [number, number] })),
			axes: [
				{ ...axis, space: 90, values: (_, ticks) => ticks.map((value) => tick(value, "ns")) },
				{ ...axis, size: 68, space: 45, incrs: powers, values: (_, ticks) => ticks.map((value) => tick(value, "bytes")) },
			],
			hooks: {
				setScale: [noteScale],
				setCursor: [(self) => ((self.cursor.left ?? -1) < 0 ? hover(null, 0) : hover(nearest(times, self.posToVal(self.cursor.left ?? 0, "x"), null), (self.cursor.left ?? 0) + self.over.offsetLeft))],
				draw: [
					(self) => {
						self.ctx.save();
						if (series.rss) over(self, series.rss, text, []);
						over(self, series.live, text, [4, 3]);
						signs(self);
						self.ctx.restore();
					},
				],
			},
		},
		[times, ...layers] as uPlot.AlignedData,
		element,
	);
	plot.over.addEventListener("click", (event) => now.current.pick(nearest(times, plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"), billed)));
	return plot;
}

const signsOfKinds: Record<string, string> = { periodic: "M5 7.5a2.5 2.5 0 1 0 0-5a2.5 2.5 0 1 0 0 5Z", mark: "M5 0L10 5L5 10L0 5Z", snapshot: "M1.5 1.5H8.5V8.5H1.5Z", end: "M3 0H7V10H3Z", peak: "M5 0L10 9H0Z" };

/** What the signs on the chart mean: those that are there. */
function Kinds({ choice }: { choice: Choice }) {
	const present = Object.keys(kinds).filter((kind) => kind === "peak" || choice.rows.some((_, look) => kindOf(choice, look) === kind));
	return <>{present.map((kind) => <span><svg class="sign" viewBox="-1 -1 12 12" aria-hidden="true"><path d={signsOfKinds[kind]} /></svg>{kinds[kind]}</span>)}</>;
}

/** "mark “loaded”" */
function calledOf(choice: Choice, look: number): string {
	const { kind, mark } = choice.rows[look] ?? {};
	const peak = look === choice.most ? "the peak" : "";
	const why = mark ? `after the mark “${mark}”` : kind === "end" ? "at the end" : "";
	return [peak, why].filter((part) => part !== "").join(", ");
}

function LookTip({ choice, look, x }: { choice: Choice; look: number; x: number }) {
	const row = choice.rows[look];
	const called = calledOf(choice, look);
	return (
		<div class="tip" role="tooltip" style={{ top: "24px", ...(x > window.innerWidth / 2 ? { right: `calc(100% - ${x - 12}px)` } : { left: `${x + 12}px` }) }}>
			<b>{bytes(number(row, "rss_bytes"))}</b> at {ns(choice.times[look])}{called && `, ${called}`}
			<table>
				<tbody>{parts.map(([name, part]) => <tr><td><span class="swatch" style={{ background: account(part) }} />{labels[part]}</td><td class="number">{bytes(number(row, name))}</td></tr>).reverse()}</tbody>
			</table>
		</div>
	);
}

/** The parts at every look, and the lines between them. */
export function Looks({ choice, series }: { choice: Choice; series: Series }) {
	const holder = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	const now = useRef(choice);
	now.current = choice;
	const [hovered, setHovered] = useState<{ look: number; x: number } | null>(null);
	const [table, toggleTable] = useTwin();
	const { rows, times, chosen, most, pick } = choice;
	const row = rows[chosen];
	useEffect(() => {
		const element = holder.current;
		if (!element) return;
		const drawn = draw(element, now, series, (look, x) => setHovered(look === null ? null : { look, x }));
		plot.current = drawn;
		const observer = new ResizeObserver(() => drawn.width !== element.clientWidth && drawn.setSize({ width: Math.max(200, element.clientWidth), height: TALL }));
		observer.observe(element);
		return () => {
			observer.disconnect();
			plot.current = null;
			drawn.destroy();
		};
	}, [rows, series.t, dark.value, table]);
	useEffect(() => plot.current?.redraw(false), [chosen]);
	if (rows.length < 2) return null;
	const called = calledOf(choice, chosen);
	const said = `${ns(times[chosen])}${called && `, ${called}`}: ${bytes(number(row, "rss_bytes"))} resident${parts.map(([name, part]) => `, ${labels[part]?.toLowerCase()} ${bytes(number(row, name))}`).join("")}`;
	const step = (by: number) => {
		let look = chosen + by;
		while (billed && look > 0 && look < times.length - 1 && !billed.has(times[look] ?? 0)) look += by;
		pick(look);
	};
	const keyDown = (event: KeyboardEvent) => {
		const acts: Record<string, () => void> = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => pick(0), End: () => pick(times.length - 1), p: () => pick(most) };
		const act = acts[event.key];
		if (!act) return;
		act();
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<section aria-label="Resident memory over time">
			<div class="controls">
				<Segment label="Look" value={chosen === most ? "peak" : chosen === times.length - 1 ? "end" : ""} options={[["peak", "Peak"], ["end", "End"]]} onChange={(name) => pick(name === "peak" ? most : times.length - 1)} />
				<span class="buttons">
					<button aria-label="Previous look" title="Previous look (←)" disabled={chosen === 0} onClick={() => step(-1)}>‹</button>
					<button aria-label="Next look" title="Next look (→)" disabled={chosen === times.length - 1} onClick={() => step(1)}>›</button>
				</span>
				<span class="quiet" data-t="look">{chosen + 1} of {rows.length} looks, {ns(times[chosen])}{called && `, ${called}`}</span>
				<TwinButton on={table} toggle={toggleTable} />
			</div>
			{table ? (
				<ResultTable label="Parts over time" rows={rows} schema={choice.schema} height={TALL} onSelect={(one) => pick(rows.indexOf(one))} />
			) : (
				<div class="plot looks" tabIndex={0} role="slider" aria-orientation="horizontal" data-t="looks" aria-label="Look" aria-valuemin={0} aria-valuemax={rows.length - 1} aria-valuenow={chosen} aria-valuetext={said} onKeyDown={keyDown} onPointerLeave={() => setHovered(null)}>
					<div ref={holder} />
					{hovered && <LookTip choice={choice} look={hovered.look} x={hovered.x} />}
				</div>
			)}
			<div class="key plot-key" aria-label="Colours">
				{parts.map(([name, part]) => <span><span class="swatch" style={{ background: account(part) }} />{labels[part]} {bytes(number(row, name))}</span>)}
			</div>
			{!table && (
				<div class="key plot-key" aria-label="Lines and signs">
					{series.rss && <span><span class="swatch lined" />resident</span>}
					<span><span class="swatch dashed" />live heap</span>
					<Kinds choice={choice} />
				</div>
			)}
		</section>
	);
}
