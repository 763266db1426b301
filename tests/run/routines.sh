#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# routines.sh COMPILER CASE   routines that begin and end: the call graph of the recording has the calls that the
# program counted itself. COMPILER is gcc, clang, or valgrind for a program that is not instrumented.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
sources=$HEAPWISE_SOURCE_DIR/tests/targets
compiler=$1
options=(--routines)

if [ "$compiler" = valgrind ]; then
	needs valgrind
	[ -d "$(dirname "$HEAPWISE")/valgrind" ] || lacks valgrind
	options=(--access valgrind --routines)
else
	needs "$compiler"
fi

# build SOURCE PROGRAM OPTION...   with the instrumentation that the case is about
build()
{
	local source=$1 program=$2 language=cc

	shift 2
	[ "${source%.cpp}" = "$source" ] || language=c++
	if [ "$compiler" = valgrind ]; then
		${language/#cc/gcc} -g "$@" "$sources/$source" -o "$program" -pthread
	else
		HEAPWISE_CC=$compiler "$HEAPWISE" "$language" --routines -g "$@" "$sources/$source" -o "$program" -pthread
	fi || fail "cannot build $source"
}

# graph TRACE   its calls: "NAME CALLS" and "CALLER>CALLEE CALLS"
graph()
{
	"$HEAPWISE" trace callgraph --format json "$1" >graph.json
	jq -r '(.routines[] | "\(.routine) \(.calls)"), (.edges[] | "\(.caller)>\(.callee) \(.calls)")' graph.json |
		sed 's/(int)//g; s/(int, int)//g'
}

# agrees PROGRAM ARGUMENT...   each line that the program prints is in the graph; routines end once
agrees()
{
	"$HEAPWISE" run -o trace.hwt "${options[@]}" "$@" >counts 2>stderr || fail "status $?"
	[ -s counts ] || fail "the program counted nothing"
	graph trace.hwt >graph.txt
	while read -r line; do
		grep -qxF "$line" graph.txt || fail "not recorded: '$line' but '$(grep "^${line% *} " graph.txt)'"
	done < <(sed "${filter_counts-}" counts)
	equal "lost" "$(field trace.hwt .lost_events)" 0
}

# Every call has its end, as far as routines end at all.
ends_once()
{
	equal "unfinished" "$(jq .unfinished graph.json)" "${1:-0}"
	equal "strange_exits" "$(jq .strange_exits graph.json)" 0
	equal "missing_exits" "$(jq .missing_exits graph.json)" 0
}

case_plain()
{
	for level in -O0 -O2 -O3; do
		build routines.c program $level
		agrees ./program plain
		grep '^_vg[rw]' graph.txt && fail "functions have Valgrind's names"
		[ "$compiler" = valgrind ] || ends_once
		[ "$compiler" = valgrind ] || equal "unwound at $level" "$(jq .unwound graph.json)" 0
	done
	[ "$compiler" = valgrind ] || return 0
	silent() { equal "$1" "$(jq -r '.caveats[]' graph.json | grep -c 'no routine of the program itself')" "$2"; }
	silent "words on a program with symbols" 0
	strip program
	"$HEAPWISE" run -o trace.hwt "${options[@]}" ./program plain >counts 2>stderr || fail "status $?"
	graph trace.hwt >graph.txt
	silent "words on a stripped one" 1
}

case_jumps()
{
	for level in -O0 -O2; do
		build routines.c program $level
		agrees ./program jumps
		[ "$compiler" = valgrind ] || ends_once
		# below Valgrind also what the loader leaves by a jump
		[ "$compiler" = valgrind ] && at_least "unwound" "$(jq .unwound graph.json)" 80
		[ "$compiler" = valgrind ] || equal "unwound" "$(jq .unwound graph.json)" 80
	done
}

case_throw()
{
	for level in -O0 -O2; do
		build routines_throw.cpp program $level
		agrees ./program
		[ "$compiler" = valgrind ] || ends_once
	done
}

case_signals() { build routines.c program -O1; agrees ./program signals; [ "$compiler" = valgrind ] || ends_once; }
case_threads() { build routines.c program -O2; agrees ./program threads; [ "$compiler" = valgrind ] || ends_once; }
# Calls are right; who called is told by the order in the thread, which coroutines interleave.
case_coroutines()
{
	build routines.c program -O1
	filter_counts='/>/d'
	agrees ./program coroutines
	equal "strange_exits" "$(jq .strange_exits graph.json)" 0
}

case_deep() { build routines.c program -O1; agrees ./program deep; }

# Without heapwise run the program runs as ever, and so it does in a run that does not want routines.
case_unrecorded()
{
	build routines.c program -O2
	./program plain >alone || fail "status $? alone"
	"$HEAPWISE" run -o trace.hwt ./program plain >counts 2>stderr
	cmp -s alone counts || fail "the program prints something else"
	"$HEAPWISE" trace info trace.hwt >info
	grep -q "^  routines" info && fail "routines were recorded unasked"
	"$HEAPWISE" run -o trace.hwt --routines /bin/true 2>stderr
	"$HEAPWISE" run -o trace.hwt --routines "$HEAPWISE_TARGETS/calls" >counts 2>stderr
	says stderr "no routine was recorded"
}

case_filter()
{
	build routines.c program -O1
	options[-1]=--routines=leaf,rec*
	"$HEAPWISE" run -o trace.hwt "${options[@]}" ./program plain >counts 2>stderr
	graph trace.hwt >graph.txt
	grep -qxF "$(grep '^leaf ' counts)" graph.txt || fail "leaf is not whole"
	grep -qxF "$(grep '^recurses ' counts)" graph.txt || fail "recurses is not whole"
	grep -q "middle" graph.txt && fail "middle was left out"
	"$HEAPWISE" trace info trace.hwt >info
	says info "routine_filter +leaf,rec"
	says info "routine_left_out +[0-9]"
	options[-1]=--routines=prog?am
	agrees ./program plain
	grep -q "main" graph.txt || fail "the whole module is wanted"
	options[-1]=--routines=libnothing*
	"$HEAPWISE" run -o trace.hwt "${options[@]}" ./program plain >counts 2>stderr
	says stderr "no routine was recorded"
}

case_sample()
{
	local recorded left

	build routines.c program -O1
	"$HEAPWISE" run -o all.hwt "${options[@]}" ./program threads >counts 2>stderr
	"$HEAPWISE" run -o trace.hwt "${options[@]}" --routine-sample 10 ./program threads >counts 2>stderr
	graph trace.hwt >graph.txt
	recorded=$(sed -n 's/^middle //p' graph.txt)
	left=$("$HEAPWISE" trace info trace.hwt | sed -n 's/.*routine_left_out *//p')
	at_least "calls of middle" "$recorded" 390
	at_most "calls of middle" "$recorded" 550
	at_least "left out" "$left" 3000
	# leaf is sampled below the first calls of middle, and whole below all others
	at_least "all that a recorded call calls" "$(sed -n 's/^middle>leaf //p' graph.txt)" "$((recorded * 3 - 48))"
}

run_case "$2"
finish
