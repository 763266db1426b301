// SPDX-License-Identifier: MIT
// Containers that grew between two scans of a program's memory.

import { bytes, count } from "./format";
import { type Column, Table } from "./table";
import type { Grown } from "./types";

/** Containers that grew from the first scan to the last: what a leak is that is still reachable. */
export function Growth({ rows }: { rows: Grown[] }) {
	const columns: Column<Grown>[] = [
		{ name: "container", label: "Grows in", title: "The member that holds the elements, or the variable or other root", width: "minmax(20ch, 2fr)", cell: (row) => <b title={row.path}>{row.container}</b>, text: (row) => row.container },
		{ name: "elements", label: "Elements", title: "Elements that it has more; none: a block became larger", number: true, width: "11ch", cell: (row) => (row.elements_delta == null ? "" : `+${count(row.elements_delta)}`), text: (row) => String(row.elements_delta ?? "") },
		{ name: "bytes", label: "Bytes", title: "Bytes that it holds more", number: true, width: "11ch", cell: (row) => `+${bytes(row.bytes_delta)}`, text: (row) => String(row.bytes_delta) },
		{ name: "rate", label: "A minute", number: true, width: "12ch", cell: (row) => (row.bytes_per_minute == null ? "" : row.stopped ? "stopped" : `+${bytes(row.bytes_per_minute)}`), text: (row) => String(row.bytes_per_minute ?? "") },
		{ name: "element", label: "Of", title: "Type of the elements, or the function that allocates them", width: "minmax(16ch, 2fr)", cell: (row) => <span title={row.element}>{row.element}</span>, text: (row) => row.element },
	];
	return <Table label="What grows" columns={columns} rows={rows} rowKey={(row) => row.id} height={Math.min(220, 28 * rows.length + 34)} rowHeight={28} copied={() => rows} />;
}
