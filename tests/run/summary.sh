#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# summary.sh   `run --summary`: the tables of a trace without events are those of a whole trace of the same program, its size does not grow
# with the run, and what single chunks would tell is refused in a sentence.
. "$(dirname "$0")/lib.sh"

targets=$HEAPWISE_TARGETS

# record NAME [OPTION...] -- PROGRAM...
record()
{
	local name=$1

	shift
	"$HEAPWISE" run -o "$work/$name.hwt" "$@" >"$work/$name.stdout" 2>"$work/$name.stderr" || fail "$name: $(cat "$work/$name.stderr")"
}

# tables NAME   what does not depend on the time
tables()
{
	"$HEAPWISE" mprof -v "$work/$1.hwt"
	"$HEAPWISE" mprof --table bins --bins log "$work/$1.hwt"
	"$HEAPWISE" leaks --top 0 "$work/$1.hwt"
	"$HEAPWISE" report --top 0 --format json "$work/$1.hwt" | jq 'del(.. | .peak_time_ns?) | [.allocations, .bytes, .frees, .freed_bytes, .peak.bytes,
		.peak.chunks, .kept, .temporary, .calls, .sizes, .top, .end, .modules, .threads]'
	"$HEAPWISE" scores --top 0 --format json "$work/$1.hwt" | jq '[.points[] | [.point, .chunks, .bytes]] | sort'
}

# same NAME [OPTION...] -- PROGRAM...
same()
{
	local name=$1

	shift
	record "$name" "$@"
	record "$name-sums" --summary "$@"
	equal "$name: events" "$("$HEAPWISE" trace info --format json "$work/$name-sums.hwt" | jq .events)" 0
	tables "$name" >"$work/whole"
	tables "$name-sums" >"$work/sums"
	cmp -s "$work/whole" "$work/sums" || { fail "$name: the summary has other tables:"; diff "$work/whole" "$work/sums" | head; }
	equal "$name: first line" "$(sed -n '1s/ in [0-9.]* [a-zµ]*;/;/p' "$work/$name-sums.stderr")" "$(sed -n '1s/ in [0-9.]* [a-zµ]*;/;/p' "$work/$name.stderr")"
}

same logstat -- "$HEAPWISE_BUILD_DIR/examples/logstat"
same wastes -- "$targets/wastes"
same collections -- "$targets/collections"
same images -- env A=b nice -n 1 sh -c "exec $targets/many 3000"

# Ten thousand events, and ten million.
record few --summary -- "$targets/many" 5000
record many --summary -- "$targets/many" 5000000
at_most "bytes after 10 million events" "$(stat -c %s "$work/many.hwt")" $((2 * $(stat -c %s "$work/few.hwt") + 65536))
equal "allocations" "$("$HEAPWISE" report --format json "$work/many.hwt" | jq .allocations)" 5000000

# What needs single chunks says so.
for command in "query $work/few.hwt all" "types $work/few.hwt" "report --temporary-slack 2 $work/few.hwt" "export --to csv -o $work/csv $work/few.hwt"; do
	"$HEAPWISE" $command >"$work/stdout" 2>"$work/stderr"
	equal "status of $command" $? 3
	says "$work/stderr" "few.hwt was recorded with --summary: it has sums and no single chunks, which this needs; record without --summary$"
	equal "output of $command" "$(cat "$work/stdout")" ""
done
for options in --children --owners "--max-size 1M" "--access exact" "--dump x"; do
	"$HEAPWISE" run --summary $options -o "$work/refused.hwt" -- true 2>"$work/stderr"
	equal "status with $options" $? 2
	says "$work/stderr" "--summary cannot be combined with "
done

# Without its end a recording has no sums.
head -c 4000 "$work/few.hwt" >"$work/cut.hwt"
"$HEAPWISE" report "$work/cut.hwt" >"$work/stdout" 2>"$work/stderr"
equal "status of one that was cut" $? 3
finish
