/* SPDX-License-Identifier: MIT
 * Pairs of clock readings, and the time between them.
 * Host. Never trusts that a recorded clock is sane: pairs that run backwards are passed over. */
#include "study/model/clock.h"

#include "host/base/search.h"

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
	return bisect(at, self->pairs.count, self->pairs.data[at].ticks <= ticks) - 1;
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

/* Ticks whose time is at least ns, some way above the earliest; UINT64_MAX if there are none of
 * which the time can be told. */
static u64 ticks_after(const struct tick_clock *self, u64 ns)
{
	const struct stream_clock *first = self->pairs.data;
	const struct stream_clock *last = &first[self->pairs.count - 1];
	double rate = mean_rate(self), beyond;

	if (last->ns - first->ns >= ns)
		return last->ticks;
	/* Doubles have 53 bits, so the span is made a little longer than it should be. */
	beyond = (double)(ns - (last->ns - first->ns)) / rate;
	beyond += beyond / 1e12 + 2 + 2 / rate;
	if (!(beyond < 0x1p63) || (u64)beyond > UINT64_MAX - last->ticks ||
	    !(beyond * rate + (double)(last->ns - first->ns) < 0x1p63))
		return UINT64_MAX;
	return last->ticks + (u64)beyond;
}

u64 tick_clock_ticks(const struct tick_clock *self, u64 ns)
{
	u64 low, high;

	if (ns == 0)
		return 0;
	if (self->pairs.count == 0)
		return UINT64_MAX;
	low = self->pairs.data[0].ticks; /* time 0 */
	high = ticks_after(self, ns);
	if (high == UINT64_MAX)
		return high;
	/* Searched by what tick_clock_ns itself says: how it rounds need not be known here. */
	while (high - low > 1) {
		u64 middle = low + (high - low) / 2;

		if (tick_clock_ns(self, middle) >= ns)
			high = middle;
		else
			low = middle;
	}
	return high;
}

double tick_clock_span_ns(const struct tick_clock *self, double ticks)
{
	return ticks * mean_rate(self);
}

void tick_clock_release(struct tick_clock *self) { vec_release(&self->pairs); }
