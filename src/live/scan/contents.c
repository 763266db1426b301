/* SPDX-License-Identifier: MIT
 * Reads what is in blocks; see contents.h. Runs on a scan's thread. Nothing that was read is kept
 * but a hash of it. */
#define _GNU_SOURCE
#include "live/scan/contents.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "host/base/xxh.h"

enum {
	SECRET = 192,
	UNIT = 4096, /* bytes of a large block that are looked at together */
	MIXED = -2,
	NO_BYTE = -1,
};

struct reading {
	struct scan_contents *to;
	struct scan_memory *memory;
	const struct scan_index *index;
	XXH3_state_t *state;
	u8 secret[SECRET];
	/* of the large block that is read */
	const struct scan_block *block;
	u64 pages_start, pages_end; /* its whole pages */
	u64 touched_bytes;          /* of these */
	u64 unit;                   /* number of the one in `bytes` */
	u64 filled_bytes;           /* in units that are not all 0 */
	int byte;                   /* that all of these are; or MIXED, NO_BYTE */
	u8 bytes[UNIT];
};

/* Whether all bytes are the first one. */
static bool is_repeated(const u8 *bytes, u64 count)
{
	return count && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* Equal keys are taken for equal contents: 64 bits that nobody can aim at. */
static u64 key_of(u64 hash, u64 size) { return hash ^ size * 0x9e3779b97f4a7c15ull; }

static void note(struct reading *self, u32 number, u32 group, u64 key)
{
	self->to->rows[number].group = group;
	self->to->keys[number] = key;
}

static void small_read(struct reading *self, u32 number, const u8 *bytes)
{
	u64 size = self->index->blocks.data[number].size;
	bool repeated = is_repeated(bytes, size);

	if (!size)
		return;
	if (repeated && !*bytes)
		note(self, number, CONTENT_ZERO, 0);
	else
		note(self, number, repeated ? CONTENT_REPEATED : 0,
		     key_of(XXH3_64bits_withSecret(bytes, size, self->secret, SECRET), size));
}

/* ---- large blocks ---------------------------------------------------------------------------- */

/* Units of zeros do not count, so that it is the same whether they were touched or not. */
static void unit_end(struct reading *self)
{
	u64 left = self->block->size - self->unit * UNIT, count = left < UNIT ? left : UNIT;
	bool repeated = is_repeated(self->bytes, count);

	if (repeated && !self->bytes[0])
		return;
	if (!repeated || (self->byte != NO_BYTE && self->byte != self->bytes[0]))
		self->byte = MIXED;
	else if (self->byte == NO_BYTE)
		self->byte = self->bytes[0];
	self->filled_bytes += count;
	XXH3_64bits_update(self->state, &self->unit, sizeof(self->unit));
	XXH3_64bits_update(self->state, self->bytes, count);
	memset(self->bytes, 0, UNIT);
}

static void bytes_put(struct reading *self, u64 offset, const u8 *bytes, u64 count)
{
	while (count) {
		u64 at = offset % UNIT, part = UNIT - at < count ? UNIT - at : count;

		if (offset / UNIT != self->unit) {
			unit_end(self);
			self->unit = offset / UNIT;
		}
		memcpy(self->bytes + at, bytes, part);
		offset += part;
		bytes += part;
		count -= part;
	}
}

static void words_put(void *data, u64 address, const u64 *words, u64 count)
{
	struct reading *self = data;
	u64 start = address > self->pages_start ? address : self->pages_start;
	u64 end = address + count * 8 < self->pages_end ? address + count * 8 : self->pages_end;

	if (start < end)
		self->touched_bytes += end - start;
	bytes_put(self, address - self->block->address, (const u8 *)words, count * 8);
}

/* Bytes that are no whole word. */
static void rest_put(struct reading *self, u64 start, u64 end)
{
	u8 bytes[8];

	if (start < end && scan_memory_touched(self->memory, start, end) < end &&
	    scan_memory_read(self->memory, start, bytes, end - start))
		bytes_put(self, start - self->block->address, bytes, end - start);
}

static void large_read(struct reading *self, u32 number)
{
	const struct scan_block *block = &self->index->blocks.data[number];
	u64 end = block->address + block->size, words = (block->address + 7) & ~7ull;

	self->block = block;
	self->pages_start = (block->address + SCAN_PAGE - 1) & -(u64)SCAN_PAGE;
	self->pages_end = end & -(u64)SCAN_PAGE;
	self->touched_bytes = self->unit = self->filled_bytes = 0;
	self->byte = NO_BYTE;
	memset(self->bytes, 0, UNIT);
	XXH3_64bits_reset_withSecret(self->state, self->secret, SECRET);
	rest_put(self, block->address, words);
	scan_memory_each_word(self->memory, words, end & ~7ull, words_put, self);
	rest_put(self, end & ~7ull, end);
	unit_end(self);
	if (self->pages_end > self->pages_start) {
		u64 pages = (self->pages_end - self->pages_start - self->touched_bytes) / SCAN_PAGE;

		self->to->rows[number].untouched_pages =
			pages < UINT32_MAX ? (u32)pages : UINT32_MAX;
	}
	if (!self->filled_bytes)
		note(self, number, CONTENT_ZERO, 0);
	else
		note(self, number,
		     self->byte >= 0 && self->filled_bytes == block->size ? CONTENT_REPEATED : 0,
		     key_of(XXH3_64bits_digest(self->state), block->size));
}

/* ---- all ------------------------------------------------------------------------------------- */

static void piece_read(struct reading *self, u32 first, u32 next, u64 end)
{
	const struct scan_block *blocks = self->index->blocks.data;
	u64 start = blocks[first].address & -(u64)SCAN_PAGE;

	scan_memory_pages(self->memory, start, (end - start + SCAN_PAGE - 1) / SCAN_PAGE);
	for (u32 i = first; i < next; i++)
		small_read(self, i, self->memory->buffer + (blocks[i].address - start));
}

static int blocks_read(struct reading *self, struct err *err)
{
	u32 block = 0, count = (u32)self->index->blocks.count;

	while (block < count) {
		u64 end;
		u32 next = scan_index_piece(self->index, block, count, &end);

		if (next > block) {
			piece_read(self, block, next, end);
		} else {
			large_read(self, block);
			next = block + 1;
		}
		block = next;
		if (scan_memory_check(self->memory, err) < 0)
			return err->code;
	}
	return 0;
}

int scan_contents_read(struct scan_contents *self, struct scan_memory *memory,
		       const struct scan_index *index, struct err *err)
{
	struct reading reading = {.to = self, .memory = memory, .index = index};
	int status;

	self->count = index->blocks.count;
	self->keys = calloc(self->count + 1, sizeof(*self->keys));
	self->rows = calloc(self->count + 1, sizeof(*self->rows));
	reading.state = XXH3_createState();
	if (!self->keys || !self->rows || !reading.state)
		status = err_memory(err);
	else if (getrandom(reading.secret, SECRET, 0) != SECRET)
		status = err_set(err, ERR_SYSTEM, "no random numbers to hash contents with");
	else
		status = blocks_read(&reading, err);
	XXH3_freeState(reading.state);
	explicit_bzero(&reading, sizeof(reading));
	return status;
}

struct keyed {
	u64 key; /* first: what they are sorted by */
	u64 place;
};

/* Blocks that are alike get the place of the first of them + 1, which groups_number turns into a
 * number. */
static void alike_join(const struct keyed *rows, u64 count, u32 *leaders)
{
	for (u64 i = 0, end; i < count; i = end) {
		u64 first = rows[i].place;

		for (end = i + 1; end < count && rows[end].key == rows[i].key; end++)
			if (rows[end].place < first)
				first = rows[end].place;
		for (u64 k = i; k < end && end - i > 1; k++)
			leaders[rows[k].place] = (u32)first + 1;
	}
}

/* A leader comes before those that it leads: its number is known then. */
static void groups_number(struct stream_content *to, u32 *leaders, u64 count)
{
	u32 next = CONTENT_FIRST;

	for (u64 i = 0; i < count; i++) {
		if (!leaders[i])
			continue;
		leaders[i] = leaders[i] == i + 1 ? next++ : leaders[leaders[i] - 1];
		to[i].group |= leaders[i];
	}
}

bool scan_contents_number(struct scan_contents *self, const u32 *places, struct stream_content *to)
{
	struct keyed *rows = malloc((self->count + 1) * sizeof(*rows));
	u32 *leaders = calloc(self->count + 1, sizeof(*leaders));
	bool good = rows && leaders;
	u64 count = 0;

	for (u64 i = 0; i < self->count && good; i++) {
		to[places[i]] = self->rows[i];
		if (self->keys[i])
			rows[count++] = (struct keyed){self->keys[i], places[i]};
	}
	good = good && scan_sort(rows, count, sizeof(*rows));
	if (good) {
		alike_join(rows, count, leaders);
		groups_number(to, leaders, self->count);
		for (u64 i = 0; i < self->count; i++) /* a lone one is nobody's like */
			if (to[i].group == CONTENT_REPEATED)
				to[i].group = CONTENT_UNIQUE;
	}
	free(rows);
	free(leaders);
	return good;
}

void scan_contents_release(struct scan_contents *self)
{
	free(self->keys);
	free(self->rows);
	*self = (struct scan_contents){0};
}
