/* SPDX-License-Identifier: MIT
 * The canonical text: one spelling for each query.
 * Host. */
#include "study/query/query.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/base/map.h"
#include "host/base/text.h"

const char *key_name(const struct query *self, const struct query_key *key)
{
	return key->is_user ? self->lets.data[key->user].name : query_fields[key->field].name;
}

enum field_type key_type(const struct query *self, const struct query_key *key)
{
	if (!key->is_user)
		return query_fields[key->field].type;
	return self->lets.data[key->user].kind == LET_SCORE ? FIELD_NUMBER : FIELD_BOOL;
}

bool key_same(const struct query_key *a, const struct query_key *b)
{
	return a->is_user == b->is_user && (a->is_user ? a->user == b->user : a->field == b->field);
}

/* ---- values ---- */

/* The shortest digits that are read as the same number. */
static void print_double(double number, struct strbuf *out)
{
	char digits[40];

	for (int precision = 15; precision <= 17; precision++) {
		snprintf(digits, sizeof digits, "%.*g", precision, number);
		if (strtod(digits, NULL) == number)
			break;
	}
	strbuf_add(out, digits);
}

static bool is_whole(double number) { return number == floor(number) && number <= 0x1p53; }

static void print_whole(u64 number, const char *const *names, const u64 *factors,
			struct strbuf *out)
{
	u32 i = 0;

	while (names[i + 1] && number && number % factors[i + 1] == 0)
		i++;
	strbuf_addf(out, "%llu%s", (unsigned long long)(number / factors[i]), names[i]);
}

static void print_bytes(u64 bytes, struct strbuf *out)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};
	static const u64 factors[] = {1, 1ull << 10, 1ull << 20, 1ull << 30, 1ull << 40};

	print_whole(bytes, names, factors, out);
}

static void print_ns(u64 ns, struct strbuf *out)
{
	static const char *const names[] = {"ns", "us", "ms", "s", NULL};
	static const u64 factors[] = {1, 1000, 1000000, 1000000000};

	print_whole(ns, names, factors, out);
}

static void print_number(const struct expr *expr, struct strbuf *out)
{
	static const char *const plain[] = {"", "B", "ns", "%"};

	if (expr->unit == UNIT_BYTES && is_whole(expr->number)) {
		print_bytes((u64)expr->number, out);
	} else if (expr->unit == UNIT_TIME && is_whole(expr->number)) {
		print_ns((u64)expr->number, out);
	} else {
		if (is_whole(expr->number))
			strbuf_addf(out, "%llu", (unsigned long long)expr->number);
		else
			print_double(expr->number, out);
		strbuf_add(out, plain[expr->unit]);
	}
}

void text_print(const char *text, struct strbuf *out)
{
	strbuf_add_char(out, '"');
	while (*text) {
		u32 length = utf8_length(text);

		if (*text == '"' || *text == '\\')
			strbuf_addf(out, "\\%c", *text);
		else if (*text == '\n')
			strbuf_add(out, "\\n");
		else if (*text == '\t')
			strbuf_add(out, "\\t");
		else if (!text_is_harmless(text, length)) /* graphs are UTF-8 */
			for (u32 i = 0; i < (length ? length : 1); i++)
				strbuf_addf(out, "\\x%02x", (u8)text[i]);
		else
			strbuf_add_bytes(out, text, length);
		text += length ? length : 1;
	}
	strbuf_add_char(out, '"');
}

static void print_regex(const struct expr *expr, struct strbuf *out)
{
	strbuf_add_char(out, '/');
	for (const char *p = expr->text; *p; p++) {
		if (*p == '\\' && p[1])
			strbuf_add_char(out, *p++);
		else if (*p == '/')
			strbuf_add_char(out, '\\');
		strbuf_add_char(out, *p);
	}
	strbuf_add(out, expr->nocase ? "/i" : "/");
}

/* ---- expressions ---- */

const struct expr_operator expr_operators[EXPR_KINDS] = {
	[EXPR_OR] = {"or", 1, 0},      [EXPR_AND] = {"and", 2, 0},
	[EXPR_NOT] = {"not ", 3, 0},   [EXPR_EQ] = {"==", 4, 0},
	[EXPR_NE] = {"!=", 4, 0},      [EXPR_LT] = {"<", 4, 0},
	[EXPR_LE] = {"<=", 4, 0},      [EXPR_GT] = {">", 4, 0},
	[EXPR_GE] = {">=", 4, 0},      [EXPR_MATCH] = {"~", 4, 0},
	[EXPR_IN] = {"in", 4, 0},      [EXPR_RANGE] = {"in", 4, 0},
	[EXPR_ADD] = {"+", 5, 0},      [EXPR_SUBTRACT] = {"-", 5, 0},
	[EXPR_MULTIPLY] = {"*", 6, 0}, [EXPR_DIVIDE] = {"/", 6, 0},
	[EXPR_NEGATE] = {"-", 7, 0},   [EXPR_KNOWN] = {"known", 8, 1},
	[EXPR_LEAST] = {"min", 8, 2},  [EXPR_GREATEST] = {"max", 8, 2},
	[EXPR_LOG] = {"log2", 8, 1},
};

static u32 binding(const struct expr *expr)
{
	return expr_operators[expr->kind].mark ? expr_operators[expr->kind].binding : 8;
}

static void print_bound(const struct query *self, const struct expr *expr, u32 least,
			struct strbuf *out)
{
	bool brackets = binding(expr) < least;

	strbuf_add(out, brackets ? "(" : "");
	expr_print(self, expr, out);
	strbuf_add(out, brackets ? ")" : "");
}

static void print_chain(const struct query *self, const struct expr *expr, struct strbuf *out)
{
	/* Sums and products are read from the left, and comparisons are not chained. */
	bool first_loose = expr->kind >= EXPR_ADD && expr->kind <= EXPR_DIVIDE;

	for (u32 i = 0; i < expr->count; i++) {
		if (i)
			strbuf_addf(out, " %s ", expr_operators[expr->kind].mark);
		print_bound(self, expr->args[i], binding(expr) + (i == 0 && first_loose ? 0 : 1),
			    out);
	}
}

/* The arguments from `first` on, with commas between them. */
static void print_list(const struct query *self, const struct expr *expr, u32 first,
		       struct strbuf *out)
{
	for (u32 i = first; i < expr->count; i++) {
		strbuf_add(out, i > first ? ", " : "");
		print_bound(self, expr->args[i], first ? 7 : 0, out);
	}
	strbuf_add_char(out, ')');
}

static void print_in(const struct query *self, const struct expr *expr, struct strbuf *out)
{
	print_bound(self, expr->args[0], 5, out);
	if (expr->kind == EXPR_RANGE) {
		strbuf_add(out, " in ");
		print_bound(self, expr->args[1], 5, out);
		strbuf_add(out, "..");
		print_bound(self, expr->args[2], 5, out);
		return;
	}
	strbuf_add(out, " in (");
	print_list(self, expr, 1, out);
}

void expr_print(const struct query *self, const struct expr *expr, struct strbuf *out)
{
	switch (expr->kind) {
	case EXPR_NUMBER: print_number(expr, out); break;
	case EXPR_TEXT: text_print(expr->text, out); break;
	case EXPR_REGEX: print_regex(expr, out); break;
	case EXPR_COLOR: strbuf_addf(out, "#%06x", (u32)expr->number); break;
	case EXPR_BOOL: strbuf_add(out, expr->number != 0 ? "true" : "false"); break;
	case EXPR_FIELD: strbuf_add(out, query_fields[expr->field].name); break;
	case EXPR_SCORE:
	case EXPR_CATEGORY: strbuf_add(out, self->lets.data[expr->user].name); break;
	case EXPR_KNOWN:
	case EXPR_LEAST:
	case EXPR_GREATEST:
	case EXPR_LOG:
		strbuf_addf(out, "%s(", expr_operators[expr->kind].mark);
		print_list(self, expr, 0, out);
		break;
	case EXPR_NEGATE:
	case EXPR_NOT:
		strbuf_add(out, expr_operators[expr->kind].mark);
		print_bound(self, expr->args[0], binding(expr), out);
		break;
	case EXPR_IN:
	case EXPR_RANGE: print_in(self, expr, out); break;
	default: print_chain(self, expr, out);
	}
}

/* ---- stages ---- */

void agg_print(const struct query *self, const struct query_agg *agg, struct strbuf *out)
{
	strbuf_add(out, agg_names[agg->kind]);
	if (agg->kind == AGG_PERCENTILE)
		strbuf_addf(out, "%u", (u32)agg->percent);
	strbuf_addf(out, "(%s)", agg->has_key ? key_name(self, &agg->key) : "");
}

const struct stage_argument stage_arguments[STAGES][STAGE_ARGUMENTS] = {
	[STAGE_WHERE] = {{.name = "expr"}},
	[STAGE_COLOR] = {{.name = "alternate", .kind = ARGUMENT_FLAG, .alone = true},
			 {.name = "by", .before = "by ", .alone = true},
			 {.name = "color"},
			 {.name = "if", .before = "if ", .optional = true}},
	[STAGE_JOIN] = {{.name = "keys", .kind = ARGUMENT_LIST}},
	[STAGE_UNIFY] = {{.name = "until", .before = "until ", .kind = ARGUMENT_BYTES}},
	[STAGE_SORT] = {{.name = "field"}, {.name = "desc", .kind = ARGUMENT_FLAG}},
	[STAGE_LIMIT] = {{.name = "count", .kind = ARGUMENT_COUNT}},
	[STAGE_AGG] = {{.name = "calls", .kind = ARGUMENT_LIST}},
	[STAGE_HIDE] = {{.name = "pattern"}},
	[STAGE_SHOW] = {{.name = "view"}},
};

u32 argument_count(const struct stage *stage, u32 argument)
{
	const bool color[] = {stage->color_mode == COLOR_ALTERNATE, stage->color_mode == COLOR_BY,
			      stage->color_mode == COLOR_FIXED,
			      stage->color_mode == COLOR_FIXED && stage->expr};

	switch (stage->kind) {
	case STAGE_COLOR: return color[argument];
	case STAGE_JOIN: return stage->key_count;
	case STAGE_AGG: return stage->agg_count;
	case STAGE_SORT: return argument == 0 || stage->desc;
	default: return 1;
	}
}

void argument_print(const struct query *self, const struct stage *stage, u32 argument, u32 item,
		    struct strbuf *out)
{
	const struct stage_argument *what = &stage_arguments[stage->kind][argument];

	if (what->kind == ARGUMENT_FLAG)
		strbuf_add(out, what->name);
	else if (what->kind == ARGUMENT_BYTES)
		print_bytes(stage->number, out);
	else if (what->kind == ARGUMENT_COUNT)
		strbuf_addf(out, "%llu", (unsigned long long)stage->number);
	else if (stage->kind == STAGE_SHOW)
		strbuf_add(out, stage->view);
	else if (stage->kind == STAGE_COLOR && stage->color_mode == COLOR_FIXED && !what->optional)
		strbuf_addf(out, "#%06x", stage->rgb);
	else if (stage->expr)
		expr_print(self, stage->expr, out);
	else if (stage->kind == STAGE_AGG || stage->sort_agg)
		agg_print(self, &stage->aggs[item], out);
	else
		strbuf_add(out, key_name(self, &stage->keys[item]));
}

void stage_print(const struct query *self, const struct stage *stage, struct strbuf *out)
{
	const struct stage_argument *arguments = stage_arguments[stage->kind];

	strbuf_add(out, query_boxes[BOX_STAGES + stage->kind].kind);
	for (u32 a = 0; arguments[a].name; a++)
		for (u32 i = 0; i < argument_count(stage, a); i++) {
			strbuf_add(out, i ? ", " : " ");
			strbuf_add(out, arguments[a].before ? arguments[a].before : "");
			argument_print(self, stage, a, i, out);
		}
}

/* ---- pipes ---- */

void source_print_time(const struct source *self, struct strbuf *out)
{
	if (self->moment == AT_PEAK)
		strbuf_add(out, "peak");
	else if (self->moment == AT_END)
		strbuf_add(out, "end");
	else
		print_ns(self->time_ns, out);
}

static void print_pipe(const struct query *self, const struct pipe *pipe, u32 stages, bool names,
		       struct strbuf *out);

static void print_source(const struct query *self, const struct source *source, bool names,
			 struct strbuf *out)
{
	switch (source->kind) {
	case SOURCE_AT:
		strbuf_add(out, "at ");
		source_print_time(source, out);
		break;
	case SOURCE_NAME:
		if (names)
			strbuf_add(out, self->lets.data[source->let].name);
		else
			strbuf_addf(out, "<%s>", self->lets.data[source->let].key);
		break;
	case SOURCE_TRACE:
		strbuf_add(out, "trace ");
		text_print(source->name, out);
		break;
	case SOURCE_UNION:
	case SOURCE_DIFF:
	case SOURCE_COMMON:
		strbuf_addf(out, "%s(", query_boxes[source->kind].kind);
		print_pipe(self, source->inputs[0], UINT32_MAX, names, out);
		strbuf_add(out, ", ");
		print_pipe(self, source->inputs[1], UINT32_MAX, names, out);
		strbuf_add_char(out, ')');
		break;
	default: strbuf_add(out, query_boxes[source->kind].kind);
	}
}

static void print_pipe(const struct query *self, const struct pipe *pipe, u32 stages, bool names,
		       struct strbuf *out)
{
	print_source(self, &pipe->source, names, out);
	for (u32 i = 0; i < pipe->stage_count && i < stages; i++) {
		strbuf_add(out, " | ");
		stage_print(self, &pipe->stages[i], out);
	}
}

static void print_definition(const struct query *self, const struct query_let *let,
			     struct strbuf *out)
{
	strbuf_addf(out, "let %s%s = ",
		    let->kind == LET_SCORE      ? "score "
		    : let->kind == LET_CATEGORY ? "category "
						: "",
		    let->name);
	if (let->kind == LET_PIPE)
		print_pipe(self, &let->pipe, UINT32_MAX, true, out);
	else
		expr_print(self, let->expr, out);
}

/* Scores and categories come first: they need no pipes. */
void query_print(const struct query *self, struct strbuf *out)
{
	for (u32 pass = 0; pass < 2; pass++) {
		for (u64 i = 0; i < self->lets.count; i++) {
			if ((self->lets.data[i].kind == LET_PIPE) != (pass == 1))
				continue;
			print_definition(self, &self->lets.data[i], out);
			strbuf_add(out, ";\n");
		}
	}
	print_pipe(self, &self->pipe, UINT32_MAX, true, out);
}

void pipe_print_whole(const struct query *self, const struct pipe *pipe, u32 stages,
		      struct strbuf *out)
{
	for (u64 i = 0; i < self->lets.count; i++) {
		if (self->lets.data[i].kind == LET_PIPE)
			continue;
		print_definition(self, &self->lets.data[i], out);
		strbuf_add(out, "; ");
	}
	print_pipe(self, pipe, stages, false, out);
}

bool query_make_keys(struct query *self)
{
	struct strbuf text = {0};
	bool failed = false;

	for (u64 i = 0; i < self->lets.count; i++) {
		struct query_let *let = &self->lets.data[i];

		if (let->kind != LET_PIPE)
			continue;
		/* Two hashes instead of the text, which would double with each let that is used
		 * twice. */
		strbuf_clear(&text);
		print_pipe(self, &let->pipe, UINT32_MAX, false, &text);
		snprintf(let->key, sizeof let->key, "%016llx%016llx",
			 (unsigned long long)hash_text(HASH_START, strbuf_text(&text)),
			 (unsigned long long)hash_text(0x9e3779b97f4a7c15ull, strbuf_text(&text)));
		failed |= text.failed;
	}
	strbuf_release(&text);
	return !failed;
}
