/* SPDX-License-Identifier: MIT
 * Opens traces, for commands and for servers alike.
 * Host. Never prints; notes and progress go to whoever asked for them. */
#define _GNU_SOURCE
#include "study/open/study.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/symbols/resolve/resolve.h"
#include "study/model/narrow.h"

enum { INDEX_EVENTS = 2 << 20 }; /* fewer are read in no time */

/* ---- life ---- */

/* Another file, or the same one written anew, has another id, so that no answer is mistaken. */
static void identify(struct study *self)
{
	struct stat status = {0};
	u64 hash = hash_text(HASH_START, self->path);

	if (stat(self->path, &status) == 0) {
		hash = hash_u64(hash ^ (u64)status.st_ino);
		hash = hash_u64(hash ^ (u64)status.st_mtim.tv_sec * 1000000007 ^
				(u64)status.st_mtim.tv_nsec);
		hash = hash_u64(hash ^ (u64)status.st_size);
	}
	pthread_mutex_lock(&self->lock);
	self->file_bytes = (u64)status.st_size;
	snprintf(self->id, sizeof self->id, "%012llx", (unsigned long long)(hash & 0xffffffffffff));
	pthread_mutex_unlock(&self->lock);
}

struct study_file study_file(struct study *self)
{
	struct study_file file;

	pthread_mutex_lock(&self->lock);
	memcpy(file.id, self->id, sizeof file.id);
	file.bytes = self->file_bytes;
	pthread_mutex_unlock(&self->lock);
	return file;
}

struct study *study_new(const char *path, const struct study_options *how)
{
	struct study *self = calloc(1, sizeof *self);
	const char *slash = strrchr(path, '/');

	if (!self)
		return NULL;
	self->path = path;
	self->name = slash && slash[1] ? slash + 1 : path;
	self->how = *how;
	pthread_mutex_init(&self->lock, NULL);
	study_parts_init(self);
	self->progress.phase = "waiting";
	identify(self);
	return self;
}

void study_free(struct study *self)
{
	if (!self)
		return;
	study_parts_release(self);
	query_engine_free(self->engine);
	selection_release(&self->all);
	symbol_table_release(&self->symbols);
	free(self->found);
	folds_release(&self->folds);
	model_free(self->model);
	model_free(self->whole);
	free(self);
}

/* ---- progress ---- */

static void phase_begin(struct study *self, enum study_phase phase)
{
	static const char *const texts[] = {[PHASE_NAMES] = "looking up function names",
					    [PHASE_READING] = "reading the trace",
					    [PHASE_PREPARING] = "preparing"};

	pthread_mutex_lock(&self->lock);
	self->progress = (struct study_progress){.state = STUDY_LOADING, .phase = texts[phase]};
	pthread_mutex_unlock(&self->lock);
	if (self->how.phase)
		self->how.phase(self->how.self, phase, self->path);
}

/* False if the load is to end. */
static bool share_set(void *self_, double share)
{
	struct study *self = self_;
	bool cancelled;

	pthread_mutex_lock(&self->lock);
	self->progress.share = share;
	cancelled = self->cancelled;
	pthread_mutex_unlock(&self->lock);
	if (self->how.share)
		self->how.share(self->how.self, share);
	return !cancelled;
}

static void names_share_set(void *self, double share) { share_set(self, share); }

void study_cancel(struct study *self)
{
	pthread_mutex_lock(&self->lock);
	self->cancelled = true;
	pthread_mutex_unlock(&self->lock);
}

static int loaded(struct study *self, int status, const struct err *err)
{
	pthread_mutex_lock(&self->lock);
	self->progress = status < 0 ? (struct study_progress){STUDY_FAILED, "failed", 0, *err}
				    : (struct study_progress){STUDY_READY, "ready", 1, {0}};
	pthread_mutex_unlock(&self->lock);
	return status;
}

struct study_progress study_progress(struct study *self)
{
	struct study_progress progress;

	pthread_mutex_lock(&self->lock);
	progress = self->progress;
	pthread_mutex_unlock(&self->lock);
	return progress;
}

__attribute__((format(printf, 2, 3))) static void note(const struct study *self, const char *format,
						       ...)
{
	struct strbuf text = {0};
	va_list arguments;

	if (!self->how.note)
		return;
	va_start(arguments, format);
	strbuf_vaddf(&text, format, arguments);
	va_end(arguments);
	self->how.note(self->how.self, strbuf_text(&text));
	strbuf_release(&text);
}

/* ---- loading ---- */

/* The kernel grants a read lease only if nobody writes. A pipe must not make us wait for its
 * writer. */
bool study_is_being_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool refused;

	if (fd < 0)
		return false;
	refused = fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	close(fd);
	return refused;
}

/* Names are looked up once and then kept in the file, where they are right for good: tomorrow the
 * program may have been rebuilt. Nothing may be added to a file that is still being written. */
static void find_names(struct study *self)
{
	struct symbolize_options how = {.progress = names_share_set, .progress_self = self};
	struct symbolize_summary found;
	struct err err = {0};

	if (!self->info.complete && study_is_being_written(self->path)) {
		note(self, "%s is still being written; continuing without function names",
		     self->path);
		return;
	}
	if (access(self->path, W_OK) != 0) {
		note(self,
		     "%s has no function names and cannot be written (%s); continuing without them",
		     self->path, strerror(errno));
		return;
	}
	note(self, "looking up function names and storing them in %s", self->path);
	phase_begin(self, PHASE_NAMES);
	if (symbols_resolve_trace(self->path, &how, &found, &err) < 0)
		note(self, "%s; continuing without function names", err.text);
	identify(self); /* the file was changed */
}

static int look(struct study *self, struct err *err)
{
	struct trace_reader *reader = trace_open(self->path, err);

	if (!reader)
		return err->code < 0 ? err->code : ERR_INPUT;
	self->info = *trace_info(reader);
	trace_close(reader);
	return 0;
}

int study_look(struct study *self, struct err *err)
{
	u64 image = self->how.image;

	if (look(self, err) < 0)
		return err->code;
	if (image != STUDY_LAST_IMAGE && image >= self->info.images)
		return err_set(err, ERR_USAGE, "%s has %llu image%s; there is no image %llu",
			       self->path, (unsigned long long)self->info.images,
			       self->info.images == 1 ? "" : "s", (unsigned long long)image);
	if (!self->how.find_names || self->info.has_symbols)
		return 0;
	find_names(self);
	return look(self, err);
}

static void fill(void *data, struct model *model)
{
	struct study *self = data;

	following_release(&self->following);
	following_begin(&self->following, model, self->forgets);
}

static struct model_options model_options(struct study *self)
{
	bool last = self->how.image == STUDY_LAST_IMAGE;

	return (struct model_options){.image = last ? TRACE_LAST_IMAGE : (int)self->how.image,
				      .no_index = self->how.index == INDEX_IGNORE,
				      .graphs = self->how.graphs,
				      .info = &self->info,
				      .made = &self->index,
				      .progress = share_set,
				      .progress_self = self,
				      .fill = self->how.follows ? fill : NULL,
				      .store = study_store,
				      .store_self = self};
}

int study_index(struct study *self, struct index_made *made, struct err *err)
{
	struct model_options how = model_options(self);

	return index_build(self->path, &how, made, err);
}

static void use_sums(struct study *self, const struct study_sums *sums)
{
	self->model = sums->model;
	self->behaviour = sums->behaviour;
	self->growth = sums->growth;
}

bool study_begin(struct study *self, struct loading *loading)
{
	struct study_sums sums;

	if (!loading_take(loading, &sums))
		return false;
	use_sums(self, &sums);
	return true;
}

int study_store_sums(struct study *self, struct err *err)
{
	const struct study_sums sums = {self->model, self->behaviour, self->growth};
	struct sums_out out = {0};
	int status = 0;

	if (study_sums_complete(&sums)) {
		study_sums_put(&sums, &out);
		status = trace_write_sums(self->path, &out, err);
		identify(self); /* the file was changed */
	}
	sums_out_release(&out);
	return status;
}

/* From the events, in the memory that what lives at once needs. What takes long is kept in the
 * file, where it is right for good. 1: there are none. */
static int add_up(struct study *self)
{
	struct model_options how = model_options(self);
	struct err ignored = {0};
	bool done;

	if (self->info.accesses)
		return 1;
	how.no_index = true;
	how.fill = fill;
	self->forgets = true;
	done = model_open(self->model, self->path, &how, &ignored) == 0 &&
	       !model_is_summary(self->model) &&
	       following_take(&self->following, &self->behaviour, &self->growth);
	self->forgets = false;
	following_release(&self->following);
	self->model->follower = NULL;
	if (done && self->info.complete && self->info.events >= INDEX_EVENTS &&
	    !self->info.damaged_blocks && access(self->path, W_OK) == 0 &&
	    !study_is_being_written(self->path))
		study_store_sums(self, &ignored);
	return !done;
}

/* The stored ones; or an index, in which chunks are; or what the events add up to. 1: chunks are to
 * be read. */
static int read_sums(struct study *self, struct err *err)
{
	struct model_options how = model_options(self);
	struct study_sums sums;
	int status = study_sums_take(&sums, self->path, how.image, &self->info, err);

	if (status == 0)
		use_sums(self, &sums);
	if (status <= 0)
		return status;
	self->model = model_new();
	if (!self->model)
		return err_memory(err);
	how.index_only = true;
	status = model_open(self->model, self->path, &how, err);
	if (status == 1)
		status = add_up(self);
	if (status) {
		model_free(self->model);
		self->model = NULL;
	}
	return status;
}

bool study_lacks_chunks(const struct study *self)
{
	return self->how.sums && self->model && load_relaxed(&self->model->wants_chunks);
}

static int read_model(struct study *self, struct err *err)
{
	struct model_options how = model_options(self);
	int status;

	how.write_index = self->how.index == INDEX_WRITE && self->info.events >= INDEX_EVENTS;
	/* the file is another one: the program began it and did not live to fill it */
	if (self->model && !self->info.images) {
		behaviour_table_release(&self->behaviour);
		growth_samples_free(self->growth);
		self->growth = NULL;
		model_free(self->model);
		self->model = NULL;
	}
	if (self->model)
		return model_load_type_names(self->model, self->path, err);
	phase_begin(self, PHASE_READING);
	if (self->how.sums && self->how.index != INDEX_IGNORE) {
		status = read_sums(self, err);
		if (status <= 0)
			return status;
	}
	self->model = model_new();
	if (!self->model)
		return err_memory(err);
	status = model_open(self->model, self->path, &how, err);
	if (status == 0 && model_is_summary(self->model))
		status =
			err_set(err, ERR_INPUT,
				"%s was recorded with --summary: it has sums and no single chunks, "
				"which this needs; record without --summary",
				self->path);
	if (status == 0 && self->following.model == self->model)
		following_take(&self->following, &self->behaviour, &self->growth);
	following_release(&self->following);
	self->model->follower = NULL;
	return status;
}

/* All places are found now, because later on nobody may change the model. */
static int place_contexts(struct study *self, struct err *err)
{
	int status = 0;

	for (u32 i = 1; i < self->model->contexts.nodes.count && status == 0; i++) {
		struct frame_id frame;

		if (self->model->contexts.nodes.data[i].told)
			status = model_place(self->model, i, &frame, err);
	}
	if (status == 0)
		self->found = calloc(self->model->contexts.frames.count + 1, sizeof *self->found);
	return status;
}

static int make_engine(struct study *self, struct err *err)
{
	struct query_trace trace = {.model = self->model,
				    .symbols = &self->symbols,
				    .image = self->model->image.number,
				    .name = self->path,
				    .guess = true,
				    .thresholds = THRESHOLDS_DEFAULT,
				    .pointers = study_pointers(self)};
	struct query_error error = {0};

	self->engine = query_engine_new(&trace, 1);
	if (!self->engine || !chunk_table_make_zones(&self->model->chunks))
		return err_memory(err);
	if (query_select(self->engine, "all", NULL, &self->all, &error) < 0)
		return err_set(err, error.code, "%s", error.message);
	return 0;
}

static int prepare(struct study *self, struct err *err)
{
	if (self->how.shared && place_contexts(self, err) < 0)
		return err->code;
	self->stacks = (struct stack_source){.model = self->model,
					     .path = self->path,
					     .symbols = &self->symbols,
					     .found = self->found,
					     .image = self->model->image.number};
	if (!self->how.no_fold &&
	    folds_find(&self->folds, &self->stacks, self->how.wrappers, err) < 0)
		return err->code;
	self->stacks.folds = &self->folds;
	self->stacks.growth = self->growth;
	if (self->behaviour.points) {
		behaviour_finish(&self->stacks, &self->behaviour);
		self->stacks.behaviour = &self->behaviour;
	}
	self->folded_stacks = self->stacks;
	self->folded_stacks.fold = true;
	if (!self->how.shared)
		return 0;
	if (make_engine(self, err) < 0)
		return err->code;
	study_stored_take(self);
	return 0;
}

static int read_file(struct study *self, struct err *err)
{
	int status = study_look(self, err);

	if (status == 0)
		status = read_model(self, err);
	if (status < 0)
		return status;
	phase_begin(self, PHASE_PREPARING);
	if (self->info.has_symbols)
		status = trace_read_symbols(self->path, &self->symbols, err);
	return status < 0 ? status : prepare(self, err);
}

int study_load(struct study *self, struct err *err)
{
	return loaded(self, read_file(self, err), err);
}

int study_take(struct study *self, struct model *model, const struct symbol_table *symbols,
	       struct err *err)
{
	self->model = model;
	if (symbols) /* borrowed: without storage it is not freed here */
		self->symbols =
			(struct symbol_table){.entries = symbols->entries, .count = symbols->count};
	return loaded(self, prepare(self, err), err);
}

int study_narrow(struct study *self, const struct selection *chosen, struct err *err)
{
	struct narrow_query query = {.words = chosen->words};
	struct model *part = model_narrow(self->model, &query, err);

	if (!part)
		return err->code;
	self->whole = self->model;
	self->model = part;
	self->stacks.behaviour = self->folded_stacks.behaviour = NULL;
	self->stacks.growth = self->folded_stacks.growth = NULL;
	behaviour_table_release(&self->behaviour);
	self->stacks.model = self->folded_stacks.model = part;
	/* calls of routines belong to no chunk: stacks tell who calls whom */
	self->info.routines = 0;
	return 0;
}

/* ---- the file once more ---- */

u32 study_image(const struct study *self)
{
	if (self->how.image != STUDY_LAST_IMAGE)
		return (u32)self->how.image;
	return self->info.images ? (u32)self->info.images - 1 : 0;
}

struct graphs_source study_pointers(const struct study *self)
{
	return (struct graphs_source){self->whole ? NULL : self->path, (int)study_image(self),
				      &self->info};
}

int study_stream(const struct study *self, const struct stream_sink *sink, struct err *err)
{
	struct trace_read_options how = {.image = (int)study_image(self)};
	struct trace_reader *reader = trace_open(self->path, err);
	int status;

	if (!reader)
		return err->code;
	status = trace_info(reader)->images ? trace_read(reader, &how, sink, err) : 0;
	trace_close(reader);
	return status;
}
