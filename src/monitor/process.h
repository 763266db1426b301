/* SPDX-License-Identifier: MIT
 * A recorded process: one trace file, one image after the other. Two threads know it. The drain
 * thread makes it, feeds it and finishes it; the waiting thread does what may block (opens and
 * closes the trace, watches the process). Fields that both use say who writes them. */
#ifndef MONITOR_PROCESS_H
#define MONITOR_PROCESS_H

#include "monitor/hint.h"
#include "monitor/image.h"
#include "monitor/scan.h"
#include "trace/writer.h"

enum process_writer_state {
	WRITER_WANTED,
	WRITER_OPEN,
	WRITER_FAILED, /* the process is drained, and nothing is kept */
};

struct process {
	struct process *next; /* drain, released: later processes */
	u32 pid, parent_pid;
	bool root;
	struct stream_clock start; /* when we learnt of it */

	/* Waiting thread. */
	u32 writer_state;          /* enum process_writer_state, released after `writer` */
	struct trace_writer *writer;
	char trace_path[4096];
	u32 gone; /* released after end_*: the process has ended, nothing is written any more */
	u32 end_how;               /* enum image_end_how */
	i32 end_value;
	int pidfd;                 /* -1 = none, -2 = not tried yet */
	bool closed;
	int write_errno;

	/* Mailbox: the waiting thread fills `usage` when usage_ready is 0, the drain thread
	 * empties it. */
	struct stream_usage usage;
	u32 usage_ready;

	/* Drain thread. */
	VEC(struct berth) berths;     /* claimed, oldest first; the first one may have an image */
	struct image *image;
	struct scan *scan;            /* of the image, while it goes on */
	bool scan_told;               /* the image's scan, or why there is none */
	u32 images;                   /* begun so far */
	struct stream_sink sink;
	enum runtime runtime;         /* of the last image */
	bool python_malloc;           /* PYTHONMALLOC was set for the last image */
	char program[4096];           /* executable of the last image */
	struct stream_totals totals;  /* of the last image that ended */
	u64 ended_events;             /* of images that ended */
	bool gone_seen;               /* `gone` as this cycle found it */
	u32 finished;                 /* released: everything is told, the trace may be closed */
	struct err error;             /* first failure; code 0 = none */
};

/* What a process is when /proc does not tell. */
struct process_fallback {
	const char *program;
	char *const *argv;
};

struct process *process_new(u32 pid, u32 parent_pid);

/* Closes nothing: the writer belongs to the waiting thread. */
void process_free(struct process *self, struct session *session);

/* Drain thread: one more image of this process has claimed a berth. */
int process_add_berth(struct process *self, const struct berth *berth, struct err *err);

/* Drain thread: reads and tells what is new. `gone` as it was before berths were last looked for.
 * Returns the number of records. */
u64 process_cycle(struct process *self, struct session *session,
		  const struct process_fallback *fallback, u64 elapsed_ns, bool gone);

/* Drain thread: whether the process is gone and nothing of it is left to tell. */
bool process_is_done(const struct process *self);

/* Drain thread: tells a pair of clock readings, and makes what was told durable. */
void process_tick(struct process *self);

/* Drain thread: scans the memory of a program that runs: it stands still meanwhile, and the
 * trace has the classes of that moment until a later scan. 0 when it has begun. */
int scan_request(struct process *process, const struct session *session, struct err *err);

/* For process.c and process_scan.c. The second does the drain thread's part in a scan; true
 * while the image's rings must be left alone. The third says why an image that ends was not
 * scanned. */
void process_fail(struct process *self, const struct err *err);
bool process_scan_cycle(struct process *self, struct session *session);
void process_scan_explain(struct process *self);

/* Drain thread: whether a scan, or a recorder that is about to end, waits for the next cycle. */
bool process_pressed(const struct process *self);

u64 process_events(const struct process *self);
u64 process_live_bytes(const struct process *self);

/* Appends argv as a shell would take it. */
void process_quote(struct strbuf *text, const char *argument);

/* Waiting thread: fills the mailbox if it is empty. */
void process_sample_usage(struct process *self);

/* Waiting thread: whether a process that is not our child still runs; sets gone if not. */
bool process_watch(struct process *self);

void process_set_gone(struct process *self, u32 how, i32 value);

#endif
