/* SPDX-License-Identifier: MIT
 * heapwise serve: traces over HTTP, for browsers and programs of this machine.
 * Host. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "show/cli/traces.h"
#include "show/cli/web.h"
#include "show/serve/api.h"
#include "host/trace/reader.h"

struct serve_args {
	const char *address, *socket, *folder;
	u64 port, timeout;
	const char *editor;
	struct option_strings sources;
	bool print_url, open, warm;
};

static const struct serve_args defaults = {.address = "127.0.0.1", .warm = true};

#define ARGS struct serve_args

static const struct option_spec options[] = {
	OPT(port, 'p', "port", NUMBER, "N", "listen on port N (default: any free port)"),
	OPT(address, 0, "address", STRING, "ADDRESS", "listen on this address (default 127.0.0.1)"),
	OPT(socket, 0, "socket", STRING, "PATH",
	    "listen on a Unix socket instead, for programs of this user"),
	OPT(folder, 0, "folder", STRING, "DIR",
	    "let clients open more traces from this folder and its subfolders (default none)"),
	OPT(open, 0, "open", SET, NULL, "open the start page in $BROWSER or the desktop's browser"),
	OPT(editor, 0, "editor", STRING, "NAME|COMMAND",
	    "let the page open source lines in vim, emacs, code, clion, kate, or a command with %f "
	    "and %l (default: no editor)"),
	OPT(sources, 0, "source-folder", STRINGS, "DIR",
	    "show source files in this folder without asking (default: the page asks once per "
	    "folder). Repeatable"),
	OPT(print_url, 0, "print-url", SET, NULL,
	    "print only the address on standard output, for scripts"),
	OPT(timeout, 0, "timeout", NUMBER, "SECONDS",
	    "end after this time (default: run until interrupted)"),
	OPT(warm, 0, "no-warm-up", CLEAR, NULL, "do not compute common answers in advance"),
	OPTION_END};

struct serve {
	const struct command *command;
	const struct serve_args *args;
	struct trace_list lists[API_TRACES_MAX];
	u32 list_count;
	u32 given; /* traces of the command line; others are loaded by whoever opens them */
	struct api api;
	struct renewal renewals[API_TRACES_MAX]; /* of traces that are still being written */
	struct server server;
};

/* ---- traces ---- */

/* A run in progress: what it has written so far is shown, and what it writes from then on. */
static void follow_trace(struct serve *self, u32 slot)
{
	const struct study *face = self->api.traces[slot];
	struct renewal *renewal = &self->renewals[slot];

	renewal->path = face->path;
	renewal->name = face->name;
	memcpy(renewal->id, face->id, sizeof(renewal->id));
	renewal->parts = &self->api.parts;
	renewal_init(renewal);
	self->api.renewals[slot] = renewal;
	fprintf(stderr,
		"heapwise: %s is still being written; showing what is there so far, "
		"refreshed as it grows\n",
		face->path);
}

/* One that is being written may have nothing to read yet. */
static int check_trace(const char *path, struct err *err)
{
	struct trace_reader *reader = study_is_being_written(path) ? NULL : trace_open(path, err);

	if (reader)
		trace_close(reader);
	return err->code;
}

/* A page of what is no trace would have nothing to show; of a folder one trace is enough, the page
 * says what is wrong with the others. */
static int check_traces(const struct trace_list *list, struct err *err)
{
	int status = 0;

	for (u64 i = 0; i < list->paths.count; i++) {
		struct err found = {0};

		status = check_trace(list->paths.data[i], &found);
		if (status == 0)
			return 0;
		*err = found;
	}
	return status;
}

static int add_trace(struct serve *self, const char *path, struct err *err)
{
	if (self->api.count == API_TRACES_MAX)
		return err_set(err, ERR_USAGE, "more than %d traces", API_TRACES_MAX);
	if (access(path, R_OK) != 0)
		return err_set(err, ERR_INPUT, "cannot open %s: %s", path, strerror(errno));
	self->api.traces[self->api.count] = study_new(path, &view_options);
	if (!self->api.traces[self->api.count])
		return err_memory(err);
	if (study_is_being_written(path))
		follow_trace(self, self->api.count);
	self->api.count++;
	return 0;
}

static int add_operand(struct serve *self, const char *operand, struct err *err)
{
	struct trace_list *list = &self->lists[self->list_count];
	int status;

	if (self->list_count == API_TRACES_MAX)
		return err_set(err, ERR_USAGE, "more than %d traces", API_TRACES_MAX);
	self->list_count++;
	status = trace_list_find(list, operand, err);
	if (status == 0)
		status = check_traces(list, err);
	for (u64 i = 0; i < list->paths.count && status == 0; i++)
		status = add_trace(self, list->paths.data[i], err);
	return status;
}

enum { IN_ADVANCE_NICE = 4 };

static void *load_all(void *data)
{
	struct serve *self = data;

	for (u32 i = 0; i < self->given; i++) {
		struct err err = {0};

		if (self->api.renewals[i])
			continue; /* is read when it is asked for */
		if (api_load(&self->api, self->api.traces[i], &err) < 0)
			fprintf(stderr, "heapwise serve: %s\n", err.text);
	}
	/*
	 * What nobody has asked for yet waits for whoever draws what was: the browser shares the
	 * processors. Not far behind, because who asks for what is being made waits for it, and
	 * nobody may be let forward again.
	 */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), IN_ADVANCE_NICE);
	for (u32 i = 0; i < self->given && self->args->warm; i++)
		if (study_progress(self->api.traces[i]).state == STUDY_READY)
			api_warm(&self->api, i);
	return NULL;
}

/* ---- serving ---- */

static int announce(const struct serve *self, struct err *err)
{
	char *url = server_url(&self->server);

	if (!url)
		return err_memory(err);
	web_warn(&self->server);
	if (self->args->print_url) {
		printf("%s\n", url);
		fflush(stdout);
	} else {
		fprintf(stderr,
			"heapwise: serving %u trace%s on %s%s%s\n"
			"heapwise: end with Ctrl-C\n",
			self->given, self->given == 1 ? "" : "s", url,
			self->args->socket ? " at " : "",
			self->args->socket ? self->args->socket : "");
	}
	if (self->args->open)
		web_browser_open(self->command, url);
	free(url);
	return 0;
}

static int serve_start(struct serve *self, struct err *err)
{
	struct site site = api_site(&self->api);
	pthread_t loader;
	int failure;

	api_init(&self->api);
	self->given = self->api.count;
	if (server_start(&self->server, &site, err) < 0)
		return err->code;
	failure = pthread_create(&loader, NULL, load_all, self);
	if (failure)
		return err_set(err, ERR_SYSTEM, "cannot start a thread: %s", strerror(failure));
	pthread_detach(loader); /* nobody waits for it; see run */
	return announce(self, err);
}

static int serve(struct serve *self, struct err *err)
{
	sigset_t signals, before;
	int status;

	if ((self->args->socket
		     ? web_open_socket(&self->server, self->args->socket, err)
		     : web_open(&self->server, self->args->address, self->args->port, err)) < 0)
		return err->code;
	web_signals_block(&signals, &before);
	status = serve_start(self, err);
	if (status == 0)
		web_signals_wait(&signals, self->args->timeout);
	server_close(&self->server);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

static int run(const struct command *command, void *fields, int argc, char **argv)
{
	const struct serve_args *args = fields;
	struct serve *self;
	struct err err = {0};
	int status = 0;

	if (argc < 1)
		return command_usage(command, "no FILE given");
	if (args->port > 65535)
		return command_usage(command, "--port must be at most 65535");
	if (args->socket && (args->port || args->open || args->address != defaults.address))
		return command_usage(command,
				     "--socket cannot be combined with --port, --address or "
				     "--open");
	self = calloc(1, sizeof *self);
	if (!self)
		return command_fail(command, &(struct err){ERR_MEMORY, "out of memory"});
	self->command = command;
	self->args = args;
	self->api.version = HEAPWISE_VERSION;
	self->api.graphs_folder = web_graphs_folder();
	self->api.on_index = web_say_index;
	self->server.listen.socket = -1;
	if (args->folder) {
		self->api.folder = realpath(args->folder, NULL);
		if (!self->api.folder)
			status = err_set(&err, ERR_INPUT, "cannot open %s: %s", args->folder,
					 strerror(errno));
	}
	if (args->editor && status == 0)
		status = editor_parse(&self->api.editor, args->editor, &err);
	for (u32 i = 0; i < args->sources.count && status == 0; i++)
		status = folders_add(&self->api.sources, args->sources.items[i], &err);
	for (int i = 0; i < argc && status == 0; i++)
		status = add_operand(self, argv[i], &err);
	if (status == 0)
		status = serve(self, &err);
	uploads_release(&self->api.uploads);
	/* A load may take long and has nothing to save: the process ends without waiting for it. */
	status = status < 0 ? command_fail(command, &err) : EXIT_DONE;
	fflush(NULL);
	_exit(status);
}

const struct command cmd_serve = {
	.name = "serve",
	.operands = "FILE...",
	.summary = "show traces in a browser, and serve them over HTTP",
	.details =
		"FILE is a trace written by 'heapwise run', or a folder written with --children.\n"
		"The printed address contains a token, which every client needs. Ctrl-C ends the "
		"server.",
	.options = options,
	.fields_size = sizeof(struct serve_args),
	.fields_default = &defaults,
	.run = run,
};
