/* SPDX-License-Identifier: MIT
 * Turns of sets; see turns.h. Runs in the target. */
#include "target/access/shadow/turns.h"

enum {
	LEAST_OWN = 16, /* at least one part in so many of the CPU time is the program's own */
	ENOUGH = 16,    /* accesses of controls per look that tell of progress */
	SETS_ENOUGH = 8,
	LOOKS_ENOUGH = 8, /* few looks may agree by chance, and are believed less */
	COST_ERROR = 3,   /* it is wrong by this factor at most */
	/* thousandths of its progress that recording costs in a turn of half the longest one */
	HEAT = 150,
	LONGEST = 16, /* tenths of the average turn */
	SHORTEST = 4, /* so many of them are an average turn */
	STRIDE = 25,  /* so that sets of one page have their turns far from each other */
};

/* What is believed of the cost is right to within so much: 15 % off is usual. */
static const double BELIEF_VARIANCE = 0.15 * 0.15;

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

/* Of all sets since the controls were chosen: CPU time, believed cost, controls, and products of
 * them. */
struct products {
	double cpu_cpu, cpu_cost, cost_cost, cpu_controls, cost_controls, controls_controls;
	u32 sets; /* that had a turn */
};

static struct products products_of(const struct hwr_turns *self)
{
	struct products sum = {0};

	for (u32 set = 0; set < HWR_TURNS; set++) {
		const struct hwr_look *look = &self->since[set];
		double cpu = (double)look->cpu_ns, cost = (double)look->recording_ns,
		       controls = (double)look->controls;

		sum.cpu_cpu += cpu * cpu;
		sum.cpu_cost += cpu * cost;
		sum.cost_cost += cost * cost;
		sum.cpu_controls += cpu * controls;
		sum.cost_controls += cost * controls;
		sum.controls_controls += controls * controls;
		sum.sets += look->cpu_ns != 0;
	}
	return sum;
}

/* What recording costs : what is believed. Controls are taken as pace * (CPU time - factor *
 * believed cost) with the pace and the factor that fit all sets best (least squares). How far
 * single sets are from that tells how much chance is in it. */
struct fit {
	double factor, variance;
};

static bool fit_of(const struct products *sum, u64 looks, struct fit *fit)
{
	double under = sum->cpu_cpu * sum->cost_cost - sum->cpu_cost * sum->cpu_cost;
	double pace = sum->cpu_controls * sum->cost_cost - sum->cost_controls * sum->cpu_cost;
	double slope = sum->cost_controls * sum->cpu_cpu - sum->cpu_controls * sum->cpu_cost;
	double rest, spread;

	if (sum->sets < SETS_ENOUGH || under <= 0 || pace <= 0)
		return false;
	pace /= under;
	slope /= under;
	fit->factor = -slope / pace;
	rest = sum->controls_controls - pace * sum->cpu_controls - slope * sum->cost_controls;
	rest = rest > 0 ? rest / (sum->sets - 2) : 0;
	spread = sum->cpu_cpu + fit->factor * fit->factor * sum->cost_cost -
		 2 * fit->factor * sum->cpu_cost;
	fit->variance = rest * spread / (under * pace * pace);
	fit->variance +=
		BELIEF_VARIANCE * LOOKS_ENOUGH * sum->cpu_cpu / (sum->cost_cost * (double)looks);
	return true;
}

/* The mean of what is believed and what fits, each by how sure it is. */
static double cost_factor(const struct hwr_turns *self)
{
	struct products sum = products_of(self);
	struct fit fit;

	if (!self->looks || hwr_turns_since(self).controls / self->looks < ENOUGH ||
	    !fit_of(&sum, self->looks, &fit))
		return 1;
	fit.factor = fit.factor > COST_ERROR ? COST_ERROR : fit.factor;
	fit.factor = fit.factor * COST_ERROR < 1 ? 1.0 / COST_ERROR : fit.factor;
	return (fit.factor * BELIEF_VARIANCE + fit.variance) / (BELIEF_VARIANCE + fit.variance);
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

/* What is hot is hot for a while, and a set's turns in that while are few: they had better be many
 * short ones. Where little happens they are longer, so that there are no more of them in all. */
u64 hwr_turns_quota(const struct hwr_turns *self, u32 set)
{
	u64 quota = LONGEST * self->quota / 10 * HEAT / (HEAT + self->heat[set]);

	return quota > self->quota / SHORTEST ? quota : self->quota / SHORTEST;
}

bool hwr_turns_is_over(const struct hwr_turns *self)
{
	return self->gained >= hwr_turns_quota(self, self->set);
}

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
		u64 progress = progress_of(&self->all[set], factor),
		    due = progress + hwr_turns_quota(self, set);

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
