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

/** What the memory of the process consists of, of which the heap is a part. */
function Account({ rows }: { rows: MemoryPart[] }) {
	const parts = rows.filter((row) => (row.most_bytes ?? 0) > 0);
	const gap = parts.some((row) => row.gap_bytes != null);
	return (
		<section aria-label="Resident memory">
			<h2>When there was most of it</h2>
			<table class="bars">
				<tbody>
					{parts.map((row) => (
						<tr title={`${row.meaning}; at the end ${bytes(row.end_bytes)}`}>
							<th scope="row">{row.part}</th>
							<td><Bar share={row.most_share ?? 0} /></td>
							<td class="number">{bytes(row.most_bytes)}, {share(row.most_share)}</td>
							{gap && <td class="number" title="while it stayed furthest above live bytes">far above live: {bytes(row.gap_bytes)}</td>}
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
					{data.heap?.rss && <Lane label="Resident memory" times={data.heap.t} from={0} to={data.heap.t.at(-1) ?? 1} unit="bytes" lines={[{ name: "resident", colour: category(3), values: data.heap.rss }, { name: "live heap", colour: category(0), dash: "4 3", values: data.heap.max }]} />}
					{data.memory && data.memory.rows.length > 0 ? <Account rows={data.memory.rows} /> : <p class="quiet">The run was too short to look at its parts.</p>}
				</div>
			)}
		</Panel>
	);
}
