/* SPDX-License-Identifier: MIT
 * Symbols that are read ahead, on another thread. */
#include <time.h>

#include "host/symbols/prepare.h"
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

/* The answers that are there after some time, without the file. Half of the addresses are told, or all. */
static bool answered_ahead(const char *name, const struct addresses *addresses, const struct asked *want, u64 step, long wait_ms)
{
	struct timespec wait = { .tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000 };
	struct symbolizer_module module = { .path = in_folder("moved") };
	struct prepare *prepare = prepare_new();
	struct asked got = { 0 };
	struct err err = { 0 };
	bool same = true;
	u32 number;

	MUST("cp %s moved", name);
	number = prepare_module(prepare, &module);
	for (u64 i = 0; i < addresses->count; i += step)
		CHECK(prepare_addresses(prepare, &(struct prepare_address){ number, addresses->data[i] }, 1));
	CHECK(prepare_addresses(prepare, &(struct prepare_address){ number, addresses->data[0] }, 1)); /* once more */
	prepare_hurry(prepare);
	nanosleep(&wait, NULL);
	got.symbolizer = prepare_finish(prepare);
	got.answers = calloc(addresses->count + 1, sizeof(*got.answers));
	CHECK_EQ(symbolizer_add(got.symbolizer, &module, &number, &err), 0);
	if (step == 1) {
		symbolizer_drop(got.symbolizer, number);
		MUST("rm moved");
	}
	CHECK_EQ(symbolizer_resolve(got.symbolizer, &(struct symbolizer_query){number, addresses->data, addresses->count, got.answers}, &err), 0);
	for (u64 i = 0; i < addresses->count; i++)
		same &= same_answer(&got.answers[i], &want->answers[i]);
	free(got.answers);
	prepare_free(prepare);
	return same;
}

TEST(addresses, "addresses that were told are answered before they are asked for, and as if they had not been told")
{
	struct addresses addresses;
	struct asked want;
	bool same = false;

	need("g++", "g++");
	MUST("g++ -O2 -g -o one " TARGETS "/symbols_inline.cpp");
	addresses = code_addresses(in_folder("one"), 16);
	want = ask_file(in_folder("one"), &addresses);
	for (long wait_ms = 50; !same && wait_ms < 8000; wait_ms *= 2)
		same = answered_ahead("one", &addresses, &want, 1, wait_ms);
	CHECK(same);
	CHECK(answered_ahead("one", &addresses, &want, 2, 100));
	CHECK(answered_ahead("one", &addresses, &want, 7, 0));
	asked_release(&want);
	vec_release(&addresses);
}

TEST(too_many, "of very many addresses some are enough, and wrong modules harm nothing")
{
	struct symbolizer_module module = { .path = "/proc/self/exe" };
	struct prepare *prepare = prepare_new();
	u32 number = prepare_module(prepare, &module);
	u64 wanted = 0;

	CHECK(prepare_addresses(prepare, &(struct prepare_address){ number + 1, 5 }, 1));
	CHECK(prepare_addresses(prepare, &(struct prepare_address){ PREPARE_NO_MODULE, 5 }, 1));
	while (wanted < 1000000 && prepare_addresses(prepare, &(struct prepare_address){ number, wanted }, 1))
		wanted++;
	CHECK(wanted > 1000 && wanted < 100000);
	prepare_hurry(prepare);
	CHECK(prepare_finish(prepare) != NULL);
	prepare_free(prepare);
	CHECK(!prepare_addresses(NULL, &(struct prepare_address){ 0, 5 }, 1));
	prepare_hurry(NULL);
}
