/* SPDX-License-Identifier: MIT
 * Memory that stayed resident after it was freed: how much, and who had it.
 * Host. */
#include "study/analysis/findings/cost.h"
#include "study/analysis/resident/bill_result.h"
#include "study/analysis/resident/series.h"
#include "host/base/map.h"
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
	*finding = (struct finding){.kind = FINDING_RESIDENT,
				    .confidence = gap->memory ? SURE_MEASURED : SURE_INFERRED,
				    .bytes = held_bytes(gap),
				    .of_bytes = gap->rss_bytes - gap->recorder_bytes,
				    .left_bytes = gap->live_bytes,
				    .lasted_ns = gap->to_ns - gap->from_ns};
	finding->amounts[SAVING_RESIDENT_BYTES] = (double)finding->bytes;
	finding->resident_bytes = series->peak_bytes > gap->recorder_bytes
					  ? series->peak_bytes - gap->recorder_bytes
					  : series->peak_bytes;
}

/* Those who hold the pages, if they are few: the one that holds most. NULL if they are not. */
static const struct model_point *holds_most(struct finding *finding, const struct bill *bill,
					    const struct cut *cut)
{
	struct point_id most = cut->points[0];

	for (u32 i = 1; i < cut->count; i++)
		if (bill->lines[cut->points[i].index].pinned_bytes >
		    bill->lines[most.index].pinned_bytes)
			most = cut->points[i];
	finding->pinned.points = cut->count;
	finding->pinned.live_bytes = cut->live_bytes;
	finding->pinned.saves_bytes = cut->most_bytes;
	return &bill->model->points.data[most.index];
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

/* Why it stayed, from a look at that time. */
static int find_cause(struct finding *finding, const struct model *model,
		      const struct model_memory *memory, const struct model_point **point,
		      struct err *err)
{
	struct bill bill = {0};
	struct cut cut;
	enum bill_cause cause;
	int status = bill_make(&bill, model, memory, err);

	if (status == 0)
		status = cut_find(&cut, &bill, err);
	if (status == 0) {
		cause = bill_cause(&bill, &cut);
		finding->pinned.repair = bill_repair(&bill, cause);
		if (cause == BILL_PINNED_BY_FEW)
			*point = holds_most(finding, &bill, &cut);
	}
	bill_release(&bill);
	return status;
}

/* Whose bytes they were, and how many lie on pages without a live block. */
static int find_place(struct finding *finding, const struct model *model,
		      const struct resident_gap *gap, struct err *err)
{
	u64 ticks = tick_clock_ticks(&model->clock, gap->at_ns), held;
	const struct model_memory *memory = look_of(model, gap);
	struct moment moment = {0};
	const struct model_point *point = NULL;
	int status = moment_find(&moment, model, ticks, err);

	if (status == 0) {
		point = freed_most(model, moment.live, ticks);
		held = moment.pages.used * PAGE;
		held -= held < finding->left_bytes ? held : finding->left_bytes;
		finding->free_bytes =
			finding->bytes - (held < finding->bytes ? held : finding->bytes);
	}
	moment_release(&moment);
	if (status == 0 && point && memory)
		status = find_cause(finding, model, memory, &point, err);
	if (point)
		finding->frame = point->frame;
	return status < 0 ? status : point != NULL;
}

/* A program that frees all that it has before it ends: nobody would use what it gave back. */
static bool is_teardown(const struct resident_gap *gap, const struct model *model)
{
	u64 lasted_ns = gap->to_ns - gap->from_ns;

	return gap->to_end && lasted_ns < TEARDOWN_NS &&
	       lasted_ns < model_duration_ns(model) / TEARDOWN_PARTS;
}

int finding_resident(struct finding *finding, const struct model *model, struct err *err)
{
	struct resident_series series = {0};
	struct resident_gap gap = {0};
	int status;

	if (model->image.access == ACCESS_VALGRIND)
		return 0; /* the allocator is Valgrind's, and so is most of the memory */
	status = resident_series_make(&series, model, err);
	if (status == 0)
		status = resident_gap_find(&gap, model, &series, resident_lasting_ns(model), err);
	fill(finding, &gap, &series);
	/* Less than what is live is what allocators usually take for themselves. */
	if (status == 0 && finding->bytes && finding->bytes >= finding->left_bytes &&
	    !is_teardown(&gap, model))
		status = find_place(finding, model, &gap, err);
	resident_series_release(&series);
	return status;
}
