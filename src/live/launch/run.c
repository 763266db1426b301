/* SPDX-License-Identifier: MIT
 * One recorded run from its options to its result; see run.h. Runs in the monitor, on the thread of
 * the caller. Never prints. */
#define _GNU_SOURCE
#include "live/launch/run.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/io.h"
#include "host/base/parts.h"
#include "format/atomics.h"
#include "live/drain/image.h"
#include "live/launch/run_state.h"
#include "live/program/layout.h"

#define LISP_LIBRARY "libheapwise-lisp-ecl.so"
enum { DEPTH_MAX = 1024 };

/* What the user named, the program, the recorder or the trace, is his to mend; what the system is
 * short of now is no reason to keep the program from running. */
static int short_of(struct run *self, int status)
{
	if (status == ERR_SYSTEM || status == ERR_MEMORY)
		self->result->go_without = true;
	return status;
}

/* ---- before the start ------------------------------------------------------------------------ */

static bool is_below_valgrind(const struct run_options *options)
{
	return options->access == RUN_ACCESS_VALGRIND;
}

/* What Valgrind is given becomes argv[0], by which programs call themselves: the name as the user
 * wrote it, where Valgrind finds the same file by it. The interpreter of a script has to open it
 * and needs the path. */
static const char *name_for_valgrind(const struct run *self)
{
	const struct program *program = &self->program;
	bool is_script = strcmp(program->path, program->binary) != 0;

	return is_script || program->path[0] != '/' || !getenv("PATH") ? program->path
								       : self->options->argv[0];
}

static int valgrind_ready(struct run *self, const char *folder, struct err *err)
{
	struct valgrind_options options = {
		.program = name_for_valgrind(self),
		.argv = self->options->argv,
		.coverage = has_flag(self, HW_RUN_COVERAGE),
		.functions = has_flag(self, HW_RUN_ROUTINES) || self->options->record.pools_count,
	};

	/* It cannot map its shadow there. */
	if (self->program.instrumented)
		return err_set(err, ERR_INPUT,
			       "--access valgrind: '%s' was built with 'heapwise "
			       "cc'; use --access exact",
			       self->program.binary);
	if (valgrind_find(&self->valgrind, folder, err) < 0)
		return err->code;
	return valgrind_prepare(&self->valgrind, &options, err);
}

/* Whether the recorder that also records accesses is to be loaded. */
static bool wants_access(const struct run *self)
{
	if (has_flag(self, HW_RUN_PAGES))
		return false;
	if (self->options->access == RUN_ACCESS_AUTO)
		return self->program.instrumented;
	return self->options->access == RUN_ACCESS_EXACT ||
	       self->options->access == RUN_ACCESS_ADAPTIVE;
}

/* The recorder that is linked into a program records allocations, and no second one can be put
 * before it. */
static int linked_suffices(const struct run *self, struct err *err)
{
	const char *wanted = has_flag(self, HW_RUN_PAGES) || wants_access(self) ||
					     is_below_valgrind(self->options)
				     ? "accesses"
			     : has_flag(self, HW_RUN_LISP) ? "Lisp objects"
							   : NULL;

	if (!self->program.linked || !wanted)
		return 0;
	return err_set(err, ERR_INPUT,
		       "'%s' has the recorder linked in, which cannot record %s; link it without "
		       "libheapwise.a",
		       self->program.binary, wanted);
}

/* What is loaded into the program, or what it runs below. */
static int recorder_find(struct run *self, struct err *err)
{
	const char *file = has_flag(self, HW_RUN_PAGES) ? "libheapwise-watch.so"
			   : wants_access(self)         ? "libheapwise-access.so"
			   : self->program.musl         ? "libheapwise-musl.so"
							: "libheapwise.so";
	struct layout layout = layout_of_machine();
	char folder[PARTS_PATH];

	parts_own_folder(folder);
	if (is_below_valgrind(self->options))
		return valgrind_ready(self, folder, err);
	if ((has_flag(self, HW_RUN_PAGES) || wants_access(self)) && layout_check(&layout, err) < 0)
		return ERR_INPUT;
	if (self->program.musl && (has_flag(self, HW_RUN_PAGES) || wants_access(self)))
		return err_set(err, ERR_INPUT,
			       "'%s' uses the C library musl, for which only allocations can be "
			       "recorded, not accesses; record without --access",
			       self->program.binary);
	if (self->options->start.recorder) {
		if (!realpath(self->options->start.recorder, self->recorder) ||
		    access(self->recorder, R_OK) != 0)
			return err_set(err, ERR_INPUT, "cannot read the recorder '%s': %s",
				       self->options->start.recorder, strerror(errno));
	} else if (!parts_find(folder, file, self->recorder)) {
		return err_set(err, ERR_INPUT, "cannot find %s in %.1000s or in %s beside it%s",
			       file, folder, parts_installed(),
			       self->program.musl ? "; it is built if musl-gcc is installed "
						    "(Debian, Ubuntu: apt-get install musl-tools)"
						  : "");
	}
	return parts_preloadable(self->recorder, err);
}

/* The library that knows ECL stands beside the recorder. */
static int preload_make(struct run *self, struct err *err)
{
	const char *slash = strrchr(self->recorder, '/');
	char library[4096 + sizeof(LISP_LIBRARY)];

	if (!has_flag(self, HW_RUN_LISP)) {
		snprintf(self->preload, sizeof(self->preload), "%s", self->recorder);
		return 0;
	}
	snprintf(library, sizeof(library), "%.*s/%s", slash ? (int)(slash - self->recorder) : 0,
		 self->recorder, LISP_LIBRARY);
	if (access(library, R_OK) < 0)
		return err_set(err, ERR_INPUT,
			       "--lisp ecl: this heapwise was built without " LISP_LIBRARY
			       "; install ECL's headers (Debian, Ubuntu: apt-get install "
			       "libecl-dev) and build heapwise again");
	snprintf(self->preload, sizeof(self->preload), "%.4000s:%.4100s", self->recorder, library);
	return 0;
}

static u32 flags_of(const struct run *self)
{
	const struct run_options *options = self->options;
	u32 flags = options->record.flags;

	if (!(flags & HW_RUN_ALLOC_STACKS))
		flags &= ~(u32)HW_RUN_FREE_STACKS;
	if (is_below_valgrind(options))
		flags &= ~(u32)(HW_RUN_DURATIONS | HW_RUN_TYPES | HW_RUN_LEAK_SCAN);
	if (!merge_can_claim())
		flags &= ~(u32)HW_RUN_LASTING;
	if (flags & HW_RUN_LISP)
		flags &= ~(u32)HW_RUN_LEAK_SCAN;
	if (!wants_access(self))
		return flags & ~(u32)HW_RUN_COVERAGE;
	return flags | (options->access == RUN_ACCESS_ADAPTIVE ? HW_RUN_ACCESS_ADAPTIVE
							       : HW_RUN_ACCESS_EXACT);
}

static int berths_make(struct run *self, struct err *err)
{
	const struct run_options *options = self->options;
	const struct run_owner *owner = options->owner;
	struct berths_options berths = options->record;

	berths.below = is_below_valgrind(options);
	berths.flags = flags_of(self);
	if (!berths.max_depth || berths.max_depth > DEPTH_MAX)
		berths.max_depth = DEPTH_MAX;
	if (owner && owner->dump) {
		self->dumper = (struct dumper){owner->dump, owner->dump_every, owner->self};
		berths.dumper = &self->dumper;
	}
	if (options->toggle.file)
		berths.paused = access(options->toggle.file, F_OK) != 0;
	self->drain.pause_command = self->drain.pause_obeyed = berths.paused;
	self->waiting.file_seen = !berths.paused;
	return berths_open(&self->berths, &berths, err);
}

static void launch_prepare(struct run *self)
{
	self->launch = (struct launch){
		.path = self->program.path,
		.argv = self->options->argv,
		.recorder = self->berths.lobby && !self->valgrind.argv ? self->preload : NULL,
		.session = self->berths.path,
		.root_pid = self->berths.lobby ? &self->berths.lobby->root_pid : NULL,
		.signals = &self->signals,
	};
	if (self->valgrind.argv) {
		self->launch.path = self->valgrind.launcher;
		self->launch.argv = self->valgrind.argv;
		self->launch.valgrind = self->valgrind.folder;
	}
}

/* The program's name is part of file names: only what is plain there is kept. */
static void name_make(struct run *self)
{
	const char *slash = strrchr(self->program.path, '/');

	snprintf(self->name, sizeof(self->name), "%.*s", (int)sizeof(self->name) - 1,
		 slash ? slash + 1 : self->program.path);
	for (char *at = self->name; *at; at++) {
		if ((unsigned char)*at <= ' ')
			*at = '_';
	}
}

/* result->output and the root's trace: a file, or with children a folder with one file each. */
static int output_name(struct run *self, struct err *err)
{
	const struct run_options *options = self->options;
	char *output = self->result->output;
	size_t room = sizeof(self->result->output);
	char *slash;
	int length;

	if (options->output.path)
		length = snprintf(output, room, "%s", options->output.path);
	else
		length = snprintf(output, room, "heapwise.%s.%d%s", self->name,
				  (int)self->launch.pid, options->record.children ? "" : ".hwt");
	if (length < 1 || (size_t)length >= room)
		return err_set(err, ERR_INPUT, "the output file's name is empty or too long");
	snprintf(self->waiting.folder, sizeof(self->waiting.folder), "%s", output);
	if (options->record.children) {
		length = snprintf(self->root->trace_path, sizeof(self->root->trace_path),
				  "%s/%s.%d.hwt", output, self->name, (int)self->launch.pid);
		if (length < 1 || (size_t)length >= sizeof(self->root->trace_path))
			return err_set(err, ERR_INPUT, "the output file's name is too long");
		return io_make_folder(output, 0700, err);
	}
	snprintf(self->root->trace_path, sizeof(self->root->trace_path), "%s", output);
	/* A file without a name: its disk is found by the descriptor itself. */
	if (strncmp(output, "/proc/self/fd/", 14) == 0)
		return 0;
	slash = strrchr(self->waiting.folder, '/');
	if (slash)
		slash[slash == self->waiting.folder] = 0;
	else
		snprintf(self->waiting.folder, sizeof(self->waiting.folder), ".");
	return 0;
}

static int trace_make(struct run *self, struct err *err)
{
	self->root = process_new((u32)self->launch.pid, (u32)getpid());
	if (!self->root)
		return short_of(self, err_memory(err));
	self->root->root = true;
	self->root->tap = self->options->owner ? self->options->owner->tap : NULL;
	self->root->summary = self->options->record.flags & HW_RUN_SUMMARY;
	if (self->options->output.none) {
		self->root->writer_state = WRITER_FAILED;
		snprintf(self->waiting.folder, sizeof(self->waiting.folder), "/");
		return 0;
	}
	if (output_name(self, err) < 0)
		return err->code;
	if (self->options->output.rotate.bytes || self->options->output.rotate.ns) {
		self->root->rotate = self->options->output.rotate;
		self->root->rotation = calloc(1, sizeof(*self->root->rotation));
		if (!self->root->rotation)
			return short_of(self, err_memory(err));
	}
	self->root->writer = trace_writer_open(self->root->trace_path,
					       &(struct trace_writer_options){
						       .fresh = !self->options->output.path ||
								self->options->record.children},
					       err);
	if (!self->root->writer)
		return short_of(self, err->code
					      ? err->code
					      : err_set(err, ERR_SYSTEM, "cannot write the trace"));
	self->root->writer_state = WRITER_OPEN;
	return 0;
}

static int threads_start(struct run *self, struct err *err)
{
	self->drain.berths = &self->berths;
	self->drain.fallback.program = self->program.path;
	self->drain.fallback.argv = self->options->argv;
	self->drain.processes = self->root;
	self->drain.max_size = self->options->output.max_size;
	self->waiting.drain = &self->drain;
	self->waiting.name = self->name;
	self->control.drain = &self->drain;
	self->waiting.control = &self->control;
	waiting_thread_measure_disk(&self->waiting);
	return drain_start(&self->drain, err);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* The trace of a program that did not start is of no use to anybody. A device that was named as
 * the output stays, of course. */
static void output_remove(struct run *self)
{
	struct stat status;

	if (lstat(self->root->trace_path, &status) == 0 && S_ISREG(status.st_mode))
		unlink(self->root->trace_path);
}

/* A recording without it is a recording all the same. */
static void server_start(struct run *self)
{
	struct err err = {0};

	if (control_server_start(&self->server, &self->control, &err) < 0)
		snprintf(self->result->control_problem, sizeof(self->result->control_problem),
			 "%.500s", err.text);
}

/* Lets the program go once its owner is ready. */
static int program_start(struct run *self, bool *started, struct err *err)
{
	const struct run_owner *owner = self->options->owner;

	if (owner && owner->start &&
	    owner->start(owner->self, &self->control, self->root->trace_path, err) < 0) {
		launch_cancel(&self->launch);
		return err->code;
	}
	*started = true;
	return short_of(self, launch_go(&self->launch, err));
}

static void owner_stop(struct run *self)
{
	const struct run_owner *owner = self->options->owner;

	if (owner && owner->stop)
		owner->stop(owner->self);
}

static int run_watched(struct run *self, struct err *err)
{
	u64 start = now_ns();
	bool started = false;
	int status;

	server_start(self);
	status = program_start(self, &started, err);
	if (status < 0)
		process_set_gone(self->root, IMAGE_DETACHED, 0);
	self->waiting.ended = status < 0;
	if (status < 0)
		store_relaxed(&self->drain.hold, 0);
	waiting_thread_run(&self->waiting);
	self->result->wait_status = self->waiting.wait_status;
	self->result->passed_signal = self->waiting.passed_signal;
	self->result->left_behind = self->waiting.left_behind && !self->options->record.children;
	self->result->duration_ns = now_ns() - start;
	if (started)
		owner_stop(self);
	control_server_stop(&self->server);
	drain_join(&self->drain);
	if (status < 0)
		return status;
	run_fill_result(self);
	run_tell_notes(self);
	return 0;
}

static int run_recorded(struct run *self, struct err *err)
{
	int status;

	if (recorder_find(self, err) < 0 || preload_make(self, err) < 0)
		return err->code;
	status = short_of(self, berths_make(self, err));
	if (status < 0)
		return status;
	if (!self->options->start.embedded) {
		waiting_thread_note_children(&self->waiting);
		self->drain.hold =
			prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && self->options->record.children;
	}
	launch_prepare(self);
	status = short_of(self, launch_fork(&self->launch, err));
	if (status < 0)
		goto close_berths;
	self->waiting.pid = self->launch.pid;
	status = trace_make(self, err);
	if (status == 0)
		status = short_of(self, threads_start(self, err));
	if (status == 0)
		status = run_watched(self, err);
	else
		launch_cancel(&self->launch);
	if (status < 0 && self->root && self->root->writer_state == WRITER_OPEN) {
		process_close_trace(self->root);
		output_remove(self);
	}
	if (status < 0 && self->options->record.children && self->result->output[0])
		rmdir(self->result->output); /* if it is empty */
	run_release_processes(self);
close_berths:
	if (status < 0 && !self->options->start.embedded)
		/* the program may be run without us, and nobody would reap */
		prctl(PR_SET_CHILD_SUBREAPER, 0);
	berths_close(&self->berths);
	return status;
}

static int run_unprofiled(struct run *self, struct err *err)
{
	u64 start = now_ns();

	owner_stop(self);
	launch_prepare(self);
	if (launch_plain(&self->launch, err) < 0)
		return err->code;
	self->waiting.pid = self->launch.pid;
	waiting_thread_run(&self->waiting);
	self->result->wait_status = self->waiting.wait_status;
	self->result->duration_ns = now_ns() - start;
	return 0;
}

/* An arena for each thread takes 64 MiB of addresses: where these are few (ulimit -v) all threads
 * share one. */
static void arenas_limit(const struct run_options *options)
{
	struct rlimit limit;

	if (!options->start.embedded && getrlimit(RLIMIT_AS, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		mallopt(M_ARENA_MAX, 1);
}

int monitor_run(const struct run_options *options, struct run_result *result, struct err *err)
{
	struct run *self = calloc(1, sizeof(*self));
	int status;

	memset(result, 0, sizeof(*result));
	err->code = 0;
	if (!self) {
		result->go_without = true;
		return err_memory(err);
	}
	arenas_limit(options);
	self->options = self->waiting.options = options;
	self->result = result;
	self->waiting.signals = &self->signals;
	self->signals.toggle = options->toggle.signal;
	status = program_find(&self->program, options->argv[0], err);
	if (status == 0 && options->start.recorder)
		program_take_emulator(&self->program, options->start.recorder);
	if (status == 0 && self->program.obstacle != PROGRAM_RECORDABLE &&
	    !options->start.allow_unprofiled)
		status = program_refuse(&self->program, err);
	if (status == 0)
		status = linked_suffices(self, err);
	result->accesses = wants_access(self) || is_below_valgrind(options);
	if (status == 0) {
		bool record =
			self->program.obstacle == PROGRAM_RECORDABLE && !options->start.unrecorded;

		name_make(self);
		launch_signals_take(&self->signals);
		status = record ? run_recorded(self, err) : run_unprofiled(self, err);
		launch_signals_restore(&self->signals);
	}
	if (status < 0)
		run_result_release(result);
	valgrind_release(&self->valgrind);
	vec_release(&self->waiting.inherited.pids);
	free(self);
	return status;
}
