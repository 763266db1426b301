/* SPDX-License-Identifier: MIT
 * Two recordings, or two moments of one, side by side: what is new, gone, grew or shrank, by stack,
 * function, type, file, module or thread. Defined in docs/METHODS.md, "Comparison".
 *
 *	struct comparison found = {0};
 *	struct compare_query query = COMPARE_DEFAULT;
 *	query.side[0].source = &old; query.side[1].source = &new;
 *	if (compare_find(&found, &query, err) == 0)
 *		result = compare_result(&found, err);
 *	comparison_release(&found);
 *
 * Side 0 is A, what was, and side 1 is B, what is. */
#ifndef STUDY_ANALYSIS_COMPARE_COMPARE_H
#define STUDY_ANALYSIS_COMPARE_COMPARE_H

#include "study/analysis/places/folds.h"
#include "study/analysis/places/stacks.h"
#include "study/analysis/typing/types.h"
#include "study/result/chart.h"
#include "host/symbols/names.h"

enum compare_by {
	COMPARE_BY_STACK,
	COMPARE_BY_FUNCTION,
	COMPARE_BY_TYPE,
	COMPARE_BY_FILE,
	COMPARE_BY_MODULE,
	COMPARE_BY_THREAD
};
#define COMPARE_BY_CHOICES "stack|function|type|file|module|thread"
bool compare_by_parse(const char *word, enum compare_by *by);
const char *compare_by_name(enum compare_by by);

/* Length of the part of a function's name that compilers do not change: less ".constprop.0",
 * ".isra.1" … */
size_t function_plain_length(const char *function);

enum compare_metric {
	COMPARE_BYTES,
	COMPARE_ALLOCATIONS,
	COMPARE_PEAK, /* live at the moment of the program's peak */
	COMPARE_KEPT, /* live at the end, or at the moment that is compared */
	COMPARE_TEMPORARY,
	COMPARE_METRICS
};
#define COMPARE_METRIC_CHOICES "bytes|allocations|peak|kept|temporary"
bool compare_metric_parse(const char *word, enum compare_metric *metric);
const char *compare_metric_name(enum compare_metric metric);
bool compare_metric_is_bytes(enum compare_metric metric);

/* How the clocks of the two heap lines are laid on each other. */
enum compare_align { COMPARE_ALIGN_START, COMPARE_ALIGN_PEAK, COMPARE_ALIGN_MARKS };
#define COMPARE_ALIGN_CHOICES "start|peak|marks"
bool compare_align_parse(const char *word, enum compare_align *align);
const char *compare_align_name(enum compare_align align);

/* A moment of a recording: what is counted is what happened up to it, as if the recording had ended
 * there. Marks and the peak are places in the order of the trace: their times may be those of other
 * events, too. All zero = the whole recording. */
enum compare_moment_kind { MOMENT_END, MOMENT_TIME, MOMENT_MARK, MOMENT_PEAK };

struct compare_moment {
	enum compare_moment_kind kind;
	const char *word; /* as it was asked for; the caller's */
	u64 ticks;        /* when it is; MOMENT_TIME: the last that count */
	u64 mark;         /* MOMENT_MARK: index */
};

/* "1.5s", "200ms", "30us", "12ns", "2min", a plain number of seconds; "start", "peak", "end"; the
 * name of a mark or a phase, NAME@K for the K-th of that name, #N for mark number N, snapshotN.
 * ERR_USAGE if it is none of these, or is after the end. */
int compare_moment_find(const struct model *model, const char *word, struct compare_moment *moment,
			struct err *err);

/* Which chunks were born and freed by two moments of a recording, and by the peaks before them. The
 * columns have times, and events share times: the order is only in the trace, which is read twice.
 *
 *	struct compare_cuts cuts = {0};
 *	if (compare_cuts_init(&cuts, model, moments, err) == 0) ...
 *	for (u32 i = 0; i < COMPARE_CUT_PASSES; i++)
 *		read the image once into compare_cuts_sink(&cuts)
 *	compare_cuts_release(&cuts);
 */
enum { COMPARE_CUT_PASSES = 2 };

struct compare_cuts { /* all zero = empty */
	const struct model *model;
	struct compare_moment moment[2];
	u64 peak_bytes[2], peak_ticks[2]; /* up to the moment */
	/* inside */
	u8 *bits;    /* by chunk */
	u32 pass;    /* 1, 2 */
	u64 event;   /* of the pass, from 0 */
	u64 marks;   /* that were seen in it */
	i64 live[2]; /* bytes of what counts at each moment */
	u64 at[2];   /* MOMENT_MARK, MOMENT_PEAK: number of events that count */
	u64 peak_at[2];
};

int compare_cuts_init(struct compare_cuts *self, const struct model *model,
		      const struct compare_moment moment[2], struct err *err);
struct stream_sink compare_cuts_sink(struct compare_cuts *self);
void compare_cuts_release(struct compare_cuts *self);

/* What had become of a chunk at moment `side`, and at the peak before it. */
struct compare_fate {
	bool born, freed, at_peak;
};
struct compare_fate compare_cuts_fate(const struct compare_cuts *self, u64 chunk, u32 side);

struct compare_side {
	const struct stack_source *source;
	const struct trace_info *info; /* may be NULL */
	const char *label;             /* path of the trace */
	struct type_cascade *types;    /* for COMPARE_BY_TYPE; its source is `source` */
	/* Moment `cut` of these, after both passes. NULL = the whole recording, where the peak of
	 * types and threads goes by times, and misses chunks that were freed at the very time of
	 * it. */
	const struct compare_cuts *cuts;
	u32 cut;
};

struct compare_query {
	struct compare_side side[2];
	bool one_trace; /* both sides are moments of one recording */
	enum compare_by by;
	enum compare_metric metric;
	enum compare_align align;
	u64 top;             /* rows of the result, 0 = all */
	u64 points;          /* of the heap lines */
	double tolerance;    /* a difference of at most this part of the larger is none */
	bool fold_recursion; /* of functions that call each other again only one turn is compared */
	bool severity;       /* find that of each row: stacks and places of whole recordings only */
	bool list_same;      /* rows without a difference are listed, too */
};
#define COMPARE_DEFAULT                                                                            \
	{                                                                                          \
		.top = 20, .points = 200                                                           \
	}

enum compare_status {
	COMPARE_NEW,
	COMPARE_GONE,
	COMPARE_GREW,
	COMPARE_SHRANK,
	COMPARE_SAME,
	COMPARE_STATES
};
const char *compare_status_name(enum compare_status status);

struct compare_sums {
	u64 value[COMPARE_METRICS];
};

/* Of one point, and of the whole recording; counts in units of the model. */
struct compare_sums compare_sums_of_point(const struct model *model,
					  const struct model_point *point);
struct compare_sums compare_sums_of_all(const struct model *model);
void compare_sums_add(struct compare_sums *to, const struct compare_sums *from);
/* Units of the model become plain numbers, in which recordings are compared. */
void compare_sums_settle(const struct model *model, struct compare_sums *sums);

/* Name of the program's file, by which two programs are taken for the same; "" = unknown. */
const char *compare_program_name(const struct model *model);

struct compare_row {
	u64 key;          /* inside: what rows are told apart by */
	const char *name; /* of the function, type, file … ; NULL for stacks */
	u64 hash;         /* of stacks: the same in each comparison of the same names */
	bool there[2];    /* whether the side allocated here at all */
	struct compare_sums side[2];
	u32 severity[2];          /* 1, best, to SEVERITY_STEPS; 0 = unknown */
	struct frame_id frame[2]; /* a stack of this row, the one with most bytes */
	u64 frame_bytes[2];
	enum compare_status status; /* by the metric of the query */
};

/* A piece of both heap lines. */
struct compare_bin {
	i64 time_ns;   /* of the common clock, at its beginning */
	bool known[2]; /* false: the side has not begun yet, or is over */
	u64 own_ns[2]; /* the side's own time */
	u64 bytes[2];  /* the most that was live in it */
};

/* Calls as names: the way from the outermost function on. */
struct compare_node {
	u32 parent;
	const char *name; /* kept */
	u64 hash;
	bool unnamed; /* it, or one that it was called by, has no name */
};

struct comparison { /* all zero = empty */
	struct compare_query query;
	VEC(struct compare_row) rows; /* largest difference first */
	struct compare_sums totals[2];
	u64 peak_ticks[2];
	u64 duration_ns[2];
	u64 states[COMPARE_STATES];         /* rows of each status */
	u64 matched[2];                     /* of the metric, in rows that both sides have */
	u64 sum[2];                         /* of the metric, in all rows */
	u64 unnamed_bytes[2], all_bytes[2]; /* requested by stacks of which a frame has no name */
	VEC(struct compare_bin) lines;
	u64 bin_ns;
	u64 anchors; /* marks that both sides have */
	/* inside */
	struct names names;
	VEC(struct compare_node) nodes; /* 0 is the root */
	struct map by_node;             /* hash of parent and name → index */
	struct map by_key;              /* → index of its row + 1 */
	VEC(u32) frame_nodes[2];        /* by frame of the side: node + 1, 0 = not asked yet */
	VEC(u32) point_rows[2];         /* by point of a whole recording: number of its row */
	VEC(u32) chain;                 /* scratch */
	struct folds folds;             /* of both sides */
	VEC(const char *) loose;        /* kept names of modules whose offsets mean nothing */
	struct strbuf text;
};

int compare_find(struct comparison *self, const struct compare_query *query, struct err *err);
void comparison_release(struct comparison *self);

/* A record named "diff" with parts "summary", "rows" and "heap"; NULL and err on failure. */
struct result *compare_result(struct comparison *self, struct err *err);

/* The heap lines as a diagram; dots are freed by the caller. False if there is no memory. */
bool compare_chart(const struct comparison *self, struct chart *chart, struct chart_dot **dots);

/* ---- the parts, for compare.c ---- */

/* Which row a point of a side belongs to: its key and name. */
int compare_key_of_point(struct comparison *self, u32 side, struct point_id point,
			 struct compare_row *row, struct err *err);
/* The same for keys that each chunk has: type and thread. */
int compare_key_of_chunk(struct comparison *self, u32 side, u64 chunk, struct compare_row *row,
			 struct err *err);
/* Before the first key. */
int compare_keys_begin(struct comparison *self, struct err *err);

int compare_lines(struct comparison *self, struct err *err);

#endif
