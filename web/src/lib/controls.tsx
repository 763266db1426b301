// SPDX-License-Identifier: MIT
// Components of the design system that have a behaviour of their own: segments, a menu behind a button, what is
// shown while there is nothing yet, and where there is nothing at all.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "./icons";
import { type Act, openMenu } from "./menu";

/** Of a row that is wider than its room, the chosen one is in sight. */
export function useChosenSeen(chosen: string) {
	const row = useRef<HTMLElement & HTMLDivElement>(null);
	useLayoutEffect(() => {
		const box = row.current;
		const one = box?.querySelector<HTMLElement>('[aria-current], [aria-pressed="true"]');
		if (box && one && box.scrollWidth > box.clientWidth) box.scrollLeft += one.getBoundingClientRect().left - box.getBoundingClientRect().left - (box.clientWidth - one.offsetWidth) / 2;
	}, [chosen]);
	return row;
}

/** One of a few, all of them in sight. */
export function Segment({ label, value, options, onChange }: { label: string; value: string; options: readonly (readonly [string, string, string?])[]; onChange(value: string): void }) {
	const row = useChosenSeen(value);
	return (
		<div ref={row} class="segment" role="group" aria-label={label}>
			{options.map(([name, words, title]) => <button aria-pressed={name === value} title={title} onClick={() => onChange(name)}>{words}</button>)}
		</div>
	);
}

/** What else can be done, behind one button. */
export function MenuButton({ label, icon = "more", groups, words }: { label: string; icon?: IconName; groups: readonly [string, Act[]][]; words?: string }) {
	return (
		<button
			class={words ? "" : "ghost"}
			aria-haspopup="menu"
			aria-label={words ? undefined : label}
			title={label}
			onClick={(event) => {
				const box = event.currentTarget.getBoundingClientRect();
				openMenu(box.left, box.bottom + 4, { title: label, acts: groups });
			}}
		>
			<Icon name={icon} />
			{words}
		</button>
	);
}

/** Where there is nothing to be seen: why, and what to do about it. */
export function Empty({ icon = "search", children }: { icon?: IconName; children: ComponentChildren }) {
	return <div class="empty"><Icon name={icon} size={28} />{children}</div>;
}

/** The shape of what is about to come. */
export function Skeleton({ lines = 6, block = false }: { lines?: number; block?: boolean }) {
	return (
		<div class="skeleton" role="status" aria-busy="true" aria-label="Loading">
			{block && <span class="block" />}
			{Array.from({ length: lines }, () => <span />)}
		</div>
	);
}
