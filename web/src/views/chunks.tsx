// SPDX-License-Identifier: MIT
// The pattern of single blocks: loops, growth, late frees. One bar a chunk, from its allocation to its free;
// two ticks are the first and the last access. Where bars would be too thin, how many there are.

import { useMemo } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { CanvasView, type Item, type Painter } from "../lib/canvas";
import { dark, ink } from "../lib/colour";
import { type Maybe, bytes, count, ns, share } from "../lib/format";
import { Choice } from "../lib/parts";
import { select, selection } from "../lib/select";
import { addWhere, common, key, linkTo, set, whole } from "../lib/state";
import { type Column, Table, csv, useTwin } from "../lib/table";
import type { Columns, Frame } from "../lib/types";
import { Stack } from "../drawer";
import { copy, trace } from "../shell";

export const FLAG = { alive: 1, multi: 2, neverRead: 4, neverWritten: 8, realloc: 16, unmeasured: 32 } as const;

interface Reply extends Partial<Columns> {
	mode: "rows" | "density";
	chunks: number; // in the selection
	rows_all: number; // that they take
	w?: number; // of the grid of a density
	h?: number;
}

export interface Bars {
	mode: "bars";
	total: number;
	id: number[];
	row: number[];
	t0: number[];
	t1: number[];
	first: Maybe[];
	last: Maybe[];
	size: number[];
	flags: number[];
}

interface Density {
	mode: "density";
	total: number;
	w: number;
	h: number;
	n: number[];
	bytes: number[];
}

type Data = Bars | Density;

function unpack(reply: Reply): Data {
	const column = (name: string) => reply.columns?.[name] ?? [];
	if (reply.mode === "density") return { mode: "density", total: reply.chunks, w: reply.w ?? 1, h: reply.h ?? 1, n: column("n"), bytes: column("bytes") };
	return {
		mode: "bars",
		total: reply.chunks,
		id: column("id"),
		row: column("row"),
		t0: column("t0"),
		t1: column("t1"),
		first: column("first"),
		last: column("last"),
		size: column("size"),
		flags: column("flags"),
	};
}

const orders = [["time", "Time of allocation"], ["size", "Size"], ["life", "Life"], ["addr", "Address"], ["last", "Last access"]] as const;
const lanes = [["row", "One row each"], ["packed", "Packed"], ["thread", "By thread"]] as const;
const HEIGHT = 520;
const ROWS = 60; // that are told apart easily

/** Small is pale, large is full: by the logarithm of the size. */
function shade(size: number, largest: number): number {
	return 0.25 + 0.75 * (Math.log2(size + 1) / Math.log2(largest + 2));
}

function barPainter(data: Bars, from: number, to: number): Painter {
	const largest = Math.max(1, ...data.size);
	const first = Math.min(...data.row, Infinity);
	const rows = Math.max(1, ...data.row.map((row) => row + 1 - first));
	return {
		paint(context, width, height) {
			const { accent, text, quiet } = ink();
			const rowHeight = Math.min(18, height / rows);
			const scale = width / Math.max(1, to - from);
			return data.id.map((id, at) => {
				const flags = data.flags[at] ?? 0;
				const x = ((data.t0[at] ?? 0) - from) * scale;
				const end = flags & FLAG.alive ? width : ((data.t1[at] ?? 0) - from) * scale;
				const w = Math.max(3, end - x);
				const y = ((data.row[at] ?? 0) - first) * rowHeight;
				const h = Math.max(1, rowHeight - (rowHeight > 4 ? 2 : rowHeight > 2 ? 0.5 : 0));
				const untouched = (flags & FLAG.unmeasured) === 0 && (flags & FLAG.neverRead) !== 0 && (flags & FLAG.neverWritten) !== 0;
				context.globalAlpha = shade(data.size[at] ?? 0, largest);
				context.fillStyle = untouched ? quiet : accent;
				context.fillRect(x, y, w, h);
				context.globalAlpha = 1;
				const begun = data.first[at];
				const ended = data.last[at];
				if (begun != null && ended != null) {
					const fx = (begun - from) * scale;
					const lx = (ended - from) * scale;
					context.fillStyle = text;
					context.fillRect(fx, y, 1.5, h);
					context.fillRect(lx, y, 1.5, h);
					context.fillRect(fx, y + h / 2 - 0.5, Math.max(0, lx - fx), 1);
				}
				if (!(flags & FLAG.alive)) {
					context.fillStyle = text;
					context.fillRect(x + w - 1, y, 1, h);
				}
				return { id, x, y, w, h: Math.max(1, rowHeight), colour: accent, label: bytes(data.size[at]) };
			});
		},
		speak: (item) => `chunk ${item.id}, ${item.label}`,
	};
}

function densityPainter(data: Density): Painter {
	const most = Math.max(1, ...data.n);
	return {
		paint(context, width, height) {
			const { accent } = ink();
			const w = width / data.w;
			const h = height / data.h;
			context.fillStyle = accent;
			const items: Item[] = [];
			data.n.forEach((n, at) => {
				if (n === 0) return;
				// whole pixels: seams between cells would look like something
				const x = Math.floor((at % data.w) * w);
				const y = Math.floor(Math.floor(at / data.w) * h);
				context.globalAlpha = 0.12 + 0.88 * (Math.log1p(n) / Math.log1p(most));
				context.fillRect(x, y, Math.floor(((at % data.w) + 1) * w) - x, Math.floor((Math.floor(at / data.w) + 1) * h) - y);
				items.push({ id: at, x, y, w, h, colour: accent, label: `${count(n)} chunks` });
			});
			context.globalAlpha = 1;
			return items;
		},
		speak: (item) => `${item.label}, ${bytes(data.bytes[item.id])}`,
	};
}

interface ChunkDetail {
	id: number;
	addr: string;
	size: number;
	call: string;
	type: string | null;
	point: number;
	alloc: number;
	free: Maybe;
	life: Maybe;
	end: string;
	class: string;
	access: { first: Maybe; last: Maybe; reads: Maybe; writes: Maybe; low: Maybe; high: Maybe } | null;
	alloc_thread: { tid: number; name: string } | null;
	free_thread: { tid: number; name: string } | null;
	alloc_stack: Frame[];
	free_stack: Frame[] | null;
}

function Detail({ id }: { id: string }) {
	const answer = useAnswer<ChunkDetail>(`/chunks/${id}`, whole());
	const chunk = answer.reply?.data;
	if (!chunk) return answer.error ? <p class="quiet">{answer.error.message}</p> : null;
	const access = chunk.access;
	return (
		<section aria-label="Chunk">
			<h2>Chunk {chunk.id}: {bytes(chunk.size)} at {chunk.addr}</h2>
			<dl class="facts">
				{chunk.type && [<dt>Type</dt>, <dd>{chunk.type}</dd>]}
				<dt>Allocated</dt><dd>{ns(chunk.alloc)} by {chunk.call}, thread {chunk.alloc_thread?.name} {chunk.alloc_thread?.tid}</dd>
				<dt>Freed</dt><dd>{chunk.free == null ? `never: ${chunk.end}` : `${ns(chunk.free)}, after ${ns(chunk.life)}, thread ${chunk.free_thread?.name ?? ""} ${chunk.free_thread?.tid ?? ""}`}</dd>
				{access && [<dt>Reads, writes</dt>, <dd>{count(access.reads)}, {count(access.writes)}</dd>]}
				{access?.low != null && access.high != null && [<dt>Used</dt>, <dd>bytes {access.low} to {access.high}, {share(chunk.size ? (access.high - access.low) / chunk.size : 0)}</dd>]}
				{access?.first != null && [<dt>Accessed</dt>, <dd>{ns(access.first)} to {ns(access.last)}</dd>]}
			</dl>
			<div class="pair">
				<section><h3>Allocated by</h3><Stack stack={chunk.alloc_stack} /></section>
				{chunk.free_stack && chunk.free_stack.length > 0 && <section><h3>Freed by</h3><Stack stack={chunk.free_stack} /></section>}
			</div>
			<p><a href={linkTo(`point/${chunk.point}`)}>Its allocation point</a></p>
		</section>
	);
}

interface Line {
	at: number;
}

function Twin({ data }: { data: Bars }) {
	const rows: Line[] = data.id.map((_, at) => ({ at }));
	const columns: Column<Line>[] = [
		{ name: "id", label: "Chunk", number: true, width: "11ch", cell: ({ at }) => String(data.id[at]) },
		{ name: "size", label: "Size", number: true, width: "11ch", cell: ({ at }) => bytes(data.size[at]), text: ({ at }) => String(data.size[at]) },
		{ name: "t0", label: "Allocated", number: true, width: "12ch", cell: ({ at }) => ns(data.t0[at]), text: ({ at }) => String(data.t0[at]) },
		{ name: "t1", label: "Freed", number: true, width: "12ch", cell: ({ at }) => ((data.flags[at] ?? 0) & FLAG.alive ? "never" : ns(data.t1[at])), text: ({ at }) => String(data.t1[at]) },
		{ name: "first", label: "First access", number: true, width: "13ch", cell: ({ at }) => ns(data.first[at]), text: ({ at }) => String(data.first[at] ?? "") },
		{ name: "last", label: "Last access", number: true, width: "13ch", cell: ({ at }) => ns(data.last[at]), text: ({ at }) => String(data.last[at] ?? "") },
	];
	return (
		<>
			<button onClick={() => void copy(csv(columns, rows), "the chunks as CSV")}>Copy as CSV</button>
			<Table label="Chunks" columns={columns} rows={rows} rowKey={({ at }) => data.id[at] ?? at} height={HEIGHT} rowHeight={26} selected={selection.value?.kind === "c" ? Number(selection.value.id) : null} onSelect={({ at }) => select("c", data.id[at] ?? 0)} />
		</>
	);
}

export function Chunks() {
	const order = key("order") || "time";
	const lane = key("lane") || "row";
	const point = key("point");
	const run = trace.value?.duration_ns ?? 0;
	const from = Number(key("x0") || 0);
	const to = Number(key("x1") || run);
	const row = key("y") === "" ? null : Math.max(0, Number(key("y")) || 0); // the first that is shown; null = all rows
	const [table, toggleTable] = useTwin();
	const answer = useAnswer<Reply>(run ? "/chunks" : null, { ...common(), point, order, lane, x0: Math.round(from), x1: Math.round(to), px: 1200, y0: row, rows: row == null ? null : ROWS });
	const reply = answer.reply;
	const data = useMemo(() => (reply ? unpack(reply.data) : null), [reply]);
	const painter = useMemo(() => (data ? (data.mode === "bars" ? barPainter(data, from, to) : densityPainter(data)) : null), [data]);
	const zoom = (factor: number, middle: number) => {
		const span = Math.min(run, Math.max(1000, (to - from) * factor));
		const start = Math.min(run - span, Math.max(0, middle - (middle - from) * factor));
		set({ x0: start <= 0 ? null : Math.round(start), x1: span >= run ? null : Math.round(start + span) }, true);
	};
	return (
		<div class="view">
			<div class="controls">
				{point !== "" && <button class="chip" onClick={() => set({ point: null })}>point {point} ✕</button>}
				<Choice label="Order" value={order} options={orders} onChange={(value) => set({ order: value })} />
				<Choice label="Rows" value={lane} options={lanes} onChange={(value) => set({ lane: value })} />
				<button onClick={() => zoom(0.5, (from + to) / 2)}>Zoom in</button>
				<button onClick={() => zoom(2, (from + to) / 2)}>Zoom out</button>
				{(key("x0") !== "" || key("x1") !== "") && <button onClick={() => set({ x0: null, x1: null })}>Whole run</button>}
				<button aria-pressed={row != null} onClick={() => set({ y: row == null ? 0 : null })}>Single rows</button>
				{row != null && <button disabled={row === 0} onClick={() => set({ y: Math.max(0, row - ROWS) }, true)}>Before</button>}
				{row != null && <button disabled={row + ROWS >= (reply?.data.rows_all ?? 0)} onClick={() => set({ y: row + ROWS }, true)}>After</button>}
				<button aria-pressed={table} onClick={toggleTable}>Table</button>
			</div>
			<Panel answer={answer} label="Chunks" empty={(shown) => (shown.chunks === 0 ? "No chunk lives here." : null)}>
				{() => data && <>{body(data)}</>}
			</Panel>
		</div>
	);

	function body(shown: Data) {
		return (
					<>
						<p class="quiet">{count(shown.total)} chunks, {ns(from)} to {ns(to)}{shown.mode === "density" ? ": too many for bars, shown by how many there are" : ""}</p>
						{table && shown.mode === "bars" ? (
							<Twin data={shown} />
						) : (
							painter && (
								<CanvasView
									name="chunks"
									label="Chunks over time"
									description="lifetime chart"
									height={HEIGHT}
									painter={painter}
									version={`${dark.value}`}
									selected={selection.value?.kind === "c" ? Number(selection.value.id) : null}
									onSelect={(item) => shown.mode === "bars" && select("c", item.id)}
									onOpen={(item) => (shown.mode === "density" ? zoom(0.25, from + ((item.id % shown.w) / shown.w) * (to - from)) : addWhere(`id == ${item.id}`))}
									onWheel={(event, x) => {
										if (!event.ctrlKey) return false;
										const width = document.querySelector('[data-t="chart-chunks"]')?.clientWidth ?? 1;
										zoom(event.deltaY > 0 ? 1.25 : 0.8, from + (x / width) * (to - from));
										return true;
									}}
									tooltip={(item) => (shown.mode === "bars" ? <BarTip data={shown} at={shown.id.indexOf(item.id)} /> : <>{item.label}, {bytes(shown.bytes[item.id])}</>)}
								/>
							)
						)}
						{selection.value?.kind === "c" && <Detail id={selection.value.id} />}
					</>
		);
	}
}

function BarTip({ data, at }: { data: Bars; at: number }) {
	const alive = ((data.flags[at] ?? 0) & FLAG.alive) !== 0;
	return (
		<>
			<b>{bytes(data.size[at])}</b>, chunk {data.id[at]}
			<div>{ns(data.t0[at])} to {alive ? "the end" : ns(data.t1[at])}, {ns((data.t1[at] ?? 0) - (data.t0[at] ?? 0))}</div>
			{data.first[at] != null && <div>idle {ns((data.first[at] ?? 0) - (data.t0[at] ?? 0))} before the first access, {ns((data.t1[at] ?? 0) - (data.last[at] ?? 0))} after the last</div>}
		</>
	);
}
