/* SPDX-License-Identifier: MIT
 * Reads suppressions and finds the one that hides a stack.
 * Host. Files are of strangers: any text may be in them. */
#include "study/analysis/places/suppressions.h"

#include <stdio.h>
#include <string.h>

#include "host/base/io.h"

enum { FILE_BYTES_MAX = 1 << 24 };

/* What is allocated once, kept for the whole run on purpose, and calls nobody's code in between (a
 * pattern hides whatever is below a frame that it matches). */
static const struct {
	const char *pattern;
	bool caller_only;
	const char *above;
} builtin[] = {
	/* The dynamic loader: its list of libraries, thread-local storage, scopes. Constructors of
	 * libraries have frames of the loader, too, but are not what called the allocator. */
	{"/ld-linux*.so.*$", true, NULL},
	{"/ld-2.*.so$", true, NULL},
	{"^_dl_", true, NULL},
	{"^__tls_get_addr$", true, NULL},
	{"^_dl_allocate_tls$", false, NULL},
	{"^pthread_create@", false, NULL},
	/* Buffers of standard streams: files that the program opened are its own to close, and
	 * their FILE is reported; the buffer alone says nothing more. */
	{"^_IO_file_doallocate$", true, NULL},
	{"^_IO_wfile_doallocate$", true, NULL},
	/* Lists that live as long as the process. */
	{"^__new_exitfn$", true, NULL},
	{"^__cxa_atexit$", false, NULL},
	{"^__internal_atexit$", true, NULL},
	{"^__cxa_thread_atexit_impl$", true, NULL},
	{"^__pthread_setspecific$", true, NULL},
	/* Locales, time zones and character sets, loaded once. */
	{"^setlocale$", false, NULL},
	{"^_nl_", true, NULL},
	{"^__tzfile_read$", false, NULL},
	{"^__tzset", false, NULL},
	{"^__gconv_", true, NULL},
	/* The name service: its configuration and modules, and the one buffer of each function
	 * that returns a pointer to its own. */
	{"^__nss_", false, NULL},
	{"^nss_database_", true, NULL},
	{"^getpw", true, NULL},
	{"^getgr", true, NULL},
	{"^gethostby", true, NULL},
	{"^__bindtextdomain$", false, NULL},
	{"^bindtextdomain$", false, NULL},
	{"^__dcigettext$", false, NULL},
	/* The C++ library's reserve for exceptions when memory is short, made by a constructor of
	 * its own. */
	{"/libstdc++.so", true, "/ld-linux"},
};

/* ---- patterns ---- */

/* Whether piece[0..bytes), the last of a pattern, is how text ends. */
static bool ends_with(const char *text, const char *piece, size_t bytes)
{
	size_t length = strlen(text);

	return length >= bytes && memcmp(text + length - bytes, piece, bytes) == 0;
}

/* Each piece between stars is looked for from where the one before it ended: the first place is as
 * good as any later one, except for the last piece if the pattern is held to the end. */
bool suppression_matches(const char *pattern, const char *text)
{
	size_t length = strlen(pattern);
	bool at_start = *pattern == '^', at_end;

	pattern += at_start;
	length -= at_start;
	at_end = length && pattern[length - 1] == '$';
	length -= at_end;
	for (const char *end = pattern + length;;) {
		const char *star = memchr(pattern, '*', (size_t)(end - pattern));
		size_t bytes = (size_t)((star ? star : end) - pattern);

		if (!star && at_end)
			return ends_with(text, pattern, bytes) &&
			       (!at_start || strlen(text) == bytes);
		if (at_start) {
			if (strncmp(text, pattern, bytes) != 0)
				return false;
		} else {
			text = memmem(text, strlen(text), pattern, bytes);
		}
		if (!star || !text)
			return text != NULL;
		at_start = false;
		text += bytes;
		pattern = star + 1;
	}
}

/* ---- reading ---- */

static int add(struct suppressions *self, struct suppression one, struct err *err)
{
	one.pattern = arena_copy(&self->arena, one.pattern);
	one.origin = arena_copy(&self->arena, one.origin);
	if (!one.pattern || !one.origin || !vec_push(&self->list, one))
		return err_memory_for(err, "suppressions");
	return 0;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static int parse_line(struct suppressions *self, char *line, const char *origin, u32 number,
		      struct err *err)
{
	size_t length = strlen(line);
	char where[512];

	while (length && is_blank(line[length - 1]))
		line[--length] = 0;
	while (is_blank(*line))
		line++;
	if (!*line || *line == '#')
		return 0;
	snprintf(where, sizeof where, "%s:%u", origin, number);
	if (strncmp(line, "leak:", 5) != 0 || !line[5])
		return err_set(err, ERR_INPUT,
			       "%s: invalid suppression '%.60s'; expected leak:PATTERN", where,
			       line);
	return add(self, (struct suppression){.pattern = line + 5, .origin = where}, err);
}

int suppressions_parse(struct suppressions *self, const char *text, const char *origin,
		       struct err *err)
{
	u32 number = 1;
	int status = 0;

	while (*text && status == 0) {
		size_t bytes = strcspn(text, "\n");
		char *line = arena_copy_text(&self->arena, text, bytes);

		if (!line)
			return err_memory_for(err, "suppressions");
		status = parse_line(self, line, origin, number++, err);
		text += bytes + (text[bytes] == '\n');
	}
	return status;
}

int suppressions_add_builtin(struct suppressions *self, struct err *err)
{
	int status = 0;

	for (u32 i = 0; i < sizeof builtin / sizeof *builtin && status == 0; i++)
		status = add(self,
			     (struct suppression){.pattern = builtin[i].pattern,
						  .origin = "built-in",
						  .caller_only = builtin[i].caller_only,
						  .above = builtin[i].above},
			     err);
	return status;
}

void suppressions_release(struct suppressions *self)
{
	vec_release(&self->list);
	vec_release(&self->known);
	arena_release(&self->arena);
}

/* ---- finding ---- */

static bool matches_frame(const char *pattern, const struct stack_source *source, u32 frame)
{
	struct stack_names names = stack_names(source, (struct frame_id){frame});

	if (*names.module && suppression_matches(pattern, names.module))
		return true;
	for (u32 i = 0; i < names.count; i++)
		if ((*names.frames[i].function &&
		     suppression_matches(pattern, names.frames[i].function)) ||
		    (*names.frames[i].file && suppression_matches(pattern, names.frames[i].file)))
			return true;
	return false;
}

static bool matches_one(const struct suppression *self, const struct stack_source *source,
			u32 frame)
{
	u32 above = source->model->contexts.frames.data[frame].parent;

	return matches_frame(self->pattern, source, frame) &&
	       (!self->above || (above && matches_frame(self->above, source, above)));
}

static u32 match_one(const struct suppressions *self, const struct stack_source *source, u32 frame,
		     bool caller)
{
	for (u32 i = 0; i < self->list.count; i++)
		if (self->list.data[i].caller_only == caller &&
		    matches_one(&self->list.data[i], source, frame))
			return i;
	return NOT_SUPPRESSED;
}

/* What hides any stack with this frame in it, by the frame itself or by one above. Frames are
 * shared by many stacks, so each is matched once. */
static u32 match_chain(struct suppressions *self, const struct stack_source *source, u32 frame)
{
	u32 found = NOT_SUPPRESSED, at = frame;

	for (; at && found == NOT_SUPPRESSED; at = source->model->contexts.frames.data[at].parent) {
		u32 *known = &self->known.data[at];

		if (*known == 0)
			*known = match_one(self, source, at, false) + 2;
		found = *known - 2;
	}
	return found;
}

u32 suppressions_find(struct suppressions *self, const struct stack_source *source,
		      struct frame_id frame)
{
	u32 found;

	if (!self->list.count || !vec_extend(&self->known, source->model->contexts.frames.count))
		return NOT_SUPPRESSED;
	found = match_chain(self, source, frame.index);
	if (found == NOT_SUPPRESSED && frame.index)
		found = match_one(self, source, frame.index, true);
	return found;
}

int suppressions_read(struct suppressions *self, const char *path, struct err *err)
{
	struct strbuf text = {0};
	int status = io_read_file(path, FILE_BYTES_MAX, &text, err);

	if (status == 0 && strlen(strbuf_text(&text)) != text.count)
		status = err_set(err, ERR_INPUT, "%s is not a text file", path);
	if (status == 0)
		status = suppressions_parse(self, strbuf_text(&text), path, err);
	strbuf_release(&text);
	return status;
}
