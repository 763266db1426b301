/* SPDX-License-Identifier: MIT
 * The session that is written to, and what its control page wants. Runs in the target. */
#include "target/recorder/state/state.h"

#include <linux/futex.h>

struct hwr_token hwr_token;
u32 hwr_phase;
struct hw_lobby *hwr_lobby;
struct hw_control *hwr_control;
struct hw_slot *hwr_slots;
struct hw_node *hwr_nodes;
u8 *hwr_rings;
u8 *hwr_module_log;
u32 hwr_pid;
u64 hwr_mapped_bytes, hwr_reserved_bytes;

void hwr_session_leave(void)
{
	store_release(&hwr_phase, HWR_DORMANT);
	hwr_token.paused = 0;
	store_release(&hwr_token.on, HWR_OFF);
}

void hwr_session_obey(void)
{
	u32 stopped = load_relaxed(&hwr_control->stopped);
	u32 paused = !stopped && load_relaxed(&hwr_control->paused);
	u32 on = stopped || paused           ? HWR_OFF
		 : hwr_control->sample_bytes ? HWR_SAMPLES
					     : HWR_RECORDS;

	if (unlikely(stopped == HW_RELEASED)) {
		hwr_session_leave();
		return;
	}
	if (likely(paused == hwr_token.paused && on == load_relaxed(&hwr_token.on)))
		return;
	if (unlikely(!load_relaxed(&hwr_token.alive)))
		return; /* forked by a handler in the middle of a hook */
	hwr_token.paused = paused;
	store_release(&hwr_token.on, on);
}

bool hwr_session_watched(void)
{
	if (!hwr_lobby || !(load_relaxed(&hwr_lobby->monitor_lock[0]) & FUTEX_OWNER_DIED))
		return true;
	hwr_session_leave();
	return false;
}
