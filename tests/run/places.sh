#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# places.sh CASE   where findings are: wrappers are part of their callers, a function that calls itself is said once, and where
# functions have no names the remedy is.
. "$(dirname "$0")/lib.sh"
needs gcc
cd "$work" || exit 1

# build NAME FLAG...   the program on stdin
build()
{
	local name=$1

	shift
	gcc -O1 -fno-inline -fno-optimize-sibling-calls -x c -o "$name" "$@" - || { fail "cannot build $name"; finish; }
}

# take NAME   records it
take()
{
	"$HEAPWISE" run -q -o "$1.hwt" -- "./$1" || fail "the program failed"
}

# found NAME OPTION...
found()
{
	local name=$1

	shift
	"$HEAPWISE" findings --all --format json "$@" "$name.hwt" 2>stderr | jq -r '.findings[] | "\(.kind) \(.where)"' || fail "cannot list: $(cat stderr)"
}

# xmalloc is one by its name, text_new by its callers; node_new makes nodes, and has one size.
wrapper_program()
{
	cat <<-'C'
	#include <stdlib.h>
	#include <string.h>
	void *volatile sink;
	void *keep[1000];
	int kept;
	static void *xmalloc(size_t bytes) { void *p = malloc(bytes); return p ? p : (abort(), p); }
	static char *text_new(size_t length) { char *t = malloc(length + 1); t[0] = 0; sink = t; return t; }
	static void *node_new(void) { void *n = malloc(48); sink = n; return n; }
	static void spin(void) { for (int i = 0; i < 3000; i++) { sink = xmalloc(4000); free(sink); } }
	static void leak(void) { for (int i = 0; i < 500; i++) { memset(xmalloc(1000), 1, 1000); sink = 0; } }
	#define CALLER(name, bytes) static void name(void) { for (int i = 0; i < 100; i++) keep[kept++] = text_new(bytes); }
	CALLER(read_name, 10) CALLER(read_line, 100) CALLER(read_page, 1000) CALLER(read_word, 20) CALLER(read_file, 5000)
	static void grow_a(void) { node_new(); sink = 0; }
	static void grow_b(void) { node_new(); sink = 0; }
	static void grow_c(void) { node_new(); sink = 0; }
	static void grow_d(void) { node_new(); sink = 0; }
	static void grow_e(void) { node_new(); sink = 0; }
	int main(void)
	{
		spin(), leak(), read_name(), read_line(), read_page(), read_word(), read_file();
		for (int i = 0; i < 200; i++)
			grow_a(), grow_b(), grow_c(), grow_d(), grow_e();
		return 0;
	}
	C
}

case_folded()
{
	wrapper_program | build wraps -g
	take wraps
	"$HEAPWISE" findings --all --top 0 --format json wraps.hwt >json 2>stderr || fail "findings: $(cat stderr)"
	jq -r '.findings[].where' json >where
	says where "^spin \("
	says where "^leak \("
	says where "^read_file \("
	says where "^node_new \("
	! grep -E "^(xmalloc|text_new)" where || fail "a wrapper is the place"
	equal "folded, why" "$(jq -c '[.folded[] | [.function, .why]] | sort' json)" '[["text_new","callers"],["xmalloc","name"]]'
	equal "callers" "$(jq -c '[.folded[] | [.function, .callers]] | sort' json)" '[["text_new",5],["xmalloc",2]]'
	# People are told in a line, here and in the report.
	for command in findings report; do
		"$HEAPWISE" $command wraps.hwt >text 2>stderr || fail "$command: $(cat stderr)"
		tr -s ' \n' ' ' <text >flat
		says flat "shown as part of their callers: xmalloc \(known name\) and text_new \(5 functions allocate 11 B to 4.9 KiB through it\)"
	done
	equal "folded in the report" "$("$HEAPWISE" report --format json wraps.hwt | jq -c '[.folded[].function] | sort')" '["text_new","xmalloc"]'
	# Nothing is folded for who does not want it, and more for who does.
	"$HEAPWISE" findings --no-fold --all --top 0 --format json wraps.hwt >json
	jq -r '.findings[].where' json >where
	says where "^xmalloc \(.*, called by spin \("
	says where "^text_new \(.*, called by read_file \("
	equal "folded with --no-fold" "$(jq -c '.folded // []' json)" "[]"
	"$HEAPWISE" findings --wrapper "other,node_*" --all --top 0 --format json wraps.hwt >json
	jq -r '.findings[].where' json >where
	says where "^grow_c \(.*, called by main \("
	equal "node_new, why" "$(jq -r '.folded[] | select(.function == "node_new").why' json)" asked
	"$HEAPWISE" findings --wrapper a --no-fold wraps.hwt >stdout 2>stderr && fail "--wrapper with --no-fold is taken"
	says stderr "cannot be combined"
	"$HEAPWISE" report --wrapper a,,b wraps.hwt >stdout 2>stderr && fail "an empty name is taken"
	says stderr "must be names"
}

case_recursion()
{
	build walks -g <<-'C'
	#include <stdlib.h>
	#include <string.h>
	void *volatile sink;
	static void walk(int depth)
	{
		memset(sink = malloc(100), 1, 100);
		if (depth)
			walk(depth - 1);
		sink = 0;
	}
	int main(void)
	{
		for (int i = 0; i < 100; i++)
			walk(i % 10);
		return 0;
	}
	C
	take walks
	found walks >where
	says where "^leak walk \(.*\), called by main \("
	equal "places of walk" "$(grep -c "^leak walk" where)" 1
}

case_stripped()
{
	wrapper_program | build bare -s
	take bare
	for command in findings report; do
		"$HEAPWISE" $command bare.hwt >text 2>stderr || fail "$command: $(cat stderr)"
		tr -s ' \n' ' ' <text >flat
		equal "$command: remedies" "$(grep -o 'no function names for' flat | wc -l)" 1
		says flat "no function names for (100|9[0-9])\.[0-9] % of the bytes: bare \((100|9[0-9])\.[0-9] %, stripped\)\. Remedy: build bare with -g"
		says flat "'heapwise trace symbolize --debug-path DIR bare.hwt'"
	done
	equal "caveats for programs" "$("$HEAPWISE" report --format json bare.hwt | jq '[.caveats[] | select(startswith("no function names"))] | length')" 1
	# A function without a name is a place in its module.
	found bare >where
	says where "bare\+0x[0-9a-f]+"
	# With names there is nothing to say.
	wrapper_program | build named
	take named
	"$HEAPWISE" report named.hwt >text 2>stderr
	! grep "no function names" text || fail "a remedy where all is well"
}

run_case "$1"
finish
