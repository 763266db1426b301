/* SPDX-License-Identifier: MIT
 * One program image: reads its berth and tells a sink what happened. The rings of all threads are
 * merged by stamp (merge.c), contexts and threads are told before the events that name them
 * (image.c), modules as the log has them (modlog.c), frees find their chunks (correlate.c).
 * Runs on the drain thread. Everything in the berth could have been overwritten by the program:
 * numbers from there are checked before they are used. */
#ifndef LIVE_DRAIN_IMAGE_H
#define LIVE_DRAIN_IMAGE_H

#include "host/base/arena.h"
#include "host/base/strbuf.h"
#include "host/base/vec.h"
#include "live/drain/correlate.h"
#include "live/drain/berths.h"
#include "live/drain/tap.h"
#include "host/symbols/prepare.h"

enum { IMAGE_BATCH = 256 };

/* A ring as the monitor sees it. Counters are of records, as in struct hw_slot. */
enum { IMAGE_HOLDS = 16 };

struct ring_cursor {
	const struct hw_record *records;
	const u8 *marks; /* of these, see enum hw_record_mark */
	u64 mask;
	u64 tail;              /* next record to read */
	u64 published;         /* what slot->tail says: lags behind tail within a cycle */
	u64 seen;              /* head, when it was last read */
	u64 limit;             /* records before this one are processed in this cycle */
	u64 claimed;           /* what slot->claimed says */
	u64 held[IMAGE_HOLDS]; /* what limit was when image.holds were made */
};

struct access_gather; /* access.h */

struct type_begun { /* a HW_TYPE_FIRST whose count is to come; address 0 = none */
	u64 address, identity;
};

struct slot_cursor {
	struct ring_cursor ring, nested;
	struct type_begun types[2];    /* of ring and nested */
	struct access_gather *gathers; /* of ring and nested; NULL until there is an access */
	u32 thread;                    /* index of the owner, or NO_THREAD */
};

#define NO_THREAD UINT32_MAX

struct merge_source {
	u64 ticks; /* of its next record */
	u32 slot;
	bool nested;
};

/* An object to look into. */
struct image_look {
	u64 address, size;
	u32 birth; /* low half of the ticks */
	bool array;
	u32 site;       /* number that the recorder gave it, below HW_TYPE_SITES */
	u64 words[3];   /* its first ones, once read */
	u64 read_ticks; /* when they had been; 0 = not yet */
};

struct image_module {
	struct stream_module told;
	u32 prepared; /* its number there, or PREPARE_NO_MODULE */
};

struct image {
	struct berth berth;
	struct stream_sink sink;
	struct correlator *correlator;
	char *program, *command; /* owned */
	struct prepare *prepare; /* reads the modules' symbols ahead; may be NULL */
	bool prepares;           /* it wants more addresses */
	u32 number;
	VEC(struct slot_cursor) slots;
	VEC(struct merge_source) sources;    /* heap by ticks, during a cycle */
	VEC(struct stream_context) contexts; /* to be told before the next batch is fed */
	VEC(u32) path;                       /* scratch of context_tell */
	struct arena texts;                  /* of modules and codes */
	VEC(struct image_module) modules;
	VEC(struct stream_name) codes; /* functions that a runtime named */
	char runtime_says[256];        /* "" or what its library said of itself */
	VEC(struct image_look) looks;  /* those that were read come first */
	bool blind;                    /* the process cannot be looked into */
	VEC(struct hw_record) marks;   /* of the monitor's own, to be told */
	/* a bit per node; 0, which is none, counts as told */
	u64 *contexts_told;
	u64 names_told[HW_NAMES / 64];
	u64 faults_before[HW_FAULT_COUNT]; /* of an earlier recording of the same image */
	u32 answered;                      /* the program's requests that were answered */
	u64 saved_allocations;             /* when the last autosave was due */
	u32 threads;                       /* told so far */
	u32 batch_count;
	struct told_record batch[IMAGE_BATCH];
	u32 routine_count;
	struct stream_routine routines[IMAGE_BATCH]; /* to be told */
	u64 routines_unwritten; /* that came when the trace was not to grow any more */
	u64 margin_ticks;       /* stamps this close to now may still be overtaken */
	u64 active_ns;          /* time during which events came: what waiting is measured by */
	u64 damaged;            /* records and notes that made no sense */
	u64 damaged_accesses;   /* of those: parts of accesses */
	struct {
		u64 checked, heap; /* as hw_control has them, when this recording began */
	} access_before;
	bool has_plain_accesses; /* no module is instrumented, though accesses are recorded */
	bool has_routines; /* one came: from then on allocations and frees are told as steps, too */
	bool aggregating;  /* image_aggregate was called */
	u32 marked;        /* a mark came: enum memory_why; whoever looks then clears it */
	/* telling failed, `error` says why, or resting: what comes is thrown away */
	bool failed;
	bool resting; /* its end was told, the program runs on; image_restart may follow */
	struct err error;
	const struct tap *tap;    /* NULL = nobody listens */
	VEC(struct tap_hit) hits; /* of this cycle */
	u64 commands_given, commands_done;
	u64 clock_ns; /* all cycles so far */
	struct {
		u64 ns, cpu_ns, ticks; /* cpu: of the program */
	} holds[IMAGE_HOLDS];          /* with HW_RUN_LASTING: moments of late, see merge.c */
	u32 hold_newest;
	bool claims;              /* records may be marked until they are claimed */
	struct tap_unread unread; /* births that were marked, and so not read */
	u64 read_ticks;           /* what happened before this was read */
	u64 writes_read;
	bool scan_wanted; /* by the tap */
};

struct image_start {
	u32 number;
	u64 sample_bytes;
	u32 flags; /* HW_RUN_* */
	u32 stamp_shift;
	const char *program, *command;
	struct prepare *prepare; /* may be NULL */
	const struct tap *tap;   /* may be NULL */
	struct stream_clock at;  /* image_restart: when */
};

/* Takes over the berth, whose recorder has attached, and tells the image's beginning. */
struct image *image_new(const struct berth *berth, const struct image_start *start,
			const struct stream_sink *sink, struct err *err);

/* Frees all but the berth. */
void image_free(struct image *self);

/* Reads what was published. With `last` nobody writes any more, and everything is read. Returns the
 * number of records. Producers that wait for room are woken. Failures are kept in self->error. */
u64 image_cycle(struct image *self, u64 elapsed_ns, bool last);

/* Whether a ring is so full that its producer might have to wait soon. */
bool image_pressed(const struct image *self);

/* Events wait no longer for others, aggregates and totals are told. Call after a last cycle. */
int image_end(struct image *self, const struct stream_image_end *end, struct stream_totals *totals,
	      struct err *err);

/* After image_end, of an image that lives on: what comes is thrown away. */
void image_rest(struct image *self);

/* A new recording of an image that rests, for another sink: everything that its events will name is
 * told anew, and what was allocated before is unknown. */
int image_restart(struct image *self, const struct image_start *start,
		  const struct stream_sink *sink, struct err *err);

/* Tells a mark (enum hw_mark) of this moment at the next cycle, as if the program had made it. */
void image_mark(struct image *self, u32 mark);

/* Only totals per context from now on. */
void image_aggregate(struct image *self);

/* For image.c, image_access.c, image_routine.c, image_tap.c, image_type.c, merge.c and modlog.c. */
void image_fail(struct image *self, const struct err *err);
int image_feed(struct image *self, struct err *err);

/* When the oldest mark was made that is still to be told; UINT64_MAX if there is none, or no thread
 * yet that could have it. */
static inline u64 image_mark_ticks(const struct image *self)
{
	return self->marks.count && self->threads ? self->marks.data[0].ticks : UINT64_MAX;
}

/* Feeds the batch, and then the marks that were made up to a moment. */
int image_marks_feed(struct image *self, u64 until, struct err *err);
u64 merge_cycle(struct image *self, bool last, struct err *err);
/* Whether this system has the barrier that HW_RUN_LASTING needs. */
bool merge_can_claim(void);
int image_add_rare(struct image *self, u32 slot, bool nested, struct told_record *told,
		   struct err *err);

/* Where the next record is to be put, before image_add. */
static inline struct told_record *image_next(struct image *self)
{
	return &self->batch[self->batch_count];
}

static inline bool image_context_is_told(const struct image *self, u32 id)
{
	return self->contexts_told[id / 64] >> (id % 64) & 1;
}

/* Takes the record of a ring that is in image_next. */
static inline int image_add(struct image *self, u32 slot, bool nested, struct told_record *told,
			    struct err *err)
{
	u32 context = told->record.context;

	told->thread = self->slots.data[slot].thread;
	if (unlikely(nested || told->record.kind >= HW_THREAD || told->thread == NO_THREAD ||
		     self->has_routines || context >= self->berth.layout.nodes_max ||
		     !image_context_is_told(self, context)))
		return image_add_rare(self, slot, nested, told, err);
	return likely(++self->batch_count < IMAGE_BATCH) ? 0 : image_feed(self, err);
}

u32 image_access_mode(struct image *self); /* enum access_mode */
int image_note_accesses(struct image *self, struct err *err);
/* unless it is 0 */
int image_note_number(struct image *self, const char *key, u64 number, struct err *err);
void image_forget_accesses(struct image *self);

/* A part of a block's accesses. 1 = more are needed; 0 = the row was given to the correlator, and
 * the record is to be fed. */
int image_add_part(struct image *self, struct slot_cursor *slot, bool nested,
		   const struct hw_record *record, struct err *err);

/* A HW_ENTER or HW_LEAVE; 1 = it is not to be fed. And an allocation or a free, of an image that
 * has routines. */
int image_add_routine(struct image *self, u32 thread, const struct hw_record *record,
		      struct err *err);
int image_add_step(struct image *self, u32 thread, const struct hw_record *record, struct err *err);
int image_flush_routines(struct image *self, struct err *err);
int image_note_routines(struct image *self, struct err *err);
void image_forget_routines(struct image *self);

/* A record of a type. 1 = not to be fed (now); 0 = it is whole, its size the identity of the type,
 * its context the number of elements. */
int image_add_type(struct image *self, struct slot_cursor *slot, bool nested,
		   struct hw_record *record, struct err *err);

/* A wish to look into an object, kept until the end of the cycle. 1 = not to be fed. */
int image_add_look(struct image *self, const struct hw_record *record, struct err *err);
/* After a cycle that began at `ticks` (or the last one, UINT64_MAX): what was read before and is
 * still the same object is told, and what was wished for is read. */
int image_look(struct image *self, u64 ticks, struct err *err);
void image_forget_looks(struct image *self);
/* A HW_HIT record; 1 = not to be fed. And the end of a cycle of an image that somebody listens
 * to. */
int image_add_hit(struct image *self, const struct hw_record *record, struct err *err);
void image_tap_cycle(struct image *self, struct err *err);
/* if it was not told yet; below HW_NAMES */
int image_tell_name(struct image *self, u32 id, struct err *err);
int modlog_read(struct image *self, struct err *err);
/* Names of what was told are looked for ahead. */
void modlog_prepare(struct image *self, const struct stream_context *contexts, u64 count);
int modlog_tell_again(struct image *self, struct err *err); /* what was told of modules so far */
void modlog_release(struct image *self);

/* Appends what the image told of itself (HW_IMAGE_PROGRAM or HW_IMAGE_COMMAND), nothing if it did
 * not. */
void modlog_text(const struct berth *berth, u16 what, struct strbuf *text);

#endif
