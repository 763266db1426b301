/* SPDX-License-Identifier: MIT
 * The tables of a store, described in docs/FLEET.md: made, brought up to date, checked, and
 * relieved of what is old. */
#ifndef SHOW_FLEET_SCHEMA_H
#define SHOW_FLEET_SCHEMA_H

#include "show/fleet/store.h"

enum { SCHEMA_VERSION = 1 };

enum fleet_table {
	TABLE_RUNS,
	TABLE_POINTS,
	TABLE_TYPES,
	TABLE_FINDINGS,
	TABLE_TIMELINES,
	TABLE_CHUNKS,
	TABLE_TRACES,
	TABLE_STACKS,
	TABLE_NAMES,
	FLEET_TABLES
};

const char *schema_table(enum fleet_table table);

/* Inserts rows that are encoded as RowBinary, all or nothing per month of rows. */
int schema_insert(struct store *self, u32 shard, enum fleet_table table, const struct strbuf *rows,
		  struct err *err);

/* Makes the database, or adds what a version of later has, on each server of the address. cluster:
 * the servers' own name for all of them (remote_servers of their configuration), for tables that
 * see all shards; NULL = the one that was said before, if any. */
int schema_make(struct store *self, const char *cluster, struct err *err);

/* Whether one shard has the schema of this program; sets self->distributed. */
int schema_check_shard(struct store *self, u32 shard, struct err *err);

/* The same of a store that is asked: of its first shard that replies. */
int schema_check(struct store *self, struct err *err);

/* Drops days before the one of that many days ago, of all shards; counts them. */
int schema_expire(struct store *self, u64 days, u64 *dropped, struct err *err);

/* Removes rows of runs whose push was broken off more than a day ago; asks the servers to, which do
 * it on their own time. */
int schema_clean(struct store *self, struct err *err);

#endif
