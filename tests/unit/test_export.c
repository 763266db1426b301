/* SPDX-License-Identifier: MIT
 * Exports of hand-made heaps: sums, sampling, names that want to break a format, stacks that are missing,
 * cut, recursive or very deep; and the wire format of Protocol Buffers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "show/formats/export.h"
#include "show/formats/measured.h"
#include "show/formats/proto.h"
#include "unit/test_analysis.h"

typedef int writer(const struct export_job *job, FILE *out, struct err *err);

static const struct {
	const char *name;
	writer *write;
} writers[] = {
	{"pprof", pprof_export},       {"folded", folded_export},
	{"dhat", dhat_export},         {"csv", csv_export},
	{"jsonl", jsonl_export},       {"speedscope", speedscope_export},
	{"massif", massif_export},     {"callgrind", callgrind_export},
	{"perfetto", perfetto_export}, {"firefox", firefox_export},
	{"dot", dot_export},           {"sqlite", sqlite_export},
};
enum { WRITERS = sizeof(writers) / sizeof(writers[0]) };

static struct export_job job_of(const struct feed *feed, const struct symbol_table *symbols)
{
	return (struct export_job){.path = "test.hwt",
				   .stacks = {.model = feed->model, .symbols = symbols}};
}

/* What the writer puts out, to be freed. */
static char *written(struct export_job *job, writer *write, size_t *size)
{
	static char path[4096];
	char *text = NULL;
	struct err err = {0};
	FILE *out = open_memstream(&text, size);

	snprintf(path, sizeof(path), "%s/database", test_folder());
	unlink(path);
	job->file = path;
	if (!out || write(job, out, &err) < 0)
		FAIL("%s", err.text);
	fclose(out);
	return text;
}

static void write_all(struct export_job *job)
{
	for (u32 i = 0; i < WRITERS; i++) {
		size_t size = 0;
		char *text = written(job, writers[i].write, &size);

		CHECK(size > 0 || strcmp(writers[i].name, "sqlite") == 0 ||
		      job->stacks.model->chunks.count == 0);
		free(text);
	}
}

static u64 count_of(const char *text, const char *part)
{
	u64 count = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		count++;
	return count;
}

/* main calls inner twice, one of the two chunks is kept; then main itself. */
static struct feed small_heap(void)
{
	struct feed feed = feed_new();
	u64 chunk;

	tell_functions(&feed, 1);
	tell_context(&feed, 2, 1, pc_of(PROGRAM_BASE, 2));
	tell_thread(&feed, 0);
	chunk = tell_alloc(&feed, HW_MALLOC, 2, 100);
	tell_free(&feed, HW_FREE, chunk, 100);
	tell_alloc(&feed, HW_MALLOC, 2, 30);
	tell_alloc(&feed, HW_MALLOC, 1, 7);
	tell_end(&feed, IMAGE_EXITED);
	return feed;
}

static const char *const small_names[] = {"main", "inner"};

TEST(folded_text, "folded stacks have a line for each stack, outermost function first")
{
	struct symbol_frame frames[2];
	struct symbol_entry entries[2];
	struct symbol_table symbols = named_table(small_names, 2, frames, entries);
	struct feed feed = small_heap();
	struct export_job job = job_of(&feed, &symbols);
	static const char *const wanted[EXPORT_METRICS] = {"main 7\nmain;inner 130\n",
							   "main 1\nmain;inner 2\n",
							   "main;inner 100\n",
							   "main 7\nmain;inner 30\n",
							   "main;inner 1\n"};

	for (u32 metric = 0; metric < EXPORT_METRICS; metric++) {
		size_t size;
		char *text;

		job.metric = (enum export_metric)metric;
		text = written(&job, folded_export, &size);
		/* nodes are in the order of the first stack, main;inner, whose parent comes first */
		CHECK_STR(text, wanted[metric]);
		free(text);
	}
	model_free(feed.model);
}

TEST(csv_text, "each chunk is a line with the columns that are documented")
{
	struct symbol_frame frames[2];
	struct symbol_entry entries[2];
	struct symbol_table symbols = named_table(small_names, 2, frames, entries);
	struct feed feed = small_heap();
	struct export_job job = job_of(&feed, &symbols);
	size_t size;
	char *text = written(&job, csv_export, &size);

	CHECK(strncmp(text, "chunk,address,size,kind,alloc_ns,free_ns,end,", 45) == 0);
	CHECK_EQ(count_of(text, "\n"), 4);
	CHECK(strstr(
		text,
		"\n0,0x1000,100,malloc,10,20,freed,100,100,0,1,0,inner,src/prog.c,,/bin/prog,"));
	CHECK(strstr(text, "\n2,0x1020,7,malloc,40,,kept,100,,,1,1,main,"));
	free(text);
	model_free(feed.model);
}

TEST(every_format_of_little,
     "programs without allocations, without names and without stacks are written")
{
	struct feed empty = feed_new(), bare = feed_new();
	struct export_job job = job_of(&empty, NULL);

	tell_end(&empty, IMAGE_EXITED);
	write_all(&job);
	tell_thread(&bare, 0);
	tell_alloc(&bare, HW_MALLOC, 0, 10);
	job = job_of(&bare, NULL);
	model_finish(bare.model); /* the recording breaks off */
	write_all(&job);
	model_free(empty.model);
	model_free(bare.model);
}

/* A name of 20,000 characters among them. */
static const char *const *nasty_names(void)
{
	static char endless[20001];
	static const char *names[] = {"<img src=x onerror=alert(1)>",
				      "semi;colon \"quote\" \\ back\n",
				      "caf\xc3\xa9 \xff\xfe broken \xc3",
				      "# comment, n9: 12",
				      endless,
				      "\x1b[31mred\x07"};

	memset(endless, 'x', sizeof(endless) - 1);
	return names;
}

TEST(nasty, "names that want to break a format do not")
{
	enum { COUNT = 6 };
	struct symbol_frame frames[COUNT];
	struct symbol_entry entries[COUNT];
	struct symbol_table symbols = named_table(nasty_names(), COUNT, frames, entries);
	struct feed feed = feed_new();
	struct export_job job = job_of(&feed, &symbols);
	size_t size;
	char *text;

	tell_functions(&feed, COUNT);
	tell_thread(&feed, 0);
	for (u32 i = 1; i <= COUNT; i++)
		tell_alloc(&feed, HW_MALLOC, i, 10 * i);
	tell_end(&feed, IMAGE_EXITED);
	write_all(&job);
	text = written(&job, folded_export, &size);
	CHECK_EQ(count_of(text, "\n"), COUNT);
	CHECK_EQ(count_of(text, ";"), 0);
	CHECK_EQ(count_of(text, "\x1b"), 0);
	free(text);
	for (u32 i = 0; i < WRITERS; i++) {
		bool json = strcmp(writers[i].name, "dhat") == 0 ||
			    strcmp(writers[i].name, "jsonl") == 0 ||
			    strcmp(writers[i].name, "speedscope") == 0 ||
			    strcmp(writers[i].name, "firefox") == 0;

		text = written(&job, writers[i].write, &size);
		if (json) {
			CHECK_EQ(count_of(text, "\xff"), 0);
			CHECK_EQ(count_of(text, "\x1b"), 0);
			CHECK(strstr(text, "semi;colon \\\"quote\\\" \\\\ back\\n"));
		}
		free(text);
	}
	text = written(&job, massif_export, &size);
	CHECK(!strstr(text, ": # comment")); /* ms_print cuts lines there */
	free(text);
	model_free(feed.model);
}

TEST(deep, "a stack of 50,000 frames is written whole, or cut where the format says so")
{
	enum { DEPTH = 50000 };
	struct feed feed = feed_new();
	struct export_job job = job_of(&feed, NULL);
	size_t size;
	char *text;

	tell_functions(&feed, 1);
	for (u32 i = 2; i <= DEPTH; i++)
		tell_context(&feed, i, i - 1, pc_of(PROGRAM_BASE, i % 4000));
	tell_thread(&feed, 0);
	tell_alloc(&feed, HW_MALLOC, DEPTH, 10);
	tell_end(&feed, IMAGE_EXITED);
	write_all(&job);
	text = written(&job, folded_export, &size);
	CHECK_EQ(count_of(text, ";"), DEPTH - 1);
	free(text);
	model_free(feed.model);
}

TEST(recursion, "a call that a stack passes several times counts once, and sums stay the sums")
{
	struct feed feed = feed_new();
	struct export_job job = job_of(&feed, NULL);
	struct measured_calls sums = {0};
	struct err err = {0};

	tell_functions(&feed, 1);
	for (u32 i = 2; i <= 9; i++)
		tell_context(&feed, i, i - 1, pc_of(PROGRAM_BASE, 1)); /* f calls f calls f … */
	tell_thread(&feed, 0);
	tell_alloc(&feed, HW_MALLOC, 9, 10);
	tell_alloc(&feed, HW_MALLOC, 1, 5);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(measured_calls_build(&sums, &job, true, &err), 0);
	CHECK_EQ(sums.calls.count, 1);
	CHECK_EQ(sums.calls.data[0].sum.of[EXPORT_BYTES], 10);
	CHECK_EQ(sums.sum.of[EXPORT_BYTES], 15);
	CHECK_EQ(sums.lines.data[0].sum.of[EXPORT_BYTES], 15);
	CHECK_EQ(sums.within.data[sums.lines.data[0].function].of[EXPORT_BYTES], 15);
	measured_calls_release(&sums);
	model_free(feed.model);
}

TEST(sampled, "estimates of points add up to the estimate of the whole")
{
	struct feed feed = feed_new();
	struct export_sum sums[EXPORT_METRICS] = {{0}};
	u64 values[EXPORT_METRICS], allocations = 0;

	tell_image(&feed, 1000);
	tell_functions(&feed, 50);
	tell_thread(&feed, 0);
	for (u32 i = 1; i <= 50; i++)
		tell_alloc(&feed, HW_MALLOC, i, 700 + i);
	tell_end(&feed, IMAGE_EXITED);
	for (u64 i = 0; i < feed.model->points.count; i++) {
		export_values(feed.model, &feed.model->points.data[i], sums, values);
		allocations += values[EXPORT_ALLOCS];
	}
	CHECK_EQ(feed.model->points.count, 50);
	CHECK(allocations > 50);
	CHECK_EQ(allocations, model_count(feed.model, feed.model->totals.allocations));
	model_free(feed.model);
}

TEST(full_disk, "what cannot be written is an error of the stream or of the writer, never a crash")
{
	struct feed feed = small_heap();
	struct export_job job = job_of(&feed, NULL);

	for (u32 i = 0; i < WRITERS; i++) {
		FILE *out = fopen("/dev/full", "we");
		struct err err = {0};
		int status;

		if (!out)
			test_skip("there is no /dev/full");
		job.file = "/dev/full";
		status = writers[i].write(&job, out, &err);
		CHECK(status < 0 || fflush(out) != 0);
		fclose(out);
	}
	model_free(feed.model);
}

TEST(proto_wire, "messages are those of the documented wire format")
{
	static const u8 wanted[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't',  'e',  's',  't',
				    'i',  'n',  'g',  0x1a, 0x03, 0x08, 0x96, 0x01, 0x22,
				    0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05, 0x50, 0x00};
	u64 numbers[] = {3, 270, 86942};
	struct strbuf message = {0}, inner = {0};

	proto_number(&message, 1, 150);
	proto_number(&message, 9, 0); /* is left out */
	proto_text(&message, 2, "testing");
	proto_number(&inner, 1, 150);
	proto_message(&message, 3, &inner);
	CHECK_EQ(inner.count, 0);
	proto_packed(&message, 4, numbers, 3);
	proto_packed(&message, 5, numbers, 0);
	proto_always(&message, 10, 0);
	CHECK_EQ(message.count, sizeof(wanted));
	CHECK(message.count == sizeof(wanted) && memcmp(message.text, wanted, sizeof(wanted)) == 0);
	strbuf_clear(&message);
	proto_text(&message, 2,
		   "a\xff"
		   "b");
	CHECK_STR(strbuf_text(&message) + 2, "a\xef\xbf\xbd"
					     "b");
	strbuf_clear(&message);
	proto_number(&message, 1, UINT64_MAX);
	CHECK_EQ(message.count, 11);
	strbuf_release(&message);
	strbuf_release(&inner);
}
