// SPDX-License-Identifier: MIT
// Every number that a view shows is the one that the command line prints, rounded; and what is drawn is as long,
// wide and coloured as the numbers say.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { cli, end, instrumented, launch, open, record, rows, serve, settle, shows, slow, strip, targets, unfold, view, work } from "./lib.mjs";

const source = process.env.HEAPWISE_SOURCE_DIR;
const exact = ["--exact-times"]; // the order of events is that of their times, for whoever looks
const traces = {}; // logstat, contrived (with accesses), threads
let browser;
let page;

before(async () => {
	traces.logstat = record("logstat", [join(process.env.HEAPWISE_EXAMPLES, "logstat")], exact);
	traces.contrived = record("contrived", [instrumented("contrived", join(source, "examples/contrived.cpp")), "1024"], exact);
	traces.threads = record("threads", [join(targets, "threads"), "4", "300"], exact);
	const server = await serve(...Object.values(traces));
	browser = await launch();
	page = await open(browser, server);
	await settle(page);
	for (const option of await page.getByRole("combobox", { name: "Trace" }).locator("option").all())
		ids[basename(await option.innerText(), ".hwt")] = await option.getAttribute("value");
});
after(async () => {
	assert.deepEqual(page?.problems ?? [], []);
	await end(browser);
});

const ids = {};
const see = (name, hash) => view(page, hash.includes("?") ? `#/${hash}&trace=${ids[name]}` : `#/${hash}?trace=${ids[name]}`);
const shown = (name) => page.locator(`[data-t="${name}"]`).innerText();
const chunksOf = (trace, text) => cli("query", trace, text).matched;
/** The function to which a stack is credited, as the page names it. */
const callers = (stack) => stack.map((frame) => frame.function ?? "");

for (const name of ["logstat", "contrived", "threads"])
	describe(`numbers of ${name}`, name === "logstat" ? {} : slow, () => {
		test("overview: report, scores and findings", async () => {
			const report = cli("report", traces[name]);
			const scores = cli("scores", traces[name]);
			const findings = cli("findings", traces[name]).findings;
			await see(name, "");
			await unfold(page);
			shows(await shown("allocs"), report.allocations, "allocations");
			shows(await shown("bytes"), report.bytes, "bytes");
			shows(await shown("peak"), report.peak.bytes, "peak");
			shows(await shown("kept"), report.kept.bytes, "kept");
			shows(await shown("temporary"), report.temporary, "temporary");
			shows(await shown("points"), report.points, "points");
			const time = await shown("alloc-time");
			if (report.allocator_time_ns == null) assert.equal(time, report.allocator_samples > 0 ? "too few calls to say" : "unknown");
			else shows(time.replace(/^about /, ""), report.allocator_time_ns, "time in the allocator");
			const sentence = await shown("sentence");
			shows(/Peak (\S+ \S+)/.exec(sentence)[1], report.peak.bytes, "peak in words");
			shows(/ at (\S+ [^\s;,]+)/.exec(sentence)[1], report.peak.time_ns, "its time");
			const own = (row) => row.stack.find((frame) => frame.module === report.program);
			const held = {};
			for (const row of cli("query", traces[name], "at peak | join point | sort size desc | limit 10").rows) {
				const of = own(row)?.function ?? row.point;
				held[of] = (held[of] ?? 0) + row.size;
			}
			shows(/, (\S+ %) from/.exec(sentence)[1], Math.max(...Object.values(held)) / report.peak.bytes, "of the function that held most");
			shows(await shown("leaked"), report.leaks.bytes, "leaked");
			const lost = report.leaks.bytes - report.leaks.possible_bytes;
			if (lost > 0) shows(/; (\S+ \S+) lost\.$/.exec(sentence)[1], lost, "lost in words");
			const head = await page.locator("header.run").innerText();
			assert.ok(head.includes(report.command) && head.includes("recording cost"), head);
			for (const [label, key] of [["Lifetime", "lifetime"], ["Usage", "usage"], ["Useful life", "useful"]]) {
				if (label === "Lifetime") await see(name, "scores");
				const cards = page.locator(".dial", { hasText: label });
				assert.equal(await cards.count(), scores[key].mean == null ? 0 : 1, `${label}: a card where it was measured`);
				if (scores[key].mean == null) continue;
				const dial = await cards.innerText();
				shows(dial.split("\n")[0], scores[key].mean, `${label} score`);
				shows(/by allocations (\S+)/.exec(dial)[1], scores[key].by_allocations, `${label} by allocations`);
				shows(/by bytes (\S+)/.exec(dial)[1], scores[key].by_bytes, `${label} by bytes`);
				shows(/variance (\S+)/.exec(dial)[1], scores[key].variance, `${label}, variance`);
			}
			await see(name, "");
			const cards = await page.locator('[data-t="finding"]').allInnerTexts();
			assert.equal(cards.length, Math.min(10, findings.length));
			// what is wrong and what to do about it stand apart, and microseconds have their sign
			const plain = (text) => text.replace(/ µs/g, " us").replace(/[.:](\s+|$)/g, " ").toLowerCase();
			cards.forEach((card, at) => assert.ok(plain(card).includes(plain(findings[at].text)), `${card} says: ${findings[at].text}`));
			await unfold(page);
			for (const [list, text, field] of [
				["At the peak", "at peak | join point | sort size desc", "size"],
				["Kept", "all | where kept | join point | sort size desc", "size"],
				["Allocations", "all | join point | sort chunks desc", "chunks"],
				["Temporary", "all | where temporary | join point | sort chunks desc", "chunks"],
				["Types at the peak", "at peak | join type | sort size desc", "size"],
				["Modules at the peak", "at peak | join module | sort size desc", "size"],
			]) {
				const lines = await page.getByRole("region", { name: list, exact: true }).getByRole("listitem").allInnerTexts();
				const sums = {}; // stacks that end at one line are one row
				for (const row of cli("query", traces[name], text).rows.slice(0, 10)) {
					const frame = row.stack && own(row);
					const of = frame ? `${frame.function} ${frame.file}:${frame.line}` : (row.point ?? row.type ?? row.module ?? "");
					sums[of] = (sums[of] ?? 0) + row[field];
				}
				const wanted = Object.values(sums).sort((a, b) => b - a);
				assert.equal(lines.length, Math.min(6, wanted.length), list);
				lines.forEach((line, at) => shows(line.trim().split("\n").at(-1), wanted[at], `${list}, ${at + 1}`));
			}
		});

		test("points: scores of all of them", async () => {
			const scores = cli("scores", "--all", traces[name]);
			const most = cli("report", traces[name]).points;
			await see(name, "scores?sort=-bytes");
			const found = await rows(page, "Allocation points");
			assert.equal(found.length, most);
			const left = [...scores.points];
			for (const row of found) {
				const at = left.findIndex((point) => Number(row.Chunks.replace(/,/g, "")) === point.allocations && Math.abs(readBytes(row.Bytes) - point.bytes) <= readOff(row.Bytes) && (callers(point.stack).some((fn) => row.Function.startsWith(fn)) || /^(unknown|\S+\+0x[0-9a-f]+)/.test(row.Function)));
				if (at < 0) continue; // of the rest the command tells no more than the sum
				const [point] = left.splice(at, 1);
				if (row["Sev."] !== "?") assert.equal(Number(row["Sev."]), point.severity, row.Function);
				shows(row.Lifetime, point.lifetime, `lifetime of ${row.Function}`);
				if ("Usage" in row) shows(row.Usage, point.usage, `usage of ${row.Function}`);
				if ("Useful" in row) shows(row.Useful, point.useful, `useful life of ${row.Function}`);
			}
			assert.deepEqual(left.map((point) => point.point), [], "all points of the command are on screen");
		});

		test("flame graph: its table has the totals of the report, for each metric", async () => {
			const report = cli("report", traces[name]);
			const lost = chunksOf(traces[name], 'all | where leak_kind == "lost" or leak_kind == "indirect"');
			const looked = cli("report", traces[name]).memory_over_time.length > 0;
			const resident = looked ? cli("resident", traces[name]).memory.find((row) => row.part === "requested")?.most_bytes : null;
			for (const [metric, total] of [["bytes", report.bytes], ["allocs", report.allocations], ["peak", report.peak.bytes], ["kept", report.kept.bytes], ["lost", lost.bytes], ["resident", resident], ["temporary", report.temporary]]) {
				if (total == null) continue;
				await see(name, `flame?metric=${metric}`);
				if (total === 0) {
					assert.match(await page.locator("main").innerText(), /Nothing|Everything was freed/);
					continue;
				}
				await page.getByRole("link", { name: "Call tree" }).click();
				const table = await rows(page, "Flame graph as a table", 1000);
				shows(table[0].Total, total, `${metric} of all`);
				const own = cli("query", traces[name], "all | join fn | sort size desc").rows;
				if (metric === "bytes")
					for (const row of own.filter((entry) => entry.size > total / 50 && entry.fn && !entry.fn.includes("("))) {
						const boxes = table.filter((box) => box.Function === row.fn);
						assert.ok(boxes.length > 0, `${row.fn} is in the flame graph`);
					}
			}
		});

		test("timeline: its highest point is the peak, its end is what was kept", async () => {
			const report = cli("report", traces[name]);
			await see(name, "time");
			const drawn = await page.locator('[data-t="timeline"]').getAttribute("aria-label");
			shows(/highest (.*)$/.exec(drawn)[1], report.peak.bytes, "highest");
			const resident = await page.locator(".plot-key", { hasText: "resident memory" }).count();
			if (report.rss.samples > 2) assert.equal(resident, 1, "resident memory beside what is live, or that it is above the scale");
			await page.getByRole("button", { name: "Table", exact: true }).click();
			const table = await rows(page, "Timeline as a table", 2000);
			shows(table.at(-1).Time, report.duration_ns, "end");
			const highest = table.map((row) => readBytes(row.Highest)).reduce((a, b) => Math.max(a, b));
			assert.ok(Math.abs(highest - report.peak.bytes) <= readOff(table.find((row) => readBytes(row.Highest) === highest).Highest));
			await page.getByRole("button", { name: "Table", exact: true }).click();
		});

		test("chunks: those of a point, one by one", async () => {
			const point = cli("scores", "--all", traces[name]).points.find((row) => row.allocations >= 5);
			const wanted = cli("query", "-n", "60", traces[name], `all | where point == ${point.point} | limit 60`).rows;
			await see(name, `chunks?point=${point.point}&y=0`);
			await page.getByRole("button", { name: "Table", exact: true }).click();
			const table = await rows(page, "Chunks", 60);
			await page.getByRole("button", { name: "Table", exact: true }).click();
			assert.equal(table.length, Math.min(60, point.allocations));
			table.slice(0, wanted.length).forEach((row, at) => {
				assert.equal(Number(row.Chunk), wanted[at].chunk);
				shows(row.Size, wanted[at].size, "size");
				shows(row.Allocated, wanted[at].alloc, "allocated");
				if (wanted[at].free == null) assert.equal(row.Freed, "never");
				else shows(row.Freed, wanted[at].free, "freed");
			});
			assert.match(await page.locator("main .panel").innerText(), new RegExp(`^${point.allocations.toLocaleString("en")} chunks`));
		});

		test("types", async () => {
			const types = cli("types", traces[name]);
			await see(name, "types");
			const table = await rows(page, "Types");
			const known = types.types.filter((row) => row.type != null);
			for (const type of known) {
				const row = table.find((line) => line.Type === type.type);
				assert.ok(row, type.type);
				shows(row.Chunks, type.chunks, `chunks of ${type.type}`);
				shows(row.Bytes, type.bytes, `bytes of ${type.type}`);
				shows(row["At the peak"], type.at_peak_bytes, `at the peak of ${type.type}`);
				shows(row.Kept, type.kept_bytes, `kept of ${type.type}`);
				shows(row.Elements, type.count, `elements of ${type.type}`);
				shows(row["Freed after"], type.mean_life_ns, `life of ${type.type}`);
			}
			if (types.unknown_share > 0) shows(/([\d.]+ %|< 0\.1 %) of all allocated bytes have no known type/.exec(await page.locator("main").innerText())[1], types.unknown_share, "share without a type");
		});

		test("frequency: what is excessive, the quartiles, each object", async () => {
			const found = cli("excessive", traces[name]);
			await see(name, "freq?method=both"); // which opens the fold with the numbers
			assert.equal(await page.locator('[data-t="conclusion"]').innerText(), found.conclusion);
			const words = await shown("iqr");
			for (const [label, key] of [["Q1", "q1"], ["Q3", "q3"], ["IQR", "iqr"], ["threshold", "threshold"]]) {
				const value = Number(new RegExp(`${label} ([\\d.e+-]+)`).exec(words)?.[1]);
				if (found.iqr[key] != null) assert.ok(Math.abs(value - found.iqr[key]) <= 0.001 * Math.abs(found.iqr[key]), `${label}: ${words} is ${found.iqr[key]}`);
			}
			const table = await rows(page, "Objects");
			const flagged = table.filter((row) => row.Caller.startsWith("◉"));
			assert.equal(flagged.length, found.found.length);
			for (const object of found.found) {
				const row = table.find((line) => line.Caller.replace("◉ ", "") === object.caller && readBytes(line.Size) === object.size_bytes && line.Destroyer === object.destroyer);
				assert.ok(row, `${object.caller} ${object.size_bytes}`);
				shows(row.Frequency, object.frequency, "frequency");
				shows(row["Mean life"], object.life_ns, "life");
			}
		});

		test("mprof's four tables", async () => {
			const tables = cli("mprof", traces[name]);
			await see(name, "mprof?tab=leaks");
			if (tables.leaks.length) {
				const leaks = await rows(page, "Memory leaks");
				assert.equal(leaks.length, tables.leaks.length);
				leaks.forEach((row, at) => {
					shows(row.Allocations, tables.leaks[at].allocations, "allocations");
					shows(row.Bytes, tables.leaks[at].bytes, "bytes");
					shows(row["Kept bytes"], tables.leaks[at].kept_bytes, "kept bytes");
				});
			}
			await see(name, "mprof?tab=bins");
			const bins = await rows(page, "Allocation bins");
			assert.equal(bins.length, tables.bins.length);
			bins.forEach((row, at) => {
				shows(row.Allocations, tables.bins[at].allocations, "allocations of a bin");
				shows(row.Bytes, tables.bins[at].bytes, "bytes of a bin");
				shows(row.Frees, tables.bins[at].frees, "frees of a bin");
			});
			await see(name, "mprof?tab=direct");
			const direct = await rows(page, "Direct allocation");
			assert.equal(direct.length, tables.direct.length);
			direct.forEach((row, at) => {
				assert.equal(row.Name, tables.direct[at].name);
				shows(row.Bytes, tables.direct[at].bytes, "bytes of a function");
				shows(row.Calls, tables.direct[at].calls, "calls of a function");
			});
			await see(name, "mprof?tab=graph");
			const entries = await page.locator("table.mprof tr.main").evaluateAll((lines) => lines.map((line) => [...line.children].map((cell) => cell.textContent.trim())));
			const wanted = tables.graph.filter((row) => row.kind === "entry");
			assert.equal(entries.length, Math.min(60, wanted.length));
			entries.forEach((cells, at) => {
				assert.equal(cells[0], `[${wanted[at].index}]`);
				assert.equal(Number(cells[2]), wanted[at].bytes);
				assert.ok(cells.at(-1).startsWith(wanted[at].name));
			});
		});

		test("call graph: callers and callees with their allocations", async () => {
			const graph = cli("trace callgraph", traces[name]);
			const main = graph.routines.find((row) => row.routine === "main");
			await see(name, "calls?fn=main&mode=table&min=0");
			const callees = await rows(page, "Callees");
			const wanted = graph.edges.filter((edge) => edge.caller_id === main.id && edge.callee_id !== main.id);
			assert.equal(callees.length, wanted.length);
			for (const edge of wanted) {
				const row = callees.find((line) => line.Callees === edge.callee);
				assert.ok(row, edge.callee);
				shows(row.Allocations, edge.allocations, `allocations of main below ${edge.callee}`);
				shows(row.Bytes, edge.bytes, `bytes of main below ${edge.callee}`);
			}
		});

		test("threads: who allocates, who frees", async () => {
			const wanted = cli("query", "-n", "500", traces[name], "all | join thread").rows;
			await see(name, "threads?sort=-allocs");
			const table = await rows(page, "Threads");
			assert.equal(table.length, wanted.length);
			const sorted = [...wanted].sort((a, b) => b.chunks - a.chunks);
			table.forEach((row, at) => shows(row.Allocations, sorted[at].chunks, "allocations of a thread"));
			const sum = wanted.reduce((total, row) => total + row.size, 0);
			assert.equal(sum, cli("report", traces[name]).bytes);
			const words = await page.locator('[data-t="sentence"]').innerText();
			const all = wanted.reduce((total, row) => total + row.chunks, 0);
			if (wanted.length > 1) shows(/ made (.*) of /.exec(words)[1], sorted[0].chunks / all, words);
			assert.ok(words.includes(`${all.toLocaleString("en")} allocations`), words);
			assert.ok(table.some((row) => row.Thread === `main ${cli("report", traces[name]).pid}`), "the first thread is main");
			const cells = await page.locator("table.matrix td button").allInnerTexts();
			assert.equal(cells.reduce((total, text) => total + Number(text.replace(/,/g, "")), 0), cli("report", traces[name]).allocations);
		});

		test("breakdown: what the process held, and how much of it is Heapwise's", async () => {
			const { memory } = cli("report", traces[name]);
			if (!memory) return;
			const part = (of) => memory.find((row) => row.part === of);
			await see(name, "resident");
			const words = await page.locator('[data-t="sentence"]').innerText();
			shows(/at most (\S+ \S+) of/.exec(words)[1], part("resident").most_bytes, words);
			shows(/memory: (\S+ %) is the live heap/.exec(words)[1], part("requested").most_share, words);
			shows(/, (\S+ \S+) is Heapwise's own/.exec(words)[1], part("recorder").most_bytes, words);
		});

		test("memory map: its regions hold what is live", async () => {
			const peak = cli("report", traces[name]).peak.time_ns;
			for (const at of [peak, Math.round(cli("report", traces[name]).duration_ns / 2)]) {
				await see(name, `map?at=${at}`);
				const live = chunksOf(traces[name], `at ${at}ns`);
				const table = await rows(page, "Regions");
				assert.equal(table.reduce((total, row) => total + Number(row.Chunks.replace(/,/g, "")), 0), live.chunks);
				const off = table.reduce((total, row) => total + readOff(row.Live), 0);
				assert.ok(Math.abs(table.reduce((total, row) => total + readBytes(row.Live), 0) - live.bytes) <= off);
			}
		});

		test("source: what its lines allocate", async () => {
			await see(name, "src");
			const files = await rows(page, "Source files");
			const wanted = cli("query", "-n", "1000", traces[name], "all | join file | sort size desc").rows;
			for (const file of wanted.filter((row) => row.file).slice(0, 3)) {
				const row = files.find((line) => file.file.endsWith(line.File));
				assert.ok(row, file.file);
				shows(row["Allocated here"], file.size, `bytes of ${file.file}`);
				shows(row.Allocations, file.chunks, `allocations of ${file.file}`);
			}
		});

		test("three filters: each view tells of what the query selects", async () => {
			for (const text of ["all | where size >= 64", "all | where not freed", "all | where life < 1ms and size < 1KiB"]) {
				const { chunks, bytes } = chunksOf(traces[name], text);
				for (const where of ["flame?metric=bytes", "time", "points", "chunks", "threads", "map"]) {
					await see(name, `${where}${where.includes("?") ? "&" : "?"}q=${encodeURIComponent(text)}`);
					const words = await shown("matched");
					assert.equal(Number(words.split(/ of | allocations/)[0].replace(/,/g, "")), chunks, `${where}: ${text}`);
					if (chunks === 0) continue;
					if (where === "points") {
						const found = await rows(page, "Allocation points");
						assert.equal(found.reduce((total, row) => total + Number(row.Chunks.replace(/,/g, "")), 0), chunks);
					} else if (where === "threads") {
						const found = await rows(page, "Threads");
						assert.equal(found.reduce((total, row) => total + Number(row.Allocations.replace(/,/g, "")), 0), chunks);
					} else if (where.startsWith("flame")) {
						shows((await page.locator("main .crumbs").innerText()).split(" in ")[0], bytes, `bytes of ${text}`);
					} else if (where === "chunks") assert.match(await page.locator("main .panel").innerText(), new RegExp(`^${chunks.toLocaleString("en")} chunks`));
				}
			}
		});
	});

function readBytes(text) {
	const match = /([\d.,]+) (B|KiB|MiB|GiB)/.exec(text);
	return Number(match[1].replace(/,/g, "")) * { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[match[2]];
}

function readOff(text) {
	const match = /\d+(?:\.(\d+))? (B|KiB|MiB|GiB)/.exec(text);
	return 0.5000001 * 10 ** -(match[1]?.length ?? 0) * { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[match[2]];
}

describe("compare", () => {
	test("the differences are those of heapwise diff", async () => {
		const wanted = cli("diff", traces.threads, traces.logstat);
		await view(page, `#/compare?trace=${ids.logstat}&base=${ids.threads}&key=stack&metric=bytes`);
		const summary = await page.locator("table.summary tbody tr").evaluateAll((lines) => lines.map((line) => [...line.children].map((cell) => cell.textContent.trim())));
		assert.equal(summary.length, Object.keys(wanted.summary).length);
		for (const [name, before, now, change] of summary) {
			const truth = wanted.summary[{ "At the peak": "peak", Duration: "duration_ns" }[name] ?? name.toLowerCase()];
			shows(before, truth.a, `${name} before`);
			shows(now, truth.b, `${name} after`);
			shows(change.replace("+", ""), truth.delta, `change of ${name}`);
		}
		const { changed } = wanted;
		assert.match(await page.locator("main").innerText(), new RegExp(`${["new", "gone", "grew", "shrank"].filter((name) => changed[name]).map((name) => `${changed[name]} ${name}, `).join("")}${changed.same} as before`));
		const table = await rows(page, "Differences");
		assert.equal(table.length, wanted.rows.length);
		table.forEach((row, at) => {
			shows(row.Before, wanted.rows[at].a, "before");
			shows(row.After, wanted.rows[at].b, "after");
		});
	});

	test("the sentence says how the peak changed", async () => {
		const { peak } = cli("diff", traces.threads, traces.logstat).summary;
		await view(page, `#/compare?trace=${ids.logstat}&base=${ids.threads}`);
		const said = await page.locator('[data-t="verdict"]').innerText();
		const [, how, by, from, to] = /^Peak (grew|shrank) by ([^,]+), from (.+?) to ([^:.]+(?:\.\d+ \w+)?)/.exec(said);
		assert.equal(how, peak.delta > 0 ? "grew" : "shrank");
		shows(by, Math.abs(peak.delta), "change");
		shows(from, peak.a, "before");
		shows(to, peak.b, "after");
	});

	test("types: what each was in the other trace, and those that only that one has", async () => {
		const of = (trace) => new Map(cli("types", trace, "--top", "0").types.map((row) => [row.type ?? "no type known", row.bytes]));
		const [now, then] = [of(traces.contrived), of(traces.threads)];
		await view(page, `#/types?trace=${ids.contrived}&base=${ids.threads}`);
		const table = await rows(page, "Types");
		assert.deepEqual(new Set(table.map((row) => row.Type)), new Set([...now.keys(), ...then.keys()]));
		for (const row of table) {
			if (then.has(row.Type)) shows(row["Bytes before"], then.get(row.Type), `${row.Type} before`);
			else assert.equal(row["Bytes before"], "new");
			shows(row.Change.replace("+", ""), (now.get(row.Type) ?? 0) - (then.get(row.Type) ?? 0), `change of ${row.Type}`);
		}
	});

	test("threads: beside the one of that name", async () => {
		await view(page, `#/threads?trace=${ids.logstat}&base=${ids.logstat}`);
		const [row, ...others] = await rows(page, "Threads");
		assert.deepEqual([row["Bytes before"], row.Change, others], [row.Bytes, "±0", []]);
	});

	test("timeline: the other trace's line has its peak", async () => {
		await view(page, `#/time?by=none&as=table&trace=${ids.logstat}&base=${ids.threads}`);
		await settle(page);
		const table = await rows(page, "Timeline as a table", 900);
		const values = table.map((row) => row.before).filter((text) => / (B|KiB|MiB)$/.test(text)); // none after its end
		shows(values.reduce((most, text) => (readBytes(text) > readBytes(most) ? text : most)), cli("report", traces.threads).peak.bytes, "its peak");
	});

	test("frequency: an object of both tells how it was", async () => {
		await view(page, `#/freq?trace=${ids.logstat}&base=${ids.logstat}`);
		const [item] = await page.evaluate(() => window.__hw.items("scatter"));
		await page.locator('[data-t="chart-scatter"]').hover({ position: { x: item.x + 6, y: item.y + 6 } });
		const [, freq, life, was, lived] = / (\S+) times, lives (.+)\nfreed by .*\nbefore: (\S+) times, lived (.+)/.exec(await page.getByRole("tooltip").innerText());
		assert.deepEqual([was, lived], [freq, life]);
	});
});

describe("geometry", () => {
	test("flame: boxes lie in their callers, side by side, as wide as their share; a hit finds the box that is drawn there", async () => {
		for (const hash of ["flame?metric=bytes", "flame?metric=allocs&dir=up", "flame?metric=peak"]) {
			await see("logstat", hash);
			const items = await page.evaluate(() => window.__hw.items("flame"));
			await page.getByRole("link", { name: "Call tree" }).click();
			const table = await rows(page, "Flame graph as a table", 1000);
			const root = items.find((item) => item.y === 0);
			assert.equal(items.length, table.length);
			const levels = Map.groupBy ? Map.groupBy(items, (item) => item.y) : items.reduce((all, item) => all.set(item.y, [...(all.get(item.y) ?? []), item]), new Map());
			const high = [...levels.keys()].filter((y) => y > 0).reduce((least, y) => Math.min(least, y), Infinity);
			for (const [y, level] of levels) {
				const line = [...level].sort((a, b) => a.x - b.x);
				line.forEach((item, at) => {
					if (at > 0) assert.ok(item.x >= line[at - 1].x + line[at - 1].w - 0.01, `${item.label} lies on ${line[at - 1].label}`);
					if (y > 0) assert.ok(levels.get(y - high).some((above) => above.x <= item.x + 0.01 && above.x + above.w >= item.x + item.w - 0.01), `${item.label} has a caller above it`);
				});
			}
			for (const item of items) {
				const rowsOf = table.filter((row) => row.Function === item.label);
				assert.ok(rowsOf.some((row) => Math.abs(readShare(row.Share) - item.w / root.w) < 0.0051), `${item.label} is ${(100 * item.w) / root.w} % wide, not ${rowsOf.map((row) => row.Share)}`);
			}
		}
	});

	test("flame: the pixel in the middle of a box has the colour of its severity", async () => {
		await see("contrived", "flame?metric=allocs&color=sev");
		const wrong = await page.evaluate(() => {
			const canvas = document.querySelector('[data-t="chart-flame"] canvas');
			const context = canvas.getContext("2d");
			const ratio = canvas.width / canvas.clientWidth;
			const hex = (data) => `#${[...data.slice(0, 3)].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
			return window.__hw.items("flame").filter((item) => item.w > 4).flatMap((item) => {
				const { data } = context.getImageData(Math.round((item.x + 2) * ratio), Math.round((item.y + item.h - 3) * ratio), 1, 1);
				return hex(data) === item.colour ? [] : [`${item.label}: ${hex(data)} is not ${item.colour}`];
			});
		});
		assert.deepEqual(wrong, []);
	});

	test("flame: what a click selects is what lies under the pointer", async () => {
		await see("logstat", "flame?metric=bytes");
		const box = await page.locator('[data-t="chart-flame"]').boundingBox();
		const items = (await page.evaluate(() => window.__hw.items("flame"))).filter((item) => item.w > 20 && item.y > 0).slice(0, 12);
		for (const item of items) {
			await page.mouse.move(box.x + item.x + item.w / 2, box.y + item.y + item.h / 2);
			const tip = page.getByRole("tooltip");
			await tip.waitFor();
			assert.ok((await tip.innerText()).includes(item.label), `${await tip.innerText()} is not ${item.label}`);
		}
	});

	test("chunks: bars begin and end where they were allocated and freed", async () => {
		const { point } = cli("scores", "--all", traces.contrived).points.find((row) => row.allocations > 5 && row.allocations < 60);
		const wanted = cli("query", "-n", "60", traces.contrived, `all | where point == ${point}`).rows;
		const { duration_ns: end } = cli("report", traces.contrived);
		await see("contrived", `chunks?point=${point}`);
		const items = await page.evaluate(() => window.__hw.items("chunks"));
		const width = await page.locator('[data-t="chart-chunks"]').evaluate((element) => element.clientWidth);
		assert.equal(items.length, wanted.length);
		items.forEach((item, at) => {
			assert.ok(Math.abs(item.x - (wanted[at].alloc / end) * width) < 1.5, `chunk ${at} begins at ${item.x}`);
			const long = ((wanted[at].free ?? end) - wanted[at].alloc) / end * width;
			assert.ok(Math.abs(item.w - Math.max(3, long)) < 1.5, `chunk ${at} is ${item.w} long, not ${long}`);
		});
	});

	test("overview: bars are as long as their numbers, columns as high", async () => {
		await see("logstat", "");
		const lists = await page.locator(".top-list").evaluateAll((all) => all.map((list) => [...list.querySelectorAll("li")].map((row) => ({
			value: row.querySelector(".value").textContent,
			part: row.querySelector(".bar > span").getBoundingClientRect().width / row.querySelector(".bar").getBoundingClientRect().width,
		}))));
		for (const list of lists)
			for (const row of list) {
				const [value, most] = [row.value, list[0].value].map((text) => (/B$/.test(text) ? readBytes(text) : Number(text.replace(/,/g, ""))));
				assert.ok(Math.abs(row.part - value / most) < 0.02, `${row.value} of ${list[0].value} is drawn as ${row.part}`);
			}
		await see("logstat", "scores");
		const columns = await page.locator(".sev-hist button").evaluateAll((all) => all.map((one) => ({ n: Number(/: ([\d,]+) points/.exec(one.title)[1].replace(/,/g, "")), high: one.querySelector(".column").getBoundingClientRect().height })));
		const most = Math.max(...columns.map((column) => column.n));
		const highest = Math.max(...columns.map((column) => column.high));
		for (const column of columns) assert.ok(Math.abs(column.high / highest - column.n / most) < 0.06, JSON.stringify(column));
		assert.equal(columns.reduce((sum, column) => sum + column.n, 0), cli("report", traces.logstat).points);
	});

	test("scatter: to the right is more often, further up lives longer", async () => {
		await see("logstat", "freq");
		const items = await page.evaluate(() => window.__hw.items("scatter"));
		await see("logstat", "freq?sort=-freq");
		const table = (await rows(page, "Objects")).filter((row) => row.Destroyer !== "never freed");
		assert.equal(items.length, table.length);
		const byName = (row) => items.filter((item) => item.label === row.Caller.replace("◉ ", ""));
		const first = byName(table[0]);
		assert.ok(first.some((item) => item.x === Math.max(...items.map((other) => other.x))), "the most frequent is furthest to the right");
	});

	/** Least and most live bytes of a trace between two moments, from its list of chunks. */
	function liveBetween(trace) {
		const steps = cli("query", "--top", "0", trace, "all").rows.flatMap((row) => [[row.alloc, row.size], ...(row.free === null ? [] : [[row.free, -row.size]])]);
		steps.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
		return (from, to) => {
			let live = 0;
			let [least, most] = [Infinity, -Infinity];
			const seen = () => ([least, most] = [Math.min(least, live), Math.max(most, live)]);
			for (const [time, bytes] of steps) {
				if (time > to) break;
				if (time >= from) seen();
				live += bytes;
			}
			seen();
			return [least, most];
		};
	}

	test("strip: highest where the peak was, and as high as the heap there", async () => {
		const report = cli("report", traces.logstat);
		const live = liveBetween(traces.logstat);
		await see("logstat", "points");
		const pixel = report.duration_ns / (await page.locator('[data-t="chart-strip"] canvas').evaluate((canvas, side) => canvas.clientWidth - 2 * side, strip.side));
		const times = [report.peak.time_ns, report.peak.time_ns - pixel, report.peak.time_ns + pixel, ...[0.1, 0.3, 0.5, 0.7, 0.9].map((part) => Math.round(part * report.duration_ns))];
		const heights = await page.evaluate(([parts, { side, below }]) => {
			const canvas = document.querySelector('[data-t="chart-strip"] canvas');
			const ratio = canvas.width / canvas.clientWidth;
			const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
			// from below, so that words and marks do not count
			return parts.map((part) => {
				const x = Math.min(width - 1, Math.floor(side * ratio + part * (width - 2 * side * ratio)));
				const floor = height - 1 - below * ratio;
				let y = floor;
				while (y > 0 && data[(y * width + x) * 4 + 3] > 20) y--;
				return (floor - y) / ratio;
			});
		}, [times.map((time) => time / report.duration_ns), strip]);
		const beside = 2 * pixel;
		const high = (bytes) => (bytes / report.peak.bytes) * strip.high;
		assert.equal(live(0, report.duration_ns)[1], report.peak.bytes);
		const full = Math.max(...heights.slice(0, 3));
		assert.ok(full > 0.9 * strip.high, `the peak is ${full} pixels high`);
		times.forEach((time, at) => {
			// a column stands for some time, in which the heap may rise or fall; the dot of the peak is above the line
			const [least, most] = live(time - beside, time + beside);
			assert.ok(heights[at] > high(least) - 3 && heights[at] < high(most) + 5, `${least} to ${most} bytes at ${time} ns are ${heights[at]} pixels`);
		});
	});
});

function readShare(text) {
	return text.startsWith("<") ? 0 : Number(text.replace(" %", "")) / 100;
}

test("the members of a type are those of heapwise types --fields", async () => {
	const program = instrumented("members", join(source, "tests/targets/members.cpp"));
	const members = record("members", [program], ["--access", "exact", "--coverage"]);
	const wanted = cli("types", "--fields", "Sides", members).members;
	const own = await open(browser, await serve(members));
	await view(own, "#/types");
	await own.getByRole("grid", { name: "Types", exact: true }).getByText("Sides", { exact: true }).click();
	const grid = own.getByRole("table", { name: "Members of Sides" });
	await grid.waitFor();
	const rows = (await grid.getByRole("row").allInnerTexts()).slice(1).map((text) => text.split(/\s*[\t\n]\s*/));
	assert.equal(wanted.find((row) => row.member === "stored").state, "written, never read");
	for (const row of wanted) {
		const shown = rows.find((cells) => cells[0] === String(row.offset));
		assert.ok(shown, `a row of offset ${row.offset}`);
		const sides = [row.read, row.written].map(String).concat([row.read_bytes, row.written_bytes].map((bytes) => `${bytes} of ${row.size} B`));
		for (const text of [row.state, row.member ?? "", ...sides]) assert.ok(shown.includes(text) || text === "", `${shown.join(" | ")} has ${text}`);
	}
	assert.deepEqual(own.problems, []);
	await own.context().close();
});

describe("mprof's tables of a Lisp", { skip: spawnSync("ecl", ["--version"]).status === 0 ? false : "no ecl" }, () => {
	test("are those of the command: by type, with the letters of the paper, and none of leaks", async () => {
		const program = join(work, "lists.lsp");
		writeFileSync(program, "(defun make-lists (n) (dotimes (i n) (list i i i)))\n(defun make-floats (n) (dotimes (i n) (float i 1d0)))\n(make-lists 20000)\n(make-floats 5000)\n");
		const lisp = record("lisp", ["ecl", "--norc", "--shell", program], ["--lisp", "ecl"]);
		const tables = cli("mprof", "--verbose", lisp);
		const page = await open(browser, await serve(lisp));
		await view(page, "#/mprof?verb=verbose");
		const tabs = page.getByRole("group", { name: "Tables" }).getByRole("button");
		assert.deepEqual(await tabs.allInnerTexts(), ["Types", "Direct allocation", "Allocation call graph"]);
		const grid = page.getByRole("grid").or(page.getByRole("table"));
		const types = await rows(page, await grid.first().getAttribute("aria-label"));
		assert.equal(types.length, tables.types.length);
		await view(page, "#/mprof?tab=direct&verb=verbose");
		const text = await page.locator("main").innerText();
		for (const name of ["MAKE-LISTS", "FLOAT"]) assert.ok(text.includes(name), name);
		await view(page, "#/mprof?tab=graph&verb=verbose");
		const heads = await page.locator("table.mprof thead th").allInnerTexts();
		assert.deepEqual(heads.slice(4, 8), ["c", "f", "s", "o"]);
		const entry = tables.graph.find((row) => row.kind === "entry" && row.name === "MAKE-LISTS");
		const shownRow = await page.locator("table.mprof tr.main", { hasText: "MAKE-LISTS" }).locator("td").allInnerTexts();
		assert.equal(shownRow[2], String(entry.bytes));
		assert.equal(shownRow[4], String(Math.floor(entry.cons * 100)));
		assert.match(await page.locator("main").innerText(), /the start of Lisp itself/);
		assert.deepEqual(page.problems, []);
		await page.context().close();
	});
});
