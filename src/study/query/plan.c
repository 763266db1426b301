/* SPDX-License-Identifier: MIT
 * Expressions → plans.
 * Host. */
#include "study/query/plan.h"

#include <math.h>
#include <string.h>

static struct mask_plan *no_memory(struct planner *self)
{
	err_memory_for(self->err, "a query");
	return NULL;
}

static struct mask_plan *mask_new(struct planner *self, enum mask_op op)
{
	struct mask_plan *mask = arena_new(self->arena, struct mask_plan);

	if (!mask)
		return no_memory(self);
	mask->op = op;
	return mask;
}

static struct value_plan *value_new(struct planner *self, enum value_op op)
{
	struct value_plan *value = arena_new(self->arena, struct value_plan);

	if (!value) {
		no_memory(self);
		return NULL;
	}
	value->op = op;
	return value;
}

static struct mask_plan *table_new(struct planner *self, enum index_kind index)
{
	struct mask_plan *mask = mask_new(self, MASK_TABLE);

	if (!mask)
		return NULL;
	mask->index = index;
	mask->count = domain_index_count(self->domain, index);
	mask->table = arena_alloc(self->arena, mask->count + 1);
	return mask->table ? mask : no_memory(self);
}

/* Chunks that ended so. */
static struct mask_plan *ends(struct planner *self, enum chunk_end end)
{
	struct mask_plan *mask = table_new(self, INDEX_END);

	if (mask)
		mask->table[end] = 1;
	return mask;
}

/* ---- and, or, not ---- */

/* Where every chunk has an entry, so that a table can be turned round. */
static bool index_is_whole(enum index_kind index)
{
	return index != INDEX_FREE && index != INDEX_THREAD;
}

static struct mask_plan *negate(struct planner *self, struct mask_plan *mask)
{
	struct mask_plan *other;

	if (!mask)
		return NULL;
	if (mask->op == MASK_ALL || mask->op == MASK_NONE)
		return mask_new(self, mask->op == MASK_ALL ? MASK_NONE : MASK_ALL);
	if (mask->op == MASK_TABLE && index_is_whole(mask->index)) {
		for (u64 i = 0; i < mask->count; i++)
			mask->table[i] = !mask->table[i];
		return mask;
	}
	other = mask_new(self, MASK_NOT);
	if (!other)
		return NULL;
	other->args = arena_new_array(self->arena, struct mask_plan *, 1);
	if (!other->args)
		return no_memory(self);
	other->args[0] = mask;
	other->count = 1;
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

/* Tables of one dictionary become one; cheap ones go first, since what they leave out is not looked
 * at. */
static struct mask_plan *combine(struct planner *self, enum mask_op op, struct mask_plan **args,
				 u32 count)
{
	struct mask_plan *mask = mask_new(self, op);
	u32 kept = 0;

	if (!mask)
		return NULL;
	for (u32 i = 0; i < count; i++) {
		bool merged = false;

		if (!args[i])
			return NULL;
		for (u32 k = 0; k < kept && !merged; k++)
			merged = merge_tables(args[k], args[i], op);
		if (!merged)
			args[kept++] = args[i];
	}
	if (kept == 1)
		return args[0];
	mask->args = arena_new_array(self->arena, struct mask_plan *, kept);
	if (!mask->args)
		return no_memory(self);
	for (u32 pass = 0; pass < 2; pass++)
		for (u32 i = 0; i < kept; i++)
			if ((args[i]->op <= MASK_RANGE) == (pass == 0))
				mask->args[mask->count++] = args[i];
	return mask;
}

static struct mask_plan *both(struct planner *self, enum mask_op op, struct mask_plan *a,
			      struct mask_plan *b)
{
	struct mask_plan *args[2] = {a, b};

	return combine(self, op, args, 2);
}

static struct mask_plan *plan_chain(struct planner *self, enum mask_op op, const struct expr *expr)
{
	struct mask_plan **args = arena_new_array(self->arena, struct mask_plan *, expr->count);

	if (!args)
		return no_memory(self);
	for (u32 i = 0; i < expr->count; i++) {
		args[i] = plan_mask(self, expr->args[i]);
		if (!args[i])
			return NULL;
	}
	return combine(self, op, args, expr->count);
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

static bool has_range(enum field field)
{
	return field == F_SIZE || field == F_ADDR || field == F_ALLOC || field == F_FREE ||
	       field == F_LIFE || field == F_OTHERS || field == F_CHUNK || field == F_THREAD ||
	       field == F_FREE_THREAD;
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

static struct mask_plan *plan_range(struct planner *self, enum field field, enum expr_kind op,
				    double number)
{
	switch (op) {
	case EXPR_EQ:
		return field_between(self, field, number == floor(number) ? number : 1,
				     number == floor(number) ? number : 0);
	case EXPR_NE:
		return both(self, MASK_OR, plan_range(self, field, EXPR_LT, number),
			    plan_range(self, field, EXPR_GT, number));
	case EXPR_LT: return field_between(self, field, 0, ceil(number) - 1);
	case EXPR_LE: return field_between(self, field, 0, floor(number));
	case EXPR_GT: return field_between(self, field, floor(number) + 1, INFINITY);
	default: return field_between(self, field, ceil(number), INFINITY);
	}
}

/* ---- values ---- */

static double constant_of(const struct expr *expr)
{
	return expr->unit == UNIT_PERCENT ? expr->number / 100 : expr->number;
}

/* A number that depends on nothing. */
static bool is_constant(const struct expr *expr, double *number)
{
	if (expr->kind == EXPR_NUMBER)
		*number = constant_of(expr);
	else if (expr->kind == EXPR_NEGATE && is_constant(expr->args[0], number))
		*number = -*number;
	else
		return false;
	return true;
}

/* The first category that holds, in the order of their lets; its number is that in the order of
 * their names. */
static struct value_plan *plan_categories(struct planner *self)
{
	struct value_plan *value = value_new(self, VALUE_CATEGORIES);
	u64 lets = self->query->lets.count;
	double *numbers = arena_new_array(self->arena, double, lets);

	if (!value || !numbers)
		return NULL;
	value->masks = arena_new_array(self->arena, struct mask_plan *, lets);
	value->numbers = numbers;
	if (!value->masks) {
		no_memory(self);
		return NULL;
	}
	for (u64 i = 0; i < lets; i++) {
		const struct query_let *let = &self->query->lets.data[i];

		if (let->kind != LET_CATEGORY)
			continue;
		for (u64 k = 0; k < lets; k++)
			numbers[value->count] +=
				self->query->lets.data[k].kind == LET_CATEGORY &&
				strcmp(self->query->lets.data[k].name, let->name) < 0;
		value->masks[value->count] = plan_mask(self, let->expr);
		if (!value->masks[value->count++])
			return NULL;
	}
	return value;
}

struct value_plan *plan_field(struct planner *self, enum field field)
{
	const struct field_table *table = NULL;
	struct value_plan *value;

	if (field == F_CATEGORY)
		return plan_categories(self);
	if (query_fields[field].type == FIELD_TEXTS && field != F_FREE_STACK)
		field = F_POINT;
	value = value_new(self, VALUE_FIELD);
	if (!value)
		return NULL;
	value->field = field;
	value->index = field_index(field);
	if (field == F_COUNT && domain_need_types(self->domain, self->err) < 0)
		return NULL;
	if (value->index == INDEX_NONE)
		return value;
	table = domain_table(self->domain, field, self->err);
	if (!table)
		return NULL;
	value->op = VALUE_TABLE;
	value->table = table->numbers;
	value->count = table->count;
	return value;
}

/* A condition as a number: 1 or 0. */
static struct value_plan *plan_truth(struct planner *self, const struct expr *expr)
{
	struct value_plan *value = value_new(self, VALUE_CATEGORIES);
	double *numbers = arena_new_array(self->arena, double, 2);

	if (!value || !numbers)
		return NULL;
	numbers[0] = 1;
	value->numbers = numbers;
	value->masks = arena_new_array(self->arena, struct mask_plan *, 2);
	if (!value->masks)
		return NULL;
	value->masks[0] = plan_mask(self, expr);
	value->masks[1] = mask_new(self, MASK_ALL);
	value->count = 2;
	return value->masks[0] && value->masks[1] ? value : NULL;
}

struct value_plan *plan_key(struct planner *self, const struct query_key *key)
{
	const struct query_let *let = key->is_user ? &self->query->lets.data[key->user] : NULL;

	if (!let)
		return plan_field(self, key->field);
	if (let->kind == LET_SCORE)
		return plan_value(self, let->expr);
	return plan_truth(self, let->expr);
}

const char *const *plan_texts(struct planner *self, const struct query_key *key, u32 *count)
{
	const struct field_table *table;
	const char **names;

	*count = 0;
	if (key->is_user)
		return NULL;
	if (key->field != F_CATEGORY) {
		table = query_fields[key->field].type == FIELD_TEXT
				? domain_table(self->domain, key->field, self->err)
				: NULL;
		*count = table ? table->text_count : 0;
		return table ? table->texts : NULL;
	}
	names = arena_new_array(self->arena, const char *, self->query->lets.count);
	for (u64 i = 0; names && i < self->query->lets.count; i++) {
		const char *name = self->query->lets.data[i].name;
		u32 at;

		if (self->query->lets.data[i].kind != LET_CATEGORY)
			continue;
		for (at = (*count)++; at > 0 && strcmp(names[at - 1], name) > 0; at--)
			names[at] = names[at - 1];
		names[at] = name;
	}
	return names;
}

static struct value_plan *plan_calculation(struct planner *self, enum value_op op,
					   const struct expr *expr)
{
	struct value_plan *value = value_new(self, op);

	for (u32 i = 0; value && i < expr->count && i < 2; i++) {
		value->args[i] = plan_value(self, expr->args[i]);
		if (!value->args[i])
			return NULL;
	}
	return value;
}

struct value_plan *plan_value(struct planner *self, const struct expr *expr)
{
	struct value_plan *value;

	switch (expr->kind) {
	case EXPR_NUMBER:
	case EXPR_COLOR:
	case EXPR_BOOL:
		value = value_new(self, VALUE_CONSTANT);
		if (value)
			value->number = constant_of(expr);
		return value;
	case EXPR_FIELD: return plan_field(self, expr->field);
	case EXPR_SCORE:
	case EXPR_CATEGORY:
		return plan_key(self, &(struct query_key){.is_user = true, .user = expr->user});
	case EXPR_NEGATE: return plan_calculation(self, VALUE_NEGATE, expr);
	case EXPR_ADD: return plan_calculation(self, VALUE_ADD, expr);
	case EXPR_SUBTRACT: return plan_calculation(self, VALUE_SUBTRACT, expr);
	case EXPR_MULTIPLY: return plan_calculation(self, VALUE_MULTIPLY, expr);
	case EXPR_DIVIDE: return plan_calculation(self, VALUE_DIVIDE, expr);
	case EXPR_LEAST: return plan_calculation(self, VALUE_LEAST, expr);
	case EXPR_GREATEST: return plan_calculation(self, VALUE_GREATEST, expr);
	case EXPR_LOG: return plan_calculation(self, VALUE_LOG, expr);
	default: return plan_truth(self, expr);
	}
}

/* ---- comparisons ---- */

/* The one dictionary that a value is known by: INDEX_NONE if there is none, or several. */
static bool one_index(const struct value_plan *value, enum index_kind *index)
{
	if (value->op == VALUE_FIELD || value->op == VALUE_CATEGORIES)
		return false;
	if (value->op == VALUE_TABLE) {
		if (*index != INDEX_NONE && *index != value->index)
			return false;
		*index = value->index;
	}
	for (u32 i = 0; i < 2; i++)
		if (value->args[i] && !one_index(value->args[i], index))
			return false;
	return true;
}

static double value_of_entry(const struct value_plan *value, u64 entry)
{
	double a = value->args[0] ? value_of_entry(value->args[0], entry) : 0;
	double b = value->args[1] ? value_of_entry(value->args[1], entry) : 0;

	switch (value->op) {
	case VALUE_CONSTANT: return value->number;
	case VALUE_TABLE: return value->table[entry];
	case VALUE_NEGATE: return -a;
	case VALUE_ADD: return a + b;
	case VALUE_SUBTRACT: return a - b;
	case VALUE_MULTIPLY: return a * b;
	case VALUE_DIVIDE: return a / b;
	case VALUE_LEAST: return a < b ? a : b;
	case VALUE_GREATEST: return a > b ? a : b;
	case VALUE_LOG: return log2(a);
	default: return NAN;
	}
}

static struct mask_plan *compare_values(struct planner *self, enum expr_kind op,
					struct value_plan *left, struct value_plan *right)
{
	enum index_kind index = INDEX_NONE;
	struct mask_plan *mask;

	if (!left || !right)
		return NULL;
	if (one_index(left, &index) && one_index(right, &index) && index != INDEX_NONE) {
		mask = table_new(self, index);
		for (u64 i = 0; mask && i < mask->count; i++)
			mask->table[i] = expr_compares(value_of_entry(left, i), op,
						       value_of_entry(right, i));
		return mask;
	}
	mask = mask_new(self, MASK_COMPARE);
	if (!mask)
		return NULL;
	mask->compare = op;
	mask->left = left;
	mask->right = right;
	return mask;
}

static enum expr_kind mirrored(enum expr_kind op)
{
	switch (op) {
	case EXPR_LT: return EXPR_GT;
	case EXPR_LE: return EXPR_GE;
	case EXPR_GT: return EXPR_LT;
	case EXPR_GE: return EXPR_LE;
	default: return op;
	}
}

static struct mask_plan *plan_numbers(struct planner *self, enum expr_kind op,
				      const struct expr *left, const struct expr *right)
{
	double number;

	if (left->kind == EXPR_FIELD && has_range(left->field) && is_constant(right, &number))
		return plan_range(self, left->field, op, number);
	if (right->kind == EXPR_FIELD && has_range(right->field) && is_constant(left, &number))
		return plan_range(self, right->field, mirrored(op), number);
	return compare_values(self, op, plan_value(self, left), plan_value(self, right));
}

/* ---- texts ---- */

static struct mask_plan *plan_frames(struct planner *self, enum field field, struct text_test *test)
{
	bool frees = field == F_FREE_STACK;
	u8 *matching = domain_frames_matching(self->domain, frees ? F_STACK : field, test, false,
					      self->err);
	struct mask_plan *mask =
		matching ? table_new(self, frees ? INDEX_FREE : INDEX_POINT) : NULL;

	for (u64 i = 0; mask && i < mask->count; i++)
		mask->table[i] = matching[domain_frame(self->domain, (u32)i, frees)];
	free(matching);
	return mask;
}

/* Categories are no dictionary: those whose names fit, each without those before it. */
static struct mask_plan *plan_category(struct planner *self, struct text_test *test)
{
	struct mask_plan *any = mask_new(self, MASK_NONE), *before = mask_new(self, MASK_NONE);

	for (u64 i = 0; any && before && i < self->query->lets.count; i++) {
		const struct query_let *let = &self->query->lets.data[i];

		if (let->kind != LET_CATEGORY)
			continue;
		if (text_test_holds(test, let->name))
			any = both(self, MASK_OR, any,
				   both(self, MASK_AND, plan_mask(self, let->expr),
					negate(self, both(self, MASK_OR, before,
							  mask_new(self, MASK_NONE)))));
		before = both(self, MASK_OR, before, plan_mask(self, let->expr));
	}
	return any;
}

static struct mask_plan *plan_table_texts(struct planner *self, enum field field,
					  struct text_test *test, bool differs)
{
	const struct field_table *table = domain_table(self->domain, field, self->err);
	struct mask_plan *mask = table ? table_new(self, field_index(field)) : NULL;
	u8 *holds = mask ? arena_alloc(self->arena, table->text_count + 1) : NULL;

	if (!mask)
		return NULL;
	if (!holds)
		return no_memory(self);
	for (u32 i = 0; i < table->text_count; i++)
		holds[i] = text_test_holds(test, table->texts[i]) != differs;
	for (u64 i = 0; i < mask->count; i++)
		mask->table[i] = table->numbers[i] >= 0 && holds[(u32)table->numbers[i]];
	return mask;
}

/* Chunks that are in a category, whichever. */
static struct mask_plan *any_category(struct planner *self)
{
	const struct expr any = {.kind = EXPR_TEXT, .text = ""};
	struct text_test test = {.expr = &any};
	struct mask_plan *mask = plan_category(self, &test);

	text_test_release(&test);
	return mask;
}

struct text_question {
	enum field field;
	const struct expr *what;
	bool equal, differs;
};

static struct mask_plan *plan_text(struct planner *self, struct text_question ask)
{
	struct text_test test;
	struct mask_plan *mask;

	if (!text_test_init(&test, ask.what, ask.equal))
		return no_memory(self);
	if (query_fields[ask.field].type == FIELD_TEXTS) {
		mask = plan_frames(self, ask.field, &test);
		mask = ask.differs ? negate(self, mask) : mask;
		if (ask.differs && ask.field == F_FREE_STACK)
			mask = both(self, MASK_AND, mask, ends(self, CHUNK_FREED));
	} else if (ask.field == F_CATEGORY) {
		mask = plan_category(self, &test);
		mask = ask.differs ? both(self, MASK_AND, negate(self, mask), any_category(self))
				   : mask;
	} else {
		mask = plan_table_texts(self, ask.field, &test, ask.differs);
	}
	text_test_release(&test);
	return mask;
}

static struct mask_plan *plan_comparison(struct planner *self, enum expr_kind op,
					 const struct expr *left, const struct expr *right)
{
	if (left->type == FIELD_TEXT || left->type == FIELD_TEXTS)
		return plan_text(self, (struct text_question){.field = left->field,
							      .what = right,
							      .equal = op != EXPR_MATCH,
							      .differs = op == EXPR_NE});
	return plan_numbers(self, op, left, right);
}

static struct mask_plan *plan_in(struct planner *self, const struct expr *expr)
{
	struct mask_plan **args = arena_new_array(self->arena, struct mask_plan *, expr->count);

	if (!args)
		return no_memory(self);
	for (u32 i = 1; i < expr->count; i++) {
		args[i - 1] = plan_comparison(self, EXPR_EQ, expr->args[0], expr->args[i]);
		if (!args[i - 1])
			return NULL;
	}
	return combine(self, MASK_OR, args, expr->count - 1);
}

static struct mask_plan *plan_known(struct planner *self, const struct expr *expr)
{
	struct mask_plan *mask = mask_new(self, MASK_KNOWN);

	if (!mask)
		return NULL;
	mask->left = plan_value(self, expr->args[0]);
	return mask->left ? mask : NULL;
}

/* ---- conditions ---- */

static struct mask_plan *plan_flag(struct planner *self, const struct expr *expr)
{
	struct value_plan *one = value_new(self, VALUE_CONSTANT);

	if (!one)
		return NULL;
	one->number = 1;
	return compare_values(self, EXPR_EQ, plan_field(self, expr->field), one);
}

struct mask_plan *plan_mask(struct planner *self, const struct expr *expr)
{
	struct mask_plan *mask;

	switch (expr->kind) {
	case EXPR_BOOL: return mask_new(self, expr->number != 0 ? MASK_ALL : MASK_NONE);
	case EXPR_FIELD: return plan_flag(self, expr);
	case EXPR_CATEGORY: return plan_mask(self, self->query->lets.data[expr->user].expr);
	case EXPR_KNOWN: return plan_known(self, expr);
	case EXPR_AND: return plan_chain(self, MASK_AND, expr);
	case EXPR_OR: return plan_chain(self, MASK_OR, expr);
	case EXPR_NOT: return negate(self, plan_mask(self, expr->args[0]));
	case EXPR_IN: return plan_in(self, expr);
	case EXPR_RANGE:
		mask = plan_numbers(self, EXPR_GE, expr->args[0], expr->args[1]);
		return mask ? both(self, MASK_AND, mask,
				   plan_numbers(self, EXPR_LE, expr->args[0], expr->args[2]))
			    : NULL;
	default: return plan_comparison(self, expr->kind, expr->args[0], expr->args[1]);
	}
}

/* ---- ready-made ---- */

struct mask_plan *plan_all(struct planner *self) { return negate(self, ends(self, CHUNK_ABSENT)); }

struct mask_plan *plan_live_at(struct planner *self, u64 ns)
{
	struct mask_plan *born = plan_range(self, F_ALLOC, EXPR_LE, (double)ns);
	struct mask_plan *gone = plan_range(self, F_FREE, EXPR_LE, (double)ns);

	return born && gone ? both(self, MASK_AND, born, negate(self, gone)) : NULL;
}

struct mask_plan *plan_window(struct planner *self, const struct query_window *window)
{
	double from = (double)window->from_ns, to = (double)window->to_ns;
	struct mask_plan *born, *gone;

	if (window->mode != WINDOW_OVERLAP)
		return field_between(self, window->mode == WINDOW_ALLOC ? F_ALLOC : F_FREE, from,
				     to);
	born = plan_range(self, F_ALLOC, EXPR_LE, to);
	gone = plan_range(self, F_FREE, EXPR_LT, from);
	return born && gone ? both(self, MASK_AND, born, negate(self, gone)) : NULL;
}
