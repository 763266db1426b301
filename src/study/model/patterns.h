/* SPDX-License-Identifier: MIT
 * Which bytes chunks read and wrote, chunk by chunk: most chunks of a point are used in a few ways,
 * so that each way is kept once, with how many they are. */
#ifndef STUDY_MODEL_PATTERNS_H
#define STUDY_MODEL_PATTERNS_H

#include "host/base/map.h"
#include "host/base/vec.h"
#include "host/trace/stream.h"

enum {
	PATTERNS_MAX = UINT16_MAX, /* of a recording: 18 MB */
	POINT_PATTERNS_MAX = 1024, /* of a point; later ones are joined, by size */
};

struct access_pattern {
	u32 point;
	u16 size; /* of the chunk in bytes, at most HW_MAP_BYTES */
	/* false: reads and writes were not told apart, and all accesses count as both */
	bool sided;
	bool mixed; /* the join of many: not each of its chunks accessed all of this */
	u64 chunks;
	u64 sides[HW_SIDES][HW_MAP_WORDS]; /* bytes read, bytes written; see host/base/bytemap.h */
};

struct pattern_table {                   /* all zero = empty and ready */
	VEC(struct access_pattern) rows; /* number - 1 */
	struct map by_content;           /* hash → number; only while the model is filled */
};

/* What a row says of a chunk of so many bytes; false if it does not say which bytes they were. */
bool access_pattern_of(struct access_pattern *self, const struct stream_access *row, u64 size);

/* Adds a chunk that has this pattern. *patterns counts those of the point. Returns the pattern's
 * number, 0 if there is no room for another one, UINT32_MAX if there is no memory. */
u32 pattern_table_add(struct pattern_table *self, const struct access_pattern *pattern,
		      u32 *patterns);

/* Takes a chunk out again: more is known of it now. */
void pattern_table_remove(struct pattern_table *self, u32 number);

void pattern_table_release(struct pattern_table *self);

#endif
