/* SPDX-License-Identifier: MIT
 * Time in bins, and the order of what happens inside of them. */
#ifndef STUDY_LAYOUT_MOMENTS_H
#define STUDY_LAYOUT_MOMENTS_H

#include "study/layout/scope.h"

enum { AXIS_BINS_MAX = 2000 };

/* Equal parts of [from_ns, to_ns], as ticks: bin i has edges[i] to before edges[i + 1]. */
struct time_axis { /* all zero = empty */
	u64 from_ns, to_ns;
	u32 bins;
	u64 *edges;
	/* Where to begin to look: the bin of the first tick of each of `slots` equal parts. Both
	 * clocks need not run alike, so bins can differ much in ticks. */
	u32 *starts;
	u32 slots;
	double slots_per_tick;
	/* of the slots. Time 0 is tick 0, long before the run's first: they begin there */
	u64 origin;
};

enum { BEFORE_AXIS = -1 }; /* as a bin; after it is `bins` */

/* At least one bin. False if there is no memory. */
bool time_axis_init(struct time_axis *self, const struct tick_clock *clock, u64 from_ns, u64 to_ns,
		    u32 bins);
void time_axis_release(struct time_axis *self);

/* The axis of a scope: its window, or the whole run. */
bool time_axis_of(struct time_axis *self, const struct view_scope *scope, u32 bins);

/* When bin i ends, ns. */
u64 time_axis_end(const struct time_axis *self, u32 bin);

static inline int time_axis_bin(const struct time_axis *self, u64 ticks)
{
	int bin;

	if (ticks < self->edges[0])
		return BEFORE_AXIS;
	if (ticks >= self->edges[self->bins])
		return (int)self->bins;
	if (ticks < self->origin)
		return 0;
	bin = (int)self->starts[(u32)((double)(ticks - self->origin) * self->slots_per_tick)];
	while (ticks < self->edges[bin])
		bin--;
	while (ticks >= self->edges[bin + 1])
		bin++;
	return bin;
}

/* The same for ticks that mostly stay in the bin of the last ones. *near begins as 0. */
static inline int time_axis_bin_near(const struct time_axis *self, u64 ticks, u32 *near)
{
	int bin;

	if (likely(ticks >= self->edges[*near] && ticks < self->edges[*near + 1]))
		return (int)*near;
	bin = time_axis_bin(self, ticks);
	if (bin >= 0 && bin < (int)self->bins)
		*near = (u32)bin;
	return bin;
}

/* Lowest, highest and last value in each bin of a sum that chunks raise when they are allocated and
 * lower when they are freed. */
struct time_curve { /* all zero = empty */
	double *min, *max, *last;
	/* false: too many events to order them; extremes are those at finer bins' ends */
	bool exact;
};

/* Bytes, or chunks if `count`. */
int time_curve_make(struct time_curve *self, const struct view_scope *scope,
		    const struct time_axis *axis, bool count, struct err *err);
void time_curve_release(struct time_curve *self);

/* The most bytes that the selected chunks had live at once, inside the window, and when (the first
 * time): exact, whatever order events come in. */
int view_peak(const struct view_scope *self, u64 *bytes, u64 *ticks, struct err *err);

/* For moments.c: the same, and view_peak of all chunks, from the order of events that the index
 * has. The curve has room for its bins. */
int order_curve(struct time_curve *self, const struct view_scope *scope,
		const struct time_axis *axis, bool count, struct err *err);
int order_peak(const struct view_scope *scope, u64 *bytes, u64 *ticks, struct err *err);

#endif
