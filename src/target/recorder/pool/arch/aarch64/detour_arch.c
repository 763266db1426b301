/* SPDX-License-Identifier: MIT
 * Detours on aarch64: one instruction for the jump, so one is moved; two for one that leaves a
 * program of more than 128 MiB.
 * Runs in the target. */
#include "target/recorder/pool/detour.h"

#include <elf.h>

#include "target/recorder/pool/thunk.h"
#include "target/recorder/state/memory.h"
#include "target/recorder/state/objects.h"
#include "target/recorder/state/sys.h"

#include "instruction.h"

enum {
	INSTRUCTION = 4,
	FAR_PATCH = 2 * INSTRUCTION,
	MOVED_AT = 64,
	NOTE_PROPERTIES = 5, /* NT_GNU_PROPERTY_TYPE_0 */
	SEGMENT_PROPERTIES = 0x6474e553,
	PROTECT_BTI = 0x10, /* PROT_BTI */
};
static const u32 PROPERTY_FEATURES = 0xc0000000, FEATURE_BTI = 1;

/* Signing a return address is a landing mark as well. */
static const u32 SIGN_A = 0xd503233f, SIGN_B = 0xd503237f; /* paciasp, pacibsp */
static const u32 UNSIGN = 0x80;                            /* autiasp, autibsp: this bit more */

const u64 hwr_detour_reach = (u64)100 << 20;   /* of b: 128 MiB */
const u64 hwr_detour_far_reach = (u64)3 << 30; /* of adrp: 4 GiB */

static u32 read_at(u64 at)
{
	u32 code;

	hwr_copy(&code, (const void *)at, sizeof code);
	return code;
}

/* ---- landing marks ---- */

/* Of the features that a module's note lists: number, bytes, content, to a multiple of 8 bytes. */
static bool has_marks(const u8 *property, u32 bytes)
{
	u32 head[3] = {0};

	for (u32 at = 0; at + sizeof(head) <= bytes; at += 8 + ((head[1] + 7) & ~7u)) {
		hwr_copy(head, property + at, sizeof(head));
		if (head[0] == PROPERTY_FEATURES)
			return head[2] & FEATURE_BTI;
		if (head[1] > bytes)
			break;
	}
	return false;
}

/* Loaders guard the code of modules whose note says that they have marks. */
int hwr_detour_guard(u64 code)
{
	struct hwr_module_at module;
	const ElfW(Ehdr) * header;
	const ElfW(Phdr) * segment;

	if (!hwr_module_at(code, &module))
		return 0;
	header = (const ElfW(Ehdr) *)module.start;
	if (!hwr_same(header, ELFMAG, SELFMAG) ||
	    header->e_phoff + header->e_phnum * sizeof(*segment) > HWR_PAGE)
		return 0;
	segment = (const ElfW(Phdr) *)(module.start + header->e_phoff);
	for (u32 i = 0; i < header->e_phnum; i++) {
		const u8 *note = (const u8 *)(module.base + segment[i].p_vaddr);
		u32 bytes;

		if (segment[i].p_type != SEGMENT_PROPERTIES)
			continue;
		note = hwr_note_find(note, segment[i].p_memsz, NOTE_PROPERTIES, "GNU", &bytes);
		return note && has_marks(note, bytes) ? PROTECT_BTI : 0;
	}
	return 0;
}

static bool is_sign(u32 code) { return code == SIGN_A || code == SIGN_B; }

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

/* b; or, for what is far away, ldr x16, .+8; br x16; the address. A br may not go to where there is
 * no landing mark: ret x16 may. */
static u32 *put_jump(u32 *at, u64 target, bool guarded)
{
	u64 distance = target - (u64)at;

	if (distance + ((u64)1 << 27) < (u64)1 << 28) {
		*at++ = 0x14000000 | ((u32)(distance >> 2) & 0x03ffffff);
		return at;
	}
	*at++ = 0x58000050;
	*at++ = guarded ? 0xd65f0200 : 0xd61f0200;
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

/* What of it a shadow stack forbids: a call that is moved becomes a jump, and a far jump to where
 * there is no mark a return. */
static bool needs_no_shadow(const struct hwr_detour *self)
{
	for (u32 i = 0; i < self->moved; i += INSTRUCTION)
		if (is_call(read_at(self->at + i)))
			return true;
	return self->far && self->guarded;
}

enum hw_pool_state hwr_detour_plan(struct hwr_detour *self)
{
	u32 first = read_at(self->function);

	self->at = self->function;
	if (is_landing_mark(first) || is_sign(first))
		self->at += INSTRUCTION;
	self->moved = self->far ? FAR_PATCH : INSTRUCTION;
	if (self->bytes && self->at + self->moved > self->function + self->bytes)
		return HW_POOL_UNFIT;
	if (!can_move(read_at(self->at)))
		return HW_POOL_UNFIT;
	/* A call that comes first would return into the patch, and where a function ends must be
	 * known. */
	if (self->far && (!self->bytes || is_call(read_at(self->at)) ||
			  !can_move(read_at(self->at + INSTRUCTION)) || is_jumped_into(self)))
		return HW_POOL_UNFIT;
	return self->shadowed && needs_no_shadow(self) ? HW_POOL_SHADOWED : HW_POOL_RECORDED;
}

/* Taken, it goes to a jump to its target; else over that. */
static u32 *put_branch(u32 *to, u32 code, u64 target, bool guarded)
{
	enum { TAKEN = 2 }; /* instructions */
	u32 field = (is_test_bit(code) ? 0x3fffu : 0x7ffffu) << 5;
	u32 *over = to + 1, *end = put_jump(to + 2, target, guarded);

	to[0] = (code & ~field) | TAKEN << 5;
	put_jump(over, (u64)end, guarded);
	return end;
}

static u32 *move_one(u32 *to, u64 at, bool guarded)
{
	u32 code = read_at(at);

	if (is_jump(code))
		return put_jump(to, jump_target(code, at), guarded);
	if (is_call(code)) /* returns to where it would have, for whoever walks the stack */
		return put_jump(put_constant(to, 30, at + INSTRUCTION), jump_target(code, at),
				guarded);
	if (is_branch(code))
		return put_branch(to, code, branch_target(code, at), guarded);
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

/* The way to the thunk, which is behind the mark of a function: what that signed is undone, as if
 * it had not been entered. */
static void put_pad(u32 *to, const struct hwr_detour *self)
{
	u32 first = read_at(self->function);

	if (is_sign(first))
		*to++ = first | UNSIGN;
	if (!self->instead)
		to = put_constant(to, 17, self->site);
	put_jump(to, self->instead ? self->instead : (u64)hwr_thunk, false); /* has a mark */
}

bool hwr_detour_write(struct hwr_detour *self)
{
	u32 *to = (u32 *)(self->pad + MOVED_AT), patch[FAR_PATCH / INSTRUCTION];
	i64 distance = (i64)((u64)self->pad - self->at);
	i64 reach = (i64)(self->far ? hwr_detour_far_reach : hwr_detour_reach);

	put_pad((u32 *)self->pad, self);
	if (is_sign(read_at(self->function)))
		*to++ = read_at(self->function);
	for (u32 i = 0; i < self->moved; i += INSTRUCTION)
		to = move_one(to, self->at + i, self->guarded);
	put_jump(to, self->at + self->moved, self->guarded);
	self->patch_bytes = self->far ? put_far_patch(patch, self->at, (u64)self->pad)
				      : put_near_patch(patch, distance);
	hwr_copy(self->patch, patch, self->patch_bytes);
	self->real = (u64)(self->pad + MOVED_AT);
	return distance < reach && -distance < reach;
}

/* By itself: libgcc's function for it comes without landing marks in older compilers. */
void hwr_detour_sync(u64 start, u64 bytes)
{
	u64 lines, data, code;

	__asm__ volatile("mrs %0, ctr_el0" : "=r"(lines));
	data = (u64)INSTRUCTION << (lines >> 16 & 15);
	code = (u64)INSTRUCTION << (lines & 15);
	for (u64 at = start & -data; at < start + bytes; at += data)
		__asm__ volatile("dc cvau, %0" : : "r"(at) : "memory");
	__asm__ volatile("dsb ish" : : : "memory");
	for (u64 at = start & -code; at < start + bytes; at += code)
		__asm__ volatile("ic ivau, %0" : : "r"(at) : "memory");
	__asm__ volatile("dsb ish\n\tisb" : : : "memory");
}

u64 hwr_thunk_argument(const struct hwr_thunk_frame *frame, u32 number)
{
	return frame->integer[number];
}

u64 hwr_thunk_result(const struct hwr_thunk_frame *frame) { return frame->integer[0]; }
