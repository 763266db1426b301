/* SPDX-License-Identifier: MIT
 * The shared memory of a run: the lobby, and the berths that images of recorded processes claim.
 * They are memfds that the recorder opens as /proc/MONITOR/fd/N, or files in a private folder
 * where that does not work. After berths_open only the drain thread uses it. */
#ifndef LIVE_DRAIN_BERTHS_H
#define LIVE_DRAIN_BERTHS_H

#include <linux/futex.h>

#include "host/base/err.h"
#include "format/session.h"

struct prepare;
struct dumper; /* dump.h */

/* When scans keep all pointers. Those that are asked for from outside keep them if any is set. */
enum owners_when {
	OWNERS_END = 1,     /* the one at the end of the program */
	OWNERS_MARKS = 2,   /* one at each mark of the program, and at each snapshot */
	OWNERS_PEAK = 4,    /* one when more is live than ever */
	OWNERS_REGULAR = 8, /* one every owners_every_ns */
	OWNERS_RUNNING = OWNERS_MARKS | OWNERS_PEAK | OWNERS_REGULAR,
};

enum {
	/* how scans find owners */
	OWNERS_BACKGROUND = 1, /* in a copy of the memory, while the program runs on */
	OWNERS_CONTENTS = 2,   /* and which chunks are alike */
};

struct berths_options {
	bool children; /* every process records, not only the root */
	u32 flags;     /* HW_RUN_* */
	u32 max_depth;
	u32 stamp_shift;
	u64 sample_bytes;
	u64 ring_records;           /* 0 = default; else rounded up to a power of two */
	struct prepare *prepare;    /* reads modules' symbols ahead; may be NULL */
	bool below;                 /* a tool below the programs records them */
	bool use_files;             /* tests: as if there were no memfd */
	u64 access_epoch_ns;        /* of adaptive recording of accesses; 0 = default */
	u64 access_max;             /* where counts of accesses stop; 0 = nowhere */
	u32 owners;                 /* enum owners_when: bits, 0 = no scan keeps pointers */
	u64 owners_every_ns;        /* with OWNERS_REGULAR */
	u32 owners_how;             /* OWNERS_BACKGROUND, OWNERS_CONTENTS */
	bool paused;                /* images begin without recording allocations */
	const char *routine_filter; /* "" = all routines, if flags ask for them; borrowed */
	u64 routine_sample;
	const struct hw_pool *pools; /* borrowed: the caller keeps them */
	u32 pools_count;
	u32 allocators;              /* bits of enum hw_allocator that are looked for */
	const struct dumper *dumper; /* writes dumps; borrowed, may be NULL */
};

/* Where things are in a berth. The monitor keeps its own copy: the one in shared memory can be
 * overwritten by the program that is recorded. */
struct berth_layout {
	u64 total_bytes;
	u64 request_offset, names_offset, pools_offset, commands_offset, writes_offset;
	u64 modules_offset, modules_bytes;
	u64 slots_offset, nodes_offset, rings_offset, ring_stride;
	u32 slots_max, nodes_max, ring_records, nested_records, ring_extra;
};

/* A berth that was claimed, mapped. */
struct berth {
	u32 index; /* in the lobby */
	u32 pid, parent_pid;
	u8 *memory;
	struct hw_control *control; /* == memory */
	struct berth_layout layout;
};

struct berth_place {
	bool used;
	int fd; /* -1: the image has mapped it, and nobody else will */
	u32 number;
	const struct hw_control *control; /* while it is claimed and mapped here */
};

struct scan_hub; /* scan.h */

struct berths {
	struct berths_options options;
	struct berth_layout layout;
	struct hw_lobby *lobby;
	int lobby_fd;
	char folder[256]; /* DIR of the session path */
	char path[300];   /* value for HW_SESSION_ENV */
	bool files;       /* folder is ours, and its files are removed at the end */
	u32 next_number;  /* names of berth files */
	u32 spares_wanted;
	struct berth_place berths[HW_BERTHS];
	u32 spare[HW_BERTHS]; /* indexes of berths that wait to be claimed */
	u32 spare_count;
	u32 unmapped_count;     /* claimed berths that their images may not have mapped yet */
	struct scan_hub *scans; /* of the drain; scans and the waiting thread use it, too */
	u8 entry_states[HW_ENTRIES_MAX];   /* the worst of them: enum hw_entry_state */
	struct robust_list_head lock_list; /* of the thread that holds the lobby's lock */
	struct robust_list lock_entry;
	u32 pool_states[HW_POOLS];  /* the best of all images that ended: enum hw_pool_state */
	u64 pool_refused[HW_POOLS]; /* blocks of all these whose size cannot be */
};

int berths_open(struct berths *self, const struct berths_options *options, struct err *err);

/* Removes everything. Berths that are still mapped stay mapped until berth_unmap. */
void berths_close(struct berths *self);

/* The drain thread takes the lock whose loss tells recorders that the monitor has died, and holds
 * it until it ends. */
int berths_hold_lock(struct berths *self, struct err *err);

/* Adds spare berths until enough are ready. */
int berths_replenish(struct berths *self, struct err *err);

/* Whether images that begin from now on begin paused. */
void berths_set_paused(struct berths *self, bool paused);

/* If a spare berth was claimed, maps it: 1. 0: none was. Negative: it could not be mapped, and its
 * image is lost. */
int berths_take_claimed(struct berths *self, struct berth *berth, struct err *err);

/* Closes the descriptors of berths that their images have mapped: there can be more images than
 * descriptors. */
void berths_close_mapped(struct berths *self);

/* The image has ended and everything is read: unmaps, and frees its place in the lobby. */
void berths_give_back(struct berths *self, struct berth *berth);

struct hw_slot *berth_slot(const struct berth *self, u32 slot);
const struct hw_record *berth_ring(const struct berth *self, u32 slot);   /* see hw_ring_size */
const struct hw_record *berth_nested(const struct berth *self, u32 slot); /* of nested_records */
const u8 *berth_marks(const struct berth *self, u32 slot); /* of the records of both */
const struct hw_node *berth_nodes(const struct berth *self);
const struct hw_request *berth_request(const struct berth *self);
const struct hw_name *berth_names(const struct berth *self);   /* of HW_NAMES */
struct hw_command *berth_commands(const struct berth *self);   /* of HW_COMMANDS */
const struct hw_write *berth_writes(const struct berth *self); /* of HW_WRITES */
const u8 *berth_modules(const struct berth *self);

#endif
