/* SPDX-License-Identifier: MIT
 * Where instrumented programs (heapwise cc) and the recorder meet: the shadow, one byte per 8 bytes
 * of address space, and the board, a few pages at a fixed address. A compiler's inline check reads
 * the shadow of each address that it accesses; where that is 0 nothing happens, where it is
 * HW_SHADOW_ARMED the access is reported. Layout only. */
#ifndef FORMAT_SHADOW_H
#define FORMAT_SHADOW_H

#include "format/arch/arch.h"
#include "format/types.h"

#define HW_HEAP_BYTES (124ull << 36) /* of the heap of access runs: its size classes' regions */

enum { HW_SHADOW_ARMED = 0x80 };

static inline u8 *hw_shadow_of(u64 address) { return (u8 *)((address >> 3) + HW_SHADOW_OFFSET); }

#define HW_BOARD_MAGIC 0x31445241425748ull /* "HWBARD1" */
enum { HW_BOARD_VERSION = 1, HW_BOARD_BYTES = 0x8000, HW_BOARD_MODULES = 1024 };

/* Reports of an access, by size. */
#define HW_REPORTS(R)                                                                              \
	R(load1, 0)                                                                                \
	R(load2, 1)                                                                                \
	R(load4, 2)                                                                                \
	R(load8, 3)                                                                                \
	R(load16, 4)                                                                               \
	R(store1, 5)                                                                               \
	R(store2, 6)                                                                               \
	R(store4, 7)                                                                               \
	R(store8, 8)                                                                               \
	R(store16, 9)
enum { HW_REPORT_LOAD_N = 10, HW_REPORT_STORE_N = 11, HW_REPORT_COUNT = 12 };

enum {
	HW_MODULE_MERGES = 1
}; /* gcc: repeated accesses to one place may be told as one, of either sort */

/* An instrumented module that is loaded. */
struct hw_board_module {
	u64 start, end; /* released last; end 0 = free */
	u64 flags;      /* HW_MODULE_* */
};

struct hw_board {
	u64 magic; /* whoever maps it first: a module's stub or the recorder */
	u32 version;
	u32 modules_used; /* stubs: entries below this number were used */
	u32 module_flags; /* stubs: all flags of all modules, ever */
	u32 pad;
	/* recorder, before it arms anything: void (u64 address), void (u64 address, u64 bytes) */
	void (*report[HW_REPORT_COUNT])(u64 address, u64 bytes);
	struct hw_board_module module[HW_BOARD_MODULES];
};
_Static_assert(sizeof(struct hw_board) <= HW_BOARD_BYTES, "the board has its room");

#define HW_BOARD ((struct hw_board *)HW_BOARD_ADDRESS)

/* The ELF notes by which files are known. */
#define HW_NOTE_NAME "Heapwise"
enum {
	/* type */
	HW_NOTE_ACCESS = 1, /* instrumented; content: u32 HW_BOARD_VERSION */
	HW_NOTE_LINKED = 2, /* the recorder is linked in; content: u32 HW_SESSION_VERSION */
	/* instrumented, and has objects that are not; content: u32 HW_BOARD_VERSION */
	HW_NOTE_PLAIN = 3,
};

#endif
