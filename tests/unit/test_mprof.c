/* SPDX-License-Identifier: MIT
 * The leak, bin and direct tables of mprof over hand-made models. */
#include "study/analysis/mprof/bins.h"
#include "study/analysis/mprof/direct.h"
#include "study/analysis/mprof/leaks.h"
#include "show/render/render.h"
#include "unit/test_mprof.h"

/* The text of a table, for comparison with what a reader should see. */
static const char *text_of(const struct result *table)
{
	static char *text;
	static size_t bytes;
	struct text_style style = {.width = 100};
	FILE *out;

	free(text);
	text = NULL;
	out = open_memstream(&text, &bytes);
	render_text(table, &style, out);
	fclose(out);
	return text;
}

static struct result *leaks(struct program *program, enum mprof_verbosity verbosity, u32 depth,
			    bool offsets)
{
	struct mprof_leaks_query query = {.verbosity = verbosity,
					  .depth = depth,
					  .offsets = offsets};
	struct result *table = analyse_mprof_leaks(&program->calls, &query, &program->feed.err);

	if (!table)
		FAIL("%s", program->feed.err.text);
	return table;
}

static struct result *bins(struct program *program, enum mprof_verbosity verbosity, bool log)
{
	struct mprof_bins_query query = {.verbosity = verbosity, .log = log, .no_types = true};
	struct result *table = analyse_mprof_bins(program->feed.model, &query, &program->feed.err);

	if (!table)
		FAIL("%s", program->feed.err.text);
	return table;
}

TEST(widget, "the paper's example gives the paper's leak and direct tables")
{
	struct program *program = program_new();
	struct result *table;
	u64 blue[4981];

	for (u32 i = 0; i < 5019; i++)
		allocate(program, "_start>main>make_red_widget>make_widget", 204);
	for (u32 i = 0; i < 4981; i++)
		blue[i] = allocate(program, "_start>main>make_blue_widget>make_widget", 204);
	for (u32 i = 0; i < 4981; i++)
		release(program, blue[i], 204);
	program_end(program);
	table = leaks(program, MPROF_NORMAL, 5, false);
	CHECK_STR(text_of(table),
		  "Memory leaks\n"
		  "  allocs    bytes   (%) | path\n"
		  "    5019  1023876 (100) | main > make_red_widget > make_widget\n");
	result_free(table);
	table = analyse_mprof_direct(&program->calls, &program->feed.err);
	CHECK_STR(
		text_of(table),
		"Direct allocation\n"
		"                 | % mem(size)     |            | % all kept      |\n"
		"  % mem    bytes |   s   m   l   x | bytes kept |   s   m   l   x | calls  name\n"
		"         2040000 |     100         |    1023876 |     100         | 10000  "
		"<TOTAL>\n"
		"  100.0  2040000 |     100         |    1023876 |     100         | 10000  "
		"make_widget\n");
	result_free(table);
	table = bins(program, MPROF_NORMAL, false);
	CHECK_STR(text_of(table), "Allocation bins\n"
				  "     size  allocs    bytes   (%)  frees     kept   (%)  types\n"
				  "      204   10000  2040000 (100)   4981  1023876 (100)\n"
				  "   > 1024       0        0            0        0\n"
				  "  <TOTAL>   10000  2040000         4981  1023876\n");
	result_free(table);
	program_free(program);
}

TEST(partial_chains, "chains are cut to the last callers, and frees join the chain that allocated")
{
	struct program *program = program_new();
	struct result *table;
	u64 chunk = allocate(program, "main>a>b>c>d>e", 10);

	allocate(program, "main>z>b>c>d>e", 90);
	allocate(program, "b>c>d>e", 50);
	allocate(program, "main>f", 50);
	release(program, chunk, 10);
	program_end(program);
	table = leaks(program, MPROF_NORMAL, 4, false);
	CHECK_STR(text_of(table), "Memory leaks\n"
				  "  allocs  bytes  (%)  frees  bytes  (%) | path\n"
				  "       2    100 (47)      1     10 (10) | ... > b > c > d > e\n"
				  "       1     50 (26)                    | b > c > d > e\n"
				  "       1     50 (26)                    | main > f\n");
	result_free(table);
	table = leaks(program, MPROF_NORMAL, 0, false);
	CHECK_STR(text_of(table), "Memory leaks\n"
				  "  allocs  bytes  (%) | path\n"
				  "       1     90 (47) | main > z > b > c > d > e\n"
				  "       1     50 (26) | b > c > d > e\n"
				  "       1     50 (26) | main > f\n");
	result_free(table);
	program_free(program);
}

TEST(sites, "with offsets two calls in one function are two chains, without they are one")
{
	struct program *program = program_new();
	struct result *table;

	allocate(program, "main>both/1>get", 10);
	allocate(program, "main>both/2>get", 30);
	program_end(program);
	table = leaks(program, MPROF_NORMAL, 5, false);
	CHECK_EQ(result_rows(table), 1);
	result_free(table);
	/* /bin/prog is no file: starts of functions are unknown, places in the module are not. */
	table = leaks(program, MPROF_NORMAL, 5, true);
	CHECK_STR(text_of(table), "Memory leaks\n"
				  "  allocs  bytes  (%) | path\n"
				  "       1     30 (75) | main@0x1 > both@0x121 > get@0x201\n"
				  "       1     10 (25) | main@0x1 > both@0x111 > get@0x201\n");
	result_free(table);
	program_free(program);
}

TEST(limits, "rows need strictly more than 0.5 or 1 percent; verbose shows all")
{
	static const struct {
		enum mprof_verbosity verbosity;
		u64 leaks, bins;
	} rows[] = {{MPROF_VERBOSE, 5, 7}, {MPROF_NORMAL, 3, 5}, {MPROF_TERSE, 1, 3}};
	struct program *program = program_new();

	/* of 200,000 bytes: 0, exactly 0.5 %, just more, exactly 1 %, the rest */
	allocate(program, "main>none", 0);
	allocate(program, "main>half", 1000);
	allocate(program, "main>more", 1001);
	for (u32 i = 0; i < 4; i++)
		allocate(program, "main>one", 500);
	for (u32 i = 0; i < 999; i++)
		allocate(program, "main>rest", 196);
	allocate(program, "main>rest", 195);
	program_end(program);
	CHECK_EQ(program->calls.all.bytes, 200000);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct result *table = leaks(program, rows[i].verbosity, 5, false);

		CHECK_EQ(result_rows(table), rows[i].leaks);
		result_free(table);
		table = bins(program, rows[i].verbosity, false);
		/* 195 is always too small but for verbose; > 1024 and <TOTAL> are always there */
		CHECK_EQ(result_rows(table), rows[i].bins + (rows[i].verbosity == MPROF_VERBOSE));
		result_free(table);
	}
	program_free(program);
}

TEST(bin_edges, "1024 has a bin of its own, 1025 is larger; logarithmic bins hold all sizes")
{
	struct program *program = program_new();
	struct result *table;

	allocate(program, "main", 0);
	allocate(program, "main", 1);
	allocate(program, "main", 1023);
	allocate(program, "main", 1024);
	allocate(program, "main", 1025);
	release(program, allocate(program, "main", 5000), 5000);
	program_end(program);
	table = bins(program, MPROF_VERBOSE, false);
	CHECK_STR(text_of(table), "Allocation bins\n"
				  "     size  allocs  bytes  (%)  frees  kept  (%)  types\n"
				  "        0       1      0           0     0\n"
				  "        1       1      1           0     1\n"
				  "     1023       1   1023 (12)      0  1023 (33)\n"
				  "     1024       1   1024 (12)      0  1024 (33)\n"
				  "   > 1024       2   6025 (74)      1  1025 (33)\n"
				  "  <TOTAL>       6   8073           1  3073\n");
	result_free(table);
	table = bins(program, MPROF_VERBOSE, true);
	CHECK_STR(text_of(table), "Allocation bins\n"
				  "       size  allocs  bytes  (%)  frees  kept  (%)  types\n"
				  "          0       1      0           0     0\n"
				  "          1       1      1           0     1\n"
				  "   512-1023       1   1023 (12)      0  1023 (33)\n"
				  "  1024-2047       2   2049 (25)      0  2049 (66)\n"
				  "  4096-8191       1   5000 (61)      1     0\n"
				  "    <TOTAL>       6   8073           1  3073\n");
	result_free(table);
	program_free(program);
}

TEST(size_classes, "32, 256 and 2048 bytes end small, medium and large")
{
	static const u64 sizes[] = {0, 32, 33, 256, 257, 2048, 2049};
	static const u64 sums[] = {32, 289, 2305, 2049};
	struct program *program = program_new();

	for (u32 i = 0; i < sizeof sizes / sizeof *sizes; i++)
		allocate(program, "main", sizes[i]);
	program_end(program);
	for (u32 i = 0; i < MPROF_SIZES; i++)
		CHECK_EQ(program->calls.all.sizes[i], sums[i]);
	program_free(program);
}

/* The names of a point's chain, outermost first. */
static const char *chain(const struct program *program, u64 point)
{
	static char text[256];
	const struct mprof_calls *calls = &program->calls;
	char before[256] = "";

	for (u32 call = calls->points.data[point].call; call;
	     call = calls->calls.data[call].caller) {
		const char *name = mprof_function(calls, calls->calls.data[call].function)->name;

		snprintf(text, sizeof text, "%s%s%.200s", name, *before ? ">" : "", before);
		snprintf(before, sizeof before, "%.255s", text);
	}
	return text;
}

TEST(outer_frames, "what runs before main is left out, and runs of the standard library are one")
{
	static const struct {
		const char *stack, *chain;
	} rows[] = {
		{"?outermost>f", "prog+0x0>f"},
		{"_start>__libc_start_main>__libc_start_call_main>main>f", "main>f"},
		{"_start>__libc_start_main>?caller>main>g", "main>g"},
		{"?start>__libc_start_main>main>h", "main>h"},
		{"clone3>start_thread>worker", "worker"},
		{"_start>__libc_start_main", "__libc_start_main"},
		{"main>_start>f", "main>_start>f"},
		{"main>std::a>std::b>std::c", "main>std::a"},
		{"main>std::a>compare>std::b", "main>std::a>compare>std::b"},
		{"", "(no stack)"},
	};
	struct program *program = program_new();

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		allocate(program, rows[i].stack, 1);
	program_end(program);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_STR(chain(program, i), rows[i].chain);
	program_free(program);
}

TEST(unnamed_main, "main of a stripped program is known by its caller")
{
	struct program *program = program_new();
	struct symbol_frame caller = {.function = "__libc_start_call_main", .file = ""};
	struct symbol_entry entry = {.module = 1,
				     .address = 0x10,
				     .frames = &caller,
				     .frame_count = 1};

	tell_module(&program->feed, 1, 0x900000, 0, "/lib/libc.so.6");
	tell_context(&program->feed, 1, 0, 0x900011);
	tell_context(&program->feed, 2, 1, PROGRAM_BASE + 0x11);
	tell_context(&program->feed, 3, 1, PROGRAM_BASE + 0x31);
	tell_alloc(&program->feed, HW_MALLOC, 2, 10);
	tell_alloc(&program->feed, HW_MALLOC, 3, 10);
	tell_end(&program->feed, IMAGE_EXITED);
	program->symbols = (struct symbol_table){.entries = &entry, .count = 1};
	program->source =
		(struct stack_source){.model = program->feed.model, .symbols = &program->symbols};
	if (mprof_calls_read(&program->calls, &program->source, &program->feed.err) < 0)
		FAIL("%s", program->feed.err.text);
	for (u32 i = 0; i < 2; i++)
		CHECK_STR(chain(program, i), "main");
	program_free(program);
}

TEST(cut_stacks, "a stack whose outer frames were cut off is told so and has no function for it")
{
	struct program *program = program_new();
	struct stream_context cut = {.id = 1, .flags = HW_NODE_CUT};
	struct result *table;

	told(&program->feed,
	     program->feed.sink.contexts(program->feed.sink.self, &cut, 1, &program->feed.err));
	tell_context(&program->feed, 2, 1, PROGRAM_BASE + 1);
	tell_alloc(&program->feed, HW_MALLOC, 2, 10);
	name_number(program, "inner", 5);
	program_end(program);
	table = leaks(program, MPROF_NORMAL, 5, false);
	CHECK_STR(text_of(table), "Memory leaks\n"
				  "  allocs  bytes   (%) | path\n"
				  "       1     10 (100) | ... > inner\n");
	result_free(table);
	program_free(program);
}

TEST(exec, "an image that was replaced keeps nothing")
{
	struct program *program = program_new();
	struct result *table;

	allocate(program, "main", 10);
	program_end_as(program, IMAGE_EXEC);
	table = leaks(program, MPROF_VERBOSE, 5, false);
	CHECK_STR(text_of(table), "Memory leaks\n  nothing was kept\n");
	result_free(table);
	table = bins(program, MPROF_VERBOSE, false);
	CHECK_EQ(result_cell(table, 0, 6)->number, 0);
	result_free(table);
	program_free(program);
}

TEST(nothing, "a program without allocations has empty tables")
{
	struct program *program = program_new();
	struct result *table;

	program_end(program);
	table = leaks(program, MPROF_NORMAL, 5, true);
	CHECK_EQ(result_rows(table), 0);
	result_free(table);
	table = bins(program, MPROF_NORMAL, false);
	CHECK_EQ(result_rows(table), 2);
	result_free(table);
	table = analyse_mprof_direct(&program->calls, &program->feed.err);
	CHECK_EQ(result_rows(table), 1);
	result_free(table);
	program_free(program);
}

TEST(aggregates, "what was only summed up is in the leaks, and the bins say that they lack it")
{
	struct program *program = program_new();
	struct stream_aggregate row = {.allocations = 5,
				       .bytes = 500,
				       .frees = 2,
				       .freed_bytes = 200};
	struct result *table;

	allocate(program, "main", 100);
	row.context = context_of(program, "main");
	told(&program->feed,
	     program->feed.sink.aggregates(program->feed.sink.self, &row, 1, &program->feed.err));
	program_end(program);
	table = leaks(program, MPROF_NORMAL, 5, false);
	CHECK_STR(text_of(table), "Memory leaks\n"
				  "  allocs  bytes   (%)  frees  bytes  (%) | path\n"
				  "       6    600 (100)      2    200 (33) | main\n");
	result_free(table);
	table = bins(program, MPROF_NORMAL, false);
	CHECK_EQ(table->caveats.count, 1);
	result_free(table);
	program_free(program);
}

TEST(harmless_names, "names from a trace cannot drive the terminal, and long ones are shortened")
{
	struct program *program = program_new();
	struct result *table;
	const char *text;

	allocate(program, "main>\033[31mred", 10);
	program_end(program);
	table = leaks(program, MPROF_NORMAL, 5, false);
	text = text_of(table);
	CHECK(strchr(text, '\033') == NULL);
	CHECK(strstr(text, "main > ?[31mred") != NULL);
	result_free(table);
	program_free(program);
}
