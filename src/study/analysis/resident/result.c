/* SPDX-License-Identifier: MIT
 * The resident memory as tables.
 * Host. */
#include <math.h>
#include <string.h>

#include "study/analysis/resident/series.h"
#include "host/base/units.h"
#include "study/result/field.h"

static const struct {
	const char *name, *meaning;
} parts[PARTS + 3] = {
	[PART_REQUESTED] = {"requested", "live blocks, touched part"},
	[PART_SLACK] = {"slack", "headers and rounding of live blocks"},
	[PART_PINNED] = {"pinned", "free bytes of pages with live blocks"},
	[PART_CACHED] = {"cached", "free pages held by the allocator"},
	[PART_THREAD_CACHES] = {"thread_caches", "free blocks in caches of threads"},
	[PART_MAPPINGS] = {"mappings", "anonymous, not the allocator's"},
	[PART_FILES] = {"files", "mapped files without code"},
	[PART_CODE] = {"code", "program and libraries, code and data"},
	[PART_STACKS] = {"stacks", "stacks of all threads"},
	[PART_RECORDER] = {"recorder", "Heapwise's own memory"},
	[PARTS] = {"sum", "sum of these"},
	[PARTS + 1] = {"resident", "resident memory as the kernel reports it"},
	[PARTS + 2] = {"not_resident", "live blocks, untouched or swapped out"},
};

const char *resident_part_name(enum resident_part part) { return parts[part].name; }
const char *resident_part_meaning(enum resident_part part) { return parts[part].meaning; }

struct moment {
	const struct model_memory *memory; /* NULL = none */
	struct resident_account account;
};

struct moments {
	const struct resident_series *series;
	struct moment most, end;
	struct moment gap; /* none if it is one of the others */
};

static u64 part_bytes(const struct moment *moment, u32 part)
{
	if (part < PARTS)
		return moment->account.bytes[part];
	if (part == PARTS)
		return moment->account.sum_bytes;
	return part == PARTS + 1 ? moment->memory->rss_bytes : moment->account.absent_bytes;
}

static struct value cell(const struct moment *moment, u32 part)
{
	return moment->memory ? value_number(part_bytes(moment, part)) : value_unknown();
}

static struct value share(const struct moment *moment, u32 part)
{
	return moment->memory && part < PARTS ? value_real(units_share(part_bytes(moment, part),
								       moment->memory->rss_bytes))
					      : value_unknown();
}

static void add_caveats_of(struct result *table, const struct model *model,
			   const struct moments *moments)
{
	const struct model_memory *most = moments->most.memory;

	if (!most)
		return;
	if (moments->series->peak_bytes > most->rss_bytes + most->rss_bytes / 50)
		result_add_caveat(table,
				  "resident memory once reached %s, but the parts at that "
				  "moment are unknown; 'when most' is %s after the start",
				  units_bytes(moments->series->peak_bytes).text,
				  units_ns(tick_clock_ns(&model->clock, most->ticks)).text);
	if (model->image.sample_bytes)
		result_add_caveat(table, "only a sample of the blocks was recorded; most requested "
					 "memory counts as pinned or cached");
	if (model->aggregated || model->pauses)
		result_add_caveat(table, "some blocks are unknown; they count as pinned or cached");
}

enum { AT_GAP = 3 };

static const struct result_column columns[] = {
	COLUMN("part", "part", VALUE_TEXT, "part of the resident memory"),
	COLUMN("most_bytes", "when most", VALUE_BYTES,
	       "at the sampled moment with most resident memory"),
	COLUMN("most_share", "share", VALUE_SHARE, "share of the resident memory at that moment"),
	COLUMN("gap_bytes", "far above live", VALUE_BYTES,
	       "while resident memory stayed furthest above live bytes"),
	COLUMN("gap_share", "share", VALUE_SHARE, "share of the resident memory at that moment"),
	COLUMN("end_bytes", "at the end", VALUE_BYTES, "just before the program's end"),
	COLUMN("end_share", "share", VALUE_SHARE, "share of the resident memory at that moment"),
	COLUMN("meaning", "meaning", VALUE_TEXT, "what the part is"),
};

static void add_parts(struct result *table, const struct moments *moments)
{
	const struct moment *most = &moments->most, *gap = &moments->gap, *end = &moments->end;

	if (!gap->memory && !table->failed)
		table->columns.data[AT_GAP].label = table->columns.data[AT_GAP + 1].label = NULL;
	for (u32 i = 0; i < PARTS + 3 && most->memory; i++)
		result_row(table, value_text(parts[i].name), cell(most, i), share(most, i),
			   cell(gap, i), share(gap, i), cell(end, i), share(end, i),
			   value_text(parts[i].meaning));
}

/* One account is made of a look, though it be of two moments. */
static int find_moments(struct moments *self, const struct model *model, struct err *err)
{
	struct resident_gap gap;
	int status = resident_gap_find(&gap, model, self->series, resident_lasting_ns(model), err);

	self->most.memory = resident_most(model, 0, UINT64_MAX);
	self->end.memory = resident_last(model);
	if (status == 0 && self->most.memory)
		status = resident_account(model, self->most.memory, &self->most.account, err);
	if (self->end.memory == self->most.memory)
		self->end = self->most;
	else if (self->end.memory && status == 0)
		status = resident_account(model, self->end.memory, &self->end.account, err);
	if (gap.memory != self->most.memory && gap.memory != self->end.memory)
		self->gap = (struct moment){gap.memory, gap.account};
	return status;
}

struct result *analyse_resident(const struct model *model, const struct resident_series *series,
				struct err *err)
{
	struct result *table = result_table("memory", "Resident memory", columns);
	struct moments moments = {.series = series};
	bool good = table && find_moments(&moments, model, err) == 0;

	if (good) {
		add_parts(table, &moments);
		add_caveats_of(table, model, &moments);
		table->hidden_in_text = !moments.most.memory;
	}
	return result_made_if(good, table, err, "the resident memory");
}

/* ---- over time ---- */

struct result *analyse_resident_over_time(const struct model *model,
					  const struct resident_series *series, struct err *err)
{
	static const struct result_column over_time[] = {
		COLUMN("time_ns", "time", VALUE_NS, "time since the start of the recording"),
		COLUMN("rss_bytes", "resident", VALUE_BYTES, "resident memory, from /proc"),
		COLUMN("live_bytes", "live", VALUE_BYTES, "live requested bytes at that moment"),
		COLUMN("other_bytes", "other", VALUE_DELTA_BYTES, "resident minus live"),
	};
	struct result *table = result_table("memory_over_time", "Memory over time", over_time);

	for (u64 i = 0; table && i < series->points.count; i++) {
		const struct resident_point *point = &series->points.data[i];

		result_row(table, value_number(tick_clock_ns(&model->clock, point->ticks)),
			   value_number(point->rss_bytes), value_number(point->live_bytes),
			   value_signed((i64)point->rss_bytes - (i64)point->live_bytes));
	}
	if (table)
		table->hidden_in_text = true;
	return result_made(table, err, "the resident memory");
}

/* ---- drawn ---- */

enum { DRAWN_ROWS = 16, DRAWN_LEAST = 3, DRAWN_WIDTH = 40 };

static const char *picture(struct result *table, const struct resident_point *point, u64 most_bytes)
{
	u64 live = point->live_bytes < most_bytes ? point->live_bytes : most_bytes;
	u32 filled = (u32)((double)live / (double)most_bytes * DRAWN_WIDTH + 0.5);
	u32 end = (u32)((double)point->rss_bytes / (double)most_bytes * DRAWN_WIDTH + 0.5);
	char text[DRAWN_WIDTH + 1];

	end = end > filled ? end : filled;
	memset(text, '#', filled);
	memset(text + filled, '.', end - filled);
	text[end] = 0;
	return result_copy(table, text);
}

/* Of each sixteenth of the time the point at which most was resident. */
static void add_drawn(struct result *table, const struct model *model,
		      const struct resident_series *series)
{
	u64 begin_ns = tick_clock_ns(&model->clock, series->points.data[0].ticks);
	u64 last_ns =
		tick_clock_ns(&model->clock, series->points.data[series->points.count - 1].ticks);
	double step_ns = (double)(last_ns - begin_ns) / DRAWN_ROWS;
	u64 at = 0;

	for (u32 bin = 0; bin < DRAWN_ROWS; bin++) {
		const struct resident_point *highest = NULL;
		double end_ns =
			bin + 1 < DRAWN_ROWS ? (double)begin_ns + step_ns * (bin + 1) : INFINITY;

		for (; at < series->points.count &&
		       (double)tick_clock_ns(&model->clock, series->points.data[at].ticks) < end_ns;
		     at++)
			if (!highest || series->points.data[at].rss_bytes > highest->rss_bytes)
				highest = &series->points.data[at];
		if (highest)
			result_row(table,
				   value_number(tick_clock_ns(&model->clock, highest->ticks)),
				   value_number(highest->rss_bytes),
				   value_number(highest->live_bytes),
				   value_text(picture(table, highest, series->seen_bytes)));
	}
}

struct result *analyse_resident_drawn(const struct model *model,
				      const struct resident_series *series, struct err *err)
{
	static const struct result_column drawn[] = {
		COLUMN("time_ns", "time", VALUE_NS, "time since the start of the recording"),
		COLUMN("rss_bytes", "resident", VALUE_BYTES,
		       "highest resident memory in this interval"),
		COLUMN("live_bytes", "live", VALUE_BYTES, "live requested bytes at that moment"),
		COLUMN("picture", "live #, resident beyond it .", VALUE_TEXT, "the same as a bar"),
	};
	struct result *table = result_table("memory_drawn", "Memory over time", drawn);

	if (table && series->seen_bytes)
		add_drawn(table, model, series);
	if (table)
		table->hidden_in_text = result_rows(table) < DRAWN_LEAST;
	return result_made(table, err, "the resident memory");
}
