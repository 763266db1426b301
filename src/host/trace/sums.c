/* SPDX-License-Identifier: MIT
 * Tables of sums into blocks and back. Runs on the host, after the recording. What is read may be a
 * stranger's: each row takes a byte of the payload for each field at least, so that no more memory
 * is taken than the block may promise. */
#include "host/trace/sums.h"

#include <string.h>

#include "host/trace/append.h"
#include "host/trace/cursor.h"
#include "host/trace/readerfile.h"

enum {
	PART_FULL = 1 << 20,
	ROWS_AT_ONCE = 1 << 13,
	COUNTS = 0, /* the id of the last table */
	TABLES_MAX = 64
};

static const struct sums_field count_fields[] = {SUMS_FIELD(struct sums_count, table),
						 SUMS_FIELD(struct sums_count, rows)};
static const struct sums_table count_table = SUMS_TABLE(COUNTS, struct sums_count, count_fields);

/* ---- writing ---- */

static u64 field_get(const struct sums_field *field, const u8 *row)
{
	u64 value = 0;

	memcpy(&value, row + field->offset, field->bytes); /* the lowest byte is the first */
	return value;
}

/* The part that takes more; NULL without memory. */
static struct sums_part *part_open(struct sums_out *self)
{
	struct sums_part *last =
		self->parts.count ? &self->parts.data[self->parts.count - 1] : NULL;

	if (last && last->payload.count < PART_FULL)
		return last;
	if (!vec_push(&self->parts, (struct sums_part){0}))
		return NULL;
	last = &self->parts.data[self->parts.count - 1];
	varint_add(&last->payload, self->image);
	return last;
}

static struct sums_count *count_of(struct sums_out *self, u32 table)
{
	for (u64 i = 0; i < self->counts.count; i++)
		if (self->counts.data[i].table == table)
			return &self->counts.data[i];
	return vec_push(&self->counts, (struct sums_count){.table = table})
		       ? &self->counts.data[self->counts.count - 1]
		       : NULL;
}

static void column_add(struct strbuf *payload, const struct sums_table *table, u32 number,
		       const u8 *rows, u64 count)
{
	const struct sums_field *field = &table->fields[number];
	struct strbuf column = {0};
	u64 before = 0;

	for (u64 i = 0; i < count; i++) {
		u64 value = field_get(field, rows + i * table->row_bytes);

		varint_add(&column, hw_zigzag((i64)(value - before)));
		before = value;
	}
	bytes_add(payload, strbuf_text(&column), column.count);
	payload->failed |= column.failed;
	strbuf_release(&column);
}

static void rows_add(struct sums_out *self, const struct sums_table *table, const void *rows,
		     u64 first, u64 count)
{
	struct sums_part *part = part_open(self);

	if (!part) {
		self->failed = true;
		return;
	}
	varint_add(&part->payload, table->id);
	varint_add(&part->payload, first);
	varint_add(&part->payload, count);
	varint_add(&part->payload, table->field_count);
	for (u32 i = 0; i < table->field_count; i++)
		column_add(&part->payload, table, i, rows, count);
	part->rows += (u32)count;
	self->failed |= part->payload.failed;
}

void sums_out_add(struct sums_out *self, const struct sums_table *table, const void *rows,
		  u64 count)
{
	struct sums_count *all = count_of(self, table->id);

	if (!all) {
		self->failed = true;
		return;
	}
	for (u64 done = 0; done < count && !self->failed;) {
		u64 some = count - done < ROWS_AT_ONCE ? count - done : ROWS_AT_ONCE;

		rows_add(self, table, (const u8 *)rows + done * table->row_bytes, all->rows + done,
			 some);
		done += some;
	}
	all->rows += count;
}

void sums_out_end(struct sums_out *self)
{
	rows_add(self, &count_table, self->counts.data, 0, self->counts.count);
}

void sums_out_release(struct sums_out *self)
{
	for (u64 i = 0; i < self->parts.count; i++)
		strbuf_release(&self->parts.data[i].payload);
	vec_release(&self->parts);
	vec_release(&self->counts);
}

static int append(struct block_file *file, const void *data, u64 count, struct err *err)
{
	const struct sums_out *sums = data;
	int status = 0;

	(void)count;
	for (u64 i = 0; i < sums->parts.count && status == 0; i++)
		status = append_payload(file, HW_BLOCK_SUMS, &sums->parts.data[i].payload,
					sums->parts.data[i].rows, err);
	return status;
}

int trace_write_sums(const char *path, struct sums_out *sums, struct err *err)
{
	sums_out_end(sums);
	if (sums->failed)
		return err_memory_for(err, "the sums");
	return trace_append(path, append, sums, 1, err);
}

/* ---- reading ---- */

struct piece { /* rows of a table */
	u32 table, columns;
	u64 first, rows;
	const u8 *at, *end; /* of the columns, each behind its length */
};

struct sums_in {
	u32 image;
	struct arena arena;
	VEC(struct piece) pieces;
	u64 rows[TABLES_MAX]; /* so far */
	VEC(struct sums_count) counts;
	bool damaged;
};

static void begin_again(struct sums_in *self)
{
	arena_release(&self->arena);
	vec_clear(&self->pieces);
	vec_clear(&self->counts);
	memset(self->rows, 0, sizeof self->rows);
	self->damaged = false;
}

static bool column_get(struct cursor *in, const struct sums_field *field, u32 row_bytes, u8 *rows,
		       u64 count)
{
	u64 value = 0, most = field->bytes == 8 ? UINT64_MAX : (1ull << field->bytes * 8) - 1;

	for (u64 i = 0; i < count; i++) {
		value += (u64)hw_unzigzag(cursor_get(in));
		in->bad |= value > (field->truth ? 1 : most);
		if (in->bad)
			return false;
		memcpy(rows + i * row_bytes + field->offset, &value, field->bytes);
	}
	return in->at == in->end;
}

/* Of a piece: the columns that are known; the others are passed over. */
static bool piece_get(const struct piece *piece, const struct sums_table *table, u8 *rows)
{
	struct cursor in = {piece->at, piece->end, false};

	if (piece->columns < table->field_count)
		return false;
	for (u32 i = 0; i < table->field_count; i++) {
		u64 bytes;
		const u8 *at = cursor_bytes(&in, &bytes);
		struct cursor column = {at, at + bytes, in.bad};

		if (!column_get(&column, &table->fields[i], table->row_bytes,
				rows + piece->first * table->row_bytes, piece->rows))
			return false;
	}
	return true;
}

/* Rows of a table follow each other, and each takes a byte of every column. */
static bool piece_load(struct sums_in *self, struct cursor *in)
{
	struct piece piece = {.table = cursor_get_u32(in)};

	piece.first = cursor_get(in);
	piece.rows = cursor_get(in);
	piece.columns = cursor_get_u32(in);
	piece.at = in->at;
	for (u32 i = 0; i < piece.columns && !in->bad; i++) {
		u64 bytes;

		cursor_bytes(in, &bytes);
		in->bad |= bytes < piece.rows;
	}
	piece.end = in->at;
	in->bad |= !piece.columns || piece.table >= TABLES_MAX ||
		   piece.first != self->rows[piece.table % TABLES_MAX];
	if (in->bad)
		return true;
	self->rows[piece.table] += piece.rows;
	return vec_push(&self->pieces, piece);
}

/* The last table counts the rows of the others. */
static bool counts_load(struct sums_in *self)
{
	const struct piece *last = &self->pieces.data[self->pieces.count - 1];

	if (!vec_extend(&self->counts, last->rows))
		return false;
	self->damaged |= !piece_get(last, &count_table, (u8 *)self->counts.data);
	for (u64 i = 0; i < self->counts.count && !self->damaged; i++)
		self->damaged |=
			self->counts.data[i].table >= TABLES_MAX ||
			self->rows[self->counts.data[i].table] != self->counts.data[i].rows;
	return true;
}

/* False if there is no memory. Sums that come after others replace them. */
static bool load_block(void *data, const struct block *block)
{
	struct sums_in *self = data;
	struct cursor in = block_cursor(block);
	u8 *copy;

	if (cursor_get_u32(&in) != self->image || in.bad)
		return true;
	if (self->counts.count)
		begin_again(self);
	copy = arena_alloc(&self->arena, block->bytes + 1);
	if (!copy)
		return false;
	memcpy(copy, block->payload, block->bytes);
	in = (struct cursor){copy + (in.at - block->payload), copy + block->bytes, false};
	while (in.at < in.end && !in.bad)
		if (!piece_load(self, &in))
			return false;
	self->damaged |= in.bad;
	if (self->damaged || !self->pieces.count ||
	    self->pieces.data[self->pieces.count - 1].table != COUNTS)
		return true;
	return counts_load(self);
}

struct sums_in *trace_read_sums(const char *path, u32 image, struct err *err)
{
	struct sums_in *self = calloc(1, sizeof *self);

	if (!self) {
		err_memory(err);
		return NULL;
	}
	self->image = image;
	if (trace_blocks(path, HW_BLOCK_SUMS, load_block, self, err) == 0 && self->counts.count &&
	    !self->damaged)
		return self;
	sums_in_free(self);
	return NULL;
}

void sums_in_free(struct sums_in *self)
{
	if (!self)
		return;
	begin_again(self);
	vec_release(&self->pieces);
	vec_release(&self->counts);
	free(self);
}

u64 sums_in_count(const struct sums_in *self, const struct sums_table *table)
{
	return self->rows[table->id];
}

bool sums_in_get(const struct sums_in *self, const struct sums_table *table, void *rows)
{
	for (u64 i = 0; i < self->pieces.count; i++)
		if (self->pieces.data[i].table == table->id &&
		    !piece_get(&self->pieces.data[i], table, rows))
			return false;
	return true;
}
