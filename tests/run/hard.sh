#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hard.sh CASE   what once broke the recorder: the program ends as it does alone, and the trace is right.
. "$(dirname "$0")/lib.sh"

case=$1
target=$HEAPWISE_TARGETS/hard

# count KIND SIZE   events of this kind and size
count()
{
	events "$work/trace" | awk -v kind="$1" -v size="$2" '$1 == kind && $3 == size { n++ } END { print n + 0 }'
}

case $case in
plugins)
	record "$work/trace" -- "$HEAPWISE_TARGETS/plugins" "$HEAPWISE_TARGETS/plugin-a.so" "$HEAPWISE_TARGETS/plugin-b.so"
	equal "exit status" "$status" 0
	equal "new[] of 40 bytes" "$(count new_array 40)" 2
	whole "$work/trace"
	;;
refused-filter)
	record "$work/trace" -- "$HEAPWISE_TARGETS/refused_filter"
	equal "exit status" "$status" 0
	equal "malloc of 1,237 bytes in threads" "$(count malloc 1237)" 20
	whole "$work/trace"
	;;
handler-retries)
	record "$work/trace" -- "$target" "$case"
	equal "exit status" "$status" 0
	equal "new of 200 MiB" "$(count new 209715200)" 1
	equal "malloc of 200 MiB" "$(count malloc 209715200)" 0
	at_most "peak" "$(field "$work/trace" .peak.bytes)" 315000000
	whole "$work/trace"
	;;
sleepers)
	record "$work/trace" -- "$target" "$case"
	equal "exit status" "$status" 0
	"$HEAPWISE" trace dump "$work/trace" | awk '$5 == 1000 && $3 == "malloc" { born[$6] = $1 }
		$5 == 1000 && $3 == "free" { n++; if ($1 - born[$6] < 2900000) short++ }
		END { print n + 0, short + 0 }' >"$work/lives"
	equal "blocks that slept, and those of them with a life below 2.9 ms" "$(cat "$work/lives")" "100 0"
	;;
fork-in-handler)
	record "$work/trace" -- "$target" "$case" >"$work/count"
	equal "exit status" "$status" 0
	# The hook that a fork interrupts runs to its end in both processes, in one memory: one record
	# of each fork may be the child's copy.
	allocated=$(count malloc 4242)
	at_least "allocations" "$allocated" "$(($(cat "$work/count") - 30))"
	at_most "allocations" "$allocated" "$(($(cat "$work/count") + 30))"
	equal "events dropped because a ring stayed full" "$(field "$work/trace" '.faults.ring_full // 0')" 0
	;;
pause-storm)
	record "$work/trace" --children -- "$target" "$case"
	equal "exit status" "$status" 0
	mv "$work/trace/"*.hwt "$work/one" && mv "$work/one" "$work/trace.one"
	equal "images" "$(field "$work/trace.one" .images)" 1
	equal "blocks after the storm" "$("$HEAPWISE" trace dump "$work/trace.one" | awk '$3 == "malloc" && $5 == 12345' | wc -l)" 1000
	;;
own-stack)
	record "$work/trace" -- "$target" "$case"
	equal "exit status" "$status" 0
	equal "blocks on the stack made by hand" "$(count malloc 77)" 1
	;;
*) fail "no such case" ;;
esac
finish
