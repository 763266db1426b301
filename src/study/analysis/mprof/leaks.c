/* SPDX-License-Identifier: MIT
 * Points → partial call chains, and which of them keep memory.
 * Host. Function starts, for offsets, are looked up for the chains that are shown only. */
#include "study/analysis/mprof/leaks.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/strbuf.h"
#include "host/symbols/starts.h"

enum column {
	AT_ALLOCATIONS,
	AT_BYTES,
	AT_SHARE,
	AT_FREES,
	AT_FREED,
	AT_FREED_SHARE,
	AT_KEPT_CHUNKS,
	AT_KEPT,
	AT_PATH,
	COLUMNS
};

static const struct result_column columns[COLUMNS] = {
	[AT_ALLOCATIONS] = {.name = "allocations",
			    .label = "allocs",
			    .type = VALUE_COUNT,
			    .look = LOOK_PLAIN,
			    .meaning = "allocations through this chain"},
	[AT_BYTES] = {.name = "bytes",
		      .label = "bytes",
		      .type = VALUE_BYTES,
		      .look = LOOK_PLAIN,
		      .meaning = "bytes allocated through this chain"},
	[AT_SHARE] = {.name = "share",
		      .label = "(%)",
		      .type = VALUE_SHARE,
		      .look = LOOK_BRACKETS,
		      .joint = " ",
		      .meaning = "share of this chain in all kept bytes"},
	[AT_FREES] = {.name = "frees",
		      .label = "frees",
		      .type = VALUE_COUNT,
		      .look = LOOK_PLAIN,
		      .meaning = "freed allocations of these"},
	[AT_FREED] = {.name = "freed_bytes",
		      .label = "bytes",
		      .type = VALUE_BYTES,
		      .look = LOOK_PLAIN,
		      .meaning = "freed bytes of these"},
	[AT_FREED_SHARE] = {.name = "freed_share",
			    .label = "(%)",
			    .type = VALUE_SHARE,
			    .look = LOOK_BRACKETS,
			    .joint = " ",
			    .meaning = "share of the freed bytes in the bytes allocated through "
				       "this chain"},
	[AT_KEPT_CHUNKS] = {.name = "kept_chunks",
			    .type = VALUE_COUNT,
			    .meaning = "allocations never freed"},
	[AT_KEPT] = {.name = "kept_bytes", .type = VALUE_BYTES, .meaning = "bytes never freed"},
	[AT_PATH] = {.name = "path",
		     .label = "path",
		     .type = VALUE_STACK,
		     .look = LOOK_PATH,
		     .joint = " | ",
		     .meaning = "functions of the chain, innermost first"},
};

/* A chain: `depth` calls from the innermost one on. */
struct chain {
	u32 call;
	u32 depth;
	bool cut; /* has further callers */
	struct mprof_point sums;
};

struct site { /* where a frame is, and the start of its function */
	u32 module;
	u64 address;
	u64 start;
};

struct leaks {
	const struct mprof_calls *calls;
	const struct mprof_leaks_query *query;
	VEC(struct chain) chains;
	struct map by_hash;
	VEC(struct site) sites; /* by module, then address */
	struct result *table;
	bool any_freed;
};

static const struct mprof_call *call_at(const struct leaks *self, u32 call)
{
	return &self->calls->calls.data[call];
}

static const struct frame *frame_of(const struct leaks *self, u32 call)
{
	return context_table_frame(&self->calls->source->model->contexts,
				   call_at(self, call)->frame);
}

static bool is_cut(const struct leaks *self, u32 call)
{
	return mprof_function(self->calls, call_at(self, call)->function)->cut;
}

/* ---- chains ---- */

static struct chain chain_of(const struct leaks *self, u32 call)
{
	struct chain chain = {.call = call};

	for (; call; call = call_at(self, call)->caller) {
		if (is_cut(self, call) || (self->query->depth && chain.depth == self->query->depth))
			break;
		chain.depth++;
	}
	chain.cut = call != 0;
	return chain;
}

static u64 chain_hash(const struct leaks *self, const struct chain *chain)
{
	u64 hash = chain->depth * 2 + chain->cut;
	u32 call = chain->call;

	for (u32 i = 0; i < chain->depth; i++, call = call_at(self, call)->caller) {
		hash = hash_u64(hash ^ call_at(self, call)->function.index);
		if (self->query->offsets)
			hash = hash_u64(hash ^ frame_of(self, call)->address);
	}
	return hash;
}

static bool same_chain(const struct leaks *self, const struct chain *a, const struct chain *b)
{
	u32 x = a->call, y = b->call;

	if (a->depth != b->depth || a->cut != b->cut)
		return false;
	for (u32 i = 0; i < a->depth && x != y; i++) {
		if (call_at(self, x)->function.index != call_at(self, y)->function.index)
			return false;
		if (self->query->offsets &&
		    frame_of(self, x)->address != frame_of(self, y)->address)
			return false;
		x = call_at(self, x)->caller;
		y = call_at(self, y)->caller;
	}
	return true;
}

static struct chain *chain_find(struct leaks *self, u32 call)
{
	struct chain chain = chain_of(self, call);

	for (u64 hash = chain_hash(self, &chain);; hash = hash_u64(hash + 1)) {
		u64 *index = map_at(&self->by_hash, hash);

		if (!index)
			return NULL;
		if (*index == 0) {
			if (!vec_push(&self->chains, chain))
				return NULL;
			*index = self->chains.count;
		}
		if (same_chain(self, &self->chains.data[*index - 1], &chain))
			return &self->chains.data[*index - 1];
	}
}

static int add_points(struct leaks *self)
{
	for (u64 i = 0; i < self->calls->points.count; i++) {
		const struct mprof_point *point = &self->calls->points.data[i];
		struct chain *chain = chain_find(self, point->call);

		if (!chain)
			return ERR_MEMORY;
		mprof_sum_add(&chain->sums.all, &point->all);
		mprof_sum_add(&chain->sums.kept, &point->kept);
		chain->sums.frees += point->frees;
		chain->sums.freed_bytes += point->freed_bytes;
	}
	return 0;
}

static int most_kept_first(const void *a, const void *b)
{
	const struct chain *x = a, *y = b;

	if (x->sums.kept.bytes != y->sums.kept.bytes)
		return x->sums.kept.bytes > y->sums.kept.bytes ? -1 : 1;
	if (x->sums.kept.calls != y->sums.kept.calls)
		return x->sums.kept.calls > y->sums.kept.calls ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

/* Keeps the chains that are shown, in their order. */
static void choose(struct leaks *self)
{
	u64 kept = 0;

	for (u64 i = 0; i < self->chains.count; i++) {
		const struct mprof_point *sums = &self->chains.data[i].sums;

		if (!sums->kept.calls || !mprof_is_shown(self->query->verbosity, sums->kept.bytes,
							 self->calls->kept.bytes))
			continue;
		self->any_freed |= sums->frees != 0;
		self->chains.data[kept++] = self->chains.data[i];
	}
	self->chains.count = kept;
	if (kept)
		qsort(self->chains.data, kept, sizeof *self->chains.data, most_kept_first);
}

/* ---- offsets ---- */

static int compare_sites(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int add_sites(struct leaks *self, const struct chain *chain)
{
	u32 call = chain->call;

	for (u32 i = 0; i < chain->depth; i++, call = call_at(self, call)->caller) {
		const struct frame *frame = frame_of(self, call);
		struct site site = {.module = frame->module, .address = frame->address};

		if (frame->module != NO_MODULE && !vec_push(&self->sites, site))
			return ERR_MEMORY;
	}
	return 0;
}

/* The starts of sites [first, end), which are in one module. */
static int find_module_starts(struct leaks *self, u64 first, u64 end, struct err *err)
{
	const struct model *model = self->calls->source->model;
	struct site *sites = self->sites.data;
	const struct modmap_module *module =
		modmap_module(&model->contexts.modules, sites[first].module);
	u64 count = end - first, *addresses = calloc(2 * count, sizeof *addresses);
	u64 *starts = addresses + count;
	int status = addresses ? 0 : err_memory_for(err, "the leaks");

	for (u64 i = 0; i < count && addresses; i++) {
		addresses[i] = sites[first + i].address;
		starts[i] = NO_START;
	}
	if (module && status == 0) {
		struct starts_query query = {.module = {.path = *module->path
									? module->path
									: model->image.program,
							.build_id = module->build_id,
							.build_id_bytes = module->build_id_bytes,
							.arch = model->image.arch},
					     .debug_path = self->query->debug_path,
					     .addresses = addresses,
					     .count = count};

		status = function_starts(&query, starts, err);
	}
	for (u64 i = 0; i < count && status == 0; i++)
		sites[first + i].start = starts[i];
	free(addresses);
	return status;
}

static int find_starts(struct leaks *self, struct err *err)
{
	int status = 0;

	for (u64 i = 0; i < self->chains.count && status == 0; i++)
		status = add_sites(self, &self->chains.data[i]);
	if (status < 0)
		return err_set(err, status, "out of memory for the leaks");
	if (self->sites.count)
		qsort(self->sites.data, self->sites.count, sizeof *self->sites.data, compare_sites);
	for (u64 i = 0, end; i < self->sites.count && status == 0; i = end) {
		for (end = i; end < self->sites.count &&
			      self->sites.data[end].module == self->sites.data[i].module;)
			end++;
		status = find_module_starts(self, i, end, err);
	}
	return status;
}

/* "name+n": the place that the call returns to, n bytes after the function's start, as debuggers
 * say it; "name@0x…", in the module, where the start is not known. An inlined function has no
 * bytes of its own: the place is told by the function that it was inlined into. */
static const char *name_with_offset(struct leaks *self, u32 call, const char *name)
{
	const struct frame *frame = frame_of(self, call);
	struct site wanted = {.module = frame->module, .address = frame->address};
	const struct site *site;
	struct strbuf text = {0};
	const char *copy;

	if (call_at(self, call)->inlined || frame->module == NO_MODULE || !self->sites.count)
		return result_copy(self->table, name);
	site = bsearch(&wanted, self->sites.data, self->sites.count, sizeof *site, compare_sites);
	if (site && site->start != NO_START)
		strbuf_addf(&text, "%s+%" PRIu64, name, frame->address + 1 - site->start);
	else
		strbuf_addf(&text, "%s@0x%" PRIx64, name, frame->address + 1);
	copy = result_copy(self->table, strbuf_text(&text));
	strbuf_release(&text);
	return copy;
}

/* ---- rows ---- */

static struct result_frame path_frame(struct leaks *self, u32 call)
{
	const struct mprof_function *function =
		mprof_function(self->calls, call_at(self, call)->function);
	const struct frame *frame = frame_of(self, call);
	struct result_frame out = {.function = "", .file = "", .offset = frame->address};

	out.module = result_copy(self->table, frame_module_path(self->calls->source, frame));
	if (!function->unnamed)
		out.function = self->query->offsets ? name_with_offset(self, call, function->name)
						    : result_copy(self->table, function->name);
	out.inlined = call_at(self, call)->inlined;
	out.minor = function->minor;
	return out;
}

static const struct result_stack *path_of(struct leaks *self, const struct chain *chain)
{
	struct result_stack *path = arena_new(&self->table->arena, struct result_stack);
	u32 call = chain->call;

	if (path)
		path->frames =
			arena_new_array(&self->table->arena, struct result_frame, chain->depth);
	if (!path || !path->frames) {
		self->table->failed = true;
		return NULL;
	}
	for (; path->count < chain->depth; call = call_at(self, call)->caller)
		path->frames[path->count++] = path_frame(self, call);
	path->hidden = chain->cut;
	return path;
}

static void add_row(struct leaks *self, const struct chain *chain)
{
	const struct model *model = self->calls->source->model;
	const struct mprof_point *sums = &chain->sums;
	struct value values[COLUMNS], *row;

	values[AT_ALLOCATIONS] = value_number(model_count(model, sums->all.calls));
	values[AT_BYTES] = value_number(sums->all.bytes);
	values[AT_SHARE] = mprof_share(sums->kept.bytes, self->calls->kept.bytes);
	values[AT_FREES] = value_number(model_count(model, sums->frees));
	values[AT_FREED] = value_number(sums->freed_bytes);
	values[AT_FREED_SHARE] = mprof_share(sums->freed_bytes, sums->all.bytes);
	values[AT_KEPT_CHUNKS] = value_number(model_count(model, sums->kept.calls));
	values[AT_KEPT] = value_number(sums->kept.bytes);
	values[AT_PATH] = value_stack(path_of(self, chain));
	if (!sums->frees)
		for (u32 i = AT_FREES; i <= AT_FREED_SHARE; i++)
			values[i].shown = "";
	row = result_add_row(self->table);
	if (row)
		memcpy(row, values, sizeof values);
}

static void fill(struct leaks *self)
{
	for (u32 i = 0; i < COLUMNS; i++) {
		struct result_column column = columns[i];

		/* Left out, but only for people, when nothing was freed. */
		if (!self->any_freed && i >= AT_FREES && i <= AT_FREED_SHARE)
			column.label = NULL;
		result_set_columns(self->table, &column, 1);
	}
	for (u64 i = 0; i < self->chains.count; i++)
		add_row(self, &self->chains.data[i]);
}

struct result *analyse_mprof_leaks(const struct mprof_calls *calls,
				   const struct mprof_leaks_query *query, struct err *err)
{
	struct leaks self = {.calls = calls, .query = query};
	int status;

	self.table = result_new(RESULT_TABLE, "leaks", "Memory leaks");
	status = self.table ? add_points(&self) : ERR_MEMORY;
	if (status < 0)
		err_set(err, status, "out of memory for the leaks");
	if (status == 0) {
		choose(&self);
		status = query->offsets ? find_starts(&self, err) : 0;
	}
	if (status == 0) {
		self.table->grid = true;
		self.table->empty = calls->kept.calls
					    ? "no chain keeps enough to be listed; --verbose lists "
					      "all"
					    : "nothing was kept";
		fill(&self);
		if (result_failed(self.table))
			status = err_memory_for(err, "the leaks");
	}
	if (status < 0) {
		result_free(self.table);
		self.table = NULL;
	}
	vec_release(&self.chains);
	vec_release(&self.sites);
	map_release(&self.by_hash);
	return self.table;
}
