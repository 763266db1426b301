/* SPDX-License-Identifier: MIT
 * A trace as a profile of the Firefox Profiler, in its processed format: every allocation and every
 * free as a native allocation, and the live bytes as its memory track. The profiler keeps a whole
 * profile in a browser, so of many chunks every Nth is told and stands for N.
 * Host. Everything is in one thread of the profile, since stacks and names belong to a thread
 * there. */
#include <inttypes.h>
#include <string.h>

#include "host/base/order.h"
#include "show/formats/export.h"
#include "show/formats/places.h"
#include "show/render/fields.h"

/* Of the two formats that it knows; later ones read earlier versions. */
enum { PROCESSED_VERSION = 48, GECKO_VERSION = 29 };
enum { CHUNKS_MAX = 500000, RESOURCE_LIBRARY = 1 };

struct moment {
	u64 ticks;
	u64 chunk;
	u32 stack; /* node of the tree, 0 = none */
	bool free;
};

struct profile {
	const struct export_job *job;
	const struct model *model;
	struct places places;
	struct call_tree tree; /* of lines */
	VEC(struct moment) moments;
	VEC(u32) point_stacks; /* node + 1, 0 = not asked yet */
	VEC(u32) free_stacks;  /* the same by context */
	u64 step;              /* every so manyth chunk is told */
	struct json json;
};

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return rising(x->ticks, y->ticks) ?: rising(x->chunk, y->chunk) ?: x->free - y->free;
}

/* The node of the last walk, remembered in *known. */
static u32 node_of(struct profile *self, u32 *known)
{
	u32 node = 0;

	if (self->places.failed || !call_tree_add(&self->tree, &self->places, true, &node))
		self->places.failed = true;
	*known = node + 1;
	return node;
}

static u32 point_stack(struct profile *self, u32 point)
{
	u32 *known = &self->point_stacks.data[point];

	if (*known)
		return *known - 1;
	places_walk(&self->places, self->model->points.data[point].frame);
	return node_of(self, known);
}

static u32 free_stack(struct profile *self, u32 context)
{
	u32 *known;

	if (!context || context >= self->free_stacks.count)
		return 0;
	known = &self->free_stacks.data[context];
	if (*known)
		return *known - 1;
	places_walk_context(&self->places, context);
	return node_of(self, known);
}

static int gather(struct profile *self, struct err *err)
{
	const struct model *model = self->model;

	self->step = model->chunks.count / CHUNKS_MAX + 1;
	if (!vec_extend(&self->point_stacks, model->points.count) ||
	    !vec_extend(&self->free_stacks, model->contexts.nodes.count))
		return err_memory_for(err, "the export");
	for (u64 chunk = 0; chunk < model->chunks.count; chunk += self->step) {
		const struct chunk_page *page = chunk_at(&model->chunks, chunk);
		u32 k = (u32)(chunk % CHUNK_PAGE);
		struct moment moment = {.chunk = chunk};

		if (!page || page->end[k] == CHUNK_ABSENT)
			continue;
		moment.ticks = page->alloc_ticks[k];
		moment.stack =
			point_stack(self, model_point_of(model, page->alloc_context[k]).index);
		if (!vec_push(&self->moments, moment))
			return err_memory_for(err, "the export");
		if (page->end[k] != CHUNK_FREED && page->end[k] != CHUNK_IMPLIED)
			continue;
		moment.ticks =
			page->free_ticks[k] > moment.ticks ? page->free_ticks[k] : moment.ticks;
		moment.stack = free_stack(self, page->free_context[k]);
		moment.free = true;
		if (!vec_push(&self->moments, moment))
			return err_memory_for(err, "the export");
	}
	vec_sort(&self->moments, compare_moments);
	return self->places.failed ? err_memory_for(err, "the export") : 0;
}

static double ms(const struct profile *self, u64 ticks)
{
	return (double)tick_clock_ns(&self->model->clock, ticks) / 1e6;
}

/* A column of a table, whose values are `value_` for each `i`; a field without a name. */
#define COLUMN_OF(json_, name_, count_, value_)                                                    \
	do {                                                                                       \
		json_open_flat(json_, name_, '[');                                                 \
		for (u64 i = 0; i < (count_); i++)                                                 \
			put_fields(json_, value_);                                                 \
		json_close(json_, ']');                                                            \
	} while (0)

#define NOTHING SOME(NULL, 0)

static void put_none(struct json *json, const char *name)
{
	json_open_flat(json, name, '[');
	json_close(json, ']');
}

/* ---- meta ---- */

static void put_entry(struct json *json, const char *label, const char *value)
{
	put_object(json, NULL, FIELD("label", label), FIELD("format", "string"),
		   FIELD("value", value));
}

static void put_extra(struct profile *self)
{
	struct json *json = &self->json;
	struct result *caveats = export_caveats(self->job);

	json_open(json, "extra", '[');
	json_open(json, NULL, '{');
	json_text(json, "label", "Recording");
	json_open(json, "entries", '[');
	put_entry(json, "complete", export_complete(self->job) ? "yes" : "no");
	for (u64 i = 0; caveats && i < caveats->caveats.count; i++)
		put_entry(json, "caveat", caveats->caveats.data[i]);
	if (self->step > 1)
		put_entry(json, "caveat", "too many chunks: a sample stands for all");
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, ']');
	result_free(caveats);
}

static void put_meta(struct profile *self)
{
	struct json *json = &self->json;

	json_open(json, "meta", '{');
	put_fields(json, FIELD("interval", 1), FIELD("startTime", 0), FIELD("processType", 0),
		   FIELD("product", self->model->image.program),
		   FIELD("arguments", self->model->image.command), FIELD("stackwalk", 1),
		   FIELD("version", GECKO_VERSION),
		   FIELD("preprocessedProfileVersion", PROCESSED_VERSION),
		   FIELD("importedFrom", "heapwise"), FLAG("symbolicated", true),
		   FLAG("usesOnlyOneStackType", true), FLAG("sourceCodeIsNotOnSearchfox", true));
	json_open(json, "categories", '[');
	json_open_flat(json, NULL, '{');
	put_fields(json, FIELD("name", "Other"), FIELD("color", "grey"));
	json_open(json, "subcategories", '[');
	json_text(json, NULL, "Other");
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, ']');
	put_none(json, "markerSchema");
	put_extra(self);
	json_close(json, '}');
}

static void put_libs(struct profile *self)
{
	struct json *json = &self->json;
	const struct modmap *modules = &self->model->contexts.modules;

	json_open(json, "libs", '[');
	for (u32 id = 0; id < modules->module_count; id++) {
		const struct modmap_module *module = modmap_module(modules, id);
		const char *path = places_module_path(&self->places, id),
			   *slash = strrchr(path, '/');
		struct strbuf build_id = {0};

		for (u32 i = 0; module && i < module->build_id_bytes; i++)
			strbuf_addf(&build_id, "%02X", module->build_id[i]);
		put_object(json, NULL, FIELD("arch", ""), FIELD("name", slash ? slash + 1 : path),
			   FIELD("path", path), FIELD("debugName", slash ? slash + 1 : path),
			   FIELD("debugPath", path), FIELD("breakpadId", ""),
			   field_if(build_id.count, FIELD("codeId", strbuf_text(&build_id))));
		strbuf_release(&build_id);
	}
	json_close(json, ']');
}

static i64 change(const struct timeline *timeline, u64 i)
{
	return (i64)timeline->bucket[i].max_bytes -
	       (i64)(i ? timeline->bucket[i - 1].max_bytes : 0);
}

/* The memory track: changes of the highest value of each stretch of time. */
static void put_counters(struct profile *self)
{
	const struct timeline *timeline = &self->model->timeline;
	u64 count = (u64)timeline->current + 1;
	struct json *json = &self->json;
	char pid[16];

	snprintf(pid, sizeof(pid), "%" PRIu32, self->model->image.pid);
	json_open(json, "counters", '[');
	json_open(json, NULL, '{');
	put_fields(json, FIELD("name", "malloc"), FIELD("category", "Memory"),
		   FIELD("description", "live bytes"), FIELD("pid", pid),
		   FIELD("mainThreadIndex", 0));
	json_open(json, "samples", '{');
	COLUMN_OF(json, "time", count,
		  FIELD(NULL, ms(self, timeline->start_ticks + i * timeline->width_ticks)));
	COLUMN_OF(json, "count", count, FIELD(NULL, change(timeline, i)));
	json_number(json, "length", count);
	json_close(json, '}');
	json_close(json, '}');
	json_close(json, ']');
}

/* ---- the thread ---- */

static void put_samples(struct profile *self)
{
	struct json *json = &self->json;

	json_open(json, "samples", '{');
	COLUMN_OF(json, "stack", 2, NOTHING);
	COLUMN_OF(json, "time", 2, FIELD(NULL, i ? ms(self, self->model->last_ticks) : 0));
	put_fields(json, SOME("weight", 0), FIELD("weightType", "samples"), FIELD("length", 2));
	json_close(json, '}');
	json_open(json, "markers", '{');
	put_none(json, "data");
	put_none(json, "name");
	put_none(json, "startTime");
	put_none(json, "endTime");
	put_none(json, "phase");
	put_none(json, "category");
	json_number(json, "length", 0);
	json_close(json, '}');
}

/* What a moment changes: a chunk stands for what it weighs, and for those that were left out. */
static i64 weight_of(const struct profile *self, const struct moment *moment)
{
	u64 units, bytes,
		size = chunk_at(&self->model->chunks, moment->chunk)
			       ->size[moment->chunk % CHUNK_PAGE];

	model_weigh(self->model, size, &units, &bytes);
	return (i64)(bytes * self->step) * (moment->free ? -1 : 1);
}

static u32 thread_of(const struct profile *self, const struct moment *moment)
{
	const struct chunk_page *page = chunk_at(&self->model->chunks, moment->chunk);
	u32 k = (u32)(moment->chunk % CHUNK_PAGE);
	u32 thread = moment->free ? page->free_thread[k] : page->alloc_thread[k];

	return thread < self->model->threads.count ? self->model->threads.data[thread].tid : 0;
}

static u64 address_of(const struct profile *self, const struct moment *moment)
{
	return chunk_at(&self->model->chunks, moment->chunk)->address[moment->chunk % CHUNK_PAGE];
}

static void put_allocations(struct profile *self)
{
	const struct moment *moments = self->moments.data;
	u64 count = self->moments.count;
	struct json *json = &self->json;

	json_open(json, "nativeAllocations", '{');
	COLUMN_OF(json, "time", count, FIELD(NULL, ms(self, moments[i].ticks)));
	COLUMN_OF(json, "weight", count, FIELD(NULL, weight_of(self, &moments[i])));
	json_text(json, "weightType", "bytes");
	COLUMN_OF(json, "stack", count,
		  field_if(moments[i].stack, FIELD(NULL, moments[i].stack - 1)));
	COLUMN_OF(json, "memoryAddress", count, FIELD(NULL, address_of(self, &moments[i])));
	COLUMN_OF(json, "threadId", count, FIELD(NULL, thread_of(self, &moments[i])));
	json_number(json, "length", count);
	json_close(json, '}');
}

static void put_stacks(struct profile *self)
{
	const struct call_node *nodes = self->tree.nodes.data;
	u64 count = self->tree.nodes.count ? self->tree.nodes.count - 1 : 0;
	struct json *json = &self->json;

	json_open(json, "stackTable", '{');
	COLUMN_OF(json, "frame", count, FIELD(NULL, nodes[i + 1].key));
	COLUMN_OF(json, "category", count, FIELD(NULL, 0));
	COLUMN_OF(json, "subcategory", count, FIELD(NULL, 0));
	COLUMN_OF(json, "prefix", count,
		  field_if(nodes[i + 1].parent, FIELD(NULL, nodes[i + 1].parent - 1)));
	json_number(json, "length", count);
	json_close(json, '}');
}

static void put_frames(struct profile *self)
{
	const struct place_line *lines = self->places.lines.data;
	const struct place *places = self->places.rows.data;
	u64 count = self->places.lines.count;
	struct json *json = &self->json;

	json_open(json, "frameTable", '{');
	COLUMN_OF(json, "address", count, FIELD(NULL, places[lines[i].place].address));
	COLUMN_OF(json, "inlineDepth", count,
		  FIELD(NULL, places[lines[i].place].first + places[lines[i].place].count - 1 - i));
	COLUMN_OF(json, "category", count, FIELD(NULL, 0));
	COLUMN_OF(json, "subcategory", count, FIELD(NULL, 0));
	COLUMN_OF(json, "func", count, FIELD(NULL, lines[i].function));
	COLUMN_OF(json, "nativeSymbol", count, NOTHING);
	COLUMN_OF(json, "innerWindowID", count, FIELD(NULL, 0));
	COLUMN_OF(json, "implementation", count, NOTHING);
	COLUMN_OF(json, "line", count, SOME(NULL, lines[i].line));
	COLUMN_OF(json, "column", count, NOTHING);
	json_number(json, "length", count);
	json_close(json, '}');
}

/* String 2i is the name of function i and 2i + 1 its file; those of libraries follow. */
static void put_functions(struct profile *self)
{
	const struct place_function *functions = self->places.functions.data;
	u64 count = self->places.functions.count;
	struct json *json = &self->json;

	json_open(json, "funcTable", '{');
	COLUMN_OF(json, "name", count, FIELD(NULL, 2 * i));
	COLUMN_OF(json, "isJS", count, FLAG(NULL, false));
	COLUMN_OF(json, "relevantForJS", count, FLAG(NULL, false));
	COLUMN_OF(json, "resource", count,
		  FIELD(NULL, functions[i].module == NO_MODULE ? -1 : (i64)functions[i].module));
	COLUMN_OF(json, "fileName", count, field_if(*functions[i].file, FIELD(NULL, 2 * i + 1)));
	COLUMN_OF(json, "lineNumber", count, NOTHING);
	COLUMN_OF(json, "columnNumber", count, NOTHING);
	json_number(json, "length", count);
	json_close(json, '}');
}

static void put_resources(struct profile *self)
{
	u64 count = self->model->contexts.modules.module_count;
	u64 first = 2 * self->places.functions.count;
	struct json *json = &self->json;

	json_open(json, "resourceTable", '{');
	COLUMN_OF(json, "lib", count, FIELD(NULL, i));
	COLUMN_OF(json, "name", count, FIELD(NULL, first + i));
	COLUMN_OF(json, "host", count, NOTHING);
	COLUMN_OF(json, "type", count, FIELD(NULL, RESOURCE_LIBRARY));
	json_number(json, "length", count);
	json_close(json, '}');
	json_open(json, "nativeSymbols", '{');
	put_none(json, "libIndex");
	put_none(json, "address");
	put_none(json, "name");
	put_none(json, "functionSize");
	json_number(json, "length", 0);
	json_close(json, '}');
	json_open(json, "stringArray", '[');
	for (u64 i = 0; i < self->places.functions.count; i++) {
		json_text(json, NULL, self->places.functions.data[i].name);
		json_text(json, NULL, self->places.functions.data[i].file);
	}
	for (u64 i = 0; i < count; i++)
		json_text(json, NULL, places_module_path(&self->places, (u32)i));
	json_close(json, ']');
}

static void put_thread(struct profile *self)
{
	struct json *json = &self->json;
	char pid[16];

	snprintf(pid, sizeof(pid), "%" PRIu32, self->model->image.pid);
	json_open(json, "threads", '[');
	json_open(json, NULL, '{');
	put_fields(json, FIELD("processType", "default"), FIELD("processStartupTime", 0),
		   FIELD("processShutdownTime", ms(self, self->model->last_ticks)),
		   FIELD("registerTime", 0), SOME("unregisterTime", 0));
	put_none(json, "pausedRanges");
	put_fields(json, FIELD("name", self->model->image.program), FLAG("isMainThread", true),
		   FIELD("pid", pid), FIELD("tid", self->model->image.pid));
	put_samples(self);
	put_allocations(self);
	put_stacks(self);
	put_frames(self);
	put_functions(self);
	put_resources(self);
	json_close(json, '}');
	json_close(json, ']');
}

int firefox_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct profile self = {.job = job, .model = job->stacks.model, .json = {.out = out}};
	int status;

	places_init(&self.places, &job->stacks);
	status = gather(&self, err);
	if (status == 0) {
		json_open(&self.json, NULL, '{');
		put_meta(&self);
		put_libs(&self);
		put_counters(&self);
		put_thread(&self);
		json_close(&self.json, '}');
		json_end(&self.json);
	}
	places_release(&self.places);
	call_tree_release(&self.tree);
	vec_release(&self.moments);
	vec_release(&self.point_stacks);
	vec_release(&self.free_stacks);
	return status;
}
