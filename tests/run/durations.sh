#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The time spent in the allocator is that of the real calls: neither reading the clock nor the
# recorder's own work inside operator new and delete is in it.
. "$(dirname "$0")/lib.sh"

record "$work/trace" -- "$HEAPWISE_TARGETS/excessive" churn
equal "exit status" "$status" 0
at_least "timed calls" "$(field "$work/trace" .allocator_samples)" 100
equal "less than two thirds of a run that does little else" "$(field "$work/trace" '.allocator_share > 0 and .allocator_share < 0.67')" true
finish
