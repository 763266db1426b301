// SPDX-License-Identifier: MIT
// What the server can be asked: its own list of endpoints and their parameters. A control that needs one which
// is not there is not shown.

import { signal } from "@preact/signals";
import { type Params, embedded } from "./source";
import { common, key, whole } from "./state";

/** Parameters by endpoint; null = not known yet. */
const endpoints = signal<ReadonlyMap<string, ReadonlySet<string>> | null>(embedded ? new Map() : null);

export async function learn(): Promise<void> {
	const found = new Map<string, ReadonlySet<string>>();
	try {
		const page = new DOMParser().parseFromString(await (await fetch("api/v1", { credentials: "same-origin" })).text(), "text/html");
		for (const row of page.querySelectorAll("tbody tr")) {
			const [method = "", path = "", , parameters = ""] = [...row.querySelectorAll("td")].map((cell) => cell.textContent ?? "");
			found.set(`${method} ${path.replace("/api/v1", "")}`, new Set(parameters.split(/\s+/).filter((name) => name !== "")));
		}
	} catch {
		// the server is gone, which the status says
	}
	endpoints.value = found;
}

export function learned(): boolean {
	return endpoints.value !== null;
}

/** Whether there is such an endpoint, and it knows this parameter. */
export function able(path: string, parameter = "", method = "GET"): boolean {
	const known = endpoints.value?.get(`${method} ${path}`);
	return known !== undefined && (parameter === "" || known.has(parameter));
}

/** The filter and the window of time, if the endpoint can be asked with them. */
export function scoped(path: string): Record<string, string> {
	return embedded || able(path, "q") ? common() : whole();
}

/** The trace that all is compared with, if the endpoint can do that. */
export function against(path: string): Params {
	return key("base") !== "" && able(path, "base") ? { base: key("base") } : {};
}
