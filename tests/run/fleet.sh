#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fleet.sh CASE   runs in a store: real servers of ClickHouse, and what is asked of them is what local traces say.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/clickhouse.sh"
check=$(realpath "$(dirname "$0")")/fleet_check.py
cd "$work" || exit 1

# two_shards   starts them and makes the schema; the address is in $store
two_shards()
{
	needs clickhouse-server
	trap 'servers_stop; rm -rf "$work"' EXIT
	servers_start "$work/servers" 2 || { fail "no server"; finish; }
	export HEAPWISE_PASSWORD=pass:word
	store=clickhouse://fleet@127.0.0.1:${http_ports[0]},127.0.0.1:${http_ports[1]}/fleet
	"$HEAPWISE" fleet init --to "$store" --cluster fleet >init 2>&1 || fail "init: $(cat init)"
}

# make_runs BUILD COUNT SEED CHUNKS [OPTION...]   of one program, in a folder of that name
make_runs()
{
	local build=$1 count=$2 seed=$3 chunks=$4 i
	shift 4
	mkdir -p "$build"
	for ((i = 0; i < count; i++)); do
		"$HEAPWISE-synth" -o "$build/$i.hwt" --program 7 --points 40 --chunks "$chunks" --seed $((seed + i)) "$@" \
			>/dev/null || fail "synth"
	done
}

push()
{
	"$HEAPWISE" fleet push --to "$store" --format json "$@" >pushed 2>stderr
	status=$?
}

pushed()
{
	jq -r ".$1" pushed
}

ask()
{
	"$HEAPWISE" fleet "$@" --to "$store" --format json
}

# fill_store RUNS CHUNKS [OPTION...]
# Three builds of a program: the third allocates more; one host has larger runs; and a program that loses memory.
fill_store()
{
	local runs=$1 chunks=$2 i
	shift 2
	make_runs b1 "$runs" 1000 "$chunks" --access --types 4
	make_runs b2 "$runs" 2000 "$chunks" --access --types 4
	make_runs b3 "$runs" 3000 $((chunks * 2)) --access --types 4
	for build in b1 b2 b3; do
		# In the order of time, a day apart.
		touch -d "2026-03-0${build#b} 12:00 UTC" "$build"/*.hwt
		for ((i = 0; i < runs; i++)); do
			push --host "host$((i % 5))" --build "$build" --version "1.${build#b}" --label "run=$i" "$@" "$build/$i.hwt"
			equal "status of push" "$status" 0
			cat pushed >>all-pushed
		done
	done
	mkdir -p lost
	for i in 1 2; do
		"$HEAPWISE" run -o lost/$i.hwt -- "$HEAPWISE_TARGETS/leaks" lists >/dev/null 2>&1
	done
	push lost
	equal "status of push of leaks" "$status" 0
}

case_questions()
{
	two_shards
	fill_store 6 2000
	equal "runs" "$(ask runs -n 0 | jq '.rows | length')" 20
	# Both shards have some, none has all.
	for shard in 0 1; do
		at_least "runs of shard $shard" "$(server_ask $shard 'SELECT count() FROM fleet.runs')" 1
		at_most "runs of shard $shard" "$(server_ask $shard 'SELECT count() FROM fleet.runs')" 19
	done
	python3 "$check" questions "$HEAPWISE" "$store" b1 b2 b3 lost || fail "answers differ from local traces"
	# A second push changes nothing.
	ask top -n 0 | jq -cS '[.rows[] | [.place, .runs, .bytes, .allocations]] | sort' >before
	push b1 b2 b3 lost
	equal "status of the second push" "$status" 0
	equal "there already" "$(pushed there)" 20
	equal "sent again" "$(pushed runs)" 0
	ask top -n 0 | jq -cS '[.rows[] | [.place, .runs, .bytes, .allocations]] | sort' >after
	cmp before after || fail "a second push changed the store"
	case_questions_by_hand
}

# A thousand runs: the same answers, and each of them comes back as it was.
case_many()
{
	local runs=${FLEET_RUNS_OF_A_BUILD:-333} run build label same=0
	two_shards
	fill_store "$runs" 500 --trace
	jq -s -r '"pushed: \(length) runs, \(map(.points + .types + .findings + .timelines + .stacks + .names + .runs) | add) rows"' all-pushed
	equal "runs" "$(ask runs -n 0 | jq '.rows | length')" $((3 * runs + 2))
	python3 "$check" questions "$HEAPWISE" "$store" b1 b2 b3 lost || fail "answers differ from local traces"
	ask runs -n 0 | jq -r '.rows[] | select(.labels | startswith("run=")) | "\(.run) \(.build) \(.labels[4:])"' >all-runs
	while read -r run build label; do
		"$HEAPWISE" fleet fetch "$run" --to "$store" -o fetched.hwt || fail "fetch"
		cmp fetched.hwt "$build/$label.hwt" && same=$((same + 1))
	done <all-runs
	equal "traces that are as they were" "$same" $((3 * runs))
}

rows_of_nobody()
{
	server_ask 0 "SELECT count() FROM fleet.types WHERE push NOT IN (SELECT push FROM fleet.runs)"
}

# The same program by the same name, stacks by content: a run adds none that is known.
case_questions_by_hand()
{
	local i before
	cp b1/0.hwt copy.hwt
	push copy.hwt
	equal "a copy of a trace" "$(pushed there)" 1
	equal "runs with a label" "$(ask runs --label run=3 | jq '.rows | length')" 3
	equal "runs of a host" "$(ask runs -n 0 --host host0 --build b1 | jq '.rows | length')" 2
	equal "runs of a version" "$(ask runs -n 0 --build 1.2 | jq '.rows | length')" 6
	push --trace --build b9 --chunks "$work/more.hwt" # is not there
	equal "status without a trace" "$status" 3
	"$HEAPWISE-synth" -o more.hwt --program 7 --points 40 --chunks 3000 --seed 999 >/dev/null
	push --trace --chunks --build b9 more.hwt
	equal "chunks" "$(pushed chunks)" 3000
	equal "new stacks" "$(pushed stacks)" 0
	run=$(ask runs --build b9 | jq -r '.rows[0].run')
	"$HEAPWISE" fleet fetch "$run" --to "$store" -o fetched.hwt || fail "fetch"
	cmp fetched.hwt more.hwt || fail "the trace that was fetched is another one"
	"$HEAPWISE" report fetched.hwt >/dev/null || fail "report of what was fetched"
	run=$(ask runs --build b1 | jq -r '.rows[0].run')
	"$HEAPWISE" fleet fetch "$run" --to "$store" -o none.hwt 2>stderr && fail "fetched what is not there"
	says stderr "run $run was pushed without --trace, so the store has only its totals"
	equal "lines about a run without its trace" "$(wc -l <stderr)" 1
	[ ! -e none.hwt ] || fail "a file is left"
	"$HEAPWISE" fleet fetch "${run:0:9}" --to "$store" -o fetched.hwt 2>stderr
	equal "status without a trace in the store" $? 3
	says stderr "pushed without --trace"
	cmp fetched.hwt more.hwt || fail "a fetch that failed has changed the file that was there"
	# Old days go, whole; others stay.
	equal "dropped" "$("$HEAPWISE" fleet expire --keep 36000 --to "$store" | cut -d' ' -f2)" 0
	"$HEAPWISE" fleet expire --keep 1 --to "$store" >/dev/null || fail "expire"
	equal "runs after expire" "$(ask runs -n 0 | jq '.rows | length')" 3
	# What a push left yesterday goes; what one sends just now stays, and so does what runs have.
	server_ask 0 "INSERT INTO fleet.types (day, push) SELECT today(), (toUInt64(toUInt32(now())) - 90000) * 4294967296"
	server_ask 0 "INSERT INTO fleet.types (day, push) SELECT today(), toUInt64(toUInt32(now())) * 4294967296"
	equal "rows that no run has" "$(rows_of_nobody)" 2
	before=$(server_ask 0 "SELECT count() FROM fleet.types_all")
	"$HEAPWISE" fleet clean --to "$store" || fail "clean"
	for ((i = 0; i < 600; i++)); do # the server does it when it finds the time
		[ "$(rows_of_nobody)" != 1 ] || break
		sleep 0.2
	done
	equal "rows after clean" "$(server_ask 0 "SELECT count() FROM fleet.types_all")" $((before - 1))
	# More places than one statement can name.
	"$HEAPWISE-synth" -o wide.hwt --program 8 --points 15000 --chunks 30000 --seed 5 >/dev/null
	push --build wide wide.hwt
	equal "places of a wide run" "$(ask top -n 0 --build wide | jq '[.rows[] | select(.runs == 1)] | length')" 15000
	# A trace that is longer than it was.
	server_ask 0 "INSERT INTO fleet.runs (day, run, push, time, trace_bytes) SELECT today(), 1, 1, now(), 5"
	server_ask 0 "INSERT INTO fleet.traces (day, push, part, data) SELECT today(), 1, 0, '1234567'"
	"$HEAPWISE" fleet fetch 0000000000000001 --to "$store" -o none.hwt 2>stderr && fail "fetched a damaged trace"
	says stderr "the trace in the store is damaged: it has 7 bytes instead of 5"
	[ ! -e none.hwt ] || fail "a damaged file is left"
	error_midway
}

# An answer that breaks off after two megabytes, of which the server has sent some with status 200 unless it is told to wait: the
# trace's only part is there, and then the server finds that something is wrong.
error_midway()
{
	local one=clickhouse://fleet@127.0.0.1:${http_ports[0]}/torn
	"$HEAPWISE" fleet init --to "$one" >/dev/null || fail "init of a second database"
	server_ask 0 "INSERT INTO torn.runs (day, run, push, time, trace_bytes) SELECT today(), 2, 2, now(), 1048576"
	server_ask 0 "DROP TABLE torn.traces"
	server_ask 0 "CREATE VIEW torn.traces AS SELECT toUInt64(2) AS push, toUInt32(throwIf(number = 100000)) AS part, toString(if(number = 0, arrayStringConcat(arrayMap(x -> 'abcdefgh', range(131072))), '')) AS data FROM system.numbers WHERE number = 0 OR number = 100000 LIMIT 2"
	says <(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:${http_ports[0]}/" --data-binary "SELECT hex(data) FROM torn.traces WHERE push = 2 AND part = 0") "^200"
	refuses "reports: .*throwIf" "$HEAPWISE" fleet fetch 0000000000000002 --to "$one" -o none.hwt
	[ ! -e none.hwt ] || fail "half an answer is a file"
	server_ask 0 "DROP DATABASE torn"
}

# Half of what a push sends is there, and its end is not: nobody sees it, and the next push is whole.
case_shard_stopped()
{
	two_shards
	make_runs b1 40 100 2000
	push b1/?.hwt
	equal "status" "$status" 0
	first=$(pushed runs)
	equal "first runs" "$first" 10
	server_stop 1
	push b1
	equal "status with a shard that is away" "$status" 3
	says stderr "cannot reach 127.0.0.1:${http_ports[1]}"
	equal "sentences" "$(wc -l <stderr)" 1
	sent=$(pushed runs) lost=$(pushed failed)
	at_least "sent to the other shard" "$sent" 1
	at_least "not sent" "$lost" 1
	# A question about all runs is not answered by some of them.
	"$HEAPWISE" fleet top --to "$store" >out 2>stderr && fail "half of the store answered"
	[ ! -s out ] || fail "half an answer"
	server_start 1
	push b1
	equal "status after it is back" "$status" 0
	# All runs of shard 1 that were there before are there still.
	equal "sum" $(($(pushed runs) + $(pushed there))) 40
	equal "sent now" "$(pushed runs)" $((40 - first - sent))
	equal "runs" "$(ask runs -n 0 | jq '.rows | length')" 40
	python3 "$check" totals "$HEAPWISE" "$store" b1 || fail "totals differ from local traces"
}

has_rows()
{
	[ "$(server_ask 1 "SELECT count() > 0 FROM fleet.chunks")" = 1 ]
}

# The server goes while rows are on their way: some of a run's are there, the run is not.
case_shard_stopped_midway()
{
	two_shards
	make_runs b1 12 100 300000
	"$HEAPWISE" fleet push --to "$store" --chunks --format json b1 >pushed 2>stderr &
	pushing=$!
	until_true has_rows
	server_stop 1
	wait $pushing
	equal "status" "$?" 3
	says stderr "127.0.0.1:${http_ports[1]}"
	equal "sentences" "$(wc -l <stderr)" 1
	server_start 1
	at_least "rows of runs that are not seen" "$(server_ask 1 "SELECT count() FROM fleet.chunks WHERE push NOT IN (SELECT push FROM fleet.runs)")" 1
	python3 "$check" whole "$HEAPWISE" "$store" b1 || fail "half a run is seen"
	push --chunks b1
	equal "status after it is back" "$status" 0
	equal "runs" "$(ask runs -n 0 | jq '.rows | length')" 12
	equal "chunks that are seen" "$(server_ask 0 "SELECT count() FROM fleet.chunks_all WHERE push IN (SELECT push FROM fleet.runs)")" 3600000
	python3 "$check" whole "$HEAPWISE" "$store" b1 || fail "half a run is seen"
}

# Killed at any moment, whatever the servers have got: what is seen are whole runs.
case_push_killed()
{
	two_shards
	make_runs b1 30 100 20000
	for ms in 020 080 160 320 500; do
		timeout -s KILL 0.$ms "$HEAPWISE" fleet push --to "$store" --chunks b1 >/dev/null 2>&1
		python3 "$check" whole "$HEAPWISE" "$store" b1 || fail "half a run is seen, killed after $ms ms"
	done
	push --chunks b1
	equal "status" "$status" 0
	equal "runs" "$(ask runs -n 0 | jq '.rows | length')" 30
	python3 "$check" whole "$HEAPWISE" "$store" b1 || fail "half a run is seen"
	python3 "$check" totals "$HEAPWISE" "$store" b1 || fail "totals differ from local traces"
}

# refuses TEXT COMMAND...   status 3 or 2, one sentence
refuses()
{
	local text=$1
	shift
	"$@" >out 2>stderr </dev/null
	status=$?
	[ "$status" = 3 ] || [ "$status" = 2 ] || fail "status $status of $*"
	equal "lines of '$(cat stderr)'" "$(wc -l <stderr)" 1
	says stderr "$text"
	grep -q 'pass:word\|wrongone' stderr && fail "a password is told"
}

case_bad_input()
{
	local one i
	two_shards
	make_runs b1 1 100 2000
	one=127.0.0.1:${http_ports[0]}
	refuses "wrong name or password" "$HEAPWISE" fleet push --to "clickhouse://fleet:wrongone@$one/fleet" b1/0.hwt
	refuses "wrong name or password" "$HEAPWISE" fleet top --to "clickhouse://nobody@$one/fleet"
	refuses "cannot reach 127.0.0.1:1" "$HEAPWISE" fleet push --to clickhouse://fleet@127.0.0.1:1/fleet b1/0.hwt
	refuses "cannot reach" "$HEAPWISE" fleet runs --to clickhouse://fleet@no.such.host.invalid/fleet
	refuses "no Heapwise schema" "$HEAPWISE" fleet push --to "clickhouse://fleet@$one/other" b1/0.hwt
	refuses "must end with the name of a database" "$HEAPWISE" fleet push --to "clickhouse://fleet@$one/" b1/0.hwt
	refuses "'99999' is not a port" "$HEAPWISE" fleet push --to "clickhouse://fleet@127.0.0.1:99999/fleet" b1/0.hwt
	refuses "has no host" "$HEAPWISE" fleet push --to "clickhouse:///fleet" b1/0.hwt
	refuses "'zz' is not the id of a run" "$HEAPWISE" fleet fetch zz --to "$store" -o none.hwt
	refuses "has no run 12345678abcdef00" "$HEAPWISE" fleet fetch 12345678abcdef00 --to "$store" -o none.hwt
	refuses "fetch requires -o FILE" "$HEAPWISE" fleet fetch 1 --to "$store"
	refuses "expire requires --keep DAYS" "$HEAPWISE" fleet expire --to "$store"
	refuses "no runs of build 'nope'" "$HEAPWISE" fleet growth --old nope --new nada --to "$store"
	refuses "contains no traces" "$HEAPWISE" fleet push --to "$store" servers
	[ ! -e none.hwt ] || fail "a file of nothing is left"
	# An old schema is refused, brought up to date, and used.
	server_ask 0 "DROP TABLE fleet.meta" && "$HEAPWISE" fleet init --to "clickhouse://fleet@$one/fleet" --cluster fleet >/dev/null
	# Without --cluster the one that was said before stays, also where it is not known. Times of meta are seconds.
	server_ask 1 "DROP TABLE fleet.meta"
	sleep 1.1
	"$HEAPWISE" fleet init --to "$store" >/dev/null || fail "init without --cluster"
	for i in 0 1; do
		equal "cluster of server $i" "$(server_ask $i "SELECT value FROM fleet.meta WHERE key = 'cluster' ORDER BY made DESC LIMIT 1")" fleet
	done
	server_ask 0 "CREATE DATABASE old"
	server_ask 0 "CREATE TABLE old.meta (key String, value String, made DateTime) ENGINE = MergeTree ORDER BY (key, made)"
	server_ask 0 "CREATE TABLE old.runs (day Date, run UInt64, push UInt64, program UInt64, build UInt64, time DateTime) ENGINE = MergeTree PARTITION BY day ORDER BY (program, build, time, run)"
	server_ask 0 "INSERT INTO old.meta SELECT 'version', '0', now()"
	refuses "old schema 0" "$HEAPWISE" fleet push --to "clickhouse://fleet@$one/old" b1/0.hwt
	"$HEAPWISE" fleet init --to "clickhouse://fleet@$one/old" >/dev/null || fail "init of an old schema"
	"$HEAPWISE" fleet push --to "clickhouse://fleet@$one/old" b1/0.hwt >/dev/null || fail "push after init"
	equal "runs in the old store" "$(server_ask 0 'SELECT count() FROM old.runs')" 1
	server_ask 0 "INSERT INTO old.meta SELECT 'version', '99', now() + 1000"
	refuses "newer Heapwise" "$HEAPWISE" fleet runs --to "clickhouse://fleet@$one/old"
	# Half-written and damaged traces.
	head -c $(($(stat -c %s b1/0.hwt) * 2 / 3)) b1/0.hwt >half.hwt
	"$HEAPWISE" fleet push --to "$store" half.hwt >out 2>stderr
	equal "status of half a trace" "$?" 3
	says stderr "is incomplete"
	echo nonsense >not.hwt
	"$HEAPWISE" fleet push --to "$store" not.hwt b1/0.hwt >out 2>stderr
	equal "status of nonsense" "$?" 3
	equal "runs" "$(ask runs -n 0 | jq '.rows | length')" 1
	equal "points" "$(server_ask 0 "SELECT sum(bytes) FROM fleet.points_all")" "$(field b1/0.hwt .bytes)"
	# Names that would end a literal.
	push --host "o'brien\\" --label "k'=v\\'x" --build "b';DROP TABLE runs" --partial half.hwt
	equal "status of odd names" "$status" 0
	equal "odd host" "$(ask runs --host "o'brien\\" --label "k'=v\\'x" | jq -r '.rows[0].labels')" "k'=v\\'x"
	"$HEAPWISE" fleet push --to "clickhouse://fleet:pass:word@$one/fleet" b1 >/dev/null || fail "password in the address"
}

# The store is away: traces wait in the spool, in bounds, and are delivered when it is back. The program notices nothing.
case_spool()
{
	local away=clickhouse://fleet@127.0.0.1:1/fleet i
	needs clickhouse-server
	trap 'servers_stop; rm -rf "$work"' EXIT
	export HEAPWISE_PASSWORD=pass:word
	for i in 1 2 3; do
		"$HEAPWISE" run -q --sample 4K --push "$away" --spool spool --label n=$i -- \
			sh -c 'echo "$HEAPWISE_PASSWORD"; exit 7' >out 2>stderr
		equal "status of the program" "$?" 7
		equal "what the program sees of the password" "$(cat out)" ""
		says stderr "cannot reach 127.0.0.1:1"
	done
	equal "traces that wait" "$(ls spool/*.hwt | wc -l)" 3
	case_spool_refusals
	make_runs b1 3 100 20000
	# In order of age; the bound holds, and what goes is the oldest.
	touch -d "2026-01-01" b1/0.hwt
	size=$(stat -c %s b1/0.hwt)
	"$HEAPWISE" fleet push --to "$away" --spool bounded --spool-max $((size * 5 / 2)) \
		--host h7 --label "late=a
b" b1 >out 2>stderr
	equal "status with the store away" "$?" 3
	says stderr "spool is full"
	[ ! -e bounded/0.hwt ] && [ -e bounded/1.hwt ] && [ -e bounded/2.hwt ] || fail "the bound took the wrong ones: $(ls bounded)"
	cmp b1/1.hwt bounded/1.hwt || fail "a trace changed in the spool"
	# The same trace is kept once; another one of the same name has a name of its own.
	mkdir other && cp b1/2.hwt other/1.hwt
	"$HEAPWISE" fleet push --to "$away" --spool bounded --host h8 b1/1.hwt bounded/2.hwt other/1.hwt >out 2>stderr
	equal "traces in the spool" "$(cd bounded && echo *.hwt)" "1.1.hwt 1.hwt 2.hwt"
	servers_start "$work/servers" 1 || { fail "no server"; finish; }
	store=clickhouse://fleet@127.0.0.1:${http_ports[0]}/fleet
	"$HEAPWISE" fleet init --to "$store" >/dev/null || fail "init"
	"$HEAPWISE" run -q --push "$store" --spool spool -- sh -c : 2>stderr || fail "run: $(cat stderr)"
	equal "traces that still wait" "$(ls spool/*.hwt 2>/dev/null | wc -l)" 0
	equal "runs that arrived" "$(ask runs -n 0 | jq '.rows | length')" 4
	for i in 1 2 3; do
		equal "runs with the label of run $i" "$(ask runs --label n=$i | jq '.rows | length')" 1
	done
	[ -z "$(ls spool)" ] || fail "left in the spool: $(ls spool)"
	equal "sampled runs" "$(server_ask 0 'SELECT count() FROM fleet.runs WHERE sample_bytes = 4096')" 3
	# A program that allocates nothing leaves nothing.
	"$HEAPWISE" run -q --push "$store" --spool spool -- true 2>stderr || fail "run: $(cat stderr)"
	equal "traces of nothing" "$(ls spool/*.hwt 2>/dev/null | wc -l)" 0
	"$HEAPWISE" fleet push --to "$store" --spool bounded >/dev/null || fail "push of a spool"
	equal "runs" "$(ask runs -n 0 | jq '.rows | length')" 6
	equal "runs of a host that did not deliver" "$(ask runs --host h7 | jq '.rows | length')" 2
	equal "their label" "$(ask runs --host h7 --label "late=a
b" | jq '.rows | length')" 2
	[ -z "$(ls bounded)" ] || fail "left in the spool: $(ls bounded)"
}

# What a spool cannot do is told, and nobody else sees the password.
case_spool_refusals()
{
	local away=clickhouse://fleet@127.0.0.1:1/fleet option
	for option in --children "-o t.hwt"; do
		"$HEAPWISE" run --push "$away" --spool spool $option -- touch started 2>stderr
		equal "status with $option" "$?" 2
		says stderr "--spool cannot be combined with ${option% *}"
	done
	[ ! -e started ] || fail "the program was started all the same"
	refuses "cannot lock spool none/such" "$HEAPWISE" fleet push --to "$away" --spool none/such
	(
		unset HEAPWISE_PASSWORD
		"$HEAPWISE" run -q --push "clickhouse://fleet:wrong?one@127.0.0.1:1/fleet" -o shown.hwt -- \
			sh -c 'tr "\0" " " </proc/$PPID/cmdline' >out 2>stderr
	)
	says out "clickhouse://fleet:xxxxxxxxx@127.0.0.1:1/fleet"
	says stderr "remains in .*shown.hwt"
}

# sink   a server that keeps what it is sent: port in $port, requests in sink/N.head and sink/N.body
sink()
{
	mkdir -p sink
	python3 "$(dirname "$check")/http_sink.py" sink >sink.port 2>sink.log &
	sink_pid=$!
	trap 'kill $sink_pid 2>/dev/null; rm -rf "$work"' EXIT
	until_true test -s sink.port
	port=$(cat sink.port)
}

# What stands at the store's address is no ClickHouse, a proxy whose server is away, or one that never stops talking.
case_answers()
{
	local code where
	sink
	make_runs b1 1 100 2000
	for code in 302 404 500 502 503; do
		where=clickhouse://answer_$code@127.0.0.1:$port/fleet
		refuses "answered with HTTP status $code" "$HEAPWISE" fleet push --to "$where" b1/0.hwt
		refuses "answered with HTTP status $code" "$HEAPWISE" fleet top --to "$where"
		refuses "answered with HTTP status $code" "$HEAPWISE" fleet expire --keep 9 --to "$where"
		"$HEAPWISE" run -q --push "$where" -o pushed.hwt -- sh -c 'exit 7' 2>stderr
		equal "status of a program whose trace is refused with $code" "$?" 7
		says stderr "answered with HTTP status $code"
	done
	refuses "more than 1 MiB" "$HEAPWISE" fleet push --to "clickhouse://answer_200_endless@127.0.0.1:$port/fleet" b1/0.hwt
	refuses "answered with HTTP status 500" "$HEAPWISE" fleet push --to "clickhouse://answer_500_endless@127.0.0.1:$port/fleet" b1/0.hwt
	refuses "old schema 0" "$HEAPWISE" fleet push --to "clickhouse://answer_200@127.0.0.1:$port/fleet" b1/0.hwt
	"$HEAPWISE" fleet init --to "clickhouse://answer_200_torn@127.0.0.1:$port/fleet" >out 2>stderr || fail "init: $(cat stderr)"
}

# go_sum TYPE FILE   the total that pprof reads
go_sum()
{
	go tool pprof -raw -sample_index="$1" "$2" 2>/dev/null |
		awk -v want="$1" '/^Samples:/ { getline; for (i = 1; i <= NF; i++) { split($i, n, "/"); if (n[1] == want) at = i } next }
			/^Locations/ { exit } $1 ~ /^[0-9]+$/ { sum += $at } END { printf "%.0f", sum }'
}

case_pprof()
{
	needs go golang-go
	export HOME=$work
	sink
	make_runs b1 2 100 5000
	"$HEAPWISE" fleet push --to "pprof+http://127.0.0.1:$port" --host h1 --build cafe --version 1.2 --label "team=a,b" b1 \
		>/dev/null || fail "push to Pyroscope"
	"$HEAPWISE" fleet push --to "pprof+http://who:secret@127.0.0.1:$port/api/profiles/writeraw" --host h1 --label "odd key=x" b1/0.hwt \
		>/dev/null || fail "push to Parca"
	for i in 0 1; do
		says sink/$i.head "^POST /ingest\?name=synthetic%7Bhost%3Dh1%2Cbuild_id%3Dcafe%2Cversion%3D1\.2%2Cteam%3Da_b%7D&from=[0-9]+&until=[0-9]+&format=pprof"
	done
	says sink/2.head "^POST /api/profiles/writeraw"
	says sink/2.head "^Authorization: Basic $(printf who:secret | base64)"
	python3 "$(dirname "$check")/http_sink.py" unpack sink || fail "what was sent cannot be read"
	jq -r '.series[0].labels.labels[] | .name + "=" + .value' sink/2.body >labels
	says labels "^__name__=memory"
	says labels "^job=synthetic"
	says labels "^odd_key=x"
	for i in 0 1 2; do
		equal "alloc_space of profile $i" "$(go_sum alloc_space sink/$i.pprof)" "$(field b1/$((i % 2)).hwt .bytes)"
		equal "alloc_objects of profile $i" "$(go_sum alloc_objects sink/$i.pprof)" "$(field b1/$((i % 2)).hwt .allocations)"
		equal "inuse_space of profile $i" "$(go_sum inuse_space sink/$i.pprof)" "$(field b1/$((i % 2)).hwt .kept.bytes)"
		equal "inuse_objects of profile $i" "$(go_sum inuse_objects sink/$i.pprof)" "$(field b1/$((i % 2)).hwt .kept.chunks)"
	done
	refuses "HTTP status 404" "$HEAPWISE" fleet push --to "pprof+http://127.0.0.1:$port/no/such" b1/0.hwt
	refuses "cannot reach 127.0.0.1:1" "$HEAPWISE" fleet push --to pprof+http://127.0.0.1:1/ingest b1/0.hwt
}

# Pyroscope's name of a series, NAME{key=value,...}, is one text: what would end a part of it cannot be in one.
case_names()
{
	local odd="o,d{d}=n a&m" path
	sink
	cp "$HEAPWISE_TARGETS/leaks" "$odd"
	"$HEAPWISE" run -q --no-symbols -o odd.hwt -- "./$odd" lists >/dev/null 2>&1
	"$HEAPWISE" fleet push --to "pprof+http://127.0.0.1:$port" --host "h{1}" --build "b=2" --label "9 lives=x,y={z}" --label "empty=" odd.hwt >/dev/null 2>stderr ||
		fail "push: $(cat stderr)"
	path=$(sed -n '1s/^POST //p' sink/0.head)
	equal "series" "$(python3 -c 'import sys, urllib.parse as u; print(u.parse_qs(u.urlsplit(sys.argv[1]).query)["name"][0])' "$path")" \
		"o_d_d__n a&m{host=h_1_,build_id=b_2,__lives=x_y__z_}"
	# No ClickHouse, but something that answers.
	refuses "HTTP status 404, but not as ClickHouse does" "$HEAPWISE" fleet runs --to "clickhouse://127.0.0.1:$port/fleet"
	refuses "HTTP status 404, but not as ClickHouse does" "$HEAPWISE" fleet push --to "clickhouse://127.0.0.1:$port/fleet" odd.hwt
}

# Inserts that a table has seen: each made a part of level 0, which stays a while when it is merged.
inserts()
{
	server_ask 0 "SELECT count() FROM system.parts WHERE database = 'fleet' AND table = '$1' AND match(name, '_0$')"
}

# Three runs of three programs with 40 MB of stacks each: the second makes the batch full, the third goes by itself.
case_batches()
{
	local i
	needs clickhouse-server
	trap 'servers_stop; rm -rf "$work"' EXIT
	servers_start "$work/servers" 1 || { fail "no server"; finish; }
	export HEAPWISE_PASSWORD=pass:word
	store=clickhouse://fleet@127.0.0.1:${http_ports[0]}/fleet
	"$HEAPWISE" fleet init --to "$store" >/dev/null || fail "init"
	for i in 1 2 3; do
		"$HEAPWISE-synth" -o "$i.hwt" --program "2$i" --points 50000 --chunks 50000 --seed "$i" >/dev/null || fail "synth"
	done
	touch -d "2026-03-01 12:00 UTC" ?.hwt
	push 1.hwt 2.hwt 3.hwt
	equal "status" "$status" 0
	equal "runs" "$(pushed runs)" 3
	equal "stacks" "$(pushed stacks)" 150000
	equal "inserts of runs" "$(inserts runs)" 2
	at_least "bytes of stacks" "$(server_ask 0 "SELECT sum(data_uncompressed_bytes) FROM system.parts WHERE active AND database = 'fleet' AND table = 'stacks'")" 80000000
	equal "points" "$(server_ask 0 "SELECT count(), sum(bytes) FROM fleet.points")" \
		"150000	$(for i in 1 2 3; do field $i.hwt .bytes; done | awk '{ sum += $1 } END { printf "%.0f", sum }')"
}

run_case "$1"
finish
