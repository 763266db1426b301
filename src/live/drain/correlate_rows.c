/* SPDX-License-Identifier: MIT
 * What the correlator tells of chunks beside their births and deaths: accesses and types, which
 * find their chunks by address and may have to wait for a birth or a death that does. Runs on the
 * drain thread. */
#include "live/drain/correlate.h"
#include "live/drain/correlate_state.h"

enum {
	OUT_ACCESSES = 1024, /* rows handed to the sink at once */
	OUT_TYPES = 1024,
};

/* ---- accesses -------------------------------------------------------------------------------- */

int rows_flush_accesses(struct correlator *self, struct err *err)
{
	u64 count = self->accesses.out.count;
	int status = 0;

	if (count && self->sink.accesses)
		status = self->sink.accesses(self->sink.self, self->accesses.out.data, count, err);
	access_rows_told(&self->accesses);
	return status;
}

/* Once there are only totals, accesses are not told either: the trace may not grow. */
static int tell_access(struct correlator *self, const struct stream_access *row, u64 chunk,
		       struct err *err)
{
	struct stream_access told = *row;
	int status = 0;

	if (self->aggregating) {
		access_rows_drop(&self->accesses, row);
		return 0;
	}
	told.chunk = chunk;
	if (chunk >= self->out_first)
		status = correlator_flush(self, err);
	if (status == 0 && !vec_push(&self->accesses.out, told))
		return correlate_no_memory(err);
	return status == 0 && self->accesses.out.count >= OUT_ACCESSES
		       ? rows_flush_accesses(self, err)
		       : status;
}

int rows_tell_waiting_access(struct correlator *self, const struct told_record *death, u64 chunk,
			     struct err *err)
{
	struct stream_access row;

	if (!hw_kind_frees(death->record.kind) || !death->record.size)
		return 0;
	row = access_rows_release_held(&self->accesses, death->record.size);
	if (chunk == NO_CHUNK) {
		access_rows_drop(&self->accesses, &row);
		self->accesses.unknown++;
		return 0;
	}
	return tell_access(self, &row, chunk, err);
}

/* The chunk that lives at the address and for which nothing waits, or NO_CHUNK. */
static u64 chunk_at(struct correlator *self, u64 address)
{
	const struct live_cell *cell = live_find(&self->live, address);
	const struct live_block *block;

	if (cell)
		return live_cell_chunk(cell);
	block = spill_find(&self->live.spill, address);
	return block && block_is_live(block) && !block_is_queued(block) ? block->chunk : NO_CHUNK;
}

int rows_feed_access(struct correlator *self, const struct told_record *told, struct err *err)
{
	const struct stream_access *row = access_rows_take(&self->accesses);
	u64 chunk = row && told->record.address ? chunk_at(self, told->record.address) : NO_CHUNK;

	if (!row)
		return 0;
	if (chunk != NO_CHUNK)
		return tell_access(self, row, chunk, err);
	return access_rows_loosen(&self->accesses, told, row) ? 0 : correlate_no_memory(err);
}

int rows_finish_accesses(struct correlator *self, struct err *err)
{
	int status = 0;

	for (u64 i = 0; i < self->accesses.loose.count && status == 0; i++) {
		const struct access_loose *loose = &self->accesses.loose.data[i];
		u64 chunk = chunk_at(self, loose->address);

		if (chunk != NO_CHUNK) {
			status = tell_access(self, &loose->row, chunk, err);
			continue;
		}
		access_rows_drop(&self->accesses, &loose->row);
		self->accesses.unknown++;
	}
	vec_clear(&self->accesses.loose);
	return status;
}

bool correlator_give_access(struct correlator *self, const struct stream_access *row)
{
	return access_rows_give(&self->accesses, row);
}

u64 correlator_unknown_accesses(const struct correlator *self) { return self->accesses.unknown; }

/* ---- types ----------------------------------------------------------------------------------- */

int rows_flush_types(struct correlator *self, struct err *err)
{
	u64 count = self->types.out.count;

	vec_clear(&self->types.out);
	if (!count || !self->sink.types)
		return 0;
	return self->sink.types(self->sink.self, self->types.out.data, count, err);
}

/* Once there are only totals, types are not told either. */
int correlator_tell_type(struct correlator *self, const struct stream_type *row, struct err *err)
{
	if (self->aggregating)
		return 0;
	if (!vec_push(&self->types.out, *row))
		return correlate_no_memory(err);
	return self->types.out.count < OUT_TYPES ? 0 : correlator_flush(self, err);
}

static int tell_type_of(struct correlator *self, const struct type_loose *told,
			const struct live_block *block, struct err *err)
{
	u64 offset = told->address - (block->address & ~HW_POOL_ADDRESS);
	struct stream_type row = {
		.chunk = block->chunk & ~LIVE_QUEUED,
		.identity = told->identity,
		.count = told->count,
		.offset = offset < UINT32_MAX ? (u32)offset : UINT32_MAX,
		.source = TYPE_DECLARED,
	};

	return correlator_tell_type(self, &row, err);
}

int rows_settle_types(struct correlator *self, const struct live_block *block,
		      const struct told_record *birth, int status, struct err *err)
{
	struct type_loose loose;

	while (status == 0 && self->types.loose.count && birth->serial &&
	       type_rows_take(&self->types, birth, &loose))
		status = tell_type_of(self, &loose, block, err);
	return status;
}

u64 correlator_chunk_born(struct correlator *self, u64 address, u32 birth)
{
	struct live_block block;

	if (!live_cover(&self->live, address, &block) || !block_is_live(&block) ||
	    block_is_queued(&block) || block.extra != birth)
		return NO_CHUNK;
	return block.chunk;
}

/* The recorder found it in the block that was born then. What is not certain is not told. */
int rows_feed_vtable(struct correlator *self, const struct hw_record *record, struct err *err)
{
	struct live_block block;
	struct stream_type row = {
		.identity = record->size,
		.count = record->aux >> HW_TYPE_NUMBER_SHIFT,
		.source = TYPE_VTABLE,
	};

	row.chunk = correlator_chunk_born(self, record->address, record->context);
	if (row.chunk == NO_CHUNK || !live_cover(&self->live, record->address, &block))
		return 0;
	row.offset = (u32)(record->address - block.address);
	return correlator_tell_type(self, &row, err);
}

/* The thread's own birth may be among what waits at the address; then it is that block's type. */
int rows_feed_type(struct correlator *self, const struct told_record *told, struct err *err)
{
	struct type_loose loose = type_loose_of(told);
	struct live_block block;
	bool found = live_cover(&self->live, loose.address | HW_POOL_ADDRESS, &block) ||
		     live_cover(&self->live, loose.address, &block);
	u32 birth = found && block_is_queued(&block)
			    ? waiting_birth_by(&self->waiting, block.extra, told->thread)
			    : 0;

	if (birth) {
		loose.serial = self->waiting.waiters.data[birth].told.serial;
		return type_rows_loosen(&self->types, &loose) ? 0 : correlate_no_memory(err);
	}
	if (found && block_is_live(&block) && (i32)(loose.ticks - block_birth(self, &block)) >= 0)
		return tell_type_of(self, &loose, &block, err);
	self->types.unknown++;
	return 0;
}

u64 correlator_unknown_types(const struct correlator *self) { return self->types.unknown; }
