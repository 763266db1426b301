/* SPDX-License-Identifier: MIT
 * Which units are armed when: the controller of `heapwise watch`. METHODS.md has the mathematics.
 * Works on memory only, on the drain thread; tests let it control a program that is made up.
 *
 * all:    each second whatever is not armed is armed.
 * ladder: the paper's state machine. A unit has a monitoring threshold, one of a row of states. A
 *         hit opens it; it is armed again after its threshold, which rises by one state; untouched
 *         for its threshold it falls by one.
 * mpc:    model-predictive control. Each tick, from each unit's estimated hit rate, those units are
 *         armed that are worth most over the horizon for what they are expected to cost, as long as
 *         the cost of all stays within the stated overhead; what was measured corrects what is
 *         predicted. */
#ifndef LIVE_WATCH_POLICY_H
#define LIVE_WATCH_POLICY_H

#include "live/watch/requests.h"

enum policy_kind { POLICY_ALL, POLICY_LADDER, POLICY_MPC };
enum { POLICY_STATES_MAX = 16 };

struct policy_options {
	enum policy_kind kind;
	double overhead;                  /* mpc: share of the program's CPU time */
	u64 states_ns[POLICY_STATES_MAX]; /* ladder: thresholds, rising */
	u32 states;
	u64 leak_after_ns; /* mpc: from this age on a unit looks as stale as can be */
};
void policy_defaults(struct policy_options *options);

/* What the program's recorder has counted so far. */
struct policy_cost {
	u64 cost_ns;             /* faults, arming, opening */
	u64 cpu_ns;              /* of the program */
	u64 hits, arms;          /* hits: of any kind, and openings for the allocator */
	u64 arm_ns;              /* of cost_ns */
	u64 open_ns, open_units; /* of cost_ns, too: opening all at once */
	u64 armed;               /* units, now */
	u64 asked;               /* units, to be armed or disarmed, which is not paid for yet */
};

struct candidate {
	struct unit *unit;
	double value, cost_ns;
};

struct mean {
	double ns, count; /* of late */
};

struct policy {
	struct policy_options options;
	u64 tick_ns;   /* of the last tick */
	u64 period_ns; /* mpc: until the next */
	u64 all_ns;    /* all: when everything was armed last */
	struct policy_cost before;
	double fault_ns, arm_ns;               /* mpc: what one costs, as measured */
	struct mean faulting, arming, opening; /* mpc: the same and open_ns, as sums */
	double open_ns;                        /* mpc: to open one unit when all are */
	double burst_hits;                     /* mpc: of late */
	/* mpc: share of the armed units that may be hit at once, as was seen */
	double burst;
	/* mpc: CPU time of the program for each ns, of late; 0 until it is known: */
	double cpu_share;
	bool cpu_known;
	double correction;   /* mpc: measured ÷ predicted cost, of late */
	double price;        /* mpc: what a unit has to be worth for each ns of cost */
	double predicted_ns; /* mpc: for the time since the last tick */
	double global_hits, global_watched_s;
	VEC(struct candidate) candidates;
};

/* How often policy_tick should be called. */
u64 policy_period_ns(const struct policy *self, u64 units);

void policy_init(struct policy *self, const struct policy_options *options);
void policy_release(struct policy *self);

/* A unit was touched (before areas_hit is told of it). */
void policy_hit(struct policy *self, struct unit *unit, u64 now_ns);

/* How much hits and arming may cost in all, what they did included; 0 = without a limit. Beyond the
 * former the program is to open everything at once, beyond the latter to arm no more, so that the
 * stated overhead is kept whatever comes. For each cycle, not only ticks: CPU time goes by. */
struct policy_limits {
	u64 hits_ns, arming_ns;
};
struct policy_limits policy_limits(const struct policy *self, const struct policy_cost *cost);

/* How many units one hit of a sweep may open with its own. */
u64 policy_around_most(const struct policy *self);

/* ladder: the unit's threshold. mpc: the time after which a hit is expected, and its place among
 * the thresholds: the first that is not shorter, or the last. all: 0. */
u64 policy_threshold_ns(const struct policy *self, const struct unit *unit);
u32 policy_state(const struct policy *self, const struct unit *unit);

/* Asks for what is to be armed and disarmed now. False without memory. */
bool policy_tick(struct policy *self, struct areas *areas, struct requests *requests,
		 const struct policy_cost *cost, u64 now_ns);

#endif
