/* SPDX-License-Identifier: MIT
 * Has a stopped process copied; see fork.h. Runs on a scan's thread. Writes nothing into the
 * program but the recorder's struct hw_fork_frame, and that before the thread is sent there: from
 * then on the thread finds its way back alone. */
#define _GNU_SOURCE
#include "live/scan/fork.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "format/atomics.h"
#include "host/base/clock.h"
#include "host/base/io.h"
#include "live/scan/arch/arch.h"
#include "live/scan/arch/fork.h"

static const u64 LIMIT_NS = 2000000000; /* for all of it */
static const u64 PIECES_MAX = 64 << 20; /* bytes */

enum {
	RSEQ_ASK = 0x420f, /* PTRACE_GET_RSEQ_CONFIGURATION, of Linux 5.13 */
	CALL_STOP = 0x80 | SIGTRAP,
	NAP_NS = 20000,
};

struct rseq_place { /* as PTRACE_GET_RSEQ_CONFIGURATION fills it */
	u64 address;
	u32 bytes, signature, flags, pad;
};
struct rseq_section {
	u32 version, flags;
	u64 start, bytes, abort;
};

/* ---- the thread that makes it ---------------------------------------------------------------- */

/* In the midst of a sequence that the kernel begins again when the thread was elsewhere. */
static bool is_in_sequence(struct scan_memory *memory, const struct scan_thread *thread)
{
	struct rseq_section section;
	struct rseq_place place = {0};
	u64 at = 0;

	if (ptrace((enum __ptrace_request)RSEQ_ASK, (pid_t)thread->tid, (void *)sizeof(place),
		   &place) < 0)
		return true; /* who knows */
	if (!place.address)
		return false;
	if (!scan_memory_read(memory, place.address + 8, &at, sizeof(at)))
		return true;
	return at && (!scan_memory_read(memory, at, &section, sizeof(section)) ||
		      thread->code - section.start < section.bytes);
}

static bool can_be_sent(u32 pid, u32 tid)
{
	struct scan_memory memory = SCAN_MEMORY_CLOSED;
	struct scan_thread thread = {.tid = tid};

	memory.pid = pid;
	memory.tid = tid;
	return !scan_arch_is_end(scan_arch_syscall(tid)) && fork_arch_can(tid) &&
	       (fork_arch_is_still(tid) ||
		(scan_arch_registers(&thread) && !is_in_sequence(&memory, &thread)));
}

/* One that is in a system call, if there is any. 0 = none can. */
static u32 thread_choose(const struct tracer *tracer)
{
	u32 found = 0;

	for (u64 i = 0; i < tracer->threads.count; i++) {
		const struct tracee *thread = &tracer->threads.data[i];

		if (!thread->stopped || !can_be_sent(tracer->pid, thread->tid))
			continue;
		if (fork_arch_is_still(thread->tid))
			return thread->tid;
		if (!found)
			found = thread->tid;
	}
	return found;
}

/* The last word of a line of /proc that begins with the key; "" if there is none. */
static void status_word(u32 pid, u32 tid, const char *key, char word[16])
{
	struct strbuf text = {0};
	const char *at, *end;
	char path[80];

	*word = 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	if (io_read_file(path, 65536, &text, NULL) == 0 && (at = strstr(strbuf_text(&text), key))) {
		end = strchrnul(at + 1, '\n');
		at = end;
		while (at > text.text && at[-1] != '\t' && at[-1] != '\n')
			at--;
		snprintf(word, 16, "%.*s", (int)(end - at), at);
	}
	strbuf_release(&text);
}

static int thread_check(u32 pid, u32 tid, struct err *err)
{
	char word[16];

	if (!tid)
		return err_set(err, ERR_SYSTEM, "no thread can be used to copy the memory");
	status_word(pid, tid, "\nSeccomp:", word);
	if (strcmp(word, "0") != 0)
		return err_set(err, ERR_SYSTEM, "the program has a seccomp filter");
	status_word(pid, tid, "\nNSpid:", word);
	if (strcmp(word, "1") == 0)
		return err_set(err, ERR_SYSTEM, "the program adopts orphaned processes");
	return 0;
}

static bool frame_write(u32 tid, u64 address, struct hw_fork_frame *frame)
{
	struct iovec local = {frame, sizeof(*frame)};
	struct iovec remote = {(void *)(uintptr_t)address, sizeof(*frame)};

	return process_vm_writev((pid_t)tid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(*frame);
}

/* From the second step of these on the thread is on its way, with or without us. */
static int thread_send(u32 tid, const struct hw_control *control, struct err *err)
{
	const long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACESYSGOOD;
	struct hw_fork_frame frame = {.all = UINT64_MAX};
	u64 code = load_relaxed(&control->fork_code), all = UINT64_MAX;

	if (!code || !load_relaxed(&control->fork_frame))
		return err_set(err, ERR_SYSTEM, "the recorder has no code for it");
	if (ptrace(PTRACE_GETSIGMASK, (pid_t)tid, (void *)sizeof(frame.mask), &frame.mask) < 0 ||
	    !fork_arch_fill(tid, &frame) ||
	    !frame_write(tid, load_relaxed(&control->fork_frame), &frame) ||
	    ptrace(PTRACE_SETOPTIONS, (pid_t)tid, NULL, (void *)options) < 0 ||
	    !fork_arch_send(tid, code))
		return err_set(err, ERR_SYSTEM, "the program's thread could not be used: %s",
			       strerror(errno));
	ptrace(PTRACE_SETSIGMASK, (pid_t)tid, (void *)sizeof(all), &all);
	ptrace(PTRACE_SYSCALL, (pid_t)tid, NULL, NULL);
	return 0;
}

/* ---- the way --------------------------------------------------------------------------------- */

struct forking {
	u32 thread;  /* of the program */
	u32 between; /* the process that forks the copy, 0 = not there yet */
	u32 copy;
	u32 copy_stops;
	bool back;    /* the thread is about to go back, and stands still */
	bool ready;   /* the copy is as it stays */
	bool refused; /* it will not be */
	bool gone;    /* the program was killed */
	i64 result;   /* of the thread's fork */
};

static u32 child_of(u32 pid)
{
	unsigned long child = 0;

	return ptrace(PTRACE_GETEVENTMSG, (pid_t)pid, NULL, &child) == 0 ? (u32)child : 0;
}

static void thread_stops(struct forking *self, int status)
{
	int event = status >> 8, signal = event || status == CALL_STOP ? 0 : status & 0xff;

	if (event == PTRACE_EVENT_EXIT) {
		self->gone = true;
		return;
	}
	if (event == PTRACE_EVENT_VFORK)
		self->between = child_of(self->thread);
	if (status == CALL_STOP && fork_arch_is_last(self->thread)) {
		self->back = true;
		return;
	}
	if (status == CALL_STOP && scan_arch_syscall(self->thread) == SYS_clone)
		self->result = fork_arch_result(self->thread);
	ptrace(PTRACE_SYSCALL, (pid_t)self->thread, NULL, (void *)(long)signal);
}

static void between_stops(struct forking *self, int status)
{
	int event = status >> 8;

	if (event == PTRACE_EVENT_CLONE)
		self->copy = child_of(self->between);
	if (event == PTRACE_EVENT_EXIT && !self->copy)
		self->refused = true;
	ptrace(event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_EXIT ? PTRACE_DETACH
									 : PTRACE_CONT,
	       (pid_t)self->between, NULL, NULL);
}

/* Its first stop, and the beginning and the end of its one system call. */
static void copy_stops(struct forking *self)
{
	if (++self->copy_stops == 1)
		ptrace(PTRACE_SETOPTIONS, (pid_t)self->copy, NULL, (void *)PTRACE_O_EXITKILL);
	if (self->copy_stops < 3)
		ptrace(PTRACE_SYSCALL, (pid_t)self->copy, NULL, NULL);
	else if (fork_arch_result(self->copy) == 0)
		self->ready = true;
	else
		self->refused = true;
}

/* The status of a stop that was not seen yet; 0 = none, negative = it has ended. */
static int stop_of(u32 pid)
{
	siginfo_t info = {0};

	if (!pid)
		return 0;
	if (waitid(P_PID, (id_t)pid, &info,
		   WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL | __WNOTHREAD) < 0)
		return errno == EINTR ? 0 : -1;
	if (!info.si_pid)
		return 0;
	if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
		return -1;
	waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD);
	return info.si_status;
}

/* Whether anything has happened. */
static bool way_step(struct forking *self)
{
	int thread = self->back ? 0 : stop_of(self->thread), between = stop_of(self->between);
	int copy = self->ready ? 0 : stop_of(self->copy);

	if (thread > 0)
		thread_stops(self, thread);
	self->gone |= thread < 0;
	if (between > 0)
		between_stops(self, between);
	if (between < 0)
		self->refused |= !self->copy;
	if (copy > 0)
		copy_stops(self);
	self->refused |= copy < 0;
	return thread > 0 || between > 0 || copy > 0;
}

static bool way_is_over(const struct forking *self)
{
	return self->gone || (self->back && (self->ready || self->refused || !self->between));
}

static void way_follow(struct forking *self)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	u64 limit = now_ns() + LIMIT_NS;

	while (!way_is_over(self) && now_ns() < limit)
		if (!way_step(self))
			nanosleep(&nap, NULL);
}

static void kill_one(u32 pid)
{
	siginfo_t info;

	if (!pid)
		return;
	kill((pid_t)pid, SIGKILL);
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | __WALL | __WNOTHREAD) < 0 &&
	       errno == EINTR) {
	}
}

static int way_failed(struct forking *self, bool *lost, struct err *err)
{
	/* something has stopped on the way: without the others the thread goes back */
	if (!way_is_over(self)) {
		if (self->between)
			kill((pid_t)self->between, SIGKILL);
		self->refused = true;
		way_follow(self);
	}
	kill_one(self->copy);
	*lost = !self->back;
	if (self->gone)
		return err_set(err, ERR_SYSTEM, "the process was killed during the scan");
	if (self->result < 0)
		return err_set(err, ERR_SYSTEM, "a process could not be made: %s",
			       strerror((int)-self->result));
	if (!self->between && self->back)
		return err_set(err, ERR_SYSTEM, "the program adopts orphaned processes");
	return err_set(err, ERR_SYSTEM, "the memory could not be copied");
}

int scan_fork_make(struct scan_fork *self, struct tracer *tracer, const struct hw_control *control,
		   bool *lost, struct err *err)
{
	struct forking way = {.thread = thread_choose(tracer)};

	*lost = false;
	if (thread_check(tracer->pid, way.thread, err) < 0 ||
	    thread_send(way.thread, control, err) < 0)
		return err->code;
	way_follow(&way);
	if (!way.back || !way.ready)
		return way_failed(&way, lost, err);
	self->pid = way.copy;
	return 0;
}

/* ---- what it lacks --------------------------------------------------------------------------- */

struct completing {
	struct scan_fork *to;
	struct scan_memory *memory;
	u64 left;
};

static void run_copy(void *data, u64 start, u64 end)
{
	struct completing *self = data;
	struct scan_piece piece = {.start = start, .bytes = end - start};

	piece.words = piece.bytes <= self->left ? malloc(piece.bytes) : NULL;
	if (!piece.words) {
		self->to->missing_bytes += piece.bytes;
		return;
	}
	if (!scan_memory_read(self->memory, start, piece.words, piece.bytes) ||
	    !vec_push(&self->to->pieces, piece)) {
		self->to->missing_bytes += piece.bytes;
		free(piece.words);
		return;
	}
	self->left -= piece.bytes;
}

static bool is_lacking(const struct scan_memory *copy, const struct mapping *mapping)
{
	const struct mapping *same = scan_memory_mapping(copy, mapping->start);

	if (!mapping->readable || !mapping->writable || mapping->kind == MAPPING_DEVICE ||
	    mapping->kind == MAPPING_KERNEL || mapping->kind == MAPPING_SESSION)
		return false;
	return mapping->shared || !same || same->end < mapping->end;
}

void scan_fork_complete(struct scan_fork *self, struct scan_memory *memory)
{
	struct completing completing = {self, memory, PIECES_MAX};
	struct page_runs runs = {run_copy, &completing, false};
	struct scan_memory copy = SCAN_MEMORY_CLOSED;
	struct err err = {0};
	int pagemap = memory->pagemap, mem = memory->mem;

	if (scan_memory_open(&copy, self->pid, self->pid, NULL, &err) < 0)
		return;
	for (u64 i = 0; i < memory->mappings.count; i++) {
		const struct mapping *mapping = &memory->mappings.data[i];

		if (is_lacking(&copy, mapping) &&
		    !scan_memory_resident(memory, mapping->start, mapping->end, &runs))
			run_copy(&completing, mapping->start, mapping->end);
	}
	memory->pid = memory->tid = self->pid;
	memory->pagemap = copy.pagemap;
	memory->mem = copy.mem;
	copy.pagemap = pagemap;
	copy.mem = mem;
	scan_memory_close(&copy);
}

u64 scan_fork_each_word(const struct scan_fork *self, u64 start, u64 end,
			void (*words)(void *data, u64 address, const u64 *words, u64 count),
			void *data)
{
	u64 bytes = 0;

	for (u64 i = 0; i < self->pieces.count; i++) {
		const struct scan_piece *piece = &self->pieces.data[i];
		u64 from = start > piece->start ? (start + 7) & ~7ull : piece->start;
		u64 to = piece->start + piece->bytes < end ? piece->start + piece->bytes : end;

		if (from + 8 > to)
			continue;
		words(data, from, piece->words + (from - piece->start) / 8, (to - from) / 8);
		bytes += to - from;
	}
	return bytes;
}

void scan_fork_end(struct scan_fork *self)
{
	kill_one(self->pid);
	for (u64 i = 0; i < self->pieces.count; i++)
		free(self->pieces.data[i].words);
	vec_release(&self->pieces);
	*self = (struct scan_fork){0};
}
