/* SPDX-License-Identifier: MIT
 * Masks: what is known before the chunks are looked at is decided here.
 * Host. */
#include "study/query/mask.h"

#include <string.h>

#include "study/query/entries.h"

struct mask_plan *mask_no_memory(struct planner *self)
{
	err_memory_for(self->err, "a query");
	return NULL;
}

struct mask_plan *mask_new(struct planner *self, enum mask_op op)
{
	struct mask_plan *mask = arena_new(self->arena, struct mask_plan);

	if (!mask)
		return mask_no_memory(self);
	mask->op = op;
	return mask;
}

struct mask_plan *mask_table(struct planner *self, enum index_kind index)
{
	struct mask_plan *mask = mask_new(self, MASK_TABLE);

	if (!mask)
		return NULL;
	mask->index = index;
	mask->count = index == INDEX_ENTRY ? self->entries->count
					   : domain_index_count(self->domain, index);
	mask->table = arena_alloc(self->arena, mask->count + 1);
	return mask->table ? mask : mask_no_memory(self);
}

/* ---- and, or, not ---- */

static struct mask_plan *mask_over(struct planner *self, enum mask_op op,
				   struct mask_plan *const *args, u32 count)
{
	struct mask_plan *mask = mask_new(self, op);

	if (!mask)
		return NULL;
	mask->args = arena_new_array(self->arena, struct mask_plan *, count);
	if (!mask->args)
		return mask_no_memory(self);
	/* Cheap ones go first, since what they leave out is not looked at. */
	for (u32 pass = 0; pass < 2; pass++)
		for (u32 i = 0; i < count; i++)
			if ((args[i]->op <= MASK_RANGE) == (pass == 0))
				mask->args[mask->count++] = args[i];
	return mask;
}

bool index_is_whole(enum index_kind index)
{
	return index != INDEX_FREE && index != INDEX_THREAD && index != INDEX_OWNER;
}

struct mask_plan *mask_not(struct planner *self, struct mask_plan *mask)
{
	struct mask_plan *other;

	if (!mask)
		return NULL;
	if (mask->op == MASK_ALL || mask->op == MASK_NONE)
		return mask_new(self, mask->op == MASK_ALL ? MASK_NONE : MASK_ALL);
	if (mask->op != MASK_TABLE || !index_is_whole(mask->index))
		return mask_over(self, MASK_NOT, &mask, 1);
	other = mask_table(self, mask->index);
	for (u64 i = 0; other && i < mask->count; i++)
		other->table[i] = !mask->table[i];
	return other;
}

static bool merge_tables(struct mask_plan *into, const struct mask_plan *from, enum mask_op op)
{
	if (into->op != MASK_TABLE || from->op != MASK_TABLE || into->index != from->index)
		return false;
	for (u64 i = 0; i < into->count; i++)
		into->table[i] = op == MASK_AND ? into->table[i] & from->table[i]
						: into->table[i] | from->table[i];
	return true;
}

static enum mask_op changes_nothing(enum mask_op op)
{
	return op == MASK_AND ? MASK_ALL : MASK_NONE;
}

bool mask_merge(struct mask_plan **args, u32 count, enum mask_op op, const struct mask_plan *mask)
{
	bool merged = mask->op == changes_nothing(op);

	for (u32 i = 0; i < count && !merged; i++)
		merged = merge_tables(args[i], mask, op);
	return merged;
}

/* Tables of one dictionary become one. */
struct mask_plan *mask_chain(struct planner *self, enum mask_op op, struct mask_plan **args,
			     u32 count)
{
	enum mask_op decides = op == MASK_AND ? MASK_NONE : MASK_ALL;
	u32 kept = 0;

	for (u32 i = 0; i < count; i++) {
		if (!args[i] || args[i]->op == decides)
			return args[i];
		if (!mask_merge(args, kept, op, args[i]))
			args[kept++] = args[i];
	}
	if (kept == 0)
		return mask_new(self, changes_nothing(op));
	return kept == 1 ? args[0] : mask_over(self, op, args, kept);
}

struct mask_plan *mask_both(struct planner *self, enum mask_op op, struct mask_plan *a,
			    struct mask_plan *b)
{
	struct mask_plan *args[2] = {a, b};

	return mask_chain(self, op, args, 2);
}

/* ---- ranges of columns ---- */

static struct mask_plan *range(struct planner *self, enum field column, u64 low, u64 high)
{
	struct mask_plan *mask = mask_new(self, low > high ? MASK_NONE : MASK_RANGE);

	if (!mask)
		return NULL;
	mask->column = column;
	mask->low = low;
	mask->high = high;
	return mask;
}

/* The least span of ticks that is at least ns long. */
static u64 span_ticks(const struct tick_clock *clock, u64 ns)
{
	u64 low = 0, high = 1ull << 62;

	if (tick_clock_span_ns(clock, (double)high) < (double)ns)
		return UINT64_MAX;
	while (low < high) {
		u64 middle = low + (high - low) / 2;

		if (floor(tick_clock_span_ns(clock, (double)middle)) >= (double)ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The column's own number from which on the field is at least `number`. */
static u64 column_from(const struct planner *self, enum field field, u64 number)
{
	const struct tick_clock *clock = &self->domain->model->clock;

	if (field == F_ALLOC || field == F_FREE)
		return tick_clock_ticks(clock, number);
	return field == F_LIFE ? span_ticks(clock, number) : number;
}

/* Whole numbers from low to high; both may be outside of what a u64 holds. */
static struct mask_plan *field_between(struct planner *self, enum field field, double low,
				       double high)
{
	u64 from, to = UINT64_MAX;

	if (!(low <= high) || high < 0 || low > 0x1p63)
		return mask_new(self, MASK_NONE);
	from = low <= 0 ? 0 : column_from(self, field, (u64)low);
	if (high < 0x1p62) {
		to = column_from(self, field, (u64)high + 1);
		if (to == 0)
			return mask_new(self, MASK_NONE);
		if (to != UINT64_MAX)
			to--;
	}
	return range(self, field, from, to);
}

struct mask_plan *mask_compare(struct planner *self, enum field field, enum expr_kind op,
			       double number)
{
	switch (op) {
	case EXPR_EQ:
		return field_between(self, field, number == floor(number) ? number : 1,
				     number == floor(number) ? number : 0);
	case EXPR_NE:
		return mask_both(self, MASK_OR, mask_compare(self, field, EXPR_LT, number),
				 mask_compare(self, field, EXPR_GT, number));
	case EXPR_LT: return field_between(self, field, 0, ceil(number) - 1);
	case EXPR_LE: return field_between(self, field, 0, floor(number));
	case EXPR_GT: return field_between(self, field, floor(number) + 1, INFINITY);
	default: return field_between(self, field, ceil(number), INFINITY);
	}
}

/* ---- ready-made ---- */

static struct mask_plan *mask_ends(struct planner *self, enum chunk_end end)
{
	struct mask_plan *mask = mask_table(self, INDEX_END);

	if (mask)
		mask->table[end] = 1;
	return mask;
}

struct mask_plan *mask_all(struct planner *self)
{
	return mask_not(self, mask_ends(self, CHUNK_ABSENT));
}

/* Allocated by then, and not yet freed. */
static struct mask_plan *born_but_not(struct planner *self, double by_ns, struct mask_plan *gone)
{
	return mask_both(self, MASK_AND, mask_compare(self, F_ALLOC, EXPR_LE, by_ns),
			 mask_not(self, gone));
}

struct mask_plan *mask_live_at(struct planner *self, u64 ns)
{
	return born_but_not(self, (double)ns, mask_compare(self, F_FREE, EXPR_LE, (double)ns));
}

struct mask_plan *mask_window(struct planner *self, const struct query_window *window)
{
	double from = (double)window->from_ns, to = (double)window->to_ns;

	if (window->mode != WINDOW_OVERLAP)
		return field_between(self, window->mode == WINDOW_ALLOC ? F_ALLOC : F_FREE, from,
				     to);
	return born_but_not(self, to, mask_compare(self, F_FREE, EXPR_LT, from));
}
