/* SPDX-License-Identifier: GPL-2.0-or-later
 * Accesses in code that is being translated, which wait for more of them: one call notes all.
 * Addresses are temporaries, which never change, so that an access may be noted later; calls, and
 * sums that wait for each other, are most of the cost. */
#ifndef TARGET_VALGRIND_PENDING_H
#define TARGET_VALGRIND_PENDING_H

#include <libvex_ir.h>

#include "target/valgrind/sites.h"

enum { PENDING_SITES = 4 };

/* An address as another one, and its distance from that. */
struct origin {
	IRTemp base; /* IRTemp_INVALID = none: the distance is the address */
	Long distance;
};

struct pending_site {
	u32 side; /* enum hw_access_side */
	IRTemp base;
	IRExpr *lowest_address;
	Long lowest, end;
	Long distances[HWV_SITE_PARTS];
	u32 bytes[HWV_SITE_PARTS];
	u32 count;
};

struct pending {
	IRSB *out;
	struct pending_site sites[PENDING_SITES];
	u32 count;
};

/* An access that happens for certain. */
void hwv_pending_add(struct pending *self, u32 side, IRExpr *address, struct origin origin,
		     Int bytes);

/* Calls for all of them: before what may leave the code, or call something that looks at the
 * counts. */
void hwv_pending_flush(struct pending *self);

/* A call for an access that happens only if the guard is true, NULL = always. */
void hwv_note_one(IRSB *out, u32 side, IRExpr *address, Int bytes, IRExpr *guard);

#endif
