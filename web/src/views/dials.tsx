// SPDX-License-Identifier: MIT
// The three scores of the whole run, and how many points have which severity.

import { severity } from "../lib/colour";
import { count, score } from "../lib/format";
import { embedded } from "../lib/source";
import { addWhere, linkTo } from "../lib/state";
import type { Overview as Data, ScoreSummary } from "../lib/types";

/** What was not measured has no card. */
function Dial({ name, label, value }: { name: string; label: string; value: ScoreSummary }) {
	if (value.g == null) return null;
	return (
		<a class="dial" href={linkTo("scores", { sort: name })} title={`Points sorted by ${label}, worst first`}>
			<span class="dial-value">{score(value.g)}</span>
			<span class="dial-label">{label}</span>
			<span class="quiet">by allocations {score(value.w_allocs)} · by bytes {score(value.w_bytes)} · variance {score(value.var)}</span>
		</a>
	);
}

function Histogram({ steps }: { steps: number[] }) {
	const most = Math.max(1, ...steps);
	return (
		<figure class="sev-figure">
			<figcaption id="sev-hist">Points by severity <span class="quiet">1 best, 12 worst</span></figcaption>
			<div class="sev-hist" role="group" aria-labelledby="sev-hist">
				{steps.map((n, index) => (
					<button key={index} title={`severity ${index + 1}: ${count(n)} points`} aria-label={`severity ${index + 1}: ${count(n)} points`} disabled={n === 0} onClick={() => !embedded && addWhere(`sev == ${index + 1}`)}>
						<span class="column" style={{ height: `${(n / most) * 44}px`, background: severity(index + 1) }} />
						<span>{index + 1}</span>
					</button>
				))}
			</div>
		</figure>
	);
}

export function Dials({ data }: { data: Data }) {
	return (
		<div class="dials">
			<Dial name="lifetime" label="Lifetime" value={data.scores.lifetime} />
			<Dial name="usage" label="Usage" value={data.scores.usage} />
			<Dial name="useful" label="Useful life" value={data.scores.useful} />
			<Histogram steps={data.severity_hist} />
		</div>
	);
}
