/* SPDX-License-Identifier: MIT
 * Which frames of a stack a developer would call the place.
 * Host. */
#include "study/analysis/places/place.h"

#include <string.h>

#include "host/base/path.h"
#include "study/analysis/places/folds.h"

static const struct finding_frame no_frame = {"", "", "", 0, 0};

static struct finding_frame frame_of(const struct stack_names *names, u32 i, u64 offset)
{
	struct finding_frame frame = {.function = "",
				      .file = "",
				      .module = names->module,
				      .offset = offset};

	if (i < names->count) {
		frame.function = names->frames[i].function;
		frame.file = names->frames[i].file;
		frame.line = names->frames[i].line;
	}
	return frame;
}

static bool same_function(const struct finding_frame *a, const struct finding_frame *b)
{
	return *a->function && strcmp(a->function, b->function) == 0 &&
	       strcmp(a->module, b->module) == 0;
}

/* The first frame is the place and the next one its caller. A function that calls itself is said
 * once. */
struct taking {
	struct finding_frame frames[2];
	u32 count;
};

static void take(struct taking *self, const struct finding_frame *one)
{
	if (self->count == 2 || (self->count == 1 && same_function(&self->frames[0], one)))
		return;
	self->frames[self->count++] = *one;
}

/* A place without a name may turn out to be part of a wrapper. */
static bool is_enough(const struct taking *found, u32 wanted)
{
	return found->count == wanted && (wanted == 2 || *found->frames[0].function);
}

static struct finding_place place_find(const struct stack_source *source, struct frame_id id,
				       u32 wanted)
{
	struct taking found = {{no_frame, no_frame}, 0}, own = found, first = found;

	for (u32 at = id.index; at && !is_enough(&found, wanted);) {
		const struct frame *frame =
			context_table_frame(&source->model->contexts, (struct frame_id){at});
		struct stack_names names = stack_names(source, (struct frame_id){at});

		for (u32 i = 0; i == 0 || i < names.count; i++) {
			struct finding_frame one = frame_of(&names, i, frame->address);

			take(&first, &one);
			if (!frame_is_own(one.module, one.function, one.file))
				continue;
			take(&own, &one);
			if (!folds_hold(source->folds, one.module, one.function, one.offset))
				take(&found, &one);
			else if (found.count == 1 && !*found.frames[0].function)
				/* what a wrapper calls and has no name is part of it */
				found.count = 0;
		}
		at = frame->parent;
	}
	if (found.count < 2)
		found.frames[found.count] = no_frame;
	if (!found.count)
		found = own; /* wrappers only: the innermost has to do */
	if (!found.count)
		return (struct finding_place){first.count > 0, first.frames[0], no_frame};
	return (struct finding_place){false, found.frames[0], found.frames[1]};
}

struct finding_place finding_place(const struct stack_source *source, struct frame_id id)
{
	return place_find(source, id, 2);
}

struct finding_place finding_own(const struct stack_source *source, struct frame_id id)
{
	return place_find(source, id, 1);
}

struct finding_place finding_entry(const struct stack_source *source, struct frame_id id)
{
	struct finding_place entry = {false, no_frame, no_frame};

	for (u32 at = id.index; at;
	     at = context_table_frame(&source->model->contexts, (struct frame_id){at})->parent) {
		struct stack_names names = stack_names(source, (struct frame_id){at});
		u64 address = context_table_frame(&source->model->contexts, (struct frame_id){at})
				      ->address;

		for (u32 i = 0; i == 0 || i < names.count; i++) {
			struct finding_frame one = frame_of(&names, i, address);

			if (!*one.module || !frame_is_own(one.module, one.function, one.file))
				continue;
			if (*entry.own.module && strcmp(entry.own.module, one.module) != 0) {
				entry.caller = one;
				return entry;
			}
			entry.own = one;
		}
	}
	entry.own = no_frame;
	return entry;
}

static u64 hash_frame(u64 hash, const struct finding_frame *frame, bool lines)
{
	hash = hash_text(hash, path_file(frame->module));
	hash = hash_text(hash, frame->function);
	if (!*frame->function)
		return hash_u64(hash ^ frame->offset);
	if (lines)
		hash = hash_u64(hash_text(hash, frame->file) ^ frame->line);
	return hash;
}

u64 finding_place_hash(const struct finding_place *place, u64 seed, bool lines)
{
	u64 hash = hash_frame(HASH_START ^ seed, &place->own, lines);

	return hash_frame(hash, &place->caller, lines);
}
