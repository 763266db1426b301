/* SPDX-License-Identifier: MIT
 * Poisson sampling by bytes (--sample): an allocation of `size` bytes is recorded with probability
 * 1 - exp(-size / interval), and always from the interval upwards. Runs in the target. */
#ifndef RECORDER_SAMPLE_H
#define RECORDER_SAMPLE_H

#include "recorder/thread.h"

/* How many sampled blocks live in some 64 bytes of address space, of those that share a place here. Nearly all blocks that end
 * were not sampled, and find that out in a table that fits into the first cache; neighbours share lines of it. */
enum { HWR_SAMPLE_PLACES = 1 << 14 };
extern u8 hwr_sample_places[HWR_SAMPLE_PLACES];

static inline u8 *hwr_sample_place(u64 address)
{
	return &hwr_sample_places[((address >> 6) + (address >> 20) * 0x9e37) % HWR_SAMPLE_PLACES];
}

/* The calling thread if it samples and nothing else is going on, else NULL. */
static inline struct hwr_thread *hwr_sampling(void)
{
	struct hwr_thread *t = hwr_self;

	return t && t->state == HWR_SAMPLING && load_relaxed(&hwr_token.on) ? t : NULL;
}

/* True: an allocation of this size is not recorded, and counts as passed over. */
static inline bool hwr_sample_passes(u64 size)
{
	struct hwr_thread *t = hwr_sampling();

	if (!t || (i64)size >= t->sample_left || size >= hwr_control->sample_bytes)
		return false;
	t->sample_left -= (i64)size;
	return true;
}

/* True: the block that ends was not sampled. False says nothing. */
static inline bool hwr_sample_ignores(u64 address)
{
	return hwr_sampling() && !load_relaxed(hwr_sample_place(address));
}

/* Whether this allocation is recorded; if so its end will be too. */
bool hwr_sample_take(struct hwr_thread *t, u64 address, u64 size);

/* Whether the block that ends was recorded; it is forgotten. */
bool hwr_sample_drop(u64 address);

/* For a new image: hooks that look first whether a call is sampled, or those that record; hooks.c. */
void hwr_hooks_sample(bool sampling);

/* Forgets all samples, while nothing is recorded: their frees are not seen. */
void hwr_sample_forget(void);

#endif
