/* SPDX-License-Identifier: MIT
 * Shared memory between the monitor and the recorded processes: the lobby, where a process finds a
 * berth, and the berth, which holds one program image's control page, context nodes and rings.
 * Layout only. Each field says who writes it. */
#ifndef FORMAT_SESSION_H
#define FORMAT_SESSION_H

#include "record.h"

#define HW_SESSION_ENV "HEAPWISE_SESSION"  /* path DIR/NAME of the lobby; berths are DIR/<number> */
#define HW_LOBBY_MAGIC 0x3159424f4c5748ull /* "HWLOBY1" */
#define HW_BERTH_MAGIC 0x31485452455748ull /* "HWERTH1" */
#define HW_SESSION_VERSION 18

enum { HW_BERTHS = 8192 }; /* images that are alive at once */

enum hw_berth_state {
	HW_BERTH_ABSENT = 0,  /* monitor: no file behind it yet */
	HW_BERTH_SPARE = 1,   /* monitor: file is ready, may be claimed */
	HW_BERTH_CLAIMED = 2, /* recorder: an image writes into it */
	HW_BERTH_DRAINED = 3, /* monitor: image ended, everything read */
};

struct hw_berth {
	u32 state;  /* enum hw_berth_state, changed by cas */
	u32 number; /* monitor: file name below the lobby's folder */
	u32 pid;    /* recorder, as the process sees itself */
	u32 parent; /* recorder: getppid() at claim */
};

/* Limits on address space that a recorder made larger by what is its own; a process may take them
 * over from another image. */
struct hw_limit {
	u64 soft, hard;               /* that hold; soft is written last, 0 = none */
	u64 soft_wanted, hard_wanted; /* that the program set */
};

enum { HW_LIMITS = 8 };

enum {
	/* hw_lobby.flags */
	HW_SESSION_CHILDREN = 1, /* every process claims a berth, not only root_pid */
	HW_SESSION_EARLY = 2,    /* an image joins before main, not only when it allocates */
	/* the same of images that have an allocator of hw_lobby.allocators in them */
	HW_SESSION_ENTRIES = 4,
	/* a tool below the programs records them: recorders that are linked in stand back */
	HW_SESSION_BELOW = 8,
};

struct hw_lobby {
	u64 magic;
	u32 version;
	u32 flags;
	u32 root_pid;       /* launcher, before exec: the process that is recorded */
	u32 bell;           /* futex: recorder adds 1 and wakes when the monitor should look */
	u32 monitor_sleeps; /* monitor: 1 while it waits on bell */
	u32 berth_bell;     /* futex: monitor adds 1 when it has added spare berths */
	/* recorder: forked processes that allocated and were not recorded */
	u32 unrecorded_children;
	u32 unrecorded_execs; /* recorder: images of other processes that were not recorded */
	u32 berth_shortage;   /* recorder: images that found no berth in time */
	u32 monitor_pid;      /* monitor, as it sees itself */
	u32 beat;             /* monitor: changes at least every 50 ms */
	u32 allocators;       /* monitor: bits of enum hw_allocator that are looked for */
	u32 unreachable;      /* recorder: processes that could not open the shared memory */
	u32 reserved[1];
	/* The first word is a robust futex that the monitor holds while it lives: the kernel sets
	 * FUTEX_OWNER_DIED in it when it dies. The recorder only ever reads that word. */
	u32 monitor_lock[16];
	struct hw_berth berth[HW_BERTHS];
	u32 limits_made; /* recorder: the next of these, modulo their number */
	u32 reserved_too;
	struct hw_limit limits[HW_LIMITS]; /* recorder */
};

enum {
	/* hw_control.flags: options of the run, written by the monitor */
	HW_RUN_ALLOC_STACKS = 1,
	HW_RUN_FREE_STACKS = 2,
	HW_RUN_MMAP = 4,
	HW_RUN_LOSSY = 8, /* a full ring drops and counts instead of waiting */
	/* tests: give up the CPU now and then between stamp and publish */
	HW_RUN_TEST_PREEMPT = 16,
	HW_RUN_DURATIONS = 32,   /* sample the duration of the real calls */
	HW_RUN_EXACT_TIMES = 64, /* read the counter for every event */
	/* of an image in a trace: its recording began in the middle of a life */
	HW_RUN_CONTINUED = 128,
	HW_RUN_LEAK_SCAN = 256,    /* let the monitor look at the memory when the program ends */
	HW_RUN_ACCESS_EXACT = 512, /* record accesses by instrumented code: each */
	HW_RUN_ACCESS_ADAPTIVE = 1024, /* or, of hot memory, a sample */
	HW_RUN_COVERAGE = 2048,        /* and which bytes are accessed */
	HW_RUN_ROUTINES = 4096,        /* record routines that begin and end */
	HW_RUN_TYPES = 8192,           /* look into new objects for their vtables */
	/* stacks are made of routines that have begun, not unwound */
	HW_RUN_ROUTINE_STACKS = 16384,
	HW_RUN_PAGES = 32768,      /* memory can be monitored page-wise, see struct hw_pages */
	HW_RUN_HIT_STACKS = 65536, /* and hits have stacks */
	/* objects of a Lisp are recorded (runtime.h) instead of blocks of malloc; what ends them is
	 * its collector */
	HW_RUN_LISP = 131072,
	/* with HW_RUN_PAGES: a chunk that ends before the monitor has read of its birth is only
	 * counted */
	HW_RUN_LASTING = 524288,
	/* pages are monitored by userfaultfd, which tells of writes only */
	HW_RUN_PAGES_WRITES = 262144,
	HW_RUN_SUMMARY = 1048576, /* the trace has sums instead of events */
	/* with HW_RUN_PAGES: small chunks have pages of their own as long as there are any */
	HW_RUN_OWN_PAGES = 2097152,
};

/* A process that is about to end asks to be watched and waits, not for long, for the answer. */
enum hw_leaving {
	HW_LEAVING_NOT = 0,
	HW_LEAVING_ASKED = 1,    /* recorder */
	HW_LEAVING_ANSWERED = 2, /* monitor: go on; it is watching, or will not */
};

/* What a thread does at a mark of the program, after it has told it. */
enum hw_mark_scan {
	HW_MARK_SCAN_NONE = 0,
	HW_MARK_SCAN_ASK = 1,  /* it makes a HW_REQUEST_SCAN */
	HW_MARK_SCAN_PASS = 2, /* it counts marks_passed: too many scans would stop the program */
};

/* Memory of the recorder inside the program. */
struct hw_range {
	u64 start, bytes;
};

/* Counters of what went wrong. The recorder raises them, the monitor reports every one that is not
 * 0. The text follows the number: units_things() of base/ makes the singular and the plural of
 * it. */
#define HW_FAULTS(F)                                                                               \
	F(RING_FULL, "event(s) dropped because a ring stayed full")                                \
	F(NESTED_FULL, "event(s) dropped in nested signal handlers")                               \
	F(NO_SLOT, "event(s) dropped because every thread slot was taken")                         \
	F(NO_MEMORY, "event(s) dropped because the recorder could not map memory")                 \
	F(NODES_FULL, "event(s) without a stack because the context table is full")                \
	F(STACK_CUT, "stack(s) cut at the depth limit")                                            \
	F(STACK_BROKEN, "stack(s) that (ends|end) early because a frame could not be unwound")     \
	F(MODULES_FULL, "module(s) not announced because the module log is full")                  \
	F(SAMPLE_FULL, "sampled allocation(s) not recorded because the sample table is full")      \
	F(CHECKED, "stack(s) compared with the reference unwinder (checking build)")               \
	F(CHECK_FAILED, "stack(s) that (differs|differ) from the reference unwinder (checking "    \
			"build)")                                                                  \
	F(NAMES_FULL, "mark(s) without a name because the name table is full")                     \
	F(POOLS_FULL, "allocation(s) inside custom allocators counted twice because their table "  \
		      "is full")                                                                   \
	F(STACK_BARE, "stack(s) of one frame because no instrumented routine was on (it|them)")    \
	F(SANDBOX, "time(s) the program's seccomp filter blocked recording; nothing was recorded " \
		   "afterwards")                                                                   \
	F(NO_HEAP, "program image(s) whose accesses were not recorded: no room for Heapwise's "    \
		   "heap; check ulimit -v and memory overcommit")                                  \
	F(IO_URING, "program image(s) that (uses|use) io_uring; the memory was not monitored "     \
		    "afterwards")

#define HW_FAULT_ENUM(name, text) HW_FAULT_##name,
enum hw_fault { HW_FAULTS(HW_FAULT_ENUM) HW_FAULT_COUNT };
#undef HW_FAULT_ENUM

enum hw_stop {
	/* hw_control.stopped */
	HW_GO_ON = 0,
	HW_STOPPED = 1,  /* nothing is recorded until a new recording begins */
	HW_RELEASED = 2, /* monitor: the recorder is dormant for good */
};

/* What a program may ask of its monitor, and wait for. */
enum hw_request_verb {
	HW_REQUEST_SAVE = 1,    /* what was recorded so far is in the file */
	HW_REQUEST_STOP = 2,    /* the file is closed */
	HW_REQUEST_RESTART = 3, /* the file is closed, and another one, `path`, goes on */
	/* what is live is in a dump, `path`, or, if that is "", beside the trace */
	HW_REQUEST_DUMP = 4,
	HW_REQUEST_DUMP_FREED = 5, /* with what was freed */
	HW_REQUEST_SCAN = 6,       /* the memory was scanned, or will not be */
};
enum { HW_REQUEST_PATH = 4096, HW_REQUEST_BYTES = 8192 };

struct hw_request { /* recorder, by who holds hw_control.requester */
	u32 verb;
	u32 pad;
	char path[HW_REQUEST_PATH]; /* absolute, or "" */
};

/* Names of marks and phases. Entry 0 is not used: a mark that names it has no name. */
enum { HW_NAMES = 1024, HW_NAME_BYTES = 64 };
struct hw_name {
	u32 state;                    /* recorder: 0 free, 1 being written, 2 whole; released */
	char text[HW_NAME_BYTES - 4]; /* with terminator; longer names are cut */
};

/* Functions of the program that allocate or free, by name: --alloc-fn, --free-fn. */
enum hw_pool_state {
	/* the higher of two images' counts */
	HW_POOL_UNSEEN = 0,  /* no module that was loaded has it */
	HW_POOL_NO_ROOM = 1, /* seen, but no memory is near it or its code may not be written */
	HW_POOL_UNFIT = 2,   /* seen, but its first instructions cannot be moved */
	/* seen, but its first instructions cannot be moved while a shadow stack is in force */
	HW_POOL_SHADOWED = 3,
	HW_POOL_RECORDED = 4, /* its calls are recorded */
};
enum { HW_POOLS = 32, HW_POOL_NAME = 232, HW_POOL_ARGUMENTS = 6 };
/* a larger block is looked at: one that ends in no memory has another size */
enum { HW_POOL_SIZE_SURE = 1 << 20 };
struct hw_pool {
	u32 state;   /* recorder: enum hw_pool_state */
	u8 frees;    /* monitor, as all below but refused: 0 = it allocates */
	u8 argument; /* number of the argument that is the size or the block, from 0 */
	u16 pad;
	u64 size;                /* of each block; 0 = the argument's */
	u64 refused;             /* recorder: blocks whose size cannot be, and is recorded as 0 */
	char name[HW_POOL_NAME]; /* with terminator */
};

enum { HW_ENTRIES_MAX = 256 };

enum { HW_ROUTINE_FILTER = 512 }; /* bytes, with terminator */

/* What the monitor asks of page monitoring. A *unit* is what is armed as a whole: the page that
 * small blocks share, or all of a block larger than HW_UNIT_SMALL, which shares no page. */
enum hw_command_verb { HW_COMMAND_ARM = 1, HW_COMMAND_DISARM = 2 };
enum hw_command_result {
	HW_COMMAND_DONE = 1,
	HW_COMMAND_GONE = 2, /* no such block any more */
	HW_COMMAND_BUSY = 3, /* in use by a system call, or never to be armed */
	HW_COMMAND_FULL = 4, /* no more units can be armed separately */
};
enum { HW_COMMANDS = 8192, HW_UNIT_SMALL = 2048, HW_UNIT_PAGE = 4096 };
struct hw_command {
	u64 address; /* monitor: of a block */
	u64 birth;   /* monitor: ticks of its birth */
	u64 ticks;   /* recorder: when it was done */
	u16 verb;    /* monitor */
	u16 result;  /* recorder, before it moves the tail */
	u32 pad;
};

/* A write that the recorder's fault thread was told of: a ring with that thread as the one
 * producer. */
enum { HW_WRITES = 4096 };
struct hw_write {
	u64 address, ticks;
};

/* Page monitoring: commands, a ring with the monitor as the one producer, and what it costs. */
struct hw_pages {
	u64 head; /* monitor, released: commands written */
	u32 bell; /* futex: monitor adds 1 and wakes */
	u32 pad;
	/* monitor: once hit_ticks and fault_ticks for each hit are so much all is opened; 0 = no
	 * limit */
	u64 spend_most;
	/* monitor: units that one hit of a sweep may open with its own; 0 = none */
	u64 around_most;
	u64 fault_ticks; /* monitor: fault_ns in ticks, as it has measured their rate */
	/* monitor: from so much CPU time on the helper arms nothing; 0 = no limit */
	u64 arm_most_ns;
	_Alignas(HW_CACHE_LINE) u64 tail; /* recorder, released: commands done */
	u64 armed;                        /* recorder: units that are armed now */
	u64 arms;                         /* recorder: how often one was */
	u64 arm_ns;                       /* recorder: CPU time of the helper thread */
	/* recorder, now and then and at the end: of the whole process, helper included */
	u64 cpu_ns;
	u32 helper_tid; /* recorder: 0 = pages cannot be monitored */
	u32 units_max;  /* recorder: units that may be armed at a time */
	/* recorder: what a fault costs beside the handler, as measured at the start */
	u64 fault_ns;
	_Alignas(HW_CACHE_LINE) u64 hits; /* recorder: by the program itself */
	u64 kernel_hits;                  /* recorder: for a system call */
	/* recorder: inside the handler, and where units are opened for other reasons */
	u64 hit_ticks;
	u64 opened;     /* recorder: units opened for the allocator: no hits */
	u64 spilt;      /* recorder: units that had to be opened with others */
	u64 open_ns;    /* recorder: CPU time of opening all */
	u64 open_units; /* recorder: units that were opened then */
	/* recorder, released: when all was opened last, because of spend_most or for good; 0 =
	 * never */
	u64 flood_ticks;
	u64 floods;      /* recorder: how often */
	u64 around;      /* recorder: units that were opened with a neighbour */
	u64 writes_head; /* recorder, released: entries of the ring of writes */
	/* recorder: allocator calls of which the time was taken: those that allocate, those that
	 * end a chunk */
	u64 timed[2];
	u64 timed_ticks[2]; /* recorder: and their time, the heap's and the recording's */
	_Alignas(HW_CACHE_LINE) u64 writes_tail; /* monitor, released: of these read */
};

/* With HW_RUN_LASTING records wait for a while before they are read. Most allocations are a few
 * threads', whose rings have room for it. */
enum { HW_RINGS_LONG = 4 };

enum { HW_RECORD_ROOM = sizeof(struct hw_record) + 1 }; /* of a record and its mark */

/* Where the ring of a slot begins, in bytes from the first one. */
static inline u64 hw_ring_start(u64 stride, u32 extra, u32 slot)
{
	return slot * stride +
	       (u64)(slot < HW_RINGS_LONG ? slot : HW_RINGS_LONG) * extra * HW_RECORD_ROOM;
}

static inline u32 hw_ring_size(u32 records, u32 extra, u32 slot)
{
	return slot < HW_RINGS_LONG ? records + extra : records;
}

/* Whether a ring has so many records that are not read that the monitor must hurry. */
static inline bool hw_ring_pressed(u64 unread, u64 mask, u32 flags)
{
	return unread > (flags & HW_RUN_LASTING ? mask - mask / 4 : mask / 2);
}

/* First page of a berth. */
struct hw_control {
	u64 magic; /* monitor, as all of this block, before the berth is spare */
	u32 version;
	u32 flags;
	u64 total_bytes;
	u64 modules_offset; /* byte ring of struct hw_module_note */
	u64 modules_bytes;  /* a power of two */
	u64 slots_offset;   /* struct hw_slot[slots_max] */
	u32 slots_max;
	u32 nodes_max;
	u64 nodes_offset; /* struct hw_node[nodes_max] */
	/* per slot: ring_records, then nested_records records, then a mark for each of them; see
	 * hw_ring_start */
	u64 rings_offset;
	u64 ring_stride;  /* bytes from one slot's ring to the next */
	u32 ring_records; /* powers of two */
	u32 nested_records;
	u32 max_depth;      /* frames kept of a stack */
	u32 stamp_shift;    /* tests: low bits of every stamp that are cleared, 0 = none */
	u64 sample_bytes;   /* 0 = record every allocation */
	u64 request_offset; /* struct hw_request; 0 = nobody would answer */
	u64 names_offset;   /* struct hw_name[names_max] */
	u32 names_max;
	u32 pools_count;
	u64 pools_offset; /* struct hw_pool[pools_count] */
	u32 allocators;   /* bits of enum hw_allocator */
	/* records that the rings of the first HW_RINGS_LONG slots have beside these */
	u32 ring_extra;
	u64 commands_offset; /* struct hw_command[HW_COMMANDS] */
	u64 writes_offset;   /* struct hw_write[HW_WRITES] */

	_Alignas(HW_CACHE_LINE) u32 paused; /* monitor or API: 1 = allocations are not recorded */
	u32 stopped;                        /* monitor or API: enum hw_stop */
	u32 snapshots;                      /* API: number of snapshots taken */
	u32 snapshots_wanted; /* monitor: raised to have the program's callback called */
	u32 snapshots_served; /* recorder: as snapshots_wanted when the callback was last called */
	u32 has_callback;     /* API: 1 = the program wants to be called before a snapshot */
	u64 autosave;         /* API: allocations from one save to the next, 0 = none */
	u32 mark_scan;        /* monitor: enum hw_mark_scan */
	u32 marks_passed;     /* recorder: marks without a scan */

	/* A request of the program, one at a time; see struct hw_request. */
	/* recorder: tid that makes a request, 0 = nobody; by cas */
	_Alignas(HW_CACHE_LINE) u32 requester;
	u32 request;  /* recorder, released: number of requests made */
	u32 answered; /* monitor, released, futex: number of requests answered */
	u32 answer;   /* monitor: 0, or the errno of the request that was answered last */

	_Alignas(HW_CACHE_LINE) u32 pid; /* recorder, once, before `attached` */
	u32 slots_mapped;                /* recorder: how many of slots_max it could map */
	u64 start_ticks;
	u64 start_ns; /* CLOCK_MONOTONIC at start_ticks */
	u32 attached; /* recorder, released last: 1 = the block above is valid */
	u32 arch;     /* recorder: ELF e_machine */
	/* recorder, until the image is told monitor: paused from the start */
	u32 began_paused;
	u32 access; /* recorder, before `attached`: enum hw_access_mode */
	/* monitor, as a wish; recorder: of adaptive recording, 0 = none */
	u64 access_epoch_ns;
	u64 access_max; /* monitor: where counts of accesses stop, 0 = nowhere */

	_Alignas(HW_CACHE_LINE) u32 slots_used; /* recorder: slots below this number were used */
	u32 nodes_used;                         /* recorder: nodes below this number are reserved */
	_Alignas(HW_CACHE_LINE) u64 modules_head;           /* recorder: bytes written, released */
	u64 modules_tail;                                   /* monitor: bytes read, released */
	_Alignas(HW_CACHE_LINE) u64 faults[HW_FAULT_COUNT]; /* recorder */

	_Alignas(HW_CACHE_LINE) u32 leaving; /* futex, enum hw_leaving */
	u32 pauses; /* recorder: how often it met `paused`: allocations are missing */
	/* monitor: 1 = what an earlier scan has read is being sorted, the answer takes longer */
	u32 sorting;
	/* recorder, before `attached`, addresses in the program: a word that holds start_ticks, and
	 * struct hw_range[own_maps_count], which grows */
	u64 witness, own_maps;
	u64 own_maps_count;
	/* recorder, as these: code and struct hw_fork_frame for a copy of the memory; 0 = none */
	u64 fork_code, fork_frame;

	/* monitor: which routines, "" = all: patterns for names of modules and functions, with
	 * commas; and, from 2 on, that of a routine's later calls every so many are recorded */
	char routine_filter[HW_ROUTINE_FILTER];
	u64 routine_sample;
	u64 routines_left_out; /* recorder: calls that were not recorded for these reasons */
	u32 routine_stacks;    /* recorder: 1 = a stack was made of routines */

	/* recorder, now and then and at the end: accesses that were checked, and those to the
	 * heap */
	_Alignas(HW_CACHE_LINE) u64 access_checked;
	u64 access_heap;
	u32 left; /* recorder: 1 = the image ended as programs do, and was not replaced */
	/* recorder: 1 = the program has told objects of its own, heapwise_alloc */
	u32 objects_told;
	/* recorder: 1 = of accesses to one place, one after the other, some are not told */
	u32 access_merges;
	/* recorder, before `attached`: 1 = a forked child, whose memory has its parent's blocks */
	u32 forked;
	/* recorder, before `leaving`: 1 = main has returned, and what its variables held is gone */
	u32 main_returned;

	/* monitor: bits, by the number that a HW_TYPE_LOOK has: it found a word that points into a
	 * module */
	_Alignas(HW_CACHE_LINE) u32 sites_shown[HW_TYPE_SITES / 32];

	_Alignas(HW_CACHE_LINE) struct hw_pages pages;

	/* recorder: what became of functions of known allocators, enum hw_entry_state by their
	 * numbers in allocators.h */
	_Alignas(HW_CACHE_LINE) u8 entries[HW_ENTRIES_MAX];
};

/* One thread's pair of rings. Single producer, single consumer; a recycled slot goes on with the
 * same counters, and its new owner announces itself with a HW_THREAD record. */
struct hw_slot {
	_Alignas(HW_CACHE_LINE) u64 head; /* recorder, released: records written */
	u32 tid;                          /* recorder: owner, 0 = free; changed by cas */
	/* recorder: 1 while it waits in a full ring on tail_bell */
	u32 waiting;
	u64 lost;            /* recorder: records dropped from this ring */
	u64 realloc_address; /* recorder: block that a realloc in progress was given, 0 = none */
	u64 realloc_pc;      /* recorder: where that realloc returns to */
	u64 thread_pointer;  /* recorder: of its owner; 0 = that is another's */
	_Alignas(HW_CACHE_LINE) u64 tail; /* monitor, released: records read */
	u32 tail_bell;                    /* futex: monitor adds 1 and wakes if waiting is set */
	u32 pad;
	/* monitor: records before this one are its own; it reads their marks after a barrier in all
	 * threads of the recorder (membarrier). So whoever marks a record, and still finds it not
	 * claimed then, knows that the mark will be seen. */
	u64 claimed;
	/* as above, for the nested ring, which never waits */
	_Alignas(HW_CACHE_LINE) u64 nested_head;
	u64 nested_tail;
};

/* An entry of the module log, 8-aligned. size 0 = skip to the start of the byte ring. The first
 * two, there before `attached`, say which image this is; asking /proc from outside races with
 * exec. */
enum {
	HW_MODULE_LOADED = 1,
	HW_MODULE_UNLOADED = 2,
	HW_IMAGE_PROGRAM = 3, /* path = the executable */
	HW_IMAGE_COMMAND = 4, /* path = the arguments, each with its terminator */
	/* base = number of a function of a runtime, path = its name; see runtime.h */
	HW_CODE_NAMED = 5,
	HW_RUNTIME_SAYS = 6,  /* path = what the runtime's library says of itself */
	HW_MODULE_LISTED = 7, /* as HW_MODULE_LOADED, at the end: it is in no stack */
};
enum { HW_IMAGE_TEXT_MAX = 8192 };
struct hw_module_note {
	u32 size; /* of the whole note, a multiple of 8 */
	u16 what; /* HW_MODULE_* */
	u16 build_id_bytes;
	u64 ticks;
	u64 base;       /* load bias: address in memory - address in the file's headers */
	u64 start, end; /* memory range of the loaded segments */
	/* contexts below this generation's root see this module (and later ones) */
	u32 generation;
	/* without terminator; path follows the build-id; empty = the program itself */
	u32 path_bytes;
	/* u8 build_id[], char path[] */
};

#endif
