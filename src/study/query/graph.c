/* SPDX-License-Identifier: MIT
 * Text → graph.
 * Host. */
#include "study/query/graph.h"

#include <stdio.h>
#include <string.h>

struct walk {
	struct graph *graph;
	const struct query *query;
	int *let_boxes; /* by let: box at its end */
	bool failed;
};

static int add_box(struct walk *self, struct graph_box box)
{
	if (!vec_push(&self->graph->boxes, box)) {
		self->failed = true;
		return GRAPH_NO_BOX;
	}
	return (int)self->graph->boxes.count - 1;
}

static int walk_pipe(struct walk *self, const struct pipe *pipe, bool is_let);

static int walk_source(struct walk *self, const struct pipe *pipe, bool alone)
{
	const struct source *source = &pipe->source;
	struct graph_box box = {.kind = source->kind,
				.pipe = pipe,
				.inputs = {GRAPH_NO_BOX, GRAPH_NO_BOX}};

	if (source->kind == SOURCE_NAME && !alone)
		return self->let_boxes[source->let];
	if (source->kind == SOURCE_NAME)
		box.inputs[0] = self->let_boxes[source->let];
	for (u32 i = 0; i < 2; i++)
		if (source->inputs[i])
			box.inputs[i] = walk_pipe(self, source->inputs[i], false);
	return add_box(self, box);
}

/* A let that only gives another one a second name is a box of its own. */
static int walk_pipe(struct walk *self, const struct pipe *pipe, bool is_let)
{
	int last = walk_source(self, pipe, is_let && pipe->stage_count == 0);

	for (u32 i = 0; i < pipe->stage_count; i++)
		last = add_box(self, (struct graph_box){.kind = BOX_STAGES + pipe->stages[i].kind,
							.pipe = pipe,
							.stage = i + 1,
							.inputs = {last, GRAPH_NO_BOX}});
	return last;
}

static void walk_let(struct walk *self, u64 index)
{
	const struct query_let *let = &self->query->lets.data[index];

	if (let->kind == LET_PIPE)
		self->let_boxes[index] = walk_pipe(self, &let->pipe, true);
	else
		self->let_boxes[index] =
			add_box(self,
				(struct graph_box){.kind = let->kind == LET_SCORE ? BOX_SCORE
										  : BOX_CATEGORY,
						   .inputs = {GRAPH_NO_BOX, GRAPH_NO_BOX}});
	if (self->let_boxes[index] >= 0)
		self->graph->boxes.data[self->let_boxes[index]].let = let;
}

bool graph_of_query(struct graph *self, const struct query *query)
{
	struct walk walk = {.graph = self, .query = query};

	walk.let_boxes = calloc(query->lets.count + 1, sizeof *walk.let_boxes);
	if (!walk.let_boxes)
		return false;
	for (u32 pass = 0; pass < 2; pass++)
		for (u64 i = 0; i < query->lets.count; i++)
			if ((query->lets.data[i].kind == LET_PIPE) == (pass == 1))
				walk_let(&walk, i);
	self->output = walk_pipe(&walk, &query->pipe, false);
	free(walk.let_boxes);
	return !walk.failed;
}

void graph_release(struct graph *self)
{
	vec_release(&self->boxes);
	*self = (struct graph){0};
}

/* ---- as JSON ---- */

struct writer {
	const struct query *query;
	const struct graph *graph;
	struct json *json;
	struct strbuf text; /* scratch */
	VEC(const char *) ids;
	struct arena arena;
};

static void write_expr(struct writer *self, const char *key, const struct expr *expr)
{
	strbuf_clear(&self->text);
	expr_print(self->query, expr, &self->text);
	json_text(self->json, key, strbuf_text(&self->text));
}

static void write_argument(struct writer *self, const char *key, const struct stage *stage,
			   u32 argument, u32 item)
{
	strbuf_clear(&self->text);
	argument_print(self->query, stage, argument, item, &self->text);
	json_text(self->json, key, strbuf_text(&self->text));
}

static void write_stage(struct writer *self, const struct stage *stage)
{
	const struct stage_argument *what = stage_arguments[stage->kind];
	struct json *json = self->json;

	for (u32 a = 0; what->name; what++, a++) {
		u32 count = argument_count(stage, a);

		if (what->kind == ARGUMENT_FLAG && (count || !what->alone))
			json_bool(json, what->name, count != 0);
		else if (what->kind == ARGUMENT_COUNT)
			json_number(json, what->name, stage->number);
		else if (what->kind != ARGUMENT_LIST && count)
			write_argument(self, what->name, stage, a, 0);
		if (what->kind != ARGUMENT_LIST)
			continue;
		json_open(json, what->name, '[');
		for (u32 i = 0; i < count; i++)
			write_argument(self, NULL, stage, a, i);
		json_close(json, ']');
	}
}

static void write_args(struct writer *self, const struct graph_box *box)
{
	json_open(self->json, "args", '{');
	if (box->kind >= BOX_SCORE) {
		json_text(self->json, "name", box->let->name);
		write_expr(self, "expr", box->let->expr);
	} else if (box->stage) {
		write_stage(self, &box->pipe->stages[box->stage - 1]);
	} else if (box->kind == SOURCE_AT) {
		strbuf_clear(&self->text);
		source_print_time(&box->pipe->source, &self->text);
		json_text(self->json, "time", strbuf_text(&self->text));
	} else if (box->kind == SOURCE_TRACE) {
		json_text(self->json, "name", box->pipe->source.name);
	}
	json_close(self->json, '}');
}

static void write_box(struct writer *self, u64 index)
{
	const struct graph_box *box = &self->graph->boxes.data[index];
	const struct query_position *position =
		index < self->query->positions.count ? &self->query->positions.data[index] : NULL;

	json_open_flat(self->json, NULL, '{');
	json_text(self->json, "id", self->ids.data[index]);
	json_text(self->json, "kind", query_boxes[box->kind].kind);
	write_args(self, box);
	if (position) {
		json_real(self->json, "x", position->x);
		json_real(self->json, "y", position->y);
	}
	json_text(self->json, "label", position ? position->label : "");
	if (box->let && box->let->kind == LET_PIPE)
		json_text(self->json, "name", box->let->name);
	json_close(self->json, '}');
}

static void write_edges(struct writer *self)
{
	json_open(self->json, "edges", '[');
	for (u64 i = 0; i < self->graph->boxes.count; i++) {
		for (u32 in = 0; in < 2; in++) {
			int from = self->graph->boxes.data[i].inputs[in];

			if (from < 0)
				continue;
			json_open_flat(self->json, NULL, '{');
			json_text(self->json, "from", self->ids.data[from]);
			json_number(self->json, "out", 0);
			json_text(self->json, "to", self->ids.data[i]);
			json_number(self->json, "in", in);
			json_close(self->json, '}');
		}
	}
	json_close(self->json, ']');
}

static bool id_is_used(const struct writer *self, const char *id)
{
	for (u64 i = 0; i < self->ids.count; i++)
		if (strcmp(self->ids.data[i], id) == 0)
			return true;
	return false;
}

/* The editor's names of the boxes, and b1, b2 … where it gave none. */
static bool make_ids(struct writer *self)
{
	for (u64 i = 0; i < self->graph->boxes.count; i++) {
		const char *id =
			i < self->query->positions.count ? self->query->positions.data[i].id : NULL;
		char own[32];

		for (u64 n = i + 1; !id || id_is_used(self, id); n += self->graph->boxes.count) {
			snprintf(own, sizeof own, "b%llu", (unsigned long long)n);
			id = arena_copy(&self->arena, own);
			if (!id)
				return false;
		}
		if (!vec_push(&self->ids, id))
			return false;
	}
	return true;
}

bool query_write_graph(const struct query *query, struct json *json, const char *key)
{
	struct graph graph = {0};
	struct writer writer = {.query = query, .graph = &graph, .json = json};
	bool fine = graph_of_query(&graph, query) && make_ids(&writer);

	if (fine) {
		json_open(json, key, '{');
		json_open(json, "boxes", '[');
		for (u64 i = 0; i < graph.boxes.count; i++)
			write_box(&writer, i);
		json_close(json, ']');
		write_edges(&writer);
		json_text(json, "output", writer.ids.data[graph.output]);
		json_close(json, '}');
	}
	fine = fine && !writer.text.failed;
	strbuf_release(&writer.text);
	vec_release(&writer.ids);
	arena_release(&writer.arena);
	graph_release(&graph);
	return fine;
}
