// SPDX-License-Identifier: MIT
// A short word to the user, and the clipboard.

import { signal } from "@preact/signals";

export const toast = signal("");

export function say(words: string): void {
	toast.value = words;
	setTimeout(() => {
		if (toast.value === words) toast.value = "";
	}, 4000);
}

export async function copy(text: string, what: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
		say(`Copied ${what}.`);
	} catch {
		say("The browser does not allow copying here.");
	}
}

/** Offers a text or a picture as a file. */
export function saveFile(name: string, content: Blob | string, type = "text/plain"): void {
	const link = document.createElement("a");
	const address = URL.createObjectURL(typeof content === "string" ? new Blob([content], { type }) : content);
	link.href = address;
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(address), 10_000);
	say(`Saved ${name}.`);
}
