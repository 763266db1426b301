#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# inject.sh recorder|monitor STRIDE [FIRST]   every STRIDEth of the calls that can fail, in turn, fails once: of the recorder in
# the program, or of heapwise itself. Each time the program prints and ends as it does alone, and if its allocations
# are not all in the trace the user is told. Heapwise may refuse, with status 3 and why, at one point only: the first memory that
# it asks for, before it has read which program is meant.
. "$(dirname "$0")/../run/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
target=$HEAPWISE_TARGETS/compat
side=$1
stride=$2
first=${3:-1}
cd "$work" || exit 1

blocks()
{
	for trace; do
		"$HEAPWISE" trace dump "$trace" 2>/dev/null
	done | awk '$1 !~ /^#/ && $5 == 1237 && $3 != "duration" {
		if ($3 ~ /free|delete/) frees++; else allocations++ } END { print allocations + 0, frees + 0 }'
}

# point NUMBER   sets up the run in which this call fails; 0 = none does
run_recorder()
{
	HEAPWISE_INJECT=$1:$work/calls timeout -k 5 100 "$HEAPWISE" run --no-symbols --children \
		--recorder "$HEAPWISE_BUILD_DIR/libheapwise-inject.so" -o trace -- "$target" mixed >recorded.out 2>stderr
}

run_monitor()
{
	local wish=fail:$1:$work/failed

	[ "$1" -ne 0 ] || wish=count:$work/calls
	timeout -k 5 100 env HEAPWISE_SHIM=$wish LD_PRELOAD=$work/shim.so "$HEAPWISE" run --no-symbols --children \
		-o trace -- "$target" mixed >recorded.out 2>stderr
}

refused=0 exact=0 told=0

# What came of the run in which this call failed.
judge()
{
	local point=$1 status=$2

	if [ "$status" -eq 3 ] && [ ! -s recorded.out ] && grep -q "^heapwise" stderr; then
		refused=$((refused + 1))
		echo "refused: call $(cat failed 2>/dev/null): $(head -1 stderr)"
		return
	fi
	if [ "$status" -ne 0 ] || ! cmp -s alone.out recorded.out; then
		fail "call $point ($(cat failed 2>/dev/null)): status $status, output $(tr '\n' ' ' <recorded.out)"
		sed 's/^/    | /' stderr | head -5
		return
	fi
	if [ "$(blocks trace/*.hwt 2>/dev/null)" = "$truth" ]; then
		exact=$((exact + 1))
		return
	fi
	{ cat stderr; for trace in trace/*.hwt; do "$HEAPWISE" report --no-symbols "$trace" 2>&1; done; } >all
	if grep -qiE "not recorded|nothing was recorded|LOST|INCOMPLETE|breaks off|truncated|could not|cannot|dropped|out of memory" all; then
		told=$((told + 1))
	else
		fail "call $point ($(cat failed 2>/dev/null)): allocations are missing, and nobody says so"
		sed 's/^/    | /' stderr | head -5
	fi
}

"$target" mixed >alone.out || fail "the program itself fails"
# The child's count began with its parent's, which the parent tells as well.
truth=$(awk '$1 == "truth" { a[NR] = $2; f[NR] = $3 } END { print a[1] + 50, f[1] + 25 }' alone.out)
[ "$side" != monitor ] || not_sanitized "the shim has the malloc of libc, the sanitizer brings its own"
[ "$side" != monitor ] || gcc -O1 -shared -fPIC "$here/shim.c" -o shim.so -ldl || fail "cannot be built"
"run_$side" 0
equal "exit status" "$?" 0
equal "allocations and frees" "$(blocks trace/*.hwt)" "$truth"
points=$(awk '$1 > most { most = $1 } END { print most + 0 }' calls)
at_least "points" "$points" 20
tried=0
for ((point = first; point <= points; point += stride)); do
	rm -rf trace failed
	"run_$side" "$point"
	judge "$point" $?
	tried=$((tried + 1))
	[ "$failures" -lt 10 ] || break
done
at_most "points at which it refused to start" "$refused" 1
echo "$side: $points points, $tried tried: $exact recorded everything, $told said what is missing, $refused refused to start"
finish
