/* SPDX-License-Identifier: MIT
 * A report in one file: the web page with the answers inside that its views ask for first. */
#ifndef SHOW_FORMATS_HTML_H
#define SHOW_FORMATS_HTML_H

#include <stdio.h>

#include "show/serve/api.h"

enum report_source {
	REPORT_NO_SOURCE, /* who gets the report does not get the program's text */
	REPORT_LINES,     /* of lines that allocate, or call what does */
	REPORT_FILES,
};

struct report_options {
	const char *query; /* of the chunks that it is about; NULL = all */
	const char *views; /* names with commas between; NULL = all */
	u64 max_bytes;     /* 0 = any number; what does not fit is left out, the first views last */
	enum report_source source;
	struct folders *
		/* gets those that api.sources lacks, whose text is left out; NULL = nobody wants to
		 * know */
		withheld;
};

/* Whether all of these are names of views; *wrong is the first that is none. */
bool report_views_known(const char *views, const char **wrong);

/* Of the first trace of the API, which must be loaded. */
int report_page_write(struct api *api, const struct report_options *options, FILE *out,
		      struct err *err);

#endif
