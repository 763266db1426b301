// SPDX-License-Identifier: MIT
// Whatever is in a trace is text; and what goes wrong around the page is said, not suffered.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { cli, end, full, heapwise, hostileNames, launch, open, record, rows, serve, settle, slow, view, views, work } from "./lib.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => end(browser));

/** A request as any program makes it, with headers of its choice. */
function ask(url, headers = {}) {
	return new Promise((resolve, reject) => request(url, { headers }, (answer) => {
		answer.resume();
		answer.on("end", () => resolve(answer.statusCode));
	}).on("error", reject).end());
}

const more = ["point/1", "point/2", "point/3", "point/4", "point/5", "points?sel=p:0", "points?sel=p:1", "flame?dir=up", "mprof?tab=direct", "mprof?tab=graph", "calls?mode=table", "time?by=point"];

describe("names", () => {
	let page;
	before(async () => {
		page = await open(browser, await serve(record("hostile", [hostileNames()])));
	});
	after(() => page.context().close());

	test("markup, scripts, quotes, text from right to left, bytes that are no text: shown as they are, run by nobody", async () => {
		for (const name of full ? [...views, ...more] : [...views, "points?sel=p:0", "mprof?tab=graph"]) {
			await view(page, `#/${name}`);
			assert.equal(await page.evaluate(() => window.__pwned ?? null), null, name);
			assert.equal(await page.locator("main img, main script, aside img, aside script").count(), 0, name);
		}
		const seen = new Set();
		await view(page, "#/points?sort=fn");
		for (const row of await rows(page, "Allocation points")) seen.add(row.Function);
		assert.ok([...seen].some((name) => name.startsWith("<img src=x onerror=window.__pwned=1>")), [...seen].map((name) => name.slice(0, 40)).join(", "));
		assert.ok([...seen].some((name) => name.startsWith("</script><script>window.__pwned=2</script>")));
		assert.ok([...seen].some((name) => name.includes("it's a ${window.__pwned=3} `name`")));
		assert.deepEqual(page.problems, []);
	});

	test("a name of 20,000 characters widens nothing", async () => {
		for (const name of ["", "flame", "points", "point/5", "mprof?tab=direct", "calls", "freq"]) {
			await view(page, `#/${name}`);
			const wide = await page.evaluate(() => document.documentElement.scrollWidth);
			assert.ok(wide <= 1280, `${name || "overview"} is ${wide} pixels wide`);
		}
		await view(page, "#/flame");
		const long = await page.evaluate(() => Math.max(...window.__hw.items("flame").map((item) => item.label.length)));
		assert.ok(long >= 20000, `the longest name has ${long} characters`);
	});

	test("a name may be searched, selected, filtered by and copied into a link", async () => {
		await view(page, "#/flame");
		const name = "<img src=x onerror=window.__pwned=1>";
		await page.getByLabel("Search", { exact: true }).fill(name);
		await settle(page);
		assert.match(await page.locator('[data-t="hits"]').innerText(), /^1 hit, /);
		await page.locator("#query").fill(`all | where stack ~ "${name}"`);
		await page.locator("#query").press("Enter");
		await settle(page);
		assert.match(await page.locator('[data-t="matched"]').innerText(), /^200 of /);
		await page.reload();
		await settle(page);
		assert.match(await page.locator('[data-t="matched"]').innerText(), /^200 of /);
		assert.equal(await page.evaluate(() => window.__pwned ?? null), null);
		assert.deepEqual(page.problems, []);
	});
});

describe("traces", () => {
	test("no allocation at all, in any view", async () => {
		const page = await open(browser, await serve(record("empty", ["/bin/true"])));
		await settle(page);
		assert.match(await page.locator("main").innerText(), /The program made no allocation\./);
		for (const name of views.filter((other) => other !== "point/0")) await view(page, `#/${name}`);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("a single allocation, in any view", slow, async () => {
		const source = join(work, "one.c");
		writeFileSync(source, "#include <stdlib.h>\nvoid *volatile block;\nint main(void) { block = malloc(42); return 0; }\n");
		execFileSync("cc", ["-g", "-fno-builtin", "-o", join(work, "one"), source]);
		const page = await open(browser, await serve(record("one", [join(work, "one")])));
		for (const name of views) {
			await view(page, `#/${name}`);
			assert.equal(await page.locator("main .problem").count(), 0, name);
		}
		await view(page, "#/");
		assert.equal(await page.locator('[data-t="allocs"]').innerText(), "1");
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("a file that it names is shown only when its folder was allowed", async () => {
		const secret = join(work, "secret");
		mkdirSync(secret);
		writeFileSync(join(secret, "shadow"), "first\nroot:SECRET:1\n");
		writeFileSync(join(work, "naming.c"), `#include <stdlib.h>\nvoid *volatile block;\n#line 2 "${join(secret, "shadow")}"\nint main(void) { block = malloc(42); return 0; }\n`);
		execFileSync("cc", ["-g", "-fno-builtin", "-o", join(work, "naming"), join(work, "naming.c")]);
		const page = await open(browser, await serve(record("naming", [join(work, "naming")])));
		await view(page, `#/src/${encodeURIComponent(join(secret, "shadow"))}:2`);
		const text = () => page.locator("main").innerText();
		assert.match(await text(), /not allowed yet/);
		assert.ok((await text()).includes(secret));
		assert.doesNotMatch(await text(), /SECRET/);
		await page.getByRole("button", { name: "Show files of this folder" }).click();
		await page.getByRole("row").filter({ hasText: "root:SECRET:1" }).waitFor();
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});

	test("one that was cut off is shown as far as it goes, and said to be incomplete", slow, async () => {
		const file = record("cut", [join(process.env.HEAPWISE_EXAMPLES, "logstat"), "5000"]);
		truncateSync(file, Math.round(readFileSync(file).length * 0.6));
		const page = await open(browser, await serve(file));
		await settle(page);
		for (const name of views) await view(page, `#/${name}`);
		assert.match(await page.locator("footer").innerText(), /incomplete/);
		assert.deepEqual(page.problems.filter((problem) => !/40[04] \(/.test(problem)), []);
		await page.context().close();
	});

	test("what is no trace is said to be none", async () => {
		const file = join(work, "noise.hwt");
		writeFileSync(file, Buffer.alloc(100000, "noise "));
		const child = spawn(heapwise, ["serve", "--port", "0", "--print-url", file], { stdio: ["ignore", "pipe", "pipe"] });
		let text = "";
		child.stdout.on("data", (data) => (text += data));
		child.stderr.on("data", (data) => (text += data));
		const ended = new Promise((resolve) => child.on("exit", resolve));
		const url = await new Promise((resolve) => {
			const look = setInterval(() => {
				const found = /http:\/\/\S+/.exec(text);
				if (found || child.exitCode !== null) {
					clearInterval(look);
					resolve(found?.[0] ?? null);
				}
			}, 20);
		});
		if (url) {
			const context = await browser.newContext();
			const page = await context.newPage();
			await page.goto(url);
			await page.waitForTimeout(800);
			assert.match(await page.locator("body").innerText(), /not a|damaged|cannot|no trace|trace/i);
			await context.close();
			child.kill("SIGTERM");
		} else assert.match(text, /noise\.hwt/);
		await ended;
	});
});

describe("the server", () => {
	test("goes away: the page says so, keeps what it shows, and comes back by itself", slow, async () => {
		const trace = record("widget", [join(process.env.HEAPWISE_EXAMPLES, "widget")]);
		const start = (port) => {
			const child = spawn(heapwise, ["serve", "--port", port, "--print-url", trace], { stdio: ["ignore", "pipe", "ignore"] });
			return new Promise((resolve, reject) => {
				child.stdout.once("data", (data) => resolve({ child, url: String(data).trim() }));
				child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
			});
		};
		const stop = (child) => new Promise((resolve) => {
			child.removeAllListeners("exit");
			child.on("exit", resolve);
			child.kill("SIGKILL");
		});
		const first = await start("0");
		const page = await open(browser, first.url);
		await settle(page);
		const before = await page.locator("main").innerText();
		await stop(first.child);
		await page.evaluate(() => (location.hash = "#/flame"));
		await page.getByRole("alert").first().waitFor();
		assert.match(await page.locator("body").innerText(), /The server does not answer/);
		await page.evaluate(() => (location.hash = "#/"));
		assert.ok(before.length > 0);
		const second = await start(new URL(first.url).port);
		await page.goto(second.url);
		await settle(page);
		assert.equal(await page.locator(".banner").count(), 0);
		await stop(second.child);
		await page.context().close();
	});

	test("wants its token, and its own name", async () => {
		const url = new URL(await serve(record("widget2", [join(process.env.HEAPWISE_EXAMPLES, "widget")])));
		const api = `${url.origin}/api/v1/trace`;
		assert.equal(await ask(api), 401);
		assert.equal(await ask(api, { Authorization: `Bearer ${url.searchParams.get("token")}` }), 200);
		assert.equal(await ask(api, { Authorization: "Bearer 0123456789abcdef0123456789abcdef" }), 401);
		assert.equal(await ask(api, { Authorization: `Bearer ${url.searchParams.get("token")}`, Host: "evil.example:80" }), 421);
		const context = await browser.newContext();
		const page = await context.newPage();
		await page.goto(`${url.origin}/#/`);
		await page.waitForTimeout(500);
		assert.doesNotMatch(await page.locator("body").innerText(), /10,000/);
		await context.close();
	});

	test("ten people at once see the same", slow, async () => {
		const trace = record("many", [join(process.env.HEAPWISE_EXAMPLES, "logstat"), "5000"]);
		const url = await serve(trace);
		const pages = await Promise.all(Array.from({ length: 10 }, () => open(browser, url)));
		const places = ["", "flame", "points", "time", "types", "freq", "mprof", "calls", "threads", "chunks"];
		await Promise.all(pages.map((page, at) => view(page, `#/${places[at]}`)));
		const words = await Promise.all(pages.map(async (page) => page.locator('[data-t="matched"]').innerText()));
		assert.deepEqual(new Set(words).size, 1);
		assert.match(words[0], new RegExp(`^${cli("report", trace).allocations.toLocaleString("en")} allocations`));
		for (const page of pages) {
			assert.deepEqual(page.problems, []);
			await page.context().close();
		}
	});
});
