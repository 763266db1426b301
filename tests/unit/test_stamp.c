/* SPDX-License-Identifier: MIT
 * Stamps that are estimated: how far they may be ahead of the counter. */
#define HWR_ALONE
#include "lib/test.h"
#include "target/recorder/state/stamp.c"

static struct hwr_thread thread;

/* Takes as many estimates as it may, from a reading of the counter on; 0 = none. */
static u32 estimates(u64 *now, u32 gap, u32 truth)
{
	u32 pair = hwr_stamp_pair(&thread, 1), taken = 0;
	struct hwr_pace pace = {.pair = pair, .gap_ticks = (u16)gap};

	for (; hwr_stamp_is_known(&thread, &pace, pair); taken++, *now += truth)
		hwr_stamp_estimate(&thread, &pace, 1);
	return taken;
}

TEST(lead, "estimates that are too long are never far ahead of the counter")
{
	enum { AT_ONCE = 14, GAP = 1000, TRUTH = 10, ROUNDS = 1000 };
	u64 now = 1 << 20, mark = (u64)&hwr_rseq_mark, last = 0;
	u32 taken = 0;

	hwr_stamps_estimated = AT_ONCE;
	thread.mark_word = &mark;
	for (u32 i = 0; i < ROUNDS; i++, now += TRUTH) {
		hwr_stamp_take(&thread, now);
		CHECK(thread.stamp >= last + HW_TICKS_APART);
		last = thread.stamp;
		CHECK(last <= now + HWR_PACE_MAX_TICKS + AT_ONCE * GAP);
		taken += estimates(&now, GAP, TRUTH);
	}
	CHECK(taken > 0);
	now = thread.stamp + 1;
	hwr_stamp_take(&thread, now);
	CHECK_EQ(thread.stamp, now);
	CHECK_EQ(estimates(&now, GAP, TRUTH), AT_ONCE);
}
