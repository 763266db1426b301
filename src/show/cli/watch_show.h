/* SPDX-License-Identifier: MIT
 * Reports of `heapwise watch` as JSON lines, as a screen, and as the text at the end. */
#ifndef SHOW_CLI_WATCH_SHOW_H
#define SHOW_CLI_WATCH_SHOW_H

#include <stdio.h>

#include "live/watch/names.h"

enum watch_sort { WATCH_BY_BYTES, WATCH_BY_AREAS, WATCH_BY_AGE, WATCH_BY_HITS, WATCH_SORTS };

/* What the user has chosen for the screen. */
struct watch_view {
	bool paused, help, typing; /* typing: the filter */
	u32 sort;                  /* of the suspects: enum watch_sort */
	char filter[64];           /* only points with this in a name of their stacks; "" = all */
	char message[256];
};

struct watch_show {
	FILE *out;
	const char *policy; /* its name */
	const struct policy_options *options;
	struct watch_names names;
	struct watch_view view;
	bool keys;   /* the user can change it */
	bool writes; /* of accesses only these are noticed */
};

void watch_show_json(struct watch_show *self, const struct watch_report *report);
void watch_show_screen(struct watch_show *self, const struct watch_report *report);
void watch_show_summary(struct watch_show *self, const struct watch_report *report);

#endif
