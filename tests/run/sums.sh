#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sums.sh   the sums at the end of a trace say what all its events say, in every command that takes them, and the events are not read for it.
. "$(dirname "$0")/lib.sh"

targets=$HEAPWISE_TARGETS

# shown COMMAND TRACE [OPTION...]   all that a command says
shown()
{
	local command=$1 trace=$2

	shift 2
	"$HEAPWISE" $command "$@" "$trace" 2>&1
}

commands=(report "report --format json" findings "findings --all --format json" leaks "leaks --format json" mprof "mprof -v --format json"
	"mprof --table bins --bins log" "scores --top 0 --format json")

# same TRACE WHAT
same()
{
	local command

	for command in "${commands[@]}"; do
		shown "$command" "$1" >"$work/sums"
		shown "$command" "$1" --no-index >"$work/whole"
		cmp -s "$work/sums" "$work/whole" || { fail "$2: $command: the sums say other things than the events:"; diff "$work/sums" "$work/whole" | head; }
	done
}

# damage FROM TO   a copy whose events cannot be read; status 1 if it has none
damage()
{
	python3 - "$1" "$2" <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
at, events = 32, 0
while at + 48 <= len(data):
    magic, kind, _, _, stored = struct.unpack("<IHHII", data[at:at + 16])
    if magic != 0xbc5748b1:
        break
    if kind == 3:
        data[at + 48 + stored // 2] ^= 0x55
        events += 1
    at += 48 + stored
open(sys.argv[2], "wb").write(data)
sys.exit(not events)
PYTHON
}

# record NAME [OPTION...] -- PROGRAM...
record()
{
	local name=$1

	shift
	"$HEAPWISE" run -o "$work/$name.hwt" "$@" >"$work/stdout" 2>"$work/stderr" || :
	[ "$name" = killed ] || damage "$work/$name.hwt" "$work/damaged.hwt" || fail "$name: no events"
	same "$work/$name.hwt" "$name"
}

record logstat -- "$HEAPWISE_BUILD_DIR/examples/logstat"
cp "$work/damaged.hwt" "$work/logstat-damaged.hwt"
record wastes -- "$targets/wastes"
record sampled --sample 512 -- "$targets/sampled" 20000
record threads -- "$targets/threads"
record many -- "$targets/many" 100000
record types -- "$targets/collections"
record images -- env A=b nice -n 1 sh -c "exec '$targets/many' 3000"
record limited --max-size 1K -- "$targets/sampled" 20000
record snapshots -- "$targets/api"
record killed -- sh -c "'$targets/many' 3000; kill -9 \$\$"

# Nobody reads the events: of a trace whose events are damaged the sums are as good.
for command in "${commands[@]}"; do
	(cd "$work" && cp logstat-damaged.hwt here.hwt && shown "$command" here.hwt) >"$work/sums"
	(cd "$work" && cp logstat.hwt here.hwt && shown "$command" here.hwt) >"$work/whole"
	cmp -s "$work/sums" "$work/whole" || { fail "damaged: $command:"; diff "$work/sums" "$work/whole" | head -5; }
done
"$HEAPWISE" report --no-index "$work/logstat-damaged.hwt" >"$work/whole"
says "$work/whole" "damaged and skipped"

# What single chunks tell is read.
for options in "report --temporary-slack 3" "report --where size>=100" "findings --limits $work/limits" "leaks --where size>=100"; do
	echo "temporary-slack = 2" >"$work/limits"
	"$HEAPWISE" $options "$work/logstat.hwt" >"$work/sums" 2>&1
	"$HEAPWISE" $options --no-index "$work/logstat.hwt" >"$work/whole" 2>&1
	cmp -s "$work/sums" "$work/whole" || { fail "$options:"; diff "$work/sums" "$work/whole" | head -5; }
done
equal "check" "$("$HEAPWISE" check --max-kept 0 --max-peak 1 --format json "$work/logstat.hwt" | jq -c '[.limits[0].value, .limits[1].value + .hidden_kept_bytes]')" \
	"$("$HEAPWISE" report --no-index --format json "$work/logstat.hwt" | jq -c '[.peak.bytes, .kept.bytes]')"
cp "$work/logstat.hwt" "$work/whole.hwt"
printf 'x' | dd of="$work/whole.hwt" bs=1 seek=$(($(stat -c %s "$work/whole.hwt") - 1)) conv=notrunc 2>/dev/null # without its index, as one that was killed
"$HEAPWISE" diff --tolerance 0 "$work/logstat.hwt" "$work/whole.hwt" >"$work/sums" 2>&1
says "$work/sums" "0 new, 0 gone, 0 grew, 0 shrank"

# A trace that was cut off has no sums: what is there is added up, and what is missing is said.
head -c $(($(stat -c %s "$work/many.hwt") / 2)) "$work/many.hwt" >"$work/cut.hwt"
"$HEAPWISE" report "$work/cut.hwt" >"$work/whole" 2>&1
says "$work/whole" "truncated"
same "$work/cut.hwt" cut
finish
