// SPDX-License-Identifier: MIT
// When memory rose, and of what. Extremes are kept per bin, so no peak is lost.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { Panel, useAnswer } from "../lib/answer";
import { against } from "../lib/catalogue";
import { category, dark, ink } from "../lib/colour";
import { type Maybe, bytes, inUnit, ns, tick, trimMiddle } from "../lib/format";
import { type Subject, menuOf } from "../lib/menu";
import { Lane } from "../lib/lane";
import { shortName } from "../lib/names";
import { Choice, oneOf } from "../lib/parts";
import { fromZero, noteScale, powers } from "../lib/plot";
import { selectedPoint } from "../lib/select";
import { embedded, momentAt, moments } from "../lib/source";
import { common, cursor, key, moduleIs, quote, set, stages, query } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { TwinButton, useTwin } from "../lib/twin";
import type { Timeline as Data } from "../lib/types";
import { highest, peakBin, residentIn } from "../strip";

const groups = [["fn", "Function"], ["point", "Call stack"], ["type", "Type"], ["module", "Module"], ["thread", "Thread"], ["size", "Size"], ["sev", "Severity"], ["none", "Total"]] as const;
const metrics = [["live", "Live bytes"], ["chunks", "Live chunks"], ["alloc_bytes", "Bytes allocated"], ["allocs", "Allocations"], ["frees", "Frees"]] as const;
const shapes = [["stack", "Stacked"], ["lines", "Lines"], ["share", "Shares"]] as const;
const BINS = 800;
const LEAST = 300; // pixels high

function unitOf(metric: string): string {
	return metric === "live" || metric === "alloc_bytes" ? "bytes" : "count";
}

/** As high as the window has room for, with the legend and the lane below. */
function plotHeight(width: number): number {
	return Math.max(LEAST, Math.min(width, window.innerHeight - 350));
}

/** What is pointed at. */
const pointed = signal<{ bin: number; x: number; y: number } | null>(null);

interface Layer {
	key: string;
	label: string;
	short: string;
	colour: string;
	peak: number;
	values: number[];
	condition: string | null; // that holds for it alone
}

/** What a layer stands for, as a condition of a query. */
function conditionFor(by: string, series: Data["series"][number]): string | null {
	const label = series.label ?? "";
	if (by === "fn") return series.label == null ? null : `fn == ${quote(label)}`;
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
		short: by === "fn" || by === "point" ? shortName(series.label || "unknown", 36) : trimMiddle(series.label || "unknown", 36),
		colour: series.color ?? (by === "color" ? "#999999" : category(index)),
		peak: series.peak,
		values: series.last,
		condition: conditionFor(by, series),
	}));
	if (data.other) layers.push({ key: "other", label: "all others", short: "all others", colour: dark.value ? "#6b7480" : "#b4bac2", peak: highest(data.other.last), values: data.other.last, condition: null });
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

/** Values as they are drawn: running sums from below, or as they are. Null after the end of a run beside a longer one. */
function drawn(layers: Layer[], bins: number, shape: string): Maybe[][] {
	const sums = new Array<number>(bins).fill(0);
	if (shape === "lines") return layers.map((layer) => layer.values);
	const whole = Array.from({ length: bins }, (_, bin) => layers.reduce((sum, layer) => sum + (layer.values[bin] ?? 0), 0));
	return layers.map((layer) =>
		layer.values.map((value: Maybe, bin) => (value == null ? null : (sums[bin] = (sums[bin] ?? 0) + (shape === "share" ? (whole[bin] ? value / (whole[bin] ?? 1) : 0) : value)))),
	);
}

/** Another line's values at these times. */
function resampled(times: number[], line: Data): (number | null)[] {
	let at = 0;
	return times.map((time) => {
		while (at < line.t.length - 1 && (line.t[at] ?? 0) < time) at++;
		return time <= (line.t.at(-1) ?? 0) ? (line.total.max[at] ?? null) : null;
	});
}

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
	const whole = key("series") === "" && shape !== "share";
	const shown = shape === "share" ? "share" : unit;
	const series: uPlot.Series[] = [
		{},
		...layers.map((layer) => ({ stroke: layer.colour, ...(shape === "lines" ? {} : { fill: `${layer.colour}d9` }), width: shape === "lines" ? 1.5 : 1, points: { show: false } })),
		...(whole ? [{ stroke: text, width: 1, points: { show: false }, ...(layers.length ? {} : { fill: `${accent}22` }) }] : []),
		...extra.map((one) => ({ stroke: one.stroke, width: 1.5, dash: one.dash, points: { show: false } })),
	];
	const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
	const vertical = (self: uPlot, time: number, colour: string, label: string) => {
		const x = self.valToPos(time, "x", true);
		if (x < self.bbox.left || x > self.bbox.left + self.bbox.width) return;
		self.ctx.fillStyle = colour;
		self.ctx.fillRect(x, self.bbox.top, devicePixelRatio, self.bbox.height);
		const left = x > self.bbox.left + self.bbox.width - 120 * devicePixelRatio;
		self.ctx.textAlign = left ? "right" : "left";
		if (label) self.ctx.fillText(label, x + (left ? -4 : 4) * devicePixelRatio, self.bbox.top - 6 * devicePixelRatio);
	};
	const plot = new uPlot(
		{
			width: Math.max(200, element.clientWidth),
			height: plotHeight(element.clientWidth),
			padding: [22, 12, 0, 0],
			legend: { show: false },
			scales: { x: { time: false, range: [data.t0 ?? 0, data.t1] }, y: { range: fromZero } },
			series,
			...(shape === "lines" ? {} : { bands: layers.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as [number, number] })) }),
			axes: [
				{ ...axis, space: 90, values: (_, ticks) => ticks.map((value) => tick(value, "ns")) },
				{ ...axis, size: 68, space: 45, ...(shown === "bytes" ? { incrs: powers } : {}), values: (_, ticks) => ticks.map((value) => tick(value, shown)) },
			],
			cursor: { drag: { x: true, y: false, setScale: false } },
			hooks: {
				setScale: [noteScale],
				setSelect: [
					(self) => {
						if (self.select.width > 3) acts.brush(self.posToVal(self.select.left, "x"), self.posToVal(self.select.left + self.select.width, "x"));
					},
				],
				setCursor: [(self) => (pointed.value = self.cursor.idx == null ? null : { bin: self.cursor.idx, x: (self.cursor.left ?? 0) + self.over.offsetLeft, y: self.cursor.top ?? 0 })],
				draw: [
					(self) => {
						self.ctx.save();
						self.ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
						if (whole) vertical(self, data.t[peakBin(data)] ?? 0, text, `Peak ${inUnit(highest(data.total.max), unit)}`);
						for (const mark of data.marks.slice(0, 40)) vertical(self, mark.t, quiet, data.marks.length <= 12 ? mark.label : "");
						if (cursor.value != null) vertical(self, cursor.value, text, "");
						self.ctx.restore();
					},
				],
			},
		},
		[data.t, ...values, ...(whole ? [data.total.max] : []), ...extra.map((one) => one.values)] as uPlot.AlignedData,
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

function Tip({ data, layers, unit, extra }: { data: Data; layers: Layer[]; unit: string; extra: Extra[] }) {
	const at = pointed.value;
	if (!at) return null;
	const rows: [string, string, number | null | undefined][] = [
		...layers.filter((layer) => layer.values[at.bin]).map((layer): [string, string, number | undefined] => [layer.colour, layer.short, layer.values[at.bin]]).reverse(),
		...extra.map((one): [string, string, number | null | undefined] => [one.stroke, one.label, one.values[at.bin]]),
	];
	return (
		<div class="tip" role="tooltip" style={{ top: `${at.y}px`, ...(at.x > window.innerWidth / 2 ? { right: `calc(100% - ${at.x - 12}px)` } : { left: `${at.x + 12}px` }) }}>
			<b>{inUnit(data.total.max[at.bin], unit)}</b> at {ns(data.t[at.bin])}
			<table><tbody>{rows.map(([colour, label, value]) => value != null && <tr><td><span class="swatch" style={{ background: colour }} />{label}</td><td class="number">{inUnit(value, unit)}</td></tr>)}</tbody></table>
		</div>
	);
}

/** How often it allocates and frees, by the unit of time that gives whole numbers. */
function Rate({ allocs, frees, from, to }: { allocs: Data; frees: Data; from: number; to: number }) {
	const bin = (to - from) / Math.max(1, allocs.t.length);
	const most = Math.max(highest(allocs.total.last), highest(frees.total.last));
	const [name, size] = most / bin >= 1e-6 ? ["ms", 1e6] : ["s", 1e9];
	const per = (line: Data) => line.total.last.map((value) => (value / bin) * size);
	return <Lane label={`Allocations and frees per ${name}`} times={allocs.t} unit="count" from={from} to={to} lines={[{ name: "allocations", colour: category(0), values: per(allocs) }, { name: "frees", colour: category(4), dash: "4 3", values: per(frees) }]} />;
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
		...(data.rss?.some((value) => value != null) ? [column("rss", "Resident", data.rss, "bytes")] : []),
	];
	return <Table label="Timeline as a table" columns={columns} rows={rows} rowKey={({ bin }) => bin} height={420} rowHeight={26} copied={() => rows} />;
}

export function Timeline() {
	const by = oneOf("by", [...groups, ["color", ""]], "fn");
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
	const answer = useAnswer<Data>("/timeline", { ...asked, ...against("/timeline"), by, metric, bins: BINS, top: 12 });
	const allocs = useAnswer<Data>("/timeline", { ...asked, by: "none", metric: "allocs", bins: BINS, top: 12 }).reply?.data;
	const frees = useAnswer<Data>("/timeline", { ...asked, by: "none", metric: "frees", bins: BINS, top: 12 }).reply?.data;
	const point = selectedPoint();
	const own = useAnswer<Data>(point == null || embedded ? null : `/points/${point}/timeline`, { ...asked, metric, bins: BINS }).reply?.data;
	const data = answer.reply?.data ?? null;
	const layers = useMemo(() => (data ? layersOf(data, by) : []), [data, dark.value]);
	const shown = useMemo(() => picked(layers), [layers, key("series")]);
	const { resident, above } = data && metric === "live" ? residentIn(data) : { resident: null, above: 0 };
	const extra = useMemo<Extra[]>(() => {
		if (!data || shape === "share") return [];
		const lines: Extra[] = [];
		if (resident) lines.push({ label: "resident memory", stroke: ink().text, dash: [5, 4], values: resident });
		if (own && point != null) lines.push({ label: "selected call stack", stroke: category(1), dash: [], values: resampled(data.t, own) });
		if (data.base) lines.push({ label: "before", stroke: category(5), dash: [6, 4], values: data.base.max });
		return lines;
	}, [data, own, point, shape, metric, dark.value]);
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
		const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, element.clientWidth), height: plotHeight(element.clientWidth) }));
		const clear = () => {
			setBrush(null);
			set({ t: null, x0: null, x1: null });
		};
		observer.observe(element);
		plot.over.addEventListener("dblclick", clear);
		return () => {
			observer.disconnect();
			plot.destroy();
			pointed.value = null;
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
				<Choice label="By" value={by} options={coloured ? [...groups, ["color", "Colour of the query"] as const] : groups} onChange={(value) => set({ by: value, series: null })} />
				<Choice label="Metric" value={metric} options={metrics} onChange={(value) => set({ metric: value })} />
				{layers.length > 1 && <Choice label="As" value={shape} options={shapes} onChange={(value) => set({ shape: value === "stack" ? null : value })} />}
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
								<div ref={holder} onPointerLeave={() => (pointed.value = null)} />
								<Tip data={line} layers={shown} unit={unit} extra={extra} />
								<div class="sr-only" aria-live="polite">{spoken}</div>
							</div>
						)}
						{brush && (
							<p class="brushed" role="status">
								{ns(brush.from)} to {ns(brush.to)}: {ns(brush.to - brush.from)}, {delta >= 0 ? "+" : ""}{inUnit(delta, unit)}{" "}
								<button onClick={apply}>Make it the window (Enter)</button> <button onClick={() => look(brush.from, brush.to)}>Zoom</button> <button onClick={() => setBrush(null)}>Forget</button>
							</p>
						)}
						{!table && (layers.length > 1 || extra.length > 0 || above > 0) && (
							<div class="key plot-key">
								{layers.length > 1 && layers.map((layer) => (
									<span {...menuOf(() => subject(layer))}>
										<span class="swatch" style={{ background: layer.colour, opacity: shown.includes(layer) ? 1 : 0.2 }} />
										<button class="plain" aria-pressed={key("series") !== "" && shown.includes(layer)} title={`${layer.label}, up to ${inUnit(layer.peak, unit)}. Click to show it alone, with Shift to leave it out`} onClick={(event) => pick(layer.label, event.shiftKey)}>{layer.short}</button>
									</span>
								))}
								{extra.map((one) => <span><span class={one.dash.length ? "swatch dashed" : "swatch"} style={one.dash.length ? { borderColor: one.stroke } : { background: one.stroke }} />{one.label}</span>)}
								{above > 0 && <span>resident memory, up to {bytes(above)}, is above this scale</span>}
							</div>
						)}
						{!table && allocs && frees && <Rate allocs={allocs} frees={frees} from={span.from} to={span.to} />}
					</>
				)}
			</Panel>
		</div>
	);
}
