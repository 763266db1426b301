#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# watch.sh CASE   page monitoring: programs behave as without it, hits are those that were made, leaks are found.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work" || exit 1
watched=$HEAPWISE_TARGETS/watched
eager=$HEAPWISE_TARGETS/eager
HEAPWISE_EXAMPLES=$(dirname "$HEAPWISE")/examples

# json FILE EXPRESSION   of the last line, d
json()
{
	python3 -c 'import json, sys
d = [json.loads(line) for line in open(sys.argv[1])][-1]
print(eval(sys.argv[2]))' "$1" "$2"
}

# each FILE min|max EXPRESSION   of all lines but the last, whose interval is short
each()
{
	python3 -c 'import json, sys
print(eval(sys.argv[2])(eval(sys.argv[3]) for d in map(json.loads, list(open(sys.argv[1]))[:-1])))' "$@"
}

# within POLICY SHARE   the option that limits the cost, for the policy that has a limit
within()
{
	[ "$1" != mpc ] || echo "--overhead $2"
}

# stale_most FILE FUNCTION areas|bytes   the most that one line calls stale of what the function has allocated
stale_most()
{
	python3 -c 'import json, sys
print(max(sum(s["stale_" + sys.argv[3]] for s in json.loads(line)["suspects"] if s["stack"][0].startswith(sys.argv[2] + " "))
          for line in open(sys.argv[1])))' "$@"
}

# counted NAME   of what eager has seen
counted()
{
	sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" stderr
}

# behaves CASE STATUS NUMBER [COUNTER]   under the eager tool the target's case ends so, and it has counted so many accesses at least. How many
# there are in two seconds is a matter of when the machine lets program, monitor and helper run: too few are looked for again in
# a longer run. Whatever else is wanted holds in each.
behaves()
{
	local seconds counter=${4-accesses}

	for seconds in 2 8 30; do
		"$eager" "$watched" "$1" $seconds >stdout 2>stderr
		equal "$1: status" $? "$2"
		[ -n "$(counted accesses)" ] || { fail "$1: eager says nothing"; cat stderr; return; }
		equal "$1: wrong" "$(counted wrong)" 0
		equal "$1: lost" "$(counted lost)" 0
		[ "$(counted "$counter")" -lt "$3" ] || return
	done
	at_least "$1: $counter" "$(counted "$counter")" "$3"
}

case_calls() { behaves calls 0 20 kernel; at_least accesses "$(counted accesses)" 20; }
case_signals() { behaves signals 0 20; }
case_crash() { behaves crash 139 0; }
case_threads() { behaves threads 0 50; }
case_fork() { behaves fork 0 100; }
case_heap() { behaves heap 0 5; }
case_contexts() { behaves contexts 0 0; }
case_guards() { behaves guards 0 0; }
case_sandbox() { behaves sandbox 0 20; }
case_deaf()
{
	"$HEAPWISE" watch -o deaf.jsonl "$watched" deaf >stdout 2>stderr || fail "deaf: status $?: $(cat stderr)"
}

# Threads that share thread-local storage have no free slots of the heap in common.
case_bare()
{
	for _ in 1 2 3; do
		"$HEAPWISE" watch --batch 0 -o bare.jsonl "$HEAPWISE_TARGETS/bare" thread 8 40000 >stdout 2>stderr || fail "status $?: $(tail -n 1 stderr)"
	done
}

# Functions of libc that are given memory that rests: what comes of each is what comes without Heapwise.
case_idle_calls()
{
	idle=$HEAPWISE_TARGETS/idle
	"$idle" >plain || fail "plain: status $?"
	at_least "calls" "$(wc -l <plain)" 38
	equal "cancelled" "$(grep cancel: plain)" "cancel: 44"
	"$eager" "$idle" >eager.out 2>stderr || fail "eager: status $?: $(cat stderr)"
	equal "calls that differ" "$(diff plain eager.out)" ""
	"$HEAPWISE" watch --policy all --batch 1 -o idle.jsonl "$idle" io_uring >stdout 2>stderr || fail "io_uring: status $?"
	grep -qx "io_uring: 0" plain || says stderr "set up io_uring; its memory was not monitored after that"
}

# idle_libc SHARE   every function of the C library that takes a pointer is called so, or a part of them: as many times fewer; the list is
# written from the library and its headers.
idle_libc()
{
	needs python3
	libc=$HEAPWISE_TARGETS/idle_libc
	[ -x "$libc" ] || skip "the C library of this machine was not found when the tests were built"
	equal "functions that are neither called nor named in APART" "$("$libc" --unlisted | grep -v " cases, ")" ""
	python3 "$here/idle_libc.py" "$libc" "$eager" "$1" >compared || fail "$(cat compared)"
	tail -1 compared
	at_least "calls with armed memory" "$(sed -n 's/.* kernel //p' compared)" $((1000 / $1))
}
case_idle_libc() { idle_libc 8; }
case_idle_libc_all() { idle_libc 1; }

# Libraries that make system calls of their own, for memory that the kernel uses later.
case_rings()
{
	rings=$HEAPWISE_TARGETS/rings
	[ -x "$rings" ] || lacks liburing-dev libaio-dev
	for case in linked loaded aio; do
		if ! "$rings" $case >plain; then
			echo "$case: $(cat plain)"
			continue
		fi
		equal "$case, plain" "$(cat plain)" "wrong 0, read 7"
		"$eager" "$rings" $case >stdout 2>stderr
		equal "$case, eager: status" $? 0
		equal "$case, eager" "$(cat stdout)" "$(cat plain)"
		"$HEAPWISE" watch --policy all --batch 1 -o rings.jsonl "$rings" $case >stdout 2>stderr
		equal "$case: status" $? 0
		equal "$case" "$(cat stdout)" "$(cat plain)"
		[ $case = aio ] || says stderr "set up io_uring; its memory was not monitored after that"
	done
}

# System calls that the program makes by instructions of its own have gates, too.
case_raw()
{
	behaves raw 0 20
	equal "refused" "$(sed -n 's/.*refused \([0-9]*\)/\1/p' stdout)" 0
}

# More is touched at once than was paid for: everything is opened, and the budget holds.
case_burst()
{
	"$HEAPWISE" watch --overhead 1% --batch 0 -o burst.jsonl "$watched" burst 3 || fail "status $?"
	at_least "armed" "$(python3 -c 'import json; print(max(json.loads(l)["armed_units"] for l in open("burst.jsonl")))')" 1000
	at_least "floods" "$(json burst.jsonl 'd["floods"]')" 1
	equal "within the budget" "$(json burst.jsonl 'd["overhead"] <= 0.01')" True
	equal "parts of the cost" "$(json burst.jsonl '0 < d["opening_ns"] and 0 < d["arming_ns"] and d["arming_ns"] + d["opening_ns"] < d["cost_ns"]')" True
}

# Touched one after the other, for the second time: a hit opens the next ones, too, and what was not hit is not said to be.
case_sweep()
{
	for policy in mpc ladder; do
		"$HEAPWISE" watch --policy $policy $(within $policy 5%) --batch 0 -o $policy.jsonl "$watched" sweep 3 || fail "$policy: status $?"
		armed=$(python3 -c 'import json, sys; print(max(json.loads(l)["armed_units"] for l in open(sys.argv[1])))' $policy.jsonl)
		at_least "$policy: armed" "$armed" 4000
		at_least "$policy: opened with others" "$(json $policy.jsonl 'd["around"]')" 2000
		at_most "$policy: hits" "$(json $policy.jsonl 'd["hits"]')" $((8000 + armed / 2))
	done
}

# By userfaultfd: writes are noticed, also those of the kernel, which never refuses anything; reads are not.
case_userfaultfd()
{
	if ! "$HEAPWISE" watch -q --pages userfaultfd --batch 1 -o first.jsonl "$watched" guards 0 2>refused.err; then
		says refused.err "userfaultfd.*omit --pages to monitor memory with mprotect"
		skip "$(sed 's/.*: userfaultfd/userfaultfd/' refused.err)"
	fi
	"$HEAPWISE" watch --pages userfaultfd --policy all --leak-after 2s --batch 1 -o known.jsonl "$watched" known 4 ||
		fail "known: status $?"
	equal "sees" "$(json known.jsonl 'd["sees"]')" writes
	at_least "hits" "$(json known.jsonl 'd["hits"]')" 11
	equal "stale" "$(json known.jsonl 'd["stale_areas"]')" 90
	"$HEAPWISE" watch -q --pages userfaultfd --policy all --batch 1 -o raw.jsonl "$watched" raw 2 >stdout || fail "raw: status $?"
	equal "refused" "$(sed -n 's/.*refused \([0-9]*\)/\1/p' stdout)" 0
	at_least "raw: hits" "$(json raw.jsonl 'd["hits"]')" 1
	"$HEAPWISE" watch -q --pages userfaultfd --policy all --batch 1 -o read.jsonl "$watched" sweep 1.5 || fail "sweep: status $?"
	at_least "armed" "$(json read.jsonl 'd["arms"]')" 8000
	at_most "hits of what only reads" "$(json read.jsonl 'd["hits"]')" 100
	for case in threads fork; do
		"$HEAPWISE" watch -q --pages userfaultfd --policy all --batch 1 -o $case.jsonl "$watched" $case 2 >/dev/null || fail "$case: status $?"
		at_least "$case: hits" "$(json $case.jsonl 'd["hits"]')" 1
	done
	# Who may not is told so.
	[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "$(cat /proc/sys/vm/unprivileged_userfaultfd)" = 0 ] || return
	setpriv --reuid 65534 --clear-groups test -x "$HEAPWISE" || return
	setpriv --reuid 65534 --clear-groups "$HEAPWISE" watch --pages userfaultfd true 2>refused.err
	equal "without the privilege: status" $? 3
	says refused.err "needs CAP_SYS_PTRACE"
}

# A recorder elsewhere, areas that are not to be monitored any more, and leaving a program that goes on.
case_toolkit()
{
	choosy=$HEAPWISE_TARGETS/choosy
	cp "$(dirname "$HEAPWISE")/libheapwise-watch.so" elsewhere.so
	"$choosy" unmonitor "$work/missing.so" "$watched" known 1 2>stderr
	equal "no recorder there: status" $? 3
	says stderr "choosy: .*missing.so"
	"$choosy" unmonitor "$work/elsewhere.so" "$watched" known 4 >stdout 2>stderr
	equal "status" $? 0
	seen() { sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" stdout; }
	at_least "accesses of the large one" "$(seen large)" 1
	at_least "of small ones" "$(seen small)" 5
	equal "of the large one after it was disarmed" "$(seen large_after)" 0
	at_least "of small ones after that" "$(seen small_after)" 5
	equal "large ones that are monitored" "$(seen monitored)" 0
	"$HEAPWISE" watch -q --policy ladder "$watched" known 4 2>watch.err &
	monitor=$!
	program=$(child_of $monitor)
	sleep 1
	"$choosy" leave "$program" >stdout 2>stderr
	equal "left: status" $? 0
	equal "left: ticks" "$(seen ticks)" 20
	equal "areas that are born in the future" "$(seen unborn)" 0
	equal "the program runs on" "$(seen runs)" 1
	wait $monitor
	equal "and ends as it would: status" $? 0
}

# Of 50 small areas that are used all the time each is seen, if the tool asks for pages of their own.
case_own_pages()
{
	local folder seconds
	folder=$(dirname "$HEAPWISE")
	cat >tool.c <<-'PROGRAM'
		#include <heapwise/client.h>
		#include <stdio.h>

		static unsigned long most;

		static void on_event(void *client, const struct heapwise_event *event)
		{
			(void)client;
			if (event->kind == HEAPWISE_ACCESS)
				heapwise_area_set_data(event->area, event->area);
		}

		static void on_tick(void *client, uint64_t now_ns)
		{
			unsigned long seen = 0;

			(void)now_ns;
			for (struct heapwise_area *area = heapwise_next(client, NULL); area; area = heapwise_next(client, area)) {
				heapwise_monitor(client, area);
				seen += heapwise_area_size(area) == 200 && heapwise_area_data(area);
			}
			most = seen > most ? seen : most;
		}

		int main(int argc, char **argv)
		{
			struct heapwise_client *client = heapwise_client_new();
			int status;

			heapwise_set_recorder(client, argv[1]);
			heapwise_want_own_pages(client);
			heapwise_on_event(client, on_event, client);
			heapwise_on_tick(client, 20, on_tick, client);
			if (argc < 3 || heapwise_launch(client, argv + 2, &status) < 0)
				return 3;
			printf("%lu\n", most);
			return status != 0;
		}
	PROGRAM
	cat >used.c <<-'PROGRAM'
		#include <stdlib.h>
		#include <time.h>

		int main(int argc, char **argv)
		{
			volatile char *area[50];
			time_t end = time(NULL) + atoi(argv[argc - 1]);

			for (int i = 0; i < 50; i++)
				area[i] = malloc(200);
			while (time(NULL) < end) {
				struct timespec pause = {0, 2000000};

				for (int i = 0; i < 50; i++)
					area[i][0]++;
				nanosleep(&pause, NULL);
			}
			return 0;
		}
	PROGRAM
	gcc -O1 -I"$HEAPWISE_SOURCE_DIR/include" -o tool tool.c -L"$folder" -lheapwise-client -Wl,-rpath,"$folder" || { fail "cannot build the tool"; return; }
	gcc -O1 -o used used.c || { fail "cannot build the program"; return; }
	for seconds in 4 12 30; do
		./tool "$folder/libheapwise-watch.so" ./used $seconds >stdout || fail "status $?"
		[ "$(cat stdout)" -lt 50 ] || break
	done
	equal "small areas that were seen" "$(cat stdout)" 50
}

# lives PROGRAM   it has all of its areas, and the monitor has seen them
lives() { "$HEAPWISE" ctl --format json "$1" status 2>/dev/null | jq -e '.allocations >= 101' >/dev/null; }

# known_until FILE COMMAND...   starts the program `known` by this command, until there is the file; it has all of its areas: $monitor, $program
known_until()
{
	"${@:2}" "$watched" known 600 "$work/$1" 2>watch.err &
	monitor=$!
	program=$(child_of $monitor)
	until_true lives "$program"
}

# eager_saw AREAS ACCESSES   so far, at least
eager_saw()
{
	local areas=0 accesses=0

	read -r areas accesses 2>/dev/null <"$EAGER_SEEN"
	[ "${areas:-0}" -ge "$1" ] && [ "${accesses:-0}" -ge "$2" ]
}

rates_saw() { grep -qE "^ +[0-9.]+ +[0-9]+ +[0-9]+ +[0-9]+ +101 " rates.err; }

# A tool joins what runs: it is told what lives, then what comes, and may monitor; two may at a time.
case_join()
{
	export EAGER_SEEN=$work/seen
	known_until end "$HEAPWISE" watch -q --access-stacks --policy all
	"$HEAPWISE_EXAMPLES/rates" -p $monitor 2>rates.err &
	rates=$!
	"$eager" -p "$program" 2>stderr &
	tool=$!
	until_true eager_saw 101 100
	until_true rates_saw
	touch end
	wait $tool
	equal "eager: status" $? 0
	wait $rates
	equal "rates: status" $? 0
	wait $monitor
	equal "the program: status" $? 0
	equal "areas that lived" "$(counted mallocs)" 101
	at_least "accesses" "$(counted accesses)" 100
	equal "wrong" "$(counted wrong)" 0
	equal "lost" "$(counted lost)" 0
	# What runs on its own allocator can be listened to, not monitored.
	rm -f seen end
	known_until end "$HEAPWISE" run -q --no-symbols -o t.hwt
	"$eager" -p "$program" 2>stderr &
	tool=$!
	until_true eager_saw 101 0
	touch end
	wait $tool
	equal "recorded: status" $? 0
	equal "recorded: areas" "$(counted mallocs)" 101
	equal "recorded: accesses" "$(counted accesses)" 0
	wait $monitor
	equal "kept in the trace" "$(field t.hwt .kept.chunks)" 101
	# A tool that dies, and a program that nobody records.
	rm -f end
	known_until end "$HEAPWISE" watch -q
	"$HEAPWISE_EXAMPLES/ageing" -p $monitor 2>ageing.err &
	tool=$!
	until_true grep -q . ageing.err
	kill -9 $tool
	wait $tool 2>/dev/null
	touch end
	wait $monitor
	equal "after a tool that was killed: status" $? 0
	"$eager" -p $$ 2>stderr
	equal "nobody records it: status" $? 3
}

# An option that would change nothing is refused; --open needs no --web.
case_usage()
{
	for policy in ladder all; do
		"$HEAPWISE" watch --policy $policy --overhead 2% true 2>stderr
		equal "--overhead with $policy: status" $? 2
		says stderr "--overhead requires --policy mpc"
	done
	printf '#!/bin/sh\necho "$1" >%s/opened\n' "$work" >browser
	chmod +x browser
	BROWSER=$work/browser "$HEAPWISE" watch -q --open --batch 1 -o lines.jsonl "$HEAPWISE_TARGETS/leaky" 2 >stdout 2>stderr || fail "--open: status $?"
	until_true test -s opened
	says opened "^http://127.0.0.1:"
}

# 10 small areas and a large one are touched all the time, 90 never again.
case_known()
{
	for policy in all ladder mpc; do
		# The program hardly uses the CPU: of that a small share is nothing.
		"$HEAPWISE" watch --policy $policy $(within $policy 50%) --leak-after 2s --batch 1 -o $policy.jsonl "$watched" known 6 ||
			fail "$policy: status $?"
		equal "$policy: live" "$(json $policy.jsonl 'd["live_areas"]')" 101
		equal "$policy: old" "$(json $policy.jsonl 'sum(d["ages_s_1_2_4_8_16_32_more"][2:])')" 90
		# Those that are touched may be open at the end for as long as the highest threshold.
		equal "$policy: recent" "$(json $policy.jsonl 'sum(d["ages_s_1_2_4_8_16_32_more"][:2]) + d["age_unknown_areas"]')" 11
		at_least "$policy: touched in each interval, or unknown" \
			"$(each $policy.jsonl min 'd["working_bytes"] + d["working_unknown_bytes"]')" 101045
		at_least "$policy: hits" "$(json $policy.jsonl 'd["hits"]')" 11
		equal "$policy: a program that ends" "$(json $policy.jsonl 'd["last"]')" True
	done
}

# Who touched an area last is the function that did, not the handler or what it returns to.
case_stacks()
{
	"$HEAPWISE" watch --access-stacks --policy all --batch 1 -o stacks.jsonl "$watched" known 4 || fail "status $?"
	equal "first frames of accesses" \
		"$(json stacks.jsonl 'sorted({a["touched_by"][0].split()[0] for a in d["rare"] if "touched_by" in a})')" "['case_known']"
}

# live POLICY   a run in which the program was not held up for as long as makes memory stale
live()
{
	local try

	for try in 1 2 3 4; do
		"$HEAPWISE" watch --policy $1 $(within $1 20%) --leak-after 4s --batch 1 -o $1.jsonl "$watched" live 14 >longest ||
			fail "$1: status $?"
		[ "$(cat longest)" -ge 3500 ] || return 0
	done
	skip "the machine is too busy: the program stood still for $(cat longest) ms"
}

# What is read again and again is never called stale, whatever shares its page; what nobody reads is.
case_live()
{
	for policy in all ladder mpc; do
		live $policy
		equal "$policy: areas that are read and called stale" "$(stale_most $policy.jsonl live_area areas)" 0
		# Nor is it shown as old: what nobody watched is unknown.
		at_most "$policy: areas that seem old" "$(each $policy.jsonl max 'sum(d["ages_s_1_2_4_8_16_32_more"][3:])')" 600
		at_least "$policy: stale bytes of 707600" "$(stale_most $policy.jsonl stale_area bytes)" $((707600 * 98 / 100))
	done
}

# Chunks that end before the monitor reads of them are counted like all others, and what stays is known. The whole cost is stated.
case_cost()
{
	"$HEAPWISE" watch --batch 0 -o cost.jsonl "$watched" churn || fail "churn: status $?"
	sum() { python3 -c 'import json, sys; print(sum(json.loads(line)[sys.argv[1]] for line in open("cost.jsonl")))' "$1"; }
	at_least "mallocs" "$(sum mallocs)" 570100
	at_most "mallocs" "$(sum mallocs)" 570300
	equal "reallocs" "$(sum reallocs)" 60000 # of which 10000 are of NULL
	equal "areas that live" "$(json cost.jsonl 'd["live_areas"]')" $(($(sum mallocs) + 10000 - $(sum frees)))
	at_least "% of the CPU time in allocator calls" "$(json cost.jsonl '100 * d["calls_ns"] // d["cpu_ns"]')" 10
	at_most "% of the CPU time in allocator calls" "$(json cost.jsonl '100 * d["calls_ns"] // d["cpu_ns"]')" 100
	at_least "Heapwise's own CPU time" "$(json cost.jsonl 'd["heapwise_ns"]')" 1000000
	"$HEAPWISE" watch "$watched" known 1 2>summary || fail "known: status $?"
	says summary "^CPU time: program [0-9.]+ .?s, of which allocator calls .* about [0-9.]+ .?s, monitoring [0-9.]+ .?s; Heapwise itself [0-9.]+ .?s"
}

# sets PROGRAM...   of programs with known sets, watched at 2 %, no live area is called stale, and 98 % of the stale bytes are found
sets()
{
	local program try longest bytes

	for program; do
		for try in 1 2 3; do
			"$HEAPWISE" watch --overhead 2% --leak-after 4s --batch 0 -o sets.jsonl "$watched" sets 16 $program >said ||
				fail "$program: status $?"
			read -r longest bytes <said
			[ "$longest" -lt 3500 ] && break
		done
		[ "$longest" -lt 3500 ] || skip "the machine is too busy: the program stood still for $longest ms"
		equal "$program: areas that are read and called stale" "$(stale_most sets.jsonl live_area areas)" 0
		at_least "$program: stale bytes of $bytes" "$(stale_most sets.jsonl stale_area bytes)" $((bytes * 98 / 100))
		at_most "$program: hundredths of a % that monitoring cost" "$(json sets.jsonl 'int(1e4 * d["overhead"])')" 200
	done
}
case_sets() { sets 1 6 12 19; }
case_sets_all() { sets $(seq 0 19); }

# What only variables of main held is not lost because main has returned; what was lost before is.
case_held()
{
	local ends
	cat >held.c <<-'PROGRAM'
		#include <stdlib.h>
		#include <string.h>
		#include <time.h>

		__attribute__((noinline)) static void lose(int count)
		{
			for (int i = 0; i < count; i++) {
				char *volatile p = malloc(9000);

				*p = 1;
			}
		}

		int main(int argc, char **argv)
		{
			void *volatile held[150];
			time_t end;

			for (int i = 0; i < 150; i++)
				memset(held[i] = malloc(9000), i, 9000);
			lose(30);
			for (end = time(NULL) + atoi(argv[1]); time(NULL) < end;)
				;
			if (argc > 2)
				exit(0);
			return !held[149];
		}
	PROGRAM
	gcc -O1 -o held held.c || { fail "cannot build"; return; }
	for ends in "" exit; do
		for seconds in 6 15 40; do
			# shellcheck disable=SC2086
			"$HEAPWISE" watch --overhead 20% --leak-after 1s --batch 0 -o held.jsonl ./held $seconds $ends || fail "status $?"
			[ "$(json held.jsonl 'd["scans"]')" -lt 2 ] || break
		done
		at_least "scans" "$(json held.jsonl 'd["scans"]')" 2
		equal "main ${ends:-return}s: lost of main's" "$(json held.jsonl '[s["lost_areas"] for s in d["suspects"] if "main " in s["stack"][0]]')" "[0]"
		at_least "main ${ends:-return}s: lost" "$(json held.jsonl 'd["lost_areas"]')" 29 # a pointer may stay in dead memory
		# main's frame is there until the end, or the last scan with it was before
		equal "main ${ends:-return}s: scanned at the end" \
			"$(json held.jsonl '"yes" if d["scanned_ns"] / 1e6 > d["elapsed_ms"] - 500 else "no"')" "$([ "$ends" ] && echo yes || echo no)"
	done
	"$HEAPWISE" watch --overhead 20% --leak-after 1s ./held "$seconds" >said 2>&1
	says said "^lost or reachable: at the last scan before main returned, at "
}

# All three points that leak are found within twice the time, and no other.
case_leaks()
{
	for policy in ladder mpc; do
		# Of a program that gets little of a busy machine 2 % is nothing.
		"$HEAPWISE" watch --policy $policy $(within $policy 20%) --leak-after 3s --batch 0 -o $policy.jsonl "$HEAPWISE_TARGETS/leaky" 12 ||
			fail "$policy: status $?"
		equal "$policy: suspects" \
			"$(json $policy.jsonl 'sorted(s["stack"][0].split()[0] for s in d["suspects"])')" \
			"['leaky_0', 'leaky_1', 'leaky_2']"
		# Of those that leaky_0 keeps none is lost; of the others all are.
		equal "$policy: lost" "$(json $policy.jsonl '[s["lost_areas"] for s in d["suspects"] if "leaky_0 " in s["stack"][0]]')" "[0]"
		equal "$policy: not lost" \
			"$(json $policy.jsonl 'sum(s["stale_areas"] - s["lost_areas"] - s["unknown_areas"] for s in d["suspects"] if "leaky_0 " not in s["stack"][0])')" 0
		# Most of them share a page with chunks that come and go. 1,192 areas live on anyway.
		at_least "$policy: stale areas, of each 100 that leaked" \
			"$(json $policy.jsonl '100 * d["stale_areas"] // (d["live_areas"] - 1192)')" 20
		at_least "$policy: scans before the last" "$(json $policy.jsonl 'd["scans"]')" 2
		python3 - $policy.jsonl >early <<'PYTHON' || fail "$policy: not told apart while it runs: $(cat early)"
import json, sys
rows = [s for d in map(json.loads, open(sys.argv[1])) if not d["last"] for s in d["suspects"] if "lost_areas" in s]
print(rows)
kept = [s for s in rows if s["stack"][0].startswith("leaky_0 ")]
lost = [s for s in rows if not s["stack"][0].startswith("leaky_0 ")]
sys.exit(not kept or any(s["lost_areas"] for s in kept) or not any(s["lost_areas"] for s in lost))
PYTHON
		# By how far the program has come, not by the clock: on a busy machine both it and its watcher wait.
		python3 - $policy.jsonl >early <<'PYTHON' || fail "$policy: all three not before three quarters of its work: $(cat early)"
import json, sys
reports = [json.loads(line) for line in open(sys.argv[1])]
work = sum(d["mallocs"] for d in reports)
first = next(i for i, d in enumerate(reports) if len(d["suspects"]) == 3)
done = sum(d["mallocs"] for d in reports[:first + 1])
print(f"{done} of {work} allocations, {reports[first]['elapsed_ms']} ms")
sys.exit(4 * done > 3 * work)
PYTHON
	done
	# The longer the time, the fewer.
	for limit in 1s 30s; do
		"$HEAPWISE" watch --policy all --leak-after $limit --batch 1 -o $limit.jsonl "$watched" known 4
	done
	at_least "stale after 1 s" "$(json 1s.jsonl 'd["stale_areas"]')" 90
	equal "stale after 30 s" "$(json 30s.jsonl 'd["stale_areas"]')" 0
}

# A program that has its own malloc, and, before anybody else has begun, memory where our heap would be.
case_place()
{
	cat >place.c <<-'PROGRAM'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static char pool[1 << 20], *next = pool;
		void *malloc(size_t bytes) { char *p = next; next += (bytes + 15) & -16ul; return p; }
		void free(void *p) { (void)p; }
		void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
		void *realloc(void *p, size_t bytes) { return p ? memcpy(malloc(bytes), p, bytes) : malloc(bytes); }
		static char *there;
		static void begin(void)
		{
			there = mmap((void *)0x23cf26b7f000, 8192, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		}
		__attribute__((section(".preinit_array"), used)) static void (*first)(void) = begin;
		int main(void)
		{
			int fd = open("/dev/zero", O_RDONLY);
			if (there != (char *)0x23cf26b7f000)
				return 77;
			there[100] = 1;
			return read(fd, there, 8192) != 8192 || there[100] || write(1, "ok", 2) != 2;
		}
	PROGRAM
	cc -O1 -fno-builtin place.c -o place || fail "does not build"
	equal "alone" "$(./place)" ok
	"$HEAPWISE" watch --batch 0 -o place.jsonl ./place >stdout 2>stderr
	equal "status" $? 0
	equal "output" "$(cat stdout)" ok
}

# Stale objects with virtual functions are told by their types.
case_types()
{
	cat >types.cc <<-'PROGRAM'
		#include <unistd.h>
		struct shape { virtual ~shape() {} long area[8]; };
		struct circle_of_the_test : shape { long radius; };
		shape *kept[300];
		int main()
		{
			for (shape *&one : kept)
				one = new circle_of_the_test;
			sleep(4);
			return 0;
		}
	PROGRAM
	c++ -O1 -g types.cc -o types || fail "does not build"
	"$HEAPWISE" watch --policy all --leak-after 1s --batch 1 -o types.jsonl ./types
	equal "status" $? 0
	equal "type of what is stale" "$(json types.jsonl '[(t["type"], t["stale_areas"]) for t in d["suspect_types"] if t["type"]]')" \
		"[('circle_of_the_test', 300)]"
	equal "type of the point" "$(json types.jsonl '[s["type"] for s in d["suspects"] if s["stale_areas"] == 300]')" "['circle_of_the_test']"
}

# Keys in a terminal: each does what it says, and the snapshot is a trace of what lives.
case_screen()
{
	python3 "$here/watch_screen.py" "$HEAPWISE" "$watched" known 60 >out || fail "$(cat out)"
	equal "snapshots" "$(ls heapwise-watch.*.hwt | wc -l)" 1
	mv heapwise-watch.*.hwt snapshot.hwt
	equal "chunks of the snapshot" "$(field snapshot.hwt .kept.chunks)" 101
	"$HEAPWISE" report snapshot.hwt >report.txt
	says report.txt case_known
}

# One run in several traces: each can be read alone, begins with what lives, and none of the program's chunks is missing in the end.
case_rotation()
{
	"$HEAPWISE" watch -q --trace t.hwt --rotate 1s "$HEAPWISE_TARGETS/leaky" 4 2>stderr || fail "status $?"
	at_least "files" "$(ls t*.hwt | wc -l)" 4
	for trace in t*.hwt; do
		equal "$trace: complete" "$(field $trace .complete)" true
		equal "$trace: unknown frees" "$(field $trace .unknown_frees)" 0
		at_least "$trace: live at the peak" "$(field $trace .peak.chunks)" 1000
		"$HEAPWISE" trace dump $trace >dump.txt 2>&1 || fail "$trace cannot be dumped"
	done
	at_least "the last one has all that was leaked" "$(field t-4.hwt .kept.chunks)" "$(field t-2.hwt .kept.chunks)"
	rm -f t*.hwt*
	"$HEAPWISE" watch -q --trace t.hwt --window 1s "$HEAPWISE_TARGETS/leaky" 4 2>stderr || fail "window: status $?"
	at_most "files of a window" "$(ls t*.hwt | wc -l)" 5
	at_least "files of a window" "$(ls t*.hwt | wc -l)" 4
	[ ! -e t.hwt ] || fail "the oldest file is still there"
	"$HEAPWISE" watch --rotate 1M true 2>stderr
	equal "rotate without a trace: status" $? 2
	"$HEAPWISE" watch --web --trace t.hwt --rotate 1M true 2>stderr
	equal "rotate and web: status" $? 2
	"$HEAPWISE" watch --trace t.hwt --rotate 7 true 2>stderr
	equal "too small: status" $? 2
}

# Minutes under load: neither the monitor nor the program grows, and the budget holds. SECONDS of it; the long one is for test-full.
case_soak() { soak 20; }
case_soak_long() { soak 180; }
soak()
{
	"$HEAPWISE" watch --overhead 2% --batch 0 -o soak.jsonl --trace t.hwt --window 8s "$HEAPWISE_TARGETS/busy" "$1" 2>stderr &
	monitor=$!
	program=$(child_of $monitor)
	sleep $(($1 / 2))
	middle=$(awk '/VmRSS/ { print $2 }' /proc/$monitor/status)
	program_middle=$(awk '/VmRSS/ { print $2 }' "/proc/$program/status")
	sleep $(($1 / 2 - 2))
	at_most "kB of the monitor" "$(awk '/VmRSS/ { print $2 }' /proc/$monitor/status)" $((middle * 5 / 4 + 8192))
	at_most "kB of the program" "$(awk '/VmRSS/ { print $2 }' "/proc/$program/status")" $((program_middle * 5 / 4 + 8192))
	wait $monitor
	equal "status" $? 0
	at_most "files" "$(ls t*.hwt | wc -l)" 5
	equal "within the budget" "$(json soak.jsonl 'd["overhead"] <= 0.02')" True
	for trace in t*.hwt; do
		equal "$trace: complete" "$(field $trace .complete)" true
	done
}

# A server under load: its benchmark has no error, and what was counted stays within what was stated.
case_server()
{
	needs redis-server
	needs redis-benchmark redis-tools
	"$HEAPWISE" watch --batch 0 -o server.jsonl --overhead 5% --leak-after 2s -- \
		redis-server --port 0 --unixsocket "$work/redis" --save "" --appendonly no >server.out 2>&1 &
	monitor=$!
	until_true redis-cli -s redis ping >pong 2>/dev/null
	equal "the server" "$(grep -c PONG pong)" 1
	redis-benchmark -s redis -n 30000 -r 5000 -t set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset -q >bench.out 2>&1 ||
		fail "redis-benchmark: status $?"
	equal "tests of the benchmark" "$(tr '\r' '\n' <bench.out | grep -c 'requests per second, p50')" 11
	grep -i error bench.out && fail "redis-benchmark has errors"
	redis-cli -s redis set key "$(printf 'v%.0s' $(seq 5000))" >/dev/null
	equal "a long value" "$(redis-cli -s redis strlen key)" 5000
	redis-cli -s redis shutdown nosave
	wait $monitor
	equal "the server's status" $? 0
	at_least "hits" "$(json server.jsonl 'd["hits"]')" 100
	equal "within the budget" "$(json server.jsonl 'd["overhead"] <= 0.05')" True
}

# While nobody asks for anything and the program sleeps, the helper sleeps for longer and longer.
case_idle()
{
	"$HEAPWISE" watch -q --policy ladder --states 100000s "$watched" known 8 2>stderr &
	monitor=$!
	program=$(child_of $monitor)
	sleep 6
	wakes=$(for task in /proc/$program/task/*; do
		[ "${task##*/}" = "$program" ] || awk '/^voluntary/ { print $2 }' "$task/status"
	done)
	at_least "wakes of the helper" "$wakes" 1
	at_most "wakes of the helper" "$wakes" 4
	wait $monitor
	equal "status" $? 0
}

case_ends()
{
	"$HEAPWISE" watch -q "$HEAPWISE_TARGETS/empty" 2>stderr
	equal "a program that never allocates: status" $? 7
	says stderr "nothing was recorded"
	"$HEAPWISE" watch --batch 1 -o x.jsonl sh -c 'kill -9 $$' 2>stderr
	equal "killed: status" $? 137
	"$HEAPWISE" watch ./missing 2>stderr
	equal "missing: status" $? 3
	"$HEAPWISE" watch --interval 5 true 2>stderr
	equal "interval: status" $? 2
	"$HEAPWISE" watch --leak-after soon true 2>stderr
	equal "leak-after: status" $? 2
	says stderr "500ms"
	"$HEAPWISE" watch --policy ladder --states 2s,1s true 2>stderr
	equal "states: status" $? 2
	"$HEAPWISE" watch -q --trace t.hwt "$watched" known 1 2>stderr || fail "with a trace: status $?"
	equal "kept in the trace" "$(field t.hwt .kept.chunks)" 101
	says /dev/stdin "untouched for" <<<"$("$HEAPWISE" watch "$watched" known 1 2>&1)"
}

# The monitor dies: everything is opened, and the program ends as it would.
case_monitor_gone()
{
	"$HEAPWISE" watch -q --policy all "$watched" known 9 2>stderr &
	monitor=$!
	sleep 2
	program=$(pgrep -P $monitor)
	kill -9 $monitor
	wait $monitor 2>/dev/null
	sleep 1
	[ -n "$program" ] && [ -d /proc/$program ] || fail "the program ended with its monitor"
	equal "armed pages" "$(grep -c -- '---p 00000000 00:00 0 $' /proc/$program/maps | awk '{ print ($1 < 12) }')" 1
	until_true test ! -d "/proc/$program"
}

case_examples()
{
	folder=$HEAPWISE_EXAMPLES
	"$folder/rates" "$watched" known 3 2>stderr || fail "rates: status $?"
	says stderr "^ +[0-9.]+ +[0-9]+ +[0-9]+ +[0-9]+ +101 "
	"$folder/ageing" "$watched" known 5 2>stderr || fail "ageing: status $?"
	equal "areas that are not touched" "$(tail -1 stderr | awk '{ print $5 + $6 }')" 90
	# Areas that share pages hide each other: the age of most of these is not known, and none looks idle.
	cat >shared.c <<-'C'
		#include <stdlib.h>
		#include <unistd.h>
		int main(void)
		{
			volatile char *area[50];
			for (int i = 0; i < 50; i++)
				area[i] = malloc(200);
			for (int round = 0; round < 2500; round++, usleep(2000))
				for (int i = 0; i < 50; i++)
					area[i][round % 200]++;
			return 0;
		}
	C
	cc -g -O1 -o shared shared.c || fail "cannot compile"
	"$folder/ageing" ./shared 2>stderr || fail "ageing: status $?"
	at_most "areas in use that look idle" "$(tail -1 stderr | awk '{ print $4 + $5 + $6 + $7 + $8 }')" 3
	at_least "areas that are known to be in use, or not known" "$(tail -1 stderr | awk '{ print $2 + $3 + $9 }')" 50
}

run_case "$1"
finish
