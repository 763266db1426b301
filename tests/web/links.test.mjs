// SPDX-License-Identifier: MIT
// All state is in the address: whoever opens it sees the same, back leads back, and nonsense in it breaks nothing.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chance, cli, end, full, launch, open, record, serve, settle, view, views } from "./lib.mjs";

let browser;
let server;
let duration;
const SEED = Number(process.env.HEAPWISE_WEB_SEED ?? 8);

before(async () => {
	const logstat = record("logstat", [join(process.env.HEAPWISE_EXAMPLES, "logstat"), "5000"]);
	duration = cli("report", logstat).duration_ns;
	server = await serve(logstat, record("widget", [join(process.env.HEAPWISE_EXAMPLES, "widget")]));
	browser = await launch();
});
after(() => end(browser));

/** What each view understands. */
const keys = {
	"": {},
	flame: { metric: ["bytes", "allocs", "peak", "live", "kept", "temporary"], dir: ["down", "up"], s: ["page", "/^line_/", "("], rec: ["1"], hide: ["__strdup"] },
	time: { by: ["none", "type", "module", "thread", "size", "point", "sev"], metric: ["live", "chunks", "alloc_bytes", "allocs", "frees"] },
	points: { sort: ["-sev", "-bytes", "-chunks", "lifetime", "fn", "-avg_life"] },
	"point/2": {},
	chunks: { order: ["time", "size", "life", "addr"], lane: ["row", "packed", "thread"], point: ["1", "2", "5"], y: ["0", "60"] },
	types: { sort: ["-bytes", "-chunks", "-kept_bytes"], fold: ["1"] },
	freq: { method: ["both", "kmeans", "iqr"], k: ["2", "3", "5"], mu: ["0.5", "3", "100"], log: ["0"], raw: ["1"], sort: ["-freq", "size"] },
	mprof: { tab: ["leaks", "bins", "direct", "graph"] },
	calls: { fn: ["main", "line_parse"], mode: ["table", "sandwich"], up: ["1", "3"], down: ["1", "4"] },
	threads: { sort: ["-bytes", "name"] },
	map: { bpp: ["16", "64", "1024"], order: ["hilbert"], color: ["fn", "type", "age", "sev"] },
	src: {},
	compare: { key: ["stack", "fn", "type", "file"], metric: ["bytes", "allocations", "peak"], align: ["start", "peak"] },
	graph: {},
};
const queries = ["all | where size >= 15", "all | where not freed", 'all | where stack ~ "page"', "at peak"];

function randomPlace(dice) {
	const name = dice.pick(Object.keys(keys));
	const query = new URLSearchParams();
	for (const [key, values] of Object.entries(keys[name])) if (dice.next() < 0.6) query.set(key, dice.pick(values));
	if (dice.next() < 0.4) query.set("q", dice.pick(queries));
	if (dice.next() < 0.3) {
		const ends = [dice.below(duration), dice.below(duration)].sort((a, b) => a - b);
		query.set("t", `${ends[0]}..${ends[1] + 1}`);
	}
	if (dice.next() < 0.4) query.set("at", String(dice.below(duration)));
	if (dice.next() < 0.4) query.set("sel", dice.pick(["p:0", "p:3", "f:main", "ty:char", "th:0", "o:1"]));
	return `#/${name}?${query}`;
}

/** All that there is to see: words, what is painted, what is chosen in the controls. */
async function seen(page) {
	return page.evaluate(() => ({
		state: window.__hw.state(),
		main: document.querySelector("main").innerText.replace(/Request r\d+/, "Request"), // that has a number of its own each time
		drawer: document.querySelector("aside.drawer")?.innerText ?? "",
		choices: [...document.querySelectorAll("main select, main input")].map((control) => (control.type === "checkbox" ? control.checked : control.value)),
		painted: ["flame", "chunks", "scatter", "ratios"].map((name) => window.__hw.items(name).map((item) => [item.id, Math.round(item.x), Math.round(item.y), Math.round(item.w)])),
		cursor: document.querySelector('[data-t="cursor"]')?.style.left ?? "",
	}));
}

test("a link shows what its sender saw: states by chance", async () => {
	const dice = chance(SEED);
	const page = await open(browser, server);
	const other = await page.context().newPage();
	for (let round = 0; round < (full ? 200 : 8); round++) {
		const hash = randomPlace(dice);
		await view(page, hash);
		await page.evaluate(() => (document.activeElement instanceof HTMLElement ? document.activeElement.blur() : undefined));
		await other.goto("about:blank");
		await other.goto(`${new URL(server).origin}/${await page.evaluate(() => location.hash)}`);
		await settle(other);
		if (hash.startsWith("#/graph"))
			for (const one of [page, other]) {
				await one.locator(".palette button").first().waitFor();
				await one.waitForTimeout(400); // boxes are counted a moment after they were changed
				await settle(one);
			}
		assert.deepEqual(await seen(other), await seen(page), `seed ${SEED}: ${hash}`);
	}
	assert.deepEqual(page.problems.filter((problem) => !/40[04] \(/.test(problem)), []);
	await page.context().close();
});

test("back and forward lead through what was seen", async () => {
	const page = await open(browser, server);
	const path = ["#/flame?metric=allocs", "#/points?sort=-bytes", "#/time?by=type", "#/mprof?tab=bins"];
	const pictures = [];
	for (const hash of path) {
		await view(page, hash);
		pictures.push((await seen(page)).main);
	}
	for (let at = path.length - 2; at >= 0; at--) {
		await page.keyboard.press("[");
		await page.waitForFunction((hash) => location.hash === hash, path[at]);
		await settle(page);
		assert.equal((await seen(page)).main, pictures[at]);
	}
	await page.keyboard.press("]");
	await page.waitForFunction((hash) => location.hash === hash, path[1]);
	await settle(page);
	assert.equal((await seen(page)).main, pictures[1]);
	await page.context().close();
});

test("nonsense in an address never breaks the page", async () => {
	const dice = chance(SEED + 1);
	const nonsense = ["NaN", "-1", "1e999", "💥", "<img src=x onerror=window.__pwned=1>", "x".repeat(3000), "\u0000", "..", "99999999999999999999999", "null", "%", "0x", "p:", "c:-5", "n:4294967295", "../../etc/passwd", "all | where", "1..", "5..1", "true", "__proto__", "constructor"];
	const names = ["trace", "q", "g", "t", "tm", "at", "sel", "base", "metric", "dir", "z", "s", "hide", "rec", "pivot", "by", "sort", "point", "order", "lane", "y", "x0", "x1", "fold", "method", "k", "mu", "log", "raw", "tab", "verb", "depth", "page", "fn", "mode", "up", "down", "min", "bpp", "mem", "color", "key", "align", "all", "zzz", "__proto__"];
	const page = await open(browser, server);
	const paths = [...views, "nowhere", "point/abc", "point/-1", "point/99999999", "src/nowhere.c:7", "src/:::", "graph/no-such", "graph/%2e%2e", "%E0%A4%A", "a/b/c/d"];
	for (let round = 0; round < (full ? 300 : 25); round++) {
		const query = Array.from({ length: 1 + dice.below(5) }, () => `${dice.pick(names)}=${encodeURIComponent(dice.pick(nonsense))}`).join("&");
		const hash = `#/${dice.pick(paths)}?${query}`;
		await page.evaluate((to) => (location.hash = to), hash);
		await page.waitForTimeout(20);
		await settle(page);
		const state = await page.evaluate(() => ({ rail: document.querySelectorAll('nav[aria-label="Views"] a').length, main: document.querySelector("main")?.innerText.trim().length ?? 0, pwned: window.__pwned ?? null }));
		assert.ok(state.rail > 5 && state.main > 0, `seed ${SEED}: ${hash} leaves nothing to see`);
		assert.equal(state.pwned, null);
		assert.deepEqual(page.problems.filter((problem) => !/40[04] \(/.test(problem)), [], `seed ${SEED}: ${hash}`);
	}
	// and it is as alive as before
	await view(page, "#/");
	assert.match(await page.locator('[data-t="sentence"]').innerText(), /^Peak/);
	await page.context().close();
});
