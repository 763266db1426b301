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
