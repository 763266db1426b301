// SPDX-License-Identifier: MIT
// Where source files are on the machine that looks at them, and how its editor is asked to show a line. Both are
// this browser's own affair, and are kept in it.

import { signal } from "@preact/signals";

export interface Editor {
	name: string;
	link: string; // with {file} and {line}
}

export const editors: readonly Editor[] = [
	{ name: "none", link: "" },
	{ name: "VS Code", link: "vscode://file{file}:{line}" },
	{ name: "VSCodium", link: "vscodium://file{file}:{line}" },
	{ name: "CLion", link: "clion://open?file={file}&line={line}" },
	{ name: "Sublime Text", link: "subl://open?url=file://{file}&line={line}" },
	{ name: "Emacs", link: "org-protocol://open-source?url=file://{file}&line={line}" },
	{ name: "Zed", link: "zed://file{file}:{line}" },
];

const EDITOR = "heapwise.editor";
const PREFIXES = "heapwise.prefixes";

export interface Prefix {
	from: string;
	to: string;
}

function storedPrefixes(): Prefix[] {
	try {
		const list: unknown = JSON.parse(localStorage.getItem(PREFIXES) ?? "[]");
		return Array.isArray(list) ? list.filter((item): item is Prefix => typeof item?.from === "string" && typeof item?.to === "string") : [];
	} catch {
		return [];
	}
}

export const editor = signal(localStorage.getItem(EDITOR) ?? "");
export const prefixes = signal<readonly Prefix[]>(storedPrefixes());

/** A link of another scheme: never one that runs a script in this page. */
export function allowedLink(link: string): boolean {
	return link === "" || (/^[a-z][a-z0-9+.-]*:/i.test(link) && !/^(javascript|data|vbscript|blob|file|https?):/i.test(link));
}

export function chooseEditor(link: string): boolean {
	if (!allowedLink(link)) return false;
	editor.value = link;
	localStorage.setItem(EDITOR, link);
	return true;
}

export function setPrefixes(list: readonly Prefix[]): void {
	prefixes.value = list.filter((item) => item.from !== "");
	localStorage.setItem(PREFIXES, JSON.stringify(prefixes.value));
}

/** A path of the trace as it is here: the longest prefix that fits is replaced. */
export function mapped(file: string): string {
	const fits = prefixes.value.filter((item) => file.startsWith(item.from)).sort((a, b) => b.from.length - a.from.length)[0];
	return fits ? fits.to + file.slice(fits.from.length) : file;
}

export function editorLink(file: string, line: number): string | null {
	if (editor.value === "" || !allowedLink(editor.value)) return null;
	const path = mapped(file).split("/").map(encodeURIComponent).join("/");
	return editor.value.replace("{file}", () => path).replace("{line}", String(line));
}
