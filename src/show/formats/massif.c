/* SPDX-License-Identifier: MIT
 * A trace in the format of massif's output, for ms_print and massif-visualizer: the heap over time,
 * with the stacks that make up its peak and what is left at the end.
 * Host. A snapshot of the timeline is the highest of its stretch of time, so that no peak is
 * lost. */
#include <inttypes.h>

#include "host/base/order.h"
#include "host/base/text.h"
#include "show/formats/export.h"
#include "show/formats/places.h"

/* As massif has them by default: number of snapshots, frames of a stack, and the share in percent
 * below which stacks are counted and not listed. */
enum { SNAPSHOTS = 100, DEPTH = 30, THRESHOLD_PERCENT = 1 };

struct heap_node {
	u32 parent, node;
	u64 bytes;
};

struct snapshots {
	const struct export_job *job;
	const struct model *model;
	struct places places;
	struct call_tree tree;      /* from the innermost frame outwards */
	VEC(u64) bytes;             /* by node, with all below it */
	VEC(struct heap_node) kids; /* by parent, then largest first */
	VEC(u64) first;             /* by node: its first one there; one more at the end */
	FILE *out;
	u64 number; /* of snapshots */
	u64 total;  /* of the tree that is written */
	u64 last_ns;
};

static void put_clean(const char *text, FILE *out) { text_put(out, text, "#", ' '); }

static u64 at_peak(const struct model_point *point) { return point->at_peak_bytes; }
static u64 at_end(const struct model_point *point) { return point->live_bytes; }

static bool add_bytes(struct snapshots *self, u64 bytes)
{
	u32 node = 0;

	if (!vec_extend(&self->bytes, 1))
		return false;
	self->bytes.data[0] += bytes;
	for (u64 i = 0; i < self->places.path.count && i < DEPTH; i++) {
		if (!call_tree_child(&self->tree, node, self->places.path.data[i], &node) ||
		    !vec_extend(&self->bytes, (u64)node + 1))
			return false;
		self->bytes.data[node] += bytes;
	}
	return true;
}

static int compare_kids(const void *a, const void *b)
{
	const struct heap_node *x = a, *y = b;

	return rising(x->parent, y->parent)
		       ?: falling(x->bytes, y->bytes) ?: rising(x->node, y->node);
}

static int build_tree(struct snapshots *self, u64 (*value)(const struct model_point *),
		      struct err *err)
{
	vec_clear(&self->bytes);
	vec_clear(&self->kids);
	vec_clear(&self->first);
	call_tree_release(&self->tree);
	for (u64 i = 0; i < self->model->points.count; i++) {
		u64 bytes = value(&self->model->points.data[i]);

		if (!bytes)
			continue;
		places_walk(&self->places, self->model->points.data[i].frame);
		if (self->places.failed || !add_bytes(self, bytes))
			return err_memory_for(err, "the export");
	}
	for (u32 node = 1; node < self->bytes.count; node++)
		if (!vec_push(&self->kids, (struct heap_node){self->tree.nodes.data[node].parent,
							      node, self->bytes.data[node]}))
			return err_memory_for(err, "the export");
	vec_sort(&self->kids, compare_kids);
	if (!vec_extend(&self->first, self->bytes.count + 1))
		return err_memory_for(err, "the export");
	for (u64 node = 0, at = 0; node <= self->bytes.count; node++) {
		while (at < self->kids.count && self->kids.data[at].parent < node)
			at++;
		self->first.data[node] = at;
	}
	return 0;
}

static bool is_listed(const struct snapshots *self, u64 bytes)
{
	return bytes * 100 >= self->total * THRESHOLD_PERCENT;
}

static void put_place(const struct snapshots *self, u32 number)
{
	const struct place_line *line = &self->places.lines.data[number];
	const struct place_function *function = place_function(&self->places, number);
	const struct place *place = &self->places.rows.data[line->place];

	fprintf(self->out, "0x%" PRIX64 ": ", places_pc(&self->places, place));
	put_clean(function->name, self->out);
	if (*function->file && line->line) {
		fputs(" (", self->out);
		put_clean(function->file, self->out);
		fprintf(self->out, ":%" PRIu32 ")", line->line);
	} else if (place->module != NO_MODULE) {
		fputs(" (in ", self->out);
		put_clean(places_module_path(&self->places, place->module), self->out);
		fputc(')', self->out);
	}
}

/* DEPTH bounds the recursion. Small ones of a node share a line, as a node of its own. */
static void put_node(const struct snapshots *self, u32 node, u32 depth)
{
	u64 first = self->first.data[node], end = self->first.data[node + 1], listed = first;
	u64 rest = 0;

	while (listed < end && is_listed(self, self->kids.data[listed].bytes))
		listed++;
	for (u64 i = listed; i < end; i++)
		rest += self->kids.data[i].bytes;
	fprintf(self->out, "%*sn%" PRIu64 ": %" PRIu64 " ", (int)depth, "",
		listed - first + (listed < end), self->bytes.data[node]);
	if (node)
		put_place(self, self->tree.nodes.data[node].key);
	else
		fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.", self->out);
	fputc('\n', self->out);
	for (u64 i = first; i < listed; i++)
		put_node(self, self->kids.data[i].node, depth + 1);
	if (listed < end)
		fprintf(self->out,
			"%*sn0: %" PRIu64 " in %" PRIu64 " %s below massif's threshold (%d.00%%)\n",
			(int)depth + 1, "", rest, end - listed,
			end - listed == 1 ? "place," : "places, all", THRESHOLD_PERCENT);
}

/* Events may come a little late; the snapshots may not. */
static void put_snapshot(struct snapshots *self, u64 ticks, u64 bytes, const char *tree)
{
	u64 ns = tick_clock_ns(&self->model->clock, ticks);

	if (ns > self->last_ns)
		self->last_ns = ns;
	fprintf(self->out,
		"#-----------\nsnapshot=%" PRIu64 "\n#-----------\ntime=%.3f\nmem_heap_B=%" PRIu64
		"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		self->number++, (double)self->last_ns / 1e6, bytes, tree);
}

static int put_detailed(struct snapshots *self, u64 ticks, u64 bytes, bool peak, struct err *err)
{
	int status = build_tree(self, peak ? at_peak : at_end, err);

	if (status < 0)
		return status;
	self->total = bytes;
	put_snapshot(self, ticks, bytes, peak ? "peak" : "detailed");
	if (self->bytes.count)
		put_node(self, 0, 0);
	else
		fputs("n0: 0 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n",
		      self->out);
	return 0;
}

static int put_timeline(struct snapshots *self, struct err *err)
{
	const struct timeline *timeline = &self->model->timeline;
	u32 count = timeline->current + 1, step = (count + SNAPSHOTS - 1) / SNAPSHOTS;
	bool peak_told = !self->model->totals.peak_bytes;
	int status = 0;

	for (u32 i = 0; i < count && status == 0; i += step) {
		u64 start = timeline->start_ticks + i * timeline->width_ticks, highest = 0;

		for (u32 k = i; k < i + step && k < count; k++)
			if (timeline->bucket[k].max_bytes > highest)
				highest = timeline->bucket[k].max_bytes;
		if (!peak_told && highest == self->model->totals.peak_bytes) {
			peak_told = true;
			status = put_detailed(self, self->model->totals.peak_ticks, highest, true,
					      err);
		} else {
			put_snapshot(self, start, highest, "empty");
		}
	}
	return status;
}

static void put_head(struct snapshots *self)
{
	struct result *caveats = export_caveats(self->job);

	fprintf(self->out, "desc: written by heapwise; complete: %s\n",
		export_complete(self->job) ? "yes" : "no");
	for (u64 i = 0; caveats && i < caveats->caveats.count; i++) {
		fputs("desc: ", self->out);
		put_clean(caveats->caveats.data[i], self->out);
		fputc('\n', self->out);
	}
	result_free(caveats);
	fputs("cmd: ", self->out);
	put_clean(self->model->image.command, self->out);
	fputs("\ntime_unit: ms\n", self->out);
}

int massif_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct snapshots self = {.job = job, .model = job->stacks.model, .out = out};
	int status;

	places_init(&self.places, &job->stacks);
	put_head(&self);
	status = put_timeline(&self, err);
	if (status == 0)
		status = put_detailed(&self, self.model->last_ticks, self.model->totals.live_bytes,
				      false, err);
	places_release(&self.places);
	call_tree_release(&self.tree);
	vec_release(&self.bytes);
	vec_release(&self.kids);
	vec_release(&self.first);
	return status;
}
