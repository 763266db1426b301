/* SPDX-License-Identifier: MIT
 * The contract of src/format: numbers that both processes and every trace file rely on. */
#include "format/moment.h"
#include "format/record.h"
#include "format/session.h"
#include "format/varint.h"
#include "lib/test.h"

#include <string.h>

static const u64 numbers[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, (u64)1 << 63, UINT64_MAX};

TEST(varint_round_trip, "a number is read back as it was written")
{
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		u8 bytes[HW_VARINT_MAX];
		const u8 *end = hw_varint_put(bytes, numbers[i]);
		u64 value = ~numbers[i];

		CHECK(hw_varint_get(bytes, end, &value) == end);
		CHECK_EQ(value, numbers[i]);
	}
}

TEST(varint_cut, "a number that is cut off is refused at every length")
{
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		u8 bytes[HW_VARINT_MAX];
		const u8 *end = hw_varint_put(bytes, numbers[i]);
		u64 value;

		for (const u8 *cut = bytes; cut < end; cut++)
			CHECK(hw_varint_get(bytes, cut, &value) == NULL);
	}
}

TEST(varint_endless, "a number without an end is refused")
{
	u8 bytes[64];
	u64 value;

	memset(bytes, 0xff, sizeof bytes);
	CHECK(hw_varint_get(bytes, bytes + sizeof bytes, &value) == NULL);
}

TEST(zigzag, "signed numbers survive zigzag, and small ones stay small")
{
	static const i64 signed_numbers[] = {0, -1, 1, -64, 63, INT64_MIN, INT64_MAX};

	for (size_t i = 0; i < sizeof signed_numbers / sizeof *signed_numbers; i++)
		CHECK_EQ(hw_unzigzag(hw_zigzag(signed_numbers[i])), signed_numbers[i]);
	CHECK_EQ(hw_zigzag(-1), 1);
	CHECK_EQ(hw_zigzag(-64), 127);
}

TEST(kinds, "each kind of event allocates, frees, or neither")
{
	static const struct {
		u32 kind;
		char group;
	} kinds[] = {
#define KIND_GROUP(name, number, group, call) {HW_##name, #group[0]},
		HW_KINDS(KIND_GROUP)
#undef KIND_GROUP
	};

	CHECK_EQ(sizeof kinds / sizeof *kinds, HW_KIND_COUNT);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		CHECK_EQ(kinds[i].kind, i);
		CHECK_EQ(hw_kind_allocates(kinds[i].kind), kinds[i].group == 'A');
		CHECK_EQ(hw_kind_frees(kinds[i].kind), kinds[i].group == 'F');
	}
}

TEST(layout, "shared structs have the layout that both sides were built for")
{
	CHECK_EQ(sizeof(struct hw_record), 32);
	CHECK_EQ(sizeof(struct hw_node), 16);
	CHECK_EQ(sizeof(struct hw_slot), 3 * HW_CACHE_LINE);
	CHECK_EQ(sizeof(struct hw_berth), 16);
	CHECK_EQ(sizeof(struct hw_module_note), 48);
	CHECK(sizeof(struct hw_control) <= 4096);
}

static u64 readings;

/* As if the thread had to wait after each reading but the third; says which it is. */
static u64 held_up(void)
{
	u64 from = hw_ticks();

	readings++;
	while (readings != 3 && hw_ticks() - from < 2000000)
		;
	return readings;
}

TEST(moment, "clocks that were read with a pause between them do not count")
{
	u64 before = hw_ticks();
	struct hw_moment moment;

	readings = 0;
	moment = hw_moment_read(held_up);
	CHECK_EQ(moment.ns, 3);
	CHECK(moment.ticks > before && moment.ticks < hw_ticks());
}
