/* SPDX-License-Identifier: MIT
 * The policies of monitoring; see policy.h. Runs on the drain thread. */
#include "live/watch/policy.h"

#include <math.h>
#include <string.h>

static const u64 SECOND = 1000000000;
static const u64 TICK_NS = 125000000;
enum { UNITS_PER_TICK = 25000, TICKS_MOST = 32, AROUND_MOST = 64 };
static const double HORIZON_S = 2;    /* over which mpc looks ahead */
static const double MEMORY_S = 20;    /* after which what was seen counts 1/e */
static const double PRIOR_S = 0.5;    /* the weight of what is known of other units */
static const double RATE_FIRST = 0.2; /* hits a second of a unit of which nothing is known */
/* hot units are hit often, but that says little of others */
static const double RATE_PRIOR_MAX = 0.5;
static const double FAULT_NS = 6000, ARM_NS = 2000, OPEN_NS = 300; /* until they are measured */
static const double ARM_NS_IDLE = 20000; /* what rounds that arm nothing can make of it */
/* so much that counts, and after so many 1/e of it */
static const double MEAN_FIRST = 16, MEAN_COUNT = 1000;
/* What arming and opening may cost, times what they did on average: of memory in pieces, while
 * others use the caches. */
static const double DEAR = 3;
/* by which a hit between armed units makes the opening of all dearer */
static const double SPLIT_NS = 1000;
static const double WAKE_NS = 25000; /* to wake the helper, of a program that sleeps */
/* the hit that goes beyond a limit, and the helper's last call */
static const double UNDER_WAY_NS = 40000;
/* So many units lie in pieces, each of which is opened by a call of its own, and what that costs
 * beside open_ns. */
static const double SCATTERED = 64, SCATTERED_NS = 2000;
/* of the stated overhead: what is predicted is not what comes */
static const double MARGIN = 0.93;
/* of it, from where on all is opened: so much may be under way */
static const double LIMIT = 0.96;
/* of a burst is paid in advance: all may be opened instead */
static const double BURST_ASIDE = 0.25;
static const double BURST_S = 0.5, BURST_FADING = 0.99; /* the latter from tick to tick */
enum { BURST_UNITS = 64 };               /* of fewer armed units a share says little */
static const double CREDIT_HORIZONS = 5; /* what was saved may be spent, within limits */
/* the same of a program that hardly runs: so much as this many times WAKE_NS */
static const double CREDIT_WAKES = 10;
/* Price of a unit's monitoring, bytes x seconds for each ns: where it begins, its limits, and how
 * fast it moves. */
static const double PRICE_FIRST = 0.02, PRICE_MIN = 0.001, PRICE_MAX = 1, PRICE_GAIN = 0.15;
static const double SAVED_WANTED = 0.05; /* of all that was earned, to be there when much is hit */

void policy_defaults(struct policy_options *options)
{
	static const u64 states[] = {1, 2, 4, 7, 10};

	*options = (struct policy_options){
		.kind = POLICY_MPC,
		.overhead = 0.02,
		.states = sizeof(states) / sizeof(states[0]),
		.leak_after_ns = 30 * SECOND,
	};
	for (u32 i = 0; i < options->states; i++)
		options->states_ns[i] = states[i] * SECOND;
}

void policy_init(struct policy *self, const struct policy_options *options)
{
	memset(self, 0, sizeof(*self));
	self->options = *options;
	self->fault_ns = FAULT_NS;
	self->arm_ns = ARM_NS;
	self->open_ns = OPEN_NS;
	self->faulting = (struct mean){FAULT_NS * MEAN_FIRST, MEAN_FIRST};
	self->arming = (struct mean){ARM_NS * MEAN_FIRST, MEAN_FIRST};
	self->opening = (struct mean){OPEN_NS * MEAN_FIRST, MEAN_FIRST};
	self->price = PRICE_FIRST;
	self->correction = 1;
	self->global_hits = RATE_FIRST * PRIOR_S;
	self->global_watched_s = PRIOR_S;
}

void policy_release(struct policy *self) { vec_release(&self->candidates); }

/* Many units take long to weigh, and of a program that is nearly idle the share is less than it
 * costs to wake its helper: then it is woken less often. */
u64 policy_period_ns(const struct policy *self, u64 units)
{
	u64 factor = self->options.kind == POLICY_MPC ? 1 + units / UNITS_PER_TICK : 2;
	double earned = self->options.overhead * self->cpu_share * (double)TICK_NS; /* each tick */
	bool idle_known = self->options.kind == POLICY_MPC && self->cpu_known;
	u64 idle = idle_known && earned < WAKE_NS ? (u64)(WAKE_NS / fmax(earned, 1)) + 1 : 1;

	factor = factor > idle ? factor : idle;
	return TICK_NS * (factor < TICKS_MOST ? factor : TICKS_MOST);
}

/* ---- all and ladder -------------------------------------------------------------------------- */

static bool all_tick(struct policy *self, struct areas *areas, struct requests *requests, u64 now)
{
	if (now - self->all_ns < SECOND)
		return true;
	self->all_ns = now;
	for (u64 i = 0; i < areas->units.count; i++)
		if (!requests_arm(requests, areas->units.data[i]))
			return false;
	return true;
}

/* What was just made is still being filled. A page that gets new chunks all the time is armed all
 * the same once it has areas that may be old: from then on new ones go elsewhere, if they can
 * (target/access/pages/slots.c). */
static bool is_filled(const struct unit *unit, u64 wait_ns, u64 now)
{
	return now >= unit->seen_ns + wait_ns || now >= unit->since_ns + SECOND + wait_ns;
}

static u64 threshold(const struct policy *self, const struct unit *unit)
{
	return self->options.states_ns[unit->state];
}

static void ladder_hit(struct policy *self, struct unit *unit, u64 now)
{
	unit->due_ns = now + threshold(self, unit);
	if (unit->state + 1u < self->options.states)
		unit->state++;
}

/* due_ns of a unit that is armed: when it was armed, or fell last. Of one that is not: when it is
 * to be. */
static bool ladder_unit(struct policy *self, struct unit *unit, struct requests *requests, u64 now)
{
	if (unit->armed) {
		if (unit->due_ns < unit->armed_ns)
			unit->due_ns = unit->armed_ns;
		if (now >= unit->due_ns + threshold(self, unit) && unit->state) {
			unit->state--;
			unit->due_ns = now;
		}
		return true;
	}
	if (unit->reopened) { /* by births, as if by a hit */
		unit->reopened = 0;
		ladder_hit(self, unit, now);
	}
	if (now < unit->due_ns || !is_filled(unit, self->options.states_ns[0], now))
		return true;
	return requests_arm(requests, unit);
}

static bool ladder_tick(struct policy *self, struct areas *areas, struct requests *requests,
			u64 now)
{
	for (u64 i = 0; i < areas->units.count; i++)
		if (!ladder_unit(self, areas->units.data[i], requests, now))
			return false;
	return true;
}

/* ---- mpc: the model -------------------------------------------------------------------------- */

static double rate_of(const struct policy *self, const struct unit *unit)
{
	double prior = fmin(self->global_hits / self->global_watched_s, RATE_PRIOR_MAX);

	return (unit->rate_hits + prior * PRIOR_S) / (unit->rate_watched_s + PRIOR_S);
}

/* What was seen since the last tick is added, what was seen before counts less. */
static void observe(struct policy *self, struct unit *unit, double passed_s, double fading, u64 now)
{
	u64 since = now - (u64)(passed_s * 1e9),
	    from = unit->armed_ns > since ? unit->armed_ns : since;
	double watched = unit->armed && now > from ? (double)(now - from) / 1e9 : 0;

	unit->rate_hits = unit->rate_hits * fading + unit->reopened;
	self->global_hits += unit->reopened;
	unit->reopened = 0;
	unit->rate_watched_s = unit->rate_watched_s * fading + watched;
	self->global_watched_s += watched;
}

static void mpc_hit(struct policy *self, struct unit *unit, u64 now)
{
	u64 from = unit->armed_ns > self->tick_ns ? unit->armed_ns : self->tick_ns;

	if (unit->armed && now > from) {
		unit->rate_watched_s += (double)(now - from) / 1e9;
		self->global_watched_s += (double)(now - from) / 1e9;
	}
	unit->rate_hits++;
	self->global_hits++;
}

/* Bytes count more the longer they have not been touched, up to twice. */
static double weight(const struct policy *self, const struct unit *unit, u64 now)
{
	double age = now > unit->seen_ns ? (double)(now - unit->seen_ns) : 0;
	double limit = (double)self->options.leak_after_ns;

	return ((double)unit->bytes + 64) * (1 + (age < limit ? age / limit : 1));
}

static struct candidate weigh(const struct policy *self, struct unit *unit, u64 now)
{
	double rate = rate_of(self, unit);
	double hit = 1 - exp(-rate * HORIZON_S);

	return (struct candidate){
		.unit = unit,
		.value = weight(self, unit, now) * hit / rate,
		.cost_ns =
			hit * self->fault_ns * self->correction + (unit->armed ? 0 : self->arm_ns),
	};
}

/* ---- mpc: measured cost ---------------------------------------------------------------------- */

static double blend(double old, double new, double share) { return old + (new - old) * share; }

/* Of all together: to wake the helper costs the same for one unit and for a thousand. */
static double mean_add(struct mean *self, double ns, u64 count)
{
	double kept = exp(-(double)count / MEAN_COUNT);

	self->ns = self->ns * kept + ns;
	self->count = self->count * kept + (double)count;
	return self->ns / self->count;
}

static void learn_costs(struct policy *self, const struct policy_cost *cost)
{
	u64 hits = cost->hits - self->before.hits, arms = cost->arms - self->before.arms;
	double spent = (double)(cost->cost_ns - self->before.cost_ns);
	double arming = (double)(cost->arm_ns - self->before.arm_ns);
	double opening = (double)(cost->open_ns - self->before.open_ns);
	u64 opened = cost->open_units - self->before.open_units;

	/* The helper's rounds without units make the next ones dearer, but not for ever: nothing
	 * would be armed again. */
	if (arms || self->arm_ns < ARM_NS_IDLE)
		self->arm_ns = mean_add(&self->arming, arming, arms);
	self->open_ns = mean_add(&self->opening, opening, opened);
	self->fault_ns = mean_add(&self->faulting, spent - arming - opening, hits);
	if (self->predicted_ns > 10 * self->fault_ns) {
		double ratio = spent / self->predicted_ns;

		ratio = ratio < 0.25 ? 0.25 : ratio > 4 ? 4 : ratio;
		self->correction = blend(self->correction, self->correction * ratio, 0.2);
		self->correction = self->correction < 0.1  ? 0.1
				   : self->correction > 10 ? 10
							   : self->correction;
	}
}

/* What it may cost to open so many units at once. */
static double opening_ns(const struct policy *self, double units)
{
	return units * DEAR * self->open_ns + fmin(units, SCATTERED) * SCATTERED_NS;
}

/* What is left of the stated overhead once all that is armed has been opened at once. Arming may
 * have up to half of it, and hits the rest: one in the midst of armed units makes the opening
 * dearer. */
struct policy_limits policy_limits(const struct policy *self, const struct policy_cost *cost)
{
	double left = LIMIT * self->options.overhead * (double)cost->cpu_ns -
		      (double)cost->cost_ns - UNDER_WAY_NS -
		      opening_ns(self, (double)(cost->armed + cost->asked));
	double arming = fmin((double)cost->asked * DEAR * self->arm_ns + WAKE_NS, left / 2);
	double hits = (left - arming) * self->fault_ns / (self->fault_ns + SPLIT_NS);

	if (self->options.kind != POLICY_MPC)
		return (struct policy_limits){0, 0};
	return (struct policy_limits){
		.hits_ns = 1 + cost->cost_ns - cost->arm_ns - cost->open_ns + (u64)fmax(hits, 0),
		.arming_ns = 1 + cost->arm_ns + (u64)fmax(arming, 0),
	};
}

u64 policy_around_most(const struct policy *self)
{
	return self->options.kind == POLICY_ALL ? 0 : AROUND_MOST;
}

/* What is set aside for so many units that are armed: to be hit together, or to be opened. */
static double aside_ns(const struct policy *self, double units)
{
	return units * BURST_ASIDE * self->burst * self->fault_ns + opening_ns(self, units);
}

/* The largest share of all armed units that was hit within about BURST_S; it fades. */
static void learn_burst(struct policy *self, const struct policy_cost *cost, double passed_s)
{
	double armed = (double)(self->before.armed > BURST_UNITS ? self->before.armed
								 : BURST_UNITS),
	       share;

	self->burst_hits = self->burst_hits * exp(-passed_s / BURST_S) +
			   (double)(cost->hits - self->before.hits);
	share = self->burst_hits / (armed + self->burst_hits);
	self->burst *= BURST_FADING;
	self->burst = fmax(self->burst, fmin(share, 1));
}

/* What may be spent over the horizon, and of that before the next tick: the share of the CPU time
 * that is expected by then, and what was saved so far, or less what was spent too much. */
struct budget {
	double horizon_ns, soon_ns;
	double saved; /* in units of what should be */
};

static struct budget budget_of(const struct policy *self, const struct policy_cost *cost)
{
	double share = MARGIN * self->options.overhead;
	double each = share * self->cpu_share * HORIZON_S * 1e9;
	double soon = share * self->cpu_share * (double)self->period_ns;
	double saved = share * (double)cost->cpu_ns - (double)cost->cost_ns - UNDER_WAY_NS -
		       aside_ns(self, (double)cost->armed);

	double wanted =
		fmin(SAVED_WANTED * share * (double)cost->cpu_ns, CREDIT_HORIZONS / 2 * each);

	saved = fmin(saved, fmax(CREDIT_HORIZONS * each, CREDIT_WAKES * WAKE_NS));
	return (struct budget){each + saved, soon + saved, wanted > 0 ? saved / wanted : 1};
}

/* ---- mpc: the choice ------------------------------------------------------------------------- */

static bool is_better(const struct candidate *x, const struct candidate *y)
{
	double left = x->value * y->cost_ns, right = y->value * x->cost_ns;

	return left > right || (left == right && x->unit->index < y->unit->index);
}

/* The candidates are a heap, the best on top: few of many are chosen. */
static void sift_down(struct candidate *heap, u64 count, u64 at)
{
	struct candidate moved = heap[at];

	for (u64 next; (next = 2 * at + 1) < count; at = next) {
		next += next + 1 < count && is_better(&heap[next + 1], &heap[next]);
		if (!is_better(&heap[next], &moved))
			break;
		heap[at] = heap[next];
	}
	heap[at] = moved;
}

static void heap_make(struct policy *self)
{
	for (u64 i = self->candidates.count / 2; i-- > 0;)
		sift_down(self->candidates.data, self->candidates.count, i);
}

static struct candidate best_take(struct policy *self)
{
	struct candidate *heap = self->candidates.data, best = heap[0];

	heap[0] = heap[--self->candidates.count];
	if (self->candidates.count)
		sift_down(heap, self->candidates.count, 0);
	return best;
}

/* What is not armed is no candidate any more. */
static void heap_of_armed(struct policy *self)
{
	u64 kept = 0;

	for (u64 i = 0; i < self->candidates.count; i++)
		if (self->candidates.data[i].unit->armed)
			self->candidates.data[kept++] = self->candidates.data[i];
	self->candidates.count = kept;
	heap_make(self);
}

/* What a unit is expected to cost before the next tick: arming at once, a hit as it comes. */
static double expected_ns(const struct policy *self, const struct unit *unit)
{
	double hit = 1 - exp(-rate_of(self, unit) * (double)self->period_ns / 1e9);

	return (unit->armed ? 0 : self->arm_ns) + hit * self->fault_ns * self->correction;
}

/* And what has to be there beside that for one that is not armed: arming may be dear, the first one
 * wakes the helper, and something is set aside for it from then on. What that leaves over is there
 * for others in the next tick. */
static double beside_ns(const struct policy *self, double armed, bool wakes)
{
	return (DEAR - 1) * self->arm_ns + (wakes ? WAKE_NS : 0) + aside_ns(self, armed + 1) -
	       aside_ns(self, armed);
}

/* What is spent on units that are hit all the time is missing when many are hit at once. So units
 * have to be worth a price, which rises while too little is saved and falls while there is more
 * than enough. */
static void price_move(struct policy *self, const struct budget *budget)
{
	double off = 1 - budget->saved;

	self->price *= exp(PRICE_GAIN * fmax(-1, fmin(off, 1)));
	self->price = fmax(PRICE_MIN, fmin(self->price, PRICE_MAX));
}

/* What is armed and is not chosen is disarmed: it would be hit. What is armed and would not be
 * costs nothing and stays. */
static bool refuse(struct policy *self, struct requests *requests, const struct candidate *one)
{
	return !one->unit->armed || one->cost_ns <= self->arm_ns ||
	       requests_disarm(requests, one->unit);
}

/* The best for their cost while the budget lasts. Once nothing more can be armed, only what is
 * armed is looked at. */
static bool choose(struct policy *self, struct requests *requests, struct budget budget,
		   double armed)
{
	double spent = 0, soon = 0, predicted = 0;
	double beside = beside_ns(self, armed, true);
	bool arms = true;

	heap_make(self);
	while (self->candidates.count) {
		struct candidate one = best_take(self);
		double expected = expected_ns(self, one.unit);
		double needed = expected + (one.unit->armed ? 0 : beside);

		if (arms && (spent + self->arm_ns > budget.horizon_ns ||
			     soon + self->arm_ns + beside > budget.soon_ns)) {
			heap_of_armed(self);
			arms = false;
		}
		if (spent + one.cost_ns > budget.horizon_ns || soon + needed > budget.soon_ns) {
			if (!refuse(self, requests, &one))
				return false;
			continue;
		}
		spent += one.cost_ns;
		soon += needed;
		predicted += expected;
		if (!one.unit->armed)
			beside = beside_ns(self, ++armed, false);
		if (!requests_arm(requests, one.unit))
			return false;
	}
	self->predicted_ns = predicted;
	return true;
}

static bool mpc_tick(struct policy *self, struct areas *areas, struct requests *requests,
		     const struct policy_cost *cost, u64 now)
{
	double passed_s = self->tick_ns ? (double)(now - self->tick_ns) / 1e9 : 0;
	double fading = exp(-passed_s / MEMORY_S);
	struct budget budget;

	if (passed_s > 0 && cost->cpu_ns >= self->before.cpu_ns) {
		self->cpu_share =
			blend(self->cpu_share,
			      (double)(cost->cpu_ns - self->before.cpu_ns) / (passed_s * 1e9),
			      self->cpu_known ? 0.3 : 1);
		self->cpu_known = true;
	}
	self->period_ns = policy_period_ns(self, areas->units.count);
	learn_costs(self, cost);
	learn_burst(self, cost, passed_s);
	self->global_hits = self->global_hits * fading;
	self->global_watched_s = self->global_watched_s * fading + 1e-6;
	budget = budget_of(self, cost);
	price_move(self, &budget);
	vec_clear(&self->candidates);
	for (u64 i = 0; i < areas->units.count; i++) {
		struct unit *unit = areas->units.data[i];
		struct candidate one;

		observe(self, unit, passed_s, fading, now);
		if (!unit->armed && !is_filled(unit, TICK_NS, now))
			continue;
		one = weigh(self, unit, now);
		if (one.value < self->price * one.cost_ns ? !refuse(self, requests, &one)
							  : !vec_push(&self->candidates, one))
			return false;
	}
	return choose(self, requests, budget, (double)cost->armed);
}

/* ---- all of them ----------------------------------------------------------------------------- */

u64 policy_threshold_ns(const struct policy *self, const struct unit *unit)
{
	if (self->options.kind == POLICY_LADDER)
		return threshold(self, unit);
	return self->options.kind == POLICY_MPC ? (u64)fmin(1e9 / rate_of(self, unit), 1e15) : 0;
}

u32 policy_state(const struct policy *self, const struct unit *unit)
{
	u64 expected = policy_threshold_ns(self, unit);
	u32 state = 0;

	if (self->options.kind == POLICY_LADDER)
		return unit->state;
	while (state + 1 < self->options.states && self->options.states_ns[state] < expected)
		state++;
	return state;
}

void policy_hit(struct policy *self, struct unit *unit, u64 now_ns)
{
	if (self->options.kind == POLICY_LADDER)
		ladder_hit(self, unit, now_ns);
	else if (self->options.kind == POLICY_MPC)
		mpc_hit(self, unit, now_ns);
}

bool policy_tick(struct policy *self, struct areas *areas, struct requests *requests,
		 const struct policy_cost *cost, u64 now_ns)
{
	bool done;

	if (self->options.kind == POLICY_ALL)
		done = all_tick(self, areas, requests, now_ns);
	else if (self->options.kind == POLICY_LADDER)
		done = ladder_tick(self, areas, requests, now_ns);
	else
		done = mpc_tick(self, areas, requests, cost, now_ns);
	self->tick_ns = now_ns;
	self->before = *cost;
	return done;
}
