/* SPDX-License-Identifier: MIT
 * Expressions → plans.
 * Host. */
#include <string.h>

#include "study/query/entries.h"
#include "study/query/mask.h"

static struct value_plan *value_new(struct planner *self, enum value_op op)
{
	struct value_plan *value = arena_new(self->arena, struct value_plan);

	if (!value) {
		mask_no_memory(self);
		return NULL;
	}
	value->op = op;
	return value;
}

static struct value_plan *value_constant(struct planner *self, double number)
{
	struct value_plan *value = value_new(self, VALUE_CONSTANT);

	if (value)
		value->number = number;
	return value;
}

struct value_plan *value_table(struct planner *self, enum index_kind index, const double *table,
			       u64 count)
{
	struct value_plan *value = value_new(self, VALUE_TABLE);

	if (!value)
		return NULL;
	value->index = index;
	value->table = table;
	value->count = count;
	return value;
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

/* The number of the first mask that holds: room for both. */
static struct value_plan *value_first_of(struct planner *self, u64 masks)
{
	struct value_plan *value = value_new(self, VALUE_CATEGORIES);

	if (!value)
		return NULL;
	value->masks = arena_new_array(self->arena, struct mask_plan *, masks);
	value->numbers = arena_new_array(self->arena, double, masks);
	if (value->masks && value->numbers)
		return value;
	mask_no_memory(self);
	return NULL;
}

/* The first category that holds, in the order of their lets; its number is that in the order of
 * their names. */
static struct value_plan *plan_categories(struct planner *self)
{
	u64 lets = self->query->lets.count;
	struct value_plan *value = value_first_of(self, lets);

	for (u64 i = 0; value && i < lets; i++) {
		const struct query_let *let = &self->query->lets.data[i];

		if (let->kind != LET_CATEGORY)
			continue;
		for (u64 k = 0; k < lets; k++)
			value->numbers[value->count] +=
				self->query->lets.data[k].kind == LET_CATEGORY &&
				strcmp(self->query->lets.data[k].name, let->name) < 0;
		value->masks[value->count] = plan_mask(self, let->expr);
		if (!value->masks[value->count++])
			return NULL;
	}
	return value;
}

/* What entries have of a field; nobody asked for it if there is no column. */
static struct value_plan *plan_entry_column(struct planner *self, u32 column)
{
	const double *values = self->entries->columns.data[column];

	return values ? value_table(self, INDEX_ENTRY, values, self->entries->count)
		      : value_constant(self, NAN);
}

struct value_plan *plan_field(struct planner *self, enum field field)
{
	const struct field_table *table;
	struct value_plan *value;

	if (self->entries)
		return plan_entry_column(self, field);
	if (field == F_CATEGORY)
		return plan_categories(self);
	if ((field == F_COUNT && domain_need_types(self->domain, self->err) < 0) ||
	    (field == F_RETAINED && domain_need_owners(self->domain, self->err) < 0))
		return NULL;
	if (field_index(field) != INDEX_NONE) {
		table = domain_table(self->domain, field, self->err);
		return table ? value_table(self, field_index(field), table->numbers, table->count)
			     : NULL;
	}
	value = value_new(self, VALUE_FIELD);
	if (value)
		value->field = field;
	return value;
}

/* A condition has as many comparisons as a query's text has room for, and each becomes a table with
 * a byte for each entry: parts of a condition are planned in memory of their own. */
static struct planner planner_with(const struct planner *self, struct arena *own)
{
	struct planner apart = *self;

	apart.arena = own;
	return apart;
}

/* Moves a mask to the planner's memory; what a table was made of is freed. */
static struct mask_plan *keep_mask(struct planner *self, struct mask_plan *mask, struct arena *own)
{
	struct mask_plan *kept;

	if (!mask || mask->op != MASK_TABLE) {
		arena_adopt(self->arena, own);
		return mask;
	}
	kept = mask_table(self, mask->index);
	if (kept)
		memcpy(kept->table, mask->table, mask->count);
	arena_release(own);
	return kept;
}

/* A condition as a number: 1 or 0. */
static struct value_plan *plan_truth(struct planner *self, const struct expr *expr)
{
	struct value_plan *value = value_first_of(self, 2);
	struct arena own = {0};
	struct planner apart = planner_with(self, &own);

	if (!value)
		return NULL;
	value->count = 2;
	value->masks[0] = keep_mask(self, plan_mask(&apart, expr), &own);
	value->numbers[0] = 1;
	value->masks[1] = mask_new(self, MASK_ALL);
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

static struct value_plan *plan_calculation(struct planner *self, const struct expr *expr)
{
	struct value_plan *value = value_new(self, VALUE_CALCULATED);

	for (u32 i = 0; value && i < expr->count && i < 2; i++) {
		value->kind = expr->kind;
		value->args[i] = plan_value(self, expr->args[i]);
		if (!value->args[i])
			return NULL;
	}
	return value;
}

struct value_plan *plan_value(struct planner *self, const struct expr *expr)
{
	switch (expr->kind) {
	case EXPR_NUMBER:
	case EXPR_COLOR:
	case EXPR_BOOL: return value_constant(self, constant_of(expr));
	case EXPR_FIELD: return plan_field(self, expr->field);
	case EXPR_SCORE:
	case EXPR_CATEGORY:
		return plan_key(self, &(struct query_key){.is_user = true, .user = expr->user});
	default:
		return expr->type == FIELD_BOOL ? plan_truth(self, expr)
						: plan_calculation(self, expr);
	}
}

/* ---- comparisons ---- */

static bool is_of(enum index_kind own, enum index_kind *index)
{
	if (*index == INDEX_NONE)
		*index = own;
	return *index == own;
}

/* Whether a value is known by one dictionary, or (INDEX_NONE) by none. */
static bool one_index(const struct value_plan *value, enum index_kind *index)
{
	if (value->op == VALUE_FIELD || (value->op == VALUE_TABLE && !is_of(value->index, index)))
		return false;
	for (u64 i = 0; value->masks && i < value->count; i++) {
		const struct mask_plan *mask = value->masks[i];

		if (mask->op > MASK_TABLE ||
		    (mask->op == MASK_TABLE &&
		     (!index_is_whole(mask->index) || !is_of(mask->index, index))))
			return false;
	}
	for (u32 i = 0; i < 2; i++)
		if (value->args[i] && !one_index(value->args[i], index))
			return false;
	return true;
}

bool mask_of_entry(const struct mask_plan *self, u64 entry)
{
	return self->op == MASK_TABLE ? self->table[entry] : self->op == MASK_ALL;
}

double value_of_entry(const struct value_plan *value, u64 entry)
{
	switch (value->op) {
	case VALUE_CONSTANT: return value->number;
	case VALUE_TABLE: return value->table[entry];
	case VALUE_CATEGORIES:
		for (u64 i = 0; i < value->count; i++)
			if (mask_of_entry(value->masks[i], entry))
				return value->numbers[i];
		return NAN;
	default:
		return expr_calculates(value_of_entry(value->args[0], entry), value->kind,
				       value->args[1] ? value_of_entry(value->args[1], entry) : 0);
	}
}

/* What depends on one dictionary, or on nothing, is decided at once. */
static struct mask_plan *compare_values(struct planner *self, enum expr_kind op,
					struct value_plan *left, struct value_plan *right)
{
	enum index_kind index = INDEX_NONE;
	struct mask_plan *mask;

	if (!left || !right)
		return NULL;
	if (!one_index(left, &index) || !one_index(right, &index)) {
		mask = mask_new(self, MASK_COMPARE);
		if (!mask)
			return NULL;
		mask->compare = op;
		mask->left = left;
		mask->right = right;
		return mask;
	}
	if (index == INDEX_NONE)
		return mask_new(self,
				expr_compares(value_of_entry(left, 0), op, value_of_entry(right, 0))
					? MASK_ALL
					: MASK_NONE);
	mask = mask_table(self, index);
	for (u64 i = 0; mask && i < mask->count; i++)
		mask->table[i] =
			expr_compares(value_of_entry(left, i), op, value_of_entry(right, i));
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

static bool is_column(const struct planner *self, const struct expr *expr)
{
	return !self->entries && expr->kind == EXPR_FIELD && field_has_range(expr->field);
}

static struct mask_plan *plan_numbers(struct planner *self, enum expr_kind op,
				      const struct expr *left, const struct expr *right)
{
	double number;

	if (is_column(self, left) && is_constant(right, &number))
		return mask_compare(self, left->field, op, number);
	if (is_column(self, right) && is_constant(left, &number))
		return mask_compare(self, right->field, mirrored(op), number);
	return compare_values(self, op, plan_value(self, left), plan_value(self, right));
}

/* ---- texts ---- */

/* A test of the texts of stacks. */
struct stack_test {
	enum field field;
	struct text_test *test; /* NULL = whether any is known */
	bool differs;           /* no text passes */
};

/* By frame, whether the stack that it begins is known and passes. */
static u8 *stacks_passing(struct planner *self, struct domain *domain, struct stack_test test)
{
	u8 *known = !test.test || test.differs ? domain_frames_known(domain, test.field, self->err)
					       : NULL;
	u8 *matching =
		test.test ? domain_frames_matching(domain, test.field, test.test, false, self->err)
			  : NULL;

	for (u64 i = 0; known && matching && i < domain->frames; i++)
		matching[i] = known[i] && !matching[i];
	free(test.test ? known : NULL);
	return test.test ? matching : known;
}

static struct mask_plan *plan_stacks(struct planner *self, struct stack_test test)
{
	bool frees = test.field == F_FREE_STACK;
	u8 *passing = stacks_passing(self, self->domain, test);
	struct mask_plan *mask =
		passing ? mask_table(self, frees ? INDEX_FREE : INDEX_POINT) : NULL;

	for (u64 i = 0; mask && i < mask->count; i++)
		mask->table[i] = passing[domain_frame(self->domain, (u32)i, frees)];
	free(passing);
	return mask;
}

/* The stack that all chunks of an entry have, in whichever trace. */
static struct mask_plan *plan_entry_stacks(struct planner *self, struct stack_test test)
{
	bool frees = test.field == F_FREE_STACK;
	const double *stacks = self->entries->columns.data[frees ? F_FREE_STACK : ENTRY_STACK];
	struct mask_plan *mask = mask_table(self, INDEX_ENTRY);

	for (u32 t = 0; mask && stacks && t < QUERY_TRACES && self->domain[t].model; t++) {
		u8 *passing = stacks_passing(self, &self->domain[t], test);

		if (!passing)
			return NULL;
		for (u64 i = 0; i < mask->count; i++)
			if (!isnan(stacks[i]) && entry_trace(stacks[i]) == t &&
			    entry_frame(stacks[i]) < self->domain[t].frames)
				mask->table[i] = passing[entry_frame(stacks[i])];
		free(passing);
	}
	return mask;
}

static struct mask_plan *plan_stack_test(struct planner *self, struct stack_test test)
{
	return self->entries ? plan_entry_stacks(self, test) : plan_stacks(self, test);
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
			any = mask_both(self, MASK_OR, any,
					mask_both(self, MASK_AND, plan_mask(self, let->expr),
						  mask_not(self, before)));
		before = mask_both(self, MASK_OR, before, plan_mask(self, let->expr));
	}
	return any;
}

/* A field whose numbers are those of texts. */
struct numbered_texts {
	enum index_kind index;
	const double *numbers; /* NULL = unknown */
	const char *const *texts;
	u32 count;
};

static struct mask_plan *plan_numbered(struct planner *self, const struct numbered_texts *from,
				       struct text_test *test, bool differs)
{
	struct mask_plan *mask = mask_table(self, from->index);
	u8 *holds = arena_alloc(self->arena, from->count + 1);

	if (!mask)
		return NULL;
	if (!holds)
		return mask_no_memory(self);
	for (u32 i = 0; i < from->count; i++)
		holds[i] = text_test_holds(test, from->texts[i]) != differs;
	for (u64 i = 0; from->numbers && i < mask->count; i++)
		mask->table[i] = from->numbers[i] >= 0 && holds[(u32)from->numbers[i]];
	return mask;
}

static bool numbered_texts(struct planner *self, enum field field, struct numbered_texts *out)
{
	const struct entries *entries = self->entries;
	const struct field_table *table;

	if (entries) {
		*out = (struct numbered_texts){INDEX_ENTRY, entries->columns.data[field],
					       entries->texts[field], entries->text_counts[field]};
		return true;
	}
	table = domain_table(self->domain, field, self->err);
	if (table)
		*out = (struct numbered_texts){field_index(field), table->numbers, table->texts,
					       table->text_count};
	return table != NULL;
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

static struct mask_plan *plan_tested(struct planner *self, enum field field, struct text_test *test,
				     bool differs)
{
	struct numbered_texts texts;
	struct mask_plan *mask;

	if (query_fields[field].type == FIELD_TEXTS)
		return plan_stack_test(self, (struct stack_test){field, test, differs});
	if (field == F_CATEGORY && !self->entries) {
		mask = plan_category(self, test);
		return differs ? mask_both(self, MASK_AND, mask_not(self, mask), any_category(self))
			       : mask;
	}
	return numbered_texts(self, field, &texts) ? plan_numbered(self, &texts, test, differs)
						   : NULL;
}

static struct mask_plan *plan_text(struct planner *self, enum expr_kind op, enum field field,
				   const struct expr *what)
{
	struct text_test test;
	struct mask_plan *mask;

	if (!text_test_init(&test, what, op != EXPR_MATCH))
		return mask_no_memory(self);
	mask = plan_tested(self, field, &test, op == EXPR_NE);
	text_test_release(&test);
	return mask;
}

static struct mask_plan *plan_comparison(struct planner *self, enum expr_kind op,
					 const struct expr *left, const struct expr *right)
{
	if (left->type == FIELD_TEXT || left->type == FIELD_TEXTS)
		return plan_text(self, op, left->field, right);
	return plan_numbers(self, op, left, right);
}

/* One mask for each argument from `first` on: those of a list are compared with what is before
 * it. */
static struct mask_plan *plan_list(struct planner *self, enum mask_op op, const struct expr *expr,
				   u32 first)
{
	struct mask_plan **args = arena_new_array(self->arena, struct mask_plan *, expr->count);
	u32 count = 0;

	if (!args)
		return mask_no_memory(self);
	for (u32 i = first; i < expr->count; i++) {
		struct arena own = {0};
		struct planner apart = planner_with(self, &own);
		struct mask_plan *mask =
			first ? plan_comparison(&apart, EXPR_EQ, expr->args[0], expr->args[i])
			      : plan_mask(&apart, expr->args[i]);

		if (mask && mask_merge(args, count, op, mask)) {
			arena_release(&own);
			continue;
		}
		args[count] = keep_mask(self, mask, &own);
		if (!args[count++])
			return NULL;
	}
	return mask_chain(self, op, args, count);
}

/* What is known is equal to itself. */
static struct mask_plan *plan_known(struct planner *self, const struct expr *what)
{
	struct value_plan *value;

	if (what->kind == EXPR_FIELD && what->type == FIELD_TEXTS)
		return plan_stack_test(self, (struct stack_test){.field = what->field});
	value = plan_value(self, what);
	return compare_values(self, EXPR_EQ, value, value);
}

/* ---- conditions ---- */

struct mask_plan *plan_mask(struct planner *self, const struct expr *expr)
{
	switch (expr->kind) {
	case EXPR_BOOL: return mask_new(self, expr->number != 0 ? MASK_ALL : MASK_NONE);
	case EXPR_FIELD:
		return compare_values(self, EXPR_EQ, plan_field(self, expr->field),
				      value_constant(self, 1));
	case EXPR_CATEGORY: return plan_mask(self, self->query->lets.data[expr->user].expr);
	case EXPR_KNOWN: return plan_known(self, expr->args[0]);
	case EXPR_AND: return plan_list(self, MASK_AND, expr, 0);
	case EXPR_OR: return plan_list(self, MASK_OR, expr, 0);
	case EXPR_IN: return plan_list(self, MASK_OR, expr, 1);
	case EXPR_NOT: return mask_not(self, plan_mask(self, expr->args[0]));
	case EXPR_RANGE:
		return mask_both(self, MASK_AND,
				 plan_numbers(self, EXPR_GE, expr->args[0], expr->args[1]),
				 plan_numbers(self, EXPR_LE, expr->args[0], expr->args[2]));
	default: return plan_comparison(self, expr->kind, expr->args[0], expr->args[1]);
	}
}
