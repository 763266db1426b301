// SPDX-License-Identifier: MIT
// Numbers as people read them. null is what was not measured: never shown as 0.

export type Maybe = number | null | undefined;
export const UNKNOWN = "unknown";

/** A function, or where its code is if it has no name. */
export function codeAt(at: { fn?: string | null; module?: string | null; offset?: Maybe }): string {
	if (at.fn) return at.fn;
	return at.module && at.offset != null ? `${at.module.replace(/^.*\//, "")}+0x${at.offset.toString(16)}` : UNKNOWN;
}

const grouped = new Intl.NumberFormat("en");

export function count(value: Maybe): string {
	if (value == null) return UNKNOWN;
	return grouped.format(Math.round(value));
}

/** As the command line writes it, so that one number looks the same in a sentence of the server and beside it. */
function scaled(value: number, base: number, units: readonly string[], digitsOf: (rest: number, unit: number) => number): string {
	let unit = 0;
	let rest = Math.abs(value);
	while (rest >= (unit ? base - 0.05 : base) && unit < units.length - 1) {
		rest /= base;
		unit++;
	}
	return `${value < 0 ? "−" : ""}${rest.toFixed(digitsOf(rest, unit))} ${units[unit]}`;
}

export function bytes(value: Maybe): string {
	return value == null ? UNKNOWN : scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"], (rest, unit) => (unit && rest < 99.95 ? 1 : 0));
}

export function ns(value: Maybe): string {
	if (value == null) return UNKNOWN;
	if (Math.abs(value) >= 120e9) return `${(value / 60e9).toFixed(1)} min`;
	return scaled(value, 1000, ["ns", "µs", "ms", "s"], (_, unit) => [0, 1, 1, 2][unit] ?? 0);
}

export function share(value: Maybe): string {
	if (value == null) return UNKNOWN;
	const percent = value * 100;
	if (percent !== 0 && Math.abs(percent) < 0.1) return "< 0.1 %";
	return `${percent < 0 ? "−" : ""}${Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 1 : 0)} %`;
}

export function score(value: Maybe): string {
	return value == null ? UNKNOWN : value.toFixed(2);
}

export function inUnit(value: Maybe, unit: string): string {
	switch (unit) {
	case "bytes":
		return bytes(value);
	case "ns":
		return ns(value);
	case "share":
		return share(value);
	case "ratio":
		return value == null ? UNKNOWN : value >= 100 ? count(value) : value.toPrecision(3);
	default:
		return count(value);
	}
}

/** A value beside an axis: round, so without the zeros behind the point. */
export function tick(value: number, unit: string): string {
	return value === 0 && unit === "ns" ? "0" : inUnit(value, unit).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
}

/** Words of the server with its times as they are written here: it speaks ASCII. */
export function words(text: string): string {
	return text.replace(/(\d) us\b/g, "$1 µs");
}

/** Both ends of a name matter: the middle goes. */
export function trimMiddle(text: string, most: number): string {
	if (text.length <= most) return text;
	if (most < 3) return text.slice(0, Math.max(0, most));
	const head = Math.ceil((most - 1) / 2);
	return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

/** "100ms", "1.5s" or a number of ns, as in the URL. */
export function parseTime(text: string): number | null {
	const match = /^(\d+(?:\.\d+)?)(ns|us|µs|ms|s|min)?$/.exec(text.trim());
	if (!match) return null;
	const factor = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, min: 60e9 }[match[2] ?? "ns"];
	return Number(match[1]) * (factor ?? 1);
}

/** "1 point", "2 points". */
export const things = (n: number | undefined, one: string) => `${count(n)} ${one}${n === 1 ? "" : "s"}`;
