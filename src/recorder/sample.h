/* SPDX-License-Identifier: MIT
 * Poisson sampling by bytes (--sample): an allocation of `size` bytes is recorded with probability
 * 1 - exp(-size / interval), and always from the interval upwards. Runs in the target. */
#ifndef RECORDER_SAMPLE_H
#define RECORDER_SAMPLE_H

#include "recorder/thread.h"

/* Whether this allocation is recorded; if so its end will be too. */
bool hwr_sample_take(struct hwr_thread *t, u64 address, u64 size);

/* Whether the block that ends was recorded; it is forgotten. */
bool hwr_sample_drop(u64 address);

/* Forgets all samples, while nothing is recorded: their frees are not seen. */
void hwr_sample_forget(void);

#endif
