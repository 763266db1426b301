// SPDX-License-Identifier: MIT
// A table of any length of which only the rows on screen exist.

import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Column<Row> {
	name: string; // for sorting and for scripts
	label: string;
	title?: string; // what it means
	number?: boolean;
	width?: string; // of the grid: "1fr", "9ch"
	cell(row: Row, index: number): ComponentChildren;
	text?(row: Row): string; // for copying as CSV
}

interface Props<Row> {
	label: string;
	columns: Column<Row>[];
	rows: readonly Row[];
	rowKey(row: Row, index: number): string | number;
	height?: number;
	rowHeight?: number;
	sort?: string; // "-peak" = falling
	onSort?(name: string): void;
	selected?: string | number | null;
	onSelect?(row: Row, index: number): void;
	onOpen?(row: Row, index: number): void;
	more?(index: number): void; // rows from this number on are about to be seen
}

export function Table<Row>(props: Props<Row>) {
	const { columns, rows, rowHeight = 30 } = props;
	const scroller = useRef<HTMLDivElement>(null);
	const [, setRound] = useState(0);
	const virtual = useRef<Virtualizer<HTMLDivElement, Element> | null>(null);
	const options = {
		count: rows.length,
		getScrollElement: () => scroller.current,
		estimateSize: () => rowHeight,
		overscan: 8,
		scrollToFn: elementScroll,
		observeElementRect,
		observeElementOffset,
		onChange: () => setRound((n) => n + 1),
	};
	virtual.current ??= new Virtualizer<HTMLDivElement, Element>(options);
	virtual.current.setOptions(options);
	useLayoutEffect(() => virtual.current?._didMount(), []);
	useLayoutEffect(() => virtual.current?._willUpdate());

	const shown = virtual.current.getVirtualItems();
	const last = shown.at(-1)?.index ?? 0;
	useLayoutEffect(() => props.more?.(last), [last, rows.length]);

	const template = columns.map((column) => column.width ?? (column.number ? "minmax(9ch, auto)" : "minmax(12ch, 3fr)")).join(" ");
	const chosen = rows.findIndex((row, index) => props.rowKey(row, index) === props.selected);
	const keyDown = (event: KeyboardEvent) => {
		const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
		const row = rows[chosen];
		if (step && rows.length) {
			const next = Math.min(rows.length - 1, Math.max(0, chosen + step));
			const target = rows[next];
			if (target) props.onSelect?.(target, next);
			virtual.current?.scrollToIndex(next);
			event.preventDefault();
		} else if (event.key === "Enter" && row && props.onOpen) {
			props.onOpen(row, chosen);
			event.preventDefault();
		}
	};
	return (
		<div class="table" role={props.onSelect ? "grid" : "table"} aria-label={props.label} aria-rowcount={rows.length + 1}>
			<div class="thead" role="rowgroup">
				<div class="tr" role="row" style={{ gridTemplateColumns: template }}>
					{columns.map((column) => {
						const sorted = props.sort?.replace(/^-/, "") === column.name;
						const falling = props.sort?.startsWith("-");
						return (
							<div
								class={`th${column.number ? " number" : ""}`}
								role="columnheader"
								title={column.title}
								aria-sort={sorted ? (falling ? "descending" : "ascending") : undefined}
							>
								{props.onSort ? (
									<button onClick={() => props.onSort?.(sorted && falling ? column.name : sorted ? `-${column.name}` : column.number ? `-${column.name}` : column.name)}>
										{column.label}
										{sorted ? (falling ? " ▾" : " ▴") : ""}
									</button>
								) : (
									column.label
								)}
							</div>
						);
					})}
				</div>
			</div>
			<div
				ref={scroller}
				class="tbody"
				role="rowgroup"
				tabIndex={0}
				aria-label={`${props.label}, rows`}
				style={{ height: props.height ? `${Math.min(props.height, Math.max(rowHeight, rows.length * rowHeight))}px` : undefined }}
				onKeyDown={keyDown}
			>
				<div class="space" role="presentation" style={{ height: `${virtual.current.getTotalSize()}px` }}>
					{shown.map((item) => {
						const row = rows[item.index];
						if (row === undefined) return null;
						return (
							<div
								key={props.rowKey(row, item.index)}
								class={`tr${item.index === chosen ? " chosen" : ""}`}
								role="row"
								aria-rowindex={item.index + 2}
								aria-selected={props.onSelect ? item.index === chosen : undefined}
								style={{ gridTemplateColumns: template, height: `${rowHeight}px`, transform: `translateY(${item.start}px)` }}
								onClick={() => props.onSelect?.(row, item.index)}
								onDblClick={() => props.onOpen?.(row, item.index)}
							>
								{columns.map((column) => (
									<div class={`td${column.number ? " number" : ""}`} role={props.onSelect ? "gridcell" : "cell"}>
										{column.cell(row, item.index)}
									</div>
								))}
							</div>
						);
					})}
				</div>
			</div>
		</div>
	);
}

/** The rows as CSV, for the clipboard or a file. */
export function csv<Row>(columns: Column<Row>[], rows: readonly Row[]): string {
	const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
	const cell = (column: Column<Row>, row: Row, index: number) => {
		const value = column.text ? column.text(row) : column.cell(row, index);
		return quoted(typeof value === "string" || typeof value === "number" ? String(value) : "");
	};
	return [columns.map((column) => quoted(column.label)), ...rows.map((row, index) => columns.map((column) => cell(column, row, index)))]
		.map((line) => line.join(","))
		.join("\n");
}

/** Rows in the order of "name" or, falling, "-name"; what is not known comes first. */
export function sorted<Row extends object>(rows: readonly Row[], sort: string): Row[] {
	const name = sort.replace(/^-/, "") as keyof Row;
	const sign = sort.startsWith("-") ? -1 : 1;
	return [...rows].sort((a, b) => {
		const x = a[name];
		const y = b[name];
		if (typeof (x ?? y) === "number") return sign * (Number(x ?? -1) - Number(y ?? -1));
		return sign * String(x ?? "").localeCompare(String(y ?? ""));
	});
}

/** Whether a chart shows itself as a table, which the key T and a button change. */
export function useTwin(): [boolean, () => void] {
	const [on, setOn] = useState(false);
	const toggle = () => setOn((was) => !was);
	useEffect(() => {
		const down = (event: KeyboardEvent) => {
			if (event.key === "T" && !(event.target instanceof HTMLInputElement)) toggle();
		};
		window.addEventListener("keydown", down);
		return () => window.removeEventListener("keydown", down);
	}, []);
	return [on, toggle];
}
