// SPDX-License-Identifier: MIT
// A question of a panel and its states: nothing changes below 150 ms, then a thin line of progress, then
// words of the server, with a way out. A newer question ends the older one.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, type Params, type Reply, source } from "./source";
import { place, query, set, stages } from "./state";
import { copy } from "./say";
import { Empty, Skeleton } from "./controls";

export interface Answer<T> {
	reply: Reply<T> | null; // the last one; stays while the next is awaited
	asked: Params; // what it answers
	error: ApiError | null;
	busy: 0 | 1 | 2; // 2 = for more than a second
	phase: string;
	retry(): void;
	cancel(): void;
}

/** Grows when everything is to be asked again: of a program that runs there is more to be known. */
export const renewed = signal(0);

/** How often the server is asked again while it reads the trace. */
const POLL_MS = 300;

function sleep(ms: number, abort: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(resolve, ms);
		abort.addEventListener("abort", () => {
			clearTimeout(timer);
			reject(new DOMException("aborted", "AbortError"));
		});
	});
}

/** Asks again as long as the server says that it is not ready. */
async function ask<T>(path: string, params: Params, abort: AbortSignal, waiting: (phase: string) => void): Promise<Reply<T>> {
	for (;;) {
		try {
			return await source.get<T>(path, params, abort);
		} catch (error) {
			if (!(error instanceof ApiError) || error.status !== 503) throw error;
			waiting(error.message);
			await sleep(POLL_MS, abort);
		}
	}
}

/** inTurn: a newer question leaves the older ones to be answered, as long as they are quicker. */
export function useAnswer<T>(path: string | null, params: Params, inTurn = false): Answer<T> {
	const [{ reply, asked }, setReply] = useState<{ reply: Reply<T> | null; asked: Params }>({ reply: null, asked: {} });
	const [error, setError] = useState<ApiError | null>(null);
	const [busy, setBusy] = useState<0 | 1 | 2>(0);
	const [phase, setPhase] = useState("");
	const [round, setRound] = useState(0);
	const awaited = useRef<AbortController[]>([]); // the oldest first
	const end = (count = awaited.current.length) => awaited.current.splice(0, count).forEach((one) => one.abort());
	const question = path === null ? "" : `${path} ${JSON.stringify(params)}`;

	// not after the next frame: it is asked while that is painted
	useLayoutEffect(() => {
		if (path === null || !inTurn) end();
		if (path === null) return;
		const mine = new AbortController();
		const soon = setTimeout(() => setBusy(1), 150);
		const late = setTimeout(() => setBusy(2), 1000);
		awaited.current.push(mine);
		ask<T>(path, params, mine.signal, setPhase)
			.then((next) => {
				if (mine.signal.aborted) return;
				end(awaited.current.indexOf(mine));
				setReply({ reply: next, asked: params });
				setError(null);
			})
			.catch((problem: unknown) => {
				if (mine.signal.aborted) return;
				setError(problem instanceof ApiError ? problem : new ApiError(0, "page", String(problem)));
			})
			.finally(() => {
				clearTimeout(soon);
				clearTimeout(late);
				awaited.current = awaited.current.filter((one) => one !== mine);
				if (awaited.current.length > 0) return;
				setBusy(0);
				setPhase("");
			});
		return () => {
			clearTimeout(soon);
			clearTimeout(late);
		};
		// the question says all of path and params
	}, [question, round, renewed.value]);
	useLayoutEffect(() => () => end(), []);

	return {
		reply,
		asked,
		error,
		busy,
		phase,
		retry: () => setRound((n) => n + 1),
		cancel: () => end(),
	};
}

/** Marks under the place that the server complains of, which it counts in bytes. */
export function caret(text: string, at: number, length = 1): string {
	const before = new TextDecoder().decode(new TextEncoder().encode(text).slice(0, Math.max(0, at)));
	return " ".repeat([...before].length) + "^".repeat(Math.max(1, Math.min(length, 80)));
}

/** The caret under the column that the server complains of. */
function QueryProblem({ error }: { error: ApiError }) {
	const text = query();
	return (
		<div class="problem" role="alert">
			<pre>
				{text}
				{error.at != null ? `\n${caret(text, error.at)}` : ""}
			</pre>
			<p>{error.message}</p>
			{error.hint && <p>{error.hint}</p>}
			<button onClick={() => set({ q: null, g: null })}>Remove the filter</button>
		</div>
	);
}

export function Problem({ error, retry }: { error: ApiError; retry(): void }) {
	if (error.status === 400 && error.code === "bad_query") return <QueryProblem error={error} />;
	return (
		<div class="problem" role="alert">
			<p>{error.message}</p>
			{error.hint && <p>{error.hint}</p>}
			{error.id && <p class="quiet">Request {error.id}, status {error.status}</p>}
			<button onClick={retry}>Try again</button>
			{error.status >= 500 && <button onClick={() => void copy(`${error.status} ${error.code} ${error.id}\n${error.message}\n${location.hash}`, "the report")}>Copy report</button>}
		</div>
	);
}

/** Which stage lets nothing pass, and how much reached it. */
function useCulprit(text: string): { stage: number; before: number } | null {
	const [found, setFound] = useState<{ stage: number; before: number } | null>(null);
	useEffect(() => {
		if (text === "") return;
		const trace = place.value.keys.get("trace");
		source
			.post<{ chunks: number }[]>(`/query/counts${trace ? `?trace=${encodeURIComponent(trace)}` : ""}`, { text })
			.then((reply) => {
				const at = reply.data.findIndex((box) => box.chunks === 0);
				setFound(at > 0 && reply.data.length === stages(text).length ? { stage: at, before: reply.data[at - 1]?.chunks ?? 0 } : null);
			})
			.catch(() => setFound(null));
	}, [text]);
	return found;
}

function NothingMatches() {
	const text = query();
	const list = stages(text);
	const culprit = useCulprit(text);
	const at = culprit?.stage ?? list.length - 1;
	return (
		<Empty>
			<p>No chunk matches this filter.</p>
			{culprit && <p>{culprit.before.toLocaleString("en")} chunks reached “{list[at]}”, none passed.</p>}
			{text !== "" && list.length > 0 && (
				<button onClick={() => set({ g: null, q: at > 0 && list.length > 2 ? list.filter((_, other) => other !== at).join(" | ") : null })}>Remove “{list[at]}”</button>
			)}
			{place.value.keys.has("t") && <button onClick={() => set({ t: null })}>Remove the time window</button>}
		</Empty>
	);
}

interface PanelProps<T> {
	answer: Answer<T>;
	label: string;
	empty?: (data: T) => string | null; // a sentence, if there is nothing to show
	children: (data: T, reply: Reply<T>) => ComponentChildren;
}

export function Panel<T>({ answer, label, empty, children }: PanelProps<T>) {
	const { reply, error, busy, phase } = answer;
	const filtered = query() !== "" || place.value.keys.has("t");
	const words = reply && empty ? empty(reply.data) : null;
	return (
		<section class="panel" aria-label={label} aria-busy={busy > 0}>
			<div class={`progress${busy ? " on" : ""}`} />
			{busy === 2 && (
				<p class="phase" role="status">
					{phase || "Working"} … <button onClick={answer.cancel}>Cancel</button>
				</p>
			)}
			{error && <Problem error={error} retry={answer.retry} />}
			{reply && !error && filtered && reply.matched?.chunks === 0 ? (
				<NothingMatches />
			) : reply && words ? (
				<Empty>{words}</Empty>
			) : (
				(reply && children(reply.data, reply)) ?? (busy > 0 && !error && <Skeleton block />)
			)}
		</section>
	);
}
