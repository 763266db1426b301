#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# accesses.sh known|sqlite3|containers|children|exec|killed|missing   recordings with --access valgrind: what
# was accessed equals what the target says, and what DHAT says of the same command.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
export HOME=$work

needs_valgrind()
{
	needs valgrind
	[ -d "$(dirname "$HEAPWISE")/valgrind" ] || lacks valgrind
}

# chunks TRACE   "size reads writes read_bytes written_bytes low high covered shared" of each chunk that was
# measured, then "late CHUNK" for each whose accesses are not within its life
chunks()
{
	"$HEAPWISE" trace dump "$1" | awk '
		$1 !~ /^#/ && $3 ~ /^(malloc|calloc|realloc|memalign|new|new_array)$/ { size[$6] = $5; born[$6] = $1 }
		$1 !~ /^#/ && $3 ~ /^(free|realloc_free|delete|delete_array)$/ { died[$6] = $1 }
		$2 == "access" && $1 == "#" && $4 == "first_ns" {
			for (i = 4; i < NF; i += 2)
				v[$i] = $(i + 1)
			print size[$3], v["reads"], v["writes"], v["read_bytes"], v["written_bytes"],
				v["low"], v["high"], v["covered"], v["flags"] ~ /shared/ ? 1 : 0
			if (v["reads"] + v["writes"] && (v["first_ns"] < born[$3] ||
			    v["last_ns"] < v["first_ns"] || (died[$3] && v["last_ns"] > died[$3])))
				print "late", $3
		}'
}

# points TRACE   "blocks bytes read written" per allocation point, as DHAT counts: malloc(0) is one byte; a
# realloc goes on with the block that it was given, and its copy is read and written
points()
{
	"$HEAPWISE" trace dump "$1" | awk '
		function min(a, b) { return a < b ? a : b }
		$1 !~ /^#/ && $3 == "realloc_free" && $8 == 1 { old = $6; old_size = $5 }
		$1 !~ /^#/ && $3 ~ /^(malloc|calloc|realloc|memalign|new|new_array)$/ {
			at = $7
			if ($3 == "realloc" && old != "") {
				at = point[old]
				read[at] += min(old_size, $5)
				written[at] += min(old_size, $5)
				old = ""
			}
			point[$6] = at
			blocks[at]++
			bytes[at] += $5 ? $5 : 1
		}
		$2 == "access" && $1 == "#" && $4 == "first_ns" {
			for (i = 4; i < NF; i += 2)
				v[$i] = $(i + 1)
			read[point[$3]] += v["read_bytes"]
			written[point[$3]] += v["written_bytes"]
		}
		END { for (at in blocks) print blocks[at], bytes[at], read[at] + 0, written[at] + 0 }' | sort
}

# untouched TRACE   "blocks size bytes" of the points whose blocks have one size of 2 to 1024 bytes and were
# never given to realloc: how many bytes of that size no block had accessed
untouched()
{
	"$HEAPWISE" trace dump "$1" | awk '
		$1 !~ /^#/ && $3 ~ /^(malloc|calloc|realloc|memalign|new|new_array)$/ {
			point[$6] = $7
			blocks[$7]++
			if (blocks[$7] == 1)
				size[$7] = $5
			else if (size[$7] != $5)
				left_out[$7] = 1
			if ($3 == "realloc" && moved)
				left_out[$7] = 1
			moved = 0
		}
		$1 !~ /^#/ && $3 == "realloc_free" { left_out[point[$6]] = moved = 1 }
		$2 == "access" && $1 == "#" && $4 == "first_ns" {
			for (i = 4; i < NF; i += 2)
				v[$i] = $(i + 1)
			count = v["accessed"] == "-" ? 0 : split(v["accessed"], ranges, ",")
			if (!count && v["covered"] > 0)
				left_out[point[$3]] = 1
			for (i = 1; i <= count; i++) {
				split(ranges[i], ends, "-")
				for (k = ends[1]; k <= (ends[2] == "" ? ends[1] : ends[2]); k++)
					if (k < 1024)
						accessed[point[$3] " " k] = 1
			}
		}
		END {
			for (at in blocks) {
				if (left_out[at] || size[at] < 2 || size[at] > 1024)
					continue
				for (k = never = 0; k < size[at]; k++)
					never += !((at " " k) in accessed)
				print blocks[at], size[at], never
			}
		}' | sort
}

# stacks TRACE   allocations, bytes and the stack of each point, innermost frame first
stacks()
{
	"$HEAPWISE" report --no-symbols --format json --by bytes -n 0 "$1" | jq -r '.top.bytes[] |
		"\(.allocations) \(.bytes) \([.stack[] | "\(.module | sub(".*/"; "") | sub("[.]so[.0-9]*$"; ".so"))+\(.offset)"] | join(" "))"' |
		sort
}

# same_as_dhat MOST   at most so many points may differ in bytes read: atomic operations, which DHAT counts as
# two reads, and paths given to system calls, of which it leaves out two bytes
same_as_dhat()
{
	local most=$1
	shift
	record trace --access valgrind --coverage -- "$@" >recorded.out </dev/null
	equal "exit status" "$status" 0
	"$@" >plain.out </dev/null
	cmp plain.out recorded.out || fail "the program's output is not the same"
	whole trace
	valgrind --run-libc-freeres=no --run-cxx-freeres=no "$@" >/dev/null 2>memcheck </dev/null
	usage=$(sed -n 's/.*total heap usage: //p' memcheck | tr -d ',')
	equal "heap usage" "$(field trace .allocations) allocs $(field trace .frees) frees $(
		field trace .bytes) bytes allocated" "$usage"
	# The same stacks as without Valgrind; files may go by another of their names.
	record plain -- "$@" >/dev/null </dev/null
	stacks plain >plain.stacks
	stacks trace >our.stacks
	at_least "points" "$(grep -c '+[0-9]' our.stacks)" 10
	diff plain.stacks our.stacks >differences || fail "stacks differ (< plain): $(head -5 differences)"
	valgrind --tool=dhat --num-callers=500 --run-libc-freeres=no --run-cxx-freeres=no \
		--dhat-out-file=dhat.json "$@" >/dev/null 2>dhat </dev/null
	jq -r '.pps[] | "\(.tbk) \(.tb) \(.rb) \(.wb)"' dhat.json | sort >dhat.points
	points trace >our.points
	record fast --access valgrind -- "$@" >/dev/null </dev/null
	points fast >fast.points
	diff our.points fast.points >differences ||
		fail "bytes per point differ without coverage (>): $(head -5 differences)"
	cut -d' ' -f1,2,4 dhat.points | sort >dhat.writes
	cut -d' ' -f1,2,4 our.points | sort >our.writes
	diff dhat.writes our.writes >differences ||
		fail "blocks, bytes and bytes written per point differ (< DHAT): $(head -5 differences)"
	different=$(comm -23 our.points dhat.points | wc -l)
	at_most "points that differ in bytes read" "$different" "$most"
	read -r dhat_read our_read <<<"$(jq '[.pps[].rb] | add' dhat.json) $(awk '{ n += $3 } END { print n }' our.points)"
	at_least "bytes read in thousandths of DHAT's" $((our_read * 1000 / dhat_read)) 998
	at_most "bytes read in thousandths of DHAT's" $((our_read * 1000 / dhat_read)) 1001
	jq -r '.pps[] | select(.acc) | .tbk as $blocks | (.tb / .tbk) as $size | select($size > 1) |
		reduce .acc[] as $n ({run: 1, zero: 0}; if $n < 0 then .run = -$n else
			(if $n == 0 then .zero += .run else . end) | .run = 1 end) | "\($blocks) \($size) \(.zero)"' \
		dhat.json | sort >dhat.untouched
	untouched trace >our.untouched
	diff dhat.untouched our.untouched >differences ||
		fail "bytes never accessed differ (< DHAT): $(head -5 differences)"
	echo "$(wc -l <our.points) points, $different differ in bytes read; $our_read bytes read (DHAT $dhat_read);" \
		"$(wc -l <our.untouched) points with equal untouched bytes"
	at_least "points of several blocks with bytes that none accessed" \
		"$(awk '$1 > 1 && $3 > 0' our.untouched | wc -l)" 3
	"$HEAPWISE" scores --no-symbols -n 0 --format json trace | jq -r '.points[] | select(.chunk_bytes > 1) |
		"\(.mapped) \(.chunk_bytes) \(.untouched)"' | sort >scores.untouched
	comm -13 scores.untouched our.untouched >differences
	[ ! -s differences ] || fail "scores lack untouched bytes: $(head -5 differences)"
}

case $1 in
known)
	needs_valgrind
	record trace --access valgrind --coverage -- "$HEAPWISE_TARGETS/touches" >wanted
	equal "exit status" "$status" 0
	whole trace
	chunks trace >got
	grep '^late' got && fail "accesses outside of a chunk's life"
	while read -r line; do
		equal "block of ${line%% *} bytes" "$(grep "^${line%% *} " got)" "$line"
	done <wanted
	at_least "blocks" "$(wc -l <wanted)" 35
	# Coverage is measured on request only. Without it most accesses take a shorter way.
	record plain --access valgrind -- "$HEAPWISE_TARGETS/touches" >/dev/null
	chunks plain >got
	grep '^late' got && fail "accesses outside of a chunk's life"
	while read -r size reads writes read_bytes written_bytes low high _ shared; do
		equal "block of $size bytes, without coverage" "$(grep "^$size " got)" \
			"$size $reads $writes $read_bytes $written_bytes $low $high - $shared"
	done <wanted
	;;
sqlite3)
	needs_valgrind
	needs sqlite3
	{
		echo "create table t(id integer primary key, name text, score real); begin;"
		seq 1 300 | awk '{ printf "insert into t values(%d, '\''name-%d'\'', %d.5);\n", $1, $1 * 7919 % 1000, $1 % 37 }'
		echo "commit; create index i on t(name);"
		echo "select name, count(*), max(score) from t group by name order by 2 desc, 1 limit 5; vacuum;"
	} >input
	same_as_dhat 20 sqlite3 -batch :memory: ".read input"
	;;
containers)
	needs_valgrind
	same_as_dhat 0 "$HEAPWISE_TARGETS/containers" 2000
	;;
children)
	needs_valgrind
	for kind in fork vfork spawn clone; do
		export HEAPWISE_EXPECT=$work/expected.$kind
		record "trace.$kind" --access valgrind -- "$HEAPWISE_TARGETS/children" "$kind" 5
		equal "$kind: exit status" "$status" 0
		whole "trace.$kind"
		says stderr "not recorded: 5 (children|exec)"
	done
	unset HEAPWISE_EXPECT
	# With --children each has a trace of its own, with its accesses.
	record folder --access valgrind --children -- sh -c "'$HEAPWISE_TARGETS/touches' >wanted; true"
	equal "exit status" "$status" 0
	trace=$(echo folder/sh.*.hwt folder/*.hwt | tr ' ' '\n' | xargs grep -l touches | head -1)
	at_least "measured blocks of the child" "$(chunks "${trace:-none}" | wc -l)" 22
	;;
exec)
	needs_valgrind
	record trace --access valgrind -- env A=1 nice "$HEAPWISE_TARGETS/touches" >wanted
	equal "exit status" "$status" 0
	equal "images" "$(field trace .images)" 3
	"$HEAPWISE" trace dump --image 0 trace >first
	grep -q '^# access' first || fail "no accesses of the program before exec"
	"$HEAPWISE" trace dump --image 2 trace | grep -c '^# access [0-9]' >count
	at_least "accesses after exec" "$(cat count)" 22
	# Programs call themselves by the name that the user wrote.
	mkdir bin
	ln -s "$(command -v ls)" bin/called
	printf '#!/bin/sh\necho "$0"\n' >bin/script
	chmod +x bin/script
	PATH=$PWD/bin:$PATH
	for name in called bin/called "$PWD/bin/called"; do
		"$name" no/such/file 2>plain
		"$HEAPWISE" run -q --access valgrind --no-symbols -o trace -- "$name" no/such/file 2>got
		equal "exit status of $name" "$?" 2
		cmp plain got || fail "$name says $(cat got)"
	done
	equal "a script's name" "$("$HEAPWISE" run -q --access valgrind --no-symbols -o trace -- script)" "$PWD/bin/script"
	;;
killed)
	needs_valgrind
	record trace --access valgrind -- sh -c 'kill -KILL $$'
	equal "exit status" "$status" 137
	"$HEAPWISE" report trace >report || fail "the trace cannot be read"
	record trace2 --access valgrind -- sh -c 'kill -SEGV $$'
	equal "exit status" "$status" 139
	"$HEAPWISE" trace dump trace2 | grep -q '^# access' || fail "no accesses of a program that a signal ended"
	;;
missing)
	mkdir -p bin empty
	cp "$HEAPWISE" bin/heapwise
	bin/heapwise run --access valgrind true 2>stderr
	equal "status without the tool" "$?" 3
	says stderr "install valgrind .*apt-get install valgrind"
	needs_valgrind
	ln -s "$(realpath "$(dirname "$HEAPWISE")")/valgrind" bin/valgrind
	PATH=$work/empty bin/heapwise run --access valgrind /bin/true 2>stderr
	equal "status without valgrind" "$?" 3
	says stderr "valgrind is not in PATH.*install"
	for option in --mmap --sample=1000; do
		"$HEAPWISE" run --access valgrind $option true 2>stderr
		equal "status of $option" "$?" 2
	done
	if [ -z "${HEAPWISE_SANITIZE-}" ]; then
		printf 'int main(void) { return 0; }\n' >built.c
		"$HEAPWISE" cc -o built built.c || fail "cannot compile"
		"$HEAPWISE" run --access valgrind ./built 2>stderr
		equal "status of a program with checks" "$?" 3
		says stderr "'.*built' was built with 'heapwise cc'; use --access exact"
		equal "lines about a program with checks" "$(wc -l <stderr)" 1
	fi
	"$HEAPWISE" run --access off --coverage true 2>stderr
	equal "status of --coverage without accesses" "$?" 2
	;;
esac
finish
