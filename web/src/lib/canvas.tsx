// SPDX-License-Identifier: MIT
// A chart painted on a canvas that behaves like a control: sharp on every screen, hit by the pointer, walked
// with the arrow keys, spoken by a live line, and with the same data as a table behind the key T.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { dark } from "./colour";
import { type Subject, menuKey, openMenu } from "./menu";
import { pending } from "./source";

export interface Item {
	id: number;
	x: number; // of the box it fills, in CSS pixels
	y: number;
	w: number;
	h: number;
	colour: string;
	label: string;
}

export type Direction = "up" | "down" | "left" | "right";

export interface Painter {
	/** Paints all and returns what was painted, for hits, keys and tests. */
	paint(context: CanvasRenderingContext2D, width: number, height: number): Item[];
	/** The neighbour of an item; without one the nearest box is taken. */
	step?(from: Item, direction: Direction, items: Item[]): Item | null;
	/** What is said of an item. */
	speak(item: Item): string;
}

interface Props {
	name: string; // of the view: __hw.items(name)
	label: string;
	description: string; // "flame graph"
	height: number;
	painter: Painter;
	version: unknown; // paints again when it changes
	selected: number | null;
	onSelect(item: Item): void;
	onClick?(item: Item): void; // of the pointer; without it, as onSelect
	onOpen?(item: Item): void;
	onKey?(event: KeyboardEvent, item: Item | null): boolean; // true = done
	onWheel?(event: WheelEvent, x: number): boolean;
	onDrag?(phase: "begin" | "move" | "end", x: number, y: number, shift: boolean): void;
	onHover?(item: Item | null): void;
	menu?(item: Item): Subject | null;
	tooltip(item: Item): ComponentChildren;
	tip?: "above" | "below"; // of the pointer, away from what is pressed next, over whatever is around the chart
	children?: ComponentChildren; // laid over the canvas
}

declare global {
	interface Window {
		__hw?: { items(view: string): Item[]; state(): string; pending(): number; live?(): Record<string, number | string> };
	}
}

const painted = new Map<string, Item[]>();
window.__hw = { items: (view) => painted.get(view) ?? [], state: () => location.hash, pending: () => pending };

function itemAt(items: Item[], x: number, y: number): Item | null {
	for (let i = items.length - 1; i >= 0; i--) {
		const item = items[i];
		if (item && x >= item.x && x < item.x + item.w && y >= item.y && y < item.y + item.h) return item;
	}
	return null;
}

/** The nearest box whose middle lies in that direction. */
function nearest(from: Item, direction: Direction, items: Item[]): Item | null {
	const fromX = from.x + from.w / 2;
	const fromY = from.y + from.h / 2;
	let best: Item | null = null;
	let least = Infinity;
	for (const item of items) {
		const dx = item.x + item.w / 2 - fromX;
		const dy = item.y + item.h / 2 - fromY;
		const along = direction === "left" ? -dx : direction === "right" ? dx : direction === "up" ? -dy : dy;
		const across = direction === "left" || direction === "right" ? Math.abs(dy) : Math.abs(dx);
		if (item.id === from.id || along <= 0) continue;
		const distance = along + across * 3;
		if (distance < least) {
			least = distance;
			best = item;
		}
	}
	return best;
}

const arrows: Record<string, Direction> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

export function CanvasView(props: Props) {
	const wrapper = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const items = useRef<Item[]>([]);
	const dragging = useRef(false);
	const dragged = useRef(false); // the click that ends a drag is none
	const begun = useRef({ x: 0, y: 0 });
	const corner = useRef<DOMRect | null>(null); // of the canvas while it is dragged on: asked for at each move, it would lay the page out
	const clicked = useRef<Item | null>(null); // by the first click of two: it may have moved since, when a drawer opened
	const [width, setWidth] = useState(0);
	const [hover, setHover] = useState<{ item: Item; x: number; y: number } | null>(null);
	const [focus, setFocus] = useState<Item | null>(null);
	const keyboard = useRef(false); // a key chose it: it has a ring
	const [, setDrawn] = useState<Item[]>([]); // rings are of what is painted now
	const [spoken, setSpoken] = useState("");

	useLayoutEffect(() => {
		const element = wrapper.current;
		if (!element) return;
		const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
		observer.observe(element);
		setWidth(Math.floor(element.clientWidth));
		return () => observer.disconnect();
	}, []);

	useLayoutEffect(() => {
		const element = canvas.current;
		const context = element?.getContext("2d");
		if (!element || !context || width <= 0) return;
		const ratio = window.devicePixelRatio || 1;
		element.width = Math.round(width * ratio);
		element.height = Math.round(props.height * ratio);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, width, props.height);
		items.current = props.painter.paint(context, width, props.height);
		painted.set(props.name, items.current);
		if (focus || props.selected != null) setDrawn(items.current);
		if (focus) setFocus((old) => (old && items.current.find((item) => item.id === old.id)) ?? null);
	}, [width, props.height, props.version, props.painter, dark.value]);

	useEffect(() => () => void painted.delete(props.name), [props.name]);

	useEffect(() => {
		if (!focus) return;
		wrapper.current?.querySelector(".ring")?.scrollIntoView({ block: "nearest", inline: "nearest" });
		const timer = setTimeout(() => setSpoken(props.painter.speak(focus)), 200);
		return () => clearTimeout(timer);
	}, [focus?.id]);

	// listened to once: a listener that may stop a wheel makes the browser paint anew
	const wheeled = useRef(props.onWheel);
	wheeled.current = props.onWheel;
	useEffect(() => {
		const element = wrapper.current;
		if (!element || !props.onWheel) return;
		const wheel = (event: WheelEvent) => {
			if (wheeled.current?.(event, event.clientX - element.getBoundingClientRect().left)) event.preventDefault();
		};
		element.addEventListener("wheel", wheel, { passive: false });
		return () => element.removeEventListener("wheel", wheel);
	}, [!props.onWheel]);

	const at = (event: MouseEvent) => {
		const box = (dragging.current ? corner.current : null) ?? canvas.current?.getBoundingClientRect();
		return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
	};
	const current = () => focus ?? items.current.find((item) => item.id === props.selected) ?? items.current[0] ?? null;
	const choose = (item: Item) => {
		keyboard.current = true;
		setFocus(item);
		props.onSelect(item);
	};

	const pointerMove = (event: PointerEvent) => {
		const { x, y } = at(event);
		if (dragging.current) {
			props.onDrag?.("move", x, y, event.shiftKey);
			if (Math.hypot(x - begun.current.x, y - begun.current.y) > 4) dragged.current = true;
			return;
		}
		const item = itemAt(items.current, x, y);
		setHover(item ? { item, x, y } : null);
		props.onHover?.(item);
	};
	const pointerDown = (event: PointerEvent) => {
		const { x, y } = at(event);
		if (!props.onDrag || event.button !== 0) return;
		dragging.current = true;
		corner.current = canvas.current?.getBoundingClientRect() ?? null;
		dragged.current = false;
		begun.current = { x, y };
		(event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
		props.onDrag("begin", x, y, event.shiftKey);
	};
	const pointerUp = (event: PointerEvent) => {
		const { x, y } = at(event);
		if (!dragging.current) return;
		dragging.current = false;
		setHover(null);
		props.onDrag?.("end", x, y, event.shiftKey);
	};
	const keyDown = (event: KeyboardEvent) => {
		const from = current();
		const direction = arrows[event.key];
		if (props.onKey?.(event, from)) {
			event.preventDefault();
			return;
		}
		const box = wrapper.current?.getBoundingClientRect();
		if (menuKey(event) && from && box && props.menu) {
			const subject = props.menu(from);
			if (subject) openMenu(box.left + from.x + Math.min(40, from.w / 2), box.top + from.y + from.h, subject);
			event.preventDefault();
		} else if (event.key === "Enter" && from && props.onOpen) {
			props.onOpen(from);
			event.preventDefault();
		} else if (direction && from) {
			const next = focus ? (props.painter.step ? props.painter.step(from, direction, items.current) : nearest(from, direction, items.current)) : from;
			if (next) choose(next);
			event.preventDefault();
		}
	};

	/** Where the tooltip is for a pointer there. */
	const tipAt = (x: number, y: number) => {
		const box = canvas.current?.getBoundingClientRect();
		if (!props.tip || !box) return { left: `${Math.min(x + 12, Math.max(0, width - 340))}px`, top: `${y + 16}px` };
		const left = `${Math.max(4, Math.min(box.left + x + 12, window.innerWidth - 350))}px`;
		const below = window.innerHeight - box.top - y;
		return { position: "fixed", left, ...(props.tip === "above" ? { bottom: `${below + 10}px` } : below > 130 ? { top: `${box.top + y + 18}px` } : { bottom: "2px" }) };
	};
	const marked = items.current.find((item) => item.id === ((keyboard.current ? focus?.id : null) ?? props.selected));
	return (
		<div
			ref={wrapper}
			class="chart"
			tabIndex={0}
			role="application"
			aria-roledescription={props.description}
			aria-label={props.label}
			data-t={`chart-${props.name}`}
			style={{ height: `${props.height}px` }}
			onKeyDown={keyDown}
			onPointerMove={pointerMove}
			onPointerDown={pointerDown}
			onPointerUp={pointerUp}
			onPointerCancel={pointerUp}
			onPointerLeave={() => {
				setHover(null);
				props.onHover?.(null);
			}}
			onClick={(event) => {
				const { x, y } = at(event);
				const item = itemAt(items.current, x, y);
				if (event.detail < 2) clicked.current = item;
				if (item && !dragged.current && event.detail < 2) {
					setFocus(item);
					(props.onClick ?? props.onSelect)(item);
				}
				dragged.current = false;
				keyboard.current = false;
				setHover(null);
			}}
			onContextMenu={(event) => {
				const { x, y } = at(event);
				const item = itemAt(items.current, x, y);
				const subject = item ? props.menu?.(item) : null;
				if (!subject) return;
				event.preventDefault();
				setHover(null);
				openMenu(event.clientX, event.clientY, subject);
			}}
			onDblClick={() => clicked.current && props.onOpen?.(clicked.current)}
		>
			<canvas ref={canvas} style={{ width: `${width}px`, height: `${props.height}px` }} aria-hidden="true" />
			{marked && <div class="ring" style={{ left: `${marked.x}px`, top: `${marked.y}px`, width: `${Math.max(3, marked.w)}px`, height: `${Math.max(3, marked.h)}px` }} />}
			{props.children}
			{hover && !dragging.current && (
				<div class="tip" role="tooltip" style={tipAt(hover.x, hover.y)}>
					{props.tooltip(hover.item)}
				</div>
			)}
			<div class="sr-only" aria-live="polite">{spoken}</div>
		</div>
	);
}
