/* SPDX-License-Identifier: MIT
 * Expressions: or, and, not, comparisons, sums, products, values; each node with its type, checked
 * as it is made.
 * Host. Depth is bounded. */
#include "study/query/parse.h"

#include <string.h>

static bool is_number_type(enum field_type type) { return type <= FIELD_ADDRESS; }

static struct expr *make(struct parser *self, enum expr_kind kind, enum field_type type, u32 at)
{
	struct expr *expr = arena_new(&self->query->arena, struct expr);

	if (!expr) {
		parser_no_memory(self);
		return NULL;
	}
	expr->kind = kind;
	expr->type = type;
	expr->place.at = at;
	expr->place.length = self->lex.end > at ? self->lex.end - at : 0;
	expr->depth = 1;
	return expr;
}

/* A node over others; it spans them in the text. */
static struct expr *make_over(struct parser *self, enum expr_kind kind, enum field_type type,
			      struct expr *const *args, u32 count)
{
	struct expr *expr = make(self, kind, type, args[0]->place.at);

	if (!expr)
		return NULL;
	expr->args = arena_new_array(&self->query->arena, struct expr *, count);
	if (!expr->args) {
		parser_no_memory(self);
		return NULL;
	}
	memcpy(expr->args, args, count * sizeof *args);
	expr->count = count;
	for (u32 i = 0; i < count; i++)
		if (args[i]->depth >= expr->depth)
			expr->depth = args[i]->depth + 1;
	if (expr->depth > QUERY_DEPTH_MAX) {
		fail_at(self, expr->place, "the expression is nested too deeply");
		return NULL;
	}
	return expr;
}

/* ---- values ---- */

/* The token itself. */
static struct expr *parse_literal(struct parser *self, enum expr_kind kind, enum field_type type)
{
	struct token token = *parser_token(self);
	struct expr *expr;

	lexer_next(&self->lex);
	expr = make(self, kind, type, token.place.at);
	if (!expr)
		return NULL;
	expr->number = token.number;
	expr->unit = token.unit;
	expr->text = token.text;
	expr->nocase = token.nocase;
	return expr;
}

static struct expr *parse_number(struct parser *self)
{
	static const enum field_type types[] = {FIELD_NUMBER, FIELD_BYTES, FIELD_TIME, FIELD_SHARE};

	return parse_literal(self, EXPR_NUMBER, types[parser_token(self)->unit]);
}

static struct expr *parse_text(struct parser *self)
{
	return parse_literal(self, parser_token(self)->kind == TOKEN_REGEX ? EXPR_REGEX : EXPR_TEXT,
			     FIELD_TEXT);
}

/* A word that stands for a number. */
static struct expr *parse_named(struct parser *self, enum expr_kind kind, enum field_type type,
				double number)
{
	struct expr *expr = parse_literal(self, kind, type);

	if (expr)
		expr->number = number;
	return expr;
}

/* An operator before its operand, or brackets around it: the node spans them in the text. */
static struct expr *spanning(struct parser *self, struct expr *expr, u32 at)
{
	if (expr) {
		expr->place = (struct query_place){at, self->lex.end - at};
	}
	return expr;
}

/* What follows the operator or the bracket. */
static struct expr *parse_inner(struct parser *self, struct expr *(*operand)(struct parser *))
{
	struct expr *expr;

	if (!parser_enter(self))
		return NULL;
	lexer_next(&self->lex);
	expr = operand(self);
	parser_leave(self);
	return expr;
}

/* Whether the word names a colour, and neither a field nor what the query itself defined. */
static bool at_color_name(struct parser *self, u32 *rgb)
{
	const char *word = parser_token(self)->text;
	const struct query_let *let;
	enum field field;
	u32 user;

	if (field_find(word, &field) || !color_find(word, rgb))
		return false;
	let = parser_let(self, word, &user);
	return !let || let->kind == LET_PIPE;
}

static struct expr *parse_field(struct parser *self)
{
	u32 at = parser_token(self)->place.at;
	struct query_key key;
	struct expr *expr;

	if (!parse_key(self, &key))
		return NULL;
	expr = make(self, EXPR_FIELD, FIELD_NUMBER, at);
	if (!expr)
		return NULL;
	expr->place.length = key.place.length;
	expr->field = key.field;
	expr->user = key.user;
	expr->type = key.is_user ? FIELD_NUMBER : query_fields[key.field].type;
	if (key.is_user && self->query->lets.data[key.user].kind == LET_CATEGORY) {
		expr->kind = EXPR_CATEGORY;
		expr->type = FIELD_BOOL;
	} else if (key.is_user) {
		expr->kind = EXPR_SCORE;
	}
	return expr;
}

static bool check_argument(struct parser *self, enum expr_kind kind, const struct expr *arg)
{
	if (kind == EXPR_KNOWN)
		return arg->kind == EXPR_FIELD || arg->kind == EXPR_SCORE ||
		       fail_at(self, arg->place, "known() needs a field");
	return is_number_type(arg->type) ||
	       fail_at(self, arg->place, "expected a number, not %s", field_type_name(arg->type));
}

/* The name and the bracket were seen. */
static struct expr *parse_call(struct parser *self, enum expr_kind kind)
{
	u32 at = parser_token(self)->place.at, count = expr_operators[kind].arguments;
	struct expr *args[2];

	if (!parser_enter(self))
		return NULL;
	lexer_next(&self->lex);
	lexer_next(&self->lex);
	for (u32 i = 0; i < count; i++) {
		if (i > 0 && !expect_mark(self, ",", "a comma"))
			return NULL;
		args[i] = parse_expr(self);
		if (!args[i] || !check_argument(self, kind, args[i]))
			return NULL;
	}
	parser_leave(self);
	if (!expect_mark(self, ")", "a closing bracket"))
		return NULL;
	return spanning(self,
			make_over(self, kind, kind == EXPR_KNOWN ? FIELD_BOOL : FIELD_NUMBER, args,
				  count),
			at);
}

static bool next_is_bracket(const struct parser *self)
{
	const struct lexer *lex = &self->lex;
	u32 at = lex->at;

	while (at < lex->length && (lex->text[at] == ' ' || lex->text[at] == '\t'))
		at++;
	return at < lex->length && lex->text[at] == '(';
}

static struct expr *parse_function(struct parser *self)
{
	const struct token *token = parser_token(self);
	struct nearest nearest = {.word = token->text};

	for (u32 i = 0; i < EXPR_KINDS; i++) {
		if (!expr_operators[i].arguments)
			continue;
		if (strcmp(expr_operators[i].mark, token->text) == 0)
			return parse_call(self, (enum expr_kind)i);
		nearest_try(&nearest, expr_operators[i].mark);
	}
	fail_at(self, token->place, "unknown function '%s'", token->text);
	query_error_suggest(self->error, nearest.best, "functions are known, min, max and log2");
	return NULL;
}

static struct expr *parse_word(struct parser *self)
{
	u32 rgb;

	if (next_is_bracket(self) && !at_word(self, "in"))
		return parse_function(self);
	if (at_word(self, "true") || at_word(self, "false"))
		return parse_named(self, EXPR_BOOL, FIELD_BOOL, at_word(self, "true"));
	return at_color_name(self, &rgb) ? parse_named(self, EXPR_COLOR, FIELD_COLOR, rgb)
					 : parse_field(self);
}

static struct expr *parse_brackets(struct parser *self)
{
	u32 at = parser_token(self)->place.at;
	struct expr *expr = parse_inner(self, parse_expr);

	return expr && expect_mark(self, ")", "a closing bracket") ? spanning(self, expr, at)
								   : NULL;
}

static struct expr *parse_value(struct parser *self)
{
	switch (parser_token(self)->kind) {
	case TOKEN_NUMBER: return parse_number(self);
	case TOKEN_TEXT:
	case TOKEN_REGEX: return parse_text(self);
	case TOKEN_COLOR: return parse_literal(self, EXPR_COLOR, FIELD_COLOR);
	case TOKEN_WORD: return parse_word(self);
	default: break;
	}
	if (at_mark(self, "("))
		return parse_brackets(self);
	fail_expected(self, "a field or a value");
	return NULL;
}

/* ---- arithmetic ---- */

static bool want_number(struct parser *self, const struct expr *expr)
{
	return is_number_type(expr->type) ||
	       fail_at(self, expr->place, "cannot compute with %s", field_type_name(expr->type));
}

static struct expr *parse_signed(struct parser *self)
{
	u32 at = parser_token(self)->place.at;
	struct expr *expr;

	if (!at_mark(self, "-"))
		return parse_value(self);
	expr = parse_inner(self, parse_signed);
	if (!expr || !want_number(self, expr))
		return NULL;
	return spanning(self, make_over(self, EXPR_NEGATE, expr->type, &expr, 1), at);
}

static struct expr *calculate(struct parser *self, enum expr_kind kind, struct expr *left,
			      struct expr *right)
{
	struct expr *args[2] = {left, right};

	if (!left || !right || !want_number(self, left) || !want_number(self, right))
		return NULL;
	return make_over(self, kind, FIELD_NUMBER, args, 2);
}

/* Operands between operators of one binding, from the left. */
static struct expr *parse_left(struct parser *self, enum expr_kind one, enum expr_kind other,
			       struct expr *(*operand)(struct parser *))
{
	struct expr *left = operand(self);

	for (;;) {
		bool first = at_mark(self, expr_operators[one].mark);

		if (!left || (!first && !at_mark(self, expr_operators[other].mark)))
			return left;
		lexer_next(&self->lex);
		left = calculate(self, first ? one : other, left, operand(self));
	}
}

static struct expr *parse_product(struct parser *self)
{
	return parse_left(self, EXPR_MULTIPLY, EXPR_DIVIDE, parse_signed);
}

static struct expr *parse_sum(struct parser *self)
{
	return parse_left(self, EXPR_ADD, EXPR_SUBTRACT, parse_product);
}

/* ---- comparisons ---- */

enum measure { MEASURE_PLAIN, MEASURE_BYTES, MEASURE_TIME, MEASURE_SHARE, MEASURE_ANY };

static const struct expr *without_sign(const struct expr *expr)
{
	while (expr->kind == EXPR_NEGATE)
		expr = expr->args[0];
	return expr;
}

static enum measure measure_of(const struct expr *expr)
{
	const struct expr *inner = without_sign(expr);

	if (inner->kind != EXPR_FIELD && inner->kind != EXPR_NUMBER)
		return MEASURE_ANY;
	if (inner->type == FIELD_BYTES)
		return MEASURE_BYTES;
	if (inner->type == FIELD_TIME)
		return MEASURE_TIME;
	return inner->type == FIELD_SHARE ? MEASURE_SHARE : MEASURE_PLAIN;
}

static const char *measure_name(enum measure measure)
{
	static const char *const names[] = {"a plain number", "bytes", "a time", "a share"};

	return names[measure];
}

/* A number without a unit is bytes or a share where such are wanted; of a time only 0 says
 * enough. */
static bool check_measures(struct parser *self, const struct expr *left, const struct expr *right)
{
	enum measure a = measure_of(left), b = measure_of(right);
	bool of_right = without_sign(right)->kind == EXPR_NUMBER;
	const struct expr *plain = without_sign(of_right ? right : left);

	if (a == b || a == MEASURE_ANY || b == MEASURE_ANY)
		return true;
	if (plain->kind == EXPR_NUMBER && plain->unit == UNIT_NONE) {
		enum measure other = of_right ? a : b;

		if (other != MEASURE_TIME || plain->number == 0)
			return true;
		fail_at(self, plain->place, "a time needs a unit");
		query_error_hint(self->error, "such as %.15gms", plain->number);
		return false;
	}
	return fail_at(self, right->place, "this is %s, but the other side is %s", measure_name(b),
		       measure_name(a));
}

static bool check_text_side(struct parser *self, const struct expr *left, const struct expr *right)
{
	if (left->kind != EXPR_FIELD)
		return fail_at(self, left->place,
			       "a text can only be compared with a field on its left");
	if (right->kind == EXPR_TEXT)
		return true;
	fail_at(self, right->place, "%s is a text; compare it with a text in quotes",
		query_fields[left->field].name);
	return false;
}

static bool check_comparison(struct parser *self, enum expr_kind kind, const struct expr *left,
			     const struct expr *right)
{
	bool order = kind == EXPR_LT || kind == EXPR_LE || kind == EXPR_GT || kind == EXPR_GE ||
		     kind == EXPR_RANGE;
	bool texts = left->type == FIELD_TEXT || left->type == FIELD_TEXTS;

	if (is_number_type(left->type) && is_number_type(right->type))
		return check_measures(self, left, right);
	if (order && (texts || left->type == right->type))
		return fail_at(self, left->place,
			       "%s has no order; use == or !=", field_type_name(left->type));
	if (texts)
		return check_text_side(self, left, right);
	if (left->type == right->type)
		return true;
	return fail_at(self, right->place, "this is %s, but the other side is %s",
		       field_type_name(right->type), field_type_name(left->type));
}

static struct expr *compare(struct parser *self, enum expr_kind kind, struct expr *left)
{
	struct expr *args[2] = {left, NULL};

	lexer_next(&self->lex);
	/* A bare word after a text is a missing pair of quotes, mostly. */
	if (left->kind == EXPR_FIELD && (left->type == FIELD_TEXT || left->type == FIELD_TEXTS) &&
	    parser_token(self)->kind == TOKEN_WORD) {
		const struct token *token = parser_token(self);

		fail_at(self, token->place, "a text must be in quotes");
		query_error_hint(self->error, "write \"%s\"", token->text);
		return NULL;
	}
	args[1] = parse_sum(self);
	if (!args[1] || !check_comparison(self, kind, left, args[1]))
		return NULL;
	return make_over(self, kind, FIELD_BOOL, args, 2);
}

struct expr *parse_pattern(struct parser *self)
{
	const struct token *token = parser_token(self);

	if (token->kind == TOKEN_TEXT || token->kind == TOKEN_REGEX)
		return parse_text(self);
	if (token->kind == TOKEN_WORD) {
		fail_at(self, token->place, "a pattern must be a text in quotes or /.../");
		query_error_hint(self->error, "write \"%s\"", token->text);
		return NULL;
	}
	fail_expected(self, "a text or a /pattern/");
	return NULL;
}

static struct expr *match(struct parser *self, struct expr *left)
{
	struct expr *args[2] = {left, NULL};

	if (left->kind != EXPR_FIELD || (left->type != FIELD_TEXT && left->type != FIELD_TEXTS)) {
		fail_at(self, left->place, "~ can only be used with texts");
		return NULL;
	}
	lexer_next(&self->lex);
	args[1] = parse_pattern(self);
	return args[1] ? make_over(self, EXPR_MATCH, FIELD_BOOL, args, 2) : NULL;
}

static struct expr *parse_list(struct parser *self, struct expr *left)
{
	struct expr *args[QUERY_LIST_MAX + 1] = {left};
	u32 count = 1;

	lexer_next(&self->lex);
	do {
		if (count > QUERY_LIST_MAX) {
			fail_at(self, left->place, "the list is too long");
			return NULL;
		}
		args[count] = parse_signed(self);
		if (!args[count] || !check_comparison(self, EXPR_EQ, left, args[count]))
			return NULL;
		count++;
	} while (accept_mark(self, ","));
	if (!expect_mark(self, ")", "a comma or a closing bracket"))
		return NULL;
	return make_over(self, EXPR_IN, FIELD_BOOL, args, count);
}

static struct expr *parse_range(struct parser *self, struct expr *left)
{
	struct expr *args[3] = {left, NULL, NULL};

	args[1] = parse_sum(self);
	if (!args[1] || !expect_mark(self, "..", "a list in brackets, or a range: LOW..HIGH"))
		return NULL;
	args[2] = parse_sum(self);
	if (!args[2] || !check_comparison(self, EXPR_RANGE, left, args[1]) ||
	    !check_comparison(self, EXPR_RANGE, left, args[2]))
		return NULL;
	return make_over(self, EXPR_RANGE, FIELD_BOOL, args, 3);
}

static struct expr *parse_comparison(struct parser *self)
{
	struct expr *left = parse_sum(self);

	if (!left)
		return NULL;
	for (u32 i = EXPR_EQ; i <= EXPR_GE; i++)
		if (at_mark(self, expr_operators[i].mark))
			return compare(self, (enum expr_kind)i, left);
	if (at_mark(self, "~"))
		return match(self, left);
	if (accept_word(self, "in"))
		return at_mark(self, "(") ? parse_list(self, left) : parse_range(self, left);
	if (at_mark(self, "=")) {
		fail_at(self, (struct query_place){parser_token(self)->place.at, 1},
			"'=' defines a name; use '==' to compare");
		query_error_hint(self->error, "write '=='");
		return NULL;
	}
	return left;
}

/* ---- and, or, not ---- */

static bool want_bool(struct parser *self, const struct expr *expr, const char *what)
{
	if (expr->type == FIELD_BOOL)
		return true;
	fail_at(self, expr->place, "%s needs a condition, not %s", what,
		field_type_name(expr->type));
	query_error_hint(self->error, "compare it: ==, <, ~ ...");
	return false;
}

static struct expr *parse_not(struct parser *self)
{
	u32 at = parser_token(self)->place.at;
	struct expr *expr;

	if (!at_word(self, "not"))
		return parse_comparison(self);
	expr = parse_inner(self, parse_not);
	if (!expr || !want_bool(self, expr, "not"))
		return NULL;
	return spanning(self, make_over(self, EXPR_NOT, FIELD_BOOL, &expr, 1), at);
}

/* One or several operands between equal words; what is nested of the same kind is one list with
 * them. */
static struct expr *parse_chain(struct parser *self, const char *word, enum expr_kind kind,
				struct expr *(*operand)(struct parser *))
{
	VEC(struct expr *) all = {0};
	struct expr *expr = operand(self);
	bool chained = expr && at_word(self, word);

	while (expr && chained) {
		bool same = expr->kind == kind;

		if (!want_bool(self, expr, word)) {
			expr = NULL;
			break;
		}
		for (u32 i = 0; i < (same ? expr->count : 1); i++)
			if (!vec_push(&all, same ? expr->args[i] : expr))
				parser_no_memory(self);
		if (!accept_word(self, word))
			break;
		expr = operand(self);
	}
	if (expr && chained)
		expr = self->lex.failed
			       ? NULL
			       : make_over(self, kind, FIELD_BOOL, all.data, (u32)all.count);
	vec_release(&all);
	return expr;
}

static struct expr *parse_and(struct parser *self)
{
	return parse_chain(self, "and", EXPR_AND, parse_not);
}

struct expr *parse_expr(struct parser *self) { return parse_chain(self, "or", EXPR_OR, parse_and); }

struct expr *parse_condition(struct parser *self, const char *what)
{
	struct expr *expr = parse_expr(self);

	return expr && want_bool(self, expr, what) ? expr : NULL;
}

struct expr *parse_amount(struct parser *self, const char *what)
{
	struct expr *expr = parse_expr(self);

	if (!expr || is_number_type(expr->type))
		return expr;
	fail_at(self, expr->place, "%s needs a number, not %s", what, field_type_name(expr->type));
	return NULL;
}
