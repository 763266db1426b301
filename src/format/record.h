/* SPDX-License-Identifier: MIT
 * The event record that a hook writes into its thread's ring, and the kinds of event.
 * The same kinds are used in the trace file: numbers are never reused. */
#ifndef FORMAT_RECORD_H
#define FORMAT_RECORD_H

#include "types.h"

/* name, number, group, "call" that it is counted under. Groups: A allocates, F frees, X neither. */
#define HW_KINDS(K)                                                                                \
	K(NONE, 0, X, "")                                                                          \
	K(MALLOC, 1, A, "malloc")                                                                  \
	K(CALLOC, 2, A, "calloc")                                                                  \
	K(REALLOC, 3, A, "realloc") /* block that a realloc returned */                            \
	/* memalign, posix_memalign, aligned_alloc, (p)valloc */                                   \
	K(MEMALIGN, 4, A, "memalign")                                                              \
	K(NEW, 5, A, "new")                                                                        \
	K(NEW_ARRAY, 6, A, "new")                                                                  \
	K(FREE, 7, F, "free")                                                                      \
	K(REALLOC_FREE, 8, F, "realloc") /* block that a realloc ended */                          \
	K(DELETE, 9, F, "delete")                                                                  \
	K(DELETE_ARRAY, 10, F, "delete")                                                           \
	K(MMAP, 11, X, "mmap") /* address, size; with --mmap */                                    \
	K(MUNMAP, 12, X, "munmap")                                                                 \
	/* size asked for; aux = kind of the call that failed */                                   \
	K(FAILED, 13, X, "")                                                                       \
	/* slot has a new owner: address = tid, size = pthread_self-like id */                     \
	K(THREAD, 14, X, "")                                                                       \
	/* size = ticks that one real call took; aux = its kind */                                 \
	K(DURATION, 15, X, "")                                                                     \
	/* aux = enum hw_mark; size = its number; address = its name, see below */                 \
	K(MARK, 16, X, "")                                                                         \
	/* size = events lost by this ring just before this record */                              \
	K(LOST, 17, X, "")                                                                         \
	/* a part of what is known of a block's accesses; aux = enum hw_access_part */             \
	K(ACCESS, 18, X, "")                                                                       \
	/* a routine begins: address = its first instruction, size = return address or 0 */        \
	K(ENTER, 19, X, "")                                                                        \
	K(LEAVE, 20, X, "") /* it ended: address likewise; aux = enum hw_leave */                  \
	/* block of a function named by --alloc-fn; address with HW_POOL_ADDRESS */                \
	K(POOL, 21, A, "pool")                                                                     \
	K(POOL_FREE, 22, F, "pool_free")                                                           \
	/* the type of a block; aux = enum hw_type_part */                                         \
	K(TYPE, 23, X, "")                                                                         \
	/* monitored memory was touched: address = it, size = the block; aux = HW_HIT_* */         \
	K(HIT, 24, X, "") /* never in a trace */

#define HW_KIND_ENUM(name, number, group, call) HW_##name = number,
enum hw_kind { HW_KINDS(HW_KIND_ENUM) HW_KIND_COUNT };
#undef HW_KIND_ENUM

/* Marks in the timeline: aux of a HW_MARK. Its address is the number of a name, 0 = none; of a
 * snapshot it is 1. Numbers are never reused. */
#define HW_MARKS(M)                                                                                \
	M(NUMBER, 0, "mark") /* heapwise_mark */                                                   \
	M(SNAPSHOT, 1, "snapshot")                                                                 \
	M(NAMED, 2, "mark") /* heapwise_mark_named */                                              \
	M(PHASE_BEGIN, 3, "phase_begin")                                                           \
	M(PHASE_END, 4, "phase_end")                                                               \
	M(PAUSED, 5, "paused") /* from here on allocations are not recorded */                     \
	M(RESUMED, 6, "resumed")

#define HW_MARK_ENUM(name, number, word) HW_MARK_##name = number,
enum hw_mark { HW_MARKS(HW_MARK_ENUM) HW_MARK_COUNT };
#undef HW_MARK_ENUM

/* "mark", "snapshot", "phase_begin" … */
static inline const char *hw_mark_word(u32 mark)
{
	static const char *const words[HW_MARK_COUNT] = {
#define HW_MARK_WORD(name, number, word) [number] = word,
		HW_MARKS(HW_MARK_WORD)
#undef HW_MARK_WORD
	};

	return mark < HW_MARK_COUNT ? words[mark] : "unknown";
}

/* Whether the address of such a mark is the number of a name. */
static inline bool hw_mark_is_named(u32 mark)
{
	return mark >= HW_MARK_NAMED && mark <= HW_MARK_PHASE_END;
}

/* The accesses to a block: its parts stand in a row in one ring (records of other rings may come
 * between them), right before the record that ends the block; of a block that lives on, when the
 * process ends or when the monitor asks. Each is stamped as every record. Numbers are never
 * reused. */
enum hw_access_part {
	/* aux of a HW_ACCESS:    address, size */
	HW_ACCESS_BLOCK = 0,  /* always first:  the block's address, HW_ACCESS_* flags */
	HW_ACCESS_TIMES = 1,  /* ticks of the first and of the last access; 0, 0 = never */
	HW_ACCESS_COUNTS = 2, /* reads, writes */
	HW_ACCESS_BYTES = 3,  /* bytes read, bytes written */
	/* low, high: accessed bytes are within [low, high) of the block; 0, 0 = none */
	HW_ACCESS_RANGE = 4,
	/* distinct bytes accessed, granule in bytes; only if it was measured */
	HW_ACCESS_COVERAGE = 5,
	HW_ACCESS_MAP = 6, /* to 13: two words of the map of accessed bytes, see below */
	/* distinct bytes read, distinct bytes written; with HW_ACCESS_COVERAGE */
	HW_ACCESS_SIDES = 14,
	HW_ACCESS_END = 15,         /* always last:   the block's address: it is complete */
	HW_ACCESS_READ_MAP = 16,    /* to 23: as HW_ACCESS_MAP, of bytes that were read */
	HW_ACCESS_WRITTEN_MAP = 24, /* to 31: of bytes that were written */
};

/* Bit i of word w: byte 64 w + i of the block was accessed. Part HW_ACCESS_MAP + n has the words 2
 * n and 2 n + 1; parts whose words are 0 are left out. A map is told only if coverage was measured,
 * of blocks up to HW_MAP_BYTES, and where range and coverage alone do not say which bytes were
 * accessed. The maps of a side, of bytes read or written, are told where some of the accessed bytes
 * belong to it and some do not. */
enum {
	HW_MAP_BYTES = 1024,
	HW_MAP_WORDS = HW_MAP_BYTES / 64,
	HW_MAP_PARTS = HW_MAP_WORDS / 2,
};
static inline bool hw_access_has_gaps(u64 low, u64 high, u64 covered)
{
	return covered && covered < high - low;
}
static inline bool hw_access_is_split(u64 side, u64 covered) { return side && side < covered; }
enum hw_access_side { HW_SIDE_READ, HW_SIDE_WRITTEN, HW_SIDES };

enum {
	/* flags of a HW_ACCESS_BLOCK */
	HW_ACCESS_SHARED = 1,      /* more than one thread accessed it */
	HW_ACCESS_SATURATED = 2,   /* a counter stopped at its maximum */
	HW_ACCESS_ESTIMATED = 4,   /* counts are unbiased estimates */
	HW_ACCESS_LOWER_BOUND = 8, /* code that is not instrumented may have accessed it */
	HW_ACCESS_LATER = 16,      /* its last access may be much later than is recorded */
	HW_ACCESS_UNSIDED = 32,    /* only reads, or only writes, were seen: others may be hidden */
};

enum {
	/* aux of a HW_HIT */
	HW_HIT_WRITE = 1,
	/* by a system call that was given the memory; whether it wrote is not known */
	HW_HIT_KERNEL = 2,
	HW_HIT_AROUND = 4, /* none: opened because its neighbours are touched one after the other */
};

enum hw_leave {
	/* aux of a HW_LEAVE; numbers are never reused */
	HW_LEAVE_RETURN = 0,
	HW_LEAVE_UNWOUND = 1, /* found gone: an exception or a longjmp passed it */
};

/* What the program says of a block's type. Its address is one in the block, not always its start:
 * an array may have a cookie before it. Numbers are never reused. */
enum hw_type_part {
	/* aux of a HW_TYPE: size is the identity of the type, but for HW_TYPE_COUNT */
	HW_TYPE_FIRST = 0, /* a HW_TYPE_COUNT follows in the ring */
	HW_TYPE_COUNT = 1, /* size = number of elements; the address again */
	HW_TYPE_BARE = 2,  /* it is not known how many elements there are */
	HW_TYPE_ONE = 3,   /* there is one */
	/* Not the program's word. Here context is the low half of the ticks of the block's
	 * birth. */
	/* size is a word at the address, which points into a module; maybe to a vtable */
	HW_TYPE_VTABLE = 4,
	/* size is the block's; the monitor may look for such a word itself, and says in
	 * hw_control.sites_shown, by the number that the bits of aux above HW_TYPE_PART have,
	 * whether it found one */
	HW_TYPE_LOOK = 5,
	HW_TYPE_LOOK_ARRAY = 6, /* the same of operator new[] */
	/* mask; the bits above it count the elements of a HW_TYPE_VTABLE, 0 = unknown */
	HW_TYPE_PART = 15,
};
enum {
	HW_TYPE_NUMBER_SHIFT = 4,
	HW_TYPE_NUMBER_MAX = 0xfff,
	HW_TYPE_SITES = HW_TYPE_NUMBER_MAX + 1
};
/* The identity of a type is the address of a symbol that the type has for this alone, or, below
 * HW_NAMES, the number of a name. */

/* How accesses are recorded: hw_control.access. */
enum hw_access_mode {
	HW_ACCESS_NONE = 0,
	HW_ACCESS_EXACT = 1,    /* each access by instrumented code */
	HW_ACCESS_ADAPTIVE = 2, /* as exact, hot memory by sampling */
	HW_ACCESS_VALGRIND = 3, /* each access */
};

static inline bool hw_kind_allocates(u32 kind)
{
	return (kind >= HW_MALLOC && kind <= HW_NEW_ARRAY) || kind == HW_POOL;
}

static inline bool hw_kind_frees(u32 kind)
{
	return (kind >= HW_FREE && kind <= HW_DELETE_ARRAY) || kind == HW_POOL_FREE;
}

/* A pool's block may begin where a block of malloc does that it was cut from. So, up to the
 * correlator, addresses of pools' blocks have a bit that no address of a program has. */
#define HW_POOL_ADDRESS ((u64)1 << 63)
static inline bool hw_kind_is_pool(u32 kind) { return kind == HW_POOL || kind == HW_POOL_FREE; }

/* 32 bytes, two to a cache line. An allocation is stamped after the real call, a free before it. */
struct hw_record {
	u64 ticks; /* CPU counter: TSC or CNTVCT */
	u64 address;
	u64 size;    /* requested bytes */
	u32 context; /* node of the calling-context tree, 0 = unknown */
	u8 kind;     /* enum hw_kind */
	u8 flags;    /* HW_RECORD_* */
	u16 aux;
};
_Static_assert(sizeof(struct hw_record) == 32, "two records to a cache line");

/* Beside each record of a ring there is a byte, its mark. The recorder clears it before it writes
 * the record. With HW_RUN_LASTING, a chunk that ends while the record of its birth belongs to the
 * recorder (see hw_slot.claimed) has the record marked, and no end is recorded: the monitor counts
 * it and does not read it. */
enum hw_record_mark {
	HW_MARK_ENDED = 1,
	HW_MARK_OF_REALLOC = 2, /* that began the chunk */
	HW_MARK_BY_REALLOC = 4, /* that ended it */
};

/* aux of a HW_FREE: free and delete are one function there, so that the kind says nothing of how
 * the block was to be freed. */
enum { HW_FREE_ANY_FORM = 1 };

enum {
	/* hw_record.flags */
	HW_RECORD_NESTED = 1, /* from a hook that interrupted a hook (signal handler) */
	HW_RECORD_UNSURE = 2, /* of an end: the record of the birth may have been marked in time */
};

/* A node of the calling-context tree, in shared memory. Written once, before any record names it.
 * pc is a return address; pc + 1 of the interrupted instruction for the frame below a signal
 * handler. A node with parent 0 and pc < HW_GENERATION_LIMIT is not a frame: it roots the contexts
 * that were made after module reuse number `pc` (see struct hw_module_note.generation). */
struct hw_node {
	u64 pc;
	u32 parent; /* 0 = outermost frame */
	u32 flags;  /* HW_NODE_* */
};
_Static_assert(sizeof(struct hw_node) == 16, "node layout is shared");

enum {
	HW_GENERATION_LIMIT = 0xf000,
	/* pc of the pseudo frame below which a stack was cut; flags has HW_NODE_CUT */
	HW_CUT_PC = 0xffff,
};
enum { HW_NODE_CUT = 1 };

#endif
