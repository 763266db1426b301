#!/bin/bash
# SPDX-License-Identifier: MIT
# heapwise check on tests/targets/compare.c, whose numbers are known: 203 allocations, 11,374 bytes, peak 6,084 = 3,584
# that added_leak keeps and 2,500 of grown.
#   limits, growth, types, formats, hostile, incomplete, folder, toml, mistakes
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

# build NAME OPTION...   NAME/prog and NAME.hwt
build()
{
	local name=$1
	shift
	mkdir -p "$work/$name"
	gcc -g -O2 -fno-builtin -I "$HEAPWISE_SOURCE_DIR/include" "$@" "$HEAPWISE_SOURCE_DIR/tests/targets/compare.c" \
		-o "$work/$name/prog" || { fail "gcc cannot build $name"; finish; }
	"$HEAPWISE" run -o "$work/$name.hwt" -- "$work/$name/prog" 2>"$work/stderr" || fail "recording failed"
}

# check STATUS ARGUMENT...   output in $work/stdout and $work/stderr
check()
{
	local wanted=$1
	shift
	"$HEAPWISE" check "$@" >"$work/stdout" 2>"$work/stderr"
	equal "status of check $*" "$?" "$wanted"
}

case_limits()
{
	local trace=$work/new.hwt

	build new -DNEW
	# an option, the number itself: that much is allowed, one less is not
	while read -r option number; do
		check 0 --$option $number "$trace"
		equal "lines with --$option $number" "$(wc -l <"$work/stdout")" 1
		says "$work/stdout" "1 limit holds"
		check 1 --$option $((number - 1)) "$trace"
		says "$work/stdout" "1 of 1 limit is exceeded"
		says "$work/stdout" "above by"
	done <<'ROWS'
max-peak 6084
max-bytes 11374
max-allocs 203
max-kept 3584
max-temporary 54
ROWS
	check 1 --max-kept 0 "$trace"
	says "$work/stdout" "over +kept bytes of the program +3.5 KiB"
	says "$work/stdout" "added_leak +.*compare.c:[0-9]+"
	check 0 --max-peak 64M --max-kept 4K "$trace"
	equal "lines when all is within" "$(wc -l <"$work/stdout")" 1

	cat >"$work/heap.toml" <<'END'
max-peak = "64M"            # of the program
max-allocs = 1_000

[[budget]]
function = "grown"          # what it allocates, and what it calls
max-peak = 2500
max-kept = 0

[[budget]]
function = "added_*"
name = "new feature"
max-kept = "3K"

[[budget]]
module = "prog"
max-bytes = 11374

[[budget]]
file = "compare.c"
max-allocs = 202
END
	check 1 --budget "$work/heap.toml" --format json "$trace"
	equal "what is above" "$(jq -c '[.limits[] | select(.over) | [.rule, .scope, .pattern, .value, .limit, .line]]' "$work/stdout")" \
		'[["max-kept","function","added_*",3584,3072,9],["max-allocs","file","compare.c",203,202,18]]'
	equal "what was checked" "$(jq -c '[.checked, .over, .passed]' "$work/stdout")" "[7,2,false]"
	equal "who keeps most" "$(jq -r '[.culprits[] | select(.rule == "max-kept")][0] | "\(.value) \(.stack[0].function)"' "$work/stdout")" \
		"3584 added_leak"
	# an option stands above the file
	check 1 --budget "$work/heap.toml" --max-allocs 10 --format json "$trace"
	equal "limit of the option" "$(jq '[.limits[] | select(.scope == "program" and .rule == "max-allocs")][0].limit' "$work/stdout")" 10
	# the buffer of stdout is kept by the C library, and nobody's fault
	printf '#include <stdio.h>\nint main(void) { puts("x"); return 0; }\n' >"$work/puts.c"
	gcc "$work/puts.c" -o "$work/puts" || fail "gcc cannot build puts.c"
	"$HEAPWISE" run -o "$work/puts.hwt" -- "$work/puts" 2>"$work/stderr" | cat >/dev/null
	at_least "what is kept" "$(field "$work/puts.hwt" .kept.bytes)" 1
	check 0 --max-kept 0 "$work/puts.hwt"
	check 0 --max-kept 0 --format json "$work/puts.hwt"
	equal "what does not count" "$(jq .hidden_kept_bytes "$work/stdout")" "$(field "$work/puts.hwt" .kept.bytes)"
	printf '[[budget]]\nfunction = "misspelt"\nmax-kept = 0\n' >"$work/heap.toml"
	check 0 --budget "$work/heap.toml" "$trace"
	says "$work/stderr" "no allocation matches function misspelt"
}

case_growth()
{
	build old
	build new -DNEW
	check 0 --max-growth 0% --baseline "$work/old.hwt" "$work/old.hwt"
	check 1 --max-growth 5% --baseline "$work/old.hwt" --format json "$work/new.hwt"
	equal "what grew" "$(jq -c '[.limits[] | [.metric, .base, .limit, .value, .over]] | sort' "$work/stdout")" \
		'[["allocations",169,177,203,true],["bytes",10490,11014,11374,true],["kept",3000,3150,3584,true],["peak",6200,6510,6084,false]]'
	equal "who grew most" "$(jq -r '[.culprits[] | .stack[0].function] | unique | join(" ")' "$work/stdout")" \
		"added_leak make_item quick"
	check 0 --max-growth 25% --baseline "$work/old.hwt" "$work/new.hwt"
	cat >"$work/heap.toml" <<'END'
baseline = "old.hwt"
max-growth = "100%"
[[budget]]
function = "grown"
max-growth = 149.9
growth-of = ["peak"]
[[budget]]
function = "shrunk"
max-growth = 0
END
	check 1 --budget "$work/heap.toml" --format json "$work/new.hwt"
	equal "what is above" "$(jq -c '[.limits[] | select(.over) | [.pattern, .metric, .base, .value]]' "$work/stdout")" \
		'[["grown","peak",1000,2500]]'
	record "$work/other.hwt" -- "$HEAPWISE_TARGETS/empty"
	check 1 --no-symbols --max-growth 5% --baseline "$work/other.hwt" "$work/new.hwt"
	says "$work/stdout" "the programs differ: prog here, empty in the baseline"
	"$HEAPWISE" run --sample 512 -o "$work/sampled.hwt" -- "$work/new/prog" 2>"$work/stderr"
	check 0 --max-growth 1000% --baseline "$work/new.hwt" "$work/sampled.hwt"
	says "$work/stderr" "only one of recording and baseline is sampled"
	says "$work/stderr" "all numbers are estimates"
}

# Types of C++ that templates tell, and functions by their names without parameters.
case_types()
{
	cat >"$work/shapes.cpp" <<'END'
#include <memory>
#include <vector>
namespace space {
struct Shape { char bytes[64]; };
__attribute__((noinline)) void fill(std::vector<std::unique_ptr<Shape>> &shapes, int count)
{
	for (int i = 0; i < count; i++)
		shapes.push_back(std::make_unique<Shape>());
}
}
int main()
{
	std::vector<std::unique_ptr<space::Shape>> shapes;

	shapes.reserve(10);
	space::fill(shapes, 10);
	return 0;
}
END
	g++ -O1 -g "$work/shapes.cpp" -o "$work/shapes" || fail "g++ cannot build shapes.cpp"
	"$HEAPWISE" run -o "$work/shapes.hwt" -- "$work/shapes" 2>"$work/stderr"
	cat >"$work/heap.toml" <<'END'
[[budget]]
type = "space::Shape"
max-peak = 639
max-bytes = 640
max-kept = 0
[[budget]]
type = "*unique_ptr<*>"
max-bytes = 79
[[budget]]
function = "space::fill"
max-allocs = 9
END
	check 1 --budget "$work/heap.toml" --format json "$work/shapes.hwt"
	equal "what is above" "$(jq -c '[.limits[] | select(.over) | [.pattern, .metric, .value]] | sort' "$work/stdout")" \
		'[["*unique_ptr<*>","bytes",80],["space::Shape","peak",640],["space::fill","allocations",10]]'
	equal "who makes shapes" "$(jq -r '[.culprits[] | select(.subject == "peak of type space::Shape") | .value] | add' "$work/stdout")" 640
	sed -i 's/79/80/; s/639/640/; s/9$/10/' "$work/heap.toml"
	check 0 --budget "$work/heap.toml" "$work/shapes.hwt"
	check 0 --max-growth 0 --budget "$work/heap.toml" --baseline "$work/shapes.hwt" "$work/shapes.hwt"
}

# valid FILE RESULTS   JUnit and SARIF of the same check
valid_junit()
{
	needs xmllint libxml2-utils
	xmllint --noout --schema "$here/junit.xsd" "$1" 2>"$work/xml" || fail "JUnit: $(cat "$work/xml")"
}

valid_sarif()
{
	python3 "$here/sarif.py" "$@" || fail "$1 is no valid SARIF"
}

case_formats()
{
	build new -DNEW
	local options=(--max-kept 0 --max-peak 1K --max-allocs 500 --source-root "$HEAPWISE_SOURCE_DIR")

	check 1 "${options[@]}" --format github "$work/new.hwt"
	equal "annotations" "$(grep -c '^::error' "$work/stdout")" 2
	says "$work/stdout" "^::error file=tests/targets/compare.c,line=[0-9]+,title=kept bytes of the program::.*above the limit of 0 B%0Aadded_leak \(tests/targets/compare.c:"
	says "$work/stdout" "18.8 %25|494.1 %25"
	check 0 --max-allocs 500 --format github "$work/new.hwt"
	equal "annotations when all is within" "$(grep -c '^::' "$work/stdout")" 0

	check 1 "${options[@]}" --format junit "$work/new.hwt"
	valid_junit "$work/stdout"
	equal "cases" "$(xmllint --xpath 'concat(count(//testcase), " ", count(//failure), " ", //testsuite/@tests, " ", //testsuite/@failures)' "$work/stdout")" \
		"4 2 4 2"
	equal "failure" "$(xmllint --xpath 'string(//testcase[@name="kept bytes of the program"]/failure/@type)' "$work/stdout")" max-kept
	check 0 --max-allocs 500 --format junit "$work/new.hwt"
	valid_junit "$work/stdout"

	check 1 "${options[@]}" --format sarif "$work/new.hwt"
	valid_sarif "$work/stdout" 2
	equal "place" "$(jq -r '.runs[0].results[] | select(.ruleId == "max-kept").locations[0].physicalLocation.artifactLocation | .uri + " " + .uriBaseId' "$work/stdout")" \
		"tests/targets/compare.c %SRCROOT%"
	line=$(jq '.runs[0].results[] | select(.ruleId == "max-kept").locations[0].physicalLocation.region.startLine' "$work/stdout")
	equal "line of the place" "$(sed -n "${line}p" "$HEAPWISE_SOURCE_DIR/tests/targets/compare.c" | tr -d '\t')" "hidden = malloc(512);"
	check 0 --max-allocs 500 --format sarif "$work/new.hwt"
	valid_sarif "$work/stdout" 0
}

# Names of functions and files that would be markup or commands.
case_hostile()
{
	local folder="$work/a<b>&\"c,d%:é" name='<img onerror=x>::error::&",%0A'

	mkdir -p "$folder"
	cat >"$folder/evil.c" <<'END'
#include <stdlib.h>
void *volatile hidden;
__attribute__((noinline)) void evil(void) { hidden = malloc(100); hidden = 0; }
int main(void) { evil(); return 0; }
END
	gcc -O0 -c "$folder/evil.c" -o "$work/evil.o" && objcopy --redefine-sym "evil=$name" "$work/evil.o" &&
		gcc "$work/evil.o" -o "$work/named" || skip "no such names here"
	"$HEAPWISE" run -o "$work/named.hwt" -- "$work/named" 2>"$work/stderr"
	check 1 --max-kept 0 --format sarif "$work/named.hwt"
	valid_sarif "$work/stdout" 1
	equal "name in SARIF" "$(jq -r '.runs[0].results[0].locations[0].logicalLocations[0].fullyQualifiedName' "$work/stdout")" "$name"
	check 1 --max-kept 0 --format junit "$work/named.hwt"
	valid_junit "$work/stdout"
	equal "name in JUnit" "$(xmllint --xpath 'contains(string(//failure), "<img onerror=x>")' "$work/stdout")" true
	check 1 --max-kept 0 --format github "$work/named.hwt"
	equal "lines of github" "$(wc -l <"$work/stdout")" 2

	gcc -g -O0 "$folder/evil.c" -o "$work/prog" || skip "no such folder here"
	"$HEAPWISE" run -o "$work/evil.hwt" -- "$work/prog" 2>"$work/stderr"
	check 1 --max-kept 0 --format junit "$work/evil.hwt"
	valid_junit "$work/stdout"
	check 1 --max-kept 0 --format sarif "$work/evil.hwt"
	valid_sarif "$work/stdout" 1
	check 1 --max-kept 0 --format github "$work/evil.hwt"
	equal "lines" "$(wc -l <"$work/stdout")" 2
	says "$work/stdout" "^::error file=[^,:]*evil.c,line=3,title="
	printf '[[budget]]\nfunction = "*"\nname = "<b>\\n::x::\\u0001"\nmax-kept = 0\n' >"$work/heap.toml"
	check 1 --budget "$work/heap.toml" --format junit "$work/evil.hwt"
	valid_junit "$work/stdout"
	check 1 --budget "$work/heap.toml" --format github "$work/evil.hwt"
	equal "lines with a hostile name" "$(wc -l <"$work/stdout")" 2
}

case_incomplete()
{
	build new -DNEW
	head -c $(($(stat -c %s "$work/new.hwt") / 3)) "$work/new.hwt" >"$work/cut.hwt"
	check 1 --no-symbols --max-peak 1G "$work/cut.hwt"
	says "$work/stdout" "the recording is incomplete: the recording is truncated"
	says "$work/stdout" "holds for the part that was recorded"
	check 0 --no-symbols --max-peak 1G --allow-incomplete "$work/cut.hwt"
	says "$work/stderr" "the recording is incomplete"
	check 1 --no-symbols --max-growth 1000% --baseline "$work/cut.hwt" "$work/new.hwt"
	says "$work/stdout" "the baseline is incomplete"
	for format in junit sarif github; do
		check 1 --no-symbols --max-peak 1G --format $format "$work/cut.hwt"
		says "$work/stdout" "incomplete"
	done
	# a recording that loses events, and one that ends in sums
	"$HEAPWISE" run --no-symbols --no-durations --lossy --ring-records=64 -o "$work/lossy.hwt" -- \
		"$HEAPWISE_TARGETS/surroundings" masked >/dev/null 2>"$work/stderr"
	if [ "$("$HEAPWISE" report --no-symbols --format json "$work/lossy.hwt" | jq .lost_events)" -gt 0 ]; then
		check 1 --no-symbols --max-peak 1G "$work/lossy.hwt"
		says "$work/stdout" "events? (was|were) lost"
	fi
	"$HEAPWISE" run --no-symbols --max-size 64K -o "$work/limited.hwt" -- jq -n '[range(300000) | tostring] | length' >/dev/null 2>"$work/stderr"
	check 1 --no-symbols --max-peak 10G "$work/limited.hwt"
	says "$work/stdout" "the trace reached its size limit"
	# whole, but of a program that did not come to its end
	"$HEAPWISE" run -o "$work/killed.hwt" -- sh -c 'kill -9 $$' 2>"$work/stderr"
	check 0 --no-symbols --max-peak 1G "$work/killed.hwt"
	says "$work/stderr" "the program was killed by signal 9"
	check 0 --no-symbols --max-peak 1G --format github "$work/killed.hwt"
	says "$work/stdout" "^::notice title=end of the program::.*signal 9"
	: >"$work/empty"
	check 3 --max-peak 1G "$work/empty"
}

# A session with children: each trace is held to the limits, and one above them is enough.
case_folder()
{
	build new -DNEW
	mkdir "$work/session"
	cp "$work/new.hwt" "$work/session/2.hwt"
	"$HEAPWISE" run -o "$work/session/1.hwt" -- "$HEAPWISE_TARGETS/empty" 2>"$work/stderr"
	check 1 --max-kept 0 --format json "$work/session"
	equal "passed" "$(jq -c '[.[].passed]' "$work/stdout")" "[true,false]"
	check 0 --max-kept 1M "$work/session"
	equal "lines" "$(grep -c '1 limit holds' "$work/stdout")" 2
	check 1 --max-kept 0 --format junit "$work/session"
	valid_junit "$work/stdout"
	equal "cases" "$(xmllint --xpath 'count(//testcase)' "$work/stdout")" 4
	check 1 --max-kept 0 --format sarif "$work/session"
	valid_sarif "$work/stdout" 1
	check 1 --max-kept 0 --format github "$work/session"
	equal "lines of github" "$(wc -l <"$work/stdout")" 2
}

# Whatever python's tomllib refuses is refused here; what is a budget in its eyes is one here.
case_toml()
{
	build new -DNEW
	python3 -c 'import tomllib' 2>/dev/null || skip "python3 is older than 3.11 and has no tomllib"
	HEAPWISE="$HEAPWISE" python3 "$here/toml.py" "$work/new.hwt" "$work/heap.toml" 300 >"$work/stdout" 2>&1 ||
		fail "$(cat "$work/stdout")"
	says "$work/stdout" "300 files: [1-9][0-9]* taken, [1-9][0-9]* refused by both, [0-9]+ refused here only"
}

case_mistakes()
{
	build new -DNEW
	check 2
	says "$work/stderr" "no FILE given"
	check 2 "$work/new.hwt"
	says "$work/stderr" "no limits given"
	check 2 --max-growth 5% "$work/new.hwt"
	says "$work/stderr" "requires --baseline"
	check 2 --max-growth much --baseline "$work/new.hwt" "$work/new.hwt"
	says "$work/stderr" "expected a percentage"
	check 2 --baseline "$work/new.hwt" --max-peak 1M "$work/new.hwt"
	says "$work/stderr" "--baseline requires --max-growth"
	check 2 --max-peak much "$work/new.hwt"
	says "$work/stderr" "must be a size"
	check 3 --budget "$work/none.toml" "$work/new.hwt"
	says "$work/stderr" "none.toml: No such file"
	check 3 --max-growth 5% --baseline "$work/none.hwt" "$work/new.hwt"
	says "$work/stderr" "none.hwt: No such file"
	check 3 --max-peak 1M "$work/none.hwt"
	says "$work/stderr" "none.hwt: No such file"
	printf 'max-peak = "64M"\nmax-kpet = 0\n' >"$work/heap.toml"
	check 3 --budget "$work/heap.toml" "$work/new.hwt"
	says "$work/stderr" "heap.toml:2:1: unknown key 'max-kpet': did you mean max-kept"
	head -c 3000 /dev/urandom >"$work/heap.toml"
	check 3 --budget "$work/heap.toml" "$work/new.hwt"
	: >"$work/heap.toml"
	check 2 --budget "$work/heap.toml" "$work/new.hwt"
	says "$work/stderr" "no limits given"
}

run_case "$1"
finish
