/* SPDX-License-Identifier: MIT
 * busy SECONDS   allocates and frees all the time, with the same number of chunks alive at any moment. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHUNKS = 20000, ROUND = 1000 };

static char *chunks[CHUNKS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 5);
	unsigned long random = 1;

	while (now() < end) {
		struct timespec pause = {.tv_nsec = 2000000};

		for (int i = 0; i < ROUND; i++) {
			int at;

			random = random * 6364136223846793005ul + 1442695040888963407ul;
			at = (int)((random >> 33) % CHUNKS);
			free(chunks[at]);
			chunks[at] = malloc(16 + (random >> 50) % 500);
			if (!chunks[at])
				return 1;
			chunks[at][0] = 1;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}
