/* SPDX-License-Identifier: MIT
 * The members of one type, and which of their bytes its chunks use.
 * Host. */
#include <string.h>

#include "study/analysis/types/usage.h"
#include "study/analysis/types/result.h"
#include "host/base/units.h"
#include "study/result/field.h"

enum { ACCESSED = 3, READ, WRITTEN, READ_BYTES, WRITTEN_BYTES, STATE, TYPE, COLUMNS };

static const struct result_column columns[COLUMNS] = {
	COLUMN("offset", "offset", VALUE_ID, "offset from the start of the object, in bytes"),
	COLUMN("size", "size", VALUE_BYTES, "size of the member in bytes"),
	COLUMN("member", "member", VALUE_TEXT, "its name; none = padding"),
	COLUMN("accessed", "accessed", VALUE_BYTES,
	       "bytes of it accessed in any chunk; none = not measured"),
	COLUMN("read", "read by", VALUE_COUNT,
	       "measured chunks that read any byte of it; none = reads and writes were not "
	       "distinguished"),
	COLUMN("written", "written by", VALUE_COUNT, "measured chunks that wrote any byte of it"),
	COLUMN("read_bytes", "bytes read", VALUE_BYTES, "bytes of it read in any chunk"),
	COLUMN("written_bytes", "bytes written", VALUE_BYTES, "bytes of it written in any chunk"),
	COLUMN("state", "state", VALUE_TEXT,
	       "read and written; written, never read; read, never written; never touched; "
	       "padding; or accessed, if reads and writes were not distinguished"),
	COLUMN("type", "type", VALUE_TEXT, "its type"),
};

static bool is_measured(const struct type_usage *usage) { return usage->measured || usage->mixed; }

static const char *state_of(const struct type_usage *usage, const struct type_member *member,
			    const struct member_usage *used)
{
	if (member->padding)
		return "padding";
	if (!is_measured(usage))
		return NULL;
	if (!used->accessed_bytes)
		return "never touched";
	if (!usage->sided)
		return "accessed";
	if (!used->bytes[HW_SIDE_READ])
		return "written, never read";
	return used->bytes[HW_SIDE_WRITTEN] ? "read and written" : "read, never written";
}

static void fill_row(struct value *row, struct result *table, const struct type_usage *usage,
		     const struct type_member *member, const struct member_usage *used)
{
	row[0] = value_number(member->offset);
	row[1] = value_number(member->size);
	row[2] = result_text(table, *member->name ? member->name : NULL);
	if (is_measured(usage))
		row[ACCESSED] = value_number(used->accessed_bytes);
	for (u32 side = 0; usage->sided && side < HW_SIDES; side++) {
		row[READ + side] = value_number(used->chunks[side]);
		row[READ_BYTES + side] = value_number(used->bytes[side]);
	}
	row[STATE] = value_text(state_of(usage, member, used));
	row[TYPE] = result_text(table, *member->type ? member->type : NULL);
}

static struct result *members_table(const struct type_layout *layout,
				    const struct type_usage *usage)
{
	struct result *table = result_table("members", "Members", columns);

	if (!table || result_failed(table))
		return table;
	table->empty = "the type has no members";
	if (usage->sided)
		table->columns.data[ACCESSED].label = NULL;
	for (u32 i = READ; i < STATE && !usage->sided; i++)
		table->columns.data[i].label = NULL;
	for (u64 i = 0; i < layout->members.count; i++) {
		struct value *row = result_add_row(table);

		if (row)
			fill_row(row, table, usage, &layout->members.data[i],
				 &usage->members.data[i]);
	}
	return table;
}

static void add_caveats(struct result *result, const struct type_usage *usage,
			const struct model *model)
{
	if (!is_measured(usage)) {
		result_add_caveat(result,
				  "which bytes were accessed is known only for recordings with "
				  "--coverage, and for chunks of at most 1,024 bytes");
		return;
	}
	if (!usage->sided)
		result_add_caveat(result, "this recording does not distinguish reads from writes");
	if (usage->mixed)
		result_add_caveat(
			result,
			"%s not counted by member, because of too many different uses; the bytes "
			"are in the states",
			units_things(usage->mixed, "chunk(s) (is|are)").text);
	if (usage->lower_bound)
		result_add_caveat(
			result,
			"uninstrumented code may also have accessed %s: 'never touched' is not "
			"certain there",
			units_things(usage->lower_bound, "chunk(s)").text);
	if (usage->sided && *model_note(model, "access_merges"))
		result_add_caveat(result, "%s", ACCESS_MERGES_CAVEAT);
}

static u64 padding_bytes(const struct type_layout *layout)
{
	u64 bytes = 0;

	for (u64 i = 0; i < layout->members.count; i++)
		bytes += layout->members.data[i].padding ? layout->members.data[i].size : 0;
	return bytes;
}

static void fill(struct result *result, const struct type_layout *layout,
		 const struct type_usage *usage, const struct model *model)
{
	bool has_access = model->has_access;

	result_field(result, "type", "type", VALUE_TEXT, result_text(result, layout->name),
		     "name of the type");
	result_field(result, "size", "size", VALUE_BYTES, value_number(layout->size),
		     "size of one object");
	result_field(result, "padding", "padding", VALUE_BYTES, value_number(padding_bytes(layout)),
		     "bytes of an object outside all members");
	result_field(result, "chunks", "chunks", VALUE_COUNT, value_number(usage->chunks),
		     "chunks of points that allocate only this type");
	result_field(result, "measured", "measured", VALUE_COUNT, value_number(usage->measured),
		     "chunks whose accessed bytes are known");
	result_field(result, "read_bytes", has_access ? "read" : NULL, VALUE_BYTES,
		     value_if(has_access, value_number(usage->read_bytes)),
		     "bytes read from these chunks");
	result_field(result, "written_bytes", has_access ? "written" : NULL, VALUE_BYTES,
		     value_if(has_access, value_number(usage->written_bytes)),
		     "bytes written to these chunks");
	result_add_part(result, members_table(layout, usage));
	add_caveats(result, usage, model);
}

struct result *analyse_fields(struct type_cascade *types, const char *type, struct err *err)
{
	struct type_layout_query query = {.name = type,
					  .modules = types->modules.rows.data,
					  .module_count = (u32)types->modules.rows.count,
					  .debug_path = types->query.debug_path};
	struct type_layout layout = {0};
	struct type_usage usage = {0};
	struct result *result = NULL;

	if (type_layout_read(&layout, &query, err) < 0)
		goto done;
	if (!layout.size) {
		err_set(err, ERR_USAGE,
			"the debug information has no structure, class or union "
			"'%s'; check its spelling, or build with -g",
			type);
		goto done;
	}
	if (type_usage_find(&usage, types, &layout, err) < 0)
		goto done;
	result = result_new(RESULT_RECORD, "fields", NULL);
	if (result)
		fill(result, &layout, &usage, types->query.source->model);
	result = result_made(result, err, "types");
done:
	type_usage_release(&usage);
	type_layout_release(&layout);
	return result;
}
