/* SPDX-License-Identifier: MIT
 * What the unwinder keeps of frames: how to get from one to its caller, and where it is. Runs in
 * the target. */
#ifndef TARGET_RECORDER_STATE_FRAMES_H
#define TARGET_RECORDER_STATE_FRAMES_H

#include "target/recorder/state/arch/arch.h"

enum hwr_where {
	/* where a register of the caller is */
	HWR_SAME = 0,  /* unchanged */
	HWR_UNDEFINED, /* not recoverable; for the return address: outermost frame */
	HWR_AT_CFA,    /* saved at CFA + offset */
	HWR_CFA_PLUS,  /* is CFA + offset */
	HWR_REGISTER,  /* is in register `offset` */
	HWR_AT_EXPR,   /* saved at the expression's address */
	HWR_EXPR,      /* is the expression's value */
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

enum { HWR_KNOWN_ROWS = 128 };

/* A row that was read before. Programs that need this unwinder, for one of their frames or for code
 * that they generate, need it for most of their stacks. */
struct hwr_known_row {
	u64 at;    /* the instruction */
	u32 epoch; /* 0 = none; see hwr_epoch */
	u32 found; /* enum hwr_cfi_result */
	struct hwr_row row;
};

struct hwr_cursor {
	struct hwr_registers registers;
	u64 pc;           /* where this frame executes or will return to */
	bool interrupted; /* pc itself is the instruction, not the one after a call */
	bool sp_unknown;  /* sp was lost in a frame without CFI; the frame pointer is good */
	bool guessed;     /* a frame without CFI was crossed by its frame record */
	u64 believed;     /* frame records below this address lead to code of a module in the end */
	u64 known_low, known_high; /* pages that were seen to be readable in this walk */
	struct hwr_known_row known_rows[HWR_KNOWN_ROWS]; /* of all walks */
};

#endif
