#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# misuse.sh CASE       what the target `misuse` does wrong, against memcheck's count of the same
# misuse.sh together   all of it in one run, with an allocator that does not mind
# misuse.sh apart      the same of a program whose segments lie apart
# misuse.sh right      programs that do nothing wrong
# misuse.sh paused     frees of blocks that were allocated while recording was paused
# misuse.sh forked     frees in a forked child of blocks that its parent allocated
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

# found TRACE JQ_CONDITION   wrong calls of which it holds
found()
{
	"$HEAPWISE" leaks --format json "$1" | jq "[.misuse[] | select($2) | .count] | add // 0"
}

invalid='.certain and .kind != "mismatch"'
mismatch='.certain and .kind == "mismatch"'

one_case()
{
	local plain
	needs valgrind

	"$HEAPWISE_TARGETS/misuse" "$1" 2>plain.err
	plain=$?
	"$HEAPWISE" run -q -o trace -- "$HEAPWISE_TARGETS/misuse" "$1" 2>recorded.err
	equal "exit status" "$?" "$plain"
	diff plain.err recorded.err >/dev/null || fail "the program says '$(cat recorded.err)', not '$(cat plain.err)'"
	valgrind --num-callers=20 "$HEAPWISE_TARGETS/misuse" "$1" >/dev/null 2>memcheck
	equal "invalid frees" "$(found trace "$invalid")" "$(grep -c 'Invalid free' memcheck)"
	equal "mismatched frees" "$(found trace "$mismatch")" "$(grep -c 'Mismatched free' memcheck)"
	equal "uncertain ones" "$(found trace '.certain | not')" 0

	"$HEAPWISE" leaks --fail-on misuse trace >text 2>stderr
	status=$?
	if [ "$1" = right ]; then
		equal "status of --fail-on" "$status" 0
		return
	fi
	equal "status of --fail-on" "$status" 1
	says stderr "failed: 1 wrong call"
	# The wrong free is in the function that the case is named after, and so is the allocation.
	"$HEAPWISE" leaks --format json trace >json
	equal "function of the free" "$(jq -r --arg name "$1" '[.misuse[0].stack[].function] | any(startswith($name + "("))' json)" true
	case $1 in
	double_free)
		equal "first free" "$(jq -r '.misuse[0].first_free_stack[0].function' json)" "free_once(void*)"
		equal "second free" "$(jq -r '.misuse[0].stack[0].function' json)" "free_again(void*)"
		;;
	esac
	case $1 in
	of_data | of_stack)
		equal "allocation" "$(jq '.misuse[0].allocation_stack' json)" null
		;;
	*)
		equal "allocation" "$(jq -r --arg name "$1" '[.misuse[0].allocation_stack[].function] | any(startswith($name + "("))' json)" true
		;;
	esac
	"$HEAPWISE" report trace >report
	says report "^  misuse +1  "
}

together()
{
	local wrong=(malloc_delete malloc_delete_array new_free new_delete_array array_delete array_free
		new_realloc double_free delete_twice realloc_freed inside of_data of_stack)

	# Heapwise has that allocator, too; a sanitizer in it would take what it never sees freed for leaks.
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 LD_PRELOAD=$(preloadable "$HEAPWISE_TARGETS/libbump.so") "$HEAPWISE" run -q -o trace -- \
		"$HEAPWISE_TARGETS/misuse" "${wrong[@]}" right
	equal "exit status" "$?" 0
	"$HEAPWISE" leaks --top 0 --format json trace >json
	equal "double frees" "$(found trace '.certain and .kind == "double_free"')" 3
	equal "frees inside a block" "$(found trace '.certain and .kind == "inside"')" 1
	equal "frees of static data" "$(found trace '.certain and .kind == "invalid_free"')" 1
	equal "mismatches" "$(found trace "$mismatch")" 7
	# An address of the stack may be a block of an allocator's that nobody saw: it took it.
	equal "frees of anything" "$(found trace '(.certain | not) and .kind == "invalid_free"')" 1
	equal "all" "$(found trace true)" 13
}

right_program()
{
	local name=$1
	shift
	has "$1" || return 0
	"$HEAPWISE" run -q -o "$name" -- "$@" >/dev/null 2>stderr </dev/null
	equal "exit status of $name" "$?" 0
	equal "misuse in $name" "$("$HEAPWISE" leaks --format json "$name" | jq -c '[.misuse_certain, .misuse_possible, .misuse_not_judged]')" "[0,0,0]"
	programs=$((programs + 1))
}

right()
{
	programs=0
	right_program sqlite3 sqlite3 -batch :memory: "create table t(a); insert into t values(1); select * from t;"
	right_program python3 python3 -c "import json; print(json.dumps({str(i): i for i in range(1000)}))"
	right_program containers "$HEAPWISE_TARGETS/containers" 2000
	right_program own-new "$HEAPWISE_TARGETS/own_new"
	right_program own-delete "$HEAPWISE_TARGETS/own_delete"
	right_program own-array "$HEAPWISE_TARGETS/own_array"
	right_program clang clang --version
	right_program cmake cmake --version
	if [ -z "${HEAPWISE_SANITIZE-}" ]; then # as any program with a sanitizer it would be refused
		right_program heapwise "$HEAPWISE" report containers
	fi
	at_least "programs" "$programs" 5
}

# The target pauses and resumes; see there.
paused()
{
	"$HEAPWISE" run -q -o trace -- "$HEAPWISE_TARGETS/pauses"
	equal "exit status" "$?" 0
	equal "unknown frees" "$(field trace .unknown_frees)" 2
	equal "misuse" "$("$HEAPWISE" leaks --format json trace | jq -c '[.misuse_certain, .misuse_possible, .misuse_not_judged]')" "[0,0,2]"
	"$HEAPWISE" leaks --fail-on misuse trace >text || fail "blocks from a pause make --fail-on misuse fail"
	says text "not judged: 2 frees of blocks that may have been allocated while recording was paused"
}

# The kernel maps a program whose segments lie apart one by one; it is one module all the same, from its header to its last variable.
apart()
{
	g++ -g -O1 -fno-builtin -w -Wl,-z,max-page-size=65536 -Wl,--build-id "$HEAPWISE_SOURCE_DIR/tests/targets/misuse.cpp" -o apart -pthread ||
		fail "cannot build it"
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 LD_PRELOAD=$(preloadable "$HEAPWISE_TARGETS/libbump.so") "$HEAPWISE" run -q -o trace -- ./apart of_data
	equal "exit status" "$?" 0
	equal "frees of static data" "$(found trace '.certain and .kind == "invalid_free"')" 1
	equal "build-id" "$("$HEAPWISE" trace info --format json trace | jq -r '.module_list[] | select(.path | endswith("/apart")) | .build_id')" \
		"$(readelf -n apart | sed -n 's/.*Build ID: //p')"
}

# Each of 5 children frees one block of its parent's, and 50 of its own.
forked()
{
	local child children=0
	"$HEAPWISE" run -q --children -o traces -- "$HEAPWISE_TARGETS/children" fork 5 >/dev/null
	equal "exit status" "$?" 0
	equal "traces" "$(find traces -name '*.hwt' | wc -l)" 6
	for child in traces/*.hwt; do
		[ "$(field "$child" .unknown_frees)" = 0 ] && continue
		equal "misuse" "$("$HEAPWISE" leaks --format json "$child" | jq -c '[.misuse_certain, .misuse_possible, .misuse_not_judged]')" "[0,0,1]"
		"$HEAPWISE" leaks "$child" >text
		says text "not judged: 1 free of blocks that may have been allocated before this recording began"
		equal "caveats" "$(field "$child" '[.caveats[] | select(test("^1 free of chunks allocated before this recording began$"))] | length')" 1
		children=$((children + 1))
	done
	equal "children with blocks of their parent" "$children" 5
}

case $1 in
together | right | paused | apart | forked)
	"$1"
	;;
*)
	one_case "${1#case-}"
	;;
esac
finish
