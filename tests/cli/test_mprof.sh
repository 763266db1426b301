#!/bin/bash
# SPDX-License-Identifier: MIT
# The four tables of mprof: the paper's program against its own counts, call graphs against tables that
# were checked by hand, types of separate debug files, and what can be wrong with a trace.
. "$(dirname "$0")/../run/lib.sh"
needs jq
golden=$(dirname "$0")/mprof
widget=$HEAPWISE_BUILD_DIR/examples/widget

# mprof ARGUMENT...   status in $status, output in $work/stdout and $work/errors
mprof()
{
	"$HEAPWISE" mprof "$@" >"$work/stdout" 2>"$work/errors"
	status=$?
}

# json FILTER [ARGUMENT...]   of the tables of $trace
json()
{
	local filter=$1
	shift
	"$HEAPWISE" mprof --format json "$@" "$trace" 2>/dev/null | jq -r "$filter"
}

# ---- the paper's widgets, against what the program counted itself ----

trace=$work/widget.hwt
record "$trace" -- "$widget" >/dev/null
equal "exit status of the widget program" "$status" 0
read -r _ red _ blue _ freed _ size <<<"$(grep '^red' "$work/stderr")"
equal "size of a widget" "$size" 204
at_least "red widgets" "$red" 1

equal "leaks" "$(json '.leaks | length')" 1
equal "the leak's path" "$(json '.leaks[0].path | map(.function) | reverse | join(" > ")')" \
	"main > make_red_widget > make_widget"
equal "the leak" "$(json '.leaks[0] | "\(.allocations) \(.bytes) \(.kept_bytes) \(.frees)"')" \
	"$red $((204 * red)) $((204 * red)) 0"
equal "the bin of 204" \
	"$(json '.bins[] | select(.size == 204) | "\(.allocations) \(.bytes) \(.frees) \(.kept_bytes) \(.types)"')" \
	"$((red + blue)) $((204 * (red + blue))) $freed $((204 * red)) widget"
equal "rows of direct allocation" "$(json '.direct | map(.name) | join(" ")')" "<TOTAL> make_widget"
equal "direct allocation" "$(json '.direct[1] | "\(.bytes) \(.kept_bytes) \(.calls) \(.medium) \(.share)"')" \
	"$((204 * (red + blue))) $((204 * red)) $((red + blue)) 1 1"
equal "entries of the graph" "$(json '.graph | map(select(.kind == "entry") | .name) | sort | join(" ")')" \
	"main make_blue_widget make_red_widget make_widget"
for colour in red:$red blue:$blue; do
	name=make_${colour%:*}_widget
	number=${colour#*:}
	equal "what $name asks of make_widget" \
		"$(json ".graph[] | select(.kind == \"ancestor\" and .name == \"$name\") | \"\(.bytes) \(.called)/\(.called_of)\"")" \
		"$((204 * number)) $number/$number"
done
mprof "$trace"
equal "status" "$status" 0
equal "the tables' order" "$(grep -E '^[A-Z]' "$work/stdout" | tr '\n' ,)" \
	"Memory leaks,Allocation bins,Direct allocation,Allocation call graph,"
says "$work/stdout" "^ +$red +$((204 * red)) \(100\) \| main > make_red_widget > make_widget$"
says "$work/stdout" "^ +204 .* widget$"
equal "columns of freed blocks when nothing was freed" "$(sed -n 2p "$work/stdout" | grep -c frees)" 0

# ---- cycles, recursion, deep chains ----

trace=$work/calls.hwt
record "$trace" -- "$HEAPWISE_TARGETS/calls" >/dev/null
equal "exit status of calls" "$status" 0
grep '^site' "$work/stderr" | sed 's/^site //' | sort >"$work/sites"
while read -r name arguments; do
	mprof $arguments "$trace"
	diff "$golden/$name.txt" "$work/stdout" >"$work/diff" ||
		{ fail "$name is not as it should be:"; head -20 "$work/diff"; }
done <<'ROWS'
leaks --table leaks --verbose
bins --table bins
direct --table direct
graph --table graph
graph-keep --table graph --cycles keep
ROWS

# The program knows where its two calls return to.
json '.leaks[].path[].function' --offsets | grep '^twice' | sort >"$work/told"
equal "offsets of two calls in a function" "$(cat "$work/told")" "$(cat "$work/sites")"
equal "leaks in twice with offsets" "$(wc -l <"$work/told")" 2
equal "leaks in twice without" "$(json '.leaks[].path[].function' | grep -c '^twice')" 1
equal "a whole chain" "$(json '.leaks[0].path | map(.function) | reverse | join(" ")' --depth 0)" \
	"main deep1 deep2 deep3 deep4 deep5 deep6 deep7 deep8"
equal "a chain of two" "$(json '.leaks[0].path | map(.function) | reverse | join(" ")' --depth 2)" "deep7 deep8"

# Each allocation counts once for main, whatever recursion there is.
for cycles in merge keep; do
	equal "share of main with --cycles $cycles" \
		"$(json '.graph[] | select(.kind == "entry" and .name == "main") | .total_share' --cycles $cycles)" 1
done

# ---- options ----

equal "--no-leaktable" "$(json 'keys | map(select(. != "caveats" and . != "schema")) | join(" ")' --no-leaktable)" \
	"bins direct graph"
equal "--table direct" "$(json 'keys | map(select(. != "caveats" and . != "schema")) | join(" ")' --table direct)" direct
equal "leaks shown" "$(json '.leaks | length') $(json '.leaks | length' --terse) $(json '.leaks | length' --verbose)" "5 5 6"
equal "logarithmic bins" "$(json '[.bins[].size | select(. != null)] | join(" ")' --bins log)" "32 64 256 512 4096"
mprof --format csv --table direct "$trace"
equal "rows of csv" "$(wc -l <"$work/stdout")" 8
ln -s "$widget" "$work/widget"
while IFS='|' read -r words wanted text; do
	mprof $words
	equal "status of '$words'" "$status" "$wanted"
	says "$work/errors" "$text"
done <<ROWS
|2|no FILE given
a b|2|expected one FILE
--verbose --terse $trace|2|--verbose, --normal and --terse cannot be combined
--table points $trace|2|must be one of leaks
--image 3 $trace|2|has 1 image
/no/such/file|3|No such file
$work/widget|3|.
ROWS

# ---- many events over many stacks ----

trace=$work/many.hwt
record "$trace" -- "$HEAPWISE_TARGETS/many" 50000 >/dev/null
read -r _ allocations _ bytes _ kept <<<"$(grep '^allocations' "$work/stderr")"
equal "totals of direct allocation" "$(json '.direct[0] | "\(.calls) \(.bytes) \(.kept_bytes)"')" "$allocations $bytes $kept"
equal "all leaks together" "$(json '[.leaks[].kept_bytes] | add' --verbose)" "$kept"
equal "all bins together" "$(json '[.bins[:-1][].bytes] | add' --verbose)" "$bytes"
equal "what main asked for" "$(json '[.graph[] | select(.kind == "descendant" and .entry == 0)][0].bytes')" "$bytes"

# ---- types of a stripped program; files that went away ----

if has objcopy binutils; then
	objcopy --only-keep-debug "$widget" "$work/prog.debug"
	objcopy --strip-all --add-gnu-debuglink="$work/prog.debug" "$widget" "$work/prog" 2>/dev/null
	trace=$work/stripped.hwt
	record "$trace" -- "$work/prog" >/dev/null
	equal "types of a stripped program" "$(json '.bins[0].types')" widget
	equal "its leak" "$(json '.leaks[0].path | map(.function) | join(" ")')" "make_widget make_red_widget main"
	id=$(readelf -n "$widget" | sed -n 's/.*Build ID: //p')
	if [ -n "$id" ]; then
		mkdir -p "$work/debug/.build-id/${id:0:2}"
		mv "$work/prog.debug" "$work/debug/.build-id/${id:0:2}/${id:2}.debug"
		equal "types by build-id" "$(json '.bins[0].types' --debug-path "$work/debug")" widget
	fi
	rm -f "$work/prog.debug"
	equal "types without the debug file" "$(json '.bins[0].types')" null
	says <(json '.caveats[]') "has no debug information"
	cp "$HEAPWISE_TARGETS/empty" "$work/prog"
	equal "types of another program" "$(json '.bins[0].types')" null
	says <(json '.caveats[]') "missing or has changed: prog"
	rm "$work/prog"
	mprof --offsets "$trace"
	equal "status without the program" "$status" 0
	says "$work/stdout" "make_red_widget@0x"
fi

# ---- programs without anything, traces that break off, folders ----

trace=$work/empty.hwt
record "$trace" -- "$HEAPWISE_TARGETS/empty" >/dev/null
mprof "$trace"
equal "status of an empty program" "$status" 0
says "$work/stdout" "nothing was kept"
says "$work/stdout" "<TOTAL>"

head -c $(($(stat -c %s "$work/many.hwt") / 2)) "$work/many.hwt" >"$work/half.hwt"
mprof --no-symbols "$work/half.hwt"
equal "status of half a trace" "$status" 0
says "$work/stdout" "the recording is truncated"

mkdir "$work/folder"
cp "$work/widget.hwt" "$work/calls.hwt" "$work/folder"
trace=$work/folder
equal "tables of a folder" "$(json 'map(.leaks | length) | join(" ")')" "5 1"
finish
