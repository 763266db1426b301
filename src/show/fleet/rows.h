/* SPDX-License-Identifier: MIT
 * Rows as RowBinary: the values of a row one after the other, in the order of the columns. */
#ifndef SHOW_FLEET_ROWS_H
#define SHOW_FLEET_ROWS_H

#include <string.h>

#include "host/base/strbuf.h"
#include "format/varint.h"

static inline void row_u8(struct strbuf *out, u8 value)
{
	strbuf_add_bytes(out, &value, sizeof value);
}
static inline void row_u16(struct strbuf *out, u16 value)
{
	strbuf_add_bytes(out, &value, sizeof value);
}
static inline void row_u32(struct strbuf *out, u32 value)
{
	strbuf_add_bytes(out, &value, sizeof value);
}
static inline void row_u64(struct strbuf *out, u64 value)
{
	strbuf_add_bytes(out, &value, sizeof value);
}
static inline void row_numbers(struct strbuf *out, const u64 *values, u64 count)
{
	strbuf_add_bytes(out, values, count * sizeof *values);
}
/* Several of 64 bits. */
#define row_u64s(out, ...)                                                                         \
	row_numbers(out, (const u64[]){__VA_ARGS__},                                               \
		    sizeof((const u64[]){__VA_ARGS__}) / sizeof(u64))

static inline void row_float(struct strbuf *out, float value)
{
	strbuf_add_bytes(out, &value, sizeof value);
}
static inline void row_double(struct strbuf *out, double value)
{
	strbuf_add_bytes(out, &value, sizeof value);
}

/* Number of elements of an array, which follow; or of bytes of a text. */
static inline void row_count(struct strbuf *out, u64 count)
{
	u8 bytes[HW_VARINT_MAX];

	strbuf_add_bytes(out, bytes, (u64)(hw_varint_put(bytes, count) - bytes));
}

static inline void row_bytes(struct strbuf *out, const void *bytes, u64 count)
{
	row_count(out, count);
	strbuf_add_bytes(out, bytes, count);
}

static inline void row_text(struct strbuf *out, const char *text)
{
	row_bytes(out, text, strlen(text));
}

#endif
