/* SPDX-License-Identifier: MIT
 * Reports of `heapwise watch` as JSON lines, as a screen, as the text at the end, and as ticks for browsers. */
#ifndef CLI_WATCH_SHOW_H
#define CLI_WATCH_SHOW_H

#include <stdio.h>

#include "cli/watch_names.h"

struct watch_show {
	FILE *out;
	const char *policy;              /* its name */
	const struct policy_options *options;
	struct watch_names names;
};

void watch_show_json(struct watch_show *self, const struct watch_report *report);
void watch_show_screen(struct watch_show *self, const struct watch_report *report);
void watch_show_summary(struct watch_show *self, const struct watch_report *report);

/* As a tick of the Live view: an object of JSON on one line, the caller's to free; NULL without memory. */
char *watch_tick_make(const struct watch_report *report, const struct policy_options *policy,
		      struct watch_names *names);

#endif
