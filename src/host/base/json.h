/* SPDX-License-Identifier: MIT
 * Writes JSON, one value after the other, with commas and indentation where they belong.
 *
 *	struct json json = { .out = stdout };
 *	json_open(&json, NULL, '{');
 *	json_number(&json, "bytes", 12);
 *	json_open(&json, "list", '[');
 *	json_text(&json, NULL, "one");
 *	json_close(&json, ']');
 *	json_close(&json, '}');
 *
 * Inside an object every value has a key, inside an array none. */
#ifndef HOST_BASE_JSON_H
#define HOST_BASE_JSON_H

#include <stdio.h>

#include "format/types.h"

struct json { /* all zero but `out` = ready */
	FILE *out;
	u32 depth;
	u32 flat_depth; /* containers opened at this depth or deeper stay on one line; 0 = none */
	bool filled;    /* the innermost container has a value already */
};

void json_open(struct json *self, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *self, char bracket);                 /* '}' or ']' */

/* The same, with all that is inside on one line. */
void json_open_flat(struct json *self, const char *key, char bracket);

/* Bytes that are not UTF-8 become U+FFFD, and characters that are not harmless (host/base/text.h)
 * their \u escapes. NULL is null. */
void json_text(struct json *self, const char *key, const char *text);
void json_number(struct json *self, const char *key, u64 number);
void json_signed(struct json *self, const char *key, i64 number);
void json_real(struct json *self, const char *key, double number); /* null if it is not finite */
void json_bool(struct json *self, const char *key, bool value);
void json_null(struct json *self, const char *key);
/* A value that was written before, as it is. */
void json_raw(struct json *self, const char *key, const char *value);

/* Ends the document with a newline. */
void json_end(struct json *self);

#endif
