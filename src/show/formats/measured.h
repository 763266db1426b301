/* SPDX-License-Identifier: MIT
 * What the stacks of all points allocated, as one tree of functions. */
#ifndef SHOW_FORMATS_MEASURED_H
#define SHOW_FORMATS_MEASURED_H

#include "show/formats/export.h"
#include "show/formats/places.h"

struct measures {
	u64 of[EXPORT_METRICS];
};

struct measured { /* all zero = empty */
	struct places places;
	struct call_tree tree;
	VEC(struct measures) own; /* by node: what stacks that end here measure */
	struct measures sum;
};

/* Released by the caller also after a failure. */
int measured_build(struct measured *self, const struct export_job *job, struct err *err);
void measured_release(struct measured *self);

/* Calls between functions, each stack counted once however often it passes. */
struct measured_call {
	u32 caller, callee; /* functions */
	u32 line;           /* in the caller, 0 = unknown */
	u64 stamp;          /* inside */
	struct measures sum;
};

struct measured_line { /* what a function allocates itself */
	u32 function, line;
	struct measures sum;
};

struct measured_calls { /* all zero = empty */
	struct places places;
	VEC(struct measured_call) calls; /* ordered by caller, line, callee */
	VEC(struct measured_line) lines; /* ordered by function, line */
	VEC(struct measures) within;     /* by function: itself and all below it */
	VEC(u64) stamps;                 /* inside: of functions */
	struct map by_call, by_line;     /* hash → number + 1 */
	struct measures sum;
	bool with_lines;
};

/* The same for places: with_lines tells calls from different lines apart. */
int measured_calls_build(struct measured_calls *self, const struct export_job *job, bool with_lines,
			 struct err *err);
void measured_calls_release(struct measured_calls *self);

#endif
