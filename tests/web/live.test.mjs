// SPDX-License-Identifier: MIT
// A real program under load, watched in the browser: that what is shown is what the server tells, and what happens
// when the screen stops, the connection goes, the program is killed.
import assert from "node:assert/strict";
import http from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { axeSource, cli, end, launch, open, record, rows, serve, settle, shows, slow, unfold, until, view, watch } from "./lib.mjs";

let browser;

before(async () => {
	browser = await launch();
});
after(() => end(browser));

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * The bytes of all that the page still holds. Without code: the browser goes on translating functions that run often, for
 * minutes, which is two thirds of what a whole heap of this size grows by in one minute.
 */
async function held(client) {
	const parts = [];
	const take = ({ chunk }) => parts.push(chunk);
	client.on("HeapProfiler.addHeapSnapshotChunk", take);
	await client.send("HeapProfiler.takeHeapSnapshot"); // collects what nobody holds first
	client.off("HeapProfiler.addHeapSnapshotChunk", take);
	const { snapshot, nodes } = JSON.parse(parts.join(""));
	const { node_fields: fields, node_types: types } = snapshot.meta;
	const [kind, size, code] = [fields.indexOf("type"), fields.indexOf("self_size"), types[0].indexOf("code")];
	let bytes = 0;
	for (let at = 0; at < nodes.length; at += fields.length) if (nodes[at + kind] !== code) bytes += nodes[at + size];
	return bytes;
}

/** The server through a line that can be cut. */
async function line(url) {
	const real = new URL(url);
	const sockets = new Set();
	let cut = false;
	const server = http.createServer((request, answer) => {
		const passed = http.request({ host: real.hostname, port: real.port, path: request.url, method: request.method, headers: { ...request.headers, host: real.host } }, (reply) => {
			answer.writeHead(reply.statusCode, reply.headers);
			reply.pipe(answer);
		});
		passed.on("error", () => answer.destroy());
		answer.on("close", () => passed.destroy());
		request.pipe(passed);
	});
	server.on("connection", (socket) => {
		if (cut) socket.destroy();
		sockets.add(socket);
		socket.on("close", () => sockets.delete(socket));
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		url: `http://127.0.0.1:${server.address().port}/${real.search}`,
		cut() {
			cut = true;
			for (const socket of sockets) socket.destroy();
		},
		mend: () => (cut = false),
		close() {
			for (const socket of sockets) socket.destroy();
			server.close();
		},
	};
}

const liveOf = (page) => page.evaluate(() => window.__hw.live?.() ?? null);
/** Allocations, of the fold that has the totals. */
const totals = async (page) => {
	await unfold(page);
	return part(page, "allocs").innerText();
};
const part = (page, name) => page.locator(`[data-t="${name}"]`);

/** The view, with ticks in it. */
async function openLive(url, options, hash = "#/live") {
	const page = await open(browser, url, options);
	await settle(page);
	await view(page, hash);
	await until(async () => ((await liveOf(page))?.ticks ?? 0) > 1, "ticks in the page");
	return page;
}

/** Looks at the newest tick but one, which stays; answers it as the server has it. */
async function lookAt(page, ask) {
	const t = (await ask("/live/history")).ticks.at(-2).t;
	await until(async () => (await liveOf(page)).last >= t, "the tick in the page");
	await view(page, `#/live?at=${t}`);
	return (await ask(`/live/history?from=${t}`)).ticks.find((tick) => tick.t === t);
}

describe("a program that runs", () => {
	let watched;
	before(async () => {
		watched = await watch(150);
	});

	test("is what the page of its server begins with, and the numbers are the server's", async () => {
		const page = await open(browser, watched.url);
		await page.waitForURL(/#\/live/);
		await until(async () => ((await liveOf(page))?.ticks ?? 0) > 1, "ticks in the page");
		const tick = await lookAt(page, watched.ask);
		for (const name of ["malloc_s", "free_s", "realloc_s", "live"]) assert.equal(await part(page, name).innerText(), Math.round(tick[name]).toLocaleString("en"), name);
		shows(await part(page, "live-bytes").innerText(), tick.live_bytes, "live bytes");
		shows(await part(page, "working-set").innerText(), tick.working_set, "touched of late");
		shows(await part(page, "overhead").innerText(), tick.overhead_pct / 100, "overhead");
		shows(await part(page, "monitored").innerText(), tick.monitored, "monitored");
		assert.ok(tick.live > 100 && tick.malloc_s > 0, "the program is under load");
		const ages = await part(page, "cross-section").locator("tr .number").allInnerTexts();
		assert.deepEqual(ages.map((text) => Number(text.split(", ")[0].replace(/,/g, ""))).reverse(), [tick.age_unknown, ...tick.age], "the cross-section");
		const all = tick.age.reduce((sum, n) => sum + n, tick.age_unknown);
		const [, idle, fresh] = /^(.*) idle over 16 s, (.*) touched in the last 2 s[,.]/.exec(await part(page, "idle-sentence").innerText());
		shows(idle, (tick.age[5] + tick.age[6]) / all, "idle");
		shows(fresh, (tick.age[0] + tick.age[1]) / all, "touched");
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("what grows, and who holds it, after two scans", async () => {
		const page = await openLive(watched.url);
		assert.match(await part(page, "holders").innerText(), /heapwise ctl PID scan --owners/, "how to get it");
		const { pid } = await watched.ask("/trace");
		for (let scan = 0; scan < 2; scan++) {
			cli("ctl", String(pid), "scan", "--owners");
			await sleep(3000);
		}
		await until(async () => (await watched.ask("/owners"))?.growth != null, "two scans in the trace");
		await page.getByRole("button", { name: "Look again" }).click();
		await until(async () => (await rows(page, "What grows")).length > 0, "rows");
		const { growth } = await watched.ask("/owners");
		const shown = await rows(page, "What grows");
		assert.deepEqual(shown.map((row) => row["Grows in"]), growth.map((row) => row.container));
		growth.forEach((row, at) => shows(shown[at].Bytes, row.bytes_delta, row.container));
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("by bytes, and as a table: the same numbers", async () => {
		const page = await openLive(watched.url);
		const tick = await lookAt(page, watched.ask);
		await view(page, `#/live?at=${tick.t}&by=bytes`);
		const ages = await part(page, "cross-section").locator("tr .number").allInnerTexts();
		ages.reverse().forEach((text, row) => shows(text, [tick.age_unknown_bytes, ...tick.age_bytes][row], `bytes of age ${row}`));
		await view(page, `#/live?at=${tick.t}&as=table`);
		await page.keyboard.press(" ");
		const table = await rows(page, "Ticks", 30);
		const history = (await watched.ask("/live/history")).ticks;
		const last = history.findIndex((one) => Math.round(one.malloc_s).toLocaleString("en") === table[0]["malloc/s"] && one.live.toLocaleString("en") === table[0].Areas);
		assert.ok(last > 0, "the newest row is a tick");
		for (const [at, row] of table.slice(0, Math.min(table.length, last, 10)).entries()) {
			const one = history[last - at];
			shows(row.Time, one.t, "time");
			assert.equal(row.Areas, one.live.toLocaleString("en"));
			assert.equal(row["≥ 32 s"], one.age[6].toLocaleString("en"));
			assert.equal(row["Age unknown"], one.age_unknown.toLocaleString("en"));
			shows(row["Perhaps touched"], one.working_unknown, "bytes that were not watched all the time");
			shows(row.Suspects, one.suspects.n, "suspects");
		}
		await page.context().close();
	});

	test("what was not watched is unknown, and the words are explained", async () => {
		const page = await openLive(watched.url);
		const tick = await until(async () => (await watched.ask("/live/history")).ticks.findLast((one) => one.age_unknown > 0 && one.working_unknown > 0), "areas that were not watched");
		await until(async () => (await liveOf(page)).last >= tick.t, "the tick in the page");
		await view(page, `#/live?at=${tick.t}`);
		const all = tick.age.reduce((sum, n) => sum + n, tick.age_unknown);
		assert.equal(all, tick.live, "every area has an age or is unknown");
		const row = part(page, "cross-section").locator("tr").last();
		assert.equal(await row.locator("th").innerText(), "unknown");
		assert.equal(Number((await row.locator(".number").innerText()).split(", ")[0].replace(/,/g, "")), tick.age_unknown);
		const [, unknown] = /, (\S+ ?%) unknown: not monitored for long enough\.$/.exec(await part(page, "idle-sentence").innerText());
		shows(unknown, tick.age_unknown / all, "unknown");
		const [, perhaps] = /([\d.,]+ \S+) unknown$/.exec(await part(page, "working-set").innerText());
		shows(perhaps, tick.working_unknown, "perhaps touched");
		assert.match(await page.locator("main").innerText(), /Heapwise watches only part of the memory at a time/);
		assert.match(await part(page, "bounded-words").innerText(), /^Memory that the program has not touched for at least the time that you choose here/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("Space stops the screen and not the program; the lag is said", async () => {
		const page = await openLive(watched.url);
		const before = await liveOf(page); // it stops then or later
		await page.keyboard.press(" ");
		const still = await part(page, "numbers").innerText();
		await until(async () => (await liveOf(page)).last - before.last >= 4e9, "ticks go on");
		assert.equal(await part(page, "numbers").innerText(), still, "the screen stands still");
		const lag = Number(/^paused, \+(\d+) s$/.exec(await part(page, "paused").innerText())[1]);
		const most = ((await liveOf(page)).last - before.last) / 1e9 + 0.5; // it is rounded
		assert.ok(lag >= 2 && lag <= most, `${lag} s of ${most}`);
		await page.keyboard.press(" ");
		await until(async () => (await part(page, "numbers").innerText()) !== still, "it goes on");
		assert.equal(await part(page, "feed").innerText(), "live");
		await page.context().close();
	});

	test("charts are walked by keys, spoken, and hit by the mouse", async () => {
		const page = await openLive(watched.url);
		await page.locator('[data-t="chart-live-ages"]').focus();
		await page.keyboard.press(" ");
		await page.keyboard.press("ArrowLeft");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowLeft");
		await until(async () => /\d+.* areas untouched for 16–32 s/.test(await page.locator('[data-t="chart-live-ages"] [aria-live]').innerText()), "it is spoken");
		assert.match(page.url(), /at=\d+/);
		await page.keyboard.press("Escape");
		assert.doesNotMatch(page.url(), /at=\d+/);
		let items;
		for (let round = 0; round < 5 && !/at=\d+/.test(page.url()); round++) {
			// a tick may come between the look and the click, and move them
			items = await page.evaluate(() => window.__hw.items("live-rates").map(({ x, y, w, h }) => ({ x, y, w, h })));
			const box = await page.locator('[data-t="chart-live-rates"]').boundingBox();
			const hit = items[Math.floor(items.length / 2)];
			await page.mouse.click(box.x + hit.x + hit.w / 2, box.y + hit.y + hit.h / 2);
			await page.waitForTimeout(50);
		}
		assert.match(page.url(), /at=\d+/);
		items.forEach((item, at) => assert.ok(at === 0 || item.x + item.w <= items[at - 1].x + 0.01, "columns do not overlap"));
		await page.context().close();
	});

	test("possible leaks: fewer the longer they must not be touched, and said to be a superset", async () => {
		const page = await openLive(watched.url);
		const counts = [];
		for (const tl of ["1s", "4s", "8s"]) {
			await view(page, `#/live?tl=${tl}`);
			// On a busy machine it takes a while until some memory was monitored for so long.
			const text = await until(async () => {
				const found = /^([\d,]+) areas.* untouched for (\S+) s or more: possible leaks, a superset of the real ones\./.exec(await part(page, "suspects").innerText())?.slice(1);
				return found && (tl !== "1s" || found[0] !== "0") ? found : null;
			}, "the sentence");
			assert.equal(Number(text[1]), parseInt(tl));
			counts.push(Number(text[0].replace(/,/g, "")));
		}
		assert.ok(counts[0] > 0 && counts[0] >= counts[1] && counts[1] >= counts[2], counts.join(" ≥ "));
		const shown = await rows(page, "Possible leaks", 20);
		const told = await watched.ask("/live/suspects?tl=1s&limit=500");
		for (const row of shown.slice(0, 5)) assert.ok(told.rows.some((one) => row["Allocated by"].startsWith(one.fn)), row["Allocated by"]);
		await page.getByLabel("Untouched for at least").focus();
		await page.keyboard.press("ArrowRight");
		await settle(page);
		assert.match(page.url(), /tl=16s/);
		await page.context().close();
	});

	test("the answers come first: what grows, who holds most, what is not used", async () => {
		const page = await openLive(watched.url, {}, "#/live?tl=1s");
		const box = async (name) => await page.locator(name).first().boundingBox();
		assert.ok((await box('[data-t="answer-grows"]')).y < (await box('[data-t="chart-live-rates"]')).y, "above the charts");
		await page.keyboard.press(" ");
		const [most] = await rows(page, "Top points", 1);
		assert.ok((await part(page, "answer-holds").innerText()).includes(most.Own), most.Own);
		const told = await until(async () => {
			const text = await part(page, "answer-unused").innerText();
			return / in [\d,]+ areas/.test(text) ? text : null;
		}, "unused memory");
		const { rows: unused } = await watched.ask("/live/suspects?tl=1s&limit=500");
		assert.ok(unused.some((one) => told.includes(one.fn)), told);
		await page.locator('[data-t="answer-holds"] button').first().click();
		await until(async () => /sel=p/.test(page.url()), "an answer leads to its point");
		await page.context().close();
	});

	test("top points are sorted, and lead to the point", async () => {
		const page = await openLive(watched.url, {}, "#/live?sort=-n");
		await page.keyboard.press(" ");
		const top = await rows(page, "Top points", 20);
		const areas = top.map((row) => Number(row.Areas.replace(/,/g, "")));
		assert.ok(areas.length > 0);
		assert.deepEqual(areas, [...areas].sort((a, b) => b - a));
		await page.getByRole("grid", { name: "Top points" }).getByRole("row").nth(1).click();
		await settle(page);
		const drawer = page.getByRole("complementary", { name: "Selection" });
		await until(async () => top[0].Point.startsWith(await drawer.locator("h2").innerText()) || /steady/.test(await drawer.innerText()), "the drawer has the point");
		await page.context().close();
	});

	test("top points of one thread are what it holds", async () => {
		const page = await openLive(watched.url, {}, "#/live");
		const told = await watched.ask("/live/top?thread=1&limit=50");
		assert.deepEqual(told.rows.map((row) => [row.fn, row.n, row.own]), [["helper_hold", 64, 64000]]);
		const choice = page.getByLabel("Allocated by thread");
		await until(async () => (await choice.count()) === 1, "the choice of threads");
		await choice.selectOption("1");
		await until(async () => (await rows(page, "Top points", 20)).every((row) => row.Point.startsWith("helper_hold")), "its points alone");
		assert.match(page.url(), /thread=1/);
		const [row] = await rows(page, "Top points", 20);
		assert.equal(row.Areas, "64");
		shows(row.Own, 64000, "bytes that it holds");
		await until(async () => /^±0$/.test((await rows(page, "Top points", 20))[0].Change), "no change since the answer before");
		await choice.selectOption("");
		await until(async () => (await rows(page, "Top points", 20)).length > 3, "the points of all");
		await page.context().close();
	});

	test("settings take effect, and what is in force is shown", async () => {
		const page = await openLive(watched.url);
		await page.getByText("Settings").click();
		const field = page.getByLabel("Tick, ms");
		await until(async () => (await field.inputValue()) === "1000", "the tick in force");
		await field.fill("500");
		await field.press("Enter");
		await until(async () => (await watched.ask("/live/config")).tick_ms === 500, "the server was told");
		await until(async () => {
			const { ticks } = await watched.ask("/live/history");
			return ticks.length > 4 && ticks.at(-1).t - ticks.at(-5).t < 3e9;
		}, "ticks come twice as fast");
		await page.getByLabel("Overhead, %").fill("5");
		await page.getByLabel("Overhead, %").press("Enter");
		await until(async () => (await watched.ask("/live/config")).overhead_pct === 5, "the server was told");
		await field.fill("1000");
		await field.press("Enter");
		await until(async () => (await watched.ask("/live/config")).tick_ms === 1000, "as before");
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("a link shows the same to another", async () => {
		const page = await openLive(watched.url);
		const tick = await lookAt(page, watched.ask);
		await view(page, `#/live?at=${tick.t}&by=bytes&tl=8s&span=1&sort=-n`);
		const seen = await part(page, "cross-section").innerText();
		const other = await open(browser, watched.url);
		await settle(other);
		await other.goto(page.url());
		await until(async () => (await part(other, "cross-section").count()) && (await part(other, "cross-section").innerText()) === seen, "the same cross-section");
		assert.equal(new URL(other.url()).hash, new URL(page.url()).hash);
		await other.context().close();
		await page.context().close();
	});

	for (const colorScheme of ["light", "dark"])
		test(`axe finds nothing serious, ${colorScheme}, also as a table and small`, colorScheme === "light" ? {} : slow, async () => {
			const page = await openLive(watched.url, { colorScheme });
			for (const [hash, size] of [["#/live", [1280, 800]], ["#/live?as=table", [1280, 800]], ["#/live", [390, 844]]]) {
				await page.setViewportSize({ width: size[0], height: size[1] });
				await view(page, hash);
				await page.keyboard.press(" ");
				await page.evaluate(axeSource());
				const found = await page.evaluate(async () => (await window.axe.run()).violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`));
				assert.deepEqual(found, [], `${hash}, ${size}`);
				assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, "nothing sticks out");
				await page.keyboard.press(" ");
			}
			await page.context().close();
		});

	test("a snapshot opens as a recording, with the numbers of the report", async () => {
		const page = await openLive(watched.url);
		await page.getByRole("button", { name: "Snapshot" }).click();
		await page.waitForURL(/trace=/);
		await settle(page);
		const id = /trace=([^&]+)/.exec(page.url())[1];
		const { path } = (await watched.ask("/status")).traces.find((one) => one.id === id);
		const report = cli("report", path);
		shows(await totals(page), report.allocations, "allocations");
		shows(await part(page, "peak").innerText(), report.peak.bytes, "peak");
		await page.goBack();
		await until(async () => (await liveOf(page))?.state === "on", "back to what runs");
		await page.context().close();
	});

	test("other views are asked anew by Refresh", async () => {
		const page = await openLive(watched.url);
		await view(page, "#/");
		const before = await totals(page);
		await until(async () => {
			await page.getByRole("button", { name: "Refresh" }).click();
			await settle(page);
			return (await totals(page)) !== before;
		}, "more allocations");
		await page.context().close();
	});
});

describe("what goes wrong", () => {
	let watched;
	before(async () => {
		watched = await watch(150, "--policy", "ladder");
	});

	test("the thresholds of the ladder are those of the server", async () => {
		const page = await openLive(watched.url);
		const tick = await lookAt(page, watched.ask);
		assert.ok(tick.thr_states.length >= 2 && tick.thr.length === tick.thr_states.length);
		await view(page, `#/live?at=${tick.t}&as=table`);
		await page.keyboard.press(" ");
		const table = await rows(page, "Ticks", 30);
		const row = table.find((one) => one.Areas === tick.live.toLocaleString("en") && one["malloc/s"] === Math.round(tick.malloc_s).toLocaleString("en"));
		tick.thr_states.forEach((seconds, at) => assert.equal(row[`τ ${seconds} s`], tick.thr[at].toLocaleString("en")));
		await view(page, "#/live");
		assert.ok((await page.evaluate(() => window.__hw.items("live-thresholds").length)) >= tick.thr.length);
		await page.context().close();
	});

	test("a line that is cut: said, tried again after 1, 2, 4 s, and nothing is missing then", async () => {
		const through = await line(watched.url);
		const page = await openLive(through.url);
		through.cut();
		await until(async () => (await part(page, "state").count()) === 1, "it is said");
		const waits = new Set();
		await until(async () => {
			const text = await part(page, "state").innerText();
			waits.add(Number(/tried again in (\d+) s/.exec(text)[1]));
			return waits.has(4);
		}, "it waits longer each time");
		// a busy machine may not show each of them long enough
		assert.ok(waits.size >= 2 && [...waits].every((wait, at, all) => [1, 2, 4].includes(wait) && wait > (all[at - 1] ?? 0)), [...waits].join());
		assert.ok((await part(page, "numbers").count()) === 1, "what is shown stays");
		through.mend();
		await page.locator('[data-t="state"]').getByRole("button", { name: "Try now" }).click();
		await until(async () => (await liveOf(page)).state === "on", "it is there again");
		await until(async () => {
			const now = await liveOf(page);
			const { ticks } = await watched.ask("/live/history");
			return now.ticks === ticks.filter((tick) => tick.t <= now.last).length;
		}, "as many ticks as the server has");
		through.close();
		await page.context().close();
	});

	test("the program is killed: said how, and its trace opens", async () => {
		const page = await openLive(watched.url);
		await watched.kill();
		await until(async () => (await part(page, "state").count()) === 1, "the end is said");
		assert.match(await part(page, "state").innerText(), /ended by signal 9/);
		assert.equal(await part(page, "feed").innerText(), "ended");
		await page.getByRole("link", { name: "Open its trace" }).click();
		await settle(page);
		assert.match(page.url(), /#\/\?.*trace=/);
		assert.ok(Number((await totals(page)).replace(/,/g, "")) > 100);
		await view(page, "#/live");
		await until(async () => (await liveOf(page)).state === "ended", "and is known to whoever comes later");
		const later = await openLive(watched.url);
		await until(async () => (await liveOf(later)).state === "ended", "also in another page");
		assert.equal((await liveOf(later)).ticks, (await watched.ask("/live/history")).ticks.length, "which has all of it");
		assert.deepEqual(page.problems, []);
		await later.context().close();
		await page.context().close();
	});

	test("a recording is no program that runs, and that is said", async () => {
		const page = await open(browser, await serve(record("widget", [join(process.env.HEAPWISE_EXAMPLES, "widget")])));
		await view(page, "#/live");
		assert.match(await page.locator("main").innerText(), /No program runs behind this page[\s\S]*heapwise watch --web/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});

describe("for long", () => {
	test("60 s: memory stays as it is, and a redraw takes at most 16 ms", slow, async () => {
		const watched = await watch(240);
		const page = await openLive(watched.url, {}, "#/live?span=1");
		const client = await page.context().newCDPSession(page);
		await sleep(70000); // a minute is shown: until the lists are as long as they get
		const before = await held(client);
		const redraws = [];
		for (let round = 0; round < 60; round++) {
			await sleep(1000);
			redraws.push((await liveOf(page)).redraw);
		}
		const now = await held(client);
		redraws.sort((a, b) => a - b);
		const middle = redraws[Math.floor(redraws.length / 2)];
		assert.ok(Math.abs(now / before - 1) <= 0.05, `${before} bytes became ${now}`);
		assert.ok(middle <= 16, `${middle} ms`);
		assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) <= 3000);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});
