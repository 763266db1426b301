/* SPDX-License-Identifier: MIT
 * Names of keys, and the life of colours.
 * Host. */
#include "study/layout/by.h"

#include <stdlib.h>

#include "host/base/keyed.h"

bool view_by_parse(const char *word, enum view_by *by)
{
	static const char *const names[VIEW_BYS] = {"none", "type", "module", "thread", "point",
						    "size", "sev",  "color",  "fn"};

	return word_parse(names, word, by);
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
