/* SPDX-License-Identifier: MIT
 * leaky SECONDS   20 busy allocation points and 3 that leak one chunk in 1,000: two lose it, one keeps a pointer that it
 * never uses again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUSY = 20, EACH = 50, LEAKY = 3, QUEUE = 64, ONE_IN = 1000 };

#define POINT(name, n)                                                                             \
	static __attribute__((noinline)) char *name##_##n(size_t size)                             \
	{                                                                                          \
		char *p = malloc(size);                                                            \
                                                                                                   \
		p[0] = n;                                                                          \
		return p;                                                                          \
	}
#define TEN(F, t) F(t##0) F(t##1) F(t##2) F(t##3) F(t##4) F(t##5) F(t##6) F(t##7) F(t##8) F(t##9)
#define BUSY_POINT(n) POINT(busy, n)
#define BUSY_NAME(n) busy_##n,
TEN(BUSY_POINT, 1)
TEN(BUSY_POINT, 2)
POINT(leaky, 0)
POINT(leaky, 1)
POINT(leaky, 2)

static char *(*const busy[BUSY])(size_t) = {TEN(BUSY_NAME, 1) TEN(BUSY_NAME, 2)};
static char *(*const leaky[LEAKY])(size_t) = {leaky_0, leaky_1, leaky_2};
static char *areas[BUSY][EACH], *queue[LEAKY][QUEUE];
static char *volatile kept[100000];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void use_all(void)
{
	for (int i = 0; i < BUSY; i++)
		for (int k = 0; k < EACH; k++)
			((volatile char *)areas[i][k])[1]++;
}

static void leak_some(unsigned long random)
{
	static unsigned long count[LEAKY];
	static int kept_count;
	int point = (int)((random >> 20) % LEAKY), place = (int)((random >> 27) % QUEUE);
	char *p = leaky[point](40 + (size_t)point * 100);

	p[5] = 1;
	if (++count[point] % ONE_IN == 0) {
		if (point == 0)
			kept[kept_count++ % 100000] = p;
		p = NULL;
	}
	free(queue[point][place]);
	queue[point][place] = p;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 5);
	unsigned long random = 1;

	for (int i = 0; i < BUSY; i++)
		for (int k = 0; k < EACH; k++)
			areas[i][k] = busy[i](20 + (size_t)i * 30);
	for (unsigned long round = 0; round % 256 || now() < end; round++) {
		int i, k;

		random = random * 6364136223846793005ul + 1442695040888963407ul;
		i = (int)((random >> 33) % BUSY);
		k = (int)((random >> 40) % EACH);
		if (random >> 62 == 0) {
			free(areas[i][k]);
			areas[i][k] = busy[i](20 + (size_t)i * 30);
		}
		use_all();
		leak_some(random);
	}
	return 0;
}
