// SPDX-License-Identifier: MIT
// What can be done with a thing: a frame, a point, a chunk, a type, a thread. The same four groups wherever it is
// shown, by the right button of the mouse or the menu key.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { editorLink } from "./editor";
import { copy } from "./say";
import { addWhere, exactly, go, key, lineOf, moduleIs, query, quote, set } from "./state";
import { embedded, sourced } from "./source";

export interface Act {
	label: string;
	on?: boolean; // of several of which one is chosen: this is the one
	run(): void;
}

export interface Subject {
	title: string;
	fn?: string | null; // somewhere on a stack
	module?: string | null;
	file?: string | null;
	line?: number | null;
	point?: number | null;
	chunk?: number | null;
	type?: string | null; // null = one that is not known
	thread?: number | null;
	condition?: string; // in place of the one that is made of the above
	stack?(): string | Promise<string>;
	focus?: Act[]; // what only this view can do
	acts?: readonly [string, Act[]][]; // in place of all that is made of the above
}

export type Groups = [string, Act[]][];

/** The condition that holds for it and nothing else. */
export function conditionOf(subject: Subject): string | null {
	if (subject.condition !== undefined) return subject.condition;
	if (subject.chunk != null) return `chunk == ${subject.chunk}`;
	if (subject.point != null) return `point == ${subject.point}`;
	if (subject.type !== undefined) return subject.type === null ? "not known(type)" : `type == ${quote(subject.type)}`;
	if (subject.thread != null) return `thread == ${subject.thread}`;
	if (subject.fn) return `stack == ${quote(subject.fn)}`;
	if (subject.module) return moduleIs("module", subject.module);
	return null;
}

function filters(subject: Subject): Act[] {
	const condition = conditionOf(subject);
	const acts: Act[] = [];
	if (embedded) return acts;
	if (condition) acts.push({ label: "Only this", run: () => addWhere(condition) }, { label: "Exclude", run: () => addWhere(`not ${condition}`) });
	if (subject.fn && !subject.focus) acts.push({ label: "Hide its frames", run: () => hideFrame(subject.fn ?? "") });
	if (subject.module) {
		const inside = moduleIs("stack_module", subject.module);
		acts.push({ label: "Only its module", run: () => addWhere(inside) }, { label: "Exclude its module", run: () => addWhere(`not ${inside}`) });
	}
	return acts;
}

function hideFrame(fn: string): void {
	set({ q: `${query() || "all"} | hide ${exactly(fn)}`, g: null });
}

function ways(subject: Subject): Act[] {
	const acts: Act[] = [];
	const { point, chunk, fn, type, thread, file, line } = subject;
	const sel = point != null ? `p:${point}` : chunk != null ? `c:${chunk}` : type != null ? `ty:${type}` : thread != null ? `th:${thread}` : fn ? `f:${fn}` : key("sel");
	const condition = conditionOf(subject);
	const narrowed = (view: string, label: string) => {
		// What a thread did is more than what it held at the peak.
		const metric = view === "flame" && thread != null ? { metric: "bytes" } : {};
		if (condition && !embedded) acts.push({ label, run: () => go(view, { sel, g: null, q: `${query() || "all"} | where ${condition}`, ...metric }) });
	};
	if (point != null) acts.push({ label: "Sizes, lives, who frees it", run: () => go(`point/${point}`, { sel }) });
	if (point != null) acts.push({ label: "Flame graph", run: () => go("flame", { sel }) });
	else narrowed("flame", "Flame graph of this");
	narrowed("time", "Timeline of this");
	if (point == null) narrowed("points", "Points of this");
	if (point != null) acts.push({ label: "Chunks", run: () => go("chunks", { sel, point }) });
	else narrowed("chunks", "Chunks of this");
	if (fn) acts.push({ label: "Call graph", run: () => go("calls", { fn, sel }) });
	if (file && sourced) acts.push({ label: "Source", run: () => go(lineOf(file, line), { sel }) });
	const editor = file ? editorLink(file, line ?? 1) : null;
	if (editor) acts.push({ label: "Open in the editor", run: () => void (location.href = editor) });
	return acts;
}

function copies(subject: Subject): Act[] {
	const condition = conditionOf(subject);
	const acts: Act[] = [];
	if (subject.stack) acts.push({ label: "Stack", run: () => void Promise.resolve(subject.stack?.() ?? "").then((text) => copy(text, "the stack")) });
	if (condition) acts.push({ label: "Query", run: () => void copy(`${query() || "all"} | where ${condition}`, "the query") });
	if (!subject.stack) acts.unshift({ label: "Name", run: () => void copy(subject.fn ?? subject.title, "the name") });
	return acts;
}

export function actsOf(subject: Subject): Groups {
	if (subject.acts) return subject.acts.filter(([, acts]) => acts.length > 0) as Groups;
	const all: Groups = [
		["Focus", subject.focus ?? []],
		["Filter", filters(subject)],
		["Go to", ways(subject)],
		["Copy", copies(subject)],
	];
	return all.filter(([, acts]) => acts.length > 0);
}

interface Open {
	x: number;
	y: number;
	subject: Subject;
	back: Element | null; // where the keyboard was
}

const opened = signal<Open | null>(null);

export function openMenu(x: number, y: number, subject: Subject): void {
	opened.value = { x, y, subject, back: document.activeElement };
}

/** The keys that ask for a menu. */
export function menuKey(event: KeyboardEvent): boolean {
	return event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
}

/** For an element that stands for a thing. */
export function menuOf(subject: () => Subject) {
	return {
		onContextMenu: (event: MouseEvent) => {
			event.preventDefault();
			openMenu(event.clientX, event.clientY, subject());
		},
		onKeyDown: (event: KeyboardEvent) => {
			if (!menuKey(event)) return;
			const box = (event.currentTarget as Element).getBoundingClientRect();
			event.preventDefault();
			event.stopPropagation();
			openMenu(box.left + 20, box.top + box.height / 2, subject());
		},
	};
}

function close(): void {
	const back = opened.value?.back;
	opened.value = null;
	if (back instanceof HTMLElement || back instanceof SVGElement) back.focus();
}

export function Menu() {
	const list = useRef<HTMLDivElement>(null);
	const open = opened.value;
	useLayoutEffect(() => {
		const element = list.current;
		if (!element || !open) return;
		const box = element.getBoundingClientRect();
		element.style.left = `${Math.max(4, Math.min(open.x, window.innerWidth - box.width - 4))}px`;
		element.style.top = `${Math.max(4, Math.min(open.y, window.innerHeight - box.height - 4))}px`;
		element.querySelector("button")?.focus();
		const outside = (event: PointerEvent) => !element.contains(event.target as Node) && (opened.value = null);
		window.addEventListener("pointerdown", outside);
		return () => window.removeEventListener("pointerdown", outside);
	}, [open]);
	if (!open) return null;
	const keyDown = (event: KeyboardEvent) => {
		const all = [...(list.current?.querySelectorAll("button") ?? [])];
		const at = all.indexOf(document.activeElement as HTMLButtonElement);
		const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at + all.length - 1) % all.length, Home: 0, End: all.length - 1 }[event.key];
		event.stopPropagation();
		if (to !== undefined) all[to]?.focus();
		else if (event.key === "Escape" || event.key === "Tab") close();
		else if (event.key.length === 1) [...all.slice(at + 1), ...all.slice(0, at + 1)].find((item) => item.textContent?.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
		else return;
		if (event.key !== "Enter") event.preventDefault();
	};
	return (
		<div ref={list} class="menu" role="menu" aria-label={open.subject.title} data-t="menu" onKeyDown={keyDown} onContextMenu={(event) => event.preventDefault()}>
			{!open.subject.acts && <p class="quiet" role="presentation">{open.subject.title.slice(0, 120)}</p>}
			{actsOf(open.subject).map(([group, acts]) => (
				<div role="group" aria-label={group}>
					{group !== "" && <span aria-hidden="true">{group}</span>}
					{acts.map((act) => (
						<button
							role={act.on === undefined ? "menuitem" : "menuitemradio"}
							aria-checked={act.on}
							tabIndex={-1}
							onClick={() => {
								close();
								act.run();
							}}
						>
							{act.label}
						</button>
					))}
				</div>
			))}
		</div>
	);
}
