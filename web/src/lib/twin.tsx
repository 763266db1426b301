// SPDX-License-Identifier: MIT
// Whether a chart shows itself as a table, which the key T and a button change; the address keeps it.

import { useEffect } from "preact/hooks";
import { Icon } from "./icons";
import { key, set } from "./state";

/** The key T. */
export function useTableKey(toggle: () => void): void {
	useEffect(() => {
		const down = (event: KeyboardEvent) => {
			if (event.key === "T" && !(event.target instanceof HTMLElement && event.target.matches("input, textarea, select"))) toggle();
		};
		window.addEventListener("keydown", down);
		return () => window.removeEventListener("keydown", down);
	}, []);
}

export function useTwin(): [boolean, () => void] {
	const toggle = () => set({ as: key("as") === "table" ? null : "table" });
	useTableKey(toggle);
	return [key("as") === "table", toggle];
}

export function TwinButton({ on, toggle }: { on: boolean; toggle(): void }) {
	return <button aria-pressed={on} onClick={toggle} title="T"><Icon name="table" /> Table</button>;
}
