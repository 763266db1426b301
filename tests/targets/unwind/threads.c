/* SPDX-License-Identifier: MIT
 * Stacks that begin in thread start functions: of pthread_create and of C11 threads, on default and
 * on the smallest stacks, some ending by pthread_exit from the depth. */
#define _GNU_SOURCE
#include "stacks.h"

#include <limits.h>
#include <pthread.h>
#include <threads.h>
#include <unistd.h>

static NOINLINE int descend(int depth, int leave)
{
	int sum = 0;

	stacks_touch(90);
	if (depth > 0)
		sum = descend(depth - 1, leave);
	else if (leave)
		pthread_exit(NULL);
	stacks_barrier();
	return sum + 1;
}

static void *start_pthread(void *number)
{
	for (int i = 0; i < 10; i++)
		descend(i, (intptr_t)number % 3 == 0 && i == 9);
	return NULL;
}

static int start_c11(void *number) { return descend((int)(intptr_t)number % 17, 0); }

int main(void)
{
	pthread_attr_t tiny;
	pthread_t threads[8];
	thrd_t c11[8];

	pthread_attr_init(&tiny);
	pthread_attr_setstacksize(&tiny, (size_t)sysconf(_SC_THREAD_STACK_MIN) + 32 * 1024);
	for (int round = 0; round < 5; round++) {
		for (intptr_t i = 0; i < 8; i++) {
			pthread_create(&threads[i], i % 2 ? &tiny : NULL, start_pthread, (void *)i);
			thrd_create(&c11[i], start_c11, (void *)i);
		}
		for (int i = 0; i < 8; i++) {
			pthread_join(threads[i], NULL);
			thrd_join(c11[i], NULL);
		}
	}
	return stacks_done();
}
