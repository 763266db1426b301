// SPDX-License-Identifier: MIT
// The memory of the process, of which the heap is a part: how much over time, and what it consists of.

import { Panel, useAnswer } from "../lib/answer";
import { scoped } from "../lib/catalogue";
import { category } from "../lib/colour";
import { bytes, share } from "../lib/format";
import { Lane } from "../lib/lane";
import { Bar } from "../lib/parts";
import { Unfiltered } from "../lib/notice";
import type { MemoryPart, Overview as Data } from "../lib/types";

/** Parts by the words of people. Sums and what is not resident are no parts. */
const names: Record<string, string> = {
	requested: "Live blocks", slack: "Rounding", fragmentation: "Fragmentation", cached: "Kept by the allocator", mappings: "Other mappings", files: "Mapped files", code: "Program and libraries", stacks: "Stacks", recorder: "Heapwise itself",
};

/** What the memory of the process consists of, of which the heap is a part. */
function Account({ rows }: { rows: MemoryPart[] }) {
	const parts = rows.filter((row) => row.part in names && (row.most_bytes ?? 0) > 0).sort((a, b) => (b.most_bytes ?? 0) - (a.most_bytes ?? 0));
	const whole = rows.find((row) => row.part === "resident")?.most_bytes;
	const gap = parts.some((row) => row.gap_bytes != null);
	const most = Math.max(...parts.map((row) => row.most_share ?? 0));
	return (
		<section aria-label="Resident memory">
			<h2>{bytes(whole)} resident at the most</h2>
			<table class="bars parts">
				<thead>
					<tr>
						<th scope="col">Part</th>
						<td />
						<th scope="col" class="number">Size</th>
						<th scope="col" class="number">Share</th>
						{gap && <th scope="col" class="number" title="While resident memory stayed furthest above live bytes">Far above live</th>}
						<th scope="col" class="number">At the end</th>
						<th scope="col">What it is</th>
					</tr>
				</thead>
				<tbody>
					{parts.map((row) => (
						<tr>
							<th scope="row">{names[row.part]}</th>
							<td><Bar share={(row.most_share ?? 0) / most} /></td>
							<td class="number">{bytes(row.most_bytes)}</td>
							<td class="number">{share(row.most_share)}</td>
							{gap && <td class="number">{bytes(row.gap_bytes)}</td>}
							<td class="number">{bytes(row.end_bytes)}</td>
							<td class="quiet">{row.meaning}</td>
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

export function Resident() {
	const answer = useAnswer<Data>("/overview", { ...scoped("/overview"), top: 10 });
	return (
		<Panel answer={answer} label="Resident memory" empty={(data) => (data.heap?.rss?.some((value) => value != null) || data.memory ? null : "Resident memory was not recorded.")}>
			{(data) => (
				<div class="view overview">
					<Unfiltered path="/overview" />
					{data.heap?.rss && <Lane axes label="Resident memory" times={data.heap.t} from={0} to={data.heap.t.at(-1) ?? 1} unit="bytes" lines={[{ name: "resident", colour: category(3), values: data.heap.rss }, { name: "live heap", colour: category(0), dash: "4 3", values: data.heap.max }]} />}
					{data.memory && data.memory.rows.length > 0 ? <Account rows={data.memory.rows} /> : <p class="quiet">The run was too short to look at its parts.</p>}
				</div>
			)}
		</Panel>
	);
}
