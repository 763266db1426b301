/* SPDX-License-Identifier: MIT
 * Routines to a file and back: any numbers, blocks that are full, damage, and how many bytes they
 * take. */
#include "format/tracefile.h"
#include "test_trace.h"
#include "host/trace/block.h"
#include "host/trace/blockfile.h"
#include "host/trace/modmap.h"
#include "host/trace/routines.h"

#include <fcntl.h>

static const struct trace_read_options everything = {.image = TRACE_ALL_IMAGES};

static void begin(struct teller *teller, struct trace_writer *writer, struct log *want)
{
	*teller = (struct teller){.to = {trace_writer_sink(writer), log_sink(want)}, .random = 9};
	tell_image(teller, 0);
	tell_thread(teller);
}

static struct trace_info read_back(const char *path, struct log *got)
{
	struct trace_info info = {0};
	struct err err = {0};

	if (read_story(path, &everything, got, &info, &err) < 0)
		FAIL("%s", err.text);
	return info;
}

static const struct stream_routine odd[] = {
	{.ticks = 5, .address = 0, .step = ROUTINE_LEAVE}, /* nothing has begun */
	{.ticks = 5, .address = 0, .step = ROUTINE_ENTER},
	{.ticks = 0, .address = UINT64_MAX, .value = UINT64_MAX, .step = ROUTINE_ENTER},
	{.ticks = UINT64_MAX, .address = UINT64_MAX, .value = UINT64_MAX, .step = ROUTINE_ALLOCATION},
	{.ticks = 9, .address = 1, .step = ROUTINE_FREE, .how = HW_DELETE},
	{.ticks = 0, .address = UINT64_MAX, .step = ROUTINE_LEAVE, .how = UINT16_MAX},
	{.ticks = 1ull << 63, .address = 1, .thread = 3, .step = ROUTINE_ENTER},
	{.ticks = 7, .address = UINT64_MAX, .thread = 3, .step = ROUTINE_LEAVE},
	{.ticks = 7, .address = 1, .thread = 3, .step = ROUTINE_LEAVE, .how = HW_LEAVE_UNWOUND},
	{.ticks = 7, .value = 0, .step = ROUTINE_ALLOCATION},
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
	for (int i = 0; i < 3; i++)
		tell_thread(&teller);
	TELL(&teller, routines, odd, sizeof(odd) / sizeof(odd[0]));
	tell_image_end(&teller);
	close_or_fail(writer);
	info = read_back(path, &got);
	check_same_log(&got, &want);
	CHECK_EQ(info.routines, sizeof(odd) / sizeof(odd[0]));
	CHECK_EQ(info.damaged_blocks, 0);
}

TEST(full_blocks, "more rows, more routines and deeper calls than a block holds come back in order")
{
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	struct stream_routine row = {0};
	TELLER(teller);
	LOG(want);
	LOG(got);

	begin(&teller, writer, &want);
	tell_routines(&teller, 3 * HW_BLOCK_ROUTINES_MAX + 777);
	for (u64 i = 0; i < HW_BLOCK_ROUTINES_MAX + 500; i++) { /* each begins a new routine */
		row.address = 0x10000 + 64 * i;
		TELL(&teller, routines, &row, 1);
	}
	row.step = ROUTINE_LEAVE;
	for (u64 i = HW_BLOCK_ROUTINES_MAX + 500; i-- > 0;) {
		row.address = 0x10000 + 64 * i;
		TELL(&teller, routines, &row, 1);
	}
	tell_image_end(&teller);
	close_or_fail(writer);
	CHECK_EQ(read_back(path, &got).routines, 5 * HW_BLOCK_ROUTINES_MAX + 1777);
	check_same_log(&got, &want);
}

/* main calls two routines in turn; the first calls a third one now and then. */
static void tell_program(struct teller *teller, u64 rounds)
{
	u64 stack[4] = {0x1000};
	struct stream_routine row = {.address = stack[0]};
	u32 depth = 1;

	TELL(teller, routines, &row, 1);
	for (u64 i = 0; i < rounds; i++) {
		static const u64 routines[] = {0x2000, 0x3000, 0x4000};
		u64 calls = i % 3 == 0 ? 3 : 2;

		for (u64 k = 0; k < calls; k++) {
			u64 at = calls == 3 && k == 1 ? 2 : k ? 1 : 0;

			row = (struct stream_routine){.ticks = teller->ticks += 40 + draw(teller, 100),
						      .address = routines[at],
						      .value = stack[depth - 1] + 0x20};
			TELL(teller, routines, &row, 1);
			if (at == 2) {
				row = (struct stream_routine){.ticks = ++teller->ticks, .value = 48,
							      .address = 0x7000, .how = HW_MALLOC,
							      .step = ROUTINE_ALLOCATION};
				TELL(teller, routines, &row, 1);
			}
			row = (struct stream_routine){.ticks = teller->ticks += 40 + draw(teller, 100),
						      .address = routines[at],
						      .step = ROUTINE_LEAVE};
			TELL(teller, routines, &row, 1);
		}
	}
}

TEST(bytes, "a row of an ordinary program takes less than two bytes")
{
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	TELLER(teller);
	LOG(want);
	LOG(got);
	struct trace_info info;

	begin(&teller, writer, &want);
	tell_program(&teller, 100000);
	tell_image_end(&teller);
	close_or_fail(writer);
	info = read_back(path, &got);
	check_same_log(&got, &want);
	if (info.file_bytes >= 2 * info.routines)
		FAIL("%" PRIu64 " bytes for %" PRIu64 " rows", info.file_bytes, info.routines);
}

TEST(silence, "who does not listen to routines hears the rest of the file")
{
	const char *path = test_path("trace");
	LOG(want);
	LOG(got);
	struct stream_sink sink = log_sink(&got);
	struct trace_reader *reader;
	struct err err = {0};

	write_story(path, 2, 20000, 3, &want);
	sink.routines = NULL;
	reader = trace_open(path, &err);
	CHECK_EQ(trace_read(reader, &everything, &sink, &err), 0);
	CHECK_EQ(trace_info(reader)->routines, want.routines.count);
	trace_close(reader);
	check_same_events(&got, &want);
	CHECK_EQ(got.routines.count, 0);
}

static u64 find_block(const struct strbuf *bytes, u32 type, u32 n)
{
	u64 offset = sizeof(struct hw_trace_header);

	for (;;) {
		struct hw_block_header header;

		memcpy(&header, bytes->text + offset, sizeof(header));
		if (header.type == type && n-- == 0)
			return offset;
		offset += sizeof(header) + header.stored_bytes;
	}
}

TEST(damage, "a lost block costs its rows, and those after it are as they were")
{
	const char *path = test_path("trace");
	struct trace_writer *writer = writer_or_fail(path);
	const u64 block = HW_BLOCK_ROUTINES_MAX;
	struct trace_info info;
	struct err err = {0};
	TELLER(teller);
	TEXT(bytes);
	LOG(want);
	LOG(got);

	begin(&teller, writer, &want);
	tell_routines(&teller, 3 * block);
	tell_image_end(&teller);
	close_or_fail(writer);
	if (io_read_file(path, 1 << 30, &bytes, &err) < 0)
		FAIL("%s", err.text);
	bytes.text[find_block(&bytes, HW_BLOCK_ROUTINES, 1) + sizeof(struct hw_block_header) + 9] ^= 4;
	io_write_file(path, bytes.text, bytes.count, &err);
	info = read_back(path, &got);
	CHECK_EQ(info.damaged_blocks, 1);
	CHECK_EQ(got.routines.count, 2 * block);
	memmove(&want.routines.data[block], &want.routines.data[2 * block],
		block * sizeof(want.routines.data[0]));
	want.routines.count = 2 * block;
	check_same_routines(&got, &want);
}

/* A file whose last block has the payload. */
static void write_payload(const char *path, const u8 *payload, u64 bytes, u32 items)
{
	struct raw_block raw = {.payload = payload, .bytes = bytes, .items = items,
				.type = HW_BLOCK_ROUTINES, .plain = true};
	struct block_file file;

	if (block_file_init(&file, open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), 0, 1) < 0)
		FAIL("no block file");
	block_file_start(&file);
	block_file_append(&file, &raw);
	block_file_release(&file);
}

TEST(bad_payloads, "payloads that do not fit are damage, after the rows before them")
{
	struct routines *routines = routines_new();
	u8 payload[4096];
	char path[4096];
	u64 bytes;
	struct {
		u32 at;   /* byte that is changed, */
		u8 value; /* into this */
		u32 items;
		u64 told; /* rows all the same */
		bool good;
	} cases[] = {
		{0, 5, 3, 3, true},   /* as it is: first_ticks is 5 */
		{0, 5, 4, 3, false},  /* a row too many */
		{0, 5, 2, 2, false},  /* a row too few */
		{1, 9, 3, 0, false},  /* a column that is too long */
		{10, 0x80, 3, 0, false}, /* bits that nobody knows */
		{11, 0x07, 3, 1, false}, /* a size that is told of a free */
		{10, 0x00, 3, 0, false},  /* a routine that nothing predicts */
		{19, 2, 3, 0, false},    /* a routine without a number */
		{11, 0x09, 3, 1, false}, /* a return address of an end */
		{0, 5, HW_BLOCK_ROUTINES_MAX + 1, 0, false},
	};
	struct parcel *parcel;

	if (!routines)
		FAIL("out of memory");
	routines_add(routines,
		     (struct stream_routine[]){
			     {.ticks = 5, .address = 1},
			     {.ticks = 5, .address = 1, .step = ROUTINE_LEAVE},
			     {.ticks = 5, .step = ROUTINE_ALLOCATION, .how = HW_MALLOC}},
		     3);
	parcel = routines_take(routines);
	if (!parcel)
		FAIL("out of memory");
	bytes = parcel->raw.bytes;
	CHECK_EQ(bytes, 1 + 9 + 3 + 3 + 3 + 1 + 1); /* head, steps, times, a number, an address */
	memcpy(payload, parcel->payload, bytes);
	free(parcel);
	routines_free(routines);
	snprintf(path, sizeof(path), "%s", test_path("trace"));
	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		u8 changed[sizeof(payload)];
		struct trace_info info;
		LOG(got);

		memcpy(changed, payload, bytes);
		changed[cases[i].at] = cases[i].value;
		write_payload(path, changed, bytes, cases[i].items);
		info = read_back(path, &got);
		if (info.damaged_blocks != !cases[i].good || got.routines.count != cases[i].told)
			FAIL("case %u: %" PRIu64 " damaged, %" PRIu64 " rows", i,
			     info.damaged_blocks, got.routines.count);
	}
}

TEST(eras, "the time of a step says which of two modules at one address it ran in")
{
	struct modmap map = {0};
	struct stream_module first = {.id = 0, .base = 0x1000, .start = 0x1000, .end = 0x2000,
				      .loaded_ticks = 10, .path = "first"};
	struct stream_module second = {.id = 1, .generation = 1, .base = 0x1000, .start = 0x1000,
				       .end = 0x3000, .loaded_ticks = 50, .path = "second"};
	struct stream_module third = {.id = 2, .generation = 2, .base = 0x1000, .start = 0x1000,
				      .end = 0x3000, .loaded_ticks = 90, .path = "third"};
	struct err err = {0};

	CHECK_EQ(modmap_generation_at(&map, 7), 0);
	modmap_tell(&map, &first, &err);
	modmap_tell(&map, &second, &err);
	CHECK_EQ(modmap_generation_at(&map, 5), 0);
	CHECK_EQ(modmap_generation_at(&map, 49), 0);
	CHECK_EQ(modmap_generation_at(&map, 50), 1);
	CHECK_EQ(modmap_generation_at(&map, UINT64_MAX), 1);
	modmap_tell(&map, &third, &err);
	CHECK_EQ(modmap_generation_at(&map, 91), 2);
	CHECK_EQ(modmap_generation_at(&map, 60), 1);
	CHECK_EQ(modmap_generation_at(&map, 3), 0);
	CHECK_STR(modmap_find(&map, 0x1800, modmap_generation_at(&map, 60))->path, "second");
	CHECK_STR(modmap_find(&map, 0x1800, modmap_generation_at(&map, 40))->path, "first");
	modmap_release(&map);
}
