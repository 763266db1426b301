// SPDX-License-Identifier: MIT
// What each line of a source file cost.

import { useEffect, useRef, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { bytes, count } from "../lib/format";
import { Choice } from "../lib/parts";
import { select } from "../lib/select";
import { common, go, key, linkTo, place, set } from "../lib/state";
import { type Column, Table } from "../lib/table";

interface Cost {
	allocs: number;
	bytes: number;
	peak: number;
	leaked: number;
}

interface Line {
	n: number;
	text: string;
	self: Cost | null;
	incl: Cost | null;
	points: number[];
}

interface Data {
	found: boolean;
	stale: boolean;
	lang: string;
	searched: string[];
	lines: Line[];
}

interface File {
	id: number;
	path: string;
	bytes: number;
	allocs: number;
}

type Metric = keyof Cost;
const metrics = [["bytes", "Bytes"], ["allocs", "Allocations"], ["peak", "At the peak"], ["leaked", "Kept"]] as const;

const fileColumns: Column<File>[] = [
	{ name: "path", label: "File", cell: (row) => <a href={linkTo(`src/${encodeURIComponent(row.path)}`)}>{row.path}</a> },
	{ name: "bytes", label: "Bytes", number: true, width: "12ch", cell: (row) => bytes(row.bytes) },
	{ name: "allocs", label: "Allocations", number: true, width: "12ch", cell: (row) => count(row.allocs) },
];

function Files() {
	const answer = useAnswer<{ rows: File[] }>("/files", common());
	return (
		<Panel answer={answer} label="Files" empty={(data) => (data.rows.length === 0 ? "The trace names no source file: build with -g." : null)}>
			{(data) => <Table label="Source files" columns={fileColumns} rows={data.rows} rowKey={(row) => row.path} height={560} onOpen={(row) => go(`src/${row.path}`)} />}
		</Panel>
	);
}

type Highlight = (code: string, lang: string) => string;

async function loadHighlighter(): Promise<Highlight> {
	const [{ default: core }, { default: c }, { default: cpp }, { default: rust }] = await Promise.all([
		import("highlight.js/lib/core"),
		import("highlight.js/lib/languages/c"),
		import("highlight.js/lib/languages/cpp"),
		import("highlight.js/lib/languages/rust"),
	]);
	core.registerLanguage("c", c);
	core.registerLanguage("cpp", cpp);
	core.registerLanguage("rust", rust);
	return (code, lang) => core.highlight(code, { language: core.getLanguage(lang) ? lang : "c", ignoreIllegals: true }).value;
}

/** highlight.js escapes what it is given, and its answer holds nothing but spans with classes. */
function Code({ text, lang, highlight }: { text: string; lang: string; highlight: Highlight | null }) {
	return highlight ? <code dangerouslySetInnerHTML={{ __html: highlight(text, lang) }} /> : <code>{text}</code>;
}

function Listing({ data, line, metric }: { data: Data; line: number; metric: Metric }) {
	const target = useRef<HTMLTableRowElement>(null);
	const [highlight, setHighlight] = useState<Highlight | null>(null);
	const most = Math.max(1, ...data.lines.map((row) => row.incl?.[metric] ?? 0));
	const show = metric === "allocs" ? count : bytes;
	useEffect(() => {
		void loadHighlighter().then((next) => setHighlight(() => next));
	}, []);
	useEffect(() => target.current?.scrollIntoView({ block: "center" }), [line, data]);
	return (
		<table class="listing">
			<caption class="sr-only">Source lines with their cost</caption>
			<thead><tr><th scope="col">Itself</th><th scope="col">With callees</th><th scope="col">Line</th><th scope="col">Code</th></tr></thead>
			<tbody>
				{data.lines.map((row) => (
					<tr ref={row.n === line ? target : undefined} class={row.n === line ? "chosen" : ""}>
						<td class="number">{row.self?.[metric] ? <button onClick={() => row.points[0] != null && select("p", row.points[0])}>{show(row.self[metric])}</button> : ""}</td>
						<td class="number">{row.incl?.[metric] ? <>{show(row.incl[metric])}<span class="bar"><span style={{ width: `${(row.incl[metric] / most) * 100}%` }} /></span></> : ""}</td>
						<th scope="row">{row.n}</th>
						<td class="code"><Code text={row.text} lang={data.lang} highlight={highlight} /></td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

const AROUND = 400;

export function Source() {
	const asked = place.value.path.slice(1).join("/");
	const match = /^(.*?)(?::(\d+))?$/s.exec(asked);
	const file = match?.[1] ?? "";
	const line = Number(match?.[2] ?? 1);
	const metric = (key("metric") || "bytes") as Metric;
	const answer = useAnswer<Data>(file ? "/source" : null, { ...common(), file, from: Math.max(1, line - AROUND), to: line + AROUND });
	if (!file) return <div class="view"><Files /></div>;
	return (
		<div class="view">
			<div class="controls">
				<a href={linkTo("src")}>All files</a>
				<b>{file}</b>
				<Choice label="Metric" value={metric} options={metrics} onChange={(value) => set({ metric: value })} />
			</div>
			<Panel answer={answer} label="Source">
				{(data) =>
					data.found ? (
						<>
							{data.stale && <p class="problem">The file is newer than the program that was recorded: lines may not match.</p>}
							<Listing data={data} line={line} metric={metric} />
						</>
					) : (
						<div class="empty">
							<p>The source is not on this machine. Looked for:</p>
							<ul>{data.searched.map((path) => <li>{path}</li>)}</ul>
						</div>
					)
				}
			</Panel>
		</div>
	);
}
