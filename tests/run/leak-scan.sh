#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# leak-scan.sh CASE   the scan at exit whatever way a program ends, what the trace says where there can
# be none, and that the program and its parent do not notice it.
. "$(dirname "$0")/lib.sh"

leaks=$HEAPWISE_TARGETS/leaks

# scan TRACE [IMAGE]   "state reason lost_chunks indirect_chunks" of an image, the last by default
scan()
{
	"$HEAPWISE" trace info --format json "$1" | jq -r ".image_list[${2:--1}] |
		[.scan, .scan_reason, .lost_chunks, .indirect_chunks] | join(\" \")"
}

# scan_says TRACE TEXT
scan_says()
{
	scan "$1" >"$work/scan"
	says "$work/scan" "$2"
}

case_ends()
{
	for how in return _exit quick_exit thread; do
		record "$work/$how" -- "$leaks" end "$how"
		equal "$how: status" "$status" 5
		equal "$how: scan" "$(scan "$work/$how")" "done  3 10"
	done
	# what earlier calls left where the C library's frames are now is no pointer of the program's
	for how in return exit _exit quick_exit; do
		record "$work/soiled-$how" -- "$leaks" soiled "$how"
		equal "soiled, $how: scan" "$(scan "$work/soiled-$how")" "done  4 19"
	done
	record "$work/waiting" -- "$leaks" waiting
	equal "threads that wait: scan" "$(scan "$work/waiting")" "done  400 0"
	# main has gone before the thread that ends last
	record "$work/last" -- "$leaks" end last_thread
	equal "last thread: status" "$status" 0
	equal "last thread: scan" "$(scan "$work/last")" "done  6 45"
}

case_signals()
{
	for pair in abort:6 segv:11; do
		record "$work/trace" -- "$leaks" end "${pair%:*}"
		equal "${pair%:*}: status" "$status" $((128 + ${pair#*:}))
		equal "${pair%:*}: scan" "$(scan "$work/trace")" "failed the program was killed by signal ${pair#*:} 0 0"
		equal "${pair%:*}: complete" "$(field "$work/trace" .complete)" true
		rm "$work/trace.json"
	done
}

case_traced()
{
	if has strace; then
		# A heapwise that was itself built with a sanitizer cannot look for its leaks below strace.
		ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null "$HEAPWISE" run --no-symbols -q -o "$work/strace" -- "$leaks" end return
		equal "strace: status" "$?" 5
		scan_says "$work/strace" "^failed process [0-9]+ .* is already tracing the program"
	fi
	if has gdb; then
		record "$work/gdb" --children -- gdb -nx -batch -ex run --args "$leaks" end return >"$work/out" 2>&1
		says "$work/out" "exited with code 05"
		for trace in "$work"/gdb/*.hwt; do
			"$HEAPWISE" trace info --format json "$trace" | jq -r '.image_list[] | .command + ": " + .scan_reason'
		done >"$work/scans"
		says "$work/scans" "leaks'? end return: process [0-9]+ .* is already tracing the program"
	fi
}

case_parents()
{
	record "$work/one" -- "$leaks" parent
	equal "parent: status" "$status" 0
	record "$work/all" --children -- "$leaks" parent
	equal "parent of a recorded child: status" "$status" 0
	equal "traces" "$(ls "$work"/all | wc -l)" 2
	for trace in "$work"/all/*.hwt; do
		scan_says "$trace" "^done "
	done
	record "$work/sh" --children -- sh -c "'$leaks' end thread; echo \$?" >"$work/out"
	equal "what the shell saw" "$(cat "$work/out")" 5
	# descriptors, output and time are as ever: the scan of a small program is not felt
	equal "time for the scans" "$("$HEAPWISE" trace info --format json "$work/one" |
		jq '.image_list[0].scan_ns < 2000000000')" true
}

case_images()
{
	record "$work/trace" -- sh -c "exec '$leaks' end return"
	equal "status" "$status" 5
	equal "image before the exec" "$(scan "$work/trace" 0)" "none   "
	equal "image after the exec" "$(scan "$work/trace" 1)" "done  3 10"
}

# Processes that end without a live block have nothing to look for, and the monitor keeps its descriptors: with
# its standard input closed, number 0 is one of the recording's own.
case_nothing_live()
{
	local loop="for i in 1 2 3 4 5 6 7 8 9 10; do '$HEAPWISE_TARGETS/empty'; done; exit 3"

	record "$work/open" --children -- sh -c "$loop" </dev/null
	equal "open input: status" "$status" 3
	equal "open input: traces" "$(find "$work/open" -name '*.hwt' | wc -l)" 11
	record "$work/closed" --children -- sh -c "$loop" <&-
	equal "closed input: status" "$status" 3
	equal "closed input: traces" "$(find "$work/closed" -name '*.hwt' | wc -l)" 11
	record "$work/forks" --children -- "$HEAPWISE_TARGETS/children" threads 40 <&-
	equal "forks of threads: status" "$status" 0
	equal "forks of threads: traces" "$(find "$work/forks" -name '*.hwt' | wc -l)" 41
	for trace in "$work"/*/*.hwt; do
		scan_says "$trace" "^done "
	done
}

# An allocator may tell of blocks that are larger than all memory: they are looked at as far as there is some, and counted in full.
case_claims()
{
	"$HEAPWISE" run --no-symbols -o "$work/claims" -- "$HEAPWISE_TARGETS/claims" 2>"$work/stderr" &
	wait_until 30 is_over $! || { fail "the scan does not end"; kill -KILL $!; }
	wait $!
	equal "status" "$?" 0
	equal "scan" "$(scan "$work/claims")" "done  1 0"
	equal "reachable bytes" "$("$HEAPWISE" trace info --format json "$work/claims" |
		jq '.image_list[0].reachable_bytes == 4611687117939015740')" true
}

is_over() { ! kill -0 "$1" 2>/dev/null; }

case_refused()
{
	record "$work/off" --leak-scan off -- "$leaks" end return
	equal "off: scan" "$(scan "$work/off")" "none   "
	record "$work/sample" --sample 64 -- "$leaks" end return
	scan_says "$work/sample" "^failed only a sample"
	record "$work/paused" -- "$HEAPWISE_TARGETS/api" >/dev/null
	scan_says "$work/paused" "^failed the recording was stopped before the program ended"
	record "$work/paused" -- "$HEAPWISE_TARGETS/hard" pause-storm >/dev/null
	scan_says "$work/paused" "^failed the recording was paused"
	record "$work/wrong" --leak-scan perhaps -- "$leaks" end return
	equal "perhaps: status" "$status" 2
}

case_limits()
{
	record "$work/files" -- sh -c "ulimit -n 12; exec '$leaks' end return"
	equal "few descriptors: scan" "$(scan "$work/files")" "done  3 10"
	record "$work/memory" -- sh -c "ulimit -v 400000; exec '$leaks' end return"
	equal "little memory: status" "$status" 5
	equal "little memory: scan" "$(scan "$work/memory")" "done  3 10"
	record "$work/core" -- sh -c "ulimit -c 0; ulimit -s 256; exec '$leaks' end return"
	equal "small stack: scan" "$(scan "$work/core")" "done  3 10"
}

# wait_until SECONDS COMMAND...   false if it does not come true in time
wait_until()
{
	local left=$(($1 * 20))

	shift
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 0.05
	done
}

# Its exit waits for a reader of its output; $program and $monitor are running then.
start_blocked()
{
	mkfifo "$work/fifo"
	exec 7<>"$work/fifo" 8<"$work/fifo"
	"$HEAPWISE" run --no-symbols -q -o "$work/trace" -- "$leaks" end blocked \
		>"$work/fifo" 2>"$work/stderr" 7<&- 8<&- &
	monitor=$!
	program=$(child_of "$monitor")
	exec 7<&-
	wait_until 10 is_traced || fail "the program was not seized at its exit"
}

read_output()
{
	cat <&8 >"$work/out" &
	reader=$!
	exec 8<&-
}

is_traced() { grep -q "^TracerPid:.*[1-9]" "/proc/$program/status" 2>/dev/null; }
is_gone() { ! grep -q "^State:" "/proc/$program/status" 2>/dev/null || grep -q "^State:.*Z " "/proc/$program/status"; }

# A monitor that stands still holds the program at its end, and lets it go when it goes on.
case_stopped_monitor()
{
	start_blocked
	kill -STOP "$monitor"
	read_output
	sleep 0.3
	is_gone && fail "the program is gone before the scan"
	kill -CONT "$monitor"
	wait "$monitor"
	equal "status" "$?" 5
	wait "$reader"
	scan_says "$work/trace" "^done "
	grep -qa "the last words" "$work/out" || fail "the program's output is cut"
}

# A program waits two seconds for the monitor, and ends. Live blocks cannot be looked at any more; without any the scan is done.
case_late_monitor()
{
	local how

	cc -xc -o "$work/late" - <<-'PROGRAM' || fail "cannot compile"
		#include <signal.h>
		#include <stdlib.h>
		#include <unistd.h>
		void *volatile block;
		int main(int argc, char **argv)
		{
			(void)argv;
			block = argc > 1 ? malloc(10) : NULL;
			return kill(getppid(), SIGSTOP);
		}
	PROGRAM
	for how in "" live; do
		"$HEAPWISE" run --no-symbols -q -o "$work/trace$how" -- "$work/late" $how 2>"$work/stderr" &
		monitor=$!
		program=$(child_of "$monitor")
		wait_until 60 is_gone || fail "the program waits for its monitor for ever"
		kill -CONT "$monitor"
		wait "$monitor"
		equal "status" "$?" 0
	done
	equal "without live blocks" "$(scan "$work/trace")" "done  0 0"
	scan_says "$work/tracelive" "^failed the program ended before the scan began "
}

# It is killed while it watches the program on its way to the end, or while it holds it there.
case_killed_monitor()
{
	start_blocked
	[ -z "${held:-}" ] || { kill -STOP "$monitor"; read_output; sleep 0.3; }
	is_gone && fail "the program is gone too early"
	kill -KILL "$monitor"
	wait "$monitor" 2>/dev/null
	if [ -z "${held:-}" ] && is_gone; then
		fail "the program was killed with the monitor"
	fi
	[ -n "${held:-}" ] || read_output
	wait_until 10 is_gone || { fail "the program hangs"; kill -KILL "$program"; }
	wait "$reader"
	grep -qa "the last words" "$work/out" || fail "the program's output is cut"
}

case_killed_holding_monitor()
{
	held=yes
	case_killed_monitor
}

run_case "$1"
finish
