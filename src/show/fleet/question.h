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

/* Releases the question; its status. */
int question_end(struct question *self);

#endif
