// SPDX-License-Identifier: MIT
// What each line of a source file cost.

import { useEffect, useRef, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { bytes, count } from "../lib/format";
import { Choice } from "../lib/parts";
import { select } from "../lib/select";
import { go, key, linkTo, place, set, whole } from "../lib/state";
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
	file: string;
	self: Cost;
	incl: Cost;
}

type Metric = keyof Cost;
const metrics = [["bytes", "Bytes"], ["allocs", "Allocations"], ["peak", "At the peak"], ["leaked", "Kept"]] as const;

const fileColumns: Column<File>[] = [
	{ name: "file", label: "File", cell: (row) => <a href={linkTo(`src/${encodeURIComponent(row.file)}`)}>{row.file}</a> },
	{ name: "self", label: "Allocated here", number: true, width: "15ch", cell: (row) => bytes(row.self.bytes) },
	{ name: "allocs", label: "Allocations", number: true, width: "12ch", cell: (row) => count(row.self.allocs) },
	{ name: "peak", label: "At the peak", number: true, width: "12ch", cell: (row) => bytes(row.self.peak) },
	{ name: "leaked", label: "Kept", number: true, width: "12ch", cell: (row) => bytes(row.self.leaked) },
	{ name: "incl", label: "With callees", number: true, width: "13ch", cell: (row) => bytes(row.incl.bytes) },
];

function useFiles() {
	return useAnswer<{ total: number; rows: File[] }>("/files", { ...whole(), limit: 500 });
}

function Files() {
	const answer = useFiles();
	return (
		<Panel answer={answer} label="Files" empty={(data) => (data.rows.length === 0 ? "The trace names no source file: build with -g." : null)}>
			{(data) => <Table label="Source files" columns={fileColumns} rows={[...data.rows].sort((a, b) => b.self.bytes - a.self.bytes || b.incl.bytes - a.incl.bytes)} rowKey={(row) => row.id} height={560} onOpen={(row) => go(`src/${encodeURIComponent(row.file)}`)} />}
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
						<td class="number">{row.incl?.[metric] ? <>{show(row.incl[metric])} <span class="bar"><span style={{ width: `${(row.incl[metric] / most) * 100}%` }} /></span></> : ""}</td>
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
	return <div class="view">{asked === "" ? <Files /> : <File asked={asked} />}</div>;
}

function File({ asked }: { asked: string }) {
	const match = /^(.*?)(?::(\d+))?$/s.exec(asked);
	const file = match?.[1] ?? "";
	const line = Number(match?.[2] ?? 1);
	const metric = (key("metric") || "bytes") as Metric;
	const files = useFiles();
	const id = files.reply?.data.rows.find((row) => row.file === file)?.id;
	const answer = useAnswer<Data>(id == null ? null : "/source", { ...whole(), file: id, from: Math.max(1, line - AROUND), to: line + AROUND });
	return (
		<>
			<div class="controls">
				<a href={linkTo("src")}>All files</a>
				<b>{file}</b>
				<Choice label="Metric" value={metric} options={metrics} onChange={(value) => set({ metric: value })} />
			</div>
			{files.reply && id == null && <p class="empty">The trace does not name this file.</p>}
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
		</>
	);
}
