/* SPDX-License-Identifier: MIT
 * A trace as the JSON that DHAT's viewer reads, file version 2. Time is in microseconds.
 * Host. */
#include <inttypes.h>
#include <string.h>

#include "host/base/bytemap.h"
#include "show/formats/export.h"
#include "show/formats/places.h"
#include "show/render/fields.h"
#include "study/model/each.h"

enum { FILE_VERSION = 2, SHORT_LIFE_US = 500 };

/* What the viewer calls a program point. The viewer takes no two with the same frames. */
struct dhat_row {
	u64 bytes, blocks, max_bytes, max_blocks, peak_bytes, peak_blocks, end_bytes, end_blocks;
	u64 life_us, read_bytes, written_bytes;
	u32 points; /* of which it is the sum */
	u32 point;
};

struct dhat {
	const struct export_job *job;
	const struct model *model;
	struct places places;
	struct call_tree tree;
	VEC(struct dhat_row) rows; /* by node of the tree; those without points are between */
	VEC(double) lives;         /* by point: lifetimes of all chunks, in units and ticks */
	VEC(u32) frames;           /* by line: number in the table of frames, 0 = not used */
	VEC(u32) used;             /* lines in the order of that table */
};

/* Lives of what is never freed last until the end. */
static int add_lives(struct dhat *self, struct err *err)
{
	const struct model *model = self->model;

	if (!vec_extend(&self->lives, model->points.count))
		return err_memory_for(err, "the export");
	EACH_CHUNK (chunk, model) {
		u64 born = chunk.page->alloc_ticks[chunk.at],
		    end = chunk.page->free_ticks[chunk.at];
		u64 units, bytes;

		end = end ? end : model->last_ticks;
		model_weigh(model, chunk.page->size[chunk.at], &units, &bytes);
		if (end > born)
			self->lives.data[chunk_point(&chunk).index] +=
				(double)(end - born) * (double)units;
	}
	return 0;
}

static u64 life_us(const struct dhat *self, u64 point)
{
	double units = self->lives.data[point];

	return (u64)(tick_clock_span_ns(&self->model->clock, units) / 1000 /
			     (double)(1ull << self->model->count_shift) +
		     0.5);
}

static void add_point(struct dhat_row *row, const struct dhat *self, u64 number,
		      struct export_sum sums[4])
{
	const struct model_point *point = &self->model->points.data[number];

	row->bytes += point->bytes;
	row->blocks += export_count(&sums[0], self->model, point->allocations);
	row->max_bytes += point->peak_bytes;
	row->max_blocks += export_count(&sums[1], self->model, point->peak_chunks);
	row->peak_bytes += point->at_peak_bytes;
	row->peak_blocks += export_count(&sums[2], self->model, point->at_peak_chunks);
	row->end_bytes += point->live_bytes;
	row->end_blocks += export_count(&sums[3], self->model, point->live_chunks);
	row->life_us += life_us(self, number);
	row->read_bytes += point->access.read_bytes;
	row->written_bytes += point->access.written_bytes;
	row->points++;
	row->point = (u32)number;
}

static int add_frames(struct dhat *self, struct err *err)
{
	if (!vec_extend(&self->frames, self->places.lines.count))
		return err_memory_for(err, "the export");
	for (u64 i = 0; i < self->places.path.count; i++) {
		u32 line = self->places.path.data[i];

		if (self->frames.data[line])
			continue;
		if (!vec_push(&self->used, line))
			return err_memory_for(err, "the export");
		self->frames.data[line] = (u32)self->used.count; /* 0 is the root */
	}
	return 0;
}

static int add_points(struct dhat *self, struct err *err)
{
	struct export_sum sums[4] = {{0}};
	int status = add_lives(self, err);

	for (u64 i = 0; i < self->model->points.count && status == 0; i++) {
		u32 node;

		places_walk(&self->places, self->model->points.data[i].frame);
		if (self->places.failed ||
		    !call_tree_add(&self->tree, &self->places, true, &node) ||
		    !vec_extend(&self->rows, (u64)node + 1))
			return err_memory_for(err, "the export");
		add_point(&self->rows.data[node], self, i, sums);
		status = add_frames(self, err);
	}
	return status;
}

/* Which bytes were accessed: 1 or 0, since accesses are not counted by byte. Equal neighbours are
 * told as minus their number, then the value. */
static void put_accesses(struct json *json, const struct point_map *map)
{
	json_open(json, "acc", '[');
	for (u64 at = 0; at < map->size;) {
		bool set = bytemap_next(map->words, at, at + 1, true) == at;
		u64 end = bytemap_next(map->words, at, map->size, !set);

		if (end - at > 1)
			json_signed(json, NULL, -(i64)(end - at));
		json_number(json, NULL, set);
		at = end;
	}
	json_close(json, ']');
}

static void put_row(const struct dhat *self, u32 node, struct json *json)
{
	const struct dhat_row *row = &self->rows.data[node];
	const struct point_map *map =
		row->points == 1 ? model_point_map(self->model, (struct point_id){row->point})
				 : NULL;

	json_open_flat(json, NULL, '{');
	put_fields(json, FIELD("tb", row->bytes), FIELD("tbk", row->blocks),
		   FIELD("tl", row->life_us), FIELD("mb", row->max_bytes),
		   FIELD("mbk", row->max_blocks), FIELD("gb", row->peak_bytes),
		   FIELD("gbk", row->peak_blocks), FIELD("eb", row->end_bytes),
		   FIELD("ebk", row->end_blocks));
	if (self->model->has_access) {
		put_fields(json, FIELD("rb", row->read_bytes), FIELD("wb", row->written_bytes));
		if (map && map->size)
			put_accesses(json, map);
	}
	json_open(json, "fs", '[');
	for (u32 at = node; at; at = self->tree.nodes.data[at].parent)
		json_number(json, NULL, self->frames.data[self->tree.nodes.data[at].key]);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_frame(const struct dhat *self, u32 number, struct json *json)
{
	const struct place_line *line = &self->places.lines.data[number];
	const struct place_function *function = place_function(&self->places, number);
	const struct place *place = &self->places.rows.data[line->place];
	struct strbuf text = {0};

	strbuf_addf(&text, "0x%" PRIX64 ": %s", places_pc(&self->places, place), function->name);
	if (*function->file && line->line)
		strbuf_addf(&text, " (%s:%u)", function->file, line->line);
	else if (place->module != NO_MODULE)
		strbuf_addf(&text, " (in %s)", places_module_path(&self->places, place->module));
	json_text(json, NULL, strbuf_text(&text));
	strbuf_release(&text);
}

static u64 us(const struct model *model, u64 ticks)
{
	return tick_clock_ns(&model->clock, ticks) / 1000;
}

static void put_head(const struct dhat *self, struct json *json)
{
	const struct model *model = self->model;

	put_fields(json, FIELD("dhatFileVersion", FILE_VERSION), FIELD("mode", "heap"),
		   FIELD("verb", "Allocated"), FLAG("bklt", true), FLAG("bkacc", model->has_access),
		   FIELD("tu", "µs"), FIELD("Mtu", "s"), FIELD("tuth", SHORT_LIFE_US),
		   FIELD("cmd", model->image.command), FIELD("pid", model->image.pid),
		   FIELD("tg", us(model, model->totals.peak_ticks)),
		   FIELD("te", model_duration_ns(model) / 1000),
		   /* The viewer passes over keys that it does not know. */
		   FLAG("complete", export_complete(self->job)));
	export_put_caveats(self->job, json, "caveats");
}

static void put_all(const struct dhat *self, FILE *out)
{
	struct json json = {.out = out};

	json_open(&json, NULL, '{');
	put_head(self, &json);
	json_open(&json, "pps", '[');
	for (u32 node = 0; node < self->rows.count; node++)
		if (self->rows.data[node].points)
			put_row(self, node, &json);
	json_close(&json, ']');
	json_open(&json, "ftbl", '[');
	json_text(&json, NULL, "[root]");
	for (u64 i = 0; i < self->used.count; i++)
		put_frame(self, self->used.data[i], &json);
	json_close(&json, ']');
	json_close(&json, '}');
	json_end(&json);
}

int dhat_export(const struct export_job *job, FILE *out, struct err *err)
{
	struct dhat self = {.job = job, .model = job->stacks.model};
	int status;

	places_init(&self.places, &job->stacks);
	status = add_points(&self, err);
	if (status == 0)
		put_all(&self, out);
	places_release(&self.places);
	call_tree_release(&self.tree);
	vec_release(&self.rows);
	vec_release(&self.lives);
	vec_release(&self.frames);
	vec_release(&self.used);
	return status;
}
