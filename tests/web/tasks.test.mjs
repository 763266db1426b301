// SPDX-License-Identifier: MIT
// What people come for, from the page as it opens, by what is in sight: each answer is at most three clicks away.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { end, instrumented, launch, open, record, serve, settle, targets } from "./lib.mjs";

const MOST = 3; // clicks
let browser;
let servers;

before(async () => {
	browser = await launch();
	const source = join(process.env.HEAPWISE_SOURCE_DIR, "tests/targets/shop.cpp");
	const shop = instrumented("shop", source);
	const plain = `${shop}-plain`;
	execFileSync("g++", ["-g", "-O1", "-o", plain, source]);
	const smaller = record("smaller", [shop, "4000"], ["--owners"]);
	const larger = record("larger", [shop, "40000"], ["--owners"]);
	servers = {
		one: await serve(smaller),
		read: await serve(record("read", [plain, "4000"], ["--access", "valgrind"])), // gcc's checks hide reads
		two: await serve(smaller, larger),
		bursts: await serve(record("bursts", [join(targets, "bursts"), "1500", "1", "10"])),
	};
});
after(() => end(browser));

/** Whether it is on the screen, wholly. */
async function inSight(page, locator) {
	const box = await locator.boundingBox();
	const { width, height } = page.viewportSize();
	return box !== null && box.y >= 0 && box.y + box.height <= height && box.x >= 0 && box.x < width;
}

/** The question, what is clicked for it, and what the page says then, where one sees it. */
const tasks = [
	["find the leak", "one", [], "main", /nothing points to, most from open_session/],
	["find the leak in the flame graph", "one", [["link", /^Leaked/]], '[data-t="chart-flame"]', null, "open_session"],
	["who held the peak", "one", [], '[data-t="sentence"]', /Peak .* from load/],
	["what grew between two runs", "two", [["link", "Compare"]], '[data-t="verdict"]', /Peak grew by .*: order/],
	["what is never read", "read", [], "main", /Never read: .* from audit/],
	["which thread churns", "one", [["link", "When"], ["link", "Threads"]], '[data-t="sentence"]', /worker \d+ churns most/],
	["who pins resident memory", "bursts", [["link", "Resident"], ["chart", 0.6]], '[data-t="pins"]', /blocks of fill pin most/],
	["who owns most", "one", [["link", "Owners"]], "main", /catalogue/],
];

describe("answers in few clicks", () => {
	for (const [question, trace, clicks, place, words, frame] of tasks)
		test(`${question}: ${clicks.length}`, async () => {
			const page = await open(browser, servers[trace], { viewport: { width: 1440, height: 900 } });
			await settle(page);
			assert.ok(clicks.length <= MOST);
			for (const [role, name] of clicks) {
				if (role === "chart") { // a place from its left
					const chart = page.locator(".u-over").first();
					const { width, height } = await chart.boundingBox();
					await chart.click({ position: { x: width * name, y: height / 2 } });
					await settle(page);
					continue;
				}
				const what = page.getByRole(role, { name, exact: typeof name === "string" }).first();
				assert.ok(await inSight(page, what), `${name} is in sight`);
				await what.click();
				await settle(page);
			}
			if (words) {
				const answer = place === "main" ? page.locator("main").getByText(words).first() : page.locator(place);
				assert.match(await answer.innerText(), words);
				assert.ok(await inSight(page, answer), `${words} is in sight`);
			}
			if (frame) assert.ok((await page.evaluate(() => window.__hw.items("flame"))).some((item) => item.label.startsWith(frame)), frame);
			assert.deepEqual(page.problems, []);
			await page.context().close();
		});
});
