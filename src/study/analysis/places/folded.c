/* SPDX-License-Identifier: MIT
 * Whether a function is one that is folded.
 * Host. */
#include "study/analysis/places/folded.h"

#include "host/base/path.h"

u64 fold_key(const char *module, const char *function, u64 address)
{
	u64 hash = hash_text(hash_text(HASH_START, path_file(module)), function);

	return *function ? hash : hash_u64(hash ^ address);
}

bool folds_hold(const struct folds *self, const char *module, const char *function, u64 address)
{
	return self && self->rows.count &&
	       map_find(&self->functions, fold_key(module, function, address));
}
