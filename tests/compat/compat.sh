#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# compat.sh ROW   one row of tests/compat/ROWS: the program prints and ends as it does alone, and either its own count
# of allocations is in the trace or the user is told in the row's words.
. "$(dirname "$0")/../run/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
target=$HEAPWISE_TARGETS/compat
name=$1
. "$here/machine.sh"
. "$here/runtimes.sh"
block=1237 # how large the blocks are that programs count
outcome=$("$here/matrix" --outcome "compat.$name") || { fail "no row has the test compat.$name"; finish; }
cd "$work" || exit 1

# blocks TRACE...   "allocations frees" of the program's own size
blocks()
{
	local trace

	for trace; do
		"$HEAPWISE" trace dump "$trace"
	done | awk -v size="$block" '$1 !~ /^#/ && $5 == size && $3 != "duration" {
		if ($3 ~ /free|delete/) frees++; else allocations++ } END { print allocations + 0, frees + 0 }'
}

# The sums of what processes said.
truths()
{
	awk '$1 == "truth" { a += $2; f += $3 } END { print a + 0, f + 0 }' "$@"
}

# alone COMMAND...   as it is without a recorder: output and status
alone()
{
	"$@" >alone.out 2>alone.err
	alone_status=$?
	[ "$alone_status" -ne 99 ] || skip "not possible here: $(cat alone.out)"
}

# recorded [OPTION...] -- COMMAND...   the same with it; heapwise has the limits of $limits, a command
recorded()
{
	(${limits:-:} && exec "$HEAPWISE" run --no-symbols -o trace "$@") >recorded.out 2>stderr
	status=$?
	equal "exit status" "$status" "$alone_status"
	cmp alone.out recorded.out || fail "the program's output is not the same"
}

# sound TRACE...   without damage and loss, and none is empty
sound()
{
	local trace

	for trace; do
		"$HEAPWISE" trace info "$trace" >info 2>&1
		says info "^ *damaged sections +0$"
		"$HEAPWISE" report --no-symbols --format json "$trace" >sound.json
		equal "complete ($trace)" "$(jq -c '[.complete, .lost_events, .allocations > 0]' sound.json)" "[true,0,true]"
	done
}

# outcome_is TRUTH TRACE...   as the row has it
outcome_is()
{
	local truth=$1 text=${outcome#*says: }

	shift
	case $outcome in
	exact*) equal "allocations and frees" "$(blocks "$@")" "$truth" ;;
	esac
	case $outcome in
	*says:*)
		"$HEAPWISE" report --no-symbols "$1" >report 2>&1
		cat stderr report >told
		grep -qF -- "$text" told || { fail "nobody says '$text':"; sed 's/^/    | /' told | head -20; }
		;;
	exact) [ $# -ne 1 ] || whole "$1" ;;
	runs) sound "$@" ;;
	*) fail "the row says neither exact, nor runs, nor says:" ;;
	esac
}

# simple CASE [ARGUMENT...]   one process
simple()
{
	alone "$target" "$@"
	recorded -- "$target" "$@"
	outcome_is "$(truths recorded.out)" trace
}

# family CASE [ARGUMENT...]   with --children
family()
{
	alone "$target" "$@"
	recorded --children -- "$target" "$@"
	outcome_is "$(truths recorded.out)" trace/*.hwt
}

as_root() { [ "$(id -u)" -eq 0 ] || skip "only root can do this"; }

case_plain() { simple plain; }

# ---- processes ----

case_daemon()
{
	alone "$target" daemon "$work/truth"
	rm -f truth
	recorded --children -- "$target" daemon "$work/truth"
	until_true test -s truth
	outcome_is "$(truths truth)" trace/*.hwt
	# A child that was there before is not waited for.
	timeout 20 sh -c 'sleep 60 & echo $! >before; exec "$@"' sh \
		"$HEAPWISE" run --no-symbols -o other --children -- "$target" plain >/dev/null 2>&1
	equal "status beside a child of before" $? 0
	kill "$(cat before)" || fail "the child of before has ended"
}

case_daemon_alone()
{
	alone "$target" daemon "$work/truth"
	recorded -- "$target" daemon "$work/truth"
	until_true test -s truth
	outcome_is "" trace
}

case_storm() { family storm 300; }
case_storm_long() { family storm 5000; }
case_scrubbed() { simple scrubbed; }
case_scrubbed_child() { family scrubbed_child; }
case_scrubbed_exec() { simple exec -i "$target" plain; }
case_static_exec() { simple exec "$HEAPWISE_TARGETS/static"; }

case_setuid_exec()
{
	as_root
	cp "$HEAPWISE_TARGETS/empty" setuid
	chown nobody setuid && chmod 4755 setuid && chmod 755 "$work"
	simple exec "$work/setuid"
}

case_chroot()
{
	as_root
	mkdir prison
	simple chroot "$work/prison"
}

case_chroot_child()
{
	as_root
	mkdir prison
	family chroot_child "$work/prison"
}

case_user_namespace() { simple user_namespace; }
case_pid_namespace() { family pid_namespace; }

# Root needs no user namespace for it, so that the child can still reach the monitor.
case_pid_namespace_root()
{
	as_root
	alone unshare -pf "$target" plain
	recorded --children -- unshare -pf "$target" plain
	outcome_is "$(truths recorded.out)" trace/*.hwt
}

case_mount_namespace()
{
	unshare -rm true 2>unshared || skip "no user namespace to be had: $(cat unshared)"
	alone unshare -rm "$target" plain
	recorded -- unshare -rm "$target" plain
	outcome_is "$(truths recorded.out)" trace
}

# ---- what the system refuses ----

case_seccomp_refuses() { simple seccomp_refuses; }
case_seccomp_refuses_by_number() { simple seccomp_refuses syscall; }
case_seccomp_kills() { simple seccomp_kills; }
case_seccomp_kills_by_number() { simple seccomp_kills syscall; }
case_seccomp_twice() { simple seccomp_twice; }
case_seccomp_probe() { simple seccomp_probe syscall; }
case_seccomp_strict() { simple seccomp_strict; }
case_address_space() { simple address_space 900; }

case_address_space_soft()
{
	alone sh -c 'ulimit -v 8000000; exec "$0" address_space_soft 900' "$target"
	recorded -- sh -c 'ulimit -v 8000000; exec "$0" address_space_soft 900' "$target"
	outcome_is "$(truths recorded.out)" trace
}

# With terabytes reserved for accesses.
case_address_space_threads()
{
	alone "$target" address_space_threads 900
	for access in exact adaptive; do
		recorded --access=$access -- "$target" address_space_threads 900
		outcome_is "$(truths recorded.out)" trace
		rm trace*
	done
	"$HEAPWISE" watch -q --trace trace "$target" address_space_threads 900 >recorded.out 2>stderr
	equal "watched: exit status" "$?" "$alone_status"
	cmp alone.out recorded.out || fail "watched: the program's output is not the same"
	outcome_is "$(truths recorded.out)" trace
}

# With the room of a berth, and with the terabytes for accesses.
case_address_space_exec()
{
	for access in off exact; do
		alone "$target" address_space_exec 900
		equal "exit status alone" "$alone_status" 0
		recorded --access=$access -- "$target" address_space_exec 900
		outcome_is "$(truths recorded.out)" trace
		rm trace*
	done
}

# A limit on the program alone, from its start: below what the rings of all threads would take.
case_address_space_start()
{
	alone sh -c 'ulimit -v 700000; exec "$0" address_space_from_start' "$target"
	recorded -- sh -c 'ulimit -v 700000; exec "$0" address_space_from_start' "$target"
	outcome_is "$(truths recorded.out)" trace
	rm trace*
	recorded --access=exact -- sh -c 'ulimit -v 700000; exec "$0" address_space_from_start' "$target"
	outcome_is "$(truths recorded.out)" trace
}

# No room for the heap that comes with accesses: summary and report say so, of a run and of what was watched.
case_address_space_heap()
{
	alone sh -c 'ulimit -v 700000; exec "$0" address_space_from_start' "$target"
	recorded --access=exact -- sh -c 'ulimit -v 700000; exec "$0" address_space_from_start' "$target"
	outcome_is "$(truths recorded.out)" trace
	says stderr "accesses were not recorded"
	equal "images without accesses" "$(field trace .faults.no_heap)" 1
	rm trace*
	alone "$target" plain
	recorded --access=exact -- "$target" plain
	equal "images without accesses, where there is room" "$(field trace '.faults.no_heap // 0')" 0
	rm trace*
	"$HEAPWISE" watch -q --trace trace sh -c 'ulimit -v 700000; exec "$0" address_space_from_start' "$target" >recorded.out 2>stderr
	equal "watched: exit status" "$?" 0
	outcome_is "$(truths recorded.out)" trace
}

# Descriptors for the program, but not for what recording needs.
case_few_files()
{
	alone sh -c 'ulimit -n 8; exec "$0" plain' "$target"
	# Without what this script was started with.
	(exec 3<&- 4<&- 5<&- 6<&- 7<&-; ulimit -n 8; exec "$HEAPWISE" run --no-symbols -o trace -- "$target" plain) >recorded.out 2>stderr
	equal "exit status" "$?" "$alone_status"
	cmp alone.out recorded.out || fail "the program's output is not the same"
	[ ! -e trace ] || fail "a trace of nothing is left"
	outcome_is "" trace
}

# heapwise has the limit as well, and little room for what it shares with each process.
case_address_space_whole()
{
	not_sanitized "a sanitizer needs more address space"
	limits="ulimit -v 700000"
	simple plain
	rm trace*
	alone sh -c '"$0" plain; "$0" plain; :' "$target"
	recorded --children -- sh -c '"$0" plain; "$0" plain; :' "$target"
	equal "traces" "$(find trace -name '*.hwt' | wc -l)" 3
	equal "allocations and frees of all" "$(blocks trace/*.hwt)" "$(truths recorded.out)"
}

# Less and less, until it does not suffice: how much that is, is a matter of heapwise's libraries.
case_address_space_short()
{
	local kilobytes step

	not_sanitized "a sanitizer needs more address space"
	alone "$target" plain
	for ((kilobytes = 150000, step = 5000; kilobytes > 30000; kilobytes -= step)); do
		limits="ulimit -v $kilobytes"
		recorded -- "$target" plain
		! grep -q "never allocated" stderr || fail "$kilobytes: the user is told what is not so"
		grep -q "own address" stderr || continue
		[ "$step" -gt 250 ] || break
		kilobytes=$((kilobytes + step)) step=250 # where it just does not suffice
	done
	outcome_is "" trace
}

# few_descriptors COUNT   of which three are in use
few_descriptors()
{
	local fd

	for fd in "/proc/$BASHPID/fd/"*; do
		[ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"
	done
	ulimit -n "$1"
}

# Too few even for the pipes by which a program is started.
case_few_descriptors()
{
	for few in 4 5 6; do
		limits="few_descriptors $few"
		simple plain
	done
}

case_no_proc()
{
	[ -z "${HEAPWISE_SANITIZE-}" ] || skip "sanitizers need /proc"
	alone "$target" plain
	unshare -rm sh -c 'mount -t tmpfs none /proc || exit 1
		"$0" run --no-symbols -o trace -- "$1" plain >recorded.out 2>stderr; echo $? >status' "$HEAPWISE" "$target" 2>probe ||
		skip "no user namespace to be had: $(cat probe)"
	equal "exit status" "$(cat status)" "$alone_status"
	cmp alone.out recorded.out || fail "the program's output is not the same"
	outcome_is "$(truths recorded.out)" trace
}

# Not even room for the nodes: the program runs, and the user hears of it.
case_address_space_tiny()
{
	alone sh -c 'ulimit -v 40000; exec "$0" address_space_from_start' "$target"
	recorded -- sh -c 'ulimit -v 40000; exec "$0" address_space_from_start' "$target"
	outcome_is "$(truths recorded.out)" trace
}

# with_shm OPTIONS   /dev/shm of a mount namespace
with_shm()
{
	alone "$target" plain
	unshare -rm sh -c 'mount -t tmpfs -o "$3" none /dev/shm || exit 1
		! head -c 100000 /dev/zero 2>/dev/null | tee /dev/shm/probe >/dev/null 2>&1 || exit 1
		"$0" run --no-symbols -o trace -- "$1" plain >recorded.out 2>stderr; echo $? >status' \
		"$HEAPWISE" "$target" "" "$1" 2>probe || skip "no such /dev/shm can be mounted here: $(cat probe)"
	equal "exit status" "$(cat status)" 0
	cmp alone.out recorded.out || fail "the program's output is not the same"
	outcome_is "$(truths recorded.out)" trace
}

case_full_shm() { with_shm size=4k; }
case_read_only_shm() { with_shm ro; }

# No more memory may be promised than there is: in a machine of its own, which this holds for as a whole.
case_overcommit()
{
	in_machine "sysctl -w vm.overcommit_memory=2" "" awaits /out/waits /out/go
	equal "vm.overcommit_memory" "$(cat out/overcommit)" 2
}

# ---- ends ----

case_killed() { simple killed; }

# A limit of a control group, which kills.
case_memory_out()
{
	local group=/sys/fs/cgroup/memory/heapwise-test-$$ limit=memory.limit_in_bytes

	as_root
	if [ -e /sys/fs/cgroup/cgroup.subtree_control ]; then # the second version of control groups
		group=/sys/fs/cgroup/heapwise-test-$$ limit=memory.max
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	fi 2>/dev/null
	mkdir "$group" 2>/dev/null && echo 60000000 >"$group/$limit" || skip "no control group to be had"
	local inside='echo $$ >"$1/cgroup.procs"; exec "$0" memory_out'
	alone sh -c "$inside" "$target" "$group"
	recorded -- sh -c "$inside" "$target" "$group"
	rmdir "$group"
	equal "status of a kill" "$alone_status" 137
	outcome_is "$(truths recorded.out)" trace
}

# Something continues it, as a shell's fg or a machine that wakes up.
continued()
{
	"$@" &
	local runner=$! pid

	while kill -0 "$runner" 2>/dev/null; do
		for pid in $(pgrep -x compat); do
			[ "$(awk '{ print $3 }' "/proc/$pid/stat" 2>/dev/null)" != T ] ||
				! grep -q "$work" "/proc/$pid/environ" 2>/dev/null || { sleep 0.3; kill -CONT "$pid"; }
		done
		sleep 0.05
	done
	wait "$runner"
}

case_suspended()
{
	export COMPAT_WORK=$work
	continued "$target" suspended >alone.out
	alone_status=$?
	continued "$HEAPWISE" run --no-symbols -o trace -- "$target" suspended >recorded.out 2>stderr
	equal "exit status" "$?" "$alone_status"
	cmp alone.out recorded.out || fail "the program's output is not the same"
	outcome_is "$(truths recorded.out)" trace
}

# The whole machine sleeps, with program and monitor in the middle of a run, and is woken by its clock.
case_machine_sleeps()
{
	in_machine "" "echo +8 >/sys/class/rtc/rtc0/wakealarm; echo mem >/sys/power/state" awaits /out/waits /out/go
	equal "times that the machine slept" "$(cat out/sleeps)" 1
	at_most "seconds of the run" "$(field out/trace '.duration_ns / 1e9 | floor')" 200
}

# ---- memory, signals, stacks, threads ----

case_huge_pages() { simple huge_pages; }

# Without the right to lock more, the kernel counts all addresses: docs/COMPATIBILITY.md.
case_locked_memory()
{
	[ "$(id -u)" -eq 0 ] || [ "$(ulimit -l)" = unlimited ] || skip "this user may lock $(ulimit -l) KiB, which a recording reserves alone"
	simple locked_memory
}

case_reaper() { simple reaper; }
case_interrupted() { simple interrupted; }
case_crash_handler() { simple crash_handler; }
case_threads() { simple threads 500; }
case_threads_long() { simple threads 10000; }
case_deep() { simple deep 10000; }
case_coroutines() { simple coroutines; }

case_stack_unlimited()
{
	ulimit -s unlimited 2>/dev/null || skip "the stack's limit cannot be lifted"
	simple deep 100000
}

case_split_stacks()
{
	gcc -O1 -fsplit-stack -fno-builtin "$here/target.c" -o compat -pthread 2>log || skip "gcc has no split stacks: $(head -1 log)"
	target=$work/compat
	simple deep 10000
}

# named_by_map   the trace gets the names that the map has which runtimes write for perf; the report is in `named`
named_by_map()
{
	local map

	map=/tmp/perf-$("$HEAPWISE" report --format json --no-symbols trace | jq .pid).map
	[ -f "$map" ] || fail "the program wrote no map"
	"$HEAPWISE" trace symbolize trace >/dev/null 2>&1
	rm -f "$map"
	"$HEAPWISE" report --depth 0 trace >named 2>&1
}

case_generated()
{
	alone sh -c '"$0" generated & wait $!; rm -f "/tmp/perf-$!.map"' "$target"
	recorded -- "$target" generated
	outcome_is "$(truths recorded.out)" trace
	named_by_map
	# From generated code to generated code, and out of it.
	says /dev/stdin "jit_allocates jit_calls ([^ ]+ )?main" <<<"$(awk '{ print $1 }' named | tr '\n' ' ')"
}

# JavaScript: interpreted functions are one function of the interpreter's, compiled ones have their names.
case_node()
{
	needs node nodejs
	alone node "$here/runtimes/jit.js"
	recorded -- node --perf-basic-prof "$here/runtimes/jit.js"
	equal "blocks" "$("$HEAPWISE" trace dump trace | awk '$5 == 70001 && $3 !~ /free|duration/' | wc -l)" \
		"$(awk '$1 == "truth" { print $2 }' recorded.out)"
	named_by_map
	says named "JS:[*^~]leafAllocates "
	# The first are made by the interpreter; a stack that ends early has no main.
	count() { "$HEAPWISE" query --format csv trace "all | where size == 70001 and stack ~ \"$1\" | agg count()" | tail -n 1; }
	at_least "blocks of the compiled function" "$(count leafAllocates)" 200
	equal "blocks with their whole stack" "$(count __libc_start_call_main)" "$(awk '$1 == "truth" { print $2 }' recorded.out)"
}

# ---- clocks ----

# The time of day jumps with every look at it, in program and monitor.
case_clock_jumps()
{
	not_sanitized "the shim has the malloc of libc, the sanitizer brings its own"
	gcc -O1 -shared -fPIC "$here/../inject/shim.c" -o shim.so -ldl 2>log || { cat log; fail "cannot be built"; finish; }
	alone "$target" plain
	HEAPWISE_SHIM=clock LD_PRELOAD=$work/shim.so recorded -- "$target" plain
	outcome_is "$(truths recorded.out)" trace
	at_most "seconds of the run" "$(field trace '.duration_ns / 1e9 | floor')" 60
}

# The administrator sets the clock of the machine, back by years and forward again.
case_clock_set()
{
	in_machine "" "date -s 2001-01-01; sleep 1; date -s 2037-01-01" awaits /out/waits /out/go
	says out/meanwhile "2037"
	at_most "seconds of the run" "$(field out/trace '.duration_ns / 1e9 | floor')" 200
}

# Another monotonic clock than the monitor's.
case_time_namespace()
{
	local trace

	as_root
	alone unshare -T --monotonic 1000000 --fork "$target" plain
	[ "$alone_status" -eq 0 ] || skip "no time namespace: $(cat alone.err)"
	recorded --children -- unshare -T --monotonic 1000000 --fork "$target" plain
	outcome_is "$(truths recorded.out)" trace/*.hwt
	for trace in trace/*.hwt; do
		at_most "seconds of a process" "$(field "$trace" '.duration_ns / 1e9 | floor')" 60
	done
}

# ---- the allocator's interface ----

# All that a program can ask its allocator, with every setting that comes by the environment.
case_interface()
{
	local setting

	gcc -w -O1 -fno-builtin "$here/interface.c" -o interface -pthread || { fail "cannot be built"; finish; }
	for setting in A=b MALLOC_PERTURB_=77 MALLOC_TOP_PAD_=1000000 MALLOC_MMAP_THRESHOLD_=4096 MALLOC_MMAP_MAX_=0 \
		MALLOC_TRIM_THRESHOLD_=4096 MALLOC_ARENA_MAX=1 MALLOC_CHECK_=3 \
		GLIBC_TUNABLES=glibc.malloc.tcache_count=0; do
		alone env $setting ./interface
		recorded -- env $setting ./interface
		equal "lost events" "$(rm -f trace.json; field trace .lost_events)" 0
	done
	at_least "lines compared" "$(wc -l <alone.out)" 200
	grep -E "MISALIGNED|badly|LOST|CHANGED" alone.out && fail "the allocator itself is wrong"
	whole trace
}

# ---- builds ----

# built COMPILER OPTION...   the target, built in a way of its own
built()
{
	needs "$1" "${1/musl-gcc/musl-tools}"
	"$1" -O1 -g -fno-builtin "${@:2}" "$here/target.c" -o compat -pthread 2>log || {
		! grep -q 'cannot find .*libclang_rt' log || lacks "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
		cat log
		fail "cannot be built"
		finish
	}
	target=$work/compat
}

# built_musl   the same with musl. libgcc's outlined atomics ask glibc which instructions the CPU has.
built_musl()
{
	local atomics=()

	[ "$(uname -m)" = x86_64 ] || atomics=(-mno-outline-atomics)
	built musl-gcc "${atomics[@]}" -idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu"
}

# refused   the program is not started, and the status is that of bad input
refused()
{
	"$HEAPWISE" run --no-symbols -o trace -- "$target" plain >recorded.out 2>stderr
	equal "exit status" "$?" 3
	[ ! -s recorded.out ] || fail "the program was run"
	grep -qF -- "${outcome#*says: }" stderr || { fail "nobody says '${outcome#*says: }'"; cat stderr; }
	alone "$target" plain
	"$HEAPWISE" run --unprofiled --no-symbols -o trace -- "$target" plain >recorded.out 2>/dev/null
	equal "exit status, unprofiled" "$?" "$alone_status"
}

case_address_sanitizer() { built gcc -fsanitize=address; refused; }
case_address_sanitizer_clang() { built clang -fsanitize=address; refused; }
case_thread_sanitizer() { built gcc -fsanitize=thread; refused; }
case_leak_sanitizer() { built gcc -fsanitize=leak; refused; }
case_undefined_sanitizer() { built gcc -fsanitize=undefined; simple plain; }
case_musl() { built_musl; simple plain; }
case_musl_threads() { built_musl; simple threads 50; }
case_musl_storm() { built_musl; family storm 50; }
case_no_pie() { built gcc -no-pie; simple plain; }
case_stripped() { built gcc -s; simple deep 200; }
case_fortified()
{
	local control_flow=-fcf-protection=full

	[ "$(uname -m)" = x86_64 ] || control_flow=-mbranch-protection=standard
	built gcc -D_FORTIFY_SOURCE=2 -fstack-protector-all "$control_flow"
	simple reaper
}
case_profiled() { built gcc -pg; simple plain; }

run_case "$name"
finish
