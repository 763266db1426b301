/* SPDX-License-Identifier: MIT
 * Puts a function of ours in front of one of the program's: the first instructions of it become a
 * jump, and what they were runs elsewhere. Runs in the target, while no other thread can be in that
 * code: before main, or in a module that is just being loaded.
 *
 * Every call arrives, whoever makes it: the program's own functions call each other without any
 * table that could be changed, and so do libraries that were linked in that way. */
#ifndef TARGET_RECORDER_POOL_DETOUR_H
#define TARGET_RECORDER_POOL_DETOUR_H

#include "format/session.h"

enum {
	HWR_DETOUR_PATCH = 16,
	HWR_DETOUR_PAD = 4096,
};

struct hwr_detour {
	u64 function, bytes; /* of the function; 0 bytes = not known */
	u32 site;            /* number that hwr_thunk gets */
	u64 instead;         /* a function that is called in its place; 0 = hwr_thunk */
	u64 real;            /* filled in: what to call to call the function */

	bool far;      /* the jump is the longer one */
	bool guarded;  /* an indirect jump into the function must reach a landing mark */
	bool shadowed; /* a return must go to where the CPU saw a call */
	u64 at;        /* where the jump goes: behind a landing mark */
	u32 moved;     /* bytes of whole instructions that it replaces */
	/* memory near the function: the way to the thunk, and the moved code */
	u8 *pad;
	u8 patch[HWR_DETOUR_PATCH];
	u32 patch_bytes;
};

/* HW_POOL_RECORDED, or why not. */
enum hw_pool_state hwr_detour_make(struct hwr_detour *self);

/* Whether the jump is still there: its module may have been unloaded, and another one be in its
 * place. */
bool hwr_detour_stands(const struct hwr_detour *self);

/* Of all pages that the bytes are in. */
bool hwr_detour_protect(u64 start, u64 bytes, int protection);

/* Code of a module that could be written is as it was: executable, with the guard that it had. */
void hwr_detour_restore(u64 start, u64 bytes);

/* HWR_DETOUR_PAD bytes that can be written, within reach of the address; NULL if there is no
 * room. */
u8 *hwr_detour_near(u64 address, u64 reach);

/* ---- the CPU's part ---- */

/* How far a jump goes, and a longer one, for which more instructions must be moved; 0 = there is
 * none. */
extern const u64 hwr_detour_reach, hwr_detour_far_reach;

/* What the loader adds to the protection of a module's code that has landing marks: PROT_BTI or
 * 0. */
int hwr_detour_guard(u64 code);

/* Fills `at` and `moved`; HW_POOL_RECORDED, or why the instructions there cannot be moved. */
enum hw_pool_state hwr_detour_plan(struct hwr_detour *self);

/* Writes the pad, and fills `patch` and `real`; false if something is out of reach. */
bool hwr_detour_write(struct hwr_detour *self);

/* After code was written. */
void hwr_detour_sync(u64 start, u64 bytes);

#endif
