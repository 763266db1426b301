// SPDX-License-Identifier: MIT
// The four classic tables: leaks, size bins, direct allocation, allocation call graph; of a Lisp three, by type.

import { Panel, useAnswer } from "../lib/answer";
import { scoped } from "../lib/catalogue";
import { Segment } from "../lib/controls";
import { bytes, count } from "../lib/format";
import { type Subject, menuOf } from "../lib/menu";
import { Unfiltered } from "../lib/notice";
import { Choice, oneOf } from "../lib/parts";
import { Caveats, ResultTable, type ResultRow, type TableReply, pathText } from "../lib/result";
import { copy, say } from "../lib/say";
import { embedded } from "../lib/source";
import { key, linkTo, set, trace } from "../lib/state";

const tabs = [["leaks", "Memory leaks"], ["bins", "Allocation bins"], ["direct", "Direct allocation"], ["graph", "Allocation call graph"]] as const;
/** A Lisp has types instead of sizes, and a collector instead of leaks. */
const lispTabs = [["bins", "Types"], ["direct", "Direct allocation"], ["graph", "Allocation call graph"]] as const;

/** What the four columns of shares are: sizes, or the categories of a Lisp. */
const classes = [["small", "s", "up to 32 bytes"], ["medium", "m", "up to 256 bytes"], ["large", "l", "up to 2048 bytes"], ["extra_large", "x", "more than 2048 bytes"]] as const;
const lispClasses = [["cons", "c", "cons cells"], ["float", "f", "floating point numbers"], ["structure", "s", "structures, instances, vectors, strings and arrays, and what is in them"], ["other", "o", "other objects"]] as const;

const isLisp = () => trace.value?.caps.lisp === true;

function text(value: unknown): string {
	return typeof value === "string" ? value : "";
}

function num(value: unknown): number | null {
	return typeof value === "number" ? value : null;
}

/** Blank below 1 %, as the manual has it; the title has the number. */
function percent(value: unknown) {
	const part = num(value);
	return <td class="number" title={part == null ? undefined : `${(part * 100).toFixed(2)} %`}>{part != null && part >= 0.01 ? Math.floor(part * 100) : ""}</td>;
}

function entries(rows: ResultRow[]): ResultRow[][] {
	const blocks = new Map<number, ResultRow[]>();
	for (const row of rows) {
		const block = num(row.block) ?? 0;
		const list = blocks.get(block);
		if (list) list.push(row);
		else blocks.set(block, [row]);
	}
	return [...blocks.values()];
}

const verbs = [["terse", "above 1 %"], ["normal", "above 0.5 %"], ["verbose", "all"]] as const;
const PAGE = 150; // lines, about

/** An entry with very many callers or callees: those next to it, which are the heaviest. */
function shortened(block: ResultRow[]): ResultRow[] {
	const main = Math.max(0, block.findIndex((row) => row.kind === "entry"));
	return block.length <= PAGE ? block : block.slice(Math.max(0, main - PAGE / 2), main + PAGE / 2);
}

/** Whole entries, some hundred lines a page. */
function pagesOf(blocks: ResultRow[][]): ResultRow[][][] {
	const pages: ResultRow[][][] = [[]];
	let lines = 0;
	for (const block of blocks) {
		if (lines > 0 && lines + block.length > PAGE) {
			pages.push([]);
			lines = 0;
		}
		pages.at(-1)?.push(block);
		lines += block.length;
	}
	return pages;
}

function Graph({ rows }: { rows: ResultRow[] }) {
	const columns = isLisp() ? lispClasses : classes;
	const pages = pagesOf(entries(rows));
	const page = Math.min(pages.length - 1, Math.max(0, Number(key("page")) || 0));
	const jump = (index: number) => {
		const at = pages.findIndex((blocks) => blocks.some((block) => block.some((row) => row.kind === "entry" && row.index === index)));
		set({ page: Math.max(0, at) || null });
		requestAnimationFrame(() => document.getElementById(`entry-${index}`)?.scrollIntoView({ block: "center" }));
	};
	return (
		<>
			<table class="mprof">
				<caption class="sr-only">Callers above, the function in bold, callees below</caption>
				<thead>
					<tr><th scope="col">Index</th><th scope="col">Self + desc %</th><th scope="col">Bytes</th><th scope="col">%</th>{columns.map(([, letter, words]) => <th scope="col" title={words}>{letter}</th>)}<th scope="col">Called</th><th scope="col">Name</th></tr>
				</thead>
				{(pages[page] ?? []).map((block) => (
					<tbody>
						{shortened(block).map((row) => {
							const main = row.kind === "entry";
							const index = num(row.index);
							return (
								<tr {...(text(row.kind).startsWith("all_") ? {} : menuOf(() => ({ title: text(row.name), fn: text(row.name), module: text(row.module) || null })))} class={main ? "main" : ""} id={main && index != null ? `entry-${index}` : undefined}>
									<td class="number">{main && index != null ? `[${index}]` : ""}</td>
									<td class="number">{main && num(row.total_share) != null ? ((num(row.total_share) ?? 0) * 100).toFixed(1) : ""}</td>
									<td class="number" title={bytes(num(row.bytes))}>{num(row.bytes) ?? ""}</td>
									{percent(row.share)}{columns.map(([name]) => percent(row[name]))}
									<td class="number">{num(row.called) == null ? "" : `${row.called}${!main && num(row.called_of) != null ? `/${row.called_of}` : ""}`}</td>
									<td class={main ? "" : "indent"}>{index != null && !main ? <button class="plain" onClick={() => jump(index)}>{text(row.name)} [{index}]</button> : <b>{text(row.kind).startsWith("all_") ? "all" : text(row.name)}</b>} {text(row.cycle)}</td>
								</tr>
							);
						})}
					</tbody>
				))}
			</table>
			{pages.length > 1 && (
				<p class="buttons">
					<button disabled={page === 0} onClick={() => set({ page: page - 1 || null })}>Previous</button>
					<span>page {count(page + 1)} of {count(pages.length)}</span>
					<button disabled={page + 1 >= pages.length} onClick={() => set({ page: page + 1 })}>Next</button>
				</p>
			)}
		</>
	);
}

/** All four as the command line prints them. */
async function copyText(): Promise<void> {
	const asked = new URLSearchParams(Object.entries({ ...scoped("/mprof.txt"), ...options() }).flatMap(([name, value]) => (value ? [[name, String(value)]] : [])));
	try {
		const reply = await fetch(`api/v1/mprof.txt?${asked}`, { credentials: "same-origin" });
		if (!reply.ok) throw new Error(`The server answered ${reply.status}.`);
		await copy(await reply.text(), "the report");
	} catch (error) {
		say(error instanceof Error ? error.message : String(error));
	}
}

function options() {
	return { verb: oneOf("verb", verbs, "normal") === "normal" ? null : key("verb"), depth: key("depth"), offsets: key("off"), log: key("log"), cycles: key("cycles") };
}

/** Columns that say nothing where nothing was freed. */
const freed = ["frees", "freed_bytes", "freed_share"];

/** The rows that are no size of their own: what is larger than all bins, and the sum. */
function binName(row: ResultRow): ResultRow {
	if (row.size == null) return { ...row, types: "<TOTAL>" };
	return row.size_end == null ? { ...row, types: "and larger" } : row;
}

export function Mprof() {
	const lisp = isLisp();
	const shown = lisp ? lispTabs : tabs;
	const tab = shown.find(([name]) => name === key("tab"))?.[0] ?? shown[0][0];
	const path = `/mprof/${tab}`;
	const answer = useAnswer<TableReply>(trace.value ? path : null, { ...scoped(path), ...options(), limit: 500 });
	const check = (name: string, label: string) => <label><input type="checkbox" checked={key(name) === "1"} onChange={(event) => set({ [name]: event.currentTarget.checked ? 1 : null })} /> {label}</label>;
	return (
		<div class="view">
			<div class="controls">
				<Segment label="Tables" value={tab} options={shown} onChange={(name) => set({ tab: name, page: null })} />
				{!embedded && <>
					<Choice label="Rows" value={key("verb") || "normal"} options={verbs} onChange={(value) => set({ verb: value === "normal" ? null : value })} />
					{tab === "leaks" && <label class="choice">Depth of paths<input type="number" min={1} max={64} value={key("depth")} placeholder="5" onChange={(event) => set({ depth: event.currentTarget.value })} /></label>}
					{tab === "leaks" && check("off", "Offsets in paths")}
					{tab === "bins" && !lisp && check("log", "Powers of two")}
					{tab === "graph" && check("cycles", "Keep cycles apart")}
					<button onClick={() => void copyText()}>Copy all as text</button>
				</>}
			</div>
			<Panel answer={answer} label={shown.find(([name]) => name === tab)?.[1] ?? tab}>
				{(data, reply) => (
					<>
						<Unfiltered path={path} />
						{tab === "leaks" && data.rows.length > 0 && <p class="quiet">mprof calls everything a leak that was never freed. What nothing points to any more is in the <a href={linkTo("flame", { metric: trace.value?.caps.lost ? "lost" : "kept" })}>flame graph</a>.</p>}
						<Caveats list={data.caveats} />
						{data.rows.length === 0 ? (
							<p class="empty">{tab === "leaks" ? "Nothing was kept." : "The table is empty: the program made no allocation."}</p>
						) : tab === "graph" ? (
							<Graph rows={data.rows} />
						) : (
							<ResultTable label={data.title} rows={tab === "bins" && !lisp ? data.rows.map(binName) : data.rows} schema={data.columns} hide={freed.filter((name) => data.rows.every((row) => row[name] === 0))} menu={subjectOf} />
						)}
						{reply.truncated && <p class="quiet">The first {count(data.rows.length)} rows.</p>}
						{tab === "graph" && <p class="quiet">{lisp ? "Categories: c conses, f floating point numbers, s structures and vectors, o other objects. What is not collected is not leaked." : "Sizes: s up to 32 bytes, m up to 256, l up to 2048, x above."} All of it as text: heapwise mprof FILE.</p>}
					</>
				)}
			</Panel>
		</div>
	);
}

/** A path means its innermost function, a size its bin. */
function subjectOf(row: ResultRow): Subject | null {
	const path = Array.isArray(row.path) ? row.path : null;
	const tip = path?.[0];
	if (tip) return { title: tip.function ?? "unknown", fn: tip.function, module: tip.module, file: tip.file, line: tip.line, stack: () => pathText(path) };
	if (typeof row.name === "string" && !row.name.startsWith("<")) return { title: row.name, fn: row.name, module: text(row.module) || null };
	if (typeof row.size === "number") return { title: `${row.size} bytes`, condition: typeof row.size_end === "number" ? `size >= ${row.size} and size <= ${row.size_end}` : `size >= ${row.size}` };
	return null;
}
