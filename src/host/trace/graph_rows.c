/* SPDX-License-Identifier: MIT
 * What a graph says besides its pointers, to and from blocks that come before it: contents of
 * chunks and numbers beside pointers. What takes runs on the monitor's drain thread; what gathers
 * on the host, where nothing is allocated by a number that the payload does not back. */
#include <stdlib.h>

#include "host/trace/cursor.h"
#include "host/trace/graphs.h"

/* ---- what both have ---- */

/* The head of a block: the graph, by its time and the nodes that rows may be of, and its rows. */
static void put_head(struct strbuf *head, u64 ticks, u64 nodes, u64 rows, u64 first)
{
	varint_add(head, ticks);
	varint_add(head, nodes);
	varint_add(head, rows);
	varint_add(head, first);
}

/* Whether the block begins rows, or goes on with the `gathered` ones; *first = it begins them. */
static bool rows_begin(struct rows_gather *self, struct cursor *in, u64 gathered, bool *first)
{
	struct rows_gather head = {.ticks = cursor_get(in), .open = true};
	u64 before;

	head.node_count = cursor_get_u32(in);
	head.row_count = cursor_get(in);
	before = cursor_get(in);
	*first = before == 0;
	if (in->bad)
		return false;
	if (*first)
		*self = head;
	return self->open && self->ticks == head.ticks && self->node_count == head.node_count &&
	       self->row_count == head.row_count && (*first || gathered == before);
}

/* Whether the rows are whole, and those of the graph. */
static bool rows_fit(const struct rows_gather *self, u64 ticks, u64 nodes, u64 gathered)
{
	return self->open && self->ticks == ticks && self->node_count == nodes &&
	       self->row_count == gathered;
}

/* ---- contents ---- */

static bool content_is_told(const struct stream_content *content)
{
	return content->group || content->untouched_pages;
}

struct parcel *contents_take(const struct stream_graph *graph, u64 *node, u64 *row)
{
	struct columns columns = {0};
	struct parcel *parcel;
	u64 rows = 0, expected = 0;
	u32 group = 0;

	for (u64 i = 0; i < graph->chunk_count; i++)
		rows += content_is_told(&graph->contents[i]);
	put_head(&columns.data[HW_CONTENTS_COLUMN_HEAD], graph->ticks, graph->chunk_count, rows,
		 *row);
	for (; *node < graph->chunk_count && columns.items < HW_BLOCK_CONTENTS_MAX; ++*node) {
		const struct stream_content *content = &graph->contents[*node];

		if (!content_is_told(content))
			continue;
		varint_add(&columns.data[HW_CONTENTS_COLUMN_CHUNK], *node - expected);
		varint_add(&columns.data[HW_CONTENTS_COLUMN_GROUP],
			   hw_zigzag((i64)content->group - (i64)group));
		varint_add(&columns.data[HW_CONTENTS_COLUMN_PAGES], content->untouched_pages);
		expected = *node + 1;
		group = content->group;
		columns.items++;
	}
	*row += columns.items + !columns.items;
	parcel = columns_take(&columns, HW_CONTENTS_COLUMNS);
	columns_release(&columns);
	return parcel;
}

static void contents_forget(struct graph_gather *self)
{
	vec_release(&self->content_rows);
	self->contents.open = false;
}

static void get_content(const struct rows_gather *self, struct cursor *columns,
			struct content_row *row)
{
	u64 node = (u64)row->node + cursor_get_u32(&columns[HW_CONTENTS_COLUMN_CHUNK]);
	/* below 0 is far above */
	u64 group = row->content.group +
		    (u64)hw_unzigzag(cursor_get(&columns[HW_CONTENTS_COLUMN_GROUP]));

	columns[HW_CONTENTS_COLUMN_CHUNK].bad |= node >= self->node_count;
	columns[HW_CONTENTS_COLUMN_GROUP].bad |= group > UINT32_MAX;
	row->node = (u32)node;
	row->content.group = (u32)group;
	row->content.untouched_pages = cursor_get_u32(&columns[HW_CONTENTS_COLUMN_PAGES]);
}

int contents_gather(struct graph_gather *self, const struct block *block, struct err *err)
{
	struct cursor in = block_cursor(block), columns[HW_CONTENTS_COLUMNS];
	struct content_row row = {0};
	bool first;

	if (block->items > HW_BLOCK_CONTENTS_MAX ||
	    !cursor_split(&in, columns, HW_CONTENTS_COLUMNS))
		return BLOCK_CONTENT;
	if (!rows_begin(&self->contents, &columns[HW_CONTENTS_COLUMN_HEAD],
			self->content_rows.count, &first)) {
		contents_forget(self);
		return columns[HW_CONTENTS_COLUMN_HEAD].bad ? BLOCK_CONTENT : 0;
	}
	if (first)
		vec_clear(&self->content_rows);
	for (u32 i = 0; i < block->items; i++) {
		get_content(&self->contents, columns, &row);
		if (cursors_bad(columns, HW_CONTENTS_COLUMNS) ||
		    self->content_rows.count == self->contents.row_count)
			break;
		if (!vec_push(&self->content_rows, row))
			return err_memory(err);
		row.node++;
	}
	if (!cursors_bad(columns, HW_CONTENTS_COLUMNS) &&
	    cursors_at_end(columns, HW_CONTENTS_COLUMNS))
		return 0;
	contents_forget(self);
	return BLOCK_CONTENT;
}

static int contents_fill(struct graph_gather *self, struct err *err)
{
	if (!rows_fit(&self->contents, self->graph.ticks, self->chunks.count,
		      self->content_rows.count))
		return 0;
	self->told = calloc(self->chunks.count + 1, sizeof(*self->told));
	if (!self->told)
		return err_memory(err);
	for (u64 i = 0; i < self->content_rows.count; i++)
		self->told[self->content_rows.data[i].node] = self->content_rows.data[i].content;
	return 0;
}

/* ---- numbers ---- */

struct parcel *numbers_take(const struct stream_graph *graph, u64 *next, u64 *row)
{
	struct columns columns = {0};
	struct parcel *parcel;
	u64 place = 0;

	put_head(&columns.data[HW_NUMBERS_COLUMN_HEAD], graph->ticks,
		 graph->chunk_count + graph->root_count, graph->number_count, *row);
	for (; *next < graph->number_count && columns.items < HW_BLOCK_NUMBERS_MAX; ++*next) {
		const struct stream_number *number = &graph->numbers[*next];
		u64 nodes = (number->place >> 32) - (place >> 32);
		u64 from = (u32)number->place - (nodes ? 0 : (u32)place);

		varint_add(&columns.data[HW_NUMBERS_COLUMN_NODE], nodes);
		varint_add(&columns.data[HW_NUMBERS_COLUMN_FROM], word_step(from));
		varint_add(&columns.data[HW_NUMBERS_COLUMN_VALUE], number->value);
		place = number->place;
		columns.items++;
	}
	*row += columns.items + !columns.items;
	parcel = columns_take(&columns, HW_NUMBERS_COLUMNS);
	columns_release(&columns);
	return parcel;
}

static void numbers_forget(struct graph_gather *self)
{
	vec_release(&self->number_rows);
	self->numbers.open = false;
}

/* `number` is the one before; `is_first`: there is none. */
static void get_number(const struct rows_gather *self, struct cursor *columns, bool is_first,
		       struct stream_number *number)
{
	u64 nodes = cursor_get_u32(&columns[HW_NUMBERS_COLUMN_NODE]);
	u64 code = cursor_get(&columns[HW_NUMBERS_COLUMN_FROM]);
	u64 node = (number->place >> 32) + nodes;
	u64 from = word_step_bytes(code) + (nodes ? 0 : (u32)number->place);

	columns[HW_NUMBERS_COLUMN_NODE].bad |= node >= self->node_count;
	/* each is behind the one before */
	columns[HW_NUMBERS_COLUMN_FROM].bad |=
		code >> 34 || from > UINT32_MAX || (!is_first && !nodes && !code);
	number->place = number_place((u32)node, (u32)from);
	number->value = cursor_get(&columns[HW_NUMBERS_COLUMN_VALUE]);
	columns[HW_NUMBERS_COLUMN_VALUE].bad |= !number->value;
}

/* Rows of a block come after those of the one before. */
static bool number_fits(const struct graph_gather *self, const struct stream_number *number)
{
	u64 count = self->number_rows.count;

	return count < self->numbers.row_count &&
	       (!count || self->number_rows.data[count - 1].place < number->place);
}

int numbers_gather(struct graph_gather *self, const struct block *block, struct err *err)
{
	struct cursor in = block_cursor(block), columns[HW_NUMBERS_COLUMNS];
	struct stream_number number = {0};
	bool first;

	if (block->items > HW_BLOCK_NUMBERS_MAX || !cursor_split(&in, columns, HW_NUMBERS_COLUMNS))
		return BLOCK_CONTENT;
	if (!rows_begin(&self->numbers, &columns[HW_NUMBERS_COLUMN_HEAD], self->number_rows.count,
			&first)) {
		numbers_forget(self);
		return columns[HW_NUMBERS_COLUMN_HEAD].bad ? BLOCK_CONTENT : 0;
	}
	if (first)
		vec_clear(&self->number_rows);
	for (u32 i = 0; i < block->items; i++) {
		get_number(&self->numbers, columns, i == 0, &number);
		if (cursors_bad(columns, HW_NUMBERS_COLUMNS) || !number_fits(self, &number))
			break;
		if (!vec_push(&self->number_rows, number))
			return err_memory(err);
	}
	if (!cursors_bad(columns, HW_NUMBERS_COLUMNS) &&
	    cursors_at_end(columns, HW_NUMBERS_COLUMNS))
		return 0;
	numbers_forget(self);
	return BLOCK_CONTENT;
}

static int numbers_fill(struct graph_gather *self, struct err *err)
{
	u64 nodes = self->chunks.count + self->roots.count;

	if (!rows_fit(&self->numbers, self->graph.ticks, nodes, self->number_rows.count))
		numbers_forget(self);
	/* also if there are none, so that this is known */
	else if (!vec_reserve(&self->number_rows, 1))
		return err_memory(err);
	return 0;
}

/* ---- both ---- */

int graph_rows_fill(struct graph_gather *self, struct err *err)
{
	int status = contents_fill(self, err);

	return status < 0 ? status : numbers_fill(self, err);
}

void graph_rows_release(struct graph_gather *self)
{
	contents_forget(self);
	numbers_forget(self);
}
