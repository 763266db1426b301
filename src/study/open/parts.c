/* SPDX-License-Identifier: MIT
 * What commands and views share of an open trace, each made when it is first asked for.
 * Host. */
#include "study/open/study.h"

/* ---- made once ---- */

static void once_init(struct study_once *self) { pthread_mutex_init(&self->lock, NULL); }

/* With the lock, which is let go. Without memory it may go better the next time; the rest stays as
 * it is. */
static int once_end(struct study_once *self, struct err *err)
{
	int status = self->status;

	self->made = status != ERR_MEMORY;
	if (status < 0)
		*err = self->err;
	pthread_mutex_unlock(&self->lock);
	return status;
}

void *study_slot(struct study *self, u32 number,
		 void *(*make)(struct study *self, u32 slot, struct err *err),
		 void (*free)(void *data), struct err *err)
{
	struct study_slot *slot = &self->slots[number];

	pthread_mutex_lock(&slot->once.lock);
	if (!slot->once.made) {
		slot->free = free;
		slot->data = make(self, number, &slot->once.err);
		slot->once.status = slot->data ? 0 : slot->once.err.code;
	}
	return once_end(&slot->once, err) < 0 ? NULL : slot->data;
}

void study_parts_init(struct study *self)
{
	pthread_mutex_init(&self->analysis_lock, NULL);
	for (u32 i = 0; i < STUDY_PARTS; i++)
		once_init(&self->parts[i]);
	for (u32 i = 0; i < STUDY_SLOTS; i++)
		once_init(&self->slots[i].once);
}

void study_parts_release(struct study *self)
{
	for (u32 i = 0; i < STUDY_SLOTS; i++)
		if (self->slots[i].data)
			self->slots[i].free(self->slots[i].data);
	findings_release(&self->findings);
	type_list_release(&self->type_list);
	behaviour_table_release(&self->behaviour);
	growth_samples_free(self->growth);
	free(self->severity);
	free(self->scores);
	type_cascade_release(&self->types);
	free(self->point_types);
	callgraph_release(&self->graph);
	if (self->routines)
		routine_graph_release(self->routines);
	free(self->routines);
	mprof_calls_release(&self->calls);
	mprof_calls_release(&self->folded);
}

/* ---- calls ---- */

static int make_calls(struct study *self, struct err *err)
{
	return mprof_calls_read(&self->calls, &self->stacks, err);
}

static int make_folded(struct study *self, struct err *err)
{
	return mprof_calls_read_lisp(&self->folded, &self->folded_stacks, false, err);
}

static int make_routines(struct study *self, struct err *err)
{
	struct stream_sink sink;

	self->routines = calloc(1, sizeof *self->routines);
	if (!self->routines)
		return err_memory_for(err, "routines");
	if (!self->info.routines)
		return 0;
	sink = routine_graph_sink(self->routines);
	return study_stream(self, &sink, err) < 0 ? err->code
						  : routine_graph_finish(self->routines, err);
}

static int make_graph(struct study *self, struct err *err)
{
	const struct routine_graph *routines = study_routines(self, err);
	const struct mprof_calls *calls;

	if (!routines)
		return err->code;
	if (routines->counts.enters || routines->counts.leaves)
		return callgraph_of_routines(&self->graph, routines, &self->symbols, err);
	calls = study_calls(self, err);
	return calls ? callgraph_of_stacks(&self->graph, calls, err) : err->code;
}

/* ---- types and scores ---- */

static int make_types(struct study *self, struct err *err)
{
	struct type_query query = {.source = &self->type_stacks, .guess = self->how.shared};
	int status;

	self->type_stacks = self->stacks;
	self->type_stacks.behaviour = &self->behaviour;
	status = type_cascade_init(&self->types, &query, err);
	model_rest(self->model);
	if (status < 0)
		return status;
	self->point_types = calloc(self->model->points.count + 1, sizeof *self->point_types);
	if (!self->point_types)
		return err_memory_for(err, "the types");
	type_of_points(&self->types, self->point_types);
	return 0;
}

static int make_scores(struct study *self, struct err *err)
{
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
	if (self->engine)
		query_engine_give_scores(self->engine, &self->behaviour);
	return 0;
}

static int make_type_list(struct study *self, struct err *err)
{
	const struct thresholds limits = THRESHOLDS_DEFAULT;
	int status;

	if (study_scores(self, err) < 0 || study_types(self, err) < 0)
		return err->code;
	status = type_list_make(&self->type_list, &self->types, &limits, err);
	model_rest(self->model);
	return status;
}

static int make_findings(struct study *self, struct err *err)
{
	struct findings_query query = {.thresholds = THRESHOLDS_DEFAULT,
				       .min_share = FINDINGS_MIN_SHARE,
				       .pointers = study_pointers(self)};
	struct stack_source source;

	if (study_scores(self, err) < 0)
		return err->code;
	source = self->stacks;
	source.behaviour = &self->behaviour;
	return findings_make(&self->findings, &source, &self->info, &query, err);
}

/* ---- asking ---- */

static int part_ask(struct study *self, enum study_part part, struct err *err)
{
	static int (*const makers[STUDY_PARTS])(struct study * self, struct err * err) = {
		[PART_CALLS] = make_calls,         [PART_FOLDED_CALLS] = make_folded,
		[PART_ROUTINES] = make_routines,   [PART_CALLGRAPH] = make_graph,
		[PART_TYPES] = make_types,         [PART_SCORES] = make_scores,
		[PART_TYPE_LIST] = make_type_list, [PART_FINDINGS] = make_findings,
	};
	struct study_once *once = &self->parts[part];

	pthread_mutex_lock(&once->lock);
	if (!once->made)
		once->status = makers[part](self, &once->err);
	return once_end(once, err);
}

const struct mprof_calls *study_calls(struct study *self, struct err *err)
{
	return part_ask(self, PART_CALLS, err) < 0 ? NULL : &self->calls;
}

const struct mprof_calls *study_calls_folded(struct study *self, struct err *err)
{
	return part_ask(self, PART_FOLDED_CALLS, err) < 0 ? NULL : &self->folded;
}

const struct routine_graph *study_routines(struct study *self, struct err *err)
{
	return part_ask(self, PART_ROUTINES, err) < 0 ? NULL : self->routines;
}

const struct callgraph *study_callgraph(struct study *self, struct err *err)
{
	return part_ask(self, PART_CALLGRAPH, err) < 0 ? NULL : &self->graph;
}

int study_types(struct study *self, struct err *err) { return part_ask(self, PART_TYPES, err); }

int study_scores(struct study *self, struct err *err) { return part_ask(self, PART_SCORES, err); }

const struct type_list *study_type_list(struct study *self, struct err *err)
{
	return part_ask(self, PART_TYPE_LIST, err) < 0 ? NULL : &self->type_list;
}

const struct findings *study_findings(struct study *self, struct err *err)
{
	return part_ask(self, PART_FINDINGS, err) < 0 ? NULL : &self->findings;
}

const char *study_known_type(struct study *self, u64 point)
{
	struct study_once *once = &self->parts[PART_TYPES];
	bool known;

	pthread_mutex_lock(&once->lock);
	known = once->made && once->status == 0;
	pthread_mutex_unlock(&once->lock);
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
