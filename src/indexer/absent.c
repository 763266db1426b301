/* SPDX-License-Identifier: MIT
 * Stands in for the indexer where libclang's headers were missing at build time.
 * Runs on the host. */
#include "indexer/indexer.h"

int indexer_run(const struct indexer_options *options, struct indexer_summary *summary,
		struct err *err)
{
	(void)options;
	(void)summary;
	return err_set(
		err, ERR_SYSTEM,
		"this heapwise was built without libclang: install Debian's libclang-dev (or "
		"the like) and build it again");
}
