// SPDX-License-Identifier: MIT
// What the tests of the page share: real recordings, the real server, a real browser.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(join(process.env.HEAPWISE_WEB_MODULES ?? join(dirname(fileURLToPath(import.meta.url)), "../../web"), "package.json"));
const { chromium } = require("playwright-core");
export const axeSource = () => readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const heapwise = process.env.HEAPWISE;
export const targets = process.env.HEAPWISE_TARGETS;
export const work = mkdtempSync(join(tmpdir(), "heapwise-web-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

/** Records a program; answers the path of its trace. */
export function record(name, command, options = []) {
	const trace = join(work, `${name}.hwt`);
	execFileSync(heapwise, ["run", "-q", "-o", trace, ...options, "--", ...command], { stdio: ["ignore", "ignore", "inherit"] });
	return trace;
}

/** Builds a program so that its accesses are recorded; answers its path. */
export function instrumented(name, source) {
	const program = join(work, name);
	execFileSync(heapwise, [source.endsWith(".cpp") ? "c++" : "cc", "-g", "-O1", "-o", program, source], { stdio: ["ignore", "inherit", "inherit"] });
	return program;
}

/** The program whose functions have names that no compiler gives; debug information would have others. */
export function hostileNames() {
	const program = join(work, "hostile_names");
	execFileSync("strip", ["--strip-debug", "-o", program, join(targets, "hostile_names")]);
	return program;
}

/** `make test` looks at a part, `make test-full` at all. */
export const full = process.env.HEAPWISE_WEB_FULL === "1";
export const slow = full ? {} : { skip: "of make test-full" };

/** Numbers by chance, the same in each run. */
export function chance(seed) {
	let state = seed >>> 0;
	const next = () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
	return { next, below: (n) => Math.floor(next() * n), pick: (list) => list[Math.floor(next() * list.length)] };
}

/** What a command says as JSON. */
export function cli(command, ...args) {
	return JSON.parse(execFileSync(heapwise, [...command.split(" "), "--format", "json", ...args], { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }));
}

/** The address that a server prints. */
function addressOf(child) {
	return new Promise((resolve, reject) => {
		let text = "";
		const fail = (code) => reject(new Error(`the server ended with ${code}: ${text}`));
		child.stdout.on("data", (data) => {
			text += data;
			const found = /http:\/\/\S+/.exec(text);
			if (!found) return;
			child.off("exit", fail);
			resolve(found[0]);
		});
		child.on("exit", fail);
	});
}

/** The real server on these traces: its address, with the token. */
export async function serve(...traces) {
	const child = spawn(heapwise, ["serve", "--port", "0", "--print-url", "--source-folder", process.env.HEAPWISE_SOURCE_DIR, ...traces], {
		stdio: ["ignore", "pipe", "inherit"],
		cwd: process.env.HEAPWISE_SOURCE_DIR, // where the examples' sources are
		env: { ...process.env, XDG_CONFIG_HOME: join(work, "config") },
	});
	const url = await addressOf(child);
	servers.push(child);
	await ready(url);
	return url;
}

/** What holds in the end. */
export async function until(what, words, rounds = 200) {
	for (let round = 0; round < rounds; round++) {
		const found = await what();
		if (found) return found;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	assert.fail(`in vain: ${words}`);
}

/** A program that allocates, forgets and loses for so many seconds, watched in the browser. */
export async function watch(seconds, ...options) {
	const child = spawn(heapwise, ["watch", "--web", "--print-url", "-q", "--leak-after", "3s", ...options, "--", join(targets, "steady"), String(seconds)], {
		stdio: ["ignore", "pipe", "ignore"],
		cwd: work,
		env: { ...process.env, XDG_CONFIG_HOME: join(work, "config") },
	});
	const url = await addressOf(child);
	const { origin, searchParams } = new URL(url);
	const ask = async (path) => {
		const answer = await fetch(`${origin}/api/v1${path}`, { headers: { Authorization: `Bearer ${searchParams.get("token")}` } });
		return (await answer.json()).data;
	};
	const kill = async () => {
		try {
			process.kill((await ask("/trace")).pid, "SIGKILL");
		} catch (error) {
			if (error.code !== "ESRCH") throw error; // it has ended
		}
	};
	watchers.push({ child, ask, kill });
	await until(async () => (await ask("/live/history"))?.ticks.length > 1 && (await ask("/trace")), "the first ticks");
	return { url, ask, kill };
}

/** Until the server has read its traces: before, the browser would write each 503 into its console. */
async function ready(url) {
	const { origin, searchParams } = new URL(url);
	for (;;) {
		const answer = await fetch(`${origin}/api/v1/status`, { headers: { Authorization: `Bearer ${searchParams.get("token")}` } });
		if ((await answer.json()).data.state !== "indexing") return;
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

const servers = [];
const watchers = [];

/** Ends what the tests began. */
export async function end(browser) {
	await browser?.close();
	for (const { child, ask, kill } of watchers) {
		const ended = new Promise((resolve) => child.on("exit", resolve));
		await kill();
		await until(async () => (await ask("/status")).state !== "live", "the program has ended");
		child.kill("SIGINT"); // until then its page stays
		await ended;
	}
	for (const child of servers) {
		const ended = new Promise((resolve) => child.on("exit", resolve));
		child.kill("SIGTERM");
		await ended;
	}
}

/** Pixels of the time strip: beside its plot, below it, and the plot's own height. */
export const strip = { side: 16, below: 16, high: 40 };

/** A number of the page as people read it: what it says, and by how much it may be off because it is rounded. */
export function readNumber(text) {
	const match = /([−-]?)(?:about )?([\d,]+(?:\.(\d+))?)\s*(B|KiB|MiB|GiB|TiB|ns|µs|ms|s|min|%)?/u.exec(text);
	if (!match) return null;
	const factor = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, min: 60e9, "%": 0.01 }[match[4]] ?? 1;
	const sign = match[1] ? -1 : 1;
	return { value: sign * Number(match[2].replace(/,/g, "")) * factor, off: 0.5000001 * 10 ** -(match[3]?.length ?? 0) * factor };
}

/** That a text of the page is this number, rounded as the page rounds. */
export function shows(text, value, what) {
	if (value == null) {
		assert.match(text, /^(unknown|\?|)$/, `${what}: '${text}' is not known`);
		return;
	}
	if (/^< 0\.1 %$/.test(text.trim())) {
		assert.ok(Math.abs(value) < 0.001, `${what}: '${text}' is ${value}`);
		return;
	}
	const read = readNumber(text);
	assert.ok(read && Math.abs(read.value - value) <= read.off + 1e-9, `${what}: the page says '${text}', the command ${value}`);
}

/** All rows of a table, by the words of its header; what is not on screen is scrolled to. */
export async function rows(page, label, most = 400) {
	const table = page.locator(`[role="grid"][aria-label="${label}"], [role="table"][aria-label="${label}"]`);
	await table.waitFor();
	return table.evaluate(async (element, limit) => {
		const names = [...element.querySelectorAll('[role="columnheader"]')].map((cell) => cell.textContent.replace(/ [▾▴]$/, "").trim());
		const body = element.querySelectorAll('[role="rowgroup"]')[1];
		const found = new Map();
		const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)));
		const text = (cell) => {
			const whole = cell.cloneNode(true); // with the names that it shortens
			for (const name of whole.querySelectorAll("[data-name]")) name.textContent = name.dataset.name;
			return whole.textContent;
		};
		body.scrollTop = 0;
		await frame();
		for (;;) {
			for (const row of body.querySelectorAll('[role="row"]'))
				found.set(Number(row.getAttribute("aria-rowindex")), Object.fromEntries([...row.children].map((cell, at) => [names[at], text(cell).trim().replace(/^[▾▸] /, "")])));
			const before = body.scrollTop;
			body.scrollTop += body.clientHeight / 2;
			await frame();
			if (body.scrollTop === before || found.size >= limit) break;
		}
		return [...found].sort(([a], [b]) => a - b).map(([, row]) => row);
	}, most);
}

/** Where something is, once it has come to rest. */
export async function restingPlace(page, selector) {
	let before = null;
	for (let round = 0; round < 50; round++) {
		const now = await page.locator(selector).boundingBox();
		if (before && now && Math.hypot(now.x - before.x, now.y - before.y) < 0.5) return { x: now.x + now.width / 2, y: now.y + now.height / 2 };
		before = now;
		await page.waitForTimeout(100);
	}
	throw new Error(`${selector} does not come to rest`);
}

/** Drags a line from an output to an input; a canvas that still moved under the pointer gets a second chance. */
export async function connect(page, output, input) {
	const edges = () => page.locator(".react-flow__edge").count();
	const before = await edges();
	for (let round = 0; round < 3; round++) {
		const from = await restingPlace(page, output);
		const to = await restingPlace(page, input);
		await page.mouse.move(from.x, from.y);
		await page.mouse.down();
		await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 6 });
		await page.mouse.move(to.x, to.y, { steps: 6 });
		await page.waitForTimeout(100);
		await page.mouse.up();
		await page.waitForTimeout(300);
		if ((await edges()) > before) return;
	}
	throw new Error("the boxes were not connected");
}

/** The views of the page that is served, by their names in its address. */
export const views = ["", "flame", "tree", "time", "points", "scores", "point/0", "chunks", "entries", "types", "freq", "mprof", "calls", "threads", "map", "resident", "src", "live", "compare", "graph"];

const browserPath = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export async function launch() {
	for (const executablePath of browserPath) {
		try {
			return await chromium.launch({
				executablePath,
				args: ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
			});
		} catch (error) {
			if (!String(error).includes("ENOENT") && !String(error).includes("doesn't exist")) throw error;
		}
	}
	throw new Error("no browser: install chromium-headless-shell");
}

const PATIENCE = 120000; // ms; a machine with much else to do is no failure

/** A page that fails the test on errors, and on any request that leaves the origin. */
export async function open(browser, url, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
	context.setDefaultTimeout(PATIENCE);
	const page = await context.newPage();
	const origin = new URL(url).origin;
	page.problems = [];
	page.on("pageerror", (error) => page.problems.push(`error: ${error.message}`));
	page.on("console", (message) => message.type() === "error" && page.problems.push(`console: ${message.text()} ${message.location().url}`));
	page.on("request", (request) => {
		const to = request.url();
		if (!to.startsWith(origin === "null" ? url : origin) && !to.startsWith("data:")) page.problems.push(`left the origin: ${to}`);
	});
	await page.goto(url);
	return page;
}

/** Opens the totals of the summary. */
export function unfold(page) {
	return page.locator("details.fold").evaluate((fold) => (fold.open = true));
}

/** Waits until nothing is being asked and all of it is painted. */
export async function settle(page) {
	for (let quiet = 0; quiet < 2; quiet++) {
		await page.waitForFunction(() => window.__hw?.pending() === 0 && document.querySelectorAll('[aria-busy="true"]').length === 0);
		await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done), 30))));
	}
}

export async function view(page, hash) {
	await page.evaluate((to) => (location.hash = to), hash);
	await page.evaluate(() => new Promise((done) => setTimeout(done, 20)));
	await settle(page);
}
