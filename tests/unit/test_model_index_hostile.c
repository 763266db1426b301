/* SPDX-License-Identifier: MIT
 * Indexes that are damaged, and indexes that someone made up whose checksums are right. */
#include "host/base/map.h"
#include "lib/use_model.h"
#include "unit/test_index.h"

enum { CHUNKS = 3000 };

struct victim {
	char trace[512];
	char index[4200];
	u8 *bytes;
	u64 count;
	struct index_header header;
};

static struct victim victim_new(void)
{
	struct victim self = {0};
	struct index_made made;

	snprintf(self.trace, sizeof self.trace, "%s", index_trace("v.hwt", CHUNKS));
	build_index(self.trace, TRACE_LAST_IMAGE, &made);
	snprintf(self.index, sizeof self.index, "%s", made.path);
	self.count = read_index(self.index, &self.bytes);
	memcpy(&self.header, self.bytes, sizeof self.header);
	return self;
}

/* Header and small parts alone, into the file that is there. */
static void write_changes(const struct victim *self)
{
	FILE *out = fopen(self->index, "r+e");
	u64 small = self->header.small_offset;

	CHECK(out && fwrite(self->bytes, sizeof self->header, 1, out) == 1 &&
	      fseek(out, (long)small, SEEK_SET) == 0 &&
	      fwrite(self->bytes + small, self->count - small, 1, out) == 1 && fclose(out) == 0);
}

/* Opens what was written and uses it; whether the index was used. */
static bool opens(const struct victim *self)
{
	struct trace_info info = {0};
	struct model_options options = {.image = TRACE_LAST_IMAGE, .info = &info};
	struct model *model = open_model(self->trace, &options);
	bool used = model->store != NULL;

	if (used)
		use_model(model, &info);
	else
		CHECK_EQ(model->chunks.count, CHUNKS); /* by the trace, and right */
	model_free(model);
	return used;
}

static bool is_used(const struct victim *self, u64 count)
{
	write_index(self->index, self->bytes, count);
	return opens(self);
}

static bool is_used_changed(const struct victim *self)
{
	write_changes(self);
	return opens(self);
}

TEST(damaged, "an index with a wrong byte in its header or small parts is not used")
{
	struct victim self = victim_new();

	CHECK(is_used(&self, self.count));
	for (u64 i = 0; i < 300; i++) {
		u64 at = i % 3 ? self.header.small_offset + hash_u64(i) % self.header.small_bytes
			       : hash_u64(i) % sizeof self.header;

		self.bytes[at] ^= (u8)(1 << i % 8);
		CHECK(!is_used_changed(&self));
		self.bytes[at] ^= (u8)(1 << i % 8);
	}
	CHECK(is_used(&self, self.count));
	free(self.bytes);
}

TEST(shortened, "an index that ends too early, or too late, is not used")
{
	struct victim self = victim_new();
	u64 lengths[] = {0,
			 1,
			 8,
			 sizeof self.header - 1,
			 sizeof self.header,
			 4096,
			 100000,
			 self.header.small_offset,
			 self.count - 1};

	for (u32 i = 0; i < sizeof lengths / sizeof *lengths; i++)
		CHECK(!is_used(&self, lengths[i]));
	self.bytes = realloc(self.bytes, self.count + 1);
	self.bytes[self.count] = 0;
	CHECK(!is_used(&self, self.count + 1));
	free(self.bytes);
}

static void put(struct victim *self, u64 at, u32 width, u64 value)
{
	if (at + width <= self->count)
		memcpy(self->bytes + at, &value, width);
}

TEST(made_up_parts, "small parts that say anything are refused or used, and nothing breaks")
{
	static const u64 values[] = {0,
				     1,
				     2,
				     7,
				     255,
				     4096,
				     0x7fffffff,
				     0x80000000,
				     0xffffffff,
				     1ull << 40,
				     1ull << 63,
				     UINT64_MAX,
				     UINT64_MAX - 7};
	struct victim self = victim_new();
	u8 *whole = malloc(self.count);
	u64 used = 0, rounds = 800;

	memcpy(whole, self.bytes, self.count);
	for (u64 i = 0; i < rounds; i++) {
		u64 random = hash_u64(i * 3 + 1), range = self.header.small_bytes;

		/* counts and single numbers are at both ends, long tables between */
		if (i % 4 == 0)
			range = 2048;
		for (u32 k = 0; k <= i % 3; k++) {
			u64 at = hash_u64(random + k) % range, width = 1u << (i % 4);

			if (i % 4 == 1)
				at = self.header.small_bytes - 1 - at % 4096;
			put(&self, self.header.small_offset + at / width * width, (u32)width,
			    values[hash_u64(random ^ k) % (sizeof values / sizeof *values)]);
		}
		seal_index(self.bytes);
		used += is_used_changed(&self);
		memcpy(self.bytes, whole, self.count);
	}
	CHECK(used > rounds / 20 && used < rounds); /* else this tries nothing */
	free(whole);
	free(self.bytes);
}

TEST(made_up_header, "a header that leads elsewhere is refused")
{
	struct victim self = victim_new();
	u8 *whole = malloc(self.count);

	memcpy(whole, self.bytes, self.count);
	for (u64 i = 0; i < 200; i++) {
		struct index_header header = self.header;
		u64 *fields[] = {&header.file_bytes, &header.small_offset,  &header.small_bytes,
				 &header.image,      &header.is_last_image, &header.trace.bytes};

		*fields[i % 6] = i < 100 ? hash_u64(i) : self.count + i - 150;
		if (memcmp(&header, &self.header, sizeof header) == 0)
			continue;
		index_header_seal(&header);
		memcpy(self.bytes, &header, sizeof header);
		/* of the last image no number is asked for */
		CHECK(fields[i % 6] == &header.image || !is_used_changed(&self));
	}
	free(whole);
	free(self.bytes);
}

TEST(made_up_columns, "columns that name what is not there are refused")
{
	static const struct {
		u64 column;
		u32 width;
	} rows[] = {
		{offsetof(struct chunk_page, alloc_context), 4},
		{offsetof(struct chunk_page, free_context), 4},
		{offsetof(struct chunk_page, alloc_thread), 4},
		{offsetof(struct chunk_page, free_thread), 4},
		{offsetof(struct chunk_page, kind), 1},
		{offsetof(struct chunk_page, end), 1},
	};
	struct victim self = victim_new();
	u64 page = INDEX_PAGE; /* the first one */

	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++)
		for (u32 k = 0; k < 3; k++) {
			u64 at = page + rows[i].column +
				 (k ? hash_u64(k) % CHUNK_PAGE : 0) * rows[i].width;
			u64 before = 0;

			memcpy(&before, self.bytes + at, rows[i].width);
			put(&self, at, rows[i].width,
			    k == 2               ? UINT64_MAX
			    : rows[i].width == 4 ? 1 << 20
						 : 99);
			CHECK(!is_used(&self, self.count));
			put(&self, at, rows[i].width, before);
		}
	CHECK(is_used(&self, self.count));
	free(self.bytes);
}

/* Where the columns end: what is stored after them is not cells, and refused if it is made up. */
static u64 columns_end(const struct victim *self)
{
	struct model *model = open_by_index(self->trace, TRACE_LAST_IMAGE);
	const u8 *start = column_store_at(model->store, 0, 1);
	u64 end = self->header.small_offset;

	for (u32 i = 0; i < STORED_KINDS; i++) {
		const u8 *data = model->stored[i].data;

		if (data && (u64)(data - start) < end)
			end = (u64)(data - start);
	}
	model_free(model);
	return end;
}

TEST(made_up_cells, "cells of accesses and types that name what is not there are passed over")
{
	struct victim self = victim_new();
	u64 end = columns_end(&self);

	/* after the page of chunks: whatever comes, up to the end of the columns */
	for (u64 at = INDEX_PAGE + sizeof(struct chunk_page); at < end; at += 13)
		self.bytes[at] = (u8)hash_u64(at);
	CHECK(is_used(&self, self.count));
	/* sizes, ticks and addresses may be anything in a trace, too */
	for (u64 at = INDEX_PAGE; at < INDEX_PAGE + offsetof(struct chunk_page, alloc_context);
	     at += 7)
		self.bytes[at] = (u8)hash_u64(at);
	CHECK(is_used(&self, self.count));
	free(self.bytes);
}
