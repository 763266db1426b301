/* SPDX-License-Identifier: MIT
 * Detours on aarch64: one instruction for the jump, so one is moved. Runs in the target. */
#include "recorder/memory.h"
#include "recorder/pool/detour.h"

enum { INSTRUCTION = 4, MOVED_AT = 64 };

const u64 hwr_detour_reach = (u64)100 << 20; /* of b: 128 MiB */

static u32 read_at(u64 at)
{
	u32 code;

	hwr_copy(&code, (const void *)at, sizeof code);
	return code;
}

static bool is_landing_mark(u32 code) { return (code & 0xffffff3f) == 0xd503241f; /* bti */ }

/* What is relative to its own place: adr, adrp, loads of constants, jumps. */
static bool is_relative(u32 code)
{
	return (code & 0x1f000000) == 0x10000000 || (code & 0x3b000000) == 0x18000000 ||
	       (code & 0x7c000000) == 0x14000000 || (code & 0x7e000000) == 0x34000000 ||
	       (code & 0x7e000000) == 0x36000000 || (code & 0xff000000) == 0x54000000;
}

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

bool hwr_detour_plan(struct hwr_detour *self)
{
	u32 code;

	self->at = self->function;
	if (is_landing_mark(read_at(self->at)))
		self->at += INSTRUCTION;
	self->moved = INSTRUCTION;
	code = read_at(self->at);
	if (self->bytes && self->at + INSTRUCTION > self->function + self->bytes)
		return false;
	if ((is_constant(code) || is_adrp(code) || is_adr(code)) && (code & 31) == 31)
		return false; /* into no register: there is none for the address */
	return !is_relative(code) || is_adrp(code) || is_adr(code) || is_jump(code) || is_call(code) ||
	       is_branch(code) || is_constant(code);
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

static u64 constant_address(u32 code, u64 at) { return at + (u64)(((i64)((u64)code << 40) >> 45) * 4); }

/* The same load, from an address in the register that it goes to. */
static u32 constant_load(u32 code)
{
	u32 number = code & 31, what = code >> 30;

	return (what == 0 ? 0xb9400000 : what == 1 ? 0xf9400000 : 0xb9800000) | number << 5 | number;
}

static u64 jump_target(u32 code, u64 at) { return at + (u64)((i64)((u64)code << 38) >> 36); }

static u64 branch_target(u32 code, u64 at)
{
	u32 bits = is_test_bit(code) ? 14 : 19;

	return at + (u64)(((i64)((u64)code << (59 - bits)) >> (64 - bits)) * 4);
}

/* The branch goes behind the jump that goes on, to one to its target. */
static void put_branch(u32 *to, u32 code, u64 at)
{
	enum { SKIPPED = 5 }; /* instructions: itself and a far jump */
	u32 field = (is_test_bit(code) ? 0x3fffu : 0x7ffffu) << 5;

	*to++ = (code & ~field) | SKIPPED << 5;
	to = put_far_jump(to, at + INSTRUCTION);
	put_far_jump(to, branch_target(code, at));
}

bool hwr_detour_write(struct hwr_detour *self)
{
	u32 code = read_at(self->at), *to = (u32 *)(self->pad + MOVED_AT);
	i64 distance = (i64)((u64)self->pad - self->at);
	u32 jump = 0x14000000 | ((u32)(distance >> 2) & 0x03ffffff);

	if (self->instead)
		put_far_jump((u32 *)self->pad, self->instead);
	else
		put_far_jump(put_constant((u32 *)self->pad, 17, self->site), (u64)hwr_thunk);
	if (is_jump(code)) {
		put_far_jump(to, jump_target(code, self->at));
	} else if (is_call(code)) { /* returns to where it would have, for whoever walks the stack */
		put_far_jump(put_constant(to, 30, self->at + INSTRUCTION), jump_target(code, self->at));
	} else if (is_branch(code)) {
		put_branch(to, code, self->at);
	} else {
		if (is_adrp(code))
			to = put_constant(to, code & 31, adrp_value(code, self->at));
		else if (is_adr(code))
			to = put_constant(to, code & 31, adr_value(code, self->at));
		else if (is_constant(code)) {
			to = put_constant(to, code & 31, constant_address(code, self->at));
			*to++ = constant_load(code);
		} else
			*to++ = code;
		put_far_jump(to, self->at + INSTRUCTION);
	}
	hwr_copy(self->patch, &jump, INSTRUCTION);
	self->patch_bytes = INSTRUCTION;
	self->real = (u64)(self->pad + MOVED_AT);
	return distance < (i64)hwr_detour_reach && -distance < (i64)hwr_detour_reach;
}

void hwr_detour_sync(u64 start, u64 bytes)
{
	__builtin___clear_cache((char *)start, (char *)(start + bytes));
}

u64 hwr_thunk_argument(const struct hwr_thunk_frame *frame, u32 number) { return frame->integer[number]; }

u64 hwr_thunk_result(const struct hwr_thunk_frame *frame) { return frame->integer[0]; }
