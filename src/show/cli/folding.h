/* SPDX-License-Identifier: MIT
 * --wrapper and --no-fold: which functions are shown as part of their callers. */
#ifndef SHOW_CLI_FOLDING_H
#define SHOW_CLI_FOLDING_H

#include "study/analysis/places/wrappers.h"
#include "host/base/options.h"

struct folding {
	struct option_strings names;
	bool none;
};

#define FOLDING_OPTIONS                                                                            \
	OPTION(struct trace_args, folding.names, 0, "wrapper", OPTION_STRINGS, "NAME[,NAME...]",   \
	       "also fold these functions into their callers; * matches any characters"),          \
		OPTION(struct trace_args, folding.none, 0, "no-fold", OPTION_SET, NULL,            \
		       "do not fold allocator wrappers into their callers")

/* The names that were given; released by the caller also after a failure. */
int folding_read(const struct folding *self, struct wrappers *names, struct err *err);

#endif
