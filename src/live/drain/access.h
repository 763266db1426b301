/* SPDX-License-Identifier: MIT
 * Accesses on their way from the rings to the sink: a gather puts the parts of a block together,
 * one gather per ring; access_rows, a part of the correlator, keeps whole rows until it is known
 * which chunk they are about. Runs on the drain thread; tells nothing by itself. */
#ifndef LIVE_DRAIN_ACCESS_H
#define LIVE_DRAIN_ACCESS_H

#include "host/base/arena.h"
#include "host/base/vec.h"
#include "host/trace/stream.h"

struct told_record;

/* ---- parts ---- */

struct access_gather {            /* all zero = between two blocks */
	struct stream_access row; /* chunk is not known yet */
	u64 address;              /* 0 = no block has begun */
	u32 parts;                /* a bit for each that came */
	u64 map[HW_MAP_WORDS];    /* of the row, if it has one */
	u64 side_maps[HW_SIDES][HW_MAP_WORDS];
};

enum access_step {
	ACCESS_MORE,    /* is expected */
	ACCESS_WHOLE,   /* row is complete, and stays until the next block begins */
	ACCESS_DAMAGED, /* the part makes no sense, or those before it did not come to an end */
};

enum access_step access_gather_part(struct access_gather *self, const struct hw_record *record);

/* ---- rows ---- */

/* A row whose block is not known among the live ones when it comes: other records of the address
 * wait, or its allocation is still to come. It belongs to the chunk that the next free of the
 * address by its thread ends. */
struct access_loose {
	struct stream_access row;
	u64 address;
	u32 thread;
	bool nested;
};

struct access_held { /* belongs to a free that waits */
	struct stream_access row;
	u64 next_free;
};

struct access_maps { /* of a row; recycled when the row was told or dropped */
	u64 all[HW_MAP_WORDS];
	u64 sides[HW_SIDES][HW_MAP_WORDS];
	struct access_maps *next_free;
};

struct access_rows {                     /* all zero = empty and ready */
	VEC(struct stream_access) given; /* whole, in the order of the records that name them */
	u64 given_next;                  /* of those, the one that the next record names */
	VEC(struct stream_access) out;   /* to be told; their chunks are */
	VEC(struct access_loose) loose;  /* oldest first */
	VEC(struct access_held) held;
	u64 free_held; /* number + 1, 0 = none */
	u64 unknown;   /* rows whose block was never told */
	struct arena maps;
	struct access_maps *free_maps;
};

void access_rows_release(struct access_rows *self);

/* Takes a copy of a whole row, with its maps; false without memory. */
bool access_rows_give(struct access_rows *self, const struct stream_access *row);

/* Nobody will ask for the row any more. */
void access_rows_drop(struct access_rows *self, const struct stream_access *row);

/* All of `out` were told. */
void access_rows_told(struct access_rows *self);

/* The next row that was given; NULL if there is none. Valid until the next call. */
struct stream_access *access_rows_take(struct access_rows *self);

/* Keeps a row whose block is not known, unless there are too many; false without memory. */
bool access_rows_loosen(struct access_rows *self, const struct told_record *told,
			const struct stream_access *row);

/* A free is going to wait: the loose row of its block, if there is one, waits with it. Returns its
 * number, 0 = none. Without memory the row becomes unknown. */
u64 access_rows_hold(struct access_rows *self, const struct told_record *death);

/* Gives back the row with the number. */
struct stream_access access_rows_release_held(struct access_rows *self, u64 number);

#endif
