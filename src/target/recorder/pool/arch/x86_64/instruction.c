/* SPDX-License-Identifier: MIT
 * Reads x86_64 instructions as far as their length and their jumps; see instruction.h. Runs in the
 * target. What is unknown is refused, never guessed. */
#include "instruction.h"

/* What follows an opcode. */
enum {
	M = 1,    /* ModRM, and what it asks for */
	B = 2,    /* a byte */
	W = 4,    /* two bytes */
	Z = 8,    /* four bytes, two with the prefix 66 */
	BAD = 16, /* not in 64-bit mode, or not known here */
	R1 = 32,  /* a distance of one byte */
	R4 = 64,  /* of four */
};

/* clang-format off */

/* One-byte opcodes, in rows of 16. Prefixes, 0F, C4, C5, 62 are read before. */
static const u8 plain[256] = {
	M, M, M, M, B, Z, BAD, BAD, M, M, M, M, B, Z, BAD, BAD,
	M, M, M, M, B, Z, BAD, BAD, M, M, M, M, B, Z, BAD, BAD,
	M, M, M, M, B, Z, BAD, BAD, M, M, M, M, B, Z, BAD, BAD,
	M, M, M, M, B, Z, BAD, BAD, M, M, M, M, B, Z, BAD, BAD,
	BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	BAD, BAD, BAD, M, BAD, BAD, BAD, BAD, Z, M | Z, B, M | B, 0, 0, 0, 0,
	R1, R1, R1, R1, R1, R1, R1, R1, R1, R1, R1, R1, R1, R1, R1, R1,
	M | B, M | Z, BAD, M | B, M, M, M, M, M, M, M, M, M, M, M, M,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, BAD, 0, 0, 0, 0, 0,
	BAD, BAD, BAD, BAD, 0, 0, 0, 0, B, Z, 0, 0, 0, 0, 0, 0,
	B, B, B, B, B, B, B, B, Z, Z, Z, Z, Z, Z, Z, Z,
	M | B, M | B, W, 0, BAD, BAD, M | B, M | Z, W | B, 0, W, 0, 0, B, BAD, 0,
	M, M, M, M, BAD, BAD, BAD, 0, M, M, M, M, M, M, M, M,
	R1, R1, R1, R1, B, B, B, B, R4, R4, BAD, R1, 0, 0, 0, 0,
	BAD, 0, BAD, BAD, 0, 0, M, M, 0, 0, 0, 0, 0, 0, M, M,
};

/* What comes after 0F; the same opcodes behind VEX and EVEX. */
static u8 after_0f(u8 opcode)
{
	switch (opcode) {
	case 0x05: case 0x06: case 0x08: case 0x09: case 0x0b: case 0x30: case 0x31: case 0x32:
	case 0x33: case 0x34: case 0x35: case 0x77: case 0xa0: case 0xa1: case 0xa2: case 0xa8:
	case 0xa9: case 0xaa:
		return 0;
	case 0x70: case 0x71: case 0x72: case 0x73: case 0xa4: case 0xac: case 0xba: case 0xc2:
	case 0xc4: case 0xc5: case 0xc6:
		return M | B;
	case 0x04: case 0x07: case 0x0a: case 0x0c: case 0x0e: case 0x0f: case 0x24: case 0x25:
	case 0x26: case 0x27: case 0x36: case 0x37: case 0x39: case 0x3b: case 0x3c: case 0x3d:
	case 0x3e: case 0x3f:
		return BAD;
	default:
		break;
	}
	if (opcode >= 0x80 && opcode <= 0x8f)
		return R4;
	return opcode >= 0xc8 && opcode <= 0xcf ? 0 : M;
}

/* clang-format on */

struct reader {
	const u8 *code;
	u32 at;
	bool narrow; /* prefix 66 */
	bool wide;   /* REX.W */
};

static i64 read_4(const struct reader *r)
{
	const u8 *p = r->code + r->at;

	return (i32)((u32)p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24);
}

static void read_prefixes(struct reader *r)
{
	for (;; r->at++) {
		u8 c = r->code[r->at];

		if (r->at > 8)
			return;
		if (c == 0x66)
			r->narrow = true;
		else if (c != 0xf2 && c != 0xf3 && c != 0xf0 && c != 0x2e && c != 0x36 &&
			 c != 0x3e && c != 0x26 && c != 0x64 && c != 0x65 && c != 0x67)
			break;
	}
	if ((r->code[r->at] & 0xf0) == 0x40)
		r->wide = r->code[r->at++] & 8;
}

/* Opcode bytes; what follows them. */
static u32 read_opcode(struct reader *r, u8 *opcode, u32 *which)
{
	u8 c = r->code[r->at++];
	u32 map = 0;

	if (c == 0x0f) {
		c = r->code[r->at++];
		map = c == 0x38 ? 2 : c == 0x3a ? 3 : 1;
		if (map > 1)
			c = r->code[r->at++];
	} else if (c == 0xc5) {
		map = 1;
		r->at++;
		c = r->code[r->at++];
	} else if (c == 0xc4) {
		map = r->code[r->at] & 0x1f;
		r->at += 2;
		c = r->code[r->at++];
	} else if (c == 0x62) {
		map = r->code[r->at] & 7;
		r->at += 3;
		c = r->code[r->at++];
	}
	*opcode = c;
	*which = map;
	switch (map) {
	case 0: return plain[c];
	case 1: return after_0f(c);
	case 2: return M;
	case 3: return M | B;
	default: return BAD;
	}
}

static void read_modrm(struct reader *r, struct hwr_instruction *self)
{
	u8 modrm = r->code[r->at++];
	u32 mod = modrm >> 6, rm = modrm & 7;
	u8 sib = 0;

	if (mod == 3)
		return;
	if (rm == 4)
		sib = r->code[r->at++];
	if (mod == 0 && rm == 5)
		self->relative = r->at;
	if (mod == 1)
		r->at += 1;
	else if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))))
		r->at += 4;
}

static void read_jump(struct reader *r, struct hwr_instruction *self, u32 what, u8 opcode, u32 map)
{
	i64 distance = what & R1 ? (i64)(signed char)r->code[r->at] : read_4(r);

	r->at += what & R1 ? 1 : 4;
	self->target = (u64)(r->code + r->at) + (u64)distance;
	self->condition = opcode & 0xf;
	if (map || (opcode >= 0x70 && opcode <= 0x7f))
		self->flow = HWR_FLOW_IF;
	else if (opcode == 0xe8)
		self->flow = HWR_FLOW_CALL;
	else if (opcode == 0xe9 || opcode == 0xeb)
		self->flow = HWR_FLOW_JUMP;
	else
		self->flow = HWR_FLOW_LOOP;
}

bool hwr_instruction_read(struct hwr_instruction *self, const u8 *code)
{
	struct reader r = {.code = code};
	u32 what, map;
	u8 opcode;

	*self = (struct hwr_instruction){.flow = HWR_FLOW_NEXT};
	read_prefixes(&r);
	what = read_opcode(&r, &opcode, &map);
	if (what & BAD)
		return false;
	if (what & (R1 | R4)) {
		read_jump(&r, self, what, opcode, map);
	} else {
		/* test has what its neighbours, not and neg, do not have */
		if (map == 0 && (opcode == 0xf6 || opcode == 0xf7) && !(code[r.at] & 0x30))
			what |= opcode == 0xf6 ? B : Z;
		if (what & M)
			read_modrm(&r, self);
		r.at += (what & B ? 1 : 0) + (what & W ? 2 : 0);
		if (what & Z)
			r.at += r.wide && opcode >= 0xb8 && opcode <= 0xbf ? 8 : r.narrow ? 2 : 4;
	}
	self->bytes = r.at;
	return r.at <= 15;
}
