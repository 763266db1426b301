/* SPDX-License-Identifier: MIT
 * The calls that lead to allocations, as a graph for Graphviz, by one measure. Functions and calls
 * below half a percent of the whole are left out: nobody can read a graph of thousands.
 * Host. */
#include "host/base/units.h"
#include "show/formats/measured.h"
#include "study/result/dot.h"

#define SHOWN_SHARE 0.005

struct drawing {
	const struct export_job *job;
	struct measured_calls sums;
	struct arena arena;
	VEC(struct dot_node) nodes;
	VEC(struct dot_edge) edges;
	VEC(u32) of_function; /* number of its node + 1, 0 = not shown */
};

static bool is_shown(const struct drawing *self, u64 value)
{
	return value && units_share(value, self->sums.sum.of[self->job->metric]) >= SHOWN_SHARE;
}

static const char *amount(struct drawing *self, u64 value)
{
	bool bytes = export_metric_unit(self->job->metric)[0] == 'b';
	struct unit_text text = bytes ? units_bytes(value) : units_count(value);
	struct unit_text share =
		units_percent(units_share(value, self->sums.sum.of[self->job->metric]));
	struct strbuf both = {0};
	const char *copy;

	strbuf_addf(&both, "%s (%s)", text.text, share.text);
	copy = arena_copy(&self->arena, strbuf_text(&both));
	strbuf_release(&both);
	return copy;
}

static int add_nodes(struct drawing *self, struct err *err)
{
	const struct places *places = &self->sums.places;

	if (!vec_extend(&self->of_function, places->functions.count))
		return err_memory_for(err, "the export");
	for (u32 i = 0; i < self->sums.within.count; i++) {
		u64 value = self->sums.within.data[i].of[self->job->metric];
		struct dot_node node = {.label = places->functions.data[i].name,
					.tooltip = places->functions.data[i].file,
					.remark = amount(self, value)};

		if (!is_shown(self, value))
			continue;
		node.share = units_share(value, self->sums.sum.of[self->job->metric]);
		if (!node.remark || !vec_push(&self->nodes, node))
			return err_memory_for(err, "the export");
		self->of_function.data[i] = (u32)self->nodes.count;
	}
	return 0;
}

static int add_edges(struct drawing *self, struct err *err)
{
	for (u64 i = 0; i < self->sums.calls.count; i++) {
		const struct measured_call *call = &self->sums.calls.data[i];
		struct dot_edge edge = {.weight = call->sum.of[self->job->metric]};
		u32 from = self->of_function.data[call->caller],
		    to = self->of_function.data[call->callee];

		if (!from || !to || !is_shown(self, edge.weight))
			continue;
		edge.from = from - 1;
		edge.to = to - 1;
		if (!vec_push(&self->edges, edge))
			return err_memory_for(err, "the export");
	}
	return 0;
}

int dot_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct drawing self = {.job = job};
	int status = measured_calls_build(&self.sums, job, false, err);

	if (status == 0)
		status = add_nodes(&self, err);
	if (status == 0)
		status = add_edges(&self, err);
	if (status == 0) {
		struct dot_graph graph = {.name = export_metric_title(job->metric),
					  .nodes = self.nodes.data,
					  .node_count = self.nodes.count,
					  .edges = self.edges.data,
					  .edge_count = self.edges.count};

		render_dot(&graph, out);
	}
	measured_calls_release(&self.sums);
	arena_release(&self.arena);
	vec_release(&self.nodes);
	vec_release(&self.edges);
	vec_release(&self.of_function);
	return status;
}
