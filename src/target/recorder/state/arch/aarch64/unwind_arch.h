/* SPDX-License-Identifier: MIT
 * What the unwinder must know of aarch64: registers, the packed form of a rule, and how to apply
 * it.
 * Runs in the target. */
#ifndef TARGET_RECORDER_STATE_ARCH_AARCH64_UNWIND_ARCH_H
#define TARGET_RECORDER_STATE_ARCH_AARCH64_UNWIND_ARCH_H

#include "format/types.h"

/* DWARF numbers: 0-28 x0-x28, 29 frame pointer, 30 link register, 31 sp. */
enum { HWR_REGISTERS = 32, HWR_REG_FP = 29, HWR_REG_SP = 31, HWR_REG_RA = 30 };

struct hwr_registers {
	u64 value[HWR_REGISTERS];
};

/* Removes a pointer authentication code; XPACLRI is a no-op on CPUs without the feature. */
static inline u64 hwr_strip(u64 pc)
{
	register u64 lr __asm__("x30") = pc;

	__asm__ volatile("hint #7" : "+r"(lr));
	return lr;
}

/* Instructions are 4-aligned; the PC + 1 of interrupted code is not cached. */
enum { HWR_PC_BITS = 46 };
static inline u64 hwr_pc_key(u64 pc) { return pc >> 2; }
static inline bool hwr_pc_cacheable(u64 pc) { return (pc & 3) == 0 && pc >> 48 == 0; }

static inline __attribute__((always_inline)) void hwr_capture(struct hwr_registers *r)
{
	__asm__ volatile("stp x19, x20, [%0, #152]\n\tstp x21, x22, [%0, #168]\n\t"
			 "stp x23, x24, [%0, #184]\n\tstp x25, x26, [%0, #200]\n\t"
			 "stp x27, x28, [%0, #216]\n\tmov x9, sp\n\tstr x29, [%0, #232]\n\t"
			 "str x9, [%0, #248]\n\tadr x9, .\n\tstr x9, [%0, #240]"
			 :
			 : "r"(r->value)
			 : "x9", "memory");
}

/* A rule in 32 bits. The frame pointer, when saved, is in the word before the return address. */
enum hwr_rule_base {
	HWR_BASE_SP, /* CFA = sp + offset */
	HWR_BASE_FP, /* CFA = fp + offset */
	/* added to these: a large frame, with the return address near one of its ends */
	HWR_BASE_WIDE,
};
enum {
	HWR_RULE_VALID = 1,
	HWR_RULE_SPECIAL = 2, /* then RULE_END or not: the general evaluator must take over */
	HWR_RULE_BASE_SHIFT = 2,
	HWR_RULE_END = 4,
	HWR_RULE_FP_SAVED = 16,
	HWR_RULE_CFA_SHIFT = 5, /* 13 bits, in 16 bytes */
	HWR_RULE_RA_SHIFT = 18, /* 14 bits, in 8 bytes, below CFA */
	HWR_RULE_CFA_FIELD = 0x1fff,
	HWR_RULE_RA_FIELD = 0x3fff,
	HWR_RULE_WIDE_FIELD = 0x7ffff, /* 19 bits of the CFA, in 16 bytes; then: */
	HWR_RULE_WIDE_LOW = 1 << 24,   /* the return address is above the base, not below the CFA */
	HWR_RULE_WIDE_RA_SHIFT = 25,   /* 7 bits, in 8 bytes */
	HWR_RULE_WIDE_RA_FIELD = 0x7f,
	HWR_RULE_BITS = 32,
	/* a frame record does not tell the caller's sp */
	HWR_RULE_NO_CFI = HWR_RULE_VALID | HWR_RULE_SPECIAL,
};

/* The memory that a frame's unwinding depended on, and where it leads. */
struct hwr_step {
	u64 cfa;
	u64 *ra_slot;
	u64 *fp_slot;  /* NULL: the caller's fp is the same */
	u64 *cfa_slot; /* NULL: the CFA came from a register (always, here) */
	bool uses_fp;
};

/* The slot of the return address of a large frame. */
static inline u64 *hwr_rule_wide_ra(u32 rule, u64 base, u64 cfa)
{
	u64 away = (rule >> HWR_RULE_WIDE_RA_SHIFT) & HWR_RULE_WIDE_RA_FIELD;

	return rule & HWR_RULE_WIDE_LOW ? (u64 *)base + away : (u64 *)cfa - away;
}

/* False: the frame is not plausible, and nothing was read. */
static inline __attribute__((always_inline)) bool hwr_rule_apply(u32 rule, u64 sp, u64 fp,
								 struct hwr_step *step)
{
	u32 base = (rule >> HWR_RULE_BASE_SHIFT) & 3;
	bool wide = base & HWR_BASE_WIDE;
	u64 offset = (u64)((rule >> HWR_RULE_CFA_SHIFT) &
			   (wide ? HWR_RULE_WIDE_FIELD : HWR_RULE_CFA_FIELD)) *
		     16;

	step->uses_fp = base & HWR_BASE_FP;
	step->cfa_slot = NULL;
	step->cfa = (step->uses_fp ? fp : sp) + offset;
	if (unlikely(step->cfa <= sp || (step->cfa & 15)))
		return false;
	if (unlikely(wide))
		step->ra_slot = hwr_rule_wide_ra(rule, step->uses_fp ? fp : sp, step->cfa);
	else
		step->ra_slot = (u64 *)step->cfa - (rule >> HWR_RULE_RA_SHIFT);
	/* the frame pointer was something else */
	if (unlikely((u64)step->ra_slot < sp + (rule & HWR_RULE_FP_SAVED ? 8 : 0)))
		return false;
	step->fp_slot = rule & HWR_RULE_FP_SAVED ? step->ra_slot - 1 : NULL;
	return true;
}

#endif
