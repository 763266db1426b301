#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# routine-stacks.sh COMPILER CASE   stacks that are made of routines (run --stacks routines): event by event they have the
# functions that the unwinder finds, as far as these are instrumented, also where there is nothing to unwind by.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
sources=$HEAPWISE_SOURCE_DIR/tests/targets
compiler=$1
without=(-fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer)
needs "$compiler"

# build SOURCE PROGRAM OPTION...
build()
{
	local source=$1 program=$2 language=cc

	shift 2
	[ "${source%.cpp}" = "$source" ] || language=c++
	HEAPWISE_CC=$compiler "$HEAPWISE" "$language" --routines -g "$@" "$sources/$source" -o "$program" -pthread ||
		fail "cannot build $source"
}

# stacks HOW FILE PROGRAM ARGUMENT...   its events, in order: kind, size, instrumented functions from the inside out
stacks()
{
	local how=$1 file=$2

	shift 2
	"$HEAPWISE" run --stacks "$how" ${options[@]+"${options[@]}"} -o "$how.hwt" "$@" >stdout 2>stderr || fail "$how: status $?"
	names "$how.hwt" >"$file"
}

# names TRACE
names()
{
	"$HEAPWISE" trace dump --stacks "$1" | awk '$1 !~ /^#/ {
		line = $3 " " $5
		for (i = 10; i <= NF; i++)
			if ($i ~ /^((in|case)_[a-z_]*|touch|main)(\(.*)?$/) {
				sub(/\(.*/, "", $i)
				line = line " " $i
			}
		if (line ~ / main| in_/) print line }'
}

# agrees PROGRAM ARGUMENT...   both ways give the same
agrees()
{
	stacks unwind unwound "$@"
	stacks routines made "$@"
	same "$@"
}

same()
{
	at_least "events" "$(wc -l <made)" 10
	cmp -s unwound made || { fail "$*: not as unwound:"; diff unwound made | head -10; }
	equal "lost" "$(field routines.hwt .lost_events)" 0
	rm -f routines.hwt.json
}

# Events of threads come in any order.
sorted()
{
	sort -o unwound unwound
	sort -o made made
}

# without_tables CASE LEVEL   what cannot be unwound has the stacks of a build that can be
without_tables()
{
	build routine_stacks.c bare "$2" "${without[@]}"
	stacks unwind unwound ./program "$1"
	stacks unwind broken ./bare "$1"
	cmp -s unwound broken && fail "$1: this program can be unwound"
	stacks routines made ./bare "$1"
	sorted
	same "$1 $2, without tables"
}

levels()
{
	for level in -O0 -O2; do
		build routine_stacks.c program $level
		agrees ./program "$1"
		without_tables "$1" $level
	done
}

case_plain() { levels plain; }
case_jumps() { levels jumps; }
case_signals() { levels signals; }

case_threads()
{
	for level in -O0 -O2; do
		build routine_stacks.c program $level
		stacks unwind unwound ./program threads
		stacks routines made ./program threads
		sorted
		same threads
		without_tables threads $level
	done
}

case_throw()
{
	for level in -O0 -O2; do
		build routine_stacks_throw.cpp program $level
		agrees ./program
	done
}

# Coroutines are told apart by their outermost frames, which takes unwind tables.
case_coroutines()
{
	build routine_stacks.c program -O1
	agrees ./program coroutines
}

# Code that was made at run time, by which no unwinder gets to its caller.
case_generated()
{
	for level in -O0 -O2; do
		build routine_stacks.c program $level
		stacks unwind unwound ./program generated
		grep -q 'in_called_back in_generated' unwound && fail "this program can be unwound"
		stacks routines made ./program generated
		for call in "870 touch in_leaf in_called_back" "880 touch in_called_back" "890 touch"; do
			for kind in malloc free; do
				equal "$kind $call at $level" "$(grep -cx "$kind $call in_generated case_generated main" made)" 3
			done
		done
	done
}

# A child begins where its parent was.
case_fork()
{
	for flags in "" "${without[*]}"; do
		# shellcheck disable=SC2086
		build routine_stacks.c program -O2 $flags
		rm -rf traces
		"$HEAPWISE" run --stacks routines --children -o traces ./program fork 2>stderr || fail "status $?"
		for trace in traces/*.hwt; do
			names "$trace"
		done | grep '^malloc' | sort >made
		printf 'malloc %s case_fork main\n' "750 touch in_leaf in_middle in_forks" "751 touch in_middle in_forks" \
			"752 touch in_leaf in_middle in_forks" "760 touch in_forks" "770 touch in_leaf" "770 touch in_leaf" >wanted
		cmp -s wanted made || { fail "fork $flags:"; diff wanted made; }
	done
}

# Outer frames are cut as those of the unwinder are; of what is deeper than the recorder keeps, only the caller is known.
case_deep()
{
	build routine_stacks.c program -O1
	"$HEAPWISE" run --stacks unwind -o unwind.hwt ./program deep 2>stderr || fail "status $?"
	"$HEAPWISE" run --stacks routines -o routines.hwt ./program deep 2>stderr || fail "status $?"
	says stderr "stacks cut at the depth limit"
	for how in unwind routines; do
		names $how.hwt | grep -v ' 900 ' >$how.txt
		names $how.hwt | grep ' 900 ' | awk '{ print NF }' | sort | uniq -c >$how.deep
	done
	cmp -s unwind.txt routines.txt || { fail "deep:"; diff unwind.txt routines.txt | head -5 | cut -c1-200; }
	at_least "in_recurses" "$(grep -c in_recurses routines.txt)" 300
	# in_deep(20000) begins twice within reach; stacks of 1024 frames
	at_least "whole" "$(awk '$2 >= 1020 { n += $1 } END { print n + 0 }' routines.deep)" 2
	build routine_stacks.c bare -O1 "${without[@]}"
	"$HEAPWISE" run --stacks routines -o routines.hwt ./bare deep 2>stderr || fail "status $?"
	names routines.hwt | grep -v ' 900 ' >routines.txt
	cmp -s unwind.txt routines.txt || fail "deep, without tables"
}

# Paused or not, it is known where the program is; steps may be recorded beside.
case_options()
{
	build routine_stacks.c program -O2
	options=(--routines --no-free-stacks --exact-times)
	stacks unwind unwound ./program jumps
	stacks routines made ./program jumps
	same "with steps"
	options=(--routines --routine-sample 5)
	stacks unwind unwound ./program plain
	stacks routines made ./program plain
	same "with a sample of the steps"
	options=(--routines=in_leaf,main)
	stacks routines made ./program plain
	grep -q "in_leaf.* main" made || fail "the filter lets in_leaf and main through"
	"$HEAPWISE" run --stacks routines --no-stacks ./program plain 2>stderr
	equal "status" $? 2
	"$HEAPWISE" run --stacks routines --access valgrind ./program plain 2>stderr
	equal "status" $? 2
}

# A program that tells of no routines is told so, and has not a page of nothing.
case_none()
{
	"$compiler" -g "$sources/routine_stacks.c" -o program -pthread || fail "cannot build"
	"$HEAPWISE" run --stacks routines -o trace.hwt ./program plain 2>stderr || fail "status $?"
	says stderr "no routine events recorded; stacks have one frame"
	"$HEAPWISE" report trace.hwt >report
	says report "no routine events recorded"
	says report "in_leaf"
	build routine_stacks.c program -O2
	"$HEAPWISE" run --stacks routines -o trace.hwt ./program plain 2>stderr || fail "status $?"
	grep -q "no routine" stderr && fail "there were routines"
	"$HEAPWISE" report trace.hwt >report
	says report "stacks consist of instrumented routines"
}

run_case "$2"
finish
