#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# http.sh CASE   a recording that is controlled over HTTP (run --listen), by clients who may, and by
# those who may not. The target is the one of control.sh.
. "$(dirname "$0")/lib.sh"
needs curl

target=$HEAPWISE_TARGETS/control

# serve [OPTION...] -- [ARGUMENT...]   starts the target; $monitor, $program, $base, $token, $port
serve()
{
	local options=() url
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	[ $# -gt 0 ] || set -- steered
	rm -f "$work/go" "$work/stdout"
	"$HEAPWISE" run --no-symbols --listen "${listen:-0}" "${options[@]}" -o "$work/trace" -- \
		"$target" "$1" "$work/go" "${@:2}" >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	until_true test -s "$work/stdout"
	program=$(head -1 "$work/stdout")
	url=$(sed -n 's/^heapwise: listening on //p' "$work/stderr")
	token=${url#*token=}
	base=${url%%\?*}
	port=${base#http://*:}
	port=${port%%/*}
	until_true recorded
}

# ask METHOD PATH [CURL_OPTION...]   as who may; body in $work/body, prints the status
ask()
{
	plain "$1" "$2" -H "Authorization: Bearer $token" -H "X-Heapwise: 1" "${@:3}"
}

# plain METHOD PATH [CURL_OPTION...]   without any header of ours
plain()
{
	: >"$work/body"
	curl -s -m 20 -o "$work/body" -D "$work/headers" -w '%{http_code}' -X "$1" "${@:3}" "$base$2"
}

# value JQ_EXPRESSION   of the last body
value() { jq -r "$1" "$work/body"; }
state() { ask GET /status >"$work/code" && value .state; }
recorded() { [ "$(state)" = recording ]; }

# refused WHAT GOT WANTED   the status, and a sentence of JSON
refused()
{
	equal "status of $1" "$2" "$3"
	equal "answer to $1" "$(jq -r '.error | type' "$work/body" 2>&1)" string
}

let_go()
{
	touch "$work/go"
	wait "$monitor"
	equal "exit status" "$?" 0
}

case_verbs()
{
	serve --
	equal "length of the token" "${#token}" 32
	says "$work/stderr" "^heapwise: listening on http://127.0.0.1:[0-9]+/api/v1/control\?token=[0-9a-f]{32}$"
	equal "list" "$(ask GET "")" 200
	equal "verbs" "$(value '[.verbs[].name] | join(" ")')" "pause resume snapshot scan save stop status"
	equal "a verb of the control socket only" "$(ask POST /join)" 404
	equal "list again" "$(ask GET "")" 200
	equal "methods" "$(value '[.verbs[].method] | unique | join(" ")')" "GET POST"
	equal "status" "$(ask GET /status)" 200
	equal "pid" "$(value .pid)" "$program"
	equal "type of pid" "$(value '.pid | type')" number
	equal "monitor" "$(value .monitor_pid)" "$monitor"
	equal "trace" "$(value .trace)" "$work/trace"
	equal "same as ctl" "$("$HEAPWISE" ctl --format json "$program" status | jq -S 'del(.schema) | keys' | md5sum)" \
		"$(jq -S keys "$work/body" | md5sum)"
	equal "pause" "$(ask POST /pause) $(value .state)" "200 paused"
	equal "state" "$(state)" paused
	equal "scan while paused" "$(ask POST /scan)" 409
	equal "resume" "$(ask POST "/resume?pid=$program") $(value .state)" "200 recording"
	equal "state" "$(state)" recording
	equal "snapshot" "$(ask POST "/snapshot?pid=$monitor") $(value '.live_chunks >= 0')" "200 true"
	ask GET /status >"$work/code"
	equal "snapshots" "$(value .snapshots)" 1
	equal "stop" "$(ask POST /stop -d "") $(value .state)" "200 stopped"
	equal "closed" "$("$HEAPWISE" trace info --format json "$work/trace" | jq .closed)" true
	equal "resume after stop" "$(ask POST /resume)" 409
	says "$work/body" "was stopped"
	let_go
	equal "marks" "$(field "$work/trace" '[.marks[].kind] | join(" ")')" "paused resumed snapshot"
	curl -s -m 5 "$base" >"$work/body" && fail "the server outlives the run"
}

# What is lost is known beforehand.
case_scan()
{
	serve -- leaking
	equal "scan" "$(ask POST /scan)" 200
	equal "lost" "$(value '[.lost_chunks, .lost_bytes] | tostring')" "[3,15099]"
	let_go
}

case_token()
{
	serve --
	refused "no token" "$(plain GET /status)" 403
	refused "no token for what is not there" "$(plain GET /nothing)" 403
	refused "an empty one" "$(plain GET "/status?token=")" 403
	refused "a part of it" "$(plain GET "/status?token=${token:0:31}")" 403
	refused "more than it" "$(plain GET "/status?token=${token}0")" 403
	refused "another one" "$(plain GET "/status?token=$(printf %032d 0)")" 403
	refused "another scheme" "$(plain GET /status -H "Authorization: Basic $token")" 403
	refused "a wrong one before the right one" "$(plain GET "/status?token=$token" -H "Authorization: Bearer x")" 403
	equal "the right one in the address" "$(plain GET "/status?token=$token")" 200
	equal "the right one, bearer" "$(plain GET /status -H "Authorization: bearer $token")" 200
	refused "a POST without its mark" "$(plain POST "/pause?token=$token")" 403
	refused "a POST of a page" "$(plain POST "/pause?token=$token" -H "Origin: http://example.org")" 403
	equal "state" "$(state)" recording
	let_go
}

case_requests()
{
	serve --
	for host in example.org "example.org:$port" "127.0.0.1" "127.0.0.1:1" "127.0.0.1:${port}0" "[::1]:$port" \
		"127.0.0.1.example.org:$port" "localhost.:$port" ""; do
		refused "Host '$host'" "$(ask GET /status -H "Host: $host")" 421
	done
	refused "no Host" "$(ask GET /status -0 -H "Host:")" 421
	for host in "localhost:$port" "LOCALHOST:$port" "127.0.0.1:$port"; do
		equal "Host '$host'" "$(ask GET /status -H "Host: $host")" 200
	done
	for path in / /nothing /status/ /../status /status/../pause /pausepause; do
		refused "the path $path" "$(ask GET "$path" --path-as-is)" 404
	done
	base=${base%/api*} refused "the path of a file" "$(base=${base%/api*} ask GET /etc/passwd)" 404
	for method in PUT DELETE OPTIONS PATCH TRACE BREW; do
		refused "$method" "$(ask "$method" /status)" 405
		says "$work/headers" "^Allow: GET, POST"
	done
	refused "GET of pause" "$(ask GET /pause)" 405
	says "$work/headers" "^Allow: POST"
	refused "POST of status" "$(ask POST /status)" 405
	for query in pid= pid=x pid=-1 pid=0 pid=99999999999999999999 "pid=1%0a" pd=1; do
		refused "$query" "$(ask POST "/stop?$query")" 400
	done
	refused "a process that is not recorded" "$(ask POST "/stop?pid=$$")" 404
	equal "state" "$(state)" recording
	ask GET /status >"$work/code"
	for header in "Content-Security-Policy: default-src 'none'" "X-Content-Type-Options: nosniff" \
		"Cache-Control: no-store" "Content-Type: application/json" "Referrer-Policy: no-referrer"; do
		says "$work/headers" "^$header"
	done
	ask GET /status -H "Origin: http://example.org" >"$work/code"
	! grep -qi "Access-Control" "$work/headers" || fail "there are CORS headers"
	let_go
}

case_sizes()
{
	serve --
	head -c 100000 /dev/zero | tr '\0' a >"$work/long"
	# 000: libmicrohttpd 1.0 closes the connection, and its answer is lost if the rest is still on its way.
	code=$(ask GET /status -H "X-Long: $(cat "$work/long")")
	[[ $code =~ ^(431|000)$ ]] || fail "status of a long header is '$code'"
	code=$(ask GET "/status?x=$(cat "$work/long")")
	[[ $code =~ ^(414|431|000)$ ]] || fail "status of a long address is '$code'"
	refused "a long body" "$(ask POST /pause --data-binary "@$work/long")" 413
	refused "a body without a length" "$(ask POST /pause -H "Transfer-Encoding: chunked" -d x)" 411
	equal "state" "$(state)" recording
	equal "status of a short body" "$(ask POST /pause -d "anything")" 200
	let_go
}

# Clients that keep quiet, or send a byte now and then, are shown the door, and nobody waits for them.
case_slow()
{
	local start=$SECONDS quiet trickle
	serve --
	(exec 3<>"/dev/tcp/127.0.0.1/$port"; cat <&3 >"$work/quiet"; echo $((SECONDS - start)) >"$work/quiet-end") &
	quiet=$!
	(exec 3<>"/dev/tcp/127.0.0.1/$port"; trap '' PIPE
		printf 'GET /api/v1/control/status HTTP/1.1\r\nX: ' >&3
		for ((i = 0; i < 200; i++)); do
			printf a 2>/dev/null >&3 || break
			sleep 0.5
		done
		echo $((SECONDS - start)) >"$work/trickle-end") &
	trickle=$!
	sleep 0.3
	equal "state beside them" "$(state)" recording
	wait "$quiet" "$trickle"
	at_most "seconds until the quiet one is let go" "$(cat "$work/quiet-end")" 60
	at_most "seconds until the slow one is let go" "$(cat "$work/trickle-end")" 60
	at_least "seconds that it had" "$(cat "$work/trickle-end")" 7
	equal "state after them" "$(state)" recording
	# and the end of the run does not wait for one either
	exec 3<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET /' >&3
	start=$SECONDS
	let_go
	at_most "seconds until the end" $((SECONDS - start)) 4
	exec 3<&-
}

case_parallel()
{
	local i pids=()
	serve --
	for ((i = 0; i < 100; i++)); do
		curl -s -m 30 -o "$work/body-$i" -w '%{http_code}\n' -H "Authorization: Bearer $token" -H "X-Heapwise: 1" \
			$([ $((i % 4)) -ne 0 ] || echo "-X POST") \
			"$base/$([ $((i % 4)) -eq 0 ] && echo snapshot || echo status)" >"$work/code-$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	equal "answers" "$(cat "$work"/code-* | sort | uniq -c | awk '{ print $1, $2 }')" "100 200"
	equal "live" "$(cat "$work"/body-* | jq -s 'map(select(.live_chunks >= 0)) | length')" 100
	until_true eval '[ "$(ls "/proc/$monitor/task" | wc -l)" -le 12 ]' # threads end when they get to it
	at_most "descriptors afterwards" "$(ls "/proc/$monitor/fd" | wc -l)" 40
	let_go
}

# A crowd that says nothing takes all places, but not for long.
case_crowd()
{
	local i fd
	serve --
	for ((i = 0; i < 200; i++)); do
		exec {fd}<>"/dev/tcp/127.0.0.1/$port" || fail "connection $i"
	done
	at_most "threads" "$(ls "/proc/$monitor/task" | wc -l)" 140
	until_true recorded
	let_go
}

case_garbage()
{
	local i
	serve --
	for ((i = 0; i < 20; i++)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port"; trap '' PIPE
			head -c $((i * 1000 + 1)) /dev/urandom >&3 2>/dev/null
			printf '\r\n\r\n' >&3) 2>/dev/null
	done
	while IFS= read -r line; do
		(exec 3<>"/dev/tcp/127.0.0.1/$port"; trap '' PIPE
			printf "$line" >&3
			timeout 7 head -1 <&3) >"$work/answer" 2>/dev/null
		! grep -q " 200 " "$work/answer" || fail "'$line' was served"
	done <<-'LINES'
		\r\n\r\n
		GET\r\n\r\n
		GET / HTTP/9.9\r\n\r\n
		GET /api/v1/control HTTP/1.1\r\nHost\r\n\r\n
		GET http://example.org/api/v1/control HTTP/1.1\r\nHost: example.org\r\n\r\n
		\026\003\001\002\000\001\000\001
		POST /api/v1/control/stop HTTP/1.1\r\nContent-Length: -5\r\n\r\n
		POST /api/v1/control/stop HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n
		GET /api/v1/control HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n
	LINES
	(exec 3<>"/dev/tcp/127.0.0.1/$port"
		printf 'GET /api/v1/control?token=%s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nHost: example.org\r\n\r\n' "$token" "$port" >&3
		timeout 7 head -1 <&3) >"$work/answer"
	says "$work/answer" " (400|421) "
	equal "state" "$(state)" recording
	let_go
}

case_addresses()
{
	local taken
	serve --
	taken=$port
	echo old >"$work/other"
	while IFS='|' read -r address text; do
		"$HEAPWISE" run --listen "${address/TAKEN/$taken}" -o "$work/other" -- touch "$work/started" >"$work/out" 2>"$work/error"
		equal "exit status for '$address'" "$?" 3
		says "$work/error" "$text"
		equal "lines for '$address'" "$(wc -l <"$work/error")" 1
		[ ! -e "$work/started" ] || fail "the program was started for '$address'"
	done <<-'ROWS'
		TAKEN|the port is in use
		127.0.0.1:TAKEN|the port is in use
		127.0.0.1:|has no port
		[::1]|has no port
		127.0.0.1|must be \[ADDRESS:\]PORT
		|must be \[ADDRESS:\]PORT
		65536|must be \[ADDRESS:\]PORT
		localhost:0|must be \[ADDRESS:\]PORT
		::1:0|must be \[ADDRESS:\]PORT
		192.0.2.1:0|cannot listen on 192.0.2.1:0
	ROWS
	equal "old trace" "$(cat "$work/other")" old
	let_go
	! grep -q WARNING "$work/stderr" || fail "a warning for the loopback"
	listen=0.0.0.0:0 serve_address 127.0.0.1
	says "$work/stderr" "WARNING: other machines can reach"
	let_go
	if [ -e /proc/net/if_inet6 ] && grep -q " lo$" /proc/net/if_inet6; then
		listen='[::1]:0' serve --
		says "$work/stderr" "listening on http://\[::1\]:"
		equal "Host" "$(ask GET /status -H "Host: 127.0.0.1:$port")" 421
		let_go
	fi
}

# serve_address ADDRESS   the target, which is then asked at that address
serve_address()
{
	eval "recorded() { base=http://$1:\$port/api/v1/control; [ \"\$(state)\" = recording ]; }"
	serve --
	base=http://$1:$port/api/v1/control
	refused "the address of all" "$(ask GET /status -H "Host: 0.0.0.0:$port")" 421
	equal "the address that was meant" "$(ask GET /status)" 200
	recorded() { [ "$(state)" = recording ]; }
}

# How many threads of the monitor would take a SIGUSR1.
takers()
{
	local mask count=0
	for mask in $(sed -n 's/^SigBlk:\t//p' "/proc/$monitor/task/"*/status 2>/dev/null); do
		[ $((16#$mask >> 9 & 1)) -eq 1 ] || count=$((count + 1))
	done
	echo "$count"
}

# The program has the descriptors, the signal mask and the environment that it has without a server.
case_unseen()
{
	local with threads look='ls -l /proc/self/fd | sed "s/.* \([0-9]* -> \)/\1/; s/:\[[0-9]*\]//; s/proc.[0-9]*//; /^total/d"
		grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status; env | sort | grep -v HEAPWISE_'
	"$HEAPWISE" run -q --no-symbols -o "$work/a" -- sh -c "$look" >"$work/seen" 2>"$work/stderr" </dev/null
	mv "$work/seen" "$work/without"
	"$HEAPWISE" run -q --no-symbols --listen 0 -o "$work/a" -- sh -c "$look" >"$work/seen" 2>"$work/stderr" </dev/null
	mv "$work/seen" "$work/with"
	diff -u "$work/without" "$work/with" || fail "the program sees something of it"
	says "$work/stderr" "listening on" # in spite of --quiet
	at_least "lines" "$(wc -l <"$work/with")" 6
	serve --
	! ls -l "/proc/$program/fd" | grep -q socket: || fail "the program has a socket"
	ls -l "/proc/$monitor/fd" | grep -q socket: || fail "the monitor has none"
	# Signals go to the thread that waits for them: the server's threads take none.
	exec 3<>"/dev/tcp/127.0.0.1/$port"
	sleep 0.2
	with=$(takers) threads=$(ls "/proc/$monitor/task" | wc -l)
	exec 3<&-
	kill -TERM "$monitor"
	wait "$monitor"
	equal "exit status" "$?" 143
	equal "closed" "$("$HEAPWISE" trace info --format json "$work/trace" | jq .closed)" true
	rm -f "$work/stdout"
	"$HEAPWISE" run --no-symbols -o "$work/trace" -- "$target" steered "$work/go" >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	until_true test -s "$work/stdout"
	sleep 0.2
	equal "threads that take signals" "$with" "$(takers)"
	equal "threads more, with one client" "$((threads - $(ls "/proc/$monitor/task" | wc -l)))" 3
	let_go
}

# Nothing is recorded, so nothing is served, and nobody waits for an answer.
case_unprofiled()
{
	printf 'int main(void) { return 5; }' >"$work/static.c"
	gcc -static "$work/static.c" -o "$work/static" 2>/dev/null || lacks libc6-dev
	"$HEAPWISE" run --listen 0 --unprofiled -o "$work/trace" -- "$work/static" 2>"$work/stderr"
	equal "exit status" "$?" 5
	says "$work/stderr" "the program was not recorded, and nothing was served"
	! grep -q listening "$work/stderr" || fail "an address was printed"
}

# A request that is under way when the program ends is answered, or its connection ends; soon.
case_end()
{
	local i start
	for i in 1 2 3 4 5; do
		serve --
		for ((j = 0; j < 20; j++)); do
			ask POST /snapshot >/dev/null &
		done
		touch "$work/go"
		start=$SECONDS
		wait "$monitor"
		equal "exit status" "$?" 0
		at_most "seconds" $((SECONDS - start)) 4
		wait
	done
	serve --
	kill -KILL "$program"
	wait "$monitor"
	equal "exit status after a kill" "$?" 137
}

run_case "$1"
finish
