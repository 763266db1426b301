/* SPDX-License-Identifier: MIT
 * Threads or child processes that all live at once: each allocates ten blocks, and waits for the last one.
 * Usage: crowd threads|children COUNT   prints how many there were */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 10, BYTES = 101, STACK = 64 << 10 };

static pthread_barrier_t everybody;

static void work(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(malloc(BYTES));
}

static void *thread_main(void *unused)
{
	work();
	pthread_barrier_wait(&everybody);
	return unused;
}

static long threads(long count)
{
	pthread_t *all = calloc((size_t)count, sizeof *all);
	pthread_attr_t small;
	long made = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	pthread_barrier_init(&everybody, NULL, (unsigned)count + 1);
	while (made < count && pthread_create(&all[made], &small, thread_main, NULL) == 0)
		made++;
	if (made < count)
		return made;
	pthread_barrier_wait(&everybody);
	for (long i = 0; i < count; i++)
		pthread_join(all[i], NULL);
	return made;
}

static long children(long count)
{
	int gate[2], ready[2], status;
	long made = 0, well = 0;
	char byte = 0;

	if (pipe(gate) < 0 || pipe(ready) < 0)
		return 0;
	for (; made < count; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			close(gate[1]);
			work();
			_exit(write(ready[1], &byte, 1) == 1 && read(gate[0], &byte, 1) == 0 ? 0 : 1);
		}
	}
	for (long i = 0; i < made && read(ready[0], &byte, 1) == 1; i++)
		;
	close(gate[1]);
	while (wait(&status) > 0)
		well += status == 0;
	return well;
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0, were;

	if (count < 1)
		return 2;
	were = strcmp(argv[1], "threads") == 0 ? threads(count) : children(count);
	printf("%ld\n", were);
	return were != count;
}
