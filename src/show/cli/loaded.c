/* SPDX-License-Identifier: MIT
 * Reads traces for the commands that analyse them.
 * Host. */
#include "show/cli/loaded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "show/cli/progress.h"
#include "show/cli/traces.h"
#include "show/cli/where.h"
#include "study/model/index.h"
#include "host/symbols/resolve/resolve.h"

enum { DEPTH_TEXT = 8 };

/* The kernel grants a read lease only if nobody writes. */
bool loaded_is_being_written(const char *path)
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
 * program may have been rebuilt. */
static void ensure_symbols(struct loaded *self)
{
	struct symbolize_options how = {.progress = progress_share};
	struct symbolize_summary found;
	struct err err = {0};

	if (!self->info.complete && loaded_is_being_written(self->path)) {
		fprintf(stderr,
			"heapwise %s: %s is still being written; continuing without function names\n",
			self->command->name, self->path);
		return;
	}
	if (access(self->path, W_OK) != 0) {
		fprintf(stderr,
			"heapwise %s: %s has no function names and cannot be written (%s); continuing without them\n",
			self->command->name, self->path, strerror(errno));
		return;
	}
	fprintf(stderr, "heapwise %s: looking up function names and storing them in %s\n",
		self->command->name, self->path);
	progress_phase("looking up names of", self->path);
	if (symbols_resolve_trace(self->path, &how, &found, &err) < 0)
		fprintf(stderr, "heapwise %s: %s; continuing without function names\n",
			self->command->name, err.text);
}

/* Opens the trace for what its header and index tell. */
static int look(struct loaded *self, struct err *err)
{
	struct trace_reader *reader = trace_open(self->path, err);

	if (!reader)
		return err->code < 0 ? err->code : ERR_INPUT;
	self->info = *trace_info(reader);
	trace_close(reader);
	if (self->wanted_image != NOT_GIVEN && self->wanted_image >= self->info.images)
		return err_set(err, ERR_USAGE, "%s has %llu image%s; there is no image %llu",
			       self->path, (unsigned long long)self->info.images,
			       self->info.images == 1 ? "" : "s",
			       (unsigned long long)self->wanted_image);
	return 0;
}

int loaded_look(struct loaded *self, struct err *err)
{
	int status = look(self, err);

	if (status == 0 && self->find_symbols && !self->info.has_symbols)
		ensure_symbols(self);
	return status;
}

/* The model that grew with the trace. */
static int take_begun(struct loaded *self, struct err *err)
{
	self->model = loading_take(self->loading, &self->behaviour);
	if (self->model && !self->info.images) { /* the file is another one: the program began it and did not live to fill it */
		behaviour_table_release(&self->behaviour);
		model_free(self->model);
		self->model = NULL;
	}
	return self->model ? model_load_type_names(self->model, self->path, err) : 0;
}

static int open_model(struct loaded *self, struct err *err)
{
	struct model_options how = {.image = self->wanted_image == NOT_GIVEN
						     ? TRACE_LAST_IMAGE
						     : (int)self->wanted_image,
				    .no_index = self->no_index,
				    .info = &self->info,
				    .progress = progress_share};

	progress_phase("reading", self->path);
	self->model = model_new();
	if (!self->model)
		return err_memory(err);
	return model_open(self->model, self->path, &how, err);
}

int loaded_read(struct loaded *self, struct err *err)
{
	int status = self->where ? where_check(self->where, err) : 0;

	if (status == 0)
		status = loaded_look(self, err);
	if (status == 0)
		status = take_begun(self, err);
	if (status == 0 && !self->model)
		status = open_model(self, err);
	if (status < 0)
		return status;
	progress_phase("analysing", self->path);
	if (self->info.has_symbols)
		status = trace_read_symbols(self->path, &self->symbols, err);
	if (status == 0 && !self->no_fold) {
		struct stack_source stacks = loaded_stacks(self, FORMAT_TEXT, NOT_GIVEN);

		status = folds_find(&self->folds, &stacks, self->wrappers, err);
	}
	if (status == 0 && self->behaviour.points) {
		struct stack_source stacks = loaded_stacks(self, FORMAT_TEXT, NOT_GIVEN);

		behaviour_finish(&stacks, &self->behaviour);
	}
	return status == 0 && self->where ? where_apply(self, err) : status;
}

void loaded_release(struct loaded *self)
{
	progress_end();
	type_cascade_release(&self->types);
	free(self->point_types);
	self->point_types = NULL;
	behaviour_table_release(&self->behaviour);
	folds_release(&self->folds);
	symbol_table_release(&self->symbols);
	model_free(self->model);
	model_free(self->whole);
	self->model = self->whole = NULL;
}

u32 loaded_image(const struct loaded *self)
{
	if (self->wanted_image != NOT_GIVEN)
		return (u32)self->wanted_image;
	return self->info.images ? (u32)self->info.images - 1 : 0;
}

int loaded_stream(const struct loaded *self, const struct stream_sink *sink, struct err *err)
{
	struct trace_read_options how = {.image = (int)loaded_image(self)};
	struct trace_reader *reader = trace_open(self->path, err);
	int status;

	if (!reader)
		return err->code;
	status = trace_info(reader)->images ? trace_read(reader, &how, sink, err) : 0;
	trace_close(reader);
	return status;
}

int loaded_routines(const struct loaded *self, struct routine_graph *graph, struct err *err)
{
	struct stream_sink sink = routine_graph_sink(graph);
	int status = loaded_stream(self, &sink, err);

	return status < 0 ? status : routine_graph_finish(graph, err);
}

static u32 depth_shown(enum format format, u64 depth)
{
	if (depth != NOT_GIVEN)
		return depth > UINT32_MAX ? 0 : (u32)depth;
	return format == FORMAT_TEXT ? DEPTH_TEXT : 0;
}

struct stack_source loaded_stacks(const struct loaded *self, enum format format, u64 depth)
{
	return (struct stack_source){.model = self->model,
				     .path = self->path,
				     .symbols = &self->symbols,
				     .image = self->model->image.number,
				     .types = self->point_types,
				     .behaviour = self->behaviour.points ? &self->behaviour : NULL,
				     .folds = &self->folds,
				     .depth = depth_shown(format, depth),
				     .fold = format == FORMAT_TEXT && depth != 0};
}

void loaded_add_types(struct loaded *self)
{
	struct stack_source stacks = loaded_stacks(self, FORMAT_TEXT, NOT_GIVEN);
	struct type_query query = {.source = &stacks};
	struct err err = {0};

	if (self->point_types || type_cascade_init(&self->types, &query, &err) < 0)
		return;
	self->point_types = calloc(self->model->points.count + 1, sizeof *self->point_types);
	if (self->point_types)
		type_of_points(&self->types, self->point_types);
	self->types.query.source = NULL;
}

static int print_plain(struct view *self, struct result *result)
{
	print_result(result, self->format);
	return EXIT_DONE;
}

static int view_one(void *data, const char *path)
{
	struct view *self = data;
	struct result *result = NULL;
	struct err err = {0};
	int status;

	self->trace = (struct loaded){.command = self->command,
				      .path = path,
				      .wanted_image = self->image,
				      .find_symbols = self->find_symbols,
				      .no_index = self->no_index,
				      .where = self->where,
				      .no_fold = self->no_fold,
				      .wrappers = self->wrappers};
	if (loaded_read(&self->trace, &err) == 0)
		result = self->build(self, &err);
	if (result)
		status = (self->print ? self->print : print_plain)(self, result);
	else
		status = command_fail(self->command, &err);
	result_free(result);
	if (self->release)
		self->release(self);
	loaded_release(&self->trace);
	return status;
}

int view_run(struct view *self, int argc, char **argv)
{
	if (argc != 1)
		return command_usage(self->command, argc ? "expected one FILE" : "no FILE given");
	return loaded_each(self->command, argv[0], self->format, view_one, self);
}

int loaded_each(const struct command *command, const char *operand, enum format format,
		int (*one)(void *self, const char *path), void *self)
{
	struct trace_list traces = {0};
	struct err err = {0};
	int worst = EXIT_DONE;
	bool json_list;

	if (trace_list_find(&traces, operand, &err) < 0) {
		trace_list_release(&traces);
		return command_fail(command, &err);
	}
	json_list = traces.is_folder && format == FORMAT_JSON;
	if (traces.is_folder)
		print_begin();
	fputs(json_list ? "[\n" : "", stdout);
	for (u64 i = 0; i < traces.paths.count; i++) {
		int status;

		if (i > 0)
			fputs(json_list ? ",\n" : "\n", stdout);
		if (traces.is_folder && format == FORMAT_TEXT)
			printf("%s\n\n", traces.paths.data[i]);
		status = one(self, traces.paths.data[i]);
		if (status > worst)
			worst = status;
		/* A finding is a result; only without any is there nothing to show. */
		if (json_list && status > EXIT_FINDING)
			fputs("null\n", stdout);
	}
	fputs(json_list ? "]\n" : "", stdout);
	trace_list_release(&traces);
	return worst;
}
