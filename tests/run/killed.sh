#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# killed.sh TIMES program      SIGKILL of the program at random moments: the trace opens and holds every call that
# the program had completed (it counts them in a file of its own), at most one per thread more, and
# what is live in the report is what the events say.
# killed.sh TIMES any [SEED]   of the program, the monitor or both, from the start of the monitor on: each trace that had begun can be
# read and holds no call that was not made; a program that loses its monitor runs on, and one that is killed is not started again.
. "$(dirname "$0")/lib.sh"

times=$1
threads=2
RANDOM=${3:-$$}
# What the C library allocates for threads, and a call that was not counted yet.
beside=$((threads + 30))
# After so many calls, which are many times what the rings hold, a monitor has written that the program began.
ring=1024
drained=20000
declare -A kills begun

# Sums of the counters that the target left: allocations and frees of its threads.
counted()
{
	od -An -v -t u8 -w64 "$1" | awk '{ allocations += $1; frees += $2 } END { print allocations + 0, frees + 0 }'
}

# start [OPTION...]   a recording of the target: $monitor
start()
{
	rm -f "$work"/*
	"$HEAPWISE" run --no-symbols -o "$work/trace" "$@" -- "$HEAPWISE_TARGETS/killed" \
		"$work/counters" "$threads" 2>"$work/stderr" &
	monitor=$!
}

# until_counts   the program has begun its work, or there is none any more
until_counts()
{
	until [ -s "$work/counters" ] || ! kill -0 "$monitor" 2>/dev/null; do
		sleep 0.01
	done
}

# while_random MOST   for less than so many hundredths of a second
while_random()
{
	sleep "0.0$((RANDOM % $1))$((RANDOM % 10))"
}

kill_program()
{
	start
	until_counts
	while_random 4 # some 100,000 events, of which each is compared
	kill -KILL "$(child_of "$monitor")"
	wait "$monitor" 2>/dev/null
	equal "kill $i: status of heapwise" "$?" $((128 + 9))
	[ -s "$work/trace" ] || { fail "kill $i: no trace"; cat "$work/stderr"; return; }

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
}

goes_on()
{
	[ "$(counted "$work/counters")" != "$1" ]
}

# end_orphan   the program has lost its monitor: it works on, until it is killed
end_orphan()
{
	[ -n "$program" ] || return 0
	if [ -s "$work/counters" ]; then
		until_true goes_on "$(counted "$work/counters")"
		kill -0 "$program" || fail "kill $i: the program died with its monitor"
	fi
	kill -KILL "$program" 2>/dev/null
	while [ -d "/proc/$program" ] && ! grep -q '^State:.*Z' "/proc/$program/status" 2>/dev/null; do
		sleep 0.01
	done
}

# until_ended   the monitor and whom it started: not by themselves if it does not see that the program has ended
until_ended()
{
	local n

	for ((n = 0; n < 3000; n++)); do
		kill -0 "$monitor" 2>/dev/null || break
		sleep 0.02
	done
	[ "$n" -lt 3000 ] || { fail "kill $i of $who: heapwise does not end: $(cat "$work/stderr")"; kill -KILL $(cat "/proc/$monitor/task/"*/children) "$monitor"; }
	wait "$monitor" 2>/dev/null
}

# kill_victims   the monitor stands still meanwhile, so that no program escapes
kill_victims()
{
	kill -STOP "$monitor"
	program=$(cat "/proc/$monitor/task/"*/children 2>/dev/null)
	program=${program%% *}
	at_kill="0 0"
	[ ! -s "$work/counters" ] || at_kill=$(counted "$work/counters")
	case $who in
	program) [ -n "$program" ] && kill -KILL "$program" ;;
	both) kill -KILL $program "$monitor" ;;
	monitor) kill -KILL "$monitor" ;;
	esac
	kill -CONT "$monitor" 2>/dev/null
	[ "$who" != monitor ] || end_orphan
	# Before there is a program, the monitor ends with the one that it starts.
	[ "$who" != program ] || [ -n "$program" ] || kill -KILL "$(child_of "$monitor")"
	until_ended
	equal "kill $i of $who: status of heapwise" "$?" $((128 + 9))
}

# is_begun   the file has more than its header, or must have
is_begun()
{
	local allocations frees

	read -r allocations frees <<<"$at_kill"
	[ "$allocations" -ge "$drained" ] || { [ -e "$work/trace" ] && [ "$(wc -c <"$work/trace")" -gt 32 ]; }
}

# read_trace   can be read as a whole, and tells of nothing that was not
read_trace()
{
	local allocations=0 frees=0 got_allocations got_frees

	begun[$who]=$((${begun[$who]:-0} + 1))
	"$HEAPWISE" report --no-symbols --format json "$work/trace" >"$work/trace.json" 2>"$work/errors" &&
		"$HEAPWISE" trace dump "$work/trace" >/dev/null 2>>"$work/errors" ||
		{ fail "kill $i of $who: $(wc -c <"$work/trace") bytes cannot be read: $(cat "$work/errors")"; return; }
	[ ! -s "$work/counters" ] || read -r allocations frees <<<"$(counted "$work/counters")"
	read -r got_allocations got_frees <<<"$(jq -r '"\(.allocations) \(.frees)"' "$work/trace.json")"
	at_most "kill $i of $who: allocations" "$got_allocations" $((allocations + beside))
	at_most "kill $i of $who: frees" "$got_frees" $((frees + beside))
	total=$((${total:-0} + got_allocations))
	[ "$who" = program ] || return 0
	at_least "kill $i of $who: allocations" "$got_allocations" "$allocations"
	at_least "kill $i of $who: frees" "$got_frees" "$frees"
}

kill_any()
{
	local victims=(program monitor both)

	who=${victims[RANDOM % 3]}
	kills[$who]=$((${kills[$who]:-0} + 1))
	start --ring-records=$ring
	[ $((RANDOM % 2)) -eq 0 ] || until_counts
	while_random 10
	kill_victims
	! is_begun || read_trace
}

for ((i = 1; i <= times; i++)); do
	"kill_$2"
	[ "$failures" -lt 10 ] || break
done 2>/dev/null # the shell's words about who was killed
for who in "${!kills[@]}"; do
	echo "$who killed: ${kills[$who]} times, ${begun[$who]:-0} traces had begun"
done
echo "$((i - 1)) kills, ${total:-0} allocations in all traces"
finish
