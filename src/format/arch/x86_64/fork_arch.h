/* SPDX-License-Identifier: MIT
 * The registers that the code changes; see format/arch/fork.h. */
#ifndef FORMAT_ARCH_X86_64_FORK_ARCH_H
#define FORMAT_ARCH_X86_64_FORK_ARCH_H

#define HW_FORK_MASK 0
#define HW_FORK_ALL 8
#define HW_FORK_RIP 16
#define HW_FORK_RAX 24
#define HW_FORK_RCX 32
#define HW_FORK_RDX 40
#define HW_FORK_RSI 48
#define HW_FORK_RDI 56
#define HW_FORK_R8 64
#define HW_FORK_R10 72
#define HW_FORK_R11 80
#define HW_FORK_ADOPTS 88
#define HW_FORK_FLAGS 92
#define HW_FORK_OVERFLOW 93

#ifndef __ASSEMBLER__
struct hw_fork_frame {
	u64 mask; /* signals that the thread had blocked */
	u64 all;  /* that are blocked until it goes back */
	u64 rip, rax, rcx, rdx, rsi, rdi, r8, r10, r11;
	u32 adopts; /* the code: orphans would come to the program */
	u8 flags;   /* low byte of the register of that name */
	u8 overflow;
	u16 pad;
};
_Static_assert(__builtin_offsetof(struct hw_fork_frame, r11) == HW_FORK_R11 &&
		       __builtin_offsetof(struct hw_fork_frame, adopts) == HW_FORK_ADOPTS &&
		       __builtin_offsetof(struct hw_fork_frame, overflow) == HW_FORK_OVERFLOW,
	       "as the assembly has it");
#endif

#endif
