/* SPDX-License-Identifier: MIT
 * A tool made with the monitor toolkit: how often a program allocates and frees, and what lives, once a second
 * (the first tool of the Memcov paper).
 *	rates PROGRAM [ARGUMENT...]
 *	rates -p PID     of a program that `heapwise watch` or `heapwise run` has started */
#include <heapwise/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct rates {
	struct heapwise_client *client;
	uint64_t start_ns;
	unsigned long mallocs, frees, reallocs;
};

static void on_event(void *self, const struct heapwise_event *event)
{
	struct rates *rates = self;

	rates->mallocs += event->kind == HEAPWISE_MALLOC;
	rates->frees += event->kind == HEAPWISE_FREE;
	rates->reallocs += event->kind == HEAPWISE_REALLOC;
}

static void on_tick(void *self, uint64_t now_ns)
{
	struct rates *rates = self;

	if (!rates->start_ns) {
		rates->start_ns = now_ns;
		fprintf(stderr, "%8s %10s %10s %10s %10s %12s\n", "seconds", "mallocs", "frees", "reallocs",
			"live", "live bytes");
	}
	fprintf(stderr, "%8.1f %10lu %10lu %10lu %10zu %12llu\n", (double)(now_ns - rates->start_ns) / 1e9,
		rates->mallocs, rates->frees, rates->reallocs, heapwise_count(rates->client),
		(unsigned long long)heapwise_bytes(rates->client));
	rates->mallocs = rates->frees = rates->reallocs = 0;
}

int main(int argc, char **argv)
{
	struct rates rates = {.client = heapwise_client_new()};
	int status = 0, failed;

	if (argc < 2 || !rates.client)
		return 2;
	heapwise_on_event(rates.client, on_event, &rates);
	heapwise_on_tick(rates.client, 1000, on_tick, &rates);
	if (argc == 3 && strcmp(argv[1], "-p") == 0)
		failed = heapwise_join(rates.client, atoi(argv[2]));
	else
		failed = heapwise_launch(rates.client, argv + 1, &status);
	if (failed) {
		fprintf(stderr, "rates: %s\n", heapwise_error(rates.client));
		return 3;
	}
	heapwise_client_free(rates.client);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
