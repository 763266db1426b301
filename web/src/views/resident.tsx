// SPDX-License-Identifier: MIT
// The memory of the process, of which the heap is a part: how much over time, and what it consists of.

import { Panel, useAnswer } from "../lib/answer";
import { scoped } from "../lib/catalogue";
import { category } from "../lib/colour";
import { bytes, ns, share, things } from "../lib/format";
import { Lane } from "../lib/lane";
import { plainName } from "../lib/names";
import { Bar } from "../lib/parts";
import { Unfiltered } from "../lib/notice";
import { type ResultRow, ResultTable, type SchemaColumn, columnsOf } from "../lib/result";
import { select } from "../lib/select";
import { whole } from "../lib/state";
import type { MemoryPart, Overview as Data } from "../lib/types";
import { type Choice, Looks, useLooks } from "./looks";
import { AccountMap } from "./memory";

/** Parts by the words of people. Sums and what is not resident are no parts. */
const names: Record<string, string> = {
	requested: "Live", slack: "Rounding", pinned: "Pinned", cached: "Cached", thread_caches: "Thread caches", mappings: "Other mappings", files: "Mapped files", code: "Program and libraries", stacks: "Stacks", recorder: "Heapwise itself",
};

interface Charged {
	time_ns: number;
	rss_bytes: number;
	advice: string;
	cut: { least_bytes: number; most_bytes: number; points: number; live_bytes: number };
	parts: { part: string; bytes: number; share: number; meaning: string }[];
	thread_caches: ResultRow[];
	caches: { read_threads: number; unread_threads: number };
	points: ResultRow[];
	by_size: ResultRow[];
	schema: Record<string, SchemaColumn[]>;
}

const by_size = { size: "Size class", blocks: "Blocks", live_bytes: "Live", held_bytes: "On pages of", used: "Used" };

const cached = { tid: "Thread", name: "Name", blocks: "Free blocks", bytes: "Bytes" };

const charged = { stack: "Allocated by", pinned_bytes: "Pinned", left_bytes: "Left behind", cached_bytes: "Cached", thread_caches_bytes: "Thread caches", requested_bytes: "Live", slack_bytes: "Rounding", blocks: "Blocks" };

/** What the process held at most, of which the heap is a part. */
function Sentence({ rows }: { rows: MemoryPart[] }) {
	const parts = rows.filter((row) => row.part in names && (row.most_bytes ?? 0) > 0).sort((a, b) => (b.most_bytes ?? 0) - (a.most_bytes ?? 0));
	const whole = rows.find((row) => row.part === "resident")?.most_bytes;
	const live = parts.find((row) => row.part === "requested");
	const own = parts.find((row) => row.part === "recorder");
	const rest = parts.find((row) => row !== live && row !== own);
	return (
		<p class="sentence" data-t="sentence">
			The process held at most {bytes(whole)} of the machine's memory{live && <>: {share(live.most_share)} is the live heap</>}{own && <>, {bytes(own.most_bytes)} is Heapwise's own and not there without it</>}{rest && <>; the largest other part is {names[rest.part]?.toLowerCase()}, {bytes(rest.most_bytes)}</>}.
		</p>
	);
}

/** Who keeps most free memory resident, as a way into the bill. */
function Pins({ data }: { data: Charged }) {
	const held = (row: ResultRow) => Number(row.pinned_bytes ?? 0);
	const most = data.points.reduce<ResultRow | null>((best, row) => (held(row) > held(best ?? {}) ? row : best), null);
	if (!most || held(most) < data.rss_bytes / 100) return null;
	const frames = Array.isArray(most.stack) ? most.stack : [];
	return (
		<p data-t="pins">
			At {ns(data.time_ns)} the live blocks of <button class="plain" onClick={() => select("p", Number(most.point))}>{plainName(frames[0]?.function ?? "point " + most.point)}</button> pin most: {bytes(held(most))} of free memory that cannot go back.
		</p>
	);
}

/** The parts at a look, beside the peak, the widest gap and the end. */
function Account({ rows, look, time }: { rows: MemoryPart[]; look: Charged["parts"] | null; time: number | undefined }) {
	const now = new Map(look?.map((part) => [part.part, part]));
	const bytesOf = (row: MemoryPart) => (look ? now.get(row.part)?.bytes : row.most_bytes) ?? 0;
	const parts = rows.filter((row) => row.part in names && [bytesOf(row), row.most_bytes, row.gap_bytes, row.end_bytes].some((value) => (value ?? 0) > 0)).sort((a, b) => bytesOf(b) - bytesOf(a) || (b.most_bytes ?? 0) - (a.most_bytes ?? 0));
	const gap = parts.some((row) => row.gap_bytes != null);
	const most = Math.max(1, ...parts.map(bytesOf));
	return (
		<section aria-label="Parts">
			<h2>Parts{time !== undefined && ` at ${ns(time)}`}</h2>
			<table class="bars parts" tabIndex={0}>
				<thead>
					<tr>
						<th scope="col">Part</th>
						<td />
						<th scope="col" class="number">Size</th>
						<th scope="col" class="number">Share</th>
						<th scope="col" class="number" title="At the look with most resident memory">At the peak</th>
						{gap && <th scope="col" class="number" title="While resident memory stayed furthest above live bytes">Far above live</th>}
						<th scope="col" class="number">At the end</th>
						<th scope="col">What it is</th>
					</tr>
				</thead>
				<tbody>
					{parts.map((row) => (
						<tr>
							<th scope="row">{names[row.part]}</th>
							<td><Bar share={bytesOf(row) / most} /></td>
							<td class="number">{bytes(bytesOf(row))}</td>
							<td class="number">{share(look ? (now.get(row.part)?.share ?? 0) : row.most_share)}</td>
							<td class="number">{bytes(row.most_bytes)}</td>
							{gap && <td class="number">{bytes(row.gap_bytes)}</td>}
							<td class="number">{bytes(row.end_bytes)}</td>
							<td class="quiet">{row.meaning}</td>
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

/** Who has it on the account: the line of code whose blocks hold the pages, or were the last there. */
function Bill({ data }: { data: Charged }) {
	const { cut } = data;
	if (data.points.length === 0) return null;
	return (
		<section aria-label="Charged to allocation points">
			<h2>Charged to allocation points at {ns(data.time_ns)}</h2>
			<p data-t="bill">
				{ns(data.time_ns)} after the start, with {bytes(data.rss_bytes)} resident: {data.advice}.
				{cut.points > 0 && <> In a heap of {cut.points === 1 ? "its" : "their"} own, {things(cut.points, "point")} with {bytes(cut.live_bytes)} live would save {cut.least_bytes < cut.most_bytes && <>{bytes(cut.least_bytes)} to </>}{bytes(cut.most_bytes)}.</>}
			</p>
			<ResultTable label="Charged to allocation points" rows={data.points} schema={columnsOf(data.schema.points, charged)} height={tall(data.points, 420)} onSelect={({ point }) => select("p", Number(point))} menu={({ point }) => ({ title: `point ${point}`, point: Number(point) })} />
		</section>
	);
}

/** As high as its rows, up to a limit. */
const tall = (rows: readonly unknown[], most: number) => Math.min(most, 28 * rows.length + 40);

/** What the C library keeps free for each thread. */
function ThreadCaches({ data }: { data: Charged }) {
	if (data.thread_caches.length === 0) return null;
	return (
		<section aria-label="Thread caches">
			<h2>Thread caches at {ns(data.time_ns)}</h2>
			<ResultTable label="Thread caches" rows={data.thread_caches} schema={columnsOf(data.schema.thread_caches, cached)} height={tall(data.thread_caches, 300)} />
		</section>
	);
}

function Sizes({ data }: { data: Charged }) {
	if (data.by_size.length === 0) return null;
	return (
		<section aria-label="Size classes">
			<h2>Size classes at {ns(data.time_ns)}</h2>
			<ResultTable label="Size classes" rows={data.by_size} schema={columnsOf(data.schema.by_size, by_size)} height={tall(data.by_size, 300)} />
		</section>
	);
}

/** What was resident where nobody looked at the parts. */
function Line({ heap }: { heap: Data["heap"] }) {
	if (!heap?.rss) return null;
	return <Lane axes label="Over the run" times={heap.t} from={0} to={heap.t.at(-1) ?? 1} unit="bytes" lines={[{ name: "resident memory", colour: category(3), values: heap.rss }, { name: "live heap", colour: category(0), dash: "4 3", values: heap.max }]} />;
}

/** The chart, and all that is of the look that is chosen there. */
function AtLook({ data, rows, choice }: { data: Data; rows: MemoryPart[]; choice: Choice }) {
	const answer = useAnswer<Charged>("/resident", { ...whole(), ...(choice.time === undefined ? {} : { at: choice.time }) });
	const bill = answer.reply?.data;
	return (
		<>
			<Sentence rows={rows} />
			{bill && <Pins data={bill} />}
			{choice.rows.length < 2 ? <Line heap={data.heap} /> : <Looks choice={choice} series={{ t: data.heap?.t ?? [], rss: data.heap?.rss ?? null, live: data.heap?.max ?? [] }} />}
			{answer.error && <p class="problem">{answer.error.message}</p>}
			<Account rows={rows} look={bill?.parts ?? null} time={bill?.time_ns} />
			{bill && <Bill data={bill} />}
			<AccountMap at={choice.time} />
			{bill && <ThreadCaches data={bill} />}
			{bill && <Sizes data={bill} />}
		</>
	);
}

export function Resident() {
	const answer = useAnswer<Data>("/overview", { ...scoped("/overview"), top: 10 });
	const choice = useLooks();
	return (
		<Panel answer={answer} label="Resident memory" empty={(data) => (data.heap?.rss?.some((value) => value != null) || data.memory ? null : "Resident memory was not recorded.")}>
			{(data) => (
				<div class="view overview">
					<Unfiltered path="/overview" />
					{data.memory && data.memory.rows.length > 0 ? <AtLook data={data} rows={data.memory.rows} choice={choice} /> : <><Line heap={data.heap} /><p class="quiet">The run was too short to look at its parts.</p></>}
				</div>
			)}
		</Panel>
	);
}
