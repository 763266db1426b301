#!/bin/bash
# SPDX-License-Identifier: MIT
# What commands print is the same with an index and without, byte by byte; and 'heapwise trace index' itself.
. "$(dirname "$0")/../run/lib.sh"
needs jq
export XDG_CACHE_HOME="$work/cache"

# same_output TRACE NAME COMMAND...   with the index that is there, and without
same_output()
{
	local trace=$1 name=$2
	shift 2
	"$HEAPWISE" "$@" --no-index "$trace" >"$work/read" 2>"$work/read.err"
	equal "status of $name without index" "$?" "$want_status"
	"$HEAPWISE" "$@" "$trace" >"$work/mapped" 2>"$work/mapped.err"
	equal "status of $name with index" "$?" "$want_status"
	[ -s "$work/read" ] || fail "$name prints nothing of $trace"
	cmp "$work/read" "$work/mapped" || fail "$name differs with an index of $trace"
	cmp "$work/read.err" "$work/mapped.err" || fail "$name complains otherwise with an index of $trace"
}

# check TRACE   makes its index, and compares
check()
{
	local trace=$1 command

	"$HEAPWISE" trace index --no-symbols "$trace" 2>"$work/stderr" || fail "no index of $trace: $(cat "$work/stderr")"
	says "$work/stderr" "$trace.index written"
	# that it is used is seen by what is not read
	index_is_used "$trace"
	want_status=0
	same_output "$trace" report report --no-symbols --temporary-slack 3
	same_output "$trace" report report --no-symbols --format json -n 0
	for command in mprof types findings scores excessive "trace callgraph"; do
		same_output "$trace" "${command#trace }" $command --no-symbols --format json
	done
	same_output "$trace" chunks types --no-symbols --chunks --format csv
	"$HEAPWISE" leaks --no-symbols --no-index "$trace" >/dev/null 2>&1
	want_status=$?
	same_output "$trace" leaks leaks --no-symbols
}

# An index whose trace is damaged behind its back, with size, times and both ends as they were, still answers: so it
# is the index that was asked.
index_is_used()
{
	local trace=$1 bytes middle

	bytes=$(stat -c %s "$trace")
	[ "$bytes" -gt 60000 ] || return
	cp -p "$trace" "$work/copy"
	middle=$((bytes / 2))
	"$HEAPWISE" report --no-symbols -f json "$trace" >"$work/before" 2>&1
	printf 'xxxxxxxxxxxxxxxx' | dd of="$trace" bs=1 seek=$middle conv=notrunc status=none
	touch -r "$work/copy" "$trace"
	"$HEAPWISE" report --no-symbols -f json "$trace" >"$work/after" 2>&1
	cmp "$work/before" "$work/after" || fail "the index of $trace is not used"
	cp -p "$work/copy" "$trace"
}

# Types, accesses, phases, threads, functions with names; and what was put into it.
"$HEAPWISE-synth" -o "$work/synth.hwt" --chunks 200k --points 4k --types 50 --access --threads 5 --seed 3 \
	-n 5 >"$work/synth.json"
equal "status of synth" "$?" 0
check "$work/synth.hwt"
"$HEAPWISE" report --format json -n 5 "$work/synth.hwt" >"$work/report.json"
for field in allocations bytes frees freed_bytes peak.bytes peak.chunks peak.time_ns kept.bytes kept.chunks points duration_ns; do
	equal "$field" "$(jq ".$field" "$work/report.json")" "$(jq ".$field" "$work/synth.json")"
done
equal "temporary" "$(jq .temporary "$work/report.json")" "$(jq .temporary.chunks "$work/synth.json")"
rows='[.[] | {bytes, allocations, kept_bytes}]'
equal "points by bytes" "$(jq -c ".top.bytes | $rows" "$work/report.json")" \
	"$(jq -c ".top | $rows" "$work/synth.json")"
equal "live at the end of each phase" \
	"$(jq -c '[.marks[] | select(.kind == "phase_end") | .live_bytes]' "$work/report.json")" \
	"$(jq -c '[.phases[].live_bytes]' "$work/synth.json")"

while IFS='|' read -r words wanted text; do
	"$HEAPWISE-synth" $words >"$work/out" 2>"$work/stderr"
	equal "status of synth $words" "$?" "$wanted"
	says "$work/stderr" "$text"
done <<'END'
--chunks 2|2|no output file given
-o a --chunks many|2|--chunks: expected a number such as 200k
-o a --chunks 0|2|--chunks: expected a number
-o a --points 5M|2|--points: expected 1 to
-o a --threads 65|2|--threads must be 1 to 64
-o /no/such/folder/a|3|/no/such/folder/a: No such file
a|2|unexpected argument
END

# The same seed, the same trace; another, another.
"$HEAPWISE-synth" -o "$work/again.hwt" --chunks 2k --points 100 >/dev/null
"$HEAPWISE-synth" -o "$work/twice.hwt" --chunks 2k --points 100 >/dev/null
cmp "$work/again.hwt" "$work/twice.hwt" || fail "synth is not the same twice"
"$HEAPWISE-synth" -o "$work/twice.hwt" --chunks 2k --points 100 --seed 2 >/dev/null
cmp -s "$work/again.hwt" "$work/twice.hwt" && fail "synth gives the same for another seed"

# Real ones: with a leak scan, sampled, with a limit of size, several images, cut off.
record "$work/plain.hwt" -- jq -n '[range(3000) | tostring] | length' >/dev/null
check "$work/plain.hwt"
record "$work/sampled.hwt" --sample 4096 -- jq -n '[range(3000) | tostring] | length' >/dev/null
check "$work/sampled.hwt"
record "$work/limited.hwt" --max-size 20K -- jq -n '[range(300000) | tostring] | length' >/dev/null
"$HEAPWISE" report --no-symbols "$work/limited.hwt" >"$work/limited"
says "$work/limited" "only as totals|not in the trace"
check "$work/limited.hwt"
head -c $(($(stat -c %s "$work/synth.hwt") / 2)) "$work/synth.hwt" >"$work/cut.hwt"
check "$work/cut.hwt"
record "$work/exec.hwt" -- sh -c 'exec sh -c "exec jq -n 1"' >/dev/null
check "$work/exec.hwt"
images=$(field "$work/exec.hwt" .images)
at_least "images" "$images" 2
want_status=0
same_output "$work/exec.hwt" "image 0" report --no-symbols --image 0
"$HEAPWISE" trace index -q --no-symbols --image 0 "$work/exec.hwt"
[ -f "$work/exec.hwt.image0.index" ] || fail "image 0 has no index"
same_output "$work/exec.hwt" "image 0 by its index" report --no-symbols --image 0

# Names that are looked up later make the index old; with names first it is not.
record "$work/names.hwt" -- jq -n 1 >/dev/null
"$HEAPWISE" trace index -q "$work/names.hwt" 2>/dev/null
"$HEAPWISE" trace index "$work/names.hwt" 2>"$work/stderr"
says "$work/stderr" "is up to date"
touch "$work/names.hwt"
"$HEAPWISE" trace index "$work/names.hwt" 2>"$work/stderr"
says "$work/stderr" "index written"

# A program that is still running.
mkfifo "$work/fifo"
"$HEAPWISE" run --no-symbols -o "$work/live.hwt" -- cat "$work/fifo" >/dev/null 2>&1 &
pid=$!
exec 3>"$work/fifo"
until [ -s "$work/live.hwt" ]; do sleep 0.05; done
"$HEAPWISE" trace index -q --no-symbols "$work/live.hwt" 2>"$work/stderr"
exec 3>&-
wait $pid
want_status=0
same_output "$work/live.hwt" "a trace that went on" report --no-symbols

# Removing, mistakes.
"$HEAPWISE" trace index --remove "$work/exec.hwt" 2>"$work/stderr"
says "$work/stderr" "removed 2 indexes"
[ -e "$work/exec.hwt.index" ] && fail "the index is still there"
"$HEAPWISE" trace index --remove "$work/exec.hwt" 2>"$work/stderr"
says "$work/stderr" "removed no indexes"
"$HEAPWISE" trace index "$work/no-such-file" 2>"$work/stderr"
equal "status for no file" "$?" 3
says "$work/stderr" "No such file"
echo "no trace" >"$work/text.hwt"
"$HEAPWISE" trace index "$work/text.hwt" 2>"$work/stderr"
equal "status for no trace" "$?" 3
[ -z "$(ls "$work" | grep 'index\.')" ] || fail "left behind: $(ls "$work" | grep 'index\.')"
finish
