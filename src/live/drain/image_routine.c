/* SPDX-License-Identifier: MIT
 * Routines of an image: records out of the rings on their way to the sink; see image.h. They pass
 * by the correlator: the order of a thread is all that they have. Runs on the drain thread. */
#include "live/drain/image.h"

#include <stdio.h>
#include <string.h>

#include "format/atomics.h"

int image_flush_routines(struct image *self, struct err *err)
{
	u32 count = self->routine_count;

	self->routine_count = 0;
	if (!count || !self->sink.routines)
		return 0;
	if (self->aggregating) { /* the trace may not grow any more */
		self->routines_unwritten += count;
		return 0;
	}
	return self->sink.routines(self->sink.self, self->routines, count, err);
}

/* Rows are told when there is no room for the next one: image_feed tells the rest. */
static int row_add(struct image *self, const struct stream_routine *row, struct err *err)
{
	int status = 0;

	if (self->routine_count == IMAGE_BATCH)
		status = image_flush_routines(self, err);
	self->routines[self->routine_count++] = *row;
	return status;
}

int image_add_routine(struct image *self, u32 thread, const struct hw_record *record,
		      struct err *err)
{
	bool enters = record->kind == HW_ENTER;
	struct stream_routine row = {
		.ticks = record->ticks,
		.address = record->address,
		.value = enters ? record->size : 0,
		.thread = thread,
		.how = enters ? 0 : record->aux,
		.step = enters ? ROUTINE_ENTER : ROUTINE_LEAVE,
	};
	int status = row_add(self, &row, err);

	self->has_routines = true;
	return status < 0 ? status : 1;
}

int image_add_step(struct image *self, u32 thread, const struct hw_record *record, struct err *err)
{
	bool allocates = hw_kind_allocates(record->kind);
	struct stream_routine row = {
		.ticks = record->ticks,
		.address = hw_kind_is_pool(record->kind) ? record->address & ~HW_POOL_ADDRESS
							 : record->address,
		.value = allocates ? record->size : 0,
		.thread = thread,
		.how = record->kind,
		.step = allocates ? ROUTINE_ALLOCATION : ROUTINE_FREE,
	};

	return row_add(self, &row, err);
}

/* Who told of them, which were asked for, and what is not there. */
int image_note_routines(struct image *self, struct err *err)
{
	const struct hw_control *control = self->berth.control;
	bool valgrind = load_relaxed(&control->access) == HW_ACCESS_VALGRIND;
	char filter[HW_ROUTINE_FILTER];
	int status = 0;

	if (!self->sink.note)
		return 0;
	if (self->has_routines)
		status = self->sink.note(self->sink.self, "routines",
					 valgrind ? "valgrind" : "compiler", err);
	if (status == 0 && control->flags & HW_RUN_ROUTINE_STACKS)
		status = self->sink.note(self->sink.self, "routine_stacks",
					 load_relaxed(&control->routine_stacks) ? "made" : "none",
					 err);
	memcpy(filter, control->routine_filter, sizeof(filter));
	filter[sizeof(filter) - 1] = 0;
	if (status == 0 && filter[0])
		status = self->sink.note(self->sink.self, "routine_filter", filter, err);
	if (status == 0 && control->flags & HW_RUN_ROUTINES &&
	    load_relaxed(&control->routine_sample) > 1)
		status = image_note_number(self, "routine_sample",
					   load_relaxed(&control->routine_sample), err);
	if (status == 0)
		status = image_note_number(self, "routine_left_out",
					   load_relaxed(&control->routines_left_out), err);
	return status < 0 ? status
			  : image_note_number(self, "routine_unwritten", self->routines_unwritten,
					      err);
}

void image_forget_routines(struct image *self)
{
	self->routine_count = 0;
	self->routines_unwritten = 0;
	self->aggregating = false;
}
