// SPDX-License-Identifier: MIT
// What a view does not do, said where it is.

import { able } from "./catalogue";
import { embedded } from "./source";
import { query, timeWindow } from "./state";

/** That the filter does not reach a view, because its endpoint cannot be asked with one. */
export function Unfiltered({ path }: { path: string }) {
	if (embedded || able(path, "q") || (query() === "" && !timeWindow.value)) return null;
	return <p class="note" role="note">The filter does not change this view: it shows the whole run.</p>;
}
