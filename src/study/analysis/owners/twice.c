/* SPDX-License-Identifier: MIT
 * Finds what is twice; see twice.h.
 * Host. One pass over the chunks of a graph. */
#include "study/analysis/owners/twice.h"

#include "host/base/map.h"
#include "host/base/order.h"
#include "host/base/units.h"
#include "study/model/each.h"
#include "study/result/field.h"

static const u64 PAGE = 4096;

struct finding_twice {
	struct owner_twice *to;
	const struct twice_query *query;
	struct map rows;  /* point and kind → row + 1 */
	struct map seen;  /* group */
	struct map pairs; /* group and row */
};

/* Its number + 1, 0 = there is no memory. */
static u64 row_of(struct finding_twice *self, u32 point, u32 node)
{
	const u32 *kind_of = self->query->kind_of;
	struct twice_row fresh = {point, kind_of ? kind_of[node] : 0, {0}};
	u64 *number = map_at(&self->rows, (u64)fresh.point << 32 | fresh.kind);

	if (!number || (!*number && !vec_push(&self->to->rows, fresh)))
		return 0;
	if (!*number)
		*number = self->to->rows.count;
	return *number;
}

static bool is_first(struct map *map, u64 key, bool *failed)
{
	u64 *known = map_at(map, key);

	*failed |= !known;
	return known && !(*known)++;
}

static void copy_add(struct twice_sums *to, const struct chunk *chunk)
{
	u64 bytes = chunk->page->size[chunk->at], born = chunk->page->alloc_ticks[chunk->at];
	u64 peak = chunk->model->totals.peak_ticks;
	u64 end = chunk_is_freed(chunk) ? chunk->page->free_ticks[chunk->at]
					: chunk->model->last_ticks;

	to->saving_bytes += bytes;
	if (born <= peak && (end > peak || !chunk_is_freed(chunk)))
		to->peak_bytes += bytes;
	to->byte_ticks += (double)bytes * (end > born ? (double)(end - born) : 0);
}

/* Adds a chunk that is like others to a row and to the whole. */
static bool alike_add(struct finding_twice *self, u64 number, u32 group, const struct chunk *chunk)
{
	struct twice_sums *all = &self->to->all, *row = &self->to->rows.data[number - 1].sums;
	bool failed = false, first = is_first(&self->seen, group, &failed);
	u64 bytes = chunk->page->size[chunk->at];

	row->alike_chunks++;
	row->alike_bytes += bytes;
	row->different += is_first(&self->pairs, (u64)group << 32 | (u32)number, &failed);
	all->alike_chunks++;
	all->alike_bytes += bytes;
	all->different += first;
	if (!first) {
		copy_add(row, chunk);
		copy_add(all, chunk);
	}
	return !failed;
}

static void others_add(struct twice_sums *to, const struct stream_content *content, u64 bytes)
{
	to->empty_chunks += bytes == 0;
	to->zero_chunks += content->group == CONTENT_ZERO;
	to->zero_bytes += content->group == CONTENT_ZERO ? bytes : 0;
	to->untouched_bytes +=
		content->untouched_pages * PAGE < bytes ? content->untouched_pages * PAGE : bytes;
}

static bool chunk_add(struct finding_twice *self, u32 node)
{
	const struct stream_graph *graph = self->query->graph;
	const struct stream_content *content = &graph->contents[node];
	struct chunk chunk = {.model = self->query->model};
	u32 group = content->group & ~CONTENT_REPEATED, point;
	u64 row, bytes;

	if (graph->chunks[node] >= chunk.model->chunks.count ||
	    !chunk_take(&chunk, graph->chunks[node]))
		return true;
	bytes = chunk.page->size[chunk.at];
	point = chunk_point(&chunk).index;
	if ((!content->group && !content->untouched_pages && bytes) ||
	    point >= chunk.model->points.count)
		return true;
	row = row_of(self, point, node);
	if (!row)
		return false;
	others_add(&self->to->rows.data[row - 1].sums, content, bytes);
	others_add(&self->to->all, content, bytes);
	return group < CONTENT_FIRST || alike_add(self, row, group, &chunk);
}

static int by_saving(const void *a, const void *b)
{
	const struct twice_row *x = a, *y = b;

	return falling(x->sums.saving_bytes, y->sums.saving_bytes)
		       ?: falling(x->sums.zero_bytes, y->sums.zero_bytes)
			       ?: falling(x->sums.untouched_bytes, y->sums.untouched_bytes)
				       ?: rising(x->point, y->point) ?: rising(x->kind, y->kind);
}

int owner_twice_find(struct owner_twice *self, const struct twice_query *query, struct err *err)
{
	struct finding_twice finding = {.to = self, .query = query};
	u64 count = query->graph->contents ? query->graph->chunk_count : 0;
	bool good = true;

	for (u32 i = 0; i < count && good; i++)
		good = chunk_add(&finding, graph_node(query->graph, i));
	vec_sort(&self->rows, by_saving);
	map_release(&finding.rows);
	map_release(&finding.seen);
	map_release(&finding.pairs);
	return good ? 0 : err_memory_for(err, "the owners");
}

void owner_twice_release(struct owner_twice *self) { vec_release(&self->rows); }

/* ---- as a result ---- */

static const struct result_column columns[] = {
	COLUMN("saving_bytes", "saving", VALUE_BYTES,
	       "bytes that one copy of each content would save"),
	COLUMN("alike_chunks", "alike", VALUE_COUNT, "chunks with the same bytes as another one"),
	COLUMN("different", "different", VALUE_COUNT, "different contents among these"),
	COLUMN("alike_bytes", NULL, VALUE_BYTES, "requested bytes of the chunks that are alike"),
	COLUMN("zero_bytes", "zero", VALUE_BYTES, "bytes of chunks that are all zero"),
	COLUMN("zero_chunks", NULL, VALUE_COUNT, "chunks that are all zero"),
	COLUMN("untouched_bytes", "untouched", VALUE_BYTES, "bytes of pages never touched"),
	COLUMN("empty_chunks", NULL, VALUE_COUNT, "chunks of no bytes"),
	COLUMN("type", "type", VALUE_TEXT, "type of their contents, or where it is allocated"),
	COLUMN("point", NULL, VALUE_ID, "number of the allocation point"),
	COLUMN("stack", "stack", VALUE_STACK, "the call stack that allocates"),
};

static void row_add(struct result *table, const struct owners *owners, const struct twice_row *row)
{
	const struct twice_sums *sums = &row->sums;
	struct point_id point = {row->point};

	result_row(table, value_number(sums->saving_bytes), value_number(sums->alike_chunks),
		   value_number(sums->different), value_number(sums->alike_bytes),
		   value_number(sums->zero_bytes), value_number(sums->zero_chunks),
		   value_number(sums->untouched_bytes), value_number(sums->empty_chunks),
		   result_text(table, owners->kinds.data[row->kind].label),
		   value_number(point.index),
		   stack_of_point(owners->query.types->query.source, point, table));
}

static struct result *twice_table(const struct owner_twice *self, const struct owners *owners,
				  u64 top)
{
	struct result *table = result_table("twice", "Twice", columns);

	if (!table)
		return NULL;
	table->empty = "no two chunks are alike";
	for (u64 i = 0; i < result_top(self->rows.count, top); i++)
		row_add(table, owners, &self->rows.data[i]);
	result_add_more(table, self->rows.count, top);
	return table;
}

int owner_twice_add(struct result *to, const struct owners *owners, u64 top, struct err *err)
{
	struct twice_query query = {owners->model, owners->query.graph, owners->kind_of};
	struct owner_twice twice = {0};
	int status;

	if (!query.graph->contents)
		return 0;
	status = owner_twice_find(&twice, &query, err);
	if (status == 0) {
		result_field(to, "twice_saving_bytes", "twice", VALUE_BYTES,
			     value_number(twice.all.saving_bytes),
			     "bytes that one copy of each content would save", .hide_zero = true,
			     .remark = "in {twice_chunks:chunk} with {twice_different} contents");
		result_field(to, "twice_chunks", NULL, VALUE_COUNT,
			     value_number(twice.all.alike_chunks),
			     "chunks with the same bytes as another one");
		result_field(to, "twice_different", NULL, VALUE_COUNT,
			     value_number(twice.all.different), "different contents among these");
		result_field(to, "zero_bytes", "all zero", VALUE_BYTES,
			     value_number(twice.all.zero_bytes),
			     "bytes of chunks that are all zero", .hide_zero = true,
			     .remark = "in {zero_chunks:chunk}");
		result_field(to, "zero_chunks", NULL, VALUE_COUNT,
			     value_number(twice.all.zero_chunks), "chunks that are all zero");
		result_field(to, "untouched_bytes", "untouched", VALUE_BYTES,
			     value_number(twice.all.untouched_bytes),
			     "bytes of pages of chunks never touched", .hide_zero = true);
		result_field(to, "empty_chunks", NULL, VALUE_COUNT,
			     value_number(twice.all.empty_chunks), "chunks of no bytes");
		result_field(to, "twice_count", NULL, VALUE_COUNT, value_number(twice.rows.count),
			     "allocation points and types of such chunks");
		result_add_part(to, twice_table(&twice, owners, top));
	}
	owner_twice_release(&twice);
	return status;
}
