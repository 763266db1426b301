/* SPDX-License-Identifier: MIT
 * Which loads and shifts of aarch64 text get rid of a pointer's tag, and which texts stay as they are. In the rows a line that goes has a
 * minus in front, one that is new a plus; SHADOW is the shadow's place. */
#define _GNU_SOURCE
#include <string.h>

#include "host/checks/untag.h"
#include "lib/test.h"

#define SHADOW "70368744177664"

static void read_row(const char *row, struct strbuf *given, struct strbuf *wanted)
{
	for (const char *end; *row; row = *end ? end + 1 : end) {
		bool goes = *row == '-', is_new = *row == '+';

		end = strchrnul(row, '\n');
		row += goes || is_new;
		if (!is_new)
			strbuf_addf(given, "%.*s\n", (int)(end - row), row);
		if (!goes)
			strbuf_addf(wanted, "%.*s\n", (int)(end - row), row);
	}
}

static void check_row(const char *row, u64 checks, bool same_size)
{
	struct strbuf given = {0}, wanted = {0}, got = {0};
	struct err err = {0};
	struct untag_job job;
	u64 count = 0;

	read_row(row, &given, &wanted);
	job = (struct untag_job){given.text, given.count, 0x400000000000, same_size};
	CHECK_EQ(checks_untag(&job, &got, &count, &err), 0);
	CHECK_EQ(count, checks);
	CHECK_STR(strbuf_text(&got), strbuf_text(&wanted));
	strbuf_release(&given);
	strbuf_release(&wanted);
	strbuf_release(&got);
}

TEST(cut, "a shift for one load only leaves the tag behind")
{
	const char *row = "f:\n\tmov\tx10, #" SHADOW "            // =0x400000000000\n.LBB0_5:\n-\tlsr\tx8, x23, #3\n+\tubfx\tx8, x23, 3, 53\n"
			  "\tand\tw9, w23, #0x7\n\tldrsb\tw8, [x8, x10]\n\tcbnz\tw8, .LBB0_13\n\tret";

	check_row(row, 1, false);
	check_row(row, 1, true);
	check_row("f:\n\tmov\tx25, " SHADOW "\n-\tlsr\tx2, x0, 3\n+\tubfx\tx2, x0, 3, 53\n\tadd\tx22, x22, x4\n.LVL3:\n\t.loc 1 2 3\n\tldrsb\tw2, [x25, x2]", 1,
		  false);
}

TEST(index, "a shift that something else wants stays, and the load is masked")
{
	check_row("f:\n\tmov\tx25, " SHADOW "\n\tlsr\tx2, x0, 3\n-\tldrsb\tw1, [x2, x25]\n+\tubfx\tx1, x2, 0, 53\n+\tldrsb\tw1, [x1, x25]\n\tret", 1, false);
	check_row("f:\n\tmov\tx25, " SHADOW "\n\tlsr\tx2, x0, 3\n\tmov\tx7, x2\n-\tldrb\tw2, [x2, x25]\n+\tubfx\tx2, x2, 0, 53\n+\tldrb\tw2, [x2, x25]", 1,
		  false);
	check_row("f:\n\tmov\tx25, " SHADOW "\n\tlsr\tx2, x0, 3\n\tldrsb\tw1, [x2, x25]", 0, true);
}

TEST(sum, "a shift in another block, on the stack, or a shadow that is overwritten: the sum is masked")
{
	check_row("f:\n\tmov\tx3, " SHADOW "\n\tlsr\tx4, x0, 3\n-\tldrsh\tw3, [x4, x3]\n+\tadd\tx3, x4, x3\n+\tubfx\tx3, x3, 0, 53\n+\tldrsh\tw3, [x3]", 1, false);
	check_row("f:\n\tmov\tx10, #" SHADOW "\n\tlsr\tx8, x8, #3\n\tstr\tx8, [sp, #8]                    // 8-byte Folded Spill\n.LBB0_9:\n\tldr\tx7, [sp, #8]\n"
		  "-\tldrb\tw9, [x7, x10]\n+\tadd\tx9, x7, x10\n+\tubfx\tx9, x9, 0, 53\n+\tldrb\tw9, [x9]",
		  1, false);
	check_row("f:\n\tmov\tx10, #" SHADOW "\n\tlsr\tx8, x8, #3\n\tstp\tx9, x8, [x29, #-16]\n.LBB0_9:\n\tldur\tx7, [x29, #-8]\n"
		  "-\tldrb\tw9, [x7, x10]\n+\tadd\tx9, x7, x10\n+\tubfx\tx9, x9, 0, 53\n+\tldrb\tw9, [x9]",
		  1, false);
}

TEST(base, "an address that was computed before is masked, in a function's cold part, too")
{
	check_row("f:\n\tmov\tx25, " SHADOW "\n\tadd\tx28, x25, x3, lsr 3\n.L6:\n-\tldrsb\tw0, [x28]\n+\tubfx\tx0, x28, 0, 53\n+\tldrsb\tw0, [x0]\n\tret\n"
		  "f.cold:\n-\tldrsb\tw1, [x28]\n+\tubfx\tx1, x28, 0, 53\n+\tldrsb\tw1, [x1]",
		  2, false);
	check_row("f:\n\tlsr\tx1, x0, 3\n\tmov\tx0, " SHADOW "\n\tadd\tx0, x1, x0\n-\tldrsb\tw0, [x0]\n+\tubfx\tx0, x0, 0, 53\n+\tldrsb\tw0, [x0]", 1, false);
}

TEST(loops, "addresses that are computed from others are masked, whatever way the load computes the next")
{
	check_row("f:\n\tmov\tx8, #" SHADOW "\n\tadd\tx22, x8, x0, lsr #3\n-\tldrb\tw8, [x22, x21]\n+\tadd\tx8, x21, x22\n+\tubfx\tx8, x8, 0, 53\n+\tldrb\tw8, [x8]\n"
		  "\tadd\tx9, x22, #1\n-\tldrb\tw7, [x9, #2]\n+\tubfx\tx7, x9, 0, 53\n+\tldrb\tw7, [x7, 2]\n"
		  "-\tldrb\tw7, [x9], #1\n+\tubfx\tx7, x9, 0, 53\n+\tldrb\tw7, [x7]\n+\tadd\tx9, x9, #1\n"
		  "-\tldrsb\tw7, [x9, #-1]!\n+\tadd\tx9, x9, -1\n+\tubfx\tx7, x9, 0, 53\n+\tldrsb\tw7, [x7]\n\tldrb\tw7, [sp, #-1]!",
		  4, false);
}

TEST(others, "what is not a check stays as it is")
{
	static const char *const rows[] = {
		"f:\n\tlsr\tx0, x0, 3\n\tldrb\tw0, [x1, x0]\n\tret",
		"f:\n\tmov\tx1, " SHADOW "\n\tadd\tx0, x1, x0, lsr 3\n\tret",
		"f:\n\tmov\tx1, " SHADOW "\n\tadd\tx0, x0, x1\n\tldrb\tw0, [x0]\n\tret",
		"f:\n\tmov\tx1, " SHADOW "\n\tadd\tx0, x0, x1\n\tldrb\tw0, [x0, x2]\n\tret",
		"f:\n\tmov\tx1, " SHADOW "\n\tlsr\tx0, x2, 4\n\tldrb\tw0, [x0, x1]\n\tret",
		"f:\n\tmov\tx1, " SHADOW "\n\tlsr\tx0, x2, 3\n\tldr\tx0, [x0, x1]\n\tret",
		"f:\n\tmov\tx1, " SHADOW "\n\tret\ng:\n\tlsr\tx0, x2, 3\n\tldrb\tw0, [x0, x1]\n\tret",
		"f:\n#APP\n\tmov\tx1, " SHADOW "\n\tlsr\tx0, x2, 3\n\tldrb\tw0, [x0, x1]\n#NO_APP\n\tret",
		"f:\n\tmov\tx1, " SHADOW "\n\tlsr\tx0, x2, 3\n\t//APP\n\tldrb\tw0, [x0, x1]\n\t//NO_APP\n\tret",
		"",
		"\tldrb",
		"\tldrb\tw0, [\n\tmov\n\tstr\tx0\n\tldp\tx0, x1, [sp\n\tlsr",
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(rows[i], 0, false);
}
