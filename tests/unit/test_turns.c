/* SPDX-License-Identifier: MIT
 * Turns of the sets in adaptive recording: each has the same part of a program's progress, whatever the machine
 * does meanwhile. The programs here are made up, and so is their time. */
#include <stdio.h>

#include "lib/test.h"
#include "target/access/shadow/turns.c"

enum { LOOKS = 256000, HOT = 5, STEP_NS = 10, REPORT_NS = 6, QUOTA_NS = 250000, BURSTS = 20 };

/* A program that makes a step after the other. */
struct made_up {
	double progress[HWR_TURNS]; /* steps in the turns of each set */
	double reports;             /* so far */
	u64 state;                  /* of random numbers */
	double reports_per_step;    /* while it is the turn of HOT */
	double controls_per_step;
	double cost_error; /* what a report costs, as the recorder believes : as it is */
	bool busy;         /* looks come late, and the program has a random part of the time */
	bool pauses;       /* no controls in the middle third of the run */
	bool bursts;       /* of controls */
	double stall_ns;   /* the next look comes so late */
	bool follows;      /* looks come when the turn may be over */
};

static double random_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)(*state >> 11) / (double)(1ull << 53);
}

static void look_again(struct made_up *self, struct hwr_turns *turns, bool pauses)
{
	double pause = self->follows ? (double)hwr_turns_quota(turns, turns->set) * 4 / 3 : 5e5;
	double cpu = pause * (self->busy ? 6 * random_next(&self->state) * random_next(&self->state) : 1);
	double reports = turns->set == HOT ? self->reports_per_step : 0;
	double steps = (cpu + self->stall_ns) / (STEP_NS + reports * REPORT_NS);
	struct hwr_look look = {
		.cpu_ns = (u64)(cpu + self->stall_ns),
		.recording_ns = (u64)(steps * reports * REPORT_NS * self->cost_error),
		.controls = pauses ? 0 : (u64)(steps * self->controls_per_step),
	};

	if (self->bursts && random_next(&self->state) > 1.0 / BURSTS)
		look.controls = 0;
	else if (self->bursts)
		look.controls *= BURSTS;

	self->progress[turns->set] += steps;
	self->reports += steps * reports;
	self->stall_ns = 0;
	hwr_turns_add(turns, &look);
	if (hwr_turns_is_over(turns))
		hwr_turns_begin(turns, hwr_turns_next(turns));
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
	struct hwr_turns turns = {.set = 3, .quota = QUOTA_NS};

	self.state = 88172645463325252u;
	for (u32 i = 0; i < LOOKS; i++)
		look_again(&self, &turns, self.pauses && i / (LOOKS / 3) == 1);
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

TEST(busy, "on a busy machine, too: they differ by no more than the longest turn")
{
	/* 3 ms, and half of one before; of 256,000 looks of 0.75 ms a set has a 64th, 3 s. */
	check_within((struct made_up){.cost_error = 1, .busy = true}, 3.4 / 3000);
	check_within((struct made_up){.cost_error = 1, .busy = true, .controls_per_step = 0.01},
		     3.4 / 3000);
}

TEST(slow, "a program that is slower in the turn of a set has it longer")
{
	check_within((struct made_up){.cost_error = 1, .reports_per_step = 5}, 0.02);
	check_within((struct made_up){.cost_error = 1, .reports_per_step = 5, .busy = true}, 0.03);
}

TEST(controls, "and with controls it need not be well known what a report costs")
{
	static const double errors[] = {0.55, 0.7, 1.3, 1.9};

	for (u32 i = 0; i < 4; i++) {
		struct made_up program = {.cost_error = errors[i],
					  .reports_per_step = 5,
					  .busy = i % 2,
					  .controls_per_step = 0.01};

		check_within(program, 0.05);
	}
}

TEST(pauses, "also where controls pause for long")
{
	struct made_up program = {.cost_error = 1,
				  .reports_per_step = 5,
				  .controls_per_step = 0.01,
				  .pauses = true};

	check_within(program, 0.3);
	program.reports_per_step = 0;
	check_within(program, 0.02);
}

/* Of the hot set's share in short runs: root of the mean square. */
static double scatter_of(struct made_up program)
{
	enum { RUNS = 40, SHORT_RUN = 4000 };
	double squares = 0;

	for (u64 run = 1; run <= RUNS; run++) {
		struct made_up self = program;
		struct hwr_turns turns = {.set = 3, .quota = QUOTA_NS};
		double all = 0, off;

		self.state = run * 88172645463325252u;
		for (u32 i = 0; i < SHORT_RUN; i++)
			look_again(&self, &turns, false);
		for (u32 i = 0; i < HWR_TURNS; i++)
			all += self.progress[i];
		off = self.progress[HOT] * HWR_TURNS / all - 1;
		squares += off * off / RUNS;
	}
	return __builtin_sqrt(squares);
}

TEST(chance, "controls that come in bursts do not tell more than they know")
{
	struct made_up program = {.cost_error = 1, .reports_per_step = 5, .controls_per_step = 0.01, .bursts = true};

	CHECK(scatter_of(program) < 0.18);
	program.bursts = false;
	program.cost_error = 1.3;
	CHECK(scatter_of(program) < 0.01);
}

TEST(uncontrolled, "without them it is told wrong by as much as the cost is")
{
	struct made_up program = {.cost_error = 0, .reports_per_step = 5};
	u32 set = 0;

	CHECK(run(program, &set) < -0.7);
	CHECK_EQ(set, HOT);
	program.controls_per_step = 1e-5; /* half of one in a look tells nothing */
	CHECK(run(program, &set) < -0.7);
}

/* What the recorder would say of all accesses of the hot memory : what is true. */
static double sum_of(struct made_up self, u32 looks)
{
	struct hwr_turns turns = {.set = 3, .quota = QUOTA_NS};
	double steps = 0;

	self.state = 88172645463325252u;
	for (u32 i = 0; i < looks; i++)
		look_again(&self, &turns, false);
	for (u32 i = 0; i < HWR_TURNS; i++)
		steps += self.progress[i];
	return self.reports * HWR_TURNS / (steps * self.reports_per_step);
}

TEST(sums, "reports of a set's turns, times the number of sets, are the number of accesses")
{
	/* A report in two steps: as lua's hottest set, which has a tenth of its accesses. */
	struct made_up program = {.cost_error = 1, .reports_per_step = 0.5};

	for (u32 busy = 0; busy < 2; busy++) {
		program.busy = busy;
		program.cost_error = 1;
		CHECK(sum_of(program, 64000) > 0.99 && sum_of(program, 64000) < 1.01);
		program.cost_error = 0.8;
		CHECK(sum_of(program, 64000) > 0.93 && sum_of(program, 64000) < 0.99);
		program.cost_error = 1.2;
		CHECK(sum_of(program, 64000) < 1.07 && sum_of(program, 64000) > 1.01);
	}
}

TEST(hot, "a set that is hot has short turns, more of them, and most not one after the other")
{
	struct made_up program = {.cost_error = 1, .reports_per_step = 5, .state = 88172645463325252u, .follows = true};
	struct hwr_turns turns = {.set = 3, .quota = QUOTA_NS};
	u32 count[HWR_TURNS] = {0}, last = 3, again = 0, set = 0;

	for (u32 i = 0; i < 64000; i++) {
		look_again(&program, &turns, false);
		if (turns.gained == 0) {
			count[turns.set]++;
			again += turns.set == last && last == HOT;
			last = turns.set;
		}
	}
	CHECK_EQ(hwr_turns_quota(&turns, HOT), QUOTA_NS / 4);
	CHECK_EQ(hwr_turns_quota(&turns, HOT + 1), QUOTA_NS / 10 * 16);
	CHECK(count[HOT] > 3 * count[HOT + 1]);
	CHECK(again < count[HOT] / 2);
	CHECK(worst_share(&program, &set) < 0.02 && worst_share(&program, &set) > -0.02);
}

TEST(stalled, "a turn that was far too long is made up for, when the program runs long enough")
{
	struct made_up program = {.cost_error = 1, .stall_ns = 20e6, .state = 88172645463325252u};
	struct hwr_turns turns = {.set = HOT, .quota = QUOTA_NS};
	u32 set = 0;

	for (u32 i = 0; i < 640; i++)
		look_again(&program, &turns, false);
	CHECK(worst_share(&program, &set) > 1);
	CHECK_EQ(set, HOT);
	for (u32 i = 0; i < 5760; i++)
		look_again(&program, &turns, false);
	CHECK(worst_share(&program, &set) < 0.02 && worst_share(&program, &set) > -0.02);
}

TEST(asleep, "nothing happens while the program sleeps")
{
	struct hwr_turns turns = {.set = 3, .quota = QUOTA_NS};
	struct hwr_look nothing = {0, 0, 0};

	for (u32 i = 0; i < 100; i++)
		hwr_turns_add(&turns, &nothing);
	CHECK(!hwr_turns_is_over(&turns));
	for (u32 i = 0; i < HWR_TURNS; i++)
		CHECK_EQ(turns.all[i].cpu_ns, 0);
}

TEST(forgotten, "new controls have their own pace")
{
	struct made_up program = {.cost_error = 0.7,
				  .reports_per_step = 5,
				  .controls_per_step = 0.01,
				  .state = 88172645463325252u};
	struct hwr_turns turns = {.set = 0, .quota = QUOTA_NS};
	u32 set = 0;

	for (u32 i = 0; i < LOOKS; i++) {
		if (i == LOOKS / 2) {
			hwr_turns_forget(&turns);
			program.controls_per_step = 1;
		}
		look_again(&program, &turns, false);
	}
	CHECK(worst_share(&program, &set) < 0.05 && worst_share(&program, &set) > -0.05);
}
