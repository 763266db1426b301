/* SPDX-License-Identifier: MIT
 * Scores from what the chunks of a point did.
 * Host. What was not measured is unknown, never 0 or 1. */
#include "study/analysis/memoro/scores.h"

#include <math.h>

static const double FLOOR = 0.01; /* in geometric means: one score of 0 must not make all 0 */

static double floored(double score) { return score < FLOOR ? FLOOR : score; }

static double bounded(double score) { return score < 0 ? 0 : score > 1 ? 1 : score; }

static void set(struct score_set *self, enum score score, double part, double whole)
{
	self->known[score] = whole > 0;
	if (whole > 0)
		self->value[score] = bounded(part / whole);
}

struct score_set scores_of(const struct behaviour *point)
{
	struct score_set self = {0};

	set(&self, SCORE_LIFETIME, point->group_scores, (double)point->groups);
	set(&self, SCORE_USAGE, point->used_bytes,
	    (double)point->measured.bytes - point->unsided_bytes);
	set(&self, SCORE_USEFUL, point->useful_sum, point->useful_chunks);
	return self;
}

u32 severity_step(const struct score_set *scores)
{
	double logs = 0, badness;
	u32 known = 0;

	for (u32 i = 0; i < SCORES; i++)
		if (scores->known[i]) {
			logs += log(floored(scores->value[i]));
			known++;
		}
	if (!known)
		return 0;
	/* Rounding must not lift a mean of 0.25, which is step 10 exactly, into the next. */
	badness = floor((1 - exp(logs / known)) * SEVERITY_STEPS + 1e-9);
	return 1 + (u32)(badness < SEVERITY_STEPS - 1 ? badness : SEVERITY_STEPS - 1);
}

struct sums {
	double logs, scores, squares;
	double allocations, allocation_logs;
	double bytes, byte_logs;
};

static void sums_add(struct sums *self, const struct behaviour *point, double score)
{
	double logarithm = log(floored(score));

	self->logs += logarithm;
	self->scores += score;
	self->squares += score * score;
	self->allocations += (double)point->all.chunks;
	self->allocation_logs += (double)point->all.chunks * logarithm;
	self->bytes += (double)point->all.bytes;
	self->byte_logs += (double)point->all.bytes * logarithm;
}

struct score_summary score_summarise(const struct behaviour_table *table, enum score score)
{
	struct score_summary self = {0};
	struct sums sums = {0};
	double mean;

	for (u64 i = 0; i < table->count; i++) {
		struct score_set scores = scores_of(&table->points[i]);

		if (!scores.known[score])
			continue;
		self.points++;
		sums_add(&sums, &table->points[i], scores.value[score]);
	}
	if (!self.points)
		return self;
	mean = sums.scores / (double)self.points;
	self.mean = exp(sums.logs / (double)self.points);
	self.variance = fmax(0, sums.squares / (double)self.points - mean * mean);
	self.mean_by_allocations = exp(sums.allocation_logs / sums.allocations);
	self.has_by_bytes = sums.bytes > 0;
	if (self.has_by_bytes)
		self.mean_by_bytes = exp(sums.byte_logs / sums.bytes);
	return self;
}
