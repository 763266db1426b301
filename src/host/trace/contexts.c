/* SPDX-License-Identifier: MIT
 * Contexts into columns and back. The first half runs on the monitor's drain thread, where want of
 * memory is remembered and asked for once per block; the second on the host, where nothing is
 * allocated by what the payload says. */
#include "host/trace/contexts.h"

#include <string.h>

#include "host/trace/cursor.h"
#include "host/trace/guard.h"

enum { IDS, PARENTS, FLAGS, PCS, CONTEXT_COLUMNS };
_Static_assert((int)CONTEXT_COLUMNS <= COLUMNS_MAX, "a parcel has a part for each column");

static u64 *next_pc_of(struct context_model *model)
{
	return &model->next_pc[(u32)((model->pc * 0x9e3779b97f4a7c15ull) >> 54)];
}
_Static_assert(PC_SLOTS == 1 << (64 - 54), "slot of a pc");

void contexts_add(struct contexts *self, const struct stream_context *context)
{
	struct context_model *model = &self->model;
	struct strbuf *columns = self->columns.data;
	u64 *next_pc = next_pc_of(model);
	bool told = *next_pc != context->pc;

	varint_add(&columns[IDS], (u32)hw_zigzag((i32)(context->id - model->id - 1)));
	varint_add(&columns[PARENTS], (u32)hw_zigzag((i32)(context->id - context->parent)));
	varint_add(&columns[FLAGS], (u64)context->flags << 1 | told);
	if (told)
		varint_add(&columns[PCS], hw_zigzag((i64)(context->pc - model->pc)));
	*next_pc = context->pc;
	model->pc = context->pc;
	model->id = context->id;
	self->columns.items++;
}

struct parcel *contexts_take(struct contexts *self)
{
	memset(&self->model, 0, sizeof(self->model));
	return columns_take(&self->columns, CONTEXT_COLUMNS);
}

struct reading {
	struct guard *guard;
	struct context_model model;
	struct stream_context batch[COLUMNS_BATCH];
};

static void get_row(void *self_, struct cursor *columns, u32 at)
{
	struct reading *self = self_;
	struct context_model *model = &self->model;
	struct stream_context *context = &self->batch[at];
	u64 *next_pc = next_pc_of(model), flags;

	context->id = model->id + 1 + (u32)hw_unzigzag(cursor_get(&columns[IDS]));
	context->parent = context->id - (u32)hw_unzigzag(cursor_get(&columns[PARENTS]));
	flags = cursor_get(&columns[FLAGS]);
	context->flags = (u32)(flags >> 1);
	if (flags & 1)
		*next_pc = model->pc + (u64)hw_unzigzag(cursor_get(&columns[PCS]));
	context->pc = model->pc = *next_pc;
	model->id = context->id;
}

static int tell_rows(void *self_, u32 count, struct err *err)
{
	struct reading *self = self_;

	return guard_contexts(self->guard, self->batch, count, err);
}

int contexts_tell(struct guard *guard, const struct block *block, struct err *err)
{
	struct reading self = {.guard = guard};
	const struct columns_reading columns = {CONTEXT_COLUMNS, HW_BLOCK_CONTEXTS_MAX, get_row,
						tell_rows, &self};

	return columns_tell(&columns, block, err);
}
