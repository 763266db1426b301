/* SPDX-License-Identifier: MIT
 * Types of debug info in a trace: added after the recording, read back file by file. */
#include "test_trace.h"
#include "host/trace/block.h"
#include "host/trace/blockfile.h"
#include "host/trace/debugtypes.h"

#include <fcntl.h>

static const u8 id[] = {1, 2, 0, 4};

static void add_row(struct debug_types_file *file, struct debug_type row)
{
	if (!vec_push(&file->rows, row))
		FAIL("out of memory");
}

static void write_or_fail(const char *path, const struct debug_types_file *files, u64 count)
{
	struct err err = {.code = ERR_INPUT, .text = "an earlier error"}; /* read only after a failure */

	if (trace_write_debug_types(path, files, count, &err) < 0)
		FAIL("%s", err.text);
}

static void read_or_fail(const char *path, struct debug_types *types)
{
	struct err err = {0};

	if (trace_read_debug_types(path, types, &err) < 0)
		FAIL("%s", err.text);
}

static void check_row(const struct debug_type *got, struct debug_type want)
{
	CHECK_EQ(got->sort, want.sort);
	CHECK_EQ(got->rank, want.rank);
	CHECK_EQ(got->size, want.size);
	CHECK_EQ(got->address, want.address);
	CHECK_STR(got->name, want.name);
}

TEST(none, "a trace without types of debug info has none")
{
	const char *path = test_path("trace");
	struct debug_types types;
	LOG(want);

	write_story(path, 1, 100, 1, &want);
	read_or_fail(path, &types);
	CHECK_EQ(types.files.count, 0);
	CHECK(!debug_types_find(&types, "/bin/prog", id, 4));
	CHECK(!debug_types_find(NULL, "/bin/prog", id, 4));
	debug_types_release(&types);
}

TEST(back, "rows of any numbers come back, by file and build-id, and the rest of the trace stays")
{
	const char *path = test_path("trace");
	struct debug_types_file files[] = {
		{.path = "/bin/prog", .build_id = id, .build_id_bytes = 4},
		{.path = "/lib/x.so", .build_id = id, .build_id_bytes = 0}};
	struct debug_type rows[] = {{.size = 24, .rank = 2, .name = "space::Point"},
				    {.size = UINT64_MAX, .name = "x"},
				    {.sort = DEBUG_TYPE_CALL,
				     .address = UINT64_MAX,
				     .name = "Cell*"}};
	struct debug_types types;
	struct trace_info info = {0};
	struct err err = {0};
	LOG(want);
	LOG(got);

	write_story(path, 1, 100, 1, &want);
	for (u32 i = 0; i < 3; i++)
		add_row(&files[0], rows[i]);
	write_or_fail(path, files, 2);
	read_or_fail(path, &types);
	CHECK_EQ(types.files.count, 2);
	CHECK(!debug_types_find(&types, "/bin/prog", id, 3));
	CHECK(!debug_types_find(&types, "/bin/prog", (const u8[]){1, 2, 0, 5}, 4));
	CHECK_EQ(debug_types_find(&types, "/lib/x.so", NULL, 0)->rows.count, 0);
	if (!CHECK_EQ(debug_types_find(&types, "/bin/prog", id, 4)->rows.count, 3))
		return;
	for (u32 i = 0; i < 3; i++)
		check_row(&debug_types_find(&types, "/bin/prog", id, 4)->rows.data[i], rows[i]);
	debug_types_release(&types);
	if (read_story(path,
		       &(struct trace_read_options){.image = TRACE_ALL_IMAGES, .strict = true},
		       &got, &info, &err) < 0)
		FAIL("%s", err.text);
	check_same_log(&got, &want);
	vec_release(&files[0].rows);
}

TEST(many, "more rows than a block holds come back as one file")
{
	enum { ROWS = 100000 };
	const char *path = test_path("trace");
	struct debug_types_file file = {.path = "/bin/prog", .build_id = id, .build_id_bytes = 4};
	struct debug_types types;
	LOG(want);

	write_story(path, 1, 100, 1, &want);
	for (u64 i = 0; i < ROWS; i++)
		add_row(&file, (struct debug_type){.size = i, .name = "a name of some length"});
	write_or_fail(path, &file, 1);
	read_or_fail(path, &types);
	CHECK_EQ(types.files.count, 1);
	CHECK_EQ(types.files.data[0].rows.count, ROWS);
	for (u64 i = 0; i < ROWS; i += 997)
		CHECK_EQ(types.files.data[0].rows.data[i].size, i);
	debug_types_release(&types);
	vec_release(&file.rows);
}

/* A trace with such a block. */
static u64 rows_of(const u8 *payload, u64 bytes, u32 items)
{
	char path[4096];
	struct raw_block raw = {.payload = payload,
				.bytes = bytes,
				.items = items,
				.image = HW_NO_IMAGE,
				.type = HW_BLOCK_DEBUG_TYPES};
	struct hw_trace_header header;
	struct block_file file;
	struct debug_types types;
	struct err err = {0};
	u64 rows = 0;

	snprintf(path, sizeof(path), "%s", test_path("trace"));
	file_header_fill(&header);
	if (io_write_file(path, &header, sizeof(header), &err) < 0)
		FAIL("%s", err.text);
	if (block_file_init(&file, open(path, O_RDWR | O_APPEND | O_CLOEXEC), sizeof(header), 3) <
	    0)
		FAIL("no block file");
	block_file_append(&file, &raw);
	block_file_release(&file);
	read_or_fail(path, &types);
	for (u64 i = 0; i < types.files.count; i++)
		rows += types.files.data[i].rows.count;
	debug_types_release(&types);
	return rows;
}

TEST(bad, "payloads that do not fit end where they do not")
{
	static const struct {
		const char *name;
		u8 payload[24];
		u32 bytes, items;
		u64 rows;
	} bad[] = {
		{"a right one", {2, 'a', 'b', 1, 7, 1, 8, 1, 'T', 0, 8, 9, 1, 'U'}, 14, 2, 2},
		{"one row too many", {2, 'a', 'b', 1, 7, 1, 8, 1, 'T'}, 9, 2, 1},
		{"a row that is cut", {2, 'a', 'b', 1, 7, 1, 8, 2, 'T'}, 9, 1, 0},
		{"a path that is cut", {3, 'a', 'b'}, 3, 1, 0},
		{"a build-id that is cut", {1, 'a', 9, 7}, 4, 1, 0},
		{"a rank beyond all", {1, 'a', 0, 0x81, 0x7f, 8, 1, 'T'}, 8, 1, 0},
		{"nothing", {0}, 0, 1, 0},
	};

	for (u32 i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK_EQ(rows_of(bad[i].payload, bad[i].bytes, bad[i].items), bad[i].rows))
			fprintf(stderr, "# in: %s\n", bad[i].name);
}
