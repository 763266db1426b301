#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stacks.sh LIBRARY [--emulator=COMMAND with | between its words, see tools/emulate] PROGRAM... [-- ARGUMENT...]   runs each program with the checking
# recorder, which compares every stack with libgcc's unwinder.
# Needs no heapwise: it also runs for CPUs that heapwise itself was not built for.
HEAPWISE=${HEAPWISE:-none} HEAPWISE_TARGETS=${HEAPWISE_TARGETS:-none}
. "$(dirname "$0")/lib.sh"

library=$(preloadable "$1")
shift
emulator=()
if [[ $1 == --emulator=* ]]; then
	IFS="|" read -ra emulator <<<"${1#*=}"
	shift
fi
programs=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	programs+=("$1")
	shift
done
[ $# -eq 0 ] || shift

run_checked()
{
	local variables=(LD_PRELOAD="$library" HEAPWISE_CHECK_SELF=1)

	if [ ${#emulator[@]} -eq 0 ]; then
		env "${variables[@]}" "$@"
	else
		"${emulator[@]}" -E "${variables[0]}" -E "${variables[1]}" -E STACKS_LESS=1 "$@"
	fi
}

ran=0
for program in "${programs[@]}"; do
	name=$(basename "$program")
	run_checked "$program" "$@" >"$work/stdout" 2>"$work/stderr"
	status=$?
	# Under an emulator some programs find nothing to test: no converters, no address used twice.
	if [ "$status" -eq 77 ] && { [ ${#emulator[@]} -gt 0 ] || [[ $name == iconv* ]]; }; then
		reason=$(grep -v '^heapwise-check' "$work/stderr" | tail -1)
		echo "$name: skipped: $reason"
		continue
	fi
	# What a compiler made wrong dies without us, too: clang 19's exceptions with pointer authentication.
	if [ "$status" -ge 128 ]; then
		"${emulator[@]}" "$program" "$@" >"$work/alone" 2>&1
		alone=$?
		[ "$alone" -ne "$status" ] || { echo "$name: skipped: ends with status $status by itself"; continue; }
	fi
	ran=$((ran + 1))
	line=$(grep '^heapwise-check:' "$work/stderr" | tail -1)
	echo "$name: ${line:-no word from the checking recorder}"
	wanted=$(sed -n 's/^stacks //p' "$work/stdout")
	read -r compared differ broken <<<"$(tr -cd '0-9 ' <<<"${line#*:}")"
	equal "$name: exit status" "$status" 0
	at_least "$name: stacks compared" "${compared:-0}" "${wanted:-1}"
	equal "$name: stacks that differ" "${differ:-none}" 0
	[ "${differ:-1}" = 0 ] || head -20 "$work/stderr"
	case $name in
	# Code without unwind information and without a frame record ends a stack. libc's start of a
	# coroutine is such code; where the coroutine's own frames keep no frame record, that is told.
	nocfi* | coroutines* | remap*) ;;
	*) equal "$name: stacks that end early" "${broken:-none}" 0 ;;
	esac
done
[ "$ran" -gt 0 ] || skip "nothing to compare: ${reason-}"
finish
