/* SPDX-License-Identifier: MIT
 * Arming what was disarmed, for a new epoch or for the turn of a set. Runs in the target.
 *
 * The shadow of hot memory is in the caches of the CPU that the program runs on. Were it written by
 * the helper, on another CPU, the program would wait for each line to come back: in sqlite3 twice
 * as long as all of the helper's work takes. So the helper posts the work, and a thread of the
 * program that reports an access lends a hand, a slice at a time. If none comes by, because all are
 * asleep or access nothing, the helper does it after all. */
#ifndef TARGET_ACCESS_SHADOW_ARMING_H
#define TARGET_ACCESS_SHADOW_ARMING_H

#include "target/access/shadow/adaptive.h"

/* What is logged from `first` on: below `end` it is armed again; or what the log has of this set
 * stays armed. */
void hwr_arming_post_rearm(u64 first, u64 end);
void hwr_arming_post_sample(u64 first, u32 set);

/* Does what nobody has begun; false while somebody is at it. After that the work is done. */
bool hwr_arming_finish(void);
bool hwr_arming_is_done(void);

/* The number in the log of the first entry that was not armed again. */
u64 hwr_arming_reached(void);

/* Ticks that were spent on it so far: by all, and by threads of the program. */
u64 hwr_arming_spent(void);
u64 hwr_arming_lent(void);

/* HWR_ARMING_PACE times hwr_shadow_pace, lately, where the program runs; 0 = not known. */
enum { HWR_ARMING_PACE = 64 };
u64 hwr_arming_pace(void);

/* The CPU of the thread that lent a hand last; negative if that is not known. */
int hwr_arming_cpu(void);

/* For a new image: there is no work. */
void hwr_arming_reset(void);

#endif
