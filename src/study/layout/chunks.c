/* SPDX-License-Identifier: MIT
 * Rows of chunks.
 * Host. */
#define _GNU_SOURCE
#include "study/layout/chunks.h"

#include <math.h>
#include <string.h>

#include "host/base/keyed.h"
#include "study/layout/moments.h"
#include "study/layout/points.h"

/* More would take seconds to put in order or into rows. */
enum { ORDERED_MAX = 4 << 20 };

bool chunk_order_parse(const char *word, enum chunk_order *order)
{
	static const char *const words[CHUNK_ORDERS] = {"time", "size", "life", "addr", "last"};

	return word_parse(words, word, order);
}

bool chunk_lane_parse(const char *word, enum chunk_lane *lane)
{
	static const char *const words[CHUNK_LANES] = {"row", "packed", "thread"};

	return word_parse(words, word, lane);
}

/* ---- which chunks ---- */

struct gathered {
	const struct view_scope *scope;
	const struct chunks_query *query;
	VEC(u32) numbers; /* in order */
	u32 *rows;        /* by position; NULL = the position itself */
	u64 row_count;
};

/* Those of a point lie anywhere, and each brings its neighbours into memory: what has gathered is
 * let go now and then. */
static struct view_chunk chunk_in(const struct gathered *self, u64 position)
{
	enum { REST = 2048 };

	if (unlikely(position % REST == REST - 1))
		model_rest(self->scope->trace->model);
	return view_chunk_at(self->scope, self->numbers.data[position]);
}

static int gather(struct gathered *self, struct err *err)
{
	struct view_chunk chunk;
	struct point_chunks own;

	if (self->query->point < 0) {
		if (!vec_reserve(&self->numbers, self->scope->selection.chunks))
			return err_memory_for(err, "the chunks");
		for (u64 at = 0; view_next(self->scope, &at, &chunk);) {
			model_pass(self->scope->trace->model, chunk.number);
			if (!vec_push(&self->numbers, (u32)chunk.number))
				return err_memory_for(err, "the chunks");
		}
		return view_check(self->scope, err);
	}
	if (view_point_chunks(self->scope->trace, (struct point_id){(u32)self->query->point}, &own,
			      err) < 0)
		return err->code;
	for (u64 i = 0; i < own.count; i++)
		if (selection_has(&self->scope->selection, own.numbers[i]) &&
		    !vec_push(&self->numbers, own.numbers[i]))
			return err_memory_for(err, "the chunks");
	return 0;
}

/* ---- order ---- */

struct keyed {
	u64 key;
	u32 number;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Large ones, long lives and late accesses first. */
static u64 key_of(const struct gathered *self, u64 position)
{
	u32 number = self->numbers.data[position];
	struct view_chunk chunk = chunk_in(self, position);
	struct chunk_access access;

	switch (self->query->order) {
	case ORDER_SIZE: return UINT64_MAX - chunk.page->size[chunk.at];
	case ORDER_LIFE: return UINT64_MAX - view_life_ticks(self->scope, &chunk);
	case ORDER_ADDR: return chunk.page->address[chunk.at];
	case ORDER_LAST:
		return UINT64_MAX - (model_chunk_access(self->scope->trace->model, number, &access)
					     ? access.last_ticks
					     : 0);
	case ORDER_TIME:
	case CHUNK_ORDERS: break;
	}
	return number;
}

static int put_in_order(struct gathered *self, struct err *err)
{
	u64 count = self->numbers.count;
	struct keyed *keyed;

	if (self->query->order == ORDER_TIME)
		return 0;
	if (count > ORDERED_MAX)
		return err_set(
			err, ERR_USAGE,
			"more than %d chunks can only be sorted by time; select fewer chunks",
			ORDERED_MAX);
	keyed = malloc((count + 1) * sizeof *keyed);
	if (!keyed)
		return err_memory_for(err, "the chunks");
	for (u64 i = 0; i < count; i++)
		keyed[i] = (struct keyed){key_of(self, i), self->numbers.data[i]};
	qsort(keyed, count, sizeof *keyed, by_key);
	for (u64 i = 0; i < count; i++)
		self->numbers.data[i] = keyed[i].number;
	free(keyed);
	return 0;
}

/* ---- rows ---- */

/* Rows that are taken, earliest end first; and rows that are free, lowest first. Heaps. */
struct heap_item {
	u64 key;
	u32 row;
};

struct heap {
	struct heap_item *items;
	u64 count;
};

static void heap_push(struct heap *self, struct heap_item item)
{
	u64 at = self->count++;

	for (; at && self->items[(at - 1) / 2].key > item.key; at = (at - 1) / 2)
		self->items[at] = self->items[(at - 1) / 2];
	self->items[at] = item;
}

static struct heap_item heap_pop(struct heap *self)
{
	struct heap_item first = self->items[0], last = self->items[--self->count];
	u64 at = 0;

	for (;;) {
		u64 child = 2 * at + 1;

		if (child >= self->count)
			break;
		if (child + 1 < self->count && self->items[child + 1].key < self->items[child].key)
			child++;
		if (self->items[child].key >= last.key)
			break;
		self->items[at] = self->items[child];
		at = child;
	}
	self->items[at] = last;
	return first;
}

static int pack(struct gathered *self, struct err *err)
{
	u64 count = self->numbers.count;
	struct heap taken = {.items = malloc((count + 1) * sizeof(struct heap_item))};
	struct heap unused = {.items = malloc((count + 1) * sizeof(struct heap_item))};
	int status = taken.items && unused.items ? 0 : err_memory_for(err, "the chunks");

	for (u64 i = 0; i < count && status == 0; i++) {
		struct view_chunk chunk = chunk_in(self, i);
		u64 start = chunk.page->alloc_ticks[chunk.at];
		u64 end = view_is_freed(&chunk) ? chunk.page->free_ticks[chunk.at] : UINT64_MAX;

		while (taken.count && taken.items[0].key <= start) {
			u32 row = heap_pop(&taken).row;

			heap_push(&unused, (struct heap_item){row, row});
		}
		self->rows[i] = unused.count ? heap_pop(&unused).row : (u32)self->row_count++;
		heap_push(&taken, (struct heap_item){end, self->rows[i]});
	}
	free(taken.items);
	free(unused.items);
	return status;
}

static int put_in_rows(struct gathered *self, struct err *err)
{
	u64 count = self->numbers.count;

	self->row_count = self->query->lane == LANE_ROW ? count : 0;
	if (self->query->lane == LANE_ROW)
		return 0;
	if (self->query->lane == LANE_PACKED &&
	    (count > ORDERED_MAX || self->query->order != ORDER_TIME))
		return err_set(err, ERR_USAGE,
			       "the packed lane needs at most %d chunks, sorted by time",
			       ORDERED_MAX);
	self->rows = malloc((count + 1) * sizeof *self->rows);
	if (!self->rows)
		return err_memory_for(err, "the chunks");
	if (self->query->lane == LANE_PACKED)
		return pack(self, err);
	for (u64 i = 0; i < count; i++) {
		struct view_chunk chunk = chunk_in(self, i);

		self->rows[i] = chunk.page->alloc_thread[chunk.at];
		if (self->rows[i] >= self->row_count)
			self->row_count = (u64)self->rows[i] + 1;
	}
	return 0;
}

static u64 row_of(const struct gathered *self, u64 position)
{
	return self->rows ? self->rows[position] : position;
}

/* ---- bars ---- */

/* Whether the bar is in the rows and in the time that are looked at. */
static bool is_in_view(const struct gathered *self, u64 row, u64 from_ns, u64 to_ns)
{
	const struct chunks_query *query = self->query;

	return row >= query->first_row && (!query->rows || row - query->first_row < query->rows) &&
	       from_ns <= query->to_ns && to_ns >= query->from_ns;
}

static void times_of(const struct gathered *self, const struct view_chunk *chunk, u64 *from_ns,
		     u64 *to_ns)
{
	const struct tick_clock *clock = &self->scope->trace->model->clock;

	*from_ns = tick_clock_ns(clock, chunk->page->alloc_ticks[chunk->at]);
	*to_ns = view_is_freed(chunk) ? tick_clock_ns(clock, chunk->page->free_ticks[chunk->at])
				      : model_duration_ns(self->scope->trace->model);
}

static void add_accesses(const struct gathered *self, const struct view_chunk *chunk,
			 struct chunk_bar *bar)
{
	const struct model *model = self->scope->trace->model;
	struct chunk_access access;

	bar->first_ns = bar->last_ns = NAN;
	if (!model_chunk_access(model, chunk->number, &access)) {
		bar->flags |= BAR_UNMEASURED;
		return;
	}
	if (access.first_ticks)
		bar->first_ns = (double)tick_clock_ns(&model->clock, access.first_ticks);
	if (access.last_ticks)
		bar->last_ns = (double)tick_clock_ns(&model->clock, access.last_ticks);
	if (!(access.flags & ACCESS_UNSIDED))
		bar->flags |= (access.reads ? 0 : BAR_NEVER_READ) |
			      (access.writes ? 0 : BAR_NEVER_WRITTEN);
	bar->flags |= access.flags & ACCESS_SHARED ? BAR_SHARED : 0;
}

static int add_bar(struct chunks_view *view, const struct gathered *self, u64 position)
{
	struct view_chunk chunk = chunk_in(self, position);
	struct chunk_bar bar = {.number = chunk.number,
				.row = (u32)row_of(self, position),
				.size = chunk.page->size[chunk.at]};

	times_of(self, &chunk, &bar.from_ns, &bar.to_ns);
	if (!is_in_view(self, bar.row, bar.from_ns, bar.to_ns))
		return 0;
	bar.flags = (view_is_freed(&chunk) ? 0 : BAR_ALIVE) |
		    (chunk.page->kind[chunk.at] == HW_REALLOC ? BAR_REALLOC : 0);
	if (self->scope->trace->severity)
		bar.severity =
			self->scope->trace->severity[view_point_of(self->scope, &chunk).index];
	add_accesses(self, &chunk, &bar);
	return vec_push(&view->bars, bar) ? 0 : ERR_MEMORY;
}

static int add_bars(struct chunks_view *view, const struct gathered *self, struct err *err)
{
	u64 first = self->rows ? 0 : self->query->first_row;
	u64 end = self->numbers.count;

	if (!self->rows && self->query->rows && first + self->query->rows < end)
		end = first + self->query->rows;
	for (u64 i = first; i < end; i++) {
		if (i % CHUNK_PAGE == 0 && view_check(self->scope, err) < 0)
			return err->code;
		if (add_bar(view, self, i) < 0)
			return err_memory_for(err, "the chunks");
		if (view->bars.count > CHUNK_ROWS_MAX) {
			view->is_density = true;
			return 0;
		}
	}
	return 0;
}

/* ---- density ---- */

/* Neighbours are mostly in the same line and near in time: what was found for the last one is tried
 * first. */
struct cells {
	const struct time_axis *axis;
	u64 rows;
	u64 row_first, row_end; /* rows of the same line as the last one */
	u64 line;               /* where it begins */
	u32 near;
};

static void find_line(struct cells *self, const struct chunks_view *view, u64 row)
{
	u64 number;

	if (likely(row >= self->row_first && row < self->row_end))
		return;
	number = row * view->height / self->rows;
	self->line = number * (view->width + 1);
	self->row_first = (number * self->rows + view->height - 1) / view->height;
	self->row_end = ((number + 1) * self->rows + view->height - 1) / view->height;
}

/* A chunk is noted where it begins and where it has ended; then sums go from left to right. */
static void add_cells(struct chunks_view *view, struct cells *self, const struct view_chunk *chunk,
		      u64 row)
{
	int from = time_axis_bin_near(self->axis, chunk->page->alloc_ticks[chunk->at], &self->near);
	int to = view_is_freed(chunk)
			 ? time_axis_bin_near(self->axis, chunk->page->free_ticks[chunk->at],
					      &(u32){self->near})
			 : (int)view->width;
	double size = (double)chunk->page->size[chunk->at];
	u64 line;

	if (from == (int)view->width || to == BEFORE_AXIS)
		return;
	find_line(self, view, row);
	line = self->line;
	view->counts[line + (u64)(from < 0 ? 0 : from)]++;
	view->bytes[line + (u64)(from < 0 ? 0 : from)] += size;
	if (to < (int)view->width) {
		view->counts[line + (u64)to + 1]--;
		view->bytes[line + (u64)to + 1] -= size;
	}
}

static void sum_cells(struct chunks_view *view)
{
	for (u32 row = 0; row < view->height; row++) {
		double count = 0, bytes = 0;

		for (u32 x = 0; x < view->width; x++) {
			count += view->counts[row * (view->width + 1) + x];
			bytes += view->bytes[row * (view->width + 1) + x];
			view->counts[row * view->width + x] = count;
			view->bytes[row * view->width + x] = bytes;
		}
	}
}

static int make_density(struct chunks_view *view, const struct gathered *self, struct err *err)
{
	const struct chunks_query *query = self->query;
	u64 left = self->row_count > query->first_row ? self->row_count - query->first_row : 1;
	u64 rows = query->rows && query->rows < left ? query->rows : left;
	struct time_axis axis = {0};
	struct cells cells = {.axis = &axis, .rows = rows};
	u64 count;

	view->width = query->px / 4 < DENSITY_WIDTH_MAX ? query->px / 4 : DENSITY_WIDTH_MAX;
	view->height = rows < DENSITY_HEIGHT ? (u32)rows : DENSITY_HEIGHT;
	count = (u64)(view->width + 1) * view->height;
	view->counts = calloc(count, sizeof *view->counts);
	view->bytes = calloc(count, sizeof *view->bytes);
	if (!view->counts || !view->bytes ||
	    !time_axis_init(&axis, &self->scope->trace->model->clock, query->from_ns, query->to_ns,
			    view->width))
		return err_memory_for(err, "the chunks");
	for (u64 i = 0; i < self->numbers.count; i++) {
		u64 row = row_of(self, i) - query->first_row; /* wraps where it is before */
		struct view_chunk chunk;

		if (row >= rows)
			continue;
		chunk = chunk_in(self, i);
		add_cells(view, &cells, &chunk, row);
	}
	sum_cells(view);
	time_axis_release(&axis);
	return 0;
}

int chunks_view_make(struct chunks_view *self, const struct view_scope *scope,
		     const struct chunks_query *query, struct err *err)
{
	struct gathered gathered = {.scope = scope, .query = query};
	int status = study_scores(scope->trace, err);

	if (status == 0)
		status = gather(&gathered, err);
	if (status == 0)
		status = put_in_order(&gathered, err);
	if (status == 0)
		status = put_in_rows(&gathered, err);
	self->chunks = gathered.numbers.count;
	self->rows = gathered.row_count;
	if (status == 0)
		status = add_bars(self, &gathered, err);
	if (status == 0 && self->is_density) {
		vec_release(&self->bars);
		status = make_density(self, &gathered, err);
	}
	vec_release(&gathered.numbers);
	free(gathered.rows);
	return status;
}

void chunks_view_release(struct chunks_view *self)
{
	vec_release(&self->bars);
	free(self->counts);
	free(self->bytes);
}

/* ---- neighbours ---- */

int chunk_neighbours_find(struct chunk_neighbours *self, const struct view_scope *scope, u64 number,
			  struct err *err)
{
	struct view_scope all = {.trace = scope->trace, .selection = scope->trace->all};
	struct view_chunk own = view_chunk_at(scope, number), chunk;
	u64 address = own.page->address[own.at], when = own.page->alloc_ticks[own.at];
	u64 below = 0, above = UINT64_MAX;

	*self = (struct chunk_neighbours){UINT64_MAX, UINT64_MAX};
	for (u64 at = 0; view_next(&all, &at, &chunk);) {
		u64 other = chunk.page->address[chunk.at];

		model_pass(scope->trace->model, chunk.number);
		if (chunk.at == 0 && view_check(scope, err) < 0)
			return err->code;
		if (chunk.page->alloc_ticks[chunk.at] > when || chunk.number == number ||
		    (view_is_freed(&chunk) && chunk.page->free_ticks[chunk.at] <= when))
			continue;
		if (other < address && other >= below) {
			below = other;
			self->below = chunk.number;
		}
		if (other > address && other < above) {
			above = other;
			self->above = chunk.number;
		}
	}
	return 0;
}
