/* SPDX-License-Identifier: MIT
 * The table of Lisp types.
 * Host. */
#include "study/analysis/mprof/lisp.h"

#include "study/analysis/places/group.h"

enum column {
	AT_TYPE,
	AT_CATEGORY,
	AT_ALLOCATIONS,
	AT_BYTES,
	AT_SHARE,
	AT_COLLECTED,
	AT_LIVE,
	AT_LIVE_SHARE,
	COLUMNS
};

static const struct result_column columns[COLUMNS] = {
	[AT_TYPE] = {.name = "type",
		     .label = "type",
		     .type = VALUE_TEXT,
		     .meaning = "Lisp type of the objects"},
	[AT_CATEGORY] = {.name = "category",
			 .label = "",
			 .type = VALUE_TEXT,
			 .meaning = "c cons, f floating point, s structure or vector, o other"},
	[AT_ALLOCATIONS] = {.name = "allocations",
			    .label = "allocs",
			    .type = VALUE_COUNT,
			    .look = LOOK_PLAIN,
			    .meaning = "objects of this type"},
	[AT_BYTES] = {.name = "bytes",
		      .label = "bytes",
		      .type = VALUE_BYTES,
		      .look = LOOK_PLAIN,
		      .meaning = "bytes allocated for them"},
	[AT_SHARE] = {.name = "share",
		      .label = "(%)",
		      .type = VALUE_SHARE,
		      .look = LOOK_BRACKETS,
		      .joint = " ",
		      .meaning = "of all bytes allocated"},
	[AT_COLLECTED] = {.name = "collected",
			  .label = "collected",
			  .type = VALUE_COUNT,
			  .look = LOOK_PLAIN,
			  .meaning = "objects freed by the collector"},
	[AT_LIVE] = {.name = "uncollected_bytes",
		     .label = "not collected",
		     .type = VALUE_BYTES,
		     .look = LOOK_PLAIN,
		     .meaning = "bytes of objects in use or not collected yet at the end"},
	[AT_LIVE_SHARE] = {.name = "uncollected_share",
			   .label = "(%)",
			   .type = VALUE_SHARE,
			   .look = LOOK_BRACKETS,
			   .joint = " ",
			   .meaning = "of all bytes not collected at the end"},
};

/* Key 0 is no type. */
static u64 by_type(const struct chunk *chunk, const void *self)
{
	struct chunk_type type;

	(void)self;
	return model_chunk_type(chunk->model, chunk->number, &type) ? (u64)type.type + 1 : 0;
}

static bool is_in_tables(const struct chunk *chunk, const void *self)
{
	const struct mprof_calls *calls = self;

	return !calls->points.data[group_by_point(chunk, NULL)].startup;
}

static bool is_freed(const struct chunk *chunk, const void *self)
{
	return is_in_tables(chunk, self) && group_freed_bytes(chunk, self);
}

struct type_sums {
	u64 allocations, bytes, collected, live;
};

static void add_row(struct result *table, const struct model *model, const char *type,
		    const struct type_sums *sums, const struct type_sums *total)
{
	struct value *row = result_add_row(table);

	if (!row)
		return;
	row[AT_TYPE] = value_text(result_copy(table, type));
	row[AT_CATEGORY] =
		sums == total ? value_unknown() : value_text(lisp_letter(lisp_category(type)));
	row[AT_ALLOCATIONS] = value_number(model_count(model, sums->allocations));
	row[AT_BYTES] = value_number(sums->bytes);
	row[AT_SHARE] = mprof_share(sums->bytes, total->bytes);
	row[AT_COLLECTED] = value_number(model_count(model, sums->collected));
	row[AT_LIVE] = value_number(sums->live);
	row[AT_LIVE_SHARE] = mprof_share(sums->live, total->live);
	if (sums == total) {
		row[AT_CATEGORY].shown = row[AT_SHARE].shown = row[AT_LIVE_SHARE].shown = "";
		row[AT_TYPE].shown = "<TOTAL>";
	}
}

static struct type_sums sums_of(const struct group_row *row, const struct group_table *freed)
{
	const struct group_row *gone = group_find(freed, row->key);

	return (struct type_sums){.allocations = row->chunks,
				  .bytes = row->bytes,
				  .collected = gone ? gone->chunks : 0,
				  .live = row->bytes - row->value_sum};
}

struct result *analyse_lisp_types(const struct mprof_calls *calls, enum mprof_verbosity verbosity,
				  struct err *err)
{
	const struct model *model = calls->source->model;
	struct group_query all = {.key = by_type,
				  .keep = is_in_tables,
				  .value = group_freed_bytes,
				  .self = calls};
	struct group_query gone = {.key = by_type, .keep = is_freed, .self = calls};
	struct group_table types = {0}, freed = {0};
	struct result *table = result_new(RESULT_TABLE, "types", "Allocation by type");
	struct type_sums total = {0};

	if (!table || group_chunks(model, &all, &types, err) < 0 ||
	    group_chunks(model, &gone, &freed, err) < 0)
		goto fail;
	table->grid = true;
	result_set_columns(table, columns, COLUMNS);
	group_sort(&types, group_order_bytes);
	for (u64 i = 0; i < types.rows.count; i++) {
		struct type_sums sums = sums_of(&types.rows.data[i], &freed);

		total.allocations += sums.allocations;
		total.bytes += sums.bytes;
		total.collected += sums.collected;
		total.live += sums.live;
	}
	for (u64 i = 0; i < types.rows.count; i++) {
		const struct group_row *row = &types.rows.data[i];
		struct type_sums sums = sums_of(row, &freed);

		if (mprof_is_shown(verbosity, sums.bytes, total.bytes))
			add_row(table, model, row->key ? model->types.data[row->key - 1] : "?",
				&sums, &total);
	}
	add_row(table, model, "", &total, &total);
	if (result_failed(table))
		goto fail;
	group_table_release(&types);
	group_table_release(&freed);
	return table;
fail:
	if (!err->code)
		err_memory_for(err, "the types");
	group_table_release(&types);
	group_table_release(&freed);
	result_free(table);
	return NULL;
}
