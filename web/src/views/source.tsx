// SPDX-License-Identifier: MIT
// What each line of a source file cost.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { able, scoped } from "../lib/catalogue";
import { allowedLink, chooseEditor, editor, editorLink, editors, mapped, prefixes, setPrefixes } from "../lib/editor";
import { bytes, count } from "../lib/format";
import type { Subject } from "../lib/menu";
import { Unfiltered } from "../lib/notice";
import { Choice } from "../lib/parts";
import { copy, say } from "../lib/say";
import { select } from "../lib/select";
import { sorted } from "../lib/sort";
import { LINES, embedded, source } from "../lib/source";
import { go, key, lineOf, linkTo, place, quote, set } from "../lib/state";
import { type Column, Table } from "../lib/table";

interface Cost {
	allocs: number;
	bytes: number;
	peak: number;
	kept: number;
}

interface Line {
	n: number;
	text: string | null;
	self: Cost | null;
	incl: Cost | null;
	points?: number[]; // of lines that allocate
}

const pointsOf = (row: Line) => row.points ?? [];

interface Data {
	found: boolean;
	stale: boolean;
	asks: string | null; // the folder that has to be allowed first
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
const metrics = [["bytes", "Bytes"], ["allocs", "Allocations"], ["peak", "At the peak"], ["kept", "Kept"]] as const;

interface FileRow {
	id: number;
	file: string;
	self: number;
	allocs: number;
	peak: number;
	kept: number;
	incl: number;
}

/** The end of a path, which tells files apart. */
function lastTwo(path: string): string {
	return path.split("/").slice(-2).join("/");
}

const fileColumns: Column<FileRow>[] = [
	{ name: "file", label: "File", width: "minmax(30ch, 3fr)", cell: (row) => <a href={linkTo(["src", row.file])} title={row.file}>{lastTwo(row.file)}</a>, text: (row) => row.file },
	{ name: "self", label: "Allocated here", number: true, width: "15ch", cell: (row) => bytes(row.self), text: (row) => String(row.self) },
	{ name: "allocs", label: "Allocations", number: true, width: "12ch", cell: (row) => count(row.allocs), text: (row) => String(row.allocs) },
	{ name: "peak", label: "At the peak", number: true, width: "12ch", cell: (row) => bytes(row.peak), text: (row) => String(row.peak) },
	{ name: "kept", label: "Kept", number: true, width: "12ch", cell: (row) => bytes(row.kept), text: (row) => String(row.kept) },
	{ name: "incl", label: "With callees", number: true, width: "13ch", cell: (row) => bytes(row.incl), text: (row) => String(row.incl) },
];

function useFiles() {
	return useAnswer<{ total: number; rows: File[]; advice?: string | null }>("/files", { ...scoped("/files"), limit: 500 });
}

function Files() {
	const answer = useFiles();
	const sort = key("sort") || "-self";
	const [all, showAll] = useState(false);
	return (
		<Panel answer={answer} label="Files" empty={(data) => (data.rows.length === 0 ? `The trace names no source file of the program: ${data.advice ?? "build with -g"}.` : null)}>
			{(data) => {
				const rows = data.rows.map((row) => ({ id: row.id, file: row.file, self: row.self.bytes, allocs: row.self.allocs, peak: row.self.peak, kept: row.self.kept, incl: row.incl.bytes }));
				const ordered = sorted(sorted(rows, "-incl"), sort);
				const own = all ? ordered : ordered.filter((row) => row.self > 0);
				return (
					<>
						<Unfiltered path="/files" />
						<Table copied={() => own} label="Source files" columns={fileColumns} rows={own} rowKey={(row) => row.id} height={560} sort={sort} onSort={(name) => set({ sort: name })} onOpen={(row) => go(["src", row.file])} menu={(row): Subject => ({ title: row.file, file: row.file, line: 1, condition: `stack_file == ${quote(row.file)}` })} />
						<p class="buttons">
							{data.total > data.rows.length && <span class="quiet">The first {count(data.rows.length)} of {count(data.total)} files.</span>}
							{ordered.length > own.length && <button class="plain" onClick={() => showAll(true)}>Show {count(ordered.length - own.length)} more files that allocate nothing themselves</button>}
						</p>
					</>
				);
			}}
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

/** One point opens; of several the first, and how many there are. */
function Points({ list }: { list: number[] }) {
	if (list.length === 0) return null;
	return (
		<>
			{list.slice(0, 3).map((id) => [<button class="plain" onClick={() => select("p", id)}>point {id}</button>, " "])}
			{list.length > 3 && <span class="quiet" title={list.join(", ")}>+{list.length - 3}</span>}
		</>
	);
}

function Listing({ data, file, line, metric }: { data: Data; file: string; line: number; metric: Metric }) {
	const [highlight, setHighlight] = useState<Highlight | null>(null);
	const holder = useRef<HTMLDivElement>(null);
	const show = metric === "allocs" ? count : bytes;
	const most = data.lines.reduce((high, row) => Math.max(high, row.incl?.[metric] ?? 0), 1);
	const hot = data.lines.filter((row) => (row.self?.[metric] ?? 0) > 0);
	const moveTo = (n: number) => go(lineOf(file, n), { metric: key("metric") });
	const next = (step: number) => {
		const target = step > 0 ? hot.find((row) => row.n > line) : [...hot].reverse().find((row) => row.n < line);
		if (target) moveTo(target.n);
		else say("There is no further line that allocates.");
	};
	useEffect(() => {
		if (!REPORT) void loadHighlighter().then((load) => setHighlight(() => load), () => undefined);
	}, []);
	useEffect(() => {
		// the line that was asked for, in the middle
		const body = holder.current?.querySelector<HTMLElement>(".tbody");
		const at = data.lines.findIndex((row) => row.n === line);
		if (body && at >= 0) body.scrollTop = Math.max(0, at * ROW - body.clientHeight / 2);
	}, [line, data]);
	const columns: Column<Line>[] = [
		{ name: "self", label: "Itself", number: true, width: "11ch", cell: (row) => (row.self?.[metric] ? <b>{show(row.self[metric])}</b> : ""), text: (row) => String(row.self?.[metric] ?? "") },
		{ name: "incl", label: "With callees", number: true, width: "18ch", cell: (row) => (row.incl?.[metric] ? <>{show(row.incl[metric])} <span class="bar"><span style={{ width: `${(row.incl[metric] / most) * 100}%` }} /></span></> : ""), text: (row) => String(row.incl?.[metric] ?? "") },
		{ name: "n", label: "Line", number: true, width: "7ch", cell: (row) => <span class="quiet">{row.n}</span>, text: (row) => String(row.n) },
		{ name: "code", label: "Code", width: "minmax(40ch, 5fr)", cell: (row) => <span class="code"><Code text={row.text ?? ""} lang={data.lang} highlight={highlight} /></span>, text: (row) => row.text ?? "" },
		{ name: "points", label: "Points", width: "28ch", cell: (row) => <Points list={pointsOf(row)} />, text: (row) => pointsOf(row).join(" ") },
	];
	const condition = (row: Line) => (pointsOf(row).length ? `point in (${pointsOf(row).slice(0, 100).join(", ")})` : `stack_file == ${quote(file)}`);
	return (
		<>
			<p class="buttons">
				<button title="N" onClick={() => next(-1)}>Line before that allocates</button>
				<button title="n" onClick={() => next(1)}>Next line that allocates</button>
				<span class="quiet">{count(hot.length)} lines allocate here</span>
			</p>
			<div ref={holder} class="listing">
				<Table
					label="Source lines with their cost"
					columns={columns}
					rows={data.lines}
					rowKey={(row) => row.n}
					rowHeight={ROW}
					height={600}
					selected={line}
					onSelect={(row) => {
						moveTo(row.n);
						const [first] = pointsOf(row);
						if (first != null) select("p", first);
					}}
					onKey={(event) => {
						if (event.key !== "n" && event.key !== "N") return false;
						next(event.key === "n" ? 1 : -1);
						return true;
					}}
					menu={(row) => ({ title: `${file.replace(/^.*\//, "")}:${row.n}`, file, line: row.n, condition: condition(row), ...(pointsOf(row).length === 1 ? { point: pointsOf(row)[0] ?? null } : {}) })}
				/>
			</div>
		</>
	);
}

const ROW = 20;
const AROUND = 900; // lines, of the 2,000 that an answer has at most

/** How the editor is asked, and where sources are on this machine. */
function Settings({ file, open }: { file: string; open: boolean }) {
	const [from, setFrom] = useState("");
	const [to, setTo] = useState("");
	const preset = editors.find((item) => item.link === editor.value);
	const folder = file.replace(/[^/]*$/, "");
	return (
		<details class="settings" open={open}>
			<summary>Editor and paths of this browser</summary>
			<div class="controls">
				<Choice label="Editor" value={preset?.name ?? "own"} options={[...editors.map((item) => [item.name, item.name] as const), ["own", "another"] as const]} onChange={(value) => chooseEditor(value === "own" ? "editor://open?file={file}&line={line}" : (editors.find((item) => item.name === value)?.link ?? ""))} />
				<label class="choice">Link<input size={38} value={editor.value} placeholder="scheme://…{file}…{line}" onChange={(event) => { if (!chooseEditor(event.currentTarget.value.trim())) { event.currentTarget.value = editor.value; say("A link begins with a scheme of its own, as vscode: does."); } }} /></label>
				{editor.value !== "" && !allowedLink(editor.value) && <span class="problem">This link is not used.</span>}
			</div>
			<form
				class="controls"
				onSubmit={(event) => {
					event.preventDefault();
					if (from === "") return;
					setPrefixes([...prefixes.value.filter((item) => item.from !== from), { from, to }]);
					setFrom("");
					setTo("");
				}}
			>
				<label class="choice">Paths that begin with<input value={from} placeholder={folder || "/build/src/"} onInput={(event) => setFrom(event.currentTarget.value)} /></label>
				<label class="choice">begin here with<input value={to} placeholder="/srv/src/" onInput={(event) => setTo(event.currentTarget.value)} /></label>
				<button type="submit">Map</button>
			</form>
			<ul>
				{prefixes.value.map((item) => (
					<li><code>{item.from}</code> is <code>{item.to}</code> <button aria-label={`Forget ${item.from}`} onClick={() => setPrefixes(prefixes.value.filter((other) => other !== item))}>✕</button></li>
				))}
			</ul>
		</details>
	);
}

function OpenButtons({ id, file, line }: { id: number | undefined; file: string; line: number }) {
	const link = editorLink(file, line);
	const ask = async () => {
		try {
			await source.post(`/open${key("trace") ? `?trace=${encodeURIComponent(key("trace"))}` : ""}`, { file: id, line });
			say("Asked the server's editor.");
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
		}
	};
	return (
		<>
			{link && <a class="button" data-t="editor" href={link}>Open in the editor</a>}
			{id != null && able("/open", "", "POST") && <button onClick={() => void ask()}>Open where the server runs</button>}
			<button onClick={() => void copy(`${mapped(file)}:${line}`, "the place")}>Copy path</button>
		</>
	);
}

/** A trace of a stranger may name any file: the server shows those of a folder when its user has said so, once. */
function Ask({ id, folder, then }: { id: number; folder: string; then: () => void }) {
	const allow = async () => {
		try {
			await source.post(`/source${key("trace") ? `?trace=${encodeURIComponent(key("trace"))}` : ""}`, { file: id, folder });
			then();
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
		}
	};
	return (
		<div class="note">
			<p>The trace names a file of a folder that you have not allowed yet. Source files of this folder, and of those below it, may be shown if you trust the trace:</p>
			<p><code>{folder}</code></p>
			{able("/source", "", "POST") && <button data-t="allow" onClick={() => void allow()}>Show files of this folder</button>}
		</div>
	);
}

export function Source() {
	const asked = place.value.path.slice(1).join("/");
	return <div class="view">{asked === "" ? <Files /> : <File asked={asked} />}</div>;
}

function File({ asked }: { asked: string }) {
	const match = /^(.*?)(?::(\d+))?$/s.exec(asked);
	const file = match?.[1] ?? "";
	const line = Math.max(1, Number(match?.[2] ?? 1));
	const metric: Metric = metrics.find(([name]) => name === key("metric"))?.[0] ?? "bytes";
	const files = useFiles();
	const rows = files.reply?.data.rows ?? [];
	const id = (rows.find((row) => row.file === file) ?? rows.find((row) => row.file.endsWith(`/${file}`)))?.id; // a path from another folder will do
	// a window that moves by steps, so that walking lines does not ask each time
	const middle = useMemo(() => Math.round(line / 400) * 400, [line]);
	const answer = useAnswer<Data>(id == null ? null : "/source", { ...scoped("/source"), file: id, ...(embedded ? LINES : { from: Math.max(1, middle - AROUND), to: middle + AROUND }) });
	return (
		<>
			<div class="controls">
				<a href={linkTo("src")}>All files</a>
				<b>{file}:{line}</b>
				<Choice label="Metric" value={metric} options={metrics} onChange={(value) => set({ metric: value })} />
				<OpenButtons id={id} file={file} line={line} />
			</div>
			{files.reply && id == null && <p class="empty">The trace does not name this file.</p>}
			<Panel answer={answer} label="Source">
				{(data) => (
					<>
						<Unfiltered path="/source" />
						{data.stale && <p class="problem">The file is newer than the program that was recorded: lines may not match.</p>}
						{data.asks != null && id != null && <Ask id={id} folder={data.asks} then={() => answer.retry()} />}
						{!data.found && data.asks == null && (embedded ? <p class="note">The report has no text of this file. Lines that are known are shown without it.</p> : (
							<div class="note">
								<p>The source is not on the machine of the server; lines that are known are shown without their text. Looked for:</p>
								<ul>{data.searched.map((path) => <li>{path}</li>)}</ul>
								{mapped(file) !== file && <p>Here it is {mapped(file)}.</p>}
							</div>
						))}
						{data.lines.length > 0 && <Listing data={data} file={file} line={line} metric={metric} />}
						{!embedded && <Settings file={file} open={!data.found && data.asks == null} />}
					</>
				)}
			</Panel>
		</>
	);
}
