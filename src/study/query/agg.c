/* SPDX-License-Identifier: MIT
 * agg: numbers over the chunks of each entry.
 * Host. */
#include <math.h>
#include <string.h>

#include "study/query/run.h"

struct agg_tally {
	double weight, sum, min, max; /* of what is known */
};

struct aggregator {
	struct run *run;
	const struct entries *entries;
	const struct query_agg *agg;
	struct value_plan *plan; /* NULL = count() */
	const struct domain *domain;
	u32 trace;
	struct agg_tally *tallies; /* by entry */
	/* Percentiles: the values of each entry, one after the other. */
	double *values;
	u64 *starts; /* by entry, where the next one goes */
};

static u32 entry_of(const struct aggregator *self, u64 chunk)
{
	return self->entries->entry_of[self->entries->groups[self->trace][chunk]];
}

static void agg_tally_add(struct agg_tally *self, double value, double weight)
{
	if (!self->weight || value < self->min)
		self->min = value;
	if (!self->weight || value > self->max)
		self->max = value;
	self->sum += value * weight;
	self->weight += weight;
}

static bool tally_block(void *data, const struct block *block, const u64 *bits)
{
	struct aggregator *self = data;
	const struct query_agg *agg = self->agg;
	/* Percentiles count chunks, whatever each stands for in a sampled trace. */
	bool weighted = self->domain->model->count_shift && agg->kind != AGG_PERCENTILE &&
			!(agg->has_key && !agg->key.is_user && agg->key.field == F_CHUNKS);
	double values[BLOCK];

	if (self->plan)
		value_eval(self->plan, block, values);
	for (u32 w = 0; w < BLOCK / 64; w++)
		for (u64 word = bits[w]; word; word &= word - 1) {
			u32 i = 64 * w + (u32)__builtin_ctzll(word),
			    entry = entry_of(self, block->chunk + i);

			if ((self->plan && isnan(values[i])) || entry == NO_ENTRY)
				continue;
			if (self->values)
				self->values[self->starts[entry]++] = values[i];
			else
				agg_tally_add(
					&self->tallies[entry], self->plan ? values[i] : 1,
					weighted ? chunk_weight(self->domain->model,
								block->page->size[block->first + i])
						 : 1);
		}
	return true;
}

/* One pass over the chunks of all traces. */
static int pass(struct aggregator *self, struct state *state)
{
	for (u32 t = 0; t < self->run->engine->count; t++) {
		struct err err = {0};
		struct planner planner = run_planner(self->run, t, &err);
		struct scan scan = run_scan(self->run, state, t);

		if (!state->sel[t].words)
			continue;
		self->trace = t;
		self->domain = planner.domain;
		if (self->agg->has_key && !(self->plan = plan_key(&planner, &self->agg->key)))
			return run_fail(self->run, &err);
		scan_blocks(&scan, tally_block, self);
	}
	return 0;
}

static int compare_numbers(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

/* The smallest value that is not below `percent` of them. */
static double percentile(double *values, u64 count, double percent)
{
	u64 rank = (u64)ceil(percent / 100 * (double)count);
	u64 low = 0, high = count, wanted = rank ? rank - 1 : 0;

	if (!count)
		return NAN;
	/* Quickselect by the middle of three; what is small is sorted. */
	while (high - low > 64) {
		double a = values[low], b = values[low + (high - low) / 2], c = values[high - 1];
		double pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
		u64 less = low, equal = low, greater = high;

		while (equal < greater) {
			double value = values[equal];

			if (value < pivot) {
				values[equal++] = values[less];
				values[less++] = value;
			} else if (value > pivot) {
				values[equal] = values[--greater];
				values[greater] = value;
			} else {
				equal++;
			}
		}
		if (wanted < less)
			high = less;
		else if (wanted < greater)
			return pivot;
		else
			low = greater;
	}
	qsort(values + low, high - low, sizeof *values, compare_numbers);
	return values[wanted];
}

/* The first pass has found room for the values of each entry, the second puts them beside each
 * other. Unknown ones leave room empty. */
static int percentiles(struct aggregator *self, struct state *state, double *out)
{
	u64 entries = self->entries->count, total = 0;
	struct agg_tally *tallies = self->tallies;
	int status;

	self->starts = arena_new_array(&self->run->arena, u64, entries + 1);
	for (u64 i = 0; self->starts && i < entries; i++) {
		self->starts[i] = total;
		total += (u64)tallies[i].weight;
	}
	self->values = malloc((total + 1) * sizeof *self->values);
	if (!self->starts || !self->values) {
		free(self->values);
		return run_no_memory(self->run);
	}
	status = pass(self, state);
	for (u64 i = 0, start = 0; status == 0 && i < entries; start += (u64)tallies[i].weight, i++)
		out[i] = percentile(self->values + start, self->starts[i] - start,
				    self->agg->percent);
	free(self->values);
	self->values = NULL;
	return status;
}

static double tally_number(const struct agg_tally *tally, enum agg_kind kind)
{
	if (kind == AGG_COUNT)
		return tally->weight;
	if (!tally->weight)
		return NAN;
	switch (kind) {
	case AGG_SUM: return tally->sum;
	case AGG_AVG: return tally->sum / tally->weight;
	case AGG_MIN: return tally->min;
	default: return tally->max;
	}
}

static bool is_sampled(const struct run *run)
{
	for (u32 t = 0; t < run->engine->count; t++)
		if (run->engine->domains[t].model->count_shift)
			return true;
	return false;
}

/* An entry has no more values than chunks: with that room the values need not be counted first. */
static int count_chunks(struct aggregator *self)
{
	for (u64 i = 0; i < self->entries->count; i++)
		self->tallies[i].weight = self->entries->columns.data[F_CHUNKS][i];
	return 0;
}

static int add_agg(struct run *run, struct state *state, const struct query_agg *agg)
{
	struct entries *entries = state->entries;
	struct aggregator self = {.run = run, .entries = entries, .agg = agg};
	double *numbers = malloc((entries->count + 1) * sizeof *numbers);
	int status;

	self.tallies = arena_new_array(&run->arena, struct agg_tally, entries->count + 1);
	if (!numbers || !self.tallies || !vec_reserve(&entries->columns, 1) ||
	    !vec_push(&entries->aggs, *agg)) {
		free(numbers);
		return run_no_memory(run);
	}
	entries->columns.data[entries->columns.count++] = numbers;
	if (agg->kind == AGG_PERCENTILE) {
		status = is_sampled(run) ? pass(&self, state) : count_chunks(&self);
		return status < 0 ? status : percentiles(&self, state, numbers);
	}
	status = pass(&self, state);
	for (u64 i = 0; status == 0 && i < entries->count; i++)
		numbers[i] = tally_number(&self.tallies[i], agg->kind);
	return status;
}

int run_agg(struct run *run, struct state *state, const struct stage *stage)
{
	static const struct stage whole = {.kind = STAGE_JOIN};
	int status = state->entries ? 0 : run_join(run, state, &whole);

	for (u32 i = 0; status == 0 && i < stage->agg_count; i++)
		status = add_agg(run, state, &stage->aggs[i]);
	return status;
}
