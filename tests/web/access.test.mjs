// SPDX-License-Identifier: MIT
// For everyone: axe in each view and theme, a journey without a mouse, what is spoken, the table behind each chart, large
// print, forced colours.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { axeSource, cli, end, full, instrumented, launch, open, record, rows, serve, settle, shows, slow, view, views } from "./lib.mjs";

let browser;
let server;
let trace;

before(async () => {
	trace = record("contrived", [instrumented("contrived", join(process.env.HEAPWISE_SOURCE_DIR, "examples/contrived.cpp")), "1024"]);
	server = await serve(trace, record("widget", [join(process.env.HEAPWISE_EXAMPLES, "widget")]));
	browser = await launch();
});
after(() => end(browser));

const more = ["time?by=type", "chunks?point=1&y=0", "mprof?tab=graph", "mprof?tab=bins", "calls?mode=table", "calls?mode=sandwich", "map?order=hilbert", "points?sel=p:1", "flame?metric=peak&s=main", "freq?sel=o:0", "points?q=all%20%7C%20where%20size%20%3E%2015", "flame?q=all%20%7C%20where%20nothing", "flame?q=all%20%7C%20where%20size%20%3C%200", "graph?q=all%20%7C%20join%20type", "nowhere"];

describe("axe", () => {
	for (const colorScheme of ["light", "dark"])
		test(`finds nothing serious in any view, ${colorScheme}`, colorScheme === "light" ? {} : slow, async () => {
			const page = await open(browser, server, { colorScheme });
			await page.evaluate(axeSource());
			const found = [];
			for (const name of full ? [...views, ...more] : views) {
				await view(page, `#/${name}`);
				const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
				for (const violation of violations)
					if (["serious", "critical"].includes(violation.impact)) found.push(`${name}: ${violation.id} ${violation.nodes[0]?.html.slice(0, 160)}`);
				const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
				if (nodes > 3000) found.push(`${name} has ${nodes} nodes`);
			}
			assert.deepEqual(found, []);
			assert.deepEqual(page.problems.filter((problem) => !problem.includes("400 (")), []);
			await page.context().close();
		});
});

describe("without a mouse", () => {
	test("from the overview to the worst point, its chunks, a filter, and back", async () => {
		const page = await open(browser, server);
		await settle(page);
		const keys = async (...list) => {
			for (const key of list) await page.keyboard.press(key);
			await settle(page);
		};
		await keys("Tab");
		assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the view");
		await keys("Enter");
		assert.equal(await page.evaluate(() => document.activeElement.id), "main");
		await keys("g", "k");
		assert.match(page.url(), /#\/scores/);
		// into the table: the row that is chosen moves with the arrows
		const tabTo = async (wanted) => {
			for (let presses = 0; presses < 60; presses++) {
				await page.keyboard.press("Tab");
				if (await page.evaluate((label) => document.activeElement.getAttribute("aria-label") === label || document.activeElement.textContent.trim() === label, wanted)) return;
			}
			throw new Error(`Tab does not lead to '${wanted}'`);
		};
		await tabTo("Allocation points, rows");
		await keys("ArrowDown");
		assert.match(page.url(), /sel=p/);
		await keys("Enter");
		assert.match(page.url(), /#\/point\/\d+/);
		const point = /point\/(\d+)/.exec(page.url())[1];
		const truth = cli("scores", "--all", trace).points.find((row) => String(row.point) === point);
		assert.equal(truth.severity, 12, "the first row is the worst");
		await page.getByRole("main").getByRole("link", { name: "Chunks" }).focus();
		await keys("Enter");
		assert.match(page.url(), /#\/chunks/);
		assert.match(await page.locator("main .panel").innerText(), /1,024 chunks/);
		// the filter
		await keys("f");
		assert.equal(await page.evaluate(() => document.activeElement.id), "query");
		await page.keyboard.type("all | where size == 400");
		await keys("Enter");
		assert.match(await page.locator('[data-t="matched"]').innerText(), /^1,024 of /);
		await page.evaluate(() => document.activeElement.blur());
		await keys("[");
		assert.doesNotMatch(page.url(), /q=/);
		await keys("?");
		assert.ok(await page.getByRole("dialog").isVisible());
		await keys("Escape");
		assert.equal(await page.getByRole("dialog").count(), 0);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("the flame graph is walked, spoken, zoomed and left with keys alone", async () => {
		const page = await open(browser, server);
		await view(page, "#/flame?metric=bytes");
		const chart = page.getByRole("application", { name: /Flame graph/ });
		await chart.focus();
		for (const key of ["ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
		const live = page.locator('[data-t="chart-flame"] [aria-live]');
		await page.waitForFunction(() => document.querySelector('[data-t="chart-flame"] [aria-live]')?.textContent !== "");
		const report = cli("report", trace);
		const words = await live.innerText();
		assert.match(words, /^main, .* of total, 3 children$/);
		assert.ok(/([\d.]+ [KM]iB)/.exec(words), words);
		shows(/, ([\d.]+ \w+),/.exec(words)[1], report.bytes - cli("query", trace, "all | where not (stack ~ /^main$/)").matched.bytes, "main");
		await page.keyboard.press("Enter");
		await settle(page);
		assert.match(page.url(), /z=n/);
		await page.keyboard.press("i");
		await settle(page);
		assert.match(page.url(), /dir=up/);
		await page.keyboard.press("T");
		await page.getByRole("grid", { name: "Flame graph as a table" }).waitFor();
		assert.match(page.url(), /#\/tree\?.*dir=up/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("the time strip is moved and spoken", slow, async () => {
		const page = await open(browser, server);
		await settle(page);
		await page.getByRole("application", { name: "Live bytes over the run" }).focus();
		await page.keyboard.press("p");
		await settle(page);
		const { time_ns: peak } = cli("report", trace).peak;
		const at = Number(/at=(\d+)/.exec(page.url())[1]);
		assert.ok(Math.abs(at - peak) < cli("report", trace).duration_ns / 400, `${at} is near the peak, ${peak}`);
		await page.keyboard.press("ArrowRight");
		await settle(page);
		assert.ok(Number(/at=(\d+)/.exec(page.url())[1]) > at);
		await page.context().close();
	});
});

describe("for eyes of all kinds", () => {
	test("twice as large, nothing is cut off or lost", slow, async () => {
		// 1280 pixels at 200 %
		const page = await open(browser, server, { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 });
		for (const name of views) {
			await view(page, `#/${name}`);
			const wide = await page.evaluate(() => document.documentElement.scrollWidth);
			assert.ok(wide <= 640, `${name || "overview"} is ${wide} pixels wide`);
		}
		await page.context().close();
	});

	test("a telephone shows every view without scrolling sideways", async () => {
		const page = await open(browser, server, { viewport: { width: 390, height: 844 } });
		for (const name of [...views, "mprof?tab=graph"]) {
			await view(page, `#/${name}`);
			const wide = await page.evaluate(() => document.documentElement.scrollWidth);
			assert.ok(wide <= 390, `${name || "overview"} is ${wide} pixels wide`);
			const cut = await page.locator('.tabs [aria-current], .segment [aria-pressed="true"]').evaluateAll((chosen) => chosen.filter((one) => {
				const [box, row] = [one.getBoundingClientRect(), one.parentElement.getBoundingClientRect()];
				return box.left < row.left - 1 || box.right > row.right + 1;
			}).map((one) => one.textContent));
			assert.deepEqual(cut, [], `${name}: what is chosen is in sight`);
		}
		await page.context().close();
	});

	test("headings stand over their columns, and no number runs into the next one", async () => {
		const page = await open(browser, server);
		let cells = 0;
		const listing = `src/${encodeURIComponent(join(process.env.HEAPWISE_SOURCE_DIR, "examples/contrived.cpp"))}:30`;
		for (const name of [...views, "calls?mode=table", "mprof?tab=bins", listing]) {
			await view(page, `#/${name}`);
			const found = await page.evaluate(() => {
				const places = (row, role) => [...row.querySelectorAll(role)].map((cell) => Math.round(cell.getBoundingClientRect().left));
				const tables = [...document.querySelectorAll('[role="grid"], [role="table"]')].map((table) => {
					const lines = [...table.querySelectorAll('[role="row"]')];
					return { label: table.ariaLabel, head: places(lines[0], '[role="columnheader"]'), body: lines.slice(1).map((line) => places(line, '[role="cell"], [role="gridcell"]')) };
				});
				const all = [...document.querySelectorAll('[role="cell"], [role="gridcell"]')];
				const spilt = all.filter((cell) => getComputedStyle(cell).overflowX === "visible" && cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent);
				return { tables, spilt, cells: all.length };
			});
			for (const { label, head, body } of found.tables) for (const line of body.filter((places) => places.length === head.length)) assert.deepEqual(line, head, `${name}: ${label}`);
			assert.deepEqual(found.spilt, [], name);
			cells += found.cells;
		}
		assert.ok(cells > 200, `${cells} cells were looked at`);
		await page.context().close();
	});

	test("tables of points and types are whole on a screen of 1280 pixels, and rows as wide as their table", async () => {
		const page = await open(browser, server);
		for (const name of ["points", "scores", "types", "threads"]) {
			await view(page, `#/${name}`);
			const found = await page.evaluate(() => {
				const table = document.querySelector('main [role="grid"], main [role="table"]');
				const [head, row] = table.querySelectorAll('[role="row"]');
				const right = (element) => Math.round(element.getBoundingClientRect().right);
				return { hidden: table.scrollWidth - table.clientWidth, edge: right(table) - 1, head: right(head), row: right(row), columns: head.children.length };
			});
			assert.equal(found.hidden, 0, `${name}: pixels that are out of sight`);
			assert.deepEqual([found.head, found.row], [found.edge, found.edge], name);
			if (name === "scores") assert.equal(found.columns, 12, "with accesses all columns are there");
		}
		await page.context().close();
	});

	test("forced colours, and no movement where none is wanted", slow, async () => {
		const page = await open(browser, server, { forcedColors: "active", reducedMotion: "reduce" });
		for (const name of ["", "flame", "points"]) await view(page, `#/${name}`);
		// severities keep their colours, which are data
		const colours = await page.locator('[role="grid"] .sev').evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
		assert.ok(new Set(colours).size > 1, colours.join(" "));
		const moving = await page.evaluate(() => document.getAnimations().length);
		assert.equal(moving, 0);
		await page.context().close();
	});

	test("the chosen theme stays, and both have enough contrast", async () => {
		const page = await open(browser, server);
		await settle(page);
		await page.getByRole("combobox", { name: "Theme" }).selectOption("dark");
		assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
		await page.reload();
		await settle(page);
		assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
		await page.context().close();
	});
});

describe("the table behind a chart", () => {
	test("has what is painted: flame, timeline, chunks", async () => {
		const page = await open(browser, server);
		const twin = async (label) => {
			await page.keyboard.press("T");
			const table = await rows(page, label, 2000);
			await page.keyboard.press("T");
			return table;
		};
		await view(page, "#/flame?metric=allocs");
		const flame = await page.evaluate(() => window.__hw.items("flame").map((item) => item.label));
		assert.deepEqual((await twin("Flame graph as a table")).map((row) => row.Function).sort(), [...flame].sort());
		await view(page, "#/chunks?point=1");
		const bars = await page.evaluate(() => window.__hw.items("chunks").map((item) => String(item.id)));
		assert.deepEqual((await twin("Chunks")).map((row) => row.Chunk), bars);
		await view(page, "#/time");
		assert.ok((await twin("Timeline as a table")).length > 100);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});
