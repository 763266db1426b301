#!/bin/bash
# SPDX-License-Identifier: MIT
# Queries of a recorded trace against the numbers of report, types, leaks and dump; mistakes; graphs; files; the manual.
. "$(dirname "$0")/../run/lib.sh"
needs jq

"$HEAPWISE" run -o "$work/trace.hwt" -- "$HEAPWISE_BUILD_DIR/examples/logstat" >/dev/null 2>&1
equal "status of run" "$?" 0
trace=$work/trace.hwt
"$HEAPWISE" report --format json "$trace" >"$work/report"
"$HEAPWISE" trace dump --format csv "$trace" >"$work/dump"

# ask QUERY FILTER   a number of the answer
ask()
{
	"$HEAPWISE" query --top 0 --format json "$trace" "$1" 2>"$work/stderr" | jq -r "$2"
}
report() { jq -r "$1" "$work/report"; }

# what report says, what a query says
while IFS='|' read -r path query filter; do
	equal "${query//;/|}" "$(ask "${query//;/|}" "${filter//;/|}")" "$(report "$path")"
done <<'ROWS'
.allocations|all|.matched.chunks
.bytes|all|.matched.bytes
.frees|all ; where freed|.matched.chunks
.kept.bytes|all ; where kept|.matched.bytes
.kept.chunks|at end|.matched.chunks
.peak.bytes|at peak|.matched.bytes
.peak.chunks|at peak|.matched.chunks
.temporary|all ; where temporary|.matched.chunks
.calls.malloc|all ; where call == "malloc"|.matched.chunks
.points|all ; join stack|.entries
.threads|all ; join thread|.entries
.top.bytes[0].bytes|all ; join stack ; sort size desc ; limit 1|.rows[0].size
.top.bytes[0].allocations|all ; join stack ; sort size desc ; limit 1|.rows[0].chunks
.top.count[0].allocations|all ; join point ; sort chunks desc|.rows[0].chunks
.top.peak[0].at_peak_bytes|at peak ; join stack ; sort size desc|.rows[0].size
.allocations|all ; agg count()|.rows[0]["count()"]
.bytes|all ; agg sum(size)|.rows[0]["sum(size)"]
ROWS

# what dump says: rows of image, time, tid, kind, address, size, chunk …
counted()
{
	awk -F, "$1" "$work/dump"
}
alloc='$4 == "malloc" || $4 == "calloc" || $4 == "realloc" || $4 == "memalign"'
equal "large chunks" "$(ask 'all | where size >= 1KiB' .matched.chunks)" \
	"$(counted "($alloc) && \$6 >= 1024 { n++ } END { print n + 0 }")"
half=$(counted 'NR > 1 { last = $2 } END { printf "%d", last / 2 }')
equal "allocated in the first half" "$(ask "all | where alloc <= ${half}ns" .matched.chunks)" \
	"$(counted "($alloc) && \$2 <= $half { n++ } END { print n + 0 }")"
equal "live at half time" "$(ask "at ${half}ns" .matched.chunks)" \
	"$(counted "\$2 > $half { next } ($alloc) { live[\$7] } \$4 == \"free\" { delete live[\$7] }
		END { for (c in live) n++; print n + 0 }")"
equal "windows" \
	"$("$HEAPWISE" query --format json --window alloc --from "${half}ns" "$trace" all | jq .matched.chunks)" \
	"$(counted "($alloc) && \$2 >= $half { n++ } END { print n + 0 }")"
quarter=$((half / 2))
equal "the difference of two snapshots" \
	"$(ask "diff(at ${half}ns, at ${quarter}ns)" .matched.chunks)" \
	"$(counted "\$2 > $half { next } ($alloc) { live[\$7] = \$2 } \$4 == \"free\" { delete live[\$7] }
		END { for (c in live) if (live[c] > $quarter) n++; print n + 0 }")"

# types, as heapwise types has them: the whole table, which is the same rows in another order where bytes are equal
if [ -x "$HEAPWISE_TARGETS/containers" ]; then
	"$HEAPWISE" run -o "$work/types.hwt" -- "$HEAPWISE_TARGETS/containers" >/dev/null 2>&1
	for guess in "" --no-guess; do
		"$HEAPWISE" types $guess --top 0 --format json "$work/types.hwt" 2>/dev/null |
			jq -c '[.types[] | [.type, .chunks, .bytes]] | sort' >"$work/types"
		at_least "types" "$(jq length "$work/types")" 5
		"$HEAPWISE" query $guess --top 0 --format json "$work/types.hwt" 'all | join type' |
			jq -c '[.rows[] | [.type, .chunks, .size]] | sort' >"$work/joined"
		cmp "$work/types" "$work/joined" || fail "types and 'join type' disagree${guess:+ with $guess}"
	done
	"$HEAPWISE" scores --by severity --top 0 --format json "$work/types.hwt" 2>/dev/null |
		jq -c '[.points[] | select(.severity != null) | .severity] | sort' >"$work/scores"
	at_least "points with a severity" "$(jq length "$work/scores")" 5
	"$HEAPWISE" query --top 0 --format json "$work/types.hwt" 'all | where known(sev) | join point, sev' |
		jq -c '[.rows[].sev] | sort' >"$work/joined"
	cmp "$work/scores" "$work/joined" || fail "scores and 'join point, sev' disagree"
fi

# two traces: all of the first has its stack in the second, which is the same run again
cp "$trace" "$work/other.hwt"
equal "difference to itself" "$("$HEAPWISE" query --format json "$trace" "$work/other.hwt" \
	'diff(all, trace "base")' | jq .matched.chunks)" 0
equal "both" "$("$HEAPWISE" query --format json "$trace" "$work/other.hwt" \
	'union(all, trace "other.hwt") | agg count()' | jq '.rows[0]["count()"]')" "$((2 * $(report .allocations)))"

# formats and rows
equal "rows of csv" "$("$HEAPWISE" query --top 5 --format csv "$trace" all | sed '1,/^$/d' | wc -l)" 6
equal "skipped" "$("$HEAPWISE" query --top 1 --skip 7 --format json "$trace" all | jq '.rows[0].chunk')" 7
"$HEAPWISE" query --stacks --top 1 "$trace" all >"$work/stdout"
says "$work/stdout" "main"
"$HEAPWISE" query "$trace" 'all | where reads > 3' >"$work/stdout"
says "$work/stdout" "accesses were not recorded"

# mistakes: query, column, what stderr says
while IFS='@' read -r query column text; do
	"$HEAPWISE" query "$trace" "$query" >"$work/stdout" 2>"$work/stderr"
	equal "status of '$query'" "$?" 2
	says "$work/stderr" "column $column: $text"
	[ ! -s "$work/stdout" ] || fail "'$query' prints on stdout"
	caret=$(awk '/^  *\^/ { print index($0, "^") - 2 }' "$work/stderr")
	equal "caret of '$query'" "$caret" "$column"
done <<'ROWS'
all | where siz > 3@13@unknown field 'siz'
all | where life > 3@20@a time needs a unit
trace "x"@1@no trace 'x' is open
all | join fn | unify until 3@17@unify needs single chunks
ROWS

# texts, files and graphs
cat >"$work/saved.hwq" <<'TEXT'
# what is large
let big = all | where size>=1024B;
big | join fn | sort size desc
#@ box b1 10 20
#@ box b2 30 40 large
TEXT
canonical='let big = all | where size >= 1KiB;
big | join fn | sort size desc'
equal "canonical" "$("$HEAPWISE" query --canonical --file "$work/saved.hwq")" "$canonical"
"$HEAPWISE" query --graph --file "$work/saved.hwq" >"$work/graph"
equal "boxes" "$(jq -c '[.boxes[].kind]' "$work/graph")" '["all","where","join","sort"]'
equal "place of a box" "$(jq -c '.boxes[1] | [.x, .y, .label, .name]' "$work/graph")" '[30,40,"large","big"]'
equal "text of the graph" "$("$HEAPWISE" query --canonical --from-graph "$work/graph")" "$canonical"
equal "answer of the graph" "$("$HEAPWISE" query --format json --from-graph "$work/graph" "$trace")" \
	"$("$HEAPWISE" query --format json --file "$work/saved.hwq" "$trace")"
jq '.edges += [{"from": "b4", "to": "b2", "in": 0}]' "$work/graph" >"$work/circle"
"$HEAPWISE" query --canonical --from-graph "$work/circle" 2>"$work/stderr"
equal "status of a wrong graph" "$?" 2
says "$work/stderr" "box b2: two edges lead to the same input"

# the manual has the fields and boxes of the program, and its examples are queries
page=$HEAPWISE_SOURCE_DIR/man/heapwise-query.7
sed 's/\\-/-/g; s/\\(dq/"/g' "$page" >"$work/page"
"$HEAPWISE" query --fields --format json | jq -r '.rows[] | [.name, .type, .meaning] | @tsv' >"$work/fields"
at_least "fields" "$(wc -l <"$work/fields")" 40
while IFS=$'\t' read -r name type meaning; do
	grep -qE "^\.BR $name \" \($type, of the " "$work/page" || fail "heapwise-query(7) lacks the field $name"
	grep -qFx -- "$meaning" "$work/page" || fail "heapwise-query(7) has another meaning of $name"
done <"$work/fields"
equal "fields of the manual" "$(sed -n '/^\.SH FIELDS/,/^\.SH/p' "$work/page" | grep -c '^\.TP')" "$(wc -l <"$work/fields")"
"$HEAPWISE" query --boxes --format json | jq -r '.rows[] | [.kind, .help] | @tsv' >"$work/boxes"
while IFS=$'\t' read -r kind help; do
	grep -qE "^\.BR $kind \" \(" "$work/page" || fail "heapwise-query(7) lacks the box $kind"
	grep -qFx -- "$help" "$work/page" || fail "heapwise-query(7) has another meaning of the box $kind"
done <"$work/boxes"
sed -n '/^\.SH EXAMPLES/,/^\.SH "SEE/p' "$work/page" | awk '/^\.nf/ { on = 1; next } /^\.fi/ { on = 0 } on' |
	sed 's/\\e/\\/g' >"$work/examples"
at_least "lines of examples" "$(wc -l <"$work/examples")" 15
text=
while read -r line; do
	text="$text$line"$'\n'
	[ "${line%;}" = "$line" ] || continue
	"$HEAPWISE" query --format json "$trace" "$work/other.hwt" "$text" >/dev/null 2>"$work/stderr" ||
		fail "an example of heapwise-query(7) is refused: $text $(cat "$work/stderr")"
	text=
done <"$work/examples"
finish
