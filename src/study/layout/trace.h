/* SPDX-License-Identifier: MIT
 * A trace that is open for views: the model, the names, and what several views need of it, each made
 * when it is first asked for and only read from then on. Any number of threads may ask.
 *
 *	struct study *trace = study_new(path);
 *	if (!trace || study_load(trace, &err) < 0) ...
 *	const struct mprof_calls *calls = study_calls(trace, &err);
 *	study_free(trace);
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

/* How far a load is; read by study_progress. */
enum study_state { STUDY_WAITING, STUDY_LOADING, STUDY_READY, STUDY_FAILED };

struct study_progress {
	enum study_state state;
	const char *phase; /* "reading the trace" */
	double share;      /* 0 to 1, of the phase */
	struct err err;    /* of a failure */
};

struct study_file {
	char id[20]; /* the same as long as the file is */
	u64 bytes;
};

struct study_once { /* something that is made at the first question */
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

struct study {
	const char *path;
	const char *name; /* of the file, without its folder */
	char id[20];      /* as study_file's; until the load has ended ask study_file */
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
	struct study_progress progress;

	struct study_once calls_once, folded_once, scores_once, types_once, routines_once,
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
	struct study_once keys_once[VIEW_KEYS];
	struct view_keys *keys[VIEW_KEYS]; /* by enum view_by */
	struct study_once suggest_once[VIEW_SUGGESTS];
	struct suggestions *suggest[VIEW_SUGGESTS]; /* by enum suggest_kind, with all names */
	struct findings findings;                   /* with the default limits */
	pthread_mutex_t analysis_lock; /* for analyses that no two threads may run at once */
};

/* NULL if there is no memory. Nothing is opened yet. */
struct study *study_new(const char *path);
void study_free(struct study *self);

/* Reads the trace; function names that it lacks are looked up first and kept in it, if it can be
 * written. Takes as long as that takes, while study_progress may be asked. */
int study_load(struct study *self, struct err *err);
struct study_progress study_progress(struct study *self);
/* A load that adds names to the file changes both. */
struct study_file study_file(struct study *self);

/* Whether a run in progress has the file open for writing. */
bool study_is_being_written(const char *path);

/* The model of a test, or of a live source, instead of a file; symbols may be NULL. Takes the model
 * over. */
int study_take(struct study *self, struct model *model,
		    const struct symbol_table *symbols, struct err *err);

/* ns of the whole run. */
u64 study_duration_ns(const struct study *self);

/* These return NULL (or a negative code) and err on failure. */
const struct mprof_calls *study_calls(struct study *self, struct err *err);
/* With neighbouring functions of the standard library as one, as `heapwise mprof` shows them. */
const struct mprof_calls *study_calls_folded(struct study *self, struct err *err);
/* Fills behaviour, inferences, scores and severity. */
int study_scores(struct study *self, struct err *err);
/* Fills point_types; names are those of the cascade. */
int study_types(struct study *self, struct err *err);
/* What `heapwise types` lists: sums of all types, guessed ones included. */
const struct type_list *study_type_list(struct study *self, struct err *err);
/* The type of a point if study_types was asked for before; NULL if not, or it is unknown. */
const char *study_known_type(struct study *self, u64 point);
/* What `heapwise findings` finds. */
const struct findings *study_findings(struct study *self, struct err *err);
/* `stacks` with the types of points, as the results of commands have them. */
int study_typed_stacks(struct study *self, struct stack_source *source, struct err *err);
/* Of routines if the trace has them, else of the stacks of allocations. */
const struct callgraph *study_callgraph(struct study *self, struct err *err);

/* Runs make() once; later calls get what the first one got. */
int study_once(struct study_once *self, struct err *err, int (*make)(void *data, struct err *err),
	      void *data);

#endif
