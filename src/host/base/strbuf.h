/* SPDX-License-Identifier: MIT
 * A text that is built piece by piece. All zero is the empty text.
 *
 *	struct strbuf text = {0};
 *	strbuf_addf(&text, "%s:%u", file, line);
 *	if (text.failed) ...            (once, at the end: adding after a failure does nothing)
 *	char *owned = strbuf_take(&text);
 */
#ifndef HOST_BASE_STRBUF_H
#define HOST_BASE_STRBUF_H

#include <stdarg.h>

#include "format/types.h"

struct strbuf {
	char *text; /* terminated; NULL while nothing was added */
	u64 count;  /* bytes without the terminator; the text may hold zero bytes */
	u64 capacity;
	bool failed; /* there was no memory: the text is incomplete */
};

void strbuf_add(struct strbuf *buf, const char *text);
void strbuf_add_bytes(struct strbuf *buf, const void *bytes, u64 count);
void strbuf_add_char(struct strbuf *buf, char c);
/* A character by its code, as UTF-8. */
void strbuf_add_utf8(struct strbuf *buf, u32 code);
void strbuf_addf(struct strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *buf, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Empties the text and keeps the memory. */
void strbuf_clear(struct strbuf *buf);

/* The text as it is, never NULL, valid until the next change. */
const char *strbuf_text(const struct strbuf *buf);

/* Hands the text over, to be freed by the caller; NULL if it is incomplete. buf becomes empty. */
char *strbuf_take(struct strbuf *buf);

void strbuf_release(struct strbuf *buf);

#endif
