/* SPDX-License-Identifier: MIT
 * The general unwinder. Runs in the target; reads nothing that it did not ask the kernel about. */
#include "target/recorder/unwind/slow.h"

#include "target/recorder/state/sys.h"
#include "target/recorder/unwind/cfi.h"
#include "target/recorder/unwind/modules.h"
#include "target/recorder/unwind/rules.h"

bool hwr_safe_read(u64 address, u64 *value)
{
	if (!hwr_readable(address))
		return false;
	__builtin_memcpy(value, (const void *)address, 8);
	return true;
}

/* The pages that are known are neighbours, as a stack's are. */
static bool page_is_readable(struct hwr_cursor *c, u64 page)
{
	if (likely(page >= c->known_low && page < c->known_high))
		return true;
	if (!hwr_readable(page))
		return false;
	if (page == c->known_high)
		c->known_high += HWR_PAGE;
	else
		c->known_low = page, c->known_high = page + HWR_PAGE;
	return true;
}

bool hwr_cursor_read(struct hwr_cursor *c, u64 address, u64 *value)
{
	if (!page_is_readable(c, address & -HWR_PAGE) ||
	    !page_is_readable(c, (address + 7) & -HWR_PAGE))
		return false;
	__builtin_memcpy(value, (const void *)address, 8);
	return true;
}

bool hwr_cursor_record(struct hwr_cursor *c, u64 address, u64 *fp, u64 *pc)
{
	return !(address & 7) && hwr_cursor_read(c, address + 8, pc) &&
	       hwr_cursor_read(c, address, fp);
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

static bool recover(struct hwr_cursor *c, const struct hwr_registers *before,
		    const struct hwr_where_is *is, u64 cfa, u64 *value)
{
	u64 address;

	switch (is->where) {
	case HWR_AT_CFA: return hwr_cursor_read(c, cfa + (u64)is->offset, value);
	case HWR_CFA_PLUS: *value = cfa + (u64)is->offset; return true;
	case HWR_REGISTER:
		if ((u64)is->offset >= HWR_REGISTERS)
			return false;
		*value = before->value[is->offset];
		return true;
	case HWR_AT_EXPR:
		return hwr_expression(is->expr, before, cfa, &address) &&
		       hwr_cursor_read(c, address, value);
	case HWR_EXPR: return hwr_expression(is->expr, before, cfa, value);
	default: return true; /* it still has it */
	}
}

/* Applies a whole row. The frame's own registers move to scratch meanwhile: stacks may be tiny. */
static bool apply_row(struct hwr_cursor *c, const struct hwr_row *row,
		      struct hwr_cfi_scratch *scratch)
{
	u64 cfa;

	scratch->before = c->registers;
	if (!find_cfa(c, row, &cfa))
		return false;
	for (u32 i = 0; i < HWR_REGISTERS; i++)
		if (!recover(c, &scratch->before, &row->registers[i], cfa, &c->registers.value[i]))
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

/* Generated code calls generated code, of which nobody knows where it is. Whether the records from
 * the cursor's on lead on, outwards and in small steps, until one returns into a module. */
static bool leads_into_module(struct hwr_cursor *c)
{
	enum { RECORDS = 512, APART = 1 << 20 };
	u64 before = c->registers.value[HWR_REG_SP] - 8, at = c->registers.value[HWR_REG_FP], next,
	    pc;

	for (u32 i = 0; i < RECORDS; i++) {
		if (at <= before || at - before > APART || !hwr_cursor_record(c, at, &next, &pc))
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

/* No CFI: believe a frame record if it leads into code, or into what can be read and leads into
 * code. */
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
	return c->pc - inside > c->believed - inside && hwr_readable(c->pc) ? HWR_STEPPED
									    : HWR_BROKEN;
}

/* The row of an instruction, remembered or read. */
static enum hwr_cfi_result find_row(struct hwr_cursor *c, u64 at, struct hwr_cfi_scratch *scratch,
				    const struct hwr_row **row)
{
	struct hwr_known_row *known = &c->known_rows[at * 0x9e3779b97f4a7c15ull >> 57];
	u32 epoch = load_relaxed(&hwr_epoch);
	struct hwr_module_at module;
	bool settled;

	*row = &known->row;
	if (known->at == at && known->epoch == epoch)
		return known->found;
	if (!hwr_module_at(at, &module)) /* not remembered: such code may change */
		return HWR_CFI_NONE;
	settled = hwr_modules_saw(&module);
	known->epoch = 0;
	known->at = at;
	known->found = hwr_cfi_find(at, &module, scratch);
	known->row = scratch->row;
	__asm__ volatile("" : : : "memory"); /* a handler may leave here for good */
	known->epoch = settled ? epoch : 0;
	return known->found;
}
_Static_assert(HWR_KNOWN_ROWS == 1 << (64 - 57), "find_row leaves 7 bits");

enum hwr_slow_result hwr_slow_step(struct hwr_cursor *c, struct hwr_cfi_scratch *scratch)
{
	const struct hwr_row *row;
	enum hwr_cfi_result found;

	if (c->pc == 0)
		return HWR_OUTERMOST;
	found = find_row(c, c->interrupted ? c->pc : c->pc - 1, scratch, &row);
	/* A handler returns to the first byte of the trampoline, before which its FDE may begin. */
	if (found != HWR_CFI_SIGNAL && hwr_signal_frame(c)) {
		c->interrupted = true;
		return HWR_STEPPED;
	}
	if (found == HWR_CFI_NONE && hwr_is_program_start(c->pc))
		return HWR_OUTERMOST;
	if (found == HWR_CFI_NONE || found == HWR_CFI_BAD)
		return cross_without_cfi(c);
	if (row->registers[HWR_REG_RA].where == HWR_UNDEFINED)
		return HWR_OUTERMOST;
	if (!apply_row(c, row, scratch))
		return HWR_BROKEN;
	c->interrupted = found == HWR_CFI_SIGNAL;
	return c->pc ? HWR_STEPPED : HWR_OUTERMOST;
}
