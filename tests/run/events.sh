#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# events.sh all|own TARGET [ARGUMENT...]   records a target that says each event (expect.h) and
# compares them with the dump, one by one and in order: all events between its two marks, or its own
# only (size 5 above a multiple of 16) where libc allocates in between.
. "$(dirname "$0")/lib.sh"

which=$1
target=$2
shift 2
export HEAPWISE_EXPECT=$work/expected
record "$work/trace" -- "$HEAPWISE_TARGETS/$target" "$@"
equal "exit status" "$status" 0
whole "$work/trace"
expected "$work/expected" | grep -v '^total' >"$work/wanted"
failed=$(expected_total "$work/expected" failed_calls)
[ -z "$failed" ] || equal "failed calls" "$(field "$work/trace" .failed_calls)" "$failed"
events "$work/trace" | awk -v which="$which" '
	$3 == 1000006 { exit }
	inside > 1 && (which == "all" || $3 % 16 == 5) { print $1, $2, $3 }
	$3 == 1000003 { inside++ }' >"$work/got"
[ -s "$work/wanted" ] || fail "the target said nothing"
if ! diff "$work/wanted" "$work/got" >"$work/difference"; then
	fail "events differ (< expected, > recorded)"
	head -20 "$work/difference"
fi
echo "$(wc -l <"$work/wanted") events"
finish
