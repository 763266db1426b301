/* SPDX-License-Identifier: MIT
 * What the unwinder must know of x86_64: registers, the packed form of a rule, and how to apply it.
 * Runs in the target. */
#ifndef TARGET_RECORDER_STATE_ARCH_X86_64_UNWIND_ARCH_H
#define TARGET_RECORDER_STATE_ARCH_X86_64_UNWIND_ARCH_H

#include "format/types.h"

/* DWARF numbers: 0-5 rax rdx rcx rbx rsi rdi, 6 rbp, 7 rsp, 8-15 r8-r15, 16 return address. */
enum { HWR_REGISTERS = 17, HWR_REG_FP = 6, HWR_REG_SP = 7, HWR_REG_RA = 16 };

struct hwr_registers {
	u64 value[HWR_REGISTERS];
};

/* No return address is ever signed here. */
static inline u64 hwr_strip(u64 pc) { return pc; }

/* User code lives below bit 47; a rule is found by these bits. Must be a bijection of the PC. */
enum { HWR_PC_BITS = 47 };
static inline u64 hwr_pc_key(u64 pc) { return pc; }
static inline bool hwr_pc_cacheable(u64 pc) { return pc >> HWR_PC_BITS == 0; }

/* The registers that a caller may still need, as they are in the function that this is inlined
 * in. */
static inline __attribute__((always_inline)) void hwr_capture(struct hwr_registers *r)
{
	__asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\tleaq 0(%%rip), %%rax\n\tmovq %%rax, 128(%0)"
			 :
			 : "r"(r->value)
			 : "rax", "memory");
}

/* A rule in 31 bits. The return address is always at CFA - 8. */
enum hwr_rule_base {
	HWR_BASE_SP,     /* CFA = sp + offset */
	HWR_BASE_FP,     /* CFA = fp + offset */
	HWR_BASE_DRAP,   /* CFA = *(fp - offset), caller's fp = *fp: realigned stacks of gcc */
	HWR_BASE_RECORD, /* no CFI: a frame record at fp, if fp is near */
};
enum {
	HWR_RULE_VALID = 1,
	HWR_RULE_SPECIAL = 2, /* then RULE_END or not: the general evaluator must take over */
	HWR_RULE_BASE_SHIFT = 2,
	HWR_RULE_END = 4,
	HWR_RULE_FP_SAVED = 16, /* at CFA - fp offset */
	HWR_RULE_CFA_SHIFT = 5,
	HWR_RULE_FP_SHIFT = 22,
	/* Offsets are counted in 8 bytes. Frames are up to 1 MiB: rustc has one of more than 64 KiB
	 * below all that it does. Registers are saved at their upper ends. */
	HWR_RULE_CFA_FIELD = 0x1ffff,
	HWR_RULE_FP_FIELD = 0x1ff,
	HWR_RULE_BITS = 31,
	/* Code without CFI, such as what runs a module's destructors. If the record does not lead
	 * into code, the next frame has no rule, and the general evaluator judges. */
	HWR_RULE_NO_CFI = HWR_RULE_VALID | HWR_BASE_RECORD << HWR_RULE_BASE_SHIFT |
			  HWR_RULE_FP_SAVED | 2 << HWR_RULE_FP_SHIFT,
	/* within the frame, surely: what is compared later must still be there */
	HWR_RECORD_NEAR = 4096,
};

/* The memory that a frame's unwinding depended on, and where it leads. */
struct hwr_step {
	u64 cfa;
	u64 *ra_slot;
	u64 *fp_slot;  /* NULL: the caller's fp is the same */
	u64 *cfa_slot; /* NULL: the CFA came from a register */
	bool uses_fp;
};

/* False: the frame is not plausible, and nothing but slots below sp's frame was read. */
static inline __attribute__((always_inline)) bool hwr_rule_apply(u32 rule, u64 sp, u64 fp,
								 struct hwr_step *step)
{
	u32 base = (rule >> HWR_RULE_BASE_SHIFT) & 3;
	u64 offset = (u64)((rule >> HWR_RULE_CFA_SHIFT) & HWR_RULE_CFA_FIELD) * 8;

	step->uses_fp = base != HWR_BASE_SP;
	step->cfa_slot = NULL;
	if (likely(base == HWR_BASE_SP)) {
		step->cfa = sp + offset;
	} else if (base == HWR_BASE_FP) {
		step->cfa = fp + offset;
	} else if (base == HWR_BASE_RECORD) {
		if (unlikely(fp - sp >= HWR_RECORD_NEAR))
			return false;
		step->cfa = fp + 16;
	} else {
		if (unlikely(fp <= sp || (fp & 7)))
			return false;
		step->cfa_slot = (u64 *)(fp - offset);
		step->cfa = *step->cfa_slot;
	}
	if (unlikely(step->cfa <= sp || (step->cfa & 7)))
		return false;
	step->ra_slot = (u64 *)step->cfa - 1;
	step->fp_slot = NULL;
	if (rule & HWR_RULE_FP_SAVED) {
		step->fp_slot = base == HWR_BASE_DRAP
					? (u64 *)fp
					: (u64 *)step->cfa - (rule >> HWR_RULE_FP_SHIFT);
		if (unlikely((u64)step->fp_slot < sp)) /* the frame pointer was something else */
			return false;
	}
	return true;
}

#endif
