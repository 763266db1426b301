/* SPDX-License-Identifier: MIT
 * Contexts and their places.
 * Host. Contexts come from a file of a stranger: a parent must have been told before its child and
 * none is told twice, so no chain of parents can run in a circle. */
#include "study/model/contexts.h"

#include <string.h>

#define NOT_PLACED UINT32_MAX

int context_table_tell(struct context_table *self, const struct stream_context *contexts, u64 count,
		       struct err *err)
{
	/* first: it bounds the ids */
	int status = modmap_tell_contexts(&self->modules, contexts, count, err);

	for (u64 i = 0; i < count && status == 0; i++) {
		const struct stream_context *context = &contexts[i];
		struct context_node *node;
		bool orphan;

		if (!vec_extend(&self->nodes, (u64)context->id + 1))
			return err_memory_for(err, "calling contexts");
		node = &self->nodes.data[context->id];
		if (node->told || context->id == 0)
			continue;
		orphan = context->parent && (context->parent >= self->nodes.count ||
					     !self->nodes.data[context->parent].told);
		*node = (struct context_node){.pc = context->pc,
					      .parent = orphan ? 0 : context->parent,
					      .flags = (u8)context->flags,
					      .told = true,
					      .frame = NOT_PLACED};
		self->orphans += orphan;
		self->told += context_is_frame(context);
	}
	return status;
}

static bool same_identity(const struct modmap_module *a, const struct modmap_module *b)
{
	if (a->build_id_bytes != b->build_id_bytes)
		return false;
	if (a->build_id_bytes)
		return memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
	return strcmp(a->path, b->path) == 0;
}

static u64 identity_hash(const struct modmap_module *module)
{
	u64 hash = module->build_id_bytes;

	for (u32 i = 0; i < module->build_id_bytes; i++)
		hash = hash_u64(hash ^ module->build_id[i]);
	if (!module->build_id_bytes)
		for (const char *p = module->path; *p; p++)
			hash = hash_u64(hash ^ (u8)*p);
	return hash;
}

/* The id of the first module that is the same file, or NO_MODULE if there is no memory. */
static u32 module_identity(struct context_table *self, const struct modmap_module *module)
{
	u32 *known;

	if (!vec_extend(&self->identities, (u64)module->id + 1))
		return NO_MODULE;
	known = &self->identities.data[module->id];
	for (u64 hash = identity_hash(module); *known == 0; hash = hash_u64(hash + 1)) {
		u64 *other = map_at(&self->by_identity, hash);

		if (!other)
			return NO_MODULE;
		if (*other == 0) /* new: values are id + 1 */
			*other = (u64)module->id + 1;
		if (same_identity(modmap_module(&self->modules, (u32)(*other - 1)), module))
			*known = (u32)*other;
	}
	return *known - 1;
}

static u64 place_hash(const struct frame *frame)
{
	u64 hash = hash_u64(frame->address ^ ((u64)frame->flags << 60));

	hash = hash_u64(hash ^ frame->identity);
	return hash_u64(hash ^ ((u64)frame->parent << 20));
}

static bool same_place(const struct frame *a, const struct frame *b)
{
	return a->parent == b->parent && a->identity == b->identity && a->address == b->address &&
	       a->flags == b->flags;
}

/* Index of an equal frame, made if needed; NOT_PLACED if there is no memory. */
static u32 frame_intern(struct context_table *self, const struct frame *frame)
{
	for (u64 hash = place_hash(frame);; hash = hash_u64(hash + 1)) {
		u64 *index = map_at(&self->by_place, hash);

		if (!index)
			return NOT_PLACED;
		if (*index == 0) {
			if (!vec_push(&self->frames, *frame))
				return NOT_PLACED;
			*index = self->frames.count - 1;
		}
		if (same_place(&self->frames.data[*index], frame))
			return (u32)*index;
	}
}

/* Puts a new one behind others of its hash. */
static bool put_behind(struct map *map, u64 hash, u64 number)
{
	u64 *value;

	while ((value = map_at(map, hash)) && *value)
		hash = hash_u64(hash + 1);
	if (value)
		*value = number;
	return value != NULL;
}

/* What an index has no maps of: it gives frames and identities as they were found. */
static bool make_maps(struct context_table *self)
{
	for (u64 i = 1; i < self->frames.count; i++)
		if (!put_behind(&self->by_place, place_hash(&self->frames.data[i]), i))
			return false;
	for (u64 i = 0; i < self->identities.count; i++) {
		const struct modmap_module *module = modmap_module(&self->modules, (u32)i);

		/* known, and not the same as another one */
		if (module && self->identities.data[i] == i + 1 &&
		    !put_behind(&self->by_identity, identity_hash(module), i + 1))
			return false;
	}
	self->maps_missing = false;
	return true;
}

/* Places one context whose parent has been placed. */
static u32 place_one(struct context_table *self, u32 id, u32 parent)
{
	const struct context_node *node = &self->nodes.data[id];
	struct stream_context context = {.id = id,
					 .parent = node->parent,
					 .pc = node->pc,
					 .flags = node->flags};
	struct frame frame = {.parent = parent,
			      .module = NO_MODULE,
			      .identity = NO_MODULE,
			      .flags = node->flags,
			      .address = node->pc - 1};
	struct modmap_place place;

	if (!context_is_frame(&context) && !(node->flags & HW_NODE_CUT))
		return parent; /* a generation's root */
	if (modmap_place(&self->modules, &context, &place)) {
		frame.module = place.module->id;
		frame.address = place.address;
		frame.identity = module_identity(self, place.module);
		if (frame.identity == NO_MODULE)
			return NOT_PLACED;
	}
	return frame_intern(self, &frame);
}

int context_table_place(struct context_table *self, u32 context, struct frame_id *frame,
			struct err *err)
{
	u32 at = context;

	if (self->frames.count == 0 &&
	    !vec_push(&self->frames, (struct frame){.module = NO_MODULE, .identity = NO_MODULE}))
		return err_memory_for(err, "calling contexts");
	frame->index = 0;
	if (context == 0 || context >= self->nodes.count || !self->nodes.data[context].told)
		return 0;
	vec_clear(&self->chain);
	for (; at && self->nodes.data[at].frame == NOT_PLACED; at = self->nodes.data[at].parent)
		if (!vec_push(&self->chain, at))
			return err_memory_for(err, "calling contexts");
	frame->index = at ? self->nodes.data[at].frame : 0;
	if (self->chain.count && self->maps_missing && !make_maps(self))
		return err_memory_for(err, "calling contexts");
	for (u64 i = self->chain.count; i-- > 0;) {
		frame->index = place_one(self, self->chain.data[i], frame->index);
		if (frame->index == NOT_PLACED)
			return err_memory_for(err, "calling contexts");
		self->nodes.data[self->chain.data[i]].frame = frame->index;
	}
	return 0;
}

u32 context_table_depth(const struct context_table *self, struct frame_id id)
{
	u32 depth = 0;

	for (u32 at = id.index; at; at = self->frames.data[at].parent)
		depth++;
	return depth;
}

void context_table_release(struct context_table *self)
{
	vec_release(&self->nodes);
	vec_release(&self->frames);
	vec_release(&self->identities);
	vec_release(&self->chain);
	map_release(&self->by_place);
	map_release(&self->by_identity);
	modmap_release(&self->modules);
	self->told = self->orphans = 0;
	self->maps_missing = false;
}
