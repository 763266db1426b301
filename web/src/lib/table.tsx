// SPDX-License-Identifier: MIT
// A table of any length of which only the rows on screen exist. All rows are equally high, so that their places
// are arithmetic; an element can be some 30 million pixels high, above that its scroll bar is scaled.

import { Component, type ComponentChildren, type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "./format";
import { Icon } from "./icons";
import { type Subject, menuKey, openMenu } from "./menu";
import { copy } from "./say";

/** Rows by number; undefined = not here yet. An array is one. */
export interface Rows<Row> {
	readonly length: number;
	at(index: number): Row | undefined;
}

export interface Column<Row> {
	name: string; // for sorting and for scripts
	label: string;
	title?: string; // what it means
	number?: boolean;
	fixed?: boolean; // is not sorted by
	width?: string; // of the grid: "1fr", "9ch"
	whole?: boolean; // a cell has room for sure, or cuts itself
	cell(row: Row, index: number): ComponentChildren;
	text?(row: Row): string; // for copying as CSV
}

interface Props<Row> {
	label: string;
	columns: Column<Row>[];
	rows: Rows<Row>;
	rowKey(row: Row, index: number): string | number;
	height?: number;
	rowHeight?: number;
	sort?: string; // "-peak" = falling
	onSort?(name: string): void;
	selected?: string | number | null;
	onSelect?(row: Row, index: number): void;
	onOpen?(row: Row, index: number): void;
	onKey?(event: KeyboardEvent, row: Row): boolean; // true = done
	menu?(row: Row): Subject | null;
	need?(from: number, to: number): void; // these rows are seen, or soon will be
	rowClass?(row: Row): string;
	copied?(): readonly Row[]; // the rows that a button copies as CSV; without it there is none
}

const ROW = 30; // pixels high, if nobody says
const HIGHEST = 12_000_000; // pixels
const AROUND = 180; // pixels of rows beyond the edge
const JUMP = 500; // from so many rows on there is a box for the number of one

/** Which rows are in sight. */
function useScroll(count: number, rowHeight: number, height: number | undefined) {
	const scroller = useRef<HTMLDivElement>(null);
	const [top, setTop] = useState(0); // of the window, in rows; of one that is not scaled, the first row in sight
	const [view, setView] = useState(height ?? 400);
	const moved = useRef(-1); // the place that was set from here
	const full = count * rowHeight;
	const scaled = full > HIGHEST;
	const space = Math.min(full, HIGHEST);
	const last = Math.max(0, count - view / rowHeight);
	const scrollTo = (row: number) => {
		const to = Math.min(last, Math.max(0, row));
		const element = scroller.current;
		setTop(to);
		if (!element) return;
		element.scrollTop = scaled ? (last ? to / last : 0) * (space - view) : to * rowHeight;
		moved.current = element.scrollTop;
	};
	const onScroll = () => {
		const pixels = scroller.current?.scrollTop ?? 0;
		if (pixels === moved.current) return;
		moved.current = -1;
		setTop(scaled ? (pixels / Math.max(1, space - view)) * last : Math.floor(pixels / rowHeight));
	};
	useLayoutEffect(() => {
		const element = scroller.current;
		if (!element) return;
		const observer = new ResizeObserver(() => setView(element.clientHeight || 400));
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	useLayoutEffect(() => {
		const element = scroller.current;
		if (!element || !scaled) return; // without a listener the browser scrolls and asks nobody
		const wheel = (event: WheelEvent) => {
			// a scaled bar would jump over rows
			if (event.ctrlKey) return;
			event.preventDefault();
			setTop((old) => {
				const to = Math.min(last, Math.max(0, old + event.deltaY / rowHeight));
				element.scrollTop = (to / Math.max(1, last)) * (space - view);
				moved.current = element.scrollTop;
				return to;
			});
		};
		element.addEventListener("wheel", wheel, { passive: false });
		return () => element.removeEventListener("wheel", wheel);
	}, [scaled, last, space, view]);
	const around = Math.ceil(AROUND / rowHeight);
	const first = Math.max(0, Math.floor(Math.min(top, last)) - around);
	const end = Math.min(count, Math.ceil(Math.min(top, last) + view / rowHeight) + around);
	const topNow = () => (scaled ? top : (scroller.current?.scrollTop ?? 0) / rowHeight);
	const placeOf = (index: number) => (scaled ? (scroller.current?.scrollTop ?? 0) + (index - Math.min(top, last)) * rowHeight : index * rowHeight);
	const page = Math.max(1, Math.floor(view / rowHeight)); // rows that are whole in sight
	const show = (index: number) => {
		if (index < topNow()) scrollTo(index);
		else if (index >= topNow() + page) scrollTo(index - page + 1);
	};
	return { scroller, space, first, end, page, placeOf, topNow, onScroll, scrollTo, show };
}

function lineStyle(template: string, rowHeight: number, place: number) {
	return { gridTemplateColumns: template, height: `${rowHeight}px`, transform: `translateY(${place}px)` };
}

/** Whether a cell has room for sure: what needs no cutting is painted with its row, not as a part of its own. */
function fits<Row>(column: Column<Row>, cell: ComponentChildren): boolean {
	if (column.whole) return true;
	const digits = /^(\d+)ch$/.exec(column.width ?? "")?.[1];
	return column.number === true && typeof cell === "string" && cell.length < Number(digits ?? 0);
}

interface LineProps<Row> {
	table: Props<Row>;
	row: Row;
	index: number;
	chosen: boolean;
	place: number; // in pixels
	template: string;
	walked: RefObject<number>;
}

/** A row, which is drawn anew only if something of it changed: while one scrolls, most stay. */
class Line<Row> extends Component<LineProps<Row>> {
	override shouldComponentUpdate(next: LineProps<Row>, state: object): boolean {
		const old = this.props;
		if (state !== this.state) return true; // a signal that a cell shows
		return next.table !== old.table || next.row !== old.row || next.index !== old.index || next.chosen !== old.chosen || next.place !== old.place || next.template !== old.template;
	}

	override render({ table, row, index, chosen, place, template, walked }: LineProps<Row>) {
		return (
			<div
				class={`tr${chosen ? " chosen" : ""} ${table.rowClass?.(row) ?? ""}`}
				role="row"
				aria-rowindex={index + 2}
				aria-selected={table.onSelect ? chosen : undefined}
				style={lineStyle(template, table.rowHeight ?? ROW, place)}
				onClick={() => {
					walked.current = index;
					table.onSelect?.(row, index);
				}}
				onDblClick={() => table.onOpen?.(row, index)}
				onContextMenu={(event) => {
					const subject = table.menu?.(row);
					if (!subject) return;
					event.preventDefault();
					openMenu(event.clientX, event.clientY, subject);
				}}
			>
				{table.columns.map((column) => {
					const cell = column.cell(row, index);
					return (
						<div class={`td${column.number ? " number" : ""}${fits(column, cell) ? " fits" : ""}`} role={table.onSelect ? "gridcell" : "cell"}>
							{cell}
						</div>
					);
				})}
			</div>
		);
	}
}

interface HeadProps<Row> {
	table: Props<Row>;
	template: string;
}

/** The headings, which a table that is scrolled does not draw anew. */
class Head<Row> extends Component<HeadProps<Row>> {
	override shouldComponentUpdate(next: HeadProps<Row>): boolean {
		return next.table !== this.props.table || next.template !== this.props.template;
	}

	heading(column: Column<Row>, { sort, onSort }: Props<Row>) {
		const sorted = sort?.split(",")[0]?.replace(/^-/, "") === column.name;
		const falling = sort?.startsWith("-");
		const next = sorted && falling ? column.name : sorted || column.number ? `-${column.name}` : column.name;
		return (
			<div class={`th${column.number ? " number" : ""}`} role="columnheader" title={column.title} aria-sort={sorted ? (falling ? "descending" : "ascending") : undefined}>
				{onSort && !column.fixed && column.label !== "" ? (
					<button onClick={() => onSort(next)}>
						{column.label}
						{sorted ? (falling ? " ▾" : " ▴") : ""}
					</button>
				) : (
					column.label
				)}
			</div>
		);
	}

	override render({ table, template }: HeadProps<Row>) {
		return (
			<div class="thead" role="rowgroup">
				<div class="tr" role="row" style={{ gridTemplateColumns: template }}>{table.columns.map((column) => this.heading(column, table))}</div>
			</div>
		);
	}
}

function CopyButton<Row>({ columns, copied }: Props<Row> & { copied(): readonly Row[] }) {
	const act = () => void copy(csv(columns, copied()), `${count(copied().length)} rows as CSV`);
	return <button class="ghost" aria-label="Copy as CSV" title="Copy as CSV" onClick={act}><Icon name="copy" /></button>;
}

export function Table<Row>(props: Props<Row>) {
	const { columns, rows, rowHeight = ROW } = props;
	const { scroller, space, first, end, page, placeOf, topNow, onScroll, scrollTo, show } = useScroll(rows.length, rowHeight, props.height);
	const walked = useRef(-1); // the row that was chosen last
	const order = useRef(props.sort);
	useLayoutEffect(() => {
		if (order.current !== props.sort) scrollTo(0);
		order.current = props.sort;
	}, [props.sort]);
	useLayoutEffect(() => props.need?.(first, end), [first, end, rows]);

	const isChosen = (index: number) => {
		const row = index >= 0 && index < rows.length ? rows.at(index) : undefined;
		return row !== undefined && props.rowKey(row, index) === props.selected;
	};
	let chosen = isChosen(walked.current) ? walked.current : -1;
	if (chosen < 0 && props.selected != null)
		for (let index = Array.isArray(rows) ? 0 : first; index < (Array.isArray(rows) ? rows.length : end); index++)
			if (isChosen(index)) {
				chosen = index;
				break;
			}
	const choose = (index: number) => {
		const row = rows.at(index);
		walked.current = index;
		show(index);
		if (row !== undefined) props.onSelect?.(row, index);
		else awaited.current = index;
	};
	const awaited = useRef(-1); // a row that is chosen as soon as it is here
	useLayoutEffect(() => {
		if (awaited.current < 0 || rows.at(awaited.current) === undefined) return;
		choose(awaited.current);
		awaited.current = -1;
	}, [rows]);
	const template = columns.map((column) => column.width ?? (column.number ? "minmax(9ch, auto)" : "minmax(12ch, 3fr)")).join(" ");
	const keyDown = (event: KeyboardEvent) => {
		const from = Math.max(chosen, 0);
		const to = { ArrowDown: chosen + 1, ArrowUp: from - 1, PageDown: from + page, PageUp: from - page, Home: 0, End: rows.length - 1 }[event.key];
		const row = chosen >= 0 ? rows.at(chosen) : undefined;
		if (row !== undefined && props.onKey?.(event, row)) {
			event.preventDefault();
		} else if (to !== undefined && rows.length && props.onSelect) {
			choose(Math.min(rows.length - 1, Math.max(0, to)));
			event.preventDefault();
		} else if (event.key === "Enter" && row !== undefined && props.onOpen && event.target === scroller.current) {
			props.onOpen(row, chosen);
			event.preventDefault();
		} else if (menuKey(event) && row !== undefined && props.menu) {
			const subject = props.menu(row);
			const box = scroller.current?.getBoundingClientRect();
			if (subject && box) openMenu(box.left + 40, box.top + placeOf(chosen) - (scroller.current?.scrollTop ?? 0) + rowHeight, subject);
			event.preventDefault();
		}
	};
	const line = (index: number) => {
		const row = rows.at(index);
		if (row !== undefined)
			return <Line key={props.rowKey(row, index)} table={props} row={row} index={index} chosen={index === chosen} place={placeOf(index)} template={template} walked={walked} />;
		return (
			<div key={`row ${index}`} class="tr" role="row" aria-rowindex={index + 2} style={lineStyle(template, rowHeight, placeOf(index))}>
				<div class="td quiet" role={props.onSelect ? "gridcell" : "cell"}>…</div>
			</div>
		);
	};
	const long = props.height !== undefined && rows.length * rowHeight > props.height;
	const grid = (
		<div class={`table${long ? "" : " short"}`} role={props.onSelect ? "grid" : "table"} aria-label={props.label} aria-rowcount={rows.length + 1}>
			<div class="broad" role="presentation">
				<Head table={props} template={template} />
				<div
					ref={scroller}
					class="tbody"
					role="rowgroup"
					tabIndex={0}
					aria-label={`${props.label}, rows`}
					style={{ height: `${props.height ? Math.min(props.height, Math.max(rowHeight, rows.length * rowHeight)) : rows.length * rowHeight}px` }}
					onKeyDown={keyDown}
					onScroll={onScroll}
				>
					<div class="space" role="presentation" style={{ height: `${space}px` }}>
						{Array.from({ length: Math.max(0, end - first) }, (_, at) => line(first + at))}
					</div>
				</div>
			</div>
		</div>
	);
	return (
		<>
			{props.copied ? <div class="copied"><CopyButton {...props} copied={props.copied} />{grid}</div> : grid}
			{rows.length > JUMP && (
				<label class="choice jump">
					Row
					<input
						type="number"
						min={1}
						max={rows.length}
						onFocus={(event) => (event.currentTarget.placeholder = String(Math.floor(topNow()) + 1))}
						onChange={(event) => {
							const index = Math.min(rows.length, Math.max(1, Number(event.currentTarget.value) || 1)) - 1;
							scrollTo(index);
							if (rows.at(index) !== undefined) choose(index);
							else awaited.current = index;
						}}
					/>
					of {rows.length.toLocaleString("en")}
				</label>
			)}
		</>
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
