/* SPDX-License-Identifier: MIT
 * Calling contexts, to and from the payloads of their blocks. */
#ifndef HOST_TRACE_CONTEXTS_H
#define HOST_TRACE_CONTEXTS_H

#include "host/trace/columns.h"
#include "host/trace/stream.h"

enum { PC_SLOTS = 1024 };

struct context_model { /* starts anew in each block */
	u32 id;
	u64 pc;
	u64 next_pc[PC_SLOTS]; /* by the pc before it */
};

/* Payload of a contexts block under construction. All zero = empty. */
struct contexts {
	struct columns columns; /* ids, parents, flags, pcs */
	struct context_model model;
};

void contexts_add(struct contexts *self, const struct stream_context *context);
struct parcel *contexts_take(struct contexts *self); /* as columns_take */

struct guard;

/* 0; or a negative code of the sink, with err filled; or a positive enum block_status if the
 * block is bad, after what came before it was told. */
int contexts_tell(struct guard *guard, const struct block *block, struct err *err);

#endif
