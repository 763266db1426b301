/* SPDX-License-Identifier: MIT
 * Chunks that are hot, and end before adaptive recording looks at them again. Of each size is known what it must not be taken for:
 * 800 bytes: written often, then read often: not "never read". 801: in use until it is freed. 802: only written, fewer than 4,096
 * times: certainly never read. 803: hot at first, then idle for nearly all of its life. 804: read before it is freed, by a thread that has
 * accessed nothing but hot memory since it wrote it. Prints the shares of their lives that 801 and 804 were idle: on a busy machine
 * the program itself may stand still. */
#include <stdio.h>
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

/* Accesses p, or hot memory alone, for so long. Gives a time that is not after the last access. */
static double use(volatile char *p, double so_long)
{
	double now = seconds(), end = now + so_long, last = now;

	for (; now < end; last = now, now = seconds())
		for (int i = 0; i < 1000; i++)
			p[i % 8]++;
	return last;
}

struct idle {
	double q, s;
};

static struct idle brief(void)
{
	double born = seconds(), q_last, s_last, end;
	volatile char *p = allocate(800), *q = allocate(801), *r = allocate(802), *s = allocate(804);

	write_often(p);
	read_often(p);
	free((void *)p);
	write_often(r);
	s[0] = 1;
	q_last = use(q, 0.003);
	use(hot, 0.002);
	s_last = seconds();
	(void)s[0];
	free((void *)s);
	free((void *)q);
	end = seconds();
	free((void *)r);
	return (struct idle){(end - q_last) / (end - born), (end - s_last) / (end - born)};
}

int main(void)
{
	volatile char *idle = allocate(803);
	struct idle shares[CHUNKS];

	hot = allocate(64);
	use(hot, 0.05);
	write_often(idle);
	read_often(idle);
	for (int i = 0; i < CHUNKS; i++)
		shares[i] = brief();
	sleep(2);
	free((void *)idle);
	for (int i = 0; i < CHUNKS; i++)
		printf("%.3f %.3f\n", shares[i].q, shares[i].s);
	return 0;
}
