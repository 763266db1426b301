#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# serve.sh CASE   traces over HTTP (heapwise serve): every endpoint, numbers that equal those of the
# commands, and clients who may not, or who misbehave.
. "$(dirname "$0")/lib.sh"
needs curl
needs python3

here=$(cd "$(dirname "$0")" && pwd)
export XDG_CONFIG_HOME=$work/config

# serve [OPTION...] TRACE...   in the background; $server, $base, $token, $host
serve()
{
	rm -f "$work/url"
	"$HEAPWISE" serve --print-url "$@" >"$work/url" 2>"$work/stderr" &
	server=$!
	until_true test -s "$work/url"
	url=$(cat "$work/url")
	base=${url%%/\?token=*}
	token=${url#*token=}
	host=${base#http://}
	export SERVE_URL=$url
}

# end   by SIGINT, as Ctrl-C does it
end()
{
	kill -INT "$server"
	wait "$server"
	equal "exit status" "$?" 0
}

# get PATH [CURL_OPTION...]   as who may; prints the status, body in $work/body
get()
{
	: >"$work/body"
	curl -s -m 20 -o "$work/body" -D "$work/headers" -w '%{http_code}' -H "Authorization: Bearer $token" \
		"${@:2}" "$base$1"
}

# plain PATH [CURL_OPTION...]   without any header of ours
plain()
{
	: >"$work/body"
	curl -s -m 20 -o "$work/body" -D "$work/headers" -w '%{http_code}' "${@:2}" "$base$1"
}

ready()
{
	[ "$(get /api/v1/status)" = 200 ] && [ "$(value '[.data.traces[].state] | index("indexing")')" = null ]
}

value() { jq -r "$1" "$work/body"; }

# refused WHAT GOT WANTED CODE   the status, and an error that has this code
refused()
{
	equal "status of $1" "$2" "$3"
	equal "code of $1" "$(jq -r '.error.code' "$work/body" 2>&1)" "$4"
}

# Threads that free each other's chunks.
record_threads() { record "$1" -- "$HEAPWISE_TARGETS/threads" 4 300; }

case_endpoints()
{
	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	until_true ready
	python3 "$here/serve_check.py" endpoints || fail "endpoints"
	end
}

# What the commands print and what the API answers are the same numbers.
case_parity()
{
	local program
	for program in "threads 4 300" wastes containers; do
		record "$work/a.hwt" -- "$HEAPWISE_TARGETS/"$program >/dev/null
		serve "$work/a.hwt"
		until_true ready
		python3 "$here/serve_check.py" parity "$work/a.hwt" || fail "parity of $program"
		end
		rm -f "$work"/a.hwt*
	done
}

# A chunk has one type, whoever asks: those that source lines name, none by size alone, several of one point.
case_types()
{
	g++ -g -O1 -o "$work/sizes" "$here/../targets/types_sizes.cpp" || { fail "cannot build"; finish; }
	"$HEAPWISE" run -q -o "$work/a.hwt" "$work/sizes" >/dev/null 2>&1
	serve "$work/a.hwt"
	until_true ready
	python3 "$here/serve_check.py" types "$work/a.hwt" || fail "types"
	end
}

# Who holds what, of a heap whose pointers are known; and of a trace that has none.
case_owners()
{
	"$HEAPWISE" run -q --owners -o "$work/a.hwt" -- "$HEAPWISE_TARGETS/owners" >/dev/null
	record_threads "$work/b.hwt"
	serve "$work/a.hwt" "$work/b.hwt"
	until_true ready
	python3 "$here/serve_check.py" owners "$work/a.hwt" || fail "owners"
	refused "owners of a trace without pointers" "$(get "/api/v1/owners?trace=b.hwt")" 400 bad_request
	equal "what it says" "$(value .error.message)" "the trace has no owners; record with 'heapwise run --owners PROGRAM'"
	refused "a path to nothing" "$(get /api/v1/owners/path)" 400 bad_request
	refused "a path to an unknown chunk" "$(get "/api/v1/owners/path?chunk=1000000")" 400 bad_request
	refused "a path to an unknown owner" "$(get "/api/v1/owners/path?shape=1000000")" 400 bad_request
	refused "a path to the program" "$(get "/api/v1/owners/path?shape=0")" 400 bad_request
	equal "at a time" "$(get "/api/v1/owners?at=1"; value ".data.live_chunks > 0")" 200true
	refused "a moment that is none" "$(get "/api/v1/owners?at=never")" 400 bad_request
	refused "a share above 1" "$(get "/api/v1/owners?min=2")" 400 bad_request
	end
}

# What weighs in the flame graph only if the kernel or the leak scan was asked: resident and lost bytes.
case_metrics()
{
	local program
	[ -r /proc/self/smaps_rollup ] && [ -r /proc/self/pagemap ] || skip "this kernel does not tell where memory is"
	for program in resident "leaks lists"; do
		record "$work/a.hwt" -- "$HEAPWISE_TARGETS/"$program >/dev/null
		serve "$work/a.hwt"
		until_true ready
		python3 "$here/serve_check.py" metrics "$work/a.hwt" || fail "metrics of $program"
		end
		rm -f "$work"/a.hwt*
	done
	"$HEAPWISE-synth" --chunks 1k --points 5 -o "$work/s.hwt" >"$work/out" 2>&1 || fail "synth"
	serve "$work/s.hwt"
	until_true ready
	refused "resident of a trace without looks" "$(get "/api/v1/flame?metric=resident")" 400 bad_request
	refused "lost of a trace without a scan" "$(get "/api/v1/flame?metric=lost")" 400 bad_request
	equal "caps" "$(get /api/v1/trace; value '.data.caps | "\(.resident) \(.lost)"')" "200false false"
	end
}

# The same with accesses and types in the trace; and all of it once more of parts of it, for commands and API alike.
case_parts()
{
	"$HEAPWISE-synth" --chunks 20k --points 200 --types 40 --access -o "$work/s.hwt" >"$work/out" 2>&1 || fail "synth"
	record_threads "$work/t.hwt"
	"$HEAPWISE" c++ -g -O1 "$HEAPWISE_SOURCE_DIR/tests/targets/containers.cpp" -o "$work/containers" 2>"$work/cc" &&
		"$HEAPWISE" run -q --access exact --coverage -o "$work/a.hwt" -- "$work/containers" >"$work/out" 2>&1
	for trace in s t a; do
		[ -e "$work/$trace.hwt" ] || { echo "no compiler for instrumented code: $(head -3 "$work/cc")"; continue; }
		serve "$work/$trace.hwt"
		until_true ready
		python3 "$here/serve_check.py" parity "$work/$trace.hwt" || fail "parity of $trace"
		python3 "$here/serve_check.py" parts "$work/$trace.hwt" || fail "parts of $trace"
		end
	done
}

# Views of a selection add up to what the query language says of it.
case_selections()
{
	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	until_true ready
	python3 "$here/serve_check.py" selections "$work/a.hwt" || fail "selections"
	end
}

# Views beside those of another trace: a shorter run of the same program, and another program.
case_base()
{
	local other
	record_threads "$work/a.hwt"
	record "$work/b.hwt" -- "$HEAPWISE_TARGETS/threads" 3 100
	record "$work/c.hwt" -- "$HEAPWISE_TARGETS/containers" >/dev/null
	for other in b c; do
		serve "$work/a.hwt" "$work/$other.hwt"
		until_true ready
		python3 "$here/serve_check.py" base || fail "beside $other"
		end
	done
}

# What realloc made of chunks, colours of queries, and memory that nobody used.
case_details()
{
	cat >"$work/realloc.c" <<-'C'
		#include <stdlib.h>
		#include <string.h>
		static char *grow(void)
		{
			char *p = malloc(32);
			for (int i = 2; i < 8; i++)
				memset(p = realloc(p, 16u << i), i, 16u << i);
			return p;
		}
		int main(void)
		{
			char *a = grow(), *b = grow(), *c = malloc(10);
			c = realloc(c, 100000);
			free(a);
			b = realloc(b, 5);
			free(c);
			return strlen(strdup("no chain")) + b[0] == 1;
		}
	C
	gcc -g -O0 "$work/realloc.c" -o "$work/realloc" || fail "gcc cannot build realloc.c"
	record "$work/a.hwt" -- "$work/realloc"
	serve "$work/a.hwt"
	until_true ready
	python3 "$here/serve_check.py" details "$work/a.hwt" || fail "details"
	end
	"$HEAPWISE-synth" --chunks 15k --points 50 --access -o "$work/s.hwt" >"$work/out" 2>&1 || fail "synth"
	serve "$work/s.hwt"
	until_true ready
	python3 "$here/serve_check.py" idle || fail "idle memory"
	end
	# Libraries start before the program does, in the same thread.
	echo '__attribute__((constructor)) void library_start(void) { for (int i = 0; i < 100; i++) __builtin_malloc(16); }' >"$work/early.c"
	echo 'void library_start(void); int main(void) { char *volatile own = __builtin_malloc(5); (void)own; return 0; }' >"$work/late.c"
	gcc -g -O0 -shared -fPIC -o "$work/libearly.so" "$work/early.c" &&
		gcc -g -O0 -Wl,--no-as-needed -o "$work/late" "$work/late.c" -L"$work" -learly -Wl,-rpath,"$work" || fail "cannot build a library"
	record "$work/l.hwt" -- "$work/late"
	serve "$work/l.hwt"
	until_true ready
	get /api/v1/threads >"$work/status"
	equal "where the first thread begins" "$(value '.data.rows[0].begins_in')" main
	end
}

# Columns, pages, lines and costs; functions that call each other; a report with the same answers.
case_more()
{
	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	until_true ready
	python3 "$here/serve_check.py" more || fail "more of threads"
	"$HEAPWISE" export --to html -o "$work/a.html" "$work/a.hwt" || fail "export"
	python3 "$here/serve_check.py" report_file "$work/a.html" || fail "a report"
	end
	"$HEAPWISE-synth" --chunks 5k --points 60 --types 9 --access -o "$work/s.hwt" >"$work/out" 2>&1 || fail "synth"
	serve "$work/s.hwt"
	until_true ready
	python3 "$here/serve_check.py" more || fail "more of a synthetic trace"
	"$HEAPWISE" export --to html --max-mb 0 -o "$work/s.html" "$work/s.hwt" || fail "export"
	python3 "$here/serve_check.py" report_file "$work/s.html" || fail "a report of a synthetic trace"
	end
	cat >"$work/cycles.c" <<-'C'
		#include <stdlib.h>
		#define APART __attribute__((noinline, noclone))
		void *volatile kept;
		void pong(int n);
		APART void ping(int n) { kept = malloc(10); if (n) pong(n - 1); __asm__(""); }
		APART void pong(int n) { kept = malloc(20); if (n) ping(n - 1); __asm__(""); }
		APART void deep(int n) { kept = malloc(30); if (n) deep(n - 1); __asm__(""); }
		APART void plain(void) { kept = malloc(40); __asm__(""); }
		int main(void) { ping(6); deep(5); plain(); __asm__(""); return 0; }
	C
	gcc -g -O0 "$work/cycles.c" -o "$work/cycles" || fail "gcc cannot build cycles.c"
	record "$work/c.hwt" -- "$work/cycles"
	serve "$work/c.hwt"
	until_true ready
	python3 "$here/serve_check.py" cycles || fail "cycles"
	end
}

# What a report has in it, and how large it is, is the user's choice.
case_report()
{
	local size
	record "$work/a.hwt" -- "$HEAPWISE_TARGETS/containers" >/dev/null
	keys() { grep -o 'data-k="[^"]*"' "$work/r.html" | sort; }
	report() { "$HEAPWISE" export --to html -o "$work/r.html" "$@" "$work/a.hwt" 2>"$work/stderr"; }
	report || fail "export"
	! keys | grep -q /source || fail "source text without being asked for"
	report --views flame,types || fail "views"
	equal "views" "$(keys | grep -cE '"/(points|threads|mprof|chunks|emad|overview)')" 0
	[ "$(keys | grep -c '"/flame')" -gt 5 ] || fail "no flame graphs"
	report --views flame,nothing; equal "status of a view that is none" "$?" 2
	report --source lines --source-folder "$HEAPWISE_SOURCE_DIR" || fail "lines"
	keys | grep -q '"/source?file=0&from=1&to=2000"' || fail "no lines"
	size=$(stat -c %s "$work/r.html")
	report --source files --source-folder "$HEAPWISE_SOURCE_DIR" || fail "files"
	[ "$(stat -c %s "$work/r.html")" -gt "$size" ] || fail "files are no more than lines"
	report --max-mb 1 || fail "size"
	at_most "bytes of a report of a MB" "$(stat -c %s "$work/r.html")" 1000100
	report --where 'all | where size >= 100' || fail "query"
	report --where 'all | where sise > 3'; equal "status of a wrong query" "$?" 2
	says "$work/stderr" "unknown field 'sise'"
}

# A socket in the file system is for its owner; a folder's traces can be opened, and no others.
case_socket()
{
	local socket=$work/s.sock
	record_threads "$work/a.hwt"
	mkdir -p "$work/more/below"
	record "$work/more/below/b.hwt" -- "$HEAPWISE_TARGETS/containers" >/dev/null
	ln -s "$work/a.hwt" "$work/more/link.hwt"
	mkfifo "$work/more/pipe.hwt"
	through() { curl -s -m 20 -o "$work/body" -w '%{http_code}' --unix-socket "$socket" -H "Authorization: Bearer $token" -H "X-Heapwise: 1" "$@"; }
	open_trace() { through -X POST -d "{\"path\": \"$1\"}" http://localhost/api/v1/traces; }
	serve --socket "$socket" --folder "$work/more" "$work/a.hwt"
	equal "mode of the socket" "$(stat -c %a "$socket")" 600
	equal "address" "$url" "http://localhost/?token=$token"
	ready_through() { [ "$(through http://localhost/api/v1/status)" = 200 ] && [ "$(value .data.state)" = ready ]; }
	until_true ready_through
	equal "status through the socket" "$(through http://localhost/api/v1/overview)" 200
	refused "another host" "$(through http://example.org/api/v1/status)" 421 wrong_host
	token=0$token
	refused "another token" "$(through http://localhost/api/v1/status)" 401 no_token
	token=${token#0}
	for path in ../a.hwt link.hwt below pipe.hwt "$work/a.hwt" /etc/passwd none.hwt below/../../a.hwt; do
		refused "the trace $path" "$(open_trace "$path")" 404 not_found
	done
	refused "no trace" "$(open_trace "")" 400 bad_request
	equal "a trace below" "$(open_trace below/b.hwt)" 200
	until_true ready_through
	equal "traces" "$(value '[.data.traces[].name] | join(" ")')" "a.hwt b.hwt"
	id=$(value '.data.traces[1].id')
	equal "the same once more" "$(open_trace ./below/../below/b.hwt)" 200
	equal "its id" "$(value .data.id)" "$id"
	equal "status of the new one" "$(through "http://localhost/api/v1/overview?trace=$id&top=1")" 200
	kill -KILL "$server"; wait "$server" 2>/dev/null
	[ -S "$socket" ] || fail "the socket of a server that was killed is gone"
	serve --socket "$socket" "$work/a.hwt" # takes its place
	refused "a folder that was not named" "$(open_trace below/b.hwt)" 404 not_found
	"$HEAPWISE" serve --socket "$socket" "$work/a.hwt" 2>"$work/second"
	equal "status of a second server" "$?" 3
	says "$work/second" "the file already exists"
	"$HEAPWISE" serve --socket "$work/a.hwt" "$work/a.hwt" 2>"$work/second"
	equal "status where a file is" "$?" 3
	[ -s "$work/a.hwt" ] || fail "a file was replaced"
	end
	[ ! -e "$socket" ] || fail "the socket is left"
}

# allow FILE FOLDER   as the page does it when its user says so; prints the status
allow() { get /api/v1/source -X POST -H "X-Heapwise: 1" -d "{\"file\":$1,\"folder\":\"$2\"}"; }
# shown FILE   whether the text is, and the folder that is asked for
shown() { get "/api/v1/source?file=$1" >"$work/code" && value '"\(.data.found) \(.data.asks) \([.data.lines[].text | strings] | length > 0)"'; }

# A trace names any file: it is shown when its folder was named by the user, or allowed, and then without following links out of it.
case_sources()
{
	local real=$(realpath "$work") link secret mine
	mkdir "$work/secret" "$work/mine"
	printf 'root:SECRET:1\n\n\n\n\n\n\n\n\n\n\n' | tee "$work/secret/shadow" >"$work/mine/own.c"
	ln -s ../secret/shadow "$work/mine/zlink.c"
	for file in secret/shadow mine/own.c mine/zlink.c; do
		printf '#line 1 "%s"\nvoid %s(void) { block = malloc(9); }\n' "$work/$file" "$(basename "$file" .c)"
	done >"$work/calls.h"
	printf '#include <stdlib.h>\nvoid *volatile block;\n#include "calls.h"\n#line 1 "/main.c"\nint main(void) { shadow(); own(); zlink(); return 0; }\n' >"$work/naming.c"
	gcc -g -O0 -fno-builtin -o "$work/naming" "$work/naming.c" || fail "gcc"
	record "$work/a.hwt" -- "$work/naming"
	serve "$work/a.hwt"
	until_true ready
	get "/api/v1/files" >"$work/code"
	secret=$(value '.data.rows[] | select(.file | endswith("secret/shadow")).id')
	mine=$(value '.data.rows[] | select(.file | endswith("own.c")).id')
	link=$(value '.data.rows[] | select(.file | endswith("zlink.c")).id')
	equal "a file that was not allowed" "$(shown "$secret")" "false $real/secret false"
	! grep -q SECRET "$work/body" || fail "its text is in the answer"
	refused "another folder" "$(allow "$mine" "$real/secret")" 400 bad_request
	refused "the folder above" "$(allow "$mine" "$real")" 400 bad_request
	refused "no folder" "$(allow "$mine" "")" 400 bad_request
	refused "no such file" "$(allow 999 "$real/mine")" 400 bad_request
	refused "a page of another site" "$(get /api/v1/source -X POST -d "{\"file\":$mine,\"folder\":\"$real/mine\"}")" 403 forbidden
	equal "a file before it was allowed" "$(shown "$mine")" "false $real/mine false"
	equal "status of allowing" "$(allow "$mine" "$real/mine")" 200
	equal "a file that was allowed" "$(shown "$mine")" "true null true"
	equal "a link out of the folder" "$(shown "$link")" "false $real/secret false"
	equal "another folder afterwards" "$(shown "$secret")" "false $real/secret false"
	end
	serve --source-folder "$work/mine" --editor "touch $work/edited %f" "$work/a.hwt"
	until_true ready
	equal "a file below a folder that was named" "$(shown "$mine")" "true null true"
	equal "one that is not" "$(shown "$secret")" "false $real/secret false"
	refused "the editor" "$(get /api/v1/open -X POST -H "X-Heapwise: 1" -d "{\"file\":$secret}")" 403 forbidden
	[ ! -e "$work/edited" ] || fail "the editor was started"
	end
	"$HEAPWISE" serve --source-folder "$work/nowhere" "$work/a.hwt" 2>"$work/stderr"
	equal "exit status with a folder that is not there" "$?" 3
	says "$work/stderr" "cannot open the folder .*/nowhere"
	"$HEAPWISE" export --to html --source files --source-folder "$work/mine" -o "$work/r.html" "$work/a.hwt" 2>"$work/stderr" || fail "export"
	says "$work/stderr" "source text was left out.*--source-folder: $real/secret$"
	"$HEAPWISE" export --to html --source files --source-folder "$work" -o "$work/all.html" "$work/a.hwt" 2>"$work/stderr" || fail "export of all"
	equal "lines of an export of all" "$(wc -l <"$work/stderr")" 0
}

# POST /open starts the editor that the user chose, with files that the trace names.
case_open()
{
	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	until_true ready
	refused "open without an editor" "$(get /api/v1/open -X POST -H "X-Heapwise: 1" -d '{"file":0}')" 404 not_found
	end
	printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s.new"\nmv "%s.new" "%s"\n' "$work/shown" "$work/shown" "$work/shown" >"$work/editor"
	chmod +x "$work/editor"
	"$HEAPWISE" serve --editor "unknown" "$work/a.hwt" >"$work/out" 2>"$work/stderr"
	equal "exit status with an unknown editor" "$?" 2
	says "$work/stderr" "one of vim, emacs"
	serve --source-folder "$HEAPWISE_SOURCE_DIR" --editor "$work/editor --at %l %f x" "$work/a.hwt"
	until_true ready
	python3 "$here/serve_check.py" open_file "$work/shown" || fail "open"
	end
}

# Each example of docs/API.md is asked for, and its answer has the keys that the page shows. Chunk 5, which is one of them,
# was freed; whether it is hangs on how the threads came to run, and whether resident memory was seen on how long that took.
case_documentation()
{
	for _ in 1 2 3 4 5 6 7 8; do
		record_threads "$work/a.hwt"
		"$HEAPWISE" trace dump "$work/a.hwt" | awk '$3 == "free" && $6 == 5 { found = 1 } END { exit !found }' &&
			"$HEAPWISE" report --no-symbols --format json "$work/a.hwt" | jq -e '.rss.samples > 0' >/dev/null && break
	done
	record "$work/b.hwt" -- "$HEAPWISE_TARGETS/containers" >/dev/null
	record "$work/c.hwt" --owners -- "$HEAPWISE_TARGETS/owners" >/dev/null
	serve "$work/a.hwt" "$work/b.hwt" "$work/c.hwt"
	until_true ready
	python3 "$here/serve_check.py" documentation "$HEAPWISE_SOURCE_DIR/docs/API.md" || fail "docs/API.md"
	end
}

case_token()
{
	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	equal "length of the token" "${#token}" 32
	for path in / /api/v1/status /api/v1/nothing /api/v1/trace; do
		refused "$path without a token" "$(plain "$path")" 401 no_token
		refused "$path with another one" "$(plain "$path" -H "Authorization: Bearer ${token:0:31}0x")" 401 no_token
		refused "$path with another cookie" "$(plain "$path" -b "heapwise-${host##*:}=${token}0")" 401 no_token
	done
	refused "a cookie of another port" "$(plain /api/v1/status -b "heapwise-1=$token")" 401 no_token
	equal "status of the token in the address" "$(plain "/api/v1/status?token=$token")" 200
	# the start page's address becomes a cookie
	equal "status of the start" "$(plain "/?token=$token" -c "$work/jar")" 303
	says "$work/headers" "^Location: /.?$"
	says "$work/headers" "^Set-Cookie: heapwise-${host##*:}=$token; .*HttpOnly; SameSite=Strict"
	equal "status of a wrong start" "$(plain "/?token=${token%?}x")" 401
	! grep -qi "^Set-Cookie" "$work/headers" || fail "a wrong token gets a cookie"
	equal "status of the page" "$(plain / -b "$work/jar")" 200
	says "$work/headers" "^Content-Type: text/html"
	says "$work/headers" "^Content-Security-Policy: default-src 'none'; script-src 'self'"
	says "$work/body" 'src="app.js"'
	! grep -q "$token" "$work/body" || fail "the page has the token"
	equal "status of a part of the page" "$(plain /app.js -b "$work/jar")" 200
	says "$work/headers" "^Content-Type: text/javascript"
	refused "a part that is not there" "$(plain /app.map -b "$work/jar")" 404 not_found
	refused "a part without a token" "$(plain /app.js)" 401 no_token
	equal "status of the list" "$(plain /api/v1 -b "$work/jar")" 200
	says "$work/body" 'href="/api/v1/status"'
	equal "status with the cookie" "$(plain /api/v1/status -b "$work/jar")" 200
	# what changes something wants a header that other sites cannot send, cookie or not
	refused "a POST of another page" "$(plain /api/v1/query/check -b "$work/jar" -X POST -d '{"text":"all"}')" 403 forbidden
	refused "a PUT of another page" "$(plain /api/v1/graphs/x -b "$work/jar" -X PUT -d '{"text":"all"}')" 403 forbidden
	refused "a DELETE of another page" "$(plain /api/v1/graphs/x -b "$work/jar" -X DELETE)" 403 forbidden
	equal "a POST with it" "$(plain /api/v1/query/check -b "$work/jar" -H "X-Heapwise: 1" -X POST -d '{"text":"all"}')" 200
	end
}

case_requests()
{
	local header path
	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	until_true ready
	for name in example.org "example.org:${host##*:}" 127.0.0.1 "127.0.0.1:1" "[::1]:${host##*:}" ""; do
		refused "Host '$name'" "$(get /api/v1/status -H "Host: $name")" 421 wrong_host
	done
	equal "Host localhost" "$(get /api/v1/status -H "Host: localhost:${host##*:}")" 200
	for header in "X-Content-Type-Options: nosniff" "Referrer-Policy: no-referrer" \
		"Content-Security-Policy: default-src 'none'" "Cross-Origin-Resource-Policy: same-origin" \
		"Content-Type: application/json" "Server-Timing: parse;dur=[0-9.]+, run;dur=[0-9.]+, write;dur="; do
		says "$work/headers" "^$header"
	done
	get /api/v1/status -H "Origin: http://example.org" >"$work/code"
	! grep -qi "Access-Control" "$work/headers" || fail "there are CORS headers"
	for path in /etc/passwd /api/v1/../../etc/passwd /api/v1/%2e%2e/%2e%2e/etc/passwd /api/v1/source/..%2f..%2fetc/passwd \
		/api/v1/status/ /api/v1/points/ /api/v1/points/1/2 "//etc/passwd" /api/v1/graphs/..%2f..%2fx; do
		refused "the path $path" "$(get "$path" --path-as-is)" 404 not_found
	done
	for path in "source?file=/etc/passwd" "source?file=../../etc/passwd" "source?file=-1" "source?file=99999999" "source"; do
		refused "$path" "$(get "/api/v1/$path")" 400 bad_request
	done
	for path in "flame?pixels=1" "flame?metric=x" "flame?x0=2" "flame?px=0" "flame?px=-1" "flame?px=99999999999999999999" \
		"flame?x0=nan" "flame?hide=/(/" "flame?hide=/(a)\\1/" "timeline?bins=0" "timeline?bins=2001" "timeline?top=24" \
		"points?limit=501" "points?sort=--sev" "chunks?order=x" "chunks?x0=5&x1=1" "memmap?w=4096&h=4096" "memmap?base=x" \
		"flame?t0=x" "flame?t0=5&t1=1" "flame?tm=x" "emad?k=1" "emad?mu=-1" "flame?format=xml" "trace?x=1"; do
		equal "status of $path" "$(get "/api/v1/$path" -g)" 400
		equal "answer to $path" "$(value '.error | has("code") and has("message") and has("id")')" true
	done
	refused "a wrong query" "$(get "/api/v1/flame" -G --data-urlencode "q=all | where sise > 3")" 400 bad_query
	equal "where it is wrong" "$(value .error.at)" 12
	says "$work/body" "did you mean"
	refused "a trace that is not there" "$(get "/api/v1/trace?trace=0123")" 404 not_found
	for path in "points/4000000000" points/x points/-1 chunks/99999999 "stack/x"; do
		refused "$path" "$(get "/api/v1/$path")" 404 not_found
	done
	refused "POST of a view" "$(get /api/v1/flame -X POST -H "X-Heapwise: 1")" 405 bad_method
	says "$work/headers" "^Allow: GET"
	refused "an unknown method" "$(get /api/v1/flame -X BREW)" 405 bad_method
	head -c 100000 /dev/zero | tr '\0' a >"$work/long"
	# 000: libmicrohttpd 1.0 closes the connection, and its answer is lost if the rest is still on its way.
	code=$(get /api/v1/status -H "X-Long: $(cat "$work/long")")
	[[ $code =~ ^(431|000)$ ]] || fail "status of a long header is '$code'"
	code=$(get "/api/v1/status?x=$(cat "$work/long")")
	[[ $code =~ ^(414|431|000)$ ]] || fail "status of a long address is '$code'"
	head -c 300000 /dev/zero | tr '\0' ' ' >"$work/long"
	refused "a long body" "$(get /api/v1/query/check -X POST -H "X-Heapwise: 1" --data-binary "@$work/long")" 413 too_large
	refused "a body that is not JSON" "$(get /api/v1/query/check -X POST -H "X-Heapwise: 1" -d '{"text":')" 400 bad_request
	refused "a body without a length" "$(get /api/v1/query/check -X POST -H "X-Heapwise: 1" -H "Transfer-Encoding: chunked" -d x)" 411 no_length
	equal "status after all" "$(get /api/v1/status)" 200
	end
}

# An answer is told by its tag, so that it need not be sent twice, and is compressed for who takes that.
case_tags()
{
	local tag
	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	until_true ready
	equal "status" "$(get "/api/v1/flame?px=800")" 200
	cp "$work/body" "$work/first"
	tag=$(sed -n 's/^ETag: \(.*\).$/\1/p' "$work/headers")
	[ -n "$tag" ] || fail "no ETag"
	equal "status with the tag" "$(get "/api/v1/flame?px=800" -H "If-None-Match: $tag")" 304
	equal "bytes with the tag" "$(wc -c <"$work/body")" 0
	equal "status with another tag" "$(get "/api/v1/flame?px=800" -H 'If-None-Match: "x"')" 200
	equal "status of another question" "$(get "/api/v1/flame?px=801" -H "If-None-Match: $tag")" 200
	get /api/v1/status >"$work/code"
	! grep -qi "^ETag" "$work/headers" || fail "the status has a tag"
	says "$work/headers" "^Cache-Control: no-store"
	get /api/v1/report >"$work/code"
	cp "$work/body" "$work/first"
	equal "status compressed" "$(get /api/v1/report -H "Accept-Encoding: gzip")" 200
	says "$work/headers" "^Content-Encoding: gzip"
	equal "the same" "$(gzip -dc "$work/body" | jq -S 'del(.took_us)' | md5sum)" "$(jq -S 'del(.took_us)' "$work/first" | md5sum)"
	equal "status not compressed" "$(get /api/v1/report -H "Accept-Encoding: gzip;q=0")" 200
	! grep -qi "^Content-Encoding" "$work/headers" || fail "compressed in spite of q=0"
	end
}

# Names that a program may have, to harm who shows them.
case_hostile()
{
	python3 - >"$work/hostile.c" <<-'PY'
		names = ['<img src=x onerror=alert(1)>', '</script><script>alert(1)</script>', 'a\\377\\376b', '%s%n%x', 'x' * 20000,
		         'quote\\\\ back', '\\342\\200\\256rtl', 'ctrl\\001']
		print('#include <stdlib.h>\nvoid *keep[16];')
		for i, n in enumerate(names):
		    print('void f%d(void) __asm__("\\"%s\\"");' % (i, n))
		    print('__attribute__((noinline)) void f%d(void) { keep[%d] = malloc(100 + %d); }' % (i, i, i))
		print('int main(void) {' + ''.join('f%d();' % i for i in range(len(names))) + 'return 0; }')
	PY
	gcc -O0 "$work/hostile.c" -o "$work/hostile <b>&\"'" 2>"$work/gcc" || skip "the assembler does not take such names: $(head -3 "$work/gcc")"
	"$HEAPWISE" run -q -o "$work/a<script>.hwt" -- "$work/hostile <b>&\"'" 2>"$work/stderr" || fail "record"
	serve "$work/a<script>.hwt"
	until_true ready
	python3 "$here/serve_check.py" hostile || fail "hostile names"
	equal "status of the list" "$(plain /api/v1 -H "Authorization: Bearer $token")" 200
	! grep -qiE '<(script|img|b)[ >]' "$work/body" || fail "the list has foreign tags"
	end
}

case_parallel()
{
	local i pids=()
	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	until_true ready
	paths=(flame "timeline?by=size" points overview "chunks?rows=10" threads report "flame?dir=up" memmap findings)
	for ((i = 0; i < 100; i++)); do
		curl -s -m 60 -o "$work/body-$i" -w '%{http_code}\n' -H "Authorization: Bearer $token" \
			"$base/api/v1/${paths[i % 10]}" >"$work/code-$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	equal "answers" "$(cat "$work"/code-* | sort | uniq -c | awk '{ print $1, $2 }')" "100 200"
	equal "different answers" "$(for ((i = 0; i < 100; i++)); do jq -S 'del(.took_us)' "$work/body-$i" | md5sum; done | sort -u | wc -l)" 10
	until_true eval '[ "$(ls "/proc/$server/task" | wc -l)" -le 8 ]' # threads end when they get to it
	at_most "descriptors afterwards" "$(ls "/proc/$server/fd" | wc -l)" 30
	end
}

# Clients that keep quiet or send a byte now and then are let go, and nobody waits for them.
case_slow()
{
	local start=$SECONDS quiet trickle
	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	until_true ready
	(exec 3<>"/dev/tcp/127.0.0.1/${host##*:}"; cat <&3 >"$work/quiet"; echo $((SECONDS - start)) >"$work/quiet-end") &
	quiet=$!
	(exec 3<>"/dev/tcp/127.0.0.1/${host##*:}"; trap '' PIPE
		printf 'GET /api/v1/status HTTP/1.1\r\nX: ' >&3
		for ((i = 0; i < 60; i++)); do
			printf a 2>/dev/null >&3 || break
			sleep 0.5
		done
		echo "$i" >"$work/trickle-end") &
	trickle=$!
	equal "status beside them" "$(get /api/v1/status)" 200
	wait "$quiet" "$trickle"
	at_most "seconds until the quiet one is let go" "$(cat "$work/quiet-end")" 60
	at_most "half seconds until the slow one is let go" "$(cat "$work/trickle-end")" 28
	end
}

# While a trace is loaded the status is told, and everything else is to be asked for later.
case_loading()
{
	local code
	"$HEAPWISE-synth" --chunks 1M --points 10k -o "$work/big.hwt" >"$work/out" 2>&1 || fail "synth"
	serve "$work/big.hwt"
	code=$(get /api/v1/overview)
	if [ "$code" = 503 ]; then
		equal "code" "$(value .error.code)" not_ready
		says "$work/headers" "^Retry-After: 1"
		get /api/v1/status >"$work/code"
		equal "state" "$(value .data.state)" indexing
	else
		fail "a million chunks were read before the first question: $code"
	fi
	until_true ready
	equal "state" "$(value .data.state)" ready
	equal "status" "$(get /api/v1/trace)" 200
	# a client that goes away does not keep the server busy
	curl -s -m 0.05 -o /dev/null -H "Authorization: Bearer $token" "$base/api/v1/timeline?by=size&bins=2000&metric=chunks"
	equal "status afterwards" "$(get /api/v1/status)" 200
	end
}

# A trace that is opened while those of the command line are being read is read once.
case_opened_early()
{
	"$HEAPWISE-synth" --chunks 200k --points 1k -o "$work/a.hwt" >"$work/out" 2>&1 || fail "synth"
	"$HEAPWISE-synth" --chunks 1M --points 10k -o "$work/b.hwt" >"$work/out" 2>&1 || fail "synth"
	serve --no-warm-up --folder "$work" "$work/a.hwt"
	equal "opened" "$(get /api/v1/traces -X POST -H "X-Heapwise: 1" -d '{"path":"b.hwt"}')" 200
	until_true ready
	equal "states" "$(value '[.data.traces[].state] | join(" ")')" "ready ready"
	equal "report of it" "$(get "/api/v1/report?trace=b.hwt")" 200
	equal "its chunks" "$(value .total.chunks)" 1000000
	end
}

# A trace that is none, or that is gone, is told; the others are served.
case_bad_traces()
{
	record_threads "$work/a.hwt"
	head -c 5000 /dev/urandom >"$work/bad.hwt"
	"$HEAPWISE" serve "$work/none.hwt" >"$work/out" 2>"$work/stderr"
	equal "exit status without a file" "$?" 3
	"$HEAPWISE" serve >"$work/out" 2>"$work/stderr"
	equal "exit status without an operand" "$?" 2
	"$HEAPWISE" serve --port 70000 "$work/a.hwt" >"$work/out" 2>"$work/stderr"
	equal "exit status with a wrong port" "$?" 2
	"$HEAPWISE" serve --timeout 20 "$work/a.hwt" "$work/bad.hwt" >"$work/out" 2>"$work/stderr"
	equal "exit status with what is no trace" "$?" 3
	# a server and a command say the same, and neither waits for the writer of a pipe
	mkfifo "$work/pipe.hwt"
	for file in none bad pipe; do
		timeout 20 "$HEAPWISE" report "$work/$file.hwt" >"$work/out" 2>"$work/stderr"
		equal "exit status of report with $file.hwt" "$?" 3
		said=$(sed 's/^heapwise [a-z]*: //' "$work/stderr")
		for command in "serve --timeout 20" "export --to html"; do
			# shellcheck disable=SC2086
			timeout 20 "$HEAPWISE" $command "$work/$file.hwt" >"$work/out" 2>"$work/stderr"
			equal "exit status of $command with $file.hwt" "$?" 3
			equal "what $command says" "$(sed 's/^heapwise [a-z]*: //' "$work/stderr")" "$said"
		done
	done
	mkdir "$work/both"
	mv "$work/a.hwt" "$work/bad.hwt" "$work/both"
	serve "$work/both"
	until_true ready
	get /api/v1/status >"$work/code"
	equal "states" "$(value '[.data.traces[].state] | join(" ")')" "ready error"
	id=$(value '.data.traces[0].id')
	bad=$(value '.data.traces[1].id')
	equal "status of the good one" "$(get "/api/v1/trace?trace=$id")" 200
	equal "status of the bad one" "$(get "/api/v1/trace?trace=$bad")" 500
	end
	# an empty program
	record "$work/e.hwt" -- "$HEAPWISE_TARGETS/empty"
	serve "$work/e.hwt"
	until_true ready
	python3 "$here/serve_check.py" empty || fail "a program without allocations"
	end
}

case_options()
{
	record_threads "$work/a.hwt"
	printf '#!/bin/sh\nprintf "%%s\\n" "$1" >"%s"\n' "$work/opened" >"$work/browser"
	chmod +x "$work/browser"
	BROWSER=$work/browser serve --open "$work/a.hwt"
	until_true test -s "$work/opened"
	equal "what the browser was told" "$(cat "$work/opened")" "$url"
	end
	# after a run, in its place
	: >"$work/opened"
	BROWSER=$work/browser "$HEAPWISE" run -q --open -o "$work/b.hwt" -- /bin/echo done >"$work/out" 2>"$work/stderr" &
	until_true test -s "$work/opened"
	says "$work/opened" "^http://127.0.0.1:[0-9]+/\?token=[0-9a-f]{32}$"
	kill $!
	wait $!
	start=$SECONDS
	timeout 20 "$HEAPWISE" serve --timeout 1 "$work/a.hwt" 2>"$work/stderr"
	equal "exit status after the time" "$?" 0
	at_most "seconds" $((SECONDS - start)) 8
	says "$work/stderr" "serving 1 trace on http://127.0.0.1:[0-9]+/\?token=[0-9a-f]{32}$"
	! grep -q WARNING "$work/stderr" || fail "a warning for the loopback"
	serve --address 0.0.0.0 "$work/a.hwt"
	says "$work/stderr" "WARNING: other machines can reach"
	end
	equal "a graph is kept" "$(serve "$work/a.hwt"; get /api/v1/graphs/mine -X PUT -H "X-Heapwise: 1" -d '{"text":"all | where size >= 64"}'; end)" 200
	equal "where" "$(cat "$XDG_CONFIG_HOME/heapwise/graphs/mine.hwq")" "all | where size >= 64"
}

# Notes about findings are kept beside the trace, whole or not at all, and go into the report.
case_notes()
{
	local notes=$work/a.hwt.notes.json header="X-Heapwise: 1" writers=()

	record_threads "$work/a.hwt"
	serve "$work/a.hwt"
	until_true ready
	equal "without a file" "$(get /api/v1/notes) $(jq -c .data "$work/body")" "200 []"
	equal "a note" "$(get /api/v1/notes/leak-1 -X PUT -H "$header" -d '{"status":"accepted","text":"a \"cache\" of \u00e4"}')" 200
	equal "another" "$(get /api/v1/notes/churn-2 -X PUT -H "$header" -d '{"status":"fixed","text":""}')" 200
	equal "the first one again" "$(get /api/v1/notes/leak-1 -X PUT -H "$header" -d '{"status":"open","text":"look"}')" 200
	equal "the list" "$(get /api/v1/notes) $(jq -c '[.data[] | [.finding, .status, .text]]' "$work/body")" \
		'200 [["churn-2","fixed",""],["leak-1","open","look"]]'
	equal "the file" "$(jq -c '[.notes[].finding]' "$notes")" '["churn-2","leak-1"]'
	equal "when" "$(jq -r '.notes[0].changed' "$notes" | grep -cE '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$')" 1
	refused "a status that is none" "$(get /api/v1/notes/leak-1 -X PUT -H "$header" -d '{"status":"done","text":""}')" 400 bad_request
	refused "without a text" "$(get /api/v1/notes/leak-1 -X PUT -H "$header" -d '{"status":"open"}')" 400 bad_request
	refused "no JSON" "$(get /api/v1/notes/leak-1 -X PUT -H "$header" -d '{')" 400 bad_request
	refused "an id that is none" "$(get /api/v1/notes/A.b -X PUT -H "$header" -d '{"status":"open","text":"x"}')" 400 bad_request
	refused "too long" "$(get /api/v1/notes/leak-1 -X PUT -H "$header" -d "{\"status\":\"open\",\"text\":\"$(printf %05000d 0)\"}")" 400 bad_request
	refused "another site" "$(get /api/v1/notes/leak-1 -X PUT -d '{"status":"open","text":"x"}')" 403 forbidden
	equal "nothing changed" "$(get /api/v1/notes) $(jq -c '.data | length' "$work/body")" "200 2"
	equal "open without a text" "$(get /api/v1/notes/leak-1 -X PUT -H "$header" -d '{"status":"open","text":""}') $(jq -c '.data | length' "$work/body")" "200 1"
	for i in $(seq 20); do
		curl -s -m 20 -o "$work/x$i" -X PUT -H "$header" -H "Authorization: Bearer $token" -d '{"status":"fixed","text":"at once"}' \
			"$base/api/v1/notes/x-$i" &
		writers+=($!)
	done
	wait "${writers[@]}"
	equal "all of twenty at once" "$(jq -c '.notes | length' "$notes")" 21
	"$HEAPWISE" export --to html -o "$work/a.html" "$work/a.hwt" 2>"$work/stderr"
	equal "in the report" "$(grep -c 'data-k="/notes"' "$work/a.html")" 1
	echo '{"notes": 5}' >"$notes"
	refused "a file of something else" "$(get /api/v1/notes)" 500 failed
	refused "which is not written over" "$(get /api/v1/notes/leak-1 -X PUT -H "$header" -d '{"status":"fixed","text":""}')" 500 failed
	equal "it is as it was" "$(cat "$notes")" '{"notes": 5}'
	rm "$notes"
	mkdir "$notes"
	refused "a file that cannot be read" "$(get /api/v1/notes)" 500 failed
	end
}

# piece FILE NAME OFFSET UPLOAD [BYTES]   sends a piece; prints the status
piece()
{
	tail -c "+$(($3 + 1))" "$1" | head -c "${5-3000}" >"$work/piece"
	get "/api/v1/uploads/$2?offset=$3&upload=$4" -X PUT -H "X-Heapwise: 1" --data-binary "@$work/piece"
}

# open_upload NUMBER
open_upload() { get /api/v1/traces -X POST -H "X-Heapwise: 1" -d "{\"upload\":$1}"; }

# send FILE NAME   in pieces, as the page does; then it is opened
send()
{
	local offset=0 upload=0 all
	all=$(stat -c %s "$1")
	while [ "$offset" -lt "$all" ]; do
		equal "piece at $offset" "$(piece "$1" "$2" "$offset" "$upload")" 200
		read -r upload offset <<<"$(value '"\(.data.upload) \(.data.bytes)"')"
	done
	open_upload "$upload"
}

# A trace that is dropped on the page is sent in pieces, opened, and gone with the server.
case_uploads()
{
	local put=(-X PUT -H "X-Heapwise: 1" -d abc)

	mkdir "$work/temporary"
	export TMPDIR=$work/temporary
	record_threads "$work/a.hwt"
	record "$work/b.hwt" -- "$HEAPWISE_TARGETS/containers" >/dev/null
	serve "$work/a.hwt"
	until_true ready
	refused "a file of the root folder" "$(open_upload '"proc"')" 404 not_found
	equal "sent" "$(send "$work/b.hwt" b.hwt)" 200
	until_true ready
	get "/api/v1/trace?trace=b.hwt" >/dev/null
	equal "it is the other program" "$(jq -r '.data.program' "$work/body")" "$HEAPWISE_TARGETS/containers"
	equal "in pieces" "$(cmp -n "$(stat -c %s "$work/b.hwt")" "$TMPDIR"/*/1/b.hwt "$work/b.hwt" && echo same)" same # names are added to it
	equal "the same again" "$(send "$work/b.hwt" b.hwt)" 200
	equal "a name that is a number" "$(send "$work/b.hwt" 3)" 200
	refused "what was opened before" "$(open_upload 1)" 404 not_found
	refused "what was not sent" "$(open_upload 99)" 404 not_found
	refused "a number that is none" "$(open_upload -1)" 404 not_found
	equal "what is no trace" "$(send /bin/true true)" 400
	says "$work/body" "'true' is not a Heapwise trace"
	equal "what is left of that" "$(ls -d "$TMPDIR"/*/4 2>&1 | grep -c "^/")" 0
	get /api/v1/status >/dev/null
	equal "traces" "$(jq -c '[.data.traces[].name]' "$work/body")" '["a.hwt","b.hwt","b.hwt","3"]'
	refused "a beginning that is none" "$(get "/api/v1/uploads/d?offset=5" "${put[@]}")" 400 bad_request
	equal "a first piece" "$(get "/api/v1/uploads/d" "${put[@]}")" 200
	refused "a gap" "$(get "/api/v1/uploads/d?offset=5&upload=$(value .data.upload)" "${put[@]}")" 400 bad_request
	refused "a piece of nothing" "$(get "/api/v1/uploads/d?offset=5&upload=99" "${put[@]}")" 404 not_found
	refused "a folder" "$(get "/api/v1/uploads/..%2fx?offset=0" "${put[@]}")" 404 not_found
	refused "a hidden file" "$(get "/api/v1/uploads/.x?offset=0" "${put[@]}")" 400 bad_request
	refused "another site" "$(get "/api/v1/uploads/x?offset=0" -X PUT -d abc)" 403 forbidden
	end
	equal "what is left of it" "$(ls -I "heapwise-links-*" "$TMPDIR")" ""
}

# Two files of one name that are sent at the same time; and more traces than can be served.
case_uploads_at_once()
{
	local i numbers=()

	mkdir "$work/temporary" "$work/more"
	export TMPDIR=$work/temporary
	record_threads "$work/a.hwt"
	record "$work/b.hwt" -- "$HEAPWISE_TARGETS/containers" >/dev/null
	for ((i = 4; i <= 16; i++)); do
		cp "$work/a.hwt" "$work/more/$i.hwt"
	done
	serve --no-warm-up --folder "$work/more" "$work/a.hwt"
	until_true ready
	for file in a b b; do
		equal "first piece of $file" "$(piece "$work/$file.hwt" x.hwt 0 0 1000)" 200
		numbers+=("$(value .data.upload)")
	done
	i=0
	for file in a b b; do
		equal "second piece of $file" "$(piece "$work/$file.hwt" x.hwt 1000 "${numbers[i]}" 250000)" 200
		i=$((i + 1))
	done
	equal "the second" "$(open_upload "${numbers[1]}")" 200
	equal "the first" "$(open_upload "${numbers[0]}")" 200
	until_true ready
	equal "programs" "$(for id in $(value '.data.traces[1:][].id'); do get "/api/v1/trace?trace=$id" >/dev/null; basename "$(value .data.program)"; done | xargs)" \
		"containers threads"
	for ((i = 4; i <= 16; i++)); do
		equal "trace $i" "$(get /api/v1/traces -X POST -H "X-Heapwise: 1" -d "{\"path\":\"$i.hwt\"}")" 200
	done
	refused "one too many" "$(open_upload "${numbers[2]}")" 400 bad_request
	says "$work/body" "too many traces"
	equal "what is left of it" "$(ls "$TMPDIR"/heapwise-??????/ | xargs)" "1 2"
	refused "a first piece" "$(piece "$work/a.hwt" y.hwt 0 0)" 400 bad_request
	says "$work/body" "too many traces"
	end
	equal "what is left of all" "$(ls -I "heapwise-links-*" "$TMPDIR")" ""
}

run_case "$1"
finish
