// SPDX-License-Identifier: MIT
// Three lines of a source file, where it is at hand.

import { useAnswer } from "./answer";
import { LINES, embedded, sourced } from "./source";
import { whole } from "./state";

interface Lines {
	found: boolean;
	lines: { n: number; text: string | null }[];
}

export function Excerpt({ file, line }: { file: string; line: number }) {
	const files = useAnswer<{ rows: { id: number; file: string }[] }>(sourced ? "/files" : null, { ...whole(), limit: 500 }).reply?.data;
	const id = files?.rows.find((row) => row.file === file)?.id;
	const from = Math.max(1, line - 1);
	const reply = useAnswer<Lines>(id == null ? null : "/source", { ...whole(), file: id, ...(embedded ? LINES : { from, to: from + 2 }) }).reply?.data;
	const lines = reply?.lines.filter(({ n, text }) => n >= from && n <= from + 2 && text != null) ?? [];
	if (!reply?.found || lines.length === 0) return null;
	// what all lines are indented by takes room and says nothing
	const indents = lines.flatMap(({ text }) => (text?.trim() ? [/^\s*/.exec(text)?.[0] ?? ""] : []));
	const indent = indents.reduce((least, other) => (other.startsWith(least) ? least : least.startsWith(other) ? other : ""), indents[0] ?? "");
	return <pre class="excerpt">{lines.map((row) => <span class={row.n === line ? "here" : ""}><i>{row.n}</i>{(row.text ?? "").slice(indent.length)}{"\n"}</span>)}</pre>;
}
