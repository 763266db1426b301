/* SPDX-License-Identifier: MIT
 * heapwise report: what a program did with its heap, first in numbers, then by allocation point.
 * Host. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/marks.h"
#include "analysis/points.h"
#include "analysis/summary.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/traces.h"
#include "symbols/resolve.h"

enum { DEPTH_TEXT = 8 };
#define NOT_GIVEN UINT64_MAX

struct report_args {
	const char *by;
	const char *format;
	u64 top, image, depth, slack;
	bool symbols;
};

static const struct report_args defaults = {.top = 5,
					    .image = NOT_GIVEN,
					    .depth = NOT_GIVEN,
					    .symbols = true};

static const struct option_spec options[] = {
	OPTION(struct report_args, by, 'b', "by", OPTION_CHOICE, "bytes|peak|kept|temporary|count",
	       "show only the points that lead by this measure"),
	OPTION(struct report_args, top, 'n', "top", OPTION_NUMBER, "N",
	       "show the first N points of each list (5; 0 = all)"),
	OPTION(struct report_args, depth, 'd', "depth", OPTION_NUMBER, "N",
	       "show N frames of each stack (text: 8, json and csv: all; 0 = all)"),
	OPTION(struct report_args, image, 0, "image", OPTION_NUMBER, "N",
	       "report the program's image N, counted from 0; each exec begins one (the last)"),
	OPTION(struct report_args, slack, 0, "temporary-slack", OPTION_NUMBER, "N",
	       "a chunk is temporary if its thread made at most N other allocations while it lived "
	       "(0)"),
	OPTION(struct report_args, symbols, 0, "no-symbols", OPTION_CLEAR, NULL,
	       "do not look for function names that the trace does not have"),
	OPTION(struct report_args, format, 'f', "format", OPTION_CHOICE, FORMAT_CHOICES,
	       "how to print the report (text)"),
	OPTION_END};

/* What one report needs while it is made. */
struct report {
	const struct command *command;
	const struct report_args *args;
	const char *path;
	enum format format;
	struct model *model;
	struct trace_info info;
	struct symbol_table symbols;
};

/* True if some process has the file open for writing, as a run in progress does: what we would
 * append now would end up in the midst of its blocks. The kernel grants a read lease only if
 * there is none. */
static bool is_being_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
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
static void ensure_symbols(struct report *self)
{
	struct symbolize_options how = {0};
	struct symbolize_summary found;
	struct err err = {0};

	if (!self->info.complete && is_being_written(self->path)) {
		fprintf(stderr,
			"heapwise report: %s is still being written: going on without function "
			"names\n",
			self->path);
		return;
	}
	if (access(self->path, W_OK) != 0) {
		fprintf(stderr,
			"heapwise report: %s has no function names and cannot be written (%s): "
			"going on without them\n",
			self->path, strerror(errno));
		return;
	}
	fprintf(stderr, "heapwise report: looking up function names, to be kept in %s\n",
		self->path);
	if (symbols_resolve_trace(self->path, &how, &found, &err) < 0)
		fprintf(stderr, "heapwise report: %s: going on without function names\n", err.text);
}

/* Opens the trace for what its header and index tell. */
static int look(struct report *self, struct err *err)
{
	struct trace_reader *reader = trace_open(self->path, err);

	if (!reader)
		return err->code < 0 ? err->code : ERR_INPUT;
	self->info = *trace_info(reader);
	trace_close(reader);
	if (self->args->image != NOT_GIVEN && self->args->image >= self->info.images)
		return err_set(err, ERR_USAGE, "%s has %llu image%s: --image %llu is not there",
			       self->path, (unsigned long long)self->info.images,
			       self->info.images == 1 ? "" : "s",
			       (unsigned long long)self->args->image);
	return 0;
}

static int load(struct report *self, struct err *err)
{
	struct trace_read_options how = {.image = self->args->image == NOT_GIVEN
							  ? TRACE_LAST_IMAGE
							  : (int)self->args->image};
	int status = look(self, err);

	if (status < 0)
		return status;
	if (self->args->symbols && !self->info.has_symbols)
		ensure_symbols(self);
	self->model = model_new();
	if (!self->model)
		return err_set(err, ERR_MEMORY, "out of memory");
	status = model_load(self->model, self->path, &how, &self->info, err);
	if (status < 0)
		return status;
	return self->info.has_symbols ? trace_read_symbols(self->path, &self->symbols, err) : 0;
}

static u32 image_number(const struct report *self)
{
	if (self->args->image != NOT_GIVEN)
		return (u32)self->args->image;
	return self->info.images ? (u32)self->info.images - 1 : 0;
}

static u32 depth_shown(const struct report *self)
{
	if (self->args->depth != NOT_GIVEN)
		return self->args->depth > UINT32_MAX ? 0 : (u32)self->args->depth;
	return self->format == FORMAT_TEXT ? DEPTH_TEXT : 0;
}

static struct result *points(const struct report *self, enum points_by by, struct err *err)
{
	struct stack_source source = {.model = self->model,
				      .symbols = &self->symbols,
				      .image = self->model->image.number,
				      .depth = depth_shown(self),
				      .fold = self->format == FORMAT_TEXT &&
					      self->args->depth != 0};
	struct points_query query = {.by = by,
				     .top = self->args->top,
				     .temporary_slack = self->args->slack};

	return analyse_points(&source, &query, err);
}

static struct result *snapshots(const struct report *self, struct err *err)
{
	struct stack_source source = {.model = self->model,
				      .symbols = &self->symbols,
				      .image = self->model->image.number,
				      .depth = depth_shown(self)};

	return analyse_snapshots(&source, self->args->top, err);
}

/* The whole report as one result; NULL and err on failure. */
static struct result *build(const struct report *self, struct err *err)
{
	struct summary_query query = {.info = &self->info,
				      .image = image_number(self),
				      .temporary_slack = self->args->slack};
	struct result *report = analyse_summary(self->model, &query, err);
	enum points_by by = POINTS_BY_BYTES;
	u32 first = 0, end = POINTS_MEASURES;

	if (!report)
		return NULL;
	if (self->args->by && points_by_parse(self->args->by, &by)) {
		first = by;
		end = first + 1;
	}
	for (u32 i = first; i < end; i++)
		result_add_part(report, points(self, (enum points_by)i, err));
	result_add_part(report, analyse_sizes(self->model, err));
	result_add_part(report, analyse_marks(self->model, err));
	result_add_part(report, snapshots(self, err));
	if (!result_failed(report))
		return report;
	if (!err->code)
		err_set(err, ERR_MEMORY, "out of memory");
	result_free(report);
	return NULL;
}

/* One list alone is one clean CSV table; otherwise parts follow each other. */
static void print(const struct report *self, const struct result *report)
{
	if (self->format == FORMAT_CSV && self->args->by)
		render_csv(report->parts.data[0], stdout);
	else
		print_result(report, self->format);
}

static int report_one(const struct command *command, const struct report_args *args,
		      const char *path)
{
	struct report self = {.command = command,
			      .args = args,
			      .path = path,
			      .format = format_parse(args->format)};
	struct result *report = NULL;
	struct err err = {0};
	int status = EXIT_DONE;

	if (load(&self, &err) == 0)
		report = build(&self, &err);
	if (report)
		print(&self, report);
	else
		status = command_fail(command, &err);
	result_free(report);
	symbol_table_release(&self.symbols);
	model_free(self.model);
	return status;
}

static int run(const struct command *self, void *fields, int argc, char **argv)
{
	const struct report_args *args = fields;
	struct trace_list traces = {0};
	struct err err = {0};
	int worst = EXIT_DONE;
	bool json_list;

	if (argc != 1)
		return command_usage(self, argc ? "one FILE at a time" : "which FILE?");
	if (trace_list_find(&traces, argv[0], &err) < 0) {
		trace_list_release(&traces);
		return command_fail(self, &err);
	}
	json_list = traces.is_folder && format_parse(args->format) == FORMAT_JSON;
	fputs(json_list ? "[\n" : "", stdout);
	for (u64 i = 0; i < traces.paths.count; i++) {
		int status;

		if (i > 0)
			fputs(json_list ? ",\n" : "\n", stdout);
		if (traces.is_folder && format_parse(args->format) == FORMAT_TEXT)
			printf("%s\n\n", traces.paths.data[i]);
		status = report_one(self, args, traces.paths.data[i]);
		if (status > worst)
			worst = status;
		if (json_list && status != EXIT_DONE)
			fputs("null\n", stdout);
	}
	fputs(json_list ? "]\n" : "", stdout);
	trace_list_release(&traces);
	return worst;
}

const struct command cmd_report = {
	.name = "report",
	.operands = "FILE",
	.summary = "tell what a recorded program did with its heap",
	.details = "FILE is a trace that 'heapwise run' wrote, or the folder of a session with "
		   "--children,\n"
		   "whose traces are reported one after the other. Measures of --by: bytes "
		   "requested in all;\n"
		   "peak, live bytes at the moment of the program's peak; kept, bytes never freed; "
		   "temporary,\n"
		   "chunks freed before the next allocation of their thread; count, number of "
		   "allocations.",
	.options = options,
	.fields_size = sizeof(struct report_args),
	.fields_default = &defaults,
	.run = run,
};
