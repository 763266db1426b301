/* SPDX-License-Identifier: MIT
 * The table of Lisp types.
 * Host. */
#include "study/analysis/mprof/lisp.h"

#include "study/analysis/places/group.h"
#include "study/result/field.h"

static const struct result_column columns[] = {
	COLUMN("type", "type", VALUE_TEXT, "Lisp type of the objects"),
	COLUMN("category", "", VALUE_TEXT,
	       "c cons, f floating point, s structure or vector, o other"),
	NUMBER_COLUMN("allocations", "allocs", VALUE_COUNT, "objects of this type"),
	NUMBER_COLUMN("bytes", "bytes", VALUE_BYTES, "bytes allocated for them"),
	SHARE_COLUMN("share", "of all bytes allocated"),
	NUMBER_COLUMN("collected", "collected", VALUE_COUNT, "objects freed by the collector"),
	NUMBER_COLUMN("uncollected_bytes", "not collected", VALUE_BYTES,
		      "bytes of objects in use or not collected yet at the end"),
	SHARE_COLUMN("uncollected_share", "of all bytes not collected at the end"),
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
	bool whole = sums == total;
	struct value name = value_text(result_copy(table, type));

	result_row(table, whole ? value_shown(name, "<TOTAL>") : name,
		   whole ? value_shown(value_unknown(), "")
			 : value_text(lisp_letter(lisp_category(type))),
		   value_units(model, sums->allocations), value_number(sums->bytes),
		   mprof_whole(whole, mprof_share(sums->bytes, total->bytes)),
		   value_units(model, sums->collected), value_number(sums->live),
		   mprof_whole(whole, mprof_share(sums->live, total->live)));
}

static struct type_sums sums_of(const struct group_row *row, const struct group_table *freed)
{
	const struct group_row *gone = group_find(freed, row->key);

	return (struct type_sums){.allocations = row->chunks,
				  .bytes = row->bytes,
				  .collected = gone ? gone->chunks : 0,
				  .live = row->bytes - row->value_sum};
}

static void add_rows(struct result *table, const struct mprof_calls *calls,
		     enum mprof_verbosity verbosity, const struct group_table *types,
		     const struct group_table *freed)
{
	const struct model *model = calls->source->model;
	struct type_sums total = {0};

	for (u64 i = 0; i < types->rows.count; i++) {
		struct type_sums sums = sums_of(&types->rows.data[i], freed);

		total.allocations += sums.allocations;
		total.bytes += sums.bytes;
		total.collected += sums.collected;
		total.live += sums.live;
	}
	for (u64 i = 0; i < types->rows.count; i++) {
		const struct group_row *row = &types->rows.data[i];
		struct type_sums sums = sums_of(row, freed);

		if (mprof_is_shown(verbosity, sums.bytes, total.bytes))
			add_row(table, model, row->key ? model->types.data[row->key - 1] : "?",
				&sums, &total);
	}
	add_row(table, model, "", &total, &total);
}

struct result *analyse_lisp_types(const struct mprof_calls *calls, enum mprof_verbosity verbosity,
				  struct err *err)
{
	struct group_query all = {.key = by_type,
				  .keep = is_in_tables,
				  .value = group_freed_bytes,
				  .self = calls};
	struct group_query gone = {.key = by_type, .keep = is_freed, .self = calls};
	struct group_table types = {0}, freed = {0};
	struct result *table = result_table("types", "Allocation by type", columns);
	bool good = table && group_chunks(calls->source->model, &all, &types, err) == 0 &&
		    group_chunks(calls->source->model, &gone, &freed, err) == 0;

	if (good) {
		table->grid = true;
		group_sort(&types, group_order_bytes);
		add_rows(table, calls, verbosity, &types, &freed);
	}
	group_table_release(&types);
	group_table_release(&freed);
	return result_made_if(good, table, err, "the types");
}
