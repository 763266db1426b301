/* SPDX-License-Identifier: MIT
 * Parts of traces.
 * Host. */
#include "study/layout/part.h"

#include "study/layout/points.h"
#include "study/model/narrow.h"

const struct study_options view_options = {.image = STUDY_LAST_IMAGE,
					   .index = INDEX_WRITE,
					   .find_names = true,
					   .shared = true,
					   .follows = true,
					   .store = point_sums_store};

struct study *view_part_new(const struct view_scope *scope, struct err *err)
{
	const struct model *whole = scope->trace->model;
	struct narrow_query query = {.words = scope->selection.words};
	struct study *self = study_new(scope->trace->path, &view_options);
	struct model *model;

	if (!self) {
		err_memory(err);
		return NULL;
	}
	if (scope->window.to_ns) {
		query.from_ticks = tick_clock_ticks(&whole->clock, scope->window.from_ns);
		query.to_ticks = tick_clock_ticks(&whole->clock, scope->window.to_ns + 1) - 1;
	}
	self->info = scope->trace->info;
	self->info.routines = 0; /* they belong to no chunk */
	model = model_narrow(whole, &query, err);
	if (!model || study_take(self, model, &scope->trace->symbols, err) < 0) {
		study_free(self);
		return NULL;
	}
	return self;
}
