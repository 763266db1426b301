// SPDX-License-Identifier: MIT
// What changed between two runs: totals, the two heap lines, and what is new, gone, grew or shrank.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Panel, useAnswer } from "../lib/answer";
import { scoped } from "../lib/catalogue";
import { category, dark, ink } from "../lib/colour";
import { type Maybe, bytes, count, inUnit, ns, share, tick } from "../lib/format";
import { MenuButton } from "../lib/controls";
import type { Act, Subject } from "../lib/menu";
import { plainName } from "../lib/names";
import { Choice, Delta, Name, Severity, oneOf } from "../lib/parts";
import { fromZero, noteScale, powers } from "../lib/plot";
import { Caveats, type ResultFrame, pathText } from "../lib/result";
import { sorted } from "../lib/sort";
import { go, key, quote, set } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { TwinButton, useTwin } from "../lib/twin";
import { compared, traceBy, traces } from "../shell";

interface Side {
	file: string;
	program: string;
	command: string;
	complete: boolean;
}

interface Change {
	a: Maybe;
	b: Maybe;
	delta: Maybe;
	pct: Maybe; // a share
}

interface Row {
	key: string;
	name: string | null;
	status: string;
	a: Maybe;
	b: Maybe;
	delta: Maybe;
	sev_a: Maybe;
	sev_b: Maybe;
	stack?: ResultFrame[] | null;
}

interface Bin {
	time_ns: number;
	a: Maybe;
	b: Maybe;
}

interface Data {
	a: Side;
	b: Side;
	by: string;
	metric: string;
	changed: { rows: number; new: number; gone: number; grew: number; shrank: number; same: number };
	unmatched?: { a: Maybe; b: Maybe };
	summary: Record<string, Change>;
	rows: Row[];
	heap: Bin[];
	caveats: string[];
}

const keys = [["stack", "Stack"], ["fn", "Function"], ["type", "Type"], ["file", "File"], ["module", "Module"], ["thread", "Thread"]] as const;
const metrics = [["bytes", "Bytes"], ["allocations", "Allocations"], ["peak", "At the peak"], ["kept", "Kept"], ["temporary", "Temporary"]] as const;

const clocks = [["start", "at the start"], ["peak", "at the peak"], ["marks", "at marks"]] as const;

function unitOf(metric: string): string {
	return metric === "allocations" || metric === "temporary" ? "count" : metric === "duration_ns" ? "ns" : "bytes";
}

function Summary({ data }: { data: Data }) {
	return (
		<table class="summary">
			<caption class="sr-only">Totals of both</caption>
			<thead><tr><td /><th scope="col" class="number">Before</th><th scope="col" class="number">After</th><th scope="col" class="number">Change</th><th scope="col" class="number">%</th></tr></thead>
			<tbody>
				{Object.entries(data.summary).map(([name, change]) => (
					<tr>
						<th scope="row">{metrics.find(([metric]) => metric === name)?.[1] ?? "Duration"}</th>
						<td class="number">{inUnit(change.a, unitOf(name))}</td>
						<td class="number">{inUnit(change.b, unitOf(name))}</td>
						<td class="number"><Delta value={change.delta} unit={unitOf(name)} /></td>
						<td class="number">{change.pct == null ? "" : change.pct > 10 ? `× ${count(change.pct + 1)}` : `${change.pct > 0 && change.pct >= 0.001 ? "+" : ""}${share(change.pct)}`}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

/** What changed most, in a sentence. */
function Verdict({ data }: { data: Data }) {
	const { metric } = data;
	const label = (metrics.find(([name]) => name === metric)?.[1] ?? metric).replace("At the peak", "Peak");
	const change = data.summary[metric];
	const rows = data.rows.filter((row) => (row.delta ?? 0) * (change?.delta ?? 0) > 0).slice(0, 3);
	if (!change?.delta) return <p class="sentence">{label}: no change.</p>;
	if (Math.abs(change.delta) < Math.max(change.a ?? 0, change.b ?? 0) / 1000) return <p class="sentence" data-t="verdict">{label} hardly changed: <Delta value={change.delta} unit={unitOf(metric)} /> of {inUnit(change.a, unitOf(metric))}.</p>;
	return (
		<p class="sentence" data-t="verdict">
			{label} {change.delta > 0 ? "grew" : "shrank"} by {inUnit(Math.abs(change.delta), unitOf(metric))}, from {inUnit(change.a, unitOf(metric))} to {inUnit(change.b, unitOf(metric))}
			{rows.length > 0 && <>: {rows.map((row, at) => <>{at > 0 && ", "}{plainName(row.name ?? row.stack?.[0]?.function ?? "unknown")} <Delta value={row.delta} unit={unitOf(metric)} /></>)}</>}.
		</p>
	);
}

function Lines({ data }: { data: Data }) {
	const holder = useRef<HTMLDivElement>(null);
	const [hovered, setHovered] = useState<{ at: number; x: number } | null>(null);
	const lines = useMemo(() => ({ t: data.heap.map((bin) => bin.time_ns), a: data.heap.map((bin) => bin.a ?? null), b: data.heap.map((bin) => bin.b ?? null) }), [data]);
	useEffect(() => {
		const element = holder.current;
		if (!element || lines.t.length === 0) return;
		const { text, line } = ink();
		const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
		const plot = new uPlot(
			{
				width: Math.max(200, element.clientWidth),
				height: 260,
				legend: { show: false },
				cursor: { drag: { x: false, y: false }, y: false },
				scales: { x: { time: false }, y: { range: fromZero } },
				series: [
					{},
					{ stroke: category(0), width: 2, dash: [6, 4], points: { show: false } },
					{ stroke: category(1), width: 2, points: { show: false } },
				],
				hooks: { setScale: [noteScale], setCursor: [({ cursor: { idx, left = 0 }, over }) => setHovered(idx == null ? null : { at: idx, x: left + over.offsetLeft })] },
				axes: [
					{ ...axis, space: 90, values: (_, values) => values.map((time) => tick(time, "ns")) },
					{ ...axis, size: 80, incrs: powers, values: (_, values) => values.map((raw) => tick(raw, "bytes")) },
				],
			},
			[lines.t, lines.a, lines.b],
			element,
		);
		const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(200, element.clientWidth), height: 260 }));
		observer.observe(element);
		return () => {
			observer.disconnect();
			plot.destroy();
		};
	}, [lines, dark.value]);
	const at = hovered?.at ?? 0;
	return (
		<div class="plot">
			<div ref={holder} role="img" aria-label={`Live bytes of both runs: before up to ${bytes(Math.max(0, ...lines.a.map((value) => value ?? 0)))}, after up to ${bytes(Math.max(0, ...lines.b.map((value) => value ?? 0)))}`} />
			{hovered && (
				<div class="tip" role="tooltip" style={{ top: "8px", left: `${Math.min(hovered.x + 12, Math.max(0, (holder.current?.clientWidth ?? 0) - 180))}px` }}>
					<b>{ns(lines.t[at])}</b>
					<div>before {bytes(lines.a[at])}</div>
					<div>after {bytes(lines.b[at])}</div>
				</div>
			)}
			<div class="key plot-key" aria-label="Colours">
				<span><span class="swatch dashed" style={{ borderColor: category(0) }} />before</span>
				<span><span class="swatch lined" style={{ borderColor: category(1) }} />after</span>
			</div>
		</div>
	);
}

const binColumns: Column<Bin>[] = [
	{ name: "time_ns", label: "Time", number: true, width: "12ch", cell: (row) => ns(row.time_ns), text: (row) => String(row.time_ns) },
	{ name: "a", label: "Before", number: true, width: "14ch", cell: (row) => bytes(row.a), text: (row) => String(row.a ?? "") },
	{ name: "b", label: "After", number: true, width: "14ch", cell: (row) => bytes(row.b), text: (row) => String(row.b ?? "") },
	{ name: "delta", label: "Change", number: true, width: "14ch", cell: (row) => <Delta value={row.a == null || row.b == null ? null : row.b - row.a} unit="bytes" />, text: (row) => String((row.b ?? 0) - (row.a ?? 0)) },
];

const marks: Record<string, string> = { new: "▲ new", grew: "▲ grew", gone: "▼ gone", shrank: "▼ shrank", same: "= same" };

/** What a row is of, for the menu; of a stack its innermost function. */
function subjectOf(row: Row, by: string): Subject | null {
	const tip = row.stack?.[0];
	if (tip) return { title: tip.function ?? "unknown", fn: tip.function, module: tip.module, file: tip.file, line: tip.line, stack: () => pathText(row.stack ?? []) };
	const name = row.name ?? row.key;
	if (by === "function") return { title: name, fn: name, condition: `fn == ${quote(name)}` };
	if (by === "type") return { title: name, type: row.name };
	if (by === "module") return { title: name, module: name };
	if (by === "file") return { title: name, file: name, line: 1, condition: `file == ${quote(name)}` };
	if (by === "thread") return { title: name, condition: `thread_name == ${quote(name)}` };
	return null;
}

function Rows({ data }: { data: Data }) {
	const unit = unitOf(data.metric);
	const sort = key("sort");
	const name = (row: Row) => (data.by === "stack" && row.stack?.length ? pathText(row.stack) : (row.name ?? row.key));
	const severities = data.rows.some((row) => row.sev_a != null || row.sev_b != null);
	const columns: Column<Row>[] = [
		{ name: "status", label: "Status", width: "10ch", cell: (row) => <span class={row.status === "new" || row.status === "grew" ? "more" : "less"}>{marks[row.status] ?? row.status}</span>, text: (row) => row.status },
		{ name: "key", label: "Where", fixed: true, cell: (row) => data.by === "function" ? <Name of={name(row)} /> : <span title={name(row)}>{name(row)}</span>, text: name },
		{ name: "a", label: "Before", number: true, width: "12ch", cell: (row) => inUnit(row.a, unit), text: (row) => String(row.a ?? "") },
		{ name: "b", label: "After", number: true, width: "12ch", cell: (row) => inUnit(row.b, unit), text: (row) => String(row.b ?? "") },
		{ name: "delta", label: "Change", number: true, width: "14ch", cell: (row) => <Delta value={row.delta} unit={unit} />, text: (row) => String(row.delta ?? "") },
	];
	if (severities) columns.push({ name: "sev_b", label: "Severity", width: "13ch", cell: (row) => <><Severity step={row.sev_a} /> → <Severity step={row.sev_b} /></>, text: (row) => `${row.sev_a ?? ""} ${row.sev_b ?? ""}` });
	if (data.rows.length === 0) return <p class="empty">The runs do not differ above 0.1 %.</p>;
	const rows = sort === "" ? data.rows : sorted(data.rows, sort);
	return <Table label="Differences" columns={columns} rows={rows} rowKey={(row) => row.key} height={420} rowHeight={28} sort={sort} onSort={(next) => set({ sort: next })} menu={(row) => subjectOf(row, data.by)} copied={() => rows} />;
}

/** What else can be done with the two: the parts that only one of them has, as a filter for all views, and how the lines of the heap are laid over each other. */
function actsFor(base: string, inEvery: (() => void) | null): [string, Act[]][] {
	const other = `trace ${quote(base)}`;
	const sets = [["Only in after", `diff(all, ${other})`], ["Only in before", `diff(${other}, all)`], ["In both", `common(all, ${other})`]] as const;
	return [
		["Filter every view", [...sets.map(([label, text]) => ({ label, run: () => go("entries", { q: text, g: null }) })), ...(inEvery ? [{ label: "Show changes in every view", run: inEvery }] : [])]],
		["Lines of the heap begin together", clocks.map(([name, label]) => ({ label, on: (key("align") || "start") === name, run: () => set({ align: name === "start" ? null : name }) }))],
	];
}

export function Compare() {
	const list = traces.value;
	const shown = traceBy(key("trace")) ?? list[0];
	const others = list.filter((trace) => trace !== shown);
	const other = others.find((trace) => trace.program === shown?.program) ?? (others.length === 1 ? others[0] : undefined);
	const asked = traceBy(key("base"))?.id;
	const { trace: mine, base } = asked ? { trace: shown?.id ?? "", base: asked } : other ? compared(shown?.id ?? "", other.id) : { trace: shown?.id ?? "", base: "" };
	const by = oneOf("key", keys, "fn");
	const metric = oneOf("metric", metrics, "peak");
	const [table, toggleTable] = useTwin();
	const answer = useAnswer<Data>(base && mine ? "/compare" : null, { ...scoped("/compare"), trace: mine, base, key: by, metric, align: oneOf("align", clocks, "start") === "start" ? null : key("align"), tolerance: 0.001, top: 500, points: 200 });
	const swap = () => set({ trace: base, base: mine, sel: null });
	useEffect(() => {
		const down = (event: KeyboardEvent) => event.key === "x" && !(event.target instanceof HTMLElement && event.target.matches("input, select, textarea")) && !event.ctrlKey && swap();
		window.addEventListener("keydown", down);
		return () => window.removeEventListener("keydown", down);
	}, [base, mine]);
	if (list.length > 0 && others.length === 0) return <p class="empty">Comparing needs two traces: heapwise serve BEFORE.hwt AFTER.hwt</p>;
	return (
		<div class="view">
			<div class="controls">
				<Choice label="Before" value={base} options={[...(base ? [] : [["", "Choose a trace"] as const]), ...list.flatMap((trace) => (trace.id === mine ? [] : [[trace.id, trace.name] as const]))]} onChange={(value) => set({ trace: mine, base: value })} />
				<span>After <b>{traceBy(mine)?.name}</b></span>
				<button title="x" onClick={swap}>Swap</button>
				<Choice label="By" value={by} options={keys} onChange={(value) => set({ key: value, sort: null })} />
				<Choice label="Metric" value={metric} options={metrics} onChange={(value) => set({ metric: value })} />
				<TwinButton on={table} toggle={toggleTable} />
				{base !== "" && <MenuButton label="More" groups={actsFor(traceBy(base)?.name ?? "base", asked ? null : () => set({ trace: mine, base }))} />}
			</div>
			<Panel answer={answer} label="Comparison">
				{(data) => (
					<>
						<Verdict data={data} />
						<p class="quiet">{(["new", "gone", "grew", "shrank"] as const).filter((name) => data.changed[name]).map((name) => `${count(data.changed[name])} ${name}, `)}{count(data.changed.same)} as before{data.unmatched?.b != null && (data.unmatched.a || data.unmatched.b) ? `; ${inUnit(data.unmatched.a, unitOf(metric))} before and ${inUnit(data.unmatched.b, unitOf(metric))} after are only on one side` : ""}</p>
						<Rows data={data} />
						<div class="beside">
							<Summary data={data} />
							{table ? <Table label="Live bytes of both" columns={binColumns} rows={data.heap} rowKey={(row) => row.time_ns} height={260} rowHeight={26} /> : <Lines data={data} />}
						</div>
						<Caveats list={data.caveats.map((text) => text.replace(": A is ", ": before is ").replace(" and B is ", ", after is "))} />
					</>
				)}
			</Panel>
		</div>
	);
}
