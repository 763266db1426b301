/* SPDX-License-Identifier: MIT
 * Symbols that are read ahead, on another thread. */
#include <time.h>

#include "symbols/prepare.h"
#include "symbols_tools.h"

/* Its state once it was told among others, and some time has passed. The symbolizer belongs to the
 * thread until prepare_finish, so that only then it can be asked. */
static enum symbolizer_state state_after(const struct symbolizer_module *modules, u32 count,
					 long wait_ms)
{
	struct timespec wait = { .tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000 };
	struct prepare *prepare = prepare_new();
	enum symbolizer_state state;
	struct err err = { 0 };
	u32 number = UINT32_MAX;

	for (u32 i = 0; i < count; i++)
		prepare_module(prepare, &modules[i]);
	nanosleep(&wait, NULL);
	CHECK_EQ(symbolizer_add(prepare_finish(prepare), &modules[count - 1], &number, &err), 0);
	state = symbolizer_state(prepare_finish(prepare), number);
	prepare_free(prepare);
	return state;
}

/* The thread rests while others want all processors: a busy machine makes it late. */
static enum symbolizer_state state_of_last(const struct symbolizer_module *modules, u32 count)
{
	enum symbolizer_state state = SYMBOLIZER_UNREAD;

	for (long wait_ms = 50; state == SYMBOLIZER_UNREAD && wait_ms < 8000; wait_ms *= 2)
		state = state_after(modules, count, wait_ms);
	return state;
}

TEST(ahead, "a module that was told is read before it is asked for")
{
	struct symbolizer_module modules[] = {
		{ .path = "/proc/self/exe" },
		{ .path = "/proc/self/exe" },
	};

	CHECK(state_of_last(modules, 2) >= SYMBOLIZER_STRIPPED);
}

TEST(missing, "a module without a file, with another build-id or that is no module harms nothing")
{
	struct symbolizer_module modules[] = {
		{ .path = "/dev/null" },
		{ .path = "" },
		{ .path = "/proc/self/exe", .build_id = (const u8 *)"xyz", .build_id_bytes = 3 },
		{ .path = "/nowhere/at/all" },
	};

	CHECK_EQ(state_of_last(modules, 4), SYMBOLIZER_MISSING);
}

TEST(nothing, "with no module, and without memory for it at all, everything goes on")
{
	struct prepare *prepare = prepare_new();

	CHECK(prepare_finish(prepare) != NULL);
	CHECK(prepare_finish(prepare) != NULL);
	prepare_free(prepare);
	prepare_module(NULL, &(struct symbolizer_module){ .path = "/proc/self/exe" });
	CHECK(prepare_finish(NULL) == NULL);
	prepare_free(NULL);
}

TEST(stop, "it stops at once though many modules wait")
{
	struct prepare *prepare = prepare_new();
	char path[64];

	for (u32 i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "/proc/self/exe%.*s", (int)(i % 40),
			 "////////////////////////////////////////");
		prepare_module(prepare, &(struct symbolizer_module){ .path = path });
	}
	CHECK(prepare_finish(prepare) != NULL);
	prepare_free(prepare);
}
