/* SPDX-License-Identifier: MIT
 * The option table: parsing, errors, help. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/options.h"
#include "lib/test.h"

struct args {
	const char *output, *format, *kinds;
	u64 top, size;
	bool loud, stacks;
};

static const struct option_spec table[] = {
	OPTION(struct args, output, 'o', "output", OPTION_STRING, "FILE", "write to FILE"),
	OPTION(struct args, format, 'f', "format", OPTION_CHOICE, "text|json|csv", "how to print"),
	OPTION(struct args, top, 'n', "top", OPTION_NUMBER, "N", "show N"),
	OPTION(struct args, size, 0, "max-size", OPTION_BYTES, "BYTES", "stop at BYTES"),
	OPTION(struct args, loud, 'l', "loud", OPTION_SET, NULL, "say more"),
	OPTION(struct args, stacks, 0, "no-stacks", OPTION_CLEAR, NULL, "leave stacks out"),
	OPTION(struct args, kinds, 0, "kinds", OPTION_OPTIONAL, "LIST", "show kinds"),
	OPTION(struct args, top, 0, "test-secret", OPTION_NUMBER, "N", NULL),
	OPTION_LIMIT(struct args, size, "growth-min", OPTION_BYTES, "BYTES", "ignore less"),
	OPTION_END};

struct outcome {
	struct args args;
	int status, first;
	bool help;
	struct err err;
	char *argv[16];
	int argc;
};

/* Splits words at spaces and parses them. */
static struct outcome parse(const char *words, bool stop_at_operand)
{
	struct outcome outcome = {.args = {.stacks = true, .top = 5}};
	struct command_line line = {.argv = outcome.argv, .stop_at_operand = stop_at_operand};
	static char copy[256], name[] = "prog";

	snprintf(copy, sizeof copy, "%s", words);
	outcome.argv[outcome.argc++] = name;
	for (char *word = strtok(copy, " "); word && outcome.argc < 15; word = strtok(NULL, " "))
		outcome.argv[outcome.argc++] = word;
	line.argc = outcome.argc;
	outcome.status = options_parse(table, &outcome.args, &line, &outcome.err);
	outcome.first = line.first_operand;
	outcome.help = line.help_wanted;
	return outcome;
}

TEST(forms, "every way to write an option and its value is understood")
{
	static const char *const rows[] = {"--output x", "--output=x", "-o x",  "-ox",
					   "--out x",    "--o=x",      "-lo x", "-lox"};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct outcome outcome = parse(rows[i], false);

		if (!CHECK_EQ(outcome.status, 0) || !outcome.args.output)
			FAIL("%s: %s", rows[i], outcome.err.text);
		CHECK_STR(outcome.args.output, "x");
	}
}

TEST(values, "each type is stored in its field, and absent options keep their value")
{
	struct outcome outcome = parse("--format json -n 12 --max-size 1.5K -l --no-stacks", false);

	CHECK_EQ(outcome.status, 0);
	CHECK_STR(outcome.args.format, "json");
	CHECK_EQ(outcome.args.top, 12);
	CHECK_EQ(outcome.args.size, 1536);
	CHECK(outcome.args.loud);
	CHECK(!outcome.args.stacks);
	outcome = parse("", false);
	CHECK_EQ(outcome.args.top, 5);
	CHECK(outcome.args.stacks);
	CHECK(!outcome.args.output);
}

TEST(errors, "each mistake is a usage error that names the option and what it must be")
{
	static const struct {
		const char *words, *part;
	} rows[] = {
		{"--outptu x", "did you mean --output?"},
		{"--xyzzyplugh", "unknown option --xyzzyplugh"},
		{"-z", "unknown option -z"},
		{"--output", "--output needs a value: FILE"},
		{"-o", "-o needs a value: FILE"},
		{"--top ten", "--top must be a number, not 'ten'"},
		{"--top -1", "--top must be a number, not '-1'"},
		{"--top 99999999999999999999", "--top must be a number"},
		{"--top=", "--top must be a number, not ''"},
		{"--max-size 3X", "--max-size must be a size"},
		{"--format xml", "--format must be one of text|json|csv, not 'xml'"},
		{"--format js", "--format must be one of"},
		{"--loud=1", "--loud takes no value"},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct outcome outcome = parse(rows[i].words, false);

		if (outcome.status != ERR_USAGE || !strstr(outcome.err.text, rows[i].part))
			FAIL("'%s' gives %d '%s'", rows[i].words, outcome.status, outcome.err.text);
	}
}

TEST(ambiguous, "an ambiguous prefix is refused, an exact name is not")
{
	static const struct option_spec two[] = {
		OPTION(struct args, loud, 0, "max", OPTION_SET, NULL, "a"),
		OPTION(struct args, stacks, 0, "max-size", OPTION_SET, NULL, "b"), OPTION_END};
	char prog[] = "prog", exact[] = "--max", prefix[] = "--ma";
	char *argv[] = {prog, exact};
	struct command_line line = {.argc = 2, .argv = argv};
	struct args args = {0};
	struct err err = {0};

	CHECK_EQ(options_parse(two, &args, &line, &err), 0);
	CHECK(args.loud && !args.stacks);
	argv[1] = prefix;
	CHECK(options_parse(two, &args, &line, &err) == ERR_USAGE);
	CHECK(strstr(err.text, "ambiguous") != NULL);
}

TEST(operands_move, "operands among options are moved to the end and keep their order")
{
	struct outcome outcome = parse("a -n 3 b --loud c -- -d --top", false);

	CHECK_EQ(outcome.status, 0);
	CHECK_EQ(outcome.args.top, 3);
	CHECK(outcome.args.loud);
	CHECK_EQ(outcome.argc - outcome.first, 5);
	CHECK_STR(outcome.argv[outcome.first], "a");
	CHECK_STR(outcome.argv[outcome.first + 1], "b");
	CHECK_STR(outcome.argv[outcome.first + 2], "c");
	CHECK_STR(outcome.argv[outcome.first + 3], "-d");
	CHECK_STR(outcome.argv[outcome.first + 4], "--top");
}

TEST(stops_at_operand, "with stop_at_operand the program's own options are left alone")
{
	static const char *const rows[] = {"-n 3 ls -l --top x", "-n 3 -- ls -l --top x"};

	for (u32 i = 0; i < 2; i++) {
		struct outcome outcome = parse(rows[i], true);

		CHECK_EQ(outcome.status, 0);
		CHECK_EQ(outcome.args.top, 3);
		CHECK(!outcome.args.loud);
		CHECK_STR(outcome.argv[outcome.first], "ls");
		CHECK_EQ(outcome.argc - outcome.first, 4);
	}
}

TEST(single_dash, "a single dash is an operand")
{
	struct outcome outcome = parse("-", false);

	CHECK_EQ(outcome.status, 0);
	CHECK_STR(outcome.argv[outcome.first], "-");
}

TEST(help_wanted, "--help, a prefix of it and -h ask for help")
{
	CHECK(parse("--help", false).help);
	CHECK(parse("--hel", false).help);
	CHECK(parse("-h", false).help);
	CHECK(parse("-lh", false).help);
	CHECK(!parse("--loud", false).help);
}

TEST(help_text, "help has a line per option, aligned, without the hidden ones, and the names of limits")
{
	char *help = options_help(table);

	CHECK_STR(help, "  -o, --output FILE           write to FILE\n"
			"  -f, --format text|json|csv  how to print\n"
			"  -n, --top N                 show N\n"
			"      --max-size BYTES        stop at BYTES\n"
			"  -l, --loud                  say more\n"
			"      --no-stacks             leave stacks out\n"
			"      --kinds[=LIST]          show kinds\n"
			"  -h, --help                  show this text\n"
			"\nlimits, also as options ('heapwise help limits' explains):\n"
			"      --growth-min\n");
	free(help);
	CHECK_EQ(parse("--test-secret 7", false).args.top, 7);
	CHECK_EQ(parse("--growth-min 3K", false).args.size, 3072); /* a limit */
}

TEST(headings, "a heading begins a group of options in the help")
{
	static const struct option_spec grouped[] = {
		OPTION_UNDER("Output", struct args, output, 'o', "output", OPTION_STRING, "FILE", "write to FILE"),
		OPTION_UNDER("Messages", struct args, loud, 'l', "loud", OPTION_SET, NULL, "say more"), OPTION_END};
	char *help = options_help(grouped);

	CHECK_STR(help, "\nOutput\n"
			"  -o, --output FILE  write to FILE\n"
			"\nMessages\n"
			"  -l, --loud         say more\n"
			"  -h, --help         show this text\n");
	free(help);
}

TEST(stores, "a limit is stored by its name as a file calls it")
{
	const struct option_spec *limit = option_find(table, "growth-min");
	struct args args = {0};
	struct err err = {0};

	CHECK(limit && limit->limit && !option_is_shown(limit));
	CHECK(!option_find(table, "growth"));
	CHECK_EQ(option_store(limit, &args, "growth-min", "64K", &err), 0);
	CHECK_EQ(args.size, 65536);
	CHECK_EQ(option_store(limit, &args, "growth-min", "much", &err), ERR_USAGE);
	CHECK_STR(err.text, "growth-min must be a size such as 4096, 64K or 1.5G, not 'much'");
}

TEST(folders, "paths of folders are refused if one of them is not there")
{
	static const struct option_spec one[] = {
		OPTION(struct args, output, 0, "debug-path", OPTION_FOLDERS, "DIR[:DIR...]", "x"),
		OPTION_END};
	struct args args = {0};
	struct err err = {0};

	CHECK_EQ(option_store(one, &args, "--debug-path", "/:/proc:", &err), 0);
	CHECK_STR(args.output, "/:/proc:");
	CHECK_EQ(option_store(one, &args, "--debug-path", "/proc:/nowhere:/", &err), ERR_USAGE);
	CHECK_STR(err.text, "--debug-path: there is no folder '/nowhere'");
	CHECK_EQ(option_store(one, &args, "--debug-path", "/proc/version", &err), ERR_USAGE);
}

TEST(long_help_wraps, "long help texts are wrapped and indented")
{
	static const struct option_spec one[] = {
		OPTION(struct args, loud, 0, "loud", OPTION_SET, NULL,
		       "a text that is so long that it does not fit on one line of the terminal "
		       "and has to go "
		       "on in the next one"),
		OPTION_END};
	char *help = options_help(one);
	char *second = strchr(help, '\n') + 1;

	CHECK_EQ(strspn(second, " "), 14);
	for (const char *line = help; *line; line = strchr(line, '\n') + 1)
		CHECK(strcspn(line, "\n") <= 96);
	free(help);
}

TEST(byte_sizes, "sizes are read in powers of 1024 and refused when they are none")
{
	static const struct {
		const char *text;
		u64 bytes;
		bool good;
	} rows[] = {
		{"0", 0, true},
		{"4096", 4096, true},
		{"64K", 65536, true},
		{"64k", 65536, true},
		{"1.5M", 1572864, true},
		{"2GiB", 2147483648, true},
		{"2GB", 2147483648, true},
		{"1T", 1099511627776, true},
		{"5B", 5, true},
		{"", 0, false},
		{"K", 0, false},
		{"-1", 0, false},
		{"1.5", 0, false},
		{"1X", 0, false},
		{"1KK", 0, false},
		{"1Ki", 0, false},
		{"99999999999T", 0, false},
		{"18446744073709551616", 0, false},
		{" 1", 0, false},
		{"1 K", 0, false},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		u64 bytes = 0;
		bool good = parse_bytes(rows[i].text, &bytes);

		if (good != rows[i].good || (good && bytes != rows[i].bytes))
			FAIL("'%s' gives %d, %llu", rows[i].text, good, (unsigned long long)bytes);
	}
}

TEST(times, "times have a unit, or the one that a bare number has")
{
	static const struct {
		const char *text;
		double bare_ns, ns;
		bool good;
	} rows[] = {
		{"450ns", 0, 450, true},      {"2us", 0, 2e3, true},     {"1.5ms", 0, 1.5e6, true},
		{"3s", 0, 3e9, true},         {"3 s", 0, 3e9, true},     {"2min", 0, 120e9, true},
		{"2m", 0, 120e9, true},       {"1h", 0, 3600e9, true},   {"30", 1e9, 30e9, true},
		{"0.5", 1e9, 0.5e9, true},    {"30", 0, 0, false},       {"", 1e9, 0, false},
		{"s", 1e9, 0, false},         {"-1s", 1e9, 0, false},    {"1e3s", 1e9, 0, false},
		{"0x10s", 1e9, 0, false},     {"inf", 1e9, 0, false},    {"1.2.3s", 1e9, 0, false},
		{"5 minutes", 1e9, 0, false}, {"5s,6s", 1e9, 0, false}, {"5S", 1e9, 0, false},
	};
	const char *end;
	double ns;

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool good = parse_ns(rows[i].text, rows[i].bare_ns, NULL, &ns);

		if (good != rows[i].good || (good && ns != rows[i].ns))
			FAIL("'%s' gives %d, %g", rows[i].text, good, ns);
	}
	CHECK(parse_ns("5s,6s", 0, &end, &ns));
	CHECK_STR(end, ",6s");
}

TEST(optional, "an optional value is one only after the equals sign")
{
	static const struct {
		const char *words, *value;
		int operands;
	} rows[] = {{"x", NULL, 1}, {"--kinds x", "", 1}, {"--kinds=a,b x", "a,b", 1}, {"--kinds= x", "", 1}};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct outcome outcome = parse(rows[i].words, false);

		CHECK_EQ(outcome.status, 0);
		CHECK_EQ(outcome.argc - outcome.first, rows[i].operands);
		CHECK_EQ(outcome.args.kinds == NULL, rows[i].value == NULL);
		if (rows[i].value && outcome.args.kinds)
			CHECK_STR(outcome.args.kinds, rows[i].value);
	}
}

TEST(percent, "percentages have decimals and stay within 0 and 100")
{
	static const struct {
		const char *text;
		double share;
		bool good;
	} rows[] = {
		{"0", 0, true},         {"100", 1, true},    {"0.1", 0.001, true},
		{"12.5%", 0.125, true}, {"100.1", 0, false}, {"-1", 0, false},
		{"", 0, false},         {"%", 0, false},     {"5 %", 0, false},
		{"5%%", 0, false},      {"nan", 0, false},   {"inf", 0, false},
		{"1e1", 0, false},      {"0x10", 0, false},  {" 5", 0, false},
		{"5x", 0, false},       {"+5", 0, false},    {".5", 0, false},
	};

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		double share = -1;
		bool good = parse_percent(rows[i].text, &share);

		if (good != rows[i].good || (good && share != rows[i].share))
			FAIL("'%s' gives %d, %g", rows[i].text, good, share);
	}
}

TEST(distance, "word distance counts insertions, removals and replacements")
{
	CHECK_EQ(word_distance("report", "report"), 0);
	CHECK_EQ(word_distance("reprot", "report"), 2);
	CHECK_EQ(word_distance("repor", "report"), 1);
	CHECK_EQ(word_distance("", "run"), 3);
	CHECK_EQ(word_distance("dump", "jump"), 1);
}

TEST(repeated, "an option that may be repeated keeps every value, up to a limit")
{
	struct option_strings found = {0};
	const struct option_spec strings[] = {
		{.letter = 's', .name = "suppressions", .type = OPTION_STRINGS, .argument = "FILE"},
		OPTION_END};
	char name[] = "prog", one[] = "-sone", two[] = "--suppressions=two", three[] = "-sthree";
	char *argv[OPTION_STRINGS_MAX + 2] = {name, one, two, three};
	struct command_line line = {.argc = 4, .argv = argv};
	struct err err = {0};

	CHECK_EQ(options_parse(strings, &found, &line, &err), 0);
	CHECK_EQ(found.count, 3);
	CHECK_STR(found.items[0], "one");
	CHECK_STR(found.items[1], "two");
	CHECK_STR(found.items[2], "three");
	found.count = 0;
	for (u32 i = 1; i < OPTION_STRINGS_MAX + 2; i++)
		argv[i] = one;
	line.argc = OPTION_STRINGS_MAX + 2;
	CHECK_EQ(options_parse(strings, &found, &line, &err), ERR_USAGE);
	CHECK_EQ(found.count, OPTION_STRINGS_MAX);
}
