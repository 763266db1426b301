// SPDX-License-Identifier: MIT
// Colours that mean something: severity by a ramp that most eyes can tell apart, modules by a hue of their
// own, categories by twelve hues, which then come again.

import { signal } from "@preact/signals";

/** 1 is best, 12 is worst: ColorBrewer's RdYlBu sampled at twelve places. */
const ramp = ["#313695", "#476eb1", "#6ca2cb", "#9ccce2", "#cce9ef", "#f0f8d8", "#feefaa", "#fecd7f", "#fa9b5a", "#ed623e", "#d02d2a", "#a50026"];

/** The same in grey: light is good, dark is bad. */
const greys = Array.from({ length: 12 }, (_, step) => `#${Math.round(245 - step * 20).toString(16).repeat(3)}`);

/** As in Memoro: a rainbow from blue over green to red. */
const rainbow = Array.from({ length: 12 }, (_, step) => hslHex(209 - step * 19, 100, 50));

const palettes = { safe: ramp, memoro: rainbow, gray: greys };
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

/** Accounts of resident memory have the same colour in every picture. */
const accounts = ["live", "pinned", "cached", "not_resident", "left", "slack", "thread_caches", "other"];

export function account(name: string): string {
	const at = accounts.indexOf(name);
	return at < 0 ? mix(ink().quiet, ink().ground, 0.45) : category(at);
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

/** Of OKLCH, whose lightness is that which eyes see: ink that is read on one hue is read on all of the same lightness. */
function lchHex(lightness: number, chroma: number, hue: number): string {
	const a = chroma * Math.cos((hue * Math.PI) / 180);
	const b = chroma * Math.sin((hue * Math.PI) / 180);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
	const channels = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s, -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
	const part = (light: number) => Math.round(255 * Math.min(1, Math.max(0, light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055)));
	return `#${channels.map((light) => part(light).toString(16).padStart(2, "0")).join("")}`;
}

const shades = new Map<string, string>();

/** The colour of a module: a warm hue for the program itself, one of five others for the rest. Functions of one are shades of it by their names, so that neighbours can be told apart, and the key still holds. */
export function moduleColour(module: string, dark: boolean, own = "", name = ""): string {
	const file = module.replace(/^.*\//, "");
	if (file === "") return dark ? "#2b313b" : "#e6e9ed";
	const mine = own !== "" && file === own;
	const known = `${dark}${mine}${file}\u0001${name}`;
	let colour = shades.get(known);
	if (colour === undefined) {
		const hue = mine ? 65 : 160 + 45 * (hash(file) % 5);
		const spread = (bits: number) => (name === "" ? 0 : ((hash(name) >>> bits) & 255) / 127.5 - 1);
		colour = lchHex((dark ? 0.46 : 0.83) + 0.06 * spread(16), 0.085, hue + 14 * spread(4));
		if (shades.size > 20000) shades.clear();
		shades.set(known, colour);
	}
	return colour;
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

/** Blue = less, orange = more, the ground's grey = the same. The root of the change, so that small ones are seen, and none is louder than it is. */
export function difference(delta: number, most: number): string {
	const [same, less, more] = dark.value ? ["#2b313b", "#1f6fb5", "#a85a00"] : ["#eceff2", "#4da3e0", "#f08c1e"];
	return mix(same, delta < 0 ? less : more, most ? Math.sqrt(Math.min(1, Math.abs(delta) / most)) : 0);
}

export type ThemeChoice = "auto" | "light" | "dark";
const stored = localStorage.getItem("heapwise.theme");
export const themeChoice = signal<ThemeChoice>(stored === "light" || stored === "dark" ? stored : "auto");
const preferred = window.matchMedia("(prefers-color-scheme: dark)");
export const dark = signal(false);

type Inks = Record<"text" | "quiet" | "ground" | "line" | "accent", string>;
let inks: Inks | null = null; // of this theme: reading them at each picture is slow

function applyTheme(): void {
	const next = themeChoice.value === "dark" || (themeChoice.value === "auto" && preferred.matches);
	document.documentElement.dataset.theme = next ? "dark" : "light";
	inks = null;
	dark.value = next;
}

export function chooseTheme(choice: ThemeChoice): void {
	themeChoice.value = choice;
	localStorage.setItem("heapwise.theme", choice);
	applyTheme();
}

preferred.addEventListener("change", applyTheme);
applyTheme();

/** Colours of the style sheet, for what is painted on a canvas. */
export function ink(): Inks {
	void dark.value; // painters run again when the theme changes
	if (inks) return inks;
	const style = getComputedStyle(document.documentElement);
	const read = (name: string) => style.getPropertyValue(name).trim() || "#808080";
	return (inks = { text: read("--text"), quiet: read("--quiet"), ground: read("--ground"), line: read("--line"), accent: read("--accent") });
}
