/* SPDX-License-Identifier: MIT
 * Rules of allocators; see classes.h.
 * Host. Knows what is documented or fixed by their sources; tests/run/resident.sh compares it with
 * what they say of their own blocks. */
#include "study/analysis/resident/classes.h"

#include <elf.h>
#include <string.h>

#include "host/base/search.h"
#include "study/analysis/places/allocator.h"

enum {
	GLIBC_HEAD = 8,
	GLIBC_LEAST = 32,
	GLIBC_STEP = 16,
	TCMALLOC_PAGE = 8 << 10,
	TCMALLOC_MOST = 256 << 10, /* larger blocks take whole pages */
	TCMALLOC_MOVED_BYTES = 64 << 10,
	TCMALLOC_MOVED_MOST = 32,
	MIMALLOC_PAGE = 64 << 10,
	MIMALLOC_SMALL = 16 << 10,
	MIMALLOC_MEDIUM = 128 << 10,
	MIMALLOC_MEDIUM_SPAN = 512 << 10,
	SYSTEM_PAGE = 4096,
};

struct class_rules {
	const char *allocator;
	u64 head; /* bytes before each block */
	struct size_class (*find)(const struct size_classes *self, u64 size);
	bool (*list)(struct size_classes *self); /* fills the list; NULL = it has none */
};

static u64 round_up(u64 value, u64 step) { return (value + step - 1) / step * step; }

/* ---- glibc: 8 bytes before a block, rounded up to 16, at least 32 ---- */

static struct size_class glibc_find(const struct size_classes *self, u64 size)
{
	u64 bytes = round_up(size + GLIBC_HEAD, GLIBC_STEP);

	(void)self;
	return (struct size_class){size, bytes < GLIBC_LEAST ? GLIBC_LEAST : bytes, 0, 0};
}

/* ---- jemalloc and mimalloc: four classes for each doubling ---- */

static u64 quarter_class(u64 size)
{
	if (size <= 8)
		return 8;
	if (size <= 64)
		return round_up(size, 16);
	return round_up(size, 1ull << (63 - __builtin_clzll(size - 1) - 2));
}

/* Its packages are built for the largest page of the CPU. */
static u64 jemalloc_page(const struct size_classes *self)
{
	return self->arch == EM_AARCH64 ? 64 << 10 : SYSTEM_PAGE;
}

static u64 common_multiple(u64 a, u64 b)
{
	u64 x = a, y = b;

	while (y) {
		u64 rest = x % y;

		x = y;
		y = rest;
	}
	return a / x * b;
}

/* Small blocks, below four pages, lie in the least number of pages that they fill. */
static struct size_class jemalloc_find(const struct size_classes *self, u64 size)
{
	u64 bytes = quarter_class(size), page = jemalloc_page(self);

	return (struct size_class){size, bytes, bytes < 4 * page ? common_multiple(bytes, page) : 0,
				   page};
}

static struct size_class mimalloc_find(const struct size_classes *self, u64 size)
{
	u64 bytes = size <= MIMALLOC_MEDIUM ? quarter_class(size) : round_up(size, SYSTEM_PAGE);

	(void)self;
	return (struct size_class){size, bytes,
				   bytes <= MIMALLOC_SMALL    ? MIMALLOC_PAGE
				   : bytes <= MIMALLOC_MEDIUM ? MIMALLOC_MEDIUM_SPAN
							      : 0,
				   MIMALLOC_PAGE};
}

/* ---- tcmalloc: classes an eighth apart, joined if a span would hold as many ---- */

static u64 tcmalloc_step(u64 size)
{
	u64 step = size >= 128 ? 1ull << (63 - __builtin_clzll(size) - 3) : size >= 16 ? 16 : 8;

	return step < TCMALLOC_PAGE ? step : TCMALLOC_PAGE;
}

/* As many pages as waste an eighth at most and hold a quarter of what threads move at once. */
static u64 tcmalloc_span(u64 size)
{
	u64 moved = TCMALLOC_MOVED_BYTES / size, bytes = 0;

	moved = moved < 2 ? 2 : moved > TCMALLOC_MOVED_MOST ? TCMALLOC_MOVED_MOST : moved;
	do
		bytes += TCMALLOC_PAGE;
	while (bytes % size > bytes / 8 || bytes / size < moved / 4);
	return bytes;
}

static bool tcmalloc_list(struct size_classes *self)
{
	for (u64 size = 8; size <= TCMALLOC_MOST; size += tcmalloc_step(size)) {
		u64 span = tcmalloc_span(size);
		struct size_class *last =
			self->list.count ? &self->list.data[self->list.count - 1] : NULL;

		if (last && last->span_bytes == span && span / last->bytes == span / size)
			last->size = last->bytes = size;
		else if (!vec_push(&self->list,
				   ((struct size_class){size, size, span, TCMALLOC_PAGE})))
			return false;
	}
	return true;
}

static struct size_class listed(const struct size_classes *self, u64 size)
{
	u64 at = bisect(i, self->list.count, self->list.data[i].size < size);

	return at < self->list.count && self->list.data[at].bytes <= 2 * size + CLASS_FAR
		       ? self->list.data[at]
		       : (struct size_class){size, size, 0, 0};
}

static struct size_class tcmalloc_find(const struct size_classes *self, u64 size)
{
	return size > TCMALLOC_MOST ? (struct size_class){size, round_up(size, TCMALLOC_PAGE), 0, 0}
				    : listed(self, size);
}

/* ---- all ---- */

static const struct class_rules all_rules[] = {
	{"glibc", GLIBC_HEAD, glibc_find, NULL},
	{"jemalloc", 0, jemalloc_find, NULL},
	{"mimalloc", 0, mimalloc_find, NULL},
	{"tcmalloc", 0, tcmalloc_find, tcmalloc_list},
};

struct size_classes size_classes_of(const struct model *model)
{
	const char *name = allocator_is_glibc(model) ? "glibc" : allocator_name(model);
	struct size_classes self = {.arch = model->image.arch};

	/* Recorders of accesses bring an allocator of their own. */
	for (u32 i = 0; name && !model->image.access && i < sizeof all_rules / sizeof *all_rules;
	     i++)
		if (strcmp(all_rules[i].allocator, name) == 0)
			self.rules = &all_rules[i];
	if (self.rules && (!self.rules->list || self.rules->list(&self)))
		self.basis = CLASSES_RULES;
	return self;
}

void size_classes_release(struct size_classes *self) { vec_release(&self->list); }

const char *size_classes_allocator(const struct size_classes *self)
{
	return self->basis == CLASSES_RULES ? self->rules->allocator : NULL;
}

struct size_class size_classes_find(const struct size_classes *self, u64 size)
{
	if (size > UINT32_MAX || self->basis == CLASSES_UNKNOWN)
		return (struct size_class){size, size, 0, 0};
	return self->basis == CLASSES_RULES ? self->rules->find(self, size) : listed(self, size);
}

struct class_extent size_classes_block(const struct size_classes *self, u64 address, u64 size)
{
	u64 bytes = size_classes_find(self, size).bytes;
	u64 head = self->basis == CLASSES_RULES && size <= UINT32_MAX ? self->rules->head : 0;

	return (struct class_extent){address - head, address - head + bytes};
}

/* Spans begin at a page, and blocks in them at multiples of their size. If two pages may be the
 * first one, nothing but the block's own page is certain. */
struct class_extent size_classes_span(const struct size_classes *self, u64 address, u64 size)
{
	struct class_extent block = size_classes_block(self, address, size), span = {0};
	struct size_class class = size_classes_find(self, size);
	u64 page = class.page_bytes, own, count = 0;

	if (!class.span_bytes)
		return block;
	own = address / page * page;
	for (u64 start = own; own - start < class.span_bytes && start <= own; start -= page)
		if (page == class.span_bytes ||
		    ((address - start) % class.bytes == 0 &&
		     address + class.bytes <= start + class.span_bytes)) {
			span = (struct class_extent){start, start + class.span_bytes};
			count++;
		}
	if (count == 1)
		return span;
	return (struct class_extent){own < block.start ? own : block.start,
				     block.end > own + page ? block.end : own + page};
}
