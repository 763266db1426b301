// SPDX-License-Identifier: MIT
// What people write about findings: a status and a text, kept beside the trace. A report in one file shows them as
// they were.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Groups } from "./menu";
import { say } from "./say";
import { embedded, source } from "./source";
import { key, trace } from "./state";

export interface Note {
	finding: string;
	status: "open" | "accepted" | "fixed";
	text: string;
	changed: string;
}

const notes = signal<ReadonlyMap<string, Note>>(new Map());

const keep = (list: Note[]) => void (notes.value = new Map(list.map((note) => [note.finding, note])));
const asked = () => (embedded ? {} : { trace: key("trace") });

/** Reads the notes of the trace that is shown. */
export function useNotes(): void {
	useEffect(() => {
		let current = true;
		source.get<Note[]>("/notes", asked()).then(
			(reply) => current && keep(reply.data),
			() => current && keep([]), // an older report has none
		);
		return () => void (current = false);
	}, [key("trace")]);
}

/** True if it is kept. */
async function setNote(finding: string, status: string, text: string): Promise<boolean> {
	const trace = key("trace");
	const where = trace === "" ? "" : `?trace=${encodeURIComponent(trace)}`;
	try {
		const { data } = await source.request<Note[]>("PUT", `/notes/${encodeURIComponent(finding)}${where}`, { status, text });
		if (key("trace") === trace) keep(data);
		return true;
	} catch (error) {
		say(error instanceof Error ? error.message : String(error));
		return false;
	}
}

/** What can be said of a finding. A report in one file cannot be changed, and a trace without a file has no place for notes. */
export function noteActs(finding: string, write: () => void): Groups {
	const note = notes.value.get(finding);
	const status = note?.status ?? "open";
	const others = [["open", "Open again"], ["accepted", "Accepted"], ["fixed", "Fixed"]] as const;
	if (embedded || !trace.value?.caps.notes) return [];
	return [["Note", [...others.filter(([name]) => name !== status).map(([name, label]) => ({ label, run: () => void setNote(finding, name, note?.text ?? "") })), { label: "Write a note", run: write }]]];
}

const focus = (element: HTMLElement | null) => element?.focus();

/** The note of a finding: read, or changed. */
export function NoteOf({ finding, writing, onDone }: { finding: string; writing: boolean; onDone(): void }) {
	const note = notes.value.get(finding);
	const [text, setText] = useState(note?.text ?? "");
	useEffect(() => setText(note?.text ?? ""), [note?.text, writing]);
	if (writing && !embedded)
		return (
			<form
				class="note-form"
				onSubmit={(event) => {
					event.preventDefault();
					void setNote(finding, note?.status ?? "open", text).then((kept) => kept && onDone());
				}}
			>
				<textarea aria-label="Note" rows={2} maxLength={4000} value={text} placeholder="Why it is so, or what was done about it" onInput={(event) => setText(event.currentTarget.value)} ref={focus} />
				<button type="submit">Save</button>
				<button type="button" onClick={onDone}>Cancel</button>
			</form>
		);
	if (!note || (note.status === "open" && !note.text)) return null;
	return (
		<p class="note-line" data-t="note">
			{note.status !== "open" && <span class={`chip ${note.status}`}>{note.status}</span>} {note.text} <span class="quiet small">{note.changed.slice(0, 10)}</span>
		</p>
	);
}
