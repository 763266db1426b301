/* SPDX-License-Identifier: MIT
 * Finds the smallest cut; see cut.h.
 * Host. Greedy: among the sets of points that hold most free bytes the one that gains most is taken
 * next, until a further one would gain too little. */
#include "study/analysis/resident/cut.h"

#include <stdlib.h>

#include "host/base/order.h"
#include "study/analysis/resident/accounting.h"

enum {
	SETS_MAX = 1 << 16, /* that are weighed: those with most free bytes */
	CANDIDATES = 32,    /* of these, in each step */
	/* each point gains at least this part of all pinned bytes, and as many bytes */
	WORTH_PARTS = 50,
	WORTH_BYTES = 64 << 10,
};

/* Pages whose live blocks are of the same points: parts [first, first + count) are one of them. */
struct page_set {
	u64 hash;
	u64 first;
	u32 count;
	u32 pages;
	u64 free_bytes;
};

enum { CHOSEN = 1, TRIED };

struct cutting {
	const struct bill *bill;
	VEC(struct page_set) sets;
	u64 *live;  /* by point: bytes on pages in parts */
	u8 *chosen; /* by point: CHOSEN, TRIED or 0 */
	/* what the cut takes in pages of its own: live, and what its freed blocks left behind; and
	 * what they left in pages without a live block */
	u64 moved_bytes, cached_bytes;
};

static int by_hash(const void *a, const void *b)
{
	const struct page_set *x = a, *y = b;

	return rising(x->hash, y->hash);
}

static int by_free(const void *a, const void *b)
{
	const struct page_set *x = a, *y = b;

	return x->free_bytes != y->free_bytes ? rising(y->free_bytes, x->free_bytes)
					      : rising(x->first, y->first);
}

static u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

static bool list_sets(struct cutting *self)
{
	const struct bill *bill = self->bill;
	const struct bill_part *parts = bill->parts.data;
	struct page_set set;

	for (u64 i = 0; i < bill->parts.count; i += set.count) {
		u32 end = bill_span_end(bill, parts[i].page);

		set = (struct page_set){.first = i, .pages = end - parts[i].page};
		for (u64 k = i; k < bill->parts.count && parts[k].page == parts[i].page; k++) {
			set.hash = mix(set.hash, parts[k].point + 1ull);
			set.count++;
			self->live[parts[k].point] += parts[k].bytes;
		}
		set.free_bytes =
			(u64)set.pages * RESIDENT_PAGE - bill_span_used(bill, parts[i].page, end);
		if (!bill_has_caches(bill, parts[i].page, end) && !vec_push(&self->sets, set))
			return false;
	}
	return true;
}

/* Two sets of one hash are one: there are too few for chance. */
static void join_sets(struct cutting *self)
{
	struct page_set *sets = self->sets.data;
	u64 count = 0;

	if (!self->sets.count)
		return;
	qsort(sets, self->sets.count, sizeof *sets, by_hash);
	for (u64 i = 0; i < self->sets.count; i++) {
		if (count && sets[count - 1].hash == sets[i].hash) {
			sets[count - 1].pages += sets[i].pages;
			sets[count - 1].free_bytes += sets[i].free_bytes;
		} else {
			sets[count++] = sets[i];
		}
	}
	qsort(sets, count, sizeof *sets, by_free);
	self->sets.count = count < SETS_MAX ? count : SETS_MAX;
}

static u8 *chosen_at(const struct cutting *self, const struct page_set *set, u32 number)
{
	return &self->chosen[self->bill->parts.data[set->first + number].point];
}

static bool is_chosen(const struct cutting *self, const struct page_set *set)
{
	for (u32 i = 0; i < set->count; i++)
		if (!*chosen_at(self, set, i))
			return false;
	return true;
}

/* What the points that are chosen would save: pages that only they hold, less what their blocks
 * take in pages of their own, and less what freed blocks of theirs would leave behind there. */
static i64 saving(const struct cutting *self, u64 moved_bytes, u64 *pages)
{
	*pages = 0;
	for (u64 i = 0; i < self->sets.count; i++)
		if (is_chosen(self, &self->sets.data[i]))
			*pages += self->sets.data[i].pages;
	return (i64)(*pages * RESIDENT_PAGE) - (i64)moved_bytes;
}

struct trial {
	struct page_set set;
	i64 bytes;
	u64 moved_bytes, pages;
	u32 added;
};

static struct trial try_set(struct cutting *self, const struct page_set *set, u64 moved_bytes)
{
	struct trial trial = {.set = *set, .moved_bytes = moved_bytes};

	for (u32 i = 0; i < set->count; i++) {
		u32 point = self->bill->parts.data[set->first + i].point;

		if (self->chosen[point])
			continue;
		self->chosen[point] = TRIED;
		trial.moved_bytes += self->live[point] + self->bill->lines[point].left_bytes;
		trial.added++;
	}
	trial.bytes = saving(self, trial.moved_bytes, &trial.pages);
	for (u32 i = 0; i < set->count; i++)
		if (*chosen_at(self, set, i) == TRIED)
			*chosen_at(self, set, i) = 0;
	return trial;
}

static void take(struct cutting *self, struct cut *cut, const struct trial *trial)
{
	for (u32 i = 0; i < trial->set.count; i++) {
		u32 point = self->bill->parts.data[trial->set.first + i].point;

		if (self->chosen[point])
			continue;
		self->chosen[point] = CHOSEN;
		cut->points[cut->count++] = (struct point_id){point};
		cut->blocks += self->bill->lines[point].blocks;
		cut->live_bytes += self->live[point];
		self->cached_bytes += self->bill->lines[point].cached_bytes;
	}
	cut->pages = trial->pages;
	self->moved_bytes = trial->moved_bytes;
}

/* Each further point must gain so much. */
static i64 worth(const struct cut *cut)
{
	i64 part = (i64)(cut->bound_bytes / WORTH_PARTS);

	return part > WORTH_BYTES ? part : WORTH_BYTES;
}

static void consider(struct cutting *self, const struct cut *cut, const struct page_set *set,
		     struct trial *best)
{
	struct trial trial;

	if (set->count > CUT_POINTS_MAX)
		return;
	trial = try_set(self, set, self->moved_bytes);
	if (cut->count + trial.added <= CUT_POINTS_MAX &&
	    trial.bytes - worth(cut) * trial.added > best->bytes - worth(cut) * best->added)
		*best = trial;
}

/* The best next step; it adds nothing if none gains enough. */
static struct trial best_step(struct cutting *self, const struct cut *cut, i64 so_far)
{
	struct trial best = {.bytes = so_far};
	u32 tried = 0;

	for (u64 i = 0; i < self->sets.count && tried < CANDIDATES; i++) {
		if (is_chosen(self, &self->sets.data[i]))
			continue;
		tried++;
		consider(self, cut, &self->sets.data[i], &best);
	}
	return best;
}

/* ---- what glibc gives back by itself ---- */

/* Whether a block that is not in the cut, or is in a cache, lies on the page. Parts of pages behind
 * it begin at `part`, which becomes where those of this page begin. A page without parts is one
 * block's. */
static bool page_stays(const struct cutting *self, u32 page, u64 *part)
{
	const struct bill_part *parts = self->bill->parts.data;
	bool stays = false, found = false;

	while (*part && parts[*part - 1].page > page)
		--*part;
	for (; *part && parts[*part - 1].page == page; --*part) {
		stays |= !self->chosen[parts[*part - 1].point];
		found = true;
	}
	return stays || (!found && self->bill->page_used[page]) || self->bill->page_caches[page];
}

/* Pages at the ends of all heaps, behind the last block that is not in the cut. */
static u64 pages_at_ends(const struct cutting *self)
{
	u64 pages = 0, part = self->bill->parts.count;

	for (u64 i = self->bill->heaps.count; i-- > 0;) {
		const struct bill_heap *heap = &self->bill->heaps.data[i];
		u32 page = heap->end;

		while (page > heap->first && !page_stays(self, page - 1, &part))
			page--;
		pages += heap->end - page;
	}
	return pages;
}

/* ---- all ---- */

static void search(struct cutting *self, struct cut *cut)
{
	u64 at_ends = pages_at_ends(self), freed, moved;
	i64 bytes = 0;

	for (;;) {
		struct trial step = best_step(self, cut, bytes);

		if (!step.added)
			break;
		take(self, cut, &step);
		bytes = step.bytes;
	}
	cut->most_bytes = (u64)bytes;
	if (!self->bill->glibc || !cut->count)
		return;
	freed = (pages_at_ends(self) - at_ends) * RESIDENT_PAGE;
	moved = self->moved_bytes + self->cached_bytes;
	cut->least_bytes = freed > moved ? freed - moved : 0;
	if (cut->least_bytes > cut->most_bytes)
		cut->most_bytes = cut->least_bytes;
}

int cut_find(struct cut *self, const struct bill *bill, struct err *err)
{
	u64 points = (u64)bill->model->points.count + 1;
	struct cutting cutting = {.bill = bill,
				  .live = calloc(points, sizeof *cutting.live),
				  .chosen = calloc(points, sizeof *cutting.chosen)};
	bool good = cutting.live && cutting.chosen && list_sets(&cutting);

	*self = (struct cut){.bound_bytes = bill->account.bytes[PART_PINNED]};
	if (good) {
		join_sets(&cutting);
		search(&cutting, self);
	}
	vec_release(&cutting.sets);
	free(cutting.live);
	free(cutting.chosen);
	return good ? 0 : err_memory_for(err, "the resident memory");
}
