// SPDX-License-Identifier: MIT
// When memory rose, and of what. Extremes are kept per bin, so no peak is lost.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { Panel, useAnswer } from "../lib/answer";
import { category, dark, ink } from "../lib/colour";
import { bytes, count, inUnit, ns } from "../lib/format";
import { Choice } from "../lib/parts";
import { addWhere, common, key, quote, set } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { TwinButton, useTwin } from "../lib/twin";
import type { Timeline as Data } from "../lib/types";

const groups = [["none", "Total"], ["type", "Type"], ["module", "Module"], ["thread", "Thread"], ["size", "Size"], ["point", "Point"], ["sev", "Severity"]] as const;
const metrics = [["live", "Live bytes"], ["chunks", "Live chunks"], ["alloc_bytes", "Bytes allocated"], ["allocs", "Allocations"], ["frees", "Frees"]] as const;

function unitOf(metric: string): string {
	return metric === "live" || metric === "alloc_bytes" ? "bytes" : "count";
}

/** Running sums from below, so that bands can be filled between them. */
function stacked(data: Data): { label: string; colour: string; values: number[] }[] {
	const sums = new Array<number>(data.t.length).fill(0);
	const all = [...data.series, ...(data.other ? [{ key: "", label: "other", color: "#999999", peak: 0, last: data.other.last }] : [])];
	return all.map((series, index) => {
		series.last.forEach((value, bin) => (sums[bin] = (sums[bin] ?? 0) + value));
		return { label: series.label || "unknown", colour: series.color ?? category(index), values: [...sums] };
	});
}

/** Steps of an axis of bytes: 1, 2, 4 … */
const powers = Array.from({ length: 50 }, (_, exponent) => 2 ** exponent);

function draw(element: HTMLElement, data: Data, unit: string, onBrush: (from: number, to: number) => void, onClick: (time: number) => void): uPlot {
	const { text, line, accent } = ink();
	const bands = stacked(data);
	const rss = data.rss?.some((value) => value != null) ? data.rss : null;
	const series: uPlot.Series[] = [
		{ label: "time", value: (_, value) => (value == null ? "" : ns(value)) },
		...bands.map((band, index) => ({
			label: band.label,
			stroke: band.colour,
			fill: `${band.colour}aa`,
			width: 1,
			points: { show: false },
			value: (_: uPlot, __: number, ___: number, at: number | null) => (at == null ? "" : inUnit((data.series[index] ?? data.other)?.last[at], unit)),
		})),
		{ label: "highest", stroke: text, width: 1, points: { show: false }, value: (_, value) => inUnit(value, unit) },
		{ label: "lowest", stroke: accent, width: 1, dash: [2, 3], points: { show: false }, value: (_, value) => inUnit(value, unit) },
		...(rss ? [{ label: "RSS", stroke: "#cc79a7", width: 1, dash: [6, 4], points: { show: false }, value: (_: uPlot, value: number | null) => inUnit(value, "bytes") }] : []),
	];
	const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
	const plot = new uPlot(
		{
			width: Math.max(200, element.clientWidth),
			height: 420,
			scales: { x: { time: false } },
			series,
			bands: bands.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as [number, number] })),
			axes: [
				{ ...axis, space: 90, values: (_, values) => values.map((value) => ns(value)) },
				{ ...axis, size: 80, incrs: unit === "bytes" ? powers : undefined, values: (_, values) => values.map((value) => inUnit(value, unit)) },
			],
			cursor: { drag: { x: true, y: false, setScale: false } },
			hooks: {
				setSelect: [
					(self) => {
						if (self.select.width > 3) onBrush(self.posToVal(self.select.left, "x"), self.posToVal(self.select.left + self.select.width, "x"));
					},
				],
			},
		},
		[data.t, ...bands.map((band) => band.values), data.total.max, data.total.min, ...(rss ? [rss as (number | null)[]] : [])],
		element,
	);
	plot.over.addEventListener("click", (event) => {
		const box = plot.over.getBoundingClientRect();
		onClick(plot.posToVal(event.clientX - box.left, "x"));
	});
	return plot;
}

interface Bin {
	bin: number;
}

function Twin({ data, unit }: { data: Data; unit: string }) {
	const rows: Bin[] = data.t.map((_, bin) => ({ bin }));
	const columns: Column<Bin>[] = [
		{ name: "t", label: "Time", number: true, width: "12ch", cell: ({ bin }) => ns(data.t[bin]) },
		{ name: "max", label: "Highest", number: true, width: "12ch", cell: ({ bin }) => inUnit(data.total.max[bin], unit) },
		{ name: "min", label: "Lowest", number: true, width: "12ch", cell: ({ bin }) => inUnit(data.total.min[bin], unit) },
		...data.series.map((series) => ({ name: String(series.key), label: series.label || "unknown", number: true, width: "14ch", cell: ({ bin }: Bin) => inUnit(series.last[bin], unit) })),
	];
	return <Table label="Timeline as a table" columns={columns} rows={rows} rowKey={({ bin }) => bin} height={420} rowHeight={26} />;
}

export function Timeline() {
	const by = key("by") || "none";
	const metric = key("metric") || "live";
	const unit = unitOf(metric);
	const [table, toggleTable] = useTwin();
	const holder = useRef<HTMLDivElement>(null);
	const answer = useAnswer<Data>("/timeline", { ...common(), by, metric, bins: 800, top: 12 });
	const data = answer.reply?.data ?? null;
	useEffect(() => {
		const element = holder.current;
		if (!element || !data || data.t.length === 0 || table) return;
		const plot = draw(element, data, unit, (from, to) => set({ t: `${Math.round(from)}..${Math.round(to)}` }), (time) => set({ at: Math.round(time) }));
		const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, element.clientWidth), height: 420 }));
		observer.observe(element);
		return () => {
			observer.disconnect();
			plot.destroy();
		};
	}, [data, dark.value, table]);
	const field: Record<string, string> = { type: "type", module: "module", thread: "thread" };
	return (
		<div class="view">
			<div class="controls">
				<Choice label="Stacked by" value={by} options={groups} onChange={(value) => set({ by: value })} />
				<Choice label="Metric" value={metric} options={metrics} onChange={(value) => set({ metric: value })} />
				<TwinButton on={table} toggle={toggleTable} />
			</div>
			<Panel answer={answer} label="Timeline" empty={(line) => (line.t.length === 0 ? "Nothing allocated in this window." : null)}>
				{(line) => (
					<>
						{table ? <Twin data={line} unit={unit} /> : <div class="plot" ref={holder} data-t="timeline" role="img" aria-label={`Timeline of ${metric}: highest ${inUnit(Math.max(0, ...line.total.max), unit)}`} />}
						{by !== "none" && (
							<ul class="series">
								{line.series.map((series, index) => (
									<li>
										<span class="swatch" style={{ background: series.color ?? category(index) }} />
										{field[by] ? (
											<button title="Only this" onClick={() => addWhere(`${field[by]} == ${by === "thread" ? series.key : quote(series.label ?? "")}`)}>{series.label || "unknown"}</button>
										) : (
											series.label
										)}
										<span class="quiet">up to {unit === "bytes" ? bytes(series.peak) : count(series.peak)}</span>
									</li>
								))}
							</ul>
						)}
						<p class="quiet">Drag for a time window, click for the time cursor.</p>
					</>
				)}
			</Panel>
		</div>
	);
}
