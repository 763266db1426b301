/* SPDX-License-Identifier: MIT
 * What is told to the trace writer is what the trace reader tells. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_trace.h"

static const struct trace_read_options all = {.image = TRACE_ALL_IMAGES, .strict = true};

static void check_round_trip(u32 images, u64 events, u64 seed)
{
	const char *path = test_path("trace");
	LOG(want);
	LOG(got);
	struct trace_info info;
	struct err err = {0};

	write_story(path, images, events, seed, &want);
	if (read_story(path, &all, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	check_same_log(&got, &want);
	CHECK_EQ(info.images, images);
	CHECK_EQ(info.events, want.events.count);
	CHECK_EQ(info.lost_names, 0);
	CHECK_EQ(info.lost_chunks, 0);
	CHECK_EQ(info.damaged_blocks, 0);
	CHECK(info.complete);
	CHECK(!info.has_symbols);
}

TEST(one_image, "a stream of one image comes back as it was told")
{
	for (u64 seed = 1; seed <= 20; seed++)
		check_round_trip(1, 20 + seed * 50, seed);
}

TEST(many_blocks, "a stream of several blocks of events comes back as it was told")
{
	check_round_trip(1, 300000, 77);
}

TEST(several_images, "a stream of several images comes back as it was told")
{
	check_round_trip(3, 70000, 5);
}

TEST(no_image, "a file without any image is a trace, and empty")
{
	check_round_trip(0, 0, 1);
}

TEST(many_contexts, "more contexts than a block holds come back in order")
{
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	LOG(want);
	LOG(got);
	TELLER(teller) = {.to = {trace_writer_sink(writer), log_sink(&want)}, .random = 9};
	struct trace_info info;
	struct err err = {0};

	tell_image(&teller, 0);
	for (u32 i = 0; i < 60000; i++)
		tell_contexts(&teller);
	close_or_fail(writer);
	if (read_story(path, &all, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	check_same_log(&got, &want);
	CHECK_EQ(info.lost_names, 0);
}

TEST(selected_image, "only the selected image is told, and notes on the whole file")
{
	const char *path = test_path("trace");
	LOG(want);
	LOG(got);
	LOG(last);
	struct trace_info info;
	struct err err = {0};

	write_story(path, 3, 1000, 3, &want);
	if (read_story(path, &(struct trace_read_options){.image = 1}, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	CHECK(strncmp(strbuf_text(&got.images), "pid 1001 ", 9) == 0);
	CHECK_EQ(got.events.count, want.events.count / 3);
	CHECK_STR(strbuf_text(&got.notes),
		  "before = all images\ninside = an image\nunrecorded_children = 3\n");
	read_story(path, &(struct trace_read_options){.image = TRACE_LAST_IMAGE}, &last, &info,
		   &err);
	CHECK(strncmp(strbuf_text(&last.images), "pid 1002 ", 9) == 0);
	CHECK(read_story(path, &(struct trace_read_options){.image = 3}, &last, &info, &err) < 0);
	CHECK(strstr(err.text, "has no image 3") != NULL);
}

/* Writes events until it is killed, after it has flushed the first `events`. */
static void write_until_killed(const char *path, u64 events)
{
	struct trace_writer *writer = writer_or_fail(path);
	LOG(unused);
	TELLER(teller) = {.to = {trace_writer_sink(writer), log_sink(&unused)},
			  .random = 11};
	struct err err = {0};

	tell_image(&teller, 0);
	tell_thread(&teller);
	tell_contexts(&teller);
	tell_events(&teller, events);
	trace_writer_flush(writer, &err);
	tell_events(&teller, 100);
	for (;;)
		pause();
}

static u64 events_in(const char *path)
{
	struct trace_reader *reader = trace_open(path, NULL);
	u64 events = reader ? trace_info(reader)->events : 0;

	trace_close(reader);
	return events;
}

TEST(killed_writer, "what was flushed before the writer was killed is readable")
{
	const char *path = test_path("trace");
	LOG(got);
	struct trace_info info;
	struct err err = {0};
	pid_t child = fork();

	if (child == 0)
		write_until_killed(path, 1234);
	while (events_in(path) < 1234)
		usleep(1000);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (read_story(path, &all, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	CHECK_EQ(got.events.count, 1234);
	CHECK_EQ(info.lost_names, 0);
	CHECK(!info.complete);
}

static int stop_at_events(void *self, const struct event *events, u64 count, struct err *err)
{
	(void)self, (void)events, (void)count;
	return err_set(err, ERR_USAGE, "enough");
}

TEST(sink_stops, "a sink that returns an error stops the reading with that error")
{
	const char *path = test_path("trace");
	struct stream_sink sink = {.events = stop_at_events};
	struct trace_reader *reader;
	LOG(want);
	struct err err = {0};

	write_story(path, 1, 1000, 3, &want);
	reader = trace_open(path, &err);
	CHECK_EQ(trace_read(reader, &all, &sink, &err), ERR_USAGE);
	CHECK_STR(err.text, "enough");
	trace_close(reader);
}

TEST(small_queue, "a queue of one byte delays the writer and loses nothing")
{
	const char *path = test_path("trace");
	struct trace_writer_options options = {.queue_bytes = 1, .level = 3};
	struct err err = {0};
	struct trace_writer *writer = trace_writer_open(path, &options, &err);
	LOG(want);
	LOG(got);
	TELLER(teller) = {.to = {trace_writer_sink(writer), log_sink(&want)}, .random = 4};
	struct trace_info info;

	for (u32 i = 0; i < 20; i++)
		tell_whole_image(&teller, i, 500);
	close_or_fail(writer);
	read_story(path, &all, &got, &info, &err);
	check_same_log(&got, &want);
}

TEST(bad_event, "an event that breaks the contract is refused")
{
	struct trace_writer *writer = writer_or_fail(test_path("trace"));
	struct stream_sink sink = trace_writer_sink(writer);
	struct event skipped = {.kind = HW_MALLOC, .chunk = 1};
	struct event unknown = {.kind = HW_KIND_COUNT};
	struct err err = {0};

	sink.image(sink.self, &(struct stream_image){0}, &err);
	CHECK_EQ(sink.events(sink.self, &skipped, 1, &err), ERR_INPUT);
	CHECK_STR(err.text, "chunk 1 is out of order; expected 0");
	CHECK_EQ(sink.events(sink.self, &unknown, 1, &err), ERR_INPUT);
	close_or_fail(writer);
}

/* Mostly as memory is: by address, whole pages, few, and of a known kind. */
static struct stream_resident draw_row(u64 *random, u64 number)
{
	u64 r = *random = *random * 6364136223846793005ull + 1442695040888963407ull;

	u64 unit = r >> 60 == 6 ? 1 : STREAM_PAGE;

	return (struct stream_resident){
		.start = r >> 60 == 1 ? -(1 + (r >> 40) % 300) * unit : (number * 100 + (r >> 33) % 150) * unit,
		.bytes = r >> 60 == 2 ? -(1 + (r >> 40) % 300) * unit : (r >> 20) % 120 * unit,
		.resident_bytes = (r >> 25) % (r >> 60 == 3 ? 200 : 20),
		.kind = (u32)(r >> 45) % (r >> 60 == 4 ? 2 * MEMORY_KINDS : MEMORY_KINDS),
		.goes_on = (u32)(r >> 50) % (r >> 60 == 5 ? 3 : 2),
	};
}

/* The same of a block in a cache, of which half break the rules. */
static struct stream_cached draw_cached(u64 *random, u64 number)
{
	u64 r = *random = *random * 6364136223846793005u + 1442695040888963407u;

	return (struct stream_cached){
		.address = r >> 60 == 1 ? UINT64_MAX - (r >> 40) % 300 : number * 160 + (r >> 33) % 20 * 8,
		.bytes = r >> 60 == 2 ? UINT32_MAX - (u32)(r >> 40) % 300 : (u32)(r >> 20) % 20 * 8,
		.tid = (u32)r,
	};
}

TEST(memory_rows, "whatever rows of memory are told, what was written is read without damage")
{
	u64 told = 0, cached_told = 0;

	for (u64 seed = 1; seed <= 100; seed++) {
		const char *path = test_path("trace");
		struct trace_writer *writer = writer_or_fail(path);
		struct stream_sink sink = trace_writer_sink(writer);
		struct stream_resident rows[40];
		struct stream_cached cached[40];
		struct stream_memory memory = {.rows = rows, .count = 40, .cached = cached, .cached_count = 40, .caches_read = 2};
		LOG(got);
		struct trace_info info;
		struct err err = {0};
		u64 random = seed;

		for (u64 i = 0; i < memory.count; i++)
			rows[i] = draw_row(&random, i);
		for (u64 i = 0; i < memory.cached_count; i++)
			cached[i] = draw_cached(&random, i);
		sink.image(sink.self, &(struct stream_image){0}, &err);
		CHECK_EQ(sink.memory(sink.self, &memory, &err), 0);
		close_or_fail(writer);
		if (read_story(path, &all, &got, &info, &err) < 0)
			FAIL("seed %u: %s", (u32)seed, err.text);
		CHECK_EQ(info.damaged_blocks, 0);
		told += strlen(strbuf_text(&got.usages));
		cached_told += strstr(strbuf_text(&got.usages), " caches 2/0 ") != NULL;
	}
	CHECK(told > 100 * 100); /* most rows are there */
	CHECK_EQ(cached_told, 100);
}

static bool last_share(void *self, double share)
{
	double *last = self;

	CHECK(share >= *last);
	*last = share;
	return true;
}

static bool half(void *self, double share)
{
	*(double *)self = share;
	return share < 0.5;
}

TEST(stopping, "reading ends when nobody waits for it any more")
{
	const char *path = test_path("trace");
	double last = 0;
	struct trace_read_options options = {
		.image = TRACE_ALL_IMAGES, .progress = half, .progress_self = &last};
	LOG(want);
	LOG(got);
	struct trace_info info;
	struct err err = {0};

	write_story(path, 2, 1000, 3, &want);
	CHECK_EQ(read_story(path, &options, &got, &info, &err), ERR_SYSTEM);
	CHECK(last >= 0.5 && last < 1);
}

TEST(progress, "progress rises to 1")
{
	const char *path = test_path("trace");
	double last = 0;
	struct trace_read_options options = {
		.image = TRACE_ALL_IMAGES, .progress = last_share, .progress_self = &last};
	LOG(want);
	LOG(got);
	struct trace_info info;
	struct err err = {0};

	write_story(path, 2, 1000, 3, &want);
	read_story(path, &options, &got, &info, &err);
	CHECK(last == 1.0);
}
