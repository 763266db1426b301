#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# api.sh   what a program tells through heapwise.h: pause, resume, mark, snapshot, stop, and nothing
# at all without Heapwise.
. "$(dirname "$0")/lib.sh"

equal "states without Heapwise" "$("$HEAPWISE_TARGETS/api")" "0 0 0 0"

record "$work/trace" -- "$HEAPWISE_TARGETS/api" >"$work/states"
equal "exit status" "$status" 0
equal "states" "$(cat "$work/states")" "2 3 2 1"

# kind size, for blocks of the target and marks
"$HEAPWISE" trace dump "$work/trace" | awk '$5 ~ /^1000[0-9]$/ { print $3, $5 } $3 == "mark" { print $3, $4, $5, $8 }' \
	>"$work/got"
cat >"$work/wanted" <<-WANTED
	malloc 10001
	mark 0x0 42 mark
	mark 0x0 0 paused
	free 10001
	mark 0x0 0 resumed
	malloc 10003
	mark 0x1 0 snapshot
	free 10003
WANTED
diff -u "$work/wanted" "$work/got" || fail "the events differ"
equal "unknown_frees" "$(field "$work/trace" .unknown_frees)" 1
finish
