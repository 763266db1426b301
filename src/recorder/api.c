/* SPDX-License-Identifier: MIT
 * Landing points of include/heapwise/heapwise.h. Runs in the target, called by the program. */
#include "heapwise/heapwise.h"
#include "recorder/note.h"
#include "recorder/session.h"

HWR_EXPORT int heapwise_recorder_state(void)
{
	if (hwr_token.on)
		return HEAPWISE_RECORDING;
	return hwr_token.paused ? HEAPWISE_PAUSED : HEAPWISE_DORMANT;
}

HWR_EXPORT void heapwise_recorder_pause(int paused)
{
	if (!hwr_token.on && !hwr_token.paused)
		return;
	store_relaxed(&hwr_control->paused, paused != 0);
	hwr_session_obey();
}

HWR_EXPORT void heapwise_recorder_stop(void)
{
	if (!hwr_token.on && !hwr_token.paused)
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
