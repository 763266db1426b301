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
	near "pinned" "$(part pinned end_bytes)" $((10000 * 208)) 8
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
	"$HEAPWISE" trace index trace.hwt >/dev/null 2>&1 || fail "no index"
	"$HEAPWISE" report --no-symbols --format json trace.hwt | jq .memory | cmp - plain || fail "the index differs"
}

case_killed()
{
	record trace.hwt -- sh -c 'kill -9 $$'
	equal "memory at the end" "$(field trace.hwt '[.memory[].end_bytes // empty] | length')" 0
	"$HEAPWISE" report --no-symbols trace.hwt >report || fail "status $?"
}

# Kernels before 6.7 have a word for each page instead of an answer. The recorder's own memory is large and mostly untouched, and a look
# that takes its time is not repeated soon: it must not be read.
case_old_kernel()
{
	printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$HEAPWISE_TARGETS/old_kernel" "$HEAPWISE" >old
	chmod 755 old
	HEAPWISE=$work/old
	case_parts
	rm trace.hwt*
	case_burst 4000 # a look may be due late
}

# most_over_time COLUMN TRACE   of memory_over_time
most_over_time()
{
	field "$2" "[.memory_over_time[].$1] | max"
}

# Little is live after a burst, and all of it is resident still: for most of the run, and not at its end.
case_burst()
{
	record trace.hwt -- "$HEAPWISE_TARGETS/burst" "${1-1000}" >said
	equal "status" "$status" 0
	at_least "samples" "$(field trace.hwt .rss.samples)" 10
	near "most resident" "$(field trace.hwt .rss.max_bytes)" "$(said rss)" 1
	near "most over time" "$(most_over_time rss_bytes trace.hwt)" "$(said rss)" 2
	# some look saw the gap, and takes it apart
	held=$(field trace.hwt '[.memory[] | select(.part == "cached" or .part == "pinned") | [.most_bytes, .gap_bytes // 0]] |
		[(map(.[0]) | add), (map(.[1]) | add)] | max')
	at_least "free pages and pinned bytes" "$held" $((70 << 20))
	at_most "those at the end" "$(field trace.hwt '[.memory[] | select(.part == "cached" or .part == "pinned") | .end_bytes] | add')" \
		$((4 << 20))
	# the gap is there for a part of the run that can be seen
	at_least "samples far above live" "$(field trace.hwt '[.memory_over_time[] | select(.other_bytes > 70000000)] | length')" 5
	at_least "CPU time" "$(field trace.hwt .cpu_time_ns)" 1000000
	at_least "allocator's part of it" "$(field trace.hwt 'if .allocator_high_ns <= .cpu_time_ns then 1 else 0 end')" 1
}

# What was sampled until then is there, the last sample and the gap included.
# Free pages are resident again since the kernel has made huge pages of them, and are not if it may not.
case_huge_pages()
{
	record trace.hwt -- "$HEAPWISE_TARGETS/burst" 1500 huge >said
	equal "status" "$status" 0
	[ "$(said rss)" -gt $(($(said trimmed) + (60 << 20))) ] || skip "this kernel does not make huge pages on request"
	"$HEAPWISE_TARGETS/burst" 1 disabled >disabled
	at_least "resident with huge pages" $(($(said rss) - $(sed -n 's/^rss //p' disabled))) $((60 << 20))
	"$HEAPWISE" resident --at 1500ms --format json trace.hwt >bill || fail "no bill"
	equal "cause" "$(jq -r .cause bill)" huge_pages
	at_least "bytes in huge pages" "$(jq .huge_bytes bill)" $((70 << 20))
	near "sum" "$(jq .sum_bytes bill)" "$(jq .rss_bytes bill)" 1
	jq -r .advice bill | grep -q "in huge pages, which are resident as a whole; turn transparent huge pages off" || fail "no advice"
	# the same without: nothing is resident that huge pages could have made
	record without.hwt -- "$HEAPWISE_TARGETS/burst" 1500 disabled >said
	"$HEAPWISE" resident --at 1500ms --format json without.hwt >bill || fail "no bill without"
	at_most "bytes in huge pages without them, the recorder's" "$(jq .huge_bytes bill)" $((4 << 20))
	[ "$(jq -r .cause bill)" != huge_pages ] || fail "huge pages without any"
}

case_burst_killed()
{
	"$HEAPWISE" run --no-symbols -o trace.hwt -- "$HEAPWISE_TARGETS/burst" 60000 >said 2>log &
	pid=$!
	for _ in $(seq 200); do
		sleep 0.1
		program=$(pgrep -P "$pid" burst) && [ "$(awk '{ print $2 }' "/proc/$program/statm" 2>/dev/null)" -gt 20000 ] && break
	done
	sleep 2
	kill -9 "$program"
	wait "$pid"
	at_least "most over time" "$(most_over_time rss_bytes trace.hwt)" $((78 << 20))
	at_least "widest gap" "$(most_over_time other_bytes trace.hwt)" $((70 << 20))
	at_least "free pages and pinned bytes" "$(field trace.hwt '[.memory[] | select(.part == "cached" or .part == "pinned") |
		[.most_bytes, .gap_bytes // 0]] | [(map(.[0]) | add), (map(.[1]) | add)] | max')" $((70 << 20))
	at_least "CPU time" "$(field trace.hwt .cpu_time_ns)" 1000000
}

case_burst_children()
{
	"$HEAPWISE" run --no-symbols --children -o traces -- sh -c '"$1" 700; "$1" 700; :' sh "$HEAPWISE_TARGETS/burst" >said 2>log ||
		fail "status $?"
	found=0
	for trace in traces*/* traces*.hwt; do
		[ -f "$trace" ] && [ "$(most_over_time other_bytes "$trace" 2>/dev/null)" -ge $((70 << 20)) ] 2>/dev/null && found=$((found + 1))
	done
	equal "children whose gap was seen" "$found" 2
}

# Bounded: the number of samples grows with the logarithm of the time, some 256 at first.
case_many_samples()
{
	record trace.hwt -- "$HEAPWISE_TARGETS/burst" 6000 >said
	at_most "samples" "$(field trace.hwt .rss.samples)" 600
	at_least "samples" "$(field trace.hwt .rss.samples)" 20
}

# Each snapshot is looked at, although the next regular look would come later.
case_snapshot()
{
	"$HEAPWISE" run --no-symbols -o trace.hwt -- "$HEAPWISE_TARGETS/burst" 6000 >said 2>log &
	pid=$!
	taken=0
	for _ in $(seq 100); do
		sleep 0.33
		program=$(pgrep -P "$pid" burst) && "$HEAPWISE" ctl "$program" snapshot >/dev/null 2>&1 && taken=$((taken + 1))
		[ "$taken" -lt 4 ] || break
	done
	wait "$pid" || fail "status $?"
	"$HEAPWISE" trace dump --facts trace.hwt >dump
	equal "snapshots" "$(awk '$3 == "mark"' dump | wc -l)" 4
	longest=$(awk '$3 == "mark" { marks[++count] = $1 }
		/^# memory time_ns/ { looks[++seen] = $4 }
		END {
			for (i = 1; i <= count; i++) {
				nearest = 1e12
				for (k = 1; k <= seen; k++)
					if (looks[k] >= marks[i] && looks[k] - marks[i] < nearest)
						nearest = looks[k] - marks[i]
				if (nearest > longest)
					longest = nearest
			}
			printf "%d", longest
		}' dump)
	at_most "time from a snapshot to a look, ns" "$longest" 100000000
}

# comb PAGES THREADS   the points that are named, moved to a pool, save what was predicted.
comb()
{
	local arguments="64 $1 $2 48" before after
	# shellcheck disable=SC2086
	before=$("$HEAPWISE_TARGETS/comb" $arguments | sed 's/.* //')
	# shellcheck disable=SC2086
	after=$("$HEAPWISE_TARGETS/comb" $arguments pool | sed 's/.* //')
	# shellcheck disable=SC2086
	"$HEAPWISE" run -q -o trace.hwt -- "$HEAPWISE_TARGETS/comb" $arguments >said || fail "status $?"
	"$HEAPWISE" resident --at end --top 0 --format json trace.hwt >bill || fail "no bill"
	near "sum" "$(jq .sum_bytes bill)" "$(jq .rss_bytes bill)" 1
	near "resident" "$(jq .rss_bytes bill)" $(($(said resident) * 1024)) 1
	near "least saving" "$(jq .cut.least_bytes bill)" $(((before - after) * 1024)) 15
	near "most saving" "$(jq .cut.most_bytes bill)" $(((before - after) * 1024)) 15
	equal "cause" "$(jq -r .cause bill)" pinned_by_few
	equal "points of the cut" "$(jq -r '[.cut_points[].stack[0].function] | join(" ")' bill)" kept_block
	equal "who left it behind" \
		"$(jq -r '.points | max_by(.left_bytes + .cached_bytes) | .stack[0].function' bill)" burst_block
	# each byte is charged once: to points, or to nobody where no block ever lay
	near "pinned by points" "$(jq '[.points[].pinned_bytes] | add' bill)" \
		"$(jq '.parts[] | select(.part == "pinned") | .bytes' bill)" 1
	near "live of points" "$(jq '[.points[].requested_bytes] | add' bill)" \
		"$(jq '.parts[] | select(.part == "requested") | .bytes' bill)" 1
}

case_comb_each_page() { comb 1 1; }
case_comb_ten_pages() { comb 10 1; }
case_comb_threads() { comb 1 8; }

run_case "$1"
finish
