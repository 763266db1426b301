// SPDX-License-Identifier: MIT
// The page in a real browser, on the real server, with traces recorded just now: what is on screen is what the
// command line says, every view opens without an error in both themes, and links show what their sender saw.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { axeSource, cli, end, heapwise, launch, open, record, serve, settle, targets, view, work } from "./lib.mjs";

const views = ["", "flame", "time", "points", "point/0", "chunks", "types", "freq", "mprof", "calls", "threads", "map", "src", "compare", "graph"];
let browser;
let server;
let trace;
let report;

before(async () => {
	trace = record("logstat", [join(process.env.HEAPWISE_EXAMPLES, "logstat")]);
	report = cli("report", trace);
	server = await serve(trace, record("widget", [join(process.env.HEAPWISE_EXAMPLES, "widget")]));
	browser = await launch();
});
after(() => end(browser));

const number = (text) => Number(text.replace(/,/g, ""));
const grouped = (value) => value.toLocaleString("en");

/** Where something is, once it has come to rest. */
async function restingPlace(page, selector) {
	let before = null;
	for (let round = 0; round < 50; round++) {
		const now = await page.locator(selector).boundingBox();
		if (before && now && Math.hypot(now.x - before.x, now.y - before.y) < 0.5) return { x: now.x + now.width / 2, y: now.y + now.height / 2 };
		before = now;
		await page.waitForTimeout(150);
	}
	throw new Error(`${selector} does not come to rest`);
}

/** Drags a line from an output to an input; a canvas that still moved under the pointer gets a second chance. */
async function connect(page, output, input) {
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
		if (await page.locator(".react-flow__edge").count()) return;
	}
	throw new Error("the boxes were not connected");
}

describe("truth", () => {
	test("the overview has the numbers of heapwise report", async () => {
		const page = await open(browser, server);
		await settle(page);
		const shown = async (name) => page.locator(`[data-t="${name}"]`).innerText();
		assert.equal(number(await shown("allocs")), report.allocations);
		assert.equal(number(await shown("temporary")), report.temporary);
		assert.equal(number(await shown("points")), report.points.length ?? report.points);
		assert.match(await shown("matched"), new RegExp(`^${grouped(report.allocations)} chunks`));
		assert.equal(await page.locator('[data-t="verdict"]').count(), cli("findings", trace).findings.length);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("the points are those of heapwise scores, worst first", async () => {
		const page = await open(browser, server);
		await view(page, "#/points?sort=-chunks");
		const first = await page.getByRole("grid", { name: "Allocation points" }).getByRole("row").nth(1).innerText();
		const most = Math.max(...cli("scores", "--all", trace).points.map((point) => point.allocations ?? point.chunks));
		assert.ok(first.includes(grouped(most)), `${first} has ${grouped(most)}`);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("the members of a type are those of heapwise types --fields", async () => {
		const program = join(work, "members");
		execFileSync(heapwise, ["c++", "-g", "-O1", "-fno-builtin", "-o", program, new URL("../targets/members.cpp", import.meta.url).pathname]);
		const members = record("members", [program], ["--access", "exact", "--coverage"]);
		const wanted = cli("types", "--fields", "Sides", members).members;
		const page = await open(browser, await serve(members));
		await view(page, "#/types");
		await page.getByRole("grid", { name: "Types", exact: true }).getByText("Sides", { exact: true }).click();
		const grid = page.getByRole("table", { name: "Members of Sides" });
		await grid.waitFor();
		const rows = (await grid.getByRole("row").allInnerTexts()).slice(1).map((text) => text.split(/\s*[\t\n]\s*/));
		assert.equal(wanted.find((row) => row.member === "stored").state, "written, never read");
		for (const row of wanted) {
			const shown = rows.find((cells) => cells[0] === String(row.offset));
			assert.ok(shown, `a row of offset ${row.offset}`);
			const sides = [row.read, row.written].map(String).concat([row.read_bytes, row.written_bytes].map((bytes) => `${bytes} of ${row.size} B`));
			for (const text of [row.state, row.member ?? "", ...sides]) assert.ok(shown.includes(text) || text === "", `${shown.join(" | ")} has ${text}`);
		}
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("the flame graph's frames lie in their parents and sum up", async () => {
		const page = await open(browser, server);
		await view(page, "#/flame?metric=bytes");
		const items = await page.evaluate(() => window.__hw.items("flame"));
		assert.ok(items.length > 10);
		const root = items.find((item) => item.y === 0);
		for (const item of items) {
			assert.ok(item.x >= root.x - 0.01 && item.x + item.w <= root.x + root.w + 0.01);
			if (item.y === 0) continue;
			const above = items.find((other) => Math.abs(other.y + 20 - item.y) < 1 && other.x <= item.x + 0.01 && other.x + other.w >= item.x + item.w - 0.01);
			assert.ok(above, `${item.label} has a caller above it`);
		}
		assert.match(await page.locator(".panel").innerText(), /2\.00 MiB|MiB in/);
		await page.context().close();
	});
});

describe("journeys", () => {
	test("a query typed, and the same built of boxes, select the same chunks", async () => {
		const page = await open(browser, server);
		await view(page, "#/graph");
		const text = page.getByLabel("Query text", { exact: true });
		await text.fill("all | where size >= 15");
		await page.getByRole("button", { name: "Show as boxes" }).click();
		await page.waitForFunction(() => document.querySelectorAll('[data-t^="box-"]').length === 2);
		await settle(page);
		const typed = await text.inputValue();
		await page.getByRole("button", { name: "Apply to all views" }).click();
		await settle(page);
		const matched = await page.locator('[data-t="matched"]').innerText();
		assert.equal(number(matched.split(" of ")[0]), cli("query", trace, "all | where size >= 15").matched.chunks);
		// built anew, by clicks and one line between two boxes
		await page.getByRole("textbox", { name: "Filter, as query text" }).fill("");
		await page.getByRole("button", { name: "Apply", exact: true }).click();
		await view(page, "#/graph");
		await page.getByRole("complementary", { name: "Boxes" }).getByRole("button", { name: "all", exact: true }).click();
		await page.getByRole("complementary", { name: "Boxes" }).getByRole("button", { name: "where", exact: true }).click();
		await page.waitForFunction(() => document.querySelectorAll('[data-t^="box-"]').length === 2);
		await page.getByRole("button", { name: "Arrange" }).click();
		await settle(page);
		await connect(page, '[data-t="box-all"] .react-flow__handle-right', '[data-t="box-where"] .react-flow__handle-left');
		const expression = page.locator('[data-t="box-where"] input');
		await expression.fill("size >= 15");
		await expression.press("Enter");
		await expression.blur();
		await page.waitForFunction((wanted) => document.getElementById("graph-text").value.split("#")[0].trim() === wanted, typed.split("#")[0].trim());
		// a box that is not connected yet is refused, which the browser writes into its console
		assert.deepEqual(page.problems.filter((problem) => !problem.includes("400 (Bad Request)")), []);
		await page.context().close();
	});

	test("two runs are compared", async () => {
		const page = await open(browser, server);
		await view(page, "#/compare");
		assert.match(await page.locator("main").innerText(), /These are different programs/);
		const rows = await page.getByRole("table", { name: "Differences" }).getByRole("row").count();
		assert.ok(rows > 2);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("what is allocated excessively is ringed, and named as by heapwise excessive", async () => {
		const page = await open(browser, server);
		await view(page, "#/freq");
		const found = cli("excessive", trace).found.map((row) => row.caller);
		const flagged = await page.evaluate(() => [...document.querySelectorAll('[aria-label="Objects"] [role="gridcell"]')].map((cell) => cell.textContent).filter((words) => words.startsWith("◉")));
		assert.ok(found.length > 0);
		for (const caller of found) assert.ok(flagged.some((words) => words.includes(caller)), caller);
		await page.context().close();
	});

	test("from the overview to a leak in three clicks", async () => {
		const page = await open(browser, server);
		await settle(page);
		const card = page.locator('[data-t="verdict"]', { hasText: "never freed" }).first();
		await card.getByRole("button", { name: "Why?" }).click();
		await settle(page);
		const drawer = page.getByRole("complementary", { name: "Selection" });
		assert.match(await drawer.innerText(), /page_find/);
		await drawer.getByRole("link", { name: "All of it" }).click();
		await settle(page);
		assert.match(await page.locator("main").innerText(), /Allocated by/);
		assert.match(page.url(), /#\/point\/\d+/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("the flame graph is walked, zoomed and left with keys alone", async () => {
		const page = await open(browser, server);
		await view(page, "#/flame");
		const chart = page.getByRole("application", { name: /Flame graph/ });
		await chart.focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowDown");
		await page.waitForFunction(() => document.querySelector('[data-t="chart-flame"] [aria-live]')?.textContent !== "");
		assert.match(await chart.locator("[aria-live]").innerText(), /of total/);
		await page.keyboard.press("Enter");
		await settle(page);
		assert.match(page.url(), /z=n/);
		await page.keyboard.press("T");
		assert.ok(await page.getByRole("grid", { name: "Flame graph as a table" }).isVisible());
		await page.goBack();
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("a brush on the time strip becomes a window for all views, a click the cursor", async () => {
		const page = await open(browser, server);
		await view(page, "#/time");
		const box = await page.locator('[data-t="chart-strip"]').boundingBox();
		await page.mouse.move(box.x + 100, box.y + 20);
		await page.mouse.down();
		await page.mouse.move(box.x + 300, box.y + 20, { steps: 5 });
		await page.mouse.up();
		await settle(page);
		assert.match(page.url(), /t=\d+\.\.\d+/);
		assert.match(await page.locator('[data-t="matched"]').innerText(), / of .* chunks/);
		await page.mouse.click(box.x + 500, box.y + 20);
		await settle(page);
		assert.match(page.url(), /at=\d+/);
		assert.ok(await page.locator('[data-t="cursor"]').isVisible());
		await page.context().close();
	});
});

describe("every view", () => {
	for (const colorScheme of ["light", "dark"])
		test(`opens without an error, and axe finds nothing serious, ${colorScheme}`, async () => {
			const page = await open(browser, server, { colorScheme });
			await page.addScriptTag({ content: axeSource() }).catch(() => page.evaluate(axeSource()));
			for (const name of views) {
				await view(page, `#/${name}`);
				const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
				const serious = violations.filter((found) => ["serious", "critical"].includes(found.impact));
				assert.deepEqual(serious.map((found) => `${name}: ${found.id} ${found.nodes[0]?.html.slice(0, 160)}`), []);
				const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
				assert.ok(nodes <= 3000, `${name} has ${nodes} nodes`);
			}
			// the script of axe itself is refused by the page's policy and comes in another way
			assert.deepEqual(page.problems.filter((problem) => !problem.includes("Content Security Policy")), []);
			await page.context().close();
		});

	test("a link shows what its sender saw", async () => {
		const page = await open(browser, server);
		for (const hash of ["#/flame?metric=allocs&dir=up", "#/points?sort=-bytes&sel=p%3A2", "#/time?by=module", "#/mprof?tab=bins"]) {
			await view(page, hash);
			const state = await page.evaluate(() => window.__hw.state());
			const text = await page.locator("main").innerText();
			const other = await page.context().newPage();
			await other.goto(`${new URL(server).origin}/${hash}`);
			await settle(other);
			assert.equal(await other.evaluate(() => window.__hw.state()), state);
			assert.equal(await other.locator("main").innerText(), text);
			await other.close();
		}
		await page.context().close();
	});

	test("a narrow screen keeps all of it", async () => {
		const page = await open(browser, server, { viewport: { width: 390, height: 844 } });
		await settle(page);
		const wide = await page.evaluate(() => document.documentElement.scrollWidth);
		assert.ok(wide <= 390, `the page is ${wide} pixels wide`);
		await page.context().close();
	});
});

describe("hostile data", () => {
	test("names of functions are text, whatever they contain", async () => {
		const hostile = record("hostile", [join(targets, "hostile_names")]);
		const other = await serve(hostile);
		const page = await open(browser, other);
		for (const name of views) {
			await view(page, `#/${name}`);
			assert.equal(await page.evaluate(() => window.__pwned ?? null), null);
			assert.equal(await page.locator("main img").count(), 0);
		}
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("an empty program is said to have made no allocation", async () => {
		const empty = record("empty", ["/bin/true"]);
		const other = await serve(empty);
		const page = await open(browser, other);
		await settle(page);
		for (const name of views.filter((other) => other !== "point/0")) await view(page, `#/${name}`);
		await view(page, "#/");
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});

describe("a report in one file", () => {
	const shown = ["", "flame", "time", "points", "point/0", "chunks", "types", "freq", "mprof", "calls", "threads"];

	test("opens without a server and without a request, with the numbers of the command line", async () => {
		const file = join(work, "report.html");
		execFileSync(process.env.HEAPWISE, ["export", "--to", "html", "-o", file, trace]);
		assert.ok(statSync(file).size < 15e6);
		const page = await open(browser, `file://${file}`, { offline: true });
		await settle(page);
		assert.equal(number(await page.locator('[data-t="allocs"]').innerText()), report.allocations);
		for (const name of shown) {
			await view(page, `#/${name}`);
			assert.equal(await page.locator("main .problem").count(), 0, name);
		}
		// what is not inside is said to be missing, and no source text is inside
		await view(page, "#/flame?metric=bytes&t=1..2");
		assert.match(await page.locator("main").innerText(), /not in the report/);
		assert.ok(!readFileSync(file, "utf8").includes("lost whenever the page is known already"));
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});
