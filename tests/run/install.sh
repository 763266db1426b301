#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install.sh CASE   what users get: installed trees, the source tarball, the Debian package, a machine where nothing is.
# The cases package, readme and tarball need root, a network and half an hour: a clean root by debootstrap, with mounts that
# only they see.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

# ---- installed trees -------------------------------------------------------------------------

# files FOLDER LIBDIR   everything is where it belongs
files()
{
	local file

	for file in bin/heapwise "$2/heapwise/libheapwise.so" "$2/heapwise/libheapwise-access.so" "$2/heapwise/libheapwise-watch.so" \
		"$2/heapwise/heapwise-stub-program-gcc.o" "$2/heapwise/gcc-as/as" "$2/libheapwise-client.so.0" "$2/libheapwise-writer.a" \
		"$2/pkgconfig/heapwise.pc" "$2/pkgconfig/heapwise-client.pc" "$2/cmake/heapwise/heapwiseConfig.cmake" \
		include/heapwise/heapwise.h share/man/man1/heapwise-run.1 share/man/man3/heapwise-writer.3 \
		share/bash-completion/completions/heapwise share/zsh/site-functions/_heapwise share/fish/vendor_completions.d/heapwise.fish; do
		[ -e "$1/$file" ] || fail "$file is not installed"
	done
}

# records PROGRAM   it finds its recorder: a program is recorded
records()
{
	"$1" run --no-symbols -o "$work/t.hwt" -- ls / >"$work/stdout" 2>"$work/stderr" || fail "$1 cannot record: $(cat stderr)"
	rm -f "$work/t.hwt.json"
	at_least "allocations that $1 recorded" "$(field "$work/t.hwt" .allocations)" 1
	"$1" doctor >"$work/doctor" 2>&1
	grep -q "no libheapwise.so" "$work/doctor" && fail "doctor finds no recorder"
}

# As make install does it, somewhere else with DESTDIR, and the same tree moved; libraries where a multi-arch system has
# them.
case_tree()
{
	DESTDIR=$work/stage cmake --install "$HEAPWISE_BUILD_DIR" --prefix /opt/heapwise >log || fail "cannot install"
	files stage/opt/heapwise lib
	records "$work/stage/opt/heapwise/bin/heapwise"
	mv stage/opt/heapwise elsewhere
	records "$work/elsewhere/bin/heapwise"
	equal "prefix of pkg-config" "$(PKG_CONFIG_PATH=$work/elsewhere/lib/pkgconfig pkg-config --variable=includedir heapwise-client |
		xargs realpath)" "$work/elsewhere/include"
	# LD_PRELOAD cannot name a path with a blank or a colon; the links for it are in a folder of the user's own.
	mv elsewhere "with blanks: é"
	TMPDIR=$work records "$work/with blanks: é/bin/heapwise"
	equal "rights of the links" "$(stat -c %a "$work/heapwise-links-$(id -u)")" 755
	if [ -d "with blanks: é/lib/heapwise/valgrind" ]; then
		TMPDIR=$work "with blanks: é/bin/heapwise" run --access valgrind -o v.hwt -- ls / >stdout 2>stderr || fail "no accesses: $(cat stderr)"
	fi
	rm -r "$work/heapwise-links-$(id -u)" && ln -s / "$work/heapwise-links-$(id -u)"
	TMPDIR=$work "with blanks: é/bin/heapwise" run -o t.hwt -- ls / 2>stderr && fail "it uses links that others could have made"
	says stderr "contains a blank or a colon, which LD_PRELOAD cannot handle, and no link to it can be made in .*/heapwise-links-"
	mv "with blanks: é" elsewhere
	rm elsewhere/lib/heapwise/libheapwise.so
	elsewhere/bin/heapwise run -o t.hwt -- true 2>stderr && fail "it records without a recorder"
	says stderr "cannot find libheapwise.so in .*/elsewhere/bin or in \.\./lib"
}

# A project that uses the libraries by find_package, shared and static.
case_cmake()
{
	mkdir project
	cmake --install "$HEAPWISE_BUILD_DIR" --prefix "$work/usr" >log || fail "cannot install"
	cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(uses_heapwise C)
find_package(heapwise 0.1 REQUIRED)
foreach(kind writer writer_static)
	add_executable(${kind} writer.c)
	target_link_libraries(${kind} heapwise::${kind} heapwise::api)
endforeach()
foreach(kind client client_static)
	add_executable(${kind} client.c)
	target_link_libraries(${kind} heapwise::${kind})
endforeach()
if(NOT EXISTS ${HEAPWISE_PROGRAM})
	message(FATAL_ERROR "${HEAPWISE_PROGRAM} is not there")
endif()
CMAKE
	cat >project/writer.c <<'C'
#include <heapwise/heapwise.h>
#include <heapwise/writer.h>
int main(int argc, char **argv)
{
	struct heapwise_writer *writer = heapwise_writer_open(argv[argc - 1], "one", 0);
	return heapwise_writer_alloc(writer, 1, 100, 0, heapwise_writer_type(writer, "thing")) || heapwise_writer_close(writer);
}
C
	cat >project/client.c <<'C'
#include <heapwise/client.h>
#include <stdio.h>
static unsigned mallocs;
static void on_event(void *self, const struct heapwise_event *event)
{
	(void)self;
	mallocs += event->kind == HEAPWISE_MALLOC;
}
int main(int argc, char **argv)
{
	struct heapwise_client *client = heapwise_client_new();
	int status = 0;

	(void)argc;
	heapwise_on_event(client, on_event, client);
	if (heapwise_launch(client, argv + 1, &status) < 0)
		fprintf(stderr, "%s\n", heapwise_error(client));
	heapwise_client_free(client);
	printf("%s\n", mallocs ? "seen" : "unseen");
	return status;
}
C
	cmake -S project -B built -DCMAKE_PREFIX_PATH="$work/usr" -DCMAKE_C_FLAGS="$with_sanitizer" >log 2>&1 && cmake --build built >>log 2>&1 ||
		{ fail "cannot build"; tail -20 log; finish; }
	for kind in writer writer_static; do
		rm -f one.hwt one.hwt.json
		built/$kind one.hwt || fail "$kind: status $?"
		equal "allocations by $kind" "$(field one.hwt .allocations)" 1
	done
	equal "by the shared client" "$(built/client ls / 2>&1 | tail -1)" "seen"
	# The archive looks beside the tool.
	mkdir -p usr/bin && cp built/client_static usr/bin
	equal "by the archive's" "$(usr/bin/client_static ls / 2>&1 | tail -1)" "seen"
}

# ---- tarball ---------------------------------------------------------------------------------

# The same bytes each time, whoever makes it; it is whole, and packs itself again without git.
case_dist()
{
	local source=$HEAPWISE_SOURCE_DIR version tarball

	version=$(cat "$source/VERSION")
	equal "version of the Debian package" "$(sed -n '1s/^heapwise (\(.*\)).*/\1/p' "$source/debian/changelog")" "$version"
	tarball=$("$source/tools/dist" one) || fail "status $?"
	equal "name" "$tarball" "$work/one/heapwise-$version.tar.xz"
	(umask 077 && TZ=Asia/Tokyo "$source/tools/dist" two >/dev/null)
	cmp "$tarball" "two/heapwise-$version.tar.xz" || fail "two tarballs differ"
	tar -xf "$tarball"
	[ -x "heapwise-$version/tools/install-deps" ] && [ -e "heapwise-$version/web/dist/index.html" ] || fail "files are missing"
	tar -tvf "$tarball" | awk '$2 != "root/root" || $6 !~ /^heapwise-/ { print; bad = 1 } END { exit bad }' || fail "odd entries"
	rm -rf "heapwise-$version/.git"
	"heapwise-$version/tools/dist" three >/dev/null || fail "it cannot be packed without git"
	mkdir again && tar -C again -xf "three/heapwise-$version.tar.xz"
	diff -r "heapwise-$version" "again/heapwise-$version" || fail "what was packed without git differs"
	cmake -S "heapwise-$version" -B built -G Ninja -DHEAPWISE_TESTS=OFF >log 2>&1 || { fail "it cannot be configured"; tail log; }
	ninja -C built -n >/dev/null || fail "nothing to build"
}

# ---- clean roots -----------------------------------------------------------------------------

# Where packages of this very release come from, as apt was told on this machine.
mirror()
{
	apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		awk -v name="$1" '$1 == name && $2 == "main" { print $3; exit }'
}

# root FOLDER [RELEASE]   a machine where nothing is installed, of this machine's release or another
root()
{
	local own release from

	[ "$(id -u)" -eq 0 ] || skip "needs root: chroot and mounts"
	needs debootstrap
	own=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
	release=${2:-$own}
	from=$(mirror "$own")
	[ -n "$from" ] || skip "apt knows no archive of ${release:-this system}"
	debootstrap --variant=minbase "$release" "$1" "$from" >log 2>&1 || {
		grep -qiE "couldn't download|failed getting release|unable to resolve|could not resolve" log && skip "cannot download Debian's base packages"
		tail -5 log
		fail "debootstrap: see above"
		finish
	}
	# How this machine reaches the network.
	cp /etc/resolv.conf /etc/hosts "$1/etc/" 2>/dev/null
	grep -lisE "proxy|acquire::(http|https|retries|check-valid-until)" /etc/apt/apt.conf /etc/apt/apt.conf.d/* 2>/dev/null |
		while read -r file; do cp "$file" "$1/etc/apt/apt.conf.d/"; done
	echo 'Dpkg::Use-Pty "0";' >"$1/etc/apt/apt.conf.d/no-terminal"
}

# inside FOLDER COMMAND   by a shell in the root, which has a /proc of its own. All mounts and processes end with it.
inside()
{
	unshare --mount --pid --fork --propagation private sh -c '
		mount -t proc proc "$1/proc" && mkdir -p "$1/dev/shm" && mount -t tmpfs tmpfs "$1/dev/shm" || exit 125
		exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
			DEBIAN_FRONTEND=noninteractive sh -ec "$2"' sh "$1" "$2"
}

# package   builds it; $deb
package()
{
	needs dh debhelper
	deb=${HEAPWISE_DEB-}
	[ -n "$deb" ] || deb=$("$HEAPWISE_SOURCE_DIR/tools/make-deb" "$work/deb" | tail -1) || { fail "there is no package"; finish; }
}

# The package: what it needs comes with it, it records, and leaves nothing behind.
case_package()
{
	root clean
	package
	if has lintian; then
		lintian --fail-on error,warning "$deb" || fail "lintian finds something"
	fi
	cp "$deb" clean/tmp/heapwise.deb
	inside clean '
		apt-get update -qq
		apt-get install -qq -y --no-install-recommends /tmp/heapwise.deb
		heapwise --version
		heapwise run -o /tmp/ls.hwt -- ls /
		heapwise report --top 2 /tmp/ls.hwt
		heapwise doctor | head -12' >out 2>&1 || fail "it does not install or run"
	cat out
	says out "^  allocations +[1-9]"
	says out "lib/[a-z0-9_]+-linux-gnu/heapwise/libheapwise\.so"
	for file in man/man1/heapwise-run.1.gz bash-completion/completions/heapwise zsh/vendor-completions/_heapwise fish/vendor_completions.d/heapwise.fish; do
		[ -e "clean/usr/share/$file" ] || fail "$file is not in the package"
	done
	inside clean 'bash -c ". /usr/share/bash-completion/completions/heapwise; complete -p heapwise"' >completes || fail "completion of bash"
	# Tools of one's own, and the recorders of accesses.
	inside clean '
		apt-get install -qq -y --no-install-recommends cmake make gcc libc6-dev pkg-config valgrind >/dev/null
		cd /tmp && cat >CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.18)
project(uses C)
find_package(heapwise REQUIRED)
add_executable(uses uses.c)
target_link_libraries(uses heapwise::writer heapwise::api)
CMAKE
		cat >uses.c <<C
#include <heapwise/heapwise.h>
#include <heapwise/writer.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	struct heapwise_writer *writer = heapwise_writer_open("one.hwt", "one", 0);
	char *volatile block = malloc(100);
	memset(block, 1, 100);
	free(block);
	return heapwise_writer_alloc(writer, 1, 100, 0, 0) || heapwise_writer_close(writer);
}
C
		cmake -B made . >/dev/null && cmake --build made >/dev/null && made/uses && heapwise trace info one.hwt
		gcc $(pkg-config --cflags heapwise) uses.c $(pkg-config --libs heapwise-writer) -o two && ./two
		heapwise cc -O1 uses.c -lheapwise-writer -o three
		heapwise run --access exact -o three.hwt -- ./three && heapwise scores three.hwt | head -5
		heapwise run --access valgrind -o four.hwt -- ./two && heapwise trace info four.hwt | head -5' >uses 2>&1 || fail "its libraries cannot be used"
	cat uses
	inside clean '
		apt-get purge -qq -y heapwise >/dev/null
		find / -xdev -name "*heapwise*" ! -path "/tmp/*" ! -path "*/cache/*" ! -path "*/.cache/*"' >left 2>purge
	equal "what is left of it" "$(cat left)" ""
}

# The two commands of the README, where there is nothing but make.
case_readme()
{
	root clean
	mkdir -p clean/src
	tar -C clean/src --strip-components=1 -xf "$("$HEAPWISE_SOURCE_DIR/tools/dist" "$work/dist")"
	grep -q "^make run " "$HEAPWISE_SOURCE_DIR/README.md" && grep -q "^make test " "$HEAPWISE_SOURCE_DIR/README.md" || fail "the README has other commands"
	inside clean '
		apt-get update -qq && apt-get install -qq -y --no-install-recommends make >/dev/null
		cd /src && make run' >out 2>&1 || { fail "make run"; tail -20 out; }
	sed -n '/^== /,$p' out | head -40
	says out "^  allocations +124,215"
	# All of make test would install browsers and compilers: some tests of each kind that need none.
	inside clean '
		apt-get install -qq -y --no-install-recommends jq >/dev/null
		cd /src && cmake -DHEAPWISE_TEST_VARIANTS=OFF build >/dev/null
		cmake --build build --target all test_base test_trace_roundtrip test_model test_monitor_drain target_family target_threads target_children target_surroundings target_empty recorder_check >/dev/null
		ctest --test-dir build --output-on-failure -R "^(unit[.](base|trace_roundtrip|model|monitor_drain)|run[.](events-malloc-family|threads-64|children-fork|example-and-install)|tools[.](layers|words|imports|stack))$"' >out 2>&1 ||
		fail "tests"
	tail -25 out
	says out "100% tests passed, 0 tests failed out of 1[0-9]"
}

# The tarball, where no package is: it records and shows; and with what only some commands need. HEAPWISE_TARBALL: one that is built;
# HEAPWISE_RELEASES: the releases of Debian to try it in (default: this machine's).
case_tarball()
{
	local tarball=${HEAPWISE_TARBALL-} release name

	[ "$(id -u)" -eq 0 ] || skip "needs root: chroot and mounts"
	needs debootstrap
	if [ -z "$tarball" ]; then
		"$HEAPWISE_SOURCE_DIR/tools/make-tarball" "$work/made" >made.log 2>&1 || {
			[ $? -eq 77 ] && skip "$(sed -n 's/^skipped: //p' made.log)"
			tail -20 made.log
			fail "it cannot be built"
			finish
		}
		tail -1 made.log
		tarball=$(ls "$work"/made/*.tar.xz)
	fi
	mkdir unpacked && tar -C unpacked -xf "$tarball"
	name=$(ls unpacked)
	"$HEAPWISE_SOURCE_DIR/tools/check-tarball" unpacked || fail "it would not run everywhere"
	files "unpacked/$name" lib
	for file in valgrind libheapwise-musl.so libheapwise-lisp-ecl.so libs/libmicrohttpd.so.12; do
		[ -e "unpacked/$name/lib/heapwise/$file" ] || fail "$file is not in the tarball"
	done
	[ -s "unpacked/$name/share/doc/heapwise/licenses/libmicrohttpd12" ] || fail "a licence is missing"

	for release in ${HEAPWISE_RELEASES:-"$(. /etc/os-release && echo "$VERSION_CODENAME")"}; do
		try_tarball "$release"
	done
}

# try_tarball RELEASE
try_tarball()
{
	local root=bare-$1

	root "$root" "$1"
	cp -r unpacked "$root/opt/unpacked"
	mkdir -p "$root/root/bin"
	ln -s "../../opt/unpacked/$name/bin/heapwise" "$root/root/bin/heapwise"
	echo "== $(. "$root/etc/os-release" && echo "$PRETTY_NAME")"

	# Nothing installed, called by a link.
	inside "$root" '
		PATH=$HOME/bin:$PATH && cd
		heapwise doctor | head -3
		heapwise run -o ls.hwt -- /bin/ls /
		heapwise report --top 1 ls.hwt
		heapwise serve --port 8124 ls.hwt >serve.log 2>&1 &
		for i in 1 2 3 4 5 6 7 8 9 10; do grep -q token= serve.log && break; sleep 1; done
		token=$(sed -n "s/.*token=//p" serve.log)
		perl -MSocket -e "socket(S, PF_INET, SOCK_STREAM, 0); connect(S, sockaddr_in(8124, inet_aton(q(127.0.0.1)))) or die;
			syswrite(S, qq(GET / HTTP/1.1\r\nHost: 127.0.0.1:8124\r\nAuthorization: Bearer \$ARGV[0]\r\nConnection: close\r\n\r\n)); print while <S>" "$token"
		heapwise fleet push --to clickhouse://127.0.0.1:1/none ls.hwt || echo "status $?"
		kill $!
		heapwise run --access valgrind -o none.hwt -- /bin/ls || echo "status $?"' >out 2>&1 || fail "$1: it does not run where nothing is installed"
	grep -E "^  allocations|^  ok       recorder|<title|HTTP/|valgrind is not|cannot reach" out
	says out "^  allocations +[1-9]"
	says out "/opt/unpacked/$name/lib/heapwise/libheapwise\.so"
	says out "<title>Heapwise"
	says out "cannot reach 127\.0\.0\.1:1: no answer" # the libcurl inside
	says out "valgrind is not in PATH; install it"

	# And programs to look at.
	inside "$root" '
		PATH=$HOME/bin:$PATH && cd
		apt-get update -qq && apt-get install -qq -y --no-install-recommends python3 sqlite3 valgrind g++ >log 2>&1
		cat >program.cpp <<C
#include <map>
#include <string>
#include <unistd.h>
int main()
{
	std::map<int, std::string> all;
	for (int i = 0; i < 1000; i++)
		all[i] = std::string(100, 65 + i % 26);
	usleep(100000);
	return all[7][3] != 72;
}
C
		g++ -g -O1 -o plain program.cpp
		heapwise c++ -g -O1 -o checked program.cpp
		heapwise run -o 1.hwt -- python3 -c "print(1)"
		heapwise run -o 2.hwt -- sqlite3 :memory: "select 1"
		heapwise run -o 3.hwt -- ./plain
		heapwise run --access valgrind -o 4.hwt -- ./plain
		heapwise run --access exact -o 5.hwt -- ./checked
		heapwise watch --trace 6.hwt -- ./plain
		heapwise report 3.hwt | grep -o "main (program.cpp:[0-9]*" | head -1
		for i in 1 2 3 4 5 6; do heapwise report $i.hwt | sed -n "s/^  allocations/$i allocations/p"; done
		heapwise scores 4.hwt | grep -c program.cpp && heapwise scores 5.hwt | grep -c program.cpp' >out 2>&1 || { fail "$1: with packages"; tail -5 out; }
	grep -E "^[1-6] allocations|^main " out
	for i in 1 2 3 4 5 6; do
		says out "^$i allocations +[1-9]"
	done
	says out "main \(program.cpp:8"
	rm -rf --one-file-system "$root"
}

run_case "${1-}"
finish
