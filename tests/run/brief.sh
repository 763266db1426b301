#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# brief.sh [huge]   what `heapwise run` says at the end, found while the program ran, is what `heapwise findings` says of the file:
# allocations, leaks, accesses, samples, several images, a program that was killed, many events.
. "$(dirname "$0")/lib.sh"

# of_file TRACE   the first three findings as the end of a run says them, which is without types
of_file()
{
	"$HEAPWISE" findings --no-index --format json "$1" 2>/dev/null |
		jq -r '.findings[:3][] | (": " + (.type // "")) as $type |
			(if .confidence == "measured" then "" else ", \(.confidence)" end) as $sure |
			"heapwise: finding \(.rank): \(.where | rtrimstr($type))\nheapwise:   \(.text)" +
			if .saves == null then "" else "\nheapwise:   \(.level)\($sure): a repair saves \(.saves)" end'
}

# same NAME LEAST OPTION... -- PROGRAM...   at least LEAST findings, and the same ones
same()
{
	local name=$1 least=$2

	shift 2
	"$HEAPWISE" run -o "$work/$name.hwt" "$@" >"$work/stdout" 2>"$work/stderr" || :
	grep -E '^heapwise: (finding [0-9]|  )' "$work/stderr" >"$work/said"
	of_file "$work/$name.hwt" >"$work/file"
	at_least "$name: findings" "$(grep -c ': finding ' "$work/said")" "$least"
	cmp -s "$work/said" "$work/file" || { fail "$name: the end of the run says other things than the file:"; diff "$work/said" "$work/file"; }
}

targets=$HEAPWISE_TARGETS

# However many events there are. Where the file would have to be read (accesses, several processes) that is left to the user.
if [ "${1-}" = huge ]; then
	same huge 1 -- "$targets/many" 15100000
	says "$work/stderr" "next: heapwise findings .*huge.hwt, heapwise serve"
	"$HEAPWISE" run --children -o "$work/folder" -- sh -c "'$targets/many' 15100000; true" >"$work/stdout" 2>"$work/stderr"
	says "$work/stderr" "^heapwise: no findings yet: to read 30,[0-9]{3},[0-9]{3} events takes a while$"
	says "$work/stderr" "next: heapwise findings .*folder, heapwise serve"
	! grep -q ': finding ' "$work/stderr" || fail "findings all the same: $(cat "$work/stderr")"
	finish
fi
logstat=$HEAPWISE_BUILD_DIR/examples/logstat
same leaks 2 -- "$logstat"
same c++ 1 -- "$targets/wastes"
same sampled 1 --sample 512 -- "$targets/sampled" 20000
estimate=$(sed -nE 's/^heapwise: about ([0-9,]+) allocations \(estimated from .*/\1/p' "$work/stderr" | tr -d ,)
equal "estimated allocations" "$estimate" "$("$HEAPWISE" report -f json "$work/sampled.hwt" | jq .allocations)"
"$HEAPWISE" run --report --sample 512 -o "$work/reported.hwt" -- "$targets/sampled" 20000 >"$work/stdout" 2>"$work/stderr"
says "$work/stderr" "^heapwise: about [0-9,]+ allocations \(estimated from a sample of [0-9,]+\), "
"$HEAPWISE" run --sample 1G -o "$work/unsampled.hwt" -- true >"$work/stdout" 2>"$work/stderr"
says "$work/stderr" "^heapwise: no allocation was sampled; record with a smaller --sample$"
"$HEAPWISE" run --children --sample 512 -o "$work/sampled" -- sh -c "'$targets/sampled' 20000; '$targets/sampled' 5000" >"$work/stdout" 2>"$work/stderr"
estimate=$(sed -nE 's/^heapwise: about ([0-9,]+) allocations \(estimated from .* by 3 processes; highest peak .*/\1/p' "$work/stderr" | tr -d ,)
sum=$(for trace in "$work"/sampled/*.hwt; do "$HEAPWISE" report -f json "$trace"; done | jq -s 'map(.allocations) | add')
equal "estimated allocations of all processes" "$estimate" "$sum"
same images 2 -- env A=b nice -n 1 sh -c "exec '$logstat'"
same limited 0 --max-size 1K -- "$targets/sampled" 20000
same threads 1 -- "$targets/threads"
same empty 0 -- "$targets/empty"
same many 1 -- "$targets/many" 100000
# Of what had ended only sums are left: the trace is read once more.
same stayed 1 -- "$targets/bursts" 1500 1 10
says "$work/said" "stayed resident"
same wrong 1 -- "$targets/misuse" inside
says "$work/said" "inside a block"
same killed 0 -- sh -c "'$targets/leaks' trees; kill -9 \$\$"

same large 1 -- "$targets/many" 400000
says "$work/stderr" "next: heapwise findings .*large.hwt, heapwise serve --open .*large.hwt"

# Of several processes all count, and the findings are those of the one with the highest peak.
"$HEAPWISE" run --children -o "$work/several" -- sh -c "'$targets/empty'; '$targets/leaks' lists; '$targets/many' 5000" >"$work/stdout" 2>"$work/stderr"
says "$work/stderr" "^heapwise: [0-9,]+ allocations, .* by 4 processes; highest peak "
sum=$(for trace in "$work"/several/*.hwt; do "$HEAPWISE" report -f json "$trace"; done | jq -s 'map(.allocations) | add')
equal "allocations of all processes" "$(sed -nE 's/^heapwise: ([0-9,]+) allocations.*/\1/p' "$work/stderr" | tr -d ,)" "$sum"
says "$work/stderr" "findings for the process with the highest peak, .*/several/"
! grep "already has" "$work/stderr" || fail "a new folder is said to have traces"
"$HEAPWISE" run -q --children -o "$work/several" -- "$targets/empty" 2>"$work/stderr"
says "$work/stderr" "WARNING: .*/several already has 4 traces"
"$HEAPWISE" run --children -o "$work/larger" -- sh -c "'$targets/many' 400000; true" >"$work/stdout" 2>"$work/stderr"
says "$work/stderr" "findings for the process with the highest peak, .*/larger/"
says "$work/stderr" "next: heapwise findings .*/larger, heapwise serve"
"$HEAPWISE" run -o "$work/it's one" -- "$logstat" >"$work/stdout" 2>"$work/stderr"
eval "$(sed -n 's/^heapwise: next: heapwise \(findings .*\), heapwise serve.*/"$HEAPWISE" \1/p' "$work/stderr")" >"$work/stdout" ||
	fail "the command that is next cannot be run: $(cat "$work/stderr")"
says "$work/stdout" "^Findings"
"$HEAPWISE" run --children -o "$work/nothing" -- sh -c "'$targets/empty'; '$targets/empty'" >"$work/stdout" 2>"$work/stderr"
says "$work/stderr" "by 3 processes"
grep -q finding "$work/stderr" && fail "findings of nothing: $(cat "$work/stderr")"
cat >"$work/starter.c" <<'PROGRAM'
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc > 1 && fork() == 0)
		_exit(execv(argv[1], argv + 1));
	return wait(NULL) < 0;
}
PROGRAM
cc -o "$work/starter" "$work/starter.c" || fail "cannot compile"
"$HEAPWISE" run --children -o "$work/started" -- "$work/starter" "$logstat" >"$work/stdout" 2>"$work/stderr"
says "$work/stderr" "^heapwise: 124,215 allocations, .* by 2 processes; "

if [ -z "${HEAPWISE_SANITIZE-}" ]; then
	"$HEAPWISE" c++ -g -O1 -o "$work/wastes" "$HEAPWISE_SOURCE_DIR/tests/targets/wastes.cpp" || fail "cannot compile"
	# gcc's checks hide what would make it two
	same accesses 1 --access exact -- "$work/wastes"
	same coverage 1 --access exact --coverage -- "$work/wastes"
	# What an event costs says nothing of accesses.
	same unasked 1 -- "$work/wastes"
	! grep "recording cost" "$work/stderr" || fail "the cost of accesses is said to be that of events"
	same off 1 --access off -- "$work/wastes"
	says "$work/stderr" "recording cost about .* \(estimated: 60 ns per event\)"
fi
finish
