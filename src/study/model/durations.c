/* SPDX-License-Identifier: MIT
 * Estimates of the time in the allocator; see durations.h. Host. */
#include "study/model/durations.h"

#include <math.h>

#include "study/model/model.h"

/* 0 and 1 are the first bin, 2 the third, 3 the fourth, 4 and 5 the fifth … */
static u32 bin_of(u64 ticks)
{
	u32 power = ticks > 1 ? 63 - (u32)__builtin_clzll(ticks) : 0;
	u32 bin = 2 * power + (power ? ticks >> (power - 1) & 1 : 0);

	return bin < DURATION_BINS ? bin : DURATION_BINS - 1;
}

static void add(u64 *sum, u64 value)
{
	*sum = *sum > UINT64_MAX - value ? UINT64_MAX : *sum + value;
}

void duration_bins_add(struct duration_bin bins[DURATION_BINS], u64 ticks, u64 weight)
{
	struct duration_bin *bin = &bins[bin_of(ticks)];
	double calls = (double)weight / (1 << DURATION_WEIGHT_SHIFT);

	add(&bin->calls, 1);
	add(&bin->ticks, ticks);
	add(&bin->weight, weight);
	add(&bin->squares, (u64)fmin(calls * (double)weight, 0x1p62));
}

/* ---- a mean that the longest calls do not decide ---- */

struct mean {                /* in ticks */
	double ticks, error; /* and its standard error */
	/* what the longest calls took more than they count for, all together */
	double beyond;
	double calls; /* as good as so many that stand for the same each */
};

static void pool_add(struct duration_bin pool[DURATION_BINS], const struct model *model, u32 kind)
{
	for (u32 i = 0; i < DURATION_BINS; i++) {
		const struct duration_bin *bin = &model->duration_bins[kind][i];

		add(&pool[i].calls, bin->calls);
		add(&pool[i].ticks, bin->ticks);
		add(&pool[i].weight, bin->weight);
		add(&pool[i].squares, bin->squares);
	}
}

static double weight_of(const struct duration_bin *bin)
{
	return (double)bin->weight / (1 << DURATION_WEIGHT_SHIFT);
}

static double squares_of(const struct duration_bin *bin)
{
	return (double)bin->squares / (1 << DURATION_WEIGHT_SHIFT);
}

static double bin_mean(const struct duration_bin *bin)
{
	return bin->calls ? (double)bin->ticks / (double)bin->calls : 0;
}

/* How long a call may be: the longest ones count as this. */
static double limit_of(const struct duration_bin bins[DURATION_BINS], double weight)
{
	double left = weight / 100;
	u64 one = 1;
	u32 bin = DURATION_BINS;

	while (bin && (weight_of(&bins[bin - 1]) <= left || bins[bin - 1].calls <= one)) {
		left -= weight_of(&bins[--bin]);
		one -= bins[bin].calls ? one : 0;
	}
	return bin ? bin_mean(&bins[bin - 1]) : 0;
}

static struct mean mean_of(const struct duration_bin bins[DURATION_BINS])
{
	struct mean mean = {0};
	double limit, weight = 0, squares = 0;

	for (u32 i = 0; i < DURATION_BINS; i++) {
		weight += weight_of(&bins[i]);
		squares += squares_of(&bins[i]);
	}
	mean.calls = squares > 0 ? weight * weight / squares : 0;
	if (mean.calls < DURATION_CALLS_MIN)
		return mean;
	limit = limit_of(bins, weight);
	for (u32 i = 0; i < DURATION_BINS; i++) {
		double each = fmin(bin_mean(&bins[i]), limit);

		mean.ticks += weight_of(&bins[i]) * each / weight;
		mean.beyond += (double)bins[i].ticks - (double)bins[i].calls * each;
	}
	for (u32 i = 0; i < DURATION_BINS; i++) {
		double off = fmin(bin_mean(&bins[i]), limit) - mean.ticks;

		mean.error += squares_of(&bins[i]) * off * off;
	}
	mean.error = sqrt(mean.error) / weight;
	return mean;
}

/* ---- kinds ---- */

static bool is_timed(u32 kind) { return hw_kind_allocates(kind) || hw_kind_frees(kind); }

static struct mean mean_of_any(const struct model *model)
{
	struct duration_bin pool[DURATION_BINS] = {0};

	for (u32 i = 0; i < HW_KIND_COUNT; i++)
		pool_add(pool, model, i);
	return mean_of(pool);
}

/* A kind that was timed too rarely costs what its like cost: allocations, or frees; or else any
 * call. */
static struct mean mean_of_kind(const struct model *model, u32 kind)
{
	struct mean mean = mean_of(model->duration_bins[kind]);

	if (mean.calls < DURATION_CALLS_MIN) {
		struct duration_bin pool[DURATION_BINS] = {0};

		for (u32 i = 0; i < HW_KIND_COUNT; i++)
			if (is_timed(i) && hw_kind_frees(i) == hw_kind_frees(kind))
				pool_add(pool, model, i);
		mean = mean_of(pool);
	}
	return mean.calls < DURATION_CALLS_MIN ? mean_of_any(model) : mean;
}

static double calls_of(const struct model *model, u32 kind)
{
	u64 units = kind == HW_REALLOC_FREE ? model->realloc_frees_alone : model->kinds[kind];

	return (double)units / (double)(1ull << model->count_shift);
}

double model_cpu_ns(const struct model *model, bool *known)
{
	u64 threads = 0;

	*known = model->has_end && model->end.cpu_ns;
	if (*known)
		return (double)model->end.cpu_ns;
	for (u64 i = 0; i < model->threads.count; i++)
		threads += model->threads.data[i].told;
	return (double)model_duration_ns(model) * (double)(threads ? threads : 1);
}

/* Whatever was estimated, the threads had no more time than that. */
static void cap(struct call_costs *self, const struct model *model)
{
	bool known;
	double most = model_cpu_ns(model, &known), scale;

	if (self->all.ns > most) {
		scale = most / self->all.ns;
		for (u32 kind = 0; kind < HW_KIND_COUNT; kind++)
			self->ns[kind] *= scale;
		self->freed_ns *= scale;
		self->all.ns = most;
		self->all.capped = true;
	}
	self->all.low_ns = fmin(self->all.low_ns, self->all.ns);
	self->all.high_ns = fmax(fmin(self->all.high_ns, most), self->all.ns);
}

void call_costs_find(struct call_costs *self, const struct model *model)
{
	double freed = (double)model->totals.frees / (double)(1ull << model->count_shift),
	       error = 0, beyond = 0;

	*self = (struct call_costs){0};
	for (u32 kind = 0; kind < HW_KIND_COUNT; kind++)
		self->all.timed += model->duration_calls[kind];
	self->all.enough = mean_of_any(model).calls >= DURATION_CALLS_MIN;
	for (u32 kind = 0; kind < HW_KIND_COUNT && self->all.enough; kind++) {
		struct mean mean;
		double calls = calls_of(model, kind);

		if (!is_timed(kind))
			continue;
		mean = mean_of_kind(model, kind);
		self->ns[kind] = tick_clock_span_ns(&model->clock, mean.ticks);
		self->all.ns += calls * self->ns[kind];
		if (hw_kind_frees(kind) && freed > 0)
			self->freed_ns += calls * self->ns[kind] / freed;
		/* Kinds that share their calls err together. */
		error += calls * tick_clock_span_ns(&model->clock, mean.error);
		if (model->duration_calls[kind])
			beyond += tick_clock_span_ns(&model->clock,
						     mean_of(model->duration_bins[kind]).beyond);
	}
	self->all.low_ns = fmax(0, self->all.ns - 2 * error);
	self->all.high_ns = self->all.ns + 2 * error + beyond;
	cap(self, model);
}

u64 model_allocator_ns(const struct model *self)
{
	struct call_costs costs;

	call_costs_find(&costs, self);
	return (u64)costs.all.ns;
}
