// SPDX-License-Identifier: MIT
// Pictures of every view in both themes: node shots.mjs FOLDER URL [VIEW...]
import { launch, open, settle, view } from "./lib.mjs";

const [folder, url, ...only] = process.argv.slice(2);
const views = only.length ? only : ["", "flame", "time", "points", "point/0", "chunks", "types", "freq", "mprof", "calls", "threads", "map", "src", "compare", "graph"];
const browser = await launch();
for (const colorScheme of ["light", "dark"]) {
	const page = await open(browser, url, { colorScheme });
	for (const name of views) {
		await view(page, `#/${name}`);
		await settle(page);
		await page.screenshot({ path: `${folder}/${(name || "overview").replace(/[/?=:&]/g, "-")}-${colorScheme}.png` });
	}
	for (const problem of page.problems) console.log(`${colorScheme}: ${problem}`);
}
await browser.close();
