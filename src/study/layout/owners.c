/* SPDX-License-Identifier: MIT
 * Owners of an open trace.
 * Host. Pointers are read when somebody asks: they can take more memory than all the rest. */
#include "study/layout/owners.h"

#include "study/analysis/owners/choose.h"
#include "study/layout/slots.h"
#include "study/model/graphs.h"

struct held {
	struct model *pointers; /* has nothing else: that of the trace is only read */
	struct type_cascade types;
	struct owners owners;
};

static void held_free(void *data)
{
	struct held *self = data;

	owners_release(&self->owners);
	type_cascade_release(&self->types);
	model_free(self->pointers);
	free(self);
}

static int find(struct held *self, struct study *trace, struct err *err)
{
	struct graphs_source from = {trace->path, (int)study_image(trace), &trace->info};
	struct type_query types = {.source = &trace->stacks};
	struct owners_query query = {.types = &self->types};
	const struct model *pointers = self->pointers;

	if (model_read_graphs(self->pointers, &from, err) < 0)
		return err->code;
	if (!pointers->graphs.count)
		return err_set(
			err, ERR_USAGE,
			"the trace has no owners; record with 'heapwise run --owners PROGRAM'");
	query.graph = owners_largest(&(struct owners_scans){trace->model, pointers->graphs.data,
							    pointers->graphs.count});
	return type_cascade_init(&self->types, &types, err) < 0
		       ? err->code
		       : owners_make(&self->owners, &query, err);
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

struct owners *view_owners(struct study *trace, struct err *err)
{
	struct held *held = study_slot(trace, SLOT_OWNERS, make, held_free, err);

	return held ? &held->owners : NULL;
}
