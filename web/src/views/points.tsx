// SPDX-License-Identifier: MIT
// Which sites behave worst, and why: all allocation points, and one of them whole.

import { useEffect, useRef, useState } from "preact/hooks";
import { Panel, Problem, useAnswer } from "../lib/answer";
import { bytes, count, ns, score } from "../lib/format";
import { Severity, Spark } from "../lib/parts";
import { select, selectedPoint } from "../lib/select";
import { source } from "../lib/source";
import { addWhere, common, go, key, linkTo, place, set } from "../lib/state";
import { type Column, Table, csv } from "../lib/table";
import type { PointRow } from "../lib/types";
import { Inferences, type PointDetail, PointFacts, Stack, placeOf } from "../drawer";
import { copy, trace } from "../shell";

const PAGE = 100;

interface Page {
	total: number;
	rows: PointRow[];
}

const allColumns: Column<PointRow>[] = [
	{ name: "sev", label: "Sev.", title: "Severity, 1 best to 12 worst", number: true, width: "6ch", cell: (row) => <Severity step={row.sev} />, text: (row) => String(row.sev ?? "") },
	{ name: "fn", label: "Function", width: "minmax(26ch, 3fr)", cell: (row) => <span title={`${row.fn}\n${row.file}:${row.line}`}>{row.fn || "unknown"} <span class="quiet">{row.file ? `${row.file.replace(/^.*\//, "")}:${row.line}` : ""}</span></span>, text: (row) => row.fn ?? "" },
	{ name: "type", label: "Type", width: "minmax(8ch, 1fr)", cell: (row) => row.type ?? "", text: (row) => row.type ?? "" },
	{ name: "chunks", label: "Chunks", number: true, width: "11ch", cell: (row) => count(row.chunks), text: (row) => String(row.chunks) },
	{ name: "bytes", label: "Bytes", number: true, width: "11ch", cell: (row) => bytes(row.bytes), text: (row) => String(row.bytes) },
	{ name: "peak", label: "Own peak", number: true, width: "11ch", cell: (row) => bytes(row.peak), text: (row) => String(row.peak) },
	{ name: "leaked", label: "Kept", number: true, width: "11ch", cell: (row) => bytes(row.leaked), text: (row) => String(row.leaked) },
	{ name: "avg_life", label: "Mean life", number: true, width: "10ch", cell: (row) => ns(row.avg_life), text: (row) => String(row.avg_life ?? "") },
	{ name: "lifetime", label: "Lifetime", number: true, width: "9ch", cell: (row) => score(row.lifetime), text: (row) => String(row.lifetime ?? "") },
	{ name: "usage", label: "Usage", number: true, width: "9ch", cell: (row) => score(row.usage), text: (row) => String(row.usage ?? "") },
	{ name: "useful", label: "Useful", number: true, width: "9ch", cell: (row) => score(row.useful), text: (row) => String(row.useful ?? "") },
	{ name: "spark", label: "Over time", width: "100px", cell: (row) => <Spark data={row.spark} />, text: () => "" },
];

/** What was not recorded has no column. */
function shownColumns(): Column<PointRow>[] {
	const missing = trace.value?.caps.access === false ? ["usage", "useful"] : [];
	return allColumns.filter((column) => !missing.includes(column.name));
}

/** Score columns are asked for worst first, all else largest first. */
function firstSort(name: string): string {
	return ["lifetime", "usage", "useful", "fn", "type"].includes(name.replace(/^-/, "")) ? name.replace(/^-/, "") : name;
}

export function Points() {
	if (place.value.path[0] === "point") return <Point id={place.value.path[1] ?? "0"} />;
	return <PointList />;
}

function PointList() {
	const sort = key("sort") || "-sev";
	const columns = shownColumns();
	const question = JSON.stringify({ ...common(), sort });
	const first = useAnswer<Page>("/points", { ...common(), sort, offset: 0, limit: PAGE, spark: 64 });
	const [further, setFurther] = useState<PointRow[]>([]);
	const asking = useRef(false);
	useEffect(() => setFurther([]), [question, first.reply]);
	const more = (index: number, rows: PointRow[], total: number) => {
		if (asking.current || index < rows.length - 20 || rows.length >= total) return;
		asking.current = true;
		source
			.get<Page>("/points", { ...common(), sort, offset: rows.length, limit: PAGE, spark: 64 })
			.then((reply) => setFurther((old) => [...old, ...reply.data.rows]))
			.catch(() => undefined)
			.finally(() => (asking.current = false));
	};
	return (
		<div class="view">
			<Panel answer={first} label="Allocation points" empty={(data) => (data.total === 0 ? "The program made no allocation." : null)}>
				{(data) => {
					const rows = [...data.rows, ...further];
					return (
						<>
							<div class="controls">
								<span>{count(data.total)} allocation points</span>
								<button onClick={() => void copy(csv(columns, rows), `${count(rows.length)} rows as CSV`)}>Copy as CSV</button>
							</div>
							<Table
								label="Allocation points"
								columns={columns}
								rows={rows}
								rowKey={(row) => row.id}
								rowHeight={36}
								height={640}
								sort={sort}
								onSort={(name) => set({ sort: firstSort(name) })}
								selected={selectedPoint()}
								onSelect={(row) => select("p", row.id)}
								onOpen={(row) => go(`point/${row.id}`)}
								more={(index) => more(index, rows, data.total)}
							/>
						</>
					);
				}}
			</Panel>
		</div>
	);
}

function Bars({ label, bars, show }: { label: string; bars: { from: number; n: number }[]; show(value: number): string }) {
	const most = Math.max(1, ...bars.map((bar) => bar.n));
	return (
		<table class="bars">
			<caption>{label}</caption>
			<tbody>
				{bars.map((bar) => (
					<tr>
						<th scope="row">{show(bar.from)}</th>
						<td><span class="bar"><span style={{ width: `${(bar.n / most) * 100}%` }} /></span></td>
						<td class="number">{count(bar.n)}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

function Point({ id }: { id: string }) {
	const answer = useAnswer<PointDetail>(`/points/${encodeURIComponent(id)}`, common());
	const detail = answer.reply?.data;
	if (answer.error) return <Problem error={answer.error} retry={answer.retry} />;
	if (!detail) return <p class="quiet">…</p>;
	return (
		<article class="view point">
			<p><a href={linkTo("points")}>All points</a></p>
			<h2>{placeOf(detail.stack)}</h2>
			<PointFacts detail={detail} />
			<Inferences detail={detail} />
			<p class="buttons">
				<a class="button" href={linkTo("chunks", { point: id })}>Chunks</a>
				<button onClick={() => addWhere(`point == ${id}`)}>Only this</button>
			</p>
			<div class="pair">
				<section><h3>Allocated by</h3><Stack stack={detail.stack} /></section>
				<section>
					<h3>Freed by</h3>
					{detail.free_sites.length === 0 && <p class="quiet">Nobody, or free stacks were not recorded.</p>}
					{detail.free_sites.slice(0, 5).map((site) => <><p>{count(site.n)} times</p><Stack stack={site.stack} /></>)}
				</section>
			</div>
			<div class="pair">
				<Bars label="Sizes" bars={detail.stats.size.hist} show={bytes} />
				<Bars label="Lifetimes" bars={detail.stats.life.hist} show={ns} />
			</div>
		</article>
	);
}
