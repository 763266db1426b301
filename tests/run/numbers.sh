#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# numbers.sh   one number for one thing: allocations, bytes, peak, kept, and findings of a recording are the same at the end of
# `run`, in report, findings, leaks, check, trace info, the database, and the API, whatever the recording lacks.
. "$(dirname "$0")/lib.sh"
needs curl
needs sqlite3

targets=$HEAPWISE_TARGETS
logstat=$HEAPWISE_BUILD_DIR/examples/logstat

# json COMMAND... TRACE   status 1 of check is no failure
json() { "$HEAPWISE" "${@:1:$#-1}" --format json "${@: -1}" 2>"$work/errors" || [ "$1" = check ] || fail "$*: $(cat "$work/errors")"; }

# ask PATH...   of a server of $trace, one answer a line
ask()
{
	local server url

	rm -f "$work/url"
	"$HEAPWISE" serve --print-url --no-warm-up "$trace" >"$work/url" 2>/dev/null &
	server=$!
	until [ -s "$work/url" ]; do sleep 0.02; done
	url=$(cat "$work/url")
	for path; do
		until curl -sf -m 20 -H "Authorization: Bearer ${url#*token=}" "${url%%/\?token=*}/api/v1/$path" >"$work/answer"; do
			kill -0 "$server" || { fail "no answer to $path"; break; }
			sleep 0.05
		done
		jq -c . "$work/answer"
	done
	kill -INT "$server"
	wait "$server"
}

# agree NAME   what is said of $trace: rows of "who allocations bytes peak kept", - where it does not say
agree()
{
	local name=$1 words found

	json report "$trace" >"$work/report"
	words=$("$HEAPWISE" report --no-pager "$trace" 2>/dev/null | awk '
		$1 == "allocations" && !allocations { allocations = $2; bytes = $3 " " $4 }
		$1 == "peak" && !peak { sub(/^ *peak */, ""); sub(/,[^,]*$/, ""); gsub(/ +/, " "); peak = $0 }
		$1 == "kept" && !kept { sub(/^ *kept */, ""); sub(/,[^,]*$/, ""); gsub(/ +/, " "); kept = $0 }
		END { print allocations "; " bytes "; " peak "; " kept }')
	equal "$name: the first line" "$(sed -nE 's/^heapwise: (about )?([0-9,]+) allocations?( \(estimated[^)]*\))?, (.*) in [^;]*; peak (.*); kept (.*)/\2; \4; \5; \6/p' "$work/stderr")" "$words"
	json findings "$trace" >"$work/findings"
	json leaks "$trace" >"$work/leaks"
	json trace info "$trace" >"$work/info"
	json check --allow-incomplete --max-allocs 0 --max-bytes 0 --max-peak 0 --max-kept 0 "$trace" >"$work/check"
	"$HEAPWISE" export --to sqlite -o "$work/database" "$trace" 2>/dev/null || fail "$name: export"
	ask overview report findings leaks "timeline?bins=1" >"$work/api"
	{
		jq -r '"report \(.allocations) \(.bytes) \(.peak.bytes) \(.kept.bytes)"' "$work/report"
		jq -r '"findings \(.allocations) - \(.peak_bytes) -"' "$work/findings"
		jq -r '"leaks - - - \([.lost, .indirect, .possible, .reachable, .suppressed, .unknown | .bytes // 0] | add)"' "$work/leaks"
		jq -r '.image_list[-1] | select(.scan == "done") | "info - - - \(.lost_bytes + .indirect_bytes + .possible_bytes + .reachable_bytes)"' "$work/info"
		jq -r '(.limits | map({(.metric): .value}) | add) as $of | "check \($of.allocations) \($of.bytes) \($of.peak) \($of.kept + (.hidden_kept_bytes // 0))"' "$work/check"
		sqlite3 -separator ' ' "$work/database" "SELECT 'database', allocations, bytes, peak_bytes, kept_bytes FROM runs"
		sed -n 1p "$work/api" | jq -r '.data | "overview \(.counts.allocs) \(.bytes.total) \(.bytes.peak) \(.bytes.kept)"'
		sed -n 2p "$work/api" | jq -r '.data | "/report \(.allocations) \(.bytes) \(.peak.bytes) \(.kept.bytes)"'
		sed -n 3p "$work/api" | jq -r '.data | "/findings \(.allocations) - \(.peak_bytes) -"'
		sed -n 5p "$work/api" | jq -r '.total | "envelope \(.allocs // .chunks) \(.requested // .bytes) - -"'
	} >"$work/rows"
	awk '{ for (i = 2; i <= 5; i++) if ($i != "-" && of[i] == "") of[i] = $i; else if ($i != "-" && $i != of[i]) bad = 1 }
		END { exit bad }' "$work/rows" || { fail "$name: not one number:"; sed 's/^/    | /' "$work/rows"; }
	at_least "$name: rows" "$(wc -l <"$work/rows")" 8
	# the findings themselves, and how many there are
	found=$(jq -c '[.found, (.findings | length)]' "$work/findings")
	equal "$name: findings of the API" "$(sed -n 1p "$work/api" | jq -c '[.data.findings_all, (.data.findings | length)]') $(sed -n 3p "$work/api" | jq -c '[.data.found, (.data.findings | length)]')" "$found $found"
	for other in report api; do
		[ $other = report ] && cp "$work/report" "$work/other" || sed -n 3p "$work/api" | jq .data >"$work/other"
		equal "$name: findings of the $other" "$(jq -c '[.findings[:5][] | [.level, .text, .saves]]' "$work/other")" \
			"$(jq -c '[.findings[:5][] | [.level, .text, .saves]]' "$work/findings")"
	done
	# what has no names, in the words of all that say it
	{
		sed -nE 's/.*(no function names for [0-9.]+ %).*/run \1/p' "$work/stderr"
		for with in "" --no-fold; do
			for command in report findings; do
				json $command $with "$trace" | jq -r --arg who "$command$with" '.caveats[] | scan("no function names for [0-9.]+ %") | "\($who) \(.)"'
			done
		done
		sed -n 1p "$work/api" | jq -r '.data.unnamed // "" | scan("no function names for [0-9.]+ %") | "overview \(.)"'
	} >"$work/unnamed"
	[ -z "$(sort "$work/unnamed")" ] && [ "$name" != stripped ] ||
		equal "$name: who says which part has no names" "$(cut -d' ' -f2- "$work/unnamed" | sort | uniq -c | awk '{ print $1 }')" 6
}

# recorded NAME OPTION... -- PROGRAM...
recorded()
{
	local name=$1

	shift
	trace=$work/$name.hwt
	"$HEAPWISE" run -o "$trace" "$@" >"$work/stdout" 2>"$work/stderr" || :
	agree "$name"
}

cat >"$work/late.c" <<'PROGRAM'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
static __attribute__((noinline)) void *fill(size_t size) { return malloc(size); }
void *xmalloc(size_t size) { void *p = malloc(size); if (!p) abort(); return p; }
static __attribute__((noinline)) void work(void)
{
	for (int round = 0; round < 60; round++) { /* its peak comes late */
		void *some[500];
		for (int i = 0; i < 500; i++)
			some[i] = i % 2 ? fill(16 + round) : xmalloc(40 * round + i);
		for (int i = 0; i < 500; i++)
			if (i % 50 || round % 20)
				free(some[i]);
		usleep(3000);
	}
	kept = xmalloc(777);
}
int main(int argc, char **argv)
{
	work();
	if (argc > 1)
		execv(argv[1], argv + 1);
	return 0;
}
PROGRAM
cc -O1 -o "$work/late" "$work/late.c" || fail "cannot compile"
recorded plain -- "$logstat"
recorded exec -- "$work/late" "$work/late"
recorded images -- env A=b nice -n 1 sh -c "exec '$logstat'"
recorded sampled --sample 512 -- "$work/late"
recorded limited --max-size 20K -- jq -n '[range(300000) | tostring] | length'
says "$work/stderr" "size limit reached"
recorded killed -- sh -c "$work/late; kill -9 \$\$"
recorded threads -- "$targets/threads"
# Nothing but what others link with has a name: the wrapper has, its callers have not.
cc -O1 -rdynamic -o "$work/stripped" "$work/late.c" && strip "$work/stripped" || fail "cannot strip"
recorded stripped -- "$work/stripped"

# Several processes: their sum, and the highest peak.
"$HEAPWISE" run --children -o "$work/several" -- sh -c "$work/late; $work/late $work/late; '$logstat'" >"$work/stdout" 2>"$work/stderr"
json report "$work/several" >"$work/report"
equal "several: the first line" "$(sed -nE 's/^heapwise: ([0-9,]+) allocations, (.*) in .* by ([0-9]+) processes; highest peak (.*); kept (.*) in [0-9,]+ chunks?$/\1; \2; \3; \4; \5/p' "$work/stderr")" \
	"$("$HEAPWISE" report --no-pager "$work/several" | awk '
		$1 == "processes" && !processes { processes = $2 }
		$1 == "allocations" && !allocations { allocations = $2 }
		$1 == "bytes" && !bytes { bytes = $2 " " $3 }
		$1 == "kept" && !kept { kept = $2 " " $3 }
		/^Most bytes/ { exit }
		at && NF > 8 && $NF ~ /B$/ && $(NF - 3) > 0 { peak = $(NF - 3) " " $(NF - 2); if (size($(NF - 2)) * $(NF - 3) > highest) { highest = size($(NF - 2)) * $(NF - 3); most = peak } }
		$1 == "process" { at = 1 }
		function size(unit) { return unit == "MiB" ? 1048576 : unit == "KiB" ? 1024 : 1 }
		END { print allocations "; " bytes "; " processes "; " most "; " kept }')"
finish
