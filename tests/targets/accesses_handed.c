/* SPDX-License-Identifier: MIT
 * One thread makes chunks and another uses them up. The consumer waits without a system call or an access to
 * the heap, so that the time it last read off the counter is older than the chunk: chunks of 900 bytes are
 * written before they are handed over, those of 901 bytes are not accessed until then. */
#include <pthread.h>
#include <stdlib.h>

enum { CHUNKS = 2000 };

static volatile char *offered;

static volatile char *take(void)
{
	volatile char *p;

	while (!(p = __atomic_load_n(&offered, __ATOMIC_ACQUIRE)))
		;
	return p;
}

static void *consume(void *own)
{
	for (int i = 0; i < CHUNKS; i++) {
		volatile char *p;

		*(volatile char *)own = 1; /* reads the counter, if need be */
		p = take();
		(void)p[0];
		p[1] = 1;
		free((void *)p);
		__atomic_store_n(&offered, NULL, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void produce(int i)
{
	volatile char *p = malloc(900 + i % 2);

	if (i % 2 == 0)
		p[0] = 1;
	__atomic_store_n(&offered, p, __ATOMIC_RELEASE);
	while (__atomic_load_n(&offered, __ATOMIC_ACQUIRE))
		;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, consume, malloc(1));
	for (int i = 0; i < CHUNKS; i++)
		produce(i);
	pthread_join(thread, NULL);
	return 0;
}
