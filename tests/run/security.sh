#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# security.sh CASE   the claims of docs/SECURITY.md that no other test has: who may read what, names that others have
# taken, other users, programs that scribble over what they share with the monitor, and that nothing listens.
. "$(dirname "$0")/lib.sh"
target=$HEAPWISE_TARGETS/scribble

mode() { stat -L -c %a "$1"; }

# private WHAT FILE   only its owner may do anything with it
private()
{
	equal "mode of $1" "$(mode "$2")" "${3-600}"
}

# runs OPTION...   a program that stays, recorded in the background; $monitor, $program
runs()
{
	rm -f "$work/pid"
	"$HEAPWISE" run --no-symbols "$@" -- sh -c 'echo $$ >"$0"; exec sleep 60' "$work/pid" >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	until_true test -s "$work/pid"
	program=$(cat "$work/pid")
}

let_go()
{
	kill "$program"
	wait "$monitor"
}

# ---- files -----------------------------------------------------------------------------------

# Whatever the umask says.
case_modes()
{
	local fd found=0

	umask 000
	cd "$work" || exit 1
	runs -o a.hwt
	for fd in "/proc/$monitor/fd/"*; do
		case $(readlink "$fd") in
		*/memfd:heapwise*)
			private "shared memory $(readlink "$fd")" "$fd"
			found=$((found + 1))
			;;
		esac
	done
	at_least "pieces of shared memory" "$found" 2
	let_go
	private "a trace" a.hwt
	"$HEAPWISE" run --no-symbols --children -o all -- sh -c 'ls; :' >/dev/null 2>&1
	private "a folder of traces" all 700
	for file in all/*; do private "$file" "$file"; done
	"$HEAPWISE" run --no-symbols -- ls / >/dev/null 2>&1
	private "a trace without a name" "$(ls heapwise.ls.*.hwt)"
	"$HEAPWISE" trace index a.hwt >/dev/null 2>&1
	for file in $(find . -name '*.hwx' -o -name '*.index'); do private "an index" "$file"; done
	"$HEAPWISE-synth" --chunks 100 -o s.hwt >/dev/null 2>&1
	[ ! -e s.hwt ] || private "a trace that was made up" s.hwt
	# Where a file is already, its owner has decided.
	: >mine.hwt && chmod 640 mine.hwt
	"$HEAPWISE" run --no-symbols -o mine.hwt -- ls / >/dev/null 2>&1
	private "a file that was there" mine.hwt 640
}

# Names that can be guessed: a link that somebody put there is replaced and never followed.
case_links()
{
	local last

	needs python3
	cd "$work" || exit 1
	mkdir folder all
	echo precious >victim
	last=$(sh -c 'echo $$')
	python3 - "$last" <<-'PYTHON'
		import os, sys
		for pid in range(int(sys.argv[1]), int(sys.argv[1]) + 3000):
		    os.symlink("../victim", "folder/heapwise.ls.%d.hwt" % pid)
		    os.symlink("../victim", "all/ls.%d.hwt" % pid)
	PYTHON
	(cd folder && "$HEAPWISE" run --no-symbols -- ls / >/dev/null 2>&1) || fail "status $?"
	"$HEAPWISE" run --no-symbols --children -o all -- ls / >/dev/null 2>&1 || fail "status $?"
	equal "the file that links lead to" "$(cat victim)" precious
	if [ "$(sh -c 'echo $$')" -lt $((last + 3000)) ]; then
		equal "traces in the folder" "$(find folder -type f | wc -l)" 1
		equal "traces in the other" "$(find all -type f | wc -l)" 1
	fi
}

# ---- other users -----------------------------------------------------------------------------

# Two users that no other test beside this one is. As words of a command, so that $! is the number of what
# runs in the background.
user=$((60000 + $$ % 2000 * 2)) other=$((user + 1))
as_user=(setpriv --reuid=$user --regid=$user --clear-groups)
as_other=(setpriv --reuid=$other --regid=$other --clear-groups)

two_users()
{
	[ "$(id -u)" -eq 0 ] || skip "needs root, to be two other users"
	needs setpriv util-linux
	python=$(PATH=/usr/bin:/bin command -v python3) || lacks python3
	chmod 755 "$work"
	# The build may be where others may not go.
	mkdir "$work/bin" && cp "$HEAPWISE" "$(dirname "$HEAPWISE")"/libheapwise.so "$(dirname "$HEAPWISE")"/libheapwise-watch.so "$work/bin"
	install -d -o $user -g $user "$work/user"
	install -d -o $other -g $other "$work/other"
	rm -rf "/tmp/heapwise-$user"
	trap 'rm -rf "$work" "/tmp/heapwise-$user"' EXIT
	cd "$work/user" || exit 1
}

# One user records; another one gets at nothing of it.
case_users()
{
	local socket url

	two_users
	"${as_user[@]}" "$work/bin/heapwise" run --no-symbols --listen 0 -o "$work/user/t.hwt" -- sh -c 'echo $$ >"$0"; exec sleep 60' "$work/user/pid" \
		>"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	until_true test -s "$work/user/pid"
	program=$(cat "$work/user/pid")
	until_true grep -q "listening on" "$work/stderr"
	socket=/tmp/heapwise-$user/$monitor.sock
	until_true test -S "$socket"
	"${as_user[@]}" "$work/bin/heapwise" ctl "$program" status >"$work/status" 2>&1 || fail "its own user may not: $(cat "$work/status")"
	"${as_other[@]}" "$work/bin/heapwise" ctl "$program" pause >"$work/status" 2>&1
	equal "status of ctl by another user" "$?" 3
	says "$work/status" "another user"
	"${as_other[@]}" "$work/bin/heapwise" watch -p 0 2>/dev/null && fail "watch"
	"${as_other[@]}" "$python" - "$socket" "$work/user/t.hwt" "$monitor" "$program" <<-'PYTHON' || fail "another user got in"
		import os, socket, sys
		path, trace, monitor, program = sys.argv[1:]
		def refused(what, call):
		    try:
		        call()
		    except OSError as error:
		        assert error.errno in (1, 13), (what, error)
		        return
		    raise SystemExit("not refused: " + what)
		refused("the control socket", lambda: socket.socket(socket.AF_UNIX).connect(path))
		refused("the trace", lambda: open(trace, "rb"))
		for pid in (monitor, program):
		    refused("descriptors of " + pid, lambda: os.listdir("/proc/%s/fd" % pid))
		    for fd in range(64):
		        try:
		            os.stat("/proc/%s/fd/%d" % (pid, fd))
		        except OSError as error:
		            assert error.errno in (2, 13), error
		        else:
		            raise SystemExit("a descriptor can be reached")
		    refused("memory of " + pid, lambda: open("/proc/%s/mem" % pid, "rb"))
	PYTHON
	# Whoever passes the folder is asked who he is: root reaches the socket, and is another user.
	"$python" - "$socket" "$program" <<-'PYTHON' || fail "root is not refused"
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		try:
		    s.sendall(b"status %s\n" % sys.argv[2].encode())
		except BrokenPipeError:
		    pass # he does not even listen
		assert s.recv(100).startswith(b"error permission denied: only the user"), "answer"
	PYTHON
	# The loopback is everybody's: the token is not.
	url=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$work/stderr" | head -1)
	equal "status without a token" "$("${as_other[@]}" "$python" -c '
import sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen(sys.argv[1] + "/status").status)
except urllib.error.HTTPError as error:
    print(error.code)' "$url")" 403
	kill "$program"
	wait "$monitor"
}

# Another user was there first: a folder, or a link, by the name that ours would have.
case_squatted()
{
	local kind fake folder=$work/other/bait

	two_users
	[ ! -d "/run/user/$user" ] || skip "there is a /run/user/$user"
	for kind in folder open link; do
		rm -rf "/tmp/heapwise-$user" "$folder"
		case $kind in
		folder) "${as_other[@]}" mkdir -m 700 "/tmp/heapwise-$user"; folder=/tmp/heapwise-$user ;;
		open) "${as_other[@]}" mkdir -m 777 "/tmp/heapwise-$user" && chmod 777 "/tmp/heapwise-$user"; folder=/tmp/heapwise-$user ;;
		link) folder=$work/other/bait; "${as_other[@]}" mkdir -m 777 "$folder" && chmod 777 "$folder" && "${as_other[@]}" ln -s "$folder" "/tmp/heapwise-$user" ;;
		esac
		# Says yes to whatever it is asked.
		"${as_other[@]}" "$python" - "$folder/1.sock" "$work/other/asked" <<-'PYTHON' &
			import os, socket, sys
			s = socket.socket(socket.AF_UNIX)
			s.bind(sys.argv[1])
			os.chmod(sys.argv[1], 0o777)
			s.listen(1)
			s.settimeout(60)
			c = s.accept()[0]
			open(sys.argv[2], "wb").write(c.recv(100))
			c.sendall(b"ok\nstate paused\n")
		PYTHON
		fake=$!
		until_true test -S "$folder/1.sock"
		rm -f "$work/user/pid"
		"${as_user[@]}" "$work/bin/heapwise" run --no-symbols -o "$work/user/t.hwt" -- sh -c 'echo $$ >"$0"; exec sleep 60' "$work/user/pid" \
			>"$work/stdout" 2>"$work/stderr" &
		monitor=$!
		until_true test -s "$work/user/pid"
		program=$(cat "$work/user/pid")
		"${as_user[@]}" "$work/bin/heapwise" ctl "$program" status >"$work/status" 2>&1 && fail "$kind: ctl believes somebody else: $(cat "$work/status")"
		[ ! -e "$work/other/asked" ] || fail "$kind: somebody else was asked"
		equal "sockets in the folder of somebody else ($kind)" "$(ls "$folder")" "1.sock"
		kill "$program" "$fake"
		wait "$monitor" "$fake" 2>/dev/null
		whole "$work/user/t.hwt"
		rm -f "$work/user/t.hwt"*
	done
}

# An index of another user's is not read, but made anew.
case_index()
{
	[ "$(id -u)" -eq 0 ] || skip "needs root, to give a file away"
	"$HEAPWISE" run -q --no-symbols -o "$work/t.hwt" -- ls / >/dev/null
	"$HEAPWISE" trace index --no-symbols "$work/t.hwt" 2>"$work/stderr"
	"$HEAPWISE" trace index --no-symbols "$work/t.hwt" 2>"$work/stderr"
	says "$work/stderr" "is up to date"
	chown $other "$work/t.hwt.index"
	"$HEAPWISE" trace index --no-symbols "$work/t.hwt" 2>"$work/stderr"
	says "$work/stderr" "index written"
	equal "whose it is" "$(stat -c %u "$work/t.hwt.index")" 0
}

# ---- networks --------------------------------------------------------------------------------

# Nothing is connected to but what the user names. Calls of heapwise and its libraries are noted.
case_silent()
{
	cat >"$work/note.c" <<-'C'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <fcntl.h>
	#include <stdlib.h>
	#include <sys/socket.h>
	#include <unistd.h>
	int connect(int fd, const struct sockaddr *to, socklen_t bytes)
	{
		int (*next)(int, const struct sockaddr *, socklen_t) =
			(int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
		int noted = to->sa_family == AF_UNIX ? -1 : open(getenv("NOTED"), O_WRONLY | O_CREAT | O_APPEND, 0600);

		if (noted >= 0 && write(noted, "connect\n", 8) == 8)
			close(noted);
		return next(fd, to, bytes);
	}
	C
	gcc -shared -fPIC -o "$work/note.so" "$work/note.c" -ldl || { fail "cannot be built"; finish; }
	noted() { NOTED=$work/noted LD_PRELOAD=$work/note.so "$@" >"$work/out" 2>"$work/stderr"; }
	noted env -u DEBUGINFOD_URLS "$HEAPWISE" run -o "$work/t.hwt" -- ls / || fail "run: status $?"
	noted env -u DEBUGINFOD_URLS "$HEAPWISE" report "$work/t.hwt" || fail "report: status $?"
	noted env -u DEBUGINFOD_URLS "$HEAPWISE" export --to html -o "$work/page.html" "$work/t.hwt" || fail "export: status $?"
	noted env -u DEBUGINFOD_URLS "$HEAPWISE" doctor
	[ ! -e "$work/noted" ] || fail "somebody was connected to"
	noted "$HEAPWISE" fleet push --to pprof+http://127.0.0.1:1 "$work/t.hwt"
	[ -s "$work/noted" ] || fail "a push is not noted either"
}

# ---- programs --------------------------------------------------------------------------------

# ended WHAT STATUS   by the program's own end, and with a trace that was closed. What is loaded into a program that is watched
# has a thread there, which garbage may well kill, and the program with it.
ended()
{
	local closed

	[ "$2" -ne 0 ] || return 0
	closed=$("$HEAPWISE" trace info --format json "$work/t" 2>/dev/null | jq .closed)
	case "$1 $closed" in
	*"(watch) true") ;;
	*) fail "status of $1 is $2" ;;
	esac
}

# scribbles HOW FIRST LAST   the program ends with 0 and so must its monitor; what was written can be read, or is said to be
# damaged
scribbles()
{
	local seed options=(run run-children watch)

	for ((seed = $2; seed <= $3; seed++)); do
		rm -rf "$work/t" "$work/t.json"
		case ${options[seed % 3]} in
		run) "$HEAPWISE" run --no-symbols -o "$work/t" -- "$target" "$1" "$seed" 1500 ;;
		run-children) "$HEAPWISE" run --no-symbols --children -o "$work/t" -- "$target" "$1" "$seed" 1500 ;;
		watch) "$HEAPWISE" watch --batch 0 -o "$work/lines" --trace "$work/t" -- "$target" "$1" "$seed" 1500 ;;
		esac >"$work/stdout" 2>"$work/stderr"
		ended "$1 $seed (${options[seed % 3]})" "$?"
		for trace in "$work/t"/*.hwt "$work/t"; do
			[ -f "$trace" ] || continue
			"$HEAPWISE" report --no-symbols "$trace" >"$work/report" 2>"$work/errors"
			at_most "status of report after $1 $seed" "$?" 3
		done
	done
}

# A variable that was left behind and names whatever has that name now: the program runs as without it.
case_stale()
{
	local recorder kind

	: >"$work/empty"
	head -c 100 /dev/zero >"$work/short"
	head -c 4000000 /dev/zero >"$work/long"
	mkdir "$work/folder"
	mkfifo "$work/fifo"
	for recorder in libheapwise.so libheapwise-access.so libheapwise-watch.so; do
		for kind in empty short long folder fifo missing; do
			HEAPWISE_SESSION=$work/$kind LD_PRELOAD=$(preloadable "$(dirname "$HEAPWISE")/$recorder") timeout 20 "$HEAPWISE_TARGETS/empty" 2>"$work/stderr"
			equal "$recorder, $kind: status" "$?" 7
			equal "$recorder, $kind: what it says" "$(cat "$work/stderr")" ""
		done
	done
}

case_garbage() { scribbles garbage "${2-1}" "${3-6}"; }
case_records() { scribbles records "${2-1}" "${3-6}"; }
case_lobby() { scribbles lobby "${2-1}" "${3-6}"; }
case_shrink() { scribbles shrink "${2-1}" "${3-3}"; }

# What comes after such a record is lost, and said to be.
case_damaged()
{
	local seed

	for ((seed = 1; seed <= 10; seed++)); do
		"$HEAPWISE" run --no-symbols -o "$work/t" -- "$target" records "$seed" 1500 >"$work/stdout" 2>"$work/stderr"
		! grep -q 'INCOMPLETE: the recorder.s memory in the program was damaged' "$work/stderr" || return
	done
	fail "damaged records are not said"
}

case_seeds()
{
	for how in garbage records lobby shrink; do scribbles $how 1000 1099; done
}

# ---- network ---------------------------------------------------------------------------------

# sockets PID   protocol and local address of each of its sockets that is one of the network's
sockets()
{
	local inode

	for inode in $(readlink "/proc/$1/fd/"* 2>/dev/null | sed -n 's/^socket:\[\([0-9]*\)\]$/\1/p'); do
		awk -v inode="$inode" '$10 == inode { split(FILENAME, part, "/"); print part[4], $2 }' \
			/proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null
	done
}

case_listens()
{
	runs -o "$work/t"
	equal "sockets of run" "$(sockets "$monitor")$(sockets "$program")" ""
	let_go
	runs -o "$work/t" --listen 0
	equal "sockets of run --listen" "$(sockets "$monitor" | sed 's/:.*//')" "tcp 0100007F"
	equal "sockets of the program" "$(sockets "$program")" ""
	let_go
	"$HEAPWISE" serve --print-url "$work/t" >"$work/url" 2>"$work/stderr" &
	server=$!
	until_true test -s "$work/url"
	equal "sockets of serve" "$(sockets "$server" | sed 's/:.*//' | sort -u)" "tcp 0100007F"
	kill -INT "$server"
	wait "$server"
	"$HEAPWISE" serve --socket "$work/s" --print-url "$work/t" >"$work/url" 2>"$work/stderr" &
	server=$!
	until_true test -S "$work/s"
	until_true test -s "$work/url"
	equal "sockets of serve --socket" "$(sockets "$server")" ""
	private "the socket" "$work/s"
	kill -INT "$server"
	wait "$server"
}

# ---- terminals and words ---------------------------------------------------------------------

# Names out of a trace are text: no terminal obeys them.
# harmless FILE...   no control characters, of Unicode none that end a line, hide or turn what follows round, and whole UTF-8
harmless()
{
	python3 - "$@" <<-'PY' || fail "what is printed is not harmless"
		import sys
		wrong = False
		for path in sys.argv[1:]:
		    try:
		        text = open(path, "rb").read().decode("utf-8")
		    except UnicodeDecodeError as error:
		        text = "\x80"
		    bad = sorted({c for c in text if (c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" or c in "\u061c\u200b\u200e\u200f\u2028\u2029\ufeff"
		                  or "\u202a" <= c <= "\u202e" or "\u2060" <= c <= "\u206f" or "\U000e0000" <= c <= "\U000e007f"})
		    if bad or not text:
		        print(f"{path}: {'has ' + ascii(bad) if text else 'is empty'}")
		        wrong = True
		sys.exit(wrong)
	PY
}

# Names of functions, files and programs that would write to the terminal, turn text round (U+202E) or hide some of it.
case_escapes()
{
	local program=$work/$'evil\033[5m\342\200\256\377\302\233' torn=$work/$'\033[31m\342\200\256\377.hwt' command format out=$work/printed
	cat >"$work/name.h" <<-'C'
		void f(void) __asm__("\"\033]0;title\007\033[31m\302\233red\342\200\256txet\342\201\246\377\342\200\250\363\240\201\201\"");
	C
	cat >"$work/evil.c" <<-'C'
		#include <stdlib.h>
		#include "name.h"
		void *volatile keep;
		void f(void) { keep = malloc(100); keep = 0; }
	C
	cat >"$work/main.c" <<-'C'
		#include <unistd.h>
		#include "name.h"
		#line 7 "/tmp/file\033[32m\342\200\256c.\377\342\200\217"
		int main(int argc, char **argv) { for (int i = 0; i < 20; i++) f(); return argc > 2 && sleep(*argv[2] - '0'); }
	C
	gcc -O0 -c "$work/evil.c" -o "$work/evil.o" 2>"$work/gcc" && gcc -g -O0 -fno-pie -no-pie "$work/main.c" "$work/evil.o" -o "$program" 2>"$work/gcc" ||
		skip "the assembler does not take such names"
	mkdir "$out"
	"$HEAPWISE" run -o "$work/t.hwt" -- "$program" $'argument\342\200\256\033[1m' >"$out/run" 2>&1
	for format in text json csv; do
		for command in report leaks findings mprof "trace info" "trace dump" "trace dump --stacks" "trace callgraph" scores types excessive "diff $work/t.hwt"; do
			"$HEAPWISE" $command --format $format "$work/t.hwt" >"$out/${command%% /*}.$format" 2>&1
		done
		"$HEAPWISE" query --stacks --format $format "$work/t.hwt" all >"$out/query.$format" 2>&1
	done
	for format in folded callgrind massif dot dhat csv jsonl speedscope heaplog; do
		"$HEAPWISE" export --to "$format" -o "$out/export.$format" "$work/t.hwt" >"$work/out" 2>&1 || fail "export $format: $(cat "$work/out")"
	done
	for format in text json github junit sarif; do
		"$HEAPWISE" check --max-bytes 1 --format $format "$work/t.hwt" >"$out/check.$format" 2>&1
		equal "exit status of check --format $format" "$?" 1
	done
	"$HEAPWISE" watch --policy all --leak-after 1s --interval 250 -o "$out/watch" -- "$program" stays 3 2>"$work/stderr"
	says "$out/watch" "red.txet"
	head -c -100 "$work/t.hwt" >"$torn"
	"$HEAPWISE" report "$torn" >"$out/torn" 2>&1
	"$HEAPWISE" report "$torn.none" >"$out/none" 2>&1
	harmless "$out"/*
	at_least "lines" "$(cat "$out"/* | wc -l)" 40
	# What JSON says is the name itself.
	equal "names in JSON" "$("$HEAPWISE" report --format json "$work/t.hwt" | jq -c '[.. | strings | select(contains("\u202etxet"))] | length > 0')" true
}

# Each test that the page names is there.
case_claims()
{
	# In a folder of its own: in the build folder ctest would write over the log of the run that this test is part of.
	mkdir "$work/list"
	echo "subdirs([==[$HEAPWISE_BUILD_DIR]==])" >"$work/list/CTestTestfile.cmake"
	ctest --test-dir "$work/list" -N | sed -n 's/^ *Test *#[0-9]*: //p' | sort >"$work/tests"
	grep -oE '`(run|unit|asan|web|cli|fuzz)\.[a-z0-9_-]+`' "$HEAPWISE_SOURCE_DIR/docs/SECURITY.md" | tr -d '`' | sort -u >"$work/named"
	at_least "tests that are named" "$(wc -l <"$work/named")" 20
	equal "named, and not there" "$(comm -13 "$work/tests" "$work/named" | paste -sd' ')" ""
}

run_case "${1-}"
finish
