/* SPDX-License-Identifier: MIT
 * Resident memory over HTTP: the bill, the parts at every look, a page. Runs on threads of the
 * server; analyses take turns. */
#include "study/analysis/resident/bill_result.h"
#include "study/analysis/resident/by_size.h"
#include "study/analysis/resident/looks.h"
#include "study/layout/memory_account.h"
#include "show/serve/api.h"

enum { ROWS_MAX = 500 };

/* Nearest to the time asked for; without one the look with most resident memory. */
const struct model_memory *call_look(const struct call *call)
{
	const struct model *model = call->trace->model;

	return call_text(call, "at")
		       ? resident_nearest(model, tick_clock_ticks(&model->clock, call->at_ns))
		       : resident_most(model, 0, UINT64_MAX);
}

void api_resident(struct call *call)
{
	const struct model *model = call->trace->model;
	const struct model_memory *memory;
	struct result *result = NULL;
	struct bill bill = {0};
	struct err err = {0};
	u64 top = 20;

	if (!call_number(call, "top", 0, ROWS_MAX, &top) || !call_time(call, "at", &call->at_ns))
		return;
	memory = call_look(call);
	if (!memory) {
		bill_missing(call->trace->path, &err);
	} else {
		pthread_mutex_lock(&call->trace->analysis_lock);
		if (bill_make(&bill, model, memory, &err) == 0)
			result = bill_result(&bill, &call->trace->stacks, top, &err);
		if (result)
			result_add_part(result, resident_by_size_result(model, memory, &err));
		pthread_mutex_unlock(&call->trace->analysis_lock);
	}
	reply_result(call, result, &err);
	bill_release(&bill);
}

void api_resident_looks(struct call *call)
{
	struct result *result;
	struct err err = {0};

	pthread_mutex_lock(&call->trace->analysis_lock);
	result = resident_looks_result(call->trace->model, &err);
	pthread_mutex_unlock(&call->trace->analysis_lock);
	reply_result(call, result, &err);
}

/* ---- a page ---- */

struct shares {
	const struct study *trace;
	const struct memory_share *rows;
};

static void put_share(struct json *json, const void *list, u64 i)
{
	const struct shares *self = list;
	const struct memory_share *row = &self->rows[i];
	struct frame_id frame = self->trace->model->points.data[row->point.index].frame;
	struct finding_place place = finding_place(&self->trace->stacks, frame);

	put_object(json, NULL, FIELD("point", row->point.index), NAME("fn", place.own.function),
		   NAME("file", place.own.file), SOME("line", place.own.line),
		   FIELD("bytes", row->bytes), FIELD("blocks", row->blocks),
		   FIELD("chunk", row->chunk));
}

static void reply_page(struct call *call, const struct memory_page_detail *page,
		       const struct model_memory *look)
{
	struct shares holders = {call->trace, page->holders.data};
	struct shares left = {call->trace, page->left.data};
	const u64 *bytes = page->bytes;

	reply_object(call, false, FIELD("addr", hex_text(page->address).text),
		     FIELD("at", tick_clock_ns(&call->trace->model->clock, look->ticks)),
		     FLAG("resident", page->resident), FIELD("live", bytes[ACCOUNT_LIVE]),
		     FIELD("slack", bytes[ACCOUNT_SLACK]), FIELD("left", bytes[ACCOUNT_LEFT]),
		     FIELD("pinned", bytes[ACCOUNT_PINNED]), FIELD("cached", bytes[ACCOUNT_CACHED]),
		     FIELD("thread_caches", bytes[ACCOUNT_THREAD_CACHES]),
		     LIST("holders", page->holders.count, put_share, &holders),
		     LIST("last", page->left.count, put_share, &left));
}

void api_memory_page(struct call *call)
{
	const struct model_memory *look;
	struct memory_page_detail page = {0};
	struct err err = {0};
	u64 address = 0;

	if (!call_text(call, "addr")) {
		call_bad(call, "addr", "an address such as 0x7f0012345678");
		return;
	}
	if (!call_address(call, "addr", &address))
		return;
	if (!call_time(call, "at", &call->at_ns))
		return;
	look = call_look(call);
	if (!look)
		bill_missing(call->trace->path, &err);
	if (!look || memory_page_make(&page, call->trace->model, look, address, &err) < 0)
		call_fail(call, &err);
	else
		reply_page(call, &page, look);
	memory_page_release(&page);
}
