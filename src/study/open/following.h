/* SPDX-License-Identifier: MIT
 * Finds what the chunks of a model do while a stream fills it, so that nobody has to pass over them
 * afterwards: in the order in which it happened, which the columns do not know to the last event.
 *
 *	struct following following = {0};
 *	following_begin(&following, model, forgets);
 *	...                             the model is filled, and finished
 *	if (following_take(&following, &behaviour, &growth)) ...
 *	following_release(&following); */
#ifndef STUDY_OPEN_FOLLOWING_H
#define STUDY_OPEN_FOLLOWING_H

#include "study/analysis/leaks/growth.h"
#include "study/analysis/memoro/behaviour.h"

struct following { /* must stay where it is */
	struct model *model;
	struct model_follower follower;
	struct behaviour_table behaviour;
	struct pass *pass;
	struct growth_samples *growth;
	u64 live_max; /* of a model that forgets: gives up when more live at once */
	bool failed;
};

/* Of an empty model; forgets: see there. */
void following_begin(struct following *self, struct model *model, bool forgets);

/* Whether following_take would succeed. */
bool following_is_done(const struct following *self);

/* What the chunks did by the usual thresholds, which is yet to be finished, and samples of their
 * growth. False if they have to be asked: accesses are told by chunk, and after --max-size not all
 * is. */
bool following_take(struct following *self, struct behaviour_table *behaviour,
		    struct growth_samples **growth);
/* The model may be gone. */
void following_release(struct following *self);

#endif
