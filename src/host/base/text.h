/* SPDX-License-Identifier: MIT
 * Names that strangers chose. Traces, programs and servers may call anything by any bytes; what is
 * shown in terminals, logs and editors is whole UTF-8 without the characters that these obey:
 * control characters, and those of Unicode that end lines, turn what follows round, or cannot be
 * seen. */
#ifndef HOST_BASE_TEXT_H
#define HOST_BASE_TEXT_H

#include <stdio.h>

#include "host/base/strbuf.h"

/* Length of the UTF-8 character at text, at most 4; 0 if the bytes are none. */
u32 utf8_length(const char *text);
/* Its code; length is that of utf8_length, and not 0. */
u32 utf8_code(const char *text, u32 length);

/* Whether the character at text, of that length, may be shown as it is. */
bool text_is_harmless(const char *text, u32 length);

/* Appends text with each character that is not harmless as '?'. */
void text_add_clean(struct strbuf *out, const char *text);
/* The same to a stream: such characters, and those of `special`, become `instead`. */
void text_put(FILE *out, const char *text, const char *special, char instead);
/* The same as XML, in which such characters become U+FFFD. */
void text_put_xml(FILE *out, const char *text);
/* The same in place, with '?'. */
void text_clean(char *text);

#endif
