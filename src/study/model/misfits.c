/* SPDX-License-Identifier: MIT
 * The lists of frees that do not fit.
 * Host. Without memory a misfit is counted and not listed: no reason to fail a load. */
#include "study/model/misfits.h"

void misfits_unknown(struct misfits *self, const struct event *event)
{
	struct unknown_free one = {.ticks = event->ticks,
				   .address = event->address,
				   .context = event->context,
				   .thread = event->thread,
				   .kind = event->kind};

	if (self->unknown.count >= MISFITS_MAX || !vec_push(&self->unknown, one))
		self->dropped++;
}

static bool is_of(const struct mismatch *mismatch, const struct misfit_pair *pair)
{
	return mismatch->alloc_context == pair->alloc_context &&
	       mismatch->free_context == pair->free_context &&
	       mismatch->alloc_kind == pair->alloc_kind && mismatch->free_kind == pair->free_kind;
}

/* The list's entry for the pair, made if needed; NULL if there is no room. */
static struct mismatch *mismatch_at(struct misfits *self, const struct misfit_pair *pair,
				    const struct event *event)
{
	u64 hash = hash_u64((u64)pair->alloc_context << 32 | pair->free_context);

	hash = hash_u64(hash ^ (u64)(pair->alloc_kind << 8 | pair->free_kind));
	for (;; hash = hash_u64(hash + 1)) {
		const u64 *known = map_find(&self->by_pair, hash);

		if (!known)
			break;
		if (is_of(&self->mismatches.data[*known - 1], pair))
			return &self->mismatches.data[*known - 1];
	}
	if (self->mismatches.count >= MISFITS_MAX ||
	    !vec_push(&self->mismatches, (struct mismatch){.alloc_context = pair->alloc_context,
							   .free_context = pair->free_context,
							   .alloc_kind = pair->alloc_kind,
							   .free_kind = pair->free_kind,
							   .address = event->address,
							   .ticks = event->ticks}))
		return NULL;
	if (!map_put(&self->by_pair, hash, self->mismatches.count)) {
		self->mismatches.count--;
		return NULL;
	}
	return &self->mismatches.data[self->mismatches.count - 1];
}

void misfits_mismatch(struct misfits *self, const struct misfit_pair *pair,
		      const struct event *event, u64 size)
{
	struct mismatch *mismatch = mismatch_at(self, pair, event);

	if (!mismatch) {
		self->dropped++;
		return;
	}
	mismatch->chunks++;
	mismatch->bytes += size;
}

void misfits_release(struct misfits *self)
{
	vec_release(&self->unknown);
	vec_release(&self->mismatches);
	map_release(&self->by_pair);
	self->dropped = 0;
}
