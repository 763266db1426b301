// SPDX-License-Identifier: MIT
// The page as a whole: what it loads, from where, how large that is, and what its parts do for each other.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { axeSource, cli, end, launch, open, readNumber, record, rows, serve, settle, shows, strip, targets, until, view, views } from "./lib.mjs";

let browser;
let server;
let trace;

before(async () => {
	trace = record("logstat", [join(process.env.HEAPWISE_EXAMPLES, "logstat")]);
	server = await serve(trace, record("widget", [join(process.env.HEAPWISE_EXAMPLES, "widget")]));
	browser = await launch();
});
after(() => end(browser));

describe("what is loaded", () => {
	test("comes from the server alone, in every view, and is at most 600 kB", async () => {
		const page = await open(browser, server);
		const asked = [];
		const scripts = new Map();
		page.on("request", (request) => asked.push(request.url()));
		page.on("response", async (response) => {
			if (/\.(js|css)$/.test(new URL(response.url()).pathname)) scripts.set(response.url(), (await response.body()).length);
		});
		await page.reload();
		await settle(page);
		for (const name of [...views, "src/examples%2Flogstat.c:84", "calls", "graph?q=all%20%7C%20join%20type"]) await view(page, `#/${name}`);
		const { origin } = new URL(server);
		assert.ok(asked.length > 30);
		assert.deepEqual(asked.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:")), []);
		assert.deepEqual(asked.filter((url) => url.includes("token=") && !url.startsWith(server)), [], "the token is asked for once");
		const total = [...scripts.values()].reduce((sum, bytes) => sum + bytes, 0);
		assert.ok(scripts.size > 3 && total > 200_000 && total <= 640_000, `${total} bytes in ${scripts.size} files`);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("may load nothing else: the policy says so", async () => {
		const page = await open(browser, server);
		await settle(page);
		const outcome = await page.evaluate(async () => {
			const tried = await fetch("https://example.org/").then(() => "answered", () => "refused");
			const script = document.createElement("script");
			script.textContent = "window.__ran = 1";
			document.body.append(script);
			return { tried, ran: window.__ran ?? null };
		});
		assert.deepEqual(outcome, { tried: "refused", ran: null });
		assert.ok(page.problems.some((problem) => problem.includes("Content Security Policy")));
		assert.deepEqual(page.problems.filter((problem) => problem.startsWith("left the origin")), []);
		await page.context().close();
	});
});

describe("parts", () => {
	test("a brush on the time strip becomes a window for all views, a click the cursor", async () => {
		const page = await open(browser, server);
		await view(page, "#/points");
		const box = await page.locator('[data-t="chart-strip"]').boundingBox();
		await page.mouse.move(box.x + 100, box.y + 20);
		await page.mouse.down();
		await page.mouse.move(box.x + 300, box.y + 20, { steps: 5 });
		await page.mouse.up();
		await settle(page);
		const [, from, to] = /t=(\d+)\.\.(\d+)/.exec(page.url());
		const { duration_ns: end } = cli("report", trace);
		const part = (x) => (x - strip.side) / (box.width - 2 * strip.side);
		assert.ok(Math.abs(Number(from) / end - part(100)) < 0.005 && Math.abs(Number(to) / end - part(300)) < 0.005);
		const matched = await page.locator('[data-t="matched"]').innerText();
		const wanted = cli("query", trace, `all | where alloc <= ${to}ns and (not freed or free >= ${from}ns)`).matched.chunks;
		assert.ok(Math.abs(Number(matched.split(" of ")[0].replace(/,/g, "")) - wanted) <= 2, `${matched}: ${wanted}`);
		await page.mouse.click(box.x + 500, box.y + 20);
		await settle(page);
		assert.match(page.url(), /at=\d+/);
		assert.ok(await page.locator('[data-t="cursor"]').isVisible());
		await view(page, "#/flame?metric=live");
		await page.context().close();
	});

	test("from a finding to the flame graph, the chunks, the source line", async () => {
		const page = await open(browser, server);
		await settle(page);
		const card = page.locator('[data-t="finding"]', { hasText: "page_find" }).first();
		await card.getByRole("link", { name: "Flame graph" }).click();
		await settle(page);
		assert.match(page.url(), /#\/flame/);
		const drawer = page.getByRole("complementary", { name: "Selection" });
		await drawer.getByRole("link", { name: "logstat.c:137" }).click();
		await settle(page);
		assert.match(page.url(), /src/);
		const line = page.getByRole("row").filter({ hasText: "137" }).filter({ hasText: "strdup" });
		await line.waitFor();
		shows(/([\d.]+ KiB)/.exec(await line.innerText())[1], cli("query", trace, "all | where line == 137").matched.bytes, "bytes of line 137");
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("questions lead to their views; what nothing feeds is absent, and old addresses still work", async () => {
		const page = await open(browser, server);
		await settle(page);
		const rail = page.getByRole("navigation", { name: "Views" });
		const listed = async (nav) => (await nav.getByRole("listitem").allInnerTexts()).map((text) => text.trim());
		assert.deepEqual(await listed(rail), ["Summary", "Where", "When", "Resident", "Compare", "Research"], "no program runs, no trace has edges");
		await rail.getByRole("link", { name: "When" }).click();
		await settle(page);
		assert.match(page.url(), /#\/time/);
		await page.getByRole("navigation", { name: "When" }).getByRole("link", { name: "Threads" }).click();
		await settle(page);
		assert.match(page.url(), /#\/threads/);
		assert.equal(await rail.locator('[aria-current="page"]').innerText(), "When");
		for (const [name, question] of [["freq", "Research"], ["point/0", "Where"], ["map", "Resident"], ["owners", "Owners"], ["live", "Live"]]) {
			await view(page, `#/${name}`);
			assert.equal(await rail.locator('[aria-current="page"]').innerText(), question, name);
			if (name === "owners") assert.match(await page.locator("main").innerText(), /This trace has no owners\. To record them: heapwise run --owners PROGRAM/);
		}
		assert.match(await page.locator("main").innerText(), /heapwise watch --web/, "how to get it");
		await page.context().close();
	});

	test("owners: the tree of the server, folded by keys, with the path to what is chosen", async () => {
		const recorded = record("owners", [join(targets, "owners")], ["--owners"]);
		const other = record("owners-again", [join(targets, "owners")], ["--owners"]);
		const owned = await serve(recorded, other);
		const { origin, searchParams } = new URL(owned);
		const ask = async (path) => (await (await fetch(`${origin}/api/v1/${path}`, { headers: { Authorization: `Bearer ${searchParams.get("token")}` } })).json()).data;
		const page = await open(browser, owned);
		await settle(page);
		await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Owners" }).click();
		await settle(page);
		const data = await ask("owners");
		assert.deepEqual(data.tree, cli("owners", "--min-share", "0", "--top", "0", recorded).tree.filter((row) => row.share >= 0.001), "as the command prints it");
		assert.equal(await page.locator('[data-t="sentence"]').innerText(), `${data.summary}.`);
		const totals = await page.locator('[data-t="totals"]').innerText();
		const [, live, chunks, pointers, roots] = /^(\S+ \S+) in (\S+) chunks .* when (\S+) pointers and (\S+) roots/.exec(totals);
		for (const [text, value] of [[live, data.live_bytes], [chunks, data.live_chunks], [pointers, data.pointers], [roots, data.roots]]) shows(text, value, totals);
		assert.doesNotMatch(await page.locator("main").innerText(), /--\w/, "no options of the command");
		// small owners are folded at first
		const small = data.tree.filter((row) => row.share < 0.02 && data.tree.some((other) => other.parent === row.id));
		for (const { owner } of [...small].reverse()) await page.getByRole("row", { name: owner }).getByRole("button", { name: "Unfold" }).click();
		const shown = await rows(page, "Owners");
		assert.equal(shown.length, data.tree.length);
		data.tree.forEach((row, at) => {
			const isChunk = row.what === "type" || row.what === "place";
			assert.ok(shown[at]["Held by"].toLowerCase().endsWith(row.owner.toLowerCase()), `${shown[at]["Held by"]}: ${row.owner}`);
			shows(shown[at].Retained, row.retained_bytes, row.owner);
			shows(shown[at].Share, row.share, row.owner);
			if (isChunk) shows(shown[at].Own, row.bytes, row.owner);
			assert.equal(shown[at].Chunks, isChunk ? String(row.count) : "", row.owner);
		});

		const inside = data.tree.find((row) => row.bytes === 3001);
		await page.getByRole("row", { name: inside.owner }).click();
		await settle(page);
		const path = await ask(`owners/path?shape=${inside.id}`);
		const steps = await page.locator(".drawer .stack li").allInnerTexts();
		assert.deepEqual(steps.map((text) => text.replace(/\s+[\d.]+ (B|KiB)$/, "").trim()), path.steps.map((step) => `${step.count > 1 ? `${step.count} × ` : ""}${step.owner} ${step.member ?? ""}`.trim()));
		steps.forEach((text, at) => shows(/[\d.]+ (B|KiB)$/.exec(text)[0], path.steps[at].retained_bytes, text));
		await page.evaluate(axeSource());
		const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
		assert.deepEqual(violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map(({ id, nodes }) => `${id} ${nodes[0]?.html}`), []);
		await page.getByRole("group", { name: "Go to" }).getByRole("button", { name: "Flame graph" }).click();
		await settle(page);
		assert.match(page.url(), new RegExp(`#/flame.*sel=p%3A${inside.point}|#/flame.*sel=p:${inside.point}`));

		await view(page, "#/owners");
		await page.getByRole("rowgroup", { name: "Owners, rows" }).focus();
		await page.keyboard.press("Home");
		await page.keyboard.press("ArrowLeft");
		await settle(page);
		assert.equal(await page.getByRole("row", { name: data.tree[0].owner }).getByRole("button", { name: "Unfold" }).count(), 1, "← folds");
		assert.equal(await page.getByRole("note").count(), 0);
		await view(page, "#/owners?base=owners-again.hwt&q=all | where size > 8");
		assert.deepEqual(await page.getByRole("note").allInnerTexts(), ["The comparison does not change this view: it shows one run.", "The filter does not change this view: it shows the whole run."]);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("owners: containers as the command prints them, with the path to the one that is chosen", async () => {
		const recorded = record("collections", [join(targets, "collections")], ["--owners"]);
		const owned = await serve(recorded);
		const { container, container_count: all, containers } = cli("owners", "--top", "50", recorded);
		const page = await open(browser, owned);
		await view(page, "#/owners");
		await page.getByRole("group", { name: "Lists" }).getByRole("button", { name: "Containers" }).click();
		await settle(page);
		assert.match(page.url(), /tab=containers/);
		assert.equal(await page.locator('[data-t="sentence"]').innerText(), `${container}.`);
		assert.match(container, /^registry .* → Registry \.index_ \(std::vector<Entry>\) holds 1,200 of 4,000 places/);
		assert.match(await page.locator("main").innerText(), new RegExp(`The 50 largest of ${all.toLocaleString("en")} containers\\.`));
		const shown = await rows(page, "Containers");
		assert.equal(shown.length, containers.length);
		containers.forEach((row, at) => {
			assert.equal(shown[at].Container, row.path);
			assert.equal(shown[at].Kind, row.kind, row.path);
			for (const [label, value] of [["Retained", row.retained_bytes], ["Elements", row.elements], ["Places", row.capacity], ["Load", row.load], ["Slack", row.slack_bytes]]) shows(shown[at][label], value, `${row.path}, ${label}`);
		});
		const table = page.getByRole("grid", { name: "Containers" });
		await table.getByRole("button", { name: "Elements" }).click();
		await settle(page);
		const [most] = [...containers].sort((a, b) => (b.elements ?? -1) - (a.elements ?? -1));
		await table.getByRole("row").nth(1).click();
		await settle(page);
		assert.match(page.url(), new RegExp(`sel=c(%3A|:)${most.chunk}$`), most.path);
		assert.match(await page.locator(".drawer").innerText(), /Path from a root[\s\S]*registry[\s\S]*Registry \.motto_[\s\S]*9,999 of 20,000 places/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("owners: what is twice as the command prints it, or how to record it", async () => {
		const recorded = record("twice", [join(targets, "twice")], ["--owners=contents"]);
		const said = cli("owners", recorded);
		const page = await open(browser, await serve(recorded));
		await view(page, "#/owners?tab=twice");
		assert.equal(await page.locator('[data-t="sentence"]').innerText(), "One copy of each content would save 387 KiB: 10,000 chunks have 100 different contents.");
		const main = await page.locator("main").innerText();
		const [, zero, zeros, untouched] = /(\S+ \S+) in (\d+) chunks are all zero\. (\S+ \S+) were never touched/.exec(main);
		for (const [text, value] of [[zero, said.zero_bytes], [zeros, said.zero_chunks], [untouched, said.untouched_bytes]]) shows(text, value, main);
		const shown = await rows(page, "Twice");
		assert.equal(shown.length, said.twice.length);
		said.twice.forEach((row, at) => {
			assert.equal(shown[at].What, row.type);
			assert.ok(shown[at]["Allocated by"].endsWith(row.stack[0].function), shown[at]["Allocated by"]);
			for (const [label, value] of [["Saving", row.saving_bytes], ["Alike", row.alike_chunks], ["Different", row.different], ["All zero", row.zero_bytes], ["Untouched", row.untouched_bytes]]) shows(shown[at][label], value, `${row.type}, ${label}`);
		});
		await page.getByRole("row", { name: "copy_string" }).click();
		await settle(page);
		assert.match(page.url(), new RegExp(`sel=p(%3A|:)${said.twice[0].point}$`));
		await page.evaluate(axeSource());
		const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
		assert.deepEqual(violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map(({ id, nodes }) => `${id} ${nodes[0]?.html}`), []);
		// the same as a finding, which leads there
		await view(page, "#/");
		const finding = page.locator('[data-t="finding"]', { hasText: "In memory twice: 391 KiB from copy_string" });
		assert.match(await finding.innerText(), /All 10,000 chunks \(391 KiB\) had the same bytes as another chunk at the scan, with 100 contents in all\. Keep one copy of each content, and share it\./);
		await finding.getByRole("button", { name: "More" }).click();
		await page.getByRole("menuitem", { name: "What is twice" }).click();
		await settle(page);
		assert.match(page.url(), /#\/owners\?.*tab=twice/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
		const bare = await open(browser, await serve(record("twice-bare", [join(targets, "twice")], ["--owners"])));
		await view(bare, "#/owners?tab=twice");
		assert.match(await bare.locator("main").innerText(), /does not say which chunks are alike\. To record it: heapwise run --owners=contents PROGRAM/);
		await bare.context().close();
	});

	test("flame graph: metrics that the trace has, and of others how to get them", async () => {
		const bare = await serve(record("bare", [join(process.env.HEAPWISE_EXAMPLES, "logstat")], ["--leak-scan", "off"]));
		for (const [url, segments, lost] of [
			[server, ["Peak", "Leaked", "Allocated", "Temporary", "At cursor", "Resident"], /^\d[^;]* in \d+ frames|Nothing is certainly lost/m],
			[bare, ["Peak", "Never freed", "Allocated", "Temporary", "At cursor", "Resident"], /no leak scan.*'kept' has what was never freed/],
		]) {
			const page = await open(browser, url);
			await view(page, "#/flame");
			const { resident } = await page.evaluate(async () => (await (await fetch("api/v1/trace")).json()).data.caps); // a short run may end before a look
			assert.deepEqual(await page.getByRole("group", { name: "Metric" }).getByRole("button").allInnerTexts(), segments.slice(0, resident ? 6 : 5));
			await view(page, "#/flame?metric=lost");
			assert.match(await page.locator("main").innerText(), lost);
			await page.context().close();
		}
	});

	test("flame graph: a click zooms, callers stay above, the trail leads back, and the inspector has the numbers", async () => {
		const page = await open(browser, server);
		await view(page, "#/flame?metric=bytes");
		const items = () => page.evaluate(() => window.__hw.items("flame"));
		const chart = page.locator('[data-t="chart-flame"]');
		const press = async (item) => {
			const box = await chart.boundingBox();
			await page.mouse.click(box.x + item.x + item.w / 2, box.y + item.y + item.h / 2);
			await settle(page);
		};
		const whole = await items();
		assert.ok(!whole.some((item) => /^_start$|^__libc_start/.test(item.label)), "start-up code is folded");
		const inner = whole.find((item) => item.label === "page_find");
		await press(inner);
		const zoomed = await items();
		const shown = zoomed.find((item) => item.label === "page_find");
		const [root] = zoomed;
		assert.deepEqual([root.label, root.y], ["all", 0]);
		assert.ok(Math.abs(shown.w - root.w) < 1 && shown.y === inner.y, "as wide as all, where it was");
		assert.ok(zoomed.some((item) => item.label === "main" && item.y < shown.y && Math.abs(item.w - root.w) < 1), "its caller is above it");
		const trail = page.getByRole("navigation", { name: "Zoom" });
		assert.match(await trail.innerText(), /all\s+main\s+page_find[\s\S]*% of/);
		await press(shown);
		const drawer = page.getByRole("complementary", { name: "Selection" });
		const facts = await drawer.locator('[data-t="function"]').innerText();
		const of = cli("query", trace, 'all | where stack == "page_find"').matched;
		shows(/Allocated\s+([^(]*)/.exec(facts)[1], of.bytes, "bytes");
		shows(/Allocations\s+([^(]*)/.exec(facts)[1], of.chunks, "allocations");
		shows(/Mean size\s+(.*)/.exec(facts)[1], of.bytes / of.chunks, "mean size");
		assert.match(await drawer.getByRole("region", { name: "Called by" }).innerText(), /main/);
		assert.match(await drawer.getByRole("region", { name: "Calls", exact: true }).innerText(), /page_new/);
		assert.match(await drawer.locator(".excerpt").innerText(), /strdup/);
		await trail.getByRole("button", { name: "main" }).click();
		await settle(page);
		assert.ok((await items()).some((item) => item.label === "page_find" && item.w < root.w - 1));
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("flame graph: neither a search, a zoom, the inspector nor a sandwich moves it, and the page does not scroll", async () => {
		const page = await open(browser, server, { viewport: { width: 1440, height: 900 } });
		const top = () => page.locator('[data-t="chart-flame"]').evaluate((element) => [Math.round(element.getBoundingClientRect().top), document.documentElement.scrollHeight - window.innerHeight, document.documentElement.scrollWidth - window.innerWidth]);
		await view(page, "#/flame?metric=bytes");
		const still = await top();
		assert.deepEqual(still.slice(1), [0, 0]);
		const { id } = await page.evaluate(() => window.__hw.items("flame").find((item) => item.label === "page_find"));
		for (const keys of ["s=page_find", "sel=f:page_find", `z=n:${id}`, "dir=up", "dir=pivot", "hide=page_find"]) {
			await view(page, `#/flame?metric=bytes&${keys}`);
			assert.deepEqual(await top(), still, keys);
		}
		await page.context().close();
	});

	test("flame graph: two clicks zoom once, and leave rows as high as they were, without a ring", async () => {
		const page = await open(browser, server);
		await view(page, "#/flame?metric=bytes");
		const find = () => page.evaluate(() => window.__hw.items("flame").find((item) => item.label === "page_find"));
		const [before, box] = [await find(), await page.locator('[data-t="chart-flame"]').boundingBox()];
		await page.mouse.dblclick(box.x + before.x + before.w / 2, box.y + before.y + before.h / 2);
		await settle(page);
		assert.match(page.url(), /z=n/);
		const zoomed = await find();
		assert.deepEqual([zoomed.y, zoomed.h], [before.y, before.h]);
		assert.ok(zoomed.w > before.w);
		assert.equal(await page.locator('[data-t="chart-flame"] .ring').count(), 0);
		await page.context().close();
	});

	test("flame graph: what is live at the cursor is, without one, what is live at the peak", async () => {
		const page = await open(browser, server);
		await view(page, "#/flame?metric=peak");
		await page.getByRole("button", { name: "At cursor" }).click();
		await page.waitForFunction(() => /at=\d+/.test(location.hash));
		await settle(page);
		shows(/^[\d.]+ \w+/.exec(await page.getByRole("navigation", { name: "Zoom" }).innerText())[0], cli("report", trace).peak.bytes, "live at the peak");
		await page.context().close();
	});

	test("flame graph: a search counts the frames that are marked", async () => {
		const page = await open(browser, server);
		await view(page, "#/flame?metric=bytes&s=page_find");
		const found = await page.evaluate(() => window.__hw.items("flame").filter((item) => item.label.includes("page_find")).length);
		const words = await page.locator('[data-t="hits"]').innerText();
		assert.match(words, new RegExp(`^${found} hits?, [\\d.]+ [KM]?i?B, [\\d.]+ %$`));
		shows(/, ([^,]*),/.exec(words)[1], cli("query", trace, "all | where stack == \"page_find\"").matched.bytes, "bytes of hits");
		await page.context().close();
	});

	test("flame graph: a sandwich without a function takes the one that allocates most", async () => {
		const page = await open(browser, server);
		await view(page, "#/flame?metric=bytes&dir=up");
		const { label } = (await page.evaluate(() => window.__hw.items("flame"))).find((item) => item.y > 0);
		await page.getByRole("button", { name: "Sandwich", exact: true }).click();
		await page.waitForFunction(() => /pivot=/.test(location.hash));
		await settle(page);
		assert.equal(await page.getByLabel("Function", { exact: true }).inputValue(), label);
		assert.ok((await page.evaluate(() => window.__hw.items("flame"))).some((item) => item.label === label));
		await page.context().close();
	});

	test("flame graph: one ink is read on all frames of a theme, which have their colours at once", async () => {
		const light = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)).reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
		for (const [colorScheme, contrast] of [["light", (colour) => (light(colour) + 0.05) / 0.05], ["dark", (colour) => 1.05 / (light(colour) + 0.05)]]) {
			const page = await open(browser, server, { colorScheme });
			await settle(page);
			await page.route("**/api/v1/trace?*", async (route) => setTimeout(() => void route.continue(), 1000));
			await page.route("**/api/v1/trace", async (route) => setTimeout(() => void route.continue(), 1000));
			await page.evaluate(() => {
				location.hash = "#/flame?metric=bytes";
				location.reload();
			});
			await page.waitForFunction(() => window.__hw?.items("flame").length > 1);
			const colours = () => page.evaluate(() => window.__hw.items("flame").map((item) => item.colour));
			const first = await colours();
			await settle(page);
			assert.deepEqual(await colours(), first);
			for (const colour of first) assert.ok(contrast(colour) >= 4.5, `${colorScheme}: ${colour}`);
			assert.ok(new Set(first).size > 4, "functions are told apart");
			await page.context().close();
		}
	});

	test("flame graph: while the cursor is dragged along the time strip, the picture follows", async () => {
		const page = await open(browser, server);
		await view(page, "#/flame?metric=live&at=1");
		const box = await page.locator('[data-t="chart-strip"]').boundingBox();
		const picture = () => page.evaluate(() => JSON.stringify(window.__hw.items("flame").map((item) => [item.label, Math.round(item.w)])));
		const seen = new Set();
		const widths = [];
		page.on("request", (request) => request.url().includes("/flame?") && widths.push(new URL(request.url()).searchParams.get("px")));
		await page.mouse.move(box.x + 5, box.y + 20);
		await page.mouse.down();
		for (let step = 1; step <= 20; step++) {
			await page.mouse.move(box.x + (box.width * 0.6 * step) / 20, box.y + 20);
			await page.waitForTimeout(60);
			seen.add(await picture());
		}
		await page.mouse.up();
		await settle(page);
		assert.ok(seen.size > 3, `${seen.size} pictures on the way`);
		assert.ok(widths.includes("100") && widths.at(-1) === "1600", `coarse on the way, exact at the end: ${widths}`);
		const { duration_ns: end } = cli("report", trace);
		assert.ok(Math.abs(Number(/at=(\d+)/.exec(page.url())[1]) / end - 0.6) < 0.01, page.url());
		assert.doesNotMatch(page.url(), /[?&]t=/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("flame graph: while a picture of the drag is awaited the next is asked for, and an older one never replaces a newer", async () => {
		const page = await open(browser, server);
		await view(page, `#/flame?metric=live&at=${Math.round(cli("report", trace).duration_ns * 0.2)}`);
		const box = await page.locator('[data-t="chart-strip"]').boundingBox();
		const held = []; // questions that the test answers
		await page.route(/\/flame\?.*px=100/, (route) => held.push(route));
		const move = async (part) => {
			await page.mouse.move(box.x + box.width * part, box.y + 20);
			await page.waitForTimeout(80);
		};
		const picture = () => page.evaluate(() => JSON.stringify(window.__hw.items("flame").map((item) => [item.label, item.w])));
		await page.mouse.move(box.x + 5, box.y + 20);
		await page.mouse.down();
		for (const part of [0.3, 0.5, 0.6, 0.7]) await move(part);
		assert.equal(held.length, 2, "one is awaited, the next is asked for, those in between are left out");
		const before = await picture();
		await held[1].continue();
		await until(async () => (await picture()) !== before, "the newer picture");
		const newer = await picture();
		await held[0].continue().catch(() => undefined); // it was ended, or comes too late
		await page.waitForTimeout(200);
		assert.equal(await picture(), newer);
		assert.equal(held.length, 3, "where the pointer is now");
		const at = held.map((route) => Number(new URL(route.request().url()).searchParams.get("at")));
		assert.ok(at[0] < at[1] && at[1] < at[2], `${at}`);
		await held[2].continue();
		await page.mouse.up();
		await settle(page);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("points: each row says its share of the whole, by what they are sorted by, where there is room", async () => {
		const page = await open(browser, server);
		const { peak, bytes, allocations, kept } = cli("report", trace);
		for (const [name, column, whole] of [["peak", "Own peak", peak.bytes], ["bytes", "Bytes", bytes], ["chunks", "Chunks", allocations], ["kept", "Kept", kept.bytes]]) {
			await view(page, `#/points?sort=-${name}`);
			const found = await rows(page, "Allocation points", 10);
			assert.ok(found.length > 3 && Object.keys(found[0]).indexOf("Share") === Object.keys(found[0]).indexOf(column) + 1, name);
			for (const row of found.filter((one) => !one.Share.startsWith("<"))) {
				const [part, share] = [readNumber(row[column]), readNumber(row.Share)];
				assert.ok(Math.abs(share.value - part.value / whole) <= share.off + part.off / whole, `${name}: ${row[column]} is ${row.Share} of ${whole}`);
			}
		}
		await page.setViewportSize({ width: 390, height: 844 });
		await page.reload();
		await settle(page);
		assert.ok(!("Share" in (await rows(page, "Allocation points", 1))[0]));
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("source: the points of a line stand apart", async () => {
		const page = await open(browser, server);
		await view(page, "#/src/examples%2Flogstat.c:84");
		const points = (await rows(page, "Source lines with their cost")).map((row) => row.Points).filter((text) => text !== "");
		assert.ok(points.some((text) => /^point \d+ point \d+/.test(text)), "a line with several");
		for (const text of points) assert.match(text, /^point \d+( point \d+)*( \+\d+)?$/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("two runs are compared, also the other way round", async () => {
		const page = await open(browser, server);
		await view(page, "#/compare");
		assert.match(await page.locator("main").innerText(), /the programs differ: before is /);
		const before = await page.locator("table.summary td").allInnerTexts();
		await page.getByRole("button", { name: "Swap" }).click();
		await settle(page);
		const now = await page.locator("table.summary td").allInnerTexts();
		assert.equal(now[1], before[2]);
		assert.equal(now[2], before[1]);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("a wrong query is told where it is wrong", async () => {
		const page = await open(browser, server);
		await settle(page);
		await page.getByRole("textbox", { name: "Filter, as query text" }).fill("all | where sise > 3");
		await page.getByRole("button", { name: "Apply", exact: true }).click();
		const alert = page.getByRole("alert");
		await alert.waitFor();
		assert.match(await alert.innerText(), /sise[\s\S]*size/);
		assert.match(await alert.locator("pre").evaluate((element) => element.textContent), /\n {12}\^/);
		assert.doesNotMatch(page.url(), /q=/);
		await page.context().close();
	});

	test("a word that is no query filters by call stack", async () => {
		const page = await open(browser, server);
		await view(page, "#/entries");
		const filter = page.getByRole("textbox", { name: "Filter, as query text" });
		await filter.fill("line_parse");
		await filter.press("Enter");
		const wanted = 'all | where stack ~ "line_parse"';
		await page.waitForFunction((text) => document.getElementById("query").value === text, wanted);
		await settle(page);
		const matched = await page.locator('[data-t="matched"]').innerText();
		assert.equal(Number(matched.split(" of ")[0].replace(/,/g, "")), cli("query", trace, wanted).matched.chunks, matched);
		await filter.fill("all"); // which is one
		await filter.press("Enter");
		await page.waitForFunction(() => !document.querySelector('[data-t="matched"]').innerText.includes(" of "));
		await page.context().close();
	});

	test("the dark theme is dark, and the light one light, in what is painted, too", async () => {
		for (const [colorScheme, least, most] of [["light", 200, 255], ["dark", 0, 60]]) {
			const page = await open(browser, server, { colorScheme });
			await view(page, "#/flame");
			const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number));
			for (const part of ground) assert.ok(part >= least && part <= most, `${colorScheme}: ${ground}`);
			await page.context().close();
		}
	});

	test("a table that is scrolled has its own rows laid out, not the whole page", async () => {
		const page = await open(browser, server);
		await view(page, "#/entries");
		const body = page.locator('main [role="rowgroup"]').nth(1);
		await body.hover();
		await browser.startTracing(page, { categories: ["devtools.timeline"] });
		for (let step = 0; step < 10; step++) {
			await page.mouse.wheel(0, 120);
			await page.waitForTimeout(30);
		}
		const layouts = JSON.parse(String(await browser.stopTracing())).traceEvents.filter(({ name, args }) => name === "Layout" && args.beginData);
		assert.ok((await body.evaluate((element) => element.scrollTop)) >= 1000, "the wheel scrolls");
		assert.ok(layouts.length >= 5, `${layouts.length} layouts`);
		const whole = layouts.filter(({ args }) => !args.beginData.partialLayout);
		assert.ok(whole.length <= 1, `${whole.length} of ${layouts.length} layouts were of the whole page`); // a page of rows may come
		await page.context().close();
	});
});
