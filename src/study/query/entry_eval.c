/* SPDX-License-Identifier: MIT
 * Expressions over entries, one at a time; and which fields a query uses.
 * Host. */
#include <math.h>
#include <string.h>

#include "study/query/run.h"

/* ---- numbers ---- */

double entry_key(struct entry_eval *self, const struct query_key *key, u64 entry)
{
	const struct query_let *let;

	if (!key->is_user)
		return self->entries->values[key->field] ? self->entries->values[key->field][entry]
							 : NAN;
	let = &self->run->query->lets.data[key->user];
	return let->kind == LET_SCORE ? entry_number(self, let->expr, entry)
				      : entry_holds(self, let->expr, entry);
}

double entry_number(struct entry_eval *self, const struct expr *expr, u64 entry)
{
	double a, b = 0;

	switch (expr->kind) {
	case EXPR_NUMBER: return expr->unit == UNIT_PERCENT ? expr->number / 100 : expr->number;
	case EXPR_COLOR:
	case EXPR_BOOL: return expr->number;
	case EXPR_FIELD:
		return self->entries->values[expr->field]
			       ? self->entries->values[expr->field][entry]
			       : NAN;
	case EXPR_SCORE:
		return entry_number(self, self->run->query->lets.data[expr->user].expr, entry);
	default: break;
	}
	if (expr->type == FIELD_BOOL)
		return entry_holds(self, expr, entry);
	a = entry_number(self, expr->args[0], entry);
	if (expr->count > 1)
		b = entry_number(self, expr->args[1], entry);
	switch (expr->kind) {
	case EXPR_NEGATE: return -a;
	case EXPR_ADD: return a + b;
	case EXPR_SUBTRACT: return a - b;
	case EXPR_MULTIPLY: return a * b;
	case EXPR_DIVIDE: return a / b;
	case EXPR_LEAST: return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
	case EXPR_GREATEST: return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
	default: return log2(a);
	}
}

/* ---- texts ---- */

static struct text_test *test_of(struct entry_eval *self, const struct expr *expr, bool equal)
{
	for (u32 i = 0; i < self->test_count; i++)
		if (self->tests[i].expr == expr)
			return &self->tests[i].test;
	if (self->test_count == sizeof self->tests / sizeof *self->tests) {
		self->test_count--;
		text_test_release(&self->tests[self->test_count].test);
	}
	if (!text_test_init(&self->tests[self->test_count].test, expr, equal))
		return NULL;
	self->tests[self->test_count].expr = expr;
	return &self->tests[self->test_count++].test;
}

void entry_eval_release(struct entry_eval *self)
{
	while (self->test_count)
		text_test_release(&self->tests[--self->test_count].test);
}

static bool names_hold(const struct stack_names *names, enum field field, struct text_test *test)
{
	if (field == F_STACK_MODULE)
		return *names->module && text_test_holds(test, names->module);
	for (u32 i = 0; i < names->count; i++) {
		const char *text =
			field == F_STACK_FILE ? names->frames[i].file : names->frames[i].function;

		if (*text && text_test_holds(test, text))
			return true;
	}
	return false;
}

/* Any frame of the stack that all of its chunks have. */
static bool stack_holds(struct entry_eval *self, enum field field, struct text_test *test,
			u64 entry)
{
	struct domain *domain = &self->run->engine->domains[self->entries->frame_traces[entry]];
	u32 frame = self->entries->frames[entry];
	struct err err = {0};

	if (domain_need_names(domain, &err) < 0)
		return false;
	if (field == F_FREE_STACK)
		frame = self->entries->values[field] && self->entries->values[field][entry] >= 0
				? (u32)self->entries->values[field][entry]
				: 0;
	for (; frame;
	     frame = context_table_frame(&domain->model->contexts, (struct frame_id){frame})
			     ->parent)
		if (names_hold(&domain->frame_names[frame], field == F_FREE_STACK ? F_STACK : field,
			       test))
			return true;
	return false;
}

static bool text_holds(struct entry_eval *self, const struct expr *field, const struct expr *text,
		       enum expr_kind op, u64 entry)
{
	struct text_test *test = test_of(self, text, op != EXPR_MATCH);
	const char *const *texts = self->entries->texts[field->field];
	double number = entry_number(self, field, entry);

	if (!test)
		return false;
	if (field->type == FIELD_TEXTS)
		return stack_holds(self, field->field, test, entry) != (op == EXPR_NE);
	if (!texts || isnan(number))
		return false;
	return text_test_holds(test, texts[(u64)number]) != (op == EXPR_NE);
}

/* ---- conditions ---- */

static bool compares(struct entry_eval *self, const struct expr *left, enum expr_kind op,
		     const struct expr *right, u64 entry)
{
	if (left->type == FIELD_TEXT || left->type == FIELD_TEXTS)
		return text_holds(self, left, right, op, entry);
	return expr_compares(entry_number(self, left, entry), op, entry_number(self, right, entry));
}

static bool in_list(struct entry_eval *self, const struct expr *expr, u64 entry)
{
	for (u32 i = 1; i < expr->count; i++)
		if (compares(self, expr->args[0], EXPR_EQ, expr->args[i], entry))
			return true;
	return false;
}

static bool chain_holds(struct entry_eval *self, const struct expr *expr, u64 entry)
{
	bool all = expr->kind == EXPR_AND;

	for (u32 i = 0; i < expr->count; i++)
		if (entry_holds(self, expr->args[i], entry) != all)
			return !all;
	return all;
}

bool entry_holds(struct entry_eval *self, const struct expr *expr, u64 entry)
{
	switch (expr->kind) {
	case EXPR_BOOL: return expr->number != 0;
	case EXPR_FIELD: return entry_number(self, expr, entry) == 1;
	case EXPR_CATEGORY:
		return entry_holds(self, self->run->query->lets.data[expr->user].expr, entry);
	case EXPR_KNOWN:
		if (expr->args[0]->kind == EXPR_FIELD && expr->args[0]->type == FIELD_TEXTS &&
		    expr->args[0]->field != F_FREE_STACK)
			return self->entries->frames[entry] != 0;
		return !isnan(entry_number(self, expr->args[0], entry));
	case EXPR_AND:
	case EXPR_OR: return chain_holds(self, expr, entry);
	case EXPR_NOT: return !entry_holds(self, expr->args[0], entry);
	case EXPR_IN: return in_list(self, expr, entry);
	case EXPR_RANGE:
		return compares(self, expr->args[0], EXPR_GE, expr->args[1], entry) &&
		       compares(self, expr->args[0], EXPR_LE, expr->args[2], entry);
	default: return compares(self, expr->args[0], expr->kind, expr->args[1], entry);
	}
}

/* ---- fields in use ---- */

static void use_expr(const struct expr *expr, bool *used)
{
	if (expr->kind == EXPR_FIELD)
		used[expr->field] = true;
	for (u32 i = 0; i < expr->count; i++)
		use_expr(expr->args[i], used);
}

static void use_pipe(const struct pipe *pipe, bool *used)
{
	for (u32 i = 0; i < 2; i++)
		if (pipe->source.inputs[i])
			use_pipe(pipe->source.inputs[i], used);
	for (u32 s = 0; s < pipe->stage_count; s++) {
		const struct stage *stage = &pipe->stages[s];

		if (stage->expr)
			use_expr(stage->expr, used);
		for (u32 i = 0; i < stage->key_count; i++)
			if (!stage->keys[i].is_user)
				used[stage->keys[i].field] = true;
		if (stage->kind == STAGE_COLOR)
			used[F_COLOR] = true;
	}
}

void query_used_fields(const struct query *query, bool used[FIELDS])
{
	use_pipe(&query->pipe, used);
	for (u64 i = 0; i < query->lets.count; i++) {
		if (query->lets.data[i].kind == LET_PIPE)
			use_pipe(&query->lets.data[i].pipe, used);
		else
			use_expr(query->lets.data[i].expr, used);
	}
}
