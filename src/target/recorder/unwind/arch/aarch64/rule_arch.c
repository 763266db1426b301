/* SPDX-License-Identifier: MIT
 * Packs a row of the unwind table into the 32-bit rule of aarch64, and knows its signal frames.
 * Runs in the target. */
#include <ucontext.h>

#include "target/recorder/unwind/rules.h"
#include "target/recorder/unwind/slow.h"

enum { SIGINFO_BYTES = 128 };

/* Offsets of the CFA and, below it, of the return address; 0 if they do not fit. */
static u32 pack_offsets(u64 cfa, u64 below)
{
	u64 above = cfa - below;
	u32 wide = HWR_BASE_WIDE << HWR_RULE_BASE_SHIFT | (u32)(cfa / 16) << HWR_RULE_CFA_SHIFT;

	if (cfa / 16 <= HWR_RULE_CFA_FIELD && below / 8 <= HWR_RULE_RA_FIELD)
		return (u32)(cfa / 16) << HWR_RULE_CFA_SHIFT | (u32)(below / 8)
								       << HWR_RULE_RA_SHIFT;
	if (cfa / 16 > HWR_RULE_WIDE_FIELD || below > cfa)
		return 0;
	if (below / 8 <= HWR_RULE_WIDE_RA_FIELD)
		return wide | (u32)(below / 8) << HWR_RULE_WIDE_RA_SHIFT;
	if (above / 8 <= HWR_RULE_WIDE_RA_FIELD)
		return wide | HWR_RULE_WIDE_LOW | (u32)(above / 8) << HWR_RULE_WIDE_RA_SHIFT;
	return 0;
}

u32 hwr_rule_pack(const struct hwr_row *row)
{
	const struct hwr_where_is *ra = &row->registers[HWR_REG_RA];
	const struct hwr_where_is *fp = &row->registers[HWR_REG_FP];
	i64 below = (i64)(0 - (u64)ra->offset);
	u32 rule = HWR_RULE_VALID, offsets;

	if (ra->where != HWR_AT_CFA || row->cfa_expr)
		return 0;
	if (below <= 0 || (below & 7) || row->cfa_offset < 0 || (row->cfa_offset & 15))
		return 0;
	if (row->cfa_register == HWR_REG_FP)
		rule |= HWR_BASE_FP << HWR_RULE_BASE_SHIFT;
	else if (row->cfa_register != HWR_REG_SP)
		return 0;
	offsets = pack_offsets((u64)row->cfa_offset, (u64)below);
	if (!offsets)
		return 0;
	rule |= offsets;
	if (fp->where == HWR_SAME)
		return rule;
	if (fp->where != HWR_AT_CFA || fp->offset != ra->offset - 8)
		return 0;
	return rule | HWR_RULE_FP_SAVED;
}

/* The trampoline has no usable CFI in the vdso, and none at all under an emulator: it is known by
 * its two instructions, mov x8, #139 (rt_sigreturn) and svc #0. */
bool hwr_signal_frame(struct hwr_cursor *c)
{
	u64 *r = c->registers.value;
	const ucontext_t *context = (const ucontext_t *)(r[HWR_REG_SP] + SIGINFO_BYTES);
	u64 code, last;

	if ((c->pc & 3) || !hwr_safe_read(c->pc, &code) || code != 0xd4000001d2801168ull)
		return false;
	if (!hwr_cursor_read(c, (u64)&context->uc_mcontext.regs[0], &code) ||
	    !hwr_cursor_read(c, (u64)&context->uc_mcontext.pc, &last))
		return false;
	for (u32 i = 0; i < 31; i++)
		r[i] = context->uc_mcontext.regs[i];
	r[HWR_REG_SP] = context->uc_mcontext.sp;
	c->pc = context->uc_mcontext.pc;
	return true;
}

/* The record is at the bottom of a frame: where the caller's sp was is not known from it. */
bool hwr_frame_record(struct hwr_cursor *c)
{
	u64 *r = c->registers.value;
	u64 fp = r[HWR_REG_FP];

	if (fp < r[HWR_REG_SP] || !hwr_cursor_record(c, fp, &r[HWR_REG_FP], &r[HWR_REG_RA]))
		return false;
	r[HWR_REG_SP] = fp + 16;
	c->sp_unknown = true;
	return true;
}
