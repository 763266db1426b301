/* SPDX-License-Identifier: MIT
 * Turns of sets; see turns.h. Runs in the target. */
#include "recorder/access/shadow/turns.h"

enum {
	LEAST_OWN = 16,  /* at least one part in so many of the CPU time is the program's own */
	ENOUGH = 16,     /* accesses of controls per look that tell of progress */
	KNOWN_LOOKS = 4, /* from this number on the pace of controls is known */
	PAUSE = 8, /* a pace so many times slower is a pause of the controls, not of the program */
	COST_ERROR = 2, /* a report costs at most so many times what is believed, or so little */
};

/* CPU time less some of it. */
static u64 own_time(const struct hwr_look *look, u64 recording_ns)
{
	u64 least = look->cpu_ns / LEAST_OWN;

	return recording_ns + least < look->cpu_ns ? look->cpu_ns - recording_ns : least;
}

/* Controls as time, at the pace that they have had so far, within what time itself says. */
static u64 progress_of(const struct hwr_turns *self, const struct hwr_look *look)
{
	u64 least = own_time(look, look->recording_ns * COST_ERROR);
	u64 most = own_time(look, look->recording_ns / COST_ERROR);
	u64 own = own_time(look, look->recording_ns), told;

	if (self->looks < KNOWN_LOOKS || self->controls / self->looks < ENOUGH)
		return own;
	told = (u64)((unsigned __int128)look->controls * self->own_ns / self->controls);
	if (told < own / PAUSE)
		return own;
	if (told < least)
		return least;
	return told < most ? told : most;
}

void hwr_turns_add(struct hwr_turns *self, const struct hwr_look *look)
{
	u64 progress;

	self->looks++;
	self->own_ns += own_time(look, look->recording_ns);
	self->controls += look->controls;
	progress = progress_of(self, look);
	self->progress[self->set] += progress;
	self->gained += progress;
}

bool hwr_turns_is_over(const struct hwr_turns *self) { return self->gained >= self->quota; }

u32 hwr_turns_next(const struct hwr_turns *self)
{
	u32 next = (self->set + 1) % HWR_TURNS;

	for (u32 i = 0, set = next; i < HWR_TURNS; i++, set = (set + 1) % HWR_TURNS)
		if (self->progress[set] < self->progress[next])
			next = set;
	return next;
}

void hwr_turns_begin(struct hwr_turns *self, u32 set)
{
	self->set = set;
	self->gained = 0;
}

void hwr_turns_forget(struct hwr_turns *self) { self->looks = self->own_ns = self->controls = 0; }
