/* SPDX-License-Identifier: MIT
 * Tables of two traces; see beside.h. Runs on threads of the server. */
#include "show/serve/beside.h"

#include <string.h>

#include "host/base/map.h"
#include "show/serve/api.h"

static bool is_key(const char *keys, const char *name)
{
	size_t bytes = strlen(name);

	for (const char *at = keys; (at = strstr(at, name)); at += bytes)
		if ((at == keys || at[-1] == ' ') && (!at[bytes] || at[bytes] == ' '))
			return true;
	return false;
}

/* What can be subtracted, and means the same in both. */
static bool is_sum(const struct result *table, u64 column, const char *keys)
{
	enum value_type type = table->columns.data[column].type;

	return (type == VALUE_COUNT || type == VALUE_BYTES || type == VALUE_NS) &&
	       !is_key(keys, table->columns.data[column].name);
}

static u64 hash_value(u64 hash, const struct value *value, enum value_type type)
{
	if (!value->known)
		return hash_u64(hash ^ 1);
	if (type == VALUE_TEXT || type == VALUE_PATH)
		return hash_text(hash, value->text ? value->text : "");
	if (type != VALUE_STACK)
		return hash_u64(hash ^ value->number);
	for (u32 i = 0; value->stack && i < value->stack->count; i++)
		hash = hash_text(hash, value->stack->frames[i].function);
	return hash;
}

static u64 hash_row(const struct result *table, u64 row, const char *keys)
{
	u64 hash = HASH_START;

	for (u64 i = 0; i < table->columns.count; i++)
		if (is_key(keys, table->columns.data[i].name))
			hash = hash_value(hash, result_cell(table, row, i),
					  table->columns.data[i].type);
	return hash;
}

struct pairs {
	const struct beside *tables;
	struct map places;                 /* row of theirs + 1 */
	struct named_value *base, *deltas; /* of one row */
};

static void put_row(struct json *json, const void *list, u64 row)
{
	const struct pairs *self = list;
	const struct result *ours = self->tables->ours, *theirs = self->tables->theirs;
	const u64 *place = map_find(&self->places, hash_row(ours, row, self->tables->keys));
	u64 count = 0;

	for (u64 i = 0; i < ours->columns.count; i++) {
		static const struct value nothing = {.known = true};
		const struct value *now = result_cell(ours, row, i);
		const struct value *then = place ? result_cell(theirs, *place - 1, i) : &nothing;
		const char *name = ours->columns.data[i].name;

		if (!is_sum(ours, i, self->tables->keys))
			continue;
		self->base[count] = field_if(then->known, FIELD(name, then->number));
		self->deltas[count++] = field_if(now->known && then->known,
						 FIELD(name, (i64)(now->number - then->number)));
	}
	put_object(json, NULL, field_if(place, field_object("base", self->base, count)),
		   field_object("delta", self->deltas, count));
}

void reply_beside(struct call *call, const struct beside *self, u64 gone)
{
	struct arena *arena = &call->holder->arena;
	u64 columns = self->ours->columns.count;
	struct pairs pairs = {.tables = self,
			      .base = arena_new_array(arena, struct named_value, columns),
			      .deltas = arena_new_array(arena, struct named_value, columns)};

	/* Of several rows with the same key the first one counts. */
	for (u64 i = result_rows(self->theirs); i-- > 0;)
		map_put(&pairs.places, hash_row(self->theirs, i, self->keys), i + 1);
	if (pairs.base && pairs.deltas)
		reply_fields(call, call->truncated,
			     MEMBERS(LIST("base", result_rows(self->ours), put_row, &pairs),
				     FIELD("gone", gone), RESULT("data", self->ours)));
	map_release(&pairs.places);
}

u64 rows_gone(const struct beside *self)
{
	struct map known = {0};
	u64 gone = 0;

	for (u64 i = 0; i < result_rows(self->ours); i++)
		map_put(&known, hash_row(self->ours, i, self->keys), 1);
	for (u64 i = 0; i < result_rows(self->theirs); i++)
		gone += !map_find(&known, hash_row(self->theirs, i, self->keys));
	map_release(&known);
	return gone;
}
