/* SPDX-License-Identifier: MIT
 * The place of a finding.
 * Host. */
#include "study/analysis/findings/findings.h"

struct finding_place finding_place_of(const struct stack_source *source,
				      const struct finding *finding)
{
	struct stack_source bare = *source;
	struct finding_place place;

	if (finding->of_entry)
		return finding_entry(source, finding->frame);
	if (!finding->of_arena)
		return finding_place(source, finding->frame);
	bare.folds = NULL;
	place = finding_place(&bare, finding->frame);
	place.caller = (struct finding_frame){"", "", "", 0, 0};
	return place;
}
