/* SPDX-License-Identifier: MIT
 * What the reader of TOML takes, and what it refuses, with line and column. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/toml.h"
#include "lib/test.h"

static int read_text(struct toml *toml, const char *text, struct err *err)
{
	return toml_read(toml, text, strlen(text), "f", err);
}

TEST(values, "every kind of value is read, in its table")
{
	static const char text[] = "\xef\xbb\xbf# comment \xc3\xa4\r\n"
				   "plain = \"a\\tb\\u00e4\\U0001F600\\\\\\\"\"\n"
				   "\"quoted key\" = 'C:\\raw'  # rest\n"
				   "\n"
				   "number = 1_000\n"
				   "minus = -7\n"
				   "zero = +0\n"
				   "real = 2.5e-1\n"
				   "yes = true\n"
				   "no = false\n"
				   "list = [ 'a', # one\n  'b',\n]\n"
				   "empty = []\n"
				   "[ table ]\n"
				   "plain = 1\n"
				   "[[rows]]\n"
				   "a = 1\n"
				   "[[rows]]\n"
				   "a = 2";
	struct toml toml = {0};
	struct err err = {0};
	const struct toml_entry *at;

	if (read_text(&toml, text, &err) < 0)
		FAIL("%s", err.text);
	at = toml.entries.data;
	CHECK_EQ(toml.entries.count, 13);
	CHECK_EQ(toml.tables.count, 4);
	CHECK_STR(at[0].value.text, "a\tb\xc3\xa4\xf0\x9f\x98\x80\\\"");
	CHECK_EQ(at[0].place.line, 2);
	CHECK_EQ(at[0].value.place.column, 9);
	CHECK_STR(at[1].key, "quoted key");
	CHECK_STR(at[1].value.text, "C:\\raw");
	CHECK_EQ(at[2].value.integer, 1000);
	CHECK_EQ(at[3].value.integer, -7);
	CHECK_EQ(at[4].value.integer, 0);
	CHECK(at[5].value.type == TOML_REAL && at[5].value.real == 0.25);
	CHECK(at[6].value.type == TOML_BOOL && at[6].value.boolean);
	CHECK(at[7].value.type == TOML_BOOL && !at[7].value.boolean);
	CHECK_EQ(at[8].value.count, 2);
	CHECK_STR(at[8].value.items[1].text, "b");
	CHECK_EQ(at[8].value.items[1].place.line, 12);
	CHECK_EQ(at[9].value.count, 0);
	CHECK_STR(toml.tables.data[at[10].table].name, "table");
	CHECK(!toml.tables.data[at[10].table].array);
	CHECK_STR(toml.tables.data[at[12].table].name, "rows");
	CHECK(at[11].table != at[12].table);
	toml_release(&toml);
}

TEST(refused, "what is wrong or not supported is named with line and column")
{
	static const struct {
		const char *text, *place, *says;
	} rows[] = {
		{"a", "f:1:2:", "expected ="},
		{"a =", "f:1:4:", "expected a value"},
		{"a = 1 b = 2", "f:1:7:", "only a comment"},
		{"\n\na = [1, 2", "f:3:5:", "unterminated"},
		{"a = [1 2]", "f:1:8:", "comma or ]"},
		{"a = [,]", "f:1:6:", "expected a value"},
		{"a = [[1]]", "f:1:6:", "nested arrays"},
		{"a = \"x", "f:1:5:", "unterminated"},
		{"a = \"x\ny\"", "f:1:5:", "unterminated"},
		{"a = 'x\ny'", "f:1:5:", "unterminated"},
		{"a = \"\\q\"", "f:1:7:", "unknown escape"},
		{"a = \"\\u12\"", "f:1:7:", "hexadecimal"},
		{"a = \"\\ud800\"", "f:1:7:", "no such Unicode character"},
		{"a = \"\\u0000\"", "f:1:7:", "zero byte"},
		{"a = \"\"\"x\"\"\"", "f:1:5:", "multi-line"},
		{"a = \"\x01\"", "f:1:6:", "control character"},
		{"a = \"\xff\"", "f:1:6:", "not UTF-8"},
		{"a = \"\xed\xa0\x80\"", "f:1:6:", "not UTF-8"},
		{"a = \"\xc0\xaf\"", "f:1:6:", "not UTF-8"},
		{"# \xff", "f:1:3:", "not UTF-8"},
		{"a = 1\ra = 2", "f:1:6:", "only a comment"},
		{"a = 01", "f:1:5:", "not a number"},
		{"a = 1__0", "f:1:5:", "not a number"},
		{"a = _1", "f:1:5:", "not a number"},
		{"a = 1_", "f:1:5:", "not a number"},
		{"a = 1.", "f:1:5:", "not a number"},
		{"a = .5", "f:1:5:", "not a number"},
		{"a = 1e", "f:1:5:", "not a number"},
		{"a = 0x10", "f:1:5:", "not a number"},
		{"a = inf", "f:1:5:", "not a number"},
		{"a = 1979-05-27", "f:1:5:", "dates"},
		{"a = 07:32:00", "f:1:5:", "dates"},
		{"a = True", "f:1:5:", "not a number, true or false"},
		{"a = truely", "f:1:5:", "not a number, true or false"},
		{"a = 9223372036854775808", "f:1:5:", "too large"},
		{"a = 1e999", "f:1:5:", "too large"},
		{"a = {}", "f:1:5:", "inline tables"},
		{"a.b = 1", "f:1:2:", "dots"},
		{"[a.b]", "f:1:3:", "dots"},
		{"= 1", "f:1:1:", "expected a key"},
		{"[]", "f:1:2:", "expected a key"},
		{"[a", "f:1:3:", "expected ]"},
		{"[[a]", "f:1:4:", "expected ]]"},
		{"[a] b", "f:1:5:", "only a comment"},
		{"a = 1\na = 2", "f:2:1:", "already set in line 1"},
		{"a = 1\n\"a\" = 2", "f:2:1:", "already set in line 1"},
		{"[a]\n[a]", "f:2:1:", "already in line 1"},
		{"[a]\n[[a]]", "f:2:1:", "already in line 1"},
		{"[[a]]\n[a]", "f:2:1:", "already in line 1"},
		{"a = 1\n[a]", "f:2:1:", "already set in line 1"},
		{"\xc3\xa4 = 1", "f:1:1:", "expected a key"},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct toml toml = {0};
		struct err err = {0};
		int status = read_text(&toml, rows[i].text, &err);

		if (!CHECK_EQ(status, ERR_INPUT) ||
		    !CHECK(strncmp(err.text, rows[i].place, strlen(rows[i].place)) == 0) ||
		    !CHECK(strstr(err.text, rows[i].says) != NULL))
			fprintf(stderr, "# row %u: '%s' gives '%s'\n", i, rows[i].text, err.text);
		toml_release(&toml);
	}
}

TEST(bounds, "a text may end anywhere, hold zero bytes, and be too large")
{
	static const char text[] = "a = \"x\\u00e4\"\n[[t]]\nb = [1, 2.5, 'c'] # d\r\n";
	char *large = calloc(TOML_MAX_BYTES + 1, 1);

	for (u64 bytes = 0; bytes <= sizeof text; bytes++) {
		struct toml toml = {0};
		struct err err = {0};
		char *copy = malloc(bytes ? bytes : 1); /* its end is the end */

		memcpy(copy, text, bytes);
		toml_read(&toml, copy, bytes, "f", &err);
		toml_release(&toml);
		free(copy);
	}
	for (u64 bytes = TOML_MAX_BYTES; bytes <= TOML_MAX_BYTES + 1; bytes++) {
		struct toml toml = {0};
		struct err err = {0};

		CHECK_EQ(toml_read(&toml, large, bytes, "f", &err), ERR_INPUT);
		toml_release(&toml);
	}
	free(large);
}
