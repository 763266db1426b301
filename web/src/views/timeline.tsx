// SPDX-License-Identifier: MIT
// When memory rose, and of what. Extremes are kept per bin, so no peak is lost.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { Panel, useAnswer } from "../lib/answer";
import { category, dark, ink } from "../lib/colour";
import { bytes, count, inUnit, ns } from "../lib/format";
import { type Subject, menuOf } from "../lib/menu";
import { Lane } from "../lib/lane";
import { Choice, oneOf } from "../lib/parts";
import { copy } from "../lib/say";
import { selectedPoint } from "../lib/select";
import { embedded, momentAt, moments } from "../lib/source";
import { addWhere, common, cursor, key, moduleIs, quote, set, stages, query } from "../lib/state";
import { type Column, Table, csv } from "../lib/table";
import { TwinButton, useTwin } from "../lib/twin";
import type { Timeline as Data } from "../lib/types";

const groups = [["none", "Total"], ["type", "Type"], ["module", "Module"], ["thread", "Thread"], ["size", "Size"], ["point", "Point"], ["sev", "Severity"]] as const;
const metrics = [["live", "Live bytes"], ["chunks", "Live chunks"], ["alloc_bytes", "Bytes allocated"], ["allocs", "Allocations"], ["frees", "Frees"]] as const;
const shapes = [["stack", "Stacked"], ["lines", "Lines"], ["share", "Shares"]] as const;
const BINS = 800;
const HEIGHT = 380;

function unitOf(metric: string): string {
	return metric === "live" || metric === "alloc_bytes" ? "bytes" : "count";
}

interface Layer {
	key: string;
	label: string;
	colour: string;
	peak: number;
	values: number[];
	condition: string | null; // that holds for it alone
}

/** What a layer stands for, as a condition of a query. */
function conditionFor(by: string, series: Data["series"][number]): string | null {
	const label = series.label ?? "";
	if (by === "type") return series.label == null || label.startsWith("(") ? "not known(type)" : `type == ${quote(label)}`;
	if (by === "module") return label === "" ? null : moduleIs("module", label);
	if (by === "thread") return `thread == ${series.key}`;
	if (by === "point") return `point == ${series.key}`;
	if (by === "sev") return `sev == ${series.key}`;
	if (by === "size") return `size >= ${series.key}${Number(series.key) > 0 ? ` and size < ${Number(series.key) * 2}` : " and size < 1"}`;
	if (by === "color") return series.color ? `color == ${series.color}` : null;
	return null;
}

function layersOf(data: Data, by: string): Layer[] {
	const layers = data.series.map((series, index) => ({
		key: String(series.key),
		label: series.label || "unknown",
		colour: series.color ?? (by === "color" ? "#999999" : category(index)),
		peak: series.peak,
		values: series.last,
		condition: conditionFor(by, series),
	}));
	if (data.other) layers.push({ key: "other", label: "other", colour: "#999999", peak: Math.max(0, ...data.other.last), values: data.other.last, condition: null });
	return layers;
}

/** The layers that are shown: those that were clicked, or all but those that were excluded. */
function picked(layers: Layer[]): Layer[] {
	const names = key("series").split("\u0001").filter((name) => name !== "");
	const only = names.filter((name) => !name.startsWith("-"));
	const without = names.filter((name) => name.startsWith("-")).map((name) => name.slice(1));
	return layers.filter((layer) => (only.length === 0 || only.includes(layer.label)) && !without.includes(layer.label));
}

function pick(label: string, exclude: boolean): void {
	const name = exclude ? `-${label}` : label;
	const old = key("series").split("\u0001").filter((other) => other !== "");
	const next = old.includes(name) ? old.filter((other) => other !== name) : exclude ? [...old, name] : [name];
	set({ series: next.join("\u0001") || null });
}

/** Values as they are drawn: running sums from below, or as they are. */
function drawn(layers: Layer[], bins: number, shape: string): number[][] {
	const sums = new Array<number>(bins).fill(0);
	if (shape === "lines") return layers.map((layer) => layer.values);
	const whole = Array.from({ length: bins }, (_, bin) => layers.reduce((sum, layer) => sum + (layer.values[bin] ?? 0), 0));
	return layers.map((layer) => {
		layer.values.forEach((value, bin) => (sums[bin] = (sums[bin] ?? 0) + (shape === "share" ? (whole[bin] ? value / (whole[bin] ?? 1) : 0) : value)));
		return [...sums];
	});
}

/** Another line's values at these times. */
function resampled(times: number[], line: Data): (number | null)[] {
	let at = 0;
	return times.map((time) => {
		while (at < line.t.length - 1 && (line.t[at] ?? 0) < time) at++;
		return time <= (line.t.at(-1) ?? 0) ? (line.total.max[at] ?? null) : null;
	});
}

/** Steps of an axis of bytes: 1, 2, 4 … */
const powers = Array.from({ length: 50 }, (_, exponent) => 2 ** exponent);

interface Extra {
	label: string;
	stroke: string;
	dash: number[];
	values: (number | null)[];
}

interface Acts {
	brush(from: number, to: number): void;
	click(time: number): void;
	zoom(factor: number, middle: number): void;
}

function draw(element: HTMLElement, data: Data, layers: Layer[], shape: string, unit: string, extra: Extra[], acts: Acts): uPlot {
	const { text, line, accent, quiet } = ink();
	const values = drawn(layers, data.t.length, shape);
	const alone = key("series") === "" && shape !== "share";
	const shown = shape === "share" ? "share" : unit;
	const told = (_: uPlot, value: number | null) => (value == null ? "" : inUnit(value, unit));
	const series: uPlot.Series[] = [
		{ label: "time", value: (_, value) => (value == null ? "" : ns(value)) },
		...layers.map((layer) => ({
			label: layer.label,
			stroke: layer.colour,
			...(shape === "lines" ? {} : { fill: `${layer.colour}aa` }),
			width: shape === "lines" ? 1.5 : 1,
			points: { show: false },
			value: (_: uPlot, __: number, ___: number, at: number | null) => (at == null ? "" : inUnit(layer.values[at], unit)),
		})),
		...(alone ? [{ label: "highest", stroke: text, width: 1, points: { show: false }, ...(layers.length ? {} : { fill: `${accent}22` }), value: told }, { label: "lowest", stroke: accent, width: 1, dash: [2, 3], points: { show: false }, value: told }] : []),
		...extra.map((one) => ({ label: one.label, stroke: one.stroke, width: 2, dash: one.dash, points: { show: false }, value: told })),
	];
	const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
	const vertical = (self: uPlot, time: number, colour: string, label: string) => {
		const x = self.valToPos(time, "x", true);
		if (x < self.bbox.left || x > self.bbox.left + self.bbox.width) return;
		self.ctx.fillStyle = colour;
		self.ctx.fillRect(x, self.bbox.top, devicePixelRatio, self.bbox.height);
		if (label) self.ctx.fillText(label, x + 4, self.bbox.top + 12 * devicePixelRatio);
	};
	const plot = new uPlot(
		{
			width: Math.max(200, element.clientWidth),
			height: HEIGHT,
			padding: [12, 30, 0, 0],
			scales: { x: { time: false, range: [data.t0 ?? 0, data.t1] } },
			series,
			...(shape === "lines" ? {} : { bands: layers.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as [number, number] })) }),
			axes: [
				{ ...axis, space: 90, values: (_, ticks) => ticks.map((value) => ns(value)) },
				{ ...axis, size: 80, ...(shown === "bytes" ? { incrs: powers } : {}), values: (_, ticks) => ticks.map((value) => inUnit(value, shown)) },
			],
			cursor: { drag: { x: true, y: false, setScale: false } },
			hooks: {
				setSelect: [
					(self) => {
						if (self.select.width > 3) acts.brush(self.posToVal(self.select.left, "x"), self.posToVal(self.select.left + self.select.width, "x"));
					},
				],
				draw: [
					(self) => {
						self.ctx.save();
						self.ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
						self.ctx.textAlign = "left";
						for (const mark of data.marks.slice(0, 40)) vertical(self, mark.t, quiet, data.marks.length <= 12 ? mark.label : "");
						if (cursor.value != null) vertical(self, cursor.value, text, "");
						self.ctx.restore();
					},
				],
			},
		},
		[data.t, ...values, ...(alone ? [data.total.max, data.total.min] : []), ...extra.map((one) => one.values)] as uPlot.AlignedData,
		element,
	);
	let pressed = 0;
	plot.over.addEventListener("pointerdown", (event) => (pressed = event.clientX));
	plot.over.addEventListener("click", (event) => {
		const box = plot.over.getBoundingClientRect();
		if (Math.abs(event.clientX - pressed) < 4) acts.click(plot.posToVal(event.clientX - box.left, "x"));
	});
	plot.over.addEventListener(
		"wheel",
		(event) => {
			const box = plot.over.getBoundingClientRect();
			if (!event.ctrlKey) return;
			event.preventDefault();
			acts.zoom(event.deltaY > 0 ? 1.25 : 0.8, plot.posToVal(event.clientX - box.left, "x"));
		},
		{ passive: false },
	);
	return plot;
}

interface Bin {
	bin: number;
}

function Twin({ data, layers, unit, extra }: { data: Data; layers: Layer[]; unit: string; extra: Extra[] }) {
	const rows: Bin[] = data.t.map((_, bin) => ({ bin }));
	const column = (name: string, label: string, values: readonly (number | null | undefined)[], show: string): Column<Bin> => ({ name, label, number: true, width: `${Math.max(12, Math.min(24, label.length + 2))}ch`, cell: ({ bin }) => inUnit(values[bin], show), text: ({ bin }) => String(values[bin] ?? "") });
	const columns: Column<Bin>[] = [
		column("t", "Time", data.t, "ns"),
		column("max", "Highest", data.total.max, unit),
		column("min", "Lowest", data.total.min, unit),
		...layers.map((layer) => column(layer.key, layer.label, layer.values, unit)),
		...extra.map((one) => column(one.label, one.label, one.values, unit)),
		...(data.rss?.some((value) => value != null) ? [column("rss", "RSS", data.rss, "bytes")] : []),
	];
	return (
		<>
			<Table label="Timeline as a table" columns={columns} rows={rows} rowKey={({ bin }) => bin} height={420} rowHeight={26} />
			<p><button onClick={() => void copy(csv(columns, rows), "the table as CSV")}>Copy as CSV</button></p>
		</>
	);
}

export function Timeline() {
	const by = oneOf("by", [...groups, ["color", ""]], "none");
	const metric = oneOf("metric", metrics, "live");
	const shape = oneOf("shape", shapes, "stack");
	const unit = unitOf(metric);
	const [table, toggleTable] = useTwin();
	const [brush, setBrush] = useState<{ from: number; to: number } | null>(null);
	const [spoken, setSpoken] = useState("");
	const holder = useRef<HTMLDivElement>(null);
	// a window of its own, if it was zoomed: the axis is what is asked for
	const axis = key("x0") !== "" && key("x1") !== "" ? { t0: key("x0"), t1: key("x1") } : {};
	const asked = { ...common(), ...axis };
	const answer = useAnswer<Data>("/timeline", { ...asked, by, metric, bins: BINS, top: 12 });
	const allocs = useAnswer<Data>("/timeline", { ...asked, by: "none", metric: "allocs", bins: BINS, top: 12 }).reply?.data;
	const frees = useAnswer<Data>("/timeline", { ...asked, by: "none", metric: "frees", bins: BINS, top: 12 }).reply?.data;
	const point = selectedPoint();
	const own = useAnswer<Data>(point == null || embedded ? null : `/points/${point}/timeline`, { ...asked, metric, bins: BINS }).reply?.data;
	const base = useAnswer<Data>(key("base") === "" ? null : "/timeline", { ...asked, trace: key("base"), by: "none", metric, bins: BINS, top: 12 }).reply?.data;
	const data = answer.reply?.data ?? null;
	const layers = useMemo(() => (data ? layersOf(data, by) : []), [data]);
	const shown = useMemo(() => picked(layers), [layers, key("series")]);
	const extra = useMemo<Extra[]>(() => {
		if (!data || shape === "share") return [];
		const lines: Extra[] = [];
		if (own && point != null) lines.push({ label: "selected point", stroke: "#d55e00", dash: [], values: resampled(data.t, own) });
		if (base && key("base") !== "") lines.push({ label: "before", stroke: "#56b4e9", dash: [6, 4], values: resampled(data.t, base) });
		return lines;
	}, [data, own, base, point, shape]);
	const span = data ? { from: data.t0 ?? 0, to: data.t1 } : { from: 0, to: 1 };
	const look = (from: number, to: number) => {
		const size = Math.max(1000, to - from);
		const first = Math.max(0, from);
		set({ x0: Math.round(first), x1: Math.round(first + size) }, true);
	};
	const zoom = (factor: number, middle: number) => look(middle - (middle - span.from) * factor, middle + (span.to - middle) * factor);
	const apply = () => {
		if (!brush) return;
		set({ t: `${Math.round(brush.from)}..${Math.round(brush.to)}`, x0: null, x1: null });
		setBrush(null);
	};
	useEffect(() => {
		const element = holder.current;
		if (!element || !data || data.t.length === 0 || table) return;
		const plot = draw(element, data, shown, shape, unit, extra, { brush: (from, to) => setBrush({ from, to }), click: (time) => set({ at: Math.round(time) }), zoom });
		const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, element.clientWidth), height: HEIGHT }));
		const clear = () => {
			setBrush(null);
			set({ t: null, x0: null, x1: null });
		};
		observer.observe(element);
		plot.over.addEventListener("dblclick", clear);
		return () => {
			observer.disconnect();
			plot.destroy();
		};
	}, [data, shown, extra, shape, dark.value, table, cursor.value]);
	const at = (time: number) => Math.min((data?.t.length ?? 1) - 1, Math.max(0, Math.floor(((time - span.from) / Math.max(1, span.to - span.from)) * (data?.t.length ?? 1))));
	const move = (bins: number) => {
		if (!data) return;
		const moment = moments.length > 0 ? momentAt(cursor.value ?? span.from, bins) : null;
		const bin = moment !== null ? at(moment) : Math.min(data.t.length - 1, Math.max(0, at(cursor.value ?? span.from) + bins));
		const top = [...layers].sort((a, b) => (b.values[bin] ?? 0) - (a.values[bin] ?? 0)).slice(0, 3);
		set({ at: moment ?? Math.round((data.t[bin] ?? 0) - (span.to - span.from) / data.t.length / 2) }, true);
		setSpoken(`${ns(data.t[bin])}: ${inUnit(data.total.max[bin], unit)}${top.map((layer) => `, ${layer.label} ${inUnit(layer.values[bin], unit)}`).join("")}`);
	};
	const keyDown = (event: KeyboardEvent) => {
		const size = span.to - span.from;
		const steps = event.shiftKey ? 10 : 1;
		if (event.key === "ArrowLeft") move(-steps);
		else if (event.key === "ArrowRight") move(steps);
		else if (event.key === "Enter") apply();
		else if (event.key === "Escape" && brush) setBrush(null);
		else if (event.key === "+") zoom(0.5, cursor.value ?? (span.from + span.to) / 2);
		else if (event.key === "-") zoom(2, cursor.value ?? (span.from + span.to) / 2);
		else if (event.key === "0") set({ x0: null, x1: null });
		else if (event.key === ",") look(span.from - size / 4, span.to - size / 4);
		else if (event.key === ".") look(span.from + size / 4, span.to + size / 4);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const coloured = stages(query()).some((stage) => stage.startsWith("color"));
	const subject = (layer: Layer): Subject => ({
		title: layer.label,
		...(layer.condition ? { condition: layer.condition } : {}),
		...(by === "type" && layer.condition ? { type: layer.label } : {}),
		...(by === "point" && layer.key !== "other" ? { point: Number(layer.key) } : {}),
		...(by === "thread" && layer.key !== "other" ? { thread: Number(layer.key) } : {}),
		focus: [
			{ label: "Show it alone", run: () => pick(layer.label, false) },
			{ label: "Take it out of the chart", run: () => pick(layer.label, true) },
		],
	});
	const delta = data && brush ? (data.total.last[at(brush.to)] ?? 0) - (data.total.last[at(brush.from)] ?? 0) : 0;
	return (
		<div class="view">
			<div class="controls">
				<Choice label="Stacked by" value={by} options={coloured ? [...groups, ["color", "Colour of the query"] as const] : groups} onChange={(value) => set({ by: value, series: null })} />
				<Choice label="Metric" value={metric} options={metrics} onChange={(value) => set({ metric: value })} />
				<Choice label="As" value={shape} options={shapes} onChange={(value) => set({ shape: value === "stack" ? null : value })} />
				{key("x0") !== "" && <button onClick={() => set({ x0: null, x1: null })}>Whole run</button>}
				{key("series") !== "" && <button onClick={() => set({ series: null })}>All layers</button>}
				<TwinButton on={table} toggle={toggleTable} />
			</div>
			<Panel answer={answer} label="Timeline" empty={(line) => (line.t.length === 0 ? "Nothing allocated in this window." : null)}>
				{(line) => (
					<>
						{table ? (
							<Twin data={line} layers={shown} unit={unit} extra={extra} />
						) : (
							<div class="plot" tabIndex={0} role="application" aria-roledescription="timeline" data-t="timeline" aria-label={`Timeline of ${metric}: highest ${inUnit(Math.max(0, ...line.total.max), unit)}`} onKeyDown={keyDown}>
								<div ref={holder} />
								<div class="sr-only" aria-live="polite">{spoken}</div>
							</div>
						)}
						{brush && (
							<p class="brushed" role="status">
								{ns(brush.from)} to {ns(brush.to)}: {ns(brush.to - brush.from)}, {delta >= 0 ? "+" : ""}{inUnit(delta, unit)}{" "}
								<button onClick={apply}>Make it the window (Enter)</button> <button onClick={() => look(brush.from, brush.to)}>Zoom</button> <button onClick={() => setBrush(null)}>Forget</button>
							</p>
						)}
						{!table && allocs && frees && <Lane label="Allocations and frees per bin" times={allocs.t} unit="count" from={span.from} to={span.to} lines={[{ name: "allocations", colour: "#0072b2", values: allocs.total.last }, { name: "frees", colour: "#e69f00", dash: "4 3", values: frees.total.last }]} />}
						{!table && line.rss?.some((value) => value != null) && <Lane label="Resident memory" times={line.t} unit="bytes" from={span.from} to={span.to} lines={[{ name: "RSS", colour: "#cc79a7", values: line.rss }, ...(metric === "live" ? [{ name: "live", colour: "#0072b2", dash: "4 3", values: line.total.max }] : [])]} />}
						{by !== "none" && (
							<ul class="series">
								{layers.map((layer) => (
									<li {...menuOf(() => subject(layer))}>
										<span class="swatch" style={{ background: layer.colour, opacity: shown.includes(layer) ? 1 : 0.2 }} />
										<button aria-pressed={key("series") !== "" && shown.includes(layer)} title="Show it alone; with Shift: without it" onClick={(event) => pick(layer.label, event.shiftKey)}>{layer.label}</button>{" "}
										<span class="quiet">up to {unit === "bytes" ? bytes(layer.peak) : count(layer.peak)}</span>{" "}
										{layer.condition && !embedded && <button aria-label={`Filter: only ${layer.label}`} title="Filter: only this" onClick={() => addWhere(layer.condition ?? "")}>only</button>}
									</li>
								))}
							</ul>
						)}
						<p class="quiet">Drag for a time window, click for the time cursor, Ctrl and the wheel zoom; ← → move the cursor, + − 0 zoom, comma and full stop move.</p>
					</>
				)}
			</Panel>
		</div>
	);
}
