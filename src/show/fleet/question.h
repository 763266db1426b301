/* SPDX-License-Identifier: MIT
 * A question to a store, and its answer row by row.
 *
 *	struct question ask = {.store = store};
 *	strbuf_add(&ask.sql, "SELECT run, host FROM runs");
 *	while (question_row(&ask, fields, 2, err))
 *		ask.status = use(fields, err);
 *	return question_end(&ask);
 */
#ifndef SHOW_FLEET_QUESTION_H
#define SHOW_FLEET_QUESTION_H

#include "show/fleet/store.h"

struct question { /* all zero but the store = ready */
	struct store *store;
	bool one_shard; /* and not all */
	u32 shard;
	struct strbuf sql;
	struct reply answer;
	bool asked;
	int status; /* a negative one, also the user's, ends the rows */
};

/* "1,2,3" */
void question_list(struct question *self, const u64 *numbers, u64 count);

/* The next row; asks before the first one. Fields live until the end. */
bool question_row(struct question *self, char **fields, u32 count, struct err *err);

/* The same for rows that are asked for by their keys, of which there may be many: some thousand go
 * into one statement. */
struct key_question {
	struct store *store;
	bool one_shard;
	u32 shard;
	const char *columns, *table;
	const char *key;  /* a column; before it a further condition and AND, or nothing */
	const char *rest; /* " GROUP BY …"; NULL = nothing */
	u32 fields;
	int (*row)(void *self, char **fields, struct err *err);
	void *self;
};
int question_keys(const struct key_question *self, const u64 *keys, u64 count, struct err *err);

/* A row of one number, which becomes a key of a map; self is the map. */
int take_key(void *self, char **fields, struct err *err);

/* Releases the question; its status. */
int question_end(struct question *self);

#endif
