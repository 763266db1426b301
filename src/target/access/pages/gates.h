/* SPDX-License-Identifier: MIT
 * Gates: where libraries make system calls, what the call is given is opened first. Runs in the
 * target.
 *
 * calls.c stands in front of functions by name, and sees neither what libc calls inside nor
 * libraries that make system calls themselves. Here the call itself is found, in the code of all
 * modules: the instruction before it becomes a jump to a stub, which does what that instruction did
 * and looks at the arguments. If none points into the heap the stub goes on at the call, which is
 * where it always was, so that cancellation, unwinders and debuggers see no difference. Else
 * hwr_gate_call makes the call with the memory pinned. From 2.41 on glibc makes the calls at which
 * a thread can be cancelled in one function, and cancels it only if the call itself was
 * interrupted. That code stays as it is: the function that calls it has a detour, which pins and
 * calls on. Code is changed when the recorder attaches, and that of a module when dlopen has loaded
 * it: no other thread can be there then. */
#ifndef TARGET_ACCESS_PAGES_GATES_H
#define TARGET_ACCESS_PAGES_GATES_H

#include "format/types.h"

/* Makes the gates of all modules that are loaded. */
void hwr_gates_open(void);

/* What a stub hands over; gate_arch.S knows the layout. */
struct hwr_gate_frame {
	long arguments[6];
	long number;
};
/* The system call, with its memory open; the kernel's answer. */
long hwr_gate_call(const struct hwr_gate_frame *frame);

/* Pins what a system call of that number is given; hwr_unpin when it is over. */
struct hwr_pins;
void hwr_gate_pin(struct hwr_pins *pins, long number, const long arguments[6]);

/* And what posix_spawn and its kin are given. */
void hwr_gate_pin_spawn(struct hwr_pins *pins, const long arguments[6]);

/* ---- the CPU's part ---- */

/* Entries of gate_arch.S: the former looks whether an argument points into the heap, the latter
 * calls hwr_gate_call anyway. */
void hwr_gate(void);
void hwr_gate_always(void);

enum { HWR_GATE_STUB = 64, HWR_GATE_GAP = 5, HWR_GATE_BEHIND = 96 };

struct hwr_gate_site {
	u64 call; /* the instruction that calls the kernel */
	/* the instruction that becomes a jump: everything from here to the call is moved to the
	 * stub; 0 = not yet known */
	u64 patch;
	u64 landing; /* 0, or where that jump, a short one, finds a longer one */
	long number; /* of the system call */
};

/* The next call from `at` on; false if there is none before the end. */
bool hwr_gate_find(u64 at, u64 end, struct hwr_gate_site *site);

/* Where to patch a call, by all of its function before it: what was found may be wrong, or missing.
 * `gap`: nothing describes the HWR_GATE_GAP bytes before the function, which may fill up space.
 * HWR_GATE_BEHIND bytes from the call on can be read.
 * False: it cannot have a gate. */
bool hwr_gate_look(struct hwr_gate_site *site, u64 function, bool gap);

/* Whether it is the call of a function that glibc makes all calls in at which a thread can be
 * cancelled, from 2.41 on; and who calls that function, from `at` on; 0 if nobody does before the
 * end. */
bool hwr_gate_is_cancellable(u64 call);
u64 hwr_gate_find_caller(u64 at, u64 end, u64 function);

/* Writes the stub, of HWR_GATE_STUB bytes, and the jump. False: it is out of reach, and nothing was
 * changed. */
bool hwr_gate_write(const struct hwr_gate_site *site, u8 *stub, u64 entry);

#endif
