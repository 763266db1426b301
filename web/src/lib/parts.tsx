// SPDX-License-Identifier: MIT
// Small things that several views show alike.

import type { ComponentChildren } from "preact";
import { severity, inkOn } from "./colour";
import { type Maybe, inUnit, tick } from "./format";
import { plainName } from "./names";
import { say } from "./say";
import { key, set } from "./state";

/** A severity as colour, number and bar: never by colour alone. */
export function Severity({ step }: { step: Maybe }) {
	if (step == null) return <span class="sev none" title="severity unknown">?</span>;
	const colour = severity(step);
	return (
		<span class="sev" style={{ background: colour, color: inkOn(colour) }} title={`severity ${step} of 12`} role="img" aria-label={`severity ${step} of 12`}>
			{step}
		</span>
	);
}

/** To a tenth of a pixel. */
function tenth(pixels: number): number {
	return Math.round(pixels * 10) / 10;
}

function samplesOf(data: string): number[] {
	return Array.from(atob(data), (char) => char.charCodeAt(0));
}

/** The corners of a line that fills this room, as SVG has them. Of a level stretch the two ends: many points are slow to paint. */
export function lineIn(samples: readonly number[], width: number, height: number): string {
	const most = Math.max(1, ...samples);
	const step = width / Math.max(1, samples.length - 1);
	const heights = samples.map((value) => tenth(height - 1 - (value / most) * (height - 2)));
	const corners: string[] = [];
	heights.forEach((y, at) => {
		if (y !== heights[at - 1] || y !== heights[at + 1]) corners.push(`${tenth(at * step)},${y}`);
	});
	return corners.join(" ");
}

/** A line of u8 samples in base64, over another one (its corners) on a scale of its own: the shapes are what counts. */
export function Spark({ data, behind, width = 90, height = 20 }: { data: string; behind?: string; width?: number; height?: number }) {
	if (!data) return null;
	return (
		<svg class="spark" width={width} height={height} aria-hidden="true">
			{behind && <polyline class="behind" points={behind} />}
			<polyline points={lineIn(samplesOf(data), width, height)} fill="none" stroke="currentColor" stroke-width="1.2" />
		</svg>
	);
}

/** A function without its arguments; the whole name is one hover away. */
export function Name({ of }: { of: string }) {
	return <span title={of} data-name={of}>{plainName(of)}</span>;
}

/** A bar of a share, beside its number. */
export function Bar({ share }: { share: number }) {
	return <span class="bar" aria-hidden="true"><span style={{ width: `${Math.min(100, Math.max(0, share * 100))}%` }} /></span>;
}

/** A key of the address that is one of a few words; another word is dropped, and said to be. */
export function oneOf(name: string, options: readonly (readonly [string, string])[], fallback: string): string {
	const value = key(name);
	if (value === "" || options.some(([word]) => word === value)) return value || fallback;
	queueMicrotask(() => {
		if (key(name) !== value) return;
		say(`There is no ${name} “${value.slice(0, 40)}”.`);
		set({ [name]: null }, true);
	});
	return fallback;
}

export function Choice({ label, value, options, onChange }: { label: string; value: string; options: readonly (readonly [string, string])[]; onChange(value: string): void }) {
	return (
		<label class="choice">
			{label}
			<select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
				{options.map(([name, words]) => <option value={name}>{words}</option>)}
			</select>
		</label>
	);
}

/** A change: its sign, an arrow and a colour say the same. */
export function Delta({ value, unit }: { value: Maybe; unit: string }) {
	if (value == null) return <span class="quiet">unknown</span>;
	if (value === 0) return <span class="quiet">±0</span>;
	return <span class={value > 0 ? "more" : "less"}>{value > 0 ? "▲ +" : "▼ −"}{inUnit(Math.abs(value), unit)}</span>;
}

/** What keys and the mouse do in a picture, for who asks. */
export function Keys({ children }: { children: ComponentChildren }) {
	return (
		<details class="keys">
			<summary>Keys and mouse</summary>
			<p>{children}</p>
		</details>
	);
}

/** Round times between two, four to nine of them. */
function timesBetween(from: number, to: number): number[] {
	const power = 10 ** Math.floor(Math.log10(Math.max(1, to - from)));
	const step = [0.1, 0.2, 0.5, 1, 2].map((part) => part * power).find((size) => (to - from) / size <= 9) ?? power;
	const first = Math.ceil(from / step);
	return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, at) => (first + at) * step);
}

/** The time below a picture that is as wide as its span. */
export function TimeAxis({ from, to }: { from: number; to: number }) {
	const share = (time: number) => ((time - from) / Math.max(1, to - from)) * 100;
	return (
		<div class="time-axis" aria-hidden="true">
			{timesBetween(from, to).map((time) => <span style={{ left: `${share(time)}%` }} class={share(time) > 94 ? "last" : share(time) < 2 ? "first" : ""}>{tick(time, "ns")}</span>)}
		</div>
	);
}
