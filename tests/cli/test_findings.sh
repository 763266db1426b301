#!/bin/bash
# SPDX-License-Identifier: MIT
# heapwise findings and scores as a user meets them: a program of known waste, the examples, the end of
# run, the top of the report, formats, ids, limits, broken traces, folders.
. "$(dirname "$0")/../run/lib.sh"
needs jq

"$HEAPWISE" run -o "$work/trace" -- "$HEAPWISE_TARGETS/wastes" 2>"$work/stderr"
equal "status of the run" "$?" 0
"$HEAPWISE" findings --all --format json "$work/trace" >"$work/json"
equal "status of json" "$?" 0

# kind, function, what the sentence says, confidence
while IFS='|' read -r kind function text sure; do
	row=".findings[] | select(.kind == \"$kind\" and (.function | startswith(\"$function\")))"
	jq -r "$row | .text" "$work/json" >"$work/text"
	says "$work/text" "$text"
	equal "confidence of $kind in $function" "$(jq -r "$row | .confidence" "$work/json")" "$sure"
	equal "file of $kind" "$(jq -r "$row | .file | split(\"/\") | last" "$work/json")" wastes.cpp
	at_least "line of $kind" "$(jq -r "$row | .line" "$work/json")" 10
done <<'ROWS'
churn|chunk_in_a_loop|^Allocated and freed 1,000 times, on average after .*, before the next allocation: use the stack|measured
growing|vector_growth|^Grew 12 times from 4 B to 16\.0 KiB, one of 4 such runs: reserve the final size first|inferred
growing|realloc_growth|^Grew 14 times from 64 B to 1\.0 MiB: reserve the final size first|measured
zero_size|no_bytes|^500 allocations of 0 bytes|measured
leak|leak|^(All )?10 chunks \(9\.8 KiB\) were never freed, and nothing points to them any more|measured
ROWS
# Whether it is there for a tenth of the run is a matter of the machine.
equal "what holds the peak" "$(jq -r '.findings[0] | select(.kind == "peak" or .kind == "burst") | .function' "$work/json")" "realloc_growth()"
equal "levels" "$(jq -c '[.findings[].level] | map({costly: 0, "worth a look": 1, minor: 2}[.]) | . == sort' "$work/json")" true
equal "leaks before calls" "$(jq -c '[.findings[] | select(.level == "minor") | .kind][0]' "$work/json")" '"leak"'
equal "units" "$(jq -c '[.findings[].saves_unit] | unique' "$work/json")" '["cpu_ns","peak_bytes"]'
equal "repairs" "$(jq -c '[.findings[] | .repair as $repair | .text | endswith(": \($repair).")] | all' "$work/json")" true
equal "ids that are equal" "$(jq '[.findings[].id] | length - (unique | length)' "$work/json")" 0
equal "accesses" "$(jq -c '[.findings[].kind] - (["churn", "growing", "zero_size", "leak", "kept", "peak", "burst", "growth"])' "$work/json")" "[]"

# A second run, with other numbers, has the same ids.
"$HEAPWISE" run -q -o "$work/again" -- "$HEAPWISE_TARGETS/wastes" 1200 2>/dev/null
ids='[.findings[] | select(.kind | IN("peak", "burst", "pinned", "left_behind", "not_given_back", "arenas") | not) | .id] | sort' # these go by the clock
equal "ids of a second run" "$("$HEAPWISE" findings --all --top 0 --format json "$work/again" | jq -c "$ids")" "$(jq -c "$ids" "$work/json")"

# The end of a run says the first three, unless it is to be quiet or the report follows.
"$HEAPWISE" findings --format json "$work/trace" >"$work/json"
equal "findings of a run" "$(grep -c '^heapwise: finding [123]: ' "$work/stderr")" "$(jq '.findings[:3] | length' "$work/json")"
says "$work/stderr" "next: heapwise findings .*, heapwise serve --open "
first=$(jq -r '.findings[0].text' "$work/json")
grep -qF -- "heapwise:   $first" "$work/stderr" || fail "the run does not say '$first'"
"$HEAPWISE" run -q -o "$work/quiet" -- "$HEAPWISE_TARGETS/wastes" 2>"$work/stderr"
[ ! -s "$work/stderr" ] || fail "run --quiet says something"
"$HEAPWISE" run --report -o "$work/quiet" -- "$HEAPWISE_TARGETS/wastes" >"$work/stdout" 2>"$work/stderr"
equal "findings before a report" "$(grep -c '^heapwise: finding' "$work/stderr")" 0
says "$work/stdout" "^Findings"
equal "findings of the report" "$("$HEAPWISE" report --format json "$work/trace" | jq -c '[.findings[].id]')" \
	"$(jq -c '[.findings[:5][].id]' "$work/json")"

# Text: within 100 columns; --top, --depth, --min-share.
"$HEAPWISE" findings "$work/trace" >"$work/text"
at_most "widest line" "$(LC_ALL=C.UTF-8 wc -L <"$work/text")" 100
says "$work/text" "realloc_growth\(\) \(wastes\.cpp:[0-9]+\), called by main \(wastes\.cpp:"
says "$work/text" "--all lists [0-9,]+ more that would save too little"
says "$work/text" "no accesses were recorded, so whether memory was used is unknown; record with --access valgrind,"
says "$work/text" "^ +or build with 'heapwise cc'"
"$HEAPWISE" findings --all --top 1 "$work/trace" >"$work/text"
equal "rows with --top 1" "$(grep -cE '^ +[0-9]+  [a-z_]+ ' "$work/text")" 1
says "$work/text" "^Findings, the first 1 of [0-9]+"
equal "depth" "$("$HEAPWISE" findings --depth 1 --format json "$work/trace" | jq '[.findings[].stack | length] | max')" 1
equal "with --min-share 100" "$("$HEAPWISE" findings --min-share 100 --format json "$work/trace" | jq -c '[.findings[].kind]')" '[]'
equal "with other limits" "$("$HEAPWISE" findings --all --growing-steps 13 --short-min 2000 --temporary-min 2000 --zero-min 501 \
	--format json "$work/trace" | jq -c '[.findings[] | select(.kind == "growing" or .kind == "churn" or .kind == "zero_size") | .function | split("(")[0]]')" \
	'["realloc_growth"]'
says <("$HEAPWISE" findings --format csv "$work/trace") '^rank,level,kind,saves,'

# The examples, as their comments describe their flaws.
"$HEAPWISE" run -q -o "$work/logstat" -- "$HEAPWISE_BUILD_DIR/examples/logstat" >/dev/null
"$HEAPWISE" findings --format json "$work/logstat" >"$work/json"
equal "first of logstat" "$(jq -r '.findings[0] | "\(.kind) \(.function)"' "$work/json")" "leak page_find"
"$HEAPWISE" findings --all --format json "$work/logstat" >"$work/json"
says <(jq -r '.findings[] | select(.kind == "churn" and .function == "field_copy").text' "$work/json") "freed 60,000 times"
equal "leaks of logstat" "$(jq -r '[.findings[] | select(.kind == "leak") | .function] | join(" ")' "$work/json")" page_find
"$HEAPWISE" run -q -o "$work/widget" -- "$HEAPWISE_BUILD_DIR/examples/widget" 2>/dev/null
equal "findings of widget" "$("$HEAPWISE" findings --format json "$work/widget" |
	jq -r '[.findings[] | select(.kind != "churn") | "\(.kind) \(.function) \(.stack[1].function)"] | join("; ")')" "peak make_widget make_red_widget"

# Scores: what is not measured is null; every inference of a point has a state.
"$HEAPWISE" scores --top 0 --all --format json "$work/trace" >"$work/json"
equal "status of scores" "$?" 0
equal "unknown scores" "$(jq -c '[.usage.mean, .useful.mean, .access, .points[0].usage, .points[0].useful]' "$work/json")" \
	'[null,null,null,null,null]'
equal "scores out of bounds" "$(jq '[.points[] | .lifetime | select(. < 0 or . > 1)] | length' "$work/json")" 0
equal "severities out of bounds" "$(jq '[.points[] | .severity | select(. < 1 or . > 12)] | length' "$work/json")" 0
equal "inferences of each point" "$(jq '(.inferences | length) == 16 * (.points | length)' "$work/json")" true
equal "unknown inferences" "$(jq -c '[.inferences[] | select(.state == "unknown") | .id] | unique' "$work/json")" \
	'["coverage","early","late","read_only","read_write","shared","unused","write_only"]'
equal "severity of chunk_in_a_loop, all in one group" "$("$HEAPWISE" scores --group-gap 100 --top 0 --format json "$work/trace" |
	jq '.points[] | select(.stack[0].function // "" | startswith("chunk_in_a_loop")) | .severity')" 12
equal "allocations of all points" "$(jq '[.points[].allocations] | add' "$work/json")" \
	"$("$HEAPWISE" report --format json "$work/trace" | jq .allocations)"
"$HEAPWISE" scores "$work/trace" >"$work/text"
at_most "widest line of scores" "$(LC_ALL=C.UTF-8 wc -L <"$work/text")" 100
says "$work/text" "short [0-9,]+ of 1,000, temporary 1,000 of 1,000"
equal "by count" "$("$HEAPWISE" scores --by count --format json "$work/trace" | jq '.points | map(.allocations) == (map(.allocations) | sort | reverse)')" true

# Empty, killed, cut, sampled, garbage, folder.
"$HEAPWISE" run -q -o "$work/empty" -- "$HEAPWISE_TARGETS/empty"
for command in findings scores; do
	"$HEAPWISE" "$command" "$work/empty" >"$work/stdout" 2>&1
	equal "status of $command of an empty program" "$?" 0
	head -c 3000 /dev/urandom >"$work/garbage"
	"$HEAPWISE" "$command" "$work/garbage" >"$work/stdout" 2>"$work/stderr"
	equal "status of $command of garbage" "$?" 3
	for part in 3 4; do
		head -c $(($(stat -c %s "$work/trace") * part / 5)) "$work/trace" >"$work/cut"
		"$HEAPWISE" "$command" --no-symbols "$work/cut" >"$work/stdout" 2>"$work/stderr"
		status=$?
		[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "status of $command of a cut trace is $status"
	done
done
equal "findings of an empty program" "$("$HEAPWISE" findings --format json "$work/empty" | jq -c .findings)" "[]"
"$HEAPWISE" run -q --sample 512 -o "$work/sampled" -- "$HEAPWISE_TARGETS/wastes" 20000
equal "confidence of a sample" "$("$HEAPWISE" findings --all --format json "$work/sampled" | jq -r '[.findings[] | select(.kind == "churn") | .confidence] | unique | join(" ")')" estimated
mkdir "$work/folder"
cp "$work/trace" "$work/folder/a.hwt"
cp "$work/empty" "$work/folder/b.hwt"
equal "traces of a folder" "$("$HEAPWISE" findings --format json "$work/folder" | jq length)" 2
finish
