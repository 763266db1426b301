/* SPDX-License-Identifier: MIT
 * Sums by type.
 * Host. */
#include "study/analysis/types/list.h"

#include <math.h>
#include <string.h>

#include "host/base/keyed.h"
#include "host/symbols/type_text.h"
#include "study/model/each.h"

struct work {
	struct type_list *table;
	struct type_cascade *types;
	const struct model *model;
	struct map by_name;         /* address of the name → row + 1 */
	VEC(u32) by_place;          /* row + 1 of what depends on stack and size only */
	struct type_answer *points; /* by point: what its chunks are */
	bool told;
	double bins_per_tick;
};

/* ---- rows ---- */

static struct type_sums *row_of(struct type_list *self, struct map *by_name, const char *name)
{
	struct type_sums *row = vec_at_key(&self->rows, by_name, (u64)(uintptr_t)name,
					   (struct type_sums){.name = name,
							      .all_elements = true,
							      .confidence = TYPE_EXACT});

	if (row && !row->bins)
		row->bins = arena_new_array(&self->arena, double, TYPE_BINS + 1);
	return row && row->bins ? row : NULL;
}

static struct type_sums *row_of_place(struct work *self, u64 place)
{
	u32 known = place < self->by_place.count ? self->by_place.data[place] : 0;
	struct type_sums *row;

	if (known)
		return &self->table->rows.data[known - 1];
	row = row_of(self->table, &self->by_name, self->types->places.data[place].answer.name);
	if (!row || !vec_extend(&self->by_place, self->types->places.count))
		return NULL;
	self->by_place.data[place] = (u32)(row - self->table->rows.data) + 1;
	return row;
}

/* ---- chunks ---- */

static u32 bin_of(const struct work *self, u64 ticks)
{
	u64 start = self->model->image.start_ticks;
	double bin = ticks > start ? (double)(ticks - start) * self->bins_per_tick : 0;

	return bin < TYPE_BINS ? (u32)bin : TYPE_BINS - 1;
}

static void add_times(struct work *self, struct type_sums *row, const struct chunk *chunk,
		      u64 units, u64 bytes)
{
	u64 peak = self->model->totals.peak_ticks, born = chunk->page->alloc_ticks[chunk->at],
	    died = chunk->page->free_ticks[chunk->at];

	if (born <= peak && (!died || died > peak)) {
		row->peak_bytes += bytes;
		row->peak_chunks += units;
	}
	row->bins[bin_of(self, born)] += (double)bytes;
	if (chunk_is_kept(chunk)) {
		row->kept_bytes += bytes;
		row->kept_chunks += units;
		return;
	}
	row->bins[bin_of(self, died) + 1] -= (double)bytes;
	if (died >= born && chunk->page->end[chunk->at] == CHUNK_FREED) {
		row->life_ticks += (double)(died - born) * (double)units;
		row->freed += (double)units;
	}
}

static void add_sums(struct work *self, struct type_sums *row, const struct type_answer *answer,
		     const struct chunk *chunk)
{
	struct type_list *table = self->table;
	u64 size = chunk->page->size[chunk->at], units, bytes, elements;

	model_weigh(self->model, size, &units, &bytes);
	row->chunks += units;
	row->bytes += bytes;
	elements = type_elements(self->types, answer, chunk->number);
	row->elements += elements * units;
	row->all_elements &= elements > 0;
	row->origins |= 1u << answer->origin;
	row->sampled |= answer->sampled;
	table->sampled_chunks += answer->sampled ? units : 0;
	if (answer->confidence < row->confidence)
		row->confidence = answer->confidence;
	add_times(self, row, chunk, units, bytes);
	table->origin_bytes[answer->origin] += bytes;
	table->origin_chunks[answer->origin] += units;
	table->guess_bytes += answer->confidence == TYPE_GUESS ? bytes : 0;
	table->guess_chunks += answer->confidence == TYPE_GUESS ? units : 0;
	table->bytes += bytes;
	table->chunks += units;
}

static bool add_chunk(struct work *self, const struct chunk *chunk)
{
	struct point_id point = chunk_point(chunk);
	u64 size = chunk->page->size[chunk->at];
	const struct type_answer *answer;
	struct type_answer own;
	struct type_sums *row;

	if (self->told) {
		own = type_of_chunk(self->types, chunk->number);
		answer = &own;
		row = row_of(self->table, &self->by_name, own.name);
	} else {
		u64 place = type_place_of(self->types, point, size);

		row = place == UINT64_MAX ? NULL : row_of_place(self, place);
		answer = row ? &self->types->places.data[place].answer : NULL;
	}
	if (!row)
		return false;
	type_join(&self->points[point.index], answer);
	add_sums(self, row, answer, chunk);
	return true;
}

static int add_chunks(struct work *self, struct err *err)
{
	EACH_CHUNK (chunk, self->model)
		if (!add_chunk(self, &chunk))
			return err_memory_for(err, "types");
	return 0;
}

/* ---- scores ---- */

/* Scores are those of points; a point whose chunks are of several types has no part in them. */
static int add_scores(struct work *self, const struct thresholds *thresholds, struct err *err)
{
	struct behaviour_table table = {0};
	int status = behaviour_find(self->types->query.source, thresholds, &table, err);

	type_settle(self->points, self->model->points.count);
	for (u64 i = 0; status == 0 && i < table.count; i++) {
		const char *name = self->points[i].name;
		struct type_sums *row = name ? row_of(self->table, &self->by_name, name) : NULL;

		if (!row)
			continue;
		behaviour_add_scores(&row->behaviour, &table.points[i]);
		row->points++;
	}
	behaviour_table_release(&table);
	return status;
}

int type_list_make(struct type_list *self, struct type_cascade *types,
		   const struct thresholds *thresholds, struct err *err)
{
	const struct model *model = types->query.source->model;
	double run = (double)(model->last_ticks - model->image.start_ticks);
	struct work work = {.table = self,
			    .types = types,
			    .model = model,
			    .told = type_is_told(types),
			    .bins_per_tick = run > 0 ? TYPE_BINS / run : 0};
	int status;

	self->model = model;
	work.points = calloc(model->points.count + 1, sizeof *work.points);
	status = work.points ? add_chunks(&work, err) : err_memory_for(err, "types");
	if (status == 0)
		status = add_scores(&work, thresholds, err);
	if (status == 0 && types->failed)
		status = err_memory_for(err, "types");
	free(work.points);
	vec_release(&work.by_place);
	map_release(&work.by_name);
	return status;
}

void type_list_release(struct type_list *self)
{
	vec_release(&self->rows);
	names_release(&self->names);
	arena_release(&self->arena);
	*self = (struct type_list){0};
}

/* ---- templates ---- */

static void merge(struct type_sums *into, const struct type_sums *from)
{
	into->chunks += from->chunks;
	into->bytes += from->bytes;
	into->elements += from->elements;
	into->all_elements &= from->all_elements;
	into->peak_bytes += from->peak_bytes;
	into->peak_chunks += from->peak_chunks;
	into->kept_bytes += from->kept_bytes;
	into->kept_chunks += from->kept_chunks;
	into->life_ticks += from->life_ticks;
	into->freed += from->freed;
	into->origins |= from->origins;
	into->sampled |= from->sampled;
	if (from->confidence < into->confidence)
		into->confidence = from->confidence;
	behaviour_add_scores(&into->behaviour, &from->behaviour);
	into->points += from->points;
	for (u32 i = 0; i <= TYPE_BINS; i++)
		into->bins[i] += from->bins[i];
}

int type_list_fold(struct type_list *self, const struct type_list *from, struct err *err)
{
	struct strbuf text = {0};
	struct map by_name = {0};
	bool good = true;

	*self = *from;
	memset(&self->rows, 0, sizeof self->rows);
	memset(&self->names, 0, sizeof self->names);
	memset(&self->arena, 0, sizeof self->arena);
	for (u64 i = 0; i < from->rows.count && good; i++) {
		const char *name = from->rows.data[i].name;
		struct type_sums *row;

		strbuf_clear(&text);
		if (name)
			type_add_folded(&text, name);
		row = row_of(self, &by_name,
			     name ? names_keep(&self->names, strbuf_text(&text)) : NULL);
		good = row && !text.failed;
		if (good)
			merge(row, &from->rows.data[i]);
	}
	map_release(&by_name);
	strbuf_release(&text);
	return good ? 0 : err_memory_for(err, "types");
}

/* ---- lines ---- */

void type_spark(const struct type_sums *row, u8 *spark, u32 bins)
{
	double live[TYPE_BINS], highest = 0, now = 0;

	for (u32 i = 0; i < TYPE_BINS; i++) {
		now += row->bins[i];
		live[i] = now;
		highest = fmax(highest, now);
	}
	memset(spark, 0, bins);
	for (u32 i = 0; i < TYPE_BINS && highest > 0; i++) {
		u8 height = live[i] > 0 ? (u8)(live[i] / highest * 255 + 0.5) : 0;
		u32 at = i * bins / TYPE_BINS;

		if (height > spark[at])
			spark[at] = height;
	}
}
