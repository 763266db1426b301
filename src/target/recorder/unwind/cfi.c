/* SPDX-License-Identifier: MIT
 * .eh_frame reader. Runs in the target, on tables that the linker wrote and the loader mapped
 * read-only; what they say is not trusted to lie within the module. Never allocates, never
 * recurses. */
#include "target/recorder/unwind/cfi.h"

#include "target/recorder/state/memory.h"

enum {
	/* DW_EH_PE_*: how a pointer is written */
	PE_OMIT = 0xff,
	PE_FORMAT = 0x0f,
	PE_BASE = 0x70,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_INDIRECT = 0x80,
	PE_SDATA4_DATAREL = 0x3b,
};

/* The next byte, or 0 and no more of them. */
static u8 read_byte(const u8 **p, const u8 *end)
{
	if (*p && *p < end)
		return *(*p)++;
	*p = NULL;
	return 0;
}

/* NULL if that many bytes are not there. */
static const u8 *skip(const u8 *p, const u8 *end, u64 bytes)
{
	return p && p <= end && bytes <= (u64)(end - p) ? p + bytes : NULL;
}

/* *top: the bit above the last that was given; *negative: what it is. */
static u64 read_leb(const u8 **p, const u8 *end, u32 *top, bool *negative)
{
	u64 value = 0;
	u32 shift = 0;
	u8 byte;

	do {
		byte = read_byte(p, end);
		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	*top = shift;
	*negative = byte & 0x40;
	return *p ? value : 0;
}

u64 hwr_read_uleb(const u8 **p, const u8 *end)
{
	bool negative;
	u32 top;

	return read_leb(p, end, &top, &negative);
}

i64 hwr_read_sleb(const u8 **p, const u8 *end)
{
	bool negative;
	u32 top;
	u64 value = read_leb(p, end, &top, &negative);

	return (i64)(*p && negative && top < 64 ? value | ~0ull << top : value);
}

const u8 *hwr_read_block(const u8 **p)
{
	u64 bytes = hwr_read_uleb(p, (const u8 *)~0ull);

	return *p + bytes;
}

static u64 read_fixed(const u8 **p, const u8 *end, u32 bytes, bool is_signed)
{
	const u8 *at = *p;
	u64 value = 0;

	*p = skip(at, end, bytes);
	if (!*p)
		return 0;
	hwr_copy(&value, at, bytes);
	if (is_signed && bytes < 8 && (value >> (bytes * 8 - 1)))
		value |= ~0ull << (bytes * 8);
	return value;
}

/* No linker writes the addresses of code by way of another word, so that is none of them. */
static u64 read_encoded(const u8 **p, const u8 *end, u8 encoding, u64 data_base)
{
	const u8 *at = *p;
	u64 value;

	switch (encoding & PE_FORMAT) {
	case 0x01: value = hwr_read_uleb(p, end); break;
	case 0x02: value = read_fixed(p, end, 2, false); break;
	case 0x03: value = read_fixed(p, end, 4, false); break;
	case 0x09: value = (u64)hwr_read_sleb(p, end); break;
	case 0x0a: value = read_fixed(p, end, 2, true); break;
	case 0x0b: value = read_fixed(p, end, 4, true); break;
	default: value = read_fixed(p, end, 8, false); break;
	}
	if (encoding & PE_INDIRECT)
		*p = NULL;
	if (!value || !*p)
		return 0;
	if ((encoding & PE_BASE) == PE_PCREL)
		value += (u64)at;
	else if ((encoding & PE_BASE) == PE_DATAREL)
		value += data_base;
	return value;
}

/* ---- the description of one function ---- */

struct cie_fde {
	const u8 *initial, *initial_end; /* instructions of the CIE */
	const u8 *program, *program_end; /* instructions of the FDE */
	u64 start;                       /* first PC */
	u64 code_factor;
	i64 data_factor;
	u8 encoding;
	bool is_signal;
	bool has_augmentation;
};

/* A table of pairs, which are (of code, of its description) distances from the header. */
static i64 table_at(const u8 *table, u64 index)
{
	i32 value;

	hwr_copy(&value, table + 4 * index, 4);
	return value;
}

/* Where some bytes lie in the module, at a distance from one of its addresses; NULL if they do
 * not. */
static const u8 *module_bytes(const struct hwr_module_at *module, const u8 *from, i64 distance,
			      u64 bytes)
{
	u64 at = (u64)from + (u64)distance;

	return at >= module->start && at <= module->end && bytes <= module->end - at
		       ? (const u8 *)at
		       : NULL;
}

/* Binary search in .eh_frame_hdr; only the table form that every linker writes. */
static const u8 *find_fde(u64 pc, const struct hwr_module_at *module)
{
	const u8 *header = module->eh_frame_hdr, *end = (const u8 *)module->end, *p;
	u64 low = 0, high;
	i64 offset = (i64)(pc - (u64)header);

	if (!header || !module_bytes(module, header, 0, 4))
		return NULL;
	if (header[0] != 1 || header[2] == PE_OMIT || header[3] != PE_SDATA4_DATAREL)
		return NULL;
	p = header + 4;
	read_encoded(&p, end, header[1], (u64)header);
	high = read_encoded(&p, end, header[2], (u64)header);
	if (!p || !high || high > (u64)(end - p) / 8 || offset < table_at(p, 0))
		return NULL;
	while (high - low > 1) {
		u64 middle = (low + high) / 2;

		if (table_at(p, 2 * middle) <= offset)
			low = middle;
		else
			high = middle;
	}
	return module_bytes(module, header, table_at(p, 2 * low + 1), 8);
}

static const u8 *parse_augmentation(const u8 *p, const char *letters, struct cie_fde *out)
{
	u64 bytes = hwr_read_uleb(&p, out->initial_end);
	const u8 *end = skip(p, out->initial_end, bytes);

	for (; end && *letters; letters++) {
		u8 encoding;

		switch (*letters) {
		case 'R': out->encoding = read_byte(&p, end); break;
		case 'S': out->is_signal = true; break;
		case 'L': read_byte(&p, end); break;
		case 'P':
			encoding = read_byte(&p, end);
			read_encoded(&p, end, encoding & ~PE_INDIRECT, 0);
			break;
		case 'B': break; /* aarch64: return addresses are signed with key B */
		default: return end;
		}
	}
	return end;
}

/* The end of a description that begins with its length; NULL if it is not in the module. */
static const u8 *end_of(const u8 *at, const struct hwr_module_at *module)
{
	u32 bytes;

	hwr_copy(&bytes, at, 4);
	return skip(at + 4, (const u8 *)module->end, bytes);
}

/* At least 8 bytes of it are in the module. */
static bool parse_cie(const u8 *cie, const struct hwr_module_at *module, struct cie_fde *out)
{
	const u8 *p = cie + 8, *end = out->initial_end = end_of(cie, module);
	u8 version;
	const char *augmentation;

	if (!end)
		return false;
	version = read_byte(&p, end);
	augmentation = (const char *)p;
	while (read_byte(&p, end))
		;
	out->code_factor = hwr_read_uleb(&p, end);
	out->data_factor = hwr_read_sleb(&p, end);
	if (version == 1)
		read_byte(&p, end);
	else
		hwr_read_uleb(&p, end);
	if (!p)
		return false;
	out->has_augmentation = augmentation[0] == 'z';
	if (out->has_augmentation)
		p = parse_augmentation(p, augmentation + 1, out);
	else if (augmentation[0])
		return false;
	out->initial = p;
	return p != NULL;
}

/* At least 8 bytes of it are in the module. */
static bool parse_fde(const u8 *fde, u64 pc, const struct hwr_module_at *module,
		      struct cie_fde *out)
{
	const u8 *p = fde + 8, *end, *cie;
	u32 bytes;
	i32 cie_distance;
	u64 range;

	hwr_copy(&bytes, fde, 4);
	if (bytes == 0 || bytes == 0xffffffffu)
		return false;
	end = end_of(fde, module);
	hwr_copy(&cie_distance, fde + 4, 4);
	cie = module_bytes(module, fde + 4, -(i64)cie_distance, 8);
	if (!end || cie_distance == 0 || !cie || !parse_cie(cie, module, out))
		return false;
	out->start = read_encoded(&p, end, out->encoding, 0);
	range = read_encoded(&p, end, out->encoding & PE_FORMAT, 0);
	if (!p || pc < out->start || pc - out->start >= range)
		return false;
	if (out->has_augmentation) {
		u64 bytes_more = hwr_read_uleb(&p, end);

		p = skip(p, end, bytes_more);
	}
	out->program = p;
	out->program_end = end;
	return p != NULL;
}

/* ---- the machine ---- */

struct cfa_machine {
	struct hwr_cfi_scratch *s;
	const struct cie_fde *f;
	u64 location, pc;
	u32 depth;
};

static void set_register(struct cfa_machine *m, u64 reg, u8 where, i64 offset)
{
	if (reg < HWR_REGISTERS)
		m->s->row.registers[reg] = (struct hwr_where_is){.offset = offset, .where = where};
}

static void set_expression(struct cfa_machine *m, u64 reg, u8 where, const u8 *expr)
{
	if (reg < HWR_REGISTERS)
		m->s->row.registers[reg] = (struct hwr_where_is){.expr = expr, .where = where};
}

static void restore_register(struct cfa_machine *m, u64 reg)
{
	if (reg < HWR_REGISTERS)
		m->s->row.registers[reg] = m->s->initial.registers[reg];
}

static const u8 *skip_block(const u8 *p, const u8 *end)
{
	u64 bytes = hwr_read_uleb(&p, end);

	return skip(p, end, bytes);
}

/* Offsets are written in units; what does not fit wraps, as it would in a register. */
static i64 scaled(u64 units, i64 factor) { return (i64)(units * (u64)factor); }

static void define_cfa(struct cfa_machine *m, u64 reg, i64 offset)
{
	m->s->row.cfa_register = (u32)reg;
	m->s->row.cfa_offset = offset;
	m->s->row.cfa_expr = NULL;
}

/* Instructions whose operand is a register number first. */
static const u8 *run_register_op(struct cfa_machine *m, u8 op, const u8 *p, const u8 *end)
{
	i64 factor = m->f->data_factor;
	u64 reg = hwr_read_uleb(&p, end);

	switch (op) {
	case 0x05: set_register(m, reg, HWR_AT_CFA, scaled(hwr_read_uleb(&p, end), factor)); break;
	case 0x06: restore_register(m, reg); break;
	case 0x07: set_register(m, reg, HWR_UNDEFINED, 0); break;
	case 0x08: set_register(m, reg, HWR_SAME, 0); break;
	case 0x09: set_register(m, reg, HWR_REGISTER, (i64)hwr_read_uleb(&p, end)); break;
	case 0x0c: define_cfa(m, reg, (i64)hwr_read_uleb(&p, end)); break;
	case 0x0d: define_cfa(m, reg, m->s->row.cfa_offset); break;
	case 0x10:
		set_expression(m, reg, HWR_AT_EXPR, p);
		p = skip_block(p, end);
		break;
	case 0x11:
		set_register(m, reg, HWR_AT_CFA, scaled((u64)hwr_read_sleb(&p, end), factor));
		break;
	case 0x12: define_cfa(m, reg, scaled((u64)hwr_read_sleb(&p, end), factor)); break;
	case 0x14:
		set_register(m, reg, HWR_CFA_PLUS, scaled(hwr_read_uleb(&p, end), factor));
		break;
	case 0x15:
		set_register(m, reg, HWR_CFA_PLUS, scaled((u64)hwr_read_sleb(&p, end), factor));
		break;
	case 0x16:
		set_expression(m, reg, HWR_EXPR, p);
		p = skip_block(p, end);
		break;
	case 0x2f:
		set_register(m, reg, HWR_AT_CFA, scaled(0 - hwr_read_uleb(&p, end), factor));
		break;
	default: return NULL;
	}
	return p;
}

/* The rest. NULL = unknown instruction, or cut off. */
static const u8 *run_other_op(struct cfa_machine *m, u8 op, const u8 *p, const u8 *end)
{
	u64 factor = m->f->code_factor;

	switch (op) {
	case 0x00: break;
	case 0x01: m->location = read_encoded(&p, end, m->f->encoding, 0); break;
	case 0x02: m->location += read_fixed(&p, end, 1, false) * factor; break;
	case 0x03: m->location += read_fixed(&p, end, 2, false) * factor; break;
	case 0x04: m->location += read_fixed(&p, end, 4, false) * factor; break;
	case 0x0a:
		if (m->depth == HWR_CFI_NESTING)
			return NULL;
		m->s->saved[m->depth++] = m->s->row;
		break;
	case 0x0b:
		if (m->depth == 0)
			return NULL;
		m->s->row = m->s->saved[--m->depth];
		break;
	case 0x0e: m->s->row.cfa_offset = (i64)hwr_read_uleb(&p, end); break;
	case 0x0f:
		m->s->row.cfa_expr = p;
		p = skip_block(p, end);
		break;
	case 0x13:
		m->s->row.cfa_offset = scaled((u64)hwr_read_sleb(&p, end), m->f->data_factor);
		break;
	case 0x2d: break; /* aarch64: return address is signed from here on; always stripped */
	case 0x2e: hwr_read_uleb(&p, end); break; /* size of pushed arguments */
	default: return run_register_op(m, op, p, end);
	}
	return p;
}

/* Runs until the row of m->pc is complete. */
static bool run_program(struct cfa_machine *m, const u8 *p, const u8 *end)
{
	while (p && p < end && m->location <= m->pc) {
		u8 op = *p++;
		u8 low = op & 0x3f;

		switch (op >> 6) {
		case 1: m->location += low * m->f->code_factor; break;
		case 2:
			set_register(m, low, HWR_AT_CFA,
				     scaled(hwr_read_uleb(&p, end), m->f->data_factor));
			break;
		case 3: restore_register(m, low); break;
		default: p = run_other_op(m, op, p, end); break;
		}
	}
	return p != NULL;
}

/* Where a module's tables are. Of one with gaps between its segments the loader tells the range of
 * the code alone: its tables are taken to lie in the same few megabytes as their header. */
static struct hwr_module_at tables_of(const struct hwr_module_at *module)
{
	enum { NEAR = 64 << 20 };
	struct hwr_module_at tables = *module;
	u64 header = (u64)module->eh_frame_hdr;

	if (header && header - module->start >= module->end - module->start) {
		tables.start = header < module->start ? header : module->start;
		tables.end = (header > module->end ? header : module->end) + NEAR;
	}
	return tables;
}

enum hwr_cfi_result hwr_cfi_find(u64 pc, const struct hwr_module_at *module,
				 struct hwr_cfi_scratch *scratch)
{
	struct cie_fde f = {.encoding = 0};
	struct cfa_machine machine = {.s = scratch, .f = &f, .pc = pc};
	struct hwr_module_at tables = tables_of(module);
	const u8 *fde = find_fde(pc, &tables);

	if (!fde || !parse_fde(fde, pc, &tables, &f))
		return HWR_CFI_NONE;
	hwr_zero(&scratch->row, sizeof scratch->row);
	if (!run_program(&machine, f.initial, f.initial_end))
		return HWR_CFI_BAD;
	scratch->initial = scratch->row;
	machine.location = f.start;
	if (!run_program(&machine, f.program, f.program_end))
		return HWR_CFI_BAD;
	return f.is_signal ? HWR_CFI_SIGNAL : HWR_CFI_FOUND;
}

u64 hwr_cfi_start(u64 pc, const struct hwr_module_at *module)
{
	struct cie_fde f = {.encoding = 0};
	struct hwr_module_at tables = tables_of(module);
	const u8 *fde = find_fde(pc, &tables);

	return fde && parse_fde(fde, pc, &tables, &f) ? f.start : 0;
}
