#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# excessive.sh CASE   programs of which it is known whether they allocate excessively; see the target
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

program=$HEAPWISE_TARGETS/excessive
if [ "$1" = calls ]; then
	needs g++
	program=./excessive
	"$HEAPWISE" c++ --routines -g -O2 "$HEAPWISE_SOURCE_DIR/tests/targets/excessive.cpp" -o excessive || fail "cannot build"
fi
if [ "$1" = labels ]; then
	# 25 objects of nearly the same frequency and life among 80 that are rare and live long.
	python3 - >labels.c <<-'SOURCE'
		print("#include <stdlib.h>\n#include <unistd.h>\nvoid *volatile k, *old[400];")
		for i in range(25):
		    print(f"__attribute__((noinline)) void often_{i}(void) {{ k = malloc({24 + i}); free(k); }}")
		for i in range(80):
		    print(f"__attribute__((noinline)) void seldom_{i}(int n) {{ old[{4 * i} + n] = malloc({1000 + 8 * i}); }}")
		print("int main(void) {")
		for i in range(80):
		    print(f"for (int j = 0; j < {1 + i % 4}; j++) seldom_{i}(j);")
		print("for (int i = 0; i < 4000; i++) {" + " ".join(f"for (int j = 0; j < {1 + i % 3}; j++) often_{i}();" for i in range(25)) + "}")
		print("usleep(300000); for (int i = 0; i < 400; i++) free(old[i]); return 0; }")
	SOURCE
	cc -g -O1 -o labels labels.c || fail "cannot build"
	program=./labels
fi
# Of an idle program the cost is near the floor, and a busy machine makes both uncertain: three recordings at most.
for ((try = 0; try < ($([ "$1" = idle ] && echo 3 || echo 1)); try++)); do
	"$HEAPWISE" run -q -o trace -- "$program" "$1" || fail "the program failed"
	"$HEAPWISE" excessive --format json trace >json 2>stderr || fail "cannot judge: $(cat stderr)"
	[ "$(jq '.found | length' json)" -eq 0 ] || break
done
"$HEAPWISE" excessive --svg both.svg trace >text 2>stderr || fail "cannot draw: $(cat stderr)"
by_kmeans=$(jq -c '[.found[] | select(.found_by == "kmeans" or .found_by == "both") | .caller]' json)
by_iqr=$(jq -c '[.found[] | select(.found_by == "iqr" or .found_by == "both") | .caller]' json)

case $1 in
churn)
	equal "found by clusters" "$by_kmeans" '["make_foo(int)"]'
	equal "found by ratios" "$by_iqr" '["make_foo(int)"]'
	equal "frequency" "$(jq '.found[0].frequency' json)" 300000
	equal "size" "$(jq '.found[0].size_bytes' json)" 40
	equal "destroyer" "$(jq -r '.found[0].destroyer' json)" "drop_foo(Foo*)"
	equal "path" "$(jq -c '[.paths[] | [.routine, .frequency]]' json)" \
		'[["main",300000],["churn(int)",300000],["make_foo(int)",300000]]'
	says text "^ +#|\| *#| #"
	says text "^ +a pool would save +[0-9]"
	says both.svg "make_foo\(int\), 40 B"
	tail -n 1 both.svg | grep -q '^</svg>$' || fail "the drawing is not whole"
	# The data set is there as a table of its own, and mu and k are obeyed.
	"$HEAPWISE" excessive --data --format csv trace >csv
	equal "rows of the data set" "$(($(wc -l <csv) - 1))" "$(jq .freed_objects json)"
	equal "ratios above a huge mu" "$("$HEAPWISE" excessive --method iqr --mu 1e30 --format json trace | jq .iqr.found)" 0
	equal "clusters" "$("$HEAPWISE" excessive --k 3 --format json trace | jq -c '[.kmeans.k, (.clusters | length)]')" "[3,3]"
	equal "raw clusters find" "$("$HEAPWISE" excessive --raw --k 3 --method kmeans --format json trace | jq -c '[.found[].caller]')" '["make_foo(int)"]'
	;;
labels)
	at_least "objects" "$(jq '.found | length' json)" 10
	python3 - both.svg <<-'PYTHON' || fail "names in the drawing cannot be read"
		import re, sys
		rows = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)"([^>]*)>([^<]*, [0-9]+ B)</text>', open(sys.argv[1]).read())
		boxes = [(x - 6 * len(name) if "end" in how else x, x if "end" in how else x + 6 * len(name), y)
		         for x, y, how, name in ((float(x), float(y), how, name) for x, y, how, name in rows)]
		on = [(a, b) for at, a in enumerate(boxes) for b in boxes[:at] if a[0] < b[1] and b[0] < a[1] and abs(a[2] - b[2]) < 11]
		print(len(boxes), "names,", len(on), "on others")
		sys.exit(len(boxes) < 8 or len(on) > 0)
	PYTHON
	finish
	;;
idle)
	# Not 1 % of the time by the clock, but of what the program computes.
	equal "found" "$(jq -c '[.found[] | [.caller, .frequency, .found_by]]' json)" '[["make_foo(int)",30000,"both"]]'
	;;
pool | long)
	equal "found by clusters" "$by_kmeans" '[]'
	equal "found by ratios" "$by_iqr" '[]'
	says text "^No excessive allocation"
	;;
rare)
	# Section 4.6: the ratio alone is fooled; what it found costs nothing and is set aside.
	equal "found by clusters" "$by_kmeans" '[]'
	equal "found by ratios" "$by_iqr" '[]'
	equal "set aside" "$(jq -c '[.set_aside[] | [.caller, .frequency, .set_aside, .reason]]' json)" '[["make_foo(int)",60,"iqr","cheap"]]'
	says text "1 object was found and set aside|Set aside"
	"$HEAPWISE" excessive --rule paper --format json trace >paper
	equal "found by the paper's rule" "$(jq -c '[.rule, .found[] | if type == "string" then . else [.found_by, .caller, .frequency] end]' paper)" \
		'["paper",["iqr","make_foo(int)",60]]'
	# Without a floor the robust rule finds it, too.
	equal "found without a floor" "$("$HEAPWISE" excessive --floor 0 --format json trace | jq -c '[.rule, .found[0].frequency]')" '["robust",60]'
	;;
calls)
	# What routines cost in time says nothing about what allocations cost, here less than 1 % of a run that they slow down.
	"$HEAPWISE" run -q --routines -o routines.hwt -- "$program" calls || fail "the program failed"
	"$HEAPWISE" excessive --format json routines.hwt >routines.json
	equal "found with --routines" "$(jq -c '[.found[] | [.caller, .frequency]]' routines.json)" '[["make_foo(int)",10000]]'
	equal "caveats of instrumentation" \
		"$(jq '[.caveats[] | select(test("instrumentation slowed the run"))] | length' json routines.json | xargs)" "0 1"
	;;
alone)
	equal "found" "$(jq -c '[.judged, (.found[] | [.caller, .frequency, .found_by])]' json)" '[true,["make_foo(int)",300000,"floor"]]'
	says text "^Excessive allocation, of [1-3] objects?: 1 by number, life and cost alone"
	says text "make_foo\(int\) .* 300,000"
	# The paper's rule needs quartiles and clusters.
	equal "judged by the paper's rule" "$("$HEAPWISE" excessive --rule paper --format json trace | jq -c '[.judged, .found[].found_by]')" '[false,null]'
	says <("$HEAPWISE" excessive --rule paper trace) "^Cannot be judged"
	;;
million)
	# Processor time: the machine may be busy with other things.
	TIMEFORMAT=%U
	at_most "ms to judge a million objects" "$( { time "$HEAPWISE" excessive --no-charts trace >/dev/null; } 2>&1 | tail -n 1 | tr -d .)" 5000
	at_least "freed objects" "$(jq .freed_objects json)" 1000000
	;;
esac
# A cost that rests on few timed calls is said to.
timed=$("$HEAPWISE" report --format json trace | jq .allocator_samples)
equal "caveat about $timed timed calls" "$(jq '[.caveats[] | select(test("timed call|(was|were) timed, too few"))] | length' json)" \
	"$((timed > 0 && timed < 100))"
# What is never freed is listed and not judged; strdup is looked through.
equal "never freed" "$(jq -c '[.never_freed[] | select(.caller == "main") | [.size_bytes, .frequency, .via]]' json)" '[[16,1,"__strdup"]]'
finish
