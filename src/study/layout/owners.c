/* SPDX-License-Identifier: MIT
 * Owners of an open trace.
 * Host. Pointers are read when somebody asks: they can take more memory than all the rest. */
#include "study/layout/owners.h"

#include "study/analysis/owners/choose.h"
#include "study/layout/slots.h"
#include "study/model/graphs.h"

struct held {
	struct model *pointers; /* has nothing else: that of the trace is only read */
	struct owners_scans scans;
	const struct stream_graph *largest;
	struct type_cascade types;
	struct owners **owners; /* by scan, NULL = nobody asked */
	struct owners_span span;
	struct owner_growth growth; /* before: not found yet */
};

static void held_free(void *data)
{
	struct held *self = data;

	for (u64 i = 0; self->owners && i < self->scans.count; i++) {
		if (self->owners[i])
			owners_release(self->owners[i]);
		free(self->owners[i]);
	}
	free(self->owners);
	owner_growth_release(&self->growth);
	type_cascade_release(&self->types);
	model_free(self->pointers);
	free(self);
}

static int find(struct held *self, struct study *trace, struct err *err)
{
	struct graphs_source from = study_pointers(trace);
	struct type_query types = {.source = &trace->stacks};
	const struct model *pointers = self->pointers;

	if (model_read_graphs(self->pointers, &from, err) < 0)
		return err->code;
	if (!pointers->graphs.count)
		return err_set(
			err, ERR_USAGE,
			"the trace has no owners; record with 'heapwise run --owners PROGRAM'");
	self->scans =
		(struct owners_scans){trace->model, pointers->graphs.data, pointers->graphs.count};
	self->largest = owners_largest(&self->scans);
	self->owners = calloc(self->scans.count, sizeof *self->owners);
	return self->owners ? type_cascade_init(&self->types, &types, err)
			    : err_memory_for(err, "the owners");
}

static void *make(struct study *trace, u32 slot, struct err *err)
{
	struct held *self = calloc(1, sizeof *self);
	int status;

	(void)slot;
	if (!self || !(self->pointers = model_new())) {
		free(self);
		err_memory_for(err, "the owners");
		return NULL;
	}
	pthread_mutex_lock(&trace->analysis_lock);
	status = find(self, trace, err);
	pthread_mutex_unlock(&trace->analysis_lock);
	if (status == 0)
		return self;
	held_free(self);
	return NULL;
}

/* With the lock. */
static struct owners *owners_at(struct held *self, const struct stream_graph *graph,
				struct err *err)
{
	struct owners **place = &self->owners[graph - self->scans.graphs];
	struct owners_query query = {.graph = graph, .types = &self->types};

	if (*place)
		return *place;
	*place = calloc(1, sizeof **place);
	if (!*place) {
		err_memory_for(err, "the owners");
		return NULL;
	}
	if (owners_make(*place, &query, err) == 0)
		return *place;
	owners_release(*place);
	free(*place);
	*place = NULL;
	return NULL;
}

struct owners *view_owners(struct study *trace, const u64 *at_ns, struct err *err)
{
	struct held *held = study_slot(trace, SLOT_OWNERS, make, held_free, err);
	const struct stream_graph *graph;
	struct owners *owners;

	if (!held)
		return NULL;
	graph = at_ns ? owners_nearest(&held->scans, tick_clock_ticks(&trace->model->clock, *at_ns))
		      : held->largest;
	pthread_mutex_lock(&trace->analysis_lock);
	owners = owners_at(held, graph, err);
	pthread_mutex_unlock(&trace->analysis_lock);
	return owners;
}

/* With the lock. */
static int find_growth(struct held *self, const struct owners *after, struct err *err)
{
	struct owners_query query = {.graph = self->span.before, .types = &self->types};
	int status;

	if (self->growth.before)
		return 0;
	self->growth.limits = (struct owner_growth_limits){GROWN_MIN_BYTES, 0.01};
	status = owner_growth_find(&self->growth, &query, after, err);
	query.graph = owners_between(&self->scans, &self->span);
	if (status == 0 && query.graph)
		status = owner_growth_confirm(&self->growth, &query, after, err);
	if (status < 0)
		owner_growth_release(&self->growth);
	return status;
}

struct result *view_growth(struct study *trace, u64 top, struct err *err)
{
	struct held *held = study_slot(trace, SLOT_OWNERS, make, held_free, err);
	struct result *table = NULL;
	struct owners *after;

	if (!held || held->scans.count < 2)
		return NULL;
	pthread_mutex_lock(&trace->analysis_lock);
	owners_span(&held->scans, &held->span);
	after = owners_at(held, held->span.after, err);
	if (after && find_growth(held, after, err) == 0)
		table = owner_growth_result(&held->growth, after, top, err);
	pthread_mutex_unlock(&trace->analysis_lock);
	return table;
}
