#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# example.sh   the first thing that a user does: install, record the example, read the report. It names
# the three functions that the example's flaws are in.
. "$(dirname "$0")/lib.sh"

cmake --install "$HEAPWISE_BUILD_DIR" --prefix "$work/usr" >"$work/install" || fail "cannot install"
"$work/usr/bin/heapwise" run -o "$work/trace" -- "$HEAPWISE_BUILD_DIR/examples/logstat" 5000 \
	>"$work/stdout" 2>"$work/stderr"
equal "status" "$?" 0
says "$work/stdout" "5000 lines"
"$work/usr/bin/heapwise" report "$work/trace" >"$work/report" 2>"$work/errors"
equal "status of report" "$?" 0
for function in page_find page_new field_number countries_load; do
	says "$work/report" "$function.*logstat\.c:[0-9]+"
done
whole "$work/trace"
finish
