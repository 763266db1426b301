// SPDX-License-Identifier: MIT
// A trace that is dropped on the page is sent to the server in pieces, and opened. Nothing leaves the machine that
// the server runs on.

import { useEffect, useState } from "preact/hooks";
import { bytes } from "./lib/format";
import { say } from "./lib/say";
import { embedded, source } from "./lib/source";
import { go } from "./lib/state";
import type { Status } from "./lib/types";
import { traces } from "./shell";

const PIECE = 192 << 10; // the server takes 256 kB at a time
const LOOK_MS = 300;

/** A name that the server takes, as near to the file's as can be. */
function nameOf(file: File): string {
	return file.name.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "").slice(-100) || "trace.hwt";
}

async function send(file: File, told: (sent: number) => void): Promise<string> {
	const at = `/uploads/${encodeURIComponent(nameOf(file))}?offset=`;
	let upload = 0; // the first piece begins one
	for (let sent = 0; sent < file.size || sent === 0; sent += PIECE) {
		upload = (await source.send<{ upload: number }>(`${at}${sent}&upload=${upload}`, file.slice(sent, sent + PIECE))).data.upload;
		told(Math.min(file.size, sent + PIECE));
	}
	return (await source.post<{ path: string }>("/traces", { upload })).data.path;
}

/** Waits until the server has read it. */
async function loaded(path: string): Promise<Status["traces"][number]> {
	for (;;) {
		traces.value = (await source.get<Status>("/status", {})).data.traces;
		const found = traces.value.find((item) => item.path === path);
		if (found?.state === "error") throw new Error(found.message ?? "The trace cannot be read.");
		if (found && found.state !== "indexing") return found;
		await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
	}
}

async function open(file: File, told: (words: string) => void): Promise<void> {
	const path = await send(file, (sent) => told(`${file.name}: ${bytes(sent)} of ${bytes(file.size)}`));
	told(`${file.name} is being read …`);
	const trace = await loaded(path);
	go("", { trace: trace.id, at: null, sel: null, t: null });
}

const holdsFiles = (event: DragEvent) => !embedded && (event.dataTransfer?.types.includes("Files") ?? false);

export function Drop() {
	const [over, setOver] = useState(false);
	const [words, setWords] = useState("");
	useEffect(() => {
		const drag = (event: DragEvent) => {
			if (!holdsFiles(event)) return;
			event.preventDefault();
			setOver(true);
		};
		const leave = (event: DragEvent) => event.relatedTarget == null && setOver(false);
		const drop = async (event: DragEvent) => {
			if (!holdsFiles(event)) return;
			event.preventDefault();
			setOver(false);
			for (const file of event.dataTransfer?.files ?? [])
				try {
					await open(file, setWords);
				} catch (error) {
					say(error instanceof Error ? error.message : String(error));
				}
			setWords("");
		};
		const dropped = (event: DragEvent) => void drop(event);
		window.addEventListener("dragover", drag);
		window.addEventListener("dragleave", leave);
		window.addEventListener("drop", dropped);
		return () => {
			window.removeEventListener("dragover", drag);
			window.removeEventListener("dragleave", leave);
			window.removeEventListener("drop", dropped);
		};
	}, []);
	if (!over && words === "") return null;
	return <div class="drop" role="status" data-t="drop">{words || "Drop a trace here to open it"}</div>;
}
