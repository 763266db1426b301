#!/bin/bash
# SPDX-License-Identifier: MIT
# heapwise trace types-index: compile commands, what changed, what is missing, what is broken.
. "$(dirname "$0")/../run/lib.sh"
cd "$work" || exit 1

# index ARGUMENT...   status in $status, output in stdout and stderr
index()
{
	"$HEAPWISE" trace types-index "$@" >stdout 2>stderr
	status=$?
}

# type PLACE [OPTION...]   what the index says
type_at()
{
	"$HEAPWISE" trace types-index --find "$@" --format json 2>stderr | jq -r '.rows[] | "\(.type) \(.confidence)"'
}

# field NAME   of the last summary in JSON
field()
{
	jq -r ".$1" stdout
}

index
if grep -q "built without libclang" stderr; then
	equal "status without libclang" "$status" 3
	lacks libclang-dev
fi
equal "status without compile commands" "$status" 3
says stderr "compile_commands.json: No such file.*CMAKE_EXPORT_COMPILE_COMMANDS"

mkdir -p src build
cat >src/shape.h <<'END'
struct shape { int sides; double area; };
static inline struct shape *shape_new(void *(*get)(unsigned long)) { return get(sizeof(struct shape)); }
END
cat >src/one.c <<'END'
#include <stdlib.h>
#include "shape.h"
struct shape *one(void) { return malloc(sizeof(struct shape)); }
#ifdef EXTRA
long *extra(void) { return malloc(8); }
#endif
END
cat >src/two.cpp <<'END'
extern "C" void *pool_get(unsigned);
struct item { long key; };
item *two() { return static_cast<item *>(pool_get(1)); }
item *three() { return new item(); }
END
cat >build/compile_commands.json <<END
[{"directory": "$work/build", "command": "gcc -O2 -Wall -fno-such-option -DEXTRA -c ../src/one.c -o one.o", "file": "../src/one.c"},
 {"directory": "$work/build", "arguments": ["c++", "-std=c++17", "-march=made-up", "-c", "$work/src/two.cpp"], "file": "$work/src/two.cpp"}]
END
index --database build --format json
equal "status" "$status" 0
equal "sources" "$(field units) $(field parsed) $(field failed) $(field errors)" "2 2 0 0"
[ -s build/heapwise-types.hwx ] || fail "the index is not beside compile_commands.json"
equal "malloc and sizeof" "$(type_at src/one.c:3:34 --database build)" "shape exact"
equal "by the line alone" "$(type_at src/one.c:3 --database build)" "shape likely"
equal "below a definition of the command" "$(type_at src/one.c:5:28 --database build)" "long likely"
equal "in a header" "$(type_at src/shape.h:2:80 --database build)" "shape exact"
equal "new" "$(type_at src/two.cpp:4:24 --database build)" "item exact"
equal "nothing there" "$(type_at src/two.cpp:2 --database build)" ""
# libclang refuses an unknown processor in another way for each target
for target in x86_64 aarch64; do
	index src/two.cpp -o refused.hwx --format json -- --target=$target-linux-gnu -march=made-up
	equal "errors of an unknown processor for $target" "$status $(field failed) $(field errors)" "0 0 0"
done

# only what changed is parsed
cp build/heapwise-types.hwx before
index --database build --format json
equal "parsed when nothing changed" "$(field parsed)" 0
cmp -s before build/heapwise-types.hwx || fail "an index made again without changes differs"
sleep 0.02
echo "struct circle { double radius[4]; };" >>src/shape.h
index --database build/compile_commands.json --format json
equal "parsed when a header changed" "$(field parsed)" 1
sed -i 's/-DEXTRA/-DOTHER/' build/compile_commands.json
index --database build --format json
equal "parsed when a command changed" "$(field parsed)" 1
equal "gone with its definition" "$(type_at src/one.c:5 --database build)" ""
index --database build --anew --format json
equal "parsed with --anew" "$(field parsed)" 2
index --database build --alloc-fn pool_get --format json
equal "parsed with another function" "$(field parsed)" 2
grep -q "	cc-	8	item		pool_get" build/heapwise-types.hwx || fail "--alloc-fn is not a call that allocates"

# many sources at a time give the same index as one
for i in $(seq 24); do
	echo "#include \"../src/shape.h\"
struct s$i { int a[$i]; }; void *malloc(unsigned long); void *f$i(void) { return malloc(sizeof(struct s$i)); }" >"src/n$i.c"
done
for jobs in 1 2 8; do
	index -o "jobs-$jobs" -j $jobs src/n*.c
	equal "status with $jobs jobs" "$status" 0
	cmp -s jobs-1 "jobs-$jobs" || fail "$jobs jobs give another index than one"
done

# broken sources, and what is no source
printf 'struct a { int x; };\nvoid *malloc(unsigned long);\nstruct a *f(void) { return malloc(sizeof(struct a)); }\nthis is } not {{ C\n' >broken.c
index broken.c -o broken.hwx --format json
equal "status of a broken source" "$status" 0
[ "$(field errors)" -gt 0 ] || fail "errors of the source are not counted"
equal "before the error" "$(type_at broken.c:3:28 -o broken.hwx)" "a exact"
head -c 20000 /dev/urandom >noise.c
index noise.c -o noise.hwx
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "noise ends with status $status"
: >empty.c
index empty.c -o empty.hwx
equal "status of an empty source" "$status" 0
{ echo 'void *malloc(unsigned long); long f(void) { return'; yes '(1 +' | head -3000; echo '1'; yes ')' | head -3000; echo '; }'; } >deep.c
index deep.c -o deep.hwx -- -fbracket-depth=100000
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "deep nesting ends with status $status"
echo '{ "not": [' >build/compile_commands.json
index --database build
equal "status of garbage for compile commands" "$status" 3
says stderr "cannot be read as JSON|names no sources"
echo '[]' >build/compile_commands.json
index --database build
equal "status of no commands" "$status" 3
[ -s build/heapwise-types.hwx ] || fail "the old index is lost"
cp empty.c other.json
index --database other.json
equal "status of a file of another name" "$status" 3
says stderr "the file must be named compile_commands.json"
index src/one.c -o /no/such/folder/index
equal "status of an index that cannot be written" "$status" 3
echo garbage >broken.hwx
index broken.c -o broken.hwx
equal "garbage is replaced" "$status" 0
echo garbage >broken.hwx
index --find broken.c:3 -o broken.hwx
equal "status of garbage" "$status" 3
says stderr "broken.hwx: the file is not a type index"
[ -z "$(ls | grep '\.new$')" ] || fail "unfinished files are left behind"

# An array of what has a destructor begins with the number of its elements.
cat >arrays.cpp <<'SOURCE'
#include <memory>
#include <string>
struct A { int x; ~A() { x = 0; } };
struct Plain { int x; Plain() : x(1) {} };
struct Base { virtual ~Base() = default; };
struct Derived : Base { };
struct Member { std::unique_ptr<int> p; };
struct Defaulted { short s; ~Defaulted() = default; };
template <class T> struct Holder { T t; ~Holder() {} };
static void *volatile kept;
int main()
{
	kept = new A[5];
	kept = new Plain[6];
	kept = new Derived[7];
	kept = new Member[8];
	kept = new Defaulted[9];
	kept = new Holder<char>[10];
	kept = new std::unique_ptr<int>[11];
	kept = new std::string[12];
	kept = new int[13];
	kept = new A;
	kept = new A[2][3];
	kept = new A[0];
}
SOURCE
g++ -g -O1 -o arrays arrays.cpp || fail "cannot compile arrays.cpp"
"$HEAPWISE" run -q -o arrays.hwt ./arrays 2>stderr || fail "cannot record: $(cat stderr)"
index arrays.cpp -o arrays.hwx
counts() { "$HEAPWISE" types "$@" --chunks --top 0 --format json arrays.hwt 2>/dev/null | jq -r '.chunks[] | select(.size < 4096) | "\(.type) \(.count)"' | tr '\n' ','; }
equal "elements" "$(counts --index arrays.hwx)" \
	"A 5,Plain 6,Derived 7,Member 8,Defaulted 9,Holder<char> 10,std::unique_ptr<int> 11,std::string 12,int 13,A 1,A [3] 2,A null,"
# By size alone a multiple of 4 tells nothing of 8 bytes before it.
counts | grep -oE '(A|Plain|Member) [0-9]+' | grep -v " 1$" && fail "numbers of elements that nobody knows"

HEAPWISE_LIBCLANG=/no/such/libclang.so "$HEAPWISE" trace types-index empty.c >stdout 2>stderr
equal "status without the library" "$?" 3
says stderr "libclang cannot be loaded: .*install"
finish
