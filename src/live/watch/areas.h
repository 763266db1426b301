/* SPDX-License-Identifier: MIT
 * The live areas of a program that runs: the table behind the toolkit (include/heapwise/client.h)
 * and behind `heapwise watch`. An area is a chunk that lives; a unit is what is armed as a whole:
 * all of a large area, or the page that small ones share. Filled from a tap (live/drain/tap.h);
 * works on memory only. */
#ifndef LIVE_WATCH_AREAS_H
#define LIVE_WATCH_AREAS_H

#include "host/base/map.h"
#include "host/base/vec.h"
#include "live/drain/tap.h"

struct unit;

struct area {
	u64 address, size;
	u64 chunk; /* its number in the stream */
	u64 birth_ticks;
	/* seen: when it was touched last as far as is known, at least its birth */
	u64 birth_ns, seen_ns;
	u64 hits;
	u32 context;                /* that allocated it */
	u32 hit_context;            /* that touched it last, 0 = unknown */
	u32 index;                  /* in areas.list */
	u32 thread;                 /* that allocated it: index of a told thread */
	u32 touched;                /* 1 + index in areas.touched, 0 = it was not hit */
	bool wanted;                /* toolkit: told the next time it is touched */
	void *data;                 /* whoever uses the table may keep something here */
	struct unit *unit;          /* NULL: it cannot be monitored */
	struct area *next, *before; /* of the same unit */
};

struct unit {
	u64 start;
	u64 bytes; /* of its areas */
	u32 areas;
	u32 index; /* in areas.units */
	struct area *first;
	/* of a page that small areas share: by slot, see areas.c; NULL = it is one area's */
	struct area **places;
	bool armed;
	bool asked; /* a command is under way */
	u16 state;  /* the policy's */
	/* for a new area of it, while it was armed; the policy sets it back */
	u32 reopened;
	u64 armed_ns;   /* since when, if armed */
	u64 watched_ns; /* for how long before */
	u64 seen_ns;    /* its last hit, or the last birth of an area of it */
	u64 since_ns;   /* the birth of its first area */
	u64 opened_ns;  /* when it was opened last, for whatever reason */
	u64 last_ns;    /* none of its areas was seen later */
	u64 hits;
	/* The policy's. */
	u64 due_ns;
	double rate_hits, rate_watched_s; /* of late; see policy.c */
};
_Static_assert(sizeof(struct unit) == 128, "each tick goes through all units");

enum { AREAS_NEAR = 256, AREAS_SIZES = 32 };

/* What lives of one allocation point. */
struct areas_point {
	u64 areas, bytes;
	u64 hits; /* of these */
};

struct areas {
	struct map by_unit; /* to struct unit *, by start */
	struct {
		u64 start;
		struct unit *unit;
	} near[AREAS_NEAR]; /* units that are found without a search */
	struct map others;  /* to struct area *, by address: those without a unit */
	VEC(struct area *) list;
	VEC(struct unit *) units;
	VEC(struct area *) touched;     /* those that were hit */
	VEC(struct areas_point) points; /* by context */
	u64 sizes[AREAS_SIZES];         /* areas by the highest bit of their size */
	void *free_areas, *free_units;
	VEC(void *) slabs;
	u64 live_bytes;
	u64 armed_units, armed_areas, armed_bytes;
	/* The clock: ns = start_ns + (ticks - start_ticks) * ns_per_tick. */
	u64 start_ticks, start_ns;
	double ns_per_tick;
	u64 flooded_ns; /* what was armed before is open */
};

void areas_release(struct areas *self);

/* A new image: all that was known is gone. */
void areas_reset(struct areas *self, u64 start_ticks, u64 start_ns);

/* Both clocks at this moment. */
void areas_set_clock(struct areas *self, u64 ticks, u64 ns);
u64 areas_ns(const struct areas *self, u64 ticks);

/* The area begins; NULL without memory. An area that is there already has ended unseen. */
struct area *areas_add(struct areas *self, const struct event *event);
struct area *areas_find(const struct areas *self, u64 address);
/* The area that an address lies in, of the unit that was touched there; NULL if none does. */
struct area *areas_at(const struct areas *self, u64 address);
struct unit *areas_unit_at(const struct areas *self, u64 address);

/* The area ends. *unit_ended: so does its unit, which was armed or is to be: what it had should be
 * disarmed. */
void areas_remove(struct areas *self, struct area *area, bool *unit_ended);

/* The unit is armed since then (unless it was touched later), or open again. */
void areas_armed(struct areas *self, struct unit *unit, u64 since_ns);
void areas_opened(struct areas *self, struct unit *unit, u64 at_ns);

/* Before the area ends because realloc has moved it: its unit was opened for that. */
void areas_moved(struct areas *self, const struct area *area, u64 ticks);

/* All that was armed before then is open. */
void areas_flooded(struct areas *self, u64 at_ns);

/* For how long the unit was armed, all in all. */
u64 unit_watched(const struct unit *unit, u64 now_ns);

/* How long ago the area was touched last: for at least area_idle nobody has, because it is armed
 * without a break since then, and it was seen area_age ago. In between its unit was open, at least
 * for a while, and nobody knows: what opens a unit is mostly a touch of a neighbour, and who
 * touches one often touches others right after it. */
u64 area_idle(const struct area *area, u64 now_ns);
u64 area_age(const struct area *area, u64 now_ns);

/* A hit in the unit at that address: it is open; the area that was touched, or NULL. */
struct area *areas_hit(struct areas *self, const struct tap_hit *hit);

#endif
