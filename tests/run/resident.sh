#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# resident.sh CASE   the account of resident memory against what the program reads of /proc and of its C library.
. "$(dirname "$0")/lib.sh"
sources=$(cd "$(dirname "$0")/../targets" && pwd)
cd "$work" || exit 1
[ -r /proc/self/smaps_rollup ] && [ -r /proc/self/pagemap ] || skip "this kernel does not tell where memory is"

# said NAME   of what the program printed
said()
{
	sed -n "s/^$1 //p" said
}

# resident_field FILTER   of what heapwise resident says of trace.hwt
resident_field()
{
	"$HEAPWISE" resident --format json trace.hwt | jq -r "$1"
}

# part NAME COLUMN
part()
{
	resident_field ".memory[] | select(.part == \"$1\") | .$2"
}

# near WHAT GOT WANTED PERCENT
near()
{
	awk -v got="$2" -v wanted="$3" -v percent="$4" 'BEGIN {
		off = got - wanted; if (off < 0) off = -off
		exit !(got != "" && got != "null" && off * 100 <= wanted * percent) }' ||
		fail "$1 is $2, not within $4 % of $3"
}

# free_at_looks TRACE   "time in ns, free bytes of the allocator's pages" of each look so far
free_at_looks()
{
	"$HEAPWISE" resident --no-symbols --no-index --format json "$1" 2>/dev/null |
		jq -r '.over_time[] | "\(.time_ns) \(.pinned_bytes + .cached_bytes)"' 2>/dev/null
}

# until_looked TRACE PID MEBIBYTES   waits until a look found so much to be free while a program lingers (linger.h), which ends
# the rest. When that look comes goes by the machine. Its time in ns is in $looked_ns, "" if there was none.
until_looked()
{
	local begun
	looked_ns=
	while [ ! -e "$LINGER.begun" ] && kill -0 "$2" 2>/dev/null; do
		sleep 0.02
	done
	begun=$(cat "$LINGER.begun" 2>/dev/null)
	while kill -0 "$2" 2>/dev/null; do
		sleep 0.1
		looked_ns=$(free_at_looks "$1" | awk -v begun="$begun" -v least="$3" '$1 >= begun && $2 >= least * 1048576 { print $1; exit }')
		[ -z "$looked_ns" ] || break
	done
	touch "$LINGER"
}

# record_looked MEBIBYTES TRACE [OPTION...] -- PROGRAM [ARGUMENT...]   as record, of a program that lingers until it was looked at
record_looked()
{
	local free=$1 trace=$2 pid
	shift 2
	export LINGER=$work/linger
	rm -f "$LINGER" "$LINGER.begun"
	"$HEAPWISE" run -o "$trace" "$@" 2>"$work/stderr" &
	pid=$!
	until_looked "$trace" "$pid" "$free"
	wait "$pid"
	status=$?
	unset LINGER
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
	"$HEAPWISE" resident --no-symbols --no-index --format json trace.hwt | jq .memory >plain
	"$HEAPWISE" trace index trace.hwt >/dev/null 2>&1 || fail "no index"
	"$HEAPWISE" resident --no-symbols --format json trace.hwt | jq .memory | cmp - plain || fail "the index differs"
}

case_killed()
{
	record trace.hwt -- sh -c 'kill -9 $$'
	resident_field '[.memory[].end_bytes // empty] | length' >"$work/ends" 2>/dev/null # nothing, if nobody has looked at all
	! grep -qv '^0$' "$work/ends" || fail "memory at the end: $(cat "$work/ends")"
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
	case_burst
}

# most_over_time COLUMN TRACE   of memory_over_time
most_over_time()
{
	field "$2" "[.memory_over_time[].$1] | max"
}

# Little is live after a burst, and all of it is resident still: for most of the run, and not at its end.
case_burst()
{
	record_looked 70 trace.hwt --no-symbols -- "$HEAPWISE_TARGETS/burst" 1000 >said
	equal "status" "$status" 0
	at_least "samples" "$(field trace.hwt .rss.samples)" 10
	near "most resident" "$(field trace.hwt .rss.max_bytes)" "$(said rss)" 1
	near "most over time" "$(most_over_time rss_bytes trace.hwt)" "$(said rss)" 2
	# some look saw the gap, and takes it apart
	held=$(resident_field '[.memory[] | select(.part == "cached" or .part == "pinned") | [.most_bytes, .gap_bytes // 0]] |
		[(map(.[0]) | add), (map(.[1]) | add)] | max')
	at_least "free pages and pinned bytes" "$held" $((70 << 20))
	at_most "those at the end" "$(resident_field '[.memory[] | select(.part == "cached" or .part == "pinned") | .end_bytes] | add')" \
		$((4 << 20))
	# the gap is there for a part of the run that can be seen
	at_least "samples far above live" "$(field trace.hwt '[.memory_over_time[] | select(.other_bytes > 70000000)] | length')" 5
	at_least "CPU time" "$(field trace.hwt .cpu_time_ns)" 1000000
	at_least "allocator's part of it" "$(field trace.hwt 'if .allocator_high_ns <= .cpu_time_ns then 1 else 0 end')" 1
}

# Free pages are resident again since the kernel has made huge pages of them, and are not if it may not.
case_huge_pages()
{
	record_looked 60 trace.hwt --no-symbols -- "$HEAPWISE_TARGETS/burst" 500 huge >said
	equal "status" "$status" 0
	[ "$(said rss)" -gt $(($(said trimmed) + (60 << 20))) ] || skip "this kernel does not make huge pages on request"
	"$HEAPWISE_TARGETS/burst" 1 disabled >disabled
	at_least "resident with huge pages" $(($(said rss) - $(sed -n 's/^rss //p' disabled))) $((60 << 20))
	"$HEAPWISE" resident --at "${looked_ns}ns" --format json trace.hwt >bill || fail "no bill"
	equal "cause" "$(jq -r .cause bill)" huge_pages
	at_least "bytes in huge pages" "$(jq .huge_bytes bill)" $((70 << 20))
	near "sum" "$(jq .sum_bytes bill)" "$(jq .rss_bytes bill)" 1
	jq -r .advice bill | grep -q "in huge pages, which are resident as a whole; turn transparent huge pages off" || fail "no advice"
	# the same without: nothing is resident that huge pages could have made
	record_looked 0 without.hwt --no-symbols -- "$HEAPWISE_TARGETS/burst" 500 disabled >said
	"$HEAPWISE" resident --at "${looked_ns}ns" --format json without.hwt >bill || fail "no bill without"
	at_most "bytes in huge pages without them, the recorder's" "$(jq .huge_bytes bill)" $((4 << 20))
	[ "$(jq -r .cause bill)" != huge_pages ] || fail "huge pages without any"
}

# What was sampled until then is there, the last sample and the gap included.
case_burst_killed()
{
	export LINGER=$work/linger
	"$HEAPWISE" run --no-symbols -o trace.hwt -- "$HEAPWISE_TARGETS/burst" 60000 >said 2>log &
	pid=$!
	until_looked trace.hwt "$pid" 70
	program=$(pgrep -P "$pid" burst)
	kill -9 "$program"
	wait "$pid"
	at_least "most over time" "$(most_over_time rss_bytes trace.hwt)" $((78 << 20))
	at_least "widest gap" "$(most_over_time other_bytes trace.hwt)" $((70 << 20))
	at_least "free pages and pinned bytes" "$(resident_field '[.memory[] | select(.part == "cached" or .part == "pinned") |
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
	local start_ns
	start_ns=$(date +%s%N)
	"$HEAPWISE" --version >/dev/null
	start_ns=$(($(date +%s%N) - start_ns))
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
	equal "looks for them" "$(grep -c "^# memory time_ns.* why snapshot" dump)" 4
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
	# a tenth of a second, and as much more as an emulated machine needs
	at_most "time from a snapshot to a look, ns" "$longest" $((100000000 + 10 * start_ns))
}

# target_with LIBRARY NAME   a target program with this allocator, "c" for the C library's
target_with()
{
	[ "$1" != c ] || { cp "$HEAPWISE_TARGETS/$2" . && return; }
	${CC-gcc} -O1 -g -fno-builtin "$sources/$2.c" -o "$2" -Wl,--no-as-needed "-l$1" -lpthread 2>log && return
	grep -q "cannot find -l" log || { cat log; fail "cannot be built"; exit 1; }
	case $1 in
	jemalloc) lacks libjemalloc-dev ;;
	tcmalloc*) lacks libgoogle-perftools-dev ;;
	*) lacks "lib$1-dev" ;;
	esac
}

# slack_of_blocks BILL   of the test's own blocks: libraries have blocks, too, before it begins
slack_of_blocks()
{
	jq '[.points[] | select(any(.stack[]; .function == "make_block")) | .slack_bytes] | add' "$1"
}

# slack LIBRARY BASIS   headers and rounding of blocks of all sizes, as the allocator itself says
slack()
{
	local header=$((10000 * ${3-0}))

	target_with "$1" slack
	for most in 100 1000 8000 20000; do
		"$HEAPWISE" run -q -o trace.hwt -- ./slack 10000 $most >said || fail "status $?"
		"$HEAPWISE" resident --at end --top 0 --format json trace.hwt >bill || fail "no bill"
		equal "basis" "$(jq -r .slack_basis bill)" "$2"
		near "slack of up to $most" "$(slack_of_blocks bill)" \
			$(($(said usable) - $(said requested) + header)) 1
	done
}

case_slack_glibc() { slack c "by glibc's rules" 8; }
case_slack_jemalloc() { slack jemalloc "by jemalloc's size classes"; }
case_slack_tcmalloc() { slack tcmalloc_minimal "by tcmalloc's size classes"; }
case_slack_mimalloc() { slack mimalloc "by mimalloc's size classes"; }

# An allocator that nobody knows
case_slack_own()
{
	target_with c slack
	${CC-gcc} -O1 -g -fno-builtin -DOWN_HEAP "$sources/slack.c" -o slack 2>log || { cat log; fail "cannot be built"; }
	"$HEAPWISE" run -q -o trace.hwt -- ./slack 10000 1000 >said || fail "status $?"
	"$HEAPWISE" resident --at end --top 0 --format json trace.hwt >bill || fail "no bill"
	equal "basis" "$(jq -r .slack_basis bill)" "inferred from addresses"
	near "slack" "$(slack_of_blocks bill)" $(($(said usable) - $(said requested))) 1
	# blocks of glibc's that are said to be of an allocator whose rules they break
	target_with c slack
	printf 'int mi_malloc_is_here; void *mi_malloc(unsigned long size) { return size ? &mi_malloc_is_here : 0; }\n' >mi.c
	${CC-gcc} -O1 -shared -fPIC mi.c -o libmimalloc.so.2 && LD_PRELOAD=$work/libmimalloc.so.2 "$HEAPWISE" run -q --no-symbols \
		-o trace.hwt -- ./slack 10000 1000 >said || fail "status $?"
	"$HEAPWISE" resident --no-symbols --at end --format json trace.hwt >bill || fail "no bill"
	equal "basis" "$(jq -r .slack_basis bill)" "inferred from addresses"
}

# comb LIBRARY MEBIBYTES PAGES THREADS   the points that are named, moved to a pool, save what was predicted: with glibc, which gives back what
# lies at the end of a heap, at once; with others once all free pages are given back. Of allocators with size classes those that stay have
# the size of the burst's, or they would not share its pages.
comb()
{
	local arguments="$2 $3 $4 1000" when=released plain pool

	[ "$1" != c ] || arguments="$2 $3 $4 48" when=
	target_with "$1" comb
	# shellcheck disable=SC2086
	{
		plain=$(./comb $arguments plain $when | sed 's/.* //')
		pool=$(./comb $arguments pool $when | sed 's/.* //')
		"$HEAPWISE" run -q -o trace.hwt -- ./comb $arguments >said || fail "status $?"
	}
	"$HEAPWISE" resident --at end --top 0 --format json trace.hwt >bill || fail "no bill"
	near "sum" "$(jq .sum_bytes bill)" "$(jq .rss_bytes bill)" 1
	near "resident" "$(jq .rss_bytes bill)" $(($(said resident) * 1024)) 1
	near "most saving" "$(jq .cut.most_bytes bill)" $(((plain - pool) * 1024)) 15
	if [ "$1" = c ]; then
		near "least saving" "$(jq .cut.least_bytes bill)" $(((plain - pool) * 1024)) 15
	else
		equal "least saving" "$(jq .cut.least_bytes bill)" 0
	fi
	equal "points of the cut" "$(jq -r '[.cut_points[].stack[0].function] | .[0:'"${points-9}"'] | join(" ")' bill)" kept_block
	equal "who left it behind" \
		"$(jq -r '.points | max_by(.left_bytes + .cached_bytes) | .stack[0].function' bill)" burst_block
	# each byte is charged once: to points, or to nobody where no block ever lay
	near "pinned by points" "$(jq '[.points[].pinned_bytes] | add' bill)" \
		"$(jq '.parts[] | select(.part == "pinned") | .bytes' bill)" 1
	near "live of points" "$(jq '[.points[].requested_bytes] | add' bill)" \
		"$(jq '.parts[] | select(.part == "requested") | .bytes' bill)" 1
	# pages between those that are held are free, and need nothing but to be given back; mimalloc gives back 64 KiB at once, or nothing
	case $1${pages-}-$3 in
	jemalloc-10 | tcmalloc*-10) equal "cause" "$(jq -r .cause bill)" not_given_back ;;
	*) equal "cause" "$(jq -r .cause bill)" pinned_by_few ;;
	esac
}

# finds KIND FUNCTION REPAIR PROGRAM...   that finding is the first one.
finds()
{
	local kind=$1 function=$2 repair=$3
	shift 3
	record_looked 40 found.hwt -q -- "$@" >said
	equal "status of $*" "$status" 0
	"$HEAPWISE" findings --format json found.hwt | jq '.findings[0]' >first
	equal "first finding of $*" "$(jq -r '"\(.kind) of \(.function)"' first)" "$kind of $function"
	equal "its repair" "$(jq -r --arg text "$repair" 'if .repair | contains($text) then "yes" else .repair end' first)" yes
	rm -f found.hwt*
}

# Why memory stays is one of four findings; its saving is what the repair is seen to save.
case_findings()
{
	local burst=$HEAPWISE_TARGETS/bursts saved
	finds pinned kept_block "pool" "$HEAPWISE_TARGETS/comb" 64 1 1 48
	finds left_behind fill "long-lived" "$burst" 1000 1 4
	finds not_given_back fill "malloc_trim" "$burst" 1000 1 79872
	finds arenas fill "MALLOC_ARENA_MAX" "$burst" 1000 8 50 turns
	saved=$(($(said rss) - $(MALLOC_ARENA_MAX=1 "$burst" 300 8 50 turns | sed -n 's/^rss //p')))
	near "what one arena saves" "$(jq '.saves_amount' first)" "$saved" 15
	# threads that are busy at the same time need as much in one arena
	finds not_given_back fill "malloc_trim" "$burst" 1000 8 50
}

case_comb_each_page() { comb c 64 1 1; }
case_comb_ten_pages() { comb c 64 10 1; }
case_comb_threads() { comb c 64 1 8; }
# It gives back what has been free for ten seconds: on a slow machine, while the program still runs.
comb_jemalloc()
{
	local pages= points=9
	export MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1
	# There its pages have 64 KiB: a kept block in ten pages of 4 KiB is one in each, other points hold one, too,
	# and so does each block in a thread's cache, which cannot be read.
	[ "$(uname -m)" != aarch64 ] || { pages=-64k points=1 MALLOC_CONF+=,tcache:false; }
	comb jemalloc "$@"
}

case_comb_jemalloc_each_page() { comb_jemalloc 64 1 1; }
case_comb_jemalloc_ten_pages() { comb_jemalloc 64 10 1; }
case_comb_jemalloc_threads() { comb_jemalloc 64 1 8; }
# It has caches, of up to 2 MiB a class, that nobody can empty.
case_comb_tcmalloc_each_page() { comb tcmalloc_minimal 128 1 1; }
case_comb_tcmalloc_ten_pages() { comb tcmalloc_minimal 256 10 1; }
case_comb_tcmalloc_threads() { comb tcmalloc_minimal 128 1 8; }

# It gives back what is free for a while, and only what another call of its finds to be.
comb_mimalloc()
{
	export MIMALLOC_DECOMMIT_DELAY=0 MIMALLOC_SEGMENT_DECOMMIT_DELAY=0 MIMALLOC_PURGE_DELAY=0
	comb mimalloc "$@"
}

case_comb_mimalloc_each_page() { comb_mimalloc 64 1 1; }
case_comb_mimalloc_ten_pages() { comb_mimalloc 64 10 1; }
case_comb_mimalloc_threads() { comb_mimalloc 64 1 8; }

# thread_caches THREADS ROUNDS   the table of caches is what the program knows, to the byte, and what glibc counts as in use and is not live.
thread_caches()
{
	record trace.hwt -- "$HEAPWISE_TARGETS/thread_caches" "$@" >said
	equal "status" "$status" 0
	"$HEAPWISE" resident --no-symbols --at end --top 0 --format json trace.hwt >bill || fail "no bill"
	equal "what the program knows" "$(said thread | awk '{ sum += $3 } END { print sum }')" "$(said in_use_not_live)"
	equal "caches that were not read" "$(jq .caches.unread_threads bill)" 0
	said thread | sort >want
	jq -r '.thread_caches[] | "\(.tid) \(.blocks) \(.bytes)"' bill | sort >got
	main=$(jq -r '.thread_caches[].tid' bill | while read -r tid; do grep -q "^$tid " want || echo "$tid"; done)
	grep -v "^${main:-none} " got | cmp - want || fail "the table is not what the program has"
	said size | sort >want
	jq -r '.thread_cache_sizes[] | "\(.tid) \(.size) \(.blocks)"' bill | grep -v "^${main:-none} " | sort | cmp - want ||
		fail "sizes are not what the program has"
	equal "account" "$(jq '.parts[] | select(.part == "thread_caches") | .bytes' bill)" "$(jq '[.thread_caches[].bytes] | add' bill)"
	equal "parts" "$(jq '[.parts[].bytes] | add' bill)" "$(jq .sum_bytes bill)"
	near "sum" "$(jq .sum_bytes bill)" "$(jq .rss_bytes bill)" 1
	# the function that freed them has them, but for the main thread's
	at_least "charged to its function" "$(jq '[.points[] | select(.thread_caches_bytes > 0)] | max_by(.thread_caches_bytes) | .thread_caches_bytes' bill)" \
		$(($(said in_use_not_live) - 32 * $1)) # but for the first block of each thread
	equal "at the last look" "$("$HEAPWISE" resident --no-symbols --format json trace.hwt | jq '.over_time[-1].thread_caches_bytes')" \
		"$(jq '.parts[] | select(.part == "thread_caches") | .bytes' bill)"
	"$HEAPWISE" resident --no-symbols --at end trace.hwt | grep -q "^Thread caches" || fail "no table in text"
	"$HEAPWISE" resident --no-symbols --at end --format csv trace.hwt | grep -q "thread_caches" || fail "no account in csv"
}

case_caches() { thread_caches 5 1; }
case_caches_again() { thread_caches 3 50; }
# More threads than arenas.
case_caches_many() { thread_caches 200 2; }

# Threads that have ended hide nothing, and have nothing.
case_caches_ended()
{
	record trace.hwt -- "$HEAPWISE_TARGETS/thread_caches" 20 1 5 end >said
	"$HEAPWISE" resident --no-symbols --at end --top 0 --format json trace.hwt >bill || fail "no bill"
	equal "threads" "$(jq '.caches.read_threads' bill)" 1
	equal "threads not read" "$(jq '.caches.unread_threads' bill)" 0
	at_least "bytes in its cache" "$(jq '[.thread_caches[].bytes] | add' bill)" "$(said thread | awk '{ print $3 }')"
}

# Without caches there are none, and nothing else changes.
case_caches_off()
{
	GLIBC_TUNABLES=glibc.malloc.tcache_count=0 record trace.hwt -- "$HEAPWISE_TARGETS/thread_caches" 3 >said
	"$HEAPWISE" resident --no-symbols --at end --format json trace.hwt >bill || fail "no bill"
	equal "account" "$(jq '.parts[] | select(.part == "thread_caches") | .bytes' bill)" 0
	equal "threads" "$(jq '.thread_caches | length' bill)" 0
	equal "threads not read" "$(jq .caches.unread_threads bill)" 0
}

# total TYPE   of all arenas, as the program's malloc_info says: the last such line but for mmap, which is in none
total()
{
	sed -n "s/^<total type=\"$1\" count=.* size=\"\([0-9]*\)\".*/\1/p" said | tail -1
}

# bins [large]   records a program whose caches and bins are known
bins()
{
	record trace.hwt -- "$HEAPWISE_TARGETS/bins" "$@" >said
	equal "status" "$status" 0
	"$HEAPWISE" resident --no-symbols --at end --top 0 --format json trace.hwt >bill || fail "no bill"
	caches=$(part_of_bill thread_caches)
	equal "caches that were not read" "$(jq .caches.unread_threads bill)" 0
	said thread | sort >want
	main=$(jq -r '.thread_caches[].tid' bill | while read -r tid; do grep -q "^$tid " want || echo "$tid"; done)
	jq -r '.thread_caches[] | "\(.tid) \(.blocks) \(.bytes)"' bill | grep -v "^${main:-none} " | sort | cmp - want ||
		fail "the table is not what the program has: $(jq -c '[.thread_caches[] | [.tid, .blocks, .bytes]]' bill), wanted $(cat want)"
	at_least "bytes in caches" "$caches" "$(said cached)"
	equal "parts" "$(jq '[.parts[].bytes] | add' bill)" "$(jq .sum_bytes bill)"
	near "sum" "$(jq .sum_bytes bill)" "$(jq .rss_bytes bill)" 1
}

part_of_bill()
{
	jq ".parts[] | select(.part == \"$1\") | .bytes" bill
}

# What the C library says of its own arenas (malloc_info): blocks in fast bins, which glibc 2.43 has no more, in other bins and at the ends
# of heaps are what is pinned or cached, and what it calls in use is live or in caches.
case_bins()
{
	local fast rest

	bins
	fast=$(total fast)
	rest=$(total rest)
	printf "glibc %s: caches %s of %s; free %s of %s (fast %s, rest %s); in use %s of %s\n" "$(said version)" "$caches" "$(said cached)" \
		$(($(part_of_bill pinned) + $(part_of_bill cached))) "$(said fordblks)" "${fast:-none}" "$rest" \
		$(($(part_of_bill requested) + $(part_of_bill slack) + caches)) "$(said uordblks)"
	equal "fast bins" "${fast:-0}" "$(said fast)"
	equal "fast bins are there" "$([ -n "$fast" ] && echo yes)" "$([ "$(said version)" -lt 243 ] && echo yes)"
	at_least "other bins" "$rest" "$(said rest)"
	near "pinned and cached" $(($(part_of_bill pinned) + $(part_of_bill cached))) $((${fast:-0} + rest)) 2
	near "live and in caches" $(($(part_of_bill requested) + $(part_of_bill slack) + caches)) "$(said uordblks)" 1
}

# Large blocks in caches, as a tunable makes them since 2.42; those that are mapped alone are resident, too, and not all else.
case_bins_large()
{
	[ "$("$HEAPWISE_TARGETS/bins" | said_version)" -ge 242 ] || skip "this C library caches no large blocks"
	GLIBC_TUNABLES=glibc.malloc.tcache_max=1048576 bins large
	printf "glibc %s: caches %s of %s; in use %s of %s, mapped %s\n" "$(said version)" "$caches" "$(said cached)" \
		$(($(part_of_bill requested) + $(part_of_bill slack) + caches)) "$(said uordblks)" "$(said hblkhd)"
	near "in use" $(($(part_of_bill requested) + $(part_of_bill slack) + caches)) $(($(said uordblks) + $(said hblkhd))) 1
}

said_version()
{
	sed -n "s/^version //p"
}

# glibc asks for huge pages by itself on some machines, and everywhere if it is told to: each arena takes one for some kilobytes.
case_libc_huge_pages()
{
	local arenas=$HEAPWISE_TARGETS/huge_arenas
	ulimit -s 256 # the kernel may give a larger stack a huge page
	grep -q "\[madvise\]" /sys/kernel/mm/transparent_hugepage/enabled || skip "this kernel gives no huge pages on request"
	export GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.arena_max=60
	record trace.hwt -- "$arenas" 40 1500 >said
	"$HEAPWISE" resident --no-symbols --format json trace.hwt >bill || fail "no bill"
	[ "$(said rss)" -gt $((60 << 20)) ] || skip "this kernel gives no huge pages, or the C library asks for none"
	printf "%s\n" "$(jq -r .advice bill)"
	equal "cause" "$(jq -r .cause bill)" huge_pages
	at_least "bytes in glibc's huge pages" "$(jq .libc_huge_bytes bill)" $((60 << 20))
	at_most "bytes in glibc's huge pages" "$(jq .libc_huge_bytes bill)" "$(jq .huge_bytes bill)"
	jq -r .advice bill | grep -qx "glibc's huge pages hold [0-9.]* MiB; GLIBC_TUNABLES=glibc.malloc.hugetlb=0 undoes it" || fail "no advice"
	"$HEAPWISE" findings --no-symbols --format json trace.hwt >found
	jq -r '.findings[] | .repair' found | grep -q "GLIBC_TUNABLES=glibc.malloc.hugetlb=0 undoes it" || fail "no finding"
	# what it says is true
	GLIBC_TUNABLES=glibc.malloc.hugetlb=0:glibc.malloc.arena_max=60 record without.hwt -- "$arenas" 40 1500 >said
	"$HEAPWISE" resident --no-symbols --format json without.hwt >without || fail "no bill without"
	equal "bytes in glibc's huge pages without them" "$(jq .libc_huge_bytes without)" 0
	at_least "what it saves" $(($(jq .rss_bytes bill) - $(jq .rss_bytes without))) $(($(jq .libc_huge_bytes bill) * 8 / 10))
	# those that the program asks for are not glibc's
	GLIBC_TUNABLES=glibc.malloc.hugetlb=0 record_looked 60 own.hwt --no-symbols -- "$HEAPWISE_TARGETS/burst" 500 huge >said
	"$HEAPWISE" resident --no-symbols --at "${looked_ns}ns" --format json own.hwt >own || fail "no bill of its own"
	equal "bytes in glibc's huge pages that the program asked for" "$(jq .libc_huge_bytes own)" 0
}

# Many threads keep more than all else; the advice is seen to save it.
case_caches_advice()
{
	ulimit -s 256 # the kernel may give a larger stack a huge page
	record trace.hwt -- "$HEAPWISE_TARGETS/thread_caches" 200 1 60 >said
	"$HEAPWISE" resident --no-symbols --at end --format json trace.hwt >bill || fail "no bill"
	equal "cause" "$(jq -r .cause bill)" thread_caches
	equal "points of the cut" "$(jq -r '.cut_points | length' bill)" 0 # what they pin stays
	jq -r .advice bill | grep -q "in caches of 20[01] threads; .*GLIBC_TUNABLES=glibc.malloc.tcache_count=" || fail "no advice"
	GLIBC_TUNABLES=glibc.malloc.tcache_count=2 record fewer.hwt -- "$HEAPWISE_TARGETS/thread_caches" 200 1 60 >said
	"$HEAPWISE" resident --no-symbols --at end --format json fewer.hwt >fewer || fail "no bill of fewer"
	at_most "caches of fewer blocks, twice" "$(($(jq '.parts[] | select(.part == "thread_caches") | .bytes' fewer) * 2))" \
		"$(jq '.parts[] | select(.part == "thread_caches") | .bytes' bill)"
}

run_case "$1"
finish
