/* SPDX-License-Identifier: MIT
 * Puts the helper thread of `heapwise run --access adaptive` on its own CPU, sets it free there, and goes on with hot memory. Says whether
 * the helper went elsewhere, and whether it may still run wherever the program may. With an argument it shuts itself and the helper in there
 * instead: to ask for a CPU is then the end of the program. */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

#define REFUSES(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* All threads. */
static int shut_in(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSES(SYS_getcpu),
		REFUSES(SYS_sched_getaffinity),
		REFUSES(SYS_sched_setaffinity),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

/* Here it cannot go, nor be set free. */
static int stay_shut_in(void)
{
	if (!shut_in())
		return 1;
	compute(0.3);
	printf("shut in\n");
	return 0;
}

int main(int argc, char **argv)
{
	cpu_set_t allowed, own, now;
	int away = 0, tid = helper();

	(void)argv;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	CPU_ZERO(&own);
	CPU_SET(sched_getcpu(), &own);
	memory = allocate(100 * sizeof(*memory));
	sched_setaffinity(0, sizeof(own), &own);
	sched_setaffinity(tid, sizeof(own), &own);
	compute(0.02);
	if (argc > 1)
		return stay_shut_in();
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
