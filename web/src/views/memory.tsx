// SPDX-License-Identifier: MIT
// Where blocks lie at one moment, and how much between them is unused.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Panel, useAnswer } from "../lib/answer";
import { category, dark, ink } from "../lib/colour";
import { bytes, count, ns, share } from "../lib/format";
import { Choice } from "../lib/parts";
import { select } from "../lib/select";
import { common, cursor, key, set, whole } from "../lib/state";
import { type Column, Table } from "../lib/table";
import { trace } from "../shell";

interface Region {
	start: string;
	end: string;
	live: number;
	chunks: number;
	free: number;
	largest_free: number;
	frag: number;
}

interface Data {
	base: string;
	bpp: number;
	w: number;
	h: number;
	pixels: string; // base64, one number of the legend each
	legend: string[]; // 0 = nothing is there
}

const WIDTH = 1024;
const HEIGHT = 384;

const columns: Column<Region>[] = [
	{ name: "start", label: "From", width: "20ch", cell: (row) => <button onClick={() => set({ mem: row.start })}>{row.start}</button> },
	{ name: "size", label: "Extent", number: true, width: "11ch", cell: (row) => bytes(Number(BigInt(row.end) - BigInt(row.start))) },
	{ name: "live", label: "Live", number: true, width: "11ch", cell: (row) => bytes(row.live) },
	{ name: "chunks", label: "Chunks", number: true, width: "11ch", cell: (row) => count(row.chunks) },
	{ name: "free", label: "Between them", number: true, width: "13ch", cell: (row) => bytes(row.free) },
	{ name: "largest_free", label: "Largest hole", number: true, width: "13ch", cell: (row) => bytes(row.largest_free) },
	{ name: "frag", label: "Fragmented", number: true, width: "12ch", cell: (row) => share(row.frag) },
];

function colours(data: Data): string[] {
	const { ground } = ink();
	return data.legend.map((_, at) => (at === 0 ? ground : category(at - 1)));
}

function parseColour(text: string): [number, number, number] {
	const match = /^#(..)(..)(..)$/.exec(text);
	return match ? [parseInt(match[1] ?? "0", 16), parseInt(match[2] ?? "0", 16), parseInt(match[3] ?? "0", 16)] : [128, 128, 128];
}

function Picture({ data, at }: { data: Data; at: number }) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const [tip, setTip] = useState<string>("");
	const pixels = useMemo(() => Uint8Array.from(atob(data.pixels), (char) => char.charCodeAt(0)), [data]);
	useEffect(() => {
		const context = canvas.current?.getContext("2d");
		if (!context) return;
		const image = context.createImageData(data.w, data.h);
		const palette = colours(data).map(parseColour);
		pixels.forEach((index, pixel) => {
			const colour = palette[index % palette.length] ?? [0, 0, 0];
			image.data.set([colour[0], colour[1], colour[2], 255], pixel * 4);
		});
		context.putImageData(image, 0, 0);
	}, [pixels, dark.value]);
	const addressAt = (event: MouseEvent): bigint => {
		const box = canvas.current?.getBoundingClientRect();
		if (!box) return 0n;
		const x = Math.floor(((event.clientX - box.left) / box.width) * data.w);
		const y = Math.floor(((event.clientY - box.top) / box.height) * data.h);
		return BigInt(data.base) + BigInt(y * data.w + x) * BigInt(data.bpp);
	};
	const look = useAnswer<{ chunk: number | null; start: string; size: number }>(tip ? "/memmap/at" : null, { ...whole(), at: Math.round(at), addr: tip });
	return (
		<>
			<canvas ref={canvas} class="memory" width={data.w} height={data.h} role="img" aria-label={`Memory from ${data.base}, ${data.bpp} bytes a pixel`} onClick={(event) => setTip(`0x${addressAt(event).toString(16)}`)} />
			<p role="status">
				{tip === "" ? "Click a place to see what lies there." : look.reply?.data.chunk != null ? (
					<>{tip}: <button onClick={() => select("c", look.reply?.data.chunk ?? 0)}>chunk {look.reply.data.chunk}</button>, {bytes(look.reply.data.size)} from {look.reply.data.start}</>
				) : (
					`${tip}: no live chunk`
				)}
			</p>
		</>
	);
}

export function Memory() {
	const at = cursor.value ?? trace.value?.duration_ns ?? 0;
	const bpp = Number(key("bpp") || 64);
	const colour = key("color") || "alternate";
	const regions = useAnswer<{ rows: Region[] }>("/memmap/regions", { ...common(), at: Math.round(at) });
	const rows = regions.reply?.data.rows ?? [];
	const base = key("mem") || [...rows].sort((a, b) => b.live - a.live)[0]?.start || "";
	const answer = useAnswer<Data>(base ? "/memmap" : null, { ...common(), at: Math.round(at), base, bpp, w: WIDTH, h: HEIGHT, color: colour });
	return (
		<div class="view">
			<div class="controls">
				<span>At {ns(at)}{cursor.value == null ? ", the end: click the time strip for another moment" : ""}</span>
				<Choice label="Colour" value={colour} options={[["alternate", "Neighbours apart"], ["type", "Type"], ["module", "Module"], ["thread", "Thread"], ["age", "Age"], ["sev", "Severity"]]} onChange={(value) => set({ color: value })} />
				<button onClick={() => set({ bpp: Math.max(1, bpp / 2) })}>Zoom in</button>
				<button onClick={() => set({ bpp: Math.min(1 << 20, bpp * 2) })}>Zoom out</button>
				<span class="quiet">{bytes(bpp)} a pixel</span>
			</div>
			<Panel answer={regions} label="Regions" empty={(data) => (data.rows.length === 0 ? "Nothing is live at this moment." : null)}>
				{(data) => (
					<>
						{answer.reply && <Picture data={answer.reply.data} at={at} />}
						{answer.reply && answer.reply.data.legend.length > 0 && (
							<ul class="series">{answer.reply.data.legend.map((label, index) => <li><span class="swatch" style={{ background: index === 0 ? "transparent" : category(index - 1) }} />{label}</li>)}</ul>
						)}
						<Table label="Regions" columns={columns} rows={data.rows} rowKey={(row) => row.start} height={300} />
					</>
				)}
			</Panel>
		</div>
	);
}
