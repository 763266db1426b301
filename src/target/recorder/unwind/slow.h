/* SPDX-License-Identifier: MIT
 * The general unwinder: every register, every form of CFI, signal frames, frames without CFI.
 * Used where the compiled rules do not reach. Runs in the target; reads memory only after asking
 * whether it can be read. */
#ifndef TARGET_RECORDER_UNWIND_SLOW_H
#define TARGET_RECORDER_UNWIND_SLOW_H

#include "target/recorder/unwind/cfi.h"

enum { HWR_KNOWN_ROWS = 128 };

/* A row that was read before. Programs that need this unwinder, for one of their frames or for code that they generate, need it
 * for most of their stacks. */
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

enum hwr_slow_result { HWR_STEPPED, HWR_OUTERMOST, HWR_BROKEN };

/* Moves the cursor to the caller's frame. */
enum hwr_slow_result hwr_slow_step(struct hwr_cursor *cursor, struct hwr_cfi_scratch *scratch);

/* Reads a word if it can be read. */
bool hwr_safe_read(u64 address, u64 *value);

/* The same, for the cursor's walk: a page is asked for once. */
bool hwr_cursor_read(struct hwr_cursor *cursor, u64 address, u64 *value);

/* Reads a frame record, two words, if it can be read. */
bool hwr_cursor_record(struct hwr_cursor *cursor, u64 address, u64 *fp, u64 *pc);

/* Evaluates a DWARF expression (with its length in front) over the cursor's registers, with `first`
 * pushed before. False if it is malformed or reads where nothing is. */
bool hwr_expression(const u8 *block, const struct hwr_registers *registers, u64 first, u64 *value);

/* Of the CPU. If the cursor stands in a signal trampoline that has no CFI, moves it to the
 * interrupted frame. */
bool hwr_signal_frame(struct hwr_cursor *cursor);

/* Of the CPU. Crosses a frame by its frame record (saved frame pointer, return address). */
bool hwr_frame_record(struct hwr_cursor *cursor);

#endif
