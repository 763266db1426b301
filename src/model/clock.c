/* SPDX-License-Identifier: MIT
 * Pairs of clock readings, and the time between them.
 * Host. Never trusts that a recorded clock is sane: pairs that run backwards are passed over. */
#include "model/clock.h"

bool tick_clock_start(struct tick_clock *self, u64 ticks, u64 ns)
{
	vec_clear(&self->pairs);
	return vec_push(&self->pairs, (struct stream_clock){.ticks = ticks, .ns = ns});
}

bool tick_clock_tell(struct tick_clock *self, const struct stream_clock *pair)
{
	const struct stream_clock *last;

	if (self->pairs.count == 0)
		return vec_push(&self->pairs, *pair);
	last = &self->pairs.data[self->pairs.count - 1];
	if (pair->ticks <= last->ticks || pair->ns <= last->ns)
		return true;
	return vec_push(&self->pairs, *pair);
}

bool tick_clock_known(const struct tick_clock *self) { return self->pairs.count >= 2; }

static double mean_rate(const struct tick_clock *self)
{
	const struct stream_clock *first = self->pairs.data, *last;

	if (!tick_clock_known(self))
		return 1;
	last = &self->pairs.data[self->pairs.count - 1];
	return (double)(last->ns - first->ns) / (double)(last->ticks - first->ticks);
}

/* Index of the last pair at or before ticks; the caller knows that the first one is. */
static u64 pair_before(const struct tick_clock *self, u64 ticks)
{
	u64 low = 0, high = self->pairs.count;

	while (high - low > 1) {
		u64 middle = low + (high - low) / 2;

		if (self->pairs.data[middle].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return low;
}

u64 tick_clock_ns(const struct tick_clock *self, u64 ticks)
{
	const struct stream_clock *pair, *next;
	u64 at, start_ns;
	double rate;

	if (self->pairs.count == 0 || ticks <= self->pairs.data[0].ticks)
		return 0;
	start_ns = self->pairs.data[0].ns;
	at = pair_before(self, ticks);
	pair = &self->pairs.data[at];
	if (at + 1 == self->pairs.count) {
		rate = mean_rate(self);
	} else {
		next = pair + 1;
		rate = (double)(next->ns - pair->ns) / (double)(next->ticks - pair->ticks);
	}
	return pair->ns - start_ns + (u64)((double)(ticks - pair->ticks) * rate);
}

double tick_clock_span_ns(const struct tick_clock *self, double ticks)
{
	return ticks * mean_rate(self);
}

void tick_clock_release(struct tick_clock *self) { vec_release(&self->pairs); }
