// SPDX-License-Identifier: MIT
// Which thread allocates, and who frees it.

import { Panel, useAnswer } from "../lib/answer";
import { type Maybe, bytes, count, ns } from "../lib/format";
import { select, selection } from "../lib/select";
import { addWhere, common, key, set } from "../lib/state";
import { type Column, Table } from "../lib/table";

interface Row {
	id: number;
	tid: number;
	name: string;
	start: Maybe;
	allocs: number;
	bytes: number;
	peak: number;
	live: number;
	frees_own: number;
	frees_other: number;
	leaked: number;
}

interface Data {
	rows: Row[];
	matrix: { threads: number[]; counts: number[][] };
	shared: Maybe;
}

const columns: Column<Row>[] = [
	{ name: "name", label: "Thread", cell: (row) => `${row.name || "thread"} ${row.tid}` },
	{ name: "start", label: "Begins", number: true, width: "11ch", cell: (row) => ns(row.start) },
	{ name: "allocs", label: "Allocations", number: true, width: "12ch", cell: (row) => count(row.allocs) },
	{ name: "bytes", label: "Bytes", number: true, width: "11ch", cell: (row) => bytes(row.bytes) },
	{ name: "peak", label: "Own peak", number: true, width: "11ch", cell: (row) => bytes(row.peak) },
	{ name: "leaked", label: "Kept", number: true, width: "11ch", cell: (row) => bytes(row.leaked) },
	{ name: "frees_own", label: "Freed by itself", number: true, width: "14ch", cell: (row) => count(row.frees_own) },
	{ name: "frees_other", label: "By others", number: true, width: "11ch", cell: (row) => count(row.frees_other) },
];

function Matrix({ data }: { data: Data }) {
	const names = new Map(data.rows.map((row) => [row.id, `${row.name || "thread"} ${row.tid}`]));
	const most = Math.max(1, ...data.matrix.counts.flat());
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="Who frees whose memory">
			<table class="matrix">
				<caption>Chunks allocated by (rows) and freed by (columns)</caption>
				<thead>
					<tr><th />{data.matrix.threads.map((id) => <th scope="col">{names.get(id) ?? id}</th>)}</tr>
				</thead>
				<tbody>
					{data.matrix.counts.map((row, at) => (
						<tr>
							<th scope="row">{names.get(data.matrix.threads[at] ?? -1) ?? data.matrix.threads[at]}</th>
							{row.map((n, to) => (
								<td>
									<button
										disabled={n === 0}
										style={{ background: `color-mix(in srgb, var(--accent) ${Math.round(60 * (Math.log1p(n) / Math.log1p(most)))}%, var(--ground))` }}
										onClick={() => addWhere(`thread == ${data.matrix.threads[at]} and free_thread == ${data.matrix.threads[to]}`)}
									>
										{count(n)}
									</button>
								</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

function sorted(rows: Row[], sort: string): Row[] {
	const name = sort.replace(/^-/, "") as keyof Row;
	const sign = sort.startsWith("-") ? -1 : 1;
	return [...rows].sort((a, b) => sign * (typeof a[name] === "string" ? String(a[name]).localeCompare(String(b[name])) : Number(a[name] ?? 0) - Number(b[name] ?? 0)));
}

export function Threads() {
	const answer = useAnswer<Data>("/threads", common());
	const sort = key("sort") || "-bytes";
	return (
		<div class="view">
			<Panel answer={answer} label="Threads" empty={(data) => (data.rows.length === 0 ? "No thread allocated anything." : null)}>
				{(data) => (
					<>
						<Table label="Threads" columns={columns} rows={sorted(data.rows, sort)} rowKey={(row) => row.id} height={420} sort={sort} onSort={(name) => set({ sort: name })} selected={selection.value?.kind === "th" ? Number(selection.value.id) : null} onSelect={(row) => select("th", row.id)} onOpen={(row) => addWhere(`thread == ${row.id}`)} />
						{data.shared != null && <p>{count(data.shared)} chunks were used by more than one thread.</p>}
						{data.matrix.threads.length > 1 && <Matrix data={data} />}
					</>
				)}
			</Panel>
		</div>
	);
}
