/* SPDX-License-Identifier: MIT
 * The members of one type, and which of their bytes its chunks use.
 * Host. */
#include <string.h>

#include "analysis/types_result.h"
#include "base/bytemap.h"
#include "base/units.h"
#include "symbols/type_layout.h"

/* Which bytes of an object are accessed in any of its chunks. */
struct coverage {
	u64 words[HW_MAP_WORDS];
	u64 chunks; /* whose bytes are known */
	u64 all;    /* chunks of this type, each counted once */
	u64 read_bytes, written_bytes; /* of these chunks, each access in full */
};

/* A chunk is one object, an array of them, or an array behind a cookie. */
static bool add_map(struct coverage *self, const struct point_map *map, u64 size)
{
	u64 before = map->size % size, at = 0;

	if (map->size < size || (before != 0 && before != 8) || size > HW_MAP_BYTES)
		return false;
	while ((at = bytemap_next(map->words, at, map->size, true)) < map->size) {
		if (at >= before) {
			u64 byte = (at - before) % size;

			bytemap_set(self->words, byte, byte + 1);
		}
		at++;
	}
	self->chunks += map->chunks;
	return true;
}

static int find_coverage(struct coverage *self, struct type_cascade *types, const char *name, u64 size,
			 struct err *err)
{
	const struct model *model = types->query.source->model;
	struct type_answer *points = calloc(model->points.count + 1, sizeof *points);

	if (!points)
		return err_set(err, ERR_MEMORY, "out of memory for types");
	type_of_points(types, points);
	for (u32 i = 0; i < model->points.count; i++) {
		const struct point_map *map = model_point_map(model, (struct point_id){i});

		if (!points[i].name || strcmp(points[i].name, name) != 0)
			continue;
		self->all += model_count(model, model->points.data[i].allocations);
		self->read_bytes += model->points.data[i].access.read_bytes;
		self->written_bytes += model->points.data[i].access.written_bytes;
		if (map)
			add_map(self, map, size);
	}
	free(points);
	return 0;
}

static const struct result_column columns[] = {
	COLUMN("offset", "offset", VALUE_ID, "bytes from the object's beginning"),
	COLUMN("size", "size", VALUE_BYTES, "bytes of the member"),
	COLUMN("member", "member", VALUE_TEXT, "its name; none = padding"),
	COLUMN("type", "type", VALUE_TEXT, "its type"),
	COLUMN("accessed", "accessed", VALUE_BYTES,
	       "bytes of it that were accessed in any chunk; none = not measured"),
	COLUMN("state", "state", VALUE_TEXT, "used, partly used, never accessed, or padding"),
};

static u64 accessed_bytes(const struct coverage *coverage, const struct type_member *member)
{
	u64 end = member->offset + member->size;

	if (end > HW_MAP_BYTES)
		end = HW_MAP_BYTES;
	return end > member->offset ? bytemap_count(coverage->words, end) -
					      bytemap_count(coverage->words, member->offset)
				    : 0;
}

static const char *state_of(const struct coverage *coverage, const struct type_member *member,
			    u64 accessed)
{
	if (member->padding)
		return "padding";
	if (!coverage->chunks)
		return NULL;
	return accessed == 0 ? "never accessed" : accessed < member->size ? "partly used" : "used";
}

static struct result *members_table(const struct type_layout *layout, const struct coverage *coverage)
{
	struct result *table = result_new(RESULT_TABLE, "members", "Members");

	if (!table)
		return NULL;
	table->empty = "it has no members";
	result_set_columns(table, columns, sizeof columns / sizeof *columns);
	for (u64 i = 0; i < layout->members.count; i++) {
		const struct type_member *member = &layout->members.data[i];
		u64 accessed = accessed_bytes(coverage, member);
		struct value *row = result_add_row(table);

		if (!row)
			break;
		row[0] = value_number(member->offset);
		row[1] = value_number(member->size);
		row[2] = value_text(*member->name ? result_copy(table, member->name) : NULL);
		row[3] = value_text(*member->type ? result_copy(table, member->type) : NULL);
		row[4] = coverage->chunks ? value_number(accessed) : value_unknown();
		row[5] = value_text(state_of(coverage, member, accessed));
	}
	return table;
}

static struct result *fields_result(const struct type_layout *layout, const struct coverage *coverage,
				    bool has_access)
{
	struct result *result = result_new(RESULT_RECORD, "fields", NULL);
	struct result_column padding = COLUMN("padding", "padding", VALUE_BYTES,
					      "bytes of an object that belong to no member");
	u64 unused = 0;

	if (!result)
		return NULL;
	for (u64 i = 0; i < layout->members.count; i++)
		unused += layout->members.data[i].padding ? layout->members.data[i].size : 0;
	result_add_field(result, (struct result_column)COLUMN("type", "type", VALUE_TEXT, "its name"),
			 value_text(result_copy(result, layout->name)));
	result_add_field(result,
			 (struct result_column)COLUMN("size", "size", VALUE_BYTES, "of one object"),
			 value_number(layout->size));
	result_add_field(result, padding, value_number(unused));
	result_add_field(result,
			 (struct result_column)COLUMN("chunks", "chunks", VALUE_COUNT,
						      "chunks of points that allocate only this type"),
			 value_number(coverage->all));
	result_add_field(result,
			 (struct result_column)COLUMN("measured", "measured", VALUE_COUNT,
						      "chunks of which it is known which bytes were "
						      "accessed"),
			 value_number(coverage->chunks));
	result_add_field(result,
			 (struct result_column)COLUMN("read_bytes", has_access ? "read" : NULL, VALUE_BYTES,
						      "that the program read from these chunks"),
			 has_access ? value_number(coverage->read_bytes) : value_unknown());
	result_add_field(result,
			 (struct result_column)COLUMN("written_bytes", has_access ? "written" : NULL,
						      VALUE_BYTES,
						      "that the program wrote to these chunks"),
			 has_access ? value_number(coverage->written_bytes) : value_unknown());
	result_add_part(result, members_table(layout, coverage));
	if (!coverage->chunks)
		result_add_caveat(result, "which bytes were accessed is known only of recordings with "
					  "accesses, of chunks of at most 1,024 bytes");
	return result;
}

struct result *analyse_fields(struct type_cascade *types, const char *type, struct err *err)
{
	struct type_layout_query query = {.name = type,
					  .modules = types->modules.rows.data,
					  .module_count = (u32)types->modules.rows.count,
					  .debug_path = types->query.debug_path};
	struct type_layout layout = {0};
	struct coverage coverage = {0};
	struct result *result = NULL;

	if (type_layout_read(&layout, &query, err) < 0)
		goto done;
	if (!layout.size) {
		err_set(err, ERR_USAGE, "the debug information has no structure, class or union %s", type);
		goto done;
	}
	if (find_coverage(&coverage, types, layout.name, layout.size, err) < 0)
		goto done;
	result = fields_result(&layout, &coverage, types->query.source->model->has_access);
	if (!result || result_failed(result)) {
		err_set(err, ERR_MEMORY, "out of memory for types");
		result_free(result);
		result = NULL;
	}
done:
	type_layout_release(&layout);
	return result;
}
