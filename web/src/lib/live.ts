// SPDX-License-Identifier: MIT
// What a program that runs tells: ticks by Server-Sent Events, kept in columns of a fixed size, so that a page that
// stays open for days needs no more memory than after an hour. When they are full, every second tick of the older
// half goes.

import { signal } from "@preact/signals";
import type { Maybe } from "./format";
import { ApiError, address, source } from "./source";

export interface TopPoint {
	point: number;
	fn: string | null;
	file: string | null;
	line: number | null;
	own: number;
	total: number;
	n: number;
	delta: Maybe;
}

export interface Tick {
	t: number; // ns since the program began
	malloc_s: number;
	free_s: number;
	realloc_s: number;
	live: number;
	live_bytes: number;
	monitored: Maybe;
	monitored_bytes: Maybe;
	overhead_pct: Maybe;
	working_set: Maybe;
	working_unknown: Maybe;
	age: number[];
	age_bytes: number[];
	age_unknown: number;
	age_unknown_bytes: number;
	thr: number[];
	thr_states: number[]; // seconds
	sizes?: number[];
	top: TopPoint[];
	suspects: { n: Maybe; bytes: Maybe; lost: Maybe; lost_bytes: Maybe };
}

const scalars = ["t", "malloc_s", "free_s", "realloc_s", "live", "live_bytes", "monitored", "monitored_bytes", "overhead_pct", "working_set", "working_unknown", "age_unknown", "age_unknown_bytes", "n", "bytes", "lost", "lost_bytes"] as const;
export type Scalar = (typeof scalars)[number];
export const AGES = 7;
export const STATES = 16; // at most
export const TICKS = 3600;

/** Ticks by number, oldest first; what was not measured is NaN. */
export class Ring {
	size = 0;
	private readonly values = Object.fromEntries(scalars.map((name) => [name, new Float64Array(TICKS)])) as Record<Scalar, Float64Array>;
	private readonly ages = new Float64Array(TICKS * AGES);
	private readonly ageBytes = new Float64Array(TICKS * AGES);
	private readonly states = new Float64Array(TICKS * STATES);
	private readonly numbers = new Float64Array(TICKS); // in the order of their coming: they keep these
	private readonly holes = new Uint8Array(TICKS); // something is missing before it
	private coming = 0;

	value(name: Scalar, at: number): number {
		return this.values[name][at] ?? NaN;
	}
	age(at: number, bucket: number, bytes = false): number {
		return (bytes ? this.ageBytes : this.ages)[at * AGES + bucket] ?? 0;
	}
	/** How many were not watched for long enough to have an age. */
	ageUnknown(at: number, bytes = false): number {
		return this.value(bytes ? "age_unknown_bytes" : "age_unknown", at) || 0;
	}
	state(at: number, state: number): number {
		return this.states[at * STATES + state] ?? 0;
	}
	number(at: number): number {
		return this.numbers[at] ?? 0;
	}
	hole(at: number): boolean {
		return this.holes[at] === 1;
	}
	get last(): number {
		return this.size ? this.value("t", this.size - 1) : -1;
	}

	/** The newest tick that is not after a time; -1 = there is none. */
	before(time: number): number {
		let low = 0;
		let high = this.size;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.value("t", middle) <= time) low = middle + 1;
			else high = middle;
		}
		return low - 1;
	}

	clear(): void {
		this.size = 0;
	}

	push(tick: Tick, hole: boolean): void {
		if (tick.t <= this.last) return; // is here already
		if (this.size === TICKS) this.thin();
		const at = this.size++;
		const all: Record<string, unknown> = { ...tick, ...tick.suspects };
		for (const name of scalars) {
			const value = all[name];
			this.values[name][at] = typeof value === "number" ? value : NaN;
		}
		for (let bucket = 0; bucket < AGES; bucket++) {
			this.ages[at * AGES + bucket] = tick.age?.[bucket] ?? 0;
			this.ageBytes[at * AGES + bucket] = tick.age_bytes?.[bucket] ?? 0;
		}
		for (let state = 0; state < STATES; state++) this.states[at * STATES + state] = tick.thr?.[state] ?? 0;
		this.numbers[at] = ++this.coming;
		this.holes[at] = hole ? 1 : 0;
	}

	private thin(): void {
		const half = TICKS / 2;
		const kept = half / 2;
		const squeeze = (column: Float64Array | Uint8Array, width: number) => {
			for (let at = 0; at < kept; at++) column.copyWithin(at * width, (2 * at + 1) * width, (2 * at + 2) * width);
			column.copyWithin(kept * width, half * width, TICKS * width);
		};
		for (const name of scalars) squeeze(this.values[name], 1);
		for (const column of [this.ages, this.ageBytes]) squeeze(column, AGES);
		squeeze(this.states, STATES);
		squeeze(this.numbers, 1);
		squeeze(this.holes, 1);
		this.size = kept + half;
	}
}

export interface Growth extends TopPoint {
	by: number; // bytes
	over: number; // ns
}

const GROWTH_NS = 60e9;
const GROWTH_TICKS = 61; // of a point, at most

/** How the points that hold most have grown within the last minute. */
export class Growing {
	private readonly points = new Map<number, { row: TopPoint; past: { t: number; own: number }[] }>();
	private now = 0;

	note(tick: Tick): void {
		this.now = tick.t;
		for (const row of tick.top) {
			const known = this.points.get(row.point) ?? { row, past: [] };
			known.row = row;
			known.past.push({ t: tick.t, own: row.own });
			while (known.past.length > GROWTH_TICKS || (known.past[0]?.t ?? tick.t) < tick.t - GROWTH_NS) known.past.shift();
			this.points.set(row.point, known);
		}
		for (const [point, { past }] of this.points) if ((past.at(-1)?.t ?? 0) < tick.t - GROWTH_NS) this.points.delete(point);
	}

	/** Those that hold more than at every moment before, the fastest first. */
	list(): Growth[] {
		const found: Growth[] = [];
		for (const { row, past } of this.points.values()) {
			const [first, last] = [past[0], past.at(-1)];
			if (!first || last?.t !== this.now || last.own <= first.own || past.some(({ own }) => own > last.own)) continue;
			found.push({ ...row, by: last.own - first.own, over: last.t - first.t });
		}
		return found.sort((a, b) => b.by - a.by);
	}
}

export type Feed =
	| { kind: "waiting" } // for the process
	| { kind: "on" }
	| { kind: "none" } // nothing runs behind this server
	| { kind: "lost"; wait: number } // seconds until it is tried again
	| { kind: "ended"; exit: Maybe; signal: Maybe; trace: string | null };

export const ring = new Ring();
export const growing = new Growing();
export const feed = signal<Feed>({ kind: "waiting" });
/** Grows with each tick. */
export const beat = signal(0);
/** The newest tick whole: what is shown of now alone is not kept. */
export let newest: Tick | null = null;

let stream: EventSource | null = null;
let timer = 0;
let wait = 1;
let wanted = false; // somebody looks
let queue: Tick[] | null = null; // that came while older ones are fetched
let every = 0; // ns from one tick to the next, of late

function take(tick: Tick, past: boolean): void {
	const gap = tick.t - ring.last;
	if (ring.size && gap <= 0) return;
	ring.push(tick, !past && ring.size > 0 && every > 0 && gap > 3.5 * every);
	if (!past && ring.size > 1) every = gap;
	if (tick.top) growing.note(tick);
	newest = tick;
}

function arrived(tick: Tick): void {
	if (queue) {
		if (queue.length < TICKS) queue.push(tick);
		return;
	}
	take(tick, false);
	feed.value = { kind: "on" };
	beat.value++;
}

/** What happened while nobody listened. False: the server says that nothing runs. */
async function refill(): Promise<boolean> {
	queue ??= [];
	try {
		const reply = await source.get<{ ticks: Tick[] }>("/live/history", { from: ring.size ? Math.round(ring.last) : 0, res: TICKS });
		for (const tick of reply.data.ticks) take(tick, true);
		return true;
	} catch (error) {
		if (error instanceof ApiError && (error.status === 404 || error.status === 409)) return false;
		throw error;
	} finally {
		const late = queue ?? [];
		queue = null;
		for (const tick of late) take(tick, false);
		if (ring.size) beat.value++;
	}
}

function lose(): void {
	stream?.close();
	stream = null;
	if (!wanted || feed.value.kind === "ended") return;
	feed.value = { kind: "lost", wait };
	clearTimeout(timer);
	timer = window.setTimeout(() => void connect(), wait * 1000);
	wait = Math.min(30, wait * 2);
}

function listen(): void {
	const mine = new EventSource(address("/live", {}));
	stream = mine;
	mine.addEventListener("open", () => {
		wait = 1;
		if (feed.value.kind === "lost") feed.value = ring.size ? { kind: "on" } : { kind: "waiting" };
	});
	mine.addEventListener("tick", (event) => {
		wait = 1;
		arrived(JSON.parse((event as MessageEvent<string>).data) as Tick);
	});
	mine.addEventListener("gap", () => void refill().catch(() => undefined));
	mine.addEventListener("end", (event) => {
		const said = JSON.parse((event as MessageEvent<string>).data) as { exit?: Maybe; signal?: Maybe; trace?: string | null };
		mine.close();
		feed.value = { kind: "ended", exit: said.exit, signal: said.signal, trace: said.trace ?? null };
	});
	// while older ticks are fetched, it is known from that what is wrong
	mine.addEventListener("error", () => stream === mine && (queue ? mine.close() : lose()));
}

/** Listens, and fetches what was before; what comes meanwhile waits for that. */
export async function connect(): Promise<void> {
	clearTimeout(timer);
	wanted = true;
	if (stream || feed.value.kind === "ended") return;
	queue = [];
	listen();
	const mine = stream;
	try {
		const filled = await refill();
		if (stream !== mine) return;
		if (!filled) {
			disconnect();
			feed.value = { kind: "none" };
		} else if ((mine as EventSource | null)?.readyState === EventSource.CLOSED) lose();
		else if (ring.size && feed.peek().kind === "waiting") feed.value = { kind: "on" };
	} catch {
		if (stream === mine) lose();
	}
}

export function disconnect(): void {
	wanted = false;
	clearTimeout(timer);
	stream?.close();
	stream = null;
	wait = 1;
}
