// SPDX-License-Identifier: MIT
// Which data structures the memory is: joined by type, sorted by memory; and the members of one of them.

import { Panel, useAnswer } from "../lib/answer";
import { type Beside, type Pair, beside, besideColumns } from "../lib/beside";
import { against, scoped } from "../lib/catalogue";
import { category } from "../lib/colour";
import { Segment } from "../lib/controls";
import { type Maybe, bytes, count, ns, score, share } from "../lib/format";
import { type Subject, menuOf } from "../lib/menu";
import { Unfiltered } from "../lib/notice";
import { Caveats } from "../lib/result";
import { select, selection } from "../lib/select";
import { sorted } from "../lib/sort";
import { type Reply, embedded } from "../lib/source";
import { addWhere, key, query, quote, set, trace, whole } from "../lib/state";
import { type Column, Table } from "../lib/table";

interface Row extends Beside {
	type: string | null; // null = not known
	chunks: number;
	count: Maybe;
	bytes: number;
	at_peak_bytes: number;
	kept_bytes: number;
	mean_life_ns: Maybe;
	lifetime: Maybe;
	usage: Maybe;
	useful: Maybe;
	source: string | null;
	confidence: string | null;
}

interface Data {
	types: Row[];
	unknown_share: Maybe;
	caveats: string[];
}

/** Rows as those of the data, then those that only the other trace has. */
type Pairs = (Pair & { type: string | null })[];

const sorts: Record<string, string> = { at_peak_bytes: "peak", bytes: "bytes", chunks: "count", kept_bytes: "kept" };

interface Field {
	offset: number;
	size: number;
	member: string | null; // null = padding
	accessed: Maybe; // bytes, in any chunk
	read: Maybe; // chunks
	written: Maybe;
	read_bytes: Maybe; // in any chunk
	written_bytes: Maybe;
	state: string | null;
	type: string | null;
}

interface FieldsData {
	size: number;
	padding: number;
	chunks: number;
	measured: number;
	members: Field[];
	caveats?: string[];
}

/** Nothing where it is not known. */
function known(value: Maybe, show: (value: Maybe) => string): string {
	return value == null ? "" : show(value);
}

const columns: Column<Row>[] = [
	{ name: "type", label: "Type", width: "minmax(14ch, 3fr)", cell: (row) => (row.type == null ? <i>no type known</i> : <span title={row.type}>{row.type}</span>), text: (row) => row.type ?? "" },
	{ name: "at_peak_bytes", label: "At the peak", number: true, width: "12ch", cell: (row) => bytes(row.at_peak_bytes), text: (row) => String(row.at_peak_bytes) },
	{ name: "bytes", label: "Bytes", number: true, width: "9ch", cell: (row) => bytes(row.bytes), text: (row) => String(row.bytes) },
	{ name: "chunks", label: "Chunks", number: true, width: "12ch", cell: (row) => count(row.chunks), text: (row) => String(row.chunks) },
	{ name: "count", label: "Elements", number: true, width: "12ch", cell: (row) => known(row.count, count), text: (row) => String(row.count ?? "") },
	{ name: "kept_bytes", label: "Kept", number: true, width: "9ch", cell: (row) => bytes(row.kept_bytes), text: (row) => String(row.kept_bytes) },
	{ name: "mean_life_ns", label: "Freed after", title: "Mean life of the chunks that were freed", number: true, width: "10ch", cell: (row) => known(row.mean_life_ns, ns), text: (row) => String(row.mean_life_ns ?? "") },
	{ name: "lifetime", label: "Lifetime", number: true, width: "9ch", cell: (row) => known(row.lifetime, score), text: (row) => String(row.lifetime ?? "") },
	{ name: "usage", label: "Usage", number: true, width: "8ch", cell: (row) => known(row.usage, score), text: (row) => String(row.usage ?? "") },
	{ name: "source", label: "Known from", width: "13ch", cell: (row) => (row.type == null ? "" : [row.source, row.confidence].filter(Boolean).join(", ")), text: (row) => row.source ?? "" },
];

/** The largest first, in rows of about equal shape: each row takes a share of the height. */
function treemap(rows: Row[], width: number, height: number): { row: Row; x: number; y: number; w: number; h: number }[] {
	const sum = rows.reduce((total, row) => total + row.at_peak_bytes, 0) || 1;
	const cells: { row: Row; x: number; y: number; w: number; h: number }[] = [];
	let y = 0;
	for (let first = 0; first < rows.length; ) {
		let last = first;
		let part = 0;
		let worst = Infinity;
		while (last < rows.length) {
			const next = part + (rows[last]?.at_peak_bytes ?? 0);
			const h = (next / sum) * height;
			const smallest = ((rows[last]?.at_peak_bytes ?? 0) / next) * width;
			const shape = Math.max(h / smallest, smallest / h);
			if (last > first && shape > worst) break;
			worst = shape;
			part = next;
			last++;
		}
		const h = (part / sum) * height;
		let x = 0;
		for (; first < last; first++) {
			const row = rows[first];
			if (!row) continue;
			const w = part ? (row.at_peak_bytes / part) * width : 0;
			cells.push({ row, x, y, w, h });
			x += w;
		}
		y += h;
	}
	return cells;
}

function nodeKeys(row: Row) {
	const menu = menuOf(() => subjectOf(row));
	return {
		...menu,
		onKeyDown: (event: KeyboardEvent) => {
			if (event.key === "Enter") select("ty", row.type ?? "");
			else menu.onKeyDown(event);
		},
	};
}

function Treemap({ rows }: { rows: Row[] }) {
	const shown = rows.filter((row) => row.at_peak_bytes > 0).sort((a, b) => b.at_peak_bytes - a.at_peak_bytes).slice(0, 400);
	return (
		<svg class="treemap" viewBox="0 0 1000 420" role="group" aria-label="Types by bytes at the peak">
			{treemap(shown, 1000, 420).map(({ row, x, y, w, h }, index) => (
				<g class="node" tabindex={0} role="button" aria-label={`${row.type ?? "no type known"}: ${bytes(row.at_peak_bytes)}`} onClick={() => select("ty", row.type ?? "")} {...nodeKeys(row)}>
					<rect x={x} y={y} width={w} height={h} fill={row.type == null ? "#999999" : category(index)} fill-opacity={row.type == null ? 0.25 : 0.55} stroke="currentColor" stroke-width="0.5">
						<title>{row.type || "no type known"}: {bytes(row.at_peak_bytes)}</title>
					</rect>
					{w > 60 && h > 16 && <text x={x + 4} y={y + 14} font-size="11" fill="currentColor">{(row.type || "no type known").slice(0, Math.floor(w / 6.5))}</text>}
					{w > 60 && h > 32 && <text x={x + 4} y={y + 28} font-size="11" fill="currentColor" fill-opacity={0.75}>{bytes(row.at_peak_bytes)}</text>}
				</g>
			))}
		</svg>
	);
}

// "5 of 16 B", and nothing where it was not measured.
function part(touched: Maybe, size: number) {
	return touched == null ? "" : `${touched} of ${size} B`;
}

const fieldColumns: Column<Field>[] = [
	{ name: "offset", label: "Offset", number: true, width: "8ch", cell: (row) => String(row.offset) },
	{ name: "size", label: "Bytes", number: true, width: "8ch", cell: (row) => String(row.size) },
	{ name: "member", label: "Member", cell: (row) => row.member ?? <i>{row.state === "padding" ? "padding" : "unnamed"}</i> },
	{ name: "state", label: "State", width: "20ch", cell: (row) => row.state ?? "" },
];

// Of recordings that tell reads from writes, and of older ones.
const sideColumns: Column<Field>[] = [
	{ name: "read", label: "Read by", number: true, width: "10ch", cell: (row) => count(row.read) },
	{ name: "written", label: "Written by", number: true, width: "10ch", cell: (row) => count(row.written) },
	{ name: "read_bytes", label: "Bytes read", number: true, width: "12ch", cell: (row) => part(row.read_bytes, row.size) },
	{ name: "written_bytes", label: "Bytes written", number: true, width: "12ch", cell: (row) => part(row.written_bytes, row.size) },
];
const accessedColumns: Column<Field>[] = [
	{ name: "accessed", label: "Accessed", number: true, width: "12ch", cell: (row) => part(row.accessed, row.size) },
];
const typeColumn: Column<Field> = { name: "type", label: "Type", cell: (row) => row.type ?? "" };

function columnsOf(members: Field[]) {
	const sided = members.some((row) => row.read != null);
	const measured = members.some((row) => row.accessed != null);
	return [...fieldColumns, ...(sided ? sideColumns : measured ? accessedColumns : []), typeColumn];
}

/** The members as they lie in memory, as wide as their bytes; hatched is padding. */
function Layout({ data }: { data: FieldsData }) {
	return (
		<div class="layout" role="img" aria-label={`${data.size} bytes, ${data.padding} of them padding`}>
			{data.members.map((field) => (
				<span class={field.state === "padding" ? "padding" : ""} style={{ flexGrow: field.size, background: field.state === "padding" ? undefined : `color-mix(in srgb, var(--accent) ${Math.round(15 + 55 * (field.accessed == null ? 0.3 : field.accessed / field.size))}%, var(--ground))` }} title={`${field.member ?? field.state ?? ""}: ${field.size} bytes at ${field.offset}`}>
					{field.member ?? ""}
				</span>
			))}
		</div>
	);
}

function Fields({ type }: { type: string }) {
	const answer = useAnswer<FieldsData>("/types/fields", { ...whole(), type });
	if (answer.error) return <p class="quiet">{answer.error.message}</p>;
	const data = answer.reply?.data;
	if (!data) return null;
	return (
		<section aria-label="Members">
			<h2>Members of {type}</h2>
			<p>{bytes(data.size)} each, {bytes(data.padding)} of it padding. {data.measured > 0 && `Accesses were recorded for ${count(data.measured)} of ${count(data.chunks)} chunks.`}</p>
			<Caveats list={data.caveats ?? []} />
			{data.members.length > 0 && data.members.length <= 60 && <Layout data={data} />}
			{data.members.length > 0 && <Table label={`Members of ${type}`} columns={columnsOf(data.members)} rows={data.members} rowKey={(row) => `${row.offset} ${row.member ?? ""}`} height={320} rowHeight={26} />}
		</section>
	);
}

/** A colour for one type, which the query gives it, so that timeline, map and entries show it. */
function Swatch({ type }: { type: string }) {
	return (
		<label class="choice">
			Colour
			<input type="color" value="#d55e00" onChange={(event) => set({ q: `${query() || "all"} | color ${event.currentTarget.value} if type == ${quote(type)}`, g: null })} />
		</label>
	);
}

function subjectOf(row: Row): Subject {
	return { title: row.type ?? "no type known", type: row.type };
}

const nothing = { chunks: 0, count: 0, bytes: 0, at_peak_bytes: 0, kept_bytes: 0, mean_life_ns: null, lifetime: null, usage: null, useful: null, source: null, confidence: null };

function withBase(rows: Row[], pairs: Pairs): Row[] {
	return pairs.map((pair, at) => ({ ...(rows[at] ?? { type: pair.type, ...nothing }), ...beside(pair) }));
}

export function Types() {
	const sort = key("sort") || "-at_peak_bytes";
	const name = sort.replace(/^-/, "");
	const fold = key("fold");
	const map = key("map") === "1";
	const asked = { sort: sorts[name] ?? "peak", fold: fold === "1" ? "template" : null, top: 500 };
	const answer = useAnswer<Data>("/types", { ...scoped("/types"), ...against("/types"), ...asked });
	const pairs = (answer.reply as (Reply<Data> & { base?: Pairs }) | null)?.base;
	const chosen = selection.value?.kind === "ty" ? selection.value.id : null;
	const recorded = columns.filter((column) => column.name !== "usage" || trace.value?.caps.access !== false);
	const shownColumns: Column<Row>[] = pairs ? [...recorded.slice(0, 3), ...besideColumns, ...recorded.slice(3)] : recorded;
	return (
		<div class="view">
			<div class="controls">
				<Segment label="Shown as" value={map ? "1" : ""} options={[["", "Table"], ["1", "Map"]]} onChange={(value) => set({ map: value || null })} />
				<label><input type="checkbox" checked={fold === "1"} onChange={(event) => set({ fold: event.currentTarget.checked ? 1 : null })} /> Fold templates</label>
				{chosen && !embedded && <Swatch type={chosen} />}
			</div>
			<Panel answer={answer} label="Types" empty={(data) => (data.types.length === 0 ? "The program made no allocation." : null)}>
				{(data) => {
					const all = pairs ? withBase(data.types, pairs) : data.types;
					const rows = sorted(all, sort);
					return (
						<>
							<Unfiltered path="/types" />
							<p class="quiet">
								{!data.unknown_share ? "Every byte has a type." : `${share(data.unknown_share)} of all allocated bytes have no known type${data.unknown_share < 0.01 ? "." : ": build with -g, or make an index with heapwise trace types-index."}`}
							</p>
							<Caveats list={data.caveats} />
							{map ? (
								<Treemap rows={data.types} />
							) : (
								<Table copied={() => rows} label="Types" columns={shownColumns} rows={rows} rowKey={(row) => row.type ?? ""} height={560} sort={sort} onSort={(next) => set({ sort: next })} selected={chosen} onSelect={(row) => select("ty", row.type ?? "")} onOpen={(row) => !embedded && addWhere(row.type == null ? "not known(type)" : `type == ${quote(row.type)}`)} menu={subjectOf} />
							)}
							{chosen && !embedded && <Fields key={chosen} type={chosen} />}
						</>
					);
				}}
			</Panel>
		</div>
	);
}
