#!/bin/bash
# SPDX-License-Identifier: MIT
# vtables.sh CASE [COMPILER [OPTION...]]   classes of objects that nobody told, by their vtables.
. "$(dirname "$0")/lib.sh"
source=$HEAPWISE_SOURCE_DIR
case=${1:-}
compiler=${2:-g++}
shift $(($# < 2 ? $# : 2))

# build OUTPUT SOURCE OPTION...
build()
{
	local output=$1 from=$2
	shift 2
	"$compiler" -std=c++17 -pthread "$@" -o "$output" "$from" 2>"$work/build" ||
		{ fail "cannot build $from: $(grep -m3 error "$work/build")"; finish; }
}

# classes TRACE   "chunk address size class" of every chunk whose class is known, the last word counts
classes()
{
	"$HEAPWISE" trace dump "$1" | awk '
	/^# type .* source vtable / { name = $0; sub(/.* name /, "", name); class[$3] = name; next }
	/^#/ { next }
	$3 !~ /free|delete/ && $6 ~ /^[0-9]+$/ { address[$6] = $4; size[$6] = $5 }
	END { for (c in class) print c "\t" address[c] "\t" size[c] "\t" class[c] }'
}

# Each shape of object has its class, and what has none gets none.
case_shapes()
{
	build "$work/shapes" "$source/tests/targets/vtables.cpp" "$@"
	"$HEAPWISE" run -o "$work/t.hwt" "$work/shapes" >"$work/truth" 2>"$work/stderr" || fail "the program failed"
	classes "$work/t.hwt" >"$work/classes"
	awk -F'\t' '
	NR == FNR { class[$2] = $4; next }
	{
		found = $2 in class ? class[$2] : "-"
		right = 0
		for (f = 3; f <= NF; f++)
			right = right || found == $f
		if (!right)
			print $1 ": is " $3 ", found " found
	}' "$work/classes" "$work/truth" >"$work/wrong"
	[ ! -s "$work/wrong" ] || { fail "classes that are not right:"; cat "$work/wrong"; }
	at_least "number of shapes" "$(wc -l <"$work/truth")" 18
	equal "elements of an array" "$("$HEAPWISE" trace dump "$work/t.hwt" |
		grep -a '^# type .* count 3 offset 8 name shapes::Derived$' | wc -l)" 1
}

# No chunk gets the class of another that was, or will be, at its address.
# check_sizes CLASSES
check_sizes()
{
	classes "$work/t.hwt" >"$work/classes"
	awk -F'\t' '$4 ~ /^Item</ && $4 != "Item<" $3 ">" || $4 == "Root" { print }' "$work/classes" >"$work/wrong"
	[ ! -s "$work/wrong" ] || { fail "classes of other chunks:"; head -5 "$work/wrong"; }
	at_least "number of classes" "$(cut -f4 "$work/classes" | grep '^Item<' | sort -u | wc -l)" "$1"
}

case_threads()
{
	build "$work/threads" "$source/tests/targets/vtables_threads.cpp" "$@"
	"$HEAPWISE" run -q -o "$work/t.hwt" "$work/threads" 4 40000 || fail "the program failed"
	check_sizes 3
}

case_preempted()
{
	build "$work/threads" "$source/tests/targets/vtables_threads.cpp" "$@"
	"$HEAPWISE" run -q --test-preempt --ring-records 1024 -o "$work/t.hwt" "$work/threads" 4 5000 ||
		fail "the program failed"
	check_sizes 1
}

case_one_thread()
{
	build "$work/threads" "$source/tests/targets/vtables_threads.cpp" "$@"
	"$HEAPWISE" run -q -o "$work/t.hwt" "$work/threads" 0 20000 || fail "the program failed"
	check_sizes 4
}

# A program that ends at once, without another call of the allocator; and one that does not want it.
case_brief()
{
	cat >"$work/brief.cpp" <<-'END'
	#include <unistd.h>
	struct Brief { virtual ~Brief() {} };
	Brief *volatile kept;
	int main(int argc, char **) { kept = new Brief; if (argc > 1) _exit(0); return 0; }
	END
	build "$work/brief" "$work/brief.cpp" -O1
	for end in '' now; do
		"$HEAPWISE" run -q -o "$work/t.hwt" "$work/brief" $end
		equal "class of an object of a program that ends ${end:-soon}" \
			"$(classes "$work/t.hwt" | cut -f4)" Brief
	done
	"$HEAPWISE" run -q --no-types -o "$work/t.hwt" "$work/brief"
	equal "types with --no-types" "$("$HEAPWISE" trace dump "$work/t.hwt" | grep -ac '^# type')" 0
}

# A child of fork and one of exec have their own.
case_children()
{
	cat >"$work/forks.cpp" <<-'END'
	#include <sys/wait.h>
	#include <unistd.h>
	struct Parent { virtual ~Parent() {} };
	struct Child { virtual ~Child() {} long more = 1; };
	struct Again { virtual ~Again() {} long more[2] = {}; };
	void *volatile kept;
	int main(int argc, char **argv)
	{
		if (argc > 1) {
			kept = new Again;
			return 0;
		}
		kept = new Parent;
		if (fork() == 0) {
			kept = new Child;
			kept = operator new(100); // an exec waits for nobody
			execl(argv[0], argv[0], "again", (char *)0);
			_exit(1);
		}
		wait(nullptr);
		return 0;
	}
	END
	build "$work/forks" "$work/forks.cpp" -O1
	"$HEAPWISE" run -q --children -o "$work/traces" "$work/forks" || fail "the program failed"
	for trace in "$work"/traces/*.hwt; do classes "$trace"; done | cut -f4 | sort >"$work/found"
	equal "classes of all processes" "$(tr '\n' ' ' <"$work/found")" "Again Child Parent "
}

# A class of a library that is loaded and closed again, and of which no code is ever on a stack.
case_library()
{
	cat >"$work/plugin.cpp" <<-'END'
	struct Plugged { virtual ~Plugged(); virtual int f(); long more[3] = {1, 2, 3}; };
	Plugged::~Plugged() {}
	int Plugged::f() { return 1; }
	extern "C" void *make() { return new Plugged; }
	END
	cat >"$work/host.cpp" <<-'END'
	#include <dlfcn.h>
	void *volatile kept[20];
	int main(int, char **argv)
	{
		for (int i = 0; i < 10; i++) {
			void *library = dlopen(argv[1], RTLD_NOW);
			if (!library) return 1;
			kept[i] = ((void *(*)())dlsym(library, "make"))();
			kept[10 + i] = operator new(100);
			dlclose(library);
		}
		return 0;
	}
	END
	build "$work/plugin.so" "$work/plugin.cpp" -shared -fPIC -O1
	build "$work/host" "$work/host.cpp" -O1
	"$HEAPWISE" run -q -o "$work/t.hwt" "$work/host" "$work/plugin.so" || fail "the program failed"
	at_least "objects of a library that comes and goes" \
		"$(classes "$work/t.hwt" | cut -f4 | grep -c '^Plugged$')" 8
}

# Somebody else's program, unmodified: its classes are those that its libraries export.
case_stranger()
{
	needs cmake
	"$HEAPWISE" run -q -o "$work/t.hwt" cmake -E capabilities >/dev/null || fail "the program failed"
	classes "$work/t.hwt" | cut -f4 | sort | uniq -c | sort -rn >"$work/found"
	head -5 "$work/found"
	at_least "classes of cmake" "$(wc -l <"$work/found")" 3
}

# Objects that were not looked into have the class of those of their point and size that were, and the output says so;
# where these differ, or are too few, nothing is said above a guess.
case_sampled()
{
	build "$work/sampled" "$source/tests/targets/vtables_sampled.cpp" -s "$@"
	"$HEAPWISE" run -q -o "$work/t.hwt" "$work/sampled" || fail "the program failed"
	"$HEAPWISE" types --chunks --top 0 --format json "$work/t.hwt" >"$work/json" 2>"$work/stderr"
	for size in 80 112; do
		equal "things of $size bytes" "$(jq "[.chunks[] | select(.size == $size and .type == \"Thing<$size>\" and
			.confidence != \"guess\")] | length" "$work/json")" 2000
		at_least "of these sampled" "$(jq "[.chunks[] | select(.size == $size and
			.source == \"vtable (sampled)\")] | length" "$work/json")" 1500
	done
	equal "classes of a place that makes two, and were not looked into" "$(jq '[.chunks[] |
		select(.size == 208 and .source == "vtable (sampled)")] | length' "$work/json")" 0
	at_least "classes of that place that were" "$(jq '[.chunks[] |
		select(.size == 208 and (.type == "First" or .type == "Second"))] | length' "$work/json")" 4
	equal "classes of others than objects, above a guess" "$(jq '[.chunks[] | select(.size == 304 and .type and
		.source == "vtable (sampled)" and .confidence != "guess")] | length' "$work/json")" 0
	"$HEAPWISE" types "$work/t.hwt" >"$work/text" 2>&1
	says "$work/text" '^ *vtable .* read from the objects; [0-9,]* sampled'
	says "$work/text" 'vtable \(sampled\) *likely *Thing<80>'
	equal "sampled chunks" "$(jq '.sampled_chunks > 3000' "$work/json")" true
}

declare -F "case_${case//-/_}" >/dev/null || fail "there is no case $case"
"case_${case//-/_}" "$@"
finish
