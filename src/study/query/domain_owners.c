/* SPDX-License-Identifier: MIT
 * Who holds a chunk, and what it retains: at the scan with most live bytes, as `heapwise owners`.
 * Host. */
#include "host/base/search.h"
#include "study/analysis/owners/choose.h"
#include "study/query/domain.h"

#define NONE UINT32_MAX

/* Those of the model, if it was read with them; NULL and no error if the trace has none. */
static const struct stream_graph *find_graph(struct domain *self, struct err *err)
{
	const struct model *from = self->model;
	struct owners_scans scans;

	if (!from->graphs.count && self->trace.pointers.path) {
		self->pointers = model_new();
		if (!self->pointers) {
			err_memory_for(err, "a query");
			return NULL;
		}
		if (model_read_graphs(self->pointers, &self->trace.pointers, err) < 0)
			return NULL;
		from = self->pointers;
	}
	scans = (struct owners_scans){self->model, from->graphs.data, from->graphs.count};
	return owners_largest(&scans);
}

int domain_need_owners(struct domain *self, struct err *err)
{
	struct owners_query query = {.types = &self->types};
	struct err failure = {0};

	if (self->owners_ready)
		return 0;
	if (domain_need_types(self, err) < 0)
		return err->code;
	query.graph = find_graph(self, &failure);
	if (query.graph)
		owners_make(&self->owners, &query, &failure);
	if (failure.code) {
		domain_release_owners(self);
		*err = failure;
	}
	self->has_owners = query.graph && !failure.code;
	self->owners_ready = !failure.code;
	return failure.code;
}

void domain_release_owners(struct domain *self)
{
	owners_release(&self->owners);
	model_free(self->pointers);
	self->pointers = NULL;
}

void domain_nodes(const struct domain *self, u64 first, u32 count, u32 *nodes)
{
	const struct stream_graph *graph = self->has_owners ? owners_graph(&self->owners) : NULL;
	u64 at = graph ? bisect(i, graph->chunk_count, graph_chunk(graph, i) < first) : 0;

	for (u32 i = 0; i < count; i++) {
		bool live = graph && at < graph->chunk_count && graph_chunk(graph, at) == first + i;

		nodes[i] = live ? graph_node(graph, at++) : NONE;
	}
}

/* "cache (data of app) → Session": from the outermost to the one that holds the shape. */
const char *domain_owner_text(struct domain *self, u32 shape)
{
	const struct owner_shape *shapes = self->owners.shapes.data;
	struct strbuf text = {0};
	u32 chain[256], count = 0;
	const char *kept;

	for (u32 at = shapes[shape].parent; at && count < 256; at = shapes[at].parent)
		chain[count++] = at;
	while (count--)
		strbuf_addf(&text, "%s%s", text.count ? " → " : "",
			    self->owners.kinds.data[shapes[chain[count]].kind].label);
	kept = text.count ? names_keep(&self->names, strbuf_text(&text)) : NULL;
	strbuf_release(&text);
	return kept;
}
