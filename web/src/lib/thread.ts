// SPDX-License-Identifier: MIT
// A thread as /threads tells it, and what it is called.

import type { Maybe } from "./format";
import { plainName } from "./names";
import { trace } from "./state";

export interface ThreadRow {
	thread: number;
	tid: number;
	name: string;
	begins_in: string | null;
	start: Maybe;
	allocs: number;
	bytes: number;
	peak: number;
	live: number;
	frees_own: number;
	frees_other: number;
	kept: number;
	alloc_time: Maybe;
}

/** One that nobody gave a name has the program's: what it runs tells more. The first one runs main, whatever allocated first. */
export function threadName(row: ThreadRow): string {
	const own = (trace.value?.program ?? "").replace(/^.*\//, "").startsWith(row.name);
	if (own && row.tid === trace.value?.pid) return `main ${row.tid}`;
	return `${(own && row.begins_in ? plainName(row.begins_in) : row.name) || "thread"} ${row.tid}`;
}
