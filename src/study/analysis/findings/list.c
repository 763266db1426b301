/* SPDX-License-Identifier: MIT
 * Inferences, leaks, growth and misuse → one list, by what they cost.
 * Host. */
#include "study/analysis/findings/finder.h"

#include <stdio.h>
#include <string.h>

#include "host/base/order.h"
#include "host/base/keyed.h"

static const char *const kind_names[FINDING_KINDS] = {
	[FINDING_MISUSE] = "misuse",
	[FINDING_LEAK] = "leak",
	[FINDING_KEPT] = "kept",
	[FINDING_GROWTH] = "growth",
	[FINDING_UNUSED] = "unused",
	[FINDING_WRITE_ONLY] = "write_only",
	[FINDING_READ_ONLY] = "read_only",
	[FINDING_COVERAGE] = "coverage",
	[FINDING_EARLY] = "early",
	[FINDING_LATE] = "late",
	[FINDING_CHURN] = "churn",
	[FINDING_GROWING] = "growing",
	[FINDING_ZERO_SIZE] = "zero_size",
	[FINDING_PEAK] = "peak",
	[FINDING_BURST] = "burst",
	[FINDING_PINNED] = "pinned",
	[FINDING_GROWS_IN] = "grows_in",
	[FINDING_TWICE] = "twice",
	[FINDING_ARENAS] = "arenas",
	[FINDING_LEFT_BEHIND] = "left_behind",
	[FINDING_NOT_GIVEN_BACK] = "not_given_back",
};

const char *finding_kind_name(enum finding_kind kind) { return kind_names[kind]; }

/* ---- merging ---- */

void finding_merge(struct finding *into, const struct finding *from)
{
	into->points += from->points;
	for (u32 i = 0; i < SAVING_UNITS; i++)
		into->amounts[i] += from->amounts[i];
	into->byte_ticks += from->byte_ticks;
	into->allocations += from->allocations;
	into->chunks += from->chunks;
	into->of_chunks += from->of_chunks;
	into->bytes += from->bytes;
	into->of_bytes += from->of_bytes;
	into->ticks += from->ticks;
	into->timed_chunks += from->timed_chunks;
	into->covered_bytes += from->covered_bytes;
	point_map_merge(&into->map, &from->map);
	into->growth_runs += from->growth_runs;
	into->different += from->different;
	into->bytes_per_s += from->bytes_per_s;
	into->left_bytes += from->left_bytes;
	into->led_bytes += from->led_bytes;
	into->temporary &= from->temporary;
	if (from->confidence > into->confidence)
		into->confidence = from->confidence;
	if (from->growth.steps > into->growth.steps)
		into->growth = from->growth;
	if (from->min_size < into->min_size)
		into->min_size = from->min_size;
	if (from->max_size > into->max_size)
		into->max_size = from->max_size;
	if (from->own_weight > into->own_weight) {
		into->own_weight = from->own_weight;
		into->held = from->held;
		into->frame = from->frame;
		into->costliest = from->costliest;
	}
}

/* Two containers are two findings wherever they are filled. A line in the name does not count:
 * "cache (main.c:12)". 0 = there is none. */
static u64 container_hash(const struct finding *finding)
{
	u64 hash = HASH_START;

	for (const char *at = finding->grows.container; *at && *at != '('; at++)
		hash = hash_u64(hash ^ (u8)*at);
	return *finding->grows.container ? hash << 24 : 0;
}

int finder_add(struct finder *self, struct finding one, struct err *err)
{
	struct finding_place place = finding_place(self->source, one.frame);
	u64 seed = ((u64)one.kind << 16 | (u64)one.chunk_class << 8 | one.misuse) ^
		   container_hash(&one);
	u64 before = self->findings->rows.count;
	struct finding *row;

	if (place.foreign && one.kind != FINDING_MISUSE && one.kind != FINDING_GROWS_IN &&
	    (one.kind != FINDING_LEAK || !leak_is_certain(one.chunk_class)))
		return 0; /* nothing that the program's developer could change */
	one.points = 1;
	finding_settle(&self->costs, &one);
	one.own_weight = one.saving.share;
	one.key = finding_place_hash(&place, seed, true);
	one.place = finding_place_hash(&place, 0, true);
	row = vec_at_key(&self->findings->rows, &self->by_key, one.key, one);
	if (!row)
		return err_memory_for(err, "the findings");
	if (self->findings->rows.count == before)
		finding_merge(row, &one);
	else
		snprintf(row->id, sizeof row->id, "%s-%08x", kind_names[one.kind],
			 (u32)finding_place_hash(&place, seed, false));
	return 0;
}

/* ---- the list ---- */

/* Bytes that need not be there at all. */
static bool is_vain(const struct finding *finding)
{
	return finding->kind == FINDING_LEAK || finding->kind == FINDING_UNUSED ||
	       finding->kind == FINDING_WRITE_ONLY;
}

/* Whether b says of the same bytes why they are there, so that a, which holds the peak or is in
 * memory twice, need not say that they are. */
static bool is_explained(const struct finding *a, const struct finding *b)
{
	bool burst = a->kind == FINDING_BURST && a->place == b->stays.burst_place;

	if ((a->place != b->place && !burst) || finding_holds_peak(b) || b->kind == FINDING_KEPT ||
	    b->saving.unit == SAVING_CPU_NS)
		return false;
	if (a->kind == FINDING_TWICE)
		return is_vain(b) &&
		       2 * b->amounts[SAVING_PEAK_BYTES] >= a->amounts[SAVING_PEAK_BYTES];
	if (b->kind == FINDING_TWICE && a->kind == FINDING_BURST)
		/* fewer of them would still come at once */
		return false;
	if (finding_stays(b) && a->kind != FINDING_BURST)
		/* what is live most of the time is not there because of what is free */
		return false;
	return 2 * b->saving.share >= a->saving.share;
}

/* What holds the peak is told only if it is most of it. */
static bool is_most(const struct finding *finding)
{
	return finding_holds_peak(finding) && finding->saving.share >= PEAK_SHARE;
}

/* Places of which more is said than that something is kept there. */
static bool find_told(const struct findings *self, struct map *told)
{
	for (u64 i = 0; i < self->rows.count; i++)
		if ((is_most(&self->rows.data[i]) || self->rows.data[i].kind == FINDING_GROWTH ||
		     self->rows.data[i].kind == FINDING_GROWS_IN) &&
		    !map_put(told, self->rows.data[i].place, 1))
			return false;
	return true;
}

static bool is_said(const struct findings *self, const struct finding *finding,
		    const struct map *told)
{
	/* there may be many others that nobody would look at */
	bool twice = finding->kind == FINDING_TWICE && finding->saving.share >= FINDINGS_MIN_SHARE;

	if (finding->kind == FINDING_KEPT)
		return map_find(told, finding->place);
	for (u64 i = 0; i < self->rows.count && (twice || is_most(finding)); i++)
		if (is_explained(finding, &self->rows.data[i]))
			return true;
	return finding_holds_peak(finding) && !is_most(finding);
}

/* Rows that another one explains go, and those that would save too little, which are counted. */
static int drop(struct findings *self, const struct model *model,
		const struct findings_query *query, struct err *err)
{
	struct map told = {0};
	bool ok = find_told(self, &told);
	u64 listed = 0;

	for (u64 i = 0; i < self->rows.count; i++)
		self->rows.data[i].points *= !is_said(self, &self->rows.data[i], &told) &&
					     !finding_is_single(model, &self->rows.data[i]);
	map_release(&told);
	for (u64 i = 0; i < self->rows.count; i++) {
		if (!self->rows.data[i].points)
			continue;
		if (finding_is_listed(&self->rows.data[i], query))
			self->rows.data[listed++] = self->rows.data[i];
		else
			self->below++;
	}
	self->rows.count = listed;
	return ok ? 0 : err_memory_for(err, "the findings");
}

/* Two places in the same functions have the same id: the second one gets a number. */
static int number_ids(struct findings *self, struct err *err)
{
	struct map seen = {0};
	bool ok = true;

	for (u64 i = 0; i < self->rows.count && ok; i++) {
		struct finding *row = &self->rows.data[i];
		u64 *count = map_at(&seen, hash_text(HASH_START, row->id));

		ok = count != NULL;
		if (ok && ++*count > 1) {
			size_t length = strlen(row->id);

			snprintf(row->id + length, sizeof row->id - length, "-%u", (u32)*count);
		}
	}
	map_release(&seen);
	return ok ? 0 : err_memory_for(err, "the findings");
}

/* Pointers are read for that, if there are some, and released. */
static int add_scanned(struct finder *self, struct err *err)
{
	const struct graphs_source *from = &self->query->pointers;
	struct model *pointers;
	int status;

	if (!from->path || !from->info || !from->info->graphs)
		return 0;
	if (model_lacks_chunks(self->model)) {
		self->findings->wants_chunks = true;
		return 0;
	}
	pointers = model_new();
	status = pointers ? model_read_graphs(pointers, from, err)
			  : err_memory_for(err, "the findings");
	if (status == 0)
		status = finder_add_grown(self, pointers, err);
	if (status == 0)
		status = finder_add_twice(self, pointers, err);
	model_free(pointers);
	return status;
}

static int collect(struct finder *self, const struct leak_report *leaks, struct err *err)
{
	int status = add_scanned(self, err);

	self->findings->wants_chunks |= leaks->misuse.wants_chunks;
	if (status == 0)
		status = finder_add_reported(self, leaks, err);
	if (status == 0)
		status = finder_add_peaks(self, err);
	for (u32 i = 0; i < self->behaviour->count && status == 0; i++)
		status = finder_add_inferred(self, (struct point_id){i}, err);
	if (status == 0)
		status = number_ids(self->findings, err);
	for (u64 i = 0; i < self->findings->rows.count; i++)
		finding_settle(&self->costs, &self->findings->rows.data[i]);
	vec_sort(&self->findings->rows, finding_order);
	return status == 0 ? drop(self->findings, self->model, self->query, err) : status;
}

int findings_find(struct findings *self, const struct stack_source *source,
		  const struct leak_report *leaks, const struct findings_query *query,
		  struct err *err)
{
	struct behaviour_table behaviour = {0};
	struct inferences inferences = {0};
	struct finder finder = {.findings = self,
				.source = source,
				.model = source->model,
				.query = query,
				.behaviour = &behaviour,
				.inferences = &inferences};
	int status = behaviour_find(source, &query->thresholds, &behaviour, err);

	if (status == 0)
		status = inferences_find(&inferences, source->model, &behaviour, &query->thresholds,
					 err);
	finder.costs = finding_costs(source->model, behaviour.whole.all.byte_ticks);
	self->untimed = finder.costs.untimed;
	if (status == 0)
		status = collect(&finder, leaks, err);
	map_release(&finder.by_key);
	map_release(&finder.leaking);
	map_release(&finder.rising);
	map_release(&finder.held);
	behaviour_table_release(&behaviour);
	return status;
}

void findings_release(struct findings *self) { vec_release(&self->rows); }

int findings_make(struct findings *self, const struct stack_source *source,
		  const struct trace_info *info, const struct findings_query *query,
		  struct err *err)
{
	struct leak_report leaks = {0};
	int status = leak_report_make_brief(&leaks, source, info, err);

	if (status == 0)
		status = findings_find(self, source, &leaks, query, err);
	leak_report_release(&leaks);
	return status;
}
