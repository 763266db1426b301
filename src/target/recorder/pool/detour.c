/* SPDX-License-Identifier: MIT
 * Memory and protection around a detour; see detour.h. Runs in the target. */
#include "target/recorder/pool/detour.h"

#include "target/recorder/state/memory.h"
#include "target/recorder/state/sys.h"

enum {
	FIXED_NOREPLACE = 0x100000, /* MAP_FIXED_NOREPLACE; older kernels take it for a hint */
	NEAR_STEP = 1 << 20,
	NEAR_FIRST = 1 << 16,
};

static u8 *map_there(u64 address)
{
	u64 page = address & ~(u64)(NEAR_FIRST - 1);
	long p;

	if (page < NEAR_FIRST)
		return NULL;
	p = hwr_ask6(SYS_mmap, (long)page, HWR_DETOUR_PAD, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | FIXED_NOREPLACE, -1, 0);
	if (hwr_sys_failed((void *)p))
		return NULL;
	if ((u64)p != page) {
		hwr_munmap((void *)p, HWR_DETOUR_PAD);
		return NULL;
	}
	return (u8 *)p;
}

/* Below the function first: the heap of brk grows above a program. An allocator has dozens of
 * functions, so the search begins where the last one ended. */
u8 *hwr_detour_near(u64 address, u64 reach)
{
	static u64 last;
	u8 *p = NULL;

	reach -= NEAR_STEP;
	if (last && last > NEAR_FIRST && address - last < reach - NEAR_FIRST)
		p = map_there(last - NEAR_FIRST);
	for (u64 far = NEAR_FIRST; far < reach && far < address && !p;
	     far += far < NEAR_STEP ? NEAR_FIRST : NEAR_STEP)
		p = map_there(address - far);
	for (u64 far = NEAR_STEP; far < reach && !p; far += NEAR_STEP)
		p = map_there(address + far);
	if (p)
		hwr_own_map(p, HWR_DETOUR_PAD);
	last = (u64)p;
	return p;
}

bool hwr_detour_protect(u64 start, u64 bytes, int protection)
{
	u64 first = start & ~(HWR_PAGE - 1),
	    last = (start + bytes + HWR_PAGE - 1) & ~(HWR_PAGE - 1);

	return hwr_ask3(SYS_mprotect, (long)first, (long)(last - first), protection) == 0;
}

void hwr_detour_restore(u64 start, u64 bytes)
{
	int guard = hwr_detour_guard(start);

	/* a kernel or a CPU that knows no guard refuses it */
	if (!guard || !hwr_detour_protect(start, bytes, PROT_READ | PROT_EXEC | guard))
		hwr_detour_protect(start, bytes, PROT_READ | PROT_EXEC);
}

static bool patch_code(const struct hwr_detour *self)
{
	if (!hwr_detour_protect(self->at, self->patch_bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	hwr_copy((void *)self->at, self->patch, self->patch_bytes);
	hwr_detour_sync(self->at, self->patch_bytes);
	hwr_detour_restore(self->at, self->patch_bytes);
	return true;
}

static enum hw_pool_state prepare(struct hwr_detour *self, u64 reach)
{
	enum hw_pool_state state = hwr_detour_plan(self);

	if (state != HW_POOL_RECORDED)
		return state;
	self->pad = hwr_detour_near(self->at, reach);
	if (!self->pad)
		return HW_POOL_NO_ROOM;
	return hwr_detour_write(self) ? HW_POOL_RECORDED : HW_POOL_UNFIT;
}

enum hw_pool_state hwr_detour_make(struct hwr_detour *self)
{
	enum hw_pool_state state;

	self->guarded = hwr_detour_guard(self->function) != 0;
	self->shadowed = hwr_has_shadow_stack();
	state = prepare(self, hwr_detour_reach);
	/* in the midst of a large program */
	if (state == HW_POOL_NO_ROOM && hwr_detour_far_reach) {
		self->far = true;
		state = prepare(self, hwr_detour_far_reach);
	}
	if (state != HW_POOL_RECORDED)
		return state;
	hwr_detour_sync((u64)self->pad, HWR_DETOUR_PAD);
	if (!hwr_detour_protect((u64)self->pad, HWR_DETOUR_PAD, PROT_READ | PROT_EXEC) ||
	    !patch_code(self))
		return HW_POOL_NO_ROOM;
	return HW_POOL_RECORDED;
}

bool hwr_detour_stands(const struct hwr_detour *self)
{
	return hwr_readable(self->at) && hwr_same((void *)self->at, self->patch, self->patch_bytes);
}
