/* SPDX-License-Identifier: MIT
 * Fuzz entry of assembler text whose checks become shorter: each line of the result is a line of the text, in the same order, or
 * was one that jumped elsewhere. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t line_bytes(const char *text, const char *end)
{
	const char *newline = memchr(text, '\n', (size_t)(end - text));

	return (size_t)((newline ? newline + 1 : end) - text);
}

/* Skips lines of the text that went. */
static const char *find_line(const char *text, const char *end, const char *line, size_t bytes)
{
	bool is_jne = bytes > 5 && memcmp(line, "\tjne\t", 5) == 0;

	for (size_t length; text < end; text += length) {
		length = line_bytes(text, end);
		if (length == bytes && memcmp(text, line, bytes) == 0)
			return text + length;
		if (is_jne && memmem(text, length, "jle", 3) &&
		    memmem(text, length, line + 5, bytes - 6))
			return text + length;
	}
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf shorter = {0};
	const char *text = (const char *)data, *end = text + size;
	u64 count;

	if (checks_shorten(text, size, &shorter, &count, NULL) < 0)
		abort();
	if (!count && (shorter.count != size || memcmp(strbuf_text(&shorter), text, size) != 0))
		abort();
	for (const char *line = strbuf_text(&shorter), *last = line + shorter.count; line < last;) {
		size_t bytes = line_bytes(line, last);

		text = find_line(text, end, line, bytes);
		line += bytes;
	}
	strbuf_release(&shorter);
	return 0;
}
