// SPDX-License-Identifier: MIT
// Three lines of a source file, where it is at hand.

import { useAnswer } from "./answer";
import { embedded } from "./source";
import { whole } from "./state";

interface Lines {
	found: boolean;
	lines: { n: number; text: string | null }[];
}

export function Excerpt({ file, line }: { file: string; line: number }) {
	const files = useAnswer<{ rows: { id: number; file: string }[] }>(embedded ? null : "/files", { ...whole(), limit: 500 }).reply?.data;
	const id = files?.rows.find((row) => row.file === file)?.id;
	const from = Math.max(1, line - 1);
	const reply = useAnswer<Lines>(id == null ? null : "/source", { ...whole(), file: id, from, to: from + 2 }).reply?.data;
	if (!reply?.found) return null;
	// what all lines are indented by takes room and says nothing
	const indents = reply.lines.flatMap(({ text }) => (text?.trim() ? [/^\s*/.exec(text)?.[0] ?? ""] : []));
	const indent = indents.reduce((least, other) => (other.startsWith(least) ? least : least.startsWith(other) ? other : ""), indents[0] ?? "");
	return <pre class="excerpt">{reply.lines.map((row) => <span class={row.n === line ? "here" : ""}><i>{row.n}</i>{(row.text ?? "").slice(indent.length)}{"\n"}</span>)}</pre>;
}
