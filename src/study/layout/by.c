/* SPDX-License-Identifier: MIT
 * Names of keys, and the life of colours.
 * Host. */
#include "study/layout/by.h"

#include <stdlib.h>
#include <string.h>

bool view_word_parse(const char *word, const char *const *words, u32 count, void *number)
{
	for (u32 i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0) {
			memcpy(number, &i, sizeof i);
			return true;
		}
	return false;
}

bool view_by_parse(const char *word, enum view_by *by)
{
	static const char *const names[VIEW_BYS] = {"none", "type", "module", "thread", "point",
						    "size", "sev",  "color",  "fn"};

	return view_word_parse(word, names, VIEW_BYS, by);
}

void view_colors_free(struct view_colors *self)
{
	if (!self)
		return;
	query_colors_release(&self->query);
	vec_release(&self->keys.keys);
	arena_release(&self->keys.arena);
	free(self);
}
