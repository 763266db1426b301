/* SPDX-License-Identifier: MIT
 * Passes on several threads.
 * Host. A thread that cannot be had is no failure: its part is done here. */
#include "study/layout/divide.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNKS_WORTH = 1 << 20 }; /* fewer are done before a thread has begun */

u32 view_parts(const struct view_scope *scope)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (scope->trace->model->chunks.count < CHUNKS_WORTH || processors < 2)
		return 1;
	return processors < DIVIDE_MAX ? (u32)processors : DIVIDE_MAX;
}

struct running {
	int (*work)(void *data, const struct view_part *part, struct err *err);
	void *data;
	struct view_part part;
	int status;
	struct err err;
	pthread_t thread;
	bool apart;
};

static void *run(void *self_)
{
	struct running *self = self_;

	self->status = self->work(self->data, &self->part, &self->err);
	return NULL;
}

static bool make_rooms(struct view_division *self)
{
	u64 bytes = (self->bytes + 64) / 64 * 64;

	for (u32 i = 0; i < self->parts; i++) {
		self->rooms[i] = aligned_alloc(64, bytes);
		if (!self->rooms[i])
			return false;
		memset(self->rooms[i], 0, bytes);
	}
	return true;
}

int view_divide(const struct view_scope *scope, struct view_division *division,
		int (*work)(void *data, const struct view_part *part, struct err *err), void *data,
		struct err *err)
{
	u64 pages = scope->trace->model->chunks.pages.count;
	u32 parts = division->parts;
	struct running list[DIVIDE_MAX];
	int status = 0;

	if (!make_rooms(division))
		return err_memory_for(err, "%s", division->what);
	for (u32 i = 0; i < parts; i++) {
		list[i] = (struct running){.work = work,
					   .data = data,
					   .part = {.number = i,
						    .parts = parts,
						    .first = pages * i / parts * CHUNK_PAGE,
						    .end = pages * (i + 1) / parts * CHUNK_PAGE,
						    .room = division->rooms[i]}};
		list[i].apart =
			i + 1 < parts && pthread_create(&list[i].thread, NULL, run, &list[i]) == 0;
		if (!list[i].apart)
			run(&list[i]);
	}
	for (u32 i = 0; i < parts; i++) {
		if (list[i].apart)
			pthread_join(list[i].thread, NULL);
		if (list[i].status < 0 && status == 0) {
			status = list[i].status;
			*err = list[i].err;
		}
	}
	return status;
}

void view_division_release(struct view_division *self)
{
	for (u32 i = 0; i < self->parts; i++)
		free(self->rooms[i]);
}

void view_division_sum(struct view_division *self, double *sums, u64 count)
{
	for (u32 i = 0; i < self->parts && self->rooms[i]; i++)
		for (u64 k = 0; k < count; k++)
			sums[k] += ((double *)self->rooms[i])[k];
	view_division_release(self);
}
