#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# allocators.sh CASE   other allocators than the C library's, and other languages: counts are exact, or the user is told.
. "$(dirname "$0")/lib.sh"
sources=$(cd "$(dirname "$0")/../targets" && pwd)
cd "$work" || exit 1

# blocks TRACE SIZE   "allocations frees" of blocks of this size
blocks()
{
	"$HEAPWISE" dump "$1" | awk -v size="$2" '$1 !~ /^#/ && $5 == size {
		if ($3 ~ /free|delete/) frees++; else allocs++ } END { print allocs + 0, frees + 0 }'
}

# build LIBRARY...   the known program with these; skips without them
build()
{
	${CC-gcc} -O1 -fno-builtin "$sources/known.c" -o known "$@" 2>log || skip "cannot link $*: $(head -1 log)"
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

# static LIBRARY...   inside a program that is otherwise dynamic: said, and seen with the remedy
static()
{
	build "$@"
	record trace.hwt -- ./known
	equal "status" "$status" 0
	says "$work/stderr" "nothing was recorded"
	says "$work/stderr" "an allocator is linked into the program.*--alloc-fn malloc --free-fn free"
	record remedy.hwt --alloc-fn malloc --free-fn free -- ./known
	equal "blocks of 100" "$(blocks remedy.hwt 100)" "1000 500"
	grep "an allocator is linked" "$work/stderr" && fail "it is seen, and said not to be"
}

case_static_jemalloc() { static -Wl,-Bstatic -ljemalloc -Wl,-Bdynamic -lm -lstdc++ -lpthread -ldl; }
case_static_tcmalloc() { static -Wl,-Bstatic -ltcmalloc_minimal -Wl,-Bdynamic -lm -lstdc++ -lpthread; }

case_static_program()
{
	build -static
	"$HEAPWISE" run -o trace.hwt -- ./known 2>stderr && fail "a static program was recorded"
	says stderr "statically linked.*link it dynamically"
	[ -e trace.hwt ] && fail "there is a trace"
}

# pool PACKAGE HEAD MAKE FREE [OPTION...]   records 1,000 blocks of which every second is freed
pool()
{
	local packages=$1 head=$2 make=$3 freeing=$4 flags

	shift 4
	flags=$(pkg-config --cflags --libs "$packages" 2>/dev/null) || skip "$packages is not installed"
	printf '%s\nint main(void) { START for (int i = 0; i < 1000; i++) { void *p = %s; if (i %% 2 && p) { %s; } } return 0; }\n' \
		"$head" "$make" "$freeing" >pool.c
	${CC-gcc} -O1 pool.c -o pool $flags 2>log || skip "cannot link $packages: $(head -1 log)"
	record trace.hwt "$@" -- ./pool
	equal "status" "$status" 0
	grep "NOT recorded" "$work/stderr" && fail "a function was not recorded"
}

case_boehm()
{
	local head='#include <gc.h>
#define START GC_INIT();'

	pool bdw-gc "$head" 'GC_malloc(1237)' 'GC_free(p)' --alloc-fn GC_malloc --free-fn GC_free
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 500"
	pool bdw-gc "$head" 'GC_malloc(1237)' 'GC_free(p)'
	says "$work/stderr" "Boehm collector.*--alloc-fn GC_malloc"
}

case_glib()
{
	pool glib-2.0 '#include <glib.h>
#define START' 'g_malloc(1237)' 'g_free(p)'
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 500"
}

case_talloc()
{
	pool talloc '#include <talloc.h>
#define START void *pool = talloc_new(NULL);' 'talloc_size(pool, 1237)' 'talloc_free(p)' \
		--alloc-fn talloc_named_const:2 --free-fn _talloc_free
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 500"
}

case_apr()
{
	pool apr-1 '#include <apr_general.h>
#include <apr_pools.h>
#define START apr_pool_t *pool; apr_initialize(); apr_pool_create(&pool, NULL);' 'apr_palloc(pool, 1237)' '(void)0' \
		--alloc-fn apr_palloc:2
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 0"
}

# operator new of a linked tcmalloc
case_operators()
{
	printf 'int main() { for (int i = 0; i < 1000; i++) { char *volatile p = new char[1237]; if (i %% 2) delete[] p; } }\n' >new.cpp
	${CXX-g++} -O1 new.cpp -o new -ltcmalloc_minimal 2>log || skip "cannot link tcmalloc: $(head -1 log)"
	record trace.hwt -- ./new
	equal "blocks" "$(blocks trace.hwt 1237)" "1000 500"
	equal "new[]" "$("$HEAPWISE" dump trace.hwt | awk '$3 == "new_array" && $5 == 1237' | wc -l)" 1000
}

case_rust()
{
	command -v rustc >/dev/null || skip "rustc is not installed"
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
	rustc -O -g known.rs 2>log || skip "rustc does not link here: $(head -1 log)"
	"$HEAPWISE" run -o trace.hwt -- ./known >/dev/null 2>stderr || fail "status $?"
	equal "blocks of 1234" "$(blocks trace.hwt 1234)" "1000 700"
	"$HEAPWISE" report --depth 0 trace.hwt >report
	says report "known::make_row"
	grep -qE '_ZN|_R[A-Z]' report && fail "a name is not demangled"
}

case_fortran()
{
	command -v gfortran >/dev/null || skip "gfortran is not installed"
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
	gfortran -O0 -g known.f90 -o known 2>log || skip "gfortran does not link here: $(head -1 log)"
	"$HEAPWISE" run -o trace.hwt -- ./known >/dev/null 2>stderr || fail "status $?"
	equal "blocks of row" "$(blocks trace.hwt $((157 * 8)))" "1000 1000"
	equal "blocks of kept" "$(blocks trace.hwt $((163 * 8)))" "250 0"
	"$HEAPWISE" report --depth 0 trace.hwt >report
	says report "fill"
}

run_case "$1"
finish
