// SPDX-License-Identifier: MIT
// What the server answers; see docs/API.md.

import type { Maybe } from "./format";
import type { ResultRow, SchemaColumn } from "./result";

export interface TraceInfo {
	id: string;
	program: string;
	cmdline: string;
	pid: number;
	recording_ns: number | null;
	duration_ns: number;
	written?: Maybe; // when the file was, seconds since 1970
	bytes?: Maybe; // of the file
	events?: Maybe;
	arch: string;
	complete?: boolean;
	caps: Record<string, boolean>;
	counts: { chunks: number; points: number; functions: number; types: number; modules: number; threads: number };
}

export interface Status {
	state: "indexing" | "ready" | "live" | "error";
	phase: string;
	progress: Maybe;
	traces: { id: string; name: string; program: string | null; written: number | null; path: string; bytes: number; state: string; message: string | null }[];
}

export interface Finding {
	id: string;
	kind: string;
	title: string;
	text: string;
	seen: string; // the text without the repair
	repair: string;
	level: string; // "costly", "worth a look" or "minor"
	saving: string; // what the repair would save, in words
	saves: { unit: string; amount: Maybe; share: Maybe };
	confidence: string;
	fn: string | null; // of the program's own code
	file: string | null;
	line: number | null;
	point: Maybe; // one of them
	points: number; // how many
	evidence: { n_hit: number; n_all: number; bytes_hit: number };
	cost: { bytes: Maybe; allocs: Maybe };
	query?: string | null; // the chunks that it is about
	spark?: string; // base64
}

export interface ScoreSummary {
	g: Maybe;
	var: Maybe;
	w_allocs: Maybe;
	w_bytes: Maybe;
}

/** A row of a short list: a point, or a type or module by its name. */
export interface Top {
	point?: number;
	fn?: string;
	file?: string | null;
	line?: number | null;
	module?: string | null;
	offset?: number;
	label?: string;
	value: number;
}

/** A part of the resident memory, when there was most of it, while it stayed furthest above live bytes (null = at one of the others), and at the end. */
export interface MemoryPart {
	part: string;
	meaning: string;
	most_bytes: Maybe;
	most_share: Maybe;
	gap_bytes: Maybe;
	gap_share: Maybe;
	end_bytes: Maybe;
	end_share: Maybe;
}

export interface Overview {
	scores: { lifetime: ScoreSummary; usage: ScoreSummary; useful: ScoreSummary };
	severity_hist: number[];
	bytes: { total: number; peak: number; peak_t: number; kept: number; end: number };
	counts: { allocs: number; frees: number; reallocs: number; temporary: number; points: number };
	alloc_time: { ns: Maybe; low: Maybe; high: Maybe; pct: Maybe; timed: number; cpu_ns: Maybe };
	findings: Finding[];
	findings_all: number;
	top: Record<string, Top[]>;
	heap?: { t: number[]; max: number[]; rss: Maybe[] | null };
	memory?: { rows: MemoryPart[] } | null; // nobody looked at it
	unnamed?: string | null; // what helps where functions have no names
}

/** Roots or chunks that are called alike and held alike. */
export interface Owner {
	id: number;
	parent: Maybe; // null = the program
	depth: number;
	owner: string;
	what: "root" | "type" | "place" | "several" | "lost";
	count: number;
	bytes: number; // of its own
	retained_bytes: number;
	share: number;
	largest_chunk: Maybe;
	point: Maybe; // of that chunk
}

/** A container that grew between two scans. */
export interface Grown {
	id: number;
	container: string;
	element: string;
	elements_delta: Maybe; // none: a block became larger
	bytes_delta: number;
	bytes_per_minute: Maybe;
	stopped: boolean | null;
	path: string;
}

export interface Owners {
	summary: string;
	live_bytes: number;
	live_chunks: number;
	lost_bytes: number;
	time_ns: number;
	pointers: number;
	roots: number;
	growth?: Grown[]; // none: there is one scan
	tree: Owner[];
	container?: string; // how full the largest is
	container_count: number; // of the program
	containers: ResultRow[]; // the largest
	twice?: ResultRow[]; // none: contents were not recorded
	twice_count?: number; // rows of it in all
	twice_saving_bytes?: number;
	twice_chunks?: number;
	twice_different?: number;
	zero_bytes?: number;
	zero_chunks?: number;
	untouched_bytes?: number;
	empty_chunks?: number;
	schema: Record<string, SchemaColumn[]>;
	caveats: string[];
}

/** How a chunk is held, from a root on. */
export interface OwnerPath {
	holder: string;
	steps: { count: number; owner: string; member: string | null; chunk: Maybe; bytes: Maybe; retained_bytes: number }[];
}

export interface Frame {
	fn: string | null;
	module: string | null;
	file: string | null;
	line: number | null;
	inline: boolean;
	library: boolean;
	addr: string;
}

export interface PointSums {
	chunks: number;
	bytes: number;
	peak: Maybe;
	kept: Maybe;
	temporary: number;
}

export interface PointRow {
	id: number;
	fn: string | null;
	file: string | null;
	line: number | null;
	module: string | null;
	offset: number; // in the module
	type: string | null;
	caller: string | null;
	chunks: number;
	bytes: number;
	peak: number;
	live: number;
	kept: number;
	temporary: number;
	sev: Maybe;
	lifetime: Maybe;
	usage: Maybe;
	useful: Maybe;
	inf: string[];
	allocs_pct: number;
	avg_life: Maybe;
	threads: number;
	spark: string;
	base?: PointSums | null; // with a second trace; null = new
	delta?: PointSums;
}

export interface Timeline {
	t0: number;
	t1: number;
	t: number[]; // ends of the bins
	total: { min: number[]; max: number[]; last: number[] };
	series: { key: string | number; label: string | null; color?: string | null; peak: number; last: number[] }[];
	other: { last: number[] } | null;
	rss: Maybe[] | null;
	base?: { max: (number | null)[] }; // of a second trace, on the same axis: then a run that has ended has nulls
	marks: { t: number; label: string }[];
}

/** Columns of a reply, with the texts that they number. */
export interface Columns {
	rows: number;
	columns: Record<string, number[]>;
	strings: string[];
}

/** A frame that the root is part of. */
export interface FlameAbove {
	id: number;
	name: string;
	module: string;
	total: number;
}

export interface FlameReply extends Columns {
	path?: FlameAbove[]; // outermost first
	metric: string;
	unit: string;
	total: number;
	root_total: number;
	nodes_all: number;
	max_depth: number;
	at: Maybe;
	base_total?: number; // with a second trace
	gone_total?: number;
	gone?: { parent: number; fn: string; base: number }[]; // what it has and this has not
}

/** A flame graph as it is painted: one entry a frame in each list. */
export interface Flame {
	unit: string;
	total: number;
	nodes_all: number;
	at: Maybe; // when it was so, where nobody chose the moment
	above: number; // rows that the root is part of
	id: number[];
	parent: number[];
	depth: number[];
	x0: number[];
	x1: number[];
	name: string[];
	module: string[];
	file: string[];
	line: number[];
	self: number[];
	value: number[];
	sev: number[]; // 255 = none
	point: number[];
	flags: number[];
	merged: number[];
	delta: number[] | null;
}
