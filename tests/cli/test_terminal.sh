#!/bin/bash
# SPDX-License-Identifier: MIT
# On a terminal: the pager, progress, no binary; and servers of what is no trace, and indexes that nobody asked for.
. "$(dirname "$0")/../run/lib.sh"
needs python3
unset PAGER HEAPWISE_PAGER LESS
export TERM=xterm
cd "$work" || exit 1

# on_terminal WORD...   status in $status, output in $work/screen
on_terminal()
{
	python3 "$HEAPWISE_SOURCE_DIR/tests/cli/terminal.py" "$@" >"$work/screen" 2>"$work/stderr"
	status=$?
}

"$HEAPWISE" run -q -o trace.hwt -- sh -c 'exit 7'

# ---- the pager ----
export HEAPWISE_PAGER='sed s/^/paged:/'
for command in report findings leaks mprof scores types "trace info" "trace dump" "trace callgraph" "query --fields"; do
	file=trace.hwt
	[ "$command" = "query --fields" ] && file=
	on_terminal "$HEAPWISE" $command $file
	equal "status of $command" "$status" 0
	says "$work/screen" "^paged:"
done
on_terminal "$HEAPWISE" help run
says "$work/screen" "^paged:usage: heapwise run"
on_terminal "$HEAPWISE" check --max-peak 1 trace.hwt
equal "status of check behind a pager" "$status" 1
says "$work/screen" "^paged:.*1 of 1 limit is exceeded"
on_terminal "$HEAPWISE" leaks --fail-on lost,possible --kinds all /no/such/file
equal "status of a mistake" "$status" 3

# none: by option, environment, or because there is no terminal
for words in "--no-pager report" "report --no-pager" "report --no-pager --format json"; do
	on_terminal "$HEAPWISE" $words trace.hwt
	equal "status of $words" "$status" 0
	grep -q paged: "$work/screen" && fail "$words uses a pager"
done
for value in '' cat; do
	HEAPWISE_PAGER=$value on_terminal "$HEAPWISE" report trace.hwt
	says "$work/screen" "^  program "
done
TERM=dumb on_terminal "$HEAPWISE" report trace.hwt
grep -q paged: "$work/screen" && fail "a dumb terminal has a pager"
"$HEAPWISE" report trace.hwt >"$work/stdout"
grep -q paged: "$work/stdout" && fail "a pager without a terminal"

# one that is left early is no error, and one that cannot be run is
HEAPWISE_PAGER='head -1' on_terminal "$HEAPWISE" trace dump trace.hwt
equal "status when the pager is left" "$status" 0
equal "lines" "$(wc -l <"$work/screen")" 1
HEAPWISE_PAGER='head -1' on_terminal "$HEAPWISE" check --max-peak 1 -n 0 trace.hwt
equal "status of check when the pager is left" "$status" 1
HEAPWISE_PAGER=/no/such/pager on_terminal "$HEAPWISE" report trace.hwt
says "$work/screen" "cannot run the pager '/no/such/pager'"

unset HEAPWISE_PAGER
PAGER='sed s/^/second:/' on_terminal "$HEAPWISE" report trace.hwt
says "$work/screen" "^second:"
if command -v less >/dev/null; then
	on_terminal "$HEAPWISE" help trace # fits: less ends by itself
	equal "status of less with little" "$status" 0
	on_terminal --keys q "$HEAPWISE" help limits
	equal "status of less with much" "$status" 0
	grep -q '^mu = auto' "$work/screen" && fail "less shows more than a screen"
fi

# ---- no binary ----
for format in pprof sqlite perfetto; do
	on_terminal "$HEAPWISE" export --to $format trace.hwt
	equal "status of $format on a terminal" "$status" 2
	says "$work/screen" "$format is a binary format and standard output a terminal; use -o FILE"
	"$HEAPWISE" export --to $format trace.hwt >binary 2>"$work/stderr" || fail "$format to a file: $(cat "$work/stderr")"
done

# ---- serve ----
echo text >text
"$HEAPWISE" serve --timeout 20 text trace.hwt >"$work/stdout" 2>"$work/stderr"
equal "status of serve of what is no trace" "$?" 3
says "$work/stderr" "text is not a Heapwise trace"

# ---- a large trace: progress, and where the index is ----
"$HEAPWISE-synth" -o large.hwt --chunks 1100k --points 500 >/dev/null
seconds=$SECONDS
on_terminal "$HEAPWISE" report --no-pager large.hwt
equal "status of report" "$status" 0
if [ $((SECONDS - seconds)) -ge 4 ]; then
	says "$work/screen" "heapwise: (reading|analysing) large.hwt: [0-9]+ (%|s)"
fi
[ ! -e large.hwt.index ] || fail "report writes an index"
"$HEAPWISE" report large.hwt >/dev/null 2>"$work/stderr"
[ ! -s "$work/stderr" ] || fail "progress without a terminal: $(cat "$work/stderr")"
"$HEAPWISE" export --to html --views overview -o page.html large.hwt >/dev/null 2>"$work/stderr" || fail "export: $(cat "$work/stderr")"
says "$work/stderr" "wrote the index .*large.hwt.index, [0-9.]+ MiB, .*'heapwise trace index --remove large.hwt'"
equal "lines of export" "$(grep -c 'wrote the index' "$work/stderr")" 1
"$HEAPWISE" export --to html --views overview -o page.html large.hwt >/dev/null 2>"$work/stderr"
equal "lines of the second export" "$(grep -c 'wrote the index' "$work/stderr")" 0
"$HEAPWISE" trace index --remove large.hwt 2>/dev/null
"$HEAPWISE" serve --print-url large.hwt >url 2>"$work/stderr" &
server=$!
for _ in $(seq 600); do
	grep -q 'wrote the index' "$work/stderr" && break
	sleep 0.2
done
kill -INT "$server"
wait "$server"
says "$work/stderr" "wrote the index .*large.hwt.index, [0-9.]+ MiB"
finish
