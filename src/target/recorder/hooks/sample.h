/* SPDX-License-Identifier: MIT
 * Poisson sampling by bytes (--sample): an allocation of `size` bytes is recorded with probability
 * 1 - exp(-size / interval), and always from the interval upwards. Runs in the target.
 *
 * Nearly all calls are not recorded, and what those cost is what sampling costs: an allocation
 * counts its bytes down in one word of the thread, a free looks at one byte of a table, and both
 * end in a jump to the real function. Who finds the word too small, or the byte set, takes the
 * careful path of call.h, and has a closer look here before it begins. */
#ifndef TARGET_RECORDER_HOOKS_SAMPLE_H
#define TARGET_RECORDER_HOOKS_SAMPLE_H

#include "target/recorder/state/thread.h"

/* How many sampled blocks live in a kilobyte of address space, or in one of those that share a
 * place with it. So that what frees look at stays in the first cache: a heap of a megabyte uses 16
 * lines of it, and the rest is never touched. */
enum { HWR_SAMPLE_PLACES = 1 << 16 };
extern u8 hwr_sample_places[HWR_SAMPLE_PLACES] HWR_OWN;

static inline u8 *hwr_sample_place(u64 address) { return &hwr_sample_places[(u16)(address >> 10)]; }

/* Whether hooks count first. False in a forked child, as long as it is in no session of its own. */
static inline bool hwr_samples(void) { return load_relaxed(&hwr_token.on) == HWR_SAMPLES; }

/* True: an allocation of this size is not recorded, and counts as passed over. False says
 * nothing. */
static inline bool hwr_sample_passes(u64 size)
{
	u64 left = load_relaxed(&hwr_sample_left);

	if (unlikely(size >= left))
		return false;
	store_relaxed(&hwr_sample_left, left - size);
	return true;
}

/* A call that is passed over and gives nothing is recorded after all if it was for so many bytes.
 * Of smaller ones, which end in a jump to the real function, those are that are sampled. */
enum { HWR_SAMPLE_CERTAIN = 4096 };

/* True: the block that ends was not sampled. False says nothing. True in a forked child, too, which
 * frees what its parent had. */
static inline bool hwr_sample_ignores(u64 address)
{
	return likely(load_relaxed(&hwr_sample_left)) &&
	       likely(!load_relaxed(hwr_sample_place(address)));
}

/* The same on the way to the careful path, where the answer was false: looked at more closely. */
bool hwr_sample_passes_closely(u64 size);
bool hwr_sample_ignores_closely(u64 address);

static inline bool hwr_sample_lets_pass(u64 size)
{
	return hwr_samples() && hwr_sample_passes_closely(size);
}
static inline bool hwr_sample_lets_end(u64 address)
{
	return hwr_samples() && hwr_sample_ignores_closely(address);
}

/* The thread's careful path begins: until it lets something pass again all its calls ask. */
static inline void hwr_sample_close(struct hwr_thread *t)
{
	t->sample_left += (i64)hwr_sample_left;
	hwr_sample_left = 0;
}

/* Whether this allocation is recorded; if so its end will be too. */
bool hwr_sample_take(struct hwr_thread *t, u64 address, u64 size);

/* Whether the block that ends was recorded; it is forgotten. */
bool hwr_sample_drop(struct hwr_thread *t, u64 address);

/* Forgets all samples, while nothing is recorded: their frees are not seen. */
void hwr_sample_forget(void);

#endif
