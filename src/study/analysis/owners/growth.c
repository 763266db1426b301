/* SPDX-License-Identifier: MIT
 * Lines up the owners at two scans, and finds the containers that grow.
 * Host. Never recurses. */
#include "study/analysis/owners/growth.h"

#include <string.h>

#include "host/base/keyed.h"

#define NONE UINT32_MAX

static int no_memory(struct err *err) { return err_memory_for(err, "the owners"); }

/* ---- paths ---- */

/* A rebuilt program has other lines: "make_node (tree.c:12)" is compared without the ":12". */
static u64 label_hash(const struct owner_growth *self, const char *label, u8 what)
{
	size_t length = strlen(label), end = length;
	u64 hash = HASH_START ^ what;

	if (!self->one_run && end && label[end - 1] == ')')
		for (end--; end && label[end - 1] >= '0' && label[end - 1] <= '9';)
			end--;
	if (end && label[end - 1] != ':')
		end = length;
	for (size_t i = 0; i < end; i++)
		hash = hash_u64(hash ^ (u8)label[i]);
	return hash;
}

static u64 trail_of(const struct owner_growth *self, u32 parent, u64 label)
{
	return hash_u64(label ^ (parent == NONE ? 1 : hash_u64(self->paths.data[parent].trail)));
}

static u32 path_at(struct owner_growth *self, u32 parent, const struct owner_kind *kind)
{
	struct grown_path new = {.parent = parent == NONE ? 0 : parent,
				 .what = kind->what,
				 .label = names_keep(&self->names, kind->label),
				 .newest = NONE,
				 .shape = NONE,
				 .was = NONE};
	struct grown_path *path;

	new.hash = label_hash(self, kind->label, kind->what);
	new.trail = trail_of(self, parent, new.hash);
	path = vec_at_key(&self->paths, &self->path_by_trail, new.trail, new);
	return path ? (u32)(path - self->paths.data) : NONE;
}

/* ---- what several roots hold ---- */

/* Copies of pointers, in use or left over, come and go, and so does what they hold together with
 * the owner. What "server and others" hold is therefore a part of what is called alike below
 * "server", however deep; or below the only other root with that name; or of "server" itself. */
static const char others[] = " and others";

enum { EVERY_ROOT = 0 };

static u64 place_key(u64 root_trail, u64 label) { return hash_u64(root_trail ^ hash_u64(label)); }

static u32 root_of(const struct owner_growth *self, u32 path)
{
	while (self->paths.data[path].parent)
		path = self->paths.data[path].parent;
	return path;
}

/* The first path below a root with this label is the outermost. */
static bool note_place(struct owner_growth *self, u32 at)
{
	u64 label = self->paths.data[at].hash, root = self->paths.data[root_of(self, at)].trail;
	u64 *place = map_at(&self->path_by_place, place_key(root, label));

	if (!place || *place)
		return place;
	*place = at + 1;
	place = map_at(&self->path_by_place, place_key(EVERY_ROOT, label));
	if (place)
		*place = *place ? NONE : at + 1;
	return place;
}

static u32 root_named(struct owner_growth *self, const struct owner_kind *several)
{
	size_t length = strlen(several->label), end = length - (sizeof others - 1);
	struct owner_kind root = {.what = OWNER_ROOT};

	if (length < sizeof others || strcmp(several->label + end, others) != 0)
		return path_at(self, 0, several);
	root.label = names_keep_bytes(&self->names, several->label, end);
	return path_at(self, 0, &root);
}

static u32 path_below_root(struct owner_growth *self, u32 root, const struct owner_kind *kind)
{
	u64 label = label_hash(self, kind->label, kind->what);
	u64 trail = self->paths.data[root].trail;
	const u64 *place = map_find(&self->path_by_place, place_key(trail, label));

	if (!place)
		place = map_find(&self->path_by_place, place_key(EVERY_ROOT, label));
	return place && *place != NONE ? (u32)*place - 1 : path_at(self, root, kind);
}

/* What the owners of one of these hold as well. */
static void hold(struct owner_growth *self, u32 at, u32 side, u64 bytes)
{
	while ((at = self->paths.data[at].parent))
		self->paths.data[at].side[side].retained += bytes;
}

/* ---- a scan ---- */

/* The paths of one scan, by its shapes. */
struct adding {
	const struct owners *owners;
	u32 side;
	u32 *path_of; /* NONE = not yet */
};

static u8 what_of(const struct owners *owners, u32 shape)
{
	return owners->kinds.data[owners->shapes.data[shape].kind].what;
}

static bool is_several(const struct owners *owners, u32 shape)
{
	for (; shape; shape = owners->shapes.data[shape].parent)
		if (what_of(owners, shape) == OWNER_SEVERAL)
			return true;
	return false;
}

static u32 find_path(struct owner_growth *self, const struct adding *adding, u32 i)
{
	const struct owner_shape *shape = &adding->owners->shapes.data[i];
	const struct owner_kind *kind = &adding->owners->kinds.data[shape->kind];
	u32 parent = i ? adding->path_of[shape->parent] : NONE;

	if (kind->what == OWNER_SEVERAL)
		return root_named(self, kind);
	return i && what_of(adding->owners, shape->parent) == OWNER_SEVERAL
		       ? path_below_root(self, parent, kind)
		       : path_at(self, parent, kind);
}

static bool add_shape(struct owner_growth *self, const struct adding *adding, u32 i)
{
	const struct owner_shape *shape = &adding->owners->shapes.data[i];
	u32 at = adding->path_of[i] = find_path(self, adding, i);
	struct grown_side *side = at == NONE ? NULL : &self->paths.data[at].side[adding->side];

	if (!side || !note_place(self, at))
		return false;
	side->there = true;
	if (what_of(adding->owners, i) == OWNER_SEVERAL)
		return true; /* its parts are told where they belong */
	side->nodes += shape->nodes;
	side->bytes += shape->sums.bytes;
	side->retained += shape->sums.retained;
	if (adding->side == GROWN_AFTER && self->paths.data[at].shape == NONE)
		self->paths.data[at].shape = i;
	if (i && what_of(adding->owners, shape->parent) == OWNER_SEVERAL)
		hold(self, at, adding->side, shape->sums.retained);
	return true;
}

/* First what single roots hold, then the rest. */
static bool add_shapes(struct owner_growth *self, const struct adding *adding, bool several)
{
	for (u32 i = 0; i < adding->owners->shapes.count; i++)
		if (is_several(adding->owners, i) == several && !add_shape(self, adding, i))
			return false;
	return true;
}

static bool adding_init(struct adding *self, const struct owners *owners, u32 side)
{
	*self = (struct adding){.owners = owners,
				.side = side,
				.path_of = calloc(owners->shapes.count + 1, sizeof *self->path_of)};
	return self->path_of;
}

/* Both scans: where owners are known by their own path in one of them, the rest follows. */
static bool add_scans(struct owner_growth *self, const struct owners *before,
		      const struct owners *after)
{
	struct adding was, is;
	bool good = adding_init(&was, before, GROWN_BEFORE);

	good &= adding_init(&is, after, GROWN_AFTER);
	good = good && add_shapes(self, &is, false) && add_shapes(self, &was, false) &&
	       add_shapes(self, &was, true) && add_shapes(self, &is, true);
	free(was.path_of);
	free(self->path_of);
	self->path_of = is.path_of;
	self->live_bytes[GROWN_BEFORE] = before->tree.retained[before->tree.program];
	self->live_bytes[GROWN_AFTER] = after->tree.retained[after->tree.program];
	return good;
}

/* ---- what is called otherwise ---- */

/* Sums of what the parts at a side are called, by path. */
static u64 *sum_labels(const struct owner_growth *self, u32 side)
{
	u64 *sums = calloc(self->paths.count + 1, sizeof *sums);

	for (u64 i = 1; sums && i < self->paths.count; i++)
		if (self->paths.data[i].side[side].there)
			sums[self->paths.data[i].parent] += hash_u64(self->paths.data[i].hash);
	return sums;
}

static bool is_only_at(const struct grown_path *path, u32 side)
{
	return path->side[side].there && !path->side[!side].there;
}

/* What may be the same under another name: it is held by the same, and its parts are called alike;
 * without parts, its blocks have the same size. 0 = not this one. */
static u64 likeness(const struct owner_growth *self, u32 at, u32 side, const u64 *labels)
{
	const struct grown_path *path = &self->paths.data[at];
	u64 nodes = path->side[side].nodes, parts = labels[at];

	if (!is_only_at(path, side) || is_only_at(&self->paths.data[path->parent], side))
		return 0;
	if (!parts)
		parts = nodes ? path->side[side].bytes / nodes : 0;
	return parts ? hash_u64(parts ^ trail_of(self, path->parent, path->what)) | 1 : 0;
}

/* Gives a path of the later scan what another name had at the earlier one. */
static void take_over(struct owner_growth *self, u32 to, u32 from)
{
	struct grown_path *old = &self->paths.data[from], *new = &self->paths.data[to];

	new->side[GROWN_BEFORE] = old->side[GROWN_BEFORE];
	new->was = from;
	old->side[GROWN_BEFORE] = (struct grown_side){.there = true};
}

/* The parts of what was taken over are those of the new name. */
static bool move_parts(struct owner_growth *self)
{
	u32 *moved = malloc((self->paths.count + 1) * sizeof *moved);

	for (u32 i = 0; moved && i < self->paths.count; i++)
		moved[i] = NONE;
	for (u32 i = 0; moved && i < self->paths.count; i++)
		if (self->paths.data[i].was != NONE)
			moved[self->paths.data[i].was] = i;
	for (u32 i = 1; moved && i < self->paths.count; i++) {
		const struct grown_path *path = &self->paths.data[i];
		const u64 *found =
			moved[path->parent] == NONE || moved[i] != NONE
				? NULL
				: map_find(&self->path_by_trail,
					   trail_of(self, moved[path->parent], path->hash));

		if (!found || self->paths.data[*found - 1].side[GROWN_BEFORE].there)
			continue;
		moved[i] = (u32)*found - 1;
		take_over(self, moved[i], i);
	}
	free(moved);
	return moved;
}

/* Pairs are made of one that is gone and one that is new, if no third is like them. */
static bool find_renamed(struct owner_growth *self)
{
	u64 *labels[2] = {sum_labels(self, 0), sum_labels(self, 1)};
	struct map likes[2] = {{0}, {0}}; /* likeness → path + 1, NONE = several */
	bool good = labels[0] && labels[1];

	for (u32 i = 1; i < self->paths.count && good; i++)
		for (u32 side = 0; side < 2 && good; side++) {
			u64 like = likeness(self, i, side, labels[side]);
			u64 *known = like ? map_at(&likes[side], like) : NULL;

			good = !like || known;
			if (known)
				*known = *known ? NONE : i + 1;
		}
	for (u64 at = 0, like, new; good &&map_next(&likes[GROWN_AFTER], &at, &like, &new);) {
		const u64 *old = map_find(&likes[GROWN_BEFORE], like);

		if (old && *old != NONE && new != NONE)
			take_over(self, (u32) new - 1, (u32)*old - 1);
	}
	free(labels[0]);
	free(labels[1]);
	map_release(&likes[0]);
	map_release(&likes[1]);
	return good && move_parts(self);
}

/* ---- what is new ---- */

/* By node of the later scan: it is a chunk that was not there at the earlier one. */
static u8 *find_fresh(const struct owner_growth *self, const struct owners *after)
{
	const struct stream_graph *graph = owners_graph(after);
	u8 *fresh = calloc(after->tree.node_count + 1, 1);
	u64 at = 0;

	for (u64 i = 0; fresh && i < graph->chunk_count; i++) {
		u64 chunk = graph_chunk(graph, i);

		while (at < self->before->chunk_count && graph_chunk(self->before, at) < chunk)
			at++;
		fresh[graph_node(graph, i)] =
			at == self->before->chunk_count || graph_chunk(self->before, at) != chunk;
	}
	return fresh;
}

/* A walk through the tree of owners, which knows of each path above a chunk whether the nearest
 * node of it is new. */
struct newness {
	const struct owners *owners;
	const u8 *fresh; /* by node */
	u8 *nearest;     /* by path: enum age */
	u8 *outer;       /* by node: what it was for its path before */
};

enum age { AGE_NONE, AGE_OLD, AGE_NEW };

static void enter(struct owner_growth *self, struct newness *walk, u32 node)
{
	u32 at = self->path_of[walk->owners->shape_of[node]];
	u64 bytes = owners_bytes(walk->owners, node);
	const u64 *chunks = owners_graph(walk->owners)->chunks;
	struct grown_path *path = &self->paths.data[at];
	u8 age = walk->fresh[node] ? AGE_NEW : AGE_OLD;

	walk->outer[node] = walk->nearest[at];
	walk->nearest[at] = age;
	path->new_nodes += walk->fresh[node];
	/* chunks are numbered by birth */
	if (walk->fresh[node] && (path->newest == NONE || chunks[node] > chunks[path->newest]))
		path->newest = node;
	/* what several roots hold has no owners above it: theirs are as old as it is */
	for (; at; at = self->paths.data[at].parent) {
		age = walk->nearest[at] ?: age;
		self->paths.data[at].new_bytes += age == AGE_NEW ? bytes : 0;
	}
}

static void walk_tree(struct owner_growth *self, struct newness *walk)
{
	const struct owners *owners = walk->owners;
	u32 node = owners->tree.program;

	for (;;) {
		u32 next = owners->first_child[node];

		while (next == NONE && node != owners->tree.program) {
			walk->nearest[self->path_of[owners->shape_of[node]]] = walk->outer[node];
			next = owners->next_child[node];
			node = owners->tree.holder[node];
		}
		if (next == NONE)
			return;
		node = next;
		enter(self, walk, node);
	}
}

static bool find_new(struct owner_growth *self, const struct owners *after)
{
	u8 *fresh = find_fresh(self, after);
	struct newness walk = {.owners = after,
			       .fresh = fresh,
			       .nearest = calloc(self->paths.count + 1, 1),
			       .outer = calloc(after->tree.node_count + 1, 1)};
	bool good = fresh && walk.nearest && walk.outer;

	if (good)
		walk_tree(self, &walk);
	free(fresh);
	free(walk.nearest);
	free(walk.outer);
	return good;
}

/* ---- all ---- */

static int compare(struct owner_growth *self, const struct owners_query *before,
		   const struct owners *after, struct err *err)
{
	struct owners owners = {0};
	int status = owners_make(&owners, before, err);

	if (status == 0 && !add_scans(self, &owners, after))
		status = no_memory(err);
	owners_release(&owners);
	return status;
}

static u64 span_ns(const struct owners *after, const struct stream_graph *before)
{
	const struct tick_clock *clock = &after->model->clock;
	u64 from = tick_clock_ns(clock, before->ticks);
	u64 to = tick_clock_ns(clock, after->query.graph->ticks);

	return to > from ? to - from : 0;
}

int owner_growth_find(struct owner_growth *self, const struct owners_query *before,
		      const struct owners *after, struct err *err)
{
	self->one_run = before->types == after->query.types;
	self->before = before->graph;
	self->span_ns = self->one_run ? span_ns(after, before->graph) : 0;
	if (compare(self, before, after, err) < 0)
		return err->code;
	if ((!self->one_run && !find_renamed(self)) || (self->one_run && !find_new(self, after)) ||
	    !grown_pick(self, after))
		return no_memory(err);
	return 0;
}

/* Bytes by which a path of the one grew in the other; 0 = it shrank, or is not there. */
static u64 grew_in(const struct owner_growth *self, u64 trail)
{
	const u64 *found = map_find(&self->path_by_trail, trail);
	const struct grown_side *side = found ? self->paths.data[*found - 1].side : NULL;

	return side && side[GROWN_AFTER].retained > side[GROWN_BEFORE].retained
		       ? side[GROWN_AFTER].retained - side[GROWN_BEFORE].retained
		       : 0;
}

int owner_growth_confirm(struct owner_growth *self, const struct owners_query *middle,
			 const struct owners *after, struct err *err)
{
	/* it still grows at a quarter of its mean rate or more */
	enum { SLOWER = 4 };
	struct owner_growth since = {.one_run = true};
	u64 since_ns = span_ns(after, middle->graph);
	int status = compare(&since, middle, after, err);

	for (u64 i = 0; i < self->rows.count && status == 0; i++) {
		struct grown_row *row = &self->rows.data[i];
		u32 path = row->elements == NONE ? row->owner : row->elements;
		u64 bytes = grew_in(&since, self->paths.data[path].trail);

		row->stopped = SLOWER * (double)bytes * (double)self->span_ns <
			       (double)grown_bytes(row) * (double)since_ns;
	}
	self->confirmed = status == 0;
	owner_growth_release(&since);
	return status;
}

double grown_bytes_per_s(const struct owner_growth *self, const struct grown_row *row)
{
	return self->span_ns ? (double)grown_bytes(row) * 1e9 / (double)self->span_ns : 0;
}

void owner_growth_release(struct owner_growth *self)
{
	vec_release(&self->paths);
	vec_release(&self->rows);
	free(self->path_of);
	map_release(&self->path_by_trail);
	map_release(&self->path_by_place);
	names_release(&self->names);
	*self = (struct owner_growth){0};
}
