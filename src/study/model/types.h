/* SPDX-License-Identifier: MIT
 * Types by chunk number: 8 bytes per chunk. What is told of a chunk, a source apart, is mostly the
 * same as of many others, and kept once. */
#ifndef STUDY_MODEL_TYPES_H
#define STUDY_MODEL_TYPES_H

#include "host/base/map.h"
#include "host/base/vec.h"
#include "study/model/cells.h"
#include "host/trace/stream.h"

struct chunk_type {
	u32 type;   /* index of model.types */
	u32 offset; /* in the chunk, of the first element */
	u64 count;  /* elements, 0 = unknown */
	u64 identity;
	u8 source; /* enum type_source */
};

struct type_cell { /* by source: number of a kind, 0 = none */
	u32 kinds[2];
};

struct type_kind { /* what was told of one or many chunks */
	u64 count;
	u32 identity; /* index */
	u32 offset;
	u8 source;
};

struct type_identity {
	u64 identity;
	u32 type; /* index of model.types + 1, 0 = has no name (yet) */
};

struct type_table {                  /* all zero = empty and ready */
	struct cell_pages cells;     /* struct type_cell */
	VEC(struct type_kind) kinds; /* number 0 is none */
	VEC(struct type_identity) identities;
	struct map by_identity; /* index + 1 */
	struct map by_kind;     /* hash → number */
	u64 chunks[2];          /* that have a row, by source */
};

/* Replaces what its source said of the chunk before. False if there is no memory. */
bool type_table_put(struct type_table *self, const struct stream_type *row);

/* What the source said of a chunk with this cell; false if nothing, or if the identity has no name.
 */
bool type_table_get(const struct type_table *self, const struct type_cell *cell, u8 source,
		    struct chunk_type *type);
/* The cell of a chunk; NULL if nothing was said of its neighbours either. */
struct type_cell *type_table_cell(const struct type_table *self, u64 chunk);

/* The place of an identity, made if it is new; NULL if there is no memory. Valid until the next. */
struct type_identity *type_table_identity(struct type_table *self, u64 identity);

void type_table_release(struct type_table *self);

#endif
