/* SPDX-License-Identifier: MIT
 * The ranked list on which a developer acts: what, where, how much it costs, how sure that is, and
 * the usual repair. Defined in docs/METHODS.md, "Findings". */
#ifndef STUDY_ANALYSIS_FINDINGS_FINDINGS_H
#define STUDY_ANALYSIS_FINDINGS_FINDINGS_H

#include "study/analysis/memoro/inferences.h"
#include "study/analysis/leaks/report.h"
#include "study/analysis/places/place.h"
#include "study/model/graphs.h"

enum finding_kind {
	FINDING_MISUSE,
	FINDING_LEAK, /* lost, or possibly */
	FINDING_KEPT, /* reachable until the end, or unknown */
	FINDING_GROWTH,
	FINDING_GROWS_IN, /* a container has more elements from scan to scan */
	FINDING_TWICE,    /* chunks have the same bytes as others */
	FINDING_UNUSED,
	FINDING_WRITE_ONLY,
	FINDING_READ_ONLY,
	FINDING_COVERAGE,
	FINDING_EARLY,
	FINDING_LATE,
	FINDING_CHURN,
	FINDING_GROWING,
	FINDING_ZERO_SIZE,
	FINDING_PEAK,  /* most of the program's peak is allocated at one place */
	FINDING_BURST, /* the same, but only for a small part of the run */
	/* resident memory stays far above what is live: */
	FINDING_PINNED,         /* blocks of few points hold pages that are nearly free */
	FINDING_LEFT_BEHIND,    /* the same, and no few points hold most of them */
	FINDING_NOT_GIVEN_BACK, /* free pages that the allocator keeps */
	FINDING_ARENAS,         /* either, in many arenas of threads */
	FINDING_KINDS
};

const char *finding_kind_name(enum finding_kind kind);

/* What a repair would save, in the unit of its cost. */
enum saving_unit {
	SAVING_NONE,        /* an error: it is not a matter of cost */
	SAVING_BYTES_PER_S, /* of growth; its share is that of the growth in the peak */
	SAVING_PEAK_BYTES,  /* at the program's peak */
	SAVING_MEAN_BYTES,  /* on average over the run */
	SAVING_RESIDENT_BYTES,
	SAVING_CPU_NS,
	SAVING_UNITS
};

struct saving {
	u32 unit; /* enum saving_unit */
	double amount;
	/* of the peak, the mean live bytes, resident memory at its highest, or the run's CPU
	 * time */
	double share;
};

const char *saving_unit_name(u32 unit);

enum finding_level { LEVEL_MINOR, LEVEL_LOOK, LEVEL_COSTLY, LEVELS };

/* "minor", "worth a look", "costly" */
const char *finding_level_name(u32 level);

struct finding;
/* The place of a finding: an arena is its place whoever fills it, and a library's entry whatever it
 * does inside. */
struct finding_place finding_place_of(const struct stack_source *source,
				      const struct finding *finding);

/* One kind of thing at one place: the sums over all points whose stacks end there. */
struct finding {
	char id[40]; /* the same in each run that does the same */
	enum finding_kind kind;
	enum confidence confidence;
	struct frame_id frame; /* of the stack that costs most */
	u32 points;
	u32 level;                    /* enum finding_level */
	struct saving saving;         /* the largest share of: */
	double amounts[SAVING_UNITS]; /* by unit; of growth the bytes at the peak */
	double byte_ticks;
	u64 allocations; /* in units of the model */
	/* evidence */
	u64 chunks, of_chunks; /* in units */
	u64 bytes, of_bytes;
	double ticks;     /* sum of lives, or of idle times, of timed_chunks */
	u64 timed_chunks; /* in units */
	double covered_bytes;
	struct point_map map; /* of coverage: which bytes; size 0 = not known */
	u64 min_size, max_size;
	struct {
		u64 size;      /* 0 = sizes differ */
		double used;   /* bytes of one chunk that were accessed, on average */
		u64 of_chunks; /* in units */
	} costliest;           /* coverage: chunks of the stack that costs most */
	struct growth_run growth;
	u64 growth_runs;
	double bytes_per_s; /* of growth and of leaks that grow; 0 = the run was too short to say */
	/* leak: indirectly lost, and only chunks of this place can lead to them */
	u64 led_bytes;
	/* peak, burst: part of the run for which at least half of the bytes were live */
	double held;
	/* peak, burst: live at the end of the run; resident: live all the while */
	u64 left_bytes;
	u64 resident_bytes; /* resident: at its highest, without the recorder */
	struct {
		u64 least_bytes; /* pinned: what is saved for sure */
		u64 free_bytes;  /* arenas: in them */
		u64 burst_place; /* pinned: whose freed blocks made most of the pages */
		u64 live_bytes;  /* pinned: of the few */
		double here;     /* others: part of the free ones that was last used from here */
		u32 count;       /* points that hold the pages, or arenas; 0 = nobody looked */
		u32 repair;      /* enum bill_repair */
		char names[96];  /* pinned: functions of the few */
	} stays;                 /* kinds that stay resident */
	u64 lasted_ns;           /* resident; grows_in: between the scans */
	bool temporary;
	bool short_run; /* growth, leak: the run says nothing of how it would go on */
	bool of_type;   /* peak: of a type, or of blocks of one size, at several places */
	/* peak: of what a library allocates below one function of it that the program calls, which
	 * is the place */
	bool of_entry;
	/* peak: of one call that gets blocks of whole KiB for many callers, which is the place */
	bool of_arena;
	u8 chunk_class; /* of a leak: enum chunk_class */
	u8 misuse;      /* enum misuse_what */
	/* grows_in: "Registry::sessions", the root that it belongs to, and what its elements are;
	 * "" = not that */
	struct {
		char container[96], root[96], element[96];
	} grows;
	u64 different;     /* twice: contents, counted for each stack */
	double own_weight; /* of the stack that costs most, by which it is chosen */
	u64 place;         /* finding_place_hash, without a seed */
	u64 key;
};

struct findings_query {
	struct thresholds thresholds;
	double min_share; /* findings that would save less are not listed; errors are */
	bool all;         /* list everything, however little it would save */
	/* where the pointers of scans are, for what grows in a container or is in memory twice; no
	 * path = nowhere */
	struct graphs_source pointers;
};

struct findings {                 /* all zero = empty */
	VEC(struct finding) rows; /* what a developer would want to know first is first */
	u64 below;                /* findings that would save too little */
	bool from_accesses;       /* some of them rest on recorded accesses */
	bool untimed;             /* too few calls were timed to know what one costs */
	/* the model has forgotten chunks, and more would be found with them */
	bool wants_chunks;
};

#define FINDINGS_MIN_SHARE 0.01

/* leaks: what leak_report_make found. */
int findings_find(struct findings *self, const struct stack_source *source,
		  const struct leak_report *leaks, const struct findings_query *query,
		  struct err *err);
void findings_release(struct findings *self);

/* The same with the leaks found first, less what the built-in suppressions hide. */
int findings_make(struct findings *self, const struct stack_source *source,
		  const struct trace_info *info, const struct findings_query *query,
		  struct err *err);

/* Kinds that say only whose the peak is. */
static inline bool finding_holds_peak(const struct finding *finding)
{
	return finding->kind == FINDING_PEAK || finding->kind == FINDING_BURST;
}

/* Kinds that say why resident memory stays far above what is live. */
static inline bool finding_stays(const struct finding *finding)
{
	return finding->kind >= FINDING_PINNED && finding->kind <= FINDING_ARENAS;
}

/* In words: what was seen ("Only 1 of 512 bytes is ever used"), the usual repair ("allocate what is
 * needed"), both as one sentence, what the repair would save ("3.1 MiB, 35 % of the peak", nothing
 * of an error), and where ("parse (parse.c:12), called by main (main.c:3)"). They live as long as
 * result; NULL (and result failed) if there is no memory. */
const char *finding_seen(const struct finding *finding, const struct model *model,
			 struct result *result);
const char *finding_repair(const struct finding *finding);
const char *finding_text(const struct finding *finding, const struct model *model,
			 struct result *result);
const char *finding_saves(const struct finding *finding, struct result *result);
const char *finding_where(const struct finding *finding, const struct stack_source *source,
			  struct result *result);

struct findings_show {
	u64 top;     /* rows, 0 = all */
	bool stacks; /* in text */
};

/* A record named "summary" with what the whole run costs, and the table as its part. */
struct result *findings_report(const struct findings *self, const struct stack_source *source,
			       const struct trace_info *info, const struct findings_show *show,
			       struct err *err);

/* A table named "findings"; NULL and err on failure. */
struct result *findings_result(const struct findings *self, const struct stack_source *source,
			       const struct findings_show *show, struct err *err);

#endif
