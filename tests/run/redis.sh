#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# redis.sh CASE   redis-server, which allocates by jemalloc, under a bounded load of redis-benchmark: the trace has what DHAT
# counts for the same load, and the server does what it does.
#   small   1,000 requests of each kind, and no DHAT
#   dhat    10,000 of each; DHAT's total of blocks and bytes
. "$(dirname "$0")/lib.sh"
needs redis-server
needs redis-benchmark redis-tools
needs redis-cli redis-tools
cd "$work" || exit 1
server=

# Whatever happens, no server stays behind.
stop()
{
	[ -z "$server" ] || { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; }
	server=
	rm -rf "$work"
}
trap stop EXIT

ask() { redis-cli -s "$work/$socket" "$@" 2>/dev/null; }

# start SOCKET COMMAND...   the server, once it answers: no files, no other port, few clock ticks
start()
{
	socket=$1
	shift
	"$@" redis-server --port 0 --unixsocket "$work/$socket" --save "" --appendonly no --hz 1 --dir "$work" \
		--daemonize no --loglevel warning >"$socket.out" 2>"$socket.err" &
	server=$!
	for ((i = 0; i < 600; i++)); do
		[ "$(ask ping)" = PONG ] && return
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	fail "the server does not answer: $(tail -3 "$socket.err")"
}

# load COUNT   one client, one request at a time, and keys by a seed that is always the same
load()
{
	redis-benchmark -s "$work/$socket" -c 1 -n "$1" -d 2001 -t set,get,lpush,hset,zadd -q >"$socket.load" 2>&1 ||
		fail "the load failed: $(tail -2 "$socket.load")"
	ask rpush after a b c >"$socket.answer"
	ask get key:__rand_int__ | wc -c >>"$socket.answer"
	ask dbsize >>"$socket.answer"
	ask llen mylist >>"$socket.answer"
	ask shutdown nosave
	wait "$server"
	equal "status of the server ($socket)" $? 0
	server=
}

case_small()
{
	start plain
	load 1000
	start recorded "$HEAPWISE" run --no-symbols -o trace.hwt --
	load 1000
	equal "answers" "$(cat recorded.answer)" "$(cat plain.answer)"
	at_least "allocations" "$(field trace.hwt .allocations)" 10000
	whole trace.hwt
	# Each pushed value is kept, in blocks that hold several.
	at_least "peak" "$(field trace.hwt .peak.bytes)" $((1000 * 2001))
}

# Both count what the program asks for. They differ by what the clock makes the server do (its timer runs more often
# while it is slower), and by the loader's own blocks.
case_dhat()
{
	needs valgrind
	start recorded "$HEAPWISE" run --no-symbols -o trace.hwt --
	load 10000
	start counted valgrind --tool=dhat --dhat-out-file="$work/dhat.json" --soname-synonyms=somalloc='libjemalloc*'
	load 10000
	equal "answers" "$(cat counted.answer)" "$(cat recorded.answer)"
	blocks=$(jq '[.pps[].tbk] | add' dhat.json)
	bytes=$(jq '[.pps[].tb] | add' dhat.json)
	echo "heapwise $(field trace.hwt .allocations) blocks, $(field trace.hwt .bytes) bytes; DHAT $blocks, $bytes"
	# Within half a percent.
	at_most "difference of blocks, of 1,000" "$(difference "$(field trace.hwt .allocations)" "$blocks")" 5
	at_most "difference of bytes, of 1,000" "$(difference "$(field trace.hwt .bytes)" "$bytes")" 5
	whole trace.hwt
}

difference() { echo $((($1 > $2 ? $1 - $2 : $2 - $1) * 1000 / $2)); }

run_case "$1"
finish
