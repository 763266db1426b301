// SPDX-License-Identifier: MIT
// What the server answers; see docs/API.md.

import type { Maybe } from "./format";

export interface TraceInfo {
	id: string;
	program: string;
	cmdline: string;
	pid: number;
	duration_ns: number;
	arch: string;
	complete?: boolean;
	caps: Record<string, boolean>;
	counts: { chunks: number; points: number; functions: number; types: number; modules: number; threads: number };
}

export interface Status {
	state: "indexing" | "ready" | "live" | "error";
	phase: string;
	progress: Maybe;
	traces: { id: string; name: string; path: string; bytes: number }[];
}

export interface Verdict {
	id: string;
	kind: string;
	step: Maybe;
	title: string;
	text: string;
	fix: string;
	evidence?: string;
	points: number[];
	cost: { bytes: Maybe; allocs: Maybe; pct: Maybe };
	confidence: string;
	query: string;
	place?: string;
	type?: string;
}

export interface ScoreSummary {
	g: Maybe;
	var: Maybe;
	w_allocs: Maybe;
	w_bytes: Maybe;
}

export interface Named {
	id: number;
	name: string;
	value: number;
	file?: string;
	line?: number;
}

export interface Overview {
	scores: { lifetime: ScoreSummary; usage: ScoreSummary; useful: ScoreSummary };
	severity_hist: number[];
	bytes: { total: number; peak: number; peak_t: number; leaked: number; end: number };
	counts: { allocs: number; frees: number; reallocs: number; temporary: number; points: number };
	alloc_time: { ns: Maybe; pct: Maybe };
	verdicts: Verdict[];
	top: Record<string, Named[]>;
	heap: { t: number[]; max: number[]; rss: Maybe[] };
}

export interface Frame {
	fn: string;
	raw?: string;
	module: string;
	file: string;
	line: number;
	col: number;
	inline: boolean;
	addr: string;
}

export interface PointRow {
	id: number;
	fn: string;
	file: string;
	line: number;
	type: string;
	chunks: number;
	bytes: number;
	peak: number;
	live: number;
	leaked: number;
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
}

export interface Timeline {
	t: number[];
	total: { min: number[]; max: number[]; last: number[] };
	series: { key: string; label: string; color: string | null; peak: number; last: number[] }[];
	other: { last: number[] } | null;
	rss: Maybe[];
	marks: { t: number; label: string }[];
}

export interface Flame {
	unit: string;
	total: number;
	nodes_all: number;
	max_depth: number;
	at: Maybe;
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
}
