/* SPDX-License-Identifier: MIT
 * Finds who owns what several roots lead to.
 * Host. Never recurses. */
#include "study/analysis/owners/shared.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum {
	LEAST_SHARE = 50, /* of all bytes, one in so many: there are fewer such chunks than bits */
	ROWS_MAX = 64,
	PASSES_MAX = 64, /* over all pointers: more are needed only by graphs made for it */
};

struct row {
	u32 chunk;
	u32 root; /* that points to it itself; NONE = none, or several */
	bool direct;
};

struct sharing {
	struct owners *owners;
	struct row rows[ROWS_MAX];
	u32 count;
	u64 *leads; /* by node: the rows whose chunks it leads to, a bit each */
	u32 *top;   /* by node: the highest of its holders, a root or a chunk that is shared */
};

/* ---- which chunks ---- */

static void find_rows(struct sharing *self)
{
	const struct dominators *tree = &self->owners->tree;
	u64 chunks = owners_graph(self->owners)->chunk_count;
	u64 least = tree->retained[tree->program] / LEAST_SHARE + 1;

	for (u32 node = 0; node < chunks && self->count < ROWS_MAX; node++)
		if (tree->holder[node] == tree->program && tree->retained[node] >= least)
			self->rows[self->count++] = (struct row){node, NONE, false};
}

static void find_direct(struct sharing *self)
{
	const struct stream_graph *graph = owners_graph(self->owners);

	for (u32 i = 0; i < self->count; i++)
		self->leads[self->rows[i].chunk] = 1ull << i;
	for (u32 root = (u32)graph->chunk_count; root < self->owners->tree.lost; root++)
		for (u64 i = graph->starts[root]; i < graph->starts[root + 1]; i++) {
			u64 bit = self->leads[graph->edges[i].target];
			struct row *row = bit ? &self->rows[__builtin_ctzll(bit)] : NULL;

			if (!row || edge_is_in(self->owners->ignored, i) || row->root == root)
				continue;
			row->root = row->direct ? NONE : root;
			row->direct = true;
		}
}

/* ---- who leads to them ---- */

static bool lead_on(struct sharing *self, u32 node)
{
	const struct stream_graph *graph = owners_graph(self->owners);
	u64 leads = self->leads[node], before = leads;

	if (node >= self->owners->tree.lost)
		return false;
	for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++)
		if (!edge_is_in(self->owners->ignored, i))
			leads |= self->leads[graph->edges[i].target];
	self->leads[node] = leads;
	return leads != before;
}

/* Back and forth, so that a list needs few passes whichever way it goes. False if that was not
 * enough. */
static bool find_leads(struct sharing *self)
{
	const struct dominators *tree = &self->owners->tree;
	bool changed = true;

	for (u32 pass = 0; changed && pass < PASSES_MAX; pass++) {
		changed = false;
		for (u64 i = 0; i < tree->node_count; i++) {
			u64 at = pass % 2 ? i : tree->node_count - 1 - i;

			changed |= lead_on(self, tree->order[at]);
		}
	}
	return !changed;
}

/* ---- whose they are ---- */

/* The root that points to it holds more than each other one that leads to it. */
static bool is_owned(const struct sharing *self, u32 at)
{
	const struct dominators *tree = &self->owners->tree;
	u32 owner = self->rows[at].root;

	if (owner == NONE)
		return false;
	for (u32 root = (u32)owners_graph(self->owners)->chunk_count; root < tree->lost; root++)
		if (root != owner && self->leads[root] >> at & 1 &&
		    tree->retained[root] >= tree->retained[owner])
			return false;
	return true;
}

static u32 keep_owned(struct sharing *self)
{
	u32 kept = 0;

	for (u32 i = 0; i < self->count; i++)
		if (is_owned(self, i))
			self->rows[kept++] = self->rows[i];
	return self->count = kept;
}

static void find_tops(struct sharing *self)
{
	const struct dominators *tree = &self->owners->tree;

	for (u64 i = 0; i < tree->node_count; i++) {
		u32 node = tree->order[i], holder = tree->holder[node];

		self->top[node] = holder == tree->program ? node : self->top[holder];
	}
}

static void ignore(struct sharing *self)
{
	const struct stream_graph *graph = owners_graph(self->owners);

	memset(self->leads, 0, self->owners->tree.node_count * sizeof *self->leads);
	for (u32 i = 0; i < self->count; i++)
		self->leads[self->rows[i].chunk] = i + 1;
	for (u32 node = 0; node < self->owners->tree.lost; node++)
		for (u64 i = graph->starts[node]; i < graph->starts[node + 1]; i++) {
			u64 at = self->leads[graph->edges[i].target];
			const struct row *row = at ? &self->rows[at - 1] : NULL;

			if (row && self->top[node] != row->root && self->top[node] != row->chunk)
				self->owners->ignored[i / 64] |= 1ull << (i % 64);
		}
}

bool owner_shared_find(struct owners *self, bool *found)
{
	struct sharing sharing = {.owners = self};
	u64 nodes = self->tree.node_count;
	bool good;

	*found = false;
	find_rows(&sharing);
	if (!sharing.count)
		return true;
	sharing.leads = calloc(nodes, sizeof *sharing.leads);
	sharing.top = malloc(nodes * sizeof *sharing.top);
	good = sharing.leads && sharing.top;
	if (good)
		find_direct(&sharing);
	if (good && find_leads(&sharing) && keep_owned(&sharing)) {
		find_tops(&sharing);
		ignore(&sharing);
		*found = true;
	}
	free(sharing.leads);
	free(sharing.top);
	return good;
}
