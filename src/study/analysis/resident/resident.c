/* SPDX-License-Identifier: MIT
 * Takes the resident memory of a moment apart.
 * Host. Which pages were resident is in the trace, which blocks were live is found from the chunks:
 * parts are counted, not estimated, as far as docs/METHODS.md says. */
#include "study/analysis/resident/resident.h"

#include "host/base/bytemap.h"

static u64 used_bytes(const struct accounting *self, u64 number)
{
	const struct stream_resident *row = &self->rows[number];
	u64 pages;

	if (self->first_word[number] == ACCOUNTING_NO_WORDS)
		return self->requested[number] ? row->resident_bytes : 0;
	pages = bytemap_count(self->used + self->first_word[number], row->bytes / RESIDENT_PAGE);
	return pages * RESIDENT_PAGE < row->resident_bytes ? pages * RESIDENT_PAGE
							   : row->resident_bytes;
}

/* Blocks in caches of threads are no longer what they would be otherwise. */
static void move_caches(struct resident_account *account, enum resident_part part, u64 bytes,
			u64 most)
{
	bytes = bytes < most ? bytes : most;
	account->bytes[part] -= bytes;
	account->bytes[PART_THREAD_CACHES] += bytes;
}

void resident_add(struct resident_account *account, const struct resident_row *row)
{
	u64 resident = row->resident_bytes, slack = row->slack, used = row->used;
	u64 requested = row->requested < resident ? row->requested : resident;

	account->bytes[PART_REQUESTED] += requested;
	if (row->part != PART_CACHED) {
		slack = row->part != PART_MAPPINGS     ? 0
			: slack < resident - requested ? slack
						       : resident - requested;
		account->bytes[PART_SLACK] += slack;
		account->bytes[row->part] += resident - requested - slack;
		if (row->part == PART_MAPPINGS) /* blocks that are mapped alone */
			move_caches(account, PART_MAPPINGS, row->caches_held + row->caches_free,
				    resident - requested - slack);
		return;
	}
	if (used < requested)
		used = requested;
	if (slack > used - requested)
		slack = used - requested;
	account->bytes[PART_SLACK] += slack;
	account->bytes[PART_PINNED] += used - requested - slack;
	account->bytes[PART_CACHED] += resident - used;
	move_caches(account, PART_PINNED, row->caches_held, used - requested - slack);
	move_caches(account, PART_CACHED, row->caches_free, resident - used);
}

void resident_sum(const struct accounting *pages, struct resident_account *account)
{
	*account = (struct resident_account){.absent_bytes = pages->absent_bytes};
	for (u64 i = 0; i < pages->memory->count; i++)
		resident_add(account,
			     &(struct resident_row){.part = accounting_part(pages, i),
						    .resident_bytes = pages->rows[i].resident_bytes,
						    .requested = pages->requested[i],
						    .slack = pages->slack[i],
						    .used = used_bytes(pages, i),
						    .caches_held = pages->caches_held[i],
						    .caches_free = pages->caches_free[i]});
	for (u32 i = 0; i < PARTS; i++)
		account->sum_bytes += account->bytes[i];
}

/* Blocks that are forgotten may have been anywhere. */
static void account_rows(const struct model *model, const struct model_memory *memory,
			 struct resident_account *account)
{
	for (u64 i = 0; i < memory->count; i++) {
		const struct stream_resident *row = &model->residents.data[memory->first + i];

		account->bytes[accounting_part_of(row, true)] += row->resident_bytes;
	}
}

int resident_account(const struct model *model, const struct model_memory *memory,
		     struct resident_account *account, struct err *err)
{
	struct accounting pages = accounting_of(model, memory);
	int status;

	*account = (struct resident_account){0};
	if (model->forgets) {
		account_rows(model, memory, account);
		return 0;
	}
	status = accounting_make(&pages, err);
	if (status == 0)
		resident_sum(&pages, account);
	accounting_release(&pages);
	return status;
}

const struct model_memory *resident_most(const struct model *model, u64 from, u64 to)
{
	const struct model_memory *most = NULL;

	for (u64 i = 0; i < model->memory.count; i++) {
		const struct model_memory *memory = &model->memory.data[i];

		if (memory->ticks >= from && memory->ticks < to &&
		    (!most || memory->rss_bytes > most->rss_bytes))
			most = memory;
	}
	return most;
}

static u64 apart(u64 a, u64 b) { return a < b ? b - a : a - b; }

const struct model_memory *resident_nearest(const struct model *model, u64 ticks)
{
	const struct model_memory *found = NULL;

	for (u64 i = 0; i < model->memory.count; i++) {
		const struct model_memory *memory = &model->memory.data[i];

		if (!found || apart(memory->ticks, ticks) < apart(found->ticks, ticks))
			found = memory;
	}
	return found;
}

const struct model_memory *resident_last(const struct model *model)
{
	const struct model_memory *last =
		model->memory.count ? &model->memory.data[model->memory.count - 1] : NULL;

	return last && last->moment == MEMORY_END ? last : NULL;
}

u64 resident_peak_bytes(const struct model *model)
{
	u64 most = 0;

	for (u64 i = 0; i < model->usage.count; i++)
		if (model->usage.data[i].rss_bytes > most)
			most = model->usage.data[i].rss_bytes;
	for (u64 i = 0; i < model->memory.count; i++) {
		const struct model_memory *memory = &model->memory.data[i];
		u64 bytes = memory->high_bytes > memory->rss_bytes ? memory->high_bytes
								   : memory->rss_bytes;

		if (bytes > most)
			most = bytes;
	}
	return most;
}
