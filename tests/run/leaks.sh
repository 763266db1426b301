#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# leaks.sh TARGET CASE   blocks and bytes of each class, as Heapwise's scan at exit and memcheck's leak
# check find them in the same program.
. "$(dirname "$0")/lib.sh"

needs valgrind
program=("$HEAPWISE_TARGETS/$1" "$2")

record "$work/trace" -- "${program[@]}"
equal "exit status" "$status" 0
whole "$work/trace"
"$HEAPWISE" trace info --format json "$work/trace" >"$work/info"
equal "scan" "$(jq -r '.image_list[0] | .scan + .scan_reason' "$work/info")" done

# With the recorder, asleep, in memcheck's run, too: the C library's tables of thread-local data have a
# row for each module that has any.
LD_PRELOAD=$HEAPWISE_BUILD_DIR/libheapwise.so valgrind --leak-check=full --show-leak-kinds=all \
	--run-libc-freeres=no --run-cxx-freeres=no "${program[@]}" >/dev/null 2>"$work/memcheck"
# class LINE_OF_MEMCHECK   "bytes blocks"
class()
{
	sed -n "s/.*$1: \([0-9,]*\) bytes in \([0-9,]*\) blocks.*/\1 \2/p" "$work/memcheck" | tr -d ','
}

while read -r name words; do
	ours=$(jq -r ".image_list[0] | \"\\(.${name}_bytes) \\(.${name}_chunks)\"" "$work/info")
	theirs=$(class "$words")
	echo "$name: $ours"
	equal "bytes and chunks $words" "$ours" "${theirs:-0 0}"
done <<'ROWS'
lost definitely lost
indirect indirectly lost
possible possibly lost
reachable still reachable
ROWS
[ "$failures" -eq 0 ] || { cat "$work/memcheck"; "$HEAPWISE" trace dump --facts "$work/trace"; }
finish
