/* SPDX-License-Identifier: MIT
 * Suppressions: leaks that nobody wants to hear of, told by patterns as LeakSanitizer's files have
 * them. A line is
 *
 *	leak:PATTERN
 *
 * and hides every stack of which any frame's function, module or source file matches. In a pattern
 * * stands for any characters, ^ at its start and $ at its end hold it to the start and the end of
 * the text, and without them it may match anywhere inside. # begins a comment line. */
#ifndef STUDY_ANALYSIS_PLACES_SUPPRESSIONS_H
#define STUDY_ANALYSIS_PLACES_SUPPRESSIONS_H

#include "study/analysis/places/stacks.h"

#define NOT_SUPPRESSED UINT32_MAX

struct suppression {
	const char *pattern;
	const char *origin; /* "FILE:LINE", or "built-in" */
	bool caller_only;   /* match the frame that called the allocator, not those above */
	const char *above;  /* with caller_only: what the next frame must match; NULL = anything */
	u64 chunks, bytes;  /* that it hid; in units of the model */
};

struct suppressions { /* all zero = empty and ready */
	VEC(struct suppression) list;
	VEC(u32) known; /* by frame: what hides a stack that ends in it, + 2; 0 = not asked yet */
	struct arena arena;
};

/* Adds the lines of a file. A line that is no suppression is an ERR_INPUT that names it. */
int suppressions_read(struct suppressions *self, const char *path, struct err *err);

/* The same from memory; origin names it in results and errors. */
int suppressions_parse(struct suppressions *self, const char *text, const char *origin,
		       struct err *err);

/* Adds what the C library, the dynamic loader and the C++ library keep on purpose. */
int suppressions_add_builtin(struct suppressions *self, struct err *err);

/* Index of the suppression that hides stacks which end in frame, or NOT_SUPPRESSED. All questions
 * must be about one source. */
u32 suppressions_find(struct suppressions *self, const struct stack_source *source,
		      struct frame_id frame);

void suppressions_release(struct suppressions *self);

bool suppression_matches(const char *pattern, const char *text);

#endif
