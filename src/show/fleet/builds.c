/* SPDX-License-Identifier: MIT
 * Builds in a store.
 * Host. */
#include "show/fleet/builds.h"

#include <stdlib.h>
#include <string.h>

int builds_read(struct build_list *self, struct store *store, const struct fleet_filter *filter,
		struct err *err)
{
	struct reply answer = {0};
	struct strbuf sql = {0};
	char *fields[7];
	int status;

	strbuf_add(&sql, "SELECT build, any(build_id), max(version), program_name, "
			 "toString(min(time), 'UTC') AS first,"
			 " program, count() FROM ");
	ask_table(&sql, store, TABLE_RUNS);
	strbuf_add(&sql, " WHERE ");
	ask_runs(&sql, store, filter);
	strbuf_add(&sql,
		   " GROUP BY program, program_name, build ORDER BY program_name, first, build");
	status = ask_all(store, &sql, &answer, err);
	while (status == 0 && reply_row(&answer, fields, 7)) {
		struct build row = {.key = strtoull(fields[0], NULL, 10),
				    .id = arena_copy(&self->arena, fields[1]),
				    .version = arena_copy(&self->arena, fields[2]),
				    .program = arena_copy(&self->arena, fields[3]),
				    .first = arena_copy(&self->arena, fields[4]),
				    .program_key = strtoull(fields[5], NULL, 10),
				    .runs = strtoull(fields[6], NULL, 10)};

		if (!row.id || !row.version || !row.program || !row.first ||
		    !vec_push(&self->rows, row))
			status = err_memory(err);
	}
	reply_release(&answer);
	strbuf_release(&sql);
	return status;
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
			err_set(err, ERR_USAGE, "'%s' matches more than one build, %s and %s; give more characters", word,
				self->rows.data[found].id, row->id);
			return UINT64_MAX;
		}
		found = i;
	}
	if (found == UINT64_MAX)
		err_set(err, ERR_USAGE, "the store has no runs of build '%s'", word);
	return found;
}
