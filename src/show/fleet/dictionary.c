/* SPDX-License-Identifier: MIT
 * Tables of stacks and names, on their way to a store.
 * Host. */
#include "show/fleet/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "show/fleet/question.h"
#include "show/fleet/rows.h"
#include "host/trace/block.h"

bool dictionary_wants(struct dictionary *self, u64 key)
{
	u64 *known = map_at(&self->known, key);

	if (!known) {
		self->failed = true;
		return false;
	}
	return !(*known)++;
}

void dictionary_added(struct dictionary *self, u64 key)
{
	if (self->rows.failed || !vec_push(&self->keys, key) ||
	    !vec_push(&self->ends, self->rows.count))
		self->failed = true;
}

static int send_new(struct dictionary *self, const struct dictionary_target *to,
		    const struct map *there, struct err *err)
{
	struct strbuf rows = {0};
	u64 count = 0;
	int status = 0;

	for (u64 i = 0; i < self->keys.count; i++) {
		u64 first = i ? self->ends.data[i - 1] : 0;

		if (map_find(there, self->keys.data[i]))
			continue;
		strbuf_add_bytes(&rows, self->rows.text + first, self->ends.data[i] - first);
		count++;
	}
	if (count)
		status = schema_insert(to->store, to->shard, to->table, &rows, err);
	if (status == 0)
		*to->sent += count;
	strbuf_release(&rows);
	return status;
}

int dictionary_send(struct dictionary *self, const struct dictionary_target *to, struct err *err)
{
	struct map there = {0};
	struct strbuf columns = {0};
	struct key_question ask = {.store = to->store,
				   .one_shard = true,
				   .shard = to->shard,
				   .table = schema_table(to->table),
				   .key = to->key,
				   .fields = 1,
				   .row = take_key,
				   .self = &there};
	int status = self->failed ? err_memory_for(err, "names") : 0;

	strbuf_addf(&columns, "DISTINCT %s", to->key);
	ask.columns = strbuf_text(&columns);
	if (status == 0)
		status = question_keys(&ask, self->keys.data, self->keys.count, err);
	if (status == 0)
		status = send_new(self, to, &there, err);
	if (status == 0) {
		vec_clear(&self->keys);
		vec_clear(&self->ends);
		strbuf_clear(&self->rows);
	}
	map_release(&there);
	strbuf_release(&columns);
	return status;
}

void dictionary_release(struct dictionary *self)
{
	map_release(&self->known);
	vec_release(&self->keys);
	vec_release(&self->ends);
	strbuf_release(&self->rows);
}

u64 name_key(const char *text) { return *text ? checksum(text, strlen(text)) : 0; }

u64 dictionary_name(struct dictionary *names, const char *text)
{
	u64 key = name_key(text);

	if (!key || !dictionary_wants(names, key))
		return key;
	row_u64(&names->rows, key);
	row_text(&names->rows, text);
	dictionary_added(names, key);
	return key;
}
