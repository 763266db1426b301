/* SPDX-License-Identifier: MIT
 * Frame chains → named frames.
 * Host. Strings are copied, so that a result outlives model and symbols. */
#include "study/analysis/places/stacks.h"

#include <string.h>

#include "host/base/path.h"
#include "study/analysis/places/folded.h"
#include "format/atomics.h"
#include "host/symbols/type_text.h"

/* Where the qualified name begins: after the return type that templates carry in front of it. */
static const char *name_start(const char *function)
{
	const char *start = function;
	u32 depth = 0;

	for (const char *p = function; *p; p++) {
		if (*p == '(' && depth == 0)
			break;
		if (*p == '<' || *p == '(')
			depth++;
		else if ((*p == '>' || *p == ')') && depth)
			depth--;
		else if (*p == ' ' && depth == 0)
			start = p + 1;
	}
	return start;
}

static bool starts_with_any(const char *name, const char *const *starts)
{
	for (; *starts; starts++)
		if (*name == **starts && strncmp(name, *starts, strlen(*starts)) == 0)
			return true;
	return false;
}

static bool is_library_path(const char *name)
{
	static const char *const spaces[] = {"std::",       "__gnu_cxx::", "alloc::",   "core::",
					     "hashbrown::", "__rust_",     "__rustc",   "__rdl_",
					     "__rg_",       "__gnat_",     "ada.",      "system.",
					     "gnat.",       "interfaces.", "_gfortran", NULL};

	return starts_with_any(name, spaces);
}

static bool is_rust_minor(const char *function);

/* Types of Rust that no other crate may give functions: primitive ones, slices, tuples, parameters,
 * and the libraries' own. What a reference points to counts. */
static bool is_rust_type(const char *type)
{
	static const char *const marks[] = {"&", "mut ", "dyn ", "*const ", "*mut ", NULL};
	size_t word;

	while (starts_with_any(type, marks))
		type += *type == '&' ? 1 : strcspn(type, " ") + 1;
	if (*type == '[' || *type == '(')
		return true;
	if (*type == '<')
		return is_rust_minor(type);
	if (is_library_path(type))
		return true;
	word = strspn(type, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	return word && type[word] &&
	       (strchr("<>,;)]", type[word]) || strncmp(type + word, " as ", 4) == 0);
}

/* Rust's "<T>::f" and "<T as Trait>::f": the program's own if the type or the trait is. */
static bool is_rust_minor(const char *function)
{
	const char *close = name_skip_brackets(function, function + strlen(function)),
		   *as = function + 1;

	if (!close || strncmp(close, "::", 2) != 0)
		return false;
	while (as && as < close - 1) {
		as = name_find_outside(as, close - 1, " ");
		if (as && strncmp(as, " as ", 4) == 0)
			return is_rust_type(function + 1) && is_rust_type(as + 4);
		as = as ? as + 1 : NULL;
	}
	return is_rust_type(function + 1);
}

bool library_is_runtime(const char *name)
{
	static const char *const names[] = {"libgfortran.so", "libquadmath.so", "libgnat-",
					    "libgnarl-", NULL};

	return starts_with_any(name, names);
}

/* Debug information for lines only (-g1) names an inlined function without its namespace; the
 * headers of the C++ library tell: .../include/c++/12/bits/stl_deque.h, .../include/c++/v1/deque.
 * So they do for what a program makes of Ada's generic packages. */
static bool is_library_header(const char *file)
{
	static const char folder[] = "/include/c++/";
	const char *at = strstr(file, folder);
	char next = at ? at[sizeof folder - 1] : 0;

	return next == 'v' || (next >= '0' && next <= '9') || strstr(file, "/adainclude/");
}

const char *frame_module_path(const struct stack_source *self, const struct frame *frame)
{
	const struct modmap_module *module =
		frame->module == NO_MODULE
			? NULL
			: modmap_module(&self->model->contexts.modules, frame->module);

	if (!module)
		return "";
	return *module->path ? module->path : self->model->image.program;
}

const struct symbol_entry *frame_symbols(const struct stack_source *self, const struct frame *frame)
{
	static const struct symbol_entry none;
	const struct symbol_entry **place, *entry;

	if (!self->symbols)
		return NULL;
	if (!self->found)
		return symbol_table_find(self->symbols, self->image, frame->module, frame->address);
	place = &self->found[frame - self->model->contexts.frames.data];
	entry = load_relaxed(place); /* what it points to is older than all readers */
	if (!entry) {
		entry = symbol_table_find(self->symbols, self->image, frame->module,
					  frame->address);
		store_relaxed(place, entry ? entry : &none);
	}
	return entry == &none ? NULL : entry;
}

struct stack_names stack_names(const struct stack_source *self, struct frame_id id)
{
	const struct frame *frame = context_table_frame(&self->model->contexts, id);
	const struct symbol_entry *entry = frame_symbols(self, frame);

	return (struct stack_names){
		.module = frame_module_path(self, frame),
		.frames = entry ? entry->frames : NULL,
		.count = entry ? entry->frame_count : 0,
	};
}

/* Names of a frame, at least one; with symbols an array, innermost first. */
static u32 name_count(const struct symbol_entry *entry)
{
	return entry && entry->frame_count ? entry->frame_count : 1;
}

static const char *copy(struct result *result, const char *text)
{
	const char *mine = *text ? result_copy(result, text) : "";

	return mine ? mine : "";
}

static const struct frame *frame_at(const struct stack_source *self, u32 index)
{
	return context_table_frame(&self->model->contexts, (struct frame_id){index});
}

/* The frame's name number i, as it is shown. */
static struct result_frame named(const struct stack_source *self, const struct frame *frame,
				 const struct symbol_entry *entry, u32 i, struct result *result)
{
	struct result_frame out = {.function = "",
				   .file = "",
				   .module = "",
				   .offset = frame->address};

	if (frame->flags & HW_NODE_CUT) {
		out.function = "(outer frames were cut off)";
		out.offset = 0;
		return out;
	}
	out.module = copy(result, frame_module_path(self, frame));
	if (entry && i < entry->frame_count) {
		out.function = copy(result, entry->frames[i].function);
		out.file = copy(result, entry->frames[i].file);
		out.line = entry->frames[i].line;
		out.column = entry->frames[i].column;
		out.inlined = entry->frames[i].inlined;
		out.minor = function_is_minor(out.function, out.file);
	}
	out.minor |= library_is_runtime(path_file(out.module)) ||
		     folds_hold(self->folds, out.module, out.function, frame->address);
	return out;
}

/* Of a run of minor frames only the outermost is kept, which the program's own code called. */
static void add_frame(struct result_stack *stack, struct result_frame frame, bool collapse)
{
	struct result_frame *last = stack->count ? &stack->frames[stack->count - 1] : NULL;

	if (collapse && last && last->minor && frame.minor) {
		frame.folded = last->folded + 1;
		*last = frame;
		return;
	}
	stack->frames[stack->count++] = frame;
}

/* Leaves the outer frames out that are more than wanted. */
static void limit_depth(struct result_stack *stack, u32 depth)
{
	if (!depth || stack->count <= depth)
		return;
	stack->hidden = stack->count - depth;
	stack->count = depth;
}

bool frame_is_recorder(const struct stack_source *self, const struct frame *frame)
{
	return strncmp(path_file(frame_module_path(self, frame)), "libheapwise", 11) == 0;
}

const struct result_stack *stack_of(const struct stack_source *self, struct frame_id frame,
				    struct result *result)
{
	struct result_stack *stack = arena_new(&result->arena, struct result_stack);
	u32 total = 0;

	for (u32 at = frame.index; at; at = frame_at(self, at)->parent)
		total += name_count(frame_symbols(self, frame_at(self, at)));
	if (stack)
		stack->frames = arena_new_array(&result->arena, struct result_frame, total);
	if (!stack || !stack->frames) {
		result->failed = true;
		return NULL;
	}
	for (u32 at = frame.index; at; at = frame_at(self, at)->parent) {
		const struct symbol_entry *entry = frame_symbols(self, frame_at(self, at));

		if (frame_is_recorder(self, frame_at(self, at)))
			continue;
		for (u32 i = 0; i < name_count(entry); i++)
			add_frame(stack, named(self, frame_at(self, at), entry, i, result),
				  self->fold);
	}
	limit_depth(stack, self->depth);
	stack->number = (u64)frame.index + 1;
	return stack;
}

bool function_is_minor(const char *function, const char *file)
{
	if (is_library_header(file))
		return true;
	if (*function == '<')
		return is_rust_minor(function);
	return library_is_runtime(function) || strncmp(function, "operator new", 12) == 0 ||
	       is_library_path(name_start(function));
}

bool library_is_system(const char *name)
{
	static const char *const names[] = {"libc.so",      "libc-",    "ld-linux",    "ld-2",
					    "libstdc++.so", "libc++",   "libgcc_s",    "libm.so",
					    "libpthread",   "libdl.so", "libheapwise", NULL};

	return starts_with_any(name, names);
}

bool frame_is_own(const char *module, const char *function, const char *file)
{
	const char *name = path_file(module);

	return !library_is_system(name) && !library_is_runtime(name) &&
	       !function_is_minor(function, file) && strcmp(function, "_start") != 0;
}
