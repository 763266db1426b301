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

/** Hues that stay apart for most kinds of colour blindness. */
const categories = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7fd5", "#8c6d31", "#7fbf7b", "#b15928", "#999999"];

export function category(index: number): string {
	return categories[index % categories.length] ?? "#999999";
}

function hash(text: string): number {
	let value = 2166136261;
	for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
	return value >>> 0;
}

/** Inner frames: the hue of their module, pale. */
export function moduleColour(module: string, dark: boolean): string {
	const hue = hash(module.replace(/^.*\//, "")) % 360;
	return hslHex(hue, dark ? 22 : 38, dark ? 32 : 86);
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
