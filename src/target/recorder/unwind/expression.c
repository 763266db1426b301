/* SPDX-License-Identifier: MIT
 * DWARF expressions as they occur in CFI: PLT entries, signal trampolines, realigned stacks.
 * Runs in the target; bounded steps, bounded stack. */
#include "target/recorder/state/memory.h"
#include "target/recorder/unwind/cfi.h"
#include "target/recorder/unwind/slow.h"

enum { STACK_WORDS = 16, MAX_OPERATIONS = 256 };

struct machine {
	const struct hwr_registers *registers;
	const u8 *p, *end;
	u64 stack[STACK_WORDS];
	u32 depth;
	bool bad;
};

static void push(struct machine *m, u64 value)
{
	if (m->depth == STACK_WORDS)
		m->bad = true;
	else
		m->stack[m->depth++] = value;
}

static u64 pop(struct machine *m)
{
	if (m->depth == 0) {
		m->bad = true;
		return 0;
	}
	return m->stack[--m->depth];
}

static u64 fixed(struct machine *m, u32 bytes, bool is_signed)
{
	u64 value = 0;

	if (!m->p || (u64)(m->end - m->p) < bytes) {
		m->bad = true;
		return 0;
	}
	hwr_copy(&value, m->p, bytes);
	m->p += bytes;
	if (is_signed && bytes < 8 && value >> (bytes * 8 - 1))
		value |= ~0ull << (bytes * 8);
	return value;
}

static void push_register(struct machine *m, u64 reg, i64 offset)
{
	if (reg >= HWR_REGISTERS)
		m->bad = true;
	else
		push(m, m->registers->value[reg] + (u64)offset);
}

static void dereference(struct machine *m, u32 bytes)
{
	u64 value = 0;

	if (bytes == 0 || bytes > 8 || !hwr_safe_read(pop(m), &value))
		m->bad = true;
	if (bytes < 8)
		value &= (1ull << (bytes * 8)) - 1;
	push(m, value);
}

static void pick(struct machine *m, u32 index)
{
	if (index >= m->depth)
		m->bad = true;
	else
		push(m, m->stack[m->depth - 1 - index]);
}

static void branch(struct machine *m, bool taken)
{
	i64 distance = (i64)fixed(m, 2, true);

	if (taken)
		m->p += distance;
}

static void constant(struct machine *m, u8 op)
{
	switch (op) {
	case 0x03: push(m, fixed(m, 8, false)); break;
	case 0x08: push(m, fixed(m, 1, false)); break;
	case 0x09: push(m, fixed(m, 1, true)); break;
	case 0x0a: push(m, fixed(m, 2, false)); break;
	case 0x0b: push(m, fixed(m, 2, true)); break;
	case 0x0c: push(m, fixed(m, 4, false)); break;
	case 0x0d: push(m, fixed(m, 4, true)); break;
	case 0x0e:
	case 0x0f: push(m, fixed(m, 8, false)); break;
	case 0x10: push(m, hwr_read_uleb(&m->p, m->end)); break;
	default: push(m, (u64)hwr_read_sleb(&m->p, m->end)); break;
	}
}

static u64 divide(struct machine *m, i64 a, i64 b)
{
	if (b == 0 || b == -1) { /* -1: the one quotient that overflows; no CFI divides by it */
		m->bad = true;
		return 0;
	}
	return (u64)(a / b);
}

static void binary(struct machine *m, u8 op)
{
	u64 b = pop(m), a = pop(m);

	switch (op) {
	case 0x1a: push(m, a & b); break;
	case 0x1b: push(m, divide(m, (i64)a, (i64)b)); break;
	case 0x1c: push(m, a - b); break;
	case 0x1e: push(m, a * b); break;
	case 0x21: push(m, a | b); break;
	case 0x22: push(m, a + b); break;
	case 0x24: push(m, b < 64 ? a << b : 0); break;
	case 0x25: push(m, b < 64 ? a >> b : 0); break;
	case 0x26: push(m, (u64)((i64)a >> (b < 63 ? b : 63))); break;
	case 0x27: push(m, a ^ b); break;
	case 0x29: push(m, a == b); break;
	case 0x2a: push(m, (i64)a >= (i64)b); break;
	case 0x2b: push(m, (i64)a > (i64)b); break;
	case 0x2c: push(m, (i64)a <= (i64)b); break;
	case 0x2d: push(m, (i64)a < (i64)b); break;
	case 0x2e: push(m, a != b); break;
	default: m->bad = true; break;
	}
}

static void shuffle(struct machine *m, u8 op)
{
	u64 a = pop(m), b, c;

	switch (op) {
	case 0x13: break; /* drop */
	case 0x16:        /* swap */
		b = pop(m);
		push(m, a);
		push(m, b);
		break;
	case 0x17: /* rotate: the top becomes the third */
		b = pop(m);
		c = pop(m);
		push(m, a);
		push(m, c);
		push(m, b);
		break;
	case 0x19: push(m, (i64)a < 0 ? -a : a); break;
	case 0x1f: push(m, -a); break;
	case 0x20: push(m, ~a); break;
	default: push(m, a + hwr_read_uleb(&m->p, m->end)); break; /* 0x23 plus_uconst */
	}
}

static void operate(struct machine *m, u8 op)
{
	u64 reg;

	if (op >= 0x30 && op <= 0x4f)
		push(m, op - 0x30u);
	else if (op >= 0x50 && op <= 0x6f)
		push_register(m, op - 0x50u, 0);
	else if (op >= 0x70 && op <= 0x8f)
		push_register(m, op - 0x70u, hwr_read_sleb(&m->p, m->end));
	else if (op == 0x03 || (op >= 0x08 && op <= 0x11))
		constant(m, op);
	else
		switch (op) {
		case 0x06: dereference(m, 8); break;
		case 0x94: dereference(m, (u32)fixed(m, 1, false)); break;
		case 0x12: pick(m, 0); break;
		case 0x14: pick(m, 1); break;
		case 0x15: pick(m, (u32)fixed(m, 1, false)); break;
		case 0x13:
		case 0x16:
		case 0x17:
		case 0x19:
		case 0x1f:
		case 0x20:
		case 0x23: shuffle(m, op); break;
		case 0x28: branch(m, pop(m) != 0); break;
		case 0x2f: branch(m, true); break;
		case 0x92:
			reg = hwr_read_uleb(&m->p, m->end);
			push_register(m, reg, hwr_read_sleb(&m->p, m->end));
			break;
		case 0x96: break;
		default: binary(m, op); break;
		}
}

bool hwr_expression(const u8 *block, const struct hwr_registers *registers, u64 first, u64 *value)
{
	struct machine m = {.registers = registers, .p = block};
	const u8 *start;

	m.end = hwr_read_block(&m.p);
	start = m.p;
	push(&m, first);
	for (u32 i = 0; m.p < m.end && !m.bad; i++) {
		if (i == MAX_OPERATIONS || m.p < start) /* also when an operand was cut off */
			return false;
		operate(&m, *m.p++);
	}
	*value = pop(&m);
	return !m.bad;
}
