/* SPDX-License-Identifier: MIT
 * Tables of two traces; see beside.h. Runs on threads of the server. */
#include "show/serve/beside.h"

#include <string.h>

#include "host/base/map.h"
#include "show/render/fields.h"

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

static void put_row(struct json *json, const struct beside *self, u64 row, u64 their_row)
{
	const struct result *ours = self->ours, *theirs = self->theirs;
	bool has = their_row != UINT64_MAX;

	json_open_flat(json, NULL, '{');
	if (has)
		json_open_flat(json, "base", '{');
	else
		json_null(json, "base");
	for (u64 i = 0; has && i < ours->columns.count; i++) {
		const struct value *value = result_cell(theirs, their_row, i);

		if (is_sum(ours, i, self->keys))
			put_fields(json, field_if(value->known, FIELD(ours->columns.data[i].name,
								      value->number)));
	}
	if (has)
		json_close(json, '}');
	json_open_flat(json, "delta", '{');
	for (u64 i = 0; i < ours->columns.count; i++) {
		const struct value *now = result_cell(ours, row, i);
		const struct value *then = has ? result_cell(theirs, their_row, i) : NULL;

		if (is_sum(ours, i, self->keys))
			put_fields(json,
				   field_if(now->known && (!then || then->known),
					    FIELD(ours->columns.data[i].name,
						  (i64)(now->number - (then ? then->number : 0)))));
	}
	json_close(json, '}');
	json_close(json, '}');
}

void put_beside(struct json *json, const struct beside *self, u64 first, u64 count)
{
	u64 rows = result_rows(self->ours);
	struct map places = {0}; /* row of theirs + 1 */

	/* Of several rows with the same key the first one counts. */
	for (u64 i = result_rows(self->theirs); i-- > 0;)
		map_put(&places, hash_row(self->theirs, i, self->keys), i + 1);
	json_open_flat(json, "base", '[');
	for (u64 i = first; i < rows && i - first < count; i++) {
		const u64 *place = map_find(&places, hash_row(self->ours, i, self->keys));

		put_row(json, self, i, place ? *place - 1 : UINT64_MAX);
	}
	json_close(json, ']');
	map_release(&places);
}

void put_gone_rows(struct json *json, const struct beside *self)
{
	struct map known = {0};
	u64 gone = 0;

	for (u64 i = 0; i < result_rows(self->ours); i++)
		map_put(&known, hash_row(self->ours, i, self->keys), 1);
	for (u64 i = 0; i < result_rows(self->theirs); i++)
		gone += !map_find(&known, hash_row(self->theirs, i, self->keys));
	json_number(json, "gone", gone);
	map_release(&known);
}
