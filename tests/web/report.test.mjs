// SPDX-License-Identifier: MIT
// A report in one file: opened from the disk, without a server and without a request, it has the numbers of the page
// that is served.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { cli, end, full, heapwise, hostileNames, instrumented, launch, open, record, rows, serve, settle, shows, slow, strip, targets, unfold, view, work } from "./lib.mjs";

const shown = ["", "flame", "flame?metric=allocs", "flame?metric=peak&dir=up", "flame?metric=kept", "flame?metric=lost&dir=up", "flame?metric=resident", "time", "time?by=type", "points", "types", "mprof?tab=leaks", "mprof?tab=bins", "mprof?tab=direct", "mprof?tab=graph", "calls", "threads"];
let browser;
let server;
let trace;
let file;

before(async () => {
	trace = record("contrived", [instrumented("contrived", join(process.env.HEAPWISE_SOURCE_DIR, "examples/contrived.cpp")), "1024"]);
	file = join(work, "report.html");
	execFileSync(heapwise, ["export", "--to", "html", "-o", file, trace]);
	server = await serve(trace);
	browser = await launch();
});
after(() => end(browser));

/** What is told, without the ways to what only a server has. */
const told = (page) => page.locator("main").evaluate((element) => {
	const copy = element.cloneNode(true);
	for (const part of copy.querySelectorAll("select, .controls, .buttons, .acts, .series button, canvas, .excerpt, .tabs")) part.remove();
	return copy.textContent;
});

describe("a report in one file", () => {
	test("has what the served page has, word for word, and asks nobody", async () => {
		const served = await open(browser, server);
		const page = await open(browser, `file://${file}`, { offline: true });
		const asked = [];
		page.on("request", (request) => asked.push(request.url()));
		await settle(page);
		for (const name of shown) {
			await view(served, `#/${name}`);
			await view(page, `#/${name}`);
			const [here, there] = await Promise.all([page, served].map(told));
			const at = [...here].findIndex((char, index) => char !== there[index]);
			assert.ok(here === there, `${name}: '${here.slice(at - 60, at + 60)}' is not '${there.slice(at - 60, at + 60)}'`);
			const [painted, drawn] = await Promise.all([page, served].map((one) => one.evaluate(() => ["flame", "scatter", "ratios", "strip"].map((chart) => window.__hw.items(chart).map((item) => [item.id, Math.round(item.x), Math.round(item.w), item.colour])))));
			assert.deepEqual(painted, drawn, name);
		}
		assert.deepEqual(asked, []);
		assert.deepEqual(page.problems, []);
		await page.context().close();
		await served.context().close();
	});

	test("has what was live at 64 moments, and the cursor stands at them", async () => {
		const served = await open(browser, server);
		const page = await open(browser, `file://${file}`, { offline: true });
		const moments = [...readFileSync(file, "utf8").matchAll(/data-k="\/flame\?at=(\d+)&dir=down/g)].map((match) => Number(match[1]));
		assert.equal(new Set(moments).size, 64);
		moments.sort((a, b) => a - b);
		const boxes = (one) => one.evaluate(() => window.__hw.items("flame").map((item) => [item.label, Math.round(item.x), Math.round(item.w), item.colour]));
		const seen = new Set();
		for (const at of [3, 20, 41, 63]) {
			const between = Math.round(moments[at] - (moments[1] - moments[0]) / 3);
			for (const dir of ["down", "up"]) {
				await view(served, `#/flame?metric=live&dir=${dir}&at=${moments[at]}`);
				await view(page, `#/flame?metric=live&dir=${dir}&at=${between}`);
				const drawn = await boxes(page);
				assert.deepEqual(drawn, await boxes(served), `${dir} at ${moments[at]}`);
				seen.add(JSON.stringify(drawn));
			}
		}
		assert.ok(seen.size > 2, "moments differ");
		const chart = page.locator('[data-t="chart-strip"]');
		const box = await chart.boundingBox();
		const cursor = () => page.locator('[data-t="cursor"]').evaluate((element, { x, width, side }) => (100 * (element.getBoundingClientRect().x - x - side)) / (width - 2 * side), { ...box, side: strip.side });
		await page.mouse.click(box.x + box.width / 2, box.y + 20);
		await settle(page);
		const left = await cursor();
		assert.ok(Math.abs(left - 50) < 1, `${left} %`);
		await chart.focus();
		await page.keyboard.press("ArrowRight");
		await settle(page);
		const next = await cursor();
		assert.ok(Math.abs(next - left - 100 / 64) < 0.1, `one moment further: ${left} ${next}`);
		assert.deepEqual(page.problems, []);
		await page.context().close();
		await served.context().close();
	});

	test("has resident memory: the chart, and the bill and the map of its looks", async () => {
		const bursts = record("bursts", [join(targets, "bursts"), "1500", "1", "10"]);
		const report = join(work, "resident.html");
		execFileSync(heapwise, ["export", "--to", "html", "--views", "resident", "-o", report, bursts]);
		const served = await open(browser, await serve(bursts));
		const page = await open(browser, `file://${report}`, { offline: true });
		const asked = [];
		page.on("request", (request) => asked.push(request.url()));
		const looks = cli("resident", bursts).over_time;
		const links = (one) => one.evaluate(() => document.querySelectorAll('main a, [aria-label="Memory map by account"] p').forEach((element) => element.remove()));
		const seen = new Set();
		for (const at of ["", ...(full ? [0, Math.floor(looks.length / 2), looks.length - 1] : [0]).map((look) => `?at=${looks[look].time_ns}`)]) {
			for (const one of [served, page]) await view(one, `#/resident${at}`);
			const pages = await Promise.all([page, served].map((one) => one.evaluate(() => window.__hw.items("map").map((item) => [item.id, Math.round(item.x), Math.round(item.y), item.label]))));
			assert.deepEqual(pages[0], pages[1], `map ${at}`);
			for (const one of [served, page]) await links(one);
			const [here, there] = await Promise.all([page, served].map(told));
			assert.equal(here, there, at);
			assert.match(here, /Charged to allocation points at /);
			seen.add(JSON.stringify(pages[0]));
		}
		assert.ok(seen.size > 1, "maps differ by look");
		await view(page, "#/resident");
		await page.locator(".looks .u-over").click({ position: { x: 4, y: 60 } });
		await settle(page);
		assert.equal(await page.locator('[data-t="looks"]').getAttribute("aria-valuenow"), "0");
		shows(/with (\S+ \S+) resident/.exec(await page.locator('[data-t="bill"]').innerText())[1], looks[0].rss_bytes, "the bill of the first look");
		// a page of the map can be pointed at, but who holds it only a server knows
		await page.locator('[data-t="chart-map"]').click({ position: { x: 30, y: 10 } });
		await settle(page);
		assert.equal(await page.locator("aside.drawer").count(), 0);
		assert.deepEqual([...asked, ...page.problems, ...served.problems], []);
		await page.context().close();
		await served.context().close();
	});

	test("has the owners", async () => {
		const report = join(work, "owners.html");
		execFileSync(heapwise, ["export", "--to", "html", "-o", report, record("owners", [join(targets, "owners")], ["--owners"])]);
		const page = await open(browser, `file://${report}`, { offline: true });
		await settle(page);
		await page.getByRole("link", { name: "Owners" }).first().click();
		await settle(page);
		assert.ok((await page.locator('main [role="row"]').count()) > 3);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("has the numbers of the command line", async () => {
		const page = await open(browser, `file://${file}`, { offline: true });
		const report = cli("report", trace);
		await settle(page);
		await unfold(page);
		shows(await page.locator('[data-t="allocs"]').innerText(), report.allocations, "allocations");
		shows(await page.locator('[data-t="peak"]').innerText(), report.peak.bytes, "peak");
		await view(page, "#/freq");
		assert.equal(await page.locator('[data-t="conclusion"]').innerText(), cli("excessive", trace).conclusion);
		await view(page, "#/points?sort=-chunks");
		const table = await rows(page, "Allocation points");
		assert.equal(table.length, report.points);
		assert.equal(table.reduce((sum, row) => sum + Number(row.Chunks.replace(/,/g, "")), 0), report.allocations);
		await page.context().close();
	});

	test("is small, holds no source text, and says what it does not hold", async () => {
		assert.ok(statSync(file).size < 15e6);
		const text = readFileSync(file, "utf8");
		assert.ok(!text.includes("reserve() would make it one allocation"));
		assert.match(text, /Content-Security-Policy/);
		assert.doesNotMatch(text, /(src|href)="https?:/);
		const page = await open(browser, `file://${file}`, { offline: true });
		await view(page, "#/flame?metric=bytes&t=1..2");
		assert.match(await page.locator("main").innerText(), /not in the report/);
		await view(page, "#/point/0");
		assert.match(await page.locator("main").innerText(), /Allocated by/);
		for (const name of ["map", "src", "graph", "compare", "nowhere", "point/99999", "chunks?x0=5&x1=9"]) {
			await view(page, `#/${name}`);
			assert.ok((await page.locator("main").innerText()).trim().length > 0, name);
		}
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	for (const [kind, known] of [["files", true], ["lines", false]])
		test(`has the source that was asked for beside a point at once, and in a view: ${kind}`, async () => {
			const sourced = join(work, `${kind}.html`);
			execFileSync(heapwise, ["export", "--to", "html", "--source", kind, "--source-folder", process.env.HEAPWISE_SOURCE_DIR, "-o", sourced, trace]);
			const page = await open(browser, `file://${sourced}`, { offline: true });
			await view(page, "#/points");
			await page.getByRole("grid", { name: "Allocation points" }).getByRole("row").filter({ hasText: "contrived.cpp:33" }).click();
			await settle(page);
			const lines = readFileSync(join(process.env.HEAPWISE_SOURCE_DIR, "examples/contrived.cpp"), "utf8").split("\n");
			const drawer = page.locator("aside.drawer");
			assert.equal((await drawer.locator(".excerpt .here").innerText()).replace(/^\d+/, "").trim(), lines[32].trim());
			await drawer.getByRole("link", { name: "contrived.cpp:33" }).first().click();
			await settle(page);
			const listed = await rows(page, "Source lines with their cost");
			assert.equal(listed.find((row) => row.Line === "33").Code, lines[32].trim());
			assert.equal(listed.some((row) => row.Code === lines[0]), known);
			assert.deepEqual(page.problems, []);
			await page.context().close();
		});

	test("without source no link leads to it, and its view says how to have it", async () => {
		const page = await open(browser, `file://${file}`, { offline: true });
		await view(page, "#/points?sel=p:0");
		assert.equal(await page.locator("aside.drawer a.where, aside.drawer .excerpt").count(), 0);
		assert.match(await page.locator("aside.drawer .stack").innerText(), /\.c:\d+/);
		await view(page, "#/src");
		assert.match(await page.locator("main").innerText(), /This report has no source.*--source lines/);
		await page.context().close();
	});

	test("runs no other script, even of a trace that asks for it", slow, async () => {
		const hostile = join(work, "hostile.html");
		execFileSync(heapwise, ["export", "--to", "html", "-o", hostile, record("hostile", [hostileNames()])]);
		const page = await open(browser, `file://${hostile}`, { offline: true });
		for (const name of shown) {
			await view(page, `#/${name}`);
			assert.equal(await page.evaluate(() => window.__pwned ?? null), null, name);
		}
		await view(page, "#/mprof?tab=direct");
		assert.match(await page.locator("main").innerText(), /<img src=x onerror=window\.__pwned=1>/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});
