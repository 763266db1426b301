/* SPDX-License-Identifier: MIT
 * The query language: what it refuses, and where; what it means, by its canonical text. */
#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "study/query/query.h"

static void check_canonical(const char *text, const char *wanted)
{
	struct query_error error = {0};
	struct query *query = query_parse(text, &error);
	struct strbuf out = {0}, again = {0};
	struct query *second;

	if (!query)
		FAIL("%s: column %u: %s", text, error.at + 1, error.message);
	query_print(query, &out);
	CHECK_STR(strbuf_text(&out), wanted);
	second = query_parse(strbuf_text(&out), &error);
	if (!second)
		FAIL("its own text is refused: %s: %s", strbuf_text(&out), error.message);
	query_print(second, &again);
	CHECK_STR(strbuf_text(&again), strbuf_text(&out));
	query_free(query);
	query_free(second);
	strbuf_release(&out);
	strbuf_release(&again);
}

TEST(canonical, "each query has one canonical text, which is read as the same query")
{
	static const struct {
		const char *text, *canonical;
	} rows[] = {
		{"all", "all"},
		{" all|where size>=1024B", "all | where size >= 1KiB"},
		{"all | where size >= 1 KiB and kept", "all | where size >= 1KiB and kept"},
		{"all | where size >= 1.5KiB", "all | where size >= 1536B"},
		{"all | where size >= 1.5", "all | where size >= 1.5"},
		{"all | where size > 2MB", "all | where size > 2000000B"},
		{"all | where life > 0.5s", "all | where life > 500ms"},
		{"all | where life > 2min", "all | where life > 120s"},
		{"all | where life > 1500us", "all | where life > 1500us"},
		{"all | where life != 0", "all | where life != 0"},
		{"all | where usage < 50%", "all | where usage < 50%"},
		{"all | where usage < 0.1%", "all | where usage < 0.1%"},
		{"all | where addr == 0xff", "all | where addr == 255"},
		{"all | where (size > 1)", "all | where size > 1"},
		{"all | where ((size > 1) and (size < 4)) and freed",
		 "all | where size > 1 and size < 4 and freed"},
		{"all | where size > 1 and (kept or freed)",
		 "all | where size > 1 and (kept or freed)"},
		{"all | where (size > 1 and kept) or freed",
		 "all | where size > 1 and kept or freed"},
		{"all | where not (kept or freed)", "all | where not (kept or freed)"},
		{"all | where not (not kept)", "all | where not not kept"},
		{"all | where size - (life - 3) * 2 > -1",
		 "all | where size - (life - 3) * 2 > -1"},
		{"all | where (size - life) - 3 > 1", "all | where size - life - 3 > 1"},
		{"all | where min( size ,3)>max(1,log2(size))",
		 "all | where min(size, 3) > max(1, log2(size))"},
		{"all | where known( free )", "all | where known(free)"},
		{"all | where thread in (1,2 , 3)", "all | where thread in (1, 2, 3)"},
		{"all | where alloc in 1s..2000ms", "all | where alloc in 1s..2s"},
		{"all | where fn in (\"a\",\"b\")", "all | where fn in (\"a\", \"b\")"},
		{"all | where stack ~ \"a\\\"b\\\\c\\n\\x01\"",
		 "all | where stack ~ \"a\\\"b\\\\c\\n\\x01\""},
		{"all | where fn ~ \"\\xa0\xc3\xa4\"", "all | where fn ~ \"\\xa0\xc3\xa4\""},
		{"all | where type ~ /^std::/", "all | where type ~ /^std::/"},
		{"all | where type ~ /a\\/b|c\\.d/i", "all | where type ~ /a\\/b|c\\.d/i"},
		{"all | color blue if kept", "all | color #3b6fb6 if kept"},
		{"all | color #AbCdEf", "all | color #abcdef"},
		{"all | color alternate | color by type", "all | color alternate | color by type"},
		{"all | where color == #3b6fb6", "all | where color == #3b6fb6"},
		{"all | where color == blue", "all | where color == #3b6fb6"},
		{"all | where color in (red, #000001)", "all | where color in (#d02d2a, #000001)"},
		{"let category red = size > 4; all | where red or color != white",
		 "let category red = size > 4;\nall | where red or color != #ffffff"},
		{"all | join type,fn", "all | join type, fn"},
		{"all | unify until 1024KiB", "all | unify until 1MiB"},
		{"all | unify until 1000", "all | unify until 1000B"},
		{"all | sort size asc | sort life desc", "all | sort size | sort life desc"},
		{"all | limit 10", "all | limit 10"},
		{"all | agg count( ), sum(size),p99(life) | sort p99(life) desc",
		 "all | agg count(), sum(size), p99(life) | sort p99(life) desc"},
		{"all | hide /^std::/ | hide \"boost\"", "all | hide /^std::/ | hide \"boost\""},
		{"all | show flame", "all | show flame"},
		{"at 1500ms", "at 1500ms"},
		{"at peak", "at peak"},
		{"all | where class == \"lost\"", "all | where leak_kind == \"lost\""}, /* its former name */
		{"at end", "at end"},
		{"at 0", "at 0ns"},
		{"trace \"a b.hwt\"", "trace \"a b.hwt\""},
		{"diff( at 2s , at 1s )", "diff(at 2s, at 1s)"},
		{"union(all|limit 1,common(all,at 1s)|limit 2)",
		 "union(all | limit 1, common(all, at 1s) | limit 2)"},
		{"let x = all | limit 1;let score s = size*2; x | where s > 3",
		 "let score s = size * 2;\nlet x = all | limit 1;\nx | where s > 3"},
		{"let category strings = type ~ \"string\"; all | where strings | join category | "
		 "color by strings",
		 "let category strings = type ~ \"string\";\nall | where strings | join category | "
		 "color by "
		 "strings"},
		{"# a comment\nall # and one\n | limit 1\n#@ box b1 1 2 the label\n",
		 "all | limit 1"},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		check_canonical(rows[i].text, rows[i].canonical);
}

TEST(errors, "a mistake is told at its column, with what to write instead")
{
	static const struct {
		const char *text;
		u32 at, length;
		const char *message, *hint;
	} rows[] = {
		{"", 0, 0, "unexpected end of the query; expected a source: all, at, trace, union ...", ""},
		{"al", 0, 2, "unknown source 'al'", "did you mean 'all'?"},
		{"everything", 0, 10, "unknown source 'everything'", "a query begins with"},
		{"all |", 5, 0, "unexpected end of the query; expected a stage: where, join, sort ...", ""},
		{"all | wher size > 3", 6, 4, "unknown stage 'wher'", "did you mean 'where'?"},
		{"all | frobnicate", 6, 10, "unknown stage 'frobnicate'", "stages are"},
		{"all where size > 3", 4, 5, "expected | and a stage, or the end, not 'where'", ""},
		{"all | where siz > 3", 12, 3, "unknown field 'siz'", "did you mean 'size'?"},
		{"all | where frobnicate > 3", 12, 10, "unknown field", "--fields"},
		{"all | where size", 12, 4, "where needs a condition, not bytes", "compare it"},
		{"all | where size >", 18, 0, "unexpected end of the query; expected a field or a value", ""},
		{"all | where size = 3", 17, 1, "'=' defines a name; use '==' to compare", "write '=='"},
		{"all | where size && 3", 17, 2, "unknown operator", "write 'and'"},
		{"all | where !freed", 12, 1, "unknown operator", "write 'not'"},
		{"all | where (size > 3", 21, 0, "unexpected end of the query; expected a closing bracket", ""},
		{"all | where size > 3kb", 19, 3, "unknown unit 'kb'", "did you mean 'kB'?"},
		{"all | where size > 3 parsecs", 21, 7, "expected | and a stage, or the end", ""},
		{"all | where size > 99999999999999999999", 19, 20, "the number is too large", ""},
		{"all | where life > 10", 19, 2, "a time needs a unit", "such as 10ms"},
		{"all | where size > 10ms", 19, 4, "this is a time, but the other side is bytes", ""},
		{"all | where usage > 3B", 20, 2, "this is bytes, but the other side is a share", ""},
		{"all | where size == life", 20, 4, "this is a time, but the other side is bytes", ""},
		{"all | where freed == 3", 21, 1, "this is number, but the other side is yes or no", ""},
		{"all | where fn == main", 18, 4, "a text must be in quotes", "write \"main\""},
		{"all | where fn == 3", 18, 1, "fn is a text; compare it with a text in quotes", ""},
		{"all | where fn < \"a\"", 12, 2, "text has no order", ""},
		{"all | where \"a\" == fn", 12, 3, "a text can only be compared with a field on its left", ""},
		{"all | where size ~ \"a\"", 12, 4, "~ can only be used with texts", ""},
		{"all | where fn ~ main", 17, 4, "a pattern must be a text in quotes", "write \"main\""},
		{"all | where fn ~ /a(/", 17, 4, "invalid pattern", ""},
		{"all | where fn ~ /(a)\\1/", 17, 7, "back-references are not supported", ""},
		{"all | where fn ~ /a{200}{200}/", 17, 13,
		 "the pattern repeats too often; use fewer or smaller repeats", ""},
		{"all | where fn ~ /a\tb/", 17, 5, "a pattern cannot contain control characters", ""},
		{"all | where fn ~ /abc", 17, 4, "unterminated pattern", ""},
		{"all | where fn ~ \"abc", 17, 4, "unterminated text", ""},
		{"all | where fn ~ \"\\q\"", 18, 2, "expected one of \"", ""},
		{"all | where fn ~ 'abc'", 17, 1, "texts must be in double quotes", "write \"...\""},
		{"all | where size in 3", 21, 0,
		 "unexpected end of the query; expected a list in brackets, or a range: LOW..HIGH", ""},
		{"all | where size in (3, 4", 25, 0,
		 "unexpected end of the query; expected a comma or a closing bracket", ""},
		{"all | where fn + 1 > 2", 12, 2, "cannot compute with text", ""},
		{"all | where size and freed", 12, 4, "and needs a condition", ""},
		{"all | where knwon(free)", 12, 5, "unknown function 'knwon'", "did you mean 'known'?"},
		{"all | where known(3)", 18, 1, "known() needs a field", ""},
		{"all | where min(size)", 20, 1, "expected a comma, not ')'", ""},
		{"all | where color == blu", 21, 3, "unknown field 'blu'", "did you mean 'blue'?"},
		{"all | where size == blue", 20, 4, "this is colour, but the other side is bytes", ""},
		{"all | color blu", 12, 3, "unknown colour 'blu'", "did you mean 'blue'?"},
		{"all | color #abc", 12, 4, "a colour must be # and six hexadecimal digits", "a comment begins"},
		{"all | color 3", 12, 1, "expected a colour, 'alternate' or 'by'", ""},
		{"all | color red if size", 19, 4, "if needs a condition", ""},
		{"all | join", 10, 0, "unexpected end of the query; expected a field", ""},
		{"all | unify 3", 12, 1, "expected 'until', not '3'", ""},
		{"all | unify until 3ms", 18, 3, "expected a number of bytes", ""},
		{"all | sort stack", 11, 5, "stack cannot be sorted", ""},
		{"all | limit 3.5", 12, 3, "expected a whole number", ""},
		{"all | limit many", 12, 4, "expected a whole number, not 'many'", ""},
		{"all | agg sun(size)", 10, 3, "agg cannot compute 'sun'", "did you mean 'sum'?"},
		{"all | agg p101(size)", 10, 4, "agg cannot compute 'p101'", "functions are count"},
		{"all | agg sum(fn)", 14, 2, "fn is not a number", ""},
		{"all | agg sum size", 14, 4, "expected an opening bracket", ""},
		{"all | hide main", 11, 4, "a pattern must be a text in quotes", "write \"main\""},
		{"all | show flam", 11, 4, "unknown view 'flam'", "did you mean 'flame'?"},
		{"at 3", 3, 1, "a time needs a unit", "such as 3ms"},
		{"at noon", 3, 4, "expected a time, 'peak' or 'end', not 'noon'", ""},
		{"trace x", 6, 1, "expected the name of a trace in quotes", ""},
		{"union(all)", 9, 1, "expected a comma, not ')'", ""},
		{"diff(all, at 1s", 15, 0, "unexpected end of the query; expected a closing bracket", ""},
		{"let all = all; all", 4, 3, "'all' is a reserved word", ""},
		{"let size = all; all", 4, 4, "'size' is a reserved word", ""},
		{"let x = all; let x = all; x", 17, 1, "'x' is already defined", ""},
		{"let x = all x", 12, 1, "expected a semicolon, not 'x'", ""},
		{"let a123456789b123456789c123456789d123456789e123456789f123456789g123 = all; all", 4, 64,
		 "the name is too long", ""},
		{"let x all; x", 6, 3, "expected =, not 'all'", ""},
		{"let score s = freed; all", 14, 5, "a score needs a number, not yes or no", ""},
		{"let category c = size; all", 17, 4, "a category needs a condition", ""},
		{"let score s = size; s", 20, 1, "'s' is not a query", ""},
		{"let x = all; y", 13, 1, "unknown source 'y'", "did you mean 'x'?"},
		{"all | where size > 3 @", 21, 1, "unexpected character", ""},
		{"all | where a\xc3\xa4 > 1", 12, 1, "unknown field 'a'", ""},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct query_error error = {0};
		struct query *query = query_parse(rows[i].text, &error);

		if (!CHECK(!query)) {
			query_free(query);
			continue;
		}
		if (!CHECK(strstr(error.message, rows[i].message) != NULL) ||
		    !CHECK(strstr(error.hint, rows[i].hint) != NULL))
			CHECK_STR(error.message, rows[i].text);
		if (!CHECK_EQ(error.at, rows[i].at) || !CHECK_EQ(error.length, rows[i].length))
			CHECK_STR(rows[i].text, "");
	}
}

static void check_deep(const char *open, const char *close, u32 depth, bool fine)
{
	struct strbuf text = {0};
	struct query_error error = {0};
	struct query *query;

	strbuf_add(&text, "all | where ");
	for (u32 i = 0; i < depth; i++)
		strbuf_add(&text, open);
	strbuf_add(&text, "freed");
	for (u32 i = 0; i < depth; i++)
		strbuf_add(&text, close);
	query = query_parse(strbuf_text(&text), &error);
	CHECK_EQ(query != NULL, fine);
	query_free(query);
	strbuf_release(&text);
}

TEST(bounds, "depth and length are bounded, and what is within them is read")
{
	static char large[QUERY_TEXT_MAX + 2];
	struct query_error error = {0};
	struct strbuf chain = {0};

	check_deep("(", ")", 20, true);
	check_deep("(", ")", 20000, false);
	check_deep("not ", "", 50, true);
	check_deep("not ", "", 10000, false);
	check_deep("-", "", 10000, false);
	check_deep("min(", "", 10000, false);
	memset(large, ' ', sizeof large - 1);
	CHECK(!query_parse(large, &error));
	CHECK_STR(error.message, "the text is too long");
	/* long, but flat */
	strbuf_add(&chain, "all | where freed");
	for (u32 i = 0; i < 3000; i++)
		strbuf_add(&chain, i % 2 ? " and freed" : " or kept");
	error = (struct query_error){0};
	query_free(query_parse(strbuf_text(&chain), &error));
	CHECK_EQ(error.code, 0);
	strbuf_clear(&chain);
	strbuf_add(&chain, "all | where size > 1");
	for (u32 i = 0; i < 3000; i++)
		strbuf_add(&chain, " + 1");
	CHECK(!query_parse(strbuf_text(&chain), &error));
	strbuf_clear(&chain);
	strbuf_add(&chain, "all");
	for (u32 i = 0; i < 300; i++)
		strbuf_add(&chain, " | limit 1");
	error = (struct query_error){0};
	CHECK(!query_parse(strbuf_text(&chain), &error));
	CHECK_STR(error.message, "too many stages");
	strbuf_release(&chain);
}

TEST(lets_that_double, "keys of lets that use each other twice take no time")
{
	struct strbuf text = {0};
	struct query_error error = {0};
	struct query *query;

	strbuf_add(&text, "let a0 = all;\n");
	for (u32 i = 1; i < 100; i++)
		strbuf_addf(&text, "let a%u = union(a%u, a%u);\n", i, i - 1, i - 1);
	strbuf_add(&text, "a99");
	query = query_parse(strbuf_text(&text), &error);
	CHECK(query != NULL);
	query_free(query);
	strbuf_release(&text);
}

TEST(catalogue, "every field can be found by its name, has a meaning, and is known to queries")
{
	for (u32 i = 0; i < FIELDS; i++) {
		enum field field;
		char text[128];
		struct query_error error = {0};
		struct query *query;

		CHECK(field_find(query_fields[i].name, &field) && field == i);
		CHECK(query_fields[i].meaning && *query_fields[i].meaning);
		snprintf(text, sizeof text, "all | where known(%s)", query_fields[i].name);
		query = query_parse(text, &error);
		CHECK(query != NULL);
		query_free(query);
	}
}

TEST(examples, "the example of each box is a query, or a source, a stage or a definition of one")
{
	for (u32 i = 0; i < BOXES; i++) {
		struct query_error error = {0};
		struct query *query;
		char text[256];

		if (i == BOX_PASS)
			continue;
		snprintf(text, sizeof text, "%s%s%s",
			 i >= BOX_STAGES && i < BOX_SCORE ? "all | " : "", query_boxes[i].example,
			 i >= BOX_SCORE ? "; all" : "");
		query = query_parse(text, &error);
		if (!query)
			FAIL("%s: %s", text, error.message);
		query_free(query);
	}
}
