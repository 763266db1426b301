/* SPDX-License-Identifier: MIT
 * The stream of facts about a recorded process, in order. A trace file that is read and a running
 * program that is watched produce the same calls, so that whoever listens (the trace writer, the
 * model, dump, live views) cannot tell them apart.
 *
 * Order: begin, then per image: image, its modules, threads, contexts and events as they happen,
 * image_end; at last end. A context is told before any event that names it, its parent before it.
 * The name of a mark is told before the mark. Chunks are numbered 0, 1, 2 … by allocation events,
 * anew in each image. Routines are told in the order of their thread, and after the thread; how
 * they stand to events of the same time is told by times only. */
#ifndef HOST_TRACE_STREAM_H
#define HOST_TRACE_STREAM_H

#include "host/base/err.h"
#include "format/record.h"

#define NO_CHUNK UINT64_MAX

/* An event after correlation. kind is an enum hw_kind. Times are ticks of the recorded machine's
 * counter; struct stream_clock turns them into ns. Events come in order of time, except that one
 * which was published late (its thread was preempted) may carry an earlier time. */
struct event {
	u64 ticks;
	u64 address;
	u64 size; /* requested bytes (of the chunk, for frees: filled in from the allocation) */
	/* allocations: its number; frees: the chunk that ends, or NO_CHUNK if unknown */
	u64 chunk;
	u32 context; /* 0 = no stack */
	u32 thread;  /* index of a told thread */
	u8 kind;
	u8 flags; /* EVENT_* */
	u16 aux;  /* FAILED and DURATION: kind of the call; MARK: enum hw_mark */
};

enum {
	EVENT_NESTED = 1,  /* inside a signal handler that interrupted the recorder */
	EVENT_IMPLIED = 2, /* a free that was not seen: the address was handed out again */
};

/* How accesses to chunks were recorded; the numbers are those of enum hw_access_mode. */
enum access_mode {
	ACCESS_NONE,
	ACCESS_EXACT,    /* each access by instrumented code */
	ACCESS_ADAPTIVE, /* as exact, hot memory by sampling */
	ACCESS_VALGRIND, /* each access */
	ACCESS_MODES
};

/* "none", "exact", "adaptive", "valgrind"; "unknown" for a number that is none. */
static inline const char *access_mode_word(u32 mode)
{
	static const char *const words[ACCESS_MODES] = {"none", "exact", "adaptive", "valgrind"};

	return mode < ACCESS_MODES ? words[mode] : "unknown";
}

struct stream_image {
	u32 pid;
	u32 parent_pid;
	u32 number; /* 0 = first image of this process; +1 per exec */
	u32 arch;   /* ELF e_machine */
	u64 start_ticks;
	u64 start_ns;        /* CLOCK_MONOTONIC at start_ticks */
	u64 sample_bytes;    /* 0 = every allocation is there */
	u32 flags;           /* HW_RUN_* */
	u32 access;          /* enum access_mode */
	const char *program; /* path of the executable */
	const char *command; /* command line, shell-quoted */
};

struct stream_module {
	u32 id;         /* 0, 1, 2 … in order of telling, anew in each image */
	u32 generation; /* see struct hw_node */
	u64 base, start, end;
	u64 loaded_ticks;
	u64 unloaded_ticks; /* 0 = still loaded; told again with the same id when it is unloaded */
	const char *path;
	const u8 *build_id;
	u32 build_id_bytes;
};

struct stream_context {
	u32 id;
	u32 parent;
	u64 pc;
	u32 flags; /* HW_NODE_* */
};

struct stream_thread {
	u32 index; /* 0, 1, 2 … in order of telling, anew in each image */
	u32 tid;
	u64 start_ticks;
	char name[16]; /* comm when first seen, may be empty */
};

/* A pair of readings of both clocks; ns between two pairs is interpolated. */
struct stream_clock {
	u64 ticks;
	u64 ns; /* CLOCK_MONOTONIC */
};

struct stream_name { /* of marks and phases */
	u32 id; /* address of the marks that have it; ids are below HW_NAMES, anew in each image */
	const char *text;
};

struct stream_usage { /* what /proc said of the process */
	u64 ticks;
	u64 rss_bytes;
	u64 virtual_bytes;
};

/* Where the resident memory of the process was at one moment. A row is a mapping, or a part of one:
 * of memory that blocks may lie in, each row is a run of pages that are all resident, unless there
 * were too many of them. */
enum memory_kind {
	/* numbers are those of the trace file */
	MEMORY_ANONYMOUS,
	MEMORY_BREAK, /* the kernel's [heap] */
	MEMORY_FILE,  /* of a file, also its pages that were changed */
	MEMORY_STACK, /* of the first thread */
	/* anonymous, above a page that may not be touched: a thread's stack, or an arena */
	MEMORY_GUARDED,
	MEMORY_RECORDER, /* the recorder's own, or shared with the monitor */
	/* of a file with code, its data without a file included; and the kernel's [vdso] */
	MEMORY_MODULE,
	MEMORY_KINDS
};

struct stream_resident {
	u64 start, bytes;
	u64 resident_bytes; /* of these */
	u32 kind;           /* enum memory_kind */
	/* 1 = same mapping as the row before; the recorder's rows, which may lie in the midst of
	 * one, do not count */
	u32 goes_on;
};

/* A free block in the C library's cache of a thread. */
struct stream_cached {
	u64 address;
	u32 bytes; /* the allocator's header included, which is 8 bytes before it; steps of 16 */
	u32 tid;   /* of the thread, which may be told later */
};

enum { STREAM_PAGE = 4096 }; /* rows are whole ones, whatever the kernel's are */

/* Whether a row may follow one that ends there: by address and apart, since whoever looks for one
 * searches. */
static inline bool stream_resident_fits(const struct stream_resident *row, u64 end)
{
	return row->start >= end && row->bytes <= UINT64_MAX - row->start &&
	       row->start % STREAM_PAGE == 0 && row->bytes % STREAM_PAGE == 0 &&
	       row->resident_bytes <= row->bytes && row->kind < MEMORY_KINDS && row->goes_on <= 1;
}

enum {
	STREAM_CACHED_STEP = 16, /* of addresses and sizes */
	STREAM_CACHED_MAX = 8 << 20,
};

/* The same of a block in a cache. */
static inline bool stream_cached_fits(const struct stream_cached *row, u64 end)
{
	return row->address >= end && row->address % STREAM_CACHED_STEP == 0 && row->bytes &&
	       row->bytes % STREAM_CACHED_STEP == 0 && row->bytes <= STREAM_CACHED_MAX &&
	       row->bytes <= UINT64_MAX - row->address;
}

enum memory_when { MEMORY_NOW, MEMORY_END /* the program was about to end */ };
/* Why the monitor looked. */
enum memory_why {
	MEMORY_UNTOLD, /* traces of earlier versions */
	MEMORY_REGULAR,
	MEMORY_MARK,
	MEMORY_SNAPSHOT,
	MEMORY_LAST,
	MEMORY_WHYS
};

struct stream_memory {
	u64 ticks;
	u64 rss_bytes;       /* as the kernel added it up at this moment */
	u64 high_bytes;      /* the most that it ever was, by the kernel; 0 = unknown */
	u64 huge_bytes;      /* in huge pages; 0 in traces of earlier versions */
	u64 libc_huge_bytes; /* of these, in what glibc's allocator asked to have huge pages */
	u32 moment;          /* enum memory_when */
	u32 why;             /* enum memory_why */
	const struct stream_resident *rows; /* by start */
	u64 count;
	/* caches of threads: by address, and apart; both 0 = nobody has looked */
	const struct stream_cached *cached;
	u64 cached_count;
	u32 caches_read, caches_unread; /* threads whose cache was read, or could not be */
};

/* Per-context totals that replace events once a trace may not grow any more (--max-size). */
struct stream_aggregate {
	u32 context;
	u64 allocations, bytes; /* since the switch */
	u64 frees, freed_bytes; /* chunks of this allocating context that ended since the switch */
};

/* What became of a kept chunk, found by a conservative scan of the program's memory as memcheck
 * does it: from registers, stacks and data (the roots) through pointers from block to block. */
enum chunk_class {
	CLASS_UNKNOWN,   /* no scan, or the chunk was not there yet */
	CLASS_REACHABLE, /* still reachable: pointers to block starts lead to it */
	CLASS_POSSIBLE,  /* possibly lost: only pointers into blocks lead to it */
	CLASS_INDIRECT,  /* indirectly lost: only lost blocks lead to it */
	CLASS_LOST,      /* (definitely) lost: nothing that is not lost leads to it */
	CLASS_COUNT
};

enum scan_state {
	SCAN_NONE, /* nobody asked for one */
	SCAN_DONE,
	SCAN_FAILED, /* every class is unknown, `reason` says why */
};

struct stream_scan {
	u64 ticks;
	u32 state;          /* enum scan_state */
	const char *reason; /* why not, in words; "" when done */
	u64 roots_bytes;    /* memory that was read as roots */
	u64 chunks;         /* that were live */
	u64 scan_ns;        /* for which the program stood still */
	u64 class_chunks[CLASS_COUNT], class_bytes[CLASS_COUNT]; /* sums of what was found */
};

struct stream_class { /* of a scan; sorted by chunk */
	u64 chunk;
	u8 chunk_class; /* enum chunk_class */
};

enum root_kind {
	ROOT_DATA,     /* of a module: its variables */
	ROOT_STACK,    /* a frame of a thread's stack */
	ROOT_TLS,      /* thread-local variables, and the C library's record of a thread */
	ROOT_REGISTER, /* of a thread */
	ROOT_MAPPING,  /* memory that the program mapped by itself */
	ROOT_KINDS
};

struct stream_root { /* where pointers stand outside of chunks */
	u8 kind;     /* enum root_kind */
	u32 tid;     /* whose stack, thread-local data or register; 0 = nobody's */
	u64 address; /* where it begins; of a register 0 */
	u64 bytes;
	/* of a frame: an address in its function; of data: what its module adds to the addresses in
	 * its file; 0 = unknown */
	u64 code;
	const char *name; /* the module's file, the register; "" */
};

struct stream_edge {  /* a pointer, from the start of what it stands in and leads to */
	u32 target;   /* node */
	u32 from, to; /* bytes; UINT32_MAX = that or more */
};

enum {
	/* stream_content.group */
	CONTENT_UNIQUE = 0, /* or of no bytes */
	CONTENT_ZERO = 1,   /* all bytes are 0 */
	CONTENT_FIRST = 2,  /* from here on: chunks with the same number have the same bytes */
};
#define CONTENT_REPEATED 0x80000000u /* bit of the number: all bytes are equal, and not 0 */

/* What a scan has found of a chunk's contents; nothing else of them is kept. */
struct stream_content {
	u32 group;
	u32 untouched_pages; /* of 4 KiB, all in the chunk, that were never touched */
};

/* A number beside a pointer, 8 bytes of what that stands in. */
struct stream_number {
	u64 place; /* see number_place; first: what they are sorted by */
	u64 value; /* not 0 */
};

static inline u64 number_place(u32 node, u32 from) { return (u64)node << 32 | from; }

/* Who points to whom at a scan. Nodes are the chunks, then the roots; pointers lead to chunks. */
struct stream_graph {
	u64 ticks;
	u64 chunk_count, root_count;
	const u64 *chunks; /* their numbers, ascending unless by_number says otherwise */
	const struct stream_root *roots;
	const u64 *starts; /* of each node's edges, in the order of `from`; and one more */
	const struct stream_edge *edges;
	const struct stream_content *contents; /* of each chunk; NULL = nobody has looked */
	/* Up to two words before and behind each pointer. What is not there is 0, or too large to
	 * be the number of anything; NULL = nobody has looked. */
	const struct stream_number *numbers;
	u64 number_count;
	const u32 *by_number; /* nodes in the order of their chunks' numbers; NULL = all are */
};

enum {
	/* stream_access.flags; the numbers are those of HW_ACCESS_* */
	ACCESS_SHARED = 1,      /* more than one thread accessed it */
	ACCESS_SATURATED = 2,   /* a count stopped at its maximum */
	ACCESS_ESTIMATED = 4,   /* counts are unbiased estimates */
	ACCESS_LOWER_BOUND = 8, /* code that is not instrumented may have accessed it */
	/* its last access may be much later than is recorded: it is not known */
	ACCESS_LATER = 16,
	/* it was only read, or only written, as far as was seen: whether that is all is not
	 * known */
	ACCESS_UNSIDED = 32,
};

/* What is known of the accesses to a chunk. */
struct stream_access {
	u64 chunk;
	u64 first_ticks, last_ticks; /* 0 = never accessed */
	u64 reads, writes;           /* number of accesses */
	u64 read_bytes, written_bytes;
	u64 low, high;     /* accessed bytes are within [low, high); equal = nothing */
	u64 covered_bytes; /* distinct bytes accessed; UINT64_MAX = not measured */
	/* Which ones: HW_MAP_WORDS words, see HW_ACCESS_MAP. NULL: not told, or covered_bytes ==
	 * high - low tells it. Theirs who tell, for the time of the call. */
	const u64 *map;
	/* If sided, the same of those that were read, and of those that were written: how many, and
	 * which.
	 * NULL: not told, or the number is 0 or covered_bytes. */
	u64 side_bytes[HW_SIDES];
	const u64 *side_maps[HW_SIDES];
	bool sided; /* false: reads and writes were not told apart */
	u32 flags;  /* ACCESS_* */
};

enum routine_step {
	/* numbers are those of the trace file */
	ROUTINE_ENTER,
	ROUTINE_LEAVE,
	ROUTINE_ALLOCATION, /* the thread allocated, in whatever routine it is */
	ROUTINE_FREE,       /* or freed */
	ROUTINE_STEPS
};

/* A step of a thread through the routines of the program, where those are recorded. Allocations and
 * frees are here so that it is known in which routine they were made; they are events, too. */
struct stream_routine {
	u64 ticks;
	u64 address; /* of the routine's first instruction; ALLOCATION, FREE: of the block */
	u64 value;   /* ENTER: return address, 0 = unknown; ALLOCATION: requested bytes; else 0 */
	u32 thread;  /* index of a told thread */
	u16 how;     /* LEAVE: enum hw_leave; ALLOCATION, FREE: enum hw_kind; else 0 */
	u8 step;     /* enum routine_step */
};

enum type_source {
	/* how a chunk's type is known; numbers are those of the trace file */
	TYPE_DECLARED = 1, /* the program said so */
	/* the object's own pointer to its virtual functions, read while it lived */
	TYPE_VTABLE = 2,
};

/* The type of what is in a chunk, as one source knows it. */
struct stream_type {
	u64 chunk;
	/* address of a symbol (the type's own, or a vtable's address point), or below HW_NAMES the
	 * number of a name */
	u64 identity;
	u64 count;  /* elements, 0 = unknown */
	u32 offset; /* in the chunk, of the first element */
	u8 source;  /* enum type_source */
};

enum image_end_how {
	/* why an image ended */
	IMAGE_EXITED,   /* value = exit status, or IMAGE_STATUS_UNKNOWN */
	IMAGE_KILLED,   /* value = signal */
	IMAGE_EXEC,     /* another image of the process follows */
	IMAGE_DETACHED, /* recording was stopped, or the monitor lost the process */
};

/* A child has ended, and nobody but its parent knows whether it was killed. */
enum { IMAGE_STATUS_UNKNOWN = -1 };

/* What the monitor counted while it recorded. A reader computes the same from the events. */
struct stream_totals {
	u64 allocations, frees, bytes, freed_bytes;
	u64 peak_bytes, peak_chunks, peak_ticks; /* chunks and moment of the byte peak */
	u64 kept_chunks, kept_bytes;
	u64 unknown_frees; /* frees of blocks that were never told */
	u64 implied_frees; /* EVENT_IMPLIED */
	u64 lost_events;   /* sum of the faults that drop events */
	u64 durations, duration_ticks;
	u64 faults[32];            /* enum hw_fault */
	u64 aggregated_from_ticks; /* 0 = all events are there */
};

struct stream_image_end {
	u64 ticks;
	u32 how; /* enum image_end_how */
	i32 value;
	u64 cpu_ns; /* that all threads of the image had, at most; 0 = unknown */
	struct stream_totals totals;
};

/* Each function returns 0, or a negative code with err filled to stop the source. Any may be
 * NULL. */
struct stream_sink {
	void *self;
	int (*image)(void *self, const struct stream_image *image, struct err *err);
	int (*module)(void *self, const struct stream_module *module, struct err *err);
	int (*thread)(void *self, const struct stream_thread *thread, struct err *err);
	int (*contexts)(void *self, const struct stream_context *contexts, u64 count,
			struct err *err);
	int (*events)(void *self, const struct event *events, u64 count, struct err *err);
	int (*clock)(void *self, const struct stream_clock *clock, struct err *err);
	int (*usage)(void *self, const struct stream_usage *usage, struct err *err);
	int (*memory)(void *self, const struct stream_memory *memory, struct err *err);
	int (*aggregates)(void *self, const struct stream_aggregate *rows, u64 count,
			  struct err *err);
	/* Classes are sorted by chunk; before image_end. Of several scans the last one counts. */
	int (*scan)(void *self, const struct stream_scan *scan, const struct stream_class *classes,
		    u64 count, struct err *err);
	/* After the scan that found it. */
	int (*graph)(void *self, const struct stream_graph *graph, struct err *err);
	/* After the event that begins the chunk, before image_end; a monitor also tells them before
	 * the event that ends it. Of several for one chunk the last one counts. */
	int (*accesses)(void *self, const struct stream_access *rows, u64 count, struct err *err);
	int (*routines)(void *self, const struct stream_routine *rows, u64 count, struct err *err);
	/* After the event that begins the chunk, maybe after the one that ends it; before
	 * image_end. Of several of one source for one chunk the last one counts. */
	int (*types)(void *self, const struct stream_type *rows, u64 count, struct err *err);
	int (*name)(void *self, const struct stream_name *name, struct err *err);
	int (*image_end)(void *self, const struct stream_image_end *end, struct err *err);
	/* e.g. "unrecorded_children" = "3" */
	int (*note)(void *self, const char *key, const char *value, struct err *err);
};

/* Calls one of the functions of a sink, if it is there: 0, or what it returns. */
#define stream_tell(sink, function, ...)                                                           \
	((sink)->function ? (sink)->function((sink)->self, __VA_ARGS__) : 0)

#endif
