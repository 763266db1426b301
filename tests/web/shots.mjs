// SPDX-License-Identifier: MIT
// Pictures of every view in both themes, of traces that are recorded now: web.sh run shots.mjs FOLDER [docs]
// docs: those few that README and docs show, made small.
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { end, instrumented, launch, open, record, serve, settle, targets, view } from "./lib.mjs";

const require = createRequire(join(process.env.HEAPWISE_WEB_MODULES, "package.json"));
const { PNG } = require("pngjs");
const examples = process.env.HEAPWISE_EXAMPLES;
const [folder, only] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

/** name, program, place, theme if it is for the documentation; height of the picture. */
const shots = [
	["overview", "logstat", "", "light"],
	["flame", "logstat", "flame?metric=peak", "light"],
	["flame-leaked", "logstat", "flame?metric=leaked&dir=up"],
	["timeline", "excessive", "time?by=size", "dark"],
	["points", "contrived", "points?sel=p:3", "light"],
	["point", "contrived", "point/3"],
	["chunks", "contrived", "chunks?point=1", "light"],
	["chunks-rows", "contrived", "chunks?point=3&y=0"],
	["types", "entries", "types"],
	["frequency", "excessive", "freq", "light"],
	["mprof", "widget", "mprof?tab=graph"],
	["mprof-bins", "logstat", "mprof?tab=bins"],
	["calls", "logstat", "calls?fn=line_parse"],
	["threads", "threads", "threads"],
	["map", "logstat", "map?at=AT&color=type"],
	["source", "logstat", "src/examples%2Flogstat.c:137"],
	["compare", "logstat", "compare"],
	["graph", "entries", `graph?q=${encodeURIComponent("let old = at 10ms; let new = at 30ms; diff(new, old) | where size >= 16 | join type | sort size desc")}`, "dark"],
	["live", "logstat", "live"],
];

const programs = {
	logstat: [join(examples, "logstat")],
	widget: [join(examples, "widget")],
	contrived: [instrumented("contrived", join(process.env.HEAPWISE_SOURCE_DIR, "examples/contrived.cpp"))],
	entries: [join(targets, "entries")],
	excessive: [join(targets, "excessive"), "churn"],
	threads: [join(targets, "threads"), "4", "300"],
};

/** At most 256 colours, the rest as the nearest of them: a third of the size, and nobody sees it. */
function small(bytes) {
	const png = PNG.sync.read(bytes);
	const seen = new Map();
	for (let at = 0; at < png.data.length; at += 4) {
		const key = (png.data[at] << 16) | (png.data[at + 1] << 8) | png.data[at + 2];
		seen.set(key, (seen.get(key) ?? 0) + 1);
	}
	const palette = [...seen].sort((a, b) => b[1] - a[1]).slice(0, 255).map(([key]) => key);
	const nearest = new Map(palette.map((key, index) => [key, index]));
	const find = (key) => {
		let index = nearest.get(key);
		if (index !== undefined) return index;
		let least = Infinity;
		palette.forEach((other, at) => {
			const far = Math.abs((key >> 16) - (other >> 16)) + Math.abs(((key >> 8) & 255) - ((other >> 8) & 255)) + Math.abs((key & 255) - (other & 255));
			if (far < least) [least, index] = [far, at];
		});
		nearest.set(key, index);
		return index;
	};
	const rows = Buffer.alloc(png.height * (png.width + 1));
	for (let y = 0; y < png.height; y++)
		for (let x = 0; x < png.width; x++) {
			const at = (y * png.width + x) * 4;
			rows[y * (png.width + 1) + 1 + x] = find((png.data[at] << 16) | (png.data[at + 1] << 8) | png.data[at + 2]);
		}
	return indexed(png.width, png.height, palette, rows);
}

/** A PNG of 8 bits a pixel with a palette; each row is stored as it is. */
function indexed(width, height, palette, rows) {
	const { crc32, deflateSync } = require("node:zlib");
	const table = crc32 ? null : Uint32Array.from({ length: 256 }, (_, n) => { for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1; return n; });
	const crc = (data) => (crc32 ? crc32(data) : (data.reduce((sum, byte) => table[(sum ^ byte) & 255] ^ (sum >>> 8), 0xffffffff) ^ 0xffffffff) >>> 0);
	const block = (kind, data) => {
		const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
		const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
		length.writeUInt32BE(data.length);
		sum.writeUInt32BE(crc(body));
		return Buffer.concat([length, body, sum]);
	};
	const header = Buffer.alloc(13);
	header.writeUInt32BE(width, 0);
	header.writeUInt32BE(height, 4);
	header.set([8, 3, 0, 0, 0], 8);
	return Buffer.concat([
		Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
		block("IHDR", header),
		block("PLTE", Buffer.from(palette.flatMap((key) => [key >> 16, (key >> 8) & 255, key & 255]))),
		block("IDAT", deflateSync(rows, { level: 9 })),
		block("IEND", Buffer.alloc(0)),
	]);
}

const browser = await launch();
const traces = Object.fromEntries(Object.entries(programs).map(([name, command]) => [name, record(name, command)]));
const servers = {};
for (const name of Object.keys(programs)) servers[name] = await serve(traces[name], ...(name === "logstat" ? [traces.widget] : []));
for (const colorScheme of ["light", "dark"])
	for (const [name, program, place, documented] of shots) {
		if (only === "docs" && documented !== colorScheme) continue;
		const page = await open(browser, servers[program], { colorScheme });
		await settle(page);
		const duration = await page.evaluate(async () => (await (await fetch("api/v1/trace")).json()).data.duration_ns);
		await view(page, `#/${place.replace("AT", String(Math.round(duration * 0.8)))}`);
		await page.waitForTimeout(only === "docs" ? 600 : 300);
		const picture = await page.screenshot();
		writeFileSync(join(folder, only === "docs" ? `${name}.png` : `${name}-${colorScheme}.png`), small(picture));
		for (const problem of page.problems) console.log(`${name}, ${colorScheme}: ${problem}`);
		await page.context().close();
	}
await end(browser);
