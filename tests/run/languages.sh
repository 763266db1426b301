#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# languages.sh CASE   names of other languages, and their libraries folded in mprof and passed over by findings
. "$(dirname "$0")/lib.sh"
sources=$HEAPWISE_SOURCE_DIR/tests/targets
cd "$work" || exit 1

# recorded PROGRAM   runs it and keeps what mprof and findings say
recorded()
{
	rm -f trace.hwt
	"$HEAPWISE" run -q -o trace.hwt "$1" >/dev/null 2>stderr || fail "status $?: $(cat stderr)"
	"$HEAPWISE" export --to folded -m allocs trace.hwt >folded 2>stderr
	direct >direct
	"$HEAPWISE" findings --all --top 0 --format json trace.hwt 2>stderr | jq -r '.findings[].function' >places || fail "findings: $(cat stderr)"
}

# direct [OPTION...]   functions that mprof says allocate
direct() { "$HEAPWISE" mprof --table direct --format json "$@" trace.hwt 2>stderr | jq -r '.. | objects | .name? // empty'; }

# Functions have the names that people wrote, and who calls __gnat_malloc allocates.
case_ada()
{
	local options

	needs gnatmake gnat
	for options in -g -g0; do
		gnatmake -q -f "$options" "-aI$sources/languages" leaks.adb -o leaks 2>log || { fail "not built: $(head -3 log)"; return; }
		recorded ./leaks
		says folded ';leaks;store\.leak;__gnat_malloc '
		says folded ';leaks;store\.leak;store\.leak\.nested;__gnat_malloc '
		says folded ';leaks;store\.inner\."\+";__gnat_malloc '
		grep -q '__' <(sed 's/__gnat_malloc//g; s/__libc_[a-z_]*//g' folded) && fail "$options: names are not decoded: $(grep -m1 __ folded)"
		says direct 'store\.leak\.nested'
		grep gnat_malloc direct && fail "$options: __gnat_malloc is no wrapper"
		says places '^store\.leak'
		grep gnat places && fail "$options: a finding is about __gnat_malloc"
	done
	# an instance of Ada's own generic package is Ada's, if lines tell
	gnatmake -q -f -g "-aI$sources/languages" leaks.adb -o leaks 2>log
	recorded ./leaks
	says direct 'store\.numbers\.append'
	"$HEAPWISE" mprof --table bins trace.hwt >bins 2>stderr
	says bins "^ +56 .* store\\.node"
	grep 'store\.numbers\.insert' direct && fail "functions of a generic package are not folded"
}

# What the runtime library allocates is the caller's, and its functions are one.
case_fortran()
{
	needs gfortran
	gfortran -g -O1 "$sources/languages/known.f90" -o known 2>log || { fail "not built: $(head -3 log)"; return; }
	recorded ./known
	says folded ';fill;_gfortran_st_open;libgfortran'
	says direct '_gfortran_st_open'
	says direct '^fill$'
	equal "rows of the runtime library" "$(grep -c 'libgfortran' direct)" 1 # what it allocates before main
	says places '^fill$'
	grep gfortran places && fail "a finding is about the runtime library"
	direct --no-fold >plain
	at_least "rows of the runtime library without folding" "$(grep -c 'libgfortran' plain)" 2
}

# Of Rust's library only the outermost function stays, with each kind of linker names.
case_rust()
{
	local options

	needs rustc
	for options in "-O" "-O -C symbol-mangling-version=v0"; do
		# shellcheck disable=SC2086
		rustc -g $options -o forms "$sources/types_forms.rs" 2>log || { fail "not built: $(grep -m3 error log)"; return; }
		recorded ./forms
		says direct 'alloc::(vec::)?Vec<types_forms::Point>>?::push'
		grep -E 'RawVec|RawTable|alloc_impl|finish_grow|alloc::alloc::|__rust|exchange_malloc' direct && fail "'$options': Rust's library is not folded"
		says places '^types_forms::vectors'
		grep -E '^(alloc|core|hashbrown)::|^<' places && fail "'$options': a finding is about Rust's library"
	done
}

run_case "$1"
finish
