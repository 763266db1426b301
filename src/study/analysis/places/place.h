/* SPDX-License-Identifier: MIT
 * Which frames of a stack a developer would call the place. Defined in docs/METHODS.md,
 * "Findings". */
#ifndef STUDY_ANALYSIS_PLACES_PLACE_H
#define STUDY_ANALYSIS_PLACES_PLACE_H

#include "study/analysis/places/stacks.h"

/* Where it is, as a developer looks for it: the innermost frame of the program's own code, and its
 * caller. Strings live as long as the source. */
struct finding_frame {
	const char *function; /* "" = unknown */
	const char *file;     /* "" = unknown */
	const char *module;   /* path, "" = unknown */
	u64 offset;
	u32 line;
};

struct finding_place {
	bool foreign; /* no frame is the program's own: the C or C++ library does it for itself */
	struct finding_frame own, caller; /* caller.module and .function "" = none */
};

struct finding_place finding_place(const struct stack_source *source, struct frame_id frame);
/* The same for those who do not ask for the caller, which may be missing. */
struct finding_place finding_own(const struct stack_source *source, struct frame_id frame);

/* Where another module calls the one that allocates: the function that it calls, and the caller.
 * own.module "" = there is no such call. */
struct finding_place finding_entry(const struct stack_source *source, struct frame_id frame);

/* Equal for stacks that end in the same two frames of the program's own code; without lines also
 * if a line was inserted above. */
u64 finding_place_hash(const struct finding_place *place, u64 seed, bool lines);

#endif
