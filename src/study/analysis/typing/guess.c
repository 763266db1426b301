/* SPDX-License-Identifier: MIT
 * Guesses: types that the line of the call names, and whose size fits.
 * Host. Sources and debug info may be gone or changed by now: what does not fit is not believed. */
#include "study/analysis/typing/guess.h"

#include <string.h>

#include "host/base/io.h"
#include "host/base/order.h"
#include "host/symbols/types/source.h"

enum {
	LINE_MAX_BYTES = 4096,
	LINES = 3,               /* a call may begin some lines before its type */
	SOURCE_MAX = 64 << 20,   /* bytes of a file */
	SOURCES_MAX = 256 << 20, /* bytes of all that are kept in memory */
	/* bytes before what is thrown, with both C++ libraries on machines with 64 bits */
	EXCEPTION_HEAD = 128,
};

struct hint {
	u64 place;
	const char *name; /* in the cascade's names */
	u32 column, wanted_column;
	bool pointer, is_new, is_thrown;
};

struct guesses {
	struct type_cascade *types;
	VEC(struct hint) hints;  /* by place */
	VEC(u64) open;           /* places without an answer: point << 32 | place */
	VEC(const char *) bases; /* last components of the hints' names, sorted */
};

/* ---- lines of source ---- */

/* Points come in any order of their files, so that these are kept until all were asked. */
static const char *read_source(struct type_cascade *self, const char *path)
{
	u64 *known = map_at(&self->sources, hash_text(HASH_START, path));
	struct strbuf text = {0};
	struct err err = {0};
	int status;

	if (!known || *known)
		return known && *known != 1 ? (const char *)(uintptr_t)*known : NULL;
	*known = 1; /* cannot be had */
	if (self->source_bytes > SOURCES_MAX)
		return NULL;
	status = io_read_regular(path, SOURCE_MAX, &text, &err);
	self->source_bytes += text.count;
	if (status < 0 || !text.count) {
		strbuf_release(&text);
		return NULL;
	}
	*known = (u64)(uintptr_t)strbuf_take(&text);
	return (const char *)(uintptr_t)*known;
}

void type_forget_sources(struct type_cascade *self)
{
	for (u64 at = 0, key, text; map_next(&self->sources, &at, &key, &text);)
		if (text > 1)
			free((void *)(uintptr_t)text);
	map_release(&self->sources);
	self->source_bytes = 0;
}

/* Some lines from the one of that number on, as one. */
static bool line_of(const char *text, u32 line, char *out)
{
	u32 used = 0;

	for (u32 i = 1; i < line; i++) {
		text = strchr(text, '\n');
		if (!text)
			return false;
		text++;
	}
	for (u32 lines = 0; lines < LINES && *text && used < LINE_MAX_BYTES - 1; text++) {
		bool end = *text == '\n';

		out[used++] = end ? ' ' : *text;
		lines += end;
		if (end && (used < 2 || out[used - 2] == ';' || out[used - 2] == '}'))
			break;
	}
	out[used] = 0;
	return used;
}

/* ---- hints ---- */

static bool is_systems(const char *file)
{
	return !*file || (strncmp(file, "/usr/", 5) == 0 && strncmp(file, "/usr/src/", 9) != 0);
}

/* The innermost frame of code that is not the system's. */
static const struct symbol_frame *own_frame(struct type_cascade *types)
{
	for (u64 i = 0; i < types->stack.count || type_stack_more(types); i++)
		if (types->stack.data[i].line && !is_systems(types->stack.data[i].file))
			return &types->stack.data[i];
	return NULL;
}

/* The name in its innermost scope, without arguments: debug info is searched for that. */
static bool add_base(struct guesses *self, const char *name)
{
	struct name_parts parts;
	struct span base = span_of(name);

	if (name_parse(name, &parts))
		base = parts.parts[parts.count - 1].name;
	return vec_push(&self->bases, names_keep_bytes(&self->types->names, base.text, base.bytes));
}

/* Types that the line of the stack's own frame names, in `line`; NULL if there are none. */
static const struct symbol_frame *find_types(struct type_cascade *types, char *line,
					     struct source_types *found)
{
	const struct symbol_frame *frame = own_frame(types);
	const char *text = frame ? read_source(types, frame->file) : NULL;

	if (!text || !line_of(text, frame->line, line))
		return NULL;
	source_types_find(line, found);
	return found->count ? frame : NULL;
}

bool type_has_hints(struct type_cascade *self)
{
	struct source_types found;
	char line[LINE_MAX_BYTES];

	return find_types(self, line, &found) != NULL;
}

/* Whether the stack that was read allocates for a throw. */
static bool is_exception(const struct type_cascade *types)
{
	for (u64 i = 0; i < types->stack.count && i < 4; i++)
		if (strcmp(types->stack.data[i].function, "__cxa_allocate_exception") == 0)
			return true;
	return false;
}

static bool add_hints(struct guesses *self, u64 place)
{
	struct type_cascade *types = self->types;
	struct source_types found;
	char line[LINE_MAX_BYTES];
	const struct symbol_frame *frame = find_types(types, line, &found);

	for (u32 i = 0; frame && i < found.count; i++) {
		struct hint hint = {.place = place,
				    .name = names_keep_bytes(&types->names, found.rows[i].name.text,
							     found.rows[i].name.bytes),
				    .column = found.rows[i].column,
				    .wanted_column = frame->column,
				    .pointer = found.rows[i].pointer,
				    .is_new = found.rows[i].is_new,
				    .is_thrown = found.rows[i].is_thrown};

		if (hint.is_thrown != is_exception(types))
			continue;
		if (!vec_push(&self->hints, hint) || !add_base(self, hint.name))
			return false;
	}
	return true;
}

/* ---- sizes of the types that lines name ---- */

static int compare_u64(const void *a, const void *b)
{
	return rising(*(const u64 *)a, *(const u64 *)b);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_sizes(struct guesses *self, struct err *err)
{
	struct type_cascade *types = self->types;
	struct typesizes_query query = {.kept = &types->kept,
					.debug_path = types->query.debug_path};

	vec_sort(&self->bases, compare_texts);
	query.modules = types->modules.rows.data;
	query.module_count = (u32)types->modules.rows.count;
	query.own_modules = types->modules.own;
	query.names = self->bases.data;
	query.name_count = self->bases.count;
	return typesizes_read(&types->sizes, &query, err);
}

static int keep_sizes(struct type_cascade *types, struct err *err)
{
	for (u64 i = 0; i < types->sizes.count; i++) {
		const char *name = type_keep_readable(types, types->sizes.data[i].name, "");

		if (!map_put(&types->size_by_name, (u64)(uintptr_t)name, types->sizes.data[i].size))
			return err_memory_for(err, "types");
	}
	return 0;
}

u64 type_size(const struct type_cascade *self, const char *name)
{
	const u64 *size = map_find(&self->size_by_name, (u64)(uintptr_t)name);
	size_t bytes = strlen(name);

	if (size)
		return *size;
	return bytes && name[bytes - 1] == '*' ? 8 : source_scalar_size(name);
}

/* Whether a type of the debug info is what a hint names: "ns::Foo" for "Foo". */
static bool is_named(const char *type, const char *name)
{
	size_t bytes = strlen(type), wanted = strlen(name);
	const char *end = type + bytes - wanted;

	return bytes >= wanted && strcmp(end, name) == 0 &&
	       (end == type || (end - type > 1 && end[-1] == ':'));
}

/* Whether a template of the C++ library, whose arguments debug info is read without
 * ("std::vector<…>"), is the one that a hint names with its arguments. */
static bool is_template_of(const struct sized_type *type, const char *name)
{
	size_t bytes = strcspn(name, "<");

	return type->rank == TYPE_STANDARD && name[bytes] &&
	       strncmp(type->name, name, bytes) == 0 && type->name[bytes] == '<';
}

/* Bytes of the named type that fit a chunk best; *name becomes its full name. 0 = none fits. */
static u64 fitting_size(const struct guesses *self, const struct hint *hint, u64 chunk,
			const char **name)
{
	const struct typesizes *sizes = &self->types->sizes;
	u64 size = hint->pointer ? 8 : source_scalar_size(hint->name), best = 0;

	if (size)
		return chunk && chunk % size == 0 ? size : 0;
	for (u64 i = 0; i < sizes->count; i++) {
		const struct sized_type *type = &sizes->data[i];
		bool fits = type->size && chunk >= type->size;

		/* Sizes of a template differ: only one that is that of the chunk tells anything. */
		if (type->size == chunk && hint->is_new && is_template_of(type, hint->name))
			return chunk;
		if (!fits || !is_named(type->name, hint->name))
			continue;
		/* the array of a class with a destructor has a cookie before it */
		if (chunk % type->size == 0 || (hint->is_new && chunk % type->size == 8) ||
		    !hint->is_new) {
			best = type->size;
			*name = type->name;
			if (chunk == best)
				break;
		}
	}
	return best;
}

/* ---- choice ---- */

static u32 distance(const struct hint *hint)
{
	if (!hint->wanted_column)
		return 0;
	return hint->column > hint->wanted_column ? hint->column - hint->wanted_column
						  : hint->wanted_column - hint->column;
}

/* Classes that the line may name. */
struct thrown_classes {
	const char *name; /* of the last that fits */
	u64 fitting, others;
};

/* There are none if debug info has none: g++ writes nothing of a class that is only thrown, and the
 * C++ library's are in its own. */
static struct thrown_classes thrown_classes(const struct guesses *self, const struct hint *hint,
					    u64 object)
{
	const struct typesizes *sizes = &self->types->sizes;
	struct thrown_classes found = {.name = hint->name};
	const char *standard;
	u64 size;

	for (u64 i = 0; i < sizes->count; i++) {
		if (!is_named(sizes->data[i].name, hint->name))
			continue;
		found.others += sizes->data[i].size != object;
		found.fitting += sizes->data[i].size == object;
		found.name = sizes->data[i].size == object ? sizes->data[i].name : found.name;
	}
	standard =
		found.fitting + found.others ? NULL : source_standard_exception(hint->name, &size);
	if (!standard)
		return found;
	return (struct thrown_classes){standard, size == object, size != object};
}

/* One object behind its header. That a class of this name is thrown there, and of just this size,
 * is no guess. */
static void take_thrown(struct guesses *self, const struct hint *hint)
{
	struct type_place *place = &self->types->places.data[hint->place];
	u64 object = place->size - EXCEPTION_HEAD;
	struct thrown_classes found = thrown_classes(self, hint, object);

	if (place->size <= EXCEPTION_HEAD || (found.others && !found.fitting))
		return;
	place->answer =
		(struct type_answer){.name = type_keep_readable(self->types, found.name, ""),
				     .size = object,
				     .count = 1,
				     .origin = ORIGIN_LINE,
				     .confidence = found.fitting == 1 ? TYPE_LIKELY : TYPE_GUESS};
}

static void take_hint(struct guesses *self, u64 from, u64 end)
{
	struct type_place *place = &self->types->places.data[self->hints.data[from].place];
	const struct hint *best = NULL;
	const char *best_name = NULL;
	u64 best_size = 0;

	for (u64 i = from; i < end; i++) {
		const struct hint *hint = &self->hints.data[i];
		const char *name = hint->name;
		u64 size = fitting_size(self, hint, place->size, &name);

		if (!size || (best && distance(hint) >= distance(best)))
			continue;
		best = hint;
		best_name = name;
		best_size = size;
	}
	if (!best)
		return;
	place->answer = (struct type_answer){.name = type_keep_readable(self->types, best_name,
									best->pointer ? "*" : ""),
					     .size = best_size,
					     .origin = ORIGIN_LINE,
					     .confidence = TYPE_GUESS};
}

/* Places of one point after each other: they have one stack. */
static bool ask_open(struct guesses *self)
{
	struct type_cascade *types = self->types;
	u64 before = UINT64_MAX;

	vec_sort(&self->open, compare_u64);
	for (u64 i = 0; i < self->open.count; i++) {
		u64 point = self->open.data[i] >> 32;

		if (point != before)
			type_read_stack(types,
					types->query.source->model->points.data[point].frame);
		before = point;
		if (!add_hints(self, self->open.data[i] & UINT32_MAX))
			return false;
	}
	return true;
}

static bool ask(struct guesses *self)
{
	struct type_cascade *types = self->types;

	for (u64 i = 0; i < types->told.count; i++)
		if (types->told.data[i] && !add_base(self, types->told.data[i]))
			return false;
	for (u64 i = 0; i < types->places.count; i++) {
		const struct type_place *place = &types->places.data[i];

		if (!(place->answer.confidence
			      ? add_base(self, place->answer.name)
			      : place->size == TYPE_ANY_SIZE ||
					vec_push(&self->open, (u64)place->point << 32 | i)))
			return false;
	}
	return ask_open(self);
}

static void choose(struct guesses *self)
{
	for (u64 i = 0, end; i < self->hints.count; i = end) {
		for (end = i; end < self->hints.count &&
			      self->hints.data[end].place == self->hints.data[i].place;)
			end++;
		if (!self->hints.data[i].is_thrown)
			take_hint(self, i, end);
		else if (end == i + 1) /* of several nobody knows which */
			take_thrown(self, &self->hints.data[i]);
	}
}

int type_guess(struct type_cascade *types, struct err *err)
{
	struct guesses self = {.types = types};
	int status = 0;

	if (!ask(&self))
		status = err_memory_for(err, "types");
	if (status == 0 && self.bases.count)
		status = read_sizes(&self, err);
	if (status == 0)
		status = keep_sizes(types, err);
	if (status == 0)
		choose(&self);
	vec_release(&self.hints);
	vec_release(&self.open);
	vec_release(&self.bases);
	return status;
}
