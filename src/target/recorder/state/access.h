/* SPDX-License-Identifier: MIT
 * Recording of accesses, as the hooks see it. Runs in the target, in libheapwise-access.so only
 * (HWR_ACCESS): in the plain recorder all of it is nothing.
 *
 * The access recorder brings its own heap (heap/heap.h), so that it can tell of any address which
 * chunk it belongs to. Instrumented code reports accesses to armed memory (shadow/), functions of
 * libc that access memory for the program are recorded as ranges (ranges/), and what is known of a
 * chunk goes into the ring right before the record that ends it (shadow/emit.c). */
#ifndef TARGET_RECORDER_STATE_ACCESS_H
#define TARGET_RECORDER_STATE_ACCESS_H

#include "format/types.h"

struct hwr_caller;
struct hwr_real;
struct hwr_thread;

#ifdef HWR_ACCESS

/* Puts the heap in the place of the real allocator, if it can be used. */
void hwr_access_allocator(struct hwr_real *real);

/* Begins what the run asks for, before the monitor is told of the image. */
void hwr_access_attach(void);

/* A thread has got its slot. */
void hwr_access_thread(struct hwr_thread *t);

/* A chunk began at `ticks`. */
void hwr_access_begin(u64 address, u64 ticks, const struct hwr_caller *caller);

/* A chunk is about to be recorded as ended: writes what is known of its accesses. The caller has
 * marked t as busy. */
void hwr_access_end(struct hwr_thread *t, u64 address, u64 ticks);

/* The process is about to end: writes what is known of the chunks that live on. */
void hwr_access_leave(void);

/* Records an access of so many bytes, if it is one of a chunk. */
void hwr_access_range(u64 address, u64 bytes, bool write);

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

/* Whether adaptive recording's helper thread makes this system call. When it no longer may it is
 * stopped, and from then on all accesses are recorded. */
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

/* Where the next allocation of this thread comes from; it decides which chunks share a page. */
#ifdef HWR_PAGES
void hwr_access_site(const struct hwr_caller *caller);

/* Memory that the C library reads at any time during a call is not armed any more. */
void hwr_access_keep(const void *p);

/* The kernel is given memory of the program, to which what is armed is unreadable: it is open
 * meanwhile. */
void hwr_access_pin(u64 address);
void hwr_access_unpin(u64 address);

/* It is open now. */
void hwr_access_open(const void *p);

/* Whether a fault of armed memory takes this system call. When it no longer may nothing is armed
 * any more. */
bool hwr_access_faults_need(u32 number);
void hwr_access_faults_stop(void);

/* Whether somebody wants to know of modules that are loaded; and there are new ones, perhaps. */
bool hwr_access_wants_modules(void);
void hwr_access_modules(void);

/* quick.c: all of a malloc or new, a calloc, a realloc, and all of a free or delete; NULL, false:
 * nothing was done, it is not for these. */
void *hwr_quick_malloc(struct hwr_thread *t, u32 kind, size_t size,
		       const struct hwr_caller *caller);
void *hwr_quick_calloc(struct hwr_thread *t, size_t count, size_t size,
		       const struct hwr_caller *caller);
void *hwr_quick_realloc(struct hwr_thread *t, void *old, size_t size,
			const struct hwr_caller *caller);
bool hwr_quick_free(struct hwr_thread *t, u32 kind, u64 address, const struct hwr_caller *caller);

/* The record that t is about to write is one of a birth. */
void hwr_access_birth(struct hwr_thread *t, u32 kind, u64 address);
/* Whether the record of the chunk's birth was taken back, or its end recorded, so that nothing is
 * left to record. Before the real call. */
bool hwr_access_unborn(struct hwr_thread *t, u32 kind, u64 address,
		       const struct hwr_caller *caller);
/* Something else will be recorded of the chunk: its birth must be, too. */
void hwr_access_settle(u64 address);
#else
static inline void hwr_access_pin(u64 address) { (void)address; }
static inline void hwr_access_unpin(u64 address) { (void)address; }
static inline void hwr_access_open(const void *p) { (void)p; }
static inline bool hwr_access_faults_need(u32 number)
{
	(void)number;
	return false;
}
static inline void hwr_access_faults_stop(void) {}
static inline bool hwr_access_wants_modules(void) { return false; }
static inline void hwr_access_modules(void) {}
static inline void *hwr_quick_malloc(struct hwr_thread *t, u32 kind, size_t size,
				     const struct hwr_caller *caller)
{
	(void)t;
	(void)kind;
	(void)size;
	(void)caller;
	return NULL;
}
static inline void *hwr_quick_calloc(struct hwr_thread *t, size_t count, size_t size,
				     const struct hwr_caller *caller)
{
	(void)count;
	return hwr_quick_malloc(t, 0, size, caller);
}
static inline void *hwr_quick_realloc(struct hwr_thread *t, void *old, size_t size,
				      const struct hwr_caller *caller)
{
	(void)old;
	return hwr_quick_malloc(t, 0, size, caller);
}
static inline bool hwr_quick_free(struct hwr_thread *t, u32 kind, u64 address,
				  const struct hwr_caller *caller)
{
	(void)t;
	(void)kind;
	(void)address;
	(void)caller;
	return false;
}
static inline void hwr_access_birth(struct hwr_thread *t, u32 kind, u64 address)
{
	(void)t;
	(void)kind;
	(void)address;
}
static inline bool hwr_access_unborn(struct hwr_thread *t, u32 kind, u64 address,
				     const struct hwr_caller *caller)
{
	(void)t;
	(void)kind;
	(void)address;
	(void)caller;
	return false;
}
static inline void hwr_access_settle(u64 address) { (void)address; }
static inline void hwr_access_site(const struct hwr_caller *caller) { (void)caller; }
static inline void hwr_access_keep(const void *p) { (void)p; }
#endif
#endif
