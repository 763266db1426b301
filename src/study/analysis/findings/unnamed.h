/* SPDX-License-Identifier: MIT
 * What to do where functions have no names: which modules hold the bytes that cannot be told to
 * anybody, and the remedy on this system. Defined in docs/METHODS.md, "Allocation points". */
#ifndef STUDY_ANALYSIS_FINDINGS_UNNAMED_H
#define STUDY_ANALYSIS_FINDINGS_UNNAMED_H

#include "study/analysis/places/stacks.h"
#include "host/base/strbuf.h"

struct unnamed_module {
	const char *path; /* the model's; "" = code that is in no file */
	u64 bytes;
};

struct unnamed {                            /* all zero = empty */
	VEC(struct unnamed_module) modules; /* most bytes first */
	u64 bytes;                          /* requested at places whose function has no name */
	/* at all places of the program and its libraries, but for those of the language */
	u64 of_bytes;
};

/* Looks once at each point. */
int unnamed_find(struct unnamed *self, const struct stack_source *source, struct err *err);
void unnamed_release(struct unnamed *self);

/* One sentence if more than a tenth of the bytes have no names; false, and nothing is added, if
 * not. packages: look up which package has the debug files, which reads the system's lists of
 * packages. */
bool unnamed_advice(const struct stack_source *source, bool packages, struct strbuf *out);

/* The same as a caveat. */
void unnamed_add_caveat(const struct stack_source *source, bool packages, struct result *result);

#endif
