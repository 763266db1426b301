/* SPDX-License-Identifier: MIT
 * Accesses to chunks, to and from the payloads of their blocks. */
#ifndef HOST_TRACE_ACCESSES_H
#define HOST_TRACE_ACCESSES_H

#include "host/trace/types.h"

/* Payload of an accesses block under construction. All zero = empty. */
struct accesses {
	struct columns columns;
	u64 chunk, ticks; /* of the row before */
};

void accesses_add(struct accesses *self, const struct stream_access *row);

/* No further row may be added before it is taken. */
bool accesses_full(const struct accesses *self);
struct parcel *accesses_take(struct accesses *self); /* as columns_take */

/* As types_tell, always with a decoder. */
int accesses_tell(const struct chunk_reading *to, const struct block *block, struct err *err);

#endif
