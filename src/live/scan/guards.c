/* SPDX-License-Identifier: MIT
 * Parts mappings at guards; see guards.h. Runs on a scan's thread. */
#include "live/scan/guards.h"

#include "host/base/vec.h"
#include "live/scan/question.h"

enum { RUNS = 256 }; /* that are asked for at once */

/* Adds the mapping in parts: pages of it that may not be touched are one that cannot be read. */
static bool add_parts(struct mapping_list *parts, struct mapping mapping, int pagemap)
{
	struct pages_found found[RUNS];
	struct mapping part = mapping;
	int got = mapping.kind == MAPPING_ANONYMOUS && mapping.readable ? RUNS : 0;

	for (u64 at = mapping.start; got == RUNS; at = found[RUNS - 1].end) {
		struct pages_question question = {.size = sizeof(question),
						  .start = at,
						  .end = mapping.end,
						  .found = (u64)(uintptr_t)found,
						  .found_count = RUNS,
						  .all_of = PAGES_GUARD,
						  .wanted = PAGES_GUARD};

		got = ioctl(pagemap, PAGES_ASK, &question);
		for (int i = 0; i < got; i++) {
			struct mapping guard = mapping;

			guard.start = found[i].start;
			guard.end = found[i].end;
			guard.readable = guard.writable = guard.executable = false;
			part.end = guard.start;
			if ((part.start < part.end && !vec_push(parts, part)) ||
			    !vec_push(parts, guard))
				return false;
			part.start = guard.end;
		}
	}
	part.end = mapping.end;
	return part.start >= part.end || vec_push(parts, part);
}

bool guards_part(struct mapping_list *mappings, int pagemap)
{
	struct mapping_list parts = {0};
	bool good = true;

	for (u64 i = 0; i < mappings->count && good; i++)
		good = add_parts(&parts, mappings->data[i], pagemap);
	if (good) {
		struct mapping_list joined = *mappings;

		*mappings = parts;
		parts = joined;
	}
	vec_release(&parts);
	return good;
}
