/* SPDX-License-Identifier: MIT
 * Which allocations are sampled, and which live blocks were. Runs in the target; lock-free. */
#include "target/recorder/hooks/sample.h"

#include "target/recorder/state/buckets.h"

enum {
	TIMED_EVERY = 4,  /* records */
	TIMED_BEHIND = 8, /* calls, and up to 7 more */
};
enum { BUCKET_BITS = 15 }; /* 262,144 live samples at the most: 2 MB, touched as needed */

static u64 live[HWR_BUCKET << BUCKET_BITS] __attribute__((aligned(HW_CACHE_LINE)));
static const struct hwr_buckets buckets = {live, BUCKET_BITS};

u8 hwr_sample_places[HWR_SAMPLE_PLACES] __attribute__((aligned(HW_CACHE_LINE)));

/* A place that was ever full stays so: then the buckets are asked. */
static void place_add(u64 address, u8 more)
{
	u8 *place = hwr_sample_place(address), count = load_relaxed(place);

	while (count != UINT8_MAX && !cas_acq_rel(place, &count, (u8)(count + more)))
		;
}

static bool swap(u64 address, u64 from, u64 to)
{
	return hwr_buckets_swap(buckets, address >> 4, from, to);
}

static bool is_live(u64 address)
{
	const u64 *one = hwr_bucket_of(buckets, address >> 4, false);
	const u64 *other = hwr_bucket_of(buckets, address >> 4, true);
	bool found = false;

	for (u32 i = 0; i < HWR_BUCKET; i++)
		found |= load_relaxed(&one[i]) == address || load_relaxed(&other[i]) == address;
	return found;
}

/* -ln(u) for u = bits / 2^64: the exponent by counting zeros, the mantissa by a polynomial that is
 * right to 1e-4. No floating-point library call may happen in a stranger's process. */
static double minus_log(u64 bits)
{
	u32 zeros = bits ? (u32)__builtin_clzll(bits) : 64;
	double m = (double)(bits << zeros >> 11) / 4503599627370496.0; /* 1 to 2 */
	double ln_m = -1.7417939 +
		      (2.8212026 + (-1.4699568 + (0.44717955 - 0.056570851 * m) * m) * m) * m;

	return 0.6931471805599453 * (double)(zeros + 1) - ln_m;
}

static void draw_distance(struct hwr_thread *t)
{
	u64 x = t->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	t->random = x;
	t->sample_left = 1 + (i64)(minus_log(x * 0x2545f4914f6cdd1dull | 1) *
				   (double)hwr_control->sample_bytes);
}

/* The calling thread if it samples and nothing else is going on, else NULL. */
static struct hwr_thread *sampling(void)
{
	struct hwr_thread *t = hwr_self;

	return t && t->state == HWR_SAMPLING ? t : NULL;
}

/* Its next calls need not ask: up to the interval, from which on all are recorded. */
static void open(struct hwr_thread *t)
{
	u64 interval = hwr_control->sample_bytes, left = (u64)t->sample_left;

	hwr_sample_left = left < interval ? left : interval;
	t->sample_left -= (i64)hwr_sample_left;
}

bool hwr_sample_passes_closely(u64 size)
{
	struct hwr_thread *t = sampling();

	if (!t)
		return false;
	hwr_sample_close(t);
	if ((i64)size >= t->sample_left || size >= hwr_control->sample_bytes)
		return false;
	t->sample_left -= (i64)size;
	open(t);
	return true;
}

bool hwr_sample_ignores_closely(u64 address)
{
	struct hwr_thread *t = sampling();

	if (!t || (load_relaxed(hwr_sample_place(address)) && is_live(address)))
		return false;
	if (!hwr_sample_left && t->sample_left > 0)
		open(t);
	return true;
}

static bool is_sampled(struct hwr_thread *t, u64 size)
{
	if (size >= hwr_control->sample_bytes)
		return true;
	if (t->sample_left < 0)
		draw_distance(t);
	t->sample_left -= (i64)size;
	if (t->sample_left > 0)
		return false;
	draw_distance(t);
	return true;
}

/* After one in a few events that are recorded a call is timed, some way behind: code that ran for
 * the last time long ago is slow. Until then all calls take the careful path. It stands for as many
 * calls as the event, whose block is told with it. */
static void time_one(struct hwr_thread *t, u64 address)
{
	if (++t->samples_untimed < TIMED_EVERY || t->state & HWR_TIME_CALL ||
	    !(hwr_control->flags & HW_RUN_DURATIONS))
		return;
	t->timed_for = address & ~HW_POOL_ADDRESS;
	t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
	t->calls_to_timed = TIMED_BEHIND + (u32)(t->random >> 61);
	t->samples_untimed = 0;
	t->state |= HWR_TIME_CALL;
}

bool hwr_sample_take(struct hwr_thread *t, u64 address, u64 size)
{
	if (!is_sampled(t, size))
		return false;
	place_add(address, 1);
	if (swap(address, 0, address)) {
		time_one(t, address);
		return true;
	}
	place_add(address, (u8)-1);
	hwr_fault(HW_FAULT_SAMPLE_FULL);
	return false;
}

/* Their counts stay: one that is too high costs a look, and a thread may be between count and
 * sample. */
void hwr_sample_forget(void)
{
	for (u32 i = 0; i < sizeof live / sizeof *live; i++)
		if (load_relaxed(&live[i])) /* pages that were never touched stay so */
			store_relaxed(&live[i], 0);
}

bool hwr_sample_drop(struct hwr_thread *t, u64 address)
{
	if (!swap(address, address, 0))
		return false;
	place_add(address, (u8)-1);
	time_one(t, address);
	return true;
}
