// SPDX-License-Identifier: MIT
// Which thread allocates, and who frees it.

import { Panel, useAnswer } from "../lib/answer";
import { type Maybe, bytes, count, ns } from "../lib/format";
import { select, selection } from "../lib/select";
import { addWhere, common, key, set } from "../lib/state";
import { sorted } from "../lib/sort";
import { type Column, Table } from "../lib/table";

interface Row {
	thread: number;
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
	matrix_threads: number;
	// rows: threads in the order of the rows, then all others; columns: the same, then never freed
	matrix: number[][];
	shared_chunks: Maybe;
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
	const own = data.rows.slice(0, data.matrix_threads);
	const most = Math.max(1, ...data.matrix.flat());
	const others = data.rows.length > own.length;
	const rows = others ? data.matrix : data.matrix.slice(0, own.length);
	const name = (row: Row | undefined) => (row ? `${row.name || "thread"} ${row.tid}` : "others");
	const condition = (from: Row | undefined, to: number): string | null => {
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
									<td>
										<button
											disabled={n === 0 || asked == null}
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

export function Threads() {
	const answer = useAnswer<Data>("/threads", common());
	const sort = key("sort") || "-bytes";
	return (
		<div class="view">
			<Panel answer={answer} label="Threads" empty={(data) => (data.rows.length === 0 ? "No thread allocated anything." : null)}>
				{(data) => (
					<>
						<Table label="Threads" columns={columns} rows={sorted(data.rows, sort)} rowKey={(row) => row.thread} height={420} sort={sort} onSort={(name) => set({ sort: name })} selected={selection.value?.kind === "th" ? Number(selection.value.id) : null} onSelect={(row) => select("th", row.thread)} onOpen={(row) => addWhere(`thread == ${row.thread}`)} />
						{data.shared_chunks != null && <p>{count(data.shared_chunks)} chunks were used by more than one thread.</p>}
						{data.rows.length > 0 && <Matrix data={data} />}
					</>
				)}
			</Panel>
		</div>
	);
}
