/* SPDX-License-Identifier: MIT
 * Which instructions of gcc's checks go or move, and which texts stay as they are. In the rows a line that goes has a minus in front, one that
 * is new a plus, one that becomes jne an exclamation mark; SHADOW is the shadow's place. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/checks/checks.h"
#include "format/shadow.h"
#include "lib/test.h"

/* One line of a row, as the assembler gets it. */
static void add_line(struct strbuf *text, const char *line, size_t bytes)
{
	const char *shadow = memmem(line, bytes, "SHADOW", 6);

	if (shadow) {
		strbuf_add_bytes(text, line, (u64)(shadow - line));
		strbuf_addf(text, "%llu", (unsigned long long)HW_SHADOW_OFFSET);
		strbuf_add_bytes(text, shadow + 6, bytes - (u64)(shadow - line) - 6);
	} else {
		strbuf_add_bytes(text, line, bytes);
	}
	strbuf_add_char(text, '\n');
}

static void add_jne(struct strbuf *text, const char *line, size_t bytes)
{
	const char *to = memchr(line, '.', bytes);

	strbuf_addf(text, "\tjne\t%.*s\n", (int)(bytes - (size_t)(to - line)), to);
}

/* The row as it is given, and as it is wanted. */
static void read_row(const char *row, struct strbuf *given, struct strbuf *wanted)
{
	for (const char *end; *row; row = *end ? end + 1 : end) {
		bool goes = *row == '-', is_new = *row == '+', becomes = *row == '!';

		end = strchr(row, '\n') ? strchr(row, '\n') : row + strlen(row);
		row += goes || is_new || becomes;
		if (!is_new)
			add_line(given, row, (size_t)(end - row));
		if (becomes)
			add_jne(wanted, row, (size_t)(end - row));
		else if (!goes)
			add_line(wanted, row, (size_t)(end - row));
	}
}

static void check_row(const char *row, u64 checks)
{
	struct strbuf given = {0}, wanted = {0}, got = {0};
	struct err err = {0};
	u64 count = 0;

	read_row(row, &given, &wanted);
	CHECK_EQ(checks_shorten(given.text, given.count, &got, &count, &err), 0);
	CHECK_EQ(count, checks);
	CHECK_STR(strbuf_text(&got), strbuf_text(&wanted));
	strbuf_release(&given);
	strbuf_release(&wanted);
	strbuf_release(&got);
}

/* The report of a check that goes on at .L2. */
#define REPORT ".L9:\n\tmovq\t%rbx, %rdi\n\tcall\t__asan_report_load4_noabort@PLT\n\tjmp\t.L2\n"

TEST(place_below, "the place is compared, and computed, for nothing")
{
	check_row("\tmovq\t%rbx, %rax\n\tshrq\t$3, %rax\n"
		  "\tmovzbl\tSHADOW(%rax), %edx\n-\tmovq\t%rbx, %rax\n-\tandl\t$7, "
		  "%eax\n-\taddl\t$3, %eax\n"
		  "-\tcmpb\t%dl, %al\n-\tjl\t.L2\n\ttestb\t%dl, "
		  "%dl\n\tjne\t.L9\n.L2:\n\tmovl\t(%rbx), %ecx\n\tret\n" REPORT,
		  1);
}

TEST(place_above, "the comparison may be the other way round, and instructions mixed")
{
	check_row("\tmovq\t%rbx, %rax\n-\tmovq\t%rbx, %rdx\n\tshrq\t$3, %rax\n-\tandl\t$7, "
		  "%edx\n\tmovq\t%r13, 0(%rbp)\n"
		  "\tmovzbl\tSHADOW(%rax), %eax\n-\tcmpb\t%dl, %al\n-\tjg\t.L2\n\ttestb\t%al, "
		  "%al\n\tjne\t.L9\n.L2:\n" REPORT,
		  1);
}

TEST(debug_lines, "what debuggers read is in between and stays")
{
	check_row("\tmovzbl\tSHADOW(%rax), %edx\n.LVL7:\n\t.loc 1 20 3 is_stmt 0 view "
		  ".LVU7\n-\tmovq\t%rbx, %rax\n-\tandl\t$7, %eax\n"
		  "-\tcmpb\t%dl, %al\n.LBB12:\n-\tjl\t.L2\n\t.cfi_remember_state\n\ttestb\t%dl, "
		  "%dl\n\tjne\t.L9\n"
		  "\t.p2align 4,,10\n\t.p2align 3\n.L2:\n" REPORT,
		  1);
}

TEST(verbose_asm, "comments of the compiler are no operands")
{
	check_row("# a.c:3: x = *p;\n\tmovzbl\tSHADOW(%rax), %edx\t#, tmp1\n-\tmovq\t%rbx, %rax\t# "
		  "p, tmp2\n-\tandl\t$7, %eax\t#, tmp2\n"
		  "-\tcmpb\t%dl, %al\t# tmp1, tmp2\n-\tjl\t.L2\t#,\n\ttestb\t%dl, %dl\t# "
		  "tmp1\n\tjne\t.L9\t#,\n.L2:\n" REPORT,
		  1);
}

TEST(small_code, "other instructions for the same, as -Os has them")
{
	check_row(
		"\tmovb\tSHADOW(%rdx), %cl\n-\tmovq\t%rdi, %rdx\n-\tandl\t$7, %edx\n-\tincl\t%edx\n"
		"-\tcmpb\t%cl, %dl\n-\tjl\t.L2\n\ttestb\t%cl, %cl\n\tjne\t.L9\n.L2:\n" REPORT,
		1);
}

TEST(no_plt, "a report may be called by its address")
{
	check_row("\tmovzbl\tSHADOW(%rax), %edx\n-\tandl\t$7, %eax\n-\tcmpb\t%dl, "
		  "%al\n-\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n"
		  ".L9:\n\tcall\t*__asan_report_load1_noabort@GOTPCREL(%rip)\n\tjmp\t.L2\n",
		  1);
}

TEST(place_known, "with a known place only 0 is asked for")
{
	check_row("\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, %al\n-\tje\t.L2\n-\tcmpb\t$3, "
		  "%al\n!\tjle\t.L9\n.L2:\n" REPORT,
		  1);
	check_row("\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, "
		  "%al\n-\tje\t.L2\n!\tjle\t.L9\n.L2:\n" REPORT,
		  1);
}

TEST(report_behind, "the report may follow at once")
{
	check_row("\tmovzbl\tSHADOW(%rax), %edx\n-\tmovq\t%rdi, %rax\n-\tandl\t$7, "
		  "%eax\n-\tcmpb\t%dl, %al\n-\tjl\t.L2\n"
		  "\ttestb\t%dl, %dl\n\tje\t.L2\n\tcall\t__asan_report_load1_noabort@PLT\n.L2:\n",
		  1);
	check_row(
		"\tmovzbl\tSHADOW(%rax), %edx\n\tmovq\t%rdi, %rax\n\tandl\t$7, %eax\n-\tcmpb\t%dl, "
		"%al\n-\tjl\t.L2\n"
		"\ttestb\t%dl, "
		"%dl\n\tje\t.L2\n\tcall\t__asan_report_load1_noabort@PLT\n\tmovl\t$7, %eax\n.L2:\n",
		1);
	check_row("\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, %al\n\tje\t.L2\n-\tcmpb\t$1, "
		  "%al\n-\tjg\t.L2\n"
		  "\tcall\t__asan_report_load1_noabort@PLT\n.L2:\n",
		  1);
	check_row("\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, %al\n\tje\t.L2\n-\tjg\t.L2\n"
		  "\tcall\t__asan_report_load1_noabort@PLT\n.L2:\n",
		  1);
}

/* A check whose place is in %eax, with another report. */
#define PLACE                                                                                      \
	"\tmovzbl\tSHADOW(%rax), %edx\n\tmovq\t%rbx, %rax\n\tandl\t$7, %eax\n-\tcmpb\t%dl, "       \
	"%al\n-\tjl\t.L2\n"                                                                        \
	"\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n"

TEST(place_wanted, "a place whose value may be wanted is computed as ever")
{
	static const char *const reports[] = {
		/* it is saved and comes back */
		".L9:\n\tmovq\t%rax, "
		"8(%rsp)\n\tcall\t__asan_report_load4_noabort@PLT\n\tmovq\t8(%rsp), "
		"%rax\n\tjmp\t.L2\n",
		/* it is told */
		".L9:\n\tmovq\t%rax, %rdi\n\tcall\t__asan_report_load4_noabort@PLT\n\tjmp\t.L2\n",
		/* it has another value then; one that no operand names */
		".L9:\n\tcall\t__asan_report_load4_noabort@PLT\n\txorl\t%eax, %eax\n\tjmp\t.L2\n",
		".L9:\n\tcall\t__asan_report_load4_noabort@PLT\n\tcltq\n\tjmp\t.L2\n",
		/* no report, another place to go on, other ways */
		".L9:\n\tcall\tabort@PLT\n\tjmp\t.L2\n",
		".L9:\n\tjmp\t.L2\n",
		".L9:\n\tcall\t__asan_report_load4_noabort@PLT\n\tjmp\t.L3\n",
		".L9:\n\tcall\t__asan_report_load4_noabort@PLT\n.L8:\n\tjmp\t.L2\n",
		".L9:\n\tcall\t__asan_report_load4_noabort@PLT\n\tje\t.L8\n\tjmp\t.L2\n",
		".L9:\n\tcall\t__asan_report_load4_noabort@PLT\n",
		"",
	};

	for (u32 i = 0; i < sizeof(reports) / sizeof(*reports); i++) {
		struct strbuf row = {0};

		strbuf_addf(&row, "%s%s", PLACE, reports[i]);
		check_row(row.text, 1);
		strbuf_release(&row);
	}
}

TEST(place_kept, "a place in a register that calls preserve is computed as ever")
{
	check_row("\tmovzbl\tSHADOW(%rax), %edx\n\tmovq\t%rdi, %rbx\n\tandl\t$7, "
		  "%ebx\n-\tcmpb\t%dl, %bl\n-\tjl\t.L2\n"
		  "\ttestb\t%dl, "
		  "%dl\n\tjne\t.L9\n.L2:\n.L9:\n\tcall\t__asan_report_load4_noabort@PLT\n\tjmp\t."
		  "L2\n",
		  1);
}

TEST(place_used, "what others read, or what made it, stays")
{
	/* used in between */
	check_row("\tmovzbl\tSHADOW(%rax), %edx\n\tmovq\t%rbx, %rax\n\tandl\t$7, "
		  "%eax\n\tleal\t8(%rax), %ecx\n-\tcmpb\t%dl, %al\n-\tjl\t.L2\n"
		  "\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		  1);
	/* its sum is used, not its mask */
	check_row("\tmovzbl\tSHADOW(%rax), %edx\n\tandl\t$7, %eax\n\tmovl\t%eax, "
		  "%ecx\n-\taddl\t$3, %eax\n-\tcmpb\t%dl, %al\n-\tjl\t.L2\n"
		  "\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		  1);
	/* flags of the mask are read */
	check_row("\tmovzbl\tSHADOW(%rax), %edx\n\tandl\t$7, %eax\n\tmovl\t$0, %ecx\n-\tcmpb\t%dl, "
		  "%al\n-\tjl\t.L2\n"
		  "\ttestb\t%dl, "
		  "%dl\n\tjne\t.L9\n.L2:\n.L9:\n\tsete\t%cl\n\tcall\t__asan_report_load4_noabort@"
		  "PLT\n\tjmp\t.L2\n",
		  1);
	/* another mask */
	check_row("\tmovzbl\tSHADOW(%rax), %edx\n\tandl\t$15, %eax\n-\tcmpb\t%dl, %al\n-\tjl\t.L2\n"
		  "\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		  1);
	/* moved without a mask */
	check_row(
		"\tmovzbl\tSHADOW(%rax), %edx\n\tmovq\t%rbx, %rax\n-\tcmpb\t%dl, %al\n-\tjl\t.L2\n"
		"\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		1);
}

TEST(no_check, "comparisons that are no check stay as they are")
{
	static const char *const rows[] = {
		/* of a byte that is not the shadow's */
		"\tmovzbl\t8(%rax), %edx\n\tcmpb\t%dl, %al\n\tjl\t.L2\n\ttestb\t%dl, "
		"%dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\t1SHADOW(%rax), %edx\n\tcmpb\t%dl, %al\n\tjl\t.L2\n\ttestb\t%dl, "
		"%dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovl\tSHADOW(%rax), %edx\n\tcmpb\t%dl, %al\n\tjl\t.L2\n\ttestb\t%dl, "
		"%dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tcmpb\t%dl, %al\n\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		/* of a byte that has changed since, perhaps on another way */
		"\tmovzbl\tSHADOW(%rax), %edx\n\taddl\t$1, %edx\n\tcmpb\t%dl, "
		"%al\n\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n.L5:\n\tcmpb\t%dl, %al\n\tjl\t.L2\n\ttestb\t%dl, "
		"%dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n\tcall\tf\n\tcmpb\t%dl, "
		"%al\n\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n\tnotrack\tjmp\t*%rcx\n\tcmpb\t%dl, "
		"%al\n\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n\tmovsb\t(%rsi), (%rdi)\n\tcmpb\t%dl, "
		"%al\n\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n\tcltd\n\tcmpb\t%dl, %al\n\tjl\t.L2\n\ttestb\t%dl, "
		"%dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n#APP\n\tnop\n#NO_APP\n\tcmpb\t%dl, "
		"%al\n\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n\t.section\t.text.unlikely\n\tcmpb\t%dl, "
		"%al\n\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		/* above the shadow, not below it */
		"\tmovzbl\tSHADOW(%rax), %edx\n\tcmpb\t%dl, %al\n\tjg\t.L2\n\ttestb\t%dl, "
		"%dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n\tcmpb\t%al, %dl\n\tjl\t.L2\n\ttestb\t%dl, "
		"%dl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n\tcmpb\t%dl, %al\n\tjb\t.L2\n\ttestb\t%dl, "
		"%dl\n\tjne\t.L9\n.L2:\n" REPORT,
		/* another byte is tested; two jumps that part */
		"\tmovzbl\tSHADOW(%rax), %edx\n\tcmpb\t%dl, %al\n\tjl\t.L2\n\ttestb\t%cl, "
		"%cl\n\tjne\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n\tcmpb\t%dl, %al\n\tjl\t.L2\n\ttestb\t%dl, "
		"%dl\n\tjne\t.L9\n.L3:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %edx\n\tcmpb\t%dl, %al\n\tjl\t.L2\n\ttestb\t%dl, "
		"%dl\n\tje\t.L3\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, %al\n\tje\t.L2\n\tcmpb\t$3, "
		"%al\n\tjle\t.L9\n.L3:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, %al\n\tje\t.L2\n\tcmpb\t$-3, "
		"%al\n\tjle\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, %al\n\tje\t.L2\n\tcmpb\t$3, "
		"%cl\n\tjle\t.L9\n.L2:\n" REPORT,
		"\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, %al\n\tje\t.L2\n\tcmpb\t$3, "
		"%al\n\tjg\t.L3\n.L2:\n" REPORT,
		/* several instructions in a line */
		"\tmovzbl\tSHADOW(%rax), %edx; incl %edx\n\tcmpb\t%dl, "
		"%al\n\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(rows[i], 0);
}

/* A check of 8 bytes, from where the shadow's place is computed in %rax, with a report that is told %rdi. */
#define PLACE_AND_TEST "\tshrq\t$3, %rax\n\tcmpb\t$0, SHADOW(%rax)\n"
#define TEST_OF_8 PLACE_AND_TEST "\tjne\t.L9\n.L2:\n\tmovq\t8(%rbx), %rdx\n\tret\n"
#define CALL "\tcall\t__asan_report_load8_noabort@PLT\n"
#define REPORT_OF_8 ".L9:\n" CALL "\tjmp\t.L2\n"
#define GIVEN_ADDRESS "\tleaq\t8(%rbx), %rdi\n\tmovq\t%rdi, %rax\n"
#define LATE_ADDRESS "-\tleaq\t8(%rbx), %rdi\n-\tmovq\t%rdi, %rax\n+\tleaq\t8(%rbx), %rax\n"
#define LATE_REPORT ".L9:\n+\tleaq\t8(%rbx), %rdi\n" CALL "\tjmp\t.L2\n"

TEST(address_late, "an address that only the report wants is computed there")
{
	static const char *const rows[] = {
		LATE_ADDRESS TEST_OF_8 LATE_REPORT,
		/* the report behind a jump, or behind the branch */
		LATE_ADDRESS PLACE_AND_TEST
		"\tjne\t.L9\n.L2:\n\tmovq\t8(%rbx), %rdx\n\tjmp\t.L1\n" LATE_REPORT,
		LATE_ADDRESS PLACE_AND_TEST "\tje\t.L2\n+\tleaq\t8(%rbx), %rdi\n" CALL
					    ".L2:\n\tret\n",
		LATE_ADDRESS PLACE_AND_TEST "\tje\t.L2\n+\tleaq\t8(%rbx), %rdi\n" CALL
					    "\tjmp\t.L2\n",
		/* 16 bytes; the shadow in a register, perhaps that of its place */
		LATE_ADDRESS "\tshrq\t$3, %rax\n\tcmpw\t$0, "
			     "SHADOW(%rax)\n\tjne\t.L9\n.L2:\n\tret\n" LATE_REPORT,
		LATE_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %ecx\n\tmovl\t%esi, "
			     "%ebp\n\ttestb\t%cl, %cl\n\tjne\t.L9\n.L2:\n\tret\n" LATE_REPORT,
		LATE_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, "
			     "%al\n\tjne\t.L9\n.L2:\n\tret\n" LATE_REPORT,
		/* in another register first; the report has more to do */
		"-\tleaq\t8(%rbx,%rsi,4), %rcx\n-\tmovq\t%rcx, %rax\n+\tleaq\t8(%rbx,%rsi,4), "
		"%rax\n" TEST_OF_8 ".L9:\n+\tleaq\t8(%rbx,%rsi,4), %rcx\n\tmovq\t%rsi, "
		"24(%rsp)\n\tmovq\t%rcx, %rdi\n" CALL "\tmovq\t24(%rsp), %rsi\n\tjmp\t.L2\n",
		/* on the stack; of a variable */
		"-\tleaq\t16(%rsp), %rdi\n-\tmovq\t%rdi, %rax\n+\tleaq\t16(%rsp), "
		"%rax\n" TEST_OF_8 ".L9:\n+\tleaq\t16(%rsp), %rdi\n" CALL "\tjmp\t.L2\n",
		"-\tleaq\ttable+8(%rip), %rdi\n-\tmovq\t%rdi, %rax\n+\tleaq\ttable+8(%rip), "
		"%rax\n" TEST_OF_8 ".L9:\n+\tleaq\ttable+8(%rip), %rdi\n" CALL "\tjmp\t.L2\n",
		/* others are in between, and read the address's register */
		"-\tleaq\t8(%rbx), %rdi\n\tmovl\t%ebx, (%rsi)\n-\tmovq\t%rdi, "
		"%rax\n+\tleaq\t8(%rbx), %rax\n\tcmpq\t%rsi, %rbx\n\taddq\t%rbx, "
		"%rdx\n" TEST_OF_8 LATE_REPORT,
		/* what debuggers and readers want stays */
		"-\tleaq\t8(%rbx), %rdi\t# p, tmp\n.LVL3:\n\t.loc 1 2 3 view .LVU3\n-\tmovq\t%rdi, "
		"%rax\t# tmp\n+\tleaq\t8(%rbx), %rax\n" PLACE_AND_TEST
		"\tjne\t.L9\n\t.p2align 4,,10\n.L2:\n\tret\n\t.cfi_endproc\n"
		".L9:\n+\tleaq\t8(%rbx), %rdi\t# p, tmp\n\t.loc 1 4\n" CALL "\tjmp\t.L2\n",
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(rows[i], 1);
}

TEST(both_ways, "a check that becomes shorter both ways is one")
{
	static const char *const rows[] = {
		LATE_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %edx\n-\tmovq\t%rdi, "
			     "%rax\n-\tandl\t$7, %eax\n-\taddl\t$3, %eax\n-\tcmpb\t%dl, "
			     "%al\n-\tjl\t.L2\n\ttestb\t%dl, "
			     "%dl\n\tjne\t.L9\n.L2:\n\tret\n" LATE_REPORT,
		LATE_ADDRESS
		"-\tmovq\t%rdi, %rdx\n\tshrq\t$3, %rax\n-\tandl\t$7, "
		"%edx\n\tmovzbl\tSHADOW(%rax), %eax\n-\tcmpb\t%dl, %al\n-\tjg\t.L2\n\ttestb\t%al, "
		"%al\n\tje\t.L2\n+\tleaq\t8(%rbx), %rdi\n" CALL ".L2:\n",
		LATE_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, "
			     "%al\n-\tje\t.L2\n-\tcmpb\t$3, "
			     "%al\n!\tjle\t.L9\n.L2:\n\tret\n" LATE_REPORT,
		LATE_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %eax\n\ttestb\t%al, "
			     "%al\n\tje\t.L2\n+\tleaq\t8(%rbx), %rdi\n-\tcmpb\t$3, "
			     "%al\n-\tjg\t.L2\n" CALL ".L2:\n",
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(rows[i], 1);
	/* The place is wanted, and made of the address. */
	check_row(GIVEN_ADDRESS
		  "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %edx\n\tmovq\t%rdi, %rax\n\tandl\t$7, "
		  "%eax\n-\tcmpb\t%dl, %al\n-\tjl\t.L2\n\ttestb\t%dl, "
		  "%dl\n\tjne\t.L9\n.L2:\n\tret\n.L9:\n" CALL "\txorl\t%eax, %eax\n\tjmp\t.L2\n",
		  1);
}

TEST(several_addresses, "each check has its own address")
{
	check_row(LATE_ADDRESS PLACE_AND_TEST
		  "\tjne\t.L9\n.L2:\n-\tleaq\t16(%rbx), %rdi\n-\tmovq\t%rdi, "
		  "%rax\n+\tleaq\t16(%rbx), %rax\n" PLACE_AND_TEST
		  "\tjne\t.L8\n.L3:\n\tret\n" LATE_REPORT ".L8:\n+\tleaq\t16(%rbx), %rdi\n" CALL
		  "\tjmp\t.L3\n",
		  2);
	/* An older one in the same register is not taken for it, even if the check becomes shorter otherwise, too. */
	check_row("\tleaq\t24(%rbx), %rdi\n" LATE_ADDRESS TEST_OF_8 LATE_REPORT, 1);
	check_row("\tleaq\t24(%rbx), %rdi\n" LATE_ADDRESS
		  "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %edx\n-\tmovq\t%rdi, "
		  "%rax\n-\tandl\t$7, %eax\n-\tcmpb\t%dl, %al\n-\tjl\t.L2\n\ttestb\t%dl, "
		  "%dl\n\tjne\t.L9\n.L2:\n\tret\n" LATE_REPORT,
		  1);
}

TEST(address_wanted, "an address that others may want is computed as ever")
{
	static const char *const rows[] = {
		/* between leaq and branch */
		"\tleaq\t8(%rbx), %rdi\n\tmovq\t%rdi, 8(%rsp)\n\tmovq\t%rdi, "
		"%rax\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS "\tmovq\t(%rdi), %rcx\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %edx\n\tmovl\t(%rdi), "
			      "%ecx\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n\tret\n" REPORT_OF_8,
		/* behind the check: calls preserve its register, or it gets a value after the call */
		"\tleaq\t8(%rbx), %r12\n\tmovq\t%r12, %rax\n" TEST_OF_8
		".L9:\n\tmovq\t%r12, %rdi\n" CALL "\tjmp\t.L2\n",
		"\tleaq\t8(%rbx), %rcx\n\tmovq\t%rcx, %rax\n" TEST_OF_8
		".L9:\n\tmovq\t%rcx, %rdi\n" CALL "\tmovq\t8(%rsp), %rcx\n\tjmp\t.L2\n",
		"\tleaq\t8(%rbx), %rcx\n\tmovq\t%rcx, %rax\n" TEST_OF_8
		".L9:\n\tmovq\t%rcx, %rdi\n" CALL "\tmovq\t%rcx, %rdi\n\tjmp\t.L2\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n" CALL "\tleaq\t8(%rbx), %rdi\n\tjmp\t.L2\n",
		/* in the report's code, for something else */
		"\tleaq\t8(%rbx), %rcx\n\tmovq\t%rcx, %rax\n" TEST_OF_8
		".L9:\n\tmovq\t%rcx, 8(%rsp)\n\tmovq\t%rcx, %rdi\n" CALL "\tjmp\t.L2\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n\tleaq\t8(%rdi), %rdi\n" CALL "\tjmp\t.L2\n",
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(rows[i], 0);
}

TEST(address_changes, "an address that may be another one at the report is computed as ever")
{
	static const char *const rows[] = {
		/* its registers are written, in part, by the shadow or otherwise */
		"\tleaq\t8(%rbx), %rdi\n\tmovq\t(%rbx), %rbx\n\tmovq\t%rdi, "
		"%rax\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS "\taddq\t$8, %rbx\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS "\tincq\t%rbx\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS "\tmovb\t$1, %bl\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS "\tshrdq\t$8, %rsi, %rbx\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %ebx\n\ttestb\t%bl, "
			      "%bl\n\tjne\t.L9\n.L2:\n\tret\n" REPORT_OF_8,
		"\tleaq\t(%rbx,%rcx,8), %rdi\n\tmovq\t%rdi, %rax\n\tmovl\t$0, "
		"%ecx\n" TEST_OF_8 REPORT_OF_8,
		"\tleaq\t16(%rsp), %rdi\n\tmovq\t%rdi, %rax\n\tsubq\t$8, "
		"%rsp\n" TEST_OF_8 REPORT_OF_8,
		"\tleaq\t16(%rsp), %rdi\n\tmovq\t%rdi, %rax\n\tpushq\t%rdx\n" TEST_OF_8 REPORT_OF_8,
		/* it is made of the register that it goes to, or of that of the place */
		"\tleaq\t8(%rdi), %rdi\n\tmovq\t%rdi, %rax\n" TEST_OF_8 REPORT_OF_8,
		"\tleaq\t8(%rax), %rdi\n\tmovq\t%rdi, %rax\n" TEST_OF_8 REPORT_OF_8,
		"\tleaq\t8(%rbx,%rax), %rdi\n\tmovq\t%rdi, %rax\n" TEST_OF_8 REPORT_OF_8,
		/* by another instruction, on another way, or for the linker */
		"\taddq\t$8, %rdi\n\tmovq\t%rdi, %rax\n" TEST_OF_8 REPORT_OF_8,
		"\tmovq\t8(%rbx), %rdi\n\tmovq\t%rdi, %rax\n" TEST_OF_8 REPORT_OF_8,
		"\tleal\t8(%rbx), %edi\n\tmovq\t%rdi, %rax\n" TEST_OF_8 REPORT_OF_8,
		"\tleaq\t8(%rbx), %rdi\n.L5:\n\tmovq\t%rdi, %rax\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS ".L5:\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS "\tjs\t.L5\n" TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS "#APP\n\tnop\n#NO_APP\n" TEST_OF_8 REPORT_OF_8,
		"\tleaq\tx@dtpoff(%rbx), %rdi\n\tmovq\t%rdi, %rax\n" TEST_OF_8 REPORT_OF_8,
		"\tmovq\t%rdi, %rax\n" TEST_OF_8 REPORT_OF_8,
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(rows[i], 0);
}

TEST(report_shared, "a report that is not the branch's alone gets its address as ever")
{
	static const char *const rows[] = {
		/* another jump, a table, debug information */
		GIVEN_ADDRESS TEST_OF_8 REPORT_OF_8 "\tje\t.L9\n",
		GIVEN_ADDRESS TEST_OF_8 REPORT_OF_8 "\t.quad\t.L9\n",
		GIVEN_ADDRESS TEST_OF_8 REPORT_OF_8 "\t.long\t.L9-.L4\n",
		GIVEN_ADDRESS TEST_OF_8 REPORT_OF_8 "\t.section\t.x\n\t.uleb128 .L9-.LFB1\n",
		GIVEN_ADDRESS TEST_OF_8 REPORT_OF_8 "\tleaq\t.L9(%rip), %rax\n",
		"\tjmp\t.L9\n" GIVEN_ADDRESS TEST_OF_8 REPORT_OF_8,
		GIVEN_ADDRESS TEST_OF_8 REPORT_OF_8 "#APP\n\tjmp .L9;\n#NO_APP\n",
		/* from above */
		GIVEN_ADDRESS PLACE_AND_TEST
		"\tjne\t.L9\n.L2:\n\tmovq\t8(%rbx), %rdx\n" REPORT_OF_8,
		GIVEN_ADDRESS PLACE_AND_TEST "\tjne\t.L9\n.L2:\n" REPORT_OF_8,
		GIVEN_ADDRESS PLACE_AND_TEST "\tjne\t.L9\n.L2:\n\tjs\t.L7\n" REPORT_OF_8,
		GIVEN_ADDRESS TEST_OF_8 ".L8:\n" REPORT_OF_8,
		GIVEN_ADDRESS TEST_OF_8 "\t.section\t.text.unlikely\n" REPORT_OF_8,
		/* behind the branch: a label of others */
		GIVEN_ADDRESS PLACE_AND_TEST "\tje\t.L2\n.L9:\n" CALL ".L2:\n",
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(rows[i], 0);
}

TEST(report_else, "code that is not a report, or goes on elsewhere, gets its address as ever")
{
	static const char *const rows[] = {
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n\tcall\tabort@PLT\n\tjmp\t.L2\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n\tjmp\t.L2\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n" CALL CALL "\tjmp\t.L2\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n\tcall\tf\n" CALL "\tjmp\t.L2\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n" CALL "\tcall\tf\n\tjmp\t.L2\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n" CALL "\tjmp\t.L3\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n" CALL ".L8:\n\tjmp\t.L2\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n" CALL "\tje\t.L3\n\tjmp\t.L2\n",
		GIVEN_ADDRESS TEST_OF_8 ".L9:\n" CALL,
		GIVEN_ADDRESS TEST_OF_8,
		GIVEN_ADDRESS PLACE_AND_TEST "\tjne\t.L9\n\tret\n" REPORT_OF_8,
		GIVEN_ADDRESS PLACE_AND_TEST "\tjne\t.L9\n.L3:\n\tret\n" REPORT_OF_8,
		GIVEN_ADDRESS PLACE_AND_TEST "\tjs\t.L9\n.L2:\n\tret\n" REPORT_OF_8,
		GIVEN_ADDRESS PLACE_AND_TEST "\tje\t.L2\n" CALL ".L3:\n",
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(rows[i], 0);
}

TEST(other_test, "what is not a test of the address's shadow stays as it is")
{
#define BEHIND "\tjne\t.L9\n.L2:\n\tret\n" REPORT_OF_8
	static const char *const rows[] = {
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tcmpb\t$1, SHADOW(%rax)\n" BEHIND,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tcmpb\t$0, 8(%rax)\n" BEHIND,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tcmpb\t$0, SHADOW(%rax,%rsi)\n" BEHIND,
		"\tleaq\t8(%rbx), %rdi\n\tmovq\t%rdi, %r8\n\tshrq\t$3, %r8\n\tcmpb\t$0, "
		"SHADOW(%r8,%rsi)\n" BEHIND,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tcmpl\t$0, SHADOW(%rax)\n" BEHIND,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tmovl\tSHADOW(%rax), %edx\n\ttestb\t%dl, "
			      "%dl\n" BEHIND,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\t8(%rax), %edx\n\ttestb\t%dl, "
			      "%dl\n" BEHIND,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %edx\n\tincl\t%edx\n"
			      "\ttestb\t%dl, %dl\n" BEHIND,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tmovzbl\tSHADOW(%rax), %edx\n\ttestb\t%dl, "
			      "%cl\n" BEHIND,
		GIVEN_ADDRESS PLACE_AND_TEST "\tmovl\t%ecx, %edx\n" BEHIND,
		/* another place */
		GIVEN_ADDRESS "\tshrq\t$4, %rax\n\tcmpb\t$0, SHADOW(%rax)\n" BEHIND,
		GIVEN_ADDRESS "\tshrl\t$3, %eax\n\tcmpb\t$0, SHADOW(%rax)\n" BEHIND,
		GIVEN_ADDRESS "\tshrq\t$3, (%rax)\n\tcmpb\t$0, SHADOW(%rax)\n" BEHIND,
		GIVEN_ADDRESS "\tincq\t%rax\n" PLACE_AND_TEST BEHIND,
		GIVEN_ADDRESS "\tshrq\t$3, %rax\n\tincq\t%rax\n\tcmpb\t$0, SHADOW(%rax)\n" BEHIND,
		GIVEN_ADDRESS "\tcmpb\t$0, SHADOW(%rax)\n" BEHIND,
		"\tleaq\t8(%rbx), %rdi\n\tmovl\t%edi, %eax\n" PLACE_AND_TEST BEHIND,
		"\tleaq\t8(%rbx), %rdi\n\tmovq\t(%rdi), %rax\n" PLACE_AND_TEST BEHIND,
		"\tleaq\t8(%rbx), %rdi\n\tmovq\t%rax, %rdi\n" PLACE_AND_TEST BEHIND,
		"\tleaq\t8(%rbx), %rdi\n\tmovq\t%rdi, (%rax)\n" PLACE_AND_TEST BEHIND,
		"\tleaq\t8(%rbx), %rsi\t# %rdi\n\tmovq\t%rdi, %rax\n" PLACE_AND_TEST BEHIND,
		"\tleaq\t8(%rbx), %rax\n\tmovq\t%rax, %rax\n" PLACE_AND_TEST BEHIND,
	};

	for (u32 i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(rows[i], 0);
#undef BEHIND
}

static void cut_anywhere(const char *whole)
{
	struct strbuf given = {0}, unused = {0};

	read_row(whole, &given, &unused);
	for (u64 cut = 0; cut < given.count; cut++) {
		struct strbuf shorter = {0};
		u64 count;

		CHECK_EQ(checks_shorten(given.text, cut, &shorter, &count, NULL), 0);
		CHECK(count <= 1);
		CHECK(count || (shorter.count == cut &&
				memcmp(strbuf_text(&shorter), given.text, cut) == 0));
		strbuf_release(&shorter);
	}
	strbuf_release(&given);
	strbuf_release(&unused);
}

TEST(edges, "texts that end anywhere, or say nothing, come back as they are")
{
	static const char *const wholes[] = {
		"\tmovzbl\tSHADOW(%rax), %edx\n\tcmpb\t%dl, "
		"%al\n\tjl\t.L2\n\ttestb\t%dl, %dl\n\tjne\t.L9\n.L2:\n" REPORT,
		GIVEN_ADDRESS TEST_OF_8 REPORT_OF_8,
	};
	static const char *const texts[] = {"",
					    "\n",
					    ":\n",
					    ".L:\n",
					    ".L99999999999999999999:\n",
					    "%\n",
					    "\tcmpb\t%\n",
					    "\tcmpb\n\tjl\n\ttestb\n\tjne\n"};
	for (u32 i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		check_row(texts[i], 0);
	for (u32 i = 0; i < sizeof(wholes) / sizeof(*wholes); i++)
		cut_anywhere(wholes[i]);
}
