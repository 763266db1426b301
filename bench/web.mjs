// SPDX-License-Identifier: MIT
// The web page on a large trace; bench/run-web starts this.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, settle, view } from "../tests/web/lib.mjs";

const heapwise = process.env.HEAPWISE;
const option = (name, value) => (process.argv.includes(`--${name}`) ? process.argv[process.argv.indexOf(`--${name}`) + 1] : value);
const chunks = option("chunks", "10M");
const points = option("points", "100k");
const only = option("views", "");
const folder = option("folder", join(process.env.HEAPWISE_BUILD_DIR, "bench"));
const PATIENCE = 15000; // ms
const LIMITS = { paint: 1000, frame: 16, nodes: 3000, heap: 200, picture: 1000 / 60 };

/** A row below the headings, or the words that there is none. */
const table = () => document.querySelectorAll('main [role="row"]').length > 1 || document.querySelector("main .empty") !== null;

/** What is worth looking at: the first that a view shows of the trace. */
const useful = {
	"": () => document.querySelector('[data-t="sentence"]') !== null,
	flame: () => window.__hw?.items("flame").length > 0,
	time: () => document.querySelector('[data-t="timeline"] canvas') !== null,
	points: table,
	chunks: () => window.__hw?.items("chunks").length > 0,
	types: table,
	freq: () => window.__hw?.items("scatter").length > 0,
	mprof: table,
	calls: () => document.querySelectorAll("svg .node").length > 0,
	threads: table,
	map: () => window.__hw?.items("map").length > 0,
	src: table,
	graph: () => document.querySelectorAll(".palette button").length > 0,
};

/** What one moves in a view: a chart is dragged and swept, a table or the page is scrolled. */
const charts = { "": "chart-strip", flame: "chart-flame", time: "timeline", chunks: "chart-chunks", freq: "chart-scatter" };

function trace() {
	const file = join(folder, `serve-${chunks}-${points}.hwt`);
	mkdirSync(folder, { recursive: true });
	if (!existsSync(file)) {
		process.stderr.write(`bench/run-web: making ${chunks} chunks\n`);
		execFileSync(`${heapwise}-synth`, ["-o", file, "--chunks", chunks, "--points", points], { stdio: ["ignore", "ignore", "inherit"] });
	}
	if (!existsSync(`${file}.index`)) execFileSync(heapwise, ["trace", "index", file], { stdio: ["ignore", "ignore", "inherit"] });
	return file;
}

/** Started anew, and ready: nothing was asked yet. */
async function serve(file) {
	const begun = performance.now();
	const child = spawn(heapwise, ["serve", "--port", "0", "--print-url", file], { stdio: ["ignore", "pipe", "inherit"] });
	const url = await new Promise((resolve) => child.stdout.once("data", (data) => resolve(String(data).trim())));
	const { origin, searchParams } = new URL(url);
	for (;;) {
		const answer = await fetch(`${origin}/api/v1/status`, { headers: { Authorization: `Bearer ${searchParams.get("token")}` } });
		if ((await answer.json()).data.state === "ready") break;
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
	return { child, url, ready: performance.now() - begun };
}

/** In the page: notes when `test` is true first, after a frame was painted; since the navigation began. */
function watch(test) {
	return `(() => {
		const useful = ${test};
		const look = () => {
			let found = false;
			try { found = document.querySelector("main") !== null && useful(); } catch { /* not yet */ }
			if (!found) requestAnimationFrame(look);
			else requestAnimationFrame(() => { const channel = new MessageChannel(); channel.port1.onmessage = () => (window.__useful = performance.now()); channel.port2.postMessage(0); });
		};
		requestAnimationFrame(look);
	})()`;
}

/**
 * In the page: how long the main thread is busy with each frame, from the first event to the end of its painting. That end
 * is when a message comes that the frame sent itself, or when the next frame begins: the browser may draw several before it
 * hands out messages.
 */
const frames = `(() => {
	const times = [];
	let frame = null;
	const end = (one) => { if (frame === one) { times.push(performance.now() - one.begun); frame = null; } };
	const start = () => { if (frame?.drawn) end(frame); frame ??= { begun: performance.now(), drawn: false }; };
	for (const kind of ["pointermove", "mousemove", "wheel", "scroll"]) window.addEventListener(kind, start, { capture: true, passive: true });
	const tick = () => {
		start();
		const one = frame;
		one.drawn = true;
		const channel = new MessageChannel();
		channel.port1.onmessage = () => end(one);
		channel.port2.postMessage(0);
		if (window.__frames === times) requestAnimationFrame(tick);
	};
	window.__frames = times;
	requestAnimationFrame(tick);
})()`;

async function pan(page, name) {
	const chart = charts[name];
	const target = chart ? page.locator(`[data-t="${chart}"]`) : page.locator("main");
	const box = (await target.boundingBox()) ?? { x: 200, y: 200, width: 800, height: 400 };
	const y = box.y + Math.min(box.height, 500) / 2;
	await page.evaluate(frames);
	for (let step = 0; step < 60; step++) await page.mouse.move(box.x + 20 + ((box.width - 40) * step) / 60, y + (step % 7));
	if (chart) {
		await page.mouse.move(box.x + box.width * 0.7, y);
		await page.mouse.down();
		for (let step = 0; step < 60; step++) await page.mouse.move(box.x + box.width * (0.7 - step / 150), y);
		await page.mouse.up();
	}
	for (let step = 0; step < 30; step++) {
		await page.mouse.wheel(0, step < 15 ? 120 : -120);
		await page.waitForTimeout(16);
	}
	return page.evaluate(() => {
		const times = window.__frames;
		window.__frames = null;
		return times;
	});
}

/** While the cursor is dragged along the time strip: ms between two pictures of what was live there. */
async function drag(page) {
	await view(page, "#/flame?metric=live&at=1");
	const box = await page.locator('[data-t="chart-strip"]').boundingBox();
	const across = async (steps) => {
		for (let step = 0; step < steps; step++) await page.mouse.move(box.x + 20 + ((box.width - 40) * step) / steps, box.y + 20);
	};
	await page.mouse.move(box.x + 20, box.y + 20);
	await page.mouse.down();
	await across(60); // as warm as after a moment's work
	let pictures = 0;
	page.on("response", (response) => (pictures += Number(response.url().includes("/flame?"))));
	const begun = performance.now();
	await across(300);
	const spent = performance.now() - begun;
	await page.mouse.up();
	await settle(page);
	return spent / Math.max(1, pictures);
}

const part = (times, share) => [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;

const file = trace();
const browser = await launch();
const rows = [];
let server = await serve(file);
process.stderr.write(`bench/run-web: ready after ${(server.ready / 1000).toFixed(2)} s\n`);
try {
	for (const [name, test] of Object.entries(useful)) {
		if (only && !only.split(",").includes(name || "overview")) continue;
		const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
		const page = await context.newPage();
		await page.addInitScript(watch(test));
		const { origin, search } = new URL(server.url);
		await page.goto(`${origin}/${search}#/${name}`);
		await page.waitForFunction(() => window.__useful !== undefined, null, { timeout: PATIENCE }).catch(() => process.stderr.write(`bench/run-web: '${name}' shows nothing of use: ${page.url()}\n`));
		const paint = (await page.evaluate(() => window.__useful)) ?? PATIENCE;
		await Promise.race([settle(page), page.waitForTimeout(PATIENCE)]);
		const times = await pan(page, name);
		await settle(page);
		const session = await context.newCDPSession(page);
		await session.send("Performance.enable");
		const { metrics } = await session.send("Performance.getMetrics");
		const heap = metrics.find((metric) => metric.name === "JSHeapUsedSize").value / 1e6;
		const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
		process.stderr.write(`bench/run-web: ${name || "overview"} after ${Math.round(paint)} ms\n`);
		rows.push({ view: name || "overview", paint, frame: part(times, 0.95), frame_max: Math.max(...times), frames: times.length, nodes, heap });
		await context.close();
	}
	// one tab, all views, as a day's work would leave it
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await context.newPage();
	await page.goto(server.url);
	for (let round = 0; round < (only ? 1 : 2); round++) for (const name of only ? ["flame"] : Object.keys(useful)) await Promise.race([view(page, `#/${name}`), page.waitForTimeout(PATIENCE)]);
	const session = await context.newCDPSession(page);
	await session.send("Performance.enable");
	const { metrics } = await session.send("Performance.getMetrics");
	if (!only || only.split(",").includes("drag")) rows.push({ view: "flame, cursor dragged", picture: await drag(page) });
	rows.push({ view: "all, twice, in one tab", heap: metrics.find((metric) => metric.name === "JSHeapUsedSize").value / 1e6, nodes: await page.evaluate(() => document.querySelectorAll("*").length) });
	await context.close();
} finally {
	await browser.close();
	const ended = new Promise((resolve) => server.child.on("exit", resolve));
	server.child.kill("SIGTERM");
	await ended;
}

let missed = false;
const cell = (value, limit, digits) => {
	if (value === undefined) return "".padStart(15);
	if (value > limit) missed = true;
	return `${value.toFixed(digits)}${value > limit ? " MISSED" : ""}`.padStart(15);
};
console.log(`${chunks} chunks of ${points} points; first useful paint, 95th of the frames while panning, nodes, heap of the tab, time of a picture while dragging`);
console.log(`${"view".padEnd(24)}${"paint ms".padStart(15)}${"frame ms".padStart(15)}${"nodes".padStart(15)}${"heap MB".padStart(15)}${"picture ms".padStart(15)}`);
console.log(`${"limit".padEnd(24)}${String(LIMITS.paint).padStart(15)}${String(LIMITS.frame).padStart(15)}${String(LIMITS.nodes).padStart(15)}${String(LIMITS.heap).padStart(15)}${LIMITS.picture.toFixed(1).padStart(15)}`);
for (const row of rows) console.log(`${row.view.padEnd(24)}${cell(row.paint, LIMITS.paint, 0)}${cell(row.frame, LIMITS.frame, 1)}${cell(row.nodes, LIMITS.nodes, 0)}${cell(row.heap, LIMITS.heap, 1)}${cell(row.picture, LIMITS.picture, 1)}`);
writeFileSync(join(folder, "web.json"), `${JSON.stringify({ chunks, points, limits: LIMITS, ready_ms: server.ready, rows }, null, 1)}\n`);
process.exitCode = missed ? 1 : 0;
