/* SPDX-License-Identifier: MIT
 * Compiled unwind rules: what a row of the table says is what the packed rule does, for frames of all sizes; what does not
 * fit is left to the general evaluator. */
#include "lib/test.h"
#include "target/recorder/unwind/cfi.h"
#if defined(__x86_64__)
#include "target/recorder/unwind/arch/x86_64/rule_arch.c"
#else
#include "target/recorder/unwind/arch/aarch64/rule_arch.c"
#endif

/* Asked for by rows that are not made here. */
const u8 *hwr_read_block(const u8 **p) { return *p; }
i64 hwr_read_sleb(const u8 **p, const u8 *end)
{
	*p = end;
	return 0;
}
bool hwr_safe_read(u64 address, u64 *value)
{
	(void)address;
	(void)value;
	return false;
}
bool hwr_cursor_read(struct hwr_cursor *cursor, u64 address, u64 *value)
{
	(void)cursor;
	return hwr_safe_read(address, value);
}
bool hwr_cursor_record(struct hwr_cursor *cursor, u64 address, u64 *fp, u64 *pc)
{
	return hwr_cursor_read(cursor, address, fp) && hwr_cursor_read(cursor, address, pc);
}

#define SP 0x7f0000000000ull

struct frame {
	u32 cfa_register;
	u64 fp;        /* while the frame is the innermost */
	i64 cfa, ra, saved_fp; /* offsets: of the CFA from its register, of the others from the CFA; 0 = not saved */
};

static u32 pack(const struct frame *f)
{
	struct hwr_row row = { .cfa_register = f->cfa_register, .cfa_offset = f->cfa };

	row.registers[HWR_REG_RA] = (struct hwr_where_is){ .offset = f->ra, .where = HWR_AT_CFA };
	if (f->saved_fp)
		row.registers[HWR_REG_FP] = (struct hwr_where_is){ .offset = f->saved_fp, .where = HWR_AT_CFA };
	return hwr_rule_pack(&row);
}

static void check(const struct frame *f)
{
	u64 cfa = (f->cfa_register == HWR_REG_FP ? f->fp : SP) + (u64)f->cfa;
	struct hwr_step step = { 0 };
	u32 rule = pack(f);

	CHECK(rule & HWR_RULE_VALID);
	CHECK(!(rule & HWR_RULE_SPECIAL));
	CHECK(hwr_rule_apply(rule, SP, f->fp, &step));
	CHECK_EQ(step.cfa, cfa);
	CHECK_EQ((u64)step.ra_slot, cfa + (u64)f->ra);
	CHECK_EQ((u64)step.fp_slot, f->saved_fp ? cfa + (u64)f->saved_fp : 0);
	CHECK_EQ(step.uses_fp, f->cfa_register == HWR_REG_FP);
}

static const i64 frame_sizes[] = { 16, 64, 4096, 65536, 65552, 131056, 131088, 700 << 10, (1 << 20) - 16 };

#if defined(__x86_64__)

TEST(sizes, "frames of all sizes")
{
	for (u32 i = 0; i < sizeof frame_sizes / sizeof *frame_sizes; i++) {
		check(&(struct frame){ HWR_REG_SP, 1, frame_sizes[i], -8, 0 });
		check(&(struct frame){ HWR_REG_SP, 1, frame_sizes[i], -8, -16 });
		if (frame_sizes[i] >= 56)
			check(&(struct frame){ HWR_REG_SP, 1, frame_sizes[i], -8, -56 });
		check(&(struct frame){ HWR_REG_FP, SP + (u64)frame_sizes[i] - 16, 16, -8, -16 });
	}
}

TEST(too_large, "what does not fit is left to the general evaluator")
{
	CHECK_EQ(pack(&(struct frame){ HWR_REG_SP, 1, (1 << 20), -8, 0 }), 0);
	CHECK_EQ(pack(&(struct frame){ HWR_REG_SP, 1, 1 << 30, -8, -16 }), 0);
	CHECK_EQ(pack(&(struct frame){ HWR_REG_SP, 1, 65536, -8, -4096 }), 0);
	CHECK_EQ(pack(&(struct frame){ HWR_REG_SP, 1, 64, -16, 0 }), 0);
}

TEST(below, "a frame pointer just below the stack pointer is not followed")
{
	u32 rule = pack(&(struct frame){ HWR_REG_FP, 0, 16, -8, -16 });
	struct hwr_step step;

	CHECK(rule & HWR_RULE_VALID);
	CHECK(!hwr_rule_apply(rule, SP, SP - 8, &step));
	CHECK(hwr_rule_apply(rule, SP, SP, &step));
}

#else

TEST(sizes, "frames of all sizes")
{
	for (u32 i = 0; i < sizeof frame_sizes / sizeof *frame_sizes; i++) {
		i64 size = frame_sizes[i];

		/* The record at the upper end, as clang has it, and at the lower one, as gcc has. */
		check(&(struct frame){ HWR_REG_SP, 1, size, -8, -16 });
		check(&(struct frame){ HWR_REG_SP, 1, size, 8 - size, -size });
		check(&(struct frame){ HWR_REG_FP, SP, size, 8 - size, -size });
		check(&(struct frame){ HWR_REG_FP, SP + (u64)size - 16, 16, -8, -16 });
		check(&(struct frame){ HWR_REG_SP, 1, size, -8, 0 });
	}
}

TEST(too_large, "what does not fit is left to the general evaluator")
{
	CHECK_EQ(pack(&(struct frame){ HWR_REG_SP, 1, 8 << 20, -8, -16 }), 0);
	CHECK_EQ(pack(&(struct frame){ HWR_REG_SP, 1, 1 << 20, -(512 << 10), -(512 << 10) - 8 }), 0);
	CHECK_EQ(pack(&(struct frame){ HWR_REG_SP, 1, 64, 8, 0 }), 0);
}

TEST(far_below, "a frame pointer far below the stack pointer is not followed")
{
	u32 rule = pack(&(struct frame){ HWR_REG_FP, 0, 4 << 20, 8 - (4 << 20), -(4 << 20) });
	struct hwr_step step;

	CHECK(rule & HWR_RULE_VALID);
	CHECK(!hwr_rule_apply(rule, SP, SP - (2 << 20), &step));
	rule = pack(&(struct frame){ HWR_REG_FP, 0, 16, -8, -16 });
	CHECK(!hwr_rule_apply(rule, SP, SP - 8, &step));
}

#endif
