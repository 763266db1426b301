/* SPDX-License-Identifier: MIT
 * Opens a trace by its index, and makes and removes indexes.
 * Host. An index is written under another name and then renamed, so that whoever opens one finds it
 * whole. */
#include "study/model/index.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/base/io.h"
#include "study/model/by_point.h"
#include "study/model/graphs.h"
#include "study/model/index_file.h"
#include "host/trace/block.h"
#include "study/model/order.h"

/* ---- reading ---- */

static bool read_parts(struct model *model, const struct index_header *header,
		       struct trace_info *info)
{
	const u8 *small = column_store_at(model->store, header->small_offset, header->small_bytes);
	struct index_io io = {.reading = true, .store = model->store};

	if (!small || checksum(small, header->small_bytes) != header->small_checksum)
		return false;
	io.at = small;
	io.end = small + header->small_bytes;
	index_transfer(&io, model, info);
	column_store_forget(model->store, small, header->small_bytes);
	return !io.failed && index_is_sound(model) && order_take(model) && by_point_take(model);
}

/* False, and the model empty, if this is no index of the trace that can be used. */
static bool open_one(struct model *model, const char *index, const struct trace_identity *trace,
		     int image, struct trace_info *info)
{
	struct index_header header;
	int fd = index_open_fresh(index, trace, image, &header);
	struct column_store *store;

	if (fd < 0)
		return false;
	store = column_store_map(fd, header.file_bytes);
	close(fd);
	if (!store)
		return false;
	model_use_store(model, store);
	if (read_parts(model, &header, info))
		return true;
	model_reset(model);
	return false;
}

/* What the index of an image may be called, in all places: the last image goes by that, too. False
 * after the last. */
static bool next_name(const char *path, int image, u32 number, struct strbuf *name)
{
	u32 place = number % INDEX_PLACES, naming = number / INDEX_PLACES;

	if (naming > 1 || (naming && image < 0))
		return false;
	index_path(path, naming ? image : -1, place, name);
	return true;
}

static bool open_any(struct model *model, const char *path, int image, struct trace_info *info)
{
	struct trace_identity trace;
	struct strbuf name = {0};
	bool opened = false;

	if (!index_identify(path, &trace))
		return false;
	for (u32 i = 0; !opened && next_name(path, image, i, &name); i++)
		opened = name.count && open_one(model, name.text, &trace, image, info);
	strbuf_release(&name);
	return opened;
}

int model_open(struct model *self, const char *path, const struct model_options *options,
	       struct err *err)
{
	struct trace_read_options how = {.image = options->image,
					 .progress = options->progress,
					 .progress_self = options->progress_self};
	struct trace_info info = {0};
	struct err ignored = {0};
	bool opened = !options->no_index && open_any(self, path, options->image, &info);
	int status = 0;

	if (!opened && options->index_only)
		return 1;
	if (!opened && !options->no_index && options->write_index)
		opened = index_build(path, options, options->made, &ignored) == 0 &&
			 open_any(self, path, options->image, &info);
	if (!opened && options->fill)
		options->fill(options->store_self, self);
	if (!opened)
		status = model_load(self, path, &how, &info, err);
	if (status == 0 && options->graphs)
		status = model_read_graphs(self, &(struct graphs_source){path, how.image, &info},
					   err);
	if (status == 0 && options->info)
		*options->info = info;
	return status;
}

/* ---- writing ---- */

struct build {
	const char *path;
	struct trace_identity trace;
	struct strbuf temporary, name;
	u32 place;
	int fd;
	struct model *model;
	struct trace_info info;
	struct index_writer writer; /* of what is stored beside the columns */
	u64 bytes;
};

/* A file of the user's own, in the first folder that takes it. */
static int create(struct build *self, struct err *err)
{
	int failure = 0;

	for (; self->place < INDEX_PLACES; self->place++) {
		index_path(self->path, -1, self->place, &self->temporary);
		if (!self->temporary.count)
			continue;
		if (self->place) {
			*strrchr(self->temporary.text, '/') = 0;
			io_make_folder(self->temporary.text, 0700, NULL);
			index_path(self->path, -1, self->place, &self->temporary);
		}
		strbuf_add(&self->temporary, ".XXXXXX");
		if (self->temporary.failed)
			break;
		self->fd = mkostemp(self->temporary.text, O_CLOEXEC); /* mode 0600 */
		if (self->fd >= 0)
			return 0;
		failure = errno;
	}
	return err_set(err, ERR_SYSTEM, "cannot create an index of %s: %s", self->path,
		       strerror(failure ? failure : ENOMEM));
}

static int write_failed(const struct build *self, int failure, struct err *err)
{
	return err_set(err, ERR_SYSTEM, "cannot write %s: %s", strbuf_text(&self->name),
		       strerror(failure));
}

static int load(struct build *self, const struct model_options *options, struct err *err)
{
	struct trace_read_options how = {.image = options->image,
					 .progress = options->progress,
					 .progress_self = options->progress_self};
	struct column_store *store = column_store_new(self->fd, INDEX_PAGE);
	int status;

	self->model = model_new();
	if (!self->model || !store) {
		column_store_free(store);
		return err_memory(err);
	}
	model_use_store(self->model, store);
	if (options->fill)
		options->fill(options->store_self, self->model);
	status = model_load(self->model, self->path, &how, &self->info, err);
	if (column_store_failure(store))
		return write_failed(self, column_store_failure(store), err);
	if (status == 0 && !chunk_table_make_zones(&self->model->chunks))
		return err_memory(err);
	if (status == 0 && column_store_finish(store) != 0)
		return write_failed(self, column_store_failure(store), err);
	return status;
}

static int put_at(const struct build *self, u64 offset, const void *bytes, u64 count,
		  struct err *err)
{
	int failure = lseek(self->fd, (off_t)offset, SEEK_SET) < 0
			      ? errno
			      : io_write_all(self->fd, bytes, count, NULL);

	return failure ? write_failed(self, failure, err) : 0;
}

int stored_begin(struct index_writer *self, u32 kind, u64 tag, struct err *err)
{
	struct stored_place *place = &self->places[kind];

	self->at = (self->at + INDEX_PAGE - 1) / INDEX_PAGE * INDEX_PAGE;
	self->kind = kind;
	*place = (struct stored_place){.offset = self->at, .tag = tag};
	if (lseek(self->fd, (off_t)self->at, SEEK_SET) >= 0)
		return 0;
	return err_set(err, ERR_SYSTEM, "cannot write %s: %s", self->path, strerror(errno));
}

int stored_add(struct index_writer *self, const void *bytes, u64 count, struct err *err)
{
	int failure = io_write_all(self->fd, bytes, count, NULL);

	self->at += count;
	self->places[self->kind].bytes += count;
	return failure ? err_set(err, ERR_SYSTEM, "cannot write %s: %s", self->path,
				 strerror(failure))
		       : 0;
}

/* Everything that is found from the columns and kept, so that nobody has to pass over them for
 * it. */
static int store_more(struct build *self, const struct model_options *options, struct err *err)
{
	int status;

	self->writer.fd = self->fd;
	self->writer.path = strbuf_text(&self->name);
	self->writer.at = column_store_end(self->model->store);
	status = order_write(self->model, &self->writer, err);
	model_rest(self->model);
	if (status == 0)
		status = by_point_write(self->model, &self->writer, err);
	model_rest(self->model);
	if (status == 0 && options->store)
		status = options->store(options->store_self, self->model, &self->info,
					&self->writer, err);
	return status;
}

static int write_parts(struct build *self, int image, struct err *err)
{
	struct index_io io = {.store = self->model->store, .places = self->writer.places};
	u64 last = self->info.images ? self->info.images - 1 : 0;
	struct index_header header = {.trace = self->trace, .image = image < 0 ? last : (u64)image};
	int status;

	index_transfer(&io, self->model, &self->info);
	header.is_last_image = header.image == last;
	header.small_offset = (self->writer.at + INDEX_PAGE - 1) / INDEX_PAGE * INDEX_PAGE;
	header.small_bytes = io.out.count;
	header.small_checksum = checksum(strbuf_text(&io.out), io.out.count);
	header.file_bytes = self->bytes = header.small_offset + header.small_bytes;
	index_header_seal(&header);
	if (io.failed)
		status = err_memory(err);
	else
		status = put_at(self, header.small_offset, io.out.text, io.out.count, err);
	strbuf_release(&io.out);
	if (status == 0)
		status = put_at(self, 0, &header, sizeof header, err);
	if (status == 0)
		index_path(self->path, header.is_last_image ? -1 : image, self->place, &self->name);
	return status;
}

/* What was written must be on the disk before it goes by its name: a header that is whole must not
 * stand for columns that a crash has lost. */
static int publish(struct build *self, struct err *err)
{
	struct trace_identity now;

	if (ftruncate(self->fd, (off_t)self->bytes) != 0 || fdatasync(self->fd) != 0)
		return write_failed(self, errno, err);
	if (!index_identify(self->path, &now) || memcmp(&now, &self->trace, sizeof now) != 0)
		return err_set(err, ERR_INPUT, "%s changed while its index was being built",
			       self->path);
	if (self->name.failed || rename(self->temporary.text, self->name.text) != 0)
		return write_failed(self, errno, err);
	return 0;
}

static int build_one(struct build *self, const struct model_options *options, struct err *err)
{
	int status = create(self, err);

	if (status < 0)
		return status;
	index_path(self->path, options->image < 0 ? -1 : options->image, self->place, &self->name);
	status = load(self, options, err);
	if (status == 0)
		status = store_more(self, options, err);
	if (status == 0)
		status = write_parts(self, options->image, err);
	if (status == 0)
		status = publish(self, err);
	if (status < 0)
		unlink(self->temporary.text);
	return status;
}

/* The fresh index that is there already. */
static bool find_fresh(const char *path, int image, const struct trace_identity *trace,
		       struct index_made *made)
{
	struct index_header header;
	struct strbuf name = {0};
	int fd = -1;

	for (u32 i = 0; fd < 0 && next_name(path, image, i, &name); i++)
		if (name.count)
			fd = index_open_fresh(name.text, trace, image, &header);
	if (fd >= 0) {
		made->fresh = true;
		made->bytes = header.file_bytes;
		snprintf(made->path, sizeof made->path, "%s", name.text);
		close(fd);
	}
	strbuf_release(&name);
	return fd >= 0;
}

int index_build(const char *path, const struct model_options *options, struct index_made *made,
		struct err *err)
{
	struct build self = {.path = path, .fd = -1};
	struct index_made nobody;
	int status;

	made = made ? made : &nobody;
	*made = (struct index_made){0};
	if (!index_identify(path, &self.trace))
		return err_set(err, ERR_INPUT, "cannot open %s: %s", path, strerror(errno));
	if (find_fresh(path, options->image, &self.trace, made))
		return 0;
	status = build_one(&self, options, err);
	model_free(self.model);
	if (self.fd >= 0)
		close(self.fd);
	made->bytes = self.bytes;
	if (status == 0)
		snprintf(made->path, sizeof made->path, "%s", self.name.text);
	strbuf_release(&self.temporary);
	strbuf_release(&self.name);
	return status;
}

/* ---- removing ---- */

/* Letters of a name that a pattern would understand as something else. */
static void add_plain(struct strbuf *pattern, const char *text)
{
	for (; *text; text++) {
		if (strchr("*?[\\", *text))
			strbuf_add_char(pattern, '\\');
		strbuf_add_char(pattern, *text);
	}
}

static int remove_matching(const char *stem, const char *ending, u64 *removed, struct err *err)
{
	struct strbuf pattern = {0};
	glob_t found = {0};
	int status = 0;

	add_plain(&pattern, stem);
	strbuf_add(&pattern, ending);
	if (!pattern.failed && glob(pattern.text, GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && status == 0; i++) {
			if (unlink(found.gl_pathv[i]) == 0)
				++*removed;
			else if (errno != ENOENT)
				status = err_set(err, ERR_SYSTEM, "cannot remove %s: %s",
						 found.gl_pathv[i], strerror(errno));
		}
	globfree(&found);
	strbuf_release(&pattern);
	return status;
}

int index_remove(const char *path, u64 *removed, struct err *err)
{
	/* of the last image, of another one, and what a build that was killed left of either */
	static const char *const endings[] = {".index", ".image[0-9]*.index", ".index.??????"};
	struct strbuf stem = {0};
	int status = 0;

	*removed = 0;
	for (u32 place = 0; place < INDEX_PLACES && status == 0; place++) {
		index_path(path, -1, place, &stem);
		if (stem.count < strlen(".index"))
			continue;
		stem.text[stem.count - strlen(".index")] = 0;
		for (u32 i = 0; i < sizeof endings / sizeof *endings && status == 0; i++)
			status = remove_matching(stem.text, endings[i], removed, err);
	}
	strbuf_release(&stem);
	return status;
}
