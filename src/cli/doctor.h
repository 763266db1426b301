/* SPDX-License-Identifier: MIT
 * What doctor looks at: each check is one function that says what it found and what follows. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

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

#endif
