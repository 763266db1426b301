/* SPDX-License-Identifier: MIT
 * Accesses to a file and back: any numbers, blocks that are full, damage before and in them. */
#include "format/tracefile.h"
#include "format/varint.h"
#include "test_trace.h"
#include "host/trace/accesses.h"
#include "host/trace/block.h"
#include "host/trace/blockfile.h"

#include <fcntl.h>

static const struct trace_read_options everything = {.image = TRACE_ALL_IMAGES};

static void begin(struct teller *teller, struct trace_writer *writer, struct log *want)
{
	*teller = (struct teller){.to = {trace_writer_sink(writer), log_sink(want)}, .random = 5};
	tell_image(teller, 1);
	tell_thread(teller);
}

/* `count` chunks of 16 bytes are born; returns the first one's number. */
static u64 tell_births(struct teller *teller, u64 count)
{
	u64 first = teller->next_chunk;

	for (u64 i = 0; i < count; i++) {
		struct event e = {.kind = HW_MALLOC, .size = 16, .ticks = ++teller->ticks,
				  .address = 0x1000 + 32 * teller->next_chunk,
				  .chunk = teller->next_chunk};

		teller->next_chunk++;
		TELL(teller, events, &e, 1);
	}
	return first;
}

static void tell_reads(struct teller *teller, u64 chunk, u64 reads)
{
	struct stream_access row = {.chunk = chunk, .reads = reads, .covered_bytes = UINT64_MAX};

	TELL(teller, accesses, &row, 1);
}

static struct trace_info read_back(const char *path, struct log *got)
{
	struct trace_info info = {0};
	struct err err = {0};

	if (read_story(path, &everything, got, &info, &err) < 0)
		FAIL("%s", err.text);
	return info;
}

static const struct stream_access rows[] = {
	{.chunk = 0, .covered_bytes = UINT64_MAX}, /* never accessed */
	{.chunk = 9, .first_ticks = 7, .last_ticks = 7, .reads = 1, .read_bytes = 1, .high = 1,
	 .covered_bytes = 1, .flags = ACCESS_SHARED},
	{.chunk = 3, .first_ticks = UINT64_MAX, .last_ticks = UINT64_MAX, .reads = UINT64_MAX,
	 .writes = UINT64_MAX, .read_bytes = UINT64_MAX, .written_bytes = UINT64_MAX,
	 .low = UINT64_MAX, .high = UINT64_MAX, .covered_bytes = UINT64_MAX - 1,
	 .flags = UINT32_MAX},
	/* what no producer should say is kept as well */
	{.chunk = 4, .first_ticks = 5, .last_ticks = 3, .low = 9, .high = 2, .covered_bytes = 0},
	{.chunk = 4, .last_ticks = 3, .high = 1, .covered_bytes = UINT64_MAX, .flags = 15},
	{.chunk = 0, .writes = 1, .written_bytes = 8, .first_ticks = 1, .last_ticks = 2,
	 .covered_bytes = UINT64_MAX, .flags = ACCESS_LOWER_BOUND},
};

TEST(any_row, "rows of any numbers come back as they were")
{
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	TELLER(teller);
	LOG(want);
	LOG(got);
	struct trace_info info;

	begin(&teller, writer, &want);
	tell_births(&teller, 10);
	TELL(&teller, accesses, rows, sizeof(rows) / sizeof(rows[0]));
	tell_image_end(&teller);
	close_or_fail(writer);
	info = read_back(path, &got);
	check_same_log(&got, &want);
	CHECK_EQ(info.accesses, sizeof(rows) / sizeof(rows[0]));
	CHECK_EQ(info.damaged_blocks, 0);
	CHECK_EQ(info.lost_accesses, 0);
}

TEST(full_blocks, "more rows than a block holds come back in order, with one call or with many")
{
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	VEC(struct stream_access) many = {0};
	TELLER(teller);
	LOG(want);
	LOG(got);

	begin(&teller, writer, &want);
	tell_births(&teller, 100);
	for (u64 i = 0; i < HW_BLOCK_ACCESSES_MAX + 1000; i++)
		if (!vec_push(&many, draw_access(&teller, draw(&teller, 100))))
			FAIL("out of memory");
	TELL(&teller, accesses, many.data, many.count);
	tell_births(&teller, 70000); /* more than a block of events */
	for (u64 i = 0; i < 3000; i++)
		tell_reads(&teller, 69000 + i % 1000, i);
	tell_image_end(&teller);
	close_or_fail(writer);
	CHECK_EQ(read_back(path, &got).accesses, many.count + 3000);
	check_same_log(&got, &want);
	vec_release(&many);
}

TEST(worst_maps, "maps with as many runs as there can be fill blocks before their rows do")
{
	enum { ROWS = 10000 }; /* two blocks and a half */
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	u64 map[HW_MAP_WORDS];
	TELLER(teller);
	LOG(want);
	LOG(got);
	struct trace_info info;

	memset(map, 0x55, sizeof(map));
	begin(&teller, writer, &want);
	tell_births(&teller, 10);
	for (u64 i = 0; i < ROWS; i++) {
		struct stream_access row = {.chunk = i % 10, .reads = i, .high = 1023,
					    .covered_bytes = HW_MAP_BYTES / 2, .map = map};

		TELL(&teller, accesses, &row, 1);
	}
	tell_image_end(&teller);
	close_or_fail(writer);
	info = read_back(path, &got);
	CHECK_EQ(info.accesses, ROWS);
	CHECK_EQ(info.damaged_blocks, 0);
	check_same_log(&got, &want);
}

TEST(alone, "who asks for accesses and not for events gets the same rows")
{
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	TELLER(teller);
	LOG(want);
	LOG(got);
	struct stream_sink sink = {.self = &got, .accesses = log_accesses};
	struct trace_reader *reader;
	struct err err = {0};

	begin(&teller, writer, &want);
	tell_births(&teller, 10);
	tell_reads(&teller, 3, 33);
	tell_image_end(&teller);
	tell_image(&teller, 2); /* chunks count from 0 again */
	tell_thread(&teller);
	tell_births(&teller, 2);
	tell_reads(&teller, 1, 11);
	tell_image_end(&teller);
	close_or_fail(writer);
	reader = trace_open(path, &err);
	CHECK_EQ(trace_read(reader, &everything, &sink, &err), 0);
	trace_close(reader);
	CHECK_STR(strbuf_text(&got.accesses), strbuf_text(&want.accesses));
}

/* Changes a byte in the payload of the n-th block of a type. */
static void damage_block(const char *path, u32 type, u32 n)
{
	u64 offset = sizeof(struct hw_trace_header);
	struct err err = {0};
	TEXT(bytes);

	if (io_read_file(path, 1 << 30, &bytes, &err) < 0)
		FAIL("%s", err.text);
	for (;;) {
		struct hw_block_header header;

		memcpy(&header, bytes.text + offset, sizeof(header));
		if (header.type == type && n-- == 0)
			break;
		offset += sizeof(header) + header.stored_bytes;
	}
	bytes.text[offset + sizeof(struct hw_block_header) + 3] ^= 1;
	if (io_write_file(path, bytes.text, bytes.count, &err) < 0)
		FAIL("%s", err.text);
}

/* Three blocks of events, 100 births each, and rows after each of them. */
static void write_three(const char *path, struct log *want)
{
	struct trace_writer *writer = writer_or_fail(path);
	TELLER(teller);
	struct err err = {0};

	begin(&teller, writer, want);
	for (u64 i = 0; i < 3; i++) {
		tell_births(&teller, 100);
		for (u64 k = 0; k <= i; k++)
			tell_reads(&teller, 100 * k + 50, 1000 * i + k);
		trace_writer_flush(writer, &err);
	}
	tell_image_end(&teller);
	close_or_fail(writer);
}

TEST(lost_chunks, "after a lost block of events rows follow their chunks, or are counted as lost")
{
	const char *path = test_path("trace");
	struct trace_info info;
	LOG(want);
	LOG(got);

	write_three(path, &want);
	damage_block(path, HW_BLOCK_EVENTS, 1);
	info = read_back(path, &got);
	CHECK_EQ(info.damaged_blocks, 1);
	CHECK_EQ(info.lost_accesses, 2); /* of chunk 150, told twice */
	CHECK_STR(strbuf_text(&got.accesses),
		  "50: 0-0 r 0 w 0 bytes 0 0 [0,0) of 18446744073709551615 flags 0\n"
		  "50: 0-0 r 1000 w 0 bytes 0 0 [0,0) of 18446744073709551615 flags 0\n"
		  "50: 0-0 r 2000 w 0 bytes 0 0 [0,0) of 18446744073709551615 flags 0\n"
		  "150: 0-0 r 2002 w 0 bytes 0 0 [0,0) of 18446744073709551615 flags 0\n");
}

TEST(lost_rows, "a lost block of accesses costs its rows and nothing else")
{
	const char *path = test_path("trace");
	struct trace_info info;
	LOG(want);
	LOG(got);

	write_three(path, &want);
	damage_block(path, HW_BLOCK_ACCESSES, 1);
	info = read_back(path, &got);
	CHECK_EQ(info.damaged_blocks, 1);
	CHECK_EQ(info.lost_accesses, 0);
	check_same_events(&got, &want);
	CHECK(!strstr(strbuf_text(&got.accesses), " r 1000 "));
	CHECK(strstr(strbuf_text(&got.accesses), "50: 0-0 r 0 "));
	CHECK(strstr(strbuf_text(&got.accesses), "250: 0-0 r 2002 "));
}

/* A file of one events block (10 chunks) and an accesses block with the payload. */
static void write_payload(const char *path, const u8 *payload, u64 bytes, u32 items)
{
	const char *base = test_path("base");
	char kept[4096];
	struct trace_writer *writer;
	struct hw_block_header header;
	u64 offset = sizeof(struct hw_trace_header);
	struct raw_block raw = {.payload = payload, .bytes = bytes, .items = items,
				.type = HW_BLOCK_ACCESSES, .plain = true};
	struct block_file file;
	struct err err = {0};
	TELLER(teller);
	LOG(want);
	TEXT(text);

	snprintf(kept, sizeof(kept), "%s", base);
	writer = writer_or_fail(kept);
	begin(&teller, writer, &want);
	tell_births(&teller, 10);
	close_or_fail(writer);
	if (io_read_file(kept, 1 << 20, &text, &err) < 0)
		FAIL("%s", err.text);
	do {
		memcpy(&header, text.text + offset, sizeof(header));
		offset += sizeof(header) + header.stored_bytes;
	} while (header.type != HW_BLOCK_EVENTS);
	if (io_write_file(path, text.text, offset, &err) < 0)
		FAIL("%s", err.text);
	if (block_file_init(&file, open(path, O_RDWR | O_APPEND | O_CLOEXEC), offset, 3) < 0)
		FAIL("no block file");
	block_file_append(&file, &raw);
	block_file_release(&file);
}

TEST(bad_payloads, "payloads that do not fit are damage, after the rows before them")
{
	struct accesses accesses = {0};
	struct parcel *parcel;
	char path[4096];
	u8 payload[4096];
	u64 bytes;

	snprintf(path, sizeof(path), "%s", test_path("trace"));
	for (u64 i = 0; i < 3; i++)
		accesses_add(&accesses,
			     &(struct stream_access){.chunk = i, .reads = 300, .covered_bytes = 3});
	parcel = accesses_take(&accesses);
	if (!parcel)
		FAIL("out of memory");
	bytes = parcel->raw.bytes;
	memcpy(payload, parcel->payload, bytes);
	free(parcel);
	columns_release(&accesses.columns);
	for (u32 what = 0; what < 6; what++) {
		/* as it is; a row too many, too few; cut; an odd length; nothing at all */
		static const u32 items[] = {3, 4, 2, 3, 3, HW_BLOCK_ACCESSES_MAX + 1};
		static const int told[] = {3, 3, 2, 0, 0, 0};
		u8 changed[sizeof(payload)];
		LOG(got);
		struct trace_info info;
		int lines = 0;

		memcpy(changed, payload, bytes);
		if (what == 4)
			changed[0] = 0x7f;
		write_payload(path, changed, what == 3 ? bytes - 1 : bytes, items[what]);
		info = read_back(path, &got);
		CHECK_EQ(info.damaged_blocks, what != 0);
		for (const char *p = strbuf_text(&got.accesses); *p; p++)
			lines += *p == '\n';
		CHECK_EQ(lines, told[what]);
	}
}

/* What a reader of one row with this column of coverage says. */
static u64 bad_map(const char *path, u64 head, const u8 *column, u32 bytes)
{
	u8 payload[256], *p = payload;
	struct trace_info info;
	LOG(got);

	for (u32 i = 0; i < HW_ACCESS_COLUMNS; i++) {
		u32 lengths[HW_ACCESS_COLUMNS] = {[HW_ACCESS_COLUMN_CHUNK] = 1,
						  [HW_ACCESS_COLUMN_HEAD] = 6,
						  [HW_ACCESS_COLUMN_READS] = 1,
						  [HW_ACCESS_COLUMN_WRITES] = 1,
						  [HW_ACCESS_COLUMN_READ_BYTES] = 1,
						  [HW_ACCESS_COLUMN_WRITTEN_BYTES] = 1,
						  [HW_ACCESS_COLUMN_COVERED] = bytes};

		p = hw_varint_put(p, lengths[i]);
	}
	*p++ = 0;
	p = hw_varint_put(p, head);
	memset(p, 0, 4);
	p += 4;
	memcpy(p, column, bytes);
	write_payload(path, payload, (u64)(p - payload) + bytes, 1);
	info = read_back(path, &got);
	return info.damaged_blocks;
}

#define MAPPED (HW_ACCESS_COVERED | HW_ACCESS_MAPPED)
#define SIDED (HW_ACCESS_COVERED | HW_ACCESS_SIDED)

TEST(bad_maps, "maps that cannot be are damage")
{
	static const struct {
		const char *name;
		u64 head;
		u8 column[16];
		u32 bytes;
		u64 damaged;
	} maps[] = {
		{"a right one", MAPPED, {5, 2, 0, 3, 7, 2}, 6, 0},
		{"none accessed", MAPPED, {0, 0}, 2, 0},
		{"more than were covered", MAPPED, {4, 2, 0, 3, 7, 2}, 6, 1},
		{"a run of nothing", MAPPED, {3, 2, 0, 3, 7, 0}, 6, 1},
		{"a gap beyond the end", MAPPED, {1, 1, 0x80, 8, 1}, 5, 1},
		{"a run beyond the end", MAPPED, {0x81, 8, 1, 0, 0x81, 8}, 6, 1},
		{"a run that is too long for any number", MAPPED,
		 {1, 1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 13, 1},
		{"cut", MAPPED, {5, 2, 0, 3}, 4, 1},
		{"sides", SIDED, {5, 5, 2}, 3, 0},
		{"a side of more than all", SIDED, {5, 2, 6}, 3, 1},
		{"one side only", SIDED, {5, 2}, 2, 1},
		{"a side with a map", SIDED | HW_ACCESS_WRITTEN_MAPPED, {5, 5, 2, 1, 4, 2}, 6, 0},
		{"a side with a map of more", SIDED | HW_ACCESS_READ_MAPPED, {5, 2, 1, 0, 3, 5}, 6, 1},
		{"sides of nothing", HW_ACCESS_SIDED | 1ull << 34, {0, 0}, 2, 1},
		{"a side's map without sides", HW_ACCESS_COVERED | HW_ACCESS_READ_MAPPED, {1, 1, 0, 1}, 4, 1},
		{"a bit that nobody knows", HW_ACCESS_COVERED | 1ull << 39, {1}, 1, 1},
	};
	char path[4096];

	snprintf(path, sizeof(path), "%s", test_path("trace"));
	for (u32 i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		if (!CHECK_EQ(bad_map(path, maps[i].head, maps[i].column, maps[i].bytes), maps[i].damaged))
			fprintf(stderr, "# in: %s\n", maps[i].name);
}

TEST(older, "a file of version 1, in which reads and writes are not told apart, is read as it was")
{
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	struct hw_trace_header header;
	struct trace_info info;
	struct err err = {0};
	TELLER(teller);
	LOG(want);
	LOG(got);
	TEXT(text);

	begin(&teller, writer, &want);
	tell_births(&teller, 10);
	TELL(&teller, accesses, rows, sizeof(rows) / sizeof(rows[0]));
	tell_image_end(&teller);
	close_or_fail(writer);
	if (io_read_file(path, 1 << 20, &text, &err) < 0)
		FAIL("%s", err.text);
	memcpy(&header, text.text, sizeof(header));
	CHECK_EQ(header.version, HW_TRACE_VERSION);
	header.version = 1;
	header.check = checksum(&header, offsetof(struct hw_trace_header, check));
	memcpy(text.text, &header, sizeof(header));
	if (io_write_file(path, text.text, text.count, &err) < 0)
		FAIL("%s", err.text);
	info = read_back(path, &got);
	check_same_log(&got, &want);
	CHECK_EQ(info.version, 1);
	CHECK_EQ(info.damaged_blocks, 0);
}
