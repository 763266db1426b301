/* SPDX-License-Identifier: MIT
 * Tables that an index holds beside the columns, each one run of bytes that is mapped. The model's own are checked when
 * the index is opened. Others may store what they have made of a model; they have to check what they read: whoever wrote
 * the index could write anything. */
#ifndef STUDY_MODEL_STORED_H
#define STUDY_MODEL_STORED_H

#include "format/types.h"

struct err;

enum stored_kind {
	STORED_ORDER, /* u32, see study/model/order.h */
	STORED_BLOCKS,
	STORED_BLOCKS_MIDDLE,
	STORED_BLOCKS_COARSE,
	STORED_SNAPSHOTS,
	STORED_PEAKS,        /* i64 by point */
	STORED_POINT_FIRST,  /* u64 by point and one more, see study/model/by_point.h */
	STORED_POINT_CHUNKS, /* u32 */
	STORED_OTHERS,       /* and from here on what others store */
	STORED_KINDS = STORED_OTHERS + 8
};

struct stored {
	const void *data; /* NULL = there is none */
	u64 bytes;
	u64 tag; /* what its writer knows it by; 0 for the model's own */
};

/* Where they are put while an index is written, one after the other. */
struct index_writer;

int stored_begin(struct index_writer *self, u32 kind, u64 tag, struct err *err);
/* More of the one that was begun last. */
int stored_add(struct index_writer *self, const void *bytes, u64 count, struct err *err);

static inline int stored_put(struct index_writer *self, u32 kind, u64 tag, const void *bytes,
			     u64 count, struct err *err)
{
	int status = stored_begin(self, kind, tag, err);

	return status < 0 ? status : stored_add(self, bytes, count, err);
}

#endif
