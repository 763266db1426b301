#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pools.sh CASE [SUFFIX]   custom allocators (--alloc-fn, --free-fn): the recording has what the target counted.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
suffix=${2-}
below=
if [ "$suffix" = valgrind ]; then
	needs valgrind
	[ -d "$(dirname "$HEAPWISE")/valgrind" ] || lacks valgrind
	below="--access valgrind" suffix=_Os
fi
pools=$HEAPWISE_TARGETS/pools$suffix

arena="--alloc-fn arena_alloc --free-fn arena_free"
plain="--alloc-fn plain_alloc --alloc-fn plain_resize:2 --free-fn plain_free"
sized="--alloc-fn sized_alloc:3 --free-fn sized_free:2"

# counted NAME   of the line that the target printed
counted()
{
	sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" stdout
}

# pool_bytes TRACE   bytes of the pools' blocks
pool_bytes()
{
	"$HEAPWISE" trace dump "$1" | awk '$1 !~ /^#/ && $3 == "pool" { sum += $5 } END { print sum + 0 }'
}

# agrees CASE OPTION...   records the case and compares
agrees()
{
	local case=$1

	shift
	"$HEAPWISE" run --no-symbols -o trace.hwt $below "$@" "$pools" $case >stdout 2>stderr || fail "$case: status $?"
	equal "$case: pool" "$(field trace.hwt .calls.pool)" "$(counted allocs)"
	equal "$case: pool_free" "$(field trace.hwt .calls.pool_free)" "$(counted frees)"
	equal "$case: bytes" "$(pool_bytes trace.hwt)" "$(counted bytes)"
	whole trace.hwt
	grep "NOT recorded" stderr && fail "$case: a function was not recorded"
	return 0
}

# beside ALLOWED   blocks of malloc's beside the pools: those that the target counted, and a few of the C library
beside()
{
	at_least "malloc" "$(field trace.hwt '.calls.malloc + .calls.realloc')" "$(counted mallocs)"
	at_most "malloc" "$(field trace.hwt '.calls.malloc + .calls.realloc')" $(($(counted mallocs) + $1))
}

case_pointers() { agrees pointers $arena --alloc-fn region_alloc --free-fn region_free; beside 5; }
case_library() { agrees library $arena; beside 5; }
case_program() { agrees program --alloc-fn region_alloc --free-fn region_free; beside 5; }
case_two() { agrees two $arena $sized; beside 5; }
case_wrapper() { agrees wrapper $plain; beside 5; }
case_threads() { agrees threads $arena $plain; beside 20; }
case_jumps() { agrees jumps --alloc-fn jumping_alloc --free-fn arena_free; beside 5; }
case_local() { agrees local --alloc-fn local_alloc --free-fn local_free; beside 5; }
case_late() { ln -s "$HEAPWISE_TARGETS/late_pool$suffix.so" .; agrees "late $PWD/late_pool$suffix.so" --alloc-fn late_alloc --free-fn late_free; beside 40; }
case_nested() { agrees jumps --alloc-fn jumping_alloc $arena; beside 5; }

# A size that is no argument is named; what is found where one would be is not taken for it.
case_fixed()
{
	agrees fixed --alloc-fn cell_get:=48 --free-fn cell_put:2
	grep "cannot be a size" stderr && fail "the fixed size is doubted"
	"$HEAPWISE" trace info trace.hwt >info
	says info "alloc cell_get:=48 recorded"
	"$HEAPWISE" run --no-symbols -o trace.hwt $below --alloc-fn cell_get --free-fn cell_put:2 "$pools" fixed >stdout 2>stderr
	equal "pool without a size" "$(field trace.hwt .calls.pool)" "$(counted allocs)"
	equal "bytes without a size" "$(pool_bytes trace.hwt)" 0
	says stderr "--alloc-fn cell_get: argument 1 of 300 calls cannot be a size"
}

case_sampled()
{
	"$HEAPWISE" run --no-symbols --sample 1 -o trace.hwt $plain "$pools" wrapper >stdout 2>stderr
	equal "pool" "$(field trace.hwt .calls.pool)" $(($(counted allocs) - 1)) # one has no byte
	equal "unknown_frees" "$(field trace.hwt .unknown_frees)" 0
}

case_children()
{
	"$HEAPWISE" run --no-symbols --children -o traces $arena "$pools" forks >stdout 2>stderr
	for trace in traces/*; do
		equal "$trace: pool" "$(field "$trace" .calls.pool)" 600
		whole "$trace"
	done
	equal "traces" "$(ls traces/*.hwt | wc -l)" 2
	grep "NOT recorded" stderr && fail "a function was not recorded"
}

# Without --children the child only forwards.
case_fork() { agrees forks $arena; }

case_missing()
{
	"$HEAPWISE" run --no-symbols -o trace.hwt --alloc-fn no_such_function $arena "$pools" library >stdout 2>stderr
	says stderr "--alloc-fn no_such_function was NOT recorded: no loaded module has this function"
	grep -q "arena_alloc was NOT" stderr && fail "arena_alloc was found"
	equal "pool" "$(field trace.hwt .calls.pool)" 600
	"$HEAPWISE" trace info trace.hwt >info
	says info "no_such_function:1 not found"
}

case_usage()
{
	for wrong in "--alloc-fn x:0" "--alloc-fn x:7" "--alloc-fn x:y" "--alloc-fn :1" "--free-fn only" "--alloc-fn x:=" \
		"--alloc-fn x:=0" "--alloc-fn x:=-1" "--alloc-fn x:=9E" "--alloc-fn x:=256T" "--alloc-fn x --free-fn y:=8"; do
		"$HEAPWISE" run -o trace.hwt $wrong "$pools" library >stdout 2>stderr
		equal "status of $wrong" $? 2
	done
	[ -e trace.hwt ] && fail "a usage error made a trace"
}

# A function of four bytes right before the next one has no room for a jump.
case_unfit()
{
	[ "$(uname -m)" = x86_64 ] || skip "on this CPU every instruction has room for a jump"
	"$HEAPWISE" run --no-symbols -o trace.hwt --alloc-fn region_alloc --free-fn region_free "$pools" program \
		>stdout 2>stderr
	equal "status" $? 0
	says stderr "--free-fn region_free was NOT recorded: its first instructions cannot be moved"
	equal "pool" "$(field trace.hwt .calls.pool)" "$(counted allocs)"
}

# The recorder reads instructions as binutils do.
case_instructions()
{
	[ -x "$HEAPWISE_TARGETS/instructions" ] || skip "for x86_64 only"
	needs objdump binutils
	for file in "$(ldd "$HEAPWISE" | awk '/libc\.so/ { print $3 }')" "$HEAPWISE"; do
		objdump -d --insn-width=15 "$file" | "$HEAPWISE_TARGETS/instructions" >compared || fail "$file: $(cat compared)"
		at_least "instructions of $file" "$(sed -n 's/compared \([0-9]*\).*/\1/p' compared)" 10000
		equal "refused of $file" "$(sed -n 's/.*refused \([0-9]*\).*/\1/p' compared)" 0
	done
}

# The set of held blocks is full: counted twice, said, and still no unknown frees.
case_full()
{
	"$HEAPWISE" run --no-symbols --no-stacks -o trace.hwt $plain "$pools" many >stdout 2>stderr
	says stderr "their table is full"
	equal "pool" "$(field trace.hwt .calls.pool)" "$(counted allocs)"
	equal "unknown_frees" "$(field trace.hwt .unknown_frees)" 0
}

run_case "$1"
finish
