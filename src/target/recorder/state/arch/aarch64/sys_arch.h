/* SPDX-License-Identifier: MIT
 * System call instruction of aarch64. Runs in the target; never touches errno. */
#ifndef TARGET_RECORDER_STATE_ARCH_AARCH64_SYS_ARCH_H
#define TARGET_RECORDER_STATE_ARCH_AARCH64_SYS_ARCH_H

#include "format/types.h"

enum { HWR_ELF_MACHINE = 183 }; /* EM_AARCH64 */

/* How many stamps in a row may be estimated (stamp.h): none, reading the counter costs little. */
enum { HWR_STAMPS_ESTIMATED = 0 };

enum { HWR_RSEQ_SIGNATURE = (i32)0xd428bc00u };

static inline long hwr_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

/* Whether a shadow stack (GCS) guards the return addresses of this thread. chkfeat clears the bit
 * of what is in force, and does nothing on older CPUs. */
static inline bool hwr_has_shadow_stack(void)
{
	register u64 asked __asm__("x16") = 1;

	__asm__ volatile("hint #40 /* chkfeat x16 */" : "+r"(asked));
	return asked == 0;
}

static inline void *hwr_thread_pointer(void) { return __builtin_thread_pointer(); }

/* Fetches a cache line that is going to be written. */
static inline void hwr_prefetch_to_write(const void *p) { __builtin_prefetch(p, 1); }

#endif
