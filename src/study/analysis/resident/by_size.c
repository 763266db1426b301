/* SPDX-License-Identifier: MIT
 * Live blocks and their pages by size class; see by_size.h.
 * Host. A page counts for each class that has a block on it. */
#include "study/analysis/resident/by_size.h"

#include <stdlib.h>

#include "host/base/bytemap.h"
#include "host/base/order.h"
#include "host/base/units.h"
#include "study/result/field.h"

enum {
	STEP = 16,       /* of sizes up to: */
	EVEN_MAX = 1024, /* above, four classes for each power of two */
	EVEN_BITS = 10,
	EVENS = EVEN_MAX / STEP + 1,
	CLASSES = EVENS + (64 - EVEN_BITS) * 4,
};

struct size_row {
	u64 size; /* of its largest blocks, headers and rounding included */
	u64 blocks, live_bytes;
	u64 held_bytes; /* of pages with a block of it */
	u64 *pages;     /* bits; NULL = none yet */
};

struct sorting {
	struct accounting look;
	u64 words; /* of pages */
	struct size_row classes[CLASSES];
};

static struct size_row *class_of(struct sorting *self, u64 size)
{
	u64 bits = size > EVEN_MAX ? 63 - (u64)__builtin_clzll(size - 1) : 0;
	u64 step = size > EVEN_MAX ? 1ull << (bits - 2) : STEP;
	u64 number = size / step + (size % step != 0); /* above EVEN_MAX: 5 to 8 */
	u64 at = size > EVEN_MAX ? EVENS + (bits - EVEN_BITS) * 4 + number - 5 : number;

	self->classes[at].size = number * step;
	return &self->classes[at];
}

/* The pages of [start, end) that are known one by one; of others what the block itself has. */
static bool add_pages(struct sorting *self, struct size_row *class,
		      const struct class_extent *extent)
{
	struct accounting *look = &self->look;

	if (!class->pages)
		class->pages = calloc(self->words + 1, sizeof *class->pages);
	for (u64 i = accounting_row(look, extent->start);
	     class->pages && i < look->memory->count && look->rows[i].start < extent->end; i++) {
		u64 start = look->rows[i].start, last = start + look->rows[i].bytes;
		u64 from = extent->start > start ? extent->start : start;
		u64 to = extent->end < last ? extent->end : last;

		if (from > to || !work_spend(&look->work, accounting_steps(look, i, to - from)))
			break;
		if (from == to)
			continue;
		if (look->first_word[i] == ACCOUNTING_NO_WORDS)
			class->held_bytes += accounting_bytes(look, from, to);
		else
			bytemap_set(class->pages + look->first_word[i],
				    (from - start) / RESIDENT_PAGE,
				    (to - 1 - start) / RESIDENT_PAGE + 1);
	}
	return class->pages != NULL;
}

static bool add_chunks(struct sorting *self)
{
	EACH_CHUNK (chunk, self->look.model) {
		u64 address = chunk.page->address[chunk.at], size = chunk.page->size[chunk.at];
		struct class_extent extent = size_classes_block(&self->look.classes, address, size);
		struct size_row *class;

		if (!accounting_is_live(&self->look, &chunk))
			continue;
		class = class_of(self, extent.end - extent.start);
		class->blocks++;
		class->live_bytes += accounting_bytes(&self->look, address, address + size);
		if (!add_pages(self, class, &extent))
			return false;
	}
	return true;
}

static u64 words_of(const struct accounting *look)
{
	u64 words = 0;

	for (u64 i = 0; i < look->memory->count; i++)
		if (look->first_word[i] != ACCOUNTING_NO_WORDS)
			words = look->first_word[i] + look->rows[i].bytes / RESIDENT_PAGE / 64 + 1;
	return words;
}

static int by_held(const void *a, const void *b)
{
	const struct size_row *x = a, *y = b;

	return falling(x->held_bytes, y->held_bytes) ?: rising(x->size, y->size);
}

static void add_rows(struct sorting *self, struct result *table)
{
	for (u32 i = 0; i < CLASSES; i++) {
		struct size_row *class = &self->classes[i];

		if (class->pages)
			class->held_bytes +=
				bytemap_count(class->pages, self->words * 64) * RESIDENT_PAGE;
		free(class->pages);
	}
	qsort(self->classes, CLASSES, sizeof *self->classes, by_held);
	for (u32 i = 0; i < CLASSES; i++) {
		const struct size_row *class = &self->classes[i];

		if (class->blocks)
			result_row(table, value_number(class->size), value_number(class->blocks),
				   value_number(class->live_bytes), value_number(class->held_bytes),
				   value_real(units_share(class->live_bytes, class->held_bytes)));
	}
}

struct result *resident_by_size_result(const struct model *model, const struct model_memory *look,
				       struct err *err)
{
	static const struct result_column columns[] = {
		COLUMN("size", "size class", VALUE_BYTES,
		       "largest block of the class, with headers and rounding where known"),
		COLUMN("blocks", "blocks", VALUE_COUNT, "live blocks"),
		COLUMN("live_bytes", "live", VALUE_BYTES, "resident bytes of live blocks"),
		COLUMN("held_bytes", "on pages of", VALUE_BYTES,
		       "resident bytes of pages with a block of the class"),
		COLUMN("used", "used", VALUE_SHARE, "live bytes of the class by bytes of pages"),
	};
	struct result *table = result_table("by_size", "Blocks by size", columns);
	struct sorting sorting = {.look = accounting_of(model, look)};
	bool good = table && accounting_make(&sorting.look, err) == 0;

	if (good) {
		sorting.words = words_of(&sorting.look);
		good = add_chunks(&sorting);
		if (!good)
			err_memory_for(err, "the size classes");
		add_rows(&sorting, table);
		table->hidden_in_text = true;
	}
	accounting_release(&sorting.look);
	return result_made_if(good, table, err, "the size classes");
}
