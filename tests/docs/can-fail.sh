#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# can-fail.sh   blocks.py accepts a page whose blocks do what they say, and finds each page where one does not.
. "$(dirname "$0")/../run/lib.sh"
blocks=$(dirname "$0")/blocks.py

# page NAME   from stdin, with three backquotes for @@@
page() { sed 's/^@@@/```/' >"$work/$1.md"; }

# finds TEXT   the page in stdin is wrong, and the check says so
finds()
{
	page wrong
	"$blocks" "$work/wrong.md" >"$work/out" 2>&1 && { fail "passes, instead of: $1"; cat "$work/wrong.md"; }
	grep -qF -- "$1" "$work/out" || { fail "does not say: $1"; cat "$work/out"; }
}

page right <<'END'
<!-- file: names -->
@@@
one
two
@@@
@@@diff
--- a/names
+++ b/names
@@ -1,2 +1,2 @@
 one
-two
+three
@@@
@@@console
$ cat names
one
three
$ printf 'a 1,000 B in 3 ms\nb\nc\n'
a 1,040 B in 2.5 s
…
c
$ cd examples && ls tutorial/orders.c \
> 2>/dev/null
tutorial/orders.c
$ printf 'at /x/y.c:12  now in f.77.c, 5 ms\n'
at …/y.c:13 now in f.….c, 1.2 s
$ echo number 5
number 5
@@@
<!-- numbers vary -->
@@@console
$ echo 5 of any number
9 of any number
@@@
<!-- status: 1 -->
@@@console
$ false
@@@
<!-- not run: it ends the machine -->
@@@
shutdown
@@@
END
"$blocks" "$work/right.md" >"$work/out" 2>&1 || { fail "a right page:"; cat "$work/out"; }
has_line=$(grep -c ': 7 commands, 0 wrong' "$work/out")
[ "$has_line" = 1 ] || { fail "not 7 commands"; cat "$work/out"; }

printf '@@@console\n$ echo one\ntwo\n@@@\n' | finds "expected: two"
printf '@@@console\n$ echo one two\none\n@@@\n' | finds "expected: one"
printf '@@@console\n$ printf "one\\ntwo\\n"\none\n@@@\n' | finds "(nothing more)"
printf '@@@console\n$ echo one\none\ntwo\n@@@\n' | finds "expected: two"
printf '@@@console\n$ printf "one\\ntwo\\n"\n…\none\n@@@\n' | finds "expected: one"
printf '@@@console\n$ echo 1,000 chunks\n1,200 chunks\n@@@\n' | finds "expected: 1,200"
printf '@@@console\n$ echo 1.0 MiB\n1.0 KiB\n@@@\n' | finds "expected: 1.0 KiB"
printf '<!-- numbers vary -->\n@@@console\n$ echo 1 chunk\n2 chunks\n@@@\n' | finds "expected: 2 chunks"
printf '@@@console\n$ false\n@@@\n' | finds "ended with 1"
printf '<!-- status: 1 -->\n@@@console\n$ true\n@@@\n' | finds "ended with 0"
printf '@@@sh\nls\n@@@\n@@@console\n$ true\n@@@\n' | finds "neither console nor diff"
printf '@@@diff\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n@@@\n@@@console\n$ true\n@@@\n' | finds "ended with"
printf 'No block at all.\n' | finds "0 commands"

# What was printed takes the place of what differs, and nothing else changes.
printf 'Before.\n@@@console\n$ printf "new\\nx y z\\n"\nold\nx … z\n$ printf "a\\nb\\nc\\n"\na\n…\nc\n@@@\nAfter.\n' | page old
printf 'Before.\n@@@console\n$ printf "new\\nx y z\\n"\nnew\nx … z\n$ printf "a\\nb\\nc\\n"\na\n…\nc\n@@@\nAfter.\n' | page new
"$blocks" --update "$work/old.md" >/dev/null
cmp "$work/old.md" "$work/new.md" || fail "--update"
finish
