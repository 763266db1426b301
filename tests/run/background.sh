#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# background.sh CASE   a scan in the background finds what any scan does, and the program notices nothing of it.
. "$(dirname "$0")/lib.sh"

unseen=$HEAPWISE_TARGETS/unseen

# begin ARGUMENT...   records the program; $monitor is the pid of heapwise, its input is descriptor 3
begin()
{
	rm -f "$work/input"
	mkfifo "$work/input"
	: >"$work/stdout"
	"$HEAPWISE" run -q --owners=background -o "$work/trace" -- "$unseen" "$@" <"$work/input" >"$work/stdout" 2>"$work/stderr" &
	monitor=$!
	exec 3>"$work/input"
	until_true grep -q ready "$work/stdout"
}

# end   lets it come to its end
end()
{
	exec 3>&-
	wait $monitor
	equal "status" "$?" 0
	equal "what it has noticed" "$(tail -1 "$work/stdout")" fine
}

scan() { "$HEAPWISE" ctl --format json $monitor scan --owners=background; }

# stops   how each scan was made, and why
stops() { "$HEAPWISE" trace dump --facts "$work/trace" | sed -n 's/^# note scan_stop [0-9]* [0-9]* \([a-z]* [0-9]*.*\)/\1/p'; }

# copies   processes that are copies of the program, by the pid of its recording
copies() { pgrep -P $monitor | grep -v "^$(pgrep -o -P $monitor)$"; }

case_unseen()
{
	begin "${1-0}" 100000
	for _ in 1 2 3 4 5; do
		scan >"$work/got"
		equal "status of a scan" "$?" 0
		equal "lost chunks" "$(jq .lost_chunks "$work/got")" 0
		at_least "reachable chunks" "$(jq .reachable_chunks "$work/got")" 100000
		equal "copies that are left" "$(copies)" ""
	done
	end
	# the last one was made at the end
	equal "ways" "$(stops | sort | uniq -c | sed 's/^ *//')" "6 background 0"
}

case_threads() { case_unseen 40; }

# Where it cannot be the program is stopped, as without it.
case_instead()
{
	while IFS=: read -r mode reason; do
		begin "$mode"
		scan >"$work/got"
		equal "$mode: status of a scan" "$?" 0
		equal "$mode: lost chunks" "$(jq .lost_chunks "$work/got")" 0
		end
		equal "$mode: ways" "$(stops | sort -u)" "stopped 0 $reason"
		"$HEAPWISE" owners "$work/trace" >"$work/owners"
		says "$work/owners" "$reason"
	done <<-END
		filter:the program has a seccomp filter
		adopt:the program adopts orphaned processes
		limit:a process could not be made: Resource temporarily unavailable
	END
}

# What only memory leads to that a fork does not have, or not as it was, is not lost.
case_hidden()
{
	begin hide
	scan >"$work/got"
	end
	equal "ways" "$(stops | sort -u)" "background 0"
	"$HEAPWISE" trace dump --facts "$work/trace" | awk '
		!/^#/ { size[$6] = $5 }
		$1 == "#" && $2 == "root" { kind[$3] = $4 }
		$1 == "#" && $2 == "pointer" && $3 == "root" { print kind[$4], size[$8] }' | sort -u >"$work/held"
	# as data, where the kernel has put it right behind a module
	says "$work/held" "^(mapping|data) 7777$"
	says "$work/held" "^(mapping|data) 8888$"
}

# Whoever is killed at any moment of a scan: the others go on as they should.
case_killed()
{
	for round in 1 2 3 4 5 6 7 8; do
		begin 4 200000
		program=$(pgrep -o -P $monitor)
		scan >"$work/got" 2>"$work/why" &
		asking=$!
		sleep "0.0$((round * 7 % 10))"
		case $((round % 3)) in
		0) # what is recorded goes on alone
			kill -9 $monitor
			wait $monitor $asking 2>/dev/null
			exec 3>&-
			until_true test ! -e "/proc/$program"
			equal "what the program has noticed" "$(tail -1 "$work/stdout")" fine
			;;
		1)
			for copy in $(copies); do kill -9 "$copy" 2>/dev/null; done
			wait $asking
			end
			;;
		2)
			kill -9 "$program"
			wait $asking
			exec 3>&-
			wait $monitor
			equal "status" "$?" 137
			"$HEAPWISE" report "$work/trace" >"$work/report"
			equal "report" "$?" 0
			;;
		esac
		equal "round $round: copies" "$(copies)" ""
	done
}

run_case "$1"
finish
