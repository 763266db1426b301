/* SPDX-License-Identifier: MIT
 * Atomic operations in x86_64 code; see shadow/sites.h. Runs in the target. */
#include "target/access/shadow/sites.h"
#include "target/recorder/pool/arch/x86_64/instruction.h"

enum { LOOK = 32 /* instructions */, RSP = 4, RBP = 5, NO_BASE = 16 };

/* What an instruction does to memory that may be the heap: not the stack's, a thread's own or a
 * variable's at a fixed place. */
struct access {
	bool locked; /* or an exchange, which needs no prefix */
	bool stores;
};

/* The register that an operand in memory begins with, NO_BASE if it is none, or a register
 * itself. */
static u32 base_of(const u8 *modrm, u32 rex)
{
	u32 mod = *modrm >> 6, rm = *modrm & 7;

	if (mod == 3 || (mod == 0 && rm == 5))
		return NO_BASE;
	if (rm != 4)
		return rm | (rex & 1) << 3;
	return mod == 0 && (modrm[1] & 7) == 5 ? NO_BASE : (modrm[1] & 7u) | (rex & 1) << 3;
}

/* mov to memory, of a register, a constant or a vector. */
static bool is_store(const u8 *opcode)
{
	if (*opcode != 0x0f)
		return *opcode == 0x88 || *opcode == 0x89 || *opcode == 0xc6 || *opcode == 0xc7;
	return opcode[1] == 0x11 || opcode[1] == 0x13 || opcode[1] == 0x17 || opcode[1] == 0x29 ||
	       opcode[1] == 0x2b || opcode[1] == 0x7e || opcode[1] == 0x7f || opcode[1] == 0xc3 ||
	       opcode[1] == 0xd6 || opcode[1] == 0xe7;
}

static struct access access_of(const u8 *code)
{
	bool locked = false;
	u32 rex = 0, base;

	for (;; code++) {
		if (*code == 0x64 || *code == 0x65)
			return (struct access){0}; /* a thread's own */
		if (*code == 0xf0)
			locked = true;
		else if (*code != 0x66 && *code != 0xf2 && *code != 0xf3)
			break;
	}
	if ((*code & 0xf0) == 0x40)
		rex = *code++;
	base = base_of(code + (*code == 0x0f ? 2 : 1), rex);
	if (base == NO_BASE || base == RSP)
		return (struct access){0};
	/* %rbp is the frame's, where code puts what it keeps over calls, or any pointer. */
	return (struct access){.locked = locked || *code == 0x86 || *code == 0x87,
			       .stores = base != RBP && is_store(code)};
}

/* The first store behind the check is what was checked; before it there are only loads of what the
 * report has cost, and computations. */
bool hwr_code_updates(u64 pc)
{
	for (u32 i = 0; i < LOOK; i++) {
		struct hwr_instruction instruction;
		struct access access;

		if (!hwr_instruction_read(&instruction, (const u8 *)pc))
			return false;
		if (instruction.flow == HWR_FLOW_JUMP) {
			pc = instruction.target;
			continue;
		}
		if (instruction.flow != HWR_FLOW_NEXT)
			return false;
		access = access_of((const u8 *)pc);
		if (access.locked || access.stores)
			return access.locked;
		pc += instruction.bytes;
	}
	return false;
}
