// SPDX-License-Identifier: MIT
// A table of the command line as it is: columns, units and meanings come with it.

import { useState } from "preact/hooks";
import { type Maybe, inUnit, trimMiddle } from "./format";
import type { Subject } from "./menu";
import { plainName } from "./names";
import { sorted } from "./sort";
import { type Column, Table } from "./table";

export interface SchemaColumn {
	name: string;
	unit: string;
	meaning: string;
	label?: string; // none: its name
}

export type Cell = string | number | boolean | null | ResultFrame[];
export type ResultRow = Record<string, Cell>;

export interface ResultFrame {
	function: string | null;
	file: string | null;
	line: number | null;
	module: string | null;
	offset: number;
	inlined: boolean;
}

const numbers = new Set(["bytes", "count", "ns", "share", "ratio", "signed", "id"]);

export function isNumber(unit: string): boolean {
	return numbers.has(unit);
}

export function pathText(frames: ResultFrame[]): string {
	return [...frames].reverse().map((frame) => frame.function ?? `${frame.module ?? "?"}+0x${frame.offset.toString(16)}`).join(" › ");
}

/** The end of a path says where it leads: the beginning, which many have in common, goes first. */
function endOf(steps: string[], arrow: string, most: number): string {
	let left = 0;
	while (left < steps.length - 1 && steps.slice(left).join(arrow).length > most) left++;
	return `${left ? `…${arrow}` : ""}${steps.slice(left).join(arrow)}`;
}

/** What fits of a stack, or of a path of pointers. */
function shortened(text: string, value: Cell | undefined, name: string): string {
	const most = Math.max(24, (window.innerWidth - 1040) / 8);
	if (Array.isArray(value)) return endOf(text.split(" › ").map((fn) => plainName(fn).replace(/^.*::(?=[^:]*::[^:]*$)/, "").replace(/^.*\//, "")), " › ", Math.max(40, most - 10));
	return name === "path" ? trimMiddle(endOf(text.split(" → "), " → ", most), most) : text;
}

export function cellText(value: Cell | undefined, unit: string): string {
	if (value == null) return "";
	if (Array.isArray(value)) return pathText(value);
	if (typeof value === "number") return unit === "id" ? String(value) : inUnit(value as Maybe, unit);
	return String(value);
}

interface Props {
	label: string;
	rows: readonly ResultRow[];
	schema: readonly SchemaColumn[];
	hide?: readonly string[];
	height?: number;
	onSelect?(row: ResultRow): void;
	onOpen?(row: ResultRow): void;
	menu?(row: ResultRow): Subject | null;
}

/** Some columns of a table, in this order, each with its label. */
export function columnsOf(schema: readonly SchemaColumn[] | undefined, labels: Record<string, string>): SchemaColumn[] {
	return Object.entries(labels).flatMap(([name, label]) => (schema ?? []).filter((column) => column.name === name).map((column) => ({ ...column, label })));
}

export function ResultTable({ label, rows, schema, hide = [], height = 480, onSelect, onOpen, menu }: Props) {
	const [sort, setSort] = useState("");
	const [chosen, setChosen] = useState<number | null>(null);
	const columns: Column<ResultRow>[] = schema
		.filter((column) => !hide.includes(column.name))
		.sort((a, b) => Number(numbers.has(a.unit)) - Number(numbers.has(b.unit))) // what it is, then how much
		.map((column) => ({ ...column, label: column.label ?? column.name.charAt(0).toUpperCase() + column.name.slice(1).replace(/_/g, " ") }))
		.map((column) => ({
			name: column.name,
			label: column.label,
			title: column.meaning,
			number: numbers.has(column.unit),
			width: numbers.has(column.unit) ? `${Math.max(8, column.label.length + 3)}ch` : "minmax(16ch, 2fr)",
			cell: (row) => {
				const text = cellText(row[column.name], column.unit);
				return <span title={text} data-name={text}>{shortened(text, row[column.name], column.name)}</span>;
			},
			text: (row) => {
				const value = row[column.name];
				return value == null ? "" : Array.isArray(value) ? pathText(value) : String(value);
			},
		}));
	const shown = sort === "" ? rows : sorted(rows, sort);
	return <Table copied={() => shown} label={label} columns={columns} rows={shown} rowKey={(_, index) => index} height={height} rowHeight={28} sort={sort} onSort={setSort} selected={chosen} onSelect={(row, index) => (setChosen(index), onSelect?.(row))} {...(onOpen ? { onOpen } : {})} {...(menu ? { menu } : {})} />;
}

/** One table of a command, as the server sends it. */
export interface TableReply {
	title: string;
	columns: SchemaColumn[];
	rows: ResultRow[];
	caveats: string[];
}

export function Caveats({ list }: { list: readonly string[] | undefined }) {
	if (!list?.length) return null;
	return <ul class="caveats">{list.map((words) => <li>{words}</li>)}</ul>;
}
