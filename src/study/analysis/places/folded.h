/* SPDX-License-Identifier: MIT
 * Which wrappers are shown as part of their callers, once folds.h has found them. */
#ifndef STUDY_ANALYSIS_PLACES_FOLDED_H
#define STUDY_ANALYSIS_PLACES_FOLDED_H

#include "host/base/map.h"
#include "host/base/vec.h"

enum fold_why {
	FOLD_ASKED, /* the user named it */
	FOLD_NAME,  /* a known name */
	FOLD_FORM,  /* many functions allocate through it, in many sizes */
	/* it has no name and is beside such a one: small functions of one source file */
	FOLD_NEAR,
};

struct fold {
	const char *function, *module; /* live as long as symbols and model */
	/* in the module, of a call in a function without a name, which stands for it; else 0 */
	u64 address;
	enum fold_why why;
	u32 callers; /* distinct functions; calls, where they have no names */
	u64 points;
	u64 allocations; /* in units of the model */
	u64 bytes;
	u64 min_bytes, max_bytes; /* mean sizes of its points */
};

struct folds {                 /* all zero = none */
	VEC(struct fold) rows; /* most allocations first */
	struct map functions;  /* hash of module and function → 1 */
	bool usual;            /* those that are found when the user asks for none */
};

/* Where a function begins that has no name is not known: each call in it is one by itself. */
u64 fold_key(const char *module, const char *function, u64 address);

/* self may be NULL: nothing is folded. The module's folder does not matter, nor the address in it
 * if the function has a name. */
bool folds_hold(const struct folds *self, const char *module, const char *function, u64 address);

#endif
