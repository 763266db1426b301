#!/bin/bash
# SPDX-License-Identifier: MIT
# HeapLog dumps, in and out, as a user meets them.
. "$(dirname "$0")/../run/lib.sh"

header='HeapLog|version=4|address|size|count|type_id|tick|freed_tick|callgraph_node'

# The paper's fragment of a freed dump, and a full dump with what lives and with names.
cat >"$work/freed.0001" <<TEXT
$header
22A19EC8, 32, 8, 0073D411, 132, 132, 022B7864
0212DF10, 30, 30, 0073D3AD, 132, 132, 022C68C4
298D0B58, 30, 30, 0073D42E, 132, 132, 022C68DC
22A19E30, 124, 31, 0073D411, 132, 132, 022C68F4
TEXT
cat >"$work/full" <<TEXT
$header
22A19EC8, 64, 2, 0073D42E, 132, 140, 022C68F4
22A19EC8, 10, 10, 0073D3AD, 140, 0, 022C68F4
30000000, 7, 0, 00000000, 141, 0, 00000000
CallGraph|version=4|node|parent|address|function
022C68F4, 022C68DC, 00401010, Editor::load(char const*)
022C68DC, 00000000, 00401200, main
Types|version=4|type_id|name
0073D3AD, char
0073D42E, std::pair<int, int>
TEXT
"$HEAPWISE" import --from heaplog -o "$work/trace.hwt" "$work/full" "$work/freed.0001" 2>"$work/errors"
equal "status of import-heaplog" "$?" 0
says "$work/errors" '7 entries, 5 of them freed, 3 types, 4 nodes'
"$HEAPWISE" export --to heaplog "$work/trace.hwt" >"$work/back"
equal "status of export" "$?" 0

# entries FILE   its entries without the nodes, which are numbered anew, sorted
entries()
{
	sed -n '/^HeapLog/,/^CallGraph/p' "$1" | grep -vE '^(HeapLog|CallGraph)' | sed 's/, [0-9A-F]*$//' | sort
}

cat "$work/freed.0001" "$work/full" >"$work/both"
diff <(entries "$work/freed.0001"; entries "$work/full") <(entries "$work/back") >"$work/diff" ||
	diff <( (entries "$work/freed.0001"; entries "$work/full") | sort) <(entries "$work/back") ||
	fail "entries do not come back"
says "$work/back" '^0073D3AD, char$'
says "$work/back" '^0073D42E, std::pair<int, int>$'
says "$work/back" '^0073D411, type_id 0073D411$'
says "$work/back" ', 00401010, Editor::load\(char const\*\)$'
says "$work/back" ', callgraph_node 022B7864$'
"$HEAPWISE" report "$work/trace.hwt" >"$work/report" 2>&1
says "$work/report" 'allocations +7 '
says "$work/report" 'frees +5 '
says "$work/report" 'Editor::load\(char const\*\)'

# Which entries, and numbered files.
"$HEAPWISE" export --to heaplog --entries live "$work/trace.hwt" >"$work/live"
equal "live entries" "$(entries "$work/live" | wc -l)" 2
"$HEAPWISE" export --to heaplog --entries freed "$work/trace.hwt" >"$work/all-freed"
equal "freed entries" "$(grep -c ', ' "$work/all-freed")" 5
grep -q '^CallGraph' "$work/all-freed" && fail "a dump of freed entries has the call graph"
"$HEAPWISE" export --to heaplog --every 2 -o "$work/dump" "$work/trace.hwt"
equal "numbered files" "$(cd "$work" && echo dump*)" "dump dump.0001 dump.0002"
for number in 0001 0002; do
	equal "header of dump.$number" "$(head -1 "$work/dump.$number")" "$header"
	equal "rows of dump.$number" "$(wc -l <"$work/dump.$number")" 3
done
equal "entries of the full dump" "$(entries "$work/dump" | wc -l)" 3
"$HEAPWISE" import --from heaplog -o "$work/again.hwt" "$work/dump.0002" "$work/dump" "$work/dump.0001" 2>/dev/null
"$HEAPWISE" export --to heaplog "$work/again.hwt" >"$work/again"
diff <(entries "$work/back") <(entries "$work/again") || fail "dumps in files do not come back"

# A recording of our own.
"$HEAPWISE" run --no-symbols -o "$work/own.hwt" "$HEAPWISE_TARGETS/containers" >/dev/null 2>&1
"$HEAPWISE" export --no-symbols --to heaplog --tick-ns 1 "$work/own.hwt" >"$work/own"
"$HEAPWISE" import --from heaplog --tick-ns 1 -o "$work/own2.hwt" "$work/own" 2>/dev/null
"$HEAPWISE" export --to heaplog --tick-ns 1 "$work/own2.hwt" >"$work/own2"
at_least "entries" "$(entries "$work/own" | wc -l)" 100
diff <(entries "$work/own") <(entries "$work/own2") >/dev/null || fail "a recording does not come back"
for number in allocations frees kept; do
	equal "$number" "$("$HEAPWISE" report "$work/own2.hwt" 2>/dev/null | awk -v n=$number '$1 == n { print $2; exit }')" \
		"$("$HEAPWISE" report --no-symbols "$work/own.hwt" 2>/dev/null | awk -v n=$number '$1 == n { print $2; exit }')"
done

# Lines that do not fit are told by file and number, and nothing is written.
bad=0
while IFS=';' read -r line sentence; do
	printf '%s\n%b\n' "$header" "$line" >"$work/bad"
	"$HEAPWISE" import --from heaplog -o "$work/bad.hwt" "$work/bad" >/dev/null 2>"$work/errors"
	equal "status for '$line'" "$?" 3
	says "$work/errors" "^heapwise import: .*bad: line [23]: $sentence"
	[ -e "$work/bad.hwt" ] && fail "a trace of '$line' was written"
	bad=$((bad + 1))
done <<'TEXT'
12, 3;expected an allocation entry
xyz, 1, 1, 0, 1, 1, 0;expected an allocation entry
10, 1, 1, 0, 1, 1, 0, 5;expected an allocation entry
10, 1, 1, 0, 1, 99999999999999999999999, 0;expected an allocation entry
10, -1, 1, 0, 1, 1, 0;expected an allocation entry
0, 1, 1, 0, 1, 1, 0;an allocation entry has address 0
10, 1, 1, 0, 5, 4, 0;an allocation entry is freed before
10, 1, 1, 0, 9999999999999999999, 9999999999999999999, 0;a tick is later than a century
10, 1, 1, F000000000000000, 1, 1, 0;expected a type_id below
Types|version=4|type_id|name\n12;expected a type
TEXT
equal "bad lines" "$bad" 10
for text in '' 'no dump' 'HeapLog|version=3|address'; do
	printf '%s\n' "$text" >"$work/bad"
	"$HEAPWISE" import --from heaplog -o "$work/bad.hwt" "$work/bad" >/dev/null 2>"$work/errors"
	equal "status for '$text'" "$?" 3
done
# A call graph that leads back to itself is cut, not followed for ever.
printf '%s\n10, 1, 1, 0, 1, 2, A\nCallGraph|version=4|node|parent|address|function\nA, B, 1, a\nB, A, 2, b\n' "$header" >"$work/ring"
timeout 20 "$HEAPWISE" import --from heaplog -o "$work/ring.hwt" "$work/ring" 2>/dev/null
equal "status for a ring" "$?" 0
"$HEAPWISE" export --to heaplog "$work/trace.hwt" >/dev/full 2>"$work/errors"
equal "status for a full disk" "$?" 3
finish
