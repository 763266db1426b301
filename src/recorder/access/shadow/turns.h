/* SPDX-License-Identifier: MIT
 * Whose turn it is to stay armed. Runs in the target, on the adaptive helper; knows no clock and no memory.
 *
 * Units are in HWR_TURNS sets, of which one stays armed. Counts of a unit are right when each set was armed for
 * the same part of the program's work. Time does not tell: a program is slower while a unit that it uses
 * much stays armed, and an epoch lasts longer when the machine is busy. So the program's progress in
 * each epoch is measured, and the next turn is always that of the set that has had the least. Whatever an
 * epoch was like, sets differ by no more than the progress of one.
 *
 * Progress is told by controls: a few units that stay armed all the time, whoever's turn it is. How often they
 * are accessed has nothing to do with what else is armed. A program that hardly accesses them has its CPU
 * time measured instead, less what its recorded accesses have cost, which is known less well. */
#ifndef RECORDER_TURNS_H
#define RECORDER_TURNS_H

#include "format/types.h"

enum { HWR_TURNS = 16 };

struct hwr_turns {
	u64 progress[HWR_TURNS]; /* ns of the program's own time, about */
	u32 set;                 /* whose turn it is */
	/* Since the controls were chosen. */
	u64 epochs, own_ns, controls;
};

/* An epoch, as it was. */
struct hwr_epoch {
	u64 cpu_ns;       /* of all threads */
	u64 recording_ns; /* the part of it that recorded accesses have cost */
	u64 controls;     /* accesses of controls */
};

/* The epoch is over: sets whose turn is next. */
void hwr_turns_next(struct hwr_turns *self, const struct hwr_epoch *epoch);

/* There are new controls. */
void hwr_turns_forget(struct hwr_turns *self);

#endif
