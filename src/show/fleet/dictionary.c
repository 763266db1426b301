/* SPDX-License-Identifier: MIT
 * Tables of stacks and names, on their way to a store.
 * Host. */
#include "show/fleet/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "show/fleet/question.h"
#include "show/fleet/rows.h"
#include "host/trace/block.h"

enum { ASK_KEYS = 4000 }; /* in one statement: a server takes 256 KiB */

bool dictionary_wants(struct dictionary *self, u64 key)
{
	u64 *known = map_at(&self->known, key);

	if (!known) {
		self->failed = true;
		return false;
	}
	return !(*known)++;
}

void dictionary_added(struct dictionary *self, u64 key, u64 first)
{
	struct dictionary_row row = {.key = key, .first = first, .bytes = self->rows.count - first};

	if (self->rows.failed || !vec_push(&self->waiting, row))
		self->failed = true;
}

/* Which of the keys from `first` on the shard has. */
static int ask_keys(const struct dictionary *self, const struct dictionary_target *to, u64 first,
		    struct map *there, struct err *err)
{
	struct question ask = {.store = to->store, .one_shard = true, .shard = to->shard};
	char *field;

	strbuf_addf(&ask.sql, "SELECT DISTINCT %s FROM %s WHERE %s IN ", to->key,
		    schema_table(to->table), to->key);
	for (u64 i = first; i < self->waiting.count && i < first + ASK_KEYS; i++)
		strbuf_addf(&ask.sql, "%s%llu", i == first ? "(" : ",",
			    (unsigned long long)self->waiting.data[i].key);
	strbuf_add(&ask.sql, ")");
	while (question_row(&ask, &field, 1, err))
		if (!map_put(there, reply_number(field), 1))
			ask.status = err_memory_for(err, "names");
	return question_end(&ask);
}

static int send_new(struct dictionary *self, const struct dictionary_target *to,
		    const struct map *there, struct err *err)
{
	struct strbuf rows = {0}, into = {0};
	u64 count = 0;
	int status = schema_into(to->table, &into, err);

	for (u64 i = 0; i < self->waiting.count; i++) {
		const struct dictionary_row *row = &self->waiting.data[i];

		if (map_find(there, row->key))
			continue;
		strbuf_add_bytes(&rows, self->rows.text + row->first, row->bytes);
		count++;
	}
	if (status == 0 && count)
		status = store_insert(to->store, to->shard, strbuf_text(&into), &rows, err);
	if (status == 0)
		*to->sent += count;
	strbuf_release(&rows);
	strbuf_release(&into);
	return status;
}

int dictionary_send(struct dictionary *self, const struct dictionary_target *to, struct err *err)
{
	struct map there = {0};
	int status = self->failed ? err_memory_for(err, "names") : 0;

	for (u64 i = 0; i < self->waiting.count && status == 0; i += ASK_KEYS)
		status = ask_keys(self, to, i, &there, err);
	if (status == 0 && self->waiting.count)
		status = send_new(self, to, &there, err);
	if (status == 0) {
		vec_clear(&self->waiting);
		strbuf_clear(&self->rows);
	}
	map_release(&there);
	return status;
}

void dictionary_release(struct dictionary *self)
{
	map_release(&self->known);
	vec_release(&self->waiting);
	strbuf_release(&self->rows);
}

u64 name_key(const char *text) { return *text ? checksum(text, strlen(text)) : 0; }

u64 dictionary_name(struct dictionary *names, const char *text)
{
	u64 key = name_key(text), first = names->rows.count;

	if (!key || !dictionary_wants(names, key))
		return key;
	row_u64(&names->rows, key);
	row_text(&names->rows, text);
	dictionary_added(names, key, first);
	return key;
}
