#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memory.sh THREADS CONTEXTS   the recorder's memory in the target: at most 8 MB, 64 bytes for each
# context, 128 KB for each live thread, and the rings.
. "$(dirname "$0")/lib.sh"

threads=$1 contexts=$2 records=1024
plain=$("$HEAPWISE_TARGETS/memory" "$threads" "$contexts")
record "$work/trace" --ring-records="$records" -- "$HEAPWISE_TARGETS/memory" "$threads" "$contexts" >"$work/resident"
equal "exit status" "$status" 0
whole "$work/trace"
recorded=$(cat "$work/resident")
nodes=$(field "$work/trace" .contexts)
rings=$(((threads + 1) * (records + 256) * 32))
allowed=$((8000000 + 64 * nodes + 128000 * (threads + 1) + rings))
echo "$((recorded - plain)) bytes for $((threads + 1)) threads and $nodes contexts; allowed $allowed"
at_most "the recorder's memory" "$((recorded - plain))" "$allowed"
finish
