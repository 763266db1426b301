// SPDX-License-Identifier: MIT
// Rows beside those of a second trace: what they were there, and the difference.

import { type Maybe, bytes } from "./format";
import { Delta } from "./parts";
import type { Column } from "./table";

/** What the server says of a row. */
export interface Pair {
	base?: { bytes: number } | null; // null = new
	delta?: { bytes: number };
}

export interface Beside {
	before?: Maybe;
	change?: Maybe;
}

export function beside(pair: Pair | undefined): Beside {
	return { before: pair?.base?.bytes, change: pair?.delta?.bytes };
}

export const besideColumns: Column<Beside>[] = [
	{ name: "before", label: "Bytes before", number: true, width: "13ch", cell: (row) => (row.before == null ? "new" : bytes(row.before)), text: (row) => String(row.before ?? "") },
	{ name: "change", label: "Change", number: true, width: "13ch", cell: (row) => <Delta value={row.change} unit="bytes" />, text: (row) => String(row.change ?? "") },
];
