/* SPDX-License-Identifier: MIT
 * What holds the peak where no single place does.
 * Host. */
#include "study/analysis/findings/finder.h"

#include <stdio.h>
#include <string.h>

#include "host/base/keyed.h"
#include "study/analysis/typing/types.h"

/* Whether one place has most of the peak, whatever is said of it. */
static bool has_peak_place(const struct finder *self)
{
	bool has = false;

	for (u64 i = 0; i < self->findings->rows.count; i++)
		has |= self->findings->rows.data[i].amounts[SAVING_PEAK_BYTES] >=
		       PEAK_SHARE * (double)model_peak(self->model).bytes;
	return has;
}

/* "unsigned char", "u8": buffers of it have nothing in common. */
static bool is_basic(const char *type)
{
	static const char *const words[] = {"char",    "signed",   "unsigned", "short",  "int",
					    "long",    "bool",     "float",    "double", "wchar_t",
					    "char8_t", "char16_t", "char32_t", "u8",     "u16",
					    "u32",     "u64",      "usize",    "i8",     "i16",
					    "i32",     "i64",      "isize",    "f32",    "f64"};

	while (*type) {
		size_t bytes = strcspn(type, " ");
		bool known = false;

		for (u32 i = 0; i < sizeof words / sizeof *words; i++)
			known |= strlen(words[i]) == bytes && strncmp(words[i], type, bytes) == 0;
		if (!known)
			return false;
		type += bytes + strspn(type + bytes, " ");
	}
	return true;
}

/* What the chunks of a point have in common with those of others: their type, or where that is not
 * known their one size. 0 = nothing. */
static u64 likeness(const struct finder *self, struct point_id point)
{
	const struct behaviour *known = &self->behaviour->points[point.index];
	const char *type = stack_type(self->source, self->model->points.data[point.index].frame);

	if (type)
		return is_basic(type) ? 0 : hash_text(HASH_START, type);
	return known->min_size == known->max_size ? hash_u64(known->min_size) : 0;
}

static bool holds_peak_together(const struct finder *self, const struct finding *finding)
{
	enum { CHUNKS_LEAST = 64 };

	if (finding->of_arena && finding->min_size == finding->max_size)
		return false; /* it makes things of one kind */
	return finding->points > 1 && model_count(self->model, finding->chunks) >= CHUNKS_LEAST &&
	       finding->amounts[SAVING_PEAK_BYTES] >=
		       PEAK_SHARE * (double)model_peak(self->model).bytes;
}

/* The call that gets blocks of whole KiB, whoever it is for: that is how arenas and pools ask for
 * memory, and callers of xmalloc do not. 0 = it does not. */
static u64 arena_of(const struct finder *self, struct point_id point)
{
	enum { BLOCK = 1024 };
	const struct behaviour *known = &self->behaviour->points[point.index];
	struct finding one = {.of_arena = true,
			      .frame = self->model->points.data[point.index].frame};
	struct finding_place place;

	if (!known->min_size || known->min_size % BLOCK || known->max_size % BLOCK ||
	    self->model->points.data[point.index].bytes % BLOCK)
		return 0;
	place = finding_place_of(self->source, &one);
	return place.foreign ? 0 : finding_place_hash(&place, 0, false);
}

/* The program's call of a library that allocates. 0 = there is none. */
static u64 entry_of(const struct finder *self, struct point_id point)
{
	struct finding_place entry =
		finding_entry(self->source, self->model->points.data[point.index].frame);

	return *entry.own.module ? finding_place_hash(&entry, 0, false) : 0;
}

/* Where no place holds most of the peak, points that have something in common may; like: what the
 * finding is then. */
static int add_common_peak(struct finder *self,
			   u64 (*common)(const struct finder *, struct point_id),
			   struct finding like, struct err *err)
{
	struct map by_common = {0}; /* what they have in common → row + 1 */
	VEC(struct finding) found = {0};
	int status = 0;

	like.kind = FINDING_PEAK;
	like.confidence = SURE_INFERRED;
	like.points = 1;
	like.held = 1;
	for (u32 i = 0; i < self->model->points.count && status == 0; i++) {
		const struct model_point *point = &self->model->points.data[i];
		u64 key = point->at_peak_bytes && !point_is_noise(self->model, point)
				  ? common(self, (struct point_id){i})
				  : 0;
		u64 before = found.count;
		struct finding one = like, *row;

		if (!key)
			continue;
		one.frame = point->frame;
		one.chunks = point->at_peak_chunks;
		one.of_chunks = point->allocations;
		one.bytes = point->at_peak_bytes;
		one.of_bytes = point->bytes;
		one.min_size = self->behaviour->points[i].min_size;
		one.max_size = self->behaviour->points[i].max_size;
		one.own_weight = one.amounts[SAVING_PEAK_BYTES] = (double)point->at_peak_bytes;
		snprintf(one.id, sizeof one.id, "%s-%08x", finding_kind_name(one.kind), (u32)key);
		row = vec_at_key(&found, &by_common, key, one);
		if (!row)
			status = err_memory_for(err, "the findings");
		else if (found.count == before)
			finding_merge(row, &one);
	}
	for (u64 i = 0; i < found.count && status == 0; i++)
		if (holds_peak_together(self, &found.data[i]) &&
		    !vec_push(&self->findings->rows, found.data[i]))
			status = err_memory_for(err, "the findings");
	map_release(&by_common);
	vec_release(&found);
	return status;
}

int finder_add_peaks(struct finder *self, struct err *err)
{
	int status = 0;

	if (!has_peak_place(self))
		status = add_common_peak(self, arena_of, (struct finding){.of_arena = true}, err);
	if (status == 0 && !has_peak_place(self))
		status = add_common_peak(self, likeness, (struct finding){.of_type = true}, err);
	if (status == 0 && !has_peak_place(self))
		status = add_common_peak(self, entry_of, (struct finding){.of_entry = true}, err);
	return status;
}
