/* SPDX-License-Identifier: MIT
 * Dumps of a recording that goes on. What a dump looks like is for others to know (a struct
 * dumper); here it is decided when one is written, on a thread of its own, and whoever waits is
 * told when it is there. */
#ifndef LIVE_RECORD_DUMP_H
#define LIVE_RECORD_DUMP_H

#include <pthread.h>

#include "format/types.h"

struct dump_wish {
	const char
		*trace; /* file that is being written; what was recorded before the wish is in it */
	const char *to; /* "" = a name of its own */
	u32 pid;        /* process that the name is from */
	bool freed;     /* with what was freed */
	/* nothing but the sets of `every` freed entries that are full and not yet written */
	bool regular;
};

struct dumper {
	/* 0 or an errno. One call at a time for each process. */
	int (*write)(void *self, const struct dump_wish *wish);
	u64 every; /* freed entries of a regular dump; 0 = there are none */
	void *self;
};

/* Of one process. Drain thread, but for what its own thread is given. */
struct dump {
	bool wanted; /* as soon as the file has all that it needs */
	bool under_way;
	struct dump_wish wish;
	char trace[4096], to[4096];
	const struct dumper *dumper;
	pthread_t thread;
	u64 begun_ns, rest_ns; /* regular ones: not before rest_ns */
	u64 regular_frees;     /* frees that were seen by the last one */
	int failure;           /* its thread, before `done` */
	u32 done;              /* released by its thread */
};

/* Begins; 0 or an errno. */
int dump_begin(struct dump *self, const struct dumper *dumper, u64 now_ns);

/* Whether it is done; *failure is 0 or an errno then. */
bool dump_is_done(struct dump *self, u64 now_ns, int *failure);

/* Whether so much was freed that a regular dump is due. */
bool dump_is_due(const struct dump *self, const struct dumper *dumper, u64 frees, u64 now_ns);

#endif
