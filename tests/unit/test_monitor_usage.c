/* SPDX-License-Identifier: MIT
 * Samples of a process's memory: how often, and which of them are told. */
#include <unistd.h>

#include "lib/test.h"
#include "live/record/process.h"

#define MS 1000000ull
#define HOUR (3600 * 1000 * MS)

/* Ourselves, as if recorded for that long. */
static struct process *process_of_age(u64 age_ns)
{
	struct process *self = process_new((u32)getpid(), 0);

	if (!self)
		FAIL("out of memory");
	self->start.ns = clock_now().ns - age_ns;
	self->sampling.from_ns = self->start.ns;
	return self;
}

TEST(interval, "samples are 10 ms apart at first, then a 256th of the time, a second at most; more with many processes")
{
	static const struct {
		u64 age_ns, least_ns, interval_ns;
	} rows[] = {
		{0, 0, 10 * MS},
		{2000 * MS, 0, 10 * MS},
		{25600 * MS, 0, 100 * MS},
		{HOUR, 0, 1000 * MS},
		{0, 70 * MS, 70 * MS},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct process *process = process_of_age(rows[i].age_ns);
		u64 now = process->start.ns + rows[i].age_ns;

		CHECK_EQ(process_sample_usage(process, now, rows[i].least_ns), now + rows[i].interval_ns);
		CHECK(process->usage_ready);
		CHECK(process->usage.rss_bytes > 0 && process->cpu_ns > 0);
		/* not yet; the interval has grown a little */
		process->usage_ready = 0;
		CHECK(process_sample_usage(process, now + MS, rows[i].least_ns) - (now + rows[i].interval_ns) < MS);
		CHECK(!process->usage_ready);
		process_free(process, NULL);
	}
}

struct heard {
	u64 count, rss_bytes;
};

static int hear(void *self, const struct stream_usage *usage, struct err *err)
{
	struct heard *heard = self;

	(void)err;
	heard->count++;
	heard->rss_bytes = usage->rss_bytes;
	return 0;
}

static void sample(struct process *process, u64 rss_bytes)
{
	process->usage = (struct stream_usage){.ticks = 1, .rss_bytes = rss_bytes};
	process->usage_ready = 1;
	process_usage_cycle(process, NULL);
	CHECK(!process->usage_ready);
}

TEST(thinned, "after an hour a sample is told every 14 s: the highest since the last one; and at the end what is left")
{
	struct process *process = process_of_age(HOUR);
	struct image image = {.resting = true}; /* nothing is looked at */
	struct stream_image_end end = {0};
	struct heard heard = {0};

	process->image = &image;
	process->sink = (struct stream_sink){.self = &heard, .usage = hear};
	process->sampling.told_ns = clock_now().ns - 1000 * MS;
	sample(process, 5000);
	sample(process, 9000);
	sample(process, 7000);
	CHECK_EQ(heard.count, 0);
	process->sampling.told_ns = clock_now().ns - 15000 * MS;
	sample(process, 8000);
	CHECK_EQ(heard.count, 1);
	CHECK_EQ(heard.rss_bytes, 9000);
	sample(process, 3000);
	CHECK_EQ(heard.count, 1);
	process_usage_finish(process, &end);
	CHECK_EQ(heard.count, 2);
	CHECK_EQ(heard.rss_bytes, 3000);
	CHECK(end.cpu_ns > 0);
	process->image = NULL;
	process_free(process, NULL);
}
