#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# differential.sh PROGRAM   a program of the distribution under Heapwise and under memcheck: allocations, frees and bytes
# of "total heap usage" are equal to the unit, and so is what the program prints.
. "$(dirname "$0")/../run/lib.sh"

needs valgrind
cd "$work" || exit 1
export HOME=$work PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 PYTHONHASHSEED=0 PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1
unset DISPLAY XDG_RUNTIME_DIR
export PATH=/usr/local/bin:/usr/bin:/bin
# Programs copy their environment, so it must be the same for both, in its names and lengths: what memcheck adds is there
# for the recorder, what the recorder adds for memcheck, and the recorder has as long a path as memcheck's two libraries.
export GLIBCPP_FORCE_NEW=1 GLIBCXX_FORCE_NEW=1 LD_LIBRARY_PATH=/usr/lib/debug
same_path()
{
	local theirs folder

	theirs=$(env -u LD_PRELOAD valgrind -q sh -c 'printf %s "$LD_PRELOAD"')
	folder=$work/$(printf '%0*d' $((${#theirs} - ${#work} - 2 - 14)) 0)
	mkdir "$folder" && cp "$HEAPWISE_BUILD_DIR/libheapwise.so" "$folder/libheapwise.so" || skip "memcheck's path is too short for ours"
	recorder=$folder/libheapwise.so
}
same_path
seq 1 500 | awk '{ printf "%d line-%d %s\n", $1 * 7919 % 1000, $1, ($1 % 3 ? "alpha" : "beta") }' >input
tac input >other

# Left out are programs that differ from run to run by themselves (xmllint: a random seed), or by the processor that
# Valgrind plays (dot: rounding).
command_of()
{
	case $1 in
	grep) command=(grep -nE 'line-[0-9]*7 (alpha|beta)$' input) ;;                    # C
	sed) command=(sed -E 's/line-([0-9]+)/<\1>/; /beta/d' input) ;;                    # C
	sort) command=(sort --parallel=1 -k1,1n -k2 input) ;;                              # C
	awk) command=(awk '{ n[$3]++; s[$1 % 50] = s[$1 % 50] $2 } END { print n["beta"], length(s[7]) }' input) ;; # C
	tar) command=(tar -cf archive.tar input other) ;;                              # C
	xz) command=(xz -T1 -k -f -1 input) ;;                                             # C
	openssl) command=(openssl dgst -sha256 input) ;;                                   # C
	curl) command=(curl -s "file://$work/input") ;;                                    # C
	git) command=(git hash-object input other) ;;                                  # C
	perl) command=(perl -e 'while (<>) { @f = split; $h{$f[2]} .= $f[1]; push @all, [@f] } print length $h{beta}, scalar @all, "\n"' input) ;;
	python3) command=(python3 -S -E -c 'd = {}
for line in open("input"): d.setdefault(line.split()[2], []).append(line)
print({k: len(v) for k, v in sorted(d.items())})') ;;
	cmake) echo 'message("${CMAKE_VERSION}") 
foreach(i RANGE 200)
 list(APPEND all "x${i}")
endforeach()
list(LENGTH all n)
message("${n}")' >s.cmake; command=(cmake -P s.cmake) ;;                                  # C++
	ninja) printf 'rule touch\n  command = touch $out\nbuild a: touch\nbuild b: touch a\n' >build.ninja; command=(ninja -n) ;; # C++
	protoc) printf 'syntax = "proto3";\nmessage A { int32 x = 1; repeated string y = 2; }\n' >a.proto; command=(protoc --cpp_out=. a.proto) ;; # C++
	c++filt) command=(c++filt _ZNSt6vectorISsSaISsEE9push_backERKSs _ZN5boost3anyC1IiEERKT_) ;;       # C
	rust) cat >a.rs <<'R'
use std::collections::BTreeMap;
fn main() {
    let text = std::fs::read_to_string("input").unwrap();
    let mut map: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap();
        map.entry(first).or_default().push(words.collect::<Vec<_>>().join("-"));
    }
    println!("{} {}", map.len(), map.values().map(|v| v.len()).max().unwrap());
}
R
		needs rustc
		rustc -O a.rs -o a 2>log || { cat log; fail "cannot be built"; finish; }
		command=("$work/a") ;;                                                               # Rust
	*) fail "there is no program $1"; finish ;;
	esac
}

command_of "$1"
case $1 in
awk) package=mawk ;;
c++filt) package=binutils ;;
ninja) package=ninja-build ;;
protoc) package=protobuf-compiler ;;
xz) package=xz-utils ;;
*) package=$1 ;;
esac
needs "${command[0]}" "$package"
"${command[@]}" >alone.out 2>alone.err </dev/null || fail "the command itself fails: $(head -3 alone.err)"
env -u _ "$HEAPWISE" run --no-symbols --recorder "$recorder" -o trace -- "${command[@]}" >recorded.out 2>stderr </dev/null
equal "exit status" "$?" 0
cmp alone.out recorded.out || fail "the program's output is not the same"
whole trace
session=$("$HEAPWISE" run -q --no-symbols -o session.hwt -- sh -c 'echo "$HEAPWISE_SESSION"')
HEAPWISE_SESSION=$session env -u _ -u LD_LIBRARY_PATH -u GLIBCPP_FORCE_NEW -u GLIBCXX_FORCE_NEW valgrind --run-libc-freeres=no --run-cxx-freeres=no --soname-synonyms=somalloc=NONE --trace-children=no \
	--log-file=memcheck "${command[@]}" >memcheck.out 2>&1 </dev/null
usage=$(sed -n 's/.*total heap usage: //p' memcheck | tail -1 | tr -d ',')
# OpenSSL 3.6 and later have tables by address, of a node of 128 bytes for each 4 bits; under Valgrind the heap's addresses are shorter.
case $1 in
openssl | curl)
	nodes=$(($(field trace .allocations) - ${usage%% *}))
	at_least "nodes of OpenSSL's tables" "$nodes" 0
	at_most "nodes of OpenSSL's tables" "$nodes" 50
	read -r allocs _ frees _ bytes _ <<<"$usage"
	usage="$((allocs + nodes)) allocs $((frees + nodes)) frees $((bytes + 128 * nodes)) bytes allocated"
	;;
esac
ours="$(field trace .allocations) allocs $(field trace .frees) frees $(field trace .bytes) bytes allocated"
equal "heap usage" "$ours" "$usage"
echo "$1: $usage"
finish
