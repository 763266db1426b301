// SPDX-License-Identifier: MIT
// Which data structures the memory is: joined by type, sorted by memory; and the members of one of them.

import { useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { category } from "../lib/colour";
import { type Maybe, bytes, count, ns, share } from "../lib/format";
import { Severity } from "../lib/parts";
import { select, selection } from "../lib/select";
import { addWhere, common, key, quote, set } from "../lib/state";
import { type Column, Table, csv } from "../lib/table";
import { copy } from "../shell";

interface Row {
	type: string; // "" = untyped
	base: string;
	chunks: number;
	count: Maybe;
	bytes: number;
	peak: number;
	live: number;
	leaked: number;
	avg_life: Maybe;
	sev: Maybe;
	points: number;
	source?: string;
	confidence?: string;
}

interface Data {
	rows: Row[];
	total: number;
}

interface Field {
	name: string;
	type: string;
	offset: number;
	size: number;
	touched: Maybe; // share of its bytes that were accessed
	note: string;
}

const columns: Column<Row>[] = [
	{ name: "type", label: "Type", cell: (row) => (row.type === "" ? <i>no type known</i> : <span title={row.type}>{row.type}</span>), text: (row) => row.type },
	{ name: "sev", label: "Sev.", number: true, width: "6ch", cell: (row) => <Severity step={row.sev} />, text: (row) => String(row.sev ?? "") },
	{ name: "peak", label: "At the peak", number: true, width: "12ch", cell: (row) => bytes(row.peak), text: (row) => String(row.peak) },
	{ name: "bytes", label: "Bytes", number: true, width: "11ch", cell: (row) => bytes(row.bytes), text: (row) => String(row.bytes) },
	{ name: "chunks", label: "Chunks", number: true, width: "11ch", cell: (row) => count(row.chunks), text: (row) => String(row.chunks) },
	{ name: "count", label: "Elements", number: true, width: "11ch", cell: (row) => count(row.count), text: (row) => String(row.count ?? "") },
	{ name: "leaked", label: "Kept", number: true, width: "11ch", cell: (row) => bytes(row.leaked), text: (row) => String(row.leaked) },
	{ name: "avg_life", label: "Mean life", number: true, width: "10ch", cell: (row) => ns(row.avg_life), text: (row) => String(row.avg_life ?? "") },
	{ name: "points", label: "Points", number: true, width: "8ch", cell: (row) => count(row.points), text: (row) => String(row.points) },
	{ name: "source", label: "Known from", width: "16ch", cell: (row) => [row.source, row.confidence].filter(Boolean).join(", "), text: (row) => row.source ?? "" },
];

/** The largest first, in rows of about equal shape: each row takes a share of the height. */
function treemap(rows: Row[], width: number, height: number): { row: Row; x: number; y: number; w: number; h: number }[] {
	const sum = rows.reduce((total, row) => total + row.peak, 0) || 1;
	const cells: { row: Row; x: number; y: number; w: number; h: number }[] = [];
	let y = 0;
	for (let first = 0; first < rows.length; ) {
		let last = first;
		let part = 0;
		let worst = Infinity;
		while (last < rows.length) {
			const next = part + (rows[last]?.peak ?? 0);
			const h = (next / sum) * height;
			const smallest = ((rows[last]?.peak ?? 0) / next) * width;
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
			const w = part ? (row.peak / part) * width : 0;
			cells.push({ row, x, y, w, h });
			x += w;
		}
		y += h;
	}
	return cells;
}

function Map({ rows }: { rows: Row[] }) {
	const shown = rows.filter((row) => row.peak > 0).sort((a, b) => b.peak - a.peak).slice(0, 400);
	return (
		<svg class="treemap" viewBox="0 0 1000 420" role="group" aria-label="Types by bytes at the peak">
			{treemap(shown, 1000, 420).map(({ row, x, y, w, h }, index) => (
				<g onClick={() => select("ty", row.type)}>
					<rect x={x} y={y} width={w} height={h} fill={row.type === "" ? "#999999" : category(index)} fill-opacity={row.type === "" ? 0.25 : 0.55} stroke="currentColor" stroke-width="0.5">
						<title>{row.type || "no type known"}: {bytes(row.peak)}</title>
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
	const answer = useAnswer<{ fields: Field[]; words: string }>("/types/fields", { ...common(), type });
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
	const sort = key("sort") || "-peak";
	const fold = key("fold");
	const [map, setMap] = useState(false);
	const answer = useAnswer<Data>("/types", { ...common(), sort, fold, limit: 500 });
	const chosen = selection.value?.kind === "ty" ? selection.value.id : null;
	return (
		<div class="view">
			<div class="controls">
				<label><input type="checkbox" checked={fold === "template"} onChange={(event) => set({ fold: event.currentTarget.checked ? "template" : null })} /> Fold templates</label>
				<button aria-pressed={map} onClick={() => setMap(!map)}>Map</button>
			</div>
			<Panel answer={answer} label="Types" empty={(data) => (data.rows.length === 0 ? "The program made no allocation." : null)}>
				{(data) => {
					const untyped = data.rows.find((row) => row.type === "");
					const all = data.rows.reduce((sum, row) => sum + row.bytes, 0);
					return (
						<>
							<p class="quiet">
								{untyped && all ? `${share(untyped.bytes / all)} of the bytes have no known type: build with -g, or make an index with heapwise types-index.` : "Every byte has a type."}
								{" "}<button onClick={() => void copy(csv(columns, data.rows), "the table as CSV")}>Copy as CSV</button>
							</p>
							{map ? (
								<Map rows={data.rows} />
							) : (
								<Table label="Types" columns={columns} rows={data.rows} rowKey={(row) => row.type} height={560} sort={sort} onSort={(name) => set({ sort: name })} selected={chosen} onSelect={(row) => select("ty", row.type)} onOpen={(row) => addWhere(`type == ${quote(row.type)}`)} />
							)}
							{chosen && <Fields type={chosen} />}
						</>
					);
				}}
			</Panel>
		</div>
	);
}
