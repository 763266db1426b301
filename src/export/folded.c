/* SPDX-License-Identifier: MIT
 * Folded stacks, what flamegraph.pl, inferno and speedscope read: a line for each stack, functions from the
 * outermost on with semicolons between, a space, a number.
 * Host. */
#include <ctype.h>
#include <inttypes.h>

#include "export/export.h"
#include "export/places.h"

/* Stacks of different addresses that read the same are one line. */
struct folding {
	const struct export_job *job;
	struct places places;
	struct call_tree tree;
	VEC(u64) values; /* by node */
	VEC(u32) path;   /* scratch */
};

static int add_points(struct folding *self, struct err *err)
{
	const struct model *model = self->job->stacks.model;
	struct export_sum sums[EXPORT_METRICS] = {{0}};
	u64 values[EXPORT_METRICS];

	for (u64 i = 0; i < model->points.count; i++) {
		u32 node;

		export_values(model, &model->points.data[i], sums, values);
		if (!values[self->job->metric])
			continue;
		places_walk(&self->places, model->points.data[i].frame);
		if (self->places.failed ||
		    !call_tree_add(&self->tree, &self->places, false, &node) ||
		    !vec_extend(&self->values, (u64)node + 1))
			return export_no_memory(err);
		self->values.data[node] += values[self->job->metric];
	}
	return 0;
}

/* A semicolon ends a function, a newline the stack; what follows the last space is the number. */
static void put_name(const char *name, FILE *out)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : iscntrl((unsigned char)*name) ? ' ' : *name, out);
}

static int put_node(struct folding *self, u32 node, FILE *out, struct err *err)
{
	vec_clear(&self->path);
	for (u32 at = node; at; at = self->tree.nodes.data[at].parent)
		if (!vec_push(&self->path, self->tree.nodes.data[at].key))
			return export_no_memory(err);
	for (u64 i = self->path.count; i-- > 0;) {
		put_name(self->places.functions.data[self->path.data[i]].name, out);
		fputc(i ? ';' : ' ', out);
	}
	fprintf(out, "%" PRIu64 "\n", self->values.data[node]);
	return 0;
}

int folded_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct folding self = {.job = job};
	int status;

	places_init(&self.places, &job->stacks);
	status = add_points(&self, err);
	for (u32 node = 1; node < self.values.count && status == 0; node++)
		if (self.values.data[node])
			status = put_node(&self, node, out, err);
	places_release(&self.places);
	call_tree_release(&self.tree);
	vec_release(&self.values);
	vec_release(&self.path);
	return status;
}
