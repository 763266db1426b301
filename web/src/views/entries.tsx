// SPDX-License-Identifier: MIT
// What the filter is left with, entry by entry, as text: chunks, or what it joined them to.

import { useState } from "preact/hooks";
import { Panel } from "../lib/answer";
import { count } from "../lib/format";
import type { Subject } from "../lib/menu";
import { usePages } from "../lib/pages";
import { Caveats, type Cell, type ResultRow, type SchemaColumn, cellText, isNumber, pathText } from "../lib/result";
import { select, selection } from "../lib/select";
import { common, key, query, set, stages } from "../lib/state";
import { type Column, Table } from "../lib/table";

interface Data {
	query: string;
	view: string | null;
	entries: number;
	rows: ResultRow[];
	caveats: string[];
	schema: { rows: SchemaColumn[] };
}

function show(value: Cell | undefined, column: SchemaColumn): string {
	if (typeof value === "number" && column.unit === "address") return `0x${value.toString(16)}`;
	if (value == null) return column.name === "free" ? "never" : column.unit === "text" ? "" : "unknown";
	return cellText(value, column.unit);
}

/** The order is part of the query: the last stage, if it sorts, is what the heads change. */
function sortOf(list: string[]): string {
	const match = /^sort\s+(\S+)(?:\s+(asc|desc))?$/.exec(list.at(-1) ?? "");
	return match ? `${match[2] === "desc" ? "-" : ""}${match[1]}` : "";
}

function withSort(list: string[], sort: string): string {
	const rest = sortOf(list) ? list.slice(0, -1) : list;
	const name = sort.replace(/^-/, "");
	return [...(rest.length ? rest : ["all"]), `sort ${name}${sort.startsWith("-") ? " desc" : ""}`].join(" | ");
}

const joins = [["type", "type"], ["stack", "stack"], ["fn", "function"], ["thread", "thread"]] as const;

function subjectOf(row: ResultRow): Subject {
	const text = (name: string) => (typeof row[name] === "string" ? (row[name] as string) : undefined);
	const number = (name: string) => (typeof row[name] === "number" ? (row[name] as number) : undefined);
	const joined = row.chunk === undefined;
	return {
		title: text("type") ?? text("fn") ?? (number("chunk") != null ? `chunk ${row.chunk}` : "entry"),
		...(joined ? (row.type !== undefined ? { type: text("type") ?? null } : { fn: text("fn") ?? null, thread: number("thread") ?? null }) : { chunk: number("chunk") ?? null, fn: text("fn") ?? null }),
		...(Array.isArray(row.stack) ? { stack: () => pathText(row.stack as never) } : {}),
	};
}

export function Entries() {
	const list = stages(query());
	const { first, rows, need } = usePages<Data, ResultRow>("/entries", { ...common(), stacks: key("stacks") }, (data) => data.entries);
	const [chosen, setChosen] = useState<number | null>(null);
	const joined = list.some((part) => /^(join|unify|agg)\b/.test(part));
	return (
		<div class="view">
			<div class="controls">
				{joins.map(([field, words]) => (
					<button disabled={joined} onClick={() => set({ q: `${list.length ? list.join(" | ") : "all"} | join ${field} | sort size desc`, g: null })}>Join by {words}</button>
				))}
				{joined && <button onClick={() => set({ q: list.filter((part) => !/^(join|unify|agg|sort|limit)\b/.test(part)).join(" | "), g: null })}>Single chunks</button>}
				<label><input type="checkbox" checked={key("stacks") === "1"} onChange={(event) => set({ stacks: event.currentTarget.checked ? 1 : null })} /> With stacks</label>
			</div>
			<Panel answer={first} label="Rows" empty={(data) => (data.entries === 0 ? "The program made no allocation." : null)}>
				{(data) => {
					const schema = data.schema.rows;
					const columns: Column<ResultRow>[] = schema.map((column) => ({
						name: column.name,
						label: column.name.replace(/_/g, " "),
						title: column.meaning,
						number: isNumber(column.unit) || column.unit === "address",
						fixed: column.name === "share" || column.name === "stack",
						width: column.unit === "address" ? "17ch" : isNumber(column.unit) ? `${Math.max(10, column.name.length + 4)}ch` : "minmax(16ch, 2fr)",
						cell: (row) => {
							const words = show(row[column.name], column);
							return column.unit === "colour" && words ? <span title={words}><span class="swatch" style={{ background: words }} /> {words}</span> : <span title={words}>{words}</span>;
						},
						text: (row) => show(row[column.name], { ...column, unit: isNumber(column.unit) ? "id" : column.unit }),
					}));
					return (
						<>
							<p class="quiet">
								<span data-t="entries">{count(data.entries)}</span> {data.entries === 1 ? "row" : "rows"} of <code>{data.query}</code>
							</p>
							<Caveats list={data.caveats} />
							<Table
								label="Rows"
								copied={() => rows.loaded()}
								columns={columns}
								rows={rows}
								rowKey={(row, index) => (typeof row.chunk === "number" ? row.chunk : index)}
								rowHeight={26}
								height={620}
								sort={sortOf(list)}
								onSort={(sort) => set({ q: withSort(list, sort), g: null })}
								selected={selection.value?.kind === "c" ? Number(selection.value.id) : chosen}
								onSelect={(row, index) => {
									setChosen(index);
									if (typeof row.chunk === "number") select("c", row.chunk);
									else if (typeof row.type === "string") select("ty", row.type);
									else if (typeof row.fn === "string") select("f", row.fn);
								}}
								menu={subjectOf}
								need={need}
							/>
						</>
					);
				}}
			</Panel>
		</div>
	);
}
