// SPDX-License-Identifier: MIT
// One selection for all views: a point, chunk, function, type, thread, object, owner or page of memory.

import { computed } from "@preact/signals";
import { key, set } from "./state";

export type Kind = "p" | "c" | "f" | "ty" | "th" | "o" | "ow" | "pg";

export interface Selection {
	kind: Kind;
	id: string;
}

export const selection = computed<Selection | null>(() => {
	const match = /^(pg?|c|f|ty|th|ow?):(.*)$/s.exec(key("sel"));
	return match ? { kind: match[1] as Kind, id: match[2] ?? "" } : null;
});

export function select(kind: Kind, id: string | number): void {
	set({ sel: `${kind}:${id}` }, true);
}

export function selectedPoint(): number | null {
	return selection.value?.kind === "p" ? Number(selection.value.id) : null;
}
