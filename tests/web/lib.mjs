// SPDX-License-Identifier: MIT
// What the tests of the page share: real recordings, the real server, a real browser.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(join(process.env.HEAPWISE_WEB_MODULES ?? join(dirname(fileURLToPath(import.meta.url)), "../../web"), "package.json"));
const { chromium } = require("playwright-core");
export const axeSource = () => readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const heapwise = process.env.HEAPWISE;
export const targets = process.env.HEAPWISE_TARGETS;
export const work = mkdtempSync(join(tmpdir(), "heapwise-web-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

/** Records a program; answers the path of its trace. */
export function record(name, command, options = []) {
	const trace = join(work, `${name}.hwt`);
	execFileSync(heapwise, ["run", "-q", "-o", trace, ...options, "--", ...command], { stdio: ["ignore", "ignore", "inherit"] });
	return trace;
}

/** What a command says as JSON. */
export function cli(command, ...args) {
	return JSON.parse(execFileSync(heapwise, [command, "--format", "json", ...args], { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }));
}

/** The real server on these traces: its address, with the token. */
export async function serve(...traces) {
	const child = spawn(heapwise, ["serve", "--port", "0", "--print-url", ...traces], {
		stdio: ["ignore", "pipe", "inherit"],
		env: { ...process.env, XDG_CONFIG_HOME: join(work, "config") },
	});
	const url = await new Promise((resolve, reject) => {
		let text = "";
		child.stdout.on("data", (data) => {
			text += data;
			const found = /http:\/\/\S+/.exec(text);
			if (found) resolve(found[0]);
		});
		child.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
	});
	child.removeAllListeners("exit");
	servers.push(child);
	return url;
}

const servers = [];

/** Ends what the tests began. */
export async function end(browser) {
	await browser?.close();
	for (const child of servers) {
		const ended = new Promise((resolve) => child.on("exit", resolve));
		child.kill("SIGTERM");
		await ended;
	}
}

const browserPath = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export async function launch() {
	for (const executablePath of browserPath) {
		try {
			return await chromium.launch({
				executablePath,
				args: ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
			});
		} catch (error) {
			if (!String(error).includes("ENOENT") && !String(error).includes("doesn't exist")) throw error;
		}
	}
	throw new Error("no browser: install chromium-headless-shell");
}

/** A page that fails the test on errors, and on any request that leaves the origin. */
export async function open(browser, url, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
	const page = await context.newPage();
	const origin = new URL(url).origin;
	page.problems = [];
	page.on("pageerror", (error) => page.problems.push(`error: ${error.message}`));
	page.on("console", (message) => message.type() === "error" && page.problems.push(`console: ${message.text()}`));
	page.on("request", (request) => {
		const to = request.url();
		if (!to.startsWith(origin === "null" ? url : origin) && !to.startsWith("data:")) page.problems.push(`left the origin: ${to}`);
	});
	await page.goto(url);
	return page;
}

/** Waits until nothing is being asked and all of it is painted. */
export async function settle(page) {
	for (let quiet = 0; quiet < 2; quiet++) {
		await page.waitForFunction(() => window.__hw?.pending() === 0 && document.querySelectorAll('[aria-busy="true"]').length === 0);
		await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done), 30))));
	}
}

export async function view(page, hash) {
	await page.evaluate((to) => (location.hash = to), hash);
	await page.evaluate(() => new Promise((done) => setTimeout(done, 20)));
	await settle(page);
}
