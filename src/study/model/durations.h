/* SPDX-License-Identifier: MIT
 * How long calls into the allocator take, estimated from those that were timed. A call that was
 * preempted, or that waited, is not taken for what all calls cost: of the timed calls the longest
 * hundredth, one at least, count as the longest of the others. No sum is above the CPU time of the
 * program's threads.
 *
 * In a run that samples a timed call counts as often as its block, or else calls for large blocks,
 * which are drawn more often, would decide. Few calls that stand for very many say as little as few
 * calls.
 *
 *	struct call_costs costs;
 *
 *	call_costs_find(&costs, model);
 *	if (costs.all.enough)
 *		use(calls * costs.ns[HW_MALLOC], costs.all.low_ns, costs.all.high_ns); */
#ifndef STUDY_MODEL_DURATIONS_H
#define STUDY_MODEL_DURATIONS_H

#include "study/model/model.h"

/* What recording an event adds to the program's time, as measured by bench/run for programs of all
 * kinds. */
enum { RECORDED_EVENT_NS = 60 };

struct time_estimate {
	double ns;
	double low_ns, high_ns; /* it is between these, most likely: two standard errors */
	u64 timed;              /* calls that it rests on */
	bool enough;            /* false: too few were timed to say, and all times are 0 */
	bool capped;            /* it would be above the CPU time of the threads */
};

/* Sums of these agree with each other, and with `all`. */
struct call_costs {
	struct time_estimate all; /* all calls of the program */
	/* a call of that kind; a realloc's is that of HW_REALLOC alone */
	double ns[HW_KIND_COUNT];
	/* on average for each chunk that was freed, reallocs included, which cost nothing here */
	double freed_ns;
};

void call_costs_find(struct call_costs *self, const struct model *model);

/* How much CPU time the threads of the program may have had: what the kernel says (*known), or the
 * time of the run for each thread. */
double model_cpu_ns(const struct model *model, bool *known);

/* Counts a timed call, which stands for `weight` calls, in 1 / 1024. */
enum { DURATION_WEIGHT_SHIFT = 10 };
void duration_bins_add(struct duration_bin bins[DURATION_BINS], u64 ticks, u64 weight);

#endif
