// SPDX-License-Identifier: MIT
// Hot short-lived allocations: how often objects are allocated against how long they live, their clusters, and
// the ratio of the two with the threshold of its outliers.

import { useMemo } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { CanvasView, type Item, type Painter } from "../lib/canvas";
import { category, ink } from "../lib/colour";
import { type Maybe, bytes, count, ns } from "../lib/format";
import { Choice } from "../lib/parts";
import { select, selection } from "../lib/select";
import { key, set, whole } from "../lib/state";
import type { TableReply } from "../lib/result";
import { sorted } from "../lib/sort";
import { type Column, Table, csv } from "../lib/table";
import type { Columns } from "../lib/types";
import { copy } from "../lib/say";

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
}

interface Reply extends Columns {
	objects: number;
	clusters: { n: number; freq: number; life: number; excessive: boolean }[];
	q1: Maybe;
	q3: Maybe;
	iqr: Maybe;
	mu: Maybe;
	threshold: Maybe;
	verdict: { found: boolean; enough: boolean; objects: number; words: string };
}

interface Data extends Omit<Reply, "objects"> {
	objects: Obj[];
}

const NO_CLUSTER = 255;

function unpack(reply: Reply): Data {
	const column = (name: string) => reply.columns[name] ?? [];
	const text = (name: string, at: number) => reply.strings[column(name)[at] ?? 0] ?? "";
	const objects = column("id").map((id, at) => {
		const cluster = column("cluster")[at] ?? NO_CLUSTER;
		return {
			id,
			caller: text("caller", at),
			size: column("size")[at] ?? 0,
			destroyer: text("destroyer", at),
			freq: column("freq")[at] ?? 0,
			life: column("life")[at] ?? null,
			ratio: column("ratio")[at] ?? null,
			cluster: cluster === NO_CLUSTER ? null : cluster,
			flagged: (column("flag")[at] ?? 0) !== 0,
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

function scatter(objects: Obj[], log: boolean): Painter {
	const byId = new Map(objects.map((object) => [object.id, object]));
	return {
		paint(context, width, height) {
			const { text, line, quiet, accent } = ink();
			const x = scale(objects.map((object) => object.freq), log, LEFT, width - 20);
			const y = scale(objects.map((object) => object.life ?? 0), log, height - BOTTOM, 14);
			context.fillStyle = accent;
			context.globalAlpha = 0.07;
			context.fillRect((LEFT + width - 20) / 2, (height - BOTTOM + 14) / 2, (width - 20 - LEFT) / 2, (height - BOTTOM - 14) / 2);
			context.globalAlpha = 1;
			context.font = "11px system-ui, sans-serif";
			context.strokeStyle = line;
			context.fillStyle = quiet;
			for (const tick of x.ticks) {
				context.fillRect(x(tick), height - BOTTOM, 1, 4);
				context.textAlign = "center";
				context.fillText(count(tick), x(tick), height - BOTTOM + 16);
			}
			for (const tick of y.ticks) {
				context.textAlign = "right";
				context.fillText(ns(tick), LEFT - 8, y(tick) + 4);
			}
			context.strokeRect(LEFT, 14, width - 20 - LEFT, height - BOTTOM - 14);
			context.textAlign = "center";
			context.fillText("frequency →", (LEFT + width) / 2, height - 4);
			context.textAlign = "left";
			context.fillText("mean life", 4, 12);
			return objects.map((object): Item => {
				const at = { x: x(object.freq), y: y(object.life ?? 0) };
				const colour = object.cluster == null ? quiet : category(object.cluster);
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
					context.textAlign = at.x > width - 180 ? "right" : "left";
					context.fillText(object.caller.slice(0, 32), at.x + (at.x > width - 180 ? -13 : 13), at.y + 4);
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
			const y = scale([...sorted.map((object) => object.ratio ?? 0), data.threshold ?? 1], true, height - 20, 14);
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

export function Frequency() {
	const log = key("log") !== "0";
	const sort = key("sort") || "-freq";
	const mu = key("mu");
	const answer = useAnswer<Reply>("/emad", { ...whole(), method: key("method"), k: key("k"), seed: key("seed"), mu, log: key("raw") === "1" ? 0 : null });
	const reply = answer.reply;
	const data = useMemo(() => (reply ? unpack(reply.data) : null), [reply]);
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
			</>
		) : null;
	};
	return (
		<div class="view">
			<div class="controls">
				<Choice label="Method" value={key("method") || "both"} options={[["both", "Both"], ["kmeans", "Clusters"], ["iqr", "Ratio"]]} onChange={(value) => set({ method: value })} />
				<label class="choice">k<input type="number" min={2} max={12} value={key("k")} placeholder="auto" onChange={(event) => set({ k: event.currentTarget.value })} /></label>
				<label class="choice">μ<input type="range" min={-0.3} max={4} step={0.01} value={mu ? Math.log10(Number(mu)) : Math.log10(Math.max(0.5, data?.mu ?? 1))} onInput={(event) => set({ mu: (10 ** Number(event.currentTarget.value)).toPrecision(3) }, true)} /> {mu || "auto"}</label>
				{mu !== "" && <button onClick={() => set({ mu: null })}>μ automatic</button>}
				<label><input type="checkbox" checked={log} onChange={(event) => set({ log: event.currentTarget.checked ? null : 0 })} /> Logarithmic</label>
				<label><input type="checkbox" checked={key("raw") === "1"} onChange={(event) => set({ raw: event.currentTarget.checked ? 1 : null })} /> Raw features</label>
			</div>
			<Panel answer={answer} label="Frequency and lifetime" empty={(shown) => (shown.objects === 0 ? "Nothing was freed, so there is nothing to compare." : null)}>
				{() => data && body(data)}
			</Panel>
		</div>
	);

	function body(shown: Data) {
		return (
					<>
						<p class="sentence" data-t="verdict">{shown.verdict.words}</p>
						{dots && <CanvasView name="scatter" label="Frequency against mean life" description="scatter chart" height={400} painter={dots} version={`${log}`} selected={chosen} onSelect={(item) => select("o", item.id)} tooltip={(item) => tip(shown.objects, item.id)} />}
						<p class="quiet">Low and to the right: often allocated, soon freed. A ring marks what is excessive. Objects that are rare may be flagged by their ratio only.</p>
						{chart && <CanvasView name="ratios" label="Sorted ratios" description="ratio chart" height={220} painter={chart} version={mu} selected={chosen} onSelect={(item) => select("o", item.id)} tooltip={(item) => tip(shown.objects, item.id)} />}
						<p class="quiet" data-t="iqr">Q1 {shown.q1?.toPrecision(4) ?? "?"}, Q3 {shown.q3?.toPrecision(4) ?? "?"}, IQR {shown.iqr?.toPrecision(4) ?? "?"}, μ {shown.mu?.toPrecision(4) ?? "?"}, threshold {shown.threshold?.toPrecision(4) ?? "?"} per ms
							{" "}<button onClick={() => void copy(csv(columns, shown.objects), "the objects as CSV")}>Copy as CSV</button></p>
						<Table label="Objects" columns={columns} rows={sorted(shown.objects, sort)} rowKey={(row) => row.id} height={420} sort={sort} onSort={(name) => set({ sort: name })} selected={chosen} onSelect={(row) => select("o", row.id)} />
						{chosen != null && <Tree id={chosen} />}
					</>
		);
	}
}

/** Through whom: the heaviest path to an object that was found. */
function Tree({ id }: { id: number }) {
	const answer = useAnswer<TableReply>(`/emad/${id}/tree`, { ...whole(), all: key("all") });
	const rows = answer.reply?.data.rows ?? [];
	if (answer.error) return <p class="quiet">{answer.error.message}</p>;
	if (rows.length === 0) return null;
	return (
		<section aria-label="Call path">
			<h2>Through whom</h2>
			<ol class="stack">{rows.map((row) => <li style={{ marginLeft: `${Number(row.depth ?? 0) * 12}px` }}>{String(row.routine ?? "unknown")} <span class="quiet">{count(Number(row.frequency ?? 0))}</span></li>)}</ol>
		</section>
	);
}
