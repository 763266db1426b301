// SPDX-License-Identifier: MIT
// Pictures whose shape is known before they are drawn: circles of calls, both sides of a function, memory
// along Hilbert's curve, boxes of a filter graph that are lined up, saved apart and put in again.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { end, launch, open, record, restingPlace, serve, settle, targets, until, view } from "./lib.mjs";

let browser;
let page;

before(async () => {
	const trace = record("calls", [join(targets, "calls")]);
	browser = await launch();
	page = await open(browser, await serve(trace));
});
after(() => end(browser));

const items = (name) => page.evaluate((view) => window.__hw.items(view), name);

describe("calls", () => {
	const inside = (box, name) => page.locator(".node", { has: page.locator("title", { hasText: new RegExp(`^${name}\\b`) }) }).evaluateAll((nodes, frame) => nodes.map((node) => node.getBoundingClientRect()).filter((at) => at.left >= frame.x - 1 && at.right <= frame.x + frame.width + 1 && at.top >= frame.y - 1 && at.bottom <= frame.y + frame.height + 1).length, box);

	test("functions that call each other are in a frame, the others are not", async () => {
		await view(page, "#/calls?fn=main&up=4&down=4&min=0");
		const frames = await page.locator("rect.cycle").all();
		assert.equal(frames.length, 2, "the calls program has two circles");
		const boxes = await Promise.all(frames.map((frame) => frame.boundingBox()));
		const holds = async (name) => (await Promise.all(boxes.map((box) => inside(box, name)))).reduce((a, b) => a + b);
		for (const name of ["ping", "pong", "walk_node", "walk_leaf"]) assert.equal(await holds(name), 1, name);
		for (const name of ["main", "make_name"]) assert.equal(await holds(name), 0, name);
	});

	test("+ shows the hidden neighbours of a function, which then has none", async () => {
		await view(page, "#/calls?fn=ping&up=1&down=1&min=0");
		const node = page.locator(".node", { has: page.locator("title", { hasText: /^main\b/ }) });
		const before = await page.locator(".node").count();
		assert.match(await node.innerText().catch(() => node.textContent()), /\+\d/, "main calls more than ping");
		await node.focus();
		await page.keyboard.press("+");
		await settle(page);
		await page.waitForFunction((count) => document.querySelectorAll(".node").length > count, before);
		assert.doesNotMatch(await node.textContent(), /\+\d/);
		assert.match(page.url(), /more=main/);
	});

	test("sandwich: callers above the function, what it calls below it, as wide as the graph says", async () => {
		await view(page, "#/calls?fn=walk_node&mode=sandwich&min=0");
		const drawn = await items("sandwich");
		const middle = drawn.filter((item) => item.label === "walk_node").sort((a, b) => b.w - a.w)[0];
		const above = drawn.filter((item) => item.y < middle.y).map((item) => item.label);
		const below = drawn.filter((item) => item.y > middle.y).map((item) => item.label);
		assert.ok(above.includes("main") && !above.includes("make_name"), `above: ${above}`);
		assert.ok(below.includes("walk_leaf"), `below: ${below}`);
		await page.locator('[data-t="chart-sandwich"]').focus();
		const leaf = drawn.find((item) => item.label === "walk_leaf" && item.y > middle.y);
		const chart = await page.locator('[data-t="chart-sandwich"]').boundingBox();
		await page.mouse.click(chart.x + leaf.x + leaf.w / 2, chart.y + leaf.y + leaf.h / 2);
		await page.keyboard.press("Enter");
		await settle(page);
		assert.match(page.url(), /fn=walk_leaf/);
	});
});

describe("memory along Hilbert's curve", () => {
	test("each chunk fills as many pixels as in rows, and no two the same", async () => {
		const area = async (hash) => {
			await view(page, hash);
			const chart = await page.locator('[data-t="chart-map"]').boundingBox();
			const drawn = await items("map");
			const wide = hash.includes("hilbert") ? 1024 : 512;
			const tall = hash.includes("hilbert") ? 2 : Math.min(...drawn.map((item) => item.h)); // of a row
			const pixels = new Map();
			for (const item of drawn) pixels.set(item.id, (pixels.get(item.id) ?? 0) + Math.round((item.w / chart.width) * wide) * Math.round(item.h / tall));
			const taken = new Set();
			for (const item of drawn)
				for (let x = 0; x < Math.round((item.w / chart.width) * wide); x++)
					for (let y = 0; y < Math.round(item.h / tall); y++) {
						const place = `${Math.round((item.x / chart.width) * wide) + x} ${Math.round(item.y / tall) + y}`;
						assert.ok(!taken.has(place) || !hash.includes("hilbert"), `two chunks at ${place}`);
						taken.add(place);
					}
			return pixels;
		};
		const rows = await area("#/map?bpp=8");
		const curve = await area("#/map?bpp=8&order=hilbert");
		assert.ok(rows.size > 3, `${rows.size} chunks`);
		for (const [chunk, pixels] of rows) assert.equal(curve.get(chunk), pixels, `chunk ${chunk}`);
	});
});

describe("filter graph", () => {
	const place = (kind) => page.locator(`[data-t="box-${kind}"]`).first().boundingBox();
	const text = () => page.locator("#graph-text").inputValue();

	test("chosen boxes line up; saved apart they come back as boxes of another graph", async () => {
		await view(page, `#/graph?q=${encodeURIComponent("all | where size >= 100 | sort size desc")}`);
		await restingPlace(page, '[data-t="box-sort"]');
		await page.locator('[data-t="box-where"] b').click();
		await page.keyboard.down("Control");
		await page.locator('[data-t="box-sort"] b').click();
		await page.keyboard.up("Control");
		assert.ok(Math.abs((await place("where")).x - (await place("sort")).x) > 50);
		await page.locator("main").getByRole("button", { name: "More" }).click();
		await page.getByRole("menuitem", { name: "Align left" }).click();
		await until(async () => Math.abs((await place("where")).x - (await place("sort")).x) < 2, "left edges in one line");
		assert.equal((await text()).trim().split("\n")[0], "all | where size >= 100 | sort size desc", "their order is what the lines say");
		await page.getByRole("button", { name: "Undo" }).click();
		await settle(page);

		await page.locator('[data-t="box-all"] b').click();
		await page.keyboard.down("Control");
		await page.locator('[data-t="box-where"] b').click();
		await page.keyboard.up("Control");
		await page.getByLabel("Name", { exact: true }).fill("large-ones");
		await page.locator("main").getByRole("button", { name: "More" }).click();
		await page.getByRole("menuitem", { name: "Save chosen boxes" }).click();
		await page.getByRole("button", { name: "Insert large-ones" }).waitFor();
		await view(page, `#/graph?q=${encodeURIComponent("all | limit 3")}`);
		await page.getByRole("button", { name: "Insert large-ones" }).click();
		await settle(page);
		assert.equal(await page.locator('[data-t="box-where"]').count(), 1);
		assert.equal(await page.locator('[data-t="box-all"]').count(), 2);
		assert.equal(await page.locator('[data-t="box-limit"]').count(), 1);
	});

	test("nothing went wrong on the way", () => {
		// boxes without a line are no query yet: the server says so, and the browser writes that down
		assert.deepEqual(page.problems.filter((problem) => !problem.includes("400 (Bad Request)")), []);
	});
});
