/* SPDX-License-Identifier: MIT
 * Allocator wrappers: functions that only pass on what the allocator gives them (xmalloc, operator
 * new, sqlite3DbMallocRaw) or what it gets back (xfree, sqlite3_free). Who looks for the routine
 * that is to blame looks through them; see study/analysis/places/folds.h, too. Defined in
 * docs/METHODS.md, "Excessive allocation (EMAD)".
 *
 *	struct wrappers wrappers = {0};
 *	if (wrappers_parse(&wrappers, "auto,my_get*", err) < 0) ...
 *	while (wrappers_allocates(&wrappers, function)) ...
 *	wrappers_release(&wrappers);
 */
#ifndef STUDY_ANALYSIS_PLACES_WRAPPERS_H
#define STUDY_ANALYSIS_PLACES_WRAPPERS_H

#include "host/base/arena.h"
#include "host/base/err.h"
#include "host/base/vec.h"

struct wrappers { /* all zero = none */
	bool automatic;
	VEC(const char *) patterns; /* "^…$" */
	struct arena arena;
};

/* "auto", "none", or a list with commas between: names of functions, in which * stands for any
 * characters; "auto" may be one of the list. */
int wrappers_parse(struct wrappers *self, const char *words, struct err *err);
/* The list alone, without these two words. */
int wrappers_add(struct wrappers *self, const char *names, struct err *err);

/* Whether the function, as symbols name it, is one that allocates, or frees, for its caller. */
bool wrappers_allocates(const struct wrappers *self, const char *function);
bool wrappers_frees(const struct wrappers *self, const char *function);

/* Whether a name says that the function allocates; and that it allocates whatever its caller needs:
 * xmalloc does, so does sqlite3DbMallocRaw, but node_alloc and strdup_list may well decide
 * themselves. */
bool wrapper_name_allocates(const char *function);
bool wrapper_name_is_allocator(const char *function);

void wrappers_release(struct wrappers *self);

#endif
