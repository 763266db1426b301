#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench-help.sh NAME   bench/NAME tells its usage when asked, and in one line when it is called wrongly.
. "$(dirname "$0")/lib.sh"

bench=$(dirname "$0")/../../bench/$1
"$bench" --help >"$work/stdout" 2>"$work/stderr"
equal "status of --help" $? 0
says "$work/stdout" "^$1 \\["
equal "errors of --help" "$(cat "$work/stderr")" ""
for wrong in nothing-like-it --no-such-option --heapwise; do
	"$bench" "$wrong" >"$work/stdout" 2>"$work/stderr"
	equal "status of $wrong" $? 2
	says "$work/stderr" "^usage: $1 \\["
	equal "lines about $wrong" "$(wc -l <"$work/stderr")" 1
done
finish
