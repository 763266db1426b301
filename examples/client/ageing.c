/* SPDX-License-Identifier: MIT
 * A tool made with the monitor toolkit: for how long areas have not been touched, once a second (the second
 * tool of the Memcov paper). Each second whatever is not monitored is monitored again. Areas of which nobody can
 * say it, because others on their pages are in use, are counted apart.
 *	ageing PROGRAM [ARGUMENT...]
 *	ageing -p PID     of a program that `heapwise watch` or `heapwise run` has started */
#include <heapwise/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { BINS = 8, UNKNOWN = 7 }; /* less than 1, 2, 4, 8, 16, 32 seconds, and more; not known */

struct ageing {
	struct heapwise_client *client;
	uint64_t start_ns;
};

static int bin_of(uint64_t age_ns)
{
	int bin = 0;

	for (uint64_t limit = 1000000000; bin < UNKNOWN - 1 && age_ns >= limit; limit *= 2)
		bin++;
	return bin;
}

static void print_bins(const unsigned long bins[BINS], double seconds, double share)
{
	fprintf(stderr, "%8.1f", seconds);
	for (int i = 0; i < BINS; i++)
		fprintf(stderr, " %8lu", bins[i]);
	fprintf(stderr, "   %5.2f%%\n", 100 * share);
}

static void on_tick(void *self, uint64_t now_ns)
{
	struct ageing *ageing = self;
	unsigned long bins[BINS] = {0};
	uint64_t cost, cpu;

	if (!ageing->start_ns) {
		ageing->start_ns = now_ns;
		fprintf(stderr, "%8s %8s %8s %8s %8s %8s %8s %8s %8s   %6s\n", "seconds", "<1 s", "<2 s", "<4 s",
			"<8 s", "<16 s", "<32 s", "more", "unknown", "cost");
	}
	for (struct heapwise_area *area = heapwise_next(ageing->client, NULL); area;
	     area = heapwise_next(ageing->client, area)) {
		uint64_t seen = heapwise_area_seen_ns(area), age = now_ns > seen ? now_ns - seen : 0;

		bins[age < 1000000000 || heapwise_is_known(area) ? bin_of(age) : UNKNOWN]++;
		if (!heapwise_is_monitored(area))
			heapwise_monitor(ageing->client, area);
	}
	heapwise_cost(ageing->client, &cost, &cpu);
	print_bins(bins, (double)(now_ns - ageing->start_ns) / 1e9, cpu ? (double)cost / (double)cpu : 0);
}

int main(int argc, char **argv)
{
	struct ageing ageing = {.client = heapwise_client_new()};
	int status = 0, failed;

	if (argc < 2 || !ageing.client)
		return 2;
	heapwise_on_tick(ageing.client, 1000, on_tick, &ageing);
	if (argc == 3 && strcmp(argv[1], "-p") == 0)
		failed = heapwise_join(ageing.client, atoi(argv[2]));
	else
		failed = heapwise_launch(ageing.client, argv + 1, &status);
	if (failed) {
		fprintf(stderr, "ageing: %s\n", heapwise_error(ageing.client));
		return 3;
	}
	heapwise_client_free(ageing.client);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
