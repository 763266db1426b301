/* SPDX-License-Identifier: MIT
 * The inner part of the model: how events change it. For load.c and narrow.c only. */
#ifndef STUDY_MODEL_FILL_H
#define STUDY_MODEL_FILL_H

#include "study/model/model.h"

/* Where a chunk's columns are; ROW_NONE = nowhere. */
static inline u64 model_row(const struct model *self, u64 chunk)
{
	return likely(!self->forgets) ? chunk : rows_find(&self->rows, chunk);
}

/* stream_sink.events, .aggregates, .accesses and .types; self is a struct model. */
int model_fill_events(void *self, const struct event *events, u64 count, struct err *err);
int model_fill_aggregates(void *self, const struct stream_aggregate *rows, u64 count,
			  struct err *err);
int model_fill_accesses(void *self, const struct stream_access *rows, u64 count, struct err *err);
int model_fill_types(void *self, const struct stream_type *rows, u64 count, struct err *err);

/* What an allocation, or the end of a chunk of `size` bytes, changes in the sums of its point and
 * of all. ERR_MEMORY changes nothing. */
int model_count_allocation(struct model *self, struct model_point *point,
			   const struct event *event);
void model_count_free(struct model *self, struct model_point *point, u64 size, bool temporary);

/* Forgets the chunks that have ended, all of them; false without memory. */
bool model_forget_ended(struct model *self);

/* Sums up what was told of types, at the end; false without memory. */
bool model_sum_types(struct model *self);

/* Contexts that were not told share the point of context 0, so that a wild number sizes nothing. A
 * chunk keeps what it got: one that was not told yet at its birth stays unknown. */
static inline u32 model_known_context(const struct model *self, u32 context)
{
	return context < self->contexts.nodes.count && self->contexts.nodes.data[context].told
		       ? context
		       : 0;
}

/* The point of a known context, made at its first allocation. */
int model_find_point(struct model *self, u32 context, u8 kind, u32 *point, struct err *err);

/* An identity that is a number of a name has that name, which was told before. */
int model_name_by_number(struct model *self, u64 identity, struct err *err);

/* Keeps what is live now as the snapshot of this mark. */
int model_add_snapshot(struct model *self, u64 mark, struct err *err);

/* Adds a chunk's accesses to sums, or takes them out again. */
void access_sums_add(struct access_sums *sums, const struct chunk_access *access, u64 size,
		     bool less);

/* What the point had live at the program's last peak. Between two peaks nothing is copied: the
 * first change of a point after a peak still finds its values of that moment. */
static inline void point_remember_peak(struct model_point *point, u64 peak_number)
{
	if (point->peak_number == peak_number)
		return;
	point->peak_number = peak_number;
	point->at_peak_bytes = point->live_bytes;
	point->at_peak_chunks = point->live_chunks;
}

#endif
