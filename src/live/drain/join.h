/* SPDX-License-Identifier: MIT
 * Tools that join a recording which has begun: `heapwise ctl` asks the monitor for a place (verb
 * join), and gets the path of a memory that both map. The drain thread writes there what a tap is
 * told, first of all what lives at that moment; the tool reads it and writes commands. Nobody
 * waits: what does not fit is kept by the monitor for a while, and a tool that stays behind is left
 * behind. */
#ifndef LIVE_DRAIN_JOIN_H
#define LIVE_DRAIN_JOIN_H

#include "host/base/vec.h"
#include "live/drain/tap.h"

enum {
	JOIN_MAGIC = 0x4a4f494e,
	JOIN_VERSION = 2,
	JOIN_BYTES = 1 << 22,     /* of messages; a power of two */
	JOIN_BACKLOG = 256 << 20, /* bytes that are kept for a tool at most */
	JOINTS_MAX = 4,
};

enum join_state { JOIN_GOES_ON, JOIN_ENDED, JOIN_TOO_SLOW };

struct join_memory {
	u32 magic, version; /* monitor, before anybody knows of it */
	u64 head;           /* monitor, released: bytes written */
	u32 bell;           /* futex: monitor adds 1 and wakes */
	u32 state;          /* monitor: enum join_state, released after the last message */
	_Alignas(HW_CACHE_LINE) u64 tail; /* tool, released: bytes read */
	u32 left;                         /* tool: 1 = it needs nothing any more */
	u32 pid;                          /* tool: so that the monitor sees when it is gone */
	u64 commands_head;                /* tool, released: commands written */
	_Alignas(HW_CACHE_LINE) u64 commands_tail; /* monitor, released: commands read */
	struct hw_command commands[HW_COMMANDS];
	u8 data[JOIN_BYTES];
};

/* A message is its head and so many bytes, filled up to 8. */
enum join_kind {
	JOIN_IMAGE,    /* struct stream_image, whose texts are not there */
	JOIN_MODULE,   /* struct stream_module, then its path with the end, then its build id */
	JOIN_CONTEXTS, /* struct stream_context[] */
	JOIN_BLOCKS,   /* struct join_block[]: they live already */
	JOIN_EVENTS,   /* struct event[] */
	JOIN_HIT,      /* struct tap_hit */
	JOIN_DONE,     /* struct hw_command: of whoever gave it */
	JOIN_CYCLE,    /* struct join_cycle */
	JOIN_END,      /* struct stream_image_end, whose text is not there */
};

struct join_message {
	u32 kind, bytes;
};

struct join_block {
	u64 address, size, chunk;
	u32 context;
	u32 birth; /* low half of the ticks */
};

struct join_cycle {
	u64 now_ns, ticks;
	u64 cpu_ns;
	u32 monitored; /* pages are there */
	u32 pad;
	struct hw_pages pages;
};

/* ---- the monitor's side, drain thread ---- */

struct joint {                      /* one tool */
	struct join_memory *memory; /* NULL = free */
	int fd;
	u64 head; /* as memory->head, which the tool could change */
	u64 commands_tail;
	VEC(u8) backlog; /* behind head */
	/* when its first cycle was; when we looked whether the tool lives */
	u64 began_ns, looked_ns;
	bool failed;
};

/* All who listen to one process: the tap that the run has, and tools. */
struct join_hub {
	const struct tap *own; /* may be NULL */
	struct tap tap;
	struct joint joints[JOINTS_MAX];
};

struct join_hub *join_hub_new(const struct tap *own);
void join_hub_free(struct join_hub *self);

/* One more; tells it what lives. 0, or an errno; *path where it can be opened. */
int join_hub_add(struct join_hub *self, struct image *image, char path[64]);

/* ---- the tool's side ---- */

struct join_listener {
	struct join_memory *memory;
	u32 monitor_pid;
	u64 tail;
	u64 commands_head;
	struct join_cycle cycle; /* the last one */
};

/* What the tool is told; see struct tap, of which any may be NULL. Blocks come after the image, its
 * modules and contexts. */
struct join_handlers {
	struct tap tap;
	int (*blocks)(void *self, const struct join_block *blocks, u64 count, struct err *err);
};

/* Asks the monitor that records `pid`, or that is `pid`. */
int join_open(struct join_listener *self, u32 pid, struct err *err);
void join_close(struct join_listener *self);

/* Reads and calls until the program has ended, the monitor has, or *stop is set. */
int join_listen(struct join_listener *self, const struct join_handlers *handlers, const bool *stop,
		struct err *err);

/* For cycle(): as image_command. */
bool join_command(struct join_listener *self, u32 verb, u64 address, u64 birth);

#endif
