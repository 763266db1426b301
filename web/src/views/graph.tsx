// SPDX-License-Identifier: MIT
// A question of one's own as boxes and lines, and as text: both ways, at the same time. The server owns the
// language: it turns the one into the other and says how much passes each box.

import { Background, Controls, Handle, Position, ReactFlow, applyEdgeChanges, applyNodeChanges, type Connection, type Edge, type EdgeChange, type Node, type NodeChange, type NodeProps, type ReactFlowInstance } from "@xyflow/react";
import { createContext } from "preact";
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "../lib/answer";
import { dark } from "../lib/colour";
import { MenuButton } from "../lib/controls";
import { count } from "../lib/format";
import { ApiError, source } from "../lib/source";
import { type ResultRow, type SchemaColumn, cellText, isNumber } from "../lib/result";
import { go, key, place, whole } from "../lib/state";
import { copy, saveFile, say } from "../lib/say";
import { traces } from "../shell";
import { type Box, type Graph, type Link, aligned, argFrom, argText, arrange, changedArgs, inserted, partOf, reaches, withOutput } from "./graph_edit";

/** A kind of box, as the server lists it. */
interface BoxRow {
	kind: string;
	group: string;
	inputs: number;
	outputs: number;
	arguments: string; // "field [desc]"
	example: string;
	help: string;
}

interface BoxSpec extends Omit<BoxRow, "arguments"> {
	args: { name: string; optional: boolean }[];
}

function spec(row: BoxRow): BoxSpec {
	const args = row.arguments.split(" ").filter((name) => name !== "");
	return { ...row, args: args.map((name) => ({ name: name.replace(/[[\]]/g, ""), optional: name.startsWith("[") })) };
}

/** What a new box begins with, so that it means something at once. */
const defaults: Record<string, Record<string, string>> = {
	at: { time: "peak" },
	where: { expr: "size >= 1KiB" },
	color: { color: "#3b6fb6" },
	join: { keys: "type" },
	unify: { until: "1MiB" },
	sort: { field: "size", desc: "true" },
	limit: { count: "10" },
	agg: { calls: "sum(size)" },
	hide: { pattern: '"std::"' },
	show: { view: "flame" },
	trace: { name: "" },
};

interface BoxData extends Record<string, unknown> {
	box: Box;
	spec: BoxSpec | undefined;
	passes: number | null;
	reached: number | null; // of the box before it
	problem: string;
}

/** Which list of words completes an argument. */
const lists: Record<string, string> = { expr: "box-fields", if: "box-fields", keys: "box-fields", by: "box-fields", field: "box-fields", view: "box-views", time: "box-times", name: "box-traces" };

interface Acts {
	change(id: string, name: string, value: string): void;
	/** A port was chosen with the keyboard: an output first, then an input. */
	port(id: string, side: "target" | "source", at: number): void;
	begun: string | null; // the box whose output was chosen
	may(id: string): boolean; // whether that output may lead to this box
}

const ActsContext = createContext<Acts>({ change: () => undefined, port: () => undefined, begun: null, may: () => true });

function Ports({ box, total, side }: { box: string; total: number; side: "target" | "source" }) {
	const acts = useContext(ActsContext);
	const words = side === "target" ? "input" : "output";
	return (
		<>
			{Array.from({ length: total }, (_, at) => (
				<Handle
					type={side}
					position={side === "target" ? Position.Left : Position.Right}
					id={String(at)}
					style={{ top: `${((at + 1) * 100) / (total + 1)}%` }}
					tabIndex={0}
					role="button"
					class={acts.begun != null && side === "target" && !acts.may(box) ? "dim" : acts.begun === box && side === "source" ? "begun" : ""}
					aria-label={`${words} ${at + 1} of ${box}`}
					onKeyDown={(event: KeyboardEvent) => {
						if (event.key !== "Enter") return;
						event.stopPropagation();
						acts.port(box, side, at);
					}}
				/>
			))}
		</>
	);
}

/** What is typed stays while counts and errors come in, until one leaves it; it counts from Enter on, or then. */
function ArgInput({ text, list, optional, commit }: { text: string; list: string | undefined; optional: boolean; commit(value: string): void }) {
	const [draft, setDraft] = useState<string | null>(null);
	const leave = (value: string) => {
		commit(value);
		setDraft(null);
	};
	return <input value={draft ?? text} list={list} placeholder={optional ? "" : "needed"} onInput={(event) => setDraft(event.currentTarget.value)} onBlur={(event) => leave(event.currentTarget.value)} onKeyDown={(event) => event.key === "Enter" && commit(event.currentTarget.value)} />;
}

function BoxNode({ data }: NodeProps<Node<BoxData>>) {
	const { box, spec, passes, problem } = data;
	const acts = useContext(ActsContext);
	return (
		<div class={`box${problem ? " wrong" : ""}`} data-t={`box-${box.kind}`}>
			<Ports box={box.id} total={spec?.inputs ?? 1} side="target" />
			<b>{box.kind}</b>
			{(spec?.args ?? []).map((arg) => (
				<label class="nodrag">
					{arg.name}
					<ArgInput text={argText(box.args[arg.name])} list={lists[arg.name]} optional={arg.optional} commit={(value) => acts.change(box.id, arg.name, value)} />
				</label>
			))}
			<span class="quiet">{passes == null ? "" : data.reached == null ? `${count(passes)} pass` : `${count(data.reached)} → ${count(passes)}`}</span>
			{problem && <span class="wrong">{problem}</span>}
			<Ports box={box.id} total={spec?.outputs ?? 1} side="source" />
		</div>
	);
}

const nodeTypes = { box: BoxNode };

const examples: [string, string][] = [
	["Vectors", 'all | where stack ~ "std::vector"'],
	["Library types in blue", "all | color #3b6fb6 if type ~ /^std::/"],
	["Lives of 10 ms and more", "all | where life >= 10ms"],
	["One thread", "all | where thread == 1"],
	["By type, largest first", "all | join type | sort size desc"],
	["What is new between two moments", "diff(at 2s, at 1s) | join type"],
	["Large blocks that are kept", "all | where size >= 4 KiB and not freed"],
];

function useGraph() {
	const [graph, showGraph] = useState<Graph>({ boxes: [], edges: [] });
	const now = useRef(graph); // what was drawn last may be older: an act goes on from here
	const setGraph = (next: Graph) => {
		now.current = next;
		showGraph(next);
	};
	const [text, setText] = useState("");
	const [problem, setProblem] = useState<ApiError | null>(null);
	const [passes, setPasses] = useState<Record<string, number>>({});
	const undo = useRef<Graph[]>([]);
	const redo = useRef<Graph[]>([]);
	const latest = useRef(0); // an answer to an older question may come last

	const fail = (error: unknown) => setProblem(error instanceof ApiError ? error : new ApiError(0, "page", String(error)));
	const fromText = useCallback(async (asked: string) => {
		const mine = ++latest.current;
		setText(asked);
		try {
			const reply = await source.post<{ graph: Graph }>("/query/graph", { text: asked });
			if (mine !== latest.current) return;
			const next = reply.data.graph;
			undo.current.push(graph);
			setGraph(next.boxes.some((box) => box.x != null) ? next : arrange(next));
			setProblem(null);
		} catch (error) {
			if (mine === latest.current) fail(error);
		}
	}, [graph]);
	const fromBoxes = useCallback(async (next: Graph, keep = true) => {
		if (keep) {
			undo.current.push(graph);
			redo.current = [];
		}
		const mine = ++latest.current;
		setGraph(next);
		if (next.boxes.length === 0) {
			setText("");
			return;
		}
		try {
			const reply = await source.post<{ text: string }>("/query/compile", { graph: withOutput(next) });
			if (mine !== latest.current) return;
			setText(reply.data.text);
			setProblem(null);
		} catch (error) {
			if (mine === latest.current) fail(error);
		}
	}, [graph]);
	useEffect(() => {
		if (graph.boxes.length === 0 || problem) return;
		let over = false;
		const timer = setTimeout(() => {
			source
				.post<{ entries: number }[]>(`/query/counts${key("trace") ? `?trace=${encodeURIComponent(key("trace"))}` : ""}`, { graph: withOutput(graph) })
				.then((reply) => over || setPasses(Object.fromEntries(graph.boxes.map((box, at) => [box.id, reply.data[at]?.entries ?? 0]))))
				.catch(() => over || setPasses({}));
		}, 300);
		return () => {
			over = true;
			clearTimeout(timer);
		};
	}, [graph, problem]);
	const step = (from: Graph[], to: Graph[]) => {
		const next = from.pop();
		if (!next) return;
		to.push(graph);
		void fromBoxes(next, false);
	};
	return { graph, now, text, problem, passes, fromText, fromBoxes, undo: () => step(undo.current, redo.current), redo: () => step(redo.current, undo.current) };
}

/** The first rows that come out. */
function Preview({ text }: { text: string }) {
	const answer = useAnswer<{ entries: number; rows: ResultRow[]; schema: { rows: SchemaColumn[] } }>("/entries", { ...whole(), q: text, limit: 6 });
	const data = answer.reply?.data;
	if (!data || answer.error) return null;
	const columns = data.schema.rows.filter((column) => ["size", "chunks", "type", "fn", "life", "share"].includes(column.name) || column.name.includes("(")).sort((a, b) => Number(isNumber(a.unit)) - Number(isNumber(b.unit))).slice(0, 3);
	return (
		<>
			<h3>Preview: {count(data.entries)} {data.entries === 1 ? "row" : "rows"}</h3>
			<table class="preview">
				<thead><tr>{columns.map((column) => <th scope="col" title={column.meaning}>{column.name}</th>)}</tr></thead>
				<tbody>{data.rows.map((row) => <tr>{columns.map((column) => <td title={cellText(row[column.name], column.unit)}>{cellText(row[column.name], column.unit)}</td>)}</tr>)}</tbody>
			</table>
		</>
	);
}

export function GraphEditor() {
	const catalogue = useAnswer<{ boxes: { rows: BoxRow[] }; fields: { rows: { name: string; meaning: string }[] } }>("/query/boxes", {});
	const saved = useAnswer<string[] | { name: string }[]>("/graphs", {});
	const { graph, now, text, problem, passes, fromText, fromBoxes, undo, redo } = useGraph();
	const specs = useMemo(() => new Map((catalogue.reply?.data.boxes.rows ?? []).filter((row) => row.inputs + row.outputs > 0).map((row) => [row.kind, spec(row)])), [catalogue.reply]);
	const name = place.value.path[1] ?? "";
	const [draft, setDraft] = useState("");
	const [saveAs, setSaveAs] = useState(name);
	const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
	const [begun, setBegun] = useState<{ id: string; at: number } | null>(null);
	const chooser = useRef<HTMLInputElement>(null); // of a file
	const clip = useRef<Graph>({ boxes: [], edges: [] });
	const flow = useRef<ReactFlowInstance<Node<BoxData>, Edge> | null>(null);
	const fit = () => setTimeout(() => void flow.current?.fitView({ maxZoom: 1, padding: 0.04 }), 50);

	useEffect(() => setDraft(text), [text]);
	useEffect(() => void fit(), [graph.boxes.length]);
	useEffect(() => {
		if (name === "") {
			if (key("q") !== "") void fromText(key("q"));
			return;
		}
		source
			.get<{ text: string }>(`/graphs/${encodeURIComponent(name)}`, {})
			.then((reply) => fromText(reply.data.text))
			.catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
	}, [name, key("q")]);

	const groups = useMemo(() => {
		const all = new Map<string, BoxSpec[]>();
		for (const item of specs.values()) all.set(item.group, [...(all.get(item.group) ?? []), item]);
		return [...all];
	}, [specs]);
	const add = (spec: BoxSpec, x = 40 + graph.boxes.length * 30, y = 40 + graph.boxes.length * 30) => {
		let number = graph.boxes.length + 1;
		while (graph.boxes.some((box) => box.id === `b${number}`)) number++;
		if (graph.boxes.length >= 200) {
			say("A graph has at most 200 boxes.");
			return;
		}
		const args = Object.fromEntries(Object.entries(defaults[spec.kind] ?? {}).map(([name, value]) => [name, argFrom(value, undefined, name) ?? value]));
		void fromBoxes({ ...now.current, boxes: [...now.current.boxes, { id: `b${number}`, kind: spec.kind, args, x: Math.round(x), y: Math.round(y), label: "" }] });
	};
	const connect = (link: Connection) => {
		if (reaches(graph, link.target, link.source)) {
			say("That would form a cycle.");
			return;
		}
		const edge: Link = { from: link.source, out: Number(link.sourceHandle ?? 0), to: link.target, in: Number(link.targetHandle ?? 0) };
		void fromBoxes({ ...now.current, edges: [...now.current.edges.filter((old) => !(old.to === edge.to && old.in === edge.in)), edge] });
	};
	const reachedBy = (id: string) => {
		const before = graph.edges.filter((edge) => edge.to === id);
		return before.length === 1 && before[0] ? (passes[before[0].from] ?? null) : null;
	};
	const nodes: Node<BoxData>[] = graph.boxes.map((box) => ({
		id: box.id,
		type: "box",
		position: { x: box.x ?? 0, y: box.y ?? 0 },
		selected: chosen.has(box.id),
		ariaLabel: `${box.kind} ${Object.values(box.args).map(argText).join(" ")}`,
		data: { box, spec: specs.get(box.kind), passes: passes[box.id] ?? null, reached: reachedBy(box.id), problem: problem?.box === box.id ? problem.message : "" },
	}));
	const edges: Edge[] = graph.edges.map((edge) => ({ id: `${edge.from}.${edge.out}-${edge.to}.${edge.in}`, source: edge.from, target: edge.to, sourceHandle: String(edge.out), targetHandle: String(edge.in), selected: chosen.has(`${edge.from}.${edge.out}-${edge.to}.${edge.in}`) }));
	const onNodes = (changes: NodeChange<Node<BoxData>>[]) => {
		const picks = changes.filter((change) => change.type === "select");
		if (picks.length) setChosen((old) => new Set([...[...old].filter((id) => !picks.some((pick) => pick.id === id)), ...picks.filter((pick) => pick.selected).map((pick) => pick.id)]));
		const moved = changes.some((change) => change.type === "remove" || (change.type === "position" && change.dragging === false));
		const sliding = changes.some((change) => change.type === "position");
		if (!moved && !sliding) return;
		const next = applyNodeChanges(changes, nodes);
		const left = new Set(next.map((node) => node.id));
		const changed: Graph = {
			boxes: next.map((node) => ({ ...(now.current.boxes.find((box) => box.id === node.id) ?? node.data.box), x: Math.round(node.position.x), y: Math.round(node.position.y) })),
			edges: now.current.edges.filter((edge) => left.has(edge.from) && left.has(edge.to)),
		};
		void fromBoxes(changed, moved);
	};
	const onEdges = (changes: EdgeChange[]) => {
		const picks = changes.filter((change) => change.type === "select");
		if (picks.length) setChosen((old) => new Set([...[...old].filter((id) => !picks.some((pick) => pick.id === id)), ...picks.filter((pick) => pick.selected).map((pick) => pick.id)]));
		if (!changes.some((change) => change.type === "remove")) return;
		const left = new Set(applyEdgeChanges(changes, edges).map((edge) => edge.id));
		void fromBoxes({ ...graph, edges: graph.edges.filter((edge) => left.has(`${edge.from}.${edge.out}-${edge.to}.${edge.in}`)) });
	};
	const port = (id: string, side: "target" | "source", at: number) => {
		if (side === "source") {
			setBegun({ id, at });
			say("Now an input: Tab to it and press Enter.");
		} else if (begun) {
			connect({ source: begun.id, sourceHandle: String(begun.at), target: id, targetHandle: String(at) });
			setBegun(null);
		} else say("First an output: Tab to it and press Enter.");
	};
	const put = (part: Graph) => {
		if (part.boxes.length === 0) return;
		const next = inserted(now.current, part);
		void fromBoxes(next.graph);
		setChosen(next.names);
	};
	const copyBoxes = () => {
		clip.current = partOf(graph, chosen);
		say(clip.current.boxes.length ? `Copied ${count(clip.current.boxes.length)} boxes.` : "Choose boxes first.");
	};
	const align = (edge: "x" | "y") => {
		if (partOf(graph, chosen).boxes.length < 2) say("Choose two boxes or more first: click with Shift, or drag a frame with Shift.");
		else void fromBoxes(aligned(now.current, chosen, edge));
	};
	const keyDown = (event: KeyboardEvent) => {
		const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
		const command = event.ctrlKey || event.metaKey;
		if (typing) return;
		if (event.key === "a" && !command) document.getElementById("add-box")?.focus();
		else if (command && event.key === "c") copyBoxes();
		else if (command && event.key === "v") put(clip.current);
		else if (command && event.key === "z") (event.shiftKey ? redo : undo)();
		else if (command && event.key === "y") redo();
		else if (event.key === "Escape" && begun) setBegun(null);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const change = (id: string, arg: string, value: string) => {
		const box = now.current.boxes.find((other) => other.id === id);
		if (!box || argText(box.args[arg]) === value) return;
		const next = { ...box, args: changedArgs(box.args, arg, value) };
		void fromBoxes({ ...now.current, boxes: now.current.boxes.map((other) => (other === box ? next : other)) });
	};
	const attempt = async (act: () => Promise<void>) => {
		try {
			await act();
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
		}
	};
	const store = async (query: string) => {
		if (!/^[A-Za-z0-9_-]{1,60}$/.test(saveAs)) throw new Error("A name has letters, digits, - and _.");
		await source.request("PUT", `/graphs/${saveAs}`, { text: query });
		say(`Saved as ${saveAs}.hwq.`);
		saved.retry();
	};
	const save = () => attempt(async () => {
		await store(text);
		go(["graph", saveAs], { q: null });
	});
	/** The chosen boxes as a saved graph of their own, which can be put into others. */
	const saveChosen = () => attempt(async () => {
		const part = partOf(graph, chosen);
		if (part.boxes.length === 0) throw new Error("Choose boxes first.");
		await store((await source.post<{ text: string }>("/query/compile", { graph: withOutput(part) })).data.text);
	});
	const insert = (item: string) => attempt(async () => {
		const { text: query } = (await source.get<{ text: string }>(`/graphs/${encodeURIComponent(item)}`, {})).data;
		const part = (await source.post<{ graph: Graph }>("/query/graph", { text: query })).data.graph;
		put(part.boxes.some((box) => box.x != null) ? part : arrange(part));
	});
	const remove = (item: string) => attempt(async () => {
		await source.request("DELETE", `/graphs/${encodeURIComponent(item)}`, undefined);
		saved.retry();
		say(`Removed ${item}.hwq.`);
	});
	return (
		<ActsContext.Provider value={{ change, port, begun: begun?.id ?? null, may: (id) => begun == null || !reaches(graph, id, begun.id) }}>
			<div class="view editor" onKeyDown={keyDown}>
				<datalist id="box-fields">{(catalogue.reply?.data.fields.rows ?? []).map((row) => <option value={row.name}>{row.meaning}</option>)}</datalist>
				<datalist id="box-views">{["text", "csv", "flame", "timeline", "map", "points", "chunks", "types", "threads"].map((item) => <option value={item} />)}</datalist>
				<datalist id="box-times"><option value="peak" /><option value="end" /></datalist>
				<datalist id="box-traces">{traces.value.map((item) => <option value={item.name} />)}</datalist>
				<div class="controls">
					<button onClick={undo}>Undo</button>
					<button onClick={redo}>Redo</button>
					<button onClick={() => { void fromBoxes(arrange(graph)); fit(); }}>Arrange</button>
					<button disabled={text === "" || problem != null} onClick={() => go("", { q: text, g: null })}>Apply to all views</button>
					<label class="choice">Name<input value={saveAs} onInput={(event) => setSaveAs(event.currentTarget.value)} /></label>
					<button onClick={() => void save()}>Save</button>
					<MenuButton
						label="More"
						groups={[
							["Chosen boxes", chosen.size === 0 ? [] : [{ label: "Align left", run: () => align("x") }, { label: "Align top", run: () => align("y") }, { label: "Save chosen boxes", run: () => void saveChosen() }]],
							["Text", [...(text === "" ? [] : [{ label: "Copy text", run: () => void copy(text, "the query") }, { label: "Export .hwq", run: () => saveFile(`${saveAs || "query"}.hwq`, `${text}\n`) }]), { label: "Import .hwq", run: () => chooser.current?.click() }]],
						]}
					/>
					<input ref={chooser} hidden aria-label="Import .hwq" type="file" accept=".hwq,text/plain" onChange={(event) => { const input = event.currentTarget; void input.files?.[0]?.text().then((content) => fromText(content.trim())); input.value = ""; }} />
					{(saved.reply?.data ?? []).map((item) => (typeof item === "string" ? item : item.name)).map((item) => (
						<span class="saved">
							<button class="chip" onClick={() => go(["graph", item], { q: null, g: null })}>{item}</button>
							<button aria-label={`Insert ${item}`} title="Put its boxes into this graph" onClick={() => void insert(item)}>＋</button>
							<button aria-label={`Remove ${item}`} title="Remove the saved query" onClick={() => void remove(item)}>✕</button>
						</span>
					))}
				</div>
				<div class="editor-grid">
					<aside class="palette" aria-label="Boxes">
						<label class="choice">
							<span class="sr-only">Add a box by its name</span>
							<input
								id="add-box"
								list="box-kinds"
								placeholder="add (a)"
								onKeyDown={(event) => {
									const wanted = event.currentTarget.value.trim();
									const found = specs.get(wanted) ?? [...specs.values()].find((item) => item.kind.startsWith(wanted));
									if (event.key !== "Enter" || wanted === "") return;
									if (found) add(found);
									else say(`There is no box “${wanted}”.`);
									event.currentTarget.value = "";
								}}
							/>
							<datalist id="box-kinds">{[...specs.keys()].map((kind) => <option value={kind} />)}</datalist>
						</label>
						{groups.map(([group, list]) => (
							<section>
								<h3>{group}</h3>
								{list.map((spec) => (
									<button draggable title={spec.help} onDragStart={(event) => event.dataTransfer?.setData("application/heapwise", spec.kind)} onClick={() => add(spec)}>{spec.kind}</button>
								))}
							</section>
						))}
					</aside>
					<div
						class="flow"
						onDragOver={(event) => event.preventDefault()}
						onDrop={(event) => {
							const spec = specs.get(event.dataTransfer?.getData("application/heapwise") ?? "");
							const area = event.currentTarget.getBoundingClientRect();
							if (spec) add(spec, event.clientX - area.left, event.clientY - area.top);
						}}
					>
						{graph.boxes.length === 0 && (
							<div class="empty examples">
								<p>Drag boxes from the left, write text on the right, or begin with an example:</p>
								{examples.map(([label, query]) => <button onClick={() => void fromText(query)}>{label}</button>)}
							</div>
						)}
						<ReactFlow nodes={nodes} edges={edges} nodeTypes={nodeTypes} onNodesChange={onNodes} onEdgesChange={onEdges} onConnect={connect} colorMode={dark.value ? "dark" : "light"} onInit={(instance) => (flow.current = instance)} minZoom={0.2} maxZoom={1.5} proOptions={{ hideAttribution: true }}>
							<Background />
							<Controls />
						</ReactFlow>
					</div>
					<section class="text" aria-label="Text">
						<label for="graph-text">Query text</label>
						<textarea id="graph-text" rows={8} spellcheck={false} value={draft} onInput={(event) => setDraft(event.currentTarget.value)} />
						<button onClick={() => void fromText(draft)}>Show as boxes</button>
						{problem && <p class="problem" role="alert">{problem.message} {problem.hint}</p>}
						{text !== "" && !problem && <Preview text={text} />}
						<h3>Outline</h3>
						<ul class="outline">
							{graph.boxes.map((box) => (
								<li>
									{box.kind} {Object.values(box.args).map(argText).join(" ")}
									<span class="quiet"> {graph.edges.filter((edge) => edge.to === box.id).map((edge) => `from ${edge.from}`).join(", ")} {passes[box.id] == null ? "" : `${count(passes[box.id])} pass`}</span>
									{(specs.get(box.kind)?.outputs ?? 1) > 0 && <button aria-pressed={begun?.id === box.id} aria-label={`Connect from ${box.id}`} onClick={() => port(box.id, "source", 0)}>from</button>}
									{begun && begun.id !== box.id && !reaches(graph, box.id, begun.id) && Array.from({ length: specs.get(box.kind)?.inputs ?? 1 }, (_, at) => <button aria-label={`Connect to input ${at + 1} of ${box.id}`} onClick={() => port(box.id, "target", at)}>to {at + 1}</button>)}
									<button aria-label={`Remove ${box.id}`} onClick={() => void fromBoxes({ boxes: graph.boxes.filter((other) => other.id !== box.id), edges: graph.edges.filter((edge) => edge.from !== box.id && edge.to !== box.id) })}>✕</button>
								</li>
							))}
						</ul>
					</section>
				</div>
			</div>
		</ActsContext.Provider>
	);
}
