#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lisp.sh CASE   objects of Embeddable Common Lisp: exact by type and by Lisp function, collected and never leaked.
. "$(dirname "$0")/lib.sh"
sources=$(cd "$(dirname "$0")/../targets/lisp" && pwd)
cd "$work" || exit 1

# lisp TRACE PROGRAM COUNT THREADS   records (work COUNT) of the program
lisp()
{
	PROGRAM=$2 COUNT=$3 THREADS=$4 "$HEAPWISE" run --lisp ecl -o "$1" -- ecl --norc --shell "$sources/run.lsp" \
		>stdout 2>"$work/stderr"
	status=$?
	equal "status" "$status" 0
	"$HEAPWISE" mprof --verbose --format json "$1" >"$1.mprof"
}

# compiled NAME   makes NAME.fas of the source
compiled()
{
	ecl --norc --eval "(compile-file \"$sources/$1.lsp\" :output-file \"$work/$1.fas\")" --eval '(ext:quit)' \
		>log 2>&1 </dev/null
	[ -e "$1.fas" ] || { fail "ecl cannot compile: $(tail -1 log)"; finish; }
}

# type TRACE NAME, direct TRACE FUNCTION   objects of the type; objects that the function itself made
type_count() { jq --arg name "$2" '[.types[] | select(.type == $name) | .allocations] | add // 0' "$1.mprof"; }
direct() { jq --arg name "$2" '[.direct[] | select(.name == $name) | .calls] | add // 0' "$1.mprof"; }

# letters TRACE FUNCTION   the categories of what it made
letters()
{
	jq -r --arg name "$2" '.direct[] | select(.name == $name) | [if .cons > 0 then "c" else empty end,
		if .float > 0 then "f" else empty end, if .structure > 0 then "s" else empty end,
		if .other > 0 then "o" else empty end] | add' "$1.mprof"
}

# callers TRACE FUNCTION   who called it
callers()
{
	jq -r --arg name "$2" '(.graph[] | select(.kind == "entry" and .name == $name) | .entry) as $entry |
		.graph[] | select(.entry == $entry and .kind == "ancestor") | .name' "$1.mprof" | sort | tr '\n' ' '
}

# Interpreted code also makes conses for its variables: as many in each call, so that two runs differ by what is known.
interpreted()
{
	lisp few.hwt "$sources/known.lsp" 100 "$1"
	lisp many.hwt "$sources/known.lsp" 300 "$1"
	for type in "double-float 5" "structure NODE 3" "instance POINT 1"; do
		more=$(($(type_count many.hwt "${type% *}") - $(type_count few.hwt "${type% *}")))
		# Each thread may make one for the class.
		[ "$type" != "instance POINT 1" ] || [ $((more - 200 * $1)) -gt "$1" ] || [ $((200 * $1 - more)) -gt "$1" ] || more=$((200 * $1))
		equal "more of ${type% *}" "$more" $((200 * $1 * ${type##* }))
	done
	equal "more by MAKE-CONSES" $(($(direct many.hwt MAKE-CONSES) - $(direct few.hwt MAKE-CONSES))) $((2000 * $1))
	equal "more by FLOAT" $(($(direct many.hwt FLOAT) - $(direct few.hwt FLOAT))) $((1000 * $1))
	equal "MAKE-FLOATS and MAKE-NODES themselves" \
		$(($(direct many.hwt MAKE-FLOATS) + $(direct many.hwt MAKE-NODES))) \
		$(($(direct few.hwt MAKE-FLOATS) + $(direct few.hwt MAKE-NODES)))
	equal "structures" "$(type_count many.hwt "structure NODE")" $((900 * $1))
	equal "callers of MAKE-CONSES" "$(callers many.hwt MAKE-CONSES)" "WORK "
	equal "callers of MAKE-NODE" "$(callers many.hwt MAKE-NODE)" "MAKE-NODES "
	equal "callers of FLOAT" "$(callers many.hwt FLOAT)" "MAKE-FLOATS "
	equal "letters of MAKE-CONSES" "$(letters many.hwt MAKE-CONSES)" c
	whole many.hwt
}

compiled_threads()
{
	compiled known
	lisp trace.hwt known.fas 300 "$1"
	equal "conses of MAKE-CONSES" "$(direct trace.hwt MAKE-CONSES)" $((3000 * $1))
	equal "floats of MAKE-FLOATS" "$(direct trace.hwt MAKE-FLOATS)" $((1500 * $1))
	equal "structures and their slots of MAKE-NODE" "$(direct trace.hwt MAKE-NODE)" $((2 * 900 * $1))
	equal "structures" "$(type_count trace.hwt "structure NODE")" $((900 * $1))
	equal "instances" $(($(type_count trace.hwt "instance POINT") / (300 * $1))) 1
	equal "letters of MAKE-CONSES" "$(letters trace.hwt MAKE-CONSES)" c
	equal "letters of MAKE-FLOATS" "$(letters trace.hwt MAKE-FLOATS)" f
	equal "letters of MAKE-NODE" "$(letters trace.hwt MAKE-NODE)" s
	equal "callers of MAKE-NODE" "$(callers trace.hwt MAKE-NODE)" "MAKE-NODES "
	equal "callers of MAKE-CONSES" "$(callers trace.hwt MAKE-CONSES)" "WORK "
	whole trace.hwt
}

case_interpreted_1() { interpreted 1; }
case_interpreted_4() { interpreted 4; }
case_compiled_1() { compiled_threads 1; }
case_compiled_4() { compiled_threads 4; }

# served TRACE   the tables over HTTP are those of the command: three, by type
served()
{
	"$HEAPWISE" serve --print-url "$1" >url 2>/dev/null &
	server=$!
	until_true test -s url
	base="$(sed 's,/?token=.*,,' url)/api/v1"
	token=$(sed 's,.*token=,,' url)
	asked() { curl -s -m 20 -H "Authorization: Bearer $token" "$base/$1"; }
	ready() { asked status | jq -e '[.data.traces[].state] == ["ready"]' >/dev/null; }
	until_true ready
	equal "is a Lisp" "$(asked trace | jq .data.caps.lisp)" true
	for table in bins/types direct/direct graph/graph; do
		asked "mprof/${table%/*}?verb=verbose&limit=500" | jq -S .data.rows >rows
		jq -S ".${table#*/}[:500]" "$1.mprof" | cmp - rows || fail "${table#*/} over HTTP is another table"
	done
	says <(asked mprof/leaks | jq -r .error.message) "a Lisp recording has no table of leaks"
	equal "text" "$(asked 'mprof.txt?verb=verbose' | grep -c 'Memory leaks')" 0
	kill -INT "$server"
	wait "$server"
}

# What nobody holds is collected, what somebody holds is not, and neither is kept or leaked.
case_collected()
{
	cat >gc.lsp <<-'END'
	(defun churn (n) (dotimes (i n) (list i i i)))
	(defun hold (n) (let ((all nil)) (dotimes (i n) (setq all (cons i all))) all))
	(defvar *held* (hold 20000))
	(churn 300000)
	(si:gc t)
	(print (length *held*))
	END
	"$HEAPWISE" run --lisp ecl -o trace.hwt -- ecl --norc --shell gc.lsp >stdout 2>"$work/stderr"
	says stdout 20000
	"$HEAPWISE" mprof --verbose --format json trace.hwt >trace.hwt.mprof
	at_least "conses of CHURN" "$(direct trace.hwt CHURN)" 900000
	collected=$(jq '.direct[] | select(.name == "CHURN") | .collected_bytes / 16 | floor' trace.hwt.mprof)
	at_least "collected of CHURN" "$collected" 899900
	collected=$(jq '.direct[] | select(.name == "HOLD") | .collected_bytes / 16 | floor' trace.hwt.mprof)
	at_most "collected of HOLD" "$collected" 100
	equal "kept" "$(field trace.hwt .kept.bytes)" 0
	equal "tables" "$(jq -r 'keys | map(select(. != "caveats" and . != "schema")) | join(" ")' trace.hwt.mprof)" \
		"direct graph types"
	whole trace.hwt
	served trace.hwt
	for command in findings leaks report check; do
		"$HEAPWISE" "$command" trace.hwt >said 2>&1
		grep -iE "leak|never freed" said | grep -vE "not count as leaked|in 0 chunks, never freed|Never freed, by call stack|Kept: never freed" &&
			fail "$command speaks of leaks"
	done
	equal "leaks" "$("$HEAPWISE" leaks --format json trace.hwt | jq '[.. | .bytes? // empty] | add // 0')" 0
	says "$work/stderr" "not collected"
	says <("$HEAPWISE" report trace.hwt) "collected .* freed by the collector"
}

# sizes TRACE   of all objects together, as the collector rounds them
sizes()
{
	"$HEAPWISE" export --to csv -o chunks.csv "$1" || fail "no export"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "size") at = i; next }
		{ sum += $at ? int(($at + 15) / 16) * 16 : 16 } END { printf "%d\n", sum }' chunks.csv
}

# Two runs differ by as many bytes as the collector itself says. (It hands blocks of memory out to threads, and counts them
# then; larger objects than these it rounds up by more.)
case_total()
{
	compiled total
	lisp few.hwt total.fas 20000 1
	told=$(sed -n 's/^total //p' stdout)
	lisp many.hwt total.fas 220000 1
	told=$(($(sed -n 's/^total //p' stdout) - told))
	seen=$(($(sizes many.hwt) - $(sizes few.hwt)))
	at_least "bytes of 200,000 times 64" "$seen" 12800000
	at_least "bytes seen" "$seen" $((told * 998 / 1000))
	at_most "bytes seen" "$seen" $((told * 1002 / 1000))
}

case_exits()
{
	compiled exits
	lisp trace.hwt exits.fas 500 1
	for function in THROWER GUARDED ESCAPER; do
		equal "conses of $function" "$(direct trace.hwt "$function")" 500
	done
	at_least "conses of FAILING" "$(direct trace.hwt FAILING)" 500
	whole trace.hwt
}

case_deep()
{
	compiled deep
	lisp trace.hwt deep.fas 5000 1
	equal "conses of DEEP" "$(direct trace.hwt DEEP)" 5000
	says "$work/stderr" "stacks cut at the depth limit"
	whole trace.hwt
}

case_huge()
{
	echo '(print (length (make-list 1000000)))' >huge.lsp
	"$HEAPWISE" run --lisp ecl -o trace.hwt -- ecl --norc --shell huge.lsp >stdout 2>"$work/stderr"
	says stdout 1000000
	"$HEAPWISE" mprof --format json trace.hwt >trace.hwt.mprof
	equal "conses of MAKE-LIST" "$(direct trace.hwt MAKE-LIST)" 1000000
	whole trace.hwt
}

# Nothing of the program's own; the start is there if it is asked for, and has a mark at its end.
case_empty()
{
	: >empty.lsp
	"$HEAPWISE" run --lisp ecl -o trace.hwt -- ecl --norc --shell empty.lsp >stdout 2>"$work/stderr"
	equal "status" $? 0
	says <("$HEAPWISE" mprof trace.hwt) "the start of the Lisp system, .* is not included"
	says <("$HEAPWISE" mprof --startup --table direct trace.hwt) "\(start of ECL\)"
	"$HEAPWISE" mprof --table direct trace.hwt | grep -q "start of ECL" && fail "the start is in the tables"
	says <("$HEAPWISE" trace info trace.hwt) "Lisp has started"
	whole trace.hwt
}

case_killed()
{
	echo '(defun spin () (loop (list 1 2 3))) (print :go) (finish-output) (spin)' >spin.lsp
	"$HEAPWISE" run --lisp ecl -o trace.hwt -- ecl --norc --shell spin.lsp >stdout 2>"$work/stderr" &
	run=$!
	until grep -q GO stdout 2>/dev/null; do sleep 0.05; done
	sleep 0.3
	kill -9 "$(child_of $run)"
	wait $run
	"$HEAPWISE" mprof --format json trace.hwt >trace.hwt.mprof
	at_least "conses" "$(type_count trace.hwt cons)" 1000
	equal "lost_events" "$(field trace.hwt .lost_events)" 0
}

# Other programs that it starts have the library as well, and are not disturbed.
case_children()
{
	cat >sub.lsp <<-'END'
	(defun run () (ext:run-program "/bin/echo" '("hello") :output t :wait t))
	(run)
	(print (list 1 2 3))
	END
	"$HEAPWISE" run --lisp ecl -o trace.hwt -- ecl --norc --shell sub.lsp >stdout 2>"$work/stderr"
	says stdout hello
	says stdout "1 2 3"
	"$HEAPWISE" run --lisp ecl --children -o folder -- ecl --norc --shell sub.lsp >stdout 2>"$work/stderr"
	says stdout hello
}

# stub SYMBOL...   a library that calls itself libecl.so.99.1, with these functions, and a program that starts it
stub()
{
	for name in "$@"; do echo "int $name(void) { return 0; }"; done >stub.c
	echo "int cl_boot(int, char **); int main(int c, char **v) { return cl_boot(c, v); }" >main.c
	${CC-gcc} -shared -fPIC -w -Wl,-soname,libecl.so.99.1 -o libecl.so.99.1 stub.c &&
		${CC-gcc} -o other main.c ./libecl.so.99.1 -Wl,-rpath,"$work" || fail "the stub cannot be built"
}

case_refused()
{
	"$HEAPWISE" run --lisp ecl -o trace.hwt -- /bin/true 2>stderr
	says stderr "no Lisp was recorded: the program never started ECL"
	stub cl_boot
	"$HEAPWISE" run --lisp ecl -o trace.hwt -- ./other 2>stderr
	equal "status" $? 0
	says stderr "no Lisp was recorded: this libecl does not export the functions"
	stub cl_boot ecl_cons ecl_list1 ecl_alloc_object ecl_alloc_compact_object ecl_alloc_instance \
		ecl_allocate_instance cl_copy_structure si_copy_instance ecl_alloc_simple_vector \
		ecl_alloc_adjustable_base_string ecl_alloc_adjustable_extended_string ecl_alloc ecl_array_allocself \
		ecl_make_cfun ecl_make_cfun_va GC_malloc GC_malloc_atomic GC_malloc_ignore_off_page \
		GC_malloc_atomic_ignore_off_page GC_malloc_uncollectable GC_free si_make_structure
	"$HEAPWISE" run --lisp ecl -o trace.hwt -- ./other 2>stderr
	equal "status" $? 0
	says stderr "no Lisp was recorded: Heapwise was built for another version of ECL .*libecl.so.99.1"
	"$HEAPWISE" run --lisp ecl --alloc-fn x -o trace.hwt -- ./other 2>stderr && fail "--alloc-fn is accepted"
	says stderr "cannot be combined with"
}

needs ecl
[ -e "$(dirname "$HEAPWISE")/libheapwise-lisp-ecl.so" ] || lacks libecl-dev libgc-dev libgmp-dev libffi-dev libatomic-ops-dev
run_case "$1"
finish
