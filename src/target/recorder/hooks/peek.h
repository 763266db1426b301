/* SPDX-License-Identifier: MIT
 * The dynamic type of what operator new was called for: the first word of an object with virtual
 * functions points into its class's vtable. Runs in the target; never writes to the program's
 * memory.
 *
 * The first objects of each calling context are looked into, then a sample: at the thread's next
 * call of the allocator, by when they are made, and twice more some dozens of calls later, because
 * a constructor may allocate before it has set the pointer of its own class. An object that was
 * freed meanwhile is not judged: the monitor compares its birth.
 *
 * In a process with one thread nobody can unmap what the kernel has just said can be read, and the
 * word is read here. Else the monitor is asked to look, from outside: process_vm_readv is a system
 * call that a sandbox may punish, and the monitor is in none. */
#ifndef TARGET_RECORDER_HOOKS_PEEK_H
#define TARGET_RECORDER_HOOKS_PEEK_H

#include "target/recorder/state/thread.h"

enum {
	HWR_PEEK_FIRST = 8,   /* objects of each context, or fewer, see peek.c */
	HWR_PEEK_DONE = 9,    /* in hwr_peek_known */
	HWR_PEEK_EVERY = 256, /* then of this many new objects one, */
	/* and of contexts that never had a vtable one in this many of those */
	HWR_PEEK_RARELY = 16,
	HWR_PEEK_FOUND = 0x80, /* in hwr_peek_known */
};

/* By context: 0 = it is new, HWR_PEEK_DONE - first objects that are still to be looked into;
 * HWR_PEEK_FOUND. NULL = no types are wanted. Threads may lose each other's counts. */
extern u8 *hwr_peek_known HWR_OWN;

void hwr_peek_attach(void);

/* Remembers the object. */
void hwr_peek_add(struct hwr_thread *t, const struct hwr_peek *peek);

/* Looks into what is remembered, but for the block that is about to end: destructors have run, and
 * its class would be that of its base. To be called if HWR_PEEK is set, when t is not busy. */
void hwr_peek(struct hwr_thread *t, u64 ending);

/* The process is about to end. */
void hwr_peek_leave(void);

static inline bool hwr_peek_is_young(u8 known) { return (known & ~HWR_PEEK_FOUND) < HWR_PEEK_DONE; }

/* A new object, while t is busy. */
static inline void hwr_peek_consider(struct hwr_thread *t, const struct hwr_peek *peek)
{
	if (peek->size < 8 || !hwr_peek_known)
		return;
	if (unlikely(hwr_peek_is_young(hwr_peek_known[peek->context]) || t->peek_left-- == 0))
		hwr_peek_add(t, peek);
}

#endif
