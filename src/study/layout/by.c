/* SPDX-License-Identifier: MIT
 * Names of keys, and the life of colours.
 * Host. */
#include "study/layout/by.h"

#include <stdlib.h>
#include <string.h>

bool view_by_parse(const char *word, enum view_by *by)
{
	static const char *const names[VIEW_BYS] = {"none", "type", "module", "thread", "point",
						    "size", "sev",  "color",  "fn"};

	for (u32 i = 0; i < VIEW_BYS; i++)
		if (strcmp(names[i], word) == 0) {
			*by = (enum view_by)i;
			return true;
		}
	return false;
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
