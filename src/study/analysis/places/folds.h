/* SPDX-License-Identifier: MIT
 * Wrappers that findings and lists of points show as part of their callers: the program's own functions that pass on what the
 * allocator gives them, known by name, by what the user said, or by how they are called. Defined in docs/METHODS.md, "Findings".
 *
 *	struct folds folds = {0};
 *	if (folds_find(&folds, &source, NULL, err) < 0) ...
 *	source.folds = &folds;
 *	folds_release(&folds);
 */
#ifndef STUDY_ANALYSIS_PLACES_FOLDS_H
#define STUDY_ANALYSIS_PLACES_FOLDS_H

#include "study/analysis/places/stacks.h"
#include "study/analysis/places/wrappers.h"
#include "host/base/map.h"

enum fold_why {
	FOLD_ASKED, /* the user named it */
	FOLD_NAME,  /* a known name */
	FOLD_FORM,  /* many functions allocate through it, in many sizes */
	FOLD_NEAR,  /* it has no name and is beside such a one: small functions of one source file */
};

struct fold {
	const char *function, *module; /* live as long as symbols and model */
	u64 address;                   /* in the module, of a call in a function without a name, which stands for it; else 0 */
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
};

/* Looks once at each point and frame of the source. asked: functions that the user names, may be NULL. */
int folds_find(struct folds *self, const struct stack_source *source, const struct wrappers *asked, struct err *err);
void folds_release(struct folds *self);

/* self may be NULL: nothing is folded. The module's folder does not matter, nor the address in it if the function has a name. */
bool folds_hold(const struct folds *self, const char *module, const char *function, u64 address);

/* Adds those of another run, so that places of both can be compared. other may be NULL. */
int folds_include(struct folds *self, const struct folds *other, struct err *err);

/* The list, as a table "folded" that text leaves out, and a caveat with its first rows. */
void folds_add(const struct folds *self, const struct model *model, struct result *result);

#endif
