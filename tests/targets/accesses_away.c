/* SPDX-License-Identifier: MIT
 * Puts the helper thread of `heapwise run --access adaptive` on its own CPU, sets it free there, and goes on with hot memory. Says whether
 * the helper went elsewhere, and whether it may still run wherever the program may. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS = 50 };

static volatile int *memory;
static void *(*volatile allocate)(size_t) = malloc; /* clang 19 might use a static array */

/* The only other thread. */
static int helper(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	int found = 0;

	while (folder && (entry = readdir(folder)))
		if (atoi(entry->d_name) && atoi(entry->d_name) != getpid())
			found = atoi(entry->d_name);
	closedir(folder);
	return found;
}

/* Where it runs, or ran last: the 39th word of its file, the 37th behind its name. */
static int cpu_of(int tid)
{
	char path[64], text[1024], *at;
	FILE *file;
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	bytes = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[bytes] = 0;
	at = strrchr(text, ')');
	for (int i = 0; at && i < 37; i++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at + 1) : -1;
}

static void compute(double seconds)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 20000; i++)
			memory[i % 100]++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) < seconds);
}

int main(void)
{
	cpu_set_t allowed, own, now;
	int away = 0, tid = helper();

	sched_getaffinity(0, sizeof(allowed), &allowed);
	CPU_ZERO(&own);
	CPU_SET(sched_getcpu(), &own);
	memory = allocate(100 * sizeof(*memory));
	sched_setaffinity(0, sizeof(own), &own);
	sched_setaffinity(tid, sizeof(own), &own);
	compute(0.02);
	sched_setaffinity(tid, sizeof(allowed), &allowed);
	for (int i = 0; i < LOOKS; i++) {
		compute(0.01);
		away += !CPU_ISSET(cpu_of(tid), &own);
	}
	sched_getaffinity(tid, sizeof(now), &now);
	if (!CPU_EQUAL(&now, &allowed))
		printf("not free to go\n");
	else if (CPU_COUNT(&allowed) == 1)
		printf("one CPU\n");
	else if (away < LOOKS / 4)
		printf("away in %d of %d looks\n", away, LOOKS);
	else
		printf("away, and free to go\n");
	return 0;
}
