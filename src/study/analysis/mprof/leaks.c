/* SPDX-License-Identifier: MIT
 * Points → partial call chains, and which of them keep memory.
 * Host. Function starts, for offsets, are looked up for the chains that are shown only. */
#include "study/analysis/mprof/leaks.h"

#include <inttypes.h>

#include "host/base/keyed.h"
#include "host/base/order.h"
#include "host/symbols/starts.h"
#include "study/result/field.h"

enum { AT_FREES = 3, AT_FREED_SHARE = 5 };

static const struct result_column columns[] = {
	NUMBER_COLUMN("allocations", "allocs", VALUE_COUNT, "allocations through this chain"),
	NUMBER_COLUMN("bytes", "bytes", VALUE_BYTES, "bytes allocated through this chain"),
	SHARE_COLUMN("share", "share of this chain in all kept bytes"),
	NUMBER_COLUMN("frees", "frees", VALUE_COUNT, "freed allocations of these"),
	NUMBER_COLUMN("freed_bytes", "bytes", VALUE_BYTES, "freed bytes of these"),
	SHARE_COLUMN("freed_share",
		     "share of the freed bytes in the bytes allocated through this chain"),
	COLUMN("kept_chunks", NULL, VALUE_COUNT, "allocations never freed"),
	COLUMN("kept_bytes", NULL, VALUE_BYTES, "bytes never freed"),
	COLUMN("path", "path", VALUE_STACK, "functions of the chain, innermost first",
	       .look = LOOK_PATH, .joint = " | "),
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
		struct chain *found = vec_at_key(&self->chains, &self->by_hash, hash, chain);

		if (!found || same_chain(self, found, &chain))
			return found;
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

	return falling(x->sums.kept.bytes, y->sums.kept.bytes)
		       ?: falling(x->sums.kept.calls, y->sums.kept.calls)
			       ?: rising(x->call, y->call);
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
	vec_sort(&self->chains, most_kept_first);
}

/* ---- offsets ---- */

static int compare_sites(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return rising(x->module, y->module) ?: rising(x->address, y->address);
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
		return err_memory_for(err, "the leaks");
	vec_sort(&self->sites, compare_sites);
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

	if (call_at(self, call)->inlined || frame->module == NO_MODULE || !self->sites.count)
		return result_copy(self->table, name);
	site = bsearch(&wanted, self->sites.data, self->sites.count, sizeof *site, compare_sites);
	if (site && site->start != NO_START)
		return result_format(self->table, "%s+%" PRIu64, name,
				     frame->address + 1 - site->start);
	return result_format(self->table, "%s@0x%" PRIx64, name, frame->address + 1);
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

/* Nothing for people where nothing was freed. */
static struct value if_freed(const struct mprof_point *sums, struct value value)
{
	return sums->frees ? value : value_shown(value, "");
}

static void add_row(struct leaks *self, const struct chain *chain)
{
	const struct model *model = self->calls->source->model;
	const struct mprof_point *sums = &chain->sums;

	result_row(self->table, value_units(model, sums->all.calls), value_number(sums->all.bytes),
		   mprof_share(sums->kept.bytes, self->calls->kept.bytes),
		   if_freed(sums, value_units(model, sums->frees)),
		   if_freed(sums, value_number(sums->freed_bytes)),
		   if_freed(sums, mprof_share(sums->freed_bytes, sums->all.bytes)),
		   value_units(model, sums->kept.calls), value_number(sums->kept.bytes),
		   value_stack(path_of(self, chain)));
}

static void fill(struct leaks *self)
{
	struct result *table = self->table;

	table->grid = true;
	table->empty = self->calls->kept.calls
			       ? "no chain keeps enough to be listed; --verbose lists all"
			       : "nothing was kept";
	/* Left out, but only for people, when nothing was freed. */
	for (u32 i = AT_FREES; i <= AT_FREED_SHARE && !self->any_freed && !table->failed; i++)
		table->columns.data[i].label = NULL;
	for (u64 i = 0; i < self->chains.count; i++)
		add_row(self, &self->chains.data[i]);
}

struct result *analyse_mprof_leaks(const struct mprof_calls *calls,
				   const struct mprof_leaks_query *query, struct err *err)
{
	struct leaks self = {.calls = calls, .query = query};
	int status;

	self.table = result_table("leaks", "Memory leaks", columns);
	status = self.table ? add_points(&self) : ERR_MEMORY;
	if (status < 0)
		err_memory_for(err, "the leaks");
	if (status == 0) {
		choose(&self);
		status = query->offsets ? find_starts(&self, err) : 0;
	}
	if (status == 0)
		fill(&self);
	vec_release(&self.chains);
	vec_release(&self.sites);
	map_release(&self.by_hash);
	return result_made_if(status == 0, self.table, err, "the leaks");
}
