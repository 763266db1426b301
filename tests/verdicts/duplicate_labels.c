// SPDX-License-Identifier: MIT
// verdict: kind=duplicates function=label_copy bytes=12000000 chunks=250000
// A reader of measurements: each of them has a copy of its label, of which there are twelve.
#include "noise.h"

enum { MEASUREMENTS = 250000, LABELS = 12, LABEL = 48, PART = 1000 };

struct measurement {
	char *label;
	float value;
	unsigned time;
};

static struct measurement *parts[MEASUREMENTS / PART];

APART static char *label_copy(unsigned kind)
{
	char *label = malloc(LABEL);

	memset(label, ' ', LABEL);
	snprintf(label, LABEL, "sensor %u, temperature of the inner wall", kind); /* the flaw: one copy per kind would do */
	return label;
}

static void part_read(unsigned part)
{
	parts[part] = malloc(PART * sizeof **parts);
	for (unsigned i = 0; i < PART; i++)
		parts[part][i] = (struct measurement){label_copy(i % LABELS), i * 0.1f, part * PART + i};
}

static double sum_of(const char *label)
{
	double sum = 0;

	for (unsigned part = 0; part < MEASUREMENTS / PART; part++)
		for (unsigned i = 0; i < PART; i += 7)
			if (!strcmp(parts[part][i].label, label))
				sum += parts[part][i].value;
	return sum;
}

static void free_all(void)
{
	for (unsigned part = 0; part < MEASUREMENTS / PART; part++) {
		for (unsigned i = 0; i < PART; i++)
			free(parts[part][i].label);
		free(parts[part]);
	}
}

int main(void)
{
	double sum = 0;

	noise_start();
	for (unsigned part = 0; part < MEASUREMENTS / PART; part++)
		part_read(part);
	for (unsigned i = 0; i < 6000; i++) {
		if (i % 1000 == 0)
			sum += sum_of("sensor 3, temperature of the inner wall");
		noise_turn(i);
	}
	printf("%.1f\n", sum);
	free_all();
	noise_end();
	return 0;
}
