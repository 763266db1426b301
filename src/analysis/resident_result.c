/* SPDX-License-Identifier: MIT
 * The resident memory as tables.
 * Host. */
#include <stdlib.h>

#include "analysis/resident.h"
#include "base/units.h"

static const struct {
	const char *name, *meaning;
} parts[PARTS + 3] = {
	[PART_REQUESTED] = {"requested", "live blocks, as far as touched"},
	[PART_SLACK] = {"slack", "headers and rounding of live blocks"},
	[PART_FRAGMENTATION] = {"fragmentation", "rest of the pages with live blocks"},
	[PART_CACHED] = {"cached", "free pages that the allocator keeps"},
	[PART_MAPPINGS] = {"mappings", "anonymous, not the allocator's"},
	[PART_FILES] = {"files", "mapped files without code"},
	[PART_CODE] = {"code", "program and libraries, code and data"},
	[PART_STACKS] = {"stacks", "stacks of all threads"},
	[PART_RECORDER] = {"recorder", "Heapwise's own, not the program's"},
	[PARTS] = {"sum", "all of these"},
	[PARTS + 1] = {"resident", "what the kernel says"},
	[PARTS + 2] = {"not_resident", "live blocks, untouched or swapped out"},
};

struct moment {
	const struct model_memory *memory; /* NULL = none */
	struct resident_account account;
};

static u64 part_bytes(const struct moment *moment, u32 part)
{
	if (part < PARTS)
		return moment->account.bytes[part];
	if (part == PARTS)
		return moment->account.sum_bytes;
	return part == PARTS + 1 ? moment->memory->rss_bytes : moment->account.absent_bytes;
}

static void add_cells(struct value *row, const struct moment *moment, u32 part)
{
	u64 bytes;

	if (!moment->memory)
		return;
	bytes = part_bytes(moment, part);
	row[0] = value_number(bytes);
	if (part < PARTS)
		row[1] = value_real(units_share(bytes, moment->memory->rss_bytes));
}

static void add_caveats_of(struct result *table, const struct model *model,
			   const struct moment *most)
{
	u64 high = 0;

	for (u64 i = 0; i < model->memory.count; i++)
		if (model->memory.data[i].high_bytes > high)
			high = model->memory.data[i].high_bytes;
	if (!most->memory)
		return;
	if (high > most->memory->rss_bytes + most->memory->rss_bytes / 50)
		result_add_caveat(
			table,
			"the kernel once saw %s, between two looks; 'at most' is %s after "
			"the start",
			units_bytes(high).text,
			units_ns(tick_clock_ns(&model->clock, most->memory->ticks)).text);
	if (model->image.sample_bytes)
		result_add_caveat(table, "only a sample of the blocks is known: most of what is "
					 "requested counts as fragmentation or cached");
	if (model->aggregated || model->pauses)
		result_add_caveat(table, "not all blocks are known: those that are not count as "
					 "fragmentation or cached");
}

struct result *analyse_resident(const struct model *model, struct err *err)
{
	static const struct result_column columns[] = {
		COLUMN("part", "part", VALUE_TEXT, "part of the resident memory"),
		COLUMN("most_bytes", "at most", VALUE_BYTES,
		       "when most memory was resident, of the moments that were looked at"),
		COLUMN("most_share", "share", VALUE_SHARE, "of the resident memory then"),
		COLUMN("end_bytes", "at the end", VALUE_BYTES, "just before the program's end"),
		COLUMN("end_share", "share", VALUE_SHARE, "of the resident memory then"),
		COLUMN("meaning", "meaning", VALUE_TEXT, "what the part is"),
	};
	struct moment most = {.memory = resident_most(model)},
		      end = {.memory = resident_last(model)};
	struct result *table = result_new(RESULT_TABLE, "memory", "Resident memory");
	int status = 0;

	if (most.memory)
		status = resident_account(model, most.memory, &most.account, err);
	if (end.memory == most.memory)
		end = most;
	else if (end.memory && status == 0)
		status = resident_account(model, end.memory, &end.account, err);
	if (table)
		result_set_columns(table, columns, sizeof columns / sizeof *columns);
	for (u32 i = 0; table && i < PARTS + 3 && most.memory; i++) {
		struct value *row = result_add_row(table);

		if (!row)
			break;
		row[0] = value_text(parts[i].name);
		add_cells(row + 1, &most, i);
		add_cells(row + 3, &end, i);
		row[5] = value_text(parts[i].meaning);
	}
	if (table)
		add_caveats_of(table, model, &most);
	if (table && status == 0 && !result_failed(table)) {
		table->hidden_in_text = !most.memory;
		return table;
	}
	err_set(err, ERR_MEMORY, "out of memory for the resident memory");
	result_free(table);
	return NULL;
}

/* ---- over time ---- */

/* The first sample that is not before the ticks. */
static u64 sample_from(const struct model *model, u64 ticks)
{
	u64 low = 0, high = model->usage.count;

	while (low < high) {
		u64 middle = (low + high) / 2;

		if (model->usage.data[middle].ticks < ticks)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What was live at each sample, in bytes, as differences from the sample before. */
static i64 *live_steps(const struct model *model)
{
	i64 *steps = calloc(model->usage.count + 1, sizeof *steps);

	for (u64 chunk = 0; steps && model->usage.count && chunk < model->chunks.count; chunk++) {
		const struct chunk_page *page = chunk_at(&model->chunks, chunk);
		u64 at = chunk % CHUNK_PAGE, units, bytes, first, last;

		model_pass(model, chunk);
		if (!page || page->end[at] == CHUNK_ABSENT)
			continue;
		first = sample_from(model, page->alloc_ticks[at]);
		last = page->free_ticks[at] ? sample_from(model, page->free_ticks[at])
					    : model->usage.count;
		if (last <= first)
			continue;
		model_weigh(model, page->size[at], &units, &bytes);
		steps[first] += (i64)bytes;
		steps[last] -= (i64)bytes;
	}
	return steps;
}

struct result *analyse_resident_over_time(const struct model *model, struct err *err)
{
	static const struct result_column columns[] = {
		COLUMN("time_ns", "time", VALUE_NS, "when, from the start of the recording"),
		COLUMN("rss_bytes", "resident", VALUE_BYTES, "resident memory, of /proc"),
		COLUMN("live_bytes", "live", VALUE_BYTES, "requested bytes that were live then"),
		COLUMN("other_bytes", "other", VALUE_DELTA_BYTES, "resident less live"),
	};
	struct result *table = result_new(RESULT_TABLE, "memory_over_time", "Memory over time");
	i64 *steps = table ? live_steps(model) : NULL;
	i64 live = 0;

	if (table)
		result_set_columns(table, columns, sizeof columns / sizeof *columns);
	for (u64 i = 0; steps && i < model->usage.count; i++) {
		const struct stream_usage *usage = &model->usage.data[i];
		struct value *row = result_add_row(table);

		if (!row)
			break;
		live += steps[i];
		row[0] = value_number(tick_clock_ns(&model->clock, usage->ticks));
		row[1] = value_number(usage->rss_bytes);
		row[2] = value_number((u64)live);
		row[3] = value_signed((i64)usage->rss_bytes - live);
	}
	if (steps && !result_failed(table)) {
		table->hidden_in_text = true;
		free(steps);
		return table;
	}
	free(steps);
	err_set(err, ERR_MEMORY, "out of memory for the resident memory");
	result_free(table);
	return NULL;
}
