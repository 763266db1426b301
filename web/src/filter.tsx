// SPDX-License-Identifier: MIT
// The filter of all views: query text that completes itself, says where it is wrong, and remembers; and a chip for
// each of its stages.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Hints, hints, pastQueries, remember } from "./lib/complete";
import { caret } from "./lib/answer";
import { Icon } from "./lib/icons";
import { ns } from "./lib/format";
import { say } from "./lib/say";
import { source } from "./lib/source";
import { key, query, quote, set, stages, timeWindow } from "./lib/state";

interface Wrong {
	at: number;
	len: number;
	message: string;
	hint: string;
}

const LONGEST = 1500; // bytes of a query in an address

/** A long query is kept by the server, and the address names it. */
async function place(text: string): Promise<void> {
	const bytes = new TextEncoder().encode(text);
	if (bytes.length <= LONGEST) {
		set({ q: text, g: null });
		return;
	}
	let hash = 2166136261;
	for (const byte of bytes) hash = Math.imul(hash ^ byte, 16777619);
	const name = `long-${(hash >>> 0).toString(16)}`;
	await source.request("PUT", `/graphs/${name}`, { text });
	set({ q: null, g: name });
}

interface List extends Hints {
	past: boolean;
}

export function FilterBar() {
	const text = query();
	const [draft, setDraft] = useState(text);
	const [wrong, setWrong] = useState<Wrong | null>(null);
	const [list, setList] = useState<List | null>(null);
	const [at, setAt] = useState(-1); // the hint that Enter takes
	const input = useRef<HTMLInputElement>(null);
	const round = useRef(0);
	useEffect(() => {
		setDraft(text);
		setWrong(null);
		setList(null);
	}, [text]);
	const close = () => {
		round.current++;
		setList(null);
		setAt(-1);
	};
	const complete = (value: string) => {
		const mine = ++round.current;
		const cursor = input.current?.selectionStart ?? value.length;
		hints(value.slice(0, cursor))
			.then((found) => {
				if (mine !== round.current) return;
				setList(found.list.length ? { ...found, past: false } : null);
				setAt(-1);
			})
			.catch(close);
	};
	const showPast = () => {
		const past = pastQueries();
		round.current++;
		setList({ from: 0, past: true, list: past.map((item) => ({ text: item, note: "" })) });
		setAt(past.length ? 0 : -1);
		if (past.length === 0) say("No filter was applied yet.");
	};
	const take = (index: number) => {
		const hint = list?.list[index];
		if (!list || !hint) return;
		const cursor = list.past ? draft.length : (input.current?.selectionStart ?? draft.length);
		const before = draft.slice(0, list.from) + hint.text;
		const after = draft.slice(cursor);
		const space = list.past || after.startsWith(" ") || /[)]$/.test(hint.text) ? "" : " ";
		setDraft(before + space + after);
		close();
		requestAnimationFrame(() => {
			input.current?.focus();
			input.current?.setSelectionRange(before.length + space.length, before.length + space.length);
			if (!list.past) complete(before + space + after);
		});
	};
	const apply = async (event: Event) => {
		event.preventDefault();
		const asked = asQuery(draft.trim());
		close();
		if (asked === "") {
			set({ q: null, g: null });
			return;
		}
		try {
			const reply = await source.post<{ ok: boolean; errors: Wrong[] }>("/query/check", { text: asked });
			const first = reply.data.errors[0];
			if (!reply.data.ok && first) {
				setDraft(asked);
				setWrong(first);
				return;
			}
			setWrong(null);
			remember(asked);
			await place(asked);
		} catch (error) {
			setWrong({ at: 0, len: 0, message: error instanceof Error ? error.message : String(error), hint: "" });
		}
	};
	const keyDown = (event: KeyboardEvent) => {
		const count = list?.list.length ?? 0;
		if (event.key === "Escape" && list) close();
		else if (event.key === "ArrowDown" && count) setAt((at + 1) % count);
		else if (event.key === "ArrowUp" && count) setAt((at + count) % (count + 1) === count ? -1 : (at + count) % (count + 1));
		else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && draft.trim() === "") showPast();
		else if (event.key === "Enter" && at >= 0) take(at);
		else if (event.key === "Tab" && at >= 0) take(at);
		else if (event.key === " " && event.ctrlKey) complete(draft);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const parts = stages(text).filter((part) => part !== "all");
	return (
		<form class="filter" role="search" onSubmit={apply}>
			<label class="sr-only" for="query">Filter, as query text</label>
			<div class="query">
				<Icon name="search" size={14} />
				<input
					id="query"
					ref={input}
					value={draft}
					placeholder="Filter: a function, or a query such as all | where size >= 1 KiB"
					spellcheck={false}
					autocomplete="off"
					aria-autocomplete="list"
					aria-controls={list ? "query-hints" : undefined}
					aria-activedescendant={at >= 0 ? `query-hint-${at}` : undefined}
					aria-invalid={wrong != null}
					aria-describedby={wrong ? "query-problem" : undefined}
					onInput={(event) => {
						setDraft(event.currentTarget.value);
						setWrong(null);
						complete(event.currentTarget.value);
					}}
					onKeyDown={keyDown}
					onBlur={() => setTimeout(close, 150)}
				/>
				{list && list.list.length > 0 && (
					<ul id="query-hints" class="hints" role="listbox" aria-label={list.past ? "Filters that were applied before" : "Completions"}>
						{list.list.map((hint, index) => (
							<li
								id={`query-hint-${index}`}
								role="option"
								aria-selected={index === at}
								onPointerDown={(event) => {
									event.preventDefault();
									take(index);
								}}
							>
								<code>{hint.text}</code> <span class="quiet">{hint.note}</span>
							</li>
						))}
					</ul>
				)}
				<span class="sr-only" aria-live="polite">{list ? `${list.list.length} completions` : ""}</span>
			</div>
			<button type="submit">Apply</button>
			<button type="button" class="ghost" title="Filters that were applied before" aria-label="Past filters" onClick={() => { input.current?.focus(); showPast(); }}><Icon name="chevron" /></button>
			{wrong && (
				<div id="query-problem" class="caret" role="alert">
					<pre>{draft}{"\n"}{caret(draft, wrong.at, wrong.len)}</pre>
					{wrong.message} {wrong.hint}
				</div>
			)}
			{parts.map((part, index) => (
				<button type="button" class="chip" title="Remove this stage" onClick={() => set({ g: null, q: parts.length === 1 ? null : without(stages(text), part, index) })}>
					{part} <Icon name="x" size={12} />
				</button>
			))}
			{key("g") !== "" && <span class="quiet">saved as {key("g")}</span>}
			{key("t") !== "" && (
				<>
					<button type="button" class="chip" onClick={() => set({ t: null, tm: null })}>time {windowText()} <Icon name="x" size={12} /></button>
					<label class="choice">
						<span class="sr-only">Chunks of the window</span>
						<select value={key("tm") || "overlap"} onChange={(event) => set({ tm: event.currentTarget.value === "overlap" ? null : event.currentTarget.value })}>
							<option value="overlap">that live in it</option>
							<option value="alloc">allocated in it</option>
							<option value="free">freed in it</option>
						</select>
					</label>
				</>
			)}
		</form>
	);
}

const inputs = ["all", "at", "trace", "pass", "union", "diff", "common"];

/** A word that no query begins with is what a call stack has in it. */
function asQuery(text: string): string {
	return /^[\p{L}_~][\p{L}\p{N}_:~.]+$/u.test(text) && !inputs.includes(text) ? `all | where stack ~ ${quote(text)}` : text;
}

function windowText(): string {
	const window = timeWindow.value;
	return window ? `${ns(window.from)} to ${ns(window.to)}` : key("t");
}

/** A query without one of its stages. What reads nothing begins with all. */
function without(all: string[], part: string, index: number): string {
	const first = all[0] === "all" ? 1 : 0;
	const left = all.filter((other, at) => !(at === index + first && other === part));
	return left.length && !(first === 0 && index === 0) ? left.join(" | ") : ["all", ...left].join(" | ");
}
