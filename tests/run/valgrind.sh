#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# valgrind.sh sqlite3|jq|containers   the same command under Heapwise, memcheck and DHAT: allocations,
# frees and bytes equal memcheck's "total heap usage", the peak equals DHAT's t-gmax, to the unit.
. "$(dirname "$0")/lib.sh"

needs valgrind
cd "$work" || exit 1

input_sqlite3()
{
	echo "create table t(id integer primary key, name text, score real);"
	echo "begin;"
	seq 1 300 | awk '{ printf "insert into t values(%d, '\''name-%d'\'', %d.5);\n", $1, $1 * 7919 % 1000, $1 % 37 }'
	echo "commit; create index i on t(name);"
	echo "select a.name, count(*), max(b.score) from t a join t b on a.score = b.score"
	echo "group by a.name order by 2 desc, 1 limit 5; delete from t where id % 3 = 0; vacuum;"
}

input_jq()
{
	seq 1 300 | awk '{ printf "{\"id\":%d,\"tags\":[\"a%d\",\"b\"],\"nested\":{\"x\":%d.25}}\n", $1, $1 % 17, $1 * 3 }'
}

case $1 in
sqlite3)
	input_sqlite3 >input
	command=(sqlite3 -batch :memory: ".read input")
	;;
jq)
	input_jq >input
	command=(jq -s "map(select(.id % 2 == 0) | {id, x: .nested.x, t: (.tags | join(\",\"))}) | group_by(.t)" input)
	;;
containers)
	command=("$HEAPWISE_TARGETS/containers" 2000)
	;;
esac
needs "${command[0]}"
export HOME=$work

"${command[@]}" >plain.out 2>&1 </dev/null || fail "the command itself fails"
record trace -- "${command[@]}" >recorded.out </dev/null
equal "exit status" "$status" 0
cmp plain.out recorded.out || fail "the program's output is not the same"
whole trace
for again in 2 3; do
	record "trace$again" -- "${command[@]}" >/dev/null </dev/null
	for name in allocations frees bytes peak.bytes kept.bytes; do
		equal "$name of run $again" "$(field "trace$again" ".$name")" "$(field trace ".$name")"
	done
done

valgrind --run-libc-freeres=no --run-cxx-freeres=no "${command[@]}" >/dev/null 2>memcheck </dev/null
usage=$(sed -n 's/.*total heap usage: //p' memcheck | tr -d ',')
ours="$(field trace .allocations) allocs $(field trace .frees) frees $(field trace .bytes) bytes allocated"
equal "heap usage" "$ours" "$usage"

# DHAT counts malloc(0) as one byte, so its peak is compared with one that is computed the same way.
valgrind --tool=dhat --dhat-out-file=dhat.json "${command[@]}" >/dev/null 2>dhat </dev/null
dhat_peak=$(sed -n 's/.*At t-gmax: *\([0-9,]*\) bytes.*/\1/p' dhat | tr -d ',')
events trace | awk '
	{ sign = 1 }
	'"$is_free"' { sign = -1 }
	{ live += sign * $3; dhat += sign * ($3 ? $3 : 1) }
	live > peak { peak = live }
	dhat > dhat_peak { dhat_peak = dhat }
	END { print peak, dhat_peak }' >peaks
read -r peak as_dhat <peaks
equal "peak" "$(field trace .peak.bytes)" "$peak"
equal "peak as DHAT counts" "$as_dhat" "$dhat_peak"
echo "$usage; peak $peak (DHAT $dhat_peak)"
finish
