/* SPDX-License-Identifier: MIT
 * Savings, levels and the order of findings.
 * Host. */
#include "study/analysis/findings/cost.h"
#include "host/base/order.h"
#include "study/model/durations.h"

static const double COPY_NS_PER_BYTE = 0.1;
/* Who holds the peak of a program that needs less is no question. */
static const double PEAK_SMALL = 1 << 20;

const char *saving_unit_name(u32 unit)
{
	static const char *const names[SAVING_UNITS] = {
		[SAVING_NONE] = "none",
		[SAVING_BYTES_PER_S] = "bytes_per_s",
		[SAVING_PEAK_BYTES] = "peak_bytes",
		[SAVING_MEAN_BYTES] = "mean_bytes",
		[SAVING_RESIDENT_BYTES] = "resident_bytes",
		[SAVING_CPU_NS] = "cpu_ns",
	};

	return names[unit];
}

const char *finding_level_name(u32 level)
{
	static const char *const names[LEVELS] = {
		[LEVEL_MINOR] = "minor",
		[LEVEL_LOOK] = "worth a look",
		[LEVEL_COSTLY] = "costly",
	};

	return names[level];
}

/* ---- amounts ---- */

struct finding_costs finding_costs(const struct model *model, double byte_ticks)
{
	struct finding_costs self = {.model = model,
				     .run_ticks = (double)(model->last_ticks -
							   model->image.start_ticks)};
	struct call_costs costs;
	bool known;

	call_costs_find(&costs, model);
	for (u32 kind = 0; kind < HW_KIND_COUNT; kind++)
		self.call_ns[kind] = costs.all.enough ? costs.ns[kind] : FINDING_CALL_NS;
	self.untimed = !costs.all.enough;
	self.free_ns = costs.all.enough ? costs.freed_ns : FINDING_CALL_NS;
	self.wholes[SAVING_PEAK_BYTES] = (double)model_peak(model).bytes;
	self.wholes[SAVING_MEAN_BYTES] = self.run_ticks > 0 ? byte_ticks / self.run_ticks : 0;
	self.wholes[SAVING_CPU_NS] = model_cpu_ns(model, &known);
	return self;
}

double finding_cpu_ns(const struct finding_costs *self, struct point_id point, u64 units,
		      double copied_bytes)
{
	double calls = (double)model_count(self->model, units);
	u8 kind = self->model->points.data[point.index].kind;

	return calls * (self->call_ns[kind < HW_KIND_COUNT ? kind : HW_MALLOC] + self->free_ns) +
	       copied_bytes * COPY_NS_PER_BYTE;
}

double finding_peak_bytes(const struct finding_costs *self, struct point_id point, double part)
{
	return (double)self->model->points.data[point.index].at_peak_bytes * (part < 1 ? part : 1);
}

/* ---- levels ---- */

static const struct {
	double look, costly; /* shares from which it is that */
	double small, tiny;  /* amounts: below the one it is minor, below the other not listed */
} limits[SAVING_UNITS] = {
	[SAVING_BYTES_PER_S] = {.look = 0.02, .costly = 0.10},
	[SAVING_PEAK_BYTES] = {.look = 0.05, .costly = 0.25, .small = 64 << 10, .tiny = 4 << 10},
	[SAVING_MEAN_BYTES] = {.look = 0.05, .costly = 0.25, .small = 64 << 10, .tiny = 4 << 10},
	[SAVING_RESIDENT_BYTES] = {.look = 0.10, .costly = 0.25, .small = 4 << 20, .tiny = 1 << 20},
	[SAVING_CPU_NS] = {.look = 0.03, .costly = 0.10, .small = 10e6, .tiny = 1e6},
};

static bool is_small_peak(const struct finding *finding)
{
	return finding_holds_peak(finding) && finding->saving.amount < PEAK_SMALL;
}

/* The most that a finding of its kind can be. */
static u32 level_at_most(const struct finding *finding)
{
	switch (finding->kind) {
	case FINDING_KEPT: /* freeing it at the end would save nothing before */ return LEVEL_MINOR;
	/* it may all be needed: to hold a document is what some programs are for */
	case FINDING_PEAK: return LEVEL_LOOK;
	case FINDING_BURST: return finding->saving.share < 0.75 ? LEVEL_LOOK : LEVEL_COSTLY;
	case FINDING_LEAK:
		return finding->chunk_class == CLASS_POSSIBLE ? LEVEL_LOOK : LEVEL_COSTLY;
	case FINDING_GROWS_IN:
	case FINDING_GROWTH: /* a short run may just not have come to its end */
		return finding->bytes_per_s > 0 && !finding->short_run ? LEVEL_COSTLY : LEVEL_LOOK;
	default: return LEVEL_COSTLY;
	}
}

static u32 level_of(const struct finding *finding)
{
	const struct saving *saving = &finding->saving;
	/* A leak that grows has no end. */
	u32 unit = finding->kind == FINDING_LEAK && finding->bytes_per_s > 0 ? SAVING_BYTES_PER_S
									     : saving->unit;
	u32 level = saving->share >= limits[unit].costly ? LEVEL_COSTLY
		    : saving->share >= limits[unit].look ? LEVEL_LOOK
							 : LEVEL_MINOR;
	u32 most = level_at_most(finding);

	if (finding->kind == FINDING_MISUSE)
		return finding->confidence == SURE_MEASURED ? LEVEL_COSTLY : LEVEL_MINOR;
	if (is_small_peak(finding) || saving->amount < limits[unit].small)
		return LEVEL_MINOR;
	return level < most ? level : most;
}

void finding_settle(const struct finding_costs *self, struct finding *finding)
{
	struct saving *saving = &finding->saving;

	*saving = (struct saving){SAVING_NONE, 0, 0};
	for (u32 unit = SAVING_PEAK_BYTES; unit < SAVING_UNITS; unit++) {
		double whole = unit == SAVING_RESIDENT_BYTES ? (double)finding->resident_bytes
							     : self->wholes[unit];
		double amount = finding->amounts[unit], share = whole > 0 ? amount / whole : 0;

		/* calls that were not timed may be faster than they are taken to be */
		if (unit == SAVING_CPU_NS && share > 1)
			amount = whole, share = 1;
		if (share > saving->share)
			*saving = (struct saving){unit, amount, share};
	}
	if ((finding->kind == FINDING_GROWTH || finding->kind == FINDING_GROWS_IN) &&
	    finding->bytes_per_s > 0 && !finding->short_run) {
		saving->unit = SAVING_BYTES_PER_S;
		saving->amount = finding->bytes_per_s;
	}
	finding->level = level_of(finding);
}

bool finding_is_listed(const struct finding *finding, const struct findings_query *query)
{
	const struct saving *saving = &finding->saving;

	return query->all || finding->kind == FINDING_MISUSE ||
	       (saving->share >= query->min_share && saving->amount >= limits[saving->unit].tiny);
}

/* ---- order ---- */

/* What a person would thank us for first. */
static u32 concern(const struct finding *finding)
{
	if (is_small_peak(finding))
		return 8;
	switch (finding->kind) {
	case FINDING_MISUSE: return finding->confidence == SURE_MEASURED ? 0 : 9;
	case FINDING_LEAK:
	case FINDING_GROWS_IN:
	case FINDING_GROWTH: return 1;
	case FINDING_PEAK:
	case FINDING_BURST: return 2;
	case FINDING_PINNED:
	case FINDING_LEFT_BEHIND:
	case FINDING_NOT_GIVEN_BACK:
	case FINDING_ARENAS: return 3;
	case FINDING_CHURN:
	case FINDING_GROWING:
	case FINDING_ZERO_SIZE: return 5;
	case FINDING_KEPT: return 6;
	default: return 4;
	}
}

int finding_order(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return falling(x->level, y->level) ?: rising(concern(x), concern(y))
		       ?: falling_real(x->saving.share, y->saving.share)
		       ?: rising(x->kind, y->kind) ?: rising(x->frame.index, y->frame.index);
}
