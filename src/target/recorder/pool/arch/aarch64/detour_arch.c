/* SPDX-License-Identifier: MIT
 * Detours on aarch64: one instruction for the jump, so one is moved; two for one that leaves a
 * program of more than 128 MiB.
 * Runs in the target. */
#include "target/recorder/pool/detour.h"
#include "target/recorder/pool/thunk.h"
#include "target/recorder/state/memory.h"

#include "instruction.h"

enum { INSTRUCTION = 4, FAR_PATCH = 2 * INSTRUCTION, MOVED_AT = 64 };

const u64 hwr_detour_reach = (u64)100 << 20;   /* of b: 128 MiB */
const u64 hwr_detour_far_reach = (u64)3 << 30; /* of adrp: 4 GiB */

static u32 read_at(u64 at)
{
	u32 code;

	hwr_copy(&code, (const void *)at, sizeof code);
	return code;
}

static bool is_landing_mark(u32 code) { return (code & 0xffffff3f) == 0xd503241f; /* bti */ }

static bool is_adrp(u32 code) { return (code & 0x9f000000) == 0x90000000; }
static bool is_adr(u32 code) { return (code & 0x9f000000) == 0x10000000; }
static bool is_call(u32 code) { return (code & 0xfc000000) == 0x94000000; }

/* ldr of 4 or 8 bytes, ldrsw: into a register that can be the address first. */
static bool is_constant(u32 code)
{
	return (code & 0xbf000000) == 0x18000000 || (code & 0xff000000) == 0x98000000;
}
static bool is_jump(u32 code) { return (code & 0xfc000000) == 0x14000000; }
static bool is_test_bit(u32 code) { return (code & 0x7e000000) == 0x36000000; /* tbz, tbnz */ }

/* cbz, cbnz, tbz, tbnz, b.cond: "if (!p) return" is how many functions begin. */
static bool is_branch(u32 code)
{
	return (code & 0x7e000000) == 0x34000000 || is_test_bit(code) ||
	       (code & 0xff000010) == 0x54000000;
}

static u32 *put_address(u32 *at, u64 value)
{
	*at++ = (u32)value;
	*at++ = (u32)(value >> 32);
	return at;
}

/* ldr x16, .+8; br x16; the address */
static u32 *put_far_jump(u32 *at, u64 target)
{
	*at++ = 0x58000050;
	*at++ = 0xd61f0200;
	return put_address(at, target);
}

/* ldr xN, .+8; b .+12; the value */
static u32 *put_constant(u32 *at, u32 number, u64 value)
{
	*at++ = 0x58000040 | number;
	*at++ = 0x14000003;
	return put_address(at, value);
}

static u64 adrp_value(u32 code, u64 at)
{
	u64 pages = (u64)(code >> 5 & 0x7ffff) << 2 | (code >> 29 & 3);

	return (at & ~(u64)4095) + (u64)((i64)(pages << 43) >> 31);
}

static u64 adr_value(u32 code, u64 at)
{
	u64 bytes = (u64)(code >> 5 & 0x7ffff) << 2 | (code >> 29 & 3);

	return at + (u64)((i64)(bytes << 43) >> 43);
}

static u64 constant_address(u32 code, u64 at)
{
	return at + (u64)(((i64)((u64)code << 40) >> 45) * 4);
}

/* The same load, from an address in the register that it goes to. */
static u32 constant_load(u32 code)
{
	u32 number = code & 31, what = code >> 30;

	return (what == 0   ? 0xb9400000
		: what == 1 ? 0xf9400000
			    : 0xb9800000) |
	       number << 5 | number;
}

static u64 jump_target(u32 code, u64 at) { return at + (u64)((i64)((u64)code << 38) >> 36); }

static u64 branch_target(u32 code, u64 at)
{
	u32 bits = is_test_bit(code) ? 14 : 19;

	return at + (u64)(((i64)((u64)code << (59 - bits)) >> (64 - bits)) * 4);
}

/* A jump to the second of the moved instructions would land in the midst of the patch. */
static bool is_jumped_into(const struct hwr_detour *self)
{
	u64 end = self->function + self->bytes;

	for (u64 at = self->function; at < end; at += INSTRUCTION) {
		u32 code = read_at(at);

		if (((is_jump(code) || is_call(code)) &&
		     jump_target(code, at) == self->at + INSTRUCTION) ||
		    (is_branch(code) && branch_target(code, at) == self->at + INSTRUCTION))
			return true;
	}
	return false;
}

static bool can_move(u32 code)
{
	if ((is_constant(code) || is_adrp(code) || is_adr(code)) && (code & 31) == 31)
		return false; /* into no register: there is none for the address */
	return !hwr_instruction_is_relative(code) || is_adrp(code) || is_adr(code) ||
	       is_jump(code) || is_call(code) || is_branch(code) || is_constant(code);
}

bool hwr_detour_plan(struct hwr_detour *self)
{
	self->at = self->function;
	if (is_landing_mark(read_at(self->at)))
		self->at += INSTRUCTION;
	self->moved = self->far ? FAR_PATCH : INSTRUCTION;
	if (self->bytes && self->at + self->moved > self->function + self->bytes)
		return false;
	if (!can_move(read_at(self->at)))
		return false;
	/* A call that comes first would return into the patch, and where a function ends must be
	 * known. */
	return !self->far || (self->bytes && !is_call(read_at(self->at)) &&
			      can_move(read_at(self->at + INSTRUCTION)) && !is_jumped_into(self));
}

/* Taken, it goes to a jump to its target; else over that. */
static u32 *put_branch(u32 *to, u32 code, u64 target)
{
	enum { TAKEN = 2, OVER = 5 }; /* instructions */
	u32 field = (is_test_bit(code) ? 0x3fffu : 0x7ffffu) << 5;

	*to++ = (code & ~field) | TAKEN << 5;
	*to++ = 0x14000000 | OVER;
	return put_far_jump(to, target);
}

static u32 *move_one(u32 *to, u64 at)
{
	u32 code = read_at(at);

	if (is_jump(code))
		return put_far_jump(to, jump_target(code, at));
	if (is_call(code)) /* returns to where it would have, for whoever walks the stack */
		return put_far_jump(put_constant(to, 30, at + INSTRUCTION), jump_target(code, at));
	if (is_branch(code))
		return put_branch(to, code, branch_target(code, at));
	if (is_adrp(code))
		return put_constant(to, code & 31, adrp_value(code, at));
	if (is_adr(code))
		return put_constant(to, code & 31, adr_value(code, at));
	if (is_constant(code)) {
		to = put_constant(to, code & 31, constant_address(code, at));
		code = constant_load(code);
	}
	*to++ = code;
	return to;
}

/* b pad */
static u32 put_near_patch(u32 *patch, i64 distance)
{
	*patch = 0x14000000 | ((u32)(distance >> 2) & 0x03ffffff);
	return INSTRUCTION;
}

/* adrp x16, pad; br x16: a pad is at the beginning of a page */
static u32 put_far_patch(u32 *patch, u64 at, u64 pad)
{
	u64 pages = ((pad & ~(u64)4095) - (at & ~(u64)4095)) >> 12;

	patch[0] = 0x90000010 | (u32)(pages & 3) << 29 | (u32)(pages >> 2 & 0x7ffff) << 5;
	patch[1] = 0xd61f0200;
	return FAR_PATCH;
}

bool hwr_detour_write(struct hwr_detour *self)
{
	u32 *to = (u32 *)(self->pad + MOVED_AT), patch[FAR_PATCH / INSTRUCTION];
	i64 distance = (i64)((u64)self->pad - self->at);
	i64 reach = (i64)(self->far ? hwr_detour_far_reach : hwr_detour_reach);

	if (self->instead)
		put_far_jump((u32 *)self->pad, self->instead);
	else
		put_far_jump(put_constant((u32 *)self->pad, 17, self->site), (u64)hwr_thunk);
	for (u32 i = 0; i < self->moved; i += INSTRUCTION)
		to = move_one(to, self->at + i);
	put_far_jump(to, self->at + self->moved);
	self->patch_bytes = self->far ? put_far_patch(patch, self->at, (u64)self->pad)
				      : put_near_patch(patch, distance);
	hwr_copy(self->patch, patch, self->patch_bytes);
	self->real = (u64)(self->pad + MOVED_AT);
	return distance < reach && -distance < reach;
}

void hwr_detour_sync(u64 start, u64 bytes)
{
	__builtin___clear_cache((char *)start, (char *)(start + bytes));
}

u64 hwr_thunk_argument(const struct hwr_thunk_frame *frame, u32 number)
{
	return frame->integer[number];
}

u64 hwr_thunk_result(const struct hwr_thunk_frame *frame) { return frame->integer[0]; }
