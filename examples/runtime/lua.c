/* SPDX-License-Identifier: MIT
 * lua [-o TRACE] SCRIPT   a Lua interpreter that tells Heapwise of its objects: with -o it writes a trace of its own, in
 * which stacks are those of Lua functions; without, they stand in the trace of 'heapwise run', beside malloc's blocks.
 *
 *	cc lua.c -o lua $(pkg-config --cflags --libs lua5.4) -lheapwise-writer
 *
 * Nothing of Lua is changed. Its allocator function learns what a new block is for, and where a block ends that
 * the collector frees; who runs is asked of the debug interface, which allocates nothing for what is asked here.
 * Coroutines are not followed: what they allocate is told of the function that resumed them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include <heapwise/heapwise.h>
#include <heapwise/writer.h>

enum { DEPTH = 64 };

struct telling {
	struct heapwise_writer *writer; /* NULL: to the recorder */
	lua_State *state;               /* NULL until there is one */
};

/* What lua_Alloc gets instead of the old size when a block begins. */
static const char *type_of(size_t kind)
{
	switch (kind) {
	case LUA_TSTRING: return "string";
	case LUA_TTABLE: return "table";
	case LUA_TFUNCTION: return "function";
	case LUA_TUSERDATA: return "userdata";
	case LUA_TTHREAD: return "thread";
	default: return "internal"; /* arrays, hash parts, code … of other objects */
	}
}

static uint32_t function_of(struct telling *self, lua_Debug *level)
{
	const char *name;
	char text[160];

	if (!lua_getinfo(self->state, "Sln", level))
		return 0;
	name = level->name;
	if (strcmp(level->what, "main") == 0)
		name = "main chunk";
	if (!name) {
		snprintf(text, sizeof text, "function <%s:%d>", level->short_src, level->linedefined);
		name = text;
	}
	return heapwise_writer_function(self->writer, name, level->short_src,
					level->currentline > 0 ? (uint32_t)level->currentline : 0);
}

/* The Lua stack, outermost first, as a number. */
static uint32_t stack_now(struct telling *self)
{
	lua_Debug level;
	uint32_t functions[DEPTH], stack = 0;
	int depth = 0;

	for (; self->state && depth < DEPTH && lua_getstack(self->state, depth, &level); depth++)
		functions[depth] = function_of(self, &level);
	while (depth > 0)
		stack = heapwise_writer_stack(self->writer, stack, functions[--depth]);
	return stack;
}

static void tell_birth(struct telling *self, void *block, size_t size, size_t kind)
{
	if (!self->writer)
		heapwise_alloc(block, size, type_of(kind));
	else
		heapwise_writer_alloc(self->writer, (uintptr_t)block, size, stack_now(self),
				      heapwise_writer_type(self->writer, type_of(kind)));
}

static void tell_end(struct telling *self, void *block)
{
	if (!self->writer)
		heapwise_free(block);
	else
		heapwise_writer_free(self->writer, (uintptr_t)block, 0);
}

/* lua_Alloc: `old` is the size of block, or what a new one is for. */
static void *allocate(void *self_, void *block, size_t old, size_t size)
{
	struct telling *self = self_;
	uintptr_t before = (uintptr_t)block;
	void *result;

	if (size == 0) {
		if (block)
			tell_end(self, block);
		free(block);
		return NULL;
	}
	if (block && !self->writer)
		heapwise_free(block);
	result = realloc(block, size);
	if (!block && result)
		tell_birth(self, result, size, old);
	else if (block && !self->writer)
		heapwise_alloc(result ? result : (void *)before, result ? size : old, type_of(0));
	else if (result)
		heapwise_writer_move(self->writer, before, (uintptr_t)result, size, stack_now(self));
	return result;
}

static int run(struct telling *self, const char *script)
{
	lua_State *state = lua_newstate(allocate, self);
	int failed;

	if (!state)
		return 1;
	luaL_openlibs(state);
	self->state = state;
	failed = luaL_dofile(state, script);
	if (failed)
		fprintf(stderr, "lua: %s\n", lua_tostring(state, -1));
	self->state = NULL;
	lua_close(state);
	return failed != 0;
}

int main(int argc, char **argv)
{
	struct telling telling = {NULL, NULL};
	int status;

	if (argc == 4 && strcmp(argv[1], "-o") == 0) {
		telling.writer = heapwise_writer_open(argv[2], argv[3], 0);
		if (!telling.writer) {
			perror(argv[2]);
			return 1;
		}
	} else if (argc != 2) {
		fprintf(stderr, "usage: lua [-o TRACE] SCRIPT\n");
		return 2;
	}
	status = run(&telling, argv[argc - 1]);
	if (telling.writer && heapwise_writer_close(telling.writer) < 0) {
		perror(argv[2]);
		return 1;
	}
	return status;
}
