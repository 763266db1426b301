/* SPDX-License-Identifier: MIT
 * Chunks and the memory map over HTTP. Runs on threads of the server. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/serve/api.h"
#include "host/trace/kinds.h"
#include "study/layout/chunks.h"
#include "study/layout/keys.h"
#include "study/analysis/resident/bill_result.h"
#include "study/layout/memory_account.h"
#include "study/layout/realloc.h"

/* ---- many ---- */

static bool chunks_read(struct call *call, struct chunks_query *query)
{
	*query = (struct chunks_query){.point = -1,
				       .px = 1600,
				       .to_ns = model_duration_ns(call->trace->model)};
	if (!call_choice(call, "order", chunk_order_parse, &query->order,
			 "time, size, life, addr or last") ||
	    !call_choice(call, "lane", chunk_lane_parse, &query->lane, "row, packed or thread") ||
	    !call_time(call, "x0", &query->from_ns))
		return false;
	if (call_text(call, "x1") && (!parameter_time(call_text(call, "x1"), &query->to_ns) ||
				      query->to_ns < query->from_ns))
		return call_bad(call, "x1", "a time in ns, not before x0");
	if (!call_number(call, "y0", 0, UINT32_MAX, &query->first_row) ||
	    !call_number(call, "rows", 1, UINT32_MAX, &query->rows) ||
	    !call_u32(call, "px", 16, 16384, &query->px))
		return false;
	if (call_text(call, "point")) {
		u64 count = call->trace->model->points.count, point;

		if (!call_number(call, "point", 0, count ? count - 1 : 0, &point))
			return false;
		query->point = (i64)point;
	}
	return true;
}

/* fill_bar has the values in the same order. */
static const struct reply_column bar_columns[] = {
	{"id", COLUMN_F64, NULL},   {"row", COLUMN_U32, NULL},   {"t0", COLUMN_F64, NULL},
	{"t1", COLUMN_F64, NULL},   {"first", COLUMN_F64, NULL}, {"last", COLUMN_F64, NULL},
	{"size", COLUMN_F64, NULL}, {"flags", COLUMN_U8, NULL},  {"sev", COLUMN_U8, NULL},
	{"color", COLUMN_U8, NULL}};

static const struct reply_column cell_columns[] = {{"n", COLUMN_U32, NULL},
						   {"bytes", COLUMN_F32, NULL}};

struct chunks_answer {
	struct chunks_view view;
	const struct view_keys *colors;
	const u8 *by_chunk; /* colours */
};

static void put_color(struct json *json, const void *list, u64 i)
{
	json_text(json, NULL, ((const struct view_keys *)list)->keys.data[i + 1].label);
}

static void fill_bar(struct reply_columns *table, u64 row, double *values)
{
	const struct chunks_answer *self = table->from;
	const struct chunk_bar *bar = &self->view.bars.data[row];
	const double bar_values[] = {
		(double)bar->number,  bar->row,
		(double)bar->from_ns, (double)bar->to_ns,
		bar->first_ns,        bar->last_ns,
		(double)bar->size,    bar->flags,
		bar->severity,        self->by_chunk ? self->by_chunk[bar->number] : 0};

	memcpy(values, bar_values, sizeof bar_values);
}

static void fill_cell(struct reply_columns *table, u64 row, double *values)
{
	const struct chunks_answer *self = table->from;

	values[0] = self->view.counts[row];
	values[1] = self->view.bytes[row];
}

static void reply_chunks(struct call *call, const struct chunks_answer *self)
{
	const struct chunks_view *view = &self->view;
	bool cells = view->is_density;
	struct reply_columns bars_table = {COLUMNS(bar_columns), .rows = view->bars.count,
					   .fill = fill_bar, .from = self};
	struct reply_columns cells_table = {COLUMNS(cell_columns),
					    .rows = (u64)view->width * view->height,
					    .fill = fill_cell, .from = self, .truncated = true};
	u64 colors = self->colors->keys.count;

	reply_columns_send(call, cells ? &cells_table : &bars_table,
			   MEMBERS(FIELD("mode", cells ? "density" : "rows"),
				   FIELD("chunks", view->chunks), FIELD("rows_all", view->rows),
				   field_when(!cells, LIST("palette", colors ? colors - 1 : 0,
							   put_color, self->colors)),
				   field_when(cells, FIELD("w", view->width)),
				   field_when(cells, FIELD("h", view->height))));
}

void api_chunks(struct call *call)
{
	struct chunks_answer self = {0};
	struct chunks_query query;
	struct err err = {0};

	if (!chunks_read(call, &query) || !call_colors(call))
		return;
	self.colors = &call->scope.colors->keys;
	self.by_chunk = call->scope.colors->query.by_chunk;
	if (chunks_view_make(&self.view, &call->scope, &query, &err) < 0)
		call_fail(call, &err);
	else
		reply_chunks(call, &self);
	chunks_view_release(&self.view);
}

/* ---- one ---- */

static const char *end_name(const struct model *model, u8 end)
{
	static const char *const names[] = {"absent", "live", "freed", "implied", "kept", "exec"};

	if (model_is_collected(model) && (end == CHUNK_FREED || end == CHUNK_EXEC))
		return end == CHUNK_FREED ? "collected" : "live";
	return end < sizeof names / sizeof *names ? names[end] : "unknown";
}

static struct named_value moment_field(const char *name, const struct model *model, u64 ticks)
{
	return field_if(ticks, FIELD(name, (double)tick_clock_ns(&model->clock, ticks)));
}

static struct named_value access_field(struct call *call, u64 number)
{
	const struct model *model = call->trace->model;
	struct chunk_access access = {0};
	bool known = model_chunk_access(model, number, &access);

	return field_if(known, KEPT("access", call,
				    field_if(access_is_sided(&access, access.reads),
					     FIELD("reads", (double)access.reads)),
				    field_if(access_is_sided(&access, access.writes),
					     FIELD("writes", (double)access.writes)),
				    FIELD("read_bytes", access.read_bytes),
				    FIELD("written_bytes", access.written_bytes),
				    moment_field("first", model, access.first_ticks),
				    moment_field("last", model, access.last_ticks),
				    FIELD("low", access.low), FIELD("high", access.high),
				    field_if(access.covered != UINT64_MAX,
					     FIELD("covered", (double)access.covered)),
				    FLAG("estimated", access.flags & ACCESS_ESTIMATED),
				    FIELD("reads_low", access_least(&access, access.reads)),
				    FIELD("writes_low", access_least(&access, access.writes)),
				    field_if(access_knows_threads(&access),
					     FLAG("shared", access.flags & ACCESS_SHARED))));
}

static struct named_value thread_field(const char *name, struct call *call, u32 thread)
{
	const struct model *model = call->trace->model;
	const struct model_thread *known =
		thread < model->threads.count ? &model->threads.data[thread] : NULL;

	return KEPT(name, call, FIELD("thread", thread),
		    field_when(known, FIELD("tid", known ? known->tid : 0)),
		    field_when(known, FIELD("name", known ? known->name : "")));
}

static struct named_value neighbour(const char *name, u64 number)
{
	return field_if(number != UINT64_MAX, FIELD(name, number));
}

static struct named_value free_stack(struct call *call, const struct view_chunk *chunk)
{
	struct frame_id frame = {0};
	struct err err;
	bool known = view_is_freed(chunk) &&
		     model_place(call->trace->model, chunk->page->free_context[chunk->at], &frame,
				 &err) == 0;

	return known ? field_stack("free_stack", call, frame) : FIELD("free_stack", (char *)NULL);
}

struct chain {
	struct realloc_chain rows;
	const struct chunk_table *chunks;
};

static void put_chained(struct json *json, const void *list, u64 i)
{
	const struct chain *self = list;
	u64 chunk = self->rows.chunks[i];

	put_object(json, NULL, FIELD("id", chunk),
		   FIELD("size", chunk_at(self->chunks, chunk)->size[chunk % CHUNK_PAGE]));
}

static void reply_chunk(struct call *call, const struct view_chunk *chunk,
			const struct chunk_neighbours *near)
{
	const struct model *model = call->trace->model;
	const struct chunk_page *page = chunk->page;
	struct chain chain = {.chunks = &model->chunks};
	struct type_answer type;
	u64 number = chunk->number, at = chunk->at;
	u64 born = tick_clock_ns(&model->clock, page->alloc_ticks[at]);
	u64 died = tick_clock_ns(&model->clock, page->free_ticks[at]);
	u32 point = view_point_of(&call->scope, chunk).index, own;
	bool freed = view_is_freed(chunk);

	type = type_of_chunk(&call->trace->types, number);
	view_realloc_chain(call->trace, number, &chain.rows);
	own = chain.rows.own;
	reply_object(call, false, FIELD("id", number), FIELD("point", point),
		     FIELD("addr", hex_text(page->address[at]).text), FIELD("size", page->size[at]),
		     FIELD("call", kind_call(page->kind[at])), FIELD("type", type.name),
		     FIELD("alloc", born), field_if(freed, FIELD("free", (double)died)),
		     field_if(freed, FIELD("life", (double)(died > born ? died - born : 0))),
		     FIELD("end", end_name(model, page->end[at])),
		     FIELD("leak_kind", class_name(model_chunk_class(model, number))),
		     field_if(freed, FIELD("others", page->others[at])), access_field(call, number),
		     thread_field("alloc_thread", call, page->alloc_thread[at]),
		     field_stack("alloc_stack", call, model->points.data[point].frame),
		     field_if(freed, thread_field("free_thread", call, page->free_thread[at])),
		     free_stack(call, chunk),
		     OBJECT("realloc",
			    neighbour("previous", own ? chain.rows.chunks[own - 1] : UINT64_MAX),
			    neighbour("next", own + 1 < chain.rows.count
						      ? chain.rows.chunks[own + 1]
						      : UINT64_MAX),
			    LIST("chain", chain.rows.count, put_chained, &chain),
			    FLAG("cut", chain.rows.cut)),
		     OBJECT("neighbours", neighbour("below", near->below),
			    neighbour("above", near->above),
			    neighbour("before", number ? number - 1 : UINT64_MAX),
			    neighbour("after",
				      number + 1 < model->chunks.count ? number + 1 : UINT64_MAX)));
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
	    chunk_neighbours_find(&near, &call->scope, number, &err) < 0)
		call_fail(call, &err);
	else
		reply_chunk(call, &chunk, &near);
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

struct regions {
	const struct model *model;
	u64 at_ticks;
	struct memory_regions found;
};

static void put_region(struct json *json, const void *list, u64 i)
{
	const struct regions *self = list;
	const struct memory_region *region = &self->found.rows.data[i];
	double holes = (double)region->free_bytes;

	put_object(json, NULL, FIELD("start", hex_text(region->start).text),
		   FIELD("end", hex_text(region->end).text),
		   FIELD("kind", mapping_kind(self->model, self->at_ticks, region->start)),
		   FIELD("live", region->live_bytes), FIELD("chunks", region->chunks),
		   FIELD("free", region->free_bytes), FIELD("largest_free", region->largest_free),
		   FIELD("frag", holes > 0 ? 1 - (double)region->largest_free / holes : 0));
}

static void put_holes(struct json *json, const void *list, u64 i)
{
	const struct memory_holes *holes = (const struct memory_holes *)list + i;

	if (holes->count)
		put_object(json, NULL, FIELD("from", 1ull << i), FIELD("n", holes->count),
			   FIELD("bytes", holes->bytes));
}

enum { REGIONS_MAX = 500 };

void api_memory_regions(struct call *call)
{
	const struct model *model = call->trace->model;
	struct regions self = {.model = model,
			       .at_ticks = tick_clock_ticks(&model->clock, call->at_ns)};
	struct memory_moment moment = {0};
	struct err err = {0};
	u64 count;

	if (memory_moment_make(&moment, &call->scope, call->at_ns, &err) < 0 ||
	    memory_regions_make(&self.found, &moment, &err) < 0) {
		call_fail(call, &err);
	} else {
		count = self.found.rows.count;
		reply_object(call, count > REGIONS_MAX, FIELD("at", moment.at_ns),
			     FIELD("regions", count),
			     LIST("rows", result_top(count, REGIONS_MAX), put_region, &self),
			     LIST("holes", REGION_GAP_BITS + 1, put_holes, self.found.holes));
	}
	vec_release(&self.found.rows);
	memory_moment_release(&moment);
}

bool call_address(struct call *call, const char *name, u64 *address)
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
	*query = (struct memory_query){.bytes_per_pixel = 16, .width = 512, .height = 256};
	if (!call_choice(call, "color", memory_color_parse, &query->color,
			 "alternate, type, module, thread, age, sev, fn, query or account") ||
	    (query->color == COLOR_QUERY && !call_colors(call)) ||
	    !call_bool(call, "fit", &query->fit) ||
	    !call_number(call, "bpp", 1, 1 << 20, &query->bytes_per_pixel) ||
	    !call_u32(call, "w", 1, 4096, &query->width) ||
	    !call_u32(call, "h", 1, 4096, &query->height))
		return false;
	return (u64)query->width * query->height <= MEMORY_PIXELS_MAX ||
	       call_bad(call, "h", "at most 1,000,000 pixels together with w");
}

static void put_run_start(struct json *json, const void *runs, u64 i)
{
	json_number(json, NULL, ((const struct memory_run *)runs)[i].start);
}

static void put_run_length(struct json *json, const void *runs, u64 i)
{
	json_number(json, NULL, ((const struct memory_run *)runs)[i].count);
}

static void put_run_chunk(struct json *json, const void *runs, u64 i)
{
	json_number(json, NULL, ((const struct memory_run *)runs)[i].chunk);
}

static void put_page_start(struct json *json, const void *pages, u64 i)
{
	json_number(json, NULL, ((const struct memory_page *)pages)[i].start);
}

static void put_page_length(struct json *json, const void *pages, u64 i)
{
	json_number(json, NULL, ((const struct memory_page *)pages)[i].count);
}

static void put_page_number(struct json *json, const void *pages, u64 i)
{
	json_number(json, NULL, ((const struct memory_page *)pages)[i].address / RESIDENT_PAGE);
}

static void put_page_live(struct json *json, const void *pages, u64 i)
{
	json_number(json, NULL, ((const struct memory_page *)pages)[i].live_bytes);
}

static void put_page_chunk(struct json *json, const void *pages, u64 i)
{
	const struct memory_page *page = (const struct memory_page *)pages + i;

	if (page->pinned)
		json_number(json, NULL, page->chunk);
	else
		json_null(json, NULL);
}

static void put_legend(struct json *json, const void *list, u64 i)
{
	const struct memory_view *view = list;

	json_text(json, NULL, i ? view->legend.data[i - 1] : "(free)");
}

static void reply_memory(struct call *call, const struct memory_query *query,
			 const struct memory_view *view)
{
	const struct memory_run *runs = view->runs.data;
	const struct memory_page *list = view->pages.data;
	u64 count = view->runs.count, pages = view->pages.count;

	reply_object(call, view->truncated, FIELD("at", call->at_ns),
		     FIELD("base", hex_text(query->base).text),
		     FIELD("bpp", query->bytes_per_pixel), FIELD("w", query->width),
		     FIELD("h", query->height),
		     LIST("legend", view->legend.count + 1, put_legend, view),
		     field_base64("pixels", call, view->pixels, (u64)query->width * query->height),
		     OBJECT("runs", LIST("start", count, put_run_start, runs),
			    LIST("len", count, put_run_length, runs),
			    LIST("chunk", count, put_run_chunk, runs)),
		     field_when(query->color == COLOR_ACCOUNT,
				OBJECT("pages", LIST("start", pages, put_page_start, list),
				       LIST("len", pages, put_page_length, list),
				       LIST("page", pages, put_page_number, list),
				       LIST("live", pages, put_page_live, list),
				       LIST("pinned_by", pages, put_page_chunk, list))));
}

/* By account it is of a look, and of all chunks. */
static int make_memory(struct call *call, struct memory_query *query,
		       const struct memory_moment *moment, struct memory_view *view,
		       struct err *err)
{
	const struct model *model = call->trace->model;
	const struct model_memory *look;

	if (query->color != COLOR_ACCOUNT)
		return memory_view_make(view, &call->scope, moment, query, err);
	look = call_look(call);
	if (!look)
		return bill_missing(call->trace->path, err);
	call->at_ns = tick_clock_ns(&model->clock, look->ticks);
	if (query->fit && memory_account_fit(query, model, look, err) < 0)
		return ERR_MEMORY;
	return memory_account_make(view, model, look, query, err);
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
	if (status == 0 && !call_address(call, "base", &query.base)) {
		memory_moment_release(&moment);
		return;
	}
	if (status < 0 || make_memory(call, &query, &moment, &view, &err) < 0)
		call_fail(call, &err);
	else
		reply_memory(call, &query, &view);
	memory_view_release(&view);
	memory_moment_release(&moment);
}

void api_memory_at(struct call *call)
{
	struct memory_moment moment = {0};
	static const struct memory_chunk none;
	const struct memory_chunk *found;
	struct err err = {0};
	u64 address = 0;
	bool any;

	if (!call_text(call, "addr")) {
		call_bad(call, "addr", "an address such as 0x7f0012345678");
		return;
	}
	if (!call_address(call, "addr", &address))
		return;
	if (memory_moment_make(&moment, &call->scope, call->at_ns, &err) < 0) {
		call_fail(call, &err);
	} else {
		found = memory_find(&moment, address);
		any = found;
		found = any ? found : &none;
		reply_object(call, false, FIELD("addr", hex_text(address).text),
			     FIELD("at", moment.at_ns),
			     field_if(any, FIELD("chunk", found->number)),
			     field_when(any, FIELD("start", hex_text(found->address).text)),
			     field_when(any, FIELD("size", found->size)));
	}
	memory_moment_release(&moment);
}
