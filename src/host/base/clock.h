/* SPDX-License-Identifier: MIT
 * The system's clocks as nanoseconds. Runs on the host. */
#ifndef HOST_BASE_CLOCK_H
#define HOST_BASE_CLOCK_H

#include <pthread.h>
#include <time.h>

#include "format/types.h"

/* 0 if there is no such clock, as of a thread that has ended. */
static inline u64 clock_ns(clockid_t clock)
{
	struct timespec time;

	return clock_gettime(clock, &time) == 0 ? (u64)time.tv_sec * 1000000000 + (u64)time.tv_nsec
						: 0;
}

/* CLOCK_MONOTONIC: the clock of events and of all waiting. */
static inline u64 now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

/* A moment of a clock, as pthread_cond_timedwait and clock_nanosleep take it. */
static inline struct timespec clock_time(u64 ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000)};
}

/* A condition whose pthread_cond_timedwait takes moments of CLOCK_MONOTONIC. pthread_cond_clockwait
 * came with glibc 2.30. */
static inline void clock_cond_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

#endif
