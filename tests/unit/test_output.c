/* SPDX-License-Identifier: MIT
 * Results and their three renderings, compared with the text that is wanted. */
#include <stdlib.h>
#include <string.h>

#include "host/base/text.h"
#include "lib/test.h"
#include "host/base/json.h"
#include "show/render/render.h"
#include "host/base/text_width.h"

static char *rendered(const struct result *result, char how, u32 width)
{
	struct text_style style = {.width = width, .colour = how == 'c'};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		FAIL("no memory");
	if (how == 'j')
		render_json(result, out);
	else if (how == 'v')
		render_csv(result, out);
	else
		render_text(result, &style, out);
	fclose(out);
	return text;
}

static void check(const struct result *result, char how, u32 width, const char *want)
{
	char *got = rendered(result, how, width);

	CHECK_STR(got, want);
	free(got);
}

static struct result_frame frames[] = {
	{.function = "grow",
	 .file = "src/vec.c",
	 .line = 12,
	 .module = "/bin/p",
	 .offset = 0x10,
	 .inlined = true},
	{.function = "main", .file = "", .module = "/bin/p", .offset = 0x10},
	{.function = "", .file = "", .module = "/lib/libx.so.1", .offset = 0xabc},
};
static struct result_stack stack = {frames, 3, 2, 7};

static struct result *sample_table(void)
{
	static const struct result_column columns[] = {
		COLUMN("bytes", "bytes", VALUE_BYTES, "requested bytes"),
		COLUMN("share", "share", VALUE_SHARE, "of all"),
		COLUMN("hidden", NULL, VALUE_COUNT, "not in text"),
		COLUMN("name", "name", VALUE_TEXT, "a name"),
		COLUMN("stack", "stack", VALUE_STACK, "call stack"),
	};
	struct result *table = result_new(RESULT_TABLE, "points", "Points");
	struct value *row;

	result_set_columns(table, columns, 5);
	row = result_add_row(table);
	row[0] = value_number(1536);
	row[1] = value_real(0.25);
	row[2] = value_number(12345);
	row[3] = value_text("a \"b\",\nc");
	row[4] = value_stack(&stack);
	row = result_add_row(table);
	row[0] = value_number(7);
	row[3] = value_text("é\x1b[31m");
	row[4] = value_stack(&stack);
	result_add_caveat(table, "only %d rows", 2);
	return table;
}

static struct result *sample_record(void)
{
	struct result *record = result_new(RESULT_RECORD, "report", "");
	struct result_column program = COLUMN("program", "program", VALUE_TEXT, "path");
	struct result_column peak = COLUMN("peak.bytes", "peak", VALUE_BYTES, "largest sum");
	struct result_column chunks = COLUMN("peak.chunks", NULL, VALUE_COUNT, "live chunks");
	struct result_column lost = COLUMN("lost", "lost", VALUE_COUNT, "lost events");
	struct result_column complete = COLUMN("complete", NULL, VALUE_BOOL, "all there");
	struct result_column one = COLUMN("one", NULL, VALUE_COUNT, "1");
	struct result_column rss = COLUMN("rss", "resident", VALUE_BYTES, "sampled");

	program.remark = "nothing {unknown}";
	peak.section = "Summary";
	peak.remark = "in {peak.chunks:chunk}, {one:time}";
	lost.hide_zero = true;
	result_add_field(record, program, value_text("/bin/p"));
	result_add_field(record, peak, value_number(2048));
	result_add_field(record, chunks, value_number(1234));
	result_add_field(record, lost, value_number(0));
	result_add_field(record, one, value_number(1));
	result_add_field(record, complete, value_number(1));
	result_add_field(record, rss, value_unknown());
	return record;
}

TEST(table_text, "a table is aligned, with units, stacks below rows and each stack shown once")
{
	struct result *table = sample_table();

	check(table, 't', 80,
	      "Points\n"
	      "         bytes   share  name\n"
	      "  #1   1.5 KiB  25.0 %  a \"b\",?c\n"
	      "         grow                      src/vec.c:12  inlined\n"
	      "         main                      p\n"
	      "         libx.so.1+0xabc\n"
	      "         … 2 more\n"
	      "\n"
	      "  #1       7 B       -  é?[31m\n"
	      "         stack as above, #1\n"
	      "\n"
	      "  ! only 2 rows\n");
	result_free(table);
}

TEST(table_json, "a table in JSON has raw numbers, null for unknown, and its columns' units")
{
	struct result *table = sample_table();

	check(table, 'j', 0,
	      "{\n"
	      "  \"title\": \"Points\",\n"
	      "  \"columns\": [\n"
	      "    { \"name\": \"bytes\", \"unit\": \"bytes\", \"meaning\": \"requested bytes\" "
	      "},\n"
	      "    { \"name\": \"share\", \"unit\": \"share\", \"meaning\": \"of all\" },\n"
	      "    { \"name\": \"hidden\", \"unit\": \"count\", \"meaning\": \"not in text\" },\n"
	      "    { \"name\": \"name\", \"unit\": \"text\", \"meaning\": \"a name\" },\n"
	      "    { \"name\": \"stack\", \"unit\": \"stack\", \"meaning\": \"call stack\" }\n"
	      "  ],\n"
	      "  \"rows\": [\n"
	      "    {\n"
	      "      \"bytes\": 1536,\n"
	      "      \"share\": 0.25,\n"
	      "      \"hidden\": 12345,\n"
	      "      \"name\": \"a \\\"b\\\",\\nc\",\n"
	      "      \"stack\": [\n"
	      "        { \"function\": \"grow\", \"file\": \"src/vec.c\", \"line\": 12, "
	      "\"module\": \"/bin/p\", "
	      "\"offset\": 16, \"inlined\": true },\n"
	      "        { \"function\": \"main\", \"file\": null, \"line\": null, \"module\": "
	      "\"/bin/p\", "
	      "\"offset\": 16, \"inlined\": false },\n"
	      "        { \"function\": null, \"file\": null, \"line\": null, \"module\": "
	      "\"/lib/libx.so.1\", "
	      "\"offset\": 2748, \"inlined\": false }\n"
	      "      ]\n"
	      "    },\n"
	      "    {\n"
	      "      \"bytes\": 7,\n"
	      "      \"share\": null,\n"
	      "      \"hidden\": null,\n"
	      "      \"name\": \"é\\u001b[31m\",\n"
	      "      \"stack\": [\n"
	      "        { \"function\": \"grow\", \"file\": \"src/vec.c\", \"line\": 12, "
	      "\"module\": \"/bin/p\", "
	      "\"offset\": 16, \"inlined\": true },\n"
	      "        { \"function\": \"main\", \"file\": null, \"line\": null, \"module\": "
	      "\"/bin/p\", "
	      "\"offset\": 16, \"inlined\": false },\n"
	      "        { \"function\": null, \"file\": null, \"line\": null, \"module\": "
	      "\"/lib/libx.so.1\", "
	      "\"offset\": 2748, \"inlined\": false }\n"
	      "      ]\n"
	      "    }\n"
	      "  ],\n"
	      "  \"caveats\": [\n"
	      "    \"only 2 rows\"\n"
	      "  ]\n"
	      "}\n");
	result_free(table);
}

TEST(table_csv,
     "a table in CSV has a header, raw numbers, empty for unknown, and quotes where needed")
{
	struct result *table = sample_table();

	check(table, 'v', 0,
	      "bytes,share,hidden,name,stack\n"
	      "1536,0.25,12345,\"a \"\"b\"\",\nc\",grow src/vec.c:12 < main < "
	      "/lib/libx.so.1+0xabc\n"
	      "7,,,é?[31m,grow src/vec.c:12 < main < /lib/libx.so.1+0xabc\n");
	result_free(table);
}

TEST(record_text,
     "a record shows labelled fields, remarks only if they can be filled, no hidden zeros")
{
	struct result *record = sample_record();

	check(record, 't', 80,
	      "  program  /bin/p\n"
	      "\n"
	      "Summary\n"
	      "  peak  2.0 KiB  in 1,234 chunks, 1 time\n");
	result_free(record);
}

TEST(record_long_path, "a long path beside a remark neither moves nor cuts it; what does not fit goes on in the next line")
{
	struct result *record = result_new(RESULT_RECORD, "leaks", "");
	struct result_column program = COLUMN("program", "program", VALUE_TEXT, "path");
	struct result_column lost = COLUMN("lost", "lost", VALUE_BYTES, "bytes");

	lost.remark = "in 40,000 chunks that nothing points to any more";
	result_add_field(record, program, value_text("/opt/somebody/work/project/build/apps"));
	result_add_field(record, lost, value_number(2048));
	check(record, 't', 70,
	      "  program  /opt/somebody/work/project/build/apps\n"
	      "  lost     2.0 KiB  in 40,000 chunks that nothing points to any more\n");
	check(record, 't', 50,
	      "  program  /opt/somebody/work/project/build/apps\n"
	      "  lost     2.0 KiB  in 40,000 chunks that nothing\n"
	      "                    points to any more\n");
	result_free(record);
}

TEST(record_json, "a record in JSON nests names at their dots and carries a schema")
{
	struct result *record = sample_record(),
		      *part = result_new(RESULT_TABLE, "top.bytes", "Top");
	static const struct result_column columns[] = {COLUMN("bytes", "bytes", VALUE_BYTES, "b")};

	result_set_columns(part, columns, 1);
	result_add_row(part)[0] = value_number(9);
	result_add_part(record, part);
	check(record, 'j', 0,
	      "{\n"
	      "  \"program\": \"/bin/p\",\n"
	      "  \"peak\": {\n"
	      "    \"bytes\": 2048,\n"
	      "    \"chunks\": 1234\n"
	      "  },\n"
	      "  \"lost\": 0,\n"
	      "  \"one\": 1,\n"
	      "  \"complete\": true,\n"
	      "  \"rss\": null,\n"
	      "  \"top\": {\n"
	      "    \"bytes\": [\n"
	      "      {\n"
	      "        \"bytes\": 9\n"
	      "      }\n"
	      "    ]\n"
	      "  },\n"
	      "  \"caveats\": [],\n"
	      "  \"schema\": {\n"
	      "    \"report\": [\n"
	      "      { \"name\": \"program\", \"unit\": \"text\", \"meaning\": \"path\" },\n"
	      "      { \"name\": \"peak.bytes\", \"unit\": \"bytes\", \"meaning\": \"largest sum\" "
	      "},\n"
	      "      { \"name\": \"peak.chunks\", \"unit\": \"count\", \"meaning\": \"live "
	      "chunks\" },\n"
	      "      { \"name\": \"lost\", \"unit\": \"count\", \"meaning\": \"lost events\" },\n"
	      "      { \"name\": \"one\", \"unit\": \"count\", \"meaning\": \"1\" },\n"
	      "      { \"name\": \"complete\", \"unit\": \"bool\", \"meaning\": \"all there\" },\n"
	      "      { \"name\": \"rss\", \"unit\": \"bytes\", \"meaning\": \"sampled\" }\n"
	      "    ],\n"
	      "    \"top.bytes\": [\n"
	      "      { \"name\": \"bytes\", \"unit\": \"bytes\", \"meaning\": \"b\" }\n"
	      "    ]\n"
	      "  }\n"
	      "}\n");
	result_free(record);
}

TEST(record_csv, "a record in CSV is one line per field")
{
	struct result *record = sample_record();

	result_add_caveat(record, "a, b");
	check(record, 'v', 0,
	      "field,value,unit,meaning\n"
	      "program,/bin/p,text,path\n"
	      "peak.bytes,2048,bytes,largest sum\n"
	      "peak.chunks,1234,count,live chunks\n"
	      "lost,0,count,lost events\n"
	      "one,1,count,1\n"
	      "complete,true,bool,all there\n"
	      "rss,,bytes,sampled\n"
	      "caveat,\"a, b\",text,\n");
	result_free(record);
}

TEST(empty_table, "a table without rows says what that means")
{
	struct result *table = result_new(RESULT_TABLE, "kept", "Kept");
	static const struct result_column columns[] = {COLUMN("bytes", "bytes", VALUE_BYTES, "b")};

	result_set_columns(table, columns, 1);
	table->empty = "nothing was kept";
	check(table, 't', 80, "Kept\n  nothing was kept\n");
	check(table, 'v', 80, "bytes\n");
	result_free(table);
}

TEST(colour, "colour is used only when asked for")
{
	struct result *table = sample_table();
	char *with = rendered(table, 'c', 80), *without = rendered(table, 't', 80);

	CHECK(strstr(with, "\033[1m") != NULL);
	CHECK(strchr(without, '\033') == NULL);
	free(with);
	free(without);
	result_free(table);
}

TEST(width_is_kept, "no line of a report is wider than the terminal")
{
	static struct result_frame wide[] = {
		{.function = "std::vector<std::map<std::string, std::vector<int, "
			     "std::allocator<int> > > >::push_back("
			     "std::map<std::string, std::vector<int> > const&)",
		 .file = "/a/very/long/path/to/some/deeply/nested/folder/with/a/source/"
			 "file_of_a_long_name.cpp",
		 .line = 12345,
		 .module = "/bin/p",
		 .inlined = true,
		 .folded = 12},
		{.function = "x",
		 .file = "",
		 .module = "/lib/a-library-with-quite-a-long-name-that-never-ends.so.1.2.3"},
		{.function = "",
		 .file = "",
		 .module = "/lib/a-library-with-quite-a-long-name-that-never-ends.so.1.2.3",
		 .offset = 0x123456789abcdef},
	};
	static struct result_stack wide_stack = {wide, 3, 0, 1};
	static const u32 widths[] = {60, 80, 100, 160};
	struct result *table = sample_table();

	table->cells.data[4] = value_stack(&wide_stack);
	result_add_caveat(table, "a caveat that goes on and on so that it has to be broken into "
				 "several lines when the "
				 "terminal is as narrow as terminals sometimes are");
	for (u32 i = 0; i < 4; i++) {
		char *text = rendered(table, 't', widths[i]);

		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			if (text_columns(line) > widths[i])
				FAIL("%u columns, not %u: %s", text_columns(line), widths[i], line);
		free(text);
	}
	result_free(table);
}

TEST(function_names,
     "long function names lose parameters first, then template arguments, then their end")
{
	static const struct {
		const char *name;
		u32 columns;
		const char *want;
	} rows[] = {
		{"f(int)", 20, "f(int)"},
		{"alpha::beta(int, char const*)", 20, "alpha::beta(…)"},
		{"alpha<int, std::pair<a, b> >::beta(int, char)", 24, "alpha<…>::beta(…)"},
		{"operator<<(a_very_long_type, another_long_type)", 24, "operator<<(…)"},
		{"abcdefghijklmnopqrstuvwxyz", 10, "abcdefghi…"},
		{"broken<<<((((", 6, "broke…"},
		{"(anonymous namespace)::function_name(int, int)", 40,
		 "(anonymous namespace)::function_name(…)"},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct strbuf text = {0};

		text_add_function(&text, rows[i].name, rows[i].columns);
		CHECK_STR(strbuf_text(&text), rows[i].want);
		strbuf_release(&text);
	}
}

TEST(paths, "long paths lose their beginning, at a slash where possible")
{
	struct strbuf text = {0};

	text_add_path(&text, "/usr/src/project/lib/file.c", 16);
	CHECK_STR(strbuf_text(&text), "…/lib/file.c");
	strbuf_clear(&text);
	text_add_path(&text, "/short.c", 16);
	CHECK_STR(strbuf_text(&text), "/short.c");
	strbuf_release(&text);
}

TEST(utf8, "only well-formed UTF-8 is taken as such")
{
	static const struct {
		const char *text;
		u32 length;
	} rows[] = {{"a", 1},
		    {"é", 2},
		    {"…", 3},
		    {"😀", 4},
		    {"", 0},
		    {"\xff", 0},
		    {"\xc3", 0},
		    {"\xc0\xaf", 0},
		    {"\xed\xa0\x80", 0},
		    {"\xf4\x90\x80\x80", 0},
		    {"\xe0\x80\xaf", 0}};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		if (utf8_length(rows[i].text) != rows[i].length)
			FAIL("row %u gives %u", i, utf8_length(rows[i].text));
}

TEST(json_strings, "any bytes give valid JSON strings")
{
	char *text = NULL;
	size_t size;
	struct json json = {.out = open_memstream(&text, &size)};

	json_open_flat(&json, NULL, '[');
	json_text(&json, NULL, "\x01\x7f\"\\\t\xff\xe2\x80");
	json_real(&json, NULL, 1.0 / 0.0);
	json_signed(&json, NULL, -5);
	json_open(&json, NULL, '{');
	json_close(&json, '}');
	json_close(&json, ']');
	json_end(&json);
	fclose(json.out);
	CHECK_STR(text, "[ \"\\u0001\\u007f\\\"\\\\\\t\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\", "
			"null, -5, {} ]\n");
	free(text);
}

TEST(json_names, "JSON says what would turn text round, or be obeyed, as escapes")
{
	char *text = NULL;
	size_t size;
	struct json json = {.out = open_memstream(&text, &size)};

	json_text(&json, NULL, "\xe2\x80\xae \xc2\x9b \xe2\x80\xa8 \xf3\xa0\x81\x81 é 😀");
	fclose(json.out);
	CHECK_STR(text, "\"\\u202e \\u009b \\u2028 \\udb40\\udc41 é 😀\"");
	free(text);
}

TEST(names_made_harmless, "of names from strangers the characters that are obeyed or hidden are '?', all others stay")
{
	static const char *const rows[][2] = {
		{"std::map<int, é>", "std::map<int, é>"},
		{"a\033[31m\n\x7f", "a?[31m??"},
		{"\xe2\x80\xaetxt.exe", "?txt.exe"},
		{"\xe2\x81\xa6x\xef\xbb\xbf", "?x?"},
		{"\xff\xe2\x80", "???"},
		{"\xe2\x80\x8d…😀", "\xe2\x80\x8d…😀"},
		{"", ""},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct strbuf added = {0};
		char *put = NULL, *copy = strdup(rows[i][0]);
		size_t size;
		FILE *out = open_memstream(&put, &size);

		text_add_clean(&added, rows[i][0]);
		text_put(out, rows[i][0], "", '?');
		fclose(out);
		text_clean(copy);
		CHECK_STR(strbuf_text(&added), rows[i][1]);
		CHECK_STR(put, rows[i][1]);
		CHECK_STR(copy, rows[i][1]);
		strbuf_release(&added);
		free(put);
		free(copy);
	}
}

TEST(failure_sticks, "a part that could not be made marks the whole result as failed")
{
	struct result *record = sample_record();

	CHECK(!result_failed(record));
	result_add_part(record, NULL);
	CHECK(result_failed(record));
	result_free(record);
}

TEST(several_stacks, "further stacks of a row follow below their labels, unknown ones are left out")
{
	static const struct result_column columns[] = {
		COLUMN("what", "what", VALUE_TEXT, "a word"),
		COLUMN("stack", "freed by", VALUE_STACK, "of the free"),
		COLUMN("first", "freed first by", VALUE_STACK, "of the first free"),
		COLUMN("allocation", "allocated by", VALUE_STACK, "of the allocation"),
	};
	static struct result_stack other = {&frames[1], 1, 0, 9};
	struct result *table = result_new(RESULT_TABLE, "misuse", "Misuse");
	struct value *row;

	result_set_columns(table, columns, 4);
	row = result_add_row(table);
	row[0] = value_text("double free");
	row[1] = value_stack(&stack);
	row[3] = value_stack(&other);
	row = result_add_row(table);
	row[0] = value_text("again");
	row[1] = value_stack(&other);
	row[2] = value_stack(&stack);
	check(table, 't', 0,
	      "Misuse\n"
	      "       what\n"
	      "  #1   double free\n"
	      "         grow                      src/vec.c:12  inlined\n"
	      "         main                      p\n"
	      "         libx.so.1+0xabc\n"
	      "         … 2 more\n"
	      "  allocated by #2\n"
	      "         main                      p\n"
	      "\n"
	      "  #2   again\n"
	      "         stack as above, #2\n"
	      "  freed first by #1\n"
	      "         stack as above, #1\n");
	result_free(table);
}

TEST(differences, "differences have their sign, and none has none")
{
	static const struct {
		enum value_type type;
		double number;
		const char *text;
	} rows[] = {
		{VALUE_DELTA, 1234, "+1,234"},
		{VALUE_DELTA, -7, "-7"},
		{VALUE_DELTA, 0, "0"},
		{VALUE_DELTA_BYTES, 1536, "+1.5 KiB"},
		{VALUE_DELTA_BYTES, -100, "-100 B"},
		{VALUE_DELTA_BYTES, 0, "0 B"},
		{VALUE_DELTA_NS, -2500000, "-2.5 ms"},
		{VALUE_CHANGE, 0.25, "+25.0 %"},
		{VALUE_CHANGE, -1, "-100.0 %"},
		{VALUE_CHANGE, 0.0003, "+0.03 %"},
		{VALUE_CHANGE, 0, "0.0 %"},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct value value = rows[i].type == VALUE_CHANGE ? value_real(rows[i].number)
								  : value_signed((i64)rows[i].number);
		struct strbuf text = {0};

		value_format(rows[i].type, &value, &text);
		CHECK_STR(strbuf_text(&text), rows[i].text);
		strbuf_release(&text);
	}
}
