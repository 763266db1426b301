/* SPDX-License-Identifier: MIT
 * Chunks that are hot, and end before adaptive recording looks at them again. Of each size is known what it must not be taken for:
 * 800 bytes: written often, then read often: not "never read". 801: in use until it is freed. 802: only written, fewer than 4,096
 * times: certainly never read. 803: hot at first, then idle for nearly all of its life. 804: read before it is freed, by a thread that has
 * accessed nothing but hot memory since it wrote it. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CHUNKS = 50, TIMES = 200 };

static void *(*volatile allocate)(size_t) = malloc;
static volatile char *hot;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_often(volatile char *p)
{
	for (int i = 0; i < TIMES; i++)
		p[i % 8] = 1;
}

static void read_often(volatile char *p)
{
	for (int i = 0; i < TIMES; i++)
		(void)p[i % 8];
}

/* Accesses p, or hot memory alone, for so long. */
static void use(volatile char *p, double so_long)
{
	double end = seconds() + so_long;

	while (seconds() < end)
		for (int i = 0; i < 1000; i++)
			p[i % 8]++;
}

static void brief(void)
{
	volatile char *p = allocate(800), *q = allocate(801), *r = allocate(802), *s = allocate(804);

	write_often(p);
	read_often(p);
	free((void *)p);
	write_often(r);
	s[0] = 1;
	use(q, 0.003);
	use(hot, 0.002);
	(void)s[0];
	free((void *)s);
	free((void *)q);
	free((void *)r);
}

int main(void)
{
	volatile char *idle = allocate(803);

	hot = allocate(64);
	use(hot, 0.05);
	write_often(idle);
	read_often(idle);
	for (int i = 0; i < CHUNKS; i++)
		brief();
	sleep(2);
	free((void *)idle);
	return 0;
}
