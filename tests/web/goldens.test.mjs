// SPDX-License-Identifier: MIT
// Every view of a trace that is the same each time looks as it did when someone last looked: HEAPWISE_WEB_GOLDENS=make
// (`make goldens`) makes the pictures anew. Pixels differ between browsers, fonts and CPUs, so that pictures of another kind are
// not compared.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { end, heapwise, launch, open, serve, settle, slow, view, views, work } from "./lib.mjs";
import { difference, small } from "./picture.mjs";

const folder = join(process.env.HEAPWISE_SOURCE_DIR, "tests/web/goldens", process.arch);
const failed = join(process.env.HEAPWISE_BUILD_DIR, "web-goldens");
const make = process.env.HEAPWISE_WEB_GOLDENS === "make";
const SHARE = 0.001;
let browser;
let server;

before(async () => {
	const trace = join(work, "synth.hwt");
	execFileSync(`${heapwise}-synth`, ["-o", trace, "--chunks", "20k", "--points", "200", "--types", "20", "--access", "--seed", "8"], { stdio: "ignore" });
	server = await serve(trace);
	browser = await launch();
});
after(() => end(browser));

/** Who draws. */
function painter() {
	const fonts = execFileSync("fc-match", ["system-ui", "file", "family"], { encoding: "utf8" }).trim().replace(/^.*\//, "");
	return `${browser.version()}, ${fonts}\n`;
}

const kinds = [
	["light", { width: 1280, height: 800 }],
	["dark", { width: 390, height: 844 }],
];

test("views look as before", make ? {} : slow, async (context) => {
	const stamp = join(folder, "made-by");
	if (make) {
		rmSync(folder, { recursive: true, force: true });
		mkdirSync(folder, { recursive: true });
		writeFileSync(stamp, painter());
	} else if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== painter()) {
		const reason = `the pictures were made by another browser, with other fonts, or for another CPU than this: ${painter().trim()}`;
		console.log(`skipped: ${reason}`); // for tools/check-skips
		context.skip(reason);
		return;
	}
	rmSync(failed, { recursive: true, force: true });
	const wrong = [];
	for (const [colorScheme, viewport] of kinds) {
		const page = await open(browser, server, { colorScheme, viewport });
		// how long it took is another each time
		await page.addStyleTag({ content: "footer { visibility: hidden } * { caret-color: transparent !important }" }).catch(() => undefined);
		await settle(page);
		for (const name of views.filter((other) => other !== "compare")) {
			await view(page, `#/${name}`);
			// nor is when the trace was made the same
			await page.evaluate(() => document.querySelectorAll("footer, .run .when").forEach((part) => part.style.setProperty("visibility", "hidden")));
			await page.waitForTimeout(name === "graph" ? 600 : 50);
			const file = `${(name || "overview").replace(/\W/g, "-")}-${colorScheme}.png`;
			const picture = small(await page.screenshot());
			if (make) {
				writeFileSync(join(folder, file), picture);
				continue;
			}
			const golden = readFileSync(join(folder, file));
			const found = await difference(golden, picture);
			if (found && found.share <= SHARE) continue;
			mkdirSync(failed, { recursive: true });
			writeFileSync(join(failed, `${file}.before.png`), golden);
			writeFileSync(join(failed, `${file}.now.png`), picture);
			if (found) writeFileSync(join(failed, `${file}.difference.png`), found.picture);
			wrong.push(`${file}: ${found ? `${found.pixels} pixels` : "another size"}`);
		}
		await page.context().close();
	}
	assert.deepEqual(wrong, [], `see ${failed}`);
});
