// SPDX-License-Identifier: MIT
// Stands in for d3-transition in the bundle (build.mjs): the filter graph moves one thing, its view after a double click.

import { type Selection, selection } from "d3-selection";

type Act = (this: Element) => void;
type Step = (part: number) => void;

const running = new WeakMap<Element, () => void>();

/** Ends the movement of an element where it is. */
export function interrupt(node: Element): void {
	running.get(node)?.();
}

const smooth = (part: number) => (part < 0.5 ? 4 * part ** 3 : 1 - 4 * (1 - part) ** 3);

class Transition {
	private readonly acts: Record<string, Act[]> = {};
	private length = 250; // ms
	private eased = smooth;
	private make: (this: Element) => Step = () => () => undefined;

	constructor(private readonly chosen: Selection<Element, unknown, null, undefined>) {
		// What is moved, and how, is set after this.
		requestAnimationFrame((begun) => chosen.node() && this.run(chosen.node()!, begun));
	}

	selection() {
		return this.chosen;
	}

	duration(length: number) {
		this.length = length;
		return this;
	}

	ease(eased: (part: number) => number) {
		this.eased = eased;
		return this;
	}

	/** Names as "start.zoom end.zoom": what follows the point tells listeners apart, and is not needed here. */
	on(names: string, act: Act) {
		for (const name of names.split(" ")) (this.acts[name.split(".")[0]!] ??= []).push(act);
		return this;
	}

	tween(_name: string, make: (this: Element) => Step) {
		this.make = make;
		return this;
	}

	call(act: (transition: Transition, ...rest: unknown[]) => void, ...rest: unknown[]) {
		act(this, ...rest);
		return this;
	}

	private run(node: Element, begun: number) {
		const emit = (name: string) => this.acts[name]?.forEach((act) => act.call(node));
		interrupt(node);
		emit("start");
		const step = this.make.call(node);
		let frame = 0;
		const over = (name: string) => {
			cancelAnimationFrame(frame);
			running.delete(node);
			emit(name);
		};
		running.set(node, () => over("interrupt"));
		const draw = (now: number) => {
			const part = Math.min(1, (now - begun) / this.length);
			step(this.eased(part));
			if (part === 1) over("end");
			else frame = requestAnimationFrame(draw);
		};
		draw(begun);
	}
}

Object.assign(selection.prototype, {
	interrupt(this: Selection<Element, unknown, null, undefined>) {
		return this.each(function () {
			interrupt(this);
		});
	},
	transition(this: Selection<Element, unknown, null, undefined>) {
		return new Transition(this);
	},
});
