#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# exports.sh CASE   what `heapwise export` writes, read by the programs that it is written for, says what
# `heapwise report` says.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

# recorded [OPTION...] PROGRAM [ARGUMENT...]   makes t.hwt, with names
recorded()
{
	"$HEAPWISE" run -o t.hwt "$@" >/dev/null 2>stderr || fail "run $*: $(tail -1 stderr)"
}

# export_to FORMAT [OPTION...]   makes t.FORMAT
export_to()
{
	local format=$1
	shift
	"$HEAPWISE" export --to "$format" "$@" -o "t.$format" t.hwt 2>stderr
	equal "status of export --to $format" "$?" 0
}

# The numbers that every format with sums has to show.
totals()
{
	field t.hwt "$1"
}

# profile.proto as protoc wants it: names of ours, numbers of the format.
pprof_schema()
{
	cat <<'PROTO'
syntax = "proto3";
message V { int64 type = 1; int64 unit = 2; }
message S { repeated uint64 loc = 1; repeated int64 value = 2; repeated L label = 3; }
message L { int64 key = 1; int64 str = 2; }
message M { uint64 id = 1; uint64 start = 2; uint64 limit = 3; uint64 offset = 4; int64 file = 5; int64 build = 6;
	bool f = 7; bool fn = 8; bool l = 9; bool i = 10; }
message Loc { uint64 id = 1; uint64 map = 2; uint64 address = 3; repeated Line line = 4; }
message Line { uint64 function = 1; int64 line = 2; }
message F { uint64 id = 1; int64 name = 2; int64 system = 3; int64 file = 4; }
message P { repeated V type = 1; repeated S sample = 2; repeated M mapping = 3; repeated Loc location = 4;
	repeated F function = 5; repeated string strings = 6; int64 duration = 10; V period_type = 11;
	int64 period = 12; repeated int64 comment = 13; int64 default_type = 14; }
PROTO
}

# sum_of N   of the values of that number, 1 to 6, over the samples in t.text
sum_of()
{
	awk -v n="$1" '$1 == "sample" { at = 0 } $1 == "value:" && ++at == n { sum += $2 } END { printf "%d", sum }' t.text
}

pprof_sums_equal_report()
{
	equal alloc_objects "$(sum_of 1)" "$(totals .allocations)"
	equal alloc_space "$(sum_of 2)" "$(totals .bytes)"
	equal inuse_objects "$(sum_of 3)" "$(totals .kept.chunks)"
	equal inuse_space "$(sum_of 4)" "$(totals .kept.bytes)"
	equal peak_objects "$(sum_of 5)" "$(totals .peak.chunks)"
	equal peak_space "$(sum_of 6)" "$(totals .peak.bytes)"
}

pprof_decode()
{
	needs protoc protobuf-compiler
	pprof_schema >p.proto
	gzip -dc t.pprof | protoc --decode=P p.proto >t.text || fail "protoc cannot read the profile"
	grep -qE '^ *[0-9]+: ' t.text && fail "the profile has fields that are not of the format"
}

case_pprof()
{
	recorded "$HEAPWISE_TARGETS/containers"
	export_to pprof
	pprof_decode
	pprof_sums_equal_report
	equal samples "$(grep -c '^sample' t.text)" "$(totals .points)"
	# every number of a location, mapping, function or string leads somewhere
	awk '/^location/ { ids++ } /^ *loc: / { if ($2 > most) most = $2 } END { exit !(most <= ids && most > 0) }' t.text ||
		fail "a sample names a location that is not there"
	says t.text 'strings: "main"'
	says t.text 'strings: ".*containers"'
	says t.text 'strings: "complete: yes"'
	build_id=$(readelf -n "$HEAPWISE_TARGETS/containers" | sed -n 's/.*Build ID: //p')
	[ -z "$build_id" ] || says t.text "strings: \"$build_id\""
	# without names the addresses are left to the reader
	"$HEAPWISE" export --no-symbols --to pprof -o t.pprof t.hwt
	pprof_decode
	pprof_sums_equal_report
}

# Estimates add up to the estimate of the whole.
case_pprof_sampled()
{
	recorded --sample 1000 "$HEAPWISE_TARGETS/containers"
	export_to pprof
	pprof_decode
	pprof_sums_equal_report
	says t.text 'strings: "sampled at one per'
}

case_pprof_go()
{
	needs go golang-go
	for program in "$HEAPWISE_TARGETS/containers" "$HEAPWISE_TARGETS/wastes" "sqlite3 :memory: select(1)"; do
		rm -f t.hwt.json
		recorded -- $program
		export_to pprof
		while read -r type field; do
			go tool pprof -sample_index="$type" -top -unit=1 t.pprof >top 2>go-errors ||
				fail "go tool pprof: $(head -1 go-errors)"
			total=$(sed -n 's/.*Total samples = \([0-9]*\).*/\1/p' top)
			# counts have the unit 1 behind them
			case $type in *objects) total=${total%1} ;; esac
			equal "$type of $program" "$total" "$(totals "$field")"
		done <<-'ROWS'
			alloc_objects .allocations
			alloc_space .bytes
			peak_objects .peak.chunks
			peak_space .peak.bytes
		ROWS
		go tool pprof -raw t.pprof >raw 2>&1
		for number in allocations:1 bytes:2 kept.chunks:3 kept.bytes:4 peak.chunks:5 peak.bytes:6; do
			equal "raw ${number%:*} of $program" "$(sed -n '/^Samples:/,/^Locations/p' raw | awk -v n="${number#*:}" \
				'/^ *[0-9]+ +[0-9]/ { sub(/:$/, "", $6); sum += $n } END { printf "%d", sum }')" "$(totals ".${number%:*}")"
		done
	done
	recorded "$HEAPWISE_TARGETS/containers"
	export_to pprof
	go tool pprof -raw t.pprof >raw 2>&1
	says raw '^ +[0-9]+: 0x[0-9a-f]+ M=[0-9]+ .*containers\.cpp:[0-9]+'
	says raw 'peak_space/bytes\[dflt\]'
	says raw '^[0-9]+: 0x[0-9a-f]+/0x[0-9a-f]+/0x0 .*targets/containers [0-9a-f]+'
}

case_folded()
{
	recorded "$HEAPWISE_TARGETS/containers"
	while read -r metric field; do
		export_to folded --metric "$metric"
		equal "sum of $metric" "$(awk '{ sum += $NF } END { printf "%d", sum }' t.folded)" "$(totals "$field")"
		grep -vqE '^[^;]+(;[^;]+)* [0-9]+$' t.folded && fail "a line of $metric is no folded stack"
		equal "lines that stand twice" "$(sed 's/ [0-9]*$//' t.folded | sort | uniq -d | wc -l)" 0
	done <<-'ROWS'
		bytes .bytes
		allocs .allocations
		peak .peak.bytes
		kept .kept.bytes
		temporary .temporary
	ROWS
	export_to folded
	says t.folded ';main;'
	flamegraph=$(perl -e 'for (@INC) { print "$_/Devel/NYTProf/flamegraph.pl" and last if -e "$_/Devel/NYTProf/flamegraph.pl" }')
	[ -n "$flamegraph" ] || { echo "flamegraph.pl is not installed (package libdevel-nytprof-perl)"; finish; }
	perl "$flamegraph" --countname bytes t.folded >t.svg 2>stderr || fail "flamegraph.pl: $(tail -1 stderr)"
	[ ! -s stderr ] || fail "flamegraph.pl says $(head -1 stderr)"
	says t.svg '>main \('
}

# pps FILE   "bytes blocks bytes-at-peak blocks-at-peak" of each point
pps()
{
	jq -r '.pps[] | "\(.tb) \(.tbk) \(.gb) \(.gbk)"' "$1" | sort
}

case_dhat()
{
	recorded "$HEAPWISE_TARGETS/containers"
	export_to dhat
	equal "keys that the viewer wants" "$(jq -c '[.dhatFileVersion, .mode, .verb, .bklt, .bkacc, has("tu", "Mtu", "cmd", "pid", "te", "pps", "ftbl", "tg", "tuth")] | flatten' t.dhat 2>/dev/null ||
		jq -c '[.dhatFileVersion, .mode, .verb, .bklt, .bkacc] + [("tu", "Mtu", "cmd", "pid", "te", "pps", "ftbl", "tg", "tuth") as $k | has($k)]' t.dhat)" \
		'[2,"heap","Allocated",true,false,true,true,true,true,true,true,true,true,true]'
	equal "sum of bytes" "$(jq '[.pps[].tb] | add' t.dhat)" "$(totals .bytes)"
	equal "sum of blocks" "$(jq '[.pps[].tbk] | add' t.dhat)" "$(totals .allocations)"
	equal "bytes at the peak" "$(jq '[.pps[].gb] | add' t.dhat)" "$(totals .peak.bytes)"
	equal "blocks at the peak" "$(jq '[.pps[].gbk] | add' t.dhat)" "$(totals .peak.chunks)"
	equal "bytes at the end" "$(jq '[.pps[].eb] | add' t.dhat)" "$(totals .kept.bytes)"
	equal "points with equal frames" "$(jq '[.pps[].fs] | length - (unique | length)' t.dhat)" 0
	equal "frames that are not there" "$(jq '(.ftbl | length) as $n | [.pps[].fs[] | select(. < 1 or . >= $n)] | length' t.dhat)" 0
	equal "lives longer than the run" "$(jq '.te as $te | [.pps[] | select(.tl > (.tbk * ($te + 1)))] | length' t.dhat)" 0
	needs valgrind
	valgrind --tool=dhat --dhat-out-file=real "$HEAPWISE_TARGETS/containers" >/dev/null 2>&1 || fail "DHAT failed"
	diff <(pps real) <(pps t.dhat) || fail "points are not those of DHAT"
}

# Reads and writes are what DHAT counts; bytes that nobody accesses are those that it has as 0.
case_dhat_accesses()
{
	needs valgrind
	[ -d "$(dirname "$HEAPWISE")/valgrind" ] || lacks valgrind
	recorded --access valgrind --coverage "$HEAPWISE_TARGETS/containers"
	export_to dhat
	valgrind --tool=dhat --dhat-out-file=real "$HEAPWISE_TARGETS/containers" >/dev/null 2>&1 || fail "DHAT failed"
	equal "bkacc" "$(jq .bkacc t.dhat)" true
	diff <(jq -r '.pps[] | "\(.tb) \(.tbk) \(.gb) \(.gbk) \(.rb) \(.wb)"' real | sort) \
		<(jq -r '.pps[] | "\(.tb) \(.tbk) \(.gb) \(.gbk) \(.rb) \(.wb)"' t.dhat | sort) || fail "accesses are not those of DHAT"
	# counts per byte as flags, runs expanded
	flags='def flags: . as $a | reduce range(0; length) as $i ([]; if $i > 0 and $a[$i - 1] < 0 then .
		elif $a[$i] < 0 then . + [range(0; -$a[$i]) | $a[$i + 1] | if . > 0 then 1 else 0 end]
		else . + [if $a[$i] > 0 then 1 else 0 end] end);'
	jq -c "$flags"' [.pps[] | select(.acc) | [.tb, .tbk, (.acc | flags | map(tostring) | add)]] | sort' real >real.acc
	jq -c "$flags"' [.pps[] | select(.acc) | [.tb, .tbk, (.acc | flags | map(tostring) | add)]] | sort' t.dhat >t.acc
	at_least "points with maps" "$(jq length t.acc)" 1
	cmp real.acc t.acc || fail "bytes that were accessed are not those of DHAT"
}

# The viewer's own code takes the file.
case_dhat_viewer()
{
	needs node nodejs
	viewer=$(dirname "$(command -v valgrind)")/../libexec/valgrind/dh_view.js
	[ -e "$viewer" ] || lacks valgrind
	recorded "$HEAPWISE_TARGETS/containers"
	export_to dhat
	cat >read.js <<-'JS'
		const fs = require("fs"), vm = require("vm");
		const [viewer, file] = process.argv.slice(2);
		globalThis.document = {};
		globalThis.text = fs.readFileSync(file, "utf8");
		globalThis.print = console.log;
		vm.runInThisContext(fs.readFileSync(viewer, "utf8") + `
			gSelect = { childNodes: [{ disabled: false }], selectedIndex: 0 };
			gData = JSON.parse(text);
			buildTree();
			print(gRoot._totalBytes, gRoot._totalBlocks, gRoot._atTGmaxBytes, gRoot._atTEndBytes);
		`);
	JS
	equal "sums of the viewer" "$(node read.js "$viewer" t.dhat 2>&1 | tail -1)" \
		"$(totals '"\(.bytes) \(.allocations) \(.peak.bytes) \(.kept.bytes)"')"
}

sql()
{
	sqlite3 t.sqlite "$1"
}

case_sqlite()
{
	needs sqlite3
	recorded "$HEAPWISE_TARGETS/containers"
	export_to sqlite
	equal "integrity" "$(sql 'PRAGMA integrity_check')" ok
	equal "user_version" "$(sql 'PRAGMA user_version')" 2
	for column in allocations bytes frees freed_bytes temporary duration_ns; do
		equal "runs.$column" "$(sql "SELECT $column FROM runs")" "$(totals ".$column")"
	done
	equal "peak" "$(sql 'SELECT peak_bytes, peak_chunks, peak_ns FROM runs')" "$(totals '"\(.peak.bytes)|\(.peak.chunks)|\(.peak.time_ns)"')"
	equal "kept" "$(sql 'SELECT kept_bytes, kept_chunks FROM runs')" "$(totals '"\(.kept.bytes)|\(.kept.chunks)"')"
	equal "chunks" "$(sql 'SELECT count(*), sum(size) FROM chunks')" "$(totals '"\(.allocations)|\(.bytes)"')"
	equal "freed chunks" "$(sql "SELECT count(*) FROM chunks WHERE end = 'freed'")" "$(totals .frees)"
	equal "kept chunks" "$(sql "SELECT count(*), sum(size) FROM chunks WHERE end = 'kept'")" "$(totals '"\(.kept.chunks)|\(.kept.bytes)"')"
	equal "temporary chunks" "$(sql "SELECT count(*) FROM chunks WHERE others = 0 AND end = 'freed'")" "$(totals .temporary)"
	equal "points" "$(sql 'SELECT count(*), sum(allocations), sum(bytes), sum(at_peak_bytes) FROM points')" \
		"$(totals '"\(.points)|\(.allocations)|\(.bytes)|\(.peak.bytes)"')"
	"$HEAPWISE" scores --all --format json t.hwt 2>/dev/null | jq -r '.points[] | "\(.point)|\(.allocations)|\(.bytes)"' | sort >scores
	equal "points with other numbers than in scores" "$(comm -23 scores <(sql 'SELECT point, allocations, bytes FROM points' | sort))" ""
	at_least "points of scores" "$(wc -l <scores)" 3
	equal "points by chunks" "$(sql 'SELECT count(*) FROM points p WHERE bytes <> (SELECT sum(size) FROM chunks c WHERE c.point = p.point)')" 0
	# the peak, from lives alone; what ended at that moment is gone
	equal "highest of the timeline" "$(sql 'SELECT max(max_bytes) FROM timeline')" "$(totals .peak.bytes)"
	equal "allocations of the timeline" "$(sql 'SELECT sum(allocations) FROM timeline')" "$(totals .allocations)"
	equal "threads" "$(sql 'SELECT count(*), sum(allocations) FROM threads')" "$(totals '"\(.threads)|\(.allocations)"')"
	# every number leads somewhere
	while read -r from column to key; do
		equal "$from.$column that lead nowhere" "$(sql "SELECT count(*) FROM $from WHERE $column IS NOT NULL AND $column NOT IN (SELECT $key FROM $to)")" 0
	done <<-'ROWS'
		chunks point points point
		chunks free_stack stacks stack
		chunks alloc_thread threads thread
		chunks type types type
		points stack stacks stack
		stacks frame frames frame
		frames function functions function
		frames module modules module
		findings stack stacks stack
	ROWS
	equal "report" "$(sql "SELECT value FROM report WHERE field = 'peak.bytes'")" "$(totals .peak.bytes)"
	"$HEAPWISE" findings --format json t.hwt >findings.json 2>/dev/null
	equal "findings" "$(sql 'SELECT group_concat(id) FROM (SELECT id FROM findings ORDER BY finding)')" "$(jq -r '[.findings[].id] | join(",")' findings.json)"
	"$HEAPWISE" types --format json t.hwt >types.json 2>/dev/null
	equal "bytes by type" "$(sql 'SELECT name, sum(size), count(*) FROM chunks JOIN types USING (type) GROUP BY name' | sort)" \
		"$(jq -r '.types[] | select(.type) | "\(.type)|\(.bytes)|\(.chunks)"' types.json | sort)"
	# the stack of the largest point is that of the report
	equal "stack" "$(sql 'SELECT group_concat(name, char(59)) FROM (SELECT f.name FROM points p JOIN stacks s USING (stack)
		JOIN frames USING (frame) JOIN functions f USING (function)
		WHERE p.point = (SELECT point FROM points ORDER BY bytes DESC, point LIMIT 1) ORDER BY depth)')" \
		"$("$HEAPWISE" report --format json --by bytes --depth 0 t.hwt 2>/dev/null | jq -r '[.. | objects | select(.stack?)] | max_by(.bytes) | [.stack[] | .function // "\(.module | sub(".*/"; ""))+0x"] | join(";")' | sed 's/+0x;/.*;/')"
	# to standard output, and again over what is there
	"$HEAPWISE" export --to sqlite t.hwt >out.sqlite
	equal "chunks of standard output" "$(sqlite3 out.sqlite 'SELECT count(*) FROM chunks')" "$(totals .allocations)"
	export_to sqlite
	equal "chunks of the second time" "$(sql 'SELECT count(*) FROM chunks')" "$(totals .allocations)"
}

case_lines()
{
	recorded "$HEAPWISE_TARGETS/containers"
	export_to csv
	export_to jsonl
	equal "lines of csv" "$(($(wc -l <t.csv) - 1))" "$(totals .allocations)"
	equal "lines of jsonl" "$(wc -l <t.jsonl)" "$(totals .allocations)"
	equal "bytes of jsonl" "$(jq -s 'map(.size) | add' t.jsonl)" "$(totals .bytes)"
	equal "frees of jsonl" "$(jq -s 'map(select(.end == "freed")) | length' t.jsonl)" "$(totals .frees)"
	needs sqlite3
	# both have the same columns and values; sqlite3 reads what RFC 4180 quotes
	equal "columns" "$(head -1 t.csv)" "$(head -1 t.jsonl | jq -r 'keys_unsorted | join(",")')"
	sqlite3 x.db '.mode csv' '.import t.csv chunks'
	equal "bytes of csv" "$(sqlite3 x.db 'SELECT sum(size) FROM chunks')" "$(totals .bytes)"
	equal "kept bytes of csv" "$(sqlite3 x.db "SELECT coalesce(sum(size), 0) FROM chunks WHERE \"end\" = 'kept'")" "$(totals .kept.bytes)"
	diff <(sqlite3 -separator '|' x.db 'SELECT chunk, size, kind, alloc_ns, free_ns, "end", point, function, type FROM chunks') \
		<(jq -r '[.chunk, .size, .kind, .alloc_ns, .free_ns, .end, .point, .function, .type] | map(. // "") | join("|")' t.jsonl) >d ||
		fail "csv and jsonl differ: $(head -3 d)"
}

# The rules of speedscope's file-format-spec.ts.
case_speedscope()
{
	recorded "$HEAPWISE_TARGETS/containers"
	export_to speedscope --metric peak
	equal "rules that it breaks" "$(jq -r '
		(.shared.frames | length) as $frames |
		(if .["$schema"] == "https://www.speedscope.app/file-format-schema.json" then empty else "schema" end),
		(if .activeProfileIndex == 2 then empty else "active profile" end),
		(.shared.frames[] | select((.name | type) != "string" or .name == "" or (has("file") and (.file | type) != "string")) | "frame"),
		(.profiles[] | (
			(if .type == "sampled" and (.name | type) == "string" then empty else "profile" end),
			(if .unit == "bytes" or .unit == "none" then empty else "unit" end),
			(if (.samples | length) == (.weights | length) then empty else "lengths" end),
			(if .startValue == 0 and .endValue == (.weights | add // 0) then empty else "endValue" end),
			(.samples[] | select(length == 0) | "empty sample"),
			(.samples[][] | select(. < 0 or . >= $frames) | "frame of a sample")))' t.speedscope)" ""
	equal "sums" "$(jq -c '[.profiles[].endValue]' t.speedscope)" \
		"$(totals '[.bytes, .allocations, .peak.bytes, .kept.bytes, .temporary]' | jq -c .)"
	equal "outermost frame" "$(jq -r '.shared.frames[.profiles[0].samples[-1][0]].name' t.speedscope)" _start
}

case_massif()
{
	needs ms_print valgrind
	for program in containers wastes keeps; do
		rm -f t.hwt.json
		recorded "$HEAPWISE_TARGETS/$program"
		export_to massif
		ms_print --threshold=0 t.massif >t.text 2>stderr || fail "ms_print: $(head -1 stderr)"
		[ ! -s stderr ] || fail "ms_print says $(head -1 stderr)"
		peak=$(sed -n 's/.*Detailed snapshots: .*[[ ]\([0-9]*\) (peak).*/\1/p' t.text)
		row=$(awk -v n="$peak" '$1 == n && NF == 6 { gsub(",", ""); print $2, $3 }' t.text)
		equal "peak of $program" "${row#* }" "$(totals .peak.bytes)"
		equal "moment of the peak of $program" "${row% *}" "$(totals '.peak.time_ns / 1e6' | xargs printf %.3f)"
		equal "highest snapshot of $program" "$(sed -n 's/^mem_heap_B=//p' t.massif | sort -n | tail -1)" "$(totals .peak.bytes)"
		equal "bytes at the end of $program" "$(sed -n 's/^mem_heap_B=//p' t.massif | tail -1)" "$(totals .kept.bytes)"
		sed -n 's/^time=//p' t.massif | sort -c -n || fail "time goes back"
		# children of a node add up to at most the node: ours to exactly it, but for what a stack ends in
		awk '/^heap_tree=/ { depth = -1; delete left }
			/^ *n[0-9]+:/ { match($0, /^ */); at = RLENGTH; if (at > 0) { sum[at - 1] -= $2; if (sum[at - 1] < 0) bad = 1 } sum[at] = $2 }
			END { exit bad }' t.massif || fail "a tree of $program adds up to more than its root"
	done
	says t.text '\(heap allocation functions\)'
}

case_callgrind()
{
	needs callgrind_annotate valgrind
	for program in containers wastes; do
		rm -f t.hwt.json
		recorded "$HEAPWISE_TARGETS/$program"
		export_to callgrind
		callgrind_annotate --auto=no --threshold=100 --show-percs=no t.callgrind >t.text 2>stderr || fail "callgrind_annotate: $(head -1 stderr)"
		[ ! -s stderr ] || fail "callgrind_annotate says $(head -1 stderr)"
		wanted=$(totals '"\(.bytes) \(.allocations) \(.peak.bytes) \(.kept.bytes) \(.temporary)"')
		equal "totals of $program" "$(sed -n 's/ *PROGRAM TOTALS//p' t.text | tr -d , | tr -s ' ' | sed 's/^ //; s/ $//')" "$wanted"
		equal "sum over the functions of $program" "$(sed -n '/file:function/,$p' t.text | tr -d , | awk \
			'$1 ~ /^[0-9]+$/ { for (i = 1; i <= 5; i++) sum[i] += $i } END { printf "%d %d %d %d %d", sum[1], sum[2], sum[3], sum[4], sum[5] }')" "$wanted"
		callgrind_annotate --auto=no --inclusive=yes --threshold=100 --show-percs=no t.callgrind 2>/dev/null | tr -d , >t.text
		equal "main and all that it calls, of $program" "$(awk '/:main$/ { print $2 }' t.text)" \
			"$("$HEAPWISE" export --to folded --metric allocs t.hwt 2>/dev/null | awk '/(^|;)main[; ]/ { sum += $NF } END { print sum }')"
	done
}

# The messages of Perfetto's trace that are used: names of ours, numbers of the format.
perfetto_schema()
{
	cat <<'PROTO'
syntax = "proto3";
message Trace { repeated Packet packet = 1; }
message Packet { Clocks clocks = 6; uint64 time = 8; uint32 sequence = 10; Event event = 11; Interned interned = 12;
	uint32 flags = 13; Profile profile = 37; Track track = 60; }
message Clocks { repeated Clock clock = 1; }
message Clock { uint32 id = 1; uint64 time = 2; }
message Event { uint32 type = 9; uint64 on = 11; string name = 23; int64 counter = 30; }
message Track { uint64 uuid = 1; string name = 2; Process process = 3; uint64 parent = 5; Counter counter = 8; }
message Process { int32 pid = 1; repeated string command = 2; string name = 6; }
message Counter { uint32 unit = 3; }
message Text { uint64 iid = 1; bytes str = 2; }
message Mapping { uint64 iid = 1; uint64 build = 2; uint64 start = 4; uint64 end = 5; repeated uint64 path = 7; }
message Frame { uint64 iid = 1; uint64 name = 2; uint64 mapping = 3; uint64 pc = 4; uint64 source = 5; uint32 line = 6; }
message Stack { uint64 iid = 1; repeated uint64 frame = 2; }
message Interned { repeated Text function = 5; repeated Frame frames = 6; repeated Stack stack = 7; repeated Text build = 16;
	repeated Text path = 17; repeated Text source = 18; repeated Mapping mapping = 19; }
message Sample { uint64 of = 1; uint64 allocated = 2; uint64 freed = 3; uint64 allocs = 5; uint64 frees = 6; uint64 max = 8; }
message Dump { uint64 pid = 1; repeated Sample samples = 2; bool startup = 3; uint64 time = 9; string heap = 11; uint64 interval = 12; }
message Profile { repeated Dump dump = 5; uint64 index = 7; }
PROTO
}

case_perfetto()
{
	needs protoc protobuf-compiler
	recorded "$HEAPWISE_TARGETS/containers"
	export_to perfetto
	perfetto_schema >p.proto
	protoc --decode=Trace p.proto <t.perfetto >t.text || fail "protoc cannot read the trace"
	grep -qE '^ *[0-9]+: ' t.text && fail "the trace has fields that are not of the format"
	sum() { awk -v name="$1:" '$1 == name { sum += $2 } END { printf "%d", sum }' t.text; }
	equal "bytes allocated" "$(sum allocated)" "$(totals .bytes)"
	equal "bytes freed" "$(sum freed)" "$(totals .freed_bytes)"
	equal "bytes at the peak" "$(sum max)" "$(totals .peak.bytes)"
	equal "frees" "$(sum frees)" "$(totals .frees)"
	equal "allocations, and chunks at the peak" "$(sum allocs)" "$(($(totals .allocations) + $(totals .peak.chunks)))"
	equal "highest value of the counter" "$(awk '/^  event/ { on = 0 } $1 == "on:" { on = $2 } $1 == "counter:" && on == 2 && $2 > most { most = $2 } END { print most }' t.text)" "$(totals .peak.bytes)"
	# whatever is named was told before, and state is cleared first
	equal "names that were not told" "$(awk '
		/^ *(function|frames|stack) \{/ { kind = $1 } $1 == "iid:" { told[kind, $2] }
		$1 == "name:" && $2 ~ /^[0-9]+$/ && !(("function", $2) in told) { print "function", $2 }
		$1 == "frame:" && !(("frames", $2) in told) { print "frame", $2 }
		$1 == "of:" && !(("stack", $2) in told) { print "stack", $2 }' t.text)" ""
	equal "flags of the first packet" "$(grep -m1 'flags:' t.text | tr -d ' ')" "flags:1"
	says t.text 'str: "main"'
}

# Tables of the processed format: columns of one length, indexes that lead somewhere.
case_firefox()
{
	recorded "$HEAPWISE_TARGETS/containers"
	export_to firefox
	equal "rules that it breaks" "$(jq -r '
		(if .meta.preprocessedProfileVersion == 48 and (.meta.categories | length) == 1 then empty else "meta" end),
		(.threads[0] as $t |
			("samples", "markers", "nativeAllocations", "stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols") as $name |
			$t[$name] | .length as $n | to_entries[] | select((.value | type) == "array" and (.value | length) != $n) | "\($name).\(.key)"),
		(.counters[0].samples | select((.time | length) != .length or (.count | length) != .length) | "counters"),
		(.threads[0] | (.stackTable.length as $n | .nativeAllocations.stack[] | select(. != null and (. < 0 or . >= $n)) | "stack"),
			(.stackTable.prefix | to_entries[] | select(.value != null and .value >= .key) | "prefix"),
			(.frameTable.length as $n | .stackTable.frame[] | select(. >= $n) | "frame"),
			(.funcTable.length as $n | .frameTable.func[] | select(. >= $n) | "func"),
			(.resourceTable.length as $n | .funcTable.resource[] | select(. >= $n) | "resource"),
			((.stringArray | length) as $n | (.funcTable.name[], .resourceTable.name[], (.funcTable.fileName[] | values)) | select(. >= $n) | "string"))
		' t.firefox)" ""
	equal "bytes allocated" "$(jq '[.threads[0].nativeAllocations.weight[] | select(. > 0)] | add' t.firefox)" "$(totals .bytes)"
	equal "bytes kept" "$(jq '[.threads[0].nativeAllocations.weight[]] | add' t.firefox)" "$(totals .kept.bytes)"
	equal "highest of the memory track" "$(jq '[foreach .counters[0].samples.count[] as $c (0; . + $c)] | max' t.firefox)" "$(totals .peak.bytes)"
	equal "times in order" "$(jq '.threads[0].nativeAllocations.time | . == sort' t.firefox)" true
	says t.firefox '"main"'
}

# The graph of owners, read by NetworkX, has the tree of `heapwise owners`: who holds whom, and how much.
case_owners()
{
	recorded --owners "$HEAPWISE_TARGETS/holders"
	"$HEAPWISE" owners --format json --top 0 t.hwt >owners.json
	export_to owners-graphml
	export_to owners-dot
	equal "nodes as DOT" "$(grep -c '^	n[0-9]* \[label' t.owners-dot)" "$(grep -c '<node ' t.owners-graphml)"
	equal "edges as DOT" "$(grep -c -- ' -> ' t.owners-dot)" "$(grep -c '<edge ' t.owners-graphml)"
	says t.owners-dot 'label="registry .*retained \('
	"$HEAPWISE" export --to owners-dot --min-share 50 t.hwt >few.dot
	[ "$(grep -c ' \[label=.*fillcolor' few.dot)" -lt "$(grep -c ' \[label=.*fillcolor' t.owners-dot)" ] || fail "--min-share leaves nothing out"
	"$HEAPWISE" run -q -o plain.hwt -- "$HEAPWISE_TARGETS/holders"
	"$HEAPWISE" export --to owners-dot plain.hwt 2>stderr
	equal "status without pointers" "$?" 3
	says stderr "plain.hwt: no pointers were recorded"
	export_to html
	says t.html 'data-k="/owners"'
	has dot graphviz && { dot -Tsvg t.owners-dot >t.svg 2>stderr || fail "dot: $(head -1 stderr)"; }
	python3 -c 'import networkx' 2>/dev/null || lacks python3-networkx
	python3 - <<-'PYTHON' || fail "NetworkX reads another graph"
		import json, networkx
		graph = networkx.read_graphml("t.owners-graphml")
		tree = json.load(open("owners.json"))["tree"]
		names = {row["id"]: row["owner"] for row in tree}
		fact = lambda row: (row["owner"], row["what"], row["retained_bytes"], row["bytes"], row["count"])
		assert sorted(fact(row) for row in tree) == sorted(fact(data) for _, data in graph.nodes(data=True)), "nodes"
		holds = [(graph.nodes[a]["owner"], graph.nodes[b]["owner"]) for a, b, data in graph.edges(data=True) if data["holds"]]
		wanted = [(names[row["parent"]], row["owner"]) for row in tree if row["parent"] is not None]
		assert sorted(holds) == sorted(wanted), "who holds whom"
		assert sum(data["pointers"] for _, _, data in graph.edges(data=True)) >= 264, "pointers"
		assert graph.graph["live_bytes"] > 0
	PYTHON
}

case_dot()
{
	recorded "$HEAPWISE_TARGETS/containers"
	export_to dot --metric peak
	says t.dot '^digraph "bytes live at the peak" \{'
	says t.dot '^	n[0-9]+ \[label="main\\n'
	equal "edges that lead nowhere" "$(awk '/->/ { sub(";", "", $3); used[$1]; used[$3] } /^	n[0-9]+ \[label/ { made[$1] } END { for (n in used) if (!(n in made)) print n }' t.dot)" ""
	has dot graphviz || finish
	dot -Tsvg t.dot >t.svg 2>stderr || fail "dot: $(head -1 stderr)"
}

# Firefox Profiler and speedscope themselves, as their authors publish them, say what the report says.
case_readers()
{
	local cli source try
	needs npm
	needs node nodejs
	export HOME=$work npm_config_cache=$work/npm-cache
	npm install --prefix "$work/npm" --ignore-scripts --no-audit --no-fund speedscope@1.25.0 \
		@firefox-devtools/profiler-cli@0.10.0 >npm.log 2>&1 || skip "cannot download npm packages: $(tail -1 npm.log)"
	recorded "$HEAPWISE_TARGETS/containers"
	export_to firefox
	cli="node $work/npm/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js"
	for try in 1 2 3 4 5; do # its server is given half a second to start
		$cli load t.firefox >load.log 2>&1 && break
		sleep 1
	done
	$cli status >load.log 2>&1 || fail "Firefox Profiler does not read it: $(tail -3 load.log)"
	for source in "native-allocations .bytes" "native-retained-allocations .kept.bytes"; do
		$cli strategy "${source% *}" >load.log 2>&1 || fail "no ${source% *}: $(tail -3 load.log)"
		equal "Firefox Profiler's ${source% *}" \
			"$($cli thread samples-top-down --json | jq -c .regularCallTree.totalSamples)" "$(totals "${source#* }")"
	done
	$cli stop --all >load.log 2>&1
	has chromium-headless-shell || finish
	export_to speedscope
	printf 'speedscope.loadFileFromBase64("t.json", "%s")' "$(base64 -w0 t.speedscope)" >profile.js
	for try in 1 2 3; do # the page is taken when its time is over, ready or not
		timeout 100 chromium-headless-shell --no-sandbox --disable-gpu --allow-file-access-from-files \
			--virtual-time-budget=$((try * 10000)) --dump-dom \
			"file://$work/npm/node_modules/speedscope/dist/release/index.html#localProfilePath=$work/profile.js" \
			2>stderr | sed 's/<[^>]*>/\n/g' >dom.txt
		! grep -q '(1/5)' dom.txt || break
	done
	says dom.txt '^\(1/5\)'
	equal "speedscope's allocations" "$(grep -A20 -m1 -x allocations dom.txt | grep -m1 -E '^[0-9,]+$' | tr -d ,)" "$(totals .allocations)"
}

formats="pprof folded dhat sqlite csv jsonl speedscope massif callgrind perfetto firefox dot"

# A program without allocations, one that was killed, a file that cannot be written, one that is no trace.
case_edges()
{
	"$HEAPWISE" run -o t.hwt "$HEAPWISE_TARGETS/empty" >/dev/null 2>&1
	for format in $formats; do
		export_to "$format"
	done
	recorded "$HEAPWISE_TARGETS/containers"
	"$HEAPWISE" export --to html -o /dev/full t.hwt 2>stderr
	equal "status of html to a file on a full disk" "$?" 3
	says stderr "^heapwise export: cannot write /dev/full: No space left"
	for format in $formats; do
		export_to "$format"
		"$HEAPWISE" export --to "$format" -o - t.hwt >out 2>stderr
		equal "status of $format to -" "$?" 0
		[ "$format" = sqlite ] || cmp out "t.$format" || fail "$format to - is not what goes to a file"
		"$HEAPWISE" export --to "$format" t.hwt >/dev/full 2>stderr
		equal "status of $format to a full disk" "$?" 3
		"$HEAPWISE" export --to "$format" -o /dev/full t.hwt 2>stderr
		equal "status of $format to a file on a full disk" "$?" 3
		says stderr "^heapwise export: cannot write /dev/full: No space left"
		"$HEAPWISE" export --to "$format" -o no/such/folder t.hwt 2>stderr
		equal "status of $format to nowhere" "$?" 3
		says stderr "^heapwise export: cannot write no/such/folder: No such file"
		echo precious >kept
		"$HEAPWISE" export --to "$format" -o kept "$HEAPWISE_TARGETS/empty" 2>stderr
		equal "status of $format of no trace" "$?" 3
		equal "lines of the error" "$(wc -l <stderr)" 1
		equal "what was there before" "$(cat kept)" precious
		ln -sf kept link
		"$HEAPWISE" export --to "$format" -o link t.hwt 2>stderr
		[ -L link ] || fail "$format replaces a link"
	done
	equal "files that were left behind" "$(ls | grep -E '\.[A-Za-z0-9]{6}$' | grep -vE '^(t|x)\.')" ""
}

# What breaks off says so, wherever the format has a place, else on standard error.
case_partial()
{
	record t.hwt -- "$HEAPWISE_TARGETS/containers"
	size=$(stat -c %s t.hwt)
	head -c $((size * 2 / 3)) t.hwt >cut.hwt
	mv cut.hwt t.hwt
	field t.hwt .complete >/dev/null
	equal complete "$(field t.hwt .complete)" false
	caveat=$(field t.hwt '.caveats[0]' | cut -c1-40)
	for format in $formats; do
		"$HEAPWISE" export --no-symbols --to "$format" -o "t.$format" t.hwt 2>stderr
		equal "status of $format" "$?" 0
		cp stderr "$format.stderr"
	done
	gzip -dc t.pprof | grep -qaF "$caveat" || fail "the profile does not say: $caveat"
	equal "complete by dhat" "$(jq .complete t.dhat)" false
	equal "complete by sqlite" "$(sql 'SELECT complete FROM runs')" 0
	at_least "caveats in the database" "$(sql 'SELECT count(*) FROM caveats')" 1
	equal "complete by speedscope" "$(jq .heapwiseComplete t.speedscope)" false
	says t.massif 'complete: no'
	grep -qa 'complete: no' t.perfetto || fail "Perfetto's trace does not say that it breaks off"
	equal "complete by firefox" "$(jq -r '.meta.extra[0].entries[0].value' t.firefox)" no
	says t.callgrind 'Complete: no'
	for format in folded csv jsonl dot; do
		says "$format.stderr" "^heapwise export: note: "
	done
}

run_case "$1"
finish
