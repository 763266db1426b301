/* SPDX-License-Identifier: MIT
 * Resident memory over time beside what was live, and how far above it stayed.
 *
 *	struct resident_series series = {0};
 *	struct resident_gap gap;
 *
 *	if (resident_series_make(&series, model, &err) < 0 ||
 *	    resident_gap_find(&gap, model, &series, resident_lasting_ns(model), &err) < 0)
 *		...
 *	if (gap.bytes)
 *		use(gap.bytes, gap.live_bytes, gap.to_ns - gap.from_ns);
 *	resident_series_release(&series); */
#ifndef STUDY_ANALYSIS_RESIDENT_SERIES_H
#define STUDY_ANALYSIS_RESIDENT_SERIES_H

#include "study/analysis/resident/resident.h"
#include "study/result/result.h"

struct resident_point {
	u64 ticks;
	u64 rss_bytes;      /* what the kernel said, the recorder's share included */
	u64 recorder_bytes; /* that share, by the last look that knows it; 0 = none does */
	u64 live_bytes;     /* requested by blocks that were live then */
};

struct resident_series {                   /* all zero = empty */
	VEC(struct resident_point) points; /* by time: samples and looks */
	/* the most that was ever resident: the highest point, or the kernel's own mark */
	u64 peak_bytes;
	u64 seen_bytes, seen_ticks; /* the highest point */
};

/* One pass over the chunks. 0 or ERR_MEMORY. */
int resident_series_make(struct resident_series *self, const struct model *model, struct err *err);
void resident_series_release(struct resident_series *self);

/* What was resident and neither live nor the recorder's: free memory, code, stacks,
 * mappings. */
static inline u64 resident_point_gap(const struct resident_point *point)
{
	u64 known = point->recorder_bytes + point->live_bytes;

	return point->rss_bytes > known ? point->rss_bytes - known : 0;
}

/* The last point at or before the ticks; NULL if there is none. */
const struct resident_point *resident_series_at(const struct resident_series *self, u64 ticks);

/* The largest gap that lasted. */
struct resident_gap {
	/* at least so much was there all the time; 0 = none lasted, and nothing else is set */
	u64 bytes;
	/* from the first to the last point that shows it (but for a tenth of it) */
	u64 from_ns, to_ns;
	bool to_end; /* no later point shows less */
	u64 at_ns;   /* when, of that time, it was smallest: */
	u64 rss_bytes, recorder_bytes, live_bytes;
	/* What it consisted of, at the look with the widest gap of that time; NULL = nobody looked
	 * at it. */
	const struct model_memory *memory;
	struct resident_account account;
};

/* How long a gap stays for it to be worth a word: a tenth of the run, 100 ms at least. */
u64 resident_lasting_ns(const struct model *model);

/* The largest gap that was there for `least_ns` at a stretch. May pass over the chunks. 0 or
 * ERR_MEMORY. */
int resident_gap_find(struct resident_gap *self, const struct model *model,
		      const struct resident_series *series, u64 least_ns, struct err *err);

/* The sums of an account by cause, for a sentence. */
enum resident_cause {
	CAUSE_ALLOCATOR, /* headers, rounding, pinned bytes, free pages that the allocator keeps */
	CAUSE_MAPPINGS,  /* anonymous memory that is not the allocator's, and mapped files */
	CAUSE_CODE,      /* program, libraries, stacks */
	CAUSES
};

u64 resident_cause_bytes(const struct resident_account *account, enum resident_cause cause);

/* ---- tables; NULL and err on failure ---- */

/* "memory": the parts when most was resident, while it stayed furthest above what was live, and at
 * the end; hidden in text if nothing is known. */
struct result *analyse_resident(const struct model *model, const struct resident_series *series,
				struct err *err);

/* "memory_drawn": some of the points, with bars; hidden in text if there are too few. */
struct result *analyse_resident_drawn(const struct model *model,
				      const struct resident_series *series, struct err *err);

/* "memory_over_time", hidden in text: each point. */
struct result *analyse_resident_over_time(const struct model *model,
					  const struct resident_series *series, struct err *err);

#endif
