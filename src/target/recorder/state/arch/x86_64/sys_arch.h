/* SPDX-License-Identifier: MIT
 * System call instruction of x86_64. Runs in the target; never touches errno. */
#ifndef TARGET_RECORDER_STATE_ARCH_X86_64_SYS_ARCH_H
#define TARGET_RECORDER_STATE_ARCH_X86_64_SYS_ARCH_H

#include "format/types.h"

enum { HWR_ELF_MACHINE = 62 }; /* EM_X86_64 */

/* How many stamps in a row may be estimated (stamp.h): reading the counter is slow in virtual
 * machines. */
enum { HWR_STAMPS_ESTIMATED = 14 };

enum { HWR_RSEQ_SIGNATURE = 0x53053053 };

static inline long hwr_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Whether a shadow stack guards the return addresses of this thread. An instruction that does
 * nothing where there is none. */
static inline bool hwr_has_shadow_stack(void)
{
	u64 top = 0;

	__asm__ volatile("rdsspq %0" : "+r"(top));
	return top != 0;
}

/* __builtin_thread_pointer, which gcc has for this CPU since version 11. */
static inline void *hwr_thread_pointer(void)
{
	void *pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* Fetches a cache line that is going to be written. Compilers use the instruction only where they
 * are told that all CPUs know it; those that do not take it for one that does nothing. */
static inline void hwr_prefetch_to_write(const void *p)
{
	__asm__ volatile("prefetchw (%0)" : : "r"(p));
}

#endif
