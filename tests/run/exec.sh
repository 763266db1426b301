#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# exec.sh   wrappers that exec (env, nice, sh -c) do not claim the recording: the last image is the
# program's own, with its counts; children are left out unless --children asks for them.
. "$(dirname "$0")/lib.sh"

target=$HEAPWISE_TARGETS/sampled
export HEAPWISE_EXPECT=$work/expected

# wrapped NAME COMMAND...
wrapped()
{
	local name=$1 trace=$work/$1

	shift
	record "$trace" -- "$@"
	equal "$name: exit status" "$status" 0
	equal "$name: program" "$(basename "$(field "$trace" .program)")" sampled
	whole "$trace"
	# The two frames of the expectation come on top.
	equal "$name: allocations" "$(field "$trace" .allocations)" \
		$(($(expected_total "$work/expected" allocations) + 2))
}

wrapped plain "$target" 1000
wrapped env env A=b "$target" 1000
wrapped nice nice -n 1 "$target" 1000
wrapped sh sh -c "exec '$target' 1000"
wrapped chain env A=b nice -n 1 sh -c "exec env C=d '$target' 1000"

# dash execs its last command by itself or forks: here it must fork, and the target is a child.
record "$work/child" -- sh -c "'$target' 1000; exit 5"
equal "child: exit status" "$status" 5
says "$work/stderr" "not recorded.*--children"

record "$work/folder" --children -- sh -c "'$target' 1000; '$target' 2000; exit 6"
equal "--children: exit status" "$status" 6
equal "--children: traces" "$(find "$work/folder" -type f -name '*.hwt' | wc -l)" 3
finish
