/* SPDX-License-Identifier: MIT
 * A server for docs/howto/servers.md: answers a request every millisecond until it is terminated, and caches each answer. Nothing ever leaves
 * the cache. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct answer {
	struct answer *next;
	int request;
	char text[1000];
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static struct answer *cache_add(struct answer *cache, int request)
{
	struct answer *answer = malloc(sizeof *answer);

	if (!answer)
		return cache;
	answer->next = cache;
	answer->request = request;
	snprintf(answer->text, sizeof answer->text, "answer %d", request);
	return answer;
}

int main(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct answer *cache = NULL;

	signal(SIGTERM, end);
	for (int request = 0; !ended; request++) {
		cache = cache_add(cache, request);
		nanosleep(&pause, NULL);
	}
	while (cache) {
		struct answer *next = cache->next;

		free(cache);
		cache = next;
	}
	return 0;
}
