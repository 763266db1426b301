#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# twice.sh CASE   chunks that are alike are those that the program has made so.
. "$(dirname "$0")/lib.sh"

target=$HEAPWISE_TARGETS/twice

# row FUNCTION FIELD...   of the list of what is twice
row()
{
	local function=$1

	shift
	jq -c --arg function "$function" --args \
		'[.twice[] | select(.stack[0].function == $function)] | first | [.[$ARGS.positional[]]]' "$@" <"$work/owners"
}

# check WORDS   what the program has made, with these words of --owners
check()
{
	"$HEAPWISE" run -q --owners="$1" -o "$work/trace" -- "$target"
	equal "status" "$?" 0
	"$HEAPWISE" owners --format json --top 0 "$work/trace" >"$work/owners"
	equal "strings" "$(row copy_string saving_bytes alike_chunks different alike_bytes zero_bytes)" "[396000,10000,100,400000,0]"
	equal "buffers" "$(row make_buffer saving_bytes alike_chunks zero_bytes zero_chunks)" "[0,0,100000,20]"
	equal "records" "$(row make_record saving_bytes)" "[null]"
	# the first page of it is the allocator's, too
	equal "large" "$(row main zero_bytes zero_chunks untouched_bytes)" "[8388608,1,8384512]"
	equal "rows in all" "$("$HEAPWISE" owners --format json --top 1 "$work/trace" | jq -c '[.twice_count, (.twice | length)]')" "[$(jq '.twice | length' "$work/owners"),1]"
	"$HEAPWISE" owners "$work/trace" >"$work/text"
	says "$work/text" "twice +387 KiB +in 10,000 chunks with 100 contents"
	# no content is in the trace: it is not even compressed where it is short
	"$HEAPWISE" trace dump --facts "$work/trace" >"$work/dump"
	says "$work/dump" "^# content [0-9]+ group [0-9]+ repeated 0 untouched_pages 0$"
	grep -q "a name that was read" "$work/dump" && fail "a string of the program is in the trace"
}

case_end() { check contents; }
case_background() { check background,contents; }

# found KIND   findings at copy_string: chunks, bytes, whether the saving is at most that of the copies
found() { jq -c --arg kind "$1" '.findings[] | select(.function == "copy_string" and .kind == $kind) | [.chunks, .bytes, .saves_amount > 0 and .saves_amount <= 396000]' "$work/findings"; }

case_findings()
{
	"$HEAPWISE" run -q --owners=contents -o "$work/trace" -- "$target"
	"$HEAPWISE" findings --format json --top 0 "$work/trace" >"$work/findings"
	equal "status" "$?" 0
	equal "strings" "$(found twice)" "[10000,400000,true]"
	equal "other places" "$(jq '[.findings[] | select(.kind == "twice")] | length' "$work/findings")" 1
	says "$work/findings" '"text": "All 10,000 chunks \(391 KiB\) had the same bytes as another chunk at the scan, with 100 contents in all: keep one copy'
	"$HEAPWISE" findings "$work/trace" >"$work/text"
	says "$work/text" "twice +[0-9.]+ KiB, [0-9.]+ % of the (peak|mean heap) +inferred"
	"$HEAPWISE" findings --min-share 100 --format json "$work/trace" >"$work/findings"
	equal "below the limit" "$(found twice)" ""
	# what is lost should not be there at all
	"$HEAPWISE" run -q --owners=contents -o "$work/lost" -- "$target" lost
	"$HEAPWISE" findings --format json --top 0 "$work/lost" >"$work/findings"
	equal "strings that are lost" "$(found twice)" ""
	equal "they are a leak" "$(found leak | jq -c .[:2])" "[10000,400000]"
	"$HEAPWISE" run -q --owners -o "$work/plain" -- "$target"
	"$HEAPWISE" findings --all --format json --top 0 "$work/plain" >"$work/findings"
	equal "without contents" "$(jq '[.findings[] | select(.kind == "twice")] | length' "$work/findings")" 0
}

case_off()
{
	"$HEAPWISE" run -q --owners -o "$work/trace" -- "$target"
	"$HEAPWISE" owners --format json "$work/trace" >"$work/owners"
	equal "twice without contents" "$(jq -c '[has("twice"), has("twice_saving_bytes")]' "$work/owners")" "[false,false]"
}

run_case "$1"
finish
