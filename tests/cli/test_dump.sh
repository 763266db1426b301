#!/bin/bash
# SPDX-License-Identifier: MIT
# dump and info: the same events in every format, in the documented form.
. "$(dirname "$0")/../run/lib.sh"
needs jq

record "$work/trace.hwt" -- sh -c 'exec jq -n "[range(500) | tostring] | length"' >/dev/null
equal "exit status" "$status" 0
dump=("$HEAPWISE" trace dump)
"${dump[@]}" "$work/trace.hwt" >"$work/text"
"${dump[@]}" --format csv "$work/trace.hwt" >"$work/csv"
"${dump[@]}" --format json "$work/trace.hwt" >"$work/json"
"$HEAPWISE" trace info --format json "$work/trace.hwt" >"$work/info"
events=$(grep -vc '^#' "$work/text")
at_least "events" "$events" 500
equal "lines of csv" "$(wc -l <"$work/csv")" $((events + 1))
equal "objects of json" "$(jq length "$work/json")" "$events"
equal "events of info" "$(jq .events "$work/info")" "$events"
equal "events of all images" "$(jq '[.image_list[].events] | add' "$work/info")" "$events"
equal "ends" "$(jq -c '[.image_list[].end]' "$work/info")" '["exec","exited"]'
equal "version" "$(jq .version "$work/info")" 2
equal "damage" "$(jq .damaged_blocks "$work/info")" 0
at_least "modules" "$(jq '.module_list | length' "$work/info")" 3
"$HEAPWISE" trace info "$work/trace.hwt" >"$work/stdout"
says "$work/stdout" "^  closed +yes"
"$HEAPWISE" trace info --modules "$work/trace.hwt" >"$work/stdout"
says "$work/stdout" "libc\.so"

# Text and CSV say the same.
grep -v '^#' "$work/text" >"$work/a"
sed '1d; s/^[0-9]*,//; s/,,/,-,/g; s/,$/,-/; s/,/ /g' "$work/csv" >"$work/b"
cmp "$work/a" "$work/b" || fail "text and csv differ"
jq -r '.[] | "\(.time_ns) \(.tid) \(.kind)"' "$work/json" | cmp - <(cut -d' ' -f1-3 "$work/a") ||
	fail "text and json differ"

# The documented line.
form='^[0-9]+ [0-9]+ [a-z_]+ 0x[0-9a-f]+ [0-9]+ ([0-9]+|-) [0-9]+ ([0-9]+|[a-z_]+) (-|nested|implied|nested\+implied)$'
equal "lines of another form" "$(grep -vcE "$form" "$work/a")" 0
says "$work/text" '^# image 0 pid [0-9]+ sample_bytes 0 program /'
says "$work/text" '^# time_ns tid kind address size chunk context aux flags$'
says "$work/text" '^# end time_ns [0-9]+ exec '
says "$work/text" '^# end time_ns [0-9]+ exited 0 cpu_ns [1-9][0-9]*$'

# Chunks are numbered from 0 in each image, and each ends at most once, with its own address and size.
"${dump[@]}" --image 1 "$work/trace.hwt" | awk '
	/^#/ { next }
	$3 ~ /^(malloc|calloc|realloc|memalign|new|new_array)$/ {
		if ($6 != next_chunk++) bad = "chunk " $6 " out of order"
		address[$6] = $4; size[$6] = $5
	}
	$3 ~ /^(free|realloc_free|delete|delete_array)$/ {
		if (address[$6] != $4 || size[$6] != $5) bad = "free of chunk " $6 " does not fit"
		if (ended[$6]++) bad = "chunk " $6 " ends twice"
	}
	END { if (bad) print bad; else print "good" }' >"$work/verdict"
equal "chunks" "$(cat "$work/verdict")" good

# Facts and stacks.
"${dump[@]}" --facts "$work/trace.hwt" >"$work/facts"
for fact in module thread context clock; do
	says "$work/facts" "^# $fact "
done
grep -v '^#' "$work/facts" | cmp -s - "$work/a" || fail "facts change the events"
"${dump[@]}" --stacks --image 1 "$work/trace.hwt" | grep -v '^#' >"$work/stacks"
equal "events with stacks" "$(wc -l <"$work/stacks")" "$(jq '.image_list[1].events' "$work/info")"
says "$work/stacks" ' - .*\+0x[0-9a-f]+ < .*\+0x[0-9a-f]+'

# Damage is skipped and said, or the end with --strict.
size=$(stat -c %s "$work/trace.hwt")
cp "$work/trace.hwt" "$work/bad.hwt"
printf 'damage' | dd of="$work/bad.hwt" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
"${dump[@]}" "$work/bad.hwt" >"$work/stdout" 2>"$work/stderr"
equal "status with damage" "$?" 0
says "$work/stderr" "damaged sections were skipped: .*section [0-9]+ at offset [0-9]+"
"${dump[@]}" --strict "$work/bad.hwt" >"$work/stdout" 2>"$work/stderr"
equal "status with --strict" "$?" 3
says "$work/stderr" "section [0-9]+"
at_least "damage in info" "$("$HEAPWISE" trace info --format json "$work/bad.hwt" | jq .damaged_blocks)" 1
finish
