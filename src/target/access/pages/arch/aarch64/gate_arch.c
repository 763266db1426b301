/* SPDX-License-Identifier: MIT
 * Gates on aarch64: the instruction before `svc` becomes the jump. Runs in the target. */
#include "target/access/pages/gates.h"
#include "target/recorder/pool/arch/aarch64/instruction.h"
#include "target/recorder/state/memory.h"

enum {
	INSTRUCTION = 4,
	BACK_MOST = 12, /* instructions between `mov x8, #number` and the call */
};

/* Byte offsets in a stub; gate_arch.S knows them. */
enum { LEAVE = 20, LEAVE_BEHIND = 28, ENTRY = 40, CALL = 48 };

static const u32 SVC = 0xd4000001;

static u32 read_at(u64 at) { return *(const u32 *)at; }

/* br, blr, ret and what else leaves; brk and svc. */
static bool leaves(u32 code)
{
	return (code & 0xfe000000) == 0xd6000000 || (code & 0xff000000) == 0xd4000000;
}

/* movz w8 or x8, #number */
static bool is_number(u32 code) { return (code & 0x7fe0001f) == 0x52800008; }

static bool number_before(u64 call, u64 from, long *number)
{
	for (u32 i = 1; i <= BACK_MOST && call - from > i * INSTRUCTION; i++) {
		u32 code = read_at(call - i * INSTRUCTION);

		*number = code >> 5 & 0xffff;
		if (is_number(code))
			return true;
		if (leaves(code))
			break;
	}
	return false;
}

bool hwr_gate_find(u64 at, u64 end, struct hwr_gate_site *site)
{
	u64 from = (at + INSTRUCTION - 1) & ~(u64)(INSTRUCTION - 1);

	for (u64 call = from + INSTRUCTION; call + INSTRUCTION <= end; call += INSTRUCTION) {
		u32 before;

		if (likely(read_at(call) != SVC))
			continue;
		before = read_at(call - INSTRUCTION);
		*site = (struct hwr_gate_site){.call = call};
		if (!hwr_instruction_is_relative(before) && !leaves(before) &&
		    number_before(call, from, &site->number))
			site->patch = call - INSTRUCTION;
		return true;
	}
	return false;
}

/* Every instruction has room for a jump, and where that before the call cannot be moved or the
 * number is not known there is none. */
bool hwr_gate_look(struct hwr_gate_site *site, u64 function, bool gap)
{
	(void)function;
	(void)gap;
	return site->patch != 0;
}

/* mov x5, x7; svc 0; ret */
bool hwr_gate_is_cancellable(u64 call)
{
	return read_at(call - INSTRUCTION) == 0xaa0703e5 &&
	       read_at(call + INSTRUCTION) == 0xd65f03c0;
}

/* bl */
u64 hwr_gate_find_caller(u64 at, u64 end, u64 function)
{
	for (; at + INSTRUCTION <= end; at += INSTRUCTION) {
		u32 code = read_at(at);

		if (unlikely((code & 0xfc000000) == 0x94000000) &&
		    at + (u64)((i64)((u64)code << 38) >> 36) == function)
			return at;
	}
	return 0;
}

static bool is_near(u64 from, u64 to) { return to - from + ((u64)1 << 27) < (u64)1 << 28; }

static u32 jump(u64 from, u64 to)
{
	return 0x14000000 | ((u32)((i64)(to - from) >> 2) & 0x03ffffff);
}

static void put_8(u8 *at, u64 value) { hwr_copy(at, &value, sizeof(value)); }

bool hwr_gate_write(const struct hwr_gate_site *site, u8 *stub, u64 entry)
{
	const u32 code[] = {
		read_at(site->patch),
		0xa9bf47f0, /* stp x16, x17, [sp, -16]! */
		0x10000071, /* adr x17, LEAVE */
		0x580000f0, /* ldr x16, ENTRY */
		0xd61f0200, /* br x16 */
		0xa8c147f0, /* LEAVE: ldp x16, x17, [sp], 16 */
		jump((u64)stub + LEAVE + INSTRUCTION, site->call),
		0xa8c147f0, /* LEAVE_BEHIND: the same */
		jump((u64)stub + LEAVE_BEHIND + INSTRUCTION, site->call + INSTRUCTION),
	};
	u32 there = jump(site->patch, (u64)stub);

	if (!is_near(site->patch, (u64)stub) || !is_near((u64)stub, site->call + INSTRUCTION))
		return false;
	hwr_copy(stub, code, sizeof(code));
	put_8(stub + ENTRY, entry);
	put_8(stub + CALL, site->call);
	hwr_copy((void *)site->patch, &there, sizeof(there));
	return true;
}
