/* SPDX-License-Identifier: MIT
 * Call frame information: finds the description of a PC in .eh_frame and runs it to a table row.
 * Runs in the target; allocates nothing. */
#ifndef TARGET_RECORDER_UNWIND_CFI_H
#define TARGET_RECORDER_UNWIND_CFI_H

#include "target/recorder/state/frames.h"
#include "target/recorder/state/objects.h"

enum hwr_cfi_result {
	HWR_CFI_FOUND,
	/* found, and it is a signal trampoline: the next PC was interrupted, not called */
	HWR_CFI_SIGNAL,
	HWR_CFI_NONE, /* no module or no FDE covers the PC */
	/* malformed or unknown instructions, or tables that lead out of the module */
	HWR_CFI_BAD,
};

/* Fills scratch->row for the instruction at pc (return addresses: pass address - 1). */
enum hwr_cfi_result hwr_cfi_find(u64 pc, const struct hwr_module_at *module,
				 struct hwr_cfi_scratch *scratch);

/* Where the code begins that the description of pc is for, mostly a function; 0 if there is
 * none. */
u64 hwr_cfi_start(u64 pc, const struct hwr_module_at *module);

/* Readers of the encodings, shared with the expression evaluator. What would reach beyond `end`
 * sets *p to NULL, which stays so, and is 0. */
u64 hwr_read_uleb(const u8 **p, const u8 *end);
i64 hwr_read_sleb(const u8 **p, const u8 *end);

/* Of an expression of a row: moves *p behind the length, and returns where the expression ends.
 * That it does within the tables was seen when the row was made. */
const u8 *hwr_read_block(const u8 **p);

#endif
