#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The time spent in the allocator is that of the real calls: neither reading the clock nor the
# recorder's own work inside operator new and delete is in it.
. "$(dirname "$0")/lib.sh"

record "$work/trace" -- "$HEAPWISE_TARGETS/excessive" churn
equal "exit status" "$status" 0
at_least "timed calls" "$(field "$work/trace" .allocator_samples)" 100
equal "less than two thirds of a run that does little else" "$(field "$work/trace" '.allocator_share > 0 and .allocator_share < 0.67')" true

# A sample has more of the calls for large blocks, which take longer: they count for no more than they are.
record "$work/exact" -- "$HEAPWISE_TARGETS/timed"
exact=$(field "$work/exact" .allocator_time_ns)
for interval in 4K 16K 64K; do
	record "$work/$interval" --sample "$interval" -- "$HEAPWISE_TARGETS/timed"
	sampled=$(field "$work/$interval" .allocator_time_ns)
	at_most "with --sample $interval: $sampled ns; of $exact" "$sampled" $((exact * 2))
	at_least "with --sample $interval: $sampled ns; of $exact" "$sampled" $((exact / 2))
done
finish
