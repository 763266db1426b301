/* SPDX-License-Identifier: MIT
 * Sums of allocations by the function that made them.
 * Host. */
#include "study/analysis/mprof/direct.h"

#include "host/base/order.h"
#include "study/analysis/mprof/lisp.h"
#include "study/analysis/mprof/text.h"
#include "study/result/field.h"

enum { AT_SIZES = 2, AT_KEPT = AT_SIZES + MPROF_SIZES, AT_KEPT_SIZES };

static const struct result_column columns[] = {
	COLUMN("share", "% mem", VALUE_SHARE,
	       "share of all allocated memory that this function allocated", .look = LOOK_TENTHS),
	NUMBER_COLUMN("bytes", "bytes", VALUE_BYTES, "bytes allocated by this function"),
	SIZE_COLUMNS("", "% mem(size)", "share of all memory in its "),
	NUMBER_COLUMN("kept_bytes", "bytes kept", VALUE_BYTES,
		      "bytes allocated by this function and never freed", .joint = " | "),
	SIZE_COLUMNS("kept_", "% all kept", "share of all kept bytes in its "),
	NUMBER_COLUMN("calls", "calls", VALUE_COUNT, "allocations by this function",
		      .joint = " | "),
	COLUMN("name", "name", VALUE_TEXT, "the function"),
	COLUMN("module", NULL, VALUE_PATH, "file that contains the function"),
};

struct direct {
	struct mprof_sum all, kept;
	u32 function;
};

static int most_bytes_first(const void *a, const void *b)
{
	const struct direct *x = a, *y = b;

	return falling(x->all.bytes, y->all.bytes) ?: falling(x->all.calls, y->all.calls)
		       ?: rising(x->function, y->function);
}

static void add_row(struct result *table, const struct mprof_calls *calls,
		    const struct direct *direct, bool total)
{
	const struct mprof_function *function =
		total ? NULL : mprof_function(calls, (struct function_id){direct->function});

	result_row(table, mprof_whole(total, mprof_share(direct->all.bytes, calls->all.bytes)),
		   value_number(direct->all.bytes), SIZE_SHARES(&direct->all, calls->all.bytes),
		   value_number(direct->kept.bytes), SIZE_SHARES(&direct->kept, calls->kept.bytes),
		   value_units(calls->source->model, direct->all.calls),
		   total ? value_text("<TOTAL>")
			 : mprof_name(table, function->name, MPROF_NAME, ""),
		   total ? value_unknown() : mprof_module(table, calls, function));
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
	struct result *table = result_table("direct", "Direct allocation", columns);
	struct direct *by_function = calloc(calls->functions.count + 1, sizeof *by_function);
	struct direct total = {.all = calls->all, .kept = calls->kept};

	if (!table || !by_function) {
		free(by_function);
		result_free(table);
		return result_made(NULL, err, "the direct allocations");
	}
	table->grid = true;
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
	free(by_function);
	return result_made(table, err, "the direct allocations");
}
