// SPDX-License-Identifier: MIT
// verdict: kind=growth function=metric_sample bytes=512000 chunks=2000
// A server whose memory is mostly tables: 512 KB of samples in a list that only grows are a sixth of its peak, and will be all of it
// some day. Cheap churn beside it must not come first.
#include "noise.h"

enum { TURNS = 20000 };

struct sample {
	struct sample *next;
	unsigned turn;
	double values[30];
};

static struct sample *samples;

APART static void metric_sample(unsigned turn)
{
	struct sample *sample = malloc(sizeof *sample);

	sample->turn = turn;
	for (unsigned i = 0; i < 30; i++)
		sample->values[i] = noise_sum % (i + 1);
	sample->next = samples;
	samples = sample; /* the flaw: nobody takes the oldest away */
}

static double average(void)
{
	double sum = 0;
	unsigned count = 0;

	for (const struct sample *sample = samples; sample && count < 50; sample = sample->next, count++)
		sum += sample->values[7];
	return count ? sum / count : 0;
}

APART static char *status_line(unsigned turn)
{
	char *line = malloc(80);

	snprintf(line, 80, "turn %u, average %.2f", turn, average());
	return line;
}

int main(void)
{
	size_t written = 0;

	noise_start();
	for (unsigned i = 0; i < TURNS; i++) {
		noise_turn(i);
		if (i % 10 == 0) {
			char *line = status_line(i);

			written += strlen(line);
			free(line);
			metric_sample(i);
		}
	}
	printf("%zu\n", written);
	return 0;
}
