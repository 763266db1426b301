// SPDX-License-Identifier: MIT
// In ten seconds: is the heap healthy, what are the worst things, where to click.

import { Panel, useAnswer } from "../lib/answer";
import { severity } from "../lib/colour";
import { bytes, codeAt, count, ns, score, share, words } from "../lib/format";
import { scoped } from "../lib/catalogue";
import { Lane } from "../lib/lane";
import { type Subject, menuOf } from "../lib/menu";
import { Bar, Delta, Spark } from "../lib/parts";
import { Caveats } from "../lib/result";
import { say } from "../lib/say";
import { select } from "../lib/select";
import { embedded, source } from "../lib/source";
import { addWhere, go, key, lineOf, linkTo, moduleIs, whole } from "../lib/state";
import type { Frame, MemoryPart, Overview as Data, ScoreSummary, Top, Finding } from "../lib/types";
import { Unfiltered } from "../lib/notice";

function sentence(data: Data): string {
	const parts = [`Peak ${bytes(data.bytes.peak)} at ${ns(data.bytes.peak_t)}`];
	const top = data.top.peak ?? [];
	let sum = 0;
	let paths = 0;
	for (const item of top) {
		if (sum >= data.bytes.peak / 2) break;
		sum += item.value;
		paths++;
	}
	if (paths > 0 && data.bytes.peak > 0) parts.push(`${share(sum / data.bytes.peak)} of it from ${paths === 1 ? "one call stack" : `${paths} call stacks`}`);
	parts.push(data.bytes.kept > 0 ? `${bytes(data.bytes.kept)} kept at the end` : "nothing kept at the end");
	return `${parts.join("; ")}.`;
}

function Dial({ name, label, value }: { name: string; label: string; value: ScoreSummary }) {
	return (
		<a class="dial" href={linkTo("points", { sort: name })} title={`Points sorted by ${label}, worst first`}>
			<span class="dial-value">{score(value.g)}</span>
			<span class="dial-label">{label}</span>
			{value.g == null ? (
				<span class="quiet">accesses were not recorded</span>
			) : (
				<span class="quiet">by allocations {score(value.w_allocs)} · by bytes {score(value.w_bytes)} · variance {score(value.var)}</span>
			)}
		</a>
	);
}

function Histogram({ steps }: { steps: number[] }) {
	const most = Math.max(1, ...steps);
	return (
		<figure class="sev-figure">
			<figcaption id="sev-hist">Points by severity <span class="quiet">1 best, 12 worst</span></figcaption>
			<div class="sev-hist" role="group" aria-labelledby="sev-hist">
				{steps.map((n, index) => (
					<button key={index} title={`severity ${index + 1}: ${count(n)} points`} aria-label={`severity ${index + 1}: ${count(n)} points`} disabled={n === 0} onClick={() => !embedded && addWhere(`sev == ${index + 1}`)}>
						<span class="column" style={{ height: `${(n / most) * 44}px`, background: severity(index + 1) }} />
						<span>{index + 1}</span>
					</button>
				))}
			</div>
		</figure>
	);
}

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

function Findings({ data }: { data: Data }) {
	const sparkOf = useSparks(data.findings);
	return <ul class="cards">{data.findings.map((finding) => <Card finding={finding} spark={sparkOf(finding)} />)}</ul>;
}

/** What the memory of the process consists of, of which the heap is a part. */
function Account({ rows }: { rows: MemoryPart[] }) {
	const parts = rows.filter((row) => (row.most_bytes ?? 0) > 0);
	const gap = parts.some((row) => row.gap_bytes != null);
	return (
		<section class="account" aria-label="Resident memory">
			<h3>Resident memory when there was most of it</h3>
			<table class="bars">
				<tbody>
					{parts.map((row) => (
						<tr title={`${row.meaning}; at the end ${bytes(row.end_bytes)}`}>
							<th scope="row">{row.part}</th>
							<td><Bar share={row.most_share ?? 0} /></td>
							<td class="number">{bytes(row.most_bytes)}, {share(row.most_share)}</td>
							{gap && <td class="number" title="while it stayed furthest above live bytes">far above live: {bytes(row.gap_bytes)}</td>}
							<td class="quiet">{row.meaning}</td>
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

function Card({ finding, spark }: { finding: Finding; spark: string }) {
	const point = finding.point;
	// All that the finding is about, unless the page has no server that could be asked for it.
	const about = finding.query && !embedded ? { q: `all | where ${finding.query}`, g: null } : null;
	const cost = [
		finding.saving && `saves ${finding.saving}`,
		finding.cost.allocs ? `${count(finding.cost.allocs)} allocations` : "",
		finding.confidence,
	];
	return (
		<li class="card" data-t="finding" {...(point != null ? menuOf(() => ({ title: finding.title, point, ...(finding.query ? { condition: finding.query } : {}) })) : {})}>
			<Spark data={spark} height={24} />
			<h3><span class={`level ${finding.level.replace(/ /g, "-")}`}>{finding.level}</span> <span class={`kind ${finding.kind}`}>{finding.kind.replace(/_/g, " ")}</span> {finding.title}</h3>
			<p>{words(finding.seen)}.</p>
			<p class="fix">{finding.repair.charAt(0).toUpperCase() + finding.repair.slice(1)}.</p>
			<p class="quiet">{cost.filter((words) => words !== "").join(" · ")}</p>
			{point != null && (
				<p class="buttons">
					{about && finding.points > 1 ? <a class="button" href={linkTo("points", about)}>Why? {count(finding.points)} stacks</a> : <button onClick={() => select("p", point)}>Why?</button>}
					<a class="button" href={linkTo("flame", { sel: `p:${point}` })}>Flame graph</a>
					<a class="button" href={linkTo("chunks", about ?? { point })}>Chunks</a>
					{!embedded && <button onClick={() => void toSource(point)}>Source</button>}
					<a class="button" href={linkTo(`point/${point}`)}>Details</a>
				</p>
			)}
		</li>
	);
}

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

function List({ name, title, items, show, pick }: { name: string; title: string; items: Top[]; show(value: number): string; pick(item: Top): void }) {
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
								<span class="name">{nameOf(item)}</span>
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

export function Overview() {
	const answer = useAnswer<Data>("/overview", { ...scoped("/overview"), top: 10 });
	const base = useAnswer<Data>(key("base") === "" ? null : "/overview", { ...scoped("/overview"), trace: key("base"), top: 10 }).reply?.data;
	const before = key("base") === "" ? undefined : base;
	return (
		<Panel answer={answer} label="Overview" empty={(data) => (data.counts.allocs === 0 ? "The program made no allocation." : null)}>
			{(data) => (
				<div class="overview">
					<Unfiltered path="/overview" />
					<p class="sentence" data-t="sentence">{sentence(data)}</p>
					<Caveats list={data.unnamed ? [data.unnamed] : []} />
					<dl class="totals">
						<div><dt>Allocations</dt><dd data-t="allocs">{count(data.counts.allocs)}</dd>{before && <dd class="change"><Delta value={data.counts.allocs - before.counts.allocs} unit="count" /></dd>}</div>
						<div><dt>Bytes</dt><dd data-t="bytes">{bytes(data.bytes.total)}</dd>{before && <dd class="change"><Delta value={data.bytes.total - before.bytes.total} unit="bytes" /></dd>}</div>
						<div><dt>Peak</dt><dd data-t="peak">{bytes(data.bytes.peak)}</dd>{before && <dd class="change"><Delta value={data.bytes.peak - before.bytes.peak} unit="bytes" /></dd>}</div>
						<div><dt>Kept</dt><dd data-t="kept">{bytes(data.bytes.kept)}</dd>{before && <dd class="change"><Delta value={data.bytes.kept - before.bytes.kept} unit="bytes" /></dd>}</div>
						<div><dt>Temporary</dt><dd data-t="temporary">{count(data.counts.temporary)}</dd>{before && <dd class="change"><Delta value={data.counts.temporary - before.counts.temporary} unit="count" /></dd>}</div>
						<div><dt>Points</dt><dd data-t="points"><a href={linkTo("points")}>{count(data.counts.points)}</a></dd></div>
						<div><dt>In the allocator</dt><dd data-t="alloc-time" title={data.alloc_time.ns == null ? `${count(data.alloc_time.timed)} calls were timed` : `${ns(data.alloc_time.low)} to ${ns(data.alloc_time.high)}, estimated from ${count(data.alloc_time.timed)} timed calls`}>{data.alloc_time.ns != null ? `about ${ns(data.alloc_time.ns)}` : data.alloc_time.timed > 0 ? "too few calls to say" : "unknown"}</dd></div>
					</dl>
					<div class="dials">
						<Dial name="lifetime" label="Lifetime" value={data.scores.lifetime} />
						<Dial name="usage" label="Usage" value={data.scores.usage} />
						<Dial name="useful" label="Useful life" value={data.scores.useful} />
						<Histogram steps={data.severity_hist} />
					</div>
					{data.heap && data.heap.t.length > 0 && <Lane label="Live bytes" times={data.heap.t} from={0} to={data.heap.t.at(-1) ?? 1} unit="bytes" lines={[{ name: data.heap.rss?.some((value) => value != null) ? "heap" : "Live bytes", colour: "#0072b2", values: data.heap.max }, ...(data.heap.rss?.some((value) => value != null) ? [{ name: "resident memory", colour: "#cc79a7", dash: "4 3", values: data.heap.rss }] : [])]} />}
					<h2>Findings</h2>
					{data.findings.length === 0 ? (
						<p class="quiet">No repair would save 1 % of the peak, of the mean heap or of CPU time.</p>
					) : (
						<Findings data={data} />
					)}
					{data.findings_all > data.findings.length && <p class="quiet">The first {count(data.findings.length)} of {count(data.findings_all)}.</p>}
					<div class="tops">
						{lists.map(([name, title, show, pick]) => <List name={name} title={title} items={data.top[name] ?? []} show={show} pick={pick} />)}
					</div>
					{data.memory && data.memory.rows.length > 0 && <Account rows={data.memory.rows} />}
					<p><button onClick={() => go("flame", { metric: "peak" })}>Show the peak as a flame graph</button></p>
				</div>
			)}
		</Panel>
	);
}
