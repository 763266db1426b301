/* SPDX-License-Identifier: MIT
 * Which blocks are alike: memory of our own, which the scan reads as that of any process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"
#include "live/scan/contents.h"

struct heap {
	u8 *memory;
	u64 bytes;
	struct scan_index index;
	struct stream_content *found; /* of each block, in the order of their making */
};

static void heap_new(struct heap *self, u64 bytes)
{
	*self = (struct heap){.bytes = bytes};
	self->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (self->memory == MAP_FAILED)
		FAIL("no memory");
	madvise(self->memory, bytes, MADV_NOHUGEPAGE);
}

/* Blocks are made by ascending address. */
static u8 *block_add(struct heap *self, u64 at, u64 size)
{
	struct scan_block block = {(u64)(uintptr_t)self->memory + at, size, self->index.blocks.count};

	if (at + size > self->bytes || !vec_push(&self->index.blocks, block))
		FAIL("no memory");
	return self->memory + at;
}

static void heap_read(struct heap *self)
{
	struct scan_memory memory = SCAN_MEMORY_CLOSED;
	struct scan_contents contents = {0};
	u64 count = self->index.blocks.count;
	struct err err = {0};
	u32 *places = calloc(count + 1, sizeof *places);

	self->found = calloc(count + 1, sizeof *self->found);
	if (!places || !self->found || scan_memory_open(&memory, (u32)getpid(), (u32)getpid(), NULL, &err) < 0 ||
	    scan_index_build(&self->index, &memory, &err) < 0 ||
	    scan_contents_read(&contents, &memory, &self->index, &err) < 0)
		FAIL("%s", err.text);
	for (u32 i = 0; i < count; i++)
		places[i] = i;
	CHECK(scan_contents_number(&contents, places, self->found));
	scan_contents_release(&contents);
	scan_memory_close(&memory);
	free(places);
}

static void heap_release(struct heap *self)
{
	munmap(self->memory, self->bytes);
	scan_index_release(&self->index);
	free(self->found);
}

TEST(strings, "ten thousand copies of a hundred strings are a hundred groups")
{
	enum { COPIES = 10000, STRINGS = 100 };
	struct heap heap;

	heap_new(&heap, COPIES * 48);
	for (u32 i = 0; i < COPIES; i++)
		snprintf((char *)block_add(&heap, i * 48ull, 33), 33, "a string that is here often %04u", i % STRINGS);
	heap_read(&heap);
	for (u32 i = 0; i < COPIES; i++)
		CHECK_EQ(heap.found[i].group, CONTENT_FIRST + i % STRINGS);
	heap_release(&heap);
}

TEST(last_byte, "blocks that differ in the last byte, or in their size, are not alike")
{
	static const u64 sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 239, 240, 241, 4097, 65535, 65536, 65537, 200001};
	struct heap heap;
	u64 at = 0;

	heap_new(&heap, 4 << 20);
	for (u64 i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (u32 copy = 0; copy < 4; copy++) {
			u8 *block = block_add(&heap, at, sizes[i]);

			for (u64 k = 0; k < sizes[i]; k++)
				block[k] = (u8)(k * 7 + 1);
			block[sizes[i] - 1] = copy == 3 ? 251 : copy == 2 ? 252 : 250;
			/* any alignment */
			at += sizes[i] + 16 + copy * 3;
		}
	}
	heap_read(&heap);
	for (u64 i = 0; i < heap.index.blocks.count; i += 4) {
		CHECK((heap.found[i].group & ~CONTENT_REPEATED) >= CONTENT_FIRST);
		CHECK_EQ(heap.found[i].group, heap.found[i + 1].group);
		CHECK_EQ(heap.found[i + 2].group, CONTENT_UNIQUE);
		CHECK_EQ(heap.found[i + 3].group, CONTENT_UNIQUE);
		for (u64 k = 0; k < i; k++)
			CHECK(heap.found[k].group != heap.found[i].group);
	}
	heap_release(&heap);
}

TEST(zero, "blocks of zeros are told, and those of one other byte only if they are alike")
{
	static const u64 sizes[] = {1, 100, 70000};
	struct heap heap;

	heap_new(&heap, 1 << 20);
	for (u64 i = 0; i < 3; i++) {
		memset(block_add(&heap, i << 18, sizes[i]), 0, sizes[i]);
		memset(block_add(&heap, (i << 18) + 0x12000, sizes[i]), 9, sizes[i]);
		memset(block_add(&heap, (i << 18) + 0x24000, sizes[i]), 9, sizes[i]);
		memset(block_add(&heap, (i << 18) + 0x36000, sizes[i]), 8, sizes[i] < 60000 ? sizes[i] : 40000);
	}
	heap_read(&heap);
	for (u64 i = 0; i < 12; i += 4) {
		CHECK_EQ(heap.found[i].group, CONTENT_ZERO);
		CHECK_EQ(heap.found[i + 1].group, (CONTENT_FIRST + i / 4) | CONTENT_REPEATED);
		CHECK_EQ(heap.found[i + 2].group, heap.found[i + 1].group);
		CHECK_EQ(heap.found[i + 3].group, CONTENT_UNIQUE);
	}
	heap_release(&heap);
}

TEST(untouched, "pages that were never touched count as zeros, and are counted")
{
	enum { SIZE = 100 * 4096, FAR = 128 * 4096 };
	struct heap heap;
	u8 *sparse, *full;

	heap_new(&heap, 4 * FAR);
	block_add(&heap, 16, SIZE - 16); /* never touched: 99 whole pages */
	sparse = block_add(&heap, FAR + 16, SIZE);
	sparse[5 * 4096] = 3;
	sparse[SIZE - 1] = 4;
	full = block_add(&heap, 2 * FAR + 64, SIZE); /* the same, at another place in its page */
	memset(full, 0, SIZE);
	full[5 * 4096] = 3;
	full[SIZE - 1] = 4;
	heap_read(&heap);
	CHECK_EQ(heap.found[0].group, CONTENT_ZERO);
	CHECK_EQ(heap.found[0].untouched_pages, 99);
	CHECK_EQ(heap.found[1].group, CONTENT_FIRST);
	CHECK_EQ(heap.found[2].group, CONTENT_FIRST);
	/* the first and the last page are not all its own */
	CHECK_EQ(heap.found[1].untouched_pages, 98);
	CHECK_EQ(heap.found[2].untouched_pages, 0);
	heap_release(&heap);
}
