#!/bin/bash
# SPDX-License-Identifier: MIT
# access.sh CASE [COMPILER]   what is recorded of accesses to memory, and what `heapwise cc` makes.
. "$(dirname "$0")/lib.sh"
targets_source=$HEAPWISE_SOURCE_DIR/tests/targets
export HEAPWISE_CC=${2:-gcc}
command -v "$HEAPWISE_CC" >/dev/null || skip "no $HEAPWISE_CC here"

# merges OPTION...   how far the compiler tells several accesses as one; see accesses.c
merges()
{
	case "$HEAPWISE_CC $*" in
	*clang*) echo 0 ;;
	*-O0*) echo 1 ;;
	*-O1*) echo 2 ;;
	*) echo 3 ;;
	esac
}

# build OUTPUT ARGUMENT...   compiles with heapwise cc
build()
{
	local output=$1
	shift
	"$HEAPWISE" cc -g -DMERGES=$(merges "$@") "$@" -o "$output" -lpthread ||
		{ fail "cannot build: $*"; finish; }
}

# accesses TRACE   "size reads writes read_bytes written_bytes low high flags" of each chunk
accesses()
{
	"$HEAPWISE" dump "$1" | awk '
		$3 ~ /^(malloc|calloc|realloc|memalign|new|new_array)$/ { size[$6] = $5 }
		$1 == "#" && $2 == "access" {
			for (i = 4; i < NF; i += 2)
				value[$i] = $(i + 1)
			print size[$3], value["reads"], value["writes"], value["read_bytes"], \
				value["written_bytes"], value["low"], value["high"], value["flags"]
		}'
}

# told PROGRAM OPTION...   each line of the program's truth is recorded
told()
{
	local program=$1 line
	shift
	record "$work/told.hwt" "$@" -- "$program" >"$work/truth"
	equal "status of $program" "$status" 0
	accesses "$work/told.hwt" >"$work/seen"
	at_least "lines of truth of $program" "$(wc -l <"$work/truth")" 1
	while read -r line; do
		grep -qxF -- "$line" "$work/seen" ||
			fail "$program $*: not '$line' but '$(grep "^${line%% *} " "$work/seen")'"
	done <"$work/truth"
}

known_answers()
{
	local level
	for level in -O0 -O1 -O2 -O3 "-O2 -flto" "-O2 -fPIE -pie" "-O2 -no-pie -fno-pie"; do
		build "$work/accesses" $level "$targets_source/accesses.c"
		told "$work/accesses"
	done
	told "$work/accesses" --coverage
	told "$work/accesses" --exact-times
}

"$1"
finish
