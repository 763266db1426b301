/* SPDX-License-Identifier: MIT
 * Questions to a store.
 * Host. */
#include "show/fleet/question.h"

#include "host/base/map.h"

void question_list(struct question *self, const u64 *numbers, u64 count)
{
	for (u64 i = 0; i < count; i++)
		strbuf_addf(&self->sql, "%s%llu", i ? "," : "", (unsigned long long)numbers[i]);
}

static int ask(struct question *self, struct err *err)
{
	const char *sql = strbuf_text(&self->sql);

	if (self->sql.failed)
		return err_memory(err);
	return self->one_shard ? store_ask(self->store, self->shard, sql, &self->answer, err)
			       : store_ask_all(self->store, sql, &self->answer, err);
}

bool question_row(struct question *self, char **fields, u32 count, struct err *err)
{
	if (!self->asked)
		self->status = ask(self, err);
	self->asked = true;
	return self->status == 0 && reply_row(&self->answer, fields, count);
}

int take_key(void *self, char **fields, struct err *err)
{
	return map_put(self, reply_number(fields[0]), 1) ? 0 : err_memory(err);
}

enum {
	KEYS_AT_ONCE = 4000, /* in one statement: a server takes 256 KiB */
	FIELDS_MAX = 8,
};

int question_keys(const struct key_question *self, const u64 *keys, u64 count, struct err *err)
{
	int status = 0;

	for (u64 i = 0; i < count && status == 0; i += KEYS_AT_ONCE) {
		struct question ask = {.store = self->store,
				       .one_shard = self->one_shard,
				       .shard = self->shard};
		char *fields[FIELDS_MAX];

		strbuf_addf(&ask.sql, "SELECT %s FROM %s%s WHERE %s IN (", self->columns,
			    self->table, self->store->distributed && !self->one_shard ? "_all" : "",
			    self->key);
		question_list(&ask, keys + i, count - i < KEYS_AT_ONCE ? count - i : KEYS_AT_ONCE);
		strbuf_addf(&ask.sql, ")%s", self->rest ? self->rest : "");
		while (question_row(&ask, fields, self->fields, err))
			ask.status = self->row(self->self, fields, err);
		status = question_end(&ask);
	}
	return status;
}

int question_end(struct question *self)
{
	reply_release(&self->answer);
	strbuf_release(&self->sql);
	return self->status;
}
