/* SPDX-License-Identifier: MIT
 * What users look names up by: a text that may stand anywhere in the name, in any case, or an
 * extended regular expression between slashes, /…/ or /…/i. */
#ifndef STUDY_LAYOUT_PATTERN_H
#define STUDY_LAYOUT_PATTERN_H

#include <regex.h>

#include "host/base/err.h"
#include "format/types.h"

enum { PATTERN_BYTES = 256 };

struct view_pattern {
	char text[PATTERN_BYTES]; /* literal, in small letters */
	bool is_regex;
	regex_t regex;
};

/* ERR_USAGE if it is too long or no expression. What can make the matcher run for ever
 * (back-references, more than one counted repetition) is refused. Released also after a failure. */
int view_pattern_init(struct view_pattern *self, const char *text, struct err *err);
void view_pattern_release(struct view_pattern *self);

bool view_pattern_matches(const struct view_pattern *self, const char *name);

#endif
