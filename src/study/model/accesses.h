/* SPDX-License-Identifier: MIT
 * Accesses by chunk number: 48 bytes per chunk. */
#ifndef STUDY_MODEL_ACCESSES_H
#define STUDY_MODEL_ACCESSES_H

#include "host/base/vec.h"
#include "study/model/cells.h"
#include "host/trace/stream.h"

/* Of a recording with the note "access_merges". */
#define ACCESS_MERGES_CAVEAT                                                                       \
	"code built by gcc reports only one of a read and a write of the same place in a row, so " \
	"their numbers are lower bounds, and 'never read' and 'never written' are certain only "   \
	"with clang or --access valgrind"

struct chunk_access {
	/* 0 = never accessed; the last one also if it is not known (ACCESS_LATER) */
	u64 first_ticks, last_ticks;
	u64 reads, writes;
	u64 low, high; /* accessed bytes are within [low, high); equal = nothing */
	u64 covered;   /* distinct bytes accessed; UINT64_MAX = not measured */
	u32 flags;     /* ACCESS_* */
	u16 pattern;   /* number of its access_pattern, 0 = none */
	bool known;    /* false: nobody measured this chunk, all else is 0 */
	u64 read_bytes, written_bytes;
};

/* Whether this number of reads, or of writes, says something: 0 may mean that they were hidden. */
static inline bool access_is_sided(const struct chunk_access *self, u64 seen)
{
	return seen || !(self->flags & ACCESS_UNSIDED) || (!self->reads && !self->writes);
}

/* Of an estimate each access that was seen stands for up to so many. */
enum { ACCESS_WEIGHT = 64 };

/* How many reads, or writes, there were at least: those that were seen. */
static inline u64 access_least(const struct chunk_access *self, u64 seen)
{
	return self->flags & ACCESS_ESTIMATED ? seen / ACCESS_WEIGHT + seen % ACCESS_WEIGHT : seen;
}

/* Whether it is known that one thread accessed it, or several: where not each access was seen,
 * another thread's may be hidden. */
static inline bool access_knows_threads(const struct chunk_access *self)
{
	return self->flags & ACCESS_SHARED || !(self->flags & ACCESS_ESTIMATED);
}

/* Which bytes of a point's chunks were accessed, over all of them, as long as they have one
 * size. */
struct point_map {
	/* of each; 0 = not known: sizes differ, are above HW_MAP_BYTES, or a map is missing */
	u64 size;
	u64 chunks;              /* of which coverage was measured, each counted once */
	u64 words[HW_MAP_WORDS]; /* see host/base/bytemap.h */
	u32 patterns;            /* that the point has */
};

/* Adds what is known of one chunk. again: more of one that was added before. */
void point_map_add(struct point_map *self, u64 size, const struct stream_access *row, bool again);

/* Adds the chunks of another point. */
void point_map_merge(struct point_map *self, const struct point_map *other);

enum { ACCESS_CELL_BYTES = 48 };

struct access_table { /* all zero = empty and ready */
	struct cell_pages cells;
	VEC(struct chunk_access) wide; /* those of which a number does not fit into a cell */
	u64 count;                     /* chunks that are known */
};

/* Replaces what was known of the chunk; false if there is no memory. */
bool access_table_put(struct access_table *self, u64 chunk, const struct chunk_access *access);

/* False, and all zero, if nothing is known of the chunk. */
bool access_table_get(const struct access_table *self, u64 chunk, struct chunk_access *access);

void access_table_release(struct access_table *self);

#endif
