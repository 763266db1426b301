/* SPDX-License-Identifier: MIT
 * heapwise watch: runs a program and shows, while it runs, which memory is alive but not used.
 * Host. What the program prints stays untouched: everything from here goes to stderr or into a
 * file, and the exit status is the program's own. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "show/cli/watch_show.h"
#include "show/cli/web.h"
#include "show/serve/watched.h"
#include "live/program/userfault.h"

enum {
	INTERVAL_MS_MIN = 250,
	ROTATE_BYTES_MIN = 1 << 20,
	WINDOW_FILES = 4,
	OVERHEAD_UNSTATED = -1
};

struct watch_args {
	const char *policy, *leak_after, *states, *output, *trace, *recorder, *batch, *address;
	const char *rotate, *window, *pages;
	double overhead;
	u64 interval_ms, port;
	bool access_stacks, quiet, web, open, print_url;
};

static const struct watch_args watch_defaults = {.overhead = OVERHEAD_UNSTATED,
						 .interval_ms = 1000,
						 .address = "127.0.0.1"};

#define ARGS struct watch_args

static const struct option_spec watch_options[] = {
	OPT(policy, 0, "policy", CHOICE, "ladder|mpc|all",
	    "which memory is monitored when. ladder (default): thresholds that rise and fall; mpc "
	    "(default with --overhead): by each area's hit rate, within the overhead; all: "
	    "everything, each second"),
	OPT(overhead, 0, "overhead", PERCENT, "PERCENT",
	    "with --policy mpc: at most this percentage of the program's CPU time may go to "
	    "monitoring: 2, 0.5 or 2% (default 2)"),
	OPT(states, 0, "states", STRING, "LIST",
	    "with --policy ladder: the thresholds, in rising order (default 1s,2s,4s,7s,10s)"),
	OPT(leak_after, 0, "leak-after", STRING, "TIME",
	    "report areas that were not touched for TIME, such as 500ms, 30s or 2m (default 30s)"),
	OPT(interval_ms, 0, "interval", NUMBER, "MS",
	    "milliseconds between reports, at least 250 (default 1000)"),
	OPT(batch, 0, "batch", STRING, "N",
	    "print the first N reports and the last one as lines of JSON, instead of a screen and "
	    "a summary; 0 = all"),
	OPT(output, 'o', "output", STRING, "FILE",
	    "write to FILE instead of standard error: the lines of JSON (--batch), or the summary"),
	OPT(trace, 0, "trace", STRING, "FILE",
	    "also write a trace, as 'heapwise run' does, without function names"),
	OPT(rotate, 0, "rotate", STRING, "SIZE|TIME",
	    "with --trace: start a new file when the current one reaches a size (64M) or an age "
	    "(30m); each can be read alone"),
	OPT(window, 0, "window", STRING, "TIME",
	    "with --trace: keep at least the events of the last TIME, such as 30m or 12h; from "
	    "earlier ones keep only what is still live"),
	OPT(access_stacks, 0, "access-stacks", SET, NULL,
	    "also record what accesses monitored memory; JSON shows it for the least recently "
	    "touched areas"),
	OPT(pages, 0, "pages", CHOICE, "mprotect|userfaultfd",
	    "how memory is monitored: by signals (mprotect, the default), or by userfaultfd, which "
	    "needs privileges and sees only writes, but also those by the kernel"),
	OPT(web, 0, "web", SET, NULL,
	    "also serve a web page and print its address; it stays after the program ends, until "
	    "Ctrl-C, unless --batch is given"),
	OPT(open, 0, "open", SET, NULL,
	    "open the web page in $BROWSER or the desktop's browser; implies --web"),
	OPT(port, 'p', "port", NUMBER, "N",
	    "with --web: listen on port N (default: any free port)"),
	OPT(address, 0, "address", STRING, "ADDRESS",
	    "with --web: listen on this address (default 127.0.0.1)"),
	OPT(print_url, 0, "print-url", SET, NULL,
	    "with --web: print only the address on standard output, for scripts"),
	OPT(quiet, 'q', "quiet", SET, NULL, "do not print a summary at the end"),
	OPT(recorder, 0, "recorder", STRING, "PATH", NULL),
	OPTION_END};

struct watching {
	const struct command *command;
	const struct watch_args *args;
	struct watcher *watcher;
	struct watched *web;  /* NULL = none */
	struct server server; /* of the web page */
	struct rotation_options rotate;
	struct watch_show show;
	struct watch_keys keys;
	struct watch_grown grown;
	struct watch_report report; /* the newest */
	bool json, screen;
	u64 lines_left; /* of JSON */
	bool limited;
};

/* ---- times ----------------------------------------------------------------------------------- */

/* "500ms", "30s", "2m", "30" = seconds; *end is behind it. */
static bool time_read(const char *text, const char **end, u64 *ns)
{
	double real;

	if (!parse_ns(text, 1e9, end, &real) || !(real >= 1e3 && real < 1e18))
		return false;
	*ns = (u64)real;
	return true;
}

static bool states_read(const char *text, struct policy_options *policy)
{
	const char *end;

	policy->states = 0;
	for (;; text = end + 1) {
		u64 *state = &policy->states_ns[policy->states];

		if (policy->states == POLICY_STATES_MAX || !time_read(text, &end, state) ||
		    (policy->states && *state <= state[-1]))
			return false;
		policy->states++;
		if (!*end)
			return true;
		if (*end != ',')
			return false;
	}
}

/* "64M" or "30m": times end in a small letter. */
static bool rotate_read(const char *text, struct rotation_options *rotate)
{
	size_t length = strlen(text);
	const char *end;

	if (length && strchr("smh", text[length - 1]))
		return time_read(text, &end, &rotate->ns) && !*end;
	return parse_bytes(text, &rotate->bytes) && rotate->bytes >= ROTATE_BYTES_MIN;
}

/* A window is some files long, so that at least as much is there when the oldest has gone. */
static int rotation_read(const struct command *command, const struct watch_args *args,
			 struct rotation_options *rotate)
{
	const char *end;
	u64 ns;

	if ((args->rotate || args->window) && !args->trace)
		return command_usage(command, "--rotate and --window require --trace FILE");
	if ((args->rotate || args->window) && args->web)
		return command_usage(command, "--web cannot be combined with --rotate or --window");
	if (args->rotate && !rotate_read(args->rotate, rotate))
		return command_usage(command,
				     "--rotate: expected a size of at least 1M, or a time "
				     "such as 30m, not '%s'",
				     args->rotate);
	if (!args->window)
		return 0;
	if (args->rotate)
		return command_usage(command, "--window cannot be combined with --rotate");
	if (!time_read(args->window, &end, &ns) || *end)
		return command_usage(command,
				     "--window: expected a time such as 30m or 12h, not '%s'",
				     args->window);
	*rotate = (struct rotation_options){.ns = ns / WINDOW_FILES, .keep = WINDOW_FILES + 1};
	return 0;
}

/* ---- reports --------------------------------------------------------------------------------- */

static void report_show(struct watching *self)
{
	if (!self->report.last)
		watch_grown_serve(&self->grown, &self->report);
	if (self->web)
		watched_report(self->web, &self->report);
	if (self->json && (self->report.last || !self->limited || self->lines_left)) {
		watch_show_json(&self->show, &self->report);
		self->lines_left -= self->lines_left > 0;
	} else if (self->screen) {
		watch_show_screen(&self->show, &self->report);
	}
}

static int announce(const struct watching *self, struct err *err)
{
	char *url = server_url(&self->server);

	if (!url)
		return err_memory(err);
	web_warn(&self->server);
	if (self->args->print_url) {
		printf("%s\n", url);
		fflush(stdout);
	} else {
		fprintf(stderr, "heapwise: watch the program at %s\n", url);
	}
	if (self->args->open)
		web_browser_open(self->command, url);
	free(url);
	return 0;
}

/* Goes on serving until Ctrl-C. */
static void stay(const struct watching *self)
{
	char *url = server_url(&self->server);
	sigset_t signals, before;

	if (!url)
		return;
	web_signals_block(&signals, &before);
	fprintf(stderr, "heapwise: the program has ended; its trace is shown at %s until Ctrl-C\n",
		url);
	web_signals_wait(&signals, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	free(url);
}

static int on_start(void *data, struct control *control, const char *trace, struct err *err)
{
	struct watching *self = data;

	(void)trace;
	watch_grown_begin(&self->grown, control);
	if (!self->web)
		return 0;
	return watched_start(self->web, control, err) < 0 ? err->code : announce(self, err);
}

static void on_stop(void *data)
{
	struct watching *self = data;

	watch_grown_begin(&self->grown, NULL);
	if (self->web)
		watched_leave(self->web);
}

static void on_progress(void *data, u64 events, u64 live_bytes, u64 trace_bytes)
{
	struct watching *self = data;

	(void)events;
	(void)live_bytes;
	(void)trace_bytes;
	self->keys.program = self->report.pid;
	if (self->screen && watch_keys_serve(&self->keys, &self->show.view) && self->report.number)
		watch_show_screen(&self->show, &self->report);
	if (!self->show.view.paused && watcher_take(self->watcher, &self->report))
		report_show(self);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int args_read(const struct command *command, const struct watch_args *args,
		     struct watcher_options *options, struct watching *watching)
{
	struct policy_options *policy = &options->policy;
	bool stated = args->overhead != OVERHEAD_UNSTATED;
	/* METHODS.md, "mpc or ladder?" */
	const char *name = args->policy ? args->policy : stated ? "mpc" : "ladder";
	const char *end;

	policy_defaults(policy);
	policy->kind = strcmp(name, "all") == 0      ? POLICY_ALL
		       : strcmp(name, "ladder") == 0 ? POLICY_LADDER
						     : POLICY_MPC;
	if (stated)
		policy->overhead = args->overhead;
	options->interval_ns = args->interval_ms * 1000000;
	watching->show.policy = name;
	watching->show.writes = args->pages && strcmp(args->pages, "userfaultfd") == 0;
	if (args->interval_ms < INTERVAL_MS_MIN)
		return command_usage(command, "--interval must be at least %d", INTERVAL_MS_MIN);
	if (args->port > 65535)
		return command_usage(command, "--port must be at most 65535");
	if (stated && policy->kind != POLICY_MPC)
		return command_usage(command, "--overhead requires --policy mpc");
	if (policy->overhead <= 0)
		return command_usage(command, "--overhead must be greater than 0");
	if (args->leak_after &&
	    (!time_read(args->leak_after, &end, &policy->leak_after_ns) || *end))
		return command_usage(command,
				     "--leak-after: expected a time such as 500ms, 30s or "
				     "2m, not '%s'",
				     args->leak_after);
	if (args->states && !states_read(args->states, policy))
		return command_usage(command,
				     "--states: expected up to %d rising times such as "
				     "1s,2s,10s, not '%s'",
				     POLICY_STATES_MAX, args->states);
	watching->json = args->batch != NULL;
	if (args->batch && !parse_number(args->batch, &watching->lines_left))
		return command_usage(command, "--batch: expected a number, not '%s'", args->batch);
	watching->limited = watching->lines_left > 0;
	return rotation_read(command, args, &watching->rotate);
}

/* 0 and how the program ended, or an exit status. */
static int watch_program(struct watching *watching, char **argv, int *wait_status)
{
	const struct watch_args *args = watching->args;
	bool tapped_only = !args->trace && !watching->web;
	const struct run_owner owner = {
		.self = watching,
		.start = on_start,
		.stop = on_stop,
		.progress = on_progress,
		.tap = watcher_tap(watching->watcher),
	};
	struct run_options run = {
		.argv = argv,
		.record.flags = HW_RUN_ALLOC_STACKS | HW_RUN_PAGES | HW_RUN_LEAK_SCAN |
				HW_RUN_TYPES | (watching->show.writes ? HW_RUN_PAGES_WRITES : 0) |
				(args->access_stacks ? HW_RUN_HIT_STACKS : 0) |
				(tapped_only ? HW_RUN_LASTING : 0),
		.output.path = watching->web ? watched_trace(watching->web) : args->trace,
		.output.none = tapped_only,
		.output.rotate = watching->rotate,
		.start.recorder = args->recorder,
		.owner = &owner,
	};
	struct run_result result;
	struct err err = {0};
	bool serving, taken;
	int status;

	if (watching->show.writes && userfault_check(&err) < 0)
		return command_fail(watching->command, &err);
	/* a trace in several files does not hold pointers */
	if (!tapped_only && !args->rotate && !args->window)
		watching->grown.path = run.output.path;
	watching->keys.terminal = -1;
	if (watching->screen)
		watch_keys_open(&watching->keys);
	watching->show.keys = watching->keys.terminal >= 0;
	status = monitor_run(&run, &result, &err);
	watch_keys_close(&watching->keys);
	if (status < 0)
		return command_fail(watching->command, &err);
	taken = watcher_take(watching->watcher, &watching->report);
	if (!args->quiet || watching->json)
		watch_grown_finish(&watching->grown, &watching->report);
	if (taken)
		report_show(watching);
	serving = watching->web && watched_ended(watching->web, &result);
	if (!watching->json && !args->quiet && watching->report.number)
		watch_show_summary(&watching->show, &watching->report);
	if (!watching->report.number || !watching->report.seen)
		fprintf(stderr, "heapwise: nothing was recorded: %s\n",
			result.unmapped  ? result.unmapped_reason
			: result.starved ? "out of memory"
					 : "the program never allocated, or the recorder could not "
					   "be loaded");
	else if (!watching->report.monitored)
		fprintf(stderr, "heapwise: nothing was monitored: the program has too little "
				"address space for Heapwise's heap (see ulimit -v), or cannot "
				"start a thread\n");
	else if (result.totals.faults[HW_FAULT_IO_URING])
		fprintf(stderr, "heapwise: the program set up io_uring; its memory was not "
				"monitored after that\n");
	if (result.unrecorded_children && !args->quiet)
		fprintf(stderr, "heapwise: %llu %s of the program %s not monitored\n",
			(unsigned long long)result.unrecorded_children,
			result.unrecorded_children == 1 ? "child" : "children",
			result.unrecorded_children == 1 ? "was" : "were");
	/* Who ends us while the program runs ends the program, and means all of it. */
	if (serving && !args->batch && result.passed_signal != SIGTERM &&
	    result.passed_signal != SIGHUP)
		stay(watching);
	*wait_status = result.wait_status;
	run_result_release(&result);
	return 0;
}

static bool web_begin(struct watching *self, const char *program)
{
	const struct watch_args *args = self->args;
	struct watched_options options = {
		.watcher = self->watcher,
		.policy = self->show.options,
		.server = &self->server,
		.program = program,
		.trace = args->trace,
	};
	struct err err = {0};

	if (web_open(&self->server, args->address, args->port, &err) == 0) {
		options.graphs_folder = web_graphs_folder();
		self->web = watched_open(&options, &err);
	}
	if (!self->web)
		command_fail(self->command, &err);
	return self->web != NULL;
}

static int watch_command(const struct command *self, void *fields, int argc, char **argv)
{
	struct watch_args *args = fields;
	struct watcher_options options = {0};
	struct watching *watching = calloc(1, sizeof(*watching));
	int status, wait_status = 0;

	if (!watching)
		return EXIT_BAD_INPUT;
	watching->command = self;
	watching->args = args;
	watching->show.grown = &watching->grown;
	pthread_mutex_init(&watching->grown.lock, NULL);
	watching->server.listen.socket = -1;
	args->web |= args->open;
	status = argc < 1 ? command_usage(self, "no program given; usage: heapwise watch "
						"[OPTION...] PROGRAM [ARGUMENT...]")
			  : args_read(self, args, &options, watching);
	if (status)
		goto done;
	watching->show.out = args->output ? fopen(args->output, "we") : stderr;
	if (!watching->show.out) {
		fprintf(stderr, "heapwise watch: cannot write %s: %s\n", args->output,
			strerror(errno));
		status = EXIT_BAD_INPUT;
		goto done;
	}
	watching->show.options = &options.policy;
	watching->screen = !watching->json && isatty(fileno(watching->show.out));
	watching->watcher = watcher_new(&options);
	if (args->web && watching->watcher && !web_begin(watching, argv[0])) {
		status = EXIT_BAD_INPUT;
		goto release;
	}
	status = watching->watcher ? watch_program(watching, argv, &wait_status) : EXIT_BAD_INPUT;
release:
	if (watching->web)
		watched_close(watching->web);
	watch_grown_release(&watching->grown);
	watcher_free(watching->watcher);
	watch_names_release(&watching->show.names);
	if (args->output)
		fclose(watching->show.out);
done:
	free(watching);
	/* last: it may end us by a signal, and what was sent to the page must be gone by then */
	return status ? status : command_end_like(wait_status);
}

const struct command cmd_watch = {
	.name = "watch",
	.operands = "[--] PROGRAM [ARGUMENT...]",
	.summary = "run a program and show which memory it no longer uses",
	.details =
		"The program needs no rebuild; it runs on Heapwise's own heap. Memory areas are protected,\n"
		"the first access to each is noticed, and the area is protected again later. Areas that\n"
		"were not touched for --leak-after are reported by allocation point: lost, or kept without\n"
		"use.\n"
		"\n"
		"Exit status: the program's; 2 for a usage error, 3 if the program could not be "
		"started.",
	.options = watch_options,
	.stop_at_operand = true,
	.fields_size = sizeof(struct watch_args),
	.fields_default = &watch_defaults,
	.run = watch_command,
};
