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
LD_PRELOAD=$(preloadable "$HEAPWISE_BUILD_DIR/libheapwise.so") valgrind --leak-check=full --show-leak-kinds=all \
	--run-libc-freeres=no --run-cxx-freeres=no "${program[@]}" >/dev/null 2>"$work/memcheck"
# class LINE_OF_MEMCHECK   "bytes blocks"
class()
{
	sed -n "s/.*$1: \([0-9,]*\) bytes in \([0-9,]*\) blocks.*/\1 \2/p" "$work/memcheck" | tr -d ','
}

# The loader's table of modules begins where a cache line does in its block: whether that is the block's own start, which makes it
# reachable and not possibly lost, is another matter in each process.
table=$(grep -B9 _dl_find_object_update "$work/memcheck" | sed -n 's/.* \([0-9,]*\) bytes in \([0-9,]*\) blocks are .*/\1 \2/p' | tr -d ',')
together= all_ours=0 all_theirs=0
if [ -n "$table" ]; then
	echo "the loader's table: $table"
	together="possible reachable"
fi

while read -r name words; do
	ours=$(jq -r ".image_list[0] | \"\\(.${name}_bytes) \\(.${name}_chunks)\"" "$work/info")
	theirs=$(class "$words")
	theirs=${theirs:-0 0}
	echo "$name: $ours"
	case " $together " in
	*" $name "*)
		all_ours="$all_ours + ${ours% *} + ${ours#* } * 1000000000"
		all_theirs="$all_theirs + ${theirs% *} + ${theirs#* } * 1000000000"
		;;
	*) equal "bytes and chunks $words" "$ours" "$theirs" ;;
	esac
done <<'ROWS'
lost definitely lost
indirect indirectly lost
possible possibly lost
reachable still reachable
ROWS
equal "chunks and bytes possibly lost or reachable" "$(($all_ours))" "$(($all_theirs))"
[ "$failures" -eq 0 ] || { cat "$work/memcheck"; "$HEAPWISE" trace dump --facts "$work/trace"; }
finish
