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
finish
