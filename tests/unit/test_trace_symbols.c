/* SPDX-License-Identifier: MIT
 * Symbols in a trace: added after the recording, read back, replaced by later ones. */
#include <signal.h>
#include <sys/resource.h>

#include "test_trace.h"

static const struct trace_read_options strict = {.image = TRACE_ALL_IMAGES, .strict = true};
static const struct trace_read_options salvage = {.image = TRACE_ALL_IMAGES};

static const struct symbol_frame three[] = {
	{"std::vector<int>::push_back(int&&)", "vector.h", 1201, true, 65535},
	{"fill(std::vector<int>&)", "main.cpp", 12, true, 7},
	{"main", "main.cpp", UINT32_MAX, false, 1},
};
static const struct symbol_frame other[] = {{"better", "better.c", 7, false, 0}};
static const struct symbol_frame unknown[] = {{"", "", 0, false, 0}};

static const struct symbol_entry entries[] = {
	{0, 1, 0x1234, three, 3},
	{1, 0, UINT64_MAX, unknown, 1},
	{0, 0, 0x10, three + 2, 1},
	{0, 0, 0x8, NULL, 0},
};

static void check_frames(const struct symbol_entry *entry, const struct symbol_frame *want,
			 u32 count)
{
	if (!entry)
		FAIL("an entry is missing");
	CHECK_EQ(entry->frame_count, count);
	for (u32 i = 0; i < count && i < entry->frame_count; i++) {
		CHECK_STR(entry->frames[i].function, want[i].function);
		CHECK_STR(entry->frames[i].file, want[i].file);
		CHECK_EQ(entry->frames[i].line, want[i].line);
		CHECK_EQ(entry->frames[i].column, want[i].column);
		CHECK_EQ(entry->frames[i].inlined, want[i].inlined);
	}
}

static void add_or_fail(const char *path, const struct symbol_entry *some, u64 count)
{
	struct err err = {0};

	if (trace_write_symbols(path, some, count, &err) < 0)
		FAIL("%s", err.text);
}

static void read_or_fail(const char *path, struct symbol_table *table)
{
	struct err err = {0};

	if (trace_read_symbols(path, table, &err) < 0)
		FAIL("%s", err.text);
}

static void check_stream_kept(const char *path, const struct log *want, bool complete)
{
	LOG(got);
	struct trace_info info = {0};
	struct err err = {0};

	if (read_story(path, &strict, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	check_same_log(&got, want);
	CHECK_EQ(info.complete, complete);
}

TEST(variables, "a variable is found by any address in it, and code is none")
{
	const char *path = test_path("trace");
	struct symbol_variable told = {"server", "main.c", 12, 0, 24}, got;
	struct symbol_entry rows[] = {{.module = 1, .address = 0x5000}, entries[0]};
	struct symbol_entry at = rows[0];
	struct symbol_table table = {0};
	struct arena arena = {0};
	LOG(want);

	CHECK(symbol_entry_variable(&rows[0], &told, &arena));
	write_story(path, 1, 100, 1, &want);
	add_or_fail(path, rows, 2);
	read_or_fail(path, &table);
	at.address = 0x5017;
	CHECK(symbol_table_variable(&table, &at, &got));
	CHECK_STR(got.name, "server");
	CHECK_STR(got.file, "main.c");
	CHECK_EQ(got.line, 12);
	CHECK_EQ(got.start, 0x5000);
	CHECK_EQ(got.bytes, 24);
	at.address = 0x5018;
	CHECK(!symbol_table_variable(&table, &at, &got));
	at.address = 0x1234;
	CHECK(!symbol_table_variable(&table, &at, &got));
	at.module = 2;
	CHECK(!symbol_table_variable(&table, &at, &got));
	symbol_table_release(&table);
	arena_release(&arena);
}

TEST(none, "a trace without symbols has an empty table")
{
	const char *path = test_path("trace");
	struct symbol_table table;
	LOG(want);

	write_story(path, 1, 100, 1, &want);
	read_or_fail(path, &table);
	CHECK_EQ(table.count, 0);
	CHECK(symbol_table_find(&table, 0, 0, 0) == NULL);
	symbol_table_release(&table);
}

TEST(append, "symbols that were added are found again and the stream is unchanged")
{
	const char *path = test_path("trace");
	struct symbol_table table;
	LOG(want);

	write_story(path, 2, 1000, 1, &want);
	add_or_fail(path, entries, 4);
	read_or_fail(path, &table);
	CHECK_EQ(table.count, 4);
	check_frames(symbol_table_find(&table, 0, 1, 0x1234), three, 3);
	check_frames(symbol_table_find(&table, 1, 0, UINT64_MAX), unknown, 1);
	check_frames(symbol_table_find(&table, 0, 0, 0x10), three + 2, 1);
	check_frames(symbol_table_find(&table, 0, 0, 0x8), NULL, 0);
	CHECK(symbol_table_find(&table, 0, 0, 0x11) == NULL);
	for (u64 i = 1; i < table.count; i++)
		CHECK(table.entries[i - 1].image <= table.entries[i].image);
	symbol_table_release(&table);
	check_stream_kept(path, &want, true);
}

TEST(append_again, "symbols that are added later win, the others stay")
{
	const char *path = test_path("trace");
	struct symbol_entry later = {0, 1, 0x1234, other, 1};
	struct symbol_table table;
	LOG(want);

	write_story(path, 1, 1000, 2, &want);
	add_or_fail(path, entries, 4);
	add_or_fail(path, &later, 1);
	read_or_fail(path, &table);
	CHECK_EQ(table.count, 4);
	check_frames(symbol_table_find(&table, 0, 1, 0x1234), other, 1);
	check_frames(symbol_table_find(&table, 0, 0, 0x10), three + 2, 1);
	symbol_table_release(&table);
	check_stream_kept(path, &want, true);
}

TEST(columns, "a column without a line or beyond 16 bits is unknown, and the line stays")
{
	static const struct symbol_frame odd[] = {{"f", "f.c", 0, true, 9},
						  {"g", "f.c", 3, false, 65536}};
	static const struct symbol_frame want[] = {{"f", "f.c", 0, true, 0},
						   {"g", "f.c", 3, false, 0}};
	const struct symbol_entry entry = {0, 0, 1, odd, 2};
	const char *path = test_path("trace");
	struct symbol_table table;
	LOG(story);

	write_story(path, 1, 100, 2, &story);
	add_or_fail(path, &entry, 1);
	read_or_fail(path, &table);
	check_frames(symbol_table_find(&table, 0, 0, 1), want, 2);
	symbol_table_release(&table);
}

enum { MANY = 60000 };

TEST(many, "as many symbols as take several blocks come back")
{
	const char *path = test_path("trace");
	static struct symbol_frame frames[MANY];
	static struct symbol_entry many[MANY];
	static char names[MANY][40];
	struct symbol_table table;
	LOG(want);

	for (u32 i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "a_rather_long_function_name_%u", i * 7);
		frames[i] = (struct symbol_frame){names[i], "file.c", i, i % 2, i ? i % 200 : 0};
		many[i] = (struct symbol_entry){0, i % 3, i * 5000ull % 65537, &frames[i], 1};
	}
	write_story(path, 1, 100, 2, &want);
	add_or_fail(path, many, MANY);
	read_or_fail(path, &table);
	for (u32 i = 0; i < MANY; i++)
		check_frames(symbol_table_find(&table, 0, many[i].module, many[i].address),
			     &frames[i], 1);
	symbol_table_release(&table);
}

TEST(cut_symbols, "a trace whose added symbols are cut off is as complete as before")
{
	const char *path = test_path("trace");
	TEXT(old);
	TEXT(bytes);
	LOG(want);
	struct err err = {0};

	write_story(path, 1, 50, 3, &want);
	io_read_file(path, 1 << 30, &old, &err);
	add_or_fail(path, entries, 4);
	io_read_file(path, 1 << 30, &bytes, &err);
	CHECK(memcmp(old.text, bytes.text, old.count) == 0);
	for (u64 cut = old.count; cut < bytes.count; cut++) {
		LOG(got);
		struct trace_info info = {0};
		struct symbol_table table;

		io_write_file(path, bytes.text, cut, &err);
		if (read_story(path, &salvage, &got, &info, &err) < 0)
			FAIL("%s", err.text);
		check_same_events(&got, &want);
		CHECK(info.complete);
		read_or_fail(path, &table);
		CHECK(table.count == 0 || table.count == 4);
		symbol_table_release(&table);
	}
}

TEST(incomplete, "symbols do not make an incomplete trace complete, and its cut end stays counted")
{
	const char *path = test_path("trace");
	TEXT(bytes);
	LOG(want);
	LOG(got);
	struct trace_info info = {0};
	struct symbol_table table;
	struct err err = {0};

	write_story(path, 1, 100, 4, &want);
	io_read_file(path, 1 << 30, &bytes, &err);
	io_write_file(path, bytes.text, bytes.count - 10, &err);
	add_or_fail(path, entries, 4);
	if (read_story(path, &salvage, &got, &info, &err) < 0)
		FAIL("%s", err.text);
	check_same_log(&got, &want);
	CHECK(!info.complete);
	CHECK(info.has_symbols);
	CHECK_EQ(info.damaged_blocks, 1);
	read_or_fail(path, &table);
	CHECK_EQ(table.count, 4);
	symbol_table_release(&table);
}

TEST(no_room, "symbols for which there is no room leave the trace as it was")
{
	const char *path = test_path("trace");
	TEXT(old);
	TEXT(now);
	struct rlimit limit = {.rlim_max = RLIM_INFINITY};
	LOG(want);
	struct err err = {0};

	write_story(path, 1, 1000, 5, &want);
	io_read_file(path, 1 << 30, &old, &err);
	limit.rlim_cur = old.count + 300;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	CHECK_EQ(trace_write_symbols(path, entries, 4, &err), ERR_SYSTEM);
	io_read_file(path, 1 << 30, &now, &err);
	CHECK_EQ(now.count, old.count);
	check_stream_kept(path, &want, true);
}

TEST(not_a_trace, "symbols are not added to a file that is no trace")
{
	const char *path = test_path("text");
	TEXT(now);
	struct err err = {0};

	io_write_file(path, "just text, longer than a trace header is", 40, &err);
	CHECK_EQ(trace_write_symbols(path, entries, 4, &err), ERR_INPUT);
	CHECK(strstr(err.text, "is not a Heapwise trace") != NULL);
	io_read_file(path, 1 << 20, &now, &err);
	CHECK_STR(strbuf_text(&now), "just text, longer than a trace header is");
}
