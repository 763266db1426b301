/* SPDX-License-Identifier: MIT
 * Call frame information: finds the description of a PC in .eh_frame and runs it to a table row.
 * Runs in the target; takes no lock where glibc has _dl_find_object; allocates nothing. */
#ifndef TARGET_RECORDER_UNWIND_CFI_H
#define TARGET_RECORDER_UNWIND_CFI_H

#include "target/recorder/state/arch/arch.h"

enum hwr_where { /* where a register of the caller is */
	HWR_SAME = 0,   /* unchanged */
	HWR_UNDEFINED,  /* not recoverable; for the return address: outermost frame */
	HWR_AT_CFA,     /* saved at CFA + offset */
	HWR_CFA_PLUS,   /* is CFA + offset */
	HWR_REGISTER,   /* is in register `offset` */
	HWR_AT_EXPR,    /* saved at the expression's address */
	HWR_EXPR,       /* is the expression's value */
};

struct hwr_where_is {
	union {
		i64 offset;     /* or register number */
		const u8 *expr; /* block with its length in front, for the expression forms */
	};
	u64 where; /* enum hwr_where */
};

/* One row of the unwind table: how to get from a frame to its caller. */
struct hwr_row {
	i64 cfa_offset;
	const u8 *cfa_expr; /* not NULL: CFA is this expression's value */
	u32 cfa_register;
	struct hwr_where_is registers[HWR_REGISTERS];
};

enum { HWR_CFI_NESTING = 6 };

/* Rows are too large for the stacks of strangers, so the caller lends memory. */
struct hwr_cfi_scratch {
	struct hwr_row row, initial, saved[HWR_CFI_NESTING];
	struct hwr_registers before; /* of the general evaluator */
};

/* What surrounds a PC. */
struct hwr_module_at {
	u64 start, end;         /* mapped range, of all segments */
	const u8 *eh_frame_hdr; /* NULL if it has none */
	u64 base;               /* load bias */
	const char *name;       /* "" = the program itself */
};

enum hwr_cfi_result {
	HWR_CFI_FOUND,
	HWR_CFI_SIGNAL, /* found, and it is a signal trampoline: the next PC was interrupted, not called */
	HWR_CFI_NONE,   /* no module or no FDE covers the PC */
	HWR_CFI_BAD,    /* malformed or unknown instructions, or tables that lead out of the module */
};

/* Lookup of the module at pc; lock-free where the C library has _dl_find_object. */
bool hwr_module_at(u64 pc, struct hwr_module_at *module);

/* Once, before the first lookup that is kept: reads how far the program reaches. Takes the loader's lock. */
void hwr_module_program_init(void);

/* Whether a call that returns to pc is one of the program's _start, which has no caller. Start files of older C libraries have no
 * CFI for it. */
bool hwr_is_program_start(u64 pc);

/* Fills scratch->row for the instruction at pc (return addresses: pass address - 1). */
enum hwr_cfi_result hwr_cfi_find(u64 pc, const struct hwr_module_at *module,
				 struct hwr_cfi_scratch *scratch);

/* Where the code begins that the description of pc is for, mostly a function; 0 if there is none. */
u64 hwr_cfi_start(u64 pc, const struct hwr_module_at *module);

/* Readers of the encodings, shared with the expression evaluator. What would reach beyond `end` sets *p to NULL,
 * which stays so, and is 0. */
u64 hwr_read_uleb(const u8 **p, const u8 *end);
i64 hwr_read_sleb(const u8 **p, const u8 *end);

/* Of an expression of a row: moves *p behind the length, and returns where the expression ends. That it does within
 * the tables was seen when the row was made. */
const u8 *hwr_read_block(const u8 **p);

#endif
