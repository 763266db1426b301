// SPDX-License-Identifier: MIT
import { render } from "preact";
import { lazy } from "./lib/lazy";
import { Shell, type View, notLive } from "./shell";
import { Chunks } from "./views/chunks";
import { Compare } from "./views/compare";
import { Entries } from "./views/entries";
import { Flame } from "./views/flame";
import { Frequency } from "./views/frequency";
import { Memory } from "./views/memory";
import { Mprof } from "./views/mprof";
import { Overview } from "./views/overview";
import { Points } from "./views/points";
import { Threads } from "./views/threads";
import { Timeline } from "./views/timeline";
import { Types } from "./views/types";
import "./style.css";

/** Views of a report in one file: what the others show is asked for as one looks. */
const inReport = ["", "flame", "time", "points", "chunks", "types", "freq", "mprof", "calls", "threads"];

const views: View[] = [
	{ name: "", label: "Overview", letter: "o", component: Overview },
	{ name: "flame", label: "Flame graph", letter: "f", component: Flame },
	{ name: "time", label: "Timeline", letter: "t", component: Timeline },
	{ name: "points", label: "Points", letter: "p", component: Points },
	{ name: "chunks", label: "Chunks", letter: "c", component: Chunks },
	{ name: "entries", label: "Rows", letter: "n", endpoint: "/entries", component: Entries },
	{ name: "types", label: "Types", letter: "y", component: Types },
	{ name: "freq", label: "Frequency", letter: "e", component: Frequency },
	{ name: "mprof", label: "mprof tables", letter: "m", component: Mprof },
	{ name: "calls", label: "Call graph", letter: "l", component: lazy(() => import("./views/calls").then((part) => part.Calls)) },
	{ name: "threads", label: "Threads", letter: "h", component: Threads },
	{ name: "map", label: "Memory map", letter: "a", component: Memory },
	{ name: "src", label: "Source", letter: "s", component: REPORT ? Overview : lazy(() => import("./views/source").then((part) => part.Source)) },
	{ name: "live", label: "Live", letter: "i", endpoint: "/live", missing: notLive, component: REPORT ? Overview : lazy(() => import("./views/live").then((part) => part.Live)) },
	{ name: "compare", label: "Compare", letter: "d", component: Compare },
	{ name: "graph", label: "Filter graph", letter: "g", component: REPORT ? Overview : lazy(() => import("./views/graph").then((part) => part.GraphEditor)) },
];

const root = document.getElementById("app");
if (root) render(<Shell views={REPORT ? views.filter((view) => inReport.includes(view.name)) : views} />, root);
