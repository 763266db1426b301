#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# faults.sh CASE   counters of what went wrong rise when it does, reach the report, and are told in words.
# (ring_full: monitor-gone.sh stopped; nested_full: totals.sh lossy handlers.)
. "$(dirname "$0")/lib.sh"

# told NAME LEAST TEXT   the fault has at least this count, and report has a sentence on it
told()
{
	at_least "fault $1" "$(field "$work/trace" ".faults.$1")" "$2"
	"$HEAPWISE" report --no-symbols "$work/trace" >"$work/report" 2>&1
	says "$work/report" "$3"
}

case_stack_cut()
{
	record "$work/trace" --max-depth 50 -- "$HEAPWISE_TARGETS/../unwind/deep.gcc-O2"
	equal "exit status" "$status" 0
	told stack_cut 100 "cut"
	whole "$work/trace"
}

case_sample_full()
{
	record "$work/trace" --sample 16 -- "$HEAPWISE_TARGETS/sampled" 1200000
	equal "exit status" "$status" 0
	told sample_full 1 "sample"
	equal "complete" "$(field "$work/trace" .complete)" false
}

# The checking recorder in a whole run, instead of in a session of its own.
case_checked()
{
	record "$work/trace" --recorder "$HEAPWISE_BUILD_DIR/libheapwise-check.so" -- \
		"$HEAPWISE_TARGETS/containers" 500
	equal "exit status" "$status" 0
	at_least "stacks compared" "$(field "$work/trace" .faults.checked)" \
		"$(field "$work/trace" .allocations)"
	equal "stacks that differ" "$(field "$work/trace" .faults.check_failed)" 0
	whole "$work/trace"
}

run_case "$1"
finish
