/* SPDX-License-Identifier: MIT
 * A loaded trace in the formats of other programs, which read names, types and findings of it: what
 * `heapwise export` writes. formats.h has the table of all. docs/EXPORTS.md says which
 * program reads what.
 *
 * A writer puts everything on `out`, and leaves write errors for its caller to see there. */
#ifndef SHOW_FORMATS_EXPORT_H
#define SHOW_FORMATS_EXPORT_H

#include <stdio.h>

#include "study/analysis/places/stacks.h"
#include "study/analysis/typing/types.h"
#include "host/base/json.h"

enum export_metric {
	EXPORT_BYTES,
	EXPORT_ALLOCS,
	EXPORT_PEAK,      /* bytes live at the moment of the program's peak */
	EXPORT_KEPT,      /* bytes that are live at the end */
	EXPORT_TEMPORARY, /* chunks */
	EXPORT_METRICS
};
#define EXPORT_METRIC_WORDS "bytes|allocs|peak|kept|temporary"

enum export_metric export_metric_parse(const char *word); /* NULL = bytes */
const char *export_metric_word(enum export_metric metric);
const char *export_metric_unit(enum export_metric metric); /* "bytes" or "count" */
const char *export_metric_title(enum export_metric metric);

struct heaplog_options; /* heaplog.h */

struct export_job {
	const char *path;              /* of the trace */
	const struct trace_info *info; /* may be NULL */
	struct stack_source stacks;    /* whole stacks; .types where points have one */
	struct type_cascade *types;    /* for types of chunks; NULL = none are told */
	const char
		*file; /* what `out` is, for a writer that opens it itself; empty when it begins */
	enum export_metric metric;
	u32 image;          /* of the trace, counted from 0, for a writer that reads it itself */
	const char *output; /* what the user calls the file; NULL = standard output */
	const struct heaplog_options *heaplog;
	double min_share; /* of the live bytes: owners that retain less are left out */
};

int pprof_export(const struct export_job *job, FILE *out, struct err *err);
int folded_export(const struct export_job *job, FILE *out, struct err *err);
int dhat_export(const struct export_job *job, FILE *out, struct err *err);
int sqlite_export(const struct export_job *job, FILE *out, struct err *err);
int csv_export(const struct export_job *job, FILE *out, struct err *err);
int jsonl_export(const struct export_job *job, FILE *out, struct err *err);
int speedscope_export(const struct export_job *job, FILE *out, struct err *err);
int massif_export(const struct export_job *job, FILE *out, struct err *err);
int callgrind_export(const struct export_job *job, FILE *out, struct err *err);
int perfetto_export(const struct export_job *job, FILE *out, struct err *err);
int firefox_export(const struct export_job *job, FILE *out, struct err *err);
int dot_export(const struct export_job *job, FILE *out, struct err *err);
/* The model needs its graphs, and the job types. */
int owners_graphml_export(const struct export_job *job, FILE *out, struct err *err);
int owners_dot_export(const struct export_job *job, FILE *out, struct err *err);
int emad_export(const struct export_job *job, FILE *out, struct err *err);
/* For HEAPLOG_SETS `out` may be NULL. With `every` the job must have an output: OUTPUT.0001,
 * OUTPUT.0002 … get full sets of freed entries, OUTPUT itself the rest. */
int heaplog_export(const struct export_job *job, FILE *out, struct err *err);

/* What a reader must know before trusting the numbers, as a result without rows: its caveats. NULL
 * if there is no memory. */
struct result *export_caveats(const struct export_job *job);
/* The same as a list of texts in JSON. */
void export_put_caveats(const struct export_job *job, struct json *json, const char *key);
bool export_complete(const struct export_job *job);

/* Units of the model (see model.h) as numbers, so that they add up to the number of the sum: in a
 * sampled recording rounding each would not. All zero = ready. */
struct export_sum {
	u64 units;
};
u64 export_count(struct export_sum *self, const struct model *model, u64 units);

/* The numbers of a point, in the order of enum export_metric; sums as above, one for each. */
void export_values(const struct model *model, const struct model_point *point,
		   struct export_sum sums[EXPORT_METRICS], u64 values[EXPORT_METRICS]);

#endif
