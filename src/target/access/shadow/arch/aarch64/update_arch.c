/* SPDX-License-Identifier: MIT
 * Atomic operations in aarch64 code; see shadow/sites.h. Runs in the target. */
#include "target/access/shadow/sites.h"

enum { LOOK = 32 /* instructions */, X29 = 29, SP = 31 };

static u32 code_at(u64 pc) { return *(const u32 *)pc; }

/* ldadd, swp and the like, but not ldapr, which only loads. */
static bool is_atomic(u32 code)
{
	return (code & 0x3f200c00) == 0x38200000 && (code & 0xf000) != 0xc000;
}

/* ldxr, ldaxr, ldxp, ldaxp: a store follows; cas, casp. */
static bool is_exclusive(u32 code)
{
	bool load = code & 1u << 22, ordered = code & 1u << 23, pair = code & 1u << 21,
	     wide = code & 1u << 31;

	if ((code & 0x3f000000) != 0x08000000)
		return false;
	return ordered ? pair : load || (pair && !wide);
}

/* stlr, stllr; stp; str and stur of all sorts; st1 to st4. */
static bool is_store(u32 code)
{
	u32 what = code >> 22 & 3;

	if ((code & 0x3f000000) == 0x08000000 || (code & 0x3a000000) == 0x28000000 ||
	    (code & 0xbe000000) == 0x0c000000)
		return !(code & 1u << 22);
	return (code & 0x3a000000) == 0x38000000 && (what == 0 || (what == 2 && code & 1u << 26));
}

/* Compilers call a function of their library that uses ldadd and the like where the CPU has them,
 * as a byte says: adrp x16; ldrb w16; cbz w16. */
static bool is_helper(u64 pc)
{
	if ((code_at(pc) & 0xffffff3f) == 0xd503241f) /* bti */
		pc += 4;
	return (code_at(pc) & 0x9f00001f) == 0x90000010 &&
	       (code_at(pc + 8) & 0xff00001f) == 0x34000010;
}

static u64 target_of(u64 pc) { return pc + (u64)((i64)((u64)code_at(pc) << 38) >> 36); }

/* Ends a straight piece of code; b and bl are told apart later. */
static bool is_branch(u32 code)
{
	return (code & 0xfe000000) == 0x54000000 || (code & 0x7c000000) == 0x34000000 ||
	       (code & 0xfe000000) == 0xd6000000;
}

/* The first store behind the check is what was checked; before it there are only loads of what the
 * report has cost, and computations. */
bool hwr_code_updates(u64 pc)
{
	for (u32 i = 0; i < LOOK; i++, pc += 4) {
		u32 code = code_at(pc), base = code >> 5 & 31;

		if (is_branch(code))
			return false;
		if ((code & 0x7c000000) == 0x14000000) {
			if (is_helper(target_of(pc)) || code >> 31)
				return is_helper(target_of(pc));
			pc = target_of(pc) - 4;
		} else if (base != SP && (is_atomic(code) || is_exclusive(code))) {
			return true;
		} else if (base != SP && base != X29 && is_store(code)) {
			return false;
		}
	}
	return false;
}
