/* SPDX-License-Identifier: MIT
 * Plans over the chunk columns, block by block.
 * Host. The loops are plain, so that the compiler can do several chunks at once. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "study/query/plan.h"

double chunk_weight(const struct model *model, u64 size)
{
	u64 units, bytes;

	if (!model->count_shift)
		return 1;
	model_weigh(model, size, &units, &bytes);
	return (double)units / (double)(1ull << model->count_shift);
}

/* ---- fields ---- */

static bool was_freed(u8 end) { return end == CHUNK_FREED || end == CHUNK_IMPLIED; }

/* When it ended, for its life. */
static u64 life_ticks(const struct block *block, u32 i)
{
	const struct chunk_page *page = block->page;
	u64 end = was_freed(page->end[i]) ? page->free_ticks[i] : block->domain->model->last_ticks;

	return end > page->alloc_ticks[i] ? end - page->alloc_ticks[i] : 0;
}

static double access_number(enum field field, const struct block *block, u32 i)
{
	const struct model *model = block->domain->model;
	struct chunk_access access;
	u64 size = block->page->size[block->first + i], used;

	if (!model_chunk_access(model, block->chunk + i, &access))
		return NAN;
	switch (field) {
	case F_READS: return access_is_sided(&access, access.reads) ? (double)access.reads : NAN;
	case F_WRITES: return access_is_sided(&access, access.writes) ? (double)access.writes : NAN;
	case F_FIRST:
		return access.reads || access.writes
			       ? (double)tick_clock_ns(&model->clock, access.first_ticks)
			       : NAN;
	case F_LAST:
		return access.last_ticks ? (double)tick_clock_ns(&model->clock, access.last_ticks)
					 : NAN;
	case F_READS_LOW: return (double)access_least(&access, access.reads);
	case F_WRITES_LOW: return (double)access_least(&access, access.writes);
	case F_MULTI:
		return access_knows_threads(&access) ? (access.flags & ACCESS_SHARED) != 0 : NAN;
	default:
		used = access.covered != UINT64_MAX ? access.covered : access.high - access.low;
		return size ? (double)(used < size ? used : size) / (double)size : NAN;
	}
}

static double color_number(const struct block *block, u32 i)
{
	u8 number = block->colors ? block->colors[i] : 0;

	return number ? (double)block->palette[number - 1] : NAN;
}

/* Elements of a chunk's type: asked for seldom, and never by two threads (scan_blocks). */
static double element_count(const struct block *block, u32 i)
{
	struct type_answer answer =
		type_of_chunk((struct type_cascade *)&block->domain->types, block->chunk + i);

	return answer.count ? (double)answer.count : NAN;
}

static double field_number(enum field field, const struct block *block, u32 i)
{
	const struct chunk_page *page = block->page;
	const struct model *model = block->domain->model;
	u32 at = block->first + i;
	bool freed = was_freed(page->end[at]);

	switch (field) {
	case F_CHUNK: return (double)(block->chunk + i);
	case F_ADDR: return (double)page->address[at];
	case F_COUNT: return page->end[at] == CHUNK_ABSENT ? NAN : element_count(block, i);
	case F_ALLOC: return (double)tick_clock_ns(&model->clock, page->alloc_ticks[at]);
	case F_FREE:
		return freed ? (double)tick_clock_ns(&model->clock, page->free_ticks[at]) : NAN;
	case F_TEMPORARY: return freed && page->others[at] == 0;
	case F_OTHERS: return freed ? page->others[at] : NAN;
	case F_THREAD: return page->alloc_thread[at];
	case F_FREE_THREAD: return page->end[at] == CHUNK_FREED ? page->free_thread[at] : NAN;
	case F_COLOR: return color_number(block, i);
	default: return access_number(field, block, i);
	}
}

static void eval_retained(const struct block *block, double *out)
{
	const u64 *retained = block->domain->owners.tree.retained;
	u32 nodes[BLOCK];

	domain_nodes(block->domain, block->chunk, block->count, nodes);
	for (u32 i = 0; i < block->count; i++)
		out[i] = nodes[i] == UINT32_MAX ? NAN : (double)retained[nodes[i]];
}

static void eval_field(enum field field, const struct block *block, double *out)
{
	const u64 *size = block->page->size + block->first;
	double rate = tick_clock_span_ns(&block->domain->model->clock, 1);

	if (field == F_RETAINED) {
		eval_retained(block, out);
		return;
	}
	for (u32 i = 0; field == F_SIZE && i < block->count; i++)
		out[i] = (double)size[i];
	for (u32 i = 0; field == F_LIFE && i < block->count; i++)
		out[i] = floor((double)life_ticks(block, block->first + i) * rate);
	for (u32 i = 0; field == F_CHUNKS && i < block->count; i++)
		out[i] = chunk_weight(block->domain->model, size[i]);
	for (u32 i = 0; field != F_SIZE && field != F_LIFE && field != F_CHUNKS && i < block->count;
	     i++)
		out[i] = field_number(field, block, i);
}

/* ---- entries of dictionaries ---- */

static void widen(const u8 *column, u32 count, u32 *out)
{
	for (u32 i = 0; i < count; i++)
		out[i] = column[i];
}

static void type_entries(const struct block *block, u32 *out)
{
	const struct domain *domain = block->domain;
	const u32 *types = domain->type_pages[block->chunk / CHUNK_PAGE];
	const u32 *contexts = block->page->alloc_context + block->first;

	if (types)
		memcpy(out, types + block->first, block->count * sizeof *out);
	for (u32 i = 0; !types && i < block->count; i++)
		out[i] = contexts[i] < domain->contexts ? domain->type_by_context[contexts[i]] : 0;
}

static void owner_entries(const struct block *block, u32 *out)
{
	const u32 *shape_of = block->domain->owners.shape_of;

	domain_nodes(block->domain, block->chunk, block->count, out);
	for (u32 i = 0; i < block->count; i++)
		out[i] = out[i] == UINT32_MAX ? UINT32_MAX : shape_of[out[i]];
}

/* What each chunk of the block is looked up by; beyond the table for those that have none. */
static void block_entries(enum index_kind index, const struct block *block, u32 *out)
{
	const struct chunk_page *page = block->page;
	u32 first = block->first, count = block->count;

	switch (index) {
	case INDEX_POINT: memcpy(out, page->alloc_context + first, count * sizeof *out); break;
	case INDEX_FREE:
		for (u32 i = 0; i < count; i++)
			out[i] = page->end[first + i] == CHUNK_FREED ? page->free_context[first + i]
								     : UINT32_MAX;
		break;
	case INDEX_THREAD: memcpy(out, page->alloc_thread + first, count * sizeof *out); break;
	case INDEX_TYPE: type_entries(block, out); break;
	case INDEX_OWNER: owner_entries(block, out); break;
	case INDEX_KIND: widen(page->kind + first, count, out); break;
	case INDEX_END: widen(page->end + first, count, out); break;
	default: widen(page->chunk_class + first, count, out);
	}
}

static void eval_table(const struct value_plan *self, const struct block *block, double *out)
{
	u32 entries[BLOCK];

	block_entries(self->index, block, entries);
	for (u32 i = 0; i < block->count; i++)
		out[i] = entries[i] < self->count ? self->table[entries[i]] : NAN;
}

static void eval_categories(const struct value_plan *self, const struct block *block, double *out)
{
	u8 holds[BLOCK];

	for (u32 i = 0; i < block->count; i++)
		out[i] = NAN;
	for (u64 m = self->count; m-- > 0;) {
		mask_eval(self->masks[m], block, holds);
		for (u32 i = 0; i < block->count; i++)
			if (holds[i])
				out[i] = self->numbers[m];
	}
}

/* ---- values ---- */

/* The operator is the same in the whole block: each has a loop of its own. */
#define EACH(op, out, function)                                                                    \
	case op:                                                                                   \
		for (u32 i = 0; i < count; i++)                                                    \
			(out)[i] = function(a[i], op, b[i]);                                       \
		break

static void eval_calculation(const struct value_plan *self, const struct block *block, double *a)
{
	double right[BLOCK];
	const double *b = self->args[1] ? right : a;
	u32 count = block->count;

	value_eval(self->args[0], block, a);
	if (self->args[1])
		value_eval(self->args[1], block, right);
	switch (self->kind) {
		EACH(EXPR_NEGATE, a, expr_calculates);
		EACH(EXPR_ADD, a, expr_calculates);
		EACH(EXPR_SUBTRACT, a, expr_calculates);
		EACH(EXPR_MULTIPLY, a, expr_calculates);
		EACH(EXPR_DIVIDE, a, expr_calculates);
		EACH(EXPR_LEAST, a, expr_calculates);
		EACH(EXPR_GREATEST, a, expr_calculates);
		EACH(EXPR_LOG, a, expr_calculates);
	default: break;
	}
}

void value_eval(const struct value_plan *self, const struct block *block, double *out)
{
	switch (self->op) {
	case VALUE_CONSTANT:
		for (u32 i = 0; i < block->count; i++)
			out[i] = self->number;
		break;
	case VALUE_FIELD: eval_field(self->field, block, out); break;
	case VALUE_TABLE: eval_table(self, block, out); break;
	case VALUE_CATEGORIES: eval_categories(self, block, out); break;
	case VALUE_CALCULATED: eval_calculation(self, block, out);
	}
}

/* ---- masks ---- */

/* Fields that are columns of a page, so that they can be compared as they are. */
static const struct range_column {
	enum field field;
	u32 offset, bytes; /* of the column, and of a number in it */
	/* only of chunks that ended so; CHUNK_IMPLIED counts as freed, but has no freeing thread */
	bool freed, freed_by;
} range_columns[] = {
	{F_SIZE, offsetof(struct chunk_page, size), 8, false, false},
	{F_ADDR, offsetof(struct chunk_page, address), 8, false, false},
	{F_ALLOC, offsetof(struct chunk_page, alloc_ticks), 8, false, false},
	{F_FREE, offsetof(struct chunk_page, free_ticks), 8, true, false},
	{F_OTHERS, offsetof(struct chunk_page, others), 4, true, false},
	{F_THREAD, offsetof(struct chunk_page, alloc_thread), 4, false, false},
	{F_FREE_THREAD, offsetof(struct chunk_page, free_thread), 4, false, true},
};

static const struct range_column *range_column(enum field field)
{
	for (u32 i = 0; i < sizeof range_columns / sizeof *range_columns; i++)
		if (range_columns[i].field == field)
			return &range_columns[i];
	return NULL;
}

bool field_has_range(enum field field)
{
	return field == F_LIFE || field == F_CHUNK || range_column(field);
}

static void range_in_page(const struct mask_plan *self, const struct range_column *column,
			  const struct block *block, u8 *out)
{
	const u8 *start = (const u8 *)block->page + column->offset;
	const u64 *wide = (const u64 *)start + block->first;
	const u32 *narrow = (const u32 *)start + block->first;
	const u8 *end = block->page->end + block->first;
	u64 low = self->low, span = self->high - self->low;
	u32 count = block->count;

	for (u32 i = 0; column->bytes == 8 && i < count; i++)
		out[i] = wide[i] - low <= span;
	for (u32 i = 0; column->bytes == 4 && i < count; i++)
		out[i] = narrow[i] - low <= span;
	for (u32 i = 0; column->freed && i < count; i++)
		out[i] &= (end[i] == CHUNK_FREED) | (end[i] == CHUNK_IMPLIED);
	for (u32 i = 0; column->freed_by && i < count; i++)
		out[i] &= end[i] == CHUNK_FREED;
}

static void eval_range(const struct mask_plan *self, const struct block *block, u8 *out)
{
	const struct range_column *column = range_column(self->column);
	u64 low = self->low, span = self->high - self->low;
	u32 count = block->count;

	if (column)
		range_in_page(self, column, block, out);
	for (u32 i = 0; self->column == F_LIFE && i < count; i++)
		out[i] = life_ticks(block, block->first + i) - low <= span;
	for (u32 i = 0; self->column == F_CHUNK && i < count; i++)
		out[i] = block->chunk + i - low <= span;
}

static void eval_mask_table(const struct mask_plan *self, const struct block *block, u8 *out)
{
	const u8 *table = self->table, *end = block->page->end + block->first;
	u32 entries[BLOCK], count = block->count;

	if (self->index == INDEX_END) {
		for (u32 i = 0; i < count; i++)
			out[i] = table[end[i]];
		return;
	}
	block_entries(self->index, block, entries);
	for (u32 i = 0; i < count; i++)
		out[i] = entries[i] < self->count ? table[entries[i]] : 0;
}

static void eval_compare(const struct mask_plan *self, const struct block *block, u8 *out)
{
	double a[BLOCK], right[BLOCK];
	const double *b = self->left == self->right ? a : right;
	u32 count = block->count;

	value_eval(self->left, block, a);
	if (b != a)
		value_eval(self->right, block, right);
	switch (self->compare) {
		EACH(EXPR_EQ, out, expr_compares);
		EACH(EXPR_NE, out, expr_compares);
		EACH(EXPR_LT, out, expr_compares);
		EACH(EXPR_LE, out, expr_compares);
		EACH(EXPR_GT, out, expr_compares);
		EACH(EXPR_GE, out, expr_compares);
	default: break;
	}
}

static void eval_chain(const struct mask_plan *self, const struct block *block, u8 *out)
{
	u8 next[BLOCK];
	bool all = self->op == MASK_AND;
	u32 count = block->count;

	mask_eval(self->args[0], block, out);
	for (u64 k = 1; k < self->count; k++) {
		/* Nothing left to decide: all are 0 after and, or all 1 after or. */
		if (!memchr(out, all ? 1 : 0, count))
			return;
		mask_eval(self->args[k], block, next);
		for (u32 i = 0; i < count; i++)
			out[i] = all ? out[i] & next[i] : out[i] | next[i];
	}
}

void mask_eval(const struct mask_plan *self, const struct block *block, u8 *out)
{
	u32 count = block->count;

	switch (self->op) {
	case MASK_NONE:
	case MASK_ALL: memset(out, self->op == MASK_ALL, block->count); break;
	case MASK_TABLE: eval_mask_table(self, block, out); break;
	case MASK_RANGE: eval_range(self, block, out); break;
	case MASK_COMPARE: eval_compare(self, block, out); break;
	case MASK_NOT:
		mask_eval(self->args[0], block, out);
		for (u32 i = 0; i < count; i++)
			out[i] = !out[i];
		break;
	default: eval_chain(self, block, out);
	}
}

/* ---- zones ---- */

static enum zone_answer zone_range(const struct mask_plan *self, u64 first, u64 last)
{
	if (first > last || last < self->low || first > self->high)
		return ZONE_NONE;
	return first >= self->low && last <= self->high ? ZONE_ALL : ZONE_SOME;
}

static enum zone_answer zone_chain(const struct mask_plan *self, const struct chunk_zone *zone)
{
	enum zone_answer decided = self->op == MASK_AND ? ZONE_NONE : ZONE_ALL;
	enum zone_answer answer = self->op == MASK_AND ? ZONE_ALL : ZONE_NONE;

	for (u64 i = 0; i < self->count; i++) {
		enum zone_answer one = mask_zone(self->args[i], zone);

		if (one == decided)
			return decided;
		if (one == ZONE_SOME)
			answer = ZONE_SOME;
	}
	return answer;
}

enum zone_answer mask_zone(const struct mask_plan *self, const struct chunk_zone *zone)
{
	enum zone_answer answer;

	switch (self->op) {
	case MASK_NONE: return ZONE_NONE;
	case MASK_ALL: return ZONE_ALL;
	case MASK_AND:
	case MASK_OR: return zone_chain(self, zone);
	case MASK_NOT:
		answer = mask_zone(self->args[0], zone);
		return answer == ZONE_SOME ? ZONE_SOME : answer == ZONE_ALL ? ZONE_NONE : ZONE_ALL;
	case MASK_RANGE: break;
	default: return ZONE_SOME;
	}
	if (self->column == F_SIZE)
		return zone_range(self, zone->min_size, zone->max_size);
	if (self->column == F_ALLOC)
		return zone_range(self, zone->alloc_first, zone->alloc_last);
	if (self->column != F_FREE)
		return ZONE_SOME;
	answer = zone_range(self, zone->free_first, zone->free_last);
	return answer == ZONE_ALL && zone->unfreed ? ZONE_SOME : answer;
}
