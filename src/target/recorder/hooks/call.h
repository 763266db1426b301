/* SPDX-License-Identifier: MIT
 * The careful path of the hooks. Runs in the target.
 *
 * It is for all that is not plain: the first call of the image, calls inside calls, sampling,
 * timing, tests, and events that are no allocation. hwr_call_begin comes first, then one of the
 * others. */
#ifndef TARGET_RECORDER_HOOKS_CALL_H
#define TARGET_RECORDER_HOOKS_CALL_H

#include "target/recorder/state/caller.h"
#include "target/recorder/state/own.h"

struct hwr_thread;

/* One call on the careful path. */
struct hwr_call {
	struct hwr_caller caller;
	u64 ending;           /* set by the hook: block that the call may end, 0 = none */
	struct hwr_thread *t; /* NULL: forward only */
	u64 begin_ticks;      /* 0: this call is not timed */
	u64 outer_sp, outer_pc, outer_ending; /* the suppression that this call is inside of */
	bool outer;
	bool suppressed; /* inside a call that is recorded as a whole */
	bool paused;
};

void hwr_call_begin(struct hwr_call *call);
void hwr_call_alloc(struct hwr_call *call, u32 kind, void *p, size_t size);
/* Records the end of block p. Before the real call. */
void hwr_call_free(struct hwr_call *call, u32 kind, void *p);
/* The same with another aux. */
void hwr_call_free_as(struct hwr_call *call, u32 kind, u16 aux, void *p);
/* After the real call, if it was one that allocates nothing. */
void hwr_call_end(struct hwr_call *call, u32 kind);
/* A realloc that gave p (NULL: freed, or failed if size is not 0) for old, entered at `ticks`. */
void hwr_call_realloc(struct hwr_call *call, u64 ticks, void *old, void *p, size_t size);
/* An event that is no allocation: a mapping. */
void hwr_call_other(struct hwr_call *call, u32 kind, u64 address, u64 size);
/* A mark (enum hw_mark); it is the program's word and recorded while paused, too. */
void hwr_call_mark(struct hwr_call *call, u32 mark, u64 address, u64 number);
/* An object that the program or a runtime tells of, beside all blocks: HW_POOL or HW_POOL_FREE, at
 * an address with HW_POOL_ADDRESS. context(t, self) finds its stack; NULL = the caller's. False: it
 * is not recorded. */
bool hwr_call_object(struct hwr_call *call, u32 kind, u64 address, u64 size,
		     u32 (*context)(struct hwr_thread *, const void *), const void *self);
/* Monitored memory was touched at the address; aux = HW_HIT_*. */
void hwr_call_hit(struct hwr_call *call, u32 aux, u64 address);
/* The type of the block that the address lies in; count 0 = unknown. */
void hwr_call_type(struct hwr_call *call, u64 address, u64 identity, u64 count);

/* ---- calls inside calls: operator new calls malloc, and only one of them is an allocation ---- */

/* Around a real function that itself calls hooked functions (operator new calls malloc): what it
 * does inside is not recorded a second time. */
void hwr_suppress_begin(struct hwr_call *call, u64 ending_address);
/* True if the block must still be recorded, false if a call inside has recorded it. */
bool hwr_suppress_end(struct hwr_call *call, void *p);

/* Code of the module that defines the operators behind ours; empty until the first one is
 * called. */
extern u64 hwr_operators_start HWR_OWN, hwr_operators_end HWR_OWN;

#endif
