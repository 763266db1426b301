/* SPDX-License-Identifier: MIT
 * Detours on x86_64: five bytes for the jump. Runs in the target. Instructions that know where they
 * are, jumps and whatever is relative to them, are written anew for their new place. */
#include "target/recorder/pool/detour.h"
#include "target/recorder/pool/thunk.h"
#include "target/recorder/state/memory.h"

#include "instruction.h"

enum {
	MARK_BYTES = 4,
	JUMP_BYTES = 5,
	FAR_BYTES = 15,
	PUSH_BYTES = 5,
	MOVED_AT = 32,
};

const u64 hwr_detour_reach = (u64)1 << 30, hwr_detour_far_reach = 0;

static const u8 landing_mark[MARK_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */

/* Nobody guards single pages, and jumps that are not direct say that they need no mark. */
int hwr_detour_guard(u64 code)
{
	(void)code;
	return 0;
}

static bool is_landing_mark(const u8 *code) { return hwr_same(code, landing_mark, MARK_BYTES); }

/* A jump into the middle of what is moved would land in the middle of the patch. */
static bool is_jumped_into(const struct hwr_detour *self)
{
	u64 at = self->function, end = self->function + self->bytes;
	struct hwr_instruction one;

	for (; at < end; at += one.bytes) {
		if (!hwr_instruction_read(&one, (const u8 *)at))
			return true; /* who knows */
		if (one.flow != HWR_FLOW_NEXT && one.target > self->at &&
		    one.target < self->at + self->moved)
			return true;
	}
	return false;
}

enum hw_pool_state hwr_detour_plan(struct hwr_detour *self)
{
	u64 end = self->function + self->bytes;
	bool calls = false;
	struct hwr_instruction one;

	self->at = self->function + (is_landing_mark((const u8 *)self->function) ? MARK_BYTES : 0);
	for (self->moved = 0; self->moved < JUMP_BYTES; self->moved += one.bytes) {
		const u8 *code = (const u8 *)self->at + self->moved;

		if (!hwr_instruction_read(&one, code) || one.flow == HWR_FLOW_LOOP)
			return HW_POOL_UNFIT;
		if (self->bytes && (u64)code >= end && !hwr_instruction_is_filling(code))
			return HW_POOL_UNFIT;
		calls |= one.flow == HWR_FLOW_CALL;
	}
	if (is_jumped_into(self))
		return HW_POOL_UNFIT;
	/* Moved, it is a jump, and the shadow stack knows of no call to return from. */
	return calls && self->shadowed ? HW_POOL_SHADOWED : HW_POOL_RECORDED;
}

static void put_4(u8 *at, u64 value)
{
	for (u32 i = 0; i < 4; i++)
		at[i] = (u8)(value >> (8 * i));
}

static bool is_near(u64 from, u64 to) { return to - from + ((u64)1 << 31) < (u64)1 << 32; }

/* To anywhere, also where there is no landing mark: jmp; or, for what is far away, notrack jmp
 * *0(%rip), and the address behind it. */
static u8 *put_jump(u8 *at, u64 target)
{
	u64 next = (u64)at + JUMP_BYTES;

	if (is_near(next, target)) {
		at[0] = 0xe9;
		put_4(at + 1, target - next);
		return at + JUMP_BYTES;
	}
	hwr_copy(at, "\x3e\xff\x25\0\0\0\0", 7);
	put_4(at + 7, target);
	put_4(at + 11, target >> 32);
	return at + FAR_BYTES;
}

/* `bytes` is the whole instruction's, whose last four are the distance. */
static bool put_distance(u8 *at, u32 bytes, u64 target)
{
	u64 next = (u64)at + bytes;

	put_4(at + bytes - 4, target - next);
	return is_near(next, target);
}

/* A call must return to where it would have returned, for whoever walks the stack: the address is
 * pushed, in two halves, and the call becomes a jump. */
static u8 *put_call(u8 *at, u64 returns_to, u64 target)
{
	at[0] = 0x68; /* push: the low half, with its sign */
	put_4(at + 1, returns_to);
	hwr_copy(at + 5, "\xc7\x44\x24\x04", 4); /* movl …, 4(%rsp) */
	put_4(at + 9, returns_to >> 32);
	return put_jump(at + 13, target);
}

static u8 *move_one(u8 *to, const u8 *from, const struct hwr_instruction *one)
{
	switch (one->flow) {
	case HWR_FLOW_CALL: return put_call(to, (u64)from + one->bytes, one->target);
	case HWR_FLOW_JUMP: return put_jump(to, one->target);
	case HWR_FLOW_IF:
		to[0] = 0x0f;
		to[1] = 0x80 | one->condition;
		return put_distance(to, 6, one->target) ? to + 6 : NULL;
	default: break;
	}
	hwr_copy(to, from, one->bytes);
	if (one->relative) {
		u64 shift = (u64)from - (u64)to, distance = 0;

		for (u32 i = 0; i < 4; i++)
			distance |= (u64)from[one->relative + i] << (8 * i);
		distance = (u64)(i64)(i32)distance + shift;
		if ((u64)(i64)(i32)distance != distance)
			return NULL;
		put_4(to + one->relative, distance);
	}
	return to + one->bytes;
}

bool hwr_detour_write(struct hwr_detour *self)
{
	const u8 *from = (const u8 *)self->at, *end = from + self->moved;
	u8 *to = self->pad + MOVED_AT;
	struct hwr_instruction one;

	if (self->instead) {
		put_jump(self->pad, self->instead);
	} else {
		self->pad[0] = 0x68; /* push */
		put_4(self->pad + 1, self->site);
		put_jump(self->pad + PUSH_BYTES, (u64)hwr_thunk);
	}
	hwr_copy(to, landing_mark, MARK_BYTES); /* it is called by address */
	to += MARK_BYTES;
	for (; from < end && to; from += one.bytes) {
		if (!hwr_instruction_read(&one, from))
			return false;
		to = move_one(to, from, &one);
	}
	if (!to)
		return false;
	put_jump(to, self->at + self->moved);
	self->patch[0] = 0xe9;
	put_4(self->patch + 1, (u64)self->pad - (self->at + JUMP_BYTES));
	self->patch_bytes = JUMP_BYTES;
	self->real = (u64)(self->pad + MOVED_AT);
	return is_near(self->at + JUMP_BYTES, (u64)self->pad);
}

/* The processor sees to it, once the writing thread has jumped. */
void hwr_detour_sync(u64 start, u64 bytes)
{
	(void)start;
	(void)bytes;
	__asm__ volatile("" : : : "memory");
}

u64 hwr_thunk_argument(const struct hwr_thunk_frame *frame, u32 number)
{
	return frame->integer[number];
}

u64 hwr_thunk_result(const struct hwr_thunk_frame *frame) { return frame->integer[6]; /* rax */ }
