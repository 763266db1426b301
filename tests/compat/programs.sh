#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# programs.sh run|children|watch|valgrind [FIRST [LAST]]   the commands of PROGRAMS, plain and recorded in this way: what they print,
# the files that they leave and their status are the same, and the trace has no damage and is not empty. Prints a table; FIRST and LAST
# are rows of it. `each` for FIRST: the first command of each package.
. "$(dirname "$0")/../run/lib.sh"

mode=$1
first=${2:-1}
last=${3:-9999}
each=
[ "$first" != each ] || { each=1 first=1; }
programs=$(dirname "$(realpath "$0")")/PROGRAMS
export PATH=/usr/local/bin:/usr/bin:/bin TZ=UTC PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
export SOURCE_DATE_EPOCH=1000000000 XDG_CACHE_HOME=/nonexistent DEBUGINFOD_URLS=
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_AUTHOR_DATE='1000000000 +0000'
export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b GIT_COMMITTER_DATE='1000000000 +0000'
unset DISPLAY XDG_RUNTIME_DIR MAKEFLAGS MAKELEVEL CFLAGS CC CXX LD_LIBRARY_PATH
here=$work/here
export HOME=$here

# sources   small programs in several languages
sources()
{
	cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next; double value; char name[20]; };
unsigned long fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv)
{
	struct node *list = NULL;
	for (int i = 0; i < atoi(argv[argc - 1]); i++) {
		struct node *node = malloc(sizeof *node);
		*node = (struct node){.next = list, .value = fib(i)};
		list = node;
	}
	for (; list; list = list->next)
		printf("%g\n", list->value);
	return 11;
}
C
	printf 'int main(void) { int unused; retrun 1 }\n' >broken.c
	cat >program.cpp <<'C'
#include <map>
#include <string>
#include <vector>
int main(int argc, char **argv)
{
	std::map<std::string, std::vector<int>> map;
	for (int i = 0; i < 100; i++)
		map[std::to_string(i % 7)].push_back(i);
	return map.size() == 7 ? argc : argv[0][0];
}
C
	printf 'program p\n integer :: i\n real, allocatable :: a(:)\n allocate(a(100))\n a = [(i * 1.5, i = 1, 100)]\n print *, sum(a)\nend program\n' >program.f90
	printf 'with Ada.Text_IO;\nprocedure Main is\nbegin\n   Ada.Text_IO.Put_Line ("ada");\nend Main;\n' >main.adb
	printf 'use std::collections::BTreeMap;\nfn main() { let m: BTreeMap<u32, String> = (0..9).map(|i| (i, format!("{i}"))).collect(); println!("{m:?}"); }\n' >program.rs
	printf 'local t = {}\nfor i = 1, arg[1] do t[#t + 1] = ("x"):rep(i) end\ntable.sort(t, function(a, b) return #a > #b end)\nprint(#t[1], #table.concat(t))\nos.exit(4)\n' >program.lua
	printf 'set all {}\nfor {set i 0} {$i < 3000} {incr i} {lappend all [string repeat x [expr {$i %% 40}]]}\nputs [llength [lsort -unique $all]]\nputs [regsub -all {x+} [join $all -] y]\nexit 3\n' >program.tcl
	printf '.data\n.globl table\ntable:\n.rept 500\n.long 7, table - .\n.endr\n' >assembly.s
	printf 'syntax = "proto3";\nmessage A { int32 x = 1; repeated string y = 2; map<string, A> z = 3; }\n' >messages.proto
	gcc -O1 -g -c program.c -o object.o
}

# projects   what build tools work on
projects()
{
	printf 'all: a.out b.out c.out\n%%.out: lines\n\tsort $< >$@; wc -l <$@\n.PHONY: all\n.NOTPARALLEL:\n' >Makefile
	printf 'foreach(i RANGE 200)\n list(APPEND all "x${i}")\nendforeach()\nlist(LENGTH all n)\nmessage("${CMAKE_VERSION} ${n}")\n' >script.cmake
	mkdir -p project deb/DEBIAN deb/usr
	printf 'rule copy\n  command = sort $in >$out\nbuild a: copy ../lines\nbuild b: copy a\nbuild c: copy ../other\n' >project/build.ninja
	printf 'cmake_minimum_required(VERSION 3.18)\nproject(p NONE)\nadd_custom_target(t ALL COMMAND true)\n' >project/CMakeLists.txt
	printf 'Package: p\nVersion: 1\nArchitecture: all\nMaintainer: A <a@b>\nDescription: nothing\n' >deb/DEBIAN/control
	cp lines deb/usr
	git init -q -b main repository
	cp lines repository
	git -C repository add lines
	git -C repository commit -qm first
	cat other >>repository/lines
	git -C repository commit -qam second
}

# folder   all that the commands work on
folder()
{
	seq 1 500 | awk '{ printf "%d line-%d %s\n", $1 * 7919 % 1000, $1, ($1 % 3 ? "alpha" : "beta") }' >lines
	tac lines >other
	sort -k3,3 lines >sorted
	seq 1 12000 | awk '{ print $1 * 7919 % 99991 }' >many
	seq 1 30000 >seed
	printf 'a b\nb c\nc d\na d\n' >graph
	printf 'digraph g { a -> b -> c; a -> c; c -> d [label="x"]; subgraph cluster_s { e -> f } d -> e }\n' >graph.dot
	awk 'BEGIN { printf "[" } { printf "%s{\"number\": %d, \"name\": \"%s\", \"kind\": \"%s\"}", (NR > 1 ? "," : ""), $1, $2, $3 } END { print "]" }' lines >data.json
	awk 'BEGIN { print "<all>" } { printf "<item kind=\"%s\"><n>%d</n>%s</item>", $3, $1, $2 } END { print "</all>" }' lines >document.xml
	sqlite3 data.db "create table t(n, name, kind); $(awk '{ printf "insert into t values(%d, %c%s%c, %c%s%c);", $1, 39, $2, 39, 39, $3, 39 }' lines)"
	sed 's/line-77 /line-seventyseven /' lines | diff -u lines - >change.diff
	mkdir -p tree/a/b tree/c
	cp lines tree/a/lines.txt
	cp other tree/a/b/other.txt
	cp many tree/c/many.bin
	sources
	projects
	find tree -exec touch -d @1000000000 {} +
	tar -cf tree.tar --sort=name tree
}

# perform NAME COMMAND...   in a fresh folder: its output, files and status as NAME.out, .err, .files, .status
perform()
{
	local name=$work/$1

	shift
	rm -rf "$here"
	cp -a "$work/folder" "$here"
	# Outside are the shell's words about signals.
	{ (cd "$here" && exec "$@") <"$here/lines" >"$name.out" 2>"$name.err"; } 2>/dev/null
	echo $? >"$name.status"
	# Left out are files with times of the run in them.
	(cd "$here" && find . -type f ! -name index ! -name '.ninja*' ! -name '*.rdb' ! -path './built/*' -exec sha256sum {} + | sort -k2) >"$name.files"
}

# recorded COMMAND...   in the mode of the test
recorded()
{
	rm -rf "$work/trace"*
	case $mode in
	run) perform recorded "$HEAPWISE" run -q --no-symbols -o "$work/trace" -- "$@" ;;
	children) perform recorded "$HEAPWISE" run -q --no-symbols --children -o "$work/trace" -- "$@" ;;
	watch) perform recorded "$HEAPWISE" watch -q --batch 1 -o "$work/reports" --trace "$work/trace" -- "$@" ;;
	valgrind) perform recorded "$HEAPWISE" run -q --no-symbols --access valgrind -o "$work/trace" -- "$@" ;;
	*) fail "there is no mode $mode"; finish ;;
	esac
	# Valgrind has its own words about system calls that it does not know.
	grep -vE '^(heapwise: |--[0-9]+-- )' "$work/recorded.err" >"$work/own.err"
	mv "$work/own.err" "$work/recorded.err"
}

# differences A B   which of output, files and status are not the same
differences()
{
	local what

	for what in out err files status; do
		cmp -s "$work/$1.$what" "$work/$2.$what" || echo -n "$what "
	done
}

# loaded PROGRAM   it has a loader, so a recorder can be loaded; which programs have none is a matter of the distribution (qemu-user)
loaded()
{
	local headers

	headers=$(readelf -lW "$(command -v "$1")" 2>/dev/null)
	[[ $headers != *"Program Headers"* || $headers == *INTERP* ]] || { echo "skipped: $1 is statically linked here"; return 1; }
}

# damaged   those of the traces that are
damaged()
{
	local trace traces=("$work/trace")

	[ ! -d "$work/trace" ] || traces=("$work/trace"/*.hwt)
	for trace in "${traces[@]}"; do
		"$HEAPWISE" trace info "$trace" 2>>"$work/unread" | grep -q '^ *damaged sections  *0$' || echo "${trace##*/}"
	done
}

# allocations   of all traces; nothing if one cannot be read
allocations()
{
	local trace traces=("$work/trace")

	[ ! -d "$work/trace" ] || traces=("$work/trace"/*.hwt)
	for trace in "${traces[@]}"; do
		"$HEAPWISE" report --no-symbols --format json "$trace" 2>>"$work/unread" || echo '{}'
	done | jq -s 'map(.allocations) | if any(. == null) then empty else add end'
}

# row COMMAND...
row()
{
	local differ="" seen

	perform plain "$@"
	recorded "$@"
	seen=$(allocations)
	differ=$(differences plain recorded)
	printf '%4d  %-8s %3d %9s %-12s %s\n' "$number" "$mode" "$(cat "$work/plain.status")" "${seen:--}" "${differ:-same}" "${text:0:90}"
	[ -n "$seen" ] && [ -z "$(damaged)" ] || { fail "row $number: no trace to be read: $(damaged)"; head -5 "$work/unread"; }
	[ "${seen:-1}" -gt 0 ] || fail "row $number: no allocation was recorded"
	compared=$((compared + 1))
	[ -n "$differ" ] || return 0
	for what in out err files status; do
		diff "$work/plain.$what" "$work/recorded.$what" | head -10
	done
	perform again "$@"
	[ -z "$(differences plain again)" ] || echo "(it differs by itself: $(differences plain again))"
	fail "row $number: $differ"
}

needs jq
needs sqlite3
needs git
[ "$mode" != valgrind ] || needs valgrind
mkdir "$work/folder"
(cd "$work/folder" && folder) || { fail "cannot make the folder"; finish; }
echo " row  mode  status    allocs difference   command"
number=0
compared=0
packages=
while IFS='|' read -r package text; do
	[[ $package != \#* ]] || continue
	number=$((number + 1))
	[ "$number" -ge "$first" ] && [ "$number" -le "$last" ] || continue
	text=${text# }
	cd "$work/folder" && eval "PWD=$here; set -- $text" && PWD=$work/folder
	package=${package% }
	[[ -z $each || " $packages " != *" $package "* ]] || continue
	packages="$packages $package"
	[ "$1" = sh ] && program=$package || program=$1
	has "$program" "$package" && loaded "$1" || continue
	row "$@"
done <"$programs"
[ "$last" -lt 9999 ] || [ "$first" -gt 1 ] || at_least "commands compared" "$compared" 30
finish
