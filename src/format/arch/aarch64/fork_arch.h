/* SPDX-License-Identifier: MIT
 * What rt_sigreturn takes all registers from; see format/arch/fork.h. There is no other way to set
 * all of them at once. */
#ifndef FORMAT_ARCH_AARCH64_FORK_ARCH_H
#define FORMAT_ARCH_AARCH64_FORK_ARCH_H

#define HW_FORK_ALL 4688
#define HW_FORK_ADOPTS 4696

#ifndef __ASSEMBLER__
struct hw_fork_frame {
	u8 signal[128]; /* siginfo_t, which nobody reads */
	/* struct ucontext of the kernel */
	u64 flags, link, stack[3];
	u64 mask;     /* signals that the thread had blocked */
	u8 pad[120];  /* of the mask */
	u64 align[1]; /* of what follows */
	u64 fault_address, regs[31], sp, pc, pstate;
	u64 align_more[1];
	/* struct fpsimd_context, and the zeros that end the list of such */
	u32 vectors_magic, vectors_bytes, fpsr, fpcr;
	u8 vectors[512];
	u8 none[3568];
	u64 all;    /* that are blocked until it goes back */
	u32 adopts; /* the code: orphans would come to the program */
} __attribute__((aligned(16)));
_Static_assert(__builtin_offsetof(struct hw_fork_frame, fault_address) == 128 + 176 &&
		       __builtin_offsetof(struct hw_fork_frame, vectors_magic) == 128 + 176 + 288 &&
		       __builtin_offsetof(struct hw_fork_frame, all) == HW_FORK_ALL &&
		       __builtin_offsetof(struct hw_fork_frame, adopts) == HW_FORK_ADOPTS,
	       "as the kernel and the assembly have it");
#endif

#endif
