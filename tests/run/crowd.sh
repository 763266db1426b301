#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# crowd.sh CASE   more threads and processes at once than there used to be room for: all are recorded, or it is said why not.
. "$(dirname "$0")/lib.sh"
crowd=$HEAPWISE_TARGETS/crowd
each=10 # blocks

# alive LIMIT COUNT   so many children at once, with at most LIMIT descriptors
alive()
{
	rm -rf "$work/traces"
	(ulimit -n "$1"; "$HEAPWISE" run --children --no-symbols -o "$work/traces" -- "$crowd" children "$2" >"$work/stdout" 2>"$work/stderr") ||
		fail "$2 children: status $?: $(tail -3 "$work/stderr")"
	equal "$2 children that ended well" "$(cat "$work/stdout")" "$2"
	traces=$(ls "$work/traces" | wc -l)
}

case_children()
{
	alive 4096 600
	equal "traces" "$traces" 601
	! grep "not recorded" "$work/stderr" || fail "not all are recorded"
}

case_descriptors()
{
	local without

	alive 256 120
	equal "traces" "$traces" 121
	alive 256 400
	without=$(sed -n 's/.*: \([0-9]*\) processes were not recorded: no trace could be opened: .*ulimit -n.*/\1/p' "$work/stderr")
	equal "traces and those that are said to have none" $((traces + ${without:-0})) 401
	at_least "processes without a trace" "${without:-0}" 1
}

case_threads()
{
	"$HEAPWISE" run --no-symbols -o "$work/trace" -- "$crowd" threads 5000 >"$work/stdout" 2>"$work/stderr"
	[ "$(cat "$work/stdout")" = 5000 ] || skip "the machine lets a process have $(cat "$work/stdout") threads"
	! grep -i "lost\|dropped" "$work/stderr" || fail "events are missing"
	equal "blocks of 5000 threads" "$("$HEAPWISE" trace dump "$work/trace" | awk '$3 == "malloc" && $5 == 101' | wc -l)" $((5000 * each))
}

run_case "$1"
finish
