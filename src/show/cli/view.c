/* SPDX-License-Identifier: MIT
 * Shows one result of each trace.
 * Host. */
#include "show/cli/view.h"

#include <stdio.h>

#include "show/cli/traces.h"

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

	self->study = open_trace(self->command, self->args, &self->wrappers, path, &err);
	if (self->study)
		result = self->build(self, &err);
	if (self->study && study_lacks_chunks(self->study)) {
		result_free(result);
		if (self->release)
			self->release(self);
		err = (struct err){0};
		trace_reopen(&self->study, &err);
		result = self->study ? self->build(self, &err) : NULL;
	}
	if (result)
		status = (self->print ? self->print : print_plain)(self, result);
	else
		status = command_fail(self->command, &err);
	result_free(result);
	if (self->release)
		self->release(self);
	close_trace(self->study);
	return status;
}

static int read_folding(struct view *self, struct err *err)
{
	const struct folding *folding = &self->args->folding;
	int status = 0;

	if (folding->none && folding->names.count)
		return err_set(err, ERR_USAGE, "--wrapper cannot be combined with --no-fold");
	for (u32 i = 0; i < folding->names.count && status == 0; i++)
		status = wrappers_add(&self->wrappers, folding->names.items[i], err);
	return status;
}

int view_begin(struct view *self)
{
	struct err err = {0};

	self->format = format_parse(self->args->format);
	if (read_folding(self, &err) == 0)
		return EXIT_DONE;
	view_end(self);
	return command_usage(self->command, "%s", err.text);
}

void view_end(struct view *self) { wrappers_release(&self->wrappers); }

int view_show(struct view *self, int argc, char **argv)
{
	if (argc != 1)
		return command_usage(self->command, argc ? "expected one FILE" : "no FILE given");
	return each_trace(self->command, argv[0], self->format, view_one, self);
}

int view_run(struct view *self, int argc, char **argv)
{
	int status = view_begin(self);

	if (status != EXIT_DONE)
		return status;
	status = view_show(self, argc, argv);
	view_end(self);
	return status;
}

int each_trace(const struct command *command, const char *operand, enum format format,
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
