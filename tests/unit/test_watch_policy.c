/* SPDX-License-Identifier: MIT
 * The controller of `heapwise watch`, with a program that is made up: units with known hit rates, and a clock that
 * goes on by steps of 10 ms. */
#include <string.h>

#include "format/shadow.h"
#include "lib/test.h"
#include "live/watch/policy.h"

enum { STEP_NS = 10000000, FAULT_NS = 5000, ARM_NS = 1500, OPEN_NS = 300 };
static const u64 SECOND = 1000000000;

struct program {
	struct areas areas;
	struct requests requests;
	struct policy policy;
	struct policy_cost cost;
	double rates[4096]; /* hits a second, by number of the area */
	u64 now, next_tick, random;
	u64 idle;    /* of so many ns one is CPU time; 0 = of each */
	u64 wake_ns; /* what it costs when anything is asked */
	u64 fault_ns, arm_ns, open_ns; /* what these cost */
	u64 spend_most, arm_most, floods;
	double armed_byte_s; /* bytes that were armed × for how long */
};

/* Areas of 4 KiB and more: each is a unit. */
static u64 address_of(u32 number) { return HW_HEAP_START + ((u64)60 << 36) + (u64)number * 65536; }

static struct area *add_area(struct program *self, u32 number, u64 size, double rate)
{
	struct event event = {.ticks = self->now, .address = address_of(number), .size = size, .kind = HW_MALLOC};

	self->rates[number] = rate;
	return areas_add(&self->areas, &event);
}

static void program_init(struct program *self, enum policy_kind kind, double overhead)
{
	struct policy_options options;

	memset(self, 0, sizeof(*self));
	self->now = 1;
	self->random = 1;
	self->fault_ns = FAULT_NS;
	self->arm_ns = ARM_NS;
	self->open_ns = OPEN_NS;
	areas_reset(&self->areas, 0, 0);
	policy_defaults(&options);
	options.kind = kind;
	options.overhead = overhead;
	policy_init(&self->policy, &options);
}

static void program_release(struct program *self)
{
	areas_release(&self->areas);
	requests_release(&self->requests);
	policy_release(&self->policy);
}

static double draw(struct program *self)
{
	self->random = self->random * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(self->random >> 11) / 9007199254740992.0;
}

/* As the program does it: everything is open. */
static void flood(struct program *self)
{
	self->floods++;
	self->spend_most = 0; /* nothing is armed before the next one is set */
	self->cost.cost_ns += self->areas.armed_units * self->open_ns;
	self->cost.open_ns += self->areas.armed_units * self->open_ns;
	self->cost.open_units += self->areas.armed_units;
	areas_flooded(&self->areas, self->now);
}

static void hit(struct program *self, u64 address)
{
	struct tap_hit hit = {.ticks = self->now, .address = address};
	struct unit *unit = areas_unit_at(&self->areas, address);

	if (!unit || !unit->armed)
		return;
	self->cost.hits++;
	self->cost.cost_ns += self->fault_ns;
	policy_hit(&self->policy, unit, self->now);
	areas_hit(&self->areas, &hit);
	if (self->spend_most && self->cost.cost_ns - self->cost.arm_ns - self->cost.open_ns >= self->spend_most)
		flood(self);
}

/* What the helper thread of a program would do. */
static void obey(struct program *self)
{
	u64 woken = self->requests.waiting.count ? self->wake_ns : 0;

	self->cost.cost_ns += woken;
	self->cost.arm_ns += woken;
	for (u64 i = 0; i < self->requests.waiting.count; i++) {
		struct hw_command command = self->requests.waiting.data[i];

		command.ticks = self->now;
		command.result = HW_COMMAND_BUSY;
		if (command.verb == HW_COMMAND_DISARM || !self->arm_most || self->cost.arm_ns < self->arm_most) {
			command.result = HW_COMMAND_DONE;
			self->cost.arms += command.verb == HW_COMMAND_ARM;
			self->cost.cost_ns += self->arm_ns;
			self->cost.arm_ns += self->arm_ns;
		}
		requests_done(&self->requests, &self->areas, &command);
	}
	vec_clear(&self->requests.waiting);
}

/* One step: what is armed is hit as its rate says. */
static void step(struct program *self)
{
	struct policy_limits limits;

	self->now += STEP_NS;
	self->cost.cpu_ns += STEP_NS / (self->idle ? self->idle : 1);
	self->armed_byte_s += (double)self->areas.armed_bytes * STEP_NS / 1e9;
	for (u64 i = 0; i < self->areas.list.count; i++) {
		const struct area *area = self->areas.list.data[i];
		double rate = self->rates[(area->address - address_of(0)) / 65536];

		if (area->unit->armed && draw(self) < rate * STEP_NS / 1e9)
			hit(self, area->address + 100);
	}
	self->cost.armed = self->areas.armed_units;
	if (self->now >= self->next_tick) {
		CHECK(policy_tick(&self->policy, &self->areas, &self->requests, &self->cost, self->now));
		self->next_tick = self->now + policy_period_ns(&self->policy, self->areas.units.count);
	}
	self->cost.asked = self->requests.waiting.count;
	limits = policy_limits(&self->policy, &self->cost);
	self->spend_most = limits.hits_ns;
	self->arm_most = limits.arming_ns;
	obey(self);
}

static void run(struct program *self, u64 ns)
{
	for (u64 end = self->now + ns; self->now < end;)
		step(self);
}

TEST(ladder_climbs, "a hit opens a unit, raises its threshold, and it is armed again after the old one")
{
	static struct program self;
	struct unit *unit;
	u64 hit_at;

	program_init(&self, POLICY_LADDER, 0);
	unit = add_area(&self, 0, 10000, 0)->unit;
	run(&self, SECOND - STEP_NS);
	CHECK(!unit->armed);
	run(&self, SECOND / 2);
	CHECK(unit->armed);
	CHECK_EQ(unit->state, 0);
	for (u32 i = 0; i < 6; i++) {
		u64 threshold = self.policy.options.states_ns[i < 4 ? i : 4];

		hit_at = self.now;
		hit(&self, address_of(0) + 1);
		CHECK(!unit->armed);
		CHECK_EQ(unit->state, i < 4 ? i + 1 : 4);
		while (!unit->armed)
			step(&self);
		CHECK(self.now - hit_at >= threshold);
		CHECK(self.now - hit_at <= threshold + SECOND / 2);
	}
	program_release(&self);
}

TEST(ladder_falls, "a unit that is not touched for its threshold falls by one state, down to the first")
{
	static struct program self;
	struct unit *unit;

	program_init(&self, POLICY_LADDER, 0);
	unit = add_area(&self, 0, 10000, 0)->unit;
	run(&self, 2 * SECOND);
	for (u32 i = 0; i < 2; i++) {
		hit(&self, address_of(0));
		while (!unit->armed)
			step(&self);
	}
	CHECK_EQ(unit->state, 2);
	run(&self, 3 * SECOND);
	CHECK_EQ(unit->state, 2);
	run(&self, 2 * SECOND);
	CHECK_EQ(unit->state, 1);
	run(&self, 3 * SECOND);
	CHECK_EQ(unit->state, 0);
	run(&self, 20 * SECOND);
	CHECK_EQ(unit->state, 0);
	CHECK(unit->armed);
	program_release(&self);
}

TEST(all_arms_all, "the naive policy arms each second whatever is not armed")
{
	static struct program self;

	program_init(&self, POLICY_ALL, 0);
	for (u32 i = 0; i < 100; i++)
		add_area(&self, i, 5000, i < 50 ? 100 : 0);
	run(&self, 10 * SECOND);
	CHECK(self.areas.armed_units >= 50);
	/* Each of the hot ones once a second. */
	CHECK(self.cost.hits >= 50 * 8 && self.cost.hits <= 50 * 10);
	program_release(&self);
}

/* 400 units of which 300 are touched often, some 40 now and then, the rest never. */
static void program_mixed(struct program *self, enum policy_kind kind, double overhead)
{
	program_init(self, kind, overhead);
	for (u32 i = 0; i < 400; i++)
		add_area(self, i, 4096 + (u64)(i % 7) * 9000, i < 300 ? 50 : i < 340 ? 0.3 : 0);
}

TEST(mpc_keeps_budget, "what monitoring costs stays within the stated share, and all that is cold is armed")
{
	static const double shares[] = {0.0002, 0.001, 0.01};
	static struct program self;

	for (u32 i = 0; i < 3; i++) {
		u32 cold = 0;

		program_mixed(&self, POLICY_MPC, shares[i]);
		run(&self, 60 * SECOND);
		CHECK((double)self.cost.cost_ns <= 1.1 * shares[i] * (double)self.cost.cpu_ns);
		for (u32 k = 340; k < 400; k++)
			cold += areas_find(&self.areas, address_of(k))->unit->armed;
		CHECK(cold >= 58);
		program_release(&self);
	}
}

TEST(mpc_bursts, "units that are hit all together break no budget, again and again")
{
	static struct program self;
	u64 floods = 0;

	for (double share = 0.0005; share < 0.01; share *= 4) {
		program_init(&self, POLICY_MPC, share);
		for (u32 i = 0; i < 3000; i++)
			add_area(&self, i, 4096, 0);
		for (u32 round = 0; round < 20; round++) {
			run(&self, SECOND);
			for (u32 i = 0; i < 3000; i++)
				hit(&self, address_of(i));
			CHECK((double)self.cost.cost_ns <= share * (double)self.cost.cpu_ns);
		}
		floods += self.floods;
		CHECK(self.cost.hits > 100);
		program_release(&self);
	}
	CHECK(floods);
}

/* As a server that nobody asks for anything: it starts with a burst, and sleeps from then on. All costs more than of a
 * program that runs, because nothing is in the caches. */
static void program_idle(struct program *self, double overhead, u64 start_ns, u64 idle)
{
	program_init(self, POLICY_MPC, overhead);
	self->fault_ns = 20000;
	self->arm_ns = 4000;
	self->open_ns = 2500;
	self->wake_ns = 25000;
	self->idle = idle;
	self->cost.cpu_ns = start_ns;
	for (u32 i = 0; i < 1000; i++)
		add_area(self, i, 4096, i < 30 ? 5 : 0);
}

TEST(mpc_idle, "of a program that hardly runs monitoring costs no larger share, at any moment")
{
	static const u64 starts[] = {1000000, 18000000, 100000000}, idles[] = {100, 770, 20000};
	static struct program self;
	u64 armed = 0, beyond = 0;

	for (u32 k = 0; k < 9; k++) {
		program_idle(&self, 0.02, starts[k / 3], idles[k % 3]);
		for (u32 i = 0; i < 6000; i++) {
			double open_ns = (double)self.areas.armed_units * (double)self.open_ns;

			step(&self);
			/* And it may end now: all would be opened. */
			beyond += (double)self.cost.cost_ns + open_ns > 0.02 * (double)self.cost.cpu_ns;
		}
		armed += self.areas.armed_units;
		program_release(&self);
	}
	CHECK_EQ(beyond, 0);
	CHECK(armed > 1000);
}

TEST(mpc_spends, "with more to spend more is monitored")
{
	static struct program self;
	double before = 0;

	for (double share = 0.00005; share < 0.01; share *= 10) {
		program_mixed(&self, POLICY_MPC, share);
		run(&self, 60 * SECOND);
		CHECK(self.armed_byte_s > before);
		before = self.armed_byte_s;
		program_release(&self);
	}
}

TEST(mpc_beats_ladder, "at the ladder's cost mpc monitors more bytes for longer")
{
	static struct program ladder, mpc;
	double share;

	program_mixed(&ladder, POLICY_LADDER, 0);
	run(&ladder, 120 * SECOND);
	share = (double)ladder.cost.cost_ns / (double)ladder.cost.cpu_ns;
	program_mixed(&mpc, POLICY_MPC, share);
	run(&mpc, 120 * SECOND);
	CHECK((double)mpc.cost.cost_ns <= 1.05 * (double)ladder.cost.cost_ns);
	CHECK(mpc.armed_byte_s > ladder.armed_byte_s);
	program_release(&ladder);
	program_release(&mpc);
}

TEST(mpc_adapts, "a unit that was hot and is not any more is monitored again")
{
	static struct program self;
	struct unit *unit;

	program_init(&self, POLICY_MPC, 0.0005);
	unit = add_area(&self, 0, 100000, 200)->unit;
	for (u32 i = 1; i < 50; i++)
		add_area(&self, i, 5000, 20);
	run(&self, 20 * SECOND);
	CHECK(!unit->armed || unit->hits > 5);
	self.rates[0] = 0;
	run(&self, 40 * SECOND);
	CHECK(unit->armed);
	program_release(&self);
}

TEST(limits_share, "arming and hits have what is left of the stated overhead between them, and nothing once it is spent")
{
	static struct program self;
	struct policy_cost cost = {.cost_ns = 3000000, .cpu_ns = SECOND, .arm_ns = 1000000, .open_ns = 500000};
	u64 before_hits = 1500000, few, arming, hits;

	program_init(&self, POLICY_MPC, 0.01);
	cost.asked = 10;
	few = policy_limits(&self.policy, &cost).arming_ns;
	cost.asked = 300;
	arming = policy_limits(&self.policy, &cost).arming_ns;
	hits = policy_limits(&self.policy, &cost).hits_ns;
	CHECK(few > cost.arm_ns + 10 * ARM_NS && arming > few);
	CHECK(hits > before_hits);
	CHECK(cost.cost_ns + (arming - cost.arm_ns) + (hits - before_hits) <= SECOND / 100);
	cost.asked = 1000000; /* more than can be paid for */
	CHECK(policy_limits(&self.policy, &cost).arming_ns <= cost.arm_ns + 1);
	cost.asked = 300;
	cost.cost_ns += 10000000;
	CHECK_EQ(policy_limits(&self.policy, &cost).arming_ns, cost.arm_ns + 1);
	CHECK_EQ(policy_limits(&self.policy, &cost).hits_ns, before_hits + 10000000 + 1);
	program_release(&self);
}
