/* SPDX-License-Identifier: MIT
 * Mapping the shadow before an instrumented module does, and who is instrumented; see shadow.h.
 * Runs in the target. */
#include "target/access/shadow/shadow.h"

#include "target/access/heap/asks.h"
#include "target/access/shadow/adaptive.h"
#include "target/recorder/state/state.h"
#include "target/recorder/state/sys.h"

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

/* ---- moving ---- */

/* Of adaptive recording the helper may write to any shadow at any time, and knows which units are
 * hot by their addresses. */
u64 hwr_access_armed(u64 what, u64 bytes)
{
	return what & HWR_CHUNK_MEASURED && !load_relaxed(&hwr_adaptive_epoch) ? bytes : 0;
}

/* Makes memory of a place that mremap has left. What is there already was not touched. */
static bool fill_hole(u64 address, u64 bytes, int dump)
{
	enum { NO_REPLACE = 0x100000 };
	long result = hwr_syscall6(SYS_mmap, (long)address, (long)bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | NO_REPLACE, -1, 0);

	if (result == -17 /* EEXIST */)
		return true;
	if (result != (long)address) {
		if (!hwr_sys_failed((void *)result))
			hwr_munmap((void *)result, bytes);
		return false;
	}
	hwr_madvise((void *)address, bytes, MADV_NOHUGEPAGE);
	hwr_madvise((void *)address, bytes, dump);
	return true;
}

/* The kernel takes the place of `to` away before it finds out that it cannot move. Whole slots
 * only: they stay one mapping each. */
static bool move_range(const struct hwr_move *move, bool *hole, int dump)
{
	enum { MAY_MOVE = 1, FIXED = 2 };
	bool moved =
		hwr_ask6(SYS_mremap, (long)move->from, (long)move->from_bytes, (long)move->to_bytes,
			 MAY_MOVE | FIXED, (long)move->to, 0) == (long)move->to;

	*hole = moved ? !fill_hole(move->from, move->from_bytes, dump)
		      : !fill_hole(move->to, move->to_bytes, dump);
	return moved;
}

bool hwr_access_move(struct hwr_move *move)
{
	struct hwr_move shadow = {
		.from = (u64)hw_shadow_of(move->from),
		.from_bytes = move->from_bytes / 8,
		.to = (u64)hw_shadow_of(move->to),
		.to_bytes = move->to_bytes / 8,
	};
	bool hole = false;

	if (move->armed && !move_range(&shadow, &hole, MADV_DONTDUMP)) {
		move->armed = 0;
		move->hole = hole;
		if (hole)
			return false;
	}
	if (!move_range(move, &move->hole, MADV_DODUMP))
		return false;
	move->hole |= hole;
	return true;
}

/* ---- who is instrumented ---- */

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
