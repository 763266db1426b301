#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# linked.sh CASE   programs that have libheapwise.a linked into them, with and without a loader.
. "$(dirname "$0")/lib.sh"
sources=$(cd "$(dirname "$0")/../targets" && pwd)
cd "$work" || exit 1
dynamic=("$HEAPWISE_BUILD_DIR/libheapwise.a" -Wl,-u,malloc)
static=(-static "${dynamic[@]}" -Wl,-z,muldefs -Wl,--eh-frame-hdr)

# build NAME SOURCE OPTION...   the source comes first: what is linked in is looked for after it
build()
{
	local name=$1 source=$2 compiler=${CC-gcc}

	shift 2
	[ "${source%.cpp}" = "$source" ] || compiler=${CXX-g++}
	if ! $compiler -O1 -g -fno-builtin "$source" -o "$name" "$@" 2>log; then
		fail "$name does not build: $(head -3 log)"
		finish
	fi
}

# blocks TRACE SIZE   "allocations frees" of blocks of this size
blocks()
{
	"$HEAPWISE" trace dump "$1" | awk -v size="$2" '$1 !~ /^#/ && $5 == size && $3 != "duration" {
		if ($3 ~ /free|delete/) frees++; else allocs++ } END { print allocs + 0, frees + 0 }'
}

# every TRACE FACTOR   what the target allocators does, this many times, each with its kind
every()
{
	for size in 1201 1211 1203 1204 1205 1206 1216 4001; do
		echo "$size $((1000 * $2)) $((500 * $2))"
	done >wanted
	echo "1202 $((1000 * $2)) $((1000 * $2))" >>wanted
	"$HEAPWISE" trace dump "$1" | awk '$1 !~ /^#/ && $3 != "duration" && ($5 >= 1201 && $5 <= 1216 || $5 == 4001) {
		sizes[$5]; if ($3 ~ /free|delete/) frees[$5]++; else allocs[$5]++ }
		END { for (size in sizes) print size, allocs[size] + 0, frees[size] + 0 }' >got
	diff <(sort wanted) <(sort got) || fail "blocks of $1"
	equal "operators" "$(field "$1" '.calls.new >= 3000')" true
	whole "$1"
	equal "broken stacks" "$(field "$1" .faults.stack_broken)" 0
	equal "misuse" "$(field "$1" .leaks.misuse)" 0
}

both()
{
	"$@" || fail "without heapwise: status $?"
	rm -f trace.hwt*
	record trace.hwt -- "$@"
	equal "status" "$status" 0
}

case_c()
{
	build known "$sources/known.c" "${dynamic[@]}"
	both ./known
	equal "blocks of 100" "$(blocks trace.hwt 100)" "1000 500"
	whole trace.hwt
}

case_c_static()
{
	build known "$sources/known.c" "${static[@]}"
	both ./known
	equal "blocks of 100" "$(blocks trace.hwt 100)" "1000 500"
	whole trace.hwt
	build pie "$sources/known.c" "${static[@]/#-static/-static-pie}"
	both ./pie
	equal "blocks of 100 in a static PIE" "$(blocks trace.hwt 100)" "1000 500"
	strip known
	both ./known
	equal "blocks of 100 of a stripped program" "$(blocks trace.hwt 100)" "1000 500"
}

# cpp OPTION...
cpp()
{
	build all "$sources/allocators.cpp" "$@" -lpthread
	both ./all
	every trace.hwt 1
	stacks trace.hwt
	both ./all 4
	every trace.hwt 4
}

# stacks TRACE   every block of 1201 was asked for by work, which main has called: whole stacks, and no frame of ours
stacks()
{
	"$HEAPWISE" trace symbolize "$1" >names 2>&1
	equal "chunks of work called by main" "$("$HEAPWISE" query --format json "$1" \
		'all | where size == 1201 and fn == "work()" and stack == "main"' | jq .matched.chunks)" 1000
	equal "chunks of work called by _start" "$("$HEAPWISE" query --format json "$1" \
		'all | where size == 1204 and fn == "work()" and stack == "_start"' | jq .matched.chunks)" 1000
}

case_cpp() { cpp "${dynamic[@]}"; }
case_cpp_static() { cpp "${static[@]}"; }
case_cpp_static_library() { cpp -static-libstdc++ -static-libgcc "${dynamic[@]}"; }

# The same numbers as somebody else's, who sees the calls that ours passes on.
case_memcheck()
{
	needs valgrind
	build all "$sources/allocators.cpp" "${dynamic[@]}" -lpthread
	build alone "$sources/allocators.cpp" -lpthread
	record trace.hwt -- ./all
	for program in ./all ./alone; do
		valgrind --run-libc-freeres=no --run-cxx-freeres=no "$program" 2>memcheck >&2 || fail "$program below valgrind"
		equal "heap usage of $program" "$(sed -n 's/.*total heap usage: //p' memcheck | tr -d ,)" \
			"$(field trace.hwt '"\(.allocations) allocs \(.frees) frees \(.bytes) bytes allocated"')"
	done
}

# operator new that finds nothing: handler, exception, null; the program's own operator is asked for nothing.
case_exhausted()
{
	cat >none.cpp <<'CPP'
#include <cstdint>
#include <cstdlib>
#include <new>
static int handled;
static void handler() { if (++handled == 3) throw 7; }
int main()
{
	volatile std::size_t much = SIZE_MAX / 2;
	int caught = 0;
	try { (void)!::operator new(much); } catch (const std::bad_alloc &) { caught++; }
	try { (void)!::operator new(much, std::align_val_t(64)); } catch (const std::bad_alloc &) { caught++; }
	if (::operator new(much, std::nothrow)) return 1;
	std::set_new_handler(handler);
	try { (void)!::operator new[](much); } catch (int seven) { caught += seven; }
	return caught == 9 && handled == 3 ? 0 : 2;
}
CPP
	build alone none.cpp
	record alone.hwt -- ./alone
	for way in dynamic static; do
		declare -n options=$way
		build none none.cpp "${options[@]}"
		both ./none
		equal "failed calls ($way)" "$(field trace.hwt .failed_calls)" "$(field alone.hwt .failed_calls)"
		whole trace.hwt
	done
}

# Leaks are found at the end: our own variables are no roots, the program's are.
case_leaks()
{
	cat >leak.c <<'C'
#include <stdlib.h>
void *kept;
int main(void)
{
	kept = malloc(4321);
	for (int i = 0; i < 10; i++) { char *volatile lost = malloc(1234); lost[0] = 1; lost = NULL; }
	return 0;
}
C
	for way in dynamic static; do
		declare -n options=$way
		build leak leak.c "${options[@]}"
		both ./leak
		"$HEAPWISE" leaks --format json trace.hwt >leaks.json
		at_least "lost blocks of 1234 ($way)" "$(jq '[.. | objects | select(.blocks? // .chunks? | numbers) | (.blocks // .chunks)] | max' leaks.json)" 9
	done
}

# Calls of heapwise.h land in the recorder that is linked in.
case_header()
{
	cat >marks.c <<'C'
#include <heapwise/heapwise.h>
#include <stdlib.h>
int main(void)
{
	free(malloc(111));
	heapwise_pause();
	free(malloc(222));
	heapwise_resume();
	heapwise_mark(5);
	return heapwise_state() == HEAPWISE_RECORDING ? 0 : heapwise_state() == HEAPWISE_DORMANT ? 3 : 4;
}
C
	for way in dynamic static; do
		declare -n options=$way
		build marks marks.c -I"$HEAPWISE_SOURCE_DIR/include" "${options[@]}"
		./marks
		equal "state without heapwise ($way)" $? 3
		record trace.hwt -- ./marks
		equal "status ($way)" "$status" 0
		equal "blocks of 111 ($way)" "$(blocks trace.hwt 111)" "1 1"
		equal "blocks of 222 ($way)" "$(blocks trace.hwt 222)" "0 0"
	done
}

# Children: with the recorder in them, without it, and forked; each is recorded once.
case_children()
{
	cat >parent.c <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void run(const char *program)
{
	if (fork() == 0) {
		for (int i = 0; i < 50; i++) free(malloc(333));
		if (program) execl(program, program, (char *)0);
		_exit(0);
	}
	wait(NULL);
}
int main(void)
{
	run(NULL);
	run("./known");
	run("./known-linked");
	run("./known-static");
	return 0;
}
C
	build known "$sources/known.c"
	build known-linked "$sources/known.c" "${dynamic[@]}"
	build known-static "$sources/known.c" "${static[@]}"
	build parent parent.c "${dynamic[@]}"
	both ./parent
	record each --children -- ./parent
	equal "status" "$status" 0
	equal "children with 1,000 blocks" "$(for trace in each/*.hwt; do blocks "$trace" 100; done | grep -c '^1000 500$')" 3
	equal "forked children" "$(for trace in each/*.hwt; do blocks "$trace" 333; done | grep -c '^50 50$')" 4
}

# Pools of the program, and a jump at a function's entry, also where there is no list of loaded objects.
case_pools()
{
	cat >pool.c <<'C'
#include <stdlib.h>
static char room[1 << 20];
static size_t used;
__attribute__((noinline)) void *pool_alloc(size_t bytes) { void *p = room + used; used += (bytes + 15) & ~15ul; return p; }
__attribute__((noinline)) void pool_free(void *p) { room[sizeof room - 1] += *(volatile char *)p; }
int main(void)
{
	for (int i = 0; i < 200; i++) { void *p = pool_alloc(48); if (i % 2) pool_free(p); }
	free(malloc(77));
	return 0;
}
C
	for way in dynamic static; do
		declare -n options=$way
		build pool pool.c "${options[@]}"
		record trace.hwt --alloc-fn pool_alloc --free-fn pool_free -- ./pool
		equal "status ($way)" "$status" 0
		equal "blocks of 48 ($way)" "$(blocks trace.hwt 48)" "200 100"
		equal "blocks of 77 ($way)" "$(blocks trace.hwt 77)" "1 1"
		whole trace.hwt
	done
}

# What the user is told.
case_refused()
{
	build plain "$sources/known.c" -static
	record trace.hwt -- ./plain
	equal "status of a static program" "$status" 3
	says "$work/stderr" "statically linked.*libheapwise.a"
	build known "$sources/known.c" "${dynamic[@]}"
	record trace.hwt --access exact -- ./known
	says "$work/stderr" "recorder linked in, which cannot record accesses"
	# The version is any byte, a newline among them.
	perl -0777 -pe 's/Heapwise\0\0\0\0./Heapwise\0\0\0\0\x63/s' known >old
	chmod +x old
	record trace.hwt -- ./old
	says "$work/stderr" "recorder of another version of heapwise"
	./old || fail "it does not run: status $?"
}

# The process has other rights than its user: whatever its environment says, it is left alone.
case_secure()
{
	[ "$(id -u)" = 0 ] || skip "not root"
	build known "$sources/known.c" "${static[@]}"
	chmod u+s known
	chown 65534 known
	chmod u+s known
	record trace.hwt -- ./known
	says "$work/stderr" "other privileges than yours"
	record each --children -- sh -c './known; true'
	equal "blocks of 100" "$(for trace in each/*.hwt; do blocks "$trace" 100; done | grep -vc '^0 0$')" 0
}

# Killed in the middle: what was recorded is there.
case_killed()
{
	cat >endless.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 1000; i++) (void)!malloc(555); write(1, "x", 1); for (;;) pause(); }
C
	build endless endless.c "${static[@]}"
	mkfifo ready
	"$HEAPWISE" run --no-symbols -o trace.hwt -- ./endless >ready 2>stderr &
	monitor=$!
	head -c 1 ready >/dev/null
	kill -9 "$(child_of $monitor)"
	wait $monitor 2>wait
	equal "blocks of 555" "$(blocks trace.hwt 555)" "1000 0"
}

# As a user finds it.
case_installed()
{
	cmake --install "$HEAPWISE_BUILD_DIR" --prefix "$work/usr" >install || fail "cannot install"
	export PKG_CONFIG_PATH=$work/usr/lib/pkgconfig
	${CC-gcc} -fno-builtin -c "$sources/known.c" -o known.o
	${CC-gcc} known.o -o known $(pkg-config --libs heapwise-recorder) || fail "cannot link"
	${CC-gcc} -static known.o -o known-static $(pkg-config --static --libs heapwise-recorder) || fail "cannot link statically"
	for program in known known-static; do
		"$work/usr/bin/heapwise" run --no-symbols -o $program.hwt -- ./$program 2>stderr || fail "status $?"
		equal "blocks of 100" "$(blocks $program.hwt 100)" "1000 500"
	done
	[ -e "$work/usr/share/man/man3/heapwise-recorder.3" ] || fail "there is no manual page"
}

run_case "$1"
finish
