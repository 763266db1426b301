// SPDX-License-Identifier: MIT
// What the resident memory consisted of at every look, as a stacked chart. A click, or an arrow key, chooses a look.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useAnswer } from "../lib/answer";
import { account, dark, ink } from "../lib/colour";
import { bytes, ns, tick } from "../lib/format";
import { type ResultRow, ResultTable, type TableReply } from "../lib/result";
import { cursor, set, whole } from "../lib/state";
import { TwinButton, useTwin } from "../lib/twin";

/** From the bottom of the stack: what the program wants comes first. */
const parts = [["requested_bytes", "live"], ["slack_bytes", "slack"], ["pinned_bytes", "pinned"], ["cached_bytes", "cached"], ["other_bytes", "other"], ["recorder_bytes", "recorder"]] as const;
const labels: Record<string, string> = { live: "Live", slack: "Rounding", pinned: "Pinned", cached: "Cached", other: "Code, stacks, other mappings", recorder: "Heapwise itself" };
const TALL = 300;
/** Steps of an axis of bytes: 1, 2, 4 … */
const powers = Array.from({ length: 50 }, (_, exponent) => 2 ** exponent);

const number = (row: ResultRow | undefined, name: string) => Number(row?.[name] ?? 0);

/** The number of the look nearest to a time. */
function nearest(times: readonly number[], time: number): number {
	return times.reduce((best, one, at) => (Math.abs(one - time) < Math.abs((times[best] ?? 0) - time) ? at : best), 0);
}

function draw(element: HTMLElement, times: number[], rows: readonly ResultRow[], chosen: number, pick: (look: number) => void): uPlot {
	const { text, line } = ink();
	const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
	const sums = rows.map(() => 0);
	const layers = parts.map(([name]) => rows.map((row, at) => (sums[at] = (sums[at] ?? 0) + number(row, name))));
	const plot = new uPlot(
		{
			width: Math.max(200, element.clientWidth),
			height: TALL,
			padding: [12, 12, 0, 0],
			legend: { show: false },
			cursor: { drag: { x: false, y: false } },
			scales: { x: { time: false, range: [0, Math.max(1, times.at(-1) ?? 1)] }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.05)] } },
			series: [{}, ...parts.map(([, name]) => ({ stroke: account(name), fill: `${account(name)}d9`, width: 1, points: { show: false } }))],
			bands: parts.slice(1).map((_, at) => ({ series: [at + 2, at + 1] as [number, number] })),
			axes: [
				{ ...axis, space: 90, values: (_, ticks) => ticks.map((value) => tick(value, "ns")) },
				{ ...axis, size: 68, space: 45, incrs: powers, values: (_, ticks) => ticks.map((value) => tick(value, "bytes")) },
			],
			hooks: {
				draw: [
					(self) => {
						self.ctx.fillStyle = text;
						self.ctx.fillRect(self.valToPos(times[chosen] ?? 0, "x", true) - devicePixelRatio, self.bbox.top, 2 * devicePixelRatio, self.bbox.height);
					},
				],
			},
		},
		[times, ...layers] as uPlot.AlignedData,
		element,
	);
	plot.over.addEventListener("click", (event) => pick(nearest(times, plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"))));
	return plot;
}

/** The parts at every look. Without a cursor the look with most resident memory is the one, as for the bill. */
export function Looks() {
	const holder = useRef<HTMLDivElement>(null);
	const [table, toggleTable] = useTwin();
	const reply = useAnswer<TableReply>("/resident/looks", whole()).reply?.data;
	const rows = reply?.rows ?? [];
	const times = rows.map((row) => number(row, "time_ns"));
	const most = rows.reduce((best, row, at) => (number(row, "rss_bytes") > number(rows[best], "rss_bytes") ? at : best), 0);
	const chosen = cursor.value == null ? most : nearest(times, cursor.value);
	const row = rows[chosen];
	const pick = (look: number) => set({ at: times[Math.min(times.length - 1, Math.max(0, look))] });
	useEffect(() => {
		const element = holder.current;
		if (!element) return;
		const plot = draw(element, times, rows, chosen, pick);
		const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, element.clientWidth), height: TALL }));
		observer.observe(element);
		return () => {
			observer.disconnect();
			plot.destroy();
		};
	}, [reply, chosen, dark.value, table]);
	if (rows.length < 2) return null;
	const said = `${ns(times[chosen])}: ${bytes(number(row, "rss_bytes"))} resident${parts.map(([name, part]) => `, ${labels[part]?.toLowerCase()} ${bytes(number(row, name))}`).join("")}`;
	const keyDown = (event: KeyboardEvent) => {
		const steps: Record<string, number> = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: times.length - 1 };
		const look = steps[event.key];
		if (look === undefined) return;
		pick(look);
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<section aria-label="Parts over time">
			<div class="controls">
				<h2>Parts over time</h2>
				<TwinButton on={table} toggle={toggleTable} />
			</div>
			{table ? (
				<ResultTable label="Parts over time" rows={rows} schema={reply?.columns ?? []} height={TALL} onSelect={(one) => set({ at: number(one, "time_ns") })} />
			) : (
				<div class="plot looks" tabIndex={0} role="slider" aria-orientation="horizontal" data-t="looks" aria-label="Look" aria-valuemin={0} aria-valuemax={rows.length - 1} aria-valuenow={chosen} aria-valuetext={said} onKeyDown={keyDown}>
					<div ref={holder} />
				</div>
			)}
			<div class="key plot-key">
				{parts.map(([name, part]) => <span><span class="swatch" style={{ background: account(part) }} />{labels[part]} {bytes(number(row, name))}</span>)}
			</div>
			<p class="quiet">{rows.length} looks; a click or the arrow keys choose one. What is charged to allocation points is of the look at {ns(times[chosen])}{cursor.value == null ? ", which has most resident memory" : ""}.</p>
		</section>
	);
}
