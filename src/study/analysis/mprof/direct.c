/* SPDX-License-Identifier: MIT
 * Sums of allocations by the function that made them.
 * Host. */
#include "study/analysis/mprof/direct.h"

#include <string.h>

#include "study/analysis/mprof/lisp.h"
#include "study/analysis/mprof/text.h"

enum column {
	AT_SHARE,
	AT_BYTES,
	AT_SIZES,
	AT_KEPT = AT_SIZES + MPROF_SIZES,
	AT_KEPT_SIZES,
	AT_CALLS = AT_KEPT_SIZES + MPROF_SIZES,
	AT_NAME,
	AT_MODULE,
	COLUMNS
};

#define SIZE_COLUMN(name_, label_, joint_, over_, meaning_)                                        \
	{                                                                                          \
		.name = (name_), .label = (label_), .type = VALUE_SHARE, .look = LOOK_PERCENT,     \
		.joint = (joint_), .over = (over_), .meaning = (meaning_)                          \
	}
#define ALL_SIZES "% mem(size)"
#define KEPT_SIZES "% all kept"

static const struct result_column columns[COLUMNS] = {
	[AT_SHARE] = {.name = "share",
		      .label = "% mem",
		      .type = VALUE_SHARE,
		      .look = LOOK_TENTHS,
		      .meaning = "share of all allocated memory that this function allocated"},
	[AT_BYTES] = {.name = "bytes",
		      .label = "bytes",
		      .type = VALUE_BYTES,
		      .look = LOOK_PLAIN,
		      .meaning = "bytes allocated by this function"},
	[AT_SIZES] = SIZE_COLUMN("small", "s", " | ", ALL_SIZES,
				 "share of all memory in its chunks up to 32 bytes"),
	SIZE_COLUMN("medium", "m", " ", ALL_SIZES,
		    "share of all memory in its chunks of 33 to 256 bytes"),
	SIZE_COLUMN("large", "l", " ", ALL_SIZES,
		    "share of all memory in its chunks of 257 to 2048 bytes"),
	SIZE_COLUMN("extra_large", "x", " ", ALL_SIZES, "share of all memory in its larger chunks"),
	[AT_KEPT] = {.name = "kept_bytes",
		     .label = "bytes kept",
		     .type = VALUE_BYTES,
		     .look = LOOK_PLAIN,
		     .joint = " | ",
		     .meaning = "bytes allocated by this function and never freed"},
	[AT_KEPT_SIZES] = SIZE_COLUMN("kept_small", "s", " | ", KEPT_SIZES,
				      "share of all kept bytes in its chunks up to 32 bytes"),
	SIZE_COLUMN("kept_medium", "m", " ", KEPT_SIZES,
		    "share of all kept bytes in its chunks of 33 to 256 bytes"),
	SIZE_COLUMN("kept_large", "l", " ", KEPT_SIZES,
		    "share of all kept bytes in its chunks of 257 to 2048 bytes"),
	SIZE_COLUMN("kept_extra_large", "x", " ", KEPT_SIZES,
		    "share of all kept bytes in its larger chunks"),
	[AT_CALLS] = {.name = "calls",
		      .label = "calls",
		      .type = VALUE_COUNT,
		      .look = LOOK_PLAIN,
		      .joint = " | ",
		      .meaning = "allocations by this function"},
	[AT_NAME] = {.name = "name",
		     .label = "name",
		     .type = VALUE_TEXT,
		     .meaning = "the function"},
	[AT_MODULE] = {.name = "module",
		       .type = VALUE_PATH,
		       .meaning = "file that contains the function"},
};

struct direct {
	struct mprof_sum all, kept;
	u32 function;
};

static int most_bytes_first(const void *a, const void *b)
{
	const struct direct *x = a, *y = b;

	if (x->all.bytes != y->all.bytes)
		return x->all.bytes > y->all.bytes ? -1 : 1;
	if (x->all.calls != y->all.calls)
		return x->all.calls > y->all.calls ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void add_row(struct result *table, const struct mprof_calls *calls,
		    const struct direct *direct, bool total)
{
	struct value *row = result_add_row(table);
	const struct mprof_function *function;

	if (!row)
		return;
	row[AT_SHARE] = mprof_share(direct->all.bytes, calls->all.bytes);
	row[AT_BYTES] = value_number(direct->all.bytes);
	row[AT_KEPT] = value_number(direct->kept.bytes);
	for (u32 i = 0; i < MPROF_SIZES; i++) {
		row[AT_SIZES + i] = mprof_share(direct->all.sizes[i], calls->all.bytes);
		row[AT_KEPT_SIZES + i] = mprof_share(direct->kept.sizes[i], calls->kept.bytes);
	}
	row[AT_CALLS] = value_number(model_count(calls->source->model, direct->all.calls));
	if (total) {
		row[AT_SHARE].shown = "";
		row[AT_NAME] = value_text("<TOTAL>");
		return;
	}
	function = mprof_function(calls, (struct function_id){direct->function});
	row[AT_NAME] = value_text(result_copy(table, function->name));
	row[AT_NAME].shown = mprof_short_name(table, function->name, "");
	row[AT_MODULE] = value_text(mprof_module(table, calls, function));
}

static void use_lisp_columns(struct result *table)
{
	if (result_failed(table))
		return;
	for (u32 i = 0; i < MPROF_SIZES; i++) {
		lisp_column(table, AT_SIZES + i, i, "");
		lisp_column(table, AT_KEPT_SIZES + i, i, "collected_");
		table->columns.data[AT_SIZES + i].over = "% mem(type)";
		table->columns.data[AT_KEPT_SIZES + i].over = "% all collected";
	}
	table->columns.data[AT_KEPT].name = "collected_bytes";
	table->columns.data[AT_KEPT].label = "collected";
	table->columns.data[AT_KEPT].meaning = "bytes of its objects that the collector freed";
}

struct result *analyse_mprof_direct(const struct mprof_calls *calls, struct err *err)
{
	struct result *table = result_new(RESULT_TABLE, "direct", "Direct allocation");
	struct direct *by_function = calloc(calls->functions.count + 1, sizeof *by_function);
	struct direct total = {.all = calls->all, .kept = calls->kept};

	if (!table || !by_function)
		goto fail;
	table->grid = true;
	result_set_columns(table, columns, COLUMNS);
	if (calls->lisp)
		use_lisp_columns(table);
	for (u64 i = 0; i < calls->points.count; i++) {
		const struct mprof_point *point = &calls->points.data[i];
		u32 function = calls->calls.data[point->call].function.index;

		mprof_sum_add(&by_function[function].all, &point->all);
		mprof_sum_add(&by_function[function].kept, &point->kept);
	}
	for (u32 i = 0; i < calls->functions.count; i++)
		by_function[i].function = i;
	qsort(by_function, calls->functions.count, sizeof *by_function, most_bytes_first);
	add_row(table, calls, &total, true);
	for (u64 i = 0; i < calls->functions.count; i++)
		if (by_function[i].all.calls)
			add_row(table, calls, &by_function[i], false);
	if (result_failed(table))
		goto fail;
	free(by_function);
	return table;
fail:
	err_memory_for(err, "the direct allocations");
	free(by_function);
	result_free(table);
	return NULL;
}
