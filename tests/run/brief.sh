#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# brief.sh   what `heapwise run` says at the end, from a model that grew while the program ran, is what `heapwise findings`
# says of the file: allocations, leaks, accesses, samples, several images, a program that was killed, many events.
. "$(dirname "$0")/lib.sh"

# of_file TRACE   the first three findings as the end of a run says them, which is without types
of_file()
{
	"$HEAPWISE" findings --no-index --format json "$1" 2>/dev/null |
		jq -r '.findings[:3][] | (": " + (.type // "")) as $type |
			"heapwise: finding \(.rank): \(.where | rtrimstr($type))\nheapwise:   \(.text)"'
}

# same NAME LEAST OPTION... -- PROGRAM...   at least LEAST findings, and the same ones
same()
{
	local name=$1 least=$2

	shift 2
	"$HEAPWISE" run -o "$work/$name.hwt" "$@" >"$work/stdout" 2>"$work/stderr" || :
	grep -E '^heapwise: (finding [0-9]|  )' "$work/stderr" >"$work/said"
	of_file "$work/$name.hwt" >"$work/file"
	at_least "$name: findings" "$(grep -c ': finding ' "$work/said")" "$least"
	cmp -s "$work/said" "$work/file" || { fail "$name: the end of the run says other things than the file:"; diff "$work/said" "$work/file"; }
}

targets=$HEAPWISE_TARGETS
same leaks 2 -- "$targets/leaks" lists
same c++ 2 -- "$targets/containers"
same sampled 1 --sample 512 -- "$targets/sampled" 20000
same images 1 -- env A=b nice -n 1 sh -c "exec $targets/leaks trees"
same limited 0 --max-size 1K -- "$targets/sampled" 20000
same threads 1 -- "$targets/threads"
same empty 0 -- "$targets/empty"
same many 1 -- "$targets/many" 100000
same killed 1 -- sh -c "$targets/leaks trees; kill -9 \$\$"

if [ -z "${HEAPWISE_SANITIZE-}" ]; then
	"$HEAPWISE" c++ -g -O1 -o "$work/wastes" "$HEAPWISE_SOURCE_DIR/tests/targets/wastes.cpp" || fail "cannot compile"
	same accesses 3 --access exact -- "$work/wastes"
	same coverage 3 --access exact --coverage -- "$work/wastes"
fi
finish
