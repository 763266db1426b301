/* SPDX-License-Identifier: MIT
 * What the commands show of a trace with accesses: the lines of dump, the fields of info and report. */
#include <unistd.h>

#include "test_trace.h"

static const char *const heapwise = HEAPWISE_BUILD_DIR "/heapwise";

/* Three chunks: one that was used, one that was never, one that was not measured. */
static void write_trace(const char *path, bool accesses)
{
	struct trace_writer *writer = writer_or_fail(path);
	struct stream_sink sink = trace_writer_sink(writer);
	struct stream_image image = {.pid = 1, .start_ticks = 1000, .start_ns = 1000,
				     .access = accesses ? ACCESS_EXACT : ACCESS_NONE,
				     .program = "/bin/prog", .command = "prog"};
	struct stream_thread thread = {.tid = 1};
	struct stream_clock clock = {.ticks = 3000, .ns = 5000}; /* two ns to the tick */
	struct stream_access rows[] = {
		{.chunk = 0, .first_ticks = 1100, .last_ticks = 1200, .reads = 3, .writes = 4,
		 .read_bytes = 12, .written_bytes = 32, .low = 8, .high = 24, .covered_bytes = 10,
		 .flags = ACCESS_SHARED | ACCESS_LOWER_BOUND},
		{.chunk = 1, .covered_bytes = UINT64_MAX},
	};
	struct stream_image_end end = {.ticks = 3000, .totals = {.allocations = 3, .bytes = 192,
								 .peak_bytes = 192,
								 .kept_chunks = 3,
								 .kept_bytes = 192}};

	sink.image(sink.self, &image, NULL);
	sink.thread(sink.self, &thread, NULL);
	sink.clock(sink.self, &clock, NULL);
	for (u64 i = 0; i < 3; i++)
		sink.events(sink.self,
			    &(struct event){.kind = HW_MALLOC, .ticks = 1001 + i, .chunk = i,
					    .address = 0x1000 + 64 * i, .size = 64},
			    1, NULL);
	if (accesses) {
		sink.accesses(sink.self, rows, 2, NULL);
		sink.note(sink.self, "access_checked", "400", NULL);
		sink.note(sink.self, "access_heap", "100", NULL);
	}
	sink.image_end(sink.self, &end, NULL);
	close_or_fail(writer);
}

/* What a command prints about the trace. */
static void output(const char *command, const char *path, struct strbuf *text)
{
	char line[8192], piece[4096];
	FILE *pipe;
	size_t got;

	snprintf(line, sizeof(line), "'%s' %s '%s' 2>&1", heapwise, command, path);
	strbuf_clear(text);
	pipe = popen(line, "r");
	if (!pipe)
		FAIL("cannot run %s", line);
	while ((got = fread(piece, 1, sizeof(piece), pipe)) > 0)
		strbuf_add_bytes(text, piece, got);
	CHECK_EQ(pclose(pipe), 0);
}

static void says(const struct strbuf *text, const char *words)
{
	if (!strstr(strbuf_text(text), words))
		FAIL("'%s' is not in: %s", words, strbuf_text(text));
}

TEST(shown, "dump, info and report show what was recorded of accesses")
{
	const char *path = test_path("trace");
	TEXT(text);

	if (access(heapwise, X_OK))
		_exit(77);
	write_trace(path, true);
	output("trace dump", path, &text);
	says(&text, "# image 0 pid 1 sample_bytes 0 access exact program /bin/prog\n");
	says(&text, "# access 0 first_ns 200 last_ns 400 reads 3 writes 4 read_bytes 12 "
		    "written_bytes 32 low 8 high 24 covered 10 flags shared+lower_bound accessed -\n"
		    "# access 1 first_ns - last_ns - reads 0 writes 0 read_bytes 0 "
		    "written_bytes 0 low 0 high 0 covered - flags - accessed -\n");
	output("trace info", path, &text);
	says(&text, "accesses          exact, 2 chunks\n");
	output("info --format json", path, &text);
	says(&text, "\"accesses\": \"exact, 2 chunks\"");
	says(&text, "\"access\": \"exact\"");
	says(&text, "\"access_chunks\": 2");
	output("report --format json", path, &text);
	says(&text, "\"mode\": \"exact\"");
	says(&text, "\"chunks\": 2,");
	says(&text, "\"reads\": 3,");
	says(&text, "\"writes\": 4,");
	says(&text, "\"never_bytes\": 64,");
	says(&text, "\"heap_share\": 0.25");
	output("report", path, &text);
	says(&text, "2  chunks measured (exact): 3 reads, 4 writes; 1 never accessed\n");
}

TEST(plain, "without accesses text says nothing of them, and JSON that they are unknown")
{
	const char *path = test_path("trace");
	TEXT(text);

	if (access(heapwise, X_OK))
		_exit(77);
	write_trace(path, false);
	output("report", path, &text);
	CHECK(!strstr(strbuf_text(&text), "accessed"));
	output("trace info", path, &text);
	CHECK(!strstr(strbuf_text(&text), "access"));
	output("trace dump", path, &text);
	CHECK(!strstr(strbuf_text(&text), "access"));
	output("report --format json", path, &text);
	says(&text, "\"mode\": \"none\"");
	says(&text, "\"heap_share\": null");
}
