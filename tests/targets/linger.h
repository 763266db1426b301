/* SPDX-License-Identifier: MIT
 * A rest that lasts until whoever tests has seen what it waits for: machines differ in how long that takes. */
#ifndef TESTS_TARGETS_LINGER_H
#define TESTS_TARGETS_LINGER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How old the process is, at least as old as its recording; 0 = unknown. */
static inline long long linger_age_ns(void)
{
	unsigned long long ticks = 0;
	FILE *file = fopen("/proc/self/stat", "r");
	char text[1024];
	const char *name_end = file && fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
	struct timespec now;

	if (file)
		fclose(file);
	if (!name_end ||
	    sscanf(name_end + 1, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) != 1)
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec - (long long)ticks * (1000000000ll / sysconf(_SC_CLK_TCK));
}

/* Rests for so many milliseconds, at least. With LINGER=FILE in the environment it makes FILE.begun with the age at which the rest
 * begins, and goes on when FILE is there, but waits for no more than five minutes. */
static inline void linger(unsigned ms)
{
	const char *name = getenv("LINGER");
	char part[4096], begun[4096];
	FILE *file;

	if (name && snprintf(part, sizeof part, "%s.part", name) > 0 && snprintf(begun, sizeof begun, "%s.begun", name) > 0) {
		file = fopen(part, "w");
		if (file) {
			fprintf(file, "%lld\n", linger_age_ns());
			fclose(file);
			rename(part, begun);
		}
	}
	usleep((useconds_t)ms * 1000);
	for (int i = 0; name && i < 15000 && access(name, F_OK) != 0; i++)
		usleep(20000);
}

#endif
