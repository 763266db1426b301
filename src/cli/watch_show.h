/* SPDX-License-Identifier: MIT
 * Reports of `heapwise watch` as JSON lines, as a screen, and as the text at the end. */
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

#endif
