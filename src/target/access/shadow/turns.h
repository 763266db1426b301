/* SPDX-License-Identifier: MIT
 * Whose turn it is to stay armed. Runs in the target, on the adaptive helper; knows no clock and no
 * memory.
 *
 * Memory is in HWR_TURNS sets, of which one stays armed. Counts are right when each set was armed
 * for the same part of the program's work. Time does not tell: a program is slower while memory
 * that it uses much stays armed, and a turn lasts longer when the machine is busy. So the program's
 * progress in each turn is measured. A turn goes on until the program has come as far as it would
 * without recording; not later on is made up for it, when the program does something else. Hot sets
 * have short turns, and more of them. Whatever a turn was like, sets differ by no more than the
 * progress of one.
 *
 * Progress is the CPU time of the program's threads less what its recorded accesses have cost. What
 * one costs, in the midst of the program's code, is told by controls: a few units that stay armed
 * all the time, whoever's turn it is. How often they are accessed has nothing to do with what else
 * is armed, so in the turns of sets with many recorded accesses they are accessed less often in the
 * same time, by as much as recording slows the program. */
#ifndef TARGET_ACCESS_SHADOW_TURNS_H
#define TARGET_ACCESS_SHADOW_TURNS_H

#include "format/types.h"

enum { HWR_TURNS = 64 };

/* What was since the last look. */
struct hwr_look {
	u64 cpu_ns;       /* of all threads */
	u64 recording_ns; /* the part of it that recorded accesses have cost, as is believed */
	u64 controls;     /* accesses of controls */
};

struct hwr_turns {
	struct hwr_look all[HWR_TURNS];   /* in the turns of each set */
	struct hwr_look since[HWR_TURNS]; /* the same, since the controls were chosen */
	u64 looks;                        /* since then */
	u32 set;                          /* whose turn it is */
	/* progress of the present turn, and what was recorded in it has cost */
	u64 gained, recording_ns;
	u64 quota;           /* what a turn must have on average */
	u16 heat[HWR_TURNS]; /* of each set's last turn, see turns.c */
};

/* Adds to the present turn. */
void hwr_turns_add(struct hwr_turns *self, const struct hwr_look *look);

/* Progress that a turn of the set must have. */
u64 hwr_turns_quota(const struct hwr_turns *self, u32 set);

bool hwr_turns_is_over(const struct hwr_turns *self);

/* The set that is next, and the beginning of its turn. */
u32 hwr_turns_next(const struct hwr_turns *self);
void hwr_turns_begin(struct hwr_turns *self, u32 set);

/* All since the controls were chosen. */
struct hwr_look hwr_turns_since(const struct hwr_turns *self);

/* There are new controls. */
void hwr_turns_forget(struct hwr_turns *self);

#endif
