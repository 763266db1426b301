/* SPDX-License-Identifier: MIT
 * The recorder's global state: the session it writes to and whether it does. Runs in the target. */
#ifndef TARGET_RECORDER_STATE_STATE_H
#define TARGET_RECORDER_STATE_STATE_H

#include "format/atomics.h"
#include "format/session.h"
#include "target/recorder/state/own.h"

enum hwr_on {
	HWR_OFF = 0,
	HWR_RECORDS, /* every hook */
	HWR_SAMPLES, /* a hook first counts, see sample.h */
};

/* Lives in memory that the kernel clears in a forked child (MADV_WIPEONFORK), so that a child, made
 * by whatever call, never writes into its parent's rings. It stays after vfork, as it must: that
 * child runs in its parent's memory. Alone in its page, whatever the page size. */
struct hwr_token {
	u32 alive;  /* 1 = attached; only fork clears it */
	u32 on;     /* enum hwr_on */
	u32 paused; /* 1 = attached, but allocations are not recorded */
} __attribute__((aligned(65536)));
extern struct hwr_token hwr_token HWR_OWN;

enum hwr_phase {
	/* of this image; survives fork */
	HWR_UNBORN = 0,
	HWR_STARTING,
	HWR_ATTACHED,
	HWR_DORMANT, /* forwards every call and does nothing else, for good */
};
extern u32 hwr_phase HWR_OWN;

/* The berth, valid once attached. */
extern struct hw_lobby *hwr_lobby HWR_OWN;
extern struct hw_control *hwr_control HWR_OWN;
extern struct hw_slot *hwr_slots HWR_OWN;
extern struct hw_node *hwr_nodes HWR_OWN;
extern u8 *hwr_rings HWR_OWN;
extern u8 *hwr_module_log HWR_OWN;
extern u32 hwr_pid HWR_OWN;
extern u64 hwr_mapped_bytes HWR_OWN;   /* of the berth: address space */
extern u64 hwr_reserved_bytes HWR_OWN; /* of the heap for accesses and its tables: address space */

static inline void hwr_fault(enum hw_fault fault) { add_relaxed(&hwr_control->faults[fault], 1); }

/* Follows the control page: pause, resume, stop, go on. Called now and then. */
void hwr_session_obey(void);

/* False, and the recorder is dormant, if the monitor has died. */
bool hwr_session_watched(void);

/* Forwards only, for good. */
void hwr_session_leave(void);

/* session/session.c. Called when a hook finds that nothing is recorded: joins the session on the
 * first call of an image, or of a forked child where children are recorded. True: hooks record (or
 * are paused). */
bool hwr_session_join(void);

#endif
