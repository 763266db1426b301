/* SPDX-License-Identifier: MIT
 * Numbers the addresses and functions of a program's stacks.
 * Host. */
#include "show/formats/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEFT_OUT UINT32_MAX

static bool keep(struct places *self, const char **text)
{
	const char *kept = **text ? names_keep(&self->names, *text) : "";

	if (**text && !*kept)
		self->failed = true;
	*text = kept;
	return !self->failed;
}

/* The number of a function that is equal in all but its number, made if it is new. */
static u32 function_of(struct places *self, struct place_function wanted)
{
	u64 key, *known;

	if (!keep(self, &wanted.name) || !keep(self, &wanted.file))
		return 0;
	key = hash_u64((u64)(uintptr_t)wanted.name) * 31 + (u64)(uintptr_t)wanted.file;
	for (;; key++) {
		known = map_at(&self->by_name, key);
		if (!known) {
			self->failed = true;
			return 0;
		}
		if (!*known)
			break;
		if (self->functions.data[*known - 1].name == wanted.name &&
		    self->functions.data[*known - 1].file == wanted.file)
			return (u32)*known - 1;
	}
	if (!vec_push(&self->functions, wanted)) {
		map_remove(&self->by_name, key, NULL);
		self->failed = true;
		return 0;
	}
	*known = self->functions.count;
	return (u32)self->functions.count - 1;
}

static void add_line(struct places *self, struct place_function function, u32 line, bool inlined)
{
	struct place_line row = {.line = line,
				 .inlined = inlined,
				 .place = (u32)self->rows.count - 1};

	row.function = function_of(self, function);
	if (!vec_push(&self->lines, row))
		self->failed = true;
	else
		self->rows.data[row.place].count++;
}

/* "libx.so+0x12" */
static const char *unknown_name(const char *module, u64 address, char *room, size_t bytes)
{
	const char *slash = strrchr(module, '/');

	snprintf(room, bytes, "%.200s+0x%" PRIx64,
		 slash     ? slash + 1
		 : *module ? module
			   : "?",
		 address);
	return room;
}

static void add_lines(struct places *self, const struct frame *frame)
{
	const struct symbol_entry *entry = frame_symbols(self->source, frame);
	struct place_function function = {.name = "(outer frames were cut off)",
					  .file = "",
					  .module = frame->module,
					  .named = true};
	char room[256];

	if (frame->flags & HW_NODE_CUT) {
		add_line(self, function, 0, false);
		return;
	}
	for (u32 i = 0; i == 0 || (entry && i < entry->frame_count); i++) {
		const struct symbol_frame *named =
			entry && entry->frame_count ? &entry->frames[i] : NULL;

		function.named = named && *named->function;
		function.name = function.named
					? named->function
					: unknown_name(frame_module_path(self->source, frame),
						       frame->address, room, sizeof(room));
		function.file = named ? named->file : "";
		add_line(self, function, named ? named->line : 0, named && named->inlined);
	}
}

void places_init(struct places *self, const struct stack_source *source)
{
	struct place place = {.module = NO_MODULE};
	struct place_function none = {.name = "(no stack)",
				      .file = "",
				      .module = NO_MODULE,
				      .named = true};

	self->source = source;
	if (!vec_push(&self->rows, place))
		self->failed = true;
	else
		add_line(self, none, 0, false);
}

void places_release(struct places *self)
{
	vec_release(&self->rows);
	vec_release(&self->lines);
	vec_release(&self->functions);
	vec_release(&self->path);
	vec_release(&self->path_places);
	vec_release(&self->of_frame);
	map_release(&self->by_address);
	map_release(&self->by_name);
	names_release(&self->names);
}

const char *places_module_path(const struct places *self, u32 module)
{
	struct frame frame = {.module = module};

	return frame_module_path(self->source, &frame);
}

u64 places_pc(const struct places *self, const struct place *place)
{
	const struct modmap_module *module =
		place->module == NO_MODULE
			? NULL
			: modmap_module(&self->source->model->contexts.modules, place->module);

	return place->address + (module ? module->base : 0);
}

static bool is_recorder(const struct places *self, const struct frame *frame)
{
	const char *path = frame_module_path(self->source, frame), *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, "libheapwise", 11) == 0;
}

/* The place of a frame, made if its address is new. */
static u32 place_make(struct places *self, const struct frame *frame)
{
	struct place row = {.module = frame->module,
			    .address = frame->address,
			    .first = (u32)self->lines.count};
	/* A mark of a cut stack has no address. */
	u64 key =
		hash_u64(frame->address) ^ (u64)frame->module << 32 ^ (frame->flags & HW_NODE_CUT);
	u64 *known;

	for (;; key++) {
		const struct place *other;

		known = map_at(&self->by_address, key);
		if (!known || !*known)
			break;
		other = &self->rows.data[*known - 1];
		if (other->module == row.module && other->address == row.address)
			return (u32)*known - 1;
	}
	if (!known || !vec_push(&self->rows, row)) {
		self->failed = true;
		return PLACE_NO_STACK;
	}
	*known = self->rows.count;
	add_lines(self, frame);
	return (u32)self->rows.count - 1;
}

static void place_visit(struct places *self, u32 index, const struct frame *frame)
{
	u32 *known = &self->of_frame.data[index];
	const struct place *place;

	if (!*known)
		*known = is_recorder(self, frame) ? LEFT_OUT : place_make(self, frame) + 1;
	if (*known == LEFT_OUT || self->failed)
		return;
	place = &self->rows.data[*known - 1];
	if (!vec_push(&self->path_places, *known - 1) || !vec_reserve(&self->path, place->count)) {
		self->failed = true;
		return;
	}
	for (u32 i = 0; i < place->count; i++)
		self->path.data[self->path.count++] = place->first + i;
}

void places_walk(struct places *self, struct frame_id id)
{
	const struct context_table *contexts = &self->source->model->contexts;

	vec_clear(&self->path);
	vec_clear(&self->path_places);
	if (!vec_extend(&self->of_frame, contexts->frames.count))
		self->failed = true;
	for (u32 at = id.index; at && !self->failed; at = contexts->frames.data[at].parent)
		place_visit(self, at, &contexts->frames.data[at]);
	if (!self->path.count && (!vec_push(&self->path, PLACE_NO_STACK) ||
				  !vec_push(&self->path_places, PLACE_NO_STACK)))
		self->failed = true;
}

void places_walk_context(struct places *self, u32 context)
{
	struct frame_id frame = {0};
	struct err err;

	if (model_place(self->source->model, context, &frame, &err) < 0)
		self->failed = true;
	else
		places_walk(self, frame);
}

bool call_tree_child(struct call_tree *self, u32 parent, u32 key, u32 *node)
{
	u64 *known = map_at(&self->children, (u64)parent << 32 | key);
	struct call_node fresh = {parent, key};

	if (!known || (!self->nodes.count && !vec_push(&self->nodes, (struct call_node){0, 0})))
		return false;
	if (!*known) {
		if (!vec_push(&self->nodes, fresh))
			return false;
		*known = self->nodes.count - 1;
	}
	*node = (u32)*known;
	return true;
}

bool call_tree_add(struct call_tree *self, const struct places *places, bool by_line, u32 *node)
{
	*node = 0;
	for (u64 i = places->path.count; i-- > 0;) {
		u32 line = places->path.data[i];

		if (!call_tree_child(self, *node,
				     by_line ? line : places->lines.data[line].function, node))
			return false;
	}
	return true;
}

void call_tree_release(struct call_tree *self)
{
	vec_release(&self->nodes);
	map_release(&self->children);
}
