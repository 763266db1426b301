#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# control.sh CASE   a recording that is saved, stopped, begun anew, paused and marked, by the program
# itself (tests/targets/control.c, which says what is true) and from outside.
. "$(dirname "$0")/lib.sh"

target=$HEAPWISE_TARGETS/control

# sizes TRACE   "count kind size" of the target's own blocks
sizes()
{
	"$HEAPWISE" trace dump "$1" | awk '$3 ~ /alloc|free/ && $5 ~ /^[579]0[0-2][0-9]$/ { print $3, $5 }' | sort | uniq -c |
		awk '{ print $1, $2, $3 }'
}

# holds TRACE LINE...   the target's own blocks in the trace are these
holds()
{
	local trace=$1
	shift
	printf '%s\n' "$@" | sed '/^$/d' >"$work/wanted"
	sizes "$trace" | diff -u "$work/wanted" - || fail "$(basename "$trace") holds something else"
}

# closed TRACE   it is complete, nothing was lost, and no event contradicts another
closed()
{
	equal "closed" "$("$HEAPWISE" trace info --format json "$1" | jq .closed)" true
	equal "complete" "$(field "$1" .complete)" true
	equal "lost_events" "$(field "$1" .lost_events)" 0
	equal "implied_frees" "$(field "$1" .implied_frees)" 0
	equal "strange caveats" "$(field "$1" '[.caveats[] | select(test("add up|contradict|lack"))] | length')" 0
}

# steer [OPTION...] -- [ARGUMENT]   starts the target that is steered from outside
steer()
{
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f "$work/go" "$work/stdout"
	"$HEAPWISE" run --no-symbols "${options[@]}" -o "$work/trace" -- "$target" steered "$work/go" "$@" \
		>"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	until_true test -s "$work/stdout"
	program=$(head -1 "$work/stdout")
}

ctl()
{
	"$HEAPWISE" ctl --format json "$@" 2>"$work/ctl-stderr"
}

# Of $program; it may have been started a moment ago.
state() { ctl "$program" status | jq -r .state; }
state_is() { [ "$(state)" = "$1" ]; }
allocations() { ctl "$program" status | jq -r .allocations; }

let_go()
{
	touch "$work/go"
	wait "$monitor"
	equal "exit status" "$?" 0
}

# marks TRACE   their kinds in order
marks() { field "$1" '[.marks[].kind] | join(" ")'; }

case_restart()
{
	record "$work/one" -- "$target" restart "$work/two" "$work/three" >"$work/stdout"
	equal "exit status" "$status" 0
	equal "stdout" "$(cat "$work/stdout")" "state 1"
	holds "$work/one" "1000 malloc 5001"
	holds "$work/two" "100 free 5002" "1 free 7002" "501 malloc 5002" "1 realloc 7002" "1 realloc_free 5002"
	holds "$work/three" "50 malloc 5004"
	equal "unknown frees in the second" "$(field "$work/two" .unknown_frees)" 400
	for trace in one two three; do
		closed "$work/$trace"
		equal "end of $trace" "$(field "$work/$trace" .end.how)" detached
	done
	equal "caveat" "$(field "$work/two" '.caveats | join("")')" \
		"400 frees of chunks allocated before this recording began"
	says "$work/stderr" "last of 3 recordings"
	says "$work/stderr" "trace $work/three"
}

# Each file has the stacks of its own events, and names for them.
case_symbols()
{
	"$HEAPWISE" run -q -o "$work/one" -- "$target" restart "$work/two" "$work/three" >"$work/stdout"
	for trace in one two three; do
		equal "symbols in $trace" "$("$HEAPWISE" trace info --format json "$work/$trace" | jq .has_symbols)" true
		"$HEAPWISE" report --format json "$work/$trace" |
			jq -r '[.top.bytes[].stack | map(.function) | index("restart")] | map(. != null) | all' >"$work/got"
		equal "stacks in $trace" "$(cat "$work/got")" true
	done
}

# Threads allocate meanwhile: whatever they do is in one of the files, and only what was live at a
# border is unknown in the next one.
case_busy()
{
	local i before=0
	record "$work/0" -- "$target" busy "$work"/{1,2,3,4,5}
	equal "exit status" "$status" 0
	for i in 0 1 2 3 4; do
		holds "$work/$i" "1000 malloc $((5001 + i))"
		closed "$work/$i"
		equal "kept in $i" "$(($(field "$work/$i" .kept.chunks) >= 1000))" 1
		at_most "unknown frees in $i" "$(field "$work/$i" .unknown_frees)" $((before ? 1000 + 16 : 0))
		before=1
	done
	holds "$work/5"
	closed "$work/5"
	at_least "unknown frees in 5" "$(field "$work/5" .unknown_frees)" 1000
}

case_refused()
{
	record "$work/trace" -- "$target" refused "$work/trace" >"$work/stdout"
	cat >"$work/wanted" <<-WANTED
		-1 Invalid argument
		-1 No such file or directory
		-1 No such file or directory
		-1 Is a directory
		-1 Device or resource busy
		state 2
	WANTED
	diff -u "$work/wanted" "$work/stdout" || fail "the answers differ"
	holds "$work/trace" "10 malloc 5005"
	closed "$work/trace"
	mkdir "$work/folder"
	record "$work/other" -- "$target" relative "$work/folder"
	equal "exit status" "$status" 0
	closed "$work/folder/here.hwt"
}

# A program that has given up its rights does not get files written with its monitor's.
case_rights()
{
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	record "$work/trace" -- "$target" rights "$work/two" >"$work/stdout"
	equal "answer" "$(cat "$work/stdout")" "restart: -1 Operation not permitted"
	closed "$work/trace"
	[ ! -e "$work/two" ] || fail "the file was written"
}

case_exec()
{
	record "$work/one" -- "$target" again "$work/two" first
	equal "exit status" "$status" 0
	holds "$work/one" "5 malloc 5016"
	holds "$work/two" "9 malloc 5018"
	closed "$work/one"
	closed "$work/two"
}

# Both are killed, before the second has passed after which everything is written anyway.
case_autosave()
{
	"$HEAPWISE" run --no-symbols -o "$work/trace" -- "$target" autosave 1000 >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	until_true test -s "$work/stdout"
	at_least "allocations in a file that is being written" "$(sizes "$work/trace" | awk '{ print $1 }')" 19000
	kill -KILL "$monitor" "$(cat "$work/stdout")"
	wait "$monitor" 2>/dev/null
	at_least "saved allocations" "$(sizes "$work/trace" | awk '{ print $1 }')" 19000
	equal "complete" "$(field "$work/trace" .complete)" false
	says "$work/trace.json" "the recording is truncated"
}

case_save()
{
	("$HEAPWISE" run --no-symbols -o "$work/trace" -- "$target" save) 2>/dev/null
	holds "$work/trace" "1000 malloc 5007"
}

case_marks()
{
	record "$work/trace" -- "$target" marks >"$work/stdout"
	equal "calls of the callback" "$(cat "$work/stdout")" 1
	field "$work/trace" '.marks[0:8][] | "\(.kind) \(.number) \(.live_chunks) \(.name)"' >"$work/got"
	cat >"$work/wanted" <<-WANTED
		mark 7 0 
		phase_begin 0 0 load
		mark 0 100 in "the" middle
		phase_end 0 100 load
		snapshot 0 100 
		snapshot 0 150 
		mark 0 150 a name that is much longer than a name in a trace may be, a
		mark 0 150 
	WANTED
	diff -u "$work/wanted" "$work/got" || fail "the marks differ"
	equal "last marks" "$(field "$work/trace" '[.marks[-4:][] | .kind + .name] | join(" ")')" \
		"phase_beginload paused phase_endload resumed"
	equal "marks in order of time" "$(field "$work/trace" '[.marks[].time_ns] | . == sort')" true
	equal "marks without a name" "$(field "$work/trace" .faults.names_full)" 80
	# What was live at a snapshot, by point, adds up to what was live.
	equal "points of snapshots" "$(field "$work/trace" \
		'[.snapshots | group_by(.snapshot)[] | map(.live_bytes) | add] | join(" ")')" "500800 751250"
	"$HEAPWISE" trace info --format json "$work/trace" >"$work/info"
	equal "snapshots of info" "$(jq -c '[.snapshot_list[] | [.live_bytes, .live_chunks]]' "$work/info")" \
		"[[500800,100],[751250,150]]"
	equal "marks of info" "$(jq '.mark_list | length' "$work/info")" "$(field "$work/trace" '[.marks[] | select(.kind != "snapshot")] | length')"
	"$HEAPWISE" trace info "$work/trace" >"$work/text"
	says "$work/text" "phase_begin .* load"
	says "$work/text" "^Snapshots"
	"$HEAPWISE" trace dump "$work/trace" >"$work/text"
	says "$work/text" '^# name 0x2 in "the" middle'
	says "$work/text" " mark 0x1 0 - [0-9]+ phase_begin "
}

case_paused()
{
	record "$work/trace" -- "$target" paused
	holds "$work/trace" "1000 free 5010" "200 free 5012" "1001 malloc 5010" "200 malloc 5012" "1 realloc_free 5010"
	closed "$work/trace"
	equal "unknown frees" "$(field "$work/trace" .unknown_frees)" 301
	equal "kept" "$(field "$work/trace" .kept.chunks)" 0
	equal "strangers" "$(field "$work/trace" '[.caveats[] | select(test("^301 frees of chunks allocated while recording was paused$"))] | length')" 1
	equal "marks" "$(marks "$work/trace")" "paused resumed"
	# No new chunk was given the end of an unseen one: those lived for 0.3 s at least.
	"$HEAPWISE" trace dump "$work/trace" | awk '$5 == 5012 && $3 == "malloc" { born[$6] = $1 }
		$5 == 5012 && $3 == "free" && $1 - born[$6] < 290000000 { wrong++ }
		END { print wrong + 0 }' >"$work/got"
	equal "short lives" "$(cat "$work/got")" 0
}

case_start_paused()
{
	record "$work/trace" --start-paused -- "$target" started
	holds "$work/trace" "20 free 5015" "20 malloc 5015"
	closed "$work/trace"
	says "$work/trace.json" '"resumed"'
	# Never resumed: a trace without allocations, and no complaint.
	record "$work/never" --start-paused -- "$target" paused
	equal "exit status" "$status" 0
	record "$work/silent" --start-paused -- "$HEAPWISE_TARGETS/empty"
	equal "exit status" "$status" 7
	equal "allocations" "$(field "$work/silent" .allocations)" 0
	equal "marks" "$(marks "$work/silent" | sed 's/^$/paused/')" paused
	# Images to come are paused, too.
	record "$work/exec" --start-paused -- sh -c "exec '$target' restart '$work/two' '$work/three'" >"$work/stdout"
	equal "exit status" "$status" 0
	holds "$work/exec"
	holds "$work/two" "100 free 5002" "1 free 7002" "501 malloc 5002" "1 realloc 7002" "1 realloc_free 5002"
}

case_toggle_signal()
{
	steer --start-paused --toggle-signal USR1 --
	until_true state_is paused
	equal "allocations while paused" "$(allocations)" 0
	kill -USR1 "$monitor"
	until_true state_is recording
	kill -USR1 "$monitor"
	until_true state_is paused
	let_go
	closed "$work/trace"
	equal "marks" "$(marks "$work/trace")" "paused resumed paused"
	at_least "allocations" "$(sizes "$work/trace" | awk '/malloc/ { print $1 }')" 1
	record "$work/bad" --toggle-signal KILL -- true
	equal "status of a signal that cannot be had" "$status" 2
}

case_toggle_file()
{
	steer --toggle-file "$work/on" --
	until_true state_is paused
	touch "$work/on"
	until_true state_is recording
	rm "$work/on"
	until_true state_is paused
	let_go
	closed "$work/trace"
	equal "marks" "$(marks "$work/trace")" "paused resumed paused"
	touch "$work/on"
	steer --toggle-file "$work/on" --
	until_true state_is recording
	let_go
	rm -f "$work/trace.json"
	equal "marks" "$(marks "$work/trace")" ""
}

case_ctl_scan()
{
	"$HEAPWISE" run -o "$work/trace" -- "$target" leaking "$work/go" >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	until_true test -s "$work/stdout"
	program=$(head -1 "$work/stdout")
	until_true state_is recording
	for pid in $program $monitor; do
		ctl "$pid" scan >"$work/got"
		equal "status of a scan" "$?" 0
		equal "lost" "$(jq -c '[.lost_chunks, .lost_bytes]' "$work/got")" "[3,15099]"
		equal "reachable" "$(jq '.reachable_chunks >= 7' "$work/got")" true
	done
	equal "state after it" "$(state)" recording
	let_go
	equal "lost at the end" "$("$HEAPWISE" leaks --format json "$work/trace" |
		jq -c '[.lost.chunks, .lost.bytes]')" "[5,25165]"
	"$HEAPWISE" run -o "$work/killed" -- "$target" leaking "$work/never" >"$work/doomed" 2>"$work/stderr" &
	monitor=$!
	until_true test -s "$work/doomed"
	program=$(head -1 "$work/doomed")
	until_true ctl "$program" scan >"$work/got"
	kill -KILL "$program"
	wait "$monitor"
	equal "lost before it was killed" "$("$HEAPWISE" leaks --format json "$work/killed" |
		jq -c '[.lost.chunks, .lost.bytes, .scan.state]')" '[3,15099,"done"]'
	"$HEAPWISE" leaks "$work/killed" >"$work/text"
	says "$work/text" "leak kinds are those of the scan at .*; a later one failed: the program was killed"
	steer --start-paused --
	ctl "$program" scan >"$work/got"
	equal "status of a scan while paused" "$?" 3
	says "$work/ctl-stderr" "was not scanned|waits"
	let_go
}

# A snapshot is in its place among the events, even if later ones are read together with it.
case_ctl_order()
{
	"$HEAPWISE" run --no-symbols -o "$work/trace" -- "$target" dropping >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	until_true test -s "$work/stdout"
	program=$(head -1 "$work/stdout")
	until_true eval 'test "$(ctl "$program" status | jq .live_chunks)" -ge 100'
	ctl "$program" snapshot >"$work/got"
	kill -TERM "$program"
	wait "$monitor"
	equal "exit status" "$?" 0
	"$HEAPWISE" trace info --format json "$work/trace" >"$work/info"
	equal "live at the snapshot" "$(jq .snapshot_list[0].live_chunks "$work/info")" "$(jq .live_chunks "$work/got")"
}

case_ctl()
{
	local before
	steer --
	until_true state_is recording
	equal "pid" "$(ctl "$monitor" status | jq .pid)" "$program"
	equal "monitor" "$(ctl "$program" status | jq .monitor_pid)" "$monitor"
	equal "trace" "$(ctl "$program" status | jq -r .trace)" "$work/trace"
	"$HEAPWISE" ctl "$program" status >"$work/text"
	says "$work/text" "^ *state +recording"
	equal "pause" "$(ctl "$program" pause | jq -r .state)" paused
	sleep 0.2
	before=$(allocations)
	sleep 0.2
	equal "allocations while paused" "$(allocations)" "$before"
	equal "snapshot while paused" "$(ctl "$monitor" snapshot | jq '.live_chunks >= 0')" true
	equal "resume" "$(ctl "$monitor" resume | jq -r .state)" recording
	until_true eval 'test "$(allocations)" -gt "$before"'
	ctl "$program" snapshot >"$work/got"
	equal "snapshots" "$(ctl "$program" status | jq .snapshots)" 2
	equal "stop" "$(ctl "$program" stop | jq -r .state)" stopped
	closed "$work/trace" # at once
	equal "state" "$(state)" stopped
	equal "stop of what has stopped" "$(ctl "$program" stop | jq -r .state)" stopped
	ctl "$program" resume >"$work/got"
	equal "status of a resume after the end" "$?" 3
	says "$work/ctl-stderr" "was stopped"
	let_go
	equal "marks" "$(marks "$work/trace")" "paused snapshot resumed snapshot"
	equal "end" "$(field "$work/trace" .end.how)" detached
	ctl "$program" status >"$work/got"
	equal "status for a process that is gone" "$?" 3
	says "$work/ctl-stderr" "there is no process"
}

case_ctl_callback()
{
	steer -- callback
	until_true state_is recording
	ctl "$program" snapshot >"$work/got"
	equal "caveats" "$(jq '.caveats | length' "$work/got")" 0
	let_go
	equal "calls" "$(tail -1 "$work/stdout")" 1
	equal "marks" "$(marks "$work/trace")" snapshot
	# A program that does not call back for a second: the snapshot is taken without it.
	"$HEAPWISE" run --no-symbols -o "$work/deaf" -- "$target" deaf "$work/go2" >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	program=$monitor
	until_true state_is recording
	ctl "$monitor" snapshot >"$work/got"
	says "$work/got" "callback was not called"
	touch "$work/go2"
	wait "$monitor"
	equal "marks" "$(marks "$work/deaf")" snapshot
}

case_ctl_errors()
{
	local folder
	ctl $$ status
	equal "status for a process that is not recorded" "$?" 3
	says "$work/ctl-stderr" "is not recorded"
	ctl 1 status
	equal "status for init" "$?" 3
	steer --
	until_true state_is recording
	folder=$(dirname "$(find "/run/user/$(id -u)/heapwise" "/tmp/heapwise-$(id -u)" -name "$monitor.sock" 2>/dev/null)")
	equal "mode of the folder" "$(stat -c %a "$folder")" 700
	equal "mode of the socket" "$(stat -c %a "$folder/$monitor.sock")" 600
	# Who does not see the monitor's process, but its folder, leaves the socket alone; those that nobody listens on go.
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$folder/4194303.sock"
	unshare -pf "$HEAPWISE" run -q --no-symbols -o "$work/other" -- true 2>/dev/null || "$HEAPWISE" run -q --no-symbols -o "$work/other" -- true
	[ -e "$folder/$monitor.sock" ] || fail "another run has removed the socket"
	[ ! -e "$folder/4194303.sock" ] || fail "a socket of nobody is still there"
	# Three monitors that are stopped keep nobody waiting who wants another one.
	stopped=()
	for ((i = 0; i < 3; i++)); do
		"$HEAPWISE" run -q --no-symbols -o "$work/stopped$i" -- sleep 60 &
		stopped+=($!)
		child_of $! >/dev/null
		until [ -e "$folder/$!.sock" ]; do sleep 0.01; done
		kill -STOP $!
	done
	began=$SECONDS
	ctl "$monitor" status
	equal "status beside those that are stopped" "$?" 0
	at_most "seconds" $((SECONDS - began)) 8
	kill -CONT "${stopped[@]}"
	kill -TERM "${stopped[@]}"
	wait "${stopped[@]}"
	# garbage, and clients that say nothing
	if has python3; then
		python3 - "$folder/$monitor.sock" <<-'PYTHON' || fail "the server's answers to garbage"
			import os, socket, sys
			def say(data, close=True):
			    s = socket.socket(socket.AF_UNIX)
			    s.settimeout(10)
			    s.connect(sys.argv[1])
			    try:
			        s.sendall(data)
			        if close: s.shutdown(socket.SHUT_WR)
			        return s.recv(4096)
			    except (BrokenPipeError, ConnectionResetError):
			        return b""
			for garbage in (b"", b"\n", b"status\n", b"status x\n", b"\0" * 200, os.urandom(100000),
			                b"status 99999999999999999999\n", b"stop -1\n", b"x" * 300 + b"\n"):
			    answer = say(garbage)
			    assert answer == b"" or answer.startswith(b"error"), (garbage[:20], answer)
			assert say(b"dance %d\n" % os.getpid()) == b"unknown\n"
			quiet = [socket.socket(socket.AF_UNIX) for i in range(3)]
			for s in quiet: s.connect(sys.argv[1])
			assert say(b"dance %d\n" % int(os.path.basename(sys.argv[1])[:-5]), False).startswith(b"usage"), "verb"
		PYTHON
	fi
	equal "state after garbage" "$(state)" recording
	if [ "$(id -u)" -eq 0 ] && has setpriv util-linux; then
		cp "$HEAPWISE" "$work/heapwise" && chmod 755 "$work" "$work/heapwise"
		setpriv --reuid=65534 --regid=65534 --clear-groups "$work/heapwise" ctl "$program" stop 2>"$work/ctl-stderr"
		equal "status for another user" "$?" 3
		says "$work/ctl-stderr" "another user"
		equal "state" "$(state)" recording
	fi
	# A monitor that does not move does not answer, and is left alone.
	let_go
	[ ! -e "$folder/$monitor.sock" ] || fail "the socket is still there"
}

# One process of several, and all of them.
case_ctl_children()
{
	local first second
	"$HEAPWISE" run --no-symbols --children -o "$work/traces" -- sh -c "
		'$target' steered '$work/go' & '$target' steered '$work/go'; wait" >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	until_true eval 'test "$(wc -l <"$work/stdout")" -eq 2'
	{ read -r first; read -r second; } <"$work/stdout"
	until_true eval 'test "$(ctl "$first" pause | jq -r .state)" = paused'
	equal "the other" "$(ctl "$second" status | jq -r .state)" recording
	ctl "$monitor" pause >"$work/got"
	equal "all" "$(ctl "$first" status | jq -r .state) $(ctl "$second" status | jq -r .state)" "paused paused"
	ctl "$monitor" resume >"$work/got"
	equal "all" "$(ctl "$first" status | jq -r .state) $(ctl "$second" status | jq -r .state)" "recording recording"
	ctl "$first" stop >"$work/got"
	equal "the other" "$(ctl "$second" status | jq -r .state)" recording
	let_go
	equal "traces" "$(ls "$work/traces" | wc -l)" 3
}

# The header in C and C++, without extensions, and a program that calls it without Heapwise.
case_header()
{
	local compiler
	cat >"$work/use.c" <<-'C'
		#include <heapwise/heapwise.h>
		int main(void) { heapwise_pause(); return heapwise_restart("x") + heapwise_state(); }
	C
	cp "$work/use.c" "$work/use.cpp"
	for compiler in "gcc -std=c99" "gcc -std=c17" "clang -std=c11" "g++ -std=c++98 -Wno-long-long" \
		"g++ -std=c++20" "clang++ -std=c++17"; do
		name=${compiler%% *}
		has "$name" "${name/clang++/clang}" || continue
		case $compiler in *++*) source=use.cpp ;; *) source=use.c ;; esac
		$compiler -Wall -Wextra -pedantic -Werror -I"$HEAPWISE_SOURCE_DIR/include" "$work/$source" -o "$work/use" ||
			fail "$compiler"
		"$work/use" || fail "$compiler: without Heapwise it does something"
	done
	for words in "restart $work/a $work/b" "busy $work/a" "refused x" "marks" "paused" "again $work/a x" "started"; do
		"$target" $words >"$work/stdout" || fail "control $words without Heapwise: $?"
	done
	[ ! -e "$work/a" ] || fail "a file was written"
}

# A program whose monitor is killed: calls return, and soon.
case_monitor_killed()
{
	"$HEAPWISE" run --no-symbols -o "$work/trace" -- "$target" orphan "$work/two" >"$work/stdout" 2>/dev/null &
	monitor=$!
	until_true grep -q done "$work/stdout"
	wait "$monitor" 2>/dev/null
	equal "states" "$(cat "$work/stdout")" "2
1
done"
}

run_case "$1"
finish
