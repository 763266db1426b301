// SPDX-License-Identifier: MIT
// Which thread allocates, and who frees it.

import { Panel, useAnswer } from "../lib/answer";
import { type Beside, type Pair, beside, besideColumns } from "../lib/beside";
import { against } from "../lib/catalogue";
import { category } from "../lib/colour";
import { Segment } from "../lib/controls";
import { type Maybe, bytes, count, ns, share } from "../lib/format";
import { Lane } from "../lib/lane";
import { type Subject, menuOf } from "../lib/menu";
import { TimeAxis, oneOf } from "../lib/parts";
import { select, selection } from "../lib/select";
import { sorted } from "../lib/sort";
import { embedded } from "../lib/source";
import { addWhere, common, key, linkTo, set } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { type ThreadRow, threadName } from "../lib/thread";
import type { Timeline } from "../lib/types";

interface Data {
	rows: (ThreadRow & Pair)[];
	matrix_threads: number;
	// rows: threads in the order of the rows, then all others; columns: the same, then never freed
	matrix: number[][];
	shared_chunks: Maybe;
}

const columns: Column<ThreadRow & Beside>[] = [
	{ name: "name", label: "Thread", cell: (row) => <span title={row.begins_in ?? ""}>{threadName(row)}</span>, text: threadName },
	{ name: "start", label: "Begins", number: true, width: "11ch", cell: (row) => ns(row.start) },
	{ name: "allocs", label: "Allocations", number: true, width: "12ch", cell: (row) => count(row.allocs) },
	{ name: "bytes", label: "Bytes", number: true, width: "11ch", cell: (row) => bytes(row.bytes) },
	{ name: "peak", label: "Own peak", number: true, width: "11ch", cell: (row) => bytes(row.peak) },
	{ name: "kept", label: "Kept", number: true, width: "11ch", cell: (row) => bytes(row.kept) },
	{ name: "frees_own", label: "Frees of its own", number: true, width: "14ch", cell: (row) => count(row.frees_own) },
	{ name: "frees_other", label: "Frees for others", number: true, width: "11ch", cell: (row) => count(row.frees_other) },
	{ name: "alloc_time", label: "In the allocator", number: true, width: "15ch", cell: (row) => ns(row.alloc_time), text: (row) => String(row.alloc_time ?? "") },
];

function Matrix({ data }: { data: Data }) {
	const own = data.rows.slice(0, data.matrix_threads);
	const most = Math.max(1, ...data.matrix.flat());
	const others = data.rows.length > own.length;
	const rows = others ? data.matrix : data.matrix.slice(0, own.length);
	const name = (row: ThreadRow | undefined) => (row ? threadName(row) : "others");
	const condition = (from: ThreadRow | undefined, to: number): string | null => {
		if (!from) return null;
		if (to === own.length + 1) return `thread == ${from.thread} and not freed`;
		const freed = own[to];
		return freed ? `thread == ${from.thread} and free_thread == ${freed.thread}` : null;
	};
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="Who frees whose memory">
			<table class="matrix">
				<caption>Chunks allocated by (rows) and freed by (columns)</caption>
				<thead>
					<tr><td />{own.map((row) => <th scope="col">{name(row)}</th>)}{others && <th scope="col">others</th>}<th scope="col">never freed</th></tr>
				</thead>
				<tbody>
					{rows.map((counts, at) => (
						<tr>
							<th scope="row">{name(own[at])}</th>
							{counts.map((n, to) => {
								const asked = condition(own[at], to);
								if (to === own.length && !others) return null;
								return (
									<td {...(asked == null ? {} : menuOf(() => ({ title: `${name(own[at])} → ${own[to] ? name(own[to]) : "never freed"}`, condition: asked })))}>
										<button
											disabled={n === 0 || asked == null || embedded}
											style={{ background: `color-mix(in srgb, var(--accent) ${Math.round(40 * (Math.log1p(n) / Math.log1p(most)))}%, var(--ground))` }}
											onClick={() => asked && addWhere(asked)}
										>
											{count(n)}
										</button>
									</td>
								);
							})}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

const CHURN = 10; // times its own peak is what a thread allocates that churns

/** Who allocates most, and who allocates the same memory again and again. */
function Sentence({ rows }: { rows: ThreadRow[] }) {
	const all = rows.reduce((sum, row) => sum + row.allocs, 0);
	const most = sorted(rows, "-allocs")[0];
	const turn = (row: ThreadRow) => row.bytes / Math.max(1, row.peak);
	const churns = rows.filter((row) => row.allocs * 20 >= all && turn(row) >= CHURN).sort((a, b) => turn(b) - turn(a))[0];
	if (!most || all === 0) return null;
	return (
		<p class="sentence" data-t="sentence">
			{rows.length === 1 ? <>One thread made all {count(all)} allocations.</> : <>{threadName(most)} made {share(most.allocs / all)} of {count(all)} allocations.</>}
			{churns && <> {rows.length > 1 ? threadName(churns) : "It"} churns{rows.length > 1 ? " most" : ""}: it allocated <a href={linkTo("flame", { metric: "bytes", ...(embedded || rows.length === 1 ? {} : { q: `all | where thread == ${churns.thread}`, g: null }) })}>{bytes(churns.bytes)}</a> and never held more than {bytes(churns.peak)}.</>}
		</p>
	);
}

const lanes = [["allocs", "Allocations"], ["live", "Live bytes"]] as const;

/** What each thread does over time. */
function Lanes({ rows }: { rows: ThreadRow[] }) {
	const metric = oneOf("metric", lanes, "allocs");
	const answer = useAnswer<Timeline>("/timeline", { ...common(), by: "thread", metric, bins: 800, top: 12 });
	const data = answer.reply?.data;
	const shared = key("y") !== "own";
	const name = (label: string | null) => {
		const row = rows.find(({ tid }) => tid === parseInt(label ?? ""));
		return row ? threadName(row) : (label ?? "");
	};
	if (!data || data.t.length === 0) return null;
	// single bins of allocations are mostly noise
	const every = metric === "allocs" ? 4 : 1;
	const ends = data.t.flatMap((_, bin) => ((bin + 1) % every && bin + 1 < data.t.length ? [] : [bin]));
	const times = ends.map((bin) => data.t[bin] ?? 0);
	const order = (label: string | null) => rows.findIndex(({ tid }) => tid === parseInt(label ?? ""));
	const series = [...data.series].sort((a, b) => order(a.label) - order(b.label)).map(({ label, last }) => ({ label, values: ends.map((bin, at) => (every === 1 ? (last[bin] ?? 0) : last.slice((ends[at - 1] ?? -1) + 1, bin + 1).reduce((sum, value) => sum + value, 0))) }));
	const most = Math.max(1, ...series.flatMap(({ values }) => values));
	const unit = metric === "live" ? "bytes" : "count";
	return (
		<section class="lanes" aria-label="Each thread over time">
			<h2>Over time</h2>
			<div class="controls">
				<Segment label="Shown over time" value={metric} options={lanes} onChange={(value) => set({ metric: value === "allocs" ? null : value })} />
				<label><input type="checkbox" checked={shared} onChange={(event) => set({ y: event.currentTarget.checked ? null : "own" })} /> One scale for all</label>
				{metric === "allocs" && <span class="quiet">Allocations in each {ns((data.t1 - data.t0) / times.length)}</span>}
			</div>
			{series.map(({ label, values }, at) => <Lane label={name(label)} times={times} from={data.t0} to={data.t1} unit={unit} lines={[{ name: name(label), colour: category(at), values }]} {...(shared ? { most } : {})} />)}
			<div class="lane"><TimeAxis from={data.t0} to={data.t1} /></div>
		</section>
	);
}

function subjectOf(row: ThreadRow): Subject {
	return { title: threadName(row), thread: row.thread };
}

export function Threads() {
	const answer = useAnswer<Data>("/threads", { ...common(), ...against("/threads") });
	const sort = key("sort") || "-allocs";
	const shown: Column<ThreadRow & Beside>[] = key("base") === "" ? columns : [...columns.slice(0, 4), ...besideColumns, ...columns.slice(4)];
	return (
		<div class="view">
			<Panel answer={answer} label="Threads" empty={(data) => (data.rows.length === 0 ? "No thread allocated anything." : null)}>
				{(data) => (
					<>
						<Sentence rows={data.rows} />
						<Table label="Threads" columns={shown} rows={sorted(data.rows.map((row) => ({ ...row, ...beside(row) })), sort)} rowKey={(row) => row.thread} height={420} sort={sort} onSort={(name) => set({ sort: name })} selected={selection.value?.kind === "th" ? Number(selection.value.id) : null} onSelect={(row) => select("th", row.thread)} onOpen={(row) => !embedded && addWhere(`thread == ${row.thread}`)} menu={subjectOf} copied={() => data.rows} />
						{data.shared_chunks != null && <p>{count(data.shared_chunks)} chunks were used by more than one thread.</p>}
						<Lanes rows={sorted(data.rows, sort)} />
						<h2>Who frees whose memory</h2>
						{data.rows.length > 0 && <Matrix data={data} />}
					</>
				)}
			</Panel>
		</div>
	);
}
