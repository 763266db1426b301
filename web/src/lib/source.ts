// SPDX-License-Identifier: MIT
// Where answers come from: the server that served this page, or data embedded in it (a report in one file).

import { signal } from "@preact/signals";
import { sorted } from "./sort";

export interface Totals {
	chunks: number;
	bytes: number;
	allocs?: number; // what they stand for, if that is more
	requested?: number;
}

export const allocsOf = (all: Totals | undefined) => all?.allocs ?? all?.chunks ?? 0;
export const bytesOf = (all: Totals | undefined) => all?.requested ?? all?.bytes ?? 0;

export interface Reply<T> {
	v: number;
	epoch: number;
	took_us: number;
	matched: Totals;
	total: Totals;
	truncated: boolean;
	data: T;
}

export class ApiError extends Error {
	constructor(
		readonly status: number, // 0 = no answer
		readonly code: string,
		message: string,
		readonly at: number | null = null,
		readonly hint = "",
		readonly id = "",
		readonly retryAfter = 0, // seconds
		readonly box = "", // of a filter graph
	) {
		super(message);
	}
}

export type Params = Record<string, string | number | boolean | null | undefined>;

export interface DataSource {
	get<T>(path: string, params: Params, signal?: AbortSignal): Promise<Reply<T>>;
	post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<Reply<T>>;
	request<T>(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<Reply<T>>;
	/** Bytes as they are. */
	send<T>(path: string, piece: Blob): Promise<Reply<T>>;
}

/** Questions that have no answer yet: tests wait for none. */
export let pending = 0;
const waiting: (() => void)[] = [];

const AT_ONCE = 2; // one is on its way, or painted, while the server works at the next

/** As soon as so few are awaited that one more is not in the way, in the order of the calls. */
export function whenRoom(act: () => void): void {
	if (pending < AT_ONCE) act();
	else waiting.push(act);
}

function answered(): void {
	pending--;
	if (pending < AT_ONCE) for (const act of waiting.splice(0)) act();
}

export const offline = signal<ApiError | null>(null);

export function address(path: string, params: Params): string {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(params))
		if (value != null && value !== "") query.set(name, String(value));
	const text = query.toString();
	return `api/v1${path}${text ? `?${text}` : ""}`;
}

interface ErrorBody {
	error?: { code?: string; message?: string; at?: number; box?: string; hint?: string; id?: string } | string;
}

async function failure(response: Response): Promise<ApiError> {
	const body = (await response.json().catch(() => ({}))) as ErrorBody;
	const error = typeof body.error === "string" ? { message: body.error } : (body.error ?? {});
	return new ApiError(
		response.status,
		error.code ?? "error",
		error.message ?? `The server answered ${response.status}.`,
		error.at ?? null,
		error.hint ?? "",
		error.id ?? "",
		Number(response.headers.get("Retry-After") ?? 0),
		error.box ?? "",
	);
}

export class HttpSource implements DataSource {
	get<T>(path: string, params: Params, abort?: AbortSignal): Promise<Reply<T>> {
		return this.fetch<T>(address(path, params), { signal: abort ?? null });
	}

	post<T>(path: string, body: unknown, abort?: AbortSignal): Promise<Reply<T>> {
		return this.request("POST", path, body, abort);
	}

	request<T>(method: string, path: string, body: unknown, abort?: AbortSignal): Promise<Reply<T>> {
		return this.fetch<T>(`api/v1${path}`, {
			method,
			headers: { "Content-Type": "application/json", "X-Heapwise": "1" },
			body: body === undefined ? null : JSON.stringify(body),
			signal: abort ?? null,
		});
	}

	send<T>(path: string, piece: Blob): Promise<Reply<T>> {
		return this.fetch<T>(`api/v1${path}`, { method: "PUT", headers: { "X-Heapwise": "1" }, body: piece });
	}

	private async fetch<T>(where: string, init: RequestInit): Promise<Reply<T>> {
		pending++;
		try {
			return await this.ask<T>(where, init);
		} finally {
			answered();
		}
	}

	private async ask<T>(where: string, init: RequestInit): Promise<Reply<T>> {
		let response: Response;
		try {
			response = await fetch(where, { credentials: "same-origin", ...init });
		} catch (error) {
			if (init.signal?.aborted) throw error;
			const gone = new ApiError(0, "gone", "The server does not answer. What is shown stays usable.");
			offline.value = gone;
			throw gone;
		}
		if (!response.ok) {
			const error = await failure(response);
			if (error.status === 401) offline.value = error;
			throw error;
		}
		const reply = (await response.json()) as Reply<T>;
		offline.value = null;
		return reply;
	}
}

/** Answers that lie in the page itself: a report in one file. What is not there is said to be missing. */
export class EmbeddedSource implements DataSource {
	private readonly blocks = new Map<string, string>();

	constructor() {
		for (const element of document.querySelectorAll<HTMLScriptElement>("script[data-k]")) this.blocks.set(element.dataset.k ?? "", element.textContent ?? "");
	}

	async get<T>(path: string, params: Params): Promise<Reply<T>> {
		pending++;
		try {
			if (path === "/points") return (await this.points(params)) as Reply<T>;
			return await this.read<T>(blockKey(path, params));
		} finally {
			answered();
		}
	}

	post<T>(): Promise<Reply<T>> {
		return Promise.reject(missing());
	}

	request<T>(): Promise<Reply<T>> {
		return Promise.reject(missing());
	}

	send<T>(): Promise<Reply<T>> {
		return Promise.reject(missing());
	}

	private async read<T>(key: string): Promise<Reply<T>> {
		const text = this.blocks.get(key);
		if (text === undefined) throw missing();
		const packed = Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
		const stream = new Blob([packed]).stream();
		const gzip = packed[0] === 0x1f && packed[1] === 0x8b;
		return (await new Response(gzip ? stream.pipeThrough(new DecompressionStream("gzip")) : stream).json()) as Reply<T>;
	}

	/** Pages are in the order of severity; another order is made here. */
	private async points(params: Params): Promise<Reply<{ total: number; rows: Record<string, unknown>[] }>> {
		const keys = [...this.blocks.keys()].filter((key) => key.startsWith("/points?"));
		const pages = await Promise.all(keys.map((key) => this.read<{ total: number; offset: number; rows: Record<string, unknown>[] }>(key)));
		const first = pages[0];
		const wanted = String(params.sort ?? "-sev");
		if (!first || params.q || params.t0) throw missing();
		const all = pages.sort((a, b) => a.data.offset - b.data.offset).flatMap((page) => page.data.rows);
		const rows = wanted === "-sev" ? all : sorted(all, wanted);
		const offset = Number(params.offset ?? 0);
		return { ...first, data: { total: rows.length, rows: rows.slice(offset, offset + Number(params.limit ?? 100)) } };
	}
}

/** A question as the report names it: parameters in the order of their names. */
export function blockKey(path: string, params: Params): string {
	const given = Object.entries(params).filter(([, value]) => value != null && value !== "");
	const query = given.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `${name}=${value}`).join("&");
	return query ? `${path}?${query}` : path;
}

function missing(): ApiError {
	return new ApiError(404, "missing", "This is not in the report.", null, "Open the recording for it: heapwise serve --open TRACE");
}

/** Whether this page is a report in one file. */
export const embedded = document.querySelector("script[data-k]") !== null;
/** Whether source text can be shown: a report has it only on request. */
export const sourced = !embedded || document.querySelector('script[data-k^="/source?"]') !== null;
/** The lines of a file that a report has. */
export const LINES = { from: 1, to: 2000 };
/** The moments (ns, in order) of which a report knows what was live; none = any moment can be asked for. */
export const moments: readonly number[] = [...document.querySelectorAll<HTMLScriptElement>('script[data-k^="/flame?at="]')]
	.map((element) => Number(/at=(\d+)/.exec(element.dataset.k ?? "")?.[1]))
	.sort((a, b) => a - b)
	.filter((time, at, all) => time !== all[at - 1]);

/** Looks (ns) at resident memory of which a report has the bill; null = any can be asked for. */
export const billed: ReadonlySet<number> | null = embedded ? new Set([...document.querySelectorAll<HTMLScriptElement>('script[data-k^="/resident?at="]')].map((element) => Number(/at=(\d+)/.exec(element.dataset.k ?? "")?.[1]))) : null;

/** The moment that comes next to a time, and so many further on. */
export function momentAt(time: number, further = 0): number {
	if (moments.length === 0) return time;
	let best = 0;
	moments.forEach((moment, at) => {
		if (Math.abs(moment - time) < Math.abs((moments[best] ?? 0) - time)) best = at;
	});
	return moments[Math.min(moments.length - 1, Math.max(0, best + further))] ?? time;
}

export const source: DataSource = embedded ? new EmbeddedSource() : new HttpSource();
