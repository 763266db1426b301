/* SPDX-License-Identifier: MIT
 * The wire format of Protocol Buffers.
 * Host. */
#include "show/formats/proto.h"

#include <string.h>

#include "host/base/text.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static void add_varint(struct strbuf *out, u64 number)
{
	for (; number >= 0x80; number >>= 7)
		strbuf_add_char(out, (char)(number | 0x80));
	strbuf_add_char(out, (char)number);
}

static void add_tag(struct strbuf *out, u32 field, u32 wire)
{
	add_varint(out, (u64)field << 3 | wire);
}

void proto_always(struct strbuf *out, u32 field, u64 number)
{
	add_tag(out, field, WIRE_VARINT);
	add_varint(out, number);
}

void proto_number(struct strbuf *out, u32 field, u64 number)
{
	if (number)
		proto_always(out, field, number);
}

void proto_bytes(struct strbuf *out, u32 field, const void *bytes, u64 count)
{
	add_tag(out, field, WIRE_BYTES);
	add_varint(out, count);
	strbuf_add_bytes(out, bytes, count);
}

void proto_text(struct strbuf *out, u32 field, const char *text)
{
	struct strbuf clean = {0};

	while (*text) {
		u32 length = utf8_length(text);

		if (length)
			strbuf_add_bytes(&clean, text, length);
		else
			strbuf_add(&clean, "\xef\xbf\xbd");
		text += length ? length : 1;
	}
	if (clean.count)
		proto_bytes(out, field, clean.text, clean.count);
	out->failed |= clean.failed;
	strbuf_release(&clean);
}

void proto_message(struct strbuf *out, u32 field, struct strbuf *message)
{
	out->failed |= message->failed;
	proto_bytes(out, field, strbuf_text(message), message->count);
	strbuf_clear(message);
}

void proto_packed(struct strbuf *out, u32 field, const u64 *numbers, u64 count)
{
	struct strbuf packed = {0};

	for (u64 i = 0; i < count; i++)
		add_varint(&packed, numbers[i]);
	if (count)
		proto_message(out, field, &packed);
	strbuf_release(&packed);
}
