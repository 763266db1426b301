/* SPDX-License-Identifier: MIT
 * Memory that stayed resident after it was freed: how much, and who had it.
 * Host. */
#include <stdio.h>
#include <string.h>

#include "study/analysis/findings/cost.h"
#include "study/analysis/resident/arenas.h"
#include "study/analysis/resident/bill_result.h"
#include "study/analysis/resident/series.h"
#include "host/base/map.h"
#include "host/base/units.h"
#include "study/model/each.h"

enum { PAGE = 4096, TEARDOWN_PARTS = 3 };
static const u64 TEARDOWN_NS = 10000000000;

/* What was live at a time: bytes by point, and pages with a live block (of a sample: fewer than
 * there were). */
struct moment {
	u64 *live;
	struct map pages;
};

static bool add_chunk(struct moment *self, const struct chunk *chunk)
{
	u64 address = chunk->page->address[chunk->at], size = chunk->page->size[chunk->at], units,
	    bytes;

	model_weigh(chunk->model, size, &units, &bytes);
	self->live[chunk_point(chunk).index] += bytes; /* sizes may be anything: sums wrap */
	/* Only the first and the last page can be shared with what was freed. */
	return map_put(&self->pages, address / PAGE, 1) &&
	       map_put(&self->pages, (address + (size ? size - 1 : 0)) / PAGE, 1);
}

static int moment_find(struct moment *self, const struct model *model, u64 ticks, struct err *err)
{
	self->live = calloc(model->points.count + 1, sizeof *self->live);
	if (!self->live)
		return err_memory_for(err, "the findings");
	EACH_CHUNK (chunk, model) {
		bool gone = chunk_is_freed(&chunk) && chunk.page->free_ticks[chunk.at] <= ticks;

		if (chunk.page->alloc_ticks[chunk.at] <= ticks && !gone && !add_chunk(self, &chunk))
			return err_memory_for(err, "the findings");
	}
	return 0;
}

static void moment_release(struct moment *self)
{
	free(self->live);
	map_release(&self->pages);
}

/* The point that had freed most by then, of what it had at its own peak. */
static const struct model_point *freed_most(const struct model *model, const u64 *live, u64 ticks)
{
	const struct model_point *most = NULL;
	u64 freed = 0;

	for (u32 i = 0; i < model->points.count; i++) {
		const struct model_point *point = &model->points.data[i];
		u64 gone = point->peak_ticks <= ticks && point->peak_bytes > live[i]
				   ? point->peak_bytes - live[i]
				   : 0;

		if (gone > freed) {
			freed = gone;
			most = point;
		}
	}
	return most;
}

/* What the allocator held of the gap all the while: all of it where nobody looked at the memory;
 * else what is neither code nor mappings, which come and rarely go. The look may be later than the
 * smallest gap, when much more had been freed, so that it alone would say too much. */
static u64 held_bytes(const struct resident_gap *gap)
{
	u64 others, held;

	if (!gap->memory)
		return gap->bytes;
	others = resident_cause_bytes(&gap->account, CAUSE_MAPPINGS) +
		 resident_cause_bytes(&gap->account, CAUSE_CODE);
	held = resident_cause_bytes(&gap->account, CAUSE_ALLOCATOR);
	if (gap->bytes < others)
		return 0;
	return held < gap->bytes - others ? held : gap->bytes - others;
}

static void fill(struct finding *finding, const struct resident_gap *gap,
		 const struct resident_series *series)
{
	*finding = (struct finding){.confidence = gap->memory ? SURE_MEASURED : SURE_INFERRED,
				    .bytes = held_bytes(gap),
				    .of_bytes = gap->rss_bytes - gap->recorder_bytes,
				    .left_bytes = gap->live_bytes,
				    .lasted_ns = gap->to_ns - gap->from_ns};
	finding->resident_bytes = series->peak_bytes > gap->recorder_bytes
					  ? series->peak_bytes - gap->recorder_bytes
					  : series->peak_bytes;
}

/* What the kind is about, which is no more than what the allocator held all the while. */
static void settle(struct finding *finding, enum finding_kind kind, u64 free_bytes)
{
	finding->kind = kind;
	if (free_bytes < finding->bytes)
		finding->bytes = free_bytes;
	finding->amounts[SAVING_RESIDENT_BYTES] = (double)finding->bytes;
}

/* ---- by a look ---- */

struct looked {
	const struct stack_source *source;
	struct bill bill;
	struct cut cut;
};

static u64 place_of(const struct looked *looked, struct point_id point)
{
	struct frame_id frame = looked->bill.model->points.data[point.index].frame;
	struct finding_place place = finding_place(looked->source, frame);

	return finding_place_hash(&place, 0, true);
}

/* Functions of the few, as many as there is room for, each once. */
static void name_points(struct finding *finding, const struct looked *looked)
{
	const struct model *model = looked->bill.model;
	char *names = finding->stays.names;
	size_t room = sizeof finding->stays.names;

	for (u32 i = 0; i < looked->cut.count; i++) {
		struct frame_id frame = model->points.data[looked->cut.points[i].index].frame;
		struct finding_place place = finding_place(looked->source, frame);
		const char *name = *place.own.function ? place.own.function : "unknown";
		size_t used = strlen(names);

		if (strstr(names, name))
			continue;
		if (used + strlen(name) + sizeof ", ..." >= room) {
			snprintf(names + used, room - used, "%s...", used ? ", " : "");
			return;
		}
		snprintf(names + used, room - used, "%s%s", used ? ", " : "", name);
	}
}

/* Which free bytes a kind is about, by point: those of pages with live blocks, or without. */
struct about {
	bool left, cached, caches;
};

static u64 bytes_about(const struct bill_line *line, struct about about)
{
	return (about.left ? line->left_bytes : 0) + (about.cached ? line->cached_bytes : 0) +
	       (about.caches ? line->caches_bytes : 0);
}

/* The point whose blocks were the last on most of them, out of all; false if there is none. */
static bool used_last(struct finding *finding, const struct bill *bill, struct about about,
		      struct point_id *point)
{
	u64 all = 0, bytes;
	struct point_id most = {0};

	for (u32 i = 0; i < bill->model->points.count; i++) {
		bytes = bytes_about(&bill->lines[i], about);
		all += bytes;
		if (bytes > bytes_about(&bill->lines[most.index], about))
			most = (struct point_id){i};
	}
	finding->stays.here = units_share(bytes_about(&bill->lines[most.index], about), all);
	*point = most;
	return all != 0;
}

/* The point whose blocks hold most; false if none holds any. */
static bool holds_most(const struct bill *bill, struct point_id *point)
{
	struct point_id most = {0};

	for (u32 i = 1; i < bill->model->points.count; i++)
		if (bill->lines[i].pinned_bytes > bill->lines[most.index].pinned_bytes)
			most = (struct point_id){i};
	*point = most;
	return bill->model->points.count && bill->lines[most.index].pinned_bytes;
}

/* Few hold the pages. The place is the one of them that holds most. */
static struct point_id tell_pinned(struct finding *finding, const struct looked *looked)
{
	const struct cut *cut = &looked->cut;
	const struct bill_line *lines = looked->bill.lines;
	struct point_id most = cut->points[0], burst;

	for (u32 i = 1; i < cut->count; i++)
		if (lines[cut->points[i].index].pinned_bytes > lines[most.index].pinned_bytes)
			most = cut->points[i];
	settle(finding, FINDING_PINNED, cut->most_bytes);
	finding->stays.count = cut->count;
	finding->stays.live_bytes = cut->live_bytes;
	finding->stays.least_bytes = cut->least_bytes;
	name_points(finding, looked);
	if (used_last(finding, &looked->bill, (struct about){.left = true, .cached = true}, &burst))
		finding->stays.burst_place = place_of(looked, burst);
	return most;
}

static u32 holders(const struct bill *bill)
{
	u32 count = 0;

	for (u32 i = 0; i < bill->model->points.count; i++)
		count += bill->lines[i].pinned_bytes != 0;
	return count;
}

/* The place, if the look says that this is why the memory stayed. */
static bool tell_cause(struct finding *finding, const struct looked *looked, enum bill_cause cause,
		       struct point_id *point)
{
	const struct bill *bill = &looked->bill;
	u64 hold = bill_caches_hold(bill), excess;
	struct arenas arenas;

	finding->stays.repair = bill_repair_of(bill, cause);
	switch (cause) {
	case BILL_PINNED_BY_FEW: *point = tell_pinned(finding, looked); return true;
	case BILL_PINNED_BY_MANY:
		settle(finding, FINDING_LEFT_BEHIND, bill->account.bytes[PART_PINNED]);
		finding->stays.count = holders(bill);
		return used_last(finding, bill, (struct about){.left = true}, point);
	case BILL_NOT_GIVEN_BACK:
		settle(finding, FINDING_NOT_GIVEN_BACK, bill->account.bytes[PART_CACHED] - hold);
		finding->stays.count = 1;
		return used_last(finding, bill, (struct about){.cached = true}, point);
	case BILL_ARENAS:
		arenas = arenas_find(bill);
		excess = arenas_excess(bill);
		finding->stays.free_bytes =
			arenas.free_bytes < finding->bytes ? arenas.free_bytes : finding->bytes;
		settle(finding, FINDING_ARENAS,
		       excess < arenas.free_bytes ? excess : arenas.free_bytes);
		finding->stays.count = (u32)arenas.count;
		return used_last(finding, bill, (struct about){.left = true, .cached = true},
				 point);
	case BILL_THREAD_CACHES:
		settle(finding, FINDING_NOT_GIVEN_BACK,
		       bill->account.bytes[PART_THREAD_CACHES] + hold);
		finding->stays.count = 1;
		return used_last(finding, bill, (struct about){.cached = true, .caches = true},
				 point);
	case BILL_HUGE_PAGES:
		settle(finding, FINDING_NOT_GIVEN_BACK,
		       bill->account.bytes[PART_PINNED] + bill->account.bytes[PART_CACHED]);
		finding->stays.count = 1;
		return used_last(finding, bill, (struct about){.left = true, .cached = true},
				 point) ||
		       holds_most(bill, point); /* nothing was ever freed there */
	case BILL_LIVE:
	case BILL_NOT_HEAP:
	case BILL_CAUSES: break;
	}
	return false;
}

/* What is free and another matter: free pages beside pages that are held, or the other way round.
 * The cut may count free pages at the ends of heaps, which are then told. */
static enum bill_cause other_cause(const struct looked *looked, enum bill_cause cause)
{
	switch (cause) {
	case BILL_PINNED_BY_MANY: return BILL_NOT_GIVEN_BACK;
	case BILL_NOT_GIVEN_BACK: return BILL_PINNED_BY_MANY;
	case BILL_PINNED_BY_FEW:
		return looked->cut.most_bytes > looked->bill.account.bytes[PART_PINNED]
			       ? BILL_LIVE
			       : BILL_NOT_GIVEN_BACK;
	default: return BILL_LIVE;
	}
}

/* How many findings the look is worth. */
static int tell_causes(struct finding found[RESIDENT_FINDINGS], const struct looked *looked)
{
	const struct model *model = looked->bill.model;
	enum bill_cause cause = bill_free_cause(&looked->bill, &looked->cut);
	struct finding rest = found[0];
	int count = 0;

	for (int i = 0; i < RESIDENT_FINDINGS && rest.bytes; i++) {
		struct point_id point;

		found[count] = rest;
		if (tell_cause(&found[count], looked, cause, &point)) {
			found[count].frame = model->points.data[point.index].frame;
			rest.bytes -= found[count++].bytes;
		}
		cause = other_cause(looked, cause);
	}
	return count;
}

/* The look of that time which is nearest to the smallest gap; NULL if there is none. */
static const struct model_memory *look_of(const struct model *model, const struct resident_gap *gap)
{
	const struct model_memory *found = NULL;
	u64 apart_ns = UINT64_MAX;

	for (u64 i = 0; i < model->memory.count; i++) {
		u64 ns = tick_clock_ns(&model->clock, model->memory.data[i].ticks);
		u64 apart = ns < gap->at_ns ? gap->at_ns - ns : ns - gap->at_ns;

		if (ns < gap->from_ns || ns > gap->to_ns || apart >= apart_ns)
			continue;
		found = &model->memory.data[i];
		apart_ns = apart;
	}
	return found;
}

/* Why it stayed, from a look at that time; > 0 = so many findings. */
static int find_causes(struct finding found[RESIDENT_FINDINGS], const struct stack_source *source,
		       const struct model_memory *memory, struct err *err)
{
	struct looked looked = {.source = source};
	int status = bill_make(&looked.bill, source->model, memory, err);

	if (status == 0)
		status = cut_find(&looked.cut, &looked.bill, err);
	if (status == 0)
		status = tell_causes(found, &looked);
	bill_release(&looked.bill);
	return status;
}

/* ---- without a look ---- */

/* Pages without a live block could be given back; the others are held by what stayed. */
static int infer_cause(struct finding *finding, const struct model *model, u64 ticks,
		       struct err *err)
{
	struct moment moment = {0};
	const struct model_point *point = NULL;
	int status = moment_find(&moment, model, ticks, err);
	u64 held = moment.pages.used * PAGE, free_bytes;
	bool free_pages;

	if (status == 0)
		point = freed_most(model, moment.live, ticks);
	moment_release(&moment);
	if (!point)
		return status;
	held -= held < finding->left_bytes ? held : finding->left_bytes;
	free_bytes = finding->bytes - (held < finding->bytes ? held : finding->bytes);
	free_pages = 2 * free_bytes >= finding->bytes;
	settle(finding, free_pages ? FINDING_NOT_GIVEN_BACK : FINDING_LEFT_BEHIND, finding->bytes);
	finding->stays.repair =
		bill_repair(model, free_pages ? BILL_NOT_GIVEN_BACK : BILL_PINNED_BY_MANY);
	finding->frame = point->frame;
	return 1;
}

/* ---- all ---- */

static int find_places(struct finding found[RESIDENT_FINDINGS], const struct stack_source *source,
		       const struct resident_gap *gap, struct err *err)
{
	const struct model *model = source->model;
	const struct model_memory *memory = look_of(model, gap);
	struct finding base = found[0];
	int status = memory ? find_causes(found, source, memory, err) : 0;

	if (status)
		return status;
	found[0] = base;
	return infer_cause(&found[0], model, tick_clock_ticks(&model->clock, gap->at_ns), err);
}

/* A program that frees all that it has before it ends: nobody would use what it gave back. */
static bool is_teardown(const struct resident_gap *gap, const struct model *model)
{
	u64 lasted_ns = gap->to_ns - gap->from_ns;

	return gap->to_end && lasted_ns < TEARDOWN_NS &&
	       lasted_ns < model_duration_ns(model) / TEARDOWN_PARTS;
}

int finding_resident(struct finding found[RESIDENT_FINDINGS], const struct stack_source *source,
		     struct err *err)
{
	const struct model *model = source->model;
	struct resident_series series = {0};
	struct resident_gap gap = {0};
	int status;

	if (model_is_summary(model))
		return 0;
	if (model->image.access == ACCESS_VALGRIND)
		return 0; /* the allocator is Valgrind's, and so is most of the memory */
	status = resident_series_make(&series, model, err);
	if (status == 0)
		status = resident_gap_find(&gap, model, &series, resident_lasting_ns(model), err);
	fill(&found[0], &gap, &series);
	/* Less than what is live is what allocators usually take for themselves. */
	if (status == 0 && found[0].bytes && found[0].bytes >= found[0].left_bytes &&
	    !is_teardown(&gap, model))
		status = model_lacks_chunks(model) ? RESIDENT_WANTS_CHUNKS
						   : find_places(found, source, &gap, err);
	resident_series_release(&series);
	return status;
}
