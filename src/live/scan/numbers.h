/* SPDX-License-Identifier: MIT
 * Numbers beside pointers, as a scan comes across them: a header of a container has its pointer and
 * how many elements there are next to each other. What may be a number and is not more than
 * SCAN_BESIDE words from what may be a pointer is kept; graph.c takes those of pointers that
 * count. Memory only. */
#ifndef LIVE_SCAN_NUMBERS_H
#define LIVE_SCAN_NUMBERS_H

#include "live/scan/pointers.h"

enum { SCAN_BESIDE = 2 };

struct scan_numbers { /* all zero but `most` = none */
	u64 most;     /* of anything there is; what is more is no number */
	struct scan_pointers kept;
	u64 next;                /* address of the first word that was not looked at */
	u64 reach;               /* where those beside the last pointer end */
	u64 end;                 /* of the words that came last, and their last ones: */
	u64 before[SCAN_BESIDE]; /* the last is the last */
};

/* Words that follow each other in memory. */
struct scan_words {
	u64 address;
	const u64 *words;
	u64 count;
};

/* In place of a number that does not fit beside its step, which is then the next word. */
static const u64 SCAN_NUMBER_WIDE = ((u64)1 << (64 - POINTER_STEP_BITS)) - 1;

/* Nothing is counted that is more than the bytes of where it is. Two numbers may share a word. */
static inline bool scan_number_fits(u64 word, u64 most)
{
	return word <= most || (word >> 32 <= most && (u32)word <= most);
}

/* 0 stands in most places, and is told by nothing being there. */
static inline bool scan_number_is(u64 word, u64 most)
{
	return word && scan_number_fits(word, most);
}

static inline bool scan_number_add(struct scan_numbers *self, u64 at, u64 word)
{
	if (likely(word < SCAN_NUMBER_WIDE))
		return scan_pointers_add(&self->kept, at, word);
	return scan_pointers_add(&self->kept, at, SCAN_NUMBER_WIDE) &&
	       vec_push(&self->kept.words, word);
}

/* False at the end. */
static inline bool scan_numbers_next(struct scan_pointers_reader *self, u64 *at, u64 *word)
{
	if (!scan_pointers_next(self, at, word))
		return false;
	if (*word == SCAN_NUMBER_WIDE)
		*word = *self->next++;
	return true;
}

static inline bool scan_numbers_take(struct scan_numbers *self, const struct scan_words *here,
				     u64 end)
{
	bool good = true;

	for (u64 at = self->next; at < end; at += 8) {
		u64 word = at < here->address ? self->before[SCAN_BESIDE - (here->address - at) / 8]
					      : here->words[(at - here->address) / 8];

		if (scan_number_is(word, self->most))
			good &= scan_number_add(self, at, word);
	}
	if (self->next < end)
		self->next = end;
	return good;
}

/* The first of these words follow a pointer of those before, if they go on from them. */
static inline bool scan_numbers_begin(struct scan_numbers *self, const struct scan_words *here)
{
	u64 end = here->address + here->count * 8;

	if (here->address == self->end)
		return scan_numbers_take(self, here, self->reach < end ? self->reach : end);
	self->next = here->address;
	return true;
}

/* One of them may be a pointer; they come in order. */
static inline bool scan_numbers_beside(struct scan_numbers *self, const struct scan_words *here,
				       u64 i)
{
	u64 at = here->address + i * 8, end = here->address + here->count * 8;

	self->reach = at + (SCAN_BESIDE + 1) * 8;
	if (self->next < at - SCAN_BESIDE * 8)
		self->next = at - SCAN_BESIDE * 8;
	return scan_numbers_take(self, here, self->reach < end ? self->reach : end);
}

static inline void scan_numbers_end(struct scan_numbers *self, const struct scan_words *here)
{
	self->end = here->address + here->count * 8;
	for (u64 i = 0; i < SCAN_BESIDE; i++)
		self->before[i] = here->count + i >= SCAN_BESIDE
					  ? here->words[here->count + i - SCAN_BESIDE]
					  : 0;
}

#endif
