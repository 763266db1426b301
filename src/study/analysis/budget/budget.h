/* SPDX-License-Identifier: MIT
 * Budgets: limits that a recording must keep, of the whole program or of what a function, type,
 * module or file allocates; absolute, or as growth against an older recording. Defined in
 * docs/METHODS.md, "Budgets".
 *
 *	struct budgets budgets = {0};
 *	if (budgets_init(&budgets, err) < 0 || budgets_read(&budgets, "heap.toml", err) < 0) ...
 *	struct check check = {0};
 *	if (check_run(&check, &(struct check_query){ .budgets = &budgets, .trace = … }, err) == 0)
 *		result = check_result(&check, err);
 *	check_release(&check);
 *	budgets_release(&budgets);
 */
#ifndef STUDY_ANALYSIS_BUDGET_BUDGET_H
#define STUDY_ANALYSIS_BUDGET_BUDGET_H

#include "study/analysis/compare/compare.h"
#include "host/base/units.h"
#include "study/result/problems.h"

enum budget_scope {
	BUDGET_PROGRAM,
	BUDGET_FUNCTION,
	BUDGET_TYPE,
	BUDGET_MODULE,
	BUDGET_FILE,
	BUDGET_SCOPES
};

struct budget {
	enum budget_scope scope;
	const char *pattern; /* NULL for the program */
	const char *name;    /* that the user gave it; NULL = none */
	bool has[COMPARE_METRICS];
	u64 max[COMPARE_METRICS];
	bool has_growth;
	double growth; /* 0.05: at most 5 % more than the baseline */
	u32 growth_of; /* bits 1 << enum compare_metric */
	u32 line;      /* of the file, 0 = given as an option */
};

/* What growth is of where nothing else is said: all but temporary chunks. */
#define BUDGET_GROWTH_OF                                                                           \
	(1u << COMPARE_BYTES | 1u << COMPARE_ALLOCATIONS | 1u << COMPARE_PEAK | 1u << COMPARE_KEPT)

struct budgets {                 /* all zero = empty */
	VEC(struct budget) list; /* list.data[0] is the program's */
	const char *file;        /* that was read; NULL = none */
	const char *baseline;    /* path of a trace that the file names; NULL = none */
	struct arena arena;
};

/* The program's budget, without limits. */
int budgets_init(struct budgets *self, struct err *err);
/* Adds what a file says; ERR_INPUT names file, line and column. */
int budgets_read(struct budgets *self, const char *path, struct err *err);
int budgets_parse(struct budgets *self, const char *text, u64 bytes, const char *path,
		  struct err *err);
void budgets_release(struct budgets *self);

bool budgets_have_limits(const struct budgets *self);
bool budgets_have_growth(const struct budgets *self);
bool budgets_have_types(const struct budgets *self);
/* Whether the sums of a trace do not do: peaks of parts are followed through its events. */
bool budgets_need_chunks(const struct budgets *self);

/* "5", "5%", "250%" → 0.05 …; false if it is no percentage. */
bool budget_parse_growth(const char *text, double *growth);

/* "max-peak", "max-bytes" … */
const char *budget_limit_name(enum compare_metric metric);

/* Whether the name matches: * stands for any characters. Of functions also without their
 * parameters. */
bool budget_matches(const struct budget *self, const char *name);

/* ---- what is checked ---- */

struct budget_trace {
	const struct stack_source *source;
	const struct trace_info *info; /* may be NULL */
	const char *label;             /* path */
	struct type_cascade *types;    /* for budgets of types; may be NULL without them */
	/* Tells the image's events once more. */
	int (*stream)(void *self, const struct stream_sink *sink, struct err *err);
	void *stream_self;
};

struct check_query {
	const struct budgets *budgets;
	struct budget_trace trace;
	const struct budget_trace *baseline; /* NULL = none */
	u64 top;                             /* places that are named for each limit */
	bool allow_incomplete;               /* an incomplete recording is a note, not an error */
	const char
		*root; /* folder that paths of sources are told relative to; NULL = as they are */
};

/* Which chunks a budget is about. */
struct budget_set {
	u8 *by_point;     /* NULL = all of them, or by_chunk tells */
	u64 *by_chunk;    /* bits */
	bool matched;     /* anything at all */
	u8 *hidden;       /* the program's: points that the C and C++ libraries keep on purpose */
	u64 hidden_bytes; /* that these keep; they do not count as kept */
};

struct check_row {
	u32 budget; /* index */
	enum compare_metric metric;
	bool growth; /* limit is what the baseline allows */
	u64 limit, value, base;
	bool over;
	u64 first, count; /* of culprits, most first */
};

struct check_culprit {
	struct frame_id frame;
	u64 value, base; /* base: growth only */
};

struct check { /* all zero = empty */
	struct check_query query;
	VEC(struct check_row) rows;
	VEC(struct check_culprit) culprits;
	VEC(struct compare_sums) values, base; /* by budget */
	VEC(struct budget_set) sets;
	u64 over;
	struct strbuf incomplete[2]; /* why, of the trace and of the baseline; empty = it is not */
	bool failed;                 /* a limit is exceeded, or it is incomplete and may not be */
};

int check_run(struct check *self, const struct check_query *query, struct err *err);
void check_release(struct check *self);

/* A record named "check" with parts "limits" and "culprits"; NULL and err on failure. */
struct result *check_result(struct check *self, struct err *err);

/* Adds what was checked; texts live as long as the list. */
int check_problems(const struct check *self, struct problem_list *list, struct err *err);
extern const struct problem_rule check_rules[];
extern const u32 check_rule_count;

/* ---- in words ---- */

/* "peak of the program", "bytes of function parse_*": what a row is about. */
void check_subject(const struct check *self, const struct check_row *row, struct strbuf *out);
/* "6.1 MiB, 1.1 MiB (22.0 %) above the limit of 5.0 MiB", or "2.0 MiB of 5.0 MiB" */
void check_sentence(const struct check *self, const struct check_row *row, struct strbuf *out);
/* The pieces of that: the value, its limit, and how much is above. */
void check_add_value(const struct check_row *row, struct strbuf *out);
void check_add_limit(const struct check *self, const struct check_row *row, struct strbuf *out);
void check_add_excess(const struct check_row *row, struct strbuf *out);
/* "1.5 MiB (20 %)", or of growth "1.5 MiB, was 1.2 MiB": how much of the row is the culprit's. */
void check_add_share(const struct check_row *row, const struct check_culprit *culprit,
		     struct strbuf *out);
/* "function parse_*" */
void budget_add_scope(const struct budget *budget, struct strbuf *out);
/* "parse (src/parse.c:12), called by main: 1.5 MiB" */
void check_add_place(const struct check *self, const struct check_row *row,
		     const struct check_culprit *culprit, struct strbuf *out);
/* Why the recording, or the baseline if `which` is 1, is incomplete. */
void check_say_incomplete(const struct check *self, u32 which, struct strbuf *out);
/* What is to be said of how the program ended; false if it came to its own end. */
bool check_say_end(const struct check *self, struct strbuf *out);
/* "max-peak", "max-growth" … */
const char *check_rule(const struct check_row *row);
const struct budget *check_budget_of(const struct check *self, const struct check_row *row);
/* A source's path from the folder `root` on, if it is in it. */
const char *check_path(const char *root, const char *path);

/* ---- the parts, for budget.c ---- */

/* Fills sets and values of a trace, by budget. */
int budget_measure(const struct budgets *budgets, const struct budget_trace *trace,
		   struct budget_set *sets, struct compare_sums *values, struct err *err);
void budget_sets_release(struct budget_set *sets, u64 count);
bool budget_set_has(const struct budget_set *self, const struct model *model, u64 chunk);
/* Whether a stack is one of the budget's; not for types. */
bool budget_has_stack(const struct budget *self, const struct stack_source *source,
		      struct frame_id frame);

#endif
