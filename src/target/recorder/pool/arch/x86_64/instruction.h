/* SPDX-License-Identifier: MIT
 * Lengths of x86_64 instructions, and where they jump. Runs in the target. */
#ifndef TARGET_RECORDER_POOL_ARCH_X86_64_INSTRUCTION_H
#define TARGET_RECORDER_POOL_ARCH_X86_64_INSTRUCTION_H

#include "format/types.h"

enum hwr_flow {
	HWR_FLOW_NEXT, /* goes on with the next instruction, or where a register says */
	HWR_FLOW_JUMP, /* jmp to `target` */
	HWR_FLOW_IF,   /* jcc to `target` */
	HWR_FLOW_LOOP, /* loop, jrcxz to `target`: there is no long form */
	HWR_FLOW_CALL, /* call of `target` */
};

struct hwr_instruction {
	u32 bytes;
	enum hwr_flow flow;
	u64 target;
	u8 condition; /* of HWR_FLOW_IF */
	/* offset of a 32-bit distance from the instruction's end, 0 = none (no flow) */
	u32 relative;
};

/* False: not an instruction that a compiler makes. */
bool hwr_instruction_read(struct hwr_instruction *self, const u8 *code);

/* What compilers and linkers fill the gap to the next function with. */
static inline bool hwr_instruction_is_filling(const u8 *code)
{
	if (*code == 0xcc)
		return true;
	while (*code == 0x66 || *code == 0x2e)
		code++;
	return *code == 0x90 || (code[0] == 0x0f && code[1] == 0x1f);
}

#endif
