/* SPDX-License-Identifier: MIT
 * Cells of tables.
 * Host. */
#include "study/analysis/mprof/text.h"

#include "host/base/text_width.h"
#include "host/base/units.h"

bool mprof_is_shown(enum mprof_verbosity verbosity, u64 part, u64 whole)
{
	static const double limits[] = {[MPROF_NORMAL] = 0.005, [MPROF_TERSE] = 0.01};

	return verbosity == MPROF_VERBOSE || units_share(part, whole) > limits[verbosity];
}

struct value mprof_share(u64 part, u64 whole)
{
	return value_if(whole, value_real(units_share(part, whole)));
}

struct value mprof_name(struct result *result, const char *name, u32 columns, const char *after)
{
	struct strbuf text = {0};
	struct value value = value_text(result_copy(result, name));

	text_add_function(&text, name, columns);
	strbuf_add(&text, after);
	value.shown = result_copy(result, strbuf_text(&text));
	result->failed |= text.failed;
	strbuf_release(&text);
	return value;
}

struct value mprof_module(struct result *result, const struct mprof_calls *calls,
			  const struct mprof_function *function)
{
	struct frame frame = {.module = function->identity};

	return value_text(result_copy(result, frame_module_path(calls->source, &frame)));
}
