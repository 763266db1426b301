/* SPDX-License-Identifier: MIT
 * Numbers as people read them. The text is returned by value:
 *
 *	printf("%s in %s\n", units_bytes(bytes).text, units_ns(duration_ns).text);
 */
#ifndef HOST_BASE_UNITS_H
#define HOST_BASE_UNITS_H

#include "format/types.h"

struct unit_text {
	char text[32];
};

struct unit_text units_bytes(u64 bytes);      /* "0 B", "999 B", "1.5 MiB", "120 GiB" */
struct unit_text units_ns(u64 ns);            /* "450 ns", "2.3 ms", "2 min 05 s" */
struct unit_text units_count(u64 count);      /* "12,345" */
struct unit_text units_signed(i64 count);     /* "-12,345" */
struct unit_text units_percent(double share); /* 0.123 → "12.3 %"; tiny but not 0 → "<0.1 %" */

/* A number and what is counted, in singular or plural: "event(s) (was|were) lost" → "1 event was
 * lost", "2,000 events were lost". (s) and (es) are left out of the singular; of (one|many) one is
 * taken. Other brackets stay. */
struct things_text {
	char text[320];
};
struct things_text units_things(u64 count, const char *words);
struct things_text units_words(u64 count, const char *words); /* the same without the number */

/* part / whole, 0 if whole is 0: the share that units_percent takes. */
double units_share(u64 part, u64 whole);

#endif
