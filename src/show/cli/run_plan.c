/* SPDX-License-Identifier: MIT
 * The options of heapwise run, and what may not be combined; see run_plan.h. Host. Has no effect on
 * anything. */
#include "show/cli/run_plan.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/units.h"
#include "show/cli/owners_how.h"

const struct run_args run_defaults = {.alloc_stacks = true,
				      .free_stacks = true,
				      .durations = true,
				      .symbols = true,
				      .types = true};

#define ARGS struct run_args

const struct option_spec run_option_table[] = {
	OPT_UNDER(
		"Output", output, 'o', "output", STRING, "FILE",
		"write the trace to FILE, or with --children one trace per process to folder FILE "
		"(default heapwise.PROGRAM.PID.hwt; with --children heapwise.PROGRAM.PID)"),
	OPT(report, 0, "report", SET, NULL,
	    "when the program ends, print the report on standard output"),
	OPT(open, 0, "open", SET, NULL,
	    "when the program ends, show the trace in the browser (heapwise serve --open FILE)"),
	OPT(symbols, 0, "no-symbols", CLEAR, NULL,
	    "do not look up function names at the end; 'heapwise trace symbolize' can do it later"),
	OPT(dump, 0, "dump", STRING, "FILE",
	    "when the program ends, write all allocation entries and the call graph to FILE, in "
	    "HeapLog format version 4 (see 'heapwise export')"),
	OPT(dump_every, 0, "dump-every", NUMBER, "N",
	    "with --dump: while the program runs, write every N freed entries to a separate file: "
	    "FILE.0001, FILE.0002 ..."),
	OPT_UNDER("What to record", children, 0, "children", SET, NULL,
		  "also record the processes that the program starts"),
	OPT(sample_bytes, 0, "sample", BYTES, "BYTES",
	    "record a sample: about one allocation per BYTES allocated, and every allocation of at "
	    "least BYTES"),
	OPT(mmap, 0, "mmap", SET, NULL, "also record mmap and munmap"),
	OPT(leak_scan, 0, "leak-scan", CHOICE, "auto|off",
	    "auto (the default): when the program ends, search its memory for pointers to each "
	    "kept chunk; off: do not"),
	OPT(owners, 0, "owners", OPTIONAL, "LIST",
	    "record which chunk points to which, and from where else, at scans: when the program "
	    "ends (end, the default), at its marks and at snapshots (marks), at new peaks (peak), "
	    "regularly (a time such as 30s); in the background (background), and with which "
	    "chunks are alike (contents). LIST is comma-separated: --owners=end,peak"),
	OPT(types, 0, "no-types", CLEAR, NULL,
	    "do not read the class of new C++ objects from their vtable pointer"),
	OPT(durations, 0, "no-durations", CLEAR, NULL,
	    "do not measure the duration of allocator calls"),
	OPT(exact_times, 0, "exact-times", SET, NULL,
	    "read the clock at every event; by default short gaps are sometimes estimated"),
	OPT(unprofiled, 0, "unprofiled", SET, NULL,
	    "if the program cannot be recorded (statically linked, setuid), run it without "
	    "recording"),
	OPT_UNDER("Call stacks", free_stacks, 0, "no-free-stacks", CLEAR, NULL,
		  "do not record call stacks of frees; faster, smaller traces"),
	OPT(alloc_stacks, 0, "no-stacks", CLEAR, NULL, "record no call stacks"),
	OPT(max_depth, 0, "max-depth", NUMBER, "FRAMES",
	    "keep the innermost FRAMES frames of each stack, at most 1024 (the default)"),
	OPT(stacks, 0, "stacks", CHOICE, "unwind|routines",
	    "how to find callers: unwind the program's frames (unwind, the default), or use the "
	    "instrumented routines that have not returned yet (routines), for code that cannot be "
	    "unwound; needs a program built with 'heapwise cc --routines'"),
	OPT_UNDER("Memory accesses and routines", access, 0, "access", CHOICE,
		  "exact|adaptive|valgrind|off",
		  "record memory accesses. exact: every access (default for programs built with "
		  "'heapwise cc'); adaptive: sample hot memory; valgrind: every access of any "
		  "program, slowly; off: none"),
	OPT(access_epoch_ms, 0, "access-epoch", NUMBER, "MS",
	    "with --access adaptive: check hot memory again after MS milliseconds (default 20)"),
	OPT(access_max, 0, "access-max", NUMBER, "N",
	    "stop counting the reads and writes of a chunk at N (default: no limit)"),
	OPT(coverage, 0, "coverage", SET, NULL,
	    "also record which bytes of each chunk are accessed"),
	OPT(routines, 0, "routines", OPTIONAL, "FILTER",
	    "record calls and returns of routines: in programs built with 'heapwise cc --routines' "
	    "or, with --access valgrind, in any program. FILTER is a comma-separated list of "
	    "patterns for module file names and function names: --routines='app,libfoo*,parse_*'"),
	OPT(routine_sample, 0, "routine-sample", NUMBER, "N",
	    "with --routines: record the first 16 calls of each routine, then every Nth, with "
	    "everything it calls"),
	OPT_UNDER(
		"Allocators", allocators, 0, "allocator", STRINGS, "NAME",
		"record this allocator by patching its functions: auto (default: jemalloc, "
		"tcmalloc, mimalloc and allocators linked into the program), boehm, apr, talloc or "
		"pmr; none: patch nothing, record only calls through the dynamic linker. "
		"Repeatable"),
	OPT(alloc_fns, 0, "alloc-fn", STRINGS, "NAME[:ARG|:=BYTES]",
	    "record this function's allocations instead of its calls to malloc. ARG is the number "
	    "of the argument that holds the size (default 1); with =BYTES all blocks have that "
	    "size. Repeatable"),
	OPT(free_fns, 0, "free-fn", STRINGS, "NAME[:ARG]",
	    "record frees by this function; ARG is the number of the argument that holds the block "
	    "(default 1). Repeatable"),
	OPT(lisp, 0, "lisp", CHOICE, "ecl",
	    "record objects of Embeddable Common Lisp, by Lisp type and function, instead of calls "
	    "to malloc; see 'heapwise mprof'"),
	OPT_UNDER("Control while the program runs", start_paused, 0, "start-paused", SET, NULL,
		  "start without recording; the program, 'heapwise ctl' or a toggle starts it"),
	OPT(toggle_signal, 0, "toggle-signal", STRING, "NAME",
	    "pause or resume recording when heapwise (not the program) receives this signal: USR1, "
	    "USR2, HUP, WINCH, URG or RTMIN+N"),
	OPT(toggle_file, 0, "toggle-file", STRING, "PATH",
	    "record only while this file exists; checked ten times per second"),
	OPT(listen, 0, "listen", STRING, "[ADDRESS:]PORT",
	    "also accept the verbs of 'heapwise ctl' (all but dump) over HTTP, and print the "
	    "address; ADDRESS is 127.0.0.1 (this machine only) by default; port 0 means any free "
	    "port"),
	OPT_UNDER("Limits", max_size, 0, "max-size", BYTES, "BYTES",
		  "when the trace reaches BYTES, record only totals per allocation point; without "
		  "this option, when the disk is 90 % full"),
	OPT(summary, 0, "summary", SET, NULL,
	    "write only sums, for runs of any length: totals, allocation points, sizes, peak, kept "
	    "chunks and what findings need. Questions about single chunks have no answer then"),
	OPT(lossy, 0, "lossy", SET, NULL,
	    "drop and count events instead of making the program wait for the monitor"),
	OPT_UNDER("Many machines", push, 0, "push", STRING, "ADDRESS",
		  "when the program ends, send the trace to a fleet store or a profile server; see "
		  "'heapwise fleet push'"),
	OPT(spool, 0, "spool", STRING, "FOLDER",
	    "with --push: write the trace to FOLDER, deliver it and everything else waiting there, "
	    "and remove what was delivered"),
	OPT(labels, 'l', "label", STRINGS, "KEY=VALUE",
	    "with --push: attach this label to the run. Repeatable"),
	OPT_UNDER("Messages", progress, 0, "progress", SET, NULL,
		  "show progress from the start instead of after 5 s (terminals only)"),
	OPT(quiet, 'q', "quiet", SET, NULL, "print only errors and losses"),
	OPT(recorder, 0, "recorder", STRING, "PATH", NULL),
	OPT(ring_records, 0, "ring-records", NUMBER, "N", NULL),
	OPT(test_stamp_shift, 0, "test-stamp-shift", NUMBER, "BITS", NULL),
	OPT(test_preempt, 0, "test-preempt", SET, NULL, NULL),
	OPTION_END};

/* ---- words ----------------------------------------------------------------------------------- */

/* The number of a signal that can be spared; 0 if it is none of them. */
static int signal_number(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} spare[] = {{"USR1", SIGUSR1},
		     {"USR2", SIGUSR2},
		     {"HUP", SIGHUP},
		     {"WINCH", SIGWINCH},
		     {"URG", SIGURG}};
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

/* A word of --owners, or a time; false if it is neither. */
static bool owners_word(struct berths_options *record, const char *word)
{
	static const struct {
		const char *name;
		u32 bit; /* enum owners_when */
	} words[] = {{"end", OWNERS_END}, {"marks", OWNERS_MARKS}, {"peak", OWNERS_PEAK}};
	double every_ns;

	if (owners_how_add(&record->owners_how, word, strlen(word)))
		return true;
	for (u32 i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(word, words[i].name) == 0) {
			record->owners |= words[i].bit;
			return true;
		}
	if (!parse_ns(word, 0, NULL, &every_ns) || !(every_ns >= 1e6 && every_ns < 1e18))
		return false;
	record->owners |= OWNERS_REGULAR;
	record->owners_every_ns = (u64)every_ns;
	return true;
}

static int owners_read(struct berths_options *record, const char *list, struct err *err)
{
	char *words = list ? strdup(list) : NULL, *rest = words, *word;
	int status = list && !words ? err_memory(err) : 0;

	while (status == 0 && rest && *list && (word = strsep(&rest, ",")))
		if (!owners_word(record, word))
			status = err_set(err, ERR_USAGE,
					 "--owners: expected end, marks, peak, a time such as 30s, "
					 "background or contents, separated by commas, not '%s'",
					 word);
	if (list && !(record->owners & (OWNERS_END | OWNERS_RUNNING)))
		record->owners |= OWNERS_END; /* the words say how, not when */
	free(words);
	return status;
}

static u32 flags_read(const struct run_args *args)
{
	const struct {
		bool wanted;
		u32 flag;
	} rows[] = {
		{args->alloc_stacks, HW_RUN_ALLOC_STACKS},
		{args->free_stacks, HW_RUN_FREE_STACKS},
		{args->stacks && strcmp(args->stacks, "routines") == 0, HW_RUN_ROUTINE_STACKS},
		{args->mmap, HW_RUN_MMAP},
		{args->summary, HW_RUN_SUMMARY},
		{args->lossy, HW_RUN_LOSSY},
		{args->durations, HW_RUN_DURATIONS},
		{args->exact_times, HW_RUN_EXACT_TIMES},
		{args->types, HW_RUN_TYPES},
		{!args->leak_scan || strcmp(args->leak_scan, "auto") == 0, HW_RUN_LEAK_SCAN},
		{args->coverage, HW_RUN_COVERAGE},
		{args->routines, HW_RUN_ROUTINES},
		{args->lisp, HW_RUN_LISP},
		{args->test_preempt, HW_RUN_TEST_PREEMPT},
	};
	u32 flags = 0;

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		flags |= rows[i].wanted ? rows[i].flag : 0;
	return flags;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static struct run_options options_read(const struct run_plan *self, char **argv)
{
	const struct run_args *args = self->args;

	return (struct run_options){
		.argv = argv,
		.record =
			{
				.flags = flags_read(args),
				.children = args->children,
				.paused = args->start_paused,
				.max_depth = args->max_depth < UINT32_MAX ? (u32)args->max_depth
									  : UINT32_MAX,
				.sample_bytes = args->sample_bytes,
				.access_epoch_ns = args->access_epoch_ms * 1000000,
				.access_max = args->access_max,
				.routine_filter = args->routines,
				.routine_sample = args->routine_sample,
				.pools = self->pools.items,
				.pools_count = self->pools.count,
				/* the library of the Lisp tells all */
				.allocators = args->lisp ? 0 : self->pools.allocators,
				.ring_records = args->ring_records,
				.stamp_shift = (u32)(args->test_stamp_shift & 31),
			},
		.access = args->lisp || args->summary ? RUN_ACCESS_OFF : access_parse(args->access),
		.output = {.path = args->output, .max_size = args->max_size},
		.toggle = {.signal = args->toggle_signal ? signal_number(args->toggle_signal) : 0,
			   .file = args->toggle_file},
		.start = {.recorder = args->recorder, .allow_unprofiled = args->unprofiled},
	};
}

/* What cannot be combined, in words that say which. */
static int combination_check(const struct run_args *args, struct err *err)
{
	enum run_access access = access_parse(args->access);
	bool below = access == RUN_ACCESS_VALGRIND,
	     routine_stacks = flags_read(args) & HW_RUN_ROUTINE_STACKS;
#define SPOOL_ELSEWHERE "; to deliver traces from other places use 'heapwise fleet push --spool'"
	const struct {
		bool wrong;
		const char *text;
	} rows[] = {
		{args->coverage && access == RUN_ACCESS_OFF, "--coverage cannot be combined with "
							     "--access off"},
		{args->owners && !(flags_read(args) & HW_RUN_LEAK_SCAN),
		 "--owners cannot be combined with --leak-scan off"},
		{args->owners && args->sample_bytes, "--owners cannot be combined with --sample"},
		{args->owners && (below || args->lisp),
		 "--owners cannot be combined with --access valgrind or --lisp"},
		{args->summary && (args->children || args->owners || args->max_size || args->lisp ||
				   args->routines || routine_stacks || args->dump),
		 "--summary cannot be combined with --children, --owners, --max-size, --lisp, "
		 "--routines, --stacks routines or --dump"},
		{args->summary && access != RUN_ACCESS_AUTO && access != RUN_ACCESS_OFF,
		 "--summary cannot be combined with --access"},
		{below && args->mmap, "--access valgrind cannot be combined with --mmap"},
		{below && args->sample_bytes, "--access valgrind cannot be combined with --sample"},
		{routine_stacks && !args->alloc_stacks, "--stacks routines cannot be combined with "
							"--no-stacks"},
		{routine_stacks && below,
		 "--stacks routines cannot be combined with --access valgrind, which unwinds any "
		 "program"},
		{args->lisp && (below || routine_stacks || args->alloc_fns.count),
		 "--lisp cannot be combined with --access valgrind, --stacks routines or "
		 "--alloc-fn"},
		{args->dump_every && !args->dump, "--dump-every requires --dump"},
		{args->dump && args->children,
		 "--dump cannot be combined with --children; use 'heapwise export --to heaplog' on "
		 "each trace"},
		{args->routine_sample && !args->routines, "--routine-sample requires --routines"},
		{args->spool && !args->push, "--spool requires --push"},
		{args->spool && args->children,
		 "--spool cannot be combined with --children" SPOOL_ELSEWHERE},
		{args->spool && args->output, "--spool cannot be combined with -o" SPOOL_ELSEWHERE},
	};
#undef SPOOL_ELSEWHERE

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].wrong)
			return err_set(err, ERR_USAGE, "%s", rows[i].text);
	return 0;
}

int run_plan_make(struct run_plan *self, const struct run_args *args, char **argv, struct err *err)
{
	*self = (struct run_plan){.args = args};
	if (args->toggle_signal && !signal_number(args->toggle_signal))
		return err_set(err, ERR_USAGE,
			       "--toggle-signal: expected USR1, USR2, HUP, WINCH, "
			       "URG or RTMIN+N, not '%s'",
			       args->toggle_signal);
	if (args->routines && strlen(args->routines) >= HW_ROUTINE_FILTER)
		return err_set(err, ERR_USAGE,
			       "--routines: the filter is longer than %d characters",
			       HW_ROUTINE_FILTER - 1);
	if (combination_check(args, err) < 0 ||
	    run_pools_read(&self->pools, &args->alloc_fns, &args->free_fns, err) < 0 ||
	    run_allocators_read(&self->pools, &args->allocators, err) < 0)
		return err->code;
	self->options = options_read(self, argv);
	if (owners_read(&self->options.record, args->owners, err) < 0)
		return err->code;
	self->pools.below_valgrind = self->options.access == RUN_ACCESS_VALGRIND;
	return 0;
}
