/* SPDX-License-Identifier: MIT
 * Judges the frees that do not fit.
 * Host. Whatever may be a gap in the recording rather than an error of the program is called
 * possible, not certain. */
#include "study/analysis/leaks/misuse.h"

#include <signal.h>
#include <string.h>

#include "host/trace/kinds.h"
#include "study/analysis/summary/summary.h"
#include "host/base/order.h"
#include "host/base/search.h"
#include "host/base/units.h"
#include "study/model/each.h"
#include "study/result/field.h"

/* An unknown free on its way to a verdict. */
struct suspect {
	struct unknown_free free;
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
	bool continued; /* there are blocks from before */
};

/* ---- blocks around a free ---- */

static int by_address(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	return rising(x->free.address, y->free.address) ?: rising(x->free.ticks, y->free.ticks);
}

static int gather(struct judge *self, struct err *err)
{
	const struct misfits *misfits = &self->model->misfits;

	for (u64 i = 0; i < misfits->unknown.count; i++) {
		struct suspect one = {misfits->unknown.data[i], NO_CHUNK, NO_CHUNK};

		if (!vec_push(&self->suspects, one))
			return err_memory_for(err, "misuse of the heap");
	}
	vec_sort(&self->suspects, by_address);
	return 0;
}

/* The first suspect at or above address. */
static u64 suspect_at(const struct judge *self, u64 address)
{
	return bisect(i, self->suspects.count, self->suspects.data[i].free.address < address);
}

static void note_chunk(struct judge *self, const struct chunk_page *page, u32 k, u64 chunk)
{
	u64 start = page->address[k], size = page->size[k] ? page->size[k] : 1;

	for (u64 i = suspect_at(self, start); i < self->suspects.count; i++) {
		struct suspect *one = &self->suspects.data[i];
		u64 offset = one->free.address - start;

		if (offset >= size)
			return;
		if (page->alloc_ticks[k] > one->free.ticks)
			continue;
		/* Chunks come in order of birth: a later one replaces an earlier one. */
		if (offset == 0)
			one->before = chunk;
		else if (!page->free_ticks[k] || page->free_ticks[k] > one->free.ticks)
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
		note_thread(self, self->suspects.data[i].free.thread,
			    self->suspects.data[i].free.ticks);
}

/* ---- verdicts ---- */

/* Whether the free was the thread's last act and the program died of it, as glibc sees to. */
static bool was_fatal(const struct judge *self, const struct suspect *one)
{
	const struct stream_image_end *end = &self->model->end;

	if (!self->model->has_end || end->how != IMAGE_KILLED ||
	    one->free.thread >= self->last_ticks.count ||
	    self->last_ticks.data[one->free.thread] > one->free.ticks)
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

		if (module && one->free.address >= module->start &&
		    one->free.address < module->end && one->free.ticks >= module->loaded_ticks &&
		    (!module->unloaded_ticks || one->free.ticks < module->unloaded_ticks))
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
				 .free_kind = one->free.kind,
				 .freed = place(self, one->free.context),
				 .count = 1,
				 .address = one->free.address,
				 .ticks = one->free.ticks};

	/* A block may have begun there in a pause or before the recording: no error is in sight. */
	if (!fatal && ((self->paused && row.what == MISUSE_DOUBLE_FREE) ||
		       ((self->paused || self->continued) && row.what == MISUSE_INVALID))) {
		self->table->not_judged++;
		return 0;
	}
	/* The allocator took it without complaint: it may have handed it out to code that calls
	 * it past the recorder. */
	if (row.what == MISUSE_INVALID && !fatal && !is_static(self, one))
		row.certain = false;
	row.certain &= !self->lost;
	if (row.what != MISUSE_INVALID)
		describe_block(self, row.what == MISUSE_INSIDE ? one->around : one->before, &row);
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
	struct misuse_row row = {.what = MISUSE_MISMATCH,
				 .certain = true,
				 .alloc_kind = mismatch->alloc_kind,
				 .free_kind = mismatch->free_kind,
				 .allocated = place(self, mismatch->alloc_context),
				 .freed = place(self, mismatch->free_context),
				 .count = mismatch->chunks,
				 .bytes = mismatch->bytes,
				 .address = mismatch->address,
				 .ticks = mismatch->ticks};
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

/* 0 if both are one finding at several addresses. */
static int compare_finding(const struct misuse_row *x, const struct misuse_row *y)
{
	return rising(!x->certain, !y->certain) ?: rising(x->what, y->what)
		       ?: rising(x->alloc_kind, y->alloc_kind)
		       ?: rising(x->free_kind, y->free_kind)
		       ?: rising(x->freed.index, y->freed.index)
		       ?: rising(x->allocated.index, y->allocated.index)
		       ?: rising(x->freed_first.index, y->freed_first.index);
}

static int by_finding(const void *a, const void *b)
{
	const struct misuse_row *x = a, *y = b;

	return compare_finding(x, y) ?: rising(x->ticks, y->ticks);
}

static int by_severity(const void *a, const void *b)
{
	const struct misuse_row *x = a, *y = b;

	return falling(x->certain, y->certain) ?: rising(x->what, y->what)
		       ?: rising(x->ticks, y->ticks);
}

static void merge_rows(struct misuse_table *self)
{
	u64 count = 0;

	vec_sort(&self->rows, by_finding);
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
	vec_sort(&self->rows, by_severity);
}

int misuse_find(const struct stack_source *source, const struct trace_info *info,
		struct misuse_table *self, struct err *err)
{
	const struct model *model = source->model;
	struct judge judge = {.source = source,
			      .model = model,
			      .table = self,
			      .lost = summary_lost_events(model) || (info && info->damaged_blocks),
			      .paused = model->pauses,
			      .continued = model->image.flags & HW_RUN_CONTINUED};
	int status;

	self->unknown = model->whole != NULL;
	if (self->unknown)
		return 0;
	status = gather(&judge, err);
	judge.gaps = judge.lost || judge.paused || model->aggregated || model->implied_frees;
	self->not_known = model_is_summary(model) ? judge.suspects.count : 0;
	self->wants_chunks = judge.suspects.count && !self->not_known && model_lacks_chunks(model);
	if (self->not_known)
		vec_clear(&judge.suspects);
	if (status == 0 && judge.suspects.count && !self->wants_chunks)
		note_all(&judge);
	for (u64 i = 0; i < judge.suspects.count && status == 0 && !self->wants_chunks; i++)
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

static const struct result_column columns[] = {
	COLUMN("what", "what", VALUE_TEXT, "the misuse in words"),
	COLUMN("certain", "certain", VALUE_BOOL, "false: a gap in the recording may look the same"),
	COLUMN("count", "times", VALUE_COUNT, "wrong calls with these stacks"),
	COLUMN("bytes", "bytes", VALUE_BYTES, "requested size of the blocks"),
	COLUMN("address", "address", VALUE_ADDRESS, "first block that was freed"),
	COLUMN("time_ns", "at", VALUE_NS, "time of the first wrong call"),
	COLUMN("allocated_with", NULL, VALUE_TEXT, "function that allocated"),
	COLUMN("freed_with", NULL, VALUE_TEXT, "function of the wrong free"),
	COLUMN("kind", NULL, VALUE_TEXT, "double_free, inside, invalid_free or mismatch"),
	COLUMN("stack", "freed wrongly by", VALUE_STACK, "stack of the wrong free"),
	COLUMN("first_free_stack", "freed first by", VALUE_STACK,
	       "stack of the first free, for double frees"),
	COLUMN("allocation_stack", "allocated by", VALUE_STACK, "stack of the block's allocation"),
};

static const char *call_name(u32 kind)
{
	return kind == HW_NEW_ARRAY      ? "new[]"
	       : kind == HW_DELETE_ARRAY ? "delete[]"
	       : kind == HW_POOL_FREE    ? "pool"
					 : kind_call(kind);
}

static const char *words(const struct misuse_row *row, struct result *result)
{
	const char *with = call_name(row->free_kind), *from = call_name(row->alloc_kind);

	if (row->what == MISUSE_MISMATCH)
		return result_format(result, "%s of a block from %s", with, from);
	if (row->what == MISUSE_DOUBLE_FREE && row->free_kind == HW_REALLOC_FREE)
		return "realloc of a freed block";
	if (row->what == MISUSE_DOUBLE_FREE)
		return result_format(result, "double free (%s)", with);
	if (row->what == MISUSE_INSIDE)
		return result_format(result, "%s of an address inside a block", with);
	return result_format(result, "%s of an address that was never allocated", with);
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

	result_row(result, value_text(words(misuse, result)), value_number(misuse->certain),
		   value_number(misuse->count),
		   value_if(misuse->alloc_kind != HW_NONE, value_number(misuse->bytes)),
		   value_number(misuse->address),
		   value_number(tick_clock_ns(&source->model->clock, misuse->ticks)),
		   value_text(call_name(misuse->alloc_kind)),
		   value_text(call_name(misuse->free_kind)), value_text(kinds[misuse->what]),
		   stack_value(source, misuse->freed, result),
		   stack_value(source, misuse->freed_first, result),
		   stack_value(source, misuse->allocated, result));
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
				  "not judged: %s of blocks that may have been allocated %s",
				  units_things(table->not_judged, "free(s)").text,
				  model->image.flags & HW_RUN_CONTINUED
					  ? "before this recording began"
					  : "while recording was paused");
	if (table->not_known)
		result_add_caveat(result,
				  "not judged: %s of unknown blocks; --summary keeps no "
				  "single chunks",
				  units_things(table->not_known, "free(s)").text);
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
	struct result *result = result_table("misuse", "Misuse of the heap", columns);

	if (!result)
		return result_made(NULL, err, "misuse of the heap");
	result->empty = "none";
	for (u64 i = 0; i < result_top(table->rows.count, top); i++)
		add_row(result, source, &table->rows.data[i]);
	result_add_more(result, table->rows.count, top);
	add_caveats_of(result, source->model, table);
	return result_made(result, err, "misuse of the heap");
}
