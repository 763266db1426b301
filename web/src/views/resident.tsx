// SPDX-License-Identifier: MIT
// The memory of the process, of which the heap is a part: how much over time, and what it consists of.

import type { ComponentChildren } from "preact";
import { Panel, useAnswer } from "../lib/answer";
import { scoped } from "../lib/catalogue";
import { category } from "../lib/colour";
import { bytes, ns, share, things } from "../lib/format";
import { Lane } from "../lib/lane";
import { Bar } from "../lib/parts";
import { Unfiltered } from "../lib/notice";
import { type ResultRow, ResultTable, type SchemaColumn, columnsOf } from "../lib/result";
import { select } from "../lib/select";
import { embedded } from "../lib/source";
import { cursor, whole } from "../lib/state";
import type { MemoryPart, Overview as Data } from "../lib/types";
import { Looks } from "./looks";

/** Parts by the words of people. Sums and what is not resident are no parts. */
const names: Record<string, string> = {
	requested: "Live heap", slack: "Rounding", pinned: "Pinned", cached: "Kept by the allocator", mappings: "Other mappings", files: "Mapped files", code: "Program and libraries", stacks: "Stacks", recorder: "Heapwise itself",
};

/** What the memory of the process consists of, of which the heap is a part. */
function Account({ rows, children }: { rows: MemoryPart[]; children: ComponentChildren }) {
	const parts = rows.filter((row) => row.part in names && (row.most_bytes ?? 0) > 0).sort((a, b) => (b.most_bytes ?? 0) - (a.most_bytes ?? 0));
	const whole = rows.find((row) => row.part === "resident")?.most_bytes;
	const live = parts.find((row) => row.part === "requested");
	const own = parts.find((row) => row.part === "recorder");
	const rest = parts.find((row) => row !== live && row !== own);
	const gap = parts.some((row) => row.gap_bytes != null);
	const most = Math.max(...parts.map((row) => row.most_share ?? 0));
	return (
		<section aria-label="Parts">
			<p class="sentence" data-t="sentence">
				The process held at most {bytes(whole)} of the machine's memory{live && <>: {share(live.most_share)} is the live heap</>}{own && <>, {bytes(own.most_bytes)} is Heapwise's own and not there without it</>}{rest && <>; the largest other part is {names[rest.part]?.toLowerCase()}, {bytes(rest.most_bytes)}</>}.
			</p>
			{children}
			<table class="bars parts" tabIndex={0}>
				<thead>
					<tr>
						<th scope="col">Part</th>
						<td />
						<th scope="col" class="number">Size</th>
						<th scope="col" class="number">Share</th>
						{gap && <th scope="col" class="number" title="While resident memory stayed furthest above live bytes">Far above live</th>}
						<th scope="col" class="number">At the end</th>
						<th scope="col">What it is</th>
					</tr>
				</thead>
				<tbody>
					{parts.map((row) => (
						<tr>
							<th scope="row">{names[row.part]}</th>
							<td><Bar share={(row.most_share ?? 0) / most} /></td>
							<td class="number">{bytes(row.most_bytes)}</td>
							<td class="number">{share(row.most_share)}</td>
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

interface Charged {
	time_ns: number;
	rss_bytes: number;
	advice: string;
	cut: { least_bytes: number; most_bytes: number; points: number; live_bytes: number };
	points: ResultRow[];
	classes: ResultRow[];
	schema: Record<string, SchemaColumn[]>;
}

const classes = { size: "Size class", blocks: "Blocks", live_bytes: "Live", held_bytes: "On pages of", used: "Used" };

const charged = { stack: "Allocated by", pinned_bytes: "Pinned", left_bytes: "Left behind", cached_bytes: "Cached", requested_bytes: "Live", slack_bytes: "Rounding", blocks: "Blocks" };

/** Who has it on the account: the line of code whose blocks hold the pages, or were the last there. */
function Bill() {
	const answer = useAnswer<Charged>(embedded ? null : "/resident", { ...whole(), ...(cursor.value == null ? {} : { at: Math.round(cursor.value) }) });
	const data = answer.reply?.data;
	if (!data?.points?.length) return null;
	const { cut } = data;
	return (
		<section aria-label="Charged to allocation points">
			<h2>Charged to allocation points</h2>
			<p data-t="bill">
				{ns(data.time_ns)} after the start, with {bytes(data.rss_bytes)} resident: {data.advice}.
				{cut.points > 0 && <> In a heap of {cut.points === 1 ? "its" : "their"} own, {things(cut.points, "point")} with {bytes(cut.live_bytes)} live would save {cut.least_bytes < cut.most_bytes && <>{bytes(cut.least_bytes)} to </>}{bytes(cut.most_bytes)}.</>}
			</p>
			<ResultTable label="Charged to allocation points" rows={data.points} schema={columnsOf(data.schema.points, charged)} height={420} onSelect={({ point }) => select("p", Number(point))} menu={({ point }) => ({ title: `point ${point}`, point: Number(point) })} />
			<h2>Size classes</h2>
			<ResultTable label="Size classes" rows={data.classes} schema={columnsOf(data.schema.classes, classes)} height={300} />
		</section>
	);
}

function Line({ data: { heap } }: { data: Data }) {
	if (!heap?.rss) return null;
	return <Lane axes label="Over the run" times={heap.t} from={0} to={heap.t.at(-1) ?? 1} unit="bytes" lines={[{ name: "resident memory", colour: category(3), values: heap.rss }, { name: "live heap", colour: category(0), dash: "4 3", values: heap.max }]} />;
}

export function Resident() {
	const answer = useAnswer<Data>("/overview", { ...scoped("/overview"), top: 10 });
	return (
		<Panel answer={answer} label="Resident memory" empty={(data) => (data.heap?.rss?.some((value) => value != null) || data.memory ? null : "Resident memory was not recorded.")}>
			{(data) => (
				<div class="view overview">
					<Unfiltered path="/overview" />
					{data.memory && data.memory.rows.length > 0 ? <><Account rows={data.memory.rows}><Line data={data} />{!embedded && <Looks />}</Account><Bill /></> : <><Line data={data} /><p class="quiet">The run was too short to look at its parts.</p></>}
				</div>
			)}
		</Panel>
	);
}
