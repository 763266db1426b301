#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# killed.sh TIMES   SIGKILL of the program at random moments: the trace opens and holds every call that
# the program had completed (it counts them in a file of its own), at most one per thread more, and
# what is live in the report is what the events say.
. "$(dirname "$0")/lib.sh"

times=$1
threads=2
RANDOM=$$

# Sums of the counters that the target left: allocations and frees of its threads.
counted()
{
	od -An -v -t u8 -w64 "$1" | awk '{ allocations += $1; frees += $2 } END { print allocations + 0, frees + 0 }'
}

for ((i = 1; i <= times; i++)); do
	rm -f "$work"/*
	"$HEAPWISE" run --no-symbols -o "$work/trace" -- "$HEAPWISE_TARGETS/killed" \
		"$work/counters" "$threads" 2>"$work/stderr" &
	monitor=$!
	until [ -s "$work/counters" ] || ! kill -0 "$monitor" 2>/dev/null; do
		sleep 0.01
	done
	sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
	kill -KILL "$(child_of "$monitor")"
	wait "$monitor" 2>/dev/null
	equal "kill $i: status of heapwise" "$?" $((128 + 9))
	[ -s "$work/trace" ] || { fail "kill $i: no trace"; cat "$work/stderr"; break; }

	read -r allocations frees <<<"$(counted "$work/counters")"
	events "$work/trace" | awk '
		{ own = $3 % 16 == 5 }
		'"$is_free"' { frees += own; live -= $3; chunks--; next }
		{ allocations += own; live += $3; chunks++ }
		END { printf "%d %d %d %d\n", allocations, frees, live, chunks }' >"$work/got"
	read -r got_allocations got_frees live chunks <"$work/got"
	at_least "kill $i: allocations" "$got_allocations" "$allocations"
	at_most "kill $i: allocations" "$got_allocations" $((allocations + threads))
	at_least "kill $i: frees" "$got_frees" "$frees"
	at_most "kill $i: frees" "$got_frees" $((frees + threads))
	equal "kill $i: kept bytes" "$(field "$work/trace" .kept.bytes)" "$live"
	equal "kill $i: kept chunks" "$(field "$work/trace" .kept.chunks)" "$chunks"
	equal "kill $i: lost events" "$(field "$work/trace" .lost_events)" 0
	total=$((${total:-0} + got_allocations))
	[ "$failures" -lt 10 ] || break
done
echo "$((i - 1)) kills, ${total:-0} allocations in all traces"
finish
