/* SPDX-License-Identifier: MIT
 * Pointers as a scan comes across them: where each stands and what it holds, in eight bytes, to be
 * resolved when the program runs again. Memory only. */
#ifndef LIVE_SCAN_POINTERS_H
#define LIVE_SCAN_POINTERS_H

#include "host/base/vec.h"

enum {
	POINTER_STEP_BITS = 16, /* words from the one before; the value has the other bits */
	POINTER_FAR = (1 << POINTER_STEP_BITS) - 1, /* where the next one stands is a word */
};

struct scan_pointers { /* all zero = empty, of values from 0 on */
	u64 low;       /* no value is less, or more than so many bits allow above it */
	u64 last;      /* where the last one stands */
	VEC(u64) words;
};

/* `at` is a multiple of 8, like all of them. False without memory. */
static inline bool scan_pointers_add(struct scan_pointers *self, u64 at, u64 value)
{
	u64 step = (at - self->last) / 8;

	if (unlikely(step >= POINTER_FAR)) {
		if (!vec_push(&self->words, POINTER_FAR) || !vec_push(&self->words, at))
			return false;
		step = 0;
	}
	self->last = at;
	return vec_push(&self->words, (value - self->low) << POINTER_STEP_BITS | step);
}

struct scan_pointers_reader {
	const u64 *next, *end;
	u64 low, at;
};

static inline struct scan_pointers_reader scan_pointers_read(const struct scan_pointers *self)
{
	return (struct scan_pointers_reader){self->words.data, self->words.data + self->words.count,
					     self->low, 0};
}

/* False at the end. */
static inline bool scan_pointers_next(struct scan_pointers_reader *self, u64 *at, u64 *value)
{
	u64 word;

	if (self->next == self->end)
		return false;
	word = *self->next++;
	if (word == POINTER_FAR) {
		self->at = *self->next++;
		word = *self->next++;
	}
	self->at += (word & POINTER_FAR) * 8;
	*at = self->at;
	*value = self->low + (word >> POINTER_STEP_BITS);
	return true;
}

#endif
