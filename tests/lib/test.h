/* SPDX-License-Identifier: MIT
 * The test harness: every TEST runs in a child process of its own, with a timeout, so that a crash
 * or a hang is one failed line and not the end of the run. test.c provides main().
 *
 *	TEST(empty_vector, "an empty vector has no elements")
 *	{
 *		CHECK_EQ(vector_count(&v), 0);
 *	}
 *
 * A failed check prints where and what, and the test goes on: one run shows all that is wrong.
 * FAIL ends the test at once, for when nothing that follows would make sense. */
#ifndef LIB_TEST_H
#define LIB_TEST_H

#include <stdbool.h>
#include <stdint.h>

struct test {
	const char *name;     /* the identifier */
	const char *sentence; /* what does not hold when it fails */
	const char *file;
	int line;
	void (*run)(void);
	struct test *next;
};

#define TEST(identifier, text)                                                                     \
	static void test_run_##identifier(void);                                                   \
	__attribute__((constructor)) static void test_register_##identifier(void)                  \
	{                                                                                          \
		static struct test self = {#identifier, (text), __FILE__, __LINE__,                \
					   test_run_##identifier, 0};                              \
		test_register(&self);                                                              \
	}                                                                                          \
	static void test_run_##identifier(void)

#define CHECK(condition)                                                                           \
	test_check(!!(condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_EQ(got, want)                                                                        \
	test_check_eq((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got)
#define CHECK_STR(got, want) test_check_str((got), (want), __FILE__, __LINE__, #got)
#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

/* What the macros call; each returns whether it held. */
void test_register(struct test *test);
bool test_check(bool held, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool test_check_eq(uint64_t got, uint64_t want, const char *file, int line, const char *text);
bool test_check_str(const char *got, const char *want, const char *file, int line,
		    const char *text);
void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));

/* The test cannot be run on this machine: counted apart, never as passed. The reason is the machine itself, or "needs
 * package NAME", which is a failure where all packages could be installed (tools/check-skips). */
void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* An empty folder that lives as long as the test: removed by the harness, also after a crash. */
const char *test_folder(void);

/* How the executable was called, and its folder: where its sibling programs are. */
const char *test_program_folder(void);

#endif
