/* SPDX-License-Identifier: MIT
 * How a scan is made; see owners_how.h. Host. */
#include "show/cli/owners_how.h"

#include <string.h>

#include "live/drain/berths.h"

bool owners_how_add(u32 *how, const char *word, u64 bytes)
{
	static const struct {
		const char *word;
		u32 how;
	} words[] = {{"background", OWNERS_BACKGROUND}, {"contents", OWNERS_CONTENTS}};

	for (u32 i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strlen(words[i].word) != bytes || memcmp(words[i].word, word, bytes) != 0)
			continue;
		*how |= words[i].how;
		return true;
	}
	return false;
}

bool owners_how_read(u32 *how, const char *list)
{
	*how = 0;
	while (*list) {
		u64 bytes = strcspn(list, ",");

		if (!owners_how_add(how, list, bytes))
			return false;
		list += bytes + (list[bytes] == ',');
	}
	return true;
}
