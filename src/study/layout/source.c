/* SPDX-License-Identifier: MIT
 * Lines of source files, and their text.
 * Host. Paths are those of the trace's own table, never a client's; what is read lies below folders
 * that the user allowed. */
#define _GNU_SOURCE
#include "study/layout/source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/io.h"
#include "host/base/keyed.h"
#include "study/layout/slots.h"

/* ---- table ---- */

struct building {
	struct source_table *table;
	const struct study *trace;
	struct map by_text; /* hash → file + 1 */
	struct map by_line; /* file << 32 | line → line + 1 */
};

static bool file_find(struct building *self, const char *path, u32 *file)
{
	u64 hash = hash_text(HASH_START, path);

	for (;; hash = hash_u64(hash + 1)) {
		struct source_file *found = vec_at_key(&self->table->files, &self->by_text, hash,
						       (struct source_file){.path = path});

		if (!found)
			return false;
		*file = (u32)(found - self->table->files.data);
		if (strcmp(found->path, path) == 0)
			return true;
	}
}

static bool line_find(struct building *self, u32 file, u32 line, u32 *row)
{
	struct source_line *found =
		vec_at_key(&self->table->lines, &self->by_line, (u64)file << 32 | line,
			   (struct source_line){.file = file, .line = line});

	if (found)
		*row = (u32)(found - self->table->lines.data);
	return found != NULL;
}

static void add_sums(struct line_sums *to, const struct model *model, struct point_id point)
{
	const struct model_point *from = &model->points.data[point.index];
	bool exec = model_keeps_nothing(model);

	to->allocs += model_count(model, from->allocations);
	to->bytes += from->bytes;
	to->peak += from->at_peak_bytes;
	to->leaked += exec ? 0 : from->live_bytes;
}

/* A point counts once, however often the line or the file is on its stack. */
static void add_once(struct line_sums *to, u32 *last, const struct model *model,
		     struct point_id point)
{
	if (*last != point.index + 1)
		add_sums(to, model, point);
	*last = point.index + 1;
}

static bool credit(struct building *self, const struct symbol_frame *frame, struct point_id point)
{
	const struct model *model = self->trace->model;
	struct source_table *table = self->table;
	u32 file, line;

	if (!*frame->file)
		return true;
	if (!file_find(self, frame->file, &file) || !line_find(self, file, frame->line, &line))
		return false;
	add_once(&table->lines.data[line].incl, &table->lines.data[line].last, model, point);
	add_once(&table->files.data[file].incl, &table->files.data[file].last, model, point);
	return true;
}

/* The C library, and its start code in the program itself, are on every stack, and nobody's to
 * change. */
static bool is_system(const struct stack_names *names)
{
	const char *slash = strrchr(names->module, '/');

	return library_is_system(slash ? slash + 1 : names->module) ||
	       (names->count && strcmp(names->frames[names->count - 1].function, "_start") == 0);
}

static bool add_point(struct building *self, struct point_id point)
{
	const struct model *model = self->trace->model;
	struct frame_id frame = model->points.data[point.index].frame;
	struct finding_place place = finding_place(&self->trace->stacks, frame);
	u32 file, line;

	for (u32 at = frame.index; at; at = model->contexts.frames.data[at].parent) {
		struct stack_names names = stack_names(&self->trace->stacks, (struct frame_id){at});

		for (u32 i = 0; i < names.count && !is_system(&names); i++)
			if (!credit(self, &names.frames[i], point))
				return false;
	}
	if (!*place.own.file || place.foreign)
		return true;
	if (!file_find(self, place.own.file, &file) ||
	    !line_find(self, file, place.own.line, &line))
		return false;
	add_sums(&self->table->files.data[file].self, model, point);
	add_sums(&self->table->lines.data[line].self, model, point);
	self->table->own_line[point.index] = line + 1;
	return true;
}

/* ---- order: files by path, lines by file ---- */

static int by_path(const void *a, const void *b)
{
	const struct source_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int by_line(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static bool sort_files(struct source_table *self)
{
	u32 *place = malloc((self->files.count + 1) * sizeof *place);

	if (!place)
		return false;
	for (u32 i = 0; i < self->files.count; i++)
		self->files.data[i].last = i;
	if (self->files.count)
		qsort(self->files.data, self->files.count, sizeof *self->files.data, by_path);
	for (u32 i = 0; i < self->files.count; i++)
		place[self->files.data[i].last] = i;
	for (u64 i = 0; i < self->lines.count; i++)
		self->lines.data[i].file = place[self->lines.data[i].file];
	free(place);
	return true;
}

static bool sort_lines(struct source_table *self, u64 points)
{
	u32 *place = malloc((self->lines.count + 1) * sizeof *place);

	if (!place)
		return false;
	for (u32 i = 0; i < self->lines.count; i++)
		self->lines.data[i].last = i;
	if (self->lines.count)
		qsort(self->lines.data, self->lines.count, sizeof *self->lines.data, by_line);
	for (u32 i = 0; i < self->lines.count; i++) {
		struct source_file *file = &self->files.data[self->lines.data[i].file];

		place[self->lines.data[i].last] = i;
		if (!file->line_count++)
			file->first_line = i;
	}
	for (u64 i = 0; i < points; i++)
		if (self->own_line[i])
			self->own_line[i] = place[self->own_line[i] - 1] + 1;
	free(place);
	return true;
}

static void source_table_free(void *self_)
{
	struct source_table *self = self_;

	vec_release(&self->files);
	vec_release(&self->lines);
	free(self->own_line);
	free(self);
}

static void *make(struct study *trace, u32 slot, struct err *err)
{
	u64 points = trace->model->points.count;
	struct source_table *self = calloc(1, sizeof *self);
	struct building building = {.table = self, .trace = trace};
	bool done = self && (self->own_line = calloc(points + 1, sizeof *self->own_line));

	(void)slot;
	for (u32 i = 0; done && i < points; i++)
		done = add_point(&building, (struct point_id){i});
	done = done && sort_files(self) && sort_lines(self, points);
	map_release(&building.by_text);
	map_release(&building.by_line);
	if (done)
		return self;
	if (self)
		source_table_free(self);
	err_memory_for(err, "the source files");
	return NULL;
}

const struct source_table *view_source(struct study *trace, struct err *err)
{
	return study_slot(trace, SLOT_SOURCE, make, source_table_free, err);
}

/* ---- text ---- */

static bool is_readable(const char *path, struct stat *status)
{
	int fd = io_open_regular(path, status);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && status->st_size <= SOURCE_BYTES_MAX;
}

static char *read_text(const char *path, u64 *bytes)
{
	struct strbuf text = {0};
	struct err err = {0};

	if (io_read_regular(path, SOURCE_BYTES_MAX, &text, &err) < 0) {
		strbuf_release(&text);
		return NULL;
	}
	*bytes = text.count;
	strbuf_add(&text, "");
	return strbuf_take(&text);
}

static bool is_newer(struct timespec changed, const char *program, const char *trace)
{
	struct stat status;

	if (stat(program, &status) != 0 && stat(trace, &status) != 0)
		return false;
	return changed.tv_sec > status.st_mtim.tv_sec || (changed.tv_sec == status.st_mtim.tv_sec &&
							  changed.tv_nsec > status.st_mtim.tv_nsec);
}

/* The folder of a path without links. That of all files is not asked for. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
}

static bool try_path(struct source_text *self, const struct study *trace, char *path,
		     const struct folders *allowed)
{
	char *real;
	struct stat status;

	if (!path || !vec_push(&self->searched, path)) {
		free(path);
		return false;
	}
	real = realpath(path, NULL);
	if (real && is_readable(real, &status)) {
		if (folders_hold(allowed, real))
			self->text = read_text(real, &self->bytes);
		else if (!self->asks)
			self->asks = folder_of(real);
	}
	free(real);
	self->stale =
		self->text && is_newer(status.st_mtim, trace->model->image.program, trace->path);
	return self->text != NULL;
}

/* A path that is not absolute was so to the folder of the compiler, which is not known: the
 * program's folder, and the one that the server runs in, are tried. */
void source_text_read(struct source_text *self, struct study *trace, u32 file,
		      const struct folders *allowed)
{
	struct err err = {0};
	const struct source_table *source = view_source(trace, &err);
	const char *program = trace->model->image.program, *slash = strrchr(program, '/');
	const char *path = source ? source->files.data[file].path : "";
	char *beside = NULL;

	self->path = path;
	if (*path != '/' && slash &&
	    asprintf(&beside, "%.*s/%s", (int)(slash - program), program, path) < 0)
		beside = NULL;
	if (beside && try_path(self, trace, beside, allowed))
		return;
	try_path(self, trace, strdup(path), allowed);
}

void source_text_release(struct source_text *self)
{
	for (u64 i = 0; i < self->searched.count; i++)
		free(self->searched.data[i]);
	vec_release(&self->searched);
	free(self->text);
	free(self->asks);
}
