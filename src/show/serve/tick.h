/* SPDX-License-Identifier: MIT
 * Reports of a watcher as ticks of the Live view. */
#ifndef SHOW_SERVE_TICK_H
#define SHOW_SERVE_TICK_H

#include "live/watch/names.h"

/* An object of JSON on one line, the caller's to free; NULL without memory. */
char *tick_make(const struct watch_report *report, const struct policy_options *policy,
		struct watch_names *names);

#endif
