// SPDX-License-Identifier: MIT
// Pictures of the page: made small, and compared.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.HEAPWISE_WEB_MODULES, "package.json"));
const { PNG } = require("pngjs");

/** At most 256 colours, the rest as the nearest of them: a third of the size, and nobody sees it. */
export function small(bytes) {
	const png = PNG.sync.read(bytes);
	const seen = new Map();
	for (let at = 0; at < png.data.length; at += 4) {
		const key = (png.data[at] << 16) | (png.data[at + 1] << 8) | png.data[at + 2];
		seen.set(key, (seen.get(key) ?? 0) + 1);
	}
	const palette = [...seen].sort((a, b) => b[1] - a[1]).slice(0, 255).map(([key]) => key);
	const nearest = new Map(palette.map((key, index) => [key, index]));
	const find = (key) => {
		let index = nearest.get(key);
		if (index !== undefined) return index;
		let least = Infinity;
		palette.forEach((other, at) => {
			const far = Math.abs((key >> 16) - (other >> 16)) + Math.abs(((key >> 8) & 255) - ((other >> 8) & 255)) + Math.abs((key & 255) - (other & 255));
			if (far < least) [least, index] = [far, at];
		});
		nearest.set(key, index);
		return index;
	};
	const rows = Buffer.alloc(png.height * (png.width + 1));
	for (let y = 0; y < png.height; y++)
		for (let x = 0; x < png.width; x++) {
			const at = (y * png.width + x) * 4;
			rows[y * (png.width + 1) + 1 + x] = find((png.data[at] << 16) | (png.data[at + 1] << 8) | png.data[at + 2]);
		}
	return indexed(png.width, png.height, palette, rows);
}

/** A PNG of 8 bits a pixel with a palette; each row is stored as it is. */
function indexed(width, height, palette, rows) {
	const { crc32, deflateSync } = require("node:zlib");
	const table = crc32 ? null : Uint32Array.from({ length: 256 }, (_, n) => { for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1; return n; });
	const crc = (data) => (crc32 ? crc32(data) : (data.reduce((sum, byte) => table[(sum ^ byte) & 255] ^ (sum >>> 8), 0xffffffff) ^ 0xffffffff) >>> 0);
	const block = (kind, data) => {
		const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
		const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
		length.writeUInt32BE(data.length);
		sum.writeUInt32BE(crc(body));
		return Buffer.concat([length, body, sum]);
	};
	const header = Buffer.alloc(13);
	header.writeUInt32BE(width, 0);
	header.writeUInt32BE(height, 4);
	header.set([8, 3, 0, 0, 0], 8);
	return Buffer.concat([
		Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
		block("IHDR", header),
		block("PLTE", Buffer.from(palette.flatMap((key) => [key >> 16, (key >> 8) & 255, key & 255]))),
		block("IDAT", deflateSync(rows, { level: 9 })),
		block("IEND", Buffer.alloc(0)),
	]);
}

/** How many pixels differ, and a picture of where; null if the sizes do. */
export async function difference(before, now) {
	const { default: pixelmatch } = await import(pathToFileURL(require.resolve("pixelmatch")));
	const [a, b] = [before, now].map((bytes) => PNG.sync.read(bytes));
	if (a.width !== b.width || a.height !== b.height) return null;
	const shown = new PNG({ width: a.width, height: a.height });
	const pixels = pixelmatch(a.data, b.data, shown.data, a.width, a.height, { threshold: 0.1 });
	return { pixels, share: pixels / (a.width * a.height), picture: PNG.sync.write(shown) };
}
