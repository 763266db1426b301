// SPDX-License-Identifier: MIT
// A thin chart of one or two lines over time.

import { inUnit } from "./format";

interface Line {
	name: string;
	colour: string;
	dash?: string;
	values: readonly (number | null | undefined)[];
}

interface Props {
	label: string;
	times: readonly number[];
	lines: Line[];
	unit: string;
	from: number;
	to: number;
	most?: number; // of the scale; the highest value without it
}

export function Lane({ label, times, lines, unit, from, to, most }: Props) {
	const highest = lines.reduce((high, line) => line.values.reduce<number>((top, value) => Math.max(top, value ?? 0), high), 0);
	const top = Math.max(1, most ?? highest);
	const path = (values: Line["values"]) =>
		values.map((value, bin) => (value == null ? "" : `${((((times[bin] ?? 0) - from) / Math.max(1, to - from)) * 1000).toFixed(1)},${(58 - (value / top) * 54).toFixed(1)}`)).filter((part) => part !== "").join(" ");
	return (
		<figure class="lane">
			<svg viewBox="0 0 1000 60" preserveAspectRatio="none" role="img" aria-label={`${label}: up to ${inUnit(highest, unit)}`}>
				{lines.map((line) => <polyline points={path(line.values)} fill="none" stroke={line.colour} stroke-width="1.4" stroke-dasharray={line.dash} vector-effect="non-scaling-stroke" />)}
			</svg>
			<figcaption class="quiet">{label}, up to {inUnit(highest, unit)}{lines.length > 1 || lines[0]?.name !== label ? ": " : ""}{lines.map((line, at) => line.name !== label && <span>{at ? ", " : ""}<span class="swatch" style={{ background: line.colour }} /> {line.name}</span>)}</figcaption>
		</figure>
	);
}
