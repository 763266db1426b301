/* SPDX-License-Identifier: MIT
 * What chunks are told apart by: keys, and their labels. study/layout/keys.h finds them. */
#ifndef STUDY_LAYOUT_BY_H
#define STUDY_LAYOUT_BY_H

#include "host/base/arena.h"
#include "host/base/vec.h"
#include "study/query/engine.h"

enum view_by {
	BY_NONE,
	BY_TYPE,
	BY_MODULE,
	BY_THREAD,
	BY_POINT,
	BY_SIZE,
	BY_SEV,
	BY_COLOR,
	BY_FN,
	VIEW_BYS
};

bool view_by_parse(const char *word, enum view_by *by);

struct view_key {
	const char *label;
	/* of the point or thread, lower end of the sizes, step of severity, 0xrrggbb; else 0 */
	u64 number;
	/* Of keys of points: what was live of these at their own peaks, and at the program's. */
	u64 peak_bytes, at_peak_bytes;
};

#define VIEW_VARIES UINT32_MAX

struct view_keys { /* all zero = empty */
	enum view_by by;
	VEC(struct view_key) keys;
	u32 *of_point;      /* by point, or VIEW_VARIES; NULL if the key is not the point's */
	const u8 *of_chunk; /* by chunk; NULL if there is none for each */
	struct type_cascade *types; /* of BY_TYPE: which chunks of a point that varies are asked */
	struct map by_type;         /* address of the name of a type → key */
	struct arena arena;
};

/* Colours that color stages of the query gave, for BY_COLOR; key 0 is no colour. */
struct view_colors {
	struct query_colors query;
	struct view_keys keys;
};
void view_colors_free(struct view_colors *self);

#endif
