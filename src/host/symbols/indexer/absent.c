/* SPDX-License-Identifier: MIT
 * Stands in for the indexer where libclang's headers were missing at build time.
 * Runs on the host. */
#include "host/symbols/indexer/indexer.h"

int indexer_run(const struct indexer_options *options, struct indexer_summary *summary,
		struct err *err)
{
	(void)options;
	(void)summary;
	return err_set(
		err, ERR_SYSTEM,
		"this heapwise was built without libclang; install libclang-dev (Debian, Ubuntu) "
		"and build heapwise again");
}
