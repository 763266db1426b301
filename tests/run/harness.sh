#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# harness.sh COMPILER   tests/lib itself: a failed check, a crash, a hang and a skip are each told as such.
. "$(dirname "$0")/lib.sh"
lib=$(cd "$(dirname "$0")/.." && pwd)

cat >"$work/sample.c" <<'END'
#include "lib/test.h"
#include <stdlib.h>
#include <unistd.h>
TEST(good, "it holds") { CHECK(1); CHECK_EQ(2, 2); CHECK_STR("a", "a"); }
TEST(equal, "numbers are equal") { CHECK_EQ(1, 2); }
TEST(same, "strings are the same") { CHECK_STR("a", "b"); }
TEST(stop, "it stops") { FAIL("reason %d", 5); }
TEST(crash, "it lives") { abort(); }
TEST(hang, "it ends") { for (;;) pause(); }
TEST(none, "it can be run") { test_skip("no such machine"); }
END
"$1" -I"$lib" "$work/sample.c" "$lib/lib/test.c" -o "$work/sample" || fail "does not compile"
"$work/sample" --timeout 1 >"$work/out" 2>&1
equal "status" "$?" 1
says "$work/out" "^ok 1 - it holds"
says "$work/out" "^not ok 2 - numbers are equal"
says "$work/out" "1 is 1 .*, not 2"
says "$work/out" "^not ok 3 - strings are the same"
says "$work/out" "reason 5"
says "$work/out" "^not ok 5 - it lives # Aborted"
says "$work/out" "^not ok 6 - it ends # timeout"
says "$work/out" "^ok 7 - it can be run # SKIP"
says "$work/out" "1 passed, 5 failed, 1 skipped"
"$work/sample" good >/dev/null 2>&1
equal "status of the good one" "$?" 0
"$work/sample" none >/dev/null 2>&1
equal "status of the skipped one" "$?" 77
"$work/sample" nonsense >/dev/null 2>&1
equal "status without a match" "$?" 2

# With AddressSanitizer a leak is a failure of its test, and LeakSanitizer searches the memory of no other.
cat >"$work/leaks.c" <<'END'
#include "lib/test.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static char *volatile last;
static __attribute__((noinline)) void lose_memory(size_t bytes)
{
	for (int i = 0; i < 16; i++)
		last = malloc(bytes);
	last = NULL;
}
static void *lose_in_thread(void *bytes) { lose_memory(*(size_t *)bytes); return NULL; }
static void *free_in_thread(void *bytes) { free(malloc(*(size_t *)bytes)); return NULL; }
static void run_thread(void *(*run)(void *), size_t bytes)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run, &bytes) == 0 && pthread_join(thread, NULL) == 0);
}
TEST(freed, "memory is freed") { printf("# a line\n"); free(malloc(100)); }
TEST(lost, "no memory is lost") { lose_memory(100); }
TEST(lost_nothing, "not even blocks of no bytes are lost") { lose_memory(0); }
TEST(thread, "memory of a thread is freed") { run_thread(free_in_thread, 100); }
TEST(lost_in_thread, "no memory of a thread is lost") { run_thread(lose_in_thread, 100); }
TEST(freed_too_early, "memory is used before it is freed") { last = malloc(1); free(last); *last = 1; }
TEST(freed_again, "memory is freed as well") { free(malloc(100)); }
END
"$1" -g -fsanitize=address -pthread -I"$lib" "$work/leaks.c" "$lib/lib/test.c" -o "$work/leaks" ||
	fail "does not compile with AddressSanitizer"
# searches   how often LeakSanitizer stopped a process to search its memory
searches() { grep -c "Processing thread" "$work/out"; }
LSAN_OPTIONS=log_threads=1 "$work/leaks" >"$work/out" 2>&1
equal "status with leaks" "$?" 1
says "$work/out" "^ok 1 - memory is freed$"
says "$work/out" "^not ok 2 - no memory is lost # exit status"
says "$work/out" "in lose_memory .*leaks.c:"
says "$work/out" "LeakSanitizer: detected memory leaks"
says "$work/out" "^not ok 3 - not even blocks"
says "$work/out" "^ok 4 - memory of a thread is freed$"
says "$work/out" "^not ok 5 - no memory of a thread is lost # exit status"
says "$work/out" "heap-use-after-free"
says "$work/out" "^not ok 6 - memory is used before it is freed # exit status"
says "$work/out" "^ok 7 - memory is freed as well"
equal "searches for leaks with three tests that leak" "$(searches)" 3
LSAN_OPTIONS=log_threads=1 "$work/leaks" "memory is freed" "of a thread is freed" >"$work/out" 2>&1
equal "status without leaks" "$?" 0
equal "searches for leaks without one" "$(searches)" 0
finish
