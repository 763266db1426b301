#!/bin/bash
# SPDX-License-Identifier: MIT
# Commands and their options as a user meets them: help, version, mistakes, completion, manual pages.
. "$(dirname "$0")/../run/lib.sh"

# run_cli ARGUMENT...   status in $status, output in $work/stdout and $work/stderr
run_cli()
{
	"$HEAPWISE" "$@" >"$work/stdout" 2>"$work/stderr"
	status=$?
}

run_cli help
equal "status of help" "$status" 0
commands=$(sed -nE 's/^  ([a-z+]+)(, c\+\+)?  +.*/\1/p' "$work/stdout")
equal "commands" "$(echo $commands)" "run watch ctl cc findings report leaks owners resident types diff serve mprof scores excessive query check fleet import export trace doctor"
equal "groups" "$(grep -c '^[A-Z][a-z]*\( [a-z ]*\)\?$' "$work/stdout")" 6
run_cli help --all
equal "status of help --all" "$status" 0
below=$(sed -nE 's/^  ((trace|fleet) [a-z-]+)  +.*/\1/p' "$work/stdout")
equal "commands below others" "$(echo $below)" "fleet push trace info trace dump trace symbolize trace index trace callgraph trace types-index"
run_cli --version
equal "status of --version" "$status" 0
says "$work/stdout" "^heapwise [0-9]+\.[0-9]+"
# What few commands need is loaded by these: it would be most of the time of a short run.
equal "libraries that every command loads" "$(ldd "$HEAPWISE" | grep -oE 'lib(curl|microhttpd|gnutls|ssl|clang)[^ ]*' | head -1)" ""

# mistakes: words, expected status, what stderr says
while IFS='|' read -r words wanted text; do
	run_cli $words
	equal "status of '$words'" "$status" "$wanted"
	says "$work/stderr" "$text"
	[ ! -s "$work/stdout" ] || fail "'$words' prints on stdout"
done <<'ROWS'
|2|heapwise COMMAND
reprot|2|did you mean 'report'
frobnicate|2|unknown command 'frobnicate'
inof|2|did you mean 'trace info'
attach 1|2|start it with 'heapwise run', and control the recording with 'heapwise ctl'
record|2|did you mean 'heapwise run'
sleep 1|2|to record the program 'sleep', type 'heapwise run sleep'
./no-such-program|3|^heapwise: ./no-such-program: No such file
no-such.hwt|3|^heapwise: no-such.hwt: No such file
/etc/passwd|3|/etc/passwd: neither a trace nor an executable program
/proc/self/fdinfo|3|a folder without traces
trace|2|usage: heapwise trace COMMAND
trace frobnicate|2|heapwise trace: unknown command 'frobnicate'
trace inof a|2|did you mean 'trace info'
help trace frobnicate|2|unknown command
--format json report|2|the command comes first
help frobnicate|2|unknown command
report|2|no FILE given
report a b|2|expected one FILE
report --tpo 3 a|2|did you mean --top
report --top many a|2|must be a number, not 'many'
report --by size a|2|must be one of bytes
trace dump --format xml a|2|must be one of text
trace dump|2|no FILE given
trace info|2|no FILE given
trace symbolize|2|no FILE given
owners|2|no FILE given
owners --min-share 101 a|2|--min-share must be at most 100
owners --at 1s --at 2s --at 3s a|2|--at can be given at most twice
owners /no/such/file|3|/no/such/file: No such file
resident|2|no FILE given
resident /no/such/file|3|/no/such/file: No such file
types|2|no FILE given
types --sort size a|2|must be one of peak
types /no/such/file|3|/no/such/file: No such file
trace types-index --database . a.c|2|--database cannot be combined with SOURCE
trace types-index -- -DX|2|require at least one SOURCE
trace types-index --database /no/such/folder|3|/no/such/folder/compile_commands.json: No such file
trace types-index /no/such/source.c|3|/no/such/source.c: No such file
trace types-index --find here|2|--find: expected SOURCE:LINE
trace types-index -o /no/such/index --find a.c:3|3|/no/such/index
mprof|2|no FILE given
findings|2|no FILE given
scores|2|no FILE given
scores --by size a|2|must be one of severity
trace callgraph|2|no FILE given
serve|2|no FILE given
serve /no/such/file|3|/no/such/file: No such file
query|2|no FILE and no QUERY given
query all|2|no FILE given
query a b c all|2|at most two FILEs
query --canonical a all|2|unexpected FILE
query --fields a|2|unexpected FILE
query /no/such/file all|3|/no/such/file: No such file
query --file /no/such/file a|3|/no/such/file
query /no/such/file al|2|did you mean 'all'
trace callgraph --from nowhere a|2|must be one of auto
trace callgraph /no/such/file|3|/no/such/file: No such file
import|2|no FILE given
import a|2|no output file given
import -o b /no/such/file|3|/no/such/file: No such file
import --from heaptrack|2|no FILE given
import --from heaptrack a|2|no output file given
import --from heaptrack -o b /no/such/file|3|/no/such/file: No such file
import --from heaptrack -o b a c|2|expected one FILE
import --from emad|2|no FILE given
import --from emad a|2|no output file given
import --from emad --tick-ns 0 -o b a|2|must be 1 to 1000000000
import --from emad -o b /no/such/file|3|/no/such/file: No such file
import --from heaplog|2|no FILE given
import --from heaplog a|2|no output file given
import --from heaplog --tick-ns 0 -o b a|2|must be 1 to 1000000000
import --from heaplog -o b /no/such/file|3|/no/such/file: No such file
diff|2|expected two FILEs
diff a|2|expected a second FILE
diff --at peak a|2|--at must be given twice
diff --metric size a b|2|must be one of bytes
diff --tolerance much a b|2|must be a percentage
diff /no/such/file a|3|/no/such/file: No such file
check|2|no FILE given
check a|2|no limits given
check --max-peak much a|2|must be a size
check --max-growth 5 a|2|requires --baseline
check --format csv a|2|must be one of text
check --budget /no/such/file a|3|/no/such/file: No such file
check --max-kept 0 /no/such/file|3|/no/such/file: No such file
export --to heaplog --every 5 a|2|--every requires a file name
export --to heaplog --entries some a|2|must be one of all
export|2|no FILE given
fleet push|2|no store given
fleet push --to clickhouse://h/d|2|no TRACE given
fleet push --to clickhouse://h/d --label x a|2|expected KEY=VALUE
fleet push --to ftp://h/d a|2|a store must be clickhouse
fleet push --to clickhouse://h a|2|name of a database
fleet push --to clickhouse://h:0/d a|2|not a port
fleet|2|expected init
fleet dance|2|not 'dance'
fleet top|2|no store given
fleet top x --to clickhouse://h/d|2|takes no argument
fleet fetch --to clickhouse://h/d|2|no RUN given
run --spool x true|2|--spool requires --push
run --listen here --spool x true|2|--spool requires --push
run --listen here --push y --spool x --children true|2|--spool cannot be combined with --children
run --listen here --push y --spool x -o z true|2|--spool cannot be combined with -o
export a|2|no format given; use --to html
export --to morse a|2|must be one of html
export --to folded --metric weight a|2|must be one of bytes
export --to emad /no/such/file|3|/no/such/file: No such file
trace index|2|no FILE given
trace index /no/such/file|3|/no/such/file: No such file
findings --idle much a|2|must be a percentage
findings --idle 101 a|2|must be a percentage
findings /no/such/file|3|/no/such/file: No such file
excessive|2|no FILE given
excessive --k 1 a|2|--k must be 2 to 64
excessive --mu much a|2|--mu must be 0 or greater
excessive --wrappers a,,b a|2|--wrappers must be
excessive /no/such/file|3|/no/such/file: No such file
scores /no/such/file|3|/no/such/file: No such file
doctor now|2|unexpected argument 'now'
ctl|2|no PID and VERB given
ctl 1|2|no PID and VERB given
ctl one status|2|invalid process id 'one'
ctl 0 status|2|invalid process id '0'
ctl 99999999999 status|2|invalid process id
ctl 1 dance|2|unknown verb 'dance'; expected one of pause, resume, snapshot, scan, save, stop, join, status, dump
ctl 2147483647 status|3|there is no process 2147483647
run --toggle-signal KILL true|2|--toggle-signal: expected USR1
run --toggle-signal RTMIN+99 true|2|--toggle-signal: expected USR1
run --listen 127.0.0.1: true|3|has no port
run --listen here true|3|must be .ADDRESS:.PORT, such as
run --listen|2|listen
run|2|program
report /no/such/file|3|/no/such/file: No such file
trace dump /no/such/file|3|/no/such/file: No such file
trace info /no/such/file|3|/no/such/file: No such file
trace symbolize /no/such/file|3|/no/such/file: No such file
__complete tcsh|2|bash, zsh and fish
ROWS

while read -r command; do
	run_cli $command --help
	equal "status of $command --help" "$status" 0
	says "$work/stdout" "^usage: heapwise $command"
	cp "$work/stdout" "$work/help"
	run_cli help $command
	cmp -s "$work/stdout" "$work/help" || fail "help $command and $command --help differ"
	# every option has its place in the manual, limits in heapwise-limits(5)
	page=$HEAPWISE_SOURCE_DIR/man/heapwise-${command// /-}.1
	sed 's/\\-/-/g' "$page" >"$work/page"
	for option in $(sed '/^limits, also/,/^$/d' "$work/help" | grep -oE -- '--[a-z][a-z-]+' | sort -u); do
		grep -qF -- "$option" "$work/page" || fail "heapwise-$command(1) does not mention $option"
	done
done <<END
$(printf '%s\n' $commands c++)
$below
END

# Options of run are grouped, in the manual as in the help.
"$HEAPWISE" run --help | grep -E '^[A-Z][a-z ]+$' >"$work/groups"
equal "groups in heapwise-run(1)" "$(sed -n '/^.SH OPTIONS/,/^.SH "THE/s/^.SS //p' "$HEAPWISE_SOURCE_DIR/man/heapwise-run.1")" "$(cat "$work/groups")"
equal "first group of run" "$(head -1 "$work/groups")" "Output"

# A letter has one meaning in all commands.
printf '%s\n' $commands "$below" | while read -r command; do
	"$HEAPWISE" $command --help | sed -nE 's/^  -([a-zA-Z]), --([a-z-]+).*/\1 \2/p'
done | sort -u >"$work/letters"
equal "letters of two meanings" "$(cut -d' ' -f1 "$work/letters" | uniq -d | tr '\n' ' ')" ""

for pair in bash:bash/heapwise zsh:zsh/_heapwise fish:fish/heapwise.fish; do
	run_cli __complete "${pair%%:*}"
	equal "status of completion for ${pair%%:*}" "$status" 0
	cmp -s "$work/stdout" "$HEAPWISE_SOURCE_DIR/completions/${pair#*:}" ||
		fail "completions/${pair#*:} is out of date; run 'make completions'"
done
completed=$(bash -c '. "$1"; COMP_WORDS=(heapwise report --by ""); COMP_CWORD=3; _heapwise
	echo "${COMPREPLY[@]}"' - "$HEAPWISE_SOURCE_DIR/completions/bash/heapwise")
equal "completion of report --by" "$completed" "bytes peak kept temporary count"

completes()
{
	bash -c '. "$1"; shift; COMP_WORDS=(heapwise "$@"); COMP_CWORD=$#; _heapwise; echo "${COMPREPLY[@]}"' - \
		"$HEAPWISE_SOURCE_DIR/completions/bash/heapwise" "$@"
}
equal "completion of trace" "$(completes trace '')" "info dump symbolize index callgraph types-index"
equal "completion of trace info" "$(completes trace info --)" "--modules --format --no-pager --help"
equal "completion of fleet push" "$(completes fleet push --sp)" "--spool --spool-max"

# Limits come from a file, then from options; the default file is what is built in.
for limit in mu k floor seed; do
	run_cli excessive --help
	says "$work/stdout" "[ ,]--$limit(,|$)"
done
run_cli help limits
equal "status of help limits" "$status" 0
cmp -s "$work/stdout" "$HEAPWISE_SOURCE_DIR/docs/heapwise.limits" || fail "out of date: heapwise help limits >docs/heapwise.limits"
for name in $(sed -n 's/ = .*//p' "$work/stdout"); do
	grep -qF -- "BR ${name//-/\\-} " "$HEAPWISE_SOURCE_DIR/man/heapwise-limits.5" || fail "heapwise-limits(5) does not mention $name"
	"$HEAPWISE" findings --help | grep -qF -- "--$name " && fail "findings --help has --$name"
done
# mistakes: a line, what stderr says
while IFS='|' read -r line text; do
	printf '# first\n%s\n' "$line" >"$work/limits"
	run_cli findings --limits "$work/limits" /no/such/file
	equal "status of limits '$line'" "$status" 3
	says "$work/stderr" "$text"
done <<'ROWS'
idle = much|limits:2: idle must be a percentage from 0 to 100, not 'much'
idel = 3|limits:2: unknown limit 'idel'; did you mean 'idle'
top = 3|limits:2: unknown limit 'top'
idle|limits:2: expected 'name = value', not 'idle'
growth-min = 3 # of leaks|/no/such/file: No such file
 short-us=7|/no/such/file: No such file
ROWS
run_cli findings --limits /no/such/limits a
equal "status without limits" "$status" 3
says "$work/stderr" "/no/such/limits: No such file"

# Names of earlier versions do the same, and say the new one once.
while IFS='|' read -r old new; do
	run_cli $old /no/such/file
	grep -v "^heapwise: '${old%% *}' is now '" "$work/stderr" >"$work/said"
	equal "notes of '$old'" "$(($(wc -l <"$work/stderr") - $(wc -l <"$work/said")))" 1
	equal "note of '$old'" "$(head -1 "$work/stderr")" "heapwise: '${old%% *}' is now '${new% -o *}'"
	before=$status
	run_cli $new /no/such/file
	equal "status of '$old'" "$before" "$status"
	cmp -s "$work/stderr" "$work/said" || fail "'$old' and '$new' say different things"
done <<'ROWS'
info|trace info
dump|trace dump
symbolize|trace symbolize
index|trace index
callgraph|trace callgraph
types-index|trace types-index
push|fleet push
import-emad -o b|import --from emad -o b
import-heaplog -o b|import --from heaplog -o b
import-heaptrack -o b|import --from heaptrack -o b
ROWS

# A program or a trace without a command.
cd "$work" || exit 1
"$HEAPWISE" "$(command -v sh)" -c 'exit 7' >"$work/stdout" 2>"$work/stderr"
equal "status of a program without a command" "$?" 7
trace=$(ls heapwise.*.hwt)
says "$work/stderr" "$trace"
"$HEAPWISE" "$trace" -n 1 >"$work/short" 2>"$work/stderr" || fail "a trace without a command"
cmp -s "$work/short" <("$HEAPWISE" report "$trace" -n 1 2>/dev/null) || fail "a trace without a command is not reported"
floor() { "$HEAPWISE" excessive --format json "$@" "$trace" 2>/dev/null | jq .floor; }
echo 'floor = 25%' >quarter
equal "limits" "$(floor) $(floor --limits quarter) $(floor --floor 3 --limits quarter)" "0.01 0.25 0.03"
cp "$trace" plain
"$HEAPWISE" plain -n 1 >"$work/named" 2>"$work/stderr" || fail "a trace of another name"
"$HEAPWISE" . -n 1 >"$work/folder" 2>"$work/stderr" || fail "a folder of traces"
says "$work/folder" "$trace"
BROWSER=true timeout 60 "$HEAPWISE" "$trace" --open --timeout 1 2>"$work/stderr" || fail "--open"
says "$work/stderr" "serving 1 trace"
printf '#!/bin/sh\n' >here
chmod +x here
run_cli here
equal "status of a program of this folder" "$status" 2
says "$work/stderr" "type 'heapwise ./here'"

run_cli doctor
equal "status of doctor" "$status" 0
says "$work/stdout" "^  ok +recorder "
equal "states of doctor" "$("$HEAPWISE" doctor --format json | jq -r '[.rows[].state] - ["ok", "limited", "missing"] | length')" 0
equal "checks of doctor" "$("$HEAPWISE" doctor --format csv | wc -l)" 19
says "$work/stdout" "^  (ok|limited) +distribution +.*, glibc $(getconf GNU_LIBC_VERSION | cut -d' ' -f2): .*Debian 12 \(glibc 2.36\), Debian 13"
says "$work/stdout" "^  (ok|limited) +memory layout +pages of $(($(getconf PAGESIZE) / 1024)) KiB, addresses of [0-9]+ bits: "
# Every optional part: built, with its file, or not, and in both cases the package.
while IFS='|' read -r part file package; do
	"$HEAPWISE" doctor --format json | jq -r --arg part "$part" '.rows[] | select(.check == $part) | .state + ": " + .found + ": " + .follows' >"$work/part"
	if [ -e "$HEAPWISE_BUILD_DIR/$file" ]; then
		says "$work/part" "^ok: built with .*$package.*: .*$file"
	else
		says "$work/part" "^limited: not built: (install .*$package.* and build Heapwise again|does not compile: |left out by HEAPWISE_WITHOUT)"
	fi
done <<END
run --lisp ecl|libheapwise-lisp-ecl.so|libatomic-ops-dev
run --access valgrind|valgrind|valgrind
recording of musl programs|libheapwise-musl.so|musl-tools
END
says <("$HEAPWISE" doctor) "^  (ok +types-index +built with|limited +types-index +not built: (install|left out|does not compile)) .*"
mkdir "$work/alone"
cp "$HEAPWISE" "$work/alone/heapwise"
"$work/alone/heapwise" doctor >"$work/stdout"
says "$work/stdout" "^  limited +run --access valgrind +(built, but valgrind/heapwise-.* is not beside heapwise|not built)"

"$HEAPWISE" help >/dev/full 2>"$work/stderr"
equal "status with a full disk" "$?" 3
says "$work/stderr" "cannot write the result"
finish
