#!/bin/bash
# SPDX-License-Identifier: MIT
# heapwise import of heaptrack's files: small ones with known answers, and recordings, whose numbers are
# those of heaptrack_print.
. "$(dirname "$0")/../run/lib.sh"
seeds=$HEAPWISE_SOURCE_DIR/tests/fuzz/seeds/fuzz_heaptrack
cd "$work" || exit 1

# import FILE   makes t.hwt
import()
{
	rm -f t.hwt t.hwt.json
	"$HEAPWISE" import --from heaptrack -o t.hwt "$1" 2>stderr
	equal "status of the import of $1" "$?" 0
}

# stack_of CALLS   functions or offsets of the point with so many bytes, innermost first
stack_of()
{
	"$HEAPWISE" report --no-symbols --format json --depth 0 t.hwt 2>/dev/null | jq -r --argjson bytes "$1" \
		'[.. | objects | select(.stack? and .bytes == $bytes)][0].stack[] | "\(.function // "?") \(.module) \(.file // "?"):\(.line // 0) \(.inlined) \(.offset)"'
}

import "$seeds/raw"
says stderr '4 allocations, 4 frees, 3 stacks'
equal "numbers of raw" "$(field t.hwt '[.allocations, .bytes, .frees, .peak.bytes, .peak.chunks, .peak.time_ns, .kept.bytes, .unknown_frees, .implied_frees, .points, .rss.max_bytes] | @csv')" \
	"4,161,4,113,2,20000000,48,1,1,3,65536"
equal "command" "$(field t.hwt .command)" "/bin/prog --fast"
equal "program" "$(field t.hwt .program)" "/bin/prog"
equal "complete" "$(field t.hwt .complete)" true
# one address, two libraries that were there one after the other
equal "stack of the first library" "$(stack_of 64 | cut -d' ' -f2,5 | paste -sd' ')" "/lib/a.so 2048 /bin/prog 256"
equal "stack of the second library" "$(stack_of 65 | cut -d' ' -f2,5 | paste -sd' ')" "/lib/b.so 2048 /bin/prog 256"
"$HEAPWISE" trace dump --no-symbols t.hwt >dump 2>/dev/null || "$HEAPWISE" trace dump t.hwt >dump 2>/dev/null
says dump 'malloc +0x5000 +16'
says dump 'free +0x9999'

import "$seeds/interpreted"
equal "numbers of interpreted" "$(field t.hwt '[.allocations, .bytes, .frees, .peak.bytes, .kept.bytes, .unknown_frees, .points] | @csv')" \
	"4,69,3,69,37,1,3"
equal "inlined frames" "$(stack_of 32)" "inner ./prog inner.h:12 true 4194560
main ./prog main.c:7 false 4194560"
says <(field t.hwt '.caveats[]') 'a free ends the newest chunk'

import "$seeds/old"
equal "numbers of the first format" "$(field t.hwt '[.allocations, .bytes, .frees, .kept.bytes] | @csv')" "2,24,1,8"
equal "name in the first format" "$(stack_of 24)" "main ./prog ?:0 false 4194560"

# Compressed, by either; recognised by what is inside; and broken off.
gzip -c "$seeds/interpreted" >packed
import packed
equal "allocations of gzip" "$(field t.hwt .allocations)" 4
cp packed named.zst
"$HEAPWISE" import -o t.hwt named.zst 2>stderr
equal "status of import, with a wrong name" "$?" 0
if has zstd; then
	zstd -qc "$seeds/raw" >packed
	import packed
	equal "allocations of zstd" "$(field t.hwt .allocations)" 4
	# many lines, so that half a file says something
	{ cat "$seeds/raw"; awk 'BEGIN { srand(1); for (i = 0; i < 200000; i++) printf "+ %x 1 %x\n", rand() * 4096, 65536 + i * 4096 }'; } >many
	zstd -qc many | head -c 400000 >packed
	import packed
	says stderr 'the file is truncated'
	equal "complete" "$(field t.hwt .complete)" false
	at_least "allocations of half a file" "$(field t.hwt .allocations)" 1000
	gzip -c many | head -c 400000 >packed
	import packed
	equal "complete of half a gzip" "$(field t.hwt .complete)" false
fi
printf '%s\n' 'HeapLog|version=4|address|size|count|type_id|tick|freed_tick|callgraph_node' '10, 1, 1, 0, 1, 2, A' >heaplog
printf '%s\n' '0 19 start main' '0 22 start malloc 32' '0 22 exit malloc 842c008 141677579' '0 19 exit main' >emad
for file in heaplog emad; do
	"$HEAPWISE" import -o t.hwt "$file" 2>stderr
	equal "status of import of $file" "$?" 0
	rm -f t.hwt.json
	equal "allocations of $file" "$(field t.hwt .allocations)" 1
done
echo 'nothing known' >other
"$HEAPWISE" import -o t.hwt other 2>stderr
equal "status of import of something else" "$?" 3
says stderr 'other: unrecognised format .expected heaptrack, HeapLog or EMAD'

# Lines that do not fit are told by file and number; what was there stays.
bad=0
while IFS=';' read -r lines sentence; do
	printf '%b\n' "$lines" >bad
	echo precious >bad.hwt
	"$HEAPWISE" import --from heaptrack -o bad.hwt bad >/dev/null 2>stderr
	equal "status for '$lines'" "$?" 3
	says stderr "^heapwise import: .*$sentence"
	equal "lines of the error for '$lines'" "$(wc -l <stderr)" 1
	equal "what was there before '$lines'" "$(cat bad.hwt)" precious
	bad=$((bad + 1))
done <<'TEXT'
X prog;bad: line 1: not a heaptrack file
v 10400 4;bad: line 1: heaptrack file format 4 is too new
v 10400 3\nv 10400 3;bad: line 2: invalid heaptrack line
v 10400 3\nq 1;bad: line 2: invalid heaptrack line
v 10400 3\ns ff short;bad: line 2: a string is shorter
v 10400 3\nt 1 0;bad: line 2: 't' refers to an unknown address
v 10400 3\nx 1 a\nt 100 1;bad: line 3: 't' refers to an unknown stack
v 10400 3\na 10 1;bad: line 2: 'a' refers to an unknown stack
v 10400 3\n+ 0;bad: line 2: '\+' refers to an unknown allocation
v 10400 3\n- 0;bad: line 2: '-' refers to an unknown allocation
v 10400 3\nx 1 a\n+ 10 0;bad: line 3: expected size, stack and address after '\+'
v 10400 3\nx 1 a\n+ ffffffffffffffff 0 10;bad: line 3: an allocation is larger
v 10400 3\ni 10;bad: line 2: expected an address and a module after 'i'
v 10400 3\ni 10 1;bad: line 2: 'i' refers to an unknown string
v 10400 3\nm 3 a.b;bad: line 2: expected a file and its mapping after 'm'
v 10400 3\nm 3 a.b ffffffffffffff00 0 200;bad: line 2: a mapped file extends beyond
v 10400 3\nc -5;bad: line 2: expected a time in milliseconds after 'c'
v 10400 3\nc ffffffffffffff;bad: line 2: expected a time in milliseconds after 'c'
TEXT
equal "bad lines" "$bad" 18
: >bad
"$HEAPWISE" import --from heaptrack -o bad.hwt bad 2>stderr
equal "status for an empty file" "$?" 3
head -c 2000000 /dev/zero | tr '\0' 'v' >bad
"$HEAPWISE" import --from heaptrack -o bad.hwt bad 2>stderr
equal "status for an endless line" "$?" 3
says stderr 'bad: line 1 is longer than|bad: line 1: not a heaptrack file'
"$HEAPWISE" import --from heaptrack -o no/such/file "$seeds/raw" 2>stderr
equal "status for a file that cannot be written" "$?" 3
equal "files left behind" "$(ls | grep -E '\.hwt\.')" "$(ls t.hwt.json)"

# Recordings: counts, bytes, peak and what is left, as heaptrack counts them.
has heaptrack || finish

# human BYTES   as heaptrack_print writes it
human()
{
	awk -v b="$1" 'BEGIN { split("B K M G T", u, " "); i = 1; while (b >= 1000 && i < 5) { b /= 1000; i++ }; printf((i > 1 ? "%.2f%s" : "%d%s"), b, u[i]) }'
}

for program in containers wastes keeps; do
	heaptrack -o rec "$HEAPWISE_TARGETS/$program" >/dev/null 2>&1
	heaptrack --raw -o rec "$HEAPWISE_TARGETS/$program" >/dev/null 2>&1
	interpreted=$(ls rec.zst rec.gz 2>/dev/null | head -1)
	raw=$(ls rec.raw.zst rec.raw.gz 2>/dev/null | head -1)
	heaptrack_print --disable-builtin-suppressions --disable-embedded-suppressions "$interpreted" >print 2>/dev/null
	for file in "$interpreted" "$raw"; do
		import "$file"
		equal "allocations of $program" "$(field t.hwt .allocations)" "$(sed -n 's/^calls to allocation functions: \([0-9]*\).*/\1/p' print)"
		equal "peak of $program" "$(human "$(field t.hwt .peak.bytes)")" "$(sed -n 's/^peak heap memory consumption: //p' print)"
		equal "kept by $program" "$(human "$(field t.hwt .kept.bytes)")" "$(sed -n 's/^total memory leaked: //p' print)"
		equal "complete" "$(field t.hwt .complete)" true
		equal "points of $program" "$(field t.hwt .points)" "$(if [ "$file" = "$raw" ]; then echo "$points"; else field t.hwt .points; fi)"
		points=$(field t.hwt .points)
	done
	# the names of the interpreted file and those that are looked up for the raw one
	import "$interpreted"
	"$HEAPWISE" export --to folded --metric peak -o names t.hwt 2>/dev/null
	says names '(^|;)main[; ]'
	import "$raw"
	"$HEAPWISE" export --to folded --metric peak -o looked-up t.hwt 2>/dev/null
	equal "bytes below main of $program" "$(awk '/(^|;)main[; ]/ { sum += $NF } END { print sum }' looked-up)" "$(awk '/(^|;)main[; ]/ { sum += $NF } END { print sum }' names)"
	rm -f rec.*
done
finish
