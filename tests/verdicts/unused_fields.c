// SPDX-License-Identifier: MIT
// verdict: kind=unused function=particle_new bytes=6400000 chunks=10000 build=cc options=--coverage
// A simulation of particles: each has a history of 600 bytes from the days when somebody drew it, which nothing touches any more.
#include "noise.h"

enum { PARTICLES = 10000, STEPS = 10 };

struct particle {
	double position, velocity;
	float history[150]; /* the flaw */
	unsigned id, group;
	struct particle *next;
	long hits;
};

APART static struct particle *particle_new(unsigned id, struct particle *next)
{
	struct particle *particle = malloc(sizeof *particle);

	particle->position = id;
	particle->velocity = id % 7 - 3.0;
	particle->id = id;
	particle->group = id % 5;
	particle->hits = 0;
	particle->next = next;
	return particle;
}

static double step(struct particle *first)
{
	double energy = 0;

	for (struct particle *particle = first; particle; particle = particle->next) {
		particle->position += particle->velocity * 0.01;
		particle->hits += particle->position < 0;
		energy += particle->velocity * particle->velocity;
	}
	return energy;
}

static void free_all(struct particle *first)
{
	while (first) {
		struct particle *next = first->next;

		free(first);
		first = next;
	}
}

int main(void)
{
	struct particle *first = NULL;
	double energy = 0;

	noise_start();
	for (unsigned i = 0; i < PARTICLES; i++)
		first = particle_new(i, first);
	for (unsigned i = 0; i < STEPS; i++) {
		energy += step(first);
		for (unsigned k = 0; k < 60; k++)
			noise_turn(i * 60 + k);
	}
	printf("%.1f\n", energy);
	free_all(first);
	noise_end();
	return 0;
}
