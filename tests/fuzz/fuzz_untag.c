/* SPDX-License-Identifier: MIT
 * Fuzz entry of aarch64 text whose checks are to know of tags: text without any stays as it is, and changed lines are loads and shifts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/checks/untag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct untag_job job = {(const char *)data, size, 0x400000000000, size % 2};
	struct strbuf untagged = {0};
	u64 count;

	if (checks_untag(&job, &untagged, &count, NULL) < 0)
		abort();
	if (!count && (untagged.count != size || (size && memcmp(strbuf_text(&untagged), data, size) != 0)))
		abort();
	if (untagged.count > size + 128 * count)
		abort();
	strbuf_release(&untagged);
	return 0;
}
