/* SPDX-License-Identifier: MIT
 * An open trace: what its file says, the model of one image, the names of its functions, and what
 * commands and views make of them, each part when it is first asked for.
 *
 *	struct study *study = study_new(path, &options);
 *	if (!study || study_load(study, &err) < 0) ...
 *	const struct mprof_calls *calls = study_calls(study, &err);
 *	study_free(study);
 *
 * The rule for locks: one thread loads. What the load made is only read from then on. Every other
 * part is made by whoever asks first, behind the lock of that part, and only read from then on; so
 * any number of threads may ask, if the study is shared (struct study_options). What makes a part
 * may ask for parts that stand before it in enum study_part, what fills a slot may ask for any
 * part, and nobody asks for anything while he holds one of the other locks: `lock` (progress, id,
 * file_bytes), analysis_lock. */
#ifndef STUDY_OPEN_STUDY_H
#define STUDY_OPEN_STUDY_H

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
#include "study/open/following.h"
#include "study/open/loading.h"
#include "study/open/sums.h"
#include "study/query/engine.h"

#define STUDY_LAST_IMAGE UINT64_MAX

/* What a load does, in this order. */
enum study_phase { PHASE_NAMES, PHASE_READING, PHASE_PREPARING };

enum study_index {
	INDEX_USE,
	INDEX_WRITE, /* and what takes long to read is kept for the next time */
	INDEX_IGNORE /* the trace is read even if it has one */
};

struct study_options {
	u64 image; /* its number in the file, or STUDY_LAST_IMAGE */
	enum study_index index;
	/* names that the trace lacks are looked up and kept in it, if it can be written */
	bool find_names;
	bool sums;    /* the sums at its end do, if it has them: study_lacks_chunks says whether */
	bool graphs;  /* the pointers that scans found are read, too: model->graphs */
	bool no_fold; /* wrappers are not folded into their callers */
	/* findings will be asked: what chunks do is found while the trace is read */
	bool follows;
	/* several threads will ask: what they may not change is made by the load */
	bool shared;
	const struct wrappers *wrappers; /* folded besides those that are found; NULL = none */
	/* Stores more in an index that is written; may be NULL. */
	int (*store)(const struct model *model, struct index_writer *out, struct err *err);
	/* Told by the load; each may be NULL. */
	void *self;
	void (*note)(void *self, const char *text); /* "t.hwt is still being written; …" */
	void (*phase)(void *self, enum study_phase phase, const char *path);
	void (*share)(void *self, double share); /* of the phase, 0 to 1 */
};

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

enum study_part {
	PART_CALLS,
	PART_FOLDED_CALLS,
	PART_ROUTINES,
	PART_CALLGRAPH,
	PART_TYPES,
	PART_SCORES,
	PART_TYPE_LIST,
	PART_FINDINGS,
	STUDY_PARTS
};

/* What a room above keeps with the study; that room numbers them (study/layout/slots.h). */
enum { STUDY_SLOTS = 24 };
struct study_slot {
	struct study_once once;
	void *data;
	void (*free)(void *data);
};

struct study {
	const char *path;
	const char *name; /* of the file, without its folder */
	char id[20];      /* as study_file's; until the load has ended ask study_file() */
	u64 file_bytes;
	struct study_options how;
	struct trace_info info; /* after study_look */

	/* from here on after the load */
	struct model *model;
	struct model *whole;     /* that the model is a part of, see study_narrow; NULL = of none */
	struct index_made index; /* that the load wrote; bytes 0 = none */
	struct symbol_table symbols;
	const struct symbol_entry **found; /* see struct stack_source */
	struct folds folds;                /* wrappers */
	struct stack_source stacks;        /* whole stacks, nothing folded */
	struct query_engine *engine;       /* these two if the study is shared */
	struct selection all;              /* its sums only */

	/* of progress and cancelled, and of id and file_bytes during the load */
	pthread_mutex_t lock;
	struct study_progress progress;
	bool cancelled;

	/* parts: ask the functions below */
	struct study_once parts[STUDY_PARTS];
	struct study_slot slots[STUDY_SLOTS];
	struct mprof_calls calls, folded;
	struct stack_source folded_stacks;
	struct routine_graph *routines;
	struct callgraph graph;
	struct stack_source type_stacks; /* with the behaviour of points, for the list */
	struct type_cascade types;
	struct type_answer *point_types;
	struct behaviour_table behaviour;
	struct growth_samples *growth;
	struct following following; /* while it is read */
	bool forgets;               /* and what has ended is forgotten */
	struct inferences inferences;
	u8 *severity; /* by point, 0 = unknown */
	struct score_set *scores;
	struct type_list type_list;
	struct findings findings;      /* with the default limits */
	pthread_mutex_t analysis_lock; /* for analyses that no two threads may run at once */
};

/* NULL if there is no memory. Nothing is opened yet. The path is not copied. */
struct study *study_new(const char *path, const struct study_options *how);
void study_free(struct study *self);

/* What the header of the file and its index of blocks say, in info; names that it lacks are looked
 * up, if that is asked for. */
int study_look(struct study *self, struct err *err);

/* Looks, and reads the trace. Takes as long as that takes, while study_progress may be asked. */
int study_load(struct study *self, struct err *err);
struct study_progress study_progress(struct study *self);
/* A load that goes on fails soon: nobody waits for it any more. Names are looked up to the end. */
void study_cancel(struct study *self);
/* A load that adds names to the file changes both. */
struct study_file study_file(struct study *self);

/* Makes the index of the trace unless there is a fresh one, after study_look; *made says where it
 * is. */
int study_index(struct study *self, struct index_made *made, struct err *err);

/* Whether some process has the file open for writing, as a run in progress does: what we would
 * append now would end up in the midst of its blocks. */
bool study_is_being_written(const char *path);

/* Before the load: takes what was found while the program ran, if it is there (true); then the
 * trace is not read. The model has forgotten what had ended. */
bool study_begin(struct study *self, struct loading *loading);

/* After the load: writes the sums of a trace that has none at its end, if they are complete. */
int study_store_sums(struct study *self, struct err *err);

/* Instead of a load: the model of a test, of a live source, or a part of another; symbols may be
 * NULL. Takes the model over. */
int study_take(struct study *self, struct model *model, const struct symbol_table *symbols,
	       struct err *err);

/* After the load, before any part is asked for: makes the model that of these chunks. */
int study_narrow(struct study *self, const struct selection *chosen, struct err *err);

/* Whether sums were read and somebody asked for chunks: what came out is to be thrown away, and
 * asked of a study without them. */
bool study_lacks_chunks(const struct study *self);

/* Number of the image in the file. */
u32 study_image(const struct study *self);

/* Where its pointers are, for model_read_graphs; without a path if the model is a part of the
 * trace, in which chunks have other numbers. */
struct graphs_source study_pointers(const struct study *self);

/* Reads the image once more, for what the model does not keep. */
int study_stream(const struct study *self, const struct stream_sink *sink, struct err *err);

/* ---- parts: these return NULL (or a negative code) and err on failure ---- */

const struct mprof_calls *study_calls(struct study *self, struct err *err);
/* With neighbouring functions of the standard library as one, as `heapwise mprof` shows them. */
const struct mprof_calls *study_calls_folded(struct study *self, struct err *err);
/* Calls of routines; empty if the trace has none. */
const struct routine_graph *study_routines(struct study *self, struct err *err);
/* Of routines if the trace has them, else of the stacks of allocations. */
const struct callgraph *study_callgraph(struct study *self, struct err *err);
/* Fills types and point_types; names are those of the cascade. Of a shared study also with what
 * source lines name, as `heapwise types` has it; else without reading debug info. */
int study_types(struct study *self, struct err *err);
/* The type of a point if study_types was asked for before; NULL if not, or it is unknown. */
const char *study_known_type(struct study *self, u64 point);
/* Fills behaviour, inferences, scores and severity. */
int study_scores(struct study *self, struct err *err);
/* `stacks` with the types of points, as the results of commands have them. */
int study_typed_stacks(struct study *self, struct stack_source *source, struct err *err);
/* What `heapwise types` lists: sums of all types. Of a shared study. */
const struct type_list *study_type_list(struct study *self, struct err *err);
/* What `heapwise findings` finds. */
const struct findings *study_findings(struct study *self, struct err *err);

/* ---- for rooms that keep something with the study ---- */

/* What is in a slot; the first who asks makes it, NULL and err on failure. It is freed with the
 * study. */
void *study_slot(struct study *self, u32 slot,
		 void *(*make)(struct study *self, u32 slot, struct err *err),
		 void (*free)(void *data), struct err *err);

/* The table of a kind in the model's index, if it has this tag and so many records; count 0 = any
 * number of them. */
enum { STORED_ABOVE = STORED_OTHERS + 3 }; /* kinds of rooms above begin here */
const void *study_stored(const struct model *model, u32 kind, u64 tag, u64 size, u64 count);

/* ---- for the files of this room, and tests ---- */

void study_parts_init(struct study *self);
void study_parts_release(struct study *self);

/* Scores and findings in an index. struct model_options.store: self is the study. */
int study_store(void *self, const struct model *model, const struct trace_info *info,
		struct index_writer *out, struct err *err);
/* Takes what the index of the model has and this build of Heapwise would find; the rest is found
 * when asked for. */
void study_stored_take(struct study *self);

#endif
