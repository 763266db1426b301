// SPDX-License-Identifier: MIT
// Hot short-lived allocations: how often objects are allocated against how long they live, their clusters, and
// the ratio of the two with the threshold of its outliers.

import { signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { CanvasView, type Item, type Painter } from "../lib/canvas";
import { against, scoped } from "../lib/catalogue";
import { category, ink } from "../lib/colour";
import { type Maybe, bytes, count, ns, tick } from "../lib/format";
import { type Subject, menuOf } from "../lib/menu";
import { shortName } from "../lib/names";
import { Unfiltered } from "../lib/notice";
import { Choice, oneOf } from "../lib/parts";
import type { TableReply } from "../lib/result";
import { select, selection } from "../lib/select";
import { sorted } from "../lib/sort";
import { embedded } from "../lib/source";
import { key, quote, set } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { TwinButton, useTwin } from "../lib/twin";
import type { Columns } from "../lib/types";

interface Obj {
	id: number;
	caller: string;
	size: number;
	destroyer: string; // "" = never freed
	freq: number;
	life: Maybe; // ns
	ratio: Maybe; // per ms
	cluster: Maybe;
	flagged: boolean;
	was: { freq: number; life: number } | null; // in the other trace, if it was freed there
}

interface Reply extends Columns {
	objects: number;
	never_freed?: number;
	silhouette?: Maybe;
	clusters: { n: number; freq: number; life: number; excessive: boolean }[];
	q1: Maybe;
	q3: Maybe;
	iqr: Maybe;
	mu: Maybe;
	threshold: Maybe;
	conclusion: { found: boolean; enough: boolean; objects: number; words: string };
}

interface Data extends Omit<Reply, "objects"> {
	objects: Obj[];
}


function unpack(reply: Reply): Data {
	const column = (name: string) => reply.columns[name] ?? [];
	const text = (name: string, at: number) => reply.strings[column(name)[at] ?? 0] ?? "";
	const objects = column("id").map((id, at) => {
		const cluster = column("cluster")[at] ?? 0; // from 1
		const life = column("base_life")[at];
		return {
			id,
			caller: text("caller", at),
			size: column("size")[at] ?? 0,
			destroyer: text("destroyer", at),
			freq: column("freq")[at] ?? 0,
			life: column("life")[at] ?? null,
			ratio: column("ratio")[at] ?? null,
			cluster: cluster > 0 ? cluster - 1 : null,
			flagged: (column("flag")[at] ?? 0) !== 0,
			was: life == null ? null : { freq: column("base_freq")[at] ?? 0, life },
		};
	});
	return { ...reply, objects };
}

const shapes = ["circle", "square", "triangle", "diamond"] as const;

function dot(context: CanvasRenderingContext2D, shape: string, x: number, y: number, r: number): void {
	context.beginPath();
	if (shape === "square") context.rect(x - r, y - r, 2 * r, 2 * r);
	else if (shape === "triangle") {
		context.moveTo(x, y - r);
		context.lineTo(x + r, y + r);
		context.lineTo(x - r, y + r);
	} else if (shape === "diamond") {
		context.moveTo(x, y - r * 1.3);
		context.lineTo(x + r * 1.3, y);
		context.lineTo(x, y + r * 1.3);
		context.lineTo(x - r * 1.3, y);
	} else context.arc(x, y, r, 0, 7);
	context.closePath();
	context.fill();
}

/** From where it was to where it is. */
function arrow(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number, colour: string): void {
	const angle = Math.atan2(y1 - y0, x1 - x0);
	if (Math.hypot(x1 - x0, y1 - y0) < 8) return;
	context.strokeStyle = colour;
	context.lineWidth = 1;
	context.beginPath();
	context.moveTo(x0, y0);
	context.lineTo(x1, y1);
	for (const side of [-0.4, 0.4]) {
		context.moveTo(x1 - 6 * Math.cos(angle), y1 - 6 * Math.sin(angle));
		context.lineTo(x1 - 14 * Math.cos(angle + side), y1 - 14 * Math.sin(angle + side));
	}
	context.stroke();
}

interface Scale {
	(value: number): number;
	ticks: number[];
}

function scale(values: number[], log: boolean, from: number, to: number): Scale {
	const known = values.filter((value) => !log || value > 0);
	const low = log ? Math.log10(Math.min(...known, 1)) : 0;
	const high = log ? Math.log10(Math.max(...known, 10)) : Math.max(...known, 1);
	const place = (value: number) => from + ((log ? Math.log10(Math.max(value, 10 ** low)) : value) - low) / Math.max(1e-9, high - low) * (to - from);
	const ticks = log
		? Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, at) => 10 ** (Math.ceil(low) + at))
		: [0, 0.25, 0.5, 0.75, 1].map((part) => part * high);
	return Object.assign(place, { ticks });
}

const LEFT = 80;
const BOTTOM = 36;
const ROOM = 16; // inside the frame, for marks at its edges

function scatter(objects: Obj[], log: boolean): Painter {
	const byId = new Map(objects.map((object) => [object.id, object]));
	return {
		paint(context, width, height) {
			const { text, line, quiet, accent } = ink();
			const both = objects.flatMap((object) => (object.was ? [object, object.was] : [object]));
			const x = scale(both.map((object) => object.freq), log, LEFT + ROOM, width - 20 - ROOM);
			const y = scale(both.map((object) => object.life ?? 0), log, height - BOTTOM - ROOM, 14 + ROOM);
			context.fillStyle = accent;
			context.globalAlpha = 0.07;
			context.fillRect((LEFT + width - 20) / 2, (height - BOTTOM + 14) / 2, (width - 20 - LEFT) / 2, (height - BOTTOM - 14) / 2);
			context.globalAlpha = 1;
			context.font = "11px system-ui, sans-serif";
			context.strokeStyle = line;
			context.fillStyle = quiet;
			let free = 0; // where the next number has room
			for (const value of x.ticks) {
				context.fillRect(x(value), height - BOTTOM, 1, 4);
				context.textAlign = "center";
				const half = context.measureText(count(value)).width / 2 + 4;
				if (x(value) - half < free) continue;
				context.fillText(count(value), x(value), height - BOTTOM + 16);
				free = x(value) + half;
			}
			for (const value of y.ticks) {
				context.textAlign = "right";
				context.fillText(tick(value, "ns"), LEFT - 8, y(value) + 4);
			}
			context.strokeRect(LEFT, 14, width - 20 - LEFT, height - BOTTOM - 14);
			context.textAlign = "center";
			context.fillText("frequency →", (LEFT + width) / 2, height - 4);
			context.textAlign = "left";
			context.fillText("mean life", 4, 12);
			// labels lie neither over each other nor over rings, and a name is there once
			const named = new Set<string>();
			const taken = objects.filter((object) => object.flagged).map((object) => ({ x: x(object.freq) - 11, y: y(object.life ?? 0), w: 22 }));
			const isFree = (left: number, at: number, w: number) => left > LEFT && left + w < width - 20 && !taken.some((other) => left < other.x + other.w && other.x < left + w && Math.abs(other.y - at) < 16);
			return objects.map((object): Item => {
				const at = { x: x(object.freq), y: y(object.life ?? 0) };
				const colour = object.cluster == null ? quiet : category(object.cluster);
				if (object.was) arrow(context, x(object.was.freq), y(object.was.life), at.x, at.y, quiet);
				context.fillStyle = colour;
				context.globalAlpha = 0.8;
				dot(context, shapes[(object.cluster ?? 0) % shapes.length] ?? "circle", at.x, at.y, 5);
				context.globalAlpha = 1;
				if (object.flagged) {
					context.strokeStyle = text;
					context.lineWidth = 2;
					context.beginPath();
					context.arc(at.x, at.y, 10, 0, 7);
					context.stroke();
					context.fillStyle = text;
					const words = shortName(object.caller, 32);
					const w = context.measureText(words).width;
					const left = [at.x + 14, at.x - 14 - w].find((place) => isFree(place, at.y, w));
					context.textAlign = "left";
					if (left !== undefined && !named.has(words)) {
						named.add(words);
						context.fillText(words, left, at.y + 4);
						taken.push({ x: left, y: at.y, w });
					}
				}
				return { id: object.id, x: at.x - 6, y: at.y - 6, w: 12, h: 12, colour, label: object.caller };
			});
		},
		speak: (item) => {
			const object = byId.get(item.id);
			return object ? `${object.caller}, ${bytes(object.size)}, ${count(object.freq)} times, lives ${ns(object.life)}${object.flagged ? ", excessive" : ""}` : "";
		},
	};
}

function ratios(data: Data): Painter {
	const sorted = data.objects.filter((object) => object.ratio != null).sort((a, b) => (a.ratio ?? 0) - (b.ratio ?? 0));
	return {
		paint(context, width, height) {
			const { text, quiet, line } = ink();
			const y = scale([...sorted.map((object) => object.ratio ?? 0), data.threshold ?? 1], true, height - 30, 26);
			context.font = "11px system-ui, sans-serif";
			context.strokeStyle = line;
			context.strokeRect(LEFT, 14, width - 20 - LEFT, height - 34);
			const marks: [string, Maybe][] = [["Q1", data.q1], ["Q3", data.q3], ["threshold", data.threshold]];
			for (const [label, value] of marks) {
				if (value == null || value <= 0) continue;
				context.fillStyle = label === "threshold" ? text : quiet;
				context.fillRect(LEFT, y(value), width - 20 - LEFT, 1);
				context.textAlign = "right";
				context.fillText(label, LEFT - 6, y(value) + 4);
			}
			return sorted.map((object, at): Item => {
				const x = LEFT + 6 + (at / Math.max(1, sorted.length - 1)) * (width - LEFT - 34);
				const place = y(object.ratio ?? 0);
				const over = data.threshold != null && (object.ratio ?? 0) > data.threshold;
				context.fillStyle = over ? text : quiet;
				dot(context, over ? "diamond" : "circle", x, place, over ? 5 : 3);
				return { id: object.id, x: x - 5, y: place - 5, w: 10, h: 10, colour: quiet, label: object.caller };
			});
		},
		speak: (item) => item.label,
	};
}

const columns: Column<Obj>[] = [
	{ name: "caller", label: "Caller", cell: (row) => <span title={row.caller}>{row.flagged ? "◉ " : ""}{row.caller}</span>, text: (row) => row.caller },
	{ name: "size", label: "Size", number: true, width: "10ch", cell: (row) => bytes(row.size), text: (row) => String(row.size) },
	{ name: "destroyer", label: "Destroyer", cell: (row) => row.destroyer || <i>never freed</i>, text: (row) => row.destroyer },
	{ name: "freq", label: "Frequency", number: true, width: "11ch", cell: (row) => count(row.freq), text: (row) => String(row.freq) },
	{ name: "life", label: "Mean life", number: true, width: "11ch", cell: (row) => ns(row.life), text: (row) => String(row.life ?? "") },
	{ name: "ratio", label: "R (per ms)", title: "frequency divided by mean life in ms", number: true, width: "12ch", cell: (row) => (row.ratio == null ? "" : row.ratio.toPrecision(4)), text: (row) => String(row.ratio ?? "") },
	{ name: "cluster", label: "Cluster", number: true, width: "9ch", cell: (row) => (row.cluster == null ? "" : String(row.cluster + 1)), text: (row) => String(row.cluster ?? "") },
];

const outlines = ["M5 0A5 5 0 1 0 5 10A5 5 0 1 0 5 0", "M0 0H10V10H0Z", "M5 0L10 10H0Z", "M5 0L10 5L5 10L0 5Z"]; // as dot() draws them

function Clusters({ list }: { list: Data["clusters"] }) {
	return (
		<div class="key" aria-label="Clusters">
			{list.map((cluster, at) => (
				<span>
					<svg width="10" height="10" aria-hidden="true"><path d={outlines[at % outlines.length]} fill={category(at)} /></svg>{" "}
					{cluster.excessive ? "excessive: " : ""}{count(cluster.n)} {cluster.n === 1 ? "object" : "objects"}, {cluster.freq < 1.5 ? "once" : `about ${count(cluster.freq)} times`}, {ns(cluster.life)}
				</span>
			))}
		</div>
	);
}

const methods = [["both", "Both"], ["kmeans", "Clusters"], ["iqr", "Ratio"]] as const;

function subjectOf(object: Obj): Subject {
	const freed = object.destroyer ? ` and free_fn == ${quote(object.destroyer)}` : " and not freed";
	return { title: object.caller, fn: object.caller, condition: `fn == ${quote(object.caller)} and size == ${object.size}${freed}` };
}

/** What is dragged over; of its own, so that a move of the pointer does not sort all objects. */
const frame = signal<{ x0: number; y0: number; x1: number; y1: number } | null>(null);

function Frame() {
	const { value } = frame;
	return value && <div class="rect" style={{ left: `${value.x0}px`, top: `${value.y0}px`, width: `${value.x1 - value.x0}px`, height: `${value.y1 - value.y0}px` }} />;
}

export function Frequency() {
	const log = key("log") !== "0";
	const sort = key("sort") || "-freq";
	const mu = key("mu");
	const [table, toggleTable] = useTwin();
	const held = useRef({ x: 0, y: 0 });
	const asked = { ...scoped("/emad"), ...against("/emad"), method: oneOf("method", methods, "both") === "both" ? null : key("method"), k: key("k"), seed: key("seed"), mu, log: key("raw") === "1" ? 0 : null };
	const answer = useAnswer<Reply>("/emad", asked);
	const reply = answer.reply;
	const data = useMemo(() => (reply ? unpack(reply.data) : null), [reply]);
	const only = key("o") === "" ? null : new Set(key("o").split(",").map(Number)); // those that were brushed
	const dots = useMemo(() => (data ? scatter(data.objects.filter((object) => object.life != null), log) : null), [data, log]);
	const chart = useMemo(() => (data ? ratios(data) : null), [data]);
	const chosen = selection.value?.kind === "o" ? Number(selection.value.id) : null;
	const tip = (objects: Obj[], id: number) => {
		const object = objects.find((row) => row.id === id);
		return object ? (
			<>
				<b>{object.caller}</b>
				<div>{bytes(object.size)}, {count(object.freq)} times, lives {ns(object.life)}</div>
				<div>freed by {object.destroyer || "nobody"}; R {object.ratio?.toPrecision(4)}</div>
				{object.was && <div>before: {count(object.was.freq)} times, lived {ns(object.was.life)}</div>}
			</>
		) : null;
	};
	const menu = (id: number) => {
		const object = data?.objects.find((row) => row.id === id);
		return object ? subjectOf(object) : null;
	};
	const drag = (phase: "begin" | "move" | "end", x: number, y: number) => {
		if (phase === "begin") held.current = { x, y };
		const rect = { x0: Math.min(held.current.x, x), y0: Math.min(held.current.y, y), x1: Math.max(held.current.x, x), y1: Math.max(held.current.y, y) };
		frame.value = phase === "move" ? rect : null;
		if (phase !== "end" || rect.x1 - rect.x0 < 5) return;
		const inside = (window.__hw?.items("scatter") ?? []).filter((item) => item.x + 6 >= rect.x0 && item.x + 6 <= rect.x1 && item.y + 6 >= rect.y0 && item.y + 6 <= rect.y1);
		set({ o: inside.map((item) => item.id).join(",") || null });
	};
	const flagged = data?.objects.filter((object) => object.flagged).length ?? 0;
	return (
		<div class="view">
			<div class="controls">
				<span role="status" data-t="flagged">{count(flagged)} flagged</span>
				<label><input type="checkbox" checked={log} onChange={(event) => set({ log: event.currentTarget.checked ? null : 0 })} /> Logarithmic</label>
				{only && <button class="chip" onClick={() => set({ o: null })}>{count(only.size)} brushed ✕</button>}
				<TwinButton on={table} toggle={toggleTable} />
			</div>
			<Panel answer={answer} label="Frequency and lifetime" empty={(shown) => (shown.objects === 0 ? "Nothing was freed, so there is nothing to compare." : null)}>
				{() => data && body(data)}
			</Panel>
		</div>
	);

	/** How the objects were found: the paper's two ways, and their numbers. */
	function method(shown: Data) {
		return (
			<details class="method" open={["k", "seed", "mu", "method", "raw"].some((name) => key(name) !== "")}>
				<summary>How they were found</summary>
				<p class="quiet">Clusters: k-means groups objects by frequency and mean life. Ratio: an object is excessive where its frequency divided by its mean life lies far above most others.</p>
				<div class="controls">
					<Choice label="Method" value={key("method") || "both"} options={methods} onChange={(value) => set({ method: value === "both" ? null : value })} />
					<label class="choice">k<input type="number" min={2} max={12} value={key("k")} placeholder="auto" onChange={(event) => set({ k: event.currentTarget.value })} /></label>
					{data && data.clusters.length > 0 && <span class="quiet" title={data.clusters.map((cluster, at) => `${at + 1}: ${count(cluster.n)} objects, ${count(cluster.freq)} times, ${ns(cluster.life)}${cluster.excessive ? ", excessive" : ""}`).join("\n")}>{count(data.clusters.length)} clusters{data.silhouette != null ? `, silhouette ${data.silhouette.toFixed(2)}` : ""}{key("k") === "" ? ", the number with the best silhouette" : ""}</span>}
					<label class="choice">Seed<input type="number" min={0} value={key("seed")} placeholder="1" onChange={(event) => set({ seed: event.currentTarget.value })} /></label>
					<label class="choice">μ<input type="range" min={-0.3} max={4} step={0.01} value={mu && mu !== "auto" ? Math.log10(Number(mu)) : Math.log10(Math.max(0.5, data?.mu ?? 1))} onInput={(event) => set({ mu: (10 ** Number(event.currentTarget.value)).toPrecision(3) }, true)} /> {mu || "the IQR"}</label>
					<button aria-pressed={mu === "auto"} title="μ from the largest gap between ratios" onClick={() => set({ mu: mu === "auto" ? null : "auto" })}>μ by the largest gap</button>
					{mu !== "" && <button onClick={() => set({ mu: null })}>μ automatic</button>}
					<label><input type="checkbox" checked={key("raw") === "1"} onChange={(event) => set({ raw: event.currentTarget.checked ? 1 : null })} /> Raw features</label>
				</div>
				<p class="quiet" data-t="iqr">Q1 {shown.q1?.toPrecision(4) ?? "?"}, Q3 {shown.q3?.toPrecision(4) ?? "?"}, IQR {shown.iqr?.toPrecision(4) ?? "?"}, μ {shown.mu?.toPrecision(4) ?? "?"}, threshold {shown.threshold?.toPrecision(4) ?? "?"} per ms</p>
			</details>
		);
	}

	function body(shown: Data) {
		const rows = sorted(only ? shown.objects.filter((object) => only.has(object.id)) : shown.objects, sort);
		return (
			<>
				<Unfiltered path="/emad" />
				<p class="sentence" data-t="conclusion">{shown.conclusion.words}</p>
				{!shown.conclusion.enough && <p class="note">Fewer objects than clusters: choose k of at most {count(shown.objects.length)}.</p>}
				{!table && dots && (
					<CanvasView name="scatter" label="Frequency against mean life" description="scatter chart" height={400} painter={dots} version={`${log}`} selected={chosen} onSelect={(item) => select("o", item.id)} onDrag={drag} menu={(item) => menu(item.id)} tooltip={(item) => tip(shown.objects, item.id)}>
						<Frame />
					</CanvasView>
				)}
				{!table && <Clusters list={shown.clusters} />}
				{!table && <p class="quiet">Low and to the right: allocated often, freed soon. A ring marks what is excessive; colour and shape are the cluster{shown.objects.some((object) => object.was) ? "; arrows come from where an object was before" : ""}. Objects that are rare may be flagged by their ratio only. Drag to pick some.</p>}
				{!table && chart && <CanvasView name="ratios" label="Sorted ratios" description="ratio chart" height={220} painter={chart} version={mu} selected={chosen} onSelect={(item) => select("o", item.id)} menu={(item) => menu(item.id)} tooltip={(item) => tip(shown.objects, item.id)} />}
				{method(shown)}
				<Table copied={() => rows} label="Objects" columns={columns} rows={rows} rowKey={(row) => row.id} height={420} sort={sort} onSort={(name) => set({ sort: name })} selected={chosen} onSelect={(row) => select("o", row.id)} menu={subjectOf} />
				{(shown.never_freed ?? 0) > 0 && <p class="quiet">{count(shown.never_freed)} objects were never freed: they have no lifetime, and are in no cluster.</p>}
				{chosen != null && <Tree id={chosen} />}
			</>
		);
	}
}

/** Through whom: the heaviest path to an object that was found, or all. */
function Tree({ id }: { id: number }) {
	const answer = useAnswer<TableReply>(embedded ? null : `/emad/${id}/tree`, { ...scoped("/emad/{id}/tree"), all: key("all") });
	const rows = answer.reply?.data.rows ?? [];
	if (answer.error) return <p class="quiet">{answer.error.message}</p>;
	if (rows.length === 0) return null;
	return (
		<section aria-label="Call path">
			<h2>Through whom <label class="small"><input type="checkbox" checked={key("all") === "1"} onChange={(event) => set({ all: event.currentTarget.checked ? 1 : null })} /> All paths</label></h2>
			<ol class="stack">
				{rows.slice(0, 300).map((row) => (
					<li style={{ marginLeft: `${Math.min(40, Number(row.depth ?? 0)) * 12}px` }} {...menuOf(() => ({ title: String(row.routine ?? "unknown"), fn: String(row.routine ?? "") }))}>
						{String(row.routine ?? "unknown")} <span class="quiet">{count(Number(row.frequency ?? 0))}</span>
					</li>
				))}
			</ol>
			{rows.length > 300 && <p class="quiet">The first 300 of {count(rows.length)} lines.</p>}
		</section>
	);
}
