// SPDX-License-Identifier: MIT
// Which sites behave worst, and why: all allocation points, and one of them whole.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Panel, Problem, useAnswer } from "../lib/answer";
import { able, against, scoped } from "../lib/catalogue";
import { bytes, codeAt, count, ns, score, share } from "../lib/format";
import type { Subject } from "../lib/menu";
import { plainName } from "../lib/names";
import { usePages } from "../lib/pages";
import { Delta, Name, Severity, Spark, lineIn, oneOf } from "../lib/parts";
import { copy, say } from "../lib/say";
import { select, selectedPoint } from "../lib/select";
import { allocsOf, bytesOf, embedded, source } from "../lib/source";
import { addWhere, common, go, key, linkTo, place, set, trace, view, whole } from "../lib/state";
import { type Column, Table } from "../lib/table";
import type { Frame, Overview, PointRow, Timeline } from "../lib/types";
import { Inferences, type PointDetail, PointFacts, Stack, placeOf, stackText } from "../drawer";
import { highest } from "../strip";
import { Preview } from "./chunks";
import { Dials } from "./dials";

interface Page {
	total: number;
	rows: PointRow[];
	gone?: { points: number; chunks: number; bytes: number }; // that only the other trace has
}

/** The whole heap over the run, behind the line of each point: computed once, not for each row. */
const heapLine = signal("");
const LINE = { width: 80, height: 30 }; // pixels

/** Places that several of the points have: who calls tells them apart. */
const repeated = signal<ReadonlySet<string>>(new Set());

function fileOf(row: PointRow): string {
	return row.file ? `${row.file.replace(/^.*\//, "")}:${row.line}` : row.fn ? (row.module ?? "").replace(/^.*\//, "") : "";
}

function whereOf(row: PointRow): string {
	const at = fileOf(row);
	const caller = row.caller && (repeated.value.has(codeAt(row) + at) || at === "") ? `called by ${plainName(row.caller)}` : "";
	return [at, caller].filter((text) => text !== "").join(", ");
}

const allColumns: Column<PointRow>[] = [
	{ name: "sev", label: "Sev.", title: "Severity, 1 best to 12 worst", number: true, width: "5ch", whole: true, cell: (row) => <Severity step={row.sev} />, text: (row) => String(row.sev ?? "") },
	{ name: "fn", label: "Function", width: "minmax(14ch, 3fr)", whole: true, cell: (row) => <span class="two" title={`${codeAt(row)}\n${row.file}:${row.line}`}><Name of={codeAt(row)} /> <span class="quiet">{whereOf(row)}</span></span>, text: codeAt },
	{ name: "type", label: "Type", width: "minmax(7ch, 2fr)", cell: (row) => row.type ?? "", text: (row) => row.type ?? "" },
	{ name: "chunks", label: "Chunks", number: true, width: "9ch", cell: (row) => count(row.chunks), text: (row) => String(row.chunks) },
	{ name: "bytes", label: "Bytes", number: true, width: "9ch", cell: (row) => bytes(row.bytes), text: (row) => String(row.bytes) },
	{ name: "peak", label: "Own peak", number: true, width: "10ch", cell: (row) => bytes(row.peak), text: (row) => String(row.peak) },
	{ name: "spark", label: "Over time", title: "Live bytes of the point; behind it, gray, of the whole heap", fixed: true, width: "84px", whole: true, cell: (row) => <Spark data={row.spark} behind={heapLine.value} {...LINE} />, text: () => "" },
	{ name: "kept", label: "Kept", number: true, width: "9ch", cell: (row) => bytes(row.kept), text: (row) => String(row.kept) },
	{ name: "avg_life", label: "Freed after", title: "Mean life of the chunks that were freed", number: true, width: "11ch", cell: (row) => (row.avg_life == null && row.kept > 0 ? "never" : ns(row.avg_life)), text: (row) => String(row.avg_life ?? "") },
	{ name: "lifetime", label: "Lifetime", number: true, width: "9ch", cell: (row) => score(row.lifetime), text: (row) => String(row.lifetime ?? "") },
	{ name: "usage", label: "Usage", number: true, width: "7ch", cell: (row) => (row.usage == null ? "" : score(row.usage)), text: (row) => String(row.usage ?? "") },
	{ name: "useful", label: "Useful", number: true, width: "7ch", cell: (row) => (row.useful == null ? "" : score(row.useful)), text: (row) => String(row.useful ?? "") },
];

/** With a second trace: what the same stacks cost there. */
const deltaColumns: Column<PointRow>[] = [
	{ name: "base", label: "Bytes before", fixed: true, number: true, width: "13ch", cell: (row) => (row.base == null ? "new" : bytes(row.base.bytes)), text: (row) => String(row.base?.bytes ?? "") },
	{ name: "delta", label: "Change", fixed: true, number: true, width: "13ch", cell: (row) => <Delta value={row.delta?.bytes} unit="bytes" />, text: (row) => String(row.delta?.bytes ?? "") },
	{ name: "delta_peak", label: "Change of peak", fixed: true, number: true, width: "13ch", cell: (row) => <Delta value={row.delta?.peak} unit="bytes" />, text: (row) => String(row.delta?.peak ?? "") },
	{ name: "delta_kept", label: "Change of kept", fixed: true, number: true, width: "15ch", cell: (row) => <Delta value={row.delta?.kept} unit="bytes" />, text: (row) => String(row.delta?.kept ?? "") },
];

/** Scores have a view of their own, unless one asks for them here. */
function hiddenColumns(): string[] {
	return (key("hidden") || (view.value === "scores" ? "" : "sev,lifetime,usage,useful")).split(",").filter((name) => name !== "");
}

function heldBy(rows: readonly PointRow[]): number {
	return rows.reduce((sum, row) => sum + row.peak, 0);
}

/** What the sums of a point are part of, over the whole run. */
const wholes = { peak: "the heap's peak", bytes: "all bytes allocated", chunks: "all chunks", kept: "everything that was never freed" };
type Sum = keyof typeof wholes;

function shareColumn(of: Sum, all: number): Column<PointRow> {
	return { name: "share", label: "Share", title: `Part of ${wholes[of]}`, fixed: true, number: true, width: "8ch", cell: (row) => (all > 0 ? share(row[of] / all) : ""), text: (row) => (all > 0 ? String(row[of] / all) : "") };
}

const NARROW = 900; // a window has no room for one more column, nor has the view of scores

/** What was not recorded has no column, nor has the type where hardly any is known; what the address leaves out is not shown. */
function shownColumns(rows: readonly PointRow[]): Column<PointRow>[] {
	const missing = [...(trace.value?.caps.access === false ? ["usage", "useful"] : []), ...(key("hidden") === "" && heldBy(rows.filter((row) => row.type)) * 20 < heldBy(rows) ? ["type"] : [])];
	const hidden = hiddenColumns();
	const compared = able("/points", "base") && key("base") !== "";
	const all = compared ? [...allColumns.slice(0, 5), ...deltaColumns, ...allColumns.slice(5)] : allColumns;
	return all.filter((column) => !missing.includes(column.name) && !hidden.includes(column.name));
}

/** Score columns are asked for worst first, all else largest first. */
function firstSort(name: string): string {
	return ["lifetime", "usage", "useful", "fn", "type"].includes(name.replace(/^-/, "")) ? name.replace(/^-/, "") : name;
}

const PINS = 4;

function pinned(): number[] {
	return key("pin").split(",").filter((text) => text !== "").map(Number).filter((id) => id >= 0);
}

function togglePin(id: number): void {
	const old = pinned();
	const next = old.includes(id) ? old.filter((other) => other !== id) : [...old, id];
	if (next.length > PINS) say(`At most ${PINS} points are compared.`);
	else set({ pin: next.join(",") || null });
}

export function subjectOf(row: PointRow): Subject {
	return {
		title: codeAt(row),
		fn: row.fn,
		module: row.module,
		file: row.file,
		line: row.line,
		point: row.id,
		stack: () => source.get<{ frames: Frame[] }>(`/stack/${row.id}`, whole()).then((reply) => stackText(reply.data.frames)),
		focus: [{ label: pinned().includes(row.id) ? "Unpin" : "Pin to compare", run: () => togglePin(row.id) }],
	};
}

export function Points() {
	if (place.value.path[0] === "point") return <Point id={place.value.path[1] ?? "0"} />;
	return <PointList />;
}

function ColumnChooser() {
	const hidden = hiddenColumns();
	return (
		<details class="chooser">
			<summary>Columns</summary>
			{allColumns.map((column) => (
				<label>
					<input type="checkbox" checked={!hidden.includes(column.name)} onChange={(event) => set({ hidden: (event.currentTarget.checked ? hidden.filter((name) => name !== column.name) : [...hidden, column.name]).join(",") || "none" })} />
					{" "}{column.title ?? column.label}
				</label>
			))}
		</details>
	);
}

function PinnedFacts({ id }: { id: number }) {
	const answer = useAnswer<PointDetail>(`/points/${id}`, common());
	const detail = answer.reply?.data;
	return (
		<section aria-label={`Pinned point ${id}`}>
			<h3>{detail ? placeOf(detail.stack) : `point ${id}`} <button aria-label={`Unpin point ${id}`} onClick={() => togglePin(id)}>✕</button></h3>
			{answer.error && <p class="quiet">{answer.error.message}</p>}
			{detail && <PointFacts detail={detail} />}
		</section>
	);
}

function Scores() {
	const data = useAnswer<Overview>("/overview", { ...scoped("/overview"), top: 10 }).reply?.data;
	return data ? <Dials data={data} /> : null;
}

function PointList() {
	const known = allColumns.filter((column) => !column.fixed).map((column) => column.name);
	const sort = oneOf("sort", ["id", "temporary", "threads", ...known].flatMap((name) => [[name, ""], [`-${name}`, ""]] as const), view.value === "scores" ? "-sev" : "-peak");
	const heap = useAnswer<Timeline>("/timeline", { ...whole(), bins: embedded ? 800 : 64, metric: "live", by: "none" }).reply;
	useEffect(() => {
		const samples = heap?.data.total.max ?? [];
		heapLine.value = samples.length > 1 ? lineIn(samples, LINE.width, LINE.height) : "";
	}, [heap]);
	const { first, rows, need } = usePages<Page, PointRow>("/points", { ...common(), ...against("/points"), sort, spark: 64 }, (data) => data.total);
	const loaded = rows.loaded();
	const about = sort.replace(/^-/, "");
	const sum = (about in wholes ? about : "peak") as Sum;
	const all = { peak: highest(heap?.data.total.max), bytes: bytesOf(first.reply?.total), chunks: allocsOf(first.reply?.total), kept: heap?.data.total.last.at(-1) ?? 0 };
	const columns = shownColumns(loaded);
	const at = columns.findIndex((column) => column.name === sum);
	if (at >= 0 && window.innerWidth > NARROW && view.value === "points") columns.splice(at + 1, 0, shareColumn(sum, all[sum]));
	useEffect(() => {
		const names = loaded.map((row) => codeAt(row) + fileOf(row));
		repeated.value = new Set(names.filter((name, at) => names.indexOf(name) !== at));
	}, [rows]);
	return (
		<div class="view">
			{view.value === "scores" && <Scores />}
			<Panel answer={first} label="Allocation points" empty={(data) => (data.total === 0 ? "The program made no allocation." : null)}>
				{(data) => (
					<>
						<div class="controls">
							<span title="An allocation point is a call stack that allocates">{count(data.total)} allocation points, each a call stack{data.gone && data.gone.points > 0 ? `; ${count(data.gone.points)} of before are gone, with ${bytes(data.gone.bytes)}` : ""}</span>
							<ColumnChooser />
						</div>
						{pinned().length > 0 && <div class="pins">{pinned().map((id) => <PinnedFacts key={id} id={id} />)}</div>}
						<Table
							label="Allocation points"
							columns={columns}
							rows={rows}
							rowKey={(row) => row.id}
							rowHeight={40}
							copied={() => rows.loaded()}
							height={640}
							sort={sort}
							onSort={(name) => set({ sort: firstSort(name) })}
							selected={selectedPoint()}
							onSelect={(row) => select("p", row.id)}
							onOpen={(row) => go(`point/${row.id}`)}
							onKey={(event, row) => {
								if (event.key !== " ") return false;
								togglePin(row.id);
								return true;
							}}
							menu={subjectOf}
							need={need}
						/>
					</>
				)}
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

/** The point's own bytes over the bytes of all. */
function OwnLine({ id }: { id: string }) {
	const own = useAnswer<Timeline>(`/points/${encodeURIComponent(id)}/timeline`, { ...common(), bins: 200 }).reply?.data;
	const all = useAnswer<Timeline>("/timeline", { ...whole(), bins: 200 }).reply?.data;
	if (!own || own.t.length === 0) return null;
	const line = (values: number[]) => {
		const most = Math.max(1, ...values);
		return values.map((value, bin) => `${((bin + 0.5) / values.length) * 600},${(79 - (value / most) * 76).toFixed(1)}`).join(" ");
	};
	return (
		<figure>
			<svg class="own-line" viewBox="0 0 600 80" preserveAspectRatio="none" role="img" aria-label={`Live bytes of this point, up to ${bytes(Math.max(0, ...own.total.max))}`}>
				{all && <polyline points={line(all.total.max)} fill="none" stroke="var(--quiet)" stroke-width="1" vector-effect="non-scaling-stroke" />}
				<polyline points={line(own.total.max)} fill="none" stroke="var(--accent)" stroke-width="2" vector-effect="non-scaling-stroke" />
			</svg>
			<figcaption class="quiet">Live bytes of this point, up to {bytes(Math.max(0, ...own.total.max))}; thin, on a scale of its own: of the whole heap{all ? `, up to ${bytes(Math.max(0, ...all.total.max))}` : ""}.</figcaption>
		</figure>
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
				<a class="button" href={linkTo("flame", { sel: `p:${id}` })}>Flame graph</a>
				<a class="button" href={linkTo("chunks", { point: id })}>Chunks</a>
				{!embedded && <button onClick={() => addWhere(`point == ${id}`)}>Only this</button>}
				<button onClick={() => void copy(stackText(detail.stack), "the stack")}>Copy stack</button>
			</p>
			{!embedded && <OwnLine id={id} />}
			<Preview point={id} />
			<div class="pair">
				<section><h3>Allocated by</h3><Stack stack={detail.stack} /></section>
				<section>
					<h3>Freed by</h3>
					{detail.free_sites.length === 0 && <p class="quiet">Never freed, or free stacks were not recorded.</p>}
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
