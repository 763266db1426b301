#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tools.sh layers|circles|dead|style|words|imports|protection|stack|skips|tarball   plants violations in a copy and expects the check to find each.
# tools.sh protection-linked COMPILER   what is linked with our objects keeps the notes that it has without them.
# tools.sh deps      install-deps takes no sources for packages, and no newer compiler from another release.
# tools.sh parts     configures with parts that cannot be built: they are listed, looked for again, and an error where asked for.
# tools.sh packages   every package of a build has its names in other distributions, which install-deps prints there.
# tools.sh without   configures without optional parts, one by one; tools.sh without-built also builds and tests that.
. "$(dirname "$0")/lib.sh"
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
source=$tools/..

# passes COMMAND..., finds TEXT COMMAND...
passes()
{
	"$@" >"$work/out" 2>&1 || { fail "$1 complains about a clean tree:"; cat "$work/out"; }
}

finds()
{
	local text=$1 found

	shift
	"$@" >"$work/out" 2>&1
	found=$?
	equal "status of $1 with a violation" "$found" 1
	says "$work/out" "$text"
}

test_layers()
{
	mkdir "$work/tree"
	cp -r "$source/src" "$work/tree/src"
	passes "$tools/check-layers" "$work/tree"
	echo '#include "live/launch/run.h"' >"$work/tree/src/host/trace/planted.c"
	finds "trace may not include live/launch/run.h" "$tools/check-layers" "$work/tree"
	echo '#include "host/base/err.h"' >"$work/tree/src/target/recorder/state/planted.c"
	finds "target/recorder/state may not include host/base/err.h" "$tools/check-layers" "$work/tree"
	rm "$work/tree/src/host/trace/planted.c" "$work/tree/src/target/recorder/state/planted.c"
	mkdir "$work/tree/src/cellar"
	echo "int cellar;" >"$work/tree/src/cellar/planted.c"
	finds "cellar has no line" "$tools/check-layers" "$work/tree"
	rm -r "$work/tree/src/cellar"
	echo '#include "nowhere/near.h"' >"$work/tree/src/host/base/planted.c"
	finds "in no room" "$tools/check-layers" "$work/tree"
	rm "$work/tree/src/host/base/planted.c"
	printf '#if defined(__aarch64__)\nint planted;\n#endif\n' >"$work/tree/src/host/base/planted.c"
	finds "planted.c:1: a condition on the CPU" "$tools/check-layers" "$work/tree"
	rm "$work/tree/src/host/base/planted.c"
	sed -i 's|^host/base:|host/base: show/cli|' "$work/tree/src/LAYERS"
	finds "host/base names show/cli" "$tools/check-layers" "$work/tree"
}

test_tarball()
{
	local tree=$work/tree

	mkdir -p "$tree/lib"
	echo 'int one(void) { return 1; }' >"$work/one.c"
	echo 'int one(void); int two(void) { return one(); }' >"$work/two.c"
	cc -shared -fPIC -nostdlib -Wl,-soname,libone.so.1 -o "$tree/lib/libone.so.1" "$work/one.c"
	cc -shared -fPIC -nostdlib -o "$tree/lib/libtwo.so" "$work/two.c" "$tree/lib/libone.so.1"
	passes "$tools/check-tarball" "$tree"
	rm "$tree/lib/libone.so.1"
	finds "lib/libtwo.so needs libone.so.1, which is not inside" "$tools/check-tarball" "$tree"
	rm "$tree/lib/libtwo.so"
	finds "no programs" "$tools/check-tarball" "$tree"
	# A C library of the future, and a program that wants a function of it.
	echo 'GLIBC_2.28 { one; }; GLIBC_2.99 { two; };' >"$work/versions"
	echo 'int one(void) { return 1; } int two(void) { return 2; }' >"$work/libc.c"
	echo 'int one(void); int two(void); int three(void) { return one() + two(); }' >"$work/three.c"
	cc -shared -fPIC -nostdlib -Wl,-soname,libc.so.6,--version-script="$work/versions" -o "$work/libc.so.6" "$work/libc.c"
	cc -shared -fPIC -nostdlib -o "$tree/lib/libthree.so" "$work/three.c" "$work/libc.so.6"
	finds "lib/libthree.so needs glibc 2.99: two$" "$tools/check-tarball" "$tree"
}

# The names of other distributions' packages: every one of a build has a row, and the machine's own packager gets its column.
test_packages()
{
	local package packager

	for package in $("$tools/install-deps" --print build); do
		grep -q "^|[^|]*| $package |" "$source/docs/PACKAGES.md" || fail "$package has no row in docs/PACKAGES.md"
	done
	for packager in dnf pacman apk zypper; do
		mkdir -p "$work/$packager"
		for program in sh dirname uname sed tr awk grep cat; do
			ln -s "$(command -v $program)" "$work/$packager/$program"
		done
		printf '#!/bin/sh\n' >"$work/$packager/$packager"
		chmod +x "$work/$packager/$packager"
		PATH=$work/$packager "$tools/install-deps" build >"$work/out" 2>&1 || fail "status $? with $packager"
		grep -q "not Debian" "$work/out" && fail "$packager: names of Debian"
		cat "$work/out"
	done >"$work/all"
	says "$work/all" "dnf install gcc gcc-c\+\+ .*elfutils-devel"
	says "$work/all" "pacman -S --needed gcc make .*libelf"
	says "$work/all" "apk add gcc g\+\+ .*elfutils-dev"
	says "$work/all" "zypper install gcc gcc-c\+\+ .*libdw-devel"
}

test_circles()
{
	local base=$work/tree/src/host/base

	mkdir "$work/tree"
	cp -r "$source/src" "$work/tree/src"
	passes "$tools/check-layers" "$work/tree"
	# One of three, through a header and a source.
	echo '#include "host/base/planted_b.h"' >"$base/planted_a.h"
	echo '#include "host/base/planted_c.h"' >"$base/planted_b.c"
	echo 'int planted;' >"$base/planted_b.h"
	printf '\n#include "host/base/planted_a.h"\n' >"$base/planted_c.h"
	finds "circle of 3 units: host/base/planted_a host/base/planted_b host/base/planted_c" "$tools/check-layers" "$work/tree"
	says "$work/out" "host/base/planted_c.h:2 includes host/base/planted_a"
}

test_dead()
{
	local source=$work/tree/src

	needs cc gcc
	# check_dead EXCEPTIONS   of a tree of two sources and a header, as they are now
	check_dead()
	{
		for name in a b; do
			cc -O2 -fvisibility=hidden -c "$source/$name.c" -o "$source/$name.c.o" || return 2
		done
		"$tools/check-dead" "$work/objects" "$work/tree" "$1"
	}
	mkdir -p "$source"
	printf "%s\n" "$source/a.c.o" "$source/b.c.o" >"$work/objects"
	echo 'static inline int twice(int x) { return 2 * x; }' >"$source/b.h"
	printf '%s\n' 'int called(void);' 'int main(void) { return called(); }' \
		'__attribute__((visibility("default"))) int seen(void) { return 1; }' >"$source/a.c"
	printf '%s\n' '#include "b.h"' 'int near(void) { return twice(2); }' 'int called(void) { return near(); }' >"$source/b.c"
	passes check_dead /dev/null
	echo 'int alone(void) { return 2; } /* alone */' >>"$source/b.c"
	finds "src/b.c:4: nothing calls alone$" check_dead /dev/null
	echo 'alone # why' >"$work/list"
	passes check_dead "$work/list"
	echo 'called # why' >>"$work/list"
	finds "list:2: called is not dead" check_dead "$work/list"
	echo 'alone' >"$work/list"
	finds "list:1: no reason" check_dead "$work/list"
	printf '\nstatic inline int thrice(int x) { return 3 * x; }\n' >>"$source/b.h"
	finds "src/b.h:3: nothing calls thrice" check_dead "$work/list"
}

test_style()
{
	local source=$work/tree/src i

	needs python3
	needs clang-format-14
	mkdir -p "$source" "$work/tree/tools"
	cp "$tools/../.clang-format" "$work/tree/"
	echo 'int f(int a, int (*b)(int, int), int c) { return a + b(a, c); }' >"$source/clean.c"
	printf 'const char text[] =\n\t"a line that is printed as it stands %080d\\n"\n\t"another";\n' 0 >"$source/text.c"
	passes "$tools/check-style" "$work/tree"
	printf 'int  g;\n' >"$source/planted.c"
	finds "src/planted.c:1: clang-format" "$tools/check-style" "$work/tree"
	printf '/* %0100d */\n' 0 >"$source/planted.c"
	finds "src/planted.c:1: 106 columns" "$tools/check-style" "$work/tree"
	for i in $(seq 601); do echo "int v$i;"; done >"$source/planted.c"
	finds "src/planted.c:601: 601 lines" "$tools/check-style" "$work/tree"
	printf 'static int many(int a, int b, int c, int d,\n\t\tint e, int f)\n{\n\treturn a;\n}\n' >"$source/planted.c"
	finds "src/planted.c:1: many has 6 parameters" "$tools/check-style" "$work/tree"
	clang-format-14 -i --style=file "$source/planted.c"
	echo 'parameters many # why' >>"$work/tree/tools/style-exceptions"
	passes "$tools/check-style" "$work/tree"
	echo 'lines planted.c # why' >>"$work/tree/tools/style-exceptions"
	finds "lines planted.c is no exception any more" "$tools/check-style" "$work/tree"
	echo 'lines planted.c' >>"$work/tree/tools/style-exceptions"
	finds "expected RULE NAME # reason" "$tools/check-style" "$work/tree"
}

test_words()
{
	mkdir "$work/tree"
	echo "int clean; /* network/route/home */" >"$work/tree/clean.c"
	passes "$tools/check-words" "$work/tree"
	for line in "// TO""DO: later" "/* FIX""ME */" "path = /ro""ot/x" "see /ho""me/me/x" "cd /wo""rk/x" "<<<<<<""< HEAD"; do
		echo "$line" >"$work/tree/planted.c"
		finds "planted.c:1" "$tools/check-words" "$work/tree"
	done
	# A phrase that users should not read, across two lines of a sentence; what code compares with is none.
	needs python3
	mkdir -p "$work/tree/src/study/analysis/findings"
	printf 'int f(const char *s) { return strcmp(s, "a does not go with b"); }\n' >"$work/tree/src/study/analysis/findings/finding_planted.c"
	rm "$work/tree/planted.c"
	passes "$tools/check-words" "$work/tree"
	printf '\nconst char *text = "this point does not "\n\t"go with %%s";\n' >>"$work/tree/src/study/analysis/findings/finding_planted.c"
	finds "finding_planted.c:3" "$tools/check-words" "$work/tree"
	passes "$tools/check-words" --count "$work/tree"
	says "$work/out" "^findings: 1 of 1 sentences"
	passes "$tools/check-words" --list findings "$work/tree"
	says "$work/out" "this point does not go with %s$"
}

test_imports()
{
	printf 'void *hook(unsigned long n);\nvoid *malloc(unsigned long);\nint puts(const char *);\n%s\n' \
		'void *hook(unsigned long n) { puts("x"); return malloc(n); }' >"$work/planted.c"
	needs cc gcc
	cc -shared -fPIC -fno-builtin "$work/planted.c" -o "$work/planted.so" || fail "cc cannot build planted.c"
	nm -D --undefined-only "$work/planted.so" | awk '{ sub(/@.*/, "", $NF); print $NF }' >"$work/all"
	passes "$tools/check-imports" "$work/planted.so" "$work/all"
	grep -v '^puts$' "$work/all" >"$work/list"
	finds "puts" "$tools/check-imports" "$work/planted.so" "$work/list"
	finds "puts" "$tools/check-imports" "$work/planted.so"
}

# The options that make all the notes which the compiler knows of.
protection()
{
	if "$1" -fcf-protection=full -E -x c /dev/null >/dev/null 2>&1; then
		echo -fcf-protection=full
	else
		echo -mbranch-protection=standard
	fi
}

test_protection()
{
	local options name

	needs cc gcc
	options=$(protection cc)
	echo "int one(void); int one(void) { return 1; }" >"$work/one.c"
	for name in with without; do
		[ $name = with ] || options=${options%=*}=none
		cc $options -fPIC -c "$work/one.c" -o "$work/$name.o" || fail "cc cannot build one.c"
		cc -shared -nostartfiles "$work/with.o" "$work/$name.o" -Wl,-z,muldefs -o "$work/$name.so" || fail "cc cannot link $name.so"
	done
	ar rc "$work/with.a" "$work/with.o"
	ar rc "$work/without.a" "$work/with.o" "$work/without.o"
	passes "$tools/check-protection" cc "$work/with.o" "$work/with.so" "$work/with.a" "$work/without.so:$work/without.a"
	for name in without.o without.so without.a "without.so:$work/with.a"; do
		finds "${name%%:*} does not say that it keeps to" "$tools/check-protection" cc "$work/with.o" "$work/$name"
	done
}

# Without start files and libraries of others, of which some have no notes.
test_protection_linked()
{
	local compiler=$1 name kind

	cat >"$work/user.c" <<-'END'
	#include <stdlib.h>
	void *user(size_t size);
	void *user(size_t size) { return malloc(size); }
	END
	"$compiler" "$(protection "$compiler")" -O1 -fPIC -c "$work/user.c" -o "$work/user.o" || fail "$compiler cannot compile user.c"
	for name in program-gcc program-clang library-gcc library-clang plain; do
		kind=-shared
		case $name in program-*) kind=-Wl,-e,user ;; esac
		"$compiler" $kind -nostartfiles "$work/user.o" "$HEAPWISE_BUILD_DIR/heapwise-stub-$name.o" -o "$work/$name.so" ||
			fail "$compiler cannot link the stub $name"
		passes "$tools/check-protection" "$compiler" "$work/$name.so"
	done
	"$compiler" -shared -nostartfiles "$work/user.o" "$HEAPWISE_BUILD_DIR/libheapwise.a" -Wl,-u,malloc -o "$work/linked.so" ||
		fail "$compiler cannot link libheapwise.a"
	nm "$work/linked.so" | grep -q hwr_thunk || fail "libheapwise.a is not linked in"
	passes "$tools/check-protection" "$compiler" "$work/linked.so"
}

test_stack()
{
	mkdir "$work/objects"
	printf 'a.c:1:1:small\t48\tstatic\na.c:9:1:listed\t700\tstatic\n' >"$work/objects/a.su"
	echo "listed 768 # why" >"$work/list"
	passes "$tools/check-stack" "$work/objects" "$work/list"
	finds "listed" "$tools/check-stack" "$work/objects" /dev/null
	printf 'a.c:1:1:large\t513\tstatic\n' >"$work/objects/b.su"
	finds "large uses 513" "$tools/check-stack" "$work/objects" "$work/list"
	printf 'a.c:1:1:listed\t1040\tstatic\n' >"$work/objects/b.su"
	echo "listed 2000" >"$work/generous"
	finds "listed uses 1040" "$tools/check-stack" "$work/objects" "$work/generous"
	printf 'a.c:1:1:variable\t64\tdynamic\n' >"$work/objects/b.su"
	finds "unknown size" "$tools/check-stack" "$work/objects" "$work/list"
}

# planted NAME COMMAND   a test of its own, for ctest
planted()
{
	printf 'add_test(%s sh -c [==[%s]==])\nset_tests_properties(%s PROPERTIES SKIP_RETURN_CODE 77)\n' "$1" "$2" "$1" >>"$work/tests/CTestTestfile.cmake"
}

# run_planted VARIABLE=VALUE [ctest options]   where the distribution has bash and valgrind
run_planted()
{
	env -u CI -u HEAPWISE_ALL_PARTS "$1" PATH="$work/bin:$PATH" "$tools/run-tests" "$work/tests" "${@:2}"
}

test_skips()
{
	local strict

	mkdir "$work/bin" "$work/tests"
	printf '#!/bin/sh\nfor name; do case $name in bash | valgrind) echo "$name | 1 | here main Packages" ;; esac; done\n' >"$work/bin/apt-cache"
	chmod +x "$work/bin/apt-cache"
	planted machine 'echo "skipped: needs root"; exit 77'
	planted part 'echo "# skipped: this kernel maps no vdso" >&2'
	planted elsewhere 'echo "skipped: needs package chromium-headless-shell"; exit 77'
	for strict in CI=false CI=true HEAPWISE_ALL_PARTS=1; do
		passes run_planted $strict
		says "$work/out" '^skipped: needs root \[machine\]$'
		says "$work/out" '^skipped: this kernel maps no vdso \[part\]$'
		says "$work/out" '^skipped: needs package chromium-headless-shell \[elsewhere\]$'
	done
	planted package 'echo "skipped: needs package valgrind"; exit 77'
	passes run_planted CI=false
	says "$work/out" "want of packages; install valgrind$"
	for strict in CI=true HEAPWISE_ALL_PARTS=1; do
		finds '^skipped: needs package valgrind \[package\]$' run_planted $strict
		says "$work/out" "want of packages; install valgrind$"
	done
	# Of a test that fails as well, and passes alone.
	planted again '[ -e again ] || { touch again; exit 1; }'
	finds "passed only in the second run, alone: again" run_planted CI=true
	says "$work/out" '^skipped: needs package valgrind \[package\]$'
	# What failed before is not what is run now: there is nothing to run.
	echo "2:part:1" >"$work/tests/Testing/Temporary/LastTestsFailed.log"
	run_planted CI=false -R nonsense >"$work/out" 2>&1 && fail "no test is run, and that passes"
	sed -i '/valgrind\|package /d' "$work/tests/CTestTestfile.cmake"
	planted fetched 'echo "skipped: cannot download the source of it"; exit 77'
	passes run_planted HEAPWISE_ALL_PARTS=1
	finds "1 downloads failed" run_planted CI=true
	sed -i '/fetched/d' "$work/tests/CTestTestfile.cmake"
	planted silent 'exit 77'
	finds '^skipped: no reason given \[silent\]$' run_planted CI=true
}

# configure STATUS [VARIABLE=VALUE...] [OPTION...]   what cmake says is in $work/out
configure()
{
	local wanted=$1 environment=()

	shift
	while [ $# -gt 0 ] && [[ $1 != -* ]]; do environment+=("$1"); shift; done
	env -u CI -u HEAPWISE_ALL_PARTS "${environment[@]}" cmake -S "$source" -B "$work/build" -G Ninja -DHEAPWISE_TESTS=OFF "$@" \
		--log-level=NOTICE >"$work/out" 2>&1
	equal "status of configuring with '${environment[*]} $*'" "$?" "$wanted"
}

# left_out NAME REASON   as cmake lists it, and doctor will
left_out()
{
	says "$work/out" "^  not built +$1 \($2"
	says "$work/build/generated/show/cli/parts.inc" "^PART\(\"$1\", 0, "
}

# What apt has besides: sources, which may have the names of packages, and packages of another release.
test_deps()
{
	local own

	own=$(. /etc/os-release && echo "${VERSION_CODENAME:-own}")
	mkdir "$work/bin"
	cat >"$work/bin/apt-cache" <<-END
	#!/bin/sh
	[ "\$1" != pkgnames ] || { printf 'clang-14\nclang-22\nclang-23\n'; exit; }
	for name; do
		case \$name in
		bash | clang-14 | clang-22) echo "\$name | 1 | somewhere $own/main amd64 Packages" ;;
		clang-23) echo "\$name | 1 | somewhere another/main amd64 Packages" ;;
		llvm-toolchain-14) echo "\$name | 1 | somewhere $own/main Sources" ;;
		esac
	done
	END
	chmod +x "$work/bin/apt-cache"
	PATH=$work/bin:$PATH "$tools/install-deps" --print test | tr ' ' '\n' >"$work/out"
	equal "newest clang" "$(grep -x 'clang-2[0-9]' "$work/out")" clang-22
	equal "packages" "$(PATH=$work/bin:$PATH "$tools/install-deps" --offered bash llvm-toolchain-14)" bash
}

test_parts()
{
	local variable

	mkdir -p "$work/ecl/ecl"
	# A package on which the part's own does not depend is missing.
	echo "#include <absent/atomic_ops.h>" >"$work/ecl/ecl/ecl.h"
	configure 0 -DHEAPWISE_ECL_INCLUDE="$work/ecl" -DHEAPWISE_MUSL_CC=OFF
	left_out "run --lisp ecl" "install .*libatomic-ops-dev"
	left_out "recording of musl programs" "install musl-tools"
	says "$work/out" "^  (not )?built  +types-index"
	says "$work/out" "^  (not )?built  +run --access valgrind"
	for variable in CI=true HEAPWISE_ALL_PARTS=1; do
		configure 1 "$variable"
		says "$work/out" "^  run --lisp ecl: not built; install .*libecl-dev"
		says "$work/out" "^  recording of musl programs: not built; install musl-tools"
	done
	# Its version does not fit: only CI minds.
	echo "int ecl;" >"$work/ecl/ecl/ecl.h"
	configure 0 -DHEAPWISE_MUSL_CC="$(command -v musl-gcc)"
	left_out "run --lisp ecl" "does not compile: target/lisp/.*unknown type name 'cl_object'"
	configure 0 HEAPWISE_ALL_PARTS=1
	configure 1 CI=true
	says "$work/out" "^  run --lisp ecl: not built; does not compile"
	# The package has come.
	configure 0 -DHEAPWISE_ECL_INCLUDE=/usr/include
	says "$work/out" "^Optional parts, all built|^  built      run --lisp ecl"
	says "$work/build/generated/show/cli/parts.inc" '^PART\("run --lisp ecl", 1, '
}

# Each part is left out of a build with its tests, one after the other, and then all of them at once.
test_without()
{
	local parts=("types-index|types-index" "musl|recording of musl programs" "lisp|run --lisp ecl" "valgrind|run --access valgrind") part

	for part in "${parts[@]}" all; do
		if [ "$part" = all ]; then set -- "${parts[@]}"; else set -- "$part"; fi
		configure 0 CI=true -DHEAPWISE_TESTS=ON -DHEAPWISE_TEST_VARIANTS=OFF -DHEAPWISE_WITHOUT="$(IFS=';'; echo "${*%%|*}")"
		for part; do left_out "${part#*|}" "left out by HEAPWISE_WITHOUT"; done
		ninja -C "$work/build" -n all tests >"$work/out" 2>&1 || { fail "no build without $*:"; tail "$work/out"; }
		[ -z "${build_too-}" ] || build_without "$*"
	done
}

test_without_built() { build_too=1 test_without; }

# build_without IDS   builds it, and runs what asks doctor and what needs the part
build_without()
{
	ninja -C "$work/build" all tests >"$work/out" 2>&1 || { fail "cannot build without $1:"; tail "$work/out"; return; }
	env -u CI -u HEAPWISE_ALL_PARTS ctest --test-dir "$work/build" -j2 --output-on-failure --no-tests=error \
		-R "^(cli|run[.](example|lisp|valgrind|events|linked)|compat[.](musl|lisp|valgrind)|tools[.](dead|imports))" -LE full >"$work/out" 2>&1 ||
		{ fail "tests fail without $1:"; grep -A99 "tests failed\|FAILED" "$work/out"; }
}

"test_${1//-/_}" "${@:2}"
finish
