// SPDX-License-Identifier: MIT
// Bundles src/ into dist/: byte for byte the same each time, so that the tests can compare it.
import { build } from "esbuild";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
const limits = { total: 600_000, first: 260_000, style: 42_000, report: 430_000 };

/** Rules for parts of xyflow that nothing here shows. */
const unused = /\.react-flow__(resize-control|minimap|attribution|edgeupdater|node-(default|input|output|group))[^{}]*\{[^}]*\}/g;
/** What a call at the top of a file makes stays in the bundle, used or not, unless the call is said to do nothing else. */
const pure = "$&/* @__PURE__ */ ";
/** What dagre, uPlot, d3 and xyflow, made for every use, need not bring to this one. Each pattern must be found, so that a new version is noticed. */
const edits = [
	// Its list of algorithms on graphs, of which the layout takes two.
	{ file: /dagre\.esm\.js$/, edits: [[/(?<=[{,])(?!preorder|postorder)\w+:\(\)=>[\w$]+(,|(?=\}))/g, ""]] },
	// What it offers to those who draw with it: other shapes than lines, times of day, tables to join.
	{ file: /uPlot\.esm\.js$/, edits: [[/^\t?\(?(uPlot|paths)\.\w+ +=.*$/gm, ""]] },
	{ file: /d3-interpolate\.mjs$/, edits: [[/^var \w+ = (?=\(function|\w+\()/gm, pure]] },
	{
		file: /xyflow.react.dist.esm.index\.js$/,
		edits: [
			[/^\w+\.displayName = .*$/gm, ""],
			[/^(const|var) \w+ = (?=\w+\()/gm, pure],
			[/\bmemo\((?=fixed)/g, pure],
		],
	},
	{
		file: /xyflow.system.dist.esm.index\.js$/,
		edits: [
			[/options\?\.interpolate === 'linear' \? interpolate : interpolateZoom/g, "interpolateZoom"],
			// Only a development build prints them.
			[/^( {4}error\d+: ).*$/gm, '$1() => "",'],
		],
	},
	{ file: /xyflow.*\.css$/, edits: [[unused, ""]] },
];
const lean = {
	name: "lean",
	setup(builder) {
		for (const { file, edits: list } of edits)
			builder.onLoad({ filter: file }, ({ path }) => {
				let contents = readFileSync(path, "utf8");
				for (const [pattern, text] of list) {
					if (contents.search(pattern) < 0) throw new Error(`${path}: ${pattern} is not there`);
					contents = contents.replace(pattern, text);
				}
				return { contents, loader: path.endsWith("css") ? "css" : "js" };
			});
	},
};

const common = {
	plugins: [lean],
	absWorkingDir: here,
	bundle: true,
	minify: true,
	target: "es2022",
	jsx: "automatic",
	jsxImportSource: "preact",
	// xyflow asks for React: Preact's own double answers. Removing these lines is the way back.
	alias: { react: "preact/compat", "react-dom": "preact/compat", "react/jsx-runtime": "preact/jsx-runtime", "d3-transition": "./src/lib/transition.ts" },
	loader: { ".svg": "dataurl" },
	legalComments: "none",
	logLevel: "warning",
};

rmSync(out, { recursive: true, force: true });
const result = await build({
	...common,
	entryPoints: { app: "src/main.tsx" },
	outdir: out,
	splitting: true,
	format: "esm",
	chunkNames: "part-[hash]",
	define: { REPORT: "false" },
	metafile: true,
});
const outputs = Object.entries(result.metafile.outputs);
const meta = (name) => outputs.find(([path]) => path.endsWith("/" + name))?.[1];
/** What every view needs: named in the page, so that the browser need not find them one in another. */
const first = new Set(["app.js"]);
for (const name of first)
	for (const item of meta(name)?.imports ?? [])
		if (item.kind === "import-statement") first.add(item.path.split("/").pop());
const early = [...first].slice(1).map((name) => `<link rel="modulepreload" href="${name}">`);
const icon = `data:image/svg+xml,${encodeURIComponent(readFileSync(join(here, "src/favicon.svg"), "utf8").trim())}`;
writeFileSync(
	join(out, "index.html"),
	readFileSync(join(here, "src/index.html"), "utf8")
		.replace("ICON", () => icon)
		.replace("EARLY", () => early.join("\n")),
);

// A report is one file: script and style are in it, and nothing else may run or be fetched.
const report = await build({ ...common, entryPoints: { report: "src/main.tsx" }, outdir: out, format: "iife", define: { REPORT: "true" }, write: false });
const text = (ending) => report.outputFiles.find((file) => file.path.endsWith(ending)).text;
const hash = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
const [script, style] = [text(".js"), text(".css")];
writeFileSync(
	join(out, "report.html"),
	readFileSync(join(here, "src/report.html"), "utf8")
		.replace("POLICY", () => `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:`)
		.replace("ICON", () => icon)
		.replace("STYLE", () => style)
		.replace("SCRIPT", () => script),
);

const sizes = readdirSync(out)
	.sort()
	.map((name) => ({ name, bytes: statSync(join(out, name)).size, gzip: gzipSync(readFileSync(join(out, name))).length }));
const scripts = sizes.filter((file) => file.name.endsWith(".js"));
const sum = (files) => files.reduce((total, file) => total + file.bytes, 0);
const found = {
	total: sum(scripts),
	first: sum(scripts.filter((file) => first.has(file.name))),
	style: sum(sizes.filter((file) => file.name.endsWith(".css"))),
	report: sum(sizes.filter((file) => file.name === "report.html")),
};
for (const file of sizes) console.log(`${String(file.bytes).padStart(8)} ${String(file.gzip).padStart(7)} gz  ${file.name}`);
for (const [what, bytes] of Object.entries(found)) {
	console.log(`${what}: ${bytes} of at most ${limits[what]} bytes`);
	if (bytes > limits[what]) {
		console.error(`${what} is too large`);
		process.exitCode = 1;
	}
}
