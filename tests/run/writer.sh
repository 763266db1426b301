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

	flags=$(pkg-config --cflags --libs lua5.4 2>/dev/null) || skip "Lua 5.4 is not installed"
	${CC-gcc} -Wall -Wextra -Werror -O1 -g "$HEAPWISE_SOURCE_DIR/examples/runtime/lua.c" -o lua -I"$HEAPWISE_SOURCE_DIR/include" \
		$flags "$@" 2>log || fail "the example does not build: $(head -3 log)"
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
	says report "make_rows +rows.lua:4"
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

run_case "$1"
finish
