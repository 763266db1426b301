#!/bin/bash
# SPDX-License-Identifier: MIT
# The call graph of routine traces and of allocation stacks, and EMAD's text form, as a user meets them.
. "$(dirname "$0")/../run/lib.sh"
needs jq

cat >"$work/listing4.txt" <<'TEXT'
0 19 start main
0 20 start Initialize
0 22 start malloc 32
0 22 exit malloc 842c008 141677579
0 20 exit Initialize
0 34 start operation1
0 22 start malloc 64
0 22 exit malloc 9786cd0 14167757886
0 35 start operation2
0 23 start free 9786cd0
0 23 exit free 14167757928
0 23 start free 842c008
0 23 exit free 14167757928
0 35 exit operation2
0 34 exit operation1
0 19 exit main
TEXT
figure2='Initialize malloc 1
main Initialize 1
main operation1 1
operation1 malloc 1
operation1 operation2 1
operation2 free 2'

# ---- Listing 4 of the paper ----

trace=$work/listing4.hwt
"$HEAPWISE" import --from emad "$work/listing4.txt" -o "$trace" 2>"$work/errors"
equal "status of import-emad" "$?" 0
says "$work/errors" "16 messages of 6 routines, 2 allocations, 2 frees"
"$HEAPWISE" export --to emad "$trace" >"$work/back.txt"
cmp -s "$work/back.txt" "$work/listing4.txt" || fail "Listing 4 does not come back as it was"
"$HEAPWISE" export --to emad -o "$work/file.txt" "$trace"
cmp -s "$work/file.txt" "$work/listing4.txt" || fail "export -o writes something else"
"$HEAPWISE" trace callgraph --format json "$trace" >"$work/graph.json" 2>"$work/errors"
equal "status of callgraph" "$?" 0
[ ! -s "$work/errors" ] || fail "callgraph speaks of a trace with routines: $(cat "$work/errors")"
equal "Figure 2" "$(jq -r '.edges[] | "\(.caller) \(.callee) \(.calls)"' "$work/graph.json" | sort)" "$figure2"
equal "counts" "$(jq -r '"\(.source) \(.nodes) \(.edge_count) \(.calls) \(.ends) \(.missing_exits) \(.strange_exits)"' "$work/graph.json")" \
	"routine events 6 6 8 8 0 0"
equal "allocations below main" "$(jq -r '.routines[] | select(.routine == "main") | "\(.below_allocations) \(.below_bytes) \(.allocations)"' "$work/graph.json")" \
	"2 96 0"
equal "CSV" "$("$HEAPWISE" trace callgraph --format csv "$trace" | awk -F, '$1 == "operation2" && $2 == "free" {print $3}')" 2
"$HEAPWISE" trace callgraph "$trace" >"$work/stdout"
says "$work/stdout" "^  caller +callee +calls$"
says "$work/stdout" "^  operation2 +free +2$"
equal "rows with --top" "$("$HEAPWISE" trace callgraph --top 2 --format json "$trace" | jq '.edges | length')" 2

"$HEAPWISE" trace callgraph --dot "$work/graph.dot" "$trace" >"$work/stdout"
says "$work/stdout" "^  operation2 +free"
says "$work/graph.dot" '^digraph '
equal "edges of the DOT" "$(grep -c -- '->' "$work/graph.dot")" 6
"$HEAPWISE" trace callgraph --dot - "$trace" | cmp -s - "$work/graph.dot" || fail "--dot - and --dot FILE differ"
if has dot graphviz; then
	dot -Tsvg "$work/graph.dot" -o /dev/null || fail "Graphviz does not read the DOT"
fi
"$HEAPWISE" trace callgraph --dot /no/such/folder/x "$trace" >/dev/null 2>"$work/errors"
equal "status when the DOT cannot be written" "$?" 3

# other commands work on what was imported
equal "report of the import" "$("$HEAPWISE" report --format json "$trace" | jq -r '.allocations, .kept.bytes' | tr '\n' ' ')" "2 0 "
equal "caveats of the import" "$("$HEAPWISE" report --format json "$trace" | jq '.caveats | length')" 0
equal "callers of the import" "$("$HEAPWISE" mprof --format json "$trace" | jq -r '.direct[].name' | tr '\n' ' ')" \
	"<TOTAL> operation1 Initialize "
equal "routines in info" "$("$HEAPWISE" trace info --format json "$trace" | jq -r '.image_list[0] | "\(.routine_calls) \(.routine_ends)"')" "8 8"
"$HEAPWISE" trace dump "$trace" >"$work/dump"
equal "routines in dump" "$(grep -cE '^# (enter|leave) ' "$work/dump")" 16
says "$work/dump" '^# enter 0 tid 0 address 0x[0-9a-f]+ return 0x0 routine main$'

# ---- Listing 2 in a text is found, with the calls of the routine trace on its path ----

awk 'function pair(name, number, size, life) {
	printf "0 %d start %s\n0 90 start malloc %d\n0 90 exit malloc %x %d\n", number, name, size, 4096 + number * 4096, time += 1000
	printf "0 91 start free %x\n0 91 exit free %d\n0 %d exit %s\n", 4096 + number * 4096, time += life, number, name
}
BEGIN {
	print "0 1 start main"
	for (i = 0; i < 6; i++)
		for (t = 0; t < 20; t++) {
			if (t == 3) print "0 30 start make_foo\n0 30 exit make_foo"
			pair("load" i, 10 + i, 100 + i, 3000000 + 100000 * i)
		}
	print "0 2 start loop"
	for (i = 0; i < 5000; i++) pair("make_foo", 30, 40, 300)
	print "0 2 exit loop\n0 1 exit main"
}' >"$work/listing2.txt"
"$HEAPWISE" import --from emad "$work/listing2.txt" -o "$work/listing2.hwt" 2>"$work/errors" || fail "cannot import Listing 2: $(cat "$work/errors")"
"$HEAPWISE" excessive --format json "$work/listing2.hwt" >"$work/found.json" 2>"$work/errors"
equal "status of excessive" "$?" 0
equal "found in a text" "$(jq -c '[.found[] | [.caller, .size_bytes, .destroyer, .frequency, .life_ns, .found_by]]' "$work/found.json")" \
	'[["make_foo",40,"make_foo",5000,300,"both"]]'
equal "path with calls" "$(jq -c '[.paths[] | [.routine, .frequency, .calls]]' "$work/found.json")" \
	'[["main",5000,1],["loop",5000,1],["make_foo",5000,5000]]'
# Without the loop the same program is not excessive.
grep -v ' 30 \| 2 ' "$work/listing2.txt" | awk '/90|91/ && !inside {next} / start load/ {inside = 1} {print} / exit load/ {inside = 0}' >"$work/calm.txt"
"$HEAPWISE" import --from emad "$work/calm.txt" -o "$work/calm.hwt" 2>/dev/null
equal "found without the loop" "$("$HEAPWISE" excessive --format json "$work/calm.hwt" | jq -c '[.excessive, .freed_objects]')" '[false,6]'

# ---- what does not fit ----

while IFS='|' read -r text sentence; do
	printf "$text" >"$work/bad.txt"
	rm -f "$work/bad.hwt"
	"$HEAPWISE" import --from emad "$work/bad.txt" -o "$work/bad.hwt" >"$work/stdout" 2>"$work/errors"
	equal "status of '$text'" "$?" 3
	says "$work/errors" "^heapwise import: .*bad.txt: $sentence"
	equal "lines about '$text'" "$(wc -l <"$work/errors")" 1
	[ ! -e "$work/bad.hwt" ] || fail "'$text' leaves a trace"
done <<'ROWS'
0 1 start f\n0 1 stop f\n|line 2: expected 'start' or 'exit' after the routine, not 'stop'
0 1 start f\n0 1 exit g\n|line 2: routine 1 is 'g' here, but 'f' in line 1
f\n|line 1: expected a thread number at the start of the line
ROWS
: >"$work/empty.txt"
"$HEAPWISE" import --from emad "$work/empty.txt" -o "$work/empty.hwt" 2>/dev/null
equal "status of an empty text" "$?" 0
"$HEAPWISE" export --to emad "$work/empty.hwt" >/dev/null 2>"$work/errors"
equal "status of exporting nothing" "$?" 3
says "$work/errors" "has no routine events"
"$HEAPWISE" export --to emad "$trace" >/dev/full 2>"$work/errors"
equal "status of export to a full disk" "$?" 3

# ---- a recording without routines: the stacks of its allocations ----

trace=$work/widget.hwt
record "$trace" -- "$HEAPWISE_BUILD_DIR/examples/widget" >/dev/null
read -r _ red _ blue _ _ _ _ <<<"$(grep '^red' "$work/stderr")"
"$HEAPWISE" trace callgraph --format json "$trace" >"$work/graph.json" 2>"$work/errors"
equal "status without routines" "$?" 0
equal "sentences without routines" "$(grep -c 'has no routine events; using the stacks of its allocations' "$work/errors")" 1
equal "source without routines" "$(jq -r .source "$work/graph.json")" "allocation stacks"
for colour in red:$red blue:$blue; do
	equal "edge of ${colour%:*} widgets" \
		"$(jq -r ".edges[] | select(.caller == \"make_${colour%:*}_widget\" and .callee == \"make_widget\") | .allocations" "$work/graph.json")" \
		"${colour#*:}"
done
equal "allocations below main" "$(jq -r '.routines[] | select(.routine == "main") | .below_allocations' "$work/graph.json")" \
	"$((red + blue))"
"$HEAPWISE" trace callgraph --from routines "$trace" >/dev/null 2>"$work/errors"
equal "status of --from routines" "$?" 3
says "$work/errors" "has no routine events; record them with"
equal "stacks of the import" "$("$HEAPWISE" trace callgraph --from stacks --format json "$work/listing4.hwt" | jq -r '.edges[] | "\(.caller) \(.callee) \(.allocations)"' | sort | tr '\n' ,)" \
	"main Initialize 1,main operation1 1,"
finish
