/* SPDX-License-Identifier: MIT
 * heapwise run: records a program. Host. What the program prints stays untouched: everything from
 * here goes to stderr, and the exit status is the program's own.
 *
 * Plan, check, do: run_plan.c reads the options and checks all of them; what has an effect begins
 * here, after that. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/units.h"
#include "host/symbols/resolve/resolve.h"
#include "live/drain/tap.h"
#include "live/launch/run.h"
#include "show/cli/dumps.h"
#include "show/cli/run_plan.h"
#include "show/cli/pushing.h"
#include "show/cli/trace_options.h"
#include "show/cli/traces.h"
#include "show/fleet/spool.h"
#include "show/serve/control_api.h"
#include "show/serve/server.h"
#include "study/open/summary.h"

/* ---- what a run has -------------------------------------------------------------------------- */

struct secrets { /* all zero = none */
	char *address, *password;
};

static void secrets_release(struct secrets *self)
{
	free(self->address);
	free(self->password);
}

/* Lists of processes must not show the password of the store for as long as the program runs, and
 * the program must not inherit it. */
static int secrets_take(struct secrets *self, const char *address, struct err *err)
{
	const char *password = getenv("HEAPWISE_PASSWORD");

	self->address = strdup(address);
	self->password = password ? strdup(password) : NULL;
	address_hide_password((char *)(uintptr_t)address);
	unsetenv("HEAPWISE_PASSWORD");
	return self->address && (self->password || !password) ? 0 : err_memory(err);
}

struct progress {
	bool at_once;
	bool shown;
	u64 start_ns;
};

/* A plan that is carried out: all that was opened for it. */
struct running {
	const struct command *command;
	const struct run_args *args;
	struct run_plan plan;
	struct progress progress;
	struct server server;
	struct dumps dumps;
	struct secrets secrets;
	struct strbuf spooled; /* the place of the trace in the spool, "" = there is none */
	struct loading *loading;
	struct summary *summary;
	struct tap tap; /* of that */
	struct run_result result;
};

/* ---- symbols --------------------------------------------------------------------------------- */

static void resolve_one(const struct run_args *args, struct symbolizer *symbolizer,
			const char *path)
{
	struct symbolize_options options = {.symbolizer = symbolizer};
	struct symbolize_summary found = {0};
	struct err err = {0};

	if (symbols_resolve_trace(path, &options, &found, &err) < 0 && !args->quiet)
		fprintf(stderr, "heapwise: %s has no function names: %s\n", path, err.text);
}

static void resolve(const struct running *self)
{
	const struct run_result *result = &self->result;
	struct symbolizer *symbolizer;

	if (!self->args->symbols || !result->output[0] || result->write_errno)
		return;
	symbolizer = prepare_finish(self->plan.options.record.prepare);
	for (u64 i = 0; i < result->traces.count; i++)
		resolve_one(self->args, symbolizer, result->traces.data[i]);
}

/* ---- dumps ----------------------------------------------------------------------------------- */

static void dump(struct running *self)
{
	const struct run_result *result = &self->result;
	struct dump_done done;
	struct err err = {0};

	if (!self->args->dump || !result->recorded || !result->output[0])
		return;
	if (self->dumps.err.code)
		fprintf(stderr, "heapwise: dump of freed entries failed: %s\n",
			self->dumps.err.text);
	if (dumps_finish(&self->dumps, result->output, &done, &err) < 0)
		fprintf(stderr, "heapwise: dump failed: %s\n", err.text);
	else if (!self->args->quiet)
		fprintf(stderr, "heapwise: dump %s, %s live and %s freed entries\n", done.path,
			units_count(done.live).text, units_count(done.freed).text);
}

/* ---- end ------------------------------------------------------------------------------------- */

static int report(const struct run_result *result)
{
	char path[sizeof(result->output)];
	char *argv[] = {path, NULL};
	void *fields = calloc(1, cmd_report.fields_size ? cmd_report.fields_size : 1);
	int status;

	if (!fields)
		return EXIT_BAD_INPUT;
	memcpy(path, result->output, sizeof(path));
	if (cmd_report.fields_default)
		memcpy(fields, cmd_report.fields_default, cmd_report.fields_size);
	status = cmd_report.run(&cmd_report, fields, 1, argv);
	fflush(stdout);
	free(fields);
	return status;
}

int command_end_like(int wait_status)
{
	struct rlimit no_core = {0};
	sigset_t set;
	int number;

	if (!WIFSIGNALED(wait_status))
		return WEXITSTATUS(wait_status);
	number = WTERMSIG(wait_status);
	setrlimit(RLIMIT_CORE,
		  &no_core); /* the program's core file is not to be overwritten by ours */
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}

/* ---- server ---------------------------------------------------------------------------------- */

/* With --quiet as well: who asks for a server wants to know where it is. */
static int serve_start(struct server *self, struct control *control, struct err *err)
{
	struct site site = control_site(control);
	char *url;

	if (server_start(self, &site, err) < 0)
		return err->code;
	url = server_url(self);
	if (!url) {
		server_stop(self);
		return err_memory(err);
	}
	if (!address_is_loopback(&self->listen.address))
		fprintf(stderr, "heapwise: WARNING: other machines can reach this server, and the "
				"connection is not encrypted; the token can be read on the "
				"network\n");
	fprintf(stderr, "heapwise: listening on %s\n", url);
	free(url);
	return 0;
}

/* The server takes this process's place; the program's exit status has been told by then. */
static void open_browser(const struct command *self, const struct run_result *result)
{
	fflush(NULL);
	execl("/proc/self/exe", "heapwise", "serve", "--open", result->output, (char *)NULL);
	fprintf(stderr, "heapwise %s: cannot start the server: %s\n", self->name, strerror(errno));
}

/* ---- pushing --------------------------------------------------------------------------------- */

static struct pushing pushing_of(const struct running *self)
{
	return (struct pushing){.command = self->command,
				.labels = &self->args->labels,
				.image = NOT_GIVEN,
				.symbols = self->args->symbols};
}

/* Programs may begin further recordings, whose names were not known. */
static void spool_tell_all(const char *folder, struct pushing *pushing,
			   const struct run_result *result)
{
	const struct run_about about = pushing_about(pushing);
	struct err err = {0};

	for (u64 i = 0; i < result->traces.count; i++)
		if (spool_tell(folder, result->traces.data[i], &about, &err) < 0)
			command_fail(pushing->command, &err);
}

/* Whatever becomes of it, the status is the program's. */
static void push(const struct running *self)
{
	const struct run_result *result = &self->result;
	const char *address = self->secrets.address, *spool = self->args->spool;
	struct pushing pushing = pushing_of(self);
	char **paths = calloc(result->traces.count + 1, sizeof *paths);
	int count = 0, status;

	if (self->secrets.password)
		setenv("HEAPWISE_PASSWORD", self->secrets.password, 1);
	for (u64 i = 0; paths && i < result->traces.count; i++)
		paths[count++] = result->traces.data[i];
	if (spool) {
		spool_tell_all(spool, &pushing, result);
		status = pushing_deliver(&pushing, address, spool, SPOOL_BYTES);
	} else {
		status = pushing_open(&pushing, address);
		if (status == EXIT_DONE && count)
			status = pushing_all(&pushing, count, paths);
	}
	if (status != EXIT_DONE && result->output[0] && access(result->output, F_OK) == 0)
		fprintf(stderr, "heapwise: the trace was not delivered and remains in %s\n",
			result->output);
	pushing_close(&pushing);
	free(paths);
}

/* ---- the run as its owner sees it ------------------------------------------------------------ */

static int on_start(void *data, struct control *control, const char *trace, struct err *err)
{
	struct running *self = data;

	if (run_may_follow(self->args) && *trace)
		self->loading = loading_begin(trace);
	return self->args->listen ? serve_start(&self->server, control, err) : 0;
}

static void on_stop(void *data)
{
	struct running *self = data;

	server_close(&self->server);
}

static void on_progress(void *data, u64 events, u64 live_bytes, u64 trace_bytes)
{
	struct progress *self = &((struct running *)data)->progress;

	if (!self->at_once && now_ns() - self->start_ns <= 5000000000)
		return;
	/* A program that has taken the terminal for itself is not disturbed. */
	if (tcgetpgrp(STDERR_FILENO) != getpgrp())
		return;
	self->shown = true;
	fprintf(stderr, "\rheapwise: %s events, %s live, trace %s\033[K", units_count(events).text,
		units_bytes(live_bytes).text, units_bytes(trace_bytes).text);
}

static int on_dump(void *data, const struct dump_wish *wish)
{
	struct running *self = data;

	return dumps_write(&self->dumps, wish);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Readers of a folder take all its traces for one recording. */
static void say_older(const struct run_args *args)
{
	struct trace_list older = {0};

	if (args->children && args->output && trace_list_find(&older, args->output, NULL) == 0 &&
	    older.is_folder)
		fprintf(stderr,
			"heapwise: WARNING: %s already has %s, which will be read together with "
			"those of this recording; use a new folder for each\n",
			args->output, units_things(older.paths.count, "trace(s)").text);
	trace_list_release(&older);
}

/* The socket first: if it cannot be had, not even an old trace has been touched. */
static int running_open(struct running *self, struct err *err)
{
	const struct run_args *args = self->args;
	struct run_options *options = &self->plan.options;
	struct pushing pushing = pushing_of(self);

	self->server.listen.socket = -1;
	self->dumps = (struct dumps){.to = args->dump, .every = args->dump_every};
	self->progress.at_once = args->progress;
	self->progress.start_ns = now_ns();
	if (args->listen && server_open(&self->server, args->listen, err) < 0)
		return err->code;
	if (args->push && secrets_take(&self->secrets, args->push, err) < 0)
		return err->code;
	if (args->spool) {
		const struct run_about about = pushing_about(&pushing);

		if (spool_name(args->spool, options->argv[0], &about, &self->spooled, err) < 0)
			return err->code;
		options->output.path = strbuf_text(&self->spooled);
	}
	if (args->summary) {
		self->summary = summary_new();
		if (!self->summary)
			return err_memory(err);
		self->tap =
			(struct tap){.self = self->summary, .sink = summary_sink(self->summary)};
	}
	say_older(args);
	options->record.prepare = args->symbols ? prepare_new() : NULL;
	return 0;
}

/* The program was not started. */
static void running_undo(struct running *self)
{
	prepare_free(self->plan.options.record.prepare);
	if (self->args->spool && self->plan.options.output.path)
		spool_remove(self->plan.options.output.path);
}

static void running_close(struct running *self)
{
	server_close(&self->server);
	loading_free(self->loading);
	summary_free(self->summary);
	strbuf_release(&self->spooled);
	secrets_release(&self->secrets);
}

/* Who wraps programs into heapwise wants them to run above all. Said at once: who is there for the
 * recording can break off. */
static int run_without(struct running *self, struct err *err)
{
	fprintf(stderr, "heapwise: WARNING: %s; the program runs, but is NOT RECORDED\n",
		err->text);
	self->plan.options.start.unrecorded = true;
	return monitor_run(&self->plan.options, &self->result, err);
}

static int running_record(struct running *self, struct err *err)
{
	bool shows = isatty(STDERR_FILENO) && !self->args->quiet;
	const struct run_owner owner = {
		.self = self,
		.start = on_start,
		.stop = on_stop,
		.progress = shows ? on_progress : NULL,
		.dump = on_dump,
		.dump_every = self->args->dump_every,
		.tap = self->summary ? &self->tap : NULL,
	};
	int status;

	self->plan.options.owner = &owner;
	status = monitor_run(&self->plan.options, &self->result, err);
	if (status < 0 && self->result.go_without)
		status = run_without(self, err);
	server_close(&self->server);
	return status;
}

/* What was read ahead is given back by the end of the process, which is a good deal quicker at
 * it. */
static struct prepare *prepared __attribute__((unused));

static void write_summary(const struct running *self)
{
	const struct run_result *result = &self->result;
	struct err err = {0};

	if (self->summary && result->recorded && !result->write_errno &&
	    summary_write(self->summary, result->output, &err) < 0)
		fprintf(stderr, "heapwise: WARNING: the trace has no sums: %s\n", err.text);
}

/* Everything that is said and made of the trace once the program has ended. */
static void running_finish(struct running *self)
{
	const struct run_args *args = self->args;
	struct run_result *result = &self->result;
	bool empty = run_is_empty(args, result);

	if (self->progress.shown)
		fprintf(stderr, "\r\033[K");
	resolve(self);
	write_summary(self);
	prepared = self->plan.options.record.prepare;
	run_end_say(&self->plan, result, self->loading);
	loading_free(self->loading);
	self->loading = NULL;
	dump(self);
	if (args->report && result->recorded)
		report(result);
	if (self->spooled.count && empty)
		/* nothing is in it that could be delivered */
		spool_remove(strbuf_text(&self->spooled));
	if (args->push && (args->spool || (!empty && !result->write_errno)))
		push(self);
	if (args->open && result->recorded)
		open_browser(self->command, result);
	run_result_release(result);
}

static int run_command(const struct command *self, void *fields, int argc, char **argv)
{
	struct running running = {.command = self, .args = fields};
	struct err err = {0};
	int status;

	if (argc < 1)
		return command_usage(self,
				     "no program given; usage: heapwise run [OPTION...] PROGRAM "
				     "[ARGUMENT...]");
	if (run_plan_make(&running.plan, fields, argv, &err) < 0)
		return command_usage(self, "%s", err.text);
	status = running_open(&running, &err);
	if (status == 0)
		status = running_record(&running, &err);
	if (status == 0)
		running_finish(&running);
	else
		running_undo(&running);
	running_close(&running);
	return status < 0 ? command_fail(self, &err) : command_end_like(running.result.wait_status);
}

const struct command cmd_run = {
	.name = "run",
	.operands = "[--] PROGRAM [ARGUMENT...]",
	.summary = "run a program and record its allocations",
	.details =
		"The program keeps its terminal, signals and exit status. Ctrl-C ends the program and keeps\n"
		"the trace. Without --children only one process is recorded. Recording continues when that\n"
		"process calls exec (env, nice, sh -c).\n"
		"\n"
		"Exit status: the program's; 2 for a usage error, 3 if it could not be started or "
		"recorded.",
	.options = run_option_table,
	.stop_at_operand = true,
	.fields_size = sizeof(struct run_args),
	.fields_default = &run_defaults,
	.run = run_command,
};
