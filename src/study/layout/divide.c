/* SPDX-License-Identifier: MIT
 * Passes on several threads.
 * Host. A thread that cannot be had is no failure: its part is done here. */
#include "study/layout/divide.h"

#include <unistd.h>

enum { CHUNKS_WORTH = 1 << 20 }; /* fewer are done before a thread has begun */

u32 view_parts(const struct view_scope *scope)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (scope->trace->model->chunks.count < CHUNKS_WORTH || processors < 2)
		return 1;
	return processors < DIVIDE_MAX ? (u32)processors : DIVIDE_MAX;
}

struct part {
	int (*work)(void *data, u32 part, u64 first, u64 end, struct err *err);
	void *data;
	u32 number;
	u64 first, end;
	int status;
	struct err err;
	pthread_t thread;
	bool apart;
};

static void *part_run(void *self_)
{
	struct part *self = self_;

	self->status = self->work(self->data, self->number, self->first, self->end, &self->err);
	return NULL;
}

int view_divide(const struct view_scope *scope, u32 parts,
		int (*work)(void *data, u32 part, u64 first, u64 end, struct err *err), void *data,
		struct err *err)
{
	u64 pages = scope->trace->model->chunks.pages.count;
	struct part list[DIVIDE_MAX];
	int status = 0;

	for (u32 i = 0; i < parts; i++) {
		list[i] = (struct part){.work = work,
					.data = data,
					.number = i,
					.first = pages * i / parts * CHUNK_PAGE,
					.end = pages * (i + 1) / parts * CHUNK_PAGE};
		list[i].apart = i + 1 < parts &&
				pthread_create(&list[i].thread, NULL, part_run, &list[i]) == 0;
		if (!list[i].apart)
			part_run(&list[i]);
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
