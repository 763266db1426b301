#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# status.sh   exit status, signals, output and standard input of the program pass through; a program
# that allocates nothing has a trace without one allocation, so none of ours is in it.
. "$(dirname "$0")/lib.sh"

record "$work/empty" -- "$HEAPWISE_TARGETS/empty"
equal "empty: exit status" "$status" 7
whole "$work/empty"
equal "empty: allocations" "$(field "$work/empty" .allocations)" 0
equal "empty: frees" "$(field "$work/empty" .frees)" 0
equal "empty: end" "$(field "$work/empty" .end.value)" 7

# A child's end, too, although its parent waits for it. Before Linux 6.15 that may be unknown.
"$HEAPWISE" run --no-symbols --children -o "$work/ends" -- sh -c '
	sh -c "sleep 0.4; exit 9"; sh -c "sleep 0.4; kill -SEGV \$\$"; true' 2>"$work/stderr"
equal "children: status" "$?" 0
for trace in "$work"/ends/sh.*.hwt; do
	field "$trace" '"\(.command | split("sleep 0.4; ")[1:] | join("")) is \(.end.how) \(.end.value)"'
done | sort >"$work/ends.text"
unknown="unknown null"
[ "$(printf '6.15\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.15 ] && unknown=never
grep -qE "^exit 9' is (exited 9|$unknown)$" "$work/ends.text" || fail "exited: $(cat "$work/ends.text")"
grep -qE "^kill -SEGV .* is (killed 11|$unknown)$" "$work/ends.text" || fail "killed: $(cat "$work/ends.text")"

for signal in TERM SEGV KILL; do
	record "$work/$signal" -- sh -c "kill -$signal \$\$"
	equal "$signal: status" "$status" $((128 + $(kill -l $signal)))
	[ -s "$work/$signal" ] || fail "$signal: no trace"
done

echo "in" | "$HEAPWISE" run --quiet --no-symbols -o "$work/cat" -- sh -c 'cat; echo err >&2' \
	>"$work/stdout" 2>"$work/err"
equal "stdout" "$(cat "$work/stdout")" "in"
equal "stderr with --quiet" "$(cat "$work/err")" "err"

# The interrupt key goes to the whole group: the program ends, the trace stays. (A shell's background
# jobs ignore SIGINT: undone here.)
env --default-signal=INT setsid "$HEAPWISE" run --no-symbols -o "$work/int" -- sleep 30 2>"$work/stderr" &
group=$!
child_of "$group" >/dev/null
sleep 0.2
kill -INT -- "-$group"
wait "$group"
equal "interrupt: status" "$?" 130
equal "interrupt: complete" "$(field "$work/int" .complete)" true

# A SIGTERM for heapwise alone is passed on.
"$HEAPWISE" run --no-symbols -o "$work/term" -- sleep 30 2>"$work/stderr" &
monitor=$!
child_of "$monitor" >/dev/null
sleep 0.2
kill -TERM "$monitor"
wait "$monitor"
equal "terminate: status" "$?" 143
equal "terminate: complete" "$(field "$work/term" .complete)" true
finish
