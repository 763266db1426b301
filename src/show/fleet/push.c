/* SPDX-License-Identifier: MIT
 * Sends runs to the shards of a store.
 * Host. */
#include "show/fleet/push.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "show/fleet/question.h"

enum {
	BATCH_RUNS = 500,
	BATCH_POINTS = 200000,
	BATCH_DAYS = 50,        /* a server takes rows of 100 days at once */
	BATCH_BYTES = 64 << 20, /* of new stacks and names */
};

u64 push_number(void)
{
	u32 chance = 0;

	if (getrandom(&chance, sizeof chance, 0) != sizeof chance)
		chance = (u32)clock();
	return (u64)time(NULL) << 32 | chance;
}

/* ---- one shard ---- */

static int send_table(struct lane *self, enum fleet_table table, struct err *err)
{
	struct batch *batch = &self->batch;
	int status = 0;

	if (batch->rows[table].count)
		status = schema_insert(&self->pusher->store, self->shard, table,
				       &batch->rows[table], err);
	if (status == 0)
		self->pusher->sent[table] += batch->counts[table];
	batch->counts[table] = 0;
	strbuf_clear(&batch->rows[table]);
	return status;
}

static int spill(void *self, enum fleet_table table, struct err *err)
{
	return send_table(self, table, err);
}

/* Nothing of a shard that failed is kept: its runs are as if they had never been added. */
static void give_up(struct lane *self, u64 runs)
{
	self->pusher->lost_runs += runs;
	self->failed = true;
	self->waiting = 0;
	batch_release(&self->batch);
	memset(&self->batch, 0, sizeof self->batch);
}

static int lane_flush(struct lane *self, struct err *err)
{
	struct pusher *pusher = self->pusher;
	const struct dictionary_target names = {&pusher->store, self->shard, TABLE_NAMES, "name",
						&pusher->sent[TABLE_NAMES]};
	const struct dictionary_target stacks = {&pusher->store, self->shard, TABLE_STACKS, "stack",
						 &pusher->sent[TABLE_STACKS]};
	int status;

	if (!self->waiting)
		return 0;
	status = dictionary_send(&self->batch.names, &names, err);
	if (status == 0)
		status = dictionary_send(&self->batch.stacks, &stacks, err);
	for (u32 table = 0; table < FLEET_TABLES && status == 0; table++)
		if (table != TABLE_RUNS)
			status = send_table(self, (enum fleet_table)table, err);
	if (status == 0)
		status = send_table(self, TABLE_RUNS, err);
	if (status < 0) {
		give_up(self, self->waiting);
		return status;
	}
	pusher->sent_runs += self->waiting;
	self->waiting = 0;
	vec_clear(&self->batch.days);
	return 0;
}

static bool is_full(const struct lane *self)
{
	const struct batch *batch = &self->batch;

	return self->waiting >= BATCH_RUNS || batch->counts[TABLE_POINTS] >= BATCH_POINTS ||
	       batch->days.count >= BATCH_DAYS ||
	       batch->stacks.rows.count + batch->names.rows.count >= BATCH_BYTES;
}

/* ---- all of them ---- */

int pusher_open(struct pusher *self, const char *address, struct err *err)
{
	struct err first = {0};
	u32 failed = 0;
	int status = store_open(&self->store, address, err);

	if (status < 0)
		return status;
	self->lanes = calloc(self->store.shards.count, sizeof *self->lanes);
	if (!self->lanes)
		return err_memory(err);
	for (u32 i = 0; i < self->store.shards.count; i++) {
		struct lane *lane = &self->lanes[i];

		*lane = (struct lane){.pusher = self,
				      .shard = i,
				      .batch = {.spill = spill, .self = lane}};
		if (schema_check_shard(&self->store, i, err) == 0)
			continue;
		lane->failed = true;
		if (!failed++)
			first = *err;
		if (err->code != ERR_SYSTEM)
			break; /* a wrong password or schema is everybody's */
	}
	if (failed && (failed == self->store.shards.count || err->code != ERR_SYSTEM)) {
		*err = first;
		return first.code;
	}
	return 0;
}

void pusher_close(struct pusher *self)
{
	for (u32 i = 0; self->lanes && i < self->store.shards.count; i++)
		batch_release(&self->lanes[i].batch);
	free(self->lanes);
	store_close(&self->store);
	memset(self, 0, sizeof *self);
}

/* Each shard is asked for all: a run may have gone to another one when there were fewer. */
int pusher_has(struct pusher *self, const u64 *runs, u64 count, bool *there, struct err *err)
{
	struct map found = {0};
	struct key_question ask = {.store = &self->store,
				   .one_shard = true,
				   .columns = "DISTINCT run",
				   .table = "runs",
				   .key = "run",
				   .fields = 1,
				   .row = take_key,
				   .self = &found};
	int status = 0;

	for (; ask.shard < self->store.shards.count && status == 0; ask.shard++)
		if (!self->lanes[ask.shard].failed)
			status = question_keys(&ask, runs, count, err);
	for (u64 i = 0; i < count; i++)
		there[i] = map_find(&found, runs[i]) != NULL;
	map_release(&found);
	return status;
}

int pusher_add(struct pusher *self, const struct run_source *source, struct err *err)
{
	struct lane *lane = &self->lanes[source->run % self->store.shards.count];
	int status;

	if (lane->failed) {
		/* Whether it is back is asked for each run: a push may take long. */
		status = schema_check_shard(&self->store, lane->shard, err);
		if (status < 0) {
			self->lost_runs++;
			return status;
		}
		*lane = (struct lane){.pusher = self,
				      .shard = lane->shard,
				      .batch = {.spill = spill, .self = lane}};
	}
	status = batch_add(&lane->batch, source, err);
	if (status < 0) {
		give_up(lane, lane->waiting + 1);
		return status;
	}
	lane->waiting++;
	return is_full(lane) ? lane_flush(lane, err) : 0;
}

int pusher_flush(struct pusher *self, struct err *err)
{
	struct err later;
	int status = 0;

	for (u32 i = 0; i < self->store.shards.count; i++)
		if (!self->lanes[i].failed) {
			int one = lane_flush(&self->lanes[i], status ? &later : err);

			status = status ? status : one;
		}
	return status;
}
