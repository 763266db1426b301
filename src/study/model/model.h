/* SPDX-License-Identifier: MIT
 * The heap of one program image as columns: chunks, calling contexts, allocation points,
 * threads, the timeline. A model is a sink of the stream, so a file that is read and a program
 * that is watched fill it alike.
 *
 *	struct model *model = model_new();
 *	if (!model || model_load(model, path, &options, &err) < 0) ...
 *	for (u32 i = 0; i < model->points.count; i++)
 *		use(&model->points.data[i]);
 *	model_free(model);
 *
 * Counts of chunks and calls are kept in units of 1 << count_shift: 1 in a full recording,
 * 1/1024 in a sampled one, where each chunk stands for 1 / (1 - exp(-size / interval))
 * allocations of its size. model_count turns such a sum into a number. Sums of bytes are plain
 * (estimated) bytes. */
#ifndef STUDY_MODEL_MODEL_H
#define STUDY_MODEL_MODEL_H

#include "host/base/arena.h"
#include "format/atomics.h"
#include "format/session.h"
#include "study/model/accesses.h"
#include "study/model/chunks.h"
#include "study/model/clock.h"
#include "study/model/contexts.h"
#include "study/model/misfits.h"
#include "study/model/patterns.h"
#include "study/model/rows.h"
#include "study/model/stored.h"
#include "study/model/timeline.h"
#include "study/model/types.h"
#include "host/trace/reader.h"

struct point_id {
	u32 index;
};

/* Sums over chunks whose accesses were measured, each counted once whatever it stands for in a
 * sampled recording. */
struct access_sums {
	u64 chunks, bytes; /* that were measured */
	u64 reads, writes;
	u64 read_bytes, written_bytes;
	u64 accessed_chunks;
	u64 never_chunks, never_bytes;         /* neither read nor written */
	u64 unread_chunks, unread_bytes;       /* written, never read */
	u64 unwritten_chunks, unwritten_bytes; /* read, never written */
	u64 covered_bytes,
		covered_of_bytes; /* distinct bytes accessed, of chunks where that is known */
	u64 shared_chunks, saturated_chunks, estimated_chunks, lower_bound_chunks;
	/* Of the estimated ones, reads and writes: those that were not seen; sums in the stretch of
	 * time that goes on, and of squares of such sums; stretches in which samples were seen. */
	u64 unseen[2], stretch_sum[2], stretch, stretch_hit, stretches;
	double stretch_squares[2];
};

/* Classes of mprof: up to 32, 256 and 2,048 bytes, and more. */
enum { MODEL_SIZE_CLASSES = 4 };

static inline u32 model_size_class(u64 size) { return (size > 32) + (size > 256) + (size > 2048); }

/* An allocation point: a call stack that allocates. "…chunks" are counts, see above. */
struct model_point {
	u64 allocations, bytes;
	u64 frees, freed_bytes;
	u64 live_bytes, live_chunks; /* now; at the end of the load: what was not freed */
	u64 peak_bytes, peak_chunks; /* of this point alone, chunks at that moment */
	u64 peak_ticks;
	u64 at_peak_bytes, at_peak_chunks;   /* live at the moment of the program's peak */
	u64 temporary, temporary_bytes;      /* freed before any further allocation of the thread */
	u64 peak_number;                     /* of the program's peak that at_peak_… belongs to */
	u64 class_bytes[MODEL_SIZE_CLASSES]; /* of the bytes, and of those that are live */
	u64 class_live[MODEL_SIZE_CLASSES];
	struct access_sums access;
	u32 map;               /* number + 1 in the model's maps, 0 = none */
	struct frame_id frame; /* innermost frame; the root if the stack is unknown */
	u8 kind;               /* enum hw_kind of its first allocation */
};

struct model_thread {
	u32 tid;
	u32 made; /* allocations so far, wraps; see struct chunk_page.others */
	u64 start_ticks;
	u64 allocations, bytes, frees;
	char name[16];
	bool told;
};

struct model_mark {
	u64 ticks;
	u64 number;
	u32 kind;                    /* enum hw_mark */
	const char *name;            /* "" = none */
	u64 live_bytes, live_chunks; /* at this moment; chunks are a count, see above */
};

/* What was live at a snapshot: rows [first, first + count) of snapshot_points. */
struct model_snapshot {
	u64 mark; /* index */
	u64 first, count;
};

struct model_snapshot_point {
	struct point_id point;
	u64 live_bytes, live_chunks;
};

struct model_totals { /* counts in units, see above */
	u64 allocations, bytes;
	u64 frees, freed_bytes;      /* of chunks that are known, implied ones included */
	u64 live_bytes, live_chunks; /* now; at the end of the load: kept, or given up by exec */
	u64 peak_bytes, peak_chunks, peak_ticks;
	u64 peak_number; /* how often a new peak was reached */
	u64 temporary, temporary_bytes;
};

/* Chunks of one requested size. Of the large ones each size has its own sums until there are too
 * many; the others of a power of 2 are together, under that. */
enum { MODEL_SIZES_EXACT = 1024 };
struct model_size {
	u64 size;
	u64 units, bytes;
	u64 live_units, live_bytes;
};

/* Chunks of a point and a size of which the same was told: numbers of kinds, see types.h. */
struct model_told {
	u32 point;
	struct type_cell cell;
	u64 size;
	u64 chunks;
};

struct model_note {
	const char *key, *value;
};

/* The last scan that was done, or else that was told; see struct stream_scan. */
struct model_scan {
	u64 ticks;
	u32 state;          /* enum scan_state */
	const char *reason; /* the model's own; "" when done, unless a later one failed */
	u64 roots_bytes, chunks, scan_ns;
	u64 class_chunks[CLASS_COUNT], class_bytes[CLASS_COUNT];
};

/* Timed calls by how long they took, two bins for each power of 2; the last one has all that is
 * longer. */
enum { DURATION_BINS = 80, DURATION_CALLS_MIN = 20 /* fewer are too few to say */ };

struct duration_bin {
	u64 calls, ticks;
	/* what the calls stand for: themselves, or more in a run that samples; and the sum of the
	 * squares of that; both in 1/1024 */
	u64 weight, squares;
};

/* The latest event of a block, in a run that samples: a timed call stands for as much as it. */
enum { MODEL_LATEST = 64 };
struct model_latest {
	u64 address, size;
};

/* Where memory was at one moment: rows [first, first + count) of residents; and blocks in caches of
 * threads: rows [cached_first, cached_first + cached_count) of cached. */
struct model_memory {
	u64 ticks;
	u64 rss_bytes, high_bytes, huge_bytes, libc_huge_bytes;
	u64 first, count;
	u32 moment; /* enum memory_when */
	u32 why;    /* enum memory_why; 0 in indexes of earlier versions */
	u64 cached_first, cached_count;
	u32 caches_read, caches_unread; /* threads; both 0 = nobody has looked */
};

/* Told of chunks, with their columns, while a stream fills the model. Negative codes end it. */
struct model_follower {
	void *self;
	int (*begin)(void *self, struct err *err); /* an image */
	/* Before the first event that is later than model.wake_ticks, and at the end; sets
	 * wake_ticks anew. */
	int (*time)(void *self, u64 ticks, struct err *err);
	int (*born)(void *self, const struct chunk_page *page, u32 k, u64 number, struct err *err);
	/* At the end for those that live on, too. */
	int (*ended)(void *self, const struct chunk_page *page, u32 k, u64 number, struct err *err);
};

/* A chunk that has ended, and its row. */
struct model_ended {
	u64 chunk;
	u32 row;
};

struct model {
	/* what was told */
	struct stream_image image; /* strings are the model's own */
	bool has_image;
	bool has_end; /* false: the trace breaks off */
	struct stream_image_end end;
	u64 last_ticks; /* latest time of any event, or of the end */

	struct chunk_table chunks;
	struct access_table accesses;
	bool has_access; /* accesses were recorded (image.access says how), or some are here */
	struct access_sums access; /* of all chunks */
	struct type_table type_table;
	VEC(struct model_told) told; /* when finished; by point and size */
	VEC(const char *) types;     /* names of types, each once */
	struct context_table contexts;
	VEC(struct model_point) points;
	VEC(struct model_size) sizes;  /* the first ones by size, then others in no order */
	struct map size_numbers;       /* of these: index + 1 */
	VEC(struct point_map) maps;    /* of points with measured coverage */
	struct pattern_table patterns; /* of their chunks */
	VEC(struct model_thread) threads;
	VEC(struct stream_usage) usage;
	VEC(struct model_memory) memory; /* in the order of telling */
	VEC(struct stream_resident) residents;
	VEC(struct stream_cached) cached;
	VEC(struct model_mark) marks;
	VEC(const char *) names; /* of marks, by number; NULL = not told */
	VEC(struct model_snapshot) snapshots;
	VEC(struct model_snapshot_point) snapshot_points;
	u64 snapshots_without_points; /* there were too many */
	u64 pauses;                   /* marks of a pause or its end */
	VEC(struct model_note) notes;
	struct misfits misfits;
	struct model_scan scan;
	VEC(struct stream_graph) graphs; /* pointers by scans, the newest last; see graphs.h */
	struct tick_clock clock;
	struct timeline timeline;
	struct model_totals totals;

	u64 kinds[HW_KIND_COUNT];  /* events of each kind, counted in units where they allocate */
	u64 realloc_frees_alone;   /* realloc(p, 0) that freed: no REALLOC follows */
	u64 failed[HW_KIND_COUNT]; /* failed calls, by kind of the call */
	u64 duration_calls[HW_KIND_COUNT]; /* sampled durations, by kind of the call */
	u64 duration_ticks[HW_KIND_COUNT];
	struct duration_bin duration_bins[HW_KIND_COUNT][DURATION_BINS];
	struct model_latest latest[MODEL_LATEST]; /* by address */
	u64 mapped_bytes, unmapped_bytes;         /* with --mmap */
	u64 unknown_frees, implied_frees;
	u64 lost_events; /* told by LOST events */
	u64 events;
	u64 strange_events;   /* named what cannot be: skipped */
	u64 strange_accesses; /* the same of accesses */
	u64 strange_types;    /* and of types */
	u32 count_shift;
	u64 recorded_allocations, recorded_bytes, recorded_frees; /* without weights */

	/* --max-size: sums that stand for events which were not written */
	bool aggregated;
	u64 aggregated_allocations, aggregated_frees;

	/* inside */
	VEC(u32) context_points;  /* by context id: point + 1 */
	VEC(u32) frame_points;    /* by frame index: point + 1 */
	struct map types_by_name; /* hash of a name: index of types + 1 */
	struct arena arena;
	bool finished;
	/* where the columns lie, see study/model/index.h; NULL = in memory */
	struct column_store *store;

	/* of a model that was opened by its index */
	struct stored stored[STORED_KINDS];
	struct event_order order;
	struct chunks_by_point by_point;
	/* of which this is a part, see study/model/narrow.h; NULL = of none */
	const struct model *whole;

	const struct model_follower *follower; /* NULL = none */
	u64 wake_ticks;
	/* live bytes at rows of usage and memory; as many as those if somebody followed */
	VEC(u64) usage_live;
	VEC(u64) memory_live;
	bool live_late; /* some rows came so late that this is only a lower bound */
	/* Chunks that have ended are forgotten: chunks has those that live, at rows of their own,
	 * and the sums stand for all. */
	bool forgets;
	struct row_table rows;
	VEC(struct model_ended) ended; /* the latest, a ring */
	u64 next_ended;
	VEC(u32) free_rows;      /* of those before */
	struct map told_numbers; /* of told: hash → index + 1 */
	u32 wants_chunks;        /* somebody asked for what is forgotten, see model_lacks_chunks */
};

struct model *model_new(void);
void model_free(struct model *self);

/* Empty again, as after model_new. */
void model_reset(struct model *self);

/* The columns of an empty model will lie there; it takes the store over. */
void model_use_store(struct model *self, struct column_store *store);

/* As chunk_table_release_range, for all columns; and as chunk_table_pass. */
void model_release_range(const struct model *self, u64 first, u64 end);
static inline void model_pass(const struct model *self, u64 chunk)
{
	if (unlikely(chunk % CHUNK_STRIDE == 0 && chunk && self->store))
		model_release_range(self, chunk - CHUNK_STRIDE, chunk);
}

/* For whoever answers one question after the other and looks at chunks here and there: lets go of
 * what has gathered. Costs nearly nothing when there is nothing to let go of. */
static inline void model_rest(const struct model *self)
{
	if (self->store)
		column_store_rest(self->store);
}

/* Of an empty model: from now on it has a follower. If it forgets what has ended, only its sums may
 * be asked, and chunks that are kept. */
void model_follow(struct model *self, const struct model_follower *follower, bool forgets);

/* For who would have to ask all chunks. True if they are forgotten: then what comes out is to be
 * thrown away, and asked of a model that has them. */
static inline bool model_lacks_chunks(const struct model *self)
{
	if (likely(!self->forgets))
		return false;
	store_relaxed((u32 *)&self->wants_chunks, 1);
	return true;
}

/* The sums of sizes, smallest first, without those that never were; NULL without memory. */
struct model_size *model_sizes_sorted(const struct model *self, u64 *count);

/* The sink to feed. A further image replaces what is there. */
struct stream_sink model_sink(struct model *self);

/* Settles what only the end can tell: kept chunks, shares at the peak. The image's end calls it;
 * for a stream that breaks off the caller must. ERR_MEMORY if types are not summed up. */
int model_finish(struct model *self);

/* Reads a trace that is open, all but graphs and the names of types, and finishes. has_image tells
 * whether there was anything. */
int model_read(struct model *self, struct trace_reader *reader,
	       const struct trace_read_options *options, struct err *err);

/* Adds the names of types that the file has. */
int model_load_type_names(struct model *self, const char *path, struct err *err);

/* Does both, and fills *info (may be NULL) with what was wrong with the file. A
 * damaged file of which something was readable is no error. */
int model_load(struct model *self, const char *path, const struct trace_read_options *options,
	       struct trace_info *info, struct err *err);

static inline u64 model_count(const struct model *self, u64 units)
{
	return self->count_shift ? (units + (1ull << (self->count_shift - 1))) >> self->count_shift
				 : units;
}

/* Chunks are objects of a language whose collector frees them: what lives on at the end was not
 * collected yet. */
static inline bool model_is_collected(const struct model *self)
{
	return self->has_image && self->image.flags & HW_RUN_LISP;
}

/* Whether nothing of what was live at the end is kept by the program: it was given up, or left to a
 * collector. */
static inline bool model_keeps_nothing(const struct model *self)
{
	return (self->has_end && self->end.how == IMAGE_EXEC) || model_is_collected(self);
}

struct model_peak {
	u64 bytes, chunks, ticks;
};

/* The highest moment of the run. Sums and chunks at the peak are those of totals, which has no
 * moment after the switch to sums: the monitor saw that one. */
static inline struct model_peak model_peak(const struct model *self)
{
	const struct model_totals *seen = &self->totals;
	const struct stream_totals *told = &self->end.totals;

	if (self->aggregated && self->has_end && !self->count_shift && !self->whole &&
	    told->peak_bytes > seen->peak_bytes)
		return (struct model_peak){told->peak_bytes, told->peak_chunks, told->peak_ticks};
	return (struct model_peak){seen->peak_bytes, model_count(self, seen->peak_chunks),
				   seen->peak_ticks};
}

/* Chunks that ended, and frees of unknown blocks. */
static inline u64 model_frees(const struct model *self)
{
	return model_count(self, self->totals.frees) + self->unknown_frees;
}

/* The trace has sums only. */
static inline bool model_is_summary(const struct model *self)
{
	return self->image.flags & HW_RUN_SUMMARY;
}

/* What a chunk of this size stands for, in units and bytes. */
void model_weigh(const struct model *self, u64 size, u64 *units, u64 *bytes);

/* The point of an allocating context that was seen. */
static inline struct point_id model_point_of(const struct model *self, u32 context)
{
	u32 known = context < self->context_points.count ? self->context_points.data[context] : 0;

	return (struct point_id){known ? known - 1 : 0};
}

/* enum chunk_class of a chunk by the last scan; CLASS_UNKNOWN for any other number. */
u8 model_chunk_class(const struct model *self, u64 chunk);

/* What is known of the accesses to a chunk; false if they were not measured. */
bool model_chunk_access(const struct model *self, u64 chunk, struct chunk_access *access);

/* Which bytes of the point's chunks were accessed; NULL if it is not known, see struct
 * point_map. */
const struct point_map *model_point_map(const struct model *self, struct point_id point);

/* The type of what is in a chunk, as the program or, if that said nothing, the object itself told
 * it; false if neither did. Whoever has other sources asks here first. */
bool model_chunk_type(const struct model *self, u64 chunk, struct chunk_type *type);
/* The same of chunks with this cell, which may be NULL. */
bool model_cell_type(const struct model *self, const struct type_cell *cell,
		     struct chunk_type *type);

/* Gives an identity of the types that were told its name, as model_load does with those of the
 * file. */
int model_name_type(struct model *self, u64 identity, const char *name, struct err *err);

/* Successful calls by the call column of HW_KINDS ("malloc", "free" …), in numbers. */
u64 model_calls(const struct model *self, const char *call);

/* Estimated time inside the real allocator; 0 if too few calls were timed. study/model/durations.h
 * knows more. */
u64 model_allocator_ns(const struct model *self);

/* The innermost frame of any context, also one that only frees. Places are found when they are
 * first asked for, so this may change the inside of the model, and nothing that is seen of it. */
int model_place(const struct model *self, u32 context, struct frame_id *frame, struct err *err);

u64 model_duration_ns(const struct model *self);

/* What the monitor noted under this key; "" = nothing. */
const char *model_note(const struct model *self, const char *key);

/* In which a sum of reads, or of writes, is with 95 % confidence: docs/METHODS.md, "Adaptive
 * recording". high: NAN = not known. */
struct access_interval {
	double low, high;
};
struct access_interval access_interval(const struct access_sums *self, bool writes);

#endif
