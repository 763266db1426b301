/* SPDX-License-Identifier: MIT
 * From the program down: the first owners of which there are more are the elements of what holds
 * them; an owner whose parts do not explain its growth has grown itself.
 * Host. Never recurses. */
#include "study/analysis/owners/grown.h"

#include "host/base/order.h"

#define NONE UINT32_MAX

enum state {
	STATE_OUT,  /* belongs to elements */
	STATE_OPEN, /* there are no more of it: its parts tell what grows */
	STATE_ELEMENTS,
};

struct picking {
	struct owner_growth *growth;
	const struct owners *after;
	i64 min_bytes;
	u8 *state;      /* by path, and: */
	u32 *into;      /* elements of the same container that it is told with; NONE = none */
	i64 *explained; /* bytes of rows below it */
	u32 *row;       /* that it is the elements of, + 1 */
	u8 *has_row;    /* its elements are a row */
};

static const struct grown_path *path_of(const struct picking *self, u32 at)
{
	return &self->growth->paths.data[at];
}

static i64 grew(const struct grown_path *path)
{
	return (i64)(path->side[GROWN_AFTER].retained - path->side[GROWN_BEFORE].retained);
}

static i64 more_nodes(const struct grown_path *path)
{
	return (i64)(path->side[GROWN_AFTER].nodes - path->side[GROWN_BEFORE].nodes);
}

/* Bytes that are there because there are more of them, not because each is larger. Of two runs it
 * is not known which are new: the mean is taken for all. */
static i64 bytes_of_more(const struct picking *self, const struct grown_path *path)
{
	const struct grown_side *now = &path->side[GROWN_AFTER];

	if (self->growth->one_run)
		return (i64)path->new_bytes;
	return (i64)((double)now->retained / (double)now->nodes * (double)more_nodes(path));
}

static bool is_block(const struct grown_path *path)
{
	return path->what == OWNER_TYPE || path->what == OWNER_PLACE;
}

static i64 own_growth(const struct grown_path *path)
{
	return is_block(path)
		       ? (i64)(path->side[GROWN_AFTER].bytes - path->side[GROWN_BEFORE].bytes)
		       : 0;
}

static bool are_elements(const struct picking *self, const struct grown_path *path)
{
	/* one that is new is looked into as if it had been there, empty */
	return is_block(path) && path->side[GROWN_AFTER].nodes > 1 && more_nodes(path) > 0 &&
	       grew(path) >= self->min_bytes && 2 * bytes_of_more(self, path) >= grew(path);
}

static void find_states(struct picking *self)
{
	self->state[0] = STATE_OPEN;
	for (u32 i = 1; i < self->growth->paths.count; i++) {
		const struct grown_path *path = path_of(self, i);

		self->state[i] = self->state[path->parent] != STATE_OPEN ? STATE_OUT
				 : are_elements(self, path)              ? STATE_ELEMENTS
									 : STATE_OPEN;
	}
}

/* ---- containers of several parts ---- */

/* Of two sorts of elements of which the one points to the other: index and entry, link and item. */
static bool are_alike(const struct grown_path *a, const struct grown_path *b)
{
	i64 x = more_nodes(a), y = more_nodes(b);

	return 10 * (x > y ? x - y : y - x) <= (x > y ? x : y);
}

static bool is_larger(const struct picking *self, u32 a, u32 b)
{
	i64 x = grew(path_of(self, a)), y = grew(path_of(self, b));

	return x != y ? x > y : a > b;
}

/* The one path has so many pointers to the other, and the same owner holds both. A few may be left
 * over, or be no pointers. */
static void join(struct picking *self, u32 from, u32 to, u64 pointers)
{
	enum { ARRAY_PART = 4, ELEMENTS_PART = 2 };
	bool both = self->state[from] == STATE_ELEMENTS;
	u64 nodes = path_of(self, to)->side[GROWN_AFTER].nodes;

	if (self->state[to] != STATE_ELEMENTS || grew(path_of(self, from)) <= 0 ||
	    pointers * (both ? ELEMENTS_PART : ARRAY_PART) < nodes)
		return;
	if (both && !are_alike(path_of(self, from), path_of(self, to)))
		return;
	/* an array of pointers to the elements */
	if (!both && own_growth(path_of(self, from)) != grew(path_of(self, from)))
		return;
	if (both && is_larger(self, from, to)) {
		u32 other = from;

		from = to;
		to = other;
	}
	if (self->into[from] == NONE || is_larger(self, to, self->into[from]))
		self->into[from] = to;
}

/* Counts pointers from one path to another beside it. */
static bool count_pointers(const struct picking *self, struct map *pointers)
{
	const struct stream_graph *graph = owners_graph(self->after);
	const u32 *paths = self->growth->path_of;

	for (u32 node = 0; node < graph->chunk_count; node++) {
		u32 from = paths[self->after->shape_of[node]];

		for (u64 i = graph->starts[node];
		     self->state[from] != STATE_OUT && i < graph->starts[node + 1]; i++) {
			u32 to = paths[self->after->shape_of[graph->edges[i].target]];
			u64 *count;

			if (from == to ||
			    path_of(self, from)->parent != path_of(self, to)->parent ||
			    self->state[to] != STATE_ELEMENTS ||
			    edge_is_in(self->after->ignored, i))
				continue;
			count = map_at(pointers, (u64)from << 32 | to);
			if (!count)
				return false;
			++*count;
		}
	}
	return true;
}

static bool find_joined(struct picking *self)
{
	struct map pointers = {0};
	bool good = count_pointers(self, &pointers);

	for (u64 at = 0, pair, count; good && map_next(&pointers, &at, &pair, &count);)
		join(self, (u32)(pair >> 32), (u32)pair, count);
	map_release(&pointers);
	return good;
}

/* ---- rows ---- */

static bool add_row(struct picking *self, u32 at, bool elements)
{
	const struct grown_path *path = path_of(self, at);
	const struct grown_side *was = &path->side[GROWN_BEFORE], *is = &path->side[GROWN_AFTER];
	struct grown_row row = {.owner = elements ? path->parent : at,
				.elements = elements ? at : NONE,
				.node = path->newest,
				.count = {was->nodes, is->nodes},
				.bytes = {was->retained, is->retained}};

	if (row.node == NONE)
		row.node = self->after->shapes.data[path->shape].largest;
	if (!vec_push(&self->growth->rows, row))
		return false;
	self->row[at] = (u32)self->growth->rows.count;
	self->has_row[path->parent] |= elements;
	return true;
}

/* Whether most of what a path grew by is in no row below it. */
static bool grew_itself(const struct picking *self, u32 at)
{
	const struct grown_path *path = path_of(self, at);
	i64 rest = grew(path) - self->explained[at];

	return (is_block(path) || path->what == OWNER_ROOT) && !self->has_row[at] &&
	       rest >= self->min_bytes && 2 * rest >= grew(path);
}

/* Parts come after their owners: backwards, what they explain is known in time. */
static bool add_rows(struct picking *self)
{
	bool good = true;

	for (u32 i = (u32)self->growth->paths.count; i-- > 1 && good;) {
		bool elements = self->state[i] == STATE_ELEMENTS;

		if (self->state[i] == STATE_OUT)
			continue;
		if (self->into[i] == NONE && (elements || grew_itself(self, i)))
			good = add_row(self, i, elements);
		if (self->into[i] != NONE || self->row[i])
			self->explained[i] = grew(path_of(self, i));
		else if (self->has_row[i])
			self->explained[i] += own_growth(path_of(self, i));
		self->explained[path_of(self, i)->parent] += self->explained[i];
	}
	return good;
}

static void row_add(struct grown_row *row, u64 before, u64 after)
{
	row->bytes[GROWN_BEFORE] += before;
	row->bytes[GROWN_AFTER] += after;
}

/* Adds what is told with elements to their row. */
static void add_joined(struct picking *self)
{
	for (u32 i = 1; i < self->growth->paths.count; i++) {
		const struct grown_side *side = path_of(self, i)->side;
		u32 at = i;

		while (self->into[at] != NONE)
			at = self->into[at];
		if (at != i)
			row_add(&self->growth->rows.data[self->row[at] - 1],
				side[GROWN_BEFORE].retained, side[GROWN_AFTER].retained);
	}
}

static int most_grown(const void *a, const void *b)
{
	const struct grown_row *x = a, *y = b;

	return falling(grown_bytes(x), grown_bytes(y)) ?: rising(x->owner, y->owner)
		       ?: rising(x->elements, y->elements);
}

/* Adds the block that holds the elements, with the largest row of it. */
static void add_blocks(struct picking *self)
{
	vec_sort(&self->growth->rows, most_grown);
	for (u64 i = 0; i < self->growth->rows.count; i++) {
		struct grown_row *row = &self->growth->rows.data[i];
		const struct grown_path *owner = path_of(self, row->owner);

		if (row->elements == NONE || !self->has_row[row->owner] || own_growth(owner) <= 0 ||
		    (owner->side[GROWN_AFTER].nodes > 1 && more_nodes(owner) > 0))
			continue;
		row_add(row, owner->side[GROWN_BEFORE].bytes, owner->side[GROWN_AFTER].bytes);
		self->has_row[row->owner] = false;
	}
	vec_sort(&self->growth->rows, most_grown);
}

/* ---- all ---- */

static i64 least(const struct owner_growth *growth)
{
	double all = 0;

	for (u64 i = 1; i < growth->paths.count; i++)
		if (!growth->paths.data[i].parent && grew(&growth->paths.data[i]) > 0)
			all += (double)grew(&growth->paths.data[i]);
	all *= growth->limits.min_share;
	if (all < (double)growth->limits.min_bytes)
		all = (double)growth->limits.min_bytes;
	return all > 1 ? (i64)all : 1;
}

/* Parts of elements are below them. */
static void note_told(struct picking *self)
{
	for (u32 i = 1; i < self->growth->paths.count; i++) {
		struct grown_path *path = &self->growth->paths.data[i];

		path->told = self->row[i] || self->into[i] != NONE || self->has_row[i] ||
			     (self->state[i] == STATE_OUT &&
			      self->growth->paths.data[path->parent].told);
	}
}

static bool pick(struct picking *self)
{
	for (u64 i = 0; i < self->growth->paths.count; i++)
		self->into[i] = NONE;
	find_states(self);
	if (!find_joined(self) || !add_rows(self))
		return false;
	note_told(self);
	add_joined(self);
	add_blocks(self);
	return true;
}

bool grown_pick(struct owner_growth *growth, const struct owners *after)
{
	u64 count = growth->paths.count + 1;
	struct picking self = {.growth = growth,
			       .after = after,
			       .min_bytes = least(growth),
			       .state = calloc(count, sizeof *self.state),
			       .into = calloc(count, sizeof *self.into),
			       .explained = calloc(count, sizeof *self.explained),
			       .row = calloc(count, sizeof *self.row),
			       .has_row = calloc(count, sizeof *self.has_row)};
	bool good = self.state && self.into && self.explained && self.row && self.has_row &&
		    pick(&self);

	free(self.state);
	free(self.into);
	free(self.explained);
	free(self.row);
	free(self.has_row);
	return good;
}
