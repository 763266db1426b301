// SPDX-License-Identifier: MIT
// Which call paths cost most. The server lays the frames out; here they are painted, walked and searched.

import { useMemo } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { CanvasView, type Direction, type Item, type Painter } from "../lib/canvas";
import { dark, difference, ink, inkOn, moduleColour, severity } from "../lib/colour";
import { count, inUnit, share, trimMiddle } from "../lib/format";
import { Choice } from "../lib/parts";
import { select, selectedPoint } from "../lib/select";
import { addWhere, common, cursor, key, linkTo, quote, set } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { TwinButton, useTwin } from "../lib/twin";
import type { Flame as Data, FlameReply } from "../lib/types";
import { copy } from "../lib/say";
import { trace } from "../shell";

const ROW = 20;
export const FLAG = { leaf: 1, inline: 2, merged: 4, recursion: 8, match: 16 } as const;

const metrics = [
	["bytes", "Bytes allocated"],
	["allocs", "Allocations"],
	["peak", "Live at the peak"],
	["live", "Live at the cursor"],
	["leaked", "Kept at the end"],
	["temporary", "Temporary"],
] as const;

/** Numbers of texts become texts. */
function unpack(reply: FlameReply): Data {
	const column = (name: string) => reply.columns[name] ?? [];
	const texts = (name: string) => column(name).map((at) => reply.strings[at] ?? "");
	return {
		unit: reply.unit,
		total: reply.total,
		nodes_all: reply.nodes_all,
		id: column("id"),
		parent: column("parent"),
		depth: column("depth"),
		x0: column("x0"),
		x1: column("x1"),
		name: texts("name"),
		module: texts("module"),
		file: texts("file"),
		line: column("line"),
		self: column("self"),
		value: column("total"),
		sev: column("sev"),
		point: column("point"),
		flags: column("flags"),
		merged: column("n_merged"),
		delta: reply.columns.delta ?? null,
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
}

function shape(data: Data, found: Search | null, delta: number[] | null): Shape {
	const index = new Map(data.id.map((id, row) => [id, row]));
	const mostDelta = delta ? Math.max(1, ...delta.map(Math.abs)) : 0;
	const children = new Map<number, number[]>();
	data.parent.forEach((parent, row) => {
		if (data.depth[row] === 0) return;
		const list = children.get(parent);
		if (list) list.push(row);
		else children.set(parent, [row]);
	});
	const colourOf = (row: number): string => {
		const step = data.sev[row] ?? 255;
		if (delta) return difference(delta[row] ?? 0, mostDelta);
		return step !== 255 ? severity(step) : moduleColour(data.module[row] ?? "", dark.value);
	};
	return {
		index,
		paint(context, width) {
			const { text, accent } = ink();
			const items: Item[] = [];
			context.textBaseline = "middle";
			for (let row = 0; row < data.id.length; row++) {
				const x = (data.x0[row] ?? 0) * width;
				const w = ((data.x1[row] ?? 0) - (data.x0[row] ?? 0)) * width;
				const y = (data.depth[row] ?? 0) * ROW;
				const colour = colourOf(row);
				const name = data.name[row] ?? "";
				const hit = found?.(name) ?? false;
				context.globalAlpha = found && !hit ? 0.35 : 1;
				context.fillStyle = colour;
				context.fillRect(x, y, Math.max(0.5, w - 0.5), ROW - 1);
				if (w > 3) {
					context.strokeStyle = hit ? accent : text;
					context.lineWidth = hit ? 2 : 0.3;
					context.strokeRect(x + 0.5, y + 0.5, w - 1.5, ROW - 2);
				}
				if (w >= 30) {
					context.font = `${hit ? "bold " : ""}12px system-ui, sans-serif`;
					context.fillStyle = inkOn(colour);
					context.fillText(trimMiddle(name || "?", Math.floor((w - 6) / 6.6)), x + 4, y + ROW / 2);
				}
				items.push({ id: data.id[row] ?? row, x, y, w, h: ROW - 1, colour, label: name });
			}
			context.globalAlpha = 1;
			return items;
		},
		step(from: Item, direction: Direction, items: Item[]): Item | null {
			const row = index.get(from.id);
			if (row == null) return null;
			const parent = data.depth[row] === 0 ? null : (index.get(data.parent[row] ?? -1) ?? null);
			const siblings = parent == null ? [row] : (children.get(data.id[parent] ?? -1) ?? []);
			const at = siblings.indexOf(row);
			const target =
				direction === "up" ? parent : direction === "down" ? children.get(data.id[row] ?? -1)?.[0] : siblings[at + (direction === "left" ? -1 : 1)];
			return target == null ? null : (items[target] ?? null);
		},
		speak(item) {
			const row = index.get(item.id) ?? 0;
			const below = children.get(item.id)?.length ?? 0;
			const step = data.sev[row] ?? 255;
			return `${item.label || "unknown"}, ${inUnit(data.value[row], data.unit)}, ${share((data.value[row] ?? 0) / Math.max(1, data.total))} of total${step !== 255 ? `, severity ${step} of 12` : ""}, ${below} ${below === 1 ? "child" : "children"}`;
		},
	};
}

function Tip({ data, row }: { data: Data; row: number }) {
	const value = data.value[row] ?? 0;
	const flags = data.flags[row] ?? 0;
	const parent = data.id.indexOf(data.parent[row] ?? -1);
	return (
		<>
			<b>{data.name[row] || "unknown"}</b>
			{flags & FLAG.merged ? <div>{count(data.merged[row])} small callees</div> : null}
			<div>{inUnit(value, data.unit)}, {share(value / Math.max(1, data.total))} of all{parent >= 0 && data.depth[row] ? `, ${share(value / Math.max(1, data.value[parent] ?? 1))} of its caller` : ""}</div>
			<div>itself {inUnit(data.self[row], data.unit)}</div>
			{data.file[row] && <div class="quiet">{data.file[row]}:{data.line[row]}</div>}
			<div class="quiet">{data.module[row]}{flags & FLAG.inline ? ", inlined" : ""}</div>
			{(data.sev[row] ?? 255) !== 255 && <div>severity {data.sev[row]} of 12</div>}
		</>
	);
}

interface Row {
	row: number;
}

function Twin({ data }: { data: Data }) {
	const rows = useMemo<Row[]>(() => {
		// depth first, as one reads a tree
		const below = new Map<number, number[]>();
		const order: Row[] = [];
		data.parent.forEach((parent, row) => {
			if (data.depth[row]) below.set(parent, [...(below.get(parent) ?? []), row]);
		});
		const stack = data.depth.flatMap((depth, row) => (depth === 0 ? [row] : [])).reverse();
		while (stack.length) {
			const row = stack.pop() as number;
			order.push({ row });
			stack.push(...[...(below.get(data.id[row] ?? -1) ?? [])].reverse());
		}
		return order;
	}, [data]);
	const columns: Column<Row>[] = [
		{ name: "name", label: "Function", cell: ({ row }) => <span style={{ paddingLeft: `${Math.min(30, data.depth[row] ?? 0) * 10}px` }}>{data.name[row] || "unknown"}</span> },
		{ name: "value", label: "Total", number: true, width: "12ch", cell: ({ row }) => inUnit(data.value[row], data.unit) },
		{ name: "pct", label: "Share", number: true, width: "9ch", cell: ({ row }) => share((data.value[row] ?? 0) / Math.max(1, data.total)) },
		{ name: "self", label: "Itself", number: true, width: "12ch", cell: ({ row }) => inUnit(data.self[row], data.unit) },
		{ name: "sev", label: "Severity", number: true, width: "9ch", cell: ({ row }) => ((data.sev[row] ?? 255) === 255 ? "" : String(data.sev[row])) },
	];
	return <Table label="Flame graph as a table" columns={columns} rows={rows} rowKey={({ row }) => row} height={560} rowHeight={26} onSelect={({ row }) => data.point[row] != null && select("p", data.point[row] ?? 0)} />;
}

function Legend() {
	return (
		<div class="legend" aria-label="Colours">
			<span>severity</span>
			{Array.from({ length: 12 }, (_, step) => <span class="swatch" style={{ background: severity(step + 1), color: inkOn(severity(step + 1)) }}>{step + 1}</span>)}
			<span class="quiet">of allocation points; inner frames have the hue of their module</span>
		</div>
	);
}

export function Flame() {
	const metric = key("metric") || (cursor.value != null ? "live" : "bytes");
	const dir = key("dir") || "down";
	const [table, toggleTable] = useTwin();
	const answer = useAnswer<FlameReply>("/flame", {
		...common(),
		metric,
		dir,
		pivot: key("pivot"),
		at: metric === "live" ? (cursor.value ?? trace.value?.duration_ns) : null,
		root: key("z").replace(/^n:/, ""),
		hide: key("hide"),
		rec: key("rec"),
		px: 1600,
	});
	const reply = answer.reply;
	const data = useMemo(() => (reply ? unpack(reply.data) : null), [reply]);
	const found = useMemo(() => matcher(key("s")), [key("s")]);
	const painter = useMemo(() => (data ? shape(data, found, data.delta) : null), [data, found]);
	const rowOf = (item: Item) => painter?.index.get(item.id) ?? 0;
	const hits = useMemo(() => (data && found ? data.name.filter((name) => found(name)).length : null), [data, found]);
	const zoom = (item: Item) => set({ z: item.y === 0 ? null : `n:${item.id}` });
	const keys = (event: KeyboardEvent, item: Item | null): boolean => {
		if (event.key === "Backspace") history.back();
		else if (event.key === "i") set({ dir: dir === "up" ? null : "up", z: null });
		else if (event.key === "r") set({ rec: key("rec") ? null : 1 });
		else if (event.key === "m") set({ metric: metrics[(metrics.findIndex(([name]) => name === metric) + 1) % metrics.length]?.[0] });
		else if (event.key === "h" && item) set({ hide: [key("hide"), item.label].filter(Boolean).join(",") });
		else if (event.key === "v" && item) set({ dir: "pivot", pivot: item.label, z: null });
		else if (event.key === "c" && item && data) void copy(pathOf(data, rowOf(item)), "the stack");
		else if (event.key === "0") set({ z: null });
		else return false;
		return true;
	};
	const chosen = data ? (data.id[data.point.findIndex((point, row) => point === selectedPoint() && ((data.flags[row] ?? 0) & FLAG.leaf) !== 0)] ?? null) : null;
	return (
		<div class="view">
			<div class="controls">
				<Choice label="Metric" value={metric} options={metrics} onChange={(value) => set({ metric: value, z: null })} />
				<Choice label="Direction" value={dir} options={[["down", "Callers above"], ["up", "Allocating functions above"], ["pivot", "Around one function"]]} onChange={(value) => set({ dir: value, z: null })} />
				<label class="choice">Search<input id="search" value={key("s")} placeholder="text or /regex/" onInput={(event) => set({ s: event.currentTarget.value }, true)} /></label>
				{hits != null && <span role="status">{count(hits)} {hits === 1 ? "frame" : "frames"}</span>}
				{key("s") !== "" && <button onClick={() => addWhere(key("s").startsWith("/") ? `stack ~ ${key("s")}` : `stack ~ ${quote(key("s"))}`)}>Only hits</button>}
				{key("z") !== "" && <button onClick={() => set({ z: null })}>Whole graph</button>}
				{key("hide") !== "" && <button onClick={() => set({ hide: null })}>Show hidden frames</button>}
				<TwinButton on={table} toggle={toggleTable} />
			</div>
			<Panel answer={answer} label="Flame graph" empty={(flame) => (flame.total === 0 ? (metric === "leaked" ? "Nothing was kept." : metric === "temporary" ? "Nothing was temporary." : "Nothing to show.") : null)}>
				{(_, { truncated }) => {
					const flame = data;
					if (!flame) return null;
					return (
					<>
						<p class="quiet">
							{inUnit(flame.total, flame.unit)} in {count(flame.nodes_all)} frames{truncated ? `, the widest ${count(flame.id.length)} are shown` : ""}
						</p>
						{table ? (
							<Twin data={flame} />
						) : (
							painter && (
								<CanvasView
									name="flame"
									label={`Flame graph of ${metrics.find(([name]) => name === metric)?.[1] ?? metric}`}
									description="flame graph"
									height={Math.max(ROW, (Math.max(0, ...flame.depth) + 1) * ROW)}
									painter={painter}
									version={`${key("s")}`}
									selected={chosen}
									onSelect={(item) => {
										const row = rowOf(item);
										if (((flame.flags[row] ?? 0) & FLAG.leaf) !== 0) select("p", flame.point[row] ?? 0);
										else if (item.label) select("f", item.label);
									}}
									onOpen={zoom}
									onKey={keys}
									tooltip={(item) => <Tip data={flame} row={rowOf(item)} />}
								/>
							)
						)}
						<Legend />
						<p class="quiet">Double click or Enter zooms, Backspace goes back, i inverts, h hides a frame, v turns around one. <a href={linkTo("calls")}>Call graph</a></p>
					</>
					);
				}}
			</Panel>
		</div>
	);
}

function pathOf(data: Data, row: number): string {
	const names: string[] = [];
	for (let at = row; at >= 0; at = data.depth[at] ? data.id.indexOf(data.parent[at] ?? -1) : -1) names.push(data.name[at] || "unknown");
	return names.join("\n");
}
