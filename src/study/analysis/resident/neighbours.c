/* SPDX-License-Identifier: MIT
 * Size classes by the addresses of blocks; see neighbours.h.
 * Host. */
#include "study/analysis/resident/neighbours.h"

#include <stdlib.h>
#include <string.h>

#include "host/base/order.h"

enum {
	WINDOW = 1 << 18, /* bytes that are looked at as a whole */
	BLOCKS = 100000,
	/* Pairs that do not fit the rules, as a part of all: some are bound to be, as of blocks
	 * that were requested with an alignment. */
	OVERLAPS_PART = 100,
	LOOSE_PART = 2,
	PAIRS_MIN = 16, /* to say that the rules do not hold, for all or for a size */
};

u64 neighbours_windows(const struct model *model)
{
	u64 blocks = model_count(model, model->totals.peak_chunks), windows = 1;

	while (blocks / windows > BLOCKS)
		windows *= 2;
	return windows;
}

bool neighbours_add(struct neighbours *self, u32 moment, u64 address, u64 size)
{
	u64 hash = address / WINDOW * 0x9e3779b97f4a7c15;

	return (hash >> 32) % self->windows || !size || size > UINT32_MAX ||
	       vec_push(&self->blocks[moment], ((struct neighbour){address, size}));
}

static int by_address(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	return rising(x->address, y->address);
}

/* A block, and how far behind it the next one begins. */
struct pair {
	u64 size, apart;
};

struct pairs {
	struct pair *data;
	u64 count, capacity;
};

static int by_size(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return rising(x->size, y->size) ?: rising(x->apart, y->apart);
}

static bool find_pairs(struct neighbours *self, struct pairs *pairs)
{
	for (u32 moment = 0; moment < NEIGHBOUR_MOMENTS; moment++) {
		const struct neighbour *blocks = self->blocks[moment].data;

		vec_sort(&self->blocks[moment], by_address);
		for (u64 i = 0; i + 1 < self->blocks[moment].count; i++) {
			struct pair pair = {blocks[i].size,
					    blocks[i + 1].address - blocks[i].address};

			if (pair.apart >= pair.size && pair.apart <= 2 * pair.size + CLASS_FAR &&
			    !vec_push(pairs, pair))
				return false;
		}
	}
	vec_sort(pairs, by_size);
	return true;
}

/* Whether the blocks lie as the rules have it: none reaches into the next, and where many of a size
 * have neighbours some are as close as the rules allow. */
static bool contradicts(const struct pairs *pairs, const struct size_classes *classes)
{
	const struct pair *pair = pairs->data;
	u64 overlaps = 0, loose = 0, end;

	for (u64 i = 0; i < pairs->count; i = end) {
		u64 bytes = size_classes_find(classes, pair[i].size).bytes;

		for (end = i; end < pairs->count && pair[end].size == pair[i].size; end++)
			overlaps += pair[end].apart < bytes;
		if (pair[i].apart > bytes && end - i >= PAIRS_MIN)
			loose += end - i;
	}
	return pairs->count >= PAIRS_MIN &&
	       (overlaps * OVERLAPS_PART > pairs->count || loose * LOOSE_PART > pairs->count);
}

/* By size; each takes at most what a larger one takes. */
static bool infer(const struct pairs *pairs, struct size_classes *classes)
{
	u64 least = UINT64_MAX, count = 0;

	vec_clear(&classes->list);
	if (!pairs->count || !vec_reserve(&classes->list, pairs->count))
		return false;
	for (u64 i = pairs->count; i-- > 0;) {
		struct size_class *class = &classes->list.data[pairs->count - count];

		if (pairs->data[i].apart >= least)
			continue;
		least = pairs->data[i].apart;
		if (count && class->size == pairs->data[i].size)
			class->bytes = least;
		else
			classes->list.data[pairs->count - ++count] =
				(struct size_class){pairs->data[i].size, least, 0, 0};
	}
	memmove(classes->list.data, classes->list.data + (pairs->count - count),
		count * sizeof *classes->list.data);
	classes->list.count = count;
	return true;
}

bool neighbours_judge(struct neighbours *self, struct size_classes *classes)
{
	struct pairs pairs = {0};
	bool found = find_pairs(self, &pairs), keep;

	keep = !found || (classes->basis == CLASSES_RULES && !contradicts(&pairs, classes));
	if (!keep) {
		classes->basis = CLASSES_UNKNOWN;
		if (infer(&pairs, classes))
			classes->basis = CLASSES_INFERRED;
	}
	vec_release(&pairs);
	return !keep;
}

void neighbours_release(struct neighbours *self)
{
	for (u32 i = 0; i < NEIGHBOUR_MOMENTS; i++)
		vec_release(&self->blocks[i]);
}
