/* SPDX-License-Identifier: MIT
 * A recorded process: one trace file, one image after the other. Two threads know it. The drain
 * thread makes it, feeds it and finishes it; the waiting thread does what may block (opens and
 * closes the trace, watches the process). Fields that both use say who writes them. */
#ifndef LIVE_RECORD_PROCESS_H
#define LIVE_RECORD_PROCESS_H

#include "format/atomics.h"
#include "live/record/dump.h"
#include "live/program/hint.h"
#include "live/drain/image.h"
#include "live/drain/join.h"
#include "live/record/rotation.h"
#include "live/scan/scan.h"
#include "host/trace/writer.h"

enum process_writer_state {
	WRITER_WANTED,
	WRITER_OPEN,
	WRITER_FAILED,  /* the process is drained, and nothing is kept */
	WRITER_STOPPED, /* drain: the recording was ended; another one may begin */
};

/* A change of files: what one thread does next, after which it is the other's turn. */
enum process_turn {
	TURN_NONE,
	TURN_OPEN,   /* waiting thread: open next_path */
	TURN_OPENED, /* drain thread: next_writer, or next_errno */
	TURN_CLOSE,  /* waiting thread: close old_writer, of old_path */
	TURN_CLOSED, /* drain thread: old_errno */
};

/* Something that others than the program ask for. Whoever asks adds 1 to `asked` and wakes the
 * drain thread; it is done when `done` has got there, with the result in `failure`. */
enum ask_what {
	ASK_PAUSE,
	ASK_RESUME,
	ASK_SNAPSHOT,
	ASK_STOP,
	ASK_SCAN,
	ASK_OWNERS, /* a scan that keeps all pointers */
	ASK_SAVE,
	ASK_JOIN,
	ASK_COUNT
};

struct ask {
	u32 asked;   /* others, by adding */
	u32 done;    /* drain, released */
	u32 failure; /* drain: 0 or an errno */
};

/* What others may see of a process; the drain thread stores, field by field. */
enum process_shown_state {
	SHOWN_WAITING,
	SHOWN_RECORDING,
	SHOWN_PAUSED,
	SHOWN_STOPPED,
	SHOWN_ENDED
};

struct process_shown {
	u32 state; /* enum process_shown_state */
	u64 events, allocations, live_bytes, live_chunks, snapshots;
	u64 trace_bytes; /* of all its files */
};

struct process {
	struct process *next; /* drain, released: later processes */
	u32 pid, parent_pid;
	bool root;
	struct stream_clock start; /* when we learnt of it */

	/* Waiting thread. */
	u32 writer_state; /* enum process_writer_state, released after `writer` */
	struct trace_writer *writer;
	char trace_path[4096];
	u32 gone;    /* released after end_*: the process has ended, nothing is written any more */
	u32 end_how; /* enum image_end_how */
	i32 end_value;
	int pidfd; /* -1 = none, -2 = not tried yet */
	bool closed;
	int write_errno;

	/* Mailbox: the waiting thread fills `usage` when usage_ready is 0, the drain thread
	 * empties it. */
	struct stream_usage usage;
	u32 usage_ready;
	u64 usage_ns; /* waiting thread: when it filled it last */
	/* waiting thread: CPU time of the process, before `gone`; and when */
	u64 cpu_ns, cpu_seen_ns;

	/* Change of files; belongs to the thread whose turn it is. */
	u32 turn; /* enum process_turn, released */
	struct trace_writer *old_writer, *next_writer;
	char old_path[4096], next_path[4096];
	int old_errno, next_errno;
	VEC(char *) ended; /* waiting thread: owned names of files that were closed */

	struct ask asks[ASK_COUNT];
	struct stream_scan scanned; /* drain, before ASK_SCAN is answered; without reason */
	char scan_reason[sizeof(((struct err *)0)->text)]; /* why it failed */
	u32 owners_how; /* who asks, before ASK_OWNERS: OWNERS_* */
	struct process_shown shown;
	char join_path[64]; /* drain, before ASK_JOIN is answered */

	/* Drain thread. */
	VEC(struct berth) claimed; /* claimed, oldest first; the first one may have an image */
	struct image *image;
	struct scan *scan;               /* of the image, while it goes on */
	bool scan_told;                  /* the image's scan, or why there is none */
	struct owners_due {              /* scans while the program runs, see process_owners.c */
		u32 wanted;              /* enum owners_when */
		bool at_mark;            /* one is due for a mark or a snapshot */
		u64 from_ns;             /* when the first image was seen; 0 = not yet */
		u64 next_ns;             /* when the next regular one is due */
		u64 peak_bytes;          /* live at the highest so far */
		u32 peak_recording;      /* of `recordings`: live bytes begin anew with each */
		u64 stopped_ns, last_ns; /* that the program stood still: for all, for the last */
		u64 pointers, last_pointers; /* that were kept, likewise */
		u64 taken, marks, left_out;
		u64 all_left_out; /* of all recordings that ended */
	} due;
	struct sampling {    /* of its memory, see process_usage.c */
		u64 from_ns; /* begin of the image, or of the file that is written */
		struct stream_usage highest; /* of the samples since one was told; ticks 0 = none */
		u64 told_ns;
		u64 rss_bytes; /* of the last sample; the mailbox may be being filled */
		/* at the highest look: resident; at the widest: that less live */
		u64 looked_bytes, looked_gap;
		/* when the next look may be; when it is due whatever was seen */
		u64 look_ns, look_again_ns;
		u64 cpu_base_ns; /* that images before this one had */
		u64 marks;       /* looked at, or not for want of time */
	} sampling;
	u32 images;            /* begun so far */
	u32 next_number;       /* of the next image in its file */
	u32 recordings;        /* begun so far: images, and images that were begun again */
	bool summary;          /* the trace has no events: the tap adds them up */
	const struct tap *tap; /* who listens, beside the trace; NULL = nobody */
	/* of the sink below: the trace's, and the tap's if there is one */
	struct tap_tee tee;
	struct join_hub *joins;         /* the tap, once a tool has joined */
	struct rotation *rotation;      /* NULL = one file */
	struct rotation_options rotate; /* before the start */
	/* files so far beyond the first; when the present one began */
	u64 rotated, rotated_ns;
	char first_path[4096];
	struct stream_sink sink;
	enum runtime runtime; /* of the last image */
	/* of the last image: what the library of a runtime said of itself */
	char runtime_says[256];
	bool python_malloc;          /* PYTHONMALLOC was set for the last image */
	char program[4096];          /* executable of the last image */
	struct stream_totals totals; /* of the last image that ended */
	bool plain_accesses;         /* of the last image; see image.h */
	bool routines;               /* some were told */
	bool routine_stacks;         /* stacks were made of them */
	u64 ended_events;            /* of images that ended */
	u64 ended_bytes;             /* of traces that ended */
	bool ended_unseen;           /* its last image ended in another way than programs do */
	bool gone_seen;              /* `gone` as this cycle found it */
	u32 doing;                   /* see process_recording.c */
	u32 doing_image;             /* `images` when it began */
	bool for_program;            /* the program waits for it, else whoever asked */
	u32 for_ask;                 /* enum ask_what; ASK_COUNT = nobody did */
	struct dump dump;
	/* when the program's callback was called for; 0 = it is not due */
	u64 snapshot_ns;
	u32 finished;     /* released: everything is told, the trace may be closed */
	struct err error; /* first failure; code 0 = none */
};

/* What a process is when /proc does not tell. */
struct process_fallback {
	const char *program;
	char *const *argv;
};

struct process *process_new(u32 pid, u32 parent_pid);

/* The one that came after; any thread. Acquire: pairs with the drain thread's release. */
static inline struct process *process_next(const struct process *self)
{
	return load_acquire(&self->next);
}

/* Closes nothing: the writer belongs to the waiting thread. */
void process_free(struct process *self, struct berths *berths);

/* Drain thread: one more image of this process has claimed a berth. */
int process_add_berth(struct process *self, const struct berth *berth, struct err *err);

/* Drain thread: reads and tells what is new. `gone` as it was before berths were last looked for.
 * Returns the number of records. */
u64 process_cycle(struct process *self, struct berths *berths,
		  const struct process_fallback *fallback, u64 elapsed_ns, bool gone);

/* Drain thread: whether the process is gone and nothing of it is left to tell. */
bool process_is_done(const struct process *self);

/* Drain thread: tells a pair of clock readings, and makes what was told durable. */
void process_tick(struct process *self);

/* Drain thread: tells the end of the image's recording; the image itself stays. */
void process_end_recording(struct process *self, u32 how, i32 value);

/* The file that is being written, "" if none. From any thread. */
void process_get_path(struct process *self, char path[4096]);
void process_set_path(struct process *self, const char *path);

/* Drain thread: whether somebody waits for this, and the answer, 0 or an errno. */
bool is_asked(const struct process *self, enum ask_what what);
void ask_finish(struct process *self, enum ask_what what, int failure);

/* Whether a process runs as the user that we are: a program that has given up its rights may not
 * have files written with ours. */
bool process_is_our_user(u32 pid);

/* Both clocks at this moment. */
struct stream_clock clock_now(void);

/* Makes the thread that is in waiting_thread_run look at once. */
void waiting_thread_wake(void);

/* Drain thread: samples of memory. Begins anew, with an image that an exec made at exec_ns, or (0)
 * with a file; looks into the mailbox; tells what is left, and adds the CPU time to the end. */
void process_usage_begin(struct process *self, u64 exec_ns);
void process_usage_cycle(struct process *self, const struct berths *berths);
void process_usage_finish(struct process *self, struct stream_image_end *end);

/* Drain thread: tells where the image's memory is; why: enum memory_why. */
void process_look(struct process *self, const struct berths *berths, u32 why);

/* For process.c and process_scan.c. The second does the drain thread's part in a scan; true
 * while the image's rings must be left alone. The third says why an image that ends was not
 * scanned. */
void process_fail(struct process *self, const struct err *err);

/* Drain thread: the sink of a recording, and of whoever listens. */
void process_set_sink(struct process *self, const struct stream_sink *trace);
bool process_scan_cycle(struct process *self, struct berths *berths);

/* Drain thread: scans with pointers while the program runs. Whether one is due now, if it is
 * possible at all; what it cost; how many were left out of the recording that ends. */
bool process_owners_due(struct process *self, const struct berths_options *options, bool possible);
void process_owners_done(struct process *self, u64 stopped_ns, u64 pointers);
void process_owners_explain(struct process *self);
/* Drain thread: a mark that asked for a scan has had it, or will not: the program goes on. */
void process_mark_scanned(struct process *self);

void process_scan_explain(struct process *self, const struct stream_image_end *end);

/* Drain thread: what a recording does beside growing. It is saved, ends, begins again in another
 * file, pauses, goes on, has a snapshot taken. The program asks for that through its control page,
 * others through struct ask. Opening and closing files is left to the waiting thread
 * (process.turn). Looks at what was asked for, and goes on with what is being done: */
void process_recording_cycle(struct process *self, const struct berths_options *options);
/* Whether nothing is being done, so that the process may be retired. */
bool process_is_settled(const struct process *self);
/* Pauses or resumes all images of the process, with a mark. */
void process_set_paused(struct process *self, bool paused);

/* Drain thread: whether a scan, or a recorder that is about to end, waits for the next cycle. */
bool process_pressed(const struct process *self);

u64 process_events(const struct process *self);
u64 process_trace_bytes(const struct process *self);
u64 process_live_bytes(const struct process *self);

/* Appends argv as a shell would take it. */
void process_quote(struct strbuf *text, const char *argument);

/* Waiting thread: fills the mailbox if a sample is due and it is empty; two samples are `least_ns`
 * apart or more. Returns when the next one is due. */
u64 process_sample_usage(struct process *self, u64 now_ns, u64 least_ns);

/* Waiting thread: reads the CPU time of the process: while it is there, and (a zombie is) when it
 * has ended. */
void process_see_cpu(struct process *self);
void process_see_cpu_end(struct process *self);

/* Waiting thread: whether a process that is not our child still runs; sets gone if not. */
bool process_watch(struct process *self);

void process_set_gone(struct process *self, u32 how, i32 value);

#endif
