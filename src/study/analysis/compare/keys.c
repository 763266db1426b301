/* SPDX-License-Identifier: MIT
 * What the rows of a comparison are told apart by, so that a program that was built again finds its
 * own rows: names instead of addresses.
 * Host. Stacks are kept as a tree of names, which both sides share; each frame is named once. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "host/base/path.h"
#include "study/analysis/compare/compare.h"
#include "study/analysis/findings/findings.h"

/* ---- names ---- */

/* The kept copy of a text; NULL if there is no memory. */
static const char *keep(struct comparison *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static const char *keep(struct comparison *self, const char *format, ...)
{
	const char *kept;
	va_list arguments;

	va_start(arguments, format);
	strbuf_clear(&self->text);
	strbuf_vaddf(&self->text, format, arguments);
	va_end(arguments);
	kept = names_keep(&self->names, self->text.failed ? "" : strbuf_text(&self->text));
	return *kept ? kept : NULL;
}

/* Where the part of the name ends that compilers do not change: "f.constprop.0", "f(int) [clone
 * .cold]". */
size_t function_plain_length(const char *function)
{
	static const char *const suffixes[] = {".constprop.", ".isra.", ".part.", ".cold",
					       ".lto_priv.",  ".llvm.", " [clone"};
	size_t length = strlen(function);

	for (u32 i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		const char *at = strstr(function, suffixes[i]);

		if (at && at > function && (size_t)(at - function) < length)
			length = (size_t)(at - function);
	}
	return length;
}

/* A module by its file's name; the program itself may have been renamed. */
static const char *module_name(const struct model *model, const char *path)
{
	if (!*path)
		return "?";
	if (strcmp(path, model->image.program) == 0)
		return "(program)";
	return path_file(path);
}

static bool is_loose(const struct comparison *self, const char *module)
{
	for (u64 i = 0; i < self->loose.count; i++)
		if (strcmp(self->loose.data[i], module) == 0)
			return true;
	return false;
}

/* Code without a name: by its offset, which says something as long as the file is the same. */
static const char *unnamed(struct comparison *self, u32 side, const char *path, u64 offset)
{
	const char *module = module_name(self->query.side[side].source->model, path);

	return is_loose(self, module) ? keep(self, "%s", module)
				      : keep(self, "%s+0x%" PRIx64, module, offset);
}

static const char *function_name(struct comparison *self, const char *function)
{
	return keep(self, "%.*s", (int)function_plain_length(function), function);
}

/* ---- stacks ---- */

/* The node of a call of `name` by `parent`; UINT32_MAX if there is no memory. */
static u32 node_find(struct comparison *self, u32 parent, const char *name, bool is_unnamed)
{
	u64 own = hash_u64(hash_text(self->nodes.data[parent].hash, name));

	for (u64 hash = own;; hash = hash_u64(hash + 1)) {
		u64 *index = map_at(&self->by_node, hash);
		const struct compare_node *node;

		if (!index)
			return UINT32_MAX;
		if (!*index) {
			struct compare_node added = {.parent = parent,
						     .name = name,
						     .hash = own,
						     .unnamed = is_unnamed ||
								self->nodes.data[parent].unnamed};

			if (!vec_push(&self->nodes, added))
				return UINT32_MAX;
			*index = self->nodes.count - 1;
			return (u32)*index;
		}
		node = &self->nodes.data[*index];
		if (node->parent == parent && node->name == name)
			return (u32)*index;
	}
}

/* One call further in. What is outside of main is the C library's, and differs between versions of
 * it. */
static u32 node_call(struct comparison *self, u32 parent, const char *name, bool is_unnamed)
{
	if (!name)
		return UINT32_MAX;
	if (strcmp(name, "main") == 0)
		parent = 0;
	/* How many frames of its own an unknown module has is as little to be trusted as
	 * offsets. */
	if (is_unnamed && parent && self->nodes.data[parent].name == name)
		return parent;
	for (u32 at = self->query.fold_recursion ? parent : 0; at; at = self->nodes.data[at].parent)
		if (self->nodes.data[at].name == name)
			return at;
	return node_find(self, parent, name, is_unnamed);
}

static u32 node_of_frame(struct comparison *self, u32 side, u32 index, u32 parent)
{
	const struct stack_source *source = self->query.side[side].source;
	const struct frame *frame =
		context_table_frame(&source->model->contexts, (struct frame_id){index});
	struct stack_names names = stack_names(source, (struct frame_id){index});

	if (frame_is_recorder(source, frame))
		return parent;
	if (frame->flags & HW_NODE_CUT)
		return node_call(self, parent, keep(self, "%s", "(cut)"), false);
	if (!names.count || !*names.frames[0].function)
		return node_call(self, parent, unnamed(self, side, names.module, frame->address),
				 true);
	for (u32 i = names.count; i-- > 0 && parent != UINT32_MAX;)
		if (*names.frames[i].function)
			parent = node_call(self, parent,
					   function_name(self, names.frames[i].function), false);
	return parent;
}

/* The node of a whole stack. Frames are shared by stacks and remember theirs; no recursion, because
 * a stack may be as deep as memory allows. */
static int node_of_stack(struct comparison *self, u32 side, struct frame_id id, u32 *node,
			 struct err *err)
{
	const struct model *model = self->query.side[side].source->model;
	u32 at = id.index;

	vec_clear(&self->chain);
	while (at && !self->frame_nodes[side].data[at]) {
		if (!vec_push(&self->chain, at))
			return err_memory_for(err, "stacks");
		at = context_table_frame(&model->contexts, (struct frame_id){at})->parent;
	}
	*node = at ? self->frame_nodes[side].data[at] - 1 : 0;
	while (self->chain.count) {
		at = self->chain.data[--self->chain.count];
		*node = node_of_frame(self, side, at, *node);
		if (*node == UINT32_MAX)
			return err_memory_for(err, "stacks");
		self->frame_nodes[side].data[at] = *node + 1;
	}
	return 0;
}

/* ---- which modules changed ---- */

static const struct modmap_module *module_called(const struct model *model, const char *name)
{
	const struct modmap *map = &model->contexts.modules;

	for (u32 i = 0; i < map->module_count; i++) {
		const struct modmap_module *module = &map->modules[i];
		const char *path = module->told ? module->path : "?";

		if (module->told && module->build_id_bytes &&
		    strcmp(module_name(model, *path ? path : model->image.program), name) == 0)
			return module;
	}
	return NULL;
}

/* Offsets in a file that was built again lead elsewhere. */
static int find_loose(struct comparison *self, struct err *err)
{
	const struct model *a = self->query.side[0].source->model,
			   *b = self->query.side[1].source->model;
	const struct modmap *map = &a->contexts.modules;

	for (u32 i = 0; i < map->module_count; i++) {
		const struct modmap_module *one = &map->modules[i], *other;
		const char *name;

		if (!one->told || !one->build_id_bytes)
			continue;
		name = module_name(a, *one->path ? one->path : a->image.program);
		other = module_called(b, name);
		if (!other || (other->build_id_bytes == one->build_id_bytes &&
			       memcmp(other->build_id, one->build_id, one->build_id_bytes) == 0))
			continue;
		name = keep(self, "%s", name);
		if (!name || !vec_push(&self->loose, name))
			return err_memory_for(err, "modules");
	}
	return 0;
}

int compare_keys_begin(struct comparison *self, struct err *err)
{
	for (u32 side = 0; side < 2; side++)
		if (!vec_extend(&self->frame_nodes[side],
				self->query.side[side].source->model->contexts.frames.count + 1) ||
		    folds_include(&self->folds, self->query.side[side].source->folds, err) < 0)
			return err_memory_for(err, "stacks");
	if (!vec_push(&self->nodes, (struct compare_node){.hash = HASH_START}))
		return err_memory_for(err, "stacks");
	return find_loose(self, err);
}

/* ---- keys ---- */

static const char *place_name(struct comparison *self, u32 side, struct frame_id frame)
{
	struct stack_source source = *self->query.side[side].source;
	struct finding_place place;

	source.folds = &self->folds;
	place = finding_place(&source, frame);
	if (!frame.index)
		return keep(self, "%s", "(no stack)");
	switch (self->query.by) {
	case COMPARE_BY_FILE:
		if (*place.own.file)
			return keep(self, "%s", place.own.file);
		return keep(self, "(no source: %s)", module_name(source.model, place.own.module));
	case COMPARE_BY_MODULE:
		return keep(self, "%s", module_name(source.model, place.own.module));
	default:
		return *place.own.function
			       ? function_name(self, place.own.function)
			       : unnamed(self, side, place.own.module, place.own.offset);
	}
}

static int set_name(struct compare_row *row, const char *name, struct err *err)
{
	if (!name)
		return err_memory_for(err, "names");
	row->name = name;
	row->key = (u64)(uintptr_t)name;
	return 0;
}

int compare_key_of_point(struct comparison *self, u32 side, struct point_id point,
			 struct compare_row *row, struct err *err)
{
	const struct model_point *from =
		&self->query.side[side].source->model->points.data[point.index];
	u32 node;
	int status;

	if (self->query.by != COMPARE_BY_STACK)
		return set_name(row, place_name(self, side, from->frame), err);
	status = node_of_stack(self, side, from->frame, &node, err);
	if (status < 0)
		return status;
	row->key = node;
	row->hash = self->nodes.data[node].hash;
	self->all_bytes[side] += from->bytes;
	if (self->nodes.data[node].unnamed)
		self->unnamed_bytes[side] += from->bytes;
	return 0;
}

/* Threads are called what the program calls them; its first one is called like the program. */
static const char *thread_name(const struct model *model, u32 index)
{
	const struct model_thread *thread =
		index < model->threads.count ? &model->threads.data[index] : NULL;

	if (thread && thread->tid == model->image.pid)
		return "(main thread)";
	return thread && *thread->name ? thread->name : "(no name)";
}

int compare_key_of_chunk(struct comparison *self, u32 side, u64 chunk, struct compare_row *row,
			 struct err *err)
{
	const struct compare_side *from = &self->query.side[side];
	const struct model *model = from->source->model;
	const struct chunk_page *page = chunk_at(&model->chunks, chunk);
	u32 thread = page->alloc_thread[chunk % CHUNK_PAGE];
	struct type_answer type;

	if (self->query.by == COMPARE_BY_THREAD)
		return set_name(row, keep(self, "%s", thread_name(model, thread)), err);
	type = type_of_chunk(from->types, chunk);
	return set_name(row, keep(self, "%s", type.name && *type.name ? type.name : "(unknown)"),
			err);
}
