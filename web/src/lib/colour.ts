// SPDX-License-Identifier: MIT
// Colours that mean something: severity by a ramp that most eyes can tell apart, modules by a hue of their
// own, categories by twelve hues, which then come again.

import { signal } from "@preact/signals";

/** 1 is best, 12 is worst: ColorBrewer's RdYlBu sampled at twelve places. */
const ramp = ["#313695", "#476eb1", "#6ca2cb", "#9ccce2", "#cce9ef", "#f0f8d8", "#feefaa", "#fecd7f", "#fa9b5a", "#ed623e", "#d02d2a", "#a50026"];

/** The same in gray: light is good, dark is bad. */
const grays = Array.from({ length: 12 }, (_, step) => `#${Math.round(245 - step * 20).toString(16).repeat(3)}`);

/** As in Memoro: a rainbow from blue over green to red. */
const rainbow = Array.from({ length: 12 }, (_, step) => hslHex(209 - step * 19, 100, 50));

const palettes = { safe: ramp, memoro: rainbow, gray: grays };
export type Palette = keyof typeof palettes;

/** A word of the address. */
export function paletteOf(name: string): Palette {
	return name === "memoro" || name === "gray" ? name : "safe";
}

export function severity(step: number, palette: Palette = "safe"): string {
	return palettes[palette][Math.min(12, Math.max(1, step)) - 1] ?? "#888888";
}

/** Text on a colour: black or white, whichever is read more easily. */
export function inkOn(colour: string): string {
	const part = (at: number) => {
		const value = parseInt(colour.slice(at, at + 2), 16) / 255;
		return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	};
	const light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
	return light > 0.179 ? "#000000" : "#ffffff";
}

/** The eight colours of the style sheet, as this theme has them; then the same again, paler. */
export function category(index: number): string {
	const eight = palette8();
	const colour = eight[index % eight.length] ?? "#999999";
	return index < eight.length ? colour : mix(colour, dark.value ? "#13161b" : "#ffffff", 0.45);
}

let known: { dark: boolean; colours: string[] } | null = null;

function palette8(): string[] {
	if (known?.dark === dark.value) return known.colours;
	const style = getComputedStyle(document.documentElement);
	const colours = Array.from({ length: 8 }, (_, at) => style.getPropertyValue(`--c${at + 1}`).trim());
	if (colours.every((colour) => /^#[0-9a-f]{6}$/i.test(colour))) known = { dark: dark.value, colours };
	return known?.colours ?? ["#0072b2"];
}

/** So much of the second colour in the first. */
export function mix(one: string, other: string, part: number): string {
	const channel = (at: number) => Math.round(parseInt(one.slice(at, at + 2), 16) * (1 - part) + parseInt(other.slice(at, at + 2), 16) * part);
	return `#${[1, 3, 5].map((at) => channel(at).toString(16).padStart(2, "0")).join("")}`;
}

function hash(text: string): number {
	let value = 2166136261;
	for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
	return value >>> 0;
}

/** The colour of a module, pale: one of the eight, a warm one for the program itself. Functions of one differ a little, so that neighbours can be told apart. */
export function moduleColour(module: string, dark: boolean, own = "", name = ""): string {
	const file = module.replace(/^.*\//, "");
	if (file === "") return dark ? "#2b313b" : "#e6e9ed";
	const at = own !== "" && file === own ? 4 : ([0, 2, 3, 5, 6, 7][hash(file) % 6] ?? 0);
	const shade = hash(name);
	const colour = mix(category(at), category(at === 4 ? 1 : (at + 6) % 8), name === "" ? 0.1 : (shade % 5) * 0.08);
	const step = name === "" ? 0 : (((shade >>> 8) % 5) - 2) * 0.04;
	return dark ? mix(colour, "#13161b", 0.5 + step) : mix(colour, "#ffffff", 0.55 + step);
}

function hslHex(hue: number, saturation: number, lightness: number): string {
	const s = saturation / 100;
	const l = lightness / 100;
	const part = (n: number) => {
		const k = (n + hue / 30) % 12;
		const value = l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
		return Math.round(value * 255).toString(16).padStart(2, "0");
	};
	return `#${part(0)}${part(8)}${part(4)}`;
}

/** blue = less, orange = more, white = the same; log scale of the change. */
export function difference(delta: number, most: number): string {
	if (!delta || !most) return "#f4f4f4";
	const strength = Math.min(1, Math.max(0.06, 1 + Math.log10(Math.abs(delta) / most) / 4)); // four decades
	const mix = (to: number) => Math.round(244 + (to - 244) * strength).toString(16).padStart(2, "0");
	return delta < 0 ? `#${mix(0)}${mix(114)}${mix(178)}` : `#${mix(230)}${mix(120)}${mix(0)}`;
}

export type ThemeChoice = "auto" | "light" | "dark";
const stored = localStorage.getItem("heapwise.theme");
export const themeChoice = signal<ThemeChoice>(stored === "light" || stored === "dark" ? stored : "auto");
const preferred = window.matchMedia("(prefers-color-scheme: dark)");
export const dark = signal(false);

function applyTheme(): void {
	dark.value = themeChoice.value === "dark" || (themeChoice.value === "auto" && preferred.matches);
	document.documentElement.dataset.theme = dark.value ? "dark" : "light";
}

export function chooseTheme(choice: ThemeChoice): void {
	themeChoice.value = choice;
	localStorage.setItem("heapwise.theme", choice);
	applyTheme();
}

preferred.addEventListener("change", applyTheme);
applyTheme();

/** Colours of the style sheet, for what is painted on a canvas. */
export function ink(): { text: string; quiet: string; ground: string; line: string; accent: string } {
	void dark.value; // painters run again when the theme changes
	const style = getComputedStyle(document.documentElement);
	const read = (name: string) => style.getPropertyValue(name).trim() || "#808080";
	return { text: read("--text"), quiet: read("--quiet"), ground: read("--ground"), line: read("--line"), accent: read("--accent") };
}
