// SPDX-License-Identifier: MIT
// What a user brings and leaves: a trace that is dropped on the page, notes about findings.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { cli, end, heapwise, launch, open, record, serve, settle, targets, until, work } from "./lib.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => end(browser));

/** Drops a file of this machine on the page, as a file manager does. */
async function drop(page, path, name) {
	const data = readFileSync(path).toString("base64");
	await page.evaluate(({ data, name }) => {
		const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
		const transfer = new DataTransfer();
		transfer.items.add(new File([bytes], name));
		for (const kind of ["dragover", "drop"]) window.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
	}, { data, name });
}

describe("a trace that is dropped on the page", () => {
	test("opens, in pieces if it is large, and what is no trace is refused in a sentence", async () => {
		const mine = record("mine", [join(process.env.HEAPWISE_EXAMPLES, "logstat")]);
		const other = record("other", [join(targets, "many"), "20000"]);
		const page = await open(browser, await serve(mine));
		await settle(page);
		await drop(page, other, "the other one.hwt");
		await until(async () => /trace=/.test(page.url()), "it is opened");
		await settle(page);
		assert.match(await page.locator("main").innerText(), /\bmany\b/);
		await drop(page, "/bin/true", "true");
		await until(async () => /'true' is not a Heapwise trace/.test(await page.locator("body").innerText()), "the sentence");
		assert.deepEqual(page.problems.filter((problem) => !/400/.test(problem)), []);
		await page.context().close();
	});
});

describe("notes about findings", () => {
	test("are written on the page, lie beside the trace, and are in the report", async () => {
		const trace = record("noted", [join(process.env.HEAPWISE_EXAMPLES, "logstat")]);
		const url = await serve(trace);
		const page = await open(browser, url);
		await settle(page);
		const [finding] = cli("findings", trace).findings;
		const row = page.locator('[data-t="finding"]').first();
		await row.getByRole("button", { name: "More" }).click();
		await page.getByRole("menuitem", { name: "Write a note" }).click();
		await row.getByLabel("Note").fill("Known: the plugin never unloads.");
		await row.getByRole("button", { name: "Save" }).click();
		await until(async () => /Known: the plugin/.test(await row.innerText()), "it is shown");
		await row.getByRole("button", { name: "More" }).click();
		await page.getByRole("menuitem", { name: "Accepted" }).click();
		await until(async () => /accepted/.test(await row.locator('[data-t="note"]').innerText()), "its status");
		const kept = JSON.parse(readFileSync(`${trace}.notes.json`, "utf8")).notes;
		assert.deepEqual(kept.map(({ finding, status, text }) => ({ finding, status, text })), [{ finding: finding.id, status: "accepted", text: "Known: the plugin never unloads." }]);
		await page.reload();
		await settle(page);
		assert.match(await row.innerText(), /accepted.*Known: the plugin/s);
		const html = join(work, "noted.html");
		execFileSync(heapwise, ["export", "--to", "html", "-o", html, trace], { stdio: "ignore" });
		const report = await open(browser, `file://${html}`, { offline: true });
		await settle(report);
		assert.match(await report.locator('[data-t="finding"]').first().innerText(), /accepted.*Known: the plugin/s);
		assert.deepEqual(page.problems, []);
		await page.context().close();
		await report.context().close();
	});
});
