// SPDX-License-Identifier: MIT
// What is selected, whole: its stack, its numbers, what is wrong with it, and the ways to other views.

import { useAnswer } from "./lib/answer";
import type { ComponentChildren } from "preact";
import { MenuButton, Skeleton } from "./lib/controls";
import { Icon } from "./lib/icons";
import { Excerpt } from "./lib/excerpt";
import { FunctionFacts } from "./function";
import { type Maybe, bytes, count, ns, score, share, things, words } from "./lib/format";
import { type Subject, actsOf, menuOf } from "./lib/menu";
import { ownerName, plainName } from "./lib/names";
import { select, selection } from "./lib/select";
import { embedded, sourced } from "./lib/source";
import { common, cursor, lineOf, linkTo, set, trace, whole } from "./lib/state";
import { type ThreadRow, threadName } from "./lib/thread";
import type { Frame, OwnerPath, Owners } from "./lib/types";
import { Severity } from "./lib/parts";

export interface PointDetail {
	stack: Frame[];
	stats: {
		chunks: number;
		bytes: number;
		peak: number;
		kept: number;
		temporary: number;
		size: { min: number; med: number; max: number; hist: { from: number; n: number }[] };
		avg_life: number | null;
		life: { hist: { from: number; n: number }[] };
		reads: number | null;
		writes: number | null;
	};
	type: string | null;
	scores: { sev: number | null; lifetime: number | null; usage: number | null; useful: number | null; groups?: number; worst_groups?: { t0: number; t1: number; chunks: number; score: number | null }[] };
	inferences: { id: string; state: string; hit: number; all: number; bytes: number; confidence: string; words: string }[];
	free_sites: { stack: Frame[]; n: number }[];
	threads: { alloc: { thread: number; tid: number; n: number }[]; free: { thread: number; tid: number; n: number }[] };
	findings: { id: string; kind: string; text: string }[];
}

export function stackText(stack: Frame[]): string {
	return stack.map((frame) => `${frame.fn ?? frame.addr}${frame.file ? ` ${frame.file}:${frame.line}` : ` ${frame.module ?? ""}`}`).join("\n");
}

/** Whose fault it is: the innermost function that is not the C library's. */
export function ownFrame(stack: Frame[]): Frame | undefined {
	return stack.find((frame) => !frame.library && !/\/lib(c|stdc\+\+|m|pthread)[.-][^/]*$/.test(frame.module ?? "")) ?? stack[0];
}

export function placeOf(stack: Frame[]): string {
	return ownFrame(stack)?.fn ?? "Allocation point";
}

export function Stack({ stack }: { stack: Frame[] }) {
	return (
		<ol class="stack">
			{stack.map((frame) => (
				<li class={frame.inline ? "inline" : ""} {...menuOf(() => ({ title: frame.fn ?? frame.addr, fn: frame.fn, module: frame.module, file: frame.file, line: frame.line, stack: () => stackText(stack) }))}>
					<button class="plain fn" title={frame.fn ?? ""} onClick={() => frame.fn && select("f", frame.fn)}>{frame.fn ? plainName(frame.fn) : frame.addr}</button>
					{frame.file && sourced ? (
						<a class="where" href={linkTo(lineOf(frame.file, frame.line))}>{frame.file.replace(/^.*\//, "")}:{frame.line}</a>
					) : (
						<span class="where">{(frame.file ? `${frame.file}:${frame.line}` : (frame.module ?? "")).replace(/^.*\//, "")}</span>
					)}
				</li>
			))}
		</ol>
	);
}

export function PointFacts({ detail }: { detail: PointDetail }) {
	const { stats, scores } = detail;
	const { min, max } = stats.size;
	const facts: [string, ComponentChildren][] = [
		["Type", detail.type],
		["Chunks", count(stats.chunks)],
		["Bytes", bytes(stats.bytes)],
		["Own peak", bytes(stats.peak)],
		["Kept", bytes(stats.kept)],
		["Temporary", stats.temporary ? count(stats.temporary) : null],
		["Size", min === max ? bytes(min) : `${bytes(min)} to ${bytes(max)}`],
		["Mean life", stats.avg_life != null && ns(stats.avg_life)],
		["Lifetime", scores.lifetime != null && score(scores.lifetime)],
		["Usage", scores.usage != null && score(scores.usage)],
		["Useful life", scores.useful != null && score(scores.useful)],
		["Severity", scores.sev != null && <Severity step={scores.sev} />],
	];
	return <dl class="facts">{facts.map(([name, value]) => value && [<dt>{name}</dt>, <dd>{value}</dd>])}</dl>;
}

export function Inferences({ detail }: { detail: PointDetail }) {
	const holds = detail.inferences.filter((item) => item.state === "holds");
	return (
		<>
			{detail.findings.map((finding) => <p class="finding">{words(finding.text)}</p>)}
			<ul class="inferences">
				{holds.map((item) => <li>{count(item.hit)} of {count(item.all)} chunks ({bytes(item.bytes)}) {words(item.words)}. <span class="quiet">{item.confidence}</span></li>)}
			</ul>
		</>
	);
}

/** The ways to other views as buttons; what else the menu has is a menu here, too. */
function Acts({ subject }: { subject: Subject }) {
	const groups = actsOf(subject);
	return (
		<div class="acts" role="group" aria-label="Go to">
			{groups.flatMap(([group, acts]) => (group === "Go to" ? acts : [])).map((act) => <button onClick={act.run}>{act.label}</button>)}
			<MenuButton label="Filter and copy" groups={groups.filter(([group]) => group !== "Go to")} />
		</div>
	);
}

function ThreadFacts({ thread }: { thread: number }) {
	const row = useAnswer<{ rows: ThreadRow[] }>("/threads", common()).reply?.data.rows.find((other) => other.thread === thread);
	if (!row) return <Skeleton />;
	const facts: [string, string][] = [["Begins in", row.begins_in ?? ""], ["Begins at", ns(row.start)], ["Allocations", count(row.allocs)], ["Bytes", bytes(row.bytes)], ["Own peak", bytes(row.peak)], ["Kept", bytes(row.kept)], ["In the allocator", row.alloc_time == null ? "" : ns(row.alloc_time)]];
	return (
		<>
			<h2>{threadName(row)}</h2>
			<dl class="facts">{facts.map(([name, value]) => value && [<dt>{name}</dt>, <dd>{value}</dd>])}</dl>
		</>
	);
}

function PointDrawer({ id }: { id: string }) {
	const answer = useAnswer<PointDetail>(`/points/${encodeURIComponent(id)}`, common());
	const detail = answer.reply?.data;
	if (answer.error) return <p class="problem">{answer.error.message}</p>;
	if (!detail) return <Skeleton />;
	const own = ownFrame(detail.stack);
	return (
		<>
			<h2>{placeOf(detail.stack)}</h2>
			{own?.file && own.line != null && <Excerpt file={own.file} line={own.line} />}
			<PointFacts detail={detail} />
			<Inferences detail={detail} />
			<h3>Stack</h3>
			<Stack stack={detail.stack} />
			<Acts subject={{ title: placeOf(detail.stack), point: Number(id), fn: own?.fn ?? null, module: own?.module ?? null, file: own?.file ?? null, line: own?.line ?? null, stack: () => stackText(detail.stack) }} />
		</>
	);
}

interface ChunkDetail {
	id: number;
	addr: string;
	size: number;
	call: string;
	type: string | null;
	point: number;
	alloc: number;
	free: Maybe;
	life: Maybe;
	end: string;
	leak_kind: string;
	access: { first: Maybe; last: Maybe; reads: Maybe; writes: Maybe; reads_low: number; writes_low: number; estimated: boolean; low: Maybe; high: Maybe } | null;
	alloc_thread: { tid: number; name: string } | null;
	free_thread: { tid: number; name: string } | null;
	alloc_stack: Frame[];
	free_stack: Frame[] | null;
	neighbours?: Record<string, number | null>;
	realloc?: { previous: number | null; next: number | null; chain?: { id: number; size: number }[]; cut?: boolean } | null;
}

const near: Record<string, string> = { below: "Below it in memory", above: "Above it in memory", before: "Allocated before it", after: "Allocated after it", previous: "Was, before realloc", next: "Became, by realloc" };

function ChunkDrawer({ id }: { id: string }) {
	const answer = useAnswer<ChunkDetail>(`/chunks/${encodeURIComponent(id)}`, whole());
	const chunk = answer.reply?.data;
	if (answer.error) return <p class="problem">{answer.error.message}</p>;
	if (!chunk) return <Skeleton />;
	const access = chunk.access;
	const own = ownFrame(chunk.alloc_stack);
	return (
		<>
			<h2>Chunk {chunk.id}: {bytes(chunk.size)}</h2>
			<dl class="facts">
				<dt>Address</dt><dd>{chunk.addr}</dd>
				{chunk.type && [<dt>Type</dt>, <dd>{chunk.type}</dd>]}
				<dt>Allocated</dt><dd>{ns(chunk.alloc)} by {chunk.call}, thread {chunk.alloc_thread?.name} {chunk.alloc_thread?.tid}</dd>
				<dt>Freed</dt><dd>{chunk.free == null ? `never: ${chunk.end}` : `${ns(chunk.free)}, after ${ns(chunk.life)}, thread ${chunk.free_thread?.name ?? ""} ${chunk.free_thread?.tid ?? ""}`}</dd>
				{access && [<dt>Reads, writes</dt>, <dd>{count(access.reads)}, {count(access.writes)}{access.estimated && ` (estimates; at least ${count(access.reads_low)}, ${count(access.writes_low)})`}</dd>]}
				{access?.low != null && access.high != null && [<dt>Used</dt>, <dd>bytes {access.low} to {access.high}, {share(chunk.size ? (access.high - access.low) / chunk.size : 0)}</dd>]}
				{access?.first != null && [<dt>Accessed</dt>, <dd>{ns(access.first)} to {ns(access.last)}</dd>]}
				{Object.entries({ previous: chunk.realloc?.previous, next: chunk.realloc?.next, ...chunk.neighbours }).map(([where, other]) => other != null && near[where] && [<dt>{near[where]}</dt>, <dd><button class="plain" onClick={() => select("c", other)}>chunk {other}</button></dd>])}
				{chunk.realloc?.chain && chunk.realloc.chain.length > 1 && [<dt>By realloc</dt>, <dd>{chunk.realloc.chain.map((part) => bytes(part.size)).join(" → ")}{chunk.realloc.cut ? " …" : ""}</dd>]}
				<dt>Point</dt><dd><a href={linkTo(`point/${chunk.point}`, { sel: `p:${chunk.point}` })}>{placeOf(chunk.alloc_stack)}</a></dd>
			</dl>
			<h3>Allocated by</h3>
			<Stack stack={chunk.alloc_stack} />
			{chunk.free_stack && chunk.free_stack.length > 0 && [<h3>Freed by</h3>, <Stack stack={chunk.free_stack} />]}
			{trace.value?.caps.owners && !embedded && <ChunkPath chunk={chunk} />}
			<Acts subject={{ title: `chunk ${chunk.id}`, chunk: chunk.id, fn: own?.fn ?? null, file: own?.file ?? null, line: own?.line ?? null, stack: () => stackText(chunk.alloc_stack) }} />
		</>
	);
}

/** The path to a chunk that was live at the scan; there is none to others. */
function ChunkPath({ chunk }: { chunk: ChunkDetail }) {
	const time = useAnswer<Owners>("/owners", whole()).reply?.data.time_ns;
	if (time == null || chunk.alloc > time || (chunk.free != null && chunk.free < time)) return null;
	return <Path ask={{ chunk: chunk.id }} />;
}

/** The pointers that lead to a chunk, from a root on; of a list, the first and how many there are. */
function Path({ ask }: { ask: { chunk: number } | { shape: string } }) {
	const path = useAnswer<OwnerPath>("/owners/path", { ...whole(), ...ask }).reply?.data;
	if (!path) return null;
	return (
		<>
			<h3>Path from a root</h3>
			<ol class="stack">
				{path.steps.map((step) => (
					<li>
						{step.count > 1 && `${count(step.count)} × `}
						{step.chunk == null ? <b>{step.owner}</b> : <button class="plain fn" style={{ verticalAlign: "top" }} title={`chunk ${step.chunk}`} onClick={() => select("c", step.chunk ?? 0)}>{ownerName({ owner: step.owner })}</button>} {step.member && <code>{step.member}</code>}{" "}
						<span class="where">{bytes(step.retained_bytes)}</span>
					</li>
				))}
			</ol>
		</>
	);
}

function OwnerDrawer({ id }: { id: string }) {
	const answer = useAnswer<Owners>("/owners", whole());
	const tree = answer.reply?.data.tree ?? [];
	const owner = tree.find((row) => row.id === Number(id));
	const holder = tree.find((row) => row.id === owner?.parent);
	if (answer.error) return <p class="problem">{answer.error.message}</p>;
	if (!owner) return answer.reply ? <p class="quiet">This trace has no owner {id}.</p> : <Skeleton />;
	const { what } = owner;
	const isChunk = what === "type" || what === "place";
	return (
		<>
			<h2>{ownerName(owner)}</h2>
			<dl class="facts">
				{holder && [<dt>Held by</dt>, <dd><button class="plain" onClick={() => select("ow", holder.id)}>{ownerName(holder)}</button></dd>]}
				<dt>Retained</dt><dd>{bytes(owner.retained_bytes)}, {share(owner.share)}</dd>
				{isChunk && [<dt>Own</dt>, <dd>{bytes(owner.bytes)}</dd>, <dt>Chunks</dt>, <dd>{count(owner.count)}</dd>]}
			</dl>
			{what === "several" && <p>Several roots lead to these chunks, so no single root keeps them alive.</p>}
			{what === "lost" && <p>No pointer from a root leads to these chunks.</p>}
			{isChunk && !embedded && <Path ask={{ shape: id }} />}
			{isChunk && owner.count > 1 && !embedded && <p class="quiet">The path leads to the one that retains most.</p>}
			{what === "type" && <p class="buttons"><a class="button" href={linkTo("types", { sel: `ty:${owner.owner}` })}>Members and totals</a></p>}
			{what === "type" && <Acts subject={{ title: owner.owner, type: owner.owner }} />}
			{what === "place" && owner.point != null && <Acts subject={{ title: owner.owner, point: owner.point }} />}
		</>
	);
}

interface PageShare {
	point: number;
	fn: string | null;
	file: string | null;
	line: number | null;
	bytes: number;
	blocks: number;
	chunk: number;
}

interface PageDetail {
	addr: string;
	at: number;
	resident: boolean;
	live: number;
	slack: number;
	left: number;
	pinned: number;
	cached: number;
	thread_caches: number;
	holders: PageShare[];
	last: PageShare[];
}

function Shares({ list }: { list: PageShare[] }) {
	return (
		<ol class="stack">
			{list.map((row) => (
				<li>
					<button class="plain fn" title={row.fn ?? ""} onClick={() => select("p", row.point)}>{row.fn ? plainName(row.fn) : `point ${row.point}`}</button>
					<span class="where">{bytes(row.bytes)} in {row.blocks > 1 && `${things(row.blocks, "chunk")}, such as `}<button class="plain" onClick={() => select("c", row.chunk)}>chunk {row.chunk}</button></span>
				</li>
			))}
		</ol>
	);
}

/** A page of resident memory: who holds it, and who had it before. */
function PageDrawer({ id }: { id: string }) {
	const at = cursor.value;
	const answer = useAnswer<PageDetail>(embedded ? null : "/memmap/page", { ...whole(), addr: id, ...(at == null ? {} : { at: Math.round(at) }) });
	const page = answer.reply?.data;
	if (answer.error) return <p class="problem">{answer.error.message}</p>;
	if (!page) return <Skeleton />;
	const facts: [string, number][] = [["Live", page.live], ["Rounding", page.slack], ["Left behind", page.left], ["Never used", page.pinned], ["Cached", page.cached], ["Thread caches", page.thread_caches]];
	return (
		<>
			<h2>Page {page.addr}</h2>
			{page.resident ? <dl class="facts">{facts.map(([name, value]) => value > 0 && [<dt>{name}</dt>, <dd>{bytes(value)}</dd>])}<dt>At</dt><dd>{ns(page.at)}</dd></dl> : <p class="quiet">At {ns(page.at)} it is not resident, or not the allocator's.</p>}
			{page.holders.length > 0 && [<h3>Pinned by</h3>, <Shares list={page.holders} />]}
			{page.last.length > 0 && [<h3>{page.holders.length > 0 ? "Left behind by" : "Last used by"}</h3>, <Shares list={page.last} />]}
		</>
	);
}

function subjectOf(kind: string, id: string): Subject {
	if (kind === "ty") return { title: id || "no type known", type: id || null };
	if (kind === "th") return { title: `thread ${id}`, thread: Number(id) };
	return { title: id, fn: id };
}

function OtherDrawer({ kind, id }: { kind: string; id: string }) {
	const subject = subjectOf(kind, id);
	return (
		<>
			{kind !== "th" && <h2>{subject.title}</h2>}
			{kind === "ty" && id !== "" && !embedded && <p class="buttons"><a class="button" href={linkTo("types", { sel: `ty:${id}` })}>Members and totals</a></p>}
			{kind === "f" && !embedded && <FunctionFacts fn={id} />}
			{kind === "th" && <ThreadFacts thread={Number(id)} />}
			{kind === "o" ? <p class="quiet">Object {id} of the frequency and lifetime view.</p> : <Acts subject={subject} />}
		</>
	);
}

export function Drawer() {
	const chosen = selection.value;
	if (!chosen) return null;
	return (
		<aside class="drawer" aria-label="Selection">
			<button class="close ghost" aria-label="Close" title="Esc" onClick={() => set({ sel: null })}><Icon name="x" /></button>
			{chosen.kind === "p" ? <PointDrawer id={chosen.id} /> : chosen.kind === "c" ? <ChunkDrawer id={chosen.id} /> : chosen.kind === "ow" ? <OwnerDrawer id={chosen.id} /> : chosen.kind === "pg" ? <PageDrawer id={chosen.id} /> : <OtherDrawer kind={chosen.kind} id={chosen.id} />}
		</aside>
	);
}
