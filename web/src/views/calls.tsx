// SPDX-License-Identifier: MIT
// Who asked for the memory, through whom: the neighbourhood of one function, as a graph or as two tables.

import dagre from "@dagrejs/dagre";
import { useMemo } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { inkOn, moduleColour, dark } from "../lib/colour";
import { bytes, count, share, trimMiddle } from "../lib/format";
import { Choice } from "../lib/parts";
import { select } from "../lib/select";
import { key, set, whole } from "../lib/state";
import { type Column, Table } from "../lib/table";

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

const W = 190;
const H = 46;

function layout(data: Data) {
	const graph = new dagre.graphlib.Graph({ multigraph: false });
	graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 46, marginx: 10, marginy: 10 });
	graph.setDefaultEdgeLabel(() => ({}));
	for (const node of data.nodes) graph.setNode(String(node.id), { width: W, height: H });
	for (const edge of data.edges) if (edge.from !== edge.to) graph.setEdge(String(edge.from), String(edge.to), {});
	dagre.layout(graph);
	return graph;
}

function Graph({ data }: { data: Data }) {
	const graph = useMemo(() => layout(data), [data]);
	const size = graph.graph();
	const heaviest = Math.max(1, ...data.edges.map((edge) => edge.calls));
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="Call graph">
			<svg width={size.width ?? 100} height={size.height ?? 100} role="group" aria-label={`Calls around ${data.nodes.find((node) => node.id === data.center)?.fn ?? "?"}`}>
				<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="11" markerHeight="11" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor" /></marker></defs>
				{data.edges.map((edge) => {
					const route = edge.from === edge.to ? null : (graph.edge(String(edge.from), String(edge.to)) as { points?: { x: number; y: number }[] } | undefined);
					if (!route?.points) return null;
					return (
						<path d={`M${route.points.map((point) => `${point.x.toFixed(1)} ${point.y.toFixed(1)}`).join("L")}`} fill="none" stroke="currentColor" stroke-opacity="0.55" stroke-width={1 + 5 * (edge.calls / heaviest)} marker-end="url(#arrow)">
							<title>{bytes(edge.bytes)}, {count(edge.calls)} allocations</title>
						</path>
					);
				})}
				{data.nodes.map((node) => {
					const at = graph.node(String(node.id));
					const colour = moduleColour(node.module ?? "", dark.value);
					return (
						<g transform={`translate(${at.x - W / 2} ${at.y - H / 2})`} class="node" tabIndex={0} role="button" onClick={() => set({ fn: node.fn })} onKeyDown={(event) => event.key === "Enter" && set({ fn: node.fn })} onContextMenu={(event) => { event.preventDefault(); select("f", node.fn); }}>
							<rect width={W} height={H} rx={6} fill={colour} stroke="currentColor" stroke-width={node.id === data.center ? 2.5 : 0.6} />
							<title>{node.fn}{"\n"}{node.module ?? ""}</title>
							<text x={W / 2} y={18} text-anchor="middle" font-size="12" fill={inkOn(colour)}>{trimMiddle(node.fn || "unknown", 27)}</text>
							<text x={W / 2} y={36} text-anchor="middle" font-size="11" fill={inkOn(colour)}>{count(node.total)} · itself {count(node.self)}{node.hidden_in + node.hidden_out ? ` · +${node.hidden_in + node.hidden_out}` : ""}</text>
						</g>
					);
				})}
			</svg>
		</div>
	);
}

interface Line {
	node: Node;
	edge: Edge;
}

function Side({ label, lines, data }: { label: string; lines: Line[]; data: Data }) {
	const columns: Column<Line>[] = [
		{ name: "fn", label, cell: ({ node }) => <button title={node.fn} onClick={() => set({ fn: node.fn })}>{node.fn || "unknown"}</button> },
		{ name: "bytes", label: "Bytes", number: true, width: "12ch", cell: ({ edge }) => bytes(edge.bytes) },
		{ name: "pct", label: "Share", number: true, width: "9ch", cell: ({ edge }) => share(edge.calls / Math.max(1, data.total)) },
		{ name: "calls", label: "Allocations", number: true, width: "12ch", cell: ({ edge }) => count(edge.calls) },
	];
	return <Table label={label} columns={columns} rows={lines} rowKey={({ node }) => node.id} height={300} />;
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

export function Calls() {
	const mode = key("mode") || "graph";
	const answer = useAnswer<Data>("/callgraph", { ...whole(), center: key("fn"), up: key("up") || 2, down: key("down") || 2, min: key("min") || 0.005 });
	return (
		<div class="view">
			<div class="controls">
				<label class="choice">Function<input id="search" value={key("fn")} placeholder="the largest" onChange={(event) => set({ fn: event.currentTarget.value })} /></label>
				<Choice label="Callers" value={key("up") || "2"} options={[["1", "1 level"], ["2", "2 levels"], ["3", "3 levels"], ["4", "4 levels"]]} onChange={(value) => set({ up: value })} />
				<Choice label="Callees" value={key("down") || "2"} options={[["1", "1 level"], ["2", "2 levels"], ["3", "3 levels"], ["4", "4 levels"]]} onChange={(value) => set({ down: value })} />
				<button aria-pressed={mode === "table"} onClick={() => set({ mode: mode === "table" ? null : "table" })}>Table</button>
			</div>
			<Panel answer={answer} label="Call graph" empty={(data) => (data.nodes.length === 0 ? "This function never led to an allocation." : null)}>
				{(data) => (
					<>
						{data.nodes_all > data.nodes.length && <p class="quiet">The {count(data.nodes.length)} heaviest of {count(data.nodes_all)} functions.</p>}
						{mode === "table" ? <Tables data={data} /> : <Graph data={data} />}
					</>
				)}
			</Panel>
		</div>
	);
}
