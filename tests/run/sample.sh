#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sample.sh BYTES TARGET   estimates from samples lie within five standard deviations of the truth, both of
# bytes and of allocations; a chunk above the interval is always in. Fails by chance once in a million.
. "$(dirname "$0")/lib.sh"

interval=$1 target=$2
export HEAPWISE_EXPECT=$work/expected
record "$work/trace" --sample "$interval" -- "$HEAPWISE_TARGETS/$target" 200000
equal "exit status" "$status" 0
equal "estimated" "$(field "$work/trace" .estimated)" true
equal "sample_bytes" "$(field "$work/trace" .sample_bytes)" "$interval"
equal "lost_events" "$(field "$work/trace" .lost_events)" 0

# within NAME   a chunk of s bytes is sampled with p = 1 - exp(-s / interval) and weighs 1 / p.
within()
{
	awk -v name="$1" -v interval="$interval" -v truth="$(expected_total "$work/expected" "$1")" \
		-v got="$(field "$work/trace" ".$1")" 'BEGIN {
		count = 200000
		n = split("21 101 517 4005 40005", sizes, " ")
		for (i = 1; i <= n; i++) {
			s = sizes[i]
			p = s >= interval ? 1 : 1 - exp(-s / interval)
			unit = name == "bytes" ? s : 1
			variance += count * unit * unit * (1 - p) / p
			count = int(count / 4) + 1
		}
		sigma = sqrt(variance)
		truth += name == "bytes" ? 1000003 + 1000006 : 2 # the frames of the expectation
		printf "%s: %.0f estimated, %.0f in truth, %.2f sigma off\n", name, got, truth,
			(got - truth) / sigma
		exit !(got > 0 && (got - truth) ^ 2 <= 25 * variance + 1)
	}' || fail "the estimate of $1 is too far off"
}

within bytes
within allocations

# The end of the run says the same, and from how many.
number() { awk -v n="$1" 'BEGIN { printf "%d", n }' | sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta'; }
says "$work/stderr" "^heapwise: about $(number "$(field "$work/trace" .allocations)") allocations \(estimated from a sample of [0-9,]+\), "
kept=$(sed -nE 's/.*; kept .* in ([0-9,]+) chunks?$/\1/p' "$work/stderr")
equal "kept chunks at the end of the run" "$kept" "$(number "$(field "$work/trace" .kept.chunks)")"

# Every second chunk is kept: the ends of those that were sampled are seen, and no others. The frames of the expectation, 2 MB, may
# be kept or not.
awk -v interval="$interval" -v got="$(field "$work/trace" .kept.bytes)" 'BEGIN {
	count = 200000
	n = split("21 101 517 4005 40005", sizes, " ")
	for (i = 1; i <= n; i++) {
		s = sizes[i]
		p = s >= interval ? 1 : 1 - exp(-s / interval)
		truth += s * int((count + 1) / 2)
		variance += count / 2 * s * s * (1 - p) / p
		count = int(count / 4) + 1
	}
	printf "kept: %.0f estimated, %.0f in truth\n", got, truth
	exit !(got >= truth - 5 * sqrt(variance) - 1 && got <= truth + 5 * sqrt(variance) + 2000009)
}' || fail "the estimate of what is kept is too far off"
equal "failed calls" "$(field "$work/trace" .failed_calls)" "$(expected_total "$work/expected" failed_calls)"
equal "unknown frees" "$(field "$work/trace" .unknown_frees)" 0
at_most "events in the trace" "$(events "$work/trace" | wc -l)" 200000
finish
