/* SPDX-License-Identifier: MIT
 * Address and generation → module, against tables and against a model that is slow and plain. */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "host/trace/modmap.h"

static void tell(struct modmap *map, u32 id, u32 generation, u64 start, u64 end)
{
	struct stream_module module = { .id = id, .generation = generation, .base = start,
					.start = start, .end = end, .path = "x" };
	struct err err;

	if (modmap_tell(map, &module, &err))
		FAIL("%s", err.text);
}

#define NONE UINT32_MAX

static u32 find(struct modmap *map, u64 address, u32 generation)
{
	const struct modmap_module *module = modmap_find(map, address, generation);

	return module ? module->id : NONE;
}

TEST(ranges, "a module covers its start and not its end, and nothing is between modules")
{
	struct modmap map = { 0 };

	CHECK_EQ(find(&map, 0x1000, 0), NONE);
	tell(&map, 0, 0, 0x1000, 0x2000);
	tell(&map, 1, 0, 0x3000, 0x4000);
	CHECK_EQ(find(&map, 0xfff, 0), NONE);
	CHECK_EQ(find(&map, 0x1000, 0), 0);
	CHECK_EQ(find(&map, 0x1fff, 0), 0);
	CHECK_EQ(find(&map, 0x2000, 0), NONE);
	CHECK_EQ(find(&map, 0x3fff, 7), 1);
	CHECK_EQ(find(&map, UINT64_MAX, 0), NONE);
	modmap_release(&map);
}

TEST(generations, "a context sees the newest module of its generation, not a later one")
{
	static const struct {
		u64 address;
		u32 generation, want;
	} rows[] = {
		{ 0x1800, 0, 0 }, { 0x1800, 1, 0 }, { 0x1800, 2, 1 }, { 0x1800, 3, 1 },
		{ 0x1800, 4, 2 }, { 0x1800, 9, 2 }, { 0x2800, 1, 0 }, { 0x5000, 0, 3 },
		/* module 1 took the place of module 0, also where it is shorter */
		{ 0x2800, 2, NONE }, { 0x2800, 4, 2 },
	};
	struct modmap map = { 0 };

	tell(&map, 0, 0, 0x1000, 0x3000);
	tell(&map, 1, 2, 0x1000, 0x2000);
	tell(&map, 2, 4, 0x0800, 0x3000);
	tell(&map, 3, 0, 0x5000, 0x6000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_EQ(find(&map, rows[i].address, rows[i].generation), rows[i].want);
	modmap_release(&map);
}

TEST(unloaded, "a module that is told again as unloaded keeps its place until it is reused")
{
	struct modmap map = { 0 };
	struct stream_module again = { .id = 0, .unloaded_ticks = 77, .path = "y" };
	struct err err;

	tell(&map, 0, 0, 0x1000, 0x2000);
	CHECK_EQ(modmap_tell(&map, &again, &err), 0);
	CHECK_EQ(find(&map, 0x1000, 0), 0);
	CHECK_EQ(modmap_module(&map, 0)->unloaded_ticks, 77);
	CHECK_STR(modmap_module(&map, 0)->path, "x");
	tell(&map, 1, 1, 0x1000, 0x2000);
	CHECK_EQ(find(&map, 0x1000, 1), 1);
	CHECK_EQ(find(&map, 0x1000, 0), 0);
	modmap_release(&map);
}

TEST(contexts, "contexts inherit the generation of their root, and roots and cuts are no frames")
{
	static const struct stream_context contexts[] = {
		{ .id = 1, .parent = 0, .pc = 3 },        /* root of generation 3 */
		{ .id = 2, .parent = 1, .pc = 0x1801 },
		{ .id = 3, .parent = 2, .pc = 0x1000 },   /* the byte before it is outside */
		{ .id = 4, .parent = 0, .pc = 0x7f0000001801 },
		{ .id = 5, .parent = 0, .pc = 1, .flags = HW_NODE_CUT },
		{ .id = 6, .parent = 5, .pc = 0x1801 },
	};
	struct modmap map = { 0 };
	struct modmap_place place;
	struct err err;

	tell(&map, 0, 0, 0x1000, 0x2000);
	tell(&map, 1, 2, 0x1000, 0x2000);
	CHECK_EQ(modmap_tell_contexts(&map, contexts, 6, &err), 0);
	CHECK_EQ(modmap_generation(&map, 2), 3);
	CHECK_EQ(modmap_generation(&map, 3), 3);
	CHECK_EQ(modmap_generation(&map, 4), 0);
	CHECK_EQ(modmap_generation(&map, 6), 0);
	CHECK_EQ(modmap_generation(&map, 12345), 0);
	CHECK(!context_is_frame(&contexts[0]));
	CHECK(context_is_frame(&contexts[1]));
	CHECK(context_is_frame(&contexts[3]));
	CHECK(!context_is_frame(&contexts[4]));
	CHECK(!modmap_place(&map, &contexts[0], &place));
	CHECK(modmap_place(&map, &contexts[1], &place));
	CHECK_EQ(place.module->id, 1);
	CHECK_EQ(place.address, 0x800);
	CHECK(!modmap_place(&map, &contexts[2], &place));
	CHECK(!modmap_place(&map, &contexts[3], &place));
	CHECK(modmap_place(&map, &contexts[5], &place));
	CHECK_EQ(place.module->id, 0);
	modmap_release(&map);
}

TEST(bad_ids, "numbers out of range are refused, and odd ranges cover nothing")
{
	struct modmap map = { 0 };
	struct stream_module module = { .id = UINT32_MAX, .start = 1, .end = 2 };
	struct stream_context context = { .id = UINT32_MAX };
	struct err err;

	CHECK_EQ((u64)modmap_tell(&map, &module, &err), (u64)ERR_INPUT);
	CHECK_EQ((u64)modmap_tell_contexts(&map, &context, 1, &err), (u64)ERR_INPUT);
	tell(&map, 40, 0, 0x2000, 0x1000);
	tell(&map, 41, 0, 0x1000, 0x1000);
	CHECK_EQ(find(&map, 0x1800, 0), NONE);
	CHECK(modmap_module(&map, 7) == NULL);
	CHECK(modmap_module(&map, 40) != NULL);
	CHECK(modmap_module(&map, 42) == NULL);
	modmap_release(&map);
}

struct plain {
	u64 start, end;
	u32 generation;
};

/* Replays the loads up to a generation in order, each one throwing out what it overlaps. */
static u32 plain_find(const struct plain *modules, u32 count, u64 address, u32 generation)
{
	bool gone[64] = { 0 };

	for (u32 g = 0; g <= generation; g++)
		for (u32 i = 0; i < count; i++)
			for (u32 k = 0; modules[i].generation == g && k < count; k++)
				if (k != i && modules[k].start < modules[i].end &&
				    modules[i].start < modules[k].end &&
				    (modules[k].generation < g ||
				     (modules[k].generation == g && k < i)))
					gone[k] = true;
	for (u32 i = 0; i < count; i++)
		if (!gone[i] && modules[i].generation <= generation &&
		    address >= modules[i].start && address < modules[i].end)
			return i;
	return NONE;
}

TEST(random_loads, "random loads and reloads give what a plain replay gives")
{
	unsigned seed = 5;

	for (int round = 0; round < 300; round++) {
		struct plain modules[64];
		struct modmap map = { 0 };
		u32 count = 1 + (u32)rand_r(&seed) % 40;

		for (u32 i = 0; i < count; i++) {
			modules[i].start = (u64)rand_r(&seed) % 30;
			modules[i].end = modules[i].start + 1 + (u64)rand_r(&seed) % 6;
			modules[i].generation = (u32)rand_r(&seed) % 8;
			tell(&map, i, modules[i].generation, modules[i].start, modules[i].end);
		}
		for (u64 address = 0; address < 40; address++)
			for (u32 generation = 0; generation < 9; generation++)
				if (!CHECK_EQ(find(&map, address, generation),
					      plain_find(modules, count, address, generation)))
					FAIL("round %d", round);
		modmap_release(&map);
	}
}

TEST(many_reloads, "a module that is loaded 60,000 times in one place is searched quickly")
{
	struct modmap map = { 0 };

	for (u32 i = 0; i < 60000; i++)
		tell(&map, i, i, 0x1000, 0x2000);
	for (u32 i = 0; i < 60000; i++)
		if (!CHECK_EQ(find(&map, 0x1800, i), i))
			break;
	modmap_release(&map);
}
