#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# owners.sh CASE   the pointers that a scan with --owners finds are those that the program says it has.
. "$(dirname "$0")/lib.sh"

needs addr2line binutils
target=$HEAPWISE_TARGETS/owners

# pointers TRACE   "SIZE OFFSET > SIZE OFFSET" or "KIND-OF-ROOT > SIZE" of each, chunks by their sizes
pointers()
{
	"$HEAPWISE" trace dump --facts "$1" | awk '
		!/^#/ { size[$6] = $5 }
		$1 == "#" && $2 == "root" { kind[$3] = $4 }
		$1 == "#" && $2 == "pointer" && $3 == "chunk" { print size[$4], $6, ">", size[$8], $10 }
		$1 == "#" && $2 == "pointer" && $3 == "root" { print kind[$4], ">", size[$8] }'
}

# frames TRACE   "FUNCTION > SIZE" of each pointer in a frame of the program itself
frames()
{
	local base pc size

	base=$("$HEAPWISE" trace dump --facts "$1" | sed -n 's|^# root .* data .* code \(0x[0-9a-f]*\) name .*/owners$|\1|p' | head -1)
	"$HEAPWISE" trace dump --facts "$1" | awk '
		!/^#/ { size[$6] = $5 }
		$1 == "#" && $2 == "root" && $4 == "stack" { code[$3] = $12 }
		$1 == "#" && $2 == "pointer" && $3 == "root" && $4 in code { print code[$4], size[$8] }' |
		while read -r pc size; do
			echo "$(addr2line -f -e "$target" "$(printf 0x%x $((pc - base)))" | head -1) > $size"
		done
}

# graphs TRACE   how many it has
graphs() { "$HEAPWISE" trace dump "$1" | grep -c "^# graph "; }

# check_pointers TRACE   against what the program has printed
check_pointers()
{
	grep ' > ' "$work/stdout" | sort -u >"$work/wanted"
	{
		pointers "$1"
		frames "$1"
	} | sort >"$work/found"
	equal "pointers that are missing" "$(sort -u "$work/found" | comm -23 "$work/wanted" -)" ""
	# a block is pointed to by others only as the program says; roots may have copies
	equal "pointers from chunks" "$(grep '^[1-6]00' "$work/found")" "$(grep '^[1-6]00' "$work/wanted" | sort)"
	equal "pointers of one pair" "$(grep -c '^7001 .* > 8001 0$' "$work/found")" 64
}

case_end()
{
	"$HEAPWISE" run -q --owners -o "$work/trace" -- "$target" >"$work/stdout"
	equal "status" "$?" 0
	equal "graphs" "$(graphs "$work/trace")" 1
	check_pointers "$work/trace"
	"$HEAPWISE" trace dump --facts "$work/trace" >"$work/dump"
	says "$work/dump" "^# root [0-9]+ data tid 0 address 0x[0-9a-f]+ bytes [0-9]+ code 0x[0-9a-f]+ name .*/owners$"
	says "$work/dump" "^# root [0-9]+ stack tid [1-9][0-9]* address 0x[0-9a-f]+ bytes [0-9]+ code 0x[1-9a-f][0-9a-f]* name -$"
	# without it the trace has none
	"$HEAPWISE" run -q -o "$work/plain" -- "$target" >"$work/stdout"
	equal "graphs without --owners" "$(graphs "$work/plain")" 0
}

# The same in a copy of the memory.
case_background()
{
	"$HEAPWISE" run -q --owners=background -o "$work/trace" -- "$target" >"$work/stdout"
	equal "status" "$?" 0
	equal "graphs" "$(graphs "$work/trace")" 1
	check_pointers "$work/trace"
	"$HEAPWISE" owners "$work/trace" >"$work/text"
	says "$work/text" "stopped .*the scan ran in the background"
}

case_background_ctl() { case_ctl =background; }

# A program that runs, with a scan before it and one after it that keep no pointers.
case_ctl()
{
	mkfifo "$work/input"
	: >"$work/stdout"
	"$HEAPWISE" run -q -o "$work/trace" -- "$target" wait <"$work/input" >"$work/stdout" &
	monitor=$!
	exec 3>"$work/input"
	until_true grep -q ready "$work/stdout"
	"$HEAPWISE" ctl --format json $monitor scan >"$work/before"
	equal "status of a scan" "$?" 0
	"$HEAPWISE" ctl --format json $monitor scan "--owners${1-}" >"$work/got"
	equal "status of a scan with --owners" "$?" 0
	equal "what is lost" "$(jq -c '[.lost_chunks, .indirect_chunks]' "$work/got")" "[1,1]"
	exec 3>&-
	wait $monitor
	equal "graphs" "$(graphs "$work/trace")" 1
	check_pointers "$work/trace"
}

# held TRACE   of each scan the sizes of chunks above 10,000 bytes that data of the program points to, in a line
held()
{
	"$HEAPWISE" trace dump --facts "$1" | awk '
		!/^#/ { size[$6] = $5 }
		$1 == "#" && $2 == "graph" { if (graphs++) print ""; split("", data) }
		$1 == "#" && $2 == "root" && $4 == "data" { data[$3] = 1 }
		$1 == "#" && $2 == "pointer" && $3 == "root" && $4 in data && size[$8] > 10000 { printf "%s ", size[$8] }
		END { if (graphs) print "" }' | sed 's/ $//'
}

four="50001
50002
50003
50004"

# The program frees each chunk right after the mark: it must have been held until then.
case_marks()
{
	"$HEAPWISE" run -q --owners=marks -o "$work/trace" -- "$HEAPWISE_TARGETS/moments" marks 2>"$work/stderr"
	equal "status" "$?" 0
	equal "held at the marks" "$(held "$work/trace")" "$four"
	equal "what was said" "$(cat "$work/stderr")" ""
	"$HEAPWISE" owners --at second --format json --no-pager "$work/trace" >"$work/json"
	equal "largest at a mark" "$(jq -r '.tree[0].owner, .tree[0].retained_bytes' "$work/json" | sed 's/ (.*//' | tr '\n' ' ')" \
		"held 50002 "
	# and at the end, where nothing is left
	"$HEAPWISE" run -q --owners=marks,end -o "$work/trace" -- "$HEAPWISE_TARGETS/moments" marks
	equal "scans with the end" "$(graphs "$work/trace")" 5
	"$HEAPWISE" owners --at end --no-pager "$work/trace" >"$work/stdout"
	equal "status at the end" "$?" 0
	says "$work/stdout" "nothing was live at the scan"
}

case_killed()
{
	"$HEAPWISE" run -q --owners=marks -o "$work/trace" -- "$HEAPWISE_TARGETS/moments" killed
	equal "status" "$?" 137
	equal "held at the marks" "$(held "$work/trace")" "$four"
}

case_children()
{
	"$HEAPWISE" run -q --children --owners=marks -o "$work/traces" -- "$HEAPWISE_TARGETS/moments" fork
	equal "status" "$?" 0
	equal "held at the marks of the child" "$(for trace in "$work"/traces/*.hwt; do held "$trace"; done)" "$four"
}

# A program that marks all the time is not stopped all the time.
case_many()
{
	"$HEAPWISE" run --owners=marks -o "$work/trace" -- "$HEAPWISE_TARGETS/moments" many 30000 2>"$work/stderr"
	equal "status" "$?" 0
	scans=$(graphs "$work/trace")
	[ "$scans" -ge 1 ] && [ "$scans" -le 1000 ] || fail "$scans scans"
	says "$work/stderr" "^heapwise: [0-9,]+ scans of pointers were left out, to stop the program"
	"$HEAPWISE" trace dump --facts "$work/trace" >"$work/dump"
	says "$work/dump" "^# note owners_left_out $((30000 - scans))$"
	"$HEAPWISE" owners --no-pager "$work/trace" >"$work/stdout"
	says "$work/stdout" "scans of pointers were left out"
}

# started WORDS LIST   starts `moments WORDS` with --owners=LIST; descriptor 3 is its input
started()
{
	mkfifo "$work/input"
	: >"$work/stdout"
	"$HEAPWISE" run -q "--owners=$2" -o "$work/trace" -- "$HEAPWISE_TARGETS/moments" "$1" <"$work/input" >"$work/stdout" &
	monitor=$!
	exec 3>"$work/input"
	until_true grep -q ready "$work/stdout"
}

ended()
{
	exec 3>&-
	wait $monitor
	equal "status" "$?" 0
}

# most_held   chunks at the scan that found most of them
most_held() { held "$work/trace" 2>/dev/null | awk '{ if (NF > most) most = NF } END { print most + 0 }'; }
has_peak() { [ "$(most_held)" -ge 272 ]; }

case_peak()
{
	started peak peak
	until_true has_peak
	ended
	[ "$(most_held)" -ge 272 ] || fail "at most $(most_held) of 300 chunks were seen"
	"$HEAPWISE" owners --format json --no-pager "$work/trace" >"$work/json"
	equal "largest at the peak" "$(jq -r '.tree[0].owner' "$work/json" | sed 's/ (.*//')" "held"
}

has_scans() { [ "$(held "$work/trace" 2>/dev/null | grep -c '^50001$')" -ge 3 ]; }

case_regular()
{
	started wait 100ms
	until_true has_scans
	ended
	has_scans || fail "no three scans"
}

case_snapshot()
{
	started wait marks
	"$HEAPWISE" ctl $monitor snapshot >"$work/got"
	equal "status of a snapshot" "$?" 0
	ended
	equal "held at the snapshot" "$(held "$work/trace")" "50001"
}

case_refused()
{
	for list in middle end, 0s 30 end,,marks; do
		"$HEAPWISE" run -q "--owners=$list" -o "$work/trace" -- "$target" >"$work/stdout" 2>"$work/stderr"
		equal "$list: status" "$?" 2
		says "$work/stderr" "--owners: expected end, marks, peak, a time such as 30s, background or contents, separated by commas, not '"
	done
	for words in "--leak-scan off" "--sample 1000" "--access valgrind"; do
		# shellcheck disable=SC2086
		"$HEAPWISE" run -q --owners $words -o "$work/trace" -- "$target" >"$work/stdout" 2>"$work/stderr"
		equal "$words: status" "$?" 2
		says "$work/stderr" "--owners cannot be combined with ${words%% *}"
	done
	"$HEAPWISE" ctl 1 status --owners 2>"$work/stderr"
	equal "another verb: status" "$?" 2
	says "$work/stderr" "--owners requires the verb scan"
	# a trace that may not grow says why it has no pointers
	sleep 2 | "$HEAPWISE" run -q --owners --max-size 1 -o "$work/small" -- "$target" wait >"$work/stdout"
	equal "graphs after the size limit" "$(graphs "$work/small")" 0
	"$HEAPWISE" trace dump --facts "$work/small" >"$work/dump"
	says "$work/dump" "^# note owners_failed the size limit of the trace was reached$"
}

# The owner of what grows comes first, whichever it is: of each the cache, its owner, a chunk in it and what the path there says.
case_caches()
{
	local name owner chunk path

	while read -r name owner chunk path; do
		rm -f "$work/input"
		mkfifo "$work/input"
		: >"$work/stdout"
		"$HEAPWISE" run -q --leak-scan off -o "$work/$name" -- "$HEAPWISE_TARGETS/caches" "$name" <"$work/input" >"$work/stdout" &
		monitor=$!
		exec 3>"$work/input"
		until_true grep -q ready "$work/stdout"
		"$HEAPWISE" ctl $monitor scan --owners >"$work/got"
		exec 3>&-
		wait $monitor
		"$HEAPWISE" owners --format json "$work/$name" >"$work/json"
		equal "$name: owner" "$(jq -r '.tree[0].owner | split(" ")[0]' "$work/json")" "$owner"
		equal "$name: most of it" "$(jq '.tree[0].share > 0.75' "$work/json")" true
		"$HEAPWISE" owners --path "$chunk" --format json "$work/$name" | jq -r .path >"$work/path"
		says "$work/path" "$path"
	done <<-'END'
		sessions server Session ^server .*Server \.sessions
		resolver resolver Address ^resolver .* \.known_
		thumbnails thumbnails serve ^thumbnails .*\.pixels
		interned interned intern ^interned .*Chain .*\.key
		templates templates()::all std::deque ^templates\(\)::all .*std::deque<std::string>
		audit server std::list ^server .*Server \.audit
		ring lost Peer ^Peer
	END
}

run_case "$1"
finish
