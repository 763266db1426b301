/* SPDX-License-Identifier: MIT
 * A query as a tree: parsed from text, printed as canonical text. The grammar is in
 * heapwise-query(7).
 *
 *	struct query_error error = {0};
 *	struct query *query = query_parse(text, &error);
 *	if (!query) ... error.at, error.message
 *	query_print(query, &buffer);
 *	query_free(query);
 */
#ifndef STUDY_QUERY_QUERY_H
#define STUDY_QUERY_QUERY_H

#include <math.h>

#include "host/base/arena.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "study/query/catalogue.h"
#include "study/query/error.h"

enum {
	QUERY_TEXT_MAX = 64 << 10, /* bytes */
	QUERY_DEPTH_MAX = 64,      /* of brackets and of pipes in pipes */
	QUERY_LETS_MAX = 200,
	QUERY_STAGES_MAX = 200, /* of all pipes together */
	QUERY_KEYS_MAX = 8,
	QUERY_AGGS_MAX = 16,
	QUERY_LIST_MAX = 256, /* values in brackets after `in` */
	QUERY_PATTERN_MAX = 1000,
	QUERY_LABEL_MAX = 200,
	QUERY_NAME_MAX = 63, /* of lets, and of boxes */
};

enum number_unit { UNIT_NONE, UNIT_BYTES, UNIT_TIME, UNIT_PERCENT };

enum expr_kind {
	EXPR_NUMBER,
	EXPR_TEXT,
	EXPR_REGEX,
	EXPR_COLOR, /* number is its rgb */
	EXPR_BOOL,  /* number is 0 or 1 */
	EXPR_FIELD,
	EXPR_SCORE,    /* user: index of the let */
	EXPR_CATEGORY, /* whether the category's expression holds; user: index of the let */
	EXPR_KNOWN,    /* known(x) */
	EXPR_NEGATE,
	EXPR_ADD,
	EXPR_SUBTRACT,
	EXPR_MULTIPLY,
	EXPR_DIVIDE,
	EXPR_LEAST,    /* min(a, b) */
	EXPR_GREATEST, /* max(a, b) */
	EXPR_LOG,      /* log2(a) */
	EXPR_EQ,
	EXPR_NE,
	EXPR_LT,
	EXPR_LE,
	EXPR_GT,
	EXPR_GE,
	EXPR_MATCH,
	EXPR_IN,    /* args[0] is the value, the others the list */
	EXPR_RANGE, /* args[0] in args[1]..args[2], both included */
	EXPR_AND,
	EXPR_OR,
	EXPR_NOT,
	EXPR_KINDS
};

/* How operators and functions are written. What binds less tightly than its place wants is put in
 * brackets. */
struct expr_operator {
	const char *mark; /* or the name of a function; NULL = it is neither */
	u8 binding;
	u8 arguments; /* of a function */
};
extern const struct expr_operator expr_operators[EXPR_KINDS];

struct expr {
	enum expr_kind kind;
	enum field_type type; /* of its value */
	struct query_place place;
	enum field field;
	u32 user;
	double number; /* in bytes or ns; of UNIT_PERCENT as it was written */
	enum number_unit unit;
	const char *text; /* of EXPR_TEXT and EXPR_REGEX */
	bool nocase;      /* /re/i */
	struct expr **args;
	u32 count;
	u32 depth; /* of the tree below, itself included */
};

/* A field, a score or (field F_CATEGORY aside) a category by its name, as keys and sort take it. */
struct query_key {
	struct query_place place;
	bool is_user;
	enum field field;
	u32 user; /* index of the let */
};

struct query_agg {
	enum agg_kind kind;
	bool has_key; /* count() has none */
	struct query_key key;
	double percent; /* of AGG_PERCENTILE: 0 to 100 */
};

enum color_mode { COLOR_FIXED, COLOR_ALTERNATE, COLOR_BY };

struct stage {
	enum stage_kind kind;
	struct query_place place;
	struct expr *expr; /* where, color if; the pattern of hide */
	enum color_mode color_mode;
	u32 rgb;
	struct query_key keys[QUERY_KEYS_MAX]; /* join, color by, sort */
	u32 key_count;
	bool desc;
	bool sort_agg; /* sort by what agg calculated: aggs[0] */
	u64 number;    /* limit, unify: bytes */
	struct query_agg *aggs;
	u32 agg_count;
	const char *view;
};

enum at_kind { AT_TIME, AT_PEAK, AT_END };

struct pipe;

struct source {
	enum source_kind kind;
	struct query_place place;
	enum at_kind moment;
	u64 time_ns;
	u32 let;          /* SOURCE_NAME */
	const char *name; /* SOURCE_TRACE */
	struct pipe *inputs[2];
};

struct pipe {
	struct source source;
	struct stage *stages;
	u32 stage_count;
};

enum let_kind { LET_PIPE, LET_SCORE, LET_CATEGORY };

struct query_let {
	enum let_kind kind;
	const char *name;
	struct query_place place;
	struct pipe pipe;
	struct expr *expr;
	char key[33]; /* of a pipe: stands for its text in pipe_print_whole */
};

/* Where an editor put a box: the n-th belongs to the n-th box of the text. */
struct query_position {
	const char *id, *label;
	double x, y;
};

struct query {
	struct arena arena;
	VEC(struct query_let) lets;
	struct pipe pipe;
	VEC(struct query_position) positions;
};

/* NULL and error (may be NULL) if the text is wrong. */
struct query *query_parse(const char *text, struct query_error *error);
void query_free(struct query *self);

/* The canonical text: equal for queries that mean the same word by word. No positions. */
void query_print(const struct query *self, struct strbuf *out);
/* The first `stages` stages of a pipe, with the pipes it reads from in place of their names: what
 * results are kept by. */
void pipe_print_whole(const struct query *self, const struct pipe *pipe, u32 stages,
		      struct strbuf *out);
/* Sets the keys of the lets, in their order. query_parse does. */
bool query_make_keys(struct query *self);
void expr_print(const struct query *self, const struct expr *expr, struct strbuf *out);
/* "where size >= 1KiB" */
void stage_print(const struct query *self, const struct stage *stage, struct strbuf *out);
void source_print_time(const struct source *self, struct strbuf *out); /* "2s", "peak" */
void agg_print(const struct query *self, const struct query_agg *agg, struct strbuf *out);

/* What a stage is given, in the order of the text; boxes of graphs have the same by name. */
enum argument_kind {
	ARGUMENT_TEXT,
	ARGUMENT_COUNT, /* of graphs: a number, or a text */
	ARGUMENT_BYTES, /* the same, but a text is written */
	ARGUMENT_LIST,
	ARGUMENT_FLAG, /* its own name in the text */
};
struct stage_argument {
	const char *name;   /* NULL after the last */
	const char *before; /* word before it, with a space */
	enum argument_kind kind;
	bool optional;
	bool alone; /* if it is there, all others are not */
};
enum { STAGE_ARGUMENTS = 5 };
extern const struct stage_argument stage_arguments[STAGES][STAGE_ARGUMENTS];

/* How many there are of an argument: 0 or 1, or the length of the list; and one of them as text. */
u32 argument_count(const struct stage *stage, u32 argument);
void argument_print(const struct query *self, const struct stage *stage, u32 argument, u32 item,
		    struct strbuf *out);
void text_print(const char *text, struct strbuf *out);
const char *key_name(const struct query *self, const struct query_key *key);
enum field_type key_type(const struct query *self, const struct query_key *key);
bool key_same(const struct query_key *a, const struct query_key *b);

/* How often chunks, or what is left of them, are gone through if nothing of the query was asked
 * before. */
u32 query_passes(const struct query *self);

/* Marks the fields that any part of the query asks for. */
void query_used_fields(const struct query *query, bool used[FIELDS]);

/* What a box may be called: up to 63 letters, digits and _-.: */
bool query_is_id(const char *text);

/* What a comparison says of two numbers; what is not known (NAN) is neither equal nor unequal. */
static inline bool expr_compares(double a, enum expr_kind op, double b)
{
	switch (op) {
	case EXPR_EQ: return a == b;
	case EXPR_NE: return a < b || a > b;
	case EXPR_LT: return a < b;
	case EXPR_LE: return a <= b;
	case EXPR_GT: return a > b;
	default: return a >= b;
	}
}

/* What an operator or a function makes of one number or two; of what is not known, NAN. */
static inline double expr_calculates(double a, enum expr_kind op, double b)
{
	switch (op) {
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

#endif
