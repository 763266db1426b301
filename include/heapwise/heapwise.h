/* SPDX-License-Identifier: MIT
 * What a program may tell Heapwise while it is being recorded. Header only: the functions are found
 * in the recorder when it is loaded, and do nothing otherwise, so a program can keep these calls in
 * production and needs no library to link.
 *
 *	#include <heapwise/heapwise.h>
 *
 *	heapwise_pause();          // set-up that should not be in the profile
 *	load_configuration();
 *	heapwise_resume();
 *	heapwise_mark(1);          // a named moment in the timeline
 */
#ifndef HEAPWISE_H
#define HEAPWISE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Landing points in the recorder; weak, so that they may be missing. */
int heapwise_recorder_state(void) __attribute__((weak));
void heapwise_recorder_pause(int paused) __attribute__((weak));
void heapwise_recorder_stop(void) __attribute__((weak));
void heapwise_recorder_mark(uint64_t number, int snapshot) __attribute__((weak));

enum {
	HEAPWISE_ABSENT = 0,    /* not run under Heapwise */
	HEAPWISE_DORMANT = 1,   /* recorder loaded, this process is not recorded */
	HEAPWISE_RECORDING = 2,
	HEAPWISE_PAUSED = 3,
};

/* One of the above. */
static inline int heapwise_state(void)
{
	return heapwise_recorder_state ? heapwise_recorder_state() : HEAPWISE_ABSENT;
}

/* From here on allocations are not recorded; the ends of recorded blocks still are. */
static inline void heapwise_pause(void)
{
	if (heapwise_recorder_pause)
		heapwise_recorder_pause(1);
}

static inline void heapwise_resume(void)
{
	if (heapwise_recorder_pause)
		heapwise_recorder_pause(0);
}

/* Ends the recording for good; the program goes on. */
static inline void heapwise_stop(void)
{
	if (heapwise_recorder_stop)
		heapwise_recorder_stop();
}

/* Puts a mark with this number into the trace. */
static inline void heapwise_mark(uint64_t number)
{
	if (heapwise_recorder_mark)
		heapwise_recorder_mark(number, 0);
}

/* Asks for a snapshot of the heap at this moment. */
static inline void heapwise_snapshot(void)
{
	if (heapwise_recorder_mark)
		heapwise_recorder_mark(0, 1);
}

#ifdef __cplusplus
}
#endif
#endif
