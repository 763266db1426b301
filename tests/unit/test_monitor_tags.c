/* SPDX-License-Identifier: MIT
 * Pointers with a tag in their top byte lead a leak scan to their block where the processor does not look at tags. */
#include "format/arch/tag.h"
#include "lib/test.h"
#include "live/scan/mark.h"

enum { BLOCK = 0x500000 };

TEST(tags, "a block to which a tagged pointer leads is reachable, if the processor takes it for a pointer")
{
	static const u64 tags[] = {0, 1ull << 56, 0xb4ull << 56, 0xffull << 56};

	for (u32 i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
		struct scan_memory memory = SCAN_MEMORY_CLOSED;
		struct mapping mapped = {.start = BLOCK, .end = BLOCK + 4096};
		struct scan_index index = {0};
		struct scan_mark mark;
		struct err err = {0};
		bool leads = hw_untagged(BLOCK | tags[i]) == BLOCK;

		if (!vec_push(&memory.mappings, mapped) ||
		    !vec_push(&index.blocks, ((struct scan_block){.address = BLOCK, .size = 64})) ||
		    scan_index_build(&index, &memory, &err) < 0 || scan_mark_init(&mark, &memory, &index, NULL, &err) < 0)
			FAIL("%s", err.text);
		scan_mark_value(&mark, BLOCK | tags[i]);
		CHECK_EQ(mark.classes[0], leads ? CLASS_REACHABLE : CLASS_UNKNOWN);
		scan_mark_release(&mark);
		scan_index_release(&index);
		scan_memory_close(&memory);
	}
}
