/* SPDX-License-Identifier: MIT
 * Fuzz entry of suppressions: the input up to its first zero byte is a file of them, the rest a name
 * that they are matched against; a matcher that tries everything must agree. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "study/analysis/places/suppressions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More stars or longer names would take the slow matcher too long. */
enum { STARS_MAX = 4, NAME_MAX_BYTES = 64 };

/* Whether pattern[0..length) matches all of text. */
static bool matches_all(const char *pattern, size_t length, const char *text)
{
	if (!length)
		return !*text;
	if (*pattern == '*')
		return matches_all(pattern + 1, length - 1, text) ||
		       (*text && matches_all(pattern, length, text + 1));
	return *text == *pattern && matches_all(pattern + 1, length - 1, text + 1);
}

static bool matches_slowly(const char *pattern, const char *text)
{
	size_t length = strlen(pattern);
	char whole[512];
	bool at_start = *pattern == '^', at_end;

	at_end = length > at_start && pattern[length - 1] == '$';
	whole[0] = '*';
	memcpy(whole + 1, pattern + at_start, length - at_start - at_end);
	length = length - at_start - at_end + 1;
	whole[length] = '*';
	return matches_all(whole + at_start, length - at_start + !at_end, text);
}

static void compare(const char *pattern, const char *name)
{
	u32 stars = 0;

	for (const char *p = pattern; *p; p++)
		stars += *p == '*';
	if (stars > STARS_MAX || strlen(pattern) > 200 || strlen(name) > NAME_MAX_BYTES)
		return;
	if (suppression_matches(pattern, name) != matches_slowly(pattern, name))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct suppressions suppressions = {0};
	char *text = calloc(size + 2, 1);
	struct err err = {0};

	if (!text)
		return 0;
	memcpy(text, data, size);
	suppressions_parse(&suppressions, text, "fuzz", &err);
	for (u64 i = 0; i < suppressions.list.count; i++)
		compare(suppressions.list.data[i].pattern, text + strlen(text) + 1);
	suppressions_release(&suppressions);
	free(text);
	return 0;
}
