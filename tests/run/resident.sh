#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# resident.sh CASE   the account of resident memory against what the program reads of /proc and of its C library.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
[ -r /proc/self/smaps_rollup ] && [ -r /proc/self/pagemap ] || skip "this kernel does not tell where memory is"

# said NAME   of what the program printed
said()
{
	sed -n "s/^$1 //p" said
}

# part NAME COLUMN
part()
{
	field trace.hwt ".memory[] | select(.part == \"$1\") | .$2"
}

# near WHAT GOT WANTED PERCENT
near()
{
	awk -v got="$2" -v wanted="$3" -v percent="$4" 'BEGIN {
		off = got - wanted; if (off < 0) off = -off
		exit !(got != "" && got != "null" && off * 100 <= wanted * percent) }' ||
		fail "$1 is $2, not within $4 % of $3"
}

case_parts()
{
	record trace.hwt -- "$HEAPWISE_TARGETS/resident" "${1-1}" >said
	equal "status" "$status" 0
	near "resident" "$(part resident end_bytes)" "$(said rss)" 1
	near "sum" "$(part sum end_bytes)" "$(part resident end_bytes)" 1
	requested=$(($(said requested) + $(said big)))
	near "requested" "$(part requested end_bytes)" "$requested" 1
	near "not resident" "$(part not_resident end_bytes)" "$(said untouched)" 1
	# what glibc calls in use is what was requested and its headers; the big blocks are not in it
	near "slack" "$(($(part slack end_bytes) + $(said requested)))" "$(said uordblks)" 2
	near "mappings" "$(part mappings end_bytes)" "$(said mapped)" 3
	at_least "stacks" "$(part stacks end_bytes)" "$(said stack)"
	at_most "stacks" "$(part stacks end_bytes)" $(($(said stack) + 200000 + 40000 * ${1-1}))
	# half of the first half is free between blocks; a quarter of all are free pages
	near "fragmentation" "$(part fragmentation end_bytes)" $((10000 * 208)) 8
	near "cached" "$(part cached end_bytes)" $((10000 * 208)) 8
	at_least "code" "$(part code end_bytes)" 1000000
	at_least "recorder" "$(part recorder end_bytes)" 100000
}

case_threads() { case_parts 8; }

# The same from an index; and nothing of a program that ended before anybody could look.
case_index()
{
	record trace.hwt -- "$HEAPWISE_TARGETS/resident" >said
	"$HEAPWISE" report --no-symbols --no-index --format json trace.hwt | jq .memory >plain
	"$HEAPWISE" index trace.hwt >/dev/null 2>&1 || fail "no index"
	"$HEAPWISE" report --no-symbols --format json trace.hwt | jq .memory | cmp - plain || fail "the index differs"
}

case_killed()
{
	record trace.hwt -- sh -c 'kill -9 $$'
	equal "memory at the end" "$(field trace.hwt '[.memory[].end_bytes // empty] | length')" 0
	"$HEAPWISE" report --no-symbols trace.hwt >report || fail "status $?"
}

run_case "$1"
finish
