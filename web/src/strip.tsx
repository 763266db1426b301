// SPDX-License-Identifier: MIT
// The heap over the whole run, always in sight: drag for a time window, click for the time cursor.

import { useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "./lib/answer";
import { CanvasView, type Item, type Painter } from "./lib/canvas";
import { dark, ink } from "./lib/colour";
import { bytes, ns } from "./lib/format";
import { momentAt, moments } from "./lib/source";
import { cursor, key, set, timeWindow } from "./lib/state";
import type { Timeline } from "./lib/types";

const HEIGHT = 56;

function peakBin(line: Timeline): number {
	let best = 0;
	line.total.max.forEach((value, bin) => {
		if (value > (line.total.max[best] ?? 0)) best = bin;
	});
	return best;
}

function painter(line: Timeline): Painter {
	const top = Math.max(1, ...line.total.max);
	return {
		paint(context, width, height) {
			const { accent, quiet, text } = ink();
			const bins = line.t.length;
			const items: Item[] = [];
			context.fillStyle = accent;
			context.beginPath();
			context.moveTo(0, height);
			for (let bin = 0; bin < bins; bin++) {
				const x = (bin / bins) * width;
				const y = height - 2 - ((line.total.max[bin] ?? 0) / top) * (height - 6);
				context.lineTo(x, y);
				context.lineTo(((bin + 1) / bins) * width, y);
				items.push({ id: bin, x, y: 0, w: width / bins, h: height, colour: accent, label: ns(line.t[bin]) });
			}
			context.lineTo(width, height);
			context.globalAlpha = 0.45;
			context.fill();
			context.globalAlpha = 1;
			const end = lineEnd(line);
			for (const mark of line.marks) {
				context.fillStyle = quiet;
				context.fillRect((mark.t / end) * width, 0, 1, height);
			}
			const peak = ((peakBin(line) + 0.5) / bins) * width;
			context.fillStyle = text;
			context.font = "11px system-ui, sans-serif";
			context.textAlign = peak > width - 90 ? "right" : "left";
			context.fillText(`peak ${bytes(top)}`, peak + (peak > width - 90 ? -4 : 4), 12);
			context.fillRect(peak, 0, 1, 14);
			return items;
		},
		speak: (item) => `${ns(line.t[item.id])}: at most ${bytes(line.total.max[item.id])}`,
	};
}

function lineEnd(line: Timeline): number {
	return Math.max(1, line.t1);
}

export function Strip() {
	const answer = useAnswer<Timeline>("/timeline", { trace: key("trace"), bins: 800, metric: "live", by: "none" });
	const line = answer.reply?.data ?? null;
	const shape = useMemo(() => (line ? painter(line) : null), [line]);
	const begun = useRef(0);
	const [brush, setBrush] = useState<{ from: number; to: number } | null>(null);
	if (!line || !shape || line.t.length === 0) return <div class="strip" style={{ height: `${HEIGHT}px` }} />;
	const end = lineEnd(line);
	const element = () => document.querySelector<HTMLElement>('[data-t="chart-strip"]');
	const timeAt = (x: number) => Math.min(end, Math.max(0, (x / Math.max(1, element()?.clientWidth ?? 1)) * end));
	const drag = (phase: "begin" | "move" | "end", x: number) => {
		if (phase === "begin") begun.current = x;
		if (phase === "move") setBrush({ from: timeAt(Math.min(x, begun.current)), to: timeAt(Math.max(x, begun.current)) });
		if (phase !== "end") return;
		setBrush(null);
		if (Math.abs(x - begun.current) < 4) set({ at: Math.round(timeAt(x)) });
		else set({ t: `${Math.round(timeAt(Math.min(x, begun.current)))}..${Math.round(timeAt(Math.max(x, begun.current)))}` });
	};
	const moveCursor = (bins: number) => set(moments.length > 0 ? { at: momentAt(cursor.value ?? 0, bins) } : { at: Math.round(Math.min(end, Math.max(0, (cursor.value ?? 0) + (bins * end) / line.t.length))) }, true);
	const shown = brush ?? timeWindow.value;
	return (
		<div class="strip">
			<CanvasView
				name="strip"
				label="Live bytes over the run"
				description="time strip"
				height={HEIGHT}
				painter={shape}
				version={`${dark.value}`}
				selected={null}
				onSelect={() => undefined}
				onDrag={drag}
				onKey={(event) => {
					const step = event.shiftKey ? 10 : 1;
					if (event.key === "ArrowLeft" || event.key === ",") moveCursor(-step);
					else if (event.key === "ArrowRight" || event.key === ".") moveCursor(step);
					else if (event.key === "p") set({ at: Math.round(((peakBin(line) + 0.5) / line.t.length) * end) });
					else if (event.key === "Escape") set({ t: null, at: null });
					else return false;
					return true;
				}}
				tooltip={(item) => (
					<>
						{ns(line.t[item.id])}: {bytes(line.total.min[item.id])} to {bytes(line.total.max[item.id])}
						{brush && <div>{ns(brush.from)} to {ns(brush.to)}, {ns(brush.to - brush.from)}</div>}
					</>
				)}
			>
				{shown && <div class="brush" style={{ left: `${(shown.from / end) * 100}%`, width: `${((shown.to - shown.from) / end) * 100}%` }} />}
				{cursor.value != null && <div class="cursor" data-t="cursor" style={{ left: `${(cursor.value / end) * 100}%` }} />}
			</CanvasView>
		</div>
	);
}
