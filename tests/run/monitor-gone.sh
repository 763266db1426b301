#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# monitor-gone.sh killed|stopped|starved   the program runs to its normal end when the monitor is killed, or
# does not move any more; a stopped monitor's trace then says what is missing. Where the machine has no time for either
# of them, nothing is.
. "$(dirname "$0")/lib.sh"

how=$1
export HEAPWISE_EXPECT=$work/expected
"$HEAPWISE" run --no-symbols -o "$work/trace" -- "$HEAPWISE_TARGETS/threads" 4 800000 \
	>"$work/stdout" 2>"$work/stderr" &
monitor=$!
program=$(child_of "$monitor")
until [ -s "$work/expected" ]; do
	sleep 0.01
done
sleep 0.1
# has_begun   the trace has more than its header
has_begun() { [ "$(wc -c <"$work/trace")" -gt 32 ]; }
if [ "$how" = killed ]; then
	until_true has_begun
	kill -KILL "$monitor"
else
	kill -STOP "$monitor"
fi
if [ "$how" = starved ]; then
	began=${EPOCHREALTIME/./}
	sleep 0.3 # its rings are full, and it waits
	kill -STOP "$program"
	waited=$((${EPOCHREALTIME/./} - began))
	! grep -q '^State:.*Z' "/proc/$program/status" || fail "the program ended before"
	sleep 3
	began=${EPOCHREALTIME/./}
	kill -CONT "$program"
	sleep 0.2
	kill -CONT "$monitor"
	waited=$((waited + ${EPOCHREALTIME/./} - began))
	[ "$waited" -lt 1500000 ] || { kill "$program"; wait "$monitor"; skip "this shell got no time, either"; }
	wait "$monitor"
	equal "exit status" "$?" 0
	equal "lost events" "$(field "$work/trace" .lost_events)" 0
	equal "complete" "$(field "$work/trace" .complete)" true
	at_least "allocations" "$(field "$work/trace" .allocations)" "$(expected_total "$work/expected" allocations)"
	finish
fi
for ((i = 0; i < 600; i++)); do
	kill -0 "$program" 2>/dev/null || break
	# A child of the stopped monitor stays as a zombie.
	! grep -q '^State:.*Z' "/proc/$program/status" 2>/dev/null || break
	sleep 0.1
done
# Its last words are in the file when it has come to its normal end.
equal "allocations of the program" "$(expected_total "$work/expected" allocations)" 3200000

if [ "$how" = stopped ]; then
	kill -CONT "$monitor"
	wait "$monitor"
	equal "exit status" "$?" 0
	lost=$(field "$work/trace" .lost_events)
	at_least "lost events" "$lost" 1
	equal "complete" "$(field "$work/trace" .complete)" false
	says "$work/stderr" "lost|dropped"
	echo "$lost events lost, and told"
else
	wait "$monitor" 2>/dev/null
	# What was flushed before is readable.
	"$HEAPWISE" report --no-symbols --format json "$work/trace" >"$work/json" 2>"$work/errors"
	equal "status of report" "$?" 0
	equal "complete" "$(jq .complete "$work/json")" false
fi
finish
