/* SPDX-License-Identifier: MIT
 * Wrappers that findings and lists of points show as part of their callers: the program's own
 * functions that pass on what the allocator gives them, known by name, by what the user said, or by
 * how they are called. Defined in docs/METHODS.md, "Findings".
 *
 *	struct folds folds = {0};
 *	if (folds_find(&folds, &source, NULL, err) < 0) ...
 *	source.folds = &folds;
 *	folds_release(&folds);
 */
#ifndef STUDY_ANALYSIS_PLACES_FOLDS_H
#define STUDY_ANALYSIS_PLACES_FOLDS_H

#include "study/analysis/places/folded.h"
#include "study/analysis/places/stacks.h"
#include "study/analysis/places/wrappers.h"

/* Looks once at each point and frame of the source. asked: functions that the user names, may be
 * NULL. */
int folds_find(struct folds *self, const struct stack_source *source, const struct wrappers *asked,
	       struct err *err);
void folds_release(struct folds *self);

/* Adds those of another run, so that places of both can be compared. other may be NULL. */
int folds_include(struct folds *self, const struct folds *other, struct err *err);

/* The list, as a table "folded" that text leaves out, and a caveat with its first rows. */
void folds_add(const struct folds *self, const struct model *model, struct result *result);

#endif
