/* SPDX-License-Identifier: MIT
 * Graph → text.
 * Host. Graphs come from strangers: ids, edges and arguments are checked before they are used, and
 * the text that comes of them is read again before it is given away. */
#include "study/query/graph.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SEVERAL = -2 };

struct box {
	const char *id, *label, *name; /* name: of its let, NULL = it is none */
	const struct json_node *args;
	u32 kind;
	double x, y;
	bool placed;
	int inputs[2];
	u32 readers;
	bool done;   /* its let was written */
	bool active; /* on the way from a reader: seen again it is a cycle */
	bool seen;
};

struct maker {
	struct box boxes[GRAPH_BOXES_MAX];
	u32 count;
	int output;
	struct strbuf text;
	struct arena arena;
	u32 order[GRAPH_BOXES_MAX]; /* as boxes stand in the text */
	u32 ordered;
	struct query_error *error;
};

static bool fail(struct maker *self, const struct box *box, const char *format, const char *word)
{
	query_error_set(self->error, ERR_USAGE, QUERY_NOWHERE, format, word);
	if (self->error && box && !self->error->box[0])
		snprintf(self->error->box, sizeof self->error->box, "%s", box->id);
	return false;
}

static bool no_memory(struct maker *self)
{
	query_error_memory(self->error);
	return false;
}

/* ---- boxes ---- */

static bool is_name(const char *text)
{
	for (const char *p = text; *p; p++)
		if (!isalnum((u8)*p) && *p != '_')
			return false;
	return *text && !isdigit((u8)*text) && strlen(text) <= QUERY_NAME_MAX &&
	       !word_is_reserved(text);
}

static bool is_line(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((u8)*p < 0x20)
			return false;
	return strlen(text) < 4000;
}

static int box_find(const struct maker *self, const char *id)
{
	for (u32 i = 0; id && i < self->count; i++)
		if (strcmp(self->boxes[i].id, id) == 0)
			return (int)i;
	return GRAPH_NO_BOX;
}

static bool read_kind(struct maker *self, struct box *box, const char *kind)
{
	struct nearest nearest = {.word = kind ? kind : ""};

	for (u32 i = 0; i < BOXES; i++) {
		if (strcmp(query_boxes[i].kind, nearest.word) == 0) {
			box->kind = i;
			return true;
		}
		nearest_try(&nearest, query_boxes[i].kind);
	}
	fail(self, box, "unknown kind of box '%.40s'", nearest.word);
	if (nearest.best)
		query_error_hint(self->error, "did you mean '%s'?", nearest.best);
	return false;
}

static bool read_box(struct maker *self, const struct json_node *node)
{
	struct box *box = &self->boxes[self->count];
	const struct json_node *x = json_member(node, "x"), *y = json_member(node, "y");

	*box = (struct box){.id = json_text_of(json_member(node, "id")),
			    .label = json_text_of(json_member(node, "label")),
			    .name = json_text_of(json_member(node, "name")),
			    .args = json_member(node, "args"),
			    .x = json_number_of(x, 0),
			    .y = json_number_of(y, 0),
			    .placed = x || y,
			    .inputs = {GRAPH_NO_BOX, GRAPH_NO_BOX}};
	if (!box->id || !query_is_id(box->id))
		return fail(self, NULL, "%s",
			    "the id of a box must consist of letters, digits and _-.:");
	if (box_find(self, box->id) >= 0)
		return fail(self, box, "two boxes have the id '%s'", box->id);
	if (!read_kind(self, box, json_text_of(json_member(node, "kind"))))
		return false;
	if (!box->label)
		box->label = "";
	if (!is_line(box->label) || strlen(box->label) > QUERY_LABEL_MAX)
		return fail(self, box, "%s", "a label must be one short line");
	if (box->name && !*box->name)
		box->name = NULL;
	if (box->name && !is_name(box->name))
		return fail(self, box, "'%.40s' is not a valid name", box->name);
	self->count++;
	return true;
}

static bool read_boxes(struct maker *self, const struct json_node *list)
{
	if (!list || list->kind != JSON_ARRAY || !list->count)
		return fail(self, NULL, "%s", "a graph needs a list of boxes");
	if (list->count > GRAPH_BOXES_MAX)
		return fail(self, NULL, "%s", "a graph can have at most 200 boxes");
	for (const struct json_node *node = list->first; node; node = node->next)
		if (!read_box(self, node))
			return false;
	for (u32 i = 0; i < self->count; i++)
		for (u32 k = 0; k < i && self->boxes[i].name; k++)
			if (self->boxes[k].name &&
			    strcmp(self->boxes[i].name, self->boxes[k].name) == 0)
				return fail(self, &self->boxes[i], "'%s' is already defined",
					    self->boxes[i].name);
	return true;
}

/* ---- edges ---- */

static bool read_edge(struct maker *self, const struct json_node *node)
{
	int from = box_find(self, json_text_of(json_member(node, "from")));
	int to = box_find(self, json_text_of(json_member(node, "to")));
	double in = json_number_of(json_member(node, "in"), 0);
	struct box *box;

	if (from < 0 || to < 0)
		return fail(self, NULL, "%s", "an edge begins or ends at an unknown box");
	box = &self->boxes[to];
	if (in != (double)(u32)in || in >= query_boxes[box->kind].inputs)
		return fail(self, box, "a '%s' box has no such input", query_boxes[box->kind].kind);
	if (box->inputs[(u32)in] >= 0)
		return fail(self, box, "two edges lead to the same input of a '%s' box",
			    query_boxes[box->kind].kind);
	if (!query_boxes[self->boxes[from].kind].outputs)
		return fail(self, &self->boxes[from], "a '%s' box has no output",
			    query_boxes[self->boxes[from].kind].kind);
	box->inputs[(u32)in] = from;
	self->boxes[from].readers++;
	return true;
}

/* From a box back along its inputs. */
static bool find_cycle(struct maker *self, u32 index)
{
	struct box *box = &self->boxes[index];

	if (box->active)
		return fail(self, box, "%s", "the edges form a cycle");
	if (box->seen)
		return true;
	box->active = box->seen = true;
	for (u32 i = 0; i < 2; i++)
		if (box->inputs[i] >= 0 && !find_cycle(self, (u32)box->inputs[i]))
			return false;
	box->active = false;
	return true;
}

static bool read_edges(struct maker *self, const struct json_node *list)
{
	for (const struct json_node *node = list && list->kind == JSON_ARRAY ? list->first : NULL;
	     node; node = node->next)
		if (!read_edge(self, node))
			return false;
	for (u32 i = 0; i < self->count; i++) {
		for (u32 in = 0; in < query_boxes[self->boxes[i].kind].inputs; in++)
			if (self->boxes[i].inputs[in] < 0)
				return fail(self, &self->boxes[i],
					    "an input of this '%s' box is not connected",
					    query_boxes[self->boxes[i].kind].kind);
		if (!find_cycle(self, i))
			return false;
	}
	return true;
}

/* The box whose entries are the answer. */
static bool find_output(struct maker *self, const struct json_node *told)
{
	int named = GRAPH_NO_BOX, plain = GRAPH_NO_BOX;

	if (json_text_of(told)) {
		self->output = box_find(self, json_text_of(told));
		if (self->output < 0 || !query_boxes[self->boxes[self->output].kind].outputs)
			return fail(self, NULL, "the output '%.60s' is not a box",
				    json_text_of(told));
	}
	for (u32 i = 0; i < self->count; i++) {
		const struct box *box = &self->boxes[i];

		if (box->readers || !query_boxes[box->kind].outputs || (int)i == self->output)
			continue;
		if (!box->name && (plain >= 0 || self->output >= 0))
			return fail(self, box, "%s",
				    "no box reads this one, and it is not the output");
		if (!box->name)
			plain = (int)i;
		else
			named = named == GRAPH_NO_BOX ? (int)i : SEVERAL;
	}
	if (self->output < 0)
		self->output = plain >= 0 ? plain : named;
	return self->output >= 0 || fail(self, NULL, "%s",
					 "the graph has no output; set 'output' "
					 "to the id of a box");
}

/* ---- lets ---- */

static bool name_is_used(const struct maker *self, const char *name)
{
	for (u32 i = 0; i < self->count; i++) {
		const char *own = self->boxes[i].kind >= BOX_SCORE
					  ? json_text_of(json_member(self->boxes[i].args, "name"))
					  : self->boxes[i].name;

		if (own && strcmp(own, name) == 0)
			return true;
	}
	return false;
}

static bool make_name(struct maker *self, struct box *box)
{
	char name[64];

	snprintf(name, sizeof name, "%s", box->id);
	for (u32 n = 1; !is_name(name) || name_is_used(self, name); n++)
		snprintf(name, sizeof name, "v%u", n);
	box->name = arena_copy(&self->arena, name);
	return box->name || no_memory(self);
}

/* What has several readers needs a name, and so has what only gives another name, and what that
 * names. */
static bool make_names(struct maker *self)
{
	for (u32 i = 0; i < self->count; i++) {
		struct box *box = &self->boxes[i];
		struct box *input = box->inputs[0] >= 0 ? &self->boxes[box->inputs[0]] : NULL;
		bool output_read = (int)i == self->output && box->readers;

		if (!box->name && (box->readers > 1 || output_read || box->kind == BOX_PASS) &&
		    !make_name(self, box))
			return false;
		if (box->kind == BOX_PASS && !input->name && !make_name(self, input))
			return false;
	}
	return true;
}

/* ---- arguments ---- */

/* The argument's text; NULL and error if there is none. */
static const char *argument(struct maker *self, const struct box *box, const char *name)
{
	const char *text = json_text_of(json_member(box->args, name));

	if (text && is_line(text))
		return text;
	fail(self, box, "the argument '%s' is missing or not a line of text", name);
	return NULL;
}

static bool add_argument(struct maker *self, const struct box *box, const char *name)
{
	const char *text = argument(self, box, name);

	strbuf_add(&self->text, text ? text : "");
	return text != NULL;
}

static bool add_list(struct maker *self, const struct box *box, const char *name)
{
	const struct json_node *list = json_member(box->args, name);
	bool fine = list && list->kind == JSON_ARRAY && list->count;

	for (const struct json_node *node = fine ? list->first : NULL; fine && node;
	     node = node->next) {
		fine = json_text_of(node) && is_line(node->text);
		if (fine)
			strbuf_addf(&self->text, "%s%s", node == list->first ? "" : ", ",
				    node->text);
	}
	return fine || fail(self, box, "the argument '%s' must be a list of texts", name);
}

static bool add_number(struct maker *self, const struct box *box, const char *name)
{
	const struct json_node *node = json_member(box->args, name);

	if (!node || node->kind != JSON_NUMBER)
		return add_argument(self, box, name);
	if (!(node->number >= 0 && node->number <= 0x1p53 &&
	      node->number == (double)(u64)node->number))
		return fail(self, box, "the argument '%s' must be a whole number", name);
	strbuf_addf(&self->text, "%llu", (unsigned long long)node->number);
	return true;
}

static bool is_given(const struct box *box, const struct stage_argument *what)
{
	const struct json_node *node = json_member(box->args, what->name);

	return node &&
	       (what->kind != ARGUMENT_FLAG || (node->kind == JSON_BOOL && node->number != 0));
}

static bool add_value(struct maker *self, const struct box *box, const struct stage_argument *what)
{
	strbuf_add_char(&self->text, ' ');
	strbuf_add(&self->text, what->before ? what->before : "");
	switch (what->kind) {
	case ARGUMENT_FLAG: strbuf_add(&self->text, what->name); return true;
	case ARGUMENT_LIST: return add_list(self, box, what->name);
	case ARGUMENT_COUNT:
	case ARGUMENT_BYTES: return add_number(self, box, what->name);
	default: return add_argument(self, box, what->name);
	}
}

static bool add_stage(struct maker *self, const struct box *box)
{
	const struct stage_argument *what = stage_arguments[box->kind - BOX_STAGES];

	strbuf_addf(&self->text, " | %s", query_boxes[box->kind].kind);
	for (; what->name; what++) {
		bool given = is_given(box, what);

		if (given && what->alone)
			return add_value(self, box, what);
		if (!given && (what->optional || what->alone || what->kind == ARGUMENT_FLAG))
			continue;
		if (!add_value(self, box, what))
			return false;
	}
	return true;
}

/* ---- the text ---- */

static bool add_pipe(struct maker *self, u32 index);

/* A box as another reads it: by its name, if it has one. */
static bool add_input(struct maker *self, int index)
{
	if (!self->boxes[index].name)
		return add_pipe(self, (u32)index);
	strbuf_add(&self->text, self->boxes[index].name);
	return true;
}

static bool add_source(struct maker *self, const struct box *box)
{
	const char *name;

	if (box->kind == BOX_PASS)
		return add_input(self, box->inputs[0]);
	strbuf_add(&self->text, query_boxes[box->kind].kind);
	if (box->kind == SOURCE_AT) {
		strbuf_add_char(&self->text, ' ');
		return add_argument(self, box, "time");
	}
	if (box->kind == SOURCE_TRACE) {
		name = json_text_of(json_member(box->args, "name"));
		strbuf_add_char(&self->text, ' ');
		text_print(name ? name : "", &self->text);
	}
	if (box->kind < SOURCE_UNION)
		return true;
	for (u32 i = 0; i < 2; i++) {
		strbuf_add(&self->text, i ? ", " : "(");
		if (!add_input(self, box->inputs[i]))
			return false;
	}
	strbuf_add_char(&self->text, ')');
	return true;
}

static bool add_pipe(struct maker *self, u32 index)
{
	const struct box *box = &self->boxes[index];
	bool fine;

	if (box->kind < SOURCES)
		fine = add_source(self, box);
	else
		fine = add_input(self, box->inputs[0]) && add_stage(self, box);
	self->order[self->ordered++] = index;
	return fine;
}

static bool add_let(struct maker *self, u32 index);

/* The lets that a pipe reads from come before it. */
static bool add_lets_before(struct maker *self, u32 index)
{
	for (u32 i = 0; i < 2; i++) {
		int input = self->boxes[index].inputs[i];

		if (input < 0)
			continue;
		if (!(self->boxes[input].name ? add_let(self, (u32)input)
					      : add_lets_before(self, (u32)input)))
			return false;
	}
	return true;
}

static bool add_let(struct maker *self, u32 index)
{
	struct box *box = &self->boxes[index];

	if (box->done)
		return true;
	box->done = true;
	if (!add_lets_before(self, index))
		return false;
	strbuf_addf(&self->text, "let %s = ", box->name);
	if (!add_pipe(self, index))
		return false;
	strbuf_add(&self->text, ";\n");
	return true;
}

static bool add_definition(struct maker *self, u32 index)
{
	const struct box *box = &self->boxes[index];
	const char *name = argument(self, box, "name");

	if (!name || !is_name(name))
		return name && fail(self, box, "'%.40s' is not a valid name", name);
	strbuf_addf(&self->text, "let %s %s = ", query_boxes[box->kind].kind, name);
	if (!add_argument(self, box, "expr"))
		return false;
	strbuf_add(&self->text, ";\n");
	self->order[self->ordered++] = index;
	return true;
}

static bool add_all(struct maker *self)
{
	for (u32 i = 0; i < self->count; i++)
		if (self->boxes[i].kind >= BOX_SCORE && !add_definition(self, i))
			return false;
	for (u32 i = 0; i < self->count; i++)
		if (self->boxes[i].kind < BOX_SCORE && self->boxes[i].name && !add_let(self, i))
			return false;
	return add_lets_before(self, (u32)self->output) && add_input(self, self->output);
}

/* ---- the check, and the canonical text ---- */

static void add_positions(const struct maker *self, struct strbuf *out)
{
	bool wanted = false;

	for (u32 i = 0; i < self->ordered; i++) {
		const struct box *box = &self->boxes[self->order[i]];
		char plain[16];

		snprintf(plain, sizeof plain, "b%u", i + 1);
		wanted |= box->placed || *box->label || strcmp(plain, box->id) != 0;
	}
	for (u32 i = 0; wanted && i < self->ordered; i++) {
		const struct box *box = &self->boxes[self->order[i]];

		strbuf_addf(out, "\n#@ box %s %.15g %.15g%s%s", box->id, box->x, box->y,
			    *box->label ? " " : "", box->label);
	}
}

/* An argument may hold more than its box should: then other boxes come of the text. */
static bool same_boxes(const struct maker *self, const struct query *query, u32 *wrong)
{
	struct graph graph = {0};
	bool same = graph_of_query(&graph, query);

	*wrong = 0;
	for (u64 i = 0; same && i < graph.boxes.count && i < self->ordered; i++) {
		*wrong = (u32)i;
		same = graph.boxes.data[i].kind == self->boxes[self->order[i]].kind;
	}
	same = same && graph.boxes.count == self->ordered;
	graph_release(&graph);
	return same;
}

static char *checked(struct maker *self)
{
	struct query_error inner = {0};
	struct query *query = query_parse(strbuf_text(&self->text), &inner);
	struct strbuf out = {0};
	u32 wrong;

	if (!query) {
		if (!self->error->code)
			*self->error = inner;
		return NULL;
	}
	if (!same_boxes(self, query, &wrong)) {
		fail(self, &self->boxes[self->order[wrong]], "%s",
		     "an argument contains more than one stage");
	} else {
		query_print(query, &out);
		add_positions(self, &out);
	}
	query_free(query);
	return out.count ? strbuf_take(&out) : NULL;
}

/* Each box's part of the text alone, so that an error is told at the box. */
static void blame(struct maker *self)
{
	for (u32 i = 0; i < self->count && self->error; i++) {
		const struct box *box = &self->boxes[i];
		struct query_error inner = {0};
		struct query *query;
		u64 start;

		if (box->kind < SOURCES && box->kind != SOURCE_AT)
			continue;
		strbuf_clear(&self->text);
		self->ordered = 0;
		for (u32 k = 0; k < self->count; k++)
			if (self->boxes[k].kind >= BOX_SCORE && k != i)
				add_definition(self, k);
		start = self->text.count;
		if (box->kind >= BOX_SCORE)
			add_definition(self, i);
		strbuf_add(&self->text, box->kind == SOURCE_AT ? "" : "all");
		if (box->kind == SOURCE_AT)
			add_source(self, box);
		else if (box->kind < BOX_SCORE)
			add_stage(self, box);
		query = query_parse(strbuf_text(&self->text), &inner);
		query_free(query);
		if (query || inner.at < start)
			continue;
		snprintf(self->error->box, sizeof self->error->box, "%s", box->id);
		return;
	}
}

char *query_from_graph(const struct json_node *graph, struct query_error *error)
{
	struct query_error own = {0};
	struct maker *self = calloc(1, sizeof *self);
	char *text = NULL;

	if (!self) {
		query_error_memory(error);
		return NULL;
	}
	self->error = error ? error : &own;
	self->output = GRAPH_NO_BOX;
	if (read_boxes(self, json_member(graph, "boxes")) &&
	    read_edges(self, json_member(graph, "edges")) &&
	    find_output(self, json_member(graph, "output")) && make_names(self) && add_all(self)) {
		if (self->text.failed)
			no_memory(self);
		else
			text = checked(self);
		if (!text && self->error->code == ERR_USAGE && !self->error->box[0])
			blame(self);
	}
	strbuf_release(&self->text);
	arena_release(&self->arena);
	free(self);
	return text;
}
