/* SPDX-License-Identifier: MIT
 * Damaged, cut, foreign and unwritable traces: an error or a salvage that says so, never a crash
 * and never a silent loss. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/tracefile.h"
#include "test_trace.h"
#include "host/trace/block.h"

static const struct trace_read_options salvage = {.image = TRACE_ALL_IMAGES};
static const struct trace_read_options strict = {.image = TRACE_ALL_IMAGES, .strict = true};

static void load(const char *path, struct strbuf *bytes)
{
	struct err err = {0};

	strbuf_clear(bytes);
	if (io_read_file(path, 1 << 30, bytes, &err) < 0)
		FAIL("%s", err.text);
}

static void save(const char *path, const char *bytes, u64 count)
{
	struct err err = {0};

	if (io_write_file(path, bytes, count, &err) < 0)
		FAIL("%s", err.text);
}

/* The events that were read are, in order, some of those that were written. Chunks are not
 * compared: they are renumbered after a gap. */
static bool is_part_of(const struct log *got, const struct log *want)
{
	u64 at = 0;

	for (u64 i = 0; i < got->events.count; i++) {
		const struct event *e = &got->events.data[i];

		while (at < want->events.count && (want->events.data[at].ticks != e->ticks ||
						   want->events.data[at].kind != e->kind))
			at++;
		if (at == want->events.count)
			return false;
		at++;
	}
	return true;
}

/* Every allocation has the next number, and every free one that was given out. */
static bool chunks_count_up(const struct log *got)
{
	u64 next = 0;

	for (u64 i = 0; i < got->events.count; i++) {
		const struct event *e = &got->events.data[i];

		if (hw_kind_allocates(e->kind) && e->chunk != next++)
			return false;
		if (hw_kind_frees(e->kind) && e->chunk != NO_CHUNK && e->chunk >= next)
			return false;
	}
	return true;
}

TEST(every_cut, "a trace cut at any byte gives what was whole before the cut, or an error")
{
	const char *path = test_path("trace");
	LOG(want);
	TEXT(bytes);
	u64 most = 0;

	write_story(path, 1, 60, 7, &want);
	load(path, &bytes);
	for (u64 cut = 0; cut < bytes.count; cut++) {
		LOG(got);
		struct trace_info info = {0};
		struct err err = {0};
		int status;

		save(path, bytes.text, cut);
		status = read_story(path, &salvage, &got, &info, &err);
		CHECK(cut < sizeof(struct hw_trace_header) ? status == ERR_INPUT : status == 0);
		CHECK(!info.complete);
		CHECK(is_part_of(&got, &want));
		CHECK(got.events.count >= most); /* a longer file never has less */
		most = got.events.count;
	}
	CHECK_EQ(most, want.events.count);
}

TEST(every_byte, "a changed byte anywhere in a trace is an error or a counted damage")
{
	const char *path = test_path("trace");
	LOG(want);
	TEXT(bytes);

	write_story(path, 1, 60, 8, &want);
	load(path, &bytes);
	for (u64 at = 0; at < bytes.count; at++) {
		LOG(got);
		struct trace_info info = {0};
		struct err err = {0};
		int status;

		bytes.text[at] ^= (char)(1 << at % 8);
		save(path, bytes.text, bytes.count);
		bytes.text[at] ^= (char)(1 << at % 8);
		status = read_story(path, &salvage, &got, &info, &err);
		if (status == 0 && info.damaged_blocks == 0)
			FAIL("byte %" PRIu64 " of %" PRIu64 " is not missed", at, bytes.count);
		CHECK(status < 0 || info.damage[0]);
		CHECK(is_part_of(&got, &want));
		if (at % 5 == 0)
			CHECK(read_story(path, &strict, &got, &info, &err) < 0);
	}
}

/* Overwrites a byte of the payload of the n-th events block; returns the offset of its header. */
static u64 damage_events_block(struct strbuf *bytes, u32 n)
{
	u64 offset = sizeof(struct hw_trace_header);

	for (;;) {
		struct hw_block_header header;

		memcpy(&header, bytes->text + offset, sizeof(header));
		if (header.type == HW_BLOCK_EVENTS && n-- == 0)
			break;
		offset += sizeof(header) + header.stored_bytes;
	}
	bytes->text[offset + sizeof(struct hw_block_header) + 99] ^= 1;
	return offset;
}

TEST(lost_block, "after a lost block of events the others are told and lost frees counted")
{
	const char *path = test_path("trace");
	LOG(want);
	LOG(got);
	TEXT(bytes);
	struct trace_info info = {0};
	struct err err = {0};
	char words[128];
	u64 offset;

	write_story(path, 1, 300000, 9, &want);
	load(path, &bytes);
	offset = damage_events_block(&bytes, 1);
	save(path, bytes.text, bytes.count);
	if (read_story(path, &salvage, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	CHECK_EQ(info.damaged_blocks, 1);
	CHECK_EQ(got.events.count, want.events.count - HW_BLOCK_EVENTS_MAX);
	CHECK(info.lost_chunks > 0);
	CHECK(is_part_of(&got, &want));
	CHECK(chunks_count_up(&got));
	snprintf(words, sizeof(words), "at offset %" PRIu64 " is damaged (checksum)", offset);
	CHECK(strstr(info.damage, words) != NULL);
	CHECK(read_story(path, &strict, &got, &info, &err) == ERR_INPUT);
	CHECK(strstr(err.text, words) != NULL);
}

/* After the gap, what does not depend on it is as it was written. */
TEST(lost_block_rest, "events after a lost block keep time, context, thread and size")
{
	const char *path = test_path("trace");
	LOG(want);
	LOG(got);
	TEXT(bytes);
	struct trace_info info = {0};
	struct err err = {0};
	u64 wrong = 0, unknown = 0;

	write_story(path, 1, 300000, 10, &want);
	load(path, &bytes);
	damage_events_block(&bytes, 0);
	save(path, bytes.text, bytes.count);
	read_story(path, &salvage, &got, &info, &err);
	CHECK_EQ(got.events.count, want.events.count - HW_BLOCK_EVENTS_MAX);
	for (u64 i = 0; i < got.events.count; i++) {
		const struct event *a = &got.events.data[i];
		const struct event *b = &want.events.data[i + HW_BLOCK_EVENTS_MAX];

		wrong += a->ticks != b->ticks || a->context != b->context ||
			 a->thread != b->thread || a->kind != b->kind || a->flags != b->flags;
		if (hw_kind_allocates(a->kind)) {
			wrong += a->size != b->size;
			wrong += a->address != b->address && a->address != 0;
		}
		unknown += hw_kind_frees(a->kind) && a->chunk == NO_CHUNK && b->chunk != NO_CHUNK;
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(unknown, info.lost_chunks);
}

TEST(lost_facts, "an image whose record is lost is told as an unknown one")
{
	const char *path = test_path("trace");
	LOG(want);
	LOG(got);
	TEXT(bytes);
	struct trace_info info = {0};
	struct err err = {0};
	struct hw_block_header first;
	u64 offset = sizeof(struct hw_trace_header);

	write_story(path, 1, 1000, 9, &want);
	load(path, &bytes);
	memcpy(&first, bytes.text + offset, sizeof(first)); /* the note before all images */
	offset += sizeof(first) + first.stored_bytes;
	bytes.text[offset + sizeof(struct hw_block_header) + 5] ^= 1;
	save(path, bytes.text, bytes.count);
	if (read_story(path, &salvage, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	CHECK(strncmp(strbuf_text(&got.images), "pid 0 ", 6) == 0);
	CHECK_EQ(got.events.count, want.events.count);
	CHECK(info.lost_names > 0);
	CHECK_EQ(info.damaged_blocks, 1);
}

TEST(no_index, "a trace without its index is scanned, and is the same but not complete")
{
	const char *path = test_path("trace");
	LOG(want);
	LOG(got);
	TEXT(bytes);
	struct trace_info info = {0};
	struct err err = {0};
	struct hw_trace_trailer trailer;

	write_story(path, 2, 1000, 9, &want);
	load(path, &bytes);
	memcpy(&trailer, bytes.text + bytes.count - sizeof(trailer), sizeof(trailer));
	save(path, bytes.text, trailer.index_offset);
	if (read_story(path, &strict, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	check_same_log(&got, &want);
	CHECK(!info.complete);
}

static const struct {
	const char *name, *bytes;
	u64 count;
} foreign[] = {
	{"an empty file", "", 0},
	{"a text", "hello, this is a text and not a trace at all", 44},
	{"an ELF file", "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 34},
};

TEST(foreign_files, "a file of another kind is refused as not a Heapwise trace")
{
	const char *path = test_path("trace");

	for (u64 i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		struct err err = {0};

		save(path, foreign[i].bytes, foreign[i].count);
		CHECK(trace_open(path, &err) == NULL);
		CHECK_EQ(err.code, ERR_INPUT);
		CHECK(strstr(err.text, "is not a Heapwise trace") != NULL);
	}
}

TEST(missing_file, "a file that is not there, and a folder, are errors that name the path")
{
	char path[256], text[512];
	struct err err = {0};

	snprintf(path, sizeof path, "%s/absent/trace", test_folder());
	snprintf(text, sizeof text, "cannot open %s: No such file or directory", path);
	CHECK(trace_open(path, &err) == NULL);
	CHECK_STR(err.text, text);
	CHECK(trace_open("/tmp", &err) == NULL);
	CHECK_STR(err.text, "/tmp is not a regular file");
}

TEST(newer_version, "a trace of a newer version is refused with its number")
{
	const char *path = test_path("trace");
	struct hw_trace_header header = {.magic = HW_TRACE_MAGIC, .version = 7, .bytes = 32};
	struct err err = {0};

	header.check = checksum(&header, offsetof(struct hw_trace_header, check));
	save(path, (const char *)&header, sizeof(header));
	CHECK(trace_open(path, &err) == NULL);
	CHECK(strstr(err.text, "trace version 7 is too new; this heapwise reads versions up to") != NULL);
}

TEST(full_device, "a full device is reported and stops nothing")
{
	struct err err = {0};
	struct trace_writer *writer = trace_writer_open("/dev/full", NULL, &err);
	LOG(want);
	TELLER(teller) = {.to = {{0}, log_sink(&want)}, .random = 3};

	if (!writer)
		FAIL("%s", err.text);
	teller.to[0] = trace_writer_sink(writer);
	tell_whole_image(&teller, 0, 200000);
	while (!trace_writer_failed(writer))
		usleep(1000);
	CHECK_EQ(trace_writer_failed(writer), ENOSPC);
	tell_whole_image(&teller, 1, 1000);
	CHECK_EQ(trace_writer_bytes(writer), 0);
	CHECK_EQ(trace_writer_close(writer, &err), ERR_SYSTEM);
	CHECK_STR(err.text, "cannot write /dev/full: No space left on device");
}

TEST(full_disk, "a trace that hit a full disk ends at a whole block and is readable")
{
	const char *path = test_path("trace");
	struct rlimit limit = {.rlim_cur = 1500000, .rlim_max = RLIM_INFINITY};
	struct trace_writer *writer = writer_or_fail(path);
	LOG(want);
	LOG(got);
	TELLER(teller) = {.to = {trace_writer_sink(writer), log_sink(&want)}, .random = 3};
	struct trace_info info = {0};
	struct err err = {0};
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	tell_whole_image(&teller, 0, 400000);
	CHECK_EQ(trace_writer_close(writer, &err), ERR_SYSTEM);
	CHECK(strstr(err.text, "File too large") != NULL);
	if (read_story(path, &strict, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	CHECK(stat(path, &st) == 0 && st.st_size > 0 && st.st_size <= 1500000);
	CHECK(got.events.count > 0);
	CHECK_EQ(got.events.count % HW_BLOCK_EVENTS_MAX, 0);
	CHECK(is_part_of(&got, &want));
	CHECK(!info.complete);
}

TEST(unwritable, "an output that cannot be created is an error that names it")
{
	char path[256], text[512];
	struct err err = {0};

	snprintf(path, sizeof path, "%s/absent/trace", test_folder());
	snprintf(text, sizeof text, "cannot create %s: No such file or directory", path);
	CHECK(trace_writer_open(path, NULL, &err) == NULL);
	CHECK_STR(err.text, text);
}

/* Frees and allocations of one address by one stack, at equal steps: a thousand of them take a byte. */
static void write_bomb(const char *path, u64 events)
{
	struct stream_image image = {.pid = 1, .program = "/bomb", .command = "bomb"};
	struct stream_thread thread = {.tid = 1, .name = "bomb"};
	struct trace_writer *writer = writer_or_fail(path);
	struct stream_sink sink = trace_writer_sink(writer);
	static struct event batch[1 << 16];
	struct err err = {0};

	CHECK(sink.image(sink.self, &image, &err) == 0 && sink.thread(sink.self, &thread, &err) == 0);
	for (u64 i = 0; i < events; i++) {
		batch[i % (1 << 16)] = (struct event){
			.ticks = 10 * i, .address = 0x1000, .size = 16, .chunk = i / 2, .kind = i % 2 ? HW_FREE : HW_MALLOC};
		if (i % (1 << 16) == (1 << 16) - 1)
			CHECK(sink.events(sink.self, batch, 1 << 16, &err) == 0);
	}
	close_or_fail(writer);
}

static int count_events(void *self, const struct event *events, u64 count, struct err *err)
{
	(void)events, (void)err;
	*(u64 *)self += count;
	return 0;
}

TEST(bomb, "a small file that would take gigabytes is refused, unless it is trusted")
{
	const char *path = test_path("bomb.hwt");
	struct err err = {0};
	u64 told = 0;
	struct stream_sink sink = {.self = &told, .events = count_events};
	struct trace_reader *reader;

	write_bomb(path, 256 << 16);
	reader = trace_open(path, &err);
	CHECK(reader && trace_info(reader)->events == 256 << 16);
	CHECK(trace_info(reader)->file_bytes < 100000);
	CHECK(trace_read(reader, &salvage, &sink, &err) == ERR_INPUT);
	CHECK(strstr(err.text, "HEAPWISE_TRUST=1"));
	CHECK(told > 0 && told * 64 < (512ull << 20) + 1024 * trace_info(reader)->file_bytes);
	trace_close(reader);
	setenv("HEAPWISE_TRUST", "1", 1);
	told = 0;
	reader = trace_open(path, &err);
	CHECK(trace_read(reader, &salvage, &sink, &err) == 0);
	CHECK_EQ(told, 256 << 16);
	trace_close(reader);
}
