// SPDX-License-Identifier: MIT
// What is selected, whole: its stack, its numbers, what is wrong with it, and the ways to other views.

import { useAnswer } from "./lib/answer";
import { bytes, count, ns, score } from "./lib/format";
import { selection } from "./lib/select";
import { addWhere, common, linkTo, quote, set } from "./lib/state";
import type { Frame } from "./lib/types";
import { Severity } from "./lib/parts";
import { copy } from "./shell";

export interface PointDetail {
	stack: Frame[];
	stats: {
		chunks: number;
		bytes: number;
		peak: number;
		leaked: number;
		temporary: number;
		size: { min: number; med: number; max: number; hist: { from: number; n: number }[] };
		avg_life: number | null;
		life: { hist: { from: number; n: number }[] };
		reads: number | null;
		writes: number | null;
	};
	type: string | null;
	scores: { sev: number | null; lifetime: number | null; usage: number | null; useful: number | null };
	inferences: { id: string; state: string; hit: number; all: number; bytes: number; confidence: string; words: string }[];
	free_sites: { stack: Frame[]; n: number }[];
	threads: { alloc: { thread: number; tid: number; n: number }[]; free: { thread: number; tid: number; n: number }[] };
	verdicts: { id: string; kind: string; text: string }[];
}

export function stackText(stack: Frame[]): string {
	return stack.map((frame) => `${frame.fn ?? frame.addr}${frame.file ? ` ${frame.file}:${frame.line}` : ` ${frame.module ?? ""}`}`).join("\n");
}

/** Whose fault it is: the innermost function that is not the C library's. */
export function placeOf(stack: Frame[]): string {
	const own = stack.find((frame) => !frame.library && !/\/lib(c|stdc\+\+|m|pthread)[.-][^/]*$/.test(frame.module ?? ""));
	return (own ?? stack[0])?.fn ?? "Allocation point";
}

export function Stack({ stack }: { stack: Frame[] }) {
	return (
		<ol class="stack">
			{stack.map((frame) => (
				<li class={frame.inline ? "inline" : ""}>
					<span class="fn">{frame.fn ?? frame.addr}</span>
					{frame.file ? (
						<a class="where" href={linkTo(`src/${encodeURIComponent(`${frame.file}:${frame.line}`)}`)}>{frame.file.replace(/^.*\//, "")}:{frame.line}</a>
					) : (
						<span class="where">{(frame.module ?? "").replace(/^.*\//, "")}</span>
					)}
				</li>
			))}
		</ol>
	);
}

export function PointFacts({ detail }: { detail: PointDetail }) {
	const { stats, scores } = detail;
	return (
		<dl class="facts">
			<dt>Severity</dt><dd><Severity step={scores.sev} /></dd>
			{detail.type && [<dt>Type</dt>, <dd>{detail.type}</dd>]}
			<dt>Chunks</dt><dd>{count(stats.chunks)}</dd>
			<dt>Bytes</dt><dd>{bytes(stats.bytes)}</dd>
			<dt>Own peak</dt><dd>{bytes(stats.peak)}</dd>
			<dt>Kept</dt><dd>{bytes(stats.leaked)}</dd>
			<dt>Temporary</dt><dd>{count(stats.temporary)}</dd>
			<dt>Sizes</dt><dd>{bytes(stats.size.min)} to {bytes(stats.size.max)}</dd>
			<dt>Mean life</dt><dd>{ns(stats.avg_life)}</dd>
			<dt>Lifetime</dt><dd>{score(scores.lifetime)}</dd>
			<dt>Usage</dt><dd>{score(scores.usage)}</dd>
			<dt>Useful life</dt><dd>{score(scores.useful)}</dd>
		</dl>
	);
}

export function Inferences({ detail }: { detail: PointDetail }) {
	const holds = detail.inferences.filter((item) => item.state === "holds");
	return (
		<>
			{detail.verdicts.map((verdict) => <p class="verdict">{verdict.text}</p>)}
			<ul class="inferences">
				{holds.map((item) => <li>{count(item.hit)} of {count(item.all)} chunks ({bytes(item.bytes)}) {item.words}. <span class="quiet">{item.confidence}</span></li>)}
			</ul>
		</>
	);
}

function PointDrawer({ id }: { id: string }) {
	const answer = useAnswer<PointDetail>(`/points/${id}`, common());
	const detail = answer.reply?.data;
	if (answer.error) return <p class="problem">{answer.error.message}</p>;
	if (!detail) return <p class="quiet">…</p>;
	return (
		<>
			<h2>{placeOf(detail.stack)}</h2>
			<PointFacts detail={detail} />
			<Inferences detail={detail} />
			<h3>Stack</h3>
			<Stack stack={detail.stack} />
			<p class="buttons">
				<a class="button" href={linkTo(`point/${id}`)}>All of it</a>
				<a class="button" href={linkTo("chunks", { point: id })}>Chunks</a>
				<button onClick={() => addWhere(`point == ${id}`)}>Only this</button>
				<button onClick={() => addWhere(`point != ${id}`)}>Exclude</button>
				<button onClick={() => void copy(stackText(detail.stack), "the stack")}>Copy stack</button>
			</p>
		</>
	);
}

const asked: Record<string, (id: string) => string> = {
	f: (id) => `fn == ${quote(id)}`,
	ty: (id) => `type == ${quote(id)}`,
	th: (id) => `thread == ${id}`,
};

function OtherDrawer({ kind, id }: { kind: string; id: string }) {
	const condition = asked[kind]?.(id);
	return (
		<>
			<h2>{id}</h2>
			{condition && (
				<p class="buttons">
					<button onClick={() => addWhere(condition)}>Only this</button>
					<button onClick={() => addWhere(`not ${condition}`)}>Exclude</button>
					{kind === "f" && <a class="button" href={linkTo("calls", { fn: id })}>Call graph</a>}
					<button onClick={() => void copy(id, "the name")}>Copy name</button>
				</p>
			)}
		</>
	);
}

export function Drawer() {
	const chosen = selection.value;
	if (!chosen) return null;
	return (
		<aside class="drawer" aria-label="Selection">
			<button class="close" aria-label="Close" onClick={() => set({ sel: null })}>✕</button>
			{chosen.kind === "p" ? <PointDrawer id={chosen.id} /> : <OtherDrawer kind={chosen.kind} id={chosen.id} />}
		</aside>
	);
}
