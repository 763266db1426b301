/* SPDX-License-Identifier: MIT
 * Sends runs to a store. Rows of a run are marked with a number of their own, the push, and are
 * seen only when the run's own row is there, which is sent last: what was broken off is invisible,
 * and a run that is there is not sent again.
 *
 *	struct pusher pusher = {0};
 *	pusher_open(&pusher, address, &err);
 *	pusher_has(&pusher, runs, count, there, &err);
 *	pusher_add(&pusher, &source, &err);            for each run that is not
 *	pusher_flush(&pusher, &err);
 *	pusher_close(&pusher);
 *
 * Runs are spread over the shards by their number, and sent in batches. A shard that fails is given
 * up, the others go on. */
#ifndef SHOW_FLEET_PUSH_H
#define SHOW_FLEET_PUSH_H

#include "show/fleet/gather.h"

struct lane { /* to one shard */
	struct pusher *pusher;
	u32 shard;
	struct batch batch;
	u64 waiting; /* runs in the batch */
	bool failed;
};

struct pusher { /* all zero = closed */
	struct store store;
	struct lane *lanes;     /* one per shard */
	u64 sent[FLEET_TABLES]; /* rows that the store has taken */
	u64 sent_runs;          /* that are visible */
	u64 lost_runs;          /* that were added and could not be sent */
};

/* Fails only if no shard can be used; what is wrong with one that cannot is told when a run wants
 * it. */
int pusher_open(struct pusher *self, const char *address, struct err *err);
void pusher_close(struct pusher *self);

/* Which runs are there already. */
int pusher_has(struct pusher *self, const u64 *runs, u64 count, bool *there, struct err *err);

/* A new number for source->push. */
u64 push_number(void);

/* Adds a run and sends what is enough for a batch. An error may concern runs that were added
 * before. */
int pusher_add(struct pusher *self, const struct run_source *source, struct err *err);

/* Sends all that waits. The first error is told, and lost_runs counts. */
int pusher_flush(struct pusher *self, struct err *err);

#endif
