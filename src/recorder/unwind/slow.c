/* SPDX-License-Identifier: MIT
 * The general unwinder. Runs in the target; reads nothing that it did not ask the kernel about. */
#include "recorder/unwind/slow.h"

#include "recorder/modules.h"
#include "recorder/sys.h"

bool hwr_safe_read(u64 address, u64 *value)
{
	if (!hwr_readable(address))
		return false;
	__builtin_memcpy(value, (const void *)address, 8);
	return true;
}

bool hwr_safe_record(u64 address, u64 *fp, u64 *pc)
{
	if ((address & 7) || !hwr_safe_read(address + 8, pc))
		return false;
	if ((address ^ (address + 8)) / HWR_PAGE)
		return hwr_safe_read(address, fp);
	*fp = *(const u64 *)address;
	return true;
}

/* Without its sp, a frame is found again by its frame pointer: that points at where the frame saved
 * its caller's, which the row knows relative to the CFA. */
static bool find_cfa(const struct hwr_cursor *c, const struct hwr_row *row, u64 *cfa)
{
	const u64 *r = c->registers.value;
	const struct hwr_where_is *fp = &row->registers[HWR_REG_FP];

	if (row->cfa_expr)
		return hwr_expression(row->cfa_expr, &c->registers, 0, cfa);
	if (row->cfa_register >= HWR_REGISTERS)
		return false;
	*cfa = r[row->cfa_register] + (u64)row->cfa_offset;
	if (!c->sp_unknown || row->cfa_register != HWR_REG_SP)
		return true;
	*cfa = r[HWR_REG_FP] - (u64)fp->offset;
	return fp->where == HWR_AT_CFA;
}

static bool recover(const struct hwr_registers *before, const struct hwr_where_is *is, u32 reg,
		    u64 cfa, u64 *value)
{
	u64 address;

	switch (is->where) {
	case HWR_AT_CFA: return hwr_safe_read(cfa + (u64)is->offset, value);
	case HWR_CFA_PLUS: *value = cfa + (u64)is->offset; return true;
	case HWR_REGISTER:
		if ((u64)is->offset >= HWR_REGISTERS)
			return false;
		*value = before->value[is->offset];
		return true;
	case HWR_AT_EXPR:
		return hwr_expression(is->expr, before, cfa, &address) && hwr_safe_read(address, value);
	case HWR_EXPR: return hwr_expression(is->expr, before, cfa, value);
	default: *value = before->value[reg]; return true;
	}
}

/* Applies a whole row. The frame's own registers move to scratch meanwhile: stacks may be tiny. */
static bool apply_row(struct hwr_cursor *c, struct hwr_cfi_scratch *scratch)
{
	const struct hwr_row *row = &scratch->row;
	u64 cfa;

	scratch->before = c->registers;
	if (!find_cfa(c, row, &cfa))
		return false;
	for (u32 i = 0; i < HWR_REGISTERS; i++)
		if (!recover(&scratch->before, &row->registers[i], i, cfa, &c->registers.value[i]))
			return false;
	if (row->registers[HWR_REG_SP].where == HWR_SAME)
		c->registers.value[HWR_REG_SP] = cfa;
	c->pc = hwr_strip(c->registers.value[HWR_REG_RA]);
	c->sp_unknown = false;
	return true;
}

static bool is_in_module(u64 pc)
{
	struct hwr_module_at module;

	return hwr_module_at(pc - 1, &module);
}

/* Generated code calls generated code, of which nobody knows where it is. Whether the records from the cursor's on lead
 * on, outwards and in small steps, until one returns into a module. */
static bool leads_into_module(struct hwr_cursor *c)
{
	enum { RECORDS = 512, APART = 1 << 20 };
	u64 before = c->registers.value[HWR_REG_SP] - 8, at = c->registers.value[HWR_REG_FP], next, pc;

	for (u32 i = 0; i < RECORDS; i++) {
		if (at <= before || at - before > APART || !hwr_safe_record(at, &next, &pc))
			return false;
		if (is_in_module(hwr_strip(pc))) {
			c->believed = at;
			return true;
		}
		before = at;
		at = next;
	}
	c->believed = before; /* so many in a row do not come about by chance */
	return true;
}

/* No CFI: believe a frame record if it leads into code, or into what can be read and leads into code. */
static enum hwr_slow_result cross_without_cfi(struct hwr_cursor *c)
{
	u64 inside = c->registers.value[HWR_REG_SP];

	if (!hwr_frame_record(c))
		return HWR_BROKEN;
	c->pc = hwr_strip(c->registers.value[HWR_REG_RA]);
	c->interrupted = false;
	c->guessed = true;
	if (c->pc == 0)
		return HWR_OUTERMOST;
	if (is_in_module(c->pc))
		return HWR_STEPPED;
	if (c->registers.value[HWR_REG_FP] > c->believed && !leads_into_module(c))
		return HWR_BROKEN;
	return c->pc - inside > c->believed - inside && hwr_readable(c->pc) ? HWR_STEPPED : HWR_BROKEN;
}

enum hwr_slow_result hwr_slow_step(struct hwr_cursor *c, struct hwr_cfi_scratch *scratch)
{
	u64 at = c->interrupted ? c->pc : c->pc - 1;
	enum hwr_cfi_result found = HWR_CFI_NONE;
	struct hwr_module_at module;

	if (c->pc == 0)
		return HWR_OUTERMOST;
	if (hwr_module_at(at, &module)) {
		hwr_modules_saw(&module);
		found = hwr_cfi_find(at, &module, scratch);
	}
	/* A handler returns to the first byte of the trampoline, before which its FDE may begin. */
	if (found != HWR_CFI_SIGNAL && hwr_signal_frame(c)) {
		c->interrupted = true;
		return HWR_STEPPED;
	}
	if (found == HWR_CFI_NONE || found == HWR_CFI_BAD)
		return cross_without_cfi(c);
	if (scratch->row.registers[HWR_REG_RA].where == HWR_UNDEFINED)
		return HWR_OUTERMOST;
	if (!apply_row(c, scratch))
		return HWR_BROKEN;
	c->interrupted = found == HWR_CFI_SIGNAL;
	return c->pc ? HWR_STEPPED : HWR_OUTERMOST;
}
