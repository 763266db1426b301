/* SPDX-License-Identifier: MIT
 * Plans over the chunk columns, block by block.
 * Host. The loops are plain, so that the compiler can do several chunks at once. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "study/query/plan.h"

enum {
	PAGE_BLOCKS = CHUNK_PAGE / BLOCK,
	BLOCK_WORDS = BLOCK / 64,
	PAGES_EACH = 8, /* from twice that on a second thread helps: about 0.3 ms of work each */
	STRIDE_PAGES = CHUNK_STRIDE / CHUNK_PAGE,
};

double chunk_weight(const struct model *model, u64 size)
{
	u64 units, bytes;

	if (!model->count_shift)
		return 1;
	model_weigh(model, size, &units, &bytes);
	return (double)units / (double)(1ull << model->count_shift);
}

/* ---- fields ---- */

static bool was_freed(u8 end) { return end == CHUNK_FREED || end == CHUNK_IMPLIED; }

/* When it ended, for its life. */
static u64 life_ticks(const struct block *block, u32 i)
{
	const struct chunk_page *page = block->page;
	u64 end = was_freed(page->end[i]) ? page->free_ticks[i] : block->domain->model->last_ticks;

	return end > page->alloc_ticks[i] ? end - page->alloc_ticks[i] : 0;
}

static double access_number(enum field field, const struct block *block, u32 i)
{
	const struct model *model = block->domain->model;
	struct chunk_access access;
	u64 size = block->page->size[block->first + i], used;

	if (!model_chunk_access(model, block->chunk + i, &access))
		return NAN;
	switch (field) {
	case F_READS: return (double)access.reads;
	case F_WRITES: return (double)access.writes;
	case F_FIRST:
		return access.reads || access.writes
			       ? (double)tick_clock_ns(&model->clock, access.first_ticks)
			       : NAN;
	case F_LAST:
		return access.last_ticks ? (double)tick_clock_ns(&model->clock, access.last_ticks)
					 : NAN;
	case F_MULTI: return (access.flags & ACCESS_SHARED) != 0;
	default:
		used = access.covered != UINT64_MAX ? access.covered : access.high - access.low;
		return size ? (double)(used < size ? used : size) / (double)size : NAN;
	}
}

static double color_number(const struct block *block, u32 i)
{
	u8 number = block->colors ? block->colors[i] : 0;

	return number ? (double)block->palette[number - 1] : NAN;
}

/* Elements of a chunk's type: asked for seldom, and never by two threads (scan_blocks). */
static double element_count(const struct block *block, u32 i)
{
	struct type_answer answer =
		type_of_chunk((struct type_cascade *)&block->domain->types, block->chunk + i);

	return answer.count ? (double)answer.count : NAN;
}

static double field_number(enum field field, const struct block *block, u32 i)
{
	const struct chunk_page *page = block->page;
	const struct model *model = block->domain->model;
	u32 at = block->first + i;
	bool freed = was_freed(page->end[at]);

	switch (field) {
	case F_CHUNK: return (double)(block->chunk + i);
	case F_CHUNKS: return chunk_weight(model, page->size[at]);
	case F_ADDR: return (double)page->address[at];
	case F_SIZE: return (double)page->size[at];
	case F_COUNT: return page->end[at] == CHUNK_ABSENT ? NAN : element_count(block, i);
	case F_ALLOC: return (double)tick_clock_ns(&model->clock, page->alloc_ticks[at]);
	case F_FREE:
		return freed ? (double)tick_clock_ns(&model->clock, page->free_ticks[at]) : NAN;
	case F_LIFE: return floor(tick_clock_span_ns(&model->clock, (double)life_ticks(block, at)));
	case F_TEMPORARY: return freed && page->others[at] == 0;
	case F_OTHERS: return freed ? page->others[at] : NAN;
	case F_THREAD: return page->alloc_thread[at];
	case F_FREE_THREAD: return page->end[at] == CHUNK_FREED ? page->free_thread[at] : NAN;
	case F_COLOR: return color_number(block, i);
	default: return access_number(field, block, i);
	}
}

static void eval_field(enum field field, const struct block *block, double *out)
{
	const struct chunk_page *page = block->page;

	if (field == F_SIZE) {
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = (double)page->size[block->first + i];
		return;
	}
	if (field == F_LIFE) {
		double rate = tick_clock_span_ns(&block->domain->model->clock, 1);

		for (u32 i = 0; i < BLOCK; i++)
			out[i] = floor((double)life_ticks(block, block->first + i) * rate);
		return;
	}
	if (field == F_CHUNKS && !block->domain->model->count_shift) {
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = 1;
		return;
	}
	for (u32 i = 0; i < BLOCK; i++)
		out[i] = field_number(field, block, i);
}

/* ---- entries of dictionaries ---- */

/* What each chunk of the block is looked up by; beyond the table for those that have none. */
static void block_entries(enum index_kind index, const struct block *block, u32 *out)
{
	const struct chunk_page *page = block->page;
	u32 first = block->first;

	switch (index) {
	case INDEX_POINT: memcpy(out, page->alloc_context + first, BLOCK * sizeof *out); break;
	case INDEX_FREE:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = page->end[first + i] == CHUNK_FREED ? page->free_context[first + i]
								     : UINT32_MAX;
		break;
	case INDEX_THREAD: memcpy(out, page->alloc_thread + first, BLOCK * sizeof *out); break;
	case INDEX_TYPE:
		if (block->domain->type_pages[block->chunk / CHUNK_PAGE])
			memcpy(out, block->domain->type_pages[block->chunk / CHUNK_PAGE] + first,
			       BLOCK * sizeof *out);
		for (u32 i = 0; !block->domain->type_pages[block->chunk / CHUNK_PAGE] && i < BLOCK;
		     i++) {
			u32 context = page->alloc_context[first + i];

			out[i] = context < block->domain->contexts
					 ? block->domain->type_by_context[context]
					 : 0;
		}
		break;
	case INDEX_KIND:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = page->kind[first + i];
		break;
	case INDEX_END:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = page->end[first + i];
		break;
	default:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = page->chunk_class[first + i];
	}
}

static void eval_table(const struct value_plan *self, const struct block *block, double *out)
{
	u32 entries[BLOCK];

	block_entries(self->index, block, entries);
	for (u32 i = 0; i < BLOCK; i++)
		out[i] = entries[i] < self->count ? self->table[entries[i]] : NAN;
}

static void eval_categories(const struct value_plan *self, const struct block *block, double *out)
{
	u8 holds[BLOCK];

	for (u32 i = 0; i < BLOCK; i++)
		out[i] = NAN;
	for (u64 m = self->count; m-- > 0;) {
		mask_eval(self->masks[m], block, holds);
		for (u32 i = 0; i < BLOCK; i++)
			if (holds[i])
				out[i] = self->numbers[m];
	}
}

/* ---- values ---- */

static void eval_calculation(const struct value_plan *self, const struct block *block, double *a)
{
	double b[BLOCK];

	value_eval(self->args[0], block, a);
	if (self->args[1])
		value_eval(self->args[1], block, b);
	switch (self->op) {
	case VALUE_NEGATE:
		for (u32 i = 0; i < BLOCK; i++)
			a[i] = -a[i];
		break;
	case VALUE_ADD:
		for (u32 i = 0; i < BLOCK; i++)
			a[i] += b[i];
		break;
	case VALUE_SUBTRACT:
		for (u32 i = 0; i < BLOCK; i++)
			a[i] -= b[i];
		break;
	case VALUE_MULTIPLY:
		for (u32 i = 0; i < BLOCK; i++)
			a[i] *= b[i];
		break;
	case VALUE_DIVIDE:
		for (u32 i = 0; i < BLOCK; i++)
			a[i] /= b[i];
		break;
	case VALUE_LEAST:
		for (u32 i = 0; i < BLOCK; i++)
			a[i] = isnan(a[i]) || isnan(b[i]) ? NAN : a[i] < b[i] ? a[i] : b[i];
		break;
	case VALUE_GREATEST:
		for (u32 i = 0; i < BLOCK; i++)
			a[i] = isnan(a[i]) || isnan(b[i]) ? NAN : a[i] > b[i] ? a[i] : b[i];
		break;
	default:
		for (u32 i = 0; i < BLOCK; i++)
			a[i] = log2(a[i]);
	}
}

void value_eval(const struct value_plan *self, const struct block *block, double *out)
{
	switch (self->op) {
	case VALUE_CONSTANT:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = self->number;
		break;
	case VALUE_FIELD: eval_field(self->field, block, out); break;
	case VALUE_TABLE: eval_table(self, block, out); break;
	case VALUE_CATEGORIES: eval_categories(self, block, out); break;
	default: eval_calculation(self, block, out);
	}
}

static u32 entry_one(enum index_kind index, const struct block *block, u32 i)
{
	const struct chunk_page *page = block->page;
	u32 at = block->first + i;

	switch (index) {
	case INDEX_POINT: return page->alloc_context[at];
	case INDEX_FREE: return page->end[at] == CHUNK_FREED ? page->free_context[at] : UINT32_MAX;
	case INDEX_THREAD: return page->alloc_thread[at];
	case INDEX_TYPE: return domain_type(block->domain, page, block->chunk + i);
	case INDEX_KIND: return page->kind[at];
	case INDEX_END: return page->end[at];
	default: return page->chunk_class[at];
	}
}

double value_one(const struct value_plan *self, const struct block *block, u32 i)
{
	double values[BLOCK];
	u32 entry;

	if (self->op == VALUE_FIELD)
		return field_number(self->field, block, i);
	if (self->op == VALUE_TABLE) {
		entry = entry_one(self->index, block, i);
		return entry < self->count ? self->table[entry] : NAN;
	}
	value_eval(self, block, values);
	return values[i];
}

/* ---- masks ---- */

static void in_range64(const u64 *column, u64 low, u64 high, u8 *out)
{
	u64 span = high - low;

	for (u32 i = 0; i < BLOCK; i++)
		out[i] = column[i] - low <= span;
}

static void in_range32(const u32 *column, u64 low, u64 high, u8 *out)
{
	u64 span = high - low;

	for (u32 i = 0; i < BLOCK; i++)
		out[i] = column[i] - low <= span;
}

static void only_freed(const u8 *end, u8 *out)
{
	for (u32 i = 0; i < BLOCK; i++)
		out[i] &= (end[i] == CHUNK_FREED) | (end[i] == CHUNK_IMPLIED);
}

static void range_life(const struct mask_plan *self, const struct block *block, u8 *out)
{
	const struct chunk_page *page = block->page;
	u64 span = self->high - self->low, last = block->domain->model->last_ticks;

	for (u32 i = 0; i < BLOCK; i++) {
		u32 at = block->first + i;
		u64 born = page->alloc_ticks[at],
		    end = was_freed(page->end[at]) ? page->free_ticks[at] : last;
		u64 life = end > born ? end - born : 0;

		out[i] = life - self->low <= span;
	}
}

static void range_chunk(const struct mask_plan *self, const struct block *block, u8 *out)
{
	for (u32 i = 0; i < BLOCK; i++)
		out[i] = block->chunk + i - self->low <= self->high - self->low;
}

static void eval_range(const struct mask_plan *self, const struct block *block, u8 *out)
{
	const struct chunk_page *page = block->page;
	u32 first = block->first;

	switch (self->column) {
	case F_SIZE: in_range64(page->size + first, self->low, self->high, out); break;
	case F_ADDR: in_range64(page->address + first, self->low, self->high, out); break;
	case F_ALLOC: in_range64(page->alloc_ticks + first, self->low, self->high, out); break;
	case F_FREE:
		in_range64(page->free_ticks + first, self->low, self->high, out);
		only_freed(page->end + first, out);
		break;
	case F_OTHERS:
		in_range32(page->others + first, self->low, self->high, out);
		only_freed(page->end + first, out);
		break;
	case F_THREAD: in_range32(page->alloc_thread + first, self->low, self->high, out); break;
	case F_FREE_THREAD:
		in_range32(page->free_thread + first, self->low, self->high, out);
		for (u32 i = 0; i < BLOCK; i++)
			out[i] &= page->end[first + i] == CHUNK_FREED;
		break;
	case F_LIFE: range_life(self, block, out); break;
	default: range_chunk(self, block, out);
	}
}

static void eval_mask_table(const struct mask_plan *self, const struct block *block, u8 *out)
{
	const struct chunk_page *page = block->page;
	u32 entries[BLOCK];

	if (self->index == INDEX_END) {
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = self->table[page->end[block->first + i]];
		return;
	}
	block_entries(self->index, block, entries);
	for (u32 i = 0; i < BLOCK; i++)
		out[i] = entries[i] < self->count ? self->table[entries[i]] : 0;
}

static void eval_compare(const struct mask_plan *self, const struct block *block, u8 *out)
{
	double a[BLOCK], b[BLOCK];

	value_eval(self->left, block, a);
	value_eval(self->right, block, b);
	switch (self->compare) {
	case EXPR_EQ:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = a[i] == b[i];
		break;
	case EXPR_NE:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = (a[i] < b[i]) | (a[i] > b[i]);
		break;
	case EXPR_LT:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = a[i] < b[i];
		break;
	case EXPR_LE:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = a[i] <= b[i];
		break;
	case EXPR_GT:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = a[i] > b[i];
		break;
	default:
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = a[i] >= b[i];
	}
}

static void eval_known(const struct mask_plan *self, const struct block *block, u8 *out)
{
	double values[BLOCK];

	value_eval(self->left, block, values);
	for (u32 i = 0; i < BLOCK; i++)
		out[i] = !isnan(values[i]);
}

static void eval_chain(const struct mask_plan *self, const struct block *block, u8 *out)
{
	u8 next[BLOCK];
	bool all = self->op == MASK_AND;

	mask_eval(self->args[0], block, out);
	for (u64 k = 1; k < self->count; k++) {
		/* Nothing left to decide: all are 0 after and, or all 1 after or. */
		if (!memchr(out, all ? 1 : 0, BLOCK))
			return;
		mask_eval(self->args[k], block, next);
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = all ? out[i] & next[i] : out[i] | next[i];
	}
}

void mask_eval(const struct mask_plan *self, const struct block *block, u8 *out)
{
	switch (self->op) {
	case MASK_NONE:
	case MASK_ALL: memset(out, self->op == MASK_ALL, BLOCK); break;
	case MASK_TABLE: eval_mask_table(self, block, out); break;
	case MASK_RANGE: eval_range(self, block, out); break;
	case MASK_COMPARE: eval_compare(self, block, out); break;
	case MASK_KNOWN: eval_known(self, block, out); break;
	case MASK_NOT:
		mask_eval(self->args[0], block, out);
		for (u32 i = 0; i < BLOCK; i++)
			out[i] = !out[i];
		break;
	default: eval_chain(self, block, out);
	}
}

/* ---- zones ---- */

static enum zone_answer zone_range(const struct mask_plan *self, u64 first, u64 last)
{
	if (first > last || last < self->low || first > self->high)
		return ZONE_NONE;
	return first >= self->low && last <= self->high ? ZONE_ALL : ZONE_SOME;
}

static enum zone_answer zone_chain(const struct mask_plan *self, const struct chunk_zone *zone)
{
	enum zone_answer decided = self->op == MASK_AND ? ZONE_NONE : ZONE_ALL;
	enum zone_answer answer = self->op == MASK_AND ? ZONE_ALL : ZONE_NONE;

	for (u64 i = 0; i < self->count; i++) {
		enum zone_answer one = mask_zone(self->args[i], zone);

		if (one == decided)
			return decided;
		if (one == ZONE_SOME)
			answer = ZONE_SOME;
	}
	return answer;
}

enum zone_answer mask_zone(const struct mask_plan *self, const struct chunk_zone *zone)
{
	enum zone_answer answer;

	switch (self->op) {
	case MASK_NONE: return ZONE_NONE;
	case MASK_ALL: return ZONE_ALL;
	case MASK_AND:
	case MASK_OR: return zone_chain(self, zone);
	case MASK_NOT:
		answer = mask_zone(self->args[0], zone);
		return answer == ZONE_SOME ? ZONE_SOME : answer == ZONE_ALL ? ZONE_NONE : ZONE_ALL;
	case MASK_RANGE: break;
	default: return ZONE_SOME;
	}
	if (self->column == F_SIZE)
		return zone_range(self, zone->min_size, zone->max_size);
	if (self->column == F_ALLOC)
		return zone_range(self, zone->alloc_first, zone->alloc_last);
	if (self->column != F_FREE)
		return ZONE_SOME;
	answer = zone_range(self, zone->free_first, zone->free_last);
	return answer == ZONE_ALL && zone->unfreed ? ZONE_SOME : answer;
}

/* ---- passes ---- */

/* 64 bytes that are 0 or 1 → 64 bits. */
static u64 pack(const u8 *bytes)
{
	u64 word = 0;

	for (u32 i = 0; i < 8; i++) {
		u64 eight;

		memcpy(&eight, bytes + 8 * i, 8);
		word |= (eight * 0x0102040810204080ull >> 56) << (8 * i);
	}
	return word;
}

static bool any_bit(const u64 *words, u32 count)
{
	u64 any = 0;

	for (u32 i = 0; i < count; i++)
		any |= words[i];
	return any != 0;
}

/* Moves to the block of this number in a page. */
static void block_take(struct block *self, const struct scan *scan, u64 page, u32 number)
{
	self->first = number * BLOCK;
	self->chunk = page * CHUNK_PAGE + self->first;
	self->colors = scan->colors ? scan->colors + self->chunk : NULL;
}

struct filter {
	const struct scan *scan;
	const struct mask_plan *mask;
	u64 from, to; /* pages */
	u64 chunks, bytes;
};

static void filter_page(const struct filter *self, u64 number, const struct chunk_page *page,
			u64 *words)
{
	struct block block = {.domain = self->scan->domain,
			      .page = page,
			      .palette = self->scan->palette};
	u8 holds[BLOCK];

	for (u32 b = 0; b < PAGE_BLOCKS; b++) {
		u64 *bits = words + b * BLOCK_WORDS;

		if (!any_bit(bits, BLOCK_WORDS))
			continue;
		block_take(&block, self->scan, number, b);
		mask_eval(self->mask, &block, holds);
		for (u32 i = 0; i < BLOCK_WORDS; i++)
			bits[i] &= pack(holds + 64 * i);
	}
}

static void count_page(struct filter *self, const struct chunk_page *page, const u64 *words)
{
	for (u32 w = 0; w < CHUNK_PAGE / 64; w++) {
		const u64 *size = page->size + 64 * w;
		u64 word = words[w], sum = 0;

		if (!word)
			continue;
		self->chunks += (u64)__builtin_popcountll(word);
		for (u32 i = 0; i < 64; i++)
			sum += size[i] & -(word >> i & 1);
		self->bytes += sum;
	}
}

static void *filter_pages(void *data)
{
	struct filter *self = data;
	const struct chunk_table *chunks = &self->scan->domain->model->chunks;

	for (u64 i = self->from; i < self->to; i++) {
		const struct chunk_page *page = chunks->pages.data[i];
		const struct chunk_zone *zone = chunk_zone(chunks, i);
		u64 *words = self->scan->selection->words + i * (CHUNK_PAGE / 64);
		enum zone_answer answer = zone ? mask_zone(self->mask, zone) : ZONE_SOME;

		if (!page || answer == ZONE_NONE)
			memset(words, 0, CHUNK_PAGE / 8);
		if (!page || !any_bit(words, CHUNK_PAGE / 64))
			continue;
		if (answer == ZONE_SOME)
			filter_page(self, i, page, words);
		count_page(self, page, words);
		if (i % STRIDE_PAGES == STRIDE_PAGES - 1)
			model_release_range(self->scan->domain->model,
					    (i + 1 - STRIDE_PAGES) * CHUNK_PAGE,
					    (i + 1) * CHUNK_PAGE);
	}
	return NULL;
}

/* The types of single chunks are asked of a cascade, which is not for two. */
static bool value_is_serial(const struct value_plan *self);

static bool mask_is_serial(const struct mask_plan *self)
{
	bool serial = (self->left && value_is_serial(self->left)) ||
		      (self->right && value_is_serial(self->right));

	for (u64 i = 0; self->args && i < self->count; i++)
		serial |= mask_is_serial(self->args[i]);
	return serial;
}

static bool value_is_serial(const struct value_plan *self)
{
	bool serial = self->op == VALUE_FIELD && self->field == F_COUNT;

	for (u32 i = 0; i < 2; i++)
		serial |= self->args[i] && value_is_serial(self->args[i]);
	for (u64 i = 0; self->masks && i < self->count; i++)
		serial |= mask_is_serial(self->masks[i]);
	return serial;
}

void scan_filter(const struct scan *scan, const struct mask_plan *mask)
{
	u64 pages = scan->domain->model->chunks.pages.count;
	struct filter left = {.scan = scan, .mask = mask, .to = pages}, right = left;
	pthread_t thread;
	bool helped = pages >= 2 * PAGES_EACH && !mask_is_serial(mask);

	if (helped) {
		left.to = right.from = pages / 2;
		helped = pthread_create(&thread, NULL, filter_pages, &right) == 0;
		if (!helped)
			left.to = pages;
	}
	filter_pages(&left);
	if (helped)
		pthread_join(thread, NULL);
	scan->selection->chunks = left.chunks + (helped ? right.chunks : 0);
	scan->selection->bytes = left.bytes + (helped ? right.bytes : 0);
}

void scan_blocks(const struct scan *scan,
		 bool (*each)(void *self, const struct block *block, const u64 *bits), void *self)
{
	const struct chunk_table *chunks = &scan->domain->model->chunks;
	struct block block = {.domain = scan->domain, .palette = scan->palette};

	for (u64 i = 0; i < chunks->pages.count; i++) {
		block.page = chunks->pages.data[i];
		for (u32 b = 0; block.page && b < PAGE_BLOCKS; b++) {
			const u64 *bits =
				scan->selection->words + i * (CHUNK_PAGE / 64) + b * BLOCK_WORDS;

			if (!any_bit(bits, BLOCK_WORDS))
				continue;
			block_take(&block, scan, i, b);
			if (!each(self, &block, bits))
				return;
		}
		model_pass(scan->domain->model, i * CHUNK_PAGE);
	}
}
