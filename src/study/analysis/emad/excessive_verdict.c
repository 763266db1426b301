/* SPDX-License-Identifier: MIT
 * What excessive allocation costs, and the verdict in words.
 * Host. */
#include "study/analysis/emad/excessive.h"
#include "host/base/units.h"

/* What a free list in the cache costs for one get and one put: some instructions. */
static const double POOL_PAIR_NS = 5;

static void add_cost(struct excessive_cost *cost, const struct excessive *self, u32 at)
{
	const struct excessive_row *row = &self->rows.data[at];
	double run_ns = (double)model_duration_ns(self->objects.source->model),
	       pair_ns = excessive_pair_ns(self, &self->objects.rows.data[row->object]);

	cost->allocations += row->frequency;
	cost->allocator_ns += row->frequency * pair_ns;
	if (pair_ns > POOL_PAIR_NS)
		cost->pool_saves_ns += row->frequency * (pair_ns - POOL_PAIR_NS);
	if (run_ns > 0)
		cost->live += row->frequency * row->life_ms * 1e6 / run_ns;
}

struct excessive_cost excessive_cost(const struct excessive *self)
{
	struct excessive_cost cost = {0};

	for (u64 i = 0; i < self->found.count; i++)
		add_cost(&cost, self, self->found.data[i]);
	for (u64 i = 0; i < self->varied.count; i++)
		add_cost(&cost, self->callers, self->varied.data[i]);
	return cost;
}

static void say_who(const struct excessive *self, struct strbuf *text)
{
	bool both = self->query->methods == BY_BOTH;

	if (both && self->found_both)
		strbuf_addf(text, "both methods find %s (clusters %s, ratios %s)",
			    units_count(self->found_both).text,
			    units_count(self->found_kmeans).text,
			    units_count(self->found_iqr).text);
	else if (self->found_kmeans && self->found_iqr)
		strbuf_addf(text, "clusters find %s and ratios %s others: check both",
			    units_count(self->found_kmeans).text,
			    units_count(self->found_iqr).text);
	else if (self->found_kmeans)
		strbuf_addf(text, "clusters find %s%s", units_count(self->found_kmeans).text,
			    both ? ", ratios none" : "");
	else
		strbuf_addf(text, "ratios find %s%s", units_count(self->found_iqr).text,
			    both ? ", clusters none" : "");
}

static void say_cost(const struct excessive *self, const struct excessive_cost *cost,
		     struct strbuf *text)
{
	const struct model *model = self->objects.source->model;
	bool is_cpu;
	double run_ns = model_cpu_ns(model, &is_cpu);

	strbuf_addf(text,
		    " They account for %s allocations, %s of all, with about %s live at a time.",
		    units_count((u64)(cost->allocations + 0.5)).text,
		    units_percent(cost->allocations /
				  (double)model_count(model, model->totals.allocations))
			    .text,
		    units_count((u64)(cost->live + 0.999)).text);
	if (!(cost->allocator_ns > 0)) {
		strbuf_add(text, self->costs.all.timed ? " Too few calls were timed to estimate "
							 "their cost."
						       : " Their cost was not sampled.");
		return;
	}
	strbuf_addf(text, " The allocator spends about %s on them",
		    units_ns((u64)cost->allocator_ns).text);
	if (run_ns > 0 && !excessive_is_slowed(self))
		strbuf_addf(text, ", %s of the run%s",
			    units_percent(cost->allocator_ns / run_ns).text,
			    is_cpu ? "'s CPU time" : "");
	strbuf_addf(text,
		    ". A pool would save about %s of that; reusing the objects would save all.",
		    units_ns((u64)cost->pool_saves_ns).text);
}

static void say_varied(const struct excessive *self, struct strbuf *text)
{
	if (self->varied.count)
		strbuf_add(text, units_things(self->varied.count, "caller(s) (is|are) excessive "
								  "with all sizes together")
					 .text);
}

static void say_verdict(const struct excessive *self, const struct excessive_cost *cost,
			struct strbuf *text)
{
	if (!self->enough && self->found.count) {
		strbuf_addf(
			text,
			"Excessive allocation, of %s: %s by number, life and cost alone; quartiles "
			"and clusters need %d.",
			units_things(self->rows.count, "object(s)").text,
			units_count(self->found.count).text, EXCESSIVE_MIN_OBJECTS);
		say_cost(self, cost, text);
		return;
	}
	if (!self->enough) {
		strbuf_addf(text,
			    "Cannot be judged: only %s freed, and quartiles and clusters need %d. "
			    "Frequency and life are listed.",
			    units_things(self->rows.count, "allocation object(s) (was|were)").text,
			    EXCESSIVE_MIN_OBJECTS);
		return;
	}
	if (!excessive_is_found(self)) {
		strbuf_addf(text, "No excessive allocation among %s%s.",
			    units_things(self->rows.count, "object(s)").text,
			    self->query->methods == BY_BOTH ? ", by either method" : "");
		if (self->set_aside.count)
			strbuf_addf(
				text, " %s found and set aside: rare, lasting or cheap.",
				units_things(self->set_aside.count, "object(s) (was|were)").text);
		return;
	}
	strbuf_addf(text,
		    "Excessive allocation, of %s objects: ", units_count(self->rows.count).text);
	if (self->found.count)
		say_who(self, text);
	if (self->found.count && self->varied.count)
		strbuf_add(text, "; ");
	say_varied(self, text);
	strbuf_add_char(text, '.');
	say_cost(self, cost, text);
}

void excessive_verdict(const struct excessive *self, struct strbuf *text)
{
	struct excessive_cost cost = excessive_cost(self);

	say_verdict(self, &cost, text);
}
