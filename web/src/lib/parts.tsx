// SPDX-License-Identifier: MIT
// Small things that several views show alike.

import { severity, inkOn } from "./colour";
import { type Maybe, inUnit } from "./format";
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

/** A line of u8 samples in base64, or of numbers, over another one on a scale of its own: the shapes are what counts. */
export function Spark({ data, over, width = 90, height = 20 }: { data: string; over?: readonly number[] | undefined; width?: number; height?: number }) {
	if (!data) return null;
	const line = (samples: readonly number[]) => {
		const most = Math.max(1, ...samples);
		const step = width / Math.max(1, samples.length - 1);
		return samples.map((value, at) => `${tenth(at * step)},${tenth(height - 1 - (value / most) * (height - 2))}`).join(" ");
	};
	return (
		<svg class="spark" width={width} height={height} aria-hidden="true">
			{over && over.length > 1 && <polyline class="behind" points={line(over)} />}
			<polyline points={line(samplesOf(data))} fill="none" stroke="currentColor" stroke-width="1.2" />
		</svg>
	);
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
