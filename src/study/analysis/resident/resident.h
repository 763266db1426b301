/* SPDX-License-Identifier: MIT
 * What the resident memory of a program consisted of, at its greatest and at the end. series.h has
 * tables of it. */
#ifndef STUDY_ANALYSIS_RESIDENT_RESIDENT_H
#define STUDY_ANALYSIS_RESIDENT_RESIDENT_H

#include "study/model/model.h"

enum resident_part {
	PART_REQUESTED,     /* live blocks, what the program asked for */
	PART_SLACK,         /* the allocator's headers and rounding, of these */
	PART_FRAGMENTATION, /* the rest of the pages that live blocks lie on */
	PART_CACHED,        /* pages of the allocator without a live block */
	PART_MAPPINGS,      /* anonymous mappings without blocks */
	PART_FILES,         /* mapped files that are no modules */
	PART_CODE,          /* modules: code and data */
	PART_STACKS,
	PART_RECORDER,
	PARTS
};

struct resident_account {
	u64 bytes[PARTS];
	u64 absent_bytes; /* requested by live blocks, and not resident */
	u64 sum_bytes;    /* of all parts */
};

/* Takes memory apart that was told; one pass over the chunks. 0 or ERR_MEMORY. */
int resident_account(const struct model *model, const struct model_memory *memory,
		     struct resident_account *account, struct err *err);

/* Of [address, address + size), what was resident at a look. */
u64 resident_bytes(const struct model *model, const struct model_memory *memory, u64 address,
		   u64 size);

/* The look of ticks [from, to) with most resident memory, and the one at the program's end; NULL if
 * there is none. */
const struct model_memory *resident_most(const struct model *model, u64 from, u64 to);
const struct model_memory *resident_last(const struct model *model);

/* The most that was ever resident: by samples, by looks, or by the kernel's own mark; 0 = nobody
 * looked. */
u64 resident_peak_bytes(const struct model *model);

#endif
