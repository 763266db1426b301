/* SPDX-License-Identifier: MIT
 * Reads --wrapper and --no-fold.
 * Host. */
#include "show/cli/folding.h"

int folding_read(const struct folding *self, struct wrappers *names, struct err *err)
{
	int status = 0;

	if (self->none && self->names.count)
		return err_set(err, ERR_USAGE, "--wrapper cannot be combined with --no-fold");
	for (u32 i = 0; i < self->names.count && status == 0; i++)
		status = wrappers_add(names, self->names.items[i], err);
	return status;
}
