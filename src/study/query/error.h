/* SPDX-License-Identifier: MIT
 * What is wrong with a query, and where: for the caret below the text. */
#ifndef STUDY_QUERY_ERROR_H
#define STUDY_QUERY_ERROR_H

#include "host/base/err.h"
#include "format/types.h"

/* Where a part of a query is in its text. */
struct query_place {
	u32 at;     /* byte, from 0 */
	u32 length; /* in bytes */
};
#define QUERY_NOWHERE ((struct query_place){0, 0})

struct query_error {
	int code;   /* ERR_USAGE: the text is wrong; ERR_MEMORY, ERR_INPUT: it could not be run */
	u32 at;     /* byte of the text, from 0 */
	u32 length; /* bytes that are meant, 0 = the end of the text */
	char message[320];
	char hint[160]; /* what to write instead, "" = none */
	char box[64];   /* of a graph: the box that is meant, "" = none */
};

/* Fills self (which may be NULL) and returns code. The first error stays. */
int query_error_set(struct query_error *self, int code, struct query_place place,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
int query_error_memory(struct query_error *self);
void query_error_hint(struct query_error *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "did you mean 'best'?", or the other hint if nothing is near. */
void query_error_suggest(struct query_error *self, const char *best, const char *otherwise);

/* An error that has no place in the text. Returns err->code. */
int query_error_take(struct query_error *self, const struct err *err);

#endif
