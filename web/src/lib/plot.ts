// SPDX-License-Identifier: MIT
// What charts of memory have in common: heights begin at zero, or a little more would look like much more.

import type uPlot from "uplot";

/** Steps of an axis of bytes: 1, 2, 4 … */
export const powers = Array.from({ length: 50 }, (_, exponent) => 2 ** exponent);

/** The range of heights, with some room above; shares are up to one. */
export function fromZero(_: uPlot, __: number | null, most: number | null): [number, number] {
	return [0, (most ?? 0) <= 1 ? 1 : (most ?? 0) * 1.05];
}

/** Says where heights begin, for who cannot see it. */
export function noteScale(plot: uPlot, scale: string): void {
	if (scale === "y") plot.root.dataset.from = String(plot.scales.y?.min);
}
