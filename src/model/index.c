/* SPDX-License-Identifier: MIT
 * Opens a trace by its index, or reads it.
 * Host. */
#include "model/index.h"

int model_open(struct model *self, const char *path, const struct model_options *options,
	       struct err *err)
{
	struct trace_read_options how = {.image = options->image,
					 .progress = options->progress,
					 .progress_self = options->progress_self};

	return model_load(self, path, &how, options->info, err);
}
