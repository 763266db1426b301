// SPDX-License-Identifier: MIT
// Hilbert's curve: what is near in memory is near in the picture, in both directions. An aligned run of 4^k
// places always fills a square of 2^k by 2^k.

export interface Square {
	x: number;
	y: number;
	side: number;
}

/** Where place `at` lies in a square whose side is a power of two. */
export function hilbert(at: number, side: number): { x: number; y: number } {
	let x = 0;
	let y = 0;
	for (let step = 1; step < side; step *= 2) {
		const rx = 1 & (at >> 1);
		const ry = 1 & (at ^ rx);
		if (ry === 0) {
			if (rx === 1) [x, y] = [step - 1 - x, step - 1 - y];
			[x, y] = [y, x];
		}
		x += step * rx;
		y += step * ry;
		at >>= 2;
	}
	return { x, y };
}

/** Squares, side by side, of `side` places a side: where place `at` lies in the row of them. */
export function placeOf(at: number, side: number): { x: number; y: number } {
	const whole = side * side;
	const inside = hilbert(at % whole, side);
	return { x: Math.floor(at / whole) * side + inside.x, y: inside.y };
}

/** The run [from, to) as the fewest squares. */
export function squares(from: number, to: number, side: number): Square[] {
	const found: Square[] = [];
	for (let at = from; at < to; ) {
		let width = 1;
		while (width < side && at % (width * width * 4) === 0 && at + width * width * 4 <= to) width *= 2;
		const { x, y } = placeOf(at, side);
		found.push({ x: x - (x % width), y: y - (y % width), side: width });
		at += width * width;
	}
	return found;
}
