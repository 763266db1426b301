/* SPDX-License-Identifier: MIT
 * Writes messages of Protocol Buffers, field by field, into a text that is built. A message inside
 * a message is built first. Fields of value 0 and empty texts are left out, as the language has
 * it. */
#ifndef SHOW_FORMATS_PROTO_H
#define SHOW_FORMATS_PROTO_H

#include "host/base/strbuf.h"

void proto_number(struct strbuf *out, u32 field, u64 number); /* intN, uintN, bool, enum */
void proto_always(struct strbuf *out, u32 field, u64 number); /* also if it is 0 */
void proto_text(struct strbuf *out, u32 field,
		const char *text); /* bytes that are not UTF-8 become U+FFFD */
void proto_bytes(struct strbuf *out, u32 field, const void *bytes,
		 u64 count); /* also if it is empty */

/* Appends the message and empties it, for the next one. */
void proto_message(struct strbuf *out, u32 field, struct strbuf *message);

/* Numbers of a packed field. */
void proto_packed(struct strbuf *out, u32 field, const u64 *numbers, u64 count);

#endif
