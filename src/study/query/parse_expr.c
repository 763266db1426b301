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
	expr->at = at;
	expr->length = self->lex.end > at ? self->lex.end - at : 0;
	expr->depth = 1;
	return expr;
}

/* A node over others; it spans them in the text. */
static struct expr *make_over(struct parser *self, enum expr_kind kind, enum field_type type,
			      struct expr *const *args, u32 count)
{
	struct expr *expr = make(self, kind, type, args[0]->at);

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
		fail_at(self, expr->at, expr->length, "the expression is nested too deeply");
		return NULL;
	}
	return expr;
}

/* ---- values ---- */

static struct expr *parse_number(struct parser *self)
{
	static const enum field_type types[] = {FIELD_NUMBER, FIELD_BYTES, FIELD_TIME, FIELD_SHARE};
	struct token token = *parser_token(self);
	struct expr *expr;

	lexer_next(&self->lex);
	expr = make(self, EXPR_NUMBER, types[token.unit], token.at);
	if (!expr)
		return NULL;
	expr->number = token.number;
	expr->unit = token.unit;
	return expr;
}

static struct expr *parse_text(struct parser *self)
{
	struct token token = *parser_token(self);
	struct expr *expr;

	lexer_next(&self->lex);
	expr = make(self, token.kind == TOKEN_REGEX ? EXPR_REGEX : EXPR_TEXT, FIELD_TEXT, token.at);
	if (!expr)
		return NULL;
	expr->text = token.text;
	expr->nocase = token.nocase;
	return expr;
}

static struct expr *parse_color(struct parser *self, u32 rgb)
{
	u32 at = parser_token(self)->at;
	struct expr *expr;

	lexer_next(&self->lex);
	expr = make(self, EXPR_COLOR, FIELD_COLOR, at);
	if (expr)
		expr->number = rgb;
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

static void suggest_field(struct parser *self, const char *word)
{
	struct nearest nearest = {.word = word};

	for (u32 i = 0; i < FIELDS; i++)
		nearest_try(&nearest, query_fields[i].name);
	for (u64 i = 0; i < self->query->lets.count; i++)
		if (self->query->lets.data[i].kind != LET_PIPE)
			nearest_try(&nearest, self->query->lets.data[i].name);
	for (const struct query_color *color = color_names; color->name; color++)
		nearest_try(&nearest, color->name);
	if (nearest.best)
		query_error_hint(self->error, "did you mean '%s'?", nearest.best);
	else
		query_error_hint(self->error, "'heapwise query --fields' lists them");
}

bool parse_key(struct parser *self, struct query_key *key)
{
	const struct token token = *parser_token(self);
	const struct query_let *let;

	*key = (struct query_key){.at = token.at, .length = token.length};
	if (token.kind != TOKEN_WORD)
		return fail_expected(self, "a field");
	if (!field_find(token.text, &key->field)) {
		let = parser_let(self, token.text, &key->user);
		if (!let || let->kind == LET_PIPE) {
			fail_at(self, token.at, token.length, "unknown field '%s'", token.text);
			suggest_field(self, token.text);
			return false;
		}
		key->is_user = true;
	}
	return lexer_next(&self->lex);
}

static struct expr *parse_field(struct parser *self)
{
	u32 at = parser_token(self)->at;
	struct query_key key;
	struct expr *expr;

	if (!parse_key(self, &key))
		return NULL;
	expr = make(self, EXPR_FIELD, FIELD_NUMBER, at);
	if (!expr)
		return NULL;
	expr->length = key.length;
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

static const struct {
	const char *name;
	enum expr_kind kind;
	u32 arguments;
} functions[] = {{"known", EXPR_KNOWN, 1},
		 {"min", EXPR_LEAST, 2},
		 {"max", EXPR_GREATEST, 2},
		 {"log2", EXPR_LOG, 1}};

static bool check_argument(struct parser *self, enum expr_kind kind, const struct expr *arg)
{
	if (kind == EXPR_KNOWN)
		return arg->kind == EXPR_FIELD || arg->kind == EXPR_SCORE ||
		       fail_at(self, arg->at, arg->length, "known() needs a field");
	return is_number_type(arg->type) ||
	       fail_at(self, arg->at, arg->length, "expected a number, not %s",
		       field_type_name(arg->type));
}

/* The name and the bracket were seen. */
static struct expr *parse_call(struct parser *self, u32 function)
{
	u32 at = parser_token(self)->at;
	enum expr_kind kind = functions[function].kind;
	struct expr *args[2], *expr;

	if (!parser_enter(self))
		return NULL;
	lexer_next(&self->lex);
	lexer_next(&self->lex);
	for (u32 i = 0; i < functions[function].arguments; i++) {
		if (i > 0 && !expect_mark(self, ",", "a comma"))
			return NULL;
		args[i] = parse_expr(self);
		if (!args[i] || !check_argument(self, kind, args[i]))
			return NULL;
	}
	parser_leave(self);
	if (!expect_mark(self, ")", "a closing bracket"))
		return NULL;
	expr = make_over(self, kind, kind == EXPR_KNOWN ? FIELD_BOOL : FIELD_NUMBER, args,
			 functions[function].arguments);
	if (expr) {
		expr->at = at;
		expr->length = self->lex.end - at;
	}
	return expr;
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

	for (u32 i = 0; i < sizeof functions / sizeof *functions; i++) {
		if (strcmp(functions[i].name, token->text) == 0)
			return parse_call(self, i);
		nearest_try(&nearest, functions[i].name);
	}
	fail_at(self, token->at, token->length, "unknown function '%s'", token->text);
	if (nearest.best)
		query_error_hint(self->error, "did you mean '%s'?", nearest.best);
	else
		query_error_hint(self->error, "functions are known, min, max and log2");
	return NULL;
}

static struct expr *parse_word(struct parser *self)
{
	bool yes = at_word(self, "true"), no = at_word(self, "false");
	u32 at = parser_token(self)->at, rgb;
	struct expr *expr;

	if (next_is_bracket(self) && !at_word(self, "in"))
		return parse_function(self);
	if (!yes && !no)
		return at_color_name(self, &rgb) ? parse_color(self, rgb) : parse_field(self);
	lexer_next(&self->lex);
	expr = make(self, EXPR_BOOL, FIELD_BOOL, at);
	if (expr)
		expr->number = yes;
	return expr;
}

static struct expr *parse_brackets(struct parser *self)
{
	u32 at = parser_token(self)->at;
	struct expr *expr;

	if (!parser_enter(self))
		return NULL;
	lexer_next(&self->lex);
	expr = parse_expr(self);
	parser_leave(self);
	if (!expr || !expect_mark(self, ")", "a closing bracket"))
		return NULL;
	expr->at = at;
	expr->length = self->lex.end - at;
	return expr;
}

static struct expr *parse_value(struct parser *self)
{
	switch (parser_token(self)->kind) {
	case TOKEN_NUMBER: return parse_number(self);
	case TOKEN_TEXT:
	case TOKEN_REGEX: return parse_text(self);
	case TOKEN_COLOR: return parse_color(self, (u32)parser_token(self)->number);
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
	       fail_at(self, expr->at, expr->length, "cannot compute with %s",
		       field_type_name(expr->type));
}

static struct expr *parse_signed(struct parser *self)
{
	u32 at = parser_token(self)->at;
	struct expr *expr, *over;

	if (!at_mark(self, "-"))
		return parse_value(self);
	if (!parser_enter(self))
		return NULL;
	lexer_next(&self->lex);
	expr = parse_signed(self);
	parser_leave(self);
	if (!expr || !want_number(self, expr))
		return NULL;
	over = make_over(self, EXPR_NEGATE, expr->type, &expr, 1);
	if (over) {
		over->at = at;
		over->length = self->lex.end - at;
	}
	return over;
}

static struct expr *calculate(struct parser *self, enum expr_kind kind, struct expr *left,
			      struct expr *right)
{
	struct expr *args[2] = {left, right};

	if (!left || !right || !want_number(self, left) || !want_number(self, right))
		return NULL;
	return make_over(self, kind, FIELD_NUMBER, args, 2);
}

static struct expr *parse_product(struct parser *self)
{
	struct expr *left = parse_signed(self);

	while (left && (at_mark(self, "*") || at_mark(self, "/"))) {
		enum expr_kind kind = at_mark(self, "*") ? EXPR_MULTIPLY : EXPR_DIVIDE;

		lexer_next(&self->lex);
		left = calculate(self, kind, left, parse_signed(self));
	}
	return left;
}

static struct expr *parse_sum(struct parser *self)
{
	struct expr *left = parse_product(self);

	while (left && (at_mark(self, "+") || at_mark(self, "-"))) {
		enum expr_kind kind = at_mark(self, "+") ? EXPR_ADD : EXPR_SUBTRACT;

		lexer_next(&self->lex);
		left = calculate(self, kind, left, parse_product(self));
	}
	return left;
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
		fail_at(self, plain->at, plain->length, "a time needs a unit");
		query_error_hint(self->error, "such as %.15gms", plain->number);
		return false;
	}
	return fail_at(self, right->at, right->length, "this is %s, but the other side is %s",
		       measure_name(b), measure_name(a));
}

static bool check_text_side(struct parser *self, const struct expr *left, const struct expr *right)
{
	if (left->kind != EXPR_FIELD)
		return fail_at(self, left->at, left->length,
			       "a text can only be compared with a field on its left");
	if (right->kind == EXPR_TEXT)
		return true;
	fail_at(self, right->at, right->length, "%s is a text; compare it with a text in quotes",
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
		return fail_at(self, left->at, left->length,
			       "%s has no order; use == or !=", field_type_name(left->type));
	if (texts)
		return check_text_side(self, left, right);
	if (left->type == right->type)
		return true;
	return fail_at(self, right->at, right->length, "this is %s, but the other side is %s",
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

		fail_at(self, token->at, token->length, "a text must be in quotes");
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
		fail_at(self, token->at, token->length,
			"a pattern must be a text in quotes or /.../");
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
		fail_at(self, left->at, left->length, "~ can only be used with texts");
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
			fail_at(self, left->at, left->length, "the list is too long");
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
	static const struct {
		const char *mark;
		enum expr_kind kind;
	} marks[] = {{"==", EXPR_EQ}, {"!=", EXPR_NE}, {"<", EXPR_LT},
		     {"<=", EXPR_LE}, {">", EXPR_GT},  {">=", EXPR_GE}};
	struct expr *left = parse_sum(self);

	if (!left)
		return NULL;
	for (u32 i = 0; i < sizeof marks / sizeof *marks; i++)
		if (at_mark(self, marks[i].mark))
			return compare(self, marks[i].kind, left);
	if (at_mark(self, "~"))
		return match(self, left);
	if (accept_word(self, "in"))
		return at_mark(self, "(") ? parse_list(self, left) : parse_range(self, left);
	if (at_mark(self, "=")) {
		fail_at(self, parser_token(self)->at, 1, "'=' defines a name; use '==' to compare");
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
	fail_at(self, expr->at, expr->length, "%s needs a condition, not %s", what,
		field_type_name(expr->type));
	query_error_hint(self->error, "compare it: ==, <, ~ ...");
	return false;
}

static struct expr *parse_not(struct parser *self)
{
	u32 at = parser_token(self)->at;
	struct expr *expr, *over;

	if (!at_word(self, "not"))
		return parse_comparison(self);
	if (!parser_enter(self))
		return NULL;
	lexer_next(&self->lex);
	expr = parse_not(self);
	parser_leave(self);
	if (!expr || !want_bool(self, expr, "not"))
		return NULL;
	over = make_over(self, EXPR_NOT, FIELD_BOOL, &expr, 1);
	if (over) {
		over->at = at;
		over->length = self->lex.end - at;
	}
	return over;
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
	fail_at(self, expr->at, expr->length, "%s needs a number, not %s", what,
		field_type_name(expr->type));
	return NULL;
}
