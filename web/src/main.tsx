// SPDX-License-Identifier: MIT
import { render } from "preact";
import { lazy } from "./lib/lazy";
import { sourced } from "./lib/source";
import { trace } from "./lib/state";
import { type Group, Shell, notLive } from "./shell";
import { Chunks } from "./views/chunks";
import { Entries } from "./views/entries";
import { Flame } from "./views/flame";
import { Overview } from "./views/overview";
import { Points } from "./views/points";
import { Threads } from "./views/threads";
import { Timeline } from "./views/timeline";
import { Types } from "./views/types";
import "./style.css";

/** Views of a report in one file: what the others show is asked for as one looks. */
const inReport = ["", "flame", "tree", "time", "points", "scores", "src", "chunks", "types", "owners", "freq", "mprof", "calls", "threads", "resident"];

const notResident = () => (trace.value?.caps.rss === false ? "Resident memory was not recorded: runs shorter than the first look at it have none." : "");

const notOwned = () => (trace.value?.caps.owners ? "" : "This trace has no owners. To record them: heapwise run --owners PROGRAM");

const notSourced = () => (sourced ? "" : "This report has no source. To make one that has: heapwise export --to html --source lines TRACE");

const groups: Group[] = [
	{ label: "Summary", icon: "gauge", hint: "What happened, and what to do first", views: [{ name: "", label: "Summary", letter: "o", component: Overview }] },
	{
		label: "Where",
		icon: "flame",
		hint: "Which code holds the memory",
		views: [
			{ name: "flame", label: "Flame graph", letter: "f", component: Flame },
			{ name: "tree", label: "Call tree", letter: "r", component: Flame },
			{ name: "points", label: "Points", letter: "p", component: Points },
			{ name: "src", label: "Source", letter: "s", alone: true, missing: notSourced, component: lazy(() => import("./views/source").then((part) => part.Source)) },
			{ name: "types", label: "Types", letter: "y", component: Types },
		],
	},
	{ label: "Owners", icon: "owners", hint: "Who keeps the memory alive", views: [{ name: "owners", label: "Owners", letter: "u", alone: true, endpoint: "/owners", missing: notOwned, component: lazy(() => import("./views/owners").then((part) => part.Owners)) }] },
	{
		label: "When",
		icon: "clock",
		hint: "When memory was allocated and freed",
		views: [
			{ name: "time", label: "Timeline", letter: "t", component: Timeline },
			{ name: "chunks", label: "Chunks", letter: "c", alone: true, component: Chunks },
			{ name: "threads", label: "Threads", letter: "h", component: Threads },
		],
	},
	{
		label: "Resident",
		icon: "memory",
		hint: "What the process holds of the machine's memory",
		views: [
			{ name: "resident", label: "Breakdown", letter: "w", alone: true, missing: notResident, component: lazy(() => import("./views/resident").then((part) => part.Resident)) },
			{ name: "map", label: "Memory map", letter: "a", alone: true, component: lazy(() => import("./views/memory").then((part) => part.Memory)) },
		],
	},
	{ label: "Compare", icon: "compare", hint: "What changed between two runs", views: [{ name: "compare", label: "Compare", letter: "d", component: lazy(() => import("./views/compare").then((part) => part.Compare)) }] },
	{ label: "Live", icon: "radio", hint: "What the program does now", views: [{ name: "live", label: "Live", letter: "i", endpoint: "/live", missing: notLive, component: REPORT ? Overview : lazy(() => import("./views/live").then((part) => part.Live)) }] },
	{
		label: "Research",
		icon: "flask",
		hint: "Methods of papers, and questions of your own",
		views: [
			{ name: "scores", label: "Scores", letter: "k", component: Points },
			{ name: "freq", label: "Frequency", letter: "e", component: lazy(() => import("./views/frequency").then((part) => part.Frequency)) },
			{ name: "mprof", label: "mprof tables", letter: "m", alone: true, component: lazy(() => import("./views/mprof").then((part) => part.Mprof)) },
			{ name: "calls", label: "Call graph", letter: "l", alone: true, component: lazy(() => import("./views/calls").then((part) => part.Calls)) },
			{ name: "entries", label: "Rows", letter: "n", endpoint: "/entries", component: Entries },
			{ name: "graph", label: "Filter graph", letter: "g", component: REPORT ? Overview : lazy(() => import("./views/graph").then((part) => part.GraphEditor)) },
		],
	},
];

const root = document.getElementById("app");
if (root) render(<Shell groups={REPORT ? groups.map((group) => ({ ...group, views: group.views.filter((view) => inReport.includes(view.name)) })) : groups} />, root);
