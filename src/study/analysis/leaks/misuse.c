/* SPDX-License-Identifier: MIT
 * Judges the frees that do not fit.
 * Host. Whatever may be a gap in the recording rather than an error of the program is called
 * possible, not certain. */
#include "study/analysis/leaks/misuse.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "study/analysis/summary/summary.h"
#include "host/base/units.h"
#include "study/model/each.h"
#include "study/result/field.h"

/* An unknown free on its way to a verdict. */
struct suspect {
	u64 address, ticks;
	u32 context, thread;
	u8 kind;
	u64 before; /* last chunk that began at the address before; NO_CHUNK = none */
	u64 around; /* live chunk that the address is inside of; NO_CHUNK = none */
};

struct judge {
	const struct stack_source *source;
	const struct model *model;
	struct misuse_table *table;
	VEC(struct suspect) suspects; /* by address */
	VEC(u64) last_ticks;          /* by thread: its last event on a known block */
	bool lost;                    /* events are missing: nothing is certain */
	bool gaps;                    /* some blocks may be unknown without any error */
	bool paused;
};

/* ---- blocks around a free ---- */

static int by_address(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static int gather(struct judge *self, struct err *err)
{
	const struct misfits *misfits = &self->model->misfits;

	for (u64 i = 0; i < misfits->unknown.count; i++) {
		const struct unknown_free *from = &misfits->unknown.data[i];
		struct suspect one = {.address = from->address,
				      .ticks = from->ticks,
				      .context = from->context,
				      .thread = from->thread,
				      .kind = from->kind,
				      .before = NO_CHUNK,
				      .around = NO_CHUNK};

		if (!vec_push(&self->suspects, one))
			return err_memory_for(err, "misuse of the heap");
	}
	if (self->suspects.count)
		qsort(self->suspects.data, self->suspects.count, sizeof *self->suspects.data,
		      by_address);
	return 0;
}

/* The first suspect at or above address. */
static u64 suspect_at(const struct judge *self, u64 address)
{
	u64 low = 0, high = self->suspects.count;

	while (low < high) {
		u64 middle = low + (high - low) / 2;

		if (self->suspects.data[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void note_chunk(struct judge *self, const struct chunk_page *page, u32 k, u64 chunk)
{
	u64 start = page->address[k], size = page->size[k] ? page->size[k] : 1;

	for (u64 i = suspect_at(self, start); i < self->suspects.count; i++) {
		struct suspect *one = &self->suspects.data[i];
		u64 offset = one->address - start;

		if (offset >= size)
			return;
		if (page->alloc_ticks[k] > one->ticks)
			continue;
		/* Chunks come in order of birth: a later one replaces an earlier one. */
		if (offset == 0)
			one->before = chunk;
		else if (!page->free_ticks[k] || page->free_ticks[k] > one->ticks)
			one->around = chunk;
	}
}

static bool note_thread(struct judge *self, u32 thread, u64 ticks)
{
	if (thread >= self->model->threads.count ||
	    !vec_extend(&self->last_ticks, self->model->threads.count))
		return false;
	if (ticks > self->last_ticks.data[thread])
		self->last_ticks.data[thread] = ticks;
	return true;
}

static void note_all(struct judge *self)
{
	EACH_CHUNK (chunk, self->model) {
		const struct chunk_page *page = chunk.page;

		note_chunk(self, page, chunk.at, chunk.number);
		note_thread(self, page->alloc_thread[chunk.at], page->alloc_ticks[chunk.at]);
		if (page->end[chunk.at] == CHUNK_FREED)
			note_thread(self, page->free_thread[chunk.at], page->free_ticks[chunk.at]);
	}
	for (u64 i = 0; i < self->suspects.count; i++)
		note_thread(self, self->suspects.data[i].thread, self->suspects.data[i].ticks);
}

/* ---- verdicts ---- */

/* Whether the free was the thread's last act and the program died of it, as glibc sees to. */
static bool was_fatal(const struct judge *self, const struct suspect *one)
{
	const struct stream_image_end *end = &self->model->end;

	if (!self->model->has_end || end->how != IMAGE_KILLED ||
	    one->thread >= self->last_ticks.count ||
	    self->last_ticks.data[one->thread] > one->ticks)
		return false;
	return end->value == SIGABRT || end->value == SIGSEGV || end->value == SIGBUS ||
	       end->value == SIGILL || end->value == SIGTRAP;
}

/* Whether the address is in the code or data of a module: no allocator hands that out. */
static bool is_static(const struct judge *self, const struct suspect *one)
{
	const struct modmap *modules = &self->model->contexts.modules;

	for (u32 i = 0; i < modules->module_count; i++) {
		const struct modmap_module *module = modmap_module(modules, i);

		if (module && one->address >= module->start && one->address < module->end &&
		    one->ticks >= module->loaded_ticks &&
		    (!module->unloaded_ticks || one->ticks < module->unloaded_ticks))
			return true;
	}
	return false;
}

/* The innermost frame; the root if there is none or no memory. */
static struct frame_id place(const struct judge *self, u32 context)
{
	struct frame_id frame = {0};

	if (model_place(self->model, context, &frame, NULL) < 0)
		frame.index = 0;
	return frame;
}

static void describe_block(const struct judge *self, u64 chunk, struct misuse_row *row)
{
	const struct chunk_page *page = chunk_at(&self->model->chunks, chunk);
	u32 k = (u32)(chunk % CHUNK_PAGE);

	row->alloc_kind = page->kind[k];
	row->allocated = place(self, page->alloc_context[k]);
	row->bytes = page->size[k];
	if (row->what == MISUSE_DOUBLE_FREE && page->end[k] == CHUNK_FREED)
		row->freed_first = place(self, page->free_context[k]);
}

static int judge_suspect(struct judge *self, const struct suspect *one, struct err *err)
{
	bool fatal = was_fatal(self, one);
	struct misuse_row row = {.what = one->before != NO_CHUNK   ? MISUSE_DOUBLE_FREE
					 : one->around != NO_CHUNK ? MISUSE_INSIDE
								   : MISUSE_INVALID,
				 .certain = fatal || !self->gaps,
				 .free_kind = one->kind,
				 .freed = place(self, one->context),
				 .count = 1,
				 .address = one->address,
				 .ticks = one->ticks};

	/* A block may have begun there in a pause, and ended later: no error is in sight. */
	if (self->paused && !fatal && row.what != MISUSE_INSIDE) {
		self->table->not_judged++;
		return 0;
	}
	/* The allocator took it without complaint: it may have handed it out to code that calls
	 * it past the recorder. */
	if (row.what == MISUSE_INVALID && !fatal && !is_static(self, one))
		row.certain = false;
	row.certain &= !self->lost;
	if (one->before != NO_CHUNK)
		describe_block(self, one->before, &row);
	else if (one->around != NO_CHUNK)
		describe_block(self, one->around, &row);
	return vec_push(&self->table->rows, row) ? 0 : err_memory_for(err, "misuse of the heap");
}

/* ---- families ---- */

enum named { NAMED_NOTHING, NAMED_OTHER, NAMED_OPERATOR };

/* Whether the function that called the allocator is a global operator of that name: a program may
 * have its own, which calls malloc or free. */
static enum named caller_name(const struct judge *self, struct frame_id frame, const char *operator)
{
	struct stack_names names = stack_names(self->source, frame);
	size_t bytes = strlen(operator);
	enum named found = NAMED_NOTHING;

	for (u32 i = 0; i < names.count; i++) {
		const char *function = names.frames[i].function;

		if (strncmp(function, operator, bytes) == 0 &&
		    (function[bytes] == '(' || function[bytes] == '[' || !function[bytes]))
			return NAMED_OPERATOR;
		if (*function)
			found = NAMED_OTHER;
	}
	return found;
}

static bool is_operator_kind(u32 kind)
{
	return kind == HW_NEW || kind == HW_NEW_ARRAY || kind == HW_DELETE ||
	       kind == HW_DELETE_ARRAY;
}

static int judge_mismatch(struct judge *self, const struct mismatch *mismatch, struct err *err)
{
	const struct chunk_page *page = chunk_at(&self->model->chunks, mismatch->chunk);
	u32 k = (u32)(mismatch->chunk % CHUNK_PAGE);
	struct misuse_row row = {.what = MISUSE_MISMATCH,
				 .certain = true,
				 .alloc_kind = mismatch->alloc_kind,
				 .free_kind = mismatch->free_kind,
				 .allocated = place(self, mismatch->alloc_context),
				 .freed = place(self, mismatch->free_context),
				 .count = mismatch->chunks,
				 .bytes = mismatch->bytes,
				 .address = page->address[k],
				 .ticks = page->free_ticks[k]};
	enum named named = NAMED_OTHER;

	if (!is_operator_kind(row.alloc_kind))
		named = caller_name(self, row.allocated, "operator new");
	else if (!is_operator_kind(row.free_kind))
		named = caller_name(self, row.freed, "operator delete");
	if (named == NAMED_OPERATOR)
		return 0;
	row.certain = named == NAMED_OTHER && !self->lost && !self->model->implied_frees;
	return vec_push(&self->table->rows, row) ? 0 : err_memory_for(err, "misuse of the heap");
}

/* ---- the whole ---- */

static int order(u64 a, u64 b) { return a < b ? -1 : a > b; }

/* 0 if both are one finding at several addresses. */
static int compare_finding(const struct misuse_row *x, const struct misuse_row *y)
{
	const u32 a[] = {!x->certain,         x->what,        x->alloc_kind,
			 x->free_kind,        x->freed.index, x->allocated.index,
			 x->freed_first.index};
	const u32 b[] = {!y->certain,         y->what,        y->alloc_kind,
			 y->free_kind,        y->freed.index, y->allocated.index,
			 y->freed_first.index};

	for (u32 i = 0; i < sizeof a / sizeof *a; i++)
		if (a[i] != b[i])
			return order(a[i], b[i]);
	return 0;
}

static int by_finding(const void *a, const void *b)
{
	const struct misuse_row *x = a, *y = b;
	int found = compare_finding(x, y);

	return found ? found : order(x->ticks, y->ticks);
}

static int by_severity(const void *a, const void *b)
{
	const struct misuse_row *x = a, *y = b;

	if (x->certain != y->certain)
		return x->certain ? -1 : 1;
	if (x->what != y->what)
		return order(x->what, y->what);
	return order(x->ticks, y->ticks);
}

static void merge_rows(struct misuse_table *self)
{
	u64 count = 0;

	if (!self->rows.count)
		return;
	qsort(self->rows.data, self->rows.count, sizeof *self->rows.data, by_finding);
	for (u64 i = 0; i < self->rows.count; i++) {
		const struct misuse_row *row = &self->rows.data[i];

		*(row->certain ? &self->certain : &self->possible) += row->count;
		if (count && compare_finding(&self->rows.data[count - 1], row) == 0) {
			self->rows.data[count - 1].count += row->count;
			self->rows.data[count - 1].bytes += row->bytes;
		} else {
			self->rows.data[count++] = *row;
		}
	}
	self->rows.count = count;
	qsort(self->rows.data, count, sizeof *self->rows.data, by_severity);
}

int misuse_find(const struct stack_source *source, const struct trace_info *info,
		struct misuse_table *self, struct err *err)
{
	const struct model *model = source->model;
	struct judge judge = {.source = source,
			      .model = model,
			      .table = self,
			      .lost = summary_lost_events(model) || (info && info->damaged_blocks),
			      .paused = model->pauses || model->image.flags & HW_RUN_CONTINUED};
	int status;

	self->unknown = model->whole != NULL;
	if (self->unknown)
		return 0;
	status = gather(&judge, err);
	judge.gaps = judge.lost || judge.paused || model->aggregated || model->implied_frees;
	if (status == 0 && judge.suspects.count)
		note_all(&judge);
	for (u64 i = 0; i < judge.suspects.count && status == 0; i++)
		status = judge_suspect(&judge, &judge.suspects.data[i], err);
	for (u64 i = 0; i < model->misfits.mismatches.count && status == 0; i++)
		status = judge_mismatch(&judge, &model->misfits.mismatches.data[i], err);
	self->not_listed = model->misfits.dropped;
	merge_rows(self);
	vec_release(&judge.suspects);
	vec_release(&judge.last_ticks);
	return status;
}

void misuse_table_release(struct misuse_table *self) { vec_release(&self->rows); }

/* ---- result ---- */

enum {
	AT_WHAT,
	AT_CERTAIN,
	AT_COUNT,
	AT_BYTES,
	AT_ADDRESS,
	AT_TIME,
	AT_ALLOCATED_WITH,
	AT_FREED_WITH,
	AT_KIND,
	AT_FREED,
	AT_FREED_FIRST,
	AT_ALLOCATED,
	COLUMNS
};

static const struct result_column columns[COLUMNS] = {
	[AT_WHAT] = COLUMN("what", "what", VALUE_TEXT, "the misuse in words"),
	[AT_CERTAIN] = COLUMN("certain", "certain", VALUE_BOOL,
			      "false: a gap in the recording may look the same"),
	[AT_COUNT] = COLUMN("count", "times", VALUE_COUNT, "wrong calls with these stacks"),
	[AT_BYTES] = COLUMN("bytes", "bytes", VALUE_BYTES, "requested size of the blocks"),
	[AT_ADDRESS] = COLUMN("address", "address", VALUE_ADDRESS, "first block that was freed"),
	[AT_TIME] = COLUMN("time_ns", "at", VALUE_NS, "time of the first wrong call"),
	[AT_ALLOCATED_WITH] = COLUMN("allocated_with", NULL, VALUE_TEXT, "function that allocated"),
	[AT_FREED_WITH] = COLUMN("freed_with", NULL, VALUE_TEXT, "function of the wrong free"),
	[AT_KIND] =
		COLUMN("kind", NULL, VALUE_TEXT, "double_free, inside, invalid_free or mismatch"),
	[AT_FREED] = COLUMN("stack", "freed wrongly by", VALUE_STACK, "stack of the wrong free"),
	[AT_FREED_FIRST] = COLUMN("first_free_stack", "freed first by", VALUE_STACK,
				  "stack of the first free, for double frees"),
	[AT_ALLOCATED] = COLUMN("allocation_stack", "allocated by", VALUE_STACK,
				"stack of the block's allocation"),
};

static const char *call_name(u32 kind)
{
	static const char *const names[HW_KIND_COUNT] = {
		[HW_MALLOC] = "malloc",   [HW_CALLOC] = "calloc",
		[HW_REALLOC] = "realloc", [HW_MEMALIGN] = "memalign",
		[HW_NEW] = "new",         [HW_NEW_ARRAY] = "new[]",
		[HW_FREE] = "free",       [HW_REALLOC_FREE] = "realloc",
		[HW_DELETE] = "delete",   [HW_DELETE_ARRAY] = "delete[]",
		[HW_POOL] = "pool",       [HW_POOL_FREE] = "pool",
	};

	return kind < HW_KIND_COUNT ? names[kind] : NULL;
}

static const char *words(const struct misuse_row *row, struct result *result)
{
	const char *with = call_name(row->free_kind), *from = call_name(row->alloc_kind);
	char text[128];

	if (row->what == MISUSE_MISMATCH)
		snprintf(text, sizeof text, "%s of a block from %s", with, from);
	else if (row->what == MISUSE_DOUBLE_FREE)
		snprintf(text, sizeof text,
			 row->free_kind == HW_REALLOC_FREE ? "realloc of a freed block"
							   : "double free (%s)",
			 with);
	else if (row->what == MISUSE_INSIDE)
		snprintf(text, sizeof text, "%s of an address inside a block", with);
	else
		snprintf(text, sizeof text, "%s of an address that was never allocated", with);
	return result_copy(result, text);
}

static struct value stack_value(const struct stack_source *source, struct frame_id frame,
				struct result *result)
{
	return frame.index ? value_stack(stack_of(source, frame, result)) : value_unknown();
}

static void add_row(struct result *result, const struct stack_source *source,
		    const struct misuse_row *misuse)
{
	static const char *const kinds[MISUSE_KINDS] = {[MISUSE_DOUBLE_FREE] = "double_free",
							[MISUSE_INSIDE] = "inside",
							[MISUSE_INVALID] = "invalid_free",
							[MISUSE_MISMATCH] = "mismatch"};
	struct value *row = result_add_row(result);
	bool block = misuse->alloc_kind != HW_NONE;

	if (!row)
		return;
	row[AT_WHAT] = value_text(words(misuse, result));
	row[AT_CERTAIN] = value_number(misuse->certain);
	row[AT_COUNT] = value_number(misuse->count);
	row[AT_BYTES] = block ? value_number(misuse->bytes) : value_unknown();
	row[AT_ADDRESS] = value_number(misuse->address);
	row[AT_TIME] = value_number(tick_clock_ns(&source->model->clock, misuse->ticks));
	row[AT_ALLOCATED_WITH] = value_text(call_name(misuse->alloc_kind));
	row[AT_FREED_WITH] = value_text(call_name(misuse->free_kind));
	row[AT_KIND] = value_text(kinds[misuse->what]);
	row[AT_FREED] = stack_value(source, misuse->freed, result);
	row[AT_FREED_FIRST] = stack_value(source, misuse->freed_first, result);
	row[AT_ALLOCATED] = stack_value(source, misuse->allocated, result);
}

static void add_caveats_of(struct result *result, const struct model *model,
			   const struct misuse_table *table)
{
	if (table->possible)
		result_add_caveat(result, "uncertain rows may be gaps in the recording: lost "
					  "events, calls that bypassed the recorder, or functions "
					  "without names");
	if (table->not_judged)
		result_add_caveat(result,
				  "not judged: %s of blocks that may have been allocated while "
				  "recording was paused",
				  units_things(table->not_judged, "free(s)").text);
	if (table->not_listed)
		result_add_caveat(result, "%s not listed",
				  units_things(table->not_listed, "more (row is|rows are)").text);
	if (model->image.sample_bytes)
		result_add_caveat(result, "sampled: double frees are not detected, and mismatches "
					  "only for chunks in the sample");
	if (table->rows.count && !(model->image.flags & HW_RUN_FREE_STACKS))
		result_add_caveat(result, "recorded without stacks of frees");
}

struct result *misuse_result(const struct stack_source *source, const struct misuse_table *table,
			     u64 top, struct err *err)
{
	struct result *result = result_new(RESULT_TABLE, "misuse", "Misuse of the heap");

	if (!result)
		return result_made(NULL, err, "misuse of the heap");
	result->empty = "none";
	result_set_columns(result, columns, COLUMNS);
	for (u64 i = 0; i < table->rows.count && (!top || i < top); i++)
		add_row(result, source, &table->rows.data[i]);
	if (top && table->rows.count > top)
		result_add_caveat(result, "%llu more: --top 0 shows all",
				  (unsigned long long)(table->rows.count - top));
	add_caveats_of(result, source->model, table);
	return result_made(result, err, "misuse of the heap");
}
