#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# totals.sh [lossy] [--OPTION...] TARGET [ARGUMENT...]   records a target that says its totals (expect.h)
# and compares them with the trace: its events are those whose size is 5 above a multiple of 16.
# With `lossy` events may be missing, if as many are told as lost; for targets of one thread.
. "$(dirname "$0")/lib.sh"

lossy=
[ "$1" != lossy ] || { lossy=yes; shift; }
options=()
while [[ ${1:-} == --* ]]; do
	options+=("$1")
	shift
done
target=$1
shift

export HEAPWISE_EXPECT=$work/expected
# No descriptors but 0, 1 and 2: one target looks at the numbers it gets.
record "$work/trace" "${options[@]}" -- "$HEAPWISE_TARGETS/$target" "$@" \
	3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
equal "exit status" "$status" 0
cat "$work/stderr"
events "$work/trace" >"$work/events"
if [ -n "$lossy" ]; then
	# Two frames of the expectation, of two events each, come on top; implied frees are no events.
	wanted=$(($(expected_total "$work/expected" allocations) + $(expected_total "$work/expected" frees) + 4))
	recorded=$(grep -vc implied "$work/events")
	lost=$(field "$work/trace" .lost_events)
	echo "$recorded events, $lost lost"
	equal "events and losses" $((recorded + lost)) "$wanted"
	finish
fi
whole "$work/trace"
awk '
	$3 % 16 != 5 { next }
	'"$is_free"' { frees++; next }
	{ allocations++; bytes += $3 }
	END { printf "%d %d %d\n", allocations, frees, bytes }' "$work/events" >"$work/got"
read -r allocations frees bytes <"$work/got"
echo "$allocations allocations, $frees frees, $bytes bytes"
equal "allocations" "$allocations" "$(expected_total "$work/expected" allocations)"
equal "frees" "$frees" "$(expected_total "$work/expected" frees)"
equal "bytes" "$bytes" "$(expected_total "$work/expected" bytes)"
finish
