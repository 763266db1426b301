/* SPDX-License-Identifier: MIT
 * Rows of a table that is keyed by content, so that runs share them: what is known to be in the
 * store is not sent. */
#ifndef SHOW_FLEET_DICTIONARY_H
#define SHOW_FLEET_DICTIONARY_H

#include "host/base/map.h"
#include "show/fleet/schema.h"

struct dictionary {       /* all zero = empty */
	struct map known; /* keys that are in the store or will be */
	/* Of rows that wait: their keys, and where each ends in `rows`. */
	VEC(u64) keys, ends;
	struct strbuf rows;
	bool failed;
};

/* Whether a row of that key is wanted: it is not if it was added before. */
bool dictionary_wants(struct dictionary *self, u64 key);

/* To be called when the row that is wanted was put at the end of self->rows. */
void dictionary_added(struct dictionary *self, u64 key);

/* Where a dictionary goes. */
struct dictionary_target {
	struct store *store;
	u32 shard;
	enum fleet_table table;
	const char *key; /* its column */
	u64 *sent;       /* is raised by the number of rows */
};

/* Sends those of the waiting rows that the shard does not have. */
int dictionary_send(struct dictionary *self, const struct dictionary_target *to, struct err *err);
void dictionary_release(struct dictionary *self);

/* The key of a text in the table of names, 0 for "". */
u64 name_key(const char *text);

/* The same; the text is added if it is new. */
u64 dictionary_name(struct dictionary *names, const char *text);

#endif
