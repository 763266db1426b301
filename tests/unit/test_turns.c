/* SPDX-License-Identifier: MIT
 * Turns of the sets in adaptive recording: each has the same part of a program's progress, whatever the machine
 * does meanwhile. The programs here are made up, and so is their time. */
#include <stdio.h>

#include "lib/test.h"
#include "recorder/access/shadow/turns.c"

enum { EPOCHS = 2000, HOT = 5, STEP_NS = 10, REPORT_NS = 6 };

/* A program that makes a step after the other. */
struct made_up {
	double progress[HWR_TURNS]; /* steps in the turns of each set */
	u64 state;                  /* of random numbers */
	double reports_per_step;    /* while it is the turn of HOT */
	double controls_per_step;
	double cost_error; /* what a report costs, as the recorder believes : as it is */
	bool busy;         /* epochs last a random time, of which the program has a random part */
	bool pauses;       /* no controls in the middle third of the epochs */
};

static double random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) / (double)(1ull << 53);
}

static void run_epoch(struct made_up *self, struct hwr_turns *turns, bool pause)
{
	double cpu =
		2e6 * (self->busy ? 6 * random_next(&self->state) * random_next(&self->state) : 1);
	double reports = turns->set == HOT ? self->reports_per_step : 0;
	double steps = cpu / (STEP_NS + reports * REPORT_NS);
	struct hwr_epoch epoch = {
		.cpu_ns = (u64)cpu,
		.recording_ns = (u64)(steps * reports * REPORT_NS * self->cost_error),
		.controls = pause ? 0 : (u64)(steps * self->controls_per_step),
	};

	self->progress[turns->set] += steps;
	hwr_turns_next(turns, &epoch);
}

/* How far a set's share of all steps is from what it should be. */
static double worst_share(struct made_up *self, u32 *set)
{
	double all = 0, worst = 0;

	for (u32 i = 0; i < HWR_TURNS; i++)
		all += self->progress[i];
	for (u32 i = 0; i < HWR_TURNS; i++) {
		double off = self->progress[i] * HWR_TURNS / all - 1;

		if (off * off > worst * worst) {
			worst = off;
			*set = i;
		}
	}
	return worst;
}

static double run(struct made_up self, u32 *set)
{
	struct hwr_turns turns = {.set = 3};

	self.state = 88172645463325252u;
	for (u32 i = 0; i < EPOCHS; i++)
		run_epoch(&self, &turns, self.pauses && i / (EPOCHS / 3) == 1);
	return worst_share(&self, set);
}

static void check_within(struct made_up program, double limit)
{
	u32 set = 0;
	double worst = run(program, &set);

	if (worst > limit || worst < -limit)
		printf("set %u is off by %.3f\n", set, worst);
	CHECK(worst <= limit && worst >= -limit);
}

TEST(even, "sets of an even program have the same progress")
{
	check_within((struct made_up){.cost_error = 1}, 0.02);
}

TEST(busy, "on a busy machine, too: they differ by no more than the longest epoch")
{
	/* 12 ms of 2,000 epochs of 3 ms, a sixteenth of them: 375 ms. */
	check_within((struct made_up){.cost_error = 1, .busy = true}, 12.0 / 375);
	check_within((struct made_up){.cost_error = 1, .busy = true, .controls_per_step = 0.01},
		     12.0 / 375);
}

TEST(slow, "a program that is slower in the turn of a set has it longer")
{
	check_within((struct made_up){.cost_error = 1, .reports_per_step = 5}, 0.03);
	check_within((struct made_up){.cost_error = 1, .reports_per_step = 5, .busy = true}, 0.05);
}

TEST(controls, "and with controls it need not be known what a report costs")
{
	static const double errors[] = {0, 0.5, 1.3, 2};

	for (u32 i = 0; i < 4; i++) {
		struct made_up program = {.cost_error = errors[i],
					  .reports_per_step = 5,
					  .busy = i % 2,
					  .controls_per_step = 0.01};

		/* The part of progress that is time, and what the epochs at the beginning are off by. */
		check_within(program, 0.18);
	}
}

TEST(pauses, "where controls pause, time goes on")
{
	struct made_up program = {.cost_error = 1,
				  .reports_per_step = 5,
				  .controls_per_step = 0.01,
				  .pauses = true};

	/* A turn lasts 16 epochs then, of 125 that a set has in all. */
	check_within(program, 16.0 / 125 + 0.05);
}

TEST(uncontrolled, "without them it is told wrong by as much as the cost is")
{
	struct made_up program = {.cost_error = 0, .reports_per_step = 5};
	u32 set = 0;

	CHECK(run(program, &set) < -0.7);
	CHECK_EQ(set, HOT);
	program.controls_per_step = 1e-5; /* two in an epoch tell nothing */
	CHECK(run(program, &set) < -0.7);
}

TEST(asleep, "nothing happens while the program sleeps")
{
	struct hwr_turns turns = {.set = 3};
	struct hwr_epoch nothing = {0, 0, 0};

	for (u32 i = 0; i < 100; i++)
		hwr_turns_next(&turns, &nothing);
	for (u32 i = 0; i < HWR_TURNS; i++)
		CHECK_EQ(turns.progress[i], 0);
}

TEST(forgotten, "new controls have their own pace")
{
	struct made_up program = {.cost_error = 0.5,
				  .reports_per_step = 5,
				  .controls_per_step = 0.01,
				  .state = 88172645463325252u};
	struct hwr_turns turns = {.set = 0};
	u32 set = 0;

	for (u32 i = 0; i < EPOCHS; i++) {
		if (i == EPOCHS / 2) {
			hwr_turns_forget(&turns);
			program.controls_per_step = 1;
		}
		run_epoch(&program, &turns, false);
	}
	CHECK(worst_share(&program, &set) < 0.18 && worst_share(&program, &set) > -0.18);
}
