#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# live.sh CASE   a program that runs in the browser (heapwise watch --web): ticks, the other endpoints while it runs, and
# viewers who are slow, many, or may not.
. "$(dirname "$0")/lib.sh"
needs python3
here=$(cd "$(dirname "$0")" && pwd)
export XDG_CONFIG_HOME=$work/config
cd "$work" || exit 1

# watch [OPTION...] PROGRAM...   in the background; $server
watch()
{
	rm -f url
	"$HEAPWISE" watch --web --print-url "$@" >url 2>stderr &
	server=$!
	until_true test -s url
	SERVE_URL=$(head -1 url)
	export SERVE_URL
}

# leaky SECONDS [OPTION...]   a program under load
leaky() { watch -q --leak-after 3s "${@:2}" "$HEAPWISE_TARGETS/leaky" "$1"; }

checks() { python3 "$here/live_check.py" "$@" || fail "$1"; }

# end STATUS   by SIGINT, as Ctrl-C does it; the program has ended
end()
{
	until_true grep -q "has ended" stderr
	kill -INT "$server"
	wait "$server"
	equal "exit status" "$?" "$1"
}

# Beside lines of JSON, and these are the same numbers. With --batch the server ends with the program.
case_ticks()
{
	leaky 10 --batch 0 -o lines.jsonl --trace t.hwt
	checks ticks lines.jsonl
	wait "$server"
	equal "exit status" "$?" 0
	"$HEAPWISE" report t.hwt >report.txt 2>&1 || fail "the trace cannot be read"
	says report.txt leaky_2
}

# However the program ends, the page stays, and the exit status is the program's.
case_end()
{
	leaky 3
	checks end 0 null
	end 0
	[ -z "$(ls "$work" | grep -v -e url -e stderr -e config)" ] || fail "files are left: $(ls)"
	watch -q env X=1 "$HEAPWISE_TARGETS/leaky" 3
	checks end 0 null
	end 0
	watch sh -c 'sleep 2; exit 7'
	checks end 7 null
	end 7
	watch sh -c 'sleep 2; kill -9 $$'
	checks end null 9
	end 137
}

case_reconnect() { leaky 9; checks reconnect; end 0; }
case_slow() { leaky 17; checks slow; end 0; }
case_config() { leaky 12; checks config; end 0; }
case_endpoints() { leaky 15; checks endpoints; end 0; }
case_security() { leaky 4; checks security; end 0; }
case_crowd() { leaky 14; checks crowd; end 0; }
case_silent() { leaky 16; checks silent "$server"; end 0; }

case_scan() { leaky 20; checks scan "$server"; end 0; }
case_documentation() { leaky 12 --policy ladder; checks documentation "$HEAPWISE_SOURCE_DIR/docs/API.md"; end 0; }

case_snapshot()
{
	leaky 8
	checks snapshot
	end 0
	equal "files" "$(ls heapwise.leaky.*.snapshot-[12].hwt | wc -l)" 2
	leaky 4 --trace named.hwt
	checks snapshot
	end 0
	equal "files" "$(ls named.snapshot-[12].hwt | wc -l)" 2
}

# Another process writes the trace that is served.
case_follow()
{
	"$HEAPWISE" run -q -o growing.hwt -- "$HEAPWISE_TARGETS/leaky" 10 &
	local writer=$!
	sleep 1.5
	rm -f url
	"$HEAPWISE" serve --print-url growing.hwt >url 2>stderr &
	server=$!
	until_true test -s url
	SERVE_URL=$(head -1 url)
	export SERVE_URL
	checks follow growing.hwt
	wait $writer
	says stderr "still being written"
	kill -INT "$server"
	wait "$server"
	equal "exit status" "$?" 0
}

# Who ends heapwise ends the program, and the server with it.
case_terminated()
{
	leaky 60
	sleep 1
	kill -TERM "$server"
	wait "$server"
	equal "exit status" "$?" 143
}

# drop FILE   onto the page of a program that has ended
drop()
{
	until_true grep -q "has ended" stderr
	checks drop "$1"
}

# A trace that is still being read when the server ends, also if that is because the program died of a signal.
case_dropped()
{
	mkdir temporary
	export TMPDIR=$work/temporary
	"$HEAPWISE-synth" --chunks 1M --points 10k -o big.hwt >out 2>&1 || fail "synth"
	watch -q true
	drop big.hwt
	end 0
	equal "what is left of it" "$(ls -I "heapwise-links-*" temporary)" ""
	watch -q sh -c 'kill -9 $$'
	drop big.hwt
	end 137
	equal "what is left of it after a signal" "$(ls -I "heapwise-links-*" temporary)" ""
}

# Nothing is allocated, the heap is another one, a port is taken, an address is none.
case_odd()
{
	local port
	watch sleep 1
	until_true grep -q "has ended" stderr
	python3 -c 'import os, urllib.request
url = os.environ["SERVE_URL"]
token = url.split("token=")[1]
asked = urllib.request.Request(url.split("/?")[0] + "/api/v1/status", headers={"Authorization": "Bearer " + token})
print(urllib.request.urlopen(asked).read().decode())' >status.json || fail "no status"
	end 0
	port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	watch --port "$port" sleep 1
	grep -q ":$port/" url || fail "not on port $port: $(cat url)"
	"$HEAPWISE" watch --web --port "$port" true >out 2>&1
	equal "status of a port that is taken" $? 3
	says out "in use"
	"$HEAPWISE" watch --web --port 70000 true >out 2>&1
	equal "status of no port" $? 2
	TMPDIR=/nowhere "$HEAPWISE" watch --web true >out 2>&1
	equal "status without a place for the trace" $? 3
	says out "temporary file"
	end 0
}

run_case "$1"
finish
