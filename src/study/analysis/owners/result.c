/* SPDX-License-Identifier: MIT
 * The owners of a heap as a record with tables.
 * Host. */
#include "study/analysis/owners/result.h"
#include "study/analysis/owners/stop.h"
#include "study/analysis/owners/twice.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/units.h"
#include "study/analysis/owners/container_result.h"
#include "study/result/field.h"

#define NONE UINT32_MAX

static const char *const what_words[OWNER_WHATS] = {
	[OWNER_PROGRAM] = "program", [OWNER_SEVERAL] = "several", [OWNER_LOST] = "lost",
	[OWNER_ROOT] = "root",       [OWNER_TYPE] = "type",       [OWNER_PLACE] = "place",
};

const char *owner_what_word(u8 what) { return what_words[what]; }

static u64 all_bytes(const struct owners *self) { return self->tree.retained[self->tree.program]; }

static const struct owner_kind *shape_kind(const struct owners *self, u32 shape)
{
	return &self->kinds.data[self->shapes.data[shape].kind];
}

/* ---- the order of shapes ---- */

/* Shapes as a list: each below its parent, of one parent the one that retains most first. */
struct listing {
	const struct owners *owners;
	u32 *sorted; /* by parent, then bytes */
	u64 *first;  /* by shape: its children in sorted; and one more */
};

static int by_parent(const void *a, const void *b, void *data)
{
	const struct owner_shape *shapes = data;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return rising(shapes[x].parent, shapes[y].parent)
		       ?: falling(shapes[x].sums.retained, shapes[y].sums.retained)
			       ?: rising(x, y);
}

static bool listing_make(struct listing *self, const struct owners *owners)
{
	u64 count = owners->shapes.count, at = 0;

	self->owners = owners;
	self->sorted = malloc((count + 1) * sizeof *self->sorted);
	self->first = calloc(count + 2, sizeof *self->first);
	if (!self->sorted || !self->first)
		return false;
	for (u32 i = 1; i < count; i++)
		self->sorted[i - 1] = i;
	qsort_r(self->sorted, count - 1, sizeof *self->sorted, by_parent, owners->shapes.data);
	for (u32 shape = 0; shape <= count; shape++) {
		while (at + 1 < count && owners->shapes.data[self->sorted[at]].parent < shape)
			at++;
		self->first[shape] = at;
	}
	return true;
}

static void listing_release(struct listing *self)
{
	free(self->sorted);
	free(self->first);
}

/* The child that retains most, or NONE. */
static u32 largest_child(const struct listing *self, u32 shape)
{
	return self->first[shape] < self->first[shape + 1] ? self->sorted[self->first[shape]]
							   : NONE;
}

/* ---- the sentence ---- */

/* What is named on the way down: as long as one child retains most of it. */
static void put_through(struct strbuf *out, const struct listing *self, u32 shape,
			const char *first)
{
	enum { STEPS = 3 };

	for (u32 i = 0; i < STEPS; i++) {
		u64 bytes = self->owners->shapes.data[shape].sums.retained;
		u32 child = largest_child(self, shape);

		if (child == NONE || self->owners->shapes.data[child].sums.retained * 2 < bytes)
			return;
		strbuf_add(out, i ? ", " : first);
		if (self->owners->shapes.data[child].nodes > 1)
			strbuf_addf(out, "%s × ",
				    units_count(self->owners->shapes.data[child].nodes).text);
		strbuf_add(out, shape_kind(self->owners, child)->label);
		shape = child;
	}
}

static const char *sentence(struct result *result, const struct listing *self)
{
	const struct owners *owners = self->owners;
	u32 shape = largest_child(self, 0);
	struct strbuf text = {0};
	bool lost;

	if (shape == NONE || !owners->shapes.data[shape].sums.retained)
		return "nothing was live at the scan";
	lost = shape_kind(owners, shape)->what == OWNER_LOST;
	switch (shape_kind(owners, shape)->what) {
	case OWNER_LOST: strbuf_add(&text, "nothing points to"); break;
	case OWNER_SEVERAL: strbuf_addf(&text, "%s hold", shape_kind(owners, shape)->label); break;
	default: strbuf_addf(&text, "%s holds", shape_kind(owners, shape)->label);
	}
	strbuf_addf(&text, " %s of %s", units_bytes(owners->shapes.data[shape].sums.retained).text,
		    units_bytes(all_bytes(owners)).text);
	put_through(&text, self, shape, lost ? ": " : " through ");
	return result_take(result, &text);
}

/* ---- the tree ---- */

static const struct result_column tree_columns[] = {
	COLUMN("retained_bytes", "retained", VALUE_BYTES,
	       "bytes that would be freed with the owner, its own included"),
	COLUMN("share", "share", VALUE_SHARE, "share of all live bytes"),
	COLUMN("bytes", "own", VALUE_BYTES, "requested bytes of the owner itself"),
	COLUMN("count", NULL, VALUE_COUNT, "roots or chunks that are this owner together"),
	COLUMN("owner", "owner", VALUE_TEXT,
	       "a variable, a stack frame or another root; a type; or the function that "
	       "allocated, where the type is unknown. Owners are indented below those that hold "
	       "them"),
	COLUMN("what", NULL, VALUE_TEXT, "root, type, place, several or lost"),
	COLUMN("depth", NULL, VALUE_COUNT, "owners above it"),
	COLUMN("largest_chunk", NULL, VALUE_ID, "number of the chunk of it that retains most"),
	COLUMN("id", NULL, VALUE_ID, "number of the owner"),
	COLUMN("parent", NULL, VALUE_ID, "number of the owner that holds it; none = the program"),
	COLUMN("point", NULL, VALUE_ID, "number of that chunk's allocation point"),
};

static const char *tree_text(struct result *table, const struct owners *self, u32 shape)
{
	const struct owner_shape *at = &self->shapes.data[shape];
	struct strbuf text = {0};

	strbuf_addf(&text, "%*s", (int)(at->depth - 1) * 2, "");
	if (at->nodes > 1)
		strbuf_addf(&text, "%s × ", units_count(at->nodes).text);
	strbuf_add(&text, shape_kind(self, shape)->label);
	return result_take(table, &text);
}

static void add_shape(struct result *table, const struct owners *self, u32 shape)
{
	const struct owner_shape *at = &self->shapes.data[shape];
	const struct stream_graph *graph = owners_graph(self);
	bool is_chunk = at->nodes && at->largest < graph->chunk_count;
	u32 point = is_chunk ? self->point_of[at->largest] : 0;

	result_row(table, value_number(at->sums.retained),
		   value_real(units_share(at->sums.retained, all_bytes(self))),
		   value_number(at->sums.bytes), value_number(at->nodes),
		   value_shown(result_text(table, shape_kind(self, shape)->label),
			       tree_text(table, self, shape)),
		   value_text(owner_what_word(shape_kind(self, shape)->what)),
		   value_number(at->depth - 1),
		   value_if(is_chunk, value_number(is_chunk ? graph->chunks[at->largest] : 0)),
		   value_number(shape), value_some(at->parent),
		   value_if(is_chunk && point < self->model->points.count, value_number(point)));
}

struct pruning {
	u64 top;       /* of each owner's parts, 0 = all */
	u64 min_bytes; /* what retains less is left out */
	u64 left_out;
};

/* Depth first, without a stack: a shape's place among its like tells what comes next. */
static void add_shapes(struct result *table, const struct listing *self, struct pruning *pruning)
{
	const struct owner_shape *shapes = self->owners->shapes.data;
	u64 *next = calloc(self->owners->shapes.count + 1, sizeof *next);
	u32 shape = 0;

	table->failed |= !next;
	while (next && !table->failed) {
		u64 at = self->first[shape] + next[shape]++;
		bool more = at < self->first[shape + 1];

		if (more && (!pruning->top || next[shape] <= pruning->top) &&
		    shapes[self->sorted[at]].sums.retained >= pruning->min_bytes) {
			shape = self->sorted[at];
			add_shape(table, self->owners, shape);
			continue;
		}
		pruning->left_out += self->first[shape + 1] - (more ? at : self->first[shape + 1]);
		if (!shape)
			break;
		shape = shapes[shape].parent;
	}
	free(next);
}

static struct result *tree_table(const struct listing *self, const struct owners_show *show)
{
	struct result *table = result_table("tree", "Owners, largest first", tree_columns);
	double least = show->min_share * (double)all_bytes(self->owners);
	struct pruning pruning = {.top = show->top, .min_bytes = least > 1 ? (u64)least : 1};

	if (!table)
		return NULL;
	table->grid = true;
	table->empty = "nothing was live at the scan";
	add_shapes(table, self, &pruning);
	if (pruning.left_out)
		result_add_caveat(table, "%s not shown; --min-share and --top set how many are",
				  units_things(pruning.left_out, "smaller owner(s) (is|are)").text);
	return table;
}

/* ---- types and points ---- */

struct sums_row {
	u32 number; /* of a kind, or of a point */
	struct owner_sums sums;
};

struct sums_list {
	struct sums_row *data;
	u64 count, capacity;
};

static int most_retained(const void *a, const void *b)
{
	const struct sums_row *x = a, *y = b;

	return falling(x->sums.retained, y->sums.retained) ?: falling(x->sums.bytes, y->sums.bytes)
		       ?: rising(x->number, y->number);
}

static const struct result_column type_columns[] = {
	COLUMN("retained_bytes", "retained", VALUE_BYTES,
	       "bytes that would be freed with all chunks of the type"),
	COLUMN("share", "share", VALUE_SHARE, "share of all live bytes"),
	COLUMN("bytes", "own", VALUE_BYTES, "requested bytes of the chunks themselves"),
	COLUMN("chunks", "chunks", VALUE_COUNT, "live chunks"),
	COLUMN("type", "type", VALUE_TEXT, "type of their contents"),
};

static struct result *types_table(const struct owners *self, const struct owners_show *show)
{
	struct result *table = result_table("types", "By type", type_columns);
	struct sums_list rows = {0};

	if (!table)
		return NULL;
	for (u32 i = 0; i < self->kinds.count; i++)
		if (self->kinds.data[i].what == OWNER_TYPE && self->kinds.data[i].sums.chunks)
			table->failed |=
				!vec_push(&rows, (struct sums_row){i, self->kinds.data[i].sums});
	vec_sort(&rows, most_retained);
	table->empty = "no type is known";
	for (u64 i = 0; i < result_top(rows.count, show->top); i++) {
		const struct owner_sums *sums = &rows.data[i].sums;

		result_row(table, value_number(sums->retained),
			   value_real(units_share(sums->retained, all_bytes(self))),
			   value_number(sums->bytes), value_number(sums->chunks),
			   result_text(table, self->kinds.data[rows.data[i].number].label));
	}
	result_add_more(table, rows.count, show->top);
	vec_release(&rows);
	return table;
}

static const struct result_column point_columns[] = {
	COLUMN("retained_bytes", "retained", VALUE_BYTES,
	       "bytes that would be freed with all chunks of the allocation point"),
	COLUMN("share", "share", VALUE_SHARE, "share of all live bytes"),
	COLUMN("bytes", "own", VALUE_BYTES, "requested bytes of the chunks themselves"),
	COLUMN("chunks", "chunks", VALUE_COUNT, "live chunks"),
	COLUMN("point", NULL, VALUE_ID, "number of the allocation point"),
	COLUMN("stack", "stack", VALUE_STACK, "the call stack that allocates"),
};

static struct result *points_table(const struct owners *self, const struct owners_show *show)
{
	struct result *table = result_table("points", "By allocation point", point_columns);
	const struct stack_source *source = self->query.types->query.source;
	struct sums_list rows = {0};

	if (!table)
		return NULL;
	for (u32 i = 0; i < self->model->points.count; i++)
		if (self->points[i].chunks)
			table->failed |= !vec_push(&rows, (struct sums_row){i, self->points[i]});
	vec_sort(&rows, most_retained);
	table->empty = "nothing was live at the scan";
	for (u64 i = 0; i < result_top(rows.count, show->top); i++) {
		const struct owner_sums *sums = &rows.data[i].sums;
		struct point_id point = {rows.data[i].number};

		result_row(table, value_number(sums->retained),
			   value_real(units_share(sums->retained, all_bytes(self))),
			   value_number(sums->bytes), value_number(sums->chunks),
			   value_number(point.index), stack_of_point(source, point, table));
	}
	result_add_more(table, rows.count, show->top);
	vec_release(&rows);
	return table;
}

/* ---- all ---- */

static void add_stop(struct result *result, const struct owners *self)
{
	struct owner_stop stop;

	if (!owner_stop_find(&stop, self->model, owners_graph(self)->ticks))
		return;
	result_field(result, "stopped_ns", "stopped", VALUE_NS, value_number(stop.ns),
		     "how long the program was stopped for the scan",
		     .remark = stop.background ? "the scan ran in the background" : NULL);
	result_field(result, "background", NULL, VALUE_BOOL, value_number(stop.background),
		     "whether the program ran while a copy of its memory was scanned");
	if (*stop.reason)
		result_field(result, "stopped_reason", "not in the background", VALUE_TEXT,
			     result_text(result, stop.reason),
			     "why the scan did not run in the background");
	if (stop.missing_bytes)
		result_field(result, "unread_bytes", "not read", VALUE_BYTES,
			     value_number(stop.missing_bytes),
			     "bytes of shared memory that a scan in the background did not read");
}

static void add_fields(struct result *result, const struct listing *listing)
{
	const struct owners *self = listing->owners;
	const struct stream_graph *graph = owners_graph(self);

	result_field(result, "summary", "owner", VALUE_TEXT, value_text(sentence(result, listing)),
		     "who holds most", .below = true);
	result_field(result, "live_bytes", "live", VALUE_BYTES, value_number(all_bytes(self)),
		     "requested bytes of the chunks that were live at the scan",
		     .remark = "in {live_chunks:chunk}, {time_ns} after the start");
	result_field(result, "live_chunks", NULL, VALUE_COUNT, value_number(graph->chunk_count),
		     "chunks that were live at the scan");
	result_field(result, "lost_bytes", "lost", VALUE_BYTES,
		     value_number(self->tree.retained[self->tree.lost]),
		     "bytes that no root leads to", .hide_zero = true);
	result_field(result, "time_ns", NULL, VALUE_NS,
		     value_number(tick_clock_ns(&self->model->clock, graph->ticks)),
		     "when the scan was, since the start of the recording");
	result_field(result, "pointers", NULL, VALUE_COUNT,
		     value_number(graph->starts[graph->chunk_count + graph->root_count]),
		     "pointers that the scan found");
	result_field(
		result, "doubtful_pointers", NULL, VALUE_COUNT, value_number(self->doubtful_count),
		"pointers in text and numbers, and to ends of chunks: hold what no other does");
	result_field(
		result, "roots", NULL, VALUE_COUNT, value_number(graph->root_count),
		"variables, stack frames and other places outside the heap that point to chunks");
	add_stop(result, self);
}

static void add_left_out(struct result *result, const struct model *model)
{
	u64 count = strtoull(model_note(model, "owners_left_out"), NULL, 10);

	if (count)
		result_add_caveat(result, "%s", units_things(count, OWNERS_LEFT_OUT).text);
}

struct result *owners_result(struct owners *self, const struct owners_show *show, struct err *err)
{
	struct result *result = result_new(RESULT_RECORD, "owners", NULL);
	struct listing listing = {0};
	bool good = listing_make(&listing, self);

	if (!good)
		err_memory_for(err, "the owners");
	if (result && good) {
		add_fields(result, &listing);
		if (show->growth)
			result_add_part(result, show->growth);
		result_add_part(result, tree_table(&listing, show));
		good = container_result_add(result, self, show->top, err) == 0;
		result_add_part(result, types_table(self, show));
		result_add_part(result, points_table(self, show));
		add_left_out(result, self->model);
		good = good && owner_twice_add(result, self, show->top, err) == 0;
	} else {
		result_free(show->growth);
	}
	listing_release(&listing);
	return result_made_if(good, result, err, "the owners");
}
