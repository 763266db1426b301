/* SPDX-License-Identifier: MIT
 * Opens traces for views, and makes what views share.
 * Host. Never prints; how far a load is can be asked for. */
#define _GNU_SOURCE
#include "study/layout/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "study/model/index.h"
#include "host/symbols/resolve/resolve.h"
#include "study/layout/flame.h"
#include "study/layout/keys.h"
#include "study/layout/points.h"
#include "study/layout/source.h"
#include "study/layout/stored.h"
#include "study/layout/suggest.h"

enum { INDEX_EVENTS = 2 << 20 };

/* ---- life ---- */

static void once_init(struct study_once *self) { pthread_mutex_init(&self->lock, NULL); }

int study_once(struct study_once *self, struct err *err, int (*make)(void *data, struct err *err),
	      void *data)
{
	pthread_mutex_lock(&self->lock);
	if (!self->made) {
		self->status = make(data, &self->err);
		/* Without memory it may go better the next time; the rest stays as it is. */
		self->made = self->status != ERR_MEMORY;
	}
	if (self->status < 0)
		*err = self->err;
	pthread_mutex_unlock(&self->lock);
	return self->status;
}

/* Another file, or the same one written anew, has another id, so that no answer is mistaken. */
static void identify(struct study *self)
{
	struct stat status = {0};
	u64 hash = hash_text(HASH_START, self->path);

	if (stat(self->path, &status) == 0) {
		hash = hash_u64(hash ^ (u64)status.st_ino);
		hash = hash_u64(hash ^ (u64)status.st_mtim.tv_sec * 1000000007 ^
				(u64)status.st_mtim.tv_nsec);
		hash = hash_u64(hash ^ (u64)status.st_size);
	}
	pthread_mutex_lock(&self->lock);
	self->file_bytes = (u64)status.st_size;
	snprintf(self->id, sizeof self->id, "%012llx", (unsigned long long)(hash & 0xffffffffffff));
	pthread_mutex_unlock(&self->lock);
}

struct study_file study_file(struct study *self)
{
	struct study_file file;

	pthread_mutex_lock(&self->lock);
	memcpy(file.id, self->id, sizeof file.id);
	file.bytes = self->file_bytes;
	pthread_mutex_unlock(&self->lock);
	return file;
}

struct study *study_new(const char *path)
{
	struct study *self = calloc(1, sizeof *self);
	const char *slash = strrchr(path, '/');

	if (!self)
		return NULL;
	self->path = path;
	self->name = slash && slash[1] ? slash + 1 : path;
	pthread_mutex_init(&self->lock, NULL);
	pthread_mutex_init(&self->types_lock, NULL);
	pthread_mutex_init(&self->sums_lock, NULL);
	pthread_mutex_init(&self->analysis_lock, NULL);
	once_init(&self->calls_once);
	once_init(&self->folded_once);
	once_init(&self->scores_once);
	once_init(&self->types_once);
	once_init(&self->routines_once);
	once_init(&self->shapes_once);
	once_init(&self->sums_once);
	once_init(&self->index_once);
	once_init(&self->findings_once);
	once_init(&self->source_once);
	once_init(&self->places_once);
	once_init(&self->type_list_once);
	for (u32 i = 0; i < VIEW_KEYS; i++)
		once_init(&self->keys_once[i]);
	for (u32 i = 0; i < VIEW_SUGGESTS; i++)
		once_init(&self->suggest_once[i]);
	self->progress.phase = "waiting";
	identify(self);
	return self;
}

void study_free(struct study *self)
{
	if (!self)
		return;
	flame_shapes_free(self->shapes);
	free(self->own_sums);
	sums_cache_free(self->sums_cache);
	point_index_free(self->point_index);
	free(self->point_places);
	type_list_release(&self->type_list);
	type_cascade_release(&self->guessed);
	source_table_free(self->source);
	for (u32 i = 0; i < VIEW_KEYS; i++)
		view_keys_free(self->keys[i]);
	for (u32 i = 0; i < VIEW_SUGGESTS; i++)
		suggestions_free(self->suggest[i]);
	findings_release(&self->findings);
	callgraph_release(&self->graph);
	if (self->routines)
		routine_graph_release(self->routines);
	free(self->routines);
	mprof_calls_release(&self->calls);
	mprof_calls_release(&self->folded);
	behaviour_table_release(&self->behaviour);
	free(self->severity);
	free(self->scores);
	type_cascade_release(&self->types);
	free(self->point_types);
	query_engine_free(self->engine);
	selection_release(&self->all);
	symbol_table_release(&self->symbols);
	free(self->found);
	folds_release(&self->folds);
	model_free(self->model);
	free(self);
}

/* ---- loading ---- */

static void phase_set(struct study *self, enum study_state state, const char *phase)
{
	pthread_mutex_lock(&self->lock);
	self->progress.state = state;
	self->progress.phase = phase;
	self->progress.share = 0;
	pthread_mutex_unlock(&self->lock);
}

static void share_set(void *self_, double share)
{
	struct study *self = self_;

	pthread_mutex_lock(&self->lock);
	self->progress.share = share;
	pthread_mutex_unlock(&self->lock);
}

struct study_progress study_progress(struct study *self)
{
	struct study_progress progress;

	pthread_mutex_lock(&self->lock);
	progress = self->progress;
	pthread_mutex_unlock(&self->lock);
	return progress;
}

/* A run in progress has the file open for writing: nothing may be added to it then. The kernel grants
 * a read lease only if nobody has. */
bool study_is_being_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool refused;

	if (fd < 0)
		return false;
	refused = fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	close(fd);
	return refused;
}

static void find_names(struct study *self)
{
	struct symbolize_options how = {.progress = share_set, .progress_self = self};
	struct symbolize_summary found;
	struct err err = {0};

	if ((!self->info.complete && study_is_being_written(self->path)) || access(self->path, W_OK) != 0)
		return; /* names are missing then, which every view shows */
	phase_set(self, STUDY_LOADING, "looking up function names");
	symbols_resolve_trace(self->path, &how, &found, &err);
	identify(self); /* the file was changed */
}

/* All places are found now, because later on nobody may change the model. */
static int place_contexts(struct study *self, struct err *err)
{
	int status = 0;

	for (u32 i = 1; i < self->model->contexts.nodes.count && status == 0; i++) {
		struct frame_id frame;

		if (self->model->contexts.nodes.data[i].told)
			status = model_place(self->model, i, &frame, err);
	}
	return status;
}

static int prepare(struct study *self, struct err *err)
{
	struct query_trace trace = {.model = self->model,
				    .symbols = &self->symbols,
				    .image = self->model->image.number,
				    .name = self->path,
				    .guess = true,
				    .thresholds = THRESHOLDS_DEFAULT};
	struct query_error error = {0};

	if (place_contexts(self, err) < 0)
		return err->code;
	self->found = calloc(self->model->contexts.frames.count + 1, sizeof *self->found);
	self->stacks = (struct stack_source){.model = self->model,
					     .path = self->path,
					     .symbols = &self->symbols,
					     .found = self->found,
					     .image = self->model->image.number};
	if (folds_find(&self->folds, &self->stacks, NULL, err) < 0)
		return err->code;
	self->stacks.folds = &self->folds;
	self->folded_stacks = self->stacks;
	self->folded_stacks.fold = true;
	self->engine = query_engine_new(&trace, 1);
	if (!self->engine || !chunk_table_make_zones(&self->model->chunks))
		return err_memory(err);
	if (query_select(self->engine, "all", NULL, &self->all, &error) < 0)
		return err_set(err, error.code, "%s", error.message);
	view_stored_take(self);
	return 0;
}

static int read_file(struct study *self, struct err *err)
{
	struct model_options how = {.image = TRACE_LAST_IMAGE,
				    .info = &self->info,
				    .made = &self->index,
				    .progress = share_set,
				    .progress_self = self};
	struct trace_reader *reader = trace_open(self->path, err);

	if (!reader)
		return err->code < 0 ? err->code : ERR_INPUT;
	self->info = *trace_info(reader);
	trace_close(reader);
	if (!self->info.has_symbols)
		find_names(self);
	phase_set(self, STUDY_LOADING, "reading the trace");
	self->model = model_new();
	if (!self->model)
		return err_memory(err);
	/* What takes long to read is kept for the next time. */
	how.no_index = self->is_passing;
	how.write_index = !self->is_passing && self->info.events >= INDEX_EVENTS;
	how.store = view_store;
	how.store_self = (void *)self->path;
	if (model_open(self->model, self->path, &how, err) < 0)
		return err->code;
	if (self->info.has_symbols && trace_read_symbols(self->path, &self->symbols, err) < 0)
		return err->code;
	phase_set(self, STUDY_LOADING, "preparing");
	return prepare(self, err);
}

int study_load(struct study *self, struct err *err)
{
	int status = read_file(self, err);

	pthread_mutex_lock(&self->lock);
	self->progress.state = status < 0 ? STUDY_FAILED : STUDY_READY;
	self->progress.phase = status < 0 ? "failed" : "ready";
	self->progress.share = status < 0 ? 0 : 1;
	if (status < 0)
		self->progress.err = *err;
	pthread_mutex_unlock(&self->lock);
	return status;
}

int study_take(struct study *self, struct model *model,
		    const struct symbol_table *symbols, struct err *err)
{
	int status;

	self->model = model;
	if (symbols) /* borrowed: without storage it is not freed here */
		self->symbols =
			(struct symbol_table){.entries = symbols->entries, .count = symbols->count};
	status = prepare(self, err);
	phase_set(self, status < 0 ? STUDY_FAILED : STUDY_READY, status < 0 ? "failed" : "ready");
	return status;
}

u64 study_duration_ns(const struct study *self) { return model_duration_ns(self->model); }

/* ---- what views share ---- */

static int make_calls(void *data, struct err *err)
{
	struct study *self = data;

	return mprof_calls_read(&self->calls, &self->stacks, err);
}

const struct mprof_calls *study_calls(struct study *self, struct err *err)
{
	return study_once(&self->calls_once, err, make_calls, self) < 0 ? NULL : &self->calls;
}

static int make_folded(void *data, struct err *err)
{
	struct study *self = data;

	return mprof_calls_read_lisp(&self->folded, &self->folded_stacks, false, err);
}

const struct mprof_calls *study_calls_folded(struct study *self, struct err *err)
{
	return study_once(&self->folded_once, err, make_folded, self) < 0 ? NULL : &self->folded;
}

static int make_scores(void *data, struct err *err)
{
	struct study *self = data;
	const struct thresholds limits = THRESHOLDS_DEFAULT;
	u64 points = self->model->points.count;

	if ((!self->behaviour.points &&
	     behaviour_find(&self->stacks, &limits, &self->behaviour, err) < 0) ||
	    inferences_find(&self->inferences, self->model, &self->behaviour, &limits, err) < 0)
		return err->code;
	self->severity = calloc(points + 1, 1);
	self->scores = calloc(points + 1, sizeof *self->scores);
	if (!self->severity || !self->scores)
		return err_memory_for(err, "the scores");
	for (u64 i = 0; i < points; i++) {
		self->scores[i] = scores_of(&self->behaviour.points[i]);
		self->severity[i] = (u8)severity_step(&self->scores[i]);
	}
	query_engine_give_scores(self->engine, &self->behaviour);
	return 0;
}

int study_scores(struct study *self, struct err *err)
{
	return study_once(&self->scores_once, err, make_scores, self);
}

static int make_types(void *data, struct err *err)
{
	struct study *self = data;
	struct type_query query = {.source = &self->stacks};
	int status = type_cascade_init(&self->types, &query, err);

	if (status < 0)
		return status;
	self->point_types = calloc(self->model->points.count + 1, sizeof *self->point_types);
	if (!self->point_types)
		return err_memory_for(err, "the types");
	type_of_points(&self->types, self->point_types);
	return 0;
}

int study_types(struct study *self, struct err *err)
{
	return study_once(&self->types_once, err, make_types, self);
}

static int make_type_list(void *data, struct err *err)
{
	const struct thresholds limits = THRESHOLDS_DEFAULT;
	struct study *self = data;
	struct type_query query = {.source = &self->guess_stacks, .guess = true};
	int status = study_scores(self, err);

	if (status < 0)
		return status;
	pthread_mutex_lock(&self->analysis_lock);
	self->guess_stacks = self->stacks;
	self->guess_stacks.behaviour = &self->behaviour;
	status = type_cascade_init(&self->guessed, &query, err);
	model_rest(self->model);
	if (status == 0)
		status = type_list_make(&self->type_list, &self->guessed, &limits, err);
	pthread_mutex_unlock(&self->analysis_lock);
	return status;
}

const struct type_list *study_type_list(struct study *self, struct err *err)
{
	return study_once(&self->type_list_once, err, make_type_list, self) < 0 ? NULL
									       : &self->type_list;
}

const char *study_known_type(struct study *self, u64 point)
{
	bool known;

	pthread_mutex_lock(&self->types_once.lock);
	known = self->types_once.made && self->types_once.status == 0;
	pthread_mutex_unlock(&self->types_once.lock);
	return known && point < self->model->points.count ? self->point_types[point].name : NULL;
}

int study_typed_stacks(struct study *self, struct stack_source *source, struct err *err)
{
	if (study_types(self, err) < 0 || study_scores(self, err) < 0)
		return err->code;
	*source = self->stacks;
	source->types = self->point_types;
	source->behaviour = &self->behaviour;
	return 0;
}

static int make_findings(void *data, struct err *err)
{
	struct study *self = data;
	struct findings_query query = {.thresholds = THRESHOLDS_DEFAULT,
				       .min_share = FINDINGS_MIN_SHARE};
	struct stack_source source;

	if (study_scores(self, err) < 0)
		return err->code;
	source = self->stacks;
	source.behaviour = &self->behaviour;
	return findings_make(&self->findings, &source, &self->info, &query, err);
}

const struct findings *study_findings(struct study *self, struct err *err)
{
	return study_once(&self->findings_once, err, make_findings, self) < 0 ? NULL
									     : &self->findings;
}

static int read_routines(struct study *self, struct err *err)
{
	struct trace_read_options how = {.image = TRACE_LAST_IMAGE};
	struct trace_reader *reader = trace_open(self->path, err);
	struct stream_sink sink;
	int status;

	if (!reader)
		return err->code;
	self->routines = calloc(1, sizeof *self->routines);
	if (!self->routines) {
		trace_close(reader);
		return err_memory_for(err, "routines");
	}
	sink = routine_graph_sink(self->routines);
	status = trace_read(reader, &how, &sink, err);
	trace_close(reader);
	return status < 0 ? status : routine_graph_finish(self->routines, err);
}

static int make_graph(void *data, struct err *err)
{
	struct study *self = data;
	const struct mprof_calls *calls;

	if (self->info.routines && read_routines(self, err) < 0)
		return err->code;
	if (self->routines && (self->routines->counts.enters || self->routines->counts.leaves))
		return callgraph_of_routines(&self->graph, self->routines, &self->symbols, err);
	calls = study_calls(self, err);
	return calls ? callgraph_of_stacks(&self->graph, calls, err) : err->code;
}

const struct callgraph *study_callgraph(struct study *self, struct err *err)
{
	return study_once(&self->routines_once, err, make_graph, self) < 0 ? NULL : &self->graph;
}
