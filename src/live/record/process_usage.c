/* SPDX-License-Identifier: MIT
 * Samples of a process's memory and CPU time, over its whole life. The waiting thread reads /proc,
 * the drain thread tells. The number of samples grows with the logarithm of the time: some 250 in
 * the first seconds, 2,000 in an hour, 4,000 in a month. Of samples that are not told one by one
 * the highest is told. */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/io.h"
#include "format/atomics.h"
#include "format/ticks.h"
#include "live/record/process.h"
#include "live/scan/resident.h"

enum { STEPS = 256 }; /* the interval is that part of the time so far */

static const u64 SAMPLE_NS_MIN = 10000000, SAMPLE_NS_MAX = 1000000000;
static const u64 LOOK_AGAIN_NS = 250000000, GAP_STEP = 1 << 20;
/* Regular looks are apart by this part of the time so far. */
static const u64 LOOK_PART = 16;
/* Marks that are looked at whatever that takes: somebody has chosen them. */
static const u64 MARKS_FREE = 10;

static u64 clamp(u64 value, u64 low, u64 high)
{
	return value < low ? low : value > high ? high : value;
}

static u64 cpu_count(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (u64)count : 1;
}

/* 0 = there is no such process. */
static u64 cpu_read(u32 pid)
{
	clockid_t clock;

	return clock_getcpuclockid((pid_t)pid, &clock) == 0 ? clock_ns(clock) : 0;
}

/* ---- waiting thread ---- */

static bool cpu_see(struct process *self, u64 now_ns)
{
	u64 cpu_ns = cpu_read(self->pid);

	if (!cpu_ns || cpu_ns < self->cpu_ns) /* it has gone, and another may have its number */
		return false;
	store_relaxed(&self->cpu_ns, cpu_ns);
	self->cpu_seen_ns = now_ns;
	return true;
}

void process_see_cpu(struct process *self) { cpu_see(self, clock_now().ns); }

void process_see_cpu_end(struct process *self)
{
	u64 now_ns = clock_now().ns;

	/* Whoever has reaped it was faster: since it was last seen it may have had all CPUs. */
	if (!cpu_see(self, now_ns) && self->cpu_ns)
		store_relaxed(&self->cpu_ns,
			      self->cpu_ns + (now_ns - self->cpu_seen_ns) * cpu_count());
}

u64 process_sample_usage(struct process *self, u64 now_ns, u64 least_ns)
{
	u64 interval = clamp((now_ns - self->start.ns) / STEPS, SAMPLE_NS_MIN, SAMPLE_NS_MAX);
	unsigned long long total = 0, resident = 0;
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct strbuf text = {0};
	char path[64];

	interval = interval < least_ns ? least_ns : interval;
	if (now_ns < self->usage_ns + interval)
		return self->usage_ns + interval;
	if (load_acquire(&self->usage_ready)) /* the drain thread sleeps: it hears of few events */
		return now_ns + SAMPLE_NS_MIN;
	self->usage_ns = now_ns;
	snprintf(path, sizeof(path), "/proc/%u/statm", self->pid);
	if (io_read_file(path, 256, &text, NULL) == 0 &&
	    sscanf(strbuf_text(&text), "%llu %llu", &total, &resident) == 2 && total) {
		self->usage.ticks = hw_ticks();
		self->usage.virtual_bytes = total * page;
		self->usage.rss_bytes = resident * page;
		cpu_see(self, now_ns);
		store_release(&self->usage_ready, 1);
	}
	strbuf_release(&text);
	return now_ns + interval;
}

/* ---- drain thread: looks ---- */

static u64 gap_of(const struct process *self)
{
	u64 live = process_live_bytes(self);

	return self->sampling.rss_bytes > live ? self->sampling.rss_bytes - live : 0;
}

/* None follows that at the end, with which the scan begins. */
static bool can_look(const struct process *self)
{
	return self->image && !self->image->resting && !self->scan && !self->scan_told;
}

/* A look takes milliseconds where there is much memory: at each new height, when more than ever is
 * resident beyond what is live, and regularly; but for at most a hundredth of the time. */
static bool look_is_due(const struct process *self, u64 now_ns)
{
	const struct sampling *seen = &self->sampling;

	if (!can_look(self) || now_ns < seen->look_ns)
		return false;
	return seen->rss_bytes > seen->looked_bytes + seen->looked_bytes / 50 ||
	       gap_of(self) > seen->looked_gap + seen->looked_gap / 10 + GAP_STEP ||
	       now_ns >= seen->look_again_ns;
}

void process_look(struct process *self, const struct berths *berths, u32 why)
{
	struct sampling *seen = &self->sampling;
	u64 begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), gap = gap_of(self), now_ns;
	struct err err = {0};

	/* Below Valgrind it would be Valgrind's memory. Where short lives are only counted nobody
	 * writes it down. */
	if (load_relaxed(&self->image->berth.control->access) == HW_ACCESS_VALGRIND ||
	    load_relaxed(&self->image->berth.control->flags) & HW_RUN_LASTING)
		return;
	if (resident_tell(&self->image->berth, berths, why, &self->sink, &err) < 0)
		process_fail(self, &err);
	now_ns = clock_now().ns;
	if (seen->rss_bytes > seen->looked_bytes)
		seen->looked_bytes = seen->rss_bytes;
	if (gap > seen->looked_gap)
		seen->looked_gap = gap;
	seen->look_ns = now_ns + 100 * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
	seen->look_again_ns = now_ns + clamp((now_ns - seen->from_ns) / LOOK_PART, LOOK_AGAIN_NS,
					     UINT64_MAX - now_ns);
}

/* The program has just passed a mark. */
static void look_at_mark(struct process *self, const struct berths *berths)
{
	struct sampling *seen = &self->sampling;
	u32 why = self->image ? self->image->marked : MEMORY_UNTOLD;

	if (!why)
		return;
	self->image->marked = MEMORY_UNTOLD;
	if (can_look(self) && (seen->marks++ < MARKS_FREE || clock_now().ns >= seen->look_ns))
		process_look(self, berths, why);
}

/* ---- drain thread: samples ---- */

static void highest_tell(struct process *self, u64 now_ns)
{
	struct sampling *seen = &self->sampling;
	struct err err = {0};

	if (self->image && seen->highest.ticks && self->sink.usage &&
	    self->sink.usage(self->sink.self, &seen->highest, &err) < 0)
		process_fail(self, &err);
	seen->highest = (struct stream_usage){0};
	seen->told_ns = now_ns;
}

void process_usage_begin(struct process *self, u64 exec_ns)
{
	u64 now_ns = clock_now().ns, base = self->sampling.cpu_base_ns, cpu_ns, since;

	if (exec_ns) { /* what the new image may have had already is not the old one's */
		cpu_ns = cpu_read(self->pid);
		since = now_ns > exec_ns ? (now_ns - exec_ns) * cpu_count() : 0;
		base = cpu_ns > since ? cpu_ns - since : 0;
	}
	self->sampling = (struct sampling){.from_ns = now_ns,
					   .look_again_ns = now_ns + LOOK_AGAIN_NS,
					   .rss_bytes = exec_ns ? 0 : self->sampling.rss_bytes,
					   .cpu_base_ns = base};
}

void process_usage_cycle(struct process *self, const struct berths *berths)
{
	struct sampling *seen = &self->sampling;
	u64 now_ns;

	look_at_mark(self, berths);
	if (!load_acquire(&self->usage_ready))
		return;
	now_ns = clock_now().ns;
	seen->rss_bytes = self->usage.rss_bytes;
	if (!seen->highest.ticks || self->usage.rss_bytes >= seen->highest.rss_bytes)
		seen->highest = self->usage;
	if (now_ns - seen->told_ns >= (now_ns - seen->from_ns) / STEPS)
		highest_tell(self, now_ns);
	if (look_is_due(self, now_ns))
		process_look(self, berths, MEMORY_REGULAR);
	store_release(&self->usage_ready, 0);
}

void process_usage_finish(struct process *self, struct stream_image_end *end)
{
	u64 cpu_ns = self->gone_seen ? load_relaxed(&self->cpu_ns) : cpu_read(self->pid);

	highest_tell(self, clock_now().ns);
	end->cpu_ns = cpu_ns > self->sampling.cpu_base_ns ? cpu_ns - self->sampling.cpu_base_ns : 0;
}
