/* SPDX-License-Identifier: MIT
 * A trace that is open for views: the model, the names, and what several views need of it, each made
 * when it is first asked for and only read from then on. Any number of threads may ask.
 *
 *	struct view_trace *trace = view_trace_new(path);
 *	if (!trace || view_trace_load(trace, &err) < 0) ...
 *	const struct mprof_calls *calls = view_calls(trace, &err);
 *	view_trace_free(trace);
 */
#ifndef STUDY_LAYOUT_TRACE_H
#define STUDY_LAYOUT_TRACE_H

#include <pthread.h>

#include "study/analysis/emad/callgraph.h"
#include "study/analysis/findings/findings.h"
#include "study/analysis/places/folds.h"
#include "study/analysis/memoro/inferences.h"
#include "study/analysis/mprof/calls.h"
#include "study/analysis/memoro/scores.h"
#include "study/analysis/types/list.h"
#include "study/analysis/typing/types.h"
#include "study/model/index.h"
#include "study/query/engine.h"

/* How far a load is; read by view_trace_progress. */
enum view_state { VIEW_WAITING, VIEW_LOADING, VIEW_READY, VIEW_FAILED };

struct view_progress {
	enum view_state state;
	const char *phase; /* "reading the trace" */
	double share;      /* 0 to 1, of the phase */
	struct err err;    /* of a failure */
};

struct view_file {
	char id[20]; /* the same as long as the file is */
	u64 bytes;
};

struct view_once { /* something that is made at the first question */
	pthread_mutex_t lock;
	bool made;
	int status;
	struct err err;
};

struct flame_shapes; /* study/layout/flame.h: the trees that were asked for */
struct point_sums;   /* study/layout/points.h */
struct sums_cache;
struct point_index;
struct source_table; /* study/layout/source.h */
struct view_keys;    /* study/layout/keys.h */
struct suggestions;  /* study/layout/suggest.h */
enum { VIEW_KEYS = 8, VIEW_SUGGESTS = 8 };

struct view_trace {
	const char *path;
	const char *name; /* of the file, without its folder */
	char id[20];      /* as view_file's; until the load has ended ask view_trace_file */
	u64 file_bytes;
	bool is_passing; /* the file will be gone soon: nothing is kept for the next time */

	/* from here on after the load */
	struct model *model;
	struct index_made index; /* that the load wrote; bytes 0 = none */
	struct trace_info info;
	struct symbol_table symbols;
	const struct symbol_entry **found; /* see struct stack_source */
	struct folds folds;                /* wrappers */
	struct stack_source stacks;        /* whole stacks, nothing folded */
	struct query_engine *engine;
	struct selection all; /* its sums only */

	pthread_mutex_t lock; /* of the progress, and of id and file_bytes during the load */
	struct view_progress progress;

	struct view_once calls_once, folded_once, scores_once, types_once, routines_once,
		shapes_once, sums_once, index_once, findings_once, source_once, places_once,
		type_list_once;
	struct stack_source folded_stacks;
	struct mprof_calls calls, folded;
	struct behaviour_table behaviour;
	struct inferences inferences;
	u8 *severity; /* by point, 0 = unknown */
	struct score_set *scores;
	struct type_cascade types;
	pthread_mutex_t types_lock; /* for questions about single chunks */
	struct type_answer *point_types;
	struct stack_source guess_stacks; /* with the behaviour of points */
	struct type_cascade guessed;      /* the same with guesses, for the list */
	struct type_list type_list;
	struct callgraph graph;
	struct routine_graph *routines;
	struct flame_shapes *shapes;
	const struct point_sums *sums; /* of all chunks, by point */
	struct point_sums *own_sums;   /* the same, if they are not the index's */
	pthread_mutex_t sums_lock;
	struct sums_cache *sums_cache; /* of recent selections */
	struct point_index *point_index;
	struct source_table *source;
	u64 *point_places; /* by point: hash of the place, see study/layout/verdicts.h */
	struct view_once keys_once[VIEW_KEYS];
	struct view_keys *keys[VIEW_KEYS]; /* by enum view_by */
	struct view_once suggest_once[VIEW_SUGGESTS];
	struct suggestions *suggest[VIEW_SUGGESTS]; /* by enum suggest_kind, with all names */
	struct findings findings;                   /* with the default limits */
	pthread_mutex_t analysis_lock; /* for analyses that no two threads may run at once */
};

/* NULL if there is no memory. Nothing is opened yet. */
struct view_trace *view_trace_new(const char *path);
void view_trace_free(struct view_trace *self);

/* Reads the trace; function names that it lacks are looked up first and kept in it, if it can be
 * written. Takes as long as that takes, while view_trace_progress may be asked. */
int view_trace_load(struct view_trace *self, struct err *err);
struct view_progress view_trace_progress(struct view_trace *self);
/* A load that adds names to the file changes both. */
struct view_file view_trace_file(struct view_trace *self);

/* Whether a run in progress has the file open for writing. */
bool view_is_being_written(const char *path);

/* The model of a test, or of a live source, instead of a file; symbols may be NULL. Takes the model
 * over. */
int view_trace_take(struct view_trace *self, struct model *model,
		    const struct symbol_table *symbols, struct err *err);

/* ns of the whole run. */
u64 view_duration_ns(const struct view_trace *self);

/* These return NULL (or a negative code) and err on failure. */
const struct mprof_calls *view_calls(struct view_trace *self, struct err *err);
/* With neighbouring functions of the standard library as one, as `heapwise mprof` shows them. */
const struct mprof_calls *view_calls_folded(struct view_trace *self, struct err *err);
/* Fills behaviour, inferences, scores and severity. */
int view_scores(struct view_trace *self, struct err *err);
/* Fills point_types; names are those of the cascade. */
int view_types(struct view_trace *self, struct err *err);
/* What `heapwise types` lists: sums of all types, guessed ones included. */
const struct type_list *view_type_list(struct view_trace *self, struct err *err);
/* The type of a point if view_types was asked for before; NULL if not, or it is unknown. */
const char *view_known_type(struct view_trace *self, u64 point);
/* What `heapwise findings` finds. */
const struct findings *view_findings(struct view_trace *self, struct err *err);
/* `stacks` with the types of points, as the results of commands have them. */
int view_typed_stacks(struct view_trace *self, struct stack_source *source, struct err *err);
/* Of routines if the trace has them, else of the stacks of allocations. */
const struct callgraph *view_callgraph(struct view_trace *self, struct err *err);

/* Runs make() once; later calls get what the first one got. */
int view_once(struct view_once *self, struct err *err, int (*make)(void *data, struct err *err),
	      void *data);

#endif
