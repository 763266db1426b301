/* SPDX-License-Identifier: MIT
 * Numbers of the thunk's frame on x86_64, for C and for the assembler. */
#ifndef TARGET_RECORDER_POOL_ARCH_X86_64_THUNK_ARCH_H
#define TARGET_RECORDER_POOL_ARCH_X86_64_THUNK_ARCH_H

#define HWR_THUNK_INTEGERS 9 /* rdi rsi rdx rcx r8 r9 rax r10 r11 */
#define HWR_THUNK_STATE 30
#define HWR_THUNK_VECTORS (8 * (1 + HWR_THUNK_INTEGERS + HWR_THUNK_STATE))
#define HWR_THUNK_CALLER (HWR_THUNK_VECTORS + 256) /* pc, sp, fp */
#define HWR_THUNK_BYTES (HWR_THUNK_CALLER + 32)

#endif
