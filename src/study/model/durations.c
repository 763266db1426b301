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

void duration_bins_add(struct duration_bin bins[DURATION_BINS], u64 ticks)
{
	struct duration_bin *bin = &bins[bin_of(ticks)];

	bin->calls++;
	bin->ticks = bin->ticks > UINT64_MAX - ticks ? UINT64_MAX : bin->ticks + ticks;
}

/* ---- a mean that the longest calls do not decide ---- */

struct mean {                /* in ticks */
	double ticks, error; /* and its standard error */
	/* what the longest calls took more than they count for, all together */
	double beyond;
	u64 calls;
};

static void pool_add(struct duration_bin pool[DURATION_BINS], const struct model *model, u32 kind)
{
	for (u32 i = 0; i < DURATION_BINS; i++) {
		pool[i].calls += model->duration_bins[kind][i].calls;
		pool[i].ticks += model->duration_bins[kind][i].ticks;
	}
}

static double bin_mean(const struct duration_bin *bin)
{
	return bin->calls ? (double)bin->ticks / (double)bin->calls : 0;
}

/* How long a call may be: the longest ones count as this. */
static double limit_of(const struct duration_bin bins[DURATION_BINS], u64 calls)
{
	u64 longest = calls / 100 ? calls / 100 : 1;
	u32 bin = DURATION_BINS;

	while (bin && bins[bin - 1].calls <= longest)
		longest -= bins[--bin].calls;
	return bin ? bin_mean(&bins[bin - 1]) : 0;
}

static struct mean mean_of(const struct duration_bin bins[DURATION_BINS])
{
	struct mean mean = {0};
	double limit, squares = 0;

	for (u32 i = 0; i < DURATION_BINS; i++)
		mean.calls += bins[i].calls;
	if (mean.calls < DURATION_CALLS_MIN)
		return mean;
	limit = limit_of(bins, mean.calls);
	for (u32 i = 0; i < DURATION_BINS; i++) {
		double calls = (double)bins[i].calls, each = fmin(bin_mean(&bins[i]), limit);

		mean.ticks += calls * each / (double)mean.calls;
		squares += calls * each * each;
		mean.beyond += (double)bins[i].ticks - calls * each;
	}
	squares = squares / (double)mean.calls - mean.ticks * mean.ticks;
	mean.error = squares > 0 ? sqrt(squares / (double)mean.calls) : 0;
	return mean;
}

/* ---- kinds ---- */

static bool is_timed(u32 kind) { return hw_kind_allocates(kind) || hw_kind_frees(kind); }

/* A kind that was timed too rarely costs what its like cost: allocations, or frees; or else any
 * call. */
static struct mean mean_of_kind(const struct model *model, u32 kind)
{
	struct mean mean = mean_of(model->duration_bins[kind]);

	for (u32 wide = 0; wide < 2 && mean.calls < DURATION_CALLS_MIN; wide++) {
		struct duration_bin pool[DURATION_BINS] = {0};

		for (u32 i = 0; i < HW_KIND_COUNT; i++)
			if (wide || (is_timed(i) && hw_kind_frees(i) == hw_kind_frees(kind)))
				pool_add(pool, model, i);
		mean = mean_of(pool);
	}
	return mean;
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
	self->all.enough = self->all.timed >= DURATION_CALLS_MIN;
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
