/* SPDX-License-Identifier: MIT
 * What layouts keep with an open trace, by the slots of struct study: each made once, when it is
 * first asked for. */
#ifndef STUDY_LAYOUT_SLOTS_H
#define STUDY_LAYOUT_SLOTS_H

#include "study/open/study.h"

enum layout_slot {
	SLOT_FLAME,                   /* struct flame_shapes */
	SLOT_SUMS,                    /* struct sums_cache */
	SLOT_MOMENT,                  /* struct last_moment */
	SLOT_POINT_CHUNKS,            /* struct point_index */
	SLOT_PLACES,                  /* u64 by point, see verdicts.c */
	SLOT_SOURCE,                  /* struct source_table */
	SLOT_OWNERS,                  /* struct held, see owners.c */
	SLOT_KEYS,                    /* struct view_keys, by enum view_by */
	SLOT_SUGGEST = SLOT_KEYS + 9, /* struct suggestions, by enum suggest_kind */
	LAYOUT_SLOTS = SLOT_SUGGEST + 5
};
_Static_assert((int)LAYOUT_SLOTS <= (int)STUDY_SLOTS, "a study has too few slots");

#endif
