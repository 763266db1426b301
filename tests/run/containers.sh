#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# containers.sh CASE   heapwise owners shows the containers that a program says it has, with their elements and places.
. "$(dirname "$0")/lib.sh"

needs jq
targets=$(dirname "$0")/../targets

# build COMPILER SOURCE FLAGS...   the program, or the test is skipped
build()
{
	local compiler=$1 source=$2

	shift 2
	needs "$compiler" "$compiler"
	"$compiler" "$@" "$targets/$source" -o "$work/program" || fail "cannot build $source with $compiler $*"
}

# record   the program; containers as JSON
record()
{
	"$HEAPWISE" run -q --owners -o "$work/trace" -- "$work/program" >"$work/expected"
	equal "status" "$?" 0
	[ "$(wc -l <"$work/expected")" -ge 6 ] || fail "the program says nothing of its containers"
	"$HEAPWISE" owners --top 0 --format json "$work/trace" >"$work/json"
	equal "status of owners" "$?" 0
}

# named   "NAME|KIND|ELEMENTS|PLACES" of each
named()
{
	jq -r '.containers[] | [(.container | sub(" \\(collections.c(pp)?:[0-9]+\\)"; "") | sub("\\(unsigned long\\)"; "")), .kind, .elements // "?", .capacity // "-"] | join("|")' \
		"$work/json"
}

# compare_shared   owners of each shared_ptr, which use_count() says; objects are known by the vector that they have
compare_shared()
{
	local elements owners

	while read -r _ elements owners; do
		equal "owners of the session with $elements marks" "$(jq -r ".containers[] | select(.elements == $elements) | .path" "$work/json" |
			grep -o 'shared_ptr, [0-9]* owner')" "shared_ptr, $owners owner"
	done < <(grep '^shared ' "$work/expected")
}

# compare   all that the program says, by name
compare()
{
	record
	named | sort >"$work/found"
	equal "containers that are missing" "$(grep -v '^shared ' "$work/expected" | sort | comm -23 - "$work/found")" ""
	compare_shared
}

# compare_shapes   the same by numbers, where there are no names; all but those that match PATTERN
compare_shapes()
{
	record
	named | cut -d'|' -f2- | sort >"$work/found"
	equal "containers that are missing" "$(grep -Ev "$1" "$work/expected" | cut -d'|' -f2- | sort | comm -23 - "$work/found")" ""
	equal "by shape" "$(jq '[.containers[].by_shape] | unique' -c "$work/json")" "[1]"
}

case_c() { build gcc collections.c -O0 -g && compare; }
case_c_optimised() { build gcc collections.c -O2 -g && compare; }
case_c_clang() { build clang collections.c -O1 -g && compare; }
# Without symbols a variable is so many pointers, and none of them an array; which numbers beside them count is unknown.
case_c_stripped() { build gcc collections.c -O1 -s && compare_shapes 'server .buckets|items|bytes|values'; }
case_gcc() { build g++ collections.cpp -O0 -g && compare; }
case_gcc_optimised() { build g++ collections.cpp -O2 -g && compare; }
case_clang() { build clang++ collections.cpp -O1 -g -stdlib=libstdc++ && compare; }
# Variables of main, and of a function that it calls.
case_stack_gcc() { build g++ collections.cpp -O0 -g -DON_STACK && compare; }
case_stack_gcc_optimised() { build g++ collections.cpp -O2 -g -DON_STACK && compare; }
case_stack_clang() { build clang++ collections.cpp -O0 -g -fstandalone-debug -stdlib=libstdc++ -DON_STACK && compare; }
case_stack_clang_optimised() { build clang++ collections.cpp -O2 -g -stdlib=libstdc++ -DON_STACK && compare; }
# The frame is told by one register, its variables by the stack pointer: so it is with clang on aarch64, and where frames are aligned.
case_stack_clang_aligned() { build clang++ collections.cpp -O2 -g -stdlib=libstdc++ -DON_STACK -DALIGNMENT=64 && compare; }
# Its package and libunwind-dev, which libgoogle-perftools-dev needs, cannot both be installed.
case_libcxx()
{
	[ -e /usr/lib/llvm-14/include/c++/v1/vector ] || skip "libc++ is not installed"
	build clang++-14 collections.cpp -O1 -g -stdlib=libc++ && compare
}

# The bytes that a container retains are those that the program gave it.
case_retained()
{
	build gcc collections.c -O1 -g && record
	retained() { jq ".containers[] | select(.container | endswith(\"$1\")) | [.retained_bytes, .bytes, .slack_bytes]" -c "$work/json"; }
	equal "hash table" "$(retained "dict .table")" "[$((1024 * 8 + 3000 * (24 + 100))),$((1024 * 8 + 3000 * 24)),0]"
	equal "array of pointers" "$(retained ".recent")" "[$((400 * 8 + 300 * 124)),3200,800]"
	equal "open addressing" "$(retained ".slots")" "[$((2048 * 24 + 900 * 50)),$((2048 * 24)),$((1148 * 24))]"
	equal "numbers beside the pointer" "$(retained ".points.items")" "[$((400 * 24)),$((400 * 24)),$((250 * 24))]"
	equal "list" "$(retained ".jobs")" "[$((250 * 56)),$((250 * 56)),null]"
	equal "largest" "$(jq -r .container "$work/json" | sed 's/c:[0-9]*)/c)/')" \
		"server (collections.c) .db.dict → dict .table (hash table) holds 3,000 elements in 1,024 buckets and retains 371 KiB"
}

# The end of a map lies in what has the map, and nodes point there: that does not make it one of them.
case_held()
{
	needs g++
	cat >"$work/held.cpp" <<-'SOURCE'
		#include <map>
		#include <set>
		struct Registry {
			std::map<int, int> sessions;
			std::set<long> ids;
		};
		static Registry *registry;
		int main()
		{
			registry = new Registry;
			for (int i = 0; i < 5000; i++) {
				registry->sessions[i] = i;
				registry->ids.insert(i);
			}
			return registry->ids.size() != 5000;
		}
	SOURCE
	g++ -g -O0 -o "$work/held" "$work/held.cpp" || fail "cannot compile"
	"$HEAPWISE" run -q --owners -o "$work/trace" -- "$work/held"
	"$HEAPWISE" owners --format json "$work/trace" >"$work/json" 2>"$work/stderr"
	equal "maps" "$(jq -r '.containers[] | "\(.elements) \(.container) \(.kind)"' "$work/json" | sort)" \
		"$(printf '5000 %s\n' "Registry .ids std::set<long>" "Registry .sessions std::map<int, int>")"
}

run_case "$1"
finish
