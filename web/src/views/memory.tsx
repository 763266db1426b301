// SPDX-License-Identifier: MIT
// Where blocks lie at one moment, and how much between them is unused.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { CanvasView, type Item, type Painter } from "../lib/canvas";
import { account, category, dark, ink, mix, severity } from "../lib/colour";
import { Segment } from "../lib/controls";
import { bytes, count, ns, share, trimMiddle, words } from "../lib/format";
import { placeOf, squares } from "../lib/hilbert";
import type { Subject } from "../lib/menu";
import { Choice, Keys, oneOf } from "../lib/parts";
import { select, selection } from "../lib/select";
import { embedded } from "../lib/source";
import { addWhere, common, cursor, key, linkTo, query, set, stages, trace, whole } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { TwinButton, useTwin } from "../lib/twin";
import type { Overview } from "../lib/types";

interface Region {
	start: string;
	end: string;
	live: number;
	chunks: number;
	free: number;
	largest_free: number;
}

interface Hole {
	from: number;
	n: number;
	bytes: number;
}

interface Regions {
	rows: Region[];
	holes: Hole[]; // of all regions, by powers of two
}

interface Data {
	base: string;
	bpp: number;
	w: number;
	h: number;
	pixels: string; // base64, one number of the legend each
	legend: string[]; // 0 = nothing is there
	runs: { start: number[]; len: number[]; chunk: number[] }; // which pixels are a chunk's
	pages?: { start: number[]; len: number[]; page: number[]; live: number[]; pinned_by: (number | null)[] }; // by account: of the allocator
	at: number;
}

const WIDE = 512; // pixels of a row
const ROWS = 192;
const FEW = 64; // where pages are wide enough for a ring, so that they are tall enough
const SIDE = 256; // of a square of Hilbert's curve
const TALL = 2; // pixels of the screen that a row takes at least
const SHOWN = 8; // so many have a colour of their own
const MOST = 1 << 20;
const PAGE = 4096n;

/** Accounts by the words of people. */
const accounts: Record<string, string> = { live: "live", pins: "live, and alone holds its page", slack: "rounding", left: "left behind", pinned: "pinned, never used", cached: "cached", thread_caches: "in a thread's cache", not_resident: "live, not resident", other: "not the allocator's" };

const columns: Column<Region>[] = [
	{ name: "start", label: "From", width: "20ch", cell: (row) => <button class="plain" onClick={() => set({ mem: row.start })}>{row.start}</button>, text: (row) => row.start },
	{ name: "size", label: "Extent", number: true, width: "11ch", cell: (row) => bytes(Number(BigInt(row.end) - BigInt(row.start))), text: (row) => String(BigInt(row.end) - BigInt(row.start)) },
	{ name: "live", label: "Live", number: true, width: "11ch", cell: (row) => bytes(row.live), text: (row) => String(row.live) },
	{ name: "chunks", label: "Chunks", number: true, width: "11ch", cell: (row) => count(row.chunks), text: (row) => String(row.chunks) },
	{ name: "used", label: "In use", number: true, width: "11ch", cell: (row) => share(row.live / Math.max(1, row.live + row.free)), text: (row) => String(row.live / Math.max(1, row.live + row.free)) },
	{ name: "free", label: "Free", number: true, width: "13ch", cell: (row) => bytes(row.free), text: (row) => String(row.free) },
	{ name: "largest_free", label: "Largest hole", number: true, width: "13ch", cell: (row) => bytes(row.largest_free), text: (row) => String(row.largest_free) },
];

/** Pixels by number of the legend. */
function pixelsOf(data: Data): number[] {
	const sums = data.legend.map(() => 0);
	const text = atob(data.pixels);
	for (let pixel = 0; pixel < text.length; pixel++) sums[text.charCodeAt(pixel)] = (sums[text.charCodeAt(pixel)] ?? 0) + 1;
	return sums;
}

/** What is in the picture, the largest first: those of age in their order. Without what is free. */
function ranked(data: Data): number[] {
	const sums = pixelsOf(data);
	const present = data.legend.map((_, at) => at).filter((at) => at > 0 && sums[at]);
	return data.pages || data.legend[1]?.startsWith("younger") ? present : present.sort((a, b) => (sums[b] ?? 0) - (sums[a] ?? 0));
}

const unknown = (label: string) => label === "(unknown)" || label === "(others)";

/** Those with a colour of their own. */
function named(data: Data): number[] {
	const all = ranked(data).filter((at) => !unknown(data.legend[at] ?? ""));
	return data.pages || /^(younger|severity|#)/.test(data.legend[1] ?? "") ? all : all.slice(0, SHOWN);
}

function colours(data: Data): string[] {
	const { ground } = ink();
	const others = dark.value ? "#4a525e" : "#c9ced6";
	const place = named(data);
	return data.legend.map((label, at) => {
		if (data.pages && at > 0) return label === "pins" ? ink().text : account(label);
		const step = /^severity (\d+)$/.exec(label);
		if (at === 0) return ground;
		if (label.startsWith("#")) return label;
		if (step) return severity(Number(step[1]));
		if (/^(younger|older)/.test(label)) return mix(category(0), ground, 0.9 - at / 10);
		return place.includes(at) ? category(place.indexOf(at)) : others;
	});
}

function parseColour(text: string): [number, number, number] {
	const match = /^#(..)(..)(..)$/.exec(text);
	return match ? [parseInt(match[1] ?? "0", 16), parseInt(match[2] ?? "0", 16), parseInt(match[3] ?? "0", 16)] : [128, 128, 128];
}

function addressOf(data: Data, pixel: number): bigint {
	return BigInt(data.base) + BigInt(pixel) * BigInt(data.bpp);
}

const hex = (value: bigint) => `0x${value.toString(16)}`;
/** The number of the page that is selected. */
const selectedPage = () => (selection.value?.kind === "pg" && /^0x[0-9a-f]{1,16}$/.test(selection.value.id) ? Number(BigInt(selection.value.id) / PAGE) : null);
const pageOf = (page: number) => hex(BigInt(page) * PAGE);

type Order = "rows" | "hilbert";

/** The boxes of the picture that a run of pixels fills, in its own pixels. */
function boxesOf(data: Data, order: Order, start: number, end: number): { x: number; y: number; w: number; h: number }[] {
	if (order === "hilbert") return squares(start, end, SIDE).map(({ x, y, side }) => ({ x, y, w: side, h: side }));
	const boxes = [];
	for (let from = start; from < end; ) {
		const row = Math.floor(from / data.w);
		const to = Math.min(end, (row + 1) * data.w);
		boxes.push({ x: from - row * data.w, y: row, w: to - from, h: 1 });
		from = to;
	}
	return boxes;
}

/** The picture in its own pixels, once for each answer and theme. */
function picture(data: Data, order: Order): HTMLCanvasElement {
	const canvas = document.createElement("canvas");
	const context = canvas.getContext("2d");
	canvas.width = data.w;
	canvas.height = data.h;
	if (!context) return canvas;
	const image = context.createImageData(data.w, data.h);
	const palette = colours(data).map(parseColour);
	const text = atob(data.pixels);
	for (let pixel = 0; pixel < text.length; pixel++) {
		const colour = palette[text.charCodeAt(pixel) % palette.length] ?? [0, 0, 0];
		const at = order === "hilbert" ? placeOf(pixel, SIDE) : null;
		image.data.set([colour[0], colour[1], colour[2], 255], (at ? at.y * data.w + at.x : pixel) * 4);
	}
	context.putImageData(image, 0, 0);
	return canvas;
}

const RING = 5; // pixels of the screen that a page takes at least to get one

/** What a page of the picture is. */
function said({ pages }: Data, at: number): string {
	const live = pages?.live[at] ?? 0;
	const by = pages?.pinned_by[at];
	return `page ${pageOf(pages?.page[at] ?? 0)}: ${live === 0 ? "free" : `${bytes(live)} live`}${by == null ? "" : `, held by chunk ${by} alone`}`;
}

function painter(data: Data, order: Order): Painter {
	const image = picture(data, order);
	return {
		paint(context, width, height) {
			const scale = width / data.w;
			const tall = height / data.h;
			const items: Item[] = [];
			context.imageSmoothingEnabled = false;
			context.drawImage(image, 0, 0, width, height);
			data.pages?.start.forEach((start, at) => {
				const page = data.pages?.page[at] ?? 0;
				const pinned = data.pages?.pinned_by[at] != null;
				for (const box of boxesOf(data, order, start, start + (data.pages?.len[at] ?? 0))) {
					const item = { id: page, x: box.x * scale, y: box.y * tall, w: box.w * scale, h: box.h * tall, colour: "", label: said(data, at) };
					items.push(item);
					if (!pinned || item.w < RING || item.h < RING) continue;
					context.strokeStyle = ink().text;
					context.strokeRect(item.x + 0.5, item.y + 0.5, item.w - 1, item.h - 1);
				}
			});
			data.runs.start.forEach((start, at) => {
				const end = start + (data.runs.len[at] ?? 0);
				for (const box of boxesOf(data, order, start, end)) items.push({ id: data.runs.chunk[at] ?? 0, x: box.x * scale, y: box.y * tall, w: box.w * scale, h: box.h * tall, colour: "", label: hex(addressOf(data, start)) });
			});
			return items;
		},
		speak: (item) => (data.pages ? item.label : `chunk ${item.id} at ${item.label}`),
	};
}

function Holes({ list }: { list: Hole[] }) {
	const most = Math.max(1, ...list.map((hole) => hole.bytes));
	if (list.length === 0) return null;
	return (
		<table class="bars">
			<caption>What is free between chunks, by size</caption>
			<tbody>
				{list.map((hole) => (
					<tr>
						<th scope="row">from {bytes(hole.from)}</th>
						<td><span class="bar"><span style={{ width: `${(hole.bytes / most) * 100}%` }} /></span></td>
						<td class="number">{count(hole.n)} {hole.n === 1 ? "hole" : "holes"}</td>
						<td class="number">{bytes(hole.bytes)}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

interface Run {
	at: number;
}

function PageTwin({ pages }: { pages: NonNullable<Data["pages"]> }) {
	const rows: Run[] = pages.start.map((_, at) => ({ at }));
	const list: Column<Run>[] = [
		{ name: "page", label: "Page", width: "20ch", cell: ({ at }) => pageOf(pages.page[at] ?? 0) },
		{ name: "live", label: "Live", number: true, width: "11ch", cell: ({ at }) => bytes(pages.live[at]), text: ({ at }) => String(pages.live[at]) },
		{ name: "chunk", label: "Held by chunk", number: true, width: "16ch", cell: ({ at }) => String(pages.pinned_by[at] ?? "") },
	];
	return <Table label="Pages in the picture" columns={list} rows={rows} rowKey={({ at }) => at} height={ROWS * TALL} rowHeight={26} onSelect={({ at }) => select("pg", pageOf(pages.page[at] ?? 0))} copied={() => rows} />;
}

function Twin({ data }: { data: Data }) {
	if (data.pages) return <PageTwin pages={data.pages} />;
	const rows: Run[] = data.runs.start.map((_, at) => ({ at }));
	const list: Column<Run>[] = [
		{ name: "chunk", label: "Chunk", number: true, width: "11ch", cell: ({ at }) => String(data.runs.chunk[at]) },
		{ name: "addr", label: "From", width: "20ch", cell: ({ at }) => hex(addressOf(data, data.runs.start[at] ?? 0)) },
		{ name: "len", label: "Shown bytes", number: true, width: "14ch", cell: ({ at }) => bytes((data.runs.len[at] ?? 0) * data.bpp), text: ({ at }) => String((data.runs.len[at] ?? 0) * data.bpp) },
	];
	return (
		<Table label="Chunks in the picture" columns={list} rows={rows} rowKey={({ at }) => data.runs.chunk[at] ?? at} height={ROWS * TALL} rowHeight={26} selected={selection.value?.kind === "c" ? Number(selection.value.id) : null} onSelect={({ at }) => select("c", data.runs.chunk[at] ?? 0)} menu={({ at }) => subjectOf(data.runs.chunk[at] ?? 0)} copied={() => rows} />
	);
}

function subjectOf(chunk: number): Subject {
	return { title: `chunk ${chunk}`, chunk };
}

/** still: it shows what it is given, and no key or drag changes that. */
function Picture({ data, order, still = false }: { data: Data; order: Order; still?: boolean }) {
	const shape = useMemo(() => painter(data, order), [data, order, dark.value]);
	const [hovered, setHovered] = useState<number | null>(null);
	const [range, setRange] = useState<{ from: number; to: number } | null>(null);
	const begun = useRef(0);
	const outline = useMemo(() => (hovered == null ? [] : (window.__hw?.items("map") ?? []).filter((item) => item.id === hovered).slice(0, 40)), [hovered, data]);
	const tall = order === "hilbert" ? TALL : Math.min(8, Math.max(TALL, Math.floor((ROWS * TALL) / data.h)));
	const rowAt = (y: number) => Math.min(data.h, Math.max(0, Math.floor(y / tall)));
	const drag = (phase: "begin" | "move" | "end", _: number, y: number) => {
		if (phase === "begin") begun.current = y;
		const rows = { from: rowAt(Math.min(begun.current, y)), to: rowAt(Math.max(begun.current, y)) + 1 };
		setRange(phase === "move" && rows.to - rows.from > 2 ? rows : null);
		if (phase === "end" && rows.to - rows.from > 2) addWhere(`addr >= ${hex(addressOf(data, rows.from * data.w))} and addr < ${hex(addressOf(data, rows.to * data.w))}`);
	};
	return (
		<CanvasView
			name="map"
			label={`Memory from ${data.base}, ${data.bpp} bytes per pixel`}
			description="memory map"
			height={data.h * tall}
			painter={shape}
			version={`${dark.value}`}
			selected={data.pages ? selectedPage() : selection.value?.kind === "c" ? Number(selection.value.id) : null}
			onSelect={(item) => (embedded ? undefined : data.pages ? select("pg", pageOf(item.id)) : select("c", item.id))}
			onHover={(item) => setHovered(item?.id ?? null)}
			onDrag={order === "rows" && !still ? drag : undefined}
			onKey={(event) => {
				if (still) return false;
				if (event.key === "+") set({ bpp: Math.max(1, data.bpp / 2) });
				else if (event.key === "-") set({ bpp: Math.min(MOST, data.bpp * 2) });
				else if (event.key === "PageDown" || event.key === "PageUp") set({ mem: hex(addressOf(data, (event.key === "PageDown" ? 1 : -1) * data.w * data.h)) });
				else return false;
				return true;
			}}
			menu={(item) => (data.pages ? null : subjectOf(item.id))}
			tooltip={(item) => (data.pages ? item.label : <>chunk {item.id} from {item.label}</>)}
		>
			{outline.map((item) => <div class="ring thin" style={{ left: `${item.x}px`, top: `${item.y}px`, width: `${item.w}px`, height: `${item.h}px` }} />)}
			{range && <div class="rect" style={{ left: 0, right: 0, top: `${range.from * tall}px`, height: `${(range.to - range.from) * tall}px` }} />}
		</CanvasView>
	);
}

/** Moves the time cursor through the run, ten steps a second at most. */
function usePlay(run: number): [boolean, () => void] {
	const [playing, setPlaying] = useState(false);
	useEffect(() => {
		if (!playing || !run) return;
		const timer = setInterval(() => {
			const next = (cursor.value ?? 0) + run / 200;
			set({ at: Math.round(Math.min(run, next)) }, true);
			if (next >= run) setPlaying(false);
		}, 150);
		return () => clearInterval(timer);
	}, [playing, run]);
	return [
		playing,
		() => {
			if (!playing && (cursor.value == null || cursor.value >= run)) set({ at: 1 }, true);
			setPlaying(!playing);
		},
	];
}

const others: Record<string, string> = { "(unknown)": "unknown", "(others)": "others" };

/** What the colours mean, and where the picture ends. */
function Legend({ data }: { data: Data }) {
	const palette = colours(data);
	const shown = named(data);
	const rest = ranked(data).filter((at) => !shown.includes(at));
	return (
		<div class="key">
			{shown.map((at) => <span title={data.legend[at]}><span class="swatch" style={{ background: palette[at] }} />{data.pages ? accounts[data.legend[at] ?? ""] : words(trimMiddle(data.legend[at] ?? "", 36))}</span>)}
			{rest.length > 0 && <span><span class="swatch" style={{ background: palette[rest[0] ?? 0] }} />{rest.length === 1 ? (others[data.legend[rest[0] ?? 0] ?? ""] ?? data.legend[rest[0] ?? 0]) : "all others"}</span>}
			<span><span class="swatch edged" />{data.pages ? "not mapped" : "free"}</span>
			<code class="end">{hex(addressOf(data, data.w * data.h))}</code>
		</div>
	);
}

/** The allocator's largest mapping at a look, by account. */
export function AccountMap({ at }: { at: number | undefined }) {
	const answer = useAnswer<Data>("/memmap", { ...whole(), ...(at === undefined ? {} : { at }), color: "account", fit: 1, w: WIDE, h: 96 });
	const data = answer.reply?.data;
	if (!data?.pages?.page.length) return null;
	return (
		<section aria-label="Memory map by account">
			<div class="controls">
				<h2>Memory map at {ns(data.at)}</h2>
				{!embedded && <a class="end" href={linkTo("map", { color: "account", mem: data.base, bpp: data.bpp })}>Open the map</a>}
			</div>
			<Picture data={data} order="rows" still />
			<Legend data={data} />
			<p class="quiet">The allocator's largest mapping, {bytes(data.bpp)} per pixel from {data.base}.{!embedded && " A click on a page shows who holds it."}</p>
		</section>
	);
}

/** How full the memory is, before any table. */
function Occupied({ rows, at }: { rows: Region[]; at: number }) {
	const sum = (part: (row: Region) => number) => rows.reduce((total, row) => total + part(row), 0);
	const [live, free] = [sum((row) => row.live), sum((row) => row.free)];
	const largest = Math.max(0, ...rows.map((row) => row.largest_free));
	return (
		<p class="sentence">
			At {ns(at)}{cursor.value == null ? ", the peak," : ""} {count(sum((row) => row.chunks))} chunks hold {bytes(live)}, {share(live / Math.max(1, live + free))} of the {bytes(live + free)} that they span.
			{free > 0 && <> {bytes(free)} between them are free; the largest hole has {bytes(largest)}.</>}
			{rows.length > 1 && <> They lie in {count(rows.length)} regions, of which the picture shows one.</>}
		</p>
	);
}

const paints = [["type", "Type"], ["fn", "Function"], ["module", "Module"], ["thread", "Thread"], ["age", "Age"], ["sev", "Severity"], ["account", "Account"], ["query", "Colour of the query"]] as const;
const orders = [["rows", "Row by row"], ["hilbert", "Hilbert's curve"]] as const;

/** Whether colours by this would differ: enough is known, and not nearly all is one thing. */
function differs(names: [string | null | undefined, number][], peak: number): boolean {
	const sums = new Map<string, number>();
	for (const [name, value] of names) if (name && !name.startsWith("(")) sums.set(name, (sums.get(name) ?? 0) + value);
	const known = [...sums.values()];
	return known.reduce((sum, value) => sum + value, 0) * 4 > peak && Math.max(...known) < peak * 0.85;
}

/** Types, or who allocated; where that is nearly always the same, how old the chunks are. */
function tellsMost({ top, bytes: { peak } }: Overview): string {
	if (differs((top.types ?? []).map((item) => [item.label, item.value]), peak)) return "type";
	return differs((top.peak ?? []).map((item) => [item.fn, item.value]), peak) || peak === 0 ? "fn" : "age";
}

/** The region that holds most, if it can be one of several chunks: of a single one there is nothing to see. */
function fullest(rows: Region[]): Region | undefined {
	return [...rows].sort((a, b) => Number(b.chunks > 1) - Number(a.chunks > 1) || b.live - a.live)[0];
}

/** As many rows as there are of the region, so that nothing is blank. */
function rowsOf(region: Region | undefined, base: string, bytesOfRow: number): number {
	return region ? Math.min(ROWS, Math.max(1, Math.ceil(Number(BigInt(region.end) - BigInt(base)) / bytesOfRow))) : ROWS;
}

/** Bytes of a pixel, so that the region fills the picture as well as a power of two can. */
function fitting(region: Region | undefined, width: number, order: Order): number {
	const extent = region ? Number(BigInt(region.end) - BigInt(region.start)) : 0;
	const pixels = order === "hilbert" ? SIDE * SIDE * 4 : width * ROWS;
	return extent === 0 ? 64 : 2 ** Math.max(0, Math.ceil(Math.log2(extent / pixels)));
}

export function Memory() {
	const run = trace.value?.duration_ns ?? 0;
	// without a cursor the peak: at the end of a tidy program there is nothing
	const overview = useAnswer<Overview>(run ? "/overview" : null, { ...whole(), top: 10 });
	const peak = overview.reply?.data;
	const at = cursor.value ?? peak?.bytes.peak_t ?? (overview.error ? run : null);
	const order = oneOf("order", orders, "rows") as Order;
	const width = order === "hilbert" ? 4 * SIDE : WIDE;
	const [playing, play] = usePlay(run);
	const [table, toggleTable] = useTwin();
	const regions = useAnswer<Regions>(at == null ? null : "/memmap/regions", { ...common(), at: Math.round(at ?? 0) });
	const rows = regions.reply?.data.rows ?? [];
	const base = key("mem") || fullest(rows)?.start || "";
	const [plain, setPlain] = useState(""); // a region whose picture would have one colour
	const told = peak ? tellsMost(peak) : overview.error ? "fn" : "";
	const colour = oneOf("color", paints, told && plain === base ? "age" : told);
	const region = rows.find((row) => base !== "" && BigInt(row.start) <= BigInt(base) && BigInt(base) < BigInt(row.end));
	const bpp = Math.min(MOST, Math.max(1, Number(key("bpp")) || fitting(region, width, order)));
	const from = colour === "account" && base !== "" ? hex((BigInt(base) / PAGE) * PAGE) : base; // pages are whole then
	const answer = useAnswer<Data>(base && at != null && colour ? "/memmap" : null, { ...common(), at: Math.round(at ?? 0), base: from, bpp, w: width, h: order === "hilbert" ? SIDE : Math.min(colour === "account" && bpp <= 512 ? FEW : ROWS, rowsOf(region, base, bpp * width)), color: colour });
	const shown = answer.reply?.data;
	useEffect(() => {
		if (shown && !shown.pages && ranked(shown).length === 1) setPlain(shown.base);
	}, [shown]);
	const moments = { play, peak: () => set({ at: null }), end: () => set({ at: Math.round(run) }) };
	const zoom = (bytesOfPixel: number) => Math.min(MOST, Math.max(1, bytesOfPixel));
	return (
		<div class="view">
			<div class="controls">
				<Segment label="Moment" value={playing ? "play" : cursor.value == null ? "peak" : cursor.value === Math.round(run) ? "end" : ""} options={[["play", playing ? "Pause" : "Play"], ["peak", "Peak"], ["end", "End"]]} onChange={(name) => moments[name as keyof typeof moments]()} />
				<Choice label="Colour" value={colour} options={paints.filter(([word]) => (word === "query" ? stages(query()).some((stage) => stage.startsWith("color")) : word !== "account" || trace.value?.caps.resident))} onChange={(value) => set({ color: value })} />
				<Choice label="Order" value={order} options={orders} onChange={(value) => set({ order: value === "rows" ? null : value })} />
				<span class="buttons">
					<button aria-label="Zoom in" title={`Zoom in, to ${bytes(zoom(bpp / 2))} per pixel`} onClick={() => set({ bpp: zoom(bpp / 2) })}>+</button>
					<button aria-label="Zoom out" title={`Zoom out, to ${bytes(zoom(bpp * 2))} per pixel`} onClick={() => set({ bpp: zoom(bpp * 2) })}>−</button>
				</span>
				<TwinButton on={table} toggle={toggleTable} />
			</div>
			<Panel answer={regions} label="Regions" empty={(data) => (data.rows.length === 0 ? "Nothing is live at this moment." : null)}>
				{(data) => (
					<>
						{answer.error && <p class="problem">{answer.error.message}</p>}
						<Occupied rows={data.rows} at={at ?? 0} />
						{shown && !table && <code class="quiet small">{shown.base}</code>}
						{shown && (table ? <Twin data={shown} /> : <Picture data={shown} order={shown.h === SIDE ? "hilbert" : "rows"} />)}
						{shown && !table && <Legend data={shown} />}
						{shown?.pages && !table && <p class="quiet">This is the look at {ns(shown.at)}, whatever the filter. A page that one small block holds has a ring where there is room for it; a click on a page shows who holds it.</p>}
						{order === "hilbert" && <p class="quiet">Squares of memory side by side: what is near in memory is near in the picture.</p>}
						<Keys>{order === "rows" && "Drag over rows to filter by address. "}+ and − zoom, Page Up and Page Down move through memory.</Keys>
						<Table label="Regions" columns={columns} rows={data.rows} rowKey={(row) => row.start} height={300} selected={base} onSelect={(row) => set({ mem: row.start })} />
						<Holes list={data.holes} />
					</>
				)}
			</Panel>
		</div>
	);
}
