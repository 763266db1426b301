/* SPDX-License-Identifier: MIT
 * Who holds the memory, as a graph: the owners of the tree that `heapwise owners` shows, and the
 * pointers between them. Owners that retain less than a share of the live bytes are left out.
 * Host. */
#include <inttypes.h>

#include "host/base/keyed.h"
#include "host/base/text.h"
#include "host/base/units.h"
#include "show/formats/export.h"
#include "study/analysis/owners/choose.h"
#include "study/analysis/owners/result.h"
#include "study/result/dot.h"

/* From one owner to another; numbers of nodes. */
struct link {
	u32 from, to;
	u64 pointers;
	bool holds; /* the tree has it */
};

struct drawing {
	const struct export_job *job;
	struct owners owners;
	u64 all_bytes;
	u32 *node_of;    /* by shape: number of its node + 1, 0 = left out */
	VEC(u32) shapes; /* by node */
	VEC(struct link) links;
	struct map by_ends;
};

static int no_memory(struct err *err) { return err_memory_for(err, "the export"); }

static const struct owner_shape *shape_at(const struct drawing *self, u64 node)
{
	return &self->owners.shapes.data[self->shapes.data[node]];
}

static const struct owner_kind *kind_at(const struct drawing *self, u64 node)
{
	return &self->owners.kinds.data[shape_at(self, node)->kind];
}

/* ---- what is drawn ---- */

static struct link *link_between(struct drawing *self, u32 from, u32 to)
{
	u64 key = (u64)from << 32 | to;

	return vec_at_key(&self->links, &self->by_ends, key + 1, (struct link){from, to, 0, false});
}

/* The first shape is the program, which has no pointers. */
static bool add_nodes(struct drawing *self)
{
	u64 count = self->owners.shapes.count;
	double least = self->job->min_share * (double)self->all_bytes;

	self->node_of = calloc(count + 1, sizeof *self->node_of);
	for (u32 shape = 1; self->node_of && shape < count; shape++) {
		const struct owner_shape *at = &self->owners.shapes.data[shape];
		u32 above = self->node_of[at->parent];
		struct link *link;

		if (!at->sums.retained || (double)at->sums.retained < least)
			continue;
		if (!vec_push(&self->shapes, shape))
			return false;
		self->node_of[shape] = (u32)self->shapes.count;
		if (!above)
			continue;
		link = link_between(self, above - 1, self->node_of[shape] - 1);
		if (!link)
			return false;
		link->holds = true;
	}
	return self->node_of;
}

static bool add_pointers(struct drawing *self)
{
	const struct stream_graph *graph = owners_graph(&self->owners);
	const u32 *shape_of = self->owners.shape_of;

	for (u64 node = 0; node < graph->chunk_count + graph->root_count; node++) {
		u32 from = self->node_of[shape_of[node]];

		for (u64 i = graph->starts[node]; from && i < graph->starts[node + 1]; i++) {
			u32 to = self->node_of[shape_of[graph->edges[i].target]];
			struct link *link = to ? link_between(self, from - 1, to - 1) : NULL;

			if (to && !link)
				return false;
			if (link)
				link->pointers++;
		}
	}
	return true;
}

static int drawing_make(struct drawing *self, const struct export_job *job, struct err *err)
{
	const struct model *model = job->stacks.model;
	struct owners_scans scans = {model, model->graphs.data, model->graphs.count};
	struct owners_query query = {.graph = owners_largest(&scans), .types = job->types};

	*self = (struct drawing){.job = job};
	if (!query.graph)
		return owners_missing(model, job->path, err);
	if (owners_make(&self->owners, &query, err) < 0)
		return err->code;
	self->all_bytes = self->owners.tree.retained[self->owners.tree.program];
	return add_nodes(self) && add_pointers(self) ? 0 : no_memory(err);
}

static void drawing_release(struct drawing *self)
{
	owners_release(&self->owners);
	free(self->node_of);
	vec_release(&self->shapes);
	vec_release(&self->links);
	map_release(&self->by_ends);
}

/* ---- GraphML ---- */

static void put_keys(FILE *out)
{
	static const struct {
		const char *id, *of, *type;
	} keys[] = {
		{"owner", "node", "string"},        {"what", "node", "string"},
		{"retained_bytes", "node", "long"}, {"bytes", "node", "long"},
		{"count", "node", "long"},          {"pointers", "edge", "long"},
		{"holds", "edge", "boolean"},       {"live_bytes", "graph", "long"},
		{"time_ns", "graph", "long"},
	};

	for (u32 i = 0; i < sizeof keys / sizeof *keys; i++)
		fprintf(out, "  <key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
			keys[i].id, keys[i].of, keys[i].id, keys[i].type);
}

static void put_number(FILE *out, const char *key, u64 number)
{
	fprintf(out, "<data key=\"%s\">%" PRIu64 "</data>", key, number);
}

static void put_node(const struct drawing *self, u64 node, FILE *out)
{
	const struct owner_shape *shape = shape_at(self, node);

	fprintf(out, "    <node id=\"n%" PRIu64 "\"><data key=\"owner\">", node);
	text_put_xml(out, kind_at(self, node)->label);
	fprintf(out, "</data><data key=\"what\">%s</data>",
		owner_what_word(kind_at(self, node)->what));
	put_number(out, "retained_bytes", shape->sums.retained);
	put_number(out, "bytes", shape->sums.bytes);
	put_number(out, "count", shape->nodes);
	fputs("</node>\n", out);
}

static void put_graph(const struct drawing *self, FILE *out)
{
	const struct stream_graph *graph = owners_graph(&self->owners);
	const struct model *model = self->owners.model;

	fputs("    ", out);
	put_number(out, "live_bytes", self->all_bytes);
	put_number(out, "time_ns", tick_clock_ns(&model->clock, graph->ticks));
	fputc('\n', out);
	for (u64 i = 0; i < self->shapes.count; i++)
		put_node(self, i, out);
	for (u64 i = 0; i < self->links.count; i++) {
		const struct link *link = &self->links.data[i];

		fprintf(out, "    <edge source=\"n%u\" target=\"n%u\">", link->from, link->to);
		put_number(out, "pointers", link->pointers);
		fprintf(out, "<data key=\"holds\">%s</data></edge>\n",
			link->holds ? "true" : "false");
	}
}

int owners_graphml_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct drawing self;
	int status = drawing_make(&self, job, err);

	if (status == 0) {
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
		      out);
		put_keys(out);
		fputs("  <graph id=\"owners\" edgedefault=\"directed\">\n", out);
		put_graph(&self, out);
		fputs("  </graph>\n</graphml>\n", out);
	}
	drawing_release(&self);
	return status;
}

/* ---- DOT ---- */

static const char *remark_of(const struct drawing *self, u64 node, struct arena *arena)
{
	const struct owner_shape *shape = shape_at(self, node);
	struct strbuf text = {0};
	const char *kept;

	strbuf_addf(&text, "%s retained (%s)", units_bytes(shape->sums.retained).text,
		    units_percent(units_share(shape->sums.retained, self->all_bytes)).text);
	if (shape->nodes > 1)
		strbuf_addf(&text, ", %s chunks", units_count(shape->nodes).text);
	kept = arena_copy(arena, strbuf_text(&text));
	strbuf_release(&text);
	return kept;
}

static bool render(const struct drawing *self, struct arena *arena, FILE *out)
{
	struct dot_node *nodes = arena_new_array(arena, struct dot_node, self->shapes.count + 1);
	struct dot_edge *edges = arena_new_array(arena, struct dot_edge, self->links.count + 1);
	struct dot_graph graph = {.name = "owners",
				  .nodes = nodes,
				  .node_count = self->shapes.count,
				  .edges = edges,
				  .edge_count = self->links.count};

	for (u64 i = 0; nodes && edges && i < graph.node_count; i++)
		nodes[i] = (struct dot_node){.label = kind_at(self, i)->label,
					     .remark = remark_of(self, i, arena),
					     .share = units_share(shape_at(self, i)->sums.retained,
								  self->all_bytes)};
	for (u64 i = 0; nodes && edges && i < graph.edge_count; i++) {
		const struct link *link = &self->links.data[i];

		edges[i] = (struct dot_edge){link->from, link->to, link->pointers, !link->holds};
	}
	if (nodes && edges)
		render_dot(&graph, out);
	return nodes && edges;
}

int owners_dot_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct arena arena = {0};
	struct drawing self;
	int status = drawing_make(&self, job, err);

	if (status == 0 && !render(&self, &arena, out))
		status = no_memory(err);
	arena_release(&arena);
	drawing_release(&self);
	return status;
}
