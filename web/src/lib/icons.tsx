// SPDX-License-Identifier: MIT
// Icons of Lucide (ISC licence), those that the page uses, and the page's own mark.

import {
	Check, ChevronDown, Clock, Copy, Download, Ellipsis, Eye, Flame, FlaskConical, Gauge, GitCompareArrows, Menu, MemoryStick, Network, Radio, RotateCcw, Search, Table2, TriangleAlert, X,
} from "lucide";
import { h } from "preact";
import mark from "../favicon.svg";

const shapes = {
	check: Check, chevron: ChevronDown, clock: Clock, compare: GitCompareArrows, copy: Copy, download: Download, eye: Eye, flame: Flame, flask: FlaskConical, gauge: Gauge,
	memory: MemoryStick, menu: Menu, more: Ellipsis, owners: Network, radio: Radio, reset: RotateCcw, search: Search, table: Table2, warning: TriangleAlert, x: X,
} as const;
export type IconName = keyof typeof shapes;

/** Says nothing to a screen reader: the words beside it, or the label of its button, do. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
	return (
		<svg class="icon" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
			{shapes[name].map(([tag, attributes]) => h(tag, attributes))}
		</svg>
	);
}

/** The page's own mark, which is its favicon, too: a heap of blocks, one of which is looked at. */
export function Logo({ size = 24 }: { size?: number }) {
	return <img class="icon" src={mark} width={size} height={size} alt="" />;
}
