/* SPDX-License-Identifier: MIT
 * Fuzz entry of assembler text whose checks become shorter: each line of the result is a line of the text, in the same order, or
 * was one that jumped elsewhere. Only leaq is found elsewhere, with an address of the text, and once more per check. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/checks/checks.h"

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

static bool is_lea(const char *line, size_t bytes)
{
	return memmem(line, bytes, "leaq", 4) && (bytes < 5 || memcmp(line, "\tjne\t", 5) != 0);
}

/* The address is of the text; so is the register, and so is a whole line that moved. */
static void find_lea(const char *text, size_t size, const char *line, size_t bytes)
{
	const char *comma = memrchr(line, ',', bytes);

	if (memmem(text, size, line, bytes))
		return;
	if (!comma || memcmp(line, "\tleaq\t", 6) != 0 ||
	    !memmem(text, size, line + 6, (size_t)(comma - line - 6)) ||
	    !memmem(text, size, comma + 2, (size_t)(line + bytes - comma - 3)))
		abort();
}

static u64 count_lea(const char *text, size_t size)
{
	u64 count = 0;

	for (const char *end = text + size; text < end; text += line_bytes(text, end))
		count += is_lea(text, line_bytes(text, end));
	return count;
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
	if (count_lea(strbuf_text(&shorter), shorter.count) > count_lea(text, size) + count)
		abort();
	for (const char *line = strbuf_text(&shorter), *last = line + shorter.count; line < last;) {
		size_t bytes = line_bytes(line, last);

		if (is_lea(line, bytes))
			find_lea((const char *)data, size, line, bytes);
		else
			text = find_line(text, end, line, bytes);
		line += bytes;
	}
	strbuf_release(&shorter);
	return 0;
}
