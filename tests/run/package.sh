#!/bin/bash
# SPDX-License-Identifier: MIT
# package.sh apr|cppunit|poco   builds a source package of the distribution, plain and with heapwise cc and heapwise c++,
# and runs its own tests: plain, instrumented, and instrumented with every access recorded. Each test must end alike.
#   apr      one program with its tests: threads (up to 40), fork and exec, dlopen, locks, sockets, shared memory
#   cppunit  229 tests of C++, most of which throw exceptions
#   poco     Foundation: threads, processes, shared libraries and exceptions, all in one program; the suites that
#            have to do with these, for all of them take ten minutes when they are recorded. Not in make test-full: of its
#            ThreadTest about one instrumented run in thirty crashes, which is not understood
# Sources and builds stay below BUILD/packages, so that the next run has them.
. "$(dirname "$0")/lib.sh"
package=$1
place=$HEAPWISE_BUILD_DIR/packages
jobs=$(nproc)
mkdir -p "$place"
"$HEAPWISE_SOURCE_DIR/bench/debian-source" "$package" "$place/$package" || skip "cannot download the source of $package"

# ---- how each is built, in the current folder, with CC and CXX if they are set ----

# It builds in its own tree only.
build_apr()
{
	cp -a "$place/apr/." . && ./configure && make -j"$jobs" && make -C test -j"$jobs" all
}

build_cppunit()
{
	"$place/cppunit/configure" --disable-doxygen CXXFLAGS="-O1 -g" && make -j"$jobs" &&
		make -C examples/cppunittest -j"$jobs" cppunittestmain
}

build_poco()
{
	local part off=()
	for part in ENCODINGS XML JSON MONGODB REDIS UTIL NET ZIP PAGECOMPILER PAGECOMPILER_FILE2PAGE ACTIVERECORD \
		ACTIVERECORD_COMPILER DATA DATA_SQLITE DATA_MYSQL DATA_POSTGRESQL DATA_ODBC NETSSL CRYPTO JWT APACHECONNECTOR; do
		off+=("-DENABLE_$part=OFF")
	done
	cmake -S "$place/poco" -B . -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 -DENABLE_TESTS=ON "${off[@]}" &&
		ninja -j"$jobs" Foundation-testrunner TestApp TestLibrary
}

# ---- how its tests are run, in the folder of the build, by COMMAND...: its output on stdout ----

run_apr()
{
	cd test && "$@" ./testall -v
}

run_cppunit()
{
	cd examples/cppunittest && LD_LIBRARY_PATH=../../src/cppunit/.libs "$@" .libs/cppunittestmain
}

run_poco()
{
	# Its library and its child are found by name.
	cd bin && PATH=$PWD:$PATH POCO_BASE=$place/poco LD_LIBRARY_PATH=$PWD:$PWD/../lib "$@" ./Foundation-testrunner \
		CoreTest StringTest SharedPtrTest AutoPtrTest VarTest SharedLibraryTest ClassLoaderTest ProcessTest \
		SharedMemoryTest ThreadTest ThreadPoolTest ThreadLocalTest ActiveMethodTest ActivityTest NotificationQueueTest \
		TaskTest TaskManagerTest BasicEventTest LoggerTest
}

# ---- "name result" of each test, from that output ----

tests_apr()
{
	# A test may write in between; results come in order.
	awk '/^test[a-z]+ *:/ { name = $1 } /(SUCCESS|FAILED)/ && name { print name, /FAILED/ ? "failed" : "passed"; name = "" }'
}

tests_cppunit()
{
	awk '/ : / { print $1, $NF }'
}

tests_poco()
{
	# Names as they begin; what failed is listed at the end.
	awk '/^test[A-Z][A-Za-z0-9_]*: / { print $1 } /^(OK|Runs:)/ || /^ *[0-9]+: N7CppUnit/ { print }'
}

# build KIND   plain or instrumented; a build that is there serves again if it was made by this very heapwise
build()
{
	local dir=$place/$package-$1
	if [ "$1" = instrumented ]; then
		[ "$dir/built" -nt "$HEAPWISE" ] || rm -rf "$dir"
		export CC="$HEAPWISE cc" CXX="$HEAPWISE c++"
	fi
	[ ! -e "$dir/built" ] || return 0
	rm -rf "$dir"
	mkdir -p "$dir"
	if ! (cd "$dir" && "build_$package") >"$dir.log" 2>&1; then
		tail -n 20 "$dir.log"
		fail "cannot build $package $1"
		finish
	fi
	touch "$dir/built"
}

# run_tests NAME KIND COMMAND...   results in $work/NAME
run_tests()
{
	local name=$1 kind=$2
	shift 2
	(cd "$place/$package-$kind" && "run_$package" "$@") >"$work/$name.out" 2>"$work/$name.err" </dev/null
	echo "status $?" >"$work/$name"
	"tests_$package" <"$work/$name.out" >>"$work/$name"
	grep -q . "$work/$name.out" || { fail "$name: no output"; tail -5 "$work/$name.err"; }
}

build plain
build instrumented
run_tests plain plain env
run_tests instrumented instrumented env
run_tests recorded instrumented "$HEAPWISE" run --no-symbols --access exact --children -o "$work/traces"
at_least "tests" "$(grep -cv '^status' "$work/plain")" 40
for name in instrumented recorded; do
	diff "$work/plain" "$work/$name" >"$work/differences" ||
		fail "$package $name ends otherwise (< plain): $(head -20 "$work/differences")"
done

# It was recorded, indeed: the largest trace has accesses, and nothing was lost.
trace=$(find "$work/traces" -name '*.hwt' -printf '%s %p\n' | sort -n | tail -1 | cut -d' ' -f2)
accessed=$("$HEAPWISE" trace dump "${trace:-none}" | grep -c '^# access')
at_least "chunks with accesses" "$accessed" 100
equal "lost events" "$(field "$trace" .lost_events)" 0
[ "$failures" -gt 0 ] || echo "$package: $(grep -cv '^status' "$work/plain") tests, status $(sed -n 's/^status //p' "$work/plain"), equal in all three;" \
	"$(find "$work/traces" -name '*.hwt' | wc -l) processes recorded, $accessed chunks with accesses in the largest"
finish
