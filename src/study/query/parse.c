/* SPDX-License-Identifier: MIT
 * Programs, pipes, sources and stages.
 * Host. */
#include "study/query/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- tokens ---- */

bool at_mark(const struct parser *self, const char *mark)
{
	const struct token *token = parser_token(self);

	return token->kind == TOKEN_MARK && strcmp(token->mark, mark) == 0;
}

bool at_word(const struct parser *self, const char *word)
{
	const struct token *token = parser_token(self);

	return token->kind == TOKEN_WORD && strcmp(token->text, word) == 0;
}

bool accept_mark(struct parser *self, const char *mark)
{
	return at_mark(self, mark) && (lexer_next(&self->lex) || true);
}

bool accept_word(struct parser *self, const char *word)
{
	return at_word(self, word) && (lexer_next(&self->lex) || true);
}

bool fail_at(struct parser *self, struct query_place place, const char *format, ...)
{
	va_list arguments;
	char text[256];

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	query_error_set(self->error, ERR_USAGE, place, "%s", text);
	self->lex.failed = true;
	return false;
}

bool fail_expected(struct parser *self, const char *what)
{
	const struct token *token = parser_token(self);
	u32 shown = token->place.length < 40 ? token->place.length : 40;

	if (token->kind == TOKEN_END)
		return fail_at(self, (struct query_place){token->place.at, 0},
			       "unexpected end of the query; expected %s", what);
	return fail_at(self, token->place, "expected %s, not '%.*s'", what, (int)shown,
		       self->lex.text + token->place.at);
}

bool parser_no_memory(struct parser *self)
{
	query_error_memory(self->error);
	self->lex.failed = true;
	return false;
}

bool expect_mark(struct parser *self, const char *mark, const char *what)
{
	return at_mark(self, mark) ? lexer_next(&self->lex) : fail_expected(self, what);
}

bool parser_enter(struct parser *self)
{
	if (++self->depth <= QUERY_DEPTH_MAX)
		return true;
	return fail_at(self, parser_token(self)->place, "brackets are nested too deeply");
}

void parser_leave(struct parser *self) { self->depth--; }

const struct query_let *parser_let(const struct parser *self, const char *name, u32 *index)
{
	for (u64 i = 0; i < self->query->lets.count; i++) {
		if (strcmp(self->query->lets.data[i].name, name) != 0)
			continue;
		*index = (u32)i;
		return &self->query->lets.data[i];
	}
	return NULL;
}

/* ---- fields ---- */

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
	query_error_suggest(self->error, nearest.best, "'heapwise query --fields' lists them");
}

bool parse_key(struct parser *self, struct query_key *key)
{
	const struct token token = *parser_token(self);
	const struct query_let *let;

	*key = (struct query_key){.place = token.place};
	if (token.kind != TOKEN_WORD)
		return fail_expected(self, "a field");
	if (!field_find(token.text, &key->field)) {
		let = parser_let(self, token.text, &key->user);
		if (!let || let->kind == LET_PIPE) {
			fail_at(self, token.place, "unknown field '%s'", token.text);
			suggest_field(self, token.text);
			return false;
		}
		key->is_user = true;
	}
	return lexer_next(&self->lex);
}

/* ---- stages ---- */

static bool parse_where(struct parser *self, struct stage *stage)
{
	stage->expr = parse_condition(self, "where");
	return stage->expr != NULL;
}

static bool parse_color_name(struct parser *self, struct stage *stage)
{
	const struct token token = *parser_token(self);
	struct nearest nearest = {.word = token.text};

	if (token.kind == TOKEN_COLOR) {
		stage->rgb = (u32)token.number;
		return lexer_next(&self->lex);
	}
	if (token.kind != TOKEN_WORD)
		return fail_expected(self, "a colour, 'alternate' or 'by'");
	if (color_find(token.text, &stage->rgb))
		return lexer_next(&self->lex);
	for (const struct query_color *color = color_names; color->name; color++)
		nearest_try(&nearest, color->name);
	nearest_try(&nearest, "alternate");
	fail_at(self, token.place, "unknown colour '%s'", token.text);
	query_error_suggest(self->error, nearest.best, "write it as #rrggbb");
	return false;
}

static bool parse_color(struct parser *self, struct stage *stage)
{
	if (accept_word(self, "alternate")) {
		stage->color_mode = COLOR_ALTERNATE;
		return true;
	}
	if (accept_word(self, "by")) {
		stage->color_mode = COLOR_BY;
		stage->key_count = 1;
		return parse_key(self, &stage->keys[0]);
	}
	if (!parse_color_name(self, stage))
		return false;
	if (!accept_word(self, "if"))
		return true;
	stage->expr = parse_condition(self, "if");
	return stage->expr != NULL;
}

static bool parse_join(struct parser *self, struct stage *stage)
{
	do {
		if (stage->key_count == QUERY_KEYS_MAX)
			return fail_expected(self, "at most 8 fields are allowed");
		if (!parse_key(self, &stage->keys[stage->key_count++]))
			return false;
	} while (accept_mark(self, ","));
	return true;
}

static bool parse_whole(struct parser *self, const char *what, enum number_unit unit, u64 *number)
{
	const struct token token = *parser_token(self);

	if (token.kind != TOKEN_NUMBER)
		return fail_expected(self, what);
	if (token.number != (double)(u64)token.number || (token.unit && token.unit != unit))
		return fail_at(self, token.place, "expected %s", what);
	*number = (u64)token.number;
	return lexer_next(&self->lex);
}

static bool parse_unify(struct parser *self, struct stage *stage)
{
	if (!accept_word(self, "until"))
		return fail_expected(self, "'until'");
	return parse_whole(self, "a number of bytes", UNIT_BYTES, &stage->number);
}

static bool parse_agg_name(struct parser *self, struct query_agg *agg)
{
	const struct token token = *parser_token(self);
	struct nearest nearest = {.word = token.text};
	char *end;

	if (token.kind != TOKEN_WORD)
		return fail_expected(self, "count, sum, avg, min, max, or p and a number");
	for (u32 i = 0; i < AGG_PERCENTILE; i++) {
		if (strcmp(agg_names[i], token.text) == 0) {
			agg->kind = (enum agg_kind)i;
			return lexer_next(&self->lex);
		}
		nearest_try(&nearest, agg_names[i]);
	}
	agg->kind = AGG_PERCENTILE;
	agg->percent = token.text[0] == 'p' ? strtod(token.text + 1, &end) : -1;
	if (token.text[0] == 'p' && token.text[1] >= '0' && token.text[1] <= '9' && !*end &&
	    strspn(token.text + 1, "0123456789") == strlen(token.text + 1) && agg->percent <= 100)
		return lexer_next(&self->lex);
	fail_at(self, token.place, "agg cannot compute '%s'", token.text);
	query_error_suggest(self->error, nearest.best,
			    "functions are count, sum, avg, min, max, p0 to "
			    "p100");
	return false;
}

static bool parse_one_agg(struct parser *self, struct query_agg *agg)
{
	enum field_type type;

	if (!parse_agg_name(self, agg) || !expect_mark(self, "(", "an opening bracket"))
		return false;
	if (agg->kind != AGG_COUNT || !at_mark(self, ")")) {
		if (!parse_key(self, &agg->key))
			return false;
		agg->has_key = true;
		type = key_type(self->query, &agg->key);
		if (agg->kind != AGG_COUNT && type > FIELD_ADDRESS)
			return fail_at(self, agg->key.place, "%s is not a number; use count()",
				       key_name(self->query, &agg->key));
	}
	return expect_mark(self, ")", "a closing bracket");
}

static bool parse_aggs(struct parser *self, struct stage *stage)
{
	stage->aggs = arena_new_array(&self->query->arena, struct query_agg, QUERY_AGGS_MAX);
	if (!stage->aggs)
		return parser_no_memory(self);
	do {
		if (stage->agg_count == QUERY_AGGS_MAX)
			return fail_expected(self, "at most 16 numbers are allowed");
		if (!parse_one_agg(self, &stage->aggs[stage->agg_count++]))
			return false;
	} while (accept_mark(self, ","));
	return true;
}

static bool is_agg_call(const struct parser *self)
{
	const struct lexer *lex = &self->lex;

	return parser_token(self)->kind == TOKEN_WORD && lex->at < lex->length &&
	       lex->text[lex->at] == '(';
}

static bool parse_sort(struct parser *self, struct stage *stage)
{
	enum field field;

	if (is_agg_call(self)) {
		stage->sort_agg = true;
		stage->agg_count = 1;
		stage->aggs = arena_new(&self->query->arena, struct query_agg);
		if (!stage->aggs)
			return parser_no_memory(self);
		if (!parse_one_agg(self, &stage->aggs[0]))
			return false;
	} else {
		stage->key_count = 1;
		if (!parse_key(self, &stage->keys[0]))
			return false;
		field = stage->keys[0].field;
		if (!stage->keys[0].is_user && query_fields[field].type == FIELD_TEXTS)
			return fail_at(self, stage->keys[0].place, "%s cannot be sorted",
				       query_fields[field].name);
	}
	stage->desc = accept_word(self, "desc");
	if (!stage->desc)
		accept_word(self, "asc");
	return true;
}

static bool parse_limit(struct parser *self, struct stage *stage)
{
	return parse_whole(self, "a whole number", UNIT_NONE, &stage->number);
}

static bool parse_hide(struct parser *self, struct stage *stage)
{
	stage->expr = parse_pattern(self);
	return stage->expr != NULL;
}

static bool parse_show(struct parser *self, struct stage *stage)
{
	const struct token token = *parser_token(self);
	struct nearest nearest = {.word = token.text};

	if (token.kind != TOKEN_WORD)
		return fail_expected(self, "the name of a view");
	for (u32 i = 0; view_names[i]; i++) {
		if (strcmp(view_names[i], token.text) == 0) {
			stage->view = view_names[i];
			return lexer_next(&self->lex);
		}
		nearest_try(&nearest, view_names[i]);
	}
	fail_at(self, token.place, "unknown view '%s'", token.text);
	query_error_suggest(self->error, nearest.best,
			    "views are text, csv, flame, timeline, map, points, chunks, "
			    "types, threads");
	return false;
}

static bool parse_stage(struct parser *self, struct stage *stage)
{
	static bool (*const parsers[STAGES])(struct parser *, struct stage *) = {
		[STAGE_WHERE] = parse_where, [STAGE_COLOR] = parse_color,
		[STAGE_JOIN] = parse_join,   [STAGE_UNIFY] = parse_unify,
		[STAGE_SORT] = parse_sort,   [STAGE_LIMIT] = parse_limit,
		[STAGE_AGG] = parse_aggs,    [STAGE_HIDE] = parse_hide,
		[STAGE_SHOW] = parse_show};
	const struct token token = *parser_token(self);
	struct nearest nearest = {.word = token.text};

	if (token.kind != TOKEN_WORD)
		return fail_expected(self, "a stage: where, join, sort ...");
	if (self->stages++ == QUERY_STAGES_MAX)
		return fail_at(self, token.place, "too many stages");
	stage->place.at = token.place.at;
	for (u32 i = 0; i < STAGES; i++) {
		const char *name = query_boxes[BOX_STAGES + i].kind;

		nearest_try(&nearest, name);
		if (strcmp(name, token.text) != 0)
			continue;
		stage->kind = (enum stage_kind)i;
		if (!lexer_next(&self->lex) || !parsers[i](self, stage))
			return false;
		stage->place.length = self->lex.end - stage->place.at;
		return !self->lex.failed;
	}
	fail_at(self, token.place, "unknown stage '%s'", token.text);
	query_error_suggest(self->error, nearest.best,
			    "stages are where, color, join, unify, sort, limit, agg, hide, show");
	return false;
}

/* ---- sources ---- */

static bool parse_pipe(struct parser *self, struct pipe *pipe);

static bool parse_at(struct parser *self, struct source *source)
{
	const struct token token = *parser_token(self);

	if (accept_word(self, "peak")) {
		source->moment = AT_PEAK;
		return true;
	}
	if (accept_word(self, "end")) {
		source->moment = AT_END;
		return true;
	}
	if (token.kind != TOKEN_NUMBER)
		return fail_expected(self, "a time, 'peak' or 'end'");
	if (token.unit != UNIT_TIME && token.number != 0) {
		fail_at(self, token.place, "a time needs a unit");
		query_error_hint(self->error, "such as %.15gms", token.number);
		return false;
	}
	source->time_ns = (u64)token.number;
	return lexer_next(&self->lex);
}

static bool parse_trace(struct parser *self, struct source *source)
{
	source->name = parser_token(self)->text;
	if (parser_token(self)->kind != TOKEN_TEXT)
		return fail_expected(self, "the name of a trace in quotes");
	return lexer_next(&self->lex);
}

static bool parse_set(struct parser *self, struct source *source)
{
	if (!expect_mark(self, "(", "an opening bracket"))
		return false;
	for (u32 i = 0; i < 2; i++) {
		source->inputs[i] = arena_new(&self->query->arena, struct pipe);
		if (!source->inputs[i])
			return parser_no_memory(self);
		if (!parse_pipe(self, source->inputs[i]))
			return false;
		if (!expect_mark(self, i == 0 ? "," : ")",
				 i == 0 ? "a comma" : "a closing bracket"))
			return false;
	}
	return true;
}

static void suggest_source(struct parser *self, const char *word)
{
	struct nearest nearest = {.word = word};

	for (u32 i = 0; i < SOURCES; i++)
		if (i != SOURCE_NAME)
			nearest_try(&nearest, query_boxes[i].kind);
	for (u64 i = 0; i < self->query->lets.count; i++)
		if (self->query->lets.data[i].kind == LET_PIPE)
			nearest_try(&nearest, self->query->lets.data[i].name);
	query_error_suggest(self->error, nearest.best,
			    "a query begins with all, at, trace, union, diff, common, or a name");
}

static bool parse_name(struct parser *self, struct source *source, const struct token *token)
{
	const struct query_let *let = parser_let(self, token->text, &source->let);

	source->kind = SOURCE_NAME;
	if (let && let->kind == LET_PIPE)
		return true;
	fail_at(self, token->place, let ? "'%s' is not a query" : "unknown source '%s'",
		token->text);
	suggest_source(self, token->text);
	return false;
}

static bool parse_source(struct parser *self, struct source *source)
{
	const struct token token = *parser_token(self);
	u32 kind = 0;
	bool fine;

	source->place.at = token.place.at;
	if (token.kind != TOKEN_WORD)
		return fail_expected(self, "a source: all, at, trace, union ...");
	if (!lexer_next(&self->lex))
		return false;
	while (kind < SOURCES &&
	       (kind == SOURCE_NAME || strcmp(token.text, query_boxes[kind].kind) != 0))
		kind++;
	source->kind = (enum source_kind)kind;
	if (kind == SOURCE_ALL)
		fine = true;
	else if (kind == SOURCE_AT)
		fine = parse_at(self, source);
	else if (kind == SOURCE_TRACE)
		fine = parse_trace(self, source);
	else
		fine = kind < SOURCES ? parse_set(self, source) : parse_name(self, source, &token);
	source->place.length = self->lex.end - source->place.at;
	return fine;
}

static bool keep_stages(struct parser *self, struct pipe *pipe, const struct stage *stages,
			u64 count)
{
	pipe->stages = arena_new_array(&self->query->arena, struct stage, count);
	if (!pipe->stages)
		return parser_no_memory(self);
	if (count)
		memcpy(pipe->stages, stages, count * sizeof *stages);
	pipe->stage_count = (u32)count;
	return true;
}

static bool parse_pipe(struct parser *self, struct pipe *pipe)
{
	VEC(struct stage) stages = {0};
	bool fine = parser_enter(self) && parse_source(self, &pipe->source);

	while (fine && accept_mark(self, "|")) {
		struct stage stage = {0};

		fine = !self->lex.failed && parse_stage(self, &stage) &&
		       (vec_push(&stages, stage) || parser_no_memory(self));
	}
	fine = fine && !self->lex.failed && keep_stages(self, pipe, stages.data, stages.count);
	vec_release(&stages);
	parser_leave(self);
	return fine;
}

/* ---- the program ---- */

static bool parse_let_name(struct parser *self, struct query_let *let)
{
	const struct token token = *parser_token(self);
	u32 index;

	let->name = token.text;
	let->place = token.place;
	if (token.kind != TOKEN_WORD)
		return fail_expected(self, "a name");
	if (word_is_reserved(token.text))
		return fail_at(self, token.place, "'%s' is a reserved word", token.text);
	if (token.place.length > QUERY_NAME_MAX)
		return fail_at(self, token.place, "the name is too long");
	if (parser_let(self, token.text, &index))
		return fail_at(self, token.place, "'%s' is already defined", token.text);
	if (self->query->lets.count == QUERY_LETS_MAX)
		return fail_at(self, token.place, "too many names");
	return lexer_next(&self->lex) && expect_mark(self, "=", "=");
}

static bool parse_let(struct parser *self)
{
	struct query_let let = {0};
	bool fine;

	if (accept_word(self, "score"))
		let.kind = LET_SCORE;
	else if (accept_word(self, "category"))
		let.kind = LET_CATEGORY;
	if (!parse_let_name(self, &let))
		return false;
	if (let.kind == LET_PIPE)
		fine = parse_pipe(self, &let.pipe);
	else
		fine = (let.expr = let.kind == LET_SCORE
					   ? parse_amount(self, "a score")
					   : parse_condition(self, "a category")) != NULL;
	if (!fine || !expect_mark(self, ";", "a semicolon"))
		return false;
	return vec_push(&self->query->lets, let) || parser_no_memory(self);
}

static bool parse_program(struct parser *self)
{
	while (!self->lex.failed && accept_word(self, "let"))
		if (!parse_let(self))
			return false;
	if (self->lex.failed || !parse_pipe(self, &self->query->pipe))
		return false;
	return parser_token(self)->kind == TOKEN_END ||
	       fail_expected(self, "| and a stage, or the end");
}

struct query *query_parse(const char *text, struct query_error *error)
{
	struct query_error own = {0};
	struct query *query = calloc(1, sizeof *query);
	struct parser parser = {.query = query, .error = error ? error : &own};

	if (!query) {
		query_error_memory(error);
		return NULL;
	}
	if (lexer_start(&parser.lex, text, query, parser.error) && parse_program(&parser) &&
	    (query_make_keys(query) || parser_no_memory(&parser)))
		return query;
	query_free(query);
	return NULL;
}

void query_free(struct query *self)
{
	if (!self)
		return;
	vec_release(&self->lets);
	vec_release(&self->positions);
	arena_release(&self->arena);
	free(self);
}
