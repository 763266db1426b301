// SPDX-License-Identifier: MIT
// Which call paths cost most. The server lays the frames out; here they are painted, walked and searched.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { CanvasView, type Direction, type Item, type Painter } from "../lib/canvas";
import { against } from "../lib/catalogue";
import { type Palette, dark, difference, ink, inkOn, mix, moduleColour, paletteOf, severity } from "../lib/colour";
import { count, inUnit, ns, share } from "../lib/format";
import { MenuButton, Segment } from "../lib/controls";
import { Icon } from "../lib/icons";
import { type Act, type Subject, menuOf, openMenu } from "../lib/menu";
import { plainName, shortName } from "../lib/names";
import { Bar, Delta, Name, oneOf } from "../lib/parts";
import { copy, saveFile, say } from "../lib/say";
import { select, selectedPoint, selection } from "../lib/select";
import { embedded, sourced } from "../lib/source";
import { addWhere, common, cursor, dragged, exactly, go, key, lineOf, quote, set, timeWindow, trace, view } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { useTableKey } from "../lib/twin";
import type { Flame as Data, FlameAbove, FlameReply } from "../lib/types";

const ROW = 20;
const TALLEST = 30; // where few levels leave room
export const FLAG = { leaf: 1, inline: 2, merged: 4, recursion: 8, match: 16, caller: 32, line: 64, above: 128 } as const; // above: of the page, an ancestor of what is zoomed to

const metrics = [
	["peak", "Live at the peak"],
	["lost", "Lost, by the leak scan"],
	["kept", "Never freed"],
	["bytes", "Bytes allocated"],
	["temporary", "Temporary"],
	["live", "Live at the cursor"],
	["resident", "On resident pages, when most was resident"],
	["allocs", "Allocations"],
	["alloc_time", "Time in the allocator"],
	["chunks_live", "Chunks live at the cursor"],
	["idle", "Idle: bytes × time without use"],
] as const;

/** Those that are asked for most, in a word; the others are behind a button. */
const short: Record<string, string> = { peak: "Peak", lost: "Leaked", kept: "Never freed", bytes: "Allocated", temporary: "Temporary", live: "At cursor", resident: "Resident" };

/** What was never freed stands for what leaked only where no leak scan was made. */
const isShort = (name: string) => name in short && !(name === "kept" && trace.value?.caps.lost);

const ROOMY = 1700; // a window so wide has room for one more metric beside those

/** With a window of time, two metrics mean what is inside it. A report has no others than those that it was made with. */
function shownMetrics(): [string, string][] {
	const inside: Record<string, string> = timeWindow.value ? { peak: "Live at the peak of the window", kept: "Live at the end of the window" } : {};
	const caps = trace.value?.caps;
	const known: Record<string, boolean | undefined> = { lost: caps?.lost, resident: caps?.resident, idle: caps?.access && !embedded, alloc_time: !embedded, chunks_live: !embedded };
	return metrics.filter(([name]) => known[name] ?? !(name in known)).map(([name, words]) => [name, inside[name] ?? words]);
}

/** Numbers of texts become texts; what the root is part of comes first, as wide as it. */
function unpack(reply: FlameReply): Data {
	const path = reply.path ?? [];
	const numbers = (name: string, above: (box: FlameAbove, at: number) => number) => [...path.map(above), ...(reply.columns[name] ?? [])];
	const texts = (name: string, above: (box: FlameAbove) => string) => [...path.map(above), ...(reply.columns[name] ?? []).map((at) => reply.strings[at] ?? "")];
	return {
		unit: reply.unit,
		total: reply.total,
		nodes_all: reply.nodes_all,
		at: reply.metric === "resident" ? reply.at : null,
		above: path.length,
		id: numbers("id", (box) => box.id),
		parent: numbers("parent", (_, at) => path[at - 1]?.id ?? 0),
		depth: numbers("depth", (_, at) => at),
		x0: numbers("x0", () => 0),
		x1: numbers("x1", () => 1),
		name: texts("name", (box) => box.name),
		module: texts("module", (box) => box.module),
		file: texts("file", () => ""),
		line: numbers("line", () => 0),
		self: numbers("self", () => 0),
		value: numbers("total", (box) => box.total),
		sev: numbers("sev", () => 255),
		point: numbers("point", () => NO_POINT),
		flags: numbers("flags", () => FLAG.above),
		merged: numbers("n_merged", () => 0),
		delta: reply.columns.delta ? numbers("delta", () => 0) : null,
	};
}

type Search = (name: string) => boolean;

/** Bare text is literal and does not mind case, /…/ is a regular expression. */
export function matcher(text: string): Search | null {
	const pattern = /^\/(.*)\/(i?)$/s.exec(text);
	if (text === "") return null;
	if (!pattern) {
		const wanted = text.toLowerCase();
		return (name) => name.toLowerCase().includes(wanted);
	}
	try {
		const expression = new RegExp(pattern[1] ?? "", pattern[2]);
		return (name) => expression.test(name);
	} catch {
		return () => false;
	}
}

interface Shape extends Painter {
	index: Map<number, number>; // id → row
	below: Map<number, number[]>; // id → rows of its children
	lines: number; // of the picture
}

interface Look {
	found: Search | null;
	delta: number[] | null;
	from: number; // of the root's width
	to: number;
	flip: boolean; // flames instead of icicles
	worst: boolean; // inner frames have the worst severity below them
	palette: Palette;
	modules: boolean; // tips have the colour of their module, too
	row: number; // pixels of a line
	onPath: ReadonlySet<number> | null; // rows that stay bright; null = all
	own: string; // the program's file
}

/** The program's own module, of which names and colours speak less. */
function ownModule(): string {
	return (trace.value?.program ?? "").replace(/^.*\//, "");
}

function childrenOf(data: Data): Map<number, number[]> {
	const below = new Map<number, number[]>();
	data.parent.forEach((parent, row) => {
		if (data.depth[row] === 0) return;
		const list = below.get(parent);
		if (list) list.push(row);
		else below.set(parent, [row]);
	});
	return below;
}

/** The worst severity at or below each frame; rows come by depth. */
function worstBelow(data: Data, index: Map<number, number>): number[] {
	const worst = data.sev.map((step) => (step === 255 ? 0 : step));
	for (let row = data.id.length - 1; row > 0; row--) {
		const parent = index.get(data.parent[row] ?? -1);
		if (parent != null && data.depth[row]) worst[parent] = Math.max(worst[parent] ?? 0, worst[row] ?? 0);
	}
	return worst;
}

/** The line of each frame, from above; -1 = not drawn. Around a pivot, callers rise above it and callees hang below. */
function levelsOf(data: Data, flip: boolean): { levels: number[]; lines: number } {
	const isCaller = (row: number) => ((data.flags[row] ?? 0) & FLAG.caller) !== 0;
	const deepest = data.depth.reduce((most, depth) => Math.max(most, depth), 0);
	const above = data.depth.reduce((most, depth, row) => (isCaller(row) ? Math.max(most, depth) : most), 0);
	if (above === 0) return { levels: data.depth.map((depth) => (flip ? deepest - depth : depth)), lines: deepest + 1 };
	const levels = data.depth.map((depth, row) => (depth === 0 ? -1 : isCaller(row) ? above - depth : above + depth - 2));
	return { levels, lines: levels.reduce((most, level) => Math.max(most, level), 0) + 1 };
}

/** What may stand in a frame, the longest first: names without their scopes, lines without their file, and code of the program that has no name without the program's. */
function drawnNames(data: Data, row: number, own: string): string[] {
	const name = labelOf(data, row);
	const flags = data.flags[row] ?? 0;
	if (flags & FLAG.line) return [name, `:${data.line[row]}`];
	if (flags & FLAG.merged) return [name];
	if (own !== "" && name.startsWith(`${own}+0x`)) return [name.slice(own.length)];
	const plain = plainName(name);
	return plain.includes("operator") ? [plain] : [plain, plain.replace(/^.*::(?=[^:]*::[^:]*$)/, ""), plain.replace(/^.*::/, "")];
}

function changeOf(delta: number, unit: string): string {
	return delta === 0 ? "" : `${delta > 0 ? "+" : "−"}${inUnit(Math.abs(delta), unit)}`;
}

const FONT = "12px system-ui, sans-serif";
const widths = new Map<string, number>(); // of texts in that font

/** Writes a name into so many pixels, cut at its end, and a number at the right where both have room. */
function writer(context: CanvasRenderingContext2D) {
	const measure = (text: string) => {
		const known = widths.get(text);
		if (known !== undefined) return known;
		if (widths.size > 20000) widths.clear();
		const width = context.measureText(text).width;
		widths.set(text, width);
		return width;
	};
	context.textBaseline = "middle";
	return (names: string[], numbers: string[], x: number, y: number, room: number, bold: boolean) => {
		context.font = FONT;
		const whole = names.find((name) => measure(name) <= room);
		const name = whole ?? names[names.length - 1] ?? "";
		const long = measure(name);
		const fits = Math.floor((name.length * (room - measure("…"))) / long);
		const number = whole === undefined ? undefined : numbers.find((words) => long + measure(words) + 16 <= room);
		if (number !== undefined) context.fillText(number, x + room - measure(number), y);
		if (bold) context.font = `bold ${FONT}`;
		if (whole !== undefined || fits > 2) context.fillText(whole ?? `${name.slice(0, fits)}…`, x, y, room);
	};
}

function shape(data: Data, look: Look): Shape {
	const { found, delta, from, to } = look;
	const index = new Map(data.id.map((id, row) => [id, row]));
	const mostDelta = delta ? delta.reduce((most, value, row) => (data.depth[row] ? Math.max(most, Math.abs(value)) : most), 1) : 0;
	const below = childrenOf(data);
	const worst = look.worst ? worstBelow(data, index) : [];
	const { levels, lines } = levelsOf(data, look.flip);
	const high = look.row;
	const own = look.own;
	const faded = (row: number, hit: boolean) => (((data.flags[row] ?? 0) & FLAG.above) !== 0 ? 0.6 : (found && !hit) || (look.onPath && !look.onPath.has(row)) ? 0.7 : 0);
	const colourOf = (row: number): string => {
		const step = look.worst ? worst[row] || 255 : (data.sev[row] ?? 255);
		if (delta && data.depth[row]) return difference(delta[row] ?? 0, mostDelta);
		if ((data.flags[row] ?? 0) & FLAG.merged || data.depth[row] === 0) return moduleColour("", dark.value);
		return step !== 255 && !(look.modules && !look.worst) ? severity(step, look.palette) : moduleColour(data.module[row] ?? "", dark.value, own, (data.flags[row] ?? 0) & FLAG.line ? labelOf(data, row) : (data.name[row] ?? ""));
	};
	return {
		index,
		below,
		lines,
		paint(context, width) {
			const { accent, ground, quiet } = ink();
			const items: Item[] = [];
			const scale = width / (to - from);
			const write = writer(context);
			for (let row = 0; row < data.id.length; row++) {
				const left = Math.max(0, ((data.x0[row] ?? 0) - from) * scale);
				const right = Math.min(width, ((data.x1[row] ?? 0) - from) * scale);
				if (right <= 0 || left >= width || (levels[row] ?? -1) < 0) continue;
				const w = right - left;
				const y = (levels[row] ?? 0) * high;
				const colour = colourOf(row);
				const isLine = ((data.flags[row] ?? 0) & FLAG.line) !== 0;
				const hit = found?.(data.name[row] ?? "") ?? false;
				const fade = faded(row, hit);
				context.fillStyle = fade ? mix(colour, ground, fade) : colour;
				context.fillRect(left, y, Math.max(0.5, w - 1), high - 1);
				if (hit && !isLine && w > 3) {
					context.strokeStyle = accent;
					context.lineWidth = 2;
					context.strokeRect(left + 1, y + 1, w - 3, high - 3);
				}
				if (w >= 30) {
					context.fillStyle = fade ? quiet : inkOn(colour);
					write(drawnNames(data, row, own), delta ? [changeOf(delta[row] ?? 0, data.unit)] : numbersOf(data, row), left + 5, y + high / 2, w - 11, hit && !isLine);
				}
				items.push({ id: data.id[row] ?? row, x: left, y, w, h: high - 1, colour, label: isLine ? labelOf(data, row) : (data.name[row] ?? "") });
			}
			return items;
		},
		step(start: Item, direction: Direction, items: Item[]): Item | null {
			const row = index.get(start.id);
			if (row == null) return null;
			const parent = data.depth[row] === 0 ? null : (index.get(data.parent[row] ?? -1) ?? null);
			const siblings = parent == null ? [row] : (below.get(data.id[parent] ?? -1) ?? []).filter((other) => levels[other] === levels[row]);
			const at = siblings.indexOf(row);
			const to = (levels[row] ?? 0) + (direction === "up" ? -1 : 1);
			const near = [...(below.get(data.id[row] ?? -1) ?? []), ...(parent == null ? [] : [parent])].find((other) => levels[other] === to);
			const target = direction === "left" || direction === "right" ? siblings[at + (direction === "left" ? -1 : 1)] : near;
			return target == null ? null : (items.find((item) => item.id === data.id[target]) ?? null);
		},
		speak(item) {
			const row = index.get(item.id) ?? 0;
			const inside = below.get(item.id)?.length ?? 0;
			const step = data.sev[row] ?? 255;
			return `${labelOf(data, row)}, ${inUnit(data.value[row], data.unit)}, ${share((data.value[row] ?? 0) / Math.max(1, data.total))} of total${step !== 255 ? `, severity ${step} of 12` : ""}${delta ? `, change ${inUnit(delta[row], data.unit)}` : ""}, ${inside} ${inside === 1 ? "child" : "children"}`;
		},
	};
}

/** What a frame says at its right: where there is room its share of all, too. */
function numbersOf(data: Data, row: number): string[] {
	const value = inUnit(data.value[row], data.unit);
	return [`${value} · ${share((data.value[row] ?? 0) / Math.max(1, data.total))}`, value];
}

function labelOf(data: Data, row: number): string {
	if ((data.flags[row] ?? 0) & FLAG.line) return `${(data.file[row] ?? "").replace(/^.*\//, "")}:${data.line[row]}`;
	return (data.flags[row] ?? 0) & FLAG.merged ? `(${count(data.merged[row])} small)` : data.name[row] || "unknown";
}

function Tip({ data, row, rated }: { data: Data; row: number; rated: boolean }) {
	const value = data.value[row] ?? 0;
	const flags = data.flags[row] ?? 0;
	const parent = data.id.indexOf(data.parent[row] ?? -1);
	const module = (data.module[row] ?? "").replace(/^.*\//, "");
	const where = [data.file[row] && `${/[^/]*\/?[^/]*$/.exec(data.file[row] ?? "")?.[0]}:${data.line[row]}`, module === ownModule() ? "" : module, flags & FLAG.inline ? "inlined" : ""].filter((words) => words);
	return (
		<>
			<b>{flags & FLAG.merged ? `${count(data.merged[row])} small callees` : data.name[row] || "unknown"}</b>
			<div>{inUnit(value, data.unit)}, {share(value / Math.max(1, data.total))} of all{parent >= 0 && data.depth[row] ? `, ${share(value / Math.max(1, data.value[parent] ?? 1))} of its caller` : ""}</div>
			{data.self[row] !== value && <div>itself {inUnit(data.self[row], data.unit)}</div>}
			{data.delta && <div>before {inUnit(value - (data.delta[row] ?? 0), data.unit)}, <Delta value={data.delta[row]} unit={data.unit} /></div>}
			{where.length > 0 && <div class="quiet">{where.join(", ")}</div>}
			{rated && (data.sev[row] ?? 255) !== 255 && <div>severity {data.sev[row]} of 12</div>}
		</>
	);
}

interface Row {
	row: number;
	inside: number; // children
}

/** The same as a tree of rows, depth first, with branches that fold. */
function Twin({ data, menu }: { data: Data; menu(row: number): Subject | null }) {
	const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
	const [chosen, setChosen] = useState<number | null>(null);
	const rows = useMemo<Row[]>(() => {
		const below = childrenOf(data);
		const order: Row[] = [];
		const stack = data.depth.flatMap((depth, row) => (depth === 0 ? [row] : [])).reverse();
		while (stack.length) {
			const row = stack.pop() as number;
			const inside = below.get(data.id[row] ?? -1) ?? [];
			order.push({ row, inside: inside.length });
			if (!folded.has(row)) for (let at = inside.length - 1; at >= 0; at--) stack.push(inside[at] as number);
		}
		return order;
	}, [data, folded]);
	const fold = (row: number, to = !folded.has(row)) => setFolded((old) => new Set(to ? [...old, row] : [...old].filter((other) => other !== row)));
	const columns: Column<Row>[] = [
		{
			name: "name",
			label: "Function",
			cell: ({ row, inside }) => (
				<span style={{ paddingLeft: `${Math.min(30, data.depth[row] ?? 0) * 10}px` }} title={data.name[row]}>
					{inside > 0 && <button class="plain" tabIndex={-1} aria-expanded={!folded.has(row)} aria-label={folded.has(row) ? "Unfold" : "Fold"} onClick={() => fold(row)}>{folded.has(row) ? "▸" : "▾"}</button>} <Name of={labelOf(data, row)} />
				</span>
			),
			text: ({ row }) => `${"  ".repeat(data.depth[row] ?? 0)}${labelOf(data, row)}`,
		},
		{ name: "value", label: "Total", number: true, width: "12ch", cell: ({ row }) => inUnit(data.value[row], data.unit), text: ({ row }) => String(data.value[row]) },
		{ name: "pct", label: "Share", number: true, width: "9ch", cell: ({ row }) => share((data.value[row] ?? 0) / Math.max(1, data.total)) },
		{ name: "bar", label: "", width: "minmax(8ch, 24ch)", whole: true, cell: ({ row }) => <Bar share={(data.value[row] ?? 0) / Math.max(1, data.total)} />, text: () => "" },
		{ name: "self", label: "Itself", number: true, width: "12ch", cell: ({ row }) => inUnit(data.self[row], data.unit), text: ({ row }) => String(data.self[row]) },
	];
	if (data.delta) columns.push({ name: "delta", label: "Change", number: true, width: "13ch", cell: ({ row }) => <Delta value={data.delta?.[row]} unit={data.unit} />, text: ({ row }) => String(data.delta?.[row] ?? "") });
	return (
		<Table
			label="Flame graph as a table"
			columns={columns}
			rows={rows}
			rowKey={({ row }) => row}
			height={560}
			rowHeight={26}
			selected={chosen}
			onSelect={({ row }) => {
				setChosen(row);
				if (hasPoint(data, row)) select("p", data.point[row] ?? 0);
			}}
			onKey={(event, { row, inside }) => {
				if (inside === 0 || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return false;
				fold(row, event.key === "ArrowLeft");
				return true;
			}}
			menu={({ row }) => menu(row)}
			copied={() => rows}
		/>
	);
}

function Legend({ data, palette, modules }: { data: Data; palette: Palette; modules: boolean }) {
	if (data.delta)
		return (
			<span class="legend" aria-label="Colours">
				<span>less</span>
				{[-1, -0.25, 0, 0.25, 1].map((part) => <span class="swatch" style={{ background: difference(part, 1) }} />)}
				<span>more</span>
			</span>
		);
	if (modules) {
		const weights = new Map<string, number>();
		data.self.forEach((self, row) => self > 0 && weights.set(data.module[row] ?? "", (weights.get(data.module[row] ?? "") ?? 0) + self));
		return <span class="key" aria-label="Colours">{[...weights].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([module]) => <span><span class="swatch" style={{ background: moduleColour(module, dark.value, ownModule()) }} />{module.replace(/^.*\//, "") || "unknown"}</span>)}</span>;
	}
	return (
		<span class="legend" aria-label="Colours">
			<span>severity</span>
			{Array.from({ length: 12 }, (_, step) => <span class="swatch" style={{ background: severity(step + 1, palette), color: inkOn(severity(step + 1, palette)) }}>{step + 1}</span>)}
			<span class="quiet">of allocation points</span>
		</span>
	);
}

/** The way to what is zoomed to, in one line whatever its length, and how much that is. */
function Crumbs({ data, truncated, inspect }: { data: Data; truncated: boolean; inspect(row: number): void }) {
	const root = data.above;
	const value = data.value[root] ?? 0;
	const zoom = (row: number) => set({ z: row === 0 ? null : `n:${data.id[row]}`, x: null });
	const left = root > 4 ? root - 2 : 1; // those between the first and this one are behind a button
	const crumb = (row: number) => <li><button class="plain" title={data.name[row]} onClick={() => zoom(row)}>{shortName(data.name[row] ?? "", 28)}</button></li>;
	const others = (event: MouseEvent) => {
		const box = (event.currentTarget as Element).getBoundingClientRect();
		openMenu(box.left, box.bottom + 4, { title: "Callers", acts: [["", data.name.slice(1, left).map((name, at) => ({ label: shortName(name, 40), run: () => zoom(at + 1) }))]] });
	};
	return (
		<nav class="crumbs" aria-label="Zoom">
			{root > 0 && (
				<ol>
					{crumb(0)}
					{left > 1 && <li><button class="plain" aria-haspopup="menu" aria-label={`${left - 1} callers`} onClick={others}>…</button></li>}
					{data.name.slice(left, root).map((_, at) => crumb(left + at))}
					<li aria-current="true"><button class="plain" title="Inspect" onClick={() => inspect(root)}><b>{shortName(data.name[root] ?? "", 40)}</b></button></li>
				</ol>
			)}
			<span class="quiet">{inUnit(value, data.unit)}{data.at != null && ` at ${ns(data.at)}`}{root > 0 ? `, ${share(value / Math.max(1, data.total))} of ${inUnit(data.total, data.unit)},` : ""} in {count(data.nodes_all)} {data.nodes_all === 1 ? "frame" : "frames"}{truncated ? `, the widest ${count(data.id.length - root)} are shown: zoom for the others` : ""}</span>
		</nav>
	);
}

/** How high the chart can be so that it fills the window. */
function useRoom(): [{ current: HTMLDivElement | null }, number] {
	const holder = useRef<HTMLDivElement>(null);
	const [high, setHigh] = useState(480);
	const fit = () => holder.current && setHigh(Math.max(260, Math.floor(window.innerHeight - holder.current.getBoundingClientRect().top - window.scrollY - 52)));
	useLayoutEffect(() => void (dragged.value === null && fit())); // asked while one drags, the page is laid out at each picture
	useEffect(() => {
		window.addEventListener("resize", fit);
		return () => window.removeEventListener("resize", fit);
	}, []);
	return [holder, high];
}

/** Rows that a selection is about: the way to a point, or all frames of a function. null = nothing is selected, or nothing of it is drawn. */
function rowsOfSelection(data: Data, index: Map<number, number>): ReadonlySet<number> | null {
	const chosen = selection.value;
	const rows = new Set<number>();
	if (chosen?.kind === "p")
		for (let at: number | undefined = data.point.findIndex((point, row) => point === Number(chosen.id) && hasPoint(data, row)); at !== undefined && at >= 0; at = data.depth[at] ? index.get(data.parent[at] ?? -1) : undefined) rows.add(at);
	else if (chosen?.kind === "f") data.name.forEach((name, row) => name === chosen.id && rows.add(row));
	return rows.size > 0 ? rows : null;
}

/** What vanished has no width here: it is listed. */
function Gone({ reply }: { reply: FlameReply }) {
	if (!reply.gone?.length) return null;
	return (
		<section class="gone" aria-label="Gone">
			<h3>Gone: {inUnit(reply.gone_total, reply.unit)} that were there before</h3>
			<ul>{[...reply.gone].sort((a, b) => b.base - a.base).slice(0, 40).map((item) => <li {...menuOf(() => ({ title: item.fn, fn: item.fn }))}><button class="plain" onClick={() => select("f", item.fn)}>{item.fn || "unknown"}</button> <span class="less">▼ {inUnit(item.base, reply.unit)}</span></li>)}</ul>
		</section>
	);
}

const NO_POINT = 4294967295;

function hasPoint(data: Data, row: number): boolean {
	return ((data.flags[row] ?? 0) & FLAG.leaf) !== 0 && (data.point[row] ?? NO_POINT) !== NO_POINT;
}

/** Names that are left out, as the server is asked: one of them as it is, several as an expression. */
function hideAll(names: string[]): string {
	if (names.length === 1 && names[0]?.startsWith("/")) return names[0];
	return names.length ? `/^(${names.map((name) => exactly(name).slice(2, -2)).join("|")})$/` : "";
}

function pathOf(data: Data, row: number, index: Map<number, number>): string[] {
	const names: string[] = [];
	for (let at: number | undefined = row; at !== undefined; at = data.depth[at] ? index.get(data.parent[at] ?? -1) : undefined) names.push(data.name[at] || "unknown");
	return names;
}

/** One line a stack, outermost frame first: what other programs draw flame graphs of. */
function collapsed(data: Data, index: Map<number, number>, up: boolean): string {
	const lines: string[] = [];
	data.self.forEach((self, row) => {
		if (self <= 0 || data.depth[row] === 0) return;
		const path = pathOf(data, row, index).slice(0, -1);
		lines.push(`${(up ? path : path.reverse()).map((name) => name.replace(/[;\n]/g, ":")).join(";")} ${Math.round(self)}`);
	});
	return `${lines.join("\n")}\n`;
}

function asSvg(items: Item[], width: number, height: number): string {
	const safe = (text: string) => text.replace(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char] ?? "");
	const cut = (text: string, most: number) => (text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`);
	const boxes = items.map(({ x, y, w, h, colour, label }) => {
		const words = w >= 30 ? `<text x="${(x + 4).toFixed(1)}" y="${y + 14}" fill="${inkOn(colour)}">${safe(cut(label, Math.floor((w - 6) / 6.6)))}</text>` : "";
		return `<g><title>${safe(label)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, w - 0.5).toFixed(1)}" height="${h}" fill="${colour}"/>${words}</g>`;
	});
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12">${boxes.join("\n")}</svg>\n`;
}

/** Callers of one function above it and what it calls below. open: a frame was opened. */
export function Sandwich({ fn, metric, open }: { fn: string; metric: string; open(name: string): void }) {
	const answer = useAnswer<FlameReply>("/flame", { ...common(), metric, dir: "pivot", pivot: fn, px: 1600 });
	const data = useMemo(() => (answer.reply ? unpack(answer.reply.data) : null), [answer.reply]);
	const painter = useMemo(() => (data ? shape(data, { found: null, delta: null, from: 0, to: 1, flip: false, worst: false, palette: "safe", modules: true, row: ROW, onPath: null, own: ownModule() }) : null), [data, ownModule()]);
	const rowOf = (item: Item) => painter?.index.get(item.id) ?? 0;
	return (
		<Panel answer={answer} label="Callers and callees" empty={(flame) => (flame.total === 0 ? "This function never led to an allocation." : null)}>
			{() => data && painter && (
				<CanvasView
					name="sandwich"
					label={`Callers of ${fn} above it, what it calls below`}
					description="flame graph"
					height={painter.lines * ROW}
					painter={painter}
					version={fn}
					selected={null}
					onSelect={(item) => item.label && select("f", item.label)}
					onOpen={(item) => data.name[rowOf(item)] && open(data.name[rowOf(item)] ?? "")}
					tooltip={(item) => <Tip data={data} row={rowOf(item)} rated={false} />}
				/>
			)}
		</Panel>
	);
}

interface Hits {
	frames: number;
	total: number;
	pct: number;
	first: number[];
}

export function Flame() {
	const metric = oneOf("metric", metrics, cursor.value != null ? "live" : "peak");
	const dir = key("dir") || "down";
	const palette = paletteOf(key("pal"));
	const flip = key("flip") === "1";
	const worst = key("color") === "worst";
	const modules = !worst && key("color") !== "sev" && key("pal") === "";
	const folded = key("fold") !== "0"; // what is not the program's own
	const [holder, room] = useRoom();
	const range = /^([\d.]+)-([\d.]+)$/.exec(key("x"));
	const from = Math.min(0.999999, Math.max(0, Number(range?.[1] ?? 0)));
	const to = Math.min(1, Math.max(from + 1e-6, Number(range?.[2] ?? 1)));
	const hidden = key("hide") === "" ? [] : key("hide").split("\u0001");
	const table = view.value === "tree"; // a view of its own
	useTableKey(() => go(view.value === "tree" ? "flame" : "tree"));
	useEffect(() => {
		if (key("as") === "table") go("tree", { as: null }, true); // as older addresses say it
	}, [key("as")]);
	const hit = useRef(-1);
	const held = useRef({ x: 0, from: 0, to: 1 });
	const asked = {
		...common(),
		...against("/flame"),
		metric,
		dir,
		pivot: dir === "pivot" ? key("pivot") : null,
		at: metric === "live" || metric === "chunks_live" ? (cursor.value ?? trace.value?.duration_ns) : null,
		root: key("z").replace(/^n:/, ""),
		hide: hideAll(hidden),
		rec: key("rec"),
		fold: folded ? 1 : null,
		px: dragged.value !== null && !embedded ? 100 : 1600, // coarse until the drag ends
	};
	const needsPivot = dir === "pivot" && key("pivot") === "";
	const needsCursor = !embedded && cursor.value == null && (metric === "live" || metric === "chunks_live");
	const peak = useAnswer<FlameReply>(needsCursor ? "/flame" : null, { ...common(), metric: "peak", px: 100 });
	useEffect(() => {
		if (needsCursor && peak.reply?.data.at != null) set({ at: peak.reply.data.at }, true);
	}, [needsCursor, peak.reply]);
	const answer = useAnswer<FlameReply>(needsPivot || (needsCursor && !peak.error && peak.reply?.data.at !== null) ? null : "/flame", { ...asked, x0: from > 0 ? from : null, x1: to < 1 ? to : null }, dragged.value !== null);
	const heaviest = useAnswer<FlameReply>(needsPivot ? "/flame" : null, { ...asked, base: null, root: null, dir: "up", px: 100 });
	useEffect(() => {
		// its first frame below all is the function that allocates most itself
		const [name] = needsPivot && heaviest.reply ? unpack(heaviest.reply.data).name.slice(1) : [];
		if (name) set({ pivot: name }, true);
	}, [needsPivot, heaviest.reply]);
	const search = useAnswer<Hits>(key("s") === "" || needsPivot || embedded ? null : "/flame/search", { ...asked, base: null, s: key("s") });
	const reply = answer.reply;
	const data = useMemo(() => (reply ? unpack(reply.data) : null), [reply]);
	const found = useMemo(() => matcher(key("s")), [key("s")]);
	const tallest = useRef({ of: "", lines: 1 });
	const lines = useMemo(() => {
		if (!data) return 1;
		// a zoom leaves rows as high as they were, so that frames stay where they are
		const of = JSON.stringify({ ...answer.asked, root: null, x0: null, x1: null, at: null, px: null });
		tallest.current = { of, lines: Math.max(levelsOf(data, flip).lines, tallest.current.of === of ? tallest.current.lines : 1) };
		return tallest.current.lines;
	}, [data, flip]);
	const row = Math.min(TALLEST, Math.max(ROW, Math.floor(room / lines)));
	const chosenText = key("sel");
	const onPath = useMemo(() => (data ? rowsOfSelection(data, new Map(data.id.map((id, at) => [id, at]))) : null), [data, chosenText]);
	const own = trace.value && ownModule(); // before it is known, frames would have other colours
	const painter = useMemo(() => (data && own != null ? shape(data, { found, delta: data.delta, from, to, flip, worst, palette, modules, row, onPath, own }) : null), [data, found, from, to, flip, worst, palette, modules, row, onPath, own, dark.value]);
	const rowOf = (item: Item) => painter?.index.get(item.id) ?? 0;
	const items = () => window.__hw?.items("flame") ?? [];
	const width = () => document.querySelector('[data-t="chart-flame"]')?.clientWidth ?? 1;
	const hits = search.reply && key("s") !== "" ? search.reply.data : null;
	const drawnHits = embedded && data && found ? data.name.filter((name, at) => !((data.flags[at] ?? 0) & FLAG.line) && found(name)).length : null;
	const hitWords = hits ? `${count(hits.frames)} ${hits.frames === 1 ? "hit" : "hits"}, ${inUnit(hits.total, data?.unit ?? "count")}, ${share(hits.pct / 100)}${data?.above ? " of all" : ""}` : drawnHits != null ? `${count(drawnHits)} ${drawnHits === 1 ? "hit" : "hits"}` : (search.error?.message ?? "");
	const look = (start: number, span: number, replace = true) => {
		const size = Math.min(1, Math.max(1e-5, span));
		const first = Math.min(1 - size, Math.max(0, start));
		set({ x: size >= 1 ? null : `${first.toPrecision(7)}-${(first + size).toPrecision(7)}` }, replace);
	};
	const zoom = (item: Item) => {
		const row = painter?.index.get(item.id);
		if (row === undefined) return; // the second click of two, of a picture that is gone
		if (!data || !((data.flags[row] ?? 0) & FLAG.merged)) set({ z: (data?.depth[row] ?? 0) === 0 ? null : `n:${item.id}`, x: null });
		else look(data.x0[row] ?? 0, (data.x1[row] ?? 1) - (data.x0[row] ?? 0), false);
	};
	const hide = (name: string) => name !== "" && set({ hide: [...hidden, name].join("\u0001"), z: null });
	const pivot = (name: string) => name !== "" && set({ dir: "pivot", pivot: name, z: null, x: null });
	const sourceOf = (row: number) => sourced && data?.file[row] && go(lineOf(data.file[row], data.line[row]));
	const walk = (step: number) => {
		const drawn = items().filter((item) => found?.(item.label));
		const next = drawn[(hit.current + step + drawn.length) % Math.max(1, drawn.length)];
		hit.current = next ? drawn.indexOf(next) : -1;
		if (next) zoom(next);
		else if (hits?.first[0] != null) set({ z: `n:${hits.first[0]}`, x: null });
		else say("Nothing was found.");
	};
	const inspect = (row: number) => {
		const tip = data && hasPoint(data, row) && !painter?.below.has(data.id[row] ?? -1);
		if (data && tip) select("p", data.point[row] ?? 0);
		else if (data?.name[row] && data.depth[row]) select("f", data.name[row] ?? "");
	};
	/** A click zooms; a second one, on what fills the width, opens what is known of it. */
	const click = (item: Item) => (data && rowOf(item) === data.above && data.above > 0 ? inspect(data.above) : zoom(item));
	const menu = (row: number): Subject | null => {
		if (!data || data.depth[row] === 0) return null;
		const name = data.name[row] ?? "";
		const item = items().find((other) => other.id === data.id[row]);
		const focus = [
			{ label: "Inspect", run: () => inspect(row) },
			{ label: "Zoom here", run: () => (item ? zoom(item) : set({ z: `n:${data.id[row]}`, x: null })) },
			{ label: "Sandwich", run: () => pivot(name) },
			{ label: "Merge this frame into its caller", run: () => hide(name) },
		];
		return {
			title: labelOf(data, row),
			fn: name,
			module: data.module[row] || null,
			file: data.file[row] || null,
			line: data.line[row] ?? null,
			point: hasPoint(data, row) ? (data.point[row] ?? null) : null,
			...(hasPoint(data, row) ? {} : { condition: `stack == ${quote(name)}` }),
			stack: () => pathOf(data, row, painter?.index ?? new Map()).join("\n"),
			focus: (data.flags[row] ?? 0) & FLAG.merged ? focus.slice(1, 2) : focus,
		};
	};
	const keys = (event: KeyboardEvent, item: Item | null): boolean => {
		if (event.key === "Backspace") history.back();
		else if (event.key === "i") set({ dir: dir === "up" ? null : "up", z: null, x: null });
		else if (event.key === "r") set({ rec: key("rec") === "0" ? null : 0 });
		else if (event.key === "m") chooseMetric(all[(all.findIndex(([name]) => name === metric) + 1) % all.length]?.[0] ?? metric);
		else if (event.key === "h" && item) hide(data?.name[rowOf(item)] ?? "");
		else if (event.key === "d" && item) inspect(rowOf(item));
		else if (event.key === "v" && item) pivot(data?.name[rowOf(item)] ?? "");
		else if (event.key === "c" && item && data && painter) void copy(pathOf(data, rowOf(item), painter.index).join("\n"), "the stack");
		else if (event.key === "s" && item) sourceOf(rowOf(item));
		else if (event.key === "n" || event.key === "N") walk(event.key === "n" ? 1 : -1);
		else if (event.key === "+") look((from + to) / 2 - (to - from) / 4, (to - from) / 2);
		else if (event.key === "-") look((from + to) / 2 - (to - from), (to - from) * 2);
		else if (event.key === "0") set({ z: null, x: null });
		else return false;
		return true;
	};
	const save = (kind: string) => {
		const canvas = document.querySelector<HTMLCanvasElement>('[data-t="chart-flame"] canvas');
		if (!data || !painter) return;
		if (kind === "collapsed") saveFile("flame.folded", collapsed(data, painter.index, dir === "up"));
		else if (!canvas) say("Show the chart first.");
		else if (kind === "png") canvas.toBlob((blob) => blob && saveFile("flame.png", blob));
		else saveFile("flame.svg", asSvg(items(), canvas.clientWidth, canvas.clientHeight), "image/svg+xml");
	};
	const point = selectedPoint();
	const chosen = data ? (data.id[data.point.findIndex((other, row) => other === point && hasPoint(data, row))] ?? null) : null;
	const nothing = metric === "lost" ? "Nothing is certainly lost. “Never freed” has what may be." : metric === "kept" ? "Everything was freed." : metric === "temporary" ? "Nothing was temporary." : trace.value?.caps.stacks === false ? "Stacks were not recorded." : "Nothing to show.";
	const chooseMetric = (value: string) => set({ metric: value, z: null, x: null });
	const all = shownMetrics();
	const inRow = ([name]: [string, string]) => isShort(name) || (name === "allocs" && window.innerWidth >= ROOMY);
	const others = all.filter((item) => !inRow(item));
	const colours = [["Module", "", ""], ["Severity of points", "sev", ""], ["Worst severity below", "worst", ""], ["Rainbow, as Memoro", "sev", "memoro"], ["Grey", "sev", "gray"]] as const;
	const looks: [string, Act[]][] = [
		["Colour", table ? [] : colours.map(([label, color, pal]) => ({ label, on: key("color") === color && key("pal") === pal, run: () => set({ color, pal }) }))],
		["Frames", [
			...(embedded ? [] : [{ label: folded ? "Show library and start-up frames" : "Fold library and start-up frames", run: () => set({ fold: folded ? 0 : null, z: null, x: null }) }]),
			...(embedded ? [] : [{ label: key("rec") === "0" ? "Fold recursion" : "Unfold recursion", run: () => set({ rec: key("rec") === "0" ? null : 0, z: null, x: null }) }]),
			...(table ? [] : [{ label: flip ? "Grow downwards" : "Grow upwards", run: () => set({ flip: flip ? null : 1 }) }]),
		]],
	];
	const shares: [string, Act[]][] = [
		["Copy", [{ label: "Link to this state", run: () => void copy(location.href, "the link") }]],
		["Save", [{ label: "SVG", run: () => save("svg") }, { label: "PNG", run: () => save("png") }, { label: "Collapsed stacks", run: () => save("collapsed") }]],
	];
	return (
		<div class="view flame">
			<div class="controls">
				<Segment label="Metric" value={metric} options={all.filter(inRow).map(([name, words]) => [name, short[name] ?? words, words] as const)} onChange={chooseMetric} />
				{others.length > 0 && <MenuButton label="More metrics" icon="chevron" words="Metric" groups={[["", others.map(([name, words]) => ({ label: words, on: name === metric, run: () => chooseMetric(name) }))]]} />}
				<Segment label="Direction" value={dir} options={[["down", "Normal", "From main to who allocates"], ["up", "Inverted", "From who allocates to main"], ...(embedded ? [] : [["pivot", "Sandwich", "Callers and callees of one function"] as const])]} onChange={(value) => set({ dir: value === "down" ? null : value, z: null, x: null, ...(value === "pivot" && data?.above ? { pivot: data.name[data.above] } : {}) })} />
				<label class="choice find"><span class="sr-only">Search</span><Icon name="search" size={14} /><input id="search" value={key("s")} placeholder="Search" title="Text or /regex/" onInput={(event) => set({ s: event.currentTarget.value }, true)} onKeyDown={(event) => event.key === "Enter" && walk(event.shiftKey ? -1 : 1)} /></label>
				<span class="end">
					<button class="ghost" title="Whole graph: 0" aria-label="Whole graph" disabled={key("z") === "" && key("x") === ""} onClick={() => set({ z: null, x: null })}><Icon name="reset" /></button>
					<MenuButton label="How it is drawn" icon="eye" words="View" groups={looks} />
					<MenuButton label="Copy or save" icon="download" groups={shares} />
				</span>
			</div>
			{point != null && data && chosen == null && !embedded && data.total > 0 && <p class="note" role="note">The selected point is too small to be drawn here, or part of a wider frame. <button class="plain" onClick={() => addWhere(`point == ${point}`)}>Show it alone</button></p>}
			<Panel answer={needsPivot && (heaviest.error || heaviest.reply?.data.total === 0) ? heaviest : answer} label="Flame graph" empty={(flame) => (flame.total === 0 ? nothing : null)}>
				{(raw, { truncated }) => {
					const flame = data;
					if (!flame) return null;
					return (
						<>
							<div class="crumb-line">
								{dir === "pivot" && <label class="choice">Function<input value={key("pivot")} onChange={(event) => set({ pivot: event.currentTarget.value, z: null })} /></label>}
								{others.filter(([name]) => name === metric).map(([, words]) => <b>{words}</b>)}
								<Crumbs data={flame} truncated={truncated} inspect={inspect} />
								{key("s") !== "" && <span class="hits" role="status" data-t="hits">{hitWords}</span>}
								{hidden.map((name) => <button class="chip" title="Show this frame again" onClick={() => set({ hide: hidden.filter((other) => other !== name).join("\u0001") || null, z: null })}>without {shortName(name, 24)} <Icon name="x" size={12} /></button>)}
								{!table && <Legend data={flame} palette={palette} modules={modules} />}
							</div>
							{table ? (
								<Twin data={flame} menu={menu} />
							) : (
								painter && (
									<div ref={holder} class="flame-room" style={{ height: `${room}px` }}>
									<CanvasView
										name="flame"
										label={`Flame graph of ${metrics.find(([name]) => name === metric)?.[1] ?? metric}`}
										description="flame graph"
										height={painter.lines * row}
										painter={painter}
										version={`${key("s")}`}
										selected={chosen}
										onSelect={() => undefined}
										onClick={click}
										onOpen={zoom}
										onKey={keys}
										onDrag={(phase, x) => {
											if (phase === "begin") held.current = { x, from, to };
											else if (phase === "move" && held.current.to - held.current.from < 1) look(held.current.from - ((x - held.current.x) / width()) * (held.current.to - held.current.from), held.current.to - held.current.from);
										}}
										onWheel={(event, x) => {
											if (!event.ctrlKey) return false;
											const middle = from + (x / width()) * (to - from);
											const span = (to - from) * (event.deltaY > 0 ? 1.25 : 0.8);
											look(middle - (x / width()) * span, span);
											return true;
										}}
										menu={(item) => menu(rowOf(item))}
										tip={flip ? "below" : "above"}
										tooltip={(item) => <Tip data={flame} row={rowOf(item)} rated={!modules} />}
									/>
									</div>
								)
							)}
							<Gone reply={raw} />
						</>
					);
				}}
			</Panel>
		</div>
	);
}
