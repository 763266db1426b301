/* SPDX-License-Identifier: MIT
 * Which frames of a stack a developer would call the place.
 * Host. */
#include <string.h>

#include "analysis/findings.h"

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

static bool is_own(const struct finding_frame *frame)
{
	const char *slash = strrchr(frame->module, '/'), *file = slash ? slash + 1 : frame->module;

	return !library_is_system(file) && !library_is_runtime(file) &&
	       !function_is_minor(frame->function, frame->file) &&
	       strcmp(frame->function, "_start") != 0;
}

struct finding_place finding_place(const struct stack_source *source, struct frame_id id)
{
	static const struct finding_frame none = {"", "", "", 0, 0};
	struct finding_place place = {false, none, none};
	struct finding_frame first = none;
	u32 found = 0, seen = 0;

	for (u32 at = id.index; at && found < 2;) {
		const struct frame *frame =
			context_table_frame(&source->model->contexts, (struct frame_id){at});
		struct stack_names names = stack_names(source, (struct frame_id){at});

		for (u32 i = 0; i == 0 || i < names.count; i++) {
			struct finding_frame one = frame_of(&names, i, frame->address);

			if (!seen++)
				first = one;
			if (found < 2 && is_own(&one))
				*(found++ ? &place.caller : &place.own) = one;
		}
		at = frame->parent;
	}
	if (!found)
		place.own = first;
	place.foreign = !found && seen;
	return place;
}

static u64 hash_frame(u64 hash, const struct finding_frame *frame, bool lines)
{
	const char *slash = strrchr(frame->module, '/');

	hash = hash_text(hash, slash ? slash + 1 : frame->module);
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
