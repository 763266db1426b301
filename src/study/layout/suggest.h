/* SPDX-License-Identifier: MIT
 * Names that a trace has, for completion: functions, types, modules, files, threads. */
#ifndef STUDY_LAYOUT_SUGGEST_H
#define STUDY_LAYOUT_SUGGEST_H

#include "study/layout/scope.h"

enum suggest_kind {
	SUGGEST_FN,
	SUGGEST_TYPE,
	SUGGEST_MODULE,
	SUGGEST_FILE,
	SUGGEST_THREAD,
	SUGGEST_KINDS
};

bool suggest_kind_parse(const char *word, enum suggest_kind *kind);

struct suggestion {
	const char *label; /* lives as long as the trace */
	double count,
		bytes; /* allocations below it: of functions and files that are on the stack */
};

struct suggestions {                 /* all zero = empty */
	VEC(struct suggestion) rows; /* most bytes first */
	u64 found;                   /* before the limit */
	struct arena arena;
};

struct suggest_query {
	enum suggest_kind kind;
	const char *text; /* a pattern, see study/layout/pattern.h */
	u64 limit;
};
int suggestions_make(struct suggestions *self, struct study *trace,
		     const struct suggest_query *query, struct err *err);
void suggestions_release(struct suggestions *self);

#endif
