/* SPDX-License-Identifier: MIT
 * Random numbers of a seed (splitmix64). */
#ifndef DEV_SYNTH_DRAW_H
#define DEV_SYNTH_DRAW_H

#include "format/types.h"

struct draw {
	u64 state;
};

static inline u64 draw_mix(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static inline u64 draw(struct draw *self) { return draw_mix(self->state += 0x9e3779b97f4a7c15ull); }

/* 0 to less than limit, which is below 2^32. */
static inline u64 draw_below(struct draw *self, u64 limit)
{
	return (draw(self) >> 32) * limit >> 32;
}

/* 0 to less than 1. */
static inline double draw_share(struct draw *self) { return (double)(draw(self) >> 11) * 0x1p-53; }

#endif
