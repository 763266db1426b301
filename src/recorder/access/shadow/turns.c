/* SPDX-License-Identifier: MIT
 * Turns of sets; see turns.h. Runs in the target. */
#include "recorder/access/shadow/turns.h"

enum {
	LEAST_OWN = 16, /* at least one part in so many of the CPU time is the program's own */
	ENOUGH = 16,    /* accesses of controls per look that tell of progress */
	BELIEF = 64,    /* what is believed of the cost weighs as much as this evidence */
	COST_ERROR = 3, /* it is wrong by this factor at most */
	HEAT = 150,     /* thousandths of its progress that recording costs in a turn of half the longest one */
	LONGEST = 16,   /* tenths of the average turn */
	SHORTEST = 6,   /* so many of them are an average turn */
	STRIDE = 25,    /* so that sets of one page have their turns far from each other */
};

static void look_add(struct hwr_look *self, const struct hwr_look *more)
{
	self->cpu_ns += more->cpu_ns;
	self->recording_ns += more->recording_ns;
	self->controls += more->controls;
}

struct hwr_look hwr_turns_since(const struct hwr_turns *self)
{
	struct hwr_look sum = {0, 0, 0};

	for (u32 set = 0; set < HWR_TURNS; set++)
		look_add(&sum, &self->since[set]);
	return sum;
}

/* How much the looks tell of the cost: where it is a small part of the time of each set, chance hides it. */
static double evidence(const struct hwr_turns *self)
{
	double sum = 0, all = (double)hwr_turns_since(self).cpu_ns + 1;

	for (u32 set = 0; set < HWR_TURNS; set++) {
		double cpu = (double)self->since[set].cpu_ns + 1;
		double share = (double)self->since[set].recording_ns / cpu;

		sum += share * share * cpu / all;
	}
	return sum * (double)self->looks;
}

/* What recording costs : what is believed. Controls are taken as pace * (CPU time - factor * believed cost) with
 * the pace and the factor that fit all sets best (least squares). */
static double fitting_factor(const struct hwr_turns *self)
{
	double cpu_cpu = 0, cpu_cost = 0, cost_cost = 0, cpu_controls = 0, cost_controls = 0, under;

	for (u32 set = 0; set < HWR_TURNS; set++) {
		const struct hwr_look *look = &self->since[set];
		double cpu = (double)look->cpu_ns, cost = (double)look->recording_ns;

		cpu_cpu += cpu * cpu;
		cpu_cost += cpu * cost;
		cost_cost += cost * cost;
		cpu_controls += cpu * (double)look->controls;
		cost_controls += cost * (double)look->controls;
	}
	under = cpu_controls * cost_cost - cost_controls * cpu_cost;
	return under > 0 ? (cpu_controls * cpu_cost - cost_controls * cpu_cpu) / under : 1;
}

static double cost_factor(const struct hwr_turns *self)
{
	double known = evidence(self), factor;

	if (!self->looks || hwr_turns_since(self).controls / self->looks < ENOUGH)
		return 1;
	factor = fitting_factor(self);
	factor = factor > COST_ERROR ? COST_ERROR : factor;
	factor = factor * COST_ERROR < 1 ? 1.0 / COST_ERROR : factor;
	return (factor * known + BELIEF) / (known + BELIEF);
}

static u64 progress_of(const struct hwr_look *look, double factor)
{
	u64 cost = (u64)((double)look->recording_ns * factor);
	u64 least = look->cpu_ns / LEAST_OWN;

	return cost + least < look->cpu_ns ? look->cpu_ns - cost : least;
}

void hwr_turns_add(struct hwr_turns *self, const struct hwr_look *look)
{
	self->looks++;
	look_add(&self->all[self->set], look);
	look_add(&self->since[self->set], look);
	self->gained += progress_of(look, cost_factor(self));
	self->recording_ns += look->recording_ns;
}

/* What is hot is hot for a while, and a set's turns in that while are few: they had better be many short ones. Where little happens
 * they are longer, so that there are no more of them in all. */
u64 hwr_turns_quota(const struct hwr_turns *self, u32 set)
{
	u64 quota = LONGEST * self->quota / 10 * HEAT / (HEAT + self->heat[set]);

	return quota > self->quota / SHORTEST ? quota : self->quota / SHORTEST;
}

bool hwr_turns_is_over(const struct hwr_turns *self) { return self->gained >= hwr_turns_quota(self, self->set); }

/* Of the sets that have had no more than the mean, the one that is to have its next share first. */
u32 hwr_turns_next(const struct hwr_turns *self)
{
	double factor = cost_factor(self);
	u64 sum = 0, least = UINT64_MAX;
	u32 next = 0;

	for (u32 set = 0; set < HWR_TURNS; set++)
		sum += progress_of(&self->all[set], factor);
	for (u32 i = 1; i <= HWR_TURNS; i++) {
		u32 set = (self->set + i * STRIDE) % HWR_TURNS;
		u64 progress = progress_of(&self->all[set], factor), due = progress + hwr_turns_quota(self, set);

		if (progress <= sum / HWR_TURNS && due < least) {
			least = due;
			next = set;
		}
	}
	return next;
}

void hwr_turns_begin(struct hwr_turns *self, u32 set)
{
	u64 heat = self->recording_ns * 1000 / (self->gained + 1);

	self->heat[self->set] = heat < UINT16_MAX ? (u16)heat : UINT16_MAX;
	self->set = set;
	self->gained = self->recording_ns = 0;
}

void hwr_turns_forget(struct hwr_turns *self)
{
	self->looks = 0;
	for (u32 set = 0; set < HWR_TURNS; set++)
		self->since[set] = (struct hwr_look){0, 0, 0};
}
