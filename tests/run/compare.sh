#!/bin/bash
# SPDX-License-Identifier: MIT
# heapwise diff on two versions of tests/targets/compare.c, whose differences are known by function.
#   rebuilt OLD NEW   options of the compiler for either version
#   same, moments, stripped, others, mistakes
. "$(dirname "$0")/lib.sh"
old_options=${2-} new_options=${3-}
source=$HEAPWISE_SOURCE_DIR/tests/targets/compare.c

# build FOLDER OPTION...   FOLDER/prog, recorded as FOLDER.hwt with names
build()
{
	local folder=$work/$1
	shift
	mkdir -p "$folder"
	gcc -fno-builtin -I "$HEAPWISE_SOURCE_DIR/include" "$@" "$source" -o "$folder/prog" ||
		{ fail "gcc cannot build $source"; finish; }
	"$HEAPWISE" run -o "$folder.hwt" -- "$folder/prog" 2>"$work/stderr" || fail "recording failed"
}

# compare ARGUMENT...   JSON in $work/json, caveats in $work/caveats
compare()
{
	"$HEAPWISE" diff --format json "$@" >"$work/json" 2>"$work/stderr"
	equal "status of diff $*" "$?" 0
	jq -r '.caveats[]' "$work/json" >"$work/caveats"
}

# rows   of the last comparison: "status a b function", sorted by function
rows()
{
	jq -r '.rows[] | [.status, .a, .b, (.name // ([.stack[].function] | map(select(. != "make_item"))[0]))] |
		join(" ")' "$work/json" | LC_ALL=C sort -k4
}

# known METRIC   the rows that the source says, sorted by function
known()
{
	case $1 in
	bytes) cat <<'ROWS'
new 0 3584 added_leak
gone 10 0 deeper
new 0 10 deeper
grew 1000 2500 grown
grew 80 800 quick
gone 3000 0 removed_leak
shrank 3200 1280 shrunk
same 3200 3200 steady
ROWS
		;;
	allocations) cat <<'ROWS'
new 0 7 added_leak
gone 1 0 deeper
new 0 1 deeper
grew 10 25 grown
grew 5 50 quick
gone 3 0 removed_leak
shrank 50 20 shrunk
same 100 100 steady
ROWS
		;;
	kept) cat <<'ROWS'
new 0 3584 added_leak
same 0 0 deeper
same 0 0 deeper
same 0 0 grown
same 0 0 quick
gone 3000 0 removed_leak
same 0 0 shrunk
same 0 0 steady
ROWS
		;;
	# A: 3,000 leaked and 50 times 64; B: 3,584 leaked and 25 times 100
	peak) cat <<'ROWS'
new 0 3584 added_leak
same 0 0 deeper
same 0 0 deeper
grew 0 2500 grown
same 0 0 quick
gone 3000 0 removed_leak
shrank 3200 0 shrunk
same 0 0 steady
ROWS
		;;
	esac
}

case_rebuilt()
{
	build old -g $old_options
	build new -g -DNEW $new_options
	for metric in bytes allocations kept peak; do
		compare --same --metric $metric "$work/old.hwt" "$work/new.hwt"
		equal "$metric with $old_options and $new_options" "$(rows)" "$(known $metric)"
	done
	equal "caveats" "$(cat "$work/caveats")" ""
	equal "summary" "$(jq -c '.summary | [.bytes, .kept, .peak, .allocations, .temporary] |
		map([.a, .b, .delta])' "$work/json")" \
		"[[10490,11374,884],[3000,3584,584],[6200,6084,-116],[169,203,34],[9,54,45]]"
	equal "change of kept" "$(jq '.summary.kept.pct * 1000 | round' "$work/json")" 195
	equal "whether it is the same build" "$(jq .same_build "$work/json")" false

	compare --same "$work/old.hwt" "$work/new.hwt"
	equal "states" "$(jq -c .changed "$work/json")" \
		'{"rows":8,"new":2,"gone":2,"grew":2,"shrank":1,"same":1}'
	equal "unmatched" "$(jq -c .unmatched "$work/json")" '{"a":3010,"b":3594}'
	equal "order" "$(jq -c '[.rows[].delta | fabs]' "$work/json")" "[3584,3000,1920,1500,720,10,10,0]"
	equal "highest of the heap lines" "$(jq -c '[(.heap | map(.a) | max), (.heap | map(.b) | max)]' "$work/json")" \
		"[6200,6084]"

	equal "severity" "$(jq -c '[.rows[] | select(.sev_b) | [.b, .sev_b]] | sort' "$work/json")" \
		"$("$HEAPWISE" scores --format json --top 0 "$work/new.hwt" | jq -c '[.points[] | [.bytes, .severity]] | sort')"

	compare --same --fold-recursion "$work/old.hwt" "$work/new.hwt"
	equal "folded recursion" "$(rows | grep deeper)" "same 10 10 deeper"
	compare --top 2 "$work/old.hwt" "$work/new.hwt"
	equal "rows with --top 2" "$(rows | wc -l)" 2
	compare --tolerance 70 "$work/old.hwt" "$work/new.hwt"
	equal "rows with a tolerance" "$(rows | cut -d' ' -f1,4 | tr '\n' ,)" \
		"new added_leak,gone deeper,new deeper,grew quick,gone removed_leak,"

	compare --same --by function "$work/old.hwt" "$work/new.hwt"
	equal "functions" "$(rows | tr '\n' ,)" "new 0 3584 added_leak,same 10 10 deeper,grew 4200 5700 make_item,$(
		)grew 80 800 quick,gone 3000 0 removed_leak,shrank 3200 1280 shrunk,"
	compare --by file "$work/old.hwt" "$work/new.hwt"
	equal "files" "$(rows | sed 's,/.*/,,')" "grew 10490 11374 compare.c"
	compare --by module "$work/old.hwt" "$work/new.hwt"
	equal "modules" "$(rows)" "grew 10490 11374 (program)"
	compare --by thread --metric peak "$work/old.hwt" "$work/new.hwt"
	equal "threads" "$(rows)" "shrank 6200 6084 (main thread)"
	compare --by type --metric peak "$work/old.hwt" "$work/new.hwt"
	equal "types" "$(rows)" "shrank 6200 6084 (unknown)"

	for align in start peak marks; do
		compare --align $align --points 50 "$work/old.hwt" "$work/new.hwt"
		equal "map with --align $align" "$(jq -r .time_map "$work/json")" $align
		at_most "points" "$(jq '.heap | length' "$work/json")" 50
		equal "order of the points" "$(jq '.heap | map(.time_ns) | . == sort' "$work/json")" true
	done
	equal "marks in common" "$(jq .common_marks "$work/json")" 4
	"$HEAPWISE" diff "$work/old.hwt" "$work/new.hwt" >"$work/text"
	says "$work/text" "kept +3.5 KiB +was 2.9 KiB: \+584 B, \+19.5 %"
	says "$work/text" "1, 2 ... = A, B"
}

# The same program twice, and one trace with itself: nothing differs.
case_same()
{
	build one -g -O2
	cp "$work/one.hwt" "$work/first.hwt"
	"$HEAPWISE" run -o "$work/one.hwt" -- "$work/one/prog" 2>"$work/stderr"
	for by in stack function type file module thread; do
		for metric in bytes allocations peak kept temporary; do
			compare --same --by $by --metric $metric "$work/first.hwt" "$work/one.hwt"
			equal "what differs by $by in $metric" "$(jq -c '[.rows[].status] | unique' "$work/json")" '["same"]'
			equal "matched by $by" "$(jq -c '[.matched.a, .matched.b]' "$work/json")" "[1,1]"
			equal "delta of $metric" "$(jq ".summary.$metric.delta" "$work/json")" 0
		done
	done
	equal "the build" "$(jq .same_build "$work/json")" true
	compare "$work/one.hwt" "$work/one.hwt"
	equal "rows without a difference" "$(jq '.rows | length' "$work/json")" 0
	equal "caveats" "$(cat "$work/caveats")" ""
}

# live_in_dump TRACE CONDITION   live bytes by the events of the trace up to the line where the awk condition
# holds, that line excluded
live_in_dump()
{
	"$HEAPWISE" trace dump "$1" | awk '$1 ~ /^#/ { next } '"$2"' { exit }
		$3 ~ /^(malloc|calloc|realloc|memalign|new|new_array)$/ { live += $5; n++; sum += $5 }
		$3 ~ /^(free|realloc_free|delete|delete_array)$/ { live -= $5 }
		END { print live + 0, n + 0, sum + 0 }'
}

# at SIDE   live, allocations, bytes of a side in the last comparison
at()
{
	jq -r ".summary | [.kept.$1, .allocations.$1, .bytes.$1] | join(\" \")" "$work/json"
}

case_moments()
{
	local trace=$work/one.hwt time

	build one -g -O2
	compare --same --at snapshot0 --at end "$trace"
	equal "points of the snapshot" "$(jq -c '[.rows[].a] | map(select(. > 0)) | sort' "$work/json")" \
		"$("$HEAPWISE" report --format json "$trace" | jq -c '[.snapshots[].live_bytes] | sort')"
	equal "live at the end" "$(at b)" "3000 169 10490"
	equal "gone until the end" "$(rows | grep -v '^same')" "shrank 1000 0 grown"

	compare --at begin --at grown "$trace"
	equal "at begin" "$(at a)" "$(live_in_dump "$trace" '$3 == "mark" && $4 == "0x1"')"
	equal "at grown" "$(at b)" "$(live_in_dump "$trace" '$3 == "mark" && $4 == "0x2"')"
	equal "new since begin" "$(rows | cut -d' ' -f1,3,4 | tr '\n' ,)" "new 1000 grown,new 3000 removed_leak,"

	compare --at peak --at finish "$trace"
	equal "live at the peak" "$(jq .summary.kept.a "$work/json")" 6200
	equal "at finish" "$(at b)" "$(live_in_dump "$trace" '$3 == "mark" && $4 == "0x3"')"
	equal "peak before the peak" "$(jq -c '[.summary.peak.a, .summary.peak.b]' "$work/json")" "[6200,6200]"

	# Times are those of events, which may share them: after all of one time.
	for line in 20 90 150 200 260 300; do
		time=$("$HEAPWISE" trace dump "$trace" | awk '$1 !~ /^#/' | sed -n "${line}s/ .*//p")
		compare --at "${time}ns" --at end "$trace"
		equal "at $time ns" "$(at a)" "$(live_in_dump "$trace" "\$1 > $time")"
		equal "a is known until then" "$(jq "[.heap[] | select(.time_ns > $time and .a != null)] | length" "$work/json")" 0
	done
	compare --at 0s --at 0.000001 "$trace"
	equal "at the start" "$(at a)" "0 0 0"
	for by in type thread; do
		compare --same --by $by --at grown --at end "$trace"
		equal "by $by" "$(jq -c '[.rows[] | [.a, .b, .a_peak, .b_peak]]' "$work/json")" "[[4000,3000,4000,6200]]"
	done
	"$HEAPWISE" diff --at end --at begin "$trace" >"$work/text" 2>"$work/stderr"
	says "$work/stderr" "'end' is after 'begin'"
}

# Without names frames are matched by module and offset; a program that was built again by the module only.
case_stripped()
{
	build old -O2 -s
	build new -O2 -s -DNEW
	cp "$work/old.hwt" "$work/first.hwt"
	"$HEAPWISE" run -o "$work/old.hwt" -- "$work/old/prog" 2>"$work/stderr"
	compare --same "$work/first.hwt" "$work/old.hwt"
	equal "stacks of one stripped program" "$(jq -c '[.rows[].status] | group_by(.) | map([.[0], length])' "$work/json")" \
		'[["same",6]]'
	compare "$work/old.hwt" "$work/new.hwt"
	says "$work/caveats" "of the bytes of A have stacks with unnamed frames"
	equal "sums" "$(jq -c '[.summary.bytes.a, .summary.bytes.b]' "$work/json")" "[10490,11374]"
}

case_others()
{
	build old -g -O2
	record "$work/jq.hwt" -- jq -n '[range(1000)] | length' >/dev/null
	compare --no-symbols "$work/old.hwt" "$work/jq.hwt"
	says "$work/caveats" "the programs differ: A is prog and B is jq"
	"$HEAPWISE" run --sample 512 -o "$work/sampled.hwt" -- "$work/old/prog" 2>"$work/stderr"
	compare "$work/old.hwt" "$work/sampled.hwt"
	says "$work/caveats" "B is sampled and A is not"
	says "$work/caveats" "^B: sampled at one per 512 B"
	"$HEAPWISE" run -o "$work/args.hwt" -- "$work/old/prog" more 2>"$work/stderr"
	compare "$work/old.hwt" "$work/args.hwt"
	says "$work/caveats" "the command lines differ"
	record "$work/empty.hwt" -- "$HEAPWISE_TARGETS/empty"
	compare --no-symbols "$work/empty.hwt" "$work/empty.hwt"
	equal "an empty program" "$(jq -c '[.rows, .summary.bytes.b]' "$work/json")" "[[],0]"
	# a recording that breaks off
	head -c $(($(stat -c %s "$work/old.hwt") * 2 / 3)) "$work/old.hwt" >"$work/cut.hwt"
	compare --no-symbols "$work/cut.hwt" "$work/old.hwt"
	says "$work/caveats" "^A: one section of the file is damaged"
}

# mistake STATUS TEXT ARGUMENT...
mistake()
{
	local wanted=$1 text=$2
	shift 2
	"$HEAPWISE" diff "$@" >"$work/stdout" 2>"$work/stderr"
	equal "status of diff $*" "$?" "$wanted"
	says "$work/stderr" "$text"
	[ ! -s "$work/stdout" ] || fail "diff $* prints on stdout"
}

case_mistakes()
{
	build one -g -O2
	mkdir "$work/folder"
	echo nothing >"$work/garbage"
	mistake 2 "expected two FILEs"
	mistake 2 "expected a second FILE" "$work/one.hwt"
	mistake 2 "--at must be given twice" --at peak "$work/one.hwt"
	mistake 2 "expected one FILE with --at" --at peak --at end "$work/one.hwt" "$work/one.hwt"
	mistake 2 "'nowhere' is not a moment" --at nowhere --at end "$work/one.hwt"
	mistake 2 "'snapshot7' is not a moment" --at snapshot7 --at end "$work/one.hwt"
	mistake 2 "'grown@2' is not a moment" --at grown@2 --at end "$work/one.hwt"
	mistake 2 "is after the end of the recording" --at 5min --at end "$work/one.hwt"
	mistake 2 "is a folder" "$work/folder" "$work/one.hwt"
	mistake 2 "--points must be" --points 0 "$work/one.hwt" "$work/one.hwt"
	mistake 2 "must be one of stack" --by size "$work/one.hwt" "$work/one.hwt"
	mistake 3 "No such file" "$work/one.hwt" "$work/none.hwt"
	mistake 3 "garbage" "$work/one.hwt" "$work/garbage"
}

run_case "$1"
finish
