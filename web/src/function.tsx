// SPDX-License-Identifier: MIT
// A function in the drawer: how much led through it, who calls it, what it calls, and where it is.

import { useAnswer } from "./lib/answer";
import { scoped } from "./lib/catalogue";
import { Skeleton } from "./lib/controls";
import { allocsOf, bytesOf, sourced } from "./lib/source";
import { Excerpt } from "./lib/excerpt";
import { bytes, count, ns, share } from "./lib/format";
import { plainName } from "./lib/names";
import { Bar } from "./lib/parts";
import { select } from "./lib/select";
import { common, lineOf, linkTo, query, quote } from "./lib/state";
import type { FlameReply, Overview } from "./lib/types";

const CALLER = 32; // the flag of the server
const MOST = 6; // neighbours

interface Near {
	name: string;
	value: number;
}

/** What hangs at the function on one side of it. */
function near(reply: FlameReply, callers: boolean): Near[] {
	const { depth = [], flags = [], name = [], total = [] } = reply.columns;
	const rows = depth.flatMap((level, row) => (level === 2 && ((flags[row] ?? 0) & CALLER) !== 0 === callers && reply.strings[name[row] ?? 0] !== "(merged)" ? [{ name: reply.strings[name[row] ?? 0] ?? "", value: total[row] ?? 0 }] : []));
	return rows.sort((a, b) => b.value - a.value).slice(0, MOST);
}

function Neighbours({ title, rows, whole }: { title: string; rows: Near[]; whole: number }) {
	if (rows.length === 0) return null;
	return (
		<section class="top-list" aria-label={title}>
			<h3>{title}</h3>
			<ol>{rows.map((row) => <li><button title={row.name} onClick={() => select("f", row.name)}><span class="name">{plainName(row.name)}</span><span class="value">{bytes(row.value)}</span><Bar share={row.value / Math.max(1, whole)} /></button></li>)}</ol>
		</section>
	);
}

/** The mean life over its points, each as often as it allocates. */
function useLife(fn: string): { life: number | null; points: number } | null {
	const answer = useAnswer<{ total: number; rows: { chunks: number; avg_life: number | null }[] }>("/points", { ...common(), q: `${query() || "all"} | where stack == ${quote(fn)}`, limit: 100, cols: "chunks,avg_life", sort: "-chunks" }).reply?.data;
	if (!answer) return null;
	const known = answer.rows.filter((row) => row.avg_life != null);
	const chunks = known.reduce((sum, row) => sum + row.chunks, 0);
	return { points: answer.total, life: chunks ? known.reduce((sum, row) => sum + row.chunks * (row.avg_life ?? 0), 0) / chunks : null };
}

export function FunctionFacts({ fn }: { fn: string }) {
	const asked = { ...common(), dir: "pivot", pivot: fn, fold: 1, px: 400 };
	const allocated = useAnswer<FlameReply>("/flame", { ...asked, metric: "bytes" });
	const allocs = useAnswer<FlameReply>("/flame", { ...asked, metric: "allocs" }).reply?.data;
	const peak = useAnswer<FlameReply>("/flame", { ...asked, metric: "peak" }).reply?.data;
	const kept = useAnswer<FlameReply>("/flame", { ...asked, metric: "kept" }).reply?.data;
	const run = useAnswer<Overview>("/overview", { ...scoped("/overview"), top: 10 }).reply?.data;
	const life = useLife(fn);
	const reply = allocated.reply;
	if (allocated.error) return <p class="quiet">{allocated.error.message}</p>;
	if (!reply) return <Skeleton lines={8} />;
	const data = reply.data;
	const self = (data.columns.depth ?? []).findIndex((depth, row) => depth === 1 && ((data.columns.flags?.[row] ?? 0) & CALLER) === 0);
	const file = data.strings[data.columns.file?.[self] ?? 0] ?? "";
	const line = data.columns.line?.[self] ?? 0;
	const place = `${file.replace(/^.*\//, "")}:${line}`;
	const part = (value: number | undefined, all: number | undefined) => (value != null && all ? ` (${share(value / all)})` : "");
	return (
		<>
			{file && <p>{sourced ? <a href={linkTo(lineOf(file, line))}>{place}</a> : place}</p>}
			{file && line > 0 && <Excerpt file={file} line={line} />}
			<dl class="facts" data-t="function">
				<dt>At the peak</dt><dd>{bytes(peak?.total)}{part(peak?.total, run?.bytes.peak)}</dd>
				<dt>Kept</dt><dd>{bytes(kept?.total)}{part(kept?.total, run?.bytes.kept)}</dd>
				<dt>Allocated</dt><dd>{bytes(data.total)}{part(data.total, bytesOf(reply.matched))}</dd>
				<dt>Allocations</dt><dd>{count(allocs?.total)}{part(allocs?.total, allocsOf(reply.matched))}</dd>
				<dt>Mean size</dt><dd>{allocs?.total ? bytes(data.total / allocs.total) : "unknown"}</dd>
				<dt>Mean life</dt><dd>{life ? ns(life.life) : "…"}</dd>
				<dt>Call stacks</dt><dd>{life ? count(life.points) : "…"}</dd>
			</dl>
			<Neighbours title="Called by" rows={near(data, true)} whole={data.total} />
			<Neighbours title="Calls" rows={near(data, false)} whole={data.total} />
		</>
	);
}
