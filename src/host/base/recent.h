/* SPDX-License-Identifier: MIT
 * The last answers to a question that is asked millions of times about few things: a key that falls
 * into the place of another one replaces it. All zero is empty.
 *
 *	struct recent_slot *slot = recent_at(&recent, key);
 *	if (slot->key != key)
 *		*slot = (struct recent_slot){key, answer(key)};
 *	use(slot->value);
 *
 * Keys are not 0. */
#ifndef HOST_BASE_RECENT_H
#define HOST_BASE_RECENT_H

#include "format/types.h"

enum { RECENT_BITS = 10 };

struct recent_slot {
	u64 key, value;
};

struct recent {
	struct recent_slot slots[1 << RECENT_BITS];
};

static inline struct recent_slot *recent_at(struct recent *self, u64 key)
{
	return &self->slots[key * 0x9e3779b97f4a7c15ull >> (64 - RECENT_BITS)];
}

#endif
