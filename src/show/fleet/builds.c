/* SPDX-License-Identifier: MIT
 * Builds in a store.
 * Host. */
#include "show/fleet/builds.h"

#include <stdlib.h>
#include <string.h>

int builds_read(struct build_list *self, struct store *store, const struct fleet_filter *filter,
		struct err *err)
{
	struct question ask = {.store = store};
	char *fields[7];

	strbuf_add(&ask.sql, "SELECT build, any(build_id), max(version), program_name, "
			     "toString(min(time), 'UTC') AS first, program, count()");
	ask_from(&ask, TABLE_RUNS, "", filter);
	strbuf_add(&ask.sql,
		   " GROUP BY program, program_name, build ORDER BY program_name, first, build");
	while (question_row(&ask, fields, 7, err)) {
		struct build row = {.key = reply_number(fields[0]),
				    .id = arena_copy(&self->arena, fields[1]),
				    .version = arena_copy(&self->arena, fields[2]),
				    .program = arena_copy(&self->arena, fields[3]),
				    .first = arena_copy(&self->arena, fields[4]),
				    .program_key = reply_number(fields[5]),
				    .runs = reply_number(fields[6])};

		if (!row.id || !row.version || !row.program || !row.first ||
		    !vec_push(&self->rows, row))
			ask.status = err_memory(err);
	}
	return question_end(&ask);
}

void builds_release(struct build_list *self)
{
	vec_release(&self->rows);
	arena_release(&self->arena);
}

u64 builds_find(const struct build_list *self, const char *word, struct err *err)
{
	u64 found = UINT64_MAX;

	for (u64 i = 0; i < self->rows.count; i++) {
		const struct build *row = &self->rows.data[i];
		bool whole = strcmp(row->id, word) == 0;

		if (!whole && strcmp(row->version, word) != 0 &&
		    strncmp(row->id, word, strlen(word)) != 0)
			continue;
		if (whole) /* "b1" is not also "b10" */
			return i;
		if (found != UINT64_MAX && strcmp(self->rows.data[found].id, row->id) != 0) {
			err_set(err, ERR_USAGE,
				"'%s' matches more than one build, %s and %s; give more characters",
				word, self->rows.data[found].id, row->id);
			return UINT64_MAX;
		}
		found = i;
	}
	if (found == UINT64_MAX)
		err_set(err, ERR_USAGE, "the store has no runs of build '%s'", word);
	return found;
}
