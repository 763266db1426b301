/* SPDX-License-Identifier: MIT
 * Landing points of include/heapwise/heapwise.h. Runs in the target, called by the program. */
#include "heapwise/heapwise.h"
#include "recorder/note.h"
#include "recorder/session.h"

/* A program may speak before it has allocated anything. */
static bool recording(void) { return load_relaxed(&hwr_token.on) || hwr_session_join(); }

HWR_EXPORT int heapwise_recorder_state(void)
{
	if (!recording())
		return HEAPWISE_DORMANT;
	return hwr_token.paused ? HEAPWISE_PAUSED : HEAPWISE_RECORDING;
}

HWR_EXPORT void heapwise_recorder_pause(int paused)
{
	if (!recording())
		return;
	store_relaxed(&hwr_control->paused, paused != 0);
	hwr_session_obey();
}

HWR_EXPORT void heapwise_recorder_stop(void)
{
	if (!recording())
		return;
	store_relaxed(&hwr_control->stopped, 1);
	hwr_session_obey();
}

HWR_EXPORT void heapwise_recorder_mark(uint64_t number, int snapshot)
{
	struct hwr_call call = { .caller = HWR_CALLER() };

	hwr_call_begin(&call);
	if (snapshot && call.t)
		add_relaxed(&hwr_control->snapshots, 1);
	hwr_call_other(&call, HW_MARK, snapshot != 0, number);
}
