// SPDX-License-Identifier: MIT
// What may be written next in a query: words come from the server's catalogue of boxes and fields, names from the
// trace. Whether a text is right only the server says; these are hints.

import { source } from "./source";
import { whole } from "./state";

export interface Hint {
	text: string; // what is put in
	note: string;
}

export interface Hints {
	from: number; // from there to the cursor it is replaced
	list: Hint[];
}

interface Catalogue {
	boxes: { rows: { kind: string; group: string; help: string; example: string }[] };
	fields: { rows: { name: string; type: string; meaning: string }[] };
}

let catalogue: Promise<Catalogue> | null = null;

function boxes(): Promise<Catalogue> {
	catalogue ??= source.get<Catalogue>("/query/boxes", {}).then((reply) => reply.data);
	catalogue.catch(() => (catalogue = null));
	return catalogue;
}

/** Whose names a field has. */
const kinds: Record<string, string> = {
	fn: "fn", stack: "fn", free_fn: "fn", free_stack: "fn",
	type: "type", template: "type",
	module: "module", stack_module: "module", free_module: "module",
	file: "file", stack_file: "file", free_file: "file",
};

/** Values that are words of the language or of the recorder. */
const values: Record<string, string[]> = {
	call: ["malloc", "calloc", "realloc", "memalign", "new", "new[]", "pool"],
	leak_kind: ["reachable", "possible", "indirect", "lost", "unknown"],
	type_source: ["declared", "vtable", "frame", "index", "dwarf", "size"],
};
const views = ["text", "csv", "flame", "timeline", "map", "points", "chunks", "types", "threads"];
const calculations = ["count()", "sum(size)", "avg(size)", "min(size)", "max(size)", "p50(life)", "p99(size)"];

function words(list: string[], note: string): Hint[] {
	return list.map((text) => ({ text, note }));
}

async function names(kind: string, begun: string): Promise<Hint[]> {
	const reply = await source.get<{ label: string; count: number }[]>("/suggest", { ...whole(), kind, s: begun, n: 12 });
	return reply.data.map((row) => ({ text: row.label, note: `${row.count.toLocaleString("en")} chunks` }));
}

/** What may follow the text before the cursor. */
export async function hints(before: string): Promise<Hints> {
	const text = /(\w+)\s*(?:==|!=|~)\s*"((?:[^"\\]|\\.)*)$/.exec(before);
	if (text) {
		const field = text[1] ?? "";
		const begun = text[2] ?? "";
		const from = before.length - begun.length;
		const kind = kinds[field];
		if (kind) return { from, list: (await names(kind, begun)).map((hint) => ({ ...hint, text: `${hint.text.replace(/["\\]/g, "\\$&")}"` })) };
		return { from, list: words((values[field] ?? []).filter((value) => value.startsWith(begun)).map((value) => `${value}"`), "") };
	}
	if ((before.replace(/\\./g, "").match(/"/g) ?? []).length % 2 === 1) return { from: before.length, list: [] };
	const begun = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
	const from = before.length - begun.length;
	const left = before.slice(0, from).trimEnd();
	const { boxes: stages, fields } = await boxes();
	const fieldHints = fields.rows.map((row) => ({ text: row.name, note: row.meaning }));
	const isInput = (group: string) => group === "Input" || group === "Set";
	let list: Hint[];
	if (/\|$/.test(left)) list = stages.rows.filter((row) => !isInput(row.group) && !/^let /.test(row.example)).map((row) => ({ text: row.kind, note: row.help }));
	else if (/(^|[;=(])$/.test(left) && !/\b(where|if|and|or|not)\b[^|]*$/.test(left)) list = [...stages.rows.filter((row) => isInput(row.group) && row.kind !== "pass").map((row) => ({ text: row.kind, note: row.help })), { text: "let", note: "a name for a pipe, a score or a category" }];
	else if (/\bshow$/.test(left)) list = words(views, "view");
	else if (/\bagg\b[^|]*$/.test(left) && /(agg|,)$/.test(left)) list = words(calculations, "calculation");
	else if (/\bat$/.test(left)) list = words(["peak", "end"], "moment");
	else if (/\bunify$/.test(left)) list = words(["until"], "");
	else if (/(where|if|and|or|not|join|by|sort|[,(])$/.test(left)) list = /\bsort$/.test(left) || /(join|by|,)$/.test(left) ? fieldHints : [...fieldHints, { text: "not", note: "turns it round" }, { text: "known", note: "whether there is a value" }];
	else if (fields.rows.some((row) => new RegExp(`\\b${row.name}$`).test(left))) list = begun === "" ? [] : words(["in", "and", "or", "desc", "asc"], "");
	else list = words(["and", "or", "in", "desc", "asc", "if"], "");
	const wanted = begun.toLowerCase();
	const fitting = list.filter((hint) => hint.text.toLowerCase().startsWith(wanted) && hint.text !== begun);
	const inside = wanted.length > 1 ? list.filter((hint) => !fitting.includes(hint) && hint.text.toLowerCase().includes(wanted) && hint.text !== begun) : [];
	return { from, list: [...fitting, ...inside].slice(0, 14) };
}

const KEY = "heapwise.queries";
const MOST = 30;

/** Queries that were applied in this browser, the last one first. */
export function pastQueries(): string[] {
	try {
		const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
		return Array.isArray(list) ? list.filter((item): item is string => typeof item === "string") : [];
	} catch {
		return [];
	}
}

export function remember(text: string): void {
	localStorage.setItem(KEY, JSON.stringify([text, ...pastQueries().filter((old) => old !== text)].slice(0, MOST)));
}
