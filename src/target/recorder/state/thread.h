/* SPDX-License-Identifier: MIT
 * What the recorder keeps per thread: its ring, its last stack, its stack memo. Runs in the target.
 * Memory is mapped per slot and recycled with it; a signal handler that interrupts a hook uses the
 * second, smaller object `nested`. */
#ifndef TARGET_RECORDER_STATE_THREAD_H
#define TARGET_RECORDER_STATE_THREAD_H

#include "target/recorder/state/frames.h"
#include "target/recorder/state/state.h"

enum {
	HWR_DEPTH_MAX = 1024,
	HWR_CHECKS_PER_FRAME = 3,
	HWR_MEMO_SETS = 256,
	HWR_MEMO_WAYS = 4, /* programs that allocate through one wrapper need more than one */
	HWR_MEMO_ENTRIES = HWR_MEMO_SETS * HWR_MEMO_WAYS,
	HWR_MEMO_TRAILS = 4096,
	HWR_TRAIL_LONG = 2,  /* so that six of them count: programs that repeat themselves */
	HWR_TRAIL_SHORT = 6, /* two: those whose data decide */
	HWR_MEMO_APARTS = 256,
	HWR_MEMO_APART_SLOTS = 6,
	HWR_MEMO_GROUPS = 4096, /* 160 KB: deep stacks leave room for fewer of them */
	/* slots whose threads use all of that; the others half, as there may be many of them */
	HWR_MEMO_LARGE = 4,
	HWR_MEMO_GROUPS_EACH = 128,
	HWR_MEMO_SLOTS = 4, /* in a group */
	/* slots of outer frames from which on they are not memorized with each stack */
	HWR_MEMO_DEEP = 32,
	HWR_PACES = 1024,
	HWR_STACKS = 1024,    /* programs with coroutines have many */
	HWR_STACK_SHIFT = 14, /* of a stack pointer: the number of its block, of 16 KiB */
};

enum {
	/* hwr_thread.state: the fast path of a hook is for 0 only */
	HWR_BUSY = 1,      /* a hook of this thread is at work below us */
	HWR_SUPPRESS = 2,  /* a hook has called an allocator function that calls another one */
	HWR_TIME_CALL = 4, /* measure how long the next real call takes */
	HWR_SAMPLING = 8,  /* run with --sample */
	HWR_TESTING = 16,  /* run with test options */
	HWR_POOLS = 32,    /* functions are recorded at their entries, see pool/ */
	HWR_PEEK = 64,     /* look into the objects that were made lately, see peek.h */
	HWR_RUNTIME = 128, /* run with --lisp: only what a runtime tells is recorded */
};

enum { HWR_PEEKS = 8 };

struct hwr_peek { /* an object to look into */
	u64 address, size;
	u32 birth; /* low half of the ticks */
	u32 context;
	u8 array;  /* made by operator new[] */
	u8 looks;  /* how often it was looked into */
	u64 found; /* the word that was told last */
};

/* The usual time from one event to the next, by the pair of sites; see stamp.h. */
struct hwr_pace {
	u32 pair; /* 0 = never measured */
	u16 gap_ticks;
	u16 score; /* how often the gap was long lately */
};

/* One frame of the last stack. sp is the stack pointer before the call that the frame is in. */
struct hwr_frame {
	u64 pc, sp, fp, cfa;
	u64 hash; /* of the path from the outermost frame to here */
	u32 node;
	u32 ra_at; /* slots as distance from sp */
	u32 fp_at; /* HWR_NO_SLOT: none */
	u32 cfa_at;
	u16 check_end; /* checks of this and all outer frames: below this index */
	u8 fp_live;    /* this or an outer frame's CFA depends on fp here */
	u8 uses_fp;
};
#define HWR_NO_SLOT UINT32_MAX

/* A stack slot that must still hold its value for the kept stack to be the present one. */
struct hwr_check {
	const u64 *slot;
	u64 value;
};

/* Slots on one page of the stack and their values; what is left over repeats the first. */
struct hwr_memo_group {
	u64 value[HWR_MEMO_SLOTS];
	u16 at[HWR_MEMO_SLOTS]; /* slot = sp + 8 * at */
};

/* A stack, found again by the PC and SP of the allocator's caller. What it was read from, innermost
 * first, is in the thread's memo_groups, up to the frame that it had in common with the stack that
 * was kept then: deep stacks differ in their innermost frames. */
struct hwr_memo {
	u64 pc, sp, fp;
	u32 node;
	u32 epoch;
	u32 position; /* of its groups, counted over all that were ever written */
	u16 groups;
	u16 fp_live;
	u32 base;      /* outer frames that are the kept stack's; 0 = none */
	u32 base_node; /* the innermost of them: */
	u64 base_sp, base_fp;
};
_Static_assert(sizeof(struct hwr_memo) == 64, "one cache line");

/* Where stacks of one caller at one depth differ, as far as that is on the page of its frame: words
 * from sp. A program with a loop, a parser or an interpreter comes to one call by many paths; by
 * their slots there each has a set of its own. */
struct hwr_memo_apart {
	u8 at[HWR_MEMO_APART_SLOTS];
	u8 count;
	/* less those that were found; if too many the slots are no good, and others are looked
	 * for */
	u8 misses;
};

struct hwr_thread {
	/* the ring */
	u32 state;
	u32 mask;
	u64 head;  /* = slot->head, which only this thread writes */
	u64 limit; /* at this head the ring needs a look */
	struct hw_record *ring;
	u64 *shared_head; /* slot->head or slot->nested_head */
	struct hw_slot *slot;
	/* HW_RUN_* of this run; with _ROUTINE_STACKS those that ask for a walk are not set */
	u32 run_flags;

	/* the clock, see stamp.h */
	/* since the last reading; HWR_STAMP_FAR_AHEAD: none until the counter has come up */
	u32 stamp_estimates;
	u64 stamp;      /* of the last event */
	u64 stamp_read; /* last reading of the counter */
	u64 *mark_word; /* see hwr_stamp_mark_word */
	u32 pace_last;  /* site of the last event */

	/* the memo, see walk.h; here, so that an event finds all that is no table in two cache
	 * lines */
	u32 memo_site;      /* entry that answered the last walk */
	u32 memo_trail;     /* number of the last of them */
	u32 memo_push;      /* bits that one of them takes in it: HWR_TRAIL_LONG or _SHORT */
	u32 memo_by_caller; /* bits of the caller's PC that tell what comes next as well */
	u32 memo_mask;      /* of a group's position: its place */
	u32 memo_head;  /* groups ever written; the last memo_mask + 1 of them are still there */
	u32 memo_shift; /* of a caller's hash: the bits that are left number its set */
	u32 memo_turn;  /* decides which way of a set is replaced */

	/* hooks */
	u64 busy_sp; /* stack address of the hook that is at work */
	u8 *marks;   /* of the ring's records, see hw_record_mark */
	/* what hwr_chunk.birth begins with, see access/pages/access.c; 0 = this thread's births
	 * stay */
	u64 births;
	struct hwr_pace pace[HWR_PACES];
	/* hooks below this stack address are inside the call in progress */
	u64 suppress_sp;
	/* the one call site that is still suppressed after a failed call; 0 = all */
	u64 suppress_pc;
	/* block that the call ends: its inner free is not recorded again */
	u64 ending_address;
	u64 inner_address; /* block that a hook inside the call has recorded */
	/* hooks below this stack address are inside a custom allocator; 0 = none */
	u64 pool_sp;
	/* words in that call's frame: hold their own addresses while it lasts */
	const u64 *pool_witness;
	u64 pool_ending;  /* block that the call of pool_sp has been told to end; 0 = none */
	u64 pool_pending; /* block that it was given to free and that it never gave */
	/* stacks of routines, see routine/lanes.h; NULL = none yet */
	struct hwr_routines *routines;
	struct hwr_translated *translated; /* stack of a runtime, see runtime.c; NULL = none yet */
	void *fault_stack;                 /* for the handler of page monitoring, NULL = none yet */
	/* allocations until a context that is known well is looked at again */
	u32 peek_left;
	u32 peek_count;
	struct hwr_peek peeks[HWR_PEEKS];
	u64 random;
	i64 sample_left;     /* bytes until the next sampled allocation */
	u32 samples_untimed; /* recorded since a call was timed, in a run that samples */
	u32 calls_to_timed;  /* with HWR_TIME_CALL: calls before that one */
	u64 timed_for;       /* block whose event asked for it */
	u64 lost;            /* not yet told by a HW_LOST record */
	struct hwr_thread *nested;
	u32 tid; /* whose it is; of one that is nested 0 */
	u32 slot_number;
	bool is_nested;
	bool is_bare;        /* found by its tid: hwr_self is another thread's */
	bool ring_lossy;     /* the monitor made no progress for too long */
	bool takes_no_stack; /* an alternate stack of nothing was no error before fault_stack */

	/* blocks of stack that the thread was seen to run on, by the last bits of their numbers;
	 * see hwr_thread_is */
	u32 stacks[HWR_STACKS];

	/* the unwinder */
	u64 safe_low, safe_high; /* stack pages that were seen to be readable */
	u32 epoch;
	u32 depth; /* frames[0] is the outermost, frames[depth - 1] the innermost */
	struct hwr_cursor cursor;
	struct hwr_cfi_scratch scratch;
	struct hwr_frame frames[HWR_DEPTH_MAX];
	struct hwr_frame fresh[HWR_DEPTH_MAX]; /* innermost first */
	/* those of the last walk, if its stack is not kept (depth 0): of them pc and sp hold */
	u32 fresh_count;
	struct hwr_check checks[HWR_DEPTH_MAX * HWR_CHECKS_PER_FRAME];
	_Alignas(HW_CACHE_LINE) struct hwr_memo memo[HWR_MEMO_ENTRIES];
	u32 trail_searches; /* in this window of the choice between trails */
	u32 trail_kind;     /* how it is predicted now, see choose_trail */
	u32 trail_best;     /* of the kinds that were tried so far */
	u32 trail_tries;    /* kinds that were tried beside the one before */
	u32 trail_trial;    /* windows left of the trial of one */
	u32 trail_rest;     /* windows until trials may begin */
	u64 trail_head;     /* of the ring when the window began */
	u64 trail_span;     /* records in a window of the best kind */
	struct hwr_memo_apart memo_apart[HWR_MEMO_APARTS];
	u16 memo_next[HWR_MEMO_TRAILS]; /* entry that was used after such a trail the last time */
	/* and the one that was before that: programs choose between two */
	u16 memo_else[HWR_MEMO_TRAILS];
	struct hwr_memo_group memo_groups[HWR_MEMO_GROUPS];
	/* free ones of the heap, see access/pages/slots.c; NULL = none yet */
	struct hwr_own_slots *own_slots;
};

extern __thread struct hwr_thread *hwr_self HWR_OWN __attribute__((tls_model("initial-exec")));

/* 1 from the second thread on, before that thread calls the real allocator. */
extern u32 hwr_threads_many HWR_OWN;

/* Bytes that the calling thread may allocate before it must ask, see hooks/sample.h: never more
 * than the interval, nor than the distance to its next sample, of which hwr_thread.sample_left is
 * the rest. 0 unless it samples and nothing else is going on. Written without a lock against signal
 * handlers: one that allocates between reading and writing is not counted. */
extern __thread u64 hwr_sample_left HWR_OWN __attribute__((tls_model("initial-exec")));

/* Whether who runs at this stack pointer is known to be t = hwr_self. A thread made by a bare clone
 * shares thread-local storage with its parent, and with it hwr_self. All that tells them apart
 * without a system call is their stacks. */
static inline bool hwr_thread_is(const struct hwr_thread *t, u64 sp)
{
	u32 block = (u32)(sp >> HWR_STACK_SHIFT);

	return likely(t->stacks[block % HWR_STACKS] == block);
}

#endif
