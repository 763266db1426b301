/* SPDX-License-Identifier: MIT
 * micro DEPTH PAIRS: PAIRS calls of malloc, each with its free, from call stacks DEPTH frames deep.
 * The stacks look like those of a recursive program: a common stem, below it one of 64 branching
 * paths, at the end one of 8 allocation points, and siblings visited one after the other, so that
 * some frames change between two events and most stay. Blocks live for 1 to 256 further events.
 * Runs as a benchmark target: same events in every run, and nothing else that costs time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIVE = 256, PATHS = 64, SIBLINGS = 4, PAIRS_PER_LEAF = 4 };

struct work {
	uint64_t random;
	long pairs;   /* still to do */
	unsigned path;
	void *live[LIVE];
};

#define NOINLINE __attribute__((noinline))
/* Keeps a call from becoming a jump: the frame must exist while the callee runs. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

typedef void step_fn(struct work *work, int depth);

static uint32_t work_random(struct work *self)
{
	self->random = self->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(self->random >> 33);
}

static NOINLINE void block_free(void *block)
{
	free(block);
	KEEP_FRAME();
}

/* Each site has two sizes of its own. More would be closer to life, but heaptrack's interpreter grows
 * without bound and aborts when very many pairs of size and stack occur. */
#define SITE(name, usual, rare)                                                                    \
	static NOINLINE void *name(struct work *work)                                              \
	{                                                                                          \
		void *block = malloc(work_random(work) % 8 ? usual : rare);                        \
                                                                                                   \
		KEEP_FRAME();                                                                      \
		return block;                                                                      \
	}
SITE(site_name, 16, 40)
SITE(site_value, 24, 32)
SITE(site_list, 56, 520)
SITE(site_node, 48, 64)
SITE(site_buffer, 136, 2056)
SITE(site_key, 32, 88)
SITE(site_event, 72, 104)
SITE(site_string, 40, 200)

static void *(*const sites[8])(struct work *) = { site_name,   site_value, site_list,  site_node,
						  site_buffer, site_key,   site_event, site_string };

static NOINLINE void leaf(struct work *work)
{
	for (int i = 0; i < PAIRS_PER_LEAF && work->pairs > 0; i++, work->pairs--) {
		uint32_t r = work_random(work);
		void **slot = &work->live[r % LIVE];

		block_free(*slot);
		*slot = sites[(r >> 8) % 8](work);
	}
	KEEP_FRAME();
}

static void descend(struct work *work, int depth);

/* Three frames of different size, so that no two paths have the same stack pointers. */
#define STEP(name, bytes)                                                                          \
	static NOINLINE void name(struct work *work, int depth)                                    \
	{                                                                                          \
		volatile char frame[bytes];                                                        \
                                                                                                   \
		frame[0] = (char)depth;                                                            \
		descend(work, depth);                                                              \
		frame[bytes - 1] = frame[0];                                                       \
	}
STEP(step_list, 24)
STEP(step_pair, 88)
STEP(step_call, 152)

static step_fn *const steps[3] = { step_list, step_pair, step_call };

/* The stem is the same for all; the inner half of the stack depends on the path. */
static inline __attribute__((always_inline)) void descend(struct work *work, int depth)
{
	int siblings = depth == 2 || depth == 4 ? SIBLINGS : 1;

	if (depth == 0) {
		leaf(work);
		return;
	}
	for (int i = 0; i < siblings; i++) {
		unsigned turn = (work->path >> (depth % 6)) + (unsigned)i;

		steps[turn % 3](work, depth - 1);
	}
}

static NOINLINE void stem(struct work *work, int depth, int inner)
{
	if (depth > inner)
		stem(work, depth - 1, inner);
	else
		step_list(work, inner);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	static struct work work = { .random = 88172645463325252u };
	/* main, the innermost stem and step, leaf and the site are five of the frames. */
	int depth = argc > 1 ? atoi(argv[1]) - 5 : 20;
	int inner = depth / 2;

	work.pairs = argc > 2 ? atol(argv[2]) : 1000000;
	if (depth < 0 || work.pairs <= 0) {
		fprintf(stderr, "usage: micro DEPTH PAIRS, with a depth of at least 5\n");
		return 2;
	}
	while (work.pairs > 0) {
		work.path = work_random(&work) % PATHS;
		stem(&work, depth, inner);
	}
	for (int i = 0; i < LIVE; i++)
		free(work.live[i]);
	return 0;
}
