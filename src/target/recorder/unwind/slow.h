/* SPDX-License-Identifier: MIT
 * The general unwinder: every register, every form of CFI, signal frames, frames without CFI.
 * Used where the compiled rules do not reach. Runs in the target; reads memory only after asking
 * whether it can be read. */
#ifndef TARGET_RECORDER_UNWIND_SLOW_H
#define TARGET_RECORDER_UNWIND_SLOW_H

#include "target/recorder/state/frames.h"

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
