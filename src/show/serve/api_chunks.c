/* SPDX-License-Identifier: MIT
 * Chunks and the memory map over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/serve/reply.h"
#include "study/layout/chunks.h"
#include "study/layout/keys.h"
#include "study/layout/memory.h"
#include "study/layout/realloc.h"

/* ---- many ---- */

static bool chunks_read(struct call *call, struct chunks_query *query)
{
	const char *order = call_text(call, "order"), *lane = call_text(call, "lane");
	const char *from = call_text(call, "x0"), *to = call_text(call, "x1");
	u64 point = UINT64_MAX, px = 1600;

	*query = (struct chunks_query){.point = -1, .to_ns = model_duration_ns(call->trace->model)};
	if (order && !chunk_order_parse(order, &query->order))
		return call_bad(call, "order", "time, size, life, addr or last");
	if (lane && !chunk_lane_parse(lane, &query->lane))
		return call_bad(call, "lane", "row, packed or thread");
	if (from && !parameter_time(from, &query->from_ns))
		return call_bad(call, "x0", "a time in ns");
	if (to && (!parameter_time(to, &query->to_ns) || query->to_ns < query->from_ns))
		return call_bad(call, "x1", "a time in ns, not before x0");
	if (!call_number(call, "y0", 0, UINT32_MAX, &query->first_row) ||
	    !call_number(call, "rows", 1, UINT32_MAX, &query->rows) ||
	    !call_number(call, "px", 16, 16384, &px))
		return false;
	if (call_text(call, "point")) {
		u64 count = call->trace->model->points.count;

		if (!call_number(call, "point", 0, count ? count - 1 : 0, &point))
			return false;
		query->point = (i64)point;
	}
	query->px = (u32)px;
	return true;
}

/* fill_bars has the values in the same order. */
static const struct reply_column bar_columns[] = {
	{"id", COLUMN_F64, NULL},   {"row", COLUMN_U32, NULL},   {"t0", COLUMN_F64, NULL},
	{"t1", COLUMN_F64, NULL},   {"first", COLUMN_F64, NULL}, {"last", COLUMN_F64, NULL},
	{"size", COLUMN_F64, NULL}, {"flags", COLUMN_U8, NULL},  {"sev", COLUMN_U8, NULL},
	{"color", COLUMN_U8, NULL}};
enum { BAR_COLUMNS = sizeof bar_columns / sizeof *bar_columns };

static const struct reply_column cell_columns[] = {{"n", COLUMN_U32, NULL},
						   {"bytes", COLUMN_F32, NULL}};

static void put_palette(struct json *json, const struct view_keys *colors)
{
	json_open_flat(json, "palette", '[');
	for (u64 i = 1; i < colors->keys.count; i++)
		json_text(json, NULL, colors->keys.data[i].label);
	json_close(json, ']');
}

static void put_head(struct call *call, const void *data)
{
	const struct chunks_view *view = data;

	put_fields(&call->json, FIELD("mode", view->is_density ? "density" : "rows"),
		   FIELD("chunks", view->chunks), FIELD("rows_all", view->rows));
	if (!view->is_density) {
		put_palette(&call->json, &call->scope.colors->keys);
		return;
	}
	put_fields(&call->json, FIELD("w", view->width), FIELD("h", view->height));
}

static bool fill_bars(struct reply_columns *table, const struct chunks_view *view,
		      const u8 *by_chunk)
{
	if (!reply_columns_init(table, bar_columns, BAR_COLUMNS, view->bars.count))
		return false;
	for (u64 i = 0; i < view->bars.count; i++) {
		const struct chunk_bar *bar = &view->bars.data[i];
		const double values[BAR_COLUMNS] = {
			(double)bar->number,  bar->row,
			(double)bar->from_ns, (double)bar->to_ns,
			bar->first_ns,        bar->last_ns,
			(double)bar->size,    bar->flags,
			bar->severity,        by_chunk ? by_chunk[bar->number] : 0};

		reply_set_row(table, i, values);
	}
	return true;
}

static bool fill_cells(struct reply_columns *table, const struct chunks_view *view)
{
	u64 cells = (u64)view->width * view->height;

	if (!reply_columns_init(table, cell_columns, 2, cells))
		return false;
	memcpy(table->columns[0].values, view->counts, cells * sizeof(double));
	memcpy(table->columns[1].values, view->bytes, cells * sizeof(double));
	return true;
}

void api_chunks(struct call *call)
{
	struct chunks_view view = {0};
	struct reply_columns table = {0};
	struct chunks_query query;
	struct err err = {0};

	if (!chunks_read(call, &query) || !call_colors(call))
		return;
	if (chunks_view_make(&view, &call->scope, &query, &err) < 0)
		call_fail(call, &err);
	else if (view.is_density ? fill_cells(&table, &view)
				 : fill_bars(&table, &view, call->scope.colors->query.by_chunk))
		reply_columns_send(call, &table, view.is_density, put_head, &view);
	else
		answer_refuse(call->answer, 500, "out of memory");
	reply_columns_release(&table);
	chunks_view_release(&view);
}

/* ---- one ---- */

static const char *end_name(const struct model *model, u8 end)
{
	static const char *const names[] = {"absent", "live", "freed", "implied", "kept", "exec"};

	if (model_is_collected(model) && (end == CHUNK_FREED || end == CHUNK_EXEC))
		return end == CHUNK_FREED ? "collected" : "live";
	return end < sizeof names / sizeof *names ? names[end] : "unknown";
}

static const char *kind_name(u8 kind)
{
	static const char *const names[HW_KIND_COUNT] = {
#define KIND_CALL(name, number, group, call) [number] = call,
		HW_KINDS(KIND_CALL)
#undef KIND_CALL
	};

	return kind < HW_KIND_COUNT && names[kind] && *names[kind] ? names[kind] : NULL;
}

static struct named_value moment_field(const char *name, const struct model *model, u64 ticks)
{
	return field_if(ticks, FIELD(name, (double)tick_clock_ns(&model->clock, ticks)));
}

static void put_access(struct call *call, u64 number)
{
	const struct model *model = call->trace->model;
	struct json *json = &call->json;
	struct chunk_access access;

	if (!model_chunk_access(model, number, &access)) {
		json_null(json, "access");
		return;
	}
	put_object(json, "access", FIELD("reads", access.reads), FIELD("writes", access.writes),
		   FIELD("read_bytes", access.read_bytes),
		   FIELD("written_bytes", access.written_bytes),
		   moment_field("first", model, access.first_ticks),
		   moment_field("last", model, access.last_ticks), FIELD("low", access.low),
		   FIELD("high", access.high),
		   field_if(access.covered != UINT64_MAX, FIELD("covered", (double)access.covered)),
		   FLAG("shared", access.flags & ACCESS_SHARED));
}

static void put_thread(struct call *call, const char *key, u32 thread)
{
	const struct model *model = call->trace->model;

	json_open_flat(&call->json, key, '{');
	json_number(&call->json, "thread", thread);
	if (thread < model->threads.count) {
		put_fields(&call->json, FIELD("tid", model->threads.data[thread].tid),
			   FIELD("name", model->threads.data[thread].name));
	}
	json_close(&call->json, '}');
}

static struct named_value neighbour(const char *name, u64 number)
{
	return field_if(number != UINT64_MAX, FIELD(name, number));
}

static void put_ends(struct call *call, const struct view_chunk *chunk)
{
	const struct model *model = call->trace->model;
	struct json *json = &call->json;
	struct frame_id frame = {0};
	struct err err;

	put_thread(call, "alloc_thread", chunk->page->alloc_thread[chunk->at]);
	put_stack(call, "alloc_stack",
		  model->points.data[view_point_of(&call->scope, chunk).index].frame);
	if (!view_is_freed(chunk)) {
		json_null(json, "free_thread");
		json_null(json, "free_stack");
		return;
	}
	put_thread(call, "free_thread", chunk->page->free_thread[chunk->at]);
	if (model_place(model, chunk->page->free_context[chunk->at], &frame, &err) == 0)
		put_stack(call, "free_stack", frame);
	else
		json_null(json, "free_stack");
}

static void put_realloc(struct call *call, u64 chunk)
{
	struct json *json = &call->json;
	struct realloc_chain chain;
	u32 own;

	view_realloc_chain(call->trace, chunk, &chain);
	own = chain.own;
	json_open_flat(json, "realloc", '{');
	put_fields(json, neighbour("previous", own ? chain.chunks[own - 1] : UINT64_MAX),
		   neighbour("next", own + 1 < chain.count ? chain.chunks[own + 1] : UINT64_MAX));
	json_open_flat(json, "chain", '[');
	for (u32 i = 0; i < chain.count; i++) {
		const struct chunk_page *page =
			chunk_at(&call->trace->model->chunks, chain.chunks[i]);

		put_object(json, NULL, FIELD("id", chain.chunks[i]),
			   FIELD("size", page->size[chain.chunks[i] % CHUNK_PAGE]));
	}
	json_close(json, ']');
	json_bool(json, "cut", chain.cut);
	json_close(json, '}');
}

static void put_chunk(struct call *call, const struct view_chunk *chunk,
		      const struct chunk_neighbours *near)
{
	const struct model *model = call->trace->model;
	struct json *json = &call->json;
	struct type_answer type;
	u64 born = tick_clock_ns(&model->clock, chunk->page->alloc_ticks[chunk->at]);
	u64 died = tick_clock_ns(&model->clock, chunk->page->free_ticks[chunk->at]);
	bool freed = view_is_freed(chunk);

	pthread_mutex_lock(&call->trace->types_lock);
	type = type_of_chunk(&call->trace->types, chunk->number);
	pthread_mutex_unlock(&call->trace->types_lock);
	json_open_flat(json, "data", '{');
	put_fields(json, FIELD("id", chunk->number),
		   FIELD("point", view_point_of(&call->scope, chunk).index),
		   FIELD("addr", hex_text(chunk->page->address[chunk->at]).text),
		   FIELD("size", chunk->page->size[chunk->at]),
		   FIELD("call", kind_name(chunk->page->kind[chunk->at])), FIELD("type", type.name),
		   FIELD("alloc", born), field_if(freed, FIELD("free", (double)died)),
		   field_if(freed, FIELD("life", (double)(died > born ? died - born : 0))),
		   FIELD("end", end_name(model, chunk->page->end[chunk->at])),
		   FIELD("leak_kind", leaks_class_name(model_chunk_class(model, chunk->number))),
		   field_if(freed, FIELD("others", chunk->page->others[chunk->at])));
	put_access(call, chunk->number);
	put_ends(call, chunk);
	put_realloc(call, chunk->number);
	put_object(json, "neighbours", neighbour("below", near->below),
		   neighbour("above", near->above),
		   neighbour("before", chunk->number ? chunk->number - 1 : UINT64_MAX),
		   neighbour("after", chunk->number + 1 < model->chunks.count ? chunk->number + 1
									      : UINT64_MAX));
	json_close(json, '}');
}

void api_chunk(struct call *call)
{
	const struct chunk_table *table = &call->trace->model->chunks;
	struct chunk_neighbours near;
	struct view_chunk chunk;
	struct err err = {0};
	u64 number;

	if (!call_index(call, 0, "chunk", table->count, &number))
		return;
	if (chunk_end(table, number) == CHUNK_ABSENT) {
		answer_refuse(call->answer, 404, "chunk %llu is in a damaged part of the trace",
			      (unsigned long long)number);
		return;
	}
	chunk = (struct view_chunk){number, chunk_at(table, number), (u32)(number % CHUNK_PAGE)};
	if (study_types(call->trace, &err) < 0 ||
	    chunk_neighbours_find(&near, &call->scope, number, &err) < 0) {
		call_fail(call, &err);
	} else if (reply_begin(call, false)) {
		put_chunk(call, &chunk, &near);
		reply_end(call);
	}
}

/* ---- memory map ---- */

/* What the kernel called the mapping that an address is in, when somebody looked last. The stack of
 * a thread and an arena look alike; chunks lie in the latter. */
static const char *mapping_kind(const struct model *model, u64 at_ticks, u64 address)
{
	static const char *const names[MEMORY_KINDS] = {
		[MEMORY_ANONYMOUS] = "mmap", [MEMORY_BREAK] = "brk", [MEMORY_GUARDED] = "arena"};
	const struct model_memory *memory = NULL;

	for (u64 i = 0; i < model->memory.count; i++)
		if (!memory || model->memory.data[i].ticks <= at_ticks)
			memory = &model->memory.data[i];
	for (u64 i = 0; memory && i < memory->count; i++) {
		const struct stream_resident *row = &model->residents.data[memory->first + i];

		if (address >= row->start && address - row->start < row->bytes)
			return row->kind < MEMORY_KINDS ? names[row->kind] : NULL;
	}
	return NULL;
}

static void put_region(struct json *json, const struct memory_region *region, const char *kind)
{
	put_object(json, NULL, FIELD("start", hex_text(region->start).text),
		   FIELD("end", hex_text(region->end).text), FIELD("kind", kind),
		   FIELD("live", region->live_bytes), FIELD("chunks", region->chunks),
		   FIELD("free", region->free_bytes), FIELD("largest_free", region->largest_free),
		   FIELD("frag", region->free_bytes ? 1 - (double)region->largest_free /
								      (double)region->free_bytes
						    : 0));
}

enum { REGIONS_MAX = 500 };

void api_memory_regions(struct call *call)
{
	struct memory_moment moment = {0};
	struct memory_regions regions = {0};
	const struct model *model = call->trace->model;
	u64 at_ticks = tick_clock_ticks(&model->clock, call->at_ns);
	struct err err = {0};

	if (memory_moment_make(&moment, &call->scope, call->at_ns, &err) < 0 ||
	    memory_regions_make(&regions, &moment, &err) < 0) {
		call_fail(call, &err);
	} else if (reply_begin(call, regions.rows.count > REGIONS_MAX)) {
		json_open_flat(&call->json, "data", '{');
		put_fields(&call->json, FIELD("at", moment.at_ns),
			   FIELD("regions", regions.rows.count));
		json_open_flat(&call->json, "rows", '[');
		for (u64 i = 0; i < regions.rows.count && i < REGIONS_MAX; i++)
			put_region(&call->json, &regions.rows.data[i],
				   mapping_kind(model, at_ticks, regions.rows.data[i].start));
		json_close(&call->json, ']');
		json_close(&call->json, '}');
		reply_end(call);
	}
	vec_release(&regions.rows);
	memory_moment_release(&moment);
}

static bool address_read(struct call *call, const char *name, u64 *address)
{
	const char *text = call_text(call, name);
	char *end;

	if (!text)
		return true;
	*address = strtoull(text, &end, 0);
	return (*text >= '0' && *text <= '9' && !*end) ||
	       call_bad(call, name, "an address such as 0x7f0012345678");
}

static bool memory_read(struct call *call, struct memory_query *query)
{
	const char *color = call_text(call, "color");
	u64 width = 512, height = 256;

	*query = (struct memory_query){.bytes_per_pixel = 16};
	if (color && !memory_color_parse(color, &query->color))
		return call_bad(call, "color",
				"alternate, type, module, thread, age, sev or query");
	if (query->color == COLOR_QUERY && !call_colors(call))
		return false;
	if (!call_number(call, "bpp", 1, 1 << 20, &query->bytes_per_pixel) ||
	    !call_number(call, "w", 1, 4096, &width) || !call_number(call, "h", 1, 4096, &height))
		return false;
	if (width * height > MEMORY_PIXELS_MAX)
		return call_bad(call, "h", "at most 1,000,000 pixels together with w");
	query->width = (u32)width;
	query->height = (u32)height;
	return true;
}

static void put_runs(struct json *json, const struct memory_view *view)
{
	static const char *const names[] = {"start", "len", "chunk"};

	json_open_flat(json, "runs", '{');
	for (u32 k = 0; k < 3; k++) {
		json_open_flat(json, names[k], '[');
		for (u64 i = 0; i < view->runs.count; i++) {
			const struct memory_run *run = &view->runs.data[i];

			json_number(json, NULL,
				    k == 0   ? run->start
				    : k == 1 ? run->count
					     : run->chunk);
		}
		json_close(json, ']');
	}
	json_close(json, '}');
}

static void put_memory(struct call *call, const struct memory_query *query,
		       const struct memory_view *view)
{
	struct json *json = &call->json;

	json_open_flat(json, "data", '{');
	put_fields(json, FIELD("at", call->at_ns), FIELD("base", hex_text(query->base).text),
		   FIELD("bpp", query->bytes_per_pixel), FIELD("w", query->width),
		   FIELD("h", query->height));
	json_open_flat(json, "legend", '[');
	json_text(json, NULL, "(free)");
	for (u64 i = 0; i < view->legend.count; i++)
		json_text(json, NULL, view->legend.data[i]);
	json_close(json, ']');
	put_base64(json, "pixels", view->pixels, (u64)query->width * query->height);
	put_runs(json, view);
	json_close(json, '}');
}

void api_memory(struct call *call)
{
	struct memory_moment moment = {0};
	struct memory_view view = {0};
	struct memory_query query;
	struct err err = {0};
	int status;

	if (!memory_read(call, &query))
		return;
	status = memory_moment_make(&moment, &call->scope, call->at_ns, &err);
	if (status == 0 && moment.chunks.count)
		query.base = moment.chunks.data[0].address;
	if (status == 0 && !address_read(call, "base", &query.base)) {
		memory_moment_release(&moment);
		return;
	}
	if (status < 0 || memory_view_make(&view, &call->scope, &moment, &query, &err) < 0) {
		call_fail(call, &err);
	} else if (reply_begin(call, view.truncated)) {
		put_memory(call, &query, &view);
		reply_end(call);
	}
	memory_view_release(&view);
	memory_moment_release(&moment);
}

void api_memory_at(struct call *call)
{
	struct memory_moment moment = {0};
	const struct memory_chunk *found;
	struct err err = {0};
	u64 address = 0;

	if (!call_text(call, "addr")) {
		call_bad(call, "addr", "an address such as 0x7f0012345678");
		return;
	}
	if (!address_read(call, "addr", &address))
		return;
	if (memory_moment_make(&moment, &call->scope, call->at_ns, &err) < 0) {
		call_fail(call, &err);
	} else if (reply_begin(call, false)) {
		found = memory_find(&moment, address);
		json_open_flat(&call->json, "data", '{');
		put_fields(&call->json, FIELD("addr", hex_text(address).text),
			   FIELD("at", moment.at_ns),
			   field_if(found, FIELD("chunk", found ? found->number : 0)));
		if (found)
			put_fields(&call->json, FIELD("start", hex_text(found->address).text),
				   FIELD("size", found->size));
		json_close(&call->json, '}');
		reply_end(call);
	}
	memory_moment_release(&moment);
}
