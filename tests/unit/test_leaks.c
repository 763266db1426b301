/* SPDX-License-Identifier: MIT
 * Kept chunks by chain and class, and suppressions. */
#include <stdio.h>

#include "study/analysis/leaks/report.h"
#include "host/base/strbuf.h"
#include "unit/test_analysis.h"

/* Two points: 1 keeps a chunk of each class and one born after the scan, 2 a lost one; one is
 * freed. */
static struct feed five_classes(void)
{
	static const struct stream_class classes[] = {{0, CLASS_LOST},     {1, CLASS_INDIRECT},
						      {2, CLASS_POSSIBLE}, {3, CLASS_REACHABLE},
						      {5, CLASS_LOST},     {99, CLASS_LOST}};
	struct feed feed = feed_new();
	u64 freed;

	tell_functions(&feed, 2);
	for (u32 i = 0; i < 4; i++)
		tell_alloc(&feed, HW_MALLOC, 1, 100 + i);
	freed = tell_alloc(&feed, HW_MALLOC, 1, 5000);
	tell_free(&feed, HW_FREE, freed, 5000);
	tell_alloc(&feed, HW_MALLOC, 2, 1000);
	tell_scan(&feed, SCAN_DONE, "", classes, sizeof classes / sizeof *classes);
	tell_alloc(&feed, HW_MALLOC, 1, 7);
	return feed;
}

static struct leak_table found(struct feed *feed, const struct symbol_table *symbols,
			       struct suppressions *suppressions)
{
	struct stack_source source = {.model = feed->model, .symbols = symbols};
	struct leak_table table = {0};

	told(feed, leaks_find(&source, suppressions, &table, &feed->err));
	return table;
}

TEST(classes, "every kept chunk counts in its class, a freed one in none")
{
	static const struct {
		enum chunk_class chunk_class;
		u64 chunks, bytes;
	} rows[] = {
		{CLASS_LOST, 2, 1100},     {CLASS_INDIRECT, 1, 101}, {CLASS_POSSIBLE, 1, 102},
		{CLASS_REACHABLE, 1, 103}, {CLASS_UNKNOWN, 1, 7},
	};
	struct feed feed = five_classes();
	struct leak_table table;

	tell_end(&feed, IMAGE_EXITED);
	table = found(&feed, NULL, NULL);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		CHECK_EQ(table.classes[rows[i].chunk_class].chunks, rows[i].chunks);
		CHECK_EQ(table.classes[rows[i].chunk_class].bytes, rows[i].bytes);
	}
	leak_table_release(&table);
	model_free(feed.model);
}

TEST(order, "chains are listed by class and then by bytes")
{
	static const struct {
		u8 chunk_class;
		u32 point;
		u64 bytes;
	} rows[] = {{CLASS_LOST, 1, 1000},    {CLASS_LOST, 0, 100},      {CLASS_INDIRECT, 0, 101},
		    {CLASS_POSSIBLE, 0, 102}, {CLASS_REACHABLE, 0, 103}, {CLASS_UNKNOWN, 0, 7}};
	struct feed feed = five_classes();
	struct leak_table table;

	tell_end(&feed, IMAGE_EXITED);
	table = found(&feed, NULL, NULL);
	CHECK_EQ(table.rows.count, sizeof rows / sizeof *rows);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		CHECK_EQ(table.rows.data[i].chunk_class, rows[i].chunk_class);
		CHECK_EQ(table.rows.data[i].point.index, rows[i].point);
		CHECK_EQ(table.rows.data[i].bytes, rows[i].bytes);
	}
	leak_table_release(&table);
	model_free(feed.model);
}

TEST(last_scan, "the last scan counts, and what it does not name is unknown again")
{
	static const struct stream_class again[] = {{1, CLASS_REACHABLE}};
	struct feed feed = five_classes();
	struct leak_table table;

	tell_scan(&feed, SCAN_DONE, "", again, 1);
	tell_end(&feed, IMAGE_EXITED);
	CHECK_EQ(model_chunk_class(feed.model, 0), CLASS_UNKNOWN);
	CHECK_EQ(model_chunk_class(feed.model, 1), CLASS_REACHABLE);
	CHECK_EQ(model_chunk_class(feed.model, 12345678), CLASS_UNKNOWN);
	table = found(&feed, NULL, NULL);
	CHECK_EQ(table.classes[CLASS_LOST].chunks, 0);
	CHECK_EQ(table.classes[CLASS_UNKNOWN].chunks, 5);
	leak_table_release(&table);
	model_free(feed.model);
}

TEST(reasons, "without a scan all is unknown and one sentence says why")
{
	static const struct {
		bool ends;
		u32 how, state;
		const char *scan_reason, *want;
	} rows[] = {
		{true, IMAGE_EXITED, SCAN_NONE, NULL, "the trace has no leak scan"},
		{true, IMAGE_EXITED, SCAN_FAILED, "ptrace is not permitted",
		 "ptrace is not permitted"},
		{true, IMAGE_KILLED, SCAN_NONE, NULL,
		 "the program was killed by signal 0 (Unknown signal 0) before a leak scan"},
		{true, IMAGE_DETACHED, SCAN_NONE, NULL,
		 "the recording was stopped before the program's end"},
		{false, 0, SCAN_NONE, NULL, "the recording is truncated before the program's end"},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct feed feed = feed_new();
		struct result *result = result_new(RESULT_RECORD, "leaks", "");
		struct leak_table table;

		tell_functions(&feed, 1);
		tell_alloc(&feed, HW_MALLOC, 1, 10);
		if (rows[i].scan_reason)
			tell_scan(&feed, rows[i].state, rows[i].scan_reason, NULL, 0);
		if (rows[i].ends)
			tell_end(&feed, rows[i].how);
		model_finish(feed.model);
		table = found(&feed, NULL, NULL);
		CHECK_EQ(table.classes[CLASS_UNKNOWN].chunks, 1);
		CHECK_STR(leaks_unknown_reason(feed.model, result), rows[i].want);
		leak_table_release(&table);
		result_free(result);
		model_free(feed.model);
	}
}

TEST(exec, "what exec gives up is no leak")
{
	struct feed feed = five_classes();
	struct leak_table table;

	tell_end(&feed, IMAGE_EXEC);
	table = found(&feed, NULL, NULL);
	CHECK_EQ(table.rows.count, 0);
	leak_table_release(&table);
	model_free(feed.model);
}

TEST(size_limit, "after the size limit the points' sums are of class unknown")
{
	struct feed feed = five_classes();
	struct stream_aggregate row = {.context = 2, .allocations = 3, .bytes = 30, .frees = 1};
	struct leak_table table;

	told(&feed, feed.sink.aggregates(feed.sink.self, &row, 1, &feed.err));
	tell_end(&feed, IMAGE_EXITED);
	table = found(&feed, NULL, NULL);
	CHECK_EQ(table.classes[CLASS_LOST].chunks, 0);
	CHECK_EQ(table.classes[CLASS_UNKNOWN].chunks, 8);
	leak_table_release(&table);
	model_free(feed.model);
}

TEST(sampled, "sampled chunks count with their weight")
{
	static const struct stream_class lost[] = {{0, CLASS_LOST}};
	struct feed feed = feed_new();
	struct leak_table table;

	tell_image(&feed, 1000);
	tell_functions(&feed, 1);
	tell_alloc(&feed, HW_MALLOC, 1, 10);
	tell_scan(&feed, SCAN_DONE, "", lost, 1);
	tell_end(&feed, IMAGE_EXITED);
	table = found(&feed, NULL, NULL);
	/* 1 / (1 - exp(-0.01)) */
	CHECK_EQ(model_count(feed.model, table.classes[CLASS_LOST].chunks), 101);
	CHECK_EQ(table.classes[CLASS_LOST].bytes, 1005);
	leak_table_release(&table);
	model_free(feed.model);
}

TEST(kinds_and_top, "chains of other classes are not listed, and more than the top are counted")
{
	struct feed feed = five_classes();
	struct stack_source source = {.model = feed.model};
	struct leaks_query query = {.top = 2};
	struct leak_table table;
	struct result *result;

	tell_end(&feed, IMAGE_EXITED);
	table = found(&feed, NULL, NULL);
	CHECK(leaks_kind_parse("lost", &query.kinds) && leaks_kind_parse("possible", &query.kinds));
	CHECK(!leaks_kind_parse("los", &query.kinds) && !leaks_kind_parse("", &query.kinds));
	result = leaks_result(&source, &table, NULL, &query, &feed.err);
	CHECK_EQ(number(result, "lost.bytes"), 1100);
	CHECK_EQ(number(result, "reachable.chunks"), 1);
	CHECK_EQ(result_rows(result->parts.data[0]), 2);
	CHECK_STR(result->parts.data[0]->caveats.data[0], "1 more: --top 0 shows all");
	result_free(result);
	query.top = 0;
	result = leaks_result(&source, &table, NULL, &query, &feed.err);
	CHECK_EQ(result_rows(result->parts.data[0]), 3);
	CHECK_STR(cell(result->parts.data[0], 2, "leak_kind")->text, "possible");
	result_free(result);
	leak_table_release(&table);
	model_free(feed.model);
}

TEST(patterns, "patterns match as in LeakSanitizer's files")
{
	static const struct {
		const char *pattern, *text;
		bool want;
	} rows[] = {
		{"leak", "my_leak_here", true},
		{"leak", "my_lea", false},
		{"^my", "my_leak", true},
		{"^leak", "my_leak", false},
		{"leak$", "my_leak", true},
		{"my$", "my_leak", false},
		{"^my_leak$", "my_leak", true},
		{"^my_leak$", "my_leaky", false},
		{"my*here", "my_leak_here", true},
		{"^my*here$", "my_leak_here", true},
		{"here*my", "my_leak_here", false},
		{"^*$", "anything", true},
		{"a*b*c", "xaxbxcx", true},
		{"a*b*c$", "xaxbxcx", false},
		{"a*b*c$", "abcabc", true},
		{"ab*ba$", "aba", false},
		{"*", "x", true},
		{"^", "x", true},
		{"$", "x", true},
		{"std::vector<*>::push_back", "std::vector<int>::push_back(int const&)", true},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!CHECK_EQ(suppression_matches(rows[i].pattern, rows[i].text), rows[i].want))
			fprintf(stderr, "# %s on %s\n", rows[i].pattern, rows[i].text);
}

static const char *const names[] = {"leaky", "wrapper", "main"};

/* leaky < wrapper < main and wrapper alone < main: 10 and 20 bytes, both lost. */
static struct feed two_chains(void)
{
	static const struct stream_class lost[] = {{0, CLASS_LOST}, {1, CLASS_LOST}};
	struct feed feed = feed_new();

	tell_functions(&feed, 0);
	tell_context(&feed, 1, 0, pc_of(PROGRAM_BASE, 3));
	tell_context(&feed, 2, 1, pc_of(PROGRAM_BASE, 2));
	tell_context(&feed, 3, 2, pc_of(PROGRAM_BASE, 1));
	tell_context(&feed, 4, 1, pc_of(LIBRARY_BASE, 2));
	tell_alloc(&feed, HW_MALLOC, 3, 10);
	tell_alloc(&feed, HW_MALLOC, 4, 20);
	tell_scan(&feed, SCAN_DONE, "", lost, 2);
	tell_end(&feed, IMAGE_EXITED);
	return feed;
}

TEST(suppressing, "a suppression hides chains by function, module or file of any frame")
{
	static const struct {
		const char *lines;
		u64 lost, hidden;
		u32 by; /* line that hid the most */
	} rows[] = {
		{"leak:^leaky$", 20, 10, 0},
		{"leak:wrap*r", 20, 10, 0},
		{"leak:main", 0, 30, 0},
		{"leak:libhelp.so", 10, 20, 0},
		{"leak:src/prog.c", 0, 30, 0},
		{"leak:nobody", 30, 0, 0},
		{"# leak:main\n\n  leak:nobody  \r\n\tleak:leaky\n", 20, 10, 1},
		{"", 30, 0, 0},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct symbol_frame frames[3];
		struct symbol_entry entries[3];
		struct symbol_table symbols = named_table(names, 3, frames, entries);
		struct feed feed = two_chains();
		struct suppressions suppressions = {0};
		struct leak_table table;

		told(&feed, suppressions_parse(&suppressions, rows[i].lines, "file", &feed.err));
		table = found(&feed, &symbols, &suppressions);
		CHECK_EQ(table.classes[CLASS_LOST].bytes, rows[i].lost);
		if (!CHECK_EQ(table.suppressed.bytes, rows[i].hidden))
			fprintf(stderr, "# %s\n", rows[i].lines);
		if (rows[i].hidden)
			CHECK_EQ(suppressions.list.data[rows[i].by].bytes, rows[i].hidden);
		leak_table_release(&table);
		suppressions_release(&suppressions);
		model_free(feed.model);
	}
}

TEST(builtin, "the loader's own are hidden, but not what constructors below it allocate")
{
	static const struct stream_class lost[] = {{0, CLASS_LOST}, {1, CLASS_LOST}};
	struct feed feed = feed_new();
	struct suppressions suppressions = {0};
	struct leak_table table;

	tell_module(&feed, 0, PROGRAM_BASE, 0, "/bin/prog");
	tell_module(&feed, 1, LIBRARY_BASE, 0, "/lib64/ld-linux-x86-64.so.2");
	tell_context(&feed, 1, 0, pc_of(LIBRARY_BASE, 1));
	tell_context(&feed, 2, 1, pc_of(PROGRAM_BASE, 1));
	tell_alloc(&feed, HW_CALLOC, 1, 10); /* by the loader */
	tell_alloc(&feed, HW_MALLOC, 2, 20); /* by a constructor that the loader calls */
	tell_scan(&feed, SCAN_DONE, "", lost, 2);
	tell_end(&feed, IMAGE_EXITED);
	told(&feed, suppressions_add_builtin(&suppressions, &feed.err));
	table = found(&feed, NULL, &suppressions);
	CHECK_EQ(table.suppressed.bytes, 10);
	CHECK_EQ(table.classes[CLASS_LOST].bytes, 20);
	leak_table_release(&table);
	suppressions_release(&suppressions);
	model_free(feed.model);
}

TEST(bad_lines, "a line that is no suppression is an error that names it")
{
	static const char *const rows[] = {"race:x", "leak", "leak:", "leak: ", "main"};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct suppressions suppressions = {0};
		struct strbuf text = {0};
		struct err err = {0};

		strbuf_addf(&text, "leak:ok\n%s\n", rows[i]);
		CHECK_EQ(suppressions_parse(&suppressions, strbuf_text(&text), "file", &err),
			 ERR_INPUT);
		CHECK(strncmp(err.text, "file:2: ", 8) == 0);
		suppressions_release(&suppressions);
		strbuf_release(&text);
	}
}

TEST(mention, "the report tells what is or may be lost, and nothing if no scan was made")
{
	struct feed feed = five_classes(), unscanned = feed_new();
	struct stack_source source = {.model = feed.model};
	struct leak_report_query query = {0};
	struct leak_report leaks = {0}, nothing = {0};
	struct result *report = result_new(RESULT_RECORD, "report", "");
	struct result *silent = result_new(RESULT_RECORD, "report", "");

	tell_end(&feed, IMAGE_EXITED);
	told(&feed, leak_report_make(&leaks, &source, &query, &feed.err));
	leak_report_mention(&leaks, feed.model, report);
	CHECK_EQ(number(report, "leaks.bytes"), 1000 + 100 + 101 + 102);
	CHECK_EQ(number(report, "leaks.chunks"), 4);
	CHECK_EQ(number(report, "leaks.misuse"), 0);
	CHECK(!result_field(report, "leaks.growing_points")->known); /* too short */
	leak_report_mention(&nothing, unscanned.model, silent);
	CHECK(!result_field(silent, "leaks.bytes")->known);
	leak_report_release(&leaks);
	result_free(report);
	result_free(silent);
	model_free(feed.model);
	model_free(unscanned.model);
}
