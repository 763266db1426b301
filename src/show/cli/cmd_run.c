/* SPDX-License-Identifier: MIT
 * heapwise run: records a program. Host. What the program prints stays untouched: everything from
 * here goes to stderr, and the exit status is the program's own. */
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
#include "show/cli/brief.h"
#include "show/cli/command.h"
#include "show/cli/dumps.h"
#include "show/cli/loaded.h"
#include "show/cli/run_end.h"
#include "show/cli/spool.h"
#include "format/session.h"
#include "live/launch/run.h"
#include "show/serve/control_api.h"
#include "show/serve/server.h"
#include "host/symbols/resolve/resolve.h"

static const struct run_args run_defaults = {
	.alloc_stacks = true, .free_stacks = true, .durations = true, .symbols = true,
	.types = true
};

#define RUN_OPTION(field, letter, name, kind, argument, help)                                      \
	OPTION(struct run_args, field, letter, name, kind, argument, help)
#define RUN_OPTION_UNDER(heading, field, letter, name, kind, argument, help)                       \
	OPTION_UNDER(heading, struct run_args, field, letter, name, kind, argument, help)

static const struct option_spec run_options[] = {
	RUN_OPTION_UNDER("Output", output, 'o', "output", OPTION_STRING, "FILE",
		"write the trace to FILE, or with --children one trace per process to folder FILE (default "
		"heapwise.PROGRAM.PID.hwt; with --children heapwise.PROGRAM.PID)"),
	RUN_OPTION(report, 0, "report", OPTION_SET, NULL,
		   "when the program ends, print the report on standard output"),
	RUN_OPTION(open, 0, "open", OPTION_SET, NULL,
		   "when the program ends, show the trace in the browser (heapwise serve --open FILE)"),
	RUN_OPTION(symbols, 0, "no-symbols", OPTION_CLEAR, NULL,
		   "do not look up function names at the end; 'heapwise trace symbolize' can do it later"),
	RUN_OPTION(dump, 0, "dump", OPTION_STRING, "FILE",
		   "when the program ends, write all allocation entries and the call graph to FILE, in HeapLog "
		   "format version 4 (see 'heapwise export')"),
	RUN_OPTION(dump_every, 0, "dump-every", OPTION_NUMBER, "N",
		   "with --dump: while the program runs, write every N freed entries to a separate file: "
		   "FILE.0001, FILE.0002 ..."),
	RUN_OPTION_UNDER("What to record", children, 0, "children", OPTION_SET, NULL,
		   "also record the processes that the program starts"),
	RUN_OPTION(sample_bytes, 0, "sample", OPTION_BYTES, "BYTES",
		   "record a sample: about one allocation per BYTES allocated, and every allocation of at "
		   "least BYTES"),
	RUN_OPTION(mmap, 0, "mmap", OPTION_SET, NULL, "also record mmap and munmap"),
	RUN_OPTION(leak_scan, 0, "leak-scan", OPTION_CHOICE, "auto|off",
		   "auto (the default): when the program ends, search its memory for pointers to each kept "
		   "chunk; off: do not"),
	RUN_OPTION(types, 0, "no-types", OPTION_CLEAR, NULL,
		   "do not read the class of new C++ objects from their vtable pointer"),
	RUN_OPTION(durations, 0, "no-durations", OPTION_CLEAR, NULL,
		   "do not measure the duration of allocator calls"),
	RUN_OPTION(
		exact_times, 0, "exact-times", OPTION_SET, NULL,
		"read the clock at every event; by default short gaps are sometimes estimated"),
	RUN_OPTION(unprofiled, 0, "unprofiled", OPTION_SET, NULL,
		   "if the program cannot be recorded (statically linked, setuid), run it without recording"),
	RUN_OPTION_UNDER("Call stacks", free_stacks, 0, "no-free-stacks", OPTION_CLEAR, NULL,
		   "do not record call stacks of frees; faster, smaller traces"),
	RUN_OPTION(alloc_stacks, 0, "no-stacks", OPTION_CLEAR, NULL,
		   "record no call stacks"),
	RUN_OPTION(max_depth, 0, "max-depth", OPTION_NUMBER, "FRAMES",
		   "keep the innermost FRAMES frames of each stack, at most 1024 (the default)"),
	RUN_OPTION(stacks, 0, "stacks", OPTION_CHOICE, "unwind|routines",
		   "how to find callers: unwind the program's frames (unwind, the default), or use the instrumented "
		   "routines that have not returned yet (routines), for code that cannot be unwound; needs a program "
		   "built with 'heapwise cc --routines'"),
	RUN_OPTION_UNDER("Memory accesses and routines", access, 0, "access", OPTION_CHOICE, "exact|adaptive|valgrind|off",
		   "record memory accesses. exact: every access (default for programs built with 'heapwise "
		   "cc'); adaptive: sample hot memory; valgrind: every access of any program, slowly; off: "
		   "none"),
	RUN_OPTION(access_epoch_ms, 0, "access-epoch", OPTION_NUMBER, "MS",
		   "with --access adaptive: check hot memory again after MS milliseconds (default 20)"),
	RUN_OPTION(access_max, 0, "access-max", OPTION_NUMBER, "N",
		   "stop counting the reads and writes of a chunk at N (default: no limit)"),
	RUN_OPTION(coverage, 0, "coverage", OPTION_SET, NULL,
		   "also record which bytes of each chunk are accessed"),
	RUN_OPTION(routines, 0, "routines", OPTION_OPTIONAL, "FILTER",
		   "record calls and returns of routines: in programs built with 'heapwise cc --routines' or, "
		   "with --access valgrind, in any program. FILTER is a comma-separated list of patterns for "
		   "module file names and function names: --routines='app,libfoo*,parse_*'"),
	RUN_OPTION(routine_sample, 0, "routine-sample", OPTION_NUMBER, "N",
		   "with --routines: record the first 16 calls of each routine, then every Nth, with "
		   "everything it calls"),
	RUN_OPTION_UNDER("Allocators", allocators, 0, "allocator", OPTION_STRINGS, "NAME",
		   "record this allocator by patching its functions: auto (default: jemalloc, tcmalloc, mimalloc and "
		   "allocators linked into the program), boehm, apr, talloc or pmr; none: patch nothing, record only calls "
		   "through the dynamic linker. Repeatable"),
	RUN_OPTION(alloc_fns, 0, "alloc-fn", OPTION_STRINGS, "NAME[:ARG|:=BYTES]",
		   "record this function's allocations instead of its calls to malloc. ARG is the number of the "
		   "argument that holds the size (default 1); with =BYTES all blocks have that size. Repeatable"),
	RUN_OPTION(free_fns, 0, "free-fn", OPTION_STRINGS, "NAME[:ARG]",
		   "record frees by this function; ARG is the number of the argument that holds the block "
		   "(default 1). Repeatable"),
	RUN_OPTION(lisp, 0, "lisp", OPTION_CHOICE, "ecl",
		   "record objects of Embeddable Common Lisp, by Lisp type and function, instead of calls to "
		   "malloc; see 'heapwise mprof'"),
	RUN_OPTION_UNDER("Control while the program runs", start_paused, 0, "start-paused", OPTION_SET, NULL,
		   "start without recording; the program, 'heapwise ctl' or a toggle starts it"),
	RUN_OPTION(toggle_signal, 0, "toggle-signal", OPTION_STRING, "NAME",
		   "pause or resume recording when heapwise (not the program) receives this signal: USR1, "
		   "USR2, HUP, WINCH, URG or RTMIN+N"),
	RUN_OPTION(toggle_file, 0, "toggle-file", OPTION_STRING, "PATH",
		   "record only while this file exists; checked ten times per second"),
	RUN_OPTION(listen, 0, "listen", OPTION_STRING, "[ADDRESS:]PORT",
		   "also accept the verbs of 'heapwise ctl' (all but dump) over HTTP, and print the address; ADDRESS is 127.0.0.1 "
		   "(this machine only) by default; port 0 means any free port"),
	RUN_OPTION_UNDER("Limits", max_size, 0, "max-size", OPTION_BYTES, "BYTES",
		   "when the trace reaches BYTES, record only totals per allocation point; without this option, when the "
		   "disk is 90 % full"),
	RUN_OPTION(lossy, 0, "lossy", OPTION_SET, NULL,
		   "drop and count events instead of making the program wait for the monitor"),
	RUN_OPTION_UNDER("Many machines", push, 0, "push", OPTION_STRING, "ADDRESS",
		   "when the program ends, send the trace to a fleet store or a profile server; see 'heapwise fleet "
		   "push'"),
	RUN_OPTION(spool, 0, "spool", OPTION_STRING, "FOLDER",
		   "with --push: write the trace to FOLDER, deliver it and everything else waiting there, and "
		   "remove what was delivered"),
	RUN_OPTION(labels, 'l', "label", OPTION_STRINGS, "KEY=VALUE",
		   "with --push: attach this label to the run. Repeatable"),
	RUN_OPTION_UNDER("Messages", progress, 0, "progress", OPTION_SET, NULL,
		   "show progress from the start instead of after 5 s (terminals only)"),
	RUN_OPTION(quiet, 'q', "quiet", OPTION_SET, NULL, "print only errors and losses"),
	RUN_OPTION(recorder, 0, "recorder", OPTION_STRING, "PATH", NULL),
	RUN_OPTION(ring_records, 0, "ring-records", OPTION_NUMBER, "N", NULL),
	RUN_OPTION(test_stamp_shift, 0, "test-stamp-shift", OPTION_NUMBER, "BITS", NULL),
	RUN_OPTION(test_preempt, 0, "test-preempt", OPTION_SET, NULL, NULL),
	OPTION_END};

/* ---- progress -------------------------------------------------------------------------------- */

struct progress {
	bool at_once;
	bool shown;
	u64 start_ns;
};

static void progress_show(void *self_, u64 events, u64 live_bytes, u64 trace_bytes)
{
	struct progress *self = self_;

	if (!self->at_once && now_ns() - self->start_ns <= 5000000000)
		return;
	/* A program that has taken the terminal for itself is not disturbed. */
	if (tcgetpgrp(STDERR_FILENO) != getpgrp())
		return;
	self->shown = true;
	fprintf(stderr, "\rheapwise: %s events, %s live, trace %s\033[K", units_count(events).text,
		units_bytes(live_bytes).text, units_bytes(trace_bytes).text);
}

static void progress_clear(const struct progress *self)
{
	if (self->shown)
		fprintf(stderr, "\r\033[K");
}

/* ---- symbols --------------------------------------------------------------------------------- */

static void resolve_one(const struct run_args *args, struct symbolizer *symbolizer,
			const char *path)
{
	struct symbolize_options options = { .symbolizer = symbolizer };
	struct symbolize_summary found = { 0 };
	struct err err = { 0 };

	if (symbols_resolve_trace(path, &options, &found, &err) < 0 && !args->quiet)
		fprintf(stderr, "heapwise: %s has no function names: %s\n", path, err.text);
}

static void resolve(const struct run_args *args, struct prepare *prepare,
		    const struct run_result *result)
{
	struct symbolizer *symbolizer;

	if (!args->symbols || !result->output[0] || result->write_errno)
		return;
	symbolizer = prepare_finish(prepare);
	for (u64 i = 0; i < result->traces.count; i++)
		resolve_one(args, symbolizer, result->traces.data[i]);
}

/* ---- dumps ----------------------------------------------------------------------------------- */

static void dump(const struct run_args *args, struct dumps *dumps, const struct run_result *result)
{
	struct dump_done done;
	struct err err = {0};

	if (!args->dump || !result->recorded || !result->output[0])
		return;
	if (dumps->err.code)
		fprintf(stderr, "heapwise: dump of freed entries failed: %s\n", dumps->err.text);
	if (dumps_finish(dumps, result->output, &done, &err) < 0)
		fprintf(stderr, "heapwise: dump failed: %s\n", err.text);
	else if (!args->quiet)
		fprintf(stderr, "heapwise: dump %s, %s live and %s freed entries\n", done.path,
			units_count(done.live).text, units_count(done.freed).text);
}

/* ---- end ------------------------------------------------------------------------------------- */

static int report(const struct run_result *result)
{
	char path[sizeof(result->output)];
	char *argv[] = { path, NULL };
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
	struct rlimit no_core = { 0 };
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

/* The number of a signal that can be spared; 0 if it is none of them. */
static int signal_number(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} spare[] = { { "USR1", SIGUSR1 },
		      { "USR2", SIGUSR2 },
		      { "HUP", SIGHUP },
		      { "WINCH", SIGWINCH },
		      { "URG", SIGURG } };
	u64 offset = 0;

	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (u32 i = 0; i < sizeof spare / sizeof *spare; i++)
		if (strcmp(name, spare[i].name) == 0)
			return spare[i].number;
	if (strncmp(name, "RTMIN", 5) != 0)
		return 0;
	if (name[5] && (name[5] != '+' || !parse_number(name + 6, &offset)))
		return 0;
	return offset <= (u64)(SIGRTMAX - SIGRTMIN) ? SIGRTMIN + (int)offset : 0;
}

static enum run_access access_parse(const char *word)
{
	static const char *const words[] = {
		[RUN_ACCESS_OFF] = "off",
		[RUN_ACCESS_EXACT] = "exact",
		[RUN_ACCESS_ADAPTIVE] = "adaptive",
		[RUN_ACCESS_VALGRIND] = "valgrind",
	};

	for (u32 i = RUN_ACCESS_OFF; word && i <= RUN_ACCESS_VALGRIND; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return RUN_ACCESS_AUTO;
}

static void options_fill(const struct run_args *args, char **argv, struct run_options *options)
{
	options->argv = argv;
	options->output = args->output;
	options->recorder = args->recorder;
	options->alloc_stacks = args->alloc_stacks;
	options->free_stacks = args->free_stacks;
	options->routine_stacks = args->stacks && strcmp(args->stacks, "routines") == 0;
	options->mmap = args->mmap;
	options->lossy = args->lossy;
	options->children = args->children;
	options->durations = args->durations;
	options->exact_times = args->exact_times;
	options->types = args->types;
	options->leak_scan = !args->leak_scan || strcmp(args->leak_scan, "auto") == 0;
	options->access = access_parse(args->access);
	options->coverage = args->coverage;
	options->access_epoch_ns = args->access_epoch_ms * 1000000;
	options->access_max = args->access_max;
	options->allow_unprofiled = args->unprofiled;
	options->start_paused = args->start_paused;
	options->toggle_signal = args->toggle_signal ? signal_number(args->toggle_signal) : 0;
	options->toggle_file = args->toggle_file;
	options->sample_bytes = args->sample_bytes;
	options->max_depth = args->max_depth;
	options->max_size = args->max_size;
	options->ring_records = args->ring_records;
	options->test_stamp_shift = args->test_stamp_shift;
	options->test_preempt = args->test_preempt;
	options->lisp = args->lisp != NULL;
	options->routines = args->routines;
	options->routine_sample = args->routine_sample;
}

/* ---- server ---------------------------------------------------------------------------------- */

/* With --quiet as well: who asks for a server wants to know where it is. */
static int serve_start(void *self_, struct control *control, struct err *err)
{
	struct site site = control_site(control);
	struct server *self = self_;
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
				"connection is not encrypted; the token can be read on the network\n");
	fprintf(stderr, "heapwise: listening on %s\n", url);
	free(url);
	return 0;
}

static void serve_stop(void *self)
{
	server_close(self);
}

/* The server takes this process's place; the program's exit status has been told by then. */
static void open_browser(const struct command *self, const struct run_result *result)
{
	fflush(NULL);
	execl("/proc/self/exe", "heapwise", "serve", "--open", result->output, (char *)NULL);
	fprintf(stderr, "heapwise %s: cannot start the server: %s\n", self->name, strerror(errno));
}

/* ---- pushing --------------------------------------------------------------------------------- */

struct secrets { /* all zero = none */
	char *address, *password;
};

static void secrets_release(struct secrets *self)
{
	free(self->address);
	free(self->password);
}

/* Lists of processes must not show the password of the store for as long as the program runs, and the program must not inherit
 * it. */
static int secrets_take(struct secrets *self, const char *address, struct err *err)
{
	const char *password = getenv("HEAPWISE_PASSWORD");

	self->address = strdup(address);
	self->password = password ? strdup(password) : NULL;
	address_hide_password((char *)(uintptr_t)address);
	unsetenv("HEAPWISE_PASSWORD");
	return self->address && (self->password || !password) ? 0 : err_memory(err);
}

static struct pushing pushing_of(const struct command *self, const struct run_args *args)
{
	return (struct pushing){.command = self, .labels = &args->labels, .image = NOT_GIVEN, .symbols = args->symbols};
}

/* The place of the trace in the spool, to be written there. */
static int spool_place(const struct command *self, const struct run_args *args, const char *program,
		       struct strbuf *path, struct err *err)
{
	const struct pushing about = pushing_of(self, args);

	return spool_name(args->spool, program, &about, path, err);
}

/* Programs may begin further recordings, whose names were not known. */
static void spool_tell_all(const char *folder, const struct pushing *about, const struct run_result *result)
{
	struct err err = {0};

	for (u64 i = 0; i < result->traces.count; i++)
		if (spool_tell(folder, result->traces.data[i], about, &err) < 0)
			command_fail(about->command, &err);
}

/* Whatever becomes of it, the status is the program's. */
static void push(const struct command *self, const struct run_args *args, const struct run_result *result,
		 const struct secrets *secrets)
{
	struct pushing pushing = pushing_of(self, args);
	char **paths = calloc(result->traces.count + 1, sizeof *paths);
	int count = 0, status;

	if (secrets->password)
		setenv("HEAPWISE_PASSWORD", secrets->password, 1);
	for (u64 i = 0; paths && i < result->traces.count; i++)
		paths[count++] = result->traces.data[i];
	if (args->spool) {
		spool_tell_all(args->spool, &pushing, result);
		status = spool_deliver(&pushing, secrets->address, args->spool, SPOOL_BYTES);
	} else {
		status = pushing_open(&pushing, secrets->address);
		if (status == EXIT_DONE && count)
			status = pushing_all(&pushing, count, paths);
	}
	if (status != EXIT_DONE && result->output[0] && access(result->output, F_OK) == 0)
		fprintf(stderr, "heapwise: the trace was not delivered and remains in %s\n", result->output);
	pushing_close(&pushing);
	free(paths);
}

/* Who wraps programs into heapwise wants them to run above all. Said at once: who is there for the recording can break off. */
static int run_without(struct run_options *options, struct run_result *result, struct err *err)
{
	fprintf(stderr, "heapwise: WARNING: %s; the program runs, but is NOT RECORDED\n", err->text);
	options->unrecorded = true;
	return monitor_run(options, result, err);
}

/* What was read ahead is given back by the end of the process, which is a good deal quicker at it. */
static struct prepare *prepared;

/* Meanwhile the file is closed. */
static void told(void *self) { loading_analyse(self); }

static int run_command(const struct command *self, void *fields, int argc, char **argv)
{
	const struct run_args *args = fields;
	struct progress progress = { .at_once = args->progress };
	struct run_options options = { 0 };
	struct run_pools pools = { .count = 0 };
	struct run_result result;
	struct dumps dumps;
	struct server server = { .listen.socket = -1 };
	const struct run_service service = { serve_start, serve_stop, &server };
	struct strbuf spooled = { 0 };
	struct err err = { 0 };
	struct secrets secrets = { 0 };
	struct loading *loading;
	int status;

	if (argc < 1)
		return command_usage(
			self, "no program given; usage: heapwise run [OPTION...] PROGRAM [ARGUMENT...]");
	options_fill(args, argv, &options);
	if (args->toggle_signal && !options.toggle_signal)
		return command_usage(self,
				     "--toggle-signal: expected USR1, USR2, HUP, WINCH, URG or RTMIN+N, not "
				     "'%s'",
				     args->toggle_signal);
	if (args->coverage && options.access == RUN_ACCESS_OFF)
		return command_usage(self, "--coverage cannot be combined with --access off");
	if (options.access == RUN_ACCESS_VALGRIND && (args->mmap || args->sample_bytes))
		return command_usage(self, "--access valgrind cannot be combined with --%s",
				     args->mmap ? "mmap" : "sample");
	if (options.routine_stacks && !args->alloc_stacks)
		return command_usage(self, "--stacks routines cannot be combined with --no-stacks");
	if (options.routine_stacks && options.access == RUN_ACCESS_VALGRIND)
		return command_usage(self, "--stacks routines cannot be combined with --access valgrind, "
					   "which unwinds any program");
	if (args->lisp && (options.access == RUN_ACCESS_VALGRIND || options.routine_stacks || args->alloc_fns.count))
		return command_usage(self, "--lisp cannot be combined with --access valgrind, --stacks routines or "
					   "--alloc-fn");
	if (args->lisp)
		options.access = RUN_ACCESS_OFF;
	if (run_pools_read(&pools, &args->alloc_fns, &args->free_fns, &err) < 0)
		return command_usage(self, "%s", err.text);
	if (run_allocators_read(&pools, &args->allocators, &err) < 0)
		return command_usage(self, "%s", err.text);
	options.allocators = args->lisp ? 0 : pools.allocators; /* the library of the Lisp tells all */
	pools.below_valgrind = options.access == RUN_ACCESS_VALGRIND;
	options.pools = pools.items;
	options.pools_count = pools.count;
	if (args->dump_every && !args->dump)
		return command_usage(self, "--dump-every requires --dump");
	if (args->dump && args->children)
		return command_usage(self, "--dump cannot be combined with --children; use 'heapwise export --to "
					   "heaplog' on each trace");
	dumps_init(&dumps, args->dump, args->dump_every);
	options.dumper = &dumps.dumper;
	if (args->routine_sample && !args->routines)
		return command_usage(self, "--routine-sample requires --routines");
	if (args->routines && strlen(args->routines) >= HW_ROUTINE_FILTER)
		return command_usage(self, "--routines: the filter is longer than %d characters",
				     HW_ROUTINE_FILTER - 1);
	/* First of all: if it fails, not even an old trace has been touched. */
	if (args->listen && server_open(&server, args->listen, &err) < 0)
		return command_fail(self, &err);
	options.service = args->listen ? &service : NULL;
	progress.start_ns = now_ns();
	if (isatty(STDERR_FILENO) && !args->quiet) {
		options.progress = progress_show;
		options.progress_self = &progress;
	}
	if (args->spool && !args->push)
		return command_usage(self, "--spool requires --push");
	if (args->spool && (args->children || args->output))
		return command_usage(self, "--spool cannot be combined with %s; to deliver traces from other places use "
					   "'heapwise fleet push --spool'",
				     args->children ? "--children" : "-o");
	if (args->push && secrets_take(&secrets, args->push, &err) < 0)
		return command_fail(self, &err);
	if (args->spool) {
		if (spool_place(self, args, argv[0], &spooled, &err) < 0) {
			secrets_release(&secrets);
			return command_fail(self, &err);
		}
		options.output = strbuf_text(&spooled);
	}
	options.prepare = args->symbols ? prepare_new() : NULL;
	loading = run_may_brief(args) && !args->children ? loading_new() : NULL;
	options.tap = loading_tap(loading);
	options.told = told;
	options.told_self = loading;
	status = monitor_run(&options, &result, &err);
	if (status < 0 && result.go_without)
		status = run_without(&options, &result, &err);
	server_close(&server);
	if (status < 0) {
		prepare_free(options.prepare);
		loading_free(loading);
		if (spooled.count)
			spool_remove(strbuf_text(&spooled));
		secrets_release(&secrets);
		return command_fail(self, &err);
	}
	progress_clear(&progress);
	resolve(args, options.prepare, &result);
	prepared = options.prepare;
	run_end_say(args, &pools, &result, loading);
	loading_free(loading);
	dump(args, &dumps, &result);
	if (args->report && result.recorded)
		report(&result);
	if (spooled.count && run_is_empty(args, &result))
		spool_remove(strbuf_text(&spooled)); /* nothing is in it that could be delivered */
	if (args->push && (args->spool || (!run_is_empty(args, &result) && !result.write_errno)))
		push(self, args, &result, &secrets);
	secrets_release(&secrets);
	if (args->open && result.recorded)
		open_browser(self, &result);
	run_result_release(&result);
	return command_end_like(result.wait_status);
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
		"Exit status: the program's; 2 for a usage error, 3 if the program could not be started.",
	.options = run_options,
	.stop_at_operand = true,
	.fields_size = sizeof(struct run_args),
	.fields_default = &run_defaults,
	.run = run_command,
};
