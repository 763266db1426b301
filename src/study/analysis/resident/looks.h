/* SPDX-License-Identifier: MIT
 * What the resident memory consisted of at every look: fragmentation over time.
 *
 *	struct resident_looks looks = {0};
 *
 *	if (resident_looks_make(&looks, model, &err) == 0)
 *		use(looks.rows.data[0].account.bytes[PART_PINNED]);
 *	resident_looks_release(&looks); */
#ifndef STUDY_ANALYSIS_RESIDENT_LOOKS_H
#define STUDY_ANALYSIS_RESIDENT_LOOKS_H

#include "study/analysis/resident/resident.h"
#include "study/result/result.h"

enum { LOOKS_MAX = 512 }; /* of more, some are left out, evenly */

/* Why the monitor looked. */
enum look_kind { LOOK_PERIODIC, LOOK_MARK, LOOK_SNAPSHOT, LOOK_END };

struct resident_look {
	const struct model_memory *memory;
	struct resident_account account; /* without absent_bytes */
	enum look_kind kind;
	const struct model_mark *mark; /* the last one that it followed; NULL = none */
};

struct resident_looks {                 /* all zero = empty */
	VEC(struct resident_look) rows; /* by time */
};

/* How many looks are shown: fewer where each has many pages. */
u64 resident_looks_shown(const struct model *model);
/* One of them; the first and the last look are among them. */
const struct model_memory *resident_look_shown(const struct model *model, u64 number, u64 shown);

/* Passes over the chunks twice, however many looks there are, and again over those that were live
 * at any. 0 or ERR_MEMORY; released in either case. */
int resident_looks_make(struct resident_looks *self, const struct model *model, struct err *err);
void resident_looks_release(struct resident_looks *self);

/* "over_time", hidden in text; NULL and err on failure. */
struct result *resident_looks_result(const struct model *model, struct err *err);

#endif
