#!/bin/bash
# SPDX-License-Identifier: MIT
# heapwise leaks as a user meets it: formats, kinds, suppressions, --fail-on, broken traces, folders.
. "$(dirname "$0")/../run/lib.sh"
needs jq

record "$work/trace.hwt" -- jq -n '[range(3000) | tostring] | length' >/dev/null
equal "exit status" "$status" 0
leaks=("$HEAPWISE" leaks --no-symbols)
kept=$(field "$work/trace.hwt" .kept.chunks)

# What a script may rely on.
"${leaks[@]}" --format json "$work/trace.hwt" >"$work/json"
equal "status of json" "$?" 0
while read -r path type; do
	equal "type of $path" "$(jq -r "$path | type" "$work/json")" "$type"
done <<'ROWS'
.program string
.scan.state string
.unknown.bytes number
.unknown.chunks number
.suppressed.bytes number
.suppressed.chunks number
.chains array
.suppressions array
.growth array
.misuse array
.growing_points number
.misuse_certain number
.misuse_possible number
.caveats array
.schema.leaks array
ROWS

# Every kept chunk is in one class or suppressed, and the chains add up to the classes.
sum='[.lost, .indirect, .possible, .reachable, .unknown, .suppressed | .chunks // 0] | add'
"${leaks[@]}" --kinds all --top 0 --format json "$work/trace.hwt" >"$work/all"
equal "chunks of all classes" "$(jq "$sum" "$work/all")" "$kept"
equal "chunks of the chains" "$(jq '([.chains[].chunks] | add // 0) + .suppressed.chunks' "$work/all")" "$kept"

# A program of which all is known: three chains of 1, 2 and 3 chunks.
"$HEAPWISE" run -q -o "$work/known" -- "$HEAPWISE_TARGETS/keeps" 2>"$work/stderr"
equal "status of keeps" "$?" 0
known() { "$HEAPWISE" leaks --kinds all --format json "$@" "$work/known"; }
equal "chains" "$(known | jq -c '[.chains[] | [.bytes, .chunks, .stack[0].function]]')" \
	'[[600,3,"keep_three"],[200,2,"keep_two"],[50,1,"keep_one"]]'
equal "top" "$(known --top 1 | jq '.chains | length')" 1
equal "depth" "$(known --depth 1 | jq '.chains[0].stack | length')" 1
"$HEAPWISE" leaks --kinds all "$work/known" >"$work/text"
says "$work/text" "keep_three +.*keeps\.c:[0-9]+"
says "$work/text" "Never freed, by call stack"
"$HEAPWISE" leaks --kinds all --format csv "$work/known" >"$work/csv"
says "$work/csv" '^leak_kind,bytes,chunks,'
says "$work/csv" '(unknown|lost|reachable),600,3,200,'

# Suppressions: lines of the file, bytes that are left, bytes that are hidden.
while IFS='|' read -r lines left hidden; do
	printf "$lines" >"$work/file"
	known --suppressions "$work/file" >"$work/json"
	equal "left with '$lines'" "$(jq '[.chains[].bytes] | add // 0' "$work/json")" "$left"
	equal "hidden with '$lines'" "$(jq '.suppressed.bytes' "$work/json")" "$hidden"
	equal "hidden by each with '$lines'" "$(jq '[.suppressions[].bytes] | add // 0' "$work/json")" "$hidden"
done <<'ROWS'
# nothing\n|850|0
leak:^keep_two$\n|650|200
leak:keep_t*\n|50|800
leak:main\n|0|850
leak:*/keeps.c\n|0|850
leak:keep_one\nleak:keep_two|600|250
ROWS
printf 'leak:keep_one\n' >"$work/one"
printf 'leak:keep_two\n' >"$work/two"
equal "hidden by two files" "$(known --suppressions "$work/one" --suppressions "$work/two" | jq -c '[.suppressed.bytes, [.suppressions[].pattern]]')" \
	'[250,["keep_one","keep_two"]]'
printf 'leak:keep_one\nrace:something\n' >"$work/bad"
known --suppressions "$work/bad" >"$work/stdout" 2>"$work/stderr"
equal "status with a bad suppression" "$?" 3
says "$work/stderr" "bad:2: invalid suppression 'race:something'"
[ ! -s "$work/stdout" ] || fail "a bad suppression prints a result"
known --suppressions /no/such/file 2>"$work/stderr" >/dev/null
equal "status without the file" "$?" 3
says "$work/stderr" "/no/such/file"

# Mistakes: words, what stderr says.
while IFS='|' read -r words text; do
	"$HEAPWISE" leaks $words >"$work/stdout" 2>"$work/stderr"
	equal "status of '$words'" "$?" 2
	says "$work/stderr" "$text"
	[ ! -s "$work/stdout" ] || fail "'$words' prints on stdout"
done <<'ROWS'
|no FILE given
a b|expected one FILE
--kinds lots a|--kinds: expected lost.*not 'lots'
--kinds , a|--kinds
--fail-on gain a|--fail-on: expected lost.*not 'gain'
--fail-on lost=much a|expected a size such as 4096 or 64K, not 'much'
--fail-on misuse=3 a|not '3'
--growth-steps 3 a|--growth-steps 16
--growth-trend 101 a|at most 100
--format xml a|must be one of text
ROWS
"$HEAPWISE" leaks /no/such/file 2>"$work/stderr"
equal "status without the trace" "$?" 3
head -c 3000 /dev/urandom >"$work/garbage"
"$HEAPWISE" leaks "$work/garbage" 2>"$work/stderr"
equal "status with garbage" "$?" 3

# What is unknown never fails, and is not passed over in silence.
"$HEAPWISE" run -q -o "$work/killed" -- "$HEAPWISE_TARGETS/keeps" kill 2>/dev/null
"$HEAPWISE" leaks --fail-on lost,possible=1K,indirect "$work/killed" >"$work/text" 2>"$work/stderr"
equal "status with unknown chunks" "$?" 0
says "$work/stderr" "leak kind unknown for 850 B in 6 kept chunks: "
says "$work/text" "! the leak kind of some chunks is unknown: "
"$HEAPWISE" leaks --fail-on growth "$work/known" >/dev/null 2>"$work/stderr"
equal "status of a short run" "$?" 0
says "$work/stderr" "growth not checked: the run was too short"

# Growth: two points, of which one is freed again.
"$HEAPWISE" run -q -o "$work/grows" -- "$HEAPWISE_TARGETS/keeps" grow 2>/dev/null
"$HEAPWISE" leaks --fail-on growth --format json "$work/grows" >"$work/json" 2>"$work/stderr"
equal "status of growth" "$?" 1
says "$work/stderr" "failed: .* of growth at one point"
equal "growing points" "$(jq -c '[.growth[].stack[0].function]' "$work/json")" '["keep_growing"]'
at_least "growth per second" "$(jq '.growth[0].bytes_per_s' "$work/json")" 50000
"$HEAPWISE" leaks --fail-on growth=1G "$work/grows" >/dev/null 2>&1
equal "status of little growth" "$?" 0
"$HEAPWISE" report "$work/grows" >"$work/text"
says "$work/text" "^  growth +1  .*heapwise leaks FILE"

# A folder, an empty program, a trace without end.
mkdir "$work/folder"
cp "$work/known" "$work/folder/a.hwt"
cp "$work/killed" "$work/folder/b.hwt"
equal "traces of a folder" "$("$HEAPWISE" leaks --format json "$work/folder" | jq length)" 2
"$HEAPWISE" run -q -o "$work/empty" -- "$HEAPWISE_TARGETS/empty"
equal "chains of an empty program" "$("$HEAPWISE" leaks --format json "$work/empty" | jq -c .chains)" "[]"
head -c $(($(stat -c %s "$work/trace.hwt") * 2 / 3)) "$work/trace.hwt" >"$work/cut"
"${leaks[@]}" "$work/cut" >"$work/text" 2>"$work/stderr"
status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "status of a cut trace is $status"
finish
