/* SPDX-License-Identifier: MIT
 * Asks for dumps of its own heap, or waits to be dumped; tests/run/dumps.sh compares. Kept blocks have 1000 bytes and more, those
 * that are freed 77. Without Heapwise every case runs to its end as well. */
#define _GNU_SOURCE
#include <errno.h>
#include <heapwise/heapwise.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 10, WORKERS = 3 };

static void *volatile kept[KEPT];

static __attribute__((noinline)) void keeps(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = malloc(1000 + (size_t)i);
}

static __attribute__((noinline)) void churns(int count)
{
	for (int i = 0; i < count; i++) {
		void *p = malloc(77);

		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
	}
}

static void say(const char *what, int status)
{
	char line[200];
	int bytes = snprintf(line, sizeof line, "%s %d %s\n", what, status, status ? strerrorname_np(errno) : "-");

	if (write(STDOUT_FILENO, line, (size_t)bytes) < 0)
		exit(1);
}

static void asks(const char *to)
{
	keeps();
	churns(500);
	say("live", heapwise_dump(to, 0));
	free(kept[0]);
	churns(200);
	say("freed", heapwise_dump(NULL, 1));
	say("numbered", heapwise_dump(NULL, 0));
	say("nowhere", heapwise_dump("/no/such/folder/dump", 0));
	say("empty", heapwise_dump("", 0));
	heapwise_pause();
	say("paused", heapwise_dump("paused", 0));
	heapwise_stop();
	say("stopped", heapwise_dump("stopped", 0));
}

/* A file of its own that is the trace must not be written over. */
static void asks_for_trace(const char *trace)
{
	keeps();
	say("trace", heapwise_dump(trace, 0));
}

static void nap(void)
{
	struct timespec time = {.tv_nsec = 10000000};

	nanosleep(&time, NULL);
}

static void waits(const char *go, int count)
{
	keeps();
	churns(count);
	say("ready", 0);
	while (access(go, F_OK) != 0) {
		churns(5);
		nap();
	}
}

static atomic_bool over;

static void *works(void *unused)
{
	while (!atomic_load(&over)) {
		churns(100);
		nap();
	}
	return unused;
}

static void threads(const char *to)
{
	pthread_t all[WORKERS];

	keeps();
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&all[i], NULL, works, NULL))
			exit(1);
	for (int i = 0; i < 5; i++)
		say("live", heapwise_dump(to, 0));
	atomic_store(&over, true);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(all[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (strcmp(what, "asks") == 0)
		asks(argv[2]);
	else if (strcmp(what, "trace") == 0)
		asks_for_trace(argv[2]);
	else if (strcmp(what, "waits") == 0 && argc > 3)
		waits(argv[2], atoi(argv[3]));
	else if (strcmp(what, "threads") == 0)
		threads(argv[2]);
	return 0;
}
