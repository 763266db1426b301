/* SPDX-License-Identifier: MIT
 * Whose turn it is to stay armed. Runs in the target, on the adaptive helper; knows no clock and no memory.
 *
 * Units are in HWR_TURNS sets, of which one stays armed. Counts of a unit are right when each set was armed for
 * the same part of the program's work. Time does not tell: a program is slower while a unit that it uses
 * much stays armed, and a turn lasts longer when the machine is busy. So the program's progress in
 * each turn is measured. A turn goes on until the program has come as far as it would without recording; not later
 * on is made up for it, when the program does something else. Then it is the turn of the set that has had the
 * least. Whatever a turn was like, sets differ by no more than the progress of one.
 *
 * Progress is told by controls: a few units that stay armed all the time, whoever's turn it is. How often they
 * are accessed has nothing to do with what else is armed. A program that hardly accesses them has its CPU
 * time measured instead, less what its recorded accesses have cost, which is known less well. */
#ifndef RECORDER_TURNS_H
#define RECORDER_TURNS_H

#include "format/types.h"

enum { HWR_TURNS = 64 };

struct hwr_turns {
	u64 progress[HWR_TURNS]; /* ns of the program's own time, about */
	u32 set;                 /* whose turn it is */
	u64 gained;              /* in the present turn */
	u64 quota;               /* that a turn must have */
	/* Since the controls were chosen. */
	u64 looks, own_ns, controls;
};

/* What was since the last look. */
struct hwr_look {
	u64 cpu_ns;       /* of all threads */
	u64 recording_ns; /* the part of it that recorded accesses have cost */
	u64 controls;     /* accesses of controls */
};

/* Adds to the present turn. */
void hwr_turns_add(struct hwr_turns *self, const struct hwr_look *look);

bool hwr_turns_is_over(const struct hwr_turns *self);

/* The set that is next, and the beginning of its turn. */
u32 hwr_turns_next(const struct hwr_turns *self);
void hwr_turns_begin(struct hwr_turns *self, u32 set);

/* There are new controls. */
void hwr_turns_forget(struct hwr_turns *self);

#endif
