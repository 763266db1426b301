#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# allocators.sh CASE   other allocators than the C library's, and other languages: counts are exact, or the user is told.
. "$(dirname "$0")/lib.sh"

# After a compiler failed: an allocator that is not installed makes a test pointless, anything else is wrong.
not_built()
{
	case $(grep -E "cannot find -l|No such file or directory" log) in
	*jemalloc*) lacks libjemalloc-dev ;;
	*tcmalloc*) lacks libgoogle-perftools-dev ;;
	*mimalloc*) lacks libmimalloc-dev ;;
	esac
	cat log
	fail "cannot be built"
	exit 1
}
sources=$(cd "$(dirname "$0")/../targets" && pwd)
cd "$work" || exit 1

# blocks TRACE SIZE   "allocations frees" of blocks of this size
blocks()
{
	"$HEAPWISE" trace dump "$1" | awk -v size="$2" '$1 !~ /^#/ && $5 == size && $3 != "duration" {
		if ($3 ~ /free|delete/) frees++; else allocs++ } END { print allocs + 0, frees + 0 }'
}

# build LIBRARY...   the known program with these; skips without them
build()
{
	${CC-gcc} -O1 -fno-builtin "$sources/known.c" -o known "$@" 2>log || not_built
}

shared()
{
	build "$1"
	record trace.hwt -- ./known
	equal "status" "$status" 0
	equal "blocks of 100" "$(blocks trace.hwt 100)" "1000 500"
	whole trace.hwt
}

case_jemalloc() { shared -ljemalloc; }
case_tcmalloc() { shared -ltcmalloc_minimal; }
case_mimalloc() { shared -lmimalloc; }

# every TRACE FACTOR   what the target allocators does, this many times
every()
{
	for size in 1201 1211 1203 1204 1205 1206 1216 4001; do
		equal "blocks of $size" "$(blocks "$1" $size)" "$((1000 * $2)) $((500 * $2))"
	done
	equal "blocks of 1202" "$(blocks "$1" 1202)" "$((1000 * $2)) $((1000 * $2))"
	whole "$1"
	equal "mismatches" "$("$HEAPWISE" findings --format json "$1" | grep -c 'mismatch')" 0
}

# static LIBRARY...   inside a program that is otherwise dynamic: recorded at the entries of its functions
static()
{
	${CXX-g++} -O1 -fno-builtin "$sources/allocators.cpp" -o all "$@" 2>log || not_built
	record trace.hwt -- ./all
	equal "status" "$status" 0
	says "$work/stderr" "the program contains its own allocator; [0-9]+ of its functions were patched"
	every trace.hwt 1
	record threads.hwt -- ./all 4
	every threads.hwt 4
	strip -o stripped all # what it offers to the C library is still named
	record stripped.hwt -- ./stripped
	every stripped.hwt 1
	record unseen.hwt --allocator none -- ./all
	says "$work/stderr" "nothing was recorded"
	says "$work/stderr" "an allocator is linked into the program.*without --allocator none"
	record named.hwt --alloc-fn malloc --free-fn free -- ./all
	equal "pool" "$(field named.hwt '.calls.pool > 0')" true
	equal "blocks of 1201" "$(blocks named.hwt 1201)" "1000 500"
}

case_static_jemalloc() { static -Wl,-Bstatic -ljemalloc -Wl,-Bdynamic -lm -lpthread -ldl; }
case_static_tcmalloc() { static -Wl,-Bstatic -ltcmalloc_minimal -Wl,-Bdynamic -lm -lpthread; }

# mimalloc_object NAME OPTION...   from the distribution's source, which the package with the library has not
mimalloc_object()
{
	local place=$HEAPWISE_BUILD_DIR/packages name=$1

	shift
	"$HEAPWISE_SOURCE_DIR/bench/debian-source" mimalloc "$place/mimalloc" 2>log || skip "cannot download the source of mimalloc"
	${CC-gcc} -O2 -w -DNDEBUG "$@" -I"$place/mimalloc/include" -c "$place/mimalloc/src/static.c" -o "$name" ||
		fail "mimalloc cannot be compiled"
}

case_static_mimalloc()
{
	mimalloc_object mimalloc.o -fPIC -DMI_MALLOC_OVERRIDE
	static mimalloc.o -lpthread
	mimalloc_object prefixed.o
	prefixed mi_ prefixed.o -lpthread
}

# prefixed PREFIX LIBRARY...   called by names of its own
prefixed()
{
	local prefix=$1

	shift
	${CC-gcc} -O1 -fno-builtin -Dmalloc="${prefix}malloc" -Dfree="${prefix}free" "$sources/known.c" -o known "$@" 2>log ||
		not_built
	record trace.hwt -- ./known
	equal "status" "$status" 0
	equal "blocks of 100" "$(blocks trace.hwt 100)" "1000 500"
	whole trace.hwt
	"$HEAPWISE" trace info trace.hwt >info
	record unseen.hwt --allocator none -- ./known
	equal "blocks of 100 without" "$(blocks unseen.hwt 100)" "0 0"
}

case_prefix_mi() { prefixed mi_ -lmimalloc; }
case_prefix_tc() { prefixed tc_ -ltcmalloc_minimal; }
case_prefix_tc_static() { prefixed tc_ -Wl,-Bstatic -ltcmalloc_minimal -Wl,-Bdynamic -lm -lstdc++ -lpthread; }

# jemalloc_as PREFIX   libje.a: as its build makes it when a prefix is asked for
jemalloc_as()
{
	local library name options=()

	library=$(${CC-gcc} -print-file-name=libjemalloc.a)
	[ -f "$library" ] || lacks libjemalloc-dev
	for name in malloc calloc realloc free posix_memalign aligned_alloc memalign valloc mallocx rallocx dallocx sdallocx; do
		options+=(--redefine-sym "$name=$1$name")
	done
	objcopy "${options[@]}" "$library" libje.a || fail "objcopy cannot rename"
}

case_prefix_je()
{
	jemalloc_as je_
	prefixed je_ libje.a -lm -lstdc++ -lpthread -ldl
}

# Forms that the C library has not; and operator new, which throws.
case_prefix_new()
{
	cat >forms.c <<'C'
#include <mimalloc.h>
int main(void)
{
	for (int i = 0; i < 1000; i++) {
		void *a = mi_new(1201), *b = mi_new_n(7, 173), *c = mi_zalloc(1253), *d = mi_realloc(mi_realloc(NULL, 1202), 4001);
		void *e = mi_strdup("a text of 22 letters.."), *f = mi_heap_malloc(mi_heap_new(), 1254), *g = NULL;
		mi_posix_memalign(&g, 64, 1255);
		if (i % 2) { mi_free(a); mi_free(b); mi_free(c); mi_free(d); mi_free(e); mi_free(f); mi_free_size(g, 1255); }
	}
	return 0;
}
C
	${CC-gcc} -O1 -fno-builtin forms.c -o forms -lmimalloc 2>log || not_built
	record forms.hwt -- ./forms
	equal "status" "$status" 0
	for size in 1201 1211 1253 4001 23 1254 1255; do
		equal "blocks of $size" "$(blocks forms.hwt $size)" "1000 500"
	done
	equal "blocks of 1202" "$(blocks forms.hwt 1202)" "1000 1000"
	whole forms.hwt
	cat >new.cpp <<'CPP'
#include <gperftools/tcmalloc.h>
#include <new>
int main()
{
	int thrown = 0;
	for (int i = 0; i < 1000; i++) {
		try { tc_new((size_t)1 << 62); } catch (const std::bad_alloc &) { thrown++; }
		void *a = tc_new(1207), *b = tc_newarray(1208);
		if (i % 2) { tc_delete(a); tc_deletearray(b); }
	}
	return thrown != 1000;
}
CPP
	${CXX-g++} -O1 new.cpp -o new -ltcmalloc_minimal 2>log || not_built
	record new.hwt -- ./new
	equal "status" "$status" 0
	equal "blocks of 1207" "$(blocks new.hwt 1207)" "1000 500"
	equal "blocks of 1208" "$(blocks new.hwt 1208)" "1000 500"
	whole new.hwt
}

# Blocks that change their size where they are, and the less usual names: of each, every second block is freed.
case_prefix_resized()
{
	cat >mi.c <<'C'
#include <mimalloc.h>
int main(void)
{
	mi_heap_t *heap = mi_heap_new();
	for (int i = 0; i < 1000; i++) {
		void *a = mi_malloc(1202), *b = mi_reallocarray(NULL, 3, 401), *c = NULL, *d = mi_zalloc_aligned_at(1204, 64, 8);
		void *e = mi_heap_alloc_new(heap, 1205), *f = mi_heap_strdup(heap, "a text of 22 letters.."), *g = mi_heap_rezalloc(heap, NULL, 1206);
		void *h = mi_heap_realloc_aligned(heap, NULL, 1207, 64), *k = mi_heap_zalloc_aligned(heap, 1208, 64);
		if (mi_expand(a, 1201) != a || mi_expand(a, 1 << 20)) return 1;
		if (mi_reallocarr(&c, 7, 171) || mi_reallocarr(&c, 7, 173) || !c) return 2;
		if (i % 2) { mi_free(a); mi_free(b); mi_free(c); mi_free(d); mi_free(e); mi_free(f); mi_free(g); mi_free(h); mi_free(k); }
	}
	return 0;
}
C
	${CC-gcc} -O1 mi.c -o mi -lmimalloc 2>log || not_built
	record mi.hwt -- ./mi
	equal "status" "$status" 0
	for size in 1201 1203 1204 1205 23 1206 1207 1208 1211; do
		equal "blocks of $size" "$(blocks mi.hwt $size)" "1000 500"
	done
	equal "blocks of 1202" "$(blocks mi.hwt 1202)" "1000 1000"
	equal "blocks of 1197" "$(blocks mi.hwt 1197)" "1000 1000"
	whole mi.hwt
	cat >je.c <<'C'
#include <jemalloc/jemalloc.h>
int main(void)
{
	for (int i = 0; i < 1000; i++) {
		void *a = mallocx(1202, 0), *b = mallocx(5000, 0);
		size_t room = xallocx(a, 1100, 101, 0);
		if (room < 1201 || xallocx(b, 5001, 0, 0) < 5001 || xallocx(a, 1 << 20, 0, 0) >= 1 << 20) return 1;
		if (i % 2) { dallocx(a, 0); sdallocx(b, 5001, 0); }
	}
	return 0;
}
C
	${CC-gcc} -O1 je.c -o je -ljemalloc 2>log || not_built
	record je.hwt -- ./je
	equal "status" "$status" 0
	for size in 1201 5001; do
		equal "blocks of $size" "$(blocks je.hwt $size)" "1000 500"
	done
	for size in 1202 5000; do
		equal "blocks of $size" "$(blocks je.hwt $size)" "1000 1000"
	done
	whole je.hwt
	cat >tc.c <<'C'
#include <stddef.h>
void *tc_new_aligned_nothrow(size_t, size_t, const void *);
void *tc_newarray_aligned_nothrow(size_t, size_t, const void *);
void tc_delete_sized_aligned(void *, size_t, size_t);
void tc_deletearray_aligned_nothrow(void *, size_t, const void *);
int main(void)
{
	for (int i = 0; i < 1000; i++) {
		void *a = tc_new_aligned_nothrow(1207, 64, "");
		void *b = tc_newarray_aligned_nothrow(1208, 64, "");
		if (i % 2) { tc_delete_sized_aligned(a, 1207, 64); tc_deletearray_aligned_nothrow(b, 64, ""); }
	}
	return 0;
}
C
	${CC-gcc} -O1 tc.c -o tc -ltcmalloc_minimal 2>log || not_built
	record tc.hwt -- ./tc
	equal "status" "$status" 0
	for size in 1207 1208; do
		equal "blocks of $size" "$(blocks tc.hwt $size)" "1000 500"
	done
	whole tc.hwt
}

# A function that cannot be recorded is named, with reason and remedy; the others are recorded.
case_refused()
{
	[ "$(uname -m)" = x86_64 ] || skip "written for x86_64"
	cat >own.c <<'C'
#include <stddef.h>
static char heap[1 << 20];
static size_t used;
void *malloc(size_t size) { void *p = heap + used; used += (size + 15) & ~(size_t)15; return p; }
volatile size_t freed;
void free(void *p) { if (p) freed = freed + 1; }
void *calloc(size_t, size_t);
__asm__(".globl calloc; .type calloc, @function; calloc: jrcxz 1f; 1: imul %rsi, %rdi; jmp malloc; .size calloc, .-calloc");
int main(void) { for (int i = 0; i < 100; i++) { free(malloc(100)); (void)*(volatile char *)calloc(3, 41); } return 0; }
C
	${CC-gcc} -O1 -fno-builtin own.c -o own 2>log || not_built
	record trace.hwt -- ./own
	equal "status" "$status" 0
	says "$work/stderr" "WARNING: calloc of the allocator linked into the program was NOT recorded: its first instructions cannot be moved; use --access valgrind"
	equal "blocks of 100" "$(blocks trace.hwt 100)" "100 100"
	"$HEAPWISE" trace info trace.hwt >info
	says info "calloc not recorded"
}

# Pools of the C++ library: their chunks are seen, and with names their objects, too.
case_libstdcxx()
{
	cat >pools.cpp <<'CPP'
#include <ext/mt_allocator.h>
#include <ext/pool_allocator.h>
#include <list>
#include <memory_resource>
struct wide { char bytes[1237 - 16]; };
template <class Allocator> static void fill()
{
	static std::list<wide, Allocator> list;
	for (int i = 0; i < 1000; i++) { list.emplace_back(); if (i % 2) list.pop_back(); }
}
static std::pmr::unsynchronized_pool_resource &pool = *new std::pmr::unsynchronized_pool_resource; // never released
int main(int argc, char **argv)
{
	if (argv[1][0] == 'p') fill<__gnu_cxx::__pool_alloc<wide>>();
	if (argv[1][0] == 'm') fill<__gnu_cxx::__mt_alloc<wide>>();
	if (argv[1][0] == 'r') {
		std::pmr::monotonic_buffer_resource buffer;
		for (int i = 0; i < 1000; i++) { void *p = pool.allocate(1237); if (i % 2) pool.deallocate(p, 1237); }
	}
	return argc != 2;
}
CPP
	${CXX-g++} -std=c++17 -O1 pools.cpp -o pools 2>log || not_built
	record pmr.hwt --allocator pmr -- ./pools r
	equal "blocks of the pool" "$(blocks pmr.hwt 1237)" "1000 500"
	record chunks.hwt -- ./pools r # without: what the pool got, at least as much as it has given
	at_least "bytes of its chunks" "$(field chunks.hwt .peak.bytes)" $((500 * 1237))
	equal "blocks without" "$(blocks chunks.hwt 1237)" "0 0"
	# Of these the function is the program's own, if it was not inlined; else its chunks are seen.
	for which in p m; do
		record $which.hwt -- ./pools $which
		at_least "bytes of the chunks of $which" "$(field $which.hwt .peak.bytes)" $((500 * 1237))
	done
}

# What nobody tells is said: by whom memory is got, and what helps.
case_own_pages()
{
	cat >own.c <<'C'
#include <string.h>
#include <sys/mman.h>
static char *heap;
static void *page_alloc(unsigned long bytes) { void *p = heap; heap += bytes; return p; }
int main(void)
{
	heap = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 48; i++)
		memset(page_alloc(1 << 20), 1, 1 << 20);
	return 0;
}
C
	${CC-gcc} -O1 own.c -o own 2>log || not_built
	record trace.hwt -- ./own
	says "$work/stderr" "memory was mapped directly and not allocated with malloc.*--mmap.*--alloc-fn"
	record mapped.hwt --mmap -- ./own
	equal "mappings" "$("$HEAPWISE" trace dump mapped.hwt | awk -v size=$((64 << 20)) '$3 == "mmap" && $5 == size' | wc -l)" 1
}

# An allocator inside a library, which keeps it for itself: some modules are seen and this one is not.
case_hidden()
{
	cat >plugin.c <<'C'
static char heap[1 << 20];
static unsigned long used;
__attribute__((visibility("hidden"), noinline)) void *malloc(unsigned long size) { void *p = heap + used; used += (size + 15) & ~15ul; return p; }
__attribute__((visibility("hidden"), noinline)) void free(void *p) { if (p) used++; used--; }
void *(*volatile before)(unsigned long) = malloc;
extern void call_back(void);
void work(void) { call_back(); for (int i = 0; i < 100; i++) { void *volatile p = malloc(1237); if (i % 2) free(p); } }
C
	printf '#include <stdlib.h>\nvoid work(void);\nvoid call_back(void) { free(malloc(1239)); }\nint main(void) { work(); return 0; }\n' >main.c
	${CC-gcc} -O1 -fno-builtin -shared -fPIC plugin.c -o libplugin.so && ${CC-gcc} -O1 -fno-builtin main.c -o main -L. -lplugin \
		-Wl,-rpath,"$work" 2>log || not_built
	record trace.hwt -- ./main
	equal "status" "$status" 0
	equal "blocks of the program" "$(blocks trace.hwt 1239)" "1 1"
	says "$work/stderr" "a library contains its own allocator.*not recorded.*--alloc-fn malloc"
	record named.hwt --alloc-fn malloc --free-fn free -- ./main
	equal "blocks with the remedy" "$(blocks named.hwt 1237)" "100 50"
	grep -q "a library contains its own allocator" "$work/stderr" && fail "it is seen, and said not to be"
}

case_musl()
{
	needs musl-gcc musl-tools
	musl-gcc -static -fno-builtin "$sources/known.c" -o known 2>log || not_built
	"$HEAPWISE" run -o trace.hwt -- ./known 2>stderr && fail "a static program was recorded"
	says stderr "statically linked.*link it dynamically"
	[ -e trace.hwt ] && fail "there is a trace"
}

case_go()
{
	needs go golang-go
	printf 'package main\nfunc main() { println(len(make([]byte, 1<<20))) }\n' >main.go
	HOME=$work GOCACHE=$work/cache GOFLAGS=-buildvcs=false CGO_ENABLED=0 go build -o static main.go 2>log ||
		not_built
	"$HEAPWISE" run -o trace.hwt -- ./static 2>stderr && fail "a static program was recorded"
	says stderr "a Go program, statically linked"
	[ -e trace.hwt ] && fail "there is a trace"
}

case_static_program()
{
	build -static
	"$HEAPWISE" run -o trace.hwt -- ./known 2>stderr && fail "a static program was recorded"
	says stderr "statically linked.*link it dynamically"
	[ -e trace.hwt ] && fail "there is a trace"
}

# pool MODULE:PACKAGE HEAD MAKE FREE [OPTION...]   records 1,000 blocks of which every second is freed
pool()
{
	local module=${1%:*} package=${1#*:} head=$2 make=$3 freeing=$4 flags

	shift 4
	needs pkg-config
	flags=$(pkg-config --cflags --libs "$module" 2>/dev/null) || lacks "$package"
	printf '%s\nint main(void) { START for (int i = 0; i < 1000; i++) { void *p = %s; if (i %% 2 && p) { %s; } } return 0; }\n' \
		"$head" "$make" "$freeing" >pool.c
	${CC-gcc} -O1 pool.c -o pool $flags 2>log || not_built
	record trace.hwt "$@" -- ./pool
	equal "status" "$status" 0
	grep "NOT recorded" "$work/stderr" && fail "a function was not recorded"
}

case_boehm()
{
	local head='#include <gc.h>
#define START GC_INIT();'

	pool bdw-gc:libgc-dev "$head" 'GC_malloc(1237)' 'GC_free(p)' --alloc-fn GC_malloc --free-fn GC_free
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 500"
	pool bdw-gc:libgc-dev "$head" 'GC_malloc(1237)' 'GC_free(p)' --allocator boehm
	equal "blocks by --allocator" "$(blocks trace.hwt 1237)" "1000 500"
	grep -q "Boehm collector" "$work/stderr" && fail "it is seen, and said not to be"
	pool bdw-gc:libgc-dev "$head" 'GC_malloc(1237)' 'GC_free(p)'
	says "$work/stderr" "Boehm collector.*--allocator boehm"
}

case_glib()
{
	pool glib-2.0:libglib2.0-dev '#include <glib.h>
#define START' 'g_malloc(1237)' 'g_free(p)'
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 500"
}

case_talloc()
{
	pool talloc:libtalloc-dev '#include <talloc.h>
#define START void *pool = talloc_new(NULL);' 'talloc_size(pool, 1237)' 'talloc_free(p)' \
		--alloc-fn talloc_named_const:2 --free-fn _talloc_free
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 500"
	record preset.hwt --allocator talloc -- ./pool
	equal "blocks by --allocator" "$(blocks preset.hwt 1237)" "1000 500"
}

case_apr()
{
	pool apr-1:libapr1-dev '#include <apr_general.h>
#include <apr_pools.h>
#define START apr_pool_t *pool; apr_initialize(); apr_pool_create(&pool, NULL);' 'apr_palloc(pool, 1237)' '(void)0' \
		--alloc-fn apr_palloc:2
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 0"
	record preset.hwt --allocator apr -- ./pool
	equal "blocks by --allocator" "$(blocks preset.hwt 1237)" "1000 0"
}

# operator new of a linked tcmalloc
case_operators()
{
	printf 'int main() { for (int i = 0; i < 1000; i++) { char *volatile p = new char[1237]; if (i %% 2) delete[] p; } }\n' >new.cpp
	${CXX-g++} -O1 new.cpp -o new -ltcmalloc_minimal 2>log || not_built
	record trace.hwt -- ./new
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 500"
	equal "new[]" "$("$HEAPWISE" trace dump trace.hwt | awk '$3 == "new_array" && $5 == 1237' | wc -l)" 1000
}

# A Rust program whose global allocator is jemalloc, by the functions and the prefix of the crate jemallocator.
case_rust_jemalloc()
{
	needs rustc
	jemalloc_as _rjem_
	cat >known.rs <<'RUST'
use std::alloc::{GlobalAlloc, Layout};
extern "C" {
	fn _rjem_mallocx(size: usize, flags: i32) -> *mut u8;
	fn _rjem_rallocx(p: *mut u8, size: usize, flags: i32) -> *mut u8;
	fn _rjem_sdallocx(p: *mut u8, size: usize, flags: i32);
}
struct Jemalloc;
unsafe impl GlobalAlloc for Jemalloc {
	unsafe fn alloc(&self, layout: Layout) -> *mut u8 { _rjem_mallocx(layout.size(), 0) }
	unsafe fn realloc(&self, p: *mut u8, _: Layout, size: usize) -> *mut u8 { _rjem_rallocx(p, size, 0) }
	unsafe fn dealloc(&self, p: *mut u8, layout: Layout) { _rjem_sdallocx(p, layout.size(), 0) }
}
#[global_allocator]
static GLOBAL: Jemalloc = Jemalloc;
#[inline(never)]
fn make_row(n: usize) -> Vec<u8> { let mut row = vec![n as u8; 1234]; row.reserve_exact(2000); row }
fn main() {
	let mut kept = Vec::with_capacity(300);
	for n in 0..1000 { let row = make_row(n); if n < 300 { kept.push(row); } }
	println!("{}", kept.iter().map(|r| r[7] as usize).sum::<usize>());
	std::mem::forget(kept);
}
RUST
	rustc -O -g known.rs -C link-arg=libje.a -C link-arg=-lm -C link-arg=-lstdc++ -C link-arg=-lc -C link-arg=-lgcc 2>log || not_built
	"$HEAPWISE" run -o trace.hwt -- ./known >/dev/null 2>stderr || fail "status $?"
	equal "blocks of 1234" "$(blocks trace.hwt 1234)" "1000 1000"
	equal "blocks of 3234" "$(blocks trace.hwt 3234)" "1000 700"
	"$HEAPWISE" report --depth 0 trace.hwt >report
	says report "known::make_row"
}

case_rust()
{
	needs rustc
	cat >known.rs <<'RUST'
#[inline(never)]
fn make_row(n: usize) -> Vec<u8> { vec![n as u8; 1234] }
fn main() {
	let mut kept = Vec::with_capacity(300);
	for n in 0..1000 { let row = make_row(n); if n < 300 { kept.push(row); } }
	println!("{}", kept.iter().map(|r| r[7] as usize).sum::<usize>());
	std::mem::forget(kept);
}
RUST
	rustc -O -g known.rs 2>log || not_built
	"$HEAPWISE" run -o trace.hwt -- ./known >/dev/null 2>stderr || fail "status $?"
	equal "blocks of 1234" "$(blocks trace.hwt 1234)" "1000 700"
	"$HEAPWISE" report --depth 0 trace.hwt >report
	says report "known::make_row"
	grep -qE '_ZN|_R[A-Z]' report && fail "a name is not demangled"
}

case_fortran()
{
	needs gfortran
	cat >known.f90 <<'FORTRAN'
module rows
contains
  subroutine fill(n)
    integer, intent(in) :: n
    real(8), allocatable :: row(:)
    real(8), pointer :: kept(:)
    allocate(row(157))
    row = n
    if (mod(n, 4) == 0) then
      allocate(kept(163))
      kept = row(1)
    end if
    if (sum(row) < -1) print *, row
    deallocate(row)
  end subroutine
end module
program known
  use rows
  integer :: n
  do n = 1, 1000
    call fill(n)
  end do
end program
FORTRAN
	gfortran -O0 -g known.f90 -o known 2>log || not_built
	"$HEAPWISE" run -o trace.hwt -- ./known >/dev/null 2>stderr || fail "status $?"
	equal "blocks of row" "$(blocks trace.hwt $((157 * 8)))" "1000 1000"
	equal "blocks of kept" "$(blocks trace.hwt $((163 * 8)))" "250 0"
	"$HEAPWISE" report --depth 0 trace.hwt >report
	says report "fill"
}

run_case "$1"
finish
