// SPDX-License-Identifier: MIT
// What changed between two runs: totals, the two heap lines, and what is new, gone, grew or shrank.

import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { Panel, useAnswer } from "../lib/answer";
import { dark, ink } from "../lib/colour";
import { type Maybe, bytes, count, inUnit, ns, share } from "../lib/format";
import { Choice } from "../lib/parts";
import { Caveats, type ResultFrame, pathText } from "../lib/result";
import { key, set, whole } from "../lib/state";
import { type Column, Table, csv } from "../lib/table";
import type { Status } from "../lib/types";
import { copy } from "../lib/say";

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

interface Data {
	a: Side;
	b: Side;
	metric: string;
	changed: { rows: number; new: number; gone: number; grew: number; shrank: number; same: number };
	summary: Record<string, Change>;
	rows: Row[];
	heap: { time_ns: number; a: Maybe; b: Maybe }[];
	caveats: string[];
}

const keys = [["stack", "Stack"], ["fn", "Function"], ["type", "Type"], ["file", "File"], ["module", "Module"], ["thread", "Thread"]] as const;
const metrics = [["bytes", "Bytes"], ["allocations", "Allocations"], ["peak", "At the peak"], ["kept", "Kept"], ["temporary", "Temporary"]] as const;

function unitOf(metric: string): string {
	return metric === "allocations" || metric === "temporary" ? "count" : metric === "duration_ns" ? "ns" : "bytes";
}

function signed(value: Maybe, unit: string): string {
	if (value == null) return "unknown";
	return `${value > 0 ? "+" : ""}${inUnit(value, unit)}`;
}

function Summary({ data }: { data: Data }) {
	return (
		<table class="summary">
			<caption class="sr-only">Totals of both</caption>
			<thead><tr><td /><th scope="col">Before</th><th scope="col">After</th><th scope="col">Change</th><th scope="col">%</th></tr></thead>
			<tbody>
				{Object.entries(data.summary).map(([name, change]) => (
					<tr>
						<th scope="row">{name.replace("_ns", "")}</th>
						<td class="number">{inUnit(change.a, unitOf(name))}</td>
						<td class="number">{inUnit(change.b, unitOf(name))}</td>
						<td class={`number ${(change.delta ?? 0) > 0 ? "more" : (change.delta ?? 0) < 0 ? "less" : ""}`}>{signed(change.delta, unitOf(name))}</td>
						<td class="number">{change.pct == null ? "" : `${change.pct > 0 ? "+" : ""}${share(change.pct)}`}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

function Lines({ data }: { data: Data }) {
	const holder = useRef<HTMLDivElement>(null);
	const lines = useMemo(() => ({ t: data.heap.map((bin) => bin.time_ns), a: data.heap.map((bin) => bin.a ?? null), b: data.heap.map((bin) => bin.b ?? null) }), [data]);
	useEffect(() => {
		const element = holder.current;
		if (!element || lines.t.length === 0) return;
		const { text, line } = ink();
		const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
		const value = (_: uPlot, raw: number | null) => bytes(raw);
		const plot = new uPlot(
			{
				width: Math.max(200, element.clientWidth),
				height: 260,
				scales: { x: { time: false } },
				series: [
					{ label: "time", value: (_, raw) => (raw == null ? "" : ns(raw)) },
					{ label: "before", stroke: "#0072b2", width: 2, dash: [6, 4], points: { show: false }, value },
					{ label: "after", stroke: "#d55e00", width: 2, points: { show: false }, value },
				],
				axes: [
					{ ...axis, space: 90, values: (_, values) => values.map((time) => ns(time)) },
					{ ...axis, size: 80, values: (_, values) => values.map((raw) => bytes(raw)) },
				],
			},
			[lines.t, lines.a, lines.b],
			element,
		);
		return () => plot.destroy();
	}, [lines, dark.value]);
	return <div ref={holder} class="lines" role="img" aria-label={`Live bytes of both runs: before up to ${bytes(Math.max(0, ...lines.a.map((value) => value ?? 0)))}, after up to ${bytes(Math.max(0, ...lines.b.map((value) => value ?? 0)))}`} />;
}

function Rows({ data }: { data: Data }) {
	const unit = unitOf(data.metric);
	const name = (row: Row) => (row.stack?.length ? pathText(row.stack) : (row.name ?? row.key));
	const columns: Column<Row>[] = [
		{ name: "status", label: "", width: "9ch", cell: (row) => <span class={row.status === "new" || row.status === "grew" ? "more" : "less"}>{row.status}</span>, text: (row) => row.status },
		{ name: "key", label: "Where", cell: (row) => <span title={name(row)}>{name(row)}</span>, text: name },
		{ name: "a", label: "Before", number: true, width: "12ch", cell: (row) => inUnit(row.a, unit), text: (row) => String(row.a ?? "") },
		{ name: "b", label: "After", number: true, width: "12ch", cell: (row) => inUnit(row.b, unit), text: (row) => String(row.b ?? "") },
		{ name: "delta", label: "Change", number: true, width: "13ch", cell: (row) => signed(row.delta, unit), text: (row) => String(row.delta ?? "") },
	];
	if (data.rows.length === 0) return <p class="empty">The runs do not differ.</p>;
	return (
		<>
			<Table label="Differences" columns={columns} rows={data.rows} rowKey={(_, index) => index} height={420} rowHeight={28} />
			<p><button onClick={() => void copy(csv(columns, data.rows), "the differences as CSV")}>Copy as CSV</button></p>
		</>
	);
}

export function Compare() {
	const status = useAnswer<Status>("/status", {});
	const traces = status.reply?.data.traces ?? [];
	const mine = key("trace") || traces[0]?.id || "";
	const others = traces.filter((trace) => trace.id !== mine);
	const base = key("base") || others[0]?.id || "";
	const by = key("key") || "stack";
	const metric = key("metric") || "bytes";
	const answer = useAnswer<Data>(base && mine ? "/compare" : null, { ...whole(), base, key: by, metric, align: key("align"), top: 500, points: 200 });
	if (status.reply && others.length === 0) return <p class="empty">Comparing needs two traces: heapwise serve BEFORE.hwt AFTER.hwt</p>;
	return (
		<div class="view">
			<div class="controls">
				<Choice label="Before" value={base} options={others.map((trace) => [trace.id, trace.name] as const)} onChange={(value) => set({ base: value })} />
				<span>After: <b>{traces.find((trace) => trace.id === mine)?.name}</b></span>
				<button onClick={() => set({ trace: base, base: mine, sel: null })}>Swap</button>
				<Choice label="By" value={by} options={keys} onChange={(value) => set({ key: value })} />
				<Choice label="Metric" value={metric} options={metrics} onChange={(value) => set({ metric: value })} />
				<Choice label="Clocks" value={key("align") || "start"} options={[["start", "from the start"], ["peak", "at the peak"], ["marks", "by marks"]]} onChange={(value) => set({ align: value })} />
			</div>
			<Panel answer={answer} label="Comparison">
				{(data) => (
					<>
						{data.a.program !== data.b.program && <p class="problem">These are different programs: {data.a.program} and {data.b.program}.</p>}
						<Caveats list={data.caveats} />
						<Summary data={data} />
						<Lines data={data} />
						<p>{count(data.changed.new)} new, {count(data.changed.gone)} gone, {count(data.changed.grew)} grew, {count(data.changed.shrank)} shrank, {count(data.changed.same)} as before</p>
						<Rows data={data} />
					</>
				)}
			</Panel>
		</div>
	);
}
