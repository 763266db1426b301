/* SPDX-License-Identifier: MIT
 * Packs a row of the unwind table into the 31-bit rule of x86_64, and knows its signal frames.
 * Runs in the target. */
#include "target/recorder/unwind/cfi.h"
#include "target/recorder/unwind/rules.h"
#include "target/recorder/unwind/slow.h"

enum { OP_BREG_FP = 0x70 + HWR_REG_FP, OP_DEREF = 0x06 };

static bool offset_fits(i64 offset, u32 field)
{
	return offset >= 0 && (offset & 7) == 0 && offset / 8 <= field;
}

static i64 negated(i64 offset) { return (i64)(0 - (u64)offset); } /* of any number */

/* CFA = *(rbp - n), rbp saved where rbp points: what gcc writes for a realigned stack. */
static u32 pack_drap(const struct hwr_row *row)
{
	const struct hwr_where_is *fp = &row->registers[HWR_REG_FP];
	const u8 *p = row->cfa_expr;
	const u8 *end = hwr_read_block(&p);
	i64 offset;

	if (end - p < 3 || *p++ != OP_BREG_FP)
		return 0;
	offset = negated(hwr_read_sleb(&p, end));
	if (!p || p + 1 != end || *p != OP_DEREF || !offset_fits(offset, HWR_RULE_CFA_FIELD))
		return 0;
	if (fp->where != HWR_AT_EXPR || fp->expr[0] != 2 || fp->expr[1] != OP_BREG_FP ||
	    fp->expr[2] != 0)
		return 0;
	return HWR_RULE_VALID | HWR_RULE_FP_SAVED | HWR_BASE_DRAP << HWR_RULE_BASE_SHIFT |
	       (u32)(offset / 8) << HWR_RULE_CFA_SHIFT;
}

u32 hwr_rule_pack(const struct hwr_row *row)
{
	const struct hwr_where_is *ra = &row->registers[HWR_REG_RA];
	const struct hwr_where_is *fp = &row->registers[HWR_REG_FP];
	u32 rule = HWR_RULE_VALID;

	if (ra->where != HWR_AT_CFA || ra->offset != -8)
		return 0;
	if (row->cfa_expr)
		return pack_drap(row);
	if (row->cfa_register == HWR_REG_FP)
		rule |= HWR_BASE_FP << HWR_RULE_BASE_SHIFT;
	else if (row->cfa_register != HWR_REG_SP)
		return 0;
	if (!offset_fits(row->cfa_offset, HWR_RULE_CFA_FIELD))
		return 0;
	rule |= (u32)(row->cfa_offset / 8) << HWR_RULE_CFA_SHIFT;
	if (fp->where == HWR_SAME)
		return rule;
	if (fp->where != HWR_AT_CFA || !offset_fits(negated(fp->offset), HWR_RULE_FP_FIELD))
		return 0;
	return rule | HWR_RULE_FP_SAVED | (u32)(-fp->offset / 8) << HWR_RULE_FP_SHIFT;
}

/* glibc's and the kernel's trampolines have CFI here. */
bool hwr_signal_frame(struct hwr_cursor *cursor)
{
	(void)cursor;
	return false;
}

bool hwr_frame_record(struct hwr_cursor *c)
{
	u64 *r = c->registers.value;
	u64 fp = r[HWR_REG_FP];

	if (fp < r[HWR_REG_SP] || !hwr_cursor_record(c, fp, &r[HWR_REG_FP], &r[HWR_REG_RA]))
		return false;
	r[HWR_REG_SP] = fp + 16;
	return true;
}
