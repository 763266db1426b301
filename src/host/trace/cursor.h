/* SPDX-License-Identifier: MIT
 * Numbers of a payload one after the other, and columns of them: what facts, contexts and accesses
 * have in common. A cursor never reads beyond its end and remembers that it would have. */
#ifndef HOST_TRACE_CURSOR_H
#define HOST_TRACE_CURSOR_H

#include "format/varint.h"
#include "host/base/arena.h"
#include "host/base/strbuf.h"
#include "host/trace/block.h"

struct cursor {
	const u8 *at, *end;
	bool bad; /* something did not fit: all that was read since is 0 */
};

static inline struct cursor block_cursor(const struct block *block)
{
	return (struct cursor){block->payload, block->payload + block->bytes, false};
}

static inline u64 cursor_get(struct cursor *in)
{
	u64 value = 0;
	const u8 *after = in->bad ? NULL : hw_varint_get(in->at, in->end, &value);

	if (!after) {
		in->bad = true;
		return 0;
	}
	in->at = after;
	return value;
}

static inline u32 cursor_get_u32(struct cursor *in)
{
	u64 value = cursor_get(in);

	if (value > UINT32_MAX)
		in->bad = true;
	return (u32)value;
}

/* Bytes behind their number, in place; none if they do not fit. */
static inline const u8 *cursor_bytes(struct cursor *in, u64 *count)
{
	const u8 *bytes;

	*count = cursor_get(in);
	if (*count > (u64)(in->end - in->at)) {
		in->bad = true;
		*count = 0;
	}
	bytes = in->at;
	in->at += *count;
	return bytes;
}

/* A copy of a text; NULL if the payload is bad (in->bad) or there is no memory. */
static inline const char *cursor_text(struct cursor *in, struct arena *arena)
{
	u64 count;
	const u8 *bytes = cursor_bytes(in, &count);

	return in->bad ? NULL : arena_copy_text(arena, (const char *)bytes, count);
}

/* An array of rows of at least so many bytes each in the payload; NULL if they do not fit (in->bad)
 * or there is no memory. */
static inline void *cursor_rows(struct cursor *in, struct arena *arena, u64 count, u64 least,
				u64 each)
{
	in->bad |= count > (u64)(in->end - in->at) / least;
	return in->bad ? NULL : arena_alloc_array(arena, count, each);
}

/* Cuts a payload that begins with the lengths of `count` columns, at most 16; false if they do not
 * fill it. */
static inline bool cursor_split(struct cursor *in, struct cursor *columns, u32 count)
{
	u64 bytes[16];

	for (u32 i = 0; i < count; i++)
		bytes[i] = cursor_get(in);
	for (u32 i = 0; i < count && !in->bad; i++) {
		if (bytes[i] > (u64)(in->end - in->at))
			return false;
		columns[i] = (struct cursor){in->at, in->at + bytes[i], false};
		in->at += bytes[i];
	}
	return !in->bad && in->at == in->end;
}

static inline bool cursors_bad(const struct cursor *columns, u32 count)
{
	bool bad = false;

	for (u32 i = 0; i < count; i++)
		bad |= columns[i].bad;
	return bad;
}

static inline bool cursors_at_end(const struct cursor *columns, u32 count)
{
	for (u32 i = 0; i < count; i++)
		if (columns[i].at != columns[i].end)
			return false;
	return true;
}

/* ---- writing ---- */

static inline void varint_add(struct strbuf *buf, u64 value)
{
	u8 bytes[HW_VARINT_MAX];

	if (likely(value < 0x80 && buf->count + 1 < buf->capacity)) { /* most are small */
		buf->text[buf->count++] = (char)value;
		buf->text[buf->count] = 0;
		return;
	}
	strbuf_add_bytes(buf, bytes, (u64)(hw_varint_put(bytes, value) - bytes));
}

static inline void bytes_add(struct strbuf *buf, const void *bytes, u64 count)
{
	varint_add(buf, count);
	strbuf_add_bytes(buf, bytes, count);
}

#endif
