/* SPDX-License-Identifier: MIT
 * heapwise serve: traces over HTTP, for browsers and programs of this machine.
 * Host. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/traces.h"
#include "serve/api.h"
#include "serve/server.h"

extern char **environ;

struct serve_args {
	const char *address;
	u64 port, timeout;
	const char *editor;
	bool print_url, open, warm;
};

static const struct serve_args defaults = {.address = "127.0.0.1", .warm = true};

static const struct option_spec options[] = {
	OPTION(struct serve_args, port, 'p', "port", OPTION_NUMBER, "N",
	       "listen on port N (any free one)"),
	OPTION(struct serve_args, address, 0, "address", OPTION_STRING, "ADDRESS",
	       "listen on this address of the machine (127.0.0.1)"),
	OPTION(struct serve_args, open, 'o', "open", OPTION_SET, NULL,
	       "show the start page in the browser of $BROWSER, or else of the desktop"),
	OPTION(struct serve_args, editor, 0, "editor", OPTION_STRING, "NAME|COMMAND",
	       "let the page open source lines: vim, emacs, code, clion, kate, or a command with "
	       "%f "
	       "and %l (none)"),
	OPTION(struct serve_args, print_url, 0, "print-url", OPTION_SET, NULL,
	       "print the address alone on standard output, for programs"),
	OPTION(struct serve_args, timeout, 0, "timeout", OPTION_NUMBER, "SECONDS",
	       "end after this time (when it is interrupted)"),
	OPTION(struct serve_args, warm, 0, "no-warm-up", OPTION_CLEAR, NULL,
	       "do not prepare answers before they are asked for"),
	OPTION_END};

struct serve {
	const struct command *command;
	const struct serve_args *args;
	struct trace_list lists[API_TRACES_MAX];
	u32 list_count;
	struct api api;
	struct server server;
	pthread_t loader;
	bool loads;
};

/* ---- traces ---- */

static int add_trace(struct serve *self, const char *path, struct err *err)
{
	if (self->api.count == API_TRACES_MAX)
		return err_set(err, ERR_USAGE, "more than %d traces", API_TRACES_MAX);
	if (access(path, R_OK) != 0)
		return err_set(err, ERR_INPUT, "cannot open %s: %s", path, strerror(errno));
	self->api.traces[self->api.count] = view_trace_new(path);
	if (!self->api.traces[self->api.count])
		return err_set(err, ERR_MEMORY, "out of memory");
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
	for (u64 i = 0; i < list->paths.count && status == 0; i++)
		status = add_trace(self, list->paths.data[i], err);
	return status;
}

static void *load_all(void *data)
{
	struct serve *self = data;

	for (u32 i = 0; i < self->api.count; i++) {
		struct err err = {0};

		if (view_trace_load(self->api.traces[i], &err) < 0)
			fprintf(stderr, "heapwise serve: %s\n", err.text);
	}
	for (u32 i = 0; i < self->api.count && self->args->warm; i++)
		if (view_trace_progress(self->api.traces[i]).state == VIEW_READY)
			api_warm(&self->api, i);
	return NULL;
}

/* Where queries of the user's own are kept. */
static char *graphs_folder(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *folder = NULL;
	int length = -1;

	if (config && *config == '/')
		length = asprintf(&folder, "%s/heapwise/graphs", config);
	else if (home && *home == '/')
		length = asprintf(&folder, "%s/.config/heapwise/graphs", home);
	return length < 0 ? NULL : folder;
}

/* ---- browser ---- */

static void browser_open(const struct serve *self, const char *url)
{
	const char *browser = getenv("BROWSER");
	const char *program = browser && *browser ? browser : "xdg-open";
	char *arguments[] = {(char *)program, (char *)url, NULL};
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	int failure;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	failure = posix_spawnp(&pid, program, NULL, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	if (failure)
		fprintf(stderr, "heapwise %s: cannot start the browser %s: %s\n",
			self->command->name, program, strerror(failure));
}

/* ---- serving ---- */

static int announce(const struct serve *self, struct err *err)
{
	char *url = server_url(&self->server);

	if (!url)
		return err_set(err, ERR_MEMORY, "out of memory");
	if (!address_is_loopback(&self->server.listen.address))
		fprintf(stderr, "heapwise: WARNING: other machines can reach this server, and what "
				"they send and get, the token included, is not encrypted\n");
	if (self->args->print_url) {
		printf("%s\n", url);
		fflush(stdout);
	} else {
		fprintf(stderr, "heapwise: serving %u trace%s on %s\nheapwise: end with Ctrl-C\n",
			self->api.count, self->api.count == 1 ? "" : "s", url);
	}
	if (self->args->open)
		browser_open(self, url);
	free(url);
	return 0;
}

static void wait_for_end(const struct serve *self, const sigset_t *signals)
{
	struct timespec time = {.tv_sec = (time_t)self->args->timeout};

	if (self->args->timeout)
		while (sigtimedwait(signals, NULL, &time) < 0 && errno == EINTR)
			;
	else
		while (sigwaitinfo(signals, NULL) < 0 && errno == EINTR)
			;
}

static int serve_start(struct serve *self, struct err *err)
{
	struct site site = api_site(&self->api);
	int failure;

	api_init(&self->api);
	if (server_start(&self->server, &site, err) < 0)
		return err->code;
	failure = pthread_create(&self->loader, NULL, load_all, self);
	if (failure)
		return err_set(err, ERR_SYSTEM, "cannot start a thread: %s", strerror(failure));
	self->loads = true;
	return announce(self, err);
}

static int serve(struct serve *self, struct err *err)
{
	char address[LISTEN_NAME_BYTES + 8];
	sigset_t signals, before;
	int status;

	snprintf(address, sizeof address, strchr(self->args->address, ':') ? "[%s]:%u" : "%s:%u",
		 self->args->address, (u32)self->args->port);
	if (server_open(&self->server, address, err) < 0)
		return err->code;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	signal(SIGPIPE, SIG_IGN);
	status = serve_start(self, err);
	if (status == 0)
		wait_for_end(self, &signals);
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
		return command_usage(command, "which FILE?");
	if (args->port > 65535)
		return command_usage(command, "--port is at most 65535");
	self = calloc(1, sizeof *self);
	if (!self)
		return command_fail(command, &(struct err){ERR_MEMORY, "out of memory"});
	self->command = command;
	self->args = args;
	self->api.version = HEAPWISE_VERSION;
	self->api.graphs_folder = graphs_folder();
	self->server.listen.socket = -1;
	if (args->editor)
		status = editor_parse(&self->api.editor, args->editor, &err);
	for (int i = 0; i < argc && status == 0; i++)
		status = add_operand(self, argv[i], &err);
	if (status == 0)
		status = serve(self, &err);
	if (status < 0)
		return command_fail(command, &err);
	/* A load may take long and has nothing to save: the process ends without waiting for it. */
	fflush(NULL);
	_exit(EXIT_DONE);
}

const struct command cmd_serve = {
	.name = "serve",
	.operands = "FILE...",
	.summary = "show traces in a browser, and to programs, over HTTP on this machine",
	.details =
		"FILE is a trace that 'heapwise run' wrote, or the folder of a session with "
		"--children.\n"
		"Whoever is to see it needs the token in the address that is printed. Ctrl-C ends "
		"it.",
	.options = options,
	.fields_size = sizeof(struct serve_args),
	.fields_default = &defaults,
	.run = run,
};
