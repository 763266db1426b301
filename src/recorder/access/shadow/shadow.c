/* SPDX-License-Identifier: MIT
 * Mapping the shadow before an instrumented module does, and who is instrumented; see shadow.h.
 * Runs in the target. */
#include "recorder/access/shadow/shadow.h"

#include "recorder/access/access.h"
#include "recorder/heap/heap.h"
#include "recorder/sys.h"

static bool map_fixed(u64 address, u64 bytes, int protection, int flags)
{
	void *p = (void *)hwr_syscall6(SYS_mmap, (long)address, (long)bytes, protection,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	return p == (void *)address;
}

static bool open_board(void)
{
	enum { NO_REPLACE = 0x100000 };

	if (!map_fixed(HW_BOARD_ADDRESS, HW_BOARD_BYTES, PROT_READ | PROT_WRITE, NO_REPLACE))
		return hwr_readable(HW_BOARD_ADDRESS) && HW_BOARD->magic == HW_BOARD_MAGIC &&
		       HW_BOARD->version == HW_BOARD_VERSION;
	HW_BOARD->version = HW_BOARD_VERSION;
	HW_BOARD->magic = HW_BOARD_MAGIC;
	if (map_fixed(HW_SHADOW_OFFSET, HW_SHADOW_BYTES, PROT_READ, NO_REPLACE))
		return true;
	hwr_munmap(HW_BOARD, HW_BOARD_BYTES);
	return false;
}

bool hwr_shadow_open(void)
{
	static bool opened; /* stays after fork, as the mappings do */
	u64 shadow = (u64)hw_shadow_of(HW_HEAP_START);

	if (opened)
		return true;
	if (!open_board() ||
	    !map_fixed(shadow, HWR_HEAP_BYTES / 8, PROT_READ | PROT_WRITE, MAP_FIXED))
		return false;
	add_relaxed(&hwr_reserved_bytes, HW_SHADOW_BYTES);
	hwr_madvise((void *)HW_SHADOW_OFFSET, HW_SHADOW_BYTES, MADV_DONTDUMP);
	hwr_madvise((void *)shadow, HWR_HEAP_BYTES / 8, MADV_NOHUGEPAGE);
	hwr_own_map((void *)shadow, HWR_HEAP_BYTES / 8);
	return opened = true;
}

bool hwr_shadow_is_instrumented(u64 pc)
{
	u32 used = load_acquire(&HW_BOARD->modules_used);

	for (u32 i = 0; i < used; i++) {
		const struct hw_board_module *module = &HW_BOARD->module[i];
		u64 end = load_acquire(&module->end); /* pairs with the stub's release */

		if (pc < end && pc >= module->start)
			return true;
	}
	return false;
}
