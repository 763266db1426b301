#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dumps.sh CASE   dumps of a program that runs, by itself (heapwise_dump), by heapwise ctl, regularly and at its end
# (tests/targets/dumps.c says what is true).
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
target=$HEAPWISE_TARGETS/dumps
header='HeapLog|version=4|address|size|count|type_id|tick|freed_tick|callgraph_node'

# live FILE, freed FILE   sizes of such entries; freed: how many of 77 bytes
live() { awk -F', ' '/\|/ { table = $0 } table ~ /^HeapLog/ && NF == 7 && $6 == 0 && $2 >= 1000 && $2 < 2000 { print $2 }' "$1" | sort -n | xargs; }
freed() { awk -F', ' '/\|/ { table = $0 } table ~ /^HeapLog/ && NF == 7 && $6 != 0 && $2 == 77' "$1" | wc -l; }

# whole FILE   it has its three tables, and the call graph names the functions of each entry's stack
whole()
{
	equal "header of $1" "$(head -1 "$1")" "$header"
	equal "tables of $1" "$(grep -c '|version=4|' "$1")" 3
	equal "stacks of $1" "$(awk -F', ' '
		/\|/ { table = $0; next }
		table ~ /^HeapLog/ && $6 == 0 && $2 >= 1000 && $2 < 2000 { node[$7] = 1 }
		table ~ /^CallGraph/ { parent[$1] = $2; name[$1] = $4 }
		END { for (n in node) print name[n] "<" name[parent[n]] }' "$1" | sort -u | sed 's/<.*//' | xargs)" keeps
	ls -- "$1".?????? >/dev/null 2>&1 && fail "a copy is left: $(ls -- "$1".??????)"
}

all="1000 1001 1002 1003 1004 1005 1006 1007 1008 1009"

# wait_for COMMAND...   at most 20 s
wait_for()
{
	for ((i = 0; i < 1000; i++)); do
		"$@" && return
		sleep 0.02
	done
	fail "in vain: $*"
}

is_full() { [ "$(wc -l <"$1")" -eq 1001 ]; }

# start COUNT OPTION...   the program that waits; $monitor, $program
start()
{
	local count=$1

	shift
	rm -f go stdout
	"$HEAPWISE" run -o trace.hwt "$@" -- "$target" waits go "$count" >stdout 2>stderr &
	monitor=$!
	program=$(child_of "$monitor")
	wait_for grep -q ready stdout
}

let_go()
{
	touch go
	wait "$monitor"
	equal "exit status" "$?" 0
}

case_program()
{
	"$HEAPWISE" run --no-symbols -o trace.hwt "$target" asks first >stdout 2>stderr
	equal "status" $? 0
	printf '%s\n' "live 0 -" "freed 0 -" "numbered 0 -" "nowhere -1 ENOENT" "empty -1 ENOENT" "paused 0 -" "stopped 0 -" |
		diff - stdout || fail "the program was told something else"
	whole first
	equal "live" "$(live first)" "$all"
	equal "freed, unasked" "$(freed first)" 0
	whole trace.0001.heaplog
	equal "live, later" "$(live trace.0001.heaplog)" "${all#1000 }"
	equal "freed" "$(freed trace.0001.heaplog)" 700
	whole trace.0002.heaplog
	equal "freed, unasked" "$(freed trace.0002.heaplog)" 0
	whole paused
	[ -e stopped ] && fail "nothing is recorded, and a dump was made of it"
	equal "files" "$(echo ./*)" "./first ./paused ./stderr ./stdout ./trace.0001.heaplog ./trace.0002.heaplog ./trace.hwt"
	# without Heapwise nothing happens
	"$target" asks alone >stdout || fail "alone: status $?"
	[ -e alone ] && fail "a dump without Heapwise"
}

# The trace is nobody's to write over.
case_trace()
{
	"$HEAPWISE" run --no-symbols -o trace.hwt "$target" trace trace.hwt >stdout 2>stderr
	equal "told" "$(cat stdout)" "trace -1 EBUSY"
	whole_trace=$("$HEAPWISE" trace info --format json trace.hwt | jq .closed)
	equal "closed" "$whole_trace" true
	start 10
	"$HEAPWISE" ctl "$program" dump -o trace.hwt 2>errors
	equal "status" $? 3
	says errors "busy"
	let_go
}

case_ctl()
{
	start 300
	"$HEAPWISE" ctl --format json "$program" dump >answer || fail "status $?"
	equal "dump" "$(jq -r .dump answer)" "$PWD/trace.0001.heaplog"
	equal "live entries" "$(jq .live_entries answer)" 10
	whole trace.0001.heaplog
	equal "live" "$(live trace.0001.heaplog)" "$all"
	equal "freed, unasked" "$(freed trace.0001.heaplog)" 0
	"$HEAPWISE" ctl "$monitor" dump --freed -o full >answer || fail "status $?"
	whole full
	at_least "freed" "$(freed full)" 300
	"$HEAPWISE" ctl "$program" dump -o /no/such/folder/dump 2>errors
	equal "status" $? 3
	says errors "No such file"
	"$HEAPWISE" ctl "$program" status --freed 2>errors
	equal "status" $? 2
	# what was dumped can be read again
	"$HEAPWISE" import --from heaplog -o again.hwt full 2>/dev/null || fail "import: status $?"
	equal "kept" "$(field again.hwt .kept.chunks)" 10
	"$HEAPWISE" ctl "$program" stop >answer
	"$HEAPWISE" ctl "$program" dump 2>errors
	equal "status, stopped" $? 3
	says errors "stopped"
	let_go
	equal "closed" "$("$HEAPWISE" trace info --format json trace.hwt | jq .closed)" true
	"$HEAPWISE" ctl "$program" dump 2>errors
	equal "status, ended" $? 3
}

# Regular dumps come while the program runs; at its end each freed entry is in one of the files.
case_regular()
{
	start 2500 --dump out --dump-every 1000
	wait_for test -s out.0002
	equal "running" "$(kill -0 "$program" && echo yes)" yes
	equal "header" "$(head -1 out.0001)" "$header"
	wait_for is_full out.0002
	[ -e out ] && fail "the full dump comes at the end"
	cp out.0001 early.0001
	let_go
	cmp -s early.0001 out.0001 || fail "the first set has changed"
	whole out
	equal "live" "$(live out)" "$all"
	for file in out.[0-9]*; do
		equal "entries of $file" "$(wc -l <"$file")" 1001
	done
	equal "all freed entries" "$(cat out out.[0-9]* | awk -F', ' 'NF == 7 && $6 != 0' | wc -l)" \
		"$("$HEAPWISE" report --no-symbols --format json trace.hwt | jq .frees)"
	says stderr "dump out, "
	equal "as exported" "$("$HEAPWISE" export --no-symbols --to heaplog --every 1000 -o later trace.hwt && cat later.0001 | cksum)" \
		"$(cksum <out.0001)"
	"$HEAPWISE" run --dump-every 10 true 2>errors
	equal "status" $? 2
	"$HEAPWISE" run --children --dump x true 2>errors
	equal "status" $? 2
}

case_end()
{
	"$HEAPWISE" run -o trace.hwt --dump out "$target" waits . 50 >stdout 2>stderr || fail "status $?"
	whole out
	equal "live" "$(live out)" "$all"
	equal "freed" "$(freed out)" 50
	"$HEAPWISE" run -o trace.hwt --dump /no/such/folder/x "$target" waits . 50 >stdout 2>stderr
	equal "status" $? 0
	says stderr "dump failed: cannot write /no/such/folder/x"
	"$HEAPWISE" run -o trace.hwt --dump killed sh -c 'kill -9 $$' 2>stderr
	equal "status of one that was killed" $? 137
}

case_threads()
{
	"$HEAPWISE" run --no-symbols -o trace.hwt "$target" threads out >stdout 2>stderr || fail "status $?"
	equal "told" "$(sort -u stdout)" "live 0 -"
	whole out
	equal "live" "$(live out)" "$all"
	equal "lost" "$(field trace.hwt .lost_events)" 0
}

run_case "$1"
finish
