// SPDX-License-Identifier: MIT
// Which data structures the memory is: joined by type, sorted by memory; and the members of one of them.

import { useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { category } from "../lib/colour";
import { type Maybe, bytes, count, ns, score, share } from "../lib/format";
import { select, selection } from "../lib/select";
import { addWhere, key, quote, set, whole } from "../lib/state";
import { Caveats } from "../lib/result";
import { type Column, Table, csv } from "../lib/table";
import { copy } from "../lib/say";

interface Row {
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

const sorts: Record<string, string> = { at_peak_bytes: "peak", bytes: "bytes", chunks: "count", kept_bytes: "kept" };

interface Field {
	name: string;
	type: string;
	offset: number;
	size: number;
	touched: Maybe; // share of its bytes that were accessed
	note: string;
}

const columns: Column<Row>[] = [
	{ name: "type", label: "Type", cell: (row) => (row.type == null ? <i>no type known</i> : <span title={row.type}>{row.type}</span>), text: (row) => row.type ?? "" },
	{ name: "at_peak_bytes", label: "At the peak", number: true, width: "12ch", cell: (row) => bytes(row.at_peak_bytes), text: (row) => String(row.at_peak_bytes) },
	{ name: "bytes", label: "Bytes", number: true, width: "11ch", cell: (row) => bytes(row.bytes), text: (row) => String(row.bytes) },
	{ name: "chunks", label: "Chunks", number: true, width: "11ch", cell: (row) => count(row.chunks), text: (row) => String(row.chunks) },
	{ name: "count", label: "Elements", number: true, width: "11ch", cell: (row) => count(row.count), text: (row) => String(row.count ?? "") },
	{ name: "kept_bytes", label: "Kept", number: true, width: "11ch", cell: (row) => bytes(row.kept_bytes), text: (row) => String(row.kept_bytes) },
	{ name: "mean_life_ns", label: "Mean life", number: true, width: "10ch", cell: (row) => ns(row.mean_life_ns), text: (row) => String(row.mean_life_ns ?? "") },
	{ name: "lifetime", label: "Lifetime", number: true, width: "9ch", cell: (row) => score(row.lifetime), text: (row) => String(row.lifetime ?? "") },
	{ name: "usage", label: "Usage", number: true, width: "9ch", cell: (row) => score(row.usage), text: (row) => String(row.usage ?? "") },
	{ name: "source", label: "Known from", width: "16ch", cell: (row) => [row.source, row.confidence].filter(Boolean).join(", "), text: (row) => row.source ?? "" },
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

function Map({ rows }: { rows: Row[] }) {
	const shown = rows.filter((row) => row.at_peak_bytes > 0).sort((a, b) => b.at_peak_bytes - a.at_peak_bytes).slice(0, 400);
	return (
		<svg class="treemap" viewBox="0 0 1000 420" role="group" aria-label="Types by bytes at the peak">
			{treemap(shown, 1000, 420).map(({ row, x, y, w, h }, index) => (
				<g onClick={() => select("ty", row.type ?? "")}>
					<rect x={x} y={y} width={w} height={h} fill={row.type == null ? "#999999" : category(index)} fill-opacity={row.type == null ? 0.25 : 0.55} stroke="currentColor" stroke-width="0.5">
						<title>{row.type || "no type known"}: {bytes(row.at_peak_bytes)}</title>
					</rect>
					{w > 60 && h > 16 && <text x={x + 4} y={y + 14} font-size="11" fill="currentColor">{(row.type || "no type known").slice(0, Math.floor(w / 6.5))}</text>}
				</g>
			))}
		</svg>
	);
}

const fieldColumns: Column<Field>[] = [
	{ name: "offset", label: "Offset", number: true, width: "8ch", cell: (row) => String(row.offset) },
	{ name: "size", label: "Bytes", number: true, width: "8ch", cell: (row) => String(row.size) },
	{ name: "name", label: "Member", cell: (row) => row.name },
	{ name: "type", label: "Type", cell: (row) => row.type },
	{ name: "touched", label: "Used", number: true, width: "10ch", cell: (row) => share(row.touched) },
	{ name: "note", label: "", cell: (row) => row.note },
];

function Fields({ type }: { type: string }) {
	const answer = useAnswer<{ fields: Field[]; words: string }>("/types/fields", { ...whole(), type });
	if (answer.error) return <p class="quiet">{answer.error.message}</p>;
	const data = answer.reply?.data;
	if (!data) return null;
	return (
		<section aria-label="Members">
			<h2>Members of {type}</h2>
			{data.words && <p>{data.words}</p>}
			{data.fields.length > 0 && <Table label={`Members of ${type}`} columns={fieldColumns} rows={data.fields} rowKey={(row) => `${row.offset} ${row.name}`} height={320} rowHeight={26} />}
		</section>
	);
}

export function Types() {
	const sort = key("sort") || "-at_peak_bytes";
	const fold = key("fold");
	const [map, setMap] = useState(false);
	const answer = useAnswer<Data>("/types", { ...whole(), sort: sorts[sort.replace(/^-/, "")] ?? "peak", fold, top: 500 });
	const chosen = selection.value?.kind === "ty" ? selection.value.id : null;
	return (
		<div class="view">
			<div class="controls">
				<label><input type="checkbox" checked={fold === "1"} onChange={(event) => set({ fold: event.currentTarget.checked ? 1 : null })} /> Fold templates</label>
				<button aria-pressed={map} onClick={() => setMap(!map)}>Map</button>
			</div>
			<Panel answer={answer} label="Types" empty={(data) => (data.types.length === 0 ? "The program made no allocation." : null)}>
				{(data) => (
					<>
						<p class="quiet">
							{data.unknown_share ? `${share(data.unknown_share)} of the bytes have no known type: build with -g, or make an index with heapwise types-index.` : "Every byte has a type."}{" "}
							<button onClick={() => void copy(csv(columns, data.types), "the table as CSV")}>Copy as CSV</button>
						</p>
						<Caveats list={data.caveats} />
						{map ? (
							<Map rows={data.types} />
						) : (
							<Table label="Types" columns={columns} rows={data.types} rowKey={(row) => row.type ?? ""} height={560} sort={sort} onSort={(name) => set({ sort: sorts[name.replace(/^-/, "")] ? `-${name.replace(/^-/, "")}` : sort })} selected={chosen} onSelect={(row) => select("ty", row.type ?? "")} onOpen={(row) => row.type != null && addWhere(`type == ${quote(row.type)}`)} />
						)}
						{chosen && <Fields type={chosen} />}
					</>
				)}
			</Panel>
		</div>
	);
}
