/* SPDX-License-Identifier: MIT
 * The stack that the cascade looks at, and names of types as people write them.
 * Host. */
#include <string.h>

#include "host/base/path.h"
#include "host/symbols/type_text.h"
#include "study/analysis/typing/guess.h"

enum { STACK_MAX = 96 }; /* frames that are looked at; what allocates for others is near */

const char *type_keep_readable(struct type_cascade *self, const char *type, const char *behind)
{
	struct strbuf text = {0};
	const char *kept;

	type_add_readable(&text, span_of(type));
	strbuf_add(&text, behind);
	kept = names_keep(&self->names, strbuf_text(&text));
	self->failed |= text.failed || (text.count && !*kept);
	strbuf_release(&text);
	return kept;
}

/* Where functions of the C library are, and those of the recorder that stand before them. */
static bool is_c_library(const char *path)
{
	const char *name = path_file(path);

	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-", 5) == 0 ||
	       strncmp(name, "libheapwise", 11) == 0;
}

/* Most questions are answered by the first frames: the others are read when somebody looks at
 * them. */
void type_stack_begin(struct type_cascade *self, struct frame_id id)
{
	vec_clear(&self->stack);
	self->c_frames = 0;
	self->stack_next = id.index;
	self->stack_in_c = true;
}

bool type_stack_more(struct type_cascade *self)
{
	const struct stack_source *source = self->query.source;
	struct frame_id id = {self->stack_next};
	struct stack_names names;

	if (!id.index || self->stack.count >= STACK_MAX)
		return false;
	names = stack_names(source, id);
	for (u32 i = 0; i < names.count; i++)
		self->failed |= !vec_push(&self->stack, names.frames[i]);
	if (!names.count)
		self->failed |=
			!vec_push(&self->stack, (struct symbol_frame){.function = "", .file = ""});
	self->stack_in_c = self->stack_in_c && is_c_library(names.module);
	if (self->stack_in_c)
		self->c_frames = self->stack.count;
	self->stack_next = context_table_frame(&source->model->contexts, id)->parent;
	return !self->failed;
}

void type_read_stack(struct type_cascade *self, struct frame_id id)
{
	type_stack_begin(self, id);
	while (type_stack_more(self))
		;
}
