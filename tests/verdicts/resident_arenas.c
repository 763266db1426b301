// SPDX-License-Identifier: MIT
// verdict: kind=arenas function=lines_of bytes=104000000
// Twelve workers, one job at a time: the lines of a job take 9.6 MB, of which one in 100 stays. Each worker has an arena of its own and
// fills that, although eleven others have as much free.
#include "noise.h"
#include <pthread.h>

enum { WORKERS = 12, LINES = 40000, LINE = 220, STAYS = 100, TURNS = 14000 };

static pthread_mutex_t job = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready, done;
static char *kept[WORKERS][LINES / STAYS];

APART static char **lines_of(unsigned worker)
{
	char **lines = (char **)malloc(LINES * sizeof *lines);

	for (unsigned i = 0; i < LINES; i++) {
		lines[i] = (char *)malloc(LINE);
		memset(lines[i], (int)('a' + worker), LINE);
	}
	return lines;
}

APART static void *work(void *number)
{
	unsigned worker = (unsigned)(size_t)number;
	char **lines;

	free(malloc(worker + 1)); /* here it gets its arena */
	pthread_barrier_wait(&ready);
	pthread_mutex_lock(&job);
	lines = lines_of(worker);
	for (unsigned i = 0; i < LINES; i++) {
		if (i % STAYS == STAYS - 1)
			kept[worker][i / STAYS] = lines[i];
		else
			free(lines[i]);
	}
	free(lines);
	pthread_mutex_unlock(&job);
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&done);
	return NULL;
}

int main(void)
{
	pthread_t ids[WORKERS];

	noise_start();
	pthread_barrier_init(&ready, NULL, WORKERS);
	pthread_barrier_init(&done, NULL, WORKERS + 1);
	for (size_t i = 0; i < WORKERS; i++)
		pthread_create(&ids[i], NULL, work, (void *)i);
	pthread_barrier_wait(&done);
	for (unsigned i = 0; i < TURNS; i++)
		noise_turn(i);
	pthread_barrier_wait(&done);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(ids[i], NULL);
	for (unsigned i = 0; i < WORKERS * (LINES / STAYS); i++)
		free(kept[i / (LINES / STAYS)][i % (LINES / STAYS)]);
	noise_end();
	return 0;
}
