/* SPDX-License-Identifier: MIT
 * Between the recorder and a library that knows a language runtime, both inside the program:
 * objects that the runtime allocates, what its collector frees, and functions that are not those of
 * the machine's code.
 *
 * A function of the runtime has a number, and on stacks the pc hw_code_pc(number): where no program
 * has code. Names go to the monitor as HW_CODE_NAMED, and into the trace as names from HW_NAMES
 * on. */
#ifndef FORMAT_RUNTIME_H
#define FORMAT_RUNTIME_H

#include "session.h"

/* Below what the kernel lets programs map by default there is room up to where linkers put
 * programs. */
enum {
	HW_CODE_START = 0x10000,
	HW_CODES = 1 << 16, /* functions at the most */
	HW_CODE_NAME = 120, /* bytes of a name, with terminator; longer ones are cut */
};
#define HW_CODE_MODULE "[lisp]"

/* As a return address: the address that is looked up is one less. */
static inline u64 hw_code_pc(u32 number) { return HW_CODE_START + (u64)number + 1; }

/* A frame of the machine's stack: pc returns into it, and it reaches from sp to below end. */
struct hw_runtime_frame {
	u64 pc, sp, end;
};

/* Where the runtime was called from to allocate. */
struct hw_runtime_caller {
	u64 pc, sp, fp;
};

/* Turns the machine's frames, innermost first, into those of the language, in place: changes pcs
 * and leaves frames out. `room` is how many there may be at most. Returns their number. */
typedef u32 hw_runtime_translate(struct hw_runtime_frame *frames, u32 count, u32 room);

struct hw_runtime_object {
	u64 address, size;
	u32 type; /* number of a name, 0 = not known (yet) */
	u32 code; /* number of the function that is the whole stack; NO_CODE: the stack is walked */
	struct hw_runtime_caller caller;
	hw_runtime_translate *translate;
};
#define HW_NO_CODE UINT32_MAX

/* What a pc belongs to, by the program's unwind tables. */
struct hw_runtime_place {
	u64 function; /* where the function begins, 0 = not known */
	u64 start, end;
	const char *module; /* "" = the program itself */
};

/* Landing points in the recorder; weak, so that a library works, and does nothing, without it. All
 * may be called in any thread, and keep errno. */

/* Whether this process is recorded, with HW_RUN_LISP. */
int heapwise_runtime_wanted(void) __attribute__((weak));
void heapwise_runtime_object(const struct hw_runtime_object *object) __attribute__((weak));
/* The type of an object that was told, again, by a better name. */
void heapwise_runtime_type(u64 address, u32 type) __attribute__((weak));
/* The collector has freed it. `code` is the collector, as a function. */
void heapwise_runtime_collected(u64 address, u32 code) __attribute__((weak));
/* Numbers: of a name for types, 0 if there are too many; of a function, HW_NO_CODE likewise. */
u32 heapwise_runtime_name(const char *name) __attribute__((weak));
u32 heapwise_runtime_code(const char *name) __attribute__((weak));
int heapwise_runtime_place(u64 pc, struct hw_runtime_place *place) __attribute__((weak));
/* Calls found(name, first byte) for each function that the file of the address's module names. */
void heapwise_runtime_functions(u64 pc, void (*found)(const char *name, u64 start))
	__attribute__((weak));
/* Changes whenever what is known of places may be wrong. */
u32 heapwise_runtime_epoch(void) __attribute__((weak));
void heapwise_runtime_says(const char *text) __attribute__((weak));

#endif
