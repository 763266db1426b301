/* SPDX-License-Identifier: MIT
 * Questions to a store.
 * Host. */
#include "show/fleet/question.h"

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

int question_end(struct question *self)
{
	reply_release(&self->answer);
	strbuf_release(&self->sql);
	return self->status;
}
