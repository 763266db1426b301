#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# foreign.sh CASE   programs of the other CPU under qemu-user, recorded by that CPU's recorder and this machine's monitor: Debian's own,
# and allocators that are linked into them, at the entries of their functions. qemu translates code again when it is changed, as
# a CPU that keeps its caches coherent would; what a CPU does that needs to be told, it cannot show.
. "$(dirname "$0")/lib.sh"
sources=$(cd "$(dirname "$0")/../targets" && pwd)
place=$HEAPWISE_BUILD_DIR/packages
cd "$work" || exit 1

cpu=aarch64
[ "$(uname -m)" = x86_64 ] || cpu=x86_64
root=$HEAPWISE_BUILD_DIR/$cpu/root
emulator=(qemu-$cpu -L "$root")
recorder=$HEAPWISE_BUILD_DIR/$cpu/libheapwise.so
needs qemu-$cpu qemu-user
needs $cpu-linux-gnu-g++ g++-${cpu/_/-}-linux-gnu
[ -e "$recorder" ] || skip "the recorder for $cpu is not built; build the target tests"

# blocks TRACE SIZE   "allocations frees" of blocks of this size
blocks()
{
	"$HEAPWISE" trace dump "$1" | awk -v size="$2" '$1 !~ /^#/ && $5 == size && $3 != "duration" {
		if ($3 ~ /free|delete/) frees++; else allocs++ } END { print allocs + 0, frees + 0 }'
}

# every TRACE FACTOR   what the target allocators does, this many times
every()
{
	for size in 1201 1211 1203 1204 1205 1206 1216 4001; do
		equal "blocks of $size" "$(blocks "$1" $size)" "$((1000 * $2)) $((500 * $2))"
	done
	equal "blocks of 1202" "$(blocks "$1" 1202)" "$((1000 * $2)) $((1000 * $2))"
	whole "$1"
	equal "broken stacks" "$(field "$1" .faults.stack_broken)" 0
}

# entries OBJECT...   an allocator that is linked into the program, in one thread and in four
entries()
{
	$cpu-linux-gnu-g++ -O1 -fno-builtin "$sources/allocators.cpp" -o all "$@" 2>log || { cat log; fail "does not build"; finish; }
	"${emulator[@]}" ./all || skip "the program does not run under qemu-$cpu"
	record one.hwt --recorder "$recorder" -- "${emulator[@]}" ./all
	equal "status" "$status" 0
	says "$work/stderr" "the program contains its own allocator; [0-9]+ of its functions were patched"
	grep "NOT recorded" "$work/stderr" && fail "an entry was not recorded"
	every one.hwt 1
	record four.hwt --recorder "$recorder" -- "${emulator[@]}" ./all 4
	equal "status with threads" "$status" 0
	every four.hwt 4
}

case_jemalloc()
{
	entries "$root/usr/lib/$cpu-linux-gnu/libjemalloc.a" -lm -lpthread -ldl
}

case_tcmalloc()
{
	entries "$root/usr/lib/$cpu-linux-gnu/libtcmalloc_minimal.a" -lm -lpthread
}

case_mimalloc()
{
	"$HEAPWISE_SOURCE_DIR/bench/debian-source" mimalloc "$place/mimalloc" 2>log || skip "cannot download the source of mimalloc"
	$cpu-linux-gnu-gcc -O2 -w -DNDEBUG -fPIC -DMI_MALLOC_OVERRIDE -I"$place/mimalloc/include" \
		-c "$place/mimalloc/src/static.c" -o mimalloc.o || fail "mimalloc cannot be compiled"
	entries mimalloc.o -lpthread
}

# program NAME ARGUMENT...   Debian's program of the other CPU: it prints what it prints alone, and allocates as often as memcheck
# counts of the same version on this CPU
program()
{
	local name=$1 allocations frees bytes

	shift
	needs valgrind
	needs "$name"
	[ "$("${emulator[@]}" "$root/usr/bin/$name" "$@" </dev/null | tee alone.out | cksum)" = "$("$name" "$@" </dev/null | cksum)" ] ||
		fail "$name prints something else than on this CPU"
	record trace --recorder "$recorder" -- "${emulator[@]}" "$root/usr/bin/$name" "$@" >recorded.out </dev/null
	equal "status" "$status" 0
	cmp alone.out recorded.out || fail "the program's output is not the same"
	whole trace
	equal "broken stacks" "$(field trace .faults.stack_broken)" 0
	valgrind --run-libc-freeres=no --run-cxx-freeres=no "$name" "$@" >/dev/null 2>memcheck </dev/null
	read -r allocations _ frees _ bytes _ <<<"$(sed -n 's/.*total heap usage: //p' memcheck | tr -d ',')"
	equal "allocations and frees" "$(field trace .allocations) $(field trace .frees)" "$allocations $frees"
	# Names are longer here, and saved registers differ in size.
	at_least "bytes" "$(field trace .bytes)" $((bytes * 99 / 100))
	at_most "bytes" "$(field trace .bytes)" $((bytes * 101 / 100))
}

case_sqlite3()
{
	cat >input <<-'END'
	create table t(id integer primary key, name text);
	with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000) insert into t select x, hex(x * 7919) from c;
	create index i on t(name);
	select count(*), max(name) from t where name like '%3%';
	delete from t where id % 3 = 0;
	vacuum;
	END
	program sqlite3 -batch :memory: ".read input"
}

case_jq()
{
	seq 1 300 | awk '{ printf "{\"id\":%d,\"tags\":[\"a%d\",\"b\"]}\n", $1, $1 % 17 }' >input
	program jq -s 'map(select(.id % 2 == 0) | {id, t: (.tags | join(","))}) | group_by(.t)' input
}

case_lua5_4()
{
	echo 'local t = {} for i = 1, 3000 do t[i] = { i, tostring(i * 7919) } end print(#t, t[77][2])' >input
	program lua5.4 input
}

# Nobody else's allocator: the hooks alone.
case_plain()
{
	$cpu-linux-gnu-g++ -O1 -fno-builtin "$sources/allocators.cpp" -o all -lpthread || fail "does not build"
	record one.hwt --recorder "$recorder" -- "${emulator[@]}" ./all
	equal "status" "$status" 0
	every one.hwt 1
}

# The recorder as a part of the program, with and without loader.
case_linked()
{
	local archive=$HEAPWISE_BUILD_DIR/$cpu/libheapwise.a

	$cpu-linux-gnu-g++ -O1 -fno-builtin "$sources/allocators.cpp" -o static -static "$archive" -Wl,-u,malloc -Wl,-z,muldefs -Wl,--eh-frame-hdr -lpthread ||
		fail "does not build"
	$cpu-linux-gnu-g++ -O1 -fno-builtin "$sources/allocators.cpp" -o dynamic "$archive" -Wl,-u,malloc -lpthread || fail "does not build"
	for program in static dynamic; do
		"${emulator[@]}" ./$program || fail "$program: status $?"
		record $program.hwt --recorder "$recorder" -- "${emulator[@]}" ./$program 2
		equal "status of $program" "$status" 0
		every $program.hwt 2
	done
}

# Pages that the emulator guards: an allocator that is called by address, with signed return addresses and landing marks.
case_guarded()
{
	local library=(-shared -fPIC -nostartfiles -Wl,-Bsymbolic)

	[ $cpu = aarch64 ] || skip "no emulator guards pages on $cpu"
	$cpu-linux-gnu-gcc -O2 -fno-builtin -mbranch-protection=standard "$sources/arena.c" "${library[@]}" -o libarena.so || fail "does not build"
	$cpu-linux-gnu-gcc -O2 -fno-builtin -mbranch-protection=standard "$sources/pools.c" -L. -larena -Wl,-rpath,. -rdynamic -o pools -lpthread -ldl ||
		fail "does not build"
	readelf -n libarena.so | grep -q "feature: BTI, PAC" || fail "the library is not guarded"
	for case in pointers jumps; do
		record $case.hwt --recorder "$recorder" --alloc-fn arena_alloc --free-fn arena_free --alloc-fn jumping_alloc \
			--alloc-fn region_alloc --free-fn region_free \
			-- "${emulator[@]}" ./pools $case >printed
		equal "$case: status" "$status" 0
		grep "NOT recorded" "$work/stderr" && fail "$case: a function was not recorded"
		read -r _ allocs _ frees _ <printed
		at_least "$case: blocks" "$allocs" 10
		equal "$case: pool" "$(field $case.hwt .calls.pool)" "$allocs"
		equal "$case: pool_free" "$(field $case.hwt .calls.pool_free)" "$frees"
		whole $case.hwt
		equal "$case: broken stacks" "$(field $case.hwt .faults.stack_broken)" 0
	done
}

# A module with a scope of its own; see deepbind.sh.
case_deepbind()
{
	local how size

	$cpu-linux-gnu-gcc -O1 -fno-builtin "$sources/deepbind.c" -o host -ldl || fail "does not build"
	for how in now lazy; do
		$cpu-linux-gnu-gcc -O1 -fno-builtin -DPLUGIN -fPIC -shared -Wl,-z,$how,-z,relro "$sources/deepbind.c" -o $how.so || fail "does not build"
		record $how.hwt --recorder "$recorder" -- "${emulator[@]}" ./host "$PWD/$how.so" $how >out
		equal "status" "$status" 0
		equal "output" "$(cat out)" ok
		for size in 1301 1302 1303 1310 1305 1306; do
			equal "blocks of $size" "$(blocks $how.hwt $size)" "100 100"
		done
	done
}

# tagged COMPILER OPTION...   `heapwise cc` of the other CPU makes checks that do not mind a pointer's tag, and report what the program says. The
# C library's accesses, and that an atomic operation reads as well, are the recorder's to see.
tagged()
{
	local compiler=$1

	shift
	HEAPWISE_CC="$compiler" "${emulator[@]}" "$HEAPWISE_BUILD_DIR/$cpu/heapwise" cc "$@" "$sources/accesses_tagged.c" -o tagged \
		"$work/heapwise-stub-test.o" -Wl,--wrap=malloc,--wrap=calloc || { fail "$compiler $*: does not build"; return; }
	(ulimit -v 16000000 && exec "${emulator[@]}" ./tagged) >truth 2>seen # so much is a mistake: qemu takes memory for what is mapped
	equal "$compiler $*: status" "$?" 0
	equal "$compiler $*: lines of truth" "$(wc -l <truth)" 10
	equal "$compiler $*" "$(grep -v '^200[3-6]' seen)" "$(grep -v '^200[3-6]' truth)"
}

case_tagged()
{
	local level version

	[ $cpu = aarch64 ] || skip "pointers have no tags on $cpu"
	[ -e "$HEAPWISE_BUILD_DIR/$cpu/heapwise" ] || skip "heapwise for $cpu is not built; build the target tests"
	$cpu-linux-gnu-gcc -O1 -c "$sources/accesses_stub.c" -o heapwise-stub-test.o || fail "does not build"
	mkdir tools
	printf '#!/bin/sh\nexec qemu-%s -L "%s" "%s" "$@"\n' $cpu "$root" "$HEAPWISE_BUILD_DIR/$cpu/gcc-as/as" >tools/as
	chmod +x tools/as
	export COMPILER_PATH=$work/tools HEAPWISE_ASSEMBLER=$cpu-linux-gnu-as
	for level in -O0 -O1 -O2 -Os "-O2 -g" "-O2 -flto -fno-fat-lto-objects"; do
		# shellcheck disable=SC2086
		tagged $cpu-linux-gnu-gcc $level
	done
	for version in 14 19; do
		command -v clang-$version >clang || continue
		for level in -O0 -O1 -O2 "-O2 -g"; do
			# shellcheck disable=SC2086
			tagged clang-$version --target=$cpu-linux-gnu "--sysroot=$root" $level
		done
	done
}

run_case "$1"
finish
