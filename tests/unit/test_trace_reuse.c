/* SPDX-License-Identifier: MIT
 * The encoder's freed addresses against those of the model that the decoder runs, and its short numbers against
 * the plain ones. */
#include <string.h>

#include "lib/test.h"
#include "format/varint.h"
#include "host/trace/predict.h"
#include "host/trace/reuse.h"

enum { ROUNDS = 200000 };

static u64 random_next(u64 *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 24;
}

/* Pushes and takes out at random; whatever is found must be there in the model, too, and at this depth. Returns how
 * often something was found. */
static u64 reuse_run(u64 windows, u64 step)
{
	static struct predict model;
	static struct reuse reuse;
	struct reuse_slot *slot = &reuse.slots[7];
	u64 random = windows, found = 0;

	predict_reset(&model);
	memset(&reuse, 0, sizeof(reuse));
	for (u32 i = 0; i < ROUNDS; i++) {
		u64 address = (random_next(&random) % windows + 1) << 32 | (random_next(&random) % 6 + 1) * step;
		u32 key = reuse_key(&reuse, address), depth = reuse_find(slot, key);

		if (depth != REUSE_NONE) {
			reuse_pop(slot, depth);
			CHECK_EQ(predict_pop(&model, 7, depth), address);
			found++;
		} else {
			reuse_push(slot, key);
			predict_push(&model, 7, address);
		}
	}
	return found;
}

TEST(same, "a freed address is found where the decoder has it")
{
	CHECK(reuse_run(1, 16) > ROUNDS / 4);
	CHECK(reuse_run(1, 1 << 20) > ROUNDS / 4);
}

TEST(windows, "addresses all over the address space are not mixed up")
{
	CHECK(reuse_run(3, 16) > 0);
	CHECK(reuse_run(40, 16) > 0);
}

TEST(odd, "addresses that have no key are never found")
{
	CHECK_EQ(reuse_run(1, 16 * 3 + 1), 0);
}

TEST(numbers, "short numbers are written as plain ones are")
{
	u64 random = 1;

	for (u32 i = 0; i < ROUNDS; i++) {
		u32 value = (u32)(random_next(&random) & (HW_VARINT_SHORT - 1)) >> random_next(&random) % 28;
		u8 plain[HW_VARINT_MAX], short_form[HW_VARINT_MAX];
		u64 bytes = (u64)(hw_varint_put(plain, value) - plain);

		CHECK_EQ(hw_varint_put_short(short_form, value), bytes);
		CHECK(memcmp(plain, short_form, bytes) == 0);
	}
}
