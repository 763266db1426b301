// SPDX-License-Identifier: MIT
// A thin chart of one or two lines over time.

import { inUnit, tick } from "./format";
import { TimeAxis } from "./parts";

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
	axes?: boolean; // tall, with the steps of both axes
}

/** Four steps of a scale of bytes at most: 0, 1, 2 … of a power of two. */
function stepsTo(top: number): number[] {
	const step = 2 ** Math.ceil(Math.log2(top / 4));
	return Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => at * step);
}

export function Lane({ label, times, lines, unit, from, to, most, axes = false }: Props) {
	const highest = lines.reduce((high, line) => line.values.reduce<number>((top, value) => Math.max(top, value ?? 0), high), 0);
	const top = Math.max(1, most ?? highest);
	const path = (values: Line["values"]) =>
		values.map((value, bin) => (value == null ? "" : `${((((times[bin] ?? 0) - from) / Math.max(1, to - from)) * 1000).toFixed(1)},${(58 - (value / top) * 54).toFixed(1)}`)).filter((part) => part !== "").join(" ");
	return (
		<figure class={axes ? "lane tall" : "lane"}>
			{axes && stepsTo(top).map((value) => <span class="step" style={{ top: `${166 - (value / top) * 162}px` }}>{tick(value, unit)}</span>)}
			<svg viewBox="0 0 1000 60" preserveAspectRatio="none" role="img" aria-label={`${label}: up to ${inUnit(highest, unit)}`}>
				{axes && stepsTo(top).map((value) => <path d={`M0 ${58 - (value / top) * 54}H1000`} stroke="var(--line)" vector-effect="non-scaling-stroke" />)}
				{lines.map((line) => <polyline points={path(line.values)} fill="none" stroke={line.colour} stroke-width="1.4" stroke-dasharray={line.dash} vector-effect="non-scaling-stroke" />)}
			</svg>
			{axes && <TimeAxis from={from} to={to} />}
			<figcaption class="quiet">{label}{!axes && `, up to ${inUnit(highest, unit)}`}{lines.length > 1 || lines[0]?.name !== label ? ": " : ""}{lines.map((line, at) => line.name !== label && <span>{at ? ", " : ""}<span class="swatch" style={{ background: line.dash ? `repeating-linear-gradient(90deg, ${line.colour} 0 3px, transparent 3px 5px)` : line.colour }} /> {line.name}</span>)}</figcaption>
		</figure>
	);
}
