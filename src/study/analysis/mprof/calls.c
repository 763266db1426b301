/* SPDX-License-Identifier: MIT
 * Frames → functions and calls.
 * Host. Reads the model, never changes it. Costs as much as there are frames; for a
 * Lisp one pass over the chunks besides. */
#include "study/analysis/mprof/calls.h"

#include <inttypes.h>
#include <string.h>

#include "host/base/keyed.h"
#include "study/analysis/places/group.h"
#include "study/analysis/mprof/category.h"
#include "host/base/strbuf.h"

void mprof_sum_add(struct mprof_sum *self, const struct mprof_sum *other)
{
	self->bytes += other->bytes;
	for (u32 i = 0; i < MPROF_SIZES; i++)
		self->sizes[i] += other->sizes[i];
	self->calls += other->calls;
}

/* ---- functions ---- */

/* Between the kernel and the program's first own function. */
static bool is_startup(const char *name)
{
	static const char *const names[] = {
		"_start",       "__libc_start_main", "__libc_start_main_impl",
		"start_thread", "__clone",           "__libc_start_call_main",
		"clone",        "__clone3",          "clone3",
		"thread_start",
	};

	for (u32 i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* GNAT's library calls malloc for the program, as operator new does, which is not on the stack. */
static bool is_allocator(const char *name)
{
	return strcmp(name, "__gnat_malloc") == 0 || strcmp(name, "__gnat_realloc") == 0 ||
	       strcmp(name, "__gnat_free") == 0;
}

static struct mprof_function function_new(struct mprof_calls *self, const char *name, u32 identity)
{
	return (struct mprof_function){.name = arena_copy(&self->arena, name),
				       .identity = identity,
				       .startup = is_startup(name),
				       .minor = function_is_minor(name, ""),
				       .hands_out = is_allocator(name)};
}

/* Functions of one name in one module are one function. */
static int function_find(struct mprof_calls *self, const char *name, u32 identity,
			 struct function_id *id)
{
	for (u64 hash = hash_u64(hash_text(identity, name));; hash = hash_u64(hash + 1)) {
		const struct mprof_function *function =
			vec_at_key(&self->functions, &self->by_name, hash,
				   function_new(self, name, identity));

		if (!function || !function->name)
			return ERR_MEMORY;
		id->index = (u32)(function - self->functions.data);
		if (function->identity == identity && strcmp(function->name, name) == 0)
			return 0;
	}
}

/* What a frame is called that has no name. */
static int function_unnamed(struct mprof_calls *self, const struct frame *frame,
			    struct function_id *id)
{
	const char *path = frame_module_path(self->source, frame), *slash = strrchr(path, '/');
	struct strbuf name = {0};
	int status;

	if (frame->flags & HW_NODE_CUT)
		strbuf_add(&name, "(outer frames were cut off)");
	else
		strbuf_addf(&name, "%s+0x%" PRIx64,
			    slash   ? slash + 1
			    : *path ? path
				    : "?",
			    frame->address);
	status = name.failed ? ERR_MEMORY
			     : function_find(self, strbuf_text(&name), frame->identity, id);
	strbuf_release(&name);
	if (status == 0) {
		self->functions.data[id->index].unnamed = true;
		self->functions.data[id->index].cut = frame->flags & HW_NODE_CUT;
	}
	return status;
}

static int name_frame(struct mprof_calls *self, const struct frame *frame,
		      const struct symbol_entry *entry, u32 i)
{
	struct function_id id = {0};
	int status;

	if (entry && i < entry->frame_count && *entry->frames[i].function)
		status = function_find(self, entry->frames[i].function, frame->identity, &id);
	else
		status = function_unnamed(self, frame, &id);
	if (status == 0 && entry && i < entry->frame_count)
		self->functions.data[id.index].minor |=
			function_is_minor(entry->frames[i].function, entry->frames[i].file);
	return status == 0 && !vec_push(&self->names, id) ? ERR_MEMORY : status;
}

/* The functions of a frame, names.data[*first …), outermost first; their number, or ERR_MEMORY.
 * Many frames share a place, so places that have symbols are looked up once. */
static int frame_functions(struct mprof_calls *self, const struct frame *frame, u64 *first)
{
	const struct symbol_entry *entry = frame_symbols(self->source, frame);
	u32 count = entry && entry->frame_count ? entry->frame_count : 1;
	u64 *known = entry ? map_at(&self->by_symbols, (u64)(uintptr_t)entry) : NULL;
	int status = 0;

	if (entry && !known)
		return ERR_MEMORY;
	*first = known && *known ? *known - 1 : self->names.count;
	if (known && *known)
		return (int)count;
	if (known)
		*known = *first + 1;
	for (u32 i = count; i-- > 0 && status == 0;)
		status = name_frame(self, frame, entry, i);
	return status < 0 ? status : (int)count;
}

/* ---- calls ---- */

static const struct mprof_function *function_of(const struct mprof_calls *self, u32 call)
{
	return mprof_function(self, self->calls.data[call].function);
}

/* What a tree that is being built knows of each frame: the innermost call of its stack. */
struct growth {
	struct mprof_calls *calls;
	const struct context_table *contexts;
	u32 *call_of; /* by frame */
};

static bool is_left_out(const struct growth *self, const struct frame *frame, u32 caller,
			const struct mprof_function *function)
{
	const struct frame *outer = &self->contexts->frames.data[frame->parent];

	if (caller != 0)
		return self->calls->source->fold &&
		       (function->hands_out ||
			(function->minor && function_of(self->calls, caller)->minor));
	/* A stripped C library does not name the function that calls main. */
	return function->startup ||
	       (function->unnamed && frame->parent && frame->module != NO_MODULE &&
		outer->identity == frame->identity);
}

/* A stripped program does not name its _start: an unnamed function whose caller is nobody, and
 * which calls what runs before main. */
static bool is_unnamed_start(const struct mprof_calls *self, u32 caller,
			     const struct mprof_function *function)
{
	return caller && function->startup && self->calls.data[caller].caller == 0 &&
	       function_of(self, caller)->unnamed && !function_of(self, caller)->cut;
}

/* Nor its main, which has no other caller than this function of the C library. */
static int name_main(struct mprof_calls *self, const struct frame *frame, const struct frame *outer,
		     struct function_id *id)
{
	const struct symbol_entry *caller = frame_symbols(self->source, outer);

	if (!mprof_function(self, *id)->unnamed || frame->module == NO_MODULE ||
	    frame->identity == outer->identity || !caller || !caller->frame_count ||
	    strcmp(caller->frames[0].function, "__libc_start_call_main") != 0)
		return 0;
	return function_find(self, "main", frame->identity, id);
}

static int add_call(struct mprof_calls *self, u32 caller, struct function_id function, u32 frame,
		    bool inlined)
{
	struct mprof_call call = {.caller = caller,
				  .function = function,
				  .frame = {frame},
				  .inlined = inlined};

	return vec_push(&self->calls, call) ? 0 : ERR_MEMORY;
}

static int grow_frame(struct growth *self, u32 index)
{
	struct mprof_calls *calls = self->calls;
	const struct frame *frame = &self->contexts->frames.data[index];
	u32 at = self->call_of[frame->parent];
	u64 first;
	int count = frame_functions(calls, frame, &first);

	for (int i = 0; i < count; i++) {
		struct function_id id = calls->names.data[first + (u64)i];

		if (is_unnamed_start(calls, at, mprof_function(calls, id)))
			at = 0;
		if (at == 0 && frame->parent &&
		    name_main(calls, frame, &self->contexts->frames.data[frame->parent], &id) < 0)
			return ERR_MEMORY;
		if (is_left_out(self, frame, at, mprof_function(calls, id)))
			continue;
		if (add_call(calls, at, id, index, i > 0) < 0)
			return ERR_MEMORY;
		at = (u32)calls->calls.count - 1;
	}
	self->call_of[index] = at;
	return count < 0 ? count : 0;
}

/* A point whose stack was left out as a whole, or that has none. */
static int grow_bare(struct growth *self, u32 frame)
{
	struct mprof_calls *calls = self->calls;
	struct function_id id;
	u64 first;
	int count = 1;

	if (frame == 0) {
		if (function_find(calls, "(no stack)", NO_MODULE, &id) < 0)
			return ERR_MEMORY;
	} else {
		count = frame_functions(calls, &self->contexts->frames.data[frame], &first);
		if (count < 0)
			return count;
		id = calls->names.data[first + (u64)count - 1];
	}
	if (add_call(calls, 0, id, frame, count > 1) < 0)
		return ERR_MEMORY;
	self->call_of[frame] = (u32)calls->calls.count - 1;
	return 0;
}

static int grow(struct mprof_calls *self)
{
	const struct model *model = self->source->model;
	struct growth growth = {.calls = self, .contexts = &model->contexts};
	u64 frames = model->contexts.frames.count;
	int status = vec_push(&self->calls, (struct mprof_call){0}) ? 0 : ERR_MEMORY;

	if (!vec_extend(&self->frame_calls, frames + 1))
		return ERR_MEMORY;
	growth.call_of = self->frame_calls.data;
	for (u32 i = 1; i < frames && status == 0; i++)
		status = grow_frame(&growth, i);
	for (u64 i = 0; i < model->points.count && status == 0; i++) {
		u32 frame = model->points.data[i].frame.index;

		if (growth.call_of[frame] == 0)
			status = grow_bare(&growth, frame);
		self->points.data[i].call = growth.call_of[frame];
	}
	return status;
}

/* ---- sums ---- */

/* The category of a type, by its number; one more for chunks without a type. */
static u64 point_and_category(const struct chunk *chunk, const void *self)
{
	const u8 *categories = self;
	struct chunk_type type;
	u32 class = LISP_OTHER;

	if (model_chunk_type(chunk->model, chunk->number, &type))
		class = categories[type.type];
	return group_by_point(chunk, NULL) * MPROF_SIZES + class;
}

static u8 *lisp_categories(const struct model *model)
{
	u8 *categories = malloc(model->types.count + 1);

	for (u64 i = 0; i < model->types.count && categories; i++)
		categories[i] = (u8)lisp_category(model->types.data[i]);
	return categories;
}

/* Of a Lisp: by category, and of what was collected instead of what is kept. */
static int sum_categories(struct mprof_calls *self, struct err *err)
{
	const struct model *model = self->source->model;
	u8 *categories = lisp_categories(model);
	struct group_query query = {.key = point_and_category,
				    .value = group_freed_bytes,
				    .self = categories};
	struct group_table groups = {0};
	int status = categories ? group_chunks(model, &query, &groups, err)
				: err_memory_for(err, "the calls");

	for (u64 i = 0; i < groups.rows.count && status == 0; i++) {
		const struct group_row *row = &groups.rows.data[i];
		struct mprof_point *point = &self->points.data[row->key / MPROF_SIZES];
		u32 class = row->key % MPROF_SIZES;

		point->all.sizes[class] = row->bytes;
		point->kept.sizes[class] = row->value_sum;
	}
	group_table_release(&groups);
	free(categories);
	return status;
}

/* The model's own sums know what was aggregated, too. */
static void sum_point(struct mprof_calls *self, u64 number)
{
	const struct model *model = self->source->model;
	const struct model_point *from = &model->points.data[number];
	struct mprof_point *point = &self->points.data[number];

	point->all.bytes = from->bytes;
	point->all.calls = from->allocations;
	for (u32 i = 0; i < MPROF_SIZES && !self->lisp; i++) {
		point->all.sizes[i] = from->class_bytes[i];
		point->kept.sizes[i] = model_keeps_nothing(model) ? 0 : from->class_live[i];
	}
	point->frees = from->frees;
	point->freed_bytes = from->freed_bytes;
	if (self->lisp) {
		point->kept.bytes = from->freed_bytes;
		point->kept.calls = from->frees;
	} else if (!model_keeps_nothing(model)) {
		point->kept.bytes = from->live_bytes;
		point->kept.calls = from->live_chunks;
	}
}

static bool is_lisp_start(const struct mprof_calls *self, const struct mprof_point *point)
{
	return strcmp(function_of(self, point->call)->name, LISP_START) == 0;
}

static void sum_all(struct mprof_calls *self, bool startup)
{
	for (u64 i = 0; i < self->points.count; i++) {
		struct mprof_point *point = &self->points.data[i];

		if (self->lisp && !startup && is_lisp_start(self, point)) {
			mprof_sum_add(&self->startup, &point->all);
			point->startup = true;
			point->all = point->kept = (struct mprof_sum){0};
			point->frees = point->freed_bytes = 0;
		}
		mprof_sum_add(&self->all, &point->all);
		mprof_sum_add(&self->kept, &point->kept);
	}
}

static int read_calls(struct mprof_calls *self, const struct stack_source *source, bool lisp,
		      bool startup, struct err *err)
{
	u64 points = source->model->points.count;

	*self = (struct mprof_calls){.source = source, .lisp = lisp};
	if (!vec_extend(&self->points, points))
		return err_memory_for(err, "the calls");
	if (lisp && sum_categories(self, err) < 0)
		return err->code;
	for (u64 i = 0; i < points; i++)
		sum_point(self, i);
	if (grow(self) < 0)
		return err_memory_for(err, "the calls");
	sum_all(self, startup);
	return 0;
}

int mprof_calls_read_lisp(struct mprof_calls *self, const struct stack_source *source, bool startup,
			  struct err *err)
{
	return read_calls(self, source, model_is_collected(source->model), startup, err);
}

int mprof_calls_read(struct mprof_calls *self, const struct stack_source *source, struct err *err)
{
	return read_calls(self, source, false, true, err);
}

void mprof_calls_release(struct mprof_calls *self)
{
	vec_release(&self->functions);
	vec_release(&self->calls);
	vec_release(&self->points);
	vec_release(&self->frame_calls);
	vec_release(&self->names);
	map_release(&self->by_name);
	map_release(&self->by_symbols);
	arena_release(&self->arena);
}
