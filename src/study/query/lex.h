/* SPDX-License-Identifier: MIT
 * The words of a query's text, one after the other. For the parser only. */
#ifndef STUDY_QUERY_LEX_H
#define STUDY_QUERY_LEX_H

#include "study/query/query.h"

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_NUMBER,
	TOKEN_TEXT,
	TOKEN_REGEX,
	TOKEN_COLOR,
	TOKEN_MARK, /* one of | ; , ( ) = == != < <= > >= ~ + - * / .. */
};

struct token {
	enum token_kind kind;
	struct query_place place;
	char mark[3];     /* TOKEN_MARK */
	const char *text; /* word, text or pattern */
	double number;    /* TOKEN_NUMBER, TOKEN_COLOR */
	enum number_unit unit;
	bool nocase;
};

struct lexer {
	const char *text;
	u32 length, at;
	struct token token;  /* the one to be read next */
	u32 end;             /* of the token before */
	struct query *query; /* its arena has the texts; positions are added to it */
	struct query_error *error;
	bool pattern; /* a / begins a regular expression here */
	bool failed;
};

/* Reads the first token; false and error if the text is too long or has none of the language's
 * characters. */
bool lexer_start(struct lexer *self, const char *text, struct query *query,
		 struct query_error *error);

/* Goes on to the next token; false and error. After a failure the token is TOKEN_END. */
bool lexer_next(struct lexer *self);

#endif
