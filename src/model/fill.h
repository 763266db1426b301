/* SPDX-License-Identifier: MIT
 * The inner part of the model: how events change it. For model.c only. */
#ifndef MODEL_FILL_H
#define MODEL_FILL_H

#include "model/model.h"

/* stream_sink.events, .aggregates, .accesses and .types; self is a struct model. */
int model_fill_events(void *self, const struct event *events, u64 count, struct err *err);
int model_fill_aggregates(void *self, const struct stream_aggregate *rows, u64 count,
			  struct err *err);
int model_fill_accesses(void *self, const struct stream_access *rows, u64 count, struct err *err);
int model_fill_types(void *self, const struct stream_type *rows, u64 count, struct err *err);

/* Names of types that the trace has. */
int model_load_type_names(struct model *self, const char *path, struct err *err);

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
