// SPDX-License-Identifier: MIT
// A filter graph as data: its boxes and lines, and what can be done to them without asking the server.

import { Graph as Plan, layout } from "@dagrejs/dagre";

export interface Box {
	id: string;
	kind: string;
	args: Record<string, Arg>;
	x?: number;
	y?: number;
	label: string;
}

export type Arg = string | number | boolean | string[];

/** As it is typed, and back: lists and switches keep their kind. */
export function argText(arg: Arg | undefined): string {
	return arg == null ? "" : Array.isArray(arg) ? arg.join(", ") : String(arg);
}

export function argFrom(text: string, before: Arg | undefined, name: string): Arg | undefined {
	if (text.trim() === "") return undefined;
	if (Array.isArray(before) || name === "keys" || name === "calls") return text.split(",").map((part) => part.trim());
	if (name === "desc" || name === "alternate") return text === "true";
	if (name === "count") return Number(text) || 0;
	return text;
}

export interface Link {
	from: string;
	out: number;
	to: string;
	in: number;
}

export interface Graph {
	boxes: Box[];
	edges: Link[];
	output?: string;
}

const BOX = { width: 180, height: 110 }; // pixels; the width is that of the style, the height what most have

/** Boxes without places of their own are laid out from left to right. */
export function arrange(graph: Graph): Graph {
	const plan = new Plan();
	plan.setGraph({ rankdir: "LR", nodesep: 30, ranksep: 30 });
	plan.setDefaultEdgeLabel(() => ({}));
	for (const box of graph.boxes) plan.setNode(box.id, { width: BOX.width, height: BOX.height });
	for (const edge of graph.edges) plan.setEdge(edge.from, edge.to);
	layout(plan);
	for (const box of graph.boxes) uncross(graph, box.id, (id) => plan.node(id));
	return { ...graph, boxes: graph.boxes.map((box) => ({ ...box, x: Math.round(plan.node(box.id).x - BOX.width / 2), y: Math.round(plan.node(box.id).y - BOX.height / 2) })) };
}

/** Sources that one box reads stand in the order of its inputs. */
function uncross(graph: Graph, to: string, nodeOf: (id: string) => { y: number }): void {
	const sources = graph.edges
		.filter((edge) => edge.to === to && !graph.edges.some((other) => other.to === edge.from) && graph.edges.filter((other) => other.from === edge.from).length === 1)
		.sort((a, b) => a.in - b.in)
		.map((edge) => nodeOf(edge.from));
	const heights = sources.map((node) => node.y).sort((a, b) => a - b);
	sources.forEach((node, at) => (node.y = heights[at] ?? node.y));
}

/** What comes out: the box that no other reads. */
export function withOutput(graph: Graph): Graph {
	const unread = graph.boxes.filter((box) => !graph.edges.some((edge) => edge.from === box.id));
	return { ...graph, output: unread.at(-1)?.id ?? graph.output };
}

export function reaches(graph: Graph, from: string, to: string): boolean {
	const seen = new Set<string>();
	const stack = [from];
	while (stack.length) {
		const at = stack.pop() as string;
		if (at === to) return true;
		if (seen.has(at)) continue;
		seen.add(at);
		for (const edge of graph.edges) if (edge.from === at) stack.push(edge.to);
	}
	return false;
}

export function changedArgs(args: Record<string, Arg>, name: string, text: string): Record<string, Arg> {
	const next = { ...args };
	const value = argFrom(text, args[name], name);
	if (value === undefined) delete next[name];
	else next[name] = value;
	return next;
}

/** Names for boxes that come into a graph, which none of its own has. */
function freshNames(graph: Graph, boxes: Box[]): Map<string, string> {
	const taken = new Set(graph.boxes.map((box) => box.id));
	const names = new Map<string, string>();
	let number = graph.boxes.length + 1;
	for (const box of boxes) {
		while (taken.has(`b${number}`)) number++;
		names.set(box.id, `b${number}`);
		taken.add(`b${number}`);
	}
	return names;
}

/** A part of another graph put into this one, below and to the right of where it was. */
export function inserted(graph: Graph, part: Graph): { graph: Graph; names: Set<string> } {
	const names = freshNames(graph, part.boxes);
	const boxes = part.boxes.map((box) => ({ ...box, id: names.get(box.id) ?? box.id, x: (box.x ?? 0) + 40, y: (box.y ?? 0) + 60 }));
	const edges = part.edges.map((edge) => ({ ...edge, from: names.get(edge.from) ?? edge.from, to: names.get(edge.to) ?? edge.to }));
	return { graph: { boxes: [...graph.boxes, ...boxes], edges: [...graph.edges, ...edges] }, names: new Set(names.values()) };
}

/** The chosen boxes and the lines between them. */
export function partOf(graph: Graph, chosen: ReadonlySet<string>): Graph {
	const boxes = graph.boxes.filter((box) => chosen.has(box.id));
	const inside = new Set(boxes.map((box) => box.id));
	return { boxes, edges: graph.edges.filter((edge) => inside.has(edge.from) && inside.has(edge.to)) };
}

/** The chosen boxes with their left or upper edges in one line. */
export function aligned(graph: Graph, chosen: ReadonlySet<string>, edge: "x" | "y"): Graph {
	const least = Math.min(...graph.boxes.filter((box) => chosen.has(box.id)).map((box) => box[edge] ?? 0));
	return { ...graph, boxes: graph.boxes.map((box) => (chosen.has(box.id) ? { ...box, [edge]: least } : box)) };
}
