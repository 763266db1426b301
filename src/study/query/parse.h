/* SPDX-License-Identifier: MIT
 * What the two halves of the parser share: pipes and expressions. */
#ifndef STUDY_QUERY_PARSE_H
#define STUDY_QUERY_PARSE_H

#include "study/query/lex.h"

struct parser {
	struct lexer lex;
	struct query *query;
	struct query_error *error;
	u32 depth;  /* of brackets and pipes */
	u32 stages; /* so far */
};

static inline const struct token *parser_token(const struct parser *self)
{
	return &self->lex.token;
}

bool at_mark(const struct parser *self, const char *mark);
bool at_word(const struct parser *self, const char *word);
bool accept_mark(struct parser *self, const char *mark);
bool accept_word(struct parser *self, const char *word);

/* False and an error "… is expected, not …". */
bool expect_mark(struct parser *self, const char *mark, const char *what);
bool fail_expected(struct parser *self, const char *what);
bool fail_at(struct parser *self, struct query_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool parser_no_memory(struct parser *self);

/* Brackets and pipes in pipes; false and an error if there are too many. */
bool parser_enter(struct parser *self);
void parser_leave(struct parser *self);

/* The let of that name, or NULL. */
const struct query_let *parser_let(const struct parser *self, const char *name, u32 *index);

/* A whole expression; NULL and error. */
struct expr *parse_expr(struct parser *self);
/* One that is yes or no, or (what is given) a number. */
struct expr *parse_condition(struct parser *self, const char *what);
struct expr *parse_amount(struct parser *self, const char *what);
/* A text or a pattern. */
struct expr *parse_pattern(struct parser *self);
/* A field or a score or category of one's own. */
bool parse_key(struct parser *self, struct query_key *key);

#endif
