// SPDX-License-Identifier: MIT
// In ten seconds: what ran, how much it held and when, is that well, what to do first.

import { useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { scoped } from "../lib/catalogue";
import { MenuButton } from "../lib/controls";
import { Excerpt } from "../lib/excerpt";
import { bytes, codeAt, count, ns, share, words } from "../lib/format";
import { Icon } from "../lib/icons";
import { type Act, type Subject, menuOf } from "../lib/menu";
import { plainName } from "../lib/names";
import { NoteOf, noteActs, useNotes } from "../lib/notes";
import { Bar, Delta, Spark } from "../lib/parts";
import { copy, say } from "../lib/say";
import { select } from "../lib/select";
import { embedded, source, sourced } from "../lib/source";
import { addWhere, go, key, lineOf, linkTo, moduleIs, trace, whole } from "../lib/state";
import type { Finding, Frame, Overview as Data, Top } from "../lib/types";
import { Unfiltered } from "../lib/notice";
import { Strip } from "../strip";

/** Of `heapwise report`: what the overview has not. */
interface Report {
	end: { words: string } | null;
	leaks: { bytes: number | null; chunks: number | null; possible_bytes: number | null } | null;
	kept: { bytes: number };
	allocator_share: number | null;
}

// ---- what ran ----

function Head() {
	const run = trace.value;
	if (!run) return null;
	const date = run.written ? new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" }).format(run.written * 1000) : "";
	return (
		<header class="run">
			<h2>{run.program.replace(/^.*\//, "")}</h2>
			<code title={run.cmdline}>{run.cmdline}</code>
			<span class="when">
				{date && <span>{date}</span>}
				<span>ran {ns(run.duration_ns)}</span>
				{run.bytes ? <span>recording cost {run.recording_ns ? `about ${ns(run.recording_ns)}, ` : ""}{bytes(run.bytes)}</span> : null}
			</span>
		</header>
	);
}

/** Heapwise's own part of the resident memory, where one would take it for the program's. */
function ownOf(data: Data): number {
	const own = data.memory?.rows.find((row) => row.part === "recorder");
	return (own?.most_share ?? 0) >= 0.1 ? (own?.most_bytes ?? 0) : 0;
}

// ---- the sentence ----

interface Holder {
	name: string;
	file: string | null | undefined;
	line: number | null | undefined;
	fn: string | null | undefined;
	value: number;
	places: Set<string>;
}

/** The function that held most at the peak. */
function holder(data: Data): Holder | null {
	const sums = new Map<string, Holder>();
	for (const item of data.top.peak ?? []) {
		const name = codeAt(item);
		const known = sums.get(name);
		const place = `${item.file}:${item.line}`;
		if (known) {
			known.value += item.value;
			known.places.add(place);
		} else sums.set(name, { name, file: item.file, line: item.line, fn: item.fn, value: item.value, places: new Set([place]) });
	}
	return [...sums.values()].sort((a, b) => b.value - a.value)[0] ?? null;
}

function Sentence({ data, report }: { data: Data; report: Report | undefined }) {
	const most = holder(data);
	const [lost, maybe] = leaks(report);
	const others = (most?.places.size ?? 1) - 1;
	const where = most?.file ? ` (${most.file.replace(/^.*\//, "")}:${most.line}${others > 0 ? ` and ${others === 1 ? "another line" : `${others} other lines`}` : ""})` : "";
	return (
		<p class="sentence" data-t="sentence">
			Peak <a href={linkTo("flame", { metric: "peak" })}>{bytes(data.bytes.peak)}</a> at <a href={linkTo("time", { at: Math.round(data.bytes.peak_t) })}>{ns(data.bytes.peak_t)}</a>
			{most && data.bytes.peak > 0 && <>, {share(most.value / data.bytes.peak)} from <button class="plain" title={most.name} onClick={() => select("f", most.name)}>{plainName(most.name)}</button>{most.file && sourced ? <a href={linkTo(lineOf(most.file, most.line))}>{where}</a> : where}</>}
			; {lost > 0 ? <><a href={linkTo("flame", { metric: "lost" })}>{bytes(lost)}</a> lost</> : maybe > 0 ? <><a href={linkTo("flame", { metric: "kept" })}>{bytes(maybe)}</a> possibly lost</> : data.bytes.kept > 0 ? <><a href={linkTo("flame", { metric: "kept" })}>{bytes(data.bytes.kept)}</a> kept at the end</> : "nothing kept at the end"}.
		</p>
	);
}

// ---- tiles ----

type State = "good" | "minor" | "look" | "bad" | "none";
const marks: Record<State, [string, "check" | "eye" | "warning" | null]> = { good: ["good", "check"], minor: ["minor", null], look: ["worth a look", "eye"], bad: ["costly", "warning"], none: ["", null] };

interface TileProps {
	name: string;
	label: string;
	value: string;
	state: State;
	why: string;
	href: string;
	before?: number | undefined; // of the other trace
	unit?: string;
}

function Tile({ name, label, value, state, why, href, before, unit = "bytes" }: TileProps) {
	const [word, icon] = marks[state];
	return (
		<a class={`tile ${state}`} href={href}>
			<span class="tile-label">{label} {word && <span class={`badge ${state}`}>{icon && <Icon name={icon} size={12} />}{word}</span>}</span>
			<span class="tile-value" data-t={name}>{value}</span>
			{before != null && <span><Delta value={before} unit={unit} /></span>}
			<span class="quiet">{why}</span>
		</a>
	);
}

const levels: Record<string, State> = { costly: "bad", "worth a look": "look", minor: "minor" };

/** As a sentence begins. */
function begin(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The function that a finding is about, or where its code is. */
function nameIn({ fn, title }: Finding): string {
	return fn ? plainName(fn) : title.replace(/, called by .*/, "");
}

/** The costliest of some findings. */
function worst(findings: Finding[]): Finding | undefined {
	return [...findings].sort((a, b) => (b.saves.share ?? 0) - (a.saves.share ?? 0))[0];
}

function peakTile(data: Data): { state: State; why: string } {
	const found = worst(data.findings.filter((finding) => finding.saves.unit === "peak_bytes"));
	if (!found) return { state: "good", why: "no finding would lower it" };
	return { state: found.level === "minor" && (found.saves.share ?? 0) >= 0.1 ? "look" : (levels[found.level] ?? "minor"), why: `${nameIn(found)} could save ${share(found.saves.share)}` };
}

/** What grows until the end; without that, how much more there is at the end than in the middle of the run. */
function growthOf(data: Data): number {
	const found = growing(data);
	if (found) return found.evidence.bytes_hit;
	const line = data.heap?.max ?? [];
	return (line.at(-1) ?? 0) - (line[Math.floor(line.length / 2)] ?? 0);
}

function growing(data: Data): Finding | undefined {
	return worst(data.findings.filter((finding) => finding.kind === "growth" || finding.kind === "grows_in" || /grows until the end/.test(finding.seen)));
}

function growthTile(data: Data): { state: State; why: string } {
	const found = growing(data);
	if (found) return { state: levels[found.level] ?? "minor", why: `${nameIn(found)} grows until the end` };
	const grew = growthOf(data) > Math.max(data.bytes.peak / 4, 1 << 16);
	return grew ? { state: "look", why: "more at the end than half-way through" } : { state: "good", why: "no place grows until the end" };
}

/** Bytes that are lost, and those that only pointers to their inside lead to. */
function leaks(report: Report | undefined): [number, number] {
	const maybe = report?.leaks?.possible_bytes ?? 0;
	return [(report?.leaks?.bytes ?? 0) - maybe, maybe];
}

function leakTile(data: Data, report: Report | undefined): { state: State; why: string } {
	const [lost, maybe] = leaks(report);
	if (report?.leaks?.bytes == null) return { state: "none", why: report ? "lost memory was not looked for" : "" };
	if (lost + maybe > 0) {
		const found = worst(data.findings.filter((finding) => finding.kind === "leak"));
		return { state: levels[found?.level ?? ""] ?? "minor", why: `${count(report.leaks.chunks)} chunks that ${lost > 0 ? `nothing points to${maybe > 0 ? ` (${bytes(maybe)}: only to their inside)` : ""}` : "only pointers to their inside lead to"}${found ? `, most from ${nameIn(found)}` : ""}` };
	}
	return { state: "good", why: data.bytes.kept > 0 ? `${bytes(data.bytes.kept)} kept, still pointed to` : "everything was freed" };
}

function timeTile({ alloc_time: time }: Data): { state: State; why: string; value: string } {
	if (time.ns == null) return { state: "none", why: time.timed > 0 ? "too few calls to say" : "calls were not timed", value: time.timed > 0 ? "too few calls to say" : "unknown" };
	const part = time.pct == null ? null : time.pct / 100;
	return { state: part == null ? "none" : part >= 0.15 ? "bad" : part >= 0.05 ? "look" : "good", why: part == null ? `from ${count(time.timed)} timed calls` : `${share(part)} of CPU time`, value: `about ${ns(time.ns)}` };
}

function Tiles({ data, report, before }: { data: Data; report: Report | undefined; before: Data | undefined }) {
	const time = timeTile(data);
	return (
		<div class="tiles">
			<Tile name="peak" label="Peak" value={bytes(data.bytes.peak)} {...peakTile(data)} href={linkTo("flame", { metric: "peak" })} before={before && data.bytes.peak - before.bytes.peak} />
			<Tile name="growth" label="Growth" value={growthOf(data) > 0 ? `+${bytes(growthOf(data))}` : "none"} {...growthTile(data)} href={linkTo("time", { by: "point" })} before={before && Math.max(0, growthOf(data)) - Math.max(0, growthOf(before))} />
			<Tile name="leaked" label={leaks(report)[0] || !leaks(report)[1] ? "Leaked" : "Possibly lost"} value={report?.leaks?.bytes == null ? (report ? "unknown" : "…") : bytes(report.leaks.bytes)} {...leakTile(data, report)} href={linkTo("flame", { metric: leaks(report)[0] > 0 ? "lost" : "kept" })} />
			<Tile name="alloc-time" label="Allocator time" {...time} href={linkTo("flame", { metric: "alloc_time" })} />
		</div>
	);
}

// ---- findings ----

/** To the line of the program's own code. */
async function toSource(point: number): Promise<void> {
	try {
		const { data } = await source.get<{ frames: Frame[] }>(`/stack/${point}`, whole());
		const own = data.frames.find((frame) => !frame.library && frame.file) ?? data.frames.find((frame) => frame.file);
		if (own?.file) go(lineOf(own.file, own.line), { sel: `p:${point}` });
		else say("The trace names no source line of it: build with -g.");
	} catch (error) {
		say(error instanceof Error ? error.message : String(error));
	}
}

/** The lines of the points that the findings are about, in one question. */
function useSparks(findings: Finding[]): (finding: Finding) => string {
	const points = [...new Set(findings.flatMap(({ point, spark }) => (point == null || spark != null ? [] : [point])))].sort((a, b) => a - b);
	const some = { q: `all | where point in (${points.join(", ")})`, cols: "id,spark" };
	const answer = useAnswer<{ rows: { id: number; spark: string }[] }>(points.length ? "/points" : null, { ...whole(), ...(embedded ? {} : some), spark: 64, limit: embedded ? 2000 : 100 });
	const rows = answer.reply?.data.rows ?? [];
	return ({ point, spark }) => spark ?? rows.find((row) => row.id === point)?.spark ?? "";
}

/** What a finding is, in a word; then how much of it, and where. */
const verbs: Record<string, string> = {
	misuse: "Error", leak: "Leak", kept: "Never freed", growth: "Grows", grows_in: "Grows", twice: "In memory twice", growing: "Grows by copies", unused: "Never used", write_only: "Never read", read_only: "Never written", coverage: "Mostly unused", early: "Allocated early", late: "Freed late",
	churn: "Churn", zero_size: "Empty", peak: "Holds the peak", burst: "Burst", pinned: "Pins memory", left_behind: "Left behind", not_given_back: "Not given back", arenas: "Too many arenas",
};

/** Kinds about memory that stays resident: the parts of it show them. */
const stays = new Set(["pinned", "left_behind", "not_given_back", "arenas"]);

/** Which flame graph shows it. */
const metricOf: Record<string, string> = { leak: "kept", kept: "kept", growth: "kept", grows_in: "kept", twice: "peak", churn: "allocs", zero_size: "allocs", burst: "peak", peak: "peak" };

function headline(finding: Finding): string {
	const amount = finding.saves.unit === "cpu_ns" ? `${count(finding.evidence.n_hit)} times` : bytes(finding.evidence.bytes_hit);
	return `${verbs[finding.kind] ?? finding.kind}: ${amount} from ${nameIn(finding)}`;
}

/** Where it is, without the function that the headline has. */
function placeOf({ fn, title }: Finding): string {
	return fn && title.startsWith(`${fn} (`) ? title.slice(fn.length + 2).replace(")", "") : title;
}

function actsFor(finding: Finding, point: number, about: { q: string; g: null } | null): [string, Act[]][] {
	return [
		["Look at", [
			...(about && finding.points > 1 ? [{ label: `Its ${count(finding.points)} call stacks`, run: () => go("points", about) }] : []),
			...(stays.has(finding.kind) ? [{ label: "Flame graph", run: () => go("flame", { sel: `p:${point}`, metric: "resident" }) }] : []),
			...(finding.kind === "twice" ? [{ label: "What is twice", run: () => go("owners", { tab: "twice" }) }] : []),
			{ label: "Chunks", run: () => go("chunks", about ?? { point }) },
			...(about ? [{ label: "Timeline", run: () => go("time", about) }, { label: "Threads", run: () => go("threads", about) }] : []),
			...(embedded ? [] : [{ label: "Source", run: () => void toSource(point) }]),
			{ label: "Details", run: () => go(`point/${point}`) },
		]],
		["Copy", [
			{ label: "The finding", run: () => void copy(`${headline(finding)}\n${finding.title}\n${finding.text}`, "the finding") },
			...(finding.query ? [{ label: "Query", run: () => void copy(`all | where ${finding.query}`, "the query") }] : []),
		]],
	];
}

function Row({ finding, spark }: { finding: Finding; spark: string }) {
	const point = finding.point;
	// All that the finding is about, unless the page has no server that could be asked for it.
	const about = finding.query && !embedded ? { q: `all | where ${finding.query}`, g: null } : null;
	const [writing, setWriting] = useState(false);
	const acts = [...(point != null ? actsFor(finding, point, about) : []), ...noteActs(finding.id, () => setWriting(true))];
	const told = finding.saves.unit === "cpu_ns" && finding.cost.allocs === finding.evidence.n_hit; // in the headline
	const cost = [finding.saving && `saves ${finding.saving}`, finding.cost.allocs && !told ? `${count(finding.cost.allocs)} allocations` : "", finding.confidence];
	return (
		<li class={`row ${finding.level.replace(/ /g, "-")}`} data-t="finding" {...(point != null ? menuOf(() => ({ title: finding.title, point, ...(finding.query ? { condition: finding.query } : {}) })) : {})}>
			<div class="what">
				<h3>{point != null ? <button class="plain" title={finding.fn ?? finding.title} onClick={() => select("p", point)}>{headline(finding)}</button> : headline(finding)}</h3>
				<p class="quiet where" title={finding.title}>{placeOf(finding)}</p>
				<p>{words(finding.seen)}. {begin(finding.repair)}.</p>
				<p class="quiet"><span class={`level ${finding.level.replace(/ /g, "-")}`}>{finding.level}</span> {cost.filter((text) => text !== "").join(" · ")}</p>
				<NoteOf finding={finding.id} writing={writing} onDone={() => setWriting(false)} />
			</div>
			<div class="code">{finding.file && finding.line && <Excerpt file={finding.file} line={finding.line} />}</div>
			<Spark data={spark} width={120} height={36} />
			<span class="buttons">
				{stays.has(finding.kind) && <a class="button primary" href={linkTo("resident")}>Resident memory</a>}
				{point != null && !stays.has(finding.kind) && <a class="button primary" href={linkTo("flame", { sel: `p:${point}`, metric: metricOf[finding.kind] ?? "bytes" })}>Flame graph</a>}
				{acts.length > 0 && <MenuButton label="More" groups={acts} />}
			</span>
		</li>
	);
}

function Findings({ data }: { data: Data }) {
	const sparkOf = useSparks(data.findings);
	useNotes();
	return <ol class="rows">{data.findings.map((finding) => <Row key={finding.id} finding={finding} spark={sparkOf(finding)} />)}</ol>;
}

// ---- lists ----

const point = (item: Top) => item.point != null && select("p", item.point);
const lists: [string, string, (value: number) => string, (item: Top) => void][] = [
	["peak", "At the peak", bytes, point],
	["kept", "Kept", bytes, point],
	["allocs", "Allocations", count, point],
	["temporary", "Temporary", count, point],
	["types", "Types at the peak", bytes, (item) => select("ty", typeName(item) ?? "")],
	["modules", "Modules at the peak", bytes, (item) => !embedded && addWhere(moduleIs("module", item.label ?? ""))],
];

function typeName(item: Top): string | null {
	return item.label == null || item.label.startsWith("(unknown") ? null : item.label;
}

function subjectOf(list: string, item: Top): Subject {
	if (list === "types") return { title: nameOf(item), type: typeName(item) };
	if (list === "modules") return { title: nameOf(item), module: item.label ?? null };
	return { title: nameOf(item), point: item.point ?? null, fn: item.fn ?? null, file: item.file ?? null, line: item.line ?? null };
}

function nameOf(item: Top): string {
	return item.label ?? `${codeAt(item)}${item.file ? ` ${item.file.replace(/^.*\//, "")}:${item.line}` : ""}`;
}

/** Call stacks that end at the same line are one row: alike they would say nothing. */
function merged(items: Top[]): (Top & { stacks: number })[] {
	const rows = new Map<string, Top & { stacks: number }>();
	for (const item of items) {
		const known = rows.get(nameOf(item));
		if (known) {
			known.value += item.value;
			known.stacks++;
		} else rows.set(nameOf(item), { ...item, stacks: 1 });
	}
	return [...rows.values()].sort((a, b) => b.value - a.value);
}

function List({ name, title, items: all, show, pick }: { name: string; title: string; items: Top[]; show(value: number): string; pick(item: Top): void }) {
	const items = merged(all);
	const most = Math.max(1, ...items.map((item) => item.value));
	return (
		<section class="top-list" aria-label={title}>
			<h3>{title}</h3>
			{items.length === 0 ? (
				<p class="quiet">None.</p>
			) : (
				<ol>
					{items.slice(0, 6).map((item) => (
						<li {...menuOf(() => subjectOf(name, item))}>
							<button onClick={() => pick(item)} title={nameOf(item)}>
								<span class="name">{nameOf(item)}{item.stacks > 1 && <span class="quiet"> · {count(item.stacks)} stacks</span>}</span>
								<span class="value">{show(item.value)}</span>
								<Bar share={item.value / most} />
							</button>
						</li>
					))}
				</ol>
			)}
		</section>
	);
}

function Totals({ data, before }: { data: Data; before: Data | undefined }) {
	const all: [string, string, string, number | undefined, string][] = [
		["allocs", "Allocations", count(data.counts.allocs), before && data.counts.allocs - before.counts.allocs, "count"],
		["bytes", "Bytes", bytes(data.bytes.total), before && data.bytes.total - before.bytes.total, "bytes"],
		["kept", "Kept", bytes(data.bytes.kept), before && data.bytes.kept - before.bytes.kept, "bytes"],
		["temporary", "Temporary", count(data.counts.temporary), before && data.counts.temporary - before.counts.temporary, "count"],
	];
	return (
		<dl class="totals">
			{all.map(([name, label, value, change, unit]) => <div><dt>{label}</dt><dd data-t={name}>{value}</dd>{change != null && <dd class="change"><Delta value={change} unit={unit} /></dd>}</div>)}
			<div><dt>Points</dt><dd data-t="points"><a href={linkTo("points")}>{count(data.counts.points)}</a></dd></div>
		</dl>
	);
}

/** What helps where functions have no names: long, so only its first sentence is in sight. */
function Unnamed({ text }: { text: string }) {
	const [first, rest] = text.split(". Remedy: ");
	if (!rest) return <p class="quiet">{text}</p>;
	return <details class="fold" open={false}><summary>{first}. What to do</summary>{begin(rest)}</details>;
}

export function Overview() {
	const [top, setTop] = useState(10);
	const answer = useAnswer<Data>("/overview", { ...scoped("/overview"), top });
	// of a large trace it takes a second, in which the sentence is there already
	const report = useAnswer<Report>(answer.reply ? "/report" : null, { ...scoped("/report"), top: 1 }).reply?.data;
	const base = useAnswer<Data>(key("base") === "" ? null : "/overview", { ...scoped("/overview"), trace: key("base"), top: 10 }).reply?.data;
	const before = key("base") === "" ? undefined : base;
	return (
		<Panel answer={answer} label="Summary" empty={(data) => (data.counts.allocs === 0 ? "The program made no allocation." : null)}>
			{(data) => (
				<div class="overview">
					<Head />
					<Unfiltered path="/overview" />
					<Strip tall own={ownOf(data)} />
					<Sentence data={data} report={report} />
					{data.unnamed && <Unnamed text={begin(data.unnamed)} />}
					<Tiles data={data} report={report} before={before} />
					<h2>{data.findings.length > 0 ? "What to do first" : "Findings"}</h2>
					{data.findings.length === 0 ? (
						<p class="quiet">No repair would save 1 % of the peak, of the mean heap or of CPU time.</p>
					) : (
						<Findings data={data} />
					)}
					{data.findings_all > data.findings.length && <p class="quiet">The first {count(data.findings.length)} of {count(data.findings_all)}. {!embedded && top < 100 && <button class="plain" onClick={() => setTop(100)}>Show all</button>}</p>}
					<details class="fold" open={data.findings.length === 0}>
						<summary>Totals and the largest of each kind</summary>
						<Totals data={data} before={before} />
						<div class="tops">
							{lists.map(([name, title, show, pick]) => <List name={name} title={title} items={data.top[name] ?? []} show={show} pick={pick} />)}
						</div>
					</details>
				</div>
			)}
		</Panel>
	);
}
