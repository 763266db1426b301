/* SPDX-License-Identifier: MIT
 * Chunks by point: counted, then put in their places, as many points at a time as fit into a
 * buffer.
 * Host. */
#include "study/model/by_point.h"

#include <string.h>

#include "study/model/each.h"

enum { NUMBERS_ONCE = 16 << 20 }; /* 64 MB of them */

/* first[point + 1] is how many the point has, then where those of the next begin. */
static void count_chunks(const struct model *model, u64 *first)
{
	EACH_CHUNK (chunk, model) {
		if (unlikely(chunk.at == 0))
			column_store_trim(model->store);
		first[chunk_point(&chunk).index + 1]++;
	}
	for (u64 i = 0; i < model->points.count; i++)
		first[i + 1] += first[i];
}

/* Of points [from, to): places[point - from] is where its next one goes. */
static void place_chunks(const struct model *model, u32 from, u32 to, u64 *places, u32 *numbers)
{
	EACH_CHUNK (chunk, model) {
		u32 point = chunk_point(&chunk).index;

		if (unlikely(chunk.at == 0))
			column_store_trim(model->store);
		if (point >= from && point < to)
			numbers[places[point - from]++] = (u32)chunk.number;
	}
}

/* Those of as many points from *start on as fit, which becomes the next. */
static int write_some(struct model *model, struct index_writer *out, const u64 *first, u32 *start,
		      struct err *err)
{
	u32 from = *start, to = from + 1;
	u64 *places, count;
	u32 *numbers;
	int status;

	while (to < model->points.count && first[to + 1] - first[from] <= NUMBERS_ONCE)
		to++;
	*start = to;
	count = first[to] - first[from];
	numbers = malloc((count + 1) * sizeof *numbers);
	places = malloc((to - from) * sizeof *places);
	status = numbers && places ? 0 : err_memory_for(err, "the chunks of points");
	for (u32 i = from; status == 0 && i < to; i++)
		places[i - from] = first[i] - first[from];
	if (status == 0) {
		place_chunks(model, from, to, places, numbers);
		status = stored_add(out, numbers, count * sizeof *numbers, err);
	}
	free(numbers);
	free(places);
	return status;
}

int by_point_write(struct model *model, struct index_writer *out, struct err *err)
{
	u32 points = (u32)model->points.count;
	u64 *first;
	int status;

	if (!points || model->chunks.count > UINT32_MAX)
		return 0;
	first = calloc((u64)points + 1, sizeof *first);
	if (!first)
		return err_memory_for(err, "the chunks of points");
	count_chunks(model, first);
	status = stored_put(out, STORED_POINT_FIRST, STORED_ROWS(first, points + 1ull, 0), err);
	if (status == 0)
		status = stored_begin(out, STORED_POINT_CHUNKS, 0, err);
	for (u32 from = 0; from < points && status == 0;)
		status = write_some(model, out, first, &from, err);
	free(first);
	return status;
}

bool by_point_take(struct model *model)
{
	const struct stored *first = &model->stored[STORED_POINT_FIRST];
	const struct stored *chunks = &model->stored[STORED_POINT_CHUNKS];
	const u64 *starts = first->data;
	const u32 *numbers = chunks->data;
	u64 points = model->points.count, count = chunks->bytes / sizeof(u32);

	if (!starts)
		return !numbers;
	if (!numbers || first->bytes != (points + 1) * sizeof *starts || starts[0] != 0 ||
	    starts[points] != count)
		return false;
	for (u64 i = 0; i < points; i++)
		if (starts[i] > starts[i + 1])
			return false;
	if (!chunk_table_has_all(&model->chunks, numbers, count, 0))
		return false;
	model->by_point = (struct chunks_by_point){starts, numbers};
	return true;
}
