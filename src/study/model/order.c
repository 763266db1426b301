/* SPDX-License-Identifier: MIT
 * Asks the order of events.
 * Host. Changes nothing. */
#include "study/model/order.h"

#include <string.h>

#include "host/base/search.h"

#include "study/model/model.h"

static const u64 spans[ORDER_LEVELS] = {ORDER_BLOCK, ORDER_BLOCK *ORDER_STEP,
					ORDER_BLOCK *ORDER_STEP *ORDER_STEP};

enum { REST_EVENTS = 1 << 14 }; /* that lead to chunks anywhere, before what was read is let go */

struct change {
	i64 bytes, units;
};

static struct change change_of(const struct model *model, u64 event)
{
	u32 code = model->order.codes[event];
	u64 size = chunk_at(&model->chunks, code >> 1)->size[(code >> 1) % CHUNK_PAGE];
	u64 units = 1, bytes = size;

	if (unlikely(model->count_shift))
		model_weigh(model, size, &units, &bytes);
	return code & 1 ? (struct change){-(i64)bytes, -(i64)units}
			: (struct change){(i64)bytes, (i64)units};
}

u64 order_ticks(const struct model *model, u64 event)
{
	u32 code = model->order.codes[event];
	const struct chunk_page *page = chunk_at(&model->chunks, code >> 1);
	u32 at = (code >> 1) % CHUNK_PAGE;

	return code & 1 ? page->free_ticks[at] : page->alloc_ticks[at];
}

/* The first block at or after `ticks`; blocks are in order. */
static u64 find_block(const struct order_block *blocks, u64 first, u64 end, u64 ticks)
{
	return first + bisect(at, end - first, blocks[first + at].ticks < ticks);
}

static u64 blocks_of(u64 events, u32 level) { return (events + spans[level] - 1) / spans[level]; }

u64 order_find(const struct model *model, u64 ticks)
{
	const struct event_order *order = &model->order;
	u64 first = 0, end = blocks_of(order->count, ORDER_LEVELS - 1);

	/* The first event that is not before lies in the block before the first one that is not. */
	for (u32 level = ORDER_LEVELS; level-- > 0;) {
		u64 found = find_block(order->blocks[level], first, end, ticks);
		u64 size = level ? ORDER_STEP : ORDER_BLOCK, most;

		first = found ? (found - 1) * size : 0;
		end = found * size;
		most = level ? blocks_of(order->count, level - 1) : order->count;
		end = end < most ? end : most;
	}
	return first + bisect(at, end - first, order_ticks(model, first + at) < ticks);
}

/* ---- sums ---- */

/* What is live before an event. */
static struct change live_before(const struct model *model, u64 event)
{
	const struct event_order *order = &model->order;
	u64 at = event / ORDER_BLOCK;
	struct change live = {0};

	if (!order->count)
		return live;
	if (at == blocks_of(order->count, 0)) /* after a last block that is full */
		at--;
	live = (struct change){order->blocks[0][at].bytes, order->blocks[0][at].units};
	for (u64 i = at * ORDER_BLOCK; i < event; i++) {
		struct change change = change_of(model, i);

		live.bytes += change.bytes;
		live.units += change.units;
	}
	return live;
}

static void widen(struct order_range *range, i64 low_bytes, i64 high_bytes, i64 low_units,
		  i64 high_units)
{
	range->low_bytes = low_bytes < range->low_bytes ? low_bytes : range->low_bytes;
	range->high_bytes = high_bytes > range->high_bytes ? high_bytes : range->high_bytes;
	range->low_units = low_units < range->low_units ? low_units : range->low_units;
	range->high_units = high_units > range->high_units ? high_units : range->high_units;
}

/* The largest block that begins here and is whole in the range; ORDER_LEVELS if there is none. */
static u32 level_at(u64 at, u64 end)
{
	u32 level = ORDER_LEVELS;

	for (u32 i = 0; i < ORDER_LEVELS && at % spans[i] == 0 && at + spans[i] <= end; i++)
		level = i;
	return level;
}

struct order_range order_range(const struct model *model, u64 first, u64 end)
{
	struct change live = live_before(model, first);
	struct order_range range = {live.bytes, live.units, 0,          0,
				    live.bytes, live.bytes, live.units, live.units};

	for (u64 at = first; at < end;) {
		u32 level = level_at(at, end);

		if (level < ORDER_LEVELS) {
			const struct order_block *block =
				&model->order.blocks[level][at / spans[level]];

			widen(&range, block->low_bytes, block->high_bytes, block->low_units,
			      block->high_units);
			at += spans[level];
			if (at == end || level_at(at, end) == ORDER_LEVELS)
				live = live_before(model, at);
		} else {
			struct change change = change_of(model, at++);

			live.bytes += change.bytes;
			live.units += change.units;
			widen(&range, live.bytes, live.bytes, live.units, live.units);
		}
	}
	range.last_bytes = live.bytes;
	range.last_units = live.units;
	return range;
}

u64 order_reaches(const struct model *model, u64 first, u64 end, i64 bytes)
{
	struct change live = live_before(model, first);

	for (u64 at = first; at < end;) {
		u32 level = level_at(at, end);

		/* Into blocks that have it; over all others. */
		while (level < ORDER_LEVELS &&
		       (model->order.blocks[level][at / spans[level]].high_bytes >= bytes))
			level = level ? level - 1 : ORDER_LEVELS;
		if (level < ORDER_LEVELS) {
			at += spans[level];
			if (at < end)
				live = live_before(model, at);
			continue;
		}
		live.bytes += change_of(model, at).bytes;
		if (live.bytes >= bytes)
			return at;
		at++;
	}
	return first;
}

/* ---- points ---- */

/* From what is live before one event to what is live before another, forwards or backwards. */
static void walk(const struct model *model, u64 from, u64 to, struct point_live *points)
{
	const struct event_order *order = &model->order;
	i64 way = from <= to ? 1 : -1;
	u64 end = from <= to ? to : from;

	for (u64 at = from <= to ? from : to; at < end; at++) {
		u32 chunk = order->codes[at] >> 1;
		u32 context = chunk_at(&model->chunks, chunk)->alloc_context[chunk % CHUNK_PAGE];
		struct point_live *point = &points[model_point_of(model, context).index];
		struct change change = change_of(model, at);

		if (unlikely(at % REST_EVENTS == 0))
			model_rest(model);
		point->bytes += way * change.bytes;
		point->units += way * change.units;
	}
}

static u64 apart(u64 a, u64 b) { return a < b ? b - a : a - b; }

void order_points(const struct model *model, u64 event, u64 known, struct point_live *points)
{
	const struct event_order *order = &model->order;
	u64 snapshot = order->every ? (event + order->every / 2) / order->every : 0;

	if (snapshot > order->snapshot_count)
		snapshot = order->snapshot_count;
	if (known == ORDER_NONE || apart(known, event) > apart(snapshot * order->every, event)) {
		known = snapshot * order->every;
		if (snapshot)
			memcpy(points, &order->snapshots[(snapshot - 1) * model->points.count],
			       model->points.count * sizeof *points);
		else
			memset(points, 0, model->points.count * sizeof *points);
	}
	walk(model, known, event, points);
}

/* ---- from the index ---- */

bool order_take(struct model *model)
{
	const struct stored *codes = &model->stored[STORED_ORDER];
	const struct stored *snapshots = &model->stored[STORED_SNAPSHOTS];
	u64 row = model->points.count * sizeof(struct point_live);
	struct event_order order = {.codes = codes->data, .count = codes->bytes / sizeof(u32)};

	if (!codes->data)
		return true;
	for (u32 i = 0; i < ORDER_LEVELS; i++) {
		const struct stored *blocks = &model->stored[STORED_BLOCKS + i];

		order.blocks[i] = blocks->data;
		if (!blocks->data ||
		    blocks->bytes != blocks_of(order.count, i) * sizeof(struct order_block))
			return false;
	}
	if (snapshots->data && row) {
		order.snapshots = snapshots->data;
		order.snapshot_count = snapshots->bytes / row;
		order.every = snapshots->tag;
		if (!order.every || order.snapshot_count > order.count / order.every)
			return false;
	}
	order.peaks = model->stored[STORED_PEAKS].data;
	if (!order.peaks ||
	    model->stored[STORED_PEAKS].bytes != model->points.count * sizeof *order.peaks)
		return false;
	if (!chunk_table_has_all(&model->chunks, order.codes, order.count, 1))
		return false;
	model->order = order;
	return true;
}
