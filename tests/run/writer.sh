#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# writer.sh CASE   runtimes that tell their own objects: Lua, whose scripts say by reading how many there are.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

cat >rows.lua <<'LUA'
local kept = {}
local function make_rows(n)
	for i = 1, n do
		local row = {}
		if i % 4 == 0 then kept[i // 4] = row end
	end
end
local function make_texts(n)
	for i = 1, n do
		local text = "a text of more than forty letters is not shared " .. i
	end
end
local function make_closures(n)
	local made
	for i = 1, n do made = function() return i end end
	return made
end
make_rows(1000)
make_texts(300)
make_closures(500)
LUA

# build [LIBRARY...]   the example's interpreter
build()
{
	local flags

	needs pkg-config
	flags=$(pkg-config --cflags --libs lua5.4 2>/dev/null) || lacks liblua5.4-dev
	${CC-gcc} -Wall -Wextra -Werror -O1 -g "$HEAPWISE_SOURCE_DIR/examples/runtime/lua.c" -o lua -I"$HEAPWISE_SOURCE_DIR/include" \
		$flags "$@" $with_sanitizer 2>log || fail "the example does not build: $(head -3 log)"
}

# count TRACE QUERY   chunks that fit
count()
{
	"$HEAPWISE" query --format json "$1" "all | where $2" | jq .matched.chunks
}

# objects TRACE   of each type, as the script makes them
objects()
{
	equal "tables of make_rows" "$(count "$1" 'type == "table" and fn == "make_rows"')" 1000
	equal "strings of make_texts" "$(count "$1" 'type == "string" and fn == "make_texts" and size > 60')" 300
	equal "closures of make_closures" "$(count "$1" 'type == "function" and fn == "make_closures"')" 500
	equal "stacks" "$(count "$1" 'type == "table" and stack == "main chunk" and fn == "make_rows"')" 1000
	equal "kept" "$(count "$1" kept)" 0
}

# A trace of its own: types and functions of the language.
case_lua()
{
	build -L"$HEAPWISE_BUILD_DIR" -lheapwise-writer -Wl,-rpath,"$HEAPWISE_BUILD_DIR"
	./lua -o objects.hwt rows.lua || fail "status $?"
	objects objects.hwt
	whole objects.hwt
	"$HEAPWISE" report objects.hwt >report
	says report "make_rows +rows.lua:[45]" # Lua 5.4.7 says where it goes on
}

# The archive needs no library of ours at run time.
case_lua_archive()
{
	build "$HEAPWISE_BUILD_DIR/libheapwise-writer.a" -lzstd -lm -lpthread
	ldd lua | grep heapwise && fail "it needs a library of ours"
	./lua -o objects.hwt rows.lua || fail "status $?"
	objects objects.hwt
}

# Into the trace of heapwise run: the same objects, beside malloc's blocks.
case_lua_recorded()
{
	not_sanitized "a program with that library in it is refused"
	build -L"$HEAPWISE_BUILD_DIR" -lheapwise-writer -Wl,-rpath,"$HEAPWISE_BUILD_DIR"
	./lua -o objects.hwt rows.lua || fail "status $?"
	record trace.hwt -- ./lua rows.lua
	equal "status" "$status" 0
	for type in table string function userdata thread; do
		equal "$type" "$(count trace.hwt "type == \"$type\" and call == \"pool\"")" "$(count objects.hwt "type == \"$type\"")"
	done
	at_least "blocks of malloc" "$(field trace.hwt '.calls.malloc + .calls.realloc')" 2800
	whole trace.hwt
	./lua rows.lua || fail "without a recorder: status $?"
}

# What cannot be written is told to the runtime, which goes on.
case_refused()
{
	build -L"$HEAPWISE_BUILD_DIR" -lheapwise-writer -Wl,-rpath,"$HEAPWISE_BUILD_DIR"
	./lua -o /nowhere/objects.hwt rows.lua 2>stderr && fail "it was written"
	says stderr "no such file"
	if [ -w /dev/full ]; then
		./lua -o /dev/full rows.lua 2>stderr && fail "it was written"
		says stderr "no space|input/output|illegal seek"
	fi
}

# As a user finds it: header, library and pkg-config file where they were installed.
case_installed()
{
	cmake --install "$HEAPWISE_BUILD_DIR" --prefix "$work/usr" >install || fail "cannot install"
	cat >one.c <<'C'
#include <heapwise/writer.h>
int main(void)
{
	struct heapwise_writer *writer = heapwise_writer_open("one.hwt", "one", 0);
	return heapwise_writer_alloc(writer, 1, 100, 0, heapwise_writer_type(writer, "thing")) || heapwise_writer_close(writer);
}
C
	export PKG_CONFIG_PATH=$work/usr/lib/pkgconfig
	${CC-gcc} one.c -o one $(pkg-config --cflags --libs heapwise-writer) $with_sanitizer || fail "cannot link"
	LD_LIBRARY_PATH=$work/usr/lib ./one || fail "status $?"
	equal "things" "$(count one.hwt 'type == "thing" and kept')" 1
	[ -e "$work/usr/share/man/man3/heapwise-writer.3" ] || fail "there is no manual page"
}

# Accesses by code that nobody instrumented, told by the program.
case_access()
{
	cat >told.c <<'C'
#include <heapwise/heapwise.h>
#include <stdlib.h>
int main(void)
{
	char *volatile block = malloc(1237);
	for (int i = 0; i < 5; i++) heapwise_access(block + 8, 16, 1);
	heapwise_access(block + 100, 4, 0);
	heapwise_access(&block, 8, 0); /* of no block */
	free(block);
	return 0;
}
C
	${CC-gcc} -O1 -fno-builtin told.c -o told -I"$HEAPWISE_SOURCE_DIR/include" || fail "cannot compile"
	./told || fail "without a recorder: status $?"
	record trace.hwt --access exact -- ./told
	equal "status" "$status" 0
	equal "writes and reads" "$(count trace.hwt 'size == 1237 and writes == 5 and reads == 1')" 1
}

run_case "$1"
finish
