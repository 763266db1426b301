/* SPDX-License-Identifier: MIT
 * Recording of accesses, as the hooks see it. Runs in the target, in libheapwise-access.so only
 * (HWR_ACCESS): in the plain recorder all of it is nothing.
 *
 * The access recorder brings its own heap (heap/heap.h), so that it can tell of any address which chunk
 * it belongs to. Instrumented code reports accesses to armed memory (shadow/), functions of libc that
 * access memory for the program are recorded as ranges (ranges.c), and what is known of a chunk goes
 * into the ring right before the record that ends it (emit.c). */
#ifndef TARGET_RECORDER_STATE_ACCESS_H
#define TARGET_RECORDER_STATE_ACCESS_H

#include "target/recorder/state/real.h"
#include "target/recorder/state/thread.h"

struct hwr_caller;

#ifdef HWR_ACCESS

/* The allocator that the heap stands in front of. */
extern struct hwr_real hwr_libc;

/* Puts the heap in the place of the real allocator, if it can be used. */
void hwr_access_allocator(struct hwr_real *real);

/* Begins what the run asks for, before the monitor is told of the image. */
void hwr_access_attach(void);

/* A thread has got its slot. */
void hwr_access_thread(struct hwr_thread *t);

/* A chunk began at `ticks`. */
void hwr_access_begin(u64 address, u64 ticks, const struct hwr_caller *caller);

/* A chunk is about to be recorded as ended: writes what is known of its accesses. The caller has marked
 * t as busy. */
void hwr_access_end(struct hwr_thread *t, u64 address, u64 ticks);

/* The process is about to end: writes what is known of the chunks that live on. */
void hwr_access_leave(void);

/* Records an access of so many bytes, if it is one of a chunk. */
void hwr_access_range(u64 address, u64 bytes, bool write);

/* Whether instrumented code has just reported that access itself, and the C library is to do it: gcc does so for copies of structures
 * and for __memcpy_chk, mempcpy, bzero and the like, all of which may become a call of memcpy or memset. Forgets it. */
bool hwr_access_told(u64 address, u64 bytes, bool write);

/* For the heap: a realloc copies, and what was put aside before is stale. */
void hwr_access_realloc(u64 from, u64 to, u64 bytes);
void hwr_access_copy(void *to, const void *from, u64 bytes);
void hwr_access_aside_forget(void);

/* Maps just there, zeroed; NULL if something is there already. */
void *hwr_map_at(u64 address, u64 bytes);

#else

static inline void hwr_access_allocator(struct hwr_real *real) { (void)real; }
static inline void hwr_access_attach(void) {}
static inline void hwr_access_thread(struct hwr_thread *t) { (void)t; }
static inline void hwr_access_begin(u64 address, u64 ticks, const struct hwr_caller *caller)
{
	(void)address;
	(void)ticks;
	(void)caller;
}
static inline void hwr_access_end(struct hwr_thread *t, u64 address, u64 ticks)
{
	(void)t;
	(void)address;
	(void)ticks;
}
static inline void hwr_access_leave(void) {}
static inline void hwr_access_range(u64 address, u64 bytes, bool write)
{
	(void)address;
	(void)bytes;
	(void)write;
}

#endif

/* Whether adaptive recording's helper thread makes this system call. When it no longer may it is stopped, and from then on all
 * accesses are recorded. */
#if defined(HWR_ACCESS) && !defined(HWR_PAGES)
bool hwr_access_helper_needs(u32 number);
void hwr_access_helper_stop(void);
#else
static inline bool hwr_access_helper_needs(u32 number)
{
	(void)number;
	return false;
}
static inline void hwr_access_helper_stop(void) {}
#endif

/* For the heap: memory of a large chunk goes from slot to slot with what arms it, and is not copied. */
struct hwr_move {
	u64 from, from_bytes; /* slots */
	u64 to, to_bytes;
	u64 armed; /* bytes of `to` that are armed now */
	bool hole; /* if it was moved, `from`, else `to`, is not memory any more, and cannot be made so again */
};
#if defined(HWR_ACCESS) && !defined(HWR_PAGES)
static inline bool hwr_access_moves(void) { return true; }
bool hwr_access_move(struct hwr_move *move);

/* Bytes of a live chunk that stay armed when another one takes its place. `what` is the one's. */
u64 hwr_access_armed(u64 what, u64 bytes);
#else
static inline bool hwr_access_moves(void) { return false; }
static inline bool hwr_access_move(struct hwr_move *move)
{
	(void)move;
	return false;
}
static inline u64 hwr_access_armed(u64 what, u64 bytes)
{
	(void)what;
	(void)bytes;
	return 0;
}
#endif

/* Where the next allocation of this thread comes from; it decides which chunks share a page. */
#ifdef HWR_PAGES
void hwr_access_site(const struct hwr_caller *caller);

/* Memory that the C library reads at any time during a call is not armed any more. */
void hwr_access_keep(const void *p);

/* Whether somebody wants to know of modules that are loaded; and there are new ones, perhaps. */
bool hwr_access_wants_modules(void);
void hwr_access_modules(void);

/* The record that t is about to write is one of a birth. */
void hwr_access_birth(struct hwr_thread *t, u32 kind, u64 address);
/* Whether the record of the chunk's birth was taken back, or its end recorded, so that nothing is left to record. Before the real call. */
bool hwr_access_unborn(struct hwr_thread *t, u32 kind, u64 address, const struct hwr_caller *caller);
/* The place of the record that t writes next may still be marked. */
static inline void hwr_access_unmark(struct hwr_thread *t) { store_relaxed(&t->marks[t->head & t->mask], 0); }
/* Something else will be recorded of the chunk: its birth must be, too. */
void hwr_access_settle(u64 address);
#else
static inline bool hwr_access_wants_modules(void) { return false; }
static inline void hwr_access_modules(void) {}
static inline void hwr_access_birth(struct hwr_thread *t, u32 kind, u64 address)
{
	(void)t;
	(void)kind;
	(void)address;
}
static inline bool hwr_access_unborn(struct hwr_thread *t, u32 kind, u64 address, const struct hwr_caller *caller)
{
	(void)t;
	(void)kind;
	(void)address;
	(void)caller;
	return false;
}
static inline void hwr_access_unmark(struct hwr_thread *t) { (void)t; }
static inline void hwr_access_settle(u64 address) { (void)address; }
static inline void hwr_access_site(const struct hwr_caller *caller) { (void)caller; }
static inline void hwr_access_keep(const void *p) { (void)p; }
#endif
#endif
