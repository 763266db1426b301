#!/bin/bash
# SPDX-License-Identifier: MIT
# The report in its three formats, against the events that dump prints; images, folders, broken files.
. "$(dirname "$0")/../run/lib.sh"
needs jq

program=(jq -n '[range(3000) | tostring] | length')
record "$work/trace.hwt" -- "${program[@]}" >/dev/null
equal "exit status" "$status" 0
report=("$HEAPWISE" report --no-symbols)
"${report[@]}" --format json "$work/trace.hwt" >"$work/json"
equal "status of json" "$?" 0

# What a script may rely on: path, type.
while read -r path type; do
	equal "type of $path" "$(jq -r "$path | type" "$work/json")" "$type"
done <<'ROWS'
.program string
.command string
.pid number
.duration_ns number
.complete boolean
.lost_events number
.allocations number
.frees number
.bytes number
.peak.bytes number
.peak.chunks number
.peak.time_ns number
.kept.bytes number
.kept.chunks number
.temporary number
.points number
.contexts number
.threads number
.calls.malloc number
.calls.calloc number
.calls.realloc number
.calls.memalign number
.calls.free number
.calls.new number
.calls.delete number
.end.how string
.end.value number
.images number
.image number
.modules number
.sample_bytes number
.estimated boolean
.unknown_frees number
.implied_frees number
.allocator_samples number
.cpu_time_ns number
.failed_calls number
.faults.ring_full number
.caveats array
.rss object
.top.bytes array
.top.peak array
.top.kept array
.top.temporary array
.top.count array
.top.bytes[0].stack array
.top.bytes[0].stack[0].module string
.top.bytes[0].stack[0].offset number
.top.bytes[0].stack[0].inlined boolean
.sizes array
.schema.report array
ROWS
equal "complete" "$(jq .complete "$work/json")" true
# On a busy machine nobody looked when most was resident, and that is said.
equal "caveats" "$(jq -c '[.caveats[] | select(startswith("resident memory once reached") | not)]' "$work/json")" "[]"

# The same numbers once more, from the events alone.
"$HEAPWISE" trace dump "$work/trace.hwt" >"$work/events"
awk '
	/^#/ { next }
	$3 ~ /^(malloc|calloc|realloc|memalign|new|new_array)$/ {
		allocations++; bytes += $5; live += $5; size[$6] = $5; chunks++
		made[$2]++; birth[$6] = made[$2]; owner[$6] = $2; context[$7] = 1
		if (live > peak) { peak = live; peak_chunks = chunks }
	}
	$3 ~ /^(free|realloc_free|delete|delete_array)$/ {
		frees++; live -= size[$6]; chunks--
		if (made[owner[$6]] == birth[$6]) temporary++
	}
	END { print allocations, frees, bytes, peak, peak_chunks, live, chunks, temporary }
' "$work/events" >"$work/counted"
equal "totals" "$(jq -r '"\(.allocations) \(.frees) \(.bytes) \(.peak.bytes) \(.peak.chunks) \(.kept.bytes) \(.kept.chunks) \(.temporary)"' "$work/json")" \
	"$(cat "$work/counted")"

# All points together are the whole program.
"${report[@]}" --format json --top 0 "$work/trace.hwt" >"$work/all"
equal "sums over points" \
	"$(jq -c '[.top.bytes | map(.bytes), map(.allocations), map(.at_peak_bytes), map(.kept_bytes), map(.temporary) | add]' "$work/all")" \
	"$(jq -c '[.bytes, .allocations, .peak.bytes, .kept.bytes, .temporary]' "$work/all")"
equal "points listed" "$(jq '.top.count | length' "$work/all")" "$(jq .points "$work/all")"
equal "order" "$(jq '.top.bytes | map(.bytes) == (map(.bytes) | sort | reverse)' "$work/all")" true
equal "sizes" "$(jq '.sizes | map(.allocations) | add' "$work/all")" "$(jq .allocations "$work/all")"

# Slack: more is temporary, all freed chunks with no limit.
equal "with unlimited slack" \
	"$("${report[@]}" --format json --temporary-slack 4000000000 "$work/trace.hwt" | jq .temporary)" \
	"$(jq .frees "$work/json")"

# Text: within 100 columns, the same peak; one list alone with --by.
"${report[@]}" "$work/trace.hwt" >"$work/text"
equal "too wide lines" "$(LC_ALL=C.UTF-8 awk 'length($0) > 100' "$work/text" | wc -l)" 0
for heading in Summary "Most bytes requested" "Largest at the peak" "Kept" "Temporary" "Most allocations"; do
	says "$work/text" "^$heading"
done
says <(tail -1 "$work/text") "heapwise mprof .*heapwise leaks "
grep -q "$(printf '\033')" "$work/text" && fail "escape sequences without a terminal"
equal "lists with --by kept" \
	"$("${report[@]}" --by kept "$work/trace.hwt" | grep -cE '^(Most|Largest|Kept|Temporary)')" 1
equal "rows of csv" "$("${report[@]}" --format csv --by count --top 3 "$work/trace.hwt" | wc -l)" 4
equal "csv field" "$("${report[@]}" --format csv "$work/trace.hwt" | sed -n 's/^peak.bytes,\([0-9]*\),bytes,.*/\1/p')" \
	"$(jq .peak.bytes "$work/json")"

# Images: the last by default, the others on request.
record "$work/exec.hwt" -- sh -c 'exec "$@"' sh "${program[@]}" >/dev/null
equal "images" "$(field "$work/exec.hwt" .images)" 2
equal "allocations of the last image" "$(field "$work/exec.hwt" .allocations)" "$(jq .allocations "$work/json")"
equal "end of the first" "$("${report[@]}" --format json --image 0 "$work/exec.hwt" | jq -r .end.how)" exec
equal "kept of the first" "$("${report[@]}" --format json --image 0 "$work/exec.hwt" | jq .kept.bytes)" 0
"${report[@]}" --image 2 "$work/exec.hwt" >"$work/stdout" 2>"$work/stderr"
equal "status of a missing image" "$?" 2
says "$work/stderr" "has 2 images"

# A folder: each trace in it.
mkdir "$work/folder"
cp "$work/trace.hwt" "$work/folder/b.hwt"
cp "$work/exec.hwt" "$work/folder/a.hwt"
equal "reports of a folder" "$("${report[@]}" --format json "$work/folder" | jq -c 'map(.images)')" "[2,1]"
# Together: sums, and points that are the same in both.
"${report[@]}" --merged --format json "$work/folder" >"$work/merged"
equal "processes of the session" "$(jq .process_count "$work/merged")" 2
equal "allocations of the session" "$(jq .allocations "$work/merged")" \
	"$("${report[@]}" --format json "$work/folder" | jq 'map(.allocations) | add')"
equal "bytes of all points" "$("${report[@]}" --merged --top 0 --format json "$work/folder" | jq '.points | map(.bytes) | add')" \
	"$(jq .bytes "$work/merged")"
"${report[@]}" "$work/folder" >"$work/stdout" 2>"$work/stderr"
says "$work/stdout" "^Recording, all processes"
says "$work/stdout" "in all processes"
# Equal are whole stacks, however few frames are shown.
equal "points with one frame shown" "$("${report[@]}" --merged --top 0 --depth 1 --format json "$work/folder" | jq '.points | length')" \
	"$("${report[@]}" --merged --top 0 --depth 0 --format json "$work/folder" | jq '.points | length')"
# One that cannot be read: it is told once, and the others are reported.
head -c 4096 /dev/urandom >"$work/folder/c.hwt"
"${report[@]}" "$work/folder" >"$work/stdout" 2>"$work/stderr"
equal "status with a damaged trace" "$?" 3
says "$work/stdout" "^Recording, all processes"
equal "reports beside a damaged trace" "$(grep '^Most bytes requested' "$work/stdout" | grep -vc 'in all processes')" 2
equal "sentences about a damaged trace" "$(grep -c 'c.hwt is not a Heapwise trace' "$work/stderr")" 1
rm "$work/folder/c.hwt"
mkdir "$work/empty"
"${report[@]}" "$work/empty" >"$work/stdout" 2>"$work/stderr"
equal "status of an empty folder" "$?" 3
says "$work/stderr" "contains no traces"

# Function names: looked up once, kept in the file; a file that cannot be written is reported as it is.
cp "$work/trace.hwt" "$work/named.hwt"
"$HEAPWISE" report "$work/named.hwt" >"$work/stdout" 2>"$work/stderr"
equal "status with names" "$?" 0
says "$work/stderr" "looking up function names"
says "$work/stdout" "jv_|libjq|__libc_start_main"
"$HEAPWISE" report "$work/named.hwt" 2>"$work/stderr" >"$work/again"
cmp -s "$work/stdout" "$work/again" || fail "the second report differs"
[ ! -s "$work/stderr" ] || fail "names are looked up again"
equal "symbols" "$("$HEAPWISE" trace info --format json "$work/named.hwt" | jq .has_symbols)" true

# Broken files.
: >"$work/nothing"
head -c 4096 /dev/urandom >"$work/noise"
for name in nothing noise; do
	for command in report "trace dump" "trace info" "trace symbolize"; do
		"$HEAPWISE" $command "$work/$name" >"$work/stdout" 2>"$work/stderr"
		equal "status of $command $name" "$?" 3
		says "$work/stderr" "heapwise $command: .*$name is not a Heapwise trace"
	done
done
size=$(stat -c %s "$work/trace.hwt")
head -c $((size / 2)) "$work/trace.hwt" >"$work/half"
"${report[@]}" --format json "$work/half" >"$work/json" 2>"$work/stderr"
status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "half a file: status $status"
if [ "$status" -eq 0 ]; then
	equal "complete, of half a file" "$(jq .complete "$work/json")" false
	at_least "caveats of half a file" "$(jq '.caveats | length' "$work/json")" 1
fi
finish
