// SPDX-License-Identifier: MIT
// Resident memory on the page: the parts at every look, the map by account, and who holds a page.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { axeSource, cli, end, launch, open, record, rows, serve, settle, shows, slow, targets, view } from "./lib.mjs";

let browser;
let trace;
let server;

before(async () => {
	browser = await launch();
	trace = record("bursts", [join(targets, "bursts"), "1500", "1", "10"]);
	server = await serve(trace);
});
after(() => end(browser));

/** The look that saw most pinned: the last ones may be of the program's end. */
const burst = () => cli("resident", trace).over_time.reduce((most, look) => (look.pinned_bytes > most.pinned_bytes ? look : most));

/** What a reader of the screen would stumble over. */
async function accessible(page) {
	await page.evaluate(axeSource());
	const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
	assert.deepEqual(violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map(({ id, nodes }) => `${id} ${nodes[0]?.html}`), []);
}

describe("looks", () => {
	test("a click or a key chooses a look, and its bill is shown", async () => {
		const looks = cli("resident", trace).over_time;
		const page = await open(browser, server);
		await view(page, "#/resident");
		const chart = page.locator('[data-t="looks"]');
		const most = looks.reduce((best, look, at) => (look.rss_bytes > looks[best].rss_bytes ? at : best), 0);
		assert.equal(await chart.getAttribute("aria-valuenow"), String(most));
		await chart.focus();
		await page.keyboard.press("Home");
		await settle(page);
		assert.equal(await chart.getAttribute("aria-valuenow"), "0");
		await page.keyboard.press("ArrowRight");
		await page.keyboard.press("End");
		await page.keyboard.press("ArrowLeft");
		await settle(page);
		const chosen = looks.at(-2);
		assert.match(page.url(), new RegExp(`at=${chosen.time_ns}`));
		const said = await chart.getAttribute("aria-valuetext");
		for (const [part, name] of [["live", "requested_bytes"], ["pinned", "pinned_bytes"], ["cached", "cached_bytes"]]) shows(new RegExp(`, ${part} (\\S+ \\S+?)(,|$)`).exec(said)[1], chosen[name], said);
		const bill = await page.locator('[data-t="bill"]').innerText();
		const billed = cli("resident", "--at", `${chosen.time_ns}ns`, trace);
		shows(/with (\S+ \S+) resident/.exec(bill)[1], billed.rss_bytes, bill);
		// the list of parts and the map are of the same look
		const list = page.getByRole("region", { name: "Parts", exact: true });
		for (const [name, part] of [["Live", "requested"], ["Pinned", "pinned"], ["Cached", "cached"], ["Heapwise itself", "recorder"]])
			shows(await list.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) }).getByRole("cell").nth(1).innerText(), billed.parts.find((row) => row.part === part).bytes, name);
		const headings = await page.locator("main h2").allInnerTexts();
		for (const what of ["Parts", "Charged to allocation points", "Memory map", "Size classes"]) shows(headings.find((words) => words.startsWith(`${what} at `)).replace(`${what} at `, ""), chosen.time_ns, what);
		assert.ok((await page.evaluate(() => window.__hw.items("map"))).length > 10, "pages of the map");
		// at the left of the chart is the first look
		await chart.locator(".u-over").click({ position: { x: 2, y: 60 } });
		await settle(page);
		assert.equal(await chart.getAttribute("aria-valuenow"), "0");
		await accessible(page);
		await page.getByRole("button", { name: "Table" }).click();
		assert.equal((await rows(page, "Parts over time")).length, looks.length);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});

describe("kinds of looks", () => {
	test("the chart has a sign for each kind that there is, and the names of marks", async () => {
		const marked = record("marked", [join(targets, "moments"), "looks"]);
		const looks = cli("resident", marked).over_time;
		for (const kind of ["periodic", "mark", "snapshot", "end"]) assert.ok(looks.some((look) => look.kind === kind), `${kind}: ${JSON.stringify(looks)}`);
		assert.equal(looks.find((look) => look.kind === "mark").mark, "loaded");
		const page = await open(browser, await serve(marked));
		await view(page, "#/resident");
		const signs = await page.getByLabel("Lines and signs").innerText();
		for (const words of ["resident", "live heap", "periodic look", "mark", "snapshot", "end", "peak"]) assert.ok(signs.includes(words), signs);
		await page.locator('[data-t="looks"]').focus();
		await page.keyboard.press("Home");
		for (const look of looks.slice(1)) {
			await page.keyboard.press("ArrowRight");
			await settle(page);
			const said = await page.locator('[data-t="look"]').innerText();
			if (look.mark) assert.ok(said.includes(`after the mark “${look.mark}”`), said);
			if (look.kind === "end") assert.ok(said.includes("at the end"), said);
		}
		await page.getByRole("group", { name: "Look", exact: true }).getByRole("button", { name: "Peak" }).click();
		await settle(page);
		assert.match(await page.locator('[data-t="look"]').innerText(), /the peak/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("heights begin at zero, also where memory hardly changes", async () => {
		const page = await open(browser, await serve(trace, record("other", [join(targets, "bursts"), "500", "1", "10"])));
		const { time_ns: from } = cli("resident", trace).over_time[1];
		const [one, other] = (await page.evaluate(async () => (await (await fetch("api/v1/status")).json()).data.traces)).map(({ id }) => id);
		for (const name of ["resident", `time?shape=lines&by=fn&x0=${from}&x1=${from + 1e6}`, "time?by=none", `compare?trace=${one}&base=${other}`]) {
			await view(page, `#/${name}`);
			assert.equal(await page.locator(".uplot").first().getAttribute("data-from"), "0", name);
		}
		await page.context().close();
	});
});

describe("thread caches", () => {
	test("a table has what each thread's cache holds", async () => {
		const cached = record("thread_caches", [join(targets, "thread_caches"), "40", "1", "60"]);
		const billed = cli("resident", "--at", "end", "--top", "0", cached);
		assert.ok(billed.thread_caches.length >= 40, "threads");
		const page = await open(browser, await serve(cached));
		await view(page, `#/resident?at=${billed.time_ns}`);
		const list = await rows(page, "Thread caches");
		assert.equal(list.length, Math.min(20, billed.thread_caches.length));
		shows(list[0].Bytes, billed.thread_caches[0].bytes, "bytes");
		assert.equal(list[0]["Free blocks"], String(billed.thread_caches[0].blocks));
		const part = page.getByRole("region", { name: "Parts", exact: true }).getByRole("row", { name: "Thread caches" });
		shows(await part.getByRole("cell").nth(1).innerText(), billed.parts.find((row) => row.part === "thread_caches").bytes, "part");
		await accessible(page);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});

describe("memory map by account", () => {
	for (const colorScheme of ["light", "dark"])
		test(`a click on a page says who holds it, ${colorScheme}`, colorScheme === "light" ? {} : slow, async () => {
			const { time_ns: at } = burst();
			const page = await open(browser, server, { colorScheme });
			await view(page, `#/map?color=account&at=${at}&bpp=64`);
			const items = await page.evaluate(() => window.__hw.items("map"));
			const held = items.find((item) => /held by chunk \d+ alone/.test(item.label));
			assert.ok(held, "pages that one block holds");
			const legend = await page.locator(".key").first().innerText();
			for (const words of ["left behind", "cached", "live, and alone holds its page"]) assert.ok(legend.includes(words), legend);
			await page.locator('[data-t="chart-map"]').click({ position: { x: held.x + held.w / 2, y: held.y + held.h / 2 } });
			await settle(page);
			const drawer = page.locator("aside.drawer");
			const words = await drawer.innerText();
			assert.ok(words.includes(`Page 0x${(held.id * 4096).toString(16)}`), words);
			assert.match(words, /Pinned by\s+fill/);
			assert.match(words, /Left behind by\s+fill/);
			await accessible(page);
			await drawer.getByRole("button", { name: /^chunk \d+$/ }).first().click();
			await settle(page);
			assert.match(page.url(), /sel=c(%3A|:)\d+/);
			await page.keyboard.press("Escape");
			await page.locator('[data-t="chart-map"]').focus();
			await page.keyboard.press("ArrowRight");
			await settle(page);
			assert.match(page.url(), /sel=pg(%3A|:)0x/);
			assert.deepEqual(page.problems, []);
			await page.context().close();
		});

	test("without a cursor it is of the look nearest to the peak, as its numbers are", async () => {
		const page = await open(browser, server);
		await view(page, "#/map?color=account");
		const { time_ns: peak } = cli("report", trace).peak;
		const near = cli("resident", trace).over_time.reduce((best, look) => (Math.abs(look.time_ns - peak) < Math.abs(best.time_ns - peak) ? look : best));
		const words = await page.locator("main").innerText();
		shows(/At (\S+ \S+), the peak/.exec(words)[1], peak, words);
		shows(/This is the look at (\S+ \S+?),/.exec(words)[1], near.time_ns, words);
		await page.context().close();
	});

	test("as a table it lists the pages, and an address that makes no sense is left out", async () => {
		const { time_ns: at } = burst();
		const page = await open(browser, server);
		const asked = [];
		page.on("request", (request) => asked.push(request.url()));
		await view(page, `#/map?color=account&at=${at}&bpp=64&as=table&sel=pg:nonsense`);
		assert.ok(asked.length > 0);
		assert.deepEqual(asked.filter((url) => url.includes("nonsense")), []);
		assert.doesNotMatch(page.url(), /nonsense/);
		const list = await rows(page, "Pages in the picture");
		assert.ok(list.length > 10 && list.every((row) => /^0x[0-9a-f]+000$/.test(row.Page)));
		assert.ok(list.some((row) => row["Held by chunk"] !== ""));
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});
