// SPDX-License-Identifier: MIT
// The figures of the papers that Heapwise stands on, made again by someone who clicks: Memoro's contrived
// program, the four example queries of the type preserving profiler, EMAD's Listing 2, mprof's widgets.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { cli, connect, end, heapwise, instrumented, launch, open, record, rows, serve, settle, shows, targets, until, view, work } from "./lib.mjs";

const examples = process.env.HEAPWISE_EXAMPLES;
const source = process.env.HEAPWISE_SOURCE_DIR;
let browser;

before(async () => (browser = await launch()));
after(() => end(browser));

const severityColours = ["#313695", "#476eb1", "#6ca2cb", "#9ccce2", "#cce9ef", "#f0f8d8", "#feefaa", "#fecd7f", "#fa9b5a", "#ed623e", "#d02d2a", "#a50026"];
const words = (locator) => locator.innerText();

describe("Memoro's contrived program", () => {
	const TURNS = 4096;
	let trace;
	let server;
	let page;
	let points; // vector, line, record: as the command knows them

	before(async () => {
		trace = record("contrived", [instrumented("contrived", join(source, "examples/contrived.cpp")), String(TURNS)]);
		points = cli("scores", "--all", trace).points;
		server = await serve(trace);
		page = await open(browser, server);
	});
	after(() => page.context().close());

	test("three points in main, one of them deep in push_back, worst first: 3, 2, 1", async () => {
		await view(page, "#/scores");
		const shown = (await rows(page, "Allocation points")).filter((row) => row.Function.includes("contrived.cpp"));
		assert.equal(shown.length, 3);
		const chunks = shown.map((row) => row.Chunks);
		// the record of which 4 of 400 bytes are used, the line that each turn makes anew, the vector
		assert.deepEqual(chunks, ["4,096", "4,096", "13"]);
		const bytes = shown.map((row) => row.Bytes);
		shows(bytes[0], 400 * TURNS, "bytes of the record");
		shows(bytes[1], 100 * TURNS, "bytes of the line");
		shows(bytes[2], 4 * (2 * TURNS - 1), "bytes of the vector");
		const steps = shown.map((row) => Number(row["Sev."]));
		assert.ok(steps[0] > steps[1] && steps[1] > steps[2], `severities ${steps}`);
		assert.equal(steps[0], 12);
		assert.ok(steps[2] <= 4, `the vector has ${steps[2]}`);
		assert.ok(Number(shown[0].Usage) <= 0.02 && Number(shown[1].Usage) === 1 && Number(shown[2].Usage) === 1, JSON.stringify(shown));
		assert.ok(Number(shown[0].Useful) < 0.3 && Number(shown[1].Useful) > 0.5 && Number(shown[2].Useful) > 0.5, JSON.stringify(shown));
		assert.ok(Number(shown[0].Lifetime) < 0.2 && Number(shown[2].Lifetime) > 0.5, JSON.stringify(shown));
		assert.equal(points.length >= 3, true);
	});

	test("Figure 2: the tips of the flame graph of allocations have the colours of their severity", async () => {
		await view(page, "#/flame?metric=allocs&color=sev&fold=0");
		const items = await page.evaluate(() => window.__hw.items("flame"));
		const main = items.find((item) => item.label === "main");
		const below = items.filter((item) => item.y > main.y && item.x >= main.x - 0.1 && item.x + item.w <= main.x + main.w + 0.1);
		assert.ok(below.some((item) => item.label.includes("push_back")), "push_back is below main");
		// each line of main that allocates is a tip of its own: two of them as wide as each other, and the vector's
		const tips = below.filter((item) => item.label.startsWith("contrived.cpp:"));
		assert.equal(tips.length, 2, JSON.stringify(below));
		assert.ok(Math.abs(tips[0].w - tips[1].w) < 1 && Math.abs(tips[0].w - main.w / 2) < 3);
		const steps = points.filter((point) => point.allocations === TURNS).map((point) => severityColours[point.severity - 1]);
		assert.deepEqual(tips.map((item) => item.colour).sort(), steps.sort());
		assert.equal(new Set(steps).size, 2, "the one is worse than the other");
	});

	test("Figure 3: the patterns of the chunks of each point", async () => {
		const ids = {};
		await view(page, "#/scores");
		for (const [name, at] of [["record", 0], ["line", 1], ["vector", 2]]) {
			const grid = page.getByRole("grid", { name: "Allocation points" });
			await grid.getByRole("row").filter({ hasText: "contrived.cpp" }).nth(at).click();
			await settle(page);
			ids[name] = /sel=p%3A(\d+)/.exec(page.url())[1];
		}
		const bars = async (name, rest = "") => {
			await view(page, `#/chunks?point=${ids[name]}${rest}`);
			const painted = await page.evaluate(() => window.__hw.items("chunks"));
			await page.getByRole("button", { name: "Table", exact: true }).click();
			const table = await rows(page, "Chunks", 60);
			await page.getByRole("button", { name: "Table", exact: true }).click();
			return { painted, table };
		};
		// c: arrays that double, each one freed when the next is there
		const vector = await bars("vector");
		assert.equal(vector.painted.length, 13);
		vector.table.forEach((row, at) => shows(row.Size, 4 << at, "size of an array"));
		for (let at = 1; at < 13; at++) {
			const [before, now] = [vector.painted[at - 1], vector.painted[at]];
			assert.ok(now.x >= before.x && now.y > before.y, "one below and after the other");
			assert.ok(now.x <= before.x + before.w + 1, "no gap: it is copied before the old one is freed");
		}
		// ever longer lives, by what happens in them, not by the clock: a busy machine may hold the program up anywhere
		const alive = (id) => cli("query", "--top", "0", trace, `all | where point == ${id}`).rows;
		const lines = alive(ids.line).map((row) => row.alloc);
		const turns = alive(ids.vector).map((row) => lines.filter((at) => at >= row.alloc && at < row.free).length);
		assert.deepEqual(turns, [1, ...Array.from({ length: 12 }, (_, at) => 2 ** at)], "turns in each life");
		// b: as many as turns, none at the same time as another, all of the same size
		for (const name of ["line", "record"]) {
			const total = (await (async () => { await view(page, `#/chunks?point=${ids[name]}`); return words(page.locator("main .panel")); })());
			assert.match(total, /4,096 chunks/);
			const first = await bars(name, "&y=0");
			assert.ok(first.table.length >= 50);
			first.table.forEach((row) => shows(row.Size, name === "line" ? 100 : 400, `size of a ${name}`));
		}
		// what the query language says of the same: they follow each other
		const lives = cli("query", trace, `all | where point == ${ids.line} | limit 100`).rows;
		for (let at = 1; at < lives.length; at++) assert.ok(lives[at].alloc >= lives[at - 1].free, "a line begins after the one before");
		assert.deepEqual(page.problems, []);
	});

	test("d: of the record little is used, and soon no more; the tooltip of its chunk says so", async () => {
		await view(page, "#/scores");
		await page.getByRole("grid", { name: "Allocation points" }).getByRole("row").nth(1).click();
		await settle(page);
		const drawer = page.getByRole("complementary", { name: "Selection" });
		await drawer.getByRole("button", { name: "Chunks", exact: true }).click();
		await settle(page);
		await page.getByRole("button", { name: "Page by page" }).click();
		await settle(page);
		await page.getByRole("button", { name: "Table", exact: true }).click();
		await page.getByRole("grid", { name: "Chunks" }).getByRole("row").nth(1).click();
		await settle(page);
		await drawer.getByRole("heading", { name: /^Chunk / }).waitFor();
		const detail = await words(drawer);
		assert.match(detail, /400 B/);
		assert.match(detail, /bytes 0 to 4, 1(\.0)? %/);
		assert.match(detail, /Reads, writes\s+1, 1/);
	});
});

describe("the four queries of the type preserving profiler's paper", () => {
	let trace;
	let server;
	let truth;
	const queries = [
		["from some std::vector", "where", { expr: 'stack ~ "std::vector"' }, 'all | where stack ~ "std::vector"'],
		["types of std:: in blue", "color", { color: "#3b6fb6", if: "type ~ /^std::/" }, "all | color #3b6fb6 if type ~ /^std::/"],
		["that lived 10 ms and longer", "where", { expr: "life >= 10ms" }, "all | where life >= 10ms"],
		["of one thread", "where", { expr: "thread == 1" }, "all | where thread == 1"],
	];

	before(async () => {
		const file = join(work, "entries.hwt");
		truth = JSON.parse(execFileSync(heapwise, ["run", "-q", "-o", file, "--", join(targets, "entries")], { stdio: ["ignore", "pipe", "inherit"] }));
		trace = file;
		server = await serve(trace);
	});

	const canonical = (page) => page.getByLabel("Query text", { exact: true }).inputValue().then((text) => text.split(/^#@/m)[0].trim());
	const counts = async (page) => {
		await page.waitForFunction(() => [...document.querySelectorAll('[data-t^="box-"]')].every((box) => /\d( pass|$)/.test(box.textContent)), null, { timeout: 60000 }).catch(async () => assert.fail(`no counts: ${JSON.stringify(await page.locator('[data-t^="box-"]').allInnerTexts())} ${await page.locator(".text").innerText()}`));
		return page.locator('[data-t^="box-"]').evaluateAll((boxes) => boxes.map((box) => /([\d,]+)( pass)?$/.exec(box.textContent)[1]));
	};

	for (const [name, kind, args, text] of queries)
		test(`${name}: by mouse and by text`, async () => {
			const wanted = cli("query", trace, text);
			const page = await open(browser, server);
			// by text
			await view(page, "#/graph");
			await page.getByLabel("Query text", { exact: true }).fill(text);
			await page.getByRole("button", { name: "Show as boxes" }).click();
			await page.locator(`[data-t="box-${kind}"]`).waitFor();
			const typed = { text: await canonical(page), counts: await counts(page) };
			// by mouse: boxes are dragged in, joined by a line, and filled in
			await view(page, "#/");
			await view(page, "#/graph");
			const palette = page.getByRole("complementary", { name: "Boxes" });
			const flow = page.locator(".flow");
			await palette.getByRole("button", { name: "all", exact: true }).dragTo(flow, { targetPosition: { x: 40, y: 120 } });
			await page.locator('[data-t="box-all"]').waitFor();
			await palette.getByRole("button", { name: kind, exact: true }).dragTo(flow, { targetPosition: { x: 320, y: 120 } });
			await page.locator(`[data-t="box-${kind}"]`).waitFor();
			await connect(page, '[data-t="box-all"] .react-flow__handle-right', `[data-t="box-${kind}"] .react-flow__handle-left`);
			for (const [arg, value] of Object.entries(args)) {
				const input = page.locator(`[data-t="box-${kind}"]`).getByLabel(arg, { exact: true });
				await input.fill(value);
				await input.press("Enter");
				await input.blur();
			}
			const same = (other) => document.getElementById("graph-text").value.split("#@")[0].trim() === other;
			await page.waitForFunction(same, typed.text, { timeout: 60000 }).catch(async () => assert.equal(await canonical(page), typed.text));
			let drawn;
			for (let round = 0; round < 100 && drawn?.counts.at(-1) !== typed.counts.at(-1); round++) {
				await page.waitForTimeout(200); // counts follow what is typed
				drawn = { text: await canonical(page), counts: await counts(page) };
			}
			assert.deepEqual(drawn, typed);
			assert.equal(Number(typed.counts.at(-1).replace(/,/g, "")), wanted.matched.chunks);
			// and in all views
			await page.getByRole("button", { name: "Apply to all views" }).click();
			await settle(page);
			const matched = await words(page.locator('[data-t="matched"]'));
			assert.equal(Number(matched.split(/ of | allocations/)[0].replace(/,/g, "")), wanted.matched.chunks);
			// a box that is not joined yet is refused, which the browser writes into its console
			assert.deepEqual(page.problems.filter((problem) => !problem.includes("400 (Bad Request)")), []);
			await page.context().close();
		});

	test("what one types into a box that was just joined stays, whatever is answered meanwhile", async () => {
		const page = await open(browser, server);
		await view(page, "#/graph");
		const palette = page.getByRole("complementary", { name: "Boxes" });
		for (const [kind, x] of [["all", 40], ["where", 320]]) {
			await palette.getByRole("button", { name: kind, exact: true }).dragTo(page.locator(".flow"), { targetPosition: { x, y: 120 } });
			await page.locator(`[data-t="box-${kind}"]`).waitFor();
		}
		const input = page.locator('[data-t="box-where"]').getByLabel("expr", { exact: true });
		await input.fill("");
		await connect(page, '[data-t="box-all"] .react-flow__handle-right', '[data-t="box-where"] .react-flow__handle-left');
		await input.focus();
		for (const part of ["life >= 10ms", " and size", " >= 100"]) {
			await page.keyboard.type(part, { delay: 40 });
			await page.keyboard.press("Enter"); // is asked; the answers come while one goes on
		}
		const text = "life >= 10ms and size >= 100";
		assert.equal(await input.inputValue(), text);
		assert.ok(await input.evaluate((element) => element === document.activeElement), "and the place where one types");
		await input.blur();
		await until(async () => (await canonical(page)).includes(text), "the text of what was typed");
		await page.context().close();
	});

	test("a double click moves the view of the boxes step by step, and a wheel takes over", async () => {
		const page = await open(browser, server);
		await view(page, `#/graph?q=${encodeURIComponent("all | join type")}`);
		await page.locator('[data-t="box-join"]').waitFor();
		const scale = () => page.locator(".react-flow__viewport").evaluate((element) => new DOMMatrix(getComputedStyle(element).transform).a);
		await until(async () => (await scale()) === 1, "the boxes in the window");
		await page.evaluate(() => {
			globalThis.seen = new Set();
			new MutationObserver(() => seen.add(document.querySelector(".react-flow__viewport").style.transform)).observe(document.querySelector(".react-flow__viewport"), { attributes: true });
		});
		const pane = page.locator(".react-flow__pane");
		await pane.dblclick({ position: { x: 60, y: 40 } });
		await until(async () => (await scale()) === 1.5, "the view at twice, at most 1.5");
		assert.ok((await page.evaluate(() => seen.size)) > 1, "steps");
		await page.mouse.wheel(0, 300);
		await until(async () => (await scale()) < 1.5, "less");
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("what they select is what the program says it did", () => {
		const chunks = (text) => cli("query", trace, text).matched.chunks;
		assert.equal(chunks(queries[0][3]), truth.vectors);
		assert.ok(chunks(`${queries[1][3]} | where color == #3b6fb6`) >= 40, "the nodes of the map");
		assert.ok(chunks(queries[2][3]) >= truth.lasting);
		assert.equal(chunks('all | where life >= 10ms and type ~ "std::map"'), truth.lasting);
		assert.ok(chunks(queries[3][3]) >= truth.threaded);
	});

	test("saved, opened again, and run by the command line: the same", async () => {
		const page = await open(browser, server);
		await view(page, "#/graph");
		await page.getByLabel("Query text", { exact: true }).fill("all | where life >= 10ms | join type | sort size desc");
		await page.getByRole("button", { name: "Show as boxes" }).click();
		await page.locator('[data-t="box-sort"]').waitFor();
		const text = await canonical(page);
		await page.getByLabel("Name", { exact: true }).fill("lasting");
		await page.getByRole("button", { name: "Save", exact: true }).click();
		await page.waitForURL(/#\/graph\/lasting/);
		await page.reload();
		await settle(page);
		await page.locator('[data-t="box-sort"]').waitFor();
		assert.equal(await canonical(page), text);
		const run = (...args) => execFileSync(heapwise, ["query", ...args, trace], { encoding: "utf8" });
		const saved = cli("query", "--file", join(work, "config/heapwise/graphs/lasting.hwq"), trace);
		assert.deepEqual(saved.rows, cli("query", trace, text).rows);
		assert.ok(run("--format", "text", "--file", join(work, "config/heapwise/graphs/lasting.hwq")).includes("std::map<int, Record>"));
		await page.context().close();
	});
});

describe("EMAD's Listing 2", () => {
	test("new and delete in a loop: ringed in the scatter, far to the right and low, and said", async () => {
		// lives are times: on a machine so busy that they were long, the command finds nothing, and the page would be right
		let trace, found;
		for (let round = 0; round < 10 && found?.found.length !== 1; round++) {
			trace = record(`listing2-${round}`, [join(targets, "excessive"), "churn"]);
			found = cli("excessive", trace);
		}
		const page = await open(browser, await serve(trace));
		await view(page, "#/freq");
		assert.equal(found.found.length, 1);
		const items = await page.evaluate(() => window.__hw.items("scatter"));
		const foo = items.filter((item) => item.label === found.found[0].caller);
		assert.ok(foo.length === 1 && items.length > 5, JSON.stringify(items));
		const middle = { x: foo[0].x + foo[0].w / 2, y: foo[0].y + foo[0].h / 2 };
		for (const other of items) assert.ok(other.x <= foo[0].x, "nothing is allocated more often");
		// the ring, in the ink of texts, ten pixels around it; elsewhere there is none
		const ringed = await page.evaluate((all) => {
			const canvas = document.querySelector('[data-t="chart-scatter"] canvas');
			const context = canvas.getContext("2d");
			const ratio = canvas.width / canvas.clientWidth;
			const probe = document.createElement("canvas").getContext("2d");
			probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--text");
			probe.fillRect(0, 0, 1, 1);
			const ink = probe.getImageData(0, 0, 1, 1).data;
			const near = (x, y) => {
				const { data } = context.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1);
				return data[3] > 80 && Math.abs(data[0] - ink[0]) + Math.abs(data[1] - ink[1]) + Math.abs(data[2] - ink[2]) < 60;
			};
			// on either side: a name stands to one of them
			return all.map((item) => {
				const [x, y] = [item.x + item.w / 2, item.y + item.h / 2];
				const angles = Array.from({ length: 24 }, (_, at) => (at * Math.PI) / 12);
				return angles.filter((angle) => near(x + 10 * Math.cos(angle), y + 10 * Math.sin(angle))).length >= 18;
			});
		}, items);
		assert.deepEqual(items.filter((_, at) => ringed[at]).map((item) => item.label), [found.found[0].caller]);
		assert.ok(middle.x > 0);
		assert.match(await words(page.locator('[data-t="conclusion"]')), /excessive/i);
		const row = (await rows(page, "Objects")).find((object) => object.Caller.startsWith("◉"));
		shows(row.Frequency, found.found[0].frequency, "frequency");
		assert.equal(row.Frequency, "300,000");
		assert.match(row.Destroyer, /drop_foo/);
		await page.context().close();
	});
});

describe("mprof's widgets", () => {
	test("the leak is three clicks from the overview", async () => {
		const trace = record("widget", [join(examples, "widget")]);
		const page = await open(browser, await serve(trace));
		await settle(page);
		// 1: the finding
		const card = page.locator('[data-t="finding"]', { hasText: "never freed" }).first();
		assert.match(await words(card), /Holds 1012 KiB at the peak/);
		assert.match(await words(card), /^Holds the peak: 1012 KiB from make_widget/);
		await card.getByRole("button", { name: /from make_widget/ }).click();
		await settle(page);
		const drawer = page.getByRole("complementary", { name: "Selection" });
		const stack = await words(drawer.locator(".stack"));
		assert.match(stack, /make_widget[\s\S]*make_red_widget[\s\S]*main/);
		shows(/Kept\s+(.*)/.exec(await words(drawer))[1], 5080 * 204, "kept");
		// 2: mprof's tables, 3: with the leaks by path, as the paper printed them
		await page.getByRole("link", { name: "Research" }).click();
		await settle(page);
		await page.getByRole("link", { name: "mprof tables" }).click();
		await settle(page);
		await page.getByRole("button", { name: "Memory leaks" }).click();
		await settle(page);
		const main = await words(page.locator("main"));
		assert.match(main, /5,080/);
		assert.match(main, /main › make_red_widget › make_widget/);
		assert.doesNotMatch(main, /make_blue_widget/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});
