// SPDX-License-Identifier: MIT
// Who asked for the memory, through whom: the neighbourhood of one function, as a graph or as two tables.

import { Graph as Plan, layout as arrange } from "@dagrejs/dagre";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { scoped } from "../lib/catalogue";
import { inkOn, moduleColour, dark } from "../lib/colour";
import { bytes, count, share } from "../lib/format";
import { type Subject, menuOf } from "../lib/menu";
import { shortName } from "../lib/names";
import { Unfiltered } from "../lib/notice";
import { Choice, Keys, oneOf } from "../lib/parts";
import { say } from "../lib/say";
import { select } from "../lib/select";
import { embedded, type Params, source } from "../lib/source";
import { go, key, set, whole } from "../lib/state";
import { type Column, Table } from "../lib/table";
import type { Overview } from "../lib/types";
import { Sandwich } from "./flame";

interface Node {
	id: number;
	fn: string;
	module: string | null;
	self: number;
	total: number;
	hidden_in: number;
	hidden_out: number;
}

interface Edge {
	from: number;
	to: number;
	calls: number; // allocations through it
	bytes: number;
}

interface Data {
	from_stacks: boolean;
	center: number;
	total: number;
	nodes_all: number;
	nodes: Node[];
	edges: Edge[];
}

const weights = [["allocs", "Allocations"], ["bytes", "Bytes"]] as const;
const modes = [["graph", "Graph"], ["sandwich", "Sandwich"], ["table", "Callers and callees"]] as const;
const W = 190;
const H = 46;

/** More can neither be read nor be laid out while one waits. */
const BOXES_MAX = 40;
const CALLS_MAX = 60;

/** The centre, what was asked for and the heaviest functions; the heaviest call into and out of each, then the heaviest of all. */
function heaviest(data: Data, asked: ReadonlySet<number>): Data {
	const weight = (node: Node) => (node.id === data.center || asked.has(node.id) ? Infinity : node.total);
	const nodes = [...data.nodes].sort((a, b) => weight(b) - weight(a)).slice(0, BOXES_MAX + asked.size);
	const shown = new Set(nodes.map((node) => node.id));
	const into = new Set<number>();
	const from = new Set<number>();
	const edges: Edge[] = [];
	for (const edge of [...data.edges].sort((a, b) => b.calls - a.calls)) {
		if (!shown.has(edge.from) || !shown.has(edge.to)) continue;
		if (edges.length >= CALLS_MAX + asked.size && into.has(edge.to) && from.has(edge.from)) continue;
		into.add(edge.to);
		from.add(edge.from);
		edges.push(edge);
	}
	// a box that no call leads to or from says nothing
	return { ...data, nodes: nodes.filter((node) => weight(node) === Infinity || into.has(node.id) || from.has(node.id)), edges };
}

/** Functions that call each other in a circle, each circle once. */
export function cyclesOf(data: Pick<Data, "nodes" | "edges">): number[][] {
	const below = new Map<number, number[]>();
	for (const edge of data.edges) below.set(edge.from, [...(below.get(edge.from) ?? []), edge.to]);
	const reached = (from: number) => {
		const seen = new Set<number>();
		const open = [...(below.get(from) ?? [])];
		for (let at = open.pop(); at !== undefined; at = open.pop()) {
			if (seen.has(at)) continue;
			seen.add(at);
			open.push(...(below.get(at) ?? []));
		}
		return seen;
	};
	const from = new Map(data.nodes.map((node) => [node.id, reached(node.id)]));
	const taken = new Set<number>();
	const found: number[][] = [];
	for (const { id } of data.nodes) {
		const members = data.nodes.map((node) => node.id).filter((other) => from.get(id)?.has(other) && from.get(other)?.has(id));
		if (members.length < 2 || taken.has(id)) continue;
		for (const member of members) taken.add(member);
		found.push(members);
	}
	return found;
}

function layout(data: Data, cycles: number[][], rankdir: "TB" | "LR") {
	const graph = new Plan({ multigraph: false, compound: true });
	graph.setGraph({ rankdir, nodesep: 22, ranksep: 46, marginx: 10, marginy: 10 });
	graph.setDefaultEdgeLabel(() => ({}));
	for (const node of data.nodes) graph.setNode(String(node.id), { width: W, height: H });
	cycles.forEach((members, at) => {
		graph.setNode(`cycle ${at}`, {});
		for (const id of members) graph.setParent(String(id), `cycle ${at}`);
	});
	for (const edge of data.edges) if (edge.from !== edge.to) graph.setEdge(String(edge.from), String(edge.to), {});
	arrange(graph);
	return graph;
}

/** The heaviest way between two functions of the picture: the one whose thinnest call is thickest. */
function pathBetween(data: Data, from: number, to: number): number[] {
	const width = new Map<number, number>([[from, Infinity]]);
	const back = new Map<number, number>();
	const open = new Set([from]);
	while (open.size) {
		let at = -1;
		for (const id of open) if (at < 0 || (width.get(id) ?? 0) > (width.get(at) ?? 0)) at = id;
		open.delete(at);
		for (const edge of data.edges) {
			const through = Math.min(width.get(at) ?? 0, edge.calls);
			if (edge.from !== at || through <= (width.get(edge.to) ?? 0)) continue;
			width.set(edge.to, through);
			back.set(edge.to, at);
			open.add(edge.to);
		}
	}
	const path = [to];
	for (let at = to; at !== from; path.unshift(at)) {
		const before = back.get(at);
		if (before === undefined) return [];
		at = before;
	}
	return path;
}

const expanded = () => (key("more") === "" ? [] : key("more").split("\u0001"));

function expand(node: Node): void {
	if (node.hidden_in + node.hidden_out === 0 || expanded().includes(node.fn)) say("All its neighbours are shown.");
	else set({ more: [...expanded(), node.fn].join("\u0001") });
}

/** The picture and the neighbours of the functions whose hidden ones were asked for. */
function useExpanded(data: Data | null, asked: Params): { data: Data; more: ReadonlySet<number> } | null {
	const [near, setNear] = useState<Data[]>([]);
	const names = expanded();
	useEffect(() => {
		const abort = new AbortController();
		const replies = names.map((fn) => source.get<Data>("/callgraph", { ...asked, center: fn, up: 1, down: 1, min: 0 }, abort.signal));
		Promise.all(replies).then((all) => setNear(all.map((reply) => reply.data)), (error: unknown) => abort.signal.aborted || say(error instanceof Error ? error.message : String(error)));
		return () => abort.abort();
	}, [key("more"), data]);
	return useMemo(() => {
		if (!data) return null;
		const nodes = new Map(data.nodes.map((node) => [node.id, node]));
		const edges = new Map(data.edges.map((edge) => [`${edge.from} ${edge.to}`, edge]));
		const more = new Set<number>();
		for (const part of names.length ? near : []) {
			for (const node of part.nodes) if (!nodes.has(node.id)) more.add(node.id);
			for (const node of part.nodes) if (!nodes.has(node.id) || node.id === part.center) nodes.set(node.id, node);
			for (const edge of part.edges) edges.set(`${edge.from} ${edge.to}`, edge);
		}
		return { data: { ...data, nodes: [...nodes.values()], edges: [...edges.values()] }, more };
	}, [data, near, key("more")]);
}

function subjectOf(node: Node): Subject {
	return { title: node.fn || "unknown", fn: node.fn, module: node.module, focus: [...(node.hidden_in + node.hidden_out ? [{ label: "Show its hidden neighbours", run: () => expand(node) }] : []), { label: "Centre here", run: () => set({ fn: node.fn }) }, { label: "Callers and callees as a flame graph", run: () => go("flame", { dir: "pivot", pivot: node.fn }) }] };
}

const READABLE = 0.6; // of the size that text is drawn in

function fitting(frame: HTMLElement | null, size: { width?: number; height?: number }): number {
	return Math.min(1, (frame?.clientWidth ?? Math.max(300, window.innerWidth - 260)) / Math.max(1, size.width ?? 1), Math.max(300, window.innerHeight - 330) / Math.max(1, size.height ?? 1));
}

/** Callers above, or to the left if only then all of it can be read at once. */
function layoutFor(data: Data, cycles: number[][], frame: HTMLElement | null) {
	const down = layout(data, cycles, "TB");
	const fits = fitting(frame, down.graph());
	if (fits >= READABLE) return down;
	const across = layout(data, cycles, "LR");
	return fitting(frame, across.graph()) > fits ? across : down;
}

function Graph({ data }: { data: Data }) {
	const cycles = useMemo(() => cyclesOf(data), [data]);
	const holder = useRef<HTMLDivElement>(null);
	const graph = useMemo(() => layoutFor(data, cycles, holder.current), [data, cycles]);
	const [marked, setMarked] = useState<number | null>(null);
	const [path, setPath] = useState<number[]>([]);
	const [scale, setScale] = useState(1);
	const size = graph.graph();
	const heaviest = Math.max(1, ...data.edges.map((edge) => edge.calls));
	const most = Math.max(1, ...data.nodes.map((node) => node.total));
	const fit = () => setScale(fitting(holder.current, size));
	useEffect(() => {
		// all of it, as long as it can be read
		setScale(Math.max(READABLE, fitting(holder.current, size)));
	}, [graph]);
	useEffect(() => {
		setPath([]);
		setMarked(null);
		// the frame alone: the page stays where it is
		const frame = holder.current;
		const centre = frame?.querySelector(".centre")?.getBoundingClientRect();
		if (!frame || !centre) return;
		const box = frame.getBoundingClientRect();
		frame.scrollLeft += centre.left + centre.width / 2 - box.left - box.width / 2;
		frame.scrollTop += centre.top + centre.height / 2 - box.top - box.height / 2;
	}, [data, scale]);
	const click = (event: MouseEvent | KeyboardEvent, node: Node) => {
		if (!event.shiftKey) {
			select("f", node.fn);
			set({ fn: node.fn });
		} else if (marked == null) setMarked(node.id);
		else {
			const found = pathBetween(data, marked, node.id);
			setPath(found.length ? found : pathBetween(data, node.id, marked));
			setMarked(null);
			if (found.length === 0 && pathBetween(data, node.id, marked).length === 0) say("No call leads from the one to the other here.");
		}
	};
	const onPath = (edge: Edge) => path.some((id, at) => id === edge.from && path[at + 1] === edge.to);
	const keyDown = (event: KeyboardEvent) => {
		if (event.key === "0") fit();
		else if (event.key === "+") setScale(Math.min(2, scale * 1.25));
		else if (event.key === "-") setScale(Math.max(0.2, scale * 0.8));
		else return;
		event.preventDefault();
	};
	return (
		<div class="cornered">
			<p class="buttons corner">
				<button onClick={fit}>Fit</button>
				<button aria-label="Larger" onClick={() => setScale(Math.min(2, scale * 1.25))}>+</button>
				<button aria-label="Smaller" onClick={() => setScale(Math.max(0.2, scale * 0.8))}>−</button>
			</p>
			<p class="buttons">
				{path.length > 0 && <button onClick={() => setPath([])}>Forget the path: {path.map((id) => data.nodes.find((node) => node.id === id)?.fn).join(" › ")}</button>}
				{marked != null && <span role="status">Shift and a click on a second function shows the heaviest path.</span>}
			</p>
			<div ref={holder} class="scroll" tabIndex={0} role="region" aria-label="Call graph" onKeyDown={keyDown}>
				<svg width={(size.width ?? 100) * scale} height={(size.height ?? 100) * scale} viewBox={`0 0 ${size.width ?? 100} ${size.height ?? 100}`} role="group" aria-label={`Calls around ${data.nodes.find((node) => node.id === data.center)?.fn ?? "?"}`}>
					<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="11" markerHeight="11" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor" /></marker></defs>
					{cycles.map((members, at) => {
						const box = graph.node(`cycle ${at}`);
						return (
							<rect class="cycle" x={box.x - box.width / 2} y={box.y - box.height / 2} width={box.width} height={box.height} rx={10} fill="none" stroke="currentColor" stroke-dasharray="7 4">
								<title>{count(members.length)} functions that call each other in a cycle</title>
							</rect>
						);
					})}
					{data.edges.map((edge) => {
						const route = edge.from === edge.to ? null : (graph.edge(String(edge.from), String(edge.to)) as { points?: { x: number; y: number }[] } | undefined);
						if (!route?.points) return null;
						return (
							<path d={`M${route.points.map((point) => `${point.x.toFixed(1)} ${point.y.toFixed(1)}`).join("L")}`} fill="none" stroke={onPath(edge) ? "#d55e00" : "currentColor"} stroke-opacity={onPath(edge) ? 1 : 0.55} stroke-width={1 + 5 * (edge.calls / heaviest)} marker-end="url(#arrow)">
								<title>{bytes(edge.bytes)}, {count(edge.calls)} allocations</title>
							</path>
						);
					})}
					{data.nodes.map((node) => {
						const at = graph.node(String(node.id));
						const colour = moduleColour(node.module ?? "", dark.value);
						const menu = menuOf(() => subjectOf(node));
						const loop = data.edges.some((edge) => edge.from === node.id && edge.to === node.id);
						return (
							<g
								transform={`translate(${at.x - W / 2} ${at.y - H / 2})`}
								class={`node${node.id === data.center ? " centre" : ""}`}
								tabindex={0}
								role="button"
								onClick={(event) => click(event, node)}
								onContextMenu={menu.onContextMenu}
								onKeyDown={(event) => {
									if (event.key === "Enter") click(event, node);
									else if (event.key === "+") expand(node);
									else {
										menu.onKeyDown(event);
										return;
									}
									event.stopPropagation();
								}}
							>
								<rect width={W} height={H} rx={6} fill={colour} stroke={path.includes(node.id) || marked === node.id ? "#d55e00" : "currentColor"} stroke-width={node.id === data.center || path.includes(node.id) || marked === node.id ? 2.5 : 0.6} stroke-dasharray={loop ? "5 3" : undefined} />
								<rect y={H - 4} width={W * (node.total / most)} height={4} fill="currentColor" opacity={0.6} />
								<title>{node.fn}{"\n"}{node.module ?? ""}{loop ? "\ncalls itself" : ""}</title>
								<text x={W / 2} y={18} text-anchor="middle" font-size="12" fill={inkOn(colour)}>{shortName(node.fn || "unknown", 24)}</text>
								<text x={W / 2} y={34} text-anchor="middle" font-size="11" fill={inkOn(colour)}>{count(node.total)} · itself {count(node.self)}{node.hidden_in + node.hidden_out ? ` · +${node.hidden_in + node.hidden_out}` : ""}</text>
							</g>
						);
					})}
				</svg>
			</div>
			<p class="quiet">A bar is the share of all allocations; +N are neighbours that are not shown. Dashed is what calls itself; a dashed frame holds functions that call each other in a circle.</p>
			<Keys>A click centres. Shift and two clicks show the heaviest path between two functions. + and − zoom, 0 shows all; + on a function shows its hidden neighbours.</Keys>
		</div>
	);
}

interface Line {
	node: Node;
	edge: Edge;
}

function Side({ label, lines, data }: { label: string; lines: Line[]; data: Data }) {
	const columns: Column<Line>[] = [
		{ name: "fn", label, cell: ({ node }) => <button class="plain" title={node.fn} onClick={() => set({ fn: node.fn })}>{node.fn || "unknown"}</button> },
		{ name: "bytes", label: "Bytes", number: true, width: "12ch", cell: ({ edge }) => bytes(edge.bytes) },
		{ name: "pct", label: "Share", number: true, width: "9ch", cell: ({ edge }) => share(edge.calls / Math.max(1, data.total)) },
		{ name: "calls", label: "Allocations", number: true, width: "12ch", cell: ({ edge }) => count(edge.calls) },
	];
	return <Table label={label} columns={columns} rows={lines} rowKey={({ node }) => node.id} height={300} menu={({ node }) => subjectOf(node)} />;
}

function Tables({ data }: { data: Data }) {
	const node = new Map(data.nodes.map((item) => [item.id, item]));
	const pick = (edges: Edge[], end: "from" | "to") => edges.flatMap((edge) => (node.has(edge[end]) ? [{ edge, node: node.get(edge[end]) as Node }] : [])).sort((a, b) => b.edge.calls - a.edge.calls);
	return (
		<div class="pair">
			<Side label="Callers" data={data} lines={pick(data.edges.filter((edge) => edge.to === data.center), "from")} />
			<Side label="Callees" data={data} lines={pick(data.edges.filter((edge) => edge.from === data.center), "to")} />
		</div>
	);
}

/** The function of the program that allocates most often. */
function largestOwn(data: Overview | undefined): string {
	const sums = new Map<string, number>();
	for (const item of data?.top.allocs ?? []) if (item.fn) sums.set(item.fn, (sums.get(item.fn) ?? 0) + item.value);
	return [...sums].sort(([, a], [, b]) => b - a)[0]?.[0] ?? "";
}

export function Calls() {
	const mode = oneOf("mode", embedded ? modes.filter(([name]) => name !== "sandwich") : modes, "graph");
	const [names, setNames] = useState<string[]>([]);
	const asked = { ...scoped("/callgraph"), metric: oneOf("metric", weights, "allocs") === "allocs" ? null : key("metric") };
	// the program's own code: the largest of all is often the inside of a library. A report has the graph around that alone.
	const overview = useAnswer<Overview>(embedded || key("fn") !== "" ? null : "/overview", { ...whole(), top: 10 });
	const largest = largestOwn(overview.reply?.data);
	const answer = useAnswer<Data>(overview.reply || overview.error || embedded || key("fn") !== "" ? "/callgraph" : null, { ...asked, center: key("fn") || largest, up: key("up") || 2, down: key("down") || 2, min: key("min") || 0.005 });
	const all = useExpanded(answer.reply?.data ?? null, asked);
	const picture = useMemo(() => (all ? heaviest(all.data, all.more) : null), [all]);
	const levels = ["1", "2", "3", "4"].map((n) => [n, n] as const);
	const suggest = (text: string) => {
		if (embedded || text.length < 2) return;
		source.get<{ label: string }[]>("/suggest", { ...whole(), kind: "fn", s: text, n: 20 }).then((reply) => setNames(reply.data.map((row) => row.label)), () => undefined);
	};
	const useTable = () => set({ mode: key("mode") === "table" ? null : "table" });
	useEffect(() => {
		const down = (event: KeyboardEvent) => event.key === "T" && !(event.target instanceof HTMLInputElement) && useTable();
		window.addEventListener("keydown", down);
		return () => window.removeEventListener("keydown", down);
	}, []);
	return (
		<div class="view">
			<div class="controls">
				<label class="choice">Function<input id="search" list="functions" value={key("fn")} placeholder={largest || "the largest"} onInput={(event) => suggest(event.currentTarget.value)} onChange={(event) => set({ fn: event.currentTarget.value })} /></label>
				<datalist id="functions">{names.map((name) => <option value={name} />)}</datalist>
				<Choice label="Callers" value={key("up") || "2"} options={levels} onChange={(value) => set({ up: value })} />
				<Choice label="Callees" value={key("down") || "2"} options={levels} onChange={(value) => set({ down: value })} />
				<Choice label="By" value={key("metric") || "allocs"} options={weights} onChange={(value) => set({ metric: value === "allocs" ? null : value })} />
				<Choice label="From" value={key("min") || "0.005"} options={[["0.05", "5 %"], ["0.005", "0.5 %"], ["0.0005", "0.05 %"], ["0", "all"]]} onChange={(value) => set({ min: value === "0.005" ? null : value })} />
				<Choice label="As" value={mode} options={embedded ? modes.filter(([name]) => name !== "sandwich") : modes} onChange={(value) => set({ mode: value === "graph" ? null : value })} />
			</div>
			<Panel answer={answer} label="Call graph" empty={(data) => (data.nodes.length === 0 ? "This function never led to an allocation." : null)}>
				{(data) => (
					<>
						<Unfiltered path="/callgraph" />
						{data.nodes_all > data.nodes.length && <p class="quiet">The {count(data.nodes.length)} heaviest of {count(data.nodes_all)} functions.</p>}
						{mode === "graph" && picture && all && picture.edges.length < all.data.edges.length && <p class="quiet">The picture shows the heaviest {count(picture.nodes.length)} of {count(all.data.nodes.length)} functions and {count(picture.edges.length)} of {count(all.data.edges.length)} calls.</p>}
						{mode === "table" && <Tables data={data} />}
						{mode === "graph" && picture && <Graph data={picture} />}
						{mode === "sandwich" && <Sandwich fn={data.nodes.find((node) => node.id === data.center)?.fn ?? ""} metric={key("metric") || "allocs"} open={(fn) => set({ fn })} />}
					</>
				)}
			</Panel>
		</div>
	);
}
