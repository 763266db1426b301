#!/bin/bash
# SPDX-License-Identifier: MIT
# access.sh CASE [COMPILER]   what is recorded of accesses to memory, and what `heapwise cc` makes.
. "$(dirname "$0")/lib.sh"
targets_source=$HEAPWISE_SOURCE_DIR/tests/targets
export HEAPWISE_CC=${2:-gcc}
needs "$HEAPWISE_CC"

# merges OPTION...   how far the compiler tells several accesses as one; see accesses.c
merges()
{
	case "$HEAPWISE_CC $*" in
	*clang*) echo 0 ;;
	*-O0*) echo 1 ;;
	*-O1*) echo 2 ;;
	*) echo 3 ;;
	esac
}

# build OUTPUT ARGUMENT...   compiles with heapwise cc
build()
{
	local output=$1
	shift
	"$HEAPWISE" cc -g -DMERGES=$(merges "$@") "$@" -o "$output" -lpthread ||
		{ fail "cannot build: $*"; finish; }
}

# accesses TRACE   "size reads writes read_bytes written_bytes low high flags" of each chunk
accesses()
{
	"$HEAPWISE" trace dump "$1" | awk '
		$3 ~ /^(malloc|calloc|realloc|memalign|new|new_array)$/ { size[$6] = $5 }
		$1 == "#" && $2 == "access" {
			for (i = 4; i < NF; i += 2)
				value[$i] = $(i + 1)
			print size[$3], value["reads"], value["writes"], value["read_bytes"], \
				value["written_bytes"], value["low"], value["high"], value["flags"]
		}'
}

# Adaptive recording may not know when the last access was, and says so: no part of the truth of what was accessed.
forget_last() { sed -i 's/+later$//; s/ later$/ -/' "$work/seen"; }

# told PROGRAM OPTION...   each line of the program's truth is recorded
told()
{
	local program=$1 line
	shift
	record "$work/told.hwt" "$@" -- "$program" >"$work/truth"
	equal "status of $program" "$status" 0
	accesses "$work/told.hwt" >"$work/seen"
	case " $* " in
	*" adaptive "*) forget_last ;;
	esac
	at_least "lines of truth of $program" "$(wc -l <"$work/truth")" 1
	while read -r line; do
		grep -qxF -- "$line" "$work/seen" ||
			fail "$program $*: not '$line' but '$(grep "^${line%% *} " "$work/seen")'"
	done <"$work/truth"
}

known_answers()
{
	local level
	for level in -O0 -O1 -O2 -O3 "-O2 -flto" "-O2 -fPIE -pie" "-O2 -no-pie -fno-pie"; do
		build "$work/accesses" $level "$targets_source/accesses.c"
		told "$work/accesses"
	done
	told "$work/accesses" --coverage
	told "$work/accesses" --exact-times
}


# Functions of the C library, as calls and as the compiler makes them: -1 in the truth is any number of accesses but 0.
functions()
{
	local level pattern
	for level in -O0 -O2 "-O2 -D_FORTIFY_SOURCE=2" "-O2 -D_FORTIFY_SOURCE=3" "-O2 -flto"; do
		build "$work/library" -w -U_FORTIFY_SOURCE $level "$targets_source/accesses_library.c"
		record "$work/library.hwt" --access exact -- "$work/library" >"$work/truth"
		equal "$level: status" "$status" 0
		accesses "$work/library.hwt" >"$work/seen"
		at_least "$level: lines of truth" "$(wc -l <"$work/truth")" 20
		while read -r line; do
			pattern="^${line//-1/[1-9][0-9]*} "
			grep -q -- "$pattern" "$work/seen" || fail "$level: not '$line' but '$(grep "^${line%% *} " "$work/seen")'"
		done <"$work/truth"
	done
}

# Loads and stores that compilers do not check on aarch64 take away what is not seen.
neon()
{
	local sure
	[ "$(uname -m)" = aarch64 ] || skip "NEON is aarch64's"
	cat >"$work/neon.c" <<-'PROGRAM'
		#include <arm_neon.h>
		#include <stdlib.h>
		static void *(*volatile allocate)(size_t) = malloc;
		int main(void)
		{
			unsigned char *p = allocate(1 << 20);
		#ifdef NEON
			for (int i = 0; i + 32 <= 1 << 20; i += 32)
				vst2q_u8(p + i, vld2q_u8(p + i));
		#endif
			return p == NULL;
		}
	PROGRAM
	for sure in measured inferred; do
		build "$work/neon" -O2 $([ $sure = measured ] || echo -DNEON) "$work/neon.c"
		record "$work/neon.hwt" --access exact -- "$work/neon"
		equal "$sure: status" "$status" 0
		equal "$sure: how sure it is that a chunk is never accessed" \
			"$("$HEAPWISE" findings --all --format json "$work/neon.hwt" | jq -r '.. | objects | select(.kind? == "unused") | .confidence')" "$sure"
	done
}

# Objects without instrumentation that are linked in may access what nobody sees: nothing is "measured" then, whatever way they come in. Those of
# `heapwise cc` are known, also if they access nothing.
mixed()
{
	local flags input sure tool=ar levels=(-O2 "-O2 -flto")
	if [ "${HEAPWISE_CC#clang}" != "$HEAPWISE_CC" ]; then
		tool=llvm-ar${HEAPWISE_CC#clang} # knows the objects of this clang's -flto
		has "$tool" "llvm${HEAPWISE_CC#clang}" || tool=ar levels=(-O2)
	fi
	cd "$work" || exit 1
	cat >main.c <<-'PROGRAM'
		#include <stdlib.h>
		void visit(char *p);
		static void *(*volatile allocate)(size_t) = malloc;
		int main(void)
		{
			char *p = allocate(1 << 20);
			visit(p);
			return p == NULL;
		}
	PROGRAM
	echo 'void visit(char *p) { (void)p; }' >nothing.c
	echo 'void visit(char *p) { for (int i = 0; i < 1 << 20; i++) ((volatile char *)p)[i]; }' >plain.c
	gcc -O1 -c plain.c -o plain.o
	for flags in "${levels[@]}"; do
		rm -f *.a
		"$HEAPWISE" cc $flags -c nothing.c -o own.o && "$HEAPWISE" cc $flags -c main.c -o main.o || fail "$flags: cannot compile"
		$tool rc libown.a own.o && $tool rcT thin-own.a own.o && $tool rc libplain.a plain.o && $tool rcT thin-plain.a plain.o || fail "cannot archive"
		for input in nothing.c own.o libown.a thin-own.a "-L. -lown" plain.o libplain.a thin-plain.a "-L. -lplain" "-L $work -l plain" \
			-Wl,--whole-archive,libplain.a,--no-whole-archive; do
			sure=measured
			case $input in
			*plain*) sure=inferred ;;
			esac
			"$HEAPWISE" cc $flags main.o $input -o mixed || { fail "$flags: cannot link $input"; continue; }
			strip mixed
			record mixed.hwt --access exact -- ./mixed
			equal "$flags $input: status" "$status" 0
			equal "$flags $input: how sure it is that a chunk is never accessed" \
				"$("$HEAPWISE" findings --all --format json mixed.hwt | jq -r '.. | objects | select(.kind? == "unused") | .confidence')" $sure
		done
	done
}

# Pointers with tags: the program runs as ever, and each access is recorded. The flags say what gcc's checks leave open.
tagged()
{
	local level
	[ "$(uname -m)" = aarch64 ] || skip "pointers have no tags on this CPU"
	for level in -O0 -O1 -O2 "-O2 -flto"; do
		build "$work/tagged" $level "$targets_source/accesses_tagged.c"
		"$work/tagged" >"$work/truth"
		equal "$level: status without heapwise" "$?" 0
		record "$work/tagged.hwt" --access exact -- "$work/tagged" >"$work/truth"
		equal "$level: status" "$status" 0
		accesses "$work/tagged.hwt" | grep -E '^(200|300)' | cut -d' ' -f1-7 | sort >"$work/seen"
		equal "$level" "$(cat "$work/seen")" "$(cut -d' ' -f1-7 "$work/truth" | sort)"
	done
}

# told's program with its arguments is a small script, so that it has none of its own
with_arguments()
{
	printf '#!/bin/sh\nexec %s\n' "$*" >"$work/script"
	chmod +x "$work/script"
}

cxx()
{
	local level
	for level in -O0 -O2 "-O2 -flto"; do
		# shellcheck disable=SC2086
		"$HEAPWISE" cc -O2 -shared -fPIC -o "$work/plugin.so" "$targets_source/accesses_plugin.c" ||
			fail "cannot build a library"
		gcc -O2 -c -o "$work/plain.o" "$targets_source/accesses_plain.c"
		"$HEAPWISE" c++ -std=c++17 $level -DMERGES=$(merges $level) -c -o "$work/cpp.o" \
			"$targets_source/accesses_cpp.cpp" || fail "cannot compile C++"
		"$HEAPWISE" c++ $level -o "$work/cpp" "$work/cpp.o" "$work/plain.o" -ldl || fail "cannot link C++"
		with_arguments "$work/cpp" "$work/plugin.so"
		told "$work/script" --access exact
	done
}

# Eight threads, fork, dlopen and exceptions in one program, which checks itself: it does the same idle and recorded.
together()
{
	local mode wanted_row wanted="threads 8 caught 96 loaded 96 forked 24 sum 36480 wrong 0"
	"$HEAPWISE" cc -O2 -shared -fPIC -o "$work/plugin.so" "$targets_source/accesses_plugin.c" ||
		fail "cannot build a library"
	"$HEAPWISE" c++ -std=c++17 -O2 -g -o "$work/all" "$targets_source/accesses_all.cpp" -pthread -ldl ||
		fail "cannot build the program"
	equal "alone" "$("$work/all" "$work/plugin.so") $?" "$wanted 0"
	for mode in exact adaptive "exact --coverage" "adaptive --access-epoch 1" off; do
		# shellcheck disable=SC2086
		record "$work/all.hwt" --access $mode -- "$work/all" "$work/plugin.so" >"$work/stdout"
		equal "$mode: status" "$status" 0
		equal "$mode" "$(cat "$work/stdout")" "$wanted"
		rm -f "$work/all.hwt.json"
		whole "$work/all.hwt"
		case $mode in
		exact*) wanted_row="^6001 0 100 0 100 0 100 " ;;
		adaptive*) wanted_row="^6001 0 [1-9][0-9]* 0 [1-9]" ;; # estimates: each has more than 64 accesses
		off) continue ;;
		esac
		equal "$mode: chunks that the library filled" \
			"$(accesses "$work/all.hwt" | grep -c "$wanted_row")" 96
	done
	record "$work/family" --access exact --children -- "$work/all" "$work/plugin.so" >"$work/stdout"
	equal "with children: status" "$status" 0
	equal "with children" "$(cat "$work/stdout")" "$wanted"
	equal "traces" "$(find "$work/family" -name "*.hwt" | wc -l)" 25
	for mode in "$work/family/"*.hwt; do
		at_least "accessed chunks of ${mode##*/}" "$(accesses "$mode" | wc -l)" 50
	done
}

# A read right after a write of the same place: gcc checks one of both, and nothing rests on the other one's absence.
merged()
{
	cat >"$work/merged.c" <<-'PROGRAM'
		#include <stdlib.h>
		__attribute__((noinline)) static int use(volatile int *p)
		{
			int sum = 0;

			for (int i = 0; i < 1000; i++) {
				p[i % 100] = i;
				sum += p[i % 100];
			}
			return sum;
		}
		int main(void)
		{
			int *p = malloc(400), sum = use(p);

			free(p);
			return sum == 0;
		}
	PROGRAM
	"$HEAPWISE" cc -O2 -o "$work/merged" "$work/merged.c" || fail "cannot build"
	record "$work/merged.hwt" --access exact -- "$work/merged"
	equal "status" "$status" 0
	"$HEAPWISE" scores -n 0 -f json "$work/merged.hwt" >"$work/scores"
	equal "inferences by what was not seen" "$(jq -r '.inferences[] |
		select((.id | IN("write_only", "read_only", "read_write")) and .state == "holds").id' "$work/scores")" ""
	equal "findings by that" "$("$HEAPWISE" findings -n 0 -f json --min-share 0 "$work/merged.hwt" |
		jq '[.findings[] | select(.id | test("write_only|read_only"))] | length')" 0
	equal "chunks that are said to be never read" \
		"$("$HEAPWISE" query -f json "$work/merged.hwt" 'all | where reads == 0' | jq .matched.chunks)" 0
	equal "writes" "$("$HEAPWISE" query -f json "$work/merged.hwt" 'all | where writes == 1000' | jq .matched.chunks)" 1
	case $HEAPWISE_CC in
	gcc) jq -r '.caveats[]' "$work/scores" >"$work/caveats"
		says "$work/caveats" "code built by gcc reports only one of a read and a write" ;;
	*) equal "reads" "$("$HEAPWISE" query -f json "$work/merged.hwt" 'all | where reads == 1000' | jq .matched.chunks)" 1 ;;
	esac
}

# Estimates have a lower end that is sure, and an upper one only if enough was sampled; what another thread may have done unseen is unknown.
estimated()
{
	cat >"$work/estimated.c" <<-'PROGRAM'
		#include <pthread.h>
		#include <stdlib.h>
		static void *look(void *p)
		{
			return (void *)(long)*(volatile char *)p;
		}
		__attribute__((noinline)) static volatile char *fill(size_t size)
		{
			volatile char *p = malloc(size);

			p[8] = 1;
			for (int i = 0; i < 5000; i++)
				(void)p[8];
			return p;
		}
		int main(void)
		{
			volatile char *p = fill(300);
			pthread_t other;

			pthread_create(&other, NULL, look, (void *)p);
			pthread_join(other, NULL);
			for (int i = 0; i < 20; i++)
				free((void *)fill(301));
			free((void *)p);
		}
	PROGRAM
	"$HEAPWISE" cc -O1 -o "$work/estimated" "$work/estimated.c" -lpthread || fail "cannot build"
	record "$work/estimated.hwt" --access adaptive -- "$work/estimated"
	equal "status" "$status" 0
	"$HEAPWISE" report -f json "$work/estimated.hwt" | jq .access >"$work/access"
	equal "reads at least" "$(jq '.reads_low <= 105001 and .reads_low >= 21' "$work/access")" true
	equal "reads at most" "$(jq .reads_high "$work/access")" null # 21 moments are too few
	"$HEAPWISE" report "$work/estimated.hwt" >"$work/report"
	says "$work/report" "adaptive.: at least [0-9,]* read"
	equal "a chunk's reads at least" "$("$HEAPWISE" query -f json "$work/estimated.hwt" \
		'all | where size == 300 and reads_low <= 5001' | jq .matched.chunks)" 1
	equal "chunks of one thread, for sure" "$("$HEAPWISE" query -f json "$work/estimated.hwt" \
		'all | where size in 300..301 and multi == false' | jq .matched.chunks)" 0
	equal "ratios of estimates" "$("$HEAPWISE" scores -n 0 -f json "$work/estimated.hwt" |
		jq -r '.inferences[] | select(.id == "read_write" and .state == "holds").id')" ""
}

# A library that is instrumented in a program that is not.
library()
{
	"$HEAPWISE" cc -O2 -shared -fPIC -o "$work/plugin.so" "$targets_source/accesses_plugin.c"
	gcc -O2 -c -o "$work/plain.o" "$targets_source/accesses_plain.c"
	g++ -std=c++17 -DMERGES=1 -O2 -o "$work/cpp" "$targets_source/accesses_cpp.cpp" "$work/plain.o" -ldl
	"$work/cpp" "$work/plugin.so" >"$work/stdout"
	equal "status of a plain program with an instrumented library" "$?" 0
	record "$work/lib.hwt" --access exact -- "$work/cpp" "$work/plugin.so" >"$work/stdout"
	equal "status" "$status" 0
	accesses "$work/lib.hwt" | grep -qE "^3101 0 100 0 100 0 100 " || fail "the library's accesses are not seen"
}

# Without heapwise run, and with --access off, a program runs as ever.
idle()
{
	build "$work/accesses" -O2 "$targets_source/accesses.c"
	"$work/accesses" >"$work/alone"
	equal "status without heapwise" "$?" 0
	record "$work/off.hwt" --access off -- "$work/accesses" >"$work/off"
	equal "status with --access off" "$status" 0
	cmp -s "$work/alone" "$work/off" || fail "the program prints something else"
	equal "accesses with --access off" "$(accesses "$work/off.hwt" | wc -l)" 0
	record "$work/on.hwt" -- "$work/accesses" >"$work/on"
	cmp -s "$work/alone" "$work/on" || fail "the program prints something else when it is recorded"
	whole "$work/on.hwt"
	equal "allocations" "$(field "$work/on.hwt" .allocations)" "$(field "$work/off.hwt" .allocations)"
	gcc -O2 -DMERGES=0 -o "$work/plain" "$targets_source/accesses.c" -lpthread
	record "$work/plain.hwt" -- "$work/plain" >"$work/on"
	equal "accesses of a plain program" "$(accesses "$work/plain.hwt" | wc -l)" 0
	(ulimit -v 4000000; "$work/accesses") >"$work/stdout" 2>"$work/stderr"
	says "$work/stderr" "cannot map its shadow memory"
}

# A child that is not recorded has the heap, but no shadow: ranges of any length, also of no bytes, are the C library's alone.
unrecorded()
{
	local mode program told
	cat >"$work/ranges.c" <<-'PROGRAM'
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		static volatile size_t lengths[] = {0, 1, 64, 5000};
		int main(void)
		{
			char *volatile a = malloc(6000), *volatile b = calloc(1, 6000);
			for (int i = 0; i < 4; i++) {
				size_t n = lengths[i];
				memset(a, 0, n);
				memcpy(a, b, n);
				memmove(b, a, n);
				if (memcmp(a, b, n) || write(1, a, n) != (ssize_t)n || strnlen(a, n) > n)
					return 1;
			}
			return 5;
		}
	PROGRAM
	gcc -O1 -fno-builtin -o "$work/plain" "$work/ranges.c" || fail "cannot build the plain program"
	build "$work/instrumented" -O1 -fno-builtin "$work/ranges.c"
	for mode in exact adaptive; do
		for program in plain instrumented; do
			record "$work/$mode.hwt" --access "$mode" -- "$work/$program" >"$work/stdout"
			equal "$mode: status of the $program program" "$status" 5
			if [ "$program" = plain ]; then told=1; else told=0; fi
			equal "$mode: warnings that nothing is instrumented, $program program" \
				"$(grep -c 'WARNING: no accesses of the program were recorded' "$work/stderr")" "$told"
			"$HEAPWISE" report "$work/$mode.hwt" >"$work/report" || fail "$mode: report"
			equal "$mode: the same in the report, $program program" "$(grep -c '! no accesses of the program' "$work/report")" "$told"
			record "$work/$mode.hwt" --access "$mode" -- sh -c "$work/$program; exit \$?" >"$work/stdout"
			equal "$mode: status of the $program program, not recorded" "$status" 5
			equal "$mode: bytes of the $program program" "$(wc -c <"$work/stdout")" 5065
		done
	done
}

# What else a compiler is asked for.
driver()
{
	local output
	cp "$targets_source/accesses_plain.c" "$work/part.c"
	cd "$work" || exit 1
	for output in --version -v -dumpversion -dumpmachine -print-search-dirs; do
		"$HEAPWISE" cc $output >ours 2>&1
		status=$?
		"$HEAPWISE_CC" $output >theirs 2>&1
		equal "status of $output" "$status" "$?"
		cmp -s ours theirs || fail "heapwise cc $output says something else"
	done
	"$HEAPWISE" cc -E part.c >ours 2>stderr || fail "-E"
	"$HEAPWISE_CC" -E part.c | grep -v '^#' >theirs
	grep -v '^#' ours | cmp -s - theirs || fail "-E makes something else"
	[ ! -s stderr ] || fail "-E prints on stderr"
	"$HEAPWISE" cc -S part.c -o part.s && grep -q asan part.s || fail "-S is not instrumented"
	"$HEAPWISE" cc -c part.c 2>stderr || fail "-c"
	[ ! -s stderr ] || { fail "-c prints on stderr"; cat stderr; }
	echo 'int main(void) { return 7; }' | "$HEAPWISE" cc -x c - -o from-stdin 2>stderr || fail "-x c -"
	[ ! -s stderr ] || { fail "linking prints on stderr"; cat stderr; }
	./from-stdin
	equal "status of a program from stdin" "$?" 7
	echo 'int main(void) { return 0' | "$HEAPWISE" cc -x c - -o bad 2>stderr && fail "an error is no error"
	"$HEAPWISE" cc -r part.o -o whole.o && "$HEAPWISE" cc -shared -fPIC part.c -o libpart.so || fail "-r, -shared"
	readelf -n libpart.so | grep -q Heapwise || fail "a library has no note"
	# libtool repeats what it was told of a C++ library
	stub=$(dirname "$HEAPWISE")/$("$HEAPWISE" c++ -shared -fPIC -v part.o -o libpart.so 2>&1 | grep -om 1 'heapwise-stub-[a-z-]*[.]o' | sed q)
	"$HEAPWISE" c++ -shared -nostdlib part.o "$stub" -o libagain.so || fail "the stub is linked twice"
	HEAPWISE_CC=/no/such/compiler "$HEAPWISE" cc part.c 2>stderr
	equal "status without a compiler" "$?" 3
	says stderr "cannot run '/no/such/compiler': No such file or directory; install a compiler"
}

# Estimates of hot memory, and what is not hot at all.
adaptive()
{
	local idle
	build "$work/hot" -O2 "$targets_source/accesses_hot.c"
	record "$work/hot.hwt" --access adaptive --access-epoch 2 -- "$work/hot" >"$work/truth"
	equal "status" "$status" 0
	whole "$work/hot.hwt"
	accesses "$work/hot.hwt" >"$work/seen"
	# Three granules of the 24 bytes are counted while it is their sets' turn, and the program's progress in the
	# turns of any two sets differs by one turn's at most. Three sets have a 21st of a second of CPU time; even on a
	# machine so busy that turns take 6 ms of it, not 0.2, that is eight of them. So it is for the eight or 16 sets
	# of the 3,000 bytes, which lie in one page or two; the large chunk has units in all.
	awk 'NR == FNR { reads[$1] = $2; writes[$1] = $3; next }
		$1 in reads {
			share = ($2 + $3) / (reads[$1] + writes[$1])
			if ($1 < 4000 ? share < 0.7 || share > 1.3 : share < 0.85 || share > 1.15)
				print "of " $1 ": " $2, $3 ", not " reads[$1], writes[$1]
			if ($8 !~ /estimated/)
				print "of " $1 ": not an estimate"
			found++
		}
		END { if (found != 3) print "something is missing" }' "$work/truth" "$work/seen" >"$work/verdict"
	[ ! -s "$work/verdict" ] || fail "$(cat "$work/verdict")"
	# The last access of `late` is within an epoch (and a scheduler's whim) of the program's end.
	"$HEAPWISE" trace dump "$work/hot.hwt" | awk '
		$3 == "malloc" && $5 == 555 { chunk = $6 }
		$2 == "access" && $3 == chunk { last = $7 }
		{ if ($3 ~ /^[a-z]+$/ && $1 + 0 > latest) latest = $1 + 0 }
		END { if (last < 900000000) print "FAILED: last access at " last }' | grep . && fail "last access"
	record "$work/max.hwt" --access-max 1000 -- "$work/hot" >"$work/truth"
	accesses "$work/max.hwt" | grep -qE "^3000 1000 1000 .*saturated" || fail "--access-max does not saturate"
	# What was idle for 2 s is known to be, unless the recorder's thread had no CPU for a sixteenth of that: so it may be by chance, but
	# not three times.
	build "$work/brief" -O1 "$targets_source/accesses_brief.c"
	for _ in 1 2 3; do
		record "$work/brief.hwt" --access adaptive -- "$work/brief" >"$work/truth"
		idle=$("$HEAPWISE" trace dump "$work/brief.hwt" | awk '
			$3 == "malloc" && $5 == 803 { chunk = $6 }
			$2 == "access" && $3 == chunk { found = 1; if (/later/) print }
			END { if (!found) print "it is missing" }')
		[ -n "$idle" ] || break
	done
	equal "what was idle, and is not known to be" "$idle" ""
}

# Large chunks go from slot to slot without being copied, and nothing else about them changes.
large()
{
	local mode
	build "$work/large" -O1 -fno-builtin "$targets_source/accesses_large.c"
	"$work/large" >"$work/stdout" || fail "alone: $(cat "$work/stdout")"
	for mode in exact adaptive; do
		told "$work/large" --access "$mode"
		with_arguments "$work/large" refused
		told "$work/script" --access "$mode"
	done
}

# What adaptive recording does not see makes an answer unknown, never wrong.
brief()
{
	build "$work/brief" -O1 "$targets_source/accesses_brief.c"
	record "$work/brief.hwt" --access adaptive -- "$work/brief" >"$work/truth"
	equal "status" "$status" 0
	"$HEAPWISE" trace dump "$work/brief.hwt" >"$work/dump"
	awk -v merges=$(merges -O1) '
		NR == FNR { idle_801[NR] = $1; idle_804[NR] = $2; next }
		$3 == "malloc" { size[$6] = $5; born[$6] = $1; round[$6] = ++rounds[$5] }
		$3 == "free" { ended[$6] = $1 }
		$2 == "access" { last[$3] = $7; reads[$3] = $9; writes[$3] = $11; flags[$3] = $0 }
		END {
			for (i in last) {
				later = flags[i] ~ /later/
				unsided = flags[i] ~ /unsided/
				idle = (ended[i] - last[i]) / (ended[i] - born[i])
				if (size[i] == 800 && (!reads[i] || !writes[i]))
					print "written, then read: " flags[i]
				else if (size[i] == 801 && idle > idle_801[round[i]] + 0.1 && !later)
					print "in use until its end, and idle for " idle ": " flags[i]
				else if (size[i] == 802 && (reads[i] || writes[i] != 200 || unsided != (merges > 0)))
					print "written 200 times: " flags[i]
				else if (size[i] == 803 && idle < 0.8 && !later)
					print "idle for 2 s: " flags[i]
				else if (size[i] == 804 && idle > idle_804[round[i]] + 0.2 && !later)
					print "read at the end, and idle for " idle ": " flags[i]
				found[size[i]]++
			}
			if (found[800] != 50 || found[804] != 50 || found[803] != 1)
				print "something is missing"
		}' "$work/truth" "$work/dump" >"$work/verdict"
	[ ! -s "$work/verdict" ] || fail "$(wc -l <"$work/verdict") are wrong: $(head -n 3 "$work/verdict")"
}

# inferences TRACE OPTION...   "inference stack" of what holds of accesses, and is measured
inferences()
{
	"$HEAPWISE" scores --no-symbols -n 0 --format json "$@" | jq -r '
		(.points | map({key: "\(.point)", value: ([.stack[] | "\(.module | sub(".*/"; ""))+\(.offset)"] | join(" "))}) | from_entries) as $stacks |
		.inferences[] | select(.state == "holds" and .confidence == "measured") |
		select(.id | IN("unused", "write_only", "read_only", "early", "late", "coverage", "shared", "read_write")) | "\(.id) \($stacks["\(.point)"])"' | sort
}

# exact_too PROGRAM ARGUMENT...   adds what another run of it in exact mode infers to $work/exact
exact_too()
{
	record "$work/exact.hwt" --access exact -- "$@" >"$work/stdout"
	equal "$program: status" "$status" 0
	inferences "$work/exact.hwt" --useless-bytes 2 --idle 25 --idle-bytes 25 --coverage 75 --coverage-bytes 25 --threads 2 --ratio 5 >>"$work/exact"
	sort -u -o "$work/exact" "$work/exact"
}

# Ten programs: what adaptive recording infers and calls measured, exact recording has, too. Times differ from run to run, so the exact
# one has wider limits, and three runs at most.
modes()
{
	local program arguments few=0 many=0 run
	while read -r program arguments; do
		"$HEAPWISE" c++ -x $([ "${program##*.}" = c ] && echo c || echo c++) -w -g -O1 "$HEAPWISE_SOURCE_DIR/$program" -o "$work/program" -x none -lpthread ||
			{ fail "cannot build $program"; continue; }
		# shellcheck disable=SC2086
		record "$work/adaptive.hwt" --access adaptive -- "$work/program" $arguments >"$work/stdout"
		equal "$program: status of adaptive recording" "$status" 0
		inferences "$work/adaptive.hwt" >"$work/adaptive"
		: >"$work/exact"
		for run in 1 2 3; do
			# shellcheck disable=SC2086
			exact_too "$work/program" $arguments
			comm -13 "$work/exact" "$work/adaptive" >"$work/only"
			[ -s "$work/only" ] || break
		done
		[ ! -s "$work/only" ] || fail "$program: adaptive recording alone measures $(wc -l <"$work/only"): $(head -n 3 "$work/only")"
		echo "$program: measured inferences: exact $(wc -l <"$work/exact"), adaptive $(wc -l <"$work/adaptive")"
		many=$((many + $(wc -l <"$work/exact")))
		few=$((few + $(wc -l <"$work/adaptive")))
	done <<-'PROGRAMS'
		tests/targets/wastes.cpp
		tests/targets/containers.cpp 20000
		tests/targets/members.cpp
		tests/targets/excessive.cpp churn
		tests/targets/many.c 60000
		tests/targets/accesses_handed.c
		tests/targets/accesses_hot.c
		tests/targets/accesses_brief.c
		examples/logstat.c 20000
		examples/contrived.cpp
	PROGRAMS
	at_least "measured inferences of all programs, exact" "$many" 10
	at_least "measured inferences of all programs, adaptive" "$few" 5
}

# The helper thread leaves the program's CPU, and may run on the others as before.
away()
{
	local wanted="away, and free to go"
	build "$work/away" -O2 "$targets_source/accesses_away.c"
	[ "$(nproc)" -gt 1 ] || wanted="one CPU"
	record "$work/away.hwt" --access adaptive -- "$work/away" >"$work/stdout"
	equal "status" "$status" 0
	equal "what the program saw" "$(cat "$work/stdout")" "$wanted"
	# Where there is one CPU only it stays.
	"$HEAPWISE" run --access adaptive -o "$work/one.hwt" -- taskset -c "$(taskset -cp $$ | grep -o '[0-9]*$')" "$work/away" \
		>"$work/stdout" 2>"$work/stderr"
	equal "status on one CPU" "$?" 0
	equal "what the program saw on one CPU" "$(cat "$work/stdout")" "one CPU"
}

# What the recorder knows of hot memory does not keep it from being lost.
lost()
{
	local mode
	build "$work/lost" -O1 "$targets_source/accesses_lost.c"
	for mode in exact adaptive; do
		record "$work/$mode.hwt" --access "$mode" --access-epoch 5 -- "$work/lost"
		equal "status" "$status" 0
		equal "$mode: scan, lost, reachable" \
			"$("$HEAPWISE" trace info --format json "$work/$mode.hwt" | jq -r '.image_list[0] | [.scan, .lost_chunks, .lost_bytes, .reachable_chunks] | join(" ")')" \
			"done 2 $(((1 << 20) + 2000)) 2"
	done
}

# shut_in_without CALL...   of $work/shut, which says how often it writes to 4,001 bytes
shut_in_without()
{
	record "$work/shut.hwt" --access adaptive -- "$work/shut" "$@" >"$work/truth"
	equal "without $*: status" "$status" 0
	accesses "$work/shut.hwt" >"$work/seen"
	grep -q "^4000 .*estimated" "$work/seen" || fail "without $*: not adaptive at first"
}

# System calls of the helper thread that would be the end of the program: it makes none of them. Without a helper accesses are counted,
# not estimated.
shut_in()
{
	local calls
	build "$work/shut" -O2 "$targets_source/shut_in.c"
	for calls in nanosleep clock_gettime membarrier "nanosleep clock_gettime membarrier exit"; do
		shut_in_without $calls
		equal "without $calls: writes" "$(awk '$1 == 4001 { print $3, $8 ~ /estimated/ }' "$work/seen")" "$(cat "$work/truth") 0"
	done
	shut_in_without getcpu sched_getaffinity sched_setaffinity
	grep -q "^4001 .*estimated" "$work/seen" || fail "not adaptive, without calls that it need not make"
	"$HEAPWISE" run -q --children --access adaptive -o "$work/family" -- "$work/shut" fork nanosleep >"$work/truth"
	equal "with a child: status" "$?" 0
	equal "of a child: writes" "$(for trace in "$work/family"/*; do accesses "$trace"; done | awk '$1 == 4001 { print $3, $8 ~ /estimated/ }')" \
		"$(cat "$work/truth") 0"
}

# Order and distance of first and last accesses, also after a long computation without any.
times()
{
	cat >"$work/times.c" <<-'PROGRAM'
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		static struct timespec start;
		static double since(void)
		{
			struct timespec now;
			clock_gettime(CLOCK_MONOTONIC, &now);
			return (double)(now.tv_sec - start.tv_sec) * 1e9 + (double)(now.tv_nsec - start.tv_nsec);
		}
		static void compute(double ns)
		{
			double end = since() + ns;
			while (since() < end)
				;
		}
		int main(void)
		{
			volatile char *a = malloc(701), *b = malloc(702), *c;
			double at[5];
			clock_gettime(CLOCK_MONOTONIC, &start);
			c = malloc(703);
			a[0] = 1;
			at[0] = since();
			usleep(200000);
			at[1] = since();
			b[0] = 1;
			at[2] = since();
			compute(3e8);
			at[3] = since();
			c[0] = 1;
			a[1] = 1;
			at[4] = since();
			printf("%.0f %.0f %.0f %.0f %.0f\n", at[0], at[1], at[2], at[3], at[4]);
			return 0;
		}
	PROGRAM
	build "$work/times" -O1 "$work/times.c"
	for options in "" --exact-times; do
		record "$work/times.hwt" $options -- "$work/times" >"$work/truth"
		equal "status" "$status" 0
		"$HEAPWISE" trace dump "$work/times.hwt" | awk '
			NR == FNR { split($0, at); next }
			$3 == "malloc" { size[$6] = $5; born[$5] = $1 }
			$2 == "access" { first[size[$3]] = $5; last[size[$3]] = $7 }
			function within(what, got, from, to) { # 50 ms without accesses may go unnoticed
				if (got < born[703] + from - 60e6 || got > born[703] + to + 60e6)
					print what " is at " got - born[703] ", not from " from " to " to
			}
			END {
				within("the first access of a", first[701], 0, at[1])
				within("the first access of b", first[702], at[2], at[3])
				within("the first access of c", first[703], at[4], at[5])
				within("the last access of a", last[701], at[4], at[5])
				if (first[701] < born[701] || first[702] <= first[701] || first[703] <= first[702])
					print "the order is wrong"
			}' "$work/truth" - >"$work/verdict"
		[ ! -s "$work/verdict" ] || fail "$options: $(cat "$work/verdict")"
	done
}

# A thread's cached time may be older than a chunk that it is given: no record is lost, and no access is before the allocation.
handed()
{
	local mode
	build "$work/handed" -O1 "$targets_source/accesses_handed.c"
	for mode in exact adaptive; do
		record "$work/handed.hwt" --access "$mode" -- "$work/handed"
		equal "$mode: status" "$status" 0
		whole "$work/handed.hwt"
		accesses "$work/handed.hwt" >"$work/seen"
		[ "$mode" = exact ] || forget_last
		equal "$mode: written by one, read by another" "$(grep -cx "900 1 2 1 2 0 2 shared" "$work/seen")" 1000
		equal "$mode: accessed by the other only" "$(grep -cx "901 1 1 1 1 0 2 -" "$work/seen")" 1000
		equal "$mode: first, last, birth in order" "$("$HEAPWISE" trace dump "$work/handed.hwt" | awk '
			$3 == "malloc" { born[$6] = $1 }
			$3 == "free" { ended[$6] = $1 }
			$2 == "access" { first[$3] = $5; last[$3] = $7 }
			END { for (i in first) wrong += first[i] < born[i] || last[i] < first[i] || (i in ended && last[i] > ended[i]); print wrong + 0 }')" 0
	done
}

# Which bytes no chunk of a point accesses, also of chunks that a realloc ends.
untouched()
{
	cat >"$work/untouched.c" <<-'PROGRAM'
		#include <stdlib.h>
		struct row { int key; char gap[28]; long value; char rest[984]; };
		static volatile int sink;
		static volatile size_t nothing;
		__attribute__((noinline)) static void rows(int i)
		{
			volatile struct row *p = malloc(sizeof *p);
			p->key = i;
			if (i % 2)
				p->value = p->key;
			p->rest[500] = 1;
			free((void *)p);
		}
		__attribute__((noinline)) static void grown(int i)
		{
			volatile short *p = malloc(26);
			p[i % 4 * 3] = 1;
			p[12] = 2;
			p = realloc((void *)p, 60000);
			sink = p[12];
			free((void *)p);
		}
		__attribute__((noinline)) static void ended(int i)
		{
			volatile short *p = malloc(28);
			p[i % 4 * 3] = 1;
			p[12] = 2;
			if (realloc((void *)p, nothing))
				sink = 1;
		}
		int main(void)
		{
			volatile char *kept = malloc(77);
			kept[1] = kept[70] = 1;
			for (int i = 0; i < 50; i++) {
				rows(i);
				grown(i);
				ended(i);
			}
			return 0;
		}
	PROGRAM
	build "$work/untouched" -O1 "$work/untouched.c"
	record "$work/untouched.hwt" --access exact --coverage -- "$work/untouched"
	equal "status" "$status" 0
	whole "$work/untouched.hwt"
	"$HEAPWISE" scores --no-symbols -n 0 --format json "$work/untouched.hwt" | jq -r '.points[] |
		"\(.mapped) \(.chunk_bytes) \(.untouched) \(.untouched_at)"' >"$work/seen"
	says "$work/seen" '^50 1024 1011 4-31,40-539,541-1023$'
	says "$work/seen" '^1 77 75 0,2-69,71-76$'
	says "$work/seen" '^50 26 0 null$' # realloc has copied all of it
	says "$work/seen" '^50 28 18 2-5,8-11,14-17,20-23,26-27$'
}

# What is freed before a SIGKILL is known, the rest is not; nothing is wrong.
killed()
{
	cat >"$work/killed.c" <<-'PROGRAM'
		#include <signal.h>
		#include <stdlib.h>
		int main(void)
		{
			for (int i = 0; i < 1000; i++) {
				volatile char *p = malloc(800), *q = malloc(801);
				p[3] = q[4] = 1;
				free((void *)p);
			}
			raise(SIGKILL);
			return 0;
		}
	PROGRAM
	build "$work/killed" -O1 "$work/killed.c"
	record "$work/killed.hwt" -- "$work/killed"
	equal "status" "$status" 137
	equal "measured" "$(accesses "$work/killed.hwt" | grep -c "^800 0 1 0 1 3 4 ")" 1000
	equal "not measured" "$(accesses "$work/killed.hwt" | grep -c "^801 ")" 0
}

# At most 96 bytes per live chunk and 1/8 of the heap, beyond what the heap itself takes.
memory()
{
	local chunks=400000 bytes plain access
	cat >"$work/many.c" <<-'PROGRAM'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		int main(int argc, char **argv)
		{
			long chunks = atol(argv[1]), resident = 0;
			char line[200];
			FILE *f;
			(void)argc;
			for (long i = 0; i < chunks; i++) {
				volatile char *p = malloc(112);
				for (int k = 0; k < 112; k += 8)
					p[k] = 1;
			}
			f = fopen("/proc/self/smaps_rollup", "r");
			while (f && fgets(line, sizeof(line), f))
				if (strncmp(line, "Private_Dirty:", 14) == 0)
					resident = atol(line + 14);
			fprintf(stderr, "resident %ld\n", resident);
			_Exit(0);
		}
	PROGRAM
	build "$work/many" -O1 -w "$work/many.c"
	access=$("$HEAPWISE" run -q --leak-scan off --no-symbols -o "$work/m.hwt" "$work/many" $chunks 2>&1 |
		sed -n 's/^resident //p')
	plain=$("$HEAPWISE" run -q --leak-scan off --access off --no-symbols -o "$work/m.hwt" "$work/many" $chunks 2>&1 |
		sed -n 's/^resident //p')
	bytes=$(((access - plain) * 1024 / chunks))
	echo "memory per chunk of 112 bytes: $bytes (resident $plain KiB, with accesses $access KiB)"
	at_least "memory" "$plain" 40000
	at_most "bytes per chunk" "$bytes" $((96 + 112 / 8))
}

# places PROGRAM   how often its checks look where in 8 bytes an access is
places()
{
	objdump -d --no-show-raw-insn "$1" | grep -cE 'and +\$0x7,'
}

# addresses PROGRAM   how many of its checks compute an address for the report and move it from there to look at the shadow
addresses()
{
	objdump -d --no-show-raw-insn "$1" |
		awk '/lea .*,%rdi$/ { computed = 1 } /call/ { computed = 0 } computed && /mov +%rdi,%r/ { count++; computed = 0 } END { print count + 0 }'
}

# gcc's checks become shorter, whatever way its assembler is run, and tell the same; messages are about what it wrote.
short_checks()
{
	local level long
	[ "$(uname -m)" = x86_64 ] || skip "checks are as gcc writes them on this machine"
	cat >"$work/small.c" <<-'PROGRAM'
		#include <stdlib.h>
		struct item { char a; short b; int c; char name[13]; long d; };
		__attribute__((noinline)) static int visit(struct item *items, int count, char *bytes, int step)
		{
			int sum = 0;
			for (int i = 0; i < count; i++) {
				sum += items[i].a + items[i].b + items[i].c + items[i].name[i % 13] + bytes[i * step];
				items[i].b = (short)sum;
				items[i].d = sum;
				bytes[i * step] = (char)sum;
			}
			return sum;
		}
		int main(int argc, char **argv)
		{
			struct item *items = calloc(50, sizeof *items);
			char *bytes = calloc(50, 7);
			(void)argv;
			return visit(items, 40 + argc, bytes, 6 + argc) & 1;
		}
	PROGRAM
	cd "$work" || exit 1
	for level in -O1 -O2 -O3 -Os "-O2 -g" "-O2 -pipe" "-O2 -pipe -g" "-O2 -flto" "-O2 -fno-plt" "-O2 -save-temps" "-O2 -fverbose-asm"; do
		# shellcheck disable=SC2086
		HEAPWISE_SHORT_CHECKS=0 "$HEAPWISE" cc $level small.c -o long || fail "cannot build with long checks"
		# shellcheck disable=SC2086
		"$HEAPWISE" cc $level small.c -o short 2>stderr || fail "cannot build: $level"
		[ ! -s stderr ] || fail "$level: $(cat stderr)"
		long=$(places long)
		at_least "$level: checks that look at places" "$long" 3
		at_most "$level: those that are left" "$(places short)" $((long / 2))
		long=$(addresses long)
		at_least "$level: checks that move addresses" "$long" 3
		at_most "$level: those that are left" "$(addresses short)" $((long / 2))
		record long.hwt --access exact -- ./long
		record short.hwt --access exact -- ./short
		equal "status" "$status" 0
		equal "$level" "$(accesses short.hwt)" "$(accesses long.hwt)"
	done
	long=$(places long)
	HEAPWISE_CC="env gcc" "$HEAPWISE" cc -O2 small.c -o short
	at_most "gcc behind another program: what is left" "$(places short)" $((long / 2))

	# The user's own folder of tools comes first, as ever.
	mkdir tools
	printf '#!/bin/sh\necho "$@" >>"%s"\nexec as "$@"\n' "$work/used" >tools/as
	chmod +x tools/as
	COMPILER_PATH=$work/tools "$HEAPWISE" cc -O2 small.c -o short || fail "with an assembler of the user's"
	[ -s used ] || fail "the user's assembler is not used"
	at_most "an assembler of the user's: what is left" "$(places short)" $((long / 2))

	# Messages and listings.
	printf '__asm__(".warning \\"look\\"");\n' | cat - small.c >loud.c
	printf 'void f(void) { __asm__("nonsense"); }\n' | cat - small.c >wrong.c
	for level in "-c loud.c" "-c -g wrong.c" "-c -pipe wrong.c" "-c -Wa,-adhln small.c"; do
		# shellcheck disable=SC2086
		HEAPWISE_SHORT_CHECKS=0 "$HEAPWISE" cc -O2 $level >long 2>&1
		status=$?
		# shellcheck disable=SC2086
		"$HEAPWISE" cc -O2 $level >short 2>&1
		equal "status of $level" "$?" "$status"
		at_least "lines that $level says" "$(wc -l <long)" 1
		# Names of gcc's own files are new each time.
		equal "$level" "$(sed 's,/[^ :]*/cc[^ :]*,,' short)" "$(sed 's,/[^ :]*/cc[^ :]*,,' long)"
	done
	# What the compiler wrote before, as it is.
	"$HEAPWISE" cc -O2 -S small.c -o small.s && cp small.s before.s && "$HEAPWISE" cc -c small.s -o small.o && cmp -s small.s before.s ||
		fail "assembler text of the user's"
	at_most "assembler text: what is left" "$(places small.o)" $((long / 2))
}

"$1"
finish
