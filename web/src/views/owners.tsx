// SPDX-License-Identifier: MIT
// Who keeps the memory alive: the tree of owners, each below the one that holds it; the containers of the program; and
// what is in memory twice.

import { useMemo, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { Empty, Segment } from "../lib/controls";
import { bytes, count, ns, share, things } from "../lib/format";
import { Growth } from "../lib/growth";
import type { Subject } from "../lib/menu";
import { ownerName } from "../lib/names";
import { Unfiltered } from "../lib/notice";
import { Bar, oneOf } from "../lib/parts";
import { ResultTable, columnsOf } from "../lib/result";
import { select, selection } from "../lib/select";
import { embedded } from "../lib/source";
import { set, whole } from "../lib/state";
import { type Column, Table } from "../lib/table";
import type { Owner, Owners as Data } from "../lib/types";

const SMALL = 0.02; // owners of a smaller share are folded at first

const isChunk = (row: Owner) => row.what === "type" || row.what === "place";

function subjectOf(row: Owner): Subject | null {
	if (row.what === "type") return { title: row.owner, type: row.owner };
	return row.what === "place" && row.point != null ? { title: row.owner, point: row.point } : null;
}

function Tree({ tree }: { tree: Owner[] }) {
	const holders = useMemo(() => new Set(tree.map((row) => row.parent)), [tree]);
	const [folded, setFolded] = useState<ReadonlySet<number>>(new Set(tree.filter((row) => row.share < SMALL).map((row) => row.id)));
	const rows = useMemo(() => {
		const hidden = new Set<number>(); // a row comes after its holder
		return tree.filter(({ id, parent }) => {
			const seen = parent == null || !(hidden.has(parent) || folded.has(parent));
			if (!seen) hidden.add(id);
			return seen;
		});
	}, [tree, folded]);
	const fold = (id: number, to = !folded.has(id)) => setFolded((old) => new Set(to ? [...old, id] : [...old].filter((other) => other !== id)));
	const columns: Column<Owner>[] = [
		{
			name: "owner",
			label: "Held by",
			title: "A variable, stack or other root; a type; or the function that allocated, where the type is unknown",
			width: "minmax(24ch, 3fr)",
			cell: (row) => (
				<span style={{ paddingLeft: `${Math.min(30, row.depth) * 14 + (holders.has(row.id) ? 0 : 11)}px` }} title={row.owner}>
					{holders.has(row.id) && <button class="plain" tabIndex={-1} aria-expanded={!folded.has(row.id)} aria-label={folded.has(row.id) ? "Unfold" : "Fold"} onClick={() => fold(row.id)}>{folded.has(row.id) ? "▸" : "▾"}</button>} {isChunk(row) ? ownerName(row) : <b>{ownerName(row)}</b>}
				</span>
			),
			text: (row) => `${"  ".repeat(row.depth)}${ownerName(row)}`,
		},
		{ name: "retained", label: "Retained", title: "Bytes that would be freed with it, its own included", number: true, width: "11ch", cell: (row) => bytes(row.retained_bytes), text: (row) => String(row.retained_bytes) },
		{ name: "share", label: "Share", title: "Share of all live bytes", number: true, width: "8ch", cell: (row) => share(row.share), text: (row) => String(row.share) },
		{ name: "bar", label: "", width: "minmax(8ch, 1fr)", whole: true, cell: (row) => <Bar share={row.share} />, text: () => "" },
		{ name: "bytes", label: "Own", title: "Bytes of the chunks themselves", number: true, width: "11ch", cell: (row) => (isChunk(row) ? bytes(row.bytes) : ""), text: (row) => String(row.bytes) },
		{ name: "count", label: "Chunks", number: true, width: "10ch", cell: (row) => (isChunk(row) ? count(row.count) : ""), text: (row) => (isChunk(row) ? String(row.count) : "") },
	];
	return (
		<Table
			label="Owners"
			columns={columns}
			rows={rows}
			rowKey={(row) => row.id}
			height={620}
			rowHeight={28}
			selected={selection.value?.kind === "ow" ? Number(selection.value.id) : null}
			onSelect={(row) => select("ow", row.id)}
			onKey={(event, { id }) => {
				if (!holders.has(id) || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return false;
				fold(id, event.key === "ArrowLeft");
				return true;
			}}
			menu={subjectOf}
			copied={() => rows}
		/>
	);
}

/** What else is to be said; options of the command are not the page's, which has its own words for how many rows there are. */
function remarks(caveats: string[]): string {
	return caveats.filter((text) => !/^\S+ more:/.test(text)).map((text) => ` ${text.replace(/; --.*/, "")}.`).join("");
}

/** Who holds most, with its name in front. */
function Sentence({ data }: { data: Data }) {
	const name = data.tree[0]?.owner ?? "";
	const named = data.tree[0]?.what === "root" && data.summary.startsWith(name);
	const rest = named ? data.summary.slice(name.length) : data.summary.replace(/^./, (letter) => letter.toUpperCase());
	return <p data-t="sentence">{named && <b>{name}</b>}{rest}.</p>;
}

function Held({ data, epoch }: { data: Data; epoch: number | undefined }) {
	return (
		<>
			<Sentence data={data} />
			<p class="quiet" data-t="totals">
				{bytes(data.live_bytes)} in {count(data.live_chunks)} chunks were live at {ns(data.time_ns)}, when {count(data.pointers)} pointers and {count(data.roots)} roots were found.
				{remarks(data.caveats)}
			</p>
			{data.growth != null && data.growth.length > 0 && <Growth rows={data.growth} />}
			<Tree key={epoch} tree={data.tree} />
		</>
	);
}


const containerColumns = { path: "Container", kind: "Kind", retained_bytes: "Retained", elements: "Elements", capacity: "Places", load: "Load", slack_bytes: "Slack" };

function Containers({ data: { container, container_count: all, containers, schema } }: { data: Data }) {
	if (containers.length === 0) return <p data-t="sentence">No container was recognised.</p>;
	return (
		<>
			<p data-t="sentence">{container}.</p>
			<p class="quiet">{all > containers.length ? `The ${count(containers.length)} largest of ${count(all)} containers.` : `${things(all, "container")}.`} An empty field means that the pointers do not say it, or that the container has no places.</p>
			<ResultTable label="Containers" rows={containers} schema={columnsOf(schema.containers, containerColumns)} height={620} onSelect={({ chunk }) => (typeof chunk === "number" && !embedded ? select("c", chunk) : set({ sel: null }, true))} />
		</>
	);
}

const twiceColumns = { type: "What", stack: "Allocated by", saving_bytes: "Saving", alike_chunks: "Alike", different: "Different", zero_bytes: "All zero", untouched_bytes: "Untouched" };

/** "8.0 MiB in 3 chunks are all zero", of what there is. */
function others({ zero_bytes: zero, zero_chunks: zeros, untouched_bytes: untouched, empty_chunks: empty }: Data): string {
	return [
		zero ? `${bytes(zero)} in ${things(zeros, "chunk")} ${zeros === 1 ? "is" : "are"} all zero.` : "",
		untouched ? `${bytes(untouched)} were never touched and take no memory.` : "",
		empty ? `${things(empty, "chunk")} ${empty === 1 ? "has" : "have"} no bytes.` : "",
	].filter((text) => text !== "").join(" ");
}

function Twice({ data }: { data: Data }) {
	const { twice, twice_count: all = 0, schema } = data;
	if (!twice) return <Empty><p>This trace does not say which chunks are alike. To record it: <code>heapwise run --owners=contents PROGRAM</code></p></Empty>;
	return (
		<>
			<p data-t="sentence">{data.twice_saving_bytes ? `One copy of each content would save ${bytes(data.twice_saving_bytes)}: ${things(data.twice_chunks, "chunk")} have ${things(data.twice_different, "different content")}.` : "No two chunks are alike."}</p>
			<p class="quiet">{others(data)}{all > twice.length && ` The first ${count(twice.length)} of ${count(all)} rows.`}</p>
			{twice.length > 0 && <ResultTable label="Twice" rows={twice} schema={columnsOf(schema.twice, twiceColumns)} height={620} onSelect={({ point }) => select("p", Number(point))} menu={({ point, type }) => ({ title: String(type), point: Number(point) })} />}
		</>
	);
}

const tabs = [["tree", "Owners"], ["containers", "Containers"], ["twice", "Twice"]] as const;

export function Owners() {
	const answer = useAnswer<Data>("/owners", whole());
	const tab = oneOf("tab", tabs, "tree");
	return (
		<div class="view">
			<div class="controls"><Segment label="Lists" value={tab} options={tabs} onChange={(name) => set({ tab: name === "tree" ? null : name })} /></div>
			<Panel answer={answer} label="Owners" empty={(data) => (data.tree.length === 0 ? "Nothing was live at the scan." : null)}>
				{(data) => (
					<>
						<Unfiltered path="/owners" />
						{tab === "containers" ? <Containers data={data} /> : tab === "twice" ? <Twice data={data} /> : <Held data={data} epoch={answer.reply?.epoch} />}
					</>
				)}
			</Panel>
		</div>
	);
}
