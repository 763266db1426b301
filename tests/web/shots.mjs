// SPDX-License-Identifier: MIT
// Pictures of every view in both themes, of traces that are recorded now: web.sh run shots.mjs FOLDER [docs|WIDTHxHEIGHT]
// docs: those few that README and docs show, made small.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { end, instrumented, launch, open, record, serve, settle, targets, view, watch } from "./lib.mjs";
import { small } from "./picture.mjs";

const examples = process.env.HEAPWISE_EXAMPLES;
const [place, only] = process.argv.slice(2);
const folder = resolve(place);
const [, width, height] = /^(\d+)x(\d+)$/.exec(only ?? "") ?? [];
const viewport = width ? { viewport: { width: Number(width), height: Number(height) } } : {};
mkdirSync(folder, { recursive: true });
process.chdir(examples); // a picture names no folder of this machine

/** name, program, place, theme if it is for the documentation; height of the picture. */
const shots = [
	["overview", "logstat", "", "light"],
	["flame", "logstat", "flame?metric=peak", "light"],
	["flame-kept", "logstat", "flame?metric=kept&dir=up"],
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
	["map-account", "burst", "map?color=account&at=AT&bpp=256"],
	["resident", "burst", "resident?at=AT", "light"],
	["source", "logstat", "src/examples%2Flogstat.c:137"],
	["compare", "logstat", "compare"],
	["graph", "entries", `graph?q=${encodeURIComponent("diff(at peak, at end) | where size >= 16 | join type")}`, "dark"],
	["entries", "entries", "entries"],
	["live", "steady", "live", "light"],
];

const programs = {
	logstat: ["./logstat"],
	widget: ["./widget"],
	contrived: [instrumented("contrived", join(process.env.HEAPWISE_SOURCE_DIR, "examples/contrived.cpp"))],
	burst: [join(targets, "bursts"), "1500", "1", "10"],
	entries: [join(targets, "entries")],
	excessive: [join(targets, "excessive"), "churn"],
	threads: [join(targets, "threads"), "4", "300"],
};

const browser = await launch();
const traces = Object.fromEntries(Object.entries(programs).map(([name, command]) => [name, record(name, command)]));
const servers = {};
for (const name of Object.keys(traces)) servers[name] = await serve(traces[name], ...(name === "logstat" ? [traces.widget] : []));
servers.steady = (await watch(600, "--policy", "ladder")).url;
await new Promise((resolve) => setTimeout(resolve, 40_000)); // so that it has something to show
for (const colorScheme of ["light", "dark"])
	for (const [name, program, hash, documented] of shots) {
		if (only === "docs" && documented !== colorScheme) continue;
		const page = await open(browser, servers[program], { colorScheme, ...viewport });
		await settle(page);
		const duration = await page.evaluate(async () => (await (await fetch("api/v1/trace")).json()).data.duration_ns);
		await view(page, `#/${hash.replace("AT", String(Math.round(duration * 0.8)))}`);
		await page.waitForTimeout(only === "docs" ? 600 : 300);
		const picture = await page.screenshot();
		writeFileSync(join(folder, only === "docs" ? `${name}.png` : `${name}-${colorScheme}.png`), small(picture));
		for (const problem of page.problems) console.log(`${name}, ${colorScheme}: ${problem}`);
		await page.context().close();
	}
await end(browser);
