/* SPDX-License-Identifier: MIT
 * Turns of sets; see turns.h. Runs in the target. */
#include "recorder/access/shadow/turns.h"

enum {
	LEAST_OWN = 16,   /* at least one part in so many of the CPU time is the program's own */
	ENOUGH = 16,      /* accesses of controls per epoch that tell of progress */
	KNOWN_EPOCHS = 4, /* from this number on the pace of controls is known */
	TIME_SHARE = 16,  /* one part in so many of progress is time: controls may pause */
};

static u64 own_time(const struct hwr_epoch *epoch)
{
	u64 least = epoch->cpu_ns / LEAST_OWN;

	return epoch->recording_ns + least < epoch->cpu_ns ? epoch->cpu_ns - epoch->recording_ns
							   : least;
}

/* Controls as time, at the pace that they have had so far. */
static u64 progress_of(const struct hwr_turns *self, const struct hwr_epoch *epoch)
{
	u64 own = own_time(epoch), told;

	if (self->epochs < KNOWN_EPOCHS || self->controls / self->epochs < ENOUGH)
		return own;
	told = (u64)((unsigned __int128)epoch->controls * self->own_ns / self->controls);
	return told - told / TIME_SHARE + own / TIME_SHARE;
}

void hwr_turns_next(struct hwr_turns *self, const struct hwr_epoch *epoch)
{
	u32 next = (self->set + 1) % HWR_TURNS;

	self->epochs++;
	self->own_ns += own_time(epoch);
	self->controls += epoch->controls;
	self->progress[self->set] += progress_of(self, epoch);
	for (u32 i = 0, set = next; i < HWR_TURNS; i++, set = (set + 1) % HWR_TURNS)
		if (self->progress[set] < self->progress[next])
			next = set;
	self->set = next;
}

void hwr_turns_forget(struct hwr_turns *self) { self->epochs = self->own_ns = self->controls = 0; }
