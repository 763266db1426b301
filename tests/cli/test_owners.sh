#!/bin/bash
# SPDX-License-Identifier: MIT
# heapwise owners as a user meets it: who holds how much, paths, formats, traces without pointers.
. "$(dirname "$0")/../run/lib.sh"
needs jq

"$HEAPWISE" run -q --owners -o "$work/trace.hwt" -- "$HEAPWISE_TARGETS/holders"
equal "status of holders" "$?" 0
owners() { "$HEAPWISE" owners "$@" "$work/trace.hwt"; }

# The text begins with who holds most.
owners >"$work/text"
equal "status of text" "$?" 0
says "$work/text" "^  owner +registry \(holders\.cpp:[0-9]+\) holds 198 KiB of "
says "$work/text" "^ +198 KiB +[0-9.]+ % +3\.1 KiB +100 × Session$"
says "$work/text" "^By type$"
says "$work/text" "^By allocation point$"

# Retained and own bytes of the variables and of what they hold are those that the program knows.
owners --format json --top 0 --min-share 0 >"$work/json"
equal "status of json" "$?" 0
row() { jq -c ".tree[] | select(.owner | startswith(\"$1\")) | [.retained_bytes, .bytes, .count, .depth]" "$work/json"; }
equal "registry" "$(row 'registry (holders.cpp:')" "[203216,0,1,0]"
equal "sessions" "$(row Session)" "[203200,3200,100,2]"
equal "cache" "$(row 'cache (holders.cpp:')" "[64512,0,1,0]"
equal "what two variables hold" "$(jq -c '[.tree[] | select(.depth == 1 and .retained_bytes == 5000) | .owner | sub(":[0-9]+"; "")]' "$work/json")" \
	'["make_text(unsigned long) (holders.cpp)"]'
equal "type" "$(jq -c '.types[] | select(.type == "Session") | [.retained_bytes, .bytes, .chunks]' "$work/json")" \
	"[203200,3200,100]"
equal "point" "$(jq -c '[.points[] | select(.chunks == 64) | [.retained_bytes, .stack[0].function]]' "$work/json")" \
	'[[64000,"fill_cache"]]'
# Every byte has one owner.
equal "roots together" "$(jq '[.tree[] | select(.depth == 0) | .retained_bytes] | add' "$work/json")" "$(jq .live_bytes "$work/json")"
equal "live chunks" "$(jq .live_chunks "$work/json")" "$(field "$work/trace.hwt" .kept.chunks)"
equal "fewer rows" "$(owners --format json --top 1 | jq -c '[[.types, .points | length], ([.tree[] | select(.depth == 0)] | length)]')" "[[1,1],1]"
owners --format csv >"$work/csv"
says "$work/csv" "^retained_bytes,share,bytes,count,owner"

# A path names members where the type is known.
owners --path Session --format json >"$work/path"
equal "path to the first" "$(jq -r .path "$work/path" | sed 's/ (holders.cpp:[0-9]*)//')" \
	"registry → Registry .sessions → 100 elements → Session"
chunk=$(jq '[.tree[] | select(.owner | startswith("make_text"))] | map(select(.depth == 3))[0].largest_chunk' "$work/json")
owners --path "$chunk" --format json >"$work/path"
equal "path to the name of a session" "$(jq -r '.steps[-2].owner' "$work/path")" "Session"
says "$work/path" '"member": "\.(name|next)"'
owners --path nobody 2>"$work/stderr"
equal "status of a path to nothing" "$?" 2
says "$work/stderr" "no chunk 'nobody' was live at the scan"

# Members of variables, and of what only pointers say the type of.
"$HEAPWISE" run -q --owners -o "$work/collections.hwt" -- "$HEAPWISE_TARGETS/collections_c" >"$work/expected"
line=$(sed -n '/^} server;/=' "$(dirname "$0")/../targets/collections.c")
equal "members of a variable, and a container" "$("$HEAPWISE" owners --path open_session --format json "$work/collections.hwt" |
	jq -r .path | sed 's/\[[0-9]*\]/[]/')" \
	"server (collections.c:$line) .db.dict → dict .table → 1,024 buckets [] → session .name → open_session (collections.c:103)"
says "$work/text" "^ +198 KiB +100 +linked list +Registry \.sessions$"
chunk=$("$HEAPWISE" owners --path 'session*' --format json "$work/collections.hwt" | jq .chunk)
equal "type by pointers" "$("$HEAPWISE" owners --format json --top 0 --min-share 0 "$work/collections.hwt" |
	jq -c --argjson chunk "$chunk" '[(.tree[] | select(.largest_chunk == $chunk) | .id) as $id | .tree[] | select(.parent == $id) | [.owner, .count]]')" \
	'[["session",3000]]'

equal "at a moment" "$(owners --at end --format json | jq .live_bytes)" "$(jq .live_bytes "$work/json")"
owners --at never 2>"$work/stderr"
equal "status of an unknown moment" "$?" 2

# Queries know who holds a chunk, and what it retains; of other chunks neither is known.
asked() { "$HEAPWISE" query --format json "$work/trace.hwt" "all | where $1" | jq -c '[.matched.chunks, .matched.bytes]'; }
equal "held by a variable" "$(asked 'owner ~ "^registry"')" "[0,0]"
equal "held by a variable, as a pattern" "$(asked 'owner ~ /^registry/')" "[201,203216]"
equal "held by sessions" "$(asked 'owner ~ "→ Session"')" "[100,200000]"
equal "what retains most" "$(asked 'retained > 198 KiB')" "[2,48]"
equal "unknown" "$(asked 'not known(owner) and kept')" "[0,0]"
"$HEAPWISE" run -q --owners -o "$work/freed.hwt" -- "$HEAPWISE_TARGETS/family" >"$work/stdout"
of_freed() { "$HEAPWISE" query --format json "$work/freed.hwt" "all | where $1" | jq .matched.chunks; }
equal "not is true for chunks without an owner" "$(of_freed 'freed and not owner == "x"')" "$(of_freed freed)"

# The trace has the names of variables and of frames: the program's file is not needed.
cp "$HEAPWISE_TARGETS/holders" "$work/gone"
"$HEAPWISE" run -q --owners -o "$work/gone.hwt" -- "$work/gone"
names() { "$HEAPWISE" owners --format json --top 0 --min-share 0 --no-symbols "$work/gone.hwt" | jq -c '[.tree[] | select(.depth == 0) | .owner]'; }
names >"$work/with"
rm "$work/gone"
equal "roots without the file" "$(names)" "$(cat "$work/with")"
says "$work/with" '"registry \(holders\.cpp:[0-9]+\)"'

# Without pointers it says how to get them.
"$HEAPWISE" run -q -o "$work/plain.hwt" -- "$HEAPWISE_TARGETS/holders"
"$HEAPWISE" owners "$work/plain.hwt" >"$work/stdout" 2>"$work/stderr"
equal "status without pointers" "$?" 3
says "$work/stderr" "plain.hwt: no pointers were recorded; record with 'heapwise run --owners PROGRAM'$"
finish
