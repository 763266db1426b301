/* SPDX-License-Identifier: MIT
 * Names for tables.
 * Host. */
#include "study/analysis/mprof/text.h"

#include "host/base/text_width.h"

enum { NAME_COLUMNS = 60 };

const char *mprof_short_name(struct result *result, const char *name, const char *after)
{
	struct strbuf text = {0};
	const char *copy;

	text_add_function(&text, name, NAME_COLUMNS);
	strbuf_add(&text, after);
	copy = result_copy(result, strbuf_text(&text));
	result->failed |= text.failed;
	strbuf_release(&text);
	return copy;
}

const char *mprof_module(struct result *result, const struct mprof_calls *calls,
			 const struct mprof_function *function)
{
	struct frame frame = {.module = function->identity};

	return result_copy(result, frame_module_path(calls->source, &frame));
}
