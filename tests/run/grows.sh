#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# grows.sh CASE   containers that grow between scans are found, with their owners; those that are kept at a fixed size are not.
. "$(dirname "$0")/lib.sh"

needs jq
needs curl
target=$HEAPWISE_TARGETS/grows

# record TRACE ROUNDS SCANS   ROUNDS times 1,000 requests, with a scan before them and after each of the last SCANS - 1
record()
{
	rm -f "$work/input"
	mkfifo "$work/input"
	: >"$work/stdout"
	"$HEAPWISE" run -q -o "$1" -- "$target" <"$work/input" >"$work/stdout" &
	monitor=$!
	exec 3>"$work/input"
	for ((round = 0; round <= $2; round++)); do
		until_true sh -c "[ \$(grep -c ready '$work/stdout') -gt $round ]"
		if ((round == 0 || round > $2 + 1 - $3)); then
			"$HEAPWISE" ctl $monitor scan --owners >"$work/scan" || fail "scan $round"
		fi
		((round < $2)) && echo >&3
	done
	exec 3>&-
	wait $monitor
}

# expected REQUESTS BUCKETS PLACES   what the program asks for, and by how much arrays are larger: of hash tables, and of the vector
expected()
{
	cat <<-EOF
		Service::events $1 $(($1 * (48 + 351)))
		Service::pages $1 $(($1 * (24 + 408) + 8 * $2))
		Service::users $1 $(($1 * (72 + 251)))
		names (grows.cpp) $1 $(($1 * (48 + 151) + 8 * $2))
		replies (grows.cpp) $1 $(($1 * 312 + 8 * $3))
		rows (grows.cpp) $1 $(($1 * 200))
	EOF
}

found() { jq -r '.growth[] | "\(.container | sub(":[0-9]+\\)"; ")")) \(.elements_delta) \(.bytes_delta)"' "$work/json" | sort; }

# serve TRACE   in the background; $server, $base, $token
serve()
{
	"$HEAPWISE" serve --print-url "$1" >"$work/url" 2>"$work/stderr" &
	server=$!
	until_true test -s "$work/url"
	base=$(sed 's|/?token=.*||' "$work/url")
	token=$(sed 's/.*token=//' "$work/url")
	until_true sh -c "curl -s -H 'Authorization: Bearer $token' $base/api/v1/status | grep -q ready"
}

get() { curl -s -m 60 -H "Authorization: Bearer $token" "$base/api/v1/$1"; }

# Two scans of one run.
case_run()
{
	record "$work/trace.hwt" 1 2
	"$HEAPWISE" owners --format json "$work/trace.hwt" >"$work/json"
	equal "status" "$?" 0
	equal "what grew" "$(found)" "$(expected 1000 0 0)"
	equal "path" "$(jq -r '.growth[] | select(.container == "Service::pages") | .path | sub(":[0-9]+"; "")' "$work/json")" \
		"service (grows.cpp) → Service .pages → 5,087 buckets → std::unordered_map<long, std::unique_ptr<Page>> node"
	equal "without a scan between" "$(jq -c '[.growth[].stopped] | unique' "$work/json")" "[null]"
	# the same as findings, which come before all others and instead of growth
	"$HEAPWISE" findings --top 0 --format json "$work/trace.hwt" >"$work/findings"
	equal "findings" "$(jq -r '.findings[:6][] | select(.kind == "grows_in") | "\(.container) \(.chunks) \(.bytes)"' "$work/findings" | sort)" \
		"$(jq -r '.growth[] | "\(.container) \(.elements_delta) \(.bytes_delta)"' "$work/json" | sort)"
	equal "growth told twice" "$(jq '[.findings[] | select(.kind == "growth" and (.text | test("Job") | not))] | length' "$work/findings")" 0
	says "$work/findings" '"text": "Service::pages, held by service \(grows.cpp:[0-9]+\), grew by 1,000 elements \(std::.* node\) and 422 KiB in .*: limit its size'
	"$HEAPWISE" owners "$work/trace.hwt" >"$work/text"
	says "$work/text" "^What grew in .*, and who holds it$"
	says "$work/text" "^ +[+]422 KiB .* [+]1,000 +Service::pages "
	equal "with --at twice" "$("$HEAPWISE" owners --at start --at end --format json "$work/trace.hwt" | jq -c .growth)" "$(jq -c .growth "$work/json")"
	serve "$work/trace.hwt"
	equal "over HTTP" "$(get owners | jq -c '[.data.growth[] | [.container, .elements_delta, .bytes_delta, .path]]')" \
		"$(jq -c '[.growth[] | [.container, .elements_delta, .bytes_delta, .path]]' "$work/json")"
	equal "findings over HTTP" "$(get overview | jq -c '[.data.findings[] | select(.kind == "grows_in") | .text]')" \
		"$(jq -c '[.findings[] | select(.kind == "grows_in") | .text]' "$work/findings")"
	equal "without a second scan" "$(get "owners?at=0" | jq -c .data.growth)" null
	kill -INT "$server"
	wait "$server"
	"$HEAPWISE" owners --at end --at start "$work/trace.hwt" 2>"$work/stderr"
	equal "status of moments that are swapped" "$?" 2
	says "$work/stderr" "no scan near 'end' is earlier than the one at 'start'"
}

# Two runs, of which the second does more; the first has one scan.
case_runs()
{
	record "$work/old.hwt" 0 1
	record "$work/new.hwt" 3 2
	"$HEAPWISE" owners --baseline "$work/old.hwt" --format json "$work/new.hwt" >"$work/json"
	equal "status" "$?" 0
	equal "what grew" "$(found)" "$(expected 3000 $((10273 - 5087)) 4096)"
	equal "no rate" "$(jq -c '[.growth[].bytes_per_minute] | unique' "$work/json")" "[null]"
	"$HEAPWISE" owners --baseline "$work/new.hwt" --format json "$work/old.hwt" >"$work/json"
	equal "what grew backwards" "$(found)" ""
	for words in "--at 1s --at 2s" "--path Page"; do
		# shellcheck disable=SC2086
		"$HEAPWISE" owners --baseline "$work/old.hwt" $words "$work/new.hwt" 2>"$work/stderr"
		equal "$words: status" "$?" 2
		says "$work/stderr" "cannot be combined with"
	done
	"$HEAPWISE" run -q -o "$work/plain.hwt" -- "$target" </dev/null >"$work/stdout"
	"$HEAPWISE" owners --baseline "$work/plain.hwt" "$work/new.hwt" 2>"$work/stderr"
	equal "status without pointers" "$?" 3
	says "$work/stderr" "plain.hwt: no pointers were recorded"
}

# watched_scans PID   of a program that is watched, before and after 1,000 requests; it goes on
watched_scans()
{
	for round in 0 1; do
		until_true sh -c "[ \$(grep -c ready '$work/stdout') -gt $round ]"
		"$HEAPWISE" ctl "$1" scan --owners >"$work/scan" || fail "scan $round"
		((round == 0)) && echo >&3
	done
}

# A program that is watched: over HTTP while it runs, and in the text at its end.
case_watch()
{
	mkfifo "$work/input"
	: >"$work/stdout"
	"$HEAPWISE" watch --web --print-url --trace "$work/trace.hwt" -o "$work/text" -- "$target" <"$work/input" >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	exec 3>"$work/input"
	watched_scans $monitor
	grep -o 'http://.*' "$work/stdout" >"$work/url"
	base=$(sed 's|/?token=.*||' "$work/url")
	token=$(sed 's/.*token=//' "$work/url")
	until_true sh -c "curl -s -H 'Authorization: Bearer $token' $base/api/v1/owners | jq -e '.data.growth | length == 6' >/dev/null"
	get owners | jq .data >"$work/json"
	equal "while it runs" "$(found)" "$(expected 1000 0 0)"
	exec 3>&-
	until_true grep -q "until Ctrl-C" "$work/stderr"
	kill -INT "$monitor"
	wait "$monitor"
	says "$work/text" "^What grew in .*, and who holds it$"
	says "$work/text" "^ +[+]422 KiB .* [+]1,000 +Service::pages "
	equal "what else grew" "$(sed -n '/^What grew in/,$p' "$work/text" | grep -c "Job")" 0 # before it they may be untouched
}

# The same in lines of JSON, those while it runs and the last one: the five that grew most.
case_batch()
{
	mkfifo "$work/input"
	: >"$work/stdout"
	"$HEAPWISE" watch --batch 0 --interval 250 --trace "$work/trace.hwt" -o "$work/lines" -- "$target" <"$work/input" >"$work/stdout" &
	monitor=$!
	exec 3>"$work/input"
	watched_scans $monitor
	until_true grep -q '"grown":' "$work/lines"
	exec 3>&-
	wait $monitor
	equal "nothing at first" "$(head -1 "$work/lines" | jq -c .grown)" null
	for last in false true; do
		jq -s "map(select(.grown and .last == $last))[0] | {growth: .grown}" "$work/lines" >"$work/json"
		equal "last: $last" "$(found)" "$(expected 1000 0 0 | grep -v "^names ")"
	done
}

# What grew before an exec is not told after it.
case_exec()
{
	mkfifo "$work/input"
	: >"$work/stdout"
	"$HEAPWISE" watch --batch 0 --interval 250 --trace "$work/trace.hwt" -o "$work/lines" -- "$target" <"$work/input" >"$work/stdout" &
	monitor=$!
	exec 3>"$work/input"
	watched_scans $monitor
	until_true grep -q '"grown":' "$work/lines"
	echo x >&3
	until_true sh -c "[ \$(grep -c ready '$work/stdout') -gt 2 ]"
	lines=$(wc -l <"$work/lines")
	until_true sh -c "[ \$(wc -l <'$work/lines') -gt $((lines + 3)) ]"
	equal "while it runs" "$(tail -1 "$work/lines" | jq -c .grown)" null
	exec 3>&-
	wait $monitor
	equal "at the end" "$(tail -1 "$work/lines" | jq -c .grown)" null
}

# And on the screen.
case_screen()
{
	mkfifo "$work/input"
	: >"$work/stdout"
	python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' sh -c "echo \$\$ >'$work/pid'
		exec '$HEAPWISE' watch --interval 250 --trace '$work/trace.hwt' -- '$target' <'$work/input' >'$work/stdout'" </dev/null >"$work/screen" &
	terminal=$!
	exec 3>"$work/input"
	until_true test -s "$work/pid"
	watched_scans "$(cat "$work/pid")"
	until_true grep -q "Service::pages" "$work/screen"
	says "$work/screen" "^ +[+]422 KiB .* [+]1,000 +Service::pages "
	equal "while it runs" "$(grep -c "^CPU time:" "$work/screen")" 0
	exec 3>&-
	wait $terminal
	says "$work/screen" "^CPU time:"
	equal "at the end" "$(sed '1,/^CPU time:/d' "$work/screen" | grep -c "^What grew in .*, and who holds it")" 1
}

run_case "$1"
finish
