/* SPDX-License-Identifier: MIT
 * Applies accesses to the model: the chunk's row, and the sums of its point and of the program.
 * Host. Accesses to a chunk that was never told are counted and skipped. */
#include "study/model/fill.h"

#include <math.h>

static inline void add(u64 *sum, u64 number, bool less) { *sum += less ? 0 - number : number; }

/* Made for each value of `less`: it is called twice for each chunk. */
static inline __attribute__((always_inline)) void
change(struct access_sums *sums, const struct chunk_access *access, u64 size, bool less)
{
	bool read = access->reads, written = access->writes,
	     sided = !(access->flags & ACCESS_UNSIDED);

	add(&sums->chunks, 1, less);
	add(&sums->bytes, size, less);
	add(&sums->reads, access->reads, less);
	add(&sums->writes, access->writes, less);
	add(&sums->read_bytes, access->read_bytes, less);
	add(&sums->written_bytes, access->written_bytes, less);
	add(&sums->accessed_chunks, read || written, less);
	add(&sums->never_chunks, !read && !written, less);
	add(&sums->never_bytes, read || written ? 0 : size, less);
	add(&sums->unread_chunks, written && !read && sided, less);
	add(&sums->unread_bytes, written && !read && sided ? size : 0, less);
	add(&sums->unwritten_chunks, read && !written && sided, less);
	add(&sums->unwritten_bytes, read && !written && sided ? size : 0, less);
	if (access->covered != UINT64_MAX) {
		add(&sums->covered_bytes, access->covered, less);
		add(&sums->covered_of_bytes, size, less);
	}
	add(&sums->shared_chunks, (access->flags & ACCESS_SHARED) != 0, less);
	add(&sums->saturated_chunks, (access->flags & ACCESS_SATURATED) != 0, less);
	add(&sums->estimated_chunks, (access->flags & ACCESS_ESTIMATED) != 0, less);
	add(&sums->lower_bound_chunks, (access->flags & ACCESS_LOWER_BOUND) != 0, less);
	add(&sums->unseen[0], access->reads - access_least(access, access->reads), less);
	add(&sums->unseen[1], access->writes - access_least(access, access->writes), less);
}

static void stretch_end(struct access_sums *sums)
{
	for (u32 i = 0; i < 2; i++)
		sums->stretch_squares[i] +=
			(double)sums->stretch_sum[i] * (double)sums->stretch_sum[i];
	sums->stretches += sums->stretch_hit != 0;
	sums->stretch_sum[0] = sums->stretch_sum[1] = 0;
	sums->stretch_hit = 0;
}

/* What was accessed in one stretch was sampled together. Chunks come in the order of their ends:
 * one that was first accessed in an earlier stretch is one of its own. */
static void stretch_add(struct access_sums *sums, const struct chunk_access *access, u64 size)
{
	enum { STRETCH_SHIFT = 24, UNIT_BYTES = 64, SEEN = 16 }; /* ticks; see METHODS.md */
	u64 stretch = access->first_ticks >> STRETCH_SHIFT;
	/* more than what is seen of each unit before it is disarmed */
	bool hit = access->reads + access->writes >= SEEN * (size / UNIT_BYTES + 1) + ACCESS_WEIGHT;

	if (stretch < sums->stretch) {
		sums->stretch_squares[0] += (double)access->reads * (double)access->reads;
		sums->stretch_squares[1] += (double)access->writes * (double)access->writes;
		sums->stretches += hit;
		return;
	}
	if (stretch > sums->stretch)
		stretch_end(sums);
	sums->stretch = stretch;
	sums->stretch_sum[0] += access->reads;
	sums->stretch_sum[1] += access->writes;
	sums->stretch_hit |= hit;
}

struct access_interval access_interval(const struct access_sums *self, bool writes)
{
	enum { ENOUGH = 10 }; /* stretches: fewer say little of those that were missed */
	struct access_sums all = *self;
	double sum = (double)(writes ? self->writes : self->reads), error;
	double least = sum - (double)self->unseen[writes];

	if (!self->estimated_chunks)
		return (struct access_interval){sum, sum};
	stretch_end(&all);
	if (all.stretches < ENOUGH)
		return (struct access_interval){least, NAN};
	error = 1.96 * sqrt(all.stretch_squares[writes]);
	return (struct access_interval){fmax(least, floor(sum - error)), ceil(sum + error)};
}

void access_sums_add(struct access_sums *sums, const struct chunk_access *access, u64 size,
		     bool less)
{
	if (less) {
		change(sums, access, size, true);
		return; /* in its stretch it stays: the interval is wider for it */
	}
	change(sums, access, size, false);
	if (unlikely(access->flags & ACCESS_ESTIMATED))
		stretch_add(sums, access, size);
}

static void count(struct model *self, u64 chunk, const struct chunk_access *access, bool less)
{
	const struct chunk_page *page = chunk_at(&self->chunks, chunk);
	u32 k = (u32)(chunk % CHUNK_PAGE);
	struct point_id point = model_point_of(self, page->alloc_context[k]);

	access_sums_add(&self->access, access, page->size[k], less);
	access_sums_add(&self->points.data[point.index].access, access, page->size[k], less);
}

/* Adds which bytes they were. before: what was known of the chunk, if it was. False if there is no
 * memory. */
static bool add_map(struct model *self, const struct stream_access *row,
		    const struct chunk_access *before, struct chunk_access *now)
{
	const struct chunk_page *page = chunk_at(&self->chunks, row->chunk);
	u32 k = (u32)(row->chunk % CHUNK_PAGE), number = 0;
	struct point_id id = model_point_of(self, page->alloc_context[k]);
	struct model_point *point = &self->points.data[id.index];
	struct access_pattern pattern;
	struct point_map *map;

	pattern_table_remove(&self->patterns, before->pattern);
	if (row->covered_bytes == UINT64_MAX)
		return true;
	if (!point->map) {
		if (!vec_push(&self->maps, (struct point_map){0}))
			return false;
		point->map = (u32)self->maps.count;
	}
	map = &self->maps.data[point->map - 1];
	point_map_add(map, page->size[k], row, before->known && before->covered != UINT64_MAX);
	if (access_pattern_of(&pattern, row, page->size[k])) {
		pattern.point = id.index;
		number = pattern_table_add(&self->patterns, &pattern, &map->patterns);
	}
	now->pattern = (u16)number;
	return number != UINT32_MAX;
}

int model_fill_accesses(void *data, const struct stream_access *rows, u64 row_count,
			struct err *err)
{
	struct model *self = data;

	if (self->forgets)
		return err_set(err, ERR_INPUT, "it has accesses");
	if (self->store)
		column_store_trim(self->store);
	for (u64 i = 0; i < row_count; i++) {
		const struct stream_access *row = &rows[i];
		struct chunk_access before, now = {.first_ticks = row->first_ticks,
						   .last_ticks = row->last_ticks,
						   .reads = row->reads,
						   .writes = row->writes,
						   .read_bytes = row->read_bytes,
						   .written_bytes = row->written_bytes,
						   .low = row->low,
						   .high = row->high,
						   .covered = row->covered_bytes,
						   .flags = row->flags,
						   .known = true};

		if (row->chunk >= self->chunks.count ||
		    chunk_end(&self->chunks, row->chunk) == CHUNK_ABSENT) {
			self->strange_accesses++;
			continue;
		}
		if (access_table_get(&self->accesses, row->chunk, &before))
			count(self, row->chunk, &before, true);
		if (!add_map(self, row, &before, &now) ||
		    !access_table_put(&self->accesses, row->chunk, &now))
			return err_memory_for(err, "the model");
		count(self, row->chunk, &now, false);
		self->has_access = true;
	}
	return 0;
}
