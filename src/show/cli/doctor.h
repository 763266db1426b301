/* SPDX-License-Identifier: MIT
 * What doctor looks at: each check is one function that says what it found and what follows; and
 * the optional parts. */
#ifndef SHOW_CLI_DOCTOR_H
#define SHOW_CLI_DOCTOR_H

#include "format/types.h"

enum finding_state { FINDING_OK, FINDING_LIMITED, FINDING_MISSING };

struct finding {
	enum finding_state state;
	char found[160];   /* what is there */
	char follows[200]; /* what that means for the user; may be empty */
};

struct checkup {
	const char *name;
	void (*look)(struct finding *finding);
};

extern const struct checkup checkups[];
extern const u32 checkup_count;

/* What a build may lack because a package was not there (cmake/Parts.cmake). */
struct part {
	const char *name;
	bool built;
	const char *file;     /* what it adds beside the program; may be empty */
	const char *packages; /* what it is built with */
};

extern const struct part parts[];
extern const u32 part_count;

void part_look(const struct part *part, struct finding *finding);

#endif
